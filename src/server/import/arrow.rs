//! Arrow IPC files and streams as record batches.
//!
//! Both forms are one sequence of messages: a file puts its magic before it and an index behind it, which a reader from start to
//! end does not need. Every length is checked against what is left of the file, and every promise of a compressed buffer against a
//! limit, before the decoder sees the message: it allocates what it is told.

use std::collections::HashMap;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::root_as_message;
use datafusion::arrow::array::{ArrayRef, RecordBatch};
use datafusion::arrow::buffer::Buffer;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::error::ArrowError;

use super::{IMPORT_BATCH_ROWS, TableWriter};
use crate::server::error::ServeError;
use crate::server::progress::Progress;
use crate::server::source::{InputFile, TableSource};

mod types;

pub(crate) use types::served;

const FILE_MAGIC: &[u8; 6] = b"ARROW1";
/// The magic is padded to so many bytes.
const FILE_HEAD_BYTES: u64 = 8;
const CONTINUATION: [u8; 4] = [0xFF; 4];
/// Schema or layout of a batch.
const MAX_METADATA_BYTES: u32 = 64 << 20;
/// Values of one batch, as stored and unpacked: it is held as a whole.
const MAX_BODY_BYTES: u64 = 2 << 30;
/// Rows of one batch: columns of nulls take no bytes.
const MAX_BATCH_ROWS: i64 = 1 << 31;
/// A compressed buffer starts with its size unpacked, or this for one that is not compressed.
const NOT_COMPRESSED: i64 = -1;

/// Whether a file that starts with these bytes may be Arrow IPC.
pub(crate) fn is_arrow(magic: &[u8]) -> bool {
    magic.starts_with(FILE_MAGIC) || magic.starts_with(&CONTINUATION)
}

/// What a message held.
enum Message {
    Schema(Schema),
    Batch(RecordBatch),
    /// A dictionary, now known, or something that holds no rows.
    Other,
}

/// An open file whose schema was read.
pub(crate) struct ArrowReader {
    input: BufReader<File>,
    path: PathBuf,
    schema: SchemaRef,
    dictionaries: HashMap<i64, ArrayRef>,
    /// Bytes that were not read yet.
    left: u64,
    /// The file form, which has an end of its own.
    is_file: bool,
    /// Batches handed out.
    batches: u64,
}

impl ArrowReader {
    /// Opens a file and reads its schema.
    ///
    /// # Errors
    /// Not a readable file, or not Arrow IPC.
    pub(crate) fn open(path: &Path) -> Result<ArrowReader, ServeError> {
        let file = File::open(path).map_err(ServeError::file("read", path))?;
        let left = file.metadata().map_err(ServeError::file("read", path))?.len();
        let mut input = BufReader::with_capacity(1 << 18, file);
        let is_file = input.fill_buf().map_err(ServeError::file("read", path))?.starts_with(FILE_MAGIC);
        let (schema, dictionaries) = (Arc::new(Schema::empty()), HashMap::new());
        let mut reader = ArrowReader { input, path: path.to_owned(), schema, dictionaries, left, is_file, batches: 0 };
        if is_file {
            reader.bytes(FILE_HEAD_BYTES)?;
        }
        match reader.message()? {
            Some(Message::Schema(schema)) => reader.schema = Arc::new(schema),
            _ => return Err(reader.damaged("it does not begin with a schema")),
        }
        Ok(reader)
    }

    /// Columns as the file has them.
    pub(crate) fn schema(&self) -> &SchemaRef {
        &self.schema
    }

    /// The next batch.
    ///
    /// # Errors
    /// A damaged message, or an end inside one.
    fn next(&mut self) -> Result<Option<RecordBatch>, ServeError> {
        loop {
            match self.message()? {
                Some(Message::Batch(batch)) => {
                    self.batches += 1;
                    return Ok(Some(batch));
                }
                Some(Message::Other) => {}
                Some(Message::Schema(_)) => return Err(self.damaged("it has a second schema")),
                None => return Ok(None),
            }
        }
    }

