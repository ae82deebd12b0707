//! The tape: trades of the range in the order of their rows, as far as the moment shown. Rows at hand in history are read there;
//! others come in pages over the side connection, found by how many trades each stretch of the range has.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::open::Task;
use super::{Engine, report};
use crate::history::History;
use crate::link::{FromWorker, TapeRow, TapeRows, TapeView};
use crate::market::{Chunk, Feed, Trade, TradeRows};
use crate::store::{self, Query, SizeForm, answers};
use crate::units::{Aggressor, Decimal, Moment, Place, Scale, Size, UnixNanos};

mod index;
use index::Index;

/// Trades of a page.
const PAGE_ROWS: u64 = 128;
/// Pages kept: more than twice what the largest view shows; a few hundred KiB.
const PAGES: usize = 16;
/// Trades that may share the times of a page.
const MAX_TIES: u64 = 65_536;
/// Digits that a double tells apart.
const DOUBLE_DIGITS: u128 = 1_000_000_000_000_000;
/// Digits that a float tells apart.
const FLOAT_DIGITS: u128 = 1_000_000;

/// A smallest size.
type Least = Decimal;

fn passes(least: Option<&Least>, size: Size, scale: Scale) -> bool {
    least.is_none_or(|least| i128::from(size.0) >= least.ceil_at(scale))
}

/// Trades in buckets of the range.
#[derive(Debug)]
struct Buckets {
    /// Start of a bucket that has trades, and how many come before it.
    starts: Vec<(UnixNanos, u64)>,
    total: u64,
}

impl Buckets {
    /// The bucket that holds the trade of a number.
    fn of(&self, number: u64) -> Option<(UnixNanos, u64)> {
        let at = self.starts.partition_point(|(_, before)| *before <= number);
        self.starts.get(at.checked_sub(1)?).copied()
    }

    /// The bucket that holds a time: the last that begins at or before it.
    fn at(&self, time: UnixNanos) -> Option<(UnixNanos, u64)> {
        let at = self.starts.partition_point(|(start, _)| *start <= time);
        self.starts.get(at.checked_sub(1)?).copied()
    }
}

/// A trade of a page that is not complete yet.
#[derive(Debug)]
struct Found {
    time: UnixNanos,
    row: TapeRow,
}

#[derive(Debug)]
struct Unplaced {
    page: u64,
    found: Vec<Found>,
    /// Trades of the first one's time that come before it: those that pass the filter.
    before: Option<u64>,
}

/// See the module.
#[derive(Debug, Default)]
pub(super) struct Tape {
    pub(super) view: Option<TapeView>,
    least: Option<Least>,
    refused: Option<String>,
    buckets: Option<Buckets>,
    index: Index,
    /// The last used comes last.
    pages: VecDeque<(u64, Vec<TapeRow>)>,
    unplaced: Option<Unplaced>,
    posted: Option<TapeRows>,
    posted_at: u64,
    frames_at_post: u64,
}

impl Tape {
    /// Takes in what history gained and lost.
    pub(super) fn sync(&mut self, history: &History<Chunk>) {
        if self.view.is_some() {
            self.index.sync(history, self.least.as_ref());
        }
    }

    pub(super) fn refuse(&mut self, reason: String) {
        self.refused = Some(reason);
        self.unplaced = None;
    }

    pub(super) fn unrefuse(&mut self) {
        self.refused = None;
        self.unplaced = None;
    }

    /// Another place: what the page wants stays.
    pub(super) fn forget(&mut self) {
        *self = Tape { view: self.view.take(), least: self.least, ..Tape::default() };
    }

    fn page(&mut self, page: u64) -> Option<&Vec<TapeRow>> {
        let at = self.pages.iter().position(|(kept, _)| *kept == page)?;
        let page = self.pages.remove(at)?;
        self.pages.push_back(page);
        self.pages.back().map(|(_, rows)| rows)
    }
}

fn is_trade_task(task: &Task) -> bool {
    matches!(task, Task::TradeCounts | Task::TradesBefore { .. } | Task::TradePage(_) | Task::TradePlaces(_) | Task::TradeTies(_))
}

