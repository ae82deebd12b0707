//! Opening a place: store, table, binding, instrument, range, and the first moment. What the user did not choose is chosen.
//!
//! ```text
//!   connect ▶ tables ▶ columns (of one table after the other until one has a book; else the first that can be read) ▶ instruments ▶ bounds ▶ range ▶ seek
//! ```

use arrow_array::RecordBatch;

use super::timeline::Bars;
use super::{Engine, Opened, kind_of, time_unit};
use crate::link::{BindingInfo, ErrorJson, InstrumentInfo, Open, Range, StoreInfo, TableInfo};
use crate::market::{Anchor, Binding, ColumnDecl, Feed};
use crate::replay::Player;
use crate::store::{self, AnchorRows, BadName, Bounds, Key, MAX_INSTRUMENTS, Place, Query, TimeColumn, answers};
use crate::units::{Moment, NANOS_PER_DAY, UnixNanos};

/// What a control query is asked for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Task {
    Tables,
    Columns,
    Instruments,
    Bounds,
    Range,
    /// The last time with data before an empty range, then the first after it.
    NearestBefore,
    NearestAfter,
    Anchor,
    FirstRow,
    Base,
    /// Rows of one time.
    TradeAt,
    /// First and last time of trades.
    TradeBeside,
    BrowseTables,
    /// Of a table, by name.
    BrowseColumns(String),
    BrowseInstruments(String),
    Counts {
        width: i64,
    },
    /// Rows in the bars of the timeline.
    Bars(Bars),
    /// Trades in buckets of the range.
    TradeCounts,
    /// Trades before a time in a run of history.
    TradesBefore {
        run: u64,
        time: UnixNanos,
    },
    /// A page of trades, and then: how many come before its first time, and what else its times have.
    TradePage(u64),
    TradePlaces(u64),
    TradeTies(u64),
}

/// A place on its way to be open.
#[derive(Debug)]
pub(super) struct Opening {
    pub(super) open: Open,
    pub(super) answers: Vec<u32>,
    /// Tables not tried yet, the next one last.
    candidates: Vec<TableInfo>,
    /// The first one that can be read and holds no book: it is opened when none does.
    bookless: Option<TableInfo>,
    /// What is tried now is opened, whatever it holds.
    settled: bool,
    table: Option<TableInfo>,
    binding: Option<Binding>,
    time: Option<TimeColumn>,
    instrument: Option<InstrumentInfo>,
    key: Key,
    /// The symbol as asked for was not among those listed, and is asked for by itself.
    narrowed: bool,
    range: Option<(UnixNanos, UnixNanos)>,
    arrays: Vec<(String, u8)>,
    size_kind: String,
}

impl Engine {
    pub(super) fn start_opening(&mut self, open: Open, answers: Vec<u32>, now: u64) {
        let store = match &open.source {
            Some(name) => self.stores.iter().find(|store| store.name == *name),
            None => self.stores.iter().find(|store| store.default).or(self.stores.first()),
        };
        let Some(store) = store.cloned() else {
            let known = self.stores.iter().map(|store| store.name.as_str()).collect::<Vec<_>>().join(", ");
            let asked = open.source.clone().unwrap_or_else(|| "any store".to_owned());
            for id in answers {
                let result = Err(format!("open: there is no store {asked}; known are: {known}"));
                self.post(crate::link::FromWorker::Answer { id, result });
            }
            return;
        };
        let at = open.at.as_ref().map_or(Ok(()), |at| at.parse::<Moment>().map(|_| ()).map_err(|error| format!("at: {error}")));
        if let Err(reason) = open.range.as_ref().map_or(Ok(()), |range| parse_range(range).map(|_| ())).and(at) {
            for id in answers {
                self.post(crate::link::FromWorker::Answer { id, result: Err(format!("open: {reason}")) });
            }
            return;
        }
        if open.symbols.len() > 1 {
            for id in answers {
                let result = Err(format!("open: one symbol at a time, for now; got {}", open.symbols.len()));
                self.post(crate::link::FromWorker::Answer { id, result });
            }
            return;
        }
        let mut waiting = answers;
        if let Some(old) = self.opening.take() {
            waiting.extend(old.answers);
        }
        if let Some(seek) = self.seek.take() {
            waiting.extend(seek.answers);
        }
        self.pause();
        self.failed = false;
        self.error = None;
        self.resume = None;
        self.withdraw_all();
        if let Some(browsing) = self.browsing.take() {
            waiting.extend(browsing.answers);
        }
        self.wanted = Some(open.clone());
        self.opening = Some(Opening {
            open,
            answers: waiting,
            candidates: Vec::new(),
            bookless: None,
            settled: false,
            table: None,
            binding: None,
            time: None,
            instrument: None,
            key: Key::default(),
            narrowed: false,
            range: None,
            arrays: Vec::new(),
            size_kind: String::new(),
        });
        let same = self.store.as_ref().is_some_and(|old| old.url == store.url);
        self.store = Some(store);
        self.state_dirty = true;
        if same && self.connected() {
            self.ask(Task::Tables, &Query::Tables);
        } else {
            self.connect(now);
        }
    }

