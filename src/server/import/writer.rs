//! Writes the Parquet files of the cache.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::{KeyValue, SortingColumn};
use parquet::file::properties::{EnabledStatistics, WriterProperties};

use super::OrderCheck;
use super::counts::SecondCounts;
use crate::server::error::ServeError;
use crate::server::source::TIME_KEY;

/// Rows of a row group: what a time filter can skip as a whole.
const ROW_GROUP_ROWS: usize = 128 * 1024;
/// Rows of a page: what it can skip inside a row group. Eight pages a row group, one batch each.
const PAGE_ROWS: usize = 16 * 1024;

/// One table on its way into a file of the cache. Watches the order of what it is given.
pub(crate) struct TableWriter {
    writer: ArrowWriter<File>,
    path: PathBuf,
    schema: SchemaRef,
    time: Option<usize>,
    order: OrderCheck,
    /// Until it turns out that there are none: the rows are out of order.
    counts: Option<SecondCounts>,
}

impl TableWriter {
    /// Begins a file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn create(path: &Path, schema: SchemaRef, time: Option<usize>) -> Result<TableWriter, ServeError> {
        let file = File::create(path).map_err(ServeError::file("write", path))?;
        let writer = ArrowWriter::try_new(file, Arc::clone(&schema), Some(properties(&schema, time)));
        let writer = writer.map_err(|error| ServeError::content(path, None, error))?;
        let counts = time.map_or(Ok(None), |time| SecondCounts::create(path, &schema, time))?;
        Ok(TableWriter { writer, path: path.to_owned(), schema, time, order: OrderCheck::default(), counts })
    }

    /// Columns that batches must have.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// Rows written so far.
    pub(crate) fn rows(&self) -> u64 {
        self.order.facts(false).rows
    }

    /// Appends rows. `origin` is the file they come from, whose row `first` the batch begins with.
    ///
    /// # Errors
    /// A row without time, or a file that cannot be written.
    pub(crate) fn write(&mut self, batch: &RecordBatch, origin: &Path, first: u64) -> Result<(), ServeError> {
        let before = self.rows();
        match self.time {
            Some(index) => self.order.add(batch.column(index)).map_err(|row| {
                let name = self.schema.field(index).name();
                ServeError::content(origin, Some(first + (row - before)), format!("{name} is null, so the row has no place in time"))
            })?,
            None => self.order.add_untimed(batch.num_rows()),
        }
        if let Some(counts) = &mut self.counts
            && !counts.add(batch)?
            && let Some(counts) = self.counts.take()
        {
            counts.discard();
        }
        self.writer.write(batch).map_err(|error| ServeError::content(&self.path, None, error))
    }

    /// Ends the file.
    ///
    /// # Errors
    /// The file cannot be written.
    pub(crate) fn close(self) -> Result<OrderCheck, ServeError> {
        self.writer.close().map_err(|error| ServeError::content(&self.path, None, error))?;
        if let Some(counts) = self.counts {
            counts.close()?;
        }
        Ok(self.order)
    }
}

/// How files of the cache are written: small row groups with statistics, the order by `time` said.
pub(super) fn properties(schema: &Schema, time: Option<usize>) -> WriterProperties {
    let mut properties = WriterProperties::builder()
        .set_compression(Compression::LZ4_RAW)
        .set_max_row_group_row_count(Some(ROW_GROUP_ROWS))
        .set_data_page_row_count_limit(PAGE_ROWS)
        .set_statistics_enabled(EnabledStatistics::Page);
    if let Some(index) = time {
        let name = schema.field(index).name().clone();
        properties = properties.set_key_value_metadata(Some(vec![KeyValue::new(TIME_KEY.to_owned(), name)]));
        // Sort columns are numbered by leaf; only a table without nested columns before the time has the same number.
        let flat = schema.fields().iter().take(index).all(|field| !field.data_type().is_nested());
        if let (true, Ok(column_idx)) = (flat, i32::try_from(index)) {
            properties = properties.set_sorting_columns(Some(vec![SortingColumn { column_idx, descending: false, nulls_first: false }]));
        }
    }
    properties.build()
}
