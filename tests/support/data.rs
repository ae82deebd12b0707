//! Where the market data and the recorded sessions lie, if they do.

use std::path::PathBuf;

/// The data folder: `TICKSCOPE_DATA`, else `../shared/data` beside the package.
pub fn data_dir() -> Option<PathBuf> {
    let dir = match std::env::var_os("TICKSCOPE_DATA") {
        Some(dir) => PathBuf::from(dir),
        None => {
            let package = std::env::var_os("CARGO_MANIFEST_DIR").map_or_else(|| PathBuf::from(env!("CARGO_MANIFEST_DIR")), PathBuf::from);
            package.join("../shared/data")
        }
    };
    dir.is_dir().then_some(dir)
}

/// The folder of recorded sessions: `TICKSCOPE_QWP_SESSIONS`, else that of the data.
pub fn sessions_dir() -> Option<PathBuf> {
    let dir = match std::env::var_os("TICKSCOPE_QWP_SESSIONS") {
        Some(dir) => PathBuf::from(dir),
        None => data_dir()?.join("qwp/questdb-server"),
    };
    dir.is_dir().then_some(dir)
}

/// Says in the test's output that it did not run, in the form that `./test` counts.
pub fn skipped(name: &str, reason: &str) {
    println!("SKIPPED {name}: {reason}");
}
