//! The engine composes everything between a socket and a picture, and is driven from outside: the worker of the page, or the
//! terminal. It does no I/O and reads no clock: inputs are a closed set ([`Input`]), outputs are drained ([`Engine::next_output`]),
//! and every call is handed the time in microseconds of a monotonic clock.
//!
//! Decoding (a socket's message) and applying ([`Input::Turn`]) are separate calls, so that the caller can time them and say so
//! with [`Engine::measured`].
//!
//! ```text
//!   SocketMessage ▶ session ▶ wire ▶ columnar ▶ market ▶ history          (decode)
//!   Turn          ▶ history ▶ player ▶ book ▶ ViewFrame, state, counters  (apply)
//! ```

mod browse;
mod connection;
mod fetch;
mod handover;
mod open;
mod panels;
mod report;
mod seek;
mod tape;
mod timeline;

use std::collections::{BTreeSet, VecDeque};

use crate::columnar::ArrowByteCounter;
use crate::history::{History, TimedRows};
use crate::link::{BookJson, Catalogue, Command, ErrorJson, FromWorker, InstrumentInfo, Open, Speed, Standing, StoreInfo, StoreKind, ToWorker};
use crate::market::{Binding, Chunk, Feed};
use crate::replay::Player;
use crate::replay::clock::{Clock, EventClock};
use crate::stats::{Counter, Latency};
use crate::store::{Bounds, Place, TimeUnit};
use crate::units::{Moment, UnixNanos};

use browse::Browsing;
use connection::{Connection, Which};
use fetch::Fetch;
use open::Opening;
use seek::Seek;
use tape::Tape;
use timeline::Timeline;

/// Bytes of rows kept, unless the user says otherwise.
pub const HISTORY_BUDGET_BYTES: usize = 96 << 20;

/// Rows applied in one turn at most, so that a turn stays within a frame.
const ROWS_PER_TURN: u64 = 32_768;

/// Wall time between two looks at the clock while playing.
const FRAME_MICROS: u64 = 16_000;

/// Everything that can happen to an engine.
#[derive(Debug)]
pub enum Input {
    /// The page (or terminal) says something.
    Message(ToWorker),
    /// A socket asked for with [`Output::Connect`] is open.
    SocketOpened {
        /// Which.
        socket: u32,
    },
    /// A binary message came.
    SocketMessage {
        /// From which.
        socket: u32,
        /// The message.
        bytes: Vec<u8>,
    },
    /// A text message came, which the protocol does not have.
    SocketText {
        /// From which.
        socket: u32,
    },
    /// A socket is closed, or could not be opened.
    SocketClosed {
        /// Which.
        socket: u32,
        /// WebSocket close code; 1006 when the connection just ended.
        code: u16,
        /// What the other side gave as reason.
        reason: String,
    },
    /// Time passed: apply what is due.
    Turn,
}

/// What the engine wants done.
#[derive(Debug)]
pub enum Output {
    /// Open a WebSocket with binary messages.
    Connect {
        /// Number of the new socket.
        socket: u32,
        /// Address.
        url: String,
    },
    /// Send a binary message.
    Send {
        /// Over which socket.
        socket: u32,
        /// The message.
        bytes: Vec<u8>,
    },
    /// Close a socket; nothing more is wanted from it.
    Close {
        /// Which.
        socket: u32,
        /// Close code that a page may use: 1000 or 4000 to 4999.
        code: u16,
    },
    /// Tell the page.
    Post(FromWorker),
    /// Show a picture: an encoded [`crate::link::ViewFrame`].
    Frame(Vec<u8>),
    /// Call again with [`Input::Turn`] at this time, earlier is fine.
    WakeAt(u64),
}

/// What a caller timed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// One socket message with rows.
    Decode,
    /// One turn that applied rows.
    Apply,
}

impl TimedRows for Chunk {
    fn times(&self) -> &[i64] {
        self.times()
    }
    fn bytes(&self) -> usize {
        usize::try_from(ArrowByteCounter::new().add(self.batch())).unwrap_or(usize::MAX).saturating_add(self.memory_bytes())
    }
}

