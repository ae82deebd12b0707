//! `tables()` and `table_columns('t')`, with the names and types of QuestDB's columns, so that a client's catalogue code is one;
//! `second_counts('t')`, the rows of each second and instrument of an imported table.

use std::sync::Arc;

use datafusion::arrow::array::{ArrayRef, BooleanArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt16Array};
use datafusion::arrow::datatypes::{DataType, Field, Schema};
use datafusion::catalog::{TableFunctionArgs, TableFunctionImpl, TableProvider};
use datafusion::common::ScalarValue;
use datafusion::datasource::MemTable;
use datafusion::error::{DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::prelude::SessionContext;

use super::catalog::{Catalog, TableEntry};
use super::flatten::flat_field;
use super::table::StoredTable;
use super::time_column;
use crate::columnar::{ResultSchema, metadata};
use crate::wire::ColumnType;

const TABLES: &str = "tables";
const TABLE_COLUMNS: &str = "table_columns";
const SECOND_COUNTS: &str = "second_counts";

/// Whether that name is one of the functions here.
pub(crate) fn is_table_function(name: &str) -> bool {
    [TABLES, TABLE_COLUMNS, SECOND_COUNTS].contains(&name)
}

/// Makes the functions known to a session.
pub(crate) fn register(context: &SessionContext, catalog: &Arc<Catalog>) {
    context.register_udtf(TABLES, Arc::new(Tables(Arc::clone(catalog))));
    context.register_udtf(TABLE_COLUMNS, Arc::new(TableColumns(Arc::clone(catalog))));
    context.register_udtf(SECOND_COUNTS, Arc::new(SecondCounts(Arc::clone(catalog))));
}

#[derive(Debug)]
struct Tables(Arc<Catalog>);

impl TableFunctionImpl for Tables {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        if !args.exprs().is_empty() {
            return Err(DataFusionError::Plan("tables() takes no argument".to_owned()));
        }
        let tables = self.0.tables();
        let text = |value: fn(&TableEntry) -> Option<String>| -> ArrayRef { Arc::new(tables.iter().map(value).collect::<StringArray>()) };
        let no = || -> ArrayRef { Arc::new(BooleanArray::from(vec![false; tables.len()])) };
        let rows = tables.iter().map(|table| i64::try_from(table.ready()?.facts().rows).ok());
        let has_counts = tables.iter().map(|table| Some(table.ready().is_some_and(|table| table.counts().is_some())));
        let ids = (1..).take(tables.len());
        table(vec![
            ("id", Arc::new(Int32Array::from_iter_values(ids))),
            ("table_name", text(|table| Some(table.source.name.clone()))),
            ("designatedTimestamp", text(|table| table.source.designated().map(str::to_owned))),
            ("partitionBy", text(|_| Some("NONE".to_owned()))),
            ("walEnabled", no()),
            ("dedup", no()),
            ("matView", no()),
            ("table_suspended", no()),
            ("table_type", Arc::new(UInt16Array::from(vec![u16::from(b'T'); tables.len()]))),
            ("table_row_count", Arc::new(rows.collect::<Int64Array>())),
            ("table_min_timestamp", bound(&tables, |table| table.ready()?.facts().first)),
            ("table_max_timestamp", bound(&tables, |table| table.ready()?.facts().last)),
            ("note", text(TableEntry::note)),
            ("has_counts", Arc::new(has_counts.collect::<BooleanArray>())),
        ])
    }
}

/// A bound of each table in microseconds, whatever the unit of its time column: as QuestDB has it.
fn bound(tables: &[TableEntry], value: fn(&TableEntry) -> Option<i64>) -> ArrayRef {
    let micros = tables.iter().map(|table| {
        let DataType::Timestamp(unit, _) = table.source.schema.field(table.source.time?).data_type() else { return None };
        time_column::micros(value(table)?, *unit)
    });
    Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
}

#[derive(Debug)]
struct TableColumns(Arc<Catalog>);

