//! One connection to a store, without I/O: bytes in, events and bytes to send out.
//!
//! ```text
//!   Opening ─SERVER_INFO▶ Idle ─query()▶ Running ─RESULT_END, EXEC_DONE, QUERY_ERROR▶ Idle
//!                                           └─cancel()▶ Draining ─any terminator▶ Idle
//! ```
//!
//! A connection runs one query at a time and every query carries a positive credit: a browser socket has no back-pressure, and a
//! query with unlimited credit cannot be cancelled. Credit is given back by the caller when it has found room for a batch. What
//! the rows mean is not known here.

use crate::wire::{Batch, ClientMessage, Decoder, DecoderLimits, QueryRequest, ServerInfo, ServerMessage, WireError, capability, status};

/// Bytes that a server may send ahead of what was admitted.
pub const CREDIT_WINDOW_BYTES: u64 = 4 << 20;

/// Credit is given back once a quarter of the window has gathered: a message each batch would double the messages.
const GRANT_SHARE: u64 = 4;

/// Request id that is never used for a query; a CANCEL for it has no answer and keeps an idle connection open.
const KEEP_ALIVE_ID: i64 = -2;

/// What a message led to.
#[derive(Debug)]
pub enum SessionEvent {
    /// The server said who it is; queries can be sent.
    Ready,
    /// Rows of the running query.
    Batch(Batch),
    /// The running query ended; the decoder has held its row count against the rows that came.
    End,
    /// The running query was cancelled as asked.
    Cancelled,
    /// The running query failed; the connection stays usable.
    Failed {
        /// The server's status code.
        status: u8,
        /// The server's text, which begins with the position in the statement: `[14] …`.
        message: String,
    },
}

/// A session that cannot go on: close the connection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SessionError {
    /// Bytes that are not the protocol.
    Wire(WireError),
    /// The server reported an error of the connection, not of a query.
    Connection {
        /// Its status code.
        status: u8,
        /// Its text.
        message: String,
    },
    /// A message that answers nothing that was asked.
    Unasked {
        /// What came.
        message: &'static str,
    },
}

impl std::fmt::Display for SessionError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            SessionError::Wire(error) => error.fmt(f),
            SessionError::Connection { status, message } => write!(f, "the server ended the connection with status 0x{status:02x}: {message}"),
            SessionError::Unasked { message } => write!(f, "the server sent {message} though no query was running"),
        }
    }
}

impl std::error::Error for SessionError {}

impl From<WireError> for SessionError {
    fn from(error: WireError) -> Self {
        SessionError::Wire(error)
    }
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Opening,
    Idle,
    Running(i64),
    Draining(i64),
}

/// The cluster that an embedded store names in its greeting.
pub const EMBEDDED_CLUSTER: &str = "tickscope";

/// See the module.
#[derive(Debug)]
pub struct Session {
    decoder: Decoder,
    phase: Phase,
    next_id: i64,
    capabilities: u32,
    embedded: bool,
    credit: i64,
    to_grant: u64,
    batches: u64,
    /// A query failed after a batch: some servers then forget symbols that we hold, so the dictionary is begun anew.
    reset_dictionary: bool,
}

impl Default for Session {
    fn default() -> Self {
        Session {
            decoder: Decoder::new(DecoderLimits::default()),
            phase: Phase::Opening,
            next_id: 1,
            capabilities: 0,
            embedded: false,
            credit: 0,
            to_grant: 0,
            batches: 0,
            reset_dictionary: false,
        }
    }
}

impl Session {
    /// Whether a query can be sent now.
    #[must_use]
    pub fn idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    /// Whether a query runs whose rows are wanted.
    #[must_use]
    pub fn running(&self) -> bool {
        matches!(self.phase, Phase::Running(_))
    }

    /// Whether the server said that it is a tickscope: its SQL is the embedded engine's.
    #[must_use]
    pub fn embedded(&self) -> bool {
        self.embedded
    }

    /// Bytes that the server may still send; below zero when its last batch overshot.
    #[must_use]
    pub fn credit(&self) -> i64 {
        self.credit
    }

    /// The decoder, whose dictionary the batches refer to.
    #[must_use]
    pub fn decoder(&self) -> &Decoder {
        &self.decoder
    }

