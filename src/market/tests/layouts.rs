//! Tables as vendors write them: two rows of each, bound without a question and read to their events.

use arrow_array::{BooleanArray, Decimal256Array, Float32Array};
use arrow_buffer::i256;

use super::*;

/// The columns of a layout as a store would list them, and what binds them.
fn named(binding: &Binding) -> (&str, &str, BookKind) {
    (binding.name.as_str(), binding.holds.name(), binding.kind)
}

fn refusal(columns: &str) -> String {
    let columns = declared(columns);
    let time = columns[0].name.clone();
    Binding::bind("t", &columns, Some(&time)).unwrap_err().to_string()
}

fn words(texts: &[&str]) -> ArrayRef {
    Arc::new(StringArray::from(texts.to_vec()))
}

fn marks(truths: &[bool]) -> ArrayRef {
    Arc::new(BooleanArray::from(truths.to_vec()))
}

fn bytes(values: &[i8]) -> ArrayRef {
    Arc::new(Int8Array::from(values.to_vec()))
}

fn price(value: i64) -> Option<Price> {
    Some(Price(value))
}

fn trade(price: i64, size: i64, aggressor: Aggressor) -> Change<'static> {
    Change::Trade(Trade { price: Price(price), size: Size(size), aggressor })
}

/// Price and size of each level.
type Plain = Vec<(i64, i64)>;

fn top(chunk: &Chunk, row: usize) -> (Plain, Plain) {
    let mut scratch = DepthRow::default();
    assert!(matches!(chunk.event(row, &mut scratch, None).change, Change::Depth { trade: None, .. }));
    let plain = |levels: &[DepthLevel]| levels.iter().map(|level| (level.price.0, level.size.0)).collect();
    (plain(&scratch.bids), plain(&scratch.asks))
}

#[test]
fn databento_trades_are_trades_by_their_action() {
    let binding = bind(
        "ts_recv TIMESTAMP_NS, ts_event TIMESTAMP_NS, publisher_id INT, instrument_id LONG, action SYMBOL, side SYMBOL, depth SHORT, \
         price DECIMAL(18,9), size LONG, flags SHORT, ts_in_delta INT, sequence LONG, symbol SYMBOL",
    );
    assert_eq!(named(&binding), ("Trades", "trades", BookKind::L1));
    assert_eq!(binding.columns, ["ts_recv", "price", "size", "action", "side", "ts_event", "sequence", "flags"]);
    assert_eq!(binding.anchor, Anchor::LastRow { flags: None });
    let words = vec![Value::Text("T".into())];
    assert_eq!(binding.trade_rows(), TradeRows::Where { column: "action".into(), words, price: "price".into(), size: "size".into() });
    let prices: ArrayRef = Arc::new(Decimal64Array::from(vec![5_528_750_000_000; 3]).with_precision_and_scale(18, 9).unwrap());
    let columns = vec![
        nanos(&[1, 1, 2]),
        prices,
        longs(&[2, 1, 4]),
        letters("T T F"),
        letters("B A N"),
        nanos(&[0; 3]),
        longs(&[7, 8, 9]),
        shorts(&[0, 130, 0]),
    ];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    assert_eq!(change(&chunk, 0), trade(5_528_750_000_000, 2, Aggressor::Buy));
    assert_eq!(change(&chunk, 1), trade(5_528_750_000_000, 1, Aggressor::Sell));
    assert_eq!((change(&chunk, 2), chunk.trade(2)), (Change::Nothing, None));
    assert!(chunk.mark(0).closes() && chunk.mark(1).closes(), "each trade is an event of its own, whatever its flags");
}