    /// Reads one message; `None` at the end.
    fn message(&mut self) -> Result<Option<Message>, ServeError> {
        if self.left == 0 && !self.is_file {
            return Ok(None);
        }
        let mut prefix = self.bytes(4)?;
        // Some writers pad the magic to more than eight bytes.
        while self.schema.fields().is_empty() && self.is_file && prefix == [0; 4] {
            prefix = self.bytes(4)?;
        }
        if prefix == CONTINUATION {
            prefix = self.bytes(4)?;
        }
        let length = <[u8; 4]>::try_from(prefix.as_slice()).map_or(0, u32::from_le_bytes);
        if length == 0 {
            return Ok(None);
        }
        if length > MAX_METADATA_BYTES {
            return Err(self.damaged(&format!("a message says that its description has {length} bytes: at most {MAX_METADATA_BYTES} are read")));
        }
        let metadata = self.bytes(u64::from(length))?;
        let message = root_as_message(&metadata).map_err(|_| self.damaged("the description of a message cannot be read"))?;
        let body_bytes = u64::try_from(message.bodyLength()).map_err(|_| self.damaged("a message says that it has less than no bytes"))?;
        if body_bytes > MAX_BODY_BYTES {
            let problem = format!("a batch of {body_bytes} bytes: at most {MAX_BODY_BYTES} are read at once, write smaller batches");
            return Err(self.damaged(&problem));
        }
        let body = self.bytes(body_bytes)?;
        let failed = |error: ArrowError| self.damaged(&error.to_string());
        if let Some(schema) = message.header_as_schema() {
            return Ok(Some(Message::Schema(fb_to_schema(schema))));
        }
        if let Some(batch) = message.header_as_record_batch() {
            self.check(&batch, &body)?;
            let (body, version) = (Buffer::from_vec(body), message.version());
            let decoder = RecordBatchDecoder::try_new(&body, batch, Arc::clone(&self.schema), &self.dictionaries, &version);
            return decoder.and_then(RecordBatchDecoder::read_record_batch).map(|batch| Some(Message::Batch(batch))).map_err(failed);
        }
        if let Some(dictionary) = message.header_as_dictionary_batch() {
            if let Some(batch) = dictionary.data() {
                self.check(&batch, &body)?;
            }
            let read = read_dictionary(&Buffer::from_vec(body), dictionary, &self.schema, &mut self.dictionaries, &message.version());
            read.map_err(|error| self.damaged(&error.to_string()))?;
        }
        Ok(Some(Message::Other))
    }

    /// Refuses a batch whose decoder would allocate more than a batch may have.
    fn check(&self, batch: &arrow_ipc::RecordBatch<'_>, body: &[u8]) -> Result<(), ServeError> {
        if !(0..=MAX_BATCH_ROWS).contains(&batch.length()) {
            return Err(self.damaged(&format!("a batch of {} rows: at most {MAX_BATCH_ROWS} are read at once", batch.length())));
        }
        if batch.compression().is_none() {
            return Ok(());
        }
        let mut unpacked = 0u64;
        for buffer in batch.buffers().into_iter().flatten() {
            let start = usize::try_from(buffer.offset()).unwrap_or(usize::MAX);
            let Some(size) = body.get(start..).and_then(|rest| rest.first_chunk()).map(|size| i64::from_le_bytes(*size)) else { continue };
            if size != NOT_COMPRESSED {
                unpacked = unpacked.saturating_add(u64::try_from(size).unwrap_or(u64::MAX));
            }
        }
        if unpacked > MAX_BODY_BYTES {
            return Err(self.damaged(&format!("a batch of {unpacked} bytes when unpacked: at most {MAX_BODY_BYTES} are read at once")));
        }
        Ok(())
    }

    /// The next bytes, which must be there.
    fn bytes(&mut self, length: u64) -> Result<Vec<u8>, ServeError> {
        if length > self.left {
            return Err(ServeError::content(&self.path, None, format!("the file is cut short: it ends inside batch {}", self.batches)));
        }
        let mut bytes = vec![0; usize::try_from(length).unwrap_or(usize::MAX)];
        self.input.read_exact(&mut bytes).map_err(ServeError::file("read", &self.path))?;
        self.left -= length;
        Ok(bytes)
    }

    fn damaged(&self, problem: &str) -> ServeError {
        ServeError::content(&self.path, None, format!("batch {}: {problem}", self.batches))
    }
}

/// Copies the rows of a file, each column brought to the type in which it is served.
///
/// # Errors
/// A damaged file, a value that its column cannot hold, or a failing disk.
pub(crate) fn read(source: &TableSource, file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    let mut reader = ArrowReader::open(&file.path)?;
    let base = progress.bytes_read();
    let mut done = 0;
    while let Some(batch) = reader.next()? {
        for first in (0..batch.num_rows()).step_by(IMPORT_BATCH_ROWS) {
            let rows = batch.slice(first, IMPORT_BATCH_ROWS.min(batch.num_rows() - first));
            let failed = |problem: &dyn std::fmt::Display| ServeError::content(&file.path, Some(done), problem);
            let columns = source.schema.fields().iter().map(|field| {
                let column = rows.column_by_name(field.name()).ok_or_else(|| failed(&format!("column {} is gone", field.name())))?;
                types::convert(column, field.data_type()).map_err(|error| failed(&format!("column {}: {error}", field.name())))
            });
            let columns = columns.collect::<Result<Vec<_>, _>>()?;
            let converted = RecordBatch::try_new(Arc::clone(writer.schema()), columns).map_err(|error| failed(&error))?;
            writer.write(&converted, &file.path, done)?;
            done += converted.num_rows() as u64;
        }
        progress.read(base + file.bytes.saturating_sub(reader.left), writer.rows());
    }
    progress.read(base + file.bytes, writer.rows());
    Ok(())
}
