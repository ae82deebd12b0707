//! What the page does when the store fails: a named state, the last frame kept, and a way back.

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use super::{same, with_data};
use crate::Outcome;
use crate::browser::{Browser, Driver};
use crate::proxy::{Fault, Proxy};
use crate::server::Server;
use crate::truth;

/// The server's process ends while half a message is out.
pub async fn a_server_that_dies_in_mid_message_leaves_the_last_frame(driver: &Driver) -> Outcome {
    with_data!(data);
    fails_and_comes_back(driver, &data, Fault::Cut, "disconnected", &[]).await.into()
}

/// Bytes that are no rows.
pub async fn garbage_is_named_with_its_place(driver: &Driver) -> Outcome {
    with_data!(data);
    fails_and_comes_back(driver, &data, Fault::Garbage, "failed", &["code", "what", "where", "todo"]).await.into()
}

/// A close frame in the middle of a result.
pub async fn a_server_that_says_goodbye_is_reconnected_to(driver: &Driver) -> Outcome {
    with_data!(data);
    fails_and_comes_back(driver, &data, Fault::Close, "disconnected", &[]).await.into()
}

/// The query is answered with an error.
pub async fn an_sql_error_is_shown_with_its_position(driver: &Driver) -> Outcome {
    with_data!(data);
    fails_and_comes_back(driver, &data, Fault::SqlError, "failed", &["what", "where", "todo"]).await.into()
}

async fn fails_and_comes_back(driver: &Driver, data: &Path, fault: Fault, status: &str, told: &[&str]) -> Result<(), String> {
    let files = &truth::es_mbo(data)[1..];
    let server = Server::start(files, &[]).await?;
    let proxy = Proxy::start(&server.address).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", proxy.address)).await?;
    browser.ready().await?;
    // What is at hand is played; the fault comes with the rows after it.
    proxy.fail(fault);
    let broken = break_it(&browser, &proxy, status).await?;
    let shown = browser.ladder().await?;
    if shown["bids"].as_array().is_none_or(Vec::is_empty) || shown["asks"].as_array().is_none_or(Vec::is_empty) {
        return Err(format!("the last frame is gone: {shown}"));
    }
    for field in told {
        if broken["error"][field].as_str().is_none_or(str::is_empty) {
            return Err(format!("the error says no {field}: {}", broken["error"]));
        }
    }
    browser.keep_picture(&format!("fault-{fault:?}").to_lowercase()).await?;
    proxy.refuse(false);
    browser.command(json!({ "reconnect": true })).await?;
    browser.until("a connection again", Duration::from_secs(30), |state| state["error"].is_null() && !is_broken(state)).await?;
    browser.command(json!({ "speed": "max" })).await?;
    browser.command(json!({ "play": true })).await?;
    let ended = browser.until("the end", Duration::from_secs(90), |state| state["status"] == "ended").await?;
    same("events of the book", &ended["book"]["event"], &json!(truth::rows(files)?.to_string()))
}

/// Plays until the fault has happened, and waits for the named state.
async fn break_it(browser: &Browser, proxy: &Proxy, status: &str) -> Result<Value, String> {
    browser.command(json!({ "speed": "max" })).await?;
    // Refused by a page that has failed meanwhile, which is what is waited for.
    let _ = browser.command(json!({ "play": true })).await;
    let state = browser.until(&format!("status {status}"), Duration::from_secs(60), is_broken).await?;
    same("status", &state["status"], &json!(status))?;
    same("the fault has happened", proxy.has_failed(), true)?;
    Ok(state)
}

fn is_broken(state: &Value) -> bool {
    matches!(state["status"].as_str(), Some("disconnected" | "failed"))
}