#[test]
fn trades_of_many_sources_are_bound_by_their_columns() {
    let all = |binding: &Binding, price: &str, size: &str| {
        assert_eq!(named(binding), ("Trades", "trades", BookKind::L1));
        assert_eq!(binding.trade_rows(), TradeRows::All { price: price.into(), size: size.into() });
    };
    // Tardis
    let tardis =
        bind("local_timestamp TIMESTAMP, timestamp TIMESTAMP, exchange SYMBOL, symbol SYMBOL, id VARCHAR, side SYMBOL, price DOUBLE, amount DOUBLE");
    all(&tardis, "price", "amount");
    assert_eq!((tardis.symbol.as_deref(), tardis.roles["venue_time"].as_str()), (Some("symbol"), "timestamp"));
    let columns = vec![nanos(&[1, 2]), doubles(&[8531.5, 8532.0]), doubles(&[2152.0, 1.0]), words(&["sell", "buy"]), nanos(&[0, 0])];
    let chunk = Feed::new(&tardis).load(&batch(columns)).unwrap();
    assert_eq!((change(&chunk, 0), change(&chunk, 1)), (trade(85_315, 2152, Aggressor::Sell), trade(85_320, 1, Aggressor::Buy)));
    // Binance, and its futures
    let spot =
        bind("time TIMESTAMP, id LONG, price DECIMAL(18,8), qty DECIMAL(18,8), quoteQty DECIMAL(18,8), isBuyerMaker BOOLEAN, isBestMatch BOOLEAN");
    all(&spot, "price", "qty");
    all(
        &bind("transact_time TIMESTAMP, agg_trade_id LONG, price DOUBLE, quantity DOUBLE, first_trade_id LONG, is_buyer_maker BOOLEAN"),
        "price",
        "quantity",
    );
    // QuestDB's demo, Polygon, kdb
    all(&bind("timestamp TIMESTAMP, symbol SYMBOL, side SYMBOL, price DOUBLE, amount DOUBLE"), "price", "amount");
    let polygon = bind(
        "sip_timestamp TIMESTAMP_NS, ticker SYMBOL, conditions VARCHAR, exchange INT, id VARCHAR, price DOUBLE, sequence_number LONG, size LONG",
    );
    all(&polygon, "price", "size");
    assert_eq!(polygon.symbol.as_deref(), Some("ticker"));
    all(&bind("time TIMESTAMP, sym SYMBOL, price DOUBLE, size LONG, side CHAR, cond VARCHAR"), "price", "size");
}

#[test]
fn a_buyer_who_was_the_maker_says_that_the_seller_aggressed() {
    let binding = bind("ts TIMESTAMP_NS, symbol SYMBOL, price DOUBLE, size DOUBLE, buyer_maker BOOLEAN");
    let load = |maker: ArrayRef| Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), doubles(&[1.5, 1.5]), doubles(&[1.0, 1.0]), maker]));
    for maker in [marks(&[true, false]), words(&["true", "False"]), longs(&[1, 0]), bytes(&[1, 0])] {
        let chunk = load(maker).unwrap();
        assert_eq!((change(&chunk, 0), change(&chunk, 1)), (trade(15, 1, Aggressor::Sell), trade(15, 1, Aggressor::Buy)));
    }
    assert_eq!(load(longs(&[1, 2])).unwrap_err().to_string(), r#"column buyer_maker, row 1: "2" is none of true, false, 1, 0"#);
}

#[test]
fn a_side_that_is_no_word_of_trades_is_refused_by_column_and_row() {
    let binding = bind("ts TIMESTAMP, side SYMBOL, price DOUBLE, amount DOUBLE");
    let load = |side: &str| {
        let chunk = Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), doubles(&[1.0; 2]), doubles(&[1.0; 2]), words(&["buy", side])]))?;
        Ok::<_, MarketError>(change(&chunk, 1))
    };
    for (side, aggressor) in [
        ("BUY", Aggressor::Buy),
        ("b", Aggressor::Buy),
        ("Sell", Aggressor::Sell),
        ("S", Aggressor::Sell),
        ("A", Aggressor::Sell),
        ("", Aggressor::None),
    ] {
        assert_eq!(load(side).unwrap(), trade(1, 1, aggressor), "{side}");
    }
    let error = load("ask").unwrap_err().to_string();
    assert_eq!(error, r#"column side, row 1: "ask" is none of buy, sell, B, S, A, none (bid and ask would be levels)"#);
    assert!(
        refusal("ts TIMESTAMP, side LONG, price DOUBLE, amount DOUBLE").contains("a table of trades needs side as a symbol or text (it is LONG)")
    );
}

