//! Time and sales of the ES day, line by line against the trades of the file.

use std::path::Path;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::{open_all, opened, same, seek, with_data};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::server::Server;
use crate::truth::{self, Trade};

/// Height of a line.
const LINE: usize = 18;

/// The lines in view: time, mark, price, size; digits without group separators.
const LINES: &str = "return [...document.querySelectorAll('.tape tbody tr[data-side]')]
    .map(row => [...row.cells].map(cell => cell.textContent.replace(/[\\u2009\\s]/g, '')))";

/// Scrolled from one end to the other, the tape shows every trade of the file, in its order, with its time, side, price and size.
pub async fn every_trade_of_the_day_stands_on_the_tape_once(driver: &Driver) -> Outcome {
    with_data!(data);
    every_trade(driver, &data).await.into()
}

async fn every_trade(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, trades) = es_day(driver, data).await?;
    browser.command(json!({ "end": true })).await?;
    let newest_first: Vec<[String; 4]> = trades.iter().rev().map(texts).collect();
    same("trades of the tape", tally(&browser).await?, [trades.len(), trades.len()])?;
    let mut seen = 0;
    while seen < newest_first.len() {
        scroll(&browser, seen * LINE).await?;
        // At the end the window cannot be scrolled further: its last line is the oldest trade.
        let lines = until_lines(&browser, |lines| lines.iter().any(|line| *line == newest_first[seen])).await?;
        let at = lines.iter().position(|line| *line == newest_first[seen]).unwrap_or_default();
        let first = seen - at;
        same("lines", &lines[..], &newest_first[first..(first + lines.len()).min(newest_first.len())])?;
        seen = first + lines.len();
    }
    println!("{} trades of the file stand on the tape, in {} lines of the document", trades.len(), 128);
    browser.console_is_clean().await
}

/// The script that writes a size into the tape's field.
fn with_size(least: &str) -> String {
    format!(
        "const field = document.querySelector('.tape input'); field.value = '{least}'; field.dispatchEvent(new Event('change', {{ bubbles: true }}));"
    )
}

/// With a size, the trades below it are left out and counted out.
pub async fn a_size_leaves_only_the_trades_that_have_it(driver: &Driver) -> Outcome {
    with_data!(data);
    filtered(driver, &data).await.into()
}

async fn filtered(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, trades) = es_day(driver, data).await?;
    browser.command(json!({ "end": true })).await?;
    for least in [1, 5, 20, 1_000] {
        browser.run(&with_size(&least.to_string())).await?;
        let passing: Vec<&Trade> = trades.iter().filter(|trade| trade.size >= least).collect();
        let start = Instant::now();
        while tally(&browser).await? != [passing.len(); 2] {
            if start.elapsed() > Duration::from_secs(20) {
                return Err(format!("of size {least} there are {} trades; the tape says {:?}", passing.len(), tally(&browser).await?));
            }
        }
        let newest: Vec<[String; 4]> = passing.iter().rev().map(|trade| texts(trade)).collect();
        let lines = until_lines(&browser, |lines| lines.first() == newest.first()).await?;
        same("lines", &lines[..], &newest[..lines.len().min(newest.len())])?;
        same("lines where there are no trades", lines.is_empty(), newest.is_empty())?;
    }
    let said = browser.run("return document.querySelector('.tape .nothing:not([hidden])')?.innerText ?? ''").await?;
    same(
        "what an empty tape says",
        said.as_str().map(|said| said.replace('\u{2009}', " ")),
        Some("No trades of 1 000 or more in this range".to_owned()),
    )?;
    // What is no size is refused, and says so.
    browser.run(&with_size("many")).await?;
    let refusal = browser.run("return document.querySelector('.tape .refusal').innerText").await?;
    same("a refusal", refusal.as_str().is_some_and(|text| text.contains("many is no size")), true)?;
    browser.console_is_clean().await
}

/// A click, or Enter, goes to the moment just after the trade of its line, though others share its time.
pub async fn a_click_on_a_trade_goes_to_just_after_it(driver: &Driver) -> Outcome {
    with_data!(data);
    clicked(driver, &data).await.into()
}

