//! Messages between the page and its worker, and the JSON forms that page, terminal and embedding share.
//!
//! Two kinds cross the boundary. Slow state (what is open, status, counters, catalogue) is JSON text: [`ToWorker`] and
//! [`FromWorker`]. The picture is a [`ViewFrame`]: one fixed-layout byte buffer that is transferred, painted and acknowledged.
//! At most one frame is outstanding; the newest wins and the ones it replaced are counted.
//!
//! Times are decimal strings of nanoseconds since 1970 UTC, prices and sizes exact decimal strings: a JavaScript number keeps
//! only 53 bits.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

mod frame;
mod panels;
pub use frame::{FrameError, FrameFlags, FrameLevel, LastTrade, ViewFrame};
pub use panels::{Histogram, TapeRow, TapeRows, TapeView, TimelineView};

/// From the page to the worker.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum ToWorker {
    /// Sent first, and again when an import ends: where the stores are.
    Start {
        /// Stores that can be opened, in the order of the source picker.
        stores: Vec<StoreInfo>,
    },
    /// A command with the number its answer will carry.
    Request {
        /// Chosen by the page, unique in its life.
        id: u32,
        /// What to do; see [`Command::parse`] for the accepted forms.
        command: serde_json::Value,
    },
    /// Asks for the full state with the digest of the book as it stands.
    GetState {
        /// Chosen by the page, unique in its life.
        id: u32,
    },
    /// The last frame was painted; its buffer is free again.
    FrameAck {
        /// The frame's sequence number.
        sequence: u32,
        /// How long the paint took.
        paint_micros: u32,
    },
    /// The page became visible or hidden. A hidden page gets no frames; events go on.
    Visible(bool),
    /// What the tape shows from now on; `None` while it is not on screen.
    Tape(Option<TapeView>),
    /// What the timeline shows from now on; `None` while it is not on screen.
    Timeline(Option<TimelineView>),
    /// Asks a worker that is about to be replaced where it stands. It plays no further.
    HandOver,
    /// What the worker before this one answered; the place is opened next.
    TakeOver(Standing),
}

/// Where a worker stood, for the one that replaces it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Standing {
    /// The place and moment.
    pub open: Box<Open>,
    /// Rows of the range, by which a table that has changed since is recognised.
    pub rows: u64,
    /// An encoded checkpoint of replay; empty when there is none. Travels as a buffer beside the text.
    #[serde(skip)]
    pub checkpoint: Vec<u8>,
}

/// From the worker to the page. Frames travel apart from these, as transferred buffers.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub enum FromWorker {
    /// The worker runs and takes messages. Nothing may be sent to it before.
    Ready,
    /// The state changed (at most once a turn of the worker's loop, never per event).
    State(Box<State>),
    /// Four times a second.
    Counters(Box<Counters>),
    /// The answer to a request.
    Answer {
        /// The request's number.
        id: u32,
        /// The state after the command, or why nothing changed.
        result: Result<Box<State>, String>,
    },
    /// What the tape asked for, whenever it changes.
    Tape(Box<TapeRows>),
    /// What the timeline asked for, whenever it changes.
    Histogram(Box<Histogram>),
    /// The answer to [`ToWorker::HandOver`]; `None` when nothing is open.
    HandedOver(Option<Standing>),
}

/// A store that the page can open, as `/api/stores` lists it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StoreInfo {
    /// Name in links and pickers; the embedded store is `embedded`.
    pub name: String,
    /// Which SQL it speaks.
    pub kind: StoreKind,
    /// Opened when nothing else is asked for.
    #[serde(default)]
    pub default: bool,
    /// Full address of its `/read/v1`, filled in by the page or the terminal (`ws://…`); never holds a credential.
    #[serde(default)]
    pub url: String,
    /// Files being imported into it just now.
    #[serde(default)]
    pub importing: Vec<Import>,
}

/// What kind of store answers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum StoreKind {
    /// Files, through DataFusion, in the tickscope binary.
    Embedded,
    /// A QuestDB server.
    Questdb,
}

/// An import in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Import {
    /// The table that will hold it.
    pub table: String,
    /// Bytes read so far.
    pub bytes_done: u64,
    /// Bytes in all.
    pub bytes_total: u64,
    /// Rows imported so far.
    pub rows: u64,
    /// Why it failed; the table will not come.
    #[serde(default)]
    pub error: Option<String>,
}

