//! Order books: rebuilt from events, exact, and aware of what is wrong with them.
//!
//! A [`Book`] belongs to one publisher and instrument. It takes [`Event`]s one by one and is looked at after
//! [`Book::end_group`] only: inside an event group it may be crossed without being wrong. It knows no Arrow and no wall time.
#![deny(clippy::float_arithmetic)]

use crate::market::{BookKind, Change, Event, LevelChange, OrderChange, Trade};
use crate::units::{Aggressor, Price, Scale, Side, Size, UnixNanos};

mod checkpoint;
mod depth;
mod digest;
mod error;
mod journal;
mod ladder;
mod orders;
mod state;
#[cfg(test)]
mod tests;

use depth::DepthBook;
use orders::OrderBook;
use state::State;

pub use checkpoint::CheckpointError;
pub use error::BookError;
pub use journal::JOURNAL_BYTES;
pub use state::{BookTrade, Findings};

/// A level of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookLevel {
    /// Price at the book's scale.
    pub price: Price,
    /// Sum of the sizes, at the book's scale.
    pub size: i128,
    /// Orders at the level, where the feed counts them.
    pub count: Option<u32>,
}

/// An order of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BookOrder {
    /// Order id.
    pub id: u64,
    /// Price at the book's scale.
    pub price: Price,
    /// Size at the book's scale.
    pub size: Size,
}

/// Best bid and best ask.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TopOfBook {
    /// Highest bid.
    pub bid: Option<BookLevel>,
    /// Lowest ask.
    pub ask: Option<BookLevel>,
}

impl TopOfBook {
    /// Best bid above best ask.
    #[must_use]
    pub fn crossed(&self) -> bool {
        matches!((self.bid, self.ask), (Some(bid), Some(ask)) if bid.price > ask.price)
    }

    /// Best bid equal to best ask.
    #[must_use]
    pub fn locked(&self) -> bool {
        matches!((self.bid, self.ask), (Some(bid), Some(ask)) if bid.price == ask.price)
    }
}

/// The top levels of a book; reused from picture to picture.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DepthSnapshot {
    /// Digits after the point of prices.
    pub price_scale: Scale,
    /// Digits after the point of sizes.
    pub size_scale: Scale,
    /// Best first.
    pub bids: Vec<BookLevel>,
    /// Best first.
    pub asks: Vec<BookLevel>,
}

/// What a finished event group left behind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[must_use]
pub struct GroupReport {
    /// Best bid and ask after it.
    pub top: TopOfBook,
    /// The book is crossed.
    pub crossed: bool,
    /// The book is locked.
    pub locked: bool,
    /// The group was a snapshot with other levels than the book rebuilt up to it.
    pub snapshot_differs: bool,
}

/// A limit order book.
#[derive(Debug, Clone)]
pub struct Book {
    body: Body,
    state: State,
    price_scale: Scale,
    size_scale: Scale,
    /// Events were applied since the last group ended.
    group_open: bool,
}

#[derive(Debug, Clone)]
enum Body {
    Orders(OrderBook),
    Depth(DepthBook),
}

/// What values at an event's scales are multiplied with to be at the book's.
#[derive(Clone, Copy)]
struct Lift {
    price: i64,
    size: i64,
}

impl Lift {
    fn price(self, price: Price) -> Result<Price, BookError> {
        price.0.checked_mul(self.price).map(Price).ok_or(BookError::TooLarge { value: price.0, factor: self.price })
    }

    fn size(self, size: Size) -> Result<Size, BookError> {
        size.0.checked_mul(self.size).map(Size).ok_or(BookError::TooLarge { value: size.0, factor: self.size })
    }
}

impl Book {
    /// An empty book.
    #[must_use]
    pub fn new(kind: BookKind) -> Book {
        let body = match kind {
            BookKind::L3 => Body::Orders(OrderBook::default()),
            BookKind::L1 | BookKind::L2 => Body::Depth(DepthBook::new(kind)),
        };
        Book { body, state: State::default(), price_scale: Scale(0), size_scale: Scale(0), group_open: false }
    }

