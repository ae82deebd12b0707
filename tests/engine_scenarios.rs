//! The engine against a store in memory, in virtual time: whatever windows, ties, faults and seeks there are, every event is applied
//! once and in order, and a book is the book.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/order_session.rs"]
mod order_session;
#[path = "support/small_store.rs"]
mod small_store;

use order_session::{BUDGET, DAY, Random, assert_book, end, opened, play_to_the_end, session, truth};
use small_store::{Faults, Harness, Row};
use tickscope::link::{Command, Open, Speed, Status, ToWorker};
use tickscope::units::{Moment, Place, UnixNanos};
use tickscope::wire::status;

#[test]
fn opening_shows_the_first_book_of_the_last_day() {
    let rows = session(1, 20_000, 3);
    let mut harness = opened(rows.clone(), 5_000, BUDGET);
    let state = harness.state();
    assert_eq!(state.as_of, Some((DAY + 5).to_string()));
    assert_eq!(state.range.as_ref().map(|range| range.from.clone()), Some(DAY.to_string()));
    assert_book(&state, &rows, Moment::end_of(UnixNanos(DAY + 5)));
    assert_eq!(harness.frames.last().map(|frame| frame.as_of), Some(Moment::end_of(UnixNanos(DAY + 5))));
}

#[test]
fn playing_at_max_applies_every_event_of_the_range_once() {
    for (seed, ties, rows_per_batch) in [(1, 3, 16_384), (2, 50, 777), (3, 1, 100), (4, 400, 4_096)] {
        let rows = session(seed, 60_000, ties);
        let mut harness = opened(rows.clone(), rows_per_batch, BUDGET);
        let state = play_to_the_end(&mut harness);
        assert_book(&state, &rows, end(&rows));
        assert_eq!(state.counters.events, rows.len() as u64, "seed {seed}");
        assert_eq!(state.quality.unknown_orders, 0);
    }
}

#[test]
fn a_time_with_more_rows_than_a_window_is_streamed_whole() {
    let mut rows = session(5, 3_000, 2);
    let last = *rows.last().unwrap();
    for k in 0..30_000 {
        rows.push(Row {
            time: last.time + 1,
            venue_time: last.time + 1 + k / 3,
            action: 'A',
            side: 'B',
            price: 24_000_000_000,
            size: 1,
            id: 1_000_000 + k,
            flags: 130,
        });
    }
    rows.push(Row {
        time: last.time + 2,
        venue_time: last.time + 90_000,
        action: 'C',
        side: 'B',
        price: 24_000_000_000,
        size: 1,
        id: 1_000_007,
        flags: 130,
    });
    let mut harness = opened(rows.clone(), 1_000, BUDGET);
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
    assert_eq!(state.counters.events, rows.len() as u64);
    let seek = Moment { time: UnixNanos(last.time + 1), place: Place::After(17_001) };
    let state = harness.command(&Command::Seek(seek.to_string())).unwrap();
    assert_book(&state, &rows, seek);
}

#[test]
fn a_seek_shows_what_playing_there_shows() {
    let rows = session(6, 40_000, 4);
    let mut harness = opened(rows.clone(), 2_000, BUDGET);
    let mut random = Random(9);
    for round in 0..40 {
        let row = rows[random.below(rows.len() as u64) as usize];
        let place = match round % 4 {
            0 => Place::Before,
            1 => Place::After(1 + random.below(4) as u32),
            _ => Place::End,
        };
        let at = Moment { time: UnixNanos(row.time + if round % 5 == 0 { 1 } else { 0 }), place };
        let state = harness.command(&Command::Seek(at.to_string())).unwrap();
        assert_eq!(state.as_of, Some(at.to_string()));
        assert_book(&state, &rows, at);
    }
}

