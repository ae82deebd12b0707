//! Pseudo-random integers that are the same on every machine, and the two curves of waiting: no floating point, whose library
//! functions differ between machines.

/// SplitMix64: a few lines, so that the sequence is this program's own and no update of a crate changes the session.
pub(super) struct Random(u64);

/// ln 2 in 2⁻³².
const LN_2: u64 = 2_977_044_472;

impl Random {
    /// The sequence of a seed.
    pub(super) fn new(seed: u64) -> Random {
        Random(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    /// 0 to `bound` − 1; 0 for no bound.
    pub(super) fn below(&mut self, bound: u64) -> u64 {
        self.next() % bound.max(1)
    }

    /// −`reach` to `reach`.
    pub(super) fn around(&mut self, reach: i64) -> i64 {
        self.below(2 * reach.unsigned_abs() + 1).cast_signed() - reach.abs()
    }

    /// True that many times of a thousand.
    pub(super) fn chance(&mut self, of_thousand: u64) -> bool {
        self.below(1_000) < of_thousand
    }

    /// How often an event with that chance (of a thousand) fails before it happens, at most `most`.
    pub(super) fn tries(&mut self, of_thousand: u64, most: i64) -> i64 {
        let mut count = 0;
        while count < most && !self.chance(of_thousand) {
            count += 1;
        }
        count
    }

    /// One of the values, by weight; 1 of none.
    pub(super) fn pick(&mut self, weighted: &[(u32, u32)]) -> u32 {
        let mut left = self.below(weighted.iter().map(|&(_, weight)| u64::from(weight)).sum());
        for &(value, weight) in weighted {
            match left.checked_sub(u64::from(weight)) {
                Some(rest) => left = rest,
                None => return value,
            }
        }
        1
    }

    /// Exponential with that mean, at least 1: the time to the next event of a Poisson process.
    pub(super) fn exponential(&mut self, mean: u64) -> u64 {
        let bits = self.next() | 1;
        let zeros = bits.leading_zeros();
        // bits = (1 + part) · 2^(63 − zeros), so −log2(bits / 2^64) = zeros + 1 − log2(1 + part).
        let part = ((bits << zeros) << 1) >> 32;
        let bend = (part * ((1 << 32) - part)) >> 32;
        let halvings = (u64::from(zeros + 1) << 32) - part - ((bend * 1_409) >> 12);
        let nats = (u128::from(halvings) * u128::from(LN_2)) >> 32;
        ((u128::from(mean) * nats) >> 32) as u64 + 1
    }
}

/// What is left of `value` after `elapsed`, when half of it goes in each `half_life`. The curve between two halvings is a parabola
/// with the right slope at its start, within 1 % of the true one.
pub(super) fn decayed(value: u64, elapsed: u64, half_life: u64) -> u64 {
    let halvings = elapsed / half_life;
    if halvings > 40 {
        return 0;
    }
    let part = (u128::from(elapsed % half_life) << 32) / u128::from(half_life);
    let left = (1 << 32) - ((part * u128::from(LN_2)) >> 32) + ((((part * part) >> 32) * u128::from(LN_2 - (1 << 31))) >> 32);
    ((u128::from(value >> halvings) * left) >> 32) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waiting_times_have_their_mean_and_their_tail() {
        let mut random = Random::new(7);
        let drawn: Vec<u64> = (0..200_000).map(|_| random.exponential(1_000_000)).collect();
        let mean = drawn.iter().sum::<u64>() / 200_000;
        assert!((990_000..1_010_000).contains(&mean), "{mean}");
        for (beyond, expected) in [(693_147, 100_000), (2_302_585, 20_000), (4_605_170, 2_000)] {
            let count = drawn.iter().filter(|&&wait| wait > beyond).count();
            assert!(count.abs_diff(expected) < expected / 20, "{count} of 200 000 waited longer than {beyond}, not about {expected}");
        }
    }

    #[test]
    fn what_decays_halves_in_its_half_life() {
        assert_eq!(decayed(1_000_000, 0, 50), 1_000_000);
        for (elapsed, expected) in [(10, 870_551), (25, 707_107), (50, 500_000), (75, 353_553), (500, 977), (5_000, 0)] {
            let left = decayed(1_000_000, elapsed, 50);
            assert!(left.abs_diff(expected) <= expected / 100 + 1, "{left} after {elapsed}");
        }
    }
}
