//! A batch of rows.
//!
//! ```text
//!  [delta section, flag 0x08] · name_len varint · name · row_count varint
//!  batch 0 only: col_count varint · per column: name_len varint · name · type u8
//!  columns, one behind the other, nothing behind the last
//! ```

use std::sync::Arc;

use super::column::{self, Context};
use super::dictionary::Dictionary;
use super::error::{WireError, WireFault};
use super::limits::{CELLS, COLUMNS, DecoderLimits, Limit, NAME_BYTES};
use super::message::flag;
use super::reader::Reader;
use super::schema::{ColumnSchema, ColumnType};
use super::values::Column;

/// A decoded RESULT_BATCH.
#[derive(Debug, Clone, PartialEq)]
pub struct Batch {
    /// The query.
    pub request_id: i64,
    /// Counted from 0 per query.
    pub sequence: u64,
    /// Rows; 0 only in batch 0 of an empty result.
    pub rows: usize,
    /// The columns of the result, the same `Arc` in all its batches.
    pub schema: Arc<[ColumnSchema]>,
    /// As many as the schema has. Symbol ids belong to the dictionary as it is now: turn them into texts before the next message.
    pub columns: Vec<Column>,
    /// Bytes of the message as received, which is what credit counts.
    pub wire_bytes: usize,
    /// Bytes of the body after decompression.
    pub body_bytes: usize,
    /// Header flags.
    pub flags: u8,
    /// Set when the server had forgotten entries of the dictionary.
    pub dictionary_cut: Option<DictionaryCut>,
}

/// A batch of a query that nobody reads any more: its dictionary entries were taken, its columns were not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DrainedBatch {
    /// The query.
    pub request_id: i64,
    /// Counted from 0 per query.
    pub sequence: u64,
    /// Rows.
    pub rows: u64,
    /// Bytes of the message as received, which is what credit counts.
    pub wire_bytes: usize,
    /// Set when the server had forgotten entries of the dictionary.
    pub dictionary_cut: Option<DictionaryCut>,
}

/// The server began a delta below the dictionary's end: after an error between batches it may forget the entries of the last batch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DictionaryCut {
    /// Entries held before.
    pub length: u32,
    /// Entries kept.
    pub kept: u32,
}

/// What stands before the columns.
pub(super) struct Prelude {
    pub(super) rows: u64,
    pub(super) schema: Arc<[ColumnSchema]>,
    pub(super) cut: Option<DictionaryCut>,
}

/// Reads up to the columns and takes the dictionary delta. `schema` is that of the running result, `None` at batch 0.
pub(super) fn read_prelude(
    reader: &mut Reader<'_>,
    flags: u8,
    dictionary: &mut Dictionary,
    schema: Option<&Arc<[ColumnSchema]>>,
    max_rows: u64,
    limits: &DecoderLimits,
) -> Result<Prelude, WireError> {
    let mut cut = None;
    if flags & flag::DELTA_DICTIONARY != 0 {
        cut = dictionary.read_delta(reader, limits)?.map(|(length, kept)| DictionaryCut { length, kept });
    }
    let name = reader.capped(Limit::NameBytes, NAME_BYTES)?;
    reader.text(name)?;
    let rows = reader.capped(Limit::Rows, max_rows)?;
    let schema = match schema {
        Some(schema) => Arc::clone(schema),
        None => read_schema(reader)?.into(),
    };
    if rows > 0 && schema.is_empty() {
        return Err(reader.fault(WireFault::RowsWithoutColumns { rows }));
    }
    let cells = rows.saturating_mul(schema.len() as u64);
    if cells > CELLS {
        return Err(reader.fault(WireFault::OverLimit { limit: Limit::Cells, max: CELLS, got: cells }));
    }
    Ok(Prelude { rows, schema, cut })
}

fn read_schema(reader: &mut Reader<'_>) -> Result<Vec<ColumnSchema>, WireError> {
    let count = reader.capped(Limit::Columns, COLUMNS)?;
    // A column takes at least the length of its name and its type.
    if count.saturating_mul(2) > reader.left() {
        return Err(reader.fault(WireFault::Truncated { needed: count.saturating_mul(2), left: reader.left() }));
    }
    let mut columns = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
    for index in 0..usize::try_from(count).unwrap_or(0) {
        let column = read_column_schema(reader).map_err(|error| error.in_column(index))?;
        columns.push(column);
    }
    Ok(columns)
}

fn read_column_schema(reader: &mut Reader<'_>) -> Result<ColumnSchema, WireError> {
    let length = reader.capped(Limit::NameBytes, NAME_BYTES)?;
    let name = reader.text(length)?.to_owned();
    let at = reader.clone();
    let code = reader.u8()?;
    match ColumnType::from_code(code) {
        Some(column_type) => Ok(ColumnSchema { name, column_type }),
        None => Err(at.fault(WireFault::TypeCode { got: code })),
    }
}

/// Reads the columns, to the end of the body.
pub(super) fn read_columns(
    reader: &mut Reader<'_>,
    flags: u8,
    prelude: &Prelude,
    dictionary: &Dictionary,
    limits: &DecoderLimits,
) -> Result<Vec<Column>, WireError> {
    let mut context = Context {
        rows: usize::try_from(prelude.rows).unwrap_or(0),
        encoded_times: flags & flag::GORILLA != 0,
        dictionary: (flags & flag::DELTA_DICTIONARY != 0).then(|| dictionary.symbols().len() as u64),
        max_table_bytes: limits.dictionary_bytes,
        budget: limits.dense_bytes,
        max_budget: limits.dense_bytes,
    };
    let mut columns = Vec::with_capacity(prelude.schema.len());
    for (index, schema) in prelude.schema.iter().enumerate() {
        let column = column::read(reader, schema.column_type, &mut context).map_err(|error| error.in_column(index))?;
        columns.push(column);
    }
    reader.finish()?;
    Ok(columns)
}
