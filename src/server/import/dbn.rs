//! Databento files (mbo, mbp-1, mbp-10; versions 1 to 3, raw or zstd) as record batches.
//!
//! Columns are named as the Python package `databento-dbn` names them. `price` and the `…_px_…` are decimals of scale 9, an unset
//! price is null. `ts_recv` orders the table; a record without one has its `ts_event` there. `symbol` is what the file's own
//! mappings say for the instrument at that time, else null.

use std::collections::HashMap;
use std::ffi::c_char;
use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use datafusion::arrow::array::{
    ArrayRef, Decimal64Array, DictionaryArray, Int32Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt8Array, UInt16Array, UInt32Array,
    UInt64Array,
};
use datafusion::arrow::datatypes::{DataType, Field, Schema, SchemaRef, TimeUnit};
use dbn::decode::dbn::Decoder;
use dbn::decode::{DbnMetadata as _, DecodeRecord as _};
use dbn::{BidAskPair, HasRType, MboMsg, Mbp1Msg, Mbp10Msg, RecordHeader, TsSymbolMap, UNDEF_PRICE, UNDEF_TIMESTAMP, VersionUpgradePolicy};

use super::{IMPORT_BATCH_ROWS, TableWriter};
use crate::server::error::ServeError;
use crate::server::progress::Progress;
use crate::server::source::{InputFile, symbol_type};

/// The column that orders every table made from DBN.
pub(crate) const TIME_COLUMN: &str = "ts_recv";

const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// A DBN file starts with these, its version and the length of its metadata.
const DBN_MAGIC: &[u8; 3] = b"DBN";
const PREFIX_BYTES: usize = 8;
/// Prices are integers of 1e-9; what has more than 18 digits does not fit the decimal.
const PRICE_PRECISION: u8 = 18;
const PRICE_SCALE: i8 = 9;
const PRICE_LIMIT: i64 = 10i64.pow(PRICE_PRECISION as u32);

/// Whether a file that starts with these bytes may be DBN.
pub(crate) fn is_dbn(magic: &[u8; 4]) -> bool {
    magic.starts_with(DBN_MAGIC) || *magic == ZSTD_MAGIC
}

/// The columns of a table of that schema; `None` where there is no table form yet.
pub(crate) fn columns(schema: dbn::Schema) -> Option<SchemaRef> {
    let time = || DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into()));
    let price = || DataType::Decimal64(PRICE_PRECISION, PRICE_SCALE);
    let some = |name: &str, data_type: DataType| Field::new(name, data_type, false);
    let null = |name: &str, data_type: DataType| Field::new(name, data_type, true);
    let mut fields = vec![
        some(TIME_COLUMN, time()),
        null("ts_event", time()),
        some("rtype", DataType::UInt8),
        some("publisher_id", DataType::UInt16),
        some("instrument_id", DataType::UInt32),
        null("action", symbol_type()),
        null("side", symbol_type()),
    ];
    let levels = match schema {
        dbn::Schema::Mbo => 0,
        dbn::Schema::Mbp1 => 1,
        dbn::Schema::Mbp10 => 10,
        _ => return None,
    };
    if levels > 0 {
        fields.push(some("depth", DataType::UInt8));
    }
    fields.extend([null("price", price()), some("size", DataType::UInt32)]);
    if levels == 0 {
        fields.extend([some("channel_id", DataType::UInt8), some("order_id", DataType::UInt64)]);
    }
    fields.extend([some("flags", DataType::UInt8), some("ts_in_delta", DataType::Int32), some("sequence", DataType::UInt32)]);
    for level in 0..levels {
        for side in ["bid", "ask"] {
            fields.push(null(&format!("{side}_px_{level:02}"), price()));
        }
        for kind in ["sz", "ct"] {
            for side in ["bid", "ask"] {
                fields.push(some(&format!("{side}_{kind}_{level:02}"), DataType::UInt32));
            }
        }
    }
    fields.push(null("symbol", symbol_type()));
    Some(Arc::new(Schema::new(fields)))
}

