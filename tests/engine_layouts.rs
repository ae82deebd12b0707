//! Tables that are no order feed, in the engine against a store in memory: trades alone, bars, level changes, LOBSTER messages. Whatever
//! moment is sought, what is shown is what playing there from the start shows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/order_session.rs"]
mod order_session;
#[path = "support/small_store.rs"]
mod small_store;

use order_session::{BUDGET, DAY, Random, end, play_to_the_end, true_book};
use small_store::{Harness, Layout, Row};
use tickscope::link::{Command, Open, State, Status, TapeView, ToWorker};
use tickscope::market::{Binding, ColumnDecl};
use tickscope::units::{Moment, Place, UnixNanos};
use tickscope::view::book::digest_text;

fn opened(rows: &[Row], layout: Layout, rows_per_batch: usize, budget: usize) -> Harness {
    let mut harness = Harness::new(rows.to_vec(), rows_per_batch, budget);
    harness.tables = vec![("ticks", layout)];
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!((state.status, state.error.as_ref()), (Status::Paused, None));
    harness
}

fn holds(state: &State) -> &str {
    state.binding.as_ref().map_or("", |binding| binding.holds.as_str())
}

/// Trades of a day, with ties.
fn trades(seed: u64, count: usize) -> Vec<Row> {
    let mut random = Random(seed);
    let mut time = DAY + 7;
    let trade = |id: usize| {
        if random.below(3) > 0 {
            time += random.below(900_000_000) as i64;
        }
        let side = if random.below(2) == 0 { 'B' } else { 'A' };
        let price = 25_000_000_000 + random.below(40) as i64 * 250_000_000;
        Row { time, venue_time: time, action: 'T', side, price, size: 1 + random.below(50) as i64, id: id as i64, flags: 0 }
    };
    (0..count).map(trade).collect()
}

/// Levels of a day: a snapshot now and then, before its first some changes, groups of one to five rows of one time.
fn changes(seed: u64, count: usize, snapshots: bool) -> Vec<Row> {
    let mut random = Random(seed);
    let (mut time, mut rows) = (DAY + 7, Vec::new());
    while rows.len() < count {
        let snapshot = snapshots && rows.len() > 50 && random.below(2_000) == 0 || snapshots && (50..55).contains(&rows.len());
        for _ in 0..if snapshot { 40 } else { 1 + random.below(5) } {
            let side = if random.below(2) == 0 { 'B' } else { 'A' };
            let offset = 1 + random.below(60) as i64;
            let price = (1_000 + if side == 'B' { -offset } else { offset }) * 10_000_000;
            let size = if snapshot { 1 + random.below(9) } else { random.below(10) } as i64;
            rows.push(Row { time, venue_time: time, action: 'A', side, price, size, id: 0, flags: if snapshot { 32 } else { 0 } });
        }
        time += 1 + random.below(50_000_000) as i64;
    }
    rows
}

/// Orders of a LOBSTER file: added, taken off in parts, executed unseen.
fn messages(seed: u64, count: usize) -> Vec<Row> {
    let mut random = Random(seed);
    let (mut time, mut live) = (DAY + 7, Vec::new());
    let message = |id: usize| {
        time += random.below(3) as i64 * 1_000_000;
        let side = if random.below(2) == 0 { 'B' } else { 'A' };
        let offset = 1 + random.below(30) as i64;
        let price = (1_000 + if side == 'B' { -offset } else { offset }) * 10_000_000;
        let added = Row { time, venue_time: time, action: 'A', side, price, size: 10, id: id as i64, flags: 0 };
        match random.below(10) {
            0..6 => {
                live.push(added);
                added
            }
            6..9 if !live.is_empty() => {
                let order: Row = live[random.below(live.len() as u64) as usize];
                Row { time, action: 'C', size: 1 + random.below(7) as i64, ..order }
            }
            _ => Row { action: 'T', id: 0, ..added },
        }
    };
    (0..count).map(message).collect()
}

/// The state shows the book and the number of events that playing from the start of the table gives.
fn assert_true(state: &State, rows: &[Row], layout: Layout, at: Moment) {
    let (book, applied) = true_book(rows, layout, at);
    let shown = state.book.as_ref().expect("a book");
    assert_eq!((shown.event.as_str(), shown.digest.as_str()), (applied.to_string().as_str(), digest_text(book.digest()).as_str()), "at {at}");
    assert_eq!(shown.partial_since, book.partial_since().map(|since| since.to_string()), "at {at}");
}

