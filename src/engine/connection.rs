//! Sockets, of which each carries one query at a time: one for rows, one for what opening and seeking ask, and one on the side for
//! what the panels ask. The third is opened when a panel first wants something and the first book is shown; a count over a day that
//! takes its time holds up neither rows nor seeks there, and its failure ends nothing but the panels' answers.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::open::Task;
use super::{Engine, Output};
use crate::columnar::{ArrowByteCounter, Assembler};
use crate::link::{ErrorJson, StoreKind};
use crate::session::{Session, SessionEvent};
use crate::wire::Batch;

/// Time to open a socket.
const OPEN_MICROS: u64 = 15_000_000;
/// Time for a server to say who it is.
const GREETING_MICROS: u64 = 5_000_000;
/// An idle connection is touched this often: servers close silent ones.
const KEEP_ALIVE_MICROS: u64 = 60_000_000;
/// A query that is answered with nothing for so long is not answered any more: servers end their queries after 60 seconds.
const SILENCE_MICROS: u64 = 75_000_000;
/// Waits between tries to reconnect: doubling from the first to the last.
const RETRY_FIRST_MICROS: u64 = 500_000;
const RETRY_LAST_MICROS: u64 = 30_000_000;

/// Rows of a control answer: catalogues are capped by their statements; a server that sends more is not trusted.
const MAX_ANSWER_ROWS: usize = 100_000;
/// Bytes of a control answer.
const MAX_ANSWER_BYTES: usize = 32 << 20;

/// Close code for a connection whose bytes made no sense.
const CLOSE_PROTOCOL: u16 = 4002;
const CLOSE_NORMAL: u16 = 1000;

/// Wait before the side connection is opened again.
const SIDE_RETRY_MICROS: u64 = 2_000_000;

/// Which of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Control,
    Data,
    Side,
}

const ALL: [Which; 3] = [Which::Control, Which::Data, Which::Side];

#[derive(Debug)]
pub(super) struct Connection {
    which: Which,
    socket: Option<u32>,
    opened: bool,
    deadline: u64,
    last_sent: u64,
    last_heard: u64,
    pub(super) session: Session,
    assembler: Assembler,
    /// All but data: what is to be asked, and what the running query answers.
    pub(super) tasks: VecDeque<(Task, String)>,
    pub(super) running: Option<(Task, String)>,
    answer: Vec<RecordBatch>,
    answer_bytes: usize,
}

impl Connection {
    pub(super) fn new(which: Which) -> Connection {
        Connection {
            which,
            socket: None,
            opened: false,
            deadline: u64::MAX,
            last_sent: 0,
            last_heard: 0,
            session: Session::default(),
            assembler: Assembler::new(),
            tasks: VecDeque::new(),
            running: None,
            answer: Vec::new(),
            answer_bytes: 0,
        }
    }

    /// Whether the server said who it is.
    pub(super) fn ready(&self) -> bool {
        self.opened && self.deadline == u64::MAX
    }

    /// Takes back what is asked, running or not, where `unwanted` says so. The messages are to be sent.
    pub(super) fn withdraw(&mut self, unwanted: impl Fn(&Task) -> bool) -> Option<[Vec<u8>; 2]> {
        self.tasks.retain(|(task, _)| !unwanted(task));
        if !self.running.as_ref().is_some_and(|(task, _)| unwanted(task)) {
            return None;
        }
        self.running = None;
        self.answer.clear();
        self.answer_bytes = 0;
        self.session.cancel()
    }

    fn forget(&mut self) -> Option<u32> {
        *self = Connection { socket: self.socket, ..Connection::new(self.which) };
        self.socket.take()
    }
}

impl Engine {
    fn connection(&mut self, socket: u32) -> Option<&mut Connection> {
        [&mut self.control, &mut self.data, &mut self.side].into_iter().find(|connection| connection.socket == Some(socket))
    }

    fn by_name(&mut self, which: Which) -> &mut Connection {
        match which {
            Which::Control => &mut self.control,
            Which::Data => &mut self.data,
            Which::Side => &mut self.side,
        }
    }

    /// Opens the connections for rows and for questions to the chosen store.
    pub(super) fn connect(&mut self, now: u64) {
        if self.store.is_none() {
            return;
        }
        self.disconnect();
        self.retry_at = None;
        self.open_socket(Which::Control, now);
        self.open_socket(Which::Data, now);
        self.state_dirty = true;
    }

    fn open_socket(&mut self, which: Which, now: u64) {
        let Some(url) = self.store.as_ref().map(|store| store.url.clone()) else { return };
        let socket = self.next_socket;
        self.next_socket += 1;
        let connection = self.by_name(which);
        connection.socket = Some(socket);
        connection.deadline = now + OPEN_MICROS;
        self.outputs.push_back(Output::Connect { socket, url });
    }

