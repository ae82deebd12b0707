//! Reading and writing times as people and files write them.

use std::fmt;

use chrono::{DateTime, Datelike, NaiveDate, Timelike};

use super::UnixNanos;

/// Nanoseconds of a UTC day.
pub const NANOS_PER_DAY: i64 = 86_400_000_000_000;

/// Why a text is no time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeError {
    /// Not a decimal number of nanoseconds.
    NotNanos(String),
    /// The ordinal behind `/` is not a count from 1.
    BadOrdinal(String),
    /// Neither ISO 8601 nor an epoch number.
    NotATime(String),
    /// ISO 8601 without a zone: which instant is meant is not known.
    NoZone(String),
    /// Outside what 64 bits of nanoseconds hold (1677 to 2262).
    OutOfRange(String),
}

impl fmt::Display for TimeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            TimeError::NotNanos(text) => write!(f, "{text:?} is not a whole number of nanoseconds since 1970"),
            TimeError::BadOrdinal(text) => write!(f, "{text:?}: behind the slash stands which event with that time, counted from 1"),
            TimeError::NotATime(text) => {
                write!(f, "{text:?} is not a time: write 2024-05-08T00:06:40.059830547Z, or seconds, ms, µs or ns since 1970")
            }
            TimeError::NoZone(text) => write!(f, "{text:?} has no zone: end it with Z for UTC or an offset such as -04:00"),
            TimeError::OutOfRange(text) => write!(f, "{text:?} is outside the years 1677 to 2262 that nanoseconds in 64 bits can hold"),
        }
    }
}

impl std::error::Error for TimeError {}

/// Reads ISO 8601 with up to nine digits and a zone, or an epoch number whose unit follows from its size: under 10^11 seconds,
/// under 10^14 milliseconds, under 10^17 microseconds, else nanoseconds.
///
/// # Errors
/// See [`TimeError`].
pub fn parse_time(text: &str) -> Result<UnixNanos, TimeError> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        let number: i64 = text.parse().map_err(|_| TimeError::OutOfRange(text.to_owned()))?;
        let unit = match number.unsigned_abs() {
            0..100_000_000_000 => 1_000_000_000,
            100_000_000_000..100_000_000_000_000 => 1_000_000,
            100_000_000_000_000..100_000_000_000_000_000 => 1_000,
            _ => 1,
        };
        return number.checked_mul(unit).map(UnixNanos).ok_or_else(|| TimeError::OutOfRange(text.to_owned()));
    }
    if let Ok(date) = text.parse::<NaiveDate>() {
        return Err(TimeError::NoZone(format!("{date}")));
    }
    // chrono takes more than nine digits and cuts them; nothing is cut here.
    let fraction = text.split_once('.').map_or(0, |(_, rest)| rest.bytes().take_while(u8::is_ascii_digit).count());
    if fraction > 9 {
        return Err(TimeError::NotATime(text.to_owned()));
    }
    match DateTime::parse_from_rfc3339(&text.replacen(' ', "T", 1)) {
        Ok(time) => time.timestamp_nanos_opt().map(UnixNanos).ok_or_else(|| TimeError::OutOfRange(text.to_owned())),
        Err(_) if text.len() >= 10 && DateTime::parse_from_rfc3339(&format!("{}Z", text.replacen(' ', "T", 1))).is_ok() => {
            Err(TimeError::NoZone(text.to_owned()))
        }
        Err(_) => Err(TimeError::NotATime(text.to_owned())),
    }
}

/// `2023-12-25T23:59:59.446821072Z`, always with nine digits.
#[must_use]
pub fn iso(time: UnixNanos) -> String {
    let at = DateTime::from_timestamp_nanos(time.0);
    format!("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:09}Z", at.year(), at.month(), at.day(), at.hour(), at.minute(), at.second(), at.nanosecond())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_read_to_the_nanosecond() {
        let exact = UnixNanos(1_715_126_400_059_830_547);
        for text in ["1715126400059830547", "2024-05-08T00:00:00.059830547Z", "2024-05-07T20:00:00.059830547-04:00", "2024-05-08 00:00:00.059830547Z"]
        {
            assert_eq!(parse_time(text), Ok(exact), "{text}");
        }
        assert_eq!(iso(exact), "2024-05-08T00:00:00.059830547Z");
    }

    #[test]
    fn the_unit_of_an_epoch_number_follows_from_its_size() {
        for text in ["1715126400", "1715126400000", "1715126400000000", "1715126400000000000"] {
            assert_eq!(parse_time(text), Ok(UnixNanos(1_715_126_400_000_000_000)), "{text}");
        }
    }

    #[test]
    fn what_is_no_time_says_why() {
        assert!(matches!(parse_time("2024-05-08T00:00:00"), Err(TimeError::NoZone(_))));
        assert!(matches!(parse_time("2024-05-08"), Err(TimeError::NoZone(_))));
        assert!(matches!(parse_time("yesterday"), Err(TimeError::NotATime(_))));
        assert!(matches!(parse_time("2024-05-08T00:00:00.0598305471Z"), Err(TimeError::NotATime(_))));
        assert!(matches!(parse_time("99999999999999999999"), Err(TimeError::OutOfRange(_))));
        assert!(matches!(parse_time("2300-01-01T00:00:00Z"), Err(TimeError::OutOfRange(_))));
    }
}
