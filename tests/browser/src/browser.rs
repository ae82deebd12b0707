//! Chromium through Debian's chromedriver, and the page in it.

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use fantoccini::actions::{InputSource as _, KeyAction, KeyActions, MOUSE_BUTTON_LEFT, MouseActions, PointerAction};
use fantoccini::wd::{Capabilities, WebDriverCompatibleCommand};
use fantoccini::{Client, ClientBuilder};
use hyper_util::client::legacy::connect::HttpConnector;
use serde_json::{Value, json};

use crate::process::Running;

/// A running chromedriver and the browsers it started.
pub struct Driver {
    running: Running,
    url: String,
    browsers: Mutex<Vec<Client>>,
    scratch: PathBuf,
}

impl Drop for Driver {
    fn drop(&mut self) {
        // Profiles of the browsers; what cannot be removed is the system's to clear.
        let _ = std::fs::remove_dir_all(&self.scratch);
    }
}

impl Driver {
    /// Starts it on a port of its own choice.
    ///
    /// # Errors
    /// When it does not start; with what it said.
    pub async fn start() -> Result<Driver, String> {
        // Not in `target`: Chromium has sockets in it, whose paths must be short.
        let scratch = std::env::temp_dir().join(format!("tickscope-browser-{}", std::process::id()));
        std::fs::create_dir_all(&scratch).map_err(|error| format!("{}: {error}", scratch.display()))?;
        let mut running = Running::start(Path::new("chromedriver"), &["--port=0".to_owned()], &[("TMPDIR", &scratch)])?;
        let port: u16 = running
            .line(Duration::from_secs(20), |line| line.split_once("started successfully on port ")?.1.trim_end_matches('.').parse().ok())
            .await?;
        Ok(Driver { running, url: format!("http://127.0.0.1:{port}"), browsers: Mutex::default(), scratch })
    }

    /// Opens a browser of its own, with nothing kept from another.
    ///
    /// # Errors
    /// When the browser does not start.
    pub async fn browser(&self) -> Result<Browser, String> {
        let mut arguments = vec!["--headless=new", "--disable-gpu", "--window-size=1440,900", "--hide-scrollbars", "--force-device-scale-factor=1"];
        if is_root() {
            // Chromium's sandbox refuses to run as root, which is what a build machine often is.
            arguments.push("--no-sandbox");
        }
        let wanted = json!({
            "browserName": "chrome",
            "goog:chromeOptions": { "args": arguments },
            "goog:loggingPrefs": { "browser": "ALL" },
            "timeouts": { "script": 120_000 },
        });
        let capabilities: Capabilities = wanted.as_object().cloned().unwrap_or_default();
        let client = ClientBuilder::new(HttpConnector::new())
            .capabilities(capabilities)
            .connect(&self.url)
            .await
            .map_err(|error| format!("no browser: {error}\n{}", self.running.output()))?;
        self.browsers.lock().unwrap_or_else(PoisonError::into_inner).push(client.clone());
        Ok(Browser { client, console: Vec::new() })
    }

    /// Ends all browsers, those of a test that failed half-way too.
    pub async fn close_browsers(&self) {
        let browsers = std::mem::take(&mut *self.browsers.lock().unwrap_or_else(PoisonError::into_inner));
        for client in browsers {
            // One that is gone already needs no end.
            let _ = client.close().await;
        }
    }
}

fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt as _;
    std::fs::metadata("/proc/self").is_ok_and(|me| me.uid() == 0)
}

/// A browser with one tab.
pub struct Browser {
    client: Client,
    console: Vec<Value>,
}

/// The script that reads the ladder as it is drawn: per level price, size and orders, best first, as the user reads them.
const LADDER: &str = include_str!("ladder.js");

