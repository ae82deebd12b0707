//! A look at what a store has, without opening any of it: its tables, and of some of them the busiest instruments. Answers fill in
//! as they come; a table that does not say its instruments is listed without.

use arrow_array::RecordBatch;

use super::open::Task;
use super::{Engine, time_unit};
use crate::link::{FromWorker, InstrumentInfo, TableInfo};
use crate::market::{Binding, ColumnDecl};
use crate::store::answers::{self, BadAnswer, NamedColumn};
use crate::store::{Query, TimeColumn};

/// Tables of which the instruments are asked for.
const TABLES: usize = 16;
/// Instruments of a table.
const INSTRUMENTS: usize = 12;

/// A look that goes on.
#[derive(Debug)]
pub(super) struct Browsing {
    /// Requests answered when the tables are listed.
    pub(super) answers: Vec<u32>,
    /// Columns that make the key, by table whose instruments are asked for.
    keys: Vec<(String, Binding)>,
    /// Tables whose instruments are still to come.
    open: usize,
    listed: bool,
}

impl Browsing {
    /// The tables are not listed yet.
    pub(super) fn is_listing(&self) -> bool {
        !self.listed
    }
}

impl Engine {
    pub(super) fn start_browsing(&mut self, source: Option<&str>, id: u32, now: u64) {
        let store = match source {
            Some(name) => self.stores.iter().find(|store| store.name == name),
            None => self.stores.iter().find(|store| store.default).or(self.stores.first()),
        };
        let Some(store) = store.cloned() else {
            let known = self.stores.iter().map(|store| store.name.as_str()).collect::<Vec<_>>().join(", ");
            let result = Err(format!("browse: there is no store {}; known are: {known}", source.unwrap_or("at all")));
            return self.post(FromWorker::Answer { id, result });
        };
        let same = self.store.as_ref().is_some_and(|old| old.url == store.url);
        if self.opening.is_some() || (self.opened.is_some() && !same) {
            let result = Err("browse: a place of another store is open, or one is being opened; open a place of that store instead".to_owned());
            return self.post(FromWorker::Answer { id, result });
        }
        let mut answers = self.browsing.take().map(|browsing| browsing.answers).unwrap_or_default();
        answers.push(id);
        self.withdraw_browsing();
        self.browsing = Some(Browsing { answers, keys: Vec::new(), open: 0, listed: false });
        if !same {
            self.catalogue.tables.clear();
            self.failed = false;
            self.error = None;
        }
        self.store = Some(store);
        self.state_dirty = true;
        if same && self.connected() {
            self.ask(Task::BrowseTables, &Query::Tables);
        } else {
            self.connect(now);
        }
    }

    fn withdraw_browsing(&mut self) {
        let unwanted = |task: &Task| matches!(task, Task::BrowseTables | Task::BrowseColumns(_) | Task::BrowseInstruments(_));
        let messages = self.control.withdraw(unwanted);
        self.send_all(super::connection::Which::Control, messages);
    }

    pub(super) fn browsed_tables(&mut self, tables: Vec<TableInfo>) {
        self.keep_tables(tables);
        let Some(browsing) = &mut self.browsing else { return };
        browsing.listed = true;
        let asked: Vec<_> =
            self.catalogue.tables.iter().filter(|table| table.designated.is_some()).take(TABLES).map(|table| table.name.clone()).collect();
        browsing.open = asked.len();
        browsing.keys.clear();
        let answers = std::mem::take(&mut browsing.answers);
        if asked.is_empty() {
            self.browsing = None;
        }
        for table in asked {
            self.ask(Task::BrowseColumns(table.clone()), &Query::Columns { table });
        }
        for id in answers {
            self.answer(id);
        }
    }

    pub(super) fn browsed_columns(&mut self, name: &str, columns: &[NamedColumn]) {
        let Some(table) = self.catalogue.tables.iter_mut().find(|table| table.name == name) else { return };
        let declared: Vec<_> = columns.iter().map(|column| ColumnDecl { name: column.name.clone(), kind: column.kind.clone() }).collect();
        let binding = match Binding::bind(name, &declared, table.designated.as_deref()) {
            Ok(binding) => binding,
            Err(reason) => {
                table.reason = Some(reason.to_string());
                return self.browsed_one();
            }
        };
        table.holds = binding.holds.name().to_owned();
        let key: Vec<_> = [&binding.symbol, &binding.publisher, &binding.instrument].into_iter().flatten().cloned().collect();
        if key.is_empty() {
            table.instruments = vec![InstrumentInfo { symbol: name.to_owned(), rows: table.rows.unwrap_or(0), ..InstrumentInfo::default() }];
            return self.browsed_one();
        }
        let kind = columns.iter().find(|column| column.name == binding.time).map_or("", |column| column.kind.as_str());
        let time = TimeColumn { name: binding.time.clone(), unit: time_unit(kind) };
        if let Some(browsing) = &mut self.browsing {
            browsing.keys.push((name.to_owned(), binding));
        }
        let query = Query::Instruments { table: name.to_owned(), time, key, symbol: None, most: INSTRUMENTS };
        self.ask(Task::BrowseInstruments(name.to_owned()), &query);
    }

    pub(super) fn browsed_instruments(&mut self, name: &str, answer: &[RecordBatch]) -> Result<(), BadAnswer> {
        let binding = self.browsing.as_ref().and_then(|browsing| browsing.keys.iter().find(|(table, _)| table == name));
        let Some((_, binding)) = binding else { return Ok(()) };
        let listed = answers::instruments(answer, binding.symbol.as_deref(), binding.publisher.as_deref(), binding.instrument.as_deref())?;
        if let Some(table) = self.catalogue.tables.iter_mut().find(|table| table.name == name) {
            table.instruments = listed.into_iter().take(INSTRUMENTS).map(|listed| listed.info).collect();
        }
        self.browsed_one();
        Ok(())
    }

    /// One table less to ask.
    pub(super) fn browsed_one(&mut self) {
        self.state_dirty = true;
        if let Some(browsing) = &mut self.browsing {
            browsing.open = browsing.open.saturating_sub(1);
            if browsing.open == 0 {
                self.browsing = None;
            }
        }
    }
}
