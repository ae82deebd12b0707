//! Files without orders from end to end: every schema of Databento that carries prices opens as what it holds.

use std::sync::Arc;

use arrow_array::{ArrayRef, Float32Array, RecordBatch, StringArray, TimestampNanosecondArray};
use parquet::arrow::ArrowWriter;
use tickscope::link::{Command, Open, State, TapeView};
use tickscope::server;
use tickscope::server::client::Client;
use tickscope::units::{Aggressor, Decimal, UnixNanos};

use super::panels::tape;
use super::{databento, mbp1_range, open, play_to_the_end, serve};

const FOLDER: &str = "databento/es-mbp1-trades";
const MINUTE: i64 = 60_000_000_000;

fn holds(state: &State) -> (&str, &str) {
    let binding = state.binding.as_ref().expect("a binding");
    (binding.name.as_str(), binding.holds.as_str())
}

/// Price, size and aggressor of the trade last applied.
fn last(client: &Client) -> Option<(Decimal, Decimal, Aggressor)> {
    let book = client.engine.player().book();
    let trade = book.last_trade()?;
    Some((Decimal::new(trade.price.0.into(), book.price_scale()), Decimal::new(trade.size.0.into(), book.size_scale()), trade.aggressor))
}

#[tokio::test(flavor = "multi_thread")]
async fn every_schema_with_prices_opens_as_what_it_holds() {
    const NAME: &str = "every_schema_with_prices_opens_as_what_it_holds";
    let quotes = ("MBP-1", "quotes");
    for (file, bound, rows, levels) in [
        ("trades", ("Trades", "trades"), "2", 0),
        ("tbbo", quotes, "2", 1),
        ("bbo-1s", quotes, "4", 1),
        ("bbo-1m", quotes, "4", 1),
        ("cmbp-1", quotes, "2", 1),
        ("cbbo-1s", quotes, "2", 1),
        ("ohlcv-1h", ("Bars", "bars"), "2", 0),
    ] {
        let Some(path) = databento::data_file(NAME, &format!("databento/dbn-versions/test_data.{file}.v3.dbn.zst")) else { return };
        let (_server, mut client) = serve(vec![path], server::QUERY_TIMEOUT).await;
        open(&mut client, Open::default()).await;
        let state = play_to_the_end(&mut client).await;
        assert_eq!((holds(&state), &state.error), (bound, &None), "{file}");
        let book = state.book.as_ref().unwrap();
        assert_eq!((book.event.as_str(), book.bids.len(), book.asks.len()), (rows, levels, levels), "{file}");
        assert_eq!(last(&client).is_some(), ["trades", "tbbo", "ohlcv-1h"].contains(&file), "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn bars_close_where_the_trades_of_their_minute_end() {
    const NAME: &str = "bars_close_where_the_trades_of_their_minute_end";
    let file = |name: &str| databento::data_file(NAME, &format!("{FOLDER}/futures_{name}.dbn.zst"));
    let (Some(bars), Some(trades)) = (file("ohlcv-1m_2024-07-01T23-40_2024-07-02T00-10"), file("trades_2024-07-01T23-58_2024-07-02T00-02")) else {
        return;
    };
    let (_bars, mut bars) = serve(vec![bars], server::QUERY_TIMEOUT).await;
    let (_trades, mut trades) = serve(vec![trades], server::QUERY_TIMEOUT).await;
    for client in [&mut bars, &mut trades] {
        open(client, Open { symbols: vec!["ESU4".into()], range: Some(mbp1_range()), ..Open::default() }).await;
    }
    let start: UnixNanos = mbp1_range().from.parse().unwrap();
    let mut passed = 0;
    for minute in 0..4 {
        let time = start.0 + minute * MINUTE;
        bars.command(&Command::Seek(time.to_string())).await.unwrap();
        let state = trades.command(&Command::Seek(format!("{}-", time + MINUTE))).await.unwrap();
        let event: u32 = state.book.as_ref().unwrap().event.parse().unwrap();
        assert!(event > passed, "a minute without trades proves nothing");
        passed = event;
        let (close, size, aggressor) = last(&bars).unwrap();
        assert_eq!((size, aggressor), (Decimal::default(), Aggressor::None), "a close is no trade");
        assert_eq!(close, last(&trades).unwrap().0, "minute {minute}");
    }
    assert_eq!(passed, 120);
}

#[tokio::test(flavor = "multi_thread")]
async fn snapshots_of_five_levels_are_the_top_of_those_of_twenty_five() {
    const NAME: &str = "snapshots_of_five_levels_are_the_top_of_those_of_twenty_five";
    let file = |depth: u32| databento::data_file(NAME, &format!("tardis/binance-futures_book_snapshot_{depth}_BTCUSDT.csv"));
    let (Some(deep), Some(shallow)) = (file(25), file(5)) else { return };
    let times = |path: &std::path::Path| -> Vec<String> {
        let text = std::fs::read_to_string(path).unwrap();
        text.lines().skip(1).map(|line| format!("{}000", line.split(',').nth(3).unwrap())).collect()
    };
    let (all, some) = (times(&deep), times(&shallow));
    let (_deep, mut deep) = serve(vec![deep], server::QUERY_TIMEOUT).await;
    let (_shallow, mut shallow) = serve(vec![shallow], server::QUERY_TIMEOUT).await;
    let state = open(&mut deep, Open::default()).await;
    assert_eq!(holds(&state), ("Levels, 25 a side", "book"));
    let state = open(&mut shallow, Open::default()).await;
    assert_eq!(holds(&state), ("Levels, 5 a side", "book"));
    let both: Vec<&String> = all.iter().filter(|time| some.contains(time)).collect();
    assert_eq!(both.len(), 4);
    for time in both {
        let (all, top) = (deep.command(&Command::Seek(time.clone())).await.unwrap(), shallow.command(&Command::Seek(time.clone())).await.unwrap());
        let (all, top) = (all.book.as_ref().unwrap(), top.book.as_ref().unwrap());
        assert_eq!((all.bids.len(), all.asks.len()), (20, 20), "the state shows twenty of them");
        assert_eq!((&all.bids[..5], &all.asks[..5]), (&top.bids[..], &top.asks[..]), "{time}");
    }
}

/// How many trades the tape has, and the sizes of those shown.
async fn tape_of(client: &mut Client, min_size: Option<&str>) -> (Option<u64>, Vec<String>) {
    let view = TapeView { first: None, rows: 8, min_size: min_size.map(str::to_owned) };
    let shown = tape(client, view).await;
    assert_eq!(shown.reason, None);
    (shown.total, shown.rows.into_iter().map(|row| row.size).collect())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tape_of_a_lobster_file_has_its_executions_seen_and_unseen() {
    const NAME: &str = "the_tape_of_a_lobster_file_has_its_executions_seen_and_unseen";
    let file = databento::data_file(NAME, "lobster/AAPL_2012-06-21_34200000_57600000_message_10.rows-1-600.csv");
    let Some(file) = file else { return };
    let text = std::fs::read_to_string(&file).unwrap();
    let executions = text.lines().map(|line| line.split(',').collect::<Vec<_>>()).filter(|cells| ["4", "5", "6"].contains(&cells[1]));
    let sizes: Vec<u64> = executions.map(|cells| cells[3].parse().unwrap()).collect();
    let (_server, mut client) = serve(vec![file], server::QUERY_TIMEOUT).await;
    open(&mut client, Open::default()).await;
    client.command(&Command::End).await.unwrap();
    for least in [0, 100] {
        let passing: Vec<String> = sizes.iter().filter(|size| **size >= least).map(u64::to_string).collect();
        let filter = least.to_string();
        let (total, shown) = tape_of(&mut client, (least > 0).then_some(filter.as_str())).await;
        assert_eq!((total, &shown[..]), (Some(passing.len() as u64), &passing[passing.len() - 8..]));
    }
    assert_eq!(sizes.len(), 107);
}

#[tokio::test(flavor = "multi_thread")]
async fn sizes_of_32_bits_are_filtered_by_what_they_say() {
    let sizes = [0.1f32, 0.7, 0.3, 0.7, 0.69999, 2.5];
    let rows = sizes.len() as i64;
    let columns: [(&str, ArrayRef); 4] = [
        ("ts", Arc::new(TimestampNanosecondArray::from_iter_values((0..rows).map(|row| 1_715_126_400_000_000_000 + row)))),
        ("side", Arc::new(StringArray::from(vec!["buy", "sell", "buy", "sell", "buy", "sell"]))),
        ("price", Arc::new(Float32Array::from(vec![217.63f32; 6]))),
        ("amount", Arc::new(Float32Array::from(sizes.to_vec()))),
    ];
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let dir = std::env::temp_dir().join(format!("tickscope-schemas-{}", std::process::id()));
    std::fs::create_dir_all(&dir).unwrap();
    let path = dir.join("prints.parquet");
    let mut writer = ArrowWriter::try_new(std::fs::File::create(&path).unwrap(), batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
    let (_server, mut client) = serve(vec![path], server::QUERY_TIMEOUT).await;
    open(&mut client, Open::default()).await;
    client.command(&Command::End).await.unwrap();
    assert_eq!(last(&client).unwrap().0, Decimal::parse("217.63").unwrap());
    let of = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect::<Vec<_>>();
    // In 64 bits the 0.7 of 32 is less than 0.7.
    assert_eq!(tape_of(&mut client, Some("0.7")).await, (Some(3), of(&["0.7", "0.7", "2.5"])));
    assert_eq!(tape_of(&mut client, None).await, (Some(6), of(&["0.1", "0.7", "0.3", "0.7", "0.69999", "2.5"])));
    std::fs::remove_dir_all(&dir).unwrap();
}
