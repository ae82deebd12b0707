//! Exact decimals: text in and out, and the one place where an `f64` becomes an integer.

use std::fmt;

use super::Scale;

/// A decimal number `mantissa · 10^exponent`, normalised: no trailing zeros in the mantissa, zero is (0, 0). Two decimals of equal
/// value are therefore equal, whatever scale they came from.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Decimal {
    mantissa: i128,
    exponent: i8,
}

/// A number that cannot be held exactly.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum DecimalError {
    /// NaN or an infinity: "none", never a number.
    NotFinite,
    /// More digits than the scale and an `i64` can hold.
    TooLarge,
    /// Not written as a decimal.
    NotDecimal,
}

impl fmt::Display for DecimalError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            DecimalError::NotFinite => "not a finite number",
            DecimalError::TooLarge => "more digits than a 64-bit integer holds exactly",
            DecimalError::NotDecimal => "not a decimal number",
        })
    }
}

impl std::error::Error for DecimalError {}

/// Above this a product with a power of ten may round in an `f64`, so that dividing back proves nothing.
pub(super) const EXACT_F64_MANTISSA: f64 = 1e15;

impl Decimal {
    /// `mantissa / 10^scale`.
    #[must_use]
    pub fn new(mantissa: i128, scale: Scale) -> Decimal {
        Decimal::normalised(mantissa, -i32::from(scale.0))
    }

    fn normalised(mut mantissa: i128, mut exponent: i32) -> Decimal {
        if mantissa == 0 {
            return Decimal::default();
        }
        while mantissa % 10 == 0 {
            mantissa /= 10;
            exponent += 1;
        }
        // An f64 stays within ±400 and callers' scales within 18; a magnitude past i8 is clamped nowhere else, so say so by type.
        Decimal { mantissa, exponent: exponent.clamp(i32::from(i8::MIN), i32::from(i8::MAX)) as i8 }
    }

    /// Digits without trailing zeros.
    #[must_use]
    pub fn mantissa(self) -> i128 {
        self.mantissa
    }

    /// Power of ten.
    #[must_use]
    pub fn exponent(self) -> i8 {
        self.exponent
    }

    /// Digits after the point that the value needs.
    #[must_use]
    pub fn needed_scale(self) -> u8 {
        if self.exponent < 0 { self.exponent.unsigned_abs() } else { 0 }
    }

    /// The integer at a scale: value · 10^scale.
    ///
    /// # Errors
    /// [`DecimalError::TooLarge`] when it needs more digits than the scale has or an `i64` holds. Nothing is rounded.
    pub fn at_scale(self, scale: Scale) -> Result<i64, DecimalError> {
        let shift = i32::from(scale.0) + i32::from(self.exponent);
        let shift = u32::try_from(shift).map_err(|_| DecimalError::TooLarge)?;
        10i128
            .checked_pow(shift)
            .and_then(|factor| self.mantissa.checked_mul(factor))
            .and_then(|value| i64::try_from(value).ok())
            .ok_or(DecimalError::TooLarge)
    }

    /// The smallest integer `n` with `n / 10^scale` at or above the value; an integer past 128 bits is the largest of them.
    #[must_use]
    pub fn ceil_at(self, scale: Scale) -> i128 {
        let shift = i32::from(scale.0) + i32::from(self.exponent);
        let power = 10i128.checked_pow(shift.unsigned_abs());
        match (shift >= 0, power) {
            (true, power) => {
                power.and_then(|power| self.mantissa.checked_mul(power)).unwrap_or(if self.mantissa < 0 { i128::MIN } else { i128::MAX })
            }
            (false, Some(power)) => self.mantissa.div_euclid(power) + i128::from(self.mantissa.rem_euclid(power) != 0),
            (false, None) => i128::from(self.mantissa > 0),
        }
    }

    /// The value that a DOUBLE means: m = round(x·10^scale) when |m| ≤ 10^15 and m/10^scale is x again, else the shortest decimal
    /// that reads back as x.
    ///
    /// # Errors
    /// [`DecimalError::NotFinite`] for NaN and infinities.
    pub fn from_f64(x: f64, scale: Scale) -> Result<Decimal, DecimalError> {
        if !x.is_finite() {
            return Err(DecimalError::NotFinite);
        }
        let factor = scale.factor().ok_or(DecimalError::TooLarge)? as f64;
        let rounded = (x * factor).round();
        if rounded.abs() <= EXACT_F64_MANTISSA && rounded / factor == x {
            return Ok(Decimal::new(rounded as i128, scale));
        }
        Decimal::parse(&format!("{x:e}"))
    }