#[test]
fn seeks_are_exact_when_history_holds_a_fraction_of_the_range() {
    let rows = session(7, 60_000, 6);
    let mut harness = opened(rows.clone(), 1_500, 1 << 20);
    let mut random = Random(10);
    for _ in 0..12 {
        let at = Moment::end_of(UnixNanos(rows[random.below(rows.len() as u64) as usize].time));
        assert_book(&harness.command(&Command::Seek(at.to_string())).unwrap(), &rows, at);
    }
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
    assert!(harness.most_history_bytes <= (1 << 20) * 5 / 4, "{} bytes kept", harness.most_history_bytes);
}

#[test]
fn a_step_is_one_group_and_a_step_back_undoes_it() {
    let rows = session(8, 9_000, 3);
    let mut harness = opened(rows.clone(), 900, BUDGET);
    let mut books = vec![harness.state().book.unwrap()];
    for _ in 0..60 {
        let state = harness.command(&Command::Step(1)).unwrap();
        let at = state.as_of.as_ref().unwrap().parse().unwrap();
        assert_book(&state, &rows, at);
        books.push(state.book.clone().unwrap());
    }
    for expected in books.iter().rev().skip(1) {
        let state = harness.command(&Command::Step(-1)).unwrap();
        let book = state.book.as_ref().unwrap();
        assert_eq!((&book.event, &book.digest), (&expected.event, &expected.digest));
    }
}

#[test]
fn steps_back_past_what_can_be_undone_are_exact_too() {
    let rows = session(11, 30_000, 3);
    let mut harness = opened(rows.clone(), 4_000, BUDGET);
    let at = UnixNanos(rows[25_000].time);
    let mut event: i64 = harness.command(&Command::Seek(at.to_string())).unwrap().book.as_ref().unwrap().event.parse().unwrap();
    // A fresh engine has nothing to undo at this place.
    let mut fresh = opened(rows.clone(), 4_000, BUDGET);
    fresh.command(&Command::Seek(at.to_string())).unwrap();
    for _ in 0..5 {
        let state = fresh.command(&Command::Step(-1)).unwrap();
        let now: i64 = state.book.as_ref().unwrap().event.parse().unwrap();
        assert!(now < event && now >= event - 6, "{event} to {now}");
        assert_book(&state, &rows, state.as_of.as_ref().unwrap().parse().unwrap());
        event = now;
    }
}

#[test]
fn home_and_end_are_the_first_and_the_last_book() {
    let rows = session(12, 20_000, 5);
    let mut harness = opened(rows.clone(), 4_000, BUDGET);
    let state = harness.command(&Command::End).unwrap();
    assert_eq!(state.status, Status::Ended);
    assert_book(&state, &rows, end(&rows));
    let state = harness.command(&Command::Home).unwrap();
    assert_eq!(state.status, Status::Paused);
    assert_book(&state, &rows, Moment::end_of(UnixNanos(rows[0].time)));
    for _ in 0..3 {
        harness.command(&Command::Step(-1)).unwrap();
    }
    let state = harness.state();
    assert_eq!(state.book.as_ref().unwrap().event, "0");
}

#[test]
fn a_store_that_times_out_loses_and_doubles_nothing() {
    let rows = session(13, 80_000, 7);
    let mut harness = opened(rows.clone(), 700, BUDGET);
    harness.faults = Faults { fail_every: Some((2, status::LIMIT_EXCEEDED)), ..Faults::default() };
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.counters.events, rows.len() as u64);
    assert_book(&state, &rows, end(&rows));
}

