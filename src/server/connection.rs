//! One WebSocket of `/read/v1`: one query at a time, its rows sent as far as the client's credit goes.
//!
//! Three tasks share the work. The query task reads the engine and waits when two batches are ahead. The writing task owns the
//! sending half of the socket and holds one message. This one decides: it reads the client at any time, so that CANCEL and CREDIT
//! act at once, encodes a batch only when it may be sent, and so bounds memory whatever the size of a result.

use std::collections::VecDeque;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use axum::extract::ws::{CloseFrame, Message, WebSocket, close_code};
use futures_util::stream::SplitStream;
use futures_util::{SinkExt as _, StreamExt as _};
use tokio::sync::{mpsc, watch};
use tokio::time::{Instant, sleep_until, timeout};

use super::compression::{Agreed, BatchCompressor};
use super::rows::{Rows, Source};
use super::sql::Sql;
use crate::session::EMBEDDED_CLUSTER;
use crate::wire::limits::REQUEST_BYTES;
use crate::wire::{ClientError, ClientMessage, Encoder, QueryRequest, ServerInfo, capability, status};

/// The protocol's limit counts the frame's own header: two bytes, an eight-byte length and a mask.
const FRAME_HEADER_BYTES: u64 = 14;
/// A silent connection is pinged, so that a vanished peer is noticed by its network at last.
const PING_EVERY: Duration = Duration::from_secs(60);
/// How long the peer may take to answer a CLOSE.
const CLOSE_PATIENCE: Duration = Duration::from_secs(2);
/// What QuestDB answers to a second query.
const ONE_QUERY: &str = "Phase 1 egress supports a single in-flight query per connection";
/// QuestDB's number for a statement without content.
const OP_EMPTY: u8 = 39;

/// What a connection may do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limits {
    /// Rows of a batch at most.
    pub(crate) batch_rows: usize,
    /// From the start of a query to its end, waiting for credit included.
    pub(crate) query_timeout: Duration,
}

/// Serves a socket until either side ends it.
pub(crate) async fn serve(socket: WebSocket, sql: Sql, limits: Limits, agreed: Agreed, mut stopping: watch::Receiver<bool>) {
    let (mut sink, mut stream) = socket.split();
    let (out, mut messages) = mpsc::channel::<Message>(1);
    let writing = tokio::spawn(async move {
        while let Some(message) = messages.recv().await {
            if sink.send(message).await.is_err() {
                break;
            }
        }
    });
    let mut connection = Connection {
        sql,
        limits,
        encoder: Encoder::new(),
        compressor: agreed.level.and_then(BatchCompressor::new),
        running: None,
        waiting: VecDeque::new(),
    };
    connection.greet(agreed);
    let end = connection.run(&mut stream, &out, &mut stopping).await;
    // Ends the query's task now: nothing of it can be sent any more.
    connection.running = None;
    if let Some(frame) = end {
        let close = Message::Close(Some(frame));
        if timeout(CLOSE_PATIENCE, out.send(close)).await.is_ok_and(|sent| sent.is_ok()) {
            // What the peer still sends is read and dropped, else the system would reset the connection before it sees the reason.
            let _ = timeout(CLOSE_PATIENCE, async { while let Some(Ok(_)) = stream.next().await {} }).await;
        }
    }
    drop(out);
    let abort = writing.abort_handle();
    if timeout(CLOSE_PATIENCE, writing).await.is_err() {
        abort.abort();
    }
}

struct Connection {
    sql: Sql,
    limits: Limits,
    /// Holds the connection's symbol dictionary: batches are encoded in the order in which they are sent.
    encoder: Encoder,
    /// Of the batches, when the client asked.
    compressor: Option<BatchCompressor>,
    running: Option<Running>,
    /// Encoded messages that need no credit.
    waiting: VecDeque<Vec<u8>>,
}

struct Running {
    request_id: i64,
    /// Bytes that may still be sent; negative when a batch overshot; `None` is without limit.
    credit: Option<i64>,
    reset_dictionary: bool,
    started: Instant,
    deadline: Instant,
    rows: Rows,
    /// Whether batch 0, which carries the schema, was sent.
    begun: bool,
}

