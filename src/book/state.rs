//! What a book knows beside its levels. It is small and `Copy`: each event group saves it, so that it can be undone.

use super::{BookError, Lift};
use crate::market::Trade;
use crate::units::{Aggressor, Price, Size, UnixNanos};

/// A trade with its time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookTrade {
    /// Price at the book's scale.
    pub price: Price,
    /// Size at the book's scale.
    pub size: Size,
    /// Who initiated it.
    pub aggressor: Aggressor,
    /// Designated time.
    pub time: UnixNanos,
}

impl BookTrade {
    pub(super) fn new(trade: Trade, time: UnixNanos, lift: Lift) -> Result<BookTrade, BookError> {
        BookTrade { price: trade.price, size: trade.size, aggressor: trade.aggressor, time }.lifted(lift)
    }

    pub(super) fn lifted(self, lift: Lift) -> Result<BookTrade, BookError> {
        Ok(BookTrade { price: lift.price(self.price)?, size: lift.size(self.size)?, ..self })
    }
}

/// Counts of what was found wrong or unusual in what was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Findings {
    /// Event groups after which the book was crossed.
    pub crossed: u64,
    /// Event groups after which it was locked.
    pub locked: u64,
    /// Cancels and modifies of orders that the book does not hold. Such a modify adds the order.
    pub unknown_orders: u64,
    /// Adds of orders that it does hold. The new one replaces the old one.
    pub duplicate_orders: u64,
    /// Changes that lack a side, a price or a size, or have a negative one. They are left out.
    pub malformed_orders: u64,
    /// Rows that the source itself marks as doubtful (`MAYBE_BAD_BOOK`).
    pub maybe_bad: u64,
    /// Snapshots that differed from the book rebuilt up to them.
    pub snapshot_differs: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct State {
    /// An event was applied.
    pub(super) begun: bool,
    /// Time of the first event that was applied: what the findings are counted from.
    pub(super) since: Option<UnixNanos>,
    pub(super) partial_since: Option<UnixNanos>,
    pub(super) stale: bool,
    pub(super) last_trade: Option<BookTrade>,
    /// Hash of the levels that the running snapshot replaced.
    pub(super) before_snapshot: Option<u64>,
    pub(super) findings: Findings,
}

impl State {
    /// The book is known from here on: a clear, a snapshot, a row with all levels.
    pub(super) fn start_whole(&mut self) {
        self.begun = true;
        self.partial_since = None;
        self.stale = false;
    }

    /// A first event that changes what was there before shows that there was something.
    pub(super) fn start_partial(&mut self, time: UnixNanos) {
        if !self.begun {
            self.begun = true;
            self.partial_since = Some(time);
        }
    }

    /// Whether a snapshot can be held against the book rebuilt up to it. A clear inside a snapshot keeps the first comparison.
    pub(super) fn comparable(&self, entries: usize) -> bool {
        self.begun && self.partial_since.is_none() && !self.stale && entries > 0 && self.before_snapshot.is_none()
    }
}
