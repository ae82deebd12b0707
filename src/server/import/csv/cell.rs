//! One field as a number or a moment, exactly: digits stay digits.

use chrono::NaiveDate;

/// Nanoseconds of a day.
const DAY: i128 = 86_400 * NANOS;
const NANOS: i128 = 1_000_000_000;
/// An exponent further out leaves no room for the digits.
const MAX_EXPONENT: i32 = 400;

/// A decimal number as it is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Number<'a> {
    negative: bool,
    whole: &'a str,
    fraction: &'a str,
    exponent: i32,
    /// Whether there is a point or an exponent.
    pub(super) has_point: bool,
}

impl<'a> Number<'a> {
    /// Reads `-12.50`, `.5`, `+3`, `1e-8`; `None` for anything else.
    pub(super) fn parse(text: &'a str) -> Option<Number<'a>> {
        let (negative, text) = match text.strip_prefix('-') {
            Some(rest) => (true, rest),
            None => (false, text.strip_prefix('+').unwrap_or(text)),
        };
        let digits = |text: &str| text.bytes().position(|byte| !byte.is_ascii_digit()).unwrap_or(text.len());
        let (whole, rest) = text.split_at_checked(digits(text))?;
        let (fraction, rest, point) = match rest.strip_prefix('.') {
            Some(rest) => rest.split_at_checked(digits(rest)).map(|(fraction, rest)| (fraction, rest, true))?,
            None => ("", rest, false),
        };
        if whole.is_empty() && fraction.is_empty() {
            return None;
        }
        let exponent = match rest.as_bytes().first() {
            None => 0,
            Some(b'e' | b'E') => {
                let exponent = rest.get(1..)?;
                let unsigned = exponent.strip_prefix(['-', '+']).unwrap_or(exponent);
                if unsigned.is_empty() || !unsigned.bytes().all(|byte| byte.is_ascii_digit()) {
                    return None;
                }
                exponent.parse::<i32>().ok().filter(|exponent| exponent.abs() <= MAX_EXPONENT)?
            }
            Some(_) => return None,
        };
        Some(Number { negative, whole, fraction, exponent, has_point: point || !rest.is_empty() })
    }

    /// Digits behind the point that are needed to keep it as it is written.
    pub(super) fn scale(&self) -> u32 {
        let scale = i64::try_from(self.fraction.len()).unwrap_or(i64::MAX) - i64::from(self.exponent);
        u32::try_from(scale.max(0)).unwrap_or(u32::MAX)
    }

    /// Digits before the point, without leading zeros.
    pub(super) fn whole_digits(&self) -> u32 {
        let all = self.whole.len() + self.fraction.len();
        let zeros = self.whole.bytes().chain(self.fraction.bytes()).take_while(|&digit| digit == b'0').count();
        if zeros == all {
            return 0;
        }
        let digits = i64::try_from(self.whole.len()).unwrap_or(i64::MAX) + i64::from(self.exponent) - i64::try_from(zeros).unwrap_or(0);
        u32::try_from(digits.max(0)).unwrap_or(u32::MAX)
    }

    /// Its digits without zeros at either end.
    pub(super) fn significant(&self) -> String {
        let digits: String = [self.whole, self.fraction].concat();
        digits.trim_matches('0').to_owned()
    }

    /// Whether zeros lead it that a number would not keep: `007`.
    pub(super) fn has_leading_zeros(&self) -> bool {
        self.whole.len() > 1 && self.whole.starts_with('0')
    }

    /// The number times ten to the `scale`; `None` where that is no integer of 128 bits.
    pub(super) fn scaled(&self, scale: u32) -> Option<i128> {
        let mut value = 0i128;
        for digit in self.whole.bytes().chain(self.fraction.bytes()) {
            value = value.checked_mul(10)?.checked_add(i128::from(digit - b'0'))?;
        }
        let shift = i64::from(scale) + i64::from(self.exponent) - i64::try_from(self.fraction.len()).ok()?;
        let value = match u32::try_from(shift) {
            _ if value == 0 => 0,
            Ok(up) => value.checked_mul(10i128.checked_pow(up)?)?,
            Err(_) => {
                let by = 10i128.checked_pow(u32::try_from(shift.unsigned_abs()).ok()?)?;
                (value % by == 0).then_some(value / by)?
            }
        };
        Some(if self.negative { -value } else { value })
    }

    /// All digits of the number times ten to the `scale`, with its sign, for numbers that are wider than 128 bits.
    pub(super) fn digits(&self, scale: u32) -> String {
        let mut text = String::from(if self.negative { "-" } else { "" });
        text.push_str(self.whole);
        text.push_str(self.fraction);
        let shift = i64::from(scale) + i64::from(self.exponent) - i64::try_from(self.fraction.len()).unwrap_or(0);
        text.extend(std::iter::repeat_n('0', usize::try_from(shift).unwrap_or(0)));
        text
    }
}

/// An integer of 64 bits written without point or exponent: most fields are one.
pub(super) fn integer(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] => (false, digits),
        digits => (false, digits),
    };
    // 18 digits cannot overflow.
    if digits.len() > 18 {
        return text.parse().ok();
    }
    let mut value = 0i64;
    for &digit in digits {
        let digit = digit.wrapping_sub(b'0');
        if digit > 9 {
            return None;
        }
        value = value * 10 + i64::from(digit);
    }
    (!digits.is_empty()).then_some(if negative { -value } else { value })
}

