//! Nothing is lost, nothing is doubled, and the counters are true.

use std::path::{Path, PathBuf};
use std::time::Duration;

use serde_json::{Value, json};

use super::{open_all, opened, same, with_data};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::truth;

async fn play_to_the_end(browser: &Browser, limit: Duration) -> Result<Value, String> {
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    browser.until("the end", limit, |state| state["status"] == "ended").await
}

/// Both files of the ES session as one table, at the highest speed.
pub async fn playing_to_the_end_applies_every_row_once(driver: &Driver) -> Outcome {
    with_data!(data);
    every_row(driver, &truth::es_mbo(&data)).await.into()
}

async fn every_row(driver: &Driver, files: &[PathBuf]) -> Result<(), String> {
    let (_server, mut browser, state) = opened(driver, files, &[]).await?;
    open_all(&browser, &state).await?;
    let ended = play_to_the_end(&browser, Duration::from_secs(90)).await?;
    let rows = truth::rows(files)?;
    same("events of the book", &ended["book"]["event"], &json!(rows.to_string()))?;
    same("best bid", &ended["book"]["bids"][0]["price"], &json!("4810"))?;
    same("best ask", &ended["book"]["asks"][0]["price"], &json!("4810.25"))?;
    browser.console_is_clean().await?;
    Ok(())
}

/// What passed through a proxy, counted there by a reader of its own.
pub async fn rows_and_bytes_equal_an_outside_count(driver: &Driver) -> Outcome {
    with_data!(data);
    outside_count(driver, &data).await.into()
}

async fn outside_count(driver: &Driver, data: &Path) -> Result<(), String> {
    let server = Server::start(&truth::es_mbo(data)[1..], &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", proxy.address)).await?;
    browser.ready().await?;
    play_to_the_end(&browser, Duration::from_secs(90)).await?;
    // Counters are sent four times a second; what was still on its way when the end came is in them after two of those.
    let mut last = String::new();
    for _ in 0..20 {
        tokio::time::sleep(Duration::from_millis(250)).await;
        let (counters, seen) = (browser.state().await?["counters"].clone(), proxy.seen());
        if counters["rows"] == json!(seen.rows) && counters["wireBytes"] == json!(seen.wire_bytes) {
            return Ok(());
        }
        last = format!("the page counts {counters}, outside there were {seen:?}");
    }
    Err(last)
}

/// A store that ends queries after five seconds, ×0.1, and a pause: every row is applied once all the same.
pub async fn slow_play_and_a_long_pause_outlive_the_query_timeout(driver: &Driver) -> Outcome {
    with_data!(data);
    long_pause(driver, &data).await.into()
}

async fn long_pause(driver: &Driver, data: &Path) -> Result<(), String> {
    let seconds = std::env::var("TICKSCOPE_LONG_PAUSE_SECONDS").ok().and_then(|seconds| seconds.parse().ok()).unwrap_or(20);
    let files = &truth::es_mbo(data)[1..];
    let (_server, mut browser, _) = opened(driver, files, &["--query-timeout", "5"]).await?;
    browser.command(json!({ "speed": 0.1 })).await?;
    browser.command(json!({ "play": true })).await?;
    tokio::time::sleep(Duration::from_secs(8)).await;
    browser.until("slow play", Duration::from_secs(5), |state| state["status"] == "playing").await?;
    browser.command(json!({ "pause": true })).await?;
    tokio::time::sleep(Duration::from_secs(seconds)).await;
    let paused = browser.state().await?;
    same("status after the pause", &paused["status"], &json!("paused"))?;
    same("error after the pause", &paused["error"], &Value::Null)?;
    let ended = play_to_the_end(&browser, Duration::from_secs(90)).await?;
    same("events of the book", &ended["book"]["event"], &json!(truth::rows(files)?.to_string()))?;
    same("error at the end", &ended["error"], &Value::Null)?;
    browser.console_is_clean().await?;
    Ok(())
}
