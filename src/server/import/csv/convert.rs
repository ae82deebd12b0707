//! Fields of many records as the columns of a batch.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, BooleanArray, BooleanBufferBuilder, Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, Int64Array, StringArray,
    StringBuilder, TimestampNanosecondArray, UInt32Array,
};
use datafusion::arrow::buffer::{BooleanBuffer, NullBuffer};
use datafusion::arrow::datatypes::{DataType, i256};
use datafusion::arrow::error::ArrowError;

use super::arrays::{self, Arrays};
use super::cell::{self, Number};
use super::names::Role;

/// A column of the batch that is being made.
pub(super) struct Column {
    role: Role,
    data_type: DataType,
    midnight: i64,
    values: Values,
    valid: BooleanBufferBuilder,
    has_none: bool,
}

enum Values {
    Integers(Vec<i64>),
    Times(Vec<i64>),
    Decimals64 { values: Vec<i64>, scale: u32, limit: i64 },
    Decimals128 { values: Vec<i128>, scale: u32 },
    Decimals256 { values: Vec<i256>, scale: u32 },
    Booleans(BooleanBufferBuilder),
    Arrays(Arrays),
    Symbols { keys: Vec<u32>, symbols: Symbols },
    Texts(StringBuilder),
}

/// The symbols of a column over all its batches.
#[derive(Default)]
struct Symbols {
    codes: HashMap<Box<str>, u32, foldhash::fast::RandomState>,
    texts: Vec<Box<str>>,
    /// As a batch has them; made anew when there are more.
    array: Option<Arc<StringArray>>,
    /// Neighbours are mostly equal.
    last: Option<u32>,
}

impl Symbols {
    fn code(&mut self, text: &str) -> Result<u32, &'static str> {
        if let Some(last) = self.last
            && self.texts.get(last as usize).is_some_and(|known| **known == *text)
        {
            return Ok(last);
        }
        let code = match self.codes.get(text) {
            Some(&code) => code,
            None => {
                let code = u32::try_from(self.texts.len()).map_err(|_| "is one symbol too many")?;
                self.codes.insert(text.into(), code);
                self.texts.push(text.into());
                self.array = None;
                code
            }
        };
        self.last = Some(code);
        Ok(code)
    }
}

impl Column {
    /// An empty column.
    ///
    /// # Errors
    /// A type that no column of text has.
    pub(super) fn new(role: Role, data_type: &DataType, midnight: i64) -> Result<Column, String> {
        let scale = |scale: i8| u32::try_from(scale).unwrap_or_default();
        let values = match data_type {
            DataType::Int64 => Values::Integers(Vec::new()),
            DataType::Timestamp(..) => Values::Times(Vec::new()),
            DataType::Decimal64(digits, points) => {
                Values::Decimals64 { values: Vec::new(), scale: scale(*points), limit: 10i64.pow(u32::from(*digits).min(18)) }
            }
            DataType::Decimal128(_, points) => Values::Decimals128 { values: Vec::new(), scale: scale(*points) },
            DataType::Decimal256(_, points) => Values::Decimals256 { values: Vec::new(), scale: scale(*points) },
            DataType::Boolean => Values::Booleans(BooleanBufferBuilder::new(0)),
            DataType::Dictionary(..) => Values::Symbols { keys: Vec::new(), symbols: Symbols::default() },
            DataType::Utf8 => Values::Texts(StringBuilder::new()),
            one if *one == arrays::data_type(1) => Values::Arrays(Arrays::new(1)),
            two if *two == arrays::data_type(2) => Values::Arrays(Arrays::new(2)),
            other => return Err(format!("a column of text cannot become {other}")),
        };
        Ok(Column { role, data_type: data_type.clone(), midnight, values, valid: BooleanBufferBuilder::new(0), has_none: false })
    }

