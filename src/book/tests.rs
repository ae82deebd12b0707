//! One rule a test. A script is one event a line: `A bid 7 100 5` adds order 7 at 100 with size 5; C and M as well; `R` clears,
//! `T buy 100 5` is a trade, `N` is nothing; behind `!` stand flags. A book is written level by level, best first, with each
//! level's orders by priority.

use super::*;
use crate::market::{DepthLevel, DepthRow, Flags, OrderAction, Trade};
use crate::units::Aggressor;

fn event(line: &str, time: i64) -> Event<'static> {
    let (line, flags) = line.split_once('!').map_or((line, 0), |(line, flags)| (line, flags.trim().parse().unwrap()));
    let words: Vec<&str> = line.split_whitespace().collect();
    let number = |at: usize| words[at].parse::<i64>().unwrap();
    let action = match words[0] {
        "A" => Some(OrderAction::Add),
        "C" => Some(OrderAction::Cancel),
        "M" => Some(OrderAction::Modify),
        _ => None,
    };
    let change = match (words[0], action) {
        ("R", _) => Change::Clear,
        ("N", _) => Change::Nothing,
        ("T", _) => {
            let aggressor = if words[1] == "buy" { Aggressor::Buy } else { Aggressor::Sell };
            Change::Trade(Trade { price: Price(number(2)), size: Size(number(3)), aggressor })
        }
        (_, Some(action)) => Change::Order(OrderChange {
            action,
            side: match words[1] {
                "bid" => Some(Side::Bid),
                "ask" => Some(Side::Ask),
                _ => None,
            },
            id: number(2).unsigned_abs(),
            price: Some(words[3]).filter(|price| *price != "-").map(|_| Price(number(3))),
            size: Size(number(4)),
        }),
        _ => panic!("no event: {line}"),
    };
    Event { time: UnixNanos(time), venue_time: None, sequence: None, flags: Flags(flags), starts_book: words.contains(&"begins"), change }
}

fn apply(book: &mut Book, script: &str) {
    for (time, line) in (1..).zip(script.lines().map(str::trim).filter(|line| !line.is_empty())) {
        book.apply(&event(line, time), Scale(0), Scale(0)).unwrap();
    }
}

fn shown(book: &Book) -> String {
    let mut depth = DepthSnapshot::default();
    book.depth(100, &mut depth);
    let mut sides = Vec::new();
    for (side, levels) in [(Side::Bid, &depth.bids), (Side::Ask, &depth.asks)] {
        let orders: Vec<BookOrder> = book.orders(side).collect();
        let level = |level: &BookLevel| {
            let queue: Vec<String> =
                orders.iter().filter(|order| order.price == level.price).map(|order| format!("{}={}", order.id, order.size.0)).collect();
            let count = level.count.map_or("-".to_owned(), |count| count.to_string());
            format!("{}:{}/{count} [{}]", level.price.0, level.size, queue.join(" "))
        };
        sides.push(levels.iter().map(level).collect::<Vec<_>>().join(", "));
    }
    sides.join(" | ")
}

#[track_caller]
fn check(script: &str, expected: &str) -> Book {
    let mut book = Book::new(BookKind::L3);
    apply(&mut book, script);
    let _ = book.end_group();
    assert_eq!(shown(&book), expected);
    book
}

#[test]
fn an_add_joins_the_back_of_its_level() {
    check("A bid 1 100 5\nA bid 2 100 7\nA bid 3 101 1\nA ask 4 103 2", "101:1/1 [3=1], 100:12/2 [1=5 2=7] | 103:2/1 [4=2]");
}

#[test]
fn a_cancel_takes_off_its_size_and_removes_at_zero() {
    check("A bid 1 100 5\nA bid 2 100 7\nC bid 1 100 2", "100:10/2 [1=3 2=7] | ");
    check("A bid 1 100 5\nA bid 2 100 7\nC bid 1 100 5", "100:7/1 [2=7] | ");
    check("A bid 1 100 5\nC bid 1 100 9", " | ");
}

