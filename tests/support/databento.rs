//! Databento files as the record batches that the embedded store sends: its column names, types and shared symbol dictionary.
#![allow(dead_code, reason = "each test file uses a part of it")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::types::UInt32Type;
use arrow_array::{
    Array, ArrayRef, Decimal64Array, DictionaryArray, Int16Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray,
    UInt32Array,
};
use arrow_schema::{DataType, Field, Schema};
use dbn::decode::{DbnDecoder, DecodeRecord};
use dbn::{BidAskPair, MboMsg, Mbp1Msg, Mbp10Msg};
use tickscope::market::ColumnDecl;

#[path = "data.rs"]
mod data;

/// A file of the test data, or `None` after saying so: a machine without the data skips, it does not fail.
pub fn data_file(test: &str, name: &str) -> Option<PathBuf> {
    let path = data::data_dir().map(|dir| dir.join(name)).filter(|path| path.exists());
    if path.is_none() {
        data::skipped(test, &format!("{name} is not there (set TICKSCOPE_DATA)"));
    }
    path
}

/// A recorded session's folder, in the same way.
pub fn session(test: &str, name: &str) -> Option<PathBuf> {
    let path = data::sessions_dir().map(|dir| dir.join(name)).filter(|path| path.exists());
    if path.is_none() {
        data::skipped(test, &format!("session {name} is not there (set TICKSCOPE_QWP_SESSIONS)"));
    }
    path
}

fn records<T: dbn::HasRType<Header = dbn::RecordHeader> + Clone>(path: &Path) -> Vec<T> {
    let mut decoder = DbnDecoder::from_zstd_file(path).expect("a DBN file");
    let mut records = Vec::new();
    while let Some(record) = decoder.decode_record::<T>().expect("a record") {
        records.push(record.clone());
    }
    records
}

/// One connection's dictionary: the words of all symbol columns, in one list.
const WORDS: [&str; 8] = ["A", "C", "M", "R", "T", "F", "N", "B"];

struct Columns {
    fields: Vec<Field>,
    arrays: Vec<ArrayRef>,
    words: ArrayRef,
}

impl Columns {
    fn new(symbol: &str) -> Columns {
        let words = Arc::new(StringArray::from_iter_values(WORDS.into_iter().chain([symbol])));
        Columns { fields: Vec::new(), arrays: Vec::new(), words }
    }

    fn push(&mut self, name: &str, array: impl Array + 'static) {
        self.fields.push(Field::new(name, array.data_type().clone(), true));
        self.arrays.push(Arc::new(array));
    }

    fn times(&mut self, name: &str, times: impl Iterator<Item = u64>) {
        self.push(
            name,
            times.map(|time| Some(time.cast_signed()).filter(|_| time != u64::MAX)).collect::<TimestampNanosecondArray>().with_timezone("UTC"),
        );
    }

    fn letters(&mut self, name: &str, letters: impl Iterator<Item = i8>) {
        let key = |letter: i8| WORDS.iter().position(|word| word.as_bytes()[0] == letter as u8).expect("a letter of DBN") as u32;
        self.keys(name, letters.map(key).collect());
    }

    fn keys(&mut self, name: &str, keys: UInt32Array) {
        self.push(name, DictionaryArray::<UInt32Type>::new(keys, self.words.clone()));
    }

    fn prices(&mut self, name: &str, prices: impl Iterator<Item = i64>) {
        let prices = prices.map(|price| Some(price).filter(|price| *price != dbn::UNDEF_PRICE)).collect::<Decimal64Array>();
        self.push(name, prices.with_precision_and_scale(18, 9).expect("a scale"));
    }

    fn finish(self) -> RecordBatch {
        RecordBatch::try_new(Arc::new(Schema::new(self.fields)), self.arrays).expect("columns of one length")
    }
}

