//! QuestDB's Rust client reads a running store into Arrow; every value is compared, row by row, with the `parquet` crate's own reading
//! of the file.
//!
//! ```text
//! tickscope-foreign TICKSCOPE
//! ```
//! Ends with a line in cargo's form, which `./test` counts.

use std::error::Error;
use std::fs::File;
use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;

use arrow::array::{
    Array, ArrayRef, BinaryArray, BooleanArray, Decimal64Array, Decimal128Array, Decimal256Array, DictionaryArray, Float32Array, Float64Array,
    Int8Array, Int16Array, Int32Array, Int64Array, ListArray, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray,
    UInt32Array,
};
use arrow::compute::{cast, concat_batches};
use arrow::datatypes::{DataType, Float64Type, Int64Type, UInt32Type, i256};
use parquet::arrow::ArrowWriter;
use parquet::arrow::arrow_reader::ParquetRecordBatchReaderBuilder;
use questdb::egress::reader::Reader;

type Outcome<T> = Result<T, Box<dyn Error>>;

/// Rows of the file: no multiple of a batch.
const ROWS: i64 = 100_001;

fn main() {
    let Some(program) = std::env::args_os().nth(1).map(PathBuf::from) else {
        eprintln!("usage: tickscope-foreign TICKSCOPE");
        std::process::exit(2);
    };
    type Test = fn(&Path) -> Outcome<String>;
    let tests: [(&str, Test); 2] =
        [("every_type_arrives_as_parquet_reads_it", every_type), ("a_null_in_a_narrow_column_does_not_end_the_stream", narrow_nulls)];
    let (mut passed, mut failed) = (0, 0);
    for (name, test) in tests {
        match test(&program) {
            Ok(what) => {
                passed += 1;
                println!("test {name} ... ok ({what})");
            }
            Err(error) => {
                failed += 1;
                println!("test {name} ... FAILED\n{error}");
            }
        }
    }
    println!("test result: {}. {passed} passed; {failed} failed; 0 ignored;", if failed == 0 { "ok" } else { "FAILED" });
    std::process::exit(i32::from(failed > 0));
}

