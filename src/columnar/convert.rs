//! Arrow arrays to what the encoder takes: borrowed where the buffers have the wire's form.

use std::borrow::Cow;
use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowDictionaryKeyType, ArrowPrimitiveType, Date32Type, Date64Type, Decimal32Type, Decimal64Type, Decimal128Type, Decimal256Type, Float32Type,
    Float64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType,
    TimestampSecondType, UInt8Type, UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, DictionaryArray, GenericByteArray, OffsetSizeTrait, downcast_dictionary_array};
use arrow_buffer::{ArrowNativeType, NullBuffer};
use arrow_schema::{DataType, Field, TimeUnit};

use super::error::ColumnarError;
use super::result_schema::geohash_bits;
use crate::wire::{BitsRef, ColumnRef, ColumnType, ListsRef, TextRef, ValuesRef};

/// Rows of an array on their way to the encoder.
struct Rows<'a, 'f> {
    array: &'a dyn Array,
    field: &'f Field,
    column_type: ColumnType,
    range: Range<usize>,
}

/// The rows `range` of an array whose field travels as `column_type`.
pub(super) fn column_ref<'a>(
    array: &'a dyn Array,
    field: &Field,
    column_type: ColumnType,
    range: Range<usize>,
) -> Result<ColumnRef<'a>, ColumnarError> {
    let rows = Rows { array, field, column_type, range };
    if array.data_type() != field.data_type() || rows.range.start > rows.range.end || rows.range.end > array.len() {
        return Err(rows.unsupported());
    }
    rows.convert()
}

const MILLIS_PER_DAY: i64 = 86_400_000;

