//! A table of the embedded engine: one Parquet file whose rows lie in the order in which they are served.
//!
//! The order is declared to the engine, so that a sort by time costs nothing and leaves rows with equal times as stored. The
//! variant with [`ROW_COLUMN`] also shows the number of each row in the file, which [`super::sql`] appends to every other sort.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::SystemTime;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::stats::Precision;
use datafusion::common::{ColumnStatistics, ScalarValue, Statistics};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::parquet::CachedParquetFileReaderFactory;
use datafusion::datasource::physical_plan::{FileScanConfigBuilder, ParquetSource};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::{DataFusionError, Result};
use datafusion::execution::object_store::ObjectStoreUrl;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::object_store::{ObjectMeta, path::Path as ObjectPath};
use datafusion::physical_expr::expressions::Column;
use datafusion::physical_expr::{LexOrdering, PhysicalSortExpr};
use datafusion::physical_plan::ExecutionPlan;
use parquet::arrow::RowNumber;

use super::cache::{Facts, InUse};
use super::error::ServeError;
use super::import::{Stored, counts};
use super::source::ROW_COLUMN;

/// One Parquet file in order.
#[derive(Debug, Clone)]
pub(crate) struct StoredTable {
    path: PathBuf,
    location: ObjectPath,
    bytes: u64,
    modified: SystemTime,
    columns: SchemaRef,
    /// The columns, and behind them [`ROW_COLUMN`] in the variant that shows it.
    schema: SchemaRef,
    time: Option<usize>,
    facts: Facts,
    /// Whether the facts are known.
    counted: bool,
    /// Rows of each second, where they were counted.
    counts: Option<Arc<StoredTable>>,
    /// Keeps the files of the cache from being removed.
    _in_use: Option<InUse>,
}

impl StoredTable {
    /// A table over a file; `time` is the column in whose order the rows were verified to lie.
    ///
    /// # Errors
    /// The file is gone.
    pub(crate) fn open(stored: &Stored, columns: SchemaRef, time: Option<usize>) -> std::result::Result<StoredTable, ServeError> {
        let path = stored.path.clone();
        let metadata = path.metadata().map_err(ServeError::file("read", &path))?;
        let modified = metadata.modified().map_err(ServeError::file("read", &path))?;
        let location = ObjectPath::from_absolute_path(&path).map_err(|error| ServeError::content(&path, None, error))?;
        let facts = stored.facts.clone();
        let counts = match &stored.counts {
            Some(path) => Some(Arc::new(StoredTable { time: Some(0), ..StoredTable::open_unordered(path, counts::columns(&columns))? })),
            None => None,
        };
        Ok(StoredTable {
            path,
            location,
            bytes: metadata.len(),
            modified,
            schema: Arc::clone(&columns),
            columns,
            time,
            facts,
            counted: true,
            counts,
            _in_use: stored.in_use.clone(),
        })
    }

    /// A table over a file of which nothing is known: rows come as stored, in no declared order.
    ///
    /// # Errors
    /// The file is gone.
    pub(crate) fn open_unordered(path: &Path, columns: SchemaRef) -> std::result::Result<StoredTable, ServeError> {
        let facts = Facts { in_place: false, rows: 0, first: None, last: None };
        let table = StoredTable::open(&Stored { path: path.to_owned(), facts, counts: None, in_use: None }, columns, None)?;
        Ok(StoredTable { counted: false, ..table })
    }

    /// Rows, first and last time.
    pub(crate) fn facts(&self) -> &Facts {
        &self.facts
    }

    /// The rows of each second and instrument, where they were counted: in order of the second.
    pub(crate) fn counts(&self) -> Option<&Arc<StoredTable>> {
        self.counts.as_ref()
    }

    /// The column that orders the rows.
    pub(crate) fn time(&self) -> Option<&str> {
        self.time.map(|index| self.columns.field(index).name().as_str())
    }

    /// The same table with the number of each row as its last column.
    pub(crate) fn with_row(&self) -> StoredTable {
        let fields = self.columns.fields().iter().map(|field| field.as_ref().clone()).chain([row_field()]);
        StoredTable { schema: Arc::new(Schema::new(fields.collect::<Vec<_>>())), ..self.clone() }
    }

    fn shows_row(&self) -> bool {
        self.schema.fields().len() > self.columns.fields().len()
    }

