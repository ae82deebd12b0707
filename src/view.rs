//! What is shown, decided in plain Rust: domain values in, rows, geometry and text out.
//!
//! Owns every word and figure that a user reads: number and time formats, the ladder's rows, the counters and their explanations,
//! the key table, the wording of states and errors. It knows neither the DOM nor Leptos, so all of it is tested natively.

pub mod address;
pub mod book;
pub mod clock;
pub mod counters;
pub mod details;
pub mod keys;
pub mod ladder;
pub mod numbers;
pub mod pace;
pub mod places;
pub mod tape;
pub mod timeline;
pub mod track;
pub mod welcome;
pub mod wording;