#[test]
fn a_modify_keeps_its_place_only_if_the_price_stays_and_the_size_does_not_grow() {
    let two = "A bid 1 100 5\nA bid 2 100 7\n";
    check(&format!("{two}M bid 1 100 4"), "100:11/2 [1=4 2=7] | ");
    check(&format!("{two}M bid 1 100 5"), "100:12/2 [1=5 2=7] | ");
    check(&format!("{two}M bid 1 100 6"), "100:13/2 [2=7 1=6] | ");
    check(&format!("{two}M bid 1 99 5"), "100:7/1 [2=7], 99:5/1 [1=5] | ");
    check(&format!("{two}M ask 1 101 5"), "100:7/1 [2=7] | 101:5/1 [1=5]");
    check(&format!("{two}M bid 1 100 0"), "100:7/1 [2=7] | ");
}

#[test]
fn trades_and_nothing_leave_the_book_alone() {
    let book = check("A ask 1 100 5\nT buy 100 3\nN", " | 100:5/1 [1=5]");
    let trade = BookTrade { price: Price(100), size: Size(3), aggressor: Aggressor::Buy, time: UnixNanos(2) };
    assert_eq!(book.last_trade(), Some(trade));
}

#[test]
fn a_clear_empties_the_book_and_makes_it_whole() {
    let book = check("A bid 1 100 5", "100:5/1 [1=5] | ");
    assert_eq!(book.partial_since(), Some(UnixNanos(1)));
    let book = check("A bid 1 100 5\nR\nA ask 2 101 1", " | 101:1/1 [2=1]");
    assert_eq!(book.partial_since(), None);
}

#[test]
fn a_snapshot_row_that_begins_a_book_forgets_what_was_there() {
    let book = check("A bid 1 100 5\nA bid 2 99 5 begins ! 40\nA bid 3 98 5 ! 40", "99:5/1 [2=5], 98:5/1 [3=5] | ");
    assert_eq!(book.partial_since(), None);
}

#[test]
fn a_snapshot_is_held_against_the_book_rebuilt_up_to_it() {
    let differs = |script: &str| {
        let mut book = Book::new(BookKind::L3);
        apply(&mut book, "R\nA bid 1 100 5\nA bid 2 100 7");
        let _ = book.end_group();
        apply(&mut book, script);
        let report = book.end_group();
        assert_eq!(u64::from(report.snapshot_differs), book.findings().snapshot_differs);
        report.snapshot_differs
    };
    // The queue is a hint: another order of the same orders is the same book.
    assert!(!differs("A bid 2 100 7 begins ! 32\nA bid 1 100 5 ! 160"));
    assert!(!differs("R ! 32\nA bid 1 100 5 ! 32\nA bid 2 100 7 ! 160"));
    assert!(differs("A bid 1 100 5 begins ! 32\nA bid 2 100 8 ! 160"));
    assert!(differs("R ! 32\nA bid 1 100 5 ! 160"));
    // A clear of a session is none.
    assert!(!differs("R\nA bid 9 1 1"));
}

#[test]
fn a_partial_book_is_not_held_against_a_snapshot() {
    let book = check("A bid 1 100 5\nA bid 2 99 5 begins ! 32", "99:5/1 [2=5] | ");
    assert_eq!(book.findings().snapshot_differs, 0);
}

#[test]
fn an_unknown_order_is_counted_and_a_modify_adds_it() {
    let book = check("R\nC bid 1 100 5\nM ask 2 101 3", " | 101:3/1 [2=3]");
    assert_eq!(book.findings().unknown_orders, 2);
}

#[test]
fn a_second_add_replaces_the_first() {
    let book = check("R\nA bid 1 100 5\nA bid 2 100 1\nA bid 1 100 6", "100:7/2 [2=1 1=6] | ");
    assert_eq!(book.findings().duplicate_orders, 1);
}

#[test]
fn an_order_that_lacks_something_is_counted_and_left_out() {
    let book = check("R\nA none 1 100 5\nA bid 2 - 5\nA bid 3 100 0", " | ");
    assert_eq!(book.findings().malformed_orders, 3);
    let book = check("R\nA bid 1 100 5\nC bid 1 100 -2\nM bid 1 100 -2", "100:5/1 [1=5] | ");
    assert_eq!(book.findings().malformed_orders, 2);
}

#[test]
fn a_top_of_book_record_replaces_its_side_and_without_a_price_empties_it() {
    let tob = "A bid 0 100 5 ! 64\nA ask 0 101 6 ! 64\nA bid 0 102 7 ! 64\n";
    check(tob, "102:7/- [0=7] | 101:6/- [0=6]");
    check(&format!("{tob}A ask 0 - 0 ! 64"), "102:7/- [0=7] | ");
}

