//! The tests, by what they show.

mod books;
mod counting;
mod faults;
mod opening;
mod pacing;
mod pictures;
mod renewal;
mod sessions;
pub mod size;
mod tape;
mod timeline;
mod welcome;

use std::future::Future;
use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json};

use crate::browser::{Browser, Driver};
use crate::server::Server;
use crate::{Check, Outcome};

/// A test's body.
pub type Run = for<'a> fn(&'a Driver) -> Pin<Box<dyn Future<Output = Outcome> + 'a>>;

/// A test by the name of its function; its limit is in seconds.
macro_rules! check {
    ($module:ident :: $name:ident, $seconds:expr) => {
        Check {
            name: stringify!($name),
            limit: Duration::from_secs($seconds),
            run: |driver| Box::pin(async move { $module::$name(driver).await.into() }),
        }
    };
}

/// All of them, in the order in which they run.
pub const ALL: &[Check] = &[
    check!(sessions::recorded_sessions_decode_the_same_as_natively, 900),
    check!(size::the_module_is_at_most_a_megabyte_on_the_wire, 120),
    check!(opening::the_sample_is_offered_and_plays, 90),
    check!(opening::the_page_loads_nothing_from_elsewhere, 60),
    check!(opening::commands_that_are_none_are_refused_and_change_nothing, 60),
    check!(opening::keys_play_pause_and_step, 90),
    check!(opening::small_sessions_of_every_feed_open_and_play, 180),
    check!(welcome::several_tables_are_offered_by_their_instruments, 90),
    check!(welcome::a_file_dropped_on_the_page_is_opened, 90),
    check!(welcome::a_reload_keeps_the_place, 90),
    check!(pacing::market_time_keeps_the_asked_speed, 180),
    check!(pacing::the_time_to_the_first_book, 120),
    check!(tape::every_trade_of_the_day_stands_on_the_tape_once, 180),
    check!(tape::a_size_leaves_only_the_trades_that_have_it, 120),
    check!(tape::a_click_on_a_trade_goes_to_just_after_it, 120),
    check!(tape::scrolled_away_the_lines_stand_still_and_what_waits_is_counted, 180),
    check!(tape::keys_go_from_trade_to_trade_and_by_seconds, 120),
    check!(timeline::the_bars_are_the_rows_of_the_file, 120),
    check!(timeline::the_planted_gap_is_hatched_at_every_zoom, 120),
    check!(timeline::a_drag_loops_and_the_key_ends_it, 120),
    check!(timeline::playback_is_paced_by_events, 120),
    check!(books::five_moments_of_the_es_day_show_the_known_books, 240),
    check!(books::playing_over_a_moment_and_seeking_back_give_one_digest, 180),
    check!(books::steps_forward_and_back_come_to_the_same_book, 120),
    check!(counting::playing_to_the_end_applies_every_row_once, 180),
    check!(counting::rows_and_bytes_equal_an_outside_count, 120),
    check!(counting::slow_play_and_a_long_pause_outlive_the_query_timeout, 1500),
    check!(faults::a_server_that_dies_in_mid_message_leaves_the_last_frame, 120),
    check!(faults::garbage_is_named_with_its_place, 120),
    check!(faults::a_server_that_says_goodbye_is_reconnected_to, 120),
    check!(faults::an_sql_error_is_shown_with_its_position, 120),
    check!(renewal::another_store_is_opened_in_a_new_worker, 240),
    check!(renewal::a_worker_that_outgrew_its_budget_is_replaced_where_it_stands, 240),
    check!(pictures::the_ways_in, 300),
    check!(pictures::what_is_open, 300),
    check!(pictures::what_takes_long_and_what_fails, 400),
];

/// Skips a test that needs market data; `$data` is where it lies.
macro_rules! with_data {
    ($data:ident) => {
        let Some($data) = crate::truth::data() else {
            return Outcome::Skipped("there is no market data (TICKSCOPE_DATA, or ../shared/data beside the package)".to_owned());
        };
    };
}
pub(crate) use with_data;

/// A server, a browser, and the page at rest in it.
pub async fn opened(driver: &Driver, files: &[std::path::PathBuf], options: &[&str]) -> Result<(Server, Browser, Value), String> {
    let server = Server::start(files, options).await?;
    let mut browser = driver.browser().await?;
    browser.open(&format!("http://{}/", server.address)).await?;
    if files.is_empty() {
        // The sample is several tables, so nothing is open yet; the first to ask for it waits until it is made.
        browser.until("the sample", Duration::from_secs(60), offers_the_sample).await?;
        browser.command(json!({ "open": { "table": "mbo", "symbols": ["SYNFUT"] } })).await?;
    }
    let state = browser.ready().await.map_err(|why| format!("{why}\nthe server said:\n{}", server.output()))?;
    Ok((server, browser, state))
}

/// Whether the sample is there to be opened.
pub fn offers_the_sample(state: &Value) -> bool {
    state["catalogue"]["tables"].as_array().is_some_and(|tables| tables.len() == 3 && tables.iter().all(|table| table["synthetic"] == true))
}

/// Opens everything that the open table holds of the open instrument, and waits for its first book.
pub async fn open_all(browser: &Browser, state: &Value) -> Result<Value, String> {
    let bounds = &state["catalogue"]["bounds"];
    let last: i64 = bounds["to"].as_str().and_then(|last| last.parse().ok()).ok_or_else(|| format!("no last time of the data: {bounds}"))?;
    // Bounds name the last time with data; a range ends before its `to`.
    let range = json!({ "from": bounds["from"], "to": (last + 1).to_string() });
    browser.command(json!({ "open": { "table": state["table"], "symbols": state["symbols"], "range": range } })).await?;
    browser.until("the range to be open", Duration::from_secs(30), |state| state["range"] == range).await?;
    browser.ready().await
}

/// Seeks and waits until the book there is shown.
pub async fn seek(browser: &Browser, moment: &str) -> Result<Value, String> {
    browser.command(json!({ "seek": moment })).await?;
    browser
        .until(&format!("the book at {moment}"), Duration::from_secs(60), |state| {
            state["seeking"].is_null() && matches!(state["status"].as_str(), Some("paused" | "ended"))
        })
        .await
}

/// Compares two values; the text says what they are of.
pub fn same<T: PartialEq + std::fmt::Debug>(what: &str, got: T, wanted: T) -> Result<(), String> {
    if got == wanted { Ok(()) } else { Err(format!("{what}: {got:?}, wanted {wanted:?}")) }
}
