//! Statements of the embedded store: what is accepted, and how its rows get their order.
//!
//! Accepted are queries (`SELECT`, `WITH`, `VALUES`), `EXPLAIN` of one, and the functions `tables()`, `table_columns('t')` and
//! `second_counts('t')` alone. Names are taken as written, upper and lower case apart, so that column names like `designatedTimestamp` need no quotes.

use std::ops::ControlFlow;
use std::sync::Arc;

use datafusion::common::{ParamValues, TableReference};
use datafusion::dataframe::DataFrame;
use datafusion::execution::SendableRecordBatchStream;
use datafusion::execution::runtime_env::RuntimeEnv;
use datafusion::logical_expr::LogicalPlan;
use datafusion::prelude::{SQLOptions, SessionContext};
use datafusion::sql::parser::{DFParser, Statement};
use datafusion::sql::sqlparser::ast::{ObjectName, Spanned as _, Statement as SqlStatement, Visit as _, Visitor};
use datafusion::sql::sqlparser::dialect::GenericDialect;
use datafusion::sql::sqlparser::keywords::Keyword;
use datafusion::sql::sqlparser::tokenizer::{Token, Tokenizer, Word};

use super::catalog::{Catalog, TableState};
use super::engine;
use super::functions;
use super::table::StoredTable;
use crate::wire::status;

mod binds;
mod error;
mod order;

pub(crate) use binds::values;
pub(crate) use error::QueryError;
use error::character;

/// What a statement turned out to be.
pub(crate) enum Opened {
    /// No statement at all: blanks or comments.
    Nothing,
    /// Rows to come.
    Rows(SendableRecordBatchStream),
}

/// Runs statements.
#[derive(Clone)]
pub(crate) struct Sql {
    context: SessionContext,
    catalog: Arc<Catalog>,
}

impl Sql {
    /// A runner over the tables of a catalogue; tables are made known with [`Sql::add`].
    pub(crate) fn new(runtime: &Arc<RuntimeEnv>, catalog: Arc<Catalog>) -> Sql {
        let context = engine::session(runtime);
        functions::register(&context, &catalog);
        Sql { context, catalog }
    }

    /// Makes a table known to queries.
    ///
    /// # Errors
    /// The engine refuses it.
    pub(crate) fn add(&self, name: &str, table: Arc<StoredTable>) -> datafusion::error::Result<()> {
        self.context.register_table(TableReference::bare(name), table).map(|_| ())
    }

    /// Plans a statement and opens its rows. Nothing is read from it before its first batch is asked for.
    ///
    /// # Errors
    /// What is wrong with the statement, and where in its text.
    pub(crate) async fn open(&self, text: &str, binds: ParamValues) -> Result<Opened, QueryError> {
        let (sql, shift) = complete(text);
        let failed = |error| QueryError::of(&error, text, &sql, shift);
        if operators(&sql) > MAX_OPERATORS {
            let problem = format!("the statement has more than {MAX_OPERATORS} operators: write a list as x IN (…), or ask in parts");
            return Err(QueryError::at(status::PARSE_ERROR, Some(0), problem));
        }
        let mut statements = DFParser::parse_sql(&sql).map_err(failed)?;
        let Some(statement) = statements.pop_front() else { return Ok(Opened::Nothing) };
        if !statements.is_empty() {
            return Err(QueryError::at(status::PARSE_ERROR, None, "one statement at a time, please"));
        }
        if !is_read_only(&statement) {
            let refusal =
                "the embedded store is read only: it takes SELECT, WITH, VALUES, EXPLAIN, tables(), table_columns('t') and second_counts('t')";
            return Err(QueryError::at(status::SECURITY_ERROR, Some(0), refusal));
        }
        let state = self.context.state();
        for reference in state.resolve_table_references(&statement).map_err(failed)? {
            self.check_table(&reference, &statement, &sql, shift)?;
        }
        let plan = state.statement_to_plan(statement).await.map_err(failed)?;
        let read_only = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
        read_only.verify_plan(&plan).map_err(failed)?;
        let plan: LogicalPlan = order::break_ties(plan).map_err(failed)?;
        let plan = plan.with_param_values(binds).map_err(failed)?;
        DataFrame::new(state, plan).execute_stream().await.map(Opened::Rows).map_err(failed)
    }

    /// A table that is not there, or not yet, is said so, with its place in the text.
    fn check_table(&self, reference: &TableReference, statement: &Statement, sql: &str, shift: usize) -> Result<(), QueryError> {
        let name = reference.table();
        let problem = match self.catalog.table(name).map(|table| table.state) {
            Some(TableState::Ready(_)) => return Ok(()),
            Some(TableState::Importing(progress)) => format!("table {name} is being imported: {}", progress.describe()),
            Some(TableState::Failed(_, error)) => format!("table {name} could not be imported: {error}"),
            None if functions::is_table_function(name) => return Ok(()),
            None => format!("table does not exist [table={name}]"),
        };
        let mut finder = FindRelation { name, found: None };
        if let Some(statement) = query_of(statement) {
            let _ = statement.visit(&mut finder);
        }
        let position = finder.found.and_then(|(line, column)| character(sql, line, column)).map(|at| at.saturating_sub(shift));
        Err(QueryError::at(status::PARSE_ERROR, position, problem))
    }
}