    /// What it holds. A depth feed shows with each row whether it has room for one level or more.
    #[must_use]
    pub fn kind(&self) -> BookKind {
        match &self.body {
            Body::Orders(_) => BookKind::L3,
            Body::Depth(book) => book.kind(),
        }
    }

    /// Digits after the point of prices.
    #[must_use]
    pub fn price_scale(&self) -> Scale {
        self.price_scale
    }

    /// Digits after the point of sizes.
    #[must_use]
    pub fn size_scale(&self) -> Scale {
        self.size_scale
    }

    /// Applies one event, whose numbers are at the given scales ([`crate::market::Chunk::price_scale`]). Where they are larger
    /// than the book's, the book is rescaled; where they are smaller, the event's numbers are. What the data gets wrong is
    /// counted in [`Book::findings`] and does not stop the replay.
    ///
    /// # Errors
    /// [`BookError`] when the event is of another kind than the book, or a number does not fit. The book is as it was, but for
    /// its scale.
    pub fn apply(&mut self, event: &Event<'_>, price_scale: Scale, size_scale: Scale) -> Result<(), BookError> {
        let lift = self.fit_scales(price_scale, size_scale)?;
        let was = self.state;
        let clears = event.starts_book || event.change == Change::Clear;
        match (&mut self.body, event.change) {
            (Body::Orders(book), change) => {
                let order = match change {
                    Change::Depth { .. } | Change::Level(_) => return Err(BookError::WrongKind { book: BookKind::L3, event: "levels" }),
                    Change::Order(order) | Change::Executed { order, .. } => Some(lift_order(order, lift)?),
                    Change::Clear | Change::Nothing | Change::Trade(_) | Change::Close(_) => None,
                };
                let trade = last_trade(change, event.time, lift)?;
                if clears {
                    if event.flags.snapshot() && self.state.comparable(book.orders()) {
                        self.state.before_snapshot = Some(book.fingerprint(self.price_scale, self.size_scale));
                    }
                    book.clear();
                    self.state.start_whole();
                } else {
                    self.state.start_partial(event.time);
                    if !self.group_open {
                        book.journal.open(was);
                    }
                }
                if let Some(order) = order {
                    book.apply(order, event.flags, &mut self.state.findings);
                }
                if let Some(trade) = trade {
                    self.state.last_trade = Some(trade);
                }
                if event.flags.maybe_bad_book() {
                    self.state.stale = true;
                }
            }
            (Body::Depth(book), change) => {
                let trade = last_trade(change, event.time, lift)?;
                let level = match change {
                    Change::Order(_) | Change::Executed { .. } => return Err(BookError::WrongKind { book: book.kind(), event: "orders" }),
                    Change::Depth { row, .. } => {
                        book.check(row, lift)?;
                        None
                    }
                    Change::Level(level) => Some(lift_level(level, lift)?),
                    Change::Clear | Change::Trade(_) | Change::Close(_) | Change::Nothing => None,
                };
                if !self.group_open {
                    book.journal.open(was);
                }
                if clears {
                    if event.starts_book && self.state.comparable(book.entries()) {
                        self.state.before_snapshot = Some(book.digest(self.price_scale, self.size_scale));
                    }
                    book.clear();
                    self.state.start_whole();
                }
                if let Change::Depth { row, .. } = change {
                    book.replace(row, lift);
                    // The row is the whole book, so it is as good as the row says.
                    self.state.start_whole();
                    self.state.stale = event.flags.maybe_bad_book();
                }
                if let Some(level) = level {
                    self.state.start_partial(event.time);
                    book.change(level, &mut self.state.findings);
                }
                if let Some(trade) = trade {
                    self.state.last_trade = Some(trade);
                }
            }
        }
        if event.flags.maybe_bad_book() {
            self.state.findings.maybe_bad += 1;
        }
        self.state.since.get_or_insert(event.time);
        self.group_open = true;
        Ok(())
    }

