//! Limit orders: where they are placed, how large they are, and how they leave.

use dbn::MboMsg;

use super::super::day::MILLE;
use super::super::orders::{Order, Side};
use super::{FEWEST_LEVELS, Market, OPENING_LEVELS, PER_TICK};

impl Market {
    /// A new limit order: one that would have to be taken at once is placed as near as it can be.
    pub(super) fn place(&mut self, side: Side, group: &mut Vec<MboMsg>) {
        // Most want to trade soon, others wait far away for what may come.
        let behind = match self.random.below(10) {
            0..5 => self.random.tries(500, 12),
            5..9 => self.random.tries(1_000 / self.instrument.patience.unsigned_abs(), 60),
            _ => self.random.below(OPENING_LEVELS.unsigned_abs()).cast_signed(),
        };
        let price = self.quote(side, behind);
        let order = self.new_order(price, behind);
        group.push(self.record(b'A', side.letter(), self.money(price), order.size, order.id, 0));
        self.orders_mut(side).add(order);
    }

    /// The price of an order that stands so many ticks behind what its owner thinks is the best one, never across the market.
    pub(super) fn quote(&mut self, side: Side, behind: i64) -> i64 {
        let day = self.day.now();
        let half = self.instrument.half_spread;
        let caution = (day.caution + self.nerves).cast_signed();
        let distance = half + (half + PER_TICK / 2) * caution / MILLE.cast_signed() + behind * PER_TICK;
        let opinion = self.fair + self.push + self.random.around(self.instrument.disagreement);
        match side {
            Side::Bid => {
                let price = (opinion - distance).div_euclid(PER_TICK);
                self.asks.best().map_or(price, |ask| price.min(ask - 1))
            }
            Side::Ask => {
                let price = (opinion + distance + PER_TICK - 1).div_euclid(PER_TICK);
                self.bids.best().map_or(price, |bid| price.max(bid + 1))
            }
        }
    }

    /// Takes an order away, or changes it. Orders near the touch go more often than those far away.
    pub(super) fn withdraw(&mut self, side: Side, group: &mut Vec<MboMsg>) {
        let orders = self.orders(side);
        let (count, sign) = (orders.len(), side.sign());
        let (first, second) = (self.random.below(count), self.random.below(count));
        let orders = self.orders(side);
        let (Some(first), Some(second)) = (orders.slot(first), orders.slot(second)) else { return };
        let nearness = |slot: u32| orders.get(slot).map_or(i64::MIN, |order| order.price * sign);
        let near = if nearness(first) >= nearness(second) { first } else { second };
        let slot = if self.random.chance(350) { near } else { first };
        match self.random.below(100) {
            0..9 => self.reprice(side, slot, group),
            9..13 => self.resize(side, slot, group),
            _ => self.cancel(side, slot, group),
        }
    }

    pub(super) fn cancel(&mut self, side: Side, slot: u32, group: &mut Vec<MboMsg>) {
        if self.orders(side).levels() <= FEWEST_LEVELS {
            return self.place(side, group);
        }
        let Some(order) = self.orders_mut(side).remove(slot) else { return };
        group.push(self.record(b'C', side.letter(), self.money(order.price), order.size, order.id, 0));
    }

    /// Moves an order to the back of another price.
    fn reprice(&mut self, side: Side, slot: u32, group: &mut Vec<MboMsg>) {
        let behind = self.random.tries(400, 15);
        let price = self.quote(side, behind);
        let Some(order) = self.orders(side).get(slot).filter(|order| order.price != price) else { return };
        if self.orders(side).levels() <= FEWEST_LEVELS {
            return;
        }
        self.orders_mut(side).remove(slot);
        self.orders_mut(side).add(Order { price, ..order });
        group.push(self.record(b'M', side.letter(), self.money(price), order.size, order.id, 0));
    }

    /// Makes an order smaller, which keeps its place.
    fn resize(&mut self, side: Side, slot: u32, group: &mut Vec<MboMsg>) {
        let Some(order) = self.orders(side).get(slot).filter(|order| order.size > 1) else { return };
        let by = order.size - order.size / 2;
        self.orders_mut(side).shrink(slot, by);
        group.push(self.record(b'M', side.letter(), self.money(order.price), order.size - by, order.id, 0));
    }

    pub(super) fn new_order(&mut self, price: i64, behind: i64) -> Order {
        let mut size = self.size();
        if behind > 6 && self.random.chance(300) {
            size *= 2;
        }
        let order = Order::new(self.new_id(), price, size);
        match behind < 3 && self.random.chance(self.instrument.icebergs) {
            true => Order { hidden: size * (3 + self.random.tries(120, 20) as u32), ..order },
            false => order,
        }
    }

    pub(super) fn size(&mut self) -> u32 {
        let lot = self.instrument.sizes.first().map_or(1, |first| first.0);
        match self.random.chance(self.instrument.odd) {
            true => 1 + self.random.below(u64::from(lot - 1)) as u32,
            false => self.random.pick(self.instrument.sizes),
        }
    }
}
