//! What cannot be turned from columns into Arrow or back.

use std::fmt;

use arrow_schema::ArrowError;

use crate::wire::{EncodeError, status};

/// A batch that has no form on the other side.
#[derive(Debug)]
pub enum ColumnarError {
    /// A column changed between batches of one result, so that they do not share a schema.
    Drift {
        /// Name of the column.
        column: String,
        /// Sequence of the batch.
        batch: u64,
        /// What changed: array dimensions, scale, precision.
        what: &'static str,
        /// In the batches before.
        expected: u8,
        /// In this one.
        got: u8,
    },
    /// Arrow did not take a column.
    Arrow {
        /// Name of the column, or of none when it is the batch.
        column: Option<String>,
        /// Arrow's reason.
        source: ArrowError,
    },
    /// A type that has no exact form on the wire.
    Unsupported {
        /// Name of the column.
        column: String,
        /// Arrow's name of the type.
        data_type: String,
    },
    /// A value that the wire's type does not hold.
    OutOfRange {
        /// Name of the column.
        column: String,
        /// Row in the record batch.
        row: usize,
        /// The value.
        value: String,
        /// The wire's type.
        wire_type: &'static str,
    },
    /// An array that is not rectangular, or has a null list inside.
    Ragged {
        /// Name of the column.
        column: String,
        /// Row in the record batch.
        row: usize,
    },
    /// A row that no message holds.
    RowTooLarge {
        /// Row in the record batch.
        row: usize,
        /// Bytes it needs or more.
        bytes: usize,
        /// Bytes of a message.
        max: usize,
    },
    /// The encoder refused.
    Encode(EncodeError),
}

impl ColumnarError {
    /// The status of the QUERY_ERROR that tells a client.
    #[must_use]
    pub fn status(&self) -> u8 {
        match self {
            ColumnarError::RowTooLarge { .. } | ColumnarError::Encode(EncodeError::FrameTooLarge { .. }) => status::LIMIT_EXCEEDED,
            _ => status::INTERNAL_ERROR,
        }
    }
}

impl fmt::Display for ColumnarError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ColumnarError::Drift { column, batch, what, expected, got } => {
                write!(f, "column {column:?}, batch {batch}: expected {what} {expected} as in the batches before, got {got}")
            }
            ColumnarError::Arrow { column: Some(column), source } => write!(f, "column {column:?}: {source}"),
            ColumnarError::Arrow { column: None, source } => source.fmt(f),
            ColumnarError::Unsupported { column, data_type } => {
                let advice = match data_type.split('(').next() {
                    Some("Struct") => "select its fields in the query",
                    Some("Interval") => "cast it to VARCHAR in the query",
                    Some("Decimal32" | "Decimal64" | "Decimal128" | "Decimal256") => "cast it to a scale of 0 or more in the query",
                    _ => "cast it in the query",
                };
                write!(f, "column {column:?}: type {data_type} has no exact form on the wire; {advice}")
            }
            ColumnarError::OutOfRange { column, row, value, wire_type } => {
                write!(f, "column {column:?}, row {row}: {value} does not fit {wire_type}; cast it in the query")
            }
            ColumnarError::Ragged { column, row } => write!(f, "column {column:?}, row {row}: expected a rectangular array"),
            ColumnarError::RowTooLarge { row, bytes, max } => {
                write!(f, "row {row} needs {bytes} bytes or more, a message holds {max}; select fewer columns")
            }
            ColumnarError::Encode(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ColumnarError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ColumnarError::Arrow { source, .. } => Some(source),
            ColumnarError::Encode(error) => Some(error),
            _ => None,
        }
    }
}