/// What is open: an instrument of a table and the range that is played.
#[derive(Debug)]
struct Opened {
    store: StoreInfo,
    place: Place,
    instrument: InstrumentInfo,
    binding: Binding,
    feed: Feed,
    from: UnixNanos,
    to: UnixNanos,
    /// Rows of the range and their first and last time.
    range: Bounds,
    /// Dimensions of the selected array columns: a batch whose arrays are all null does not tell them.
    arrays: Vec<(String, u8)>,
    /// Type of the column of sizes, as the store names it.
    size_kind: String,
}

#[derive(Debug, Default)]
struct Tally {
    rows: Counter,
    wire_bytes: Counter,
    arrow_bytes: Counter,
    arrow_counter: ArrowByteCounter,
    events: Counter,
    out_of_order: u64,
    decode: Latency,
    apply: Latency,
    paint: Latency,
    frames_painted: u64,
    frames_conflated: u64,
    lag_millis: u64,
    /// Rows, wire bytes, Arrow bytes and events of the last second.
    rates: [u64; 4],
}

/// See the module.
#[derive(Debug)]
pub struct Engine {
    outputs: VecDeque<Output>,
    stores: Vec<StoreInfo>,
    store: Option<StoreInfo>,
    catalogue: Catalogue,
    control: Connection,
    data: Connection,
    /// For the panels; when it fails, until when it is not tried again and why.
    side: Connection,
    side_retry_at: u64,
    side_reason: Option<String>,
    timeline: Timeline,
    tape: Tape,
    /// Tables whose rows of each second the store has counted.
    counted: BTreeSet<String>,
    next_socket: u32,
    opening: Option<Opening>,
    /// What was asked to be opened last: asked again after a reconnect.
    wanted: Option<Open>,
    /// The opening of `wanted` failed half-way.
    reopen: bool,
    opened: Option<Opened>,
    history: History<Chunk>,
    player: Player,
    fetch: Fetch,
    seek: Option<Seek>,
    queued: VecDeque<(u32, Command)>,
    as_of: Option<Moment>,
    /// A seek has moved the book away from `as_of`; `kept` is the book that was shown there.
    disturbed: bool,
    kept: Option<Box<BookJson>>,
    /// Where to go after a reconnect: the target of a seek that a broken connection ended.
    resume: Option<Moment>,
    /// The run in history began at an anchor: its book is whole once the anchor was applied, and not to be shown before.
    run_anchored: bool,
    speed: Speed,
    /// Events a second, when they pace playback.
    rate: Option<u32>,
    playing: bool,
    clock: Option<Clock>,
    event_clock: Option<EventClock>,
    /// Up to when playback paced by time was added up: wall time in microseconds and market time.
    measured_to: Option<(u64, UnixNanos)>,
    /// Market time covered and wall time taken, paced by time.
    played_nanos: u64,
    playing_micros: u64,
    /// The stretch that is played over and over, and when it began anew.
    looped: Option<(UnixNanos, UnixNanos)>,
    looped_at: u64,
    browsing: Option<Browsing>,
    /// Where the engine before this one stood; of use when the same place is opened.
    handed: Option<Standing>,
    ended: bool,
    /// The last turn could not apply what is due, because rows are missing.
    starved: bool,
    error: Option<ErrorJson>,
    failed: bool,
    retry_at: Option<u64>,
    retries: u32,
    sql: Option<String>,
    tally: Tally,
    wasm_bytes: Option<u64>,
    visible: bool,
    frame: report::FrameState,
    state_dirty: bool,
    counters_at: u64,
    now: u64,
}

impl Engine {
    /// An engine that keeps at most so many bytes of rows.
    #[must_use]
    pub fn new(history_budget_bytes: usize) -> Engine {
        Engine {
            outputs: VecDeque::new(),
            stores: Vec::new(),
            store: None,
            catalogue: Catalogue::default(),
            control: Connection::new(Which::Control),
            data: Connection::new(Which::Data),
            side: Connection::new(Which::Side),
            side_retry_at: 0,
            side_reason: None,
            timeline: Timeline::default(),
            tape: Tape::default(),
            counted: BTreeSet::new(),
            next_socket: 1,
            opening: None,
            wanted: None,
            reopen: false,
            opened: None,
            history: History::new(history_budget_bytes),
            player: Player::new(crate::market::BookKind::L3),
            fetch: Fetch::default(),
            seek: None,
            queued: VecDeque::new(),
            as_of: None,
            disturbed: false,
            kept: None,
            resume: None,
            run_anchored: false,
            speed: Speed::default(),
            rate: None,
            playing: false,
            clock: None,
            event_clock: None,
            measured_to: None,
            played_nanos: 0,
            playing_micros: 0,
            looped: None,
            looped_at: 0,
            browsing: None,
            handed: None,
            ended: false,
            starved: false,
            error: None,
            failed: false,
            retry_at: None,
            retries: 0,
            sql: None,
            tally: Tally::default(),
            wasm_bytes: None,
            visible: true,
            frame: report::FrameState::default(),
            state_dirty: true,
            counters_at: 0,
            now: 0,
        }
    }