fn tape_row(time: UnixNanos, nth: u32, trade: Trade, chunk: &Chunk) -> TapeRow {
    TapeRow {
        time: time.to_string(),
        nth,
        price: Decimal::new(i128::from(trade.price.0), chunk.price_scale()).to_string(),
        size: Decimal::new(i128::from(trade.size.0), chunk.size_scale()).to_string(),
        aggressor: match trade.aggressor {
            Aggressor::Buy => "buy",
            Aggressor::Sell => "sell",
            Aggressor::None => "none",
        }
        .to_owned(),
    }
}

impl Engine {
    pub(super) fn show_tape(&mut self, view: Option<TapeView>) {
        let view = view.map(|view| TapeView { rows: view.rows.min(TapeView::MOST_ROWS), ..view });
        let filter = |view: &Option<TapeView>| view.as_ref().map(|view| view.min_size.clone());
        if filter(&view) != filter(&self.tape.view) {
            // Another filter has other numbers.
            self.withdraw_aside(is_trade_task);
            self.tape = Tape::default();
            if let Some(text) = view.as_ref().and_then(|view| view.min_size.as_ref()) {
                match Decimal::parse(text) {
                    Ok(least) if least.needed_scale() <= Scale::MAX.0 => self.tape.least = Some(least),
                    Ok(_) => self.tape.refused = Some(format!("The smallest size {text} has more digits after the point than a size can have")),
                    Err(error) => self.tape.refused = Some(format!("The smallest size {text:?} is {error}")),
                }
            }
        }
        self.tape.view = view;
        self.tape.posted = None;
        self.tape.sync(&self.history);
    }

    /// The place narrowed to trades: all of them, or those that pass the filter.
    pub(super) fn trades_place(&self, filtered: bool) -> Result<store::Place, String> {
        let opened = self.opened.as_ref().ok_or("nothing is open")?;
        let (action, price, size) = match opened.binding.trade_rows() {
            TradeRows::None => return Err("The table reports no trades".to_owned()),
            TradeRows::All { price, size } => (None, price, size),
            TradeRows::Where { column, words, price, size } => (Some((column, words)), price, size),
        };
        let least = match self.tape.least.filter(|_| filtered) {
            None => None,
            Some(least) => {
                let form = match opened.size_kind.to_ascii_uppercase().split('(').next() {
                    Some("DOUBLE") => SizeForm::Double,
                    Some("FLOAT") => SizeForm::Float,
                    Some("DECIMAL") => SizeForm::Decimal,
                    _ => SizeForm::Whole,
                };
                let told_apart = match form {
                    SizeForm::Double => DOUBLE_DIGITS,
                    SizeForm::Float => FLOAT_DIGITS,
                    SizeForm::Whole | SizeForm::Decimal => u128::MAX,
                };
                if least.mantissa().unsigned_abs() >= told_apart {
                    return Err(format!("The smallest size {least} has more digits than the column {size} tells apart"));
                }
                Some(store::Least { column: size, form, size: least })
            }
        };
        let trades = store::Trades { action, price, least };
        Ok(store::Place { trades: Some(trades), ..opened.place.clone() })
    }

    /// Numbers of the trades shown and how many have passed; `None` while that is not known.
    fn tape_window(&self) -> Option<(std::ops::Range<u64>, u64)> {
        let view = self.tape.view.as_ref()?;
        let passed = self.tape.index.before(self.row_shown()?)?;
        let rows = u64::from(view.rows);
        Some(match view.first {
            None => (passed.saturating_sub(rows)..passed, passed),
            Some(first) => (first.min(passed)..first.saturating_add(rows).min(passed), passed),
        })
    }

    /// Row of history behind the last one at or before the moment shown.
    fn row_shown(&self) -> Option<i64> {
        let Moment { time, place } = self.as_of?;
        let history = &self.history;
        let row = match place {
            Place::Before => history.lower_bound(time),
            Place::After(k) => history.lower_bound(time).saturating_add(i64::from(k)).min(history.upper_bound(time)),
            Place::End => history.upper_bound(time),
        };
        Some(row.min(history.visible_end()))
    }

    /// The book and history are of the moment shown.
    fn tape_settled(&self) -> bool {
        self.seek.is_none() && !self.disturbed && self.opening.is_none() && self.as_of.is_some()
    }