/// Counts what is read through it.
struct Counting<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Turns "the input ended too early" into an error of another kind: the decoder takes that kind for a proper end.
struct Strict<R>(R);

impl<R: Read> Read for Strict<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer).map_err(|error| match error.kind() {
            ErrorKind::UnexpectedEof => std::io::Error::new(ErrorKind::InvalidData, "the compressed stream is cut short"),
            _ => error,
        })
    }
}

type Plain = Counting<std::io::Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// An open file whose metadata was read.
pub(crate) struct DbnReader {
    decoder: Decoder<Plain>,
    path: PathBuf,
    /// Bytes of the file as stored that were read.
    stored: Arc<AtomicU64>,
    /// Bytes after decompression that were read.
    plain: Arc<AtomicU64>,
    /// How many of them are accounted for by metadata and records.
    used: u64,
    /// Records handed out.
    records: u64,
    /// Where it ends matters: a file cut inside a record must not pass for a shorter one.
    ended: bool,
}

impl DbnReader {
    /// Opens a file and reads its metadata.
    ///
    /// # Errors
    /// Not a readable file, or not DBN.
    pub(crate) fn open(path: &Path) -> Result<DbnReader, ServeError> {
        let damaged = |error: &dyn std::fmt::Display| ServeError::content(path, None, format!("its DBN header cannot be read: {error}"));
        let unknown = || ServeError::UnknownFormat { path: path.to_owned() };
        let stored = Arc::new(AtomicU64::new(0));
        let plain = Arc::new(AtomicU64::new(0));
        let file = File::open(path).map_err(ServeError::file("read", path))?;
        let mut file = BufReader::with_capacity(1 << 18, Counting { inner: file, bytes: Arc::clone(&stored) });
        let mut magic = [0; 4];
        file.read_exact(&mut magic).map_err(|_| unknown())?;
        let compressed = magic == ZSTD_MAGIC;
        let whole = Cursor::new(magic.to_vec()).chain(file);
        let mut bytes: Box<dyn Read + Send> = match compressed {
            true => Box::new(Strict(zstd::Decoder::new(whole).map_err(|error| damaged(&error))?)),
            false => Box::new(whole),
        };
        let mut prefix = [0; PREFIX_BYTES];
        bytes.read_exact(&mut prefix).map_err(|_| unknown())?;
        if !prefix.starts_with(DBN_MAGIC) {
            return Err(unknown());
        }
        let [_, _, _, _, length @ ..] = prefix;
        let used = PREFIX_BYTES as u64 + u64::from(u32::from_le_bytes(length));
        let reader = Counting { inner: Cursor::new(prefix.to_vec()).chain(bytes), bytes: Arc::clone(&plain) };
        let decoder = Decoder::with_upgrade_policy(reader, VersionUpgradePolicy::UpgradeToV3).map_err(|error| damaged(&error))?;
        Ok(DbnReader { decoder, path: path.to_owned(), stored, plain, used, records: 0, ended: false })
    }

    /// The schema of all its records; `None` for a mixed stream.
    pub(crate) fn schema(&self) -> Option<dbn::Schema> {
        self.decoder.metadata().schema
    }

    /// The next record.
    ///
    /// # Errors
    /// A damaged record, one of another schema, or an end inside a record.
    fn next<T: HasRType<Header = RecordHeader>>(&mut self) -> Result<Option<&T>, ServeError> {
        let number = self.records;
        let damaged = |problem: &dyn std::fmt::Display| ServeError::content(&self.path, Some(number), problem);
        let record = self.decoder.decode_record::<T>().map_err(|error| damaged(&error))?;
        match record {
            Some(record) => {
                self.used += record.record_size() as u64;
                self.records += 1;
                Ok(Some(record))
            }
            None => {
                let read = self.plain.load(Ordering::Relaxed);
                if !self.ended && read != self.used {
                    return Err(damaged(&format!("the file ends inside a record ({} bytes of it)", read.abs_diff(self.used))));
                }
                self.ended = true;
                Ok(None)
            }
        }
    }
}

