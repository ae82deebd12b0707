//! The levels of a depth feed, flat or in arrays.

use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, ListArray};
use arrow_schema::DataType;

use super::error::MarketError;
use super::event::{DepthLevel, DepthRow};
use super::numbers::{Integers, NONE, from_doubles};
use crate::units::{Price, Scale, Size};

/// The levels of a batch.
#[derive(Debug)]
pub(super) enum Levels {
    /// `zero_is_none`: a price of zero says that there is no level.
    Flat {
        bids: Vec<FlatLevel>,
        asks: Vec<FlatLevel>,
        zero_is_none: bool,
    },
    Arrays(Box<ArrayLevels>),
}

/// Both sides of all rows.
#[derive(Debug)]
pub(super) struct ArrayLevels {
    pub(super) bids: ArraySide,
    pub(super) asks: ArraySide,
}

/// One level of one side: a column for each number.
#[derive(Debug)]
pub(super) struct FlatLevel {
    pub(super) price: Integers,
    pub(super) size: Integers,
    pub(super) count: Option<Integers>,
}

/// One side of all rows; the levels of row r are those from `ends[r − 1]` to `ends[r]`.
#[derive(Debug)]
pub(super) struct ArraySide {
    ends: Vec<u32>,
    pub(super) prices: Integers,
    pub(super) sizes: Integers,
    counts: Option<Vec<i64>>,
}

fn level(price: Option<i64>, size: Option<i64>, count: Option<i64>) -> Option<DepthLevel> {
    let (price, size) = (price?, size.filter(|size| *size > 0)?);
    Some(DepthLevel { price: Price(price), size: Size(size), count: count.and_then(|count| u32::try_from(count).ok()) })
}

impl Levels {
    /// Writes the levels of a row; those without a price or a size are left out.
    pub(super) fn fill(&self, row: usize, out: &mut DepthRow) {
        out.bids.clear();
        out.asks.clear();
        match self {
            Levels::Flat { bids, asks, zero_is_none } => {
                for (side, out) in [(bids, &mut out.bids), (asks, &mut out.asks)] {
                    out.extend(side.iter().filter_map(|columns| {
                        let count = columns.count.as_ref().and_then(|count| count.get(row));
                        let price = columns.price.get(row).filter(|price| *price != 0 || !zero_is_none);
                        level(price, columns.size.get(row), count)
                    }));
                }
                out.capacity = bids.len() as u32;
            }
            Levels::Arrays(sides) => {
                let ArrayLevels { bids, asks } = &**sides;
                for (side, out) in [(bids, &mut out.bids), (asks, &mut out.asks)] {
                    out.extend(side.range(row).filter_map(|at| {
                        let count = side.counts.as_ref().map(|counts| counts[at]).filter(|count| *count != NONE);
                        level(side.prices.get(at), side.sizes.get(at), count)
                    }));
                }
                out.capacity = bids.range(row).len().max(asks.range(row).len()) as u32;
            }
        }
    }

    /// The most levels a side that a row has room for.
    pub(super) fn depth(&self) -> u32 {
        match self {
            Levels::Flat { bids, .. } => bids.len() as u32,
            Levels::Arrays(sides) => sides.bids.depth().max(sides.asks.depth()),
        }
    }

    /// Bytes held beside the batch.
    pub(super) fn owned_bytes(&self) -> usize {
        match self {
            Levels::Flat { bids, asks, .. } => bids
                .iter()
                .chain(asks)
                .map(|level| level.price.owned_bytes() + level.size.owned_bytes() + level.count.as_ref().map_or(0, Integers::owned_bytes))
                .sum(),
            Levels::Arrays(sides) => [&sides.bids, &sides.asks]
                .iter()
                .map(|side| {
                    let counts = side.counts.as_ref().map_or(0, |counts| counts.capacity() * size_of::<i64>());
                    side.ends.capacity() * size_of::<u32>() + side.prices.owned_bytes() + side.sizes.owned_bytes() + counts
                })
                .sum(),
        }
    }
}

impl ArraySide {
    fn range(&self, row: usize) -> std::ops::Range<usize> {
        let start = if row == 0 { 0 } else { self.ends[row - 1] };
        start as usize..self.ends[row] as usize
    }

    fn depth(&self) -> u32 {
        let mut start = 0;
        let lengths = self.ends.iter().map(|end| {
            let length = end - start;
            start = *end;
            length
        });
        lengths.max().unwrap_or(0)
    }