impl<'a> Rows<'a, '_> {
    fn convert(&self) -> Result<ColumnRef<'a>, ColumnarError> {
        let values = match self.array.data_type() {
            DataType::Null => {
                let texts = TextRef { offsets: Cow::Owned(vec![0; self.range.len() + 1]), bytes: Cow::Borrowed(&[]) };
                let none = BitsRef::pack(self.range.clone().map(|_| false));
                return Ok(ColumnRef { validity: Some(none), values: ValuesRef::Varchar(texts) });
            }
            DataType::Dictionary(..) => return self.dictionary(),
            DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::Int64 if self.column_type == ColumnType::Geohash => self.geohash()?,
            DataType::Boolean if self.column_type == ColumnType::Int => {
                let bits = self.array.as_boolean().values();
                ValuesRef::Int(Cow::Owned(self.range.clone().map(|row| i32::from(bits.value(row))).collect()))
            }
            DataType::Int8 if self.column_type == ColumnType::Int => ValuesRef::Int(self.each::<Int8Type, _>(|value| Some(i32::from(value)))?),
            DataType::Int16 if self.column_type == ColumnType::Int => ValuesRef::Int(self.each::<Int16Type, _>(|value| Some(i32::from(value)))?),
            DataType::UInt8 if self.column_type == ColumnType::Int => ValuesRef::Int(self.each::<UInt8Type, _>(|value| Some(i32::from(value)))?),
            DataType::Boolean => {
                let bits = self.array.as_boolean().values();
                let bits = BitsRef::new(bits.values(), bits.offset() + self.range.start, self.range.len());
                ValuesRef::Boolean(bits.ok_or_else(|| self.unsupported())?)
            }
            DataType::Int8 => ValuesRef::Byte(self.slots::<Int8Type>()),
            DataType::Int16 => ValuesRef::Short(self.slots::<Int16Type>()),
            DataType::Int32 => ValuesRef::Int(self.slots::<Int32Type>()),
            DataType::Int64 => ValuesRef::Long(self.slots::<Int64Type>()),
            DataType::Float32 => ValuesRef::Float(self.slots::<Float32Type>()),
            DataType::Float64 => ValuesRef::Double(self.slots::<Float64Type>()),
            DataType::UInt8 => ValuesRef::Short(self.each::<UInt8Type, _>(|value| Some(i16::from(value)))?),
            DataType::UInt16 if self.column_type == ColumnType::Char => ValuesRef::Char(self.slots::<UInt16Type>()),
            DataType::UInt16 => ValuesRef::Int(self.each::<UInt16Type, _>(|value| Some(i32::from(value)))?),
            DataType::UInt32 if self.column_type == ColumnType::Ipv4 => ValuesRef::Ipv4(self.slots::<UInt32Type>()),
            DataType::UInt32 => ValuesRef::Long(self.each::<UInt32Type, _>(|value| Some(i64::from(value)))?),
            DataType::UInt64 => ValuesRef::Long(self.each::<UInt64Type, _>(|value| i64::try_from(value).ok())?),
            DataType::Timestamp(TimeUnit::Second, _) => {
                ValuesRef::Timestamp(self.each::<TimestampSecondType, _>(|seconds| seconds.checked_mul(1_000_000))?)
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) if self.column_type == ColumnType::Date => {
                ValuesRef::Date(self.slots::<TimestampMillisecondType>())
            }
            DataType::Timestamp(TimeUnit::Millisecond, _) => {
                ValuesRef::Timestamp(self.each::<TimestampMillisecondType, _>(|millis| millis.checked_mul(1_000))?)
            }
            DataType::Timestamp(TimeUnit::Microsecond, _) => ValuesRef::Timestamp(self.slots::<TimestampMicrosecondType>()),
            DataType::Timestamp(TimeUnit::Nanosecond, _) => ValuesRef::TimestampNanos(self.slots::<TimestampNanosecondType>()),
            DataType::Date32 => ValuesRef::Date(self.each::<Date32Type, _>(|days| Some(i64::from(days) * MILLIS_PER_DAY))?),
            DataType::Date64 => ValuesRef::Date(self.slots::<Date64Type>()),
            DataType::Decimal32(_, scale) => {
                ValuesRef::Decimal64 { scale: *scale as u8, values: self.each::<Decimal32Type, _>(|value| Some(i64::from(value)))? }
            }
            DataType::Decimal64(_, scale) => ValuesRef::Decimal64 { scale: *scale as u8, values: self.slots::<Decimal64Type>() },
            DataType::Decimal128(_, scale) => ValuesRef::Decimal128 { scale: *scale as u8, values: self.slots::<Decimal128Type>() },
            DataType::Decimal256(_, scale) => {
                // A 256-bit number is two of 128, the low one first, which is what the encoder takes.
                let halves = self.array.as_primitive::<Decimal256Type>().values().inner().typed_data::<i128>();
                let values = Cow::Borrowed(&halves[self.range.start * 2..self.range.end * 2]);
                ValuesRef::Decimal256 { scale: *scale as u8, values }
            }
            DataType::Utf8 => ValuesRef::Varchar(text(self.array.as_string::<i32>(), &self.range).ok_or_else(|| self.unsupported())?),
            DataType::LargeUtf8 => ValuesRef::Varchar(text(self.array.as_string::<i64>(), &self.range).ok_or_else(|| self.unsupported())?),
            DataType::Utf8View => {
                let views = self.array.as_string_view();
                ValuesRef::Varchar(gather(self.range.clone().map(|row| views.value(row).as_bytes())).ok_or_else(|| self.unsupported())?)
            }
            DataType::Binary => ValuesRef::Binary(text(self.array.as_binary::<i32>(), &self.range).ok_or_else(|| self.unsupported())?),
            DataType::LargeBinary => ValuesRef::Binary(text(self.array.as_binary::<i64>(), &self.range).ok_or_else(|| self.unsupported())?),
            DataType::BinaryView => {
                let views = self.array.as_binary_view();
                ValuesRef::Binary(gather(self.range.clone().map(|row| views.value(row))).ok_or_else(|| self.unsupported())?)
            }
            DataType::FixedSizeBinary(width) => self.fixed_binary(*width)?,
            DataType::List(_) if self.column_type == ColumnType::DoubleArray => ValuesRef::DoubleArray(self.lists::<Float64Type>(f64::NAN)?),
            // QuestDB's own null inside an array of LONG.
            DataType::List(_) => ValuesRef::LongArray(self.lists::<Int64Type>(i64::MIN)?),
            _ => return Err(self.unsupported()),
        };
        Ok(ColumnRef { validity: self.validity(self.array.nulls()), values })
    }

    fn unsupported(&self) -> ColumnarError {
        ColumnarError::Unsupported { column: self.field.name().clone(), data_type: self.array.data_type().to_string() }
    }

    fn out_of_range(&self, row: usize, value: String) -> ColumnarError {
        ColumnarError::OutOfRange { column: self.field.name().clone(), row, value, wire_type: self.column_type.name() }
    }

    fn validity(&self, nulls: Option<&'a NullBuffer>) -> Option<BitsRef<'a>> {
        let nulls = nulls.filter(|nulls| nulls.null_count() > 0)?;
        BitsRef::new(nulls.validity(), nulls.offset() + self.range.start, self.range.len())
    }

    /// The values as they lie.
    fn slots<T: ArrowPrimitiveType>(&self) -> Cow<'a, [T::Native]> {
        Cow::Borrowed(&self.array.as_primitive::<T>().values()[self.range.clone()])
    }

    /// Each value converted; what stands in null slots is not looked at.
    fn each<T: ArrowPrimitiveType, U: Copy + Default>(&self, convert: impl Fn(T::Native) -> Option<U>) -> Result<Cow<'a, [U]>, ColumnarError> {
        let array = self.array.as_primitive::<T>();
        let values = self.range.clone().map(|row| {
            if array.is_null(row) {
                return Ok(U::default());
            }
            let value = array.value(row);
            convert(value).ok_or_else(|| self.out_of_range(row, format!("{value:?}")))
        });
        Ok(Cow::Owned(values.collect::<Result<Vec<U>, _>>()?))
    }

    fn geohash(&self) -> Result<ValuesRef<'a>, ColumnarError> {
        let precision = geohash_bits(self.field).ok_or_else(|| self.unsupported())?;
        let bits = |value: i64| (value >> precision == 0).then_some(value);
        let values = match self.array.data_type() {
            DataType::Int8 => self.each::<Int8Type, _>(|value| bits(i64::from(value)))?,
            DataType::Int16 => self.each::<Int16Type, _>(|value| bits(i64::from(value)))?,
            DataType::Int32 => self.each::<Int32Type, _>(|value| bits(i64::from(value)))?,
            _ => self.each::<Int64Type, _>(bits)?,
        };
        Ok(ValuesRef::Geohash { precision, values })
    }

    fn fixed_binary(&self, width: i32) -> Result<ValuesRef<'a>, ColumnarError> {
        let width = usize::try_from(width).map_err(|_| self.unsupported())?;
        let bytes = self.array.as_fixed_size_binary().value_data();
        let bytes = bytes.get(self.range.start * width..self.range.end * width).ok_or_else(|| self.unsupported())?;
        Ok(match self.column_type {
            ColumnType::Uuid => ValuesRef::Uuid(Cow::Borrowed(bytes)),
            ColumnType::Long256 => ValuesRef::Long256(Cow::Borrowed(bytes)),
            _ => {
                let offsets = (0..=self.range.len()).map(|row| i32::try_from(row * width).map_err(|_| self.unsupported()));
                let offsets = Cow::Owned(offsets.collect::<Result<Vec<i32>, _>>()?);
                ValuesRef::Binary(TextRef { offsets, bytes: Cow::Borrowed(bytes) })
            }
        })
    }

    fn dictionary(&self) -> Result<ColumnRef<'a>, ColumnarError> {
        let array = self.array;
        downcast_dictionary_array!(
            array => self.symbols(array),
            _ => Err(self.unsupported())
        )
    }

    fn symbols<K: ArrowDictionaryKeyType>(&self, array: &'a DictionaryArray<K>) -> Result<ColumnRef<'a>, ColumnarError> {
        let keys = array.keys();
        let values = array.values();
        let validity = match values.nulls().filter(|nulls| nulls.null_count() > 0) {
            None => self.validity(keys.nulls()),
            // A key may point at a null.
            Some(nulls) => Some(BitsRef::pack(self.range.clone().map(|row| keys.is_valid(row) && nulls.is_valid(keys.value(row).as_usize())))),
        };
        let keys = if K::DATA_TYPE == DataType::UInt32 {
            Cow::Borrowed(&keys.values().inner().typed_data::<u32>()[self.range.clone()])
        } else {
            // A null slot may hold any key; it is not looked at.
            Cow::Owned(keys.values()[self.range.clone()].iter().map(|key| u32::try_from(key.as_usize()).unwrap_or(0)).collect())
        };
        let all = 0..values.len();
        let texts = match values.data_type() {
            DataType::Utf8 => text(values.as_string::<i32>(), &all),
            DataType::LargeUtf8 => text(values.as_string::<i64>(), &all),
            DataType::Utf8View => gather(all.map(|entry| values.as_string_view().value(entry).as_bytes())),
            _ => None,
        };
        let texts = texts.ok_or_else(|| self.unsupported())?;
        Ok(ColumnRef { validity, values: ValuesRef::Symbol { keys, texts } })
    }

    /// Nested lists down to elements of `T`; a null element becomes `none`, a null list inside an array is refused.
    fn lists<T: ArrowPrimitiveType>(&self, none: T::Native) -> Result<ListsRef<'a, T::Native>, ColumnarError> {
        let mut list = self.array.as_list::<i32>();
        let mut offsets: Vec<Cow<'a, [i32]>> = vec![Cow::Borrowed(&list.value_offsets()[self.range.start..=self.range.end])];
        while let Some(inner) = list.values().as_list_opt::<i32>() {
            self.refuse_null_lists(&offsets, inner)?;
            offsets.push(Cow::Borrowed(inner.value_offsets()));
            list = inner;
        }
        let elements = list.values().as_primitive_opt::<T>().ok_or_else(|| self.unsupported())?;
        if elements.null_count() == 0 {
            return Ok(ListsRef { offsets, elements: Cow::Borrowed(elements.values()) });
        }
        // Only the elements of these rows are copied, so the last offsets move with them.
        let (from, to) = span(&offsets);
        let elements = (from..to).map(|at| if elements.is_null(at) { none } else { elements.value(at) }).collect();
        if let Some(last) = offsets.last_mut() {
            let moved = last.iter().map(|offset| offset.saturating_sub(i32::try_from(from).unwrap_or(i32::MAX)));
            *last = Cow::Owned(moved.collect());
        }
        Ok(ListsRef { offsets, elements: Cow::Owned(elements) })
    }

    fn refuse_null_lists(&self, offsets: &[Cow<'a, [i32]>], inner: &dyn Array) -> Result<(), ColumnarError> {
        if inner.null_count() == 0 {
            return Ok(());
        }
        for (row, place) in self.range.clone().enumerate() {
            let (from, to) = descend(offsets, row, row + 1);
            if self.array.is_valid(place) && (from..to).any(|list| inner.is_null(list)) {
                return Err(ColumnarError::Ragged { column: self.field.name().clone(), row: place });
            }
        }
        Ok(())
    }
}

