//! The recorded sessions of a live server, replayed through the decoder: one case table for every target. Does no file I/O.
//!
//! ```text
//!  frames: records of opcode << 4 | direction (0 = to the server, 1 = to the client) · u32 length · one WebSocket message
//! ```

use std::collections::BTreeMap;

use arrow_array::cast::AsArray;
use arrow_array::types::*;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field};
use serde_json::{Value, json};
use tickscope::columnar::{ArrowByteCounter, Assembler, Frames, ResultSchema, metadata};
use tickscope::wire::{Batch, ClientError, ClientMessage, Decoder, DecoderLimits, Encoder, ServerInfo, ServerMessage};

/// What was checked.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Report {
    /// Values that equal the server's own answer in text.
    pub cells: u64,
    /// Values that came back equal from our encoder.
    pub cells_encoded: u64,
    /// RESULT_BATCH messages.
    pub batches: u64,
    /// Client messages that came back byte for byte from our encoder.
    pub requests: u64,
    /// Times that the server had forgotten dictionary entries.
    pub dictionary_cuts: u64,
    /// Results that were asked for newest first and go up in time.
    pub disordered: u64,
}

/// Replays a session; `Err` says what differs.
pub fn check_session(name: &str, frames: &[u8], session_json: &str, expected_json: Option<&str>) -> Result<Report, String> {
    Replay::new(session_json)?.run(name, frames, expected_json).map_err(|error| format!("{name}: {error}"))
}

struct Replay {
    session: Value,
    max_rows: Option<u64>,
    decoder: Decoder,
    assembler: Assembler,
    /// A second client that wants no rows: its dictionary must go the same way.
    drainer: Decoder,
    bytes: ArrowByteCounter,
    messages: Vec<Value>,
    statements: BTreeMap<i64, String>,
    /// Record batches by request id.
    results: BTreeMap<i64, Vec<RecordBatch>>,
    report: Report,
}

impl Replay {
    fn new(session_json: &str) -> Result<Replay, String> {
        let session: Value = serde_json::from_str(session_json).map_err(|error| format!("session.json: {error}"))?;
        let header = |wanted: &str| {
            let headers = session["request_headers"].as_array()?;
            headers.iter().find(|pair| pair[0] == wanted)?[1].as_str().map(str::to_owned)
        };
        let max_rows = header("X-QWP-Max-Batch-Rows").and_then(|rows| rows.parse().ok());
        Ok(Replay {
            session,
            max_rows,
            decoder: Decoder::new(DecoderLimits::default()),
            assembler: Assembler::new(),
            drainer: Decoder::new(DecoderLimits::default()),
            bytes: ArrowByteCounter::new(),
            messages: Vec::new(),
            statements: BTreeMap::new(),
            results: BTreeMap::new(),
            report: Report::default(),
        })
    }

    fn run(mut self, name: &str, frames: &[u8], expected_json: Option<&str>) -> Result<Report, String> {
        let mut rest = frames;
        let mut index = 0;
        while let Some((opcode, payload, behind)) = record(rest) {
            let at = |error: String| format!("record {index}: {error}");
            match opcode {
                0x20 => self.take_request(name, payload).map_err(at)?,
                0x21 => self.take_answer(payload).map_err(at)?,
                _ => {}
            }
            rest = behind;
            index += 1;
        }
        if !rest.is_empty() || Some(index) != self.session["frames"].as_u64() {
            return Err(format!("{index} records and {} bytes behind them", rest.len()));
        }
        let seen = self.messages.iter().take(200);
        let expected = self.session["messages"].as_array().ok_or("no messages in session.json")?;
        if !seen.clone().eq(expected) {
            let first = seen.zip(expected).position(|(seen, expected)| seen != expected);
            let first = first.unwrap_or(self.messages.len().min(expected.len()));
            return Err(format!("message {first}: expected {:?}, got {:?}", expected.get(first), self.messages.get(first)));
        }
        if let Some(expected) = expected_json {
            self.compare(expected)?;
        }
        self.encode_again()?;
        Ok(self.report)
    }