async fn clicked(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, trades) = es_day(driver, data).await?;
    // One of several trades of one time, one in the middle, one near the start.
    let tied = trades.windows(2).position(|pair| pair[0].time == pair[1].time).ok_or("no two trades share a time")?;
    for number in [tied, trades.len() / 2, 3] {
        browser.command(json!({ "end": true })).await?;
        browser.run("document.querySelector('.tape .newer:not([hidden])')?.click()").await?;
        browser.until("the end", Duration::from_secs(30), |state| state["status"] == "ended").await?;
        let line = trades.len() - 1 - number;
        scroll(&browser, line * LINE).await?;
        let wanted = texts(&trades[number]);
        // The first of those that look the same is not the one: the line is counted.
        let lines = until_lines(&browser, |lines| lines.contains(&wanted)).await?;
        let scrolled = browser.run("return document.querySelector('.tape .scroll').scrollTop").await?.as_f64().unwrap_or_default();
        let at = line - (scrolled / LINE as f64).round() as usize;
        same("the line", lines.get(at), Some(&wanted))?;
        let [left, top, width, height] = browser.area(&format!(".tape tr[data-line='{at}']")).await?;
        browser.drag(&[(left + width / 2.0, top + height / 2.0)]).await?;
        let moment = format!("{}/{}", trades[number].time, trades[number].ordinal);
        let state = browser
            .until(&format!("the moment {moment}"), Duration::from_secs(30), |state| state["asOf"] == json!(moment) && state["seeking"].is_null())
            .await?;
        let there = seek(&browser, &moment).await?;
        same("digest", &state["book"]["digest"], &there["book"]["digest"])?;
    }
    browser.console_is_clean().await
}

/// While it plays, lines that were scrolled to stay; what came meanwhile is counted exactly and reached by the button.
pub async fn scrolled_away_the_lines_stand_still_and_what_waits_is_counted(driver: &Driver) -> Outcome {
    with_data!(data);
    scrolled_away(driver, &data).await.into()
}

async fn scrolled_away(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, trades) = es_day(driver, data).await?;
    let middle = trades.len() / 2;
    seek(&browser, &format!("{}/{}", trades[middle].time, trades[middle].ordinal)).await?;
    // Everything with that moment's time up to it has passed; `middle` is the newest line.
    until_lines(&browser, |lines| lines.first() == Some(&texts(&trades[middle]))).await?;
    scroll(&browser, 10 * LINE).await?;
    let lines = until_lines(&browser, |lines| lines.first() == Some(&texts(&trades[middle - 10]))).await?;
    same("newer", newer(&browser).await?, Some(10))?;
    browser.command(json!({ "speed": 600 })).await?;
    browser.command(json!({ "play": true })).await?;
    browser
        .until("more trades", Duration::from_secs(60), |state| {
            state["asOf"].as_str().is_some_and(|at| at > trades[middle + 200].time.to_string().as_str())
        })
        .await?;
    same("the lines while it plays", &lines_of(&browser).await?, &lines)?;
    browser.command(json!({ "pause": true })).await?;
    let state = browser.ready().await?;
    let at = state["asOf"].as_str().unwrap_or_default().to_owned();
    let passed = trades.iter().filter(|trade| passed(trade, &at)).count();
    let start = Instant::now();
    while newer(&browser).await? != Some(passed - 1 - (middle - 10)) {
        if start.elapsed() > Duration::from_secs(10) {
            return Err(format!("at {at} {passed} trades have passed; the tape says {:?} are newer than {}", newer(&browser).await?, middle - 10));
        }
    }
    same("the lines after it", &lines_of(&browser).await?, &lines)?;
    println!("{} trades waited", passed - 1 - (middle - 10));
    browser.run("document.querySelector('.tape .newer').click()").await?;
    until_lines(&browser, |lines| lines.first() == Some(&texts(&trades[passed - 1]))).await?;
    same("newer at the newest", newer(&browser).await?, None)?;
    browser.console_is_clean().await
}

/// Shift with the arrows goes from trade to trade, Alt with the arrows by seconds.
pub async fn keys_go_from_trade_to_trade_and_by_seconds(driver: &Driver) -> Outcome {
    with_data!(data);
    stepped(driver, &data).await.into()
}

