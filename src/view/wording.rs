//! Words for states, places and failures. Sentence case, no full stop on one-line labels, errors begin with what was being done.

use crate::link::{ErrorJson, Import, InstrumentInfo, Nearest, Range, Speed, State, Status, StoreInfo, StoreKind, TableInfo};
use crate::units::UnixNanos;

use super::clock;
use super::numbers::{THIN, bytes, count, si};
use super::pace::Pace;

/// The word of the toolbar: what the page is doing, never told by colour alone.
#[must_use]
pub fn status_word(state: &State) -> String {
    if is_empty_range(state) {
        return "NO TICKS".to_owned();
    }
    if no_book(state).is_some() {
        return "NO BOOK".to_owned();
    }
    if importing(state).is_some() {
        return "IMPORTING".to_owned();
    }
    match state.status {
        Status::Idle => "NOTHING OPEN".to_owned(),
        Status::Connecting => "CONNECTING".to_owned(),
        Status::Loading => "LOADING".to_owned(),
        Status::Playing => match Pace::of(state) {
            Pace::Time(Speed::Max) => "REPLAY MAX".to_owned(),
            pace => format!("REPLAY {}", pace.label()),
        },
        Status::Paused => "PAUSED".to_owned(),
        Status::Following => "LIVE".to_owned(),
        Status::Ended => "END".to_owned(),
        Status::Disconnected => "DISCONNECTED".to_owned(),
        Status::Failed => "FAILED".to_owned(),
    }
}

/// The title of the browser's tab: the most particular first, for tabs are narrow.
#[must_use]
pub fn tab_title(state: &State) -> String {
    state.symbols.iter().chain(&state.table).map(String::as_str).chain(["Tickscope"]).collect::<Vec<_>>().join(" · ")
}

/// The connection, for the status bar: a mark and a word.
#[must_use]
pub fn connection(state: &State) -> &'static str {
    match state.status {
        Status::Idle if state.source.is_none() => "○ not connected",
        Status::Idle => "✓ connected",
        Status::Failed if marked_status(state) == Status::Idle => "✓ connected",
        Status::Connecting => "… connecting",
        Status::Loading | Status::Playing | Status::Paused | Status::Following | Status::Ended => "✓ connected",
        Status::Disconnected => "✕ disconnected",
        Status::Failed => "✕ failed",
    }
}

/// The same when the page itself has failed.
pub const PAGE_FAILED: &str = "✕ failed";

/// A whole sentence about the state for those who cannot see it; it changes with the state, never with the clock.
#[must_use]
pub fn announcement(state: &State) -> String {
    let source = state.source.as_deref().map_or_else(|| "the store".to_owned(), store_name);
    match state.status {
        Status::Idle => "Nothing is open".to_owned(),
        Status::Connecting => format!("Connecting to {source}"),
        Status::Loading => "Loading".to_owned(),
        Status::Playing => format!("Playing at {}", Pace::of(state).label()),
        Status::Paused => "Paused".to_owned(),
        Status::Following => "Following the newest event".to_owned(),
        Status::Ended => "End of the range".to_owned(),
        Status::Disconnected => format!("Connection to {source} lost; the last book stays on screen"),
        Status::Failed => state.error.as_ref().map_or_else(|| "Failed".to_owned(), |error| error.what.clone()),
    }
}

/// What is said where the instruments would be, when there are none.
pub const NO_TABLES: &str = "The store has no table. Open a file, or connect to another store";

/// What files can be opened.
pub const FILES_HELP: &str =
    "Parquet, CSV, Arrow or DBN: choose a file, or drop it anywhere on the page. It goes to the tickscope that serves the page, nowhere else";

/// A file on its way to the server: `es.dbn.zst: sent 42 % of 1.20 GiB`.
#[must_use]
pub fn upload_line(name: &str, sent: u64, total: u64) -> String {
    let percent = (u128::from(sent) * 100).checked_div(u128::from(total)).unwrap_or(0).min(100);
    format!("{name}: sent {percent}{THIN}% of {}", bytes(total))
}

