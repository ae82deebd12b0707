//! Seeks and steps: find the nearest state at or before the target, then roll forward. The state after a seek is the state after
//! playing there.
//!
//! Order of preference: the current book and the rows in history; a state from which history holds every row; the newest of the
//! current book, a checkpoint and an anchor found by query. Where the feed has no anchor the book begins at the first row within
//! a day before the range, and is partial.

use super::{Engine, FRAME_MICROS, ROWS_PER_TURN};
use crate::link::{ErrorJson, FromWorker};
use crate::replay::{ApplyError, Outcome, Target};
use crate::store::{Bounds, Query};
use crate::units::{Moment, NANOS_PER_DAY, Place, UnixNanos};

use super::open::Task;

mod trade;
pub(super) use trade::Which;

/// Anchors tried one before the other while no whole event group is found behind them.
const MAX_ANCHORS: u32 = 64;

/// An anchor is looked for so far before the range: a week holds the snapshot before any weekend, and bounds the scan.
const ANCHOR_REACH_NANOS: i64 = 7 * NANOS_PER_DAY;

#[derive(Debug)]
pub(super) struct Seek {
    goal: Goal,
    stage: Stage,
    /// Requests answered when it is done.
    pub(super) answers: Vec<u32>,
    /// The anchor query looks before this time.
    anchor_before: UnixNanos,
    anchors: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// Show this moment.
    Moment(Moment),
    /// Show the first book of the range: after its first time, or after the first group where that one spans several times.
    First(Moment),
    /// One group forward from where the book is.
    Forward,
    /// To the group before the one that ended at this moment.
    Back(Moment),
}

