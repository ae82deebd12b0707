//! Geometry of the playhead's track: time ↔ fraction of the width, and where the labels stand.

use crate::units::{NANOS_PER_DAY, UnixNanos, iso};

/// The range that the track spans, `from` inclusive, `to` exclusive. Never empty.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Track {
    from: i64,
    to: i64,
}

/// A label under the track.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Place on the track, 0 to 1.
    pub fraction: f64,
    /// As much of the time as the distance between labels needs.
    pub label: String,
}

const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;
const HOUR: i64 = 60 * MINUTE;

/// Distances between labels from a second up; below a second they are 1, 2 or 5 times a power of ten.
const STEPS: [i64; 20] = [
    SECOND,
    2 * SECOND,
    5 * SECOND,
    10 * SECOND,
    15 * SECOND,
    30 * SECOND,
    MINUTE,
    2 * MINUTE,
    5 * MINUTE,
    10 * MINUTE,
    15 * MINUTE,
    30 * MINUTE,
    HOUR,
    2 * HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    NANOS_PER_DAY,
    7 * NANOS_PER_DAY,
    28 * NANOS_PER_DAY,
];

impl Track {
    /// The track of a range; `None` when it is empty.
    #[must_use]
    pub fn new(from: UnixNanos, to: UnixNanos) -> Option<Track> {
        (from < to).then_some(Track { from: from.0, to: to.0 })
    }

    /// The track of a range as the state holds it.
    #[must_use]
    pub fn of_range(range: &crate::link::Range) -> Option<Track> {
        Track::new(range.from.parse().ok()?, range.to.parse().ok()?)
    }

    /// First nanosecond.
    #[must_use]
    pub fn from(self) -> UnixNanos {
        UnixNanos(self.from)
    }

    /// First nanosecond after it.
    #[must_use]
    pub fn to(self) -> UnixNanos {
        UnixNanos(self.to)
    }

    fn span(self) -> i128 {
        i128::from(self.to) - i128::from(self.from)
    }

    /// Where a time lies, 0 to 1; times outside are at the ends.
    #[must_use]
    pub fn fraction(self, time: UnixNanos) -> f64 {
        let offset = (i128::from(time.0) - i128::from(self.from)).clamp(0, self.span());
        offset as f64 / self.span() as f64
    }

    /// The time at a fraction of the width, within the range. The pointer has no nanoseconds; what it means is exact from here on.
    #[must_use]
    pub fn at(self, fraction: f64) -> UnixNanos {
        let fraction = if fraction.is_finite() { fraction.clamp(0.0, 1.0) } else { 0.0 };
        let parts = (fraction * f64::from(u32::MAX)).round() as i128;
        let offset = self.span() * parts / i128::from(u32::MAX);
        UnixNanos((i128::from(self.from) + offset).min(i128::from(self.to) - 1) as i64)
    }

    /// At most `most` labels at round times.
    #[must_use]
    pub fn ticks(self, most: usize) -> Vec<Tick> {
        let most = most.max(1) as i128;
        let small = (0..9).flat_map(|power| [1, 2, 5].map(|digit| digit * 10i64.pow(power)));
        let Some(step) = small.chain(STEPS).find(|step| self.span() / i128::from(*step) < most) else {
            return Vec::new();
        };
        let mut ticks = Vec::new();
        let mut at = i128::from(self.from.div_euclid(step)) * i128::from(step);
        while at < i128::from(self.to) {
            if at >= i128::from(self.from) {
                let time = UnixNanos(at as i64);
                ticks.push(Tick { fraction: self.fraction(time), label: label(time, step) });
            }
            at += i128::from(step);
        }
        ticks
    }
}

/// A fraction of the width as the style sheet takes it.
#[must_use]
pub fn percent(fraction: f64) -> String {
    format!("{:.3}%", fraction * 100.0)
}

fn label(time: UnixNanos, step: i64) -> String {
    let text = iso(time);
    // 2023-12-25T23:59:59.446821072Z
    let digits = (1..=9).find(|digits| step % 10i64.pow(9 - digits) == 0).unwrap_or(9) as usize;
    let part = match step {
        NANOS_PER_DAY.. => text.get(5..10),
        MINUTE.. => text.get(11..16),
        SECOND.. => text.get(11..19),
        _ => text.get(11..20 + digits),
    };
    part.unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 1_703_462_400_000_000_000;

    fn labels(from: i64, to: i64, most: usize) -> Vec<String> {
        Track::new(UnixNanos(from), UnixNanos(to)).unwrap().ticks(most).into_iter().map(|tick| tick.label).collect()
    }

    #[test]
    fn the_ends_are_exact_and_the_end_itself_is_outside() {
        let track = Track::new(UnixNanos(DAY), UnixNanos(DAY + NANOS_PER_DAY)).unwrap();
        assert_eq!(track.at(0.0), UnixNanos(DAY));
        assert_eq!(track.at(1.0), UnixNanos(DAY + NANOS_PER_DAY - 1));
        assert_eq!(track.at(f64::NAN), UnixNanos(DAY));
        assert_eq!(track.fraction(UnixNanos(DAY + NANOS_PER_DAY / 4)), 0.25);
        assert_eq!(track.fraction(UnixNanos(0)), 0.0);
        assert_eq!(Track::new(UnixNanos(5), UnixNanos(5)), None);
    }

    #[test]
    fn the_widest_range_does_not_overflow() {
        let track = Track::new(UnixNanos(i64::MIN), UnixNanos(i64::MAX)).unwrap();
        assert_eq!(track.at(0.0), UnixNanos(i64::MIN));
        assert_eq!(track.at(1.0), UnixNanos(i64::MAX - 1));
        assert!(track.ticks(10).len() <= 10);
    }

    #[test]
    fn labels_show_what_their_distance_needs() {
        assert_eq!(labels(DAY, DAY + NANOS_PER_DAY, 8), ["00:00", "06:00", "12:00", "18:00"]);
        assert_eq!(labels(DAY, DAY + 4 * SECOND, 4), ["00:00:00", "00:00:02"]);
        assert_eq!(labels(DAY, DAY + SECOND / 2, 3), ["00:00:00.0", "00:00:00.2", "00:00:00.4"]);
        assert_eq!(labels(DAY, DAY + 3 * NANOS_PER_DAY, 4), ["12-25", "12-26", "12-27"]);
        assert_eq!(labels(DAY + 1, DAY + 4, 5), ["00:00:00.000000001", "00:00:00.000000002", "00:00:00.000000003"]);
    }

    #[test]
    fn there_are_never_more_labels_than_asked() {
        for power in 1..18 {
            for most in 1..12 {
                let ticks = labels(DAY + 7, DAY + 7 + 10i64.pow(power), most);
                assert!(ticks.len() <= most, "10^{power}: {ticks:?}");
            }
        }
    }
}
