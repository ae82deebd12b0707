//! Time and sales as text: which trades a window shows, how far it is scrolled, what each line says.
//!
//! All trades of the range that the clock has passed can be scrolled to; the worker hands over those in view. At the top the newest
//! is followed. Scrolled away, the lines stand still while newer trades are counted.

use crate::link::{Command, TapeRow, TapeRows, TapeView};
use crate::units::{Decimal, UnixNanos};

use super::clock;
use super::ladder::shared_prefix;
use super::numbers::{count, written};

/// Height of a line in pixels.
pub const LINE_PIXELS: f64 = 18.0;
/// Height of the column heads above them.
pub const HEAD_PIXELS: f64 = 20.0;
/// Lines that are ever in the document.
pub const LINES: usize = 128;
/// Browsers stop laying out elements that are much higher; more trades than fit share the height.
const MOST_PIXELS: f64 = 8_000_000.0;
/// Where trades share the height, a scroll by less than so many windows goes line by line; a longer one goes to a share of all.
const NEAR_WINDOWS: f64 = 3.0;
/// Marks of the sides, in words: colour alone says nothing.
const BUY: &str = "▲";
const SELL: &str = "▼";
const NEITHER: &str = "·";

/// A line of the tape. Without a trade all texts are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Line {
    /// `14:30:05.123 456 789`.
    pub time: String,
    /// ▲ buy aggressor, ▼ sell aggressor, · not known.
    pub mark: &'static str,
    /// The digits that every price in view shares; set back.
    pub price_head: String,
    /// The digits in which prices differ; emphasised. With the head, exact, with as many decimals as the other prices.
    pub price_tail: String,
    /// Exact.
    pub size: String,
    /// `buy`, `sell` or empty: what the style sheet colours by.
    pub side: &'static str,
}

/// A window that was scrolled away from the newest trade.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Away {
    /// How many trades had passed when it began: the ones that can be scrolled to.
    passed: u64,
    /// How many of them lie above the window. Scrolling may stop within a line.
    lines: f64,
}

/// The tape of the open instrument.
#[derive(Debug, Clone, Default)]
pub struct Tape {
    /// Height of the window below its heads, in pixels.
    window: f64,
    /// `None` follows the newest.
    away: Option<Away>,
    /// Where the scrolled element stands, or is to stand.
    pixels: f64,
    min_size: Option<String>,
    passed: Option<u64>,
    shown: Option<TapeRows>,
    price_decimals: u8,
    size_decimals: u8,
}

impl Tape {
    /// Another instrument: nothing is known of its trades. The window and the filter stay.
    pub fn reset(&mut self) {
        *self = Tape { window: self.window, min_size: self.min_size.take(), ..Tape::default() };
    }

    /// The window's height with its heads changed.
    pub fn resize(&mut self, pixels: f64) {
        self.window = (pixels - HEAD_PIXELS).max(0.0);
    }

    /// Only trades of at least this size; an empty text lets all pass.
    ///
    /// # Errors
    /// What is wrong with the text.
    pub fn filter(&mut self, text: &str) -> Result<(), String> {
        let text: String = text.trim().chars().filter(|character| !character.is_whitespace()).collect();
        let wanted = match text.as_str() {
            "" => None,
            text => match Decimal::parse(text) {
                Ok(size) if size.mantissa() == 0 => None,
                Ok(size) if size.mantissa() > 0 => Some(size.to_string()),
                _ => return Err(format!("{text} is no size: write a number such as 100 or 0.25")),
            },
        };
        if wanted != self.min_size {
            *self = Tape { window: self.window, min_size: wanted, ..Tape::default() };
        }
        Ok(())
    }

    /// Lines that the window shows at least a part of.
    fn room(&self) -> usize {
        if self.window < LINE_PIXELS { 0 } else { ((self.window / LINE_PIXELS).ceil() as usize).min(LINES) }
    }

    /// Lines that the window shows as a whole.
    fn whole_lines(&self) -> usize {
        ((self.window / LINE_PIXELS).floor() as usize).clamp(1, LINES)
    }

