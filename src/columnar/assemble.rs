//! Decoded batches to record batches.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{
    ArrowPrimitiveType, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, UInt16Type, UInt32Type,
};
use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, DictionaryArray, FixedSizeBinaryArray, ListArray, PrimitiveArray, RecordBatch, RecordBatchOptions,
    StringArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer, i256};
use arrow_schema::{ArrowError, DataType, Field, Schema, SchemaRef, TimeUnit};

use super::error::ColumnarError;
use super::metadata;
use crate::wire::{Batch, Column, ColumnSchema, ColumnType, Dictionary, Geohash, Lists, Symbols, Text, Values};

/// Turns the batches of one connection into record batches, in the order in which they were decoded.
///
/// All record batches of a result have one schema, with one exception: while no row of an array column has told its dimensions, the
/// column has one dimension and is marked as [`metadata::ARRAY_DIMENSIONS_TENTATIVE`]; the schema is made anew when a row tells.
/// [`Assembler::expect_dimensions`] avoids that.
#[derive(Debug, Default)]
pub struct Assembler {
    result: Option<ResultState>,
    symbols: Option<SharedSymbols>,
    declared: HashMap<String, u8>,
}

/// What the batches of a result must agree on.
#[derive(Debug)]
struct ResultState {
    wire: Arc<[ColumnSchema]>,
    shapes: Vec<Shape>,
    schema: SchemaRef,
}

/// What a column's type does not say: it stands in each batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Shape {
    Plain,
    Scale(u8),
    Precision(u8),
    /// 0 when not known.
    Dimensions(u8),
}

/// The connection's dictionary as one values array, for as long as nothing was added to it.
#[derive(Debug)]
struct SharedSymbols {
    epoch: u64,
    length: usize,
    values: ArrayRef,
}

impl Assembler {
    /// For a connection that was just opened.
    #[must_use]
    pub fn new() -> Assembler {
        Assembler::default()
    }

    /// The next result's array column `column` has that many dimensions, as the catalogue says (`DOUBLE[][]` = 2).
    pub fn expect_dimensions(&mut self, column: &str, dimensions: u8) {
        self.declared.insert(column.to_owned(), dimensions);
        self.result = None;
    }

