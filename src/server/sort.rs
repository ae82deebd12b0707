//! Sorts an imported table by (time, row), spilling to disk under the memory limit.

use std::path::Path;
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::error::DataFusionError;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::prelude::{Expr, ident};
use futures_util::StreamExt as _;
use tokio::runtime::Handle;

use super::engine;
use super::error::ServeError;
use super::import::TableWriter;
use super::source::ROW_COLUMN;
use super::table::StoredTable;

/// Runs sorts on the server's own runtime.
#[derive(Debug, Clone)]
pub(crate) struct Sorter {
    handle: Handle,
    runtime: Arc<RuntimeEnv>,
}

impl Sorter {
    /// A sorter for imports that run in blocking threads of that runtime.
    pub(crate) fn new(handle: Handle, runtime: Arc<RuntimeEnv>) -> Sorter {
        Sorter { handle, runtime }
    }

    /// Writes the rows of a Parquet file to another one, by the time column and then by their number in the file. Blocking.
    ///
    /// # Errors
    /// A failing disk.
    pub(crate) fn sort(&self, unsorted: &Path, schema: &SchemaRef, time: usize, target: &Path) -> Result<(), ServeError> {
        let table = StoredTable::open_unordered(unsorted, Arc::clone(schema))?.with_row();
        let failed = |error: DataFusionError| ServeError::engine("sorting an imported table", error);
        let by = [schema.field(time).name().as_str(), ROW_COLUMN].map(|name| ident(name).sort(true, false));
        let columns: Vec<Expr> = schema.fields().iter().map(|field| ident(field.name())).collect();
        self.handle.block_on(async {
            let frame = engine::session(&self.runtime).read_table(Arc::new(table)).map_err(failed)?;
            let frame = frame.sort(by.to_vec()).and_then(|frame| frame.select(columns)).map_err(failed)?;
            let mut batches = frame.execute_stream().await.map_err(failed)?;
            let mut writer = TableWriter::create(target, Arc::clone(schema), Some(time))?;
            while let Some(batch) = batches.next().await {
                let batch = batch.map_err(failed)?;
                let first = writer.rows();
                // The engine may mark columns differently; values and types are those of the table.
                let batch = batch.with_schema(Arc::clone(schema)).map_err(|error| ServeError::engine("sorting an imported table", error))?;
                writer.write(&batch, target, first)?;
            }
            let order = writer.close()?;
            match order.disorder() {
                None => Ok(()),
                Some(row) => Err(ServeError::engine("sorting an imported table", format!("row {row} of the result is out of order"))),
            }
        })
    }
}
