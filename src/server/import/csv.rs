//! Text with columns (CSV and its relatives), typed exactly: decimals keep their digits, times become nanoseconds, and what could
//! be read in two ways is an error that names file, line and column.
//!
//! ```text
//!  file ─ packed ─▶ text ─ records ─▶ fields ┬ evidence (all files of a table) ─▶ types
//!                                            └ convert ─▶ batches
//!  head: delimiter, header, layout             names, layout: what a column is for;  cell: one field
//! ```
//!
//! A file is read twice: a type is that of a whole column, so it is known only at the end. What was found is remembered in the cache
//! under the files' names, sizes and times, so it is done once.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};

use super::TableWriter;
use crate::server::error::ServeError;
use crate::server::progress::Progress;
use crate::server::source::{InputFile, TableSource};

mod arrays;
mod cell;
mod convert;
mod evidence;
mod head;
mod layout;
mod names;
mod packed;
mod records;

use convert::Column;
use evidence::Evidence;
pub(crate) use evidence::Kind;
pub(crate) use head::Head;
use names::Role;
use packed::Unpacked;
use records::{Record, Records};

/// Rows of a batch: what they were split from stays in the processor's own cache while they become columns.
const BLOCK_ROWS: usize = 16 * 1024;
/// Records between two looks at how far the file was read.
const PROGRESS_ROWS: u64 = 64 * 1024;

/// A column of a table as it is remembered: name, type, whether a value is missing.
pub(crate) type TypedColumn = (String, Kind, bool);

/// The records of an open file behind its header.
struct Reader {
    records: Records<Unpacked>,
    head: Head,
    stored: Arc<AtomicU64>,
    /// The file that has the times of the rows, and the time of the row that is read.
    beside: Option<(Records<Unpacked>, PathBuf)>,
    time: String,
}

/// One row: a record with what is not in the file itself.
struct Row<'a> {
    time: Option<&'a str>,
    record: Record<'a>,
    symbol: Option<&'a str>,
}

impl<'a> Row<'a> {
    /// In the order of [`Head::all_columns`].
    fn fields(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        self.time.into_iter().chain(self.record.fields()).chain(self.symbol)
    }
}

impl Reader {
    fn open(path: &Path) -> Result<Reader, ServeError> {
        let head = Head::read(path)?.ok_or_else(|| ServeError::UnknownFormat { path: path.to_owned() })?;
        let input = Unpacked::open(path)?;
        let stored = input.stored_bytes();
        let mut records = Records::new(input, head.delimiter);
        if head.has_header {
            records.next().map_err(|error| head::bad(path, error))?;
        }
        let beside = match &head.beside {
            Some(other) => Some((Records::new(Unpacked::open(other)?, head.delimiter), other.clone())),
            None => None,
        };
        Ok(Reader { records, head, stored, beside, time: String::new() })
    }

    /// The next row, which has as many fields as the file has columns.
    fn next(&mut self, path: &Path) -> Result<Option<Row<'_>>, ServeError> {
        let columns = self.head.columns.len();
        let record = self.records.next().map_err(|error| head::bad(path, error))?;
        if let Some((records, other)) = &mut self.beside {
            let messages = records.next().map_err(|error| head::bad(other, error))?;
            self.time.clear();
            match (messages, &record) {
                (Some(message), Some(_)) => self.time.push_str(message.fields().next().unwrap_or_default()),
                (None, None) => {}
                (_, _) => {
                    let problem = format!("it does not have as many rows as {}, which has their times", other.display());
                    return Err(ServeError::content(path, None, problem));
                }
            }
        }
        match record {
            Some(record) if record.len() != columns => {
                let problem = format!("line {}: it has {} fields, but the file has {columns} columns", record.line, record.len());
                Err(ServeError::content(path, None, problem))
            }
            Some(record) => {
                let time = self.beside.is_some().then_some(self.time.as_str());
                Ok(Some(Row { time, record, symbol: self.head.symbol.as_deref() }))
            }
            None => Ok(None),
        }
    }
}

/// The column that orders files like this one, where its layout says so.
pub(crate) fn declared_time(head: &Head) -> Option<String> {
    let named = |name: &&&str| head.all_columns().any(|(known, _)| known == **name);
    head.layout.time_columns().iter().find(named).map(|&name| name.to_owned())
}

