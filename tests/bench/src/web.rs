//! The passes as a module for a browser.

use wasm_bindgen::prelude::*;

use crate::{Frames, Stage, pass};

/// A workload's messages, read once.
#[wasm_bindgen]
pub struct Bench(Frames);

#[wasm_bindgen]
impl Bench {
    /// Takes the form that [`Frames::to_file`] writes.
    #[wasm_bindgen(constructor)]
    pub fn new(file: &[u8]) -> Bench {
        Bench(Frames::from_file(file))
    }

    /// One pass; answers rows, Arrow bytes and the digest in hex.
    ///
    /// # Errors
    /// What went wrong.
    pub fn pass(&self, stage: &str) -> Result<Vec<String>, JsError> {
        let stage = Stage::ALL.into_iter().find(|known| known.name() == stage).ok_or_else(|| JsError::new("no such stage"))?;
        let totals = pass(&self.0, stage).map_err(|why| JsError::new(&why.to_string()))?;
        Ok(vec![totals.rows.to_string(), totals.arrow_bytes.to_string(), format!("{:016x}", totals.digest)])
    }
}
