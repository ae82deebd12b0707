//! Counts the rows of each second and instrument while a table is written, so that a histogram of a day is a read of thousands of
//! rows, not of all of them.
//!
//! ```text
//!  second       TIMESTAMP ns, rounded down; orders the file
//!  symbol, publisher_id, instrument_id    those that the table has, under its own names and types; a null is a key of its own
//!  event_count  LONG
//! ```
//!
//! Only the second that is being read is held: its instruments are written when the next one begins.

use std::collections::HashMap;
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch, TimestampNanosecondArray};
use datafusion::arrow::compute::cast;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::arrow::error::ArrowError;
use datafusion::arrow::row::{RowConverter, RowParser, SortField};
use parquet::arrow::ArrowWriter;

use super::order::values;
use super::writer::properties;
use crate::server::error::ServeError;

/// Columns that tell instruments apart, whatever the case of their letters.
const KEY_COLUMNS: [&str; 3] = ["symbol", "publisher_id", "instrument_id"];
const SECOND: &str = "second";
const COUNT: &str = "event_count";
const NANOS: i64 = 1_000_000_000;
/// Counts that are gathered before they are written.
const WRITE_ROWS: usize = 16 * 1024;

/// Where the counts of a table file lie.
pub(crate) fn path_beside(table: &Path) -> PathBuf {
    table.with_extension("counts")
}

/// Columns of the counts of a table.
pub(crate) fn columns(table: &Schema) -> SchemaRef {
    let second = Field::new(SECOND, DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())), false);
    let keys = keys(table).into_iter().map(|index| table.field(index).clone());
    let count = Field::new(COUNT, DataType::Int64, false);
    Arc::new(Schema::new(std::iter::once(second).chain(keys).chain([count]).collect::<Vec<_>>()))
}

fn keys(table: &Schema) -> Vec<usize> {
    let named = |name: &&str| (0..table.fields().len()).find(|&index| table.field(index).name().eq_ignore_ascii_case(name));
    KEY_COLUMNS.iter().filter_map(named).filter(|&index| !table.field(index).data_type().is_nested()).collect()
}

/// The counts of one table on their way into a file.
pub(super) struct SecondCounts {
    writer: ArrowWriter<File>,
    path: PathBuf,
    schema: SchemaRef,
    time: usize,
    /// Units of the time column in a second.
    per_second: i64,
    keys: Vec<usize>,
    converter: RowConverter,
    parser: RowParser,
    second: Option<i64>,
    open: HashMap<Box<[u8]>, i64>,
    /// The key of the row before, and how many rows since it changed: neighbours are mostly of one instrument.
    run: (Vec<u8>, i64),
    closed: Vec<(i64, Box<[u8]>, i64)>,
}

