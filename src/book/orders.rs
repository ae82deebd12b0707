//! The L3 book: single orders in price levels, in order of priority.
//!
//! Orders lie in a slab and are linked within their level, so that a cancel finds its order by id and takes it out without a
//! search. Freed places are used again, last freed first; the journal takes changes back in reverse, so each order returns to the
//! place and between the neighbours it had.

use std::collections::HashMap;

use foldhash::fast::FixedState;

use super::digest::Digest;
use super::journal::Journal;
use super::ladder::Ladder;
use super::state::{Findings, State};
use super::{BookError, BookLevel, BookOrder, Lift};
use crate::market::{BookKind, Flags, OrderAction, OrderChange};
use crate::units::{Price, Scale, Side, Size};

const NIL: u32 = u32::MAX;

#[derive(Debug, Clone, Copy)]
pub(super) struct Node {
    id: u64,
    size: i64,
    level: u32,
    prev: u32,
    next: u32,
    /// A whole level or side that the feed sends as one record: it has no id to find it by, and is not counted.
    aggregate: bool,
}

#[derive(Debug, Clone, Copy)]
struct Level {
    side: Side,
    price: Price,
    size: i128,
    head: u32,
    tail: u32,
    nodes: u32,
    aggregates: u32,
}

/// How a change is taken back.
#[derive(Debug, Clone, Copy)]
pub(super) enum Undo {
    /// Take out the order in this place.
    Added { slot: u32 },
    /// Put this order back.
    Removed { node: Node, place: Place },
    /// Give the order its old size.
    Resized { slot: u32, size: i64 },
    /// Take the order from its new place to its old one.
    Moved { slot: u32, size: i64, place: Place },
}

/// Where an order stands.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    price: Price,
    side: Side,
    prev: u32,
    next: u32,
}

/// A slab whose freed places are used again, last freed first.
#[derive(Debug, Clone)]
struct Slab<T> {
    cells: Vec<T>,
    free: Vec<u32>,
}

impl<T> Slab<T> {
    fn put(&mut self, value: T) -> u32 {
        match self.free.pop() {
            Some(slot) => {
                self.cells[slot as usize] = value;
                slot
            }
            None => {
                self.cells.push(value);
                self.cells.len() as u32 - 1
            }
        }
    }

    fn clear(&mut self) {
        self.cells.clear();
        self.free.clear();
    }

    fn bytes(&self) -> usize {
        self.cells.capacity() * size_of::<T>() + self.free.capacity() * size_of::<u32>()
    }
}

/// See the module's head.
#[derive(Debug, Clone)]
pub(super) struct OrderBook {
    nodes: Slab<Node>,
    levels: Slab<Level>,
    ids: HashMap<u64, u32, FixedState>,
    bids: Ladder,
    asks: Ladder,
    pub(super) journal: Journal<Undo>,
}

impl Default for OrderBook {
    fn default() -> Self {
        OrderBook {
            nodes: Slab { cells: Vec::new(), free: Vec::new() },
            levels: Slab { cells: Vec::new(), free: Vec::new() },
            ids: HashMap::with_hasher(FixedState::with_seed(HASH_SEED)),
            bids: Ladder::new(Side::Bid),
            asks: Ladder::new(Side::Ask),
            journal: Journal::default(),
        }
    }
}

/// Any number; the same everywhere, so that two runs do the same work.
const HASH_SEED: u64 = 0x7469_636b_7363_6f70;

impl OrderBook {
    /// Forgets every order.
    pub(super) fn clear(&mut self) {
        self.journal.barrier();
        self.nodes.clear();
        self.levels.clear();
        self.ids.clear();
        self.bids.clear();
        self.asks.clear();
    }

    /// Makes one change.
    pub(super) fn apply(&mut self, order: OrderChange, flags: Flags, findings: &mut Findings) {
        // A negative size would make a cancel add.
        if order.size.0 < 0 {
            findings.malformed_orders += 1;
            return;
        }
        if flags.top_of_book() || flags.aggregated() {
            return self.apply_aggregate(order, flags, findings);
        }
        let slot = self.ids.get(&order.id).copied();
        match (order.action, slot) {
            (OrderAction::Add, None) => self.add(order, findings),
            (OrderAction::Add, Some(slot)) => {
                findings.duplicate_orders += 1;
                if wanted(order).is_some() {
                    self.remove(slot);
                }
                self.add(order, findings);
            }
            (OrderAction::Cancel, Some(slot)) => {
                let left = self.nodes.cells[slot as usize].size.saturating_sub(order.size.0);
                if left > 0 { self.resize(slot, left) } else { self.remove(slot) }
            }
            (OrderAction::Delete, Some(slot)) => self.remove(slot),
            (OrderAction::Cancel | OrderAction::Delete, None) => findings.unknown_orders += 1,
            (OrderAction::Modify, Some(slot)) => self.modify(slot, order),
            (OrderAction::Modify, None) => {
                findings.unknown_orders += 1;
                self.add(order, findings);
            }
        }
    }