    /// Takes one input.
    pub fn handle(&mut self, input: Input, now: u64) {
        self.now = now;
        match input {
            Input::Message(message) => self.message(message, now),
            Input::SocketOpened { socket } => self.socket_opened(socket, now),
            Input::SocketMessage { socket, bytes } => {
                self.socket_message(socket, &bytes, now);
                self.outputs.push_back(Output::WakeAt(now));
            }
            Input::SocketText { socket } => self.socket_text(socket),
            Input::SocketClosed { socket, code, reason } => self.socket_closed(socket, code, &reason, now),
            Input::Turn => self.turn(now),
        }
    }

    /// The next thing to do, in order; `None` when all is done.
    pub fn next_output(&mut self) -> Option<Output> {
        self.outputs.pop_front()
    }

    /// Takes in how long a stage took.
    pub fn measured(&mut self, stage: Stage, micros: u64) {
        match stage {
            Stage::Decode => self.tally.decode.record(micros),
            Stage::Apply => self.tally.apply.record(micros),
        }
    }

    /// Takes in how large the caller's memory is.
    pub fn set_wasm_bytes(&mut self, bytes: u64) {
        self.wasm_bytes = Some(bytes);
    }

    /// The player, for a caller in the same process.
    #[must_use]
    pub fn player(&self) -> &Player {
        &self.player
    }

    /// Rows decoded so far, so that a caller can tell which messages had some.
    #[must_use]
    pub fn rows_decoded(&self) -> u64 {
        self.tally.rows.total()
    }

    fn message(&mut self, message: ToWorker, now: u64) {
        match message {
            ToWorker::Start { stores } => {
                self.catalogue.stores.clone_from(&stores);
                self.stores = stores;
                self.state_dirty = true;
            }
            ToWorker::Request { id, command } => match Command::parse(&command) {
                Ok(command) => self.command(id, command, now),
                Err(reason) => self.post(FromWorker::Answer { id, result: Err(reason) }),
            },
            ToWorker::GetState { id } => self.answer(id),
            ToWorker::FrameAck { sequence, paint_micros } => {
                self.frame.acknowledged(sequence);
                self.tally.frames_painted += 1;
                self.tally.paint.record(u64::from(paint_micros));
                // What waited for it goes out; the clock has its own turns.
                self.report(now);
                return self.run_panels(now);
            }
            ToWorker::Tape(view) => self.show_tape(view),
            ToWorker::Timeline(view) => self.show_timeline(view),
            ToWorker::HandOver => return self.hand_over(),
            ToWorker::TakeOver(standing) => self.handed = Some(standing),
            ToWorker::Visible(visible) => {
                self.visible = visible;
                self.frame.changed(&mut self.tally.frames_conflated);
            }
        }
        self.turn(now);
    }

