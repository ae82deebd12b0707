//! Bind parameters of a query.
//!
//! ```text
//!  type u8 · null_flag u8 (1: one bitmap byte 0x01, then no value) · extra · value
//!  extra: scale u8 of a decimal, precision varint of a geohash. VARCHAR value: u32 0 · u32 length · bytes. Times are plain i64.
//! ```

use super::column::precision;
use super::error::{WireError, WireFault};
use super::reader::Reader;
use super::schema::ColumnType;

/// A bind parameter; `None` is null.
#[derive(Debug, Clone, PartialEq)]
pub enum Bind {
    /// BOOLEAN.
    Boolean(Option<bool>),
    /// BYTE.
    Byte(Option<i8>),
    /// SHORT.
    Short(Option<i16>),
    /// INT.
    Int(Option<i32>),
    /// LONG.
    Long(Option<i64>),
    /// FLOAT.
    Float(Option<f32>),
    /// DOUBLE.
    Double(Option<f64>),
    /// Text in the place of a symbol.
    Symbol(Option<String>),
    /// Microseconds since 1970 UTC.
    Timestamp(Option<i64>),
    /// Milliseconds since 1970 UTC.
    Date(Option<i64>),
    /// In the order of RFC 4122.
    Uuid(Option<[u8; 16]>),
    /// Least significant byte first.
    Long256(Option<[u8; 32]>),
    /// GEOHASH.
    Geohash {
        /// Bits, 1 to 60.
        precision: u8,
        /// The bits as a number.
        value: Option<u64>,
    },
    /// VARCHAR.
    Varchar(Option<String>),
    /// Nanoseconds since 1970 UTC.
    TimestampNanos(Option<i64>),
    /// DECIMAL64.
    Decimal64 {
        /// Digits after the point.
        scale: u8,
        /// Mantissa.
        value: Option<i64>,
    },
    /// DECIMAL128.
    Decimal128 {
        /// Digits after the point.
        scale: u8,
        /// Mantissa.
        value: Option<i128>,
    },
    /// DECIMAL256.
    Decimal256 {
        /// Digits after the point.
        scale: u8,
        /// Mantissa, least significant byte first.
        value: Option<[u8; 32]>,
    },
    /// One UTF-16 unit.
    Char(Option<u16>),
}

/// QuestDB takes scales up to 76 for every decimal bind.
const MAX_SCALE: u8 = 76;

impl Bind {
    pub(super) fn read(reader: &mut Reader<'_>) -> Result<Bind, WireError> {
        let at = reader.clone();
        let code = reader.u8()?;
        let refused = at.fault(WireFault::TypeCode { got: code });
        let column_type = ColumnType::from_code(code).ok_or(refused)?;
        let at = reader.clone();
        let null = match reader.u8()? {
            0 => false,
            // The one bitmap byte; its bits past the first carry no meaning, and an unset one says "not null" after all.
            1 => reader.u8()? & 1 == 1,
            got => return Err(at.fault(WireFault::NullFlag { got })),
        };
        Ok(match column_type {
            ColumnType::Boolean => Bind::Boolean(value(reader, null, |[byte]: [u8; 1]| byte & 1 == 1)?),
            ColumnType::Byte => Bind::Byte(value(reader, null, i8::from_le_bytes)?),
            ColumnType::Short => Bind::Short(value(reader, null, i16::from_le_bytes)?),
            ColumnType::Int => Bind::Int(value(reader, null, i32::from_le_bytes)?),
            ColumnType::Long => Bind::Long(value(reader, null, i64::from_le_bytes)?),
            ColumnType::Float => Bind::Float(value(reader, null, f32::from_le_bytes)?),
            ColumnType::Double => Bind::Double(value(reader, null, f64::from_le_bytes)?),
            ColumnType::Symbol => Bind::Symbol(text(reader, null)?),
            ColumnType::Timestamp => Bind::Timestamp(value(reader, null, i64::from_le_bytes)?),
            ColumnType::Date => Bind::Date(value(reader, null, i64::from_le_bytes)?),
            ColumnType::Uuid => Bind::Uuid(value(reader, null, reversed)?),
            ColumnType::Long256 => Bind::Long256(value(reader, null, |bytes: [u8; 32]| bytes)?),
            ColumnType::Geohash => {
                let precision = precision(reader)?;
                let value = match null {
                    true => None,
                    false => {
                        let bytes = reader.take(u64::from(precision.div_ceil(8)))?;
                        let mask = u64::MAX.wrapping_shr(64u32.wrapping_sub(u32::from(precision)));
                        Some(bytes.iter().rev().fold(0u64, |value, byte| value << 8 | u64::from(*byte)) & mask)
                    }
                };
                Bind::Geohash { precision, value }
            }
            ColumnType::Varchar => Bind::Varchar(text(reader, null)?),
            ColumnType::TimestampNanos => Bind::TimestampNanos(value(reader, null, i64::from_le_bytes)?),
            ColumnType::Decimal64 => Bind::Decimal64 { scale: scale(reader)?, value: value(reader, null, i64::from_le_bytes)? },
            ColumnType::Decimal128 => Bind::Decimal128 { scale: scale(reader)?, value: value(reader, null, i128::from_le_bytes)? },
            ColumnType::Decimal256 => Bind::Decimal256 { scale: scale(reader)?, value: value(reader, null, |bytes: [u8; 32]| bytes)? },
            ColumnType::Char => Bind::Char(value(reader, null, u16::from_le_bytes)?),
            ColumnType::DoubleArray | ColumnType::LongArray | ColumnType::Binary | ColumnType::Ipv4 => return Err(refused),
        })
    }