fn every_type(program: &Path) -> Outcome<String> {
    let folder = Folder::new()?;
    let path = folder.0.join("types.parquet");
    let expected = written(
        &path,
        vec![
            ("ts", Arc::new(TimestampNanosecondArray::from_iter_values(0..ROWS).with_timezone("UTC"))),
            ("i8", Arc::new(Int8Array::from_iter_values((0..ROWS).map(|row| row as i8)))),
            ("i16", Arc::new(Int16Array::from_iter_values((0..ROWS).map(|row| row as i16)))),
            ("bool", Arc::new((0..ROWS).map(|row| Some(row % 3 == 0)).collect::<BooleanArray>())),
            ("i32", Arc::new(some([i32::MIN, i32::MAX], |row| row as i32).collect::<Int32Array>())),
            ("i64", Arc::new(some([i64::MIN, i64::MAX], |row| row).collect::<Int64Array>())),
            ("f32", Arc::new(some([f32::NAN, -0.0, f32::INFINITY], |row| row as f32 / 8.0).collect::<Float32Array>())),
            ("f64", Arc::new(some([f64::NAN, -0.0, f64::NEG_INFINITY, 5e-324], |row| row as f64 / 8.0).collect::<Float64Array>())),
            (
                "text",
                Arc::new(some([String::new(), "é😀".to_owned(), "x".repeat(70_000)], |row| format!("text {}", row % 1_000)).collect::<StringArray>()),
            ),
            ("symbol", Arc::new(symbols())),
            ("binary", Arc::new(some([vec![], vec![0, 255]], |row| row.to_le_bytes().to_vec()).collect::<BinaryArray>())),
            ("time", Arc::new(some([i64::MIN + 1, i64::MAX, -1], |row| row * 1_000_003).collect::<TimestampMicrosecondArray>().with_timezone("UTC"))),
            (
                "d64",
                Arc::new(
                    some([-999_999_999_999_999_999, 999_999_999_999_999_999], |row| row)
                        .collect::<Decimal64Array>()
                        .with_precision_and_scale(18, 9)?,
                ),
            ),
            ("d128", Arc::new(some([10i128.pow(38) - 1, -1], i128::from).collect::<Decimal128Array>().with_precision_and_scale(38, 10)?)),
            (
                "d256",
                Arc::new(
                    some([i256::from_i128(i128::MIN), i256::from_i128(i128::MAX)], |row| i256::from_i128(row.into()))
                        .collect::<Decimal256Array>()
                        .with_precision_and_scale(76, 0)?,
                ),
            ),
            (
                "doubles",
                Arc::new(ListArray::from_iter_primitive::<Float64Type, _, _>(some([vec![], vec![Some(f64::NAN)]], |row| {
                    vec![Some(row as f64); (row % 4) as usize]
                }))),
            ),
            (
                "longs",
                Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>(some([vec![Some(i64::MAX)]], |row| vec![Some(row); (row % 3) as usize]))),
            ),
        ],
    )?;
    let store = Store::start(program, &path)?;
    let mut received = Vec::new();
    for options in ["compression=raw;", "compression=zstd;"] {
        let mut reader = Reader::from_conf(format!("ws::addr={};{options}", store.address))?;
        let (_, batches) = reader.prepare("SELECT * FROM types").initial_credit(1 << 20).execute()?.fetch_all_arrow()?;
        let got = concat_batches(&batches.first().ok_or("no batch came")?.schema(), &batches)?;
        same(&got, &expected)?;
        received.push(reader.bytes_received());
    }
    if received[1] >= received[0] {
        return Err(format!("expected fewer bytes with zstd than the {} without, got {}", received[0], received[1]).into());
    }
    Ok(format!("{} columns, {ROWS} rows, {} bytes raw, {} with zstd", expected.num_columns(), received[0], received[1]))
}

/// The client refuses a null in a BOOLEAN, BYTE or SHORT column, so such columns come as INT; also when the null is in a late batch.
fn narrow_nulls(program: &Path) -> Outcome<String> {
    let folder = Folder::new()?;
    let path = folder.0.join("narrow.parquet");
    let late = |row: i64| row != ROWS - 1;
    let expected = written(
        &path,
        vec![
            ("ts", Arc::new(TimestampNanosecondArray::from_iter_values(0..ROWS).with_timezone("UTC"))),
            ("i8", Arc::new((0..ROWS).map(|row| late(row).then_some(row as i8)).collect::<Int8Array>())),
            ("i16", Arc::new((0..ROWS).map(|row| late(row).then_some(row as i16)).collect::<Int16Array>())),
            ("bool", Arc::new((0..ROWS).map(|row| late(row).then_some(row % 3 == 0)).collect::<BooleanArray>())),
        ],
    )?;
    let store = Store::start(program, &path)?;
    let mut reader = Reader::from_conf(format!("ws::addr={};", store.address))?;
    let (schema, batches) = reader.prepare("SELECT * FROM narrow").execute()?.fetch_all_arrow()?;
    let got = concat_batches(&schema, &batches)?;
    if let Some(other) = schema.fields().iter().skip(1).find(|field| *field.data_type() != DataType::Int32) {
        return Err(format!("expected INT, got {other}").into());
    }
    same(&got, &expected)?;
    Ok(format!("{} columns, {ROWS} rows", expected.num_columns()))
}

/// The extremes, then values by row; every seventh row is null.
fn some<T: Clone, const N: usize>(extremes: [T; N], value: impl Fn(i64) -> T) -> impl Iterator<Item = Option<T>> {
    (0..ROWS).map(move |row| match extremes.get(row as usize) {
        Some(extreme) => Some(extreme.clone()),
        None => (row % 7 != 3).then(|| value(row)),
    })
}