async fn stepped(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, trades) = es_day(driver, data).await?;
    let moment = |number: usize| format!("{}/{}", trades[number].time, trades[number].ordinal);
    let middle = trades.len() / 2;
    seek(&browser, &moment(middle)).await?;
    for (key, number) in
        [("Shift+ArrowRight", middle + 1), ("Shift+ArrowRight", middle + 2), ("Shift+ArrowLeft", middle + 1), ("Shift+ArrowLeft", middle)]
    {
        browser.press(key).await?;
        let there = |state: &Value| state["asOf"] == json!(moment(number)) && state["seeking"].is_null();
        browser.until(&format!("trade {number} after {key}"), Duration::from_secs(10), there).await?;
    }
    browser.press("Alt+ArrowRight").await?;
    let later = (trades[middle].time + 1_000_000_000).to_string();
    browser.until("a second later", Duration::from_secs(10), |state| state["asOf"] == json!(later)).await?;
    browser.press("Alt+ArrowLeft").await?;
    browser.until("a second back", Duration::from_secs(10), |state| state["asOf"] == json!(trades[middle].time.to_string())).await?;
    browser.press("End").await?;
    browser.until("the end", Duration::from_secs(20), |state| state["status"] == "ended").await?;
    browser.press("Shift+ArrowRight").await?;
    let start = Instant::now();
    while browser.run("return document.querySelector('.refusal[role=status]').textContent").await?
        != json!("No trade comes after this moment in the range")
    {
        if start.elapsed() > Duration::from_secs(10) {
            return Err("that there is no next trade is not said".to_owned());
        }
    }
    browser.console_is_clean().await
}

async fn es_day(driver: &Driver, data: &Path) -> Result<(Server, Browser, Vec<Trade>), String> {
    let files = &truth::es_mbo(data)[1..];
    let (server, browser, state) = opened(driver, files, &[]).await?;
    open_all(&browser, &state).await?;
    Ok((server, browser, truth::trades(&files[0])?))
}

/// Whether a trade lies at or before a moment (`ns` or `ns/k`).
fn passed(trade: &Trade, at: &str) -> bool {
    let (time, ordinal) = at.split_once('/').map_or((at, usize::MAX), |(time, k)| (time, k.parse().unwrap_or(usize::MAX)));
    let time: u64 = time.parse().unwrap_or_default();
    (trade.time, trade.ordinal) <= (time, ordinal)
}

fn texts(trade: &Trade) -> [String; 4] {
    let nanos = trade.time % 86_400_000_000_000;
    let (seconds, part) = (nanos / 1_000_000_000, nanos % 1_000_000_000);
    let time = format!("{:02}:{:02}:{:02}.{part:09}", seconds / 3_600, seconds / 60 % 60, seconds % 60);
    // Prices of the day have two decimals.
    let price = format!("{}.{:02}", trade.price / 1_000_000_000, trade.price % 1_000_000_000 / 10_000_000);
    [time, trade.mark.to_owned(), price, trade.size.to_string()]
}

async fn lines_of(browser: &Browser) -> Result<Vec<[String; 4]>, String> {
    let lines = browser.run(LINES).await?;
    serde_json::from_value(lines.clone()).map_err(|error| format!("{error}: {lines}"))
}

/// The lines once they satisfy a condition, and nothing of them is on its way.
async fn until_lines(browser: &Browser, condition: impl Fn(&[[String; 4]]) -> bool) -> Result<Vec<[String; 4]>, String> {
    let start = Instant::now();
    loop {
        let busy = browser.run("return document.querySelector('.tape').hasAttribute('data-busy')").await? == json!(true);
        let lines = lines_of(browser).await?;
        if !busy && condition(&lines) {
            return Ok(lines);
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("the tape does not come to it (busy: {busy}): {lines:?}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

async fn scroll(browser: &Browser, pixels: usize) -> Result<(), String> {
    browser.run(&format!("document.querySelector('.tape .scroll').scrollTop = {pixels}")).await.map(|_| ())
}

/// Trades passed and in the range, as the head says.
async fn tally(browser: &Browser) -> Result<[usize; 2], String> {
    let start = Instant::now();
    loop {
        let said = browser.run("return document.querySelector('.tape .tally').textContent.replace(/\\u2009/g, '')").await?;
        let counts: Option<Vec<usize>> = said.as_str().and_then(|said| said.split(" of ").map(|count| count.parse().ok()).collect());
        if let Some([passed, total]) = counts.as_deref() {
            return Ok([*passed, *total]);
        }
        if start.elapsed() > Duration::from_secs(20) {
            return Err(format!("the tape says {said}"));
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

/// How many trades are said to be newer than the lines in view.
async fn newer(browser: &Browser) -> Result<Option<usize>, String> {
    let said = browser.run("return document.querySelector('.tape .newer:not([hidden])')?.textContent.replace(/\\u2009/g, '') ?? null").await?;
    match said {
        Value::Null => Ok(None),
        said => {
            let count = said.as_str().and_then(|said| said.strip_suffix(" newer ▲")?.parse().ok());
            count.map(Some).ok_or_else(|| format!("the tape says {said}"))
        }
    }
}
