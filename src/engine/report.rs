//! What the page is told: pictures, the state, counters. Nothing is computed for a page that is hidden or still has a frame.

use super::browse::Browsing;
use super::{Engine, Output};
use crate::book::{BookLevel, DepthSnapshot};
use crate::link::{BookJson, Counters, FrameFlags, FrameLevel, FromWorker, LastTrade, Quality, Range, Speed, State, Status, Tie, ViewFrame};
use crate::session::CREDIT_WINDOW_BYTES;
use crate::units::Moment;
use crate::view::{self, book::BookCaption};

/// Wall time between two posts of the counters.
pub(super) const COUNTERS_MICROS: u64 = 250_000;

/// Levels a side in a frame and in `state().book`.
const LEVELS: usize = 20;

/// One frame may be on its way; newer ones replace each other until it is acknowledged.
#[derive(Debug, Default)]
pub(super) struct FrameState {
    sequence: u32,
    outstanding: bool,
    dirty: bool,
    was_loading: bool,
    /// Reused from picture to picture.
    depth: DepthSnapshot,
    /// As it was when the counters were posted last.
    quality: Quality,
}

impl FrameState {
    /// There is something new to show. What was new and not sent is replaced by it.
    pub(super) fn changed(&mut self, conflated: &mut u64) {
        *conflated += u64::from(self.dirty);
        self.dirty = true;
    }

    pub(super) fn acknowledged(&mut self, sequence: u32) {
        if sequence == self.sequence {
            self.outstanding = false;
        }
    }
}

impl Engine {
    pub(super) fn report(&mut self, now: u64) {
        if now >= self.counters_at {
            self.counters_at = now + COUNTERS_MICROS;
            self.sample_rates(now);
            let counters = self.counters();
            self.post(FromWorker::Counters(Box::new(counters)));
            // What was found grows while the clock runs, without any other change of the state.
            let quality = self.quality();
            if self.retry_at.is_some() || quality != self.frame.quality {
                self.frame.quality = quality;
                self.state_dirty = true;
            }
        }
        let loading = self.seek.is_some();
        if loading != self.frame.was_loading {
            self.frame.was_loading = loading;
            self.frame.changed(&mut self.tally.frames_conflated);
        }
        if self.frame.dirty && !self.frame.outstanding && self.visible {
            // While a seek rolls forward the book is of no moment anybody asked for: the last picture stays.
            if loading {
                self.frame.dirty = false;
            } else if let Some(frame) = self.picture() {
                let mut bytes = Vec::new();
                frame.encode(&mut bytes);
                self.frame.dirty = false;
                self.frame.outstanding = true;
                self.outputs.push_back(Output::Frame(bytes));
            }
        }
        if std::mem::take(&mut self.state_dirty) {
            let state = self.state(false);
            self.post(FromWorker::State(Box::new(state)));
        }
    }

    fn picture(&mut self) -> Option<ViewFrame> {
        let as_of = self.as_of.filter(|_| !self.disturbed)?;
        let book = self.player.book();
        self.frame.sequence = self.frame.sequence.wrapping_add(1);
        book.depth(LEVELS, &mut self.frame.depth);
        let level = |level: &BookLevel| FrameLevel { price: level.price, size: level.size, count: level.count };
        Some(ViewFrame {
            sequence: self.frame.sequence,
            as_of,
            tie: self.tie(),
            flags: FrameFlags { crossed: book.crossed(), locked: book.locked(), stale: book.stale(), loading: false },
            events: u64::try_from(self.player.applied()).unwrap_or(0),
            partial_since: book.partial_since(),
            kind: book.kind().number(),
            price_scale: book.price_scale(),
            size_scale: book.size_scale(),
            bids: self.frame.depth.bids.iter().map(level).collect(),
            asks: self.frame.depth.asks.iter().map(level).collect(),
            last_trade: book.last_trade().map(|trade| LastTrade {
                price: trade.price,
                size: trade.size,
                time: trade.time,
                aggressor: trade.aggressor,
            }),
        })
    }

    /// Which event the last applied one is among those with the moment's time, where there are several.
    fn tie(&self) -> Option<(u32, u32)> {
        let time = self.player.last_time().filter(|time| !self.disturbed && self.as_of.is_some_and(|as_of| as_of.time == *time))?;
        if self.history.complete_to() <= time && !self.history.ended() {
            return None;
        }
        let (first, behind) = (self.history.lower_bound(time), self.history.upper_bound(time));
        let of = u32::try_from(behind - first).ok().filter(|of| *of > 1)?;
        Some((u32::try_from(self.player.applied() - first).ok()?, of))
    }

    pub(super) fn answer(&mut self, id: u32) {
        let state = self.state(true);
        self.post(FromWorker::Answer { id, result: Ok(Box::new(state)) });
    }