    fn add(&mut self, order: OrderChange, findings: &mut Findings) {
        let Some((side, price)) = wanted(order) else {
            findings.malformed_orders += 1;
            return;
        };
        let slot = self.nodes.put(Node { id: order.id, size: order.size.0, level: NIL, prev: NIL, next: NIL, aggregate: false });
        self.ids.insert(order.id, slot);
        self.link_last(slot, side, price);
        self.journal.push(Undo::Added { slot });
    }

    /// An order keeps its place only if the price stays and the size does not grow.
    fn modify(&mut self, slot: u32, order: OrderChange) {
        let node = self.nodes.cells[slot as usize];
        let level = self.levels.cells[node.level as usize];
        let (side, price) = (order.side.unwrap_or(level.side), order.price.unwrap_or(level.price));
        if order.size.0 == 0 {
            return self.remove(slot);
        }
        if (side, price) == (level.side, level.price) && order.size.0 <= node.size {
            if order.size.0 != node.size {
                self.resize(slot, order.size.0);
            }
            return;
        }
        let place = self.unlink(slot);
        self.nodes.cells[slot as usize].size = order.size.0;
        self.link_last(slot, side, price);
        self.journal.push(Undo::Moved { slot, size: node.size, place });
    }

    /// A record that stands for a whole level (`F_MBP`) or side (`F_TOB`): an add or modify replaces it, a cancel takes off it.
    fn apply_aggregate(&mut self, order: OrderChange, flags: Flags, findings: &mut Findings) {
        let Some(side) = order.side else {
            findings.malformed_orders += 1;
            return;
        };
        if matches!(order.action, OrderAction::Cancel | OrderAction::Delete) {
            let level = order.price.and_then(|price| self.ladder(side).get(price));
            let head = level.map(|level| self.levels.cells[level as usize].head);
            match head.filter(|slot| self.nodes.cells[*slot as usize].aggregate) {
                None => findings.unknown_orders += 1,
                Some(slot) => {
                    let left = self.nodes.cells[slot as usize].size.saturating_sub(order.size.0);
                    if left > 0 && order.action == OrderAction::Cancel { self.resize(slot, left) } else { self.remove(slot) }
                }
            }
            return;
        }
        if flags.top_of_book() {
            while let Some(level) = self.ladder(side).best() {
                self.remove_level(level);
            }
        } else if let Some(level) = order.price.and_then(|price| self.ladder(side).get(price)) {
            self.remove_level(level);
        }
        match order.price {
            // Without a price the side is empty, which top-of-book feeds say this way.
            None if flags.top_of_book() => {}
            None => findings.malformed_orders += 1,
            Some(price) if order.size.0 > 0 => {
                let slot = self.nodes.put(Node { id: order.id, size: order.size.0, level: NIL, prev: NIL, next: NIL, aggregate: true });
                self.link_last(slot, side, price);
                self.journal.push(Undo::Added { slot });
            }
            Some(_) => {}
        }
    }

    fn remove_level(&mut self, level: u32) {
        let mut slot = self.levels.cells[level as usize].head;
        while slot != NIL {
            let next = self.nodes.cells[slot as usize].next;
            self.remove(slot);
            slot = next;
        }
    }

    fn resize(&mut self, slot: u32, size: i64) {
        let node = &mut self.nodes.cells[slot as usize];
        let old = std::mem::replace(&mut node.size, size);
        self.levels.cells[node.level as usize].size += i128::from(size) - i128::from(old);
        self.journal.push(Undo::Resized { slot, size: old });
    }

    fn remove(&mut self, slot: u32) {
        let place = self.unlink(slot);
        let node = self.nodes.cells[slot as usize];
        self.release(slot);
        self.journal.push(Undo::Removed { node, place });
    }

