//! What the store sends of a DBN file is what the file holds, cell by cell.

use std::path::PathBuf;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Decimal64Type, Int16Type, Int32Type};
use dbn::decode::{DbnDecoder, DecodeRecord as _};
use dbn::{HasRType, MboMsg, Mbp1Msg, Mbp10Msg, RecordHeader, UNDEF_PRICE, UNDEF_TIMESTAMP};

use crate::client::{Client, config, serve};
use crate::data;
use crate::files::{Folder, longs, nanos, texts, write};

fn data_file(test: &str, name: &str) -> Option<PathBuf> {
    let path = data::data_dir().map(|dir| dir.join("databento").join(name)).filter(|path| path.exists());
    if path.is_none() {
        data::skipped(test, &format!("{name} is not there (set TICKSCOPE_DATA)"));
    }
    path
}

fn records<T: HasRType<Header = RecordHeader> + Clone>(path: &PathBuf) -> Vec<T> {
    let mut decoder = DbnDecoder::from_zstd_file(path).unwrap();
    let mut all = Vec::new();
    while let Some(record) = decoder.decode_record::<T>().unwrap() {
        all.push(record.clone());
    }
    all
}

fn shorts(batches: &[RecordBatch], column: &str) -> Vec<i64> {
    batches
        .iter()
        .flat_map(|b| b.column_by_name(column).unwrap().as_primitive::<Int16Type>().values().iter().map(|v| i64::from(*v)).collect::<Vec<_>>())
        .collect()
}

fn ints(batches: &[RecordBatch], column: &str) -> Vec<i64> {
    batches
        .iter()
        .flat_map(|b| b.column_by_name(column).unwrap().as_primitive::<Int32Type>().values().iter().map(|v| i64::from(*v)).collect::<Vec<_>>())
        .collect()
}

fn prices(batches: &[RecordBatch], column: &str) -> Vec<Option<i64>> {
    batches
        .iter()
        .flat_map(|b| {
            let array = b.column_by_name(column).unwrap().as_primitive::<Decimal64Type>().clone();
            assert_eq!(array.scale(), 9);
            array.iter().collect::<Vec<_>>()
        })
        .collect()
}

fn letter(value: std::ffi::c_char) -> Option<String> {
    Some(char::from(value as u8).to_string())
}