#[test]
fn quotes_of_many_sources_are_a_book_of_one_level() {
    for (columns, bid, ask_size) in [
        (
            "local_timestamp TIMESTAMP, symbol SYMBOL, timestamp TIMESTAMP, ask_amount DOUBLE, ask_price DOUBLE, bid_price DOUBLE, bid_amount DOUBLE",
            "bid_price",
            "ask_amount",
        ),
        (
            "event_time TIMESTAMP, update_id LONG, best_bid_price DOUBLE, best_bid_qty DOUBLE, best_ask_price DOUBLE, best_ask_qty DOUBLE",
            "best_bid_price",
            "best_ask_qty",
        ),
        (
            "timestamp TIMESTAMP, symbol SYMBOL, ecn SYMBOL, bid_price DOUBLE, bid_volume LONG, ask_price DOUBLE, ask_volume LONG",
            "bid_price",
            "ask_volume",
        ),
        (
            "sip_timestamp TIMESTAMP_NS, ticker SYMBOL, ask_exchange INT, ask_price DOUBLE, ask_size DOUBLE, bid_exchange INT, bid_price DOUBLE, bid_size DOUBLE",
            "bid_price",
            "ask_size",
        ),
        ("time TIMESTAMP_NS, sym SYMBOL, bid DOUBLE, ask DOUBLE, bsize LONG, asize LONG", "bid", "asize"),
        ("Time TIMESTAMP_NS, Symbol SYMBOL, Bid_Price DOUBLE, Bid_Size INT, Offer_Price DOUBLE, Offer_Size INT", "Bid_Price", "Offer_Size"),
        ("ts TIMESTAMP_NS, symbol SYMBOL, update_id LONG, bid_px DOUBLE, bid_sz DOUBLE, ask_px DOUBLE, ask_sz DOUBLE", "bid_px", "ask_sz"),
    ] {
        let binding = bind(columns);
        assert_eq!(named(&binding), ("Quotes", "quotes", BookKind::L1), "{columns}");
        assert_eq!((binding.roles["bid_price"].as_str(), binding.roles["ask_size"].as_str()), (bid, ask_size));
        assert_eq!((&binding.anchor, binding.trade_rows()), (&Anchor::LastRow { flags: None }, TradeRows::None));
    }
    let binding = bind("time TIMESTAMP_NS, sym SYMBOL, bid DOUBLE, ask DOUBLE, bsize LONG, asize LONG");
    let columns = vec![nanos(&[1, 2]), doubles(&[8629.2, 0.0]), longs(&[806, 1]), doubles(&[8629.3, 8629.5]), longs(&[5494, 7])];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    assert_eq!(top(&chunk, 0), (vec![(86_292, 806)], vec![(86_293, 5494)]));
    assert_eq!(top(&chunk, 1), (vec![], vec![(86_295, 7)]), "a side with the price zero is none");
}

#[test]
fn databento_quotes_need_no_action_and_each_row_is_a_group() {
    let binding = bind(
        "ts_recv TIMESTAMP_NS, ts_event TIMESTAMP_NS, side SYMBOL, price DOUBLE, size LONG, flags SHORT, bid_px_00 DOUBLE, bid_sz_00 LONG, ask_px_00 DOUBLE, ask_sz_00 LONG",
    );
    assert_eq!(named(&binding), ("MBP-1", "quotes", BookKind::L1));
    assert_eq!(binding.anchor, Anchor::LastRow { flags: None });
    assert_eq!(binding.trade_rows(), TradeRows::None, "the price of bbo-1s is the last sale of its interval, not a trade of its row");
    // cmbp-1 names the publisher of each side.
    let consolidated = bind(
        "ts_recv TIMESTAMP_NS, action SYMBOL, price DOUBLE, size LONG, flags SHORT, bid_px_00 DOUBLE, ask_px_00 DOUBLE, bid_sz_00 LONG, ask_sz_00 LONG, bid_pb_00 INT, ask_pb_00 INT",
    );
    assert_eq!(consolidated.anchor, Anchor::LastRow { flags: Some("flags".into()) });
    assert!(matches!(consolidated.trade_rows(), TradeRows::Where { .. }));
}

