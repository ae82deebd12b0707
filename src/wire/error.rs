//! What can be wrong with a message, and where.

use std::fmt;

use super::limits::Limit;

/// A message that cannot be decoded. The connection's dictionary is out of step after it: close the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WireError {
    /// What is wrong: expected and got.
    pub fault: WireFault,
    /// Sequence of the batch, where the message is one.
    pub batch: Option<u64>,
    /// Byte offset in [`WireError::part`].
    pub offset: u32,
    /// Index of the column in the result.
    pub column: Option<u16>,
    /// What the offset counts in.
    pub part: Part,
}

/// What a byte offset counts in.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Part {
    /// The message as received, from its first byte.
    #[default]
    Message,
    /// The body of a batch after decompression.
    Body,
}

/// What is wrong with a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WireFault {
    /// The message ends inside a field.
    Truncated {
        /// Bytes that the field takes.
        needed: u64,
        /// Bytes that are left.
        left: u64,
    },
    /// A varint of more than ten bytes or more than 64 bits.
    Varint,
    /// A count or length over its cap.
    OverLimit {
        /// Which cap.
        limit: Limit,
        /// Its value.
        max: u64,
        /// What the message asks for.
        got: u64,
    },
    /// The first four bytes are not `QWP1`.
    Magic {
        /// What they are.
        got: [u8; 4],
    },
    /// A protocol version other than 1.
    Version {
        /// The version.
        got: u8,
    },
    /// Header flags that are not defined: the layout behind them is not known.
    Flags {
        /// The flags.
        got: u8,
    },
    /// The header's payload length is not that of the message.
    PayloadLength {
        /// Bytes behind the header.
        expected: u64,
        /// What the header says.
        got: u64,
    },
    /// A batch holds one table, every other message none.
    TableCount {
        /// 1 or 0.
        expected: u16,
        /// What the header says.
        got: u16,
    },
    /// A message kind that a server does not send.
    Kind {
        /// The kind.
        got: u8,
    },
    /// The first message of a connection must be SERVER_INFO.
    ServerInfoMissing {
        /// The kind that came.
        got: u8,
    },
    /// SERVER_INFO came twice.
    ServerInfoRepeated,
    /// A message for a query that is not running.
    UnknownRequest {
        /// Its request id.
        got: i64,
    },
    /// A query was begun with the id of one that is running.
    RequestInUse {
        /// The request id.
        got: i64,
    },
    /// Batches of a query are numbered from 0 without a hole.
    Sequence {
        /// Next in order.
        expected: u64,
        /// What came.
        got: u64,
    },
    /// CACHE_RESET inside a result.
    ResetInsideResult,
    /// A dictionary delta that starts past the end of the dictionary.
    DeltaStart {
        /// Entries held.
        length: u64,
        /// Where the delta starts.
        got: u64,
    },
    /// Text that is not UTF-8.
    Utf8,
    /// Rows without a column.
    RowsWithoutColumns {
        /// The row count.
        rows: u64,
    },
    /// A column type that is not defined.
    TypeCode {
        /// The code.
        got: u8,
    },
    /// A null flag other than 0 or 1.
    NullFlag {
        /// The flag.
        got: u8,
    },
    /// A symbol id that is not in the dictionary.
    SymbolId {
        /// Entries of the dictionary.
        length: u64,
        /// The id.
        got: u64,
    },
    /// A geohash precision outside 1 to 60 bits.
    Precision {
        /// The precision.
        got: u64,
    },
    /// A decimal scale over that of its type.
    Scale {
        /// The largest of the type.
        max: u8,
        /// The scale.
        got: u8,
    },
    /// An array of no or of more than 32 dimensions.
    Dimensions {
        /// The count.
        got: u8,
    },
    /// Arrays of one column in one batch with different numbers of dimensions.
    DimensionsDiffer {
        /// That of the rows before.
        expected: u8,
        /// That of this row.
        got: u8,
    },
    /// A negative array length.
    ArrayLength {
        /// The length.
        got: i32,
    },
    /// A timestamp encoding other than 0 (raw) or 1 (Gorilla).
    Encoding {
        /// The encoding.
        got: u8,
    },
    /// The offsets of a text column must start at 0, not decrease, and end inside the message.
    TextOffset {
        /// The smallest value allowed here.
        from: u64,
        /// The largest value allowed here.
        to: u64,
        /// The offset.
        got: u64,
    },
    /// An offset inside a UTF-8 character.
    CharBoundary {
        /// The offset.
        got: u64,
    },
    /// Bytes behind the end of a message.
    Trailing {
        /// How many.
        left: u64,
    },
    /// RESULT_END names another last batch than the one received.
    FinalSequence {
        /// Sequence of the last batch received.
        expected: u64,
        /// What the message says.
        got: u64,
    },
    /// RESULT_END names another number of rows than was received.
    TotalRows {
        /// Rows received.
        expected: u64,
        /// What the message says.
        got: u64,
    },
    /// The compressed body.
    Zstd(ZstdFault),
    /// A message after one that failed.
    AfterFailure,
}

/// What is wrong with a compressed body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ZstdFault {
    /// Not a zstd frame.
    Magic,
    /// A reserved bit of the frame header is set.
    Reserved,
    /// The frame needs a dictionary of its own.
    Dictionary,
    /// The frame carries a checksum, which is not part of the protocol.
    Checksum,
    /// The frame does not say how long its content is.
    NoContentSize,
    /// A block of a reserved kind or larger than a block may be.
    Block,
    /// Bytes behind the frame: a second frame, or garbage.
    SecondFrame,
    /// The blocks do not decode.
    Corrupt,
    /// The content is shorter or longer than the frame says.
    ContentSize,
}

