//! Records on their way into a batch.

use std::collections::HashMap;
use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, DictionaryArray, RecordBatch, StringArray, UInt32Array};
use datafusion::arrow::datatypes::SchemaRef;
use dbn::TsSymbolMap;

use super::columns::{BadRow, Column};
use super::records::TickRecord;

/// Records since the last batch, and the symbols of their instruments.
pub(crate) struct Rows<T: TickRecord> {
    columns: Vec<Column<T>>,
    records: Vec<T>,
    symbols: Symbols,
}

impl<T: TickRecord> Rows<T> {
    /// No rows.
    pub(crate) fn new() -> Rows<T> {
        Rows { columns: T::columns(), records: Vec::new(), symbols: Symbols::default() }
    }

    /// Rows since the last batch.
    pub(crate) fn len(&self) -> usize {
        self.records.len()
    }

    /// Appends a record.
    pub(crate) fn push(&mut self, record: &T, symbols: &TsSymbolMap) {
        self.symbols.push(symbols.get_for_ts(record.moment(), record.head().instrument_id));
        self.records.push(record.clone());
    }

    /// The rows as a batch of the columns of [`super::columns`].
    ///
    /// # Errors
    /// The row that cannot be kept exactly.
    pub(crate) fn take(&mut self, schema: &SchemaRef) -> Result<RecordBatch, BadRow> {
        let mut arrays = Vec::with_capacity(self.columns.len() + 1);
        for column in &self.columns {
            arrays.push((column.read)(&self.records)?);
        }
        arrays.push(self.symbols.take());
        self.records.clear();
        RecordBatch::try_new(Arc::clone(schema), arrays).map_err(|error| BadRow { row: 0, problem: error.to_string() })
    }
}

/// Symbols as codes, which last for a file.
#[derive(Default)]
struct Symbols {
    keys: Vec<Option<u32>>,
    values: Vec<String>,
    codes: HashMap<String, u32>,
    /// The symbol of the row before by its place in memory, and its code: neighbours are mostly of one instrument.
    last: Option<(usize, u32)>,
}

impl Symbols {
    fn push(&mut self, symbol: Option<&String>) {
        let Some(symbol) = symbol else { return self.keys.push(None) };
        let place = std::ptr::from_ref(symbol).addr();
        let code = match self.last {
            Some((last, code)) if last == place => code,
            _ => self.code(symbol),
        };
        self.last = Some((place, code));
        self.keys.push(Some(code));
    }

    fn code(&mut self, symbol: &str) -> u32 {
        if let Some(&code) = self.codes.get(symbol) {
            return code;
        }
        let code = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
        self.codes.insert(symbol.to_owned(), code);
        self.values.push(symbol.to_owned());
        code
    }

    fn take(&mut self) -> ArrayRef {
        let keys = UInt32Array::from(std::mem::take(&mut self.keys));
        // Every key was given out for a value above.
        Arc::new(DictionaryArray::new(keys, Arc::new(StringArray::from_iter_values(&self.values))))
    }
}