#[test]
fn levels_may_be_spelled_in_many_ways() {
    let table = |price: &dyn Fn(&str, usize) -> String, size: &dyn Fn(&str, usize) -> String, from: usize, levels: usize| {
        let column = |name: String| format!(", {name} DOUBLE");
        let level = |n: usize| ["ask", "bid"].map(|side| column(price(side, n)) + &column(size(side, n))).concat();
        format!("ts TIMESTAMP{}", (from..from + levels).map(level).collect::<String>())
    };
    let tardis = table(&|side, n| format!("{side}s[{n}].price"), &|side, n| format!("{side}s[{n}].amount"), 0, 25);
    let lake = table(&|side, n| format!("{side}_{n}_price"), &|side, n| format!("{side}_{n}_size"), 0, 20);
    let lobster = table(&|side, n| format!("{side}_price_{n}"), &|side, n| format!("{side}_size_{n}"), 1, 10);
    for (columns, name, first_bid) in
        [(tardis, "Levels, 25 a side", "bids[0].price"), (lake, "Levels, 20 a side", "bid_0_price"), (lobster, "Levels, 10 a side", "bid_price_1")]
    {
        let binding = bind(&columns);
        assert_eq!(named(&binding), (name, "book", BookKind::L2));
        assert_eq!((binding.roles["bid_price"].as_str(), binding.trade_rows()), (first_bid, TradeRows::None));
    }
    let two = bind(
        "ts TIMESTAMP, bid_price_1 DOUBLE, bid_size_1 LONG, ask_price_1 DOUBLE, ask_size_1 LONG, bid_price_2 DOUBLE, bid_size_2 LONG, ask_price_2 DOUBLE, ask_size_2 LONG",
    );
    let none = -9_999_999_999.0;
    let rows = |values: [f64; 2]| doubles(&values);
    let columns = vec![
        nanos(&[1, 2]),
        rows([585.33, 585.34]),
        longs(&[18, 18]),
        rows([585.94, 585.95]),
        longs(&[200, 200]),
        rows([585.32, none]),
        longs(&[9, 0]),
        rows([585.98, -none]),
        longs(&[10, 0]),
    ];
    let chunk = Feed::new(&two).load(&batch(columns)).unwrap();
    assert_eq!(top(&chunk, 0), (vec![(58_533, 18), (58_532, 9)], vec![(58_594, 200), (58_598, 10)]));
    assert_eq!(top(&chunk, 1), (vec![(58_534, 18)], vec![(58_595, 200)]), "LOBSTER's price of a level that is none enters no book");
}

#[test]
fn level_changes_are_told_by_the_mark_of_their_snapshots() {
    let binding = bind(
        "local_timestamp TIMESTAMP, exchange SYMBOL, symbol SYMBOL, timestamp TIMESTAMP, is_snapshot BOOLEAN, side SYMBOL, price DOUBLE, amount DOUBLE",
    );
    assert_eq!(named(&binding), ("Level changes", "book", BookKind::L2));
    assert_eq!(binding.anchor, Anchor::Marked { column: "is_snapshot".into(), values: vec![Value::Truth(true)] });
    assert_eq!(
        (binding.columns.join(" "), binding.trade_rows()),
        ("local_timestamp side price amount is_snapshot timestamp".into(), TradeRows::None)
    );
    let columns = vec![
        nanos(&[5, 5, 9, 9, 9]),
        words(&["ask", "bid", "bid", "ask", "ask"]),
        doubles(&[6421.5, 6421.0, 6421.0, 6422.0, f64::NAN]),
        doubles(&[18640.0, 10.0, 0.0, 1190.0, 3.0]),
        marks(&[true, true, false, false, true]),
        nanos(&[1, 1, 2, 3, 4]),
    ];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    let level = |side, price, size| Change::Level(LevelChange { side: Some(side), price, size: Some(Size(size)) });
    assert_eq!(change(&chunk, 0), level(Side::Ask, price(64_215), 18_640));
    assert_eq!(change(&chunk, 2), level(Side::Bid, price(64_210), 0));
    assert_eq!(change(&chunk, 4), level(Side::Ask, None, 3));
    let mark = |row| chunk.mark(row);
    let starts = |row: usize| chunk.event(row, &mut DepthRow::default(), row.checked_sub(1).map(mark)).starts_book;
    assert_eq!([0, 1, 2, 3, 4].map(starts), [true, false, false, false, true], "a snapshot begins where the mark turns true");
    let split = |row: usize| mark(row).splits(mark(row + 1));
    assert_eq!([0, 1, 2, 3].map(split), [false, true, false, true], "a group is what shares the time of the table");
    assert!(mark(0).ends_with_its_time() && mark(2).ends_with_its_time() && !mark(2).closes());
}

