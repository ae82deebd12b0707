//! Which rows to ask for next: windows in time, so that no query stays open, no row is lost at a seam and none comes twice.
//!
//! A window is either *limited* (`time >= cursor LIMIT n`: how far it reaches is known when it ends) or *bounded* (from counts: how
//! many rows it has is known when it starts). A limited window that comes back full may have cut the rows of its last time in two,
//! so these are asked for again by the next one.

use crate::units::UnixNanos;

/// Buckets that a range is counted in, at most.
pub const MAX_BUCKETS: i64 = 2_000;

/// Rows in each bucket of a range.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Counts {
    /// Start of bucket 0.
    pub from: UnixNanos,
    /// Nanoseconds of a bucket.
    pub width: i64,
    /// Rows in each bucket that has any, by number.
    pub buckets: Vec<(u64, u64)>,
}

/// The width that cuts a range into at most [`MAX_BUCKETS`] whole microseconds.
#[must_use]
pub fn bucket_width(from: UnixNanos, to: UnixNanos) -> i64 {
    let length = i128::from(to.0) - i128::from(from.0);
    let micros = (length.max(1) as u128).div_ceil(MAX_BUCKETS as u128).div_ceil(1000);
    i64::try_from(micros * 1000).unwrap_or(i64::MAX)
}

/// One request for rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Window {
    /// First time.
    pub from: UnixNanos,
    /// First time after.
    pub to: UnixNanos,
    /// At most so many rows; `None` when all rows of the window are wanted.
    pub limit: Option<u64>,
    /// Rows to reserve room for.
    pub rows: u64,
}

/// The window that starts at `cursor`.
///
/// `rows` is how many rows there is room for. `whole_time` asks for all rows of the single time `cursor`, which a limited window
/// could not get past.
#[must_use]
pub fn next(cursor: UnixNanos, end: UnixNanos, rows: u64, counts: Option<&Counts>, whole_time: bool) -> Window {
    let rows = rows.max(1);
    if whole_time {
        return Window { from: cursor, to: UnixNanos(cursor.0.saturating_add(1)), limit: None, rows };
    }
    let limited = Window { from: cursor, to: end, limit: Some(rows), rows };
    let Some(counts) = counts else { return limited };
    if cursor < counts.from || counts.width <= 0 {
        return limited;
    }
    let start_of = |bucket: u64| i128::from(counts.from.0) + i128::from(bucket) * i128::from(counts.width);
    let current = ((i128::from(cursor.0) - i128::from(counts.from.0)) / i128::from(counts.width)) as u64;
    let first = counts.buckets.partition_point(|(bucket, _)| *bucket < current);
    let mut sum = 0u64;
    for (bucket, count) in counts.buckets.iter().skip(first) {
        match sum.checked_add(*count) {
            Some(next) if next <= rows => sum = next,
            // The first bucket alone is too much: a limited window subdivides it.
            _ if sum == 0 => return limited,
            _ => {
                let to = UnixNanos(i64::try_from(start_of(*bucket)).unwrap_or(i64::MAX).min(end.0));
                return if to > cursor { Window { from: cursor, to, limit: None, rows: sum } } else { limited };
            }
        }
    }
    Window { from: cursor, to: end, limit: None, rows: sum.max(1) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn counts() -> Counts {
        Counts { from: UnixNanos(1_000), width: 100, buckets: vec![(0, 10), (1, 20), (3, 5), (4, 1_000), (5, 7)] }
    }

    fn at(cursor: i64, rows: u64) -> Window {
        next(UnixNanos(cursor), UnixNanos(2_000), rows, Some(&counts()), false)
    }

    #[test]
    fn without_counts_a_window_is_limited() {
        assert_eq!(next(UnixNanos(5), UnixNanos(9), 3, None, false), Window { from: UnixNanos(5), to: UnixNanos(9), limit: Some(3), rows: 3 });
    }

    #[test]
    fn buckets_that_fit_make_one_bounded_window_that_ends_before_the_next_full_one() {
        assert_eq!(at(1_000, 35), Window { from: UnixNanos(1_000), to: UnixNanos(1_400), limit: None, rows: 35 });
        assert_eq!(at(1_000, 29), Window { from: UnixNanos(1_000), to: UnixNanos(1_100), limit: None, rows: 10 });
    }

    #[test]
    fn a_bucket_past_the_cap_is_subdivided_by_a_limited_window() {
        assert_eq!(at(1_400, 35).limit, Some(35));
        assert_eq!(at(1_450, 35).limit, Some(35));
    }

    #[test]
    fn the_last_window_reaches_the_end_and_an_empty_rest_is_one_query() {
        assert_eq!(at(1_500, 35), Window { from: UnixNanos(1_500), to: UnixNanos(2_000), limit: None, rows: 7 });
        assert_eq!(at(1_700, 35), Window { from: UnixNanos(1_700), to: UnixNanos(2_000), limit: None, rows: 1 });
    }

    #[test]
    fn a_time_past_the_cap_is_asked_for_whole() {
        let window = next(UnixNanos(7), UnixNanos(9), 3, None, true);
        assert_eq!((window.from, window.to, window.limit), (UnixNanos(7), UnixNanos(8), None));
    }

    #[test]
    fn windows_of_any_size_cover_a_range_once() {
        for rows in [1, 10, 29, 35, 2_000] {
            let (mut cursor, mut guard) = (1_000, 0);
            while cursor < 2_000 {
                let window = at(cursor, rows);
                assert!(window.from.0 == cursor && window.to.0 > cursor && window.to.0 <= 2_000);
                cursor = if window.limit.is_some() { cursor + 50 } else { window.to.0 };
                guard += 1;
                assert!(guard < 100);
            }
        }
    }

    #[test]
    fn a_range_has_at_most_two_thousand_buckets() {
        let day = bucket_width(UnixNanos(0), UnixNanos(86_400_000_000_000));
        assert_eq!((day % 1000, 86_400_000_000_000 / day), (0, 2_000));
        assert_eq!(bucket_width(UnixNanos(0), UnixNanos(1)), 1_000);
        assert_eq!(bucket_width(UnixNanos(i64::MIN), UnixNanos(i64::MAX)) % 1000, 0);
    }
}