#[test]
fn an_aggregated_record_replaces_its_level() {
    let levels = "A bid 0 100 5 ! 16\nA bid 0 99 6 ! 16\nM bid 0 100 8 ! 16\n";
    check(levels, "100:8/- [0=8], 99:6/- [0=6] | ");
    check(&format!("{levels}C bid 0 100 3 ! 16\nC bid 0 99 6 ! 16"), "100:5/- [0=5] | ");
    check(&format!("{levels}M bid 0 100 0 ! 16"), "99:6/- [0=6] | ");
}

#[test]
fn a_doubtful_row_makes_the_book_stale_until_a_clear() {
    let book = check("R\nA bid 1 100 5 ! 4\nA bid 2 100 5", "100:10/2 [1=5 2=5] | ");
    assert!(book.stale());
    assert_eq!(book.findings().maybe_bad, 1);
    assert!(!check("R\nA bid 1 100 5 ! 4\nR", " | ").stale());
}

#[test]
fn crossed_and_locked_are_told_apart_and_counted_by_group() {
    let mut book = Book::new(BookKind::L3);
    apply(&mut book, "R\nA bid 1 100 5\nA ask 2 100 5");
    let report = book.end_group();
    assert!(report.locked && !report.crossed);
    // Ending a group that did not begin counts nothing.
    let _ = book.end_group();
    apply(&mut book, "M bid 1 101 5");
    assert!(book.end_group().crossed);
    apply(&mut book, "C bid 1 101 5");
    assert_eq!(book.end_group(), GroupReport { top: book.best(), ..GroupReport::default() });
    assert_eq!((book.findings().crossed, book.findings().locked), (1, 1));
}

#[test]
fn negative_and_zero_prices_are_prices() {
    check("A bid 1 -5 1\nA bid 2 0 1\nA ask 3 -4 1\nA ask 4 7 1", "0:1/1 [2=1], -5:1/1 [1=1] | -4:1/1 [3=1], 7:1/1 [4=1]");
}

#[test]
fn a_level_may_hold_more_than_64_bits() {
    let book = check(
        "A bid 1 100 9223372036854775807\nA bid 2 100 9223372036854775807",
        "100:18446744073709551614/2 [1=9223372036854775807 2=9223372036854775807] | ",
    );
    assert_eq!(book.best().bid.unwrap().size, i128::from(i64::MAX) * 2);
}

fn row(bids: &[(i64, i64)], asks: &[(i64, i64)]) -> DepthRow {
    let level = |(price, size): &(i64, i64)| DepthLevel { price: Price(*price), size: Size(*size), count: None };
    DepthRow { bids: bids.iter().map(level).collect(), asks: asks.iter().map(level).collect(), capacity: 10 }
}

fn depth_event(row: &DepthRow, flags: u8) -> Event<'_> {
    let change = Change::Depth { row, trade: None };
    Event { time: UnixNanos(1), venue_time: None, sequence: None, flags: Flags(flags), starts_book: false, change }
}

#[test]
fn a_depth_row_replaces_the_book_and_is_whole() {
    let mut book = Book::new(BookKind::L2);
    book.apply(&depth_event(&row(&[(100, 5), (99, 6)], &[(101, 1)]), 4), Scale(0), Scale(0)).unwrap();
    assert_eq!((book.stale(), book.partial_since()), (true, None));
    book.apply(&depth_event(&row(&[(100, 4)], &[]), 0), Scale(0), Scale(0)).unwrap();
    assert_eq!((shown(&book).as_str(), book.stale()), ("100:4/- [] | ", false));
}

#[test]
fn a_book_refuses_events_of_another_kind() {
    let levels = row(&[], &[]);
    let mut orders = Book::new(BookKind::L3);
    assert_eq!(orders.apply(&depth_event(&levels, 0), Scale(0), Scale(0)), Err(BookError::WrongKind { book: BookKind::L3, event: "levels" }));
    let mut depth = Book::new(BookKind::L2);
    assert_eq!(depth.apply(&event("A bid 1 1 1", 1), Scale(0), Scale(0)), Err(BookError::WrongKind { book: BookKind::L2, event: "orders" }));
}

