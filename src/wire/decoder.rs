//! The client's end of a connection: messages in, and what they must agree with.

use std::sync::Arc;

use super::batch::{self, Batch, DrainedBatch};
use super::dictionary::Dictionary;
use super::error::{Part, WireError, WireFault};
use super::limits::{DecoderLimits, Limit, QUERIES};
use super::message::{ServerInfo, ServerMessage, flag, kind, read_header};
use super::reader::Reader;
use super::schema::ColumnSchema;
use super::zstd::{Decompressor, body_reader};

/// Decodes the server's messages of one connection and holds what they build on: the symbol dictionary, and the schema, the batch order
/// and the row count of each query that was begun. A new connection needs a new decoder.
#[derive(Debug)]
pub struct Decoder {
    limits: DecoderLimits,
    dictionary: Dictionary,
    queries: Vec<Query>,
    decompressor: Decompressor,
    body: Vec<u8>,
    greeted: bool,
    failed: bool,
}

/// A query that was sent and has not ended.
#[derive(Debug)]
struct Query {
    request_id: i64,
    max_rows: u64,
    drain: bool,
    schema: Option<Arc<[ColumnSchema]>>,
    batches: u64,
    rows: u64,
}

impl Decoder {
    /// A decoder for a connection that was just opened.
    #[must_use]
    pub fn new(limits: DecoderLimits) -> Decoder {
        Decoder {
            limits,
            dictionary: Dictionary::default(),
            queries: Vec::new(),
            decompressor: Decompressor::new(),
            body: Vec::new(),
            greeted: false,
            failed: false,
        }
    }

    /// A query was sent: messages with its id are expected from now on. `max_rows` is the batch size that the connection asked for.
    ///
    /// # Errors
    /// [`WireFault::RequestInUse`] for the id of a query that has not ended, [`WireFault::OverLimit`] past [`QUERIES`]. Nothing changes.
    pub fn begin(&mut self, request_id: i64, max_rows: Option<u64>) -> Result<(), WireError> {
        let fault = |fault| Err(WireError::new(fault, Part::Message, 0));
        if self.queries.iter().any(|query| query.request_id == request_id) {
            return fault(WireFault::RequestInUse { got: request_id });
        }
        if self.queries.len() as u64 >= QUERIES {
            return fault(WireFault::OverLimit { limit: Limit::Queries, max: QUERIES, got: QUERIES.saturating_add(1) });
        }
        let max_rows = max_rows.unwrap_or(u64::MAX).min(self.limits.rows);
        self.queries.push(Query { request_id, max_rows, drain: false, schema: None, batches: 0, rows: 0 });
        Ok(())
    }

    /// Nobody reads the query any more, as after CANCEL: its batches come as [`ServerMessage::Drained`] until it ends. Their dictionary
    /// entries count for the queries after it, so they must not be skipped. Does nothing when the query is not running.
    pub fn drain(&mut self, request_id: i64) {
        if let Some(query) = self.queries.iter_mut().find(|query| query.request_id == request_id) {
            query.drain = true;
        }
    }

    /// The connection's dictionary as of the last message.
    #[must_use]
    pub fn dictionary(&self) -> &Dictionary {
        &self.dictionary
    }

    /// Decodes one WebSocket message.
    ///
    /// # Errors
    /// See [`WireFault`]. The connection must be closed then; every further call returns [`WireFault::AfterFailure`].
    pub fn message(&mut self, message: &[u8]) -> Result<ServerMessage, WireError> {
        if self.failed {
            return Err(WireError::new(WireFault::AfterFailure, Part::Message, 0));
        }
        let decoded = self.decode(message);
        self.failed = decoded.is_err();
        decoded
    }

    fn decode(&mut self, message: &[u8]) -> Result<ServerMessage, WireError> {
        let start = Reader::new(message, Part::Message);
        let (flags, tables, mut reader) = read_header(start.clone(), message.len(), self.limits.message_bytes)?;
        let at = reader.clone();
        let message_kind = reader.u8()?;
        let known = [kind::RESULT_BATCH, kind::RESULT_END, kind::QUERY_ERROR, kind::EXEC_DONE, kind::CACHE_RESET, kind::SERVER_INFO];
        if !known.contains(&message_kind) {
            return Err(at.fault(WireFault::Kind { got: message_kind }));
        }
        let expected = u16::from(message_kind == kind::RESULT_BATCH);
        if tables != expected {
            return Err(start.fault(WireFault::TableCount { expected, got: tables }));
        }
        match (self.greeted, message_kind) {
            (false, kind::SERVER_INFO) => self.greeted = true,
            (false, got) => return Err(at.fault(WireFault::ServerInfoMissing { got })),
            (true, kind::SERVER_INFO) => return Err(at.fault(WireFault::ServerInfoRepeated)),
            (true, _) => {}
        }
        match message_kind {
            kind::SERVER_INFO => ServerInfo::read(&mut reader).map(ServerMessage::ServerInfo),
            kind::RESULT_BATCH => self.batch(reader, flags, message.len()),
            kind::RESULT_END => self.end(reader),
            kind::QUERY_ERROR => self.error(reader),
            kind::EXEC_DONE => self.exec_done(reader),
            _ => self.cache_reset(reader),
        }
    }

