//! Child processes that end with the test that started them.

use std::path::Path;
use std::process::Stdio;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tokio::io::{AsyncBufReadExt, AsyncRead, BufReader};
use tokio::process::{Child, Command};
use tokio::time::timeout;

/// A running program and what it has printed so far.
pub struct Running {
    child: Child,
    output: Arc<Mutex<String>>,
}

impl Running {
    /// Starts a program with some variables of its own.
    ///
    /// # Errors
    /// When it does not start.
    pub fn start(program: &Path, arguments: &[String], variables: &[(&str, &Path)]) -> Result<Running, String> {
        let mut child = Command::new(program)
            .args(arguments)
            .envs(variables.iter().copied())
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .map_err(|error| format!("{} does not start: {error}", program.display()))?;
        let output = Arc::new(Mutex::new(String::new()));
        if let Some(stdout) = child.stdout.take() {
            collect(stdout, Arc::clone(&output));
        }
        if let Some(stderr) = child.stderr.take() {
            collect(stderr, Arc::clone(&output));
        }
        Ok(Running { child, output })
    }

    /// The number by which the system knows it.
    pub fn id(&self) -> Option<u32> {
        self.child.id()
    }

    /// Sends it a signal by name.
    ///
    /// # Errors
    /// When it has ended, or the system refuses.
    pub fn signal(&self, name: &str) -> Result<(), String> {
        let id = self.child.id().ok_or("it has ended")?;
        let sent = std::process::Command::new("kill").args([format!("-{name}"), id.to_string()]).status();
        sent.map_err(|error| format!("kill: {error}"))?.success().then_some(()).ok_or_else(|| format!("kill -{name} {id} was refused"))
    }

    /// What both of its outputs have said.
    pub fn output(&self) -> String {
        self.output.lock().map(|output| output.clone()).unwrap_or_default()
    }

    /// Waits for a line in which `find` finds something.
    ///
    /// # Errors
    /// When the program ends before, or it takes longer than `limit`; with all that it has printed.
    pub async fn line<T>(&mut self, limit: Duration, find: impl Fn(&str) -> Option<T>) -> Result<T, String> {
        let search = async {
            loop {
                if let Some(found) = self.output().lines().find_map(&find) {
                    return Ok(found);
                }
                if let Ok(Some(status)) = self.child.try_wait() {
                    return Err(format!("it ended ({status})"));
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        let found = timeout(limit, search).await.unwrap_or_else(|_| Err(format!("it did not come within {limit:?}")));
        found.map_err(|why| format!("waiting for a line of a program: {why}; it has said:\n{}", self.output()))
    }
}

fn collect(from: impl AsyncRead + Unpin + Send + 'static, into: Arc<Mutex<String>>) {
    tokio::spawn(async move {
        let mut lines = BufReader::new(from).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            if let Ok(mut output) = into.lock() {
                output.push_str(&line);
                output.push('\n');
            }
        }
    });
}
