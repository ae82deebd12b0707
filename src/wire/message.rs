//! Server messages: their header and their parts.
//!
//! ```text
//!  0 magic "QWP1" · 4 version u8 = 1 · 5 flags u8 · 6 table_count u16 (1 for a batch, else 0) · 8 payload_length u32 · 12 kind u8
//!  0x11 RESULT_BATCH  request_id i64 · sequence varint · body       0x16 EXEC_DONE    request_id i64 · op_type u8 · rows varint
//!  0x12 RESULT_END    request_id i64 · sequence varint · rows       0x17 CACHE_RESET  mask u8
//!  0x13 QUERY_ERROR   request_id i64 · status u8 · u16 · text       0x18 SERVER_INFO  see ServerInfo
//! ```

use super::batch::{Batch, DrainedBatch};
use super::error::{WireError, WireFault};
use super::limits::Limit;
use super::reader::Reader;
use super::varint;

/// Header flags.
pub mod flag {
    /// An encoding byte stands before every timestamp column.
    pub const GORILLA: u8 = 0x04;
    /// A delta of the symbol dictionary stands before the table.
    pub const DELTA_DICTIONARY: u8 = 0x08;
    /// The body is a zstd frame.
    pub const ZSTD: u8 = 0x10;
    pub(crate) const ALL: u8 = GORILLA | DELTA_DICTIONARY | ZSTD;
}

/// Message kinds.
pub mod kind {
    /// Client: a query.
    pub const QUERY_REQUEST: u8 = 0x10;
    /// Server: rows.
    pub const RESULT_BATCH: u8 = 0x11;
    /// Server: the end of a result.
    pub const RESULT_END: u8 = 0x12;
    /// Server: a query failed.
    pub const QUERY_ERROR: u8 = 0x13;
    /// Client: stop a query.
    pub const CANCEL: u8 = 0x14;
    /// Client: the server may send more bytes.
    pub const CREDIT: u8 = 0x15;
    /// Server: a statement without rows was done.
    pub const EXEC_DONE: u8 = 0x16;
    /// Server: forget the symbol dictionary.
    pub const CACHE_RESET: u8 = 0x17;
    /// Server: the first message.
    pub const SERVER_INFO: u8 = 0x18;
}

/// Statuses of a QUERY_ERROR. A server may send others; they are passed on.
pub mod status {
    /// A bind or column has the wrong type.
    pub const SCHEMA_MISMATCH: u8 = 0x03;
    /// Wrong SQL, a malformed request, or a second query.
    pub const PARSE_ERROR: u8 = 0x05;
    /// A fault of the server, or a column that the protocol cannot carry.
    pub const INTERNAL_ERROR: u8 = 0x06;
    /// Not permitted.
    pub const SECURITY_ERROR: u8 = 0x08;
    /// The client cancelled.
    pub const CANCELLED: u8 = 0x0a;
    /// Out of time or memory, or a row too large.
    pub const LIMIT_EXCEEDED: u8 = 0x0b;
    /// The time that the client allowed is over.
    pub const QUERY_TIMEOUT: u8 = 0x0e;
}

/// Bits of [`ServerInfo::capabilities`].
pub mod capability {
    /// A zone follows the node id.
    pub const ZONE: u32 = 0x01;
    /// A request may carry flags.
    pub const QUERY_FLAGS: u32 = 0x02;
    /// The chosen compression follows.
    pub const COMPRESSION: u32 = 0x04;
    /// A request may carry a timeout.
    pub const QUERY_TIMEOUT: u32 = 0x08;
    pub(crate) const KNOWN: u32 = ZONE | QUERY_FLAGS | COMPRESSION | QUERY_TIMEOUT;
}

/// Bytes of the header.
pub(super) const HEADER_BYTES: usize = 12;
/// Where the batch's number stands in a RESULT_BATCH: behind the header, the kind and the request's id.
pub(super) const BODY_FIELDS_AT: usize = HEADER_BYTES + 1 + 8;
const MAGIC: [u8; 4] = *b"QWP1";
const VERSION: u8 = 1;