    /// Position in `queries` of the query whose id comes next.
    fn running(&self, reader: &mut Reader<'_>) -> Result<(i64, usize), WireError> {
        let at = reader.clone();
        let got = reader.i64()?;
        match self.queries.iter().position(|query| query.request_id == got) {
            Some(index) => Ok((got, index)),
            None => Err(at.fault(WireFault::UnknownRequest { got })),
        }
    }

    fn batch(&mut self, mut reader: Reader<'_>, flags: u8, wire_bytes: usize) -> Result<ServerMessage, WireError> {
        let (request_id, index) = self.running(&mut reader)?;
        let at = reader.clone();
        let sequence = reader.varint()?;
        let Some(query) = self.queries.get_mut(index) else {
            return Err(at.fault(WireFault::UnknownRequest { got: request_id }));
        };
        if sequence != query.batches {
            return Err(at.fault(WireFault::Sequence { expected: query.batches, got: sequence }).in_batch(sequence));
        }
        let mut decode = || {
            let mut body = reader.clone();
            if flags & flag::ZSTD != 0 {
                self.decompressor.read(&body, &self.limits, &mut self.body)?;
                body = body_reader(&self.body);
            }
            let body_bytes = body.rest().len();
            let schema = query.schema.as_ref();
            let prelude = batch::read_prelude(&mut body, flags, &mut self.dictionary, schema, query.max_rows, &self.limits)?;
            query.schema.get_or_insert_with(|| Arc::clone(&prelude.schema));
            query.batches = query.batches.saturating_add(1);
            query.rows = query.rows.saturating_add(prelude.rows);
            if query.drain {
                let (rows, dictionary_cut) = (prelude.rows, prelude.cut);
                return Ok(ServerMessage::Drained(DrainedBatch { request_id, sequence, rows, wire_bytes, dictionary_cut }));
            }
            let columns = batch::read_columns(&mut body, flags, &prelude, &self.dictionary, &self.limits)?;
            Ok(ServerMessage::Batch(Batch {
                request_id,
                sequence,
                rows: usize::try_from(prelude.rows).unwrap_or(0),
                schema: prelude.schema,
                columns,
                wire_bytes,
                body_bytes,
                flags,
                dictionary_cut: prelude.cut,
            }))
        };
        decode().map_err(|error: WireError| error.in_batch(sequence))
    }

    fn end(&mut self, mut reader: Reader<'_>) -> Result<ServerMessage, WireError> {
        let (request_id, index) = self.running(&mut reader)?;
        let at = reader.clone();
        let final_sequence = reader.varint()?;
        let total_rows = reader.varint()?;
        reader.finish()?;
        let query = self.queries.swap_remove(index);
        let last = query.batches.saturating_sub(1);
        if final_sequence != last {
            return Err(at.fault(WireFault::FinalSequence { expected: last, got: final_sequence }));
        }
        if total_rows != query.rows {
            return Err(at.fault(WireFault::TotalRows { expected: query.rows, got: total_rows }));
        }
        Ok(ServerMessage::End { request_id, final_sequence, total_rows })
    }

    fn error(&mut self, mut reader: Reader<'_>) -> Result<ServerMessage, WireError> {
        let at = reader.clone();
        let request_id = reader.i64()?;
        let status = reader.u8()?;
        let message = reader.short_text()?.to_owned();
        reader.finish()?;
        match self.queries.iter().position(|query| query.request_id == request_id) {
            Some(index) => drop(self.queries.swap_remove(index)),
            // The connection itself: whatever runs on it is over.
            None if request_id == -1 => self.queries.clear(),
            None => return Err(at.fault(WireFault::UnknownRequest { got: request_id })),
        }
        Ok(ServerMessage::Error { request_id, status, message })
    }

    fn exec_done(&mut self, mut reader: Reader<'_>) -> Result<ServerMessage, WireError> {
        let (request_id, index) = self.running(&mut reader)?;
        let op_type = reader.u8()?;
        let rows = reader.varint()?;
        reader.finish()?;
        self.queries.swap_remove(index);
        Ok(ServerMessage::ExecDone { request_id, op_type, rows: (rows != u64::MAX).then_some(rows) })
    }

    fn cache_reset(&mut self, mut reader: Reader<'_>) -> Result<ServerMessage, WireError> {
        let at = reader.clone();
        let mask = reader.u8()?;
        reader.finish()?;
        if mask & 1 != 0 {
            if self.queries.iter().any(|query| query.batches > 0) {
                return Err(at.fault(WireFault::ResetInsideResult));
            }
            self.dictionary.reset();
        }
        Ok(ServerMessage::CacheReset { mask })
    }
}