#[test]
fn marks_of_snapshots_may_be_numbers_or_words_and_bids_may_be_marked_too() {
    let whole = bind("ts TIMESTAMP, side SYMBOL, price DOUBLE, size DOUBLE, snapshot INT");
    assert_eq!(whole.anchor, Anchor::Marked { column: "snapshot".into(), values: vec![Value::Whole(1)] });
    let text = bind("ts TIMESTAMP, side SYMBOL, price DOUBLE, size DOUBLE, snapshot VARCHAR");
    let Anchor::Marked { values, .. } = text.anchor else { panic!("{:?}", text.anchor) };
    assert!(values.contains(&Value::Text("true".into())) && values.len() == 5);
    let lake = bind("timestamp TIMESTAMP, receipt_timestamp TIMESTAMP, side_is_bid BOOLEAN, price DOUBLE, size DOUBLE");
    assert_eq!((named(&lake), &lake.anchor), (("Level changes", "book", BookKind::L2), &Anchor::Never));
    let columns = vec![nanos(&[1, 1]), marks(&[true, false]), doubles(&[10.0, 11.0]), Arc::new(Float64Array::from(vec![Some(1.0), None]))];
    let chunk = Feed::new(&lake).load(&batch(columns)).unwrap();
    assert_eq!(change(&chunk, 0), Change::Level(LevelChange { side: Some(Side::Bid), price: price(10), size: Some(Size(1)) }));
    assert_eq!(change(&chunk, 1), Change::Level(LevelChange { side: Some(Side::Ask), price: price(11), size: None }), "no size is not zero");
}

#[test]
fn lobster_messages_are_orders_whose_executions_say_who_rested() {
    let binding = bind("ts TIMESTAMP_NS, type BYTE, order_id LONG, size INT, price LONG, direction BYTE");
    assert_eq!((named(&binding), &binding.anchor), (("LOBSTER messages", "book", BookKind::L3), &Anchor::Never));
    let words = [4, 5, 6].map(Value::Whole).to_vec();
    assert_eq!(binding.trade_rows(), TradeRows::Where { column: "type".into(), words, price: "price".into(), size: "size".into() });
    let columns = vec![
        nanos(&[1, 2, 3, 4, 5, 6, 7]),
        bytes(&[1, 2, 3, 4, 5, 6, 7]),
        longs(&[11, 11, 11, 12, 0, -1, 0]),
        longs(&[18, 8, 10, 5, 100, 900, 0]),
        longs(&[5_853_300, 5_853_300, 5_853_300, 5_859_100, 5_855_000, 5_856_000, -1]),
        bytes(&[1, 1, 1, -1, 1, 1, -1]),
    ];
    let chunk = Feed::new(&binding).load(&batch(columns)).unwrap();
    assert_eq!(chunk.price_scale(), Scale(4));
    let order = |action, side, id, price, size| OrderChange { action, side: Some(side), id, price: Some(Price(price)), size: Size(size) };
    assert_eq!(change(&chunk, 0), Change::Order(order(OrderAction::Add, Side::Bid, 11, 5_853_300, 18)));
    assert_eq!(change(&chunk, 1), Change::Order(order(OrderAction::Cancel, Side::Bid, 11, 5_853_300, 8)));
    assert_eq!(change(&chunk, 2), Change::Order(order(OrderAction::Delete, Side::Bid, 11, 5_853_300, 10)));
    let executed = Trade { price: Price(5_859_100), size: Size(5), aggressor: Aggressor::Buy };
    assert_eq!(change(&chunk, 3), Change::Executed { order: order(OrderAction::Cancel, Side::Ask, 12, 5_859_100, 5), trade: executed });
    assert_eq!(change(&chunk, 4), trade(5_855_000, 100, Aggressor::Sell));
    assert_eq!((change(&chunk, 5), change(&chunk, 6)), (trade(5_856_000, 900, Aggressor::None), Change::Nothing));
    assert_eq!((0..7).filter(|row| chunk.trade(*row).is_some()).collect::<Vec<_>>(), [3, 4, 5], "the rows that the store is asked for");
    // As decimals the prices are what they say.
    assert_eq!(bind("ts TIMESTAMP_NS, type LONG, order_id LONG, size LONG, price DECIMAL(18,4), direction LONG").name, "LOBSTER messages");
}

