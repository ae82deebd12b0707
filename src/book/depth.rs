//! L1 and L2 books of feeds whose rows carry the whole book: a row replaces what was there.

use super::digest::Digest;
use super::journal::Journal;
use super::state::State;
use super::{BookError, BookLevel, Lift};
use crate::market::{BookKind, DepthLevel, DepthRow};
use crate::units::{Price, Scale, Side};

/// The row before: its levels, bids then asks, best first, and behind them how many there are.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    Level(BookLevel),
    Row { bids: u32, asks: u32, kind: BookKind },
}

#[derive(Debug, Clone)]
pub(super) struct DepthBook {
    bids: Vec<BookLevel>,
    asks: Vec<BookLevel>,
    kind: BookKind,
    pub(super) journal: Journal<Undo>,
}

impl DepthBook {
    pub(super) fn new(kind: BookKind) -> DepthBook {
        DepthBook { bids: Vec::new(), asks: Vec::new(), kind, journal: Journal::default() }
    }

    pub(super) fn kind(&self) -> BookKind {
        self.kind
    }

    pub(super) fn levels(&self, side: Side) -> &[BookLevel] {
        match side {
            Side::Bid => &self.bids,
            Side::Ask => &self.asks,
        }
    }

    /// Whether every number of a row fits.
    pub(super) fn check(&self, row: &DepthRow, lift: Lift) -> Result<(), BookError> {
        if lift.price == 1 && lift.size == 1 {
            return Ok(());
        }
        row.bids.iter().chain(&row.asks).try_for_each(|level| {
            lift.price(level.price)?;
            lift.size(level.size)?;
            Ok(())
        })
    }

    /// Replaces the book; the row was checked.
    pub(super) fn replace(&mut self, row: &DepthRow, lift: Lift) {
        for level in self.bids.iter().chain(&self.asks) {
            self.journal.push(Undo::Level(*level));
        }
        self.journal.push(Undo::Row { bids: self.bids.len() as u32, asks: self.asks.len() as u32, kind: self.kind });
        let lifted = |level: &DepthLevel| BookLevel {
            price: Price(level.price.0.saturating_mul(lift.price)),
            size: i128::from(level.size.0) * i128::from(lift.size),
            count: level.count,
        };
        self.bids.clear();
        self.bids.extend(row.bids.iter().map(lifted));
        self.asks.clear();
        self.asks.extend(row.asks.iter().map(lifted));
        self.kind = if row.capacity <= 1 { BookKind::L1 } else { BookKind::L2 };
    }

    /// Takes back the newest group.
    pub(super) fn undo(&mut self) -> Option<State> {
        let (state, mut ops) = self.journal.take_group()?;
        while ops > 0 {
            let Undo::Row { bids, asks, kind } = self.journal.pop()? else { return None };
            self.kind = kind;
            for (side, count) in [(&mut self.asks, asks), (&mut self.bids, bids)] {
                side.clear();
                for _ in 0..count {
                    if let Some(Undo::Level(level)) = self.journal.pop() {
                        side.push(level);
                    }
                }
                side.reverse();
            }
            ops = ops.saturating_sub(1 + bids + asks);
        }
        Some(state)
    }

    /// Takes the levels of a checkpoint.
    pub(super) fn restore(&mut self, side: Side, level: BookLevel) {
        match side {
            Side::Bid => self.bids.push(level),
            Side::Ask => self.asks.push(level),
        }
    }

    pub(super) fn digest(&self, price_scale: Scale, size_scale: Scale) -> u64 {
        let mut digest = Digest::new(self.kind, price_scale, size_scale);
        self.bids.iter().for_each(|level| digest.level(level));
        digest.asks();
        self.asks.iter().for_each(|level| digest.level(level));
        digest.finish()
    }

    pub(super) fn rescale(&mut self, lift: Lift) -> Result<(), BookError> {
        self.bids.iter().chain(&self.asks).try_for_each(|level| lift.price(level.price).map(|_| ()))?;
        for level in self.bids.iter_mut().chain(&mut self.asks) {
            level.price = lift.price(level.price)?;
            level.size *= i128::from(lift.size);
        }
        self.journal.barrier();
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        (self.bids.capacity() + self.asks.capacity()) * size_of::<BookLevel>() + self.journal.memory_bytes()
    }
}
