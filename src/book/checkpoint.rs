//! A book as flat bytes, and back. Checkpoints stay in the worker that made them, so there is one version and no promise beyond it.
//!
//! ```text
//! 0 u8 version (1)   1 u8 kind (1, 2, 3)   2 u8 price scale   3 u8 size scale
//! 4 u8 flags: 1 begun, 2 partial, 4 stale, 8 last trade, 16 snapshot running, 32 event group open, 64 counted since
//! then, each only with its flag: i64 counted since · i64 partial since · i64 price, i64 size, i64 time, u8 aggressor · u64 levels before the snapshot
//! seven u64 findings
//! bids, asks: u32 levels, best first
//!   L3:     i64 price, u32 orders, u8 marked; each order by priority: u64 id, i64 size, and where marked u8 aggregate
//!   L1, L2: i64 price, i128 size, u32 count (0xFFFFFFFF none)
//! ```
//! Integers are little-endian. The undo journal is not kept.

use std::fmt;

use super::depth::DepthBook;
use super::orders::OrderBook;
use super::state::{BookTrade, Findings, State};
use super::{Body, Book, BookLevel, BookOrder};
use crate::market::BookKind;
use crate::units::{Aggressor, Price, Scale, Side, Size, UnixNanos};

const VERSION: u8 = 1;

/// The bytes are not a checkpoint of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CheckpointError {
    /// Byte offset of what is wrong.
    pub offset: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl fmt::Display for CheckpointError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "checkpoint: expected {} at byte {}", self.expected, self.offset)
    }
}

impl std::error::Error for CheckpointError {}

impl Book {
    /// Appends the book to `out`.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let state = &self.state;
        let flags = u8::from(state.begun)
            | u8::from(state.partial_since.is_some()) << 1
            | u8::from(state.stale) << 2
            | u8::from(state.last_trade.is_some()) << 3
            | u8::from(state.before_snapshot.is_some()) << 4
            | u8::from(self.group_open) << 5
            | u8::from(state.since.is_some()) << 6;
        out.extend([VERSION, self.kind().number(), self.price_scale.0, self.size_scale.0, flags]);
        if let Some(since) = state.since {
            out.extend(since.0.to_le_bytes());
        }
        if let Some(since) = state.partial_since {
            out.extend(since.0.to_le_bytes());
        }
        if let Some(trade) = state.last_trade {
            out.extend(trade.price.0.to_le_bytes());
            out.extend(trade.size.0.to_le_bytes());
            out.extend(trade.time.0.to_le_bytes());
            out.push(match trade.aggressor {
                Aggressor::None => 0,
                Aggressor::Buy => 1,
                Aggressor::Sell => 2,
            });
        }
        if let Some(hash) = state.before_snapshot {
            out.extend(hash.to_le_bytes());
        }
        for count in counts(&state.findings) {
            out.extend(count.to_le_bytes());
        }
        for side in [Side::Bid, Side::Ask] {
            out.extend((self.level_count(side) as u32).to_le_bytes());
            match &self.body {
                Body::Orders(book) => {
                    let mut orders = book.marked_queue(side);
                    for (price, count, marked) in book.groups(side) {
                        out.extend(price.0.to_le_bytes());
                        out.extend(count.to_le_bytes());
                        out.push(u8::from(marked));
                        for (order, aggregate) in orders.by_ref().take(count as usize) {
                            out.extend(order.id.to_le_bytes());
                            out.extend(order.size.0.to_le_bytes());
                            if marked {
                                out.push(u8::from(aggregate));
                            }
                        }
                    }
                }
                Body::Depth(book) => {
                    for level in book.levels(side) {
                        out.extend(level.price.0.to_le_bytes());
                        out.extend(level.size.to_le_bytes());
                        out.extend(level.count.unwrap_or(u32::MAX).to_le_bytes());
                    }
                }
            }
        }
    }

    /// Reads a book back. It goes on exactly as the one that was written would have.
    ///
    /// # Errors
    /// When the bytes are cut short, of another version, or hold what no book can.
    pub fn decode(bytes: &[u8]) -> Result<Book, CheckpointError> {
        let mut reader = Reader { bytes, at: 0 };
        reader.expect(reader.byte_at(0)? == VERSION, "version 1")?;
        reader.at = 1;
        let kind = match reader.u8()? {
            1 => BookKind::L1,
            2 => BookKind::L2,
            3 => BookKind::L3,
            _ => return Err(CheckpointError { offset: 1, expected: "a kind of 1, 2 or 3" }),
        };
        let (price_scale, size_scale) = (Scale(reader.u8()?), Scale(reader.u8()?));
        reader.expect(price_scale.max(size_scale) <= Scale::MAX, "scales up to 18")?;
        let flags = reader.u8()?;
        let mut state = State { begun: flags & 1 != 0, stale: flags & 4 != 0, ..State::default() };
        if flags & 64 != 0 {
            state.since = Some(UnixNanos(reader.i64()?));
        }
        if flags & 2 != 0 {
            state.partial_since = Some(UnixNanos(reader.i64()?));
        }
        if flags & 8 != 0 {
            let (price, size, time) = (Price(reader.i64()?), Size(reader.i64()?), UnixNanos(reader.i64()?));
            let aggressor = match reader.u8()? {
                0 => Aggressor::None,
                1 => Aggressor::Buy,
                2 => Aggressor::Sell,
                _ => return Err(CheckpointError { offset: reader.at - 1, expected: "an aggressor of 0, 1 or 2" }),
            };
            state.last_trade = Some(BookTrade { price, size, aggressor, time });
        }
        if flags & 16 != 0 {
            state.before_snapshot = Some(reader.u64()?);
        }
        for count in counts_mut(&mut state.findings) {
            *count = reader.u64()?;
        }
        let body = match kind {
            BookKind::L3 => Body::Orders(reader.orders()?),
            BookKind::L1 | BookKind::L2 => Body::Depth(reader.depth(kind)?),
        };
        reader.expect(reader.at == bytes.len(), "the end")?;
        Ok(Book { body, state, price_scale, size_scale, group_open: flags & 32 != 0 })
    }
}

