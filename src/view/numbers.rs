//! Numbers as text: thin spaces between thousands, a true minus, units that follow from the size.
//!
//! Prices and sizes are formatted from their integers and never rounded; only rates, bytes and durations of the counters are.

use crate::units::{Decimal, Scale};

/// Between groups of three digits. Narrower than a space and never a place to break a line in the page's `nowrap` cells.
pub const THIN: char = '\u{2009}';
/// The minus sign, as wide as a figure.
pub const MINUS: char = '\u{2212}';
/// Not known, as opposed to zero.
pub const UNKNOWN: &str = "–";

/// Digits with a thin space before each group of three from the right.
#[must_use]
pub fn grouped(digits: &str) -> String {
    let mut out = String::with_capacity(digits.len() + digits.len() / 3 * THIN.len_utf8());
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            out.push(THIN);
        }
        out.push(digit);
    }
    out
}

/// A count: `47 022`.
#[must_use]
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// A count of something: `1 row`, `47 022 rows`.
#[must_use]
pub fn counted(value: u64, thing: &str) -> String {
    format!("{} {thing}{}", count(value), if value == 1 { "" } else { "s" })
}

/// Digits after the point that the value needs.
#[must_use]
pub fn needed_decimals(mantissa: i128, scale: Scale) -> u8 {
    Decimal::new(mantissa, scale).needed_scale()
}

/// `mantissa / 10^scale` with `decimals` digits after the point; more when the value needs them, for nothing is rounded.
#[must_use]
pub fn exact(mantissa: i128, scale: Scale, decimals: u8) -> String {
    written(&Decimal::new(mantissa, scale).to_string(), decimals)
}

/// The same for an exact decimal that is text already.
#[must_use]
pub fn written(value: &str, decimals: u8) -> String {
    let (sign, digits) = match value.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, value),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let mut out = String::with_capacity(value.len() + 8);
    if sign {
        out.push(MINUS);
    }
    out.push_str(&grouped(whole));
    let decimals = usize::from(decimals).max(fraction.len());
    if decimals > 0 {
        out.push('.');
        out.push_str(fraction);
        out.extend(std::iter::repeat_n('0', decimals - fraction.len()));
    }
    out
}

/// Three significant digits and a decimal prefix: `0`, `850`, `1.24 M`, `38.1 k`.
#[must_use]
pub fn si(value: u64) -> (String, &'static str) {
    scaled(value, 1000, &["", "k", "M", "G", "T", "P", "E"])
}

/// Bytes in binary units: `512 B`, `3.20 MiB`.
#[must_use]
pub fn bytes(value: u64) -> String {
    let (figure, unit) = scaled(value, 1024, &["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"]);
    format!("{figure}{THIN}{unit}")
}

/// A rate: `1.24 M` and the unit that was given, as in `1.24 MB/s`.
#[must_use]
pub fn rate(value: u64, unit: &str) -> String {
    let (figure, prefix) = si(value);
    // "0/s", but "0 B/s" and "1.24 M/s".
    let space = if prefix.is_empty() && unit.starts_with('/') { "" } else { "\u{2009}" };
    format!("{figure}{space}{prefix}{unit}")
}

