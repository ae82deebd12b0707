//! From a file to a book over a real socket: the embedded store, the wire, history and the player together, against truths that come
//! with the data.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/databento.rs"]
mod databento;
#[path = "playback/panels.rs"]
mod panels;
#[path = "playback/schemas.rs"]
mod schemas;

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Float64Array, Int16Array, RecordBatch, StringArray};
use futures_util::{SinkExt, StreamExt};
use parquet::arrow::ArrowWriter;
use tickscope::columnar::{ArrowByteCounter, Assembler};
use tickscope::link::{Command, Open, Range, Speed, State, Status, StoreInfo, StoreKind};
use tickscope::server::client::Client;
use tickscope::server::{self, CachePlace, Config, Port, Running};
use tickscope::wire::{ClientMessage, Decoder, DecoderLimits, QueryRequest, ServerMessage};
use tokio_tungstenite::tungstenite::Message;

const BUDGET: usize = 96 << 20;

/// 2,288 rows around a midnight.
const MBP1: &str = "databento/es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst";

/// All of it.
fn mbp1_range() -> Range {
    Range { from: "1719878280000000000".into(), to: "1719878530000000000".into() }
}

async fn serve(files: Vec<PathBuf>, query_timeout: Duration) -> (Running, Client) {
    let config = Config { files, port: Port::Exactly(0), cache: CachePlace::Temporary, quiet: true, query_timeout, ..Config::default() };
    let mut server = server::start(config).await.expect("a server");
    server.wait_imported().await.expect("an import");
    let client = Client::new(vec![store(&server)], BUDGET);
    (server, client)
}

fn store(server: &Running) -> StoreInfo {
    let url = format!("ws://{}/read/v1", server.address());
    StoreInfo { name: "embedded".into(), kind: StoreKind::Embedded, default: true, url, importing: Vec::new() }
}

async fn open(client: &mut Client, open: Open) -> Box<State> {
    let state = client.command(&Command::Open(open)).await.expect("a place");
    assert_eq!(state.error, None);
    state
}

async fn play_to_the_end(client: &mut Client) -> Box<State> {
    client.command(&Command::Speed(Speed::Max)).await.unwrap();
    client.command(&Command::Play).await.unwrap();
    client.until(|state| state.status == Status::Ended).await;
    client.full_state().await.unwrap()
}

/// The ten levels of a row of the expected CSV, as `price:size:count`, in the integers of DBN.
fn expected(line: &str, header: &[&str]) -> Vec<String> {
    let cells: Vec<&str> = line.split(',').collect();
    let cell = |name: String| cells[header.iter().position(|column| *column == name).unwrap()];
    ["bid", "ask"]
        .iter()
        .flat_map(|side| (0..10).map(move |level| (side, level)))
        .filter(|(side, level)| !cell(format!("{side}_px_{level:02}")).is_empty())
        .map(|(side, level)| {
            let field = |name: &str| cell(format!("{side}_{name}_{level:02}"));
            format!("{}:{}:{}", field("px"), field("sz"), field("ct"))
        })
        .collect()
}

fn shown(state: &State) -> Vec<String> {
    let book = state.book.as_ref().expect("a book");
    let level = |level: &tickscope::link::LevelJson| {
        let price = tickscope::units::Decimal::parse(&level.price).unwrap().at_scale(tickscope::units::Scale(9)).unwrap();
        format!("{price}:{}:{}", level.size, level.count.unwrap())
    };
    book.bids.iter().take(10).map(level).chain(book.asks.iter().take(10).map(level)).collect()
}

fn es(test: &str, day: &str) -> Option<PathBuf> {
    databento::data_file(test, &format!("databento/es-mbo/esh4-glbx-mdp3-{day}.mbo.dbn.zst"))
}

