//! Books from feeds that send one level at a time, through the binding that a user gets: against what exchanges say of their own books,
//! against a naive map, and back again. The rules are those of the feeds: a size is absolute, zero removes, a snapshot begins anew.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/captures.rs"]
mod captures;
#[path = "support/crc32.rs"]
mod crc32;
#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "support/data.rs"]
mod data;
#[path = "support/play.rs"]
mod play;

use std::collections::{BTreeMap, HashMap};
use std::path::PathBuf;

use captures::{Message, table};
use crc32::crc32;
use play::{play, select};
use tickscope::book::{Book, BookLevel, DepthSnapshot};
use tickscope::market::{BookKind, Change, Event, Flags, LevelChange};
use tickscope::units::{Decimal, Price, Scale, Side, Size, UnixNanos};

fn data_file(test: &str, name: &str) -> Option<PathBuf> {
    let path = data::data_dir().map(|dir| dir.join(name)).filter(|path| path.exists());
    if path.is_none() {
        data::skipped(test, &format!("{name} is not there (set TICKSCOPE_DATA)"));
    }
    path
}

/// Plays the messages of one instrument; `check` looks at the book behind each.
fn replay(messages: &[Message], mut check: impl FnMut(&Message, &mut Book)) -> Book {
    let (binding, batch) = table(messages);
    assert_eq!((binding.name.as_str(), binding.kind), ("Level changes", BookKind::L2));
    let mut book = Book::new(binding.kind);
    let mut at = 0;
    // An odd number of rows, so that messages lie across batches.
    play(&binding, &select(&batch, &binding, 97), &mut book, |end| {
        check(&messages[at], end.book);
        at += 1;
    });
    assert_eq!(at, messages.len(), "each message is one event group");
    assert_eq!((book.partial_since(), book.findings().malformed_orders), (None, 0));
    book
}

fn depth(book: &Book, levels: usize) -> DepthSnapshot {
    let mut out = DepthSnapshot::default();
    book.depth(levels, &mut out);
    out
}

#[test]
fn kraken_books_have_the_checksum_of_every_update() {
    let name = "kraken_books_have_the_checksum_of_every_update";
    let Some(path) = data_file(name, "crypto-captures/KRAKEN.ws.50.0") else { return };
    let (mut compared, mut snapshots) = (0, 0);
    for (pair, messages) in captures::kraken(&path) {
        replay(&messages, |message, book| {
            let Some(checksum) = message.checksum else {
                snapshots += 1;
                return;
            };
            let top = depth(book, 10);
            // An exchange writes all prices of a pair with the same digits, so without point and leading zeros they are the integers.
            let text = |level: &BookLevel| format!("{}{}", level.price.0, level.size);
            let all: String = top.asks.iter().chain(&top.bids).map(text).collect();
            assert_eq!(i64::from(crc32(all.as_bytes())), checksum, "{pair}");
            compared += 1;
        });
    }
    assert_eq!((snapshots, compared), (10, 4_269));
}

#[test]
fn bitget_books_have_the_checksum_of_every_message() {
    let name = "bitget_books_have_the_checksum_of_every_message";
    let Some(path) = data_file(name, "crypto-captures/BITGET.ws.1.0") else { return };
    let mut compared = 0;
    for (pair, messages) in captures::bitget(&path) {
        // The checksum is of the texts as they were sent.
        let mut sent: HashMap<(Side, Decimal), (String, String)> = HashMap::new();
        replay(&messages, |message, book| {
            for row in &message.rows {
                let side = if row.side == "bid" { Side::Bid } else { Side::Ask };
                sent.insert((side, Decimal::parse(&row.price).unwrap()), (row.price.clone(), row.size.clone()));
            }
            let top = depth(book, 25);
            let text = |side: Side, level: Option<&BookLevel>| {
                let level = level?;
                let (price, size) = &sent[&(side, Decimal::new(i128::from(level.price.0), book.price_scale()))];
                assert_eq!(Decimal::parse(size).unwrap(), Decimal::new(level.size, book.size_scale()), "{pair}");
                Some(format!("{price}:{size}"))
            };
            let pairs = (0..25).flat_map(|at| [text(Side::Bid, top.bids.get(at)), text(Side::Ask, top.asks.get(at))]);
            let all = pairs.flatten().collect::<Vec<_>>().join(":");
            assert_eq!(i64::from(crc32(all.as_bytes()).cast_signed()), message.checksum.unwrap(), "{pair}");
            compared += 1;
        });
    }
    assert_eq!(compared, 443);
}