    /// The side connection, opened when it is not.
    pub(super) fn side_ready(&mut self, now: u64) -> bool {
        if self.side.socket.is_none() && self.connected() && now >= self.side_retry_at {
            self.open_socket(Which::Side, now);
        }
        self.side.ready()
    }

    /// The side connection cannot be used: what the panels asked is forgotten, and asked again after a while.
    fn side_lost(&mut self, reason: String, now: u64) {
        if let Some(socket) = self.side.forget() {
            self.outputs.push_back(Output::Close { socket, code: CLOSE_NORMAL });
        }
        self.side_retry_at = now + SIDE_RETRY_MICROS;
        self.panels_lost(reason);
    }

    /// Closes all. Rows that were not complete are forgotten; they are asked for again.
    pub(super) fn disconnect(&mut self) {
        self.side_retry_at = 0;
        self.panels_disconnected();
        for which in ALL {
            if let Some(socket) = self.by_name(which).forget() {
                self.outputs.push_back(Output::Close { socket, code: CLOSE_NORMAL });
            }
        }
        self.abandon_window();
    }

    /// Whether the connections that playback needs can be used.
    pub(super) fn connected(&self) -> bool {
        self.control.ready() && self.data.ready()
    }

    pub(super) fn send(&mut self, which: Which, bytes: Vec<u8>, now: u64) {
        let connection = self.by_name(which);
        connection.last_sent = now;
        if let Some(socket) = connection.socket {
            self.outputs.push_back(Output::Send { socket, bytes });
        }
    }

    pub(super) fn socket_opened(&mut self, socket: u32, now: u64) {
        if let Some(connection) = self.connection(socket) {
            connection.opened = true;
            connection.deadline = now + GREETING_MICROS;
        }
    }

    pub(super) fn socket_text(&mut self, socket: u32) {
        if let Some(which) = self.connection(socket).map(|connection| connection.which) {
            self.broken("decode", "the server sent text where the protocol has binary messages only".to_owned(), which);
        }
    }

    pub(super) fn socket_message(&mut self, socket: u32, bytes: &[u8], now: u64) {
        let Some(connection) = self.connection(socket) else { return };
        let which = connection.which;
        connection.last_heard = now;
        let event = match connection.session.receive(bytes) {
            Ok(event) => event,
            Err(error) => return self.broken("decode", error.to_string(), which),
        };
        // Counters are of market data: what the catalogue takes is not counted, nor is the greeting.
        if which == Which::Data && !matches!(event, Some(SessionEvent::Ready)) {
            self.tally.wire_bytes.add(bytes.len() as u64);
        }
        match event {
            None => {}
            Some(SessionEvent::Ready) => {
                self.by_name(which).deadline = u64::MAX;
                self.learn_dialect(which);
                if which != Which::Side && self.connected() {
                    self.connected_again(now);
                }
            }
            Some(SessionEvent::Batch(batch)) => self.batch(which, batch, bytes.len(), now),
            Some(SessionEvent::End) => match which {
                Which::Data => self.window_ended(),
                Which::Control | Which::Side => self.answer_ended(which, now),
            },
            Some(SessionEvent::Cancelled) => match which {
                Which::Data => self.window_cancelled(),
                // What was withdrawn is forgotten already.
                Which::Control | Which::Side => {}
            },
            Some(SessionEvent::Failed { status, message }) => match which {
                Which::Data => self.window_failed(status, &message),
                Which::Control | Which::Side => self.answer_failed(which, status, &message),
            },
        }
    }

    /// A store that was given by its address is taken for a QuestDB until it says that it is a tickscope.
    fn learn_dialect(&mut self, which: Which) {
        if !self.by_name(which).session.embedded() {
            return;
        }
        let Some(store) = &mut self.store else { return };
        store.kind = StoreKind::Embedded;
        for known in self.stores.iter_mut().chain(&mut self.catalogue.stores).filter(|known| known.name == store.name) {
            known.kind = StoreKind::Embedded;
        }
    }

