//! Tape and timeline over the ES day, against the file as the decoder of its vendor reads it.

use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Int64Type, TimestampNanosecondType, UInt32Type};
use arrow_array::{RecordBatch, StringArray};
use tickscope::link::{Command, Histogram, Open, Range, Speed, Status, TapeRow, TapeRows, TapeView, TimelineView, ToWorker};
use tickscope::server;
use tickscope::server::client::Client;
use tickscope::units::{Decimal, Scale};

use super::{BUDGET, databento, es, open, serve, store};

/// So little that next to nothing of the day is in memory at a time.
const SMALL_BUDGET: usize = 400_000;

pub(super) async fn tape(client: &mut Client, view: TapeView) -> TapeRows {
    client.tell(ToWorker::Tape(Some(view.clone())));
    loop {
        let settled = |tape: &&TapeRows| tape.view == view && (tape.reason.is_some() || (tape.total.is_some() && !tape.loading));
        if let Some(tape) = client.tape.as_deref().filter(settled) {
            return tape.clone();
        }
        client.step().await;
    }
}

async fn histogram(client: &mut Client, from: Option<i64>, to: Option<i64>) -> Histogram {
    let view = TimelineView { from: from.map(|time| time.to_string()), to: to.map(|time| time.to_string()) };
    client.tell(ToWorker::Timeline(Some(view.clone())));
    loop {
        if let Some(shown) = client.histogram.as_deref().filter(|shown| shown.view == view && !shown.loading) {
            assert_eq!(shown.reason, None);
            return shown.clone();
        }
        client.step().await;
    }
}

/// Every trade, page after page.
async fn walk(client: &mut Client, min_size: Option<&str>) -> Vec<TapeRow> {
    let mut rows: Vec<TapeRow> = Vec::new();
    loop {
        let view = TapeView { first: Some(rows.len() as u64), rows: TapeView::MOST_ROWS, min_size: min_size.map(str::to_owned) };
        let page = tape(client, view).await;
        assert_eq!(page.reason, None);
        if page.rows.is_empty() {
            assert_eq!(page.total, Some(rows.len() as u64));
            return rows;
        }
        assert_eq!(page.first, Some(rows.len() as u64));
        rows.extend(page.rows);
    }
}

fn times(batch: &RecordBatch) -> &[i64] {
    batch.column_by_name("ts_recv").unwrap().as_primitive::<TimestampNanosecondType>().values()
}

