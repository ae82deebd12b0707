//! Books from real files, against rebuilds and feeds made by others.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/databento.rs"]
mod databento;
#[path = "support/play.rs"]
mod play;

use std::fmt::Write;
use std::path::Path;

use arrow_array::RecordBatch;
use databento::{data_file, declare, mbo, mbp1, mbp10};
use play::{play, select};
use sha2::{Digest, Sha256};
use tickscope::book::{Book, BookLevel, DepthSnapshot};
use tickscope::market::{Binding, BookKind, DepthRow};
use tickscope::units::{Price, Scale, Side};

const SUNDAY: &str = "databento/es-mbo/esh4-glbx-mdp3-20231224.mbo.dbn.zst";
const MONDAY: &str = "databento/es-mbo/esh4-glbx-mdp3-20231225.mbo.dbn.zst";
const EXPECTED: &str = "databento/expected/esh4-20231225.top10.every-500th-event.csv";

fn bind(batch: &RecordBatch) -> Binding {
    Binding::bind("t", &declare(batch), Some("ts_recv")).unwrap()
}

fn load(path: &Path) -> (Binding, Vec<RecordBatch>) {
    let batch = mbo(path, "ESH4");
    let binding = bind(&batch);
    // An odd number of rows, so that groups lie across batches.
    let batches = select(&batch, &binding, 4_999);
    (binding, batches)
}

fn levels(levels: &[BookLevel]) -> String {
    let texts: Vec<String> = levels.iter().map(|level| format!("{}:{}:{}", level.price.0, level.size, level.count.unwrap())).collect();
    texts.join(",")
}

/// `bid_px_00,bid_sz_00,bid_ct_00,ask_px_00…`; an empty level has no price and zeros.
fn flat_levels(depth: &DepthSnapshot) -> String {
    let mut out = Vec::new();
    for level in 0..10 {
        for side in [&depth.bids, &depth.asks] {
            out.push(side.get(level).map_or(",0,0".to_owned(), |l| format!("{},{},{}", l.price.0, l.size, l.count.unwrap())));
        }
    }
    out.join(",")
}

#[test]
fn the_book_of_the_es_day_is_right_after_every_event() {
    let Some(path) = data_file("the_book_of_the_es_day_is_right_after_every_event", MONDAY) else { return };
    let Some(expected) = data_file("the_book_of_the_es_day_is_right_after_every_event", EXPECTED) else { return };
    let expected = std::fs::read_to_string(expected).unwrap();
    let mut expected = expected.lines().skip(1).map(|line| line.splitn(6, ',').collect::<Vec<_>>()).peekable();
    let (binding, batches) = load(&path);
    let mut hash = Sha256::new();
    let mut depth = DepthSnapshot::default();
    let (mut events, mut compared, mut crossed, mut last_crossed) = (0, 0, 0, 0);
    let mut book = Book::new(binding.kind);
    let mut line = String::new();
    play(&binding, &batches, &mut book, |end| {
        if !end.chunk.mark(end.at).closes() {
            return;
        }
        events += 1;
        let mut scratch = DepthRow::default();
        let event = end.chunk.event(end.at, &mut scratch, None);
        end.book.depth(10, &mut depth);
        let (ts_event, sequence) = (event.venue_time.unwrap(), event.sequence.unwrap());
        line.clear();
        writeln!(line, "{}|{ts_event}|{sequence}|{}|{}", end.row, levels(&depth.bids), levels(&depth.asks)).unwrap();
        hash.update(&line);
        if end.book.crossed() {
            crossed += 1;
            last_crossed = end.row;
        }
        let record = end.row.to_string();
        if let Some(want) = expected.next_if(|want| want[0] == record) {
            assert_eq!(want[1..4], [event.time.to_string(), ts_event.to_string(), sequence.to_string()]);
            assert_eq!(want[4], end.book.entries().to_string(), "orders after record {record}");
            assert_eq!(want[5], flat_levels(&depth), "levels after record {record}");
            compared += 1;
        }
    });
    assert_eq!((events, compared, expected.next()), (47_022, 95, None));
    let hash: String = hash.finalize().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(hash, "c5d867700b993807597d2bacd536a70559274212bd727856efa95a512a3ba824");
    assert_eq!(book.entries(), 11_217);
    assert_eq!((book.level_count(Side::Bid), book.level_count(Side::Ask)), (922, 565));
    let top = book.best();
    assert_eq!((top.bid.unwrap().price, top.ask.unwrap().price), (Price(4_810_000_000_000), Price(4_810_250_000_000)));
    // Before the open, and at no time after.
    assert_eq!((crossed, last_crossed), (891, 9_649));
    let findings = book.findings();
    assert_eq!((findings.crossed, findings.unknown_orders, findings.duplicate_orders, findings.malformed_orders), (891, 0, 0, 0));
    assert_eq!((findings.snapshot_differs, book.partial_since(), book.stale()), (0, None, false));
}

#[test]
fn a_snapshot_without_a_clear_begins_a_new_book() {
    let name = "a_snapshot_without_a_clear_begins_a_new_book";
    let (Some(sunday), Some(monday)) = (data_file(name, SUNDAY), data_file(name, MONDAY)) else { return };
    let (binding, mut batches) = load(&sunday);
    let mut book = Book::new(BookKind::L3);
    play(&binding, &batches, &mut book, |_| {});
    let sunday_digest = book.digest();
    batches.extend(load(&monday).1);
    let mut digests = Vec::new();
    let mut book = Book::new(BookKind::L3);
    play(&binding, &batches, &mut book, |end| {
        if end.chunk.mark(end.at).snapshot {
            digests.push(end.book.digest());
        }
    });
    assert_eq!(digests, [sunday_digest, sunday_digest], "two snapshots, each one group, of the same orders");
    let top = book.best();
    assert_eq!((top.bid.unwrap().price, top.ask.unwrap().price), (Price(4_810_000_000_000), Price(4_810_250_000_000)));
    assert_eq!((book.level_count(Side::Bid), book.level_count(Side::Ask)), (922, 565));
    let findings = book.findings();
    assert_eq!((findings.duplicate_orders, findings.unknown_orders, findings.snapshot_differs), (0, 0, 0));
}