/// What `state()` answers, on the page and in an embedding.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct State {
    /// Version of the page.
    pub version: String,
    /// Name of the open store.
    pub source: Option<String>,
    /// Name of the open table.
    pub table: Option<String>,
    /// Open instruments, by symbol.
    pub symbols: Vec<String>,
    /// How the table's columns are read, or why they cannot be.
    pub binding: Option<BindingInfo>,
    /// The range that is played: `from` inclusive, `to` exclusive.
    pub range: Option<Range>,
    /// What the page is doing.
    pub status: Status,
    /// The moment the book is true for: `ns`, `ns/k` or `ns-`.
    pub as_of: Option<String>,
    /// Target of a seek that is still loading, in the same form.
    pub seeking: Option<String>,
    /// Which event of those that share the moment's time: "event 3 of 14 at this time".
    pub tie: Option<Tie>,
    /// Market time per wall time; `"max"` when not paced.
    pub speed: Speed,
    /// What paces playback: `time` (market time × speed) or `events` ([`State::rate`] a second).
    pub pacing: String,
    /// Events a second, when they pace playback.
    pub rate: Option<u32>,
    /// The stretch that is played over and over.
    #[serde(rename = "loop")]
    pub looped: Option<Range>,
    /// The book as it stands; the digest is filled in for a request only.
    pub book: Option<BookJson>,
    /// One book a symbol, when several are open.
    pub books: Vec<BookJson>,
    /// Counters, see the README.
    pub counters: Counters,
    /// What was found wrong or unusual.
    pub quality: Quality,
    /// What failed last, until something succeeds.
    pub error: Option<ErrorJson>,
    /// What the open store holds.
    pub catalogue: Catalogue,
    /// The last statement sent for rows, as sent.
    pub sql: Option<String>,
    /// Seconds until the next try to reconnect, when disconnected.
    pub retry_seconds: Option<u32>,
}

/// What the page is doing.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Status {
    /// Nothing is open.
    #[default]
    Idle,
    /// A socket is being opened, or the catalogue read.
    Connecting,
    /// Rows for the asked moment are on their way.
    Loading,
    /// The clock runs.
    Playing,
    /// The clock stands.
    Paused,
    /// Pinned to the newest event.
    Following,
    /// The end of the range was reached.
    Ended,
    /// The connection is lost; the last frame stays.
    Disconnected,
    /// Something failed that only the user can mend; the last frame stays.
    Failed,
}

/// Playback speed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Speed {
    /// Market seconds per wall second, in thousandths (×0.1 is 100).
    Times {
        /// Thousandths.
        milli: u64,
    },
    /// As fast as rows arrive.
    Max,
}

impl Speed {
    /// Slowest: ×0.1.
    pub const MIN_MILLI: u64 = 100;
    /// Fastest paced: ×10,000.
    pub const MAX_MILLI: u64 = 10_000_000;
    /// The steps of the speed keys and menu.
    pub const STEPS: [Speed; 12] = [
        Speed::Times { milli: 100 },
        Speed::Times { milli: 500 },
        Speed::Times { milli: 1_000 },
        Speed::Times { milli: 2_000 },
        Speed::Times { milli: 5_000 },
        Speed::Times { milli: 10_000 },
        Speed::Times { milli: 60_000 },
        Speed::Times { milli: 100_000 },
        Speed::Times { milli: 600_000 },
        Speed::Times { milli: 1_000_000 },
        Speed::Times { milli: 10_000_000 },
        Speed::Max,
    ];
}

impl Default for Speed {
    fn default() -> Self {
        Speed::Times { milli: 1_000 }
    }
}

impl Serialize for Speed {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self {
            Speed::Max => serializer.serialize_str("max"),
            Speed::Times { milli } if milli % 1000 == 0 => serializer.serialize_u64(milli / 1000),
            Speed::Times { milli } => serializer.serialize_f64(*milli as f64 / 1000.0),
        }
    }
}

impl<'de> Deserialize<'de> for Speed {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        parse_speed(&value).map_err(serde::de::Error::custom)
    }
}

fn parse_speed(value: &serde_json::Value) -> Result<Speed, String> {
    if value == "max" {
        return Ok(Speed::Max);
    }
    let wrong = || format!("speed must be a number from 0.1 to 10000, or \"max\"; got {value}");
    let times = value.as_f64().ok_or_else(wrong)?;
    let milli = (times * 1000.0).round();
    if !(Speed::MIN_MILLI as f64..=Speed::MAX_MILLI as f64).contains(&milli) {
        return Err(wrong());
    }
    Ok(Speed::Times { milli: milli as u64 })
}

