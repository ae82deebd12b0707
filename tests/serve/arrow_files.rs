//! Arrow IPC files: every stream of Arrow's own integration tests is served as its JSON has it, or refused by name; damaged ones
//! are one error.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal256Type, Float64Type, Int64Type};
use arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use arrow_ipc::CompressionType;
use arrow_ipc::writer::{DictionaryHandling, FileWriter, IpcWriteOptions, StreamWriter};
use arrow_schema::{DataType, TimeUnit};
use datafusion::arrow::compute::cast;
use serde_json::Value;
use tickscope::server;

use crate::client::{Client, config, serve};
use crate::data;
use crate::files::{Folder, longs, nanos, numbered, texts, write};

/// The text of each row; `None` for null.
type Cells = Vec<Option<String>>;

fn json(stream: &Path) -> Value {
    let packed = std::fs::File::open(stream.with_extension("json.gz")).unwrap();
    serde_json::from_reader(flate2::read::GzDecoder::new(packed)).unwrap()
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

fn float(text: &str) -> String {
    format!("{:?}", text.parse::<f64>().unwrap())
}

/// What a number of the type is multiplied by on its way to the wire.
fn factor(kind: &Value) -> i128 {
    match (kind["name"].as_str().unwrap(), kind["unit"].as_str().unwrap_or_default()) {
        ("date", "DAY") => 86_400_000,
        ("timestamp", "SECOND") | ("time", "MILLISECOND") => 1_000_000,
        ("timestamp", "MILLISECOND") | ("time", "MICROSECOND") => 1_000,
        ("time", "SECOND") => 1_000_000_000,
        _ => 1,
    }
}

/// The values of a column as Arrow's JSON has them, in the form of [`served`]; `None` where the type cannot be served.
fn expected(field: &Value, column: &Value, dictionaries: &BTreeMap<i64, Value>) -> Option<Cells> {
    let count = column["count"].as_u64().unwrap() as usize;
    let valid = |row: usize| column["VALIDITY"].as_array().is_none_or(|bits| bits[row] == 1);
    let kind = &field["type"];
    let name = kind["name"].as_str().unwrap();
    if let Some(id) = field["dictionary"]["id"].as_i64() {
        let mut values = field.clone();
        values.as_object_mut().unwrap().remove("dictionary");
        let values = expected(&values, &dictionaries[&id], dictionaries)?;
        let index = |row: usize| plain(&column["DATA"][row]).parse::<usize>().unwrap();
        return Some((0..count).map(|row| valid(row).then(|| values[index(row)].clone()).flatten()).collect());
    }
    let lists = |field: &Value, range: &dyn Fn(usize) -> (usize, usize)| -> Option<Cells> {
        let items = expected(field, &column["children"][0], dictionaries)?;
        let numbers = ["int", "floatingpoint", "list", "largelist", "fixedsizelist", "listview", "largelistview"];
        if !numbers.contains(&field["type"]["name"].as_str().unwrap()) {
            return None;
        }
        // What the wire's arrays have for null.
        let none = match field["type"]["name"].as_str() {
            Some("floatingpoint") => "NaN",
            Some("int") => "-9223372036854775808",
            _ => "null",
        };
        let list = |row| {
            let (start, end) = range(row);
            format!("[{}]", items[start..end].iter().map(|item| item.clone().unwrap_or_else(|| none.to_owned())).collect::<Vec<_>>().join(","))
        };
        Some((0..count).map(|row| valid(row).then(|| list(row))).collect())
    };
    let number = |value: &Value| plain(value).parse::<usize>().unwrap();
    let text = |row: usize| -> String {
        if let Some(view) = column["VIEWS"].get(row) {
            return match view["INLINED"].as_str() {
                Some(text) => text.to_owned(),
                None => {
                    let all = column["VARIADIC_DATA_BUFFERS"][number(&view["BUFFER_INDEX"])].as_str().unwrap();
                    let start = 2 * number(&view["OFFSET"]);
                    let hex = &all[start..start + 2 * number(&view["SIZE"])];
                    if name == "binaryview" {
                        return hex.to_owned();
                    }
                    let bytes = (0..hex.len()).step_by(2).map(|at| u8::from_str_radix(&hex[at..at + 2], 16).unwrap()).collect();
                    String::from_utf8(bytes).unwrap()
                }
            };
        }
        plain(&column["DATA"][row])
    };
    match name {
        "null" => Some(vec![None; count]),
        "list" | "largelist" => lists(&field["children"][0], &|row| (number(&column["OFFSET"][row]), number(&column["OFFSET"][row + 1]))),
        "listview" | "largelistview" => lists(&field["children"][0], &|row| {
            let start = number(&column["OFFSET"][row]);
            (start, start + number(&column["SIZE"][row]))
        }),
        "fixedsizelist" => {
            let size = number(&kind["listSize"]);
            lists(&field["children"][0], &|row| (row * size, (row + 1) * size))
        }
        "runendencoded" => {
            let values = expected(&field["children"][1], &column["children"][1], dictionaries)?;
            let ends: Vec<usize> = column["children"][0]["DATA"].as_array().unwrap().iter().map(number).collect();
            Some((0..count).map(|row| values[ends.partition_point(|&end| end <= row)].clone()).collect())
        }
        "struct" | "map" | "union" | "interval" => None,
        "bool" => Some((0..count).map(|row| valid(row).then(|| (text(row) == "true" || text(row) == "1").to_string())).collect()),
        "floatingpoint" => {
            let single =
                |text: String| if kind["precision"] == "SINGLE" { format!("{:?}", f64::from(text.parse::<f32>().unwrap())) } else { float(&text) };
            Some((0..count).map(|row| valid(row).then(|| single(text(row)))).collect())
        }
        "int" | "date" | "time" | "timestamp" | "duration" => {
            let scaled = |row| (text(row).parse::<i128>().unwrap() * factor(kind)).to_string();
            Some((0..count).map(|row| valid(row).then(|| scaled(row))).collect())
        }
        "binary" | "largebinary" | "fixedsizebinary" | "binaryview" => {
            Some((0..count).map(|row| valid(row).then(|| text(row).to_lowercase())).collect())
        }
        _ => Some((0..count).map(|row| valid(row).then(|| text(row))).collect()),
    }
}

fn served(array: &ArrayRef) -> Cells {
    let cells = |text: &dyn Fn(usize) -> String| (0..array.len()).map(|row| (!array.is_null(row)).then(|| text(row))).collect();
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    match array.data_type() {
        DataType::Boolean => cells(&|row| array.as_boolean().value(row).to_string()),
        DataType::Utf8 => cells(&|row| array.as_string::<i32>().value(row).to_owned()),
        DataType::Dictionary(..) => served(&cast(array, &DataType::Utf8).unwrap()),
        DataType::Binary => cells(&|row| hex(array.as_binary::<i32>().value(row))),
        DataType::FixedSizeBinary(_) => cells(&|row| hex(array.as_fixed_size_binary().value(row))),
        DataType::Float32 | DataType::Float64 => {
            let values = cast(array, &DataType::Float64).unwrap();
            cells(&|row| format!("{:?}", values.as_primitive::<Float64Type>().value(row)))
        }
        DataType::Decimal64(_, scale) | DataType::Decimal128(_, scale) | DataType::Decimal256(_, scale) => {
            let values = cast(array, &DataType::Decimal256(76, *scale)).unwrap();
            cells(&|row| values.as_primitive::<Decimal256Type>().value(row).to_string())
        }
        DataType::List(_) => cells(&|row| {
            let items = served(&array.as_list::<i32>().value(row));
            format!("[{}]", items.into_iter().map(|item| item.unwrap_or_else(|| "null".to_owned())).collect::<Vec<_>>().join(","))
        }),
        DataType::Timestamp(TimeUnit::Second, _) => panic!("the wire has no seconds"),
        _ => {
            let values = cast(array, &DataType::Int64).unwrap();
            cells(&|row| values.as_primitive::<Int64Type>().value(row).to_string())
        }
    }
}

fn streams() -> Option<Vec<PathBuf>> {
    let folder = data::data_dir()?.join("arrow-ipc");
    let mut all: Vec<PathBuf> = ["2.0.0-compression", "cpp-21.0.0"]
        .iter()
        .filter_map(|part| std::fs::read_dir(folder.join(part)).ok())
        .flat_map(|entries| entries.map(|entry| entry.unwrap().path()))
        .filter(|path| path.extension().is_some_and(|extension| extension == "stream"))
        .collect();
    all.sort();
    Some(all).filter(|all| !all.is_empty())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_integration_stream_is_served_as_its_json_or_refused_by_name() {
    let Some(streams) = streams() else {
        return data::skipped("every_integration_stream_is_served_as_its_json", "there are no Arrow streams (set TICKSCOPE_DATA)");
    };
    let folder = Folder::new();
    let beside = folder.file("beside.parquet");
    write(&beside, &[numbered(&[1], &[0])]);
    let (mut columns, mut cells, mut refused) = (0, 0, Vec::new());
    for stream in streams {
        let name = stream.file_stem().unwrap().to_string_lossy().into_owned();
        let json = json(&stream);
        let dictionaries = json["dictionaries"].as_array().into_iter().flatten();
        let dictionaries: BTreeMap<i64, Value> =
            dictionaries.map(|dictionary| (dictionary["id"].as_i64().unwrap(), dictionary["data"]["columns"][0].clone())).collect();
        let mut running = match server::start(config(&[stream.clone(), beside.clone()])).await {
            Ok(running) => running,
            Err(error) => {
                refused.push(error.to_string().split_once(": ").unwrap().1.to_owned());
                continue;
            }
        };
        running.wait_imported().await.unwrap_or_else(|error| panic!("{name}: {error}"));
        let mut client = Client::connect(&running).await;
        let note = texts(&client.rows("tables()").await.unwrap(), "note")[0].clone().unwrap_or_default();
        for (index, field) in json["schema"]["fields"].as_array().unwrap().iter().enumerate() {
            let column = field["name"].as_str().unwrap();
            let parts = json["batches"].as_array().unwrap().iter().map(|batch| expected(field, &batch["columns"][index], &dictionaries));
            let parts = parts.collect::<Option<Vec<_>>>();
            let left_out = note.contains(&format!("{column} ("));
            // Without a batch only the note tells.
            let known = parts.as_ref().is_none_or(|parts| !parts.is_empty());
            assert!(!known || parts.is_none() == left_out, "{name}.{column} in {note}");
            if left_out {
                refused.push(format!("{name}.{column}"));
                continue;
            }
            let mut wanted: Cells = parts.unwrap().into_iter().flatten().collect();
            let answer = client.rows(&format!("SELECT \"{column}\" FROM \"{name}\"")).await;
            let over = wanted
                .iter()
                .flatten()
                .any(|value| value.parse::<i128>().is_ok_and(|value| value > i64::MAX.into()) && field["type"]["isSigned"] == false);
            let nulls_in_lists = wanted.iter().flatten().any(|value| value.starts_with('[') && value.contains("null"));
            match answer {
                Ok(batches) => {
                    let got: Cells = batches.iter().flat_map(|batch| served(batch.column(0))).collect();
                    if batches[0].column(0).data_type() == &DataType::Int32 {
                        // BOOLEAN has no null on the wire: what may be null travels as INT.
                        for cell in wanted.iter_mut().flatten() {
                            *cell = cell.replace("true", "1").replace("false", "0");
                        }
                    }
                    assert_eq!(got, wanted, "{name}.{column}");
                    columns += 1;
                    cells += got.len();
                }
                Err((_, text)) => {
                    assert!(
                        text.contains(column) && (over || nulls_in_lists || field["type"]["name"].as_str().unwrap().contains("list")),
                        "{name}.{column}: {text}"
                    );
                    refused.push(format!("{name}.{column}: {text}"));
                }
            }
        }
    }
    assert_eq!((columns, cells, refused.len()), (244, 4_830, 11), "{refused:#?}");
}

fn ticks(first: i64, rows: i64) -> RecordBatch {
    let symbols = StringArray::from_iter_values((0..rows).map(|row| ["x", "é", ""][(row % 3) as usize]));
    let symbols = cast(&symbols, &DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::LargeUtf8))).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("ts", Arc::new(TimestampNanosecondArray::from_iter_values(first..first + rows))),
        ("n", Arc::new(Int64Array::from_iter_values(first..first + rows))),
        ("s", symbols),
    ];
    RecordBatch::try_from_iter(columns).unwrap()
}

