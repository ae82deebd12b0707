//! `tickscope book`: the book at a moment, from files or from a running store, through the same engine as the page.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use http_body_util::{BodyExt, Limited};
use hyper::client::conn::http1;
use tokio::net::TcpStream;

use super::client::Client;
use super::{Config, Port, Running, ServeError};
use crate::engine::HISTORY_BUDGET_BYTES;
use crate::link::{Command, Open, Range, Status, StoreInfo, StoreKind};
use crate::units::{Moment, NANOS_PER_DAY, Place, UnixNanos, parse_time};
use crate::view::book::{book_csv, book_json, book_text};
use crate::view::wording;

/// A list of stores is short; a longer answer is not one.
const MAX_STORES_BYTES: usize = 1 << 20;
/// Time for a server to answer.
const HTTP_TIMEOUT: Duration = Duration::from_secs(10);

/// Exit status: wrong use, or input that cannot be read.
pub const EXIT_USE: u8 = 2;
/// Exit status: the store failed.
pub const EXIT_STORE: u8 = 3;

/// Arguments of `tickscope book`.
#[derive(Debug, Args)]
pub struct BookArgs {
    /// Files, or the address of a store (http://…, ws://…)
    #[arg(required = true, value_name = "SOURCE")]
    pub sources: Vec<String>,
    /// The moment: ISO 8601 with a zone, or since 1970; with /K after the K-th event of that time, with - before its first
    #[arg(long, value_name = "TIME")]
    pub at: String,
    /// Table, where the source has several
    #[arg(long)]
    pub table: Option<String>,
    /// Instrument, where the table has several
    #[arg(long)]
    pub symbol: Option<String>,
    /// Levels a side
    #[arg(long, default_value_t = 10)]
    pub depth: usize,
    /// Print every order
    #[arg(long)]
    pub orders: bool,
    /// Form of the output
    #[arg(long, value_enum, default_value_t = Format::Text)]
    pub format: Format,
    /// Column of the designated time, where a file has several
    #[arg(long, value_name = "COLUMN")]
    pub time: Option<String>,
    /// Which columns are what, where their names say something else or too little: ROLE=COLUMN,…
    #[arg(long, value_name = "ROLE=COLUMN", value_delimiter = ',')]
    pub bind: Vec<String>,
    /// Say nothing beside the book
    #[arg(long)]
    pub quiet: bool,
}

/// Form of a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table to read.
    Text,
    /// The JSON of `state().book`.
    Json,
    /// Comma-separated levels.
    Csv,
}

/// What ends a command with another status than 0.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Failure {
    /// Exit status.
    pub status: u8,
    /// One line for the user.
    pub message: String,
}

impl Failure {
    fn wrong_use(message: impl Into<String>) -> Failure {
        Failure { status: EXIT_USE, message: message.into() }
    }

    fn store(message: impl Into<String>) -> Failure {
        Failure { status: EXIT_STORE, message: message.into() }
    }
}

/// Prints the book at a moment.
///
/// # Errors
/// [`Failure`] with one line: a moment that is none, a source that cannot be read, a table or symbol that is not there, a store that
/// fails.
pub async fn book(args: BookArgs) -> Result<(), Failure> {
    let at = parse_moment(&args.at)?;
    let bind = parse_choices(&args.bind)?;
    let is_address = |source: &str| ["http://", "https://", "ws://", "wss://"].iter().any(|scheme| source.starts_with(scheme));
    let addresses = args.sources.iter().filter(|source| is_address(source)).count();
    // The server of the files lives as long as the command.
    let (stores, _server) = match addresses {
        0 => {
            let files = args.sources.iter().map(PathBuf::from).collect();
            let (stores, server) = serve_files(files, args.time.clone(), args.quiet).await.map_err(|error| Failure::wrong_use(error.to_string()))?;
            (stores, Some(server))
        }
        1 if args.sources.len() == 1 => (stores_at(&args.sources[0]).await?, None),
        _ => return Err(Failure::wrong_use("give either files or one address of a store")),
    };
    let mut client = Client::new(stores, HISTORY_BUDGET_BYTES);
    let open = Command::Open(Open {
        table: args.table.clone(),
        symbols: args.symbol.iter().cloned().collect(),
        range: Some(day_of(at.time)),
        at: Some(at.to_string()),
        bind,
        ..Open::default()
    });
    let id = client.start(&open);
    let state = loop {
        if let Some(answer) = client.take_answer(id) {
            break answer.map_err(Failure::wrong_use)?;
        }
        // A page waits for a lost store; a command says so.
        if let Some(lost) = client.state.take_if(|state| state.status == Status::Disconnected) {
            break lost;
        }
        client.step().await;
    };
    if let Some(error) = &state.error {
        let message = format!("{} ({}). {}", error.what, error.place, error.todo);
        let wrong_use = ["table", "symbol", "binding", "empty", "name"].contains(&error.code.as_str());
        return Err(if wrong_use { Failure::wrong_use(message) } else { Failure::store(message) });
    }
    let Some(caption) = client.engine.caption(args.depth, args.orders, true) else {
        return Err(Failure::store("the store has no book at this moment"));
    };
    if let Some((title, sentence)) = wording::without_book(&state) {
        eprintln!("tickscope: {title}. {sentence}");
    }
    let book = client.engine.player().book();
    let text = match args.format {
        Format::Text => book_text(book, &caption),
        Format::Csv => book_csv(book, &caption),
        Format::Json => {
            let json = serde_json::to_string(&book_json(book, &caption)).map_err(|error| Failure::store(error.to_string()))?;
            format!("{json}\n")
        }
    };
    // A reader that stops early (`| head`) is no failure.
    let _ = std::io::stdout().write_all(text.as_bytes());
    Ok(())
}