    /// The type on the wire.
    #[must_use]
    pub fn column_type(&self) -> ColumnType {
        match self {
            Bind::Boolean(_) => ColumnType::Boolean,
            Bind::Byte(_) => ColumnType::Byte,
            Bind::Short(_) => ColumnType::Short,
            Bind::Int(_) => ColumnType::Int,
            Bind::Long(_) => ColumnType::Long,
            Bind::Float(_) => ColumnType::Float,
            Bind::Double(_) => ColumnType::Double,
            Bind::Symbol(_) => ColumnType::Symbol,
            Bind::Timestamp(_) => ColumnType::Timestamp,
            Bind::Date(_) => ColumnType::Date,
            Bind::Uuid(_) => ColumnType::Uuid,
            Bind::Long256(_) => ColumnType::Long256,
            Bind::Geohash { .. } => ColumnType::Geohash,
            Bind::Varchar(_) => ColumnType::Varchar,
            Bind::TimestampNanos(_) => ColumnType::TimestampNanos,
            Bind::Decimal64 { .. } => ColumnType::Decimal64,
            Bind::Decimal128 { .. } => ColumnType::Decimal128,
            Bind::Decimal256 { .. } => ColumnType::Decimal256,
            Bind::Char(_) => ColumnType::Char,
        }
    }

    pub(super) fn write(&self, out: &mut Vec<u8>) {
        out.push(self.column_type().code());
        match self {
            Bind::Boolean(value) => write_value(out, None, value.map(|value| [u8::from(value)])),
            Bind::Byte(value) => write_value(out, None, value.map(i8::to_le_bytes)),
            Bind::Short(value) => write_value(out, None, value.map(i16::to_le_bytes)),
            Bind::Int(value) => write_value(out, None, value.map(i32::to_le_bytes)),
            Bind::Float(value) => write_value(out, None, value.map(f32::to_le_bytes)),
            Bind::Double(value) => write_value(out, None, value.map(f64::to_le_bytes)),
            Bind::Char(value) => write_value(out, None, value.map(u16::to_le_bytes)),
            Bind::Long(value) | Bind::Timestamp(value) | Bind::Date(value) | Bind::TimestampNanos(value) => {
                write_value(out, None, value.map(i64::to_le_bytes));
            }
            Bind::Uuid(value) => write_value(out, None, value.map(reversed)),
            Bind::Long256(value) => write_value(out, None, *value),
            Bind::Symbol(value) | Bind::Varchar(value) => {
                let bytes = value.as_ref().map(|text| {
                    // A request ends at 2 MiB, so a longer text is refused as a whole.
                    let length = u32::try_from(text.len()).unwrap_or(u32::MAX);
                    [&[0; 4], length.to_le_bytes().as_slice(), text.as_bytes()].concat()
                });
                write_value(out, None, bytes);
            }
            Bind::Geohash { precision, value } => {
                let bytes = value.map(|value| value.to_le_bytes());
                let kept = bytes.as_ref().map(|bytes| bytes.get(..usize::from(precision.div_ceil(8))).unwrap_or(bytes));
                write_value(out, Some(*precision), kept);
            }
            Bind::Decimal64 { scale, value } => write_value(out, Some(*scale), value.map(i64::to_le_bytes)),
            Bind::Decimal128 { scale, value } => write_value(out, Some(*scale), value.map(i128::to_le_bytes)),
            Bind::Decimal256 { scale, value } => write_value(out, Some(*scale), *value),
        }
    }
}

fn reversed(mut bytes: [u8; 16]) -> [u8; 16] {
    bytes.reverse();
    bytes
}

fn value<T, const N: usize>(reader: &mut Reader<'_>, null: bool, value: impl Fn([u8; N]) -> T) -> Result<Option<T>, WireError> {
    if null { Ok(None) } else { reader.array().map(|bytes| Some(value(bytes))) }
}

fn scale(reader: &mut Reader<'_>) -> Result<u8, WireError> {
    let at = reader.clone();
    let got = reader.u8()?;
    if got <= MAX_SCALE { Ok(got) } else { Err(at.fault(WireFault::Scale { max: MAX_SCALE, got })) }
}

fn text(reader: &mut Reader<'_>, null: bool) -> Result<Option<String>, WireError> {
    if null {
        return Ok(None);
    }
    let at = reader.clone();
    let start = reader.u32()?;
    let length = reader.u32()?;
    if start != 0 {
        return Err(at.fault(WireFault::TextOffset { from: 0, to: 0, got: u64::from(start) }));
    }
    Ok(Some(reader.text(u64::from(length))?.to_owned()))
}

/// Null flag, the extra byte (precisions up to 60 are one-byte varints), and the value.
fn write_value(out: &mut Vec<u8>, extra: Option<u8>, value: Option<impl AsRef<[u8]>>) {
    out.push(u8::from(value.is_none()));
    if value.is_none() {
        out.push(1);
    }
    out.extend(extra);
    if let Some(value) = value {
        out.extend_from_slice(value.as_ref());
    }
}