/// The columns of every schema.
macro_rules! common {
    ($columns:ident, $records:ident) => {
        $columns.times("ts_recv", $records.iter().map(|r| r.ts_recv));
        $columns.times("ts_event", $records.iter().map(|r| r.hd.ts_event));
        $columns.push("rtype", $records.iter().map(|r| i16::from(r.hd.rtype)).collect::<Int16Array>());
        $columns.push("publisher_id", $records.iter().map(|r| i32::from(r.hd.publisher_id)).collect::<Int32Array>());
        $columns.push("instrument_id", $records.iter().map(|r| i64::from(r.hd.instrument_id)).collect::<Int64Array>());
        $columns.letters("action", $records.iter().map(|r| r.action as i8));
        $columns.letters("side", $records.iter().map(|r| r.side as i8));
        $columns.prices("price", $records.iter().map(|r| r.price));
        $columns.push("size", $records.iter().map(|r| i64::from(r.size)).collect::<Int64Array>());
        $columns.push("flags", $records.iter().map(|r| i16::from(r.flags.raw())).collect::<Int16Array>());
        $columns.push("ts_in_delta", $records.iter().map(|r| r.ts_in_delta).collect::<Int32Array>());
        $columns.push("sequence", $records.iter().map(|r| i64::from(r.sequence)).collect::<Int64Array>());
        let symbol = WORDS.len() as u32;
        $columns.keys("symbol", $records.iter().map(|_| symbol).collect());
    };
}

/// An `mbo` file as one batch.
pub fn mbo(path: &Path, symbol: &str) -> RecordBatch {
    let records = records::<MboMsg>(path);
    let mut columns = Columns::new(symbol);
    common!(columns, records);
    columns.push("channel_id", records.iter().map(|r| i16::from(r.channel_id)).collect::<Int16Array>());
    columns.push("order_id", records.iter().map(|r| i64::try_from(r.order_id).expect("an id of 63 bits")).collect::<Int64Array>());
    columns.finish()
}

fn levels(columns: &mut Columns, depth: usize, levels: &[&[BidAskPair]]) {
    for level in 0..depth {
        let pair = |row: &&[BidAskPair]| row[level].clone();
        columns.prices(&format!("bid_px_{level:02}"), levels.iter().map(|row| pair(row).bid_px));
        columns.prices(&format!("ask_px_{level:02}"), levels.iter().map(|row| pair(row).ask_px));
        for (name, field) in [
            ("bid_sz", (|pair| pair.bid_sz) as fn(BidAskPair) -> u32),
            ("ask_sz", |pair| pair.ask_sz),
            ("bid_ct", |pair| pair.bid_ct),
            ("ask_ct", |pair| pair.ask_ct),
        ] {
            columns.push(&format!("{name}_{level:02}"), levels.iter().map(|row| i64::from(field(pair(row)))).collect::<Int64Array>());
        }
    }
}

/// An `mbp-1` file as one batch.
pub fn mbp1(path: &Path, symbol: &str) -> RecordBatch {
    let records = records::<Mbp1Msg>(path);
    let mut columns = Columns::new(symbol);
    common!(columns, records);
    levels(&mut columns, 1, &records.iter().map(|r| r.levels.as_slice()).collect::<Vec<_>>());
    columns.finish()
}

/// An `mbp-10` file as one batch.
pub fn mbp10(path: &Path, symbol: &str) -> RecordBatch {
    let records = records::<Mbp10Msg>(path);
    let mut columns = Columns::new(symbol);
    common!(columns, records);
    levels(&mut columns, 10, &records.iter().map(|r| r.levels.as_slice()).collect::<Vec<_>>());
    columns.finish()
}

/// A batch's columns as a store lists them.
pub fn declare(batch: &RecordBatch) -> Vec<ColumnDecl> {
    let kind = |data_type: &DataType| match data_type {
        DataType::Timestamp(..) => "TIMESTAMP_NS".to_owned(),
        DataType::Dictionary(..) => "SYMBOL".to_owned(),
        DataType::Decimal64(precision, scale) => format!("DECIMAL({precision},{scale})"),
        DataType::Int16 => "SHORT".to_owned(),
        DataType::Int32 => "INT".to_owned(),
        DataType::Int64 => "LONG".to_owned(),
        DataType::Float64 => "DOUBLE".to_owned(),
        DataType::List(_) => "DOUBLE[][]".to_owned(),
        other => panic!("no column of these files is {other}"),
    };
    batch.schema().fields().iter().map(|field| ColumnDecl { name: field.name().clone(), kind: kind(field.data_type()) }).collect()
}