/// Copies the records of a file of that schema.
///
/// # Errors
/// A damaged file, named with the record, or a failing disk.
pub(crate) fn read(schema: dbn::Schema, file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    match schema {
        dbn::Schema::Mbo => copy::<MboMsg>(file, writer, progress),
        dbn::Schema::Mbp1 => copy::<Mbp1Msg>(file, writer, progress),
        dbn::Schema::Mbp10 => copy::<Mbp10Msg>(file, writer, progress),
        other => Err(ServeError::UnsupportedSchema { path: file.path.clone(), schema: other.as_str().to_owned() }),
    }
}

fn copy<T: TickRecord>(file: &InputFile, writer: &mut TableWriter, progress: &Progress) -> Result<(), ServeError> {
    let mut reader = DbnReader::open(&file.path)?;
    let symbols = reader.decoder.metadata().symbol_map().map_err(|error| ServeError::content(&file.path, None, error))?;
    let stored = Arc::clone(&reader.stored);
    let base = progress.bytes_read();
    let mut rows = Rows::new(T::LEVELS);
    let mut written = 0;
    loop {
        let number = reader.records;
        let more = match reader.next::<T>()? {
            Some(record) => {
                rows.push(record, &symbols).map_err(|problem| ServeError::content(&file.path, Some(number), problem))?;
                true
            }
            None => false,
        };
        if rows.len() == IMPORT_BATCH_ROWS || (!more && rows.len() > 0) {
            let batch = rows.take(writer.schema()).map_err(|error| ServeError::content(&file.path, Some(written), error))?;
            writer.write(&batch, &file.path, written)?;
            written += batch.num_rows() as u64;
            progress.read(base + stored.load(Ordering::Relaxed).min(file.bytes), writer.rows());
        }
        if !more {
            progress.read(base + file.bytes, writer.rows());
            return Ok(());
        }
    }
}

/// What the three schemas have in common, and what only one has.
pub(crate) trait TickRecord: HasRType<Header = RecordHeader> {
    /// Levels a side in a record.
    const LEVELS: usize;
    /// The fields of all three.
    fn common(&self) -> Common;
    /// The book's levels, best first.
    fn levels(&self) -> &[BidAskPair];
    /// Channel and order id.
    fn order(&self) -> Option<(u8, u64)>;
    /// The level that changed.
    fn depth(&self) -> Option<u8>;
}

/// The fields that the three schemas share.
pub(crate) struct Common {
    header: RecordHeader,
    ts_recv: u64,
    action: c_char,
    side: c_char,
    price: i64,
    size: u32,
    flags: u8,
    ts_in_delta: i32,
    sequence: u32,
}

macro_rules! common {
    ($record:expr) => {
        Common {
            header: $record.hd.clone(),
            ts_recv: $record.ts_recv,
            action: $record.action,
            side: $record.side,
            price: $record.price,
            size: $record.size,
            flags: $record.flags.raw(),
            ts_in_delta: $record.ts_in_delta,
            sequence: $record.sequence,
        }
    };
}

impl TickRecord for MboMsg {
    const LEVELS: usize = 0;
    fn common(&self) -> Common {
        common!(self)
    }
    fn levels(&self) -> &[BidAskPair] {
        &[]
    }
    fn order(&self) -> Option<(u8, u64)> {
        Some((self.channel_id, self.order_id))
    }
    fn depth(&self) -> Option<u8> {
        None
    }
}

macro_rules! depth_record {
    ($record:ty, $levels:literal) => {
        impl TickRecord for $record {
            const LEVELS: usize = $levels;
            fn common(&self) -> Common {
                common!(self)
            }
            fn levels(&self) -> &[BidAskPair] {
                &self.levels
            }
            fn order(&self) -> Option<(u8, u64)> {
                None
            }
            fn depth(&self) -> Option<u8> {
                Some(self.depth)
            }
        }
    };
}
depth_record!(Mbp1Msg, 1);
depth_record!(Mbp10Msg, 10);

