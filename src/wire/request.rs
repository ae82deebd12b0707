//! Client messages. They have no header and start with their kind.
//!
//! ```text
//!  0x10 QUERY_REQUEST  request_id i64 · sql_len varint · sql · credit varint · binds varint · binds · [flags varint] · [timeout varint]
//!  0x14 CANCEL         request_id i64
//!  0x15 CREDIT         request_id i64 · bytes varint
//! ```

use std::fmt;

use super::bind::Bind;
use super::error::{Part, WireError, WireFault};
use super::limits::{BINDS, Limit, REQUEST_BYTES};
use super::message::kind;
use super::reader::Reader;
use super::varint;

const RESET_DICTIONARY: u64 = 0x01;
const TIMEOUT: u64 = 0x02;

/// A query.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct QueryRequest {
    /// Chosen by the client, not that of a running query. Keep it positive: −1 also means the connection.
    pub request_id: i64,
    /// One statement.
    pub sql: String,
    /// Bytes of batches that the server may send; 0 = without limit, which makes a query unstoppable and fills a page's memory.
    pub credit: u64,
    /// Values of `$1`, `$2`, ….
    pub binds: Vec<Bind>,
    /// Empty the symbol dictionary before this query. Needs [`super::capability::QUERY_FLAGS`].
    pub reset_dictionary: bool,
    /// Milliseconds that the query may take, from 1 on. Needs [`super::capability::QUERY_TIMEOUT`].
    pub timeout_millis: Option<u64>,
}

/// A message of a client.
#[derive(Debug, Clone, PartialEq)]
pub enum ClientMessage {
    /// Run a query.
    Query(QueryRequest),
    /// Stop a query. Ignored when it is not running.
    Cancel {
        /// The query.
        request_id: i64,
    },
    /// Send more bytes. Ignored when the query is not running.
    Credit {
        /// The query.
        request_id: i64,
        /// Bytes in addition.
        bytes: u64,
    },
}

/// Why a client message is none, by what a server does next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ClientError {
    /// No byte, or a kind that a client does not send: end the connection.
    Unknown {
        /// The kind.
        kind: Option<u8>,
    },
    /// A CANCEL or CREDIT that is cut short or out of range: ignore it.
    Ignored {
        /// What is wrong.
        error: WireError,
    },
    /// A malformed query: answer with a QUERY_ERROR.
    Query {
        /// The id to answer with; −1 when the message ends before it.
        request_id: i64,
        /// What is wrong.
        error: WireError,
    },
}

impl fmt::Display for ClientError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ClientError::Unknown { kind: None } => f.write_str("expected a message, got an empty one"),
            ClientError::Unknown { kind: Some(kind) } => write!(f, "expected a message that a client sends, got kind {kind:#04x}"),
            ClientError::Ignored { error } => write!(f, "CANCEL or CREDIT: {error}"),
            ClientError::Query { error, .. } => write!(f, "QUERY_REQUEST: {error}"),
        }
    }
}

impl std::error::Error for ClientError {}

impl ClientMessage {
    /// Decodes one WebSocket message of a client. Bytes behind the flags of a query and unknown flags are ignored, as QuestDB does.
    ///
    /// # Errors
    /// See [`ClientError`].
    pub fn decode(message: &[u8]) -> Result<ClientMessage, ClientError> {
        let mut reader = Reader::new(message, Part::Message);
        let Ok(message_kind) = reader.u8() else {
            return Err(ClientError::Unknown { kind: None });
        };
        match message_kind {
            kind::QUERY_REQUEST => {
                let request_id = reader.clone().i64().unwrap_or(-1);
                QueryRequest::read(&mut reader).map(ClientMessage::Query).map_err(|error| ClientError::Query { request_id, error })
            }
            kind::CANCEL => {
                let request_id = reader.i64().map_err(|error| ClientError::Ignored { error })?;
                Ok(ClientMessage::Cancel { request_id })
            }
            kind::CREDIT => {
                let mut read = || Ok(ClientMessage::Credit { request_id: reader.i64()?, bytes: reader.varint()? });
                read().map_err(|error| ClientError::Ignored { error })
            }
            _ => Err(ClientError::Unknown { kind: Some(message_kind) }),
        }
    }

    /// Writes the message into `out`, which is emptied first.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.clear();
        match self {
            ClientMessage::Query(query) => query.write(out),
            ClientMessage::Cancel { request_id } => {
                out.push(kind::CANCEL);
                out.extend_from_slice(&request_id.to_le_bytes());
            }
            ClientMessage::Credit { request_id, bytes } => {
                out.push(kind::CREDIT);
                out.extend_from_slice(&request_id.to_le_bytes());
                varint::write(out, *bytes);
            }
        }
    }
}

impl QueryRequest {
    fn read(reader: &mut Reader<'_>) -> Result<QueryRequest, WireError> {
        if reader.left() > REQUEST_BYTES {
            return Err(reader.fault(WireFault::OverLimit { limit: Limit::RequestBytes, max: REQUEST_BYTES, got: reader.left() }));
        }
        let request_id = reader.i64()?;
        let length = reader.varint()?;
        let sql = reader.text(length)?.to_owned();
        let credit = reader.capped(Limit::Positive, i64::MAX as u64)?;
        let count = reader.capped(Limit::Binds, BINDS)?;
        let mut binds = Vec::with_capacity(usize::try_from(count).unwrap_or(0));
        for _ in 0..count {
            binds.push(Bind::read(reader)?);
        }
        let flags = if reader.left() > 0 { reader.varint()? } else { 0 };
        let timeout_millis = match flags & TIMEOUT {
            0 => None,
            _ => Some(reader.capped(Limit::Positive, i64::MAX as u64)?).filter(|millis| *millis > 0),
        };
        Ok(QueryRequest { request_id, sql, credit, binds, reset_dictionary: flags & RESET_DICTIONARY != 0, timeout_millis })
    }

    fn write(&self, out: &mut Vec<u8>) {
        out.push(kind::QUERY_REQUEST);
        out.extend_from_slice(&self.request_id.to_le_bytes());
        varint::write(out, self.sql.len() as u64);
        out.extend_from_slice(self.sql.as_bytes());
        varint::write(out, self.credit);
        varint::write(out, self.binds.len() as u64);
        for bind in &self.binds {
            bind.write(out);
        }
        let mut flags = 0;
        if self.reset_dictionary {
            flags |= RESET_DICTIONARY;
        }
        if self.timeout_millis.is_some() {
            flags |= TIMEOUT;
        }
        if flags != 0 {
            varint::write(out, flags);
        }
        if let Some(millis) = self.timeout_millis {
            varint::write(out, millis);
        }
    }
}
