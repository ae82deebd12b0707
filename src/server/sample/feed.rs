//! The way of the messages from the venue to the tables: numbered, delayed, and subject to the planted faults.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use dbn::{FlagSet, MboMsg, Mbp10Msg, TradeMsg, flags};

use super::capture::Capture;
use super::day::{OPENING_NANOS, SESSION_NANOS};
use super::faults::{FAULTS, Kind};
use super::instruments::INSTRUMENTS;
use super::market::Market;
use super::orders::Side;
use super::random::Random;

/// Order ids of bids that the venue does not know: far from its own.
const GHOST_ID: u64 = 90_000_000_000_000;
const GHOST_LOTS: u32 = 5;

/// Rows of the three tables, in their order.
#[derive(Default)]
pub(super) struct Block {
    pub(super) mbo: Vec<MboMsg>,
    pub(super) depth: Vec<Mbp10Msg>,
    pub(super) trades: Vec<TradeMsg>,
}

/// What is due next; of two things due at once, the one that is first here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Due {
    Opening(usize),
    FaultBegins(usize),
    FaultEnds(usize),
    Healed(usize),
    Event(usize),
}

/// One instrument's messages.
struct Channel {
    market: Market,
    capture: Capture,
    /// Of latencies.
    random: Random,
    sequence: u32,
    last_sent_nanos: u64,
    lost: bool,
    doubtful: bool,
    twice: bool,
    ghost: Option<Ghost>,
}

/// A bid that the venue does not know: it follows the best ask at a distance.
struct Ghost {
    ticks: i64,
    price: i64,
}

/// The whole session, in order of time.
pub(super) struct Feed {
    channels: Vec<Channel>,
    due: BinaryHeap<Reverse<(u64, Due)>>,
    group: Vec<MboMsg>,
}

impl Feed {
    /// The session before its opening.
    pub(super) fn new() -> Feed {
        let mut due = BinaryHeap::new();
        for index in 0..INSTRUMENTS.len() {
            due.push(Reverse((0, Due::Opening(index))));
        }
        for (index, fault) in FAULTS.iter().enumerate() {
            due.push(Reverse((fault.from, Due::FaultBegins(index))));
            due.push(Reverse((fault.until, Due::FaultEnds(index))));
            if let Kind::Gap { until } = fault.kind {
                due.push(Reverse((until, Due::Healed(index))));
            }
        }
        Feed { channels: INSTRUMENTS.iter().map(Channel::new).collect(), due, group: Vec::new() }
    }

    /// Appends the next rows until `mbo` has so many or more. False at the end of the session.
    pub(super) fn fill(&mut self, block: &mut Block, rows: usize) -> bool {
        while block.mbo.len() < rows {
            let Some(Reverse((now, due))) = self.due.pop() else { return false };
            self.group.clear();
            match due {
                Due::Opening(index) => {
                    let Some(channel) = self.channels.get_mut(index) else { continue };
                    channel.market.open();
                    channel.send_snapshot(now, &mut self.group, block);
                    self.due.push(Reverse((channel.market.wait(), Due::Event(index))));
                }
                Due::Event(index) => {
                    let Some(channel) = self.channels.get_mut(index) else { continue };
                    channel.market.event(&mut self.group);
                    channel.send(now, &mut self.group, block);
                    let next = channel.market.wait();
                    if next < SESSION_NANOS {
                        self.due.push(Reverse((next, Due::Event(index))));
                    }
                }
                Due::FaultBegins(fault) => self.fault(fault, now, true, block),
                Due::FaultEnds(fault) => self.fault(fault, now, false, block),
                Due::Healed(fault) => {
                    let Some(channel) = FAULTS.get(fault).and_then(|fault| self.channels.get_mut(fault.instrument)) else { continue };
                    channel.doubtful = false;
                    channel.send_snapshot(now, &mut self.group, block);
                }
            }
        }
        true
    }