    /// Refuses a file that is no longer the one that was verified: its order and size were promised to the engine.
    fn unchanged(&self) -> Result<()> {
        let same = self.path.metadata().is_ok_and(|now| now.len() == self.bytes && now.modified().ok() == Some(self.modified));
        match same {
            true => Ok(()),
            false => {
                Err(DataFusionError::Execution(format!("{} changed since it was opened: restart tickscope to read it anew", self.path.display())))
            }
        }
    }

    /// Rows are ordered by time and row; a projection that drops the row leaves the order by time.
    fn ordering(&self) -> Option<LexOrdering> {
        let ascending = |index: usize| {
            let column = Column::new(self.schema.field(index).name(), index);
            PhysicalSortExpr::new(Arc::new(column), datafusion::arrow::compute::SortOptions { descending: false, nulls_first: false })
        };
        let row = self.shows_row().then_some(self.columns.fields().len());
        LexOrdering::new(self.time.into_iter().chain(row).map(ascending))
    }

    fn known(&self) -> Statistics {
        let mut statistics = Statistics::new_unknown(&self.schema);
        if !self.counted {
            return statistics;
        }
        statistics.num_rows = usize::try_from(self.facts.rows).map_or(Precision::Absent, Precision::Exact);
        let time = self.time.and_then(|index| Some((index, statistics.column_statistics.get_mut(index)?)));
        if let (Some((index, column)), Some(first), Some(last)) = (time, self.facts.first, self.facts.last) {
            let data_type = self.schema.field(index).data_type();
            if let (Some(min), Some(max)) = (moment(first, data_type), moment(last, data_type)) {
                *column = ColumnStatistics {
                    null_count: Precision::Exact(0),
                    min_value: Precision::Exact(min),
                    max_value: Precision::Exact(max),
                    ..ColumnStatistics::new_unknown()
                };
            }
        }
        statistics
    }
}

fn row_field() -> Field {
    Field::new(ROW_COLUMN, DataType::Int64, false).with_extension_type(RowNumber)
}

/// A value of a timestamp column as the engine's own.
fn moment(value: i64, data_type: &DataType) -> Option<ScalarValue> {
    let DataType::Timestamp(unit, zone) = data_type else { return None };
    let (value, zone) = (Some(value), zone.clone());
    Some(match unit {
        TimeUnit::Second => ScalarValue::TimestampSecond(value, zone),
        TimeUnit::Millisecond => ScalarValue::TimestampMillisecond(value, zone),
        TimeUnit::Microsecond => ScalarValue::TimestampMicrosecond(value, zone),
        TimeUnit::Nanosecond => ScalarValue::TimestampNanosecond(value, zone),
    })
}

#[async_trait]
impl TableProvider for StoredTable {
    fn schema(&self) -> SchemaRef {
        Arc::clone(&self.schema)
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn statistics(&self) -> Option<Statistics> {
        Some(self.known())
    }

    /// Filters skip row groups and pages; the engine still applies them to every row that is read.
    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        Ok(vec![TableProviderFilterPushDown::Inexact; filters.len()])
    }

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        _filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.unchanged()?;
        let mut table_schema = TableSchema::builder(Arc::clone(&self.columns));
        if self.shows_row() {
            table_schema = table_schema.with_virtual_columns(vec![Arc::new(row_field())]);
        }
        let url = ObjectStoreUrl::local_filesystem();
        let runtime = state.runtime_env();
        let footers = runtime.cache_manager.get_file_metadata_cache();
        let reader = CachedParquetFileReaderFactory::new(runtime.object_store(&url)?, footers);
        let source = ParquetSource::new(table_schema.build())
            .with_table_parquet_options(state.default_table_options().parquet)
            .with_parquet_file_reader_factory(Arc::new(reader));
        let meta = ObjectMeta { location: self.location.clone(), last_modified: self.modified.into(), size: self.bytes, e_tag: None, version: None };
        let config = FileScanConfigBuilder::new(url, Arc::new(source))
            .with_file(PartitionedFile::new_from_meta(meta))
            .with_output_ordering(self.ordering().into_iter().collect())
            .with_statistics(self.known())
            .with_preserve_order(true)
            .with_projection_indices(projection.cloned())?
            .with_limit(limit)
            .build();
        Ok(DataSourceExec::from_data_source(config))
    }
}
