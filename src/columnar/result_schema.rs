//! Arrow fields to wire columns.

use std::ops::Range;

use arrow_array::RecordBatch;
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::error::ColumnarError;
use super::{convert, metadata};
use crate::wire::{ColumnRef, ColumnSchema, ColumnType};

/// How the columns of an Arrow schema travel.
///
/// ```text
///  Boolean, Int8..Int64, Float32/64     BOOLEAN, BYTE, SHORT, INT, LONG, FLOAT, DOUBLE (an integer marked as geohash: GEOHASH)
///  UInt8, UInt16, UInt32, UInt64        SHORT, INT (marked: CHAR), LONG (marked: IPV4), LONG (a value over i64 is an error)
///  Utf8, LargeUtf8, Utf8View, Null      VARCHAR
///  Binary, LargeBinary, BinaryView      BINARY; so FixedSizeBinary(n), but (16) marked as arrow.uuid: UUID, (32) marked: LONG256
///  Dictionary of a text                 SYMBOL
///  Timestamp s, ms, µs / ns             TIMESTAMP / TIMESTAMP_NANOS (ms marked as date: DATE); Date32, Date64: DATE
///  Decimal32, 64 / 128 / 256            DECIMAL64 / DECIMAL128 / DECIMAL256
///  List of … of Float64 / Int64         DOUBLE_ARRAY / LONG_ARRAY
///
///  Boolean, Int8, Int16, UInt8, where the field may be null     INT (true is 1): the first four types have no null on the wire, and
///                                                               QuestDB's Rust and Python clients end the stream at one
///  Struct, Map, Union, Interval, lists of anything else,        refused by name: select the fields, or cast
///  decimals of negative scale
/// ```
/// The store first brings what else its engine can produce (times of day, durations, other lists, half floats, run ends, dictionaries of
/// numbers) to one of these: see `server::flatten`.
///
/// A client gets from the wire (the inverse is [`super::Assembler`]): Boolean, Int8, Int16, Int32, Int64, Float32, Float64, Utf8, Binary,
/// Dictionary(UInt32, Utf8), Timestamp(ms, µs or ns, UTC), Decimal64(18, s), Decimal128(38, s), Decimal256(76, s), List of … of Float64 or
/// Int64, UInt16 (CHAR), UInt32 (IPV4), FixedSizeBinary(16) and (32), and integers for GEOHASH.
///
/// "Marked" is [`metadata::COLUMN_TYPE`]. A time zone is dropped: Arrow's values are UTC instants whatever zone they are shown in.
#[derive(Debug, Clone)]
pub struct ResultSchema {
    arrow: SchemaRef,
    columns: Vec<ColumnSchema>,
}

impl ResultSchema {
    /// Finds the wire type of every field.
    ///
    /// # Errors
    /// [`ColumnarError::Unsupported`] names the first field that has none.
    pub fn new(schema: SchemaRef) -> Result<ResultSchema, ColumnarError> {
        let columns = schema.fields().iter().map(|field| {
            let column_type = wire_type(field)
                .ok_or_else(|| ColumnarError::Unsupported { column: field.name().clone(), data_type: field.data_type().to_string() })?;
            Ok(ColumnSchema { name: field.name().clone(), column_type })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        Ok(ResultSchema { arrow: schema, columns })
    }

    /// The columns as batch 0 announces them.
    #[must_use]
    pub fn columns(&self) -> &[ColumnSchema] {
        &self.columns
    }

    /// The Arrow schema that this was made from.
    #[must_use]
    pub fn arrow(&self) -> &SchemaRef {
        &self.arrow
    }

    /// The rows of a batch of this schema as the encoder takes them.
    ///
    /// # Errors
    /// [`ColumnarError::OutOfRange`] and [`ColumnarError::Ragged`] name the row; [`ColumnarError::Unsupported`] when the batch does not
    /// have the schema.
    pub fn column_refs<'a>(&self, batch: &'a RecordBatch, rows: Range<usize>) -> Result<Vec<ColumnRef<'a>>, ColumnarError> {
        let fields = self.arrow.fields().iter().zip(&self.columns).zip(batch.columns());
        fields.map(|((field, column), array)| convert::column_ref(array.as_ref(), field, column.column_type, rows.clone())).collect()
    }

