//! Queries as SQL, for QuestDB and for the embedded engine (DataFusion).
//!
//! Neither gets an ORDER BY for rows: a plain or filtered scan comes in designated order on both, ties as stored, while a sort may
//! permute ties in DataFusion.

use super::{AnchorRows, BadName, Key, Least, MAX_TABLES, Place, Query, SizeForm, TimeColumn, TimeUnit, Trades};
use crate::link::StoreKind;
use crate::market::Value;
use crate::units::{Scale, UnixNanos};

/// The statement for a query.
///
/// # Errors
/// [`BadName`] when a table, column or symbol cannot be quoted.
pub fn render(query: &Query, kind: StoreKind) -> Result<String, BadName> {
    let sql = match query {
        Query::Tables => {
            let note = match kind {
                StoreKind::Embedded => ", note, has_counts",
                StoreKind::Questdb => "",
            };
            format!("SELECT table_name, \"designatedTimestamp\", table_row_count{note} FROM tables() LIMIT {MAX_TABLES}")
        }
        Query::Columns { table } => format!("SELECT \"column\", \"type\" FROM table_columns({})", text(table)?),
        Query::Instruments { table, time, key, symbol, most } => {
            let columns = key.iter().map(|column| name(column)).collect::<Result<Vec<_>, _>>()?.join(", ");
            let (table, time) = (name(table)?, name(&time.name)?);
            let only = Key { symbol: symbol.clone().map(|(column, symbol)| (column, Some(symbol))), ..Key::default() };
            let only = where_all(&key_conditions(&only)?);
            format!(
                "SELECT {columns}, count(*) AS event_count, min({time}) AS first_time, max({time}) AS last_time FROM {table}{only} \
                 GROUP BY {columns} ORDER BY event_count DESC, {columns} LIMIT {most}"
            )
        }
        Query::Bounds { place, from, to } => {
            let time = name(&place.time.name)?;
            let mut conditions = conditions(place, kind)?;
            conditions.extend(from.map(|from| at_least(&time, &place.time, from, kind)));
            conditions.extend(to.map(|to| below(&time, &place.time, to, kind)));
            format!(
                "SELECT min({time}) AS first_time, max({time}) AS last_time, count(*) AS event_count FROM {}{}",
                name(&place.table)?,
                where_all(&conditions)
            )
        }
        Query::Anchor { place, rows, from, to } => {
            let time = name(&place.time.name)?;
            let mut conditions = conditions(place, kind)?;
            conditions.push(at_least(&time, &place.time, *from, kind));
            conditions.push(below(&time, &place.time, *to, kind));
            match rows {
                AnchorRows::Snapshots { action, flags: None } => conditions.push(format!("{} = 'R'", name(action)?)),
                AnchorRows::Snapshots { action, flags: Some(flags) } => {
                    conditions.push(format!("({} = 'R' OR {})", name(action)?, bit_set(flags, 32)?));
                }
                AnchorRows::Marked { column, values } => conditions.push(one_of(column, values)?),
                AnchorRows::GroupEnds { flags: None } => {}
                AnchorRows::GroupEnds { flags: Some(flags) } => conditions.push(bit_set(flags, 128)?),
            }
            format!("SELECT max({time}) AS anchor_time FROM {}{}", name(&place.table)?, where_all(&conditions))
        }
        Query::Counts { place, origin, from, to, width } => counts(place, *origin, (*from, *to), *width, kind)?,
        Query::SecondCounts { place, origin, from, to, width } => {
            let time = TimeColumn { name: "second".to_owned(), unit: TimeUnit::Nanos };
            let mut conditions = vec![at_least("second", &time, *from, kind), below("second", &time, *to, kind)];
            conditions.extend(key_conditions(&place.key)?);
            format!(
                "SELECT (CAST(second AS BIGINT) - {origin}) / {} AS bucket, sum(event_count) AS event_count FROM second_counts({}){} \
                 GROUP BY bucket ORDER BY bucket",
                width.max(&1),
                text(&place.table)?,
                where_all(&conditions)
            )
        }
        Query::Rows { place, columns, from, to, limit, skip } => {
            let time = name(&place.time.name)?;
            let mut conditions = vec![at_least(&time, &place.time, *from, kind), below(&time, &place.time, *to, kind)];
            conditions.extend(self::conditions(place, kind)?);
            let limit = match (limit, skip, kind) {
                (None, 0, _) => String::new(),
                (None, skip, StoreKind::Embedded) => format!(" OFFSET {skip}"),
                (None, skip, StoreKind::Questdb) => format!(" LIMIT {skip}, {}", i64::MAX),
                (Some(limit), 0, _) => format!(" LIMIT {limit}"),
                (Some(limit), skip, StoreKind::Embedded) => format!(" LIMIT {limit} OFFSET {skip}"),
                (Some(limit), skip, StoreKind::Questdb) => format!(" LIMIT {skip}, {}", skip.saturating_add(*limit)),
            };
            format!("SELECT {} FROM {}{}{limit}", names(columns)?, name(&place.table)?, where_all(&conditions))
        }
        Query::RowsAt { place, columns, times, limit } => {
            let time = name(&place.time.name)?;
            // A list in DataFusion, whose planner goes as deep as a chain of ORs is long; for QuestDB, to which IN of times means
            // intervals, the chain.
            let first = times.iter().min().copied().unwrap_or_default();
            let last = times.iter().max().copied().unwrap_or_default();
            let literals = times.iter().map(|at| literal(&place.time, *at, kind));
            let exact = match kind {
                StoreKind::Embedded => format!("{time} IN ({})", literals.collect::<Vec<_>>().join(", ")),
                StoreKind::Questdb => format!("({})", literals.map(|at| format!("{time} = {at}")).collect::<Vec<_>>().join(" OR ")),
            };
            let mut conditions = vec![at_least(&time, &place.time, first, kind)];
            conditions.push(below(&time, &place.time, UnixNanos(last.0.saturating_add(1)), kind));
            if times.len() > 1 {
                conditions.push(exact);
            }
            conditions.extend(self::conditions(place, kind)?);
            format!("SELECT {} FROM {}{} LIMIT {limit}", names(columns)?, name(&place.table)?, where_all(&conditions))
        }
    };
    Ok(sql)
}

