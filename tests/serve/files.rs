//! Parquet files for the tests, and columns back out of batches.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use parquet::arrow::ArrowWriter;
use parquet::file::properties::WriterProperties;

/// A directory that goes when the test does.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new() -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let name = format!("tickscope-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Ordering::Relaxed));
        let path = std::env::temp_dir().join(name);
        std::fs::create_dir_all(&path).unwrap();
        Folder(path)
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Writes batches of one schema in row groups of 100,000 rows, which no batch size divides.
pub fn write(path: &Path, batches: &[RecordBatch]) {
    let properties = WriterProperties::builder().set_max_row_group_row_count(Some(100_000)).build();
    let mut writer = ArrowWriter::try_new(File::create(path).unwrap(), batches[0].schema(), Some(properties)).unwrap();
    for batch in batches {
        writer.write(batch).unwrap();
    }
    writer.close().unwrap();
}

/// Times, the number of each row, and a key of few values.
pub fn numbered(times: &[i64], numbers: &[i64]) -> RecordBatch {
    let keys = StringArray::from_iter_values(numbers.iter().map(|number| ["a", "b", "c"][(number % 3) as usize]));
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("ts", Arc::new(TimestampNanosecondArray::from(times.to_vec()).with_timezone("UTC"))),
        ("n", Arc::new(Int64Array::from(numbers.to_vec()))),
        ("k", Arc::new(keys)),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

/// A column of integers over all batches.
pub fn longs(batches: &[RecordBatch], column: &str) -> Vec<i64> {
    batches.iter().flat_map(|batch| batch.column_by_name(column).unwrap().as_primitive::<Int64Type>().values().to_vec()).collect()
}

/// A column of nanoseconds over all batches.
pub fn nanos(batches: &[RecordBatch], column: &str) -> Vec<i64> {
    let values = |batch: &RecordBatch| batch.column_by_name(column).unwrap().as_primitive::<TimestampNanosecondType>().values().to_vec();
    batches.iter().flat_map(values).collect()
}

/// A column of texts or symbols over all batches; null is `None`.
pub fn texts(batches: &[RecordBatch], column: &str) -> Vec<Option<String>> {
    let mut all = Vec::new();
    for batch in batches {
        let array = batch.column_by_name(column).unwrap();
        for row in 0..array.len() {
            all.push((!array.is_null(row)).then(|| match array.as_any_dictionary_opt() {
                Some(dictionary) => dictionary.values().as_string::<i32>().value(dictionary.normalized_keys()[row]).to_owned(),
                None => array.as_string::<i32>().value(row).to_owned(),
            }));
        }
    }
    all
}
