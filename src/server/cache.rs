//! The directory of imported files. An entry is named after everything that its content depends on, so a changed file gets a new one.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::Read as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};
use xxhash_rust::xxh3::xxh3_128;

use super::error::ServeError;
use super::import::counts;
use super::source::{Format, InputFile, TableSource};

mod contents;
mod types;

pub use contents::{cache_clear, cache_report};

/// Raised when the same input would be imported differently.
const FORMAT_VERSION: u32 = 2;

/// Extension of what is written beside an entry.
const ENTRY: &str = "json";
/// Start of the name of a file that is being written; then what names this process.
const SCRATCH: &str = "unfinished";
/// Directory of files that were given to the page.
const UPLOADS: &str = "uploads";

/// Where imported files are kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum CachePlace {
    /// The user's cache directory, `…/tickscope`.
    #[default]
    User,
    /// A directory, made if it is not there.
    Dir(PathBuf),
    /// A directory of this run, removed at its end.
    Temporary,
}

/// What is known of a table in order without reading it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Facts {
    /// The user's own file is in order and is read where it is.
    pub(crate) in_place: bool,
    /// Rows.
    pub(crate) rows: u64,
    /// Time of the first row, in the column's own unit.
    pub(crate) first: Option<i64>,
    /// Time of the last.
    pub(crate) last: Option<i64>,
}

/// What is written beside an entry.
#[derive(Debug, Serialize, Deserialize)]
struct Entry {
    /// Of the program that wrote it: [`FORMAT_VERSION`].
    version: u32,
    /// All that the name was made from: a second table with the same name is told apart by it.
    key: String,
    /// Name of the table, for people.
    table: String,
    /// What it was made from.
    files: Vec<InputFile>,
    facts: Facts,
}

/// Names an entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Key {
    name: String,
    text: String,
    table: String,
    files: Vec<InputFile>,
}

/// Held by whoever reads an entry: what is read is not removed by another process.
#[derive(Debug, Clone)]
pub(crate) struct InUse(#[expect(dead_code, reason = "it is the lock that counts, which goes with the file")] Arc<File>);

/// The directory.
#[derive(Debug)]
pub(crate) struct Cache {
    dir: PathBuf,
    temporary: bool,
}

impl Cache {
    /// Opens the directory, making it first where it is not there.
    ///
    /// # Errors
    /// There is no such place, or nothing can be written there.
    pub(crate) fn open(place: &CachePlace) -> Result<Cache, ServeError> {
        let (dir, temporary) = match place {
            CachePlace::User => {
                let home = dirs::cache_dir().ok_or_else(|| ServeError::NoCache { problem: "there is no user cache directory".to_owned() })?;
                (home.join("tickscope"), false)
            }
            CachePlace::Dir(dir) => (dir.clone(), false),
            CachePlace::Temporary => (std::env::temp_dir().join(unique("tickscope")), true),
        };
        let refused = |error: std::io::Error| ServeError::NoCache { problem: format!("{}: {error}", dir.display()) };
        fs::create_dir_all(&dir).map_err(refused)?;
        // Found out now, not after a long import.
        let probe = dir.join(unique("probe"));
        fs::write(&probe, b"").and_then(|()| fs::remove_file(&probe)).map_err(refused)?;
        let dir = dir.canonicalize().map_err(refused)?;
        Ok(Cache { dir, temporary })
    }

    /// The name of a table's entry: its files by path, size and time of change, its columns and its time column.
    pub(crate) fn key(&self, source: &TableSource) -> Key {
        let mut text = format!("{FORMAT_VERSION}\n");
        if let Format::Sample(schema) = source.format {
            let _ = writeln!(text, "sample {} {schema}", super::sample::VERSION);
        }
        write_files(&mut text, &source.files);
        for (index, field) in source.schema.fields().iter().enumerate() {
            let mark = if source.time == Some(index) { "*" } else { "" };
            let _ = writeln!(text, "{:?} {}{mark}", field.name(), field.data_type());
        }
        let name = format!("{:032x}", xxh3_128(text.as_bytes()));
        Key { name, text, table: source.name.clone(), files: source.files.clone() }
    }

    /// What is remembered of an entry, which is in use from now on; `None` when there is none, or it is of another table.
    pub(crate) fn facts(&self, key: &Key) -> Option<(Facts, InUse)> {
        let mut file = File::open(self.facts_path(key)).ok()?;
        // A file system without locks has no `tickscope cache clear` on another machine to fear.
        let _ = file.try_lock_shared();
        let mut text = Vec::new();
        file.read_to_end(&mut text).ok()?;
        let entry: Entry = serde_json::from_slice(&text).ok()?;
        // The time of the last use, for `tickscope cache`.
        let _ = File::options().append(true).open(self.facts_path(key)).and_then(|file| file.set_modified(SystemTime::now()));
        (entry.key == key.text).then(|| (entry.facts, InUse(Arc::new(file))))
    }

    /// Waits until no other process imports the same, and keeps others waiting until it is dropped.
    pub(crate) fn claim(&self, key: &Key) -> Claim {
        let path = self.dir.join(format!("{}.lock", key.name));
        // Without locks two processes do the same work twice; each finishes with one rename.
        let file = File::create(&path).ok().filter(|file| file.lock().is_ok());
        Claim { path, file }
    }

    /// Writes what is known of an entry.
    ///
    /// # Errors
    /// It cannot be written.
    pub(crate) fn remember(&self, key: &Key, facts: &Facts) -> Result<(), ServeError> {
        let Key { text, table, files, .. } = key.clone();
        let entry = Entry { version: FORMAT_VERSION, key: text, table, files, facts: facts.clone() };
        let text = serde_json::to_vec(&entry).map_err(|error| ServeError::engine("writing the cache", error))?;
        let scratch = self.scratch_file();
        fs::write(&scratch.path, text).map_err(ServeError::file("write", &scratch.path))?;
        scratch.rename(&self.facts_path(key))
    }

    /// Makes a finished file the entry's, and remembers what is known of it.
    ///
    /// # Errors
    /// It cannot be renamed.
    pub(crate) fn keep(&self, table: Scratch, key: &Key, facts: &Facts) -> Result<PathBuf, ServeError> {
        let path = self.table_path(key);
        if counts::path_beside(table.path()).is_file() {
            let target = counts::path_beside(&path);
            fs::rename(counts::path_beside(table.path()), &target).map_err(ServeError::file("write", &target))?;
        }
        table.rename(&path)?;
        self.remember(key, facts)?;
        Ok(path)
    }

    /// Gives an uploaded file its place: a directory named after the hash of its content. Whether it is new there: the same file may
    /// have come before, and is kept as it is, so that what was imported from it stays valid.
    ///
    /// # Errors
    /// It cannot be moved.
    pub(crate) fn keep_upload(&self, upload: Scratch, hash: u128, name: &Path) -> Result<(PathBuf, bool), ServeError> {
        let folder = self.dir.join(UPLOADS).join(format!("{hash:032x}"));
        let path = folder.join(name);
        let bytes = upload.path.metadata().map_err(ServeError::file("read", &upload.path))?.len();
        if path.metadata().is_ok_and(|known| known.len() == bytes) {
            return Ok((path, false));
        }
        fs::create_dir_all(&folder).map_err(ServeError::file("write", &folder))?;
        upload.rename(&path)?;
        Ok((path, true))
    }

    /// The Parquet file of an entry.
    pub(crate) fn table_path(&self, key: &Key) -> PathBuf {
        self.dir.join(format!("{}.parquet", key.name))
    }

    /// A name for a file that is still being written; it goes when it is dropped.
    pub(crate) fn scratch_file(&self) -> Scratch {
        Scratch { path: self.dir.join(unique(SCRATCH)) }
    }

    fn facts_path(&self, key: &Key) -> PathBuf {
        self.dir.join(format!("{}.{ENTRY}", key.name))
    }
}

impl Drop for Cache {
    fn drop(&mut self) {
        if self.temporary {
            // Nothing depends on it any more; what cannot be removed is the system's to clean.
            let _ = fs::remove_dir_all(&self.dir);
        }
    }
}

/// A file that exists only until it is dropped, unless it gets its final name.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
}