/// Buckets are numbered from `origin`, so that both dialects divide integers and no calendar is involved.
fn counts(place: &Place, origin: UnixNanos, (from, to): (UnixNanos, UnixNanos), width: i64, kind: StoreKind) -> Result<String, BadName> {
    let time = name(&place.time.name)?;
    let mut conditions = vec![at_least(&time, &place.time, from, kind), below(&time, &place.time, to, kind)];
    conditions.extend(self::conditions(place, kind)?);
    let (start, width) = match place.time.unit {
        TimeUnit::Nanos => (origin.0, width.max(1)),
        TimeUnit::Micros => (ceil_micros(origin), (width / 1000).max(1)),
    };
    let number = match kind {
        StoreKind::Embedded => format!("CAST({time} AS BIGINT)"),
        StoreKind::Questdb => format!("CAST({time} AS LONG)"),
    };
    Ok(format!(
        "SELECT ({number} - {start}) / {width} AS bucket, count(*) AS event_count FROM {}{} GROUP BY bucket ORDER BY bucket",
        name(&place.table)?,
        where_all(&conditions)
    ))
}

fn names(columns: &[String]) -> Result<String, BadName> {
    Ok(columns.iter().map(|column| name(column)).collect::<Result<Vec<_>, _>>()?.join(", "))
}

/// Which rows of the table a place has, whatever their time.
fn conditions(place: &Place, kind: StoreKind) -> Result<Vec<String>, BadName> {
    let mut all = key_conditions(&place.key)?;
    if let Some(Trades { action, price, least }) = &place.trades {
        if let Some((column, words)) = action {
            all.push(one_of(column, words)?);
        }
        all.push(format!("{} IS NOT NULL", name(price)?));
        if let Some(Least { column, form, size }) = least {
            // Whole numbers reach a fraction where they reach the whole number above it.
            let size = match (form, kind) {
                (SizeForm::Whole, _) => size.ceil_at(Scale(0)).to_string(),
                (SizeForm::Decimal, StoreKind::Embedded) => format!("CAST('{size}' AS DECIMAL(38, 18))"),
                (SizeForm::Decimal, StoreKind::Questdb) => format!("{size}m"),
                (SizeForm::Double, StoreKind::Embedded) => format!("CAST('{size}' AS DOUBLE)"),
                (SizeForm::Double, StoreKind::Questdb) => size.to_string(),
                (SizeForm::Float, StoreKind::Embedded) => format!("CAST('{size}' AS FLOAT)"),
                (SizeForm::Float, StoreKind::Questdb) => format!("CAST({size} AS FLOAT)"),
            };
            all.push(format!("{} >= {size}", name(column)?));
        }
    }
    Ok(all)
}

