//! Memory of WebAssembly never shrinks, so a worker that grew is replaced: for another store, and where it stands when it grew past
//! what it may keep.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{open_all, opened, same, with_data};
use crate::Outcome;
use crate::browser::Driver;
use crate::made::{self, Order};
use crate::server::{self, Server, terminal};
use crate::truth;

/// A store that the user types the address of is opened in a new worker; speed and playing go on.
pub async fn another_store_is_opened_in_a_new_worker(driver: &Driver) -> Outcome {
    with_data!(data);
    another_store(driver, &data).await.into()
}

async fn another_store(driver: &Driver, data: &Path) -> Result<(), String> {
    let (first, mut browser, state) = opened(driver, &truth::es_mbo(data)[1..], &[]).await?;
    let file = server::root().join("target/test/another.mbo.dbn");
    made::hour(&file)?;
    let second = Server::start(&[file], &["--allow-host", &first.address]).await?;
    open_all(&browser, &state).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    browser.until("the end", Duration::from_secs(90), |state| state["status"] == "ended").await?;
    browser.command(json!({ "speed": 100 })).await?;
    browser.press("Home").await?;
    browser.until("the start", Duration::from_secs(60), |state| state["status"] == "paused" && state["seeking"].is_null()).await?;
    browser.press(" ").await?;
    browser.until("playing", Duration::from_secs(10), |state| state["status"] == "playing").await?;

    browser.run("window.begun = 0; window.Worker = class extends Worker { constructor(...given) { super(...given); window.begun += 1; } };").await?;
    let choose = "const picker = document.querySelector('select[aria-label=Source]');
        picker.value = [...picker.options].find(option => option.text.startsWith('Connect')).value;
        picker.dispatchEvent(new Event('change', { bubbles: true }));";
    browser.run(choose).await?;
    let submit = format!(
        "const form = document.querySelector('dialog[open] form');
         form.querySelector('input').value = 'http://{}';
         form.requestSubmit();",
        second.address
    );
    browser.run(&submit).await?;
    let other = browser
        .until("the other store", Duration::from_secs(60), |state| state["source"] == json!(second.address) && state["status"] == "playing")
        .await
        .map_err(|why| format!("{why}\nthe second server said:\n{}", second.output()))?;
    same("speed", &other["speed"], &json!(100))?;
    same("kind of book", &other["book"]["kind"], &json!("L3"))?;
    same("workers begun for it", &browser.run("return window.begun").await?, &json!(1))?;
    // And back by the picker, which now lists both.
    let back = "const picker = document.querySelector('select[aria-label=Source]');
        picker.value = 'embedded';
        picker.dispatchEvent(new Event('change', { bubbles: true }));
        return picker.options.length;";
    same("entries of the picker", &browser.run(back).await?, &json!(4))?;
    browser.until("the first store again", Duration::from_secs(60), |state| state["source"] == "embedded" && !state["book"].is_null()).await?;
    browser.console_is_clean().await?;
    Ok(())
}

/// Orders that come and go in one event group: it is applied only as a whole.
const TIED_PAIRS: u64 = 1_500_000;
const LATER: u64 = 20_000;

/// An event group of more rows than the budget holds makes the worker grow; behind it the worker is replaced by one that goes on from its
/// book, so that the group's rows are not fetched again, and the book is the same.
pub async fn a_worker_that_outgrew_its_budget_is_replaced_where_it_stands(driver: &Driver) -> Result<(), String> {
    let file = server::root().join("target/test/tied.mbo.dbn");
    made::orders(&file, tied())?;
    let (_server, mut browser, state) = opened(driver, std::slice::from_ref(&file), &[]).await?;
    open_all(&browser, &state).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    let wasm = |state: &Value| state["counters"]["wasmBytes"].as_u64().unwrap_or(0);
    let (mut most, mut rows_before) = (0, 0);
    let mut replaced = false;
    let mut last = Value::Null;
    for _ in 0..1_200 {
        let state = match browser.state().await {
            Ok(state) => state,
            // A question that the old worker did not come to answer.
            Err(why) if why.contains("the worker was restarted") => continue,
            Err(why) => return Err(why),
        };
        let rows = state["counters"]["rows"].as_u64().unwrap_or(0);
        replaced |= rows < rows_before && wasm(&state) < most;
        most = most.max(wasm(&state));
        rows_before = rows;
        let over = replaced && state["status"] == "ended";
        last = state;
        if over {
            break;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    if !replaced {
        return Err(format!("the worker grew to {most} bytes and was not replaced: {last}"));
    }
    println!("the worker grew to {} MiB, was replaced, and ended at {} MiB", most >> 20, wasm(&last) >> 20);
    if wasm(&last) > most / 2 {
        return Err("the new worker grew again".to_owned());
    }
    same("status", &last["status"], &json!("ended"))?;
    same("events of the book", &last["book"]["event"], &json!((2 * TIED_PAIRS + LATER + 1).to_string()))?;
    let at = last["asOf"].as_str().unwrap_or_default().to_owned();
    let printed = terminal(&["book", &file.display().to_string(), "--at", &at, "--format", "json"]).await?;
    same("digest, page and terminal", &last["book"]["digest"], &printed["digest"])?;
    browser.console_is_clean().await?;
    Ok(())
}

/// Pairs of an order and its cancel in one group; then orders a microsecond apart, with no snapshot to begin at.
fn tied() -> impl Iterator<Item = Order> {
    let order =
        |id: u64, after: u64, action: u8, size: u32, ends_group: bool| Order { instrument: 7, after, action, id, size, ends_group, doubtful: false };
    let pairs = (1..=TIED_PAIRS).flat_map(move |id| [order(id, 1_000, b'A', 5, false), order(id, 1_000, b'C', 5, id == TIED_PAIRS)]);
    pairs.chain((1..=LATER).map(move |n| order(TIED_PAIRS + n, 1_000_000 + n * 1_000, b'A', 3, true)))
}