impl Scratch {
    /// Where to write it.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }

    fn rename(self, target: &Path) -> Result<(), ServeError> {
        fs::rename(&self.path, target).map_err(ServeError::file("write", target))
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.path);
        let _ = fs::remove_file(counts::path_beside(&self.path));
    }
}

/// The right to import an entry.
pub(crate) struct Claim {
    path: PathBuf,
    file: Option<File>,
}

impl Drop for Claim {
    fn drop(&mut self) {
        if self.file.is_some() {
            // Whoever waits has the same file open and finds the import done.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// All that tells whether files are still the same.
fn write_files(text: &mut String, files: &[InputFile]) {
    for file in files.iter().flat_map(|file| std::iter::successors(Some(file), |file| file.beside.as_deref())) {
        let _ = writeln!(text, "{:?} {} {}", file.path, file.bytes, file.modified_nanos);
    }
}

/// A name that no other process and no other call makes: of containers that share a directory, each may be process 1.
fn unique(stem: &str) -> String {
    static COUNT: AtomicU64 = AtomicU64::new(0);
    static STARTED: LazyLock<u128> = LazyLock::new(|| SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_nanos()));
    format!("{stem}-{}-{:x}-{}", std::process::id(), *STARTED, COUNT.fetch_add(1, Ordering::Relaxed))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_entry_is_found_by_what_it_was_made_from() {
        let cache = Cache::open(&CachePlace::Temporary).unwrap();
        let mut source = TableSource::sample().remove(0);
        let facts = Facts { in_place: false, rows: 3, first: Some(1), last: Some(i64::MAX) };
        let scratch = cache.scratch_file();
        fs::write(scratch.path(), b"x").unwrap();
        let path = cache.keep(scratch, &cache.key(&source), &facts).unwrap();
        assert!(path.is_file());
        assert_eq!(cache.facts(&cache.key(&source)).unwrap().0, facts);
        source.time = None;
        assert!(cache.facts(&cache.key(&source)).is_none());
        let dir = cache.dir.clone();
        drop(cache);
        assert!(!dir.exists());
    }
}