fn options(compression: Option<CompressionType>) -> IpcWriteOptions {
    IpcWriteOptions::default().try_with_compression(compression).unwrap().with_dictionary_handling(DictionaryHandling::Delta)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_and_streams_are_served_compressed_sliced_and_with_growing_dictionaries() {
    let folder = Folder::new();
    let mut files = Vec::new();
    // One table: batches of all sizes and slices, in time order over both forms and all compressions.
    let mut next = 0;
    for (index, compression) in [None, Some(CompressionType::LZ4_FRAME), Some(CompressionType::ZSTD)].into_iter().enumerate() {
        let mut batches = Vec::new();
        for rows in [1, 2, 200_000, 7] {
            let whole = ticks(next - 3, rows + 5);
            batches.push(whole.slice(3, rows as usize));
            next += rows;
        }
        let path = folder.file(&format!("ticks-{index}.{}", if index == 0 { "arrows" } else { "arrow" }));
        let file = std::fs::File::create(&path).unwrap();
        if index == 0 {
            let mut writer = StreamWriter::try_new_with_options(file, &batches[0].schema(), options(compression)).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        } else {
            let mut writer = FileWriter::try_new_with_options(file, &batches[0].schema(), options(compression)).unwrap();
            batches.iter().for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        files.push(path);
    }
    let running = serve(config(&files)).await;
    let rows = Client::connect(&running).await.rows("SELECT * FROM ticks").await.unwrap();
    assert!(nanos(&rows, "ts").into_iter().eq(0..next) && longs(&rows, "n").into_iter().eq(0..next));
    assert_eq!(texts(&rows, "s").iter().filter(|text| text.as_deref() == Some("é")).count() as i64, {
        let mut count = 0;
        for _ in 0..3 {
            for rows in [1i64, 2, 200_000, 7] {
                count += (0..rows).filter(|row| (row + 3) % 3 == 1).count() as i64;
            }
        }
        count
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_damaged_file_is_one_error_wherever_it_is_cut_or_changed() {
    let folder = Folder::new();
    let batch = ticks(0, 50);
    for (form, compression) in
        [("arrows", None), ("arrow", None), ("arrow", Some(CompressionType::ZSTD)), ("arrows", Some(CompressionType::LZ4_FRAME))]
    {
        let mut whole = Vec::new();
        if form == "arrow" {
            let mut writer = FileWriter::try_new_with_options(&mut whole, &batch.schema(), options(compression)).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        } else {
            let mut writer = StreamWriter::try_new_with_options(&mut whole, &batch.schema(), options(compression)).unwrap();
            writer.write(&batch).unwrap();
            writer.finish().unwrap();
        }
        let mut state = 11u64;
        for case in 0..60 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            let at = 8 + (state >> 33) as usize % (whole.len() - 8);
            let mut bytes = whole.clone();
            match case % 3 {
                0 => bytes.truncate(at),
                1 => bytes[at] ^= 1 << (state % 8),
                _ => {
                    let end = (at + 8).min(bytes.len());
                    bytes[at..end].fill(if state.is_multiple_of(2) { 0xFF } else { 0x7F });
                }
            }
            let file = folder.file(&format!("case.{form}"));
            std::fs::write(&file, &bytes).unwrap();
            // It is served as far as anyone can tell, or it is one error that names the file; the server lives on in both cases.
            let error = match server::start(config(std::slice::from_ref(&file))).await {
                Err(error) => Some(error),
                Ok(mut running) => {
                    let error = running.wait_imported().await.err();
                    assert_eq!(Client::connect(&running).await.rows("SELECT 1 AS one").await.unwrap()[0].num_rows(), 1);
                    error
                }
            };
            if let Some(error) = error {
                let text = error.to_string();
                assert!(!text.contains('\n') && (text.contains("case") || text.contains("column")), "{text}");
                assert!(!text.contains("importing failed"), "{text}");
            }
        }
    }
}