/// The trades of the file, as the tape shows them.
fn trades(batch: &RecordBatch) -> Vec<TapeRow> {
    let letters = |name: &str| batch.column_by_name(name).unwrap().as_dictionary::<UInt32Type>().downcast_dict::<StringArray>().unwrap();
    let (actions, sides) = (letters("action"), letters("side"));
    let prices = batch.column_by_name("price").unwrap().as_primitive::<Decimal64Type>();
    let sizes = batch.column_by_name("size").unwrap().as_primitive::<Int64Type>();
    let mut trades: Vec<TapeRow> = Vec::new();
    for row in 0..batch.num_rows() {
        if actions.values().value(actions.keys().value(row) as usize) != "T" {
            continue;
        }
        let time = times(batch)[row].to_string();
        let nth = trades.last().filter(|trade| trade.time == time).map_or(1, |trade| trade.nth + 1);
        let aggressor = match sides.values().value(sides.keys().value(row) as usize) {
            "B" => "buy",
            "A" => "sell",
            _ => "none",
        };
        let price = Decimal::new(i128::from(prices.value(row)), Scale(9)).to_string();
        trades.push(TapeRow { time, nth, price, size: sizes.value(row).to_string(), aggressor: aggressor.to_owned() });
    }
    trades
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tape_of_the_es_day_is_every_trade_of_the_file() {
    let Some(day) = es("the_tape_of_the_es_day_is_every_trade_of_the_file", "20231225") else { return };
    let truth = trades(&databento::mbo(&day, "ESH4"));
    assert_eq!(truth.len(), 2_973);
    let (server, mut large) = serve(vec![day], server::QUERY_TIMEOUT).await;
    open(&mut large, Open::default()).await;
    let mut small = Client::new(vec![store(&server)], SMALL_BUDGET);
    open(&mut small, Open::default()).await;
    // Nothing lies behind the clock.
    let home = tape(&mut small, TapeView { first: None, rows: 10, min_size: None }).await;
    assert_eq!((home.passed, home.total), (Some(0), Some(2_973)));
    assert!(home.rows.is_empty());

    // Asked of the store, with next to nothing in memory; and from memory, after the day was played.
    small.command(&Command::End).await.unwrap();
    assert_eq!(walk(&mut small, None).await, truth);
    large.command(&Command::Speed(Speed::Max)).await.unwrap();
    large.command(&Command::Play).await.unwrap();
    large.until(|state| state.status == Status::Ended).await;
    assert_eq!(walk(&mut large, None).await, truth);
    for (least, scaled) in [("2", 20), ("5", 50), ("2.5", 25)] {
        let wanted: Vec<_> = truth.iter().filter(|trade| trade.size.parse::<i64>().unwrap() * 10 >= scaled).cloned().collect();
        assert_eq!(walk(&mut small, Some(least)).await, wanted, "at least {least}");
        assert_eq!(walk(&mut large, Some(least)).await, wanted, "at least {least}");
    }

    // A click on one of several trades of one time goes to just after that one.
    let ties: Vec<_> = truth.iter().filter(|trade| trade.nth > 1).step_by(4).collect();
    assert!(ties.len() >= 5, "{} trades are tied", ties.len());
    for trade in ties {
        small.command(&Command::SeekTrade { time: trade.time.clone(), nth: trade.nth }).await.unwrap();
        small.tell(ToWorker::Tape(None));
        let newest = tape(&mut small, TapeView { first: None, rows: 1, min_size: None }).await;
        assert_eq!(newest.rows.first(), Some(trade));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn the_activity_of_the_es_day_is_the_rows_of_the_file_in_every_bar() {
    let Some(day) = es("the_activity_of_the_es_day_is_the_rows_of_the_file_in_every_bar", "20231225") else { return };
    let batch = databento::mbo(&day, "ESH4");
    let rows_within =
        |from: i64, to: i64| (times(&batch).partition_point(|time| *time < to) - times(&batch).partition_point(|time| *time < from)) as u64;
    let (_server, mut client) = serve(vec![day], server::QUERY_TIMEOUT).await;
    open(&mut client, Open::default()).await;
    let check = |shown: &Histogram, part: (i64, i64)| {
        let (from, width): (i64, i64) = (shown.from.parse().unwrap(), shown.width.parse().unwrap());
        let counted: u64 = shown.counts.iter().map(|(_, count)| count).sum();
        assert_eq!(counted, rows_within(part.0, part.1), "{} to {}", part.0, part.1);
        for (bar, count) in &shown.counts {
            let start = from + i64::from(*bar) * width;
            // A bar at either end may reach beyond the part shown.
            assert_eq!(*count, rows_within(start.max(part.0), (start + width).min(part.1)), "bar {bar} of {width} ns");
        }
        width
    };
    const MINUTE: i64 = 60_000_000_000;
    let start = times(&batch)[0];
    let whole = histogram(&mut client, None, None).await;
    assert_eq!(check(&whole, (start, start + 24 * 60 * MINUTE)), MINUTE);
    // Minutes, seconds, milliseconds; cut at whole seconds and within one.
    let busy = times(&batch)[40_000];
    let second = busy - busy % 1_000_000_000;
    for (from, to) in
        [(second, second + 60 * MINUTE), (second, second + 20 * MINUTE), (second, second + 1_000_000_000), (busy - 7, busy + 1_234_567_891)]
    {
        let shown = histogram(&mut client, Some(from), Some(to)).await;
        check(&shown, (from, to));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stretch_played_over_and_over_ends_and_begins_with_the_same_books() {
    let Some(day) = es("a_stretch_played_over_and_over_ends_and_begins_with_the_same_books", "20231225") else { return };
    let batch = databento::mbo(&day, "ESH4");
    let (from, to) = (times(&batch)[30_000], times(&batch)[30_400]);
    let (server, mut client) = serve(vec![day], server::QUERY_TIMEOUT).await;
    open(&mut client, Open::default()).await;
    client.command(&Command::Loop(Some(Range { from: from.to_string(), to: to.to_string() }))).await.unwrap();
    client.command(&Command::Speed(Speed::Max)).await.unwrap();
    client.command(&Command::Play).await.unwrap();
    // Several rounds; nothing outside of the stretch is shown.
    let (mut shown, mut rounds) = (Vec::new(), 0);
    let playing = async {
        while rounds < 4 {
            client.step().await;
            let Some(time) = client.frame.as_ref().map(|frame| frame.as_of.time.0).filter(|time| !shown.is_empty() || *time >= from) else {
                continue;
            };
            rounds += u32::from(shown.last().is_some_and(|last| time < *last));
            shown.push(time);
        }
    };
    tokio::time::timeout(Duration::from_secs(120), playing).await.expect("four rounds");
    let (first, last) = (shown.iter().min().unwrap(), shown.iter().max().unwrap());
    assert!(*first >= from && *last < to, "{first} to {last} outside of {from} to {to}");
    // And where it stops the book is the one that a seek finds.
    client.command(&Command::Pause).await.unwrap();
    let state = client.full_state().await.unwrap();
    let mut other = Client::new(vec![store(&server)], BUDGET);
    open(&mut other, Open::default()).await;
    other.command(&Command::Seek(state.as_of.clone().unwrap())).await.unwrap();
    assert_eq!(state.book.unwrap().digest, other.full_state().await.unwrap().book.unwrap().digest);
}
