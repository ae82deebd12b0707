//! zstd on the wire, for clients that ask: the same rows in fewer bytes, and credit that counts what is sent.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, TimestampNanosecondArray};
use tickscope::server::Running;
use tickscope::wire::{Compression, QueryRequest, ServerMessage, capability};

use crate::client::{Client, config, query, serve};
use crate::files::{Folder, numbered, write};

const ROWS: i64 = 200_000;
const SQL: &str = "SELECT * FROM ticks";

/// A server over `ticks`: numbers that compress, and `noise`: numbers that do not.
async fn ticks() -> (Folder, Running) {
    let folder = Folder::new();
    let numbers: Vec<i64> = (0..ROWS).collect();
    write(&folder.file("ticks.parquet"), &[numbered(&numbers, &numbers)]);
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let noise: Vec<i64> = (0..50_000)
        .map(|_| {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state.cast_signed()
        })
        .collect();
    let columns: [(&str, ArrayRef); 2] = [
        ("ts", Arc::new(TimestampNanosecondArray::from(numbers[..noise.len()].to_vec()).with_timezone("UTC"))),
        ("noise", Arc::new(Int64Array::from(noise))),
    ];
    write(&folder.file("noise.parquet"), &[RecordBatch::try_from_iter(columns).unwrap()]);
    let running = serve(config(&[folder.file("ticks.parquet"), folder.file("noise.parquet")])).await;
    (folder, running)
}

/// All rows of a statement and the bytes in which they came.
async fn read(client: &mut Client, sql: &str) -> (Vec<RecordBatch>, usize) {
    let mut assembler = tickscope::columnar::Assembler::new();
    let (mut batches, mut bytes) = (Vec::new(), 0);
    client.ask(query(1, sql)).await;
    loop {
        match client.next().await {
            ServerMessage::Batch(batch) => {
                bytes += batch.wire_bytes;
                batches.push(assembler.assemble(batch, client.decoder.dictionary()).unwrap());
            }
            ServerMessage::End { .. } => return (batches, bytes),
            other => panic!("{other:?}"),
        }
    }
}

async fn connect(running: &Running, path: &str, header: Option<&str>) -> Client {
    let headers: Vec<_> = header.map(|value| ("x-qwp-accept-encoding", value)).into_iter().collect();
    Client::connect_with(running, path, &headers).await.unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_asks_gets_the_same_rows_in_fewer_bytes() {
    let (_folder, running) = ticks().await;
    let (rows, raw) = read(&mut connect(&running, "/read/v1", None).await, SQL).await;
    let ways = [
        ("/read/v1", Some("zstd;level=3"), None),
        ("/read/v1?qwp_accept_encoding=zstd%3Blevel%3D3%2Craw", None, Some(Compression { codec: 1, level: 3 })),
    ];
    for (path, header, announced) in ways {
        let mut client = connect(&running, path, header).await;
        let flags = capability::QUERY_FLAGS | if announced.is_some() { capability::COMPRESSION } else { 0 };
        assert_eq!((client.info.capabilities, client.info.compression), (flags, announced), "{path}");
        let (same, bytes) = read(&mut client, SQL).await;
        assert_eq!(same, rows, "{path}");
        assert!(bytes * 2 < raw, "{path}: {bytes} of {raw} bytes");
    }
    // Who names raw first gets it.
    assert_eq!(read(&mut connect(&running, "/read/v1", Some("raw, zstd")).await, SQL).await, (rows, raw));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_does_not_get_smaller_stays_raw() {
    let (_folder, running) = ticks().await;
    let sql = "SELECT noise FROM noise";
    let raw = read(&mut connect(&running, "/read/v1", None).await, sql).await;
    let asked = read(&mut connect(&running, "/read/v1", Some("zstd;level=1")).await, sql).await;
    assert_eq!(asked, raw, "rows and bytes");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credit_counts_the_bytes_that_are_sent() {
    let (_folder, running) = ticks().await;
    let mut client = connect(&running, "/read/v1", Some("zstd")).await;
    client.ask(query(1, SQL)).await;
    let first = client.batch().await.wire_bytes as u64;
    while !matches!(client.next().await, ServerMessage::End { .. }) {}
    for (credit, batches) in [(first, 1), (first + 1, 2)] {
        let mut client = connect(&running, "/read/v1", Some("zstd")).await;
        client.ask(QueryRequest { credit, ..query(1, SQL) }).await;
        for _ in 0..batches {
            client.batch().await;
        }
        assert_eq!(client.next_within(std::time::Duration::from_millis(300)).await, None, "credit {credit}");
    }
}
