//! A batch that can be asked for its events.

use arrow_array::RecordBatch;
use arrow_buffer::ScalarBuffer;

use super::event::{Change, DepthRow, Event, Flags, OrderAction, OrderChange, RowMark, Trade};
use super::levels::Levels;
use super::numbers::Integers;
use super::words::{Action, Words};
use crate::units::{Price, Scale, Size, UnixNanos};

/// A record batch, read by a [`super::Feed`]. Rows count from 0.
#[derive(Debug)]
pub struct Chunk {
    pub(super) batch: RecordBatch,
    pub(super) times: ScalarBuffer<i64>,
    pub(super) venue_times: Option<Integers>,
    pub(super) sequence: Option<Integers>,
    pub(super) flags: Option<Integers>,
    pub(super) actions: Option<Vec<u8>>,
    pub(super) sides: Option<Vec<u8>>,
    pub(super) price: Option<Integers>,
    pub(super) size: Option<Integers>,
    pub(super) body: Body,
    pub(super) price_scale: Scale,
    pub(super) size_scale: Scale,
    pub(super) owned_bytes: usize,
}

#[derive(Debug)]
pub(super) enum Body {
    Orders { ids: Integers },
    Depth(Levels),
}

impl Chunk {
    /// How many rows it has; each is one event.
    #[must_use]
    pub fn rows(&self) -> usize {
        self.times.len()
    }

    /// Designated time of a row.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn time(&self, row: usize) -> UnixNanos {
        UnixNanos(self.times[row])
    }

    /// Designated times in nanoseconds.
    #[must_use]
    pub fn times(&self) -> &[i64] {
        &self.times
    }

    /// Digits after the point of the prices in its events.
    #[must_use]
    pub fn price_scale(&self) -> Scale {
        self.price_scale
    }

    /// Digits after the point of the sizes in its events.
    #[must_use]
    pub fn size_scale(&self) -> Scale {
        self.size_scale
    }

    /// The most levels a side that a row has room for; `None` for a feed of orders.
    #[must_use]
    pub fn depth(&self) -> Option<u32> {
        match &self.body {
            Body::Orders { .. } => None,
            Body::Depth(levels) => Some(levels.depth()),
        }
    }

    /// The batch it was read from.
    #[must_use]
    pub fn batch(&self) -> &RecordBatch {
        &self.batch
    }

    /// Bytes that it holds beside the batch.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.owned_bytes
    }

    fn venue_time(&self, row: usize) -> Option<UnixNanos> {
        self.venue_times.as_ref().and_then(|times| times.get(row)).map(UnixNanos)
    }

    fn flags(&self, row: usize) -> Flags {
        // A tinyint column shows 168 as −88; the low eight bits are the flags in every width.
        Flags(self.flags.as_ref().and_then(|flags| flags.get(row)).map_or(0, |flags| (flags & 0xFF) as u8))
    }

    /// What decides where the event group of a row ends.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn mark(&self, row: usize) -> RowMark {
        let flags = self.flags(row);
        RowMark { time: self.time(row), venue_time: self.venue_time(row), snapshot: flags.snapshot(), last: self.flags.is_none() || flags.last() }
    }

    /// The trade that a row reports.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn trade(&self, row: usize) -> Option<Trade> {
        let actions = self.actions.as_ref()?;
        if Words::action(actions[row]) != Action::Trade {
            return None;
        }
        let price = self.price.as_ref().and_then(|prices| prices.get(row)).map(Price)?;
        let size = Size(self.size.as_ref().and_then(|sizes| sizes.get(row)).unwrap_or(0));
        let side = self.sides.as_ref().map_or(0, |sides| sides[row]);
        Some(Trade { price, size, aggressor: Words::aggressor(side) })
    }

    /// What a row does. `previous` is the mark of the row before it in the stream, `None` for the first; `scratch` holds the
    /// levels of a depth row.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn event<'s>(&self, row: usize, scratch: &'s mut DepthRow, previous: Option<RowMark>) -> Event<'s> {
        let flags = self.flags(row);
        let action = self.actions.as_ref().map_or(Action::None, |actions| Words::action(actions[row]));
        let side = self.sides.as_ref().map_or(0, |sides| sides[row]);
        let price = self.price.as_ref().and_then(|prices| prices.get(row)).map(Price);
        let size = Size(self.size.as_ref().and_then(|sizes| sizes.get(row)).unwrap_or(0));
        let trade = || price.map(|price| Trade { price, size, aggressor: Words::aggressor(side) });
        let mut starts_book = false;
        let change = match &self.body {
            Body::Orders { ids } => {
                let order = |action| {
                    let id = ids.bits(row);
                    Change::Order(OrderChange { action, side: Words::side(side), id, price, size })
                };
                starts_book = flags.snapshot() && action != Action::Clear && self.mark(row).starts_snapshot(previous);
                match action {
                    Action::Clear => Change::Clear,
                    Action::Add => order(OrderAction::Add),
                    Action::Cancel => order(OrderAction::Cancel),
                    Action::Modify => order(OrderAction::Modify),
                    Action::Trade => trade().map_or(Change::Nothing, Change::Trade),
                    Action::Fill | Action::None => Change::Nothing,
                }
            }
            Body::Depth(levels) => {
                levels.fill(row, scratch);
                let trade = if action == Action::Trade { trade() } else { None };
                Change::Depth { row: scratch, trade }
            }
        };
        Event {
            time: self.time(row),
            venue_time: self.venue_time(row),
            sequence: self.sequence.as_ref().and_then(|sequence| sequence.get(row)),
            flags,
            starts_book,
            change,
        }
    }
}
