//! The server's end of a connection: rows out.
//!
//! [`Encoder`] holds what a client will build on: the symbol dictionary, and per query the next batch and the rows sent. It writes header
//! flags 0x0C always (an encoding byte before timestamps, a dictionary delta), the schema in batch 0 only, nulls as a bitmap with the
//! other values packed. The layouts are those that the decoder's modules show.

use std::fmt;

use super::limits::{COLUMNS, DICTIONARY_SOFT_BYTES, DICTIONARY_SOFT_ENTRIES, ENCODE_BYTES, ENCODE_ROWS};
use super::message::{self, flag, kind};
use super::schema::{ColumnSchema, ColumnType};
use super::varint;

mod column;
mod compress;
mod dictionary;
mod source;
pub use compress::compress_batch;
use dictionary::SentDictionary;
pub use source::{ColumnRef, ListsRef, TextRef, ValuesRef};

/// Why a batch cannot be encoded. The encoder is then as it was before the call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EncodeError {
    /// More columns than a client accepts.
    TooManyColumns {
        /// At most.
        max: usize,
        /// The result has.
        got: usize,
    },
    /// More rows than a batch may have.
    TooManyRows {
        /// At most.
        max: usize,
        /// The batch has.
        got: usize,
    },
    /// The columns are not those of the schema.
    ColumnCount {
        /// Of the schema.
        expected: usize,
        /// Given.
        got: usize,
    },
    /// A column is not of its schema's type.
    ColumnType {
        /// Index of the column.
        column: usize,
        /// Of the schema.
        expected: ColumnType,
        /// Of the values.
        got: ColumnType,
    },
    /// A column does not have a slot for each row, or its offsets or keys point outside its buffers.
    ColumnShape {
        /// Index of the column.
        column: usize,
        /// Rows of the batch.
        rows: usize,
    },
    /// The lists of a row differ in length: only rectangular arrays have a form on the wire.
    Ragged {
        /// Index of the column.
        column: usize,
        /// Row in the batch.
        row: usize,
    },
    /// A scale or precision that the type does not have.
    Parameter {
        /// Index of the column.
        column: usize,
        /// The scale or precision.
        got: u8,
    },
    /// The message would be larger than a client takes: send fewer rows.
    FrameTooLarge {
        /// At most.
        max: usize,
        /// At least.
        got: usize,
        /// Rows of the batch; when 1, the row itself is too large.
        rows: usize,
    },
    /// No query was begun.
    NotRunning,
}

impl fmt::Display for EncodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EncodeError::TooManyColumns { max, got } => write!(f, "expected at most {max} columns, got {got}: name the columns needed"),
            EncodeError::TooManyRows { max, got } => write!(f, "expected at most {max} rows in a batch, got {got}"),
            EncodeError::ColumnCount { expected, got } => write!(f, "expected {expected} columns as in the schema, got {got}"),
            EncodeError::ColumnType { column, expected, got } => {
                write!(f, "column {column}: expected {} as in the schema, got {}", expected.name(), got.name())
            }
            EncodeError::ColumnShape { column, rows } => write!(f, "column {column}: expected consistent buffers for {rows} rows"),
            EncodeError::Ragged { column, row } => write!(f, "column {column}, row {row} of the batch: expected lists of one length"),
            EncodeError::Parameter { column, got } => write!(f, "column {column}: scale or precision {got} is out of range"),
            EncodeError::FrameTooLarge { max, got, rows: 1 } => write!(f, "a single row needs {got} bytes or more, a message holds {max}"),
            EncodeError::FrameTooLarge { max, got, rows } => write!(f, "{rows} rows need {got} bytes or more, a message holds {max}"),
            EncodeError::NotRunning => f.write_str("no query is running"),
        }
    }
}

impl std::error::Error for EncodeError {}

/// Encodes the server's messages of one connection. A new connection needs a new encoder.
#[derive(Debug, Default)]
pub struct Encoder {
    dictionary: SentDictionary,
    query: Option<Sending>,
}

#[derive(Debug)]
struct Sending {
    request_id: i64,
    schema: Option<Vec<ColumnSchema>>,
    batches: u64,
    rows: u64,
}

impl Encoder {
    /// An encoder for a connection that was just accepted.
    #[must_use]
    pub fn new() -> Encoder {
        Encoder::default()
    }

    /// A query starts to stream. When `true` is returned, `out` holds a CACHE_RESET that must be sent first: it was asked for, or the
    /// dictionary passed its soft cap. Otherwise `out` is empty.
    pub fn begin(&mut self, request_id: i64, reset_dictionary: bool, out: &mut Vec<u8>) -> bool {
        out.clear();
        self.query = Some(Sending { request_id, schema: None, batches: 0, rows: 0 });
        let full = self.dictionary.len() > DICTIONARY_SOFT_ENTRIES || self.dictionary.text_bytes() > DICTIONARY_SOFT_BYTES;
        if reset_dictionary || full {
            self.dictionary.clear();
            message::encode_cache_reset(out, 1);
            return true;
        }
        false
    }

