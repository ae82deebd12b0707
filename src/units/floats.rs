//! DOUBLE and FLOAT columns: many values, one scale.

use std::fmt::Write;

use super::Scale;
use super::decimal::EXACT_F64_MANTISSA;

/// Reads doubles as integers of one scale. It takes what [`super::Decimal::from_f64`] would take by its first rule, without
/// building a decimal for each value; what it declines goes there.
#[derive(Debug, Clone, Copy)]
pub struct Floats {
    factor: f64,
}

impl Floats {
    /// For one scale; `None` past [`Scale::MAX`].
    #[must_use]
    pub fn at(scale: Scale) -> Option<Floats> {
        scale.factor().map(|factor| Floats { factor: factor as f64 })
    }

    /// m = round(x·10^scale), when |m| ≤ 10^15 and m/10^scale is x again.
    #[must_use]
    #[inline]
    pub fn integer(self, x: f64) -> Option<i64> {
        let rounded = (x * self.factor).round();
        (rounded.abs() <= EXACT_F64_MANTISSA && rounded / self.factor == x).then_some(rounded as i64)
    }
}

/// Reads floats by the shortest decimal that tells them apart: 0.1 in 32 bits is the number 0.1, not the 0.10000000149 that its bits
/// are in 64.
#[derive(Debug, Clone, Default)]
pub struct Shortest {
    /// Used again for each number.
    text: String,
}

impl Shortest {
    /// The double nearest to that decimal, which a double holds to the last digit.
    #[must_use]
    pub fn double(&mut self, x: f32) -> f64 {
        self.text.clear();
        // Writing to a String cannot fail, and what was written as a number reads as one.
        let _ = write!(self.text, "{x:e}");
        self.text.parse().unwrap_or(f64::NAN)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Decimal;

    #[test]
    fn a_float_is_its_shortest_decimal() {
        let mut shortest = Shortest::default();
        for (x, double) in [(0.1f32, 0.1f64), (217.63, 217.63), (1e-9, 1e-9), (-5214.25, -5214.25), (0.0, 0.0), (16_777_217.0, 16_777_216.0)] {
            assert_eq!(shortest.double(x).to_bits(), double.to_bits(), "{x}");
        }
        assert!(shortest.double(f32::NAN).is_nan() && shortest.double(f32::INFINITY) == f64::INFINITY);
    }

    #[test]
    fn it_agrees_with_the_decimal_of_a_double() {
        for scale in 0..=18 {
            let scale = Scale(scale);
            let floats = Floats::at(scale).unwrap();
            for x in [0.0, -0.0, 1.0, -1.5, 5528.75, 217.63, 1e-9, 1e15, 1e17, 0.1 + 0.2, f64::NAN, f64::INFINITY] {
                if let Some(integer) = floats.integer(x) {
                    assert_eq!(Decimal::from_f64(x, scale).unwrap().at_scale(scale), Ok(integer), "{x} at {scale:?}");
                }
            }
        }
        assert_eq!(Floats::at(Scale(2)).unwrap().integer(5528.75), Some(552_875));
        assert_eq!(Floats::at(Scale(0)).unwrap().integer(5528.75), None);
        assert!(Floats::at(Scale(19)).is_none());
    }
}
