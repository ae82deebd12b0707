//! Tables while they are imported, after a restart, and when their file changes.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use tickscope::server::{self, CachePlace};
use tickscope::wire::status;

use crate::client::{Client, config, serve};
use crate::files::{Folder, longs, nanos, numbered, texts, write};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_that_is_being_imported_says_so() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    let numbers: Vec<i64> = (0..2_000_000).rev().collect();
    write(&file, &[numbered(&numbers, &numbers)]);
    let mut running = server::start(config(&[file])).await.unwrap();
    let mut client = Client::connect(&running).await;
    let (code, text) = client.rows("SELECT * FROM ticks").await.unwrap_err();
    assert_eq!(code, status::PARSE_ERROR);
    assert!(text.starts_with("[14] table ticks is being imported: ") && text.contains(" % read"), "{text}");
    let tables = client.rows("tables()").await.unwrap();
    assert_eq!(texts(&tables, "designatedTimestamp"), [Some("ts".to_owned())]);
    assert!(texts(&tables, "note")[0].as_ref().unwrap().starts_with("being imported: "));
    assert_eq!(client.rows("table_columns('ticks')").await.unwrap()[0].num_rows(), 3);
    running.wait_imported().await.unwrap();
    let rows = client.rows("SELECT * FROM ticks").await.unwrap();
    assert!(longs(&rows, "n").into_iter().eq(0..2_000_000));
    assert_eq!(texts(&client.rows("tables()").await.unwrap(), "note"), [None]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_import_is_remembered_until_its_file_changes() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    write(&file, &[numbered(&[3, 2, 1], &[0, 1, 2])]);
    let mut config = config(std::slice::from_ref(&file));
    config.cache = CachePlace::Dir(folder.file("cache"));
    let running = serve(config.clone()).await;
    assert_eq!(longs(&Client::connect(&running).await.rows("SELECT n FROM ticks").await.unwrap(), "n"), [2, 1, 0]);
    drop(running);
    // There from the first request on, without an import.
    let running = server::start(config.clone()).await.unwrap();
    assert_eq!(longs(&Client::connect(&running).await.rows("SELECT n FROM ticks").await.unwrap(), "n"), [2, 1, 0]);
    drop(running);
    write(&file, &[numbered(&[3, 2, 1, 0], &[0, 1, 2, 3])]);
    let running = serve(config).await;
    assert_eq!(longs(&Client::connect(&running).await.rows("SELECT n FROM ticks").await.unwrap(), "n"), [3, 2, 1, 0]);
    let names: Vec<_> = std::fs::read_dir(folder.file("cache")).unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert!(names.iter().all(|name| !name.to_string_lossy().starts_with("unfinished")), "{names:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_read_in_place_must_not_change() {
    let folder = Folder::new();
    let file = folder.file("ticks é 100%.parquet");
    write(&file, &[numbered(&[1, 2], &[0, 1])]);
    let running = serve(config(std::slice::from_ref(&file))).await;
    let mut client = Client::connect(&running).await;
    let name = texts(&client.rows("tables()").await.unwrap(), "table_name")[0].clone().unwrap();
    assert_eq!(name, "ticks_100");
    assert_eq!(longs(&client.rows("SELECT n FROM ticks_100").await.unwrap(), "n"), [0, 1]);
    write(&file, &[numbered(&[2, 1, 0], &[0, 1, 2])]);
    let (code, text) = client.rows("SELECT n FROM ticks_100").await.unwrap_err();
    assert_eq!(code, status::INTERNAL_ERROR);
    assert!(text.contains("changed since it was opened"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_row_without_time_is_refused_by_its_number() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    let times: ArrayRef = Arc::new(arrow_array::TimestampMicrosecondArray::from(vec![Some(1), Some(2), None]));
    write(&file, &[RecordBatch::try_from_iter(vec![("time", times)]).unwrap()]);
    let mut running = server::start(config(&[file])).await.unwrap();
    let text = running.wait_imported().await.unwrap_err().to_string();
    assert!(text.ends_with("ticks.parquet, record 2: time is null, so the row has no place in time"), "{text}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_table_without_times_is_served_beside_one_with_and_says_why_it_has_no_order() {
    let folder = Folder::new();
    let timeless: Vec<(&str, ArrayRef)> = vec![("n", Arc::new(Int64Array::from(vec![7, 5])))];
    write(&folder.file("codes.parquet"), &[RecordBatch::try_from_iter(timeless).unwrap()]);
    write(&folder.file("ticks.parquet"), &[numbered(&[1, 2], &[0, 1])]);
    let running = serve(config(&[folder.file("codes.parquet"), folder.file("ticks.parquet")])).await;
    let mut client = Client::connect(&running).await;
    let tables = client.rows("SELECT * FROM tables() ORDER BY table_name").await.unwrap();
    assert_eq!(texts(&tables, "designatedTimestamp"), [None, Some("ts".to_owned())]);
    assert_eq!(texts(&tables, "note"), [Some("none of its columns is a timestamp".to_owned()), None]);
    assert_eq!(longs(&client.rows("SELECT n FROM codes").await.unwrap(), "n"), [7, 5]);
    assert_eq!(nanos(&client.rows("SELECT ts FROM ticks").await.unwrap(), "ts"), [1, 2]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_cache_is_listed_and_cleared_but_for_what_a_server_reads() {
    let folder = Folder::new();
    let (sorted, unsorted) = (folder.file("sorted.parquet"), folder.file("unsorted.parquet"));
    write(&sorted, &[numbered(&[1, 2], &[0, 1])]);
    write(&unsorted, &[numbered(&[3, 2, 1], &[0, 1, 2])]);
    let place = CachePlace::Dir(folder.file("cache"));
    let report = || server::cache_report(&place).unwrap();
    assert!(report().contains("nothing is kept here"));
    // Two servers import the same at once, and both have it.
    let mut other = config(std::slice::from_ref(&unsorted));
    other.cache = place.clone();
    let (one, two) = tokio::join!(serve(other.clone()), serve(other.clone()));
    for running in [&one, &two] {
        assert_eq!(longs(&Client::connect(running).await.rows("SELECT n FROM unsorted").await.unwrap(), "n"), [2, 1, 0]);
    }
    other.files = vec![sorted.clone()];
    serve(other).await.stop().await;
    let listed = report();
    assert!(listed.contains("unsorted.parquet\n") && listed.contains("sorted.parquet (in order, read where it is)"), "{listed}");
    assert!(!listed.contains("stale"), "{listed}");
    // What is read stays, by name and in all; what is not goes.
    assert_eq!(server::cache_clear(&place, &["unsorted".to_owned()]).unwrap(), "0 entries removed, 0 B freed\n1 kept: a running server reads them\n");
    let cleared = server::cache_clear(&place, &[]).unwrap();
    assert!(cleared.starts_with("1 entries removed") && cleared.contains("1 kept"), "{cleared}");
    assert_eq!(longs(&Client::connect(&one).await.rows("SELECT n FROM unsorted").await.unwrap(), "n"), [2, 1, 0]);
    assert!(server::cache_clear(&place, &["nothing".to_owned()]).unwrap_err().to_string().contains("is named nothing"));
    tokio::join!(one.stop(), two.stop());
    write(&unsorted, &[numbered(&[3, 2, 1, 0], &[0, 1, 2, 3])]);
    assert!(report().contains("unsorted.parquet (stale: changed since)"), "{}", report());
    std::fs::remove_file(&unsorted).unwrap();
    assert!(report().contains("unsorted.parquet (stale: deleted)"), "{}", report());
    assert!(server::cache_clear(&place, &["unsorted".to_owned()]).unwrap().starts_with("1 entries removed"));
    assert!(report().contains("nothing is kept here"));
    assert_eq!(std::fs::read_dir(folder.file("cache")).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_file_under_two_names_and_what_is_no_file_are_refused() {
    let folder = Folder::new();
    let (file, link, pipe) = (folder.file("ticks.parquet"), folder.file("linked.parquet"), folder.file("pipe.csv"));
    write(&file, &[numbered(&[1, 2], &[0, 1])]);
    std::fs::hard_link(&file, &link).unwrap();
    let refused = server::start(config(&[file, link])).await.err().unwrap().to_string();
    assert!(refused.contains("it was given twice"), "{refused}");
    assert!(std::process::Command::new("mkfifo").arg(&pipe).status().unwrap().success());
    let refused = server::start(config(&[pipe])).await.err().unwrap().to_string();
    assert!(refused.contains("it is no file but a pipe or a device"), "{refused}");
}
