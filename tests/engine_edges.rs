//! The engine where things go wrong or run into one another: commands on top of commands, seeks that are cut off, hostile answers,
//! times at the ends of what 64 bits hold. No command stays without an answer, and no book is shown for a moment it is not of.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/order_session.rs"]
mod order_session;
#[path = "support/small_store.rs"]
mod small_store;

use std::sync::Arc;

use arrow_array::{Array, Decimal64Array, RecordBatch};
use arrow_schema::{Field, Schema};
use order_session::{BUDGET, DAY, Random, assert_book, end, opened, play_to_the_end, session};
use small_store::{COLUMNS, Faults, Harness, Row, batch_of};
use tickscope::history::History;
use tickscope::link::{Command, Open, Range, Speed, State, Status};
use tickscope::market::{Binding, Chunk, ColumnDecl, Feed};
use tickscope::replay::{Player, Target};
use tickscope::units::{Moment, Place, UnixNanos};
use tickscope::wire::status;

fn seek(at: Moment) -> Command {
    Command::Seek(at.to_string())
}

/// The book in the state is the book of the moment in the state.
fn assert_true(state: &State, rows: &[Row]) {
    assert_eq!(state.book.as_ref().map(|book| &book.as_of), state.as_of.as_ref());
    // Between an opening and its first book there is none.
    if let Some(at) = &state.as_of {
        assert_book(state, rows, at.parse().unwrap());
    }
}

fn row(time: i64, venue_time: i64, action: char, id: i64, flags: i16) -> Row {
    Row { time, venue_time, action, side: 'B', price: 25_000_000_000 + id * 250_000_000, size: 1, id, flags }
}

#[test]
fn of_two_quick_seeks_the_second_counts_and_its_event_numbers_are_right() {
    let mut rows = session(31, 60_000, 3);
    // A second snapshot in the middle gives the two seeks different anchors.
    let (time, venue_time) = (rows[30_000].time + 1, rows[30_000].venue_time);
    for later in &mut rows[30_001..] {
        later.time += 10;
    }
    rows.insert(30_001, Row { time, venue_time, action: 'R', side: 'N', price: 0, size: 0, id: 0, flags: 40 });
    rows.insert(30_002, row(time, venue_time + 1, 'A', 1_000_000, 168));
    for (first, second) in [(50_000, 25_000), (25_000, 50_000), (35_000, 59_000), (59_000, 30_500)] {
        for gap in 0..12 {
            let mut harness = opened(rows.clone(), 700, 1 << 20);
            // Counting is over, so the first seek asks at once; and both go back, so the book at hand serves neither.
            harness.command(&Command::End).unwrap();
            let (first, second) = (Moment::end_of(UnixNanos(rows[first].time)), Moment::end_of(UnixNanos(rows[second].time)));
            let waiting = harness.start(&seek(first));
            for _ in 0..gap {
                harness.step();
            }
            let state = harness.command(&seek(second)).unwrap();
            assert_eq!(state.as_of, Some(second.to_string()), "gap {gap}");
            assert_true(&state, &rows);
            harness.answer_to(waiting).unwrap();
        }
    }
}