/// Where the lists `from..to` of the outermost level end up below the last one.
fn descend(offsets: &[Cow<'_, [i32]>], from: usize, to: usize) -> (usize, usize) {
    offsets.iter().fold((from, to), |(from, to), level| (level[from].as_usize(), level[to].as_usize()))
}

/// The same for all rows.
fn span(offsets: &[Cow<'_, [i32]>]) -> (usize, usize) {
    descend(offsets, 0, offsets.first().map_or(0, |rows| rows.len().saturating_sub(1)))
}

/// Texts as they lie; 64-bit offsets are rebased. `None` when the rows hold more than 2 GiB.
fn text<'a, T: arrow_array::types::ByteArrayType>(array: &'a GenericByteArray<T>, range: &Range<usize>) -> Option<TextRef<'a>> {
    let offsets = &array.value_offsets()[range.start..=range.end];
    if !T::Offset::IS_LARGE {
        let offsets = array.offsets().inner().inner().typed_data::<i32>();
        return Some(TextRef { offsets: Cow::Borrowed(&offsets[range.start..=range.end]), bytes: Cow::Borrowed(array.value_data()) });
    }
    let (first, last) = (offsets.first()?.as_usize(), offsets.last()?.as_usize());
    let rebased = offsets.iter().map(|offset| i32::try_from(offset.as_usize() - first).ok());
    let offsets = Cow::Owned(rebased.collect::<Option<Vec<i32>>>()?);
    Some(TextRef { offsets, bytes: Cow::Borrowed(array.value_data().get(first..last)?) })
}

/// Texts copied one behind the other. `None` past 2 GiB.
fn gather<'t>(texts: impl Iterator<Item = &'t [u8]>) -> Option<TextRef<'static>> {
    let mut offsets = vec![0];
    let mut bytes = Vec::new();
    for text in texts {
        bytes.extend_from_slice(text);
        offsets.push(i32::try_from(bytes.len()).ok()?);
    }
    Some(TextRef { offsets: Cow::Owned(offsets), bytes: Cow::Owned(bytes) })
}
