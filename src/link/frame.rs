//! The picture that goes from worker to page: one buffer of fixed layout, little-endian.
//!
//! ```text
//!   0  u32   version (1)               4  u32  sequence
//!   8  i64   as of, nanoseconds       16  u32  place: 0 before the first event, 0xFFFFFFFF after the last, else k
//!  20  u32   event k of …             24  u32  … n at this time (0: unknown)
//!  28  u32   flags                    32  u64  events applied
//!  40  i64   partial since (ns)       48  u8   kind (1, 2, 3)   49 u8 price scale   50 u8 size scale   51 u8 zero
//!  52  u16   bid levels               54  u16  ask levels
//!  56  i64   last trade price         64  i64  last trade size  72  i64  last trade time
//!  80  u32   last trade aggressor (0 none, 1 buy, 2 sell)       84  u32  zero
//!  88  levels, bids then asks, best first, 32 bytes each: i64 price, i128 size, u32 count (0xFFFFFFFF none), u32 zero
//! ```

use crate::units::{Aggressor, Moment, Place, Price, Scale, Size, UnixNanos};

const VERSION: u32 = 1;
const HEADER: usize = 88;
const LEVEL: usize = 32;
/// More levels a side are never sent: a picture has no use for them, and a forged count must not allocate.
const MAX_LEVELS: usize = 1_000;

/// One level of a [`ViewFrame`].
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameLevel {
    /// Price at the frame's scale.
    pub price: Price,
    /// Sum of the sizes at the level, at the frame's scale.
    pub size: i128,
    /// Orders at the level, where the feed counts them.
    pub count: Option<u32>,
}

/// The trade last applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastTrade {
    /// Price at the frame's scale.
    pub price: Price,
    /// Size at the frame's scale.
    pub size: Size,
    /// Designated time.
    pub time: UnixNanos,
    /// Who initiated it.
    pub aggressor: Aggressor,
}

/// What is true of the book in a frame.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameFlags {
    /// Best bid above best ask.
    pub crossed: bool,
    /// Best bid equal to best ask.
    pub locked: bool,
    /// The source said that the book may be wrong.
    pub stale: bool,
    /// The book is dimmed: a seek is loading.
    pub loading: bool,
}

/// What one painted picture shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFrame {
    /// Counts frames of a worker.
    pub sequence: u32,
    /// The moment it is true for.
    pub as_of: Moment,
    /// Place among the events that share the time: (event, of), counted from 1.
    pub tie: Option<(u32, u32)>,
    /// See [`FrameFlags`].
    pub flags: FrameFlags,
    /// Events applied in the range.
    pub events: u64,
    /// Since when the book is known in part only.
    pub partial_since: Option<UnixNanos>,
    /// 1, 2 or 3.
    pub kind: u8,
    /// Digits after the point of every price.
    pub price_scale: Scale,
    /// Digits after the point of every size.
    pub size_scale: Scale,
    /// Best first.
    pub bids: Vec<FrameLevel>,
    /// Best first.
    pub asks: Vec<FrameLevel>,
    /// The trade last applied.
    pub last_trade: Option<LastTrade>,
}

/// The buffer is not a frame of this version.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FrameError {
    /// Byte offset of what is wrong.
    pub offset: usize,
    /// What was expected there.
    pub expected: &'static str,
}

impl std::fmt::Display for FrameError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "view frame: expected {} at byte {}", self.expected, self.offset)
    }
}

impl std::error::Error for FrameError {}