    fn release(&mut self, slot: u32) {
        let node = self.nodes.cells[slot as usize];
        if !node.aggregate {
            self.ids.remove(&node.id);
        }
        self.nodes.free.push(slot);
    }

    fn ladder(&self, side: Side) -> &Ladder {
        match side {
            Side::Bid => &self.bids,
            Side::Ask => &self.asks,
        }
    }

    fn ladder_mut(&mut self, side: Side) -> &mut Ladder {
        match side {
            Side::Bid => &mut self.bids,
            Side::Ask => &mut self.asks,
        }
    }

    fn link_last(&mut self, slot: u32, side: Side, price: Price) {
        let prev = self.ladder(side).get(price).map_or(NIL, |level| self.levels.cells[level as usize].tail);
        self.link(slot, Place { price, side, prev, next: NIL });
    }

    /// Links an order between two neighbours of its level, which is made if there is none.
    fn link(&mut self, slot: u32, place: Place) {
        let level = match self.ladder(place.side).get(place.price) {
            Some(level) => level,
            None => {
                let empty = Level { side: place.side, price: place.price, size: 0, head: NIL, tail: NIL, nodes: 0, aggregates: 0 };
                let level = self.levels.put(empty);
                self.ladder_mut(place.side).insert(place.price, level);
                level
            }
        };
        let node = &mut self.nodes.cells[slot as usize];
        (node.level, node.prev, node.next) = (level, place.prev, place.next);
        let (size, aggregate) = (node.size, node.aggregate);
        let level = &mut self.levels.cells[level as usize];
        level.size += i128::from(size);
        level.nodes += 1;
        level.aggregates += u32::from(aggregate);
        match place.prev {
            NIL => level.head = slot,
            prev => self.nodes.cells[prev as usize].next = slot,
        }
        match place.next {
            NIL => level.tail = slot,
            next => self.nodes.cells[next as usize].prev = slot,
        }
    }

    /// Takes an order out of its level, which goes when it was the last.
    fn unlink(&mut self, slot: u32) -> Place {
        let node = self.nodes.cells[slot as usize];
        let level = &mut self.levels.cells[node.level as usize];
        let place = Place { price: level.price, side: level.side, prev: node.prev, next: node.next };
        level.size -= i128::from(node.size);
        level.nodes -= 1;
        level.aggregates -= u32::from(node.aggregate);
        match node.prev {
            NIL => level.head = node.next,
            prev => self.nodes.cells[prev as usize].next = node.next,
        }
        match node.next {
            NIL => level.tail = node.prev,
            next => self.nodes.cells[next as usize].prev = node.prev,
        }
        if self.levels.cells[node.level as usize].nodes == 0 {
            self.levels.free.push(node.level);
            self.ladder_mut(place.side).remove(place.price);
        }
        place
    }

    /// Takes back the newest group.
    pub(super) fn undo(&mut self) -> Option<State> {
        let (state, ops) = self.journal.take_group()?;
        for _ in 0..ops {
            match self.journal.pop()? {
                Undo::Added { slot } => {
                    self.unlink(slot);
                    self.release(slot);
                }
                Undo::Removed { node, place } => {
                    let slot = self.nodes.put(node);
                    if !node.aggregate {
                        self.ids.insert(node.id, slot);
                    }
                    self.link(slot, place);
                }
                Undo::Resized { slot, size } => {
                    let node = &mut self.nodes.cells[slot as usize];
                    let newer = std::mem::replace(&mut node.size, size);
                    self.levels.cells[node.level as usize].size += i128::from(size) - i128::from(newer);
                }
                Undo::Moved { slot, size, place } => {
                    self.unlink(slot);
                    self.nodes.cells[slot as usize].size = size;
                    self.link(slot, place);
                }
            }
        }
        Some(state)
    }

