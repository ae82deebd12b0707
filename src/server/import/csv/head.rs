//! The beginning of a file: its delimiter, whether its first line names the columns, and its layout. Recognised, not guessed: what
//! fits two readings, or none, is refused.

use std::io::{Cursor, Read as _};
use std::path::{Path, PathBuf};

use chrono::{NaiveDate, TimeZone as _};

use super::cell;
use super::layout::{Layout, LobsterName};
use super::names::Role;
use super::packed::{Unpacked, failure};
use super::records::{BadRecord, Records};
use crate::server::error::ServeError;

/// So much of a file is looked at.
const HEAD_BYTES: u64 = 1 << 18;
/// Lines that must agree on the delimiter.
const HEAD_LINES: usize = 20;
const DELIMITERS: [u8; 4] = [b',', b'\t', b';', b'|'];

/// What the beginning of a file tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Head {
    pub(super) delimiter: u8,
    /// Whether the first line names the columns.
    pub(super) has_header: bool,
    pub(super) layout: Layout,
    /// Columns of the file by name.
    pub(super) columns: Vec<(String, Role)>,
    /// The file whose first column is the time of each row here, before the file's own columns: a book of LOBSTER has none itself.
    pub(crate) beside: Option<PathBuf>,
    /// What the file's name tells: it becomes a column behind those of the file.
    pub(super) symbol: Option<String>,
    /// Midnight of the file's day in nanoseconds since 1970, from which [`Role::OfDay`] counts.
    pub(super) midnight: i64,
}

impl Head {
    /// Looks at a file; `None` when it is no text with columns.
    ///
    /// # Errors
    /// An unreadable file, or one of which must be said what it lacks.
    pub(crate) fn read(path: &Path) -> Result<Option<Head>, ServeError> {
        let mut bytes = Vec::new();
        Unpacked::open(path)?.take(HEAD_BYTES).read_to_end(&mut bytes).map_err(|error| failure(path, error))?;
        let refused = |problem: &str| Err(ServeError::content(path, None, problem));
        if bytes.is_empty() {
            return Err(ServeError::Empty { path: path.to_owned() });
        }
        if bytes.starts_with(b"\xFF\xFE") || bytes.starts_with(b"\xFE\xFF") {
            return refused("it is UTF-16: convert it to UTF-8");
        }
        let whole = bytes.len() < usize::try_from(HEAD_BYTES).unwrap_or(usize::MAX);
        if !whole {
            // A line that was cut must not be taken for a short one.
            let Some(end) = bytes.iter().rposition(|&byte| byte == b'\n') else { return Ok(None) };
            bytes.truncate(end + 1);
        }
        let text = bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&bytes);
        let is_other = matches!(text.iter().find(|byte| !byte.is_ascii_whitespace()), None | Some(b'{' | b'[' | b'<'));
        if is_other || text.contains(&0) {
            return Ok(None);
        }
        let Some(delimiter) = delimiter(&bytes).map_err(|problem| ServeError::content(path, None, problem))? else { return Ok(None) };
        let mut records = Records::new(Cursor::new(&bytes), delimiter);
        let first = match records.next() {
            Ok(Some(first)) => first.fields().map(str::to_owned).collect::<Vec<_>>(),
            Ok(None) => return Err(ServeError::NoTable { path: path.to_owned() }),
            Err(error) => return Err(bad(path, error)),
        };
        let rows = !matches!(records.next(), Ok(None));
        let file_name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let mut head = Head::of(&first, delimiter, &file_name).map_err(|problem| ServeError::content(path, None, format!("line 1: {problem}")))?;
        if head.layout == Layout::LobsterBook {
            let messages = path.with_file_name(LobsterName::messages(&file_name));
            if !messages.is_file() {
                let name = messages.file_name().unwrap_or_default().to_string_lossy();
                return refused(&format!("the times of its rows stand in {name}, which is not beside it: put it there"));
            }
            head.beside = Some(messages);
        }
        // A line of prose has commas too; a header without rows has at least a time among its names.
        Ok(Some(head).filter(|head| rows || head.columns.iter().any(|(_, role)| role.is_time())))
    }

    fn of(first: &[String], delimiter: u8, file_name: &str) -> Result<Head, String> {
        let is_value = |field: &&String| {
            cell::Number::parse(field).is_some() || cell::written(field).is_some() || cell::boolean(field).is_some() || cell::is_no_number(field)
        };
        let (has_header, layout, names) = match first.iter().find(is_value) {
            None => {
                let names = header(first)?;
                (true, Layout::of_header(&names)?, names)
            }
            Some(value) => {
                let row: Vec<&str> = first.iter().map(String::as_str).collect();
                let (layout, names) = Layout::of_row(file_name, &row).ok_or_else(|| {
                    format!(
                        "it has no names of columns ({value:?} is none), and by its name and shape it is no file of Binance or LOBSTER: \
                         put a first line with the names into it"
                    )
                })?;
                (false, layout, names)
            }
        };
        let symbol = layout.symbol_of(file_name).filter(|_| !names.iter().any(|name| name == "symbol"));
        let midnight = match LobsterName::parse(file_name) {
            Some(name) if !has_header => new_york_midnight(name.date)?,
            _ => 0,
        };
        let columns = names.into_iter().map(|name| (name.clone(), layout.role(&name))).collect();
        Ok(Head { delimiter, has_header, layout, columns, beside: None, symbol, midnight })
    }

    /// All columns, with those that are not in the file itself.
    pub(super) fn all_columns(&self) -> impl Iterator<Item = (&str, Role)> {
        let own = self.columns.iter().map(|(name, role)| (name.as_str(), *role));
        let beside = self.beside.iter().map(|_| ("time", Role::OfDay));
        beside.chain(own).chain(self.symbol.iter().map(|_| ("symbol", Role::Word)))
    }

    /// Whether files with these beginnings form one table.
    pub(crate) fn is_same(&self, other: &Head) -> bool {
        self.layout == other.layout && self.all_columns().eq(other.all_columns())
    }
}

