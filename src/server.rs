//! The native server: the page, the embedded store and its wire.
//!
//! ```text
//!  files ─ source ─ import ─▶ one Parquet file in order ─ table ─▶ engine ─ sql ─▶ rows ─▶ connection ─▶ WebSocket
//!                  (cache, sort, progress)                (library, catalog, functions)
//!  http: page · /api/stores · /api/files (upload) · /read/v1, behind guard
//! ```
//!
//! It knows sockets, files and the engine, and nothing of books.

use std::io;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::serve::ListenerExt as _;
use tokio::net::TcpListener;
use tokio::runtime::Handle;
use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, spawn_blocking};

mod cache;
mod catalog;
pub mod client;
mod compression;
mod connection;
mod engine;
mod error;
mod flatten;
mod functions;
mod guard;
mod http;
mod import;
mod library;
mod page;
mod progress;
mod rows;
mod sample;
mod sort;
mod source;
mod sql;
mod table;
pub mod terminal;
mod time_column;
mod upload;

pub use cache::{CachePlace, cache_clear, cache_report};
pub use error::ServeError;

use cache::Cache;
use catalog::Catalog;
use library::Library;
use sort::Sorter;
use source::TableSource;
use sql::Sql;

/// The port that is tried first.
pub const DEFAULT_PORT: u16 = 8420;
/// Connections at a time, as QuestDB has them.
pub const MAX_CONNECTIONS: usize = 256;
/// Stack of the threads that statements are planned and run on: what plans them walks them by recursion. It is room, not memory used.
pub const STACK_BYTES: usize = 64 << 20;
/// The largest file that a page may add.
pub const UPLOAD_LIMIT_BYTES: u64 = 16 << 30;
/// How long a query may take, as QuestDB has it.
pub const QUERY_TIMEOUT: Duration = Duration::from_secs(60);

/// Which port to listen on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Port {
    /// That one, or an error; 0 is any free one.
    Exactly(u16),
    /// The first free one from there on.
    FreeFrom(u16),
}

/// What to serve, and how.
#[derive(Debug, Clone)]
pub struct Config {
    /// Parquet, DBN, Arrow and CSV files; none serves the sample, a synthetic session.
    pub files: Vec<PathBuf>,
    /// Column that orders the tables, where it is not to be found by itself.
    pub time_column: Option<String>,
    /// Address to listen on.
    pub host: String,
    /// Port to listen on.
    pub port: Port,
    /// Further names under which pages and clients may reach this server.
    pub allow_hosts: Vec<String>,
    /// Directory of the built page; `None` looks beside the executable.
    pub page: Option<PathBuf>,
    /// Where imported files are kept.
    pub cache: CachePlace,
    /// From the start of a query to its end, waiting for credit included.
    pub query_timeout: Duration,
    /// WebSockets at a time.
    pub max_connections: usize,
    /// Takes files from pages also where other machines can reach this server; one that listens on a loopback address takes them.
    pub allow_upload: bool,
    /// The largest file that is taken, in bytes.
    pub upload_limit: u64,
    /// Writes nothing to the terminal.
    pub quiet: bool,
}

impl Default for Config {
    fn default() -> Config {
        Config {
            files: Vec::new(),
            time_column: None,
            host: "127.0.0.1".to_owned(),
            port: Port::FreeFrom(DEFAULT_PORT),
            allow_hosts: Vec::new(),
            page: None,
            cache: CachePlace::User,
            query_timeout: QUERY_TIMEOUT,
            max_connections: MAX_CONNECTIONS,
            allow_upload: false,
            upload_limit: UPLOAD_LIMIT_BYTES,
            quiet: false,
        }
    }
}

/// A running server. It stops when it is dropped.
#[derive(Debug)]
pub struct Running {
    address: SocketAddr,
    imported: JoinHandle<Result<(), ServeError>>,
    /// A temporary one goes with the server.
    _cache: Arc<Cache>,
    serving: JoinHandle<io::Result<()>>,
    stop: watch::Sender<bool>,
}

