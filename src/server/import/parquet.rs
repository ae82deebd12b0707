//! Parquet files given by the user: the order of their times, and their rows.

use std::fs::File;
use std::sync::Arc;

use datafusion::arrow::array::{Array, RecordBatch};
use datafusion::arrow::compute::{CastOptions, cast_with_options};
use parquet::arrow::ProjectionMask;
use parquet::arrow::arrow_reader::{ParquetRecordBatchReader, ParquetRecordBatchReaderBuilder};

use super::{IMPORT_BATCH_ROWS, OrderCheck, TableWriter};
use crate::server::error::ServeError;
use crate::server::progress::Progress;
use crate::server::source::{InputFile, TableSource};

/// Reads only the time column, to see whether the file can be read in place.
///
/// # Errors
/// An unreadable page, or a row without time.
pub(crate) fn verify(source: &TableSource, file: &InputFile, progress: &Progress) -> Result<OrderCheck, ServeError> {
    let (builder, rows) = open(file)?;
    let mut order = OrderCheck::default();
    let Some(time) = source.time else {
        order.add_untimed(usize::try_from(rows).unwrap_or(usize::MAX));
        return Ok(order);
    };
    let mask = ProjectionMask::roots(builder.parquet_schema(), [time]);
    let reader = build(builder.with_projection(mask), file)?;
    let mut done = 0;
    for batch in reader {
        let batch = batch.map_err(|error| ServeError::content(&file.path, Some(done), error))?;
        let column = batch.column(0);
        order.add(column).map_err(|row| {
            let name = source.designated().unwrap_or_default();
            ServeError::content(&file.path, Some(row), format!("{name} is null, so the row has no place in time"))
        })?;
        done += batch.num_rows() as u64;
        progress.read(share(file.bytes, done, rows), done);
    }
    progress.read(file.bytes, done);
    Ok(order)
}

/// Copies the rows of a file, each column brought to the type in which it is served.
///
/// # Errors
/// An unreadable page, a value that its column cannot hold, or a failing disk.
pub(crate) fn read(source: &TableSource, file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    let (builder, rows) = open(file)?;
    let reader = build(builder, file)?;
    let base = progress.bytes_read();
    // A value that does not fit is an error, not a null.
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    let mut done = 0;
    for batch in reader {
        let batch = batch.map_err(|error| ServeError::content(&file.path, Some(done), error))?;
        let columns = batch.columns().iter().zip(source.schema.fields()).map(|(column, field)| {
            if column.data_type() == field.data_type() { Ok(Arc::clone(column)) } else { cast_with_options(column, field.data_type(), &exact) }
        });
        let columns = columns.collect::<Result<Vec<_>, _>>().map_err(|error| ServeError::content(&file.path, Some(done), error))?;
        let batch = RecordBatch::try_new(Arc::clone(writer.schema()), columns);
        let batch = batch.map_err(|error| ServeError::content(&file.path, Some(done), error))?;
        writer.write(&batch, &file.path, done)?;
        done += batch.num_rows() as u64;
        progress.read(base + share(file.bytes, done, rows), writer.rows());
    }
    progress.read(base + file.bytes, writer.rows());
    Ok(())
}

fn open(file: &InputFile) -> Result<(ParquetRecordBatchReaderBuilder<File>, u64), ServeError> {
    let handle = File::open(&file.path).map_err(ServeError::file("read", &file.path))?;
    let builder = ParquetRecordBatchReaderBuilder::try_new(handle).map_err(|error| ServeError::content(&file.path, None, error))?;
    let rows = u64::try_from(builder.metadata().file_metadata().num_rows()).unwrap_or_default();
    Ok((builder.with_batch_size(IMPORT_BATCH_ROWS), rows))
}

fn build(builder: ParquetRecordBatchReaderBuilder<File>, file: &InputFile) -> Result<ParquetRecordBatchReader, ServeError> {
    builder.build().map_err(|error| ServeError::content(&file.path, None, error))
}

/// The part of the bytes that `done` of `rows` stand for.
fn share(bytes: u64, done: u64, rows: u64) -> u64 {
    let part = u128::from(bytes) * u128::from(done) / u128::from(rows.max(1));
    u64::try_from(part).unwrap_or(bytes).min(bytes)
}
