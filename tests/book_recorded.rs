//! Books from what a live QuestDB server sent: through the wire's decoder and Arrow, against the files that its tables were made of.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/crc32.rs"]
mod crc32;
#[path = "support/databento.rs"]
mod databento;
#[path = "support/play.rs"]
mod play;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{Array, RecordBatch};
use databento::{data_file, declare, mbo, mbp1, mbp10, session};
use play::{play, select};
use tickscope::book::{Book, DepthSnapshot};
use tickscope::columnar::Assembler;
use tickscope::market::{Binding, BookKind, Change, Chunk, ColumnDecl, DepthRow, Feed, Trade};
use tickscope::units::{Aggressor, Decimal, Price, Scale, Side, UnixNanos};
use tickscope::wire::{ClientMessage, Decoder, DecoderLimits, ServerMessage};

fn gunzip(path: &Path) -> Vec<u8> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    bytes
}

/// What each query of a session gave: its columns as the server names their types, and its batches.
fn results(folder: &Path) -> BTreeMap<i64, (Vec<ColumnDecl>, Vec<RecordBatch>)> {
    let expected: serde_json::Value = serde_json::from_slice(&gunzip(&folder.join("expected.json.gz"))).unwrap();
    let mut results = BTreeMap::new();
    for (id, query) in expected["queries"].as_object().unwrap() {
        let column = |pair: &serde_json::Value| ColumnDecl { name: pair[0].as_str().unwrap().into(), kind: pair[1].as_str().unwrap().into() };
        let columns = query["columns"].as_array().unwrap().iter().map(column).collect();
        results.insert(id.parse().unwrap(), (columns, Vec::new()));
    }
    let (mut decoder, mut assembler) = (Decoder::new(DecoderLimits::default()), Assembler::new());
    let frames = gunzip(&folder.join("frames.bin.gz"));
    let mut rest = frames.as_slice();
    while let [kind, length @ ..] = rest {
        let length_bytes = length.first_chunk::<4>().unwrap();
        let (payload, behind) = length[4..].split_at(u32::from_le_bytes(*length_bytes) as usize);
        rest = behind;
        match kind {
            0x20 => {
                if let ClientMessage::Query(query) = ClientMessage::decode(payload).unwrap() {
                    decoder.begin(query.request_id, None).unwrap();
                }
            }
            0x21 => {
                if let ServerMessage::Batch(batch) = decoder.message(payload).unwrap() {
                    let id = batch.request_id;
                    let batch = assembler.assemble(batch, decoder.dictionary()).unwrap();
                    results.get_mut(&id).unwrap().1.push(batch);
                }
            }
            _ => {}
        }
    }
    results
}

/// A book after its groups: venue time and digest. The digest of an order book walks every order, so only each twentieth group's.
fn history(binding: &Binding, batches: &[RecordBatch]) -> (Book, Vec<(Option<UnixNanos>, u64)>) {
    let mut book = Book::new(binding.kind);
    let every = if binding.kind == BookKind::L3 { 20 } else { 1 };
    let (mut seen, mut groups) = (Vec::new(), 0);
    play(binding, batches, &mut book, |end| {
        groups += 1;
        if groups % every == 0 {
            seen.push((end.chunk.mark(end.at).venue_time, end.book.digest()));
        }
    });
    (book, seen)
}

/// What `SELECT` of the binding's columns would have given.
fn selected(binding: &Binding, batches: &[RecordBatch]) -> Vec<RecordBatch> {
    batches.iter().flat_map(|batch| select(batch, binding, batch.num_rows().max(1))).collect()
}