    fn fault(&mut self, index: usize, now: u64, begins: bool, block: &mut Block) {
        let Some(fault) = FAULTS.get(index) else { return };
        if fault.kind == Kind::Silence {
            for channel in &mut self.channels {
                channel.lost = begins;
                if !begins {
                    self.group.clear();
                    channel.send_snapshot(now, &mut self.group, block);
                }
            }
            return;
        }
        let Some(channel) = self.channels.get_mut(fault.instrument) else { return };
        match fault.kind {
            Kind::Gap { .. } => (channel.lost, channel.doubtful) = (begins, !begins),
            Kind::Ghost { ticks } if begins => channel.ghost_comes(ticks, now, &mut self.group, block),
            Kind::Ghost { .. } => channel.ghost_goes(now, &mut self.group, block),
            Kind::Twice => channel.twice = begins,
            Kind::Silence => {}
        }
    }
}

impl Channel {
    fn new(instrument: &'static super::instruments::Instrument) -> Channel {
        Channel {
            market: Market::new(instrument),
            capture: Capture::new(),
            random: Random::new(!instrument.seed),
            sequence: 0,
            last_sent_nanos: 0,
            lost: false,
            doubtful: false,
            twice: false,
            ghost: None,
        }
    }

    /// Sends the records of one event, if there are any.
    fn send(&mut self, now: u64, group: &mut Vec<MboMsg>, block: &mut Block) {
        if group.is_empty() {
            return;
        }
        self.ghost_follows(group);
        self.sequence += 1;
        // What is sent first arrives first, however long it takes.
        let received = OPENING_NANOS + now;
        let latency = 24_000 + self.random.exponential(9_000).min(400_000);
        self.last_sent_nanos = self.last_sent_nanos.max(received - latency);
        let (in_flight, last) = (9_000 + self.random.below(8_000) as i32, group.len() - 1);
        for (index, record) in group.iter_mut().enumerate() {
            let doubtful = if self.doubtful { flags::MAYBE_BAD_BOOK } else { 0 };
            let end = if index == last { flags::LAST } else { 0 };
            record.flags = FlagSet::new(record.flags.raw() | doubtful | end);
            record.hd.ts_event = self.last_sent_nanos;
            record.ts_recv = received;
            record.ts_in_delta = in_flight;
            record.sequence = self.sequence;
        }
        if self.lost {
            return;
        }
        for _ in 0..1 + usize::from(self.twice) {
            block.mbo.extend_from_slice(group);
            self.capture.event(group, &mut block.depth, &mut block.trades);
        }
    }

    fn send_snapshot(&mut self, now: u64, group: &mut Vec<MboMsg>, block: &mut Block) {
        self.market.snapshot(group);
        self.send(now, group, block);
    }

    fn ghost_comes(&mut self, ticks: i64, now: u64, group: &mut Vec<MboMsg>, block: &mut Block) {
        let Some(ask) = self.market.best(Side::Ask) else { return };
        let ghost = Ghost { ticks, price: ask + ticks };
        group.push(self.ghost_record(b'A', &ghost));
        self.ghost = Some(ghost);
        self.send(now, group, block);
    }

    /// The ghost is moved within the event that moved the best ask.
    fn ghost_follows(&mut self, group: &mut Vec<MboMsg>) {
        if let (Some(ghost), Some(ask)) = (&self.ghost, self.market.best(Side::Ask))
            && ghost.price != ask + ghost.ticks
        {
            let moved = Ghost { ticks: ghost.ticks, price: ask + ghost.ticks };
            group.push(self.ghost_record(b'M', &moved));
            self.ghost = Some(moved);
        }
    }

    fn ghost_goes(&mut self, now: u64, group: &mut Vec<MboMsg>, block: &mut Block) {
        if let Some(ghost) = self.ghost.take() {
            group.push(self.ghost_record(b'C', &ghost));
            self.send(now, group, block);
        }
    }

    fn ghost_record(&self, action: u8, ghost: &Ghost) -> MboMsg {
        let instrument = self.market.instrument;
        let lot = instrument.sizes.first().map_or(1, |size| size.0);
        self.market.record(action, Side::Bid.letter(), ghost.price * instrument.tick, lot * GHOST_LOTS, GHOST_ID, 0)
    }
}