/// A range of time: decimal strings of nanoseconds, `from` inclusive, `to` exclusive.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Range {
    /// First nanosecond.
    pub from: String,
    /// First nanosecond after it.
    pub to: String,
}

/// Place among events that share one time, both counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tie {
    /// This one.
    pub event: u32,
    /// How many there are.
    pub of: u32,
}

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BindingInfo {
    /// Name of the layout: "MBO", "MBP-10", …; empty when there is none.
    pub name: String,
    /// What the table tells of the market: `book`, `quotes` (best bid and ask), `trades` or `bars`; empty when there is no layout.
    pub holds: String,
    /// Role → column.
    pub roles: BTreeMap<String, String>,
    /// Those of the roles whose column was chosen, as [`Open::bind`] says.
    pub chosen: BTreeMap<String, String>,
    /// Why the table cannot be read; null when it can.
    pub reason: Option<String>,
}

/// A price level as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LevelJson {
    /// Exact decimal.
    pub price: String,
    /// Exact decimal.
    pub size: String,
    /// Orders at the level; null where the feed has no count.
    pub count: Option<u32>,
}

/// An order as text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OrderJson {
    /// Order id.
    pub id: String,
    /// Exact decimal.
    pub price: String,
    /// Exact decimal.
    pub size: String,
}

/// Orders of both sides, best level first, then by priority.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct OrdersJson {
    /// Resting buys.
    pub bids: Vec<OrderJson>,
    /// Resting sells.
    pub asks: Vec<OrderJson>,
}

/// A book as JSON: the same form in `tickscope book --format json` and in `state().book`.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct BookJson {
    /// Instrument.
    pub symbol: String,
    /// The moment it is true for.
    pub as_of: String,
    /// Events of the range applied so far (one a row).
    pub event: String,
    /// `L1`, `L2` or `L3`.
    pub kind: String,
    /// Publisher, where the feed names one.
    pub publisher: Option<u32>,
    /// Instrument id, where the feed names one.
    pub instrument: Option<String>,
    /// Nanoseconds since which it is known in part only; null when a snapshot or clear began it.
    pub partial_since: Option<String>,
    /// Best first.
    pub bids: Vec<LevelJson>,
    /// Best first.
    pub asks: Vec<LevelJson>,
    /// Best bid above best ask.
    pub crossed: bool,
    /// Best bid equal to best ask.
    pub locked: bool,
    /// The source said that the book may be wrong.
    pub stale: bool,
    /// 16 hex digits; empty when it was not asked for.
    pub digest: String,
    /// Only when asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub orders: Option<OrdersJson>,
}

/// Counters; the README says what each means. Unknown is null, idle is 0.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Counters {
    /// Rows decoded in all.
    pub rows: u64,
    /// … over the last second.
    pub rows_per_second: u64,
    /// QWP message bytes as received.
    pub wire_bytes: u64,
    /// … over the last second.
    pub wire_bytes_per_second: u64,
    /// Bytes of the Arrow buffers handed on.
    pub arrow_bytes: u64,
    /// Bits of them over the last second.
    pub arrow_bits_per_second: u64,
    /// Events applied to books.
    pub events: u64,
    /// … over the last second.
    pub events_per_second: u64,
    /// Rows whose time is smaller than the row's before.
    pub out_of_order: u64,
    /// Median decode time of a batch.
    pub decode_p50_micros: Option<u64>,
    /// 99th percentile of the same.
    pub decode_p99_micros: Option<u64>,
    /// 99th percentile of the time to apply a batch.
    pub apply_p99_micros: Option<u64>,
    /// 95th percentile of the time to paint a frame.
    pub paint_p95_micros: Option<u64>,
    /// How far the clock is behind its schedule.
    pub lag_millis: Option<u64>,
    /// Market time that playback has covered, paced by time: divided by the next one it is the speed.
    pub played_micros: u64,
    /// Wall time that it took for it.
    pub playing_micros: u64,
    /// Bytes the server may still send.
    pub credit_bytes: i64,
    /// The granted window.
    pub credit_window_bytes: u64,
    /// Received and not yet applied.
    pub queued_bytes: u64,
    /// Frames painted.
    pub frames_painted: u64,
    /// Frames replaced by a newer one before they were sent.
    pub frames_conflated: u64,
    /// Size of the worker's memory.
    pub wasm_bytes: Option<u64>,
    /// Batches kept.
    pub history_bytes: u64,
    /// The most that may be kept.
    pub history_budget_bytes: u64,
}

