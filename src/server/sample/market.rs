//! One instrument: a model of a market with a memory.
//!
//! - A **fair value** wanders, pushed by the market as a whole, by the instrument's own news and, a little and for good, by every
//!   trade; a second push of a trade fades within seconds, so that prices bounce back.
//! - **Market orders** excite each other (a Hawkes process): each makes more of its own side likely for a tenth of a second and for
//!   half a minute, and a few of the other. They come more often to the side whose queue is thin, and where the fair value has left the
//!   quotes. Some sweep several levels.
//! - **Limit orders** come at a steady rate and are cancelled each at its own, so that queues have a size which they return to; their
//!   owners place them around their own opinion of the fair value. After a trade both come in a flurry of milliseconds. Owners whose
//!   quote the fair value has passed hurry to cancel it.
//! - **Icebergs** show a part of themselves; when it is filled the next part joins the queue at once, as a new order.
//!
//! Rates are in millionths a second, thousandths where they are multiplied. The next event's time and kind are drawn from the rates
//! that hold now; at the end of each step of the day they change and are drawn anew, which for a Poisson process is the same.

use dbn::{FlagSet, MboMsg, RecordHeader, UNDEF_PRICE, flags, rtype};

use super::day::{Day, MILLE, SECOND, STEP_NANOS};
use super::instruments::Instrument;
use super::orders::{Orders, Side};
use super::random::{Random, decayed};

mod quotes;
mod trades;

/// Price levels of a side at the opening, and the fewest that are ever left.
const OPENING_LEVELS: i64 = 40;
const FEWEST_LEVELS: usize = 12;
/// How long trades bring forth others, "soon" and "later": half-lives.
const SOON_NANOS: u64 = 90 * SECOND / 1_000;
const LATER_NANOS: u64 = 20 * SECOND;
/// How long limit orders and cancels go on to answer a trade: a half-life.
const FLURRY_NANOS: u64 = 2_500_000;
/// How long a trade's fading push lasts: a half-life.
const FADING_NANOS: u64 = 2 * SECOND;
/// How fast a quote that the fair value has passed is cancelled, and taken, for each tick between them; in millionths a second.
const FLIGHT: u64 = 6_000_000;
const PURSUIT: u64 = 3_000_000;
/// Activity below which a market sleeps.
const AWAKE: u64 = 400;
/// A nervous market widens its quotes; a sweep makes it so, and it calms down: a half-life.
const NERVES_NANOS: u64 = 8 * SECOND;
/// Thousandths of a tick.
const PER_TICK: i64 = 1_000;

/// One instrument's market.
pub(super) struct Market {
    pub(super) instrument: &'static Instrument,
    random: Random,
    day: Day,
    bids: Orders,
    asks: Orders,
    now: u64,
    /// What the instrument is worth, and the fading part of what its trades made of that; in thousandths of a tick.
    fair: i64,
    push: i64,
    /// Excitement of buyers and sellers.
    soon: [u64; 2],
    later: [u64; 2],
    flurry: u64,
    nerves: u64,
    next_order: u64,
    /// Those that the next event was drawn from.
    rates: Rates,
}

/// How likely each kind of event is now, in millionths a second.
#[derive(Default)]
struct Rates {
    take: [u64; 2],
    add: [u64; 2],
    cancel: [u64; 2],
    flee: [u64; 2],
}

impl Market {
    /// A market before its opening.
    pub(super) fn new(instrument: &'static Instrument) -> Market {
        Market {
            instrument,
            random: Random::new(instrument.seed),
            day: Day::new(),
            bids: Orders::new(Side::Bid),
            asks: Orders::new(Side::Ask),
            now: 0,
            fair: instrument.opening_ticks * PER_TICK + PER_TICK / 2,
            push: 0,
            soon: [0; 2],
            later: [0; 2],
            flurry: 0,
            nerves: 0,
            next_order: u64::from(instrument.id) * 6_400_000_000_000,
            rates: Rates::default(),
        }
    }

    /// Fills the book before the first event.
    pub(super) fn open(&mut self) {
        let per_level = self.instrument.adds / self.instrument.cancels / OPENING_LEVELS.unsigned_abs();
        for side in Side::BOTH {
            let touch = self.quote(side, 0);
            for depth in 0..OPENING_LEVELS {
                // Thin at the touch, thickest some levels behind it, thinner again far away.
                let fullness = (400 + 200 * depth).min(1_600 - 30 * depth).max(200).unsigned_abs();
                for _ in 0..(per_level * fullness / MILLE).max(1) {
                    let price = touch - side.sign() * depth;
                    let order = self.new_order(price, depth);
                    self.orders_mut(side).add(order);
                }
            }
        }
    }

    /// Appends a clear and all orders: what a feed sends to those who have lost the thread.
    pub(super) fn snapshot(&self, group: &mut Vec<MboMsg>) {
        let flags = flags::SNAPSHOT | flags::BAD_TS_RECV;
        group.push(self.record(b'R', b'N', UNDEF_PRICE, 0, 0, flags));
        for side in Side::BOTH {
            for order in self.orders(side).in_order() {
                group.push(self.record(b'A', side.letter(), self.money(order.price), order.size, order.id, flags));
            }
        }
    }

    /// Best price of a side, in ticks.
    pub(super) fn best(&self, side: Side) -> Option<i64> {
        self.orders(side).best()
    }

    /// Waits for the next event and returns its time, in nanoseconds since the opening.
    pub(super) fn wait(&mut self) -> u64 {
        loop {
            self.rates = self.rates();
            let next = self.now + self.random.exponential(1_000_000 * SECOND / self.rates.total().max(1));
            let step_end = self.day.step_end();
            self.cool(next.min(step_end) - self.now);
            self.now = next.min(step_end);
            if next < step_end {
                return self.now;
            }
            self.step();
        }
    }

