//! DOUBLE columns: many values, one scale.

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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::units::Decimal;

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