    /// Levels, best first.
    pub(super) fn levels(&self, side: Side) -> impl Iterator<Item = BookLevel> + '_ {
        self.ladder(side).iter().map(|level| self.levels.cells[level as usize].shown())
    }

    pub(super) fn level_count(&self, side: Side) -> usize {
        self.ladder(side).len()
    }

    /// How many orders there are, aggregates included.
    pub(super) fn orders(&self) -> usize {
        self.nodes.cells.len() - self.nodes.free.len()
    }

    /// Orders, best level first, then by priority.
    pub(super) fn queue(&self, side: Side) -> impl Iterator<Item = BookOrder> + '_ {
        self.marked_queue(side).map(|(order, _)| order)
    }

    /// The same, with the mark of an aggregate.
    pub(super) fn marked_queue(&self, side: Side) -> impl Iterator<Item = (BookOrder, bool)> + '_ {
        self.ladder(side).iter().flat_map(|level| {
            let level = &self.levels.cells[level as usize];
            self.nodes_of(level).map(|node| (BookOrder { id: node.id, price: level.price, size: Size(node.size) }, node.aggregate))
        })
    }

    /// Levels as a checkpoint holds them: price, orders, and whether an aggregate is among them.
    pub(super) fn groups(&self, side: Side) -> impl Iterator<Item = (Price, u32, bool)> + '_ {
        self.ladder(side).iter().map(|level| {
            let level = &self.levels.cells[level as usize];
            (level.price, level.nodes, level.aggregates > 0)
        })
    }

    /// Makes room for the orders of a checkpoint.
    pub(super) fn reserve(&mut self, orders: usize) {
        self.nodes.cells.reserve(orders);
        self.ids.reserve(orders);
    }

    /// Puts an order of a checkpoint at the back of its level; false when its id is there already.
    pub(super) fn restore(&mut self, side: Side, order: BookOrder, aggregate: bool) -> bool {
        if !aggregate && self.ids.contains_key(&order.id) {
            return false;
        }
        let slot = self.nodes.put(Node { id: order.id, size: order.size.0, level: NIL, prev: NIL, next: NIL, aggregate });
        if !aggregate {
            self.ids.insert(order.id, slot);
        }
        self.link_last(slot, side, order.price);
        true
    }

    fn nodes_of(&self, level: &Level) -> impl Iterator<Item = &Node> + '_ {
        let mut slot = level.head;
        std::iter::from_fn(move || {
            let node = self.nodes.cells.get(slot as usize)?;
            slot = node.next;
            Some(node)
        })
    }

    pub(super) fn digest(&self, price_scale: Scale, size_scale: Scale) -> u64 {
        self.hash(true, price_scale, size_scale)
    }

    /// A hash of the levels alone: two right rebuilds can differ in the order of a queue.
    pub(super) fn fingerprint(&self, price_scale: Scale, size_scale: Scale) -> u64 {
        self.hash(false, price_scale, size_scale)
    }

    fn hash(&self, queues: bool, price_scale: Scale, size_scale: Scale) -> u64 {
        let mut digest = Digest::new(BookKind::L3, price_scale, size_scale);
        for side in [Side::Bid, Side::Ask] {
            if side == Side::Ask {
                digest.asks();
            }
            for level in self.ladder(side).iter() {
                let level = &self.levels.cells[level as usize];
                digest.level(&level.shown());
                if queues {
                    for node in self.nodes_of(level) {
                        digest.order(node.id, node.size);
                    }
                }
            }
        }
        digest.finish()
    }

    pub(super) fn rescale(&mut self, lift: Lift) -> Result<(), BookError> {
        for side in [Side::Bid, Side::Ask] {
            for order in self.queue(side) {
                lift.price(order.price)?;
                lift.size(order.size)?;
            }
        }
        let mut rescaled = OrderBook::default();
        for side in [Side::Bid, Side::Ask] {
            for (order, aggregate) in self.marked_queue(side) {
                let order = BookOrder { id: order.id, price: lift.price(order.price)?, size: lift.size(order.size)? };
                rescaled.restore(side, order, aggregate);
            }
        }
        rescaled.journal.barrier();
        *self = rescaled;
        Ok(())
    }

    pub(super) fn memory_bytes(&self) -> usize {
        // A map entry is key, value and one control byte; a tree node is about two thirds full.
        let ids = self.ids.capacity() * (size_of::<(u64, u32)>() + 1);
        let ladders = (self.bids.len() + self.asks.len()) * (size_of::<(Price, u32)>() + size_of::<(Price, u32)>() / 2);
        self.nodes.bytes() + self.levels.bytes() + ids + ladders + self.journal.memory_bytes()
    }
}

impl Level {
    fn shown(&self) -> BookLevel {
        let count = if self.aggregates == 0 { Some(self.nodes) } else { None };
        BookLevel { price: self.price, size: self.size, count }
    }
}

/// Where an order belongs; `None` when it lacks a side, a price or a size.
fn wanted(order: OrderChange) -> Option<(Side, Price)> {
    Some((order.side?, order.price?)).filter(|_| order.size.0 > 0)
}
