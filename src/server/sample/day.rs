//! The course of the day that all instruments share: when it is busy, when it is nervous, where the market as a whole goes.
//!
//! Time is nanoseconds since the opening, 2024-05-08T13:30:00Z; the session lasts six and a half hours. The day moves in steps of
//! 100 ms. Activity has the shape of a U: a burst at the opening, a lull at noon, a rush at the close. Seven minutes from 16:32 on
//! are quiet. At 18:00:00 news comes, awaited: activity and depth fall before it, and the market jumps, overshoots and calms down.

use super::random::{Random, decayed};

/// 2024-05-08T13:30:00Z.
pub(super) const OPENING_NANOS: u64 = 1_715_175_000_000_000_000;
/// Six and a half hours.
pub(super) const SESSION_NANOS: u64 = 390 * MINUTE;
/// The day changes so often.
pub(super) const STEP_NANOS: u64 = 100_000_000;
/// A second.
pub(super) const SECOND: u64 = 1_000_000_000;
const MINUTE: u64 = 60 * SECOND;

/// What `activity` and the others are parts of.
pub(super) const MILLE: u64 = 1_000;
const STEPS_PER_SECOND: i64 = (SECOND / STEP_NANOS) as i64;
const SEED: u64 = 0x51AC_0000;

/// 18:00:00 UTC.
const NEWS_NANOS: u64 = 270 * MINUTE;
/// How long the first reaction to the news goes on.
const JUMP_NANOS: u64 = 3 * SECOND;
/// How long what was too much of it is taken back.
const REVERSAL_NANOS: u64 = 150 * SECOND;
/// Units of common movement in a step of the first reaction, and of taking back.
const JUMP: i64 = 18_000;
const REVERSAL: i64 = -80;
/// 16:32 UTC, seven minutes.
const QUIET_NANOS: std::ops::Range<u64> = 182 * MINUTE..189 * MINUTE;

/// The day in a step, in thousandths of its mean where not said otherwise.
#[derive(Clone, Copy)]
pub(super) struct Moment {
    /// How often things happen.
    pub(super) activity: u64,
    /// How many orders owners leave in the book.
    pub(super) depth: u64,
    /// How far the fair value moves.
    pub(super) volatility: u64,
    /// How much farther from it quotes stand than usual; 0 when they do not.
    pub(super) caution: u64,
    /// Movement of the market as a whole; its mean size is about a thousand.
    pub(super) common: i64,
}

/// Hands out the day step by step.
pub(super) struct Day {
    random: Random,
    step: u64,
    now: Moment,
}

impl Day {
    /// The opening. Every instrument has its own copy, and all copies are the same.
    pub(super) fn new() -> Day {
        let mut day = Day { random: Random::new(SEED), step: 0, now: Moment { activity: 0, depth: 0, volatility: 0, caution: 0, common: 0 } };
        day.now = day.at(0);
        day
    }

    /// The step that goes on.
    pub(super) fn now(&self) -> Moment {
        self.now
    }

    /// When it ends.
    pub(super) fn step_end(&self) -> u64 {
        (self.step + 1) * STEP_NANOS
    }

    /// Goes on to the next step.
    pub(super) fn advance(&mut self) {
        self.step += 1;
        self.now = self.at(self.step * STEP_NANOS);
    }

    fn at(&mut self, time: u64) -> Moment {
        // From −1000 at the opening to 1000 at the close.
        let place = (time * 2_000 / SESSION_NANOS).cast_signed() - 1_000;
        let bowl = (place * place / 1_000).unsigned_abs();
        let mut activity = 560 + bowl * 820 / MILLE + decayed(6_000, time, 4 * MINUTE);
        let mut depth = 1_050 - decayed(550, time, 12 * MINUTE);
        let mut volatility = 620 + bowl * 450 / MILLE + decayed(2_000, time, 6 * MINUTE);
        let mut caution = decayed(900, time, 3 * MINUTE);
        let left = SESSION_NANOS.saturating_sub(time);
        activity += decayed(2_200, left, 5 * MINUTE);
        depth += decayed(500, left, 8 * MINUTE);
        let mut common = self.random.around(1_700) * volatility.cast_signed() / MILLE.cast_signed();
        if QUIET_NANOS.contains(&time) {
            (activity, volatility) = (activity / 9, volatility / 4);
            common /= 4;
        }
        if (NEWS_NANOS - 2 * MINUTE..NEWS_NANOS).contains(&time) {
            let near = decayed(650, NEWS_NANOS - time, 40 * SECOND);
            (activity, depth) = (activity - activity * near / MILLE, depth - depth * near / MILLE);
            caution += near;
        }
        if let Some(since) = time.checked_sub(NEWS_NANOS) {
            activity += decayed(9_000, since, 12 * SECOND) + decayed(3_500, since, 150 * SECOND);
            volatility += decayed(7_000, since, 25 * SECOND) + decayed(1_500, since, 240 * SECOND);
            caution += decayed(5_000, since, 15 * SECOND) + decayed(1_000, since, 120 * SECOND);
            depth -= depth * (decayed(550, since, 20 * SECOND) + decayed(300, since, 180 * SECOND)) / MILLE;
            common += match since {
                _ if since < JUMP_NANOS => JUMP * (JUMP_NANOS - since).cast_signed() / JUMP_NANOS.cast_signed(),
                _ if since < REVERSAL_NANOS => REVERSAL * 10 / STEPS_PER_SECOND,
                _ => 0,
            };
        }
        Moment { activity, depth, volatility, caution, common }
    }
}
