//! Pictures of the main states, kept for people to look at.

use std::time::Duration;

use serde_json::json;

use super::{opened, seek};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::made::{self, Order};
use crate::proxy::Proxy;
use crate::server::Server;
use crate::truth;

const WIDTHS: [(u32, u32); 4] = [(1440, 900), (1000, 800), (720, 900), (390, 800)];

/// Paused, playing, ended, loading, disconnected and the key sheet.
pub async fn the_main_states_in_both_themes_and_three_widths(driver: &Driver) -> Outcome {
    match pictures(driver).await {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

async fn pictures(driver: &Driver) -> Result<(), String> {
    let files = truth::data().map(|data| truth::es_mbo(&data)[1..].to_vec()).unwrap_or_default();
    let (_server, mut browser, state) = opened(driver, &files, &[]).await?;
    if let Some(data) = truth::data() {
        seek(&browser, &truth::es_books(&data)?[60].moment).await?;
    }
    both(&mut browser, "paused").await?;
    browser.press("?").await?;
    both(&mut browser, "keys").await?;
    browser.press("Escape").await?;
    browser.command(json!({ "speed": 100 })).await?;
    browser.command(json!({ "play": true })).await?;
    tokio::time::sleep(Duration::from_millis(700)).await;
    both(&mut browser, "playing").await?;
    browser.command(json!({ "end": true })).await?;
    browser.until("the end", Duration::from_secs(60), |state| state["status"] == "ended").await?;
    both(&mut browser, "ended").await?;
    let range = &state["range"];
    browser.command(json!({ "open": { "table": state["table"], "range": { "from": "1000000000000000000", "to": "1000000001000000000" } } })).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    both(&mut browser, "empty").await?;
    browser.command(json!({ "open": { "table": state["table"], "range": range } })).await?;

    let server = Server::start(&files, &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    proxy.hold(true);
    browser.open(&format!("http://{}/", proxy.address)).await?;
    tokio::time::sleep(Duration::from_millis(600)).await;
    both(&mut browser, "connecting").await?;
    proxy.hold(false);
    browser.ready().await?;
    proxy.refuse(true);
    drop(server);
    browser.until("disconnected", Duration::from_secs(20), |state| state["status"] == "disconnected").await?;
    both(&mut browser, "disconnected").await?;
    Ok(())
}

/// The ways in, and what can go wrong on them: first visit, the box for an address, an address nobody answers at, a table without a
/// book, a query that the store refuses, bytes that are no rows.
pub async fn the_ways_in_and_the_failures_in_both_themes_and_three_widths(driver: &Driver) -> Result<(), String> {
    let files = ["orders.mbo.dbn", "prints.trades.dbn"].map(|name| crate::server::root().join("target/test").join(name));
    let order = |id: u64| Order { instrument: 41 + (id % 5) as u32, after: id * 1_000, action: b'A', id, size: 5, ends_group: true };
    made::orders(&files[0], (1..=400).map(order))?;
    made::trades(&files[1], &[41, 42])?;
    let server = Server::start(&files, &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", proxy.address)).await?;
    let listed = |state: &serde_json::Value| state["catalogue"]["tables"].as_array().is_some_and(|tables| tables.len() == files.len());
    browser.until("the tables", Duration::from_secs(60), listed).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    both(&mut browser, "first-visit").await?;
    browser.command(json!({ "open": { "table": "trades" } })).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    both(&mut browser, "no-book").await?;
    let choose = "const picker = document.querySelector('select[aria-label=Source]');
        picker.value = [...picker.options].find(option => option.text.startsWith('Connect')).value;
        picker.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.run(choose).await?;
    both(&mut browser, "connect").await?;
    // A port that nobody listens at any more.
    let nobody = Server::start(&files[..1], &[]).await?.address.clone();
    let submit =
        format!("const form = document.querySelector('dialog[open] form'); form.querySelector('input').value = '{nobody}'; form.requestSubmit();");
    browser.run(&submit).await?;
    browser.until("a refusal", Duration::from_secs(20), |state| state["status"] == "disconnected").await?;
    both(&mut browser, "refused").await?;
    Ok(())
}

async fn both(browser: &mut Browser, name: &str) -> Result<(), String> {
    for theme in ["dark", "light"] {
        browser.prefer_theme(theme).await?;
        for (width, height) in WIDTHS {
            browser.size(width, height).await?;
            let wide = browser.run("return document.documentElement.scrollWidth > document.documentElement.clientWidth").await?;
            if wide == json!(true) {
                return Err(format!("{name} is wider than its window of {width} px"));
            }
            browser.keep_picture(&format!("{name}-{theme}-{width}")).await?;
        }
    }
    browser.size(1440, 900).await
}
