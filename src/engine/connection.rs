//! Sockets: one for rows, one for everything else, since a connection carries one query at a time.

use std::collections::VecDeque;

use arrow_array::RecordBatch;

use super::open::Task;
use super::{Engine, Output};
use crate::columnar::{ArrowByteCounter, Assembler};
use crate::link::ErrorJson;
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

/// Which of the two.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Which {
    Control,
    Data,
}

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
    /// Control only: what is to be asked, and what the running query answers.
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
    fn withdraw(&mut self, unwanted: impl Fn(&Task) -> bool) -> Option<[Vec<u8>; 2]> {
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
        [&mut self.control, &mut self.data].into_iter().find(|connection| connection.socket == Some(socket))
    }

    fn by_name(&mut self, which: Which) -> &mut Connection {
        match which {
            Which::Control => &mut self.control,
            Which::Data => &mut self.data,
        }
    }

    /// Opens both connections to the chosen store.
    pub(super) fn connect(&mut self, now: u64) {
        let Some(url) = self.store.as_ref().map(|store| store.url.clone()) else { return };
        self.disconnect();
        self.retry_at = None;
        for which in [Which::Control, Which::Data] {
            let socket = self.next_socket;
            self.next_socket += 1;
            let connection = self.by_name(which);
            connection.socket = Some(socket);
            connection.deadline = now + OPEN_MICROS;
            self.outputs.push_back(Output::Connect { socket, url: url.clone() });
        }
        self.state_dirty = true;
    }

    /// Closes both. Rows that were not complete are forgotten; they are asked for again.
    pub(super) fn disconnect(&mut self) {
        for which in [Which::Control, Which::Data] {
            if let Some(socket) = self.by_name(which).forget() {
                self.outputs.push_back(Output::Close { socket, code: CLOSE_NORMAL });
            }
        }
        self.abandon_window();
    }

    /// Whether both connections can be used.
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
                if self.connected() {
                    self.connected_again(now);
                }
            }
            Some(SessionEvent::Batch(batch)) => self.batch(which, batch, bytes.len(), now),
            Some(SessionEvent::End) => match which {
                Which::Data => self.window_ended(),
                Which::Control => self.control_ended(now),
            },
            Some(SessionEvent::Cancelled) => match which {
                Which::Data => self.window_cancelled(),
                // What was withdrawn is forgotten already.
                Which::Control => {}
            },
            Some(SessionEvent::Failed { status, message }) => match which {
                Which::Data => self.window_failed(status, &message),
                Which::Control => self.control_failed(status, &message),
            },
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
            Which::Control => {
                let bytes = ArrowByteCounter::new().add(&batch);
                let control = &mut self.control;
                control.answer_bytes = control.answer_bytes.saturating_add(usize::try_from(bytes).unwrap_or(usize::MAX));
                // The first batch tells the columns; further ones without rows would only take memory.
                if batch.num_rows() > 0 || control.answer.is_empty() {
                    control.answer.push(batch);
                }
                let rows: usize = control.answer.iter().map(RecordBatch::num_rows).sum();
                if rows > MAX_ANSWER_ROWS || control.answer_bytes > MAX_ANSWER_BYTES {
                    let what = format!("a catalogue answer of more than {MAX_ANSWER_ROWS} rows or {} MiB", MAX_ANSWER_BYTES >> 20);
                    return self.broken("decode", what, which);
                }
                if let Some(grant) = self.control.session.grant(wire_bytes as u64) {
                    self.send(Which::Control, grant, now);
                }
            }
        }
    }

    fn control_ended(&mut self, now: u64) {
        let answer = std::mem::take(&mut self.control.answer);
        self.control.answer_bytes = 0;
        self.retries = 0;
        if let Some((task, _)) = self.control.running.take() {
            self.answered(task, &answer, now);
        }
    }

    fn control_failed(&mut self, status: u8, message: &str) {
        self.control.answer.clear();
        self.control.answer_bytes = 0;
        if let Some((task, _)) = self.control.running.take() {
            self.task_failed(task, status, message);
        }
    }

    /// Sends the next control query when the connection is free.
    pub(super) fn run_control(&mut self, now: u64) {
        if !self.control.session.idle() || self.control.running.is_some() {
            return;
        }
        let Some((task, sql)) = self.control.tasks.pop_front() else { return };
        if let Some(bytes) = self.control.session.query(&sql) {
            self.control.assembler = Assembler::new();
            self.control.last_heard = now;
            self.control.running = Some((task, sql));
            self.send(Which::Control, bytes, now);
        }
    }

    /// Forgets every control query: the place that they were asked for is not wanted any more.
    pub(super) fn withdraw_all(&mut self) {
        let messages = self.control.withdraw(|_| true);
        self.send_all(messages);
    }

    /// Forgets the queries of a seek. Counting, which only helps to plan, waits until the next seek is served.
    pub(super) fn withdraw_seek(&mut self) {
        let messages = self.control.withdraw(|task| matches!(task, Task::Anchor | Task::FirstRow | Task::Base));
        self.send_all(messages);
        if let Some((Task::Counts { width }, sql)) = &self.control.running {
            let counts = (Task::Counts { width: *width }, sql.clone());
            let messages = self.control.withdraw(|task| matches!(task, Task::Counts { .. }));
            self.send_all(messages);
            self.control.tasks.push_back(counts);
        }
    }

    fn send_all(&mut self, messages: Option<[Vec<u8>; 2]>) {
        for bytes in messages.into_iter().flatten() {
            self.send(Which::Control, bytes, self.now);
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
        let name = match which {
            Which::Control => "catalogue connection",
            Which::Data => "data connection",
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
        let todo = "Reconnect; if it happens again, report it with these details";
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
        connection.socket = None;
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
        let todo = "Check that the server runs; a new try is made by itself";
        let wait = (RETRY_FIRST_MICROS << self.retries.min(10)).min(RETRY_LAST_MICROS);
        self.retries += 1;
        self.retry_at = Some(now + wait);
        self.clock = None;
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
        for which in [Which::Control, Which::Data] {
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
