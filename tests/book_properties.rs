//! Any sequence of events: the book equals a naive rebuild after every group, can be taken back group by group, and goes on the
//! same after it went through bytes or got another scale. Seeds are fixed; a failure names its seed and group.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/naive_book.rs"]
mod naive_book;

use naive_book::{NaiveBook, NaiveLevel};
use tickscope::book::{Book, BookTrade, DepthSnapshot, Findings};
use tickscope::market::{BookKind, Change, DepthLevel, DepthRow, Event, Flags, OrderAction, OrderChange, Trade};
use tickscope::units::{Aggressor, Price, Scale, Side, Size, UnixNanos};

/// Xorshift: small, the same everywhere.
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound
    }

    fn of<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u64) as usize]
    }
}

fn order_event(random: &mut Random, time: i64, snapshot: bool) -> Event<'static> {
    let roll = random.below(1_000);
    let action = random.of(&[OrderAction::Add, OrderAction::Add, OrderAction::Cancel, OrderAction::Modify, OrderAction::Delete]);
    // Few ids and few prices, so that orders meet: duplicates, unknown ids, shared levels, negative and zero prices.
    let order = OrderChange {
        action: if snapshot { OrderAction::Add } else { action },
        side: if roll < 20 { None } else { Some(random.of(&[Side::Bid, Side::Ask])) },
        id: random.below(60),
        price: if (20..40).contains(&roll) { None } else { Some(Price(random.below(12) as i64 - 4)) },
        size: Size(random.below(7) as i64 - i64::from(random.below(30) == 0)),
    };
    let flags = match roll {
        40..60 => Flags::TOB,
        60..90 => Flags::MBP,
        90..100 => Flags::MAYBE_BAD_BOOK,
        _ => 0,
    };
    let trade = Trade { price: Price(1), size: Size(2), aggressor: Aggressor::Buy };
    let change = match roll {
        100..130 => Change::Trade(trade),
        130..150 => Change::Nothing,
        150..153 if !snapshot => Change::Clear,
        153..200 if !snapshot => Change::Executed { order: OrderChange { action: OrderAction::Cancel, ..order }, trade },
        _ => Change::Order(order),
    };
    let flags = Flags(if snapshot { flags | Flags::SNAPSHOT } else { flags });
    Event { time: UnixNanos(time), venue_time: None, sequence: None, flags, starts_book: false, change }
}

/// Everything there is to see of a book.
#[derive(Debug, PartialEq)]
struct Seen {
    sides: [Vec<NaiveLevel>; 2],
    digest: u64,
    findings: Findings,
    last_trade: Option<BookTrade>,
    stale: bool,
    partial_since: Option<UnixNanos>,
}

fn levels(book: &Book, side: Side) -> Vec<NaiveLevel> {
    let mut depth = DepthSnapshot::default();
    book.depth(usize::MAX, &mut depth);
    let levels = if side == Side::Bid { depth.bids } else { depth.asks };
    let mut orders = book.orders(side).peekable();
    let level = |level: &tickscope::book::BookLevel| {
        let queue = std::iter::from_fn(|| orders.next_if(|order| order.price == level.price)).map(|order| (order.id, order.size.0)).collect();
        (level.price.0, level.size, level.count, queue)
    };
    levels.iter().map(level).collect()
}

fn see(book: &Book) -> Seen {
    Seen {
        sides: [levels(book, Side::Bid), levels(book, Side::Ask)],
        digest: book.digest(),
        findings: book.findings(),
        last_trade: book.last_trade(),
        stale: book.stale(),
        partial_since: book.partial_since(),
    }
}

/// One event at a scale; depth rows are owned here.
struct Step {
    row: Option<DepthRow>,
    event: Event<'static>,
}

fn apply(book: &mut Book, step: &Step, scale: Scale) {
    let event = match (&step.row, step.event) {
        (None, event) => event,
        (Some(row), event) => {
            let trade = if event.sequence == Some(1) { Some(Trade { price: Price(3), size: Size(1), aggressor: Aggressor::None }) } else { None };
            Event { change: Change::Depth { row, trade }, ..event }
        }
    };
    book.apply(&event, scale, Scale(0)).unwrap();
}

fn depth_step(random: &mut Random, time: i64) -> Step {
    let mut side = |sign: i64| -> Vec<DepthLevel> {
        let count = random.below(4) as i64;
        let level = |at: i64| DepthLevel { price: Price(sign * (at + 1)), size: Size(1 + random.below(3) as i64), count: None };
        (0..count).map(level).collect()
    };
    let row = DepthRow { bids: side(-1), asks: side(1), capacity: random.of(&[1, 3]) };
    let flags = Flags(random.of(&[0, 0, 0, Flags::MAYBE_BAD_BOOK]));
    let sequence = Some(random.below(2) as i64);
    Step { row: Some(row), event: Event { time: UnixNanos(time), venue_time: None, sequence, flags, starts_book: false, change: Change::Nothing } }
}

