//! A book without any cleverness, to hold the real one against: orders in one list, everything found by searching it.

use tickscope::market::{Change, Event, OrderAction};
use tickscope::units::Side;

/// An order, in the order in which priority was gained.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NaiveOrder {
    /// Id.
    pub id: u64,
    /// Side.
    pub side: Side,
    /// Price.
    pub price: i64,
    /// Size.
    pub size: i64,
    /// Stands for a whole level or side.
    pub aggregate: bool,
}

/// A level: price, size, count, and the orders as (id, size).
pub type NaiveLevel = (i64, i128, Option<u32>, Vec<(u64, i64)>);

/// See the file's head.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NaiveBook {
    orders: Vec<NaiveOrder>,
}

impl NaiveBook {
    /// Applies an event by the rules as they are written down.
    pub fn apply(&mut self, event: &Event<'_>) {
        if event.starts_book {
            self.orders.clear();
        }
        let change = match event.change {
            Change::Clear => return self.orders.clear(),
            Change::Order(change) | Change::Executed { order: change, .. } => change,
            Change::Trade(_) | Change::Close(_) | Change::Nothing | Change::Depth { .. } | Change::Level(_) => return,
        };
        let price = change.price.map(|price| price.0);
        let size = change.size.0;
        if size < 0 {
            return;
        }
        if event.flags.top_of_book() || event.flags.aggregated() {
            let Some(side) = change.side else { return };
            let at_level = |order: &NaiveOrder| order.side == side && Some(order.price) == price;
            if matches!(change.action, OrderAction::Cancel | OrderAction::Delete) {
                let at = self.orders.iter().position(at_level);
                if let Some(at) = at.filter(|at| self.orders[*at].aggregate) {
                    self.take_off(at, if change.action == OrderAction::Delete { i64::MAX } else { size });
                }
                return;
            }
            let tob = event.flags.top_of_book();
            self.orders.retain(|order| !(order.side == side && (tob || Some(order.price) == price)));
            if let Some(price) = price.filter(|_| size > 0) {
                self.orders.push(NaiveOrder { id: change.id, side, price, size, aggregate: true });
            }
            return;
        }
        let known = self.orders.iter().position(|order| !order.aggregate && order.id == change.id);
        let new = match (change.side, price) {
            (Some(side), Some(price)) if size > 0 => Some(NaiveOrder { id: change.id, side, price, size, aggregate: false }),
            _ => None,
        };
        match (change.action, known) {
            (OrderAction::Cancel, Some(at)) => self.take_off(at, size),
            (OrderAction::Delete, Some(at)) => {
                self.orders.remove(at);
            }
            (OrderAction::Cancel | OrderAction::Delete, None) => {}
            (OrderAction::Add, at) => {
                if let Some(new) = new {
                    if let Some(at) = at {
                        self.orders.remove(at);
                    }
                    self.orders.push(new);
                }
            }
            (OrderAction::Modify, None) => self.orders.extend(new),
            (OrderAction::Modify, Some(at)) => {
                let mut order = self.orders[at].clone();
                let (old_side, old_price, old_size) = (order.side, order.price, order.size);
                order.side = change.side.unwrap_or(old_side);
                order.price = price.unwrap_or(old_price);
                order.size = size;
                if size == 0 {
                    self.orders.remove(at);
                } else if (order.side, order.price) == (old_side, old_price) && size <= old_size {
                    self.orders[at] = order;
                } else {
                    self.orders.remove(at);
                    self.orders.push(order);
                }
            }
        }
    }

    fn take_off(&mut self, at: usize, size: i64) {
        self.orders[at].size -= size;
        if self.orders[at].size <= 0 {
            self.orders.remove(at);
        }
    }

    /// Levels of a side, best first.
    pub fn levels(&self, side: Side) -> Vec<NaiveLevel> {
        let of_side = || self.orders.iter().filter(move |order| order.side == side);
        let mut prices: Vec<i64> = of_side().map(|order| order.price).collect();
        prices.sort_unstable();
        prices.dedup();
        if side == Side::Bid {
            prices.reverse();
        }
        let level = |price: i64| {
            let orders: Vec<&NaiveOrder> = of_side().filter(|order| order.price == price).collect();
            let size = orders.iter().map(|order| i128::from(order.size)).sum();
            let count = if orders.iter().any(|order| order.aggregate) { None } else { Some(orders.len() as u32) };
            (price, size, count, orders.iter().map(|order| (order.id, order.size)).collect())
        };
        prices.into_iter().map(level).collect()
    }
}