impl ViewFrame {
    /// Writes the frame into `out`, which is emptied first so that its allocation is reused.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        let bids = self.bids.len().min(MAX_LEVELS);
        let asks = self.asks.len().min(MAX_LEVELS);
        out.reserve(HEADER + (bids + asks) * LEVEL);
        out.extend(VERSION.to_le_bytes());
        out.extend(self.sequence.to_le_bytes());
        out.extend(self.as_of.time.0.to_le_bytes());
        let place = match self.as_of.place {
            Place::Before => 0,
            Place::After(k) => k,
            Place::End => u32::MAX,
        };
        out.extend(place.to_le_bytes());
        let (event, of) = self.tie.unwrap_or((0, 0));
        out.extend(event.to_le_bytes());
        out.extend(of.to_le_bytes());
        let flags = u32::from(self.flags.crossed)
            | u32::from(self.flags.locked) << 1
            | u32::from(self.flags.stale) << 2
            | u32::from(self.flags.loading) << 3
            | u32::from(self.partial_since.is_some()) << 4
            | u32::from(self.last_trade.is_some()) << 5;
        out.extend(flags.to_le_bytes());
        out.extend(self.events.to_le_bytes());
        out.extend(self.partial_since.map_or(0, |time| time.0).to_le_bytes());
        out.extend([self.kind, self.price_scale.0, self.size_scale.0, 0]);
        out.extend((bids as u16).to_le_bytes());
        out.extend((asks as u16).to_le_bytes());
        let (price, size, time, aggressor) = match self.last_trade {
            None => (0, 0, 0, 0u32),
            Some(trade) => {
                let aggressor = match trade.aggressor {
                    Aggressor::None => 0,
                    Aggressor::Buy => 1,
                    Aggressor::Sell => 2,
                };
                (trade.price.0, trade.size.0, trade.time.0, aggressor)
            }
        };
        out.extend(price.to_le_bytes());
        out.extend(size.to_le_bytes());
        out.extend(time.to_le_bytes());
        out.extend(aggressor.to_le_bytes());
        out.extend(0u32.to_le_bytes());
        for level in self.bids.iter().take(bids).chain(self.asks.iter().take(asks)) {
            out.extend(level.price.0.to_le_bytes());
            out.extend(level.size.to_le_bytes());
            out.extend(level.count.unwrap_or(u32::MAX).to_le_bytes());
            out.extend(0u32.to_le_bytes());
        }
    }

    /// Reads a frame.
    ///
    /// # Errors
    /// When the buffer has another version, an impossible count or another length than it says.
    pub fn decode(bytes: &[u8]) -> Result<ViewFrame, FrameError> {
        if bytes.len() < HEADER {
            return Err(FrameError { offset: bytes.len(), expected: "a header of 88 bytes" });
        }
        if u32_at(bytes, 0) != VERSION {
            return Err(FrameError { offset: 0, expected: "version 1" });
        }
        let bids = usize::from(u16_at(bytes, 52));
        let asks = usize::from(u16_at(bytes, 54));
        if bids > MAX_LEVELS || asks > MAX_LEVELS {
            return Err(FrameError { offset: 52, expected: "at most 1,000 levels a side" });
        }
        if bytes.len() != HEADER + (bids + asks) * LEVEL {
            return Err(FrameError { offset: bytes.len(), expected: "as many bytes as the level counts say" });
        }
        let place = match u32_at(bytes, 16) {
            0 => Place::Before,
            u32::MAX => Place::End,
            k => Place::After(k),
        };
        let flags = u32_at(bytes, 28);
        let of = u32_at(bytes, 24);
        let level = |index: usize| {
            let at = HEADER + index * LEVEL;
            let count = u32_at(bytes, at + 24);
            FrameLevel {
                price: Price(i64_at(bytes, at)),
                size: i128::from_le_bytes(array_at(bytes, at + 8)),
                count: (count != u32::MAX).then_some(count),
            }
        };
        let last_trade = (flags & 32 != 0).then(|| LastTrade {
            price: Price(i64_at(bytes, 56)),
            size: Size(i64_at(bytes, 64)),
            time: UnixNanos(i64_at(bytes, 72)),
            aggressor: match u32_at(bytes, 80) {
                1 => Aggressor::Buy,
                2 => Aggressor::Sell,
                _ => Aggressor::None,
            },
        });
        Ok(ViewFrame {
            sequence: u32_at(bytes, 4),
            as_of: Moment { time: UnixNanos(i64_at(bytes, 8)), place },
            tie: (of != 0).then(|| (u32_at(bytes, 20), of)),
            flags: FrameFlags { crossed: flags & 1 != 0, locked: flags & 2 != 0, stale: flags & 4 != 0, loading: flags & 8 != 0 },
            events: u64::from_le_bytes(array_at(bytes, 32)),
            partial_since: (flags & 16 != 0).then(|| UnixNanos(i64_at(bytes, 40))),
            kind: bytes[48],
            price_scale: Scale(bytes[49]),
            size_scale: Scale(bytes[50]),
            bids: (0..bids).map(level).collect(),
            asks: (bids..bids + asks).map(level).collect(),
            last_trade,
        })
    }
}

fn array_at<const N: usize>(bytes: &[u8], at: usize) -> [u8; N] {
    let mut array = [0; N];
    array.copy_from_slice(&bytes[at..at + N]);
    array
}

fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from_le_bytes(array_at(bytes, at))
}

fn u32_at(bytes: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(array_at(bytes, at))
}

fn i64_at(bytes: &[u8], at: usize) -> i64 {
    i64::from_le_bytes(array_at(bytes, at))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn frame() -> ViewFrame {
        ViewFrame {
            sequence: 7,
            as_of: Moment { time: UnixNanos(1_703_547_232_863_772_099), place: Place::After(3) },
            tie: Some((3, 14)),
            flags: FrameFlags { crossed: true, ..FrameFlags::default() },
            events: 9_007_199_254_740_993,
            partial_since: Some(UnixNanos(1)),
            kind: 3,
            price_scale: Scale(9),
            size_scale: Scale(0),
            bids: vec![FrameLevel { price: Price(-5), size: i128::from(i64::MAX) * 4, count: Some(2) }],
            asks: vec![FrameLevel { price: Price(6), size: 1, count: None }, FrameLevel { price: Price(7), size: 2, count: Some(0) }],
            last_trade: Some(LastTrade { price: Price(5), size: Size(9), time: UnixNanos(2), aggressor: Aggressor::Sell }),
        }
    }

    #[test]
    fn a_frame_comes_back_as_it_was() {
        let mut bytes = Vec::new();
        frame().encode(&mut bytes);
        assert_eq!(ViewFrame::decode(&bytes), Ok(frame()));
    }

    #[test]
    fn every_cut_is_an_error() {
        let mut bytes = Vec::new();
        frame().encode(&mut bytes);
        for length in 0..bytes.len() {
            assert!(ViewFrame::decode(&bytes[..length]).is_err(), "cut at {length}");
        }
    }
}
