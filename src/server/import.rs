//! Makes tables out of files: verifies the ones that can be read in place, imports the others into cached Parquet.
//!
//! A table is one Parquet file whose rows lie in the order in which they are served: by time, and where times are equal, by file
//! and row as given. So a plain scan is the order, and the number of a row in that file breaks ties in every sort.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use super::cache::{Cache, Facts, InUse};
use super::error::ServeError;
use super::progress::Progress;
use super::sample;
use super::sort::Sorter;
use super::source::{Format, InputFile, TableSource};

pub(crate) mod arrow;
pub(crate) mod counts;
pub(crate) mod csv;
pub(crate) mod dbn;
mod order;
pub(crate) mod parquet;
mod writer;

pub(crate) use order::OrderCheck;
pub(crate) use writer::TableWriter;

/// Rows of a batch while importing.
pub(crate) const IMPORT_BATCH_ROWS: usize = 128 * 1024;

/// A Parquet file whose rows lie in order, and what is known of them.
#[derive(Debug, Clone)]
pub(crate) struct Stored {
    /// The user's own file, or one of the cache.
    pub(crate) path: PathBuf,
    /// Rows, first and last time.
    pub(crate) facts: Facts,
    /// The rows of each second, for a file of the cache; see [`counts`].
    pub(crate) counts: Option<PathBuf>,
    /// Keeps it from being removed.
    pub(crate) in_use: Option<InUse>,
}

/// What is known without reading rows: an import or a verdict from an earlier run. Cheap enough to be done before serving.
pub(crate) fn recall(source: &TableSource, cache: &Cache) -> Option<Stored> {
    let key = cache.key(source);
    let (facts, in_use) = cache.facts(&key)?;
    let in_use = Some(in_use);
    match facts.in_place {
        true => Some(Stored { path: source.files.first()?.path.clone(), facts, counts: None, in_use }),
        false => {
            let path = cache.table_path(&key);
            let counts = counts_of(&path);
            path.is_file().then_some(Stored { path, facts, counts, in_use })
        }
    }
}

/// Reads the files of a table and leaves one Parquet file in order. Blocking; `sorter` runs on the caller's runtime.
///
/// # Errors
/// The file and record that cannot be read or kept exactly, or that the disk is full.
pub(crate) fn run(source: &TableSource, cache: &Cache, progress: &Progress, sorter: &Sorter) -> Result<Stored, ServeError> {
    let key = cache.key(source);
    let _claim = cache.claim(&key);
    // Another process may have imported it while this one waited.
    if let Some(stored) = recall(source, cache) {
        return Ok(stored);
    }
    if let (Format::Parquet, [file]) = (source.format, source.files.as_slice()) {
        let order = contained(&file.path, || parquet::verify(source, file, progress))?;
        if order.disorder().is_none() {
            let facts = order.facts(true);
            cache.remember(&key, &facts)?;
            return Ok(Stored { path: file.path.clone(), in_use: cache.facts(&key).map(|(_, in_use)| in_use), facts, counts: None });
        }
        progress.restart();
    }
    let started = Instant::now();
    let unsorted = cache.scratch_file();
    let order = write_as_given(source, &unsorted, progress)?;
    let table = match (order.disorder(), source.time) {
        (Some(_), Some(time)) => {
            progress.sorting();
            let sorted = cache.scratch_file();
            sorter.sort(unsorted.path(), &source.schema, time, sorted.path())?;
            sorted
        }
        _ => unsorted,
    };
    unchanged(&source.files)?;
    let facts = order.facts(false);
    let path = cache.keep(table, &key, &facts)?;
    progress.finished(facts.rows, started.elapsed());
    let counts = counts_of(&path);
    Ok(Stored { path, in_use: cache.facts(&key).map(|(_, in_use)| in_use), facts, counts })
}

/// Refuses what was read of files that changed meanwhile: a part of it may be old and a part new.
fn unchanged(files: &[InputFile]) -> Result<(), ServeError> {
    match files.iter().find(|file| file.again().ok().as_ref() != Some(*file)) {
        Some(changed) => Err(ServeError::content(&changed.path, None, "it was changed while it was read: start again when it is complete")),
        None => Ok(()),
    }
}

/// The counts beside a file of the cache, where it has them.
fn counts_of(table: &Path) -> Option<PathBuf> {
    Some(counts::path_beside(table)).filter(|path| path.is_file())
}

fn write_as_given(source: &TableSource, target: &super::cache::Scratch, progress: &Progress) -> Result<OrderCheck, ServeError> {
    let mut writer = TableWriter::create(target.path(), Arc::clone(&source.schema), source.time)?;
    for file in &source.files {
        contained(&file.path, || match source.format {
            Format::Parquet => parquet::read(source, file, &mut writer, progress),
            Format::Dbn(schema) => dbn::read(schema, file, &mut writer, progress),
            Format::Arrow => arrow::read(source, file, &mut writer, progress),
            Format::Csv => csv::read(source, file, &mut writer, progress),
            // It has no files: see [`make_sample`].
            Format::Sample(_) => Ok(()),
        })?;
    }
    writer.close()
}

/// Makes the tables of the sample, all in one run: whichever of them is missing, the others come with it. Blocking.
///
/// # Errors
/// The disk is full.
pub(crate) fn make_sample(tables: [(&TableSource, &Progress); 3], cache: &Cache) -> Result<[Stored; 3], ServeError> {
    let keys = tables.map(|(source, _)| cache.key(source));
    let _claims = keys.each_ref().map(|key| cache.claim(key));
    // Another process may have made them while this one waited.
    if let [Some(mbo), Some(depth), Some(trades)] = tables.map(|(source, _)| recall(source, cache)) {
        return Ok([mbo, depth, trades]);
    }
    let started = Instant::now();
    let scratches = tables.map(|_| cache.scratch_file());
    let [mbo, depth, trades] = [0, 1, 2].map(|index: usize| {
        let (source, progress) = tables[index];
        let writer = TableWriter::create(scratches[index].path(), Arc::clone(&source.schema), source.time)?;
        Ok(sample::Target { writer, progress })
    });
    let writers = sample::write([mbo?, depth?, trades?])?;
    let mut stored = Vec::with_capacity(tables.len());
    for ((((_, progress), key), scratch), writer) in tables.into_iter().zip(&keys).zip(scratches).zip(writers) {
        let facts = writer.close()?.facts(false);
        let path = cache.keep(scratch, key, &facts)?;
        progress.finished(facts.rows, started.elapsed());
        let counts = counts_of(&path);
        stored.push(Stored { path, in_use: cache.facts(key).map(|(_, in_use)| in_use), facts, counts });
    }
    stored.try_into().map_err(|_| ServeError::engine("making the sample", "a table of it is missing"))
}

/// Reads a file of the user. The readers of others' formats are other people's code: one that gives up with a panic over a damaged
/// file must not take the server with it.
///
/// # Errors
/// Those of `read`, and the name of a file that its reader did not survive.
pub(crate) fn contained<T>(path: &Path, read: impl FnOnce() -> Result<T, ServeError>) -> Result<T, ServeError> {
    // What was half done is thrown away with the error.
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err(ServeError::content(path, None, "it is damaged in a way that its reader gave up on")))
}
