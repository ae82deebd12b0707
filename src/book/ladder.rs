//! One side's levels in order of price.

use std::collections::BTreeMap;

use crate::units::{Price, Side};

/// Price → place of the level, best first to read.
#[derive(Debug, Clone)]
pub(super) struct Ladder {
    side: Side,
    levels: BTreeMap<Price, u32>,
}

impl Ladder {
    pub(super) fn new(side: Side) -> Ladder {
        Ladder { side, levels: BTreeMap::new() }
    }

    pub(super) fn get(&self, price: Price) -> Option<u32> {
        self.levels.get(&price).copied()
    }

    pub(super) fn insert(&mut self, price: Price, level: u32) {
        self.levels.insert(price, level);
    }

    pub(super) fn remove(&mut self, price: Price) {
        self.levels.remove(&price);
    }

    pub(super) fn clear(&mut self) {
        self.levels.clear();
    }

    pub(super) fn len(&self) -> usize {
        self.levels.len()
    }

    pub(super) fn best(&self) -> Option<u32> {
        self.iter().next()
    }

    /// Best first.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        let mut levels = self.levels.values();
        let side = self.side;
        std::iter::from_fn(move || if side == Side::Bid { levels.next_back() } else { levels.next() }.copied())
    }
}