    /// Both connections are up: go on with what was interrupted.
    pub(super) fn connected_again(&mut self, now: u64) {
        self.retry_at = None;
        if self.error.as_ref().is_some_and(|error| error.code == "lost") {
            self.error = None;
        }
        self.state_dirty = true;
        if let Some(opening) = self.opening.take() {
            return self.start_opening(opening.open, opening.answers, now);
        }
        if self.browsing.is_some() {
            self.ask(Task::BrowseTables, &Query::Tables);
        }
        if self.opened.is_none() || self.reopen {
            if let Some(open) = self.wanted.clone() {
                self.start_opening(open, Vec::new(), now);
            }
            return;
        }
        if self.error.is_none() {
            self.error = self.empty_range();
        }
        self.resume_seek(now);
        self.mend();
        self.restart_clock(now);
    }

    /// Puts a control query into the queue. A name that cannot be quoted fails the opening.
    pub(super) fn ask(&mut self, task: Task, query: &Query) {
        match store::render(query, kind_of(self.store.as_ref())) {
            Ok(sql) => self.control.tasks.push_back((task, sql)),
            Err(error) => self.bad_name(&error),
        }
    }

    pub(super) fn bad_name(&mut self, error: &BadName) {
        let place = self.store.as_ref().map(|store| store.name.clone()).unwrap_or_default();
        self.fail(ErrorJson { code: "name".to_owned(), what: error.to_string(), place, todo: "Choose another table or symbol".to_owned() });
    }