impl Running {
    fn may_send(&self) -> bool {
        self.credit.is_none_or(|credit| credit > 0)
    }
}

impl Connection {
    fn greet(&mut self, agreed: Agreed) {
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        let compression = agreed.announcement();
        let info = ServerInfo {
            role: 0,
            epoch: 0,
            capabilities: capability::QUERY_FLAGS | if compression.is_some() { capability::COMPRESSION } else { 0 },
            wall_nanos: i64::try_from(now.as_nanos()).unwrap_or(i64::MAX),
            cluster: EMBEDDED_CLUSTER.to_owned(),
            node: String::new(),
            zone: None,
            compression,
        };
        let mut message = Vec::new();
        info.encode(&mut message);
        self.waiting.push_back(message);
    }

    /// Runs until the connection ends; returns what to tell the peer, `None` when it is gone or ended it itself.
    async fn run(
        &mut self,
        stream: &mut SplitStream<WebSocket>,
        out: &mpsc::Sender<Message>,
        stopping: &mut watch::Receiver<bool>,
    ) -> Option<CloseFrame> {
        let mut ping_at = Instant::now() + PING_EVERY;
        loop {
            let control = !self.waiting.is_empty();
            let deadline = self.running.as_ref().map(|running| running.deadline);
            let (ready, may_send) = self.running.as_ref().map_or((false, false), |running| (running.rows.is_staged(), running.may_send()));
            tokio::select! {
                biased;
                incoming = stream.next() => {
                    ping_at = Instant::now() + PING_EVERY;
                    match incoming {
                        Some(Ok(message)) => match self.take(message) {
                            Next::Go => {}
                            Next::Gone => return None,
                            Next::Refuse(frame) => return Some(frame),
                        },
                        // Broken framing, or a message past all limits, or the peer is gone: tungstenite cannot go on.
                        Some(Err(_)) | None => return None,
                    }
                }
                () = until(deadline) => self.expire(),
                permit = out.reserve(), if control => match (permit, self.waiting.pop_front()) {
                    (Ok(permit), Some(message)) => permit.send(Message::Binary(message.into())),
                    _ => return None,
                },
                permit = out.reserve(), if !control && ready && may_send => {
                    let Ok(permit) = permit else { return None };
                    if let Some(message) = self.encode_next() {
                        permit.send(Message::Binary(message.into()));
                    }
                }
                () = stage(self.running.as_mut()), if !control && !ready => self.staged(),
                () = sleep_until(ping_at) => {
                    ping_at = Instant::now() + PING_EVERY;
                    // Dropped when the socket is busy: then its peer is not silent.
                    let _ = out.try_send(Message::Ping(Vec::new().into()));
                }
                changed = stopping.changed() => {
                    if changed.is_err() || *stopping.borrow() {
                        return Some(frame(close_code::AWAY, "the server stops"));
                    }
                }
            }
        }
    }

    /// Acts on a message of the client.
    fn take(&mut self, message: Message) -> Next {
        let bytes = match message {
            Message::Binary(bytes) => bytes,
            Message::Text(_) => return Next::Refuse(frame(close_code::UNSUPPORTED, "only binary messages are read here")),
            Message::Close(_) => return Next::Gone,
            Message::Ping(_) | Message::Pong(_) => return Next::Go,
        };
        if bytes.len() as u64 + FRAME_HEADER_BYTES > REQUEST_BYTES {
            return Next::Refuse(frame(close_code::SIZE, "frame payload exceeds maximum size"));
        }
        match ClientMessage::decode(&bytes) {
            Ok(ClientMessage::Query(request)) => self.start(request),
            Ok(ClientMessage::Cancel { request_id }) => {
                if self.is_running(request_id) {
                    self.fail(status::CANCELLED, "cancelled by client");
                }
            }
            Ok(ClientMessage::Credit { request_id, bytes }) => {
                if let Some(running) = self.running.as_mut().filter(|running| running.request_id == request_id) {
                    let more = i64::try_from(bytes).unwrap_or(i64::MAX);
                    running.credit = running.credit.map(|credit| credit.saturating_add(more));
                }
            }
            Err(ClientError::Ignored { .. }) => {}
            Err(error @ ClientError::Query { request_id, .. }) => self.refuse(request_id, &error.to_string()),
            Err(error @ ClientError::Unknown { .. }) => return Next::Refuse(frame(close_code::PROTOCOL, &error.to_string())),
        }
        Next::Go
    }

