//! A batch that can be asked for its events.

use arrow_array::RecordBatch;
use arrow_buffer::ScalarBuffer;

use super::binding::Groups;
use super::event::{Change, DepthRow, Event, Flags, LevelChange, OrderAction, OrderChange, RowMark, Trade};
use super::levels::Levels;
use super::numbers::Integers;
use super::words::{Action, Words};
use crate::units::{Aggressor, Price, Scale, Size, UnixNanos};

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
    pub(super) groups: Groups,
    pub(super) body: Body,
    pub(super) price_scale: Scale,
    pub(super) size_scale: Scale,
    pub(super) owned_bytes: usize,
}

#[derive(Debug)]
pub(super) enum Body {
    Orders {
        ids: Integers,
    },
    Depth(Levels),
    /// Level changes; a byte of 1 marks the rows of a snapshot.
    Changes {
        snapshots: Option<Vec<u8>>,
    },
    Trades,
    Bars,
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

    /// The most levels a side that a row has room for; `None` where rows are no whole books.
    #[must_use]
    pub fn depth(&self) -> Option<u32> {
        match &self.body {
            Body::Depth(levels) => Some(levels.depth()),
            Body::Orders { .. } | Body::Changes { .. } | Body::Trades | Body::Bars => None,
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
        let (time, venue_time) = (self.time(row), self.venue_time(row));
        match self.groups {
            Groups::Flags => {
                let flags = self.flags(row);
                RowMark { time, venue_time, snapshot: flags.snapshot(), last: self.flags.is_none() || flags.last(), by_time: false }
            }
            Groups::Rows => RowMark { time, venue_time, snapshot: false, last: true, by_time: false },
            Groups::Times => {
                let snapshot = matches!(&self.body, Body::Changes { snapshots: Some(marks) } if marks[row] == 1);
                RowMark { time, venue_time, snapshot, last: false, by_time: true }
            }
        }
    }

    fn action(&self, row: usize) -> Action {
        match (&self.actions, &self.body) {
            (Some(actions), _) => Words::action(actions[row]),
            (None, Body::Trades) => Action::Trade,
            (None, _) => Action::None,
        }
    }

    /// Byte of the side.
    fn side(&self, row: usize) -> u8 {
        self.sides.as_ref().map_or(0, |sides| sides[row])
    }

    fn price(&self, row: usize) -> Option<Price> {
        self.price.as_ref().and_then(|prices| prices.get(row)).map(Price)
    }

    fn size(&self, row: usize) -> Option<Size> {
        self.size.as_ref().and_then(|sizes| sizes.get(row)).map(Size)
    }

    /// The trade that a row reports.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn trade(&self, row: usize) -> Option<Trade> {
        let aggressor = match self.action(row) {
            Action::Trade => Words::aggressor(self.side(row)),
            Action::Executed | Action::Hidden => Words::against(self.side(row)),
            Action::Cross => Aggressor::None,
            _ => return None,
        };
        Some(Trade { price: self.price(row)?, size: self.size(row).unwrap_or(Size(0)), aggressor })
    }

    /// What a row does. `previous` is the mark of the row before it in the stream, `None` for the first; `scratch` holds the
    /// levels of a depth row.
    ///
    /// # Panics
    /// When there is no such row, as for a slice.
    #[must_use]
    pub fn event<'s>(&self, row: usize, scratch: &'s mut DepthRow, previous: Option<RowMark>) -> Event<'s> {
        let flags = self.flags(row);
        let action = self.action(row);
        let mut starts_book = false;
        let change = match &self.body {
            Body::Orders { ids } => {
                let (side, price, size) = (Words::side(self.side(row)), self.price(row), self.size(row).unwrap_or(Size(0)));
                let changed = |action| OrderChange { action, side, id: ids.bits(row), price, size };
                starts_book = flags.snapshot() && action != Action::Clear && self.mark(row).starts_snapshot(previous);
                match action {
                    Action::Clear => Change::Clear,
                    Action::Add => Change::Order(changed(OrderAction::Add)),
                    Action::Cancel => Change::Order(changed(OrderAction::Cancel)),
                    Action::Modify => Change::Order(changed(OrderAction::Modify)),
                    Action::Delete => Change::Order(changed(OrderAction::Delete)),
                    Action::Executed => {
                        let order = changed(OrderAction::Cancel);
                        self.trade(row).map_or(Change::Order(order), |trade| Change::Executed { order, trade })
                    }
                    Action::Trade | Action::Hidden | Action::Cross => self.trade(row).map_or(Change::Nothing, Change::Trade),
                    Action::Fill | Action::None => Change::Nothing,
                }
            }
            Body::Depth(levels) => {
                levels.fill(row, scratch);
                Change::Depth { row: scratch, trade: self.trade(row) }
            }
            Body::Changes { .. } => {
                starts_book = self.mark(row).starts_snapshot(previous);
                Change::Level(LevelChange { side: Words::side(self.side(row)), price: self.price(row), size: self.size(row) })
            }
            Body::Trades => self.trade(row).map_or(Change::Nothing, Change::Trade),
            Body::Bars => self.price(row).map_or(Change::Nothing, Change::Close),
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