/// What a server says about itself: the first message of a connection.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ServerInfo {
    /// 0 standalone, 1 primary, 2 replica, 3 primary catching up.
    pub role: u8,
    /// Of the cluster.
    pub epoch: u64,
    /// See [`capability`]. The bits for the zone and the compression must agree with the fields below.
    pub capabilities: u32,
    /// The server's clock, nanoseconds since 1970 UTC.
    pub wall_nanos: i64,
    /// Name of the cluster.
    pub cluster: String,
    /// Name of the node.
    pub node: String,
    /// Zone of the node, with [`capability::ZONE`].
    pub zone: Option<String>,
    /// What was negotiated, with [`capability::COMPRESSION`].
    pub compression: Option<Compression>,
}

/// The compression that a server chose.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Compression {
    /// 0 none, 1 zstd.
    pub codec: u8,
    /// Of the codec.
    pub level: u8,
}

/// A message of the server.
#[derive(Debug, Clone, PartialEq)]
pub enum ServerMessage {
    /// The first message of a connection.
    ServerInfo(ServerInfo),
    /// Rows.
    Batch(Batch),
    /// Rows of a query that is being drained.
    Drained(DrainedBatch),
    /// A result is complete; its counts were found to be those received.
    End {
        /// The query.
        request_id: i64,
        /// Sequence of the last batch.
        final_sequence: u64,
        /// Rows of all batches.
        total_rows: u64,
    },
    /// A query failed; with request id −1 that is not running, the connection did.
    Error {
        /// The query, or −1.
        request_id: i64,
        /// See [`status`].
        status: u8,
        /// Text of the server: show it as text.
        message: String,
    },
    /// A statement without rows was done.
    ExecDone {
        /// The query.
        request_id: i64,
        /// Kind of the statement, by the server's own numbering.
        op_type: u8,
        /// Rows changed; `None` when the server does not know.
        rows: Option<u64>,
    },
    /// Caches of the connection were emptied; bit 0: the symbol dictionary (already done here).
    CacheReset {
        /// Which.
        mask: u8,
    },
}

/// Checks the header of a message; returns its flags, its table count and a reader behind the header.
pub(super) fn read_header<'a>(mut reader: Reader<'a>, length: usize, max: u64) -> Result<(u8, u16, Reader<'a>), WireError> {
    if length as u64 > max {
        return Err(reader.fault(WireFault::OverLimit { limit: Limit::MessageBytes, max, got: length as u64 }));
    }
    let at = reader.clone();
    let got = reader.array()?;
    if got != MAGIC {
        return Err(at.fault(WireFault::Magic { got }));
    }
    let at = reader.clone();
    let got = reader.u8()?;
    if got != VERSION {
        return Err(at.fault(WireFault::Version { got }));
    }
    let at = reader.clone();
    let flags = reader.u8()?;
    if flags & !flag::ALL != 0 {
        return Err(at.fault(WireFault::Flags { got: flags }));
    }
    let tables = reader.u16()?;
    let at = reader.clone();
    let got = u64::from(reader.u32()?);
    let expected = reader.left();
    if got != expected {
        return Err(at.fault(WireFault::PayloadLength { expected, got }));
    }
    Ok((flags, tables, reader))
}

/// Starts a message: the header with its length left open, and the kind.
pub(super) fn begin(out: &mut Vec<u8>, flags: u8, tables: u16, message_kind: u8) {
    out.clear();
    out.extend_from_slice(&MAGIC);
    out.push(VERSION);
    out.push(flags);
    out.extend_from_slice(&tables.to_le_bytes());
    out.extend_from_slice(&[0; 4]);
    out.push(message_kind);
}

/// Sets a flag in the header of a message.
pub(super) fn add_flag(out: &mut [u8], flag: u8) {
    if let Some(flags) = out.get_mut(5) {
        *flags |= flag;
    }
}