fn assert_last_trade(harness: &Harness, rows: &[Row], layout: Layout, at: Moment) {
    let (book, _) = true_book(rows, layout, at);
    let frame = harness.frames.last().unwrap();
    let shown = frame.last_trade.map(|trade| (trade.price, trade.size, trade.time, trade.aggressor));
    assert_eq!((frame.as_of, shown), (at, book.last_trade().map(|trade| (trade.price, trade.size, trade.time, trade.aggressor))));
}

/// Seeks to moments all over the rows, each checked, with a step forward and back from it.
fn check_seeks(harness: &mut Harness, rows: &[Row], layout: Layout) {
    let mut random = Random(77);
    for round in 0..30 {
        let row = rows[random.below(rows.len() as u64) as usize];
        let place = match round % 3 {
            0 => Place::Before,
            1 if layout != Layout::Changes => Place::After(1),
            _ => Place::End,
        };
        let at = Moment { time: UnixNanos(row.time), place };
        let state = harness.command(&Command::Seek(at.to_string())).unwrap();
        assert_eq!(state.as_of, Some(at.to_string()));
        assert_true(&state, rows, layout, at);
        assert_last_trade(harness, rows, layout, at);
        let stepped = harness.command(&Command::Step(1)).unwrap();
        assert_true(&stepped, rows, layout, stepped.as_of.as_ref().unwrap().parse().unwrap());
        let back = harness.command(&Command::Step(-1)).unwrap();
        assert_eq!(back.book.as_ref().map(|book| (&book.event, &book.digest)), state.book.as_ref().map(|book| (&book.event, &book.digest)));
    }
}

#[test]
fn trades_alone_play_seek_and_step_and_fill_the_tape() {
    let rows = trades(1, 6_000);
    let mut harness = opened(&rows, Layout::Trades, 700, BUDGET);
    let state = harness.state();
    assert_eq!((holds(&state), state.binding.as_ref().unwrap().name.as_str()), ("trades", "Trades"));
    let book = state.book.as_ref().unwrap();
    assert!(book.bids.is_empty() && book.asks.is_empty() && book.partial_since.is_none());
    check_seeks(&mut harness, &rows, Layout::Trades);
    harness.command(&Command::Home).unwrap();
    let before = harness.state().counters.events;
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.book.as_ref().unwrap().event, rows.len().to_string());
    assert!(state.counters.events - before >= rows.len() as u64 - 3, "each row is an event");
    assert_last_trade(&harness, &rows, Layout::Trades, end(&rows));
    // The tape has every row, newest last, and with a filter those that pass.
    for (least, expected) in [(None, rows.len()), (Some(40), rows.iter().filter(|row| row.size >= 40).count())] {
        harness.tell(ToWorker::Tape(Some(TapeView { first: None, rows: 20, min_size: least.map(|least: i32| least.to_string()) })));
        let tape = harness.until_tape("the tape", |tape| {
            tape.view.min_size.is_some() == least.is_some() && tape.total.is_some() && tape.rows.len() == 20 && !tape.loading
        });
        assert_eq!((tape.total, tape.passed, tape.reason), (Some(expected as u64), Some(expected as u64), None));
        let newest: Vec<i64> = rows.iter().filter(|row| i64::from(least.unwrap_or(0)) <= row.size).rev().take(20).map(|row| row.time).collect();
        assert_eq!(tape.rows.iter().rev().map(|row| row.time.parse().unwrap()).collect::<Vec<i64>>(), newest);
    }
    assert!(harness.statements.iter().any(|sql| sql.contains("\"price\" IS NOT NULL") && sql.contains("\"amount\" >= 40")));
}

#[test]
fn trades_alone_are_exact_when_history_holds_a_fraction_of_them() {
    let rows = trades(2, 60_000);
    let mut harness = opened(&rows, Layout::Trades, 1_500, 1 << 20);
    check_seeks(&mut harness, &rows, Layout::Trades);
}

