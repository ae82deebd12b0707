//! The book digest: XXH3-64, seed 0, over the following bytes.
//!
//! ```text
//! kind u8 (1, 2, 3) · bids best first · 0xFF · asks best first
//! level  = price · size · count u32 (0xFFFFFFFF: the feed has none) · L3: its orders by priority
//! order  = id u64 · size
//! number = mantissa i128 without trailing zeros · exponent i8; zero is (0, 0)
//! ```
//! Integers are little-endian. Since a number is written without its scale, the same book has the same digest whatever store,
//! column type or batch it came from.

use xxhash_rust::xxh3::Xxh3;

use super::BookLevel;
use crate::market::BookKind;
use crate::units::{Decimal, Scale};

pub(super) struct Digest {
    hash: Xxh3,
    price_scale: Scale,
    size_scale: Scale,
}

impl Digest {
    pub(super) fn new(kind: BookKind, price_scale: Scale, size_scale: Scale) -> Digest {
        let mut hash = Xxh3::new();
        hash.update(&[kind.number()]);
        Digest { hash, price_scale, size_scale }
    }

    fn number(&mut self, mantissa: i128, scale: Scale) {
        let number = Decimal::new(mantissa, scale);
        let mut bytes = [0; 17];
        bytes[..16].copy_from_slice(&number.mantissa().to_le_bytes());
        bytes[16] = number.exponent().cast_unsigned();
        self.hash.update(&bytes);
    }

    pub(super) fn level(&mut self, level: &BookLevel) {
        self.number(i128::from(level.price.0), self.price_scale);
        self.number(level.size, self.size_scale);
        self.hash.update(&level.count.unwrap_or(u32::MAX).to_le_bytes());
    }

    pub(super) fn order(&mut self, id: u64, size: i64) {
        self.hash.update(&id.to_le_bytes());
        self.number(i128::from(size), self.size_scale);
    }

    /// Between bids and asks.
    pub(super) fn asks(&mut self) {
        self.hash.update(&[0xFF]);
    }

    pub(super) fn finish(self) -> u64 {
        self.hash.digest()
    }
}
