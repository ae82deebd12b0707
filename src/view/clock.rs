//! Times as the page writes and reads them: UTC, to the nanosecond, always the same width.

use crate::units::{Moment, NANOS_PER_DAY, Place, UnixNanos, iso, parse_time};

use super::numbers::THIN;

/// In the place of a date that is not known yet, as wide as one.
pub const NO_DATE: &str = "····-··-··";
/// In the place of a time.
pub const NO_TIME: &str = "··:··:··.···\u{2009}···\u{2009}···";

/// `2023-12-25`.
#[must_use]
pub fn date(time: UnixNanos) -> String {
    let mut text = iso(time);
    text.truncate(text.find('T').unwrap_or(text.len()));
    text
}

/// `23:59:59.446 821 072`: milliseconds, then groups of three behind thin spaces.
#[must_use]
pub fn time(time: UnixNanos) -> String {
    let text = iso(time);
    let clock = text.split_once('T').map_or("", |(_, clock)| clock).trim_end_matches('Z');
    let mut out = String::with_capacity(24);
    for (index, digit) in clock.chars().enumerate() {
        // HH:MM:SS.mmm is twelve characters; two groups of three follow.
        if index == 12 || index == 15 {
            out.push(THIN);
        }
        out.push(digit);
    }
    out
}

/// `2023-12-25 23:59:59.446Z`: no digits that are zero at the end, and accepted by [`parse`].
#[must_use]
pub fn short(time: UnixNanos) -> String {
    let text = iso(time).replacen('T', " ", 1);
    let (whole, fraction) = text.trim_end_matches('Z').split_once('.').unwrap_or((&text, ""));
    match fraction.trim_end_matches('0') {
        "" => format!("{whole}Z"),
        fraction => format!("{whole}.{fraction}Z"),
    }
}

/// Which of the events that share its time a moment stands behind, in words; empty for the end of a time.
#[must_use]
pub fn place(moment: Moment, tie: Option<(u32, u32)>) -> String {
    match (moment.place, tie) {
        (Place::Before, _) => "before the first event at this time".to_owned(),
        (_, Some((event, of))) if of > 1 => format!("event {event} of {of} at this time"),
        (Place::After(k), None) => format!("event {k} at this time"),
        _ => String::new(),
    }
}

/// Reads what a user typed: everything that [`parse_time`] reads, a moment (`ns/k`, `ns-`), the clock as the page shows it, or
/// `HH:MM[:SS[.n]]` on the day of `near`.
///
/// # Errors
/// A sentence that says what is wrong and what can be written.
pub fn parse(text: &str, near: UnixNanos) -> Result<Moment, String> {
    // The clock is copied with "UTC" and its groups of three, whose thin spaces may have become others on the way.
    let text = ungrouped(text.trim());
    let text = match text.strip_suffix("UTC") {
        Some(rest) => format!("{}Z", rest.trim_end()),
        None => text,
    };
    if text.is_empty() {
        return Err("Write a time such as 14:30:05.5, 2024-05-08T00:06:40Z or nanoseconds since 1970".to_owned());
    }
    if let Some((number, _)) = text.split_once('/')
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return text.parse().map_err(|error: crate::units::TimeError| error.to_string());
    }
    if let Some(number) = text.strip_suffix('-')
        && !number.is_empty()
        && number.bytes().all(|byte| byte.is_ascii_digit())
    {
        return text.parse().map_err(|error: crate::units::TimeError| error.to_string());
    }
    // Seconds since 1970 have nine digits and more; fewer are a time of day or a typing error.
    if text.len() < 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        return Err(format!("{text} is no time: write a time of day with its colon, such as 17:05"));
    }
    if let Some(nanos) = time_of_day(text.trim_end_matches('Z')) {
        let midnight = near.0.div_euclid(NANOS_PER_DAY).checked_mul(NANOS_PER_DAY);
        return midnight
            .and_then(|midnight| midnight.checked_add(nanos))
            .map(|nanos| Moment::end_of(UnixNanos(nanos)))
            .ok_or_else(|| format!("{text:?} is outside the years 1677 to 2262"));
    }
    // Without a zone it is UTC, which is the only one there is here.
    let zoned = match text.split_once([' ', 'T']) {
        Some((_, clock)) if time_of_day(clock).is_some() => {
            let seconds = if clock.matches(':').count() == 1 { ":00" } else { "" };
            format!("{text}{seconds}Z")
        }
        _ => text,
    };
    parse_time(&zoned).map(Moment::end_of).map_err(|error| error.to_string())
}

/// Without the spaces between the digits of a fraction.
fn ungrouped(text: &str) -> String {
    let Some((whole, fraction)) = text.rsplit_once('.') else { return text.replace(THIN, "") };
    let end = fraction.find(|c: char| !c.is_ascii_digit() && !c.is_whitespace()).unwrap_or(fraction.len());
    let (digits, rest) = fraction.split_at(end);
    let digits: String = digits.chars().filter(|c| !c.is_whitespace()).collect();
    format!("{whole}.{digits}{rest}")
}