    /// Ends the event group: from here on the book may be looked at. Without events since the last end it only reports.
    pub fn end_group(&mut self) -> GroupReport {
        let top = self.best();
        let mut report = GroupReport { top, crossed: top.crossed(), locked: top.locked(), snapshot_differs: false };
        if !self.group_open {
            return report;
        }
        self.group_open = false;
        if let Some(before) = self.state.before_snapshot.take() {
            let now = match &self.body {
                Body::Orders(book) => book.fingerprint(self.price_scale, self.size_scale),
                Body::Depth(book) => book.digest(self.price_scale, self.size_scale),
            };
            report.snapshot_differs = before != now;
        }
        let findings = &mut self.state.findings;
        findings.crossed += u64::from(report.crossed);
        findings.locked += u64::from(report.locked);
        findings.snapshot_differs += u64::from(report.snapshot_differs);
        match &mut self.body {
            Body::Orders(book) => book.journal.close(),
            Body::Depth(book) => book.journal.close(),
        }
        report
    }

    /// Takes back the open event group, or the last one that ended: levels, queues, findings and flags are as before it. False
    /// (and nothing is changed) when that is not known any more: before it lies a clear, a snapshot, a checkpoint, a change of
    /// scale or more than [`JOURNAL_BYTES`] of changes.
    pub fn undo_group(&mut self) -> bool {
        let state = match &mut self.body {
            Body::Orders(book) => book.undo(),
            Body::Depth(book) => book.undo(),
        };
        let Some(state) = state else { return false };
        self.state = state;
        self.group_open = false;
        true
    }

    /// The best `levels` of each side.
    pub fn depth(&self, levels: usize, out: &mut DepthSnapshot) {
        (out.price_scale, out.size_scale) = (self.price_scale, self.size_scale);
        for (side, out) in [(Side::Bid, &mut out.bids), (Side::Ask, &mut out.asks)] {
            out.clear();
            match &self.body {
                Body::Orders(book) => out.extend(book.levels(side).take(levels)),
                Body::Depth(book) => out.extend(book.levels(side).take(levels)),
            }
        }
    }

    /// Best bid and ask.
    #[must_use]
    pub fn best(&self) -> TopOfBook {
        let best = |side| match &self.body {
            Body::Orders(book) => book.levels(side).next(),
            Body::Depth(book) => book.levels(side).next().copied(),
        };
        TopOfBook { bid: best(Side::Bid), ask: best(Side::Ask) }
    }

    /// How many levels a side has.
    #[must_use]
    pub fn level_count(&self, side: Side) -> usize {
        match &self.body {
            Body::Orders(book) => book.level_count(side),
            Body::Depth(book) => book.levels(side).len(),
        }
    }

