//! Columns → roles → events: which columns of a table mean what, and what each row does to a book.
//!
//! [`Binding`] decides once per table, [`Feed`] reads its batches, a [`Chunk`] is a batch that can be asked for its events. Events
//! are free of Arrow. Nothing here knows how they are shown or keeps a book.
#![deny(clippy::float_arithmetic)]

mod binding;
mod chunk;
mod error;
mod event;
mod feed;
mod levels;
mod numbers;
#[cfg(test)]
mod tests;
mod words;

pub use binding::{Anchor, Binding, ColumnDecl, Holds, NoBinding, TradeRows, Value};
pub use chunk::Chunk;
pub use error::{MarketError, NumberFault};
pub use event::{BookKind, Change, DepthLevel, DepthRow, Event, Flags, LevelChange, OrderAction, OrderChange, RowMark, Trade};
pub use feed::Feed;
