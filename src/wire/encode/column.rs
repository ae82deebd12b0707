//! Columns to bytes.

use super::super::bits::{BitsRef, pack};
use super::super::gorilla;
use super::super::schema::ColumnType;
use super::super::varint;
use super::{ColumnRef, EncodeError, ListsRef, TextRef, ValuesRef};

impl ValuesRef<'_> {
    /// The type that these values have on the wire.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        match self {
            ValuesRef::Boolean(_) => ColumnType::Boolean,
            ValuesRef::Byte(_) => ColumnType::Byte,
            ValuesRef::Short(_) => ColumnType::Short,
            ValuesRef::Int(_) => ColumnType::Int,
            ValuesRef::Long(_) => ColumnType::Long,
            ValuesRef::Float(_) => ColumnType::Float,
            ValuesRef::Double(_) => ColumnType::Double,
            ValuesRef::Symbol { .. } => ColumnType::Symbol,
            ValuesRef::Timestamp(_) => ColumnType::Timestamp,
            ValuesRef::Date(_) => ColumnType::Date,
            ValuesRef::Uuid(_) => ColumnType::Uuid,
            ValuesRef::Long256(_) => ColumnType::Long256,
            ValuesRef::Geohash { .. } => ColumnType::Geohash,
            ValuesRef::Varchar(_) => ColumnType::Varchar,
            ValuesRef::TimestampNanos(_) => ColumnType::TimestampNanos,
            ValuesRef::DoubleArray(_) => ColumnType::DoubleArray,
            ValuesRef::LongArray(_) => ColumnType::LongArray,
            ValuesRef::Decimal64 { .. } => ColumnType::Decimal64,
            ValuesRef::Decimal128 { .. } => ColumnType::Decimal128,
            ValuesRef::Decimal256 { .. } => ColumnType::Decimal256,
            ValuesRef::Char(_) => ColumnType::Char,
            ValuesRef::Binary(_) => ColumnType::Binary,
            ValuesRef::Ipv4(_) => ColumnType::Ipv4,
        }
    }

    /// Whether there is a slot for each of `rows`.
    pub(super) fn fits(&self, rows: usize) -> bool {
        let slots = |len: usize, per_row: usize| rows.checked_mul(per_row) == Some(len);
        match self {
            ValuesRef::Boolean(bits) => bits.len() == rows,
            ValuesRef::Byte(values) => slots(values.len(), 1),
            ValuesRef::Short(values) => slots(values.len(), 1),
            ValuesRef::Int(values) => slots(values.len(), 1),
            ValuesRef::Float(values) => slots(values.len(), 1),
            ValuesRef::Double(values) => slots(values.len(), 1),
            ValuesRef::Char(values) => slots(values.len(), 1),
            ValuesRef::Symbol { keys: values, .. } | ValuesRef::Ipv4(values) => slots(values.len(), 1),
            ValuesRef::Long(values)
            | ValuesRef::Timestamp(values)
            | ValuesRef::Date(values)
            | ValuesRef::TimestampNanos(values)
            | ValuesRef::Geohash { values, .. }
            | ValuesRef::Decimal64 { values, .. } => slots(values.len(), 1),
            ValuesRef::Decimal128 { values, .. } => slots(values.len(), 1),
            ValuesRef::Decimal256 { values, .. } => slots(values.len(), 2),
            ValuesRef::Uuid(bytes) => slots(bytes.len(), 16),
            ValuesRef::Long256(bytes) => slots(bytes.len(), 32),
            ValuesRef::Varchar(text) | ValuesRef::Binary(text) => rows.checked_add(1) == Some(text.offsets.len()),
            ValuesRef::DoubleArray(lists) => lists.offsets.first().map(|rows| rows.len()) == rows.checked_add(1),
            ValuesRef::LongArray(lists) => lists.offsets.first().map(|rows| rows.len()) == rows.checked_add(1),
        }
    }
}

impl TextRef<'_> {
    /// The bytes of one entry.
    pub(super) fn get(&self, index: usize) -> Option<&[u8]> {
        let from = usize::try_from(*self.offsets.get(index)?).ok()?;
        let to = usize::try_from(*self.offsets.get(index.checked_add(1)?)?).ok()?;
        self.bytes.get(from..to)
    }
}

/// Rows that hold a value.
#[derive(Clone, Copy)]
struct Rows<'a> {
    rows: usize,
    values: usize,
    validity: Option<&'a BitsRef<'a>>,
}

