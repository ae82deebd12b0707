//! The case table of `tests/wire_sessions.rs` as a module for a browser: 32-bit sizes, no files, the same cases.
//! The browser tests compile it, fetch the recorded sessions into a page, and compare the counts with the native run's.

#![cfg(target_arch = "wasm32")]

use wasm_bindgen::prelude::*;

#[path = "../support/sessions.rs"]
mod sessions;

/// Replays one recorded session; answers how many values and batches it compared.
///
/// # Errors
/// What differs.
#[wasm_bindgen]
pub fn check_session(name: &str, frames: &[u8], session: &str, expected: Option<String>) -> Result<Vec<u64>, JsError> {
    let report = sessions::check_session(name, frames, session, expected.as_deref()).map_err(|why| JsError::new(&why))?;
    Ok(vec![report.cells, report.cells_encoded, report.batches, report.requests])
}
