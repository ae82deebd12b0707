//! Books kept on the way, so that going back need not start at the beginning.

use std::collections::BTreeMap;

use super::Target;
use crate::market::RowMark;
use crate::units::{Moment, Place, UnixNanos};

/// Bytes of checkpoints kept beside the history of rows.
pub const CHECKPOINT_BUDGET_BYTES: usize = 32 << 20;

/// Rows between checkpoints at least.
const SPACING_ROWS: i64 = 100_000;
/// … and rows per entry of the book at least, so that a deep book is not copied more often than it changes.
const SPACING_PER_ENTRY: i64 = 4;

/// A book as it stood after a row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Checkpoint {
    /// Rows of the range applied.
    pub index: i64,
    /// Time of the last applied row; the rows of this time are where a run continues.
    pub time: UnixNanos,
    /// Index of the first row with that time.
    pub first_of_time: i64,
    /// Mark of the last applied row.
    pub last: Option<RowMark>,
    /// The encoded book.
    pub book: Vec<u8>,
}

impl Checkpoint {
    /// The moment right after its last row.
    #[must_use]
    pub fn moment(&self) -> Moment {
        let place = match u32::try_from(self.index - self.first_of_time) {
            Ok(0) => Place::Before,
            Ok(k) if k < u32::MAX => Place::After(k),
            _ => Place::End,
        };
        Moment { time: self.time, place }
    }
}

/// A mark's bits in the encoded form.
const HAS_MARK: u8 = 1;
const HAS_VENUE_TIME: u8 = 2;
const IS_SNAPSHOT: u8 = 4;
const IS_LAST: u8 = 8;
const IS_BY_TIME: u8 = 16;
/// Index, time, first of the time, bits, the mark's two times.
const HEADER_BYTES: usize = 5 * 8 + 1;

impl Checkpoint {
    /// Bytes that [`Checkpoint::decode`] of the same build reads: a fixed header, little endian, then the book.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let mut out = Vec::with_capacity(HEADER_BYTES + self.book.len());
        let mark = self.last;
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        let bits = mark.map_or(0, |mark| {
            let told = bit(mark.snapshot, IS_SNAPSHOT) | bit(mark.last, IS_LAST) | bit(mark.by_time, IS_BY_TIME);
            HAS_MARK | bit(mark.venue_time.is_some(), HAS_VENUE_TIME) | told
        });
        out.push(bits);
        let mark_time = mark.map_or(0, |mark| mark.time.0);
        let venue_time = mark.and_then(|mark| mark.venue_time).map_or(0, |time| time.0);
        for number in [self.index, self.time.0, self.first_of_time, mark_time, venue_time] {
            out.extend(number.to_le_bytes());
        }
        out.extend(&self.book);
        out
    }

    /// Reads one back; the book in it is looked at when it is used. `None` when the header is cut short.
    #[must_use]
    pub fn decode(bytes: &[u8]) -> Option<Checkpoint> {
        let (header, book) = bytes.split_at_checked(HEADER_BYTES)?;
        let (bits, numbers) = header.split_first()?;
        let has = |bit: u8| bits & bit != 0;
        let mut numbers = numbers.chunks_exact(8).filter_map(|bytes| bytes.first_chunk()).map(|bytes| i64::from_le_bytes(*bytes));
        let (index, time, first_of_time) = (numbers.next()?, numbers.next()?, numbers.next()?);
        let (mark_time, venue_time) = (numbers.next()?, numbers.next()?);
        let mark = RowMark {
            time: UnixNanos(mark_time),
            venue_time: has(HAS_VENUE_TIME).then_some(UnixNanos(venue_time)),
            snapshot: has(IS_SNAPSHOT),
            last: has(IS_LAST),
            by_time: has(IS_BY_TIME),
        };
        Some(Checkpoint { index, time: UnixNanos(time), first_of_time, last: has(HAS_MARK).then_some(mark), book: book.to_vec() })
    }
}

/// Checkpoints of one open place, by index.
#[derive(Debug, Default)]
pub struct Checkpoints {
    kept: BTreeMap<i64, Checkpoint>,
    bytes: usize,
}

impl Checkpoints {
    /// Forgets all.
    pub fn clear(&mut self) {
        self.kept.clear();
        self.bytes = 0;
    }

    /// Whether a checkpoint at an index would be worth its memory.
    #[must_use]
    pub fn wants(&self, index: i64, run_origin: i64, book_entries: usize) -> bool {
        let spacing = SPACING_ROWS.max(SPACING_PER_ENTRY.saturating_mul(book_entries as i64));
        let before = self.kept.range(..=index).next_back().map_or(run_origin, |(at, _)| (*at).max(run_origin));
        let after = self.kept.range(index..).next().map_or(i64::MAX, |(at, _)| *at);
        index - before >= spacing && after.saturating_sub(index) >= spacing
    }

    /// Keeps one. When the budget is exceeded every second one goes: the rest still cover the range, at twice the distance.
    pub fn insert(&mut self, checkpoint: Checkpoint) {
        self.bytes += checkpoint.book.len();
        if let Some(old) = self.kept.insert(checkpoint.index, checkpoint) {
            self.bytes -= old.book.len();
        }
        while self.bytes > CHECKPOINT_BUDGET_BYTES && self.kept.len() > 1 {
            let mut odd = false;
            self.kept.retain(|_, _| {
                odd = !odd;
                odd
            });
            self.bytes = self.kept.values().map(|kept| kept.book.len()).sum();
        }
    }

    /// The last one at or before a target with an index of at least `from`.
    #[must_use]
    pub fn before(&self, target: &Target, from: i64) -> Option<&Checkpoint> {
        self.kept.range(from..).rev().map(|(_, kept)| kept).find(|kept| target.includes(kept.moment()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn checkpoint(index: i64, bytes: usize) -> Checkpoint {
        Checkpoint { index, time: UnixNanos(index * 10), first_of_time: index - 2, last: None, book: vec![0; bytes] }
    }

    #[test]
    fn the_nearest_before_a_target_is_found() {
        let mut kept = Checkpoints::default();
        for index in [100, 200, 300] {
            kept.insert(checkpoint(index, 1));
        }
        let before = |moment: &str| kept.before(&Target::Moment(moment.parse().unwrap()), i64::MIN).map(|found| found.index);
        assert_eq!(before("2000"), Some(200));
        assert_eq!(before("2000/2"), Some(200));
        assert_eq!(before("2000/1"), Some(100));
        assert_eq!(before("2000-"), Some(100));
        assert_eq!(before("999"), None);
        assert_eq!(kept.before(&Target::All, 301), None);
    }

    #[test]
    fn they_are_thinned_evenly_past_the_budget() {
        let mut kept = Checkpoints::default();
        for index in 0..10 {
            kept.insert(checkpoint(index, CHECKPOINT_BUDGET_BYTES / 8));
        }
        assert!(kept.bytes <= CHECKPOINT_BUDGET_BYTES);
        assert!(kept.kept.len() >= 4 && kept.kept.contains_key(&0), "{:?}", kept.kept.keys());
    }

    #[test]
    fn deep_books_are_kept_less_often() {
        let mut kept = Checkpoints::default();
        assert!(!kept.wants(99_999, 0, 10) && kept.wants(100_000, 0, 10));
        assert!(!kept.wants(100_000, 0, 50_000) && kept.wants(200_000, 0, 50_000));
        kept.insert(checkpoint(150_000, 1));
        assert!(!kept.wants(120_000, 0, 10));
    }
}
