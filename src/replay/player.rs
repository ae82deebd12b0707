//! Applies rows of history to the book.

use std::collections::VecDeque;
use std::fmt;

use super::{Checkpoint, Checkpoints};
use crate::book::{Book, BookError};
use crate::history::History;
use crate::market::{BookKind, Chunk, DepthRow, RowMark};
use crate::units::{Moment, Place, UnixNanos};

/// Groups that can be undone one by one, at most; the book's own journal may hold fewer.
const MAX_UNDO_GROUPS: usize = 4_096;

/// How far to apply. A group is applied only as a whole: a target inside one stops before it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Target {
    /// Up to a moment.
    Moment(Moment),
    /// As far as there are rows.
    All,
}

impl Target {
    /// Whether the state at `moment` is at or before the target.
    #[must_use]
    pub fn includes(&self, moment: Moment) -> bool {
        match self {
            Target::All => true,
            Target::Moment(target) => moment <= *target,
        }
    }
}

/// Why applying stopped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// The next group lies behind the target.
    Reached,
    /// Rows are missing that may belong to the next group.
    Starved,
    /// No rows are left in the range.
    Ended,
    /// The budget of rows is used up; there is more to do.
    More,
}

/// What was applied.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Advance {
    /// Rows.
    pub rows: u64,
    /// Event groups.
    pub groups: u64,
    /// Why it stopped.
    pub outcome: Outcome,
}

/// A row that the book cannot take.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ApplyError {
    /// Row of the range, counted from 0.
    pub index: i64,
    /// Its time.
    pub time: UnixNanos,
    /// What is wrong.
    pub error: BookError,
    /// The book is as it was before the group of the row; else it is in the middle of it and must not be shown.
    pub restored: bool,
}

impl fmt::Display for ApplyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "event {} at {}: {}", self.index, self.time, self.error)
    }
}

impl std::error::Error for ApplyError {}

#[derive(Debug)]
struct Undo {
    start: i64,
    last: Option<RowMark>,
}

/// See the module.
#[derive(Debug)]
pub struct Player {
    book: Book,
    applied: i64,
    last: Option<RowMark>,
    undo: VecDeque<Undo>,
    checkpoints: Checkpoints,
    /// The state that the run in history began with.
    origin: Checkpoint,
    scratch: DepthRow,
}

impl Player {
    /// A player with an empty book.
    #[must_use]
    pub fn new(kind: BookKind) -> Player {
        let book = Book::new(kind);
        let origin = Checkpoint { index: 0, time: UnixNanos(0), first_of_time: 0, last: None, book: encoded(&book) };
        Player { book, applied: 0, last: None, undo: VecDeque::new(), checkpoints: Checkpoints::default(), origin, scratch: DepthRow::default() }
    }

    /// Starts a run with an empty book: the next row to apply has this index, and none before this time.
    pub fn begin_empty(&mut self, time: UnixNanos, index: i64) {
        self.book = Book::new(self.book.kind());
        self.origin = Checkpoint { index, time, first_of_time: index, last: None, book: encoded(&self.book) };
        self.at(index, None);
    }

    /// Starts a run from a checkpoint. False (and nothing changed) when its bytes are no book.
    pub fn begin_at(&mut self, checkpoint: Checkpoint) -> bool {
        let Ok(book) = Book::decode(&checkpoint.book) else { return false };
        self.book = book;
        self.at(checkpoint.index, checkpoint.last);
        self.origin = checkpoint;
        true
    }

    /// Where the book stands, to go on from elsewhere; none before the first row of a run.
    #[must_use]
    pub fn checkpoint(&self, history: &History<Chunk>) -> Option<Checkpoint> {
        let time = self.last_time()?;
        Some(Checkpoint { index: self.applied, time, first_of_time: history.lower_bound(time), last: self.last, book: encoded(&self.book) })
    }

    /// Keeps a checkpoint of the same rows that another player made.
    pub fn keep(&mut self, checkpoint: Checkpoint) {
        self.checkpoints.insert(checkpoint);
    }

    fn at(&mut self, index: i64, last: Option<RowMark>) {
        self.applied = index;
        self.last = last;
        self.undo.clear();
    }

    /// The nearest checkpoint at or before a target.
    #[must_use]
    pub fn checkpoint_before(&self, target: &Target) -> Option<&Checkpoint> {
        self.checkpoints.before(target, i64::MIN)
    }

    /// Goes back to the nearest known state at or before a target from which history holds every row. False when there is none.
    pub fn rewind(&mut self, history: &History<Chunk>, target: &Target) -> bool {
        let kept = self.checkpoints.before(target, history.first()).filter(|kept| kept.index >= self.origin.index);
        let origin = Some(&self.origin).filter(|origin| origin.index >= history.first() && target.includes(origin.moment()));
        let Some(from) = kept.or(origin).cloned() else { return false };
        let Ok(book) = Book::decode(&from.book) else { return false };
        self.book = book;
        self.at(from.index, from.last);
        true
    }

    /// Index of the first row of the oldest group that a step back may undo; rows from there on are worth keeping.
    #[must_use]
    pub fn undo_floor(&self) -> i64 {
        self.undo.front().map_or(self.applied, |undo| undo.start)
    }

    /// Undoes the last group. False when the journal does not reach it, or history has forgotten its rows, so that it could not be
    /// applied again; nothing changed then.
    pub fn undo(&mut self, history: &History<Chunk>) -> bool {
        if self.undo.back().is_none_or(|undo| undo.start < history.first()) || !self.book.undo_group() {
            return false;
        }
        if let Some(undo) = self.undo.pop_back() {
            self.applied = undo.start;
            self.last = undo.last;
        }
        true
    }

