//! What statements are taken, what the catalogue says, and where errors point.

use arrow_array::Array as _;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int64Type, TimestampMicrosecondType};
use tickscope::wire::{Bind, QueryRequest, status};

use crate::client::{Client, config, query, serve};
use crate::files::{Folder, longs, nanos, numbered, texts, write};

const BASE: i64 = 1_700_000_000_000_000_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_reading_is_allowed() {
    let folder = Folder::new();
    let file = folder.file("ticks.parquet");
    write(&file, &[numbered(&[BASE, BASE + 1], &[0, 1])]);
    let running = serve(config(std::slice::from_ref(&file))).await;
    let mut client = Client::connect(&running).await;
    let target = folder.file("out.parquet");
    for sql in [
        format!("COPY ticks TO '{}'", target.display()),
        format!("COPY (SELECT 1) TO '{}' STORED AS CSV", target.display()),
        format!("CREATE EXTERNAL TABLE x STORED AS PARQUET LOCATION '{}'", file.display()),
        "CREATE TABLE x AS SELECT 1".to_owned(),
        "CREATE VIEW x AS SELECT 1".to_owned(),
        "INSERT INTO ticks VALUES (1)".to_owned(),
        "DROP TABLE ticks".to_owned(),
        "SET datafusion.execution.batch_size = 1".to_owned(),
        "DELETE FROM ticks".to_owned(),
        "EXPLAIN ANALYZE COPY ticks TO 'x'".to_owned(),
        "BEGIN".to_owned(),
    ] {
        let (status, text) = client.rows(&sql).await.unwrap_err();
        assert_eq!(status, status::SECURITY_ERROR, "{sql}: {text}");
        assert!(text.starts_with("[0] the embedded store is read only"), "{text}");
    }
    assert!(!target.exists());
    for sql in [
        format!("SELECT * FROM '{}'", file.display()),
        format!("SELECT * FROM \"{}\"", file.display()),
        format!("SELECT * FROM read_parquet('{}')", file.display()),
        "SELECT * FROM '/etc/passwd'".to_owned(),
        "SELECT * INTO y FROM ticks".to_owned(),
        "SELECT * FROM information_schema.tables".to_owned(),
        "SELECT 1; SELECT 2".to_owned(),
    ] {
        let (status, text) = client.rows(&sql).await.unwrap_err();
        assert!([status::PARSE_ERROR, status::SECURITY_ERROR].contains(&status), "{sql}: {status} {text}");
    }
    for sql in ["SELECT 1;", "WITH a AS (SELECT n FROM ticks) SELECT * FROM a", "VALUES (1)", "EXPLAIN SELECT * FROM ticks"] {
        client.rows(sql).await.unwrap_or_else(|error| panic!("{sql}: {error:?}"));
    }
    assert_eq!(longs(&client.rows("SELECT n FROM ticks").await.unwrap(), "n"), [0, 1]);
}

