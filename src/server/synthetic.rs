//! The session that is served when no file is given: made by this program, the same on every machine, and labelled synthetic.
//!
//! Two instruments trade for half an hour in the layout of Databento's MBO. Each has a fair value that wanders; orders gather around
//! it, are cancelled and moved, and are hit by market orders that come in bursts. Everything is integer arithmetic on a fixed seed.
//!
//! The records keep the rules of the real layout: the session opens with a clear and a snapshot, every cancel and modify names a
//! resting order, a trade is T (the aggressor), then F for each order it met, then C for what it took, and the last record of an
//! event carries `F_LAST`.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, VecDeque};
use std::path::Path;

use dbn::{FlagSet, MboMsg, RecordHeader, TsSymbolMap, UNDEF_PRICE, flags, rtype};

use super::error::ServeError;
use super::import::dbn::Rows;
use super::import::{IMPORT_BATCH_ROWS, TableWriter};

/// Raised when the session changes, so that a cached one is made anew.
pub(crate) const VERSION: u32 = 1;

/// 2024-05-08T13:30:00Z.
const OPENING_NANOS: u64 = 1_715_175_000_000_000_000;
const SESSION_NANOS: u64 = 30 * 60 * 1_000_000_000;
const INSTRUMENTS: [Instrument; 2] = [
    Instrument { id: 1, symbol: "SYNA", tick: 250_000_000, opening_ticks: 20_800, mean_gap_nanos: 40_000_000, lot: 1, seed: 0x51AC_0001 },
    Instrument { id: 2, symbol: "SYNB", tick: 10_000_000, opening_ticks: 17_950, mean_gap_nanos: 52_000_000, lot: 100, seed: 0x51AC_0002 },
];

/// Price levels of a side at the opening, and the fewest that are kept.
const OPENING_LEVELS: i64 = 24;
/// Resting orders of a side above which cancels get the upper hand.
const CROWDED: usize = 220;
/// The fair value moves in steps of a tick's eighth.
const FAIR_PER_TICK: i64 = 8;

struct Instrument {
    id: u32,
    symbol: &'static str,
    /// In 1e-9.
    tick: i64,
    opening_ticks: i64,
    /// Between events when nothing excites the market.
    mean_gap_nanos: u64,
    lot: u32,
    seed: u64,
}

/// Writes the session.
///
/// # Errors
/// A failing disk.
pub(crate) fn write(writer: &mut TableWriter) -> Result<(), ServeError> {
    let origin = Path::new("synthetic");
    let failed = |problem: &dyn std::fmt::Display| ServeError::engine("making the synthetic session", problem);
    let mut symbols = TsSymbolMap::new();
    let mut markets = Vec::new();
    for instrument in &INSTRUMENTS {
        symbols.insert(instrument.id, OPENING_NANOS, OPENING_NANOS + SESSION_NANOS, instrument.symbol).map_err(|error| failed(&error))?;
        markets.push(Market::new(instrument));
    }
    let mut rows = Rows::new();
    let mut written = 0;
    let mut sequence = 1_000;
    let mut due: BinaryHeap<Reverse<(u64, usize)>> = markets.iter().enumerate().map(|(index, _)| Reverse((OPENING_NANOS, index))).collect();
    let mut group = Vec::new();
    while let Some(Reverse((now, index))) = due.pop() {
        let Some(market) = markets.get_mut(index) else { break };
        group.clear();
        let next = market.event(now, &mut group);
        sequence += 1;
        for record in &mut group {
            record.sequence = sequence;
            rows.push(record, &symbols);
        }
        if next < OPENING_NANOS + SESSION_NANOS {
            due.push(Reverse((next, index)));
        }
        if rows.len() >= IMPORT_BATCH_ROWS || due.is_empty() {
            let batch = rows.take(writer.schema()).map_err(|error| failed(&error))?;
            writer.write(&batch, origin, written)?;
            written += batch.num_rows() as u64;
        }
    }
    Ok(())
}

/// Pseudo-random numbers (SplitMix64).
struct Random(u64);

impl Random {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `bound` − 1.
    fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// True that many times of a thousand.
    fn chance(&mut self, of_thousand: u64) -> bool {
        self.below(1_000) < of_thousand
    }