    /// Applies whole groups up to a target, at most `max_groups` and about `max_rows`.
    ///
    /// # Errors
    /// [`ApplyError`] when a row cannot be applied exactly; it says whether the book may still be shown.
    pub fn advance(&mut self, history: &History<Chunk>, target: &Target, max_rows: u64, max_groups: u64) -> Result<Advance, ApplyError> {
        let mut done = Advance { rows: 0, groups: 0, outcome: Outcome::More };
        while done.rows < max_rows && done.groups < max_groups {
            let end = match next_group(history, self.applied) {
                NextGroup::Ends(end) => end,
                NextGroup::Open => {
                    // Where it ends is not known yet; if its last row lies behind the target, so does its end.
                    let behind = moment_after(history, history.visible_end()).is_some_and(|moment| !target.includes(moment));
                    done.outcome = if behind { Outcome::Reached } else { Outcome::Starved };
                    return Ok(done);
                }
                NextGroup::None => {
                    done.outcome = match target {
                        _ if history.ended() => Outcome::Ended,
                        Target::Moment(moment) if history.complete_to() > moment.time => Outcome::Reached,
                        Target::Moment(Moment { time, place: Place::Before }) if history.complete_to() >= *time => Outcome::Reached,
                        _ => Outcome::Starved,
                    };
                    return Ok(done);
                }
            };
            let inside = match target {
                Target::Moment(_) => moment_after(history, end).is_some_and(|moment| target.includes(moment)),
                Target::All => true,
            };
            if !inside {
                done.outcome = Outcome::Reached;
                return Ok(done);
            }
            done.rows += (end - self.applied) as u64;
            done.groups += 1;
            self.apply(history, end)?;
        }
        Ok(done)
    }

    fn apply(&mut self, history: &History<Chunk>, end: i64) -> Result<(), ApplyError> {
        let start = self.applied;
        let last_before = self.last;
        while self.applied < end {
            let Some((chunk, row, visible)) = history.get(self.applied) else { break };
            let rows = visible.min(row + (end - self.applied) as usize);
            for row in row..rows {
                let event = chunk.event(row, &mut self.scratch, self.last);
                if let Err(error) = self.book.apply(&event, chunk.price_scale(), chunk.size_scale()) {
                    let (index, time) = (self.applied, chunk.time(row));
                    // Without a row of this group in the book, undoing would take back the group before.
                    let restored = self.applied == start || self.book.undo_group();
                    (self.applied, self.last) = (start, last_before);
                    return Err(ApplyError { index, time, error, restored });
                }
                self.last = Some(chunk.mark(row));
                self.applied += 1;
            }
        }
        let _ = self.book.end_group();
        if self.undo.len() == MAX_UNDO_GROUPS {
            self.undo.pop_front();
        }
        self.undo.push_back(Undo { start, last: last_before });
        if self.checkpoints.wants(end, self.origin.index, self.book.entries())
            && let Some(time) = self.last.map(|mark| mark.time)
        {
            let first_of_time = history.lower_bound(time);
            self.checkpoints.insert(Checkpoint { index: end, time, first_of_time, last: self.last, book: encoded(&self.book) });
        }
        Ok(())
    }

    /// The book.
    #[must_use]
    pub fn book(&self) -> &Book {
        &self.book
    }

    /// Index of the next row to apply: the number of events of the range that were applied, negative before the range.
    #[must_use]
    pub fn applied(&self) -> i64 {
        self.applied
    }

    /// Time of the last applied row of this run.
    #[must_use]
    pub fn last_time(&self) -> Option<UnixNanos> {
        self.last.map(|mark| mark.time)
    }
}

fn encoded(book: &Book) -> Vec<u8> {
    let mut bytes = Vec::new();
    book.encode(&mut bytes);
    bytes
}

enum NextGroup {
    /// Index behind its last row.
    Ends(i64),
    /// It has rows, and whether more follow is not known.
    Open,
    /// No row of it is here.
    None,
}

/// The group that starts at `start`.
fn next_group(history: &History<Chunk>, start: i64) -> NextGroup {
    let mut index = start;
    let mut previous: Option<RowMark> = None;
    while let Some((chunk, row, visible)) = history.get(index) {
        for row in row..visible {
            let mark = chunk.mark(row);
            if previous.is_some_and(|previous| previous.splits(mark)) {
                return NextGroup::Ends(index);
            }
            index += 1;
            if mark.closes() {
                return NextGroup::Ends(index);
            }
            previous = Some(mark);
        }
    }
    let Some(previous) = previous else { return NextGroup::None };
    // The first hidden row is certainly the next one, though its time may still miss others. And when the time of
    // a group that has only one is complete, whatever follows has another and so is not of it.
    let split = match history.first_hidden() {
        Some((chunk, row)) => previous.splits(chunk.mark(row)),
        None => history.ended() || (previous.ends_with_its_time() && history.complete_to() > previous.time),
    };
    if split { NextGroup::Ends(index) } else { NextGroup::Open }
}

/// The moment right after the row before `end`.
fn moment_after(history: &History<Chunk>, end: i64) -> Option<Moment> {
    let time = history.time(end - 1)?;
    let k = u32::try_from(end - history.lower_bound(time)).unwrap_or(u32::MAX).min(u32::MAX - 1);
    Some(Moment { time, place: Place::After(k) })
}