/// What was found wrong or unusual in what was applied.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct Quality {
    /// Since when the other counts hold: the first event that the book was built from, which is the snapshot (or the row) that the last
    /// seek began at. Decimal nanoseconds; null without one.
    pub since: Option<String>,
    /// Jumps of a sequence that the binding declares to be per instrument; null as long as none does, since a jump in the sequence of a
    /// channel is no loss.
    pub gaps: Option<u64>,
    /// Rows that step back in time.
    pub out_of_order: u64,
    /// Event groups after which the book was crossed.
    pub crossed: u64,
    /// Event groups after which it was locked.
    pub locked: u64,
    /// Orders named by the feed that the book does not hold.
    pub unknown_orders: u64,
    /// Rows the source itself marks as doubtful (`MAYBE_BAD_BOOK`).
    pub maybe_bad: u64,
    /// A snapshot that differed from the book rebuilt up to it.
    pub snapshot_differs: u64,
}

/// What failed, where, and what to do.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct ErrorJson {
    /// Stable short name: `refused`, `decode`, `query`, `lost`, …
    pub code: String,
    /// What the user was doing and what failed.
    pub what: String,
    /// Where: batch, column, offset, position in the statement.
    #[serde(rename = "where")]
    pub place: String,
    /// What to do next.
    pub todo: String,
}

/// What a store holds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Catalogue {
    /// Stores to choose from.
    pub stores: Vec<StoreInfo>,
    /// Tables of the open store.
    pub tables: Vec<TableInfo>,
    /// Instruments of the open table.
    pub instruments: Vec<InstrumentInfo>,
    /// First and last time with data of the open table and instrument, both inclusive.
    pub bounds: Option<Range>,
    /// Nearest data around an empty range.
    pub nearest: Nearest,
}

/// Data nearest to a range that has none: decimal nanoseconds.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Nearest {
    /// Last time with data before it.
    pub before: Option<String>,
    /// First time with data after it.
    pub after: Option<String>,
}

/// A table.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct TableInfo {
    /// Name.
    pub name: String,
    /// Rows, where the store knows without counting.
    pub rows: Option<u64>,
    /// The column that orders it; a table without one cannot be replayed.
    pub designated: Option<String>,
    /// Made by tickscope, not by a market.
    pub synthetic: bool,
    /// What its store says of it beside.
    pub note: Option<String>,
    /// Why it cannot be opened.
    pub reason: Option<String>,
    /// What it tells of the market, as in [`BindingInfo::holds`]; empty while its columns were not looked at.
    pub holds: String,
    /// Its busiest instruments, once [`Command::Browse`] has asked for them.
    pub instruments: Vec<InstrumentInfo>,
}

/// An instrument of a table: the key of a book.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub struct InstrumentInfo {
    /// Symbol; the instrument id as text where the table has no symbols.
    pub symbol: String,
    /// Publisher, where the table has that column.
    pub publisher: Option<u32>,
    /// Instrument id, where the table has that column.
    pub instrument: Option<String>,
    /// Rows in the table.
    pub rows: u64,
}

/// What to do. The one form for buttons, keys, links, embedding and tests.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Run the clock.
    Play,
    /// Stop the clock.
    Pause,
    /// Change the speed.
    Speed(Speed),
    /// Go to a moment: `ns`, `ns/k` or `ns-`.
    Seek(String),
    /// Go to the moment just after the nth trade (from 1) of those with that time.
    SeekTrade {
        /// Decimal nanoseconds.
        time: String,
        /// Which of them.
        nth: u32,
    },
    /// Pace playback by market time, at the speed.
    PaceByTime,
    /// Pace playback by events: so many a second.
    PaceByEvents(u32),
    /// Play a stretch over and over; `None` ends it.
    Loop(Option<Range>),
    /// Connect to a store and list its tables with their busiest instruments, without opening one.
    Browse {
        /// Name of a store; the default one otherwise.
        source: Option<String>,
    },
    /// One event group forward (1) or back (−1).
    Step(i8),
    /// To just after the next trade (1) or the one before (−1).
    StepTrade(i8),
    /// Go to the start of the range.
    Home,
    /// Go to the end of the range.
    End,
    /// Open a place.
    Open(Open),
    /// Try the connection again now.
    Reconnect,
}