/// A part of a whole, both in the whole's unit: `3.2/4.0 MiB`. A negative part is an overshoot that is still owed.
#[must_use]
pub fn bytes_of(part: i64, whole: u64) -> String {
    const UNITS: [(&str, u64); 4] = [("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10), ("B", 1)];
    let (unit, size) = UNITS.into_iter().find(|(_, size)| whole >= *size).unwrap_or(("B", 1));
    let tenths = |value: u64| {
        let tenths = (u128::from(value) * 10 + u128::from(size) / 2) / u128::from(size);
        if size == 1 { value.to_string() } else { format!("{}.{}", tenths / 10, tenths % 10) }
    };
    let sign = if part < 0 { MINUS.to_string() } else { String::new() };
    format!("{sign}{}/{}{THIN}{unit}", tenths(part.unsigned_abs()), tenths(whole))
}

/// A duration in milliseconds. Browsers step their clocks by up to 0.1 ms, so less than that reads `<0.1 ms`.
#[must_use]
pub fn millis(micros: Option<u64>) -> String {
    match micros {
        None => UNKNOWN.to_owned(),
        Some(0..100) => format!("<0.1{THIN}ms"),
        Some(micros @ 100..99_950) => {
            let tenths = (micros + 50) / 100;
            format!("{}.{}{THIN}ms", tenths / 10, tenths % 10)
        }
        Some(micros @ ..999_500) => format!("{}{THIN}ms", (micros + 500) / 1000),
        Some(micros) => {
            let tenths = micros / 100_000;
            format!("{}.{}{THIN}s", grouped(&(tenths / 10).to_string()), tenths % 10)
        }
    }
}

fn scaled(value: u64, base: u64, units: &[&'static str]) -> (String, &'static str) {
    let mut size: u128 = 1;
    for unit in units {
        if size == 1 && value < base {
            return (value.to_string(), unit);
        }
        // Two, one or no digit after the point; a figure that rounds up to the next form is tried there.
        if size > 1 {
            let value = u128::from(value);
            for (decimals, limit) in [(2usize, 1_000u128), (1, 1_000), (0, u128::from(base))] {
                let factor = 10u128.pow(decimals as u32);
                let figure = (value * factor + size / 2) / size;
                if figure < limit {
                    let text = match decimals {
                        0 => figure.to_string(),
                        _ => format!("{}.{:0decimals$}", figure / factor, figure % factor),
                    };
                    return (text, unit);
                }
            }
        }
        size *= u128::from(base);
    }
    (value.to_string(), units.first().copied().unwrap_or(""))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plain(text: &str) -> String {
        text.replace(THIN, " ")
    }

    #[test]
    fn prices_are_exact_grouped_and_aligned() {
        for (mantissa, scale, decimals, text) in [
            (5_214_250_000_000, 9, 2, "5 214.25"),
            (5_214_000_000_000, 9, 2, "5 214.00"),
            (108_436, 5, 5, "1.08436"),
            (-25, 2, 2, "−0.25"),
            (0, 9, 0, "0"),
            (125, 2, 1, "1.25"),
            (1_234_567, 0, 0, "1 234 567"),
        ] {
            assert_eq!(plain(&exact(mantissa, Scale(scale), decimals)), text);
        }
        assert_eq!(needed_decimals(5_214_250_000_000, Scale(9)), 2);
    }

    #[test]
    fn rates_are_decimal_and_memory_is_binary() {
        for (value, text) in [(0, "0 rows/s"), (850, "850 rows/s"), (1_240_000, "1.24 Mrows/s"), (999_950, "1.00 Mrows/s"), (38_123, "38.1 krows/s")]
        {
            assert_eq!(plain(&rate(value, "rows/s")), text);
        }
        for (value, text) in [(0, "0 B"), (1023, "1023 B"), (1024, "1.00 KiB"), (41_943_040, "40.0 MiB"), (1_073_741_823, "1.00 GiB")] {
            assert_eq!(plain(&bytes(value)), text);
        }
        assert_eq!(plain(&bytes_of(3_355_443, 4_194_304)), "3.2/4.0 MiB");
        assert_eq!(plain(&bytes_of(-1024, 4_194_304)), "−0.0/4.0 MiB");
        assert_eq!(plain(&bytes_of(0, 0)), "0/0 B");
    }

    #[test]
    fn a_duration_below_the_clocks_step_says_so() {
        for (micros, text) in [
            (None, "–"),
            (Some(0), "<0.1 ms"),
            (Some(99), "<0.1 ms"),
            (Some(849), "0.8 ms"),
            (Some(12_000), "12.0 ms"),
            (Some(99_950), "100 ms"),
            (Some(850_000), "850 ms"),
            (Some(1_800_000), "1.8 s"),
            (Some(12_340_000), "12.3 s"),
        ] {
            assert_eq!(plain(&millis(micros)), text);
        }
    }

    #[test]
    fn every_magnitude_has_three_digits() {
        let mut value = 1u64;
        while let Some(next) = value.checked_mul(7) {
            let (figure, _) = si(value);
            assert!(figure.chars().filter(char::is_ascii_digit).count() <= 3, "{value}: {figure}");
            value = next;
        }
    }
}
