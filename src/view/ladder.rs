//! The DOM ladder as text and geometry: asks above, spread, bids below, one row a level.

use crate::link::{FrameLevel, ViewFrame};
use crate::units::{Aggressor, Price, Scale};

use super::clock;
use super::numbers::{UNKNOWN, exact, grouped, needed_decimals};

/// Levels shown a side.
pub const LEVELS: usize = 20;

/// One level. A row without a level has empty texts and no bar.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Row {
    /// The digits that every price in view shares; set back.
    pub price_head: String,
    /// The digits in which prices differ; emphasised.
    pub price_tail: String,
    /// Exact size.
    pub size: String,
    /// Orders at the level; "–" where the feed has no count.
    pub orders: String,
    /// Size relative to the largest in view, 0 to 1.
    pub bar: f64,
}

/// How the two best prices stand.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Touch {
    /// A positive spread, or a side without levels.
    #[default]
    Apart,
    /// Best bid equal to best ask.
    Locked,
    /// Best bid above best ask.
    Crossed,
}

/// The whole ladder, kept and updated from frame to frame.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// Best first.
    pub asks: Vec<Row>,
    /// Best first.
    pub bids: Vec<Row>,
    /// `spread 0.25`, `locked`, `crossed by 0.50`, `no bids`.
    pub spread: String,
    /// How the best prices stand.
    pub touch: Touch,
    /// The trade last applied: mark, price and size; empty before the first.
    pub last_trade: String,
    /// When it was.
    pub last_trade_time: String,
    /// Who initiated it.
    pub aggressor: Aggressor,
    /// What limits trust in the book: partial or stale; empty when nothing does.
    pub caution: String,
    /// Decimals only grow while one instrument is open, so that figures do not jump sideways.
    price_decimals: u8,
    size_decimals: u8,
}

impl Default for Ladder {
    fn default() -> Self {
        Ladder {
            asks: vec![Row::default(); LEVELS],
            bids: vec![Row::default(); LEVELS],
            spread: String::new(),
            touch: Touch::Apart,
            last_trade: String::new(),
            last_trade_time: String::new(),
            aggressor: Aggressor::None,
            caution: String::new(),
            price_decimals: 0,
            size_decimals: 0,
        }
    }
}

