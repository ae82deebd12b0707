//! A checked reader of bytes: every read says what it needed, what was left, and where.

use super::error::{Part, WireError, WireFault};
use super::limits::Limit;

/// A cursor over borrowed bytes.
#[derive(Debug, Clone)]
pub(super) struct Reader<'a> {
    rest: &'a [u8],
    position: usize,
    part: Part,
}

impl<'a> Reader<'a> {
    pub(super) fn new(bytes: &'a [u8], part: Part) -> Reader<'a> {
        Reader { rest: bytes, position: 0, part }
    }

    /// Bytes not yet read.
    pub(super) fn left(&self) -> u64 {
        self.rest.len() as u64
    }

    /// Everything not yet read, without reading it.
    pub(super) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    /// An error at the next byte.
    pub(super) fn fault(&self, fault: WireFault) -> WireError {
        WireError::new(fault, self.part, self.position)
    }

    /// The next `count` bytes. The count comes from the wire, so it is 64 bits wide on every target.
    pub(super) fn take(&mut self, count: u64) -> Result<&'a [u8], WireError> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let Some((taken, rest)) = split else {
            return Err(self.fault(WireFault::Truncated { needed: count, left: self.left() }));
        };
        self.rest = rest;
        // Cannot wrap: the position never passes the length of the slice.
        self.position = self.position.wrapping_add(taken.len());
        Ok(taken)
    }

    /// `count` items of `width` bytes.
    pub(super) fn take_items(&mut self, count: u64, width: u64) -> Result<&'a [u8], WireError> {
        self.take(count.saturating_mul(width))
    }

    pub(super) fn array<const N: usize>(&mut self) -> Result<[u8; N], WireError> {
        let Some((taken, rest)) = self.rest.split_first_chunk::<N>() else {
            return Err(self.fault(WireFault::Truncated { needed: N as u64, left: self.left() }));
        };
        self.rest = rest;
        self.position = self.position.wrapping_add(N);
        Ok(*taken)
    }

    pub(super) fn u8(&mut self) -> Result<u8, WireError> {
        self.array().map(u8::from_le_bytes)
    }

    pub(super) fn u16(&mut self) -> Result<u16, WireError> {
        self.array().map(u16::from_le_bytes)
    }

    pub(super) fn u32(&mut self) -> Result<u32, WireError> {
        self.array().map(u32::from_le_bytes)
    }

    pub(super) fn u64(&mut self) -> Result<u64, WireError> {
        self.array().map(u64::from_le_bytes)
    }

    pub(super) fn i32(&mut self) -> Result<i32, WireError> {
        self.array().map(i32::from_le_bytes)
    }

    pub(super) fn i64(&mut self) -> Result<i64, WireError> {
        self.array().map(i64::from_le_bytes)
    }

    /// A varint that must not exceed `max`.
    pub(super) fn capped(&mut self, limit: Limit, max: u64) -> Result<u64, WireError> {
        let at = self.clone();
        let got = self.varint()?;
        if got > max { Err(at.fault(WireFault::OverLimit { limit, max, got })) } else { Ok(got) }
    }

    /// `count` bytes of UTF-8.
    pub(super) fn text(&mut self, count: u64) -> Result<&'a str, WireError> {
        let at = self.clone();
        std::str::from_utf8(self.take(count)?).map_err(|_| at.fault(WireFault::Utf8))
    }

    /// UTF-8 behind its length as u16.
    pub(super) fn short_text(&mut self) -> Result<&'a str, WireError> {
        let count = self.u16()?;
        self.text(u64::from(count))
    }

    /// The end of the message.
    pub(super) fn finish(&self) -> Result<(), WireError> {
        if self.rest.is_empty() { Ok(()) } else { Err(self.fault(WireFault::Trailing { left: self.left() })) }
    }
}
