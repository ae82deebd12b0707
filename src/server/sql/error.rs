//! What is wrong with a statement, in the form of the wire: a status, a character position, a text.

use std::fmt;

use datafusion::common::SchemaError;
use datafusion::error::DataFusionError;

use crate::wire::status;

/// Why a query failed. Its text form is `[position] what`, position −1 where there is none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct QueryError {
    /// One of [`status`].
    pub(crate) status: u8,
    /// Characters before the place in the statement.
    pub(crate) position: Option<usize>,
    /// What is wrong.
    pub(crate) problem: String,
}

impl fmt::Display for QueryError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.position {
            Some(position) => write!(f, "[{position}] {}", self.problem),
            None => write!(f, "[-1] {}", self.problem),
        }
    }
}

impl QueryError {
    /// An error of our own.
    pub(crate) fn at(status: u8, position: Option<usize>, problem: impl Into<String>) -> QueryError {
        QueryError { status, position, problem: problem.into() }
    }

    /// An error of the engine while a query runs: no place in the statement is known any more.
    pub(crate) fn running(error: &DataFusionError) -> QueryError {
        QueryError::of(error, "", "", 0)
    }

    /// An error of the engine. `text` is the statement as it was sent; `sql` as it was parsed, with `shift` characters before it.
    pub(crate) fn of(error: &DataFusionError, text: &str, sql: &str, shift: usize) -> QueryError {
        let root = error.find_root();
        let at_span = error.diagnostic().and_then(|diagnostic| diagnostic.span).map(|span| (span.start.line, span.start.column));
        let (status, place, problem) = match root {
            DataFusionError::SQL(parser, _) => {
                let message = parser.to_string();
                let (problem, place) = split_parser_message(&message);
                // The parser names no place where the text ended too early.
                let place = place.or_else(|| problem.ends_with("found: EOF").then(|| end(sql)));
                (status::PARSE_ERROR, place, problem.to_owned())
            }
            DataFusionError::SchemaError(schema, _) => match schema.as_ref() {
                SchemaError::FieldNotFound { field, .. } => {
                    let place = at_span.or_else(|| find_word(sql, &field.name));
                    (status::PARSE_ERROR, place, format!("Invalid column: {}", field.name))
                }
                other => (status::PARSE_ERROR, at_span, other.to_string()),
            },
            DataFusionError::ResourcesExhausted(what) => (status::LIMIT_EXCEEDED, None, format!("breached memory limit: {what}")),
            DataFusionError::Plan(what) | DataFusionError::NotImplemented(what) => (status::PARSE_ERROR, at_span, what.clone()),
            other => (status::INTERNAL_ERROR, at_span, other.message().into_owned()),
        };
        let position = place.and_then(|(line, column)| character(sql, line, column)).map(|at| at.saturating_sub(shift));
        let position = position.map(|at| at.min(text.chars().count()));
        QueryError { status, position, problem: problem.lines().map(str::trim).collect::<Vec<_>>().join(" ") }
    }
}

/// Splits "what at Line: 1, Column: 15": the parser reports places only so.
fn split_parser_message(message: &str) -> (&str, Option<(u64, u64)>) {
    let message = message.strip_prefix("sql parser error: ").unwrap_or(message);
    let parsed = message.rsplit_once(" at Line: ").and_then(|(what, place)| {
        let (line, column) = place.split_once(", Column: ")?;
        Some((what, (line.trim().parse().ok()?, column.trim().parse().ok()?)))
    });
    match parsed {
        Some((what, place)) => (what, Some(place)),
        None => (message, None),
    }
}

/// Characters before a place that is given by line and column, both counted from 1.
pub(super) fn character(sql: &str, line: u64, column: u64) -> Option<usize> {
    let line = usize::try_from(line).ok()?.checked_sub(1)?;
    let column = usize::try_from(column).ok()?.checked_sub(1)?;
    let mut before = 0;
    for (number, text) in sql.split('\n').enumerate() {
        let length = text.chars().count();
        if number == line {
            return Some(before + column.min(length));
        }
        before += length + 1;
    }
    None
}

/// Behind the last character that is no blank, by line and column.
fn end(sql: &str) -> (u64, u64) {
    let text = sql.trim_end();
    let last = text.rsplit('\n').next().unwrap_or_default();
    (text.matches('\n').count() as u64 + 1, last.chars().count() as u64 + 1)
}

/// Where a name first stands as a word of its own, by line and column.
fn find_word(sql: &str, word: &str) -> Option<(u64, u64)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_';
    for (number, line) in sql.split('\n').enumerate() {
        for (at, _) in line.match_indices(word).filter(|_| !word.is_empty()) {
            let before = line.get(..at).and_then(|text| text.chars().next_back());
            let after = line.get(at + word.len()..).and_then(|text| text.chars().next());
            if !before.is_some_and(is_part) && !after.is_some_and(is_part) {
                let column = line.get(..at).map_or(0, |text| text.chars().count());
                return Some((number as u64 + 1, column as u64 + 1));
            }
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_become_characters() {
        assert_eq!(character("select x", 1, 8), Some(7));
        assert_eq!(character("é\nselect x", 2, 8), Some(9));
        assert_eq!(character("a", 1, 9), Some(1));
        assert_eq!(character("a", 2, 1), None);
        assert_eq!(character("a", 0, 1), None);
    }

    #[test]
    fn the_parsers_message_is_split() {
        let message = "sql parser error: Expected: an expression, found: FROM at Line: 1, Column: 8";
        assert_eq!(split_parser_message(message), ("Expected: an expression, found: FROM", Some((1, 8))));
        assert_eq!(split_parser_message("x at Line: y"), ("x at Line: y", None));
    }

    #[test]
    fn a_name_is_found_as_a_word() {
        assert_eq!(find_word("select noper,\n é + nope", "nope"), Some((2, 6)));
        assert_eq!(find_word("select noper", "nope"), None);
        assert_eq!(find_word("select", ""), None);
    }

    #[test]
    fn no_position_is_minus_one() {
        assert_eq!(QueryError::at(6, None, "x").to_string(), "[-1] x");
        assert_eq!(QueryError::at(5, Some(3), "x").to_string(), "[3] x");
    }
}
