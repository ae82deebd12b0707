//! The tables of this server on their way into the catalogue: those of the start, and files that are added while it runs.

use std::path::Path;
use std::sync::Arc;

use super::cache::Cache;
use super::catalog::{Catalog, TableEntry, TableState};
use super::error::ServeError;
use super::import;
use super::progress::Progress;
use super::sort::Sorter;
use super::source::{self, Format, TableSource};
use super::sql::Sql;
use super::table::StoredTable;

/// What an import needs.
#[derive(Clone)]
pub(crate) struct Library {
    /// What the store holds.
    pub(crate) catalog: Arc<Catalog>,
    /// Who queries it.
    pub(crate) sql: Sql,
    /// Where imported files lie.
    pub(crate) cache: Arc<Cache>,
    /// Sorts what is out of order.
    pub(crate) sorter: Sorter,
    /// Column that orders tables, where it is not to be found by itself.
    pub(crate) time_column: Option<String>,
    /// Writes nothing to the terminal.
    pub(crate) quiet: bool,
}

impl Library {
    /// An entry for a table that is still to be imported.
    pub(crate) fn entry(source: TableSource, quiet: bool) -> TableEntry {
        // The tables of the sample are made together: one of them speaks for all.
        let silent = quiet || matches!(source.format, Format::Sample(schema) if schema != dbn::Schema::Mbo);
        let progress = Arc::new(Progress::new(&source.name, source.bytes(), silent));
        TableEntry { state: TableState::Importing(progress), source: Arc::new(source) }
    }

    /// Makes those tables known that are remembered from an earlier run.
    ///
    /// # Errors
    /// A remembered table cannot be opened.
    pub(crate) fn recall(&self) -> Result<(), ServeError> {
        for entry in self.catalog.tables() {
            if let Some(stored) = import::recall(&entry.source, &self.cache) {
                self.publish(&entry.source, &stored)?;
            }
        }
        Ok(())
    }

    /// Imports what was not remembered, one table after the other. Blocking.
    ///
    /// # Errors
    /// The first that failed; the others are there.
    pub(crate) fn import_all(&self) -> Result<(), ServeError> {
        let (sample, files): (Vec<_>, Vec<_>) = self.catalog.tables().into_iter().partition(|entry| matches!(entry.source.format, Format::Sample(_)));
        let mut first_failure = self.make_sample(&sample).err();
        for entry in files {
            if let Err(error) = self.import(&entry) {
                first_failure.get_or_insert(error);
            }
        }
        first_failure.map_or(Ok(()), Err)
    }

    /// Makes the tables of the sample, unless all of them are there, or it is not served. Blocking.
    fn make_sample(&self, entries: &[TableEntry]) -> Result<(), ServeError> {
        let [mbo, depth, trades] = entries else { return Ok(()) };
        if entries.iter().all(|entry| entry.ready().is_some()) {
            return Ok(());
        }
        // One that is there already is made again with the others, unseen.
        let progress = [mbo, depth, trades].map(|entry| match &entry.state {
            TableState::Importing(progress) => Arc::clone(progress),
            _ => Arc::new(Progress::new(&entry.source.name, entry.source.bytes(), true)),
        });
        let tables = [(&*mbo.source, &*progress[0]), (&*depth.source, &*progress[1]), (&*trades.source, &*progress[2])];
        let made = import::make_sample(tables, &self.cache);
        let published = made.and_then(|stored| entries.iter().zip(&stored).try_for_each(|(entry, stored)| self.publish(&entry.source, stored)));
        published.inspect_err(|error| {
            if !self.quiet {
                eprintln!("the sample was not made: {error}");
            }
            for (entry, progress) in entries.iter().zip(progress) {
                self.catalog.set(&entry.source.name, TableState::Failed(progress, error.to_string()));
            }
        })
    }

    /// Imports a table that is not there yet. Blocking.
    ///
    /// # Errors
    /// Why it cannot be; the catalogue says so too.
    pub(crate) fn import(&self, entry: &TableEntry) -> Result<(), ServeError> {
        let TableState::Importing(progress) = &entry.state else { return Ok(()) };
        let done = import::run(&entry.source, &self.cache, progress, &self.sorter).and_then(|stored| self.publish(&entry.source, &stored));
        done.inspect_err(|error| {
            if !self.quiet {
                eprintln!("{}: not imported: {error}", entry.source.name);
            }
            self.catalog.set(&entry.source.name, TableState::Failed(Arc::clone(progress), error.to_string()));
        })
    }

    /// Looks at a file and adds it as a table under a name that is still free; it is to be imported then.
    ///
    /// # Errors
    /// A file that cannot be served.
    pub(crate) fn add(&self, file: &Path) -> Result<TableEntry, ServeError> {
        let tables = self.inspect(file, self.time_column.as_deref()).or_else(|error| match (&self.time_column, error) {
            // The column was named for the files of the start; this one may have its own.
            (Some(_), ServeError::NoTimeColumn { .. }) => self.inspect(file, None),
            (_, error) => Err(error),
        })?;
        let source = tables.into_iter().next().ok_or_else(|| ServeError::NoTable { path: file.to_owned() })?;
        let entry = self.catalog.add(Library::entry(source, self.quiet));
        match import::recall(&entry.source, &self.cache) {
            Some(stored) => {
                self.publish(&entry.source, &stored)?;
                Ok(self.catalog.table(&entry.source.name).unwrap_or(entry))
            }
            None => Ok(entry),
        }
    }

    fn inspect(&self, file: &Path, time: Option<&str>) -> Result<Vec<TableSource>, ServeError> {
        source::inspect(&[file.to_owned()], time, &self.cache, self.quiet)
    }

    /// Lets queries see a table.
    fn publish(&self, source: &TableSource, stored: &import::Stored) -> Result<(), ServeError> {
        let table = Arc::new(StoredTable::open(stored, Arc::clone(&source.schema), source.time)?);
        let added = self.sql.add(&source.name, Arc::clone(&table));
        added.map_err(|error| ServeError::engine(format!("adding table {}", source.name), error))?;
        self.catalog.set(&source.name, TableState::Ready(table));
        Ok(())
    }
}
