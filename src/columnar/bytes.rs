//! How many Arrow bytes a consumer was handed: the counter `arrowBytes`.

use std::collections::VecDeque;

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{Array, ArrayRef, GenericByteArray, GenericByteViewArray, OffsetSizeTrait, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

/// Dictionaries remembered: those of a connection's columns share one, so more are only met with other sources.
const REMEMBERED: usize = 64;

/// Counts the bytes of record batches by slice: validity where present, offsets, values and dictionary keys of the rows; the values of a
/// dictionary once, and when it grows only what was added.
#[derive(Debug, Default)]
pub struct ArrowByteCounter {
    dictionaries: VecDeque<ArrayRef>,
}

impl ArrowByteCounter {
    /// A counter that has seen nothing.
    #[must_use]
    pub fn new() -> ArrowByteCounter {
        ArrowByteCounter::default()
    }

    /// The bytes that this batch adds.
    pub fn add(&mut self, batch: &RecordBatch) -> u64 {
        batch.columns().iter().map(|column| self.array(column.as_ref(), 0, column.len())).sum()
    }

    fn array(&mut self, array: &dyn Array, from: usize, len: usize) -> u64 {
        let validity = if array.nulls().is_some() { len.div_ceil(8) as u64 } else { 0 };
        let items = len as u64;
        let values = match array.data_type() {
            DataType::Null => 0,
            DataType::Boolean => items.div_ceil(8),
            DataType::FixedSizeBinary(width) => items * u64::from(width.unsigned_abs()),
            DataType::Utf8 => byte_array(array.as_string::<i32>(), from, len),
            DataType::LargeUtf8 => byte_array(array.as_string::<i64>(), from, len),
            DataType::Binary => byte_array(array.as_binary::<i32>(), from, len),
            DataType::LargeBinary => byte_array(array.as_binary::<i64>(), from, len),
            DataType::Utf8View => view_array(array.as_string_view(), from, len),
            DataType::BinaryView => view_array(array.as_binary_view(), from, len),
            DataType::List(_) => self.list::<i32>(array, from, len),
            DataType::LargeList(_) => self.list::<i64>(array, from, len),
            DataType::Struct(_) => array.as_struct().columns().iter().map(|column| self.array(column.as_ref(), from, len)).sum(),
            DataType::Dictionary(key, _) => {
                let keys = items * key.primitive_width().unwrap_or(0) as u64;
                keys + array.as_any_dictionary_opt().map_or(0, |dictionary| self.dictionary(dictionary.values()))
            }
            other => items * other.primitive_width().unwrap_or(0) as u64,
        };
        validity + values
    }

    fn list<O: OffsetSizeTrait>(&mut self, array: &dyn Array, from: usize, len: usize) -> u64 {
        let list = array.as_list::<O>();
        let offsets = list.value_offsets();
        let start = offsets[from].as_usize();
        let end = offsets[from + len].as_usize();
        (len as u64 + 1) * size_of::<O>() as u64 + self.array(list.values().as_ref(), start, end - start)
    }

    /// Bytes of a dictionary's values that were not counted yet.
    fn dictionary(&mut self, values: &ArrayRef) -> u64 {
        let total = |array: &ArrayRef| ArrowByteCounter::new().array(array.as_ref(), 0, array.len());
        for seen in &mut self.dictionaries {
            if same_buffers(seen, values) {
                return 0;
            }
            if grew(seen, values) {
                let added = total(values).saturating_sub(total(seen));
                *seen = ArrayRef::clone(values);
                return added;
            }
        }
        if self.dictionaries.len() == REMEMBERED {
            self.dictionaries.pop_front();
        }
        self.dictionaries.push_back(ArrayRef::clone(values));
        total(values)
    }
}

fn same_buffers(a: &ArrayRef, b: &ArrayRef) -> bool {
    std::sync::Arc::ptr_eq(a, b) || a.to_data().ptr_eq(&b.to_data())
}

/// Whether `new` starts with all that `old` holds.
fn grew(old: &ArrayRef, new: &ArrayRef) -> bool {
    let (Some(old), Some(new)) = (old.as_string_opt::<i32>(), new.as_string_opt::<i32>()) else {
        return false;
    };
    let entries = old.len();
    if entries == 0 || new.len() < entries || old.nulls().is_some() || new.nulls().is_some() {
        return false;
    }
    let (old_offsets, new_offsets) = (&old.value_offsets()[..=entries], &new.value_offsets()[..=entries]);
    let moved = new_offsets[0] - old_offsets[0];
    let text = |array: &arrow_array::StringArray| {
        let offsets = array.value_offsets();
        array.values().slice_with_length(offsets[0].as_usize(), (offsets[entries] - offsets[0]).as_usize())
    };
    old_offsets.iter().zip(new_offsets).all(|(old, new)| new - old == moved) && text(old) == text(new)
}

fn byte_array<T: ByteArrayType>(array: &GenericByteArray<T>, from: usize, len: usize) -> u64 {
    let offsets = array.value_offsets();
    let bytes = offsets[from + len].as_usize() - offsets[from].as_usize();
    (len as u64 + 1) * size_of::<T::Offset>() as u64 + bytes as u64
}

fn view_array<T: ByteViewType + ?Sized>(array: &GenericByteViewArray<T>, from: usize, len: usize) -> u64 {
    // The low half of a view is its length; up to 12 bytes stand in the view itself.
    let outside = array.views()[from..from + len].iter().map(|view| u64::from(*view as u32)).filter(|length| *length > 12);
    len as u64 * 16 + outside.sum::<u64>()
}