#[test]
fn an_engine_goes_on_from_where_another_stood() {
    for (seed, ties) in [(21, 3), (22, 4_000)] {
        let rows = session(seed, 60_000, ties);
        let mut old = opened(rows.clone(), 2_000, BUDGET);
        old.command(&Command::Speed(Speed::Max)).unwrap();
        old.command(&Command::Play).unwrap();
        while old.engine.player().applied() < 30_000 {
            old.step();
        }
        old.tell(ToWorker::HandOver);
        let mut standing = None;
        for _ in 0..1_000 {
            old.step();
            standing = standing.or(old.handed_over.take());
        }
        let standing = standing.expect("where it stands");
        assert!(!standing.checkpoint.is_empty());
        let at: Moment = standing.open.at.as_ref().unwrap().parse().unwrap();
        let state = old.state();
        assert_eq!(state.as_of, standing.open.at, "it plays no further");

        let mut new = Harness::new(rows.clone(), 2_000, BUDGET);
        new.tell(ToWorker::TakeOver(standing.clone()));
        let state = new.command(&Command::Open(*standing.open.clone())).unwrap();
        assert_eq!((&state.as_of, &state.error), (&standing.open.at, &None));
        assert_book(&state, &rows, at);
        let behind = truth(&rows, at).1;
        assert!(behind > 30_000 && behind < rows.len(), "it was half-way");
        assert_eq!(state.counters.events, 0, "events applied again");
        let state = play_to_the_end(&mut new);
        assert_book(&state, &rows, end(&rows));
        assert_eq!(state.counters.events, (rows.len() - behind) as u64, "each later event once");
        // Also before where it began.
        let early = Moment::end_of(UnixNanos(rows[5_000].time));
        assert_book(&new.command(&Command::Seek(early.to_string())).unwrap(), &rows, early);
    }
}

#[test]
fn what_was_handed_over_of_a_table_that_changed_is_not_used() {
    let mut rows = session(23, 20_000, 3);
    let mut old = opened(rows.clone(), 2_000, BUDGET);
    old.command(&Command::Seek(rows[12_000].time.to_string())).unwrap();
    old.tell(ToWorker::HandOver);
    while old.handed_over.is_none() {
        old.step();
    }
    let standing = old.handed_over.take().unwrap();
    rows.remove(7_000);
    let mut new = Harness::new(rows.clone(), 2_000, BUDGET);
    new.tell(ToWorker::TakeOver(standing.clone()));
    let state = new.command(&Command::Open(*standing.open.clone())).unwrap();
    assert_book(&state, &rows, standing.open.at.unwrap().parse().unwrap());
    assert!(state.counters.events > 10_000, "built from the beginning");
}

#[test]
fn a_lost_connection_is_taken_up_where_it_ended() {
    let rows = session(14, 60_000, 9);
    // A small history keeps windows coming while playing.
    let mut harness = opened(rows.clone(), 500, 2 << 20);
    harness.command(&Command::Speed(Speed::Times { milli: 100_000 })).unwrap();
    harness.command(&Command::Play).unwrap();
    for more in [3, 9, 20] {
        harness.faults.drop_after_batches = Some(harness.batches + more);
        let lost = harness.until("lost", |state| state.status == Status::Disconnected);
        assert_eq!(lost.error.as_ref().map(|error| error.code.as_str()), Some("lost"));
        assert!(lost.book.is_some(), "the last book stays");
        harness.until("playing again", |state| state.status == Status::Playing && state.error.is_none());
    }
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.counters.events, rows.len() as u64);
    assert_book(&state, &rows, end(&rows));
}

