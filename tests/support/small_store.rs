//! A store in memory, all of whose tables show the same rows, for scenarios of the engine: it answers the engine's own statements over the real encoder, in
//! virtual time, and fails on request the way servers do.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::builder::StringDictionaryBuilder;
use arrow_array::types::UInt32Type;
use arrow_array::{ArrayRef, BooleanArray, Decimal64Array, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use tickscope::columnar::{Frames, ResultSchema};
use tickscope::engine::{Engine, Input, Output};
use tickscope::link::{Command, FromWorker, Histogram, Standing, State, StoreInfo, StoreKind, TapeRows, ToWorker, ViewFrame};
use tickscope::wire::{ClientMessage, Encoder, QueryRequest, ServerInfo, status};

/// A row of the table: an order event.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    pub time: i64,
    pub venue_time: i64,
    pub action: char,
    pub side: char,
    pub price: i64,
    pub size: i64,
    pub id: i64,
    pub flags: i16,
}

pub const COLUMNS: [(&str, &str); 8] = [
    ("ts_recv", "TIMESTAMP_NS"),
    ("ts_event", "TIMESTAMP_NS"),
    ("action", "SYMBOL"),
    ("side", "SYMBOL"),
    ("price", "DECIMAL(18,9)"),
    ("size", "LONG"),
    ("order_id", "LONG"),
    ("flags", "SHORT"),
];

/// Which columns a table shows of the rows, and under which names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Layout {
    /// Order events.
    Orders,
    /// Trades alone.
    Trades,
    /// Bars that open, turn and close at the row's price.
    Bars,
    /// Levels; the flag 32 marks those of a snapshot.
    Changes,
    /// LOBSTER's messages, which have no snapshot: adds, cancels and hidden executions.
    Messages,
}

impl Layout {
    /// Names and types.
    pub fn columns(self) -> &'static [(&'static str, &'static str)] {
        const PRICE: &str = "DECIMAL(18,9)";
        match self {
            Layout::Orders => &COLUMNS,
            Layout::Trades => &[("ts_recv", "TIMESTAMP_NS"), ("side", "SYMBOL"), ("price", PRICE), ("amount", "LONG")],
            Layout::Bars => &[("ts_recv", "TIMESTAMP_NS"), ("open", PRICE), ("high", PRICE), ("low", PRICE), ("close", PRICE), ("volume", "LONG")],
            Layout::Changes => &[("ts_recv", "TIMESTAMP_NS"), ("is_snapshot", "BOOLEAN"), ("side", "SYMBOL"), ("price", PRICE), ("amount", "LONG")],
            Layout::Messages => {
                &[("ts_recv", "TIMESTAMP_NS"), ("type", "SHORT"), ("order_id", "LONG"), ("size", "LONG"), ("price", PRICE), ("direction", "SHORT")]
            }
        }
    }
}

pub fn batch_of(rows: &[Row], columns: &[&str]) -> RecordBatch {
    let symbols = |pick: fn(&Row) -> char| -> ArrayRef {
        let mut builder = StringDictionaryBuilder::<UInt32Type>::new();
        for row in rows {
            builder.append_value(pick(row).to_string());
        }
        Arc::new(builder.finish())
    };
    let column = |name: &str| -> ArrayRef {
        match name {
            "ts_recv" => Arc::new(TimestampNanosecondArray::from_iter_values(rows.iter().map(|row| row.time)).with_timezone("UTC")),
            "ts_event" => Arc::new(TimestampNanosecondArray::from_iter_values(rows.iter().map(|row| row.venue_time)).with_timezone("UTC")),
            "action" => symbols(|row| row.action),
            "side" => symbols(|row| row.side),
            "price" | "open" | "high" | "low" | "close" => {
                let prices = Decimal64Array::from_iter(rows.iter().map(|row| (row.action != 'R').then_some(row.price)));
                Arc::new(prices.with_precision_and_scale(18, 9).unwrap())
            }
            "is_snapshot" => Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.flags & 32 != 0)))),
            "type" => Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| match row.action {
                'A' => 1,
                'C' => 2,
                _ => 5,
            }))),
            "direction" => Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| if row.side == 'B' { 1 } else { -1 }))),
            "size" | "amount" | "volume" => Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.size))),
            "order_id" => Arc::new(Int64Array::from_iter_values(rows.iter().map(|row| row.id))),
            "flags" => Arc::new(Int16Array::from_iter_values(rows.iter().map(|row| row.flags))),
            other => panic!("no column {other}"),
        }
    };
    RecordBatch::try_from_iter_with_nullable(columns.iter().map(|name| (*name, column(name), true))).unwrap()
}