    /// Writes the next RESULT_BATCH of the running query into `out`, which is emptied first. The schema is that of the result and must
    /// not change between batches. A message never exceeds [`ENCODE_BYTES`].
    ///
    /// # Errors
    /// See [`EncodeError`]; the dictionary and the batch number are then as before, so that a smaller batch may follow.
    pub fn batch(&mut self, schema: &[ColumnSchema], columns: &[ColumnRef<'_>], rows: usize, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        let Some(query) = &mut self.query else {
            return Err(EncodeError::NotRunning);
        };
        if schema.len() as u64 > COLUMNS {
            return Err(EncodeError::TooManyColumns { max: COLUMNS as usize, got: schema.len() });
        }
        if rows > ENCODE_ROWS {
            return Err(EncodeError::TooManyRows { max: ENCODE_ROWS, got: rows });
        }
        let expected = query.schema.as_deref().unwrap_or(schema).len();
        if columns.len() != expected || schema.len() != expected {
            return Err(EncodeError::ColumnCount { expected, got: columns.len() });
        }
        for (index, (column, schema)) in columns.iter().zip(query.schema.as_deref().unwrap_or(schema)).enumerate() {
            let got = column.values.column_type();
            if got != schema.column_type {
                return Err(EncodeError::ColumnType { column: index, expected: schema.column_type, got });
            }
            if !column.values.fits(rows) || column.validity.as_ref().is_some_and(|validity| validity.len() != rows) {
                return Err(EncodeError::ColumnShape { column: index, rows });
            }
        }
        let mark = self.dictionary.len();
        let written = write_batch(&mut self.dictionary, query, schema, columns, rows, out);
        match written {
            Ok(()) => {
                query.schema.get_or_insert_with(|| schema.to_vec());
                query.batches = query.batches.saturating_add(1);
                query.rows = query.rows.saturating_add(rows as u64);
            }
            Err(_) => {
                self.dictionary.truncate(mark);
                out.clear();
            }
        }
        written
    }

    /// Writes RESULT_END into `out`, which is emptied first. The query is over.
    ///
    /// # Errors
    /// [`EncodeError::NotRunning`].
    pub fn end(&mut self, out: &mut Vec<u8>) -> Result<(), EncodeError> {
        out.clear();
        let query = self.query.take().ok_or(EncodeError::NotRunning)?;
        message::encode_end(out, query.request_id, query.batches.saturating_sub(1), query.rows);
        Ok(())
    }

    /// Writes QUERY_ERROR into `out`, which is emptied first. The query is over when it is the one that runs; the id of another one
    /// (a second query) leaves it running.
    pub fn error(&mut self, request_id: i64, status: u8, text: &str, out: &mut Vec<u8>) {
        if self.query.as_ref().is_some_and(|query| query.request_id == request_id) {
            self.query = None;
        }
        message::encode_error(out, request_id, status, text);
    }

    /// Writes EXEC_DONE into `out`, which is emptied first: a statement without rows. `rows` is `None` when unknown.
    pub fn exec_done(&mut self, request_id: i64, op_type: u8, rows: Option<u64>, out: &mut Vec<u8>) {
        if self.query.as_ref().is_some_and(|query| query.request_id == request_id) {
            self.query = None;
        }
        message::encode_exec_done(out, request_id, op_type, rows);
    }

    /// Batches and rows of the running query so far.
    #[must_use]
    pub fn sent(&self) -> (u64, u64) {
        self.query.as_ref().map_or((0, 0), |query| (query.batches, query.rows))
    }
}

fn write_batch(
    dictionary: &mut SentDictionary,
    query: &Sending,
    schema: &[ColumnSchema],
    columns: &[ColumnRef<'_>],
    rows: usize,
    out: &mut Vec<u8>,
) -> Result<(), EncodeError> {
    message::begin(out, flag::GORILLA | flag::DELTA_DICTIONARY, 1, kind::RESULT_BATCH);
    out.extend_from_slice(&query.request_id.to_le_bytes());
    varint::write(out, query.batches);
    let start = dictionary.len();
    let mut ids = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        if let ValuesRef::Symbol { keys, texts } = &column.values {
            let shape = EncodeError::ColumnShape { column: index, rows };
            ids.push(dictionary.translate(keys, texts, column.validity.as_ref()).ok_or(shape)?);
        }
    }
    dictionary.write_delta(start, out);
    varint::write(out, 0);
    varint::write(out, rows as u64);
    if query.batches == 0 {
        varint::write(out, schema.len() as u64);
        for column in schema {
            varint::write(out, column.name.len() as u64);
            out.extend_from_slice(column.name.as_bytes());
            out.push(column.column_type.code());
        }
    }
    let mut ids = ids.into_iter();
    for (index, column) in columns.iter().enumerate() {
        column::write(out, index, column, rows, &mut ids)?;
        if out.len() > ENCODE_BYTES {
            return Err(EncodeError::FrameTooLarge { max: ENCODE_BYTES, got: out.len(), rows });
        }
    }
    message::finish(out);
    Ok(())
}
