//! The recorded sessions of a live server, decoded in the browser.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};
use tokio::process::Command;

use crate::Outcome;
use crate::browser::Driver;
use crate::files::Files;
use crate::{server, truth};

/// The same case table as `tests/wire_sessions.rs`, the same counts.
pub async fn recorded_sessions_decode_the_same_as_natively(driver: &Driver) -> Outcome {
    let place = std::env::var_os("TICKSCOPE_QWP_SESSIONS").map(PathBuf::from).or_else(|| Some(truth::data()?.join("qwp/questdb-server")));
    match place.filter(|place| place.is_dir()) {
        Some(place) => sessions(driver, &place).await.into(),
        None => Outcome::Skipped("no recorded sessions (TICKSCOPE_QWP_SESSIONS, or qwp/questdb-server in the data)".to_owned()),
    }
}

async fn sessions(driver: &Driver, place: &Path) -> Result<(), String> {
    let mut names: Vec<String> = std::fs::read_dir(place)
        .map_err(|error| format!("{}: {error}", place.display()))?
        .flatten()
        .filter(|entry| entry.path().join("session.json").is_file())
        .map(|entry| entry.file_name().to_string_lossy().into_owned())
        .collect();
    names.sort();
    let files = Files::serve(vec![("module", server::root().join("target/web_sessions")), ("sessions", place.to_owned())]).await?;
    let mut browser = driver.browser().await?;
    browser.visit(&format!("http://{}/", files.address)).await?;
    let script = format!("(async () => {{ {} }})()", include_str!("sessions.js"));
    let sums = browser.promise(&script, json!(names)).await?;
    let native = native_sums(names.len()).await?;
    browser.console_is_clean_but_for(&["expected.json.gz"]).await?;
    super::same("values, values encoded, batches, requests", sums, native)
}

/// The sums that the native test prints.
async fn native_sums(sessions: usize) -> Result<Value, String> {
    let arguments = ["test", "--locked", "--test", "wire_sessions", "--", "--show-output"];
    let output = Command::new("cargo")
        .args(arguments)
        .arg("recorded_sessions")
        .current_dir(server::root())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("cargo: {error}"))?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let start = format!("{sessions} sessions: ");
    let said = || format!("the native run does not say {start:?}:\n{printed}{}", String::from_utf8_lossy(&output.stderr));
    let line = printed.lines().find(|line| line.starts_with(&start)).ok_or_else(said)?;
    let count = |name: &str| -> Option<u64> {
        let after = line.split_once(&format!(" {name}: "))?.1;
        after.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
    };
    let counts: Option<Vec<u64>> = ["cells", "cells_encoded", "batches", "requests"].into_iter().map(count).collect();
    counts.map(Value::from).ok_or_else(|| format!("the native run's counts cannot be read: {line}"))
}
