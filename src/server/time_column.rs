//! Which column of a table orders it.

use datafusion::arrow::datatypes::{DataType, Schema, TimeUnit};

/// Names that are taken for the time of a row, the best first, when a table has several timestamp columns.
const KNOWN_NAMES: [&str; 5] = ["ts_recv", "ts", "timestamp", "time", "ts_event"];

/// Finds the column that orders a table: the asked one, else the one that the file's metadata names, else the only timestamp
/// column, else the first of [`KNOWN_NAMES`]. Returns its index.
///
/// # Errors
/// A sentence that says what was looked for and what to do.
pub(crate) fn choose(schema: &Schema, asked: Option<&str>, declared: Option<&str>) -> Result<usize, String> {
    let timestamps: Vec<usize> = (0..schema.fields().len()).filter(|&i| is_time(schema.field(i).data_type())).collect();
    let listed = || timestamps.iter().map(|&i| schema.field(i).name().as_str()).collect::<Vec<_>>().join(", ");
    if let Some(name) = asked {
        return match schema.index_of(name) {
            Ok(index) if timestamps.contains(&index) => Ok(index),
            Ok(index) => Err(format!("--time {name} is a column of {}, not of timestamps", schema.field(index).data_type())),
            Err(_) => Err(format!("--time {name} is not one of its columns; its timestamp columns are: {}", listed())),
        };
    }
    let named = |name: &str| timestamps.iter().copied().find(|&i| schema.field(i).name() == name);
    if let Some(index) = declared.and_then(named) {
        return Ok(index);
    }
    match timestamps.as_slice() {
        [] => Err("none of its columns is a timestamp".to_owned()),
        [only] => Ok(*only),
        _ => KNOWN_NAMES
            .into_iter()
            .find_map(named)
            .ok_or_else(|| format!("it has several timestamp columns ({}): choose one with --time COL", listed())),
    }
}

/// Whether values of that type are moments.
pub(crate) fn is_time(data_type: &DataType) -> bool {
    matches!(data_type, DataType::Timestamp(_, _))
}

/// Microseconds since 1970 of a value of a timestamp column, cut; `None` where the microseconds do not fit.
pub(crate) fn micros(value: i64, unit: TimeUnit) -> Option<i64> {
    match unit {
        TimeUnit::Second => value.checked_mul(1_000_000),
        TimeUnit::Millisecond => value.checked_mul(1_000),
        TimeUnit::Microsecond => Some(value),
        TimeUnit::Nanosecond => Some(value.div_euclid(1_000)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use datafusion::arrow::datatypes::Field;

    fn schema(columns: &[(&str, bool)]) -> Schema {
        let field = |&(name, time): &(&str, bool)| {
            Field::new(name, if time { DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())) } else { DataType::Int64 }, true)
        };
        Schema::new(columns.iter().map(field).collect::<Vec<_>>())
    }

    #[test]
    fn asked_comes_before_declared_before_only_before_known() {
        let two = schema(&[("a", false), ("ts_event", true), ("ts_recv", true), ("z", true)]);
        assert_eq!(choose(&two, Some("z"), Some("ts_event")), Ok(3));
        assert_eq!(choose(&two, None, Some("ts_event")), Ok(1));
        assert_eq!(choose(&two, None, Some("gone")), Ok(2));
        assert_eq!(choose(&schema(&[("a", false), ("z", true)]), None, None), Ok(1));
    }

    #[test]
    fn what_is_ambiguous_or_missing_is_said() {
        assert!(choose(&schema(&[("a", true), ("b", true)]), None, None).unwrap_err().contains("a, b"));
        assert!(choose(&schema(&[("ts", false)]), None, None).unwrap_err().contains("none"));
        assert!(choose(&schema(&[("ts", false)]), Some("ts"), None).unwrap_err().contains("Int64"));
        assert!(choose(&schema(&[("t", true)]), Some("ts"), None).unwrap_err().contains("its timestamp columns are: t"));
    }

    #[test]
    fn micros_are_cut_downwards() {
        assert_eq!(micros(-1, TimeUnit::Nanosecond), Some(-1));
        assert_eq!(micros(1_999, TimeUnit::Nanosecond), Some(1));
        assert_eq!(micros(i64::MAX, TimeUnit::Second), None);
    }
}
