//! Every schema of every DBN file of the test data is served with the names and values that the `dbn` crate's JSON has for it.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal64Type, Int8Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_schema::DataType;
use dbn::decode::{DbnMetadata as _, DecodeRecordRef as _, DynDecoder};
use dbn::encode::{EncodeRecordRef as _, JsonEncoder};
use dbn::{Schema, UNDEF_PRICE, UNDEF_TIMESTAMP, VersionUpgradePolicy};
use serde_json::Value;

use crate::client::{Client, config, serve};
use crate::data;

/// A row by column: the decimal text of a number, a text, or nothing.
type Row = BTreeMap<String, Option<String>>;

fn files(folder: &Path) -> Vec<PathBuf> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
        match entry.is_dir() {
            true => all.extend(files(&entry)),
            false if entry.to_string_lossy().contains(".dbn") => all.push(entry),
            false => {}
        }
    }
    all.sort();
    all
}

fn flatten(prefix: &str, value: &Value, row: &mut Row) {
    match value {
        Value::Object(fields) => {
            for (name, value) in fields {
                match (name.as_str(), value) {
                    ("hd", head) => flatten("", head, row),
                    ("levels", Value::Array(levels)) => {
                        for (level, value) in levels.iter().enumerate() {
                            flatten(&format!("_{level:02}"), value, row);
                        }
                    }
                    (name, value) => flatten(&format!("{name}{prefix}"), value, row),
                }
            }
        }
        Value::Null => drop(row.insert(prefix.to_owned(), None)),
        Value::String(text) => drop(row.insert(prefix.to_owned(), Some(text.clone()))),
        other => drop(row.insert(prefix.to_owned(), Some(other.to_string()))),
    }
}

/// Its schema, and its rows as JSON has them.
fn expected(path: &Path) -> Option<(Schema, Vec<Row>)> {
    let mut decoder = DynDecoder::from_file(path, VersionUpgradePolicy::UpgradeToV3).unwrap();
    let schema = decoder.metadata().schema?;
    let mut json = Vec::new();
    let mut encoder = JsonEncoder::builder(&mut json).build();
    while let Some(record) = decoder.decode_record_ref().unwrap() {
        encoder.encode_record_ref(record).unwrap();
    }
    let rows = String::from_utf8(json).unwrap();
    let row = |line: &str| {
        let mut row = Row::new();
        flatten("", &serde_json::from_str(line).unwrap(), &mut row);
        for (name, value) in &mut row {
            // An unset quantity has a price's unset value, and is a number all the same.
            let unset = |value: &String| (*value == UNDEF_PRICE.to_string() && name != "quantity") || *value == UNDEF_TIMESTAMP.to_string();
            if value.as_ref().is_some_and(unset) {
                *value = None;
            }
        }
        row
    };
    Some((schema, rows.lines().map(row).collect()))
}

fn served(batches: &[RecordBatch]) -> Vec<Row> {
    let mut rows = Vec::new();
    for batch in batches {
        for row in 0..batch.num_rows() {
            let cell = |array: &dyn arrow_array::Array| -> Option<String> {
                if array.is_null(row) {
                    return None;
                }
                Some(match array.data_type() {
                    DataType::Int8 => array.as_primitive::<Int8Type>().value(row).to_string(),
                    DataType::Int16 => array.as_primitive::<Int16Type>().value(row).to_string(),
                    DataType::Int32 => array.as_primitive::<Int32Type>().value(row).to_string(),
                    DataType::Int64 => array.as_primitive::<Int64Type>().value(row).to_string(),
                    DataType::Decimal64(18, 9) => array.as_primitive::<Decimal64Type>().value(row).to_string(),
                    DataType::Timestamp(..) => array.as_primitive::<TimestampNanosecondType>().value(row).to_string(),
                    DataType::Utf8 => array.as_string::<i32>().value(row).to_owned(),
                    DataType::Dictionary(..) => {
                        let dictionary = array.as_any_dictionary();
                        dictionary.values().as_string::<i32>().value(dictionary.normalized_keys()[row]).to_owned()
                    }
                    other => panic!("{other}"),
                })
            };
            let schema = batch.schema();
            rows.push(schema.fields().iter().zip(batch.columns()).map(|(field, array)| (field.name().clone(), cell(array))).collect());
        }
    }
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_schema_and_version_is_served_as_the_crate_decodes_it() {
    let Some(folder) = data::data_dir().map(|dir| dir.join("databento")) else {
        return data::skipped("every_schema_and_version_is_served_as_the_crate_decodes_it", "there is no test data (set TICKSCOPE_DATA)");
    };
    let mut seen = std::collections::BTreeSet::new();
    let mut total = 0;
    for path in files(&folder) {
        let Some((schema, mut wanted)) = expected(&path) else {
            let refused = tickscope::server::start(config(&[path])).await.unwrap_err().to_string();
            assert!(refused.ends_with("write each schema to a file of its own"), "{refused}");
            continue;
        };
        seen.insert(schema.as_str());
        total += wanted.len();
        let running = serve(config(std::slice::from_ref(&path))).await;
        let mut client = Client::connect(&running).await;
        let table = schema.as_str().replace('-', "_");
        let tables = client.rows("tables()").await.unwrap();
        let time = if table.starts_with("ohlcv") { "ts_event" } else { "ts_recv" };
        assert_eq!(crate::files::texts(&tables, "designatedTimestamp"), [Some(time.to_owned())]);
        let mut rows = served(&client.rows(&format!("SELECT * FROM {table}")).await.unwrap());
        for row in &mut rows {
            assert!(row.remove("symbol").is_some(), "every table has a symbol");
        }
        if time == "ts_recv" {
            for row in &mut wanted {
                let (recv, event) = (row["ts_recv"].clone(), row["ts_event"].clone());
                row.insert("ts_recv".to_owned(), recv.or(event));
            }
        }
        wanted.sort_by_key(|row| row[time].as_ref().unwrap().parse::<i64>().unwrap());
        assert_eq!(rows.len(), wanted.len(), "{}", path.display());
        for (number, (row, wanted)) in rows.iter().zip(&wanted).enumerate() {
            assert_eq!(row, wanted, "{}, row {number}", path.display());
        }
    }
    let names = [
        "bbo-1m",
        "bbo-1s",
        "cbbo-1s",
        "cmbp-1",
        "definition",
        "imbalance",
        "mbo",
        "mbp-1",
        "mbp-10",
        "ohlcv-1h",
        "ohlcv-1m",
        "ohlcv-1s",
        "statistics",
        "status",
        "tbbo",
        "trades",
    ];
    assert_eq!(seen.into_iter().collect::<Vec<_>>(), names);
    assert_eq!(total, 80_143);
}
