//! The timeline's picture: activity as bars, empty stretches, the loop, and what lies under the pointer.
//!
//! The picture is a path in a box of [`BOX_WIDTH`] × [`BOX_HEIGHT`] units that the page stretches to the room there is. A column is
//! as high as the rows of its busiest bar, so that twice the height is twice the rows.

use crate::link::{Histogram, Range, State};
use crate::units::{Moment, UnixNanos};

use super::clock;
use super::numbers::{THIN, counted};
use super::track::{Track, percent};

/// Width of the picture: columns that a wide screen still tells apart.
pub const BOX_WIDTH: u32 = 1_000;
/// Height of the picture.
pub const BOX_HEIGHT: u32 = 100;
/// What a bar with a row has at least of the height: about a pixel.
const LEAST_HEIGHT: f64 = 2.5;
/// A stretch without a row, between rows, is marked when it is longer than so many bars …
const GAP_BARS: u32 = 2;
/// … and would hold so many rows if they came evenly: a silence between two orders is no gap.
const GAP_ROWS: u128 = 20;
/// The least that can be zoomed to.
const LEAST_SPAN: i128 = 1_000_000;
/// What one step of the wheel, a key or a button zooms by.
pub const ZOOM: f64 = 0.5;
/// What one step of the wheel or a key moves by, of the width shown.
pub const PAN: f64 = 0.2;

/// What is drawn of a histogram.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Picture {
    /// Outline of the columns, as a path.
    pub bars: String,
    /// The stretches without rows: a polygon in shares of the box, for the style sheet to clip the hatching by. Empty without any.
    pub gaps: String,
}

fn numbers(histogram: &Histogram) -> Option<(i64, i64)> {
    Some((histogram.from.parse().ok()?, histogram.width.parse().ok().filter(|width| *width > 0)?))
}

fn start_of(from: i64, width: i64, bar: u32) -> UnixNanos {
    UnixNanos((i128::from(from) + i128::from(bar) * i128::from(width)).clamp(i64::MIN.into(), i64::MAX.into()) as i64)
}

/// The busiest bar, the first of them, and its rows.
fn peak(histogram: &Histogram) -> Option<(u32, u64)> {
    histogram.counts.iter().copied().max_by_key(|(bar, rows)| (*rows, u32::MAX - *bar)).filter(|(_, rows)| *rows > 0)
}

/// `peak 3 412 rows in 1 min at 14:30`, that there is no row, or why they cannot be counted.
#[must_use]
pub fn summary(histogram: &Histogram) -> String {
    if let Some(reason) = &histogram.reason {
        return reason.clone();
    }
    match (numbers(histogram), peak(histogram)) {
        (Some((from, width)), Some((bar, rows))) => {
            format!("peak {} in {} at {}", counted(rows, "row"), span(width), time_of_day(start_of(from, width, bar), width))
        }
        (Some(_), None) if !histogram.loading => "no rows".to_owned(),
        _ => String::new(),
    }
}

/// First and last time with rows, wherever they lie.
#[must_use]
pub fn bounds(state: &State) -> Option<(UnixNanos, UnixNanos)> {
    let bounds = state.catalogue.bounds.as_ref()?;
    Some((bounds.from.parse().ok()?, bounds.to.parse().ok()?))
}