    /// Appends the records of the event that was waited for. There are none when it comes to nothing.
    pub(super) fn event(&mut self, group: &mut Vec<MboMsg>) {
        let mut choice = self.random.below(self.rates.total());
        for (index, side) in Side::BOTH.into_iter().enumerate() {
            if spend(&mut choice, self.rates.take[index]) {
                return self.take(side, group);
            }
            if spend(&mut choice, self.rates.add[index]) {
                return self.place(side, group);
            }
            if spend(&mut choice, self.rates.cancel[index]) {
                return self.withdraw(side, group);
            }
            if spend(&mut choice, self.rates.flee[index]) {
                let place = self.random.below(self.orders(side).at_best().0);
                return self.orders(side).slot_at_best(place).map_or((), |slot| self.cancel(side, slot, group));
            }
        }
    }

    fn rates(&self) -> Rates {
        let day = self.day.now();
        let value = self.fair + self.push;
        let (bid, ask) = (self.bids.best(), self.asks.best());
        let ((bid_orders, bid_size), (ask_orders, ask_size)) = (self.bids.at_best(), self.asks.at_best());
        // How far the fair value is above the ask, or below the bid.
        let above = ask.map_or(0, |ask| (value - ask * PER_TICK).max(0)).unsigned_abs();
        let below = bid.map_or(0, |bid| (bid * PER_TICK - value).max(0)).unsigned_abs();
        let busy = |rate: u64| rate * day.activity;
        // Thin queues are taken sooner: 400 to 1600 thousandths.
        let tilt = |own: u64, other: u64| 400 + 1_200 * own / (own + other).max(1);
        let spontaneous = busy(self.instrument.takes) + self.flurry / 120;
        // In a quiet market nobody is provoked.
        let awake = day.activity.min(AWAKE) * MILLE / AWAKE;
        let pursuit = |beyond: u64| PURSUIT * beyond / MILLE * day.activity.min(3 * MILLE) / MILLE * self.instrument.takes / 100;
        let take = |side: usize, tilt: u64, beyond: u64| {
            ((spontaneous + self.soon[side] + self.later[side]) * tilt / MILLE + pursuit(beyond)) * awake / MILLE
        };
        let add = busy(self.instrument.adds) * day.depth / MILLE + self.flurry / 2;
        let cancel = |orders: u64| busy(self.instrument.cancels) * orders + if orders > 60 { self.flurry / 3 } else { 0 };
        let flee = |orders: u64, beyond: u64| FLIGHT * beyond.min(4 * MILLE) * orders.min(12) / MILLE * awake / MILLE;
        Rates {
            take: [take(0, tilt(bid_size, ask_size), above), take(1, tilt(ask_size, bid_size), below)],
            add: [add, add],
            cancel: [cancel(self.bids.len()), cancel(self.asks.len())],
            flee: [flee(bid_orders, below), flee(ask_orders, above)],
        }
    }

    /// Excitement fades with every event.
    fn cool(&mut self, elapsed: u64) {
        for soon in &mut self.soon {
            *soon = decayed(*soon, elapsed, SOON_NANOS);
        }
        self.flurry = decayed(self.flurry, elapsed, FLURRY_NANOS);
    }

    /// What changes with every step of the day.
    fn step(&mut self) {
        self.day.advance();
        let day = self.day.now();
        for later in &mut self.later {
            *later = decayed(*later, STEP_NANOS, LATER_NANOS);
        }
        self.nerves = decayed(self.nerves, STEP_NANOS, NERVES_NANOS);
        self.push = decayed(self.push.unsigned_abs(), STEP_NANOS, FADING_NANOS).cast_signed() * self.push.signum();
        let own = self.random.around(self.instrument.volatility * day.volatility.cast_signed() / MILLE.cast_signed());
        self.fair += own + day.common * self.instrument.beta / MILLE.cast_signed();
    }

    fn new_id(&mut self) -> u64 {
        self.next_order += 1 + self.random.below(40);
        self.next_order
    }

    fn money(&self, ticks: i64) -> i64 {
        ticks * self.instrument.tick
    }

    fn orders(&self, side: Side) -> &Orders {
        match side {
            Side::Bid => &self.bids,
            Side::Ask => &self.asks,
        }
    }

    fn orders_mut(&mut self, side: Side) -> &mut Orders {
        match side {
            Side::Bid => &mut self.bids,
            Side::Ask => &mut self.asks,
        }
    }

    /// A record; times, sequence and the end of its event are set when it is sent.
    pub(super) fn record(&self, action: u8, side: u8, price: i64, size: u32, order_id: u64, flags: u8) -> MboMsg {
        let instrument = self.instrument;
        MboMsg {
            hd: RecordHeader::new::<MboMsg>(rtype::MBO, instrument.publisher, u32::from(instrument.id), 0),
            order_id,
            price,
            size,
            flags: FlagSet::new(flags),
            channel_id: instrument.id,
            action: action as std::ffi::c_char,
            side: side as std::ffi::c_char,
            ts_recv: 0,
            ts_in_delta: 0,
            sequence: 0,
        }
    }
}

impl Rates {
    fn total(&self) -> u64 {
        [self.take, self.add, self.cancel, self.flee].iter().flatten().sum()
    }
}

/// Takes a share off the choice; true when it does not reach beyond it.
fn spend(choice: &mut u64, share: u64) -> bool {
    match choice.checked_sub(share) {
        Some(rest) => {
            *choice = rest;
            false
        }
        None => true,
    }
}