    fn take_request(&mut self, name: &str, payload: &[u8]) -> Result<(), String> {
        let request_id = match ClientMessage::decode(payload) {
            Ok(message) => {
                let mut again = Vec::new();
                message.encode(&mut again);
                if again == payload {
                    self.report.requests += 1;
                } else if !name.starts_with("odd-") {
                    return Err(format!("{message:?} was encoded as {again:02x?}"));
                }
                match message {
                    ClientMessage::Query(query) => {
                        self.statements.insert(query.request_id, query.sql);
                        query.request_id
                    }
                    ClientMessage::Cancel { .. } | ClientMessage::Credit { .. } => return Ok(()),
                }
            }
            // A malformed query is answered with an error for its id.
            Err(ClientError::Query { request_id, .. }) => request_id,
            Err(error) if name.starts_with("odd-") => {
                return if matches!(error, ClientError::Unknown { .. }) { Ok(()) } else { Err(error.to_string()) };
            }
            Err(error) => return Err(error.to_string()),
        };
        for decoder in [&mut self.decoder, &mut self.drainer] {
            decoder.begin(request_id, self.max_rows).map_err(|error| error.to_string())?;
        }
        self.drainer.drain(request_id);
        Ok(())
    }

    fn take_answer(&mut self, payload: &[u8]) -> Result<(), String> {
        let message = self.decoder.message(payload).map_err(|error| error.to_string())?;
        let drained = self.drainer.message(payload).map_err(|error| format!("drained: {error}"))?;
        if self.decoder.dictionary().symbols() != self.drainer.dictionary().symbols() {
            return Err("a drained batch left another dictionary".to_owned());
        }
        let mut encoder = Encoder::new();
        let mut again = Vec::new();
        match message {
            ServerMessage::ServerInfo(info) => {
                info.encode(&mut again);
                self.server_info(&info)?;
            }
            ServerMessage::Batch(batch) => {
                let ServerMessage::Drained(drained) = drained else {
                    return Err(format!("drained: expected a drained batch, got {drained:?}"));
                };
                if (drained.request_id, drained.sequence, drained.rows) != (batch.request_id, batch.sequence, batch.rows as u64) {
                    return Err(format!("drained: {drained:?}"));
                }
                return self.batch(batch);
            }
            ServerMessage::Drained(drained) => return Err(format!("nobody drained {drained:?}")),
            ServerMessage::End { request_id, final_sequence, total_rows } => {
                self.messages.push(json!(["end", request_id, final_sequence, total_rows]));
                // Its encoder counts what it sent; the counts here are held against the batches by the decoder.
                return Ok(());
            }
            ServerMessage::Error { request_id, status, message } => {
                encoder.error(request_id, status, &message, &mut again);
                self.messages.push(json!(["error", request_id, status, message]));
            }
            ServerMessage::ExecDone { request_id, op_type, rows } => {
                encoder.exec_done(request_id, op_type, rows, &mut again);
                // The recorder wrote the number on the wire.
                self.messages.push(json!(["exec", request_id, op_type, rows.unwrap_or(u64::MAX)]));
            }
            ServerMessage::CacheReset { mask } => {
                encoder.begin(0, true, &mut again);
                self.messages.push(json!(["reset", mask]));
            }
        }
        if again == payload { Ok(()) } else { Err(format!("encoded as {again:02x?}, received as {payload:02x?}")) }
    }

    fn server_info(&self, info: &ServerInfo) -> Result<(), String> {
        let seen = json!({
            "role": info.role, "epoch": info.epoch, "caps": info.capabilities, "wall_ns": info.wall_nanos,
            "cluster": info.cluster, "node": info.node, "rest": "",
        });
        let expected = &self.session["server_info"];
        if seen == *expected { Ok(()) } else { Err(format!("SERVER_INFO: expected {expected}, got {seen}")) }
    }

    fn batch(&mut self, batch: Batch) -> Result<(), String> {
        if let Some(cut) = batch.dictionary_cut {
            self.report.dictionary_cuts += 1;
            self.messages.push(json!(["dictionary cut", cut.length, cut.kept]));
        }
        self.messages.push(json!(["batch", batch.request_id, batch.sequence, batch.rows, batch.wire_bytes, batch.flags, batch.body_bytes]));
        self.report.batches += 1;
        let request_id = batch.request_id;
        let first = batch.sequence == 0;
        let assembled = self.assembler.assemble(batch, self.decoder.dictionary()).map_err(|error| error.to_string())?;
        self.bytes.add(&assembled);
        let batches = self.results.entry(request_id).or_default();
        if first {
            batches.clear();
        }
        batches.push(assembled);
        Ok(())
    }

