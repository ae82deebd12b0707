mod layouts;

use std::sync::Arc;

use arrow_array::types::{Float64Type, Int64Type, UInt32Type};
use arrow_array::{
    Array, ArrayRef, Decimal64Array, Decimal128Array, DictionaryArray, Float64Array, Int8Array, Int16Array, Int32Array, Int64Array, ListArray,
    RecordBatch, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray, UInt16Array, UInt32Array,
};
use arrow_buffer::OffsetBuffer;
use arrow_schema::{Field, Schema};

use super::*;
use crate::units::{Aggressor, Price, Scale, Side, Size, UnixNanos};

fn declared(columns: &str) -> Vec<ColumnDecl> {
    let column = |text: &str| {
        let (name, kind) = text.split_once(' ').unwrap();
        ColumnDecl { name: name.to_owned(), kind: kind.to_owned() }
    };
    columns.split(", ").map(column).collect()
}

fn bind(columns: &str) -> Binding {
    let columns = declared(columns);
    let time = columns[0].name.clone();
    Binding::bind("t", &columns, Some(&time)).unwrap()
}

const MBO: &str =
    "ts_recv TIMESTAMP_NS, action SYMBOL, side SYMBOL, price DOUBLE, size LONG, order_id LONG, ts_event TIMESTAMP_NS, sequence LONG, flags SHORT";

#[test]
fn orders_are_bound_by_name_without_case_and_time_comes_first() {
    let binding = bind("Ts_Recv TIMESTAMP, symbol SYMBOL, ORDER_ID LONG, Action SYMBOL, side CHAR, price DECIMAL(18,9), size INT, publisher_id INT");
    assert_eq!((binding.name.as_str(), binding.kind), ("MBO", BookKind::L3));
    assert_eq!(binding.columns, ["Ts_Recv", "Action", "side", "price", "size", "ORDER_ID"]);
    assert_eq!(
        (binding.symbol.as_deref(), binding.publisher.as_deref(), binding.instrument.as_deref()),
        (Some("symbol"), Some("publisher_id"), None)
    );
    assert_eq!(binding.anchor, Anchor::MboSnapshot { action: "Action".to_owned(), flags: None });
    let info = binding.info();
    assert_eq!((info.roles["time"].as_str(), info.roles["order_id"].as_str(), info.reason), ("Ts_Recv", "ORDER_ID", None));
    assert_eq!(bind(MBO).anchor, Anchor::MboSnapshot { action: "action".to_owned(), flags: Some("flags".to_owned()) });
}

#[test]
fn flat_levels_are_counted_from_zero_without_a_hole() {
    let level = |n: usize| format!("bid_px_{n:02} DOUBLE, bid_sz_{n:02} LONG, ask_px_{n:02} DOUBLE, ask_sz_{n:02} LONG");
    let one = bind(&format!("ts TIMESTAMP, {}", level(0)));
    assert_eq!((one.name.as_str(), one.kind, &one.anchor), ("MBP-1", BookKind::L1, &Anchor::LastRow { flags: None }));
    let three = bind(&format!("ts TIMESTAMP, {}, {}, {}, {}, bid_ct_01 INT", level(0), level(1), level(2), level(4)));
    assert_eq!((three.name.as_str(), three.kind, three.columns.len()), ("MBP-3", BookKind::L2, 14));
    assert_eq!(three.roles["bid_price"], "bid_px_00");
}

#[test]
fn arrays_are_as_deep_as_their_rows() {
    let mut binding = bind("ts TIMESTAMP_NS, bids DOUBLE[][], asks DOUBLE[][], bid_ct DOUBLE[], ask_ct VARCHAR");
    assert_eq!((binding.name.as_str(), binding.kind), ("MBP (arrays)", BookKind::L2));
    assert_eq!(binding.columns, ["ts", "bids", "asks", "bid_ct"], "counts as text are not read");
    binding.set_depth(1);
    assert_eq!((binding.name.as_str(), binding.kind), ("MBP-1 (arrays)", BookKind::L1));
    binding.set_depth(10);
    // A batch whose rows happen to be shorter changes nothing.
    binding.set_depth(7);
    assert_eq!((binding.name.as_str(), binding.kind), ("MBP-10 (arrays)", BookKind::L2));
}