impl Ladder {
    /// Takes over a frame.
    pub fn update(&mut self, frame: &ViewFrame) {
        let bids = frame.bids.get(..LEVELS).unwrap_or(&frame.bids);
        let asks = frame.asks.get(..LEVELS).unwrap_or(&frame.asks);
        let last_price = frame.last_trade.map(|trade| trade.price);
        for price in bids.iter().chain(asks).map(|level| level.price).chain(last_price) {
            self.price_decimals = self.price_decimals.max(needed_decimals(i128::from(price.0), frame.price_scale));
        }
        for level in bids.iter().chain(asks) {
            self.size_decimals = self.size_decimals.max(needed_decimals(level.size, frame.size_scale));
        }
        let prices = |levels: &[FrameLevel]| -> Vec<String> {
            levels.iter().map(|level| exact(i128::from(level.price.0), frame.price_scale, self.price_decimals)).collect()
        };
        let (bid_prices, ask_prices) = (prices(bids), prices(asks));
        let shared = shared_prefix(bid_prices.iter().chain(&ask_prices));
        let largest = bids.iter().chain(asks).map(|level| level.size).max().unwrap_or(0);
        for (rows, levels, prices) in [(&mut self.bids, bids, bid_prices), (&mut self.asks, asks, ask_prices)] {
            for (index, row) in rows.iter_mut().enumerate() {
                *row = match (levels.get(index), prices.get(index)) {
                    (Some(level), Some(price)) => {
                        let (head, tail) = price.split_at_checked(shared).unwrap_or(("", price));
                        Row {
                            price_head: head.to_owned(),
                            price_tail: tail.to_owned(),
                            size: exact(level.size, frame.size_scale, self.size_decimals),
                            orders: level.count.map_or_else(|| UNKNOWN.to_owned(), |count| grouped(&count.to_string())),
                            bar: if largest > 0 { (level.size.max(0) as f64 / largest as f64).clamp(0.0, 1.0) } else { 0.0 },
                        }
                    }
                    _ => Row::default(),
                };
            }
        }
        self.touch = match (frame.flags.crossed, frame.flags.locked) {
            (true, _) => Touch::Crossed,
            (_, true) => Touch::Locked,
            _ => Touch::Apart,
        };
        self.spread = spread(bids.first(), asks.first(), frame.price_scale, self.price_decimals);
        self.aggressor = frame.last_trade.map_or(Aggressor::None, |trade| trade.aggressor);
        self.last_trade = frame.last_trade.map_or_else(String::new, |trade| {
            let mark = match trade.aggressor {
                Aggressor::Buy => '▲',
                Aggressor::Sell => '▼',
                Aggressor::None => '·',
            };
            let price = exact(i128::from(trade.price.0), frame.price_scale, self.price_decimals);
            // The close of a bar has no size, and some feeds have none.
            if trade.size.0 == 0 {
                return format!("{mark} {price}");
            }
            let size = exact(i128::from(trade.size.0), frame.size_scale, self.size_decimals);
            format!("{mark} {price} × {size}")
        });
        self.last_trade_time = frame.last_trade.map_or_else(String::new, |trade| clock::time(trade.time));
        self.caution = match (frame.flags.stale, frame.partial_since) {
            (true, _) => "stale: its source marked it as doubtful".to_owned(),
            (false, Some(since)) => format!("partial since {}", clock::time(since)),
            (false, None) => String::new(),
        };
    }
}

fn spread(bid: Option<&FrameLevel>, ask: Option<&FrameLevel>, scale: Scale, decimals: u8) -> String {
    let (Price(bid), Price(ask)) = match (bid, ask) {
        (Some(bid), Some(ask)) => (bid.price, ask.price),
        (Some(_), None) => return "no asks".to_owned(),
        (None, Some(_)) => return "no bids".to_owned(),
        (None, None) => return "empty book".to_owned(),
    };
    match i128::from(ask) - i128::from(bid) {
        0 => "locked".to_owned(),
        width @ ..0 => format!("crossed by {}", exact(-width, scale, decimals)),
        width => format!("spread {}", exact(width, scale, decimals)),
    }
}

