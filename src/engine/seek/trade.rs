//! Seeks of a trade: the nth of a time, or the one before or after the moment shown. A trade is found by the rows of its time, at hand
//! in history or asked for; which time that is, where the moment's own has no more, the store is asked.

use arrow_array::RecordBatch;

use super::{Goal, Seek, Stage};
use crate::engine::Engine;
use crate::engine::open::Task;
use crate::market::Feed;
use crate::store::answers::BadAnswer;
use crate::store::{Bounds, Query};
use crate::units::{Moment, Place, UnixNanos};

/// Rows of one time that are looked through for a trade.
const MAX_TIE_ROWS: u64 = 65_536;

/// Which trade of a time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::engine) enum Which {
    /// The nth, from 1.
    Nth(u32),
    /// The first behind so many rows.
    After(u32),
    /// The last before the last of so many rows, which is where the moment stands.
    Before(u32),
    /// The last.
    Last,
}

impl Engine {
    /// Seeks the moment just after a trade of a time.
    pub(in crate::engine) fn start_seek_trade(&mut self, time: UnixNanos, which: Which, mut answers: Vec<u32>, now: u64) {
        if let Some(old) = self.seek.take() {
            answers.extend(old.answers);
        }
        let Some(opened) = &self.opened else { return };
        if time < opened.from || time >= opened.to {
            let reason = format!("seek: {time} is not within the range {} to {}", opened.from, opened.to);
            return self.refuse_seek(answers, &reason, now);
        }
        let (history, first) = (&self.history, self.history.lower_bound(time));
        let complete = history.start() <= time && (first > history.first() || !history.forgot()) && (history.complete_to() > time || history.ended());
        if complete && self.as_of.is_some() {
            let rows = first..history.upper_bound(time);
            let trades: Vec<bool> = rows.map(|row| history.get(row).is_some_and(|(chunk, at, _)| chunk.trade(at).is_some())).collect();
            return self.found_trade(time, which, &trades, answers, now);
        }
        let query = Query::Rows {
            place: opened.place.clone(),
            columns: opened.binding.columns.clone(),
            from: time,
            to: UnixNanos(time.0.saturating_add(1)),
            limit: Some(MAX_TIE_ROWS),
            skip: 0,
        };
        self.wait_for_trade(time, Stage::Trade { time, which }, answers);
        self.ask(Task::TradeAt, &query);
    }

    /// Seeks the trade after (1) or before (−1) the moment shown.
    pub(in crate::engine) fn start_step_trade(&mut self, by: i8, id: u32, now: u64) {
        let Some(moment) = self.as_of else { return self.answer(id) };
        let rows = match moment.place {
            Place::Before => 0,
            Place::After(k) => k,
            Place::End => u32::MAX,
        };
        self.start_seek_trade(moment.time, if by > 0 { Which::After(rows) } else { Which::Before(rows) }, vec![id], now);
    }

    fn wait_for_trade(&mut self, time: UnixNanos, stage: Stage, answers: Vec<u32>) {
        self.withdraw_seek();
        self.stop_clock();
        self.state_dirty = true;
        self.seek = Some(Seek { goal: Goal::Moment(Moment::end_of(time)), stage, answers, anchor_before: time, anchors: 0 });
    }

    /// Asks when the last trade before a time, or the first behind it, was.
    pub(in crate::engine) fn ask_for_trade(&mut self, time: UnixNanos, by: i8, answers: Vec<u32>, now: u64) {
        let Some(opened) = &self.opened else { return };
        let (from, to) = if by > 0 { (UnixNanos(time.0.saturating_add(1)), opened.to) } else { (opened.from, time) };
        match self.trades_place(false) {
            Ok(place) => {
                self.wait_for_trade(time, Stage::TradeBeside { time, by }, answers);
                self.ask(Task::TradeBeside, &Query::Bounds { place, from: Some(from), to: Some(to) });
            }
            Err(reason) => self.refuse_seek(answers, &reason, now),
        }
    }