#[test]
fn arrays_of_a_live_server_give_the_same_books_as_the_flat_file() {
    let name = "arrays_of_a_live_server_give_the_same_books_as_the_flat_file";
    let top_file = "databento/es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst";
    let files = [top_file, "databento/xnas-nvda/test_data.mbp-10.dbn.zst", "databento/glbx-esh1/test_data.mbp-10.dbn.zst"];
    let [Some(top), Some(nvda), Some(esh1)] = files.map(|file| data_file(name, file)) else { return };
    let (Some(top_session), Some(deep_session)) = (session(name, "es-mbp1-raw"), session(name, "mbp10-books")) else { return };
    for (folder, id, file, rows, depth) in [
        (&top_session, 1, mbp1(&top, "ESU4"), 2_288, 1),
        (&deep_session, 1, mbp10(&nvda, "NVDA"), 4, 10),
        (&deep_session, 2, mbp10(&esh1, "ESH1"), 4, 10),
    ] {
        let (columns, batches) = results(folder).remove(&id).unwrap();
        let mut arrays = Binding::bind("t", &columns, Some("ts_recv")).unwrap();
        let flat = Binding::bind("t", &declare(&file), Some("ts_recv")).unwrap();
        let (from_arrays, seen) = history(&arrays, &selected(&arrays, &batches));
        let (from_flat, expected) = history(&flat, &select(&file, &flat, 700));
        assert_eq!(batches.iter().map(RecordBatch::num_rows).sum::<usize>(), rows);
        assert_eq!(seen, expected, "the same digests, whatever the form of the columns");
        assert_eq!(from_arrays.kind(), from_flat.kind());
        arrays.set_depth(depth);
        assert_eq!((arrays.kind, arrays.name), (flat.kind, format!("MBP-{depth} (arrays)")));
        let trade = |book: &Book| {
            let value = |mantissa: i64, scale: Scale| tickscope::units::Decimal::new(i128::from(mantissa), scale);
            let price = |trade: tickscope::book::BookTrade| value(trade.price.0, book.price_scale());
            book.last_trade().map(|trade| (price(trade), value(trade.size.0, book.size_scale()), trade.aggressor, trade.time))
        };
        assert_eq!(trade(&from_arrays), trade(&from_flat));
        assert!(from_arrays.price_scale() < Scale(9), "DOUBLE prices take as many digits as they need");
    }
}

#[test]
fn orders_with_double_prices_give_the_same_books_as_the_file() {
    let name = "orders_with_double_prices_give_the_same_books_as_the_file";
    let Some(path) = data_file(name, "databento/es-mbo/esh4-glbx-mdp3-20231225.mbo.dbn.zst") else { return };
    let Some(folder) = session(name, "es-mbo-zstd") else { return };
    let (columns, batches) = results(&folder).remove(&1).unwrap();
    let binding = Binding::bind("es_mbo", &columns, Some("ts_recv")).unwrap();
    assert_eq!(binding.kind, BookKind::L3);
    let batches = selected(&binding, &batches);
    let file = mbo(&path, "ESH4").slice(8_700, 20_000);
    let file_binding = Binding::bind("es_mbo", &declare(&file), Some("ts_recv")).unwrap();
    let (wire, seen) = history(&binding, &batches);
    let (decimal, expected) = history(&file_binding, &select(&file, &file_binding, 3_000));
    assert_eq!(seen, expected);
    assert_eq!((wire.findings(), wire.price_scale(), decimal.price_scale()), (decimal.findings(), Scale(2), Scale(9)));
    // The range begins inside the snapshot, so orders from before it are missing: that is counted, not hidden.
    assert!(wire.findings().unknown_orders > 0);
}

#[test]
fn levels_without_flags_or_actions_are_a_book_too() {
    let name = "levels_without_flags_or_actions_are_a_book_too";
    let (Some(lobster), Some(deep)) = (session(name, "lobster"), session(name, "mbp10-books")) else { return };
    let (columns, batches) = results(&lobster).remove(&2).unwrap();
    let binding = Binding::bind("aapl_book", &columns, Some("ts")).unwrap();
    let (book, seen) = history(&binding, &selected(&binding, &batches));
    assert_eq!(seen.len(), batches.iter().map(RecordBatch::num_rows).sum::<usize>());
    let mut depth = DepthSnapshot::default();
    book.depth(1, &mut depth);
    assert_eq!((depth.price_scale, depth.bids[0].price.0, depth.bids[0].size, depth.bids[0].count), (Scale(2), 58_547, 100, None));
    assert_eq!((depth.asks[0].price.0, depth.asks[0].size), (58_565, 18));
    assert!(!book.crossed() && book.partial_since().is_none());
    // Prices kept as 1e-9 integers in doubles are what they say.
    let (columns, batches) = results(&deep).remove(&3).unwrap();
    let binding = Binding::bind("es_top10", &columns, Some("ts_event")).unwrap();
    let (book, seen) = history(&binding, &selected(&binding, &batches));
    assert_eq!((seen.len(), book.best().bid.unwrap().price.0), (95, 4_810_000_000_000));
}

