//! Playback: the clock, and the player that applies the rows of history to a book up to a moment, one whole event group at a
//! time, forwards and back. It knows no sockets and no screen.
//!
//! A seek is *nearest known state at or before the moment, then roll forward*: the state may be the current book, a checkpoint, or
//! the empty book before an anchor. A single step back undoes the last group where the book's journal still has it.

mod checkpoints;
pub mod clock;
mod player;

pub use checkpoints::{CHECKPOINT_BUDGET_BYTES, Checkpoint, Checkpoints};
pub use player::{Advance, ApplyError, Outcome, Player, Target};
