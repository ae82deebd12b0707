//! What is wrong with the session, on purpose: a feed without faults shows nobody what a fault looks like.

use super::day::SECOND;

const MINUTE: u64 = 60 * SECOND;

/// What goes wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The messages of an instrument are lost. From then on its rows are marked as doubtful, until a snapshot `until`.
    Gap { until: u64 },
    /// A bid that the venue does not know stands above the best ask by so many ticks; at 0 it locks the market.
    Ghost { ticks: i64 },
    /// The messages of all instruments are lost; a snapshot of each ends it.
    Silence,
    /// Every message of an instrument comes twice.
    Twice,
}

/// A fault in an interval, in nanoseconds since the opening; its end does not belong to it.
#[derive(Debug, Clone, Copy)]
pub(super) struct Fault {
    pub(super) kind: Kind,
    /// Place of the instrument among all; [`Kind::Silence`] is of every one.
    pub(super) instrument: usize,
    pub(super) from: u64,
    pub(super) until: u64,
}

/// In order of time. [`NOTE`] says the same to people.
pub(super) const FAULTS: [Fault; 5] = [
    Fault { kind: Kind::Gap { until: 100 * MINUTE + 12 * SECOND }, instrument: 0, from: 100 * MINUTE, until: 100 * MINUTE + SECOND / 2 },
    Fault { kind: Kind::Ghost { ticks: 2 }, instrument: 1, from: 195 * MINUTE + 10 * SECOND, until: 195 * MINUTE + 20 * SECOND },
    Fault { kind: Kind::Ghost { ticks: 0 }, instrument: 0, from: 215 * MINUTE, until: 215 * MINUTE + 2 * SECOND },
    Fault { kind: Kind::Silence, instrument: 0, from: 240 * MINUTE, until: 243 * MINUTE },
    Fault { kind: Kind::Twice, instrument: 0, from: 310 * MINUTE, until: 310 * MINUTE + 10 * SECOND },
];

/// What a person should know of every table of the session.
pub(crate) const NOTE: &str = "synthetic; planted faults: SYNFUT loses messages 15:10:00 to 15:10:00.5 and is doubtful until a snapshot at 15:10:12; \
     SYNBIG is crossed 16:45:10 to 16:45:20; SYNFUT is locked 17:05:00 to 17:05:02; nothing is received 17:30:00 to 17:33:00; SYNFUT's messages of \
     18:40:00 to 18:40:10 come twice (UTC)";
