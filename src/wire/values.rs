//! Decoded columns: typed vectors with a slot per row, in the form that Arrow's buffers have.

use super::bits::Validity;
use super::dictionary::Symbols;
use super::schema::ColumnType;

/// A decoded column.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Which rows hold a value; `None` when all do.
    pub validity: Option<Validity>,
    /// The values of all rows. Slots of null rows are zero, false or empty.
    pub values: Values,
}

/// The values of a column: a variant per [`ColumnType`], a slot per row.
#[derive(Debug, Clone, PartialEq)]
pub enum Values {
    /// Bits, least significant first, padding zero.
    Boolean(Vec<u8>),
    /// BYTE.
    Byte(Vec<i8>),
    /// SHORT.
    Short(Vec<i16>),
    /// INT.
    Int(Vec<i32>),
    /// LONG.
    Long(Vec<i64>),
    /// FLOAT.
    Float(Vec<f32>),
    /// DOUBLE.
    Double(Vec<f64>),
    /// Dictionary ids.
    Symbol(SymbolKeys),
    /// Microseconds since 1970 UTC.
    Timestamp(Vec<i64>),
    /// Milliseconds since 1970 UTC.
    Date(Vec<i64>),
    /// 16 bytes a row in the order of RFC 4122 (the wire has them reversed).
    Uuid(Vec<u8>),
    /// 32 bytes a row, least significant first.
    Long256(Vec<u8>),
    /// GEOHASH.
    Geohash {
        /// Bits, 1 to 60.
        precision: u8,
        /// The bits as a number, in the smallest integer that holds them.
        values: Geohash,
    },
    /// UTF-8.
    Varchar(Text),
    /// Nanoseconds since 1970 UTC.
    TimestampNanos(Vec<i64>),
    /// Arrays of f64.
    DoubleArray(Lists<f64>),
    /// Arrays of i64.
    LongArray(Lists<i64>),
    /// DECIMAL64: mantissas.
    Decimal64 {
        /// Digits after the point, at most 18.
        scale: u8,
        /// Mantissas.
        values: Vec<i64>,
    },
    /// DECIMAL128: mantissas.
    Decimal128 {
        /// Digits after the point, at most 38.
        scale: u8,
        /// Mantissas.
        values: Vec<i128>,
    },
    /// DECIMAL256: mantissas, two numbers a row, the low 128 bits first.
    Decimal256 {
        /// Digits after the point, at most 76.
        scale: u8,
        /// Twice as many as rows.
        values: Vec<i128>,
    },
    /// One UTF-16 unit.
    Char(Vec<u16>),
    /// Any bytes.
    Binary(Text),
    /// Addresses as numbers.
    Ipv4(Vec<u32>),
}

/// Texts or byte strings one behind the other.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Text {
    /// Where each row starts, and at last the end: rows + 1, first 0, never decreasing.
    pub offsets: Vec<i32>,
    /// The bytes; whole UTF-8, cut between characters, in a VARCHAR column.
    pub bytes: Vec<u8>,
}

/// Symbol ids and what they point into.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SymbolKeys {
    /// An id per row, below the dictionary's length; 0 in null rows.
    pub keys: Vec<u32>,
    /// The column's own table, when the batch had no dictionary delta; else the ids are the connection's.
    pub table: Option<Symbols>,
}

/// Geohash bits, zero-extended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Geohash {
    /// 1 to 7 bits.
    I8(Vec<i8>),
    /// 8 to 15 bits.
    I16(Vec<i16>),
    /// 16 to 31 bits.
    I32(Vec<i32>),
    /// 32 to 60 bits.
    I64(Vec<i64>),
}

/// Rectangular arrays as nested lists.
#[derive(Debug, Clone, PartialEq)]
pub struct Lists<T> {
    /// Dimensions of every array here; 0 when no row holds one, so that nothing says how many there are.
    pub dimensions: u8,
    /// A level per dimension (one when not known), outermost first. The offsets of a level point into the next one, those of the last
    /// into `elements`. The first level has rows + 1 offsets.
    pub offsets: Vec<Vec<i32>>,
    /// Elements of all arrays, row-major. NaN and i64::MIN are ordinary here.
    pub elements: Vec<T>,
}

impl Values {
    /// The type that these values have on the wire.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        match self {
            Values::Boolean(_) => ColumnType::Boolean,
            Values::Byte(_) => ColumnType::Byte,
            Values::Short(_) => ColumnType::Short,
            Values::Int(_) => ColumnType::Int,
            Values::Long(_) => ColumnType::Long,
            Values::Float(_) => ColumnType::Float,
            Values::Double(_) => ColumnType::Double,
            Values::Symbol(_) => ColumnType::Symbol,
            Values::Timestamp(_) => ColumnType::Timestamp,
            Values::Date(_) => ColumnType::Date,
            Values::Uuid(_) => ColumnType::Uuid,
            Values::Long256(_) => ColumnType::Long256,
            Values::Geohash { .. } => ColumnType::Geohash,
            Values::Varchar(_) => ColumnType::Varchar,
            Values::TimestampNanos(_) => ColumnType::TimestampNanos,
            Values::DoubleArray(_) => ColumnType::DoubleArray,
            Values::LongArray(_) => ColumnType::LongArray,
            Values::Decimal64 { .. } => ColumnType::Decimal64,
            Values::Decimal128 { .. } => ColumnType::Decimal128,
            Values::Decimal256 { .. } => ColumnType::Decimal256,
            Values::Char(_) => ColumnType::Char,
            Values::Binary(_) => ColumnType::Binary,
            Values::Ipv4(_) => ColumnType::Ipv4,
        }
    }
}