/// What the server does wrong.
#[derive(Debug, Clone, Default)]
pub struct Faults {
    /// Ends every n-th query for rows with this status after one batch.
    pub fail_every: Option<(u32, u8)>,
    /// Drops the connection after so many batches of rows in all, once.
    pub drop_after_batches: Option<u32>,
    /// Sends garbage instead of a batch after so many batches of rows in all, once.
    pub garbage_after_batches: Option<u32>,
}

struct Peer {
    encoder: Encoder,
    outbox: VecDeque<Vec<u8>>,
}

/// The store, an engine, and virtual time between them.
pub struct Harness {
    pub engine: Engine,
    /// Tables by name, in the order in which they are listed.
    pub tables: Vec<(&'static str, Layout)>,
    pub rows: Vec<Row>,
    pub rows_per_batch: usize,
    pub faults: Faults,
    /// Answers nothing: to queries for rows, or to the others.
    pub silent: Option<bool>,
    /// Sends rows of other times than those asked for.
    pub ignores_bounds: bool,
    /// Counts one row in the first bucket and none behind.
    pub false_counts: bool,
    /// Symbol and publisher of the rows whose id leaves this remainder; without any the table has no such columns.
    pub keys: Vec<(Option<&'static str>, Option<i32>)>,
    /// First and last time that it claims to have.
    pub false_bounds: Option<(i64, i64)>,
    pub now: u64,
    pub states: Vec<State>,
    pub frames: Vec<ViewFrame>,
    pub row_queries: Vec<String>,
    pub most_history_bytes: u64,
    pub tapes: Vec<TapeRows>,
    pub histograms: Vec<Histogram>,
    pub handed_over: Option<Standing>,
    /// Every statement, in order.
    pub statements: Vec<String>,
    /// The statements that hold this are not answered.
    pub unanswered: Option<&'static str>,
    /// Says that it has counted the rows of each second.
    pub has_counts: bool,
    answers: Vec<(u32, Result<Box<State>, String>)>,
    peers: Vec<(u32, Peer)>,
    inputs: VecDeque<Input>,
    wake_at: u64,
    /// Batches of rows sent so far.
    pub batches: u32,
    next_id: u32,
}

impl Harness {
    pub fn new(rows: Vec<Row>, rows_per_batch: usize, history_budget: usize) -> Harness {
        let mut harness = Harness {
            engine: Engine::new(history_budget),
            tables: vec![("orders", Layout::Orders)],
            rows,
            rows_per_batch,
            faults: Faults::default(),
            silent: None,
            ignores_bounds: false,
            false_counts: false,
            false_bounds: None,
            keys: Vec::new(),
            now: 1_000_000,
            states: Vec::new(),
            frames: Vec::new(),
            row_queries: Vec::new(),
            most_history_bytes: 0,
            tapes: Vec::new(),
            histograms: Vec::new(),
            handed_over: None,
            statements: Vec::new(),
            unanswered: None,
            has_counts: false,
            answers: Vec::new(),
            peers: Vec::new(),
            inputs: VecDeque::new(),
            wake_at: 0,
            batches: 0,
            next_id: 1,
        };
        let store = StoreInfo { name: "small".into(), kind: StoreKind::Embedded, default: true, url: "ws://small".into(), importing: Vec::new() };
        harness.inputs.push_back(Input::Message(ToWorker::Start { stores: vec![store] }));
        harness
    }

    /// Runs a command until its answer.
    pub fn command(&mut self, command: &Command) -> Result<Box<State>, String> {
        let id = self.start(command);
        self.answer_to(id)
    }

    /// Runs until the answer to a command that was started.
    pub fn answer_to(&mut self, id: u32) -> Result<Box<State>, String> {
        for _ in 0..5_000_000 {
            if let Some(at) = self.answers.iter().position(|(answered, _)| *answered == id) {
                return self.answers.swap_remove(at).1;
            }
            self.step();
        }
        panic!("command {id} has no answer; last state: {:?}", self.states.last());
    }

    pub fn start(&mut self, command: &Command) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.inputs.push_back(Input::Message(ToWorker::Request { id, command: command.to_json() }));
        id
    }

    /// Tells the engine something that has no answer.
    pub fn tell(&mut self, message: ToWorker) {
        self.inputs.push_back(Input::Message(message));
    }

    /// Runs until the last tape satisfies a condition.
    pub fn until_tape(&mut self, what: &str, condition: impl Fn(&TapeRows) -> bool) -> TapeRows {
        for _ in 0..200_000 {
            if let Some(tape) = self.tapes.last().filter(|tape| condition(tape)) {
                return tape.clone();
            }
            self.step();
        }
        panic!("never {what}; last tape: {:?}", self.tapes.last());
    }

    /// Runs until the last histogram satisfies a condition.
    pub fn until_histogram(&mut self, what: &str, condition: impl Fn(&Histogram) -> bool) -> Histogram {
        for _ in 0..200_000 {
            if let Some(histogram) = self.histograms.last().filter(|histogram| condition(histogram)) {
                return histogram.clone();
            }
            self.step();
        }
        panic!("never {what}; last histogram: {:?}", self.histograms.last());
    }

    pub fn state(&mut self) -> Box<State> {
        let id = self.next_id;
        self.next_id += 1;
        self.inputs.push_back(Input::Message(ToWorker::GetState { id }));
        loop {
            if let Some(at) = self.answers.iter().position(|(answered, _)| *answered == id) {
                return self.answers.swap_remove(at).1.unwrap();
            }
            self.step();
        }
    }

    pub fn until(&mut self, what: &str, condition: impl Fn(&State) -> bool) -> State {
        for _ in 0..5_000_000 {
            if let Some(state) = self.states.last().filter(|state| condition(state)) {
                return state.clone();
            }
            self.step();
        }
        panic!("never {what}; last state: {:?}", self.states.last());
    }

    /// Ends every connection.
    pub fn hang_up(&mut self) {
        for (socket, _) in std::mem::take(&mut self.peers) {
            self.inputs.push_back(Input::SocketClosed { socket, code: 1001, reason: "going away".into() });
        }
    }

    /// Lets virtual time pass.
    pub fn run_for(&mut self, micros: u64) {
        let end = self.now + micros;
        while self.now < end {
            self.step();
        }
    }

    /// One thing happens: an input, a server's message, or time passes to the next wake-up.
    pub fn step(&mut self) {
        let input = match self.inputs.pop_front().or_else(|| self.message()) {
            Some(input) => input,
            None => {
                self.now = self.now.max(self.wake_at) + 1;
                Input::Turn
            }
        };
        self.engine.handle(input, self.now);
        while let Some(output) = self.engine.next_output() {
            self.carry_out(output);
        }
    }

    fn message(&mut self) -> Option<Input> {
        let at = self.peers.iter().position(|(_, peer)| !peer.outbox.is_empty())?;
        let (socket, peer) = &mut self.peers[at];
        let (socket, bytes) = (*socket, peer.outbox.pop_front()?);
        // Turn about, so that no connection starves the other.
        self.peers.rotate_left(1);
        if bytes.is_empty() {
            self.peers.retain(|(open, _)| *open != socket);
            return Some(Input::SocketClosed { socket, code: 1006, reason: String::new() });
        }
        Some(Input::SocketMessage { socket, bytes })
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Connect { socket, .. } => {
                let mut greeting = Vec::new();
                ServerInfo { capabilities: 2, cluster: "small".into(), ..ServerInfo::default() }.encode(&mut greeting);
                self.peers.push((socket, Peer { encoder: Encoder::new(), outbox: VecDeque::from([greeting]) }));
                self.inputs.push_back(Input::SocketOpened { socket });
            }
            Output::Send { socket, bytes } => {
                if let Ok(ClientMessage::Query(query)) = ClientMessage::decode(&bytes) {
                    self.answer(socket, &query);
                }
            }
            Output::Close { socket, .. } => self.peers.retain(|(open, _)| *open != socket),
            Output::Post(FromWorker::Answer { id, result }) => self.answers.push((id, result)),
            Output::Post(FromWorker::State(state)) => self.states.push(*state),
            Output::Post(FromWorker::Counters(counters)) => self.most_history_bytes = self.most_history_bytes.max(counters.history_bytes),
            Output::Post(FromWorker::Ready) => {}
            Output::Post(FromWorker::Tape(tape)) => self.tapes.push(*tape),
            Output::Post(FromWorker::Histogram(histogram)) => self.histograms.push(*histogram),
            Output::Post(FromWorker::HandedOver(standing)) => self.handed_over = standing,
            Output::Frame(bytes) => {
                let frame = ViewFrame::decode(&bytes).unwrap();
                self.inputs.push_back(Input::Message(ToWorker::FrameAck { sequence: frame.sequence, paint_micros: 5 }));
                self.frames.push(frame);
            }
            Output::WakeAt(at) => self.wake_at = at,
        }
    }