/// The table that a query gave, bound and read as one chunk a batch, with the batches as they came.
fn read(folder: &Path, id: i64, time: &str) -> (Binding, Vec<(Chunk, RecordBatch)>) {
    let (columns, batches) = results(folder).remove(&id).unwrap();
    let binding = Binding::bind("t", &columns, Some(time)).unwrap();
    let mut feed = Feed::new(&binding);
    let chunks = selected(&binding, &batches).iter().map(|batch| feed.load(batch).unwrap()).zip(batches).collect();
    (binding, chunks)
}

fn text(batch: &RecordBatch, column: &str, row: usize) -> String {
    let array = batch.column_by_name(column).unwrap();
    match array.as_dictionary_opt::<UInt32Type>() {
        Some(symbols) => symbols.values().as_string::<i32>().value(symbols.key(row).unwrap()).to_owned(),
        None => array.as_string::<i32>().value(row).to_owned(),
    }
}

#[test]
fn level_changes_of_a_live_server_give_the_checksums_of_the_exchange() {
    let name = "level_changes_of_a_live_server_give_the_checksums_of_the_exchange";
    let Some(folder) = session(name, "kraken-l2") else { return };
    let (binding, chunks) = read(&folder, 1, "ts");
    assert_eq!((binding.name.as_str(), binding.symbol.as_deref()), ("Level changes", Some("symbol")));
    let rows = || chunks.iter().flat_map(|(chunk, batch)| (0..chunk.rows()).map(move |row| (chunk, batch, row)));
    let pairs: std::collections::BTreeSet<String> = rows().map(|(_, batch, row)| text(batch, "symbol", row)).collect();
    let (mut compared, mut scratch) = (0, DepthRow::default());
    for pair in &pairs {
        let mine: Vec<_> = rows().filter(|(_, batch, row)| text(batch, "symbol", *row) == *pair).collect();
        let digits = |column: &str| {
            let fraction = |text: String| text.split_once('.').map_or(0, |(_, fraction)| fraction.len() as u8);
            Scale(mine.iter().map(|(_, batch, row)| fraction(text(batch, column, *row))).max().unwrap())
        };
        let (price_digits, size_digits) = (digits("price_text"), digits("size_text"));
        let (mut book, mut previous) = (Book::new(binding.kind), None);
        for (at, (chunk, batch, row)) in mine.iter().enumerate() {
            let mark = chunk.mark(*row);
            book.apply(&chunk.event(*row, &mut scratch, previous), chunk.price_scale(), chunk.size_scale()).unwrap();
            previous = Some(mark);
            if mine.get(at + 1).is_some_and(|(chunk, _, row)| !mark.splits(chunk.mark(*row))) {
                continue;
            }
            let _ = book.end_group();
            let checksums = batch.column_by_name("checksum").unwrap().as_primitive::<Int64Type>();
            if checksums.is_null(*row) {
                continue;
            }
            let mut top = DepthSnapshot::default();
            book.depth(10, &mut top);
            let plain = |value: i128, scale: Scale, digits: Scale| Decimal::new(value, scale).at_scale(digits).unwrap();
            let level = |level: &tickscope::book::BookLevel| {
                format!("{}{}", plain(level.price.0.into(), top.price_scale, price_digits), plain(level.size, top.size_scale, size_digits))
            };
            let all: String = top.asks.iter().chain(&top.bids).map(level).collect();
            assert_eq!(i64::from(crc32::crc32(all.as_bytes())), checksums.value(*row), "{pair}, event {at}");
            compared += 1;
        }
        assert_eq!(book.partial_since(), None);
    }
    assert_eq!((pairs.len(), compared), (10, 4_269));
}

