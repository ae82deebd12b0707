//! The wire: QuestDB's query result protocol (QWP egress, `/read/v1`), bytes to columns and back.
//!
//! Owns every byte of the protocol, every cap on what a peer may ask for, and the only encoder. Knows no Arrow, no socket, no clock
//! and no book: [`Decoder::message`] takes one whole WebSocket message and returns one [`ServerMessage`].
//!
//! ```text
//!  server → client   header (12 bytes) · kind u8 · rest        ServerMessage, Decoder, Encoder
//!  client → server   kind u8 · rest, no header                 ClientMessage
//! ```
//!
//! All integers are little-endian; a varint is unsigned LEB128 of at most ten bytes. A message that fails a check leaves the symbol
//! dictionary out of step, so a [`Decoder`] that returned an error refuses everything after it: close the connection and open another.
#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod batch;
mod bind;
mod bits;
mod column;
mod decoder;
mod dictionary;
pub mod encode;
mod error;
mod gorilla;
pub mod limits;
mod message;
mod reader;
mod request;
mod schema;
mod values;
mod varint;
mod zstd;

pub use batch::{Batch, DictionaryCut, DrainedBatch};
pub use bind::Bind;
pub use bits::{BitsRef, Validity};
pub use decoder::Decoder;
pub use dictionary::{Dictionary, Symbols};
pub use encode::{ColumnRef, EncodeError, Encoder, ListsRef, TextRef, ValuesRef, compress_batch};
pub use error::{Part, WireError, WireFault, ZstdFault};
pub use limits::{DecoderLimits, Limit};
pub use message::{Compression, ServerInfo, ServerMessage, capability, flag, kind, status};
pub use request::{ClientError, ClientMessage, QueryRequest};
pub use schema::{ColumnSchema, ColumnType};
pub use values::{Column, Geohash, Lists, SymbolKeys, Text, Values};

#[cfg(test)]
mod tests;
