//! Columns of the wire to Arrow record batches and back.
//!
//! Knows no books and no time. Inwards ([`Assembler`]) a batch's vectors become Arrow buffers without a copy, and the connection's symbol
//! dictionary one shared values array. Outwards ([`ResultSchema`], [`Frames`]) the encoder borrows Arrow's buffers where the wire has
//! the same form, and converts where it has another that holds every value exactly; all else is refused by name.

mod assemble;
mod bytes;
mod convert;
mod error;
mod frames;
mod result_schema;

pub use assemble::Assembler;
pub use bytes::ArrowByteCounter;
pub use error::ColumnarError;
pub use frames::Frames;
pub use result_schema::ResultSchema;

/// Keys of Arrow field metadata.
pub mod metadata {
    /// The wire's column type, in lower case: `symbol`, `timestamp_nanos`, ….
    pub const COLUMN_TYPE: &str = "questdb.column_type";
    /// `true` on symbol columns.
    pub const SYMBOL: &str = "questdb.symbol";
    /// Bits of a geohash column.
    pub const GEOHASH_BITS: &str = "questdb.geohash_bits";
    /// Dimensions of an array column.
    pub const ARRAY_DIMENSIONS: &str = "questdb.array_dim";
    /// `true` while no row has told how many dimensions there are.
    pub const ARRAY_DIMENSIONS_TENTATIVE: &str = "questdb.array_dim_tentative";
    /// Arrow's own key for extension types.
    pub const EXTENSION: &str = "ARROW:extension:name";
    /// Value of [`EXTENSION`] on UUID columns.
    pub const EXTENSION_UUID: &str = "arrow.uuid";
}

#[cfg(test)]
mod tests;