/// A broken record as the error of its file.
pub(super) fn bad(path: &Path, error: BadRecord) -> ServeError {
    match error {
        BadRecord::Read(error) => failure(path, error),
        BadRecord::Broken { line, problem } => ServeError::content(path, None, format!("line {line}: {problem}")),
    }
}

/// The names of the columns.
fn header(first: &[String]) -> Result<Vec<String>, String> {
    let mut names: Vec<String> = Vec::with_capacity(first.len());
    for (index, name) in first.iter().enumerate() {
        let name = name.trim();
        let name = match name {
            // What pandas writes above its index.
            "" if index == 0 => "index".to_owned(),
            "" => return Err(format!("column {} has no name", index + 1)),
            name => name.to_owned(),
        };
        if names.contains(&name) {
            return Err(format!("two columns are named {name}: rename one"));
        }
        names.push(name);
    }
    Ok(names)
}

/// The character that separates the columns, told by the first lines; `None` when there is none.
fn delimiter(bytes: &[u8]) -> Result<Option<u8>, String> {
    let mut best: Vec<u8> = Vec::new();
    let mut of_first = (1, None);
    for candidate in DELIMITERS {
        let mut records = Records::new(Cursor::new(bytes), candidate);
        let mut counts = Vec::with_capacity(HEAD_LINES);
        while let (true, Ok(Some(record))) = (counts.len() < HEAD_LINES, records.next()) {
            counts.push(record.len());
        }
        let Some(&first) = counts.first() else { continue };
        if first > of_first.0 {
            of_first = (first, Some(candidate));
        }
        if first > 1 && counts.iter().all(|&count| count == first) {
            best.push(candidate);
        }
    }
    match best.as_slice() {
        [] => Ok(of_first.1),
        [only] => Ok(Some(*only)),
        [first, second, ..] => {
            let name = |&delimiter: &u8| char::from(delimiter);
            Err(format!("line 1: both {:?} and {:?} could separate its columns: put the fields in quotes", name(first), name(second)))
        }
    }
}

/// Midnight before the trading day of New York, so that seconds after it count by the clock on the wall there.
fn new_york_midnight(date: &str) -> Result<i64, String> {
    let problem = || format!("the date {date} of its name cannot be used");
    let day = date.parse::<NaiveDate>().map_err(|_| problem())?;
    // Clocks change in the night: at noon the day's offset holds.
    let noon = day.and_hms_opt(12, 0, 0).and_then(|noon| chrono_tz::America::New_York.from_local_datetime(&noon).single());
    let nanos = noon.and_then(|noon| noon.timestamp_nanos_opt()).and_then(|noon| noon.checked_sub(12 * 3_600 * 1_000_000_000));
    nanos.ok_or_else(problem)
}