    /// Asks for the first thing that the tape lacks.
    pub(super) fn ask_for_trades(&mut self) {
        let (true, None, Some(opened)) = (self.tape.view.is_some(), &self.tape.refused, &self.opened) else { return };
        let place = match self.trades_place(true) {
            Ok(place) => place,
            Err(reason) => return self.tape.refuse(reason),
        };
        let (from, to) = (opened.from, opened.to);
        let Some(buckets) = &self.tape.buckets else {
            let width = store::windows::bucket_width(from, to);
            return self.ask_aside(Task::TradeCounts, &Query::Counts { place, origin: from, from, to, width });
        };
        if !self.tape_settled() {
            return;
        }
        if let Some((run, time)) = self.tape.index.wants_count_before(&self.history) {
            let task = Task::TradesBefore { run, time };
            let Some((start, _)) = buckets.at(time) else { return self.tape.index.counted(run, time, 0) };
            return self.ask_aside(task, &Query::Bounds { place, from: Some(start), to: Some(time.max(start)) });
        }
        if let Some(unplaced) = &self.tape.unplaced {
            return self.ask_for_places(place, unplaced.page);
        }
        let Some((window, _)) = self.tape_window() else { return };
        let lacking = window.clone().find(|number| self.lacks(*number));
        let Some(number) = lacking else { return };
        let page = number / PAGE_ROWS;
        let Some((start, before)) = buckets.of(page * PAGE_ROWS) else { return };
        let query =
            Query::Rows { place, columns: opened.binding.columns.clone(), from: start, to, limit: Some(PAGE_ROWS), skip: page * PAGE_ROWS - before };
        self.withdraw_aside(|task| matches!(task, Task::TradePage(other) if *other != page));
        self.ask_aside(Task::TradePage(page), &query);
    }

    fn lacks(&self, number: u64) -> bool {
        let at_hand = self.tape.index.row(number).is_some_and(|row| self.tie_start(row).is_some());
        !at_hand && !self.tape.pages.iter().any(|(page, _)| *page == number / PAGE_ROWS)
    }

    /// The first row with the time of a row, when all between are at hand.
    fn tie_start(&self, row: i64) -> Option<i64> {
        let start = self.history.lower_bound(self.history.time(row)?);
        (start >= self.history.first()).then_some(start)
    }

    /// The rows of a page are here; which they are among the trades of their times is not known yet.
    fn ask_for_places(&mut self, filtered: store::Place, page: u64) {
        let (Some(unplaced), Some(buckets), Some(opened)) = (&self.tape.unplaced, &self.tape.buckets, &self.opened) else { return };
        let Some(first) = unplaced.found.first() else { return };
        match (unplaced.before, self.trades_place(false)) {
            (None, _) => {
                let Some((start, _)) = buckets.at(first.time) else { return };
                self.ask_aside(Task::TradePlaces(page), &Query::Bounds { place: filtered, from: Some(start), to: Some(first.time) });
            }
            (Some(_), Ok(place)) => {
                let mut times: Vec<_> = unplaced.found.iter().map(|found| found.time).collect();
                times.dedup();
                let query = Query::RowsAt { place, columns: opened.binding.columns.clone(), times, limit: MAX_TIES };
                self.ask_aside(Task::TradeTies(page), &query);
            }
            (Some(_), Err(_)) => {}
        }
    }