#[test]
fn a_table_that_cannot_be_read_says_what_it_misses() {
    let reason = |columns: &str, time: Option<&str>| Binding::bind("trades", &declared(columns), time).unwrap_err().to_string();
    assert_eq!(reason("ts TIMESTAMP, price DOUBLE", None), "trades has no designated timestamp, so its rows have no order to replay");
    assert_eq!(reason("ts TIMESTAMP, price DOUBLE", Some("t")), "trades has no column t to order it");
    assert_eq!(reason("ts LONG, price DOUBLE", Some("ts")), "trades is ordered by ts, which is LONG; a replay needs a TIMESTAMP or TIMESTAMP_NS");
    assert_eq!(
        reason("ts TIMESTAMP, action SYMBOL, side SYMBOL, price BOOLEAN, size LONG", Some("ts")),
        "trades is of no kind that can be read: a table of trades needs price as a number (it is BOOLEAN); \
         an order feed (MBO) needs price as a number (it is BOOLEAN), order_id; a depth feed with arrays needs bids, asks"
    );
}

/// A connection's dictionary holds the words of every column.
fn symbols(dictionary: &Arc<StringArray>, words: &[Option<&str>]) -> ArrayRef {
    let key = |word: &Option<&str>| word.map(|word| dictionary.iter().position(|entry| entry == Some(word)).unwrap() as u32);
    Arc::new(DictionaryArray::<UInt32Type>::new(words.iter().map(key).collect::<UInt32Array>(), dictionary.clone()))
}

fn letters(words: &str) -> ArrayRef {
    let dictionary = Arc::new(StringArray::from(vec!["ESH4", "A", "C", "M", "R", "T", "F", "N", "B"]));
    let words: Vec<Option<&str>> = words.split(' ').map(|word| Some(word).filter(|word| *word != "-")).collect();
    symbols(&dictionary, &words)
}

fn batch(columns: Vec<ArrayRef>) -> RecordBatch {
    let fields: Vec<Field> = columns.iter().enumerate().map(|(at, column)| Field::new(format!("c{at}"), column.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap()
}

fn nanos(times: &[i64]) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from(times.to_vec()).with_timezone("UTC"))
}

fn longs(values: &[i64]) -> ArrayRef {
    Arc::new(Int64Array::from(values.to_vec()))
}

fn doubles(values: &[f64]) -> ArrayRef {
    Arc::new(Float64Array::from(values.to_vec()))
}

/// Rows of [`MBO`], in the order of its binding's columns.
fn orders(actions: &str, sides: &str, prices: ArrayRef, flags: ArrayRef) -> RecordBatch {
    let rows = prices.len() as i64;
    let numbers: Vec<i64> = (0..rows).collect();
    batch(vec![
        nanos(&numbers.iter().map(|n| 100 + n).collect::<Vec<_>>()),
        letters(actions),
        letters(sides),
        prices,
        longs(&numbers.iter().map(|n| 1 + n).collect::<Vec<_>>()),
        longs(&numbers.iter().map(|n| 70 + n).collect::<Vec<_>>()),
        nanos(&numbers.iter().map(|n| 50 + n / 2).collect::<Vec<_>>()),
        longs(&numbers),
        flags,
    ])
}

fn shorts(values: &[i16]) -> ArrayRef {
    Arc::new(Int16Array::from(values.to_vec()))
}