/// `HH:MM[:SS[.n]]` as nanoseconds of a day.
fn time_of_day(text: &str) -> Option<i64> {
    let mut parts = text.split(':');
    let two = |part: &str, limit: i64| -> Option<i64> {
        let valid = (1..=2).contains(&part.len()) && part.bytes().all(|byte| byte.is_ascii_digit());
        part.parse().ok().filter(|value| valid && *value < limit)
    };
    let hours = two(parts.next()?, 24)?;
    let minutes = two(parts.next()?, 60)?;
    let (seconds, fraction) = match parts.next() {
        None => (0, 0),
        Some(part) => {
            let (whole, fraction) = part.split_once('.').unwrap_or((part, "0"));
            let digits = (1..=9).contains(&fraction.len()) && fraction.bytes().all(|byte| byte.is_ascii_digit());
            if !digits {
                return None;
            }
            (two(whole, 60)?, format!("{fraction:0<9}").parse::<i64>().ok()?)
        }
    };
    if parts.next().is_some() {
        return None;
    }
    Some(((hours * 60 + minutes) * 60 + seconds) * 1_000_000_000 + fraction)
}

#[cfg(test)]
mod tests {
    use super::*;

    const AT: UnixNanos = UnixNanos(1_703_548_799_446_821_072);

    fn plain(text: &str) -> String {
        text.replace(THIN, " ")
    }

    #[test]
    fn a_time_is_written_to_the_nanosecond_in_groups() {
        assert_eq!(date(AT), "2023-12-25");
        assert_eq!(plain(&time(AT)), "23:59:59.446 821 072");
        assert_eq!(plain(&time(UnixNanos(0))), "00:00:00.000 000 000");
    }

    #[test]
    fn a_short_time_keeps_what_counts() {
        for (nanos, text) in [
            (AT.0, "2023-12-25 23:59:59.446821072Z"),
            (1_703_462_400_000_000_000, "2023-12-25 00:00:00Z"),
            (1_703_462_410_500_000_000, "2023-12-25 00:00:10.5Z"),
            (1_703_462_410_000_000_000, "2023-12-25 00:00:10Z"),
        ] {
            assert_eq!(short(UnixNanos(nanos)), text);
            assert_eq!(parse(text, AT), Ok(Moment::end_of(UnixNanos(nanos))), "{text}");
        }
    }

    #[test]
    fn what_the_page_shows_can_be_typed_back() {
        let shown = format!("{} {} UTC", date(AT), time(AT));
        assert_eq!(parse(&shown, UnixNanos(0)), Ok(Moment::end_of(AT)));
        assert_eq!(parse(&format!("{AT}/3"), UnixNanos(0)), Ok(Moment { time: AT, place: Place::After(3) }));
        assert_eq!(parse(&format!("{AT}-"), UnixNanos(0)), Ok(Moment::before(AT)));
    }

    #[test]
    fn a_date_without_a_zone_is_utc_and_groups_may_be_spaced_in_any_way() {
        for text in [
            "2023-12-25 23:59:59.446 821 072",
            "2023-12-25T23:59:59.446821072",
            "23:59:59.446 821 072",
            "23:59:59.446 821 072 UTC",
            "2023-12-25 23:59:59.446\u{a0}821\u{a0}072Z",
        ] {
            assert_eq!(parse(text, AT), Ok(Moment::end_of(AT)), "{text}");
        }
        assert_eq!(parse("2023-12-25 10:00", AT), Ok(Moment::end_of(UnixNanos(1_703_498_400_000_000_000))));
        assert_eq!(parse("1703498400", AT), Ok(Moment::end_of(UnixNanos(1_703_498_400_000_000_000))));
    }

    #[test]
    fn a_time_of_day_is_of_the_day_in_view() {
        for (text, nanos) in [
            ("00:00", 1_703_462_400_000_000_000),
            ("23:59:59.446821072", AT.0),
            ("9:05:07.5", 1_703_495_107_500_000_000),
            ("09:05:07Z", 1_703_495_107_000_000_000),
        ] {
            assert_eq!(parse(text, AT), Ok(Moment::end_of(UnixNanos(nanos))), "{text}");
        }
        for text in ["1705", "0", "24:00", "12:60", "12:00:61", "12:00:00.", "12:00:00.1234567891", "1:2:3:4", "noon", ""] {
            assert!(parse(text, AT).is_err(), "{text}");
        }
    }

    #[test]
    fn ties_are_said_in_words() {
        let after = |k| Moment { time: AT, place: Place::After(k) };
        assert_eq!(place(after(3), Some((3, 14))), "event 3 of 14 at this time");
        assert_eq!(place(Moment::end_of(AT), Some((1, 1))), "");
        assert_eq!(place(Moment::before(AT), None), "before the first event at this time");
    }
}
