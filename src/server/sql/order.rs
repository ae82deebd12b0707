//! Makes every sort of a stored table end in the number of the row, so that rows that are equal in its keys keep the stored order.
//!
//! The engine's sorts are unstable. Where a sort stands over a table with only filters, projections, aliases, limits and window
//! functions between, the row number is carried up to it and dropped again above. Over groups, joins and unions rows have no
//! stored order to keep.

use std::sync::Arc;

use datafusion::common::tree_node::Transformed;
use datafusion::common::{Column, Result};
use datafusion::datasource::{provider_as_source, source_as_provider};
use datafusion::logical_expr::expr::Sort as SortExpr;
use datafusion::logical_expr::logical_plan::TableScanBuilder;
use datafusion::logical_expr::logical_plan::builder::LogicalPlanBuilder;
use datafusion::logical_expr::{Expr, Filter, Limit, LogicalPlan, Projection, Sort, SubqueryAlias, TableScan, Window};
use std::any::Any;

use crate::server::source::ROW_COLUMN;
use crate::server::table::StoredTable;

/// Rewrites the sorts of a plan, those of its subqueries too.
///
/// # Errors
/// The engine refuses a rewritten node.
pub(super) fn break_ties(plan: LogicalPlan) -> Result<LogicalPlan> {
    plan.transform_up_with_subqueries(|node| match node {
        LogicalPlan::Sort(sort) => with_tie_key(sort),
        other => Ok(Transformed::no(other)),
    })
    .map(|transformed| transformed.data)
}

fn with_tie_key(sort: Sort) -> Result<Transformed<LogicalPlan>> {
    let Some(carried) = carry(&sort.input)? else { return Ok(Transformed::no(LogicalPlan::Sort(sort))) };
    let visible: Vec<Expr> = sort.input.schema().columns().into_iter().map(Expr::Column).collect();
    let mut keys = sort.expr;
    // A descending sort shows the newest first, so among equal times the last row comes first.
    let descending = match carried.time.as_ref().and_then(|time| keys.iter().find(|key| is_column(&key.expr, time))) {
        Some(key) => !key.asc,
        None => keys.last().is_some_and(|key| !key.asc),
    };
    keys.push(SortExpr::new(Expr::Column(carried.row), !descending, descending));
    let sorted = LogicalPlan::Sort(Sort { expr: keys, input: Arc::new(carried.plan), fetch: sort.fetch });
    LogicalPlanBuilder::from(sorted).project(visible)?.build().map(Transformed::yes)
}

/// A plan that also delivers the row number.
struct Carried {
    plan: LogicalPlan,
    row: Column,
    /// Name of the table's time column.
    time: Option<String>,
}

/// The same plan with the row number as a further column; `None` where its rows have no stored order.
fn carry(plan: &LogicalPlan) -> Result<Option<Carried>> {
    Ok(match plan {
        LogicalPlan::TableScan(scan) => carry_scan(scan)?,
        LogicalPlan::Filter(filter) => over(&filter.input, |input| Filter::try_new(filter.predicate.clone(), input).map(LogicalPlan::Filter))?,
        LogicalPlan::Limit(limit) => {
            over(&limit.input, |input| Ok(LogicalPlan::Limit(Limit { skip: limit.skip.clone(), fetch: limit.fetch.clone(), input })))?
        }
        LogicalPlan::Window(window) => over(&window.input, |input| Window::try_new(window.window_expr.clone(), input).map(LogicalPlan::Window))?,
        LogicalPlan::SubqueryAlias(alias) => {
            over(&alias.input, |input| SubqueryAlias::try_new(input, alias.alias.clone()).map(LogicalPlan::SubqueryAlias))?
        }
        LogicalPlan::Projection(projection) => match carry(&projection.input)? {
            Some(below) => {
                let mut columns = projection.expr.clone();
                columns.push(Expr::Column(below.row));
                located(LogicalPlan::Projection(Projection::try_new(columns, Arc::new(below.plan))?), below.time)
            }
            None => None,
        },
        _ => None,
    })
}

fn over(input: &LogicalPlan, build: impl FnOnce(Arc<LogicalPlan>) -> Result<LogicalPlan>) -> Result<Option<Carried>> {
    match carry(input)? {
        Some(below) => Ok(located(build(Arc::new(below.plan))?, below.time)),
        None => Ok(None),
    }
}

fn carry_scan(scan: &TableScan) -> Result<Option<Carried>> {
    let Ok(provider) = source_as_provider(&scan.source) else { return Ok(None) };
    let Some(table) = (provider.as_ref() as &dyn Any).downcast_ref::<StoredTable>() else { return Ok(None) };
    let time = table.time().map(str::to_owned);
    let source = provider_as_source(Arc::new(table.with_row()));
    let row = source.schema().fields().len().saturating_sub(1);
    let projection = scan.projection.clone().map(|mut columns| {
        columns.push(row);
        columns
    });
    let scan = TableScanBuilder::new(scan.table_name.clone(), source)
        .with_projection(projection)
        .with_filters(scan.filters.clone())
        .with_fetch(scan.fetch)
        .build()?;
    Ok(located(LogicalPlan::TableScan(scan), time))
}

/// Finds the row number among the columns of a plan.
fn located(plan: LogicalPlan, time: Option<String>) -> Option<Carried> {
    let row = plan.schema().columns().into_iter().find(|column| column.name == ROW_COLUMN)?;
    Some(Carried { plan, row, time })
}

fn is_column(expr: &Expr, name: &str) -> bool {
    matches!(expr, Expr::Column(column) if column.name == name)
}