    /// Appends a field.
    ///
    /// # Errors
    /// What the field is not, for a sentence that begins with it: the file is not as it was when its types were found.
    pub(super) fn push(&mut self, text: &str) -> Result<(), &'static str> {
        let none = self.role.is_none(text);
        self.valid.append(!none);
        self.has_none |= none;
        match &mut self.values {
            Values::Integers(values) => values.push(if none { 0 } else { cell::integer(text).ok_or("is no integer of 64 bits")? }),
            Values::Times(values) => values.push(if none { 0 } else { time(self.role, text, self.midnight)? }),
            Values::Decimals64 { values, scale, limit } => {
                let value = match none {
                    true => 0,
                    false => decimal64(self.role, text, *scale).filter(|value| -*limit < *value && *value < *limit).ok_or(NO_DECIMAL)?,
                };
                values.push(value);
            }
            Values::Decimals128 { values, scale } => {
                let value = match none {
                    true => 0,
                    false => Number::parse(text).and_then(|number| number.scaled(shift(self.role, &number, *scale))).ok_or(NO_DECIMAL)?,
                };
                values.push(value);
            }
            Values::Decimals256 { values, scale } => {
                let value = match none {
                    true => i256::ZERO,
                    false => {
                        let number = Number::parse(text).ok_or(NO_DECIMAL)?;
                        i256::from_string(&number.digits(shift(self.role, &number, *scale))).ok_or(NO_DECIMAL)?
                    }
                };
                values.push(value);
            }
            Values::Booleans(values) => values.append(if none { false } else { cell::boolean(text).ok_or("is neither true nor false")? }),
            Values::Arrays(values) if none => values.push_none(),
            Values::Arrays(values) => values.push(text)?,
            Values::Symbols { keys, symbols } => keys.push(if none { 0 } else { symbols.code(text)? }),
            Values::Texts(values) => values.append_value(if none { "" } else { text }),
        }
        Ok(())
    }

    /// The fields since the last call.
    ///
    /// # Errors
    /// A value that its type does not hold.
    pub(super) fn take(&mut self) -> Result<ArrayRef, ArrowError> {
        let valid: BooleanBuffer = self.valid.finish();
        let nulls = std::mem::take(&mut self.has_none).then(|| NullBuffer::new(valid));
        Ok(match &mut self.values {
            Values::Integers(values) => {
                let next = Vec::with_capacity(values.len());
                Arc::new(Int64Array::try_new(std::mem::replace(values, next).into(), nulls)?)
            }
            Values::Times(values) => {
                let next = Vec::with_capacity(values.len());
                let times = TimestampNanosecondArray::try_new(std::mem::replace(values, next).into(), nulls)?;
                Arc::new(times.with_data_type(self.data_type.clone()))
            }
            Values::Decimals64 { values, .. } => {
                let next = Vec::with_capacity(values.len());
                let decimals = Decimal64Array::try_new(std::mem::replace(values, next).into(), nulls)?;
                Arc::new(decimals.with_data_type(self.data_type.clone()))
            }
            Values::Decimals128 { values, .. } => {
                let decimals = Decimal128Array::try_new(std::mem::take(values).into(), nulls)?;
                Arc::new(decimals.with_data_type(self.data_type.clone()))
            }
            Values::Decimals256 { values, .. } => {
                let decimals = Decimal256Array::try_new(std::mem::take(values).into(), nulls)?;
                Arc::new(decimals.with_data_type(self.data_type.clone()))
            }
            Values::Booleans(values) => Arc::new(BooleanArray::new(values.finish(), nulls)),
            Values::Arrays(values) => values.take(nulls)?,
            Values::Symbols { keys, symbols } => {
                if symbols.texts.is_empty() && !keys.is_empty() {
                    // A key needs a value also where it is null.
                    symbols.texts.push("".into());
                    symbols.codes.insert("".into(), 0);
                }
                let texts = symbols.array.get_or_insert_with(|| Arc::new(StringArray::from_iter_values(&symbols.texts)));
                let next = Vec::with_capacity(keys.len());
                let keys = UInt32Array::try_new(std::mem::replace(keys, next).into(), nulls)?;
                Arc::new(DictionaryArray::try_new(keys, Arc::clone(texts) as ArrayRef)?)
            }
            Values::Texts(values) => {
                let texts = values.finish();
                let (offsets, bytes, _) = texts.into_parts();
                Arc::new(StringArray::try_new(offsets, bytes, nulls)?)
            }
        })
    }
}

const NO_DECIMAL: &str = "is no number that its column can hold";

/// By how many digits the number as it is written is to be shifted.
fn shift(role: Role, number: &Number<'_>, scale: u32) -> u32 {
    match role {
        Role::Raw(units, _) if !number.has_point => scale.saturating_sub(units),
        _ => scale,
    }
}

fn decimal64(role: Role, text: &str, scale: u32) -> Option<i64> {
    // Without a point it is a count of the smallest units; both ways are exact.
    if let (Role::Raw(units, _), Some(value)) = (role, cell::integer(text)) {
        return value.checked_mul(10i64.checked_pow(scale.checked_sub(units)?)?);
    }
    match cell::short_decimal(text, scale) {
        Some(value) => Some(value),
        None => {
            let number = Number::parse(text)?;
            i64::try_from(number.scaled(shift(role, &number, scale))?).ok()
        }
    }
}

fn time(role: Role, text: &str, midnight: i64) -> Result<i64, &'static str> {
    if role == Role::OfDay {
        let nanos = Number::parse(text).and_then(|number| number.scaled(9)).ok_or("is no number of seconds, or finer than a nanosecond")?;
        let nanos = i64::try_from(nanos).ok().filter(|nanos| (0..86_400_000_000_000).contains(nanos)).ok_or("is not within a day")?;
        return midnight.checked_add(nanos).ok_or("is past the year 2262");
    }
    if text.as_bytes().get(4).is_some_and(|&byte| byte == b'-' || byte == b'.')
        && let Some(time) = cell::written(text)
    {
        return time.map(|time| time.nanos);
    }
    cell::epoch(text).map(|(nanos, _)| nanos)
}