/// What the orders at a price come to, as a side of the book shows it.
fn size_at(book: &Book, side: Side, price: Price) -> i128 {
    let mut depth = DepthSnapshot::default();
    book.depth(usize::MAX, &mut depth);
    let levels = if side == Side::Bid { &depth.bids } else { &depth.asks };
    levels.iter().find(|level| level.price == price).map_or(0, |level| level.size)
}

#[test]
fn lobster_messages_do_to_a_level_what_the_companion_book_shows() {
    let name = "lobster_messages_do_to_a_level_what_the_companion_book_shows";
    let Some(folder) = session(name, "lobster") else { return };
    let (binding, messages) = read(&folder, 1, "ts");
    let (levels, books) = read(&folder, 2, "ts");
    assert_eq!((binding.name.as_str(), binding.kind, levels.kind), ("LOBSTER messages", BookKind::L3, BookKind::L2));
    let [(messages, _)] = &messages[..] else { panic!("one batch") };
    let [(books, _)] = &books[..] else { panic!("one batch") };
    let (mut orders, mut truth) = (Book::new(binding.kind), Book::new(levels.kind));
    let (mut scratch, mut shown) = (DepthRow::default(), DepthRow::default());
    let (mut compared, mut unknown, mut trades, mut below) = (0, 0, 0, 0);
    for row in 0..600 {
        let event = messages.event(row, &mut scratch, None);
        let change = match event.change {
            Change::Order(order) | Change::Executed { order, .. } => Some((order.side.unwrap(), order.price.unwrap())),
            Change::Trade(_) => None,
            other => panic!("row {row}: {other:?}"),
        };
        trades += u32::from(messages.trade(row).is_some());
        // The book's prices are whole cents; those of the messages are ten-thousandths.
        let cents = |price: Price| Price(price.0 / 100);
        let seen = |orders: &Book, truth: &Book| change.map(|(side, price)| (size_at(orders, side, price), size_at(truth, side, cents(price))));
        let (before, unknown_before) = (seen(&orders, &truth), orders.findings().unknown_orders);
        orders.apply(&event, messages.price_scale(), messages.size_scale()).unwrap();
        let _ = orders.end_group();
        let edge = |truth: &Book, side: Side| {
            let mut depth = DepthSnapshot::default();
            truth.depth(usize::MAX, &mut depth);
            if side == Side::Bid { depth.bids.last().map(|level| level.price) } else { depth.asks.last().map(|level| level.price) }
        };
        let inside = |truth: &Book| {
            change.is_none_or(|(side, price)| {
                edge(truth, side).is_some_and(|edge| if side == Side::Bid { cents(price) > edge } else { cents(price) < edge })
            })
        };
        let was_inside = inside(&truth);
        truth.apply(&books.event(row, &mut shown, None), books.price_scale(), books.size_scale()).unwrap();
        let _ = truth.end_group();
        if row == 0 {
            continue;
        }
        if orders.findings().unknown_orders > unknown_before {
            unknown += 1;
            continue;
        }
        // Beyond the ten levels nothing is known.
        if !was_inside || !inside(&truth) {
            below += 1;
            continue;
        }
        let gained = |before: Option<(i128, i128)>, after: Option<(i128, i128)>| before.zip(after).map(|(b, a)| (a.0 - b.0, a.1 - b.1));
        if let Some((ours, theirs)) = gained(before, seen(&orders, &truth)) {
            assert_eq!(ours, theirs, "row {row}");
        }
        compared += 1;
    }
    // 287 new, 206 deleted, 71 executed and 36 hidden ones; the day began before the file, so some orders are not known.
    assert_eq!((trades, orders.findings().unknown_orders, orders.findings().duplicate_orders), (71 + 36, unknown, 0));
    assert_eq!((compared, unknown, below), (585, 9, 5), "of 599");
    assert!(orders.partial_since().is_some());
}