impl<'a> Rows<'a> {
    /// Writes the null part. A bitmap without a null is left out.
    fn write(out: &mut Vec<u8>, rows: usize, validity: Option<&'a BitsRef<'a>>) -> Rows<'a> {
        let values = validity.map_or(rows, |bits| bits.count_ones());
        if values == rows {
            out.push(0);
            return Rows { rows, values, validity: None };
        }
        out.push(1);
        if let Some(bits) = validity {
            pack(bits.iter().map(|valid| !valid), out);
        }
        Rows { rows, values, validity }
    }

    fn indices(self) -> impl Iterator<Item = usize> + use<'a> {
        (0..self.rows).filter(move |row| self.validity.is_none_or(|bits| bits.get(*row)))
    }

    /// The packed values of `slots`.
    fn packed<T: Copy>(self, slots: &[T]) -> Packed<'_, T, impl Iterator<Item = T>> {
        let validity = self.validity;
        let values = slots.iter().enumerate().filter(move |(row, _)| validity.is_none_or(|bits| bits.get(*row))).map(|(_, value)| *value);
        Packed { values, left: self.values, slots: std::marker::PhantomData }
    }

    /// Writes `N` bytes for each value.
    fn write_fixed<T: Copy, const N: usize>(self, out: &mut Vec<u8>, slots: &[T], bytes: impl Fn(T) -> [u8; N]) {
        let start = out.len();
        out.resize(start.saturating_add(self.values.saturating_mul(N)), 0);
        let (cells, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<N>();
        match self.validity {
            // Kept apart: without a branch per value this becomes a copy.
            None => cells.iter_mut().zip(slots).for_each(|(cell, value)| *cell = bytes(*value)),
            Some(_) => cells.iter_mut().zip(self.packed(slots)).for_each(|(cell, value)| *cell = bytes(value)),
        }
    }
}

/// An iterator that knows how many values are to come.
struct Packed<'a, T, I> {
    values: I,
    left: usize,
    slots: std::marker::PhantomData<&'a T>,
}

impl<T, I: Iterator<Item = T>> Iterator for Packed<'_, T, I> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        let value = self.values.next()?;
        self.left = self.left.saturating_sub(1);
        Some(value)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (self.left, Some(self.left))
    }
}

impl<T, I: Iterator<Item = T>> ExactSizeIterator for Packed<'_, T, I> {}

/// Appends a column. `ids` yields the translated ids of the symbol columns in order.
pub(super) fn write(
    out: &mut Vec<u8>,
    index: usize,
    column: &ColumnRef<'_>,
    row_count: usize,
    ids: &mut impl Iterator<Item = Vec<u32>>,
) -> Result<(), EncodeError> {
    let rows = Rows::write(out, row_count, column.validity.as_ref());
    let shape = || EncodeError::ColumnShape { column: index, rows: row_count };
    match &column.values {
        ValuesRef::Boolean(bits) => pack(rows.indices().map(|row| bits.get(row)), out),
        ValuesRef::Byte(values) => rows.write_fixed(out, values, i8::to_le_bytes),
        ValuesRef::Short(values) => rows.write_fixed(out, values, i16::to_le_bytes),
        ValuesRef::Int(values) => rows.write_fixed(out, values, i32::to_le_bytes),
        ValuesRef::Long(values) => rows.write_fixed(out, values, i64::to_le_bytes),
        ValuesRef::Float(values) => rows.write_fixed(out, values, f32::to_le_bytes),
        ValuesRef::Double(values) => rows.write_fixed(out, values, f64::to_le_bytes),
        ValuesRef::Char(values) => rows.write_fixed(out, values, u16::to_le_bytes),
        ValuesRef::Ipv4(values) => rows.write_fixed(out, values, u32::to_le_bytes),
        ValuesRef::Symbol { .. } => ids.next().ok_or_else(shape)?.into_iter().for_each(|id| varint::write(out, u64::from(id))),
        ValuesRef::Timestamp(values) | ValuesRef::Date(values) | ValuesRef::TimestampNanos(values) => {
            let encoding = out.len();
            out.push(1);
            if !gorilla::write(out, rows.packed(values)) {
                out.truncate(encoding);
                out.push(0);
                rows.write_fixed(out, values, i64::to_le_bytes);
            }
        }
        ValuesRef::Uuid(bytes) => {
            let (values, _) = bytes.as_chunks::<16>();
            rows.write_fixed(out, values, |mut bytes| {
                bytes.reverse();
                bytes
            });
        }
        ValuesRef::Long256(bytes) => rows.write_fixed(out, bytes.as_chunks::<32>().0, |bytes| bytes),
        ValuesRef::Geohash { precision, values } => {
            if !(1..=60).contains(precision) {
                return Err(EncodeError::Parameter { column: index, got: *precision });
            }
            out.push(*precision);
            let bytes = usize::from(precision.div_ceil(8));
            for value in rows.packed(values) {
                out.extend(value.to_le_bytes().into_iter().take(bytes));
            }
        }
        ValuesRef::Varchar(text) | ValuesRef::Binary(text) => write_text(out, text, rows).ok_or_else(shape)?,
        ValuesRef::DoubleArray(lists) => write_lists(out, index, lists, rows, row_count, f64::to_le_bytes)?,
        ValuesRef::LongArray(lists) => write_lists(out, index, lists, rows, row_count, i64::to_le_bytes)?,
        ValuesRef::Decimal64 { scale, values } => {
            write_scale(out, index, *scale, 18)?;
            rows.write_fixed(out, values, i64::to_le_bytes);
        }
        ValuesRef::Decimal128 { scale, values } => {
            write_scale(out, index, *scale, 38)?;
            rows.write_fixed(out, values, i128::to_le_bytes);
        }
        ValuesRef::Decimal256 { scale, values } => {
            write_scale(out, index, *scale, 76)?;
            let (pairs, _) = values.as_chunks::<2>();
            rows.write_fixed(out, pairs, |[low, high]| {
                let mut bytes = [0; 32];
                let halves = bytes.as_chunks_mut::<16>().0;
                for (half, value) in halves.iter_mut().zip([low, high]) {
                    *half = value.to_le_bytes();
                }
                bytes
            });
        }
    }
    Ok(())
}

