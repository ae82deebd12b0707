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
