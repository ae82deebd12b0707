//! Fills history: one window after the other, each with room reserved before it is asked for, so that it drains at once whether
//! playback runs or not and no query stays open until a store's timeout.

use arrow_array::RecordBatch;

use super::connection::Which;
use super::{Engine, kind_of};
use crate::history::TimedRows;
use crate::link::ErrorJson;
use crate::market::Chunk;
use crate::session::is_limit;
use crate::store::windows::{self, Counts, Window};
use crate::store::{self, Query};

/// Rows of the first window of a place: small, so that the first book comes soon.
const FIRST_ROWS: u64 = 8_192;
/// Rows of a window at most.
const MAX_ROWS: u64 = 262_144;
/// Rows of a window at least; a smaller one is not made smaller.
const MIN_ROWS: u64 = 1_024;
/// Bytes a row takes, before any was seen: ten levels a side as arrays, with room to spare.
const FIRST_ROW_BYTES: usize = 1_024;
/// A window that takes longer is cancelled and asked for in smaller ones.
const MAX_WINDOW_MICROS: u64 = 5_000_000;
/// Tries of one place after a store's timeout.
const MAX_RETRIES: u32 = 6;
/// Rows kept ahead while nothing moves, so that a step or play starts at once.
const ROWS_AHEAD_PAUSED: i64 = 16_384;
/// Windows that fit into the budget at least.
const WINDOWS_IN_BUDGET: usize = 4;
/// An event group that is larger than the budget may take so many times the budget, since it is applied only as a whole.
const GROUP_BUDGETS: usize = 4;

#[derive(Debug)]
pub(super) struct Fetch {
    window: Option<Running>,
    /// Rows in buckets of the range, once they were counted.
    pub(super) counts: Option<Counts>,
    rows: u64,
    row_bytes: usize,
    whole_time: bool,
    retries: u32,
}

#[derive(Debug)]
struct Running {
    window: Window,
    started: u64,
    rows: u64,
    cancelled: bool,
    /// Bytes that history may hold while it runs: what there was room for, and a little more.
    room: usize,
}

impl Default for Fetch {
    fn default() -> Self {
        Fetch { window: None, counts: None, rows: FIRST_ROWS, row_bytes: FIRST_ROW_BYTES, whole_time: false, retries: 0 }
    }
}

impl Fetch {
    /// A new place in time: begin with a small window. What was learnt of the table stays.
    pub(super) fn restart(&mut self) {
        self.rows = FIRST_ROWS;
        self.whole_time = false;
        self.retries = 0;
    }

    /// Another table: nothing that was learnt holds, but a query may still run.
    pub(super) fn forget_table(&mut self) {
        *self = Fetch { window: self.window.take(), ..Fetch::default() };
    }

    pub(super) fn abandon(&mut self) {
        if let Some(running) = &mut self.window {
            running.cancelled = true;
        }
    }
}

impl Engine {
    /// Starts the next window when rows are wanted and there is room.
    pub(super) fn run_fetch(&mut self, now: u64) {
        self.cut_slow_window(now);
        if self.failed || self.history.ended() || !self.data.session.idle() || self.fetch.window.is_some() {
            return;
        }
        let Some(opened) = &self.opened else { return };
        let cursor = self.history.complete_to();
        if cursor >= opened.to {
            self.history.finish();
            return;
        }
        let ahead = self.history.visible_end() - self.player.applied();
        let wanted = if self.seeking_rows() || self.playing {
            self.starved || self.history.bytes_after(self.player.applied()) < self.history.budget() / 2
        } else {
            ahead < ROWS_AHEAD_PAUSED && self.seek.is_none() && self.as_of.is_some()
        };
        if !wanted {
            return;
        }
        let moving = self.playing || self.seek.is_some();
        let mut rows = if moving { self.fetch.rows } else { self.fetch.rows.min(ROWS_AHEAD_PAUSED as u64) };
        let applied = self.player.applied();
        // A window is a fraction of the budget, so that making room for it does not forget all that was applied.
        let fitting = (self.history.budget() / WINDOWS_IN_BUDGET) / self.fetch.row_bytes.max(1);
        rows = rows.min(fitting as u64).max(MIN_ROWS.min(rows));
        // What a step back undoes stays as long as there is room, so that it can be applied again.
        let undoable = self.player.undo_floor();
        while !self.history.reserve(self.bytes_of(rows), undoable) && !self.history.reserve(self.bytes_of(rows), applied) {
            if rows > MIN_ROWS {
                rows = (rows / 2).max(MIN_ROWS);
                continue;
            }
            // What is kept is less than a window, or one group that is not whole yet: nothing can be applied without more.
            let stuck = self.starved && self.history.bytes() < self.most_bytes();
            if self.history.bytes() > 0 && !stuck {
                if self.starved {
                    self.out_of_memory();
                }
                return;
            }
            self.history.reserve_anyway(self.bytes_of(rows));
            break;
        }
        let Some(opened) = &self.opened else { return };
        let window = windows::next(cursor, opened.to, rows, self.fetch.counts.as_ref(), self.fetch.whole_time);
        let query = Query::Rows {
            place: opened.place.clone(),
            columns: opened.binding.columns.clone(),
            from: window.from,
            to: window.to,
            limit: window.limit,
            skip: self.history.skip(),
        };
        match store::render(&query, kind_of(self.store.as_ref())) {
            Err(error) => self.bad_name(&error),
            Ok(sql) => {
                if self.query_rows(sql, now) {
                    let expected = self.history.bytes().saturating_add(self.bytes_of(rows));
                    let room = expected.max(self.history.budget()).saturating_add(self.history.budget() / 4);
                    self.fetch.window = Some(Running { window, started: now, rows: 0, cancelled: false, room });
                } else {
                    self.history.release();
                }
            }
        }
    }