    fn status(&self) -> Status {
        if self.retry_at.is_some() || (self.error.as_ref().is_some_and(|error| error.code == "lost") && !self.connected()) {
            return Status::Disconnected;
        }
        if self.failed {
            return Status::Failed;
        }
        if self.opening.is_some() || self.browsing.as_ref().is_some_and(Browsing::is_listing) {
            return Status::Connecting;
        }
        match (self.opened.is_some(), self.seek.is_some(), self.playing, self.ended) {
            (false, ..) => Status::Idle,
            (true, true, ..) => Status::Loading,
            (true, false, true, _) => Status::Playing,
            (true, false, false, true) => Status::Ended,
            (true, false, false, false) => Status::Paused,
        }
    }

    fn state(&self, with_digest: bool) -> State {
        let book = self.book_json(with_digest);
        let counters = self.counters();
        let opened = self.opened.as_ref();
        State {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            source: self.store.as_ref().map(|store| store.name.clone()),
            table: opened.map(|opened| opened.place.table.clone()),
            symbols: opened.map(|opened| vec![opened.instrument.symbol.clone()]).unwrap_or_default(),
            binding: self.binding_info(),
            range: opened.map(|opened| Range { from: opened.from.to_string(), to: opened.to.to_string() }),
            status: self.status(),
            as_of: self.as_of.map(|moment| moment.to_string()),
            seeking: self.seek.as_ref().and_then(super::Seek::moment).map(|moment: Moment| moment.to_string()),
            tie: self.tie().map(|(event, of)| Tie { event, of }),
            speed: self.speed,
            pacing: match (self.rate, self.speed) {
                (Some(_), _) => "events",
                (None, Speed::Max) => "max",
                (None, Speed::Times { .. }) => "time",
            }
            .to_owned(),
            rate: self.rate,
            looped: self.looped.map(|(from, to)| Range { from: from.to_string(), to: to.to_string() }),
            book,
            books: Vec::new(),
            counters,
            quality: self.quality(),
            error: self.error.clone(),
            catalogue: self.catalogue.clone(),
            sql: self.sql.clone(),
            retry_seconds: self.retry_at.map(|at| u32::try_from(at.saturating_sub(self.now).div_ceil(1_000_000)).unwrap_or(u32::MAX)),
        }
    }

    fn quality(&self) -> Quality {
        let found = self.player.book().findings();
        Quality {
            since: self.player.book().counted_since().map(|time| time.to_string()),
            gaps: None,
            out_of_order: self.tally.out_of_order,
            crossed: found.crossed,
            locked: found.locked,
            unknown_orders: found.unknown_orders,
            maybe_bad: found.maybe_bad,
            snapshot_differs: found.snapshot_differs,
        }
    }

    /// The book shown, as JSON; `None` before the first.
    pub(super) fn book_json(&self, digest: bool) -> Option<BookJson> {
        if self.disturbed {
            return self.kept.as_deref().cloned();
        }
        let caption = self.caption(LEVELS, false, digest)?;
        Some(view::book::book_json(self.player.book(), &caption))
    }

    /// What the book of [`Engine::player`] is of; `None` before the first, and while a seek rolls to a moment.
    #[must_use]
    pub fn caption(&self, levels: usize, orders: bool, digest: bool) -> Option<BookCaption<'_>> {
        let (opened, as_of) = (self.opened.as_ref()?, self.as_of.filter(|_| !self.disturbed)?);
        Some(BookCaption {
            symbol: &opened.instrument.symbol,
            as_of,
            events: u64::try_from(self.player.applied()).unwrap_or(0),
            publisher: opened.instrument.publisher,
            instrument: opened.instrument.instrument.as_deref(),
            levels,
            orders,
            digest,
        })
    }

    fn sample_rates(&mut self, now: u64) {
        let tally = &mut self.tally;
        tally.rates = [tally.rows.rate(now), tally.wire_bytes.rate(now), tally.arrow_bytes.rate(now), tally.events.rate(now)];
    }

    fn counters(&self) -> Counters {
        let tally = &self.tally;
        let [rows, wire, arrow, events] = tally.rates;
        Counters {
            rows: tally.rows.total(),
            rows_per_second: rows,
            wire_bytes: tally.wire_bytes.total(),
            wire_bytes_per_second: wire,
            arrow_bytes: tally.arrow_bytes.total(),
            arrow_bits_per_second: arrow.saturating_mul(8),
            events: tally.events.total(),
            events_per_second: events,
            out_of_order: tally.out_of_order,
            decode_p50_micros: tally.decode.percentile(50),
            decode_p99_micros: tally.decode.percentile(99),
            apply_p99_micros: tally.apply.percentile(99),
            paint_p95_micros: tally.paint.percentile(95),
            lag_millis: self.clock.map(|_| tally.lag_millis),
            played_micros: self.played_nanos / 1_000,
            playing_micros: self.playing_micros,
            credit_bytes: self.data.session.credit(),
            credit_window_bytes: CREDIT_WINDOW_BYTES,
            queued_bytes: self.history.bytes_after(self.player.applied()) as u64,
            frames_painted: tally.frames_painted,
            frames_conflated: tally.frames_conflated,
            wasm_bytes: self.wasm_bytes,
            history_bytes: self.history.bytes() as u64,
            history_budget_bytes: self.history.budget() as u64,
        }
    }
}