/// What to open; what is not given is chosen: the default store, its first table with a book (else the first that can be read), the busiest instrument, the last
/// day with data.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default, deny_unknown_fields)]
pub struct Open {
    /// Name of a store.
    pub source: Option<String>,
    /// Name of a table.
    pub table: Option<String>,
    /// Symbols; one for now.
    pub symbols: Vec<String>,
    /// Publisher, where a symbol has several.
    pub publisher: Option<u32>,
    /// Instrument id, where a symbol has several.
    pub instrument: Option<String>,
    /// Range to play.
    pub range: Option<Range>,
    /// Moment to show first; the range's start otherwise.
    pub at: Option<String>,
    /// Role → column, where the names of the columns say something else or too little.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub bind: BTreeMap<String, String>,
}

impl Command {
    /// The most events a second that can be asked for.
    pub const MOST_RATE: u32 = 10_000_000;

    /// The form that [`Command::parse`] reads.
    #[must_use]
    pub fn to_json(&self) -> serde_json::Value {
        use serde_json::json;
        match self {
            Command::Play => json!({ "play": true }),
            Command::Pause => json!({ "pause": true }),
            Command::Speed(speed) => json!({ "speed": speed }),
            Command::Seek(moment) => json!({ "seek": moment }),
            Command::SeekTrade { time, nth } => json!({ "seek": time, "trade": nth }),
            Command::PaceByTime => json!({ "pacing": "time" }),
            Command::PaceByEvents(rate) => json!({ "pacing": "events", "rate": rate }),
            Command::Loop(None) => json!({ "loop": null }),
            Command::Loop(Some(range)) => json!({ "loop": [range.from, range.to] }),
            Command::Browse { source } => json!({ "browse": { "source": source } }),
            Command::Step(by) => json!({ "step": "group", "by": by }),
            Command::StepTrade(by) => json!({ "step": "trade", "by": by }),
            Command::Home => json!({ "home": true }),
            Command::End => json!({ "end": true }),
            Command::Open(open) => json!({ "open": open }),
            Command::Reconnect => json!({ "reconnect": true }),
        }
    }