    /// What the worker is asked for; `None` while nothing of it can be seen.
    #[must_use]
    pub fn view(&self) -> Option<TapeView> {
        let room = self.room();
        let first = self.away.map(|_| self.top().saturating_sub((room as u64).saturating_sub(1)));
        (room > 0).then(|| TapeView { first, rows: room as u16, min_size: self.min_size.clone() })
    }

    /// Number of the trade in the uppermost line.
    fn top(&self) -> u64 {
        match self.away {
            Some(Away { passed, lines }) => passed.saturating_sub(1).saturating_sub(lines.round() as u64),
            None => self.passed.unwrap_or(0).saturating_sub(1),
        }
    }

    fn trades(&self) -> u64 {
        self.away.map_or(self.passed.unwrap_or(0), |away| away.passed)
    }

    /// Lines above the window when the oldest trade is in its last line.
    fn most_lines(&self) -> f64 {
        self.trades().saturating_sub(self.whole_lines() as u64) as f64
    }

    /// Height of everything that can be scrolled to, in pixels, without the heads.
    #[must_use]
    pub fn height(&self) -> f64 {
        (self.trades() as f64 * LINE_PIXELS).min(MOST_PIXELS)
    }

    /// How far the window can be scrolled.
    fn reach(&self) -> f64 {
        (self.height() - self.window).max(0.0)
    }

    /// Where the element that scrolls is to stand, in pixels from its top.
    #[must_use]
    pub fn pixels(&self) -> f64 {
        self.pixels
    }

    /// The window was scrolled to so many pixels from the top.
    pub fn scroll(&mut self, pixels: f64) {
        let moved = pixels - self.pixels;
        if moved.abs() < 1.0 {
            return;
        }
        self.pixels = pixels;
        let (trades, reach, most) = (self.trades(), self.reach(), self.most_lines());
        let lines = if pixels < 1.0 {
            0.0
        } else if pixels >= reach - 1.0 {
            most
        } else if trades as f64 * LINE_PIXELS <= MOST_PIXELS {
            pixels / LINE_PIXELS
        } else if moved.abs() < NEAR_WINDOWS * self.window {
            self.away.map_or(0.0, |away| away.lines) + moved / LINE_PIXELS
        } else {
            pixels / reach * most
        };
        self.away = (pixels >= 1.0 && trades > 0).then(|| Away { passed: trades, lines: lines.clamp(0.0, most) });
    }

    /// Follows the newest trade again.
    pub fn follow(&mut self) {
        self.away = None;
        self.pixels = 0.0;
    }

