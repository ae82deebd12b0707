//! Every cap on what a peer may make us allocate or loop over. Each is compared before the allocation that it bounds.

use std::fmt;

const MIB: u64 = 1 << 20;

/// Bytes of a server message. Stops one WebSocket message from filling memory; the server's own limit is 2 MiB by default.
pub const MESSAGE_BYTES: u64 = 64 * MIB;
/// Bytes of a decompressed batch. Stops a forged zstd content size (up to 2^64) and a small frame that inflates without end.
pub const BODY_BYTES: u64 = 64 * MIB;
/// Rows of a batch. Stops columns that take no bytes per row (all null, zero bits) from expanding.
pub const ROWS: u64 = 1_048_576;
/// Columns of a result. Stops a schema of empty names from filling memory.
pub const COLUMNS: u64 = 2_048;
/// Rows × columns of a batch. Stops many columns without values from expanding together.
pub const CELLS: u64 = 33_554_432;
/// Bytes of a batch once nulls are filled in. Stops sparse columns: tiny on the wire, huge when dense.
pub const DENSE_BYTES: u64 = 256 * MIB;
/// Bytes of a table or column name. The format says 381, but an alias may be longer.
pub const NAME_BYTES: u64 = 4_096;
/// Entries of the connection's symbol dictionary. Stops a server that never resets it.
pub const DICTIONARY_ENTRIES: u64 = 2_097_152;
/// Text bytes of the connection's symbol dictionary. Same reason.
pub const DICTIONARY_BYTES: u64 = 64 * MIB;
/// Dimensions of an array.
pub const ARRAY_DIMENSIONS: u64 = 32;
/// Lists and elements of the arrays of a column in a batch. Stops shapes such as `[2147483647, 0]`: no bytes, two billion offsets.
pub const ARRAY_NODES: u64 = 16_777_216;
/// Queries begun and not ended on a connection. The server runs one and refuses the rest at once, so more is a bug of ours.
pub const QUERIES: u64 = 16;
/// Bytes of a client message: the server's receive buffer.
pub const REQUEST_BYTES: u64 = 2 * MIB;
/// Bind parameters of a query.
pub const BINDS: u64 = 2_048;
/// The window that a zstd frame may ask for.
pub const ZSTD_WINDOW_BYTES: u64 = 64 * MIB;
/// A zstd block, by its format.
pub const ZSTD_BLOCK_BYTES: u64 = 128 * 1_024;

/// Rows that our encoder puts into a batch at most: the server's constant, and the largest number that a client may ask for.
pub const ENCODE_ROWS: usize = 16_384;
/// Bytes that our encoder never exceeds in a message: the server's send buffer.
pub const ENCODE_BYTES: usize = 2 << 20;
/// Entries after which the server empties the dictionary before the next query.
pub const DICTIONARY_SOFT_ENTRIES: usize = 100_000;
/// Text bytes after which the server empties the dictionary before the next query.
pub const DICTIONARY_SOFT_BYTES: usize = 8 << 20;

/// Which cap a message ran into.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Limit {
    /// [`MESSAGE_BYTES`]
    MessageBytes,
    /// [`BODY_BYTES`]
    BodyBytes,
    /// [`ROWS`], or fewer where the query asked for fewer
    Rows,
    /// [`COLUMNS`]
    Columns,
    /// [`CELLS`]
    Cells,
    /// [`DENSE_BYTES`]
    DenseBytes,
    /// [`NAME_BYTES`]
    NameBytes,
    /// [`DICTIONARY_ENTRIES`]
    DictionaryEntries,
    /// [`DICTIONARY_BYTES`]
    DictionaryBytes,
    /// [`ARRAY_NODES`]
    ArrayNodes,
    /// [`QUERIES`]
    Queries,
    /// [`REQUEST_BYTES`]
    RequestBytes,
    /// [`BINDS`]
    Binds,
    /// [`ZSTD_WINDOW_BYTES`]
    ZstdWindow,
    /// `i64::MAX`: a credit or a timeout
    Positive,
}

impl fmt::Display for Limit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Limit::MessageBytes => "bytes of a message",
            Limit::BodyBytes => "bytes of a decompressed batch",
            Limit::Rows => "rows of a batch",
            Limit::Columns => "columns of a result",
            Limit::Cells => "cells of a batch",
            Limit::DenseBytes => "bytes of a batch with its nulls filled in",
            Limit::NameBytes => "bytes of a name",
            Limit::DictionaryEntries => "entries of the symbol dictionary",
            Limit::DictionaryBytes => "text bytes of the symbol dictionary",
            Limit::ArrayNodes => "elements of a column of arrays",
            Limit::Queries => "queries of a connection at a time",
            Limit::RequestBytes => "bytes of a request",
            Limit::Binds => "bind parameters of a query",
            Limit::ZstdWindow => "bytes of the zstd window",
            Limit::Positive => "positive 64-bit number",
        })
    }
}

/// The caps that depend on who decodes: a tab has less memory than a terminal.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DecoderLimits {
    /// See [`MESSAGE_BYTES`].
    pub message_bytes: u64,
    /// See [`BODY_BYTES`].
    pub body_bytes: u64,
    /// See [`ROWS`].
    pub rows: u64,
    /// See [`DENSE_BYTES`].
    pub dense_bytes: u64,
    /// See [`DICTIONARY_ENTRIES`].
    pub dictionary_entries: u64,
    /// See [`DICTIONARY_BYTES`].
    pub dictionary_bytes: u64,
}

impl Default for DecoderLimits {
    fn default() -> Self {
        DecoderLimits {
            message_bytes: MESSAGE_BYTES,
            body_bytes: BODY_BYTES,
            rows: ROWS,
            dense_bytes: DENSE_BYTES,
            dictionary_entries: DICTIONARY_ENTRIES,
            dictionary_bytes: DICTIONARY_BYTES,
        }
    }
}
