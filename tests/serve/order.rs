//! Rows come in the order of the files, to the row, whatever the engine would do to ties.

use crate::client::{Client, config, serve};
use crate::files::{Folder, longs, nanos, numbered, write};

const ROWS: i64 = 3_000_000;
const TIES: i64 = 50;
const START: i64 = 1_700_000_000_000_000_000;

fn time(number: i64) -> i64 {
    START + number / TIES * 1_000
}

/// A permutation of `0..count` that looks like noise and needs no generator: a stride that shares no factor with the count.
fn shuffled(count: i64) -> Vec<i64> {
    (0..count).map(|index| index * 1_000_003 % count).collect()
}

async fn check_all_queries(client: &mut Client, expected: &[i64]) {
    let plain = client.rows("SELECT ts, n FROM ticks").await.unwrap();
    assert!(nanos(&plain, "ts").is_sorted());
    assert!(longs(&plain, "n") == expected, "a plain scan is in order");
    let sorted = client.rows("SELECT n, ts FROM ticks ORDER BY ts").await.unwrap();
    assert!(longs(&sorted, "n") == expected, "a sort by time keeps ties");
    let backward = client.rows("SELECT n FROM ticks ORDER BY ts DESC").await.unwrap();
    assert!(longs(&backward, "n").iter().eq(expected.iter().rev()), "a descending sort is the exact reverse");
    let newest = client.rows("SELECT n FROM ticks ORDER BY ts DESC LIMIT 120").await.unwrap();
    assert!(longs(&newest, "n").iter().eq(expected.iter().rev().take(120)));
    let from = time(expected.len() as i64 / 2 + 7);
    let before = format!("SELECT n FROM ticks WHERE ts <= to_timestamp_nanos({from}) ORDER BY ts DESC LIMIT 75");
    let rows = longs(&client.rows(&before).await.unwrap(), "n");
    let wanted: Vec<i64> = expected.iter().rev().copied().filter(|number| time(*number) <= from).take(75).collect();
    assert_eq!(rows, wanted);
    let window =
        format!("SELECT n FROM ticks WHERE ts >= to_timestamp_nanos({from}) AND ts < to_timestamp_nanos({}) AND k = 'b' ORDER BY ts", from + 900_000);
    let rows = longs(&client.rows(&window).await.unwrap(), "n");
    let inside = |number: &i64| (from..from + 900_000).contains(&time(*number)) && number % 3 == 1;
    assert_eq!(rows, expected.iter().copied().filter(inside).collect::<Vec<_>>());
    assert!(!rows.is_empty());
    let keyed = client.rows("SELECT n FROM (SELECT * FROM ticks WHERE n < 600000) AS t ORDER BY k LIMIT 250000").await.unwrap();
    let mut wanted: Vec<i64> = expected.iter().copied().filter(|number| *number < 600_000).collect();
    wanted.sort_by_key(|number| number % 3);
    assert!(longs(&keyed, "n") == wanted[..250_000], "a sort by another column keeps the stored order of ties");
    let limited = client.rows("SELECT n FROM ticks LIMIT 33333 OFFSET 12345").await.unwrap();
    assert!(longs(&limited, "n") == expected[12_345..45_678]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_million_rows_with_ties_are_read_in_place_in_file_order() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    let numbers: Vec<i64> = (0..ROWS).collect();
    write(&file, &[numbered(&numbers.iter().copied().map(time).collect::<Vec<_>>(), &numbers)]);
    let running = serve(config(&[file])).await;
    let mut client = Client::connect(&running).await;
    check_all_queries(&mut client, &numbers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_million_shuffled_rows_are_imported_by_time_and_row() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    let numbers = shuffled(ROWS);
    write(&file, &[numbered(&numbers.iter().copied().map(time).collect::<Vec<_>>(), &numbers)]);
    let running = serve(config(&[file])).await;
    let mut client = Client::connect(&running).await;
    let mut expected = numbers;
    expected.sort_by_key(|number| time(*number));
    check_all_queries(&mut client, &expected).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ties_across_files_keep_the_order_of_the_arguments() {
    let folder = Folder::new();
    // Every file holds the same times; the second is itself out of order.
    let files = [("book-1.parquet", vec![0, 1, 2, 3]), ("book-0.parquet", vec![7, 6, 5, 4]), ("book-2.parquet", vec![8, 9, 10, 11])];
    let times = |numbers: &[i64]| numbers.iter().map(|number| START + number % 2).collect::<Vec<_>>();
    let mut expected = Vec::new();
    for (name, numbers) in &files {
        write(&folder.file(name), &[numbered(&times(numbers), numbers)]);
        expected.extend(numbers.iter().copied());
    }
    expected.sort_by_key(|number| number % 2);
    let running = serve(config(&files.each_ref().map(|(name, _)| folder.file(name)))).await;
    let mut client = Client::connect(&running).await;
    assert_eq!(longs(&client.rows("SELECT * FROM book").await.unwrap(), "n"), expected);
    let columns = client.rows("SELECT * FROM book LIMIT 1").await.unwrap()[0].schema();
    assert_eq!(columns.fields().iter().map(|field| field.name().as_str()).collect::<Vec<_>>(), ["ts", "n", "k"], "no column of ours shows");
}
