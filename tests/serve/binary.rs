//! The program: its first line, and one clear line and status 2 for what it cannot serve.

use std::io::{BufRead as _, BufReader};
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampNanosecondArray};

use crate::files::{Folder, numbered, write};

fn tickscope(cache: &Path) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_tickscope"));
    command.arg("serve").arg("--cache").arg(cache).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

fn refused(command: &mut Command) -> String {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(2), "{text}");
    assert!(stdout.is_empty());
    assert_eq!(text.trim_end().lines().count(), 1, "{text}");
    text
}

#[test]
fn the_address_is_its_only_output_and_a_taken_port_is_an_error() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    write(&file, &[numbered(&[1, 2], &[0, 1])]);
    let mut child = tickscope(folder.path()).arg(&file).arg("--port").arg("0").spawn().unwrap();
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
    let port = line.trim_end().strip_prefix("http://127.0.0.1:").and_then(|rest| rest.strip_suffix('/')).unwrap().to_owned();
    let text = refused(tickscope(folder.path()).arg(&file).arg("--port").arg(&port));
    assert!(text.contains(&format!("127.0.0.1:{port} is in use")), "{text}");
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_cannot_be_served_is_one_clear_line() {
    let folder = Folder::new();
    let timeless: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from(vec![1])))];
    write(&folder.file("timeless.parquet"), &[RecordBatch::try_from_iter(timeless).unwrap()]);
    let time = || -> ArrayRef { Arc::new(TimestampNanosecondArray::from(vec![1])) };
    write(&folder.file("two.parquet"), &[RecordBatch::try_from_iter(vec![("a", time()), ("b", time())]).unwrap()]);
    let reserved: Vec<(&str, ArrayRef)> = vec![("ts", time()), ("__row", Arc::new(Int64Array::from(vec![1])))];
    write(&folder.file("reserved.parquet"), &[RecordBatch::try_from_iter(reserved).unwrap()]);
    write(&folder.file("good.parquet"), &[numbered(&[1], &[0])]);
    std::fs::write(folder.file("note.txt"), "hello, this is no table").unwrap();
    std::fs::write(folder.file("empty"), "").unwrap();
    std::fs::write(folder.file("broken.parquet"), "PAR1 and nothing more").unwrap();
    std::fs::write(folder.file("broken.dbn"), "DBN\u{3} and nothing more").unwrap();
    for (file, extra, expected) in [
        ("missing.parquet", "", "cannot read"),
        ("note.txt", "", "is of no known format: Parquet"),
        ("empty", "", "is empty"),
        ("broken.parquet", "", "broken.parquet: "),
        ("broken.dbn", "", "its DBN header says that it has"),
        (".", "", "it is a directory"),
        ("timeless.parquet", "", "table timeless has no time column: none of its columns is a timestamp"),
        ("two.parquet", "", "several timestamp columns (a, b): choose one with --time COL"),
        ("good.parquet", "--time=n", "--time n is a column of Int64"),
        ("good.parquet", "--time=x", "--time x is not one of its columns"),
        ("reserved.parquet", "", "__row, which is reserved"),
    ] {
        let mut command = tickscope(folder.path());
        command.arg(folder.file(file));
        if !extra.is_empty() {
            command.arg(extra);
        }
        let text = refused(&mut command);
        assert!(text.contains(expected), "{file}: {text}");
    }
    let good = folder.file("good.parquet");
    assert!(refused(tickscope(folder.path()).args([&good, &good])).contains("given twice"));
    let text = refused(tickscope(&good).arg(&good));
    assert!(text.contains("no place for imported files"), "{text}");
}