/// Why a file cannot be taken by a page that no tickscope serves.
#[must_use]
pub fn nobody_takes_files(name: &str) -> String {
    format!("{name} was not opened: this page does not come from a tickscope that could read it. Run tickscope serve {name} and open its page")
}

/// A file that the server refused, in the server's words where it has some.
#[must_use]
pub fn upload_refused(name: &str, status: u16, body: &str) -> String {
    let said = serde_json::from_str::<serde_json::Value>(body).ok().and_then(|answer| Some(answer.get("error")?.as_str()?.to_owned()));
    match (said, status) {
        // Where the server keeps what was sent is no matter of whoever sent it.
        (Some(said), _) => match said.split_once(name) {
            Some((_, why)) if why.starts_with(": ") => format!("{name} was not opened{why}"),
            Some((_, why)) => format!("{name} was not opened: it{why}"),
            None => format!("{name} was not opened: {said}"),
        },
        (None, 404 | 405) => nobody_takes_files(name),
        (None, status) => format!("{name} was not opened: the server answered HTTP {status}"),
    }
}

/// The table that a file became.
#[must_use]
pub fn uploaded_table(body: &str) -> Option<String> {
    serde_json::from_str::<serde_json::Value>(body).ok()?.get("table")?.as_str().map(str::to_owned)
}

/// What was open before the page was loaded again, and is no more.
#[must_use]
pub fn place_is_gone(reason: &str) -> String {
    format!("What was open before cannot be opened again: {reason}")
}

/// A store's name as the picker shows it.
#[must_use]
pub fn store_name(name: &str) -> String {
    if name == "embedded" { "embedded store".to_owned() } else { name.to_owned() }
}

/// A store in the picker.
#[must_use]
pub fn store_option(store: &StoreInfo) -> String {
    match store.kind {
        StoreKind::Questdb if store.name != "questdb" => format!("{} · QuestDB", store.name),
        StoreKind::Questdb => "QuestDB".to_owned(),
        StoreKind::Embedded => store_name(&store.name),
    }
}

/// A table in the picker.
#[must_use]
pub fn table_option(table: &TableInfo) -> String {
    let mut text = table.name.clone();
    if table.synthetic {
        text.push_str(" · synthetic");
    }
    match (&table.reason, table.rows) {
        (Some(_), _) => text.push_str(" · no book"),
        (None, Some(rows)) => text.push_str(&format!(" · {} rows", count(rows))),
        (None, None) => {}
    }
    text
}

/// An instrument in the picker; the publisher and id only where the symbol alone does not name it.
#[must_use]
pub fn instrument_option(instrument: &InstrumentInfo, all: &[InstrumentInfo]) -> String {
    let mut text = instrument.symbol.clone();
    let same = |other: &&InstrumentInfo| other.symbol == instrument.symbol;
    if all.iter().filter(same).count() > 1 {
        if let Some(publisher) = instrument.publisher {
            text.push_str(&format!(" · publisher {publisher}"));
        }
        if let Some(id) = &instrument.instrument {
            text.push_str(&format!(" · id {id}"));
        }
    }
    text
}

/// What the level of a book means.
#[must_use]
pub fn kind_meaning(kind: &str) -> &'static str {
    match kind {
        "L1" => "Level 1: top of book, the best bid and ask",
        "L2" => "Level 2: market by price, sizes at each price",
        "L3" => "Level 3: market by order, every resting order",
        _ => "No book yet",
    }
}

/// The same in two words.
#[must_use]
pub fn kind_short(kind: &str) -> &'static str {
    match kind {
        "L1" => "L1, top of book",
        "L2" => "L2, market by price",
        "L3" => "L3, market by order",
        _ => super::numbers::UNKNOWN,
    }
}

