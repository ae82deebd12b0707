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
    let file = server::root().join("target/page/tickscope_bg.wasm");
    let module = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let compress = || -> std::io::Result<usize> {
        let mut compressed = brotli::CompressorWriter::new(Vec::new(), 1 << 16, LEVEL, 24);
        compressed.write_all(&module)?;
        compressed.flush()?;
        Ok(compressed.into_inner().len())
    };
    let bytes = compress().map_err(|error| format!("brotli: {error}"))?;
    println!("the page's module: {} bytes, {bytes} by brotli at level {LEVEL}", module.len());
    if bytes <= MOST { Ok(()) } else { Err(format!("the page's module is {bytes} bytes by brotli, more than {MOST}")) }
}