#[test]
fn trades_of_a_live_server_are_its_rows() {
    let name = "trades_of_a_live_server_are_its_rows";
    let (Some(btc), Some(es), Some(top)) = (session(name, "btc-trades-raw"), session(name, "es-trades"), session(name, "es-mbp1-raw")) else {
        return;
    };
    let (binding, chunks) = read(&btc, 1, "ts");
    assert_eq!((binding.name.as_str(), binding.roles["buyer_is_maker"].as_str()), ("Trades", "buyer_maker"));
    let mut rows = 0;
    for (chunk, batch) in &chunks {
        let doubles = |column: &str| batch.column_by_name(column).unwrap().as_primitive::<Float64Type>().clone();
        let (prices, sizes, maker) = (doubles("price"), doubles("size"), batch.column_by_name("buyer_maker").unwrap().as_boolean());
        for row in 0..chunk.rows() {
            let Trade { price, size, aggressor } = chunk.trade(row).unwrap();
            let shortest = |double: f64| Decimal::parse(&double.to_string()).unwrap();
            assert_eq!(Decimal::new(price.0.into(), chunk.price_scale()), shortest(prices.value(row)));
            assert_eq!(Decimal::new(size.0.into(), chunk.size_scale()), shortest(sizes.value(row)));
            assert_eq!(aggressor, if maker.value(row) { Aggressor::Sell } else { Aggressor::Buy });
            rows += 1;
        }
    }
    assert_eq!(rows, 4_000);
    // The trades that a table of quotes carries are those of the table of trades.
    let trades = |folder: &Path| {
        let (binding, chunks) = read(folder, 1, "ts_recv");
        let value = |mantissa: i64, scale: Scale| Decimal::new(mantissa.into(), scale);
        let trade = |chunk: &Chunk, row: usize| {
            let trade = chunk.trade(row)?;
            Some((chunk.time(row), value(trade.price.0, chunk.price_scale()), value(trade.size.0, chunk.size_scale()), trade.aggressor))
        };
        let all: Vec<_> = chunks.iter().flat_map(|(chunk, _)| (0..chunk.rows()).filter_map(|row| trade(chunk, row)).collect::<Vec<_>>()).collect();
        (binding.holds.name(), all)
    };
    let ((alone, few), (beside, all)) = (trades(&es), trades(&top));
    assert_eq!((alone, beside, few.len()), ("trades", "book", 120));
    assert_eq!(few, all);
}

#[test]
fn quotes_of_a_live_server_are_the_book_after_each_row() {
    let name = "quotes_of_a_live_server_are_the_book_after_each_row";
    let Some(folder) = session(name, "btc-bbo") else { return };
    let (binding, chunks) = read(&folder, 1, "ts");
    assert_eq!((binding.name.as_str(), binding.kind), ("Quotes", BookKind::L1));
    let (mut book, mut scratch, mut rows) = (Book::new(binding.kind), DepthRow::default(), 0);
    for (chunk, batch) in &chunks {
        let doubles = |column: &str| batch.column_by_name(column).unwrap().as_primitive::<Float64Type>().clone();
        let columns = ["bid_px", "bid_sz", "ask_px", "ask_sz"].map(doubles);
        for row in 0..chunk.rows() {
            assert!(chunk.mark(row).closes());
            book.apply(&chunk.event(row, &mut scratch, None), chunk.price_scale(), chunk.size_scale()).unwrap();
            let _ = book.end_group();
            let (bid, ask) = (book.best().bid.unwrap(), book.best().ask.unwrap());
            let (price, size) = (book.price_scale(), book.size_scale());
            let found = [(bid.price.0.into(), price), (bid.size, size), (ask.price.0.into(), price), (ask.size, size)]
                .map(|(value, scale)| Decimal::new(value, scale));
            let sent = [0, 1, 2, 3].map(|column: usize| Decimal::parse(&columns[column].value(row).to_string()).unwrap());
            assert_eq!(found, sent, "row {rows}");
            rows += 1;
        }
    }
    assert_eq!((rows, book.partial_since()), (17_000, None));
}