    /// Every value against the server's answer over its other protocol.
    fn compare(&mut self, expected_json: &str) -> Result<(), String> {
        let expected: Value = serde_json::from_str(expected_json).map_err(|error| format!("expected.json: {error}"))?;
        let queries = expected["queries"].as_object().ok_or("expected.json: no queries")?;
        for (id, query) in queries {
            let request_id: i64 = id.parse().map_err(|_| format!("expected.json: request id {id:?}"))?;
            let batches = self.results.get(&request_id).ok_or_else(|| format!("query {id}: no batch came"))?;
            let names = query["columns"].as_array().ok_or("expected.json: no columns")?;
            let rows = query["rows"].as_array().ok_or("expected.json: no rows")?;
            let total: usize = batches.iter().map(RecordBatch::num_rows).sum();
            if total != rows.len() {
                return Err(format!("query {id}: expected {} rows, got {total}", rows.len()));
            }
            let mut rows = rows.iter().enumerate();
            for batch in batches {
                let schema = batch.schema();
                if !schema.fields().iter().map(|field| field.name().as_str()).eq(names.iter().filter_map(|name| name[0].as_str())) {
                    return Err(format!("query {id}: expected columns {names:?}, got {schema}"));
                }
                let columns: Vec<(&Field, &ArrayRef)> = schema.fields().iter().map(AsRef::as_ref).zip(batch.columns()).collect();
                for row in 0..batch.num_rows() {
                    let (number, expected) = rows.next().ok_or("too many rows")?;
                    for (index, (field, array)) in columns.iter().enumerate() {
                        let text = expected[index].as_str();
                        if let Err(got) = equal(field, array, row, text) {
                            return Err(format!("query {id}, row {number}, column {:?}: expected {text:?}, got {got:?}", field.name()));
                        }
                        self.report.cells += 1;
                    }
                }
            }
        }
        Ok(())
    }

    /// The record batches through our own encoder and back.
    fn encode_again(&mut self) -> Result<(), String> {
        let mut encoder = Encoder::new();
        let mut decoder = Decoder::new(DecoderLimits::default());
        let mut assembler = Assembler::new();
        let mut out = Vec::new();
        ServerInfo::default().encode(&mut out);
        decoder.message(&out).map_err(|error| error.to_string())?;
        for (request_id, batches) in &self.results {
            let fail = |error: &dyn std::fmt::Display| format!("query {request_id} through our encoder: {error}");
            decoder.begin(*request_id, None).map_err(|error| fail(&error))?;
            if encoder.begin(*request_id, false, &mut out) {
                decoder.message(&out).map_err(|error| fail(&error))?;
            }
            if self.statements.get(request_id).is_some_and(|sql| sql.contains("order by ts desc")) {
                self.report.disordered += u64::from(goes_up(batches));
            }
            for batch in batches {
                // A schema per batch: the arrays' dimensions may be tentative in the first.
                let schema = ResultSchema::new(batch.schema()).map_err(|error| fail(&error))?;
                let mut frames = Frames::new(&schema, batch.clone(), self.max_rows.unwrap_or(0) as usize);
                let mut from = 0;
                while frames.encode_next(&mut encoder, &mut out).map_err(|error| fail(&error))? {
                    let ServerMessage::Batch(again) = decoder.message(&out).map_err(|error| fail(&error))? else {
                        return Err(fail(&"expected a batch"));
                    };
                    let again = assembler.assemble(again, decoder.dictionary()).map_err(|error| fail(&error))?;
                    let rows = again.num_rows();
                    for (index, (sent, came)) in batch.slice(from, rows).columns().iter().zip(again.columns()).enumerate() {
                        if !same(sent, came) {
                            return Err(fail(&format!("column {index} differs in rows {from} to {}", from + rows)));
                        }
                    }
                    from += rows;
                    self.report.cells_encoded += (rows * again.num_columns()) as u64;
                }
            }
            if encoder.sent().0 == 0 {
                let schema = ResultSchema::new(batches[0].schema()).map_err(|error| fail(&error))?;
                schema.encode_empty(&mut encoder, &mut out).map_err(|error| fail(&error))?;
                decoder.message(&out).map_err(|error| fail(&error))?;
            }
            encoder.end(&mut out).map_err(|error| fail(&error))?;
            decoder.message(&out).map_err(|error| fail(&error))?;
        }
        Ok(())
    }
}

