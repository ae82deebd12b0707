//! The three instruments: how they are quoted, how busy they are and how they move.

/// How one instrument behaves. Rates are per side and in thousandths a second (mHz), at the day's mean activity.
pub(super) struct Instrument {
    /// `instrument_id`, and number of its own channel: sequences count its messages alone.
    pub(super) id: u8,
    /// `symbol`.
    pub(super) symbol: &'static str,
    /// `publisher_id`.
    pub(super) publisher: u16,
    /// In 1e-9.
    pub(super) tick: i64,
    /// Fair value at the opening.
    pub(super) opening_ticks: i64,
    /// Sequence of its random numbers.
    pub(super) seed: u64,
    /// Market orders that nothing provoked.
    pub(super) takes: u64,
    /// New orders.
    pub(super) adds: u64,
    /// Cancels of one resting order: adds by this is how many rest.
    pub(super) cancels: u64,
    /// Distance of the best quotes from what their owners think is fair, in thousandths of a tick.
    pub(super) half_spread: i64,
    /// How far owners disagree about that, likewise.
    pub(super) disagreement: i64,
    /// Mean distance of patient orders behind the best quote, in ticks.
    pub(super) patience: i64,
    /// Largest step of the fair value in 100 ms at the day's mean activity, in thousandths of a tick.
    pub(super) volatility: i64,
    /// How much of the market's common movement it takes part in, in thousandths of a tick per unit of it.
    pub(super) beta: i64,
    /// Sizes of new orders and their weights.
    pub(super) sizes: &'static [(u32, u32)],
    /// New orders, of a thousand, of any size below the first of `sizes`: odd lots.
    pub(super) odd: u64,
    /// New orders near the touch, of a thousand, that show only a part.
    pub(super) icebergs: u64,
    /// A trade of that size moves the fair value by about its impact.
    pub(super) usual_trade: u64,
    /// In thousandths of a tick.
    pub(super) impact: i64,
}

/// A busy future of large tick: long queues, a spread of one tick. A share: spread of one to three ticks, round lots. A thin one: a
/// spread of many ticks, gaps between its levels.
pub(super) const INSTRUMENTS: [Instrument; 3] = [
    Instrument {
        id: 1,
        symbol: "SYNFUT",
        publisher: 1,
        tick: 250_000_000,
        opening_ticks: 20_800,
        seed: 0x51AC_0001,
        takes: 50,
        adds: 5_600,
        cancels: 10,
        half_spread: 180,
        disagreement: 450,
        patience: 9,
        volatility: 300,
        beta: 250,
        sizes: &[(1, 420), (2, 150), (3, 70), (4, 45), (5, 110), (6, 20), (8, 20), (10, 85), (15, 12), (20, 32), (25, 14), (50, 16), (100, 6)],
        odd: 0,
        icebergs: 20,
        usual_trade: 6,
        impact: 60,
    },
    Instrument {
        id: 2,
        symbol: "SYNBIG",
        publisher: 2,
        tick: 10_000_000,
        opening_ticks: 18_350,
        seed: 0x51AC_0002,
        takes: 32,
        adds: 3_500,
        cancels: 12,
        half_spread: 700,
        disagreement: 700,
        patience: 10,
        volatility: 500,
        beta: 300,
        sizes: &[(100, 560), (200, 150), (300, 70), (400, 40), (500, 70), (600, 12), (800, 12), (1_000, 45), (1_500, 6), (2_000, 14), (5_000, 4)],
        odd: 180,
        icebergs: 15,
        usual_trade: 300,
        impact: 80,
    },
    Instrument {
        id: 3,
        symbol: "SYNTHIN",
        publisher: 2,
        tick: 10_000_000,
        opening_ticks: 2_340,
        seed: 0x51AC_0003,
        takes: 8,
        adds: 850,
        cancels: 16,
        half_spread: 4_800,
        disagreement: 2_400,
        patience: 14,
        volatility: 130,
        beta: 35,
        sizes: &[(100, 640), (200, 140), (300, 60), (400, 25), (500, 55), (1_000, 20), (2_000, 4)],
        odd: 300,
        icebergs: 12,
        usual_trade: 200,
        impact: 250,
    },
];