/// Fills in the payload length.
pub(super) fn finish(out: &mut [u8]) {
    // Our messages end at a few MiB.
    let length = out.len().saturating_sub(HEADER_BYTES) as u32;
    if let Some(field) = out.get_mut(8..HEADER_BYTES) {
        field.copy_from_slice(&length.to_le_bytes());
    }
}

impl ServerInfo {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<ServerInfo, WireError> {
        let role = reader.u8()?;
        let epoch = reader.u64()?;
        let capabilities = reader.u32()?;
        let wall_nanos = reader.i64()?;
        let cluster = reader.short_text()?.to_owned();
        let node = reader.short_text()?.to_owned();
        let zone = match capabilities & capability::ZONE {
            0 => None,
            _ => Some(reader.short_text()?.to_owned()),
        };
        let compression = match capabilities & capability::COMPRESSION {
            0 => None,
            _ => Some(Compression { codec: reader.u8()?, level: reader.u8()? }),
        };
        // A capability that came later may bring a field of its own.
        if capabilities & !capability::KNOWN == 0 {
            reader.finish()?;
        }
        Ok(ServerInfo { role, epoch, capabilities, wall_nanos, cluster, node, zone, compression })
    }

    /// Writes the message into `out`, which is emptied first. The capability bits for the zone and the compression are set from the fields.
    pub fn encode(&self, out: &mut Vec<u8>) {
        let mut capabilities = self.capabilities & !(capability::ZONE | capability::COMPRESSION);
        capabilities |= if self.zone.is_some() { capability::ZONE } else { 0 };
        capabilities |= if self.compression.is_some() { capability::COMPRESSION } else { 0 };
        begin(out, 0, 0, kind::SERVER_INFO);
        out.push(self.role);
        out.extend_from_slice(&self.epoch.to_le_bytes());
        out.extend_from_slice(&capabilities.to_le_bytes());
        out.extend_from_slice(&self.wall_nanos.to_le_bytes());
        write_short_text(out, &self.cluster);
        write_short_text(out, &self.node);
        if let Some(zone) = &self.zone {
            write_short_text(out, zone);
        }
        if let Some(Compression { codec, level }) = self.compression {
            out.extend_from_slice(&[codec, level]);
        }
        finish(out);
    }
}

/// Writes RESULT_END into `out`, which is emptied first.
pub(super) fn encode_end(out: &mut Vec<u8>, request_id: i64, final_sequence: u64, total_rows: u64) {
    begin(out, 0, 0, kind::RESULT_END);
    out.extend_from_slice(&request_id.to_le_bytes());
    varint::write(out, final_sequence);
    varint::write(out, total_rows);
    finish(out);
}

/// Writes QUERY_ERROR into `out`, which is emptied first. A text over 65,535 bytes is cut between characters.
pub(super) fn encode_error(out: &mut Vec<u8>, request_id: i64, status: u8, message: &str) {
    begin(out, 0, 0, kind::QUERY_ERROR);
    out.extend_from_slice(&request_id.to_le_bytes());
    out.push(status);
    write_short_text(out, message);
    finish(out);
}

/// Writes EXEC_DONE into `out`, which is emptied first. Unknown rows travel as 2^64 − 1.
pub(super) fn encode_exec_done(out: &mut Vec<u8>, request_id: i64, op_type: u8, rows: Option<u64>) {
    begin(out, 0, 0, kind::EXEC_DONE);
    out.extend_from_slice(&request_id.to_le_bytes());
    out.push(op_type);
    varint::write(out, rows.unwrap_or(u64::MAX));
    finish(out);
}

/// Writes CACHE_RESET into `out`, which is emptied first.
pub(super) fn encode_cache_reset(out: &mut Vec<u8>, mask: u8) {
    begin(out, 0, 0, kind::CACHE_RESET);
    out.push(mask);
    finish(out);
}

fn write_short_text(out: &mut Vec<u8>, text: &str) {
    let end = text.floor_char_boundary(usize::from(u16::MAX));
    let text = text.get(..end).unwrap_or_default();
    out.extend_from_slice(&(text.len() as u16).to_le_bytes());
    out.extend_from_slice(text.as_bytes());
}
