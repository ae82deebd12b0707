//! Files without orders from end to end: every schema of Databento that carries prices opens as what it holds.

use tickscope::link::{Command, Open, State};
use tickscope::server;
use tickscope::server::client::Client;
use tickscope::units::{Aggressor, Decimal, UnixNanos};

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