    pub(in crate::engine) fn got_trade_beside(&mut self, bounds: Bounds, now: u64) {
        let Some(Seek { stage: Stage::TradeBeside { by, .. }, .. }) = &self.seek else { return };
        let by = *by;
        let answers = self.seek.take().map(|seek| seek.answers).unwrap_or_default();
        match bounds.times {
            Some((first, _)) if by > 0 => self.start_seek_trade(first, Which::Nth(1), answers, now),
            Some((_, last)) => self.start_seek_trade(last, Which::Last, answers, now),
            None => {
                let reason = if by > 0 { "No trade comes after this moment in the range" } else { "No trade comes before this moment in the range" };
                self.refuse_seek(answers, reason, now);
            }
        }
    }

    pub(in crate::engine) fn got_trade(&mut self, answer: &[RecordBatch], now: u64) -> Result<(), BadAnswer> {
        let (Some(opened), Some(Seek { stage: Stage::Trade { time, which }, .. })) = (&self.opened, &self.seek) else { return Ok(()) };
        let (time, which) = (*time, *which);
        let mut feed = Feed::new(&opened.binding);
        let mut trades = Vec::new();
        for batch in answer.iter().filter(|batch| batch.num_rows() > 0) {
            let chunk = feed.load(batch).map_err(|error| BadAnswer { column: opened.binding.time.clone(), problem: error.to_string() })?;
            trades.extend((0..chunk.rows()).map(|row| chunk.trade(row).is_some()));
        }
        let answers = self.seek.take().map(|seek| seek.answers).unwrap_or_default();
        self.found_trade(time, which, &trades, answers, now);
        Ok(())
    }

    /// `trades`: of each row of the time whether it is a trade.
    fn found_trade(&mut self, time: UnixNanos, which: Which, trades: &[bool], answers: Vec<u32>, now: u64) {
        match (choose(trades, which), which) {
            (Some(k), _) => self.start_seek(Moment { time, place: Place::After(k) }, answers),
            (None, Which::After(_)) => self.ask_for_trade(time, 1, answers, now),
            (None, Which::Before(_)) => self.ask_for_trade(time, -1, answers, now),
            (None, Which::Nth(_) | Which::Last) => {
                let there = trades.iter().filter(|is_trade| **is_trade).count();
                let wanted = if let Which::Nth(nth) = which { format!("trade {nth}") } else { "trade".to_owned() };
                let reason = format!("seek: there is no {wanted} at {time}; at that time are {there}");
                self.refuse_seek(answers, &reason, now);
            }
        }
    }
}

/// How many of the rows there are up to the trade that is meant, itself included.
fn choose(trades: &[bool], which: Which) -> Option<u32> {
    let mut ends = trades.iter().zip(1u32..).filter(|(is_trade, _)| **is_trade).map(|(_, row)| row);
    match which {
        Which::Nth(nth) => ends.nth(usize::try_from(nth.checked_sub(1)?).ok()?),
        Which::After(rows) => ends.find(|row| *row > rows),
        Which::Last => ends.last(),
        Which::Before(rows) => ends.filter(|row| *row < rows.min(u32::try_from(trades.len()).unwrap_or(u32::MAX))).last(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_trade_is_chosen_by_its_number_or_beside_the_rows_applied() {
        let trades = [false, true, false, true, true];
        assert_eq!([1, 2, 3, 4].map(|nth| choose(&trades, Which::Nth(nth))), [Some(2), Some(4), Some(5), None]);
        assert_eq!([0, 2, 3, 5, u32::MAX].map(|rows| choose(&trades, Which::After(rows))), [Some(2), Some(4), Some(4), None, None]);
        // Behind the last row stands who went to the last trade: the one before it is meant.
        assert_eq!([0, 2, 3, 5, u32::MAX].map(|rows| choose(&trades, Which::Before(rows))), [None, None, Some(2), Some(4), Some(4)]);
        assert_eq!((choose(&trades, Which::Last), choose(&[false], Which::Last)), (Some(5), None));
    }
}
