//! Record batches to messages: how many rows each one holds.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_buffer::ArrowNativeType;
use arrow_schema::DataType;

use super::error::ColumnarError;
use super::result_schema::ResultSchema;
use crate::wire::limits::ENCODE_ROWS;
use crate::wire::{ColumnType, EncodeError, Encoder};

/// What a message aims at: large enough that its header does not count, small enough that credit of a few MiB is granted in steps.
const TARGET_BYTES: usize = 512 * 1_024;

/// The messages of one record batch, made one at a time so that credit decides when.
#[derive(Debug)]
pub struct Frames<'a> {
    schema: &'a ResultSchema,
    batch: RecordBatch,
    next: usize,
    max_rows: usize,
}

impl<'a> Frames<'a> {
    /// The rows of `batch`, at most `max_rows` a message (0: as many as a message may have).
    #[must_use]
    pub fn new(schema: &'a ResultSchema, batch: RecordBatch, max_rows: usize) -> Frames<'a> {
        let max_rows = if max_rows == 0 { ENCODE_ROWS } else { max_rows.min(ENCODE_ROWS) };
        Frames { schema, batch, next: 0, max_rows }
    }

    /// Rows not yet encoded.
    #[must_use]
    pub fn rows_left(&self) -> usize {
        self.batch.num_rows() - self.next
    }

    /// Writes the next message into `out`, which is emptied first; `false` when no row is left.
    ///
    /// # Errors
    /// As [`ResultSchema::column_refs`], and [`ColumnarError::RowTooLarge`]; the rows before have then been sent.
    pub fn encode_next(&mut self, encoder: &mut Encoder, out: &mut Vec<u8>) -> Result<bool, ColumnarError> {
        out.clear();
        if self.rows_left() == 0 {
            return Ok(false);
        }
        let mut rows = self.fitting_rows();
        loop {
            let range = self.next..self.next + rows;
            let columns = self.schema.column_refs(&self.batch, range.clone())?;
            match encoder.batch(self.schema.columns(), &columns, rows, out) {
                Ok(()) => {
                    self.next = range.end;
                    return Ok(true);
                }
                // New symbols are not in the estimate.
                Err(EncodeError::FrameTooLarge { .. }) if rows > 1 => rows /= 2,
                Err(EncodeError::FrameTooLarge { max, got, .. }) => {
                    return Err(ColumnarError::RowTooLarge { row: self.next, bytes: got, max });
                }
                // The encoder counts rows from the start of the message.
                Err(EncodeError::Ragged { column, row }) => {
                    let column = self.schema.columns().get(column).map(|column| column.name.clone()).unwrap_or_default();
                    return Err(ColumnarError::Ragged { column, row: self.next + row });
                }
                Err(error) => return Err(ColumnarError::Encode(error)),
            }
        }
    }

    /// The most rows within the target, and at least one.
    fn fitting_rows(&self) -> usize {
        let all = self.rows_left().min(self.max_rows);
        if self.estimate(self.next..self.next + all) <= TARGET_BYTES {
            return all;
        }
        // More rows never take fewer bytes, so the edge can be searched for.
        let (mut fit, mut over) = (1, all);
        while over - fit > 1 {
            let middle = fit.midpoint(over);
            if self.estimate(self.next..self.next + middle) <= TARGET_BYTES { fit = middle } else { over = middle }
        }
        fit
    }

    /// Bytes of these rows on the wire, but for symbols that the client does not have yet.
    fn estimate(&self, rows: Range<usize>) -> usize {
        let columns = self.batch.columns().iter().zip(self.schema.columns());
        let bytes = columns.map(|(array, column)| match column.column_type {
            // Narrower types travel as INT where they may be null.
            ColumnType::Int => 4 * rows.len(),
            _ => column_bytes(array.as_ref(), rows.clone()),
        });
        bytes.sum()
    }
}

impl ResultSchema {
    /// Writes batch 0 of a result without rows into `out`, which is emptied first: a client needs the schema all the same.
    ///
    /// # Errors
    /// [`ColumnarError::Encode`] when no query runs or there are too many columns.
    pub fn encode_empty(&self, encoder: &mut Encoder, out: &mut Vec<u8>) -> Result<(), ColumnarError> {
        let batch = self.empty_batch();
        let columns = self.column_refs(&batch, 0..0)?;
        encoder.batch(self.columns(), &columns, 0, out).map_err(ColumnarError::Encode)
    }
}

fn column_bytes(array: &dyn Array, rows: Range<usize>) -> usize {
    let count = rows.len();
    let text = |offsets: (usize, usize)| offsets.1 - offsets.0 + 4 * count;
    match array.data_type() {
        DataType::Null => count.div_ceil(8),
        DataType::Boolean => count.div_ceil(8),
        DataType::Utf8 => text(ends(array.as_string::<i32>().value_offsets(), &rows)),
        DataType::LargeUtf8 => text(ends(array.as_string::<i64>().value_offsets(), &rows)),
        DataType::Binary => text(ends(array.as_binary::<i32>().value_offsets(), &rows)),
        DataType::LargeBinary => text(ends(array.as_binary::<i64>().value_offsets(), &rows)),
        // The low half of a view is its length.
        DataType::Utf8View => array.as_string_view().views()[rows].iter().map(|view| *view as u32 as usize + 4).sum(),
        DataType::BinaryView => array.as_binary_view().views()[rows].iter().map(|view| *view as u32 as usize + 4).sum(),
        DataType::FixedSizeBinary(width) => (width.unsigned_abs() as usize + 4) * count,
        DataType::Dictionary(..) => 2 * count,
        DataType::List(_) => {
            let list = array.as_list::<i32>();
            let (from, to) = ends(list.value_offsets(), &rows);
            5 * count + column_bytes(list.values().as_ref(), from..to)
        }
        // These travel one size up.
        DataType::UInt8 | DataType::UInt16 | DataType::UInt32 | DataType::Date32 | DataType::Decimal32(..) => {
            array.data_type().primitive_width().unwrap_or(0) * 2 * count
        }
        other => other.primitive_width().unwrap_or(0) * count,
    }
}

fn ends<O: ArrowNativeType>(offsets: &[O], rows: &Range<usize>) -> (usize, usize) {
    (offsets[rows.start].as_usize(), offsets[rows.end].as_usize())
}