/// What a role of the binding is, for its column.
#[must_use]
pub fn role_label(role: &str) -> String {
    role.replace('_', " ")
}

/// Whether the open range holds no row; said where the book would be.
#[must_use]
pub fn is_empty_range(state: &State) -> bool {
    state.error.as_ref().is_some_and(|error| error.code == "empty")
}

/// Why a table cannot be read; said where the book would be.
#[must_use]
pub fn no_book(state: &State) -> Option<&str> {
    state.binding.as_ref()?.reason.as_deref()
}

/// What is said in the place of the book of a table that holds none: a heading and a sentence.
#[must_use]
pub fn without_book(state: &State) -> Option<(&'static str, &'static str)> {
    if is_empty_range(state) {
        return None;
    }
    match state.binding.as_ref()?.holds.as_str() {
        "trades" => Some(("Trades, no book", "This table holds trades only: the tape and the timeline show them")),
        "bars" => Some(("Bars, no book", "This table holds bars only: the close is shown as the last price, at the time of its row")),
        _ => None,
    }
}

/// The heading over that reason.
#[must_use]
pub fn no_book_title(state: &State) -> String {
    state.table.as_ref().map_or_else(|| "No book to show".to_owned(), |table| format!("{table} has no book"))
}

/// What is waited for when the only tables are still being imported; said where the book would be.
#[must_use]
pub fn importing(state: &State) -> Option<&ErrorJson> {
    state.error.as_ref().filter(|error| error.code == "importing")
}

/// The error that the banner shows: what is said in the place of the book is not said twice.
#[must_use]
pub fn banner_error(state: &State) -> Option<&ErrorJson> {
    let said = is_empty_range(state) || no_book(state).is_some() || importing(state).is_some();
    state.error.as_ref().filter(|_| !said)
}

/// The state as it is marked: a table without a book and a running import are no failures of the connection.
#[must_use]
pub fn marked_status(state: &State) -> Status {
    match state.status {
        Status::Failed if banner_error(state).is_none() && state.error.is_some() => Status::Idle,
        status => status,
    }
}

/// The message for a range without rows.
#[must_use]
pub fn empty_range(range: Option<&Range>) -> String {
    // A line never ends within a time.
    let whole = |time: UnixNanos| clock::short(time).replace(' ', "\u{a0}").replace('-', "\u{2011}");
    let time = |text: &str| text.parse::<UnixNanos>().map_or_else(|_| text.to_owned(), whole);
    match range {
        Some(range) => format!("No ticks between {} and {}", time(&range.from), time(&range.to)),
        None => "No ticks in this range".to_owned(),
    }
}

/// The buttons of an empty range: label and the time to go to.
#[must_use]
pub fn nearest_data(nearest: &Nearest) -> Vec<(String, UnixNanos)> {
    let button = |text: &Option<String>, label: &str| {
        let time: UnixNanos = text.as_ref()?.parse().ok()?;
        Some((format!("{label} {}", clock::short(time)), time))
    };
    [button(&nearest.before, "Last before:"), button(&nearest.after, "First after:")].into_iter().flatten().collect()
}

/// An import as one line: `mbo: 42 % of 1.20 GiB, 3 100 000 rows`.
#[must_use]
pub fn import_line(import: &Import) -> String {
    if let Some(error) = &import.error {
        return format!("{}: {error}", import.table);
    }
    if import.bytes_total == 0 {
        return format!("{}: {} rows", import.table, count(import.rows));
    }
    format!("{}: {}{THIN}% of {}, {} rows", import.table, import_percent(import).unwrap_or(0), bytes(import.bytes_total), count(import.rows))
}

/// How far an import is, 0 to 100; `None` when nothing is read, but made.
#[must_use]
pub fn import_percent(import: &Import) -> Option<u8> {
    let percent = (u128::from(import.bytes_done) * 100).checked_div(u128::from(import.bytes_total))?;
    Some(percent.min(100) as u8)
}