fn check_mbo(batches: &[RecordBatch], records: &[MboMsg], symbol: &str) {
    let of = |value: fn(&MboMsg) -> i64| records.iter().map(value).collect::<Vec<_>>();
    assert!(nanos(batches, "ts_recv") == of(|r| if r.ts_recv == UNDEF_TIMESTAMP { r.hd.ts_event } else { r.ts_recv } as i64));
    assert!(nanos(batches, "ts_event") == of(|r| r.hd.ts_event as i64));
    assert!(shorts(batches, "rtype") == of(|r| r.hd.rtype.into()));
    assert!(ints(batches, "publisher_id") == of(|r| r.hd.publisher_id.into()));
    assert!(longs(batches, "instrument_id") == of(|r| r.hd.instrument_id.into()));
    assert!(texts(batches, "action") == records.iter().map(|r| letter(r.action)).collect::<Vec<_>>());
    assert!(texts(batches, "side") == records.iter().map(|r| letter(r.side)).collect::<Vec<_>>());
    assert!(prices(batches, "price") == records.iter().map(|r| (r.price != UNDEF_PRICE).then_some(r.price)).collect::<Vec<_>>());
    assert!(longs(batches, "size") == of(|r| r.size.into()));
    assert!(shorts(batches, "channel_id") == of(|r| r.channel_id.into()));
    assert!(longs(batches, "order_id") == of(|r| r.order_id as i64));
    assert!(shorts(batches, "flags") == of(|r| r.flags.raw().into()));
    assert!(ints(batches, "ts_in_delta") == of(|r| r.ts_in_delta.into()));
    assert!(longs(batches, "sequence") == of(|r| r.sequence.into()));
    assert!(texts(batches, "symbol") == vec![Some(symbol.to_owned()); records.len()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_es_day_is_sent_as_it_is_and_so_are_its_four_parquet_parts() {
    let test = "the_es_day_is_sent_as_it_is";
    let day = |day| data_file(test, &format!("es-mbo/esh4-glbx-mdp3-{day}.mbo.dbn.zst"));
    let (Some(first), Some(second)) = (day("20231224"), day("20231225")) else { return };
    let mut expected = records::<MboMsg>(&first);
    expected.extend(records::<MboMsg>(&second));
    let running = serve(config(&[first, second])).await;
    let batches = Client::connect(&running).await.rows("SELECT * FROM mbo").await.unwrap();
    check_mbo(&batches, &expected, "ESH4");

    // Parts of unequal length, cut inside ties, each a file of its own.
    let folder = Folder::new();
    let whole = datafusion::arrow::compute::concat_batches(&batches[0].schema(), &batches).unwrap();
    let cuts = [0, 8_000, 30_001, 50_002, whole.num_rows()];
    let files: Vec<PathBuf> = (0..4).map(|part| folder.file(&format!("es-{part}.parquet"))).collect();
    for (file, cut) in files.iter().zip(cuts.windows(2)) {
        write(file, &[whole.slice(cut[0], cut[1] - cut[0])]);
    }
    let running = serve(config(&files)).await;
    let mut client = Client::connect(&running).await;
    check_mbo(&client.rows("SELECT * FROM es").await.unwrap(), &expected, "ESH4");
    check_mbo(&client.rows("SELECT * FROM es ORDER BY ts_recv").await.unwrap(), &expected, "ESH4");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn depth_records_keep_their_levels() {
    let test = "depth_records_keep_their_levels";
    let (Some(one), Some(ten)) = (
        data_file(test, "es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst"),
        data_file(test, "glbx-esh1/test_data.mbp-10.dbn.zst"),
    ) else {
        return;
    };
    let (ones, tens) = (records::<Mbp1Msg>(&one), records::<Mbp10Msg>(&ten));
    // Two schemas are two tables.
    let running = serve(config(&[one, ten])).await;
    let mut client = Client::connect(&running).await;
    let batches = client.rows("SELECT * FROM mbp_1").await.unwrap();
    assert!(
        prices(&batches, "bid_px_00") == ones.iter().map(|r| (r.levels[0].bid_px != UNDEF_PRICE).then_some(r.levels[0].bid_px)).collect::<Vec<_>>()
    );
    assert!(longs(&batches, "ask_sz_00") == ones.iter().map(|r| i64::from(r.levels[0].ask_sz)).collect::<Vec<_>>());
    assert!(shorts(&batches, "depth") == ones.iter().map(|r| i64::from(r.depth)).collect::<Vec<_>>());
    assert!(shorts(&batches, "flags") == ones.iter().map(|r| i64::from(r.flags.raw())).collect::<Vec<_>>());
    let batches = client.rows("SELECT * FROM mbp_10").await.unwrap();
    for level in 0..10 {
        let bids: Vec<_> = tens.iter().map(|r| (r.levels[level].bid_px != UNDEF_PRICE).then_some(r.levels[level].bid_px)).collect();
        assert_eq!(prices(&batches, &format!("bid_px_{level:02}")), bids);
        let counts: Vec<_> = tens.iter().map(|r| i64::from(r.levels[level].ask_ct)).collect();
        assert_eq!(longs(&batches, &format!("ask_ct_{level:02}")), counts);
    }
    assert_eq!(texts(&batches, "symbol")[0].as_deref(), Some("ESH1"));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn versions_one_to_three_are_one_table() {
    let test = "versions_one_to_three_are_one_table";
    let mut files = Vec::new();
    for version in 1..=3 {
        let Some(file) = data_file(test, &format!("dbn-versions/test_data.mbo.v{version}.dbn.zst")) else { return };
        files.push(file);
    }
    let Some(raw) = data_file(test, "dbn-versions/test_data.mbo.dbn") else { return };
    files.push(raw);
    let running = serve(config(&files)).await;
    let rows = Client::connect(&running).await.rows("SELECT order_id, price, symbol FROM mbo").await.unwrap();
    let orders = longs(&rows, "order_id");
    assert_eq!(orders.len(), 8);
    // Two records four times over, and rows of equal time in the order of the files.
    assert_eq!(orders.iter().collect::<std::collections::HashSet<_>>().len(), 2);
    assert_eq!(texts(&rows, "symbol"), vec![Some("ESH1".to_owned()); 8]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_is_cut_short_is_named_with_its_record() {
    let test = "a_file_that_is_cut_short";
    let (Some(packed), Some(raw)) =
        (data_file(test, "es-mbo/esh4-glbx-mdp3-20231224.mbo.dbn.zst"), data_file(test, "dbn-versions/test_data.mbo.v3.dbn"))
    else {
        return;
    };
    let folder = Folder::new();
    for (source, cut, name) in [(packed, 20_000, "packed.dbn.zst"), (raw, 20, "raw.dbn")] {
        let bytes = std::fs::read(source).unwrap();
        let file = folder.file(name);
        std::fs::write(&file, &bytes[..bytes.len() - cut]).unwrap();
        let mut running = tickscope::server::start(config(&[file])).await.unwrap();
        let error = running.wait_imported().await.unwrap_err().to_string();
        assert!(error.contains(name) && error.contains("record "), "{error}");
        let (status, message) = Client::connect(&running).await.rows("SELECT * FROM mbo").await.unwrap_err();
        assert_eq!(status, 0x05);
        assert!(message.starts_with("[14] table mbo could not be imported: "), "{message}");
    }
}
