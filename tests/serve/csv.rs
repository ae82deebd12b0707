//! Text files: each layout by two rows written here, types and values as they come back over the wire; what is refused, in which
//! words; packed files; real samples of vendors.

use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal64Type, Decimal128Type, Decimal256Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion::arrow::compute::concat_batches;
use tickscope::server;

use crate::client::{Client, config, serve};
use crate::files::Folder;

/// A column in words: its type, then the value of each row.
fn column(name: &str, array: &ArrayRef) -> String {
    let cells = |text: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..array.len()).map(|row| if array.is_null(row) { "-".to_owned() } else { text(row) }).collect()
    };
    let (kind, cells) = match array.data_type() {
        DataType::Boolean => ("bool".to_owned(), cells(&|row| array.as_boolean().value(row).to_string())),
        DataType::Int32 => ("i32".to_owned(), cells(&|row| array.as_primitive::<Int32Type>().value(row).to_string())),
        DataType::Int64 => ("i64".to_owned(), cells(&|row| array.as_primitive::<Int64Type>().value(row).to_string())),
        DataType::Utf8 => ("text".to_owned(), cells(&|row| array.as_string::<i32>().value(row).to_owned())),
        DataType::Dictionary(..) => {
            let symbols = array.as_any_dictionary();
            let (keys, values) = (symbols.normalized_keys(), symbols.values().as_string::<i32>().clone());
            ("symbol".to_owned(), cells(&|row| values.value(keys[row]).to_owned()))
        }
        DataType::Decimal64(_, scale) => (format!("d64.{scale}"), cells(&|row| array.as_primitive::<Decimal64Type>().value_as_string(row))),
        DataType::Decimal128(_, scale) => (format!("d128.{scale}"), cells(&|row| array.as_primitive::<Decimal128Type>().value_as_string(row))),
        DataType::Decimal256(_, scale) => (format!("d256.{scale}"), cells(&|row| array.as_primitive::<Decimal256Type>().value_as_string(row))),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            ("ns".to_owned(), cells(&|row| array.as_primitive::<TimestampNanosecondType>().value(row).to_string()))
        }
        other => panic!("{name} is {other}"),
    };
    format!("{name} {kind} {}", cells.join(" "))
}

/// What a table holds, a column a line, its time column first.
async fn shown(files: &[PathBuf]) -> String {
    let running = serve(config(files)).await;
    let mut client = Client::connect(&running).await;
    let tables = client.rows("tables()").await.unwrap();
    let table = crate::files::texts(&tables, "table_name")[0].clone().unwrap();
    let time = crate::files::texts(&tables, "designatedTimestamp")[0].clone().unwrap();
    let batches = client.rows(&format!("SELECT * FROM \"{table}\"")).await.unwrap();
    let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| column(field.name(), array));
    std::iter::once(format!("by {time}")).chain(columns).collect::<Vec<_>>().join("\n")
}

/// Why a file is refused, without the folder.
async fn refusal(file: &Path) -> String {
    let error = match server::start(config(&[file.to_owned()])).await {
        Err(error) => error,
        Ok(mut running) => running.wait_imported().await.expect_err("it is refused"),
    };
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text.rsplit_once('/').map_or(text.clone(), |(_, rest)| rest.to_owned())
}

fn written(folder: &Folder, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.file(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Checks the fixtures of a file: `## NAME`, the text of the file, a line `=>`, what the table holds.
async fn check_fixtures(fixtures: &str) {
    let mut count = 0;
    for fixture in fixtures.split("\n## ").skip(1) {
        let (name, rest) = fixture.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n=>\n").unwrap();
        let folder = Folder::new();
        let file = written(&folder, name, format!("{text}\n"));
        assert_eq!(shown(&[file]).await, expected.trim_end(), "{name}");
        count += 1;
    }
    assert!(count > 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_layout_comes_back_exactly() {
    check_fixtures(include_str!("csv_layouts.txt")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_ambiguous_or_broken_is_named_with_its_place() {
    let folder = Folder::new();
    let cases = include_str!("csv_refusals.txt");
    let mut count = 0;
    for case in cases.split("\n## ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n=>\n").unwrap();
        let file = written(&folder, name, text);
        assert_eq!(refusal(&file).await, expected.trim_end(), "{text}");
        count += 1;
    }
    assert!(count > 20);
    let latin = written(&folder, "latin.csv", b"ts,name\n2024-05-08T09:30:00Z,caf\xE9\n");
    assert_eq!(refusal(&latin).await, "latin.csv: line 2: its byte 25 is not UTF-8: convert the file to UTF-8");
    let wide = written(&folder, "wide.csv", b"\xFF\xFEt\0s\0,\0x\0\n\0");
    assert_eq!(refusal(&wide).await, "wide.csv: it is UTF-16: convert it to UTF-8");
}
