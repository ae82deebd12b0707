//! Bind parameters as the engine takes them.

use datafusion::arrow::datatypes::i256;
use datafusion::common::{ParamValues, ScalarValue, metadata::ScalarAndMetadata};

use super::QueryError;
use crate::wire::{Bind, status};

/// Most digits of the decimal types.
const DIGITS_64: u8 = 18;
const DIGITS_128: u8 = 38;
const DIGITS_256: u8 = 76;

/// The values of `$1`, `$2`, ….
///
/// # Errors
/// A value that has no exact form in the engine, named by its number.
pub(crate) fn values(binds: Vec<Bind>) -> Result<ParamValues, QueryError> {
    let value = |(index, bind)| {
        let refused = |problem: &str| QueryError::at(status::SCHEMA_MISMATCH, None, format!("bind {index}: {problem}"));
        scalar(bind).map(ScalarAndMetadata::from).map_err(refused)
    };
    binds.into_iter().enumerate().map(value).collect::<Result<Vec<_>, _>>().map(ParamValues::List)
}

fn scalar(bind: Bind) -> Result<ScalarValue, &'static str> {
    let utc = || Some("UTC".into());
    Ok(match bind {
        Bind::Boolean(value) => ScalarValue::Boolean(value),
        Bind::Byte(value) => ScalarValue::Int8(value),
        Bind::Short(value) => ScalarValue::Int16(value),
        Bind::Int(value) => ScalarValue::Int32(value),
        Bind::Long(value) => ScalarValue::Int64(value),
        Bind::Float(value) => ScalarValue::Float32(value),
        Bind::Double(value) => ScalarValue::Float64(value),
        Bind::Symbol(value) | Bind::Varchar(value) => ScalarValue::Utf8(value),
        Bind::Timestamp(value) => ScalarValue::TimestampMicrosecond(value, utc()),
        Bind::Date(value) => ScalarValue::TimestampMillisecond(value, utc()),
        Bind::TimestampNanos(value) => ScalarValue::TimestampNanosecond(value, utc()),
        Bind::Uuid(value) => ScalarValue::FixedSizeBinary(16, value.map(|bytes| bytes.to_vec())),
        Bind::Long256(value) => ScalarValue::FixedSizeBinary(32, value.map(|bytes| bytes.to_vec())),
        Bind::Geohash { value, .. } => ScalarValue::Int64(value.map(u64::cast_signed)),
        Bind::Decimal64 { scale, value } => ScalarValue::Decimal64(value, DIGITS_64, digits(scale, DIGITS_64)?),
        Bind::Decimal128 { scale, value } => ScalarValue::Decimal128(value, DIGITS_128, digits(scale, DIGITS_128)?),
        Bind::Decimal256 { scale, value } => ScalarValue::Decimal256(value.map(i256::from_le_bytes), DIGITS_256, digits(scale, DIGITS_256)?),
        Bind::Char(None) => ScalarValue::Utf8(None),
        Bind::Char(Some(unit)) => {
            let letter = char::from_u32(u32::from(unit)).ok_or("half of a surrogate pair is no character")?;
            ScalarValue::Utf8(Some(letter.to_string()))
        }
    })
}

fn digits(scale: u8, most: u8) -> Result<i8, &'static str> {
    i8::try_from(scale).ok().filter(|_| scale <= most).ok_or("its scale is larger than its type has digits")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn binds_keep_their_value_and_type() {
        let all = vec![
            Bind::Long(Some(i64::MIN)),
            Bind::TimestampNanos(Some(1)),
            Bind::Char(Some(u16::from(b'x'))),
            Bind::Char(None),
            Bind::Decimal64 { scale: 9, value: Some(-5) },
        ];
        let ParamValues::List(values) = values(all).unwrap() else { panic!("a list") };
        let values: Vec<ScalarValue> = values.into_iter().map(|value| value.value).collect();
        let expected = [
            ScalarValue::Int64(Some(i64::MIN)),
            ScalarValue::TimestampNanosecond(Some(1), Some("UTC".into())),
            ScalarValue::Utf8(Some("x".to_owned())),
            ScalarValue::Utf8(None),
            ScalarValue::Decimal64(Some(-5), 18, 9),
        ];
        assert_eq!(values, expected);
    }

    #[test]
    fn what_has_no_form_is_named_by_its_number() {
        let error = values(vec![Bind::Long(None), Bind::Decimal64 { scale: 19, value: None }]).unwrap_err();
        assert!(error.problem.starts_with("bind 1: "), "{error}");
        assert!(values(vec![Bind::Char(Some(0xD800))]).is_err());
    }
}