    /// Whether the newest trade is followed.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.away.is_none()
    }

    /// A key pressed in a line: the line that has the focus from then on, or `None` when the key means nothing here. Whoever walks
    /// the lines wants them to stand still.
    pub fn key(&mut self, key: &str, line: usize) -> Option<usize> {
        let last = self.whole_lines().min(usize::try_from(self.trades()).unwrap_or(usize::MAX)).saturating_sub(1);
        let page = self.whole_lines().saturating_sub(1).max(1) as f64;
        let (by, line) = match key {
            "ArrowDown" if line < last => (0.0, line + 1),
            "ArrowDown" => (1.0, last),
            "ArrowUp" if line > 0 => (0.0, (line - 1).min(last)),
            "ArrowUp" => (-1.0, 0),
            "PageDown" => (page, line.min(last)),
            "PageUp" => (-page, line.min(last)),
            "End" => (f64::INFINITY, last),
            "Home" => {
                self.follow();
                return Some(0);
            }
            _ => return None,
        };
        let (passed, most) = (self.trades(), self.most_lines());
        if passed == 0 {
            return None;
        }
        let lines = (self.away.map_or(0.0, |away| away.lines).round() + by).clamp(0.0, most);
        self.away = Some(Away { passed, lines });
        let all = passed as f64 * LINE_PIXELS;
        self.pixels = if all <= MOST_PIXELS { (lines * LINE_PIXELS).min(self.reach()) } else { lines / most * self.reach() }.round();
        Some(line)
    }

    /// Takes in what the worker sent. False when it answers another wish and is not to be shown.
    pub fn take(&mut self, rows: TapeRows) -> bool {
        if rows.view.min_size != self.min_size {
            return false;
        }
        self.passed = rows.passed.or(self.passed);
        // The clock went back before what can be scrolled to.
        if let (Some(away), Some(now)) = (self.away, rows.passed)
            && now < away.passed
        {
            self.follow();
        }
        if Some(&rows.view) != self.view().as_ref() {
            return false;
        }
        if rows.total.is_none() {
            // Nothing is known of a place that was just opened; rows of the one before may have come after it was left.
            (self.price_decimals, self.size_decimals) = (0, 0);
        }
        for row in &rows.rows {
            let decimals = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len().min(255) as u8);
            self.price_decimals = self.price_decimals.max(decimals(&row.price));
            self.size_decimals = self.size_decimals.max(decimals(&row.size));
        }
        self.shown = Some(rows);
        true
    }

    /// The lines from the top of the window, as many as it has room for.
    #[must_use]
    pub fn lines(&self) -> Vec<Line> {
        let mut lines: Vec<Line> = (0..self.room()).map(|line| self.row(line).map(|row| self.line(row)).unwrap_or_default()).collect();
        let shared = shared_prefix(lines.iter().map(|line| &line.price_tail).filter(|price| !price.is_empty()));
        for line in &mut lines {
            if let Some((head, tail)) = line.price_tail.split_at_checked(shared) {
                (line.price_head, line.price_tail) = (head.to_owned(), tail.to_owned());
            }
        }
        lines
    }

    fn row(&self, line: usize) -> Option<&TapeRow> {
        let shown = self.shown.as_ref()?;
        match (self.away, shown.first) {
            // Numbers tell where a row belongs: a window that was scrolled meanwhile shows what is known of it.
            (Some(_), Some(first)) => {
                let index = self.top().checked_sub(line as u64)?.checked_sub(first)?;
                shown.rows.get(usize::try_from(index).ok()?)
            }
            (Some(_), None) => None,
            (None, _) => shown.rows.len().checked_sub(line + 1).and_then(|index| shown.rows.get(index)),
        }
    }

    fn line(&self, row: &TapeRow) -> Line {
        let (mark, side) = match row.aggressor.as_str() {
            "buy" => (BUY, "buy"),
            "sell" => (SELL, "sell"),
            _ => (NEITHER, ""),
        };
        Line {
            time: row.time.parse::<UnixNanos>().map(clock::time).unwrap_or_default(),
            mark,
            price_head: String::new(),
            price_tail: written(&row.price, self.price_decimals),
            size: written(&row.size, self.size_decimals),
            side,
        }
    }

    /// What a click on a line does: go to just after that trade.
    #[must_use]
    pub fn seek(&self, line: usize) -> Option<Command> {
        self.row(line).map(|row| Command::SeekTrade { time: row.time.clone(), nth: row.nth })
    }

    /// `12 newer`, while the lines stand still.
    #[must_use]
    pub fn newer(&self) -> Option<String> {
        self.away?;
        match self.passed.unwrap_or(0).saturating_sub(self.top() + 1) {
            0 => None,
            newer => Some(format!("{} newer", count(newer))),
        }
    }

    /// `1 204 of 6 117`: trades passed and trades in the range.
    #[must_use]
    pub fn tally(&self) -> String {
        if self.shown.as_ref().is_some_and(|shown| shown.reason.is_some()) {
            return String::new();
        }
        match (self.passed, self.shown.as_ref().and_then(|shown| shown.total)) {
            (Some(passed), Some(total)) => format!("{} of {}", count(passed), count(total)),
            (Some(passed), None) => count(passed),
            _ => String::new(),
        }
    }

    /// Why there is no line to see.
    #[must_use]
    pub fn note(&self) -> Option<String> {
        let Some(shown) = &self.shown else { return None };
        if let Some(reason) = &shown.reason {
            return Some(reason.clone());
        }
        let none = shown.rows.is_empty() && !shown.loading && self.passed == Some(0) && shown.total.is_some();
        none.then(|| match (&self.min_size, shown.total) {
            (Some(size), Some(0)) => format!("No trades of {} or more in this range", written(size, 0)),
            (None, Some(0)) => "No trades in this range".to_owned(),
            (Some(size), _) => format!("No trades of {} or more yet in the range", written(size, 0)),
            (None, _) => "No trades yet in the range".to_owned(),
        })
    }

    /// Rows are on their way.
    #[must_use]
    pub fn loading(&self) -> bool {
        self.shown.as_ref().is_some_and(|shown| shown.loading)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(tape: &Tape, passed: u64) -> TapeRows {
        let view = tape.view().unwrap();
        let first = view.first.unwrap_or(passed.saturating_sub(u64::from(view.rows)));
        let last = (first + u64::from(view.rows)).min(passed);
        let row = |number: u64| TapeRow {
            time: (1_703_545_202_834_984_769 + number as i64).to_string(),
            nth: 1,
            price: format!("4810.{}", if number.is_multiple_of(2) { "25" } else { "5" }),
            size: number.to_string(),
            aggressor: ["buy", "sell", "none"][number as usize % 3].to_owned(),
        };
        TapeRows { view, passed: Some(passed), total: Some(6_117), first: Some(first), rows: (first..last).map(row).collect(), ..TapeRows::default() }
    }

    /// A window of ten lines.
    fn tape(passed: u64) -> Tape {
        let mut tape = Tape::default();
        tape.resize(200.0);
        answer(&mut tape, passed);
        tape
    }

    fn answer(tape: &mut Tape, passed: u64) {
        let rows = rows(tape, passed);
        assert!(tape.take(rows));
    }

    fn sizes(tape: &Tape) -> Vec<String> {
        tape.lines().into_iter().map(|line| line.size).filter(|size| !size.is_empty()).collect()
    }

    #[test]
    fn the_newest_trade_stands_on_top_with_every_digit() {
        let tape = tape(5_000);
        let line = &tape.lines()[0];
        assert_eq!((line.time.as_str(), line.size.as_str()), ("23:00:02.834\u{2009}989\u{2009}768", "4\u{2009}999"));
        assert_eq!((line.price_head.as_str(), line.price_tail.as_str()), ("4\u{2009}810.", "50"));
        assert_eq!((line.mark, line.side), (SELL, "sell"));
        assert_eq!(tape.tally(), "5\u{2009}000 of 6\u{2009}117");
        assert_eq!(tape.seek(0), Some(Command::SeekTrade { time: "1703545202834989768".to_owned(), nth: 1 }));
        assert_eq!(tape.lines().len(), 10);
    }

    #[test]
    fn a_window_scrolled_away_stands_still_and_counts_what_is_newer() {
        let mut tape = tape(100);
        tape.scroll(20.0 * LINE_PIXELS);
        assert_eq!(tape.view().unwrap().first, Some(70));
        answer(&mut tape, 100);
        let before = sizes(&tape);
        assert_eq!((before[0].as_str(), before.len()), ("79", 10));
        assert_eq!(tape.newer().as_deref(), Some("20 newer"));
        answer(&mut tape, 1_300);
        assert_eq!(sizes(&tape), before);
        assert_eq!(tape.newer().as_deref(), Some("1\u{2009}220 newer"));
        assert_eq!(tape.height(), 100.0 * LINE_PIXELS, "the scroll bar stands still too");
        tape.scroll(0.0);
        assert!(tape.follows() && tape.newer().is_none());
    }

    #[test]
    fn the_oldest_trade_is_whole_in_the_last_line_at_the_end_of_the_scroll() {
        for window in [180.0, 185.0, 189.0, 192.0, 197.0] {
            let mut tape = Tape::default();
            tape.resize(HEAD_PIXELS + window);
            answer(&mut tape, 100);
            tape.scroll(100.0 * LINE_PIXELS - window);
            answer(&mut tape, 100);
            assert_eq!(tape.lines()[9].size, "0", "{window}");
            assert_eq!(tape.lines()[0].size, "9", "{window}");
        }
    }

    #[test]
    fn every_trade_of_many_millions_can_be_reached() {
        let mut tape = tape(50_000_000);
        assert_eq!(tape.height(), MOST_PIXELS);
        // A share of all where the bar is drawn, line by line from there.
        tape.scroll(MOST_PIXELS / 2.0);
        let half = tape.top();
        assert!((24_990_000..25_010_000).contains(&half), "{half}");
        tape.scroll(MOST_PIXELS / 2.0 + LINE_PIXELS);
        assert_eq!(tape.top(), half - 1);
        tape.scroll(MOST_PIXELS / 2.0 + 3.0);
        tape.scroll(MOST_PIXELS / 2.0);
        assert_eq!(tape.top(), half);
        tape.scroll(MOST_PIXELS - 180.0);
        assert_eq!((tape.view().unwrap().first, tape.top()), (Some(0), 9));
        for _ in 0..3 {
            tape.key("PageUp", 0);
        }
        assert_eq!(tape.top(), 9 + 27);
    }

    #[test]
    fn keys_walk_every_line_and_hold_the_tape() {
        let mut tape = tape(30);
        let mut line = 0;
        let mut walked = vec![tape.top() - line as u64];
        while let Some(next) = tape.key("ArrowDown", line)
            && tape.top() - next as u64 != walked[walked.len() - 1]
        {
            line = next;
            walked.push(tape.top() - line as u64);
        }
        assert_eq!(walked, (0..30).rev().collect::<Vec<u64>>());
        assert_eq!((line, tape.pixels()), (9, 20.0 * LINE_PIXELS));
        // The element is scrolled there, which changes nothing.
        tape.scroll(20.0 * LINE_PIXELS);
        assert_eq!(tape.top(), 9);
        for _ in 0..40 {
            line = tape.key("ArrowUp", line).unwrap();
        }
        assert_eq!((tape.top(), line, tape.follows()), (29, 0, false));
        assert_eq!(tape.key("End", 4), Some(9));
        assert_eq!(tape.top(), 9);
        assert_eq!((tape.key("Home", 4), tape.follows(), tape.pixels()), (Some(0), true, 0.0));
        assert_eq!(tape.key("x", 0), None);
    }

    #[test]
    fn an_answer_to_an_earlier_wish_is_not_shown() {
        let mut tape = tape(100);
        let stale = rows(&tape, 100);
        tape.scroll(20.0 * LINE_PIXELS);
        assert!(!tape.take(stale.clone()));
        tape.follow();
        tape.filter("25").unwrap();
        assert!(!tape.take(stale));
        assert_eq!(tape.view().unwrap().min_size.as_deref(), Some("25"));
    }

    #[test]
    fn going_back_before_the_window_follows_again() {
        let mut tape = tape(100);
        tape.scroll(20.0 * LINE_PIXELS);
        let mut answer = rows(&tape, 100);
        answer.passed = Some(3);
        tape.take(answer);
        assert_eq!((tape.follows(), tape.pixels()), (true, 0.0));
    }

    #[test]
    fn a_size_is_a_number_and_what_is_none_is_refused() {
        let mut tape = tape(1);
        for (text, wanted) in [("", None), ("0", None), (" 1 000 ", Some("1000")), ("0.250", Some("0.25"))] {
            tape.filter(text).unwrap();
            assert_eq!(tape.view().unwrap().min_size.as_deref(), wanted, "{text:?}");
        }
        assert!(tape.filter("-1").is_err() && tape.filter("many").is_err());
    }

    #[test]
    fn it_says_why_it_is_empty() {
        let mut tape = tape(0);
        assert_eq!(tape.note().as_deref(), Some("No trades yet in the range"));
        let mut answer = rows(&tape, 0);
        answer.total = Some(0);
        tape.take(answer.clone());
        assert_eq!(tape.note().as_deref(), Some("No trades in this range"));
        answer.reason = Some("This table has no trades".to_owned());
        tape.take(answer);
        assert_eq!(tape.note().as_deref(), Some("This table has no trades"));
        tape.filter("1000").unwrap();
        let mut answer = rows(&tape, 0);
        answer.total = Some(0);
        tape.take(answer);
        assert_eq!(tape.note().as_deref(), Some("No trades of 1\u{2009}000 or more in this range"));
    }
}
