//! Databento files (every schema of market data, versions 1 to 3, raw or zstd) as record batches.
//!
//! Columns are named and ordered as the Python package `databento-dbn` has them; values are its integers, of which an unset price
//! or time is null. Prices are decimals of scale 9, letters are symbols (the zero byte is null). `ts_recv` orders a table; a record
//! without one has its `ts_event` there. Bars have only `ts_event`. `symbol` is what the file's own mappings say for the instrument
//! at that time, else null.

use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use dbn::{BboMsg, CbboMsg, Cmbp1Msg, ImbalanceMsg, InstrumentDefMsg, MboMsg, Mbp1Msg, Mbp10Msg, OhlcvMsg, StatMsg, StatusMsg, TradeMsg};

use super::TableWriter;
use crate::server::error::ServeError;
use crate::server::progress::Progress;
use crate::server::source::{InputFile, symbol_type};

mod columns;
mod reader;
mod records;
mod rows;

pub(crate) use reader::{DbnReader, is_dbn};
pub(crate) use records::TickRecord;
pub(crate) use rows::Rows;

/// Rows of a batch: their records stay in the processor's own cache while column after column is taken from them.
const BLOCK_ROWS: usize = 16 * 1024;

/// Runs a generic function for the record type of a schema.
macro_rules! with_record {
    ($schema:expr, $function:ident ( $($argument:expr),* )) => {
        match $schema {
            dbn::Schema::Mbo => $function::<MboMsg>($($argument),*),
            dbn::Schema::Trades => $function::<TradeMsg>($($argument),*),
            dbn::Schema::Mbp1 | dbn::Schema::Tbbo => $function::<Mbp1Msg>($($argument),*),
            dbn::Schema::Mbp10 => $function::<Mbp10Msg>($($argument),*),
            dbn::Schema::Bbo1S | dbn::Schema::Bbo1M => $function::<BboMsg>($($argument),*),
            dbn::Schema::Cmbp1 | dbn::Schema::Tcbbo => $function::<Cmbp1Msg>($($argument),*),
            dbn::Schema::Cbbo1S | dbn::Schema::Cbbo1M => $function::<CbboMsg>($($argument),*),
            dbn::Schema::Ohlcv1S
            | dbn::Schema::Ohlcv1M
            | dbn::Schema::Ohlcv1H
            | dbn::Schema::Ohlcv1D
            | dbn::Schema::OhlcvEod => $function::<OhlcvMsg>($($argument),*),
            dbn::Schema::Definition => $function::<InstrumentDefMsg>($($argument),*),
            dbn::Schema::Status => $function::<StatusMsg>($($argument),*),
            dbn::Schema::Statistics => $function::<StatMsg>($($argument),*),
            dbn::Schema::Imbalance => $function::<ImbalanceMsg>($($argument),*),
        }
    };
}

/// The columns of a table of that schema; the first one orders it.
pub(crate) fn columns(schema: dbn::Schema) -> SchemaRef {
    with_record!(schema, columns_of())
}

fn columns_of<T: TickRecord>() -> SchemaRef {
    let mut fields: Vec<Field> = T::columns().into_iter().map(|column| column.field).collect();
    fields.push(Field::new("symbol", symbol_type(), true));
    Arc::new(Schema::new(fields))
}

/// Copies the records of a file of that schema.
///
/// # Errors
/// A damaged file, named with the record, or a failing disk.
pub(crate) fn read(schema: dbn::Schema, file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    with_record!(schema, copy(file, writer, progress))
}

fn copy<T: TickRecord>(file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    let mut reader = DbnReader::open(&file.path)?;
    let symbols = reader.symbols()?;
    let base = progress.bytes_read();
    let mut rows = Rows::new();
    let mut written = 0;
    loop {
        let more = match reader.next::<T>()? {
            Some(record) => {
                rows.push(record, &symbols);
                true
            }
            None => false,
        };
        if rows.len() == BLOCK_ROWS || (!more && rows.len() > 0) {
            let batch = rows.take(writer.schema());
            let batch = batch.map_err(|bad| ServeError::content(&file.path, Some(written + bad.row as u64), bad.problem))?;
            writer.write(&batch, &file.path, written)?;
            written += batch.num_rows() as u64;
            progress.read(base + reader.stored_bytes().min(file.bytes), writer.rows());
        }
        if !more {
            progress.read(base + file.bytes, writer.rows());
            return Ok(());
        }
    }
}