    /// Reads `DOUBLE[][]`: in each row an array of prices and one of sizes. More rows than two are left alone.
    pub(super) fn read(column: &str, array: &ArrayRef, price_scale: Scale, size_scale: Scale) -> Result<ArraySide, MarketError> {
        let wrong_type = || {
            let expected = "DOUBLE[][]";
            MarketError::ColumnType { column: column.into(), got: array.data_type().to_string().into(), expected }
        };
        let outer: &ListArray = array.as_list_opt().ok_or_else(wrong_type)?;
        let inner: &ListArray = outer.values().as_list_opt().ok_or_else(wrong_type)?;
        let doubles = inner.values().as_primitive_opt::<Float64Type>().ok_or_else(wrong_type)?;
        let (outer_ends, inner_ends) = (outer.value_offsets(), inner.value_offsets());
        let nulls = doubles.nulls().filter(|nulls| nulls.null_count() > 0);
        let value = |at: usize| if nulls.is_some_and(|nulls| nulls.is_null(at)) { f64::NAN } else { doubles.values()[at] };
        let (mut prices, mut sizes, mut ends) = (Vec::new(), Vec::new(), Vec::with_capacity(outer.len()));
        for row in 0..outer.len() {
            let (start, end) = (outer_ends[row] as usize, outer_ends[row + 1] as usize);
            if !outer.is_null(row) && start < end {
                let list = |at: usize| if at < end { inner_ends[at] as usize..inner_ends[at + 1] as usize } else { 0..0 };
                let (price, size) = (list(start), list(start + 1));
                if price.len() != size.len() {
                    return Err(MarketError::ArrayShape { column: column.into(), row, prices: price.len(), sizes: size.len() });
                }
                prices.extend(price.map(value));
                sizes.extend(size.map(value));
            }
            // A batch is far below 2^32 values: its arrays have 32-bit offsets.
            ends.push(prices.len() as u32);
        }
        let fault = |(at, fault): (usize, super::NumberFault)| {
            let row = ends.partition_point(|end| *end as usize <= at);
            MarketError::Number { column: column.into(), row, fault }
        };
        let (prices, price_scale) = from_doubles(&prices, None, price_scale).map_err(fault)?;
        let (sizes, size_scale) = from_doubles(&sizes, None, size_scale).map_err(fault)?;
        Ok(ArraySide { prices: Integers::of(prices, price_scale), sizes: Integers::of(sizes, size_scale), counts: None, ends })
    }

    /// Reads how many orders are at each level: an array of doubles or longs, or one integer for a side of one level.
    pub(super) fn read_counts(&mut self, column: &str, array: &ArrayRef) -> Result<(), MarketError> {
        let values = self.ends.last().copied().unwrap_or(0) as usize;
        let mut counts = vec![NONE; values];
        let Some(lists) = array.as_list_opt::<i32>() else {
            let numbers = Integers::read(column, array, Scale(0))?;
            for row in 0..array.len() {
                if let Some(at) = self.range(row).next() {
                    counts[at] = numbers.get(row).unwrap_or(NONE);
                }
            }
            self.counts = Some(counts);
            return Ok(());
        };
        let wide: Integers = match lists.values().data_type() {
            DataType::Float64 => {
                let doubles = lists.values().as_primitive::<Float64Type>();
                let read = from_doubles(doubles.values(), doubles.nulls(), Scale(0));
                let (values, scale) = read.map_err(|(at, fault)| {
                    let row = lists.value_offsets().partition_point(|end| *end as usize <= at).saturating_sub(1);
                    MarketError::Number { column: column.into(), row, fault }
                })?;
                Integers::of(values, scale)
            }
            DataType::Int64 => Integers::of(lists.values().as_primitive::<Int64Type>().iter().map(|value| value.unwrap_or(NONE)).collect(), Scale(0)),
            _ => {
                let expected = "counts as DOUBLE[], LONG[] or integers";
                return Err(MarketError::ColumnType { column: column.into(), got: array.data_type().to_string().into(), expected });
            }
        };
        let offsets = lists.value_offsets();
        for row in 0..lists.len() {
            let (start, end) = (offsets[row] as usize, offsets[row + 1] as usize);
            if lists.is_null(row) {
                continue;
            }
            for (to, from) in self.range(row).zip(start..end) {
                // Half an order is no count: such a level has none.
                counts[to] = wide.get(from).filter(|_| wide.scale == Scale(0)).unwrap_or(NONE);
            }
        }
        self.counts = Some(counts);
        Ok(())
    }
}