fn change(chunk: &Chunk, row: usize) -> Change<'static> {
    match chunk.event(row, &mut DepthRow::default(), None).change {
        Change::Depth { .. } => panic!("a row of orders"),
        Change::Clear => Change::Clear,
        Change::Order(order) => Change::Order(order),
        Change::Trade(trade) => Change::Trade(trade),
        Change::Executed { order, trade } => Change::Executed { order, trade },
        Change::Level(level) => Change::Level(level),
        Change::Close(price) => Change::Close(price),
        Change::Nothing => Change::Nothing,
    }
}

#[test]
fn every_action_becomes_its_event() {
    let binding = bind(MBO);
    let prices = doubles(&[f64::NAN, 10.5, 10.5, 11.0, 10.5, 10.5, 10.5]);
    let chunk = Feed::new(&binding).load(&orders("R A C M T F N", "N B A B A B N", prices, shorts(&[0; 7]))).unwrap();
    let order =
        |action, side, id, price, size| Change::Order(OrderChange { action, side: Some(side), id, price: Some(Price(price)), size: Size(size) });
    assert_eq!(change(&chunk, 0), Change::Clear);
    assert_eq!(change(&chunk, 1), order(OrderAction::Add, Side::Bid, 71, 105, 2));
    assert_eq!(change(&chunk, 2), order(OrderAction::Cancel, Side::Ask, 72, 105, 3));
    assert_eq!(change(&chunk, 3), order(OrderAction::Modify, Side::Bid, 73, 110, 4));
    assert_eq!(change(&chunk, 4), Change::Trade(Trade { price: Price(105), size: Size(5), aggressor: Aggressor::Sell }));
    assert_eq!((change(&chunk, 5), change(&chunk, 6)), (Change::Nothing, Change::Nothing));
    let mut scratch = DepthRow::default();
    let event = chunk.event(3, &mut scratch, None);
    assert_eq!((event.time, event.venue_time, event.sequence), (UnixNanos(103), Some(UnixNanos(51)), Some(3)));
    assert_eq!((chunk.rows(), chunk.times()[6], chunk.price_scale(), chunk.size_scale()), (7, 106, Scale(1), Scale(0)));
}

#[test]
fn a_scale_grows_with_its_values_and_stays() {
    let mut feed = Feed::new(&bind(MBO));
    let mut load = |prices: &[f64]| {
        let n = prices.len();
        let chunk = feed.load(&orders(&vec!["A"; n].join(" "), &vec!["B"; n].join(" "), doubles(prices), shorts(&vec![0; n]))).unwrap();
        let price = |row| match change(&chunk, row) {
            Change::Order(order) => order.price.map(|price| price.0),
            other => panic!("{other:?}"),
        };
        ((0..n).map(price).collect::<Vec<_>>(), chunk.price_scale().0)
    };
    assert_eq!(load(&[5528.0, 5529.0]), (vec![Some(5528), Some(5529)], 0));
    // The values before the one that needs digits are lifted too, and what is none stays none.
    assert_eq!(load(&[5528.0, f64::NAN, f64::INFINITY, -5528.75, 0.0]), (vec![Some(552_800), None, None, Some(-552_875), Some(0)], 2));
    assert_eq!(load(&[1.0]), (vec![Some(100)], 2));
    assert_eq!(load(&[0.1, 1e-9]), (vec![Some(100_000_000), Some(1)], 9));
}

#[test]
fn a_value_that_cannot_be_exact_names_its_place_and_leaves_the_feed_as_it_was() {
    let mut feed = Feed::new(&bind(MBO));
    let mut load = |prices: &[f64]| feed.load(&orders("A A", "B B", doubles(prices), shorts(&[0; 2])));
    let error = load(&[1e18, 0.001]).unwrap_err();
    assert_eq!(error, MarketError::Number { column: "price".into(), row: 1, fault: NumberFault::TooLarge { scale: 3 } });
    assert_eq!(error.to_string(), "column price, row 1: with 3 digits after the point it does not fit 64 bits");
    assert!(matches!(load(&[1.0, 1e-30]), Err(MarketError::Number { row: 1, fault: NumberFault::TooLarge { scale: 30 }, .. })));
    assert_eq!(load(&[1.0, 2.0]).unwrap().price_scale(), Scale(0));
}

