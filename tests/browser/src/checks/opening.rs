//! What a newcomer sees: the page opens, plays, and obeys.

use std::time::Duration;

use serde_json::json;

use super::{offers_the_sample, open_all, opened, same, with_data};
use crate::Outcome;
use crate::browser::Driver;
use crate::server::Server;

/// With no file there is a session: its instruments are buttons, it says that it is synthetic, and it plays.
pub async fn the_sample_is_offered_and_plays(driver: &Driver) -> Result<(), String> {
    let server = Server::start(&[], &[]).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", server.address)).await?;
    browser.until("the sample", Duration::from_secs(60), offers_the_sample).await?;
    let button = "document.querySelector('.welcome .group button')";
    let shown = format!("return {button}?.innerText.replace(/\\s+/g, ' ')");
    let start = std::time::Instant::now();
    while !browser.run(&shown).await?.as_str().is_some_and(|text| text.starts_with("SYNFUT ")) {
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("the busiest instrument is not offered first: {}", browser.run(&shown).await?));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    browser.run(&format!("{button}.click()")).await?;
    let state = browser.ready().await?;
    let tables = state["catalogue"]["tables"].as_array().cloned().unwrap_or_default();
    let table = tables.iter().find(|table| table["name"] == state["table"]).ok_or_else(|| format!("no table is open: {state}"))?;
    same("labelled synthetic", &table["synthetic"], &json!(true))?;
    same("kind of book", &state["book"]["kind"], &json!("L3"))?;
    let at_rest = state["counters"]["events"].clone();
    browser.command(json!({ "speed": 100 })).await?;
    browser.command(json!({ "play": true })).await?;
    let played =
        browser.until("events to be applied", Duration::from_secs(20), |state| state["counters"]["events"].as_u64() > at_rest.as_u64()).await?;
    same("status", &played["status"], &json!("playing"))?;
    browser.command(json!({ "pause": true })).await?;
    let ladder = browser.ladder().await?;
    for side in ["bids", "asks"] {
        let levels = ladder[side].as_array().map_or(0, Vec::len);
        if levels < 15 {
            return Err(format!("{levels} levels of {side} are drawn: {ladder}"));
        }
    }
    browser.console_is_clean().await?;
    Ok(())
}

/// Every request of the page goes to the server it came from.
pub async fn the_page_loads_nothing_from_elsewhere(driver: &Driver) -> Result<(), String> {
    let (server, browser, _) = opened(driver, &[], &[]).await?;
    let loaded = browser.run("return performance.getEntriesByType('resource').map(entry => entry.name)").await?;
    let own = format!("http://{}/", server.address);
    let names: Vec<&str> = loaded.as_array().into_iter().flatten().filter_map(|name| name.as_str()).collect();
    if names.is_empty() {
        return Err("the page loaded nothing".to_owned());
    }
    match names.iter().find(|name| !name.starts_with(&own) && !name.starts_with("data:") && !name.starts_with("blob:")) {
        Some(name) => Err(format!("the page loaded {name}")),
        None => Ok(()),
    }
}

/// A malformed command rejects with a message.
pub async fn commands_that_are_none_are_refused_and_change_nothing(driver: &Driver) -> Result<(), String> {
    let (_server, browser, before) = opened(driver, &[], &[]).await?;
    for (command, word) in [
        (json!({ "pley": true }), "pley"),
        (json!({ "speed": 0 }), "speed"),
        (json!({ "seek": 17 }), "seek"),
        (json!({ "seek": "yesterday" }), "yesterday"),
        (json!({ "open": { "tabel": "mbo" } }), "tabel"),
        (json!("play"), "play"),
    ] {
        match browser.command(command.clone()).await {
            Ok(_) => return Err(format!("{command} was taken")),
            Err(why) if why.contains(word) => {}
            Err(why) => return Err(format!("{command}: the refusal does not name {word:?}: {why}")),
        }
    }
    let after = browser.state().await?;
    for key in ["source", "table", "symbols", "range", "status", "asOf", "speed"] {
        same(key, &after[key], &before[key])?;
    }
    Ok(())
}

/// Space, arrows, Home and the key sheet, as typed.
pub async fn keys_play_pause_and_step(driver: &Driver) -> Result<(), String> {
    let (_server, browser, start) = opened(driver, &[], &[]).await?;
    browser.press("ArrowRight").await?;
    let stepped = browser.until("a step", Duration::from_secs(10), |state| state["asOf"] != start["asOf"]).await?;
    same("status after a step", &stepped["status"], &json!("paused"))?;
    browser.press("ArrowLeft").await?;
    browser
        .until("the step back", Duration::from_secs(10), |state| state["asOf"] == start["asOf"] || state["book"]["event"] == start["book"]["event"])
        .await?;
    browser.press(" ").await?;
    browser.until("playing", Duration::from_secs(10), |state| state["status"] == "playing").await?;
    browser.press(" ").await?;
    browser.until("pausing", Duration::from_secs(10), |state| state["status"] == "paused").await?;
    browser.press("?").await?;
    same("the key sheet", browser.run("return !!document.querySelector('dialog[open]')").await?, json!(true))?;
    browser.press("Escape").await?;
    same("closed by Escape", browser.run("return !!document.querySelector('dialog[open]')").await?, json!(false))?;
    browser.press("End").await?;
    browser.until("the end", Duration::from_secs(60), |state| state["status"] == "ended").await?;
    browser.press("Home").await?;
    let home = browser.until("the start", Duration::from_secs(60), |state| state["status"] == "paused" && state["seeking"].is_null()).await?;
    same("moment after Home", &home["asOf"], &start["asOf"])?;
    Ok(())
}

/// Nasdaq's MBO and MBP-10, and an MBP-1 session with its trades.
pub async fn small_sessions_of_every_feed_open_and_play(driver: &Driver) -> Outcome {
    with_data!(data);
    let nvda = |schema: &str| data.join(format!("databento/xnas-nvda/test_data.{schema}.dbn.zst"));
    let es = data.join("databento/es-mbp1-trades/futures_mbp-1_2024-07-01T23-58_2024-07-02T00-02.dbn.zst");
    for (file, kind, rows) in [(nvda("mbo"), "L3", 4), (nvda("mbp-10"), "L2", 4), (nvda("mbp-1"), "L1", 4), (es, "L1", 2_288)] {
        if let Err(why) = opens_and_plays(driver, &file, kind, rows).await {
            return Outcome::Failed(format!("{}: {why}", file.display()));
        }
    }
    Outcome::Passed
}

async fn opens_and_plays(driver: &Driver, file: &std::path::Path, kind: &str, rows: u64) -> Result<(), String> {
    let (_server, mut browser, state) = opened(driver, &[file.to_owned()], &[]).await?;
    same("kind of book", &state["book"]["kind"], &json!(kind))?;
    open_all(&browser, &state).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    let ended = browser.until("the end", Duration::from_secs(60), |state| state["status"] == "ended").await?;
    same("events of the book", &ended["book"]["event"], &json!(rows.to_string()))?;
    browser.console_is_clean().await?;
    Ok(())
}
