//! Rows in time order under a byte budget: what was fetched, what of it is complete, and what may be forgotten.
//!
//! History holds one *run*: rows without a hole from a start time on. Every row has an index that counts rows of the played range
//! (its first row is 0, rows fetched before the range are negative), so that an index means the same in every run.
//!
//! ```text
//!   forgotten ┆ kept: entries ……………………………………… ┆ hidden tail
//!             first                        applied            visible_end   end
//! ```
//!
//! Rows past `visible_end` share a time whose other rows may still be missing; nobody may look at them yet. Rows that were not
//! applied are never forgotten. What the rows mean is not known here.

use std::collections::VecDeque;

use crate::units::UnixNanos;

/// A batch of rows in time order.
pub trait TimedRows {
    /// Time of each row, nanoseconds.
    fn times(&self) -> &[i64];
    /// Bytes it keeps in memory.
    fn bytes(&self) -> usize;
}

#[derive(Debug)]
struct Entry<T> {
    batch: T,
    first: i64,
    /// Rows that count; a cut tail stays in the batch but not here.
    rows: usize,
    bytes: usize,
}

/// A row steps back in time, which a store that orders by time never sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OutOfOrder {
    /// Row in the batch, counted from 0.
    pub row: usize,
    /// Its time.
    pub time: UnixNanos,
    /// The time of the row before.
    pub previous: UnixNanos,
    /// How many such rows the batch has.
    pub count: u64,
}

/// See the module.
#[derive(Debug)]
pub struct History<T> {
    entries: VecDeque<Entry<T>>,
    budget: usize,
    bytes: usize,
    reserved: usize,
    start: UnixNanos,
    complete_to: UnixNanos,
    first: i64,
    visible_end: i64,
    end: i64,
    /// Time of the last forgotten row and the index of the first row with that time.
    forgotten: Option<(i64, i64)>,
    last_time: Option<i64>,
    ended: bool,
    runs: u64,
}

impl<T: TimedRows> History<T> {
    /// An empty history of at most `budget` bytes.
    #[must_use]
    pub fn new(budget: usize) -> Self {
        History {
            entries: VecDeque::new(),
            budget,
            bytes: 0,
            reserved: 0,
            start: UnixNanos(0),
            complete_to: UnixNanos(i64::MIN),
            first: 0,
            visible_end: 0,
            end: 0,
            forgotten: None,
            last_time: None,
            ended: true,
            runs: 0,
        }
    }

    /// Forgets everything and begins a run at a time; its first row will have the given index.
    pub fn begin(&mut self, start: UnixNanos, index: i64) {
        self.entries.clear();
        self.bytes = 0;
        self.reserved = 0;
        self.start = start;
        self.complete_to = start;
        self.first = index;
        self.visible_end = index;
        self.end = index;
        self.forgotten = None;
        self.last_time = None;
        self.ended = false;
        self.runs += 1;
    }

    /// Begins a run behind row `index` whose time is `start` and whose time's first row is `first_of_time`: what is known from elsewhere
    /// is not fetched again. The rows of that time that are missing are [`History::skip`].
    pub fn begin_within(&mut self, start: UnixNanos, first_of_time: i64, index: i64) {
        self.begin(start, index);
        if index > first_of_time {
            self.forgotten = Some((start.0, first_of_time));
            self.last_time = Some(start.0);
        }
    }

    /// How many rows of the time [`History::complete_to`] come before the next row that is wanted.
    #[must_use]
    pub fn skip(&self) -> u64 {
        u64::try_from(self.visible_end - self.lower_bound(self.complete_to)).unwrap_or(0)
    }

    /// Number of the run: another one for each [`History::begin`].
    #[must_use]
    pub fn run(&self) -> u64 {
        self.runs
    }

    /// Whether rows of this run were forgotten.
    #[must_use]
    pub fn forgot(&self) -> bool {
        self.forgotten.is_some()
    }