#[test]
fn bars_close_at_the_last_price_and_have_no_tape() {
    let rows: Vec<Row> = (0..1_440).map(|minute| Row { time: DAY + minute * 60_000_000_000, ..trades(3, 1)[0] }).collect();
    let mut harness = opened(&rows, Layout::Bars, 100, BUDGET);
    assert_eq!(holds(&harness.state()), "bars");
    check_seeks(&mut harness, &rows, Layout::Bars);
    harness.tell(ToWorker::Tape(Some(TapeView { first: None, rows: 20, min_size: None })));
    let tape = harness.until_tape("why there is no tape", |tape| tape.reason.is_some());
    assert_eq!((tape.reason.as_deref(), tape.rows.len()), (Some("The table reports no trades"), 0));
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.book.as_ref().unwrap().event, "1440");
    let last = harness.frames.last().and_then(|frame| frame.last_trade).unwrap();
    assert_eq!((last.price.0, last.size.0, last.time.0), (rows[0].price, 0, rows[1_439].time));
}

#[test]
fn a_seek_in_level_changes_begins_at_the_newest_snapshot_before_it() {
    let rows = changes(4, 40_000, true);
    for budget in [BUDGET, 1 << 20] {
        let mut harness = opened(&rows, Layout::Changes, 900, budget);
        assert_eq!(holds(&harness.state()), "book");
        check_seeks(&mut harness, &rows, Layout::Changes);
        assert!(harness.statements.iter().any(|sql| sql.contains("AS anchor_time") && sql.contains("\"is_snapshot\" = true")));
        let state = play_to_the_end(&mut harness);
        assert_true(&state, &rows, Layout::Changes, end(&rows));
    }
}

#[test]
fn level_changes_before_the_first_snapshot_are_a_book_in_part() {
    let rows = changes(5, 3_000, false);
    let mut harness = opened(&rows, Layout::Changes, 900, BUDGET);
    let state = harness.state();
    assert_eq!(state.book.as_ref().unwrap().partial_since, Some(rows[0].time.to_string()));
    check_seeks(&mut harness, &rows, Layout::Changes);
}

#[test]
fn lobster_messages_are_a_book_in_part_from_the_first_row_on() {
    let rows = messages(6, 20_000);
    for budget in [BUDGET, 1 << 19] {
        let mut harness = opened(&rows, Layout::Messages, 900, budget);
        let state = harness.state();
        assert_eq!((holds(&state), state.book.as_ref().unwrap().kind.as_str()), ("book", "L3"));
        check_seeks(&mut harness, &rows, Layout::Messages);
        assert!(!harness.statements.iter().any(|sql| sql.contains("AS anchor_time")), "no row says what the whole book is");
    }
}

#[test]
fn a_table_with_a_book_goes_before_those_without() {
    let rows = trades(7, 50);
    let mut harness = Harness::new(rows.clone(), 100, BUDGET);
    harness.tables = vec![("minutes", Layout::Bars), ("prints", Layout::Trades), ("levels", Layout::Changes), ("orders", Layout::Orders)];
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!((state.table.as_deref(), holds(&state)), (Some("levels"), "book"));
    let mut harness = Harness::new(rows, 100, BUDGET);
    harness.tables = vec![("prints", Layout::Trades), ("minutes", Layout::Bars)];
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!((state.table.as_deref(), holds(&state)), (Some("prints"), "trades"));
    let listed: Vec<_> = state.catalogue.tables.iter().map(|table| (table.name.as_str(), table.holds.as_str())).collect();
    assert_eq!(listed, [("prints", "trades"), ("minutes", "bars")]);
    // One that is asked for is opened, whatever it holds.
    let state = harness.command(&Command::Open(Open { table: Some("minutes".into()), ..Open::default() })).unwrap();
    assert_eq!((state.table.as_deref(), holds(&state)), (Some("minutes"), "bars"));
}