    fn start(&mut self, request: QueryRequest) {
        if self.running.is_some() {
            return self.refuse(request.request_id, ONE_QUERY);
        }
        let started = Instant::now();
        self.running = Some(Running {
            request_id: request.request_id,
            credit: (request.credit > 0).then(|| i64::try_from(request.credit).unwrap_or(i64::MAX)),
            reset_dictionary: request.reset_dictionary,
            started,
            deadline: started + self.limits.query_timeout,
            rows: Rows::start(self.sql.clone(), request.sql, request.binds, self.limits.batch_rows),
            begun: false,
        });
    }

    /// What the query task delivered, when it is no batch: the end, an error, or a statement without content.
    fn staged(&mut self) {
        let Some(running) = &mut self.running else { return };
        let mut message = Vec::new();
        match running.rows.source() {
            Source::Open => {}
            Source::Nothing => {
                self.encoder.exec_done(running.request_id, OP_EMPTY, None, &mut message);
                self.finish(message);
            }
            Source::Ended => {
                if self.encoder.end(&mut message).is_ok() {
                    self.finish(message);
                }
            }
            Source::Failed(error) => {
                let (status, text) = (error.status, error.to_string());
                self.fail(status, &text);
            }
        }
    }

    /// Encodes what is staged; `None` when that failed, and the query with it.
    fn encode_next(&mut self) -> Option<Vec<u8>> {
        let running = self.running.as_mut()?;
        let mut message = Vec::new();
        if !running.begun {
            running.begun = true;
            if self.encoder.begin(running.request_id, running.reset_dictionary, &mut message) {
                return Some(message);
            }
        }
        match running.rows.encode(&mut self.encoder, &mut message) {
            Ok(()) => {
                if let Some(compressor) = &mut self.compressor {
                    compressor.apply(&mut message);
                }
                // Credit counts what is sent.
                let spent = i64::try_from(message.len()).unwrap_or(i64::MAX);
                running.credit = running.credit.map(|credit| credit.saturating_sub(spent));
                Some(message)
            }
            Err(error) => {
                let (status, text) = (error.status, error.to_string());
                self.fail(status, &text);
                None
            }
        }
    }

    fn expire(&mut self) {
        let Some(running) = &self.running else { return };
        let (runtime, limit) = (running.started.elapsed().as_millis(), self.limits.query_timeout.as_millis());
        self.fail(status::LIMIT_EXCEEDED, &format!("[-1] timeout, query aborted [runtime={runtime}ms, timeout={limit}ms]"));
    }

    /// Ends the running query with an error.
    fn fail(&mut self, status: u8, text: &str) {
        let Some(running) = &self.running else { return };
        let mut message = Vec::new();
        self.encoder.error(running.request_id, status, text, &mut message);
        self.finish(message);
    }

    fn finish(&mut self, message: Vec<u8>) {
        self.running = None;
        self.waiting.push_back(message);
    }

    /// Answers a request that was not started. The running query goes on, even when the request took its id.
    fn refuse(&mut self, request_id: i64, text: &str) {
        let mut message = Vec::new();
        Encoder::new().error(request_id, status::PARSE_ERROR, text, &mut message);
        self.waiting.push_back(message);
    }

    fn is_running(&self, request_id: i64) -> bool {
        self.running.as_ref().is_some_and(|running| running.request_id == request_id)
    }
}

/// What to do after a message of the client.
enum Next {
    Go,
    Gone,
    Refuse(CloseFrame),
}

fn frame(code: u16, reason: &str) -> CloseFrame {
    CloseFrame { code, reason: reason.into() }
}

/// Waits for a moment; for ever when there is none.
async fn until(deadline: Option<Instant>) {
    match deadline {
        Some(deadline) => sleep_until(deadline).await,
        None => std::future::pending().await,
    }
}

/// Waits for what the query delivers next; for ever when none runs. Nothing is lost when the wait is given up.
async fn stage(running: Option<&mut Running>) {
    match running {
        Some(running) => running.rows.stage().await,
        None => std::future::pending().await,
    }
}
