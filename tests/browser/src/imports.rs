//! How fast files are imported, and in how much memory: a table printed beside the decode bench. Rates are by processor time, since an
//! import reads, sorts and compresses on several threads.

use std::path::{Path, PathBuf};

use crate::made::{self, Order};
use crate::server::{self, Server};

const ROWS: u64 = 4_000_000;

/// Imports files made here and prints a Markdown table.
///
/// # Errors
/// When one is not imported, or the system does not say what it took.
pub async fn run() -> Result<(), String> {
    let place = server::root().join("target/bench/imports");
    std::fs::create_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))?;
    println!("\n| import | M rows | MB | seconds | M rows/s of one core | peak MiB |");
    println!("|---|---|---|---|---|---|");
    for (name, ordered) in [("in order", true), ("not in order", false)] {
        let dbn = place.join("mbo.dbn");
        made::orders(&dbn, orders(ordered))?;
        measure(&format!("DBN, {name}"), "mbo", &dbn).await?;
        let csv = place.join("orders.csv");
        made::orders_csv(&csv, orders(ordered))?;
        measure(&format!("CSV, {name}"), "orders", &csv).await?;
    }
    std::fs::remove_dir_all(&place).map_err(|error| format!("{}: {error}", place.display()))
}

/// Pairs of an order and its cancel over 500 orders in the book; out of order, every thousandth comes a second late.
fn orders(ordered: bool) -> impl Iterator<Item = Order> {
    (0..ROWS).map(move |row| {
        let late = if ordered || row % 1_000 != 0 { 0 } else { 1_000_000_000 };
        let (pair, cancels) = (row / 2, row % 2 == 1);
        let (action, id) = match (cancels, pair) {
            (true, 500..) => (b'C', pair - 500),
            _ => (b'A', if cancels { ROWS + pair } else { pair }),
        };
        Order { instrument: 7, after: 2_000_000_000 + row * 700 - late, action, id, size: 1 + (row % 9) as u32, ends_group: true, doubtful: false }
    })
}

async fn measure(name: &str, table: &str, file: &Path) -> Result<(), String> {
    let bytes = file.metadata().map_err(|error| format!("{}: {error}", file.display()))?.len();
    let files: [PathBuf; 1] = [file.to_owned()];
    let mut server = Server::start(&files, &["--no-cache"]).await?;
    let (rows, seconds) = server.imported(table).await?;
    let process = server.process().ok_or("the server ended")?;
    let read = |file: &str| std::fs::read_to_string(format!("/proc/{process}/{file}")).map_err(|error| format!("/proc/{process}/{file}: {error}"));
    // Fields 14 and 15, in hundredths of a second; the name of the program, which may hold spaces, ends with a bracket.
    let stat = read("stat")?;
    let fields: Vec<f64> =
        stat.rsplit(')').next().unwrap_or_default().split_whitespace().skip(11).take(2).filter_map(|field| field.parse().ok()).collect();
    let processor: f64 = fields.iter().sum::<f64>() / 100.0;
    let status = read("status")?;
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap_or_default();
    println!(
        "| {name} | {:.1} | {:.0} | {seconds:.1} | {:.2} | {} |",
        rows as f64 / 1e6,
        bytes as f64 / 1e6,
        rows as f64 / processor / 1e6,
        peak >> 10
    );
    Ok(())
}