/// Each operator may be a level of the tree that a statement becomes, and planner and execution walk that tree by recursion: a longer
/// chain would overflow the stack, which ends the process. [`super::STACK_BYTES`] has room for so many.
const MAX_OPERATORS: usize = 1_000;

/// Operators of a statement, and keywords that join like one. A text that is no SQL has none: the parser says what is wrong with it.
fn operators(sql: &str) -> usize {
    let joins = |word: &Word| {
        use Keyword::{AND, BETWEEN, CASE, EXCEPT, FROM, INTERSECT, IS, JOIN, LIKE, NOT, OR, UNION, WITH};
        matches!(word.keyword, AND | BETWEEN | CASE | EXCEPT | FROM | INTERSECT | IS | JOIN | LIKE | NOT | OR | UNION | WITH)
    };
    let plain = |token: &Token| match token {
        Token::Word(word) => !joins(word),
        Token::Number(..) | Token::Comma | Token::Whitespace(_) | Token::LParen | Token::RParen | Token::Period | Token::SemiColon => true,
        token => matches!(token, Token::SingleQuotedString(_) | Token::DoubleQuotedString(_) | Token::Placeholder(_)),
    };
    Tokenizer::new(&GenericDialect {}, sql).tokenize().map_or(0, |tokens| tokens.iter().filter(|token| !plain(token)).count())
}

/// A table function alone is a statement in QuestDB. Returns the full statement and how many characters stand before the given text.
fn complete(text: &str) -> (String, usize) {
    const PREFIX: &str = "SELECT * FROM ";
    let trimmed = text.trim_start();
    let name_end = trimmed.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_')).unwrap_or(trimmed.len());
    let (name, rest) = trimmed.split_at_checked(name_end).unwrap_or((trimmed, ""));
    if functions::is_table_function(name) && rest.trim_start().starts_with('(') {
        return (format!("{PREFIX}{text}"), PREFIX.len());
    }
    (text.to_owned(), 0)
}

/// The query inside a statement that reads.
fn query_of(statement: &Statement) -> Option<&SqlStatement> {
    match statement {
        Statement::Statement(inner) if matches!(**inner, SqlStatement::Query(_)) => Some(inner),
        Statement::Explain(explain) => query_of(&explain.statement),
        _ => None,
    }
}

fn is_read_only(statement: &Statement) -> bool {
    query_of(statement).is_some()
}

/// Where a table is named first.
struct FindRelation<'a> {
    name: &'a str,
    found: Option<(u64, u64)>,
}

impl Visitor for FindRelation<'_> {
    type Break = ();

    fn pre_visit_relation(&mut self, relation: &ObjectName) -> ControlFlow<()> {
        let last = relation.0.last().and_then(|part| part.as_ident());
        if last.is_some_and(|ident| ident.value == self.name) {
            let start = relation.span().start;
            self.found = Some((start.line, start.column));
            return ControlFlow::Break(());
        }
        ControlFlow::Continue(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_bare_table_function_is_completed() {
        assert_eq!(complete(" tables() LIMIT 2"), ("SELECT * FROM  tables() LIMIT 2".to_owned(), 14));
        assert_eq!(complete("table_columns ('a')").1, 14);
        for text in ["SELECT 1", "tables", "tablesx()", "", "(SELECT 1)", "é"] {
            assert_eq!(complete(text), (text.to_owned(), 0));
        }
    }

    #[test]
    fn operators_are_counted_and_lists_are_not() {
        assert_eq!(operators("SELECT a, b.c FROM t WHERE a IN (1, 2, 3) AND (b = 'x OR y' OR NOT c)"), 5);
        assert_eq!(operators("SELECT 'unterminated"), 0);
    }

    #[test]
    fn what_writes_is_not_read_only() {
        let parsed = |sql: &str| DFParser::parse_sql(sql).unwrap().pop_front().unwrap();
        for sql in ["SELECT 1", "WITH a AS (SELECT 1) SELECT * FROM a", "VALUES (1)", "EXPLAIN SELECT 1", "EXPLAIN ANALYZE SELECT 1"] {
            assert!(is_read_only(&parsed(sql)), "{sql}");
        }
        for sql in [
            "COPY (SELECT 1) TO 'x.parquet'",
            "CREATE TABLE a AS SELECT 1",
            "CREATE EXTERNAL TABLE a STORED AS PARQUET LOCATION 'x'",
            "INSERT INTO a VALUES (1)",
            "SET datafusion.execution.batch_size = 1",
            "DROP TABLE a",
            "EXPLAIN COPY (SELECT 1) TO 'x.parquet'",
            "PREPARE p AS SELECT 1",
            "RESET datafusion.execution.batch_size",
            "DELETE FROM a",
        ] {
            assert!(!is_read_only(&parsed(sql)), "{sql}");
        }
    }
}
