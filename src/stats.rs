//! Counters: monotonic totals, rates over the last second, and latency percentiles. Who shows them is not known here, and no
//! clock is read: every call is handed the time.

use std::collections::VecDeque;

/// Microseconds of the window that a rate is taken over.
const RATE_WINDOW_MICROS: u64 = 1_000_000;
/// Samples kept in a window: rates are asked for four times a second, and a caller that asks more often must not grow it.
const MAX_SAMPLES: usize = 64;

/// A total that only grows, and its rate over the last second.
#[derive(Debug, Clone, Default)]
pub struct Counter {
    total: u64,
    samples: VecDeque<(u64, u64)>,
}

impl Counter {
    /// Adds to the total.
    pub fn add(&mut self, amount: u64) {
        self.total = self.total.saturating_add(amount);
    }

    /// The total so far.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.total
    }

    /// Growth over the last second, per second. Idle is 0. Call it about four times a second: each call is a sample.
    pub fn rate(&mut self, now_micros: u64) -> u64 {
        while self.samples.len() > 1 && self.samples.get(1).is_some_and(|(at, _)| now_micros.saturating_sub(*at) >= RATE_WINDOW_MICROS) {
            self.samples.pop_front();
        }
        let rate = match self.samples.front() {
            Some((at, total)) if now_micros > *at => {
                // Young windows are scaled by at least a second, so that the first sample does not show a burst as a rate.
                let elapsed = (now_micros - at).max(RATE_WINDOW_MICROS);
                (u128::from(self.total - total) * 1_000_000 / u128::from(elapsed)) as u64
            }
            _ => 0,
        };
        if self.samples.len() == MAX_SAMPLES {
            self.samples.pop_front();
        }
        self.samples.push_back((now_micros, self.total));
        rate
    }
}

/// Buckets: four a power of two, so a percentile is right within a fifth; 32 powers reach over an hour.
const BUCKETS: usize = 32 * 4;

/// Durations in microseconds, in logarithmic buckets.
#[derive(Debug, Clone)]
pub struct Latency {
    counts: Vec<u64>,
    total: u64,
}

impl Default for Latency {
    fn default() -> Self {
        Latency { counts: vec![0; BUCKETS], total: 0 }
    }
}

impl Latency {
    /// Adds one duration.
    pub fn record(&mut self, micros: u64) {
        if let Some(count) = self.counts.get_mut(bucket(micros)) {
            *count += 1;
            self.total += 1;
        }
    }

    /// The duration that `percent` of all stay within, rounded up to its bucket; `None` before the first.
    #[must_use]
    pub fn percentile(&self, percent: u64) -> Option<u64> {
        if self.total == 0 {
            return None;
        }
        let rank = (self.total * percent).div_ceil(100).max(1);
        let mut seen = 0;
        for (index, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= rank {
                return Some(bucket_end(index));
            }
        }
        None
    }
}

fn bucket(micros: u64) -> usize {
    if micros < 4 {
        return micros as usize;
    }
    let power = micros.ilog2();
    let quarter = (micros >> (power - 2)) & 3;
    (((power - 1) as usize) * 4 + quarter as usize).min(BUCKETS - 1)
}

fn bucket_end(index: usize) -> u64 {
    if index < 4 {
        return index as u64;
    }
    let power = (index / 4 + 1) as u32;
    let quarter = (index % 4) as u64;
    ((4 + quarter + 1) << (power - 2)) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_steady_flow_shows_its_rate_and_an_idle_one_zero() {
        let mut counter = Counter::default();
        let mut rate = 0;
        for quarter in 0..12 {
            rate = counter.rate(quarter * 250_000);
            counter.add(25);
        }
        assert_eq!(rate, 100);
        for quarter in 12..20 {
            rate = counter.rate(quarter * 250_000);
        }
        assert_eq!((rate, counter.total()), (0, 300));
    }

    #[test]
    fn percentiles_are_within_a_bucket() {
        let mut latency = Latency::default();
        assert_eq!(latency.percentile(99), None);
        for micros in 1..=1000 {
            latency.record(micros);
        }
        let p50 = latency.percentile(50).unwrap();
        let p99 = latency.percentile(99).unwrap();
        assert!((500..=640).contains(&p50), "{p50}");
        assert!((990..=1279).contains(&p99), "{p99}");
    }

    #[test]
    fn every_duration_lies_within_its_bucket() {
        for micros in (0..5000).chain([1 << 20, u64::MAX / 2]) {
            let index = bucket(micros);
            if index < BUCKETS - 1 {
                assert!(micros <= bucket_end(index), "{micros} past the end of {index}");
                assert!(index == 0 || micros > bucket_end(index - 1), "{micros} belongs before {index}");
            }
        }
    }
}