    /// Starts a query; `None` when one is running or the server has not said who it is. The result is to be sent.
    pub fn query(&mut self, sql: &str) -> Option<Vec<u8>> {
        if self.phase != Phase::Idle {
            return None;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.phase = Phase::Running(id);
        self.credit = CREDIT_WINDOW_BYTES as i64;
        self.to_grant = 0;
        self.batches = 0;
        let reset_dictionary = std::mem::take(&mut self.reset_dictionary) && self.capabilities & capability::QUERY_FLAGS != 0;
        // Ids are never used twice, so the decoder has no reason to refuse; a refusal would show with the first message.
        let _ = self.decoder.begin(id, None);
        let request = QueryRequest { request_id: id, sql: sql.to_owned(), credit: CREDIT_WINDOW_BYTES, reset_dictionary, ..QueryRequest::default() };
        Some(encoded(&ClientMessage::Query(request)))
    }

    /// Gives back credit for bytes that found room. The result, if any, is to be sent.
    pub fn grant(&mut self, bytes: u64) -> Option<Vec<u8>> {
        let Phase::Running(id) = self.phase else { return None };
        self.to_grant += bytes;
        if self.to_grant < CREDIT_WINDOW_BYTES / GRANT_SHARE && self.credit > 0 {
            return None;
        }
        let grant = std::mem::take(&mut self.to_grant);
        self.credit += grant as i64;
        Some(encoded(&ClientMessage::Credit { request_id: id, bytes: grant }))
    }

    /// Stops the running query: late batches are absorbed until the server ends it. Both messages are to be sent: a server that
    /// waits for credit acts on CANCEL only with the next CREDIT.
    pub fn cancel(&mut self) -> Option<[Vec<u8>; 2]> {
        let Phase::Running(id) = self.phase else { return None };
        self.phase = Phase::Draining(id);
        self.decoder.drain(id);
        Some([encoded(&ClientMessage::Cancel { request_id: id }), encoded(&ClientMessage::Credit { request_id: id, bytes: 1 })])
    }

    /// A message that keeps an idle connection open.
    #[must_use]
    pub fn keep_alive() -> Vec<u8> {
        encoded(&ClientMessage::Cancel { request_id: KEEP_ALIVE_ID })
    }

    /// Takes one message.
    ///
    /// # Errors
    /// [`SessionError`]: the connection is to be closed, a desync cannot be skipped.
    pub fn receive(&mut self, message: &[u8]) -> Result<Option<SessionEvent>, SessionError> {
        let decoded = self.decoder.message(message)?;
        match (decoded, self.phase) {
            (ServerMessage::ServerInfo(ServerInfo { capabilities, cluster, .. }), Phase::Opening) => {
                self.capabilities = capabilities;
                self.embedded = cluster == EMBEDDED_CLUSTER;
                self.phase = Phase::Idle;
                Ok(Some(SessionEvent::Ready))
            }
            (ServerMessage::Batch(batch), Phase::Running(_)) => {
                self.credit -= message.len() as i64;
                self.batches += 1;
                Ok(Some(SessionEvent::Batch(batch)))
            }
            (ServerMessage::Drained(_), Phase::Draining(_)) => Ok(None),
            (ServerMessage::End { .. } | ServerMessage::ExecDone { .. }, Phase::Running(_)) => Ok(Some(self.ended(SessionEvent::End))),
            (ServerMessage::End { .. } | ServerMessage::ExecDone { .. }, Phase::Draining(_)) => Ok(Some(self.ended(SessionEvent::Cancelled))),
            (ServerMessage::Error { request_id: -1, status, message }, _) => Err(SessionError::Connection { status, message }),
            (ServerMessage::Error { .. }, Phase::Draining(_)) => {
                self.reset_dictionary = self.batches > 0;
                Ok(Some(self.ended(SessionEvent::Cancelled)))
            }
            (ServerMessage::Error { status, message, .. }, Phase::Running(_)) => {
                self.reset_dictionary = self.batches > 0;
                Ok(Some(self.ended(SessionEvent::Failed { status, message })))
            }
            (ServerMessage::CacheReset { .. }, _) => Ok(None),
            (ServerMessage::ServerInfo(_), _) => Err(SessionError::Unasked { message: "a second SERVER_INFO" }),
            (ServerMessage::Batch(_) | ServerMessage::Drained(_), _) => Err(SessionError::Unasked { message: "a batch" }),
            (ServerMessage::End { .. } | ServerMessage::ExecDone { .. } | ServerMessage::Error { .. }, _) => {
                Err(SessionError::Unasked { message: "the end of a query" })
            }
        }
    }

    fn ended(&mut self, event: SessionEvent) -> SessionEvent {
        self.phase = Phase::Idle;
        self.credit = 0;
        self.to_grant = 0;
        event
    }
}

fn encoded(message: &ClientMessage) -> Vec<u8> {
    let mut bytes = Vec::new();
    message.encode(&mut bytes);
    bytes
}

/// Whether a status says that a limit of time or memory was reached, so that a smaller query may pass.
#[must_use]
pub fn is_limit(code: u8) -> bool {
    code == status::LIMIT_EXCEEDED || code == status::QUERY_TIMEOUT
}

#[cfg(test)]
mod tests;