    pub(super) fn answered(&mut self, task: Task, answer: &[RecordBatch], now: u64) {
        let result = match task {
            Task::Tables => answers::tables_with_counts(answer).and_then(|counted| {
                self.counted = counted;
                answers::tables(answer).map(|tables| self.got_tables(tables))
            }),
            Task::Columns => answers::columns(answer).map(|columns| self.got_columns(&columns)),
            Task::Instruments => self.read_instruments(answer).map(|instruments| self.got_instruments(instruments, now)),
            Task::Bounds => answers::bounds(answer).map(|bounds| self.got_bounds(bounds, now)),
            Task::Range => answers::bounds(answer).map(|bounds| self.got_range(bounds, now)),
            Task::NearestBefore => answers::bounds(answer).map(|bounds| self.got_nearest(bounds, true)),
            Task::NearestAfter => answers::bounds(answer).map(|bounds| self.got_nearest(bounds, false)),
            Task::Anchor => answers::anchor(answer).map(|anchor| self.got_anchor(anchor)),
            Task::FirstRow => answers::bounds(answer).map(|bounds| self.got_first_row(bounds)),
            Task::Base => answers::bounds(answer).map(|bounds| self.got_base(bounds)),
            Task::TradeAt => self.got_trade(answer, now),
            Task::TradeBeside => answers::bounds(answer).map(|bounds| self.got_trade_beside(bounds, now)),
            Task::BrowseTables => answers::tables_with_counts(answer).and_then(|counted| {
                self.counted = counted;
                answers::tables(answer).map(|tables| self.browsed_tables(tables))
            }),
            Task::BrowseColumns(ref table) => answers::columns(answer).map(|columns| self.browsed_columns(table, &columns)),
            Task::BrowseInstruments(ref table) => self.browsed_instruments(table, answer),
            Task::Counts { width } => {
                let from = self.opened.as_ref().map_or(UnixNanos(0), |opened| opened.from);
                // Of a range so long that the numbers of its buckets overflow no use can be made.
                self.fetch.counts = answers::counts(answer, from, width).ok();
                Ok(())
            }
            // Asked on the side.
            Task::Bars(_) | Task::TradeCounts | Task::TradesBefore { .. } | Task::TradePage(_) | Task::TradePlaces(_) | Task::TradeTies(_) => Ok(()),
        };
        if let Err(error) = result {
            let place = self.place_text();
            let todo = "The store answers in a form this version does not know; choose another table or store";
            self.fail(ErrorJson { code: "answer".to_owned(), what: format!("{task:?}: {error}"), place, todo: todo.to_owned() });
        }
        self.state_dirty = true;
    }

    pub(super) fn task_failed(&mut self, task: Task, status: u8, message: &str) {
        // Counts only help to plan: without them windows are cut by rows. Nearest data is an offer.
        if !matches!(task, Task::Counts { .. } | Task::NearestBefore | Task::NearestAfter | Task::BrowseColumns(_) | Task::BrowseInstruments(_)) {
            let what = format!("The store refused a query while {}: {message}", doing(&task));
            let place = format!("{}, status 0x{status:02x}", self.place_text());
            self.fail(ErrorJson { code: "query".to_owned(), what, place, todo: "Try again, or choose another table".to_owned() });
        }
        if matches!(task, Task::BrowseColumns(_) | Task::BrowseInstruments(_)) {
            self.browsed_one();
        }
        self.state_dirty = true;
    }

    pub(super) fn place_text(&self) -> String {
        let store = self.store.as_ref().map_or("no store", |store: &StoreInfo| store.name.as_str());
        let opening = self.opening.as_ref().and_then(|opening| opening.table.as_ref()).map(|table| table.name.as_str());
        match opening.or(self.opened.as_ref().map(|opened| opened.place.table.as_str())) {
            Some(table) => format!("store {store}, table {table}"),
            None => format!("store {store}"),
        }
    }

    fn give_up(&mut self, code: &str, what: String, todo: &str) {
        let place = self.place_text();
        self.fail(ErrorJson { code: code.to_owned(), what, place, todo: todo.to_owned() });
    }

    /// What was found of tables before stays: columns do not change under a name.
    pub(super) fn keep_tables(&mut self, tables: Vec<TableInfo>) {
        let known = std::mem::replace(&mut self.catalogue.tables, tables);
        for table in &mut self.catalogue.tables {
            if let Some(old) = known.iter().find(|old| old.name == table.name && old.designated == table.designated) {
                table.reason = table.reason.take().or(old.reason.clone());
                table.holds.clone_from(&old.holds);
                table.instruments.clone_from(&old.instruments);
            }
        }
    }

