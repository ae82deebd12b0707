//! The session that is served without files keeps the rules of the layout that it borrows.

use std::collections::{BTreeMap, HashMap};

use crate::client::{Client, config, serve};
use crate::files::{longs, nanos, texts};
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal64Type, Int16Type};

#[derive(Default)]
struct Book {
    orders: HashMap<i64, (bool, i64, i64)>,
    levels: [BTreeMap<i64, i64>; 2],
}

impl Book {
    fn change(&mut self, id: i64, bid: bool, price: i64, by: i64) {
        let level = self.levels[usize::from(bid)].entry(price).or_default();
        *level += by;
        assert!(*level >= 0);
        if *level == 0 {
            self.levels[usize::from(bid)].remove(&price);
        }
        let order = self.orders.entry(id).or_insert((bid, price, 0));
        order.2 += by;
        if order.2 == 0 {
            self.orders.remove(&id);
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_synthetic_session_is_valid_and_looks_like_a_market() {
    let running = serve(config(&[])).await;
    let mut client = Client::connect(&running).await;
    assert_eq!(texts(&client.rows("tables()").await.unwrap(), "note"), [Some("synthetic".to_owned())]);
    let symbols = client.rows("SELECT DISTINCT symbol FROM mbo ORDER BY symbol").await.unwrap();
    assert_eq!(texts(&symbols, "symbol"), ["SYNA", "SYNB"].map(|text| Some(text.to_owned())));
    for symbol in ["SYNA", "SYNB"] {
        let rows = client.rows(&format!("SELECT * FROM mbo WHERE symbol = '{symbol}'")).await.unwrap();
        let (action, side, id, size) = (texts(&rows, "action"), texts(&rows, "side"), longs(&rows, "order_id"), longs(&rows, "size"));
        let price: Vec<Option<i64>> = rows.iter().flat_map(|b| b["price"].as_primitive::<Decimal64Type>().iter().collect::<Vec<_>>()).collect();
        let flags: Vec<i16> = rows.iter().flat_map(|b| b["flags"].as_primitive::<Int16Type>().values().to_vec()).collect();
        assert!(nanos(&rows, "ts_recv").is_sorted());
        assert!((100_000..260_000).contains(&action.len()), "{symbol}: {} rows", action.len());
        assert_eq!((action[0].as_deref(), flags[0] & 32, price[0]), (Some("R"), 32, None));
        let mut book = Book::default();
        let (mut groups, mut narrow, mut deep, mut trades, mut filled) = (0u32, 0u32, 0u32, 0u32, 0i64);
        let tick = if symbol == "SYNA" { 250_000_000 } else { 10_000_000 };
        for row in 0..action.len() {
            let bid = side[row].as_deref() == Some("B");
            let at = price[row].unwrap_or_default();
            match action[row].as_deref().unwrap() {
                "R" => book = Book::default(),
                "A" => {
                    assert!(!book.orders.contains_key(&id[row]));
                    book.change(id[row], bid, at, size[row]);
                }
                "C" => {
                    assert_eq!(book.orders.get(&id[row]).map(|order| (order.0, order.1)), Some((bid, at)), "row {row}");
                    book.change(id[row], bid, at, -size[row]);
                }
                "M" => {
                    let old = book.orders[&id[row]];
                    assert_eq!(old.0, bid);
                    book.change(id[row], bid, old.1, -old.2);
                    book.change(id[row], bid, at, size[row]);
                }
                "T" => {
                    assert_eq!(filled, 0, "the fills of the trade before add up");
                    (trades, filled) = (trades + 1, size[row]);
                    let best =
                        if bid { book.levels[0].keys().find(|price| **price == at) } else { book.levels[1].keys().find(|price| **price == at) };
                    assert!(best.is_some());
                }
                "F" => {
                    assert_eq!(book.orders.get(&id[row]).map(|order| (order.0, order.1)), Some((bid, at)));
                    filled -= size[row];
                }
                other => panic!("action {other}"),
            }
            if flags[row] & 128 == 0 {
                continue;
            }
            assert_eq!(filled, 0);
            groups += 1;
            let (best_bid, best_ask) = (*book.levels[1].keys().next_back().unwrap(), *book.levels[0].keys().next().unwrap());
            assert!(best_bid < best_ask, "row {row}: never crossed or locked");
            narrow += u32::from(best_ask - best_bid <= 2 * tick);
            deep += u32::from(book.levels.iter().all(|side| side.len() >= 15));
        }
        assert_eq!(*flags.last().unwrap() & 128, 128);
        assert!(narrow > groups / 10 * 9, "{symbol}: the spread is one or two ticks most of the time: {narrow} of {groups}");
        assert!(deep > groups / 10 * 9, "{symbol}: fifteen levels a side most of the time: {deep} of {groups}");
        assert!(trades > groups / 50, "{symbol}: {trades} trades in {groups} events");
    }
}
