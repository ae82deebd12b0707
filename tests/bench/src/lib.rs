//! The workloads of the decode bench, and one pass over them by this project's own decoder: what the native bench times beside
//! another client's, and what a browser times as a module.
//!
//! A workload is the messages of one result, as a server sends them: batches of at most 16,384 rows, encoded by the project's own
//! encoder from rows that move as a market does. Nothing is read from a disk or a socket.

#[cfg(not(target_arch = "wasm32"))]
pub mod compress;
pub mod frames;
pub mod pass;
pub mod rows;
#[cfg(target_arch = "wasm32")]
mod web;

pub use frames::{Frames, Workload};
pub use pass::{Stage, Totals, pass};
