//! Memory of WebAssembly never shrinks, so a worker that grew is replaced: for another store, and where it stands when it grew past
//! what it may keep.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use dbn::encode::{DbnEncoder, EncodeRecord};
use dbn::{FlagSet, MboMsg, Metadata, RecordHeader, SType, Schema, flags, rtype};
use serde_json::{Value, json};

use super::{open_all, opened, same, with_data};
use crate::Outcome;
use crate::browser::Driver;
use crate::server::{self, Server, terminal};
use crate::truth;

/// A store that the user types the address of is opened in a new worker; speed and playing go on.
pub async fn another_store_is_opened_in_a_new_worker(driver: &Driver) -> Outcome {
    with_data!(data);
    another_store(driver, &data).await.into()
}

async fn another_store(driver: &Driver, data: &Path) -> Result<(), String> {
    let (first, mut browser, state) = opened(driver, &truth::es_mbo(data)[1..], &[]).await?;
    let second = Server::start(&[], &["--allow-host", &first.address]).await?;
    open_all(&browser, &state).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    let ended = browser.until("the end", Duration::from_secs(90), |state| state["status"] == "ended").await?;
    browser.command(json!({ "speed": 100 })).await?;
    browser.press("Home").await?;
    browser.until("the start", Duration::from_secs(60), |state| state["status"] == "paused" && state["seeking"].is_null()).await?;
    browser.press(" ").await?;
    browser.until("playing", Duration::from_secs(10), |state| state["status"] == "playing").await?;

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
    // Counters only grow in the life of a worker.
    let rows = |state: &Value| state["counters"]["rows"].as_u64().unwrap_or(0);
    if rows(&other) >= rows(&ended) {
        return Err(format!("the counters went on from {} to {} rows: it is the same worker", rows(&ended), rows(&other)));
    }
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
const TIED_PAIRS: u64 = 500_000;
const LATER: u64 = 20_000;

/// An event group of more rows than the budget holds makes the worker grow; behind it the worker is replaced, and the book is the same.
pub async fn a_worker_that_outgrew_its_budget_is_replaced_where_it_stands(driver: &Driver) -> Result<(), String> {
    let file = server::root().join("target/test/tied.mbo.dbn");
    write_tied(&file).map_err(|why| format!("{}: {why}", file.display()))?;
    let (_server, mut browser, state) = opened(driver, std::slice::from_ref(&file), &[]).await?;
    open_all(&browser, &state).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    let wasm = |state: &Value| state["counters"]["wasmBytes"].as_u64().unwrap_or(0);
    let (mut most, mut rows_before) = (0, 0);
    let mut replaced = false;
    let mut last = Value::Null;
    for _ in 0..1_200 {
        let state = browser.state().await?;
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
    let budget = last["counters"]["historyBudgetBytes"].as_u64().unwrap_or(0);
    if wasm(&last) > budget + budget / 2 {
        return Err(format!("after it was replaced the worker takes {} bytes, of a budget of {budget}", wasm(&last)));
    }
    println!("the worker grew to {} MiB, was replaced, and ended at {} MiB", most >> 20, wasm(&last) >> 20);
    same("status", &last["status"], &json!("ended"))?;
    same("events of the book", &last["book"]["event"], &json!((2 * TIED_PAIRS + LATER + 1).to_string()))?;
    let at = last["asOf"].as_str().unwrap_or_default().to_owned();
    let printed = terminal(&["book", &file.display().to_string(), "--at", &at, "--format", "json"]).await?;
    same("digest, page and terminal", &last["book"]["digest"], &printed["digest"])?;
    browser.console_is_clean().await?;
    Ok(())
}

/// A clear, then pairs of an order and its cancel in one group, then orders a microsecond apart.
fn write_tied(path: &PathBuf) -> Result<(), Box<dyn std::error::Error>> {
    const START: u64 = 1_715_175_000_000_000_000;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let metadata = Metadata::builder()
        .dataset("TEST")
        .schema(Some(Schema::Mbo))
        .start(START)
        .stype_in(Some(SType::RawSymbol))
        .stype_out(SType::InstrumentId)
        .build();
    let mut encoder = DbnEncoder::new(std::io::BufWriter::new(File::create(path)?), &metadata)?;
    let mut sequence = 0;
    let mut record = |time: u64, action: u8, side: u8, order_id: u64, price: i64, size: u32| -> Result<(), dbn::Error> {
        sequence += 1;
        let ends_group = order_id == 0 || order_id >= TIED_PAIRS && action != b'A' || order_id > TIED_PAIRS;
        encoder.encode_record(&MboMsg {
            hd: RecordHeader::new::<MboMsg>(rtype::MBO, 1, 7, time),
            order_id,
            price,
            size,
            flags: FlagSet::new(if ends_group { flags::LAST } else { 0 }),
            channel_id: 0,
            action: action as std::ffi::c_char,
            side: side as std::ffi::c_char,
            ts_recv: time,
            ts_in_delta: 0,
            sequence,
        })
    };
    record(START, b'R', b'N', 0, dbn::UNDEF_PRICE, 0)?;
    let price = |id: u64| 1_000_000_000 * if id.is_multiple_of(2) { 100 - (id % 20) as i64 } else { 101 + (id % 20) as i64 };
    let side = |id: u64| if id.is_multiple_of(2) { b'B' } else { b'A' };
    for id in 1..=TIED_PAIRS {
        record(START + 1_000, b'A', side(id), id, price(id), 5)?;
        record(START + 1_000, b'C', side(id), id, price(id), 5)?;
    }
    for id in TIED_PAIRS + 1..=TIED_PAIRS + LATER {
        record(START + 1_000_000 + (id - TIED_PAIRS) * 1_000, b'A', side(id), id, price(id), 3)?;
    }
    Ok(())
}