    /// What is kept, oldest first: index of the first row, how many rows of the batch count, and the batch.
    pub fn entries(&self) -> impl Iterator<Item = (i64, usize, &T)> {
        self.entries.iter().map(|entry| (entry.first, entry.rows, &entry.batch))
    }

    /// Makes room for `bytes` by forgetting applied rows, oldest first, and holds it. False when what is not applied leaves no
    /// room.
    pub fn reserve(&mut self, bytes: usize, applied: i64) -> bool {
        while self.bytes.saturating_add(self.reserved).saturating_add(bytes) > self.budget {
            match self.entries.front() {
                Some(entry) if entry.first + entry.rows as i64 <= applied => self.forget_front(),
                _ => return false,
            }
        }
        self.reserved = self.reserved.saturating_add(bytes);
        true
    }

    /// Holds room past the budget: for rows without which nothing can be applied.
    pub fn reserve_anyway(&mut self, bytes: usize) {
        self.reserved = self.reserved.saturating_add(bytes);
    }

    /// Gives back what [`History::reserve`] held.
    pub fn release(&mut self) {
        self.reserved = 0;
    }

    fn forget_front(&mut self) {
        let Some(entry) = self.entries.pop_front() else { return };
        self.bytes -= entry.bytes;
        let times = entry.batch.times();
        if let Some(last) = entry.rows.checked_sub(1).and_then(|row| times.get(row).copied()) {
            let before = times.partition_point(|time| *time < last);
            let first = match self.forgotten {
                Some((time, first)) if time == last => first,
                _ => entry.first + before as i64,
            };
            self.forgotten = Some((last, first));
        }
        self.first = entry.first + entry.rows as i64;
    }

    /// Adds rows behind the last one. All but those of the newest time become visible: the newest time may have more.
    ///
    /// # Errors
    /// [`OutOfOrder`] when a row steps back in time; nothing was added then.
    pub fn append(&mut self, batch: T) -> Result<(), OutOfOrder> {
        let times = batch.times();
        let mut previous = self.last_time.unwrap_or(i64::MIN);
        let mut wrong: Option<OutOfOrder> = None;
        for (row, time) in times.iter().enumerate() {
            if *time < previous {
                let first = wrong.get_or_insert(OutOfOrder { row, time: UnixNanos(*time), previous: UnixNanos(previous), count: 0 });
                first.count += 1;
            }
            previous = *time;
        }
        if let Some(wrong) = wrong {
            return Err(wrong);
        }
        let rows = times.len();
        if rows == 0 {
            return Ok(());
        }
        let bytes = batch.bytes();
        self.bytes += bytes;
        self.reserved = self.reserved.saturating_sub(bytes);
        self.last_time = Some(previous);
        self.entries.push_back(Entry { batch, first: self.end, rows, bytes });
        self.end += rows as i64;
        if previous > self.complete_to.0 {
            self.complete_to = UnixNanos(previous);
            self.visible_end = self.lower_bound(UnixNanos(previous));
        }
        Ok(())
    }

    /// The window ended and held all its rows: everything before `to` is complete.
    pub fn complete(&mut self, to: UnixNanos) {
        self.visible_end = self.end;
        self.complete_to = self.complete_to.max(to);
    }

    /// No rows follow in the range.
    pub fn finish(&mut self) {
        self.visible_end = self.end;
        self.ended = true;
    }

    /// Forgets the rows that are not visible: their window did not end, or was cut by its limit. They are asked for again from
    /// [`History::complete_to`] on.
    pub fn cut_hidden(&mut self) {
        while let Some(entry) = self.entries.back_mut() {
            if entry.first >= self.visible_end {
                self.bytes -= entry.bytes;
                self.entries.pop_back();
            } else {
                entry.rows = entry.rows.min((self.visible_end - entry.first) as usize);
                break;
            }
        }
        self.end = self.visible_end;
        self.last_time = match self.entries.back() {
            Some(entry) => entry.rows.checked_sub(1).and_then(|row| entry.batch.times().get(row).copied()),
            None => self.forgotten.map(|(time, _)| time),
        };
    }

