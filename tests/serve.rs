//! The native server from outside: its wire, its order, its imports, its refusals. One binary, since each links the engine.
#![cfg(not(target_arch = "wasm32"))]
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[allow(dead_code, reason = "each test file uses a part of it")]
#[path = "support/data.rs"]
mod data;

#[path = "serve/arrow_files.rs"]
mod arrow_files;
#[path = "serve/binary.rs"]
mod binary;
#[path = "serve/client.rs"]
mod client;
#[path = "serve/compression.rs"]
mod compression;
#[path = "serve/counts.rs"]
mod counts;
#[path = "serve/csv.rs"]
mod csv;
#[path = "serve/dbn.rs"]
mod dbn_values;
#[path = "serve/files.rs"]
mod files;
#[path = "serve/flow.rs"]
mod flow;
#[path = "serve/http.rs"]
mod http;
#[path = "serve/imports.rs"]
mod imports;
#[path = "serve/order.rs"]
mod order;
#[path = "serve/sample.rs"]
mod sample;
#[path = "serve/schemas.rs"]
mod schemas;
#[path = "serve/sql.rs"]
mod sql;
#[path = "serve/uploads.rs"]
mod uploads;