#[test]
fn decimals_are_taken_as_they_are_and_the_sentinel_is_none() {
    let mut feed = Feed::new(&bind(&MBO.replace("price DOUBLE", "price DECIMAL(18,9)")));
    let prices = Decimal64Array::from(vec![Some(5_528_750_000_000), None, Some(i64::MAX)]).with_precision_and_scale(18, 9).unwrap();
    let chunk = feed.load(&orders("A A A", "B B B", Arc::new(prices), shorts(&[0; 3]))).unwrap();
    let price = |row| match change(&chunk, row) {
        Change::Order(order) => order.price,
        other => panic!("{other:?}"),
    };
    assert_eq!((price(0), price(1), price(2)), (Some(Price(5_528_750_000_000)), None, None));
    assert_eq!(chunk.price_scale(), Scale(9));
    assert_eq!(chunk.memory_bytes(), 6, "only the bytes of actions and sides lie beside the batch");
    let wide = Decimal128Array::from(vec![1_050_000]).with_precision_and_scale(38, 4).unwrap();
    let mut feed = Feed::new(&bind(MBO));
    let chunk = feed.load(&orders("A", "B", Arc::new(wide), shorts(&[0]))).unwrap();
    assert_eq!(chunk.price_scale(), Scale(4));
    let finer = Decimal128Array::from(vec![1]).with_precision_and_scale(38, 20).unwrap();
    let error = feed.load(&orders("A", "B", Arc::new(finer), shorts(&[0]))).unwrap_err();
    assert!(matches!(error, MarketError::Number { fault: NumberFault::Scale { scale: 20 }, .. }));
}

#[test]
fn microseconds_become_nanoseconds() {
    let binding = bind("ts TIMESTAMP, bids DOUBLE[][], asks DOUBLE[][]");
    let micros: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(1_703_462_400_000_001)]).with_timezone("UTC"));
    let none = ladders(&[&[&[], &[]]]);
    let chunk = Feed::new(&binding).load(&batch(vec![micros, none.clone(), none.clone()])).unwrap();
    assert_eq!(chunk.time(0), UnixNanos(1_703_462_400_000_001_000));
    let far: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![Some(i64::MAX / 2)]));
    let error = Feed::new(&binding).load(&batch(vec![far, none.clone(), none.clone()])).unwrap_err();
    assert_eq!(error, MarketError::TimeRange { column: "ts".into(), row: 0 });
    let missing: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![None]));
    let error = Feed::new(&binding).load(&batch(vec![missing, none.clone(), none])).unwrap_err();
    assert_eq!(error, MarketError::NoTime { column: "ts".into(), row: 0 });
}

#[test]
fn flags_of_a_signed_byte_are_masked() {
    let binding = bind(&MBO.replace("flags SHORT", "flags BYTE"));
    let bytes: ArrayRef = Arc::new(Int8Array::from(vec![-88, -126, 8]));
    let chunk = Feed::new(&binding).load(&orders("A A A", "B B B", doubles(&[1.0; 3]), bytes)).unwrap();
    let flags = |row| chunk.event(row, &mut DepthRow::default(), None).flags;
    assert_eq!((flags(0), flags(1), flags(2)), (Flags(168), Flags(130), Flags(8)));
    assert!(flags(0).snapshot() && flags(0).last() && flags(0).bad_receive_time() && !flags(0).maybe_bad_book());
    assert!(!chunk.mark(0).closes() && chunk.mark(1).closes() && !chunk.mark(2).closes());
}

