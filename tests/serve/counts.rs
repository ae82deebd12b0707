//! The rows of each second that are counted beside an import are those that a query over the table counts.

use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int32Type;
use arrow_array::{ArrayRef, RecordBatch, StringArray, TimestampMicrosecondArray, TimestampNanosecondArray, UInt16Array};
use tickscope::wire::status;

use crate::client::{Client, config, serve};
use crate::data;
use crate::files::{Folder, longs, nanos, numbered, texts, write};

type Counted = (i64, Option<String>, Option<i32>, i64);

fn counted(batches: &[RecordBatch], symbol: &str, number: Option<&str>) -> Vec<Counted> {
    let numbers: Vec<Option<i32>> = batches
        .iter()
        .flat_map(|batch| match number {
            Some(name) => batch.column_by_name(name).unwrap().as_primitive::<Int32Type>().iter().collect(),
            None => vec![None; batch.num_rows()],
        })
        .collect();
    let rows = nanos(batches, "second").into_iter().zip(texts(batches, symbol)).zip(numbers).zip(longs(batches, "event_count"));
    let mut rows: Vec<Counted> = rows.map(|(((second, symbol), number), count)| (second, symbol, number, count)).collect();
    rows.sort();
    rows
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_of_an_unsorted_table_equal_a_group_by_of_its_rows() {
    let folder = Folder::new();
    // Two parts out of order, times before 1970, ties over seams, three symbols and none, two publishers.
    let mut state = 7u64;
    let mut next = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let mut files = Vec::new();
    for part in 0..2 {
        let rows = 150_000;
        let times: Vec<i64> = (0..rows).map(|_| (next(40_000) as i64 - 20_000) * 250_000_000 + [0, 1, -1][next(3) as usize]).collect();
        let symbols: Vec<Option<&str>> = (0..rows).map(|_| [Some("A"), Some("B"), Some("a"), None][next(4) as usize]).collect();
        let publishers: Vec<u16> = (0..rows).map(|_| [1, 40_000][next(2) as usize]).collect();
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("ts", Arc::new(TimestampNanosecondArray::from(times))),
            ("Symbol", Arc::new(StringArray::from(symbols))),
            ("publisher_id", Arc::new(UInt16Array::from(publishers))),
        ];
        files.push(folder.file(&format!("ticks-{part}.parquet")));
        write(&files[part], &[RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()]);
    }
    let running = serve(config(&files)).await;
    let mut client = Client::connect(&running).await;
    let stored = client.rows("second_counts('ticks')").await.unwrap();
    assert!(nanos(&stored, "second").is_sorted());
    let asked = "SELECT date_trunc('second', ts) AS second, Symbol, publisher_id, count(*) AS event_count FROM ticks GROUP BY 1, 2, 3";
    let asked = counted(&client.rows(asked).await.unwrap(), "Symbol", Some("publisher_id"));
    assert_eq!(counted(&stored, "Symbol", Some("publisher_id")), asked);
    assert_eq!(asked.iter().map(|row| row.3).sum::<i64>(), 300_000);
    assert!(asked.iter().any(|row| row.0 < 0) && asked.iter().any(|row| row.1.is_none()));
    // A range of one instrument, as a histogram asks for it.
    let range = "SELECT second, Symbol, event_count FROM second_counts('ticks') WHERE second >= '1969-12-31T23:59:50Z' \
                 AND second < '1970-01-01T00:00:10Z' AND Symbol = 'B' AND publisher_id = 40000 ORDER BY second";
    let range = counted(&client.rows(range).await.unwrap(), "Symbol", None);
    assert_eq!(range.len(), 20);
    assert!(range.iter().all(|row| asked.iter().any(|all| (all.0, &all.1, all.2, all.3) == (row.0, &row.1, Some(40_000), row.3))));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn counts_of_the_es_day_add_up_to_its_rows() {
    let path = data::data_dir().map(|dir| dir.join("databento/es-mbo/esh4-glbx-mdp3-20231225.mbo.dbn.zst")).filter(|path| path.exists());
    let Some(path) = path else { return data::skipped("counts_of_the_es_day_add_up_to_its_rows", "the ES day is not there (set TICKSCOPE_DATA)") };
    let running = serve(config(&[path])).await;
    let mut client = Client::connect(&running).await;
    let stored = counted(&client.rows("second_counts('mbo')").await.unwrap(), "symbol", Some("publisher_id"));
    let asked = "SELECT date_trunc('second', ts_recv) AS second, symbol, publisher_id, count(*) AS event_count FROM mbo GROUP BY 1, 2, 3";
    assert_eq!(stored, counted(&client.rows(asked).await.unwrap(), "symbol", Some("publisher_id")));
    assert_eq!(stored.iter().map(|row| row.3).sum::<i64>(), 68_792);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tables_say_which_have_counts_and_the_others_refuse() {
    let folder = Folder::new();
    let (sorted, far) = (folder.file("sorted.parquet"), folder.file("far.parquet"));
    write(&sorted, &[numbered(&[1, 2], &[0, 1])]);
    // Out of order, and its second is past what nanoseconds hold.
    let times: ArrayRef = Arc::new(TimestampMicrosecondArray::from(vec![i64::MAX, 0]));
    write(&far, &[RecordBatch::try_from_iter(vec![("time", times)]).unwrap()]);
    let unsorted = folder.file("unsorted.parquet");
    let times: ArrayRef = Arc::new(TimestampNanosecondArray::from(vec![2_000_000_000, 1, 2]));
    write(&unsorted, &[RecordBatch::try_from_iter(vec![("time", times)]).unwrap()]);
    let running = serve(config(&[sorted, far, unsorted])).await;
    let mut client = Client::connect(&running).await;
    let tables = client.rows("SELECT table_name, has_counts FROM tables()").await.unwrap();
    let has: Vec<bool> = tables.iter().flat_map(|batch| batch.column(1).as_boolean().iter().collect::<Option<Vec<bool>>>().unwrap()).collect();
    assert_eq!(has, [false, false, true]);
    for (name, why) in [("sorted", "its file is read in place"), ("far", "it has no times, or some outside of what nanoseconds hold")] {
        let (code, text) = client.rows(&format!("second_counts('{name}')")).await.unwrap_err();
        assert_eq!(code, status::PARSE_ERROR);
        assert!(text.contains(&format!("the rows of each second of table {name} were not counted ({why})")), "{text}");
    }
    // Without a column that tells instruments apart, a second has one count.
    let rows = client.rows("SELECT * FROM second_counts('unsorted')").await.unwrap();
    assert_eq!((nanos(&rows, "second"), longs(&rows, "event_count")), (vec![0, 2_000_000_000], vec![2, 1]));
    let (_, text) = client.rows("SELECT * FROM second_counts('gone')").await.unwrap_err();
    assert!(text.contains("table does not exist [table=gone]"), "{text}");
}
