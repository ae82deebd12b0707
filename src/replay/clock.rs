//! The playback clock: wall time in, market time out. Pure: it reads no clock of its own.

use crate::link::Speed;
use crate::units::UnixNanos;

/// How far behind its schedule the clock may fall before it slips: below it playback catches up, beyond it the schedule moves and
/// nothing is skipped.
const MAX_BEHIND_MICROS: u64 = 1_000_000;

/// Maps wall time to market time while playing.
#[derive(Debug, Clone, Copy)]
pub struct Clock {
    speed: Speed,
    wall_micros: u64,
    market: UnixNanos,
}

impl Clock {
    /// A clock that stands at a market time at a wall time.
    #[must_use]
    pub fn start(speed: Speed, wall_micros: u64, market: UnixNanos) -> Clock {
        Clock { speed, wall_micros, market }
    }

    /// The market time that should be shown at a wall time; `None` when playback is not paced.
    #[must_use]
    pub fn scheduled(&self, wall_micros: u64) -> Option<UnixNanos> {
        match self.speed {
            Speed::Max => None,
            Speed::Times { milli } => {
                // A micro of wall time at a thousandth of speed is exactly one nanosecond of market time.
                let passed = i128::from(wall_micros.saturating_sub(self.wall_micros)) * i128::from(milli);
                let at = i128::from(self.market.0) + passed;
                Some(UnixNanos(i64::try_from(at).unwrap_or(i64::MAX)))
            }
        }
    }

    /// Tells the clock how far playback really is. Returns how many milliseconds of wall time it is behind; past a second the
    /// schedule slips to what was reached.
    pub fn reached(&mut self, market: UnixNanos, wall_micros: u64) -> u64 {
        let (Speed::Times { milli }, Some(scheduled)) = (self.speed, self.scheduled(wall_micros)) else { return 0 };
        let behind = i128::from(scheduled.0) - i128::from(market.0);
        let behind_micros = u64::try_from(behind).unwrap_or(0) / milli.max(1);
        if behind_micros > MAX_BEHIND_MICROS {
            *self = Clock { speed: self.speed, wall_micros: wall_micros.saturating_sub(MAX_BEHIND_MICROS), market };
        }
        behind_micros / 1000
    }
}

/// Maps wall time to how many events are due, at so many a second.
#[derive(Debug, Clone, Copy)]
pub struct EventClock {
    rate: u32,
    wall_micros: u64,
    /// Events applied since then. Whole groups are applied, so this may be ahead; what is ahead is waited for.
    applied: u64,
}

impl EventClock {
    /// A clock from which no event is due yet.
    #[must_use]
    pub fn start(rate: u32, wall_micros: u64) -> EventClock {
        EventClock { rate, wall_micros, applied: 0 }
    }

    /// Events that should have been applied by a wall time and were not.
    #[must_use]
    pub fn due(&self, wall_micros: u64) -> u64 {
        let passed = u128::from(wall_micros.saturating_sub(self.wall_micros)) * u128::from(self.rate) / 1_000_000;
        u64::try_from(passed).unwrap_or(u64::MAX).saturating_sub(self.applied)
    }

    /// Tells the clock that events were applied. Returns how many milliseconds it is behind; past a second the schedule slips.
    pub fn applied(&mut self, events: u64, wall_micros: u64) -> u64 {
        self.applied = self.applied.saturating_add(events);
        let behind_micros = u128::from(self.due(wall_micros)) * 1_000_000 / u128::from(self.rate.max(1));
        let behind_micros = u64::try_from(behind_micros).unwrap_or(u64::MAX);
        if behind_micros > MAX_BEHIND_MICROS {
            *self = EventClock::start(self.rate, wall_micros.saturating_sub(MAX_BEHIND_MICROS));
        }
        behind_micros / 1000
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const START: UnixNanos = UnixNanos(1_703_547_232_863_772_099);

    fn at(milli: u64) -> Clock {
        Clock::start(Speed::Times { milli }, 5_000_000, START)
    }

    #[test]
    fn market_time_moves_by_wall_time_times_speed_to_the_nanosecond() {
        for (milli, passed) in [(100, 1_000_000_000), (1_000, 10_000_000_000), (100_000, 1_000_000_000_000), (10_000_000, 100_000_000_000_000i64)] {
            assert_eq!(at(milli).scheduled(15_000_000), Some(UnixNanos(START.0 + passed)));
        }
        assert_eq!(Clock::start(Speed::Max, 0, START).scheduled(9), None);
    }

    #[test]
    fn a_short_stall_is_caught_up_and_a_long_one_slips() {
        let mut clock = at(1_000);
        assert_eq!(clock.reached(START, 5_400_000), 400);
        assert_eq!(clock.scheduled(5_400_000), Some(UnixNanos(START.0 + 400_000_000)));
        assert_eq!(clock.reached(START, 9_000_000), 4_000);
        assert_eq!(clock.scheduled(9_000_000), Some(UnixNanos(START.0 + 1_000_000_000)));
    }

    #[test]
    fn events_fall_due_evenly_and_what_a_group_overshoots_is_waited_for() {
        let mut clock = EventClock::start(3, 1_000_000);
        assert_eq!((clock.due(1_333_333), clock.due(1_333_334), clock.due(2_000_000)), (0, 1, 3));
        assert_eq!(clock.applied(5, 2_000_000), 0);
        assert_eq!((clock.due(2_666_666), clock.due(3_000_000)), (0, 1));
        // A second behind is caught up, what is more slips.
        assert_eq!(clock.applied(0, 3_000_000), 333);
        assert_eq!(clock.applied(0, 9_000_000), 6_333);
        assert_eq!(clock.due(9_000_000), 3);
    }

    #[test]
    fn the_end_of_time_does_not_wrap() {
        let clock = Clock::start(Speed::Times { milli: 10_000_000 }, 0, UnixNanos(i64::MAX - 1));
        assert_eq!(clock.scheduled(u64::MAX), Some(UnixNanos(i64::MAX)));
    }
}
