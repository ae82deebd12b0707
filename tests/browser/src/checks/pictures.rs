//! Pictures of every state that the page has a look for, in both themes at four widths, kept in `target/screenshots` for people to
//! look at. What can be held for certain is checked beside: nothing is wider than its window, and the console stays clean.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{open_all, opened, same, seek};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::made::{self, Order};
use crate::proxy::{Fault, Proxy};
use crate::server::{self, Server};
use crate::truth;

const WIDTHS: [(u32, u32); 4] = [(1440, 900), (1000, 800), (720, 900), (390, 800)];

/// First visit, the boxes that ask, a file on its way and one that is refused, a table of trades alone, an address without a store.
pub async fn the_ways_in(driver: &Driver) -> Result<(), String> {
    let (_server, mut browser) = visited(driver, &[]).await?;
    browser.until("the sample", Duration::from_secs(60), super::offers_the_sample).await?;
    shown(&browser, "document.querySelectorAll('.welcome .group button').length >= 6").await?;
    all(&mut browser, "sample").await?;
    browser.run("document.querySelector('.welcome .group button').click()").await?;
    let state = browser.ready().await?;
    let bound = |name: &str| state["catalogue"]["bounds"][name].as_str().and_then(|time| time.parse::<u64>().ok()).unwrap_or_default();
    seek(&browser, &((bound("from") + bound("to")) / 2).to_string()).await?;
    shown(&browser, "document.querySelector('.activity .bars').getAttribute('d') && document.querySelector('.tape tbody tr[data-side]')").await?;
    all(&mut browser, "sample-open").await?;
    browser.console_is_clean().await?;
    let files = ["orders.mbo.dbn", "prints.trades.dbn"].map(|name| server::root().join("target/test").join(name));
    made::orders(&files[0], (1..=400).map(|id| Order { instrument: 41 + (id % 5) as u32, ..order(id) }))?;
    made::trades(&files[1], &[41, 42])?;
    let (_server, mut browser) = visited(driver, &files).await?;
    let listed = |state: &Value| state["catalogue"]["tables"].as_array().is_some_and(|tables| tables.len() == files.len());
    browser.until("the tables", Duration::from_secs(60), listed).await?;
    shown(&browser, "document.querySelectorAll('.welcome .group button').length >= 5").await?;
    all(&mut browser, "first-visit").await?;
    browser.command(json!({ "open": { "table": "trades" } })).await?;
    browser.until("the trades", Duration::from_secs(20), |state| state["table"] == "trades").await?;
    all(&mut browser, "trades").await?;
    browser.press("/").await?;
    shown(&browser, "document.querySelector('.welcome')").await?;
    all(&mut browser, "choose").await?;
    browser.press("Escape").await?;
    browser.press("g").await?;
    all(&mut browser, "go-to").await?;
    browser.press("Escape").await?;
    browser.press("?").await?;
    all(&mut browser, "keys").await?;
    browser.press("Escape").await?;
    let drop = "const data = new DataTransfer();
        data.items.add(new File(['these are no ticks'], 'notes.txt'));
        document.body.dispatchEvent(new DragEvent('dragover', { dataTransfer: data, bubbles: true, cancelable: true }));";
    browser.run(drop).await?;
    all(&mut browser, "dragging").await?;
    browser.run(&drop.replace("dragover", "drop")).await?;
    shown(&browser, "document.querySelector('.imports li[data-failed]')").await?;
    all(&mut browser, "refused-file").await?;
    browser.run("document.querySelector('.imports li button').click()").await?;
    let choose = "const picker = document.querySelector('select[aria-label=Source]');
        picker.value = [...picker.options].find(option => option.text.startsWith('Connect')).value;
        picker.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.run(choose).await?;
    all(&mut browser, "connect").await?;
    browser.console_is_clean_but_for(&["/api/files"]).await?;
    // A port that nobody listens at any more.
    let nobody = Server::start(&files[..1], &[]).await?.address.clone();
    let submit =
        format!("const form = document.querySelector('dialog[open] form'); form.querySelector('input').value = '{nobody}'; form.requestSubmit();");
    browser.run(&submit).await?;
    browser.until("a refusal", Duration::from_secs(20), |state| state["status"] == "disconnected").await?;
    all(&mut browser, "nobody-there").await
}

/// At rest, playing, at the end, in a loop with the tape scrolled away, in a range without ticks, crossed, known in part.
pub async fn what_is_open(driver: &Driver) -> Outcome {
    match open_places(driver, truth::data().as_deref()).await {
        Ok(()) => Outcome::Passed,
        Err(why) => Outcome::Failed(why),
    }
}