impl SecondCounts {
    /// Begins the counts beside the file of a table; `None` for a time column or keys that have none.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(super) fn create(table: &Path, columns_of: &Schema, time: usize) -> Result<Option<SecondCounts>, ServeError> {
        let DataType::Timestamp(unit, _) = columns_of.field(time).data_type() else { return Ok(None) };
        let per_second = match unit {
            TimeUnit::Second => 1,
            TimeUnit::Millisecond => 1_000,
            TimeUnit::Microsecond => 1_000_000,
            TimeUnit::Nanosecond => NANOS,
        };
        let keys = keys(columns_of);
        let fields = keys.iter().map(|&key| SortField::new(columns_of.field(key).data_type().clone())).collect();
        let Ok(converter) = RowConverter::new(fields) else { return Ok(None) };
        let parser = converter.parser();
        let path = path_beside(table);
        let schema = columns(columns_of);
        let file = File::create(&path).map_err(ServeError::file("write", &path))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties(&schema, Some(0))));
        let writer = writer.map_err(|error| ServeError::content(&path, None, error))?;
        let (open, run) = (HashMap::new(), (Vec::new(), 0));
        Ok(Some(SecondCounts { writer, path, schema, time, per_second, keys, converter, parser, second: None, open, run, closed: Vec::new() }))
    }

    /// Counts rows in order of time. False when they are not, or a second does not fit the column: there will be no counts then.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(super) fn add(&mut self, batch: &RecordBatch) -> Result<bool, ServeError> {
        let columns: Vec<ArrayRef> = self.keys.iter().map(|&key| Arc::clone(batch.column(key))).collect();
        let rows = match columns.is_empty() {
            true => None,
            false => Some(self.converter.convert_columns(&columns).map_err(|error| self.failed(error))?),
        };
        let Some(times) = values(batch.column(self.time)) else { return Ok(false) };
        for (index, time) in times.iter().enumerate() {
            let second = time.div_euclid(self.per_second);
            if self.second != Some(second) {
                if self.second.is_some_and(|open| second < open) || second.checked_mul(NANOS).is_none() {
                    return Ok(false);
                }
                self.close_second();
                self.second = Some(second);
            }
            let key = rows.as_ref().map(|rows| rows.row(index));
            let key = key.as_ref().map_or(&[][..], |row| row.data());
            if self.run.0 == key {
                self.run.1 += 1;
            } else {
                self.close_run();
                self.run.0.clear();
                self.run.0.extend_from_slice(key);
                self.run.1 = 1;
            }
        }
        if self.closed.len() >= WRITE_ROWS {
            self.write()?;
        }
        Ok(true)
    }

    /// Ends the file.
    ///
    /// # Errors
    /// It cannot be written.
    pub(super) fn close(mut self) -> Result<(), ServeError> {
        self.close_second();
        self.write()?;
        self.writer.close().map(|_| ()).map_err(|error| ServeError::content(&self.path, None, error))
    }

    /// Gives the file up.
    pub(super) fn discard(self) {
        let path = self.path.clone();
        drop(self);
        // A file without a table beside it is not looked at; the scratch that owns it removes it too.
        let _ = std::fs::remove_file(path);
    }

    fn close_run(&mut self) {
        if self.run.1 == 0 {
            return;
        }
        match self.open.get_mut(self.run.0.as_slice()) {
            Some(count) => *count += self.run.1,
            None => {
                self.open.insert(self.run.0.as_slice().into(), self.run.1);
            }
        }
        self.run.1 = 0;
    }

    /// Moves the open second's counts to those to be written, in the order of their keys.
    fn close_second(&mut self) {
        self.close_run();
        let Some(second) = self.second.and_then(|second| second.checked_mul(NANOS)) else { return };
        let first = self.closed.len();
        self.closed.extend(self.open.drain().map(|(key, count)| (second, key, count)));
        if let Some(added) = self.closed.get_mut(first..) {
            added.sort_unstable_by(|a, b| a.1.cmp(&b.1));
        }
    }

    fn write(&mut self) -> Result<(), ServeError> {
        if self.closed.is_empty() {
            return Ok(());
        }
        let batch = self.batch().map_err(|error| self.failed(error))?;
        self.writer.write(&batch).map_err(|error| ServeError::content(&self.path, None, error))?;
        self.closed.clear();
        Ok(())
    }

    fn batch(&self) -> Result<RecordBatch, ArrowError> {
        let seconds = TimestampNanosecondArray::from_iter_values(self.closed.iter().map(|row| row.0)).with_timezone("UTC");
        let keys = match self.keys.is_empty() {
            true => Vec::new(),
            false => self.converter.convert_rows(self.closed.iter().map(|row| self.parser.parse(&row.1)))?,
        };
        let mut columns: Vec<ArrayRef> = vec![Arc::new(seconds)];
        for (key, field) in keys.into_iter().zip(self.schema.fields().iter().skip(1)) {
            // The converter gives the texts of a dictionary back as texts.
            columns.push(cast(&key, field.data_type())?);
        }
        columns.push(Arc::new(Int64Array::from_iter_values(self.closed.iter().map(|row| row.2))));
        RecordBatch::try_new(Arc::clone(&self.schema), columns)
    }

    fn failed(&self, error: ArrowError) -> ServeError {
        ServeError::engine("counting the rows of each second", error)
    }
}
