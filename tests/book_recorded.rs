//! Books from what a live QuestDB server sent: through the wire's decoder and Arrow, against the files that its tables were made of.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "support/databento.rs"]
mod databento;

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;

use arrow_array::RecordBatch;
use databento::{data_file, declare, mbo, mbp1, mbp10, play, select, session};
use tickscope::book::{Book, DepthSnapshot};
use tickscope::columnar::Assembler;
use tickscope::market::{Binding, BookKind, ColumnDecl};
use tickscope::units::{Scale, UnixNanos};
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