impl Browser {
    /// Loads an address and waits for the page's handle.
    ///
    /// # Errors
    /// When it cannot be loaded, or the page does not start.
    pub async fn open(&mut self, url: &str) -> Result<(), String> {
        self.visit(url).await?;
        let start = Instant::now();
        while self.run("return !!window.tickscope").await? != Value::Bool(true) {
            if start.elapsed() > Duration::from_secs(20) {
                return Err(format!("{url}: the page did not start within 20 s; its console: {:?}", self.console().await?));
            }
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Ok(())
    }

    /// Loads an address.
    ///
    /// # Errors
    /// When it cannot be loaded.
    pub async fn visit(&self, url: &str) -> Result<(), String> {
        self.client.goto(url).await.map_err(text)
    }

    /// Runs a script in the page.
    ///
    /// # Errors
    /// When it throws.
    pub async fn run(&self, script: &str) -> Result<Value, String> {
        self.client.execute(script, Vec::new()).await.map_err(text)
    }

    /// What a promise resolves to; a rejection is the error.
    ///
    /// # Errors
    /// The reason of the rejection.
    pub async fn promise(&self, expression: &str, argument: Value) -> Result<Value, String> {
        let script = format!(
            "const argument = arguments[0], done = arguments[1];
             Promise.resolve().then(() => {expression}).then(value => done({{value}}), error => done({{error: String(error)}}));"
        );
        let answer = self.client.execute_async(&script, vec![argument]).await.map_err(text)?;
        match answer.get("error") {
            Some(error) => Err(error.as_str().unwrap_or_default().to_owned()),
            None => Ok(answer["value"].clone()),
        }
    }

    /// `await tickscope.state()`.
    ///
    /// # Errors
    /// When the page does not answer.
    pub async fn state(&self) -> Result<Value, String> {
        self.promise("window.tickscope.state()", Value::Null).await
    }

    /// `await tickscope.command(c)`: the state after it.
    ///
    /// # Errors
    /// Why the page refused it.
    pub async fn command(&self, command: Value) -> Result<Value, String> {
        self.promise("window.tickscope.command(argument)", command).await
    }

    /// Waits until the state satisfies a condition, and returns it.
    ///
    /// # Errors
    /// When it does not within `limit`; with the last state.
    pub async fn until(&self, what: &str, limit: Duration, condition: impl Fn(&Value) -> bool) -> Result<Value, String> {
        let start = Instant::now();
        loop {
            let state = self.state().await?;
            if condition(&state) {
                return Ok(state);
            }
            if start.elapsed() > limit {
                return Err(format!("waiting for {what}: not within {limit:?}; the last state: {state}"));
            }
            tokio::time::sleep(Duration::from_millis(30)).await;
        }
    }

    /// Waits until the page has shown a book and does nothing more of its own.
    ///
    /// # Errors
    /// When it does not.
    pub async fn ready(&self) -> Result<Value, String> {
        self.until("a book at rest", Duration::from_secs(60), |state| {
            state["book"].is_object() && matches!(state["status"].as_str(), Some("paused" | "ended")) && state["seeking"].is_null()
        })
        .await
    }

    /// The ladder as it is drawn: `{bids: [[price, size, orders]…], asks: […]}`, best first, digits without group separators.
    ///
    /// # Errors
    /// When there is none.
    pub async fn ladder(&self) -> Result<Value, String> {
        self.run(LADDER).await
    }

    /// Presses a key, as `KeyboardEvent.key` names it, with `Shift+` or `Alt+` before it where that is held.
    ///
    /// # Errors
    /// When the browser refuses, or the key is not one of those that tests press.
    pub async fn press(&self, key: &str) -> Result<(), String> {
        // WebDriver's code points for keys without a character.
        let (held, key) = match key.split_once('+') {
            Some(("Shift", key)) => (Some('\u{e008}'), key),
            Some(("Alt", key)) => (Some('\u{e00a}'), key),
            _ => (None, key),
        };
        let value = match key {
            "ArrowLeft" => '\u{e012}',
            "ArrowRight" => '\u{e014}',
            "End" => '\u{e010}',
            "Home" => '\u{e011}',
            "Escape" => '\u{e00c}',
            _ => key.chars().next().filter(|_| key.len() == 1).ok_or_else(|| format!("no such key: {key}"))?,
        };
        let mut press = KeyActions::new("keys".to_owned());
        let down = held.into_iter().chain([value]).map(|value| KeyAction::Down { value });
        let up = [value].into_iter().chain(held).map(|value| KeyAction::Up { value });
        for action in down.chain(up) {
            press = press.then(action);
        }
        self.client.perform_actions(press).await.map_err(text)
    }

    /// Presses the mouse's left button at a place of the window, moves it over the others, and releases it at the last.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn drag(&self, places: &[(f64, f64)]) -> Result<(), String> {
        let to = |(x, y): (f64, f64)| PointerAction::MoveTo { duration: None, x, y };
        let mut actions = MouseActions::new("mouse".to_owned());
        for (index, place) in places.iter().enumerate() {
            actions = actions.then(to(*place));
            if index == 0 {
                actions = actions.then(PointerAction::Down { button: MOUSE_BUTTON_LEFT });
            }
        }
        self.client.perform_actions(actions.then(PointerAction::Up { button: MOUSE_BUTTON_LEFT })).await.map_err(text)
    }