fn symbols() -> DictionaryArray<UInt32Type> {
    let values = StringArray::from_iter_values((0..5_000).map(|entry| format!("symbol {entry}")));
    DictionaryArray::new(some([], |row| (row * 7_919 % 5_000) as u32).collect::<UInt32Array>(), Arc::new(values))
}

/// Writes a file and reads it back.
fn written(path: &Path, columns: Vec<(&str, ArrayRef)>) -> Outcome<RecordBatch> {
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, column)| (name, column, true)))?;
    let mut writer = ArrowWriter::try_new(File::create(path)?, batch.schema(), None)?;
    writer.write(&batch)?;
    writer.close()?;
    let reader = ParquetRecordBatchReaderBuilder::try_new(File::open(path)?)?.build()?;
    let schema = arrow::array::RecordBatchReader::schema(&reader);
    Ok(concat_batches(&schema, &reader.collect::<Result<Vec<_>, _>>()?)?)
}

/// Equal names, rows and values, in order. Types are equal, or the client's holds all of the file's.
fn same(got: &RecordBatch, expected: &RecordBatch) -> Outcome<()> {
    if got.num_rows() != expected.num_rows() || got.num_columns() != expected.num_columns() {
        return Err(format!("expected {} × {}, got {} × {}", expected.num_rows(), expected.num_columns(), got.num_rows(), got.num_columns()).into());
    }
    let fields = got.schema().fields().clone();
    for ((field, got), (name, expected)) in fields.iter().zip(got.columns()).zip(expected.schema().fields().iter().zip(expected.columns())) {
        if field.name() != name.name() {
            return Err(format!("expected column {}, got {}", name.name(), field.name()).into());
        }
        // Dictionaries of different layout are compared by text.
        let plain = match got.data_type() {
            DataType::Dictionary(_, values) => values.as_ref().clone(),
            other => other.clone(),
        };
        let (got, expected) = (cast(got, &plain)?, cast(expected, &plain)?);
        if got.to_data() != expected.to_data() {
            let row = (0..got.len()).find(|row| got.slice(*row, 1).to_data() != expected.slice(*row, 1).to_data());
            let shown = |array: &ArrayRef| row.map(|row| format!("{:?}", array.slice(row, 1)));
            return Err(format!("{}, row {row:?}: expected {:?}, got {:?}", field.name(), shown(&expected), shown(&got)).into());
        }
    }
    Ok(())
}

/// A server over a file; it ends with this.
struct Store {
    process: Child,
    address: String,
}

impl Store {
    fn start(program: &Path, file: &Path) -> Outcome<Store> {
        let mut command = Command::new(program);
        command.args(["serve", "--no-cache", "--quiet", "--port", "0"]).arg(file);
        let mut process = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
        let mut line = String::new();
        if let Some(stdout) = process.stdout.take() {
            BufReader::new(stdout).read_line(&mut line)?;
        }
        let address = line.trim().trim_start_matches("http://").trim_end_matches('/').to_owned();
        let mut store = Store { process, address };
        if store.address.is_empty() {
            let mut why = String::new();
            if let Some(stderr) = &mut store.process.stderr {
                stderr.read_to_string(&mut why)?;
            }
            return Err(format!("the store did not start: {why}").into());
        }
        let mut reader = Reader::from_conf(format!("ws::addr={};", store.address))?;
        loop {
            let (schema, batches) = reader.execute("SELECT table_row_count FROM tables()")?.fetch_all_arrow()?;
            if concat_batches(&schema, &batches)?.column(0).null_count() == 0 {
                return Ok(store);
            }
            if let Some(status) = store.process.try_wait()? {
                return Err(format!("the store ended: {status}").into());
            }
            std::thread::yield_now();
        }
    }
}

impl Drop for Store {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// A directory that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Outcome<Folder> {
        static COUNT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let number = COUNT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("tickscope-foreign-{}-{number}", std::process::id()));
        std::fs::create_dir_all(&path)?;
        Ok(Folder(path))
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