    pub(super) fn empty_batch(&self) -> RecordBatch {
        RecordBatch::new_empty(std::sync::Arc::new(Schema::new(self.arrow.fields().clone())))
    }
}

/// Whether a field says that it came from this wire type.
pub(super) fn marked(field: &Field, column_type: ColumnType) -> bool {
    field.metadata().get(metadata::COLUMN_TYPE).is_some_and(|name| name == column_type.name())
}

/// Bits of a geohash field: 1 to 60, and no more than its integer holds without a sign.
pub(super) fn geohash_bits(field: &Field) -> Option<u8> {
    if !marked(field, ColumnType::Geohash) {
        return None;
    }
    let bits: u8 = field.metadata().get(metadata::GEOHASH_BITS)?.parse().ok()?;
    let most = match field.data_type() {
        DataType::Int8 => 7,
        DataType::Int16 => 15,
        DataType::Int32 => 31,
        DataType::Int64 => 60,
        _ => return None,
    };
    (1..=most).contains(&bits).then_some(bits)
}

fn wire_type(field: &Field) -> Option<ColumnType> {
    if geohash_bits(field).is_some() {
        return Some(ColumnType::Geohash);
    }
    // These have no null on the wire. A column that came from one of them has none either, whatever its field says.
    let never_null = |narrow| if field.is_nullable() && !marked(field, narrow) { Some(ColumnType::Int) } else { Some(narrow) };
    let scale_within = |scale: &i8, max: i8, column_type| (0..=max).contains(scale).then_some(column_type);
    match field.data_type() {
        DataType::Boolean => never_null(ColumnType::Boolean),
        DataType::Int8 => never_null(ColumnType::Byte),
        DataType::Int16 | DataType::UInt8 => never_null(ColumnType::Short),
        DataType::UInt16 if marked(field, ColumnType::Char) => Some(ColumnType::Char),
        DataType::Int32 | DataType::UInt16 => Some(ColumnType::Int),
        DataType::UInt32 if marked(field, ColumnType::Ipv4) => Some(ColumnType::Ipv4),
        DataType::Int64 | DataType::UInt32 | DataType::UInt64 => Some(ColumnType::Long),
        DataType::Float32 => Some(ColumnType::Float),
        DataType::Float64 => Some(ColumnType::Double),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => Some(ColumnType::Varchar),
        DataType::FixedSizeBinary(16) if field.metadata().get(metadata::EXTENSION).is_some_and(|name| name == metadata::EXTENSION_UUID) => {
            Some(ColumnType::Uuid)
        }
        DataType::FixedSizeBinary(32) if marked(field, ColumnType::Long256) => Some(ColumnType::Long256),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView | DataType::FixedSizeBinary(_) => Some(ColumnType::Binary),
        DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => Some(ColumnType::Symbol),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => Some(ColumnType::TimestampNanos),
        DataType::Timestamp(TimeUnit::Millisecond, _) if marked(field, ColumnType::Date) => Some(ColumnType::Date),
        DataType::Timestamp(..) => Some(ColumnType::Timestamp),
        DataType::Date32 | DataType::Date64 => Some(ColumnType::Date),
        DataType::Decimal32(_, scale) | DataType::Decimal64(_, scale) => scale_within(scale, 18, ColumnType::Decimal64),
        DataType::Decimal128(_, scale) => scale_within(scale, 38, ColumnType::Decimal128),
        DataType::Decimal256(_, scale) => scale_within(scale, 76, ColumnType::Decimal256),
        DataType::List(item) => {
            let mut item = item;
            let mut dimensions = 1;
            while let DataType::List(inner) = item.data_type() {
                item = inner;
                dimensions += 1;
            }
            match item.data_type() {
                DataType::Float64 if dimensions <= 32 => Some(ColumnType::DoubleArray),
                DataType::Int64 if dimensions <= 32 => Some(ColumnType::LongArray),
                _ => None,
            }
        }
        _ => None,
    }
}