    /// Symbol and publisher of a row.
    pub fn key_of(&self, row: &Row) -> (Option<&'static str>, Option<i32>) {
        self.keys[row.id as usize % self.keys.len()]
    }

    fn is_asked(&self, sql: &str, (symbol, publisher): (Option<&str>, Option<i32>)) -> bool {
        let is = |column: &str, value: Option<String>| {
            let condition = value.map_or_else(|| format!("{column} IS NULL"), |value| format!("{column} = {value}"));
            let (null, equal) = (format!("{column} IS NULL"), format!("{column} = "));
            !(sql.contains(&null) || sql.contains(&equal)) || sql.split(" AND ").any(|part| part.ends_with(&condition))
        };
        is("\"symbol\"", symbol.map(|symbol| format!("'{}'", symbol.replace('\'', "''"))))
            && is("\"publisher_id\"", publisher.map(|id| id.to_string()))
    }

    fn answer(&mut self, socket: u32, query: &QueryRequest) {
        let sql = &query.sql;
        self.statements.push(sql.clone());
        if self.unanswered.is_some_and(|part| sql.contains(part)) {
            return;
        }
        let asks_rows = !sql.contains(" AS ") && !sql.contains("tables()") && !sql.contains("table_columns(");
        if self.silent == Some(asks_rows) {
            return;
        }
        let bound = |mark: &str| -> Option<i64> {
            let from = sql.find(mark)? + mark.len();
            sql[from..].split(')').next()?.parse().ok()
        };
        let from = bound(">= to_timestamp_nanos(").unwrap_or(i64::MIN);
        let to = bound("< to_timestamp_nanos(").unwrap_or(i64::MAX);
        let named = |(name, _): &&(&str, Layout)| sql.contains(&format!("\"{name}\"")) || sql.contains(&format!("'{name}'"));
        let layout = self.tables.iter().find(named).map_or(Layout::Orders, |(_, layout)| *layout);
        let trades = sql.contains("\"action\" = 'T'") || sql.contains("\"type\" = 5") || layout == Layout::Trades;
        let least: i64 = sql
            .split("\"size\" >= ")
            .nth(1)
            .or_else(|| sql.split("\"amount\" >= ").nth(1))
            .map_or(i64::MIN, |rest| rest.split(' ').next().unwrap().parse().unwrap());
        let listed = sql.split(" IN (").nth(1).and_then(|rest| rest.split("))").next()).unwrap_or("");
        let exact: Vec<i64> = listed.split("to_timestamp_nanos(").skip(1).map(|rest| rest.split(')').next().unwrap().parse().unwrap()).collect();
        let asked = |row: &&Row| {
            row.time >= from
                && row.time < to
                && (self.keys.is_empty() || self.is_asked(sql, self.key_of(row)))
                && (!trades || row.action == 'T' && row.size >= least)
                && (exact.is_empty() || exact.contains(&row.time))
        };
        let inside: Vec<Row> = self.rows.iter().filter(asked).copied().collect();
        let count = |rows: usize| -> ArrayRef { Arc::new(Int64Array::from(vec![rows as i64])) };
        let time = |time: Option<i64>| -> ArrayRef { Arc::new(TimestampNanosecondArray::from(vec![time]).with_timezone("UTC")) };
        let text = |texts: Vec<&str>| -> ArrayRef { Arc::new(StringArray::from(texts)) };
        let batch = |columns: Vec<(&str, ArrayRef)>| {
            RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
        };
        if sql.contains("FROM tables()") {
            let all = self.tables.len();
            let answer = batch(vec![
                ("table_name", text(self.tables.iter().map(|(name, _)| *name).collect())),
                ("designatedTimestamp", text(vec!["ts_recv"; all])),
                ("table_row_count", Arc::new(Int64Array::from(vec![self.rows.len() as i64; all]))),
                ("note", text(vec![""; all])),
                ("has_counts", Arc::new(BooleanArray::from(vec![self.has_counts; all]))),
            ]);
            return self.send(socket, query, &[answer], None);
        }
        if sql.contains("FROM table_columns(") {
            let keys = [("symbol", "SYMBOL"), ("publisher_id", "INT")];
            let (names, kinds) = layout.columns().iter().copied().chain(keys.into_iter().filter(|_| !self.keys.is_empty())).unzip();
            return self.send(socket, query, &[batch(vec![("column", text(names)), ("type", text(kinds))])], None);
        }
        if sql.contains(" GROUP BY \"symbol\"") {
            let mut listed: Vec<_> = (0..self.keys.len())
                .map(|at| (self.keys[at], inside.iter().filter(|row| self.key_of(row) == self.keys[at]).map(|row| row.time).collect::<Vec<_>>()))
                .filter(|(_, times)| !times.is_empty())
                .collect();
            listed.sort_by_key(|(_, times)| std::cmp::Reverse(times.len()));
            let times = |pick: fn(&[i64]) -> Option<i64>| -> ArrayRef {
                Arc::new(TimestampNanosecondArray::from_iter(listed.iter().map(|(_, times)| pick(times))).with_timezone("UTC"))
            };
            let answer = batch(vec![
                ("symbol", Arc::new(StringArray::from_iter(listed.iter().map(|((symbol, _), _)| *symbol)))),
                ("publisher_id", Arc::new(Int32Array::from_iter(listed.iter().map(|((_, publisher), _)| *publisher)))),
                ("event_count", Arc::new(Int64Array::from_iter_values(listed.iter().map(|(_, times)| times.len() as i64)))),
                ("first_time", times(|times| times.first().copied())),
                ("last_time", times(|times| times.last().copied())),
            ]);
            return self.send(socket, query, &[answer], None);
        }
        if sql.contains("AS first_time") {
            if let Some((first, last)) = self.false_bounds {
                let answer = batch(vec![("first_time", time(Some(first))), ("last_time", time(Some(last))), ("event_count", count(7))]);
                return self.send(socket, query, &[answer], None);
            }
            let (first, last) = (inside.iter().map(|row| row.time).min(), inside.iter().map(|row| row.time).max());
            let answer = batch(vec![("first_time", time(first)), ("last_time", time(last)), ("event_count", count(inside.len()))]);
            return self.send(socket, query, &[answer], None);
        }
        if sql.contains("AS anchor_time") {
            let whole = !sql.contains("'R'") && !sql.contains("\"is_snapshot\" = true");
            let anchor = inside.iter().filter(|row| whole || row.action == 'R' || row.flags & 32 != 0).map(|row| row.time).max();
            return self.send(socket, query, &[batch(vec![("anchor_time", time(anchor))])], None);
        }
        if sql.contains("AS bucket") {
            let width: i64 = sql.split("/ ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap().parse().unwrap();
            let origin: i64 = sql.split(" - ").nth(1).and_then(|rest| rest.split(')').next()).unwrap().parse().unwrap();
            let mut buckets = std::collections::BTreeMap::new();
            for row in &inside {
                // Wraps, as a database may.
                *buckets.entry(row.time.wrapping_sub(origin) / width).or_insert(0i64) += 1;
            }
            if self.false_counts {
                buckets = std::collections::BTreeMap::from([(0, 1)]);
            }
            let numbers: ArrayRef = Arc::new(Int64Array::from_iter_values(buckets.keys().copied()));
            let counts: ArrayRef = Arc::new(Int64Array::from_iter_values(buckets.values().copied()));
            return self.send(socket, query, &[batch(vec![("bucket", numbers), ("event_count", counts)])], None);
        }
        let (rest, skip) = sql.rsplit_once(" OFFSET ").unwrap_or((sql, "0"));
        let limit = rest.rsplit_once(" LIMIT ").map_or("", |(_, limit)| limit);
        let (limit, skip): (usize, usize) = (limit.parse().unwrap_or(usize::MAX), skip.parse().unwrap());
        let inside = if self.ignores_bounds { &self.rows } else { &inside };
        let inside = &inside[skip.min(inside.len())..];
        let inside = &inside[..inside.len().min(limit)];
        let list = sql.strip_prefix("SELECT ").unwrap().split(" FROM ").next().unwrap();
        let columns: Vec<&str> = list.split(", ").map(|name| name.trim_matches('"')).collect();
        let batches: Vec<RecordBatch> = match inside.is_empty() {
            true => vec![batch_of(&[], &columns)],
            false => inside.chunks(self.rows_per_batch).map(|rows| batch_of(rows, &columns)).collect(),
        };
        self.row_queries.push(sql.clone());
        let nth = self.row_queries.len() as u32;
        let failure = self.faults.fail_every.filter(|(every, _)| nth.is_multiple_of(*every)).map(|(_, status)| status);
        self.send(socket, query, &batches, Some(failure));
    }

    /// Queues the answer. `rows` tells a query for rows, and its failure.
    fn send(&mut self, socket: u32, query: &QueryRequest, batches: &[RecordBatch], rows: Option<Option<u8>>) {
        let Some((_, peer)) = self.peers.iter_mut().find(|(open, _)| *open == socket) else { return };
        let mut bytes = Vec::new();
        if peer.encoder.begin(query.request_id, query.reset_dictionary, &mut bytes) {
            peer.outbox.push_back(bytes.clone());
        }
        let schema = ResultSchema::new(batches[0].schema()).unwrap();
        for batch in batches {
            if rows.is_some() {
                self.batches += 1;
                if self.faults.drop_after_batches.is_some_and(|after| self.batches > after) {
                    self.faults.drop_after_batches = None;
                    // An empty message stands for the end of the connection.
                    return peer.outbox.push_back(Vec::new());
                }
                if self.faults.garbage_after_batches.is_some_and(|after| self.batches > after) {
                    self.faults.garbage_after_batches = None;
                    return peer.outbox.push_back(b"QWP1 and then nothing that makes sense".to_vec());
                }
            }
            if batch.num_rows() == 0 {
                let columns = schema.column_refs(batch, 0..0).unwrap();
                peer.encoder.batch(schema.columns(), &columns, 0, &mut bytes).unwrap();
                peer.outbox.push_back(bytes.clone());
            }
            let mut frames = Frames::new(&schema, batch.clone(), 0);
            while frames.encode_next(&mut peer.encoder, &mut bytes).unwrap() {
                peer.outbox.push_back(bytes.clone());
            }
            if let Some(Some(failure)) = rows {
                let text = if failure == status::LIMIT_EXCEEDED { "[-1] timeout, query aborted" } else { "[7] Invalid column: nope" };
                peer.encoder.error(query.request_id, failure, text, &mut bytes);
                return peer.outbox.push_back(bytes);
            }
        }
        peer.encoder.end(&mut bytes).unwrap();
        peer.outbox.push_back(bytes);
    }
}