/// A column has one of the values.
fn one_of(column: &str, values: &[Value]) -> Result<String, BadName> {
    let column = name(column)?;
    let equal = values.iter().map(|value| Ok(format!("{column} = {}", literal_of(value)?))).collect::<Result<Vec<_>, BadName>>()?;
    Ok(if equal.len() == 1 { equal.concat() } else { format!("({})", equal.join(" OR ")) })
}

fn literal_of(value: &Value) -> Result<String, BadName> {
    Ok(match value {
        Value::Text(word) => text(word)?,
        Value::Whole(number) => number.to_string(),
        Value::Truth(truth) => truth.to_string(),
    })
}

fn key_conditions(key: &Key) -> Result<Vec<String>, BadName> {
    let mut all = Vec::new();
    let mut is = |column: &str, value: Option<String>| -> Result<(), BadName> {
        let column = name(column)?;
        all.push(value.map_or_else(|| format!("{column} IS NULL"), |value| format!("{column} = {value}")));
        Ok(())
    };
    if let Some((column, symbol)) = &key.symbol {
        is(column, symbol.as_deref().map(text).transpose()?)?;
    }
    if let Some((column, publisher)) = &key.publisher {
        is(column, publisher.map(|id| id.to_string()))?;
    }
    if let Some((column, instrument)) = &key.instrument {
        is(column, instrument.as_ref().map(literal_of).transpose()?)?;
    }
    Ok(all)
}

fn where_all(conditions: &[String]) -> String {
    if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) }
}

fn bit_set(column: &str, bit: u8) -> Result<String, BadName> {
    Ok(format!("({} & {bit}) <> 0", name(column)?))
}

fn at_least(name: &str, time: &TimeColumn, at: UnixNanos, kind: StoreKind) -> String {
    format!("{name} >= {}", literal(time, at, kind))
}

fn below(name: &str, time: &TimeColumn, at: UnixNanos, kind: StoreKind) -> String {
    format!("{name} < {}", literal(time, at, kind))
}

/// A bound in the column's own unit. A microsecond column holds no time between two microseconds, so rounding up is exact at
/// both ends: `t >= ns` and `t < ns` mean the same for ceil(ns / 1000).
fn literal(time: &TimeColumn, at: UnixNanos, kind: StoreKind) -> String {
    let value = match time.unit {
        // The smallest number is null in QuestDB, and not a literal in SQL that negates a positive one.
        TimeUnit::Nanos => at.0.max(i64::MIN + 1),
        TimeUnit::Micros => ceil_micros(at),
    };
    match (kind, time.unit) {
        (StoreKind::Questdb, _) => value.to_string(),
        (StoreKind::Embedded, TimeUnit::Nanos) => format!("to_timestamp_nanos({value})"),
        (StoreKind::Embedded, TimeUnit::Micros) => format!("to_timestamp_micros({value})"),
    }
}

fn ceil_micros(at: UnixNanos) -> i64 {
    at.0.div_euclid(1000) + i64::from(at.0.rem_euclid(1000) != 0)
}

/// A quoted name.
fn name(plain: &str) -> Result<String, BadName> {
    quoted(plain, '"')
}

/// A quoted text.
fn text(plain: &str) -> Result<String, BadName> {
    quoted(plain, '\'')
}