/// A decimal of at most 18 digits times ten to the `scale`, written without exponent: the way of most prices.
pub(super) fn short_decimal(text: &str, scale: u32) -> Option<i64> {
    let bytes = text.as_bytes();
    let (negative, digits) = match bytes {
        [b'-', digits @ ..] => (true, digits),
        digits => (false, digits),
    };
    if digits.len() > 18 {
        return None;
    }
    let (mut value, mut behind, mut seen) = (0i64, None, 0u32);
    for &byte in digits {
        match byte {
            b'0'..=b'9' => {
                value = value * 10 + i64::from(byte - b'0');
                seen += 1;
                if let Some(behind) = &mut behind {
                    *behind += 1;
                }
            }
            b'.' if behind.is_none() => behind = Some(0),
            _ => return None,
        }
    }
    let missing = scale.checked_sub(behind.unwrap_or(0))?;
    if seen == 0 || seen + missing > 18 {
        return None;
    }
    let value = value * 10i64.pow(missing);
    Some(if negative { -value } else { value })
}

/// Units of an epoch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Unit {
    Seconds,
    Millis,
    Micros,
    Nanos,
}

impl Unit {
    /// The unit that a count since 1970 must have so that its moment lies between 1973 and 5138: they do not overlap.
    pub(super) fn of(count: i64) -> Option<Unit> {
        Some(match count {
            100_000_000..100_000_000_000 => Unit::Seconds,
            100_000_000_000..100_000_000_000_000 => Unit::Millis,
            100_000_000_000_000..100_000_000_000_000_000 => Unit::Micros,
            100_000_000_000_000_000.. => Unit::Nanos,
            _ => return None,
        })
    }

    /// Digits of a nanosecond that it leaves.
    pub(super) fn digits(self) -> u32 {
        match self {
            Unit::Seconds => 9,
            Unit::Millis => 6,
            Unit::Micros => 3,
            Unit::Nanos => 0,
        }
    }

    /// For messages.
    pub(super) fn name(self) -> &'static str {
        match self {
            Unit::Seconds => "seconds",
            Unit::Millis => "milliseconds",
            Unit::Micros => "microseconds",
            Unit::Nanos => "nanoseconds",
        }
    }
}

/// A whole count since 1970 in nanoseconds. Its size tells its unit.
///
/// # Errors
/// Why it is none.
pub(super) fn epoch_of(count: i64) -> Result<(i64, Unit), &'static str> {
    let unit = Unit::of(count).ok_or("is no moment since 1973 in any unit")?;
    let nanos = count.checked_mul(10i64.pow(unit.digits())).ok_or("is past the year 2262")?;
    Ok((nanos, unit))
}

/// A count since 1970, whole or with a fraction, in nanoseconds. Its size tells its unit.
///
/// # Errors
/// Why it is none.
pub(super) fn epoch(text: &str) -> Result<(i64, Unit), &'static str> {
    if let Some(count) = integer(text) {
        return epoch_of(count);
    }
    let number = Number::parse(text).ok_or("is no time")?;
    let whole = integer(number.whole).filter(|_| number.exponent == 0 && !number.negative).ok_or("is no moment since 1973 in any unit")?;
    let unit = Unit::of(whole).ok_or("is no moment since 1973 in any unit")?;
    let nanos = number.scaled(unit.digits()).ok_or("is finer than a nanosecond")?;
    Ok((i64::try_from(nanos).map_err(|_| "is past the year 2262")?, unit))
}

/// A time as a date with or without a time of day.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Written {
    /// Since 1970; without a zone it is UTC.
    pub(super) nanos: i64,
    /// Whether it says its zone; a date alone needs none.
    pub(super) zone: Option<bool>,
}