#[test]
fn every_group_of_the_es_day_can_be_undone_and_every_checkpoint_goes_on_the_same() {
    let name = "every_group_of_the_es_day_can_be_undone_and_every_checkpoint_goes_on_the_same";
    let Some(path) = data_file(name, MONDAY) else { return };
    let (binding, batches) = load(&path);
    let mut digests: Vec<u64> = Vec::new();
    let mut groups = 0;
    let mut book = Book::new(BookKind::L3);
    play(&binding, &batches, &mut book, |end| {
        groups += 1;
        // The digest walks the whole book, so only the last hundred of each two thousand groups are followed.
        match groups % 2_000 {
            0..1_900 => digests.clear(),
            _ => digests.push(end.book.digest()),
        }
        if groups % 2_000 == 1_999 {
            let mut copy = end.book.clone();
            let mut bytes = Vec::new();
            copy.encode(&mut bytes);
            assert_eq!(Book::decode(&bytes).unwrap().digest(), copy.digest());
            while let Some(digest) = digests.pop() {
                assert_eq!(copy.digest(), digest);
                assert!(copy.undo_group());
            }
            // From here on the replay runs on a book that went through bytes.
            *end.book = Book::decode(&bytes).unwrap();
        }
    });
    assert!(groups > 47_000);
    let mut whole = Book::new(BookKind::L3);
    play(&binding, &batches, &mut whole, |_| {});
    assert_eq!((book.digest(), book.findings(), book.last_trade()), (whole.digest(), whole.findings(), whole.last_trade()));
}

#[test]
fn orders_of_nasdaq_give_the_vendors_own_levels() {
    let name = "orders_of_nasdaq_give_the_vendors_own_levels";
    let files = ["mbo", "mbp-10", "mbp-1"].map(|schema| data_file(name, &format!("databento/xnas-nvda/test_data.{schema}.dbn.zst")));
    let [Some(orders), Some(levels), Some(top)] = files else { return };
    let (orders, levels, top) = (mbo(&orders, "NVDA"), mbp10(&levels, "NVDA"), mbp1(&top, "NVDA"));
    let books = |batch: &RecordBatch| {
        let binding = bind(batch);
        let mut book = Book::new(binding.kind);
        let mut seen = Vec::new();
        play(&binding, &select(batch, &binding, 3), &mut book, |end| {
            let mut depth = DepthSnapshot::default();
            end.book.depth(10, &mut depth);
            seen.push((end.chunk.mark(end.at).venue_time, depth));
        });
        (binding, seen)
    };
    let ((l3, from_orders), (l2, from_levels), (l1, from_top)) = (books(&orders), books(&levels), books(&top));
    assert_eq!((l3.name.as_str(), l2.name.as_str(), l1.name.as_str()), ("MBO", "MBP-10", "MBP-1"));
    assert_eq!((l3.kind, l2.kind, l1.kind), (BookKind::L3, BookKind::L2, BookKind::L1));
    assert_eq!(from_orders.len(), 4);
    assert_eq!(from_orders, from_levels);
    // The feed of the top holds the events that changed it, each with the same best levels.
    for (time, depth) in &from_top {
        if let Some((_, whole)) = from_orders.iter().find(|(other, _)| other == time) {
            assert_eq!((depth.bids.first(), depth.asks.first()), (whole.bids.first(), whole.asks.first()));
        }
    }
}

#[test]
fn a_trade_row_shows_the_book_before_the_trade() {
    let file = "databento/es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst";
    let Some(path) = data_file("a_trade_row_shows_the_book_before_the_trade", file) else { return };
    let batch = mbp1(&path, "ESU4");
    let binding = bind(&batch);
    let mut book = Book::new(binding.kind);
    let mut trades = Vec::new();
    let batches = select(&batch, &binding, 500);
    play(&binding, &batches, &mut book, |end| {
        if let Some(trade) = end.book.last_trade()
            && trades.last() != Some(&trade)
        {
            trades.push(trade);
        }
    });
    assert_eq!(book.kind(), BookKind::L1);
    assert_eq!(book.price_scale(), Scale(9));
    assert!(trades.len() > 60, "{} trades, several of which share a group", trades.len());
    let (mut rows, mut at_touch, mut before) = (0, 0, None);
    let mut feed = tickscope::market::Feed::new(&binding);
    let mut scratch = DepthRow::default();
    for batch in &batches {
        let chunk = feed.load(batch).unwrap();
        for row in 0..chunk.rows() {
            let tickscope::market::Change::Depth { row, trade } = chunk.event(row, &mut scratch, None).change else { panic!("levels") };
            let top = (row.bids[0], row.asks[0]);
            if let Some(trade) = trade {
                rows += 1;
                if let Some(before) = before {
                    assert_eq!(top, before, "the book before the trade is the book of the row before");
                }
                let touch = match trade.aggressor {
                    tickscope::units::Aggressor::Buy => top.1.price,
                    tickscope::units::Aggressor::Sell => top.0.price,
                    tickscope::units::Aggressor::None => panic!("each has a side"),
                };
                at_touch += usize::from(touch == trade.price);
            }
            before = Some(top);
        }
    }
    assert_eq!((rows, at_touch), (120, 120));
}