/// How many leading bytes all of at least two texts share, leaving at least the last two characters of the shortest. Prices are ASCII but for the
/// thin space and the minus, and a cut is only made where one ends.
pub(super) fn shared_prefix<'a>(mut texts: impl Iterator<Item = &'a String> + Clone) -> usize {
    let Some(first) = texts.next() else { return 0 };
    if texts.clone().next().is_none() {
        return 0;
    }
    let mut shared = first.char_indices().rev().nth(1).map_or(0, |(at, _)| at);
    for text in texts {
        let most = text.char_indices().rev().nth(1).map_or(0, |(at, _)| at);
        let equal = first.bytes().zip(text.bytes()).take_while(|(one, other)| one == other).count();
        // Prices of unlike length are of unlike magnitude: what they share is no common part.
        shared = if text.len() == first.len() { shared.min(equal).min(most) } else { 0 };
    }
    while !first.is_char_boundary(shared) {
        shared -= 1;
    }
    shared
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{FrameFlags, LastTrade};
    use crate::units::{Moment, Size, UnixNanos};

    fn level(price: i64, size: i128, count: Option<u32>) -> FrameLevel {
        FrameLevel { price: Price(price), size, count }
    }

    fn frame(bids: Vec<FrameLevel>, asks: Vec<FrameLevel>) -> ViewFrame {
        ViewFrame {
            sequence: 1,
            as_of: Moment::end_of(UnixNanos(1_703_548_799_446_821_072)),
            tie: None,
            flags: FrameFlags::default(),
            events: 1,
            partial_since: None,
            kind: 2,
            price_scale: Scale(2),
            size_scale: Scale(1),
            bids,
            asks,
            last_trade: None,
        }
    }

    fn price(row: &Row) -> String {
        format!("{}|{}", row.price_head, row.price_tail).replace('\u{2009}', " ")
    }

    #[test]
    fn rows_are_exact_and_aligned() {
        let mut ladder = Ladder::default();
        ladder.update(&frame(vec![level(481_000, 100, Some(5)), level(480_975, 50, None)], vec![level(481_025, 205, Some(1))]));
        assert_eq!(
            (price(&ladder.bids[0]), price(&ladder.bids[1]), price(&ladder.asks[0])),
            ("4 8|10.00".into(), "4 8|09.75".into(), "4 8|10.25".into())
        );
        assert_eq!((ladder.bids[0].size.as_str(), ladder.asks[0].size.as_str()), ("10.0", "20.5"));
        assert_eq!((ladder.bids[0].orders.as_str(), ladder.bids[1].orders.as_str()), ("5", "–"));
        assert_eq!(ladder.asks[0].bar, 1.0);
        assert_eq!(ladder.bids[2], Row::default());
        assert_eq!(ladder.spread, "spread 0.25");
    }

    #[test]
    fn decimals_do_not_shrink_while_an_instrument_is_open() {
        let mut ladder = Ladder::default();
        ladder.update(&frame(vec![level(481_025, 1, None)], vec![]));
        ladder.update(&frame(vec![level(481_000, 1, None)], vec![]));
        assert!(ladder.bids[0].price_tail.ends_with("00"));
        assert_eq!(ladder.spread, "no asks");
    }

    #[test]
    fn locked_crossed_and_empty_are_said() {
        let mut ladder = Ladder::default();
        let mut crossed = frame(vec![level(1_050, 1, None)], vec![level(1_000, 1, None)]);
        crossed.flags.crossed = true;
        ladder.update(&crossed);
        assert_eq!((ladder.spread.as_str(), ladder.touch), ("crossed by 0.5", Touch::Crossed));
        let mut locked = frame(vec![level(1_000, 1, None)], vec![level(1_000, 1, None)]);
        locked.flags.locked = true;
        ladder.update(&locked);
        assert_eq!((ladder.spread.as_str(), ladder.touch), ("locked", Touch::Locked));
        ladder.update(&frame(vec![], vec![]));
        assert_eq!((ladder.spread.as_str(), ladder.touch), ("empty book", Touch::Apart));
    }

    #[test]
    fn the_last_trade_carries_its_mark_beside_its_colour() {
        let mut ladder = Ladder::default();
        let mut traded = frame(vec![], vec![]);
        traded.partial_since = Some(UnixNanos(0));
        traded.last_trade = Some(LastTrade { price: Price(100), size: Size(30), time: UnixNanos(0), aggressor: Aggressor::Sell });
        ladder.update(&traded);
        assert_eq!(ladder.last_trade, "▼ 1 × 3");
        traded.last_trade = Some(LastTrade { price: Price(100), size: Size(0), time: UnixNanos(0), aggressor: Aggressor::None });
        ladder.update(&traded);
        assert_eq!(ladder.last_trade, "· 1");
        assert_eq!(ladder.last_trade_time.replace('\u{2009}', " "), "00:00:00.000 000 000");
        assert!(ladder.caution.starts_with("partial since"));
    }

    #[test]
    fn prices_of_unlike_magnitude_share_nothing() {
        let texts = ["−0.25", "0.25", "10.25"].map(str::to_owned);
        assert_eq!(shared_prefix(texts.iter()), 0);
        let texts = ["−0.25", "−0.50"].map(str::to_owned);
        assert_eq!(shared_prefix(texts.iter()), "−0.".len());
        assert_eq!(shared_prefix([].iter()), 0);
    }
}