/// What a seek that is loading goes to, and how fast rows come.
#[must_use]
pub fn seeking(target: Option<&str>, rows_per_second: u64) -> String {
    let target = target.and_then(|text| text.parse::<crate::units::Moment>().ok()).map(|moment| clock::time(moment.time));
    let (figure, prefix) = si(rows_per_second);
    let rows = if rows_per_second > 0 { format!(" · {figure}{THIN}{prefix} rows/s") } else { String::new() };
    match target {
        Some(target) => format!("going to {target}{rows}"),
        None => format!("loading{rows}"),
    }
}

/// The countdown of a lost connection.
#[must_use]
pub fn retry(seconds: Option<u32>) -> String {
    match seconds {
        Some(0) => "trying again now".to_owned(),
        Some(seconds) => format!("trying again in {seconds}{THIN}s"),
        None => String::new(),
    }
}

/// How late the clock is, for the toolbar.
#[must_use]
pub fn behind(lag_millis: u64) -> String {
    format!("behind {} · every event is applied, frames are left out", super::numbers::millis(Some(lag_millis.saturating_mul(1000))))
}

/// An error as text for the clipboard.
#[must_use]
pub fn error_text(error: &ErrorJson) -> String {
    format!("{}\nWhere: {}\nWhat to do: {}\nCode: {}", error.what, error.place, error.todo, error.code)
}

/// The worker trapped or could not be loaded.
#[must_use]
pub fn worker_stopped(detail: &str) -> ErrorJson {
    ErrorJson {
        code: "worker".to_owned(),
        what: "The worker stopped".to_owned(),
        place: if detail.is_empty() { "worker.js gave no message".to_owned() } else { detail.to_owned() },
        todo: "Restart it here, or reload the page; the last book stays on screen".to_owned(),
    }
}

/// What the banner's button does about an error of the page itself.
#[must_use]
pub fn page_remedy(error: &ErrorJson) -> &'static str {
    if error.code == STORES { "Try again" } else { "Restart" }
}

/// Code of [`stores_unreachable`]: the worker itself is well.
pub const STORES: &str = "stores";

/// A message of the worker could not be read.
#[must_use]
pub fn unreadable_message(detail: &str) -> ErrorJson {
    ErrorJson {
        code: "message".to_owned(),
        what: "Reading a message of the worker failed".to_owned(),
        place: detail.to_owned(),
        todo: "Reload the page: page and worker are of different versions".to_owned(),
    }
}

