//! The timeline's picture: activity as bars, empty stretches, the loop, and what lies under the pointer.
//!
//! The picture is a path in a box of [`BOX_WIDTH`] × [`BOX_HEIGHT`] units that the page stretches to the room there is. A column's
//! height is the square root of the rows of its busiest bar: a day's quietest minute stays visible beside its busiest.

use crate::link::{Histogram, Range};
use crate::units::UnixNanos;

use super::clock;
use super::numbers::{THIN, count};
use super::track::Track;

/// Width of the picture: columns that a wide screen still tells apart.
pub const BOX_WIDTH: u32 = 1_000;
/// Height of the picture.
pub const BOX_HEIGHT: u32 = 100;
/// A stretch of so many bars without a row, between rows, is marked.
const GAP_BARS: u32 = 2;
/// The least that can be zoomed to.
const LEAST_SPAN: i128 = 1_000_000;

/// What is drawn of a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// Outline of the columns, as a path.
    pub bars: String,
    /// Outline of the stretches without rows, as a path.
    pub gaps: String,
    /// `peak 3 412 rows in 1 min at 14:30`; empty without rows.
    pub summary: String,
}

fn numbers(histogram: &Histogram) -> Option<(i64, i64)> {
    Some((histogram.from.parse().ok()?, histogram.width.parse().ok().filter(|width| *width > 0)?))
}

/// Draws a histogram on the stretch of time that the timeline shows.
#[must_use]
pub fn picture(histogram: &Histogram, track: Track) -> Picture {
    let Some((from, width)) = numbers(histogram) else { return Picture::default() };
    let start_of = |bar: u32| UnixNanos((i128::from(from) + i128::from(bar) * i128::from(width)).clamp(i64::MIN.into(), i64::MAX.into()) as i64);
    let column = |time: UnixNanos| (track.fraction(time) * f64::from(BOX_WIDTH)).round() as u32;
    let Some((peak_bar, peak)) = histogram.counts.iter().copied().max_by_key(|(bar, rows)| (*rows, u32::MAX - *bar)).filter(|(_, rows)| *rows > 0)
    else {
        return Picture::default();
    };
    let mut heights = vec![0u64; BOX_WIDTH as usize];
    for (bar, rows) in &histogram.counts {
        let (left, right) = (column(start_of(*bar)), column(start_of(bar.saturating_add(1))));
        // A bar narrower than a column has it all the same.
        let right = right.max(left + 1);
        for height in heights.iter_mut().take(right as usize).skip(left as usize) {
            *height = (*height).max(*rows);
        }
    }
    let mut bars = String::new();
    let scale = f64::from(BOX_HEIGHT) / (peak as f64).sqrt();
    let mut at = 0;
    while at < heights.len() {
        let rows = heights[at];
        let end = heights[at..].iter().position(|other| *other != rows).map_or(heights.len(), |length| at + length);
        if rows > 0 {
            // Never nothing: a single row is activity.
            let height = ((rows as f64).sqrt() * scale).max(4.0);
            bars.push_str(&format!("M{at} {BOX_HEIGHT}V{:.1}H{end}V{BOX_HEIGHT}Z", f64::from(BOX_HEIGHT) - height));
        }
        at = end;
    }
    let mut gaps = String::new();
    for pair in histogram.counts.windows(2) {
        let [(before, _), (after, _)] = pair else { continue };
        if after - before > GAP_BARS {
            let (left, right) = (column(start_of(before + 1)), column(start_of(*after)));
            if right > left {
                gaps.push_str(&format!("M{left} 0H{right}V{BOX_HEIGHT}H{left}Z"));
            }
        }
    }
    let summary = format!("peak {} rows in {} at {}", count(peak), span(width), time_of_day(start_of(peak_bar), width));
    Picture { bars, gaps, summary }
}

/// `14:30 · 3 412 rows in 1 min`, or that the stretch has none.
#[must_use]
pub fn under_pointer(histogram: &Histogram, time: UnixNanos) -> Option<String> {
    let (from, width) = numbers(histogram)?;
    let bar = u32::try_from(time.0.checked_sub(from)?.div_euclid(width)).ok().filter(|bar| *bar < histogram.bars)?;
    let rows = histogram.counts.binary_search_by_key(&bar, |(bar, _)| *bar).ok().and_then(|index| histogram.counts.get(index));
    Some(match rows {
        Some((_, rows)) => format!("{} rows in {}", count(*rows), span(width)),
        None => format!("no rows in {}", span(width)),
    })
}