#[test]
fn binance_books_have_the_best_prices_of_the_ticker_after_every_difference() {
    let name = "binance_books_have_the_best_prices_of_the_ticker_after_every_difference";
    for (file, futures, expected) in [("binance/spot-btcusdt_20240808.gz", false, 3_449), ("binance/usdm-btcusdt_20240808.gz", true, 6_547)] {
        let Some(path) = data_file(name, file) else { return };
        let (messages, tops) = captures::binance(&path, futures);
        let mut compared = 0;
        replay(&messages[..], |message, book| {
            // A difference that ends where the ticker had nothing yet has nothing to be held against.
            let Some((_, ticker)) = tops.range(..=message.last_update).next_back() else { return };
            if message.rows.first().is_some_and(|row| row.snapshot) {
                return;
            }
            let best = book.best();
            let (bid, ask) = (best.bid.unwrap(), best.ask.unwrap());
            let (prices, sizes) = (book.price_scale(), book.size_scale());
            let found = [
                Decimal::new(bid.price.0.into(), prices),
                Decimal::new(bid.size, sizes),
                Decimal::new(ask.price.0.into(), prices),
                Decimal::new(ask.size, sizes),
            ];
            assert_eq!(found, ticker.clone().map(|text| Decimal::parse(&text).unwrap()), "{file}, update {}", message.last_update);
            compared += 1;
        });
        assert_eq!(compared, expected, "{file}");
    }
}

/// Xorshift: small, the same everywhere.
struct Random(u64);

impl Random {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }
}

/// Few prices, so that levels meet: removals of what is not there, sizes of zero and below, rows that lack something, snapshots.
fn group(random: &mut Random, time: i64) -> Vec<Event<'static>> {
    let snapshot = random.below(30) == 0;
    (0..1 + random.below(6))
        .map(|at| {
            let roll = random.below(200);
            let change = Change::Level(LevelChange {
                side: (roll != 0).then_some(if roll.is_multiple_of(2) { Side::Bid } else { Side::Ask }),
                price: (roll != 1).then_some(Price(random.below(12) as i64 - 4)),
                size: match roll {
                    2 => None,
                    3 => Some(Size(-1)),
                    _ => Some(Size(random.below(5) as i64)),
                },
            });
            let change = if roll == 199 { Change::Clear } else { change };
            Event { time: UnixNanos(time), venue_time: None, sequence: None, flags: Flags(0), starts_book: snapshot && at == 0, change }
        })
        .collect()
}

/// The levels of both sides by price, and how many rows said nothing that can be done.
#[derive(Debug, Clone, Default, PartialEq)]
struct Naive([BTreeMap<i64, i128>; 2], u64);

impl Naive {
    fn apply(&mut self, event: &Event<'_>) {
        if event.starts_book || event.change == Change::Clear {
            self.0 = Default::default();
        }
        match event.change {
            Change::Level(LevelChange { side: Some(side), price: Some(price), size: Some(Size(size @ 0..)) }) => {
                let levels = &mut self.0[usize::from(side == Side::Ask)];
                levels.remove(&price.0);
                if size > 0 {
                    levels.insert(price.0, i128::from(size));
                }
            }
            Change::Level(_) => self.1 += 1,
            _ => {}
        }
    }