/// Draws a histogram on the stretch of time that the timeline shows. `bounds` tell whether rows come before and after it.
#[must_use]
pub fn picture(histogram: &Histogram, track: Track, bounds: Option<(UnixNanos, UnixNanos)>) -> Picture {
    let Some((from, width)) = numbers(histogram) else { return Picture::default() };
    let start_of = |bar: u32| start_of(from, width, bar);
    let column = |time: UnixNanos| (track.fraction(time) * f64::from(BOX_WIDTH)).round() as u32;
    let before = bounds.is_some_and(|(first, _)| first < track.from());
    let after = bounds.is_some_and(|(_, last)| last >= track.to());
    let Some((_, peak)) = peak(histogram) else {
        // In the middle of a gap.
        let gaps = if before && after && !histogram.loading { hatched(",0% 100%,0% 0%,100% 0%") } else { String::new() };
        return Picture { bars: String::new(), gaps };
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
    let mut at = 0;
    while at < heights.len() {
        let rows = heights[at];
        let end = heights[at..].iter().position(|other| *other != rows).map_or(heights.len(), |length| at + length);
        if rows > 0 {
            // Never nothing: a single row is activity.
            let height = (rows as f64 / peak as f64 * f64::from(BOX_HEIGHT)).max(LEAST_HEIGHT);
            bars.push_str(&format!("M{at} {BOX_HEIGHT}V{:.1}H{end}V{BOX_HEIGHT}Z", f64::from(BOX_HEIGHT) - height));
        }
        at = end;
    }
    let rows: u128 = histogram.counts.iter().map(|(_, rows)| u128::from(*rows)).sum();
    let mut gaps = String::new();
    let mut last = before.then_some(0);
    let ends = histogram.counts.iter().map(|(bar, _)| *bar).chain(after.then_some(histogram.bars));
    for bar in ends {
        if let Some(empty_from) = last {
            let empty = bar.saturating_sub(empty_from);
            if empty >= GAP_BARS && u128::from(empty) * rows >= GAP_ROWS * u128::from(histogram.bars) {
                let [left, right] = [empty_from, bar].map(|bar| percent(track.fraction(start_of(bar))));
                gaps.push_str(&format!(",{left} 100%,{left} 0%,{right} 0%,{right} 100%"));
            }
        }
        last = Some(bar.saturating_add(1));
    }
    if !gaps.is_empty() {
        gaps = hatched(&gaps);
    }
    Picture { bars, gaps }
}

/// The polygon of stretches that are written one after another, from the box's lower left corner to its lower right.
fn hatched(stretches: &str) -> String {
    format!("polygon(0% 100%{stretches},100% 100%)")
}

/// `14:30 · 3 412 rows in 1 min`, or that the stretch has none.
#[must_use]
pub fn under_pointer(histogram: &Histogram, time: UnixNanos) -> Option<String> {
    let (from, width) = numbers(histogram)?;
    let bar = u32::try_from(time.0.checked_sub(from)?.div_euclid(width)).ok().filter(|bar| *bar < histogram.bars)?;
    let rows = histogram.counts.binary_search_by_key(&bar, |(bar, _)| *bar).ok().and_then(|index| histogram.counts.get(index));
    Some(match rows {
        Some((_, rows)) => format!("{} in {}", counted(*rows, "row"), span(width)),
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

/// Where the moment on screen, or the one that is sought, lies in the stretch shown; its middle when it lies outside.
#[must_use]
pub fn playhead(state: &State, shown: Track) -> f64 {
    let moment = state.seeking.as_ref().or(state.as_of.as_ref()).and_then(|moment| moment.parse::<Moment>().ok());
    let within = moment.filter(|moment| (shown.from()..shown.to()).contains(&moment.time));
    within.map_or(0.5, |moment| shown.fraction(moment.time))
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
        let histogram = minutes(vec![(0, 1), (720, 3_600), (721, 900)]);
        assert_eq!(summary(&histogram), "peak 3\u{2009}600 rows in 1\u{2009}min at 12:00");
        let picture = picture(&histogram, day(), None);
        assert!(picture.bars.starts_with("M0 100V97.5H1V100Z"), "{}", picture.bars);
        assert!(picture.bars.contains("M500 100V0.0H501V100Z"), "{}", picture.bars);
        assert!(picture.bars.contains("M501 100V75.0H502V100Z"), "{}", picture.bars);
    }

    #[test]
    fn stretches_without_rows_are_marked_where_rows_were_to_be_expected() {
        // Every bar's worth of rows is missing from bar 240 to 479.
        let steady = |bar: u32| !(240..480).contains(&bar);
        let counts = (0..1_440).filter(|bar| steady(*bar)).map(|bar| (bar, 5)).collect();
        assert_eq!(picture(&minutes(counts), day(), None).gaps, "polygon(0% 100%,16.667% 100%,16.667% 0%,33.333% 0%,33.333% 100%,100% 100%)");
        // A row an hour: an hour without is nothing unusual.
        let sparse = (0..24).map(|hour| (hour * 60, 1)).collect();
        assert_eq!(picture(&minutes(sparse), day(), None).gaps, "");
        // One empty bar is none.
        let short = (0..1_440).filter(|bar| *bar != 700).map(|bar| (bar, 500)).collect();
        assert_eq!(picture(&minutes(short), day(), None).gaps, "");
    }

    #[test]
    fn a_gap_is_marked_also_where_it_reaches_over_an_end_of_what_is_shown() {
        let outside = Some((UnixNanos(DAY - MINUTE), UnixNanos(DAY + 2_000 * MINUTE)));
        let counts: Vec<(u32, u64)> = (240..1_200).map(|bar| (bar, 5)).collect();
        let wanted = "polygon(0% 100%,0.000% 100%,0.000% 0%,16.667% 0%,16.667% 100%,83.333% 100%,83.333% 0%,100.000% 0%,100.000% 100%,100% 100%)";
        assert_eq!(picture(&minutes(counts.clone()), day(), outside).gaps, wanted);
        // Before the first row of all there is no gap.
        let inside = Some((UnixNanos(DAY + 240 * MINUTE), UnixNanos(DAY + 1_199 * MINUTE)));
        assert_eq!(picture(&minutes(counts), day(), inside).gaps, "");
        assert_eq!(picture(&minutes(Vec::new()), day(), outside).gaps, "polygon(0% 100%,0% 100%,0% 0%,100% 0%,100% 100%)");
    }

    #[test]
    fn a_range_without_rows_says_so() {
        assert_eq!((picture(&minutes(Vec::new()), day(), None), summary(&minutes(Vec::new())).as_str()), (Picture::default(), "no rows"));
        let loading = Histogram { loading: true, ..minutes(Vec::new()) };
        assert_eq!((summary(&loading), summary(&Histogram::default())), (String::new(), String::new()));
        let refused = Histogram { reason: Some("the store refused".into()), ..minutes(Vec::new()) };
        assert_eq!(summary(&refused), "the store refused");
    }

    #[test]
    fn zooming_by_keys_is_around_the_moment_on_screen() {
        let mut state = State { as_of: Some(format!("{}/2", DAY + 360 * MINUTE)), ..State::default() };
        assert_eq!(playhead(&state, day()), 0.25);
        state.as_of = Some((DAY - 1).to_string());
        assert_eq!((playhead(&state, day()), playhead(&State::default(), day())), (0.5, 0.5));
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