    pub(super) fn trades_answered(&mut self, task: &Task, answer: &[RecordBatch]) -> Result<(), String> {
        let text = |error: answers::BadAnswer| error.to_string();
        match task {
            Task::TradeCounts => {
                let Some(opened) = &self.opened else { return Ok(()) };
                let (from, width) = (opened.from, store::windows::bucket_width(opened.from, opened.to));
                let counts = answers::counts(answer, from, width).map_err(text)?;
                let (mut total, mut starts) = (0u64, Vec::with_capacity(counts.buckets.len()));
                for (bucket, trades) in counts.buckets {
                    let start = i64::try_from(i128::from(from.0) + i128::from(bucket) * i128::from(width));
                    starts.push((UnixNanos(start.map_err(|_| "a bucket lies behind the range")?), total));
                    total = total.saturating_add(trades);
                }
                self.tape.buckets = Some(Buckets { starts, total });
            }
            Task::TradesBefore { run, time } => {
                let rows = answers::bounds(answer).map_err(text)?.rows;
                let before = self.tape.buckets.as_ref().and_then(|buckets| buckets.at(*time)).map_or(0, |(_, before)| before);
                self.tape.index.counted(*run, *time, before.saturating_add(rows));
            }
            Task::TradePage(page) => {
                let found = self.read_trades(answer, true)?;
                let total = self.tape.buckets.as_ref().map_or(0, |buckets| buckets.total);
                let expected = total.saturating_sub(page * PAGE_ROWS).min(PAGE_ROWS);
                if found.len() as u64 != expected {
                    return Err(format!("it sent {} trades where it had counted {expected}: the table has changed, open it again", found.len()));
                }
                let before = (*page == 0).then_some(0);
                self.tape.unplaced = Some(Unplaced { page: *page, found: found.into_iter().map(|(found, _)| found).collect(), before });
                self.place_unfiltered();
            }
            Task::TradePlaces(page) => {
                let rows = answers::bounds(answer).map_err(text)?.rows;
                let (Some(unplaced), Some(buckets)) = (&mut self.tape.unplaced, &self.tape.buckets) else { return Ok(()) };
                let Some(first) = unplaced.found.first().filter(|_| unplaced.page == *page) else { return Ok(()) };
                let start = buckets.at(first.time).map_or(0, |(_, before)| before).saturating_add(rows);
                let before = (page * PAGE_ROWS).checked_sub(start);
                unplaced.before = Some(before.ok_or("it counted more trades before a page than there are")?);
                self.place_unfiltered();
            }
            Task::TradeTies(page) => {
                let ties = self.read_trades(answer, false)?;
                if self.tape.unplaced.as_ref().is_some_and(|unplaced| unplaced.page == *page) {
                    self.place_filtered(&ties)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Trades of an answer with whether they pass the filter; `passing` when all of them must.
    fn read_trades(&self, answer: &[RecordBatch], passing: bool) -> Result<Vec<(Found, bool)>, String> {
        let Some(opened) = &self.opened else { return Ok(Vec::new()) };
        let mut feed = Feed::new(&opened.binding);
        let mut found = Vec::new();
        for batch in answer.iter().filter(|batch| batch.num_rows() > 0) {
            let chunk = feed.load(batch).map_err(|error| error.to_string())?;
            for row in 0..chunk.rows() {
                let trade = chunk.trade(row).ok_or("it sent a row that is no trade")?;
                let passes = passes(self.tape.least.as_ref(), trade.size, chunk.size_scale());
                if passing && !passes {
                    return Err("it sent a trade below the smallest size".to_owned());
                }
                let time = chunk.time(row);
                found.push((Found { time, row: tape_row(time, 0, trade, &chunk) }, passes));
            }
        }
        Ok(found)
    }

    /// Without a filter the trades of a time stand side by side.
    fn place_unfiltered(&mut self) {
        if self.tape.least.is_some() {
            return;
        }
        let Some(before) = self.tape.unplaced.as_ref().and_then(|unplaced| unplaced.before) else { return };
        let Some(unplaced) = self.tape.unplaced.take() else { return };
        let (mut time, mut nth) = (None, 0u64);
        let place = |found: Found| {
            nth = match time.replace(found.time) {
                None => before + 1,
                Some(previous) if previous == found.time => nth + 1,
                Some(_) => 1,
            };
            TapeRow { nth: u32::try_from(nth).unwrap_or(u32::MAX), ..found.row }
        };
        let rows = unplaced.found.into_iter().map(place).collect();
        self.keep_page(unplaced.page, rows);
    }

    /// With a filter, others stand between: `ties` are all trades of the page's times.
    fn place_filtered(&mut self, ties: &[(Found, bool)]) -> Result<(), String> {
        let Some(Unplaced { page, found, before: Some(before) }) = self.tape.unplaced.take() else { return Ok(()) };
        let (mut at, mut time, mut nth) = (0, None, 0u32);
        let mut passing = Vec::with_capacity(found.len());
        let mut skip = before;
        while let Some((tie, passes)) = ties.get(at) {
            nth = if time == Some(tie.time) { nth + 1 } else { 1 };
            time = Some(tie.time);
            at += 1;
            match (*passes, skip) {
                (false, _) => {}
                (true, 0) => passing.push((tie.time, nth)),
                (true, _) => skip -= 1,
            }
        }
        let mut rows = Vec::with_capacity(found.len());
        for (found, (time, nth)) in found.into_iter().zip(passing.iter().copied()) {
            if found.time != time {
                return Err("it sent other trades of a time than before".to_owned());
            }
            rows.push(TapeRow { nth, ..found.row });
        }
        let expected = self.tape.buckets.as_ref().map_or(0, |buckets| buckets.total.saturating_sub(page * PAGE_ROWS).min(PAGE_ROWS));
        if rows.len() as u64 != expected {
            return Err(format!("more than {MAX_TIES} trades share the times of a page"));
        }
        self.keep_page(page, rows);
        Ok(())
    }

    fn keep_page(&mut self, page: u64, rows: Vec<TapeRow>) {
        if self.tape.pages.len() == PAGES {
            self.tape.pages.pop_front();
        }
        self.tape.pages.push_back((page, rows));
    }

    /// At most once for each painted frame, or four times a second where none is painted; at once for another wish.
    pub(super) fn post_tape(&mut self, now: u64) {
        let Some(view) = self.tape.view.clone() else { return };
        let frames = self.tally.frames_painted;
        let due = frames != self.tape.frames_at_post || now.saturating_sub(self.tape.posted_at) >= report::COUNTERS_MICROS;
        if !(due || self.tape.posted.is_none()) || self.opened.is_none() || self.opening.is_some() {
            return;
        }
        self.tape.sync(&self.history);
        let settled = self.tape_settled();
        if !settled && self.tape.refused.is_none() && self.tape.posted.is_some() {
            // What was shown stays until the moment that is sought is there.
            return;
        }
        let rows = self.tape_rows(view, settled);
        if self.tape.posted.as_ref() != Some(&rows) {
            self.tape.posted = Some(rows.clone());
            self.tape.posted_at = now;
            self.tape.frames_at_post = frames;
            self.post(FromWorker::Tape(Box::new(rows)));
        }
    }

    fn tape_rows(&mut self, view: TapeView, settled: bool) -> TapeRows {
        let total = self.tape.buckets.as_ref().map(|buckets| buckets.total);
        let mut out = TapeRows { view, total, reason: self.tape.refused.clone(), ..TapeRows::default() };
        if out.reason.is_some() || !settled {
            out.loading = out.reason.is_none();
            return out;
        }
        let mut ties = Ties::default();
        match self.tape_window() {
            Some((window, passed)) => {
                out.passed = Some(passed);
                // Rows come as one piece: from the top on when somebody scrolled there, else from the newest up.
                let head = window.clone().take_while(|number| !self.lacks(*number)).count() as u64;
                let tail = window.clone().rev().take_while(|number| !self.lacks(*number)).count() as u64;
                let piece = match out.view.first.is_some() && head > 0 {
                    true => window.start..window.start + head,
                    false => window.end - tail..window.end,
                };
                out.loading = piece != window;
                out.first = Some(piece.start);
                out.rows = piece.filter_map(|number| self.tape_row_of(number, &mut ties)).collect();
            }
            None => {
                // Numbers are not known yet; the newest are shown all the same.
                out.loading = true;
                if out.view.first.is_none()
                    && let Some(row) = self.row_shown()
                {
                    let rows = self.tape.index.last_before(row, usize::from(out.view.rows));
                    out.rows = rows.into_iter().filter_map(|row| self.history_row(row, &mut ties)).collect();
                }
            }
        }
        if out.loading {
            out.reason = self.side_reason.clone();
        }
        out
    }

    fn tape_row_of(&mut self, number: u64, ties: &mut Ties) -> Option<TapeRow> {
        if let Some(row) = self.tape.index.row(number)
            && let Some(found) = self.history_row(row, ties)
        {
            return Some(found);
        }
        let page = self.tape.page(number / PAGE_ROWS)?;
        page.get(usize::try_from(number % PAGE_ROWS).ok()?).cloned()
    }

    fn history_row(&self, row: i64, ties: &mut Ties) -> Option<TapeRow> {
        let start = self.tie_start(row)?;
        let (chunk, at, _) = self.history.get(row)?;
        let trade = chunk.trade(at)?;
        if ties.start != Some(start) {
            *ties = Ties { start: Some(start), next: start, nth: 0 };
        }
        while ties.next <= row {
            let (chunk, at, _) = self.history.get(ties.next)?;
            ties.nth += u32::from(chunk.trade(at).is_some());
            ties.next += 1;
        }
        Some(tape_row(chunk.time(at), ties.nth, trade, chunk))
    }
}

/// Trades counted among the rows of one time, from its first row on.
#[derive(Debug, Default)]
struct Ties {
    start: Option<i64>,
    next: i64,
    nth: u32,
}