#[test]
fn bars_close_at_the_last_price_and_are_no_trades() {
    let binding = bind(
        "ts_event TIMESTAMP_NS, rtype SHORT, publisher_id INT, instrument_id LONG, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE, volume LONG, symbol SYMBOL",
    );
    assert_eq!(named(&binding), ("Bars", "bars", BookKind::L1));
    assert_eq!((binding.columns.join(" "), binding.trade_rows()), ("ts_event close".into(), TradeRows::None));
    assert_eq!((binding.roles["high"].as_str(), binding.roles["volume"].as_str()), ("high", "volume"));
    let chunk = Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), doubles(&[1.25, f64::NAN])])).unwrap();
    assert_eq!((change(&chunk, 0), change(&chunk, 1), chunk.trade(0)), (Change::Close(Price(125)), Change::Nothing, None));
}

#[test]
fn what_could_be_two_things_is_asked_not_guessed() {
    assert_eq!(
        refusal("ts TIMESTAMP, price DOUBLE, size DOUBLE, amount DOUBLE"),
        "t could be a table of trades, but its size could be size or amount; choose one, as --bind size=size does"
    );
    assert!(
        refusal("ts TIMESTAMP, bid DOUBLE, bid_price DOUBLE, bid_size LONG, ask DOUBLE, ask_size LONG")
            .contains("its bid_price could be bid or bid_price")
    );
    assert!(refusal("ts TIMESTAMP, sym SYMBOL, ticker SYMBOL, price DOUBLE, size LONG").contains("its symbol could be sym or ticker"));
    assert!(refusal("ts TIMESTAMP, price DOUBLE, size LONG, side SYMBOL, is_buyer_maker BOOLEAN").contains("side"));
    assert!(
        refusal("ts TIMESTAMP, price DOUBLE, volume LONG, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE").contains("a table of trades or bars")
    );
    let levels = "bid_price_0 DOUBLE, bid_size_0 LONG, bid_qty_0 LONG, ask_price_0 DOUBLE, ask_size_0 LONG, ask_qty_0 LONG";
    assert!(refusal(&format!("ts TIMESTAMP, {levels}")).contains("could be bid_price_0 or bid_size_0 or bid_price_0 or bid_qty_0"));
    assert_eq!(
        refusal("timestamp TIMESTAMP, percentage DOUBLE, depth DOUBLE, notional DOUBLE"),
        "t holds the depth within percentages of the price (Binance bookDepth), which names no price levels: no book can be made of it"
    );
}

#[test]
fn what_happens_to_orders_is_not_taken_for_trades() {
    let itch =
        "timestamp TIMESTAMP_NS, stock_locate INT, order_reference_number LONG, buy_sell_indicator CHAR, shares LONG, stock SYMBOL, price DOUBLE";
    assert!(refusal(itch).contains("a table of trades or a feed of orders or levels that is not known"));
    let kaiko = "ts_collection TIMESTAMP, ts_exchange TIMESTAMP, type SYMBOL, price DOUBLE, size DOUBLE";
    assert!(refusal(kaiko).contains("a feed of orders or levels"));
    let bitstamp = "timestamp TIMESTAMP, id LONG, price DOUBLE, volume DOUBLE, action SYMBOL, direction SYMBOL";
    assert!(refusal(bitstamp).contains("a feed of orders or levels"));
    // A number of the trade says that it is one.
    let fx = bind(
        "timestamp TIMESTAMP, symbol SYMBOL, ecn SYMBOL, trade_id UUID, side SYMBOL, passive BOOLEAN, price DOUBLE, quantity DOUBLE, order_id UUID",
    );
    assert_eq!(named(&fx), ("Trades", "trades", BookKind::L1));
    assert_eq!(fx.instrument, None, "trades of all venues are one tape");
}

#[test]
fn each_venue_has_a_book_of_its_own() {
    let core = bind("timestamp TIMESTAMP, symbol SYMBOL, ecn SYMBOL, bid_price DOUBLE, bid_volume LONG, ask_price DOUBLE, ask_volume LONG");
    assert_eq!((core.symbol.as_deref(), core.instrument.as_deref(), core.roles["venue"].as_str()), (Some("symbol"), Some("ecn"), "ecn"));
    // Numbers of exchanges are those of the best bid and ask over all of them.
    let polygon =
        bind("sip_timestamp TIMESTAMP_NS, ticker SYMBOL, exchange INT, ask_price DOUBLE, ask_size DOUBLE, bid_price DOUBLE, bid_size DOUBLE");
    assert_eq!(polygon.instrument, None);
}

