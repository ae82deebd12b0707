//! What can go wrong before or beside a query: starting, reading files, importing them.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};

/// What can be read, for messages.
const READABLE: &str = "Parquet, DBN (.dbn, .dbn.zst), Arrow IPC (.arrow, .arrows, .feather) and CSV (also .gz, .zst, .zip)";

/// Why the server cannot start or cannot import. Shown as one line; the process ends with status 2.
#[derive(Debug)]
pub enum ServeError {
    /// The operating system refused a file or directory.
    File {
        /// What was tried: `read`, `write`, `list`.
        doing: &'static str,
        /// The file.
        path: PathBuf,
        /// What it said.
        source: io::Error,
    },
    /// A file without a byte.
    Empty {
        /// The file.
        path: PathBuf,
    },
    /// None of the formats that can be read.
    UnknownFormat {
        /// The file.
        path: PathBuf,
    },
    /// A DBN file without one schema.
    MixedSchemas {
        /// The file.
        path: PathBuf,
    },
    /// A file that is what it claims to be, but is damaged or holds what cannot be kept exactly.
    Content {
        /// The file.
        path: PathBuf,
        /// Which row or record, counted from 0, where that is known.
        record: Option<u64>,
        /// What is wrong.
        problem: String,
    },
    /// No table with a column of times.
    NoTimeColumn {
        /// The table.
        table: String,
        /// What was looked for, and what to do.
        problem: String,
    },
    /// A file that holds no table.
    NoTable {
        /// The file.
        path: PathBuf,
    },
    /// The port is taken, or may not be opened.
    Listen {
        /// What was to be opened.
        address: String,
        /// What the system said.
        source: io::Error,
    },
    /// The cache of imported files has no place.
    NoCache {
        /// What is wrong.
        problem: String,
    },
    /// The cache has no entry of that name.
    NoEntry {
        /// Which.
        problem: String,
    },
    /// The engine failed.
    Engine {
        /// What was being done.
        doing: String,
        /// What it said.
        problem: String,
    },
}

impl ServeError {
    /// Wraps an input or output error with what was tried on which file.
    pub(crate) fn file(doing: &'static str, path: &Path) -> impl FnOnce(io::Error) -> ServeError {
        let path = path.to_owned();
        move |source| ServeError::File { doing, path, source }
    }

    /// A damaged or inexact content of a file.
    pub(crate) fn content(path: &Path, record: Option<u64>, problem: impl fmt::Display) -> ServeError {
        ServeError::Content { path: path.to_owned(), record, problem: one_line(&problem.to_string()) }
    }

    /// A failure of the engine.
    pub(crate) fn engine(doing: impl Into<String>, problem: impl fmt::Display) -> ServeError {
        ServeError::Engine { doing: doing.into(), problem: one_line(&problem.to_string()) }
    }
}

/// Joins the lines of a foreign message, so that an error stays one line.
fn one_line(text: &str) -> String {
    text.split('\n').map(str::trim).filter(|line| !line.is_empty()).collect::<Vec<_>>().join("; ")
}

impl fmt::Display for ServeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ServeError::File { doing, path, source } => write!(f, "cannot {doing} {}: {source}", path.display()),
            ServeError::Empty { path } => write!(f, "{} is empty", path.display()),
            ServeError::UnknownFormat { path } => write!(f, "{} is of no known format: {READABLE} can be read", path.display()),
            ServeError::MixedSchemas { path } => {
                write!(f, "{} holds records of several DBN schemas, as a live capture does: write each schema to a file of its own", path.display())
            }
            ServeError::Content { path, record: Some(record), problem } => write!(f, "{}, record {record}: {problem}", path.display()),
            ServeError::Content { path, record: None, problem } => write!(f, "{}: {problem}", path.display()),
            ServeError::NoTimeColumn { table, problem } => write!(f, "table {table} has no time column: {problem}"),
            ServeError::NoTable { path } => write!(f, "{} holds no table: it has no columns", path.display()),
            ServeError::Listen { address, source } => match source.kind() {
                io::ErrorKind::AddrInUse => write!(f, "{address} is in use: choose another --port"),
                _ => write!(f, "cannot listen on {address}: {source}"),
            },
            ServeError::NoCache { problem } => write!(f, "no place for imported files: {problem}; name one with --cache DIR or use --no-cache"),
            ServeError::NoEntry { problem } => f.write_str(problem),
            ServeError::Engine { doing, problem } => write!(f, "{doing} failed: {problem}"),
        }
    }
}

impl std::error::Error for ServeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            ServeError::File { source, .. } | ServeError::Listen { source, .. } => Some(source),
            _ => None,
        }
    }
}
