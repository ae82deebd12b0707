//! What the encoder takes: columns borrowed from their source, or owned where they had to be converted.

use std::borrow::Cow;

use super::super::bits::{BitsRef, Validity};
use super::super::dictionary::Symbols;
use super::super::values::{Column, Geohash, Lists, Text, Values};

/// A column to be encoded: borrowed where the source has the wire's form, owned where it had to be converted.
#[derive(Debug, Clone)]
pub struct ColumnRef<'a> {
    /// Which rows hold a value; `None` when all do.
    pub validity: Option<BitsRef<'a>>,
    /// A slot per row; those of null rows are not looked at.
    pub values: ValuesRef<'a>,
}

/// The values of a column, a variant per column type, a slot per row.
#[derive(Debug, Clone)]
pub enum ValuesRef<'a> {
    /// Bits.
    Boolean(BitsRef<'a>),
    /// BYTE.
    Byte(Cow<'a, [i8]>),
    /// SHORT.
    Short(Cow<'a, [i16]>),
    /// INT.
    Int(Cow<'a, [i32]>),
    /// LONG.
    Long(Cow<'a, [i64]>),
    /// FLOAT.
    Float(Cow<'a, [f32]>),
    /// DOUBLE.
    Double(Cow<'a, [f64]>),
    /// Texts by key.
    Symbol {
        /// A key per row into `texts`.
        keys: Cow<'a, [u32]>,
        /// The texts; must be UTF-8.
        texts: TextRef<'a>,
    },
    /// Microseconds since 1970 UTC.
    Timestamp(Cow<'a, [i64]>),
    /// Milliseconds since 1970 UTC.
    Date(Cow<'a, [i64]>),
    /// 16 bytes a row in the order of RFC 4122.
    Uuid(Cow<'a, [u8]>),
    /// 32 bytes a row, least significant first.
    Long256(Cow<'a, [u8]>),
    /// GEOHASH.
    Geohash {
        /// Bits, 1 to 60.
        precision: u8,
        /// The bits as numbers.
        values: Cow<'a, [i64]>,
    },
    /// UTF-8.
    Varchar(TextRef<'a>),
    /// Nanoseconds since 1970 UTC.
    TimestampNanos(Cow<'a, [i64]>),
    /// Arrays of f64.
    DoubleArray(ListsRef<'a, f64>),
    /// Arrays of i64.
    LongArray(ListsRef<'a, i64>),
    /// DECIMAL64.
    Decimal64 {
        /// Digits after the point, at most 18.
        scale: u8,
        /// Mantissas.
        values: Cow<'a, [i64]>,
    },
    /// DECIMAL128.
    Decimal128 {
        /// Digits after the point, at most 38.
        scale: u8,
        /// Mantissas.
        values: Cow<'a, [i128]>,
    },
    /// DECIMAL256.
    Decimal256 {
        /// Digits after the point, at most 76.
        scale: u8,
        /// Two numbers a row, the low 128 bits first.
        values: Cow<'a, [i128]>,
    },
    /// One UTF-16 unit.
    Char(Cow<'a, [u16]>),
    /// Any bytes.
    Binary(TextRef<'a>),
    /// Addresses as numbers.
    Ipv4(Cow<'a, [u32]>),
}

/// Texts or byte strings, anywhere in a buffer.
#[derive(Debug, Clone)]
pub struct TextRef<'a> {
    /// One more than texts, never decreasing; the first need not be 0.
    pub offsets: Cow<'a, [i32]>,
    /// What the offsets point into.
    pub bytes: Cow<'a, [u8]>,
}

/// Rectangular arrays as nested lists.
#[derive(Debug, Clone)]
pub struct ListsRef<'a, T: Copy> {
    /// A level per dimension, outermost first: the offsets of a level point into the next one, those of the last into `elements`.
    /// The first level has rows + 1 offsets, which need not start at 0.
    pub offsets: Vec<Cow<'a, [i32]>>,
    /// Elements.
    pub elements: Cow<'a, [T]>,
}

impl Column {
    /// Borrowed, as the encoder takes it. `dictionary` is the decoder's as of the column's batch.
    #[must_use]
    pub fn as_column_ref<'a>(&'a self, rows: usize, dictionary: &'a Symbols) -> ColumnRef<'a> {
        let values = match &self.values {
            Values::Boolean(bits) => ValuesRef::Boolean(BitsRef::new(bits.as_slice(), 0, rows).unwrap_or_default()),
            Values::Byte(values) => ValuesRef::Byte(Cow::Borrowed(values)),
            Values::Short(values) => ValuesRef::Short(Cow::Borrowed(values)),
            Values::Int(values) => ValuesRef::Int(Cow::Borrowed(values)),
            Values::Long(values) => ValuesRef::Long(Cow::Borrowed(values)),
            Values::Float(values) => ValuesRef::Float(Cow::Borrowed(values)),
            Values::Double(values) => ValuesRef::Double(Cow::Borrowed(values)),
            Values::Symbol(symbol) => {
                let table = symbol.table.as_ref().unwrap_or(dictionary);
                let texts = TextRef { offsets: Cow::Borrowed(table.offsets()), bytes: Cow::Borrowed(table.text().as_bytes()) };
                ValuesRef::Symbol { keys: Cow::Borrowed(&symbol.keys), texts }
            }
            Values::Timestamp(values) => ValuesRef::Timestamp(Cow::Borrowed(values)),
            Values::Date(values) => ValuesRef::Date(Cow::Borrowed(values)),
            Values::Uuid(bytes) => ValuesRef::Uuid(Cow::Borrowed(bytes)),
            Values::Long256(bytes) => ValuesRef::Long256(Cow::Borrowed(bytes)),
            Values::Geohash { precision, values } => ValuesRef::Geohash { precision: *precision, values: values.as_i64() },
            Values::Varchar(text) => ValuesRef::Varchar(text.as_text_ref()),
            Values::TimestampNanos(values) => ValuesRef::TimestampNanos(Cow::Borrowed(values)),
            Values::DoubleArray(lists) => ValuesRef::DoubleArray(lists.as_lists_ref()),
            Values::LongArray(lists) => ValuesRef::LongArray(lists.as_lists_ref()),
            Values::Decimal64 { scale, values } => ValuesRef::Decimal64 { scale: *scale, values: Cow::Borrowed(values) },
            Values::Decimal128 { scale, values } => ValuesRef::Decimal128 { scale: *scale, values: Cow::Borrowed(values) },
            Values::Decimal256 { scale, values } => ValuesRef::Decimal256 { scale: *scale, values: Cow::Borrowed(values) },
            Values::Char(values) => ValuesRef::Char(Cow::Borrowed(values)),
            Values::Binary(text) => ValuesRef::Binary(text.as_text_ref()),
            Values::Ipv4(values) => ValuesRef::Ipv4(Cow::Borrowed(values)),
        };
        ColumnRef { validity: self.validity.as_ref().map(Validity::as_bits), values }
    }
}

impl Text {
    fn as_text_ref(&self) -> TextRef<'_> {
        TextRef { offsets: Cow::Borrowed(&self.offsets), bytes: Cow::Borrowed(&self.bytes) }
    }
}

impl<T: Copy> Lists<T> {
    fn as_lists_ref(&self) -> ListsRef<'_, T> {
        ListsRef { offsets: self.offsets.iter().map(|offsets| Cow::Borrowed(offsets.as_slice())).collect(), elements: Cow::Borrowed(&self.elements) }
    }
}

impl Geohash {
    fn as_i64(&self) -> Cow<'_, [i64]> {
        match self {
            Geohash::I8(values) => values.iter().map(|value| i64::from(*value)).collect(),
            Geohash::I16(values) => values.iter().map(|value| i64::from(*value)).collect(),
            Geohash::I32(values) => values.iter().map(|value| i64::from(*value)).collect(),
            Geohash::I64(values) => Cow::Borrowed(values),
        }
    }
}
