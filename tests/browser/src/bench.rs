//! The decode bench in the browser, and the table of all its figures: those of the native run are read from where it left them. After
//! it, the page's size and the time to its first book.

use std::path::Path;

use serde_json::{Value, json};

use crate::browser::Driver;
use crate::checks::size;
use crate::files::Files;
use crate::first_book;
use crate::server;

const WORKLOADS: [&str; 4] = ["trades5", "mbp1", "arrays18", "mbo"];
const STAGES: [&str; 3] = ["decode", "arrow", "book"];

/// Measures and prints a Markdown table.
///
/// # Errors
/// When the native run has left nothing, or the browser cannot run the module.
pub async fn run(driver: &Driver) -> Result<(), String> {
    let place = server::root().join("target/bench");
    let files = Files::serve(vec![("module", place.join("module")), ("frames", place.join("frames"))]).await?;
    let script = format!("(async () => {{ {} }})()", include_str!("bench.js"));
    println!(
        "| workload | stage | native M rows/s | wire MB/s | decoded Gb/s | Chromium M rows/s | of native | questdb-rs M rows/s | Chromium of it |"
    );
    println!("|---|---|---|---|---|---|---|---|---|");
    for workload in WORKLOADS {
        for codec in ["raw", "zstd"] {
            let name = format!("{workload}-{codec}");
            let numbers = read(&place.join("frames").join(format!("{name}.txt")))?;
            let mut numbers = numbers.split_whitespace().map(|number| number.parse::<f64>().map_err(|error| format!("{name}.txt: {error}")));
            let mut number = || numbers.next().unwrap_or_else(|| Err(format!("{name}.txt: too short")));
            let (rows, wire, arrow) = (number()?, number()?, number()?);
            for stage in STAGES {
                let Some(native) = native_seconds(&place, &name, "tickscope", stage)? else { continue };
                let peer = native_seconds(&place, &name, "questdb-rs", stage)?;
                // A browser of its own: memory that one workload grew to must not help the next.
                let browser = driver.browser().await?;
                browser.visit(&format!("http://{}/", files.address)).await?;
                let answer = browser.promise(&script, json!([name, stage])).await?;
                driver.close_browsers().await;
                let web = answer["seconds"].as_f64().ok_or_else(|| format!("{name} {stage}: the browser answered {answer}"))?;
                let decoded: f64 = answer["totals"][0].as_str().and_then(|rows| rows.parse().ok()).unwrap_or_default();
                if decoded != rows {
                    return Err(format!("{name} {stage}: the browser decoded {decoded} rows of {rows}"));
                }
                let millions = |seconds: f64| format!("{:.1}", rows / seconds / 1e6);
                let gigabits = if stage == "decode" { "–".to_owned() } else { format!("{:.1}", arrow * 8.0 / native / 1e9) };
                let (peer_rate, of_peer) = peer.map_or(("–".to_owned(), "–".to_owned()), |peer| (millions(peer), format!("{:.2}", peer / web)));
                println!(
                    "| {name} | {stage} | {} | {:.0} | {gigabits} | {} | {:.2} | {peer_rate} | {of_peer} |",
                    millions(native),
                    wire / native / 1e6,
                    millions(web),
                    native / web,
                );
            }
        }
    }
    page(driver).await
}

/// The page itself: how large it is, and how long a visit takes.
async fn page(driver: &Driver) -> Result<(), String> {
    let (raw, brotli) = size::module(11)?;
    println!("\nthe page's module: {raw} bytes, {brotli} by brotli");
    let visits = first_book::visits(driver, 5).await?;
    println!("milliseconds from the navigation to the first book: cold {:?}, warm {:?}", visits.cold, visits.warm);
    println!("medians: cold {} ms, warm {} ms", first_book::median(visits.cold), first_book::median(visits.warm));
    Ok(())
}

/// Median seconds of a native pass; `None` where that one is not measured.
fn native_seconds(place: &Path, name: &str, who: &str, stage: &str) -> Result<Option<f64>, String> {
    let file = place.join("criterion").join(name).join(who).join(stage).join("new/estimates.json");
    if !file.exists() {
        return Ok(None);
    }
    let estimates: Value = serde_json::from_str(&read(&file)?).map_err(|error| format!("{}: {error}", file.display()))?;
    let nanos = estimates["median"]["point_estimate"].as_f64().ok_or_else(|| format!("{}: no median", file.display()))?;
    Ok(Some(nanos / 1e9))
}

fn read(file: &Path) -> Result<String, String> {
    std::fs::read_to_string(file).map_err(|error| format!("{}: {error}: run tests/bench/run", file.display()))
}
