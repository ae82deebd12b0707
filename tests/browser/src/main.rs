//! Drives the built page in a headless Chromium against the built server.
//!
//! `cargo run -- [PART_OF_A_NAME]…`: all tests, or those whose name contains one of the parts, one after another. Prints what
//! `cargo test` prints, so that one reader counts both. A test that needs market data which is not there says `SKIPPED name: why`.
//! `cargo run -- --bench` is a part of tests/bench/run. Pictures go to `target/screenshots`. `TICKSCOPE_LONG_PAUSE_SECONDS` makes the pause against a short query timeout longer.

mod bench;
mod browser;
mod checks;
mod files;
mod first_book;
mod imports;
mod made;
mod messages;
mod process;
mod proxy;
mod server;
mod truth;

use std::process::ExitCode;
use std::time::{Duration, Instant};

use browser::Driver;

/// What a test came to.
pub enum Outcome {
    /// It holds.
    Passed,
    /// It could not be tried.
    Skipped(String),
    /// It does not hold.
    Failed(String),
}

/// `?` in a test is a failure.
impl From<Result<(), String>> for Outcome {
    fn from(result: Result<(), String>) -> Outcome {
        match result {
            Ok(()) => Outcome::Passed,
            Err(why) => Outcome::Failed(why),
        }
    }
}

#[tokio::main]
async fn main() -> ExitCode {
    let parts: Vec<String> = std::env::args().skip(1).collect();
    // What an earlier run imported must not hide that importing is broken. It may not be there.
    let _ = std::fs::remove_dir_all(server::cache());
    let driver = match Driver::start().await {
        Ok(driver) => driver,
        Err(why) => {
            eprintln!("no browser tests without chromedriver: {why}");
            return ExitCode::FAILURE;
        }
    };
    if parts.iter().any(|part| part == "--bench") {
        let measured = match bench::run(&driver).await {
            Ok(()) => imports::run().await,
            Err(why) => Err(why),
        };
        driver.close_browsers().await;
        return match measured {
            Ok(()) => ExitCode::SUCCESS,
            Err(why) => {
                eprintln!("bench: {why}");
                ExitCode::FAILURE
            }
        };
    }
    let chosen: Vec<_> = checks::ALL.iter().filter(|check| parts.is_empty() || parts.iter().any(|part| check.name.contains(part.as_str()))).collect();
    println!("\nrunning {} tests", chosen.len());
    let (mut passed, mut skipped, mut failures) = (0, 0, Vec::new());
    let start = Instant::now();
    for check in &chosen {
        let start = Instant::now();
        let outcome = tokio::time::timeout(check.limit, (check.run)(&driver)).await;
        let outcome = outcome.unwrap_or_else(|_| Outcome::Failed(format!("it took longer than {:?}", check.limit)));
        driver.close_browsers().await;
        let took = start.elapsed().as_secs_f32();
        match outcome {
            Outcome::Passed => {
                println!("test {} ... ok ({took:.1} s)", check.name);
                passed += 1;
            }
            Outcome::Skipped(why) => {
                println!("test {} ... ignored", check.name);
                println!("{}: {why}", check.name);
                skipped += 1;
            }
            Outcome::Failed(why) => {
                println!("test {} ... FAILED ({took:.1} s)", check.name);
                println!("{}: {why}", check.name);
                failures.push(check.name);
            }
        }
    }
    let word = if failures.is_empty() { "ok" } else { "FAILED" };
    for name in &failures {
        println!("failed: {name}");
    }
    println!(
        "\ntest result: {word}. {passed} passed; {} failed; {skipped} ignored; 0 measured; 0 filtered out; finished in {:.2}s\n",
        failures.len(),
        start.elapsed().as_secs_f32()
    );
    if failures.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// A named test.
pub struct Check {
    /// A sentence with underscores.
    pub name: &'static str,
    /// Longer than this is a failure.
    pub limit: Duration,
    /// The test.
    pub run: checks::Run,
}
