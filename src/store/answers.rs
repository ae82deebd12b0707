//! Record batches of catalogue answers → values. A store may send a text as VARCHAR or SYMBOL and a count in any integer width;
//! what it may not do is leave a column out.

use std::collections::BTreeSet;

use arrow_array::cast::AsArray;
use arrow_array::types::{Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampMicrosecondType, TimestampNanosecondType, UInt32Type};
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, TimeUnit as ArrowUnit};

use super::Key;
use super::windows::Counts;
use crate::link::{InstrumentInfo, TableInfo};
use crate::market::Value;
use crate::units::UnixNanos;

/// An answer that is not what was asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BadAnswer {
    /// Column.
    pub column: String,
    /// What is wrong with it.
    pub problem: String,
}

impl std::fmt::Display for BadAnswer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "column {:?} of the answer {}", self.column, self.problem)
    }
}

impl std::error::Error for BadAnswer {}

/// First and last time and number of rows; no times when there are no rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Bounds {
    /// Smallest and largest time.
    pub times: Option<(UnixNanos, UnixNanos)>,
    /// Rows.
    pub rows: u64,
}

/// A column of a table as the store names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NamedColumn {
    /// Name.
    pub name: String,
    /// QuestDB's type text.
    pub kind: String,
}

fn column<'a>(batch: &'a RecordBatch, name: &str) -> Result<&'a dyn Array, BadAnswer> {
    match batch.column_by_name(name) {
        Some(array) => Ok(array.as_ref()),
        None => Err(BadAnswer { column: name.to_owned(), problem: "is missing".to_owned() }),
    }
}

fn text(batch: &RecordBatch, name: &str, row: usize) -> Result<Option<String>, BadAnswer> {
    let array = column(batch, name)?;
    if array.is_null(row) {
        return Ok(None);
    }
    if let Some(strings) = array.as_string_opt::<i32>() {
        return Ok(Some(strings.value(row).to_owned()));
    }
    if let Some(dictionary) = array.as_dictionary_opt::<UInt32Type>()
        && let Some(values) = dictionary.values().as_string_opt::<i32>()
        && let Some(key) = dictionary.key(row)
    {
        return Ok(Some(values.value(key).to_owned()));
    }
    match integer(batch, name, row) {
        Ok(Some(number)) => Ok(Some(number.to_string())),
        _ => Err(BadAnswer { column: name.to_owned(), problem: format!("is {}, not text", array.data_type()) }),
    }
}