    fn got_tables(&mut self, tables: Vec<TableInfo>) {
        if self.opening.is_none() {
            return;
        }
        self.keep_tables(tables);
        let Some(opening) = &mut self.opening else { return };
        match opening.open.table.clone() {
            Some(name) => match self.catalogue.tables.iter().find(|table| table.name == name) {
                Some(_) if importing(self.store.as_ref(), &name) => return self.still_importing(&name),
                Some(table) => (opening.candidates, opening.settled) = (vec![table.clone()], true),
                None => {
                    let known = self.catalogue.tables.iter().map(|table| table.name.as_str()).take(10).collect::<Vec<_>>().join(", ");
                    let what = format!("There is no table {name} in the store; it has: {known}");
                    return self.give_up("table", what, "Choose another table");
                }
            },
            None => {
                let ready = |table: &&TableInfo| table.reason.is_none() && !importing(self.store.as_ref(), &table.name);
                opening.candidates = self.catalogue.tables.iter().filter(ready).cloned().collect();
                opening.candidates.reverse();
            }
        }
        self.next_candidate();
    }

    fn still_importing(&mut self, tables: &str) {
        self.give_up("importing", format!("Still importing {tables}"), "It opens by itself when it is ready");
    }

    fn next_candidate(&mut self) {
        let Some(opening) = &mut self.opening else { return };
        if opening.candidates.is_empty() {
            opening.settled = true;
            opening.candidates.extend(opening.bookless.take());
        }
        let Some(table) = opening.candidates.pop() else {
            let importing: Vec<_> = self
                .store
                .iter()
                .flat_map(|store| &store.importing)
                .filter(|import| import.error.is_none())
                .map(|import| import.table.clone())
                .collect();
            let reasons = self.catalogue.tables.iter().filter_map(|table| table.reason.clone()).take(3).collect::<Vec<_>>().join("; ");
            return match (importing.is_empty(), reasons.is_empty()) {
                (false, _) => self.still_importing(&importing.join(", ")),
                (true, true) => self.give_up("table", "The store holds no table".to_owned(), "Choose another store, or serve a file"),
                (true, false) => {
                    self.give_up("binding", format!("No table of the store can be read: {reasons}"), "Choose another store, or serve another file")
                }
            };
        };
        let query = Query::Columns { table: table.name.clone() };
        opening.table = Some(table);
        self.ask(Task::Columns, &query);
    }

    fn got_columns(&mut self, columns: &[answers::NamedColumn]) {
        let Some(opening) = &mut self.opening else { return };
        let Some(table) = opening.table.clone() else { return };
        let declared: Vec<_> = columns.iter().map(|column| ColumnDecl { name: column.name.clone(), kind: column.kind.clone() }).collect();
        let bound = Binding::bind_chosen(&table.name, &declared, table.designated.as_deref(), &opening.open.bind);
        let binding = match bound {
            Ok(binding) => binding,
            Err(reason) => {
                let reason = reason.to_string();
                if let Some(listed) = self.catalogue.tables.iter_mut().find(|listed| listed.name == table.name) {
                    listed.reason = Some(reason.clone());
                }
                if opening.open.table.is_some() {
                    return self.give_up("binding", reason, "Choose another table");
                }
                return self.next_candidate();
            }
        };
        if let Some(listed) = self.catalogue.tables.iter_mut().find(|listed| listed.name == table.name) {
            listed.holds = binding.holds.name().to_owned();
            // A choice of columns may have made it readable.
            listed.reason = None;
        }
        if !opening.settled && !binding.holds.has_book() {
            opening.bookless.get_or_insert(table);
            return self.next_candidate();
        }
        let kind_of_column = |name: &String| columns.iter().find(|column| column.name == *name).map(|column| column.kind.clone());
        opening.size_kind = binding.roles.get("size").and_then(kind_of_column).unwrap_or_default();
        let dimensions = |kind: &str| u8::try_from(kind.matches("[]").count()).unwrap_or(u8::MAX);
        opening.arrays =
            columns.iter().map(|column| (column.name.clone(), dimensions(&column.kind))).filter(|(_, dimensions)| *dimensions > 0).collect();
        let kind = columns.iter().find(|column| column.name == binding.time).map_or("", |column| column.kind.as_str());
        opening.time = Some(TimeColumn { name: binding.time.clone(), unit: time_unit(kind) });
        let keyless = binding.symbol.is_none() && binding.publisher.is_none() && binding.instrument.is_none();
        opening.binding = Some(binding);
        if keyless {
            let rows = table.rows.unwrap_or(0);
            if let Some(symbol) = opening.open.symbols.first().filter(|symbol| **symbol != table.name) {
                let what = format!("The table names no instruments, so it has no {symbol}");
                return self.give_up("symbol", what, "Open the table without a symbol");
            }
            let instrument = InstrumentInfo { symbol: table.name.clone(), rows, ..InstrumentInfo::default() };
            opening.instrument = Some(instrument.clone());
            self.catalogue.instruments = vec![instrument];
            return self.ask_bounds(Task::Bounds, None, None);
        }
        self.ask_instruments(None);
    }