    fn command(&mut self, id: u32, command: Command, now: u64) {
        if matches!(command, Command::Play | Command::Step(_)) {
            self.mend();
        }
        let waits = match command {
            Command::Open(_) | Command::Browse { .. } | Command::Reconnect => false,
            // A step is one from the moment that is being sought.
            Command::Step(_) | Command::StepTrade(_) => self.opening.is_some() || self.seek.is_some(),
            // What comes while something opens is meant for what will be open.
            _ => self.opening.is_some(),
        };
        if waits {
            self.queued.push_back((id, command));
            if self.queued.len() > MAX_QUEUED
                && let Some((id, _)) = self.queued.pop_front()
            {
                self.post(FromWorker::Answer { id, result: Err("too many commands wait for a place or a moment to load".to_owned()) });
            }
            return;
        }
        match command {
            Command::Open(open) => return self.start_opening(open, vec![id], now),
            Command::Reconnect => {
                self.reconnect_now(now);
                return self.answer(id);
            }
            Command::Browse { source } => return self.start_browsing(source.as_deref(), id, now),
            // A speed is market time by wall time: choosing one is choosing that pace.
            Command::Speed(speed) => {
                self.speed = speed;
                return self.pace(None, id, now);
            }
            Command::PaceByTime => return self.pace(None, id, now),
            Command::PaceByEvents(rate) => return self.pace(Some(rate), id, now),
            _ => {}
        }
        let Some(opened) = &self.opened else {
            return self.post(FromWorker::Answer { id, result: Err("nothing is open yet: open a table first".to_owned()) });
        };
        let last = opened.range.times.map_or(opened.from, |(_, last)| last);
        if self.failed
            && matches!(
                command,
                Command::Play
                    | Command::Step(_)
                    | Command::StepTrade(_)
                    | Command::Seek(_)
                    | Command::SeekTrade { .. }
                    | Command::Home
                    | Command::End
            )
        {
            // Another moment may well be readable; going on from this one is for Reconnect to try.
            let elsewhere = self.connected() && !matches!(command, Command::Play | Command::Step(_) | Command::StepTrade(_));
            if !elsewhere {
                let reason = self.error.as_ref().map_or("", |error| error.what.as_str());
                return self.post(FromWorker::Answer { id, result: Err(format!("nothing can be played before a reconnect: {reason}")) });
            }
        }
        match command {
            Command::Play => {
                self.playing = true;
                self.state_dirty = true;
                if self.ended && self.seek.is_none() {
                    match self.looped {
                        Some((from, _)) => self.start_seek(Moment::before(from), Vec::new()),
                        None => self.start_home(Vec::new()),
                    }
                }
                self.restart_clock(now);
                self.answer(id);
            }
            Command::Pause => {
                self.pause();
                self.answer(id);
            }
            Command::Seek(text) => match text.parse::<Moment>() {
                Ok(moment) => {
                    let answers = self.superseding(id);
                    self.start_seek(moment, answers);
                }
                Err(error) => self.post(FromWorker::Answer { id, result: Err(format!("seek: {error}")) }),
            },
            Command::Home => {
                let answers = self.superseding(id);
                self.start_home(answers);
            }
            Command::End => {
                let answers = self.superseding(id);
                self.start_seek(Moment::end_of(last), answers);
            }
            Command::Step(by) => {
                self.pause();
                self.start_step(by, id, now);
            }
            Command::StepTrade(by) => {
                self.pause();
                self.start_step_trade(by, id, now);
            }
            Command::SeekTrade { time, nth } => match time.parse::<UnixNanos>() {
                Ok(time) => {
                    let answers = self.superseding(id);
                    self.start_seek_trade(time, seek::Which::Nth(nth), answers, now);
                }
                Err(error) => self.post(FromWorker::Answer { id, result: Err(format!("seek: {error}")) }),
            },
            Command::Loop(range) => match range.map(|range| open::parse_range(&range)).transpose() {
                Err(error) => self.post(FromWorker::Answer { id, result: Err(format!("loop: {error}")) }),
                Ok(Some((from, to))) if from < opened.from || to > opened.to => {
                    let result = Err(format!("loop: {from} to {to} is not within the range {} to {}", opened.from, opened.to));
                    self.post(FromWorker::Answer { id, result });
                }
                Ok(looped) => {
                    self.looped = looped;
                    self.state_dirty = true;
                    let shown = self.seek.as_ref().and_then(Seek::moment).or(self.as_of).map(|moment| moment.time);
                    let elsewhere = |time: UnixNanos, (from, to): &(UnixNanos, UnixNanos)| time < *from || time >= *to;
                    match looped.filter(|looped| !self.failed && shown.is_some_and(|time| elsewhere(time, looped))) {
                        // The way there is not what was asked to be played.
                        Some((from, _)) => self.start_seek(Moment::before(from), vec![id]),
                        None => self.answer(id),
                    }
                }
            },
            Command::Open(_) | Command::Reconnect | Command::Speed(_) | Command::PaceByTime | Command::PaceByEvents(_) | Command::Browse { .. } => {}
        }
    }