#[tokio::test(flavor = "multi_thread")]
async fn the_es_day_is_the_independent_rebuild_at_every_listed_event() {
    const NAME: &str = "the_es_day_is_the_independent_rebuild_at_every_listed_event";
    let Some(before) = es(NAME, "20231224") else { return };
    let Some(day) = es(NAME, "20231225") else { return };
    let Some(truth) = databento::data_file(NAME, "databento/expected/esh4-20231225.top10.every-500th-event.csv") else { return };
    let text = std::fs::read_to_string(truth).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let batch = databento::mbo(&day, "ESH4");
    let times = batch.column_by_name("ts_recv").unwrap();
    let times = times.as_primitive::<arrow_array::types::TimestampNanosecondType>().values();
    let (_server, mut client) = serve(vec![before, day.clone()], server::QUERY_TIMEOUT).await;
    open(&mut client, Open::default()).await;
    let mut listed = 0;
    for line in lines {
        let record: usize = line.split(',').next().unwrap().parse().unwrap();
        let time = times[record];
        let k = times[..=record].iter().rev().take_while(|other| **other == time).count();
        let moment = format!("{time}/{k}");
        let state = client.command(&Command::Seek(moment.clone())).await.unwrap();
        assert_eq!(shown(&state), expected(line, &header), "record {record}");
        let book = state.book.as_ref().unwrap();
        assert_eq!((book.as_of.as_str(), book.event.as_str()), (moment.as_str(), (record + 1).to_string().as_str()));
        listed += 1;
    }
    assert_eq!(listed, 95);

    // Backwards, to a place that was passed, and the whole day at once.
    let first = text.lines().nth(1).unwrap();
    let record: usize = first.split(',').next().unwrap().parse().unwrap();
    let k = times[..=record].iter().rev().take_while(|other| **other == times[record]).count();
    let state = client.command(&Command::Seek(format!("{}/{k}", times[record]))).await.unwrap();
    assert_eq!(shown(&state), expected(first, &header));
    let mut fresh = Client::new(vec![store(&_server)], BUDGET);
    open(&mut fresh, Open::default()).await;
    let end = play_to_the_end(&mut fresh).await;
    let book = end.book.as_ref().unwrap();
    assert_eq!((book.bids[0].price.as_str(), book.asks[0].price.as_str()), ("4810", "4810.25"));
    assert_eq!(end.counters.events, batch.num_rows() as u64, "events applied are the rows of the range");
    assert_eq!(book.event, batch.num_rows().to_string());
    assert_eq!((end.quality.crossed, end.quality.unknown_orders, end.counters.out_of_order), (891, 0, 0));
}

#[tokio::test(flavor = "multi_thread")]
async fn the_counters_are_those_of_an_outside_count() {
    const NAME: &str = "the_counters_are_those_of_an_outside_count";
    let Some(file) = databento::data_file(NAME, MBP1) else { return };
    let (server, mut client) = serve(vec![file], server::QUERY_TIMEOUT).await;
    // The first window is larger than the file, so one statement brings all of it.
    open(&mut client, Open { range: Some(mbp1_range()), ..Open::default() }).await;
    let end = play_to_the_end(&mut client).await;
    let (counters, sql) = (end.counters, end.sql.unwrap());
    // The same statement over a socket of our own, counted here.
    let url = format!("ws://{}/read/v1", server.address());
    let (mut socket, _) = tokio_tungstenite::connect_async(&url).await.unwrap();
    let mut decoder = Decoder::new(DecoderLimits::default());
    let mut assembler = Assembler::new();
    let (mut rows, mut wire, mut arrow, mut counter) = (0, 0, 0, ArrowByteCounter::new());
    loop {
        let bytes = socket.next().await.unwrap().unwrap().into_data();
        match decoder.message(&bytes).unwrap() {
            ServerMessage::ServerInfo(_) => {
                decoder.begin(1, None).unwrap();
                let request = QueryRequest { request_id: 1, sql: sql.clone(), credit: 0, ..QueryRequest::default() };
                let mut bytes = Vec::new();
                ClientMessage::Query(request).encode(&mut bytes);
                socket.send(Message::Binary(bytes.into())).await.unwrap();
                continue;
            }
            ServerMessage::Batch(batch) => {
                let batch = assembler.assemble(batch, decoder.dictionary()).unwrap();
                rows += batch.num_rows() as u64;
                arrow += counter.add(&batch);
            }
            ServerMessage::End { .. } => {
                wire += bytes.len() as u64;
                break;
            }
            other => panic!("{other:?}"),
        }
        wire += bytes.len() as u64;
    }
    assert_eq!((counters.rows, counters.wire_bytes, counters.arrow_bytes), (rows, wire, arrow));
    assert_eq!(rows, 2_288);
}

#[tokio::test(flavor = "multi_thread")]
async fn three_schemas_of_one_market_show_one_book() {
    const NAME: &str = "three_schemas_of_one_market_show_one_book";
    let mut books = Vec::new();
    for schema in ["mbo", "mbp-10"] {
        let Some(file) = databento::data_file(NAME, &format!("databento/xnas-nvda/test_data.{schema}.dbn.zst")) else { return };
        let (_server, mut client) = serve(vec![file], server::QUERY_TIMEOUT).await;
        let mut state = open(&mut client, Open::default()).await;
        let mut levels = Vec::new();
        for _ in 0..4 {
            let book = state.book.clone().unwrap();
            levels.push((book.bids, book.asks));
            state = client.command(&Command::Step(1)).await.unwrap();
        }
        assert_eq!(state.status, Status::Ended);
        books.push(levels);
    }
    assert_eq!(books[0], books[1]);
}