#[test]
fn a_long_chain_of_conditions_is_answered_and_a_longer_one_refused() {
    let threads =
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).thread_stack_size(tickscope::server::STACK_BYTES).enable_all().build();
    threads.unwrap().block_on(async {
        let folder = Folder::new();
        write(&folder.file("ticks.parquet"), &[numbered(&[BASE, BASE + 1, BASE + 2], &[0, 1, 2])]);
        let running = serve(config(&[folder.file("ticks.parquet")])).await;
        let mut client = Client::connect(&running).await;
        // Two operators each, less the first OR.
        let chain = |conditions: usize| (0..conditions).map(|n| format!("n = {}", 2 + n)).collect::<Vec<_>>().join(" OR ");
        let rows = client.rows(&format!("SELECT n FROM ticks WHERE {}", chain(499))).await.unwrap();
        assert_eq!(longs(&rows, "n"), [2]);
        let (status, text) = client.rows(&format!("SELECT n FROM ticks WHERE {}", chain(10_000))).await.unwrap_err();
        assert_eq!((status, text.contains("1000 operators")), (status::PARSE_ERROR, true), "{text}");
        assert_eq!(longs(&client.rows("SELECT n FROM ticks").await.unwrap(), "n"), [0, 1, 2]);
    });
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn errors_point_at_the_character() {
    let folder = Folder::new();
    write(&folder.file("ticks.parquet"), &[numbered(&[BASE], &[0])]);
    let running = serve(config(&[folder.file("ticks.parquet")])).await;
    let mut client = Client::connect(&running).await;
    for (sql, expected) in [
        ("SELECT * FROM nope", "[14] table does not exist [table=nope]"),
        ("SELECT 'é',\n n FROM nope", "[20] table does not exist [table=nope]"),
        ("SELECT nope FROM ticks", "[7] Invalid column: nope"),
        ("SELECT n FROM ticks WHERE nope > 1", "[26] Invalid column: nope"),
        ("SELECT FROM ticks WHERE", "[23] "),
        ("SELEC 1", "[0] "),
        ("SELECT no_such(1)", "[7] "),
        ("tables() LIMIT x", "[15] Invalid column: x"),
        ("table_columns('nope')", "[-1] table does not exist [table=nope]"),
    ] {
        let (status, text) = client.rows(sql).await.unwrap_err();
        assert_eq!(status, status::PARSE_ERROR, "{sql}: {text}");
        assert!(text.starts_with(expected), "{sql}: {text}");
        assert!(!text.contains('\n'));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_catalogue_has_questdbs_columns() {
    let folder = Folder::new();
    write(&folder.file("Ticks.parquet"), &[numbered(&[BASE, BASE + 1_999], &[0, 1])]);
    let running = serve(config(&[folder.file("Ticks.parquet")])).await;
    let mut client = Client::connect(&running).await;
    for sql in [
        "tables()",
        " tables ( ) ",
        "SELECT id, table_name, designatedTimestamp, table_row_count, table_min_timestamp, table_max_timestamp, note FROM tables()",
    ] {
        let rows = client.rows(sql).await.unwrap();
        assert_eq!(texts(&rows, "table_name"), [Some("ticks".to_owned())], "{sql}");
        assert_eq!(texts(&rows, "designatedTimestamp"), [Some("ts".to_owned())]);
        assert_eq!(texts(&rows, "note"), [None]);
        assert_eq!(rows[0]["table_row_count"].as_primitive::<Int64Type>().values(), &[2]);
        assert_eq!(rows[0]["table_min_timestamp"].as_primitive::<TimestampMicrosecondType>().values(), &[BASE / 1_000]);
        assert_eq!(rows[0]["table_max_timestamp"].as_primitive::<TimestampMicrosecondType>().values(), &[BASE / 1_000 + 1]);
    }
    let rows = client.rows("table_columns('ticks')").await.unwrap();
    assert_eq!(texts(&rows, "column"), ["ts", "n", "k"].map(|text| Some(text.to_owned())));
    assert_eq!(texts(&rows, "type"), ["TIMESTAMP_NS", "LONG", "SYMBOL"].map(|text| Some(text.to_owned())));
    let designated = rows[0]["designated"].as_boolean();
    assert_eq!((0..3).map(|row| designated.value(row)).collect::<Vec<_>>(), [true, false, false]);
    let rows = client.rows("SELECT min(ts) AS a, max(ts) AS b, count(*) AS c FROM ticks").await.unwrap();
    assert_eq!((nanos(&rows, "a"), nanos(&rows, "b"), longs(&rows, "c")), (vec![BASE], vec![BASE + 1_999], vec![2]));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn binds_are_values() {
    let folder = Folder::new();
    let numbers: Vec<i64> = (0..100).collect();
    write(&folder.file("ticks.parquet"), &[numbered(&numbers.iter().map(|n| BASE + n).collect::<Vec<_>>(), &numbers)]);
    let running = serve(config(&[folder.file("ticks.parquet")])).await;
    let mut client = Client::connect(&running).await;
    let sql = "SELECT n FROM ticks WHERE ts >= $1 AND n < $2 AND k = $3";
    let binds = vec![Bind::TimestampNanos(Some(BASE + 10)), Bind::Long(Some(20)), Bind::Varchar(Some("b".to_owned()))];
    let rows = client.run(QueryRequest { binds, ..query(0, sql) }).await.unwrap();
    assert_eq!(longs(&rows, "n"), [10, 13, 16, 19]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_value_that_does_not_fit_is_named_with_its_row() {
    let folder = Folder::new();
    write(&folder.file("ticks.parquet"), &[numbered(&[BASE, BASE + 1, BASE + 2], &[0, 1, 2])]);
    let running = serve(config(&[folder.file("ticks.parquet")])).await;
    let mut client = Client::connect(&running).await;
    let sql = "SELECT arrow_cast(n, 'UInt64') + arrow_cast(9223372036854775806, 'UInt64') AS big FROM ticks";
    let (status, text) = client.rows(sql).await.unwrap_err();
    assert_eq!(status, status::INTERNAL_ERROR);
    assert!(text.contains("\"big\"") && text.contains("row 2"), "{text}");
    assert!(client.rows("SELECT 1 AS one").await.is_ok());
    assert!(!client.rows("SELECT NULL AS nothing").await.unwrap()[0]["nothing"].is_valid(0));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_price_in_a_condition_is_compared_as_it_is_written() {
    let folder = Folder::new();
    let file = folder.file("prices.csv");
    std::fs::write(
        &file,
        "ts,price\n1700000000000000001,9007199.254740992\n1700000000000000002,9007199.254740993\n1700000000000000003,9007199.254740994\n",
    )
    .unwrap();
    let running = serve(config(&[file])).await;
    let mut client = Client::connect(&running).await;
    for (condition, rows) in [("price = 9007199.254740993", 1), ("price < 9007199.254740993", 1), ("price >= 9007199.254740993", 2)] {
        let answer = client.rows(&format!("SELECT count(*) AS n FROM prices WHERE {condition}")).await.unwrap();
        assert_eq!(longs(&answer, "n"), [rows], "{condition}");
    }
    // What makes a value of any length from a short one is no function here.
    for sql in ["SELECT repeat('x', 1000000000)", "SELECT lpad('x', 1000000000)", "SELECT rpad('x', 1000000000, 'y')"] {
        let (status, text) = client.rows(sql).await.unwrap_err();
        assert_eq!(status, status::PARSE_ERROR, "{sql}: {text}");
    }
}
