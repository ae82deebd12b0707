//! A book as JSON, as a table of text and as CSV. Every number is an exact decimal.

use std::fmt::Write;

use crate::book::{Book, BookLevel, BookOrder, DepthSnapshot};
use crate::link::{BookJson, LevelJson, OrderJson, OrdersJson};
use crate::units::{Decimal, Moment, Scale, Side, iso};

/// Which book, when, and how much of it.
#[derive(Debug, Clone)]
pub struct BookCaption<'a> {
    /// Instrument.
    pub symbol: &'a str,
    /// The moment it is true for.
    pub as_of: Moment,
    /// Events of the range applied so far.
    pub events: u64,
    /// Publisher, where the feed names one.
    pub publisher: Option<u32>,
    /// Instrument id, where the feed names one.
    pub instrument: Option<&'a str>,
    /// Levels a side.
    pub levels: usize,
    /// With every order.
    pub orders: bool,
    /// With the digest, which costs time in proportion to the book.
    pub digest: bool,
}

/// The book as `tickscope book --format json` and `state().book` give it.
#[must_use]
pub fn book_json(book: &Book, caption: &BookCaption<'_>) -> BookJson {
    let mut depth = DepthSnapshot::default();
    book.depth(caption.levels, &mut depth);
    let top = book.best();
    BookJson {
        symbol: caption.symbol.to_owned(),
        as_of: caption.as_of.to_string(),
        event: caption.events.to_string(),
        kind: book.kind().name().to_owned(),
        publisher: caption.publisher,
        instrument: caption.instrument.map(str::to_owned),
        partial_since: book.partial_since().map(|time| time.to_string()),
        bids: levels_json(&depth.bids, &depth),
        asks: levels_json(&depth.asks, &depth),
        crossed: top.crossed(),
        locked: top.locked(),
        stale: book.stale(),
        digest: if caption.digest { digest_text(book.digest()) } else { String::new() },
        orders: caption.orders.then(|| OrdersJson { bids: orders_json(book, Side::Bid), asks: orders_json(book, Side::Ask) }),
    }
}

/// 16 lower-case hex digits.
#[must_use]
pub fn digest_text(digest: u64) -> String {
    format!("{digest:016x}")
}

fn decimal(mantissa: impl Into<i128>, scale: Scale) -> String {
    Decimal::new(mantissa.into(), scale).to_string()
}

fn levels_json(levels: &[BookLevel], depth: &DepthSnapshot) -> Vec<LevelJson> {
    let level = |level: &BookLevel| LevelJson {
        price: decimal(level.price.0, depth.price_scale),
        size: decimal(level.size, depth.size_scale),
        count: level.count,
    };
    levels.iter().map(level).collect()
}

fn orders_json(book: &Book, side: Side) -> Vec<OrderJson> {
    let order = |order: BookOrder| OrderJson {
        id: order.id.to_string(),
        price: decimal(order.price.0, book.price_scale()),
        size: decimal(order.size.0, book.size_scale()),
    };
    book.orders(side).map(order).collect()
}

/// The book as a table: what it is, then a line a level with bids on the left and asks on the right, then the orders if asked for.
#[must_use]
pub fn book_text(book: &Book, caption: &BookCaption<'_>) -> String {
    let json = book_json(book, caption);
    let mut out = String::new();
    // Writing to a String cannot fail.
    let _ = writeln!(out, "{} {} as of {} ({}), event {}", json.symbol, json.kind, iso(caption.as_of.time), json.as_of, json.event);
    let mut remarks = Vec::new();
    if let Some(publisher) = json.publisher {
        remarks.push(format!("publisher {publisher}"));
    }
    if let Some(instrument) = &json.instrument {
        remarks.push(format!("instrument {instrument}"));
    }
    if json.crossed {
        remarks.push("crossed".to_owned());
    }
    if json.locked {
        remarks.push("locked".to_owned());
    }
    if json.stale {
        remarks.push("stale: the source says that it may be wrong".to_owned());
    }
    if let Some(since) = book.partial_since() {
        remarks.push(format!("partial since {} ({since}): no snapshot or clear precedes", iso(since)));
    }
    if !json.digest.is_empty() {
        remarks.push(format!("digest {}", json.digest));
    }
    if !remarks.is_empty() {
        let _ = writeln!(out, "{}", remarks.join(", "));
    }
    let mut rows = vec![["orders", "size", "bid", "ask", "size", "orders"].map(str::to_owned)];
    for index in 0..json.bids.len().max(json.asks.len()) {
        let cells = |level: Option<&LevelJson>| match level {
            None => [String::new(), String::new(), String::new()],
            Some(level) => [level.price.clone(), level.size.clone(), level.count.map_or_else(String::new, |count| count.to_string())],
        };
        let [bid, bid_size, bid_count] = cells(json.bids.get(index));
        let [ask, ask_size, ask_count] = cells(json.asks.get(index));
        rows.push([bid_count, bid_size, bid, ask, ask_size, ask_count]);
    }
    write_table(&mut out, &rows);
    if let Some(orders) = &json.orders {
        for (name, orders) in [("bid orders", &orders.bids), ("ask orders", &orders.asks)] {
            let _ = writeln!(out, "{name}, by priority");
            let mut rows = vec![["price", "size", "id"].map(str::to_owned)];
            rows.extend(orders.iter().map(|order| [order.price.clone(), order.size.clone(), order.id.clone()]));
            write_table(&mut out, &rows);
        }
    }
    out
}

