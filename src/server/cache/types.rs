//! The types that were found for text files, so that they are not read for them again.

use std::fmt::Write as _;
use std::fs;

use xxhash_rust::xxh3::xxh3_128;

use super::{Cache, FORMAT_VERSION, write_files};
use crate::server::error::ServeError;
use crate::server::import::csv::TypedColumn;
use crate::server::source::InputFile;

/// Extension of the files that hold types.
pub(super) const TYPES: &str = "types";

/// All that the types depend on.
fn key(files: &[InputFile], time: Option<&str>) -> String {
    let mut text = String::new();
    let _ = writeln!(text, "{FORMAT_VERSION} types {time:?}");
    write_files(&mut text, files);
    text
}

impl Cache {
    /// The types that were found for these files as they are, with that column asked to order them.
    pub(crate) fn types(&self, files: &[InputFile], time: Option<&str>) -> Option<Vec<TypedColumn>> {
        let key = key(files, time);
        let (known, columns): (String, Vec<TypedColumn>) = serde_json::from_slice(&fs::read(self.types_path(&key)).ok()?).ok()?;
        (known == key).then_some(columns)
    }

    /// Writes the types that were found for these files.
    ///
    /// # Errors
    /// They cannot be written.
    pub(crate) fn remember_types(&self, files: &[InputFile], time: Option<&str>, columns: &[TypedColumn]) -> Result<(), ServeError> {
        let key = key(files, time);
        let text = serde_json::to_vec(&(&key, columns)).map_err(|error| ServeError::engine("writing the cache", error))?;
        let scratch = self.scratch_file();
        fs::write(&scratch.path, text).map_err(ServeError::file("write", &scratch.path))?;
        scratch.rename(&self.types_path(&key))
    }

    fn types_path(&self, key: &str) -> std::path::PathBuf {
        self.dir.join(format!("{:032x}.{TYPES}", xxh3_128(key.as_bytes())))
    }
}