#[test]
fn no_book_is_shown_for_a_moment_it_is_not_of_while_a_seek_rolls() {
    let rows = session(32, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    harness.command(&seek(Moment::end_of(UnixNanos(rows[2_000].time)))).unwrap();
    harness.start(&seek(Moment::end_of(UnixNanos(rows[58_000].time))));
    for _ in 0..40 {
        for _ in 0..3 {
            harness.step();
        }
        let state = harness.state();
        assert_true(&state, &rows);
    }
}

#[test]
fn a_seek_cut_off_by_a_failure_keeps_the_last_book_and_is_taken_up_by_a_reconnect() {
    let rows = session(33, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    let shown = harness.command(&seek(Moment::end_of(UnixNanos(rows[2_000].time)))).unwrap();
    let frames = harness.frames.len();
    harness.faults.garbage_after_batches = Some(harness.batches + 30);
    let target = Moment::end_of(UnixNanos(rows[58_000].time));
    let failed = harness.command(&seek(target)).unwrap();
    assert_eq!(failed.status, Status::Failed);
    harness.run_for(1_000_000);
    let state = harness.state();
    assert_eq!((&state.as_of, &state.book), (&shown.as_of, &shown.book));
    assert!(harness.frames[frames..].iter().all(|frame| Some(frame.as_of.to_string()) == shown.as_of));
    assert!(harness.command(&Command::Step(1)).is_err(), "nothing moves before a reconnect");
    harness.command(&Command::Reconnect).unwrap();
    harness.until("there", |state| state.status == Status::Paused && state.as_of == Some(target.to_string()));
    assert_true(&harness.state(), &rows);
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
}

#[test]
fn a_place_that_cannot_be_opened_leaves_the_old_one_usable() {
    let rows = session(34, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    let shown = harness.command(&seek(Moment::end_of(UnixNanos(rows[2_000].time)))).unwrap();
    let sought = harness.start(&seek(Moment::end_of(UnixNanos(rows[58_000].time))));
    for _ in 0..60 {
        harness.step();
    }
    let state = harness.command(&Command::Open(Open { table: Some("nope".into()), ..Open::default() })).unwrap();
    harness.answer_to(sought).unwrap();
    assert_eq!((state.status, state.error.as_ref().map(|error| error.code.as_str())), (Status::Failed, Some("table")));
    assert_eq!((&state.as_of, &state.book), (&shown.as_of, &shown.book));
    let at = Moment::end_of(UnixNanos(rows[5_000].time));
    let state = harness.command(&seek(at)).unwrap();
    assert_eq!((state.status, &state.error, &state.as_of), (Status::Paused, &None, &Some(at.to_string())));
    assert_true(&state, &rows);
    // A lost connection comes back to what is open, not to what could not be opened.
    harness.faults.drop_after_batches = Some(harness.batches);
    harness.start(&Command::End);
    harness.until("lost", |state| state.status == Status::Disconnected);
    let state = harness.until("back", |state| state.status == Status::Ended);
    assert_eq!(state.error, None);
    assert_true(&harness.state(), &rows);
}

#[test]
fn an_open_on_top_of_an_open_is_not_answered_with_what_the_first_asked() {
    let rows = session(35, 3_000, 3);
    for gap in 0..14 {
        let mut harness = opened(rows.clone(), 500, BUDGET);
        let (from, to) = (rows[500].time, rows[1_500].time);
        let first = harness.start(&Command::Open(Open::default()));
        for _ in 0..gap {
            harness.step();
        }
        let range = Range { from: from.to_string(), to: to.to_string() };
        let state = harness.command(&Command::Open(Open { range: Some(range.clone()), ..Open::default() })).unwrap();
        harness.answer_to(first).unwrap();
        assert_eq!((&state.range, &state.error), (&Some(range), &None), "gap {gap}");
        let inside = rows.iter().filter(|row| row.time >= from && row.time < to).count();
        let state = play_to_the_end(&mut harness);
        assert_eq!(state.book.unwrap().event, inside.to_string());
        assert_eq!(state.as_of, rows.iter().rev().find(|row| row.time < to).map(|row| row.time.to_string()));
    }
}

#[test]
fn steps_while_a_seek_loads_are_steps_from_its_moment() {
    let rows = session(36, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    let at = Moment::end_of(UnixNanos(rows[50_000].time));
    let mut slow = opened(rows.clone(), 500, 1 << 20);
    slow.command(&seek(at)).unwrap();
    for by in [1, 1, -1] {
        slow.command(&Command::Step(by)).unwrap();
    }
    harness.start(&seek(at));
    let steps = [1, 1, -1].map(|by| harness.start(&Command::Step(by)));
    for id in steps {
        harness.answer_to(id).unwrap();
    }
    let (state, expected) = (harness.state(), slow.state());
    assert_eq!((&state.as_of, &state.book), (&expected.as_of, &expected.book));
    // A seek makes steps that wait pointless; they are answered all the same.
    harness.start(&Command::Home);
    let step = harness.start(&Command::Step(1));
    let state = harness.command(&seek(at)).unwrap();
    harness.answer_to(step).unwrap();
    assert_eq!(state.as_of, Some(at.to_string()));
    assert_eq!(harness.state().as_of, Some(at.to_string()));
    assert_true(&state, &rows);
}

#[test]
fn steps_at_both_ends_stay_there() {
    let rows = session(37, 3_000, 3);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    let before = harness.command(&seek(Moment::before(UnixNanos(DAY)))).unwrap();
    assert_eq!((before.as_of.clone(), before.book.as_ref().map(|book| book.event.as_str())), (Some(format!("{DAY}-")), Some("0")));
    let still = harness.command(&Command::Step(-1)).unwrap();
    assert_eq!((&still.as_of, &still.book), (&before.as_of, &before.book));
    let beyond = Moment::end_of(UnixNanos(rows.last().unwrap().time + 1_000));
    let last = harness.command(&seek(beyond)).unwrap();
    let still = harness.command(&Command::Step(1)).unwrap();
    assert_eq!((still.status, &still.as_of, &still.book), (Status::Ended, &last.as_of, &last.book));
    // Play at the end begins anew.
    harness.command(&Command::Speed(Speed::Max)).unwrap();
    harness.command(&Command::Play).unwrap();
    harness.until("ended", |state| state.status == Status::Ended && state.seeking.is_none());
    assert_book(&harness.state(), &rows, end(&rows));
}

#[test]
fn a_table_whose_rows_share_one_time_opens_steps_and_plays() {
    let rows: Vec<Row> = (0..20_000).map(|k| row(DAY + 7, DAY + k / 2, 'A', k + 1, if k % 2 == 1 { 128 } else { 0 })).collect();
    let mut harness = Harness::new(rows.clone(), 900, BUDGET);
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_book(&state, &rows, end(&rows));
    for k in [1, 2, 3, 9_999, 19_999, 20_000, 4_000_000_000] {
        let at = Moment { time: UnixNanos(DAY + 7), place: Place::After(k) };
        let state = harness.command(&seek(at)).unwrap();
        assert_eq!(state.as_of, Some(at.to_string()));
        assert_book(&state, &rows, at);
    }
    harness.command(&seek(Moment::before(UnixNanos(DAY + 7)))).unwrap();
    for event in ["2", "4", "6"] {
        let state = harness.command(&Command::Step(1)).unwrap();
        assert_eq!(state.book.as_ref().map(|book| book.event.as_str()), Some(event));
        assert_true(&state, &rows);
    }
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
    harness.command(&Command::Play).unwrap();
    assert_eq!(harness.until("ended", |state| state.status == Status::Ended).book.unwrap().event, "20000");
}

#[test]
fn a_table_without_rows_and_one_without_a_row_in_the_range_say_so_in_the_answer() {
    let mut harness = Harness::new(Vec::new(), 900, BUDGET);
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!((state.status, state.error.map(|error| error.code)), (Status::Failed, Some("empty".into())));
    let rows = session(38, 3_000, 3);
    let gap = rows.windows(2).map(|pair| (pair[0].time, pair[1].time)).max_by_key(|(a, b)| b - a).unwrap();
    let mut harness = Harness::new(rows.clone(), 900, BUDGET);
    let range = Range { from: (gap.0 + 1).to_string(), to: gap.1.to_string() };
    let state = harness.command(&Command::Open(Open { range: Some(range), ..Open::default() })).unwrap();
    assert_eq!((state.status, state.error.map(|error| error.code)), (Status::Paused, Some("empty".into())));
    assert_eq!((state.catalogue.nearest.before, state.catalogue.nearest.after), (Some(gap.0.to_string()), Some(gap.1.to_string())));
    // The market did not vanish in between: the book is the one that the events before the range left.
    let (digest, _) = order_session::truth(&rows, Moment::end_of(UnixNanos(gap.0)));
    assert_eq!(state.book.as_ref().map(|book| (book.event.as_str(), &book.digest)), Some(("0", &digest)));
    for command in [Command::Step(1), Command::Step(-1), Command::Home, Command::End, seek(Moment::end_of(UnixNanos(gap.0 + 2)))] {
        let state = harness.command(&command).unwrap();
        assert_eq!(state.book.map(|book| book.digest), Some(digest.clone()), "{command:?}");
    }
    play_to_the_end(&mut harness);
}

#[test]
fn ranges_at_the_ends_of_time_open_and_play() {
    let rows = session(39, 3_000, 3);
    let (min, max) = (i64::MIN.to_string(), i64::MAX.to_string());
    for (from, to) in
        [(min.clone(), max.clone()), (min.clone(), (DAY + 1).to_string()), ((i64::MAX - 1).to_string(), max.clone()), (DAY.to_string(), max)]
    {
        let mut harness = Harness::new(rows.clone(), 900, BUDGET);
        let range = Range { from: from.clone(), to };
        harness.command(&Command::Open(Open { range: Some(range), ..Open::default() })).unwrap();
        for command in [Command::Home, Command::Step(-1), Command::Step(1), Command::Step(-1), Command::Step(-1), Command::End, Command::Step(1)] {
            harness.command(&command).unwrap();
        }
        for at in [i64::MIN, i64::MIN + 1, 0, i64::MAX - 1, i64::MAX] {
            for place in [Place::Before, Place::After(1), Place::End] {
                harness.command(&seek(Moment { time: UnixNanos(at), place })).unwrap();
            }
        }
        harness.command(&Command::Home).unwrap();
        play_to_the_end(&mut harness);
        harness.command(&Command::Speed(Speed::Times { milli: Speed::MAX_MILLI })).unwrap();
        harness.command(&Command::Play).unwrap();
        harness.run_for(3_000_000);
        harness.command(&Command::Pause).unwrap();
    }
}

#[test]
fn a_range_ends_before_its_right_end_and_begins_with_its_left() {
    let rows = session(40, 6_000, 2);
    let mut random = Random(4);
    for _ in 0..8 {
        let (a, b) = (random.below(rows.len() as u64) as usize, random.below(rows.len() as u64) as usize);
        let (from, to) = (rows[a.min(b)].time, rows[a.max(b)].time);
        if from == to {
            continue;
        }
        let mut harness = Harness::new(rows.clone(), 300, BUDGET);
        let range = Range { from: from.to_string(), to: to.to_string() };
        let state = harness.command(&Command::Open(Open { range: Some(range), ..Open::default() })).unwrap();
        // From the range's start on the book knows what came before it.
        let before = rows.iter().filter(|row| row.time < from).count();
        let at: Moment = state.as_of.as_ref().unwrap().parse().unwrap();
        let (digest, applied) = order_session::truth(&rows, at);
        assert_eq!(state.book.as_ref().map(|book| (&book.event, &book.digest)), Some((&applied.saturating_sub(before).to_string(), &digest)));
        let inside: Vec<Row> = rows.iter().filter(|row| row.time < to).copied().collect();
        let state = play_to_the_end(&mut harness);
        let (digest, _) = order_session::truth(&inside, end(&inside));
        assert_eq!(state.book.as_ref().map(|book| (&book.event, &book.digest)), Some((&(inside.len() - before).to_string(), &digest)));
    }
}

#[test]
fn a_moment_between_a_time_s_live_rows_and_its_clear_is_of_the_book_before() {
    let time = DAY + 1_000;
    let rows = vec![
        row(DAY + 1, DAY, 'R', 0, 168),
        row(DAY + 2, DAY + 2, 'A', 1, 128),
        row(DAY + 3, DAY + 3, 'A', 2, 128),
        row(time, DAY + 4, 'A', 3, 128),
        row(time, DAY + 5, 'C', 1, 128),
        // A clear whose group ends later, with other rows of its group behind.
        row(time, DAY + 6, 'R', 0, 0),
        row(time + 5, DAY + 6, 'A', 4, 128),
        row(time + 9, DAY + 7, 'A', 5, 128),
    ];
    for at in [format!("{time}/1"), format!("{time}/2"), format!("{time}/3"), format!("{time}"), format!("{}", time + 4), format!("{}", time + 5)] {
        let at: Moment = at.parse().unwrap();
        let mut harness = Harness::new(rows.clone(), 2, BUDGET);
        let state = harness.command(&Command::Open(Open { at: Some(at.to_string()), ..Open::default() })).unwrap();
        assert_eq!(state.as_of, Some(at.to_string()));
        assert_true(&state, &rows);
        assert_eq!(state.book.as_ref().unwrap().partial_since, None, "{at}");
    }
}

#[test]
fn a_group_whose_rows_are_forgotten_is_not_undone_for_it_could_not_be_applied_again() {
    let columns: Vec<_> = COLUMNS.iter().map(|(name, kind)| ColumnDecl { name: (*name).into(), kind: (*kind).into() }).collect();
    let binding = Binding::bind("orders", &columns, Some("ts_recv")).unwrap();
    let mut feed = Feed::new(&binding);
    let mut history = History::new(BUDGET);
    history.begin(UnixNanos(DAY), 0);
    for k in 0..3 {
        history.append(chunk(&mut feed, &binding, &[row(DAY + k, DAY + k, 'A', k + 1, 128)], 9)).unwrap();
    }
    history.finish();
    let mut player = Player::new(binding.kind);
    player.begin_empty(UnixNanos(DAY), 0);
    player.advance(&history, &Target::All, u64::MAX, 2).unwrap();
    assert_eq!(player.undo_floor(), 0);
    // Only the rows that were applied go.
    history.reserve(BUDGET, player.applied());
    assert_eq!((history.first(), player.applied()), (2, 2));
    let digest = player.book().digest();
    assert!(!player.undo(&history));
    assert_eq!((player.applied(), player.book().digest()), (2, digest));
    player.advance(&history, &Target::All, u64::MAX, 1).unwrap();
    assert!(player.undo(&history));
    assert_eq!((player.applied(), player.book().digest()), (2, digest));
}

/// Rows whose prices are whole numbers, or have nine digits behind the point.
fn chunk(feed: &mut Feed, binding: &Binding, rows: &[Row], scale: i8) -> Chunk {
    let names: Vec<&str> = binding.columns.iter().map(String::as_str).collect();
    let batch = batch_of(rows, &names);
    let (schema, mut columns, _) = batch.into_parts();
    let prices = Decimal64Array::from_iter_values(rows.iter().map(|row| row.price)).with_precision_and_scale(18, scale).unwrap();
    let at = names.iter().position(|name| *name == "price").unwrap();
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    fields[at] = Arc::new(Field::new("price", prices.data_type().clone(), true));
    columns[at] = Arc::new(prices);
    feed.load(&RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()).unwrap()
}

#[test]
fn a_number_that_does_not_fit_leaves_the_book_as_it_was_before_its_group() {
    let columns: Vec<_> = COLUMNS.iter().map(|(name, kind)| ColumnDecl { name: (*name).into(), kind: (*kind).into() }).collect();
    let binding = Binding::bind("orders", &columns, Some("ts_recv")).unwrap();
    let large = |time: i64, id: i64, flags: i16| Row { price: 900_000_000_000_000_000 + id, ..row(DAY + time, DAY + time, 'A', id, flags) };
    // The third row is of a group that goes on in the second batch; prices there have digits that the first three leave no room for.
    let whole = [large(1, 1, 128), large(2, 2, 128), large(3, 3, 0)];
    let digits = [row(DAY + 3, DAY + 3, 'A', 4, 128)];
    let mut feed = Feed::new(&binding);
    let mut history = History::new(BUDGET);
    history.begin(UnixNanos(DAY), 0);
    history.append(chunk(&mut feed, &binding, &whole, 0)).unwrap();
    history.append(chunk(&mut feed, &binding, &digits, 9)).unwrap();
    history.finish();
    let mut player = Player::new(binding.kind);
    player.begin_empty(UnixNanos(DAY), 0);
    player.advance(&history, &Target::Moment(Moment::end_of(UnixNanos(DAY + 2))), u64::MAX, u64::MAX).unwrap();
    let (before, at) = (player.book().digest(), player.last_time());
    let error = player.advance(&history, &Target::All, u64::MAX, u64::MAX).unwrap_err();
    assert_eq!((error.index, error.restored), (3, true));
    assert_eq!((player.applied(), player.last_time(), player.book().digest()), (2, at, before));
}

#[test]
fn a_refused_query_while_seeking_answers_and_a_seek_elsewhere_works() {
    let rows = session(42, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    harness.faults = Faults { fail_every: Some((1, status::PARSE_ERROR)), ..Faults::default() };
    let state = harness.command(&seek(Moment::end_of(UnixNanos(rows[50_000].time)))).unwrap();
    assert_eq!(state.status, Status::Failed);
    assert!(harness.command(&Command::Play).is_err());
    harness.run_for(3_000_000);
    assert_eq!(harness.state().status, Status::Failed);
    harness.faults = Faults::default();
    let at = Moment::end_of(UnixNanos(rows[40_000].time));
    let state = harness.command(&seek(at)).unwrap();
    assert_eq!((state.status, &state.error), (Status::Paused, &None));
    assert_true(&state, &rows);
}

#[test]
fn a_connection_lost_after_a_failure_leaves_the_failure_to_be_mended() {
    let rows = session(43, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    harness.faults = Faults { fail_every: Some((1, status::PARSE_ERROR)), ..Faults::default() };
    harness.command(&Command::End).unwrap();
    harness.hang_up();
    harness.run_for(5_000_000);
    let state = harness.state();
    assert_eq!((state.status, state.error.as_ref().map(|error| error.code.as_str())), (Status::Failed, Some("query")));
    harness.faults = Faults::default();
    harness.command(&Command::Reconnect).unwrap();
    harness.until("usable", |state| state.status == Status::Paused);
    assert_book(&play_to_the_end(&mut harness), &rows, end(&rows));
}

#[test]
fn a_server_that_falls_silent_is_left_and_asked_again() {
    let rows = session(44, 60_000, 3);
    let mut harness = opened(rows.clone(), 500, 1 << 20);
    for silent in [true, false] {
        harness.silent = Some(silent);
        let id = harness.start(&Command::End);
        harness.until("lost", |state| state.status == Status::Disconnected);
        harness.silent = None;
        let state = harness.answer_to(id).unwrap();
        assert_book(&state, &rows, end(&rows));
        harness.command(&Command::Home).unwrap();
    }
}

#[test]
fn a_store_that_sends_rows_of_another_time_is_not_believed() {
    let rows = session(45, 6_000, 3);
    let mut harness = Harness::new(rows.clone(), 500, BUDGET);
    harness.ignores_bounds = true;
    let range = Range { from: rows[2_000].time.to_string(), to: rows[4_000].time.to_string() };
    harness.command(&Command::Open(Open { range: Some(range), ..Open::default() })).unwrap();
    let state = harness.until("failed", |state| state.status == Status::Failed);
    assert_eq!(state.error.map(|error| error.code), Some("order".into()));
}

#[test]
fn counts_that_are_too_low_do_not_make_a_window_larger_than_memory() {
    let rows = session(46, 120_000, 3);
    let mut harness = Harness::new(rows.clone(), 300, 1 << 20);
    harness.false_counts = true;
    harness.command(&Command::Open(Open::default())).unwrap();
    harness.run_for(1_000_000);
    let state = play_to_the_end(&mut harness);
    assert_book(&state, &rows, end(&rows));
    let state = harness.command(&seek(Moment::end_of(UnixNanos(rows[100_000].time)))).unwrap();
    assert_true(&state, &rows);
    harness.command(&Command::Home).unwrap();
    harness.command(&Command::End).unwrap();
    assert!(harness.most_history_bytes <= (1 << 20) * 3 / 2, "{} bytes kept", harness.most_history_bytes);
}

#[test]
fn a_time_that_no_memory_holds_is_named() {
    let mut rows = session(47, 3_000, 3);
    let last = rows.last().unwrap().time;
    rows.extend((0..120_000).map(|k| row(last + 1, last + 1 + k, 'A', 1_000_000 + k, 128)));
    let mut harness = opened(rows, 900, 1 << 20);
    let state = harness.command(&Command::End).unwrap();
    assert_eq!((state.status, state.error.map(|error| error.code)), (Status::Failed, Some("memory".into())));
    harness.run_for(2_000_000);
    assert!(harness.most_history_bytes <= 5 << 20, "{} bytes kept", harness.most_history_bytes);
}

#[test]
fn which_event_of_a_time_is_said_only_at_that_time() {
    let rows = session(48, 6_000, 30);
    let mut harness = opened(rows.clone(), 500, BUDGET);
    let tied = rows.windows(2).position(|pair| pair[0].time == pair[1].time && pair[0].time > rows[300].time).unwrap();
    let time = rows[tied].time;
    let of = rows.iter().filter(|row| row.time == time).count() as u32;
    let state = harness.command(&seek(Moment::end_of(UnixNanos(time)))).unwrap();
    assert!(state.tie.is_none_or(|tie| tie.of == of && tie.event <= of));
    let next = rows.iter().find(|row| row.time > time).unwrap().time;
    let state = harness.command(&seek(Moment::before(UnixNanos(next)))).unwrap();
    assert_eq!(state.tie, None);
}

#[test]
fn a_hostile_catalogue_is_no_panic() {
    let rows = session(49, 3_000, 3);
    for bounds in [(i64::MIN, i64::MAX), (i64::MAX, i64::MIN), (i64::MIN + 1, i64::MIN + 1), (0, 0), (i64::MAX, i64::MAX)] {
        let mut harness = Harness::new(rows.clone(), 500, BUDGET);
        harness.false_bounds = Some(bounds);
        harness.start(&Command::Open(Open::default()));
        harness.run_for(2_000_000);
        for command in [Command::Play, Command::End, Command::Step(-1), Command::Home] {
            harness.start(&command);
            harness.run_for(1_000_000);
        }
    }
}

#[test]
fn each_symbol_and_publisher_has_its_own_book_also_those_without_a_name() {
    let keys = vec![(Some("A'B\""), Some(1)), (Some("A'B\""), Some(2)), (None, Some(1)), (Some("A'B\""), None), (None, None)];
    let rows: Vec<Row> = (0..5_000).map(|k| row(DAY + k / 3, DAY + k, 'A', k + 1, 128)).collect();
    for key in keys.clone() {
        let mut harness = Harness::new(rows.clone(), 90, BUDGET);
        harness.keys.clone_from(&keys);
        let own: Vec<Row> = rows.iter().filter(|row| harness.key_of(row) == key).copied().collect();
        let listed = harness.command(&Command::Open(Open::default())).unwrap().catalogue.instruments;
        let publisher = key.1.map(|id| id as u32);
        let symbol = key.0.unwrap_or_default();
        assert!(
            listed.iter().any(|instrument| instrument.symbol == symbol && instrument.publisher == publisher && instrument.rows == own.len() as u64)
        );
        let open = Open { symbols: vec![symbol.to_owned()], publisher, ..Open::default() };
        // Without a publisher the first with the symbol is meant.
        let first = keys.iter().position(|(symbol, id)| *symbol == key.0 && (publisher.is_none() || *id == key.1)).unwrap();
        let own: Vec<Row> = rows.iter().filter(|row| harness.key_of(row) == keys[first]).copied().collect();
        harness.command(&Command::Open(open)).unwrap();
        let state = play_to_the_end(&mut harness);
        assert_book(&state, &own, end(&own));
    }
}

#[test]
fn an_open_with_a_symbol_is_not_answered_from_the_list_that_an_open_before_asked_for() {
    let rows: Vec<Row> = (0..500).map(|k| row(DAY + k, DAY + k, 'A', k + 1, 128)).collect();
    for gap in 0..12 {
        let mut harness = Harness::new(rows.clone(), 90, BUDGET);
        harness.keys = vec![(Some("A"), Some(1)), (Some("B"), Some(1))];
        harness.command(&Command::Open(Open::default())).unwrap();
        let first = harness.start(&Command::Open(Open { symbols: vec!["A".into()], ..Open::default() }));
        for _ in 0..gap {
            harness.step();
        }
        let state = harness.command(&Command::Open(Open { symbols: vec!["B".into()], ..Open::default() })).unwrap();
        harness.answer_to(first).unwrap();
        assert_eq!((state.symbols.as_slice(), &state.error), (["B".to_owned()].as_slice(), &None), "gap {gap}");
        let state = harness.command(&Command::Open(Open { symbols: vec!["C".into()], ..Open::default() })).unwrap();
        assert_eq!(state.error.map(|error| error.code), Some("symbol".into()));
    }
}

#[test]
fn whatever_is_asked_in_whatever_order_is_answered_and_shows_true_books() {
    for seed in 0..8 {
        let mut random = Random(1_000 + seed);
        let mut rows = session(seed, 9_000, 1 + seed % 5);
        // Every other table has clears on its way, at times that other events share.
        for at in (200..rows.len()).rev().filter(|_| seed % 2 == 0) {
            if rows[at].flags == 130 && random.below(500) == 0 {
                let clear = Row { action: 'R', flags: if seed % 4 == 0 { 0 } else { 128 }, ..rows[at] };
                rows.insert(at + 1, Row { venue_time: rows[at].venue_time + 1, ..clear });
            }
        }
        let mut harness = opened(rows.clone(), 50 + random.below(400) as usize, 128 << 10);
        for round in 0..60 {
            let mut started = Vec::new();
            for _ in 0..1 + random.below(4) {
                let time = UnixNanos(rows[random.below(rows.len() as u64) as usize].time + random.below(2) as i64);
                let place = [Place::Before, Place::After(1 + random.below(3) as u32), Place::End][random.below(3) as usize];
                let command = match random.below(12) {
                    0..=3 => seek(Moment { time, place }),
                    4 | 5 => Command::Step(1),
                    6 | 7 => Command::Step(-1),
                    8 => Command::Play,
                    9 => Command::Speed(if random.below(2) == 0 { Speed::Max } else { Speed::Times { milli: 1_000_000 } }),
                    10 => Command::Home,
                    _ if random.below(6) == 0 => Command::Open(Open { at: Some(Moment { time, place }.to_string()), ..Open::default() }),
                    _ => Command::End,
                };
                started.push(harness.start(&command));
                for _ in 0..random.below(30) {
                    harness.step();
                }
                match random.below(30) {
                    0 => harness.faults.drop_after_batches = Some(harness.batches + random.below(5) as u32),
                    1 => harness.faults.garbage_after_batches = Some(harness.batches + random.below(5) as u32),
                    2 => harness.faults.fail_every = Some((1 + random.below(4) as u32, status::LIMIT_EXCEEDED)),
                    3 => harness.hang_up(),
                    4 => harness.faults.fail_every = Some((1 + random.below(4) as u32, status::PARSE_ERROR)),
                    5 => assert_true(&harness.state(), &rows),
                    _ => harness.faults.fail_every = None,
                }
            }
            for id in started {
                let _ = harness.answer_to(id);
            }
            let state = harness.state();
            assert_true(&state, &rows);
            if let Some(frame) = harness.frames.last() {
                let (_, applied) = order_session::truth(&rows, frame.as_of);
                assert_eq!(frame.events, applied as u64, "seed {seed}, round {round}");
            }
            if state.status == Status::Failed {
                harness.faults = Faults::default();
                harness.command(&Command::Reconnect).unwrap();
                harness.until("usable", |state| matches!(state.status, Status::Paused | Status::Ended));
                assert_true(&harness.state(), &rows);
            }
        }
        harness.faults = Faults::default();
        harness.start(&Command::Pause);
        // A fault may still be on its way.
        harness.run_for(2_000_000);
        harness.command(&Command::Reconnect).unwrap();
        let state = harness.command(&Command::Home).unwrap();
        assert!(state.as_of.is_some());
        assert_true(&state, &rows);
        assert_book(&play_to_the_end(&mut harness), &rows, end(&rows));
    }
}
