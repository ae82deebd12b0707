//! Why an event cannot be applied. What the data gets wrong is no error: it is counted in [`super::Findings`].

use std::fmt;

use crate::market::BookKind;

/// An event that a book cannot take.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BookError {
    /// Misuse: an order feed's event for a depth book, or the other way round.
    WrongKind {
        /// The book's kind.
        book: BookKind,
        /// What the event carries.
        event: &'static str,
    },
    /// A number that does not fit 64 bits at the book's scale.
    TooLarge {
        /// The number at its own scale.
        value: i64,
        /// What it would be multiplied with.
        factor: i64,
    },
    /// More digits after the point than 18.
    Scale {
        /// Digits.
        scale: u8,
    },
}

impl fmt::Display for BookError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BookError::WrongKind { book, event } => write!(f, "an event with {event} cannot change an {} book", book.name()),
            BookError::TooLarge { value, factor } => {
                write!(f, "{value} times {factor} does not fit 64 bits: the prices or sizes of this range need more digits than one book can hold")
            }
            BookError::Scale { scale } => write!(f, "{scale} digits after the point are more than the 18 that 64 bits hold"),
        }
    }
}

impl std::error::Error for BookError {}
