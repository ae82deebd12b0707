//! The histogram of the timeline: rows of the open instrument in bars of a round width, as the store counts them.
//!
//! A bar counts the rows between its ends that lie in the part shown: where the part begins or ends within a bar, that bar counts
//! less than the whole. So the bars always add up to the rows of the part.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::Engine;
use super::open::Task;
use crate::link::{FromWorker, Histogram, TimelineView};
use crate::store::{Query, answers};
use crate::units::{NANOS_PER_DAY, UnixNanos};

/// Answers kept, so that drilling in and out again asks once.
const KEPT: usize = 8;
const NANOS_PER_SECOND: i64 = 1_000_000_000;

/// Part of the range and the width of its bars.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Bars {
    from: UnixNanos,
    to: UnixNanos,
    width: i64,
}

impl Bars {
    fn new(from: UnixNanos, to: UnixNanos) -> Bars {
        let fits = |width: i64| Bars { from, to, width }.count() <= i64::from(Histogram::MOST_BARS);
        let round = Histogram::WIDTHS_NANOS.into_iter().find(|width| fits(*width));
        // Years: the fewest whole days.
        let days = || (1..i64::MAX / NANOS_PER_DAY).map(|days| days * NANOS_PER_DAY).find(|width| fits(*width)).unwrap_or(i64::MAX);
        Bars { from, to, width: round.unwrap_or_else(days) }
    }

    /// Start of bar 0; at the first times that there are, the first nanosecond.
    fn origin(self) -> UnixNanos {
        UnixNanos(self.from.0.div_euclid(self.width).saturating_mul(self.width))
    }

    fn count(self) -> i64 {
        (self.to.0.saturating_sub(1)).div_euclid(self.width) - self.from.0.div_euclid(self.width) + 1
    }