#[test]
fn chosen_columns_are_part_of_the_place_and_a_wrong_choice_is_refused() {
    let rows = trades(8, 500);
    let mut harness = Harness::new(rows.clone(), 100, BUDGET);
    harness.tables = vec![("minutes", Layout::Bars)];
    let open = |bind: &[(&str, &str)]| {
        let bind = bind.iter().map(|(role, column)| ((*role).to_owned(), (*column).to_owned())).collect();
        Command::Open(Open { table: Some("minutes".into()), bind, ..Open::default() })
    };
    let state = harness.command(&open(&[("price", "nope")])).unwrap();
    let error = state.error.as_ref().unwrap();
    assert_eq!((error.code.as_str(), error.what.as_str()), ("binding", "minutes: nope cannot be the price: there is no such column"));
    let state = harness.command(&open(&[("price", "close"), ("size", "volume")])).unwrap();
    assert_eq!((holds(&state), state.error.as_ref()), ("trades", None));
    let here = tickscope::view::places::here(&state);
    assert_eq!(here.bind.get("price").map(String::as_str), Some("close"));
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.book.as_ref().unwrap().event, "500");
    // A place that is opened again is read the same way.
    let state = harness.command(&Command::Open(here)).unwrap();
    assert_eq!((holds(&state), state.error.as_ref()), ("trades", None));
}

/// The columns of a CSV fixture as the store lists them after the import: `name type values`.
fn listed(imported: &str) -> (String, Vec<ColumnDecl>) {
    let mut lines = imported.lines();
    let time = lines.next().unwrap().strip_prefix("by ").unwrap().to_owned();
    let column = |line: &str| {
        let (name, rest) = line.split_once(' ')?;
        let kind = match rest.split(' ').next()? {
            "ns" => "TIMESTAMP_NS".to_owned(),
            "symbol" => "SYMBOL".to_owned(),
            "text" => "VARCHAR".to_owned(),
            "bool" => "BOOLEAN".to_owned(),
            "i32" => "INT".to_owned(),
            "i64" => "LONG".to_owned(),
            "f64s" if rest.contains("[[") => "DOUBLE[][]".to_owned(),
            "f64s" => "DOUBLE[]".to_owned(),
            decimal => format!("DECIMAL(18,{})", decimal.strip_prefix('d')?.split_once('.')?.1),
        };
        Some(ColumnDecl { name: name.to_owned(), kind })
    };
    (time, lines.filter_map(column).collect())
}

#[test]
fn every_layout_of_csv_that_is_imported_binds_without_a_question() {
    let mut bound = Vec::new();
    for fixture in include_str!("serve/csv_layouts.txt").split("\n## ").skip(1) {
        let (name, imported) = (fixture.lines().next().unwrap(), fixture.split_once("\n=>\n").unwrap().1);
        let (time, columns) = listed(imported.trim_end());
        let binding = Binding::bind("t", &columns, Some(&time));
        bound.push(format!("{name}: {}", binding.map_or_else(|_| "not of the market".to_owned(), |binding| binding.name)));
    }
    let expected = [
        "databento-raw.csv: MBO",
        "databento-pretty.csv: MBP-1",
        "databento-bars.csv: Bars",
        "tardis_incremental_book_L2.csv: Level changes",
        "tardis_book_snapshot_5.csv: Levels, 1 a side",
        "tardis_trades.csv: Trades",
        "tardis_quotes.csv: Quotes",
        "BTCUSDT-trades-2024-12-31.csv: Trades",
        "ETHUSDT-trades-2025-01-01.csv: Trades",
        "BTCUSDT-aggTrades-2024-05-08.csv: Trades",
        "futures-without-header.csv: Trades",
        "BTCUSDT-bookTicker-2024-03-30.csv: Quotes",
        "BTCUSDT-1m-2024-05-08.csv: Bars",
        "AAPL_2012-06-21_34200000_57600000_message_10.csv: LOBSTER messages",
        "AAPL_2012-01-09_34200000_57600000_message_5.csv: LOBSTER messages",
        "questdb_trades.csv: Trades",
        "questdb_core_price.csv: Quotes",
        "polygon_quotes.csv: Quotes",
        "polygon_trades.csv: Trades",
        "generic_l1.csv: Quotes",
        "generic_bars.csv: Bars",
        "kdb_trades.csv: Trades",
        "lake_delta.csv: Level changes",
        "kaiko_trades.csv: Trades",
        "pandas.tsv: not of the market",
        "questdb_market_data.csv: MBP (arrays)",
        "questdb_fx_trades.csv: Trades",
        "cme.csv: not of the market",
    ];
    assert_eq!(bound, expected);
}