impl TableFunctionImpl for TableColumns {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let entry = named(&self.0, &args, TABLE_COLUMNS)?;
        let fields = entry.source.schema.fields();
        let designated = (0..fields.len()).map(|index| Some(entry.source.time == Some(index)));
        let no = || -> ArrayRef { Arc::new(BooleanArray::from(vec![false; fields.len()])) };
        table(vec![
            ("column", Arc::new(StringArray::from_iter_values(fields.iter().map(|field| field.name())))),
            ("type", Arc::new(fields.iter().map(|field| type_text(field)).collect::<StringArray>())),
            ("indexed", no()),
            ("designated", Arc::new(designated.collect::<BooleanArray>())),
            ("upsertKey", no()),
        ])
    }
}

/// The table that the only argument of a function names.
fn named(catalog: &Catalog, args: &TableFunctionArgs, function: &str) -> Result<TableEntry> {
    let [Expr::Literal(ScalarValue::Utf8(Some(name)) | ScalarValue::Utf8View(Some(name)), _)] = args.exprs() else {
        return Err(DataFusionError::Plan(format!("{function} takes the name of a table: {function}('t')")));
    };
    catalog.table(name).ok_or_else(|| DataFusionError::Plan(format!("table does not exist [table={name}]")))
}

#[derive(Debug)]
struct SecondCounts(Arc<Catalog>);

impl TableFunctionImpl for SecondCounts {
    fn call_with_args(&self, args: TableFunctionArgs) -> Result<Arc<dyn TableProvider>> {
        let entry = named(&self.0, &args, SECOND_COUNTS)?;
        let counts = entry.ready().and_then(StoredTable::counts);
        let counts = counts.ok_or_else(|| {
            let name = &entry.source.name;
            let why = match entry.ready() {
                None => entry.note().unwrap_or_default(),
                Some(table) if table.facts().in_place => "its file is read in place".to_owned(),
                Some(_) => "it has no times, or some outside of what nanoseconds hold".to_owned(),
            };
            DataFusionError::Plan(format!("the rows of each second of table {name} were not counted ({why}): group the table itself"))
        })?;
        Ok(Arc::clone(counts) as Arc<dyn TableProvider>)
    }
}

/// What QuestDB calls the type in which a column travels; null where it has no form on the wire and must be cast.
fn type_text(field: &Field) -> Option<String> {
    let field = &flat_field(field);
    let schema = ResultSchema::new(Arc::new(Schema::new(vec![field.clone()]))).ok()?;
    let text = match schema.columns().first()?.column_type {
        ColumnType::TimestampNanos => "TIMESTAMP_NS",
        ColumnType::Ipv4 => "IPv4",
        ColumnType::Decimal64 | ColumnType::Decimal128 | ColumnType::Decimal256 => {
            return match field.data_type() {
                DataType::Decimal32(precision, scale)
                | DataType::Decimal64(precision, scale)
                | DataType::Decimal128(precision, scale)
                | DataType::Decimal256(precision, scale) => Some(format!("DECIMAL({precision},{scale})")),
                _ => None,
            };
        }
        ColumnType::DoubleArray => return Some(format!("DOUBLE{}", dimensions(field.data_type()))),
        ColumnType::LongArray => return Some(format!("LONG{}", dimensions(field.data_type()))),
        ColumnType::Geohash => return Some(format!("GEOHASH({}b)", field.metadata().get(metadata::GEOHASH_BITS)?)),
        other => return Some(other.name().to_ascii_uppercase()),
    };
    Some(text.to_owned())
}

fn dimensions(data_type: &DataType) -> String {
    match data_type {
        DataType::List(item) => format!("[]{}", dimensions(item.data_type())),
        _ => String::new(),
    }
}

/// A table of columns; only one that holds a null may: a BOOLEAN that might be null would travel as INT. `table_type` is one UTF-16 unit, which the wire is told so.
fn table(columns: Vec<(&str, ArrayRef)>) -> Result<Arc<dyn TableProvider>> {
    let field = |(name, column): &(&str, ArrayRef)| {
        let field = Field::new(*name, column.data_type().clone(), column.null_count() > 0);
        match column.data_type() {
            DataType::UInt16 => field.with_metadata([(metadata::COLUMN_TYPE.to_owned(), ColumnType::Char.name().to_owned())].into()),
            _ => field,
        }
    };
    let schema = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
    let batch = RecordBatch::try_new(Arc::clone(&schema), columns.into_iter().map(|(_, column)| column).collect())?;
    Ok(Arc::new(MemTable::try_new(schema, vec![vec![batch]])?))
}
