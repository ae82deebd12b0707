//! How far the import of a table is: written by the import, read by `/api/stores`, by queries and by the terminal.

use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use crate::link::Import;

/// Between two lines on the terminal.
const REPORT_EVERY: Duration = Duration::from_secs(2);

/// Progress of one import. All numbers are for people: they are read without order.
#[derive(Debug)]
pub(crate) struct Progress {
    table: String,
    bytes_total: u64,
    bytes_done: AtomicU64,
    rows: AtomicU64,
    sorting: AtomicBool,
    quiet: bool,
    reported: Mutex<Instant>,
}

impl Progress {
    /// Nothing read yet of that many bytes. A quiet one writes nothing to the terminal.
    pub(crate) fn new(table: &str, bytes_total: u64, quiet: bool) -> Progress {
        Progress {
            table: table.to_owned(),
            bytes_total,
            bytes_done: AtomicU64::new(0),
            rows: AtomicU64::new(0),
            sorting: AtomicBool::new(false),
            quiet,
            reported: Mutex::new(Instant::now()),
        }
    }

    /// The same for a table of another name, of which nothing was read yet.
    pub(crate) fn renamed(&self, table: &str) -> Progress {
        Progress::new(table, self.bytes_total, self.quiet)
    }

    /// Bytes of the table's files read so far.
    pub(crate) fn bytes_read(&self) -> u64 {
        self.bytes_done.load(Ordering::Relaxed)
    }

    /// Sets how many bytes and rows were read so far.
    pub(crate) fn read(&self, bytes: u64, rows: u64) {
        self.bytes_done.store(bytes.min(self.bytes_total), Ordering::Relaxed);
        self.rows.store(rows, Ordering::Relaxed);
        self.report();
    }

    /// The files are read again, now to be imported.
    pub(crate) fn restart(&self) {
        self.read(0, 0);
    }

    /// Everything was read; it is being sorted.
    pub(crate) fn sorting(&self) {
        self.sorting.store(true, Ordering::Relaxed);
        if !self.quiet {
            eprintln!("{}: not in order of time, sorting {} rows", self.table, self.rows.load(Ordering::Relaxed));
        }
    }

    /// Says on the terminal that the table is there.
    pub(crate) fn finished(&self, rows: u64, took: Duration) {
        if !self.quiet {
            eprintln!("{}: {rows} rows imported in {:.1} s", self.table, took.as_secs_f64());
        }
    }

    /// How far it is, for a sentence: `42 % read`.
    pub(crate) fn describe(&self) -> String {
        if self.sorting.load(Ordering::Relaxed) {
            return "100 % read, being sorted".to_owned();
        }
        let percent = u128::from(self.bytes_read()) * 100 / u128::from(self.bytes_total.max(1));
        format!("{percent} % read")
    }

    /// The form of `/api/stores`.
    pub(crate) fn import(&self, error: Option<String>) -> Import {
        Import {
            table: self.table.clone(),
            bytes_done: self.bytes_read(),
            bytes_total: self.bytes_total,
            rows: self.rows.load(Ordering::Relaxed),
            error,
        }
    }

    fn report(&self) {
        if self.quiet {
            return;
        }
        let Ok(mut reported) = self.reported.lock() else { return };
        if reported.elapsed() >= REPORT_EVERY {
            *reported = Instant::now();
            eprintln!("{}: {}, {} rows", self.table, self.describe(), self.rows.load(Ordering::Relaxed));
        }
    }
}