/// Starts a server on the current tokio runtime: looks at the files, listens, and imports in the background what must be.
///
/// # Errors
/// A file that cannot be served, a port that cannot be opened, no place for imported files. Nothing runs then.
pub async fn start(config: Config) -> Result<Running, ServeError> {
    let Config { files, time_column, host, port, allow_hosts, page, cache, query_timeout, max_connections, allow_upload, upload_limit, quiet } =
        config;
    let asked = time_column.clone();
    let inspected = spawn_blocking(move || -> Result<_, ServeError> {
        let cache = Cache::open(&cache)?;
        let sources = if files.is_empty() { TableSource::sample() } else { source::inspect(&files, asked.as_deref(), &cache, quiet)? };
        Ok((sources, cache))
    });
    let (sources, cache) = inspected.await.map_err(|error| ServeError::engine("looking at the files", error))??;
    let listener = listen(&host, port).await?;
    let address = listener.local_addr().map_err(|source| ServeError::Listen { address: host.clone(), source })?;

    let runtime = engine::runtime().map_err(|error| ServeError::engine("starting the engine", error))?;
    let tables = sources.into_iter().map(|source| Library::entry(source, quiet)).collect();
    let catalog = Arc::new(Catalog::new(tables));
    let sql = Sql::new(&runtime, Arc::clone(&catalog));
    let sorter = Sorter::new(Handle::current(), runtime);
    let cache = Arc::new(cache);
    let library = Library { catalog, sql, cache: Arc::clone(&cache), sorter, time_column, quiet };
    // What is remembered from an earlier run is there from the first request on.
    library.recall()?;
    let (stop, stopping) = watch::channel(false);
    let app = http::App {
        guard: guard::Guard::new(&host, &allow_hosts),
        page: page::find(page.as_deref()),
        library: library.clone(),
        upload_limit: (allow_upload || address.ip().is_loopback()).then_some(upload_limit),
        uploads: Arc::new(Semaphore::new(upload::MAX_UPLOADS)),
        query_timeout,
        connections: Arc::new(Semaphore::new(max_connections)),
        stopping: stopping.clone(),
    };
    let router = http::router(Arc::new(app));
    // Small messages (credit, cancel, the end of a result) must not wait for larger ones.
    let listener = listener.tap_io(|socket| {
        let _ = socket.set_nodelay(true);
    });
    let serving = tokio::spawn(async move {
        let mut stopping = stopping;
        let stopped = async move { while stopping.changed().await.is_ok() && !*stopping.borrow() {} };
        axum::serve(listener, router).with_graceful_shutdown(stopped).await
    });
    let imported = spawn_blocking(move || library.import_all());
    Ok(Running { address, imported, _cache: cache, serving, stop })
}

impl Running {
    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where to point a browser.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}/", self.address)
    }

    /// Waits until every table can be queried or has failed.
    ///
    /// # Errors
    /// The first import that failed; the other tables are there.
    pub async fn wait_imported(&mut self) -> Result<(), ServeError> {
        (&mut self.imported).await.map_err(|error| ServeError::engine("importing", error))?
    }

    /// Waits until the server ends by itself, which it does only when it cannot accept connections any more.
    ///
    /// # Errors
    /// Why it cannot.
    pub async fn wait(&mut self) -> Result<(), ServeError> {
        let ended = (&mut self.serving).await.map_err(|error| ServeError::engine("serving", error))?;
        ended.map_err(|source| ServeError::Listen { address: self.address.to_string(), source })
    }

    /// Tells every client that the server stops and waits until they have gone, at most a few seconds.
    pub async fn stop(mut self) {
        // Nobody listens any more when serving has ended.
        let _ = self.stop.send(true);
        let _ = tokio::time::timeout(Duration::from_secs(3), &mut self.serving).await;
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.stop.send(true);
        self.serving.abort();
    }
}

async fn listen(host: &str, port: Port) -> Result<TcpListener, ServeError> {
    let (first, last) = match port {
        Port::Exactly(port) => (port, port),
        Port::FreeFrom(port) => (port, u16::MAX),
    };
    let host = host.trim_start_matches('[').trim_end_matches(']');
    let mut candidates = first..=last;
    loop {
        let Some(port) = candidates.next() else {
            let source = io::Error::from(io::ErrorKind::AddrInUse);
            return Err(ServeError::Listen { address: format!("{host}, any port from {first} on,"), source });
        };
        match TcpListener::bind((host, port)).await {
            Ok(listener) => return Ok(listener),
            Err(error) if error.kind() == io::ErrorKind::AddrInUse && port < last => {}
            Err(source) => return Err(ServeError::Listen { address: format!("{host}:{port}"), source }),
        }
    }
}