/// `/api/stores` did not answer as it should.
#[must_use]
pub fn stores_unreachable(detail: &str) -> ErrorJson {
    ErrorJson {
        code: STORES.to_owned(),
        what: "Asking the server for its stores failed".to_owned(),
        place: format!("/api/stores: {detail}"),
        todo: "See whether tickscope serve still runs, then try again".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_state_has_its_word() {
        let word = |status| status_word(&State { status, speed: Speed::Times { milli: 10_000 }, ..State::default() });
        assert_eq!(word(Status::Playing), "REPLAY ×10");
        assert_eq!(word(Status::Ended), "END");
        let all = [
            Status::Idle,
            Status::Connecting,
            Status::Loading,
            Status::Playing,
            Status::Paused,
            Status::Following,
            Status::Ended,
            Status::Disconnected,
            Status::Failed,
        ];
        for (index, status) in all.into_iter().enumerate() {
            assert!(all[index + 1..].iter().all(|other| word(*other) != word(status)));
        }
    }

    #[test]
    fn what_is_said_in_place_of_the_book_is_no_failure() {
        for code in ["binding", "empty", "importing"] {
            let error = Some(ErrorJson { code: code.into(), what: "because".into(), ..ErrorJson::default() });
            let mut state = State { status: Status::Failed, source: Some("embedded".into()), error, ..State::default() };
            if code == "binding" {
                state.binding = Some(crate::link::BindingInfo { reason: Some("because".into()), ..Default::default() });
            }
            assert_eq!((banner_error(&state), marked_status(&state), connection(&state)), (None, Status::Idle, "✓ connected"), "{code}");
        }
        let error = Some(ErrorJson { code: "decode".into(), ..ErrorJson::default() });
        let state = State { status: Status::Failed, error, ..State::default() };
        assert_eq!((banner_error(&state).is_some(), marked_status(&state), connection(&state)), (true, Status::Failed, "✕ failed"));
    }

    #[test]
    fn an_instrument_is_named_by_more_than_its_symbol_only_where_needed() {
        let one = InstrumentInfo { symbol: "NVDA".into(), publisher: Some(2), instrument: Some("11667".into()), rows: 4 };
        let other = InstrumentInfo { publisher: Some(3), ..one.clone() };
        assert_eq!(instrument_option(&one, std::slice::from_ref(&one)), "NVDA");
        assert_eq!(instrument_option(&one, &[one.clone(), other]), "NVDA · publisher 2 · id 11667");
    }

    #[test]
    fn an_empty_range_names_its_ends_and_the_nearest_data() {
        let range = Range { from: "1703462400000000000".into(), to: "1703466000000000000".into() };
        let shown = empty_range(Some(&range)).replace('\u{a0}', " ").replace('\u{2011}', "-");
        assert_eq!(shown, "No ticks between 2023-12-25 00:00:00Z and 2023-12-25 01:00:00Z");
        let nearest = Nearest { before: None, after: Some("1703545202834984769".into()) };
        let buttons = nearest_data(&nearest);
        assert_eq!(buttons, [("First after: 2023-12-25 23:00:02.834984769Z".to_owned(), UnixNanos(1_703_545_202_834_984_769))]);
    }

    #[test]
    fn the_tab_and_a_seek_are_named() {
        let state = State { symbols: vec!["ESH4".into()], table: Some("mbo".into()), ..State::default() };
        assert_eq!((tab_title(&state).as_str(), tab_title(&State::default()).as_str()), ("ESH4 · mbo · Tickscope", "Tickscope"));
        assert_eq!(seeking(Some("0/2"), 1_240_000).replace(THIN, " "), "going to 00:00:00.000 000 000 · 1.24 M rows/s");
        assert_eq!(seeking(None, 0), "loading");
    }

    #[test]
    fn a_file_that_was_refused_says_why_in_the_words_of_the_server() {
        assert_eq!(upload_line("es.dbn", 512, 1024).replace(THIN, " "), "es.dbn: sent 50 % of 1.00 KiB");
        assert_eq!(upload_refused("x.csv", 422, r#"{"error":"x.csv: line 1: no time"}"#), "x.csv was not opened: line 1: no time");
        let said = upload_refused("x.txt", 422, r#"{"error":"/cache/66f2/x.txt is of no known format"}"#);
        assert_eq!(said, "x.txt was not opened: it is of no known format");
        assert!(upload_refused("x.csv", 404, "<html>").contains("tickscope serve x.csv"));
        assert!(upload_refused("x.csv", 502, "").contains("HTTP 502"));
        assert_eq!((uploaded_table(r#"{"table":"x"}"#).as_deref(), uploaded_table("[]")), (Some("x"), None));
    }

    #[test]
    fn an_import_says_how_far_it_is_or_why_it_stopped() {
        let mut import = Import { table: "mbo".into(), bytes_done: 512, bytes_total: 1024, rows: 3_100, error: None };
        assert_eq!(import_line(&import).replace(THIN, " "), "mbo: 50 % of 1.00 KiB, 3 100 rows");
        import.bytes_total = 0;
        assert_eq!((import_line(&import).replace(THIN, " "), import_percent(&import)), ("mbo: 3 100 rows".to_owned(), None));
        import.error = Some("record 7 is cut".into());
        assert_eq!(import_line(&import), "mbo: record 7 is cut");
    }
}
