//! Numeric columns as exact integers. Columns that are integers already are read where they lie; doubles are converted once a batch.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType,
    TimestampNanosecondType,
};
use arrow_array::{Array, ArrayRef};
use arrow_buffer::{NullBuffer, ScalarBuffer};
use arrow_schema::{DataType, TimeUnit};

use super::error::{MarketError, NumberFault};
use crate::units::{Decimal, Floats, Scale, Shortest};

/// "None" among integers: the sentinel that DBN has for a price that is not there.
pub(super) const NONE: i64 = i64::MAX;

/// A number and the row it is wrong in.
type Fault = (usize, NumberFault);

#[derive(Debug, Clone)]
enum Cells {
    I8(ScalarBuffer<i8>),
    I16(ScalarBuffer<i16>),
    I32(ScalarBuffer<i32>),
    I64(ScalarBuffer<i64>),
}

/// A column of integers at one scale.
#[derive(Debug, Clone)]
pub(super) struct Integers {
    cells: Cells,
    nulls: Option<NullBuffer>,
    pub(super) scale: Scale,
    /// The values are a copy beside the batch.
    owned: bool,
}

impl Integers {
    /// Reads a column. `scale` is what a column of doubles starts with; the result's may be larger, and is a decimal column's own.
    pub(super) fn read(column: &str, array: &ArrayRef, scale: Scale) -> Result<Integers, MarketError> {
        let number = |(row, fault): Fault| MarketError::Number { column: column.into(), row, fault };
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        let whole = |cells: Cells, nulls: Option<NullBuffer>| Integers { cells, nulls, scale: Scale(0), owned: false };
        Ok(match array.data_type() {
            DataType::Int8 => whole(Cells::I8(array.as_primitive::<Int8Type>().values().clone()), nulls),
            DataType::Int16 => whole(Cells::I16(array.as_primitive::<Int16Type>().values().clone()), nulls),
            DataType::Int32 => whole(Cells::I32(array.as_primitive::<Int32Type>().values().clone()), nulls),
            DataType::Int64 => whole(Cells::I64(array.as_primitive::<Int64Type>().values().clone()), nulls),
            DataType::Decimal64(_, scale) => {
                let scale = decimal_scale(*scale).map_err(number)?;
                Integers { cells: Cells::I64(array.as_primitive::<Decimal64Type>().values().clone()), nulls, scale, owned: false }
            }
            DataType::Decimal128(_, scale) => {
                let scale = decimal_scale(*scale).map_err(number)?;
                let values = array.as_primitive::<Decimal128Type>().values();
                narrow(values, nulls.as_ref(), scale, |value| i64::try_from(value).ok()).map_err(number)?
            }
            DataType::Decimal256(_, scale) => {
                let scale = decimal_scale(*scale).map_err(number)?;
                let values = array.as_primitive::<Decimal256Type>().values();
                narrow(values, nulls.as_ref(), scale, |value| value.to_i128().and_then(|value| i64::try_from(value).ok())).map_err(number)?
            }
            DataType::Float32 => {
                let mut shortest = Shortest::default();
                let floats = array.as_primitive::<Float32Type>().values().iter();
                let doubles: Vec<f64> = floats.map(|float| shortest.double(*float)).collect();
                let (values, scale) = from_doubles(&doubles, nulls.as_ref(), scale).map_err(number)?;
                Integers { cells: Cells::I64(values.into()), nulls: None, scale, owned: true }
            }
            DataType::Float64 => {
                let doubles = array.as_primitive::<Float64Type>().values();
                let (values, scale) = from_doubles(doubles, nulls.as_ref(), scale).map_err(number)?;
                Integers { cells: Cells::I64(values.into()), nulls: None, scale, owned: true }
            }
            other => {
                let expected = "integers, DECIMAL, FLOAT and DOUBLE";
                return Err(MarketError::ColumnType { column: column.into(), got: other.to_string().into(), expected });
            }
        })
    }