    fn ask_instruments(&mut self, symbol: Option<String>) {
        let Some(opening) = &self.opening else { return };
        let (Some(table), Some(time), Some(binding)) = (&opening.table, &opening.time, &opening.binding) else { return };
        let key = [&binding.symbol, &binding.publisher, &binding.instrument].into_iter().flatten().cloned().collect();
        let symbol = binding.symbol.clone().zip(symbol);
        let query = Query::Instruments { table: table.name.clone(), time: time.clone(), key, symbol, most: MAX_INSTRUMENTS };
        self.ask(Task::Instruments, &query);
    }

    fn read_instruments(&self, answer: &[RecordBatch]) -> Result<Vec<answers::Listed>, answers::BadAnswer> {
        let binding = self.opening.as_ref().and_then(|opening| opening.binding.as_ref());
        let name = |column: fn(&Binding) -> Option<&String>| binding.and_then(column).map(String::as_str);
        answers::instruments(answer, name(|b| b.symbol.as_ref()), name(|b| b.publisher.as_ref()), name(|b| b.instrument.as_ref()))
    }

    fn got_instruments(&mut self, instruments: Vec<answers::Listed>, now: u64) {
        let Some(opening) = &mut self.opening else { return };
        let open = &opening.open;
        let wanted = |listed: &&answers::Listed| {
            let instrument = &listed.info;
            open.symbols.first().is_none_or(|symbol| *symbol == instrument.symbol)
                && open.publisher.is_none_or(|publisher| instrument.publisher == Some(publisher))
                && open.instrument.as_ref().is_none_or(|id| instrument.instrument.as_ref() == Some(id))
        };
        let found = instruments.iter().find(wanted).cloned();
        let asked = open.symbols.first().cloned();
        let full = instruments.len() >= MAX_INSTRUMENTS;
        if !opening.narrowed {
            self.catalogue.instruments.clear();
        }
        self.catalogue.instruments.extend(instruments.into_iter().map(|listed| listed.info));
        match (found, asked) {
            (Some(listed), _) => {
                opening.instrument = Some(listed.info);
                opening.key = listed.key;
                self.got_bounds(listed.bounds, now);
            }
            // The list is cut; what is behind its end can be asked for by name.
            (None, Some(symbol)) if full && !opening.narrowed => {
                opening.narrowed = true;
                self.ask_instruments(Some(symbol));
            }
            (None, Some(symbol)) => {
                let known = self.catalogue.instruments.iter().map(|instrument| instrument.symbol.as_str()).take(10).collect::<Vec<_>>().join(", ");
                self.give_up("symbol", format!("The table has no instrument {symbol} as asked for; it has: {known}"), "Choose another instrument");
            }
            (None, None) if !self.catalogue.instruments.is_empty() => {
                self.give_up("symbol", "The table has no instrument with the publisher and id as asked for".to_owned(), "Choose another instrument");
            }
            (None, None) => self.give_up("empty", "The table is empty".to_owned(), "Choose another table"),
        }
    }

    fn ask_bounds(&mut self, task: Task, from: Option<UnixNanos>, to: Option<UnixNanos>) {
        if let Some(place) = self.opening_place() {
            self.ask(task, &Query::Bounds { place, from, to });
        }
    }

