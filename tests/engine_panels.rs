//! What the worker answers the panels: the tape of trades and the histogram of the timeline, against a plain scan of the rows.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/order_session.rs"]
mod order_session;
#[path = "support/small_store.rs"]
mod small_store;

use order_session::{BUDGET, Random, opened, session};
use small_store::{Harness, Row};
use tickscope::link::{Command, Histogram, Open, Range, Speed, Status, TapeRow, TapeRows, TapeView, TimelineView, ToWorker};
use tickscope::units::{Moment, Place, UnixNanos};

/// Trades of the rows with their places among the trades of their times.
fn trades(rows: &[Row]) -> Vec<(Row, u32)> {
    let mut out: Vec<(Row, u32)> = Vec::new();
    for row in rows.iter().filter(|row| row.action == 'T') {
        let nth = out.last().filter(|(last, _)| last.time == row.time).map_or(1, |(_, nth)| nth + 1);
        out.push((*row, nth));
    }
    out
}

fn passing(trades: &[(Row, u32)], least: i64) -> Vec<TapeRow> {
    let shown = |(row, nth): &(Row, u32)| TapeRow {
        time: row.time.to_string(),
        nth: *nth,
        price: tickscope::units::Decimal::new(i128::from(row.price), tickscope::units::Scale(9)).to_string(),
        size: row.size.to_string(),
        aggressor: match row.side {
            'B' => "buy",
            'A' => "sell",
            _ => "none",
        }
        .into(),
    };
    trades.iter().filter(|(row, _)| row.size >= least).map(shown).collect()
}

/// Trades at or before a moment.
fn passed(rows: &[Row], least: i64, at: Moment) -> u64 {
    let mut count = 0;
    for (index, row) in rows.iter().enumerate() {
        let k = rows[..=index].iter().rev().take_while(|other| other.time == row.time).count() as u32;
        let moment = Moment { time: UnixNanos(row.time), place: Place::After(k) };
        count += u64::from(row.action == 'T' && row.size >= least && moment <= at);
    }
    count
}

/// Order events with trades of many sizes, some of which share their time.
fn traded(seed: u64, events: usize) -> Vec<Row> {
    let mut rows = session(seed, events, 3);
    let mut random = Random(seed + 1);
    for row in rows.iter_mut().filter(|row| row.action == 'T') {
        row.size = random.below(40) as i64 + 1;
        row.side = ['B', 'A', 'N'][random.below(3) as usize];
        row.price += random.below(9) as i64 * 250_000_000;
    }
    rows
}

fn view(first: Option<u64>, rows: u16, least: i64) -> TapeView {
    TapeView { first, rows, min_size: (least > 0).then(|| least.to_string()) }
}

fn assert_rows(tape: &TapeRows, truth: &[TapeRow]) {
    assert_eq!(tape.reason, None);
    if let Some(first) = tape.first {
        let first = first as usize;
        assert_eq!(tape.rows, truth[first..first + tape.rows.len()], "from {first}");
        assert!(first as u64 + tape.rows.len() as u64 <= tape.passed.unwrap(), "behind the moment shown: {tape:?}");
    }
}

fn settle(harness: &mut Harness, wanted: &TapeView) -> TapeRows {
    harness.tell(ToWorker::Tape(Some(wanted.clone())));
    harness.until_tape("whole", |tape| tape.view == *wanted && (tape.total.is_some() && !tape.loading || tape.reason.is_some()))
}

