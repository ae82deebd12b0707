//! Reads the batches of one stream, one after the other.

use arrow_array::{ArrayRef, RecordBatch};

use super::binding::{Binding, Body as Columns, LevelColumns};
use super::chunk::{Body, Chunk};
use super::error::MarketError;
use super::levels::{ArrayLevels, ArraySide, FlatLevel, Levels};
use super::numbers::Integers;
use super::words::{WordReader, Words};
use crate::units::Scale;

/// The reader of a stream. Scales only grow: a value that needs more digits lifts those of this and later chunks, earlier chunks
/// keep theirs, and a book takes both.
#[derive(Debug)]
pub struct Feed {
    binding: Binding,
    actions: WordReader,
    sides: WordReader,
    marks: WordReader,
    price_scale: Scale,
    size_scale: Scale,
}

impl Feed {
    /// A reader for the batches of `SELECT` [`Binding::columns`].
    #[must_use]
    pub fn new(binding: &Binding) -> Feed {
        let layout = &binding.layout;
        Feed {
            actions: WordReader::new(layout.actions),
            sides: WordReader::new(layout.sides),
            marks: WordReader::new(Words::Marks),
            price_scale: Scale(0),
            size_scale: Scale(0),
            binding: binding.clone(),
        }
    }

    /// Reads a batch. Columns are taken by their place in the selection.
    ///
    /// # Errors
    /// [`MarketError`] naming the column and, where it is one value, the row. The feed is as it was.
    pub fn load(&mut self, batch: &RecordBatch) -> Result<Chunk, MarketError> {
        let layout = &self.binding.layout;
        let names = &self.binding.columns;
        let column = |at: usize| -> Result<(&str, &ArrayRef), MarketError> {
            let name = names.get(at).map_or("", String::as_str);
            batch.columns().get(at).map(|array| (name, array)).ok_or_else(|| MarketError::MissingColumn { column: name.into() })
        };
        let (time_name, time) = column(0)?;
        let (times, mut owned_bytes) = Integers::read_times(time_name, time)?.dense(time_name)?;
        let venue_times = match layout.venue_time {
            Some(at) => {
                let (name, array) = column(at)?;
                Some(Integers::read_times(name, array)?)
            }
            None => None,
        };
        let whole = |at: Option<usize>| -> Result<Option<Integers>, MarketError> {
            let Some(at) = at else { return Ok(None) };
            let (name, array) = column(at)?;
            Integers::read(name, array, Scale(0)).map(Some)
        };
        let (sequence, flags) = (whole(layout.sequence)?, whole(layout.flags)?);
        let actions = match layout.action {
            Some(at) => {
                let (name, array) = column(at)?;
                Some(self.actions.read(name, array)?)
            }
            None => None,
        };
        let sides = match layout.side {
            Some(at) => {
                let (name, array) = column(at)?;
                Some(self.sides.read(name, array)?)
            }
            None => None,
        };
        let mut prices = Scaled { whole: layout.whole_price, ..Scaled::new(self.price_scale) };
        let mut sizes = Scaled::new(self.size_scale);
        let mut price = layout.price.map(|at| column(at).and_then(|(name, array)| prices.read(name, array))).transpose()?;
        let mut size = layout.size.map(|at| column(at).and_then(|(name, array)| sizes.read(name, array))).transpose()?;
        let mut body = match &layout.body {
            Columns::Orders { order_id } => {
                let (name, array) = column(*order_id)?;
                let ids = Integers::read(name, array, Scale(0))?;
                if let Some(row) = actions.as_deref().and_then(|actions| missing_id(actions, &ids)) {
                    return Err(MarketError::NoOrderId { column: name.into(), row });
                }
                Body::Orders { ids }
            }
            Columns::Levels { bids, asks, zero_is_none } => {
                let mut side = |columns: &[LevelColumns]| -> Result<Vec<FlatLevel>, MarketError> {
                    let mut level = |columns: &LevelColumns| {
                        let (price_name, price) = column(columns.price)?;
                        let (size_name, size) = column(columns.size)?;
                        let (price, size) = (prices.read(price_name, price)?, sizes.read(size_name, size)?);
                        Ok(FlatLevel { price, size, count: whole(columns.count)? })
                    };
                    columns.iter().map(&mut level).collect()
                };
                let (bids, asks) = (side(bids)?, side(asks)?);
                Body::Depth(Levels::Flat { bids, asks, zero_is_none: *zero_is_none })
            }
            Columns::Arrays { bids, asks, bid_counts, ask_counts, .. } => {
                let mut side = |at: usize, counts: Option<usize>| -> Result<ArraySide, MarketError> {
                    let (name, array) = column(at)?;
                    let mut side = ArraySide::read(name, array, prices.scale, sizes.scale)?;
                    prices.saw(&side.prices);
                    sizes.saw(&side.sizes);
                    if let Some(at) = counts {
                        let (name, array) = column(at)?;
                        side.read_counts(name, array)?;
                    }
                    Ok(side)
                };
                let (bids, asks) = (side(*bids, *bid_counts)?, side(*asks, *ask_counts)?);
                Body::Depth(Levels::Arrays(Box::new(ArrayLevels { bids, asks })))
            }
            Columns::Changes { snapshot } => {
                let snapshots = match snapshot {
                    Some(at) => {
                        let (name, array) = column(*at)?;
                        Some(self.marks.read(name, array)?)
                    }
                    None => None,
                };
                Body::Changes { snapshots }
            }
            Columns::Trades => Body::Trades,
            Columns::Bars => Body::Bars,
        };
        // Every column at the largest scale that one of them needs; a column read early may have been read at a smaller one.
        let name = |at: Option<usize>| at.and_then(|at| names.get(at)).map_or("", String::as_str);
        if let Some(price) = &mut price {
            price.lift(name(layout.price), prices.scale)?;
        }
        if let Some(size) = &mut size {
            size.lift(name(layout.size), sizes.scale)?;
        }
        match (&mut body, &layout.body) {
            (Body::Depth(Levels::Flat { bids, asks, .. }), Columns::Levels { bids: bid_columns, asks: ask_columns, .. }) => {
                for (level, columns) in bids.iter_mut().zip(bid_columns).chain(asks.iter_mut().zip(ask_columns)) {
                    level.price.lift(name(Some(columns.price)), prices.scale)?;
                    level.size.lift(name(Some(columns.size)), sizes.scale)?;
                }
            }
            (Body::Depth(Levels::Arrays(sides)), Columns::Arrays { bids: bid_column, asks: ask_column, .. }) => {
                for (side, column) in [(&mut sides.bids, bid_column), (&mut sides.asks, ask_column)] {
                    side.prices.lift(name(Some(*column)), prices.scale)?;
                    side.sizes.lift(name(Some(*column)), sizes.scale)?;
                }
            }
            _ => {}
        }
        owned_bytes += [&venue_times, &sequence, &flags, &price, &size].into_iter().flatten().map(Integers::owned_bytes).sum::<usize>();
        owned_bytes += [&actions, &sides].into_iter().flatten().map(Vec::capacity).sum::<usize>();
        owned_bytes += match &body {
            Body::Orders { ids } => ids.owned_bytes(),
            Body::Depth(levels) => levels.owned_bytes(),
            Body::Changes { snapshots } => snapshots.as_ref().map_or(0, Vec::capacity),
            Body::Trades | Body::Bars => 0,
        };
        (self.price_scale, self.size_scale) = (prices.scale, sizes.scale);
        Ok(Chunk {
            batch: batch.clone(),
            times,
            venue_times,
            sequence,
            flags,
            actions,
            sides,
            price,
            size,
            groups: layout.groups,
            body,
            price_scale: self.price_scale,
            size_scale: self.size_scale,
            owned_bytes,
        })
    }
}

/// The scale of all columns of one unit, growing as they are read.
struct Scaled {
    scale: Scale,
    /// Digits after the point of integers.
    whole: Scale,
}

impl Scaled {
    fn new(scale: Scale) -> Scaled {
        Scaled { scale, whole: Scale(0) }
    }

    fn read(&mut self, column: &str, array: &ArrayRef) -> Result<Integers, MarketError> {
        let mut integers = Integers::read(column, array, self.scale)?;
        if array.data_type().is_integer() {
            integers.scale = self.whole;
        }
        self.saw(&integers);
        Ok(integers)
    }

    fn saw(&mut self, integers: &Integers) {
        self.scale = self.scale.max(integers.scale);
    }
}

/// The first row that changes an order and does not say which.
fn missing_id(actions: &[u8], ids: &Integers) -> Option<usize> {
    use super::words::Action;
    if !ids.has_nulls() {
        return None;
    }
    let changes = |byte: u8| matches!(Words::action(byte), Action::Add | Action::Cancel | Action::Modify | Action::Delete | Action::Executed);
    actions.iter().enumerate().find(|(row, byte)| changes(**byte) && ids.is_null(*row)).map(|(row, _)| row)
}
