//! What the cache holds, for `tickscope cache`: one line an entry, and its removal.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use chrono::{DateTime, Utc};

use super::types::TYPES;
use super::{Cache, CachePlace, ENTRY, Entry, FORMAT_VERSION, SCRATCH, UPLOADS};
use crate::server::error::ServeError;

/// Digits of an entry's name that are shown; as many as are asked for tell it apart.
const SHOWN_DIGITS: usize = 8;

/// A file that is being written changes more often than this.
const LEFT_OVER: Duration = Duration::from_secs(3_600);

/// One entry.
struct Content {
    /// The name of its files, without extension.
    id: String,
    table: String,
    rows: Option<u64>,
    used: Option<SystemTime>,
    /// What was imported, and whether that still is so.
    about: String,
    /// Its own files, with the one first that a running server locks.
    files: Vec<PathBuf>,
}

impl Content {
    /// What is kept under a name and is no table that can be served.
    fn no_table(named: &Path, about: String, files: Vec<PathBuf>) -> Content {
        let id = named.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Content { id, table: "-".to_owned(), rows: None, used: files.first().and_then(|file| modified(file)), about, files }
    }

    fn bytes(&self) -> u64 {
        self.files.iter().filter_map(|file| file.metadata().ok()).map(|metadata| metadata.len()).sum()
    }

    /// Whether a running server reads it.
    fn in_use(&self) -> bool {
        let lock = self.files.first().and_then(|file| File::open(file).ok());
        lock.is_some_and(|file| matches!(file.try_lock(), Err(std::fs::TryLockError::WouldBlock)))
    }

    fn remove(&self) -> Result<(), ServeError> {
        for file in self.files.iter().filter(|file| file.exists()) {
            fs::remove_file(file).map_err(ServeError::file("remove", file))?;
        }
        Ok(())
    }
}

/// A table of what the cache holds, newest use first.
///
/// # Errors
/// There is no cache, or it cannot be read.
pub fn cache_report(place: &CachePlace) -> Result<String, ServeError> {
    let cache = Cache::open(place)?;
    let contents = contents(&cache.dir)?;
    let mut text = format!("{}\n", cache.dir.display());
    if contents.is_empty() {
        text.push_str("nothing is kept here\n");
        return Ok(text);
    }
    let _ = writeln!(text, "{:<9} {:<20} {:>12} {:>10}  {:<16}  from", "id", "table", "rows", "size", "last used");
    for content in &contents {
        let rows = content.rows.map_or_else(|| "-".to_owned(), |rows| rows.to_string());
        let used = content.used.map_or_else(|| "-".to_owned(), |used| DateTime::<Utc>::from(used).format("%Y-%m-%d %H:%M").to_string());
        let id = content.id.get(..SHOWN_DIGITS).unwrap_or(&content.id);
        let _ = writeln!(text, "{id:<9} {:<20} {rows:>12} {:>10}  {used:<16}  {}", content.table, size(content.bytes()), content.about);
    }
    let _ = writeln!(text, "{} in all; tickscope cache clear [ID or TABLE …] removes", size(contents.iter().map(Content::bytes).sum()));
    Ok(text)
}

/// Removes the entries of those names (tables, or the start of an id), or all. Says what it did.
///
/// # Errors
/// There is no cache, a name that is none, or a file that cannot be removed.
pub fn cache_clear(place: &CachePlace, names: &[String]) -> Result<String, ServeError> {
    let cache = Cache::open(place)?;
    let contents = contents(&cache.dir)?;
    let is_named = |content: &Content, name: &String| content.table == *name || (!name.is_empty() && content.id.starts_with(name.as_str()));
    if let Some(unknown) = names.iter().find(|name| !contents.iter().any(|content| is_named(content, name))) {
        let problem = format!("nothing in {} is named {unknown}: see tickscope cache", cache.dir.display());
        return Err(ServeError::NoEntry { problem });
    }
    let (mut count, mut bytes, mut kept) = (0, 0, 0);
    for content in contents.iter().filter(|content| names.is_empty() || names.iter().any(|name| is_named(content, name))) {
        if content.in_use() {
            kept += 1;
            continue;
        }
        let freed = content.bytes();
        content.remove()?;
        count += 1;
        bytes += freed;
    }
    let mut text = format!("{count} entries removed, {} freed\n", size(bytes));
    if kept > 0 {
        let _ = writeln!(text, "{kept} kept: a running server reads them");
    }
    Ok(text)
}