    /// How often an event with that chance fails before it happens, at most `most`.
    fn tries(&mut self, of_thousand: u64, most: i64) -> i64 {
        let mut count = 0;
        while count < most && !self.chance(of_thousand) {
            count += 1;
        }
        count
    }

    /// About exponential with that mean: sixteen equally likely quantiles, each spread evenly.
    fn gap(&mut self, mean: u64) -> u64 {
        const QUANTILES_PER_MILLE: [u64; 17] = [0, 65, 134, 208, 288, 375, 470, 575, 693, 827, 981, 1_163, 1_386, 1_674, 2_079, 2_773, 4_500];
        let slot = self.below(16) as usize;
        let (low, high) = (QUANTILES_PER_MILLE[slot], QUANTILES_PER_MILLE[slot + 1]);
        mean * (low * 1_000 + self.below((high - low) * 1_000 + 1)) / 1_000_000 + 1
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum BookSide {
    Bid,
    Ask,
}

impl BookSide {
    fn letter(self) -> u8 {
        match self {
            BookSide::Bid => b'B',
            BookSide::Ask => b'A',
        }
    }

    fn opposite(self) -> BookSide {
        match self {
            BookSide::Bid => BookSide::Ask,
            BookSide::Ask => BookSide::Bid,
        }
    }
}

struct Resting {
    id: u64,
    size: u32,
}

/// One side, by price in ticks; the front of a queue is served first.
#[derive(Default)]
struct Orders {
    levels: BTreeMap<i64, VecDeque<Resting>>,
    count: usize,
}

struct Market {
    instrument: &'static Instrument,
    random: Random,
    /// In eighths of a tick.
    fair: i64,
    bids: Orders,
    asks: Orders,
    next_order: u64,
    opened: bool,
    /// How much faster than usual events come, in thousandths; trades raise it, time calms it.
    excitement: u64,
}

impl Market {
    fn new(instrument: &'static Instrument) -> Market {
        Market {
            instrument,
            random: Random(instrument.seed),
            fair: instrument.opening_ticks * FAIR_PER_TICK,
            bids: Orders::default(),
            asks: Orders::default(),
            next_order: u64::from(instrument.id) * 6_400_000_000_000,
            opened: false,
            excitement: 0,
        }
    }

    /// Appends the records of the next event; returns when the one after it is due.
    fn event(&mut self, now: u64, group: &mut Vec<MboMsg>) -> u64 {
        if self.opened {
            self.trading(group);
        } else {
            self.opening(group);
            self.opened = true;
        }
        let latency = 18_000 + self.random.below(90_000);
        let delta = 9_000 + self.random.below(8_000) as i32;
        for record in group.iter_mut() {
            record.ts_recv = now;
            record.hd.ts_event = now - latency;
            record.ts_in_delta = delta;
        }
        if let Some(last) = group.last_mut() {
            last.flags = FlagSet::new(last.flags.raw() | flags::LAST);
        }
        self.excitement = self.excitement * 970 / 1_000;
        let mean = self.instrument.mean_gap_nanos * 1_000 / (1_000 + self.excitement);
        now + self.random.gap(mean)
    }

    /// A clear and a snapshot of the book before the first trade.
    fn opening(&mut self, group: &mut Vec<MboMsg>) {
        let snapshot = flags::SNAPSHOT | flags::BAD_TS_RECV;
        group.push(self.record(b'R', b'N', UNDEF_PRICE, 0, 0, snapshot));
        for side in [BookSide::Bid, BookSide::Ask] {
            for depth in 0..OPENING_LEVELS {
                let price = match side {
                    BookSide::Bid => self.instrument.opening_ticks - depth,
                    BookSide::Ask => self.instrument.opening_ticks + 1 + depth,
                };
                for _ in 0..2 + self.random.below(5) {
                    self.add(side, price, snapshot, group);
                }
            }
        }
    }

    /// One event of continuous trading.
    fn trading(&mut self, group: &mut Vec<MboMsg>) {
        // The fair value makes small steps, and a larger one now and then.
        let reach = if self.random.chance(8) { 12 } else { 1 };
        self.fair += self.random.below(2 * reach + 1) as i64 - reach as i64;
        let fair_tick = self.fair.div_euclid(FAIR_PER_TICK);
        let side = if self.random.chance(500) { BookSide::Bid } else { BookSide::Ask };
        let best_bid = self.best(BookSide::Bid);
        let best_ask = self.best(BookSide::Ask);
        // A quote on the wrong side of the fair value is taken before anything else.
        let mispriced = match (best_bid, best_ask) {
            (_, Some(ask)) if ask <= fair_tick => Some(BookSide::Bid),
            (Some(bid), _) if bid > fair_tick => Some(BookSide::Ask),
            _ => None,
        };
        if let Some(aggressor) = mispriced {
            if self.random.chance(600) {
                return self.trade(aggressor, group);
            }
            return self.cancel_near(aggressor.opposite(), group);
        }
        // A wide spread draws a quote that narrows it, on the side that is further from the fair value.
        if let (Some(bid), Some(ask)) = (best_bid, best_ask)
            && ask - bid > 1
            && self.random.chance(700)
        {
            let (better_bid, better_ask) = (fair_tick.min(ask - 1), (fair_tick + 1).max(bid + 1));
            let (side, price) = if better_bid - bid >= ask - better_ask { (BookSide::Bid, better_bid) } else { (BookSide::Ask, better_ask) };
            if price > bid && price < ask {
                return self.add(side, price, 0, group);
            }
        }
        let resting = self.side(side);
        let (count, thin) = (resting.count, (resting.levels.len() as i64) < OPENING_LEVELS - 4);
        let choice = self.random.below(1_000);
        let adds = if thin { 800 } else { 470 };
        match choice {
            _ if count > CROWDED && choice < 700 => self.cancel_near(side, group),
            _ if choice < adds => {
                // A thin side is refilled at any depth, a full one mostly near the touch.
                let most = OPENING_LEVELS + 6;
                let depth = if thin { self.random.below(most.unsigned_abs()).cast_signed() } else { self.random.tries(160, most) };
                let price = self.quote_at(side, fair_tick, depth);
                self.add(side, price, 0, group);
            }
            _ if choice < 880 => self.cancel_near(side, group),
            _ if choice < 950 => self.modify(side, fair_tick, group),
            _ => self.trade(side, group),
        }
    }

    /// A price for a new order: near the fair value, never crossing the other side.
    fn quote(&mut self, side: BookSide, fair_tick: i64) -> i64 {
        let depth = self.random.tries(160, OPENING_LEVELS + 6);
        self.quote_at(side, fair_tick, depth)
    }

    fn quote_at(&self, side: BookSide, fair_tick: i64, depth: i64) -> i64 {
        match side {
            BookSide::Bid => self.best(BookSide::Ask).map_or(fair_tick, |ask| fair_tick.min(ask - 1)) - depth,
            BookSide::Ask => self.best(BookSide::Bid).map_or(fair_tick + 1, |bid| (fair_tick + 1).max(bid + 1)) + depth,
        }
    }

    fn add(&mut self, side: BookSide, price: i64, flags: u8, group: &mut Vec<MboMsg>) {
        let size = self.size();
        self.next_order += 1 + self.random.below(40);
        let id = self.next_order;
        let orders = self.side_mut(side);
        orders.levels.entry(price).or_default().push_back(Resting { id, size });
        orders.count += 1;
        group.push(self.record(b'A', side.letter(), price * self.instrument.tick, size, id, flags));
    }

    /// Takes away an order; those near the touch go more often.
    fn cancel_near(&mut self, side: BookSide, group: &mut Vec<MboMsg>) {
        let Some((price, place)) = self.pick(side) else { return self.add_at_fair(side, group) };
        let Some(order) = self.side_mut(side).remove(price, place) else { return };
        group.push(self.record(b'C', side.letter(), price * self.instrument.tick, order.size, order.id, 0));
    }

    /// Changes the size of an order, or moves it to another price, where it queues at the back.
    fn modify(&mut self, side: BookSide, fair_tick: i64, group: &mut Vec<MboMsg>) {
        let Some((price, place)) = self.pick(side) else { return self.add_at_fair(side, group) };
        let size = self.size();
        let target = if self.random.chance(500) { self.quote(side, fair_tick) } else { price };
        let orders = self.side_mut(side);
        let Some(order) = orders.remove(price, place) else { return };
        let queue = orders.levels.entry(target).or_default();
        let changed = Resting { id: order.id, size };
        if target == price && size <= order.size {
            // A smaller order keeps its place.
            queue.insert(place.min(queue.len()), changed);
        } else {
            queue.push_back(changed);
        }
        orders.count += 1;
        group.push(self.record(b'M', side.letter(), target * self.instrument.tick, size, order.id, 0));
    }

    /// A market order of `aggressor` takes what rests on the other side, best price first.
    fn trade(&mut self, aggressor: BookSide, group: &mut Vec<MboMsg>) {
        let resting_side = aggressor.opposite();
        let mut left = self.size() * (1 + self.random.tries(400, 5) as u32);
        let mut taken = Vec::new();
        let mut removals = Vec::new();
        while left > 0 && self.side(resting_side).levels.len() > 4 {
            let Some(price) = self.best(resting_side) else { break };
            let mut at_price = 0;
            taken.clear();
            let orders = self.side_mut(resting_side);
            while left > 0 {
                let Some(queue) = orders.levels.get_mut(&price) else { break };
                let Some(front) = queue.front_mut() else { break };
                let size = front.size.min(left);
                (front.size, left, at_price) = (front.size - size, left - size, at_price + size);
                taken.push((front.id, size));
                if front.size == 0 {
                    orders.remove(price, 0);
                }
            }
            let money = price * self.instrument.tick;
            group.push(self.record(b'T', aggressor.letter(), money, at_price, 0, 0));
            for &(id, size) in &taken {
                group.push(self.record(b'F', resting_side.letter(), money, size, id, 0));
                removals.push(self.record(b'C', resting_side.letter(), money, size, id, 0));
            }
        }
        if removals.is_empty() {
            return self.add_at_fair(resting_side, group);
        }
        group.append(&mut removals);
        self.excitement = (self.excitement + 500).min(4_000);
    }

    fn add_at_fair(&mut self, side: BookSide, group: &mut Vec<MboMsg>) {
        let price = self.quote(side, self.fair.div_euclid(FAIR_PER_TICK));
        self.add(side, price, 0, group);
    }

    /// A resting order, chosen so that levels near the touch come up more often.
    fn pick(&mut self, side: BookSide) -> Option<(i64, usize)> {
        let depth = usize::try_from(self.random.tries(110, 60)).unwrap_or_default();
        let levels = &self.side(side).levels;
        let depth = depth.min(levels.len().checked_sub(1)?);
        let (price, queue) = match side {
            BookSide::Bid => levels.iter().nth_back(depth)?,
            BookSide::Ask => levels.iter().nth(depth)?,
        };
        let (price, length) = (*price, queue.len());
        Some((price, self.random.below(length as u64) as usize))
    }

    fn best(&self, side: BookSide) -> Option<i64> {
        match side {
            BookSide::Bid => self.bids.levels.keys().next_back().copied(),
            BookSide::Ask => self.asks.levels.keys().next().copied(),
        }
    }

    fn size(&mut self) -> u32 {
        (1 + self.random.tries(300, 30) as u32) * self.instrument.lot
    }

    fn side(&self, side: BookSide) -> &Orders {
        match side {
            BookSide::Bid => &self.bids,
            BookSide::Ask => &self.asks,
        }
    }

    fn side_mut(&mut self, side: BookSide) -> &mut Orders {
        match side {
            BookSide::Bid => &mut self.bids,
            BookSide::Ask => &mut self.asks,
        }
    }

    /// A record; times, sequence and `F_LAST` are set when its event is complete.
    fn record(&self, action: u8, side: u8, price: i64, size: u32, order_id: u64, flags: u8) -> MboMsg {
        MboMsg {
            hd: RecordHeader::new::<MboMsg>(rtype::MBO, 0, self.instrument.id, 0),
            order_id,
            price,
            size,
            flags: FlagSet::new(flags),
            channel_id: 0,
            action: action as std::ffi::c_char,
            side: side as std::ffi::c_char,
            ts_recv: 0,
            ts_in_delta: 0,
            sequence: 0,
        }
    }
}

impl Orders {
    fn remove(&mut self, price: i64, place: usize) -> Option<Resting> {
        let queue = self.levels.get_mut(&price)?;
        let order = queue.remove(place)?;
        if queue.is_empty() {
            self.levels.remove(&price);
        }
        self.count -= 1;
        Some(order)
    }
}