/// The levels of an MBP-1 batch as the 18-column layout has them: `bids[1]` prices, `bids[2]` sizes.
fn ladder(batch: &RecordBatch, side: &str) -> ArrayRef {
    let price = batch.column_by_name(&format!("{side}_px_00")).unwrap().as_primitive::<Decimal64Type>().clone();
    let size = arrow_size(batch, &format!("{side}_sz_00"));
    let mut lists = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for row in 0..batch.num_rows() {
        let px = if price.is_null(row) { f64::NAN } else { price.value(row) as f64 / 1e9 };
        lists.values().values().append_value(px);
        lists.values().append(true);
        lists.values().values().append_value(size.value(row));
        lists.values().append(true);
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// The orders of the one level, as an array.
fn counts(batch: &RecordBatch, side: &str) -> ArrayRef {
    let counts = arrow_size(batch, &format!("{side}_ct_00"));
    let mut lists = ListBuilder::new(Float64Builder::new());
    for row in 0..batch.num_rows() {
        lists.values().append_value(counts.value(row));
        lists.append(true);
    }
    Arc::new(lists.finish())
}

fn arrow_size(batch: &RecordBatch, name: &str) -> Float64Array {
    let column = batch.column_by_name(name).unwrap();
    let value = |row: usize| match column.as_primitive_opt::<Int64Type>() {
        Some(values) => values.value(row) as f64,
        None => column.as_primitive::<arrow_array::types::UInt32Type>().value(row) as f64,
    };
    Float64Array::from_iter_values((0..batch.num_rows()).map(value))
}

/// Writes the layout that QuestDB users have: 18 columns with arrays and DOUBLE prices.
fn write_18_columns(flat: &RecordBatch, path: &Path) {
    let column = |name: &str| flat.column_by_name(name).unwrap().clone();
    let price = column("price");
    let price = price.as_primitive::<Decimal64Type>();
    let price: ArrayRef = Arc::new(Float64Array::from_iter(price.iter().map(|price| price.map(|price| price as f64 / 1e9))));
    let mut columns: Vec<(&str, ArrayRef)> = Vec::new();
    for name in ["ts_recv", "ts_event", "symbol", "publisher_id", "instrument_id", "size", "action", "side", "flags", "ts_in_delta", "sequence"] {
        columns.push((name, column(name)));
    }
    columns.push(("price", price));
    columns.push(("bids", ladder(flat, "bid")));
    columns.push(("asks", ladder(flat, "ask")));
    columns.push(("bid_ct", counts(flat, "bid")));
    columns.push(("ask_ct", counts(flat, "ask")));
    columns.push(("dataset", Arc::new(StringArray::from(vec!["GLBX.MDP3"; flat.num_rows()]))));
    columns.push(("depth", Arc::new(Int16Array::from(vec![0; flat.num_rows()]))));
    assert_eq!(columns.len(), 18);
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let mut writer = ArrowWriter::try_new(std::fs::File::create(path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_table_with_arrays_shows_the_book_of_the_flat_file() {
    const NAME: &str = "a_table_with_arrays_shows_the_book_of_the_flat_file";
    let Some(file) = databento::data_file(NAME, MBP1) else { return };
    let dir = std::env::temp_dir().join(format!("tickscope-playback-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let arrays = dir.join("book18.parquet");
    write_18_columns(&databento::mbp1(&file, "ESU4"), &arrays);
    let (_flat_server, mut flat) = serve(vec![file], server::QUERY_TIMEOUT).await;
    let (_arrays_server, mut with_arrays) = serve(vec![arrays], server::QUERY_TIMEOUT).await;
    let place = Open { range: Some(mbp1_range()), ..Open::default() };
    let mut a = open(&mut flat, place.clone()).await;
    let mut b = open(&mut with_arrays, place).await;
    assert_eq!((a.binding.as_ref().unwrap().name.as_str(), b.binding.as_ref().unwrap().name.as_str()), ("MBP-1", "MBP-1 (arrays)"));
    let same = |a: &State, b: &State| {
        let (a, b) = (a.book.as_ref().unwrap(), b.book.as_ref().unwrap());
        assert_eq!((&a.as_of, &a.event, &a.bids, &a.asks, &a.digest), (&b.as_of, &b.event, &b.bids, &b.asks, &b.digest));
    };
    for _ in 0..200 {
        same(&a, &b);
        a = flat.command(&Command::Step(1)).await.unwrap();
        b = with_arrays.command(&Command::Step(1)).await.unwrap();
    }
    let (a, b) = (play_to_the_end(&mut flat).await, play_to_the_end(&mut with_arrays).await);
    same(&a, &b);
    assert_eq!(a.counters.events, 2_288);
    let _ = std::fs::remove_dir_all(&dir);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_seek_in_a_depth_feed_shows_what_stepping_showed() {
    const NAME: &str = "a_seek_in_a_depth_feed_shows_what_stepping_showed";
    let Some(file) = databento::data_file(NAME, MBP1) else { return };
    let (server, mut stepping) = serve(vec![file], server::QUERY_TIMEOUT).await;
    let place = Open { range: Some(mbp1_range()), ..Open::default() };
    let mut state = open(&mut stepping, place.clone()).await;
    let mut seen = Vec::new();
    while state.status != Status::Ended {
        let book = state.book.clone().unwrap();
        seen.push((state.as_of.clone().unwrap(), book.event, book.digest));
        state = stepping.command(&Command::Step(1)).await.unwrap();
    }
    assert!(seen.len() > 2_000, "{} groups", seen.len());
    let mut seeking = Client::new(vec![store(&server)], BUDGET);
    open(&mut seeking, place.clone()).await;
    // Far apart and in no order: each place is found by its anchor or from what is there.
    for at in (0..seen.len()).map(|n| n * 997 % seen.len()).step_by(19) {
        let (as_of, event, digest) = &seen[at];
        let state = seeking.command(&Command::Seek(as_of.clone())).await.unwrap();
        let book = state.book.as_ref().unwrap();
        assert_eq!((&book.event, &book.digest), (event, digest), "at {as_of}");
    }
    // And from nothing, so that the anchor must be right.
    for at in [1, 2, 500, 1_111, 2_000] {
        let (as_of, event, digest) = &seen[at];
        let mut fresh = Client::new(vec![store(&server)], BUDGET);
        let state = open(&mut fresh, Open { at: Some(as_of.clone()), ..place.clone() }).await;
        let book = state.book.as_ref().unwrap();
        assert_eq!((&book.event, &book.digest), (event, digest), "opened at {as_of}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_short_query_timeout_loses_nothing_over_slow_playback_and_a_pause() {
    const NAME: &str = "a_short_query_timeout_loses_nothing_over_slow_playback_and_a_pause";
    let Some(day) = es(NAME, "20231225") else { return };
    // Shorter than what follows by far: an open query would die in it.
    let (_server, mut client) = serve(vec![day], Duration::from_secs(1)).await;
    open(&mut client, Open::default()).await;
    let busy = "1703546985000000000";
    client.command(&Command::Seek(busy.into())).await.unwrap();
    client.command(&Command::Speed(Speed::Times { milli: 100 })).await.unwrap();
    client.command(&Command::Play).await.unwrap();
    run_for(&mut client, Duration::from_secs(4)).await;
    client.command(&Command::Pause).await.unwrap();
    run_for(&mut client, Duration::from_secs(4)).await;
    let slow = client.full_state().await.unwrap();
    assert_eq!(slow.error, None);
    let at = slow.as_of.clone().unwrap();
    let end = play_to_the_end(&mut client).await;
    assert_eq!(end.book.as_ref().unwrap().event, "68792");
    let mut fresh = Client::new(vec![store(&_server)], BUDGET);
    open(&mut fresh, Open::default()).await;
    let sought = fresh.command(&Command::Seek(at)).await.unwrap();
    assert_eq!(sought.book.as_ref().map(|book| &book.digest), slow.book.as_ref().map(|book| &book.digest));
}

async fn run_for(client: &mut Client, time: Duration) {
    let until = tokio::time::Instant::now() + time;
    while tokio::time::Instant::now() < until {
        client.step().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_file_a_sample_plays_and_says_what_it_is() {
    let (_server, mut client) = serve(Vec::new(), server::QUERY_TIMEOUT).await;
    let thin = Open { table: Some("mbo".into()), symbols: vec!["SYNTHIN".into()], ..Open::default() };
    let state = open(&mut client, thin).await;
    assert!(state.catalogue.tables.len() == 3 && state.catalogue.tables.iter().all(|table| table.synthetic));
    let book = state.book.as_ref().unwrap();
    assert_eq!((book.kind.as_str(), book.partial_since.as_ref()), ("L3", None));
    let end = play_to_the_end(&mut client).await;
    let rows = end.catalogue.instruments.iter().find(|found| end.symbols.contains(&found.symbol)).unwrap().rows;
    assert_eq!((end.counters.events, end.quality.unknown_orders, end.quality.crossed), (rows, 0, 0));
    assert!(rows > 50_000, "{rows}");
}