#[test]
fn every_trade_is_shown_once_wherever_the_tape_is_scrolled_and_whatever_was_forgotten() {
    let rows = traded(71, 40_000);
    let all = trades(&rows);
    assert!(all.len() > 2_000 && all.iter().filter(|(_, nth)| *nth > 1).count() > 100);
    for budget in [BUDGET, 1 << 20, 200_000] {
        for least in [0, 17, 40] {
            let truth = passing(&all, least);
            let mut harness = opened(rows.clone(), 500, budget);
            harness.command(&Command::End).unwrap();
            let mut random = Random(5);
            let mut seen = vec![false; truth.len()];
            for turn in 0..60 {
                let shown = 1 + random.below(200);
                let first = if turn < 30 { random.below(truth.len() as u64) } else { (turn - 30) * truth.len() as u64 / 30 };
                let tape = settle(&mut harness, &view(Some(first), shown.max(truth.len() as u64 / 30 + 1).min(512) as u16, least));
                assert_eq!((tape.passed, tape.total), (Some(truth.len() as u64), Some(truth.len() as u64)));
                assert_eq!(tape.first, Some(first));
                assert_rows(&tape, &truth);
                assert_eq!(tape.rows.len() as u64, u64::from(tape.view.rows).min(truth.len() as u64 - first));
                (first as usize..first as usize + tape.rows.len()).for_each(|at| seen[at] = true);
            }
            assert!(seen.iter().all(|seen| *seen), "budget {budget}, at least {least}");
            let newest = settle(&mut harness, &view(None, 60, least));
            assert_eq!(newest.rows, truth[truth.len().saturating_sub(60)..]);
        }
    }
}

#[test]
fn the_tape_stops_at_the_moment_shown_after_seeks_and_steps() {
    let rows = traded(72, 20_000);
    let all = trades(&rows);
    for budget in [BUDGET, 300_000] {
        for least in [0, 20] {
            let truth = passing(&all, least);
            let mut harness = opened(rows.clone(), 300, budget);
            harness.tell(ToWorker::Tape(Some(view(None, 40, least))));
            let mut random = Random(9);
            for turn in 0..40 {
                let row = random.below(rows.len() as u64) as usize;
                let time = UnixNanos(rows[row].time);
                let place = [Place::Before, Place::After(1 + random.below(3) as u32), Place::End][turn % 3];
                let command = match turn % 5 {
                    4 => Command::Step(if turn % 2 == 0 { 1 } else { -1 }),
                    _ => Command::Seek(Moment { time, place }.to_string()),
                };
                let state = harness.command(&command).unwrap();
                let at: Moment = state.as_of.unwrap().parse().unwrap();
                let expected = passed(&rows, least, at);
                let tape = harness.until_tape("there", |tape| tape.passed == Some(expected) && !tape.loading);
                assert_rows(&tape, &truth);
                assert_eq!(tape.rows.len() as u64, expected.min(40), "at {at}");
            }
        }
    }
}

#[test]
fn steps_by_trade_come_to_each_trade_in_turn_and_say_when_there_is_no_more() {
    let rows = traded(75, 3_000);
    // Just after each trade: its time, and its row among those of the time.
    let ends: Vec<Moment> = (0..rows.len())
        .filter(|index| rows[*index].action == 'T')
        .map(|index| {
            let k = rows[..=index].iter().rev().take_while(|other| other.time == rows[index].time).count() as u32;
            Moment { time: UnixNanos(rows[index].time), place: Place::After(k) }
        })
        .collect();
    for budget in [BUDGET, 30_000] {
        let mut harness = opened(rows.clone(), 300, budget);
        harness.command(&Command::Home).unwrap();
        let mut walked = Vec::new();
        while let Ok(state) = harness.command(&Command::StepTrade(1)) {
            walked.push(state.as_of.unwrap().parse::<Moment>().unwrap());
            assert!(walked.len() <= ends.len());
        }
        assert_eq!(walked.last(), ends.last());
        assert_eq!(walked[..], ends[ends.len() - walked.len()..], "budget {budget}");
        assert!(walked.len() > 150 && ends.len() - walked.len() < 3, "{} of {}", walked.len(), ends.len());
        let refused = harness.command(&Command::StepTrade(1)).unwrap_err();
        assert!(refused.contains("No trade comes after"), "{refused}");
        for wanted in ends.iter().rev().skip(1) {
            let state = harness.command(&Command::StepTrade(-1)).unwrap();
            assert_eq!(state.as_of, Some(wanted.to_string()), "budget {budget}");
            assert_eq!(state.status, Status::Paused);
        }
        assert!(harness.command(&Command::StepTrade(-1)).unwrap_err().contains("No trade comes before"));
        // From between two trades, and from the end of the range.
        let middle = ends[ends.len() / 2];
        harness.command(&Command::Seek(UnixNanos(middle.time.0 - 1).to_string())).unwrap();
        let state = harness.command(&Command::StepTrade(1)).unwrap();
        assert!(state.as_of.unwrap().parse::<Moment>().unwrap().time <= middle.time);
        harness.command(&Command::End).unwrap();
        let back: Moment = harness.command(&Command::StepTrade(-1)).unwrap().as_of.unwrap().parse().unwrap();
        assert!(ends[ends.len() - 2..].contains(&back), "{back}");
    }
}

