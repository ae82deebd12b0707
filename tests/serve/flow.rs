//! Credit, cancel, timeouts, the dictionary and the framing of `/read/v1`.

use std::time::Duration;

use futures_util::{SinkExt as _, StreamExt as _};
use tickscope::server::{Config, Running};
use tickscope::wire::{ClientMessage, QueryRequest, ServerMessage, capability, status};
use tokio::time::{Instant, timeout};
use tokio_tungstenite::tungstenite::Message;

use crate::client::{Client, config, query, serve};
use crate::files::{Folder, longs, numbered, texts, write};

const ROWS: i64 = 200_000;
/// Long enough that nothing more comes, short enough for a test.
const SILENCE: Duration = Duration::from_millis(300);

/// A server over `ticks`, 200,000 rows in order.
async fn ticks(change: impl FnOnce(&mut Config)) -> (Folder, Running) {
    let folder = Folder::new();
    let numbers: Vec<i64> = (0..ROWS).collect();
    write(&folder.file("ticks.parquet"), &[numbered(&numbers, &numbers)]);
    let mut config = config(&[folder.file("ticks.parquet")]);
    change(&mut config);
    let running = serve(config).await;
    (folder, running)
}

fn with_credit(id: i64, sql: &str, credit: u64) -> QueryRequest {
    QueryRequest { credit, ..query(id, sql) }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_introduces_itself_and_answers_queries_one_after_the_other() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect_with(&running, "/api/v1/read?store=embedded", &[]).await.unwrap();
    assert_eq!((client.info.role, client.info.capabilities, client.info.cluster.as_str()), (0, capability::QUERY_FLAGS, "tickscope"));
    assert_eq!(longs(&client.rows("SELECT n FROM ticks").await.unwrap(), "n"), (0..ROWS).collect::<Vec<_>>());
    // No rows is still a batch with a schema.
    let none = client.rows("SELECT n, k FROM ticks WHERE n < 0").await.unwrap();
    assert_eq!((none.len(), none[0].num_rows(), none[0].num_columns()), (1, 0, 2));
    client.ask(query(9, "  -- nothing\n")).await;
    assert_eq!(client.next().await, ServerMessage::ExecDone { request_id: 9, op_type: 39, rows: None });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn credit_is_obeyed_to_the_byte() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect(&running).await;
    let sql = "SELECT ts, n FROM ticks";
    client.ask(query(1, sql)).await;
    let first = client.batch().await.wire_bytes as u64;
    while !matches!(client.next().await, ServerMessage::End { .. }) {}

    // Its own length brings one batch; a byte more brings the next, which is owed then.
    client.ask(with_credit(2, sql, first)).await;
    assert_eq!(client.batch().await.wire_bytes as u64, first);
    assert_eq!(client.next_within(SILENCE).await, None);
    client.send(&ClientMessage::Credit { request_id: 2, bytes: 0 }).await;
    client.send(&ClientMessage::Credit { request_id: 77, bytes: 1 << 40 }).await;
    assert_eq!(client.next_within(SILENCE).await, None);
    client.send(&ClientMessage::Credit { request_id: 2, bytes: 1 }).await;
    let second = client.batch().await.wire_bytes as u64;
    assert_eq!(client.next_within(SILENCE).await, None);
    client.send(&ClientMessage::Credit { request_id: 2, bytes: second - 1 }).await;
    assert_eq!(client.next_within(SILENCE).await, None, "the rest is 0");
    client.send(&ClientMessage::Credit { request_id: 2, bytes: 1 }).await;
    assert_eq!(client.batch().await.sequence, 2);
    client.send(&ClientMessage::Credit { request_id: 2, bytes: i64::MAX as u64 }).await;
    client.send(&ClientMessage::Credit { request_id: 2, bytes: i64::MAX as u64 }).await;
    while !matches!(client.next().await, ServerMessage::End { total_rows: 200_000, .. }) {}

    client.ask(with_credit(3, sql, first + 1)).await;
    client.batch().await;
    client.batch().await;
    assert_eq!(client.next_within(SILENCE).await, None);
    client.send(&ClientMessage::Cancel { request_id: 3 }).await;
    client.error().await;
    // The end of a result needs no credit.
    client.ask(with_credit(4, "SELECT 1", 1)).await;
    client.batch().await;
    assert!(matches!(client.next().await, ServerMessage::End { request_id: 4, total_rows: 1, .. }));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_cancel_acts_at_once_also_while_waiting_for_credit() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect(&running).await;
    client.ask(with_credit(1, "SELECT ts, n FROM ticks", 1)).await;
    client.batch().await;
    client.send(&ClientMessage::Cancel { request_id: 5 }).await;
    assert_eq!(client.next_within(SILENCE).await, None);
    client.send(&ClientMessage::Cancel { request_id: 1 }).await;
    assert_eq!(client.error().await, (1, status::CANCELLED, "cancelled by client".to_owned()));
    // Also with credit without limit, and while it computes.
    let endless = "SELECT count(*) FROM ticks AS a JOIN ticks AS b ON a.n % 2 = b.n % 2 JOIN ticks AS c ON a.n % 2 = c.n % 2";
    client.ask(query(2, endless)).await;
    assert_eq!(client.next_within(SILENCE).await, None);
    let asked = Instant::now();
    client.send(&ClientMessage::Cancel { request_id: 2 }).await;
    assert_eq!(client.error().await.1, status::CANCELLED);
    assert!(asked.elapsed() < Duration::from_secs(2), "{:?}", asked.elapsed());
    assert_eq!(longs(&client.rows("SELECT n FROM ticks LIMIT 3").await.unwrap(), "n"), [0, 1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_query_is_refused_and_the_first_goes_on() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect(&running).await;
    client.ask(with_credit(1, "SELECT ts, n FROM ticks", 1)).await;
    client.batch().await;
    client.ask(query(2, "SELECT 1")).await;
    let one_query = "Phase 1 egress supports a single in-flight query per connection";
    assert_eq!(client.error().await, (2, status::PARSE_ERROR, one_query.to_owned()));
    client.send(&ClientMessage::Credit { request_id: 1, bytes: 1 << 30 }).await;
    while !matches!(client.next().await, ServerMessage::End { request_id: 1, total_rows: 200_000, .. }) {}
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_query_ends_at_its_time_whether_it_waits_or_computes() {
    let (_folder, running) = ticks(|config| config.query_timeout = Duration::from_secs(1)).await;
    let mut client = Client::connect(&running).await;
    let started = Instant::now();
    client.ask(with_credit(1, "SELECT ts, n FROM ticks", 1)).await;
    client.batch().await;
    let (id, status, text) = client.error().await;
    assert!(started.elapsed() >= Duration::from_secs(1));
    assert_eq!((id, status), (1, status::LIMIT_EXCEEDED));
    assert!(text.starts_with("[-1] timeout, query aborted [runtime=1") && text.ends_with("ms, timeout=1000ms]"), "{text}");
    // Nothing of its dictionary is forgotten, and the connection goes on.
    let rows = client.rows("SELECT k FROM ticks LIMIT 3").await.unwrap();
    assert_eq!(texts(&rows, "k"), ["a", "b", "c"].map(|text| Some(text.to_owned())));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn symbols_travel_once_a_connection_until_a_reset() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect(&running).await;
    let sql = "SELECT k FROM ticks LIMIT 6";
    let expected = ["a", "b", "c", "a", "b", "c"].map(|text| Some(text.to_owned()));
    client.ask(query(101, sql)).await;
    let whole = client.batch().await.wire_bytes;
    client.next().await;
    client.ask(query(102, sql)).await;
    assert_eq!(client.batch().await.wire_bytes, whole - 6, "a length and a letter of three symbols less");
    client.next().await;
    client.ask(QueryRequest { reset_dictionary: true, ..query(103, sql) }).await;
    assert_eq!(client.next().await, ServerMessage::CacheReset { mask: 1 });
    assert_eq!(client.batch().await.wire_bytes, whole);
    client.next().await;
    assert_eq!(texts(&client.rows(sql).await.unwrap(), "k"), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_client_may_ask_for_smaller_batches() {
    let (_folder, running) = ticks(|_| {}).await;
    for (path, headers) in [("/read/v1?qwp_max_batch_rows=1000", vec![]), ("/read/v1?qwp_max_batch_rows=7", vec![("x-qwp-max-batch-rows", "1000")])] {
        let mut client = Client::connect_with(&running, path, &headers).await.unwrap();
        let rows: Vec<usize> = client.rows("SELECT n FROM ticks LIMIT 2500").await.unwrap().iter().map(|batch| batch.num_rows()).collect();
        assert_eq!(rows, [1000, 1000, 500]);
    }
    let rows: Vec<usize> = Client::connect(&running).await.rows("SELECT n FROM ticks").await.unwrap().iter().map(|batch| batch.num_rows()).collect();
    assert!(rows.iter().all(|rows| *rows <= 16_384) && rows.len() < 20, "{rows:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_no_message_ends_the_connection_with_a_reason() {
    let (_folder, running) = ticks(|_| {}).await;
    for (message, code) in [
        (Message::Text("SELECT 1".into()), 1003),
        (Message::Binary(vec![0u8; 2 << 20].into()), 1009),
        (Message::Binary(vec![0x11].into()), 1002),
        (Message::Binary(Vec::new().into()), 1002),
    ] {
        let mut client = Client::connect(&running).await;
        client.socket.send(message).await.unwrap();
        let closed = timeout(Duration::from_secs(5), client.socket.next()).await.unwrap().unwrap().unwrap();
        let Message::Close(Some(frame)) = closed else { panic!("{closed:?}") };
        assert_eq!(u16::from(frame.code), code);
    }
    // A malformed query is answered; the connection goes on.
    let mut client = Client::connect(&running).await;
    client.decoder.begin(7, None).unwrap();
    client.socket.send(Message::Binary([&[0x10][..], &7i64.to_le_bytes(), &[200]].concat().into())).await.unwrap();
    let (id, status, text) = client.error().await;
    assert_eq!((id, status), (7, status::PARSE_ERROR));
    assert!(text.starts_with("QUERY_REQUEST: "), "{text}");
    client.socket.send(Message::Binary(vec![0x14, 1].into())).await.unwrap();
    assert_eq!(client.rows("SELECT 1 AS one").await.unwrap().len(), 1);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stopping_server_says_so() {
    let (_folder, running) = ticks(|_| {}).await;
    let mut client = Client::connect(&running).await;
    let stopped = tokio::spawn(running.stop());
    let closed = timeout(Duration::from_secs(5), client.socket.next()).await.unwrap().unwrap().unwrap();
    let Message::Close(Some(frame)) = closed else { panic!("{closed:?}") };
    assert_eq!(u16::from(frame.code), 1001);
    drop(client);
    timeout(Duration::from_secs(5), stopped).await.unwrap().unwrap();
}