    /// Moves the mouse to a place of the window.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn point(&self, (x, y): (f64, f64)) -> Result<(), String> {
        let actions = MouseActions::new("mouse".to_owned()).then(PointerAction::MoveTo { duration: None, x, y });
        self.client.perform_actions(actions).await.map_err(text)
    }

    /// Left, top, width and height of an element in the window.
    ///
    /// # Errors
    /// When there is no such element.
    pub async fn area(&self, selector: &str) -> Result<[f64; 4], String> {
        let script = format!(
            "const area = document.querySelector({}).getBoundingClientRect(); return [area.left, area.top, area.width, area.height];",
            json!(selector)
        );
        let area = self.run(&script).await?;
        let at = |index: usize| area[index].as_f64().ok_or_else(|| format!("{selector} has no place: {area}"));
        Ok([at(0)?, at(1)?, at(2)?, at(3)?])
    }

    /// What the system is said to prefer: `dark` or `light`.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn prefer_theme(&self, theme: &str) -> Result<(), String> {
        self.devtools("Emulation.setEmulatedMedia", json!({ "features": [{ "name": "prefers-color-scheme", "value": theme }] })).await
    }

    async fn devtools(&self, command: &str, parameters: Value) -> Result<(), String> {
        let command = DevTools(json!({ "cmd": command, "params": parameters }));
        self.client.issue_cmd(command).await.map(|_| ()).map_err(text)
    }

    /// Keeps a picture of the tab in `target/screenshots`.
    ///
    /// # Errors
    /// When the browser refuses, or the file cannot be written.
    pub async fn keep_picture(&self, name: &str) -> Result<(), String> {
        // Two frames: what was changed is laid out in the first and painted by the second.
        self.promise("new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))", Value::Null).await?;
        let picture = self.client.screenshot().await.map_err(text)?;
        let place = crate::server::root().join("target/screenshots");
        let file = place.join(format!("{name}.png"));
        std::fs::create_dir_all(&place).and_then(|()| std::fs::write(&file, picture)).map_err(|error| format!("{}: {error}", file.display()))
    }

    /// Sets the size of what is drawn.
    ///
    /// # Errors
    /// When the browser refuses.
    pub async fn size(&self, width: u32, height: u32) -> Result<(), String> {
        self.devtools("Emulation.setDeviceMetricsOverride", json!({ "width": width, "height": height, "deviceScaleFactor": 1, "mobile": false }))
            .await
    }

    /// All that the page's console has shown since the browser was started: `{level, message, source}`.
    ///
    /// # Errors
    /// When the browser does not tell.
    pub async fn console(&mut self) -> Result<Vec<Value>, String> {
        let new = self.client.issue_cmd(ConsoleLog).await.map_err(text)?;
        self.console.extend(new.as_array().cloned().unwrap_or_default());
        Ok(self.console.clone())
    }

    /// Fails if the console has shown an error or a warning.
    ///
    /// # Errors
    /// The messages.
    pub async fn console_is_clean(&mut self) -> Result<(), String> {
        self.console_is_clean_but_for(&[]).await
    }

    /// The same, with messages left out that contain one of the given parts: what the test itself asked for in vain.
    ///
    /// # Errors
    /// The messages.
    pub async fn console_is_clean_but_for(&mut self, parts: &[&str]) -> Result<(), String> {
        let known = |entry: &Value| parts.iter().any(|part| entry["message"].as_str().is_some_and(|message| message.contains(part)));
        let bad: Vec<Value> = self
            .console()
            .await?
            .into_iter()
            .filter(|entry| matches!(entry["level"].as_str(), Some("SEVERE" | "WARNING")) && !known(entry))
            .collect();
        if bad.is_empty() { Ok(()) } else { Err(format!("the console shows {}", Value::from(bad))) }
    }
}

fn text(error: fantoccini::error::CmdError) -> String {
    error.to_string()
}

/// Chromedriver's own command for what a console has shown since it was last asked.
#[derive(Debug)]
struct ConsoleLog;

impl WebDriverCompatibleCommand for ConsoleLog {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/se/log", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(json!({ "type": "browser" }).to_string()))
    }
}

/// A command of the browser's own protocol, through chromedriver.
#[derive(Debug)]
struct DevTools(Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(&self, base: &url::Url, session: Option<&str>) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        (http::Method::POST, Some(self.0.to_string()))
    }
}