fn record(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (opcode, rest) = bytes.split_first()?;
    let (length, rest) = rest.split_first_chunk::<4>()?;
    let (payload, rest) = rest.split_at_checked(u32::from_le_bytes(*length) as usize)?;
    Some((*opcode, payload, rest))
}

fn goes_up(batches: &[RecordBatch]) -> bool {
    let times = batches.iter().filter_map(|batch| batch.column_by_name("ts")?.as_primitive_opt::<TimestampMicrosecondType>());
    let times: Vec<i64> = times.flat_map(|column| column.iter().flatten()).collect();
    times.windows(2).any(|pair| pair[1] > pair[0])
}

/// Equal arrays; NaN equals itself, as bits do.
fn same(a: &ArrayRef, b: &ArrayRef) -> bool {
    match (a.as_primitive_opt::<Float64Type>(), b.as_primitive_opt::<Float64Type>()) {
        (Some(a), Some(b)) => a.iter().map(|x| x.map(f64::to_bits)).eq(b.iter().map(|x| x.map(f64::to_bits))),
        _ => match (a.as_list_opt::<i32>(), b.as_list_opt::<i32>()) {
            (Some(a), Some(b)) => {
                a.len() == b.len()
                    && (0..a.len()).all(|row| a.is_null(row) == b.is_null(row) && (a.is_null(row) || same(&a.value(row), &b.value(row))))
            }
            _ => a == b,
        },
    }
}

/// Compares a cell with its text; `Err` is what the cell says.
fn equal(field: &Field, array: &ArrayRef, row: usize, expected: Option<&str>) -> Result<(), Option<String>> {
    let column_type = field.metadata()[metadata::COLUMN_TYPE].as_str();
    if let Some(expected) = expected
        && !array.is_null(row)
        && matches!(column_type, "float" | "double" | "double_array" | "long_array")
    {
        let mut tokens = Vec::new();
        tokenize(array, row, &mut tokens);
        let texts = split_tokens(expected);
        let equal = tokens.len() == texts.len() && tokens.iter().zip(&texts).all(|(token, text)| token.equals(text));
        return if equal { Ok(()) } else { Err(Some(format!("{tokens:?}"))) };
    }
    let got = if array.is_null(row) { None } else { text(field, column_type, array, row) };
    if got.as_deref() == expected { Ok(()) } else { Err(got) }
}

#[derive(Debug)]
enum Token {
    Mark(char),
    Float(f32),
    Double(f64),
    Long(i64),
}

impl Token {
    fn equals(&self, text: &str) -> bool {
        match self {
            Token::Mark(mark) => text.starts_with(*mark) && text.len() == 1,
            Token::Float(x) => text.parse::<f32>().is_ok_and(|y| y.to_bits() == x.to_bits()),
            Token::Double(x) if x.is_nan() => text == "NULL",
            Token::Double(x) => text.parse::<f64>().is_ok_and(|y| y.to_bits() == x.to_bits()),
            Token::Long(x) => text.parse() == Ok(*x),
        }
    }
}

fn tokenize(array: &dyn Array, row: usize, out: &mut Vec<Token>) {
    match array.data_type() {
        DataType::Float32 => out.push(Token::Float(array.as_primitive::<Float32Type>().value(row))),
        DataType::Float64 => out.push(Token::Double(array.as_primitive::<Float64Type>().value(row))),
        DataType::Int64 => out.push(Token::Long(array.as_primitive::<Int64Type>().value(row))),
        _ => {
            let items = array.as_list::<i32>().value(row);
            out.push(Token::Mark('{'));
            for item in 0..items.len() {
                if item > 0 {
                    out.push(Token::Mark(','));
                }
                tokenize(items.as_ref(), item, out);
            }
            out.push(Token::Mark('}'));
        }
    }
}

