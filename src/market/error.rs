//! What can be wrong with a batch.

use std::fmt;

use crate::units::DecimalError;

/// A batch that its binding cannot read. Columns are named; rows count from 0 in the batch.
#[derive(Debug, Clone, PartialEq)]
pub enum MarketError {
    /// The batch does not have the columns that were selected.
    MissingColumn {
        /// The column at this position of the selection.
        column: Box<str>,
    },
    /// The column's Arrow type is not one that the role takes.
    ColumnType {
        /// Column.
        column: Box<str>,
        /// Its type.
        got: Box<str>,
        /// What can be read.
        expected: &'static str,
    },
    /// A row that has no place in time.
    NoTime {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
    },
    /// A time outside the years 1677 to 2262.
    TimeRange {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
    },
    /// A number that cannot be held exactly.
    Number {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
        /// Why.
        fault: NumberFault,
    },
    /// An action or side that the layout does not have.
    Word {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
        /// What stands there; empty for a null.
        got: Box<str>,
        /// What may stand there.
        expected: &'static str,
    },
    /// An order change without an order id.
    NoOrderId {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
    },
    /// An array that is not prices over sizes.
    ArrayShape {
        /// Column.
        column: Box<str>,
        /// Row.
        row: usize,
        /// Prices found; 0 when the array has fewer than two rows.
        prices: usize,
        /// Sizes found.
        sizes: usize,
    },
}

/// Why a number is none that a book can hold.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum NumberFault {
    /// It does not fit 64 bits at the scale that the column needs.
    TooLarge {
        /// Digits after the point.
        scale: u8,
    },
    /// The column's type has more digits after the point than 18.
    Scale {
        /// Digits after the point.
        scale: i8,
    },
    /// Not readable as a decimal.
    Decimal(DecimalError),
}

impl fmt::Display for NumberFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NumberFault::TooLarge { scale } => write!(f, "with {scale} digits after the point it does not fit 64 bits"),
            NumberFault::Scale { scale } => write!(f, "{scale} digits after the point; 0 to 18 can be read"),
            NumberFault::Decimal(error) => error.fmt(f),
        }
    }
}

impl fmt::Display for MarketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            MarketError::MissingColumn { column } => write!(f, "the batch has no column {column}"),
            MarketError::ColumnType { column, got, expected } => write!(f, "column {column} is {got}; {expected} can be read"),
            MarketError::NoTime { column, row } => write!(f, "column {column}, row {row}: no time"),
            MarketError::TimeRange { column, row } => {
                write!(f, "column {column}, row {row}: outside the years 1677 to 2262 that nanoseconds in 64 bits can hold")
            }
            MarketError::Number { column, row, fault } => write!(f, "column {column}, row {row}: {fault}"),
            MarketError::Word { column, row, got, expected } => write!(f, "column {column}, row {row}: {got:?} is none of {expected}"),
            MarketError::NoOrderId { column, row } => write!(f, "column {column}, row {row}: the change of an order without its id"),
            MarketError::ArrayShape { column, row, prices, sizes } => {
                write!(f, "column {column}, row {row}: {prices} prices and {sizes} sizes; [1] must hold prices and [2] as many sizes")
            }
        }
    }
}

impl std::error::Error for MarketError {}

// Errors travel in the results of hot calls: keep them small. Box what grows.
const _: () = assert!(size_of::<MarketError>() <= 64);
