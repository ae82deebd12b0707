//! Column types and the schema of a result.

/// A column type of the protocol. `Varchar` also carries QuestDB's STRING.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum ColumnType {
    /// A bit.
    Boolean = 0x01,
    /// i8.
    Byte = 0x02,
    /// i16.
    Short = 0x03,
    /// i32.
    Int = 0x04,
    /// i64.
    Long = 0x05,
    /// f32.
    Float = 0x06,
    /// f64.
    Double = 0x07,
    /// An entry of the connection's dictionary.
    Symbol = 0x09,
    /// Microseconds since 1970 UTC.
    Timestamp = 0x0a,
    /// Milliseconds since 1970 UTC.
    Date = 0x0b,
    /// 16 bytes.
    Uuid = 0x0c,
    /// 32 bytes, least significant first.
    Long256 = 0x0d,
    /// 1 to 60 bits.
    Geohash = 0x0e,
    /// UTF-8.
    Varchar = 0x0f,
    /// Nanoseconds since 1970 UTC.
    TimestampNanos = 0x10,
    /// Rectangular arrays of f64.
    DoubleArray = 0x11,
    /// Rectangular arrays of i64.
    LongArray = 0x12,
    /// A 64-bit integer with a scale of at most 18.
    Decimal64 = 0x13,
    /// A 128-bit integer with a scale of at most 38.
    Decimal128 = 0x14,
    /// A 256-bit integer with a scale of at most 76.
    Decimal256 = 0x15,
    /// One UTF-16 unit.
    Char = 0x16,
    /// Any bytes.
    Binary = 0x17,
    /// An IPv4 address as a number.
    Ipv4 = 0x18,
}

impl ColumnType {
    /// Every type, in the order of the codes.
    pub const ALL: [ColumnType; 23] = [
        ColumnType::Boolean,
        ColumnType::Byte,
        ColumnType::Short,
        ColumnType::Int,
        ColumnType::Long,
        ColumnType::Float,
        ColumnType::Double,
        ColumnType::Symbol,
        ColumnType::Timestamp,
        ColumnType::Date,
        ColumnType::Uuid,
        ColumnType::Long256,
        ColumnType::Geohash,
        ColumnType::Varchar,
        ColumnType::TimestampNanos,
        ColumnType::DoubleArray,
        ColumnType::LongArray,
        ColumnType::Decimal64,
        ColumnType::Decimal128,
        ColumnType::Decimal256,
        ColumnType::Char,
        ColumnType::Binary,
        ColumnType::Ipv4,
    ];

    /// The code on the wire.
    #[must_use]
    pub fn code(self) -> u8 {
        self as u8
    }

    /// The type of a code; `None` for 0x08 (reserved) and unknown ones.
    #[must_use]
    pub fn from_code(code: u8) -> Option<ColumnType> {
        ColumnType::ALL.into_iter().find(|column_type| column_type.code() == code)
    }

    /// The name in lower case, as it stands in Arrow field metadata.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            ColumnType::Boolean => "boolean",
            ColumnType::Byte => "byte",
            ColumnType::Short => "short",
            ColumnType::Int => "int",
            ColumnType::Long => "long",
            ColumnType::Float => "float",
            ColumnType::Double => "double",
            ColumnType::Symbol => "symbol",
            ColumnType::Timestamp => "timestamp",
            ColumnType::Date => "date",
            ColumnType::Uuid => "uuid",
            ColumnType::Long256 => "long256",
            ColumnType::Geohash => "geohash",
            ColumnType::Varchar => "varchar",
            ColumnType::TimestampNanos => "timestamp_nanos",
            ColumnType::DoubleArray => "double_array",
            ColumnType::LongArray => "long_array",
            ColumnType::Decimal64 => "decimal64",
            ColumnType::Decimal128 => "decimal128",
            ColumnType::Decimal256 => "decimal256",
            ColumnType::Char => "char",
            ColumnType::Binary => "binary",
            ColumnType::Ipv4 => "ipv4",
        }
    }
}

/// A column of a result. Names may repeat: address columns by index.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct ColumnSchema {
    /// Name, possibly empty.
    pub name: String,
    /// Type.
    pub column_type: ColumnType,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_code_but_the_reserved_one_names_a_type() {
        for code in 0..=u8::MAX {
            let expected = (1..=0x18).contains(&code) && code != 0x08;
            assert_eq!(ColumnType::from_code(code).map(ColumnType::code), expected.then_some(code));
        }
    }
}