/// `price=px` as role and column.
fn parse_choices(choices: &[String]) -> Result<BTreeMap<String, String>, Failure> {
    let mut out = BTreeMap::new();
    for choice in choices {
        let parts = choice.split_once('=').map(|(role, column)| (role.trim(), column.trim()));
        let Some((role, column)) = parts.filter(|(role, column)| !role.is_empty() && !column.is_empty()) else {
            return Err(Failure::wrong_use(format!("--bind {choice}: write ROLE=COLUMN, as in --bind price=px,side=s")));
        };
        if out.insert(role.to_owned(), column.to_owned()).is_some() {
            return Err(Failure::wrong_use(format!("--bind gives {role} two columns")));
        }
    }
    Ok(out)
}

/// Serves files to this process alone.
async fn serve_files(files: Vec<PathBuf>, time_column: Option<String>, quiet: bool) -> Result<(Vec<StoreInfo>, Running), ServeError> {
    let mut server = super::start(Config { files, time_column, port: Port::Exactly(0), quiet, ..Config::default() }).await?;
    server.wait_imported().await?;
    let url = format!("ws://{}/read/v1", server.address());
    let store = StoreInfo { name: "embedded".to_owned(), kind: StoreKind::Embedded, default: true, url, importing: Vec::new() };
    Ok((vec![store], server))
}

/// The moment as typed: any form of time, with `/k` or a trailing `-`.
fn parse_moment(text: &str) -> Result<Moment, Failure> {
    let wrong = |error: crate::units::TimeError| Failure::wrong_use(format!("--at {error}"));
    if let Some((time, k)) = text.split_once('/') {
        let k = k
            .parse()
            .ok()
            .filter(|k| (1..u32::MAX).contains(k))
            .ok_or_else(|| Failure::wrong_use("--at TIME/K: K counts the events of that time from 1"))?;
        return Ok(Moment { time: parse_time(time).map_err(wrong)?, place: Place::After(k) });
    }
    if let Some(time) = text.strip_suffix('-') {
        return Ok(Moment::before(parse_time(time).map_err(wrong)?));
    }
    Ok(Moment::end_of(parse_time(text).map_err(wrong)?))
}

fn day_of(time: UnixNanos) -> Range {
    let from = time.0.saturating_sub(time.0.rem_euclid(NANOS_PER_DAY));
    Range { from: from.to_string(), to: from.saturating_add(NANOS_PER_DAY).to_string() }
}

/// The stores behind an address: those of a tickscope server, or a QuestDB.
async fn stores_at(address: &str) -> Result<Vec<StoreInfo>, Failure> {
    if address.starts_with("https://") || address.starts_with("wss://") {
        return Err(Failure::wrong_use(format!("{address}: TLS is not spoken from the terminal yet; use http:// or ws://")));
    }
    let questdb = |url: String| vec![StoreInfo { name: "questdb".to_owned(), kind: StoreKind::Questdb, default: true, url, importing: Vec::new() }];
    if let Some(rest) = address.strip_prefix("ws://") {
        let url = if rest.contains('/') { address.to_owned() } else { format!("{address}/read/v1") };
        return Ok(questdb(url));
    }
    let host = address.trim_start_matches("http://").trim_end_matches('/');
    if host.contains('/') {
        return Err(Failure::wrong_use(format!("{address}: give the server's address without a path, such as http://127.0.0.1:8420")));
    }
    let socket = format!("ws://{host}/read/v1");
    let answer = tokio::time::timeout(HTTP_TIMEOUT, get_stores(host)).await;
    match answer {
        Err(_) => Err(Failure::store(format!("{address} did not answer within {} seconds", HTTP_TIMEOUT.as_secs()))),
        Ok(Err(reason)) => Err(Failure::store(format!("{address} could not be reached: {reason}"))),
        Ok(Ok(None)) => Ok(questdb(socket)),
        Ok(Ok(Some(mut stores))) => {
            for store in &mut stores {
                store.url = if store.kind == StoreKind::Embedded { socket.clone() } else { format!("{socket}?store={}", store.name) };
            }
            Ok(stores)
        }
    }
}

/// `/api/stores` of a tickscope server; `None` when the server has no such path, as a QuestDB.
async fn get_stores(host: &str) -> Result<Option<Vec<StoreInfo>>, String> {
    let address = if host.contains(':') { host.to_owned() } else { format!("{host}:80") };
    let stream = TcpStream::connect(&address).await.map_err(|error| error.to_string())?;
    let (mut sender, connection) = http1::handshake(hyper_util::rt::TokioIo::new(stream)).await.map_err(|error| error.to_string())?;
    tokio::spawn(connection);
    let request = hyper::Request::get("/api/stores").header("host", host).body(String::new()).map_err(|error| error.to_string())?;
    let response = sender.send_request(request).await.map_err(|error| error.to_string())?;
    if !response.status().is_success() {
        return Ok(None);
    }
    let body = Limited::new(response.into_body(), MAX_STORES_BYTES).collect().await.map_err(|error| error.to_string())?;
    Ok(serde_json::from_slice(&body.to_bytes()).ok())
}
