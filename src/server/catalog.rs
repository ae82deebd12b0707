//! The tables of the embedded store: those that can be queried, those still being imported, those that failed.

use std::sync::{Arc, PoisonError, RwLock, RwLockReadGuard};

use super::progress::Progress;
use super::source::{Format, TableSource};
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

    /// What a person should know of it; `synthetic` for the session that this program made.
    pub(crate) fn note(&self) -> Option<String> {
        match &self.state {
            TableState::Importing(progress) => Some(format!("being imported: {}", progress.describe())),
            TableState::Failed(_, error) => Some(format!("could not be imported: {error}")),
            TableState::Ready(_) if self.source.format == Format::Synthetic => Some("synthetic".to_owned()),
            TableState::Ready(_) => self.source.note.clone(),
        }
    }
}