// Results carry the error by value through every column; keep it within a cache line.
const _: () = assert!(size_of::<WireError>() <= 64, "box a field of WireFault instead of growing WireError");

impl WireError {
    pub(crate) fn new(fault: WireFault, part: Part, offset: usize) -> WireError {
        WireError { fault, batch: None, offset: u32::try_from(offset).unwrap_or(u32::MAX), column: None, part }
    }

    pub(crate) fn in_batch(mut self, sequence: u64) -> WireError {
        self.batch = Some(sequence);
        self
    }

    pub(crate) fn in_column(mut self, index: usize) -> WireError {
        self.column = u16::try_from(index).ok();
        self
    }
}

impl fmt::Display for WireError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.batch {
            Some(sequence) => write!(f, "batch {sequence}, ")?,
            None => f.write_str("message, ")?,
        }
        if let Some(column) = self.column {
            write!(f, "column {column}, ")?;
        }
        write!(f, "byte {}", self.offset)?;
        if self.part == Part::Body {
            f.write_str(" of the decompressed body")?;
        }
        write!(f, ": {}", self.fault)
    }
}

impl std::error::Error for WireError {}

impl fmt::Display for WireFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            WireFault::Truncated { needed, left } => write!(f, "expected {needed} more bytes, got {left}"),
            WireFault::Varint => f.write_str("expected a varint of at most 64 bits, got a longer one"),
            WireFault::OverLimit { limit, max, got } => write!(f, "{limit}: expected at most {max}, got {got}"),
            WireFault::Magic { got } => write!(f, "expected \"QWP1\", got {:?}", got.escape_ascii().to_string()),
            WireFault::Version { got } => write!(f, "expected protocol version 1, got {got}"),
            WireFault::Flags { got } => write!(f, "expected no header flags but 0x1c, got {got:#04x}"),
            WireFault::PayloadLength { expected, got } => write!(f, "expected payload length {expected}, got {got}"),
            WireFault::TableCount { expected, got } => write!(f, "expected table count {expected}, got {got}"),
            WireFault::Kind { got } => write!(f, "expected a message that a server sends, got kind {got:#04x}"),
            WireFault::ServerInfoMissing { got } => write!(f, "expected SERVER_INFO first, got kind {got:#04x}"),
            WireFault::ServerInfoRepeated => f.write_str("expected SERVER_INFO once, got it again"),
            WireFault::UnknownRequest { got } => write!(f, "expected the id of a running query, got {got}"),
            WireFault::RequestInUse { got } => write!(f, "expected an unused request id, got {got}, which is running"),
            WireFault::Sequence { expected, got } => write!(f, "expected batch sequence {expected}, got {got}"),
            WireFault::ResetInsideResult => f.write_str("expected no dictionary reset inside a result, got one"),
            WireFault::DeltaStart { length, got } => write!(f, "expected a dictionary delta from {length}, got one from {got}"),
            WireFault::Utf8 => f.write_str("expected UTF-8, got other bytes"),
            WireFault::RowsWithoutColumns { rows } => write!(f, "expected columns for {rows} rows, got none"),
            WireFault::TypeCode { got } => write!(f, "expected a column type from 0x01 to 0x18 but 0x08, got {got:#04x}"),
            WireFault::NullFlag { got } => write!(f, "expected null flag 0 or 1, got {got}"),
            WireFault::SymbolId { length, got } => write!(f, "expected a symbol id below {length}, got {got}"),
            WireFault::Precision { got } => write!(f, "expected a geohash of 1 to 60 bits, got {got}"),
            WireFault::Scale { max, got } => write!(f, "expected a decimal scale of at most {max}, got {got}"),
            WireFault::Dimensions { got } => write!(f, "expected 1 to 32 array dimensions, got {got}"),
            WireFault::DimensionsDiffer { expected, got } => {
                write!(f, "expected {expected} array dimensions as in the rows before, got {got}")
            }
            WireFault::ArrayLength { got } => write!(f, "expected an array length of at least 0, got {got}"),
            WireFault::Encoding { got } => write!(f, "expected timestamp encoding 0 or 1, got {got}"),
            WireFault::TextOffset { from, to, got } => write!(f, "expected a text offset from {from} to {to}, got {got}"),
            WireFault::CharBoundary { got } => write!(f, "expected a text offset between characters, got {got} inside one"),
            WireFault::Trailing { left } => write!(f, "expected the end of the message, got {left} more bytes"),
            WireFault::FinalSequence { expected, got } => write!(f, "expected the last batch to be {expected}, got {got}"),
            WireFault::TotalRows { expected, got } => write!(f, "expected {expected} rows in all, got {got}"),
            WireFault::Zstd(fault) => fault.fmt(f),
            WireFault::AfterFailure => f.write_str("expected nothing after a message that failed; open a new connection"),
        }
    }
}

impl fmt::Display for ZstdFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            ZstdFault::Magic => "expected a zstd frame, got other bytes",
            ZstdFault::Reserved => "expected no reserved bit in the zstd frame header, got one",
            ZstdFault::Dictionary => "expected a zstd frame without a dictionary, got one with",
            ZstdFault::Checksum => "expected a zstd frame without a checksum, got one with",
            ZstdFault::NoContentSize => "expected a zstd frame with its content size, got one without",
            ZstdFault::Block => "expected a zstd block of a known kind and at most 128 KiB, got another",
            ZstdFault::SecondFrame => "expected one zstd frame, got bytes behind it",
            ZstdFault::Corrupt => "expected zstd blocks that decode, got corrupt ones",
            ZstdFault::ContentSize => "expected as much zstd content as the frame says, got more or less",
        })
    }
}
