//! Tickscope: a tick explorer that runs in a browser tab.
//!
//! Bytes of a columnar tick store come in, order books come out. `src/ARCHITECTURE.md` is the map; each module says what it owns
//! and what it must not know, and `tests/layering.rs` holds them to it. Everything here but `server`, `web` and `ui` does no I/O
//! and reads no clock.

pub mod book;
pub mod columnar;
pub mod engine;
pub mod history;
pub mod link;
pub mod market;
pub mod replay;
pub mod session;
pub mod stats;
pub mod store;
pub mod units;
pub mod view;
pub mod wire;

#[cfg(all(not(target_arch = "wasm32"), feature = "server"))]
pub mod server;
#[cfg(target_arch = "wasm32")]
pub mod ui;
#[cfg(target_arch = "wasm32")]
pub mod web;
