//! Kinds of columns: how one field of many records becomes an array.

use std::ffi::c_char;
use std::sync::Arc;

use datafusion::arrow::array::{
    ArrayRef, ArrowPrimitiveType, Decimal64Array, DictionaryArray, PrimitiveArray, StringArray, StringBuilder, TimestampNanosecondArray, UInt32Array,
};
use datafusion::arrow::buffer::NullBuffer;
use datafusion::arrow::datatypes::{
    DataType, Field, Int8Type, Int16Type, Int32Type, Int64Type, TimeUnit, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use dbn::{FlagSet, UNDEF_PRICE, UNDEF_TIMESTAMP};

use crate::server::source::symbol_type;

/// Prices are integers of 1e-9; what has more than 18 digits does not fit the decimal.
const PRICE_PRECISION: u8 = 18;
const PRICE_SCALE: i8 = 9;
const PRICE_LIMIT: i64 = 10i64.pow(PRICE_PRECISION as u32);

/// What cannot be kept exactly.
#[derive(Debug)]
pub(crate) struct BadRow {
    /// Its number among the rows that were to become a batch.
    pub(crate) row: usize,
    /// What is wrong.
    pub(crate) problem: String,
}

impl std::fmt::Display for BadRow {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "row {}: {}", self.row, self.problem)
    }
}

/// Takes the values of a column from records.
type Read<T> = Box<dyn Fn(&[T]) -> Result<ArrayRef, BadRow> + Send>;

/// A column, and how it is read from records.
pub(crate) struct Column<T> {
    /// Name and type.
    pub(crate) field: Field,
    /// Its values of some records.
    pub(crate) read: Read<T>,
}

impl<T: 'static> Column<T> {
    fn new(name: &str, data_type: DataType, nullable: bool, read: impl Fn(&[T]) -> Result<ArrayRef, BadRow> + Send + 'static) -> Column<T> {
        Column { field: Field::new(name, data_type, nullable), read: Box::new(read) }
    }
}

fn time_type() -> DataType {
    DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()))
}

/// A time; null where it is not set.
pub(super) fn time<T: 'static>(name: &'static str, get: impl Fn(&T) -> u64 + Send + 'static) -> Column<T> {
    Column::new(name, time_type(), true, move |records| {
        let mut values = Vec::with_capacity(records.len());
        let mut unset = false;
        for (row, record) in records.iter().enumerate() {
            let value = get(record);
            unset |= value == UNDEF_TIMESTAMP;
            values.push(moment(value).map_err(|problem| BadRow { row, problem: format!("{name} {problem}") })?.unwrap_or_default());
        }
        let nulls = unset.then(|| records.iter().map(|record| get(record) != UNDEF_TIMESTAMP).collect::<NullBuffer>());
        Ok(Arc::new(TimestampNanosecondArray::new(values.into(), nulls).with_timezone("UTC")))
    })
}

/// The time that orders the table: never null.
pub(super) fn order<T: 'static>(name: &'static str, get: impl Fn(&T) -> u64 + Send + 'static) -> Column<T> {
    Column::new(name, time_type(), false, move |records| {
        let time = |(row, record)| match moment(get(record)) {
            Ok(Some(value)) => Ok(value),
            Ok(None) => Err(BadRow { row, problem: "it has no time".to_owned() }),
            Err(problem) => Err(BadRow { row, problem: format!("{name} {problem}") }),
        };
        let values = records.iter().enumerate().map(time).collect::<Result<Vec<i64>, BadRow>>()?;
        Ok(Arc::new(TimestampNanosecondArray::from(values).with_timezone("UTC")))
    })
}

fn moment(value: u64) -> Result<Option<i64>, String> {
    match i64::try_from(value) {
        Ok(value) => Ok(Some(value)),
        Err(_) if value == UNDEF_TIMESTAMP => Ok(None),
        Err(_) => Err(format!("{value} is past the year 2262")),
    }
}