/// Reads the files of a table to find the types of its columns; one that is asked to order it may hold moments under any name.
///
/// # Errors
/// A broken record, or a value that leaves a choice: named with file, line and column.
pub(crate) fn types(files: &[InputFile], time: Option<&str>, progress: &Progress) -> Result<Vec<TypedColumn>, ServeError> {
    let mut found: Vec<(String, Evidence)> = Vec::new();
    let (mut base, mut rows) = (0, 0);
    for (index, file) in files.iter().enumerate() {
        let path = &file.path;
        let mut reader = Reader::open(path)?;
        if found.is_empty() {
            let asked = |name: &str, role: Role| if time == Some(name) && !role.is_time() { Role::Time } else { role };
            found = reader.head.all_columns().map(|(name, role)| (name.to_owned(), Evidence::new(asked(name, role)))).collect();
        }
        let stored = Arc::clone(&reader.stored);
        while let Some(row) = reader.next(path)? {
            let line = row.record.line;
            for (field, (_, evidence)) in row.fields().zip(&mut found) {
                evidence.add(field, index, line);
            }
            rows += 1;
            if rows % PROGRESS_ROWS == 0 {
                progress.read(base + stored.load(Ordering::Relaxed).min(file.bytes), rows);
            }
        }
        base += file.bytes;
    }
    let typed = found.iter().map(|(name, evidence)| match evidence.kind(name) {
        Ok(kind) => Ok((name.clone(), kind, evidence.has_none)),
        Err(ambiguous) => {
            let path = files.get(ambiguous.at.file).map_or(Path::new(""), |file| &file.path);
            Err(ServeError::content(path, None, format!("line {}, column {name}: {}", ambiguous.at.line, ambiguous.problem)))
        }
    });
    typed.collect()
}

/// What was assumed, for people: that times without a zone are UTC.
pub(crate) fn assumed(columns: &[TypedColumn]) -> Option<String> {
    let unzoned: Vec<&str> = columns.iter().filter(|(_, kind, _)| *kind == Kind::UnzonedTime).map(|(name, ..)| name.as_str()).collect();
    (!unzoned.is_empty()).then(|| format!("{} without a zone: read as UTC", unzoned.join(", ")))
}

/// The columns as they are served.
pub(crate) fn schema(columns: &[TypedColumn]) -> SchemaRef {
    Arc::new(Schema::new(columns.iter().map(|(name, kind, has_none)| Field::new(name, kind.data_type(), *has_none)).collect::<Vec<_>>()))
}

/// Copies the rows of a file, each column brought to the type in which it is served.
///
/// # Errors
/// A broken record, a value that its column cannot hold, or a failing disk.
pub(crate) fn read(source: &TableSource, file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    let path = &file.path;
    let mut reader = Reader::open(path)?;
    let failed = |problem: String| ServeError::content(path, None, problem);
    let midnight = reader.head.midnight;
    let columns = reader.head.all_columns().zip(source.schema.fields()).map(|((name, role), field)| match name == field.name() {
        true => Column::new(role, field.data_type(), midnight).map_err(failed),
        false => Err(failed(format!("its column {name} was {} before: start again", field.name()))),
    });
    let mut columns = columns.collect::<Result<Vec<Column>, ServeError>>()?;
    let stored = Arc::clone(&reader.stored);
    let base = progress.bytes_read();
    let (mut waiting, mut written) = (0, 0);
    loop {
        let more = match reader.next(path)? {
            Some(row) => {
                for (index, (field, column)) in row.fields().zip(&mut columns).enumerate() {
                    column.push(field).map_err(|problem| {
                        let name = source.schema.fields().get(index).map_or("", |field| field.name());
                        failed(format!("line {}, column {name}: {field:.40?} {problem}", row.record.line))
                    })?;
                }
                waiting += 1;
                true
            }
            None => false,
        };
        if waiting == BLOCK_ROWS || (!more && waiting > 0) {
            let arrays = columns.iter_mut().map(Column::take).collect::<Result<Vec<_>, _>>().map_err(|error| failed(error.to_string()))?;
            let batch = RecordBatch::try_new(Arc::clone(writer.schema()), arrays).map_err(|error| failed(error.to_string()))?;
            writer.write(&batch, path, written)?;
            written += waiting as u64;
            waiting = 0;
            progress.read(base + stored.load(Ordering::Relaxed).min(file.bytes), writer.rows());
        }
        if !more {
            progress.read(base + file.bytes, writer.rows());
            return Ok(());
        }
    }
}