impl Goal {
    fn target(self) -> Target {
        match self {
            Goal::Moment(moment) | Goal::First(moment) | Goal::Back(moment) => Target::Moment(moment),
            Goal::Forward => Target::All,
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// Waiting for the anchor, or for the first row where there is none.
    Anchor,
    /// Waiting for how many rows lie between the range's start and this time.
    Base(UnixNanos),
    /// Waiting for the rows of a time, to see which of them is the trade.
    Trade { time: UnixNanos, which: Which },
    /// Waiting for the time of the trade before or after this one.
    TradeBeside { time: UnixNanos, by: i8 },
    /// Rolling forward.
    Rolling,
}

impl Seek {
    /// The moment that is sought; a step has none.
    pub(super) fn moment(&self) -> Option<Moment> {
        match self.goal {
            Goal::Moment(moment) | Goal::First(moment) => Some(moment),
            Goal::Forward | Goal::Back(_) => None,
        }
    }
}

impl Engine {
    pub(super) fn start_seek(&mut self, moment: Moment, mut answers: Vec<u32>) {
        if let Some(old) = self.seek.take() {
            answers.extend(old.answers);
        }
        let Some(opened) = &self.opened else { return };
        // A moment outside the range is the range's nearest: the book before its first event, or after its last.
        let clamped = match moment {
            moment if moment.time < opened.from => Moment::before(opened.from),
            moment if moment.time >= opened.to => Moment::end_of(UnixNanos(opened.to.0.saturating_sub(1))),
            moment => moment,
        };
        self.ended = false;
        self.begin(Goal::Moment(clamped), answers);
    }

    /// Goes to the first book of the range.
    pub(super) fn start_home(&mut self, mut answers: Vec<u32>) {
        if let Some(old) = self.seek.take() {
            answers.extend(old.answers);
        }
        let Some(opened) = &self.opened else { return };
        let first = Moment::end_of(opened.range.times.map_or(opened.from, |(first, _)| first));
        self.ended = false;
        self.begin(Goal::First(first), answers);
    }

    pub(super) fn start_step(&mut self, by: i8, id: u32, now: u64) {
        let mut answers = vec![id];
        if let Some(old) = self.seek.take() {
            answers.extend(old.answers);
        }
        self.ended = false;
        if by > 0 {
            self.seek = Some(Seek { goal: Goal::Forward, stage: Stage::Rolling, answers, anchor_before: UnixNanos(i64::MAX), anchors: 0 });
            return;
        }
        if self.player.applied() <= 0 {
            // Nothing of the range is applied: there is no group to go back over.
            return self.finish_seek(answers, self.as_of, now);
        }
        if self.player.undo(&self.history) {
            return self.finish_seek(answers, self.place_shown(), now);
        }
        let Some(time) = self.player.last_time() else { return self.finish_seek(answers, self.as_of, now) };
        let k = self.player.applied() - self.history.lower_bound(time);
        let place = u32::try_from(k - 1).ok().filter(|k| *k > 0).map_or(Place::Before, Place::After);
        self.begin(Goal::Back(Moment { time, place }), answers);
    }

    fn begin(&mut self, goal: Goal, answers: Vec<u32>) {
        let target = goal.target();
        let anchor_before = match target {
            // An anchor with the target's time may lie behind the target; an earlier one serves as well.
            Target::Moment(Moment { time, place: Place::Before | Place::After(_) }) => time,
            Target::Moment(Moment { time, .. }) => UnixNanos(time.0.saturating_add(1)),
            _ => UnixNanos(i64::MAX),
        };
        // An answer to the seek before this one would be taken for an answer to this one.
        self.withdraw_seek();
        self.stop_clock();
        self.state_dirty = true;
        let mut seek = Seek { goal, stage: Stage::Rolling, answers, anchor_before, anchors: 0 };
        let time = match target {
            Target::Moment(moment) => moment.time,
            _ => UnixNanos(i64::MAX),
        };
        let forward = self.position().is_none_or(|position| target.includes(position));
        let in_history = self.history.start() <= time && (self.history.complete_to() > time || self.history.ended()) && self.as_of.is_some();
        let near = in_history && (forward || self.rewind(&target));
        if !near {
            seek.stage = Stage::Anchor;
        }
        self.seek = Some(seek);
        if !near {
            self.ask_anchor();
        }
        self.state_dirty = true;
    }

    fn rewind(&mut self, target: &Target) -> bool {
        self.disturb();
        self.player.rewind(&self.history, target)
    }

    fn ask_anchor(&mut self) {
        let (rows, floor) = (self.anchor_rows(), self.range_start_less(ANCHOR_REACH_NANOS));
        let (Some(seek), Some(opened)) = (&mut self.seek, &self.opened) else { return };
        seek.stage = Stage::Anchor;
        let Some(rows) = rows else { return self.got_anchor(None) };
        let query = Query::Anchor { place: opened.place.clone(), rows, from: floor, to: seek.anchor_before };
        self.ask(Task::Anchor, &query);
    }

    fn range_start_less(&self, nanos: i64) -> UnixNanos {
        UnixNanos(self.opened.as_ref().map_or(0, |opened| opened.from.0.saturating_sub(nanos)))
    }

    pub(super) fn got_anchor(&mut self, anchor: Option<UnixNanos>) {
        let floor = self.range_start_less(NANOS_PER_DAY);
        let Some(seek) = &self.seek else { return };
        let target = seek.goal.target();
        if seek.anchors == 0 {
            // The current run may be the nearest: it is at or before the target, and no anchor lies between.
            let position = self.position();
            let forward = position.is_some_and(|position| target.includes(position) && anchor.is_none_or(|anchor| anchor <= position.time));
            if forward && self.player.last_time().is_some() {
                return self.roll();
            }
            let kept = self.player.checkpoint_before(&target).filter(|kept| anchor.is_none_or(|anchor| kept.time >= anchor)).cloned();
            if let Some(kept) = kept {
                let (time, first_of_time, index) = (kept.time, kept.first_of_time, kept.index);
                self.disturb();
                if self.player.begin_at(kept) {
                    self.run_anchored = false;
                    self.restart_run(time, first_of_time, index);
                    return self.roll();
                }
            }
        }
        match anchor {
            Some(anchor) => self.begin_run_at(anchor, true),
            None => {
                let (Some(opened), Some(seek)) = (&self.opened, &self.seek) else { return };
                let query = Query::Bounds { place: opened.place.clone(), from: Some(floor), to: Some(seek.anchor_before) };
                self.ask(Task::FirstRow, &query);
            }
        }
    }

    pub(super) fn got_first_row(&mut self, bounds: Bounds) {
        let Some(opened) = &self.opened else { return };
        // Without any row before the target the book is empty there.
        let start = bounds.times.map_or(opened.from, |(first, _)| first);
        if let Some(seek) = &mut self.seek {
            seek.anchors = MAX_ANCHORS;
        }
        self.begin_run_at(start, false);
    }

    fn begin_run_at(&mut self, start: UnixNanos, anchored: bool) {
        self.run_anchored = anchored;
        let (Some(opened), Some(seek)) = (&self.opened, &mut self.seek) else { return };
        if start == opened.from {
            return self.got_base_rows(start, 0);
        }
        seek.stage = Stage::Base(start);
        let (from, to) = (start.min(opened.from), start.max(opened.from));
        let query = Query::Bounds { place: opened.place.clone(), from: Some(from), to: Some(to) };
        self.ask(Task::Base, &query);
        self.state_dirty = true;
    }

    pub(super) fn got_base(&mut self, bounds: Bounds) {
        let (Some(opened), Some(seek)) = (&self.opened, &self.seek) else { return };
        let Stage::Base(start) = seek.stage else { return };
        let rows = i64::try_from(bounds.rows).unwrap_or(i64::MAX);
        let index = if start < opened.from { -rows } else { rows };
        self.got_base_rows(start, index);
    }

    fn got_base_rows(&mut self, start: UnixNanos, index: i64) {
        self.disturb();
        self.player.begin_empty(start, index);
        self.restart_run(start, index, index);
        self.roll();
    }

    fn restart_run(&mut self, time: UnixNanos, first_of_time: i64, index: i64) {
        self.abandon_window();
        self.history.begin_within(time, first_of_time, index);
        self.fetch.restart();
    }

    fn roll(&mut self) {
        if let Some(seek) = &mut self.seek {
            seek.stage = Stage::Rolling;
        }
        self.starved = false;
    }

    /// Whether a seek waits for rows.
    pub(super) fn seeking_rows(&self) -> bool {
        self.seek.as_ref().is_some_and(|seek| seek.stage == Stage::Rolling)
    }

    /// After a reconnect: what was asked over the old connection is asked again.
    pub(super) fn resume_seek(&mut self, now: u64) {
        if let Some(seek) = self.seek.take() {
            match (seek.goal, seek.stage) {
                (_, Stage::Rolling) => self.seek = Some(seek),
                (_, Stage::Trade { time, which }) => self.start_seek_trade(time, which, seek.answers, now),
                (_, Stage::TradeBeside { time, by }) => self.ask_for_trade(time, by, seek.answers, now),
                (goal, _) => self.begin(goal, seek.answers),
            }
        }
    }

    /// The moment that the book stands at by what was applied: after the last event with that time where all of them are.
    pub(super) fn position(&self) -> Option<Moment> {
        let opened = self.opened.as_ref()?;
        let Some(time) = self.player.last_time() else {
            return Some(Moment::before(self.history.start().max(opened.from)));
        };
        let applied = self.player.applied();
        let all = self.history.upper_bound(time) == applied && (self.history.complete_to() > time || self.history.ended());
        if all {
            return Some(Moment::end_of(time));
        }
        let k = u32::try_from(applied - self.history.lower_bound(time)).unwrap_or(u32::MAX - 1);
        Some(Moment { time, place: Place::After(k.clamp(1, u32::MAX - 1)) })
    }

    /// The position, within the range: what a group before it left is the book at its start.
    fn place_shown(&self) -> Option<Moment> {
        let from = self.opened.as_ref()?.from;
        self.position().map(|position| position.max(Moment::before(from)))
    }

    /// Applies what is due. True when there is more to do at once.
    pub(super) fn apply(&mut self, now: u64) -> bool {
        if self.failed || self.opened.is_none() {
            return false;
        }
        match &self.seek {
            Some(seek) if seek.stage != Stage::Rolling => false,
            Some(seek) => {
                if seek.goal != Goal::Forward {
                    // A single group is there whole or not at all; a longer way shows nothing of itself.
                    self.disturb();
                }
                let Some(seek) = &self.seek else { return false };
                let (goal, groups) = (seek.goal, if seek.goal == Goal::Forward { 1 } else { u64::MAX });
                match self.player.advance(&self.history, &goal.target(), ROWS_PER_TURN, groups) {
                    Err(error) => self.apply_failed(&error),
                    Ok(done) => {
                        self.tally.events.add(done.rows);
                        self.starved = done.outcome == Outcome::Starved;
                        let finished = match done.outcome {
                            Outcome::More => goal == Goal::Forward && done.groups > 0,
                            Outcome::Starved => false,
                            Outcome::Reached | Outcome::Ended => true,
                        };
                        if finished {
                            self.seek_reached(done.outcome, now);
                            // It may go on, as a step to the end of the first group.
                            return self.seeking_rows();
                        }
                        return done.outcome == Outcome::More && !finished;
                    }
                }
                false
            }
            None => self.play(now),
        }
    }

    fn play(&mut self, now: u64) -> bool {
        let (Some(clock), Some(opened)) = (self.clock, &self.opened) else { return false };
        let stop = self.looped.map_or(opened.to, |(_, to)| to.min(opened.to));
        let end = UnixNanos(stop.0.saturating_sub(1));
        if self.looped.is_some() && self.as_of.is_some_and(|as_of| as_of > Moment::end_of(end)) {
            return self.loop_back(now);
        }
        let scheduled = clock.scheduled(now).map(|time| time.min(end));
        let target = match (scheduled, self.looped) {
            (Some(time), _) => Target::Moment(Moment::end_of(time)),
            (None, Some(_)) => Target::Moment(Moment::end_of(end)),
            (None, None) => Target::All,
        };
        let due = self.event_clock.map_or(u64::MAX, |clock| clock.due(now));
        let done = match self.player.advance(&self.history, &target, ROWS_PER_TURN.min(due), u64::MAX) {
            Ok(done) => done,
            Err(error) => {
                self.apply_failed(&error);
                return false;
            }
        };
        self.tally.events.add(done.rows);
        self.starved = done.outcome == Outcome::Starved;
        let reached = match (done.outcome, scheduled) {
            (Outcome::Reached, Some(time)) => Some(Moment::end_of(time)),
            (Outcome::Ended, Some(time)) if time < end || self.looped.is_some() => Some(Moment::end_of(time)),
            _ => self.position(),
        };
        let shown = self.as_of;
        // The clock never shows a time before the one it showed.
        if let Some(reached) = reached
            && self.as_of.is_none_or(|shown| reached > shown)
        {
            self.as_of = Some(reached);
        }
        if let (Some(clock), Some(as_of)) = (&mut self.clock, self.as_of) {
            self.tally.lag_millis = clock.reached(as_of.time, now);
        }
        let mut more = done.outcome == Outcome::More;
        if let Some(clock) = &mut self.event_clock {
            self.tally.lag_millis = clock.applied(done.rows, now);
            more = more && clock.due(now) > 0;
        }
        let whole = matches!(done.outcome, Outcome::Reached | Outcome::Ended) && scheduled.is_none_or(|time| time >= end);
        let at_end = done.outcome == Outcome::Ended && self.looped.is_none() && scheduled.is_none_or(|time| time >= self.last_time());
        if at_end {
            self.ended = true;
            self.as_of = Some(Moment::end_of(self.last_time()));
            self.pause();
        } else {
            self.measure_pace(now);
        }
        if done.rows > 0 || self.as_of != shown {
            self.frame.changed(&mut self.tally.frames_conflated);
        }
        if self.looped.is_some() && whole {
            if done.rows > 0 {
                // The end is shown before the stretch begins anew.
                self.looped_at = now;
            }
            return self.loop_back(now);
        }
        more
    }

    /// The end of the loop was reached: it begins anew, a stretch that takes no time at most once a frame.
    fn loop_back(&mut self, now: u64) -> bool {
        let Some((from, _)) = self.looped else { return false };
        if now.saturating_sub(self.looped_at) < FRAME_MICROS {
            return false;
        }
        self.looped_at = now;
        self.start_seek(Moment::before(from), Vec::new());
        true
    }

    /// Adds up how far playback came in how much time.
    fn measure_pace(&mut self, now: u64) {
        if let (Some((wall, market)), Some(as_of)) = (self.measured_to, self.as_of) {
            self.playing_micros += now.saturating_sub(wall);
            self.played_nanos = self.played_nanos.saturating_add(u64::try_from(as_of.time.0.saturating_sub(market.0)).unwrap_or(0));
            self.measured_to = Some((now, as_of.time));
        }
    }

    /// Nothing is sought any more.
    fn refuse_seek(&mut self, answers: Vec<u32>, reason: &str, now: u64) {
        for id in answers {
            self.post(FromWorker::Answer { id, result: Err(reason.to_owned()) });
        }
        self.state_dirty = true;
        // A seek before it may have taken the book away from the moment shown.
        self.mend();
        self.restart_clock(now);
    }

    fn last_time(&self) -> UnixNanos {
        self.opened.as_ref().map_or(UnixNanos(0), |opened| opened.range.times.map_or(opened.from, |(_, last)| last))
    }

    fn seek_reached(&mut self, outcome: Outcome, now: u64) {
        let Some(seek) = self.seek.take() else { return };
        // What comes before the anchor within its time is not the book, and the anchor's own group may end behind the target.
        let unfounded = self.run_anchored && (self.player.last_time().is_none() || self.player.book().partial_since().is_some());
        let run_start = self.history.start();
        if unfounded && seek.goal != Goal::Forward && seek.anchors < MAX_ANCHORS && outcome == Outcome::Reached && self.opened.is_some() {
            // So the book begins at an anchor before.
            let anchors = seek.anchors + 1;
            self.seek = Some(Seek { anchor_before: run_start, anchors, ..seek });
            return self.ask_anchor();
        }
        if let Goal::First(_) = seek.goal
            && self.player.last_time().is_none()
            && outcome == Outcome::Reached
        {
            self.seek = Some(Seek { goal: Goal::Forward, ..seek });
            return;
        }
        let as_of = match seek.goal {
            Goal::Moment(moment) | Goal::First(moment) => Some(moment),
            // There is no group left.
            Goal::Forward if outcome == Outcome::Ended && !self.disturbed => self.as_of,
            Goal::Forward | Goal::Back(_) => self.place_shown(),
        };
        if outcome == Outcome::Ended && matches!(seek.goal, Goal::Forward) {
            self.ended = true;
        }
        if let Goal::Moment(moment) | Goal::First(moment) = seek.goal
            && moment.time >= self.last_time()
            && moment.place == Place::End
        {
            self.ended = true;
            if self.playing {
                self.pause();
            }
        }
        self.finish_seek(seek.answers, as_of, now);
    }

    fn finish_seek(&mut self, answers: Vec<u32>, as_of: Option<Moment>, now: u64) {
        self.as_of = as_of;
        self.disturbed = false;
        self.kept = None;
        self.resume = None;
        self.state_dirty = true;
        self.frame.changed(&mut self.tally.frames_conflated);
        self.restart_clock(now);
        for id in answers {
            self.answer(id);
        }
        self.run_queued(now);
    }

    fn apply_failed(&mut self, error: &ApplyError) {
        let place = self.place_text();
        let todo = "The book is shown as it was before; seek to an earlier moment, or open another range";
        self.fail(ErrorJson { code: "data".to_owned(), what: format!("The feed cannot be replayed exactly: {error}"), place, todo: todo.to_owned() });
        if error.restored {
            if !self.disturbed {
                // It stands before the group that cannot be applied.
                self.as_of = self.place_shown().max(self.as_of);
                self.frame.changed(&mut self.tally.frames_conflated);
            }
            return;
        }
        // The book is in the middle of a group: the last picture stays, and the next seek builds the book anew from an anchor,
        // since no moment is at or after the start of this run.
        self.disturbed = true;
        let never = UnixNanos(i64::MAX);
        self.player.begin_empty(never, 0);
        self.history.begin(never, 0);
        self.history.finish();
    }
}
