//! The orders that rest at the venue: what the model knows, whether or not a message of it was lost on the way.

use std::collections::{BTreeMap, VecDeque};

/// Side of a resting order, or of who took it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Bid,
    Ask,
}

impl Side {
    /// Both.
    pub(super) const BOTH: [Side; 2] = [Side::Bid, Side::Ask];

    /// As the columns write it.
    pub(super) fn letter(self) -> u8 {
        match self {
            Side::Bid => b'B',
            Side::Ask => b'A',
        }
    }

    /// The other one.
    pub(super) fn opposite(self) -> Side {
        match self {
            Side::Bid => Side::Ask,
            Side::Ask => Side::Bid,
        }
    }

    /// 1 where a higher price is better for it, else −1.
    pub(super) fn sign(self) -> i64 {
        match self {
            Side::Bid => 1,
            Side::Ask => -1,
        }
    }
}

/// One resting order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Order {
    pub(super) id: u64,
    /// In ticks.
    pub(super) price: i64,
    pub(super) size: u32,
    /// What it shows again when it is filled, and how much of that is left.
    pub(super) hidden: u32,
    pub(super) shown: u32,
    /// Its place among those of its side, in no order.
    pub(super) place: u32,
}

/// The orders of one price, first come first served, and the sum of their sizes.
#[derive(Debug, Default)]
struct Level {
    queue: VecDeque<u32>,
    size: u64,
}

/// One side.
pub(super) struct Orders {
    side: Side,
    slots: Vec<Order>,
    free: Vec<u32>,
    /// The slots that are in use, in no order: any order can be picked with equal chance.
    used: Vec<u32>,
    levels: BTreeMap<i64, Level>,
}

impl Orders {
    /// None.
    pub(super) fn new(side: Side) -> Orders {
        Orders { side, slots: Vec::new(), free: Vec::new(), used: Vec::new(), levels: BTreeMap::new() }
    }

    /// How many there are.
    pub(super) fn len(&self) -> u64 {
        self.used.len() as u64
    }

    /// How many prices they stand at.
    pub(super) fn levels(&self) -> usize {
        self.levels.len()
    }

    /// The best price, in ticks.
    pub(super) fn best(&self) -> Option<i64> {
        self.best_level().map(|(&price, _)| price)
    }

    /// Orders at the best price, and what they show together.
    pub(super) fn at_best(&self) -> (u64, u64) {
        self.best_level().map_or((0, 0), |(_, level)| (level.queue.len() as u64, level.size))
    }

    /// What the best `levels` prices show together.
    pub(super) fn size_of_best(&self, levels: usize) -> u64 {
        match self.side {
            Side::Bid => self.levels.values().rev().take(levels).map(|level| level.size).sum(),
            Side::Ask => self.levels.values().take(levels).map(|level| level.size).sum(),
        }
    }

    /// All, best price first, in the order in which they are served.
    pub(super) fn in_order(&self) -> impl Iterator<Item = Order> + '_ {
        let mut levels = self.levels.values();
        let best_first = std::iter::from_fn(move || if self.side == Side::Bid { levels.next_back() } else { levels.next() });
        best_first.flat_map(|level| level.queue.iter()).filter_map(|&slot| self.slots.get(slot as usize).copied())
    }

    /// Lets an order queue at the back of its price.
    pub(super) fn add(&mut self, order: Order) {
        let order = Order { place: self.used.len() as u32, ..order };
        let slot = match self.free.pop() {
            Some(slot) => {
                self.slots[slot as usize] = order;
                slot
            }
            None => {
                self.slots.push(order);
                (self.slots.len() - 1) as u32
            }
        };
        self.used.push(slot);
        let level = self.levels.entry(order.price).or_default();
        level.queue.push_back(slot);
        level.size += u64::from(order.size);
    }

    /// An order by its place among all of the side: any number below [`Orders::len`].
    pub(super) fn slot(&self, place: u64) -> Option<u32> {
        self.used.get(usize::try_from(place).ok()?).copied()
    }

    /// The order at a place of the best price's queue.
    pub(super) fn slot_at_best(&self, place: u64) -> Option<u32> {
        self.best_level()?.1.queue.get(usize::try_from(place).ok()?).copied()
    }

    /// An order.
    pub(super) fn get(&self, slot: u32) -> Option<Order> {
        self.slots.get(slot as usize).copied()
    }

    /// Takes an order away.
    pub(super) fn remove(&mut self, slot: u32) -> Option<Order> {
        let order = self.get(slot)?;
        self.used.swap_remove(order.place as usize);
        if let Some(&moved) = self.used.get(order.place as usize) {
            self.slots[moved as usize].place = order.place;
        }
        self.free.push(slot);
        let level = self.levels.get_mut(&order.price)?;
        level.size -= u64::from(order.size);
        if level.queue.front() == Some(&slot) {
            level.queue.pop_front();
        } else {
            level.queue.retain(|&other| other != slot);
        }
        if level.queue.is_empty() {
            self.levels.remove(&order.price);
        }
        Some(order)
    }

    /// Makes an order smaller; it keeps its place.
    pub(super) fn shrink(&mut self, slot: u32, by: u32) {
        let Some(order) = self.slots.get_mut(slot as usize) else { return };
        order.size -= by;
        if let Some(level) = self.levels.get_mut(&order.price) {
            level.size -= u64::from(by);
        }
    }

    fn best_level(&self) -> Option<(&i64, &Level)> {
        match self.side {
            Side::Bid => self.levels.last_key_value(),
            Side::Ask => self.levels.first_key_value(),
        }
    }
}

impl Order {
    /// An order that shows all of itself.
    pub(super) fn new(id: u64, price: i64, size: u32) -> Order {
        Order { id, price, size, hidden: 0, shown: size, place: 0 }
    }
}
