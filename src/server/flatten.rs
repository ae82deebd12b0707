//! What the engine can produce and the wire has no layout for, brought to the nearest type that holds every value exactly.
//!
//! ```text
//!  RunEndEncoded, Dictionary of anything but text   their values
//!  Float16                                          Float32
//!  Time32, Time64                                   Int64: nanoseconds since midnight
//!  Duration                                         Int64: nanoseconds (one that does not fit is an error)
//!  LargeList, FixedSizeList, ListView, LargeListView, List, at any depth, of
//!    Int8 to Int64, UInt8 to UInt64                 List of … of Int64 (an element over i64 is an error)
//!    Float16, Float32, Float64                      List of … of Float64
//! ```
//! What [`crate::columnar::ResultSchema`] does not take afterwards is refused there by name.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};

use super::sql::QueryError;
use crate::wire::status;

/// How the columns of one result are brought there.
pub(crate) struct Flattened {
    schema: SchemaRef,
    /// For each column the types it goes through; none when it travels as it is.
    steps: Vec<Vec<DataType>>,
}

impl Flattened {
    /// For results of this schema.
    pub(crate) fn new(schema: &SchemaRef) -> Flattened {
        let steps: Vec<Vec<DataType>> = schema.fields().iter().map(|field| steps(field.data_type())).collect();
        let fields = schema.fields().iter().zip(&steps).map(|(field, steps)| match steps.last() {
            Some(last) => Arc::new(field.as_ref().clone().with_data_type(last.clone())),
            None => Arc::clone(field),
        });
        let schema = Arc::new(Schema::new(fields.collect::<Vec<_>>()));
        Flattened { schema, steps }
    }

    /// The schema of the flattened rows.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The rows of a batch, flattened.
    ///
    /// # Errors
    /// A value that its type does not hold.
    pub(crate) fn batch(&self, batch: RecordBatch) -> Result<RecordBatch, QueryError> {
        if self.steps.iter().all(Vec::is_empty) {
            return Ok(batch);
        }
        // A value that does not fit is an error, not a null.
        let exact = CastOptions { safe: false, ..CastOptions::default() };
        let refused = |text: String| QueryError::at(status::INTERNAL_ERROR, None, text);
        let columns = batch.columns().iter().zip(self.schema.fields()).zip(&self.steps).map(|((column, field), steps)| {
            steps.iter().try_fold(Arc::clone(column), |column, next| {
                cast_with_options(&column, next, &exact).map_err(|error| refused(format!("column {:?}: {error}; cast it in the query", field.name())))
            })
        });
        let columns = columns.collect::<Result<Vec<_>, _>>()?;
        RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(|error| refused(error.to_string()))
    }
}

/// A field as it travels.
pub(crate) fn flat_field(field: &Field) -> Field {
    match steps(field.data_type()).pop() {
        Some(last) => field.clone().with_data_type(last),
        None => field.clone(),
    }
}

/// The types that a column goes through; none when it needs no change or has no exact form.
fn steps(data_type: &DataType) -> Vec<DataType> {
    let mut steps = Vec::new();
    let mut now = data_type.clone();
    while let Some(next) = step(&now).filter(|next| can_cast_types(&now, next)) {
        steps.push(next.clone());
        now = next;
    }
    steps
}

fn step(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::RunEndEncoded(_, values) => Some(values.data_type().clone()),
        DataType::Dictionary(_, values) if !matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => {
            Some(values.as_ref().clone())
        }
        DataType::Float16 => Some(DataType::Float32),
        DataType::Time64(TimeUnit::Nanosecond) | DataType::Duration(TimeUnit::Nanosecond) => Some(DataType::Int64),
        DataType::Time32(_) | DataType::Time64(_) => Some(DataType::Time64(TimeUnit::Nanosecond)),
        DataType::Duration(_) => Some(DataType::Duration(TimeUnit::Nanosecond)),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::ListView(_) | DataType::LargeListView(_) => {
            list(data_type).filter(|plain| plain != data_type)
        }
        _ => None,
    }
}

/// Lists of lists of the wide type of their numbers.
fn list(data_type: &DataType) -> Option<DataType> {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => {
            let item = item.as_ref().clone();
            let inner = list(item.data_type())?;
            Some(DataType::List(Arc::new(item.with_data_type(inner))))
        }
        DataType::Float16 | DataType::Float32 | DataType::Float64 => Some(DataType::Float64),
        integer if integer.is_integer() => Some(DataType::Int64),
        _ => None,
    }
}
