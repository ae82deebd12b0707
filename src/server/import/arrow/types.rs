//! In which type a column of an Arrow file is served: the nearest one that holds every value exactly and that the wire has.
//!
//! ```text
//!  Float16                        Float32
//!  LargeUtf8, Utf8View, Null      Utf8;  LargeBinary, BinaryView: Binary
//!  Time32, Time64                 Int64, nanoseconds since midnight
//!  Duration                       Int64, in its own unit
//!  Decimal32                      Decimal64;  a decimal of negative scale: one of scale 0 with as many more digits
//!  Dictionary of a text           symbols;  of anything else: as its values
//!  RunEndEncoded                  as its values
//!  list, large list, list view, list of fixed size, of numbers or such lists    List of Int64 or Float64
//! ```
//!
//! A column of another type that the wire does not have (structs, maps, unions, intervals, lists of other things) is left out by
//! name; the rest of its table is served.

use std::sync::Arc;

use datafusion::arrow::array::{Array as _, ArrayRef};
use datafusion::arrow::compute::{CastOptions, can_cast_types, cast_with_options};
use datafusion::arrow::datatypes::{DataType, Field, Schema, TimeUnit};
use datafusion::arrow::error::ArrowError;

use crate::columnar::ResultSchema;
use crate::server::source::symbol_type;

/// The column as it is served; `None` when it cannot be.
pub(crate) fn served(field: &Field) -> Option<Field> {
    let data_type = nearest(field.data_type());
    let served = field.clone().with_data_type(data_type.clone());
    let on_the_wire = ResultSchema::new(Arc::new(Schema::new(vec![served.clone()]))).is_ok();
    (on_the_wire && can_convert(field.data_type(), &data_type)).then_some(served)
}

fn nearest(data_type: &DataType) -> DataType {
    match data_type {
        DataType::Float16 => DataType::Float32,
        DataType::LargeUtf8 | DataType::Utf8View | DataType::Null => DataType::Utf8,
        DataType::LargeBinary | DataType::BinaryView => DataType::Binary,
        DataType::Time32(_) | DataType::Time64(_) | DataType::Duration(_) => DataType::Int64,
        DataType::Dictionary(_, values) if matches!(**values, DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View) => symbol_type(),
        DataType::Dictionary(_, values) => nearest(values),
        DataType::RunEndEncoded(_, values) => nearest(values.data_type()),
        DataType::Decimal32(precision, scale)
        | DataType::Decimal64(precision, scale)
        | DataType::Decimal128(precision, scale)
        | DataType::Decimal256(precision, scale)
            if *scale < 0 =>
        {
            match precision.saturating_add(scale.unsigned_abs()) {
                digits @ 0..=18 => DataType::Decimal64(digits, 0),
                digits @ 19..=38 => DataType::Decimal128(digits, 0),
                digits @ 39..=76 => DataType::Decimal256(digits, 0),
                _ => data_type.clone(),
            }
        }
        DataType::Decimal32(precision, scale) => DataType::Decimal64(*precision, *scale),
        DataType::List(_) | DataType::LargeList(_) | DataType::FixedSizeList(..) | DataType::ListView(_) | DataType::LargeListView(_) => {
            list(data_type)
        }
        other => other.clone(),
    }
}

/// A list of the numbers that the wire has; what is no number stays, and is refused then.
fn list(data_type: &DataType) -> DataType {
    match data_type {
        DataType::List(item)
        | DataType::LargeList(item)
        | DataType::FixedSizeList(item, _)
        | DataType::ListView(item)
        | DataType::LargeListView(item) => DataType::List(Arc::new(item.as_ref().clone().with_data_type(list(item.data_type())))),
        DataType::Int8 | DataType::Int16 | DataType::Int32 | DataType::UInt8 | DataType::UInt16 | DataType::UInt32 => DataType::Int64,
        DataType::Float16 | DataType::Float32 => DataType::Float64,
        other => other.clone(),
    }
}

fn can_convert(from: &DataType, to: &DataType) -> bool {
    from == to || can_cast_types(from, to)
}

/// Brings values to the type in which they are served.
///
/// # Errors
/// A value that it does not hold.
pub(super) fn convert(column: &ArrayRef, to: &DataType) -> Result<ArrayRef, ArrowError> {
    // A value that does not fit is an error, not a null.
    let exact = CastOptions { safe: false, ..CastOptions::default() };
    match column.data_type() {
        from if from == to => Ok(Arc::clone(column)),
        DataType::Time32(_) | DataType::Time64(TimeUnit::Microsecond) => {
            let nanos = cast_with_options(column, &DataType::Time64(TimeUnit::Nanosecond), &exact)?;
            cast_with_options(&nanos, to, &exact)
        }
        _ => cast_with_options(column, to, &exact),
    }
}