/// Right-aligned columns.
fn write_table<const N: usize>(out: &mut String, rows: &[[String; N]]) {
    let widths: [usize; N] = std::array::from_fn(|column| rows.iter().map(|row| row[column].len()).max().unwrap_or(0));
    for row in rows {
        let cells: Vec<String> = row.iter().zip(widths).map(|(cell, width)| format!("{cell:>width$}")).collect();
        let _ = writeln!(out, "{}", cells.join("  ").trim_end());
    }
}

/// The book as CSV: `side,level,price,size,count`, or with orders `side,level,price,size,id`; levels count from 0, best first.
#[must_use]
pub fn book_csv(book: &Book, caption: &BookCaption<'_>) -> String {
    let json = book_json(book, caption);
    let mut out = String::new();
    if let Some(orders) = &json.orders {
        out.push_str("side,level,price,size,id\n");
        for (side, orders) in [("bid", &orders.bids), ("ask", &orders.asks)] {
            let (mut level, mut price) = (0, orders.first().map(|order| &order.price));
            for order in orders {
                if price != Some(&order.price) {
                    level += 1;
                    price = Some(&order.price);
                }
                let _ = writeln!(out, "{side},{level},{},{},{}", order.price, order.size, order.id);
            }
        }
        return out;
    }
    out.push_str("side,level,price,size,count\n");
    for (side, levels) in [("bid", &json.bids), ("ask", &json.asks)] {
        for (index, level) in levels.iter().enumerate() {
            let count = level.count.map_or_else(String::new, |count| count.to_string());
            let _ = writeln!(out, "{side},{index},{},{},{count}", level.price, level.size);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::market::{BookKind, Change, Event, Flags, OrderAction, OrderChange};
    use crate::units::{Price, Size, UnixNanos};

    fn book() -> Book {
        let mut book = Book::new(BookKind::L3);
        let orders = [(Side::Bid, 7, 521_400, 20), (Side::Bid, 8, 521_400, 7), (Side::Bid, 9, 521_375, 1), (Side::Ask, 10, 521_425, 15)];
        for (time, (side, id, price, size)) in (1_715_126_400_059_830_540..).zip(orders) {
            let order = OrderChange { action: OrderAction::Add, side: Some(side), id, price: Some(Price(price)), size: Size(size) };
            let time = UnixNanos(time);
            let change = Change::Order(order);
            let event = Event { time, venue_time: None, sequence: None, flags: Flags(0), starts_book: false, change };
            book.apply(&event, Scale(2), Scale(1)).unwrap();
        }
        let _ = book.end_group();
        book
    }

    fn caption(orders: bool) -> BookCaption<'static> {
        BookCaption {
            symbol: "ESM4",
            as_of: "1715126400059830547/2".parse().unwrap(),
            events: 13_601,
            publisher: Some(1),
            instrument: Some("17077"),
            levels: 10,
            orders,
            digest: true,
        }
    }

    #[test]
    fn the_json_has_the_agreed_form() {
        let book = book();
        let json = serde_json::to_value(book_json(&book, &caption(true))).unwrap();
        let expected = serde_json::json!({
            "symbol": "ESM4", "asOf": "1715126400059830547/2", "event": "13601", "kind": "L3", "publisher": 1, "instrument": "17077",
            "partialSince": "1715126400059830540",
            "bids": [{"price": "5214", "size": "2.7", "count": 2}, {"price": "5213.75", "size": "0.1", "count": 1}],
            "asks": [{"price": "5214.25", "size": "1.5", "count": 1}],
            "crossed": false, "locked": false, "stale": false, "digest": format!("{:016x}", book.digest()),
            "orders": {
                "bids": [{"id": "7", "price": "5214", "size": "2"}, {"id": "8", "price": "5214", "size": "0.7"},
                         {"id": "9", "price": "5213.75", "size": "0.1"}],
                "asks": [{"id": "10", "price": "5214.25", "size": "1.5"}],
            },
        });
        assert_eq!(json, expected);
        let plain = serde_json::to_value(book_json(&book, &BookCaption { digest: false, levels: 1, ..caption(false) })).unwrap();
        assert_eq!((&plain["orders"], &plain["digest"], plain["bids"].as_array().unwrap().len()), (&serde_json::Value::Null, &"".into(), 1));
    }

    #[test]
    fn the_text_lines_up() {
        let text = book_text(&book(), &BookCaption { digest: false, ..caption(true) });
        let expected = "\
ESM4 L3 as of 2024-05-08T00:00:00.059830547Z (1715126400059830547/2), event 13601
publisher 1, instrument 17077, partial since 2024-05-08T00:00:00.059830540Z (1715126400059830540): no snapshot or clear precedes
orders  size      bid      ask  size  orders
     2   2.7     5214  5214.25   1.5       1
     1   0.1  5213.75
bid orders, by priority
  price  size  id
   5214     2   7
   5214   0.7   8
5213.75   0.1   9
ask orders, by priority
  price  size  id
5214.25   1.5  10
";
        assert_eq!(text, expected);
    }

    #[test]
    fn the_csv_has_a_line_a_level_or_an_order() {
        let csv = book_csv(&book(), &caption(false));
        assert_eq!(csv, "side,level,price,size,count\nbid,0,5214,2.7,2\nbid,1,5213.75,0.1,1\nask,0,5214.25,1.5,1\n");
        let csv = book_csv(&book(), &caption(true));
        assert_eq!(csv, "side,level,price,size,id\nbid,0,5214,2,7\nbid,0,5214,0.7,8\nbid,1,5213.75,0.1,9\nask,0,5214.25,1.5,10\n");
    }
}
