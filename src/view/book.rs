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