    /// The batch that holds a visible row, the row in it, and how many rows of the batch are visible.
    #[must_use]
    pub fn get(&self, index: i64) -> Option<(&T, usize, usize)> {
        if index >= self.visible_end {
            return None;
        }
        let entry = self.entry_of(index)?;
        let visible = entry.rows.min((self.visible_end - entry.first) as usize);
        Some((&entry.batch, (index - entry.first) as usize, visible))
    }

    /// The first row that is not visible, where one was received: certainly the next row, though its time may miss others.
    #[must_use]
    pub fn first_hidden(&self) -> Option<(&T, usize)> {
        let entry = self.entry_of(self.visible_end)?;
        Some((&entry.batch, (self.visible_end - entry.first) as usize))
    }

    fn entry_of(&self, index: i64) -> Option<&Entry<T>> {
        if index < self.first || index >= self.end {
            return None;
        }
        let at = self.entries.partition_point(|entry| entry.first + entry.rows as i64 <= index);
        self.entries.get(at)
    }

    /// Time of a visible row.
    #[must_use]
    pub fn time(&self, index: i64) -> Option<UnixNanos> {
        let (batch, row, _) = self.get(index)?;
        batch.times().get(row).copied().map(UnixNanos)
    }

    /// Index of the first row at or after a time, among kept rows; for the time of the last forgotten row still the true first.
    #[must_use]
    pub fn lower_bound(&self, time: UnixNanos) -> i64 {
        if let Some((forgotten, first)) = self.forgotten
            && forgotten == time.0
        {
            return first;
        }
        self.bound(|row| row < time.0)
    }

    /// Index behind the last row at or before a time, among kept rows.
    #[must_use]
    pub fn upper_bound(&self, time: UnixNanos) -> i64 {
        self.bound(|row| row <= time.0)
    }

    fn bound(&self, before: impl Fn(i64) -> bool) -> i64 {
        let at = self
            .entries
            .partition_point(|entry| entry.rows.checked_sub(1).and_then(|row| entry.batch.times().get(row)).is_some_and(|last| before(*last)));
        match self.entries.get(at) {
            None => self.end,
            Some(entry) => {
                let times = entry.batch.times();
                entry.first + times.get(..entry.rows).unwrap_or(times).partition_point(|time| before(*time)) as i64
            }
        }
    }

    /// Index of the first kept row.
    #[must_use]
    pub fn first(&self) -> i64 {
        self.first
    }

    /// Index behind the last visible row.
    #[must_use]
    pub fn visible_end(&self) -> i64 {
        self.visible_end
    }

    /// Every row of the run before this time is visible.
    #[must_use]
    pub fn complete_to(&self) -> UnixNanos {
        self.complete_to
    }

    /// Where the run began.
    #[must_use]
    pub fn start(&self) -> UnixNanos {
        self.start
    }

    /// Whether the range holds no more rows.
    #[must_use]
    pub fn ended(&self) -> bool {
        self.ended
    }

    /// Bytes kept.
    #[must_use]
    pub fn bytes(&self) -> usize {
        self.bytes
    }

    /// The most that may be kept.
    #[must_use]
    pub fn budget(&self) -> usize {
        self.budget
    }

    /// Bytes that were received and not applied, by rows.
    #[must_use]
    pub fn bytes_after(&self, applied: i64) -> usize {
        self.entries
            .iter()
            .rev()
            .take_while(|entry| entry.first + entry.rows as i64 > applied)
            .map(|entry| {
                let pending = (entry.first + entry.rows as i64 - applied.max(entry.first)) as usize;
                entry.bytes.checked_mul(pending).map_or(entry.bytes, |bytes| bytes / entry.rows.max(1))
            })
            .sum()
    }
}

#[cfg(test)]
mod tests;