/// Reads `2024-05-08`, `2024-05-08T09:30:00.123456789Z`, `2024-05-08 09:30+02:00`, also kdb's `2024.05.08D09:30:00.000000000`.
/// `None` for what has another form.
///
/// # Errors
/// A time of that form that does not exist or does not fit nanoseconds.
pub(super) fn written(text: &str) -> Option<Result<Written, &'static str>> {
    let bytes = text.as_bytes();
    let (date, rest) = bytes.split_at_checked(10)?;
    let &[y0, y1, y2, y3, separator @ (b'-' | b'.'), m0, m1, second, d0, d1] = date else { return None };
    if separator != second {
        return None;
    }
    let year = two(y0, y1)? * 100 + two(y2, y3)?;
    let (month, day) = (two(m0, m1)?, two(d0, d1)?);
    let (of_day, offset) = match rest {
        [] => (0, None),
        [b'T' | b't' | b' ' | b'D', rest @ ..] => {
            let (clock, zone) = zone(rest)?;
            (clock_nanos(clock)?, Some(zone))
        }
        _ => return None,
    };
    let existing = i32::try_from(year).ok().and_then(|year| NaiveDate::from_ymd_opt(year, month, day));
    let Some(date) = existing.filter(|_| of_day < DAY) else { return Some(Err("does not exist")) };
    let days = i128::from(date.to_epoch_days());
    let nanos = days * DAY + of_day - i128::from(offset.flatten().unwrap_or(0)) * 60 * NANOS;
    let nanos = i64::try_from(nanos).map_err(|_| "does not fit nanoseconds, which reach from 1677 to 2262");
    Some(nanos.map(|nanos| Written { nanos, zone: offset.map(|offset| offset.is_some()) }))
}

/// A time of day without a date: `09:30:00.123`, kdb's `0D09:30:00.123`.
pub(super) fn is_time_of_day(text: &str) -> bool {
    let text = text.split_once('D').map_or(text, |(days, rest)| if days.bytes().all(|byte| byte.is_ascii_digit()) { rest } else { text });
    clock_nanos(text.as_bytes()).is_some()
}

fn two(tens: u8, ones: u8) -> Option<u32> {
    (tens.is_ascii_digit() && ones.is_ascii_digit()).then(|| u32::from(tens - b'0') * 10 + u32::from(ones - b'0'))
}

/// Splits the zone off; its offset is in minutes.
fn zone(text: &[u8]) -> Option<(&[u8], Option<i32>)> {
    if let [clock @ .., b'Z' | b'z'] = text {
        return Some((clock, Some(0)));
    }
    let Some(at) = text.iter().rposition(|&byte| byte == b'+' || byte == b'-') else { return Some((text, None)) };
    let (clock, zone) = text.split_at_checked(at)?;
    let (sign, hours, minutes) = match *zone {
        [sign, h0, h1] => (sign, two(h0, h1)?, 0),
        [sign, h0, h1, m0, m1] | [sign, h0, h1, b':', m0, m1] => (sign, two(h0, h1)?, two(m0, m1)?),
        _ => return None,
    };
    let offset = i32::try_from(hours * 60 + minutes).ok().filter(|_| hours < 24 && minutes < 60)?;
    Some((clock, Some(if sign == b'-' { -offset } else { offset })))
}

/// `09:30`, `09:30:00`, `09:30:00.123456789` in nanoseconds; 24 hours and more are out of range for the caller to see.
fn clock_nanos(text: &[u8]) -> Option<i128> {
    let (clock, rest) = text.split_at_checked(5)?;
    let &[h0, h1, b':', m0, m1] = clock else { return None };
    let (hours, minutes) = (two(h0, h1)?, two(m0, m1)?);
    let (seconds, fraction) = match rest {
        [] => (0, 0),
        [b':', s0, s1] => (two(*s0, *s1)?, 0),
        [b':', s0, s1, b'.' | b',', digits @ ..] if (1..=9).contains(&digits.len()) => {
            let mut value = 0i128;
            for &digit in digits {
                value = value * 10 + i128::from(two(b'0', digit)?);
            }
            (two(*s0, *s1)?, value * 10i128.pow(9 - u32::try_from(digits.len()).ok()?))
        }
        _ => return None,
    };
    // A minute has no 60th second here: a leap second has no number of its own.
    (hours < 24 && minutes < 60 && seconds < 60).then(|| i128::from(hours * 3600 + minutes * 60 + seconds) * NANOS + fraction)
}

/// The words of yes and no.
pub(super) fn boolean(text: &str) -> Option<bool> {
    match text {
        "true" | "True" | "TRUE" => Some(true),
        "false" | "False" | "FALSE" => Some(false),
        _ => None,
    }
}

/// Words that programs write where there is no number.
pub(super) fn is_no_number(text: &str) -> bool {
    let text = text.trim_start_matches(['-', '+']);
    ["nan", "inf", "infinity", "null", "none", "na", "n/a", "<na>"].iter().any(|word| text.eq_ignore_ascii_case(word))
}

#[cfg(test)]
mod tests;