fn counts(findings: &Findings) -> [u64; 7] {
    let mut copy = *findings;
    counts_mut(&mut copy).map(|count| *count)
}

fn counts_mut(findings: &mut Findings) -> [&mut u64; 7] {
    let Findings { crossed, locked, unknown_orders, duplicate_orders, malformed_orders, maybe_bad, snapshot_differs } = findings;
    [crossed, locked, unknown_orders, duplicate_orders, malformed_orders, maybe_bad, snapshot_differs]
}

struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Reader<'_> {
    fn expect(&self, holds: bool, expected: &'static str) -> Result<(), CheckpointError> {
        if holds { Ok(()) } else { Err(CheckpointError { offset: self.at, expected }) }
    }

    fn byte_at(&self, at: usize) -> Result<u8, CheckpointError> {
        self.bytes.get(at).copied().ok_or(CheckpointError { offset: at, expected: "more bytes" })
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], CheckpointError> {
        let array = self.bytes.get(self.at..).and_then(|rest| rest.first_chunk::<N>());
        let array = array.copied().ok_or(CheckpointError { offset: self.at, expected: "more bytes" })?;
        self.at += N;
        Ok(array)
    }

    fn u8(&mut self) -> Result<u8, CheckpointError> {
        self.array().map(u8::from_le_bytes)
    }

    fn u32(&mut self) -> Result<u32, CheckpointError> {
        self.array().map(u32::from_le_bytes)
    }

    fn u64(&mut self) -> Result<u64, CheckpointError> {
        self.array().map(u64::from_le_bytes)
    }

    fn i64(&mut self) -> Result<i64, CheckpointError> {
        self.array().map(i64::from_le_bytes)
    }

    fn orders(&mut self) -> Result<OrderBook, CheckpointError> {
        let mut book = OrderBook::default();
        // An order takes at least 16 bytes, so this is no more than the bytes at hand can hold.
        book.reserve(self.bytes.len().saturating_sub(self.at) / 16);
        for side in [Side::Bid, Side::Ask] {
            for _ in 0..self.u32()? {
                let (price, count, marked) = (Price(self.i64()?), self.u32()?, self.u8()? != 0);
                self.expect(count > 0, "a level with orders")?;
                for _ in 0..count {
                    let order = BookOrder { id: self.u64()?, price, size: Size(self.i64()?) };
                    let aggregate = marked && self.u8()? != 0;
                    let fits = order.size.0 > 0 && book.restore(side, order, aggregate);
                    self.expect(fits, "an order with a size and an id of its own before this byte")?;
                }
            }
        }
        Ok(book)
    }

    fn depth(&mut self, kind: BookKind) -> Result<DepthBook, CheckpointError> {
        let mut book = DepthBook::new(kind);
        for side in [Side::Bid, Side::Ask] {
            let mut levels = Vec::new();
            for _ in 0..self.u32()? {
                let (price, size, count) = (Price(self.i64()?), i128::from_le_bytes(self.array()?), self.u32()?);
                levels.push(BookLevel { price, size, count: (count != u32::MAX).then_some(count) });
            }
            book.restore(side, levels);
        }
        Ok(book)
    }
}