#[test]
fn a_chosen_column_is_the_role_whatever_it_is_called() {
    let with = |columns: &str, chosen: &str| {
        let columns = declared(columns);
        let time = columns[0].name.clone();
        let chosen = chosen.split(',').map(|choice| choice.split_once('=').unwrap()).map(|(role, column)| (role.into(), column.into())).collect();
        Binding::bind_chosen("t", &columns, Some(&time), &chosen)
    };
    let two = "ts TIMESTAMP, price DOUBLE, size DOUBLE, amount DOUBLE, ticker SYMBOL, sym SYMBOL";
    let binding = with(two, "size=Amount,symbol=sym").unwrap();
    assert_eq!((binding.columns.join(" "), binding.symbol.as_deref()), ("ts price amount".into(), Some("sym")));
    assert_eq!((binding.roles["size"].as_str(), binding.info().chosen["size"].as_str()), ("amount", "Amount"));
    assert_eq!(binding.trade_rows(), TradeRows::All { price: "price".into(), size: "amount".into() });
    let strange = with("t TIMESTAMP, c1 SYMBOL, c2 DOUBLE, c3 DOUBLE, c4 BOOLEAN", "side=c1,price=c2,size=c3,snapshot=c4").unwrap();
    assert_eq!((named(&strange).0, strange.columns.join(" ")), ("Level changes", "t c1 c2 c3 c4".into()));
    assert_eq!(strange.anchor, Anchor::Marked { column: "c4".into(), values: vec![Value::Truth(true)] });
    // Names may be exchanged.
    let crossed = with("ts TIMESTAMP, price DOUBLE, size DOUBLE", "price=size,size=price").unwrap();
    assert_eq!((crossed.roles["price"].as_str(), crossed.roles["size"].as_str()), ("size", "price"));
    let ticker = "ts TIMESTAMP, price DOUBLE, volume LONG, open DOUBLE, high DOUBLE, low DOUBLE, close DOUBLE";
    assert_eq!(with(ticker, "price=price,size=volume").unwrap().name, "Trades");
    let refused = |chosen: &str| with(two, chosen).unwrap_err().to_string();
    assert_eq!(refused("size=nope"), "t: nope cannot be the size: there is no such column");
    assert!(refused("colour=price").starts_with("t: price cannot be the colour: the roles are price, size, side"));
    assert_eq!(refused("size=price,price=price"), "t: price cannot be the size: it was chosen for another role");
    assert_eq!(refused("price=ts"), "t: ts cannot be the price: it orders the table");
    assert_eq!(refused("size=amount,symbol=sym,flags=size"), "t: size cannot be the flags: as Trades the table has no such role");
    assert!(refused("size=ticker,symbol=sym").contains("size as a number (it is SYMBOL)"));
}

#[test]
fn floats_and_wide_decimals_are_read_to_the_last_digit_or_not_at_all() {
    let binding = bind("ts TIMESTAMP, price FLOAT, size DECIMAL(60,8)");
    let load = |sizes: Vec<i256>, scale: i8| {
        let floats: ArrayRef = Arc::new(Float32Array::from(vec![0.1, 217.63]));
        let sizes: ArrayRef = Arc::new(Decimal256Array::from(sizes).with_precision_and_scale(60, scale).unwrap());
        Feed::new(&binding).load(&batch(vec![nanos(&[1, 2]), floats, sizes]))
    };
    let small = |value: i64| i256::from_i128(i128::from(value));
    let chunk = load(vec![small(150_000_000), small(i64::MAX - 1)], 8).unwrap();
    assert_eq!((change(&chunk, 0), change(&chunk, 1)), (trade(10, 150_000_000, Aggressor::None), trade(21_763, i64::MAX - 1, Aggressor::None)));
    let error = load(vec![small(1), i256::from_i128(1 << 64)], 8).unwrap_err();
    assert_eq!(error.to_string(), "column size, row 1: with 8 digits after the point it does not fit 64 bits");
    assert!(matches!(load(vec![small(1), small(1)], 30), Err(MarketError::Number { fault: NumberFault::Scale { scale: 30 }, .. })));
}