/// Texts of few values as codes; the codes last for a file.
#[derive(Default)]
struct Codes {
    keys: Vec<Option<u32>>,
    values: Vec<String>,
    known: HashMap<String, u32>,
}

impl Codes {
    fn push(&mut self, text: Option<&str>) {
        let code = text.map(|text| match self.known.get(text) {
            Some(&code) => code,
            None => {
                let code = u32::try_from(self.values.len()).unwrap_or(u32::MAX);
                self.known.insert(text.to_owned(), code);
                self.values.push(text.to_owned());
                code
            }
        });
        self.keys.push(code);
    }

    /// A letter; the zero byte stands for none.
    fn push_letter(&mut self, letter: c_char) {
        let letter = letter as u8;
        let mut buffer = [0; 4];
        self.push((letter != 0).then(|| char::from(letter).encode_utf8(&mut buffer) as &str));
    }

    fn take(&mut self) -> ArrayRef {
        let keys = UInt32Array::from(std::mem::take(&mut self.keys));
        let values = Arc::new(StringArray::from_iter_values(&self.values));
        // Every key was given out for a value above.
        Arc::new(DictionaryArray::new(keys, values))
    }
}

/// Rows on their way into a batch, column by column.
pub(crate) struct Rows {
    ts_recv: Vec<i64>,
    ts_event: Vec<Option<i64>>,
    rtype: Vec<u8>,
    publisher: Vec<u16>,
    instrument: Vec<u32>,
    action: Codes,
    side: Codes,
    depth: Vec<u8>,
    price: Vec<Option<i64>>,
    size: Vec<u32>,
    channel: Vec<u8>,
    order: Vec<u64>,
    flags: Vec<u8>,
    ts_in_delta: Vec<i32>,
    sequence: Vec<u32>,
    levels: Vec<LevelRows>,
    symbol: Codes,
}

#[derive(Default)]
struct LevelRows {
    prices: [Vec<Option<i64>>; 2],
    numbers: [Vec<u32>; 4],
}

impl Rows {
    /// No rows, of records with that many levels a side.
    pub(crate) fn new(levels: usize) -> Rows {
        Rows {
            ts_recv: Vec::new(),
            ts_event: Vec::new(),
            rtype: Vec::new(),
            publisher: Vec::new(),
            instrument: Vec::new(),
            action: Codes::default(),
            side: Codes::default(),
            depth: Vec::new(),
            price: Vec::new(),
            size: Vec::new(),
            channel: Vec::new(),
            order: Vec::new(),
            flags: Vec::new(),
            ts_in_delta: Vec::new(),
            sequence: Vec::new(),
            levels: (0..levels).map(|_| LevelRows::default()).collect(),
            symbol: Codes::default(),
        }
    }

    /// Rows since the last batch.
    pub(crate) fn len(&self) -> usize {
        self.ts_recv.len()
    }