    /// A seek makes the steps that wait for an earlier one pointless, and the failure of another moment a thing of the past.
    fn superseding(&mut self, id: u32) -> Vec<u32> {
        if self.failed {
            self.failed = false;
            self.error = None;
            // What stays open is what a reconnect opens again, not what could not be opened beside it.
            self.reopen = false;
            self.remember_for_reconnect();
        }
        let steps = std::mem::take(&mut self.queued);
        std::iter::once(id).chain(steps.into_iter().map(|(id, _)| id)).collect()
    }

    /// When a seek was ended before it came to its moment, the book is taken back to the moment shown.
    fn mend(&mut self) {
        if !self.disturbed || self.seek.is_some() || self.opening.is_some() || self.failed {
            return;
        }
        match self.resume.take().or(self.as_of) {
            Some(moment) => self.start_seek(moment, Vec::new()),
            None => self.start_home(Vec::new()),
        }
    }

    /// The book is about to leave the moment shown. What was shown there stays in the state until another moment is reached.
    fn disturb(&mut self) {
        if !self.disturbed {
            self.kept = self.book_json(true).map(Box::new);
            self.disturbed = true;
        }
    }

    fn pace(&mut self, rate: Option<u32>, id: u32, now: u64) {
        self.rate = rate;
        self.restart_clock(now);
        self.state_dirty = true;
        self.answer(id);
    }

    fn pause(&mut self) {
        self.playing = false;
        self.stop_clock();
        self.tally.lag_millis = 0;
        self.state_dirty = true;
    }

    /// The clock runs from the moment shown; while a seek loads it stands.
    fn restart_clock(&mut self, now: u64) {
        self.tally.lag_millis = 0;
        self.stop_clock();
        if let (true, Some(as_of)) = (self.playing && self.seek.is_none() && self.opening.is_none(), self.as_of) {
            let speed = if self.rate.is_some() { Speed::Max } else { self.speed };
            self.clock = Some(Clock::start(speed, now, as_of.time));
            self.event_clock = self.rate.map(|rate| EventClock::start(rate, now));
            self.measured_to = matches!(speed, Speed::Times { .. }).then_some((now, as_of.time));
        }
    }

    fn stop_clock(&mut self) {
        self.clock = None;
        self.event_clock = None;
        self.measured_to = None;
    }

    fn turn(&mut self, now: u64) {
        self.keep_connections(now);
        // What is here is applied before more is asked for: it may be all that is wanted, and it makes room.
        let more = self.apply(now);
        self.run_fetch(now);
        self.run_tasks(Which::Control, now);
        self.report(now);
        self.run_panels(now);
        let wake = if more {
            now
        } else if self.clock.is_some() {
            now + FRAME_MICROS
        } else {
            now + report::COUNTERS_MICROS
        };
        self.outputs.push_back(Output::WakeAt(wake));
    }

    fn post(&mut self, message: FromWorker) {
        self.outputs.push_back(Output::Post(message));
    }

    /// Something failed that only the user can mend. The last frame stays on screen.
    fn fail(&mut self, error: ErrorJson) {
        self.error = Some(error);
        self.failed = true;
        self.pause();
        self.stop_window(self.now);
        self.state_dirty = true;
        let mut waiting = self.seek.take().map(|seek| seek.answers).unwrap_or_default();
        if let Some(opening) = self.opening.take() {
            self.reopen = true;
            waiting.extend(opening.answers);
        }
        if let Some(browsing) = self.browsing.take() {
            waiting.extend(browsing.answers);
        }
        waiting.extend(std::mem::take(&mut self.queued).into_iter().map(|(id, _)| id));
        for id in waiting {
            self.answer(id);
        }
    }

    /// Runs what was asked while something opened.
    fn run_queued(&mut self, now: u64) {
        for (id, command) in std::mem::take(&mut self.queued) {
            self.command(id, command, now);
        }
    }
}

/// Commands kept while a place or a moment loads.
const MAX_QUEUED: usize = 64;

fn time_unit(kind: &str) -> TimeUnit {
    if kind.eq_ignore_ascii_case("TIMESTAMP_NS") { TimeUnit::Nanos } else { TimeUnit::Micros }
}

fn kind_of(store: Option<&StoreInfo>) -> StoreKind {
    store.map_or(StoreKind::Embedded, |store| store.kind)
}