fn integer(batch: &RecordBatch, name: &str, row: usize) -> Result<Option<i64>, BadAnswer> {
    let array = column(batch, name)?;
    if array.is_null(row) {
        return Ok(None);
    }
    let value = match array.data_type() {
        DataType::Int8 => i64::from(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => i64::from(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => i64::from(array.as_primitive::<Int32Type>().value(row)),
        DataType::Int64 => array.as_primitive::<Int64Type>().value(row),
        DataType::UInt32 => i64::from(array.as_primitive::<UInt32Type>().value(row)),
        DataType::Decimal64(_, 0) => array.as_primitive::<Decimal64Type>().value(row),
        other => return Err(BadAnswer { column: name.to_owned(), problem: format!("is {other}, not an integer") }),
    };
    Ok(Some(value))
}

fn count(batch: &RecordBatch, name: &str, row: usize) -> Result<u64, BadAnswer> {
    let value = integer(batch, name, row)?.unwrap_or(0);
    u64::try_from(value).map_err(|_| BadAnswer { column: name.to_owned(), problem: format!("holds the count {value}") })
}

fn time(batch: &RecordBatch, name: &str, row: usize) -> Result<Option<UnixNanos>, BadAnswer> {
    let array = column(batch, name)?;
    if array.is_null(row) {
        return Ok(None);
    }
    let out_of_range = || BadAnswer { column: name.to_owned(), problem: "holds a time outside 1677 to 2262".to_owned() };
    match array.data_type() {
        DataType::Timestamp(ArrowUnit::Nanosecond, _) => Ok(Some(UnixNanos(array.as_primitive::<TimestampNanosecondType>().value(row)))),
        DataType::Timestamp(ArrowUnit::Microsecond, _) => {
            let micros = array.as_primitive::<TimestampMicrosecondType>().value(row);
            micros.checked_mul(1000).map(UnixNanos).map(Some).ok_or_else(out_of_range)
        }
        other => Err(BadAnswer { column: name.to_owned(), problem: format!("is {other}, not a time") }),
    }
}

fn rows(batches: &[RecordBatch]) -> impl Iterator<Item = (&RecordBatch, usize)> {
    batches.iter().flat_map(|batch| (0..batch.num_rows()).map(move |row| (batch, row)))
}

/// Reads the answer to [`super::Query::Tables`].
///
/// # Errors
/// [`BadAnswer`] when a column is missing or of another kind.
pub fn tables(batches: &[RecordBatch]) -> Result<Vec<TableInfo>, BadAnswer> {
    rows(batches)
        .map(|(batch, row)| {
            let note = if batch.column_by_name("note").is_some() { text(batch, "note", row)? } else { None };
            let designated = text(batch, "designatedTimestamp", row)?.filter(|name| !name.is_empty());
            let synthetic = note.as_deref().is_some_and(|note| note.starts_with("synthetic"));
            let (note, reason) = match designated {
                Some(_) => (note, None),
                None => (None, Some(note.unwrap_or_else(|| "no designated timestamp: its rows have no order to replay".to_owned()))),
            };
            Ok(TableInfo {
                name: text(batch, "table_name", row)?.unwrap_or_default(),
                rows: integer(batch, "table_row_count", row)?.and_then(|rows| u64::try_from(rows).ok()),
                designated,
                synthetic,
                note,
                reason,
                holds: String::new(),
                instruments: Vec::new(),
            })
        })
        .collect()
}

/// The tables of an answer to [`super::Query::Tables`] whose rows of each second the store has counted.
///
/// # Errors
/// As [`tables`].
pub fn tables_with_counts(batches: &[RecordBatch]) -> Result<BTreeSet<String>, BadAnswer> {
    let mut names = BTreeSet::new();
    for (batch, row) in rows(batches) {
        let has = batch.column_by_name("has_counts").and_then(|column| column.as_boolean_opt());
        if has.is_some_and(|has| has.is_valid(row) && has.value(row)) {
            names.extend(text(batch, "table_name", row)?);
        }
    }
    Ok(names)
}

/// Reads the answer to [`super::Query::Columns`].
///
/// # Errors
/// As [`tables`].
pub fn columns(batches: &[RecordBatch]) -> Result<Vec<NamedColumn>, BadAnswer> {
    rows(batches)
        .map(|(batch, row)| {
            Ok(NamedColumn { name: text(batch, "column", row)?.unwrap_or_default(), kind: text(batch, "type", row)?.unwrap_or_default() })
        })
        .collect()
}

/// An instrument as a store lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Listed {
    /// As it is shown.
    pub info: InstrumentInfo,
    /// What its rows have in common.
    pub key: Key,
    /// Its first and last time and rows.
    pub bounds: Bounds,
}

/// Reads the answer to [`super::Query::Instruments`], given the columns of symbol, publisher and instrument, where they exist.
///
/// # Errors
/// As [`tables`]; also for a publisher below zero.
pub fn instruments(
    batches: &[RecordBatch],
    symbol: Option<&str>,
    publisher: Option<&str>,
    instrument: Option<&str>,
) -> Result<Vec<Listed>, BadAnswer> {
    rows(batches)
        .map(|(batch, row)| {
            let number = |name: &str, id: i64| {
                u32::try_from(id).map_err(|_| BadAnswer { column: name.to_owned(), problem: format!("holds the publisher {id}") })
            };
            let mut key = Key::default();
            if let Some(name) = symbol {
                key.symbol = Some((name.to_owned(), text(batch, name, row)?));
            }
            if let Some(name) = publisher {
                key.publisher = Some((name.to_owned(), integer(batch, name, row)?.map(|id| number(name, id)).transpose()?));
            }
            if let Some(name) = instrument {
                let id = match integer(batch, name, row) {
                    Ok(id) => id.map(Value::Whole),
                    Err(_) => text(batch, name, row)?.map(Value::Text),
                };
                key.instrument = Some((name.to_owned(), id));
            }
            let id = key.instrument.as_ref().and_then(|(_, id)| id.as_ref()).map(|id| match id {
                Value::Text(name) => name.clone(),
                Value::Whole(id) => id.to_string(),
                Value::Truth(truth) => truth.to_string(),
            });
            let named = key.symbol.as_ref().and_then(|(_, symbol)| symbol.clone());
            let symbol = named.or_else(|| id.clone()).unwrap_or_default();
            let rows = count(batch, "event_count", row)?;
            let times = time(batch, "first_time", row)?.zip(time(batch, "last_time", row)?);
            let publisher = key.publisher.as_ref().and_then(|(_, publisher)| *publisher);
            Ok(Listed { info: InstrumentInfo { symbol, publisher, instrument: id, rows }, key, bounds: Bounds { times, rows } })
        })
        .collect()
}

/// Reads the answer to [`super::Query::Bounds`].
///
/// # Errors
/// As [`tables`].
pub fn bounds(batches: &[RecordBatch]) -> Result<Bounds, BadAnswer> {
    let Some((batch, row)) = rows(batches).next() else { return Ok(Bounds::default()) };
    let times = time(batch, "first_time", row)?.zip(time(batch, "last_time", row)?);
    Ok(Bounds { times, rows: count(batch, "event_count", row)? })
}

/// Reads the answer to [`super::Query::Anchor`].
///
/// # Errors
/// As [`tables`].
pub fn anchor(batches: &[RecordBatch]) -> Result<Option<UnixNanos>, BadAnswer> {
    match rows(batches).next() {
        Some((batch, row)) => time(batch, "anchor_time", row),
        None => Ok(None),
    }
}

/// Reads the answer to [`super::Query::Counts`] and [`super::Query::SecondCounts`].
///
/// # Errors
/// As [`tables`]; also for a bucket before the first.
pub fn counts(batches: &[RecordBatch], from: UnixNanos, width: i64) -> Result<Counts, BadAnswer> {
    let mut buckets = rows(batches)
        .map(|(batch, row)| Ok((count(batch, "bucket", row)?, count(batch, "event_count", row)?)))
        .collect::<Result<Vec<_>, BadAnswer>>()?;
    buckets.sort_unstable();
    Ok(Counts { from, width, buckets })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Int64Array, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray};

    use super::*;

    fn batch(columns: Vec<(&str, ArrayRef)>) -> Vec<RecordBatch> {
        vec![RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()]
    }

    #[test]
    fn bounds_keep_their_nanoseconds() {
        let exact = 1_703_547_232_863_772_099;
        let answer = batch(vec![
            ("first_time", Arc::new(TimestampNanosecondArray::from(vec![exact])) as ArrayRef),
            ("last_time", Arc::new(TimestampMicrosecondArray::from(vec![exact / 1000]))),
            ("event_count", Arc::new(Int64Array::from(vec![3]))),
        ]);
        let bounds = bounds(&answer).unwrap();
        assert_eq!(bounds, Bounds { times: Some((UnixNanos(exact), UnixNanos(exact / 1000 * 1000))), rows: 3 });
    }

    #[test]
    fn a_table_without_a_designated_timestamp_says_that_it_has_no_order() {
        let answer = batch(vec![
            ("table_name", Arc::new(StringArray::from(vec!["a", "b"])) as ArrayRef),
            ("designatedTimestamp", Arc::new(StringArray::from(vec![Some("ts"), None]))),
            ("table_row_count", Arc::new(Int64Array::from(vec![Some(5), None]))),
        ]);
        let tables = tables(&answer).unwrap();
        assert_eq!((tables[0].designated.as_deref(), tables[0].rows, tables[0].reason.as_deref()), (Some("ts"), Some(5), None));
        assert!(tables[1].reason.as_deref().unwrap().contains("no order"));
    }

    #[test]
    fn a_missing_column_is_named() {
        let answer = batch(vec![("x", Arc::new(Int64Array::from(vec![1])) as ArrayRef)]);
        assert_eq!(anchor(&answer), Err(BadAnswer { column: "anchor_time".to_owned(), problem: "is missing".to_owned() }));
    }
}
