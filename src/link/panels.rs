//! What the tape and the timeline ask for and get. Both are standing wishes: the page says once what it shows, the worker answers
//! whenever that changes. Neither holds back a frame: they travel beside it, at most once for each painted one.

use serde::{Deserialize, Serialize};

/// Which trades the tape shows. Trades of the range are numbered from 0 in the order of their rows; with a size filter, those
/// that pass it are.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TapeView {
    /// Number of the first (oldest) trade shown; `None` follows the newest that the clock has passed.
    pub first: Option<u64>,
    /// How many, at most [`TapeView::MOST_ROWS`].
    pub rows: u16,
    /// Only trades of at least this size: an exact decimal.
    pub min_size: Option<String>,
}

impl TapeView {
    /// More rows than any window has room for, twice over.
    pub const MOST_ROWS: u16 = 512;
}

/// Trades for a [`TapeView`].
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TapeRows {
    /// The wish that this answers.
    pub view: TapeView,
    /// Trades that pass the filter up to the moment shown; null until they were counted.
    pub passed: Option<u64>,
    /// … in the whole range.
    pub total: Option<u64>,
    /// Number of the first row below; null until the trades before it were counted.
    pub first: Option<u64>,
    /// Oldest first. None of them lies behind the moment shown.
    pub rows: Vec<TapeRow>,
    /// Rows that the view asks for are still on their way.
    pub loading: bool,
    /// Why there will be none: the table has no trades, or the store refused.
    pub reason: Option<String>,
}

/// One trade.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TapeRow {
    /// Designated time: decimal nanoseconds.
    pub time: String,
    /// Its place among the trades of that time that the table has for the instrument, whatever the filter: from 1.
    pub nth: u32,
    /// Exact decimal.
    pub price: String,
    /// Exact decimal.
    pub size: String,
    /// `buy`, `sell` or `none`: who initiated it.
    pub aggressor: String,
}

/// Which part of the range the timeline shows; `None` is the range's own end.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TimelineView {
    /// First nanosecond.
    pub from: Option<String>,
    /// First nanosecond after it.
    pub to: Option<String>,
}

/// Rows of the open instrument in equal stretches of time, as the store counts them.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Histogram {
    /// The wish that this answers.
    pub view: TimelineView,
    /// Start of bar 0: a whole multiple of the width since 1970, in decimal nanoseconds.
    pub from: String,
    /// Width of a bar in decimal nanoseconds: the smallest of [`Histogram::WIDTHS_NANOS`] that gives at most
    /// [`Histogram::MOST_BARS`] bars.
    pub width: String,
    /// How many bars the part shown has, empty ones included.
    pub bars: u32,
    /// Bar and its rows, in order; bars without rows are left out.
    pub counts: Vec<(u32, u64)>,
    /// Still being counted; what was counted before stays.
    pub loading: bool,
    /// Why it cannot be counted.
    pub reason: Option<String>,
}

impl Histogram {
    /// Bars at most.
    pub const MOST_BARS: u32 = 2_000;

    /// A millisecond to a day: each a whole multiple of those before it that divide a minute, an hour or a day.
    pub const WIDTHS_NANOS: [i64; 15] = [
        1_000_000,
        10_000_000,
        100_000_000,
        1_000_000_000,
        5_000_000_000,
        10_000_000_000,
        30_000_000_000,
        60_000_000_000,
        300_000_000_000,
        600_000_000_000,
        1_800_000_000_000,
        3_600_000_000_000,
        14_400_000_000_000,
        43_200_000_000_000,
        86_400_000_000_000,
    ];
}
