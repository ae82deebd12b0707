//! The speed on the dial, and how long a visitor waits.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{opened, seek, with_data};
use crate::Outcome;
use crate::browser::Driver;
use crate::{first_book, truth};

/// Ten seconds at ×1, ×10 and ×100 over a busy stretch: what the page's counters say was covered is the asked speed within 1 %. What
/// a stopwatch outside says is printed: on a loaded machine it is the machine's.
pub async fn market_time_keeps_the_asked_speed(driver: &Driver) -> Outcome {
    with_data!(data);
    paced(driver, &data).await.into()
}

async fn paced(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, browser, _) = opened(driver, &truth::es_mbo(data), &[]).await?;
    let busy = truth::es_books(data)?[60].moment.clone();
    for speed in [1_u64, 10, 100] {
        seek(&browser, &busy).await?;
        browser.command(json!({ "speed": speed })).await?;
        browser.command(json!({ "play": true })).await?;
        // What is loaded at the start is no part of it.
        browser.until("playing", Duration::from_secs(30), |state| played(state).0 > 0 && state["status"] == "playing").await?;
        let (before, began) = (browser.state().await?, Instant::now());
        tokio::time::sleep(Duration::from_secs(10)).await;
        let (after, took) = (browser.state().await?, began.elapsed());
        browser.command(json!({ "pause": true })).await?;
        let (market, wall) = (played(&after).0 - played(&before).0, played(&after).1 - played(&before).1);
        if wall < 5_000_000 {
            return Err(format!("×{speed}: it played for {wall} µs of ten seconds; lag {}", after["counters"]["lagMillis"]));
        }
        let ratio = market as f64 / wall as f64 / speed as f64;
        let outside = (as_of(&after)? - as_of(&before)?) as f64 / took.as_nanos() as f64 / speed as f64;
        println!("×{speed}: {:.4} of it by the page's counters, {outside:.4} by a stopwatch outside", ratio);
        if (ratio - 1.0).abs() > 0.01 {
            return Err(format!("×{speed}: {market} µs of market time in {wall} µs are {ratio:.4} of the asked speed"));
        }
    }
    Ok(())
}

fn played(state: &Value) -> (i64, i64) {
    let micros = |name: &str| state["counters"][name].as_i64().unwrap_or(0);
    (micros("playedMicros"), micros("playingMicros"))
}

fn as_of(state: &Value) -> Result<i64, String> {
    let text = state["asOf"].as_str().unwrap_or_default();
    text.split(['/', '-']).next().and_then(|time| time.parse().ok()).ok_or_else(|| format!("no moment: {text}"))
}

/// A book comes by itself, with nothing in the browser's caches and with everything. The times are printed, not judged.
pub async fn the_time_to_the_first_book(driver: &Driver) -> Result<(), String> {
    let visits = first_book::visits(driver, 2).await?;
    println!("milliseconds from the navigation to the first book: cold {:?}, warm {:?}", visits.cold, visits.warm);
    Ok(())
}