fn quoted(plain: &str, quote: char) -> Result<String, BadName> {
    if plain.chars().any(char::is_control) {
        return Err(BadName(plain.to_owned()));
    }
    let mut out = String::with_capacity(plain.len() + 2);
    out.push(quote);
    for character in plain.chars() {
        if character == quote {
            out.push(quote);
        }
        out.push(character);
    }
    out.push(quote);
    Ok(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn place(unit: TimeUnit) -> Place {
        Place {
            table: "es".to_owned(),
            time: TimeColumn { name: "ts_recv".to_owned(), unit },
            key: Key {
                symbol: Some(("symbol".to_owned(), Some("O'X".to_owned()))),
                publisher: Some(("publisher_id".to_owned(), Some(1))),
                instrument: None,
            },
            trades: None,
        }
    }

    #[test]
    fn rows_are_asked_for_to_the_nanosecond_and_without_a_sort() {
        let query = Query::Rows {
            place: place(TimeUnit::Nanos),
            columns: vec!["ts_recv".to_owned(), "price".to_owned()],
            from: UnixNanos(1_793_106_000_004_680_005),
            to: UnixNanos(1_793_106_000_004_680_006),
            limit: Some(10),
            skip: 0,
        };
        assert_eq!(
            render(&query, StoreKind::Questdb).unwrap(),
            "SELECT \"ts_recv\", \"price\" FROM \"es\" WHERE \"ts_recv\" >= 1793106000004680005 AND \"ts_recv\" < 1793106000004680006 \
             AND \"symbol\" = 'O''X' AND \"publisher_id\" = 1 LIMIT 10"
        );
        assert!(render(&query, StoreKind::Embedded).unwrap().contains("\"ts_recv\" >= to_timestamp_nanos(1793106000004680005)"));
    }

    #[test]
    fn a_microsecond_column_is_bounded_by_the_next_microsecond_at_both_ends() {
        let query = Query::Bounds { place: place(TimeUnit::Micros), from: Some(UnixNanos(1_001)), to: Some(UnixNanos(-1_001)) };
        let sql = render(&query, StoreKind::Questdb).unwrap();
        assert!(sql.contains("\"ts_recv\" >= 2 AND \"ts_recv\" < -1"), "{sql}");
    }

    #[test]
    fn names_are_quoted_and_control_characters_refused() {
        assert_eq!(name("a\"b").unwrap(), "\"a\"\"b\"");
        assert_eq!(render(&Query::Columns { table: "a\nb".to_owned() }, StoreKind::Embedded), Err(BadName("a\nb".to_owned())));
    }

    #[test]
    fn rows_without_a_symbol_or_id_are_an_instrument_of_their_own() {
        let key = Key {
            symbol: Some(("symbol".to_owned(), None)),
            publisher: None,
            instrument: Some(("instrument_id".to_owned(), Some(Value::Whole(-5)))),
        };
        let query = Query::Bounds { place: Place { key, ..place(TimeUnit::Nanos) }, from: None, to: None };
        assert!(render(&query, StoreKind::Questdb).unwrap().ends_with("WHERE \"symbol\" IS NULL AND \"instrument_id\" = -5"));
    }

    #[test]
    fn instruments_of_one_symbol_may_be_told_by_their_venue() {
        let venue = |column: &str| Key { instrument: Some((column.to_owned(), Some(Value::Text("EB'S".to_owned())))), ..Key::default() };
        let query = Query::Bounds { place: Place { key: venue("ecn"), ..place(TimeUnit::Nanos) }, from: None, to: None };
        assert!(render(&query, StoreKind::Embedded).unwrap().ends_with("WHERE \"ecn\" = 'EB''S'"));
        assert!(!venue("ecn").is_counted() && venue("Instrument_ID").is_counted() && Key::default().is_counted());
        assert!(!Key { symbol: Some(("ticker".to_owned(), None)), ..Key::default() }.is_counted());
    }

    #[test]
    fn rows_are_told_by_words_numbers_and_marks() {
        let values = [(Value::Text("T".into()), "'T'"), (Value::Whole(4), "4"), (Value::Truth(true), "true")];
        for (value, literal) in values {
            let rows = AnchorRows::Marked { column: "mark".to_owned(), values: vec![value.clone()] };
            let query = Query::Anchor { place: place(TimeUnit::Nanos), rows, from: UnixNanos(5), to: UnixNanos(10) };
            assert!(render(&query, StoreKind::Questdb).unwrap().contains(&format!("\"mark\" = {literal}")));
            let trades = Some(Trades { action: Some(("kind".to_owned(), vec![value.clone(), value])), price: "price".to_owned(), least: None });
            let query = Query::Bounds { place: Place { trades, ..place(TimeUnit::Nanos) }, from: None, to: None };
            assert!(render(&query, StoreKind::Embedded).unwrap().contains(&format!("(\"kind\" = {literal} OR \"kind\" = {literal})")));
        }
    }

    #[test]
    fn one_symbol_of_many_can_be_asked_for() {
        let time = TimeColumn { name: "ts".to_owned(), unit: TimeUnit::Nanos };
        let symbol = Some(("symbol".to_owned(), "O'X".to_owned()));
        let query = Query::Instruments { table: "t".to_owned(), time, key: vec!["symbol".to_owned()], symbol, most: 3 };
        assert!(render(&query, StoreKind::Embedded).unwrap().contains("FROM \"t\" WHERE \"symbol\" = 'O''X' GROUP BY"));
    }

    #[test]
    fn a_book_begins_at_a_clear_or_a_snapshot() {
        let query = Query::Anchor {
            place: place(TimeUnit::Nanos),
            rows: AnchorRows::Snapshots { action: "action".to_owned(), flags: Some("flags".to_owned()) },
            from: UnixNanos(5),
            to: UnixNanos(10),
        };
        let sql = render(&query, StoreKind::Questdb).unwrap();
        assert!(sql.contains("(\"action\" = 'R' OR (\"flags\" & 32) <> 0)") && sql.starts_with("SELECT max(\"ts_recv\") AS anchor_time"), "{sql}");
    }
}