#[test]
fn while_playing_the_tape_only_grows_and_never_shows_what_is_not_so() {
    let rows = traded(73, 60_000);
    let all = trades(&rows);
    for (budget, least, first) in [(BUDGET, 0, None), (300_000, 0, None), (300_000, 25, None), (300_000, 0, Some(40)), (BUDGET, 9, Some(1_000))] {
        let truth = passing(&all, least);
        let mut harness = opened(rows.clone(), 500, budget);
        harness.tell(ToWorker::Tape(Some(view(first, 50, least))));
        harness.command(&Command::Speed(Speed::Times { milli: 60_000 })).unwrap();
        harness.command(&Command::Play).unwrap();
        harness.until("ended", |state| state.status == Status::Ended);
        let end = harness.until_tape("whole", |tape| tape.passed == tape.total && tape.total.is_some() && !tape.loading);
        assert_eq!(end.passed, Some(truth.len() as u64));
        harness.tapes.iter().for_each(|tape| assert_rows(tape, &truth));
        let counts: Vec<u64> = harness.tapes.iter().filter_map(|tape| tape.passed).collect();
        assert!(counts.is_sorted() && counts.len() > 20, "{} messages", counts.len());
        assert!(harness.tapes.len() <= harness.frames.len() + harness.now as usize / 250_000 + 2);
    }
}

#[test]
fn a_tape_that_cannot_be_says_why_and_another_wish_is_served() {
    let rows = traded(74, 5_000);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    for size in ["x", "1e-30", ""] {
        let wish = TapeView { min_size: Some(size.into()), ..view(None, 10, 0) };
        assert!(settle(&mut harness, &wish).reason.is_some(), "{size}");
    }
    // Half a lot more than 16 is 17 and more.
    let truth = passing(&trades(&rows), 17);
    let wish = TapeView { min_size: Some("16.5".into()), ..view(None, 10, 0) };
    harness.command(&Command::End).unwrap();
    assert_eq!(settle(&mut harness, &wish).rows, truth[truth.len() - 10..]);
}

fn bars(rows: &[Row], from: i64, to: i64, width: i64) -> Vec<(u32, u64)> {
    let mut bars = std::collections::BTreeMap::new();
    for row in rows.iter().filter(|row| row.time >= from && row.time < to) {
        *bars.entry((row.time.div_euclid(width) - from.div_euclid(width)) as u32).or_insert(0) += 1;
    }
    bars.into_iter().collect()
}

fn drilled(harness: &mut Harness, from: i64, to: i64) -> Histogram {
    let wish = TimelineView { from: Some(from.to_string()), to: Some(to.to_string()) };
    harness.tell(ToWorker::Timeline(Some(wish.clone())));
    harness.until_histogram("counted", |histogram| histogram.view == wish && !histogram.loading)
}

#[test]
fn bars_are_the_rows_of_the_part_shown_at_every_width() {
    let rows = session(75, 30_000, 3);
    let (first, last) = (rows[0].time, rows.last().unwrap().time);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    let mut random = Random(3);
    for turn in 0..30 {
        let length = ((last - first) >> (turn / 2)).max(1);
        let from = first + random.below((last - first - length).max(1) as u64) as i64;
        let histogram = drilled(&mut harness, from, from + length);
        let width: i64 = histogram.width.parse().unwrap();
        assert_eq!(histogram.reason, None);
        assert_eq!(histogram.counts, bars(&rows, from, from + length, width));
        assert_eq!(histogram.from.parse::<i64>().unwrap(), from.div_euclid(width) * width);
        assert!(histogram.bars <= Histogram::MOST_BARS);
    }
    // What was asked lately is known.
    let asked = harness.statements.len();
    let (a, b) = (first + 1_000, last);
    drilled(&mut harness, a, b);
    drilled(&mut harness, a + 5, b);
    let once = harness.statements.len();
    assert!(once > asked);
    drilled(&mut harness, a, b);
    assert_eq!(harness.statements.len(), once);
}

