//! The books of the ES day, at moments where they are known.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{opened, same, seek, with_data};
use crate::browser::{Browser, Driver};
use crate::server::{Server, terminal};
use crate::truth::{Known, es_books, es_mbo};
use crate::{Outcome, truth};

/// Which of the 95 known books are looked at: the first (in the pre-open, crossed), others over the day, the last.
const CHOSEN: [usize; 5] = [0, 1, 24, 60, 94];

async fn es_day(driver: &Driver, data: &Path) -> Result<(Server, Browser, Vec<Known>), String> {
    let file = es_mbo(data)[1].clone();
    let (server, browser, _) = opened(driver, &[file], &[]).await?;
    Ok((server, browser, es_books(data)?))
}

/// The ten levels in the state and on the screen, and the digest of the terminal.
pub async fn five_moments_of_the_es_day_show_the_known_books(driver: &Driver) -> Outcome {
    with_data!(data);
    known_books(driver, &data).await.into()
}

async fn known_books(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, mut browser, books) = es_day(driver, data).await?;
    let file = truth::es_mbo(data)[1].display().to_string();
    // Not in order: forwards, far back, and forwards again.
    for index in [CHOSEN[2], CHOSEN[4], CHOSEN[0], CHOSEN[3], CHOSEN[1]] {
        let known = &books[index];
        let state = seek(&browser, &known.moment).await?;
        if let Some(difference) = known.difference(&state["book"]) {
            return Err(difference);
        }
        drawn(&browser, known).await?;
        let printed = terminal(&["book", &file, "--at", &known.moment, "--depth", "10", "--format", "json"]).await?;
        same(&format!("digest at {}, page and terminal", known.moment), &state["book"]["digest"], &printed["digest"])?;
        if state["book"]["digest"].as_str().is_none_or(|digest| digest.len() != 16) {
            return Err(format!("no digest at {}: {}", known.moment, state["book"]));
        }
    }
    browser.console_is_clean().await?;
    Ok(())
}

/// Whether the first ten rows a side of the drawn ladder are the known book. It is drawn at the next frame.
async fn drawn(browser: &Browser, known: &Known) -> Result<(), String> {
    let mut last = None;
    for _ in 0..40 {
        last = known.difference(&browser.ladder().await?);
        if last.is_none() {
            return Ok(());
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    Err(format!("on the screen: {}", last.unwrap_or_default()))
}

/// A book played up to is the book sought, and the book on the way back.
pub async fn playing_over_a_moment_and_seeking_back_give_one_digest(driver: &Driver) -> Outcome {
    with_data!(data);
    played_over(driver, &data).await.into()
}

async fn played_over(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, browser, books) = es_day(driver, data).await?;
    let sought = seek(&browser, &books[CHOSEN[3]].moment).await?;
    let digest = sought["book"]["digest"].clone();
    seek(&browser, &books[CHOSEN[2]].moment).await?;
    browser.command(json!({ "speed": 10_000 })).await?;
    browser.command(json!({ "play": true })).await?;
    let event = |state: &Value| state["book"]["event"].as_str().and_then(|event| event.parse::<u64>().ok()).unwrap_or(0);
    let wanted = event(&sought);
    browser.until("the moment to be played over", Duration::from_secs(90), |state| event(state) > wanted || state["status"] == "ended").await?;
    browser.command(json!({ "pause": true })).await?;
    let back = seek(&browser, &books[CHOSEN[3]].moment).await?;
    same("digest after playing over it", &back["book"]["digest"], &digest)?;
    same("events applied there", event(&back), wanted)?;
    match books[CHOSEN[3]].difference(&back["book"]) {
        Some(difference) => Err(difference),
        None => Ok(()),
    }
}

/// Ten groups forward and ten back.
pub async fn steps_forward_and_back_come_to_the_same_book(driver: &Driver) -> Outcome {
    with_data!(data);
    stepped(driver, &data).await.into()
}

async fn stepped(driver: &Driver, data: &Path) -> Result<(), String> {
    let (_server, browser, books) = es_day(driver, data).await?;
    let start = seek(&browser, &books[CHOSEN[2]].moment).await?;
    let mut passed = vec![start];
    for _ in 0..10 {
        passed.push(step(&browser, 1, &passed[passed.len() - 1]).await?);
    }
    while let Some(there) = passed.pop() {
        let Some(wanted) = passed.last() else { break };
        let back = step(&browser, -1, &there).await?;
        same("digest after a step back", &back["book"]["digest"], &wanted["book"]["digest"])?;
        same("events applied after a step back", &back["book"]["event"], &wanted["book"]["event"])?;
    }
    Ok(())
}

async fn step(browser: &Browser, by: i8, from: &Value) -> Result<Value, String> {
    browser.command(json!({ "step": "group", "by": by })).await?;
    browser.until("a step", Duration::from_secs(20), |state| state["asOf"] != from["asOf"] && state["seeking"].is_null()).await
}