    fn whole_seconds(self) -> bool {
        [self.from.0, self.to.0, self.width].iter().all(|nanos| nanos % NANOS_PER_SECOND == 0)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Status {
    Known,
    Loading,
    Reason(String),
}

#[derive(Debug, Default)]
pub(super) struct Timeline {
    pub(super) view: Option<TimelineView>,
    /// The last used comes last.
    known: VecDeque<(Bars, Vec<(u32, u64)>)>,
    pub(super) refused: Option<(Bars, String)>,
    /// Bars that were posted last.
    shown: Option<Bars>,
    posted: Option<(TimelineView, Option<Bars>, Status)>,
}

impl Timeline {
    pub(super) fn forget(&mut self) {
        *self = Timeline { view: self.view.take(), ..Timeline::default() };
    }

    fn counts(&self, bars: Bars) -> Option<&Vec<(u32, u64)>> {
        self.known.iter().find(|(known, _)| *known == bars).map(|(_, counts)| counts)
    }
}

impl Engine {
    pub(super) fn show_timeline(&mut self, view: Option<TimelineView>) {
        if view.is_none() {
            self.withdraw_aside(|task| matches!(task, Task::Bars(_)));
        }
        // A panel that comes back has forgotten what it was told.
        self.timeline.posted = None;
        self.timeline.view = view;
    }

    fn bars(&self) -> Option<Result<Bars, String>> {
        let (view, opened) = (self.timeline.view.as_ref()?, self.opened.as_ref()?);
        let time = |text: &Option<String>, end: UnixNanos| match text {
            Some(text) => text.parse::<UnixNanos>().map_err(|error| format!("timeline: {error}")),
            None => Ok(end),
        };
        Some(time(&view.from, opened.from).and_then(|from| {
            let (from, to) = (from.max(opened.from), time(&view.to, opened.to)?.min(opened.to));
            if from < to { Ok(Bars::new(from, to)) } else { Err(format!("timeline: {from} is not before {to} within the range")) }
        }))
    }

    pub(super) fn ask_for_bars(&mut self) {
        let (Some(Ok(bars)), Some(opened)) = (self.bars(), &self.opened) else { return };
        if self.timeline.counts(bars).is_some() || self.timeline.refused.as_ref().is_some_and(|(refused, _)| *refused == bars) {
            return;
        }
        let (place, origin, from, to, width) = (opened.place.clone(), bars.origin(), bars.from, bars.to, bars.width);
        let counted = bars.whole_seconds() && self.counted.contains(&place.table) && place.key.is_counted();
        let query = match counted {
            true => Query::SecondCounts { place, origin, from, to, width },
            false => Query::Counts { place, origin, from, to, width },
        };
        self.withdraw_aside(|task| matches!(task, Task::Bars(other) if *other != bars));
        self.ask_aside(Task::Bars(bars), &query);
    }

    pub(super) fn got_bars(&mut self, bars: Bars, answer: &[RecordBatch]) -> Result<(), String> {
        let counts = answers::counts(answer, bars.origin(), bars.width).map_err(|error| error.to_string())?;
        let bar = |(number, rows): (u64, u64)| u32::try_from(number).ok().filter(|number| i64::from(*number) < bars.count()).zip(Some(rows));
        let counts: Option<Vec<_>> = counts.buckets.into_iter().map(bar).collect();
        let counts = counts.ok_or("it counted rows outside of the times it was asked for")?;
        if self.timeline.known.len() == KEPT {
            self.timeline.known.pop_front();
        }
        self.timeline.known.push_back((bars, counts));
        Ok(())
    }

    pub(super) fn post_timeline(&mut self) {
        if self.opened.is_none() || self.opening.is_some() {
            return;
        }
        let (Some(bars), Some(view)) = (self.bars(), &self.timeline.view) else { return };
        let timeline = &self.timeline;
        let status = match &bars {
            Err(reason) => Status::Reason(reason.clone()),
            Ok(bars) if timeline.counts(*bars).is_some() => Status::Known,
            Ok(bars) => match (&timeline.refused, &self.side_reason) {
                (Some((refused, reason)), _) if refused == bars => Status::Reason(reason.clone()),
                (_, Some(reason)) => Status::Reason(reason.clone()),
                _ => Status::Loading,
            },
        };
        let now_posted = (view.clone(), bars.ok(), status);
        if timeline.posted.as_ref() == Some(&now_posted) {
            return;
        }
        // What was counted before stays while something is counted.
        let shown = match (&now_posted.2, now_posted.1) {
            (Status::Loading, Some(bars)) => timeline.shown.filter(|shown| timeline.counts(*shown).is_some()).or(Some(bars)),
            (_, bars) => bars,
        };
        let mut histogram = Histogram { view: now_posted.0.clone(), loading: now_posted.2 == Status::Loading, ..Histogram::default() };
        if let Some(bars) = shown {
            histogram.from = bars.origin().to_string();
            histogram.width = bars.width.to_string();
            histogram.bars = u32::try_from(bars.count()).unwrap_or(0);
            histogram.counts = timeline.counts(bars).cloned().unwrap_or_default();
        }
        if let Status::Reason(reason) = &now_posted.2 {
            histogram.reason = Some(reason.clone());
        }
        self.timeline.shown = shown;
        self.timeline.posted = Some(now_posted);
        self.post(FromWorker::Histogram(Box::new(histogram)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_are_the_narrowest_that_are_not_too_many() {
        let day = Bars::new(UnixNanos(0), UnixNanos(NANOS_PER_DAY));
        assert_eq!((day.width, day.count()), (60 * NANOS_PER_SECOND, 1_440));
        let part = Bars::new(UnixNanos(-1), UnixNanos(2_000_000_000));
        assert_eq!((part.width, part.count(), part.origin()), (10_000_000, 201, UnixNanos(-10_000_000)));
        let exact = Bars::new(UnixNanos(0), UnixNanos(2_000_000_000));
        assert_eq!((exact.width, exact.count()), (1_000_000, 2_000));
        let all = Bars::new(UnixNanos(i64::MIN), UnixNanos(i64::MAX));
        assert_eq!(all.width % NANOS_PER_DAY, 0);
        assert!(all.count() <= 2_000 && all.count() > 1_900, "{all:?}");
    }
}