#[test]
fn the_first_book_and_seeks_do_not_wait_for_a_histogram() {
    let rows = session(76, 30_000, 3);
    let mut harness = Harness::new(rows.clone(), 500, BUDGET);
    // Every count on the side is never answered.
    harness.unanswered = Some("/ 60000000000 AS bucket");
    harness.tell(ToWorker::Timeline(Some(TimelineView::default())));
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert!(state.book.is_some());
    assert!(!harness.statements.iter().any(|sql| sql.contains("/ 60000000000 AS bucket")), "asked before the first book");
    harness.until_histogram("asked", |histogram| histogram.loading);
    let state = harness.command(&Command::Seek(rows[20_000].time.to_string())).unwrap();
    assert_eq!(state.as_of, Some(rows[20_000].time.to_string()));
    // The panel says that it is not answered; playback goes on.
    let said = harness.until_histogram("given up", |histogram| histogram.reason.is_some());
    assert!(said.reason.unwrap().contains("75 seconds"));
    assert_eq!(harness.state().error, None);
    harness.unanswered = None;
    let whole = harness.until_histogram("counted", |histogram| !histogram.loading && histogram.reason.is_none());
    assert_eq!(whole.counts.iter().map(|(_, rows)| rows).sum::<u64>(), rows.len() as u64);
}

#[test]
fn played_market_time_by_playing_time_is_the_speed_asked_for() {
    let rows = session(77, 60_000, 3);
    // The session lasts some ten minutes.
    for (milli, micros) in [(1_000, 10_000_000), (10_000, 10_000_000), (100_000, 4_000_000)] {
        let mut harness = opened(rows.clone(), 500, BUDGET);
        harness.command(&Command::Speed(Speed::Times { milli })).unwrap();
        harness.command(&Command::Play).unwrap();
        let before = harness.state().counters;
        harness.run_for(micros);
        let state = harness.state();
        assert_eq!((state.status, state.pacing.as_str()), (Status::Playing, "time"));
        let (played, playing) = (state.counters.played_micros - before.played_micros, state.counters.playing_micros - before.playing_micros);
        assert!(playing >= micros / 100 * 98, "{playing}");
        let (asked, error) = (playing * milli / 1000, played.abs_diff(playing * milli / 1000));
        assert!(error * 1_000 <= asked, "at {milli}: {played} in {playing}");
    }
}

#[test]
fn events_pace_playback_steadily_and_by_whole_groups() {
    let rows = session(78, 60_000, 3);
    for rate in [7, 100, 5_000] {
        let mut harness = opened(rows.clone(), 500, BUDGET);
        harness.command(&Command::PaceByEvents(rate)).unwrap();
        harness.command(&Command::Play).unwrap();
        let mut last = harness.state().counters.events;
        for _ in 0..5 {
            harness.run_for(2_000_000);
            let state = harness.state();
            assert_eq!((state.pacing.as_str(), state.rate, state.status), ("events", Some(rate), Status::Playing));
            let applied = state.counters.events - last;
            assert!(applied.abs_diff(u64::from(rate) * 2) <= 6 + u64::from(rate) / 50, "{applied} at {rate}");
            last = state.counters.events;
            // The book is that of the moment it says.
            let at: Moment = state.as_of.clone().unwrap().parse().unwrap();
            order_session::assert_book(&state, &rows, at);
        }
        let state = harness.command(&Command::PaceByTime).unwrap();
        assert_eq!((state.pacing.as_str(), state.rate), ("time", None));
    }
}