async fn open_places(driver: &Driver, data: Option<&Path>) -> Result<(), String> {
    // With no market data the synthetic session stands for it, which has no such faults.
    let files = data.map(|data| truth::es_mbo(data)[1..].to_vec()).unwrap_or_default();
    let (_server, mut browser) = visited(driver, &files).await?;
    let mut state = browser.until("tables", Duration::from_secs(60), |state| state["catalogue"]["tables"][0].is_object()).await?;
    if files.is_empty() {
        browser.command(json!({ "open": {} })).await?;
    }
    state = browser.ready().await.unwrap_or(state);
    if let Some(data) = data {
        seek(&browser, &truth::es_books(data)?[60].moment).await?;
    }
    all(&mut browser, "paused").await?;
    browser.command(json!({ "speed": 100 })).await?;
    browser.command(json!({ "play": true })).await?;
    tokio::time::sleep(Duration::from_millis(700)).await;
    all(&mut browser, "playing").await?;
    browser.command(json!({ "pacing": "events", "rate": 1000 })).await?;
    all(&mut browser, "playing-by-events").await?;
    browser.command(json!({ "pause": true })).await?;
    for key in ["w", "w", "w", "l"] {
        browser.press(key).await?;
    }
    browser.run("document.querySelector('.tape .scroll').scrollTop = 900").await?;
    browser.until("a loop", Duration::from_secs(10), |state| state["loop"].is_object()).await?;
    tokio::time::sleep(Duration::from_millis(500)).await;
    all(&mut browser, "loop-and-scrolled").await?;
    browser.press("l").await?;
    browser.press("0").await?;
    browser.command(json!({ "end": true })).await?;
    browser.until("the end", Duration::from_secs(60), |state| state["status"] == "ended").await?;
    all(&mut browser, "ended").await?;
    browser.command(json!({ "open": { "table": state["table"], "range": { "from": "1000000000000000000", "to": "1000000001000000000" } } })).await?;
    shown(&browser, "document.querySelector('.ladder .card')").await?;
    all(&mut browser, "empty-range").await?;
    browser.console_is_clean().await?;
    let Some(data) = data else { return Ok(()) };
    // Before the market opens its orders cross.
    browser.command(json!({ "open": { "table": state["table"], "range": state["range"], "at": "1703545190000000000" } })).await?;
    let state = browser.ready().await?;
    same("crossed", &state["book"]["crossed"], &json!(true))?;
    all(&mut browser, "crossed").await?;
    let (_server, mut browser, state) = opened(driver, &[data.join("databento/xnas-nvda/test_data.mbo.dbn.zst")], &[]).await?;
    open_all(&browser, &state).await?;
    let state = browser.command(json!({ "end": true })).await?;
    same("known in part", state["book"]["partialSince"].is_string(), true)?;
    all(&mut browser, "partial").await?;
    browser.console_is_clean().await
}

/// Importing, connecting, loading, behind; a query that is refused, bytes that are no rows, a connection that is lost; a book that its
/// source calls doubtful.
pub async fn what_takes_long_and_what_fails(driver: &Driver) -> Result<(), String> {
    let file = server::root().join("target/test/long.mbo.dbn");
    made::orders(&file, (1..=2_500_000).map(order))?;
    let files: Vec<PathBuf> = vec![file];
    let server = Server::start(&files, &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", proxy.address)).await?;
    shown(&browser, "document.querySelector('.imports progress')").await?;
    // The import stands while the pictures are taken.
    server.stop_for_a_while()?;
    all(&mut browser, "importing").await?;
    server.go_on()?;
    let state = browser.ready().await?;
    open_all(&browser, &state).await?;
    seek(&browser, &(made::START + 2_000_000_000).to_string()).await?;

    // The proxy answers a query in the server's place, so it must be one whose words the page has been told before.
    for (fault, name) in [(Fault::SqlError, "refused-query"), (Fault::Garbage, "failed")] {
        proxy.fail(fault);
        browser.command(json!({ "speed": "max" })).await?;
        let _ = browser.command(json!({ "play": true })).await;
        browser.until(name, Duration::from_secs(60), |state| state["status"] == "failed").await?;
        all(&mut browser, name).await?;
        browser.run("document.querySelector('.banner details').open = true").await?;
        all(&mut browser, &format!("{name}-details")).await?;
        proxy.refuse(false);
        browser.command(json!({ "pause": true })).await?;
        browser.command(json!({ "reconnect": true })).await?;
        browser.until("a connection again", Duration::from_secs(30), |state| state["error"].is_null() && state["status"] == "paused").await?;
    }
    proxy.hold(true);
    browser.command(json!({ "speed": 600 })).await?;
    browser.command(json!({ "play": true })).await?;
    shown(&browser, "document.querySelector('.behind:not([hidden])')").await?;
    all(&mut browser, "behind").await?;
    browser.command(json!({ "pause": true })).await?;
    browser.press("End").await?;
    browser.until("loading", Duration::from_secs(20), |state| state["status"] == "loading").await?;
    all(&mut browser, "loading").await?;
    proxy.refuse(true);
    drop(server);
    proxy.hold(false);
    browser.until("disconnected", Duration::from_secs(20), |state| state["status"] == "disconnected").await?;
    all(&mut browser, "disconnected").await?;

    let doubtful = server::root().join("target/test/doubtful.mbo.dbn");
    made::orders(&doubtful, (1..=60).map(|id| Order { doubtful: id > 50, ..order(id) }))?;
    let server = Server::start(&[doubtful], &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    proxy.hold(true);
    browser.open(&format!("http://{}/", proxy.address)).await?;
    tokio::time::sleep(Duration::from_millis(600)).await;
    all(&mut browser, "connecting").await?;
    proxy.hold(false);
    browser.ready().await?;
    let state = browser.command(json!({ "end": true })).await?;
    same("stale", &state["book"]["stale"], &json!(true))?;
    all(&mut browser, "stale").await?;
    browser.console_is_clean().await
}

fn order(id: u64) -> Order {
    Order { instrument: 41, after: id * 240_000, action: b'A', id, size: 1 + (id % 7) as u32, ends_group: true, doubtful: false }
}

/// A server and the page, whatever it shows.
async fn visited(driver: &Driver, files: &[PathBuf]) -> Result<(Server, Browser), String> {
    let server = Server::start(files, &[]).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", server.address)).await?;
    Ok((server, browser))
}

/// Waits until an expression of the page is true.
async fn shown(browser: &Browser, what: &str) -> Result<(), String> {
    let start = Instant::now();
    while browser.run(&format!("return !!({what})")).await? != json!(true) {
        if start.elapsed() > Duration::from_secs(30) {
            return Err(format!("{what} does not come; the state: {}", browser.state().await?));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    Ok(())
}

async fn all(browser: &mut Browser, name: &str) -> Result<(), String> {
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