    fn bytes_of(&self, rows: u64) -> usize {
        usize::try_from(rows).unwrap_or(usize::MAX).saturating_mul(self.fetch.row_bytes)
    }

    /// Bytes past which nothing is taken in any more.
    fn most_bytes(&self) -> usize {
        self.history.budget().saturating_mul(GROUP_BUDGETS)
    }

    /// Nothing can be applied and nothing forgotten: an event group, or all that shares one time, is larger than memory.
    fn out_of_memory(&mut self) {
        if self.history.bytes() < self.most_bytes() {
            return;
        }
        let what = format!("One event group or time needs more than {} KiB, {GROUP_BUDGETS} times the memory kept for rows", self.most_bytes() >> 10);
        let place = self.place_text();
        self.fail(ErrorJson { code: "memory".to_owned(), what, place, todo: "Raise the memory budget".to_owned() });
    }

    /// Rows of the running window.
    pub(super) fn rows(&mut self, batch: RecordBatch, wire_bytes: usize, now: u64) {
        if let Some(grant) = self.data.session.grant(wire_bytes as u64) {
            self.send(Which::Data, grant, now);
        }
        let (Some(opened), Some(running)) = (&mut self.opened, &mut self.fetch.window) else { return };
        if running.cancelled || self.failed {
            return;
        }
        running.rows += batch.num_rows() as u64;
        let place = format!("store {}, table {}", opened.store.name, opened.place.table);
        let chunk: Chunk = match opened.feed.load(&batch) {
            Ok(chunk) => chunk,
            Err(error) => {
                let what = format!("Rows cannot be read exactly: {error}");
                let todo = "Open another table, or mend the column at its source";
                self.stop_window(now);
                return self.fail(ErrorJson { code: "data".to_owned(), what, place, todo: todo.to_owned() });
            }
        };
        if let Some(depth) = chunk.depth() {
            opened.binding.set_depth(depth);
        }
        let rows = chunk.rows();
        if let Some(bytes) = chunk.bytes().checked_div(rows) {
            // A little more than was seen, and rising at once: a reservation must hold.
            self.fetch.row_bytes = if self.fetch.retries == 0 && running.rows <= rows as u64 {
                bytes + bytes / 4 + 1
            } else {
                self.fetch.row_bytes.max(bytes + bytes / 4 + 1)
            };
        }
        let outside = chunk.times().first().copied().filter(|first| *first < running.window.from.0);
        let outside = outside.or(chunk.times().last().copied().filter(|last| *last >= running.window.to.0));
        if let Some(time) = outside {
            let (from, to) = (running.window.from, running.window.to);
            let what = format!("The store sent a row at {time} where rows from {from} and before {to} were asked for");
            let todo = "A book cannot be rebuilt from it: the store must keep to the times it is asked for".to_owned();
            self.stop_window(now);
            return self.fail(ErrorJson { code: "order".to_owned(), what, place, todo });
        }
        let (first, room) = (running.window.from, running.room);
        if let Err(wrong) = self.history.append(chunk) {
            self.tally.out_of_order += wrong.count;
            let what = format!(
                "Rows come out of time order: row {} of a batch is at {}, after a row at {}; {} rows of the batch step back",
                wrong.row, wrong.time, wrong.previous, wrong.count
            );
            self.stop_window(now);
            return self.fail(ErrorJson {
                code: "order".to_owned(),
                what,
                place,
                todo: "A book cannot be rebuilt from it: the store must send the table in the order of its designated timestamp".to_owned(),
            });
        }
        self.tape.sync(&self.history);
        if self.history.bytes() > self.most_bytes() {
            self.stop_window(now);
            self.out_of_memory();
        } else if self.history.bytes() > room && !self.fetch.whole_time && self.history.complete_to() > first {
            // Rows turned out larger than any before, or more than were counted: what is complete stays, the rest is asked for again.
            self.stop_window(now);
        }
    }