#[test]
fn garbage_stops_with_the_last_book_and_reconnecting_goes_on() {
    let rows = session(15, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    harness.faults = Faults { garbage_after_batches: Some(60), ..Faults::default() };
    harness.command(&Command::Speed(Speed::Max)).unwrap();
    harness.command(&Command::Play).unwrap();
    let failed = harness.until("failed", |state| state.status == Status::Failed);
    let error = failed.error.as_ref().unwrap();
    assert_eq!(error.code, "decode");
    assert!(error.what.contains("offset") || error.what.contains("byte"), "{}", error.what);
    let at: Moment = failed.as_of.as_ref().unwrap().parse().unwrap();
    assert_book(&harness.state(), &rows, at);
    harness.command(&Command::Reconnect).unwrap();
    harness.until("usable", |state| state.status == Status::Paused);
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
}

#[test]
fn a_refused_statement_is_named_and_the_last_book_stays() {
    let rows = session(16, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    harness.faults = Faults { fail_every: Some((1, status::PARSE_ERROR)), ..Faults::default() };
    harness.command(&Command::Speed(Speed::Max)).unwrap();
    harness.command(&Command::Play).unwrap();
    let failed = harness.until("failed", |state| state.status == Status::Failed);
    let error = failed.error.as_ref().unwrap();
    assert!(error.code == "query" && error.what.contains("Invalid column") && error.place.contains("SELECT"), "{error:?}");
    assert!(failed.book.is_some());
    harness.faults = Faults::default();
    harness.command(&Command::Reconnect).unwrap();
    assert_book(&play_to_the_end(&mut harness), &rows, end(&rows));
}

#[test]
fn rows_out_of_time_order_are_never_replayed() {
    let mut rows = session(17, 60_000, 3);
    rows.swap(38_000, 38_050);
    let mut harness = opened(rows, 500, BUDGET);
    harness.command(&Command::Speed(Speed::Max)).unwrap();
    harness.command(&Command::Play).unwrap();
    let failed = harness.until("failed", |state| state.status == Status::Failed);
    assert_eq!(failed.error.as_ref().map(|error| error.code.as_str()), Some("order"));
    assert!(failed.counters.out_of_order > 0);
}

#[test]
fn market_time_over_wall_time_is_the_speed() {
    let rows = session(18, 60_000, 3);
    for milli in [1_000, 10_000, 100_000] {
        let mut harness = opened(rows.clone(), 4_000, BUDGET);
        harness.command(&Command::Speed(Speed::Times { milli })).unwrap();
        harness.command(&Command::Play).unwrap();
        harness.run_for(100_000);
        let (wall, market) = (harness.now, harness.frames.last().unwrap().as_of.time.0);
        harness.run_for(5_000_000);
        let passed = (harness.frames.last().unwrap().as_of.time.0 - market) as f64;
        let asked = (harness.now - wall) as f64 * milli as f64;
        assert!((passed / asked - 1.0).abs() < 0.01, "×{}: {}", milli / 1000, passed / asked);
    }
}

#[test]
fn slow_playback_and_a_long_pause_keep_no_query_open() {
    let rows = session(19, 60_000, 3);
    let mut harness = opened(rows.clone(), 4_000, BUDGET);
    harness.command(&Command::Speed(Speed::Times { milli: 100 })).unwrap();
    harness.command(&Command::Play).unwrap();
    harness.run_for(60_000_000);
    let state = harness.state();
    assert_eq!(state.counters.credit_bytes, 0, "no query holds credit");
    harness.command(&Command::Pause).unwrap();
    harness.run_for(600_000_000);
    assert_eq!(harness.state().counters.credit_bytes, 0);
    let state = play_to_the_end(&mut harness);
    assert_eq!(state.counters.events, rows.len() as u64);
    assert_book(&state, &rows, end(&rows));
}

#[test]
fn an_empty_range_says_where_the_nearest_data_is() {
    let rows = session(20, 3_000, 3);
    let mut harness = Harness::new(rows.clone(), 1_000, BUDGET);
    let range = tickscope::link::Range { from: (DAY - 2_000_000).to_string(), to: (DAY - 1_000_000).to_string() };
    harness.command(&Command::Open(Open { range: Some(range), ..Open::default() })).unwrap();
    let state = harness.until("empty", |state| state.error.is_some());
    assert_eq!(state.error.as_ref().map(|error| error.code.as_str()), Some("empty"));
    assert_eq!((state.catalogue.nearest.before, state.catalogue.nearest.after), (None, Some((DAY + 5).to_string())));
}

#[test]
fn a_command_that_is_malformed_changes_nothing() {
    let mut harness = opened(session(21, 3_000, 3), 1_000, BUDGET);
    let before = harness.state();
    assert!(harness.command(&Command::Seek("tomorrow".into())).is_err());
    assert_eq!(harness.state().as_of, before.as_of);
}
