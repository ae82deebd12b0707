//! Files that are given to a running server become tables; what may not be or does not arrive whole leaves nothing.

use std::path::{Path, PathBuf};
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_ipc::writer::{FileWriter, StreamWriter};
use tickscope::server::{self, CachePlace, Config, Running};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

use crate::client::{Client, config, serve};
use crate::data;
use crate::files::{Folder, longs, numbered, texts, write};

/// A server with one table, whose cache can be looked into.
fn with_cache(folder: &Folder) -> Config {
    let file = folder.file("first.parquet");
    write(&file, &[numbered(&[1, 2], &[0, 1])]);
    Config { cache: CachePlace::Dir(folder.file("cache")), ..config(&[file]) }
}

async fn send(running: &Running, path: &str, headers: &str, body: &[u8]) -> (u16, serde_json::Value) {
    let mut socket = TcpStream::connect(running.address()).await.unwrap();
    let length = body.len();
    let request = format!("POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Length: {length}\r\n{headers}Connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    // A refusal may come before the whole body was taken.
    let _ = socket.write_all(body).await;
    let mut answer = Vec::new();
    let _ = socket.read_to_end(&mut answer).await;
    let answer = String::from_utf8_lossy(&answer).into_owned();
    let status = answer.split(' ').nth(1).unwrap_or_default().parse().unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    (status, serde_json::from_str(body).unwrap_or_default())
}

async fn add(running: &Running, name: &str, body: &[u8]) -> String {
    let (status, answer) = send(running, &format!("/api/files?name={name}"), "", body).await;
    assert_eq!(status, 200, "{name}: {answer}");
    answer["table"].as_str().unwrap().to_owned()
}

/// Rows of a table as soon as it is imported.
async fn rows(client: &mut Client, sql: &str) -> Vec<RecordBatch> {
    loop {
        match client.rows(sql).await {
            Ok(rows) => return rows,
            Err((_, text)) => assert!(text.contains("is being imported"), "{text}"),
        }
    }
}

fn bytes(batch: &RecordBatch, file: bool) -> Vec<u8> {
    let mut bytes = Vec::new();
    match file {
        true => {
            let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
        false => {
            let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
            writer.write(batch).unwrap();
            writer.finish().unwrap();
        }
    }
    bytes
}

fn all_files(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).map(|entries| entries.map(|entry| entry.unwrap().path()).collect::<Vec<_>>()).unwrap_or_default();
    entries.into_iter().flat_map(|path| if path.is_dir() { all_files(&path) } else { vec![path] }).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_of_each_format_becomes_a_table_while_the_server_runs() {
    let folder = Folder::new();
    let running = serve(with_cache(&folder)).await;
    let mut client = Client::connect(&running).await;
    let unsorted = numbered(&[3, 1, 2], &[0, 1, 2]);
    let parquet = folder.file("other.parquet");
    write(&parquet, std::slice::from_ref(&unsorted));
    let parquet = std::fs::read(parquet).unwrap();
    for (name, body, table) in [
        ("First.parquet", parquet.clone(), "first_2"),
        // The same again is a further table over the same import.
        ("First.parquet", parquet, "first_3"),
        ("day%20one.arrow", bytes(&unsorted, true), "day_one"),
        ("day.arrows", bytes(&unsorted, false), "day"),
        ("", bytes(&unsorted, false), "upload"),
    ] {
        assert_eq!(add(&running, name, &body).await, table);
        assert_eq!(longs(&rows(&mut client, &format!("SELECT n FROM {table}")).await, "n"), [1, 2, 0], "{table}");
    }
    assert_eq!(texts(&client.rows("tables()").await.unwrap(), "table_name").len(), 6);
    let imported = all_files(&folder.file("cache")).iter().filter(|path| path.extension().is_some_and(|e| e == "parquet")).count();
    // Two tables of one upload share its import: the upload, its import, and those of the three Arrow files.
    assert_eq!(imported, 5);
    let Some(day) = data::data_dir().map(|dir| dir.join("databento/dbn-versions/test_data.mbo.v1.dbn.zst")).filter(|path| path.exists()) else {
        return data::skipped("a_file_of_each_format_becomes_a_table", "there is no DBN file (set TICKSCOPE_DATA)");
    };
    assert_eq!(add(&running, "es.dbn.zst", &std::fs::read(day).unwrap()).await, "mbo");
    assert_eq!(rows(&mut client, "SELECT * FROM mbo").await[0].num_rows(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_may_not_be_added_is_refused_and_leaves_nothing() {
    let folder = Folder::new();
    let mut config = with_cache(&folder);
    config.upload_limit = 10_000;
    let running = serve(config).await;
    let good = bytes(&numbered(&[1], &[0]), false);
    let untimed = bytes(&numbered(&[1], &[0]).project(&[1]).unwrap(), false);
    for (path, headers, body, status, problem) in [
        ("/api/files?name=a.arrow", "Origin: http://evil.example\r\n", good.as_slice(), 403, "another origin"),
        ("/api/files?name=a.arrow", "Origin: null\r\n", &good, 403, "another origin"),
        ("/api/files?name=a.arrow", "", &[7; 20_000], 413, "raise --upload-limit"),
        ("/api/files?name=a.txt", "", b"no table at all", 422, "is of no known format"),
        ("/api/files?name=a.dbn", "", b"", 422, "is empty"),
        ("/api/files?name=a.arrow", "", &untimed, 422, "has no time column"),
        ("/api/files?name=..%2F..%2Fa.arrow", "", &good[..20], 422, "/a.arrow: the file is cut short"),
    ] {
        let (code, answer) = send(&running, path, headers, body).await;
        let text = answer["error"].as_str().unwrap_or_default();
        assert!(code == status && text.contains(problem), "{code} {answer}");
    }
    // Without a length it is found out while it comes.
    let mut socket = TcpStream::connect(running.address()).await.unwrap();
    let head = "POST /api/files HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n4e20\r\n";
    socket.write_all(head.as_bytes()).await.unwrap();
    let _ = socket.write_all(&[7; 20_000]).await;
    let mut answer = [0; 12];
    socket.read_exact(&mut answer).await.unwrap();
    assert_eq!(&answer, b"HTTP/1.1 413");
    assert_eq!(all_files(&folder.file("cache/uploads")), Vec::<PathBuf>::new());
    assert_eq!(texts(&Client::connect(&running).await.rows("tables()").await.unwrap(), "table_name").len(), 1);
    // What turns out to be damaged later is a failed import, and goes.
    let damaged = &good[..good.len() - 100];
    assert_eq!(send(&running, "/api/files?name=cut.arrow", "", damaged).await.0, 200);
    let mut client = Client::connect(&running).await;
    let gone = async {
        while !client.rows("SELECT * FROM cut").await.unwrap_err().1.contains("could not be imported")
            || !all_files(&folder.file("cache/uploads")).is_empty()
        {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("it fails and goes");
    // From its own page it is taken.
    let own = "Origin: http://localhost\r\n";
    assert_eq!(send(&running, "/api/files?name=..%2F..%2Fa.arrow", own, &good).await.0, 200);
    assert!(all_files(&folder.file("cache/uploads")).iter().all(|path| path.starts_with(folder.file("cache").canonicalize().unwrap())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_vanishes_half_way_leaves_nothing() {
    let folder = Folder::new();
    let running = serve(with_cache(&folder)).await;
    let unfinished = || all_files(&folder.file("cache")).iter().filter(|path| path.to_string_lossy().contains("unfinished")).count();
    let mut socket = TcpStream::connect(running.address()).await.unwrap();
    socket.write_all(b"POST /api/files?name=a.arrow HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n").await.unwrap();
    socket.write_all(&[7; 100_000]).await.unwrap();
    let seen = async {
        while unfinished() == 0 {
            tokio::task::yield_now().await;
        }
        drop(socket);
        while unfinished() > 0 {
            tokio::task::yield_now().await;
        }
    };
    tokio::time::timeout(Duration::from_secs(60), seen).await.expect("it is cleaned up");
    assert_eq!(texts(&Client::connect(&running).await.rows("tables()").await.unwrap(), "table_name"), [Some("first".to_owned())]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_for_other_machines_takes_no_files_unless_told() {
    let folder = Folder::new();
    let open = Config { host: "0.0.0.0".to_owned(), ..with_cache(&folder) };
    let body = bytes(&numbered(&[1], &[0]), false);
    let running = server::start(open.clone()).await.unwrap();
    let (status, answer) = send(&running, "/api/files?name=a", "", &body).await;
    assert!(status == 403 && answer["error"].as_str().unwrap().contains("--allow-upload"), "{answer}");
    let running = server::start(Config { allow_upload: true, ..open }).await.unwrap();
    assert_eq!(send(&running, "/api/files?name=a", "", &body).await.0, 200);
}
