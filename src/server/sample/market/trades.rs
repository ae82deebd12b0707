//! Market orders: how much they want, what they take, and what that does to those who see it.

use dbn::MboMsg;

use super::super::day::{MILLE, SECOND};
use super::super::orders::{Order, Side};
use super::{FEWEST_LEVELS, FLURRY_NANOS, LATER_NANOS, Market, SOON_NANOS};

/// One trade brings forth so many of its own side soon, of its own side later, of the other side soon, in thousandths.
const SOON: u64 = 330;
const LATER: u64 = 320;
const ACROSS: u64 = 90;
/// A half-life by the mean life, ln 2, in thousandths.
const HALF_LIFE: u64 = 693;
/// Limit orders and cancels that answer a trade at once, in thousandths.
const FLURRY: u64 = 1_600;
/// A trade's fading push, in its lasting one.
const FADING_PUSH: i64 = 4;
/// How nervous sweeps can make a market.
const MOST_NERVES: u64 = 2_500;

impl Market {
    /// A market order of `aggressor` takes what rests on the other side.
    pub(super) fn take(&mut self, aggressor: Side, group: &mut Vec<MboMsg>) {
        let resting = aggressor.opposite();
        let wanted = self.take_size(resting);
        let touched = self.orders(resting).best();
        let mut left = wanted;
        while left > 0 && self.orders(resting).levels() > FEWEST_LEVELS {
            let before = left;
            self.take_level(resting, &mut left, group);
            if left == before {
                break;
            }
        }
        let taken = wanted - left;
        if taken == 0 {
            return self.place(resting, group);
        }
        self.excite(aggressor, taken);
        // Quotes that were swept away make the rest nervous.
        let levels = touched.zip(self.orders(resting).best()).map_or(0, |(before, after)| (after - before).unsigned_abs());
        self.nerves = (self.nerves + levels.saturating_sub(1) * 120).min(MOST_NERVES);
        if levels > 0 {
            self.flurry += FLURRY * 2 * HALF_LIFE * 1_000 / FLURRY_NANOS * (SECOND / 1_000);
        }
    }

    /// How much a market order wants: mostly a usual size and not more than is there, at times all of the best price, seldom several.
    fn take_size(&mut self, resting: Side) -> u64 {
        let best = self.orders(resting).at_best().1;
        let usual = u64::from(self.size());
        match self.random.below(1_000) {
            0..11 => {
                let levels = 2 + self.random.tries(550, 7).unsigned_abs();
                self.orders(resting).size_of_best(levels as usize) - self.random.below(best)
            }
            11..110 => best,
            110..200 => usual,
            _ => usual.min(best),
        }
    }

    /// Takes from the best price what is there and wanted. What an iceberg shows next is in the queue when the level's turn comes again.
    fn take_level(&mut self, resting: Side, left: &mut u64, group: &mut Vec<MboMsg>) {
        let Some(price) = self.orders(resting).best() else { return };
        let (queued, _) = self.orders(resting).at_best();
        let trade = group.len();
        group.push(self.record(b'T', resting.opposite().letter(), self.money(price), 0, 0, 0));
        let mut traded = 0;
        let mut shown_next = Vec::new();
        let mut removals = Vec::new();
        for _ in 0..queued {
            let Some((slot, order)) = self.orders(resting).slot_at_best(0).and_then(|slot| Some((slot, self.orders(resting).get(slot)?))) else {
                break;
            };
            let size = u64::from(order.size).min(*left) as u32;
            *left -= u64::from(size);
            traded += size;
            group.push(self.record(b'F', resting.letter(), self.money(price), size, order.id, 0));
            removals.push(self.record(b'C', resting.letter(), self.money(price), size, order.id, 0));
            if size == order.size {
                self.orders_mut(resting).remove(slot);
                if order.hidden > 0 {
                    shown_next.push(order);
                }
            } else {
                self.orders_mut(resting).shrink(slot, size);
            }
            if *left == 0 {
                break;
            }
        }
        group[trade].size = traded;
        group.append(&mut removals);
        for order in shown_next {
            let size = order.shown.min(order.hidden);
            let next = Order { hidden: order.hidden - size, shown: order.shown, ..Order::new(self.new_id(), price, size) };
            self.orders_mut(resting).add(next);
            group.push(self.record(b'A', resting.letter(), self.money(price), size, next.id, 0));
        }
    }

    /// What a trade does to those who see it.
    fn excite(&mut self, aggressor: Side, taken: u64) {
        let (own, other) = if aggressor == Side::Bid { (0, 1) } else { (1, 0) };
        let rate = |children: u64, half_life: u64| children * 1_000 * HALF_LIFE / MILLE * SECOND / half_life;
        self.soon[own] += rate(SOON, SOON_NANOS);
        self.soon[other] += rate(ACROSS, SOON_NANOS);
        self.later[own] += rate(LATER, LATER_NANOS);
        self.flurry += rate(FLURRY, FLURRY_NANOS);
        // A trade ten times as large moves the value twice as far, not ten times.
        let usual = self.instrument.usual_trade;
        let weight = (taken * 10 / usual.max(1)).max(1).ilog2().cast_signed() as i64;
        let impact = self.instrument.impact * weight / 3 * aggressor.sign();
        self.fair += impact;
        self.push += impact * FADING_PUSH;
    }
}