    /// Reads a column of times as nanoseconds since 1970.
    pub(super) fn read_times(column: &str, array: &ArrayRef) -> Result<Integers, MarketError> {
        let nulls = array.logical_nulls().filter(|nulls| nulls.null_count() > 0);
        match array.data_type() {
            DataType::Timestamp(TimeUnit::Nanosecond, _) => {
                let cells = Cells::I64(array.as_primitive::<TimestampNanosecondType>().values().clone());
                Ok(Integers { cells, nulls, scale: Scale(0), owned: false })
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => {
                let values = array.as_primitive::<TimestampMicrosecondType>().values();
                let nanos = |(row, value): (usize, &i64)| {
                    if nulls.as_ref().is_some_and(|nulls| nulls.is_null(row)) {
                        return Ok(NONE);
                    }
                    value.checked_mul(1_000).ok_or_else(|| MarketError::TimeRange { column: column.into(), row })
                };
                let values = values.iter().enumerate().map(nanos).collect::<Result<Vec<i64>, MarketError>>()?;
                Ok(Integers { cells: Cells::I64(values.into()), nulls, scale: Scale(0), owned: true })
            }
            other => {
                let expected = "timestamps in ns or µs";
                Err(MarketError::ColumnType { column: column.into(), got: other.to_string().into(), expected })
            }
        }
    }

    /// A copy of values that are at hand, at their scale.
    pub(super) fn of(values: Vec<i64>, scale: Scale) -> Integers {
        Integers { cells: Cells::I64(values.into()), nulls: None, scale, owned: true }
    }

    /// The times of a column in which each row has one.
    pub(super) fn dense(self, column: &str) -> Result<(ScalarBuffer<i64>, usize), MarketError> {
        if let Some(row) = self.nulls.as_ref().and_then(|nulls| (0..nulls.len()).find(|row| nulls.is_null(*row))) {
            return Err(MarketError::NoTime { column: column.into(), row });
        }
        let bytes = self.owned_bytes();
        match self.cells {
            Cells::I64(values) => Ok((values, bytes)),
            _ => Err(MarketError::ColumnType { column: column.into(), got: "narrow integers".into(), expected: "timestamps in ns or µs" }),
        }
    }

    /// The value in a row; `None` for nulls and the sentinel.
    #[inline]
    pub(super) fn get(&self, row: usize) -> Option<i64> {
        if self.is_null(row) {
            return None;
        }
        match &self.cells {
            Cells::I8(cells) => Some(i64::from(cells[row])),
            Cells::I16(cells) => Some(i64::from(cells[row])),
            Cells::I32(cells) => Some(i64::from(cells[row])),
            Cells::I64(cells) => Some(cells[row]).filter(|value| *value != NONE),
        }
    }

    /// The bits of a value that is an identity, not a quantity: it has no sentinel, and one past the signed range is negative here.
    pub(super) fn bits(&self, row: usize) -> u64 {
        match &self.cells {
            Cells::I64(cells) => cells[row].cast_unsigned(),
            _ => self.get(row).unwrap_or(0).cast_unsigned(),
        }
    }

    /// The row is null; the sentinel does not count.
    pub(super) fn is_null(&self, row: usize) -> bool {
        self.nulls.as_ref().is_some_and(|nulls| nulls.is_null(row))
    }

    /// Some rows are null.
    pub(super) fn has_nulls(&self) -> bool {
        self.nulls.is_some()
    }

    fn len(&self) -> usize {
        match &self.cells {
            Cells::I8(cells) => cells.len(),
            Cells::I16(cells) => cells.len(),
            Cells::I32(cells) => cells.len(),
            Cells::I64(cells) => cells.len(),
        }
    }

    /// The same values with more digits after the point.
    pub(super) fn lift(&mut self, column: &str, scale: Scale) -> Result<(), MarketError> {
        if scale <= self.scale {
            return Ok(());
        }
        let fault = |row| MarketError::Number { column: column.into(), row, fault: NumberFault::TooLarge { scale: scale.0 } };
        let factor = Scale(scale.0 - self.scale.0).factor().ok_or_else(|| fault(0))?;
        let lifted = |row: usize| match self.get(row) {
            None => Ok(NONE),
            Some(value) => value.checked_mul(factor).ok_or_else(|| fault(row)),
        };
        let values = (0..self.len()).map(lifted).collect::<Result<Vec<i64>, MarketError>>()?;
        *self = Integers::of(values, scale);
        Ok(())
    }

    /// Bytes held beside the batch.
    pub(super) fn owned_bytes(&self) -> usize {
        match &self.cells {
            Cells::I64(cells) if self.owned => cells.inner().capacity(),
            _ => 0,
        }
    }
}

fn decimal_scale(scale: i8) -> Result<Scale, Fault> {
    u8::try_from(scale).map(Scale).ok().filter(|scale| *scale <= Scale::MAX).ok_or((0, NumberFault::Scale { scale }))
}

/// Wide decimals as 64-bit integers of the same scale.
fn narrow<T: Copy>(values: &[T], nulls: Option<&NullBuffer>, scale: Scale, fit: impl Fn(T) -> Option<i64>) -> Result<Integers, Fault> {
    let one = |(row, value): (usize, &T)| match nulls.is_some_and(|nulls| nulls.is_null(row)) {
        true => Ok(NONE),
        false => fit(*value).ok_or((row, NumberFault::TooLarge { scale: scale.0 })),
    };
    let values = values.iter().enumerate().map(one).collect::<Result<Vec<i64>, Fault>>()?;
    Ok(Integers { cells: Cells::I64(values.into()), nulls: None, scale, owned: true })
}

/// Doubles as integers, at `scale` or the smallest larger one that holds all of them. NaN, infinities and nulls become [`NONE`].
pub(super) fn from_doubles(doubles: &[f64], nulls: Option<&NullBuffer>, mut scale: Scale) -> Result<(Vec<i64>, Scale), Fault> {
    let too_large = |scale: Scale| NumberFault::TooLarge { scale: scale.0 };
    let mut out: Vec<i64> = Vec::with_capacity(doubles.len());
    let mut floats = Floats::at(scale).ok_or((0, too_large(scale)))?;
    for (row, double) in doubles.iter().enumerate() {
        if !double.is_finite() || nulls.is_some_and(|nulls| nulls.is_null(row)) {
            out.push(NONE);
            continue;
        }
        if let Some(value) = floats.integer(*double) {
            out.push(value);
            continue;
        }
        let decimal = Decimal::from_f64(*double, scale).map_err(|error| (row, NumberFault::Decimal(error)))?;
        let needed = Scale(decimal.needed_scale());
        if needed > scale {
            let fault = (row, too_large(needed));
            let factor = Scale(needed.0 - scale.0).factor().ok_or(fault)?;
            for value in out.iter_mut().filter(|value| **value != NONE) {
                *value = value.checked_mul(factor).ok_or(fault)?;
            }
            floats = Floats::at(needed).ok_or(fault)?;
            scale = needed;
        }
        out.push(decimal.at_scale(scale).map_err(|_| (row, too_large(scale)))?);
    }
    Ok((out, scale))
}