#[test]
fn a_word_that_is_none_names_its_place() {
    let load = |actions: &str, sides: &str| {
        Feed::new(&bind(MBO)).load(&orders(actions, sides, doubles(&[1.0; 2]), shorts(&[0; 2]))).map(|chunk| change(&chunk, 1))
    };
    assert_eq!(load("A ESH4", "B B").unwrap_err().to_string(), r#"column action, row 1: "ESH4" is none of A, C, M, R, T, F, N"#);
    assert!(matches!(load("A -", "B B"), Err(MarketError::Word { row: 1, .. })), "a row without an action is nothing");
    assert!(matches!(load("A A", "B C"), Err(MarketError::Word { .. })));
    assert!(matches!(load("A A", "B -"), Ok(Change::Order(OrderChange { side: None, .. }))));
}

#[test]
fn a_dictionary_may_grow_and_be_replaced_between_batches() {
    let binding = bind(MBO);
    let mut feed = Feed::new(&binding);
    for words in [vec!["A", "B"], vec!["A", "B", "C"], vec!["B", "x", "C", "A"]] {
        let dictionary = Arc::new(StringArray::from(words.clone()));
        for action in ["A", "C"].into_iter().filter(|action| words.contains(action)) {
            let mut columns = orders("A", "B", doubles(&[1.0]), shorts(&[0])).columns().to_vec();
            columns[1] = symbols(&dictionary, &[Some(action)]);
            columns[2] = symbols(&dictionary, &[Some("B")]);
            let Change::Order(order) = change(&feed.load(&batch(columns)).unwrap(), 0) else { panic!("an order") };
            assert_eq!(order.action == OrderAction::Add, action == "A", "{words:?}");
            assert_eq!(order.side, Some(Side::Bid));
        }
    }
}

#[test]
fn words_may_be_text_or_single_characters() {
    let mut columns = orders("A A", "B B", doubles(&[1.0; 2]), shorts(&[0; 2])).columns().to_vec();
    columns[1] = Arc::new(StringArray::from(vec!["C", "M"]));
    columns[2] = Arc::new(UInt16Array::from(vec![u16::from(b'A'), 0]));
    let chunk = Feed::new(&bind(MBO)).load(&batch(columns)).unwrap();
    assert!(matches!(change(&chunk, 0), Change::Order(OrderChange { action: OrderAction::Cancel, side: Some(Side::Ask), .. })));
    assert!(matches!(change(&chunk, 1), Change::Order(OrderChange { action: OrderAction::Modify, side: None, .. })));
}

#[test]
fn an_order_needs_its_id_and_an_id_keeps_all_its_bits() {
    let mut columns = orders("T A", "B B", doubles(&[1.0; 2]), shorts(&[0; 2])).columns().to_vec();
    columns[5] = Arc::new(Int64Array::from(vec![None, Some(-1)]));
    let chunk = Feed::new(&bind(MBO)).load(&batch(columns.clone())).unwrap();
    assert!(matches!(change(&chunk, 1), Change::Order(OrderChange { id: u64::MAX, .. })));
    columns[5] = Arc::new(Int64Array::from(vec![Some(1), None]));
    let error = Feed::new(&bind(MBO)).load(&batch(columns)).unwrap_err();
    assert_eq!(error, MarketError::NoOrderId { column: "order_id".into(), row: 1 });
}

#[test]
fn a_batch_with_other_columns_than_were_selected_is_refused() {
    let columns = orders("A", "B", doubles(&[1.0]), shorts(&[0])).columns().to_vec();
    let error = Feed::new(&bind(MBO)).load(&batch(columns[..4].to_vec())).unwrap_err();
    assert_eq!(error, MarketError::MissingColumn { column: "ts_event".into() });
    let mut wrong = columns;
    wrong[3] = Arc::new(StringArray::from(vec!["1.5"]));
    let error = Feed::new(&bind(MBO)).load(&batch(wrong)).unwrap_err();
    assert_eq!(error.to_string(), "column price is Utf8; integers, DECIMAL, FLOAT and DOUBLE can be read");
}

#[test]
fn flat_levels_leave_out_what_is_none_and_scales_are_one() {
    let binding = bind("ts TIMESTAMP_NS, bid_px_00 DOUBLE, bid_sz_00 LONG, ask_px_00 DOUBLE, ask_sz_00 LONG, bid_ct_00 INT");
    assert_eq!(binding.columns, ["ts", "bid_px_00", "bid_sz_00", "bid_ct_00", "ask_px_00", "ask_sz_00"]);
    let counts: ArrayRef = Arc::new(Int32Array::from(vec![Some(3), None, Some(1)]));
    let columns =
        vec![nanos(&[1, 2, 3]), doubles(&[10.0, 11.0, f64::NAN]), longs(&[5, 6, 7]), counts, doubles(&[10.25, 12.0, 13.0]), longs(&[1, 0, 2])];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    let mut row = DepthRow::default();
    let mut levels = |at: usize| {
        let event = chunk.event(at, &mut row, None);
        assert!(matches!(event.change, Change::Depth { trade: None, .. }));
        (row.bids.clone(), row.asks.clone(), row.capacity)
    };
    let level = |price, size, count| DepthLevel { price: Price(price), size: Size(size), count };
    assert_eq!(levels(0), (vec![level(1_000, 5, Some(3))], vec![level(1_025, 1, None)], 1));
    assert_eq!(levels(1), (vec![level(1_100, 6, None)], vec![], 1));
    assert_eq!(levels(2), (vec![], vec![level(1_300, 2, None)], 1));
    assert_eq!((chunk.price_scale(), chunk.depth()), (Scale(2), Some(1)));
    assert!(chunk.mark(0).closes(), "without flags every row is a group");
}

/// `DOUBLE[][]`: rows of arrays.
fn ladders(rows: &[&[&[f64]]]) -> ArrayRef {
    let inner = ListArray::from_iter_primitive::<Float64Type, _, _>(
        rows.iter().flat_map(|row| row.iter().map(|values| Some(values.iter().copied().map(Some).collect::<Vec<_>>()))),
    );
    let offsets = OffsetBuffer::from_lengths(rows.iter().map(|row| row.len()));
    Arc::new(ListArray::new(Arc::new(Field::new("item", inner.data_type().clone(), true)), offsets, Arc::new(inner), None))
}

const ARRAYS: &str =
    "ts TIMESTAMP_NS, bids DOUBLE[][], asks DOUBLE[][], bid_ct LONG[], ask_ct INT, action SYMBOL, side SYMBOL, price DOUBLE, size LONG";

#[test]
fn arrays_hold_prices_over_sizes_and_are_padded_with_none() {
    let binding = bind(ARRAYS);
    assert_eq!(binding.columns, ["ts", "bids", "asks", "bid_ct", "ask_ct", "action", "side", "price", "size"]);
    let counts = ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(7), None]), None, Some(vec![])]);
    let columns = vec![
        nanos(&[1, 2, 3]),
        ladders(&[&[&[10.0, 9.5, f64::NAN], &[1.0, 2.0, 0.0]], &[&[10.0], &[3.0]], &[]]),
        ladders(&[&[&[11.0], &[4.0]], &[&[11.0, 12.0], &[5.0, 0.5]], &[&[], &[]]]),
        Arc::new(counts),
        Arc::new(Int32Array::from(vec![Some(2), None, None])),
        letters("A T -"),
        letters("B A -"),
        doubles(&[10.0, 10.125, f64::NAN]),
        longs(&[1, 2, 3]),
    ];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    let level = |price, size, count| DepthLevel { price: Price(price), size: Size(size), count };
    let mut row = DepthRow::default();
    let mut levels = |at: usize| {
        let Change::Depth { trade, .. } = chunk.event(at, &mut row, None).change else { panic!("levels") };
        (row.bids.clone(), row.asks.clone(), row.capacity, trade)
    };
    // Prices need three digits (10.125), sizes one (0.5).
    assert_eq!((chunk.price_scale(), chunk.size_scale(), chunk.depth()), (Scale(3), Scale(1), Some(3)));
    assert_eq!(levels(0), (vec![level(10_000, 10, Some(7)), level(9_500, 20, None)], vec![level(11_000, 40, Some(2))], 3, None));
    let trade = Trade { price: Price(10_125), size: Size(20), aggressor: Aggressor::Sell };
    assert_eq!(levels(1), (vec![level(10_000, 30, None)], vec![level(11_000, 50, None), level(12_000, 5, None)], 2, Some(trade)));
    assert_eq!(levels(2), (vec![], vec![], 0, None));
}