    fn batch(&mut self, which: Which, batch: Batch, wire_bytes: usize, now: u64) {
        let connection = self.by_name(which);
        let batch = match connection.assembler.assemble(batch, connection.session.decoder().dictionary()) {
            Ok(batch) => batch,
            Err(error) => return self.broken("decode", error.to_string(), which),
        };
        match which {
            Which::Data => {
                self.tally.rows.add(batch.num_rows() as u64);
                let bytes = self.tally.arrow_counter.add(&batch);
                self.tally.arrow_bytes.add(bytes);
                self.rows(batch, wire_bytes, now);
            }
            Which::Control | Which::Side => {
                let bytes = ArrowByteCounter::new().add(&batch);
                let control = self.by_name(which);
                control.answer_bytes = control.answer_bytes.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
                // The first batch tells the columns; further ones without rows would only take memory.
                if batch.num_rows() > 0 || control.answer.is_empty() {
                    control.answer.push(batch);
                }
                let rows: usize = control.answer.iter().map(RecordBatch::num_rows).sum();
                if rows > MAX_ANSWER_ROWS || control.answer_bytes > MAX_ANSWER_BYTES {
                    let what = format!("an answer of more than {MAX_ANSWER_ROWS} rows or {} MiB", MAX_ANSWER_BYTES >> 20);
                    return self.broken("decode", what, which);
                }
                if let Some(grant) = self.by_name(which).session.grant(wire_bytes as u64) {
                    self.send(which, grant, now);
                }
            }
        }
    }

    fn answer_ended(&mut self, which: Which, now: u64) {
        let connection = self.by_name(which);
        let answer = std::mem::take(&mut connection.answer);
        connection.answer_bytes = 0;
        let asked = connection.running.take();
        self.retries = 0;
        match (asked, which) {
            (Some((task, _)), Which::Side) => self.panel_answered(task, &answer),
            (Some((task, _)), _) => self.answered(task, &answer, now),
            (None, _) => {}
        }
    }

    fn answer_failed(&mut self, which: Which, status: u8, message: &str) {
        let connection = self.by_name(which);
        connection.answer.clear();
        connection.answer_bytes = 0;
        match (connection.running.take(), which) {
            (Some((task, _)), Which::Side) => self.panel_refused(&task, message),
            (Some((task, _)), _) => self.task_failed(task, status, message),
            (None, _) => {}
        }
    }

    /// Sends the next query of a connection when it is free.
    pub(super) fn run_tasks(&mut self, which: Which, now: u64) {
        let connection = self.by_name(which);
        if !connection.session.idle() || connection.running.is_some() {
            return;
        }
        let Some((task, sql)) = connection.tasks.pop_front() else { return };
        if let Some(bytes) = connection.session.query(&sql) {
            connection.assembler = Assembler::new();
            connection.last_heard = now;
            connection.running = Some((task, sql));
            let arrays = self.opened.as_ref().map(|opened| opened.arrays.clone()).unwrap_or_default();
            for (column, dimensions) in &arrays {
                self.by_name(which).assembler.expect_dimensions(column, *dimensions);
            }
            self.send(which, bytes, now);
        }
    }

    /// Forgets every control query: the place that they were asked for is not wanted any more.
    pub(super) fn withdraw_all(&mut self) {
        let messages = self.control.withdraw(|_| true);
        self.send_all(Which::Control, messages);
        let messages = self.side.withdraw(|_| true);
        self.send_all(Which::Side, messages);
    }

    /// Forgets the queries of a seek. Counting, which only helps to plan, waits until the next seek is served.
    pub(super) fn withdraw_seek(&mut self) {
        let messages = self.control.withdraw(|task| matches!(task, Task::Anchor | Task::FirstRow | Task::Base | Task::TradeAt | Task::TradeBeside));
        self.send_all(Which::Control, messages);
        if let Some((Task::Counts { width }, sql)) = &self.control.running {
            let counts = (Task::Counts { width: *width }, sql.clone());
            let messages = self.control.withdraw(|task| matches!(task, Task::Counts { .. }));
            self.send_all(Which::Control, messages);
            self.control.tasks.push_back(counts);
        }
    }

    pub(super) fn send_all(&mut self, which: Which, messages: Option<[Vec<u8>; 2]>) {
        for bytes in messages.into_iter().flatten() {
            self.send(which, bytes, self.now);
        }
    }

    /// Sends a query for rows.
    pub(super) fn query_rows(&mut self, sql: String, now: u64) -> bool {
        let Some(bytes) = self.data.session.query(&sql) else { return false };
        self.data.assembler = Assembler::new();
        self.data.last_heard = now;
        for (column, dimensions) in self.opened.iter().flat_map(|opened| &opened.arrays) {
            self.data.assembler.expect_dimensions(column, *dimensions);
        }
        self.sql = Some(sql);
        self.send(Which::Data, bytes, now);
        true
    }

