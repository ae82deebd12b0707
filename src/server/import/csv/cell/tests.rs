use super::*;

#[test]
fn numbers_keep_every_digit() {
    for (text, whole, scale, scaled) in [
        ("12.50", 2, 2, Some(1250)),
        ("-0.001", 0, 3, Some(-1)),
        (".5", 0, 1, Some(5)),
        ("5.", 1, 0, Some(5)),
        ("+7", 1, 0, Some(7)),
        ("000", 0, 0, Some(0)),
        ("1e-8", 0, 8, Some(1)),
        ("1.25E+3", 4, 0, Some(1250)),
        ("0.00e2", 0, 0, Some(0)),
        ("12345678901234567890.5", 20, 1, Some(123_456_789_012_345_678_905)),
        ("170141183460469231731687303715884105728", 39, 0, None),
    ] {
        let number = Number::parse(text).unwrap();
        assert_eq!((number.whole_digits(), number.scale(), number.scaled(scale)), (whole, scale, scaled), "{text}");
        assert!(number.digits(scale).trim_start_matches(['-', '0']).len() <= 39, "{text}");
    }
    assert_eq!(Number::parse("-1.5e-3").unwrap().digits(6), "-1500");
    for text in ["", "-", ".", "e5", "1e", "1e+", "1.2.3", "1,5", " 1", "1 ", "0x1", "1e401", "--1", "1_000", "١"] {
        assert_eq!(Number::parse(text), None, "{text}");
    }
}

#[test]
fn integers_and_short_decimals_are_the_same_numbers() {
    for (text, value) in [("0", Some(0)), ("-12", Some(-12)), ("9223372036854775807", Some(i64::MAX)), ("-9223372036854775808", Some(i64::MIN))] {
        assert_eq!(integer(text), value, "{text}");
    }
    for text in ["9223372036854775808", "", "-", "1.0", "1e3", "a"] {
        assert_eq!(integer(text), None, "{text}");
    }
    for (text, scale, value) in [
        ("4780.25", 9, Some(4_780_250_000_000)),
        ("-0.5", 1, Some(-5)),
        ("7", 2, Some(700)),
        ("1.234", 2, None),
        ("1234567890.123456789", 9, None),
        ("1..2", 3, None),
        (".", 3, None),
        ("1e2", 3, None),
    ] {
        assert_eq!(short_decimal(text, scale), value, "{text}");
    }
}

#[test]
fn epochs_tell_their_unit_and_stay_exact() {
    for (text, nanos, unit) in [
        ("1715160600", 1_715_160_600_000_000_000, Unit::Seconds),
        ("1715160600123", 1_715_160_600_123_000_000, Unit::Millis),
        ("1715160600123456", 1_715_160_600_123_456_000, Unit::Micros),
        ("1715160600123456789", 1_715_160_600_123_456_789, Unit::Nanos),
        ("1715160600.123456789", 1_715_160_600_123_456_789, Unit::Seconds),
        ("1715160600123.5", 1_715_160_600_123_500_000, Unit::Millis),
    ] {
        assert_eq!(epoch(text), Ok((nanos, unit)), "{text}");
    }
    for (text, problem) in [
        ("0", "is no moment since 1973 in any unit"),
        ("20240508", "is no moment since 1973 in any unit"),
        ("-1715160600", "is no moment since 1973 in any unit"),
        ("99999999999", "is past the year 2262"),
        ("1715160600.1234567891", "is finer than a nanosecond"),
        ("1715160600123.1234567", "is finer than a nanosecond"),
        ("x", "is no time"),
    ] {
        assert_eq!(epoch(text), Err(problem), "{text}");
    }
}

#[test]
fn written_times_are_moments_or_named() {
    let day = 1_715_126_400_000_000_000;
    for (text, nanos, zone) in [
        ("2024-05-08", day, None),
        ("2024-05-08T09:30", day + 34_200_000_000_000, Some(false)),
        ("2024-05-08 09:30:00.5Z", day + 34_200_500_000_000, Some(true)),
        ("2024-05-08T09:30:00.123456789-0530", day + 54_000_123_456_789, Some(true)),
        ("2024-05-08T09:30:00+02", day + 27_000_000_000_000, Some(true)),
        ("2024.05.08D09:30:00.000000001", day + 34_200_000_000_001, Some(false)),
        ("1969-12-31T23:59:59.999999999Z", -1, Some(true)),
    ] {
        assert_eq!(written(text), Some(Ok(Written { nanos, zone })), "{text}");
    }
    assert_eq!(written("2023-02-29"), Some(Err("does not exist")));
    assert!(matches!(written("2300-01-01"), Some(Err(problem)) if problem.contains("2262")));
    for text in
        ["2024-05-8", "20240508", "2024-05-08T", "2024-05-08T9:30", "2024-05-08T24:00", "2024-05-08T09:30:60", "2024-05-08T09:30:00.", "2024/05/08"]
    {
        assert_eq!(written(text), None, "{text}");
    }
    assert_eq!(written("2024-05-08T09:30:00.1234567891"), None, "a tenth digit would be lost");
}
