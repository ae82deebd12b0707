//! Text files: each layout by two rows written here, types and values as they come back over the wire; what is refused, in which
//! words; packed files; real samples of vendors.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal64Type, Decimal128Type, Decimal256Type, Float64Type, Int16Type, Int32Type, Int64Type, TimestampNanosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use datafusion::arrow::compute::concat_batches;
use dbn::MboMsg;
use dbn::decode::{DbnDecoder, DecodeRecord as _};
use dbn::encode::EncodeRecordTextExt as _;
use dbn::encode::csv::EncoderBuilder;
use tickscope::server::{self, CachePlace, Config};

use crate::client::{Client, config, serve};
use crate::data;
use crate::files::Folder;

/// The type of a column in a word, and its values.
fn cells(array: &ArrayRef) -> (String, Vec<String>) {
    let cells = |text: &dyn Fn(usize) -> String| -> Vec<String> {
        (0..array.len()).map(|row| if array.is_null(row) { "-".to_owned() } else { text(row) }).collect()
    };
    match array.data_type() {
        DataType::Boolean => ("bool".to_owned(), cells(&|row| array.as_boolean().value(row).to_string())),
        DataType::Int16 => ("i16".to_owned(), cells(&|row| array.as_primitive::<Int16Type>().value(row).to_string())),
        DataType::Int32 => ("i32".to_owned(), cells(&|row| array.as_primitive::<Int32Type>().value(row).to_string())),
        DataType::Int64 => ("i64".to_owned(), cells(&|row| array.as_primitive::<Int64Type>().value(row).to_string())),
        DataType::Utf8 => ("text".to_owned(), cells(&|row| array.as_string::<i32>().value(row).to_owned())),
        DataType::Dictionary(..) => {
            let symbols = array.as_any_dictionary();
            let (keys, values) = (symbols.normalized_keys(), symbols.values().as_string::<i32>().clone());
            ("symbol".to_owned(), cells(&|row| values.value(keys[row]).to_owned()))
        }
        DataType::Decimal64(_, scale) => (format!("d64.{scale}"), cells(&|row| array.as_primitive::<Decimal64Type>().value_as_string(row))),
        DataType::Decimal128(_, scale) => (format!("d128.{scale}"), cells(&|row| array.as_primitive::<Decimal128Type>().value_as_string(row))),
        DataType::Decimal256(_, scale) => (format!("d256.{scale}"), cells(&|row| array.as_primitive::<Decimal256Type>().value_as_string(row))),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            ("ns".to_owned(), cells(&|row| array.as_primitive::<TimestampNanosecondType>().value(row).to_string()))
        }
        DataType::List(_) => ("f64s".to_owned(), cells(&|row| floats(&array.as_list::<i32>().value(row)))),
        other => panic!("{other}"),
    }
}

/// An array as it is written in a file.
fn floats(array: &ArrayRef) -> String {
    let items: Vec<String> = match array.as_list_opt::<i32>() {
        Some(rows) => (0..rows.len()).map(|row| floats(&rows.value(row))).collect(),
        None => array.as_primitive::<Float64Type>().values().iter().map(f64::to_string).collect(),
    };
    format!("[{}]", items.join(","))
}

/// A column in words: its type, then the value of each row.
fn column(name: &str, array: &ArrayRef) -> String {
    let (kind, cells) = cells(array);
    format!("{name} {kind} {}", cells.join(" "))
}

/// What a table holds, a column a line, its time column first.
async fn shown(files: &[PathBuf]) -> String {
    let running = serve(config(files)).await;
    let mut client = Client::connect(&running).await;
    let tables = client.rows("tables()").await.unwrap();
    let table = crate::files::texts(&tables, "table_name")[0].clone().unwrap();
    let time = crate::files::texts(&tables, "designatedTimestamp")[0].clone().unwrap();
    let batches = client.rows(&format!("SELECT * FROM \"{table}\"")).await.unwrap();
    let batch = concat_batches(&batches[0].schema(), &batches).unwrap();
    let schema = batch.schema();
    let columns = schema.fields().iter().zip(batch.columns()).map(|(field, array)| column(field.name(), array));
    std::iter::once(format!("by {time}")).chain(columns).collect::<Vec<_>>().join("\n")
}