    /// Orders of a side, best level first, then by priority. A depth feed has none.
    pub fn orders(&self, side: Side) -> impl Iterator<Item = BookOrder> + '_ {
        let book = match &self.body {
            Body::Orders(book) => Some(book),
            Body::Depth(_) => None,
        };
        book.into_iter().flat_map(move |book| book.queue(side))
    }

    /// How much there is to copy in a checkpoint: orders, or levels where the feed has no orders.
    #[must_use]
    pub fn entries(&self) -> usize {
        match &self.body {
            Body::Orders(book) => book.orders(),
            Body::Depth(book) => book.entries(),
        }
    }

    /// A stable hash of levels, counts and queues: XXH3-64 over normalised decimals, so that scale, store and batch boundaries
    /// do not show. Its form is written down beside the code that computes it.
    #[must_use]
    pub fn digest(&self) -> u64 {
        match &self.body {
            Body::Orders(book) => book.digest(self.price_scale, self.size_scale),
            Body::Depth(book) => book.digest(self.price_scale, self.size_scale),
        }
    }

    /// Best bid above best ask.
    #[must_use]
    pub fn crossed(&self) -> bool {
        self.best().crossed()
    }

    /// Best bid equal to best ask.
    #[must_use]
    pub fn locked(&self) -> bool {
        self.best().locked()
    }

    /// The source said that the book may be wrong, and no snapshot or clear came since.
    #[must_use]
    pub fn stale(&self) -> bool {
        self.state.stale
    }

    /// Time of the first event when no snapshot or clear came before it: the book is known in part only since then.
    #[must_use]
    pub fn partial_since(&self) -> Option<UnixNanos> {
        self.state.partial_since
    }

    /// The trade last applied, at the book's scales.
    #[must_use]
    pub fn last_trade(&self) -> Option<BookTrade> {
        self.state.last_trade
    }

    /// Time of the first event that the book was built from, which is what [`Book::findings`] are counted from.
    #[must_use]
    pub fn counted_since(&self) -> Option<UnixNanos> {
        self.state.since
    }

    /// What was found wrong or unusual in what was applied.
    #[must_use]
    pub fn findings(&self) -> Findings {
        self.state.findings
    }

    /// Bytes that it holds.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        match &self.body {
            Body::Orders(book) => book.memory_bytes(),
            Body::Depth(book) => book.memory_bytes(),
        }
    }

    /// Gives prices and sizes more digits after the point. Smaller scales than the book's change nothing. Groups before it
    /// cannot be undone any more.
    ///
    /// # Errors
    /// [`BookError::TooLarge`] when a number does not fit 64 bits then. The book is as it was.
    pub fn rescale(&mut self, price_scale: Scale, size_scale: Scale) -> Result<(), BookError> {
        let price_scale = price_scale.max(self.price_scale);
        let size_scale = size_scale.max(self.size_scale);
        if (price_scale, size_scale) == (self.price_scale, self.size_scale) {
            return Ok(());
        }
        let lift = Lift { price: factor(self.price_scale, price_scale)?, size: factor(self.size_scale, size_scale)? };
        let last_trade = self.state.last_trade.map(|trade| trade.lifted(lift)).transpose()?;
        match &mut self.body {
            Body::Orders(book) => book.rescale(lift)?,
            Body::Depth(book) => book.rescale(lift)?,
        }
        self.state.last_trade = last_trade;
        (self.price_scale, self.size_scale) = (price_scale, size_scale);
        Ok(())
    }

    fn fit_scales(&mut self, price_scale: Scale, size_scale: Scale) -> Result<Lift, BookError> {
        if (price_scale, size_scale) == (self.price_scale, self.size_scale) {
            return Ok(Lift { price: 1, size: 1 });
        }
        self.rescale(price_scale, size_scale)?;
        Ok(Lift { price: factor(price_scale, self.price_scale)?, size: factor(size_scale, self.size_scale)? })
    }
}

/// The price last known through an event.
fn last_trade(change: Change<'_>, time: UnixNanos, lift: Lift) -> Result<Option<BookTrade>, BookError> {
    let trade = match change {
        Change::Trade(trade) | Change::Executed { trade, .. } => trade,
        Change::Depth { trade: Some(trade), .. } => trade,
        Change::Close(price) => Trade { price, size: Size(0), aggressor: Aggressor::None },
        _ => return Ok(None),
    };
    BookTrade::new(trade, time, lift).map(Some)
}

fn lift_level(level: LevelChange, lift: Lift) -> Result<LevelChange, BookError> {
    let price = level.price.map(|price| lift.price(price)).transpose()?;
    Ok(LevelChange { price, size: level.size.map(|size| lift.size(size)).transpose()?, ..level })
}

/// What a number at `from` is multiplied with to be at `to`, which is not smaller.
fn factor(from: Scale, to: Scale) -> Result<i64, BookError> {
    to.0.checked_sub(from.0).and_then(|digits| Scale(digits).factor()).ok_or(BookError::Scale { scale: to.0 })
}

fn lift_order(order: OrderChange, lift: Lift) -> Result<OrderChange, BookError> {
    Ok(OrderChange { price: order.price.map(|price| lift.price(price)).transpose()?, size: lift.size(order.size)?, ..order })
}