    /// A connection whose bytes cannot be trusted: both are closed, the last frame stays, reconnecting is offered.
    pub(super) fn broken(&mut self, code: &str, what: String, which: Which) {
        if which == Which::Side {
            return self.side_lost(format!("the store's answer cannot be read: {what}"), self.now);
        }
        let name = match which {
            Which::Control => "catalogue connection",
            Which::Data => "data connection",
            Which::Side => "side connection",
        };
        if let Some(socket) = self.by_name(which).forget() {
            self.outputs.push_back(Output::Close { socket, code: CLOSE_PROTOCOL });
        }
        self.disconnect();
        let place = match (&self.store, &self.sql) {
            (Some(store), Some(sql)) if which == Which::Data => format!("{name} to {}; running: {sql}", store.name),
            (Some(store), _) => format!("{name} to {}", store.name),
            _ => name.to_owned(),
        };
        let todo = "Try again; if it happens again, report it with these details";
        if self.opening.is_none() {
            self.remember_for_reconnect();
            self.resume = self.seek.as_ref().and_then(super::Seek::moment);
        }
        let what = format!("The store's answer cannot be read: {what}");
        self.fail(ErrorJson { code: code.to_owned(), what, place, todo: todo.to_owned() });
        self.state_dirty = true;
    }

    pub(super) fn socket_closed(&mut self, socket: u32, code: u16, reason: &str, now: u64) {
        let Some(connection) = self.connection(socket) else { return };
        let was_ready = connection.ready();
        let side = connection.which == Which::Side;
        connection.socket = None;
        if side {
            let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
            return self.side_lost(format!("the connection for it ended (close code {code}{reason})"), now);
        }
        self.lost(was_ready, code, reason, now);
    }

    fn lost(&mut self, was_ready: bool, code: u16, reason: &str, now: u64) {
        self.disconnect();
        if self.failed {
            // What failed is still what the user has to mend; Reconnect opens the connection again.
            self.state_dirty = true;
            return;
        }
        let reason = if reason.is_empty() { String::new() } else { format!(": {reason}") };
        let what = if was_ready {
            format!("The connection to the store ended (close code {code}{reason})")
        } else {
            format!("The store could not be reached (close code {code}{reason})")
        };
        let place = self.store.as_ref().map(|store| store.url.clone()).unwrap_or_default();
        let todo = match self.store.as_ref().map(|store| store.kind) {
            // A browser does not tell why an upgrade was refused.
            Some(StoreKind::Questdb) if !was_ready => {
                "Check that it runs and takes pages of this origin: QuestDB before 10.0.2 refuses every page, and later ones want their own \
                 origin or an allowed one. A new try is made by itself"
            }
            _ => "Check that the server runs; a new try is made by itself",
        };
        let wait = (RETRY_FIRST_MICROS << self.retries.min(10)).min(RETRY_LAST_MICROS);
        self.retries += 1;
        self.retry_at = Some(now + wait);
        self.stop_clock();
        self.error = Some(ErrorJson { code: "lost".to_owned(), what, place, todo: todo.to_owned() });
        self.state_dirty = true;
    }

    /// Timers: slow openings, the next try, keep-alive.
    pub(super) fn keep_connections(&mut self, now: u64) {
        if self.retry_at.is_some_and(|at| now >= at) {
            self.connect(now);
        }
        let late = [&self.control, &self.data].into_iter().find(|connection| connection.socket.is_some() && now > connection.deadline);
        if let Some(late) = late {
            let what = if late.opened { "it does not greet as a QWP server does" } else { "no answer within 15 seconds" };
            self.lost(false, 1006, what, now);
        }
        let silent =
            |connection: &Connection| connection.ready() && !connection.session.idle() && now.saturating_sub(connection.last_heard) > SILENCE_MICROS;
        if [&self.control, &self.data].into_iter().any(silent) {
            self.lost(true, 1006, "a query was not answered within 75 seconds", now);
        }
        if self.side.socket.is_some() && now > self.side.deadline {
            self.side_lost("the store does not answer a connection for it".to_owned(), now);
        } else if silent(&self.side) {
            self.side_lost("a query was not answered within 75 seconds".to_owned(), now);
        }
        for which in ALL {
            let connection = self.by_name(which);
            if connection.ready() && connection.session.idle() && now.saturating_sub(connection.last_sent) > KEEP_ALIVE_MICROS {
                self.send(which, Session::keep_alive(), now);
            }
        }
    }

    pub(super) fn reconnect_now(&mut self, now: u64) {
        if self.failed || !self.connected() {
            self.failed = false;
            self.error = None;
            self.retries = 0;
            if self.connected() {
                self.connected_again(now);
            } else if self.store.is_some() {
                self.connect(now);
            }
        }
        self.state_dirty = true;
    }
}