#[test]
fn an_array_that_is_not_prices_over_sizes_names_its_row() {
    let binding = bind("ts TIMESTAMP_NS, bids DOUBLE[][], asks DOUBLE[][]");
    let good = ladders(&[&[&[1.0], &[1.0]], &[&[1.0], &[1.0]]]);
    for (bad, prices, sizes) in [(ladders(&[&[], &[&[1.0, 2.0], &[1.0]]]), 2, 1), (ladders(&[&[], &[&[1.0]]]), 1, 0)] {
        let error = Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), good.clone(), bad])).unwrap_err();
        assert_eq!(error, MarketError::ArrayShape { column: "asks".into(), row: 1, prices, sizes });
    }
    let huge = ladders(&[&[&[1.0], &[1.0]], &[&[1e300], &[1.0]]]);
    let error = Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), huge, good])).unwrap_err();
    assert!(matches!(error, MarketError::Number { row: 1, .. }), "{error}");
}

fn mark(time: i64, venue: i64, flags: u8) -> RowMark {
    let flags = Flags(flags);
    RowMark { time: UnixNanos(time), venue_time: Some(UnixNanos(venue)), snapshot: flags.snapshot(), last: flags.last(), by_time: false }
}

#[test]
fn a_group_ends_where_its_rows_say_so_or_the_next_row_shows_it() {
    // F_LAST on a live row is certain.
    assert!(mark(1, 1, 130).closes() && mark(1, 1, 130).splits(mark(1, 1, 0)));
    // Live rows of one venue time are one group, over several receive times.
    assert!(!mark(1, 1, 0).splits(mark(2, 1, 0)));
    assert!(mark(1, 1, 0).splits(mark(1, 2, 0)));
    // A snapshot is one group: one receive time, many venue times; its own F_LAST decides nothing.
    assert!(!mark(1, 1, 40).splits(mark(1, 9, 40)));
    assert!(!mark(1, 1, 168).closes() && !mark(1, 1, 168).splits(mark(1, 9, 40)));
    assert!(mark(1, 1, 40).splits(mark(2, 1, 40)));
    assert!(mark(1, 1, 40).splits(mark(1, 1, 0)) && mark(1, 1, 0).splits(mark(1, 1, 40)));
}

#[test]
fn a_snapshot_begins_after_live_rows_or_at_another_time() {
    assert!(mark(1, 1, 40).starts_snapshot(None));
    assert!(mark(1, 1, 40).starts_snapshot(Some(mark(1, 1, 130))));
    assert!(mark(2, 1, 40).starts_snapshot(Some(mark(1, 1, 168))));
    assert!(!mark(1, 2, 40).starts_snapshot(Some(mark(1, 1, 40))));
    assert!(!mark(1, 2, 130).starts_snapshot(Some(mark(1, 1, 40))));
    let chunk = Feed::new(&bind(MBO)).load(&orders("R A A", "N B B", doubles(&[1.0; 3]), shorts(&[32, 32, 168]))).unwrap();
    let starts = |row, previous| chunk.event(row, &mut DepthRow::default(), previous).starts_book;
    assert!(!starts(0, None), "a clear announces itself");
    assert!(starts(1, None) && starts(1, Some(mark(101, 1, 130))) && !starts(1, Some(mark(101, 1, 32))));
}
