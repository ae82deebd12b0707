//! The `tickscope` command: reads its arguments and calls the library.

use std::io::Write as _;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use clap::{Args, Parser, Subcommand};
use tickscope::server::terminal::{self, BookArgs};
use tickscope::server::{self, CachePlace, Config, DEFAULT_PORT, MAX_CONNECTIONS, Port, QUERY_TIMEOUT, STACK_BYTES, ServeError, UPLOAD_LIMIT_BYTES};

/// A tick explorer: rebuilds and plays back limit order books from a columnar tick store, in a browser tab.
#[derive(Debug, Parser)]
#[command(name = "tickscope", version, about, arg_required_else_help = true)]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Serves the page and a store made of files.
    Serve(ServeArguments),
    /// Prints the book at a moment.
    Book(BookArgs),
    /// Lists or clears the imported files that are kept.
    Cache(CacheArguments),
}

#[derive(Debug, Args)]
struct CacheArguments {
    #[command(subcommand)]
    action: Option<CacheAction>,
    /// Directory of imported files; without it the user's cache directory.
    #[arg(long, value_name = "DIR", global = true)]
    cache: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum CacheAction {
    /// Removes entries; without a name all that no running server reads.
    Clear {
        /// Tables, or the first digits of ids, as they are listed.
        #[arg(value_name = "NAME")]
        names: Vec<String>,
    },
}

/// Lists or clears.
fn cache(arguments: CacheArguments) -> Result<(), ServeError> {
    let place = arguments.cache.map_or(CachePlace::User, CachePlace::Dir);
    let text = match arguments.action {
        None => server::cache_report(&place)?,
        Some(CacheAction::Clear { names }) => server::cache_clear(&place, &names)?,
    };
    let _ = write!(std::io::stdout(), "{text}");
    Ok(())
}

#[derive(Debug, Args)]
struct ServeArguments {
    /// Parquet, CSV (also .gz, .zst, .zip), DBN (.dbn, .dbn.zst) and Arrow IPC files; files of equal columns form one table. None: the sample, a
    /// synthetic session.
    #[arg(value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Address to listen on.
    #[arg(long, default_value = "127.0.0.1")]
    host: String,
    /// Port to listen on; without it 8420, or the next free one.
    #[arg(long, value_name = "N")]
    port: Option<u16>,
    /// A further name under which this server may be reached; may be given several times.
    #[arg(long = "allow-host", value_name = "NAME")]
    allow_hosts: Vec<String>,
    /// The timestamp column that orders the tables.
    #[arg(long = "time", value_name = "COL")]
    time_column: Option<String>,
    /// Directory of the built page.
    #[arg(long, value_name = "DIR")]
    page: Option<PathBuf>,
    /// Directory of imported files; without it the user's cache directory.
    #[arg(long, value_name = "DIR", conflicts_with = "no_cache")]
    cache: Option<PathBuf>,
    /// Forget imported files at the end.
    #[arg(long)]
    no_cache: bool,
    /// Take files from the page also when --host lets other machines in.
    #[arg(long)]
    allow_upload: bool,
    /// The largest file that is taken from the page, in GiB.
    #[arg(long, value_name = "GIB", default_value_t = UPLOAD_LIMIT_BYTES >> 30, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    upload_limit: u64,
    /// Seconds a query may take, waiting for its reader included.
    #[arg(long, value_name = "SECS", default_value_t = QUERY_TIMEOUT.as_secs(), value_parser = clap::value_parser!(u64).range(1..=86_400))]
    query_timeout: u64,
    /// Clients at a time.
    #[arg(long, value_name = "N", default_value_t = MAX_CONNECTIONS as u64, value_parser = clap::value_parser!(u64).range(1..=65_536))]
    max_connections: u64,
    /// Opens the page in the desktop's browser.
    #[arg(long)]
    open: bool,
    /// Writes nothing but the address and errors.
    #[arg(long)]
    quiet: bool,
}

impl ServeArguments {
    fn config(self) -> Config {
        Config {
            files: self.files,
            time_column: self.time_column,
            host: self.host,
            port: self.port.map_or(Port::FreeFrom(DEFAULT_PORT), Port::Exactly),
            allow_hosts: self.allow_hosts,
            page: self.page,
            cache: match (self.cache, self.no_cache) {
                (Some(dir), _) => CachePlace::Dir(dir),
                (None, true) => CachePlace::Temporary,
                (None, false) => CachePlace::User,
            },
            query_timeout: Duration::from_secs(self.query_timeout),
            max_connections: usize::try_from(self.max_connections).unwrap_or(MAX_CONNECTIONS),
            allow_upload: self.allow_upload,
            upload_limit: self.upload_limit << 30,
            quiet: self.quiet,
        }
    }
}

/// Wrong use, or input that cannot be read.
const WRONG_USE: u8 = 2;

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    let runtime = match tokio::runtime::Builder::new_multi_thread().thread_stack_size(STACK_BYTES).enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            eprintln!("tickscope: cannot start its threads: {error}");
            return ExitCode::from(WRONG_USE);
        }
    };
    let done = match arguments.command {
        Command::Serve(arguments) => runtime.block_on(serve(arguments.open, arguments.config())).map_err(|error| (WRONG_USE, error.to_string())),
        Command::Cache(arguments) => cache(arguments).map_err(|error| (WRONG_USE, error.to_string())),
        Command::Book(arguments) => runtime.block_on(terminal::book(arguments)).map_err(|failure| (failure.status, failure.message)),
    };
    // A query that computes on must not hold up the end of the process.
    runtime.shutdown_timeout(Duration::from_secs(1));
    match done {
        Ok(()) => ExitCode::SUCCESS,
        Err((status, message)) => {
            eprintln!("tickscope: {message}");
            ExitCode::from(status)
        }
    }
}

/// Serves until Ctrl-C.
async fn serve(open: bool, config: Config) -> Result<(), ServeError> {
    let mut running = server::start(config).await?;
    // Whoever started it may have closed its output; the server runs on.
    let _ = writeln!(std::io::stdout(), "{}", running.url());
    if open {
        open_in_browser(&running.url());
    }
    tokio::select! {
        ended = running.wait() => ended,
        () = interrupted() => {
            running.stop().await;
            Ok(())
        }
    }
}

/// Hands the address to the desktop. The server runs on when there is none.
fn open_in_browser(url: &str) {
    let opener = if cfg!(target_os = "macos") {
        "open"
    } else if cfg!(windows) {
        "explorer"
    } else {
        "xdg-open"
    };
    if let Err(error) = std::process::Command::new(opener).arg(url).spawn() {
        eprintln!("tickscope: {opener} did not start ({error}): open {url} by hand");
    }
}

/// Ctrl-C, or the signal that asks a process to end.
async fn interrupted() {
    let terminated = async {
        #[cfg(unix)]
        match tokio::signal::unix::signal(tokio::signal::unix::SignalKind::terminate()) {
            Ok(mut signal) => {
                signal.recv().await;
            }
            Err(_) => std::future::pending().await,
        }
        #[cfg(not(unix))]
        std::future::pending::<()>().await
    };
    tokio::select! {
        result = tokio::signal::ctrl_c() => {
            if result.is_err() {
                // Without signals the process can only be killed.
                std::future::pending::<()>().await;
            }
        }
        () = terminated => {}
    }
}
