//! Order events of a day, the books they truly make, and an engine that has them open.
#![allow(dead_code, reason = "each test file uses a part of it")]

use tickscope::book::Book;
use tickscope::link::{Command, Open, Speed, State, Status};
use tickscope::market::{Binding, ColumnDecl, Feed};
use tickscope::units::{Moment, Place, UnixNanos};
use tickscope::view::book::digest_text;

use crate::small_store::{Harness, Layout, Row, batch_of};

pub const DAY: i64 = 1_703_462_400_000_000_000;
pub const BUDGET: usize = 96 << 20;

/// A small seeded generator: the same rows on every machine.
pub struct Random(pub u64);

impl Random {
    /// A number from 0 to n − 1.
    pub fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

/// Order events of one day: a snapshot first, groups of one to five rows of which some span several times, and ties.
pub fn session(seed: u64, events: usize, ties: u64) -> Vec<Row> {
    let mut random = Random(seed);
    let mut rows = Vec::with_capacity(events);
    let mut live: Vec<(i64, char, i64, i64)> = Vec::new();
    let mut next_id = 1;
    let mut time = DAY + 5;
    for _ in 0..200 {
        let side = if random.below(2) == 0 { 'B' } else { 'A' };
        let offset = random.below(20) as i64 + 1;
        let price = (100 + if side == 'B' { -offset } else { offset }) * 250_000_000;
        let size = random.below(9) as i64 + 1;
        rows.push(Row { time, venue_time: time - 1_000 + next_id, action: 'A', side, price, size, id: next_id, flags: 40 });
        live.push((next_id, side, price, size));
        next_id += 1;
    }
    while rows.len() < events {
        let venue_time = time + 1 + random.below(1_000) as i64;
        for left in (0..=random.below(5)).rev() {
            if random.below(ties) == 0 {
                time += 1 + random.below(5_000_000) as i64;
            }
            let flags = if left == 0 { 130 } else { 0 };
            let row = |action, (id, side, price, size)| Row { time, venue_time: venue_time.max(0), action, side, price, size, id, flags };
            match random.below(10) {
                0..=3 => {
                    let side = if random.below(2) == 0 { 'B' } else { 'A' };
                    let offset = random.below(20) as i64;
                    let price = (100 + if side == 'B' { -offset } else { offset + 1 }) * 250_000_000;
                    let order = (next_id, side, price, random.below(9) as i64 + 1);
                    next_id += 1;
                    live.push(order);
                    rows.push(row('A', order));
                }
                4..=6 if !live.is_empty() => {
                    let order = live.swap_remove(random.below(live.len() as u64) as usize);
                    rows.push(row('C', order));
                }
                7 if !live.is_empty() => {
                    let at = random.below(live.len() as u64) as usize;
                    live[at].3 = random.below(12) as i64 + 1;
                    rows.push(row('M', live[at]));
                }
                8 => rows.push(row('T', (0, 'B', 25_250_000_000, 1))),
                _ => rows.push(row('F', (next_id - 1, 'A', 25_250_000_000, 1))),
            }
        }
        if random.below(3) == 0 {
            time += random.below(200_000_000) as i64;
        }
    }
    rows
}

/// The book after whole groups up to a moment, built without store, wire, history or windows.
pub fn truth(rows: &[Row], at: Moment) -> (String, usize) {
    let (book, applied) = true_book(rows, Layout::Orders, at);
    (digest_text(book.digest()), applied)
}

/// The same for a table of any layout, and the book itself.
pub fn true_book(rows: &[Row], layout: Layout, at: Moment) -> (Book, usize) {
    let columns: Vec<_> = layout.columns().iter().map(|(name, kind)| ColumnDecl { name: (*name).into(), kind: (*kind).into() }).collect();
    let binding = Binding::bind("orders", &columns, Some("ts_recv")).unwrap();
    let names: Vec<&str> = binding.columns.iter().map(String::as_str).collect();
    let chunk = Feed::new(&binding).load(&batch_of(rows, &names)).unwrap();
    let mut book = Book::new(binding.kind);
    let mut scratch = Default::default();
    let (mut start, mut previous, mut applied) = (0, None, 0);
    for row in 0..rows.len() {
        let ends = row + 1 == rows.len() || chunk.mark(row).splits(chunk.mark(row + 1));
        if !ends {
            continue;
        }
        let ordinal = rows[..=row].iter().rev().take_while(|other| other.time == rows[row].time).count() as u32;
        if (Moment { time: UnixNanos(rows[row].time), place: Place::After(ordinal) }) > at {
            break;
        }
        for inner in start..=row {
            book.apply(&chunk.event(inner, &mut scratch, previous), chunk.price_scale(), chunk.size_scale()).unwrap();
            previous = Some(chunk.mark(inner));
        }
        let _ = book.end_group();
        start = row + 1;
        applied = row + 1;
    }
    (book, applied)
}

pub fn opened(rows: Vec<Row>, rows_per_batch: usize, budget: usize) -> Harness {
    let mut harness = Harness::new(rows, rows_per_batch, budget);
    let state = harness.command(&Command::Open(Open::default())).unwrap();
    assert_eq!((state.status, state.error.as_ref()), (Status::Paused, None));
    harness
}

pub fn play_to_the_end(harness: &mut Harness) -> State {
    harness.command(&Command::Speed(Speed::Max)).unwrap();
    harness.command(&Command::Play).unwrap();
    harness.until("ended", |state| state.status == Status::Ended);
    *harness.state()
}

pub fn assert_book(state: &State, rows: &[Row], at: Moment) {
    let (digest, applied) = truth(rows, at);
    let book = state.book.as_ref().expect("a book");
    assert_eq!((book.event.as_str(), book.digest.as_str()), (applied.to_string().as_str(), digest.as_str()), "at {at}");
}

pub fn end(rows: &[Row]) -> Moment {
    Moment::end_of(UnixNanos(rows.last().unwrap().time))
}
