//! Time and sales as text: which trades a window shows, how far it is scrolled, what each line says.
//!
//! All trades of the range that the clock has passed can be scrolled to; the worker hands over those in view. At the top the newest
//! is followed. Scrolled away, the lines stand still while newer trades are counted.

use crate::link::{Command, TapeRow, TapeRows, TapeView};
use crate::units::{Decimal, UnixNanos};

use super::clock;
use super::numbers::{count, written};

/// Height of a line in pixels.
pub const LINE_PIXELS: f64 = 18.0;
/// Lines that are ever in the document.
pub const LINES: usize = 128;
/// Browsers stop laying out elements that are much higher; more trades than fit share the height.
const MOST_PIXELS: f64 = 8_000_000.0;
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
    /// Exact, with as many decimals as the other prices.
    pub price: String,
    /// Exact.
    pub size: String,
    /// `buy`, `sell` or empty: what the style sheet colours by.
    pub side: &'static str,
}

/// The tape of the open instrument.
#[derive(Debug, Clone, Default)]
pub struct Tape {
    /// Lines that the window has room for.
    room: u16,
    /// Scrolled away: how many trades had passed when it began, and how many lines down the window is.
    away: Option<(u64, u64)>,
    min_size: Option<String>,
    passed: Option<u64>,
    shown: Option<TapeRows>,
    price_decimals: u8,
    size_decimals: u8,
}

impl Tape {
    /// Another instrument: nothing is known of its trades. The window and the filter stay.
    pub fn reset(&mut self) {
        *self = Tape { room: self.room, min_size: self.min_size.take(), ..Tape::default() };
    }