    /// Turns a batch into a record batch. `dictionary` is the decoder's, before its next message.
    ///
    /// # Errors
    /// [`ColumnarError::Drift`] when a column changed since the batch before; [`ColumnarError::Arrow`] when Arrow refuses a column.
    pub fn assemble(&mut self, batch: Batch, dictionary: &Dictionary) -> Result<RecordBatch, ColumnarError> {
        let result = match self.result.take() {
            Some(result) if Arc::ptr_eq(&result.wire, &batch.schema) => agree(result, &batch)?,
            _ => {
                let declared = |schema: &ColumnSchema| self.declared.get(&schema.name).copied().unwrap_or(0);
                let shapes = batch.schema.iter().zip(&batch.columns).map(|(schema, column)| match shape(&column.values) {
                    Shape::Dimensions(0) => Shape::Dimensions(declared(schema)),
                    known => known,
                });
                let shapes: Vec<Shape> = shapes.collect();
                let schema = arrow_schema(&batch.schema, &shapes);
                ResultState { wire: Arc::clone(&batch.schema), shapes, schema }
            }
        };
        let rows = batch.rows;
        let mut columns = Vec::with_capacity(batch.columns.len());
        for ((column, shape), schema) in batch.columns.into_iter().zip(&result.shapes).zip(batch.schema.iter()) {
            let array = self.array(column, *shape, rows, dictionary);
            columns.push(array.map_err(|source| ColumnarError::Arrow { column: Some(schema.name.clone()), source })?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let assembled = RecordBatch::try_new_with_options(Arc::clone(&result.schema), columns, &options);
        self.result = Some(result);
        assembled.map_err(|source| ColumnarError::Arrow { column: None, source })
    }

    fn array(&mut self, column: Column, shape: Shape, rows: usize, dictionary: &Dictionary) -> Result<ArrayRef, ArrowError> {
        let nulls = column.validity.map(|validity| NullBuffer::new(BooleanBuffer::new(Buffer::from_vec(validity.into_bits()), 0, rows)));
        Ok(match column.values {
            Values::Boolean(bits) => Arc::new(BooleanArray::new(BooleanBuffer::new(Buffer::from_vec(bits), 0, rows), nulls)),
            Values::Byte(values) => primitive::<Int8Type>(values, nulls)?,
            Values::Short(values) => primitive::<Int16Type>(values, nulls)?,
            Values::Int(values) => primitive::<Int32Type>(values, nulls)?,
            Values::Long(values) => primitive::<Int64Type>(values, nulls)?,
            Values::Float(values) => primitive::<Float32Type>(values, nulls)?,
            Values::Double(values) => primitive::<Float64Type>(values, nulls)?,
            Values::Char(values) => primitive::<UInt16Type>(values, nulls)?,
            Values::Ipv4(values) => primitive::<UInt32Type>(values, nulls)?,
            Values::Symbol(symbol) => {
                let values = match &symbol.table {
                    Some(table) => string_array(table)?,
                    None => self.shared_symbols(dictionary)?,
                };
                let keys = PrimitiveArray::<UInt32Type>::try_new(symbol.keys.into(), nulls)?;
                Arc::new(DictionaryArray::try_new(keys, values)?)
            }
            Values::Timestamp(values) => Arc::new(PrimitiveArray::<TimestampMicrosecondType>::try_new(values.into(), nulls)?.with_timezone("UTC")),
            Values::Date(values) => Arc::new(PrimitiveArray::<TimestampMillisecondType>::try_new(values.into(), nulls)?.with_timezone("UTC")),
            Values::TimestampNanos(values) => {
                Arc::new(PrimitiveArray::<TimestampNanosecondType>::try_new(values.into(), nulls)?.with_timezone("UTC"))
            }
            Values::Uuid(bytes) => Arc::new(FixedSizeBinaryArray::try_new_with_len(16, Buffer::from_vec(bytes), nulls, rows)?),
            Values::Long256(bytes) => Arc::new(FixedSizeBinaryArray::try_new_with_len(32, Buffer::from_vec(bytes), nulls, rows)?),
            Values::Geohash { values, .. } => match values {
                Geohash::I8(values) => primitive::<Int8Type>(values, nulls)?,
                Geohash::I16(values) => primitive::<Int16Type>(values, nulls)?,
                Geohash::I32(values) => primitive::<Int32Type>(values, nulls)?,
                Geohash::I64(values) => primitive::<Int64Type>(values, nulls)?,
            },
            Values::Varchar(Text { offsets, bytes }) => Arc::new(StringArray::try_new(offset_buffer(offsets), Buffer::from_vec(bytes), nulls)?),
            Values::Binary(Text { offsets, bytes }) => Arc::new(BinaryArray::try_new(offset_buffer(offsets), Buffer::from_vec(bytes), nulls)?),
            Values::DoubleArray(lists) => nested::<Float64Type>(lists, shape, nulls)?,
            Values::LongArray(lists) => nested::<Int64Type>(lists, shape, nulls)?,
            Values::Decimal64 { scale, values } => {
                Arc::new(PrimitiveArray::<Decimal64Type>::try_new(values.into(), nulls)?.with_precision_and_scale(18, scale as i8)?)
            }
            Values::Decimal128 { scale, values } => {
                Arc::new(PrimitiveArray::<Decimal128Type>::try_new(values.into(), nulls)?.with_precision_and_scale(38, scale as i8)?)
            }
            Values::Decimal256 { scale, values } => {
                // Two halves, the low one first, are Arrow's own layout on the little-endian machines that this runs on.
                let values = ScalarBuffer::<i256>::new(Buffer::from_vec(values), 0, rows);
                Arc::new(PrimitiveArray::<Decimal256Type>::try_new(values, nulls)?.with_precision_and_scale(76, scale as i8)?)
            }
        })
    }

    /// The dictionary's texts, the same array until the dictionary changes. Batches handed out before keep theirs.
    fn shared_symbols(&mut self, dictionary: &Dictionary) -> Result<ArrayRef, ArrowError> {
        let (epoch, length) = (dictionary.epoch(), dictionary.symbols().len());
        if let Some(shared) = &self.symbols
            && (shared.epoch, shared.length) == (epoch, length)
        {
            return Ok(Arc::clone(&shared.values));
        }
        let values = string_array(dictionary.symbols())?;
        self.symbols = Some(SharedSymbols { epoch, length, values: Arc::clone(&values) });
        Ok(values)
    }
}

/// Holds a later batch against the result's schema; only what was not known may be told now.
fn agree(mut result: ResultState, batch: &Batch) -> Result<ResultState, ColumnarError> {
    let mut told = false;
    for ((known, column), schema) in result.shapes.iter_mut().zip(&batch.columns).zip(batch.schema.iter()) {
        let (what, expected, got) = match (*known, shape(&column.values)) {
            (Shape::Dimensions(_), Shape::Dimensions(0)) => continue,
            (Shape::Dimensions(0), dimensions) => {
                *known = dimensions;
                told = true;
                continue;
            }
            (Shape::Dimensions(expected), Shape::Dimensions(got)) => ("array dimensions", expected, got),
            (Shape::Scale(expected), Shape::Scale(got)) => ("decimal scale", expected, got),
            (Shape::Precision(expected), Shape::Precision(got)) => ("geohash precision", expected, got),
            _ => continue,
        };
        if expected != got {
            return Err(ColumnarError::Drift { column: schema.name.clone(), batch: batch.sequence, what, expected, got });
        }
    }
    if told {
        result.schema = arrow_schema(&result.wire, &result.shapes);
    }
    Ok(result)
}

fn shape(values: &Values) -> Shape {
    match values {
        Values::Geohash { precision, .. } => Shape::Precision(*precision),
        Values::Decimal64 { scale, .. } | Values::Decimal128 { scale, .. } | Values::Decimal256 { scale, .. } => Shape::Scale(*scale),
        Values::DoubleArray(lists) => Shape::Dimensions(lists.dimensions),
        Values::LongArray(lists) => Shape::Dimensions(lists.dimensions),
        _ => Shape::Plain,
    }
}

fn arrow_schema(columns: &[ColumnSchema], shapes: &[Shape]) -> SchemaRef {
    let fields = columns.iter().zip(shapes).map(|(column, shape)| field(column, *shape));
    Arc::new(Schema::new(fields.collect::<Vec<Field>>()))
}

fn field(column: &ColumnSchema, shape: Shape) -> Field {
    let entry = |key: &str, value: &str| (key.to_owned(), value.to_owned());
    let mut extra = vec![entry(metadata::COLUMN_TYPE, column.column_type.name())];
    let scale = match shape {
        Shape::Scale(scale) => scale as i8,
        _ => 0,
    };
    let time = |unit| DataType::Timestamp(unit, Some("UTC".into()));
    let data_type = match column.column_type {
        ColumnType::Boolean => DataType::Boolean,
        ColumnType::Byte => DataType::Int8,
        ColumnType::Short => DataType::Int16,
        ColumnType::Int => DataType::Int32,
        ColumnType::Long => DataType::Int64,
        ColumnType::Float => DataType::Float32,
        ColumnType::Double => DataType::Float64,
        ColumnType::Symbol => {
            extra.push(entry(metadata::SYMBOL, "true"));
            DataType::Dictionary(Box::new(DataType::UInt32), Box::new(DataType::Utf8))
        }
        ColumnType::Timestamp => time(TimeUnit::Microsecond),
        ColumnType::Date => time(TimeUnit::Millisecond),
        ColumnType::TimestampNanos => time(TimeUnit::Nanosecond),
        ColumnType::Uuid => {
            extra.push(entry(metadata::EXTENSION, metadata::EXTENSION_UUID));
            DataType::FixedSizeBinary(16)
        }
        ColumnType::Long256 => DataType::FixedSizeBinary(32),
        ColumnType::Geohash => {
            let Shape::Precision(bits) = shape else {
                return Field::new(&column.name, DataType::Int64, true);
            };
            extra.push(entry(metadata::GEOHASH_BITS, &bits.to_string()));
            match bits {
                ..8 => DataType::Int8,
                8..16 => DataType::Int16,
                16..32 => DataType::Int32,
                _ => DataType::Int64,
            }
        }
        ColumnType::Varchar => DataType::Utf8,
        ColumnType::Binary => DataType::Binary,
        ColumnType::DoubleArray | ColumnType::LongArray => {
            let told = match shape {
                Shape::Dimensions(told) => told,
                _ => 0,
            };
            extra.push(entry(metadata::ARRAY_DIMENSIONS, &told.max(1).to_string()));
            if told == 0 {
                extra.push(entry(metadata::ARRAY_DIMENSIONS_TENTATIVE, "true"));
            }
            let element = if column.column_type == ColumnType::DoubleArray { DataType::Float64 } else { DataType::Int64 };
            (0..told.max(1)).fold(element, |inner, _| DataType::List(item(inner)))
        }
        ColumnType::Decimal64 => DataType::Decimal64(18, scale),
        ColumnType::Decimal128 => DataType::Decimal128(38, scale),
        ColumnType::Decimal256 => DataType::Decimal256(76, scale),
        ColumnType::Char => DataType::UInt16,
        ColumnType::Ipv4 => DataType::UInt32,
    };
    Field::new(&column.name, data_type, true).with_metadata(extra.into_iter().collect())
}

fn item(data_type: DataType) -> Arc<Field> {
    Arc::new(Field::new("item", data_type, true))
}

fn primitive<T: ArrowPrimitiveType>(values: Vec<T::Native>, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(PrimitiveArray::<T>::try_new(values.into(), nulls)?))
}

/// The decoder has found the offsets to start at 0 and never to decrease.
fn offset_buffer(offsets: Vec<i32>) -> OffsetBuffer<i32> {
    OffsetBuffer::new(offsets.into())
}

fn string_array(symbols: &Symbols) -> Result<ArrayRef, ArrowError> {
    let text = Buffer::from_slice_ref(symbols.text().as_bytes());
    Ok(Arc::new(StringArray::try_new(offset_buffer(symbols.offsets().to_vec()), text, None)?))
}

fn nested<T: ArrowPrimitiveType>(mut lists: Lists<T::Native>, shape: Shape, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError>
where
    T::Native: ArrowNativeType,
{
    let dimensions = match shape {
        Shape::Dimensions(told) => usize::from(told.max(1)),
        _ => 1,
    };
    // Known from elsewhere, and no row here holds an array: the levels below are empty.
    lists.offsets.resize(dimensions, vec![0]);
    let mut array: ArrayRef = Arc::new(PrimitiveArray::<T>::try_new(lists.elements.into(), None)?);
    let mut nulls = nulls;
    for (level, offsets) in lists.offsets.into_iter().enumerate().rev() {
        let of_rows = if level == 0 { nulls.take() } else { None };
        let field = item(array.data_type().clone());
        array = Arc::new(ListArray::try_new(field, offset_buffer(offsets), array, of_rows)?);
    }
    Ok(array)
}