    fn opening_place(&self) -> Option<Place> {
        let opening = self.opening.as_ref().filter(|opening| opening.instrument.is_some())?;
        Some(Place { table: opening.table.as_ref()?.name.clone(), time: opening.time.clone()?, key: opening.key.clone(), trades: None })
    }

    fn got_bounds(&mut self, bounds: Bounds, now: u64) {
        let Some(opening) = &mut self.opening else { return };
        let Some((first, last)) = bounds.times else {
            return self.give_up("empty", "The instrument has no rows".to_owned(), "Choose another instrument");
        };
        self.catalogue.bounds = Some(Range { from: first.to_string(), to: last.to_string() });
        let asked = opening.open.range.as_ref().and_then(|range| parse_range(range).ok());
        let (from, to) = asked.unwrap_or_else(|| last_day(last));
        opening.range = Some((from, to));
        if from <= first && last < to {
            return self.got_range(bounds, now);
        }
        self.ask_bounds(Task::Range, Some(from), Some(to));
    }

    fn got_range(&mut self, range: Bounds, now: u64) {
        let Some(place) = self.opening_place() else { return };
        let Some(opening) = self.opening.take() else { return };
        self.reopen = false;
        let (Some(binding), Some(instrument), Some((from, to)), Some(store)) =
            (opening.binding, opening.instrument, opening.range, self.store.clone())
        else {
            return;
        };
        // From here on the old place is gone; its last frame stays until the new one has a book.
        self.player = Player::new(binding.kind);
        self.take_over(&opening.open, range.rows);
        self.abandon_window();
        self.history.begin(from, 0);
        self.history.finish();
        self.fetch.forget_table();
        self.panels_forget();
        self.looped = None;
        self.ended = false;
        self.as_of = None;
        self.disturbed = false;
        self.kept = None;
        self.opened = Some(Opened {
            store,
            place,
            instrument,
            feed: Feed::new(&binding),
            binding,
            from,
            to,
            range,
            arrays: opening.arrays,
            size_kind: opening.size_kind,
        });
        self.state_dirty = true;
        if range.times.is_none() {
            // The answer comes after the nearest data is known, with the book as it stands over the empty range.
            self.error = self.empty_range();
            self.ask_nearest();
            self.start_seek(Moment::before(from), opening.answers);
            return self.run_queued(now);
        }
        match opening.open.at.as_ref().and_then(|at| at.parse().ok()) {
            Some(at) => self.start_seek(at, opening.answers),
            None => self.start_home(opening.answers),
        }
        self.ask_counts();
        self.run_queued(now);
    }

    fn ask_counts(&mut self) {
        let Some(opened) = &self.opened else { return };
        let width = store::windows::bucket_width(opened.from, opened.to);
        let query = Query::Counts { place: opened.place.clone(), origin: opened.from, from: opened.from, to: opened.to, width };
        self.ask(Task::Counts { width }, &query);
    }

    fn ask_nearest(&mut self) {
        let Some(opened) = &self.opened else { return };
        let before = Query::Bounds { place: opened.place.clone(), from: None, to: Some(opened.from) };
        let after = Query::Bounds { place: opened.place.clone(), from: Some(opened.to), to: None };
        self.catalogue.nearest = Default::default();
        self.ask(Task::NearestBefore, &before);
        self.ask(Task::NearestAfter, &after);
    }

    /// What is said of a range without events.
    fn empty_range(&self) -> Option<ErrorJson> {
        let opened = self.opened.as_ref().filter(|opened| opened.range.times.is_none())?;
        let what = format!("No events between {} and {}", crate::units::iso(opened.from), crate::units::iso(opened.to));
        let todo = "Choose another range; the nearest data is offered".to_owned();
        Some(ErrorJson { code: "empty".to_owned(), what, place: self.place_text(), todo })
    }

    fn got_nearest(&mut self, bounds: Bounds, before: bool) {
        let time = bounds.times.map(|(first, last)| if before { last } else { first }.to_string());
        if before {
            self.catalogue.nearest.before = time;
        } else {
            self.catalogue.nearest.after = time;
        }
        self.state_dirty = true;
    }

