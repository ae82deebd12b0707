//! The ways in: the first visit, a file given to the page, a reload.

use std::time::Duration;

use serde_json::{Value, json};

use super::{opened, same, seek};
use crate::browser::Driver;
use crate::made::{self, Order};
use crate::server::{self, Server};

/// Four orders of one instrument and two of another.
fn few() -> impl Iterator<Item = Order> {
    (1..=6).map(|id| Order {
        instrument: if id <= 4 { 41 } else { 42 },
        after: id * 1_000,
        action: b'A',
        id,
        size: 5,
        ends_group: true,
        doubtful: false,
    })
}

/// Several tables are a choice: one sentence, a button for each instrument, the two other ways in, and no book behind them.
pub async fn several_tables_are_offered_by_their_instruments(driver: &Driver) -> Result<(), String> {
    let files = ["few.mbo.dbn", "few.trades.dbn"].map(|name| server::root().join("target/test").join(name));
    made::orders(&files[0], few())?;
    made::trades(&files[1], &[41, 42])?;
    let server = Server::start(&files, &[]).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", server.address)).await?;
    let buttons = "return [...document.querySelectorAll('.welcome .group button')].map(button => button.innerText.replace(/\\s+/g, ' '))";
    let start = std::time::Instant::now();
    loop {
        let shown = browser.run(buttons).await?;
        // A clear and the orders, and behind them the table without a book.
        if shown == json!(["41 5 events", "42 3 events", "41 1 event", "42 1 event"]) {
            break;
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("the instruments are not offered: {shown}; the state: {}", browser.state().await?));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let state = browser.state().await?;
    same("nothing is open", &state["table"], &Value::Null)?;
    browser.run("document.querySelector('.welcome .group button').click()").await?;
    browser.until("the table", Duration::from_secs(20), |state| state["table"].is_string()).await?;
    same("the choice is gone", browser.run("return !!document.querySelector('.welcome')").await?, json!(false))?;
    browser.console_is_clean().await
}

/// A file that is dropped on the page is sent, imported, and opened; one that is none says why.
pub async fn a_file_dropped_on_the_page_is_opened(driver: &Driver) -> Result<(), String> {
    let (_server, mut browser, first) = super::opened(driver, &[], &[]).await?;
    let file = server::root().join("target/test/dropped.mbo.dbn");
    made::orders(&file, few())?;
    let bytes = std::fs::read(&file).map_err(|error| format!("{}: {error}", file.display()))?;
    let drop = |name: &str, bytes: &[u8]| {
        format!(
            "const data = new DataTransfer();
             data.items.add(new File([new Uint8Array({})], {}));
             document.body.dispatchEvent(new DragEvent('dragover', {{ dataTransfer: data, bubbles: true, cancelable: true }}));
             document.body.dispatchEvent(new DragEvent('drop', {{ dataTransfer: data, bubbles: true, cancelable: true }}));",
            json!(bytes),
            json!(name)
        )
    };
    browser.run(&drop("dropped.mbo.dbn", &bytes)).await?;
    let opened = browser
        .until("the table of the file", Duration::from_secs(30), |state| state["table"] != first["table"] && state["book"].is_object())
        .await?;
    same("instrument", &opened["symbols"], &json!(["41"]))?;
    browser.run(&drop("notes.txt", b"these are no ticks")).await?;
    let start = std::time::Instant::now();
    loop {
        let said = browser.run("return document.querySelector('.imports li[data-failed]')?.innerText ?? ''").await?;
        if said.as_str().is_some_and(|said| said.contains("notes.txt was not opened: ")) {
            break;
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("the refusal is not shown: {said}"));
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    same("the open table", &browser.state().await?["table"], &opened["table"])?;
    browser.console_is_clean_but_for(&["/api/files"]).await
}

/// A reload shows the moment that was on screen, at rest, with the speed that was chosen.
pub async fn a_reload_keeps_the_place(driver: &Driver) -> Result<(), String> {
    let (server, mut browser, state) = opened(driver, &[], &[]).await?;
    let from: i64 = state["catalogue"]["bounds"]["from"].as_str().and_then(|from| from.parse().ok()).ok_or("no bounds")?;
    let range = json!({ "from": (from + 1_000_000_000).to_string(), "to": (from + 900_000_000_000_i64).to_string() });
    browser.command(json!({ "open": { "table": state["table"], "symbols": state["symbols"], "range": range } })).await?;
    browser.until("the range", Duration::from_secs(30), |state| state["range"] == range).await?;
    browser.ready().await?;
    browser.command(json!({ "speed": 60 })).await?;
    let before = seek(&browser, &(from + 300_000_000_000_i64).to_string()).await?;
    // Kept with the counters, four times a second.
    let at = before["asOf"].as_str().unwrap_or_default().to_owned();
    let start = std::time::Instant::now();
    while browser.run(&format!("return (sessionStorage.getItem('tickscope.place') ?? '').includes('\"at\":\"{at}\"')")).await? != json!(true) {
        if start.elapsed() > Duration::from_secs(10) {
            return Err("the place is not kept".to_owned());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    browser.open(&format!("http://{}/", server.address)).await?;
    let after = browser.ready().await?;
    for key in ["source", "table", "symbols", "range", "asOf", "speed", "status"] {
        same(key, &after[key], &before[key])?;
    }
    same("digest", &after["book"]["digest"], &before["book"]["digest"])?;
    browser.console_is_clean().await
}
