//! Which rows of history are trades, and what number in the range each has.
//!
//! Each batch is looked through once. Numbers are relative until one place of the run is known: by the range's start, or by a
//! count of the trades before it.

use std::collections::VecDeque;

use super::Least;
use crate::history::History;
use crate::market::Chunk;
use crate::units::UnixNanos;

/// Trades of one batch of history.
#[derive(Debug)]
struct Piece {
    first: i64,
    rows: usize,
    /// Rows that are trades and pass the filter.
    trades: Vec<u32>,
}

impl Piece {
    fn before(&self, row: i64) -> usize {
        self.trades.partition_point(|trade| self.first + i64::from(*trade) < row)
    }
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Index {
    run: u64,
    pieces: VecDeque<Piece>,
    /// Trades in batches that history has forgotten since this began.
    forgotten: u64,
    /// Relative number of the range's first trade; below zero where the run began after it.
    zero: Option<i64>,
    /// Trades before this time were asked for; the relative number of the first one from there on.
    asked: Option<(UnixNanos, i64)>,
}

impl Index {
    /// Takes in what history gained and lost. To be called after each batch, since history may forget it before the next call.
    pub(super) fn sync(&mut self, history: &History<Chunk>, least: Option<&Least>) {
        if history.run() != self.run {
            *self = Index { run: history.run(), ..Index::default() };
        }
        while let Some(piece) = self.pieces.front().filter(|piece| piece.first < history.first()) {
            self.forgotten += piece.trades.len() as u64;
            self.pieces.pop_front();
        }
        let mut kept = 0;
        for (first, rows, chunk) in history.entries() {
            if let Some(piece) = self.pieces.get_mut(kept) {
                if piece.first == first && piece.rows == rows {
                    kept += 1;
                    continue;
                }
                // Rows that were not complete are asked for again.
                self.pieces.truncate(kept);
            }
            let passes = |row: &u32| chunk.trade(*row as usize).is_some_and(|trade| super::passes(least, trade.size, chunk.size_scale()));
            let trades = (0..u32::try_from(rows).unwrap_or(u32::MAX)).filter(passes).collect();
            self.pieces.push_back(Piece { first, rows, trades });
            kept += 1;
        }
        self.pieces.truncate(kept);
        // Row 0 is the first of the range.
        if self.zero.is_none() && history.first() <= 0 && history.visible_end() >= 0 {
            self.zero = Some(-self.relative(0));
        }
    }

    /// Relative number of the first trade at or behind a row.
    fn relative(&self, row: i64) -> i64 {
        let at = self.pieces.partition_point(|piece| piece.first + (piece.rows as i64) <= row);
        let whole: usize = self.pieces.iter().take(at).map(|piece| piece.trades.len()).sum();
        let part = self.pieces.get(at).map_or(0, |piece| piece.before(row));
        self.forgotten.saturating_add((whole + part) as u64) as i64
    }

    /// Trades of the range before a row; `None` while that is not known.
    pub(super) fn before(&self, row: i64) -> Option<u64> {
        if row <= 0 {
            return Some(0);
        }
        u64::try_from(self.zero? + self.relative(row)).ok()
    }

    /// Row of a trade.
    pub(super) fn row(&self, number: u64) -> Option<i64> {
        let relative = i64::try_from(number).ok()? - self.zero?;
        self.row_of(usize::try_from(relative - self.forgotten as i64).ok()?)
    }

    fn row_of(&self, mut at: usize) -> Option<i64> {
        for piece in &self.pieces {
            match piece.trades.get(at) {
                Some(row) => return Some(piece.first + i64::from(*row)),
                None => at -= piece.trades.len(),
            }
        }
        None
    }

    /// Rows of the last trades before a row, at most so many, oldest first: for a time in which numbers are not known.
    pub(super) fn last_before(&self, row: i64, most: usize) -> Vec<i64> {
        let end = (self.relative(row) - self.forgotten as i64).max(0) as usize;
        (end.saturating_sub(most)..end).filter_map(|at| self.row_of(at)).filter(|row| *row >= 0).collect()
    }

    /// The time before which trades have to be counted so that numbers are known; `None` when they are, or no such time is at hand.
    pub(super) fn wants_count_before(&mut self, history: &History<Chunk>) -> Option<(u64, UnixNanos)> {
        if self.zero.is_some() {
            return None;
        }
        if self.asked.is_none() {
            let first = history.first();
            let (time, row) = match history.forgot() {
                false => (history.start(), first),
                true => {
                    // The first row may have company of its time that is forgotten; what follows its time has not.
                    let time = history.time(first)?;
                    if history.complete_to() <= time && !history.ended() {
                        return None;
                    }
                    (UnixNanos(time.0.saturating_add(1)), history.upper_bound(time))
                }
            };
            self.asked = Some((time, self.relative(row)));
        }
        self.asked.map(|(time, _)| (self.run, time))
    }

    /// So many trades come before the time that was asked for.
    pub(super) fn counted(&mut self, run: u64, time: UnixNanos, trades: u64) {
        if let Some((asked, relative)) = self.asked
            && asked == time
            && run == self.run
        {
            self.zero = i64::try_from(trades).ok().map(|trades| trades - relative);
        }
    }
}