    fn of(book: &Book) -> Naive {
        let top = depth(book, usize::MAX);
        assert!(top.bids.is_sorted_by(|one, other| one.price > other.price) && top.asks.is_sorted_by(|one, other| one.price < other.price));
        let side = |levels: &[BookLevel]| levels.iter().map(|level| (level.price.0, level.size)).collect();
        Naive([side(&top.bids), side(&top.asks)], book.findings().malformed_orders)
    }
}

#[test]
fn a_book_of_level_changes_equals_a_naive_map_and_can_be_taken_back() {
    for seed in 1..=60 {
        let (mut random, mut book, mut naive) = (Random(seed), Book::new(BookKind::L2), Naive::default());
        let mut before = vec![(naive.clone(), book.digest())];
        for time in 1..300 {
            for event in group(&mut random, time) {
                book.apply(&event, Scale(0), Scale(0)).unwrap();
                naive.apply(&event);
            }
            let _ = book.end_group();
            assert_eq!(Naive::of(&book), naive, "seed {seed}, group {time}");
            before.push((naive.clone(), book.digest()));
            if random.below(10) == 0 {
                let mut copy = book.clone();
                for (naive, digest) in before.iter().rev().skip(1).take(random.below(20) as usize) {
                    assert!(copy.undo_group(), "a snapshot can be taken back too");
                    assert_eq!((&Naive::of(&copy), copy.digest()), (naive, *digest), "seed {seed}, back from group {time}");
                }
            }
            if random.below(25) == 0 {
                let mut bytes = Vec::new();
                book.encode(&mut bytes);
                let decoded = Book::decode(&bytes).unwrap();
                assert_eq!((decoded.digest(), decoded.partial_since()), (book.digest(), book.partial_since()));
                book = decoded;
                before = vec![(naive.clone(), book.digest())];
            }
        }
    }
}

#[test]
fn without_a_snapshot_a_book_of_changes_is_partial_until_one_comes() {
    let mut book = Book::new(BookKind::L2);
    let event = |time: i64, starts_book: bool, price: i64, size: i64| {
        let change = Change::Level(LevelChange { side: Some(Side::Bid), price: Some(Price(price)), size: Some(Size(size)) });
        Event { time: UnixNanos(time), venue_time: None, sequence: None, flags: Flags(0), starts_book, change }
    };
    let mut apply = |event: Event<'_>| {
        book.apply(&event, Scale(0), Scale(0)).unwrap();
        let report = book.end_group();
        (book.partial_since(), report.snapshot_differs, book.level_count(Side::Bid))
    };
    assert_eq!(apply(event(7, false, 10, 1)), (Some(UnixNanos(7)), false, 1));
    assert_eq!(apply(event(8, false, 9, 0)), (Some(UnixNanos(7)), false, 1));
    assert_eq!(apply(event(9, true, 11, 2)), (None, false, 1), "a partial book is not held against a snapshot");
    assert_eq!(apply(event(10, true, 11, 2)), (None, false, 1), "the same levels again");
    assert_eq!(apply(event(11, true, 11, 3)), (None, true, 1), "a snapshot that differs from the rebuilt book is a finding");
}

#[test]
fn an_order_is_no_event_of_a_book_of_levels_and_a_level_none_of_a_book_of_orders() {
    let level = Change::Level(LevelChange { side: Some(Side::Bid), price: Some(Price(1)), size: Some(Size(1)) });
    let event = Event { time: UnixNanos(1), venue_time: None, sequence: None, flags: Flags(0), starts_book: false, change: level };
    let error = Book::new(BookKind::L3).apply(&event, Scale(0), Scale(0)).unwrap_err();
    assert_eq!(error.to_string(), "an event with levels cannot change an L3 book");
    let mut book = Book::new(BookKind::L1);
    book.apply(&Event { change: Change::Close(Price(5)), ..event }, Scale(0), Scale(0)).unwrap();
    let _ = book.end_group();
    assert_eq!((book.last_trade().map(|trade| trade.price), book.partial_since(), book.entries()), (Some(Price(5)), None, 0));
}