    /// Reads a command as `window.tickscope.command` takes it, for example `{"seek":"1703462400000000000"}`.
    ///
    /// # Errors
    /// A sentence that says which part is unknown or malformed. Nothing was changed.
    pub fn parse(value: &serde_json::Value) -> Result<Command, String> {
        let object = value.as_object().ok_or_else(|| format!("a command is an object such as {{\"play\":true}}; got {value}"))?;
        let allow = |extra: &[&str]| -> Result<(), String> {
            match object.keys().find(|key| !extra.contains(&key.as_str())) {
                Some(key) => Err(format!("unknown key {key:?} in the command {value}")),
                None => Ok(()),
            }
        };
        let yes = |key: &str, command: Command| -> Result<Command, String> {
            allow(&[key])?;
            if object.get(key) == Some(&serde_json::Value::Bool(true)) { Ok(command) } else { Err(format!("{key} takes true; got {value}")) }
        };
        let name = ["play", "pause", "speed", "pacing", "seek", "step", "loop", "home", "end", "open", "browse", "reconnect"]
            .into_iter()
            .find(|name| object.contains_key(*name))
            .ok_or_else(|| format!("unknown command {value}"))?;
        match name {
            "play" => yes("play", Command::Play),
            "pause" => yes("pause", Command::Pause),
            "home" => yes("home", Command::Home),
            "end" => yes("end", Command::End),
            "reconnect" => yes("reconnect", Command::Reconnect),
            "speed" => {
                allow(&["speed"])?;
                Ok(Command::Speed(parse_speed(&object["speed"])?))
            }
            "pacing" => {
                allow(&["pacing", "rate"])?;
                let rate = object.get("rate").map(|rate| rate.as_u64().and_then(|rate| u32::try_from(rate).ok()));
                match (object["pacing"].as_str(), rate) {
                    (Some("time"), None) => Ok(Command::PaceByTime),
                    (Some("events"), Some(Some(rate @ 1..=Command::MOST_RATE))) => Ok(Command::PaceByEvents(rate)),
                    (Some("events"), _) => Err(format!("rate takes a whole number from 1 to {}; got {value}", Command::MOST_RATE)),
                    _ => Err(format!("pacing takes \"time\", or \"events\" with a rate; got {value}")),
                }
            }
            "loop" => {
                allow(&["loop"])?;
                let ends = object["loop"].as_array().map(Vec::as_slice);
                match (&object["loop"], ends) {
                    (serde_json::Value::Null, _) => Ok(Command::Loop(None)),
                    (_, Some([serde_json::Value::String(from), serde_json::Value::String(to)])) => {
                        Ok(Command::Loop(Some(Range { from: from.clone(), to: to.clone() })))
                    }
                    _ => Err(format!("loop takes two times as text, or null; got {}", object["loop"])),
                }
            }
            "browse" => {
                allow(&["browse"])?;
                let browse = object["browse"].as_object().filter(|browse| browse.keys().all(|key| key == "source"));
                match browse.map(|browse| browse.get("source").unwrap_or(&serde_json::Value::Null)) {
                    Some(serde_json::Value::Null) => Ok(Command::Browse { source: None }),
                    Some(serde_json::Value::String(source)) => Ok(Command::Browse { source: Some(source.clone()) }),
                    _ => Err(format!("browse takes {{\"source\":NAME}}; got {value}")),
                }
            }
            "seek" => {
                allow(&["seek", "trade"])?;
                let nth = object.get("trade").map(|nth| nth.as_u64().and_then(|nth| u32::try_from(nth).ok()).filter(|nth| *nth > 0));
                match (object["seek"].as_str(), nth) {
                    (Some(moment), None) => Ok(Command::Seek(moment.to_owned())),
                    (Some(time), Some(Some(nth))) => Ok(Command::SeekTrade { time: time.to_owned(), nth }),
                    (Some(_), Some(None)) => Err(format!("trade takes a whole number from 1; got {value}")),
                    (None, _) => Err(format!("seek takes a moment as text (\"ns\", \"ns/k\" or \"ns-\"); got {}", object["seek"])),
                }
            }
            "step" => {
                allow(&["step", "by"])?;
                let by = match object.get("by").map_or(Some(1), serde_json::Value::as_i64) {
                    Some(1) => 1,
                    Some(-1) => -1,
                    _ => return Err(format!("by takes 1 or -1; got {value}")),
                };
                match object["step"].as_str() {
                    Some("group") => Ok(Command::Step(by)),
                    Some("trade") => Ok(Command::StepTrade(by)),
                    _ => Err(format!("step takes \"group\" or \"trade\"; got {}", object["step"])),
                }
            }
            _ => {
                allow(&["open"])?;
                let open = serde_json::from_value(object["open"].clone()).map_err(|error| format!("open: {error}"))?;
                Ok(Command::Open(open))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_is_read_back_from_its_json() {
        let open = Open { table: Some("mbo".into()), range: Some(Range { from: "1".into(), to: "2".into() }), ..Open::default() };
        let mut commands = vec![
            Command::Play,
            Command::Pause,
            Command::Seek("1703462400000000000/3".into()),
            Command::Step(1),
            Command::Step(-1),
            Command::StepTrade(1),
            Command::StepTrade(-1),
            Command::SeekTrade { time: "1703462400000000000".into(), nth: 2 },
            Command::PaceByTime,
            Command::PaceByEvents(1_000),
            Command::Loop(None),
            Command::Loop(Some(Range { from: "1".into(), to: "2".into() })),
            Command::Browse { source: None },
            Command::Browse { source: Some("embedded".into()) },
            Command::Home,
            Command::End,
            Command::Open(open),
            Command::Reconnect,
        ];
        commands.extend(Speed::STEPS.map(Command::Speed));
        for command in commands {
            assert_eq!(Command::parse(&command.to_json()), Ok(command));
        }
    }

    #[test]
    fn a_command_that_is_none_says_what_is_wrong() {
        for (text, part) in [
            ("5", "object"),
            ("{}", "unknown command"),
            (r#"{"speed":0}"#, "0.1 to 10000"),
            (r#"{"play":false}"#, "takes true"),
            (r#"{"play":true,"x":1}"#, "unknown key"),
            (r#"{"seek":17}"#, "as text"),
            (r#"{"seek":"17","trade":0}"#, "from 1"),
            (r#"{"pacing":"events"}"#, "whole number"),
            (r#"{"pacing":"x"}"#, "\"time\""),
            (r#"{"loop":["1"]}"#, "two times"),
            (r#"{"browse":{"x":1}}"#, "NAME"),
            (r#"{"step":"minute"}"#, "group"),
            (r#"{"step":"trade","by":2}"#, "1 or -1"),
            (r#"{"open":{"tabel":"x"}}"#, "tabel"),
        ] {
            let value = serde_json::from_str(text).unwrap();
            let refused = Command::parse(&value).unwrap_err();
            assert!(refused.contains(part), "{text}: {refused}");
        }
    }
}
