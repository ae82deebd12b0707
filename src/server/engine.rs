//! The embedded engine as this server uses it: one partition, no writing, a limit on memory.

use std::sync::Arc;

use datafusion::error::Result;
use datafusion::execution::runtime_env::{RuntimeEnv, RuntimeEnvBuilder};
use datafusion::prelude::{SessionConfig, SessionContext};

/// Rows of a batch inside the engine; a frame holds at most as many.
pub(crate) const BATCH_ROWS: usize = 16_384;
/// What sorts, groups and joins may hold before they spill to disk or are refused.
pub(crate) const MEMORY_LIMIT_BYTES: usize = 512 << 20;

/// Functions whose result is as long as an argument says: one of a gigabyte is not counted against the limit. No query needs them.
const FUNCTIONS_THAT_GROW: [&str; 3] = ["repeat", "lpad", "rpad"];

/// What all queries and imports share: the memory limit, spill files, cached footers.
///
/// # Errors
/// No place for spill files.
pub(crate) fn runtime() -> Result<Arc<RuntimeEnv>> {
    RuntimeEnvBuilder::new().with_memory_limit(MEMORY_LIMIT_BYTES, 1.0).build_arc()
}

/// A session in which the order of a scan is the order of its result.
pub(crate) fn session(runtime: &Arc<RuntimeEnv>) -> SessionContext {
    // More than one partition would interleave rows.
    let mut config = SessionConfig::new()
        .with_target_partitions(1)
        .with_batch_size(BATCH_ROWS)
        .with_repartition_file_scans(false)
        .with_repartition_joins(false)
        .with_repartition_aggregations(false)
        .with_repartition_windows(false)
        .with_repartition_sorts(false)
        .with_round_robin_repartition(false)
        .with_information_schema(false);
    // A price in a condition is compared as it is written, not as the nearest floating-point number.
    config.options_mut().sql_parser.parse_float_as_decimal = true;
    // Errors then know where in the statement they are.
    config.options_mut().sql_parser.collect_spans = true;
    // Names are taken as written: `designatedTimestamp` needs no quotes.
    config.options_mut().sql_parser.enable_ident_normalization = false;
    let context = SessionContext::new_with_config_rt(config, Arc::clone(runtime));
    for name in FUNCTIONS_THAT_GROW {
        context.deregister_udf(name);
    }
    context
}
