//! What a store can be asked, as one [`Query`] type, and the SQL of each dialect. The answers come back as record batches; the
//! readers in [`answers`] turn them into values.
//!
//! It knows columns, times and limits; it does not know who shows them.

use crate::market::Value;
use crate::units::{Decimal, UnixNanos};

pub mod answers;
mod sql;
pub mod windows;

pub use answers::Bounds;
pub use sql::render;

/// Unit of a table's designated timestamp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TimeUnit {
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
}

/// The column that orders a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TimeColumn {
    /// Name.
    pub name: String,
    /// Unit.
    pub unit: TimeUnit,
}

/// What names one instrument in a table: the columns that exist, with the value wanted; without a value, rows that have none.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Key {
    /// Column and symbol.
    pub symbol: Option<(String, Option<String>)>,
    /// Column and publisher.
    pub publisher: Option<(String, Option<u32>)>,
    /// Column and instrument id, or what else tells instruments of one symbol apart: the venue by its name.
    pub instrument: Option<(String, Option<Value>)>,
}

/// The columns by which a store counts rows of seconds, whatever the case of their letters.
const COUNTED: [&str; 3] = ["symbol", "publisher_id", "instrument_id"];

impl Key {
    /// Whether [`Query::SecondCounts`] can tell it.
    #[must_use]
    pub fn is_counted(&self) -> bool {
        let symbol = self.symbol.as_ref().map(|(column, _)| column);
        let publisher = self.publisher.as_ref().map(|(column, _)| column);
        let instrument = self.instrument.as_ref().map(|(column, _)| column);
        let counted = |column: &String| COUNTED.iter().any(|name| name.eq_ignore_ascii_case(column));
        symbol.into_iter().chain(publisher).chain(instrument).all(counted)
    }
}

/// Rows at which a book can begin.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AnchorRows {
    /// Clears (`action = 'R'`) and rows flagged as a snapshot.
    Snapshots {
        /// Column of the action.
        action: String,
        /// Column of the flags.
        flags: Option<String>,
    },
    /// Rows in which a column has one of the values: they mark a snapshot.
    Marked {
        /// Column of the mark.
        column: String,
        /// What marks.
        values: Vec<Value>,
    },
    /// Any row that ends an event group: each carries the whole book.
    GroupEnds {
        /// Column of the flags; without one every row ends a group.
        flags: Option<String>,
    },
}

/// Rows that report a trade.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trades {
    /// Column of the action and the words that say trade; without one every row is a trade.
    pub action: Option<(String, Vec<Value>)>,
    /// Column of the price: a trade without one is none.
    pub price: String,
    /// Only trades of at least a size.
    pub least: Option<Least>,
}

/// A smallest size.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Least {
    /// Column of the size.
    pub column: String,
    /// How the column holds it.
    pub form: SizeForm,
    /// At least this.
    pub size: Decimal,
}

/// How a column holds sizes, which decides how one is written beside it so that the comparison is exact.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SizeForm {
    /// Integers.
    Whole,
    /// DECIMAL.
    Decimal,
    /// DOUBLE; the size written beside it has at most 15 digits, which a double tells apart.
    Double,
    /// FLOAT; the size written beside it has at most 6 digits, which a float tells apart.
    Float,
}

/// A table, the instrument looked at, and which of its rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// Table.
    pub table: String,
    /// Its order.
    pub time: TimeColumn,
    /// The instrument.
    pub key: Key,
    /// Only trades.
    pub trades: Option<Trades>,
}

/// Everything the engine asks a store. Times are `from` inclusive, `to` exclusive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Query {
    /// Tables with their designated timestamp.
    Tables,
    /// Columns of a table with their types.
    Columns {
        /// Table.
        table: String,
    },
    /// Instruments of a table with their rows, first and last time, busiest first.
    Instruments {
        /// Table.
        table: String,
        /// Its order.
        time: TimeColumn,
        /// Columns that make the key, in the order symbol, publisher, instrument.
        key: Vec<String>,
        /// Only those with this symbol: its column and the symbol.
        symbol: Option<(String, String)>,
        /// So many at most.
        most: usize,
    },
    /// First and last time and number of rows.
    Bounds {
        /// Where.
        place: Place,
        /// First time that counts.
        from: Option<UnixNanos>,
        /// First time that does not.
        to: Option<UnixNanos>,
    },
    /// The newest time at which a book can begin.
    Anchor {
        /// Where.
        place: Place,
        /// Which rows begin a book.
        rows: AnchorRows,
        /// Not before this.
        from: UnixNanos,
        /// Before this.
        to: UnixNanos,
    },
    /// Rows in each bucket of `width` nanoseconds since `origin`; empty buckets are left out, and so are rows outside of the times.
    Counts {
        /// Where.
        place: Place,
        /// Start of bucket 0, at or before `from`.
        origin: UnixNanos,
        /// First time.
        from: UnixNanos,
        /// First time after.
        to: UnixNanos,
        /// Width of a bucket.
        width: i64,
    },
    /// The same as [`Query::Counts`], from the counts of whole seconds that the store keeps; all times are whole seconds.
    SecondCounts {
        /// Where; all its rows.
        place: Place,
        /// Start of bucket 0, at or before `from`.
        origin: UnixNanos,
        /// First time.
        from: UnixNanos,
        /// First time after.
        to: UnixNanos,
        /// Width of a bucket.
        width: i64,
    },
    /// Rows in the order of the store.
    Rows {
        /// Where.
        place: Place,
        /// Columns, in order.
        columns: Vec<String>,
        /// First time.
        from: UnixNanos,
        /// First time after.
        to: UnixNanos,
        /// At most so many rows.
        limit: Option<u64>,
        /// Rows left out before the first.
        skip: u64,
    },
    /// Rows of single times, in the order of the store.
    RowsAt {
        /// Where.
        place: Place,
        /// Columns, in order.
        columns: Vec<String>,
        /// The times.
        times: Vec<UnixNanos>,
        /// At most so many rows.
        limit: u64,
    },
}

/// Instruments listed at most: a table of OPRA has a million, and a picker shows some.
pub const MAX_INSTRUMENTS: usize = 2_000;
/// Tables listed at most.
pub const MAX_TABLES: usize = 2_000;

/// A name or value that cannot be put into a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadName(pub String);

impl std::fmt::Display for BadName {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{:?} cannot be used in a statement: it holds a control character", self.0)
    }
}

impl std::error::Error for BadName {}
