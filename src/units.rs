//! The exact numbers that everything else is written in: prices, sizes, times, moments and sides.
//!
//! A price or size is an integer of a [`Scale`] that its stream carries once; a time is nanoseconds since 1970 UTC. This module
//! knows nothing else of the program, and holds the only conversions from `f64` ([`Decimal::from_f64`], and [`Floats`] for columns).

use std::fmt;
use std::str::FromStr;

mod decimal;
mod floats;
mod time;
pub use decimal::{Decimal, DecimalError};
pub use floats::{Floats, Shortest};
pub use time::{NANOS_PER_DAY, TimeError, iso, parse_time};

/// Nanoseconds since 1970-01-01T00:00:00 UTC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct UnixNanos(pub i64);

impl fmt::Display for UnixNanos {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl FromStr for UnixNanos {
    type Err = TimeError;
    fn from_str(text: &str) -> Result<Self, TimeError> {
        text.parse().map(UnixNanos).map_err(|_| TimeError::NotNanos(text.to_owned()))
    }
}

/// A price: a signed integer at its stream's [`Scale`]. Zero and negative prices are prices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Price(pub i64);

/// A size: an integer at its stream's [`Scale`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Size(pub i64);

/// Digits after the decimal point, 0 to 18.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Scale(pub u8);

impl Scale {
    /// Ten to the eighteenth is the largest power of ten in an `i64`.
    pub const MAX: Scale = Scale(18);

    /// 10 to the power of the scale; `None` past [`Scale::MAX`].
    #[must_use]
    pub fn factor(self) -> Option<i64> {
        10i64.checked_pow(u32::from(self.0))
    }
}

/// Side of a resting order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Side {
    /// Resting buy.
    Bid,
    /// Resting sell.
    Ask,
}

impl Side {
    /// The other side.
    #[must_use]
    pub fn opposite(self) -> Side {
        match self {
            Side::Bid => Side::Ask,
            Side::Ask => Side::Bid,
        }
    }
}

/// Who initiated a trade.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Aggressor {
    /// Nobody, as in an auction, or the feed does not say.
    #[default]
    None,
    /// A buy order lifted the ask.
    Buy,
    /// A sell order hit the bid.
    Sell,
}

/// Where in time a book is looked at. Many events can share one time, so a time alone does not name a moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Moment {
    /// The time.
    pub time: UnixNanos,
    /// Where among the events with that time.
    pub place: Place,
}

/// Where among the events that share a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Place {
    /// Before the first: written `ns-`.
    Before,
    /// After the k-th, counted from 1: written `ns/k`.
    After(u32),
    /// After the last: written `ns`.
    End,
}

impl Moment {
    /// After the last event with that time.
    #[must_use]
    pub fn end_of(time: UnixNanos) -> Moment {
        Moment { time, place: Place::End }
    }

    /// Before the first event with that time.
    #[must_use]
    pub fn before(time: UnixNanos) -> Moment {
        Moment { time, place: Place::Before }
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.time, self.place).cmp(&(other.time, other.place))
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.place {
            Place::Before => write!(f, "{}-", self.time),
            Place::After(k) => write!(f, "{}/{k}", self.time),
            Place::End => write!(f, "{}", self.time),
        }
    }
}

impl FromStr for Moment {
    type Err = TimeError;
    /// Reads `ns`, `ns/k` or `ns-`.
    fn from_str(text: &str) -> Result<Self, TimeError> {
        // A leading minus is a sign; only a trailing one marks "before".
        if let Some(time) = text.strip_suffix('-') {
            return Ok(Moment::before(time.parse()?));
        }
        if let Some((time, k)) = text.split_once('/') {
            let k = k.parse().ok().filter(|k| (1..u32::MAX).contains(k)).ok_or_else(|| TimeError::BadOrdinal(text.to_owned()))?;
            return Ok(Moment { time: time.parse()?, place: Place::After(k) });
        }
        Ok(Moment::end_of(text.parse()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_are_ordered_within_a_time() {
        let at = |text: &str| text.parse::<Moment>().unwrap();
        let order = ["5-", "5/1", "5/2", "5", "6-"].map(at);
        assert!(order.is_sorted());
        for moment in order {
            assert_eq!(moment.to_string().parse(), Ok(moment));
        }
        assert_eq!(at("-7-"), Moment::before(UnixNanos(-7)));
    }

    #[test]
    fn a_moment_that_is_none_is_refused() {
        for text in ["", "x", "5/0", "5/x", "5/4294967295", "1.5", "9223372036854775808"] {
            assert!(text.parse::<Moment>().is_err(), "{text}");
        }
    }
}