    /// Why the table that is being opened, or is open, is read as it is.
    pub(super) fn binding_info(&self) -> Option<BindingInfo> {
        if let Some(opened) = &self.opened {
            return Some(opened.binding.info());
        }
        let error = self.error.as_ref().filter(|error| error.code == "binding")?;
        Some(BindingInfo { reason: Some(error.what.clone()), ..BindingInfo::default() })
    }

    /// Which rows a book can begin at, in the open table; `None` when none says what the whole book is.
    pub(super) fn anchor_rows(&self) -> Option<AnchorRows> {
        Some(match self.opened.as_ref().map(|opened| &opened.binding.anchor) {
            Some(Anchor::MboSnapshot { action, flags }) => AnchorRows::Snapshots { action: action.clone(), flags: flags.clone() },
            Some(Anchor::Marked { column, values }) => AnchorRows::Marked { column: column.clone(), values: values.clone() },
            Some(Anchor::LastRow { flags }) => AnchorRows::GroupEnds { flags: flags.clone() },
            None => AnchorRows::GroupEnds { flags: None },
            Some(Anchor::Never) => return None,
        })
    }

    /// After a failure everything that was open can be opened again.
    pub(super) fn remember_for_reconnect(&mut self) {
        if let Some(here) = self.here() {
            self.wanted = Some(here);
        }
    }

    /// The place that is open and the moment that is shown.
    pub(super) fn here(&self) -> Option<Open> {
        let opened = self.opened.as_ref()?;
        Some(Open {
            source: Some(opened.store.name.clone()),
            table: Some(opened.place.table.clone()),
            symbols: vec![opened.instrument.symbol.clone()],
            publisher: opened.instrument.publisher,
            instrument: opened.instrument.instrument.clone(),
            range: Some(Range { from: opened.from.to_string(), to: opened.to.to_string() }),
            at: self.as_of.map(|moment| moment.to_string()),
            bind: opened.binding.chosen.clone(),
        })
    }
}

/// Whether a table is being imported, as far as the store's list of imports says.
fn importing(store: Option<&StoreInfo>, table: &str) -> bool {
    store.is_some_and(|store| store.importing.iter().any(|import| import.table == table && import.error.is_none()))
}

fn doing(task: &Task) -> &'static str {
    match task {
        Task::Tables | Task::BrowseTables => "listing its tables",
        Task::Columns | Task::BrowseColumns(_) => "reading the columns of a table",
        Task::TradeAt | Task::TradeBeside => "looking for a trade",
        Task::Instruments | Task::BrowseInstruments(_) => "listing the instruments",
        Task::Bounds | Task::Range | Task::NearestBefore | Task::NearestAfter => "looking for the first and last time",
        Task::Anchor | Task::FirstRow => "looking for where the book begins",
        Task::Base => "counting events",
        Task::Counts { .. } | Task::Bars(_) | Task::TradeCounts => "counting rows per bucket",
        Task::TradesBefore { .. } | Task::TradePage(_) | Task::TradePlaces(_) | Task::TradeTies(_) => "reading trades",
    }
}

pub(super) fn parse_range(range: &Range) -> Result<(UnixNanos, UnixNanos), String> {
    let time = |text: &str| text.parse::<UnixNanos>().map_err(|error| format!("range: {error}"));
    let (from, to) = (time(&range.from)?, time(&range.to)?);
    if from < to { Ok((from, to)) } else { Err(format!("range: {from} is not before {to}")) }
}

/// The UTC day that holds a time.
fn last_day(time: UnixNanos) -> (UnixNanos, UnixNanos) {
    let from = time.0.saturating_sub(time.0.rem_euclid(NANOS_PER_DAY));
    (UnixNanos(from), UnixNanos(from.saturating_add(NANOS_PER_DAY)))
}