fn groups(seed: u64, kind: BookKind) -> Vec<Vec<Step>> {
    let mut random = Random(seed);
    let mut time = 0;
    let mut group = |_| {
        // One group in forty is a snapshot, some after a clear and some without.
        let snapshot = kind == BookKind::L3 && random.below(40) == 0;
        let length = if snapshot { 8 } else { 1 + random.below(5) };
        let mut steps: Vec<Step> = Vec::new();
        for at in 0..length {
            time += 1;
            if kind != BookKind::L3 {
                steps.push(depth_step(&mut random, time));
                continue;
            }
            let mut event = order_event(&mut random, time, snapshot);
            event.starts_book = snapshot && at == 0;
            steps.push(Step { row: None, event });
        }
        steps
    };
    (0..300).map(&mut group).collect()
}

fn check(seed: u64, kind: BookKind) {
    let mut random = Random(seed ^ 0x5EED);
    let mut book = Book::new(kind);
    let mut naive = NaiveBook::default();
    // What was seen after each group that can still be taken back.
    let mut history: Vec<Seen> = vec![see(&book)];
    for (index, group) in groups(seed, kind).iter().enumerate() {
        let place = format!("{kind:?}, seed {seed}, group {index}");
        for step in group {
            apply(&mut book, step, Scale(0));
            naive.apply(&step.event);
        }
        let report = book.end_group();
        if kind == BookKind::L3 {
            for side in [Side::Bid, Side::Ask] {
                assert_eq!(levels(&book, side), naive.levels(side), "{place}, {side:?}");
            }
        }
        assert_eq!((report.crossed, report.locked), (book.crossed(), book.locked()), "{place}");
        let breaks = |step: &Step| step.event.starts_book || step.event.change == Change::Clear;
        if group.iter().any(breaks) {
            assert!(!book.undo_group(), "{place}: a clear or snapshot cannot be taken back");
            history.clear();
        }
        history.push(see(&book));
        if random.below(10) == 0 {
            let depth = random.below(20) as usize;
            let mut copy = book.clone();
            for want in history.iter().rev().skip(1).take(depth) {
                assert!(copy.undo_group(), "{place}");
                assert_eq!(&see(&copy), want, "{place}");
            }
            // Back and forward again is where it was, and the way on is the same.
            let undone = depth.min(history.len() - 1);
            for group in &groups(seed, kind)[index + 1 - undone..=index] {
                group.iter().for_each(|step| apply(&mut copy, step, Scale(0)));
                let _ = copy.end_group();
            }
            assert_eq!(see(&copy), see(&book), "{place}: back and forward");
            book = copy;
        }
        if random.below(25) == 0 {
            let mut bytes = Vec::new();
            book.encode(&mut bytes);
            let decoded = Book::decode(&bytes).unwrap();
            assert_eq!(see(&decoded), see(&book), "{place}: through bytes");
            assert_eq!(decoded.kind(), book.kind());
            book = decoded;
            assert!(!book.undo_group(), "{place}: a checkpoint has no past");
            history.clear();
            history.push(see(&book));
        }
    }
}

#[test]
fn an_order_book_equals_the_naive_one_after_every_group_and_can_be_taken_back() {
    (1..=60).for_each(|seed| check(seed, BookKind::L3));
}

#[test]
fn a_depth_book_can_be_taken_back() {
    (1..=20).for_each(|seed| check(seed, BookKind::L2));
}

#[test]
fn the_open_group_can_be_taken_back_too() {
    for seed in 1..=20 {
        let mut book = Book::new(BookKind::L3);
        for group in groups(seed, BookKind::L3) {
            let before = see(&book);
            group.iter().for_each(|step| apply(&mut book, step, Scale(0)));
            if book.undo_group() {
                assert_eq!(see(&book), before, "seed {seed}");
            }
            group.iter().for_each(|step| apply(&mut book, step, Scale(0)));
            let _ = book.end_group();
        }
    }
}

#[test]
fn the_scale_does_not_show_in_the_digest() {
    for (seed, kind) in [(1, BookKind::L3), (2, BookKind::L3), (3, BookKind::L2)] {
        let (mut plain, mut scaled) = (Book::new(kind), Book::new(kind));
        let mut random = Random(seed);
        let mut digits = 0;
        for group in groups(seed, kind) {
            // The scale of a feed only grows; the same values then have more zeros.
            digits = (digits + u8::from(random.below(50) == 0)).min(9);
            for step in &group {
                apply(&mut plain, step, Scale(0));
                scaled.rescale(Scale(digits), Scale(digits)).unwrap();
                apply(&mut scaled, step, Scale(0));
            }
            let _ = (plain.end_group(), scaled.end_group());
            assert_eq!((plain.digest(), plain.findings()), (scaled.digest(), scaled.findings()), "seed {seed}");
        }
        assert_eq!(scaled.price_scale(), Scale(digits));
        assert!(digits > 0);
    }
}

#[test]
fn every_cut_of_a_checkpoint_is_an_error_and_no_byte_makes_it_panic() {
    for kind in [BookKind::L3, BookKind::L2] {
        let mut book = Book::new(kind);
        for group in groups(7, kind).iter().take(60) {
            group.iter().for_each(|step| apply(&mut book, step, Scale(0)));
            let _ = book.end_group();
        }
        let mut bytes = Vec::new();
        book.encode(&mut bytes);
        for length in 0..bytes.len() {
            assert!(Book::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
        for at in 0..bytes.len() {
            for value in [0, 1, 0x7F, 0xFF] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                if let Ok(book) = Book::decode(&damaged) {
                    let _ = see(&book);
                }
            }
        }
    }
}