fn split_tokens(text: &str) -> Vec<&str> {
    text.split_inclusive(['{', '}', ','])
        .flat_map(|part| match part.char_indices().next_back() {
            Some((at, '{' | '}' | ',')) => [&part[..at], &part[at..]],
            _ => [part, ""],
        })
        .filter(|part| !part.is_empty())
        .collect()
}

/// A cell in the recorder's text form; `None` where that form has no text.
fn text(field: &Field, column_type: &str, array: &ArrayRef, row: usize) -> Option<String> {
    Some(match column_type {
        "boolean" => if array.as_boolean().value(row) { "t" } else { "f" }.to_owned(),
        "byte" => array.as_primitive::<Int8Type>().value(row).to_string(),
        "short" => array.as_primitive::<Int16Type>().value(row).to_string(),
        "int" => array.as_primitive::<Int32Type>().value(row).to_string(),
        "long" => array.as_primitive::<Int64Type>().value(row).to_string(),
        "float" => array.as_primitive::<Float32Type>().value(row).to_string(),
        "double" => array.as_primitive::<Float64Type>().value(row).to_string(),
        "symbol" => {
            let symbols = array.as_dictionary::<UInt32Type>();
            symbols.values().as_string::<i32>().value(symbols.keys().value(row) as usize).to_owned()
        }
        "timestamp" => array.as_primitive::<TimestampMicrosecondType>().value(row).to_string(),
        "date" => array.as_primitive::<TimestampMillisecondType>().value(row).to_string(),
        "timestamp_nanos" => array.as_primitive::<TimestampNanosecondType>().value(row).to_string(),
        "varchar" => array.as_string::<i32>().value(row).to_owned(),
        "binary" => hex(array.as_binary::<i32>().value(row).iter()),
        "uuid" => {
            let digits = hex(array.as_fixed_size_binary().value(row).iter());
            [&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]].join("-")
        }
        "long256" => {
            let digits = hex(array.as_fixed_size_binary().value(row).iter().rev());
            let digits = digits.trim_start_matches('0');
            format!("0x{}", if digits.is_empty() { "0" } else { digits })
        }
        "ipv4" => std::net::Ipv4Addr::from_bits(array.as_primitive::<UInt32Type>().value(row)).to_string(),
        // The other protocol has no text for the character 0.
        "char" => match array.as_primitive::<UInt16Type>().value(row) {
            0 => return None,
            unit => char::from_u32(u32::from(unit))?.to_string(),
        },
        "geohash" => geohash(field, array, row)?,
        "decimal64" => array.as_primitive::<Decimal64Type>().value_as_string(row),
        "decimal128" => array.as_primitive::<Decimal128Type>().value_as_string(row),
        "decimal256" => array.as_primitive::<Decimal256Type>().value_as_string(row),
        other => format!("a column of type {other}"),
    })
}

fn hex<'a>(bytes: impl Iterator<Item = &'a u8>) -> String {
    bytes.map(|byte| format!("{byte:02x}")).collect()
}

/// Base 32 for whole characters, else bits.
fn geohash(field: &Field, array: &ArrayRef, row: usize) -> Option<String> {
    let bits: usize = field.metadata()[metadata::GEOHASH_BITS].parse().ok()?;
    let value = match array.data_type() {
        DataType::Int8 => i64::from(array.as_primitive::<Int8Type>().value(row)),
        DataType::Int16 => i64::from(array.as_primitive::<Int16Type>().value(row)),
        DataType::Int32 => i64::from(array.as_primitive::<Int32Type>().value(row)),
        _ => array.as_primitive::<Int64Type>().value(row),
    };
    if !bits.is_multiple_of(5) {
        return Some(format!("{value:0bits$b}"));
    }
    let digit = |at: usize| b"0123456789bcdefghjkmnpqrstuvwxyz"[(value >> (bits - 5 * (at + 1)) & 31) as usize] as char;
    Some((0..bits / 5).map(digit).collect())
}
