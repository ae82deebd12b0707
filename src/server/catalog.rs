//! The tables of the embedded store: those that can be queried, those still being imported, those that failed.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::progress::Progress;
use super::source::TableSource;
use super::table::StoredTable;
use crate::link::Import;

/// One table.
#[derive(Debug, Clone)]
pub(crate) struct TableEntry {
    /// Name, columns, time column.
    pub(crate) source: Arc<TableSource>,
    /// Whether it can be queried.
    pub(crate) state: TableState,
}

/// Whether a table can be queried.
#[derive(Debug, Clone)]
pub(crate) enum TableState {
    /// Not yet.
    Importing(Arc<Progress>),
    /// Never: why.
    Failed(Arc<Progress>, String),
    /// Yes.
    Ready(Arc<StoredTable>),
}

/// All tables, in the order of their files.
#[derive(Debug, Default)]
pub(crate) struct Catalog {
    tables: RwLock<Vec<TableEntry>>,
}

impl Catalog {
    /// The tables at the start.
    pub(crate) fn new(tables: Vec<TableEntry>) -> Catalog {
        Catalog { tables: RwLock::new(tables) }
    }

    /// A table by name.
    pub(crate) fn table(&self, name: &str) -> Option<TableEntry> {
        self.read().iter().find(|table| table.source.name == name).cloned()
    }

    /// All tables.
    pub(crate) fn tables(&self) -> Vec<TableEntry> {
        self.read().clone()
    }

    /// Adds a table, under another name where its own is taken; returns it as it was added.
    pub(crate) fn add(&self, mut entry: TableEntry) -> TableEntry {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        let wanted = entry.source.name.clone();
        let taken = |name: &str| tables.iter().any(|table| table.source.name == name);
        let free = (1u64..).map(|count| if count == 1 { wanted.clone() } else { format!("{wanted}_{count}") }).find(|name| !taken(name));
        if let (Some(name), TableState::Importing(progress)) = (free.filter(|name| *name != wanted), &entry.state) {
            let source = TableSource { name: name.clone(), ..entry.source.as_ref().clone() };
            entry = TableEntry { state: TableState::Importing(Arc::new(progress.renamed(&name))), source: Arc::new(source) };
        }
        tables.push(entry.clone());
        entry
    }

    /// Changes the state of a table.
    pub(crate) fn set(&self, name: &str, state: TableState) {
        let mut tables = self.tables.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(table) = tables.iter_mut().find(|table| table.source.name == name) {
            table.state = state;
        }
    }

    /// Imports that run or have failed.
    pub(crate) fn imports(&self) -> Vec<Import> {
        let import = |table: &TableEntry| match &table.state {
            TableState::Importing(progress) => Some(progress.import(None)),
            TableState::Failed(progress, error) => Some(progress.import(Some(error.clone()))),
            TableState::Ready(_) => None,
        };
        self.read().iter().filter_map(import).collect()
    }

    fn read(&self) -> RwLockReadGuard<'_, Vec<TableEntry>> {
        self.tables.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl TableEntry {
    /// The table, when it can be queried.
    pub(crate) fn ready(&self) -> Option<&StoredTable> {
        match &self.state {
            TableState::Ready(table) => Some(table),
            _ => None,
        }
    }

    /// What a person should know of it; it begins with `synthetic` for a table that this program made.
    pub(crate) fn note(&self) -> Option<String> {
        match &self.state {
            TableState::Importing(progress) => Some(format!("being imported: {}", progress.describe())),
            TableState::Failed(_, error) => Some(format!("could not be imported: {error}")),
            TableState::Ready(_) => {
                let notes: Vec<&str> = [&self.source.note, &self.source.left_out].into_iter().flatten().map(String::as_str).collect();
                (!notes.is_empty()).then(|| notes.join("; "))
            }
        }
    }
}
