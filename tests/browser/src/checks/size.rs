//! How much of the page goes over the wire before it can start.

use std::io::Write as _;

use crate::browser::Driver;
use crate::server;

/// The page's module as a web server would send it, at most.
const MOST: usize = 1_000_000;
/// Of 0 to 11.
const LEVEL: u32 = 9;

/// The module is at most a megabyte by brotli, at a level that takes seconds; at the best it is smaller still.
pub async fn the_module_is_at_most_a_megabyte_on_the_wire(_: &Driver) -> Result<(), String> {
    let (raw, bytes) = module(LEVEL)?;
    println!("the page's module: {raw} bytes, {bytes} by brotli at level {LEVEL}");
    if bytes <= MOST { Ok(()) } else { Err(format!("the page's module is {bytes} bytes by brotli, more than {MOST}")) }
}

/// Bytes of the page's module, as it is and compressed.
///
/// # Errors
/// When it is not there.
pub fn module(level: u32) -> Result<(usize, usize), String> {
    let file = server::root().join("target/page/tickscope_bg.wasm");
    let module = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let compress = || -> std::io::Result<usize> {
        let mut compressed = brotli::CompressorWriter::new(Vec::new(), 1 << 16, level, 24);
        compressed.write_all(&module)?;
        compressed.flush()?;
        Ok(compressed.into_inner().len())
    };
    Ok((module.len(), compress().map_err(|error| format!("brotli: {error}"))?))
}