/// Why a file is refused, without the folder.
async fn refusal(file: &Path) -> String {
    let error = match server::start(config(&[file.to_owned()])).await {
        Err(error) => error,
        Ok(mut running) => running.wait_imported().await.expect_err("it is refused"),
    };
    let text = error.to_string();
    assert!(!text.contains('\n'), "{text}");
    text.rsplit_once('/').map_or(text.clone(), |(_, rest)| rest.to_owned())
}

fn written(folder: &Folder, name: &str, text: impl AsRef<[u8]>) -> PathBuf {
    let path = folder.file(name);
    std::fs::write(&path, text).unwrap();
    path
}

/// Checks the fixtures of a file: `## NAME`, the text of the file, a line `=>`, what the table holds.
async fn check_fixtures(fixtures: &str) {
    let mut count = 0;
    for fixture in fixtures.split("\n## ").skip(1) {
        let (name, rest) = fixture.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n=>\n").unwrap();
        let folder = Folder::new();
        let file = written(&folder, name, format!("{text}\n"));
        assert_eq!(shown(&[file]).await, expected.trim_end(), "{name}");
        count += 1;
    }
    assert!(count > 5);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_layout_comes_back_exactly() {
    check_fixtures(include_str!("csv_layouts.txt")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_is_ambiguous_or_broken_is_named_with_its_place() {
    let folder = Folder::new();
    let cases = include_str!("csv_refusals.txt");
    let mut count = 0;
    for case in cases.split("\n## ").skip(1) {
        let (name, rest) = case.split_once('\n').unwrap();
        let (text, expected) = rest.split_once("\n=>\n").unwrap();
        let file = written(&folder, name, text);
        assert_eq!(refusal(&file).await, expected.trim_end(), "{text}");
        count += 1;
    }
    assert!(count > 20);
    let latin = written(&folder, "latin.csv", b"ts,name\n2024-05-08T09:30:00Z,caf\xE9\n");
    assert_eq!(refusal(&latin).await, "latin.csv: line 2: its byte 25 is not UTF-8: convert the file to UTF-8");
    let wide = written(&folder, "wide.csv", b"\xFF\xFEt\0s\0,\0x\0\n\0");
    assert_eq!(refusal(&wide).await, "wide.csv: it is UTF-16: convert it to UTF-8");
}

/// A gzip of several members, a zstd of several frames, zips as they come: sizes before and behind the member, and not compressed.
fn packings(text: &[u8]) -> Vec<(&'static str, Vec<u8>)> {
    let (front, back) = text.split_at(text.len() / 3);
    let gzip = |part: &[u8]| {
        let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(6));
        encoder.write_all(part).unwrap();
        encoder.finish().unwrap()
    };
    let frame = |part: &[u8]| zstd::encode_all(part, 3).unwrap();
    vec![
        ("gz", [gzip(front), gzip(back)].concat()),
        ("zst", [frame(front), frame(back)].concat()),
        ("zip", zip(&[("a.csv", text)], true, false)),
        ("behind.zip", zip(&[("a.csv", text)], true, true)),
        ("stored.zip", zip(&[("a.csv", text)], false, false)),
    ]
}

fn zip(members: &[(&str, &[u8])], deflate: bool, behind: bool) -> Vec<u8> {
    let mut all = Vec::new();
    let mut directory = Vec::new();
    for (name, text) in members {
        let offset = all.len() as u32;
        let packed = match deflate {
            true => {
                let mut encoder = flate2::write::DeflateEncoder::new(Vec::new(), flate2::Compression::new(6));
                encoder.write_all(text).unwrap();
                encoder.finish().unwrap()
            }
            false => text.to_vec(),
        };
        let mut crc = flate2::Crc::new();
        crc.update(text);
        let sizes = [crc.sum(), packed.len() as u32, text.len() as u32].map(u32::to_le_bytes).concat();
        let shared = |sizes: &[u8]| {
            let mut header = vec![20, 0, if behind { 8 } else { 0 }, 0, if deflate { 8 } else { 0 }, 0, 0, 0, 0, 0];
            header.extend_from_slice(sizes);
            header.extend_from_slice(&(name.len() as u16).to_le_bytes());
            header
        };
        all.extend_from_slice(b"PK\x03\x04");
        all.extend(shared(if behind { &[0; 12] } else { &sizes }));
        all.extend_from_slice(&[0, 0]);
        all.extend_from_slice(name.as_bytes());
        all.extend_from_slice(&packed);
        if behind {
            all.extend_from_slice(b"PK\x07\x08");
            all.extend_from_slice(&sizes);
        }
        directory.extend_from_slice(b"PK\x01\x02\x14\x00");
        directory.extend(shared(&sizes));
        directory.extend_from_slice(&[0; 12]);
        directory.extend_from_slice(&offset.to_le_bytes());
        directory.extend_from_slice(name.as_bytes());
    }
    let start = all.len() as u32;
    all.extend_from_slice(&directory);
    all.extend_from_slice(b"PK\x05\x06\0\0\0\0");
    all.extend([members.len() as u16; 2].map(u16::to_le_bytes).concat());
    all.extend([directory.len() as u32, start].map(u32::to_le_bytes).concat());
    all.extend_from_slice(&[0, 0]);
    all
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_packed_file_is_read_as_the_plain_one_and_a_damaged_one_is_refused() {
    let folder = Folder::new();
    let mut text = b"\xEF\xBB\xBFts,price,note\r\n".to_vec();
    for row in 0..5_000 {
        text.extend_from_slice(format!("{},{}.25,\"n,{}\"\r\n", 1_715_160_600_000u64 + row, row, row % 7).as_bytes());
    }
    let plain = shown(&[written(&folder, "ticks.csv", &text)]).await;
    assert!(plain.starts_with("by ts\nts ns 1715160600000000000 ") && plain.contains("note symbol n,0 n,1 "), "{plain:.200}");
    for (name, packed) in packings(&text) {
        // The content decides, not the name.
        assert!(shown(&[written(&folder, &format!("{name}.csv"), &packed)]).await == plain, "{name}");
        let cut = written(&folder, &format!("cut.{name}"), &packed[..packed.len() - packed.len() / 4]);
        let problem = refusal(&cut).await;
        assert!(problem.ends_with("the file is cut short: its compressed data ends in the middle"), "{name}: {problem}");
        let mut wrong = packed.clone();
        let middle = wrong.len() / 2;
        wrong[middle] ^= 0xFF;
        let problem = refusal(&written(&folder, &format!("wrong.{name}"), &wrong)).await;
        assert!(problem.starts_with(&format!("wrong.{name}: ")), "{name}: {problem}");
    }
    let two = zip(&[("a.csv", &text), ("b.csv", &text)], true, false);
    assert_eq!(refusal(&written(&folder, "two.zip", two)).await, "two.zip: it holds several members: unpack it, and name the files");
    let long = "x".repeat(9_000);
    let named = zip(&[(&long, &text)], true, false);
    let problem = refusal(&written(&folder, "named.zip", named)).await;
    assert_eq!(problem, "named.zip: the name and extra fields of its member have 9000 bytes: at most 8192 are read");
    let mut secret = zip(&[("a.csv", &text)], true, false);
    secret[6] |= 1;
    assert_eq!(refusal(&written(&folder, "secret.zip", secret)).await, "secret.zip: its member is encrypted: unpack it first");
    assert_eq!(refusal(&written(&folder, "none.zip", zip(&[], true, false))).await, "none.zip: it is a zip without a member");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_of_one_header_are_one_table_whose_types_hold_all_and_ties_keep_their_order() {
    let folder = Folder::new();
    let first = written(&folder, "day-1.csv", "ts,price,size,n\n1715160600,5,1,0\n1715160600,7,2,1\n1715160602,7,2,2\n");
    let second =
        written(&folder, "day-2.csv.gz", &packings(b"ts\tprice\tsize\tn\n1715160601\t5.125\t\t3\n1715160600\t-1e-4\t18446744073709551615\t4\n")[0].1);
    assert_eq!(
        shown(&[first, second]).await,
        "by ts\nts ns 1715160600000000000 1715160600000000000 1715160600000000000 1715160601000000000 1715160602000000000\n\
         price d64.4 5.0000 7.0000 -0.0001 5.1250 7.0000\nsize d128.0 1 2 18446744073709551615 - 2\nn i64 0 1 4 3 2"
    );
    // A value that decides against another file is named in its own file.
    let third = written(&folder, "day-3.csv", "ts,price,size,n\n1715160600000,5,1,0\n");
    let error = server::start(config(&[folder.file("day-1.csv"), third])).await.expect_err("it is refused").to_string();
    assert!(error.ends_with("day-3.csv: line 2, column ts: \"1715160600000\" are milliseconds since 1970, but \"1715160600\" of line 2 are seconds: write all in one unit"), "{error}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_book_of_lobster_has_the_times_of_the_messages_beside_it() {
    let folder = Folder::new();
    let name = |kind: &str| format!("AAPL_2012-06-21_34200000_57600000_{kind}_1.csv");
    let messages = written(&folder, &name("message"), "34200.004241176,1,16113575,18,5853300,1\n34200.00426064,1,16113584,18,5853200,1\n");
    let book = written(&folder, &name("orderbook"), "5859400,200,5853300,18\n9999999999,0,5853300,18\n");
    assert_eq!(
        shown(std::slice::from_ref(&book)).await,
        "by time\ntime ns 1340285400004241176 1340285400004260640\nask_price_1 d64.4 585.9400 -\nask_size_1 i64 200 0\n\
         bid_price_1 d64.4 585.3300 585.3300\nbid_size_1 i64 18 18\nsymbol symbol AAPL AAPL"
    );
    std::fs::write(&messages, "34200.004241176,1,16113575,18,5853300,1\n").unwrap();
    let problem = refusal(&book).await;
    assert!(problem.starts_with("AAPL_2012-06-21_34200000_57600000_message_1.csv, which has their times"), "{problem}");
    std::fs::remove_file(messages).unwrap();
    let missing = "the times of its rows stand in AAPL_2012-06-21_34200000_57600000_message_1.csv, which is not beside it: put it there";
    assert_eq!(refusal(&book).await, format!("{}: {missing}", name("orderbook")));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn times_without_a_zone_are_utc_and_the_catalogue_says_so() {
    let folder = Folder::new();
    for (name, time, note) in
        [("bare.csv", "2024-05-08T09:30:00", Some("ts without a zone: read as UTC".to_owned())), ("zoned.csv", "2024-05-08T09:30:00+00:00", None)]
    {
        let file = written(&folder, name, format!("ts,price\n{time},5\n"));
        assert_eq!(shown(std::slice::from_ref(&file)).await, "by ts\nts ns 1715160600000000000\nprice i64 5");
        let running = serve(config(&[file])).await;
        let tables = Client::connect(&running).await.rows("tables()").await.unwrap();
        assert_eq!(crate::files::texts(&tables, "note"), [note], "{name}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_column_that_is_asked_to_order_the_table_may_have_any_name() {
    let folder = Folder::new();
    let file = written(&folder, "odd.csv", "epoch,price\n1715160600123,5\n1715160600,6\n");
    let asked = Config { time_column: Some("epoch".to_owned()), ..config(std::slice::from_ref(&file)) };
    let error = server::start(asked.clone()).await.expect_err("its units differ").to_string();
    assert!(error.contains("odd.csv: line 3, column epoch: ") && error.contains("write all in one unit"), "{error}");
    std::fs::write(&file, "epoch,price\n1715160600123,5\n1715160600124,6\n").unwrap();
    let running = serve(asked).await;
    let batches = Client::connect(&running).await.rows("SELECT * FROM odd").await.unwrap();
    assert_eq!(column("epoch", batches[0].column(0)), "epoch ns 1715160600123000000 1715160600124000000");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn types_are_remembered_until_a_file_changes() {
    let folder = Folder::new();
    let file = written(&folder, "ticks.csv", "ts,price\n1715160600,5\n");
    let mut config = config(std::slice::from_ref(&file));
    config.cache = CachePlace::Dir(folder.file("cache"));
    let price = async |config: &Config| {
        let running = serve(config.clone()).await;
        let batches = Client::connect(&running).await.rows("SELECT price FROM ticks").await.unwrap();
        column("price", batches[0].column(0))
    };
    assert_eq!(price(&config).await, "price i64 5");
    let types = || {
        std::fs::read_dir(folder.file("cache"))
            .unwrap()
            .filter(|entry| entry.as_ref().unwrap().path().extension().is_some_and(|e| e == "types"))
            .count()
    };
    assert_eq!(types(), 1);
    assert_eq!(price(&config).await, "price i64 5");
    assert_eq!(types(), 1);
    std::fs::write(&file, "ts,price\n1715160600,5.5\n").unwrap();
    assert_eq!(price(&config).await, "price d64.1 5.5");
    assert_eq!(types(), 2);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn samples_of_vendors_are_read_as_they_are() {
    let test = "samples_of_vendors_are_read_as_they_are";
    let Some(folder) = data::data_dir().filter(|dir| dir.join("tardis").is_dir() && dir.join("lobster").is_dir()) else {
        return data::skipped(test, "there are no samples of Tardis and LOBSTER (set TICKSCOPE_DATA)");
    };
    for (file, rows, start) in [
        ("tardis/binance-futures_book_snapshot_25_BTCUSDT.csv", 10, "by local_timestamp\nexchange symbol binance-futures "),
        ("tardis/binance-futures_book_snapshot_5_BTCUSDT.csv", 10, "by local_timestamp\nexchange symbol binance-futures "),
        ("tardis/bitmex_trades_XBTUSD.csv", 10, "by local_timestamp\nexchange symbol bitmex "),
        ("tardis/deribit_incremental_book_L2_BTC-PERPETUAL.csv", 15, "by local_timestamp\nexchange symbol deribit "),
        ("tardis/huobi-dm-swap_quotes_BTC-USD.csv", 10, "by local_timestamp\nexchange symbol huobi-dm-swap "),
        ("lobster/AAPL_2012-06-21_34200000_57600000_message_10.rows-1-600.csv", 600, "by time\ntime ns 1340285400004241176 1340285400004260640 "),
        ("lobster/AAPL_2012-06-21_34200000_57600000_orderbook_10.rows-1-600.csv", 600, "by time\ntime ns 1340285400004241176 1340285400004260640 "),
        ("bitstamp-l3/trades.csv", 284, "by timestamp\ntrade_id i64 568694537 "),
        ("bitstamp-l3/orders.csv.gz", 314_057, "by timestamp\nid i64 "),
    ] {
        let path = folder.join(file);
        if !path.exists() {
            continue;
        }
        let shown = shown(&[path]).await;
        assert!(shown.starts_with(start), "{file}: {shown:.300}");
        assert_eq!(shown.lines().nth(1).unwrap().split(' ').count() - 2, rows, "{file}");
    }
}

/// The CSV that Databento writes of records: integers, or decimals and ISO times.
fn databento_csv(records: &[MboMsg], pretty: bool) -> Vec<u8> {
    let mut text = Vec::new();
    let builder = EncoderBuilder::new(&mut text).use_pretty_px(pretty).use_pretty_ts(pretty).with_symbol(true).schema(Some(dbn::Schema::Mbo));
    let mut encoder = builder.build().unwrap();
    for record in records {
        encoder.encode_record_with_sym(record, Some("ESH4")).unwrap();
    }
    drop(encoder);
    text
}

fn es_day(test: &str) -> Option<(PathBuf, Vec<MboMsg>)> {
    let file = data::data_dir().map(|dir| dir.join("databento/es-mbo/esh4-glbx-mdp3-20231225.mbo.dbn.zst")).filter(|path| path.exists());
    let Some(file) = file else {
        data::skipped(test, "the ES day is not there (set TICKSCOPE_DATA)");
        return None;
    };
    let mut decoder = DbnDecoder::from_zstd_file(&file).unwrap();
    let mut records = Vec::new();
    while let Some(record) = decoder.decode_record::<MboMsg>().unwrap() {
        records.push(record.clone());
    }
    Some((file, records))
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_es_day_as_csv_has_the_rows_of_its_dbn() {
    let Some((file, records)) = es_day("the_es_day_as_csv_has_the_rows_of_its_dbn") else { return };
    let folder = Folder::new();
    let rows = async |file: PathBuf, table: &str| {
        let running = serve(config(&[file])).await;
        let batches = Client::connect(&running).await.rows(&format!("SELECT * FROM {table}")).await.unwrap();
        concat_batches(&batches[0].schema(), &batches).unwrap()
    };
    let expected = rows(file, "mbo").await;
    assert_eq!(expected.num_rows(), records.len());
    for pretty in [false, true] {
        let csv = written(&folder, "es.csv", databento_csv(&records, pretty));
        let batch = rows(csv, "es").await;
        assert_eq!(batch.num_columns(), expected.num_columns());
        for (field, column) in expected.schema().fields().iter().zip(expected.columns()) {
            let (kind, values) = cells(batch.column_by_name(field.name()).unwrap());
            assert!(values == cells(column).1, "{} as {kind}", field.name());
        }
        assert_eq!(cells(batch.column_by_name("price").unwrap()).0, "d64.9");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn mangled_files_are_served_or_refused() {
    let folder = Folder::new();
    let mut text = b"ts,price,side,note,flag\n".to_vec();
    for row in 0..40 {
        text.extend_from_slice(format!("{}.123456789,{row}.25,{},\"a,\"\"{row}\",true\n", 1_715_160_600 + row, ["bid", "ask"][row % 2]).as_bytes());
    }
    let lobster = b"34200.004241176,1,16113575,18,5853300,1\n34200.00426064,7,0,0,-1,-1\n".to_vec();
    let mut subjects = vec![("plain.csv".to_owned(), text.clone()), ("AAPL_2012-06-21_34200000_57600000_message_10.csv".to_owned(), lobster)];
    subjects.extend(packings(&text).into_iter().map(|(name, packed)| (name.to_owned(), packed)));
    // A linear congruential generator with a fixed seed.
    let mut state = 20_240_508u64;
    let mut below = |limit: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % limit
    };
    let (mut kept, mut refused) = (0, 0);
    for _ in 0..60 {
        for (name, original) in &subjects {
            let mut bytes = original.clone();
            for _ in 0..=below(3) {
                let at = below(bytes.len());
                let strange = b"\",\n\r;0-.eE\0\xFF\t9Z";
                bytes[at] = if below(2) == 0 { strange[below(strange.len())] } else { below(256) as u8 };
            }
            if below(3) == 0 {
                bytes.truncate(below(bytes.len()).max(1));
            }
            let file = written(&folder, name, &bytes);
            let error = match server::start(config(&[file])).await {
                Err(error) => Some(error),
                Ok(mut running) => running.wait_imported().await.err(),
            };
            match error.map(|error| error.to_string()) {
                None => kept += 1,
                Some(problem) => {
                    assert!(!problem.contains("gave up on") && !problem.contains('\n'), "{problem}");
                    refused += 1;
                }
            }
        }
    }
    assert!(kept > 5 && refused > 100, "{kept} {refused}");
}