/// A width of bars in words: `1 min`, `5 s`, `10 ms`.
fn span(nanos: i64) -> String {
    const UNITS: [(i64, &str); 6] =
        [(86_400_000_000_000, "d"), (3_600_000_000_000, "h"), (60_000_000_000, "min"), (1_000_000_000, "s"), (1_000_000, "ms"), (1, "ns")];
    let (unit, name) = UNITS.into_iter().find(|(unit, _)| nanos >= *unit).unwrap_or((1, "ns"));
    format!("{}{THIN}{name}", nanos / unit)
}

fn time_of_day(time: UnixNanos, width: i64) -> String {
    let text = clock::time(time);
    let digits = if width >= 60_000_000_000 {
        5
    } else if width >= 1_000_000_000 {
        8
    } else {
        12
    };
    text.get(..digits).unwrap_or(&text).to_owned()
}

/// The stretch after zooming by a factor around a fraction of the width; `None` when that is the whole range again.
#[must_use]
pub fn zoomed(shown: Track, whole: Track, around: f64, factor: f64) -> Option<Range> {
    let (from, to) = (i128::from(shown.from().0), i128::from(shown.to().0));
    let (first, last) = (i128::from(whole.from().0), i128::from(whole.to().0));
    let around = around.clamp(0.0, 1.0);
    let span = (((to - from) as f64 * factor) as i128).max(LEAST_SPAN);
    if span >= last - first {
        return None;
    }
    let pivot = from + ((to - from) as f64 * around) as i128;
    let from = (pivot - (span as f64 * around) as i128).clamp(first, last - span);
    Some(Range { from: from.to_string(), to: (from + span).to_string() })
}

/// The stretch moved by a share of its width, within the range.
#[must_use]
pub fn panned(shown: Track, whole: Track, share: f64) -> Range {
    let span = i128::from(shown.to().0) - i128::from(shown.from().0);
    let (first, last) = (i128::from(whole.from().0), i128::from(whole.to().0));
    let from = (i128::from(shown.from().0) + (span as f64 * share) as i128).clamp(first, last - span);
    Range { from: from.to_string(), to: (from + span).to_string() }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 1_703_462_400_000_000_000;
    const MINUTE: i64 = 60_000_000_000;

    fn day() -> Track {
        Track::new(UnixNanos(DAY), UnixNanos(DAY + 1_440 * MINUTE)).unwrap()
    }

    fn minutes(counts: Vec<(u32, u64)>) -> Histogram {
        Histogram { from: DAY.to_string(), width: MINUTE.to_string(), bars: 1_440, counts, ..Histogram::default() }
    }

    #[test]
    fn the_busiest_bar_has_the_full_height_and_is_named() {
        let picture = picture(&minutes(vec![(0, 1), (720, 3_600), (721, 900)]), day());
        assert!(picture.bars.starts_with("M0 100V96.0H1V100Z"), "{}", picture.bars);
        assert!(picture.bars.contains("M500 100V0.0H501V100Z"), "{}", picture.bars);
        assert_eq!(picture.summary, "peak 3\u{2009}600 rows in 1\u{2009}min at 12:00");
    }

    #[test]
    fn stretches_without_rows_between_rows_are_marked_and_short_ones_are_not() {
        let picture = picture(&minutes(vec![(0, 5), (2, 5), (1_439, 5)]), day());
        assert_eq!(picture.gaps, "M2 0H999V100H2Z");
    }

    #[test]
    fn a_range_without_rows_draws_nothing() {
        assert_eq!(picture(&minutes(Vec::new()), day()), Picture::default());
        assert_eq!(picture(&Histogram::default(), day()), Picture::default());
    }

    #[test]
    fn the_pointer_reads_the_exact_count() {
        let histogram = minutes(vec![(720, 3_600)]);
        assert_eq!(under_pointer(&histogram, UnixNanos(DAY + 720 * MINUTE + 5)).as_deref(), Some("3\u{2009}600 rows in 1\u{2009}min"));
        assert_eq!(under_pointer(&histogram, UnixNanos(DAY + 721 * MINUTE)).as_deref(), Some("no rows in 1\u{2009}min"));
        assert_eq!(under_pointer(&histogram, UnixNanos(DAY - 1)), None);
    }

    #[test]
    fn zooming_keeps_what_lies_under_the_pointer_and_ends_at_the_whole_range() {
        let half = zoomed(day(), day(), 0.5, 0.5).unwrap();
        assert_eq!((half.from, half.to), ((DAY + 360 * MINUTE).to_string(), (DAY + 1_080 * MINUTE).to_string()));
        let track = Track::new(UnixNanos(DAY + 360 * MINUTE), UnixNanos(DAY + 1_080 * MINUTE)).unwrap();
        assert_eq!(zoomed(track, day(), 0.5, 2.0), None);
        let left = panned(track, day(), -5.0);
        assert_eq!((left.from, left.to), (DAY.to_string(), (DAY + 720 * MINUTE).to_string()));
    }
}
