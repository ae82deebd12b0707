//! L1 and L2 books of feeds that send levels: the whole book in a row, which replaces what was there, or one level a row.
//!
//! Each side lies worst level first, so that what comes and goes at the best prices moves few others.

use super::digest::Digest;
use super::journal::Journal;
use super::state::{Findings, State};
use super::{BookError, BookLevel, Lift};
use crate::market::{BookKind, DepthLevel, DepthRow, LevelChange};
use crate::units::{Price, Scale, Side};

/// How a change is taken back.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    /// A level of the book before: bids then asks, each worst first.
    Level(BookLevel),
    /// Behind those levels: how many there are.
    Row { bids: u32, asks: u32, kind: BookKind },
    /// The level was this.
    Was { side: Side, level: BookLevel },
    /// There was no level at the price.
    WasNot { side: Side, price: Price },
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

    /// Best first.
    pub(super) fn levels(&self, side: Side) -> impl ExactSizeIterator<Item = &BookLevel> {
        match side {
            Side::Bid => self.bids.iter().rev(),
            Side::Ask => self.asks.iter().rev(),
        }
    }

    pub(super) fn entries(&self) -> usize {
        self.bids.len() + self.asks.len()
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

    /// Writes down the whole book, so that what replaces it can be taken back.
    fn remember(&mut self) {
        for level in self.bids.iter().chain(&self.asks) {
            self.journal.push(Undo::Level(*level));
        }
        self.journal.push(Undo::Row { bids: self.bids.len() as u32, asks: self.asks.len() as u32, kind: self.kind });
    }

    /// Replaces the book; the row was checked.
    pub(super) fn replace(&mut self, row: &DepthRow, lift: Lift) {
        self.remember();
        let lifted = |level: &DepthLevel| BookLevel {
            price: Price(level.price.0.saturating_mul(lift.price)),
            size: i128::from(level.size.0) * i128::from(lift.size),
            count: level.count,
        };
        self.bids.clear();
        self.bids.extend(row.bids.iter().rev().map(lifted));
        self.asks.clear();
        self.asks.extend(row.asks.iter().rev().map(lifted));
        self.kind = if row.capacity <= 1 { BookKind::L1 } else { BookKind::L2 };
    }

    /// Forgets every level.
    pub(super) fn clear(&mut self) {
        self.remember();
        self.bids.clear();
        self.asks.clear();
    }

    /// Gives one level its new size. One that goes without being there is nothing remarkable: feeds take away levels that came from
    /// below their depth.
    pub(super) fn change(&mut self, level: LevelChange, findings: &mut Findings) {
        let LevelChange { side: Some(side), price: Some(price), size: Some(size) } = level else {
            findings.malformed_orders += 1;
            return;
        };
        if size.0 < 0 {
            findings.malformed_orders += 1;
            return;
        }
        let new = (size.0 > 0).then_some(BookLevel { price, size: i128::from(size.0), count: None });
        match self.set(side, price, new) {
            Some(level) => self.journal.push(Undo::Was { side, level }),
            None if new.is_some() => self.journal.push(Undo::WasNot { side, price }),
            None => {}
        }
    }

    /// Puts a level in its place, or takes it out; gives back what was there.
    fn set(&mut self, side: Side, price: Price, new: Option<BookLevel>) -> Option<BookLevel> {
        let levels = if side == Side::Bid { &mut self.bids } else { &mut self.asks };
        let place = levels.binary_search_by(|level| match side {
            Side::Bid => level.price.cmp(&price),
            Side::Ask => price.cmp(&level.price),
        });
        match (place, new) {
            (Ok(at), Some(new)) => Some(std::mem::replace(&mut levels[at], new)),
            (Ok(at), None) => Some(levels.remove(at)),
            (Err(at), Some(new)) => {
                levels.insert(at, new);
                None
            }
            (Err(_), None) => None,
        }
    }

    /// Takes back the newest group.
    pub(super) fn undo(&mut self) -> Option<State> {
        let (state, mut ops) = self.journal.take_group()?;
        while ops > 0 {
            ops = ops.saturating_sub(1);
            let (bids, asks, kind) = match self.journal.pop()? {
                Undo::Row { bids, asks, kind } => (bids, asks, kind),
                Undo::Was { side, level } => {
                    self.set(side, level.price, Some(level));
                    continue;
                }
                Undo::WasNot { side, price } => {
                    self.set(side, price, None);
                    continue;
                }
                Undo::Level(_) => return None,
            };
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
            ops = ops.saturating_sub(bids + asks);
        }
        Some(state)
    }

    /// Takes the levels of a checkpoint, best first.
    pub(super) fn restore(&mut self, side: Side, mut levels: Vec<BookLevel>) {
        levels.reverse();
        match side {
            Side::Bid => self.bids = levels,
            Side::Ask => self.asks = levels,
        }
    }

    pub(super) fn digest(&self, price_scale: Scale, size_scale: Scale) -> u64 {
        let mut digest = Digest::new(self.kind, price_scale, size_scale);
        self.levels(Side::Bid).for_each(|level| digest.level(level));
        digest.asks();
        self.levels(Side::Ask).for_each(|level| digest.level(level));
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