    /// Cancels the running window; what came of it and is complete stays.
    pub(super) fn stop_window(&mut self, now: u64) {
        let Some(running) = &mut self.fetch.window else { return };
        if running.cancelled {
            return;
        }
        running.cancelled = true;
        if let Some(messages) = self.data.session.cancel() {
            for bytes in messages {
                self.send(Which::Data, bytes, now);
            }
        }
    }

    fn cut_slow_window(&mut self, now: u64) {
        let slow = self.fetch.window.as_ref().is_some_and(|running| {
            !running.cancelled
                && running.window.rows.max(running.rows) > MIN_ROWS
                && !self.fetch.whole_time
                && now.saturating_sub(running.started) > MAX_WINDOW_MICROS
        });
        if slow {
            self.fetch.rows = (self.fetch.rows / 4).max(MIN_ROWS);
            self.stop_window(now);
        }
    }

    /// The running query for rows came to its end.
    pub(super) fn window_ended(&mut self) {
        let Some(running) = self.fetch.window.take() else { return };
        self.history.release();
        if running.cancelled {
            return self.history.cut_hidden();
        }
        self.retries = 0;
        self.fetch.retries = 0;
        self.fetch.rows = (self.fetch.rows * 4).min(MAX_ROWS);
        let full = running.window.limit.is_some_and(|limit| running.rows >= limit);
        if full {
            // The limit may have cut the rows of the last time in two. When that is the only time, it is asked for whole.
            self.history.cut_hidden();
            self.fetch.whole_time = self.history.complete_to() == running.window.from;
        } else {
            self.history.complete(running.window.to);
            self.fetch.whole_time = false;
            if self.opened.as_ref().is_some_and(|opened| running.window.to >= opened.to) {
                self.history.finish();
            }
        }
    }

    pub(super) fn window_cancelled(&mut self) {
        self.fetch.window = None;
        self.history.release();
        self.history.cut_hidden();
    }

    /// The store ended the window: at its time limit a smaller one is tried from the last complete time on.
    pub(super) fn window_failed(&mut self, status: u8, message: &str) {
        let Some(running) = &self.fetch.window else { return };
        let (cancelled, from) = (running.cancelled, running.window.from);
        self.window_cancelled();
        if cancelled {
            return;
        }
        if self.history.complete_to() > from {
            // Slow, but on its way.
            self.fetch.retries = 0;
        }
        if is_limit(status) && self.fetch.retries < MAX_RETRIES {
            self.fetch.retries += 1;
            self.fetch.rows = (self.fetch.rows / 4).max(MIN_ROWS);
            return;
        }
        let what = format!("The store refused a query for rows: {message}");
        let place = format!("{}, status 0x{status:02x}; statement: {}", self.place_text(), self.sql.as_deref().unwrap_or_default());
        let todo = "Try again, or open another range";
        self.fail(ErrorJson { code: "query".to_owned(), what, place, todo: todo.to_owned() });
    }

    /// The running window is of no use any more: its rows are not for this run, or its connection is gone.
    pub(super) fn abandon_window(&mut self) {
        self.history.release();
        self.history.cut_hidden();
        if self.data.session.running() {
            // The connection is still there: the server is told, and what comes late is dropped.
            if let Some(messages) = self.data.session.cancel() {
                let now = self.now;
                for bytes in messages {
                    self.send(Which::Data, bytes, now);
                }
            }
            self.fetch.abandon();
        } else if self.data.session.idle() || !self.data.ready() {
            self.fetch.window = None;
        }
    }
}