    /// Appends a record.
    ///
    /// # Errors
    /// What in it cannot be kept exactly.
    pub(crate) fn push<T: TickRecord>(&mut self, record: &T, symbols: &TsSymbolMap) -> Result<(), String> {
        let common = record.common();
        let ts_event = time(common.header.ts_event, "ts_event")?;
        let (recv, raw) = match time(common.ts_recv, TIME_COLUMN)? {
            Some(recv) => (recv, common.ts_recv),
            None => (ts_event.ok_or("it has neither ts_recv nor ts_event")?, common.header.ts_event),
        };
        self.ts_recv.push(recv);
        self.ts_event.push(ts_event);
        self.rtype.push(common.header.rtype);
        self.publisher.push(common.header.publisher_id);
        self.instrument.push(common.header.instrument_id);
        self.action.push_letter(common.action);
        self.side.push_letter(common.side);
        self.depth.extend(record.depth());
        self.price.push(price(common.price)?);
        self.size.push(common.size);
        if let Some((channel, order)) = record.order() {
            self.channel.push(channel);
            self.order.push(order);
        }
        self.flags.push(common.flags);
        self.ts_in_delta.push(common.ts_in_delta);
        self.sequence.push(common.sequence);
        for (rows, level) in self.levels.iter_mut().zip(record.levels()) {
            for (column, value) in rows.prices.iter_mut().zip([level.bid_px, level.ask_px]) {
                column.push(price(value)?);
            }
            for (column, value) in rows.numbers.iter_mut().zip([level.bid_sz, level.ask_sz, level.bid_ct, level.ask_ct]) {
                column.push(value);
            }
        }
        self.symbol.push(symbols.get_for_ts(raw, common.header.instrument_id).map(String::as_str));
        Ok(())
    }

    /// The rows as a batch, in the order of [`columns`].
    ///
    /// # Errors
    /// A schema of other columns.
    pub(crate) fn take(&mut self, schema: &SchemaRef) -> Result<RecordBatch, datafusion::arrow::error::ArrowError> {
        let prices = |values: &mut Vec<Option<i64>>| -> Result<ArrayRef, datafusion::arrow::error::ArrowError> {
            let array = Decimal64Array::from(std::mem::take(values)).with_precision_and_scale(PRICE_PRECISION, PRICE_SCALE)?;
            Ok(Arc::new(array))
        };
        let numbers = |values: &mut Vec<u32>| -> ArrayRef { Arc::new(UInt32Array::from(std::mem::take(values))) };
        let mut arrays: Vec<ArrayRef> = vec![
            Arc::new(TimestampNanosecondArray::from(std::mem::take(&mut self.ts_recv)).with_timezone("UTC")),
            Arc::new(TimestampNanosecondArray::from(std::mem::take(&mut self.ts_event)).with_timezone("UTC")),
            Arc::new(UInt8Array::from(std::mem::take(&mut self.rtype))),
            Arc::new(UInt16Array::from(std::mem::take(&mut self.publisher))),
            numbers(&mut self.instrument),
            self.action.take(),
            self.side.take(),
        ];
        if !self.levels.is_empty() {
            arrays.push(Arc::new(UInt8Array::from(std::mem::take(&mut self.depth))));
        }
        arrays.push(prices(&mut self.price)?);
        arrays.push(numbers(&mut self.size));
        if self.levels.is_empty() {
            arrays.push(Arc::new(UInt8Array::from(std::mem::take(&mut self.channel))));
            arrays.push(Arc::new(UInt64Array::from(std::mem::take(&mut self.order))));
        }
        arrays.push(Arc::new(UInt8Array::from(std::mem::take(&mut self.flags))));
        arrays.push(Arc::new(Int32Array::from(std::mem::take(&mut self.ts_in_delta))));
        arrays.push(numbers(&mut self.sequence));
        for level in &mut self.levels {
            for values in &mut level.prices {
                arrays.push(prices(values)?);
            }
            for values in &mut level.numbers {
                arrays.push(numbers(values));
            }
        }
        arrays.push(self.symbol.take());
        RecordBatch::try_new(Arc::clone(schema), arrays)
    }
}

fn time(value: u64, column: &str) -> Result<Option<i64>, String> {
    if value == UNDEF_TIMESTAMP {
        return Ok(None);
    }
    i64::try_from(value).map(Some).map_err(|_| format!("{column} {value} is past the year 2262"))
}

fn price(value: i64) -> Result<Option<i64>, String> {
    if value == UNDEF_PRICE {
        return Ok(None);
    }
    if value <= -PRICE_LIMIT || value >= PRICE_LIMIT {
        return Err(format!("a price of {value}e-9 has more than {PRICE_PRECISION} digits"));
    }
    Ok(Some(value))
}