/// A price; null where it is not set.
pub(super) fn price<T: 'static>(name: &str, get: impl Fn(&T) -> i64 + Send + 'static) -> Column<T> {
    Column::new(name, DataType::Decimal64(PRICE_PRECISION, PRICE_SCALE), true, move |records| {
        let mut values = Vec::with_capacity(records.len());
        let mut unset = false;
        for (row, record) in records.iter().enumerate() {
            let value = get(record);
            if value <= -PRICE_LIMIT || value >= PRICE_LIMIT {
                if value != UNDEF_PRICE {
                    return Err(BadRow { row, problem: format!("a price of {value}e-9 has more than {PRICE_PRECISION} digits") });
                }
                unset = true;
            }
            values.push(value);
        }
        let nulls = unset.then(|| values.iter().map(|&value| value != UNDEF_PRICE).collect::<NullBuffer>());
        let array = Decimal64Array::new(values.into(), nulls).with_precision_and_scale(PRICE_PRECISION, PRICE_SCALE);
        Ok(Arc::new(array.map_err(|error| BadRow { row: 0, problem: error.to_string() })?))
    })
}

fn number<T: 'static, N: ArrowPrimitiveType>(name: &str, get: impl Fn(&T) -> N::Native + Send + 'static) -> Column<T> {
    Column::new(name, N::DATA_TYPE, false, move |records| Ok(Arc::new(PrimitiveArray::<N>::from_iter_values(records.iter().map(&get)))))
}

macro_rules! numbers {
    ($($kind:ident $native:ty, $arrow:ty;)*) => {$(
        #[doc = concat!("An integer: ", stringify!($native), ", as it is.")]
        pub(super) fn $kind<T: 'static>(name: &str, get: impl Fn(&T) -> $native + Send + 'static) -> Column<T> {
            number::<T, $arrow>(name, get)
        }
    )*};
}
numbers! {
    uint8 u8, UInt8Type;
    uint16 u16, UInt16Type;
    uint32 u32, UInt32Type;
    uint64 u64, UInt64Type;
    int8 i8, Int8Type;
    int16 i16, Int16Type;
    int32 i32, Int32Type;
    int64 i64, Int64Type;
}

/// A set of flags as its byte.
pub(super) fn bits<T: 'static>(name: &str, get: impl Fn(&T) -> FlagSet + Send + 'static) -> Column<T> {
    uint8(name, move |record| get(record).raw())
}

/// A letter as a symbol; the zero byte stands for none.
pub(super) fn letter<T: 'static>(name: &str, get: impl Fn(&T) -> c_char + Send + 'static) -> Column<T> {
    Column::new(name, symbol_type(), true, move |records| {
        let mut known = [u32::MAX; 256];
        let mut letters: Vec<String> = Vec::new();
        let mut keys = Vec::with_capacity(records.len());
        for record in records {
            let byte = get(record) as u8;
            let Some(code) = known.get_mut(usize::from(byte)) else { continue };
            if *code == u32::MAX && byte != 0 {
                *code = u32::try_from(letters.len()).unwrap_or_default();
                letters.push(char::from(byte).to_string());
            }
            keys.push(*code);
        }
        let nulls = keys.contains(&u32::MAX).then(|| keys.iter().map(|&key| key != u32::MAX).collect::<NullBuffer>());
        if nulls.is_some() {
            keys.iter_mut().filter(|key| **key == u32::MAX).for_each(|key| *key = 0);
        }
        let keys = UInt32Array::new(keys.into(), nulls);
        // Every key was given out for a value above, or is null.
        Ok(Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from(letters)))))
    })
}

/// A text of fixed room, up to its first zero byte.
pub(super) fn text<T: 'static, const N: usize>(name: &'static str, get: impl Fn(&T) -> [c_char; N] + Send + 'static) -> Column<T> {
    Column::new(name, DataType::Utf8, false, move |records| {
        let mut builder = StringBuilder::new();
        for (row, record) in records.iter().enumerate() {
            let bytes = get(record).map(|byte| byte as u8);
            let end = bytes.iter().position(|&byte| byte == 0).unwrap_or(N);
            let text = std::str::from_utf8(bytes.get(..end).unwrap_or_default());
            builder.append_value(text.map_err(|_| BadRow { row, problem: format!("{name} is not UTF-8") })?);
        }
        Ok(Arc::new(builder.finish()))
    })
}