#[test]
fn scales_meet_exactly_or_not_at_all() {
    let mut book = Book::new(BookKind::L3);
    book.apply(&event("A bid 1 100 5", 1), Scale(0), Scale(0)).unwrap();
    // 100.5 at one digit: the book is lifted, and later events at no digit are.
    book.apply(&event("A ask 2 1005 50", 2), Scale(1), Scale(1)).unwrap();
    book.apply(&event("A bid 3 99 7", 3), Scale(0), Scale(0)).unwrap();
    assert_eq!(shown(&book), "1000:50/1 [1=50], 990:70/1 [3=70] | 1005:50/1 [2=50]");
    let too_large = event("A bid 4 9223372036854775807 1", 4);
    assert_eq!(book.apply(&too_large, Scale(0), Scale(0)), Err(BookError::TooLarge { value: i64::MAX, factor: 10 }));
    book.apply(&event("A bid 4 9223372036854775807 1", 4), Scale(1), Scale(0)).unwrap();
    assert!(matches!(book.rescale(Scale(2), Scale(1)), Err(BookError::TooLarge { .. })));
    assert_eq!(book.rescale(Scale(40), Scale(1)), Err(BookError::Scale { scale: 40 }));
}

/// The digest's bytes, written by hand from its definition.
fn digest_by_hand(parts: &[&[u8]]) -> u64 {
    xxhash_rust::xxh3::xxh3_64(&parts.concat())
}

fn number(mantissa: i128, exponent: i8) -> Vec<u8> {
    [mantissa.to_le_bytes().as_slice(), &exponent.to_le_bytes()].concat()
}

#[test]
fn the_digest_is_the_hash_of_its_definition() {
    let mut book = Book::new(BookKind::L3);
    // At two digits: 52.50 and 53, sizes 1.0 and 20.
    for (line, time) in [("A bid 7 5250 10", 1), ("A bid 8 5250 200", 2), ("A ask 9 5300 200", 3)] {
        book.apply(&event(line, time), Scale(2), Scale(1)).unwrap();
    }
    let by_hand = digest_by_hand(&[
        &[3],
        &number(525, -1),
        &number(21, 0),
        &2u32.to_le_bytes(),
        &7u64.to_le_bytes(),
        &number(1, 0),
        &8u64.to_le_bytes(),
        &number(2, 1),
        &[0xFF],
        &number(53, 0),
        &number(2, 1),
        &1u32.to_le_bytes(),
        &9u64.to_le_bytes(),
        &number(2, 1),
    ]);
    assert_eq!(book.digest(), by_hand);
    let mut book = Book::new(BookKind::L2);
    book.apply(&depth_event(&row(&[(0, 3)], &[]), 0), Scale(4), Scale(0)).unwrap();
    assert_eq!(book.digest(), digest_by_hand(&[&[2], &number(0, 0), &number(3, 0), &u32::MAX.to_le_bytes(), &[0xFF]]));
    assert_eq!(Book::new(BookKind::L1).digest(), digest_by_hand(&[&[1, 0xFF]]));
}

#[test]
fn the_journal_forgets_the_oldest_groups_first() {
    let mut book = Book::new(BookKind::L3);
    apply(&mut book, "R");
    let _ = book.end_group();
    let groups = 60_000u64;
    for id in 0..groups {
        apply(&mut book, &format!("A bid {id} {} 1", id % 7));
        let _ = book.end_group();
    }
    let mut undone = 0;
    while book.undo_group() {
        undone += 1;
    }
    assert!((1_000..groups).contains(&undone), "{undone}");
    assert_eq!(book.entries() as u64, groups - undone);
    assert!(book.memory_bytes() > JOURNAL_BYTES / 2);
}

#[test]
fn a_group_larger_than_the_journal_cannot_be_taken_back_but_the_next_one_can() {
    let mut book = Book::new(BookKind::L3);
    for id in 0..60_000 {
        apply(&mut book, &format!("A bid {id} {} 1", id % 7));
    }
    let _ = book.end_group();
    assert!(!book.undo_group());
    apply(&mut book, "C bid 5 5 1");
    let _ = book.end_group();
    assert!(book.undo_group());
    assert_eq!(book.entries(), 60_000);
}