fn write_scale(out: &mut Vec<u8>, column: usize, scale: u8, max: u8) -> Result<(), EncodeError> {
    if scale > max {
        return Err(EncodeError::Parameter { column, got: scale });
    }
    out.push(scale);
    Ok(())
}

fn write_text(out: &mut Vec<u8>, text: &TextRef<'_>, rows: Rows<'_>) -> Option<()> {
    let mut end = 0u32;
    out.extend_from_slice(&end.to_le_bytes());
    for row in rows.indices() {
        let length = u32::try_from(text.get(row)?.len()).ok()?;
        end = end.checked_add(length)?;
        out.extend_from_slice(&end.to_le_bytes());
    }
    if rows.validity.is_none() {
        // Rows lie one behind the other: one copy.
        let from = usize::try_from(*text.offsets.first()?).ok()?;
        let to = usize::try_from(*text.offsets.last()?).ok()?;
        out.extend_from_slice(text.bytes.get(from..to)?);
        return Some(());
    }
    for row in rows.indices() {
        out.extend_from_slice(text.get(row)?);
    }
    Some(())
}

fn write_lists<T: Copy>(
    out: &mut Vec<u8>,
    column: usize,
    lists: &ListsRef<'_, T>,
    rows: Rows<'_>,
    row_count: usize,
    bytes: impl Fn(T) -> [u8; 8],
) -> Result<(), EncodeError> {
    let dimensions = u8::try_from(lists.offsets.len()).ok().filter(|dimensions| (1..=32).contains(dimensions));
    let Some(dimensions) = dimensions else {
        return Err(EncodeError::Parameter { column, got: u8::try_from(lists.offsets.len()).unwrap_or(u8::MAX) });
    };
    let shape = || EncodeError::ColumnShape { column, rows: row_count };
    for row in rows.indices() {
        out.push(dimensions);
        // The lists of the level that belong to this row: one at first, then those that the level before points at.
        let (mut from, mut to) = (row, row.saturating_add(1));
        for offsets in &lists.offsets {
            let bounds = offsets.get(from..=to).ok_or_else(shape)?;
            let mut length = None;
            for pair in bounds.array_windows::<2>() {
                let [start, end] = pair;
                let here = end.checked_sub(*start).filter(|length| *length >= 0).ok_or_else(shape)?;
                if *length.get_or_insert(here) != here {
                    return Err(EncodeError::Ragged { column, row });
                }
            }
            // Without a list there is none whose length could be told.
            out.extend_from_slice(&length.unwrap_or(0).to_le_bytes());
            let place = |offset: Option<&i32>| offset.and_then(|offset| usize::try_from(*offset).ok()).ok_or_else(shape);
            (from, to) = (place(bounds.first())?, place(bounds.last())?);
        }
        let elements = lists.elements.get(from..to).ok_or_else(shape)?;
        let start = out.len();
        out.resize(start.saturating_add(elements.len().saturating_mul(8)), 0);
        let (cells, _) = out.get_mut(start..).unwrap_or_default().as_chunks_mut::<8>();
        cells.iter_mut().zip(elements).for_each(|(cell, value)| *cell = bytes(*value));
    }
    Ok(())
}