fn contents(dir: &Path) -> Result<Vec<Content>, ServeError> {
    let mut contents = Vec::new();
    for path in listed(dir)? {
        if path.extension().is_some_and(|extension| extension == ENTRY) {
            contents.push(entry(path));
        }
    }
    // A table whose entry was lost is of no use any more.
    for path in listed(dir)? {
        let lost = path.extension().is_some_and(|extension| extension == "parquet" || extension == "counts") && !path.with_extension(ENTRY).is_file();
        if lost || is_left_over(&path) {
            contents.push(Content::no_table(&path, "an import that was cut".to_owned(), vec![path.clone()]));
        } else if path.extension().is_some_and(|extension| extension == TYPES) {
            contents.push(Content::no_table(&path, "the types of text files".to_owned(), vec![path.clone()]));
        }
    }
    for folder in listed(&dir.join(UPLOADS)).unwrap_or_default() {
        for path in listed(&folder).unwrap_or_default() {
            let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
            contents.push(Content::no_table(&folder, format!("{name}, given to the page"), vec![path]));
        }
    }
    contents.sort_by_key(|content| std::cmp::Reverse(content.used));
    Ok(contents)
}

/// Whether a file that was being written belongs to no import any more: nobody wrote to it for an hour.
fn is_left_over(path: &Path) -> bool {
    let scratch = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(SCRATCH));
    scratch && modified(path).and_then(|time| time.elapsed().ok()).is_some_and(|age| age > LEFT_OVER)
}

fn entry(path: PathBuf) -> Content {
    let id = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let used = modified(&path);
    let read: Option<Entry> = fs::read(&path).ok().and_then(|text| serde_json::from_slice(&text).ok());
    let files = [path.clone(), path.with_extension("parquet"), path.with_extension("counts")].into_iter().filter(|file| file.is_file()).collect();
    match read {
        Some(entry) => Content { id, used, files, rows: Some(entry.facts.rows), about: about(&entry), table: entry.table },
        None => Content::no_table(&path, "of another version of tickscope".to_owned(), files),
    }
}

/// Where an entry comes from, and whether it still is of use.
fn about(entry: &Entry) -> String {
    if entry.version != FORMAT_VERSION {
        return "of another version of tickscope".to_owned();
    }
    let names: Vec<String> = entry.files.iter().map(|file| file.path.display().to_string()).collect();
    let stale = entry.files.iter().find_map(|file| match file.again() {
        Err(_) => Some("deleted"),
        Ok(now) if now != *file => Some("changed since"),
        Ok(_) => None,
    });
    let from = match names.as_slice() {
        [] => "the sample".to_owned(),
        [one] => one.clone(),
        [first, rest @ ..] => format!("{first} and {} more", rest.len()),
    };
    match (stale, entry.facts.in_place) {
        (Some(stale), _) => format!("{from} (stale: {stale})"),
        (None, true) => format!("{from} (in order, read where it is)"),
        (None, false) => from,
    }
}

fn listed(dir: &Path) -> Result<Vec<PathBuf>, ServeError> {
    let entries = fs::read_dir(dir).map_err(ServeError::file("list", dir))?;
    let mut paths: Vec<PathBuf> = entries.filter_map(|entry| entry.ok().map(|entry| entry.path())).collect();
    paths.sort();
    Ok(paths)
}

fn modified(path: &Path) -> Option<SystemTime> {
    path.metadata().ok()?.modified().ok()
}

/// Bytes for a person: three digits and a unit.
fn size(bytes: u64) -> String {
    let units = ["B", "KiB", "MiB", "GiB", "TiB"];
    let unit = (0..units.len() - 1).take_while(|unit| bytes >> (10 * (unit + 1)) > 0).count();
    let tenths = (u128::from(bytes) * 10) >> (10 * unit);
    let name = units.get(unit).copied().unwrap_or_default();
    if unit == 0 || tenths >= 1_000 { format!("{} {name}", tenths / 10) } else { format!("{}.{} {name}", tenths / 10, tenths % 10) }
}

#[cfg(test)]
mod tests {
    use super::size;

    #[test]
    fn sizes_are_cut_to_three_digits() {
        for (bytes, text) in
            [(0, "0 B"), (1_023, "1023 B"), (1_024, "1.0 KiB"), (1_536, "1.5 KiB"), (150 << 20, "150 MiB"), (u64::MAX, "16777215 TiB")]
        {
            assert_eq!(size(bytes), text);
        }
    }
}