    /// Reads a decimal such as `-12.50` or `1.5e-7`.
    ///
    /// # Errors
    /// [`DecimalError::NotDecimal`] for other text, [`DecimalError::TooLarge`] for more than 36 digits.
    pub fn parse(text: &str) -> Result<Decimal, DecimalError> {
        let (number, exponent) = match text.split_once(['e', 'E']) {
            None => (text, 0),
            Some((number, exponent)) => (number, exponent.parse::<i32>().map_err(|_| DecimalError::NotDecimal)?),
        };
        let (negative, digits) = match number.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, number.strip_prefix('+').unwrap_or(number)),
        };
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let fraction = fraction.trim_end_matches('0');
        if whole.is_empty() && fraction.is_empty() && !digits.contains('0') {
            return Err(DecimalError::NotDecimal);
        }
        if whole.trim_start_matches('0').len() + fraction.len() > 36 || exponent.abs() > 400 {
            return Err(DecimalError::TooLarge);
        }
        let mut mantissa: i128 = 0;
        for byte in whole.bytes().chain(fraction.bytes()) {
            if !byte.is_ascii_digit() {
                return Err(DecimalError::NotDecimal);
            }
            mantissa = mantissa * 10 + i128::from(byte - b'0');
        }
        let exponent = exponent - fraction.len() as i32;
        let value = Decimal::normalised(if negative { -mantissa } else { mantissa }, exponent);
        if i32::from(value.exponent) != exponent && mantissa != 0 && !(exponent..exponent + 40).contains(&i32::from(value.exponent)) {
            return Err(DecimalError::TooLarge);
        }
        Ok(value)
    }
}

impl fmt::Display for Decimal {
    /// Plain notation, no exponent, no trailing zeros.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let digits = self.mantissa.unsigned_abs().to_string();
        let sign = if self.mantissa < 0 { "-" } else { "" };
        if self.exponent >= 0 {
            return write!(f, "{sign}{digits}{}", "0".repeat(usize::from(self.exponent.unsigned_abs())));
        }
        let places = usize::from(self.exponent.unsigned_abs());
        if digits.len() > places {
            let (whole, fraction) = digits.split_at(digits.len() - places);
            write!(f, "{sign}{whole}.{fraction}")
        } else {
            write!(f, "{sign}0.{}{digits}", "0".repeat(places - digits.len()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn equal_values_are_equal_at_every_scale() {
        assert_eq!(Decimal::new(521_425, Scale(2)), Decimal::new(5_214_250_000_000, Scale(9)));
        assert_eq!(Decimal::new(0, Scale(9)), Decimal::default());
    }

    #[test]
    fn text_comes_back() {
        for text in ["0", "5214.25", "-0.00000001", "12000", "-7", "0.5"] {
            assert_eq!(Decimal::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "-", ".", "1.2.3", "0x5", "1e", "nan", "1_0"] {
            assert_eq!(Decimal::parse(text), Err(DecimalError::NotDecimal), "{text}");
        }
        assert_eq!(Decimal::parse("1e399"), Err(DecimalError::TooLarge));
    }

    #[test]
    fn a_double_is_its_shortest_decimal() {
        for (x, text) in [
            (5214.25, "5214.25"),
            (0.1, "0.1"),
            (1e-9, "0.000000001"),
            (217.63, "217.63"),
            (1e17, "100000000000000000"),
            (1.5e-12, "0.0000000000015"),
        ] {
            assert_eq!(Decimal::from_f64(x, Scale(9)).unwrap().to_string(), text);
            assert_eq!(Decimal::from_f64(x, Scale(2)).unwrap().to_string(), text);
        }
        assert_eq!(Decimal::from_f64(f64::NAN, Scale(2)), Err(DecimalError::NotFinite));
    }

    #[test]
    fn a_scale_that_is_too_small_is_an_error() {
        let price = Decimal::parse("1.25").unwrap();
        assert_eq!(price.at_scale(Scale(2)), Ok(125));
        assert_eq!(price.at_scale(Scale(9)), Ok(1_250_000_000));
        assert_eq!(price.at_scale(Scale(1)), Err(DecimalError::TooLarge));
    }
}