#[test]
fn a_loop_begins_each_turn_with_the_same_book() {
    let rows = traded(79, 20_000);
    let (from, to) = (rows[8_000].time, rows[9_000].time);
    let (digest, _) = order_session::truth(&rows, Moment::before(UnixNanos(from)));
    for (budget, command) in [(BUDGET, Command::PaceByEvents(20_000)), (200_000, Command::PaceByEvents(20_000)), (BUDGET, Command::Speed(Speed::Max))]
    {
        let mut harness = opened(rows.clone(), 300, budget);
        let range = Range { from: from.to_string(), to: to.to_string() };
        let state = harness.command(&Command::Loop(Some(range.clone()))).unwrap();
        assert_eq!(state.looped, Some(range));
        harness.command(&Command::Seek(format!("{from}-"))).unwrap();
        harness.command(&command).unwrap();
        harness.command(&Command::Play).unwrap();
        let (mut turns, mut last) = (0, Moment::before(UnixNanos(from)));
        while turns < 20 {
            harness.step();
            let state = harness.state();
            let Some(at) = state.as_of.as_ref().map(|at| at.parse::<Moment>().unwrap()) else { continue };
            assert!(at.time.0 < to && at.time.0 >= from, "{at}");
            if at < last {
                assert_eq!(at, Moment::before(UnixNanos(from)));
                assert_eq!(state.book.unwrap().digest, digest, "turn {turns}");
                turns += 1;
            }
            last = at;
        }
        let state = harness.command(&Command::Loop(None)).unwrap();
        assert_eq!(state.looped, None);
        harness.until("ended", |state| state.status == Status::Ended);
    }
}

#[test]
fn a_loop_outside_of_the_range_is_refused_and_another_place_ends_one() {
    let rows = session(80, 5_000, 3);
    let mut harness = opened(rows.clone(), 300, BUDGET);
    let range = |from: i64, to: i64| Range { from: from.to_string(), to: to.to_string() };
    let day = order_session::DAY;
    for (from, to) in [(day - 1, day + 5), (day, day + 86_400_000_000_001), (day + 5, day + 5), (day + 5, day)] {
        assert!(harness.command(&Command::Loop(Some(range(from, to)))).is_err());
    }
    harness.command(&Command::Loop(Some(range(day, day + 86_400_000_000_000)))).unwrap();
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!(state.looped, None);
}

#[test]
fn a_trade_is_found_by_its_place_among_those_of_its_time() {
    let rows = traded(81, 20_000);
    for budget in [BUDGET, 200_000] {
        let mut harness = opened(rows.clone(), 300, budget);
        let all = trades(&rows);
        for at in (0..all.len()).map(|n| n * 997 % all.len()).take(150) {
            let (row, nth) = all[at];
            let state = harness.command(&Command::SeekTrade { time: row.time.to_string(), nth }).unwrap();
            let first = rows.partition_point(|other| other.time < row.time);
            let same: Vec<_> = rows[first..].iter().take_while(|other| other.time == row.time).collect();
            let k = same.iter().enumerate().filter(|(_, other)| other.action == 'T').nth(nth as usize - 1).unwrap().0 + 1;
            let moment = Moment { time: UnixNanos(row.time), place: Place::After(k as u32) };
            assert_eq!(state.as_of, Some(moment.to_string()));
            order_session::assert_book(&state, &rows, moment);
        }
        let (row, _) = all[50];
        let refused = harness.command(&Command::SeekTrade { time: row.time.to_string(), nth: 99 }).unwrap_err();
        assert!(refused.contains("no trade 99"), "{refused}");
        assert!(harness.command(&Command::SeekTrade { time: "5".into(), nth: 1 }).is_err());
        harness.command(&Command::Play).unwrap();
        assert_eq!(harness.state().error, None);
    }
}

#[test]
fn browsing_lists_tables_and_instruments_and_opens_nothing() {
    let rows = session(82, 3_000, 3);
    let mut harness = Harness::new(rows, 300, BUDGET);
    harness.keys = vec![(Some("A"), Some(1)), (Some("B"), Some(1))];
    let state = harness.command(&Command::Browse { source: None }).unwrap();
    assert_eq!((state.status, state.table, state.catalogue.tables.len()), (Status::Idle, None, 1));
    let state = harness.until("instruments", |state| state.catalogue.tables.first().is_some_and(|table| !table.instruments.is_empty()));
    let symbols: Vec<_> = state.catalogue.tables[0].instruments.iter().map(|found| found.symbol.as_str()).collect();
    assert_eq!((symbols.len(), state.status), (2, Status::Idle));
    assert!(harness.row_queries.is_empty() && harness.frames.is_empty());
    let state = harness.command(&Command::Open(Open { symbols: vec!["B".into()], ..Open::default() })).unwrap();
    assert_eq!((state.symbols, state.catalogue.tables[0].instruments.len()), (vec!["B".to_owned()], 2));
    assert!(harness.command(&Command::Browse { source: Some("nope".into()) }).is_err());
}