    /// The window's height changed.
    pub fn resize(&mut self, pixels: f64) {
        self.room = if pixels < LINE_PIXELS { 0 } else { ((pixels / LINE_PIXELS).ceil() as usize + 1).min(LINES) as u16 };
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
            *self = Tape { room: self.room, min_size: wanted, ..Tape::default() };
        }
        Ok(())
    }

    /// What the worker is asked for; `None` while nothing of it can be seen.
    #[must_use]
    pub fn view(&self) -> Option<TapeView> {
        let first = self.away.map(|_| self.top().saturating_sub(u64::from(self.room).saturating_sub(1)));
        (self.room > 0).then(|| TapeView { first, rows: self.room, min_size: self.min_size.clone() })
    }

    /// Number of the trade in the uppermost line.
    fn top(&self) -> u64 {
        match self.away {
            Some((passed, lines)) => passed.saturating_sub(1).saturating_sub(lines),
            None => self.passed.unwrap_or(0).saturating_sub(1),
        }
    }

    fn trades(&self) -> u64 {
        self.away.map_or(self.passed.unwrap_or(0), |(passed, _)| passed)
    }

    /// Height of everything that can be scrolled to, in pixels.
    #[must_use]
    pub fn height(&self) -> f64 {
        (self.trades() as f64 * LINE_PIXELS).min(MOST_PIXELS)
    }

    /// The window was scrolled to so many pixels from the top of [`Tape::height`].
    pub fn scroll(&mut self, pixels: f64, window_pixels: f64) {
        let trades = self.trades();
        let all = trades as f64 * LINE_PIXELS;
        let lines = if all <= MOST_PIXELS {
            // Up, so that the window at its end has room for the oldest trade whole.
            (pixels / LINE_PIXELS).ceil()
        } else {
            let reach = (MOST_PIXELS - window_pixels).max(1.0);
            (pixels / reach).clamp(0.0, 1.0) * (trades as f64 - (window_pixels / LINE_PIXELS).floor()).max(0.0)
        };
        self.away = (lines >= 1.0 && trades > 0).then_some((trades, (lines as u64).min(trades.saturating_sub(1))));
    }

    /// Follows the newest trade again.
    pub fn follow(&mut self) {
        self.away = None;
    }

    /// Whether the newest trade is followed.
    #[must_use]
    pub fn follows(&self) -> bool {
        self.away.is_none()
    }

    /// Takes in what the worker sent. False when it answers another wish and is not to be shown.
    pub fn take(&mut self, rows: TapeRows) -> bool {
        if rows.view.min_size != self.min_size {
            return false;
        }
        self.passed = rows.passed.or(self.passed);
        // The clock went back before what the window shows.
        if let (Some((passed, _)), Some(now)) = (self.away, rows.passed)
            && now < passed
        {
            self.away = None;
        }
        if Some(&rows.view) != self.view().as_ref() {
            return false;
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
        (0..usize::from(self.room)).map(|line| self.row(line).map(|row| self.line(row)).unwrap_or_default()).collect()
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
            price: written(&row.price, self.price_decimals),
            size: written(&row.size, self.size_decimals),
            side,
        }
    }

    /// What a click on a line does: go to just after that trade.
    #[must_use]
    pub fn click(&self, line: usize) -> Option<Command> {
        self.row(line).map(|row| Command::SeekTrade { time: row.time.clone(), nth: row.nth })
    }

    /// `12 newer trades`, while scrolled away.
    #[must_use]
    pub fn newer(&self) -> Option<String> {
        self.away?;
        match self.passed.unwrap_or(0).saturating_sub(self.top() + 1) {
            0 => None,
            1 => Some("1 newer trade".to_owned()),
            newer => Some(format!("{} newer trades", count(newer))),
        }
    }

    /// `1 204 of 6 117`: trades passed and trades in the range.
    #[must_use]
    pub fn tally(&self) -> String {
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
        let none = shown.rows.is_empty() && !shown.loading && self.passed == Some(0);
        none.then(|| match (&self.min_size, shown.total) {
            (Some(size), Some(0)) => format!("No trade of {size} or more in this range"),
            (None, Some(0)) => "No trades in this range".to_owned(),
            _ => "No trade yet".to_owned(),
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

    fn tape(passed: u64) -> Tape {
        let mut tape = Tape::default();
        tape.resize(180.0);
        let rows = rows(&tape, passed);
        assert!(tape.take(rows));
        tape
    }

    fn sizes(tape: &Tape) -> Vec<String> {
        tape.lines().into_iter().map(|line| line.size).filter(|size| !size.is_empty()).collect()
    }

    #[test]
    fn the_newest_trade_stands_on_top_with_every_digit() {
        let tape = tape(5_000);
        let line = &tape.lines()[0];
        assert_eq!((line.time.as_str(), line.size.as_str()), ("23:00:02.834\u{2009}989\u{2009}768", "4\u{2009}999"));
        assert_eq!((line.price.as_str(), line.mark, line.side), ("4\u{2009}810.50", SELL, "sell"));
        assert_eq!(tape.tally(), "5\u{2009}000 of 6\u{2009}117");
        assert_eq!(tape.click(0), Some(Command::SeekTrade { time: "1703545202834989768".to_owned(), nth: 1 }));
    }

    #[test]
    fn a_window_scrolled_away_stands_still_and_counts_what_is_newer() {
        let mut tape = tape(100);
        tape.scroll(20.0 * LINE_PIXELS, 180.0);
        assert_eq!(tape.view().unwrap().first, Some(69));
        let answer = rows(&tape, 100);
        assert!(tape.take(answer));
        let before = sizes(&tape);
        assert_eq!((before[0].as_str(), before.len()), ("79", 11));
        assert_eq!(tape.newer().as_deref(), Some("20 newer trades"));
        let answer = rows(&tape, 1_300);
        assert!(tape.take(answer));
        assert_eq!(sizes(&tape), before);
        assert_eq!(tape.newer().as_deref(), Some("1\u{2009}220 newer trades"));
        tape.scroll(0.0, 180.0);
        assert!(tape.follows() && tape.newer().is_none());
    }

    #[test]
    fn every_trade_of_many_millions_can_be_reached() {
        let mut tape = tape(50_000_000);
        assert_eq!(tape.height(), MOST_PIXELS);
        tape.scroll(MOST_PIXELS - 180.0, 180.0);
        assert_eq!(tape.view().unwrap().first, Some(0));
    }

    #[test]
    fn an_answer_to_an_earlier_wish_is_not_shown() {
        let mut tape = tape(100);
        let stale = rows(&tape, 100);
        tape.scroll(20.0 * LINE_PIXELS, 180.0);
        assert!(!tape.take(stale.clone()));
        tape.follow();
        tape.filter("25").unwrap();
        assert!(!tape.take(stale));
        assert_eq!(tape.view().unwrap().min_size.as_deref(), Some("25"));
    }

    #[test]
    fn going_back_before_the_window_follows_again() {
        let mut tape = tape(100);
        tape.scroll(20.0 * LINE_PIXELS, 180.0);
        let mut answer = rows(&tape, 100);
        answer.passed = Some(3);
        tape.take(answer);
        assert!(tape.follows());
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
        assert_eq!(tape.note().as_deref(), Some("No trade yet"));
        let mut answer = rows(&tape, 0);
        answer.total = Some(0);
        tape.take(answer.clone());
        assert_eq!(tape.note().as_deref(), Some("No trades in this range"));
        answer.reason = Some("This table has no trades".to_owned());
        tape.take(answer);
        assert_eq!(tape.note().as_deref(), Some("This table has no trades"));
    }
}
