//! The built binary: as a server on a free port, and as the terminal.

use std::path::PathBuf;
use std::process::Stdio;
use std::time::Duration;

use serde_json::Value;
use tokio::process::Command;

use crate::process::Running;

/// The package's root.
pub fn root() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Where imported files are kept while the tests run; emptied when they start.
pub fn cache() -> PathBuf {
    root().join("target/test/cache")
}

fn binary() -> PathBuf {
    root().join("target/debug/tickscope")
}

/// A running `tickscope serve`.
pub struct Server {
    running: Running,
    /// Host and port, as in `127.0.0.1:8420`.
    pub address: String,
}

impl Server {
    /// Serves files (none: the sample) with further options, and waits until it says where.
    ///
    /// # Errors
    /// When it does not come up; with what it said.
    pub async fn start(files: &[PathBuf], options: &[&str]) -> Result<Server, String> {
        let mut arguments = vec!["serve".to_owned(), "--port".to_owned(), "0".to_owned()];
        arguments.extend(["--page".to_owned(), root().join("target/page").display().to_string()]);
        arguments.extend(options.iter().map(|option| (*option).to_owned()));
        arguments.extend(files.iter().map(|file| file.display().to_string()));
        let mut running = Running::start(&binary(), &arguments, &[("XDG_CACHE_HOME", &cache())])?;
        let address = running
            .line(Duration::from_secs(60), |line| {
                let after = line.split_once("http://")?.1;
                Some(after.split('/').next().unwrap_or(after).trim().to_owned())
            })
            .await?;
        Ok(Server { running, address })
    }

    /// Waits until a table was imported; answers its rows and the seconds that took.
    ///
    /// # Errors
    /// When it is not within some minutes; with what the server said.
    pub async fn imported(&mut self, table: &str) -> Result<(u64, f64), String> {
        let find = |line: &str| {
            let (rows, took) = line.strip_prefix(table)?.strip_prefix(": ")?.split_once(" rows imported in ")?;
            Some((rows.parse().ok()?, took.strip_suffix(" s")?.parse().ok()?))
        };
        self.running.line(Duration::from_secs(600), find).await
    }

    /// The number by which the system knows its process.
    pub fn process(&self) -> Option<u32> {
        self.running.id()
    }

    /// Halts the process where it stands.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn stop_for_a_while(&self) -> Result<(), String> {
        self.running.signal("STOP")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// When the system refuses.
    pub fn go_on(&self) -> Result<(), String> {
        self.running.signal("CONT")
    }

    /// What it has said, for a failure's text.
    pub fn output(&self) -> String {
        self.running.output()
    }
}

/// Runs a command of the terminal to its end and reads its standard output as JSON.
///
/// # Errors
/// When it fails or prints something else; with what it said.
pub async fn terminal(arguments: &[&str]) -> Result<Value, String> {
    let output = Command::new(binary())
        .args(arguments)
        .env("XDG_CACHE_HOME", cache())
        .stdin(Stdio::null())
        .kill_on_drop(true)
        .output()
        .await
        .map_err(|error| format!("tickscope {}: {error}", arguments.join(" ")))?;
    let said = || format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    if !output.status.success() {
        return Err(format!("tickscope {} ended with {}:\n{}", arguments.join(" "), output.status, said()));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("tickscope {}: {error}:\n{}", arguments.join(" "), said()))
}
