//! Gorilla: timestamps as the change of their distances, a variable number of bits each.
//!
//! ```text
//!  t0 i64 · t1 i64 · one code for each further value, in bytes that are filled from bit 0 up:
//!    0                dod 0             1110 + 12 bits   −2048..2047
//!    10 + 7 bits      −64..63           1111 + 32 bits   the rest of i32
//!    110 + 9 bits     −256..255         payload: two's complement, least significant bit first
//! ```
//! `delta = t1 − t0`, then per code `delta += dod; t += delta`, all wrapping. A dod outside i32 cannot be written.

use super::error::{WireError, WireFault};
use super::reader::Reader;

impl Reader<'_> {
    /// `count` values. The caller has charged `count` to the batch's budget.
    pub(super) fn gorilla(&mut self, count: usize) -> Result<Vec<i64>, WireError> {
        // Two whole values, then at least a bit each.
        let most = self.left().saturating_sub(16).saturating_mul(8).saturating_add(2);
        if count as u64 > most {
            return Err(self.fault(WireFault::Truncated { needed: 16u64.saturating_add((count as u64).div_ceil(8)), left: self.left() }));
        }
        let mut values = Vec::with_capacity(count);
        if count == 0 {
            return Ok(values);
        }
        let first = self.i64()?;
        values.push(first);
        if count == 1 {
            return Ok(values);
        }
        let mut value = self.i64()?;
        values.push(value);
        let mut delta = value.wrapping_sub(first);
        let mut bits = BitReader::new(self.rest());
        for _ in 2..count {
            let Some(dod) = bits.code() else {
                return Err(self.fault(WireFault::Truncated { needed: self.left().saturating_add(1), left: self.left() }));
            };
            delta = delta.wrapping_add(dod);
            value = value.wrapping_add(delta);
            values.push(value);
        }
        self.take(bits.bytes_used())?;
        Ok(values)
    }
}

/// Bits from bit 0 of each byte up, through a 64-bit window.
struct BitReader<'a> {
    bytes: &'a [u8],
    /// Bytes moved into the window so far.
    loaded: usize,
    window: u64,
    /// Bits of the window that may be used. Those above are either zero or a copy of what comes next.
    usable: u32,
}

impl<'a> BitReader<'a> {
    fn new(bytes: &'a [u8]) -> BitReader<'a> {
        BitReader { bytes, loaded: 0, window: 0, usable: 0 }
    }

    fn refill(&mut self) {
        let rest = self.bytes.get(self.loaded..).unwrap_or_default();
        if let Some(word) = rest.first_chunk::<8>() {
            self.window |= u64::from_le_bytes(*word).wrapping_shl(self.usable);
            let bytes = 63u32.wrapping_sub(self.usable) / 8;
            self.loaded = self.loaded.wrapping_add(bytes as usize);
            self.usable = self.usable.wrapping_add(bytes.wrapping_mul(8));
            return;
        }
        for byte in rest {
            if self.usable > 56 {
                break;
            }
            self.window |= u64::from(*byte).wrapping_shl(self.usable);
            self.loaded = self.loaded.wrapping_add(1);
            self.usable = self.usable.wrapping_add(8);
        }
    }

    /// One code, or `None` when the bits end inside it.
    fn code(&mut self) -> Option<i64> {
        // The longest code has 36 bits.
        if self.usable < 36 {
            self.refill();
        }
        let (prefix, payload) = match self.window & 0xf {
            even if even & 1 == 0 => (1, 0),
            low if low & 0b11 == 0b01 => (2, 7),
            low if low & 0b111 == 0b011 => (3, 9),
            0b0111 => (4, 12),
            _ => (4, 32),
        };
        let total: u32 = u32::wrapping_add(prefix, payload);
        if self.usable < total {
            return None;
        }
        let mut dod = 0;
        if payload > 0 {
            // Move the payload to the top of the word, then back with its sign.
            let up = 64u32.wrapping_sub(total);
            let down = 64u32.wrapping_sub(payload);
            dod = (self.window.wrapping_shl(up) as i64).wrapping_shr(down);
        }
        self.window = self.window.wrapping_shr(total);
        self.usable = self.usable.wrapping_sub(total);
        Some(dod)
    }

    /// Whole bytes that the codes took.
    fn bytes_used(&self) -> u64 {
        (self.loaded as u64).saturating_sub(u64::from(self.usable / 8))
    }
}

/// Appends the values. `false` when they cannot be written or would not be smaller than `8 × count` bytes; `out` is then unchanged.
pub(super) fn write(out: &mut Vec<u8>, values: impl ExactSizeIterator<Item = i64>) -> bool {
    let start = out.len();
    let count = values.len();
    if count < 3 {
        return false;
    }
    let end = start.saturating_add(count.saturating_mul(8));
    let mut bits = BitWriter { window: 0, used: 0 };
    let mut before = 0i64;
    let mut delta = 0i64;
    for (index, value) in values.enumerate() {
        let step = value.wrapping_sub(before);
        before = value;
        if index < 2 {
            out.extend_from_slice(&value.to_le_bytes());
            delta = step;
            continue;
        }
        let dod = step.wrapping_sub(delta);
        delta = step;
        let (code, width) = match dod {
            0 => (0, 1),
            -64..=63 => ((dod as u64 & 0x7f).wrapping_shl(2) | 0b01, 9),
            -256..=255 => ((dod as u64 & 0x1ff).wrapping_shl(3) | 0b011, 12),
            -2048..=2047 => ((dod as u64 & 0xfff).wrapping_shl(4) | 0b0111, 16),
            _ if i32::try_from(dod).is_ok() => ((dod as u64 & 0xffff_ffff).wrapping_shl(4) | 0b1111, 36),
            _ => {
                out.truncate(start);
                return false;
            }
        };
        bits.push(out, code, width);
        if out.len() >= end {
            out.truncate(start);
            return false;
        }
    }
    bits.finish(out);
    if out.len() >= end {
        out.truncate(start);
        return false;
    }
    true
}

struct BitWriter {
    window: u64,
    used: u32,
}

impl BitWriter {
    fn push(&mut self, out: &mut Vec<u8>, code: u64, width: u32) {
        // At most 7 bits wait and a code has at most 36: the window cannot overflow.
        self.window |= code.wrapping_shl(self.used);
        self.used = self.used.wrapping_add(width);
        while self.used >= 8 {
            out.push(self.window as u8);
            self.window >>= 8;
            self.used = self.used.wrapping_sub(8);
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        if self.used > 0 {
            out.push(self.window as u8);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::error::Part;
    use super::*;

    fn round_trip(values: &[i64]) -> Option<Vec<u8>> {
        let mut bytes = vec![0xee];
        if !write(&mut bytes, values.iter().copied()) {
            assert_eq!(bytes, [0xee], "nothing is left behind");
            return None;
        }
        let encoded = bytes.split_off(1);
        let mut reader = Reader::new(&encoded, Part::Message);
        assert_eq!(reader.gorilla(values.len()).unwrap(), values);
        reader.finish().unwrap();
        for cut in 0..encoded.len() {
            assert!(Reader::new(&encoded[..cut], Part::Message).gorilla(values.len()).is_err(), "cut at {cut}");
        }
        Some(encoded)
    }

    #[test]
    fn the_worked_example_has_these_bytes() {
        let values = [0i64, 1_000_000, 2_000_000, 3_000_050, 3_999_950, 5_000_850, 5_001_750].map(|t| t + 1_700_000_000_000_000);
        let bytes = round_trip(&values).unwrap();
        assert_eq!(bytes[16..], [0x92, 0x4d, 0xed, 0xa1, 0xcf, 0x03, 0xf7, 0xc2, 0xff, 0x03]);
    }

    #[test]
    fn every_bucket_holds_its_ends() {
        let mut values = vec![0i64, 10];
        let mut delta = 10i64;
        for dod in [0, -64, 63, -65, 64, -256, 255, -257, 256, -2048, 2047, -2049, 2048, i64::from(i32::MIN), i64::from(i32::MAX), 0, 0, 0, 0, 0] {
            delta = delta.wrapping_add(dod);
            values.push(values.last().unwrap().wrapping_add(delta));
        }
        assert!(round_trip(&values).is_some());
    }

    #[test]
    fn distances_wrap() {
        let values = [i64::MAX, i64::MIN, i64::MIN + 1, i64::MIN + 2, i64::MIN + 3];
        assert!(round_trip(&values).is_some());
    }

    #[test]
    fn what_is_not_smaller_stays_raw() {
        assert!(round_trip(&[1, 2]).is_none());
        assert!(round_trip(&[0, 0, 1 << 32, 1 << 33, 3 << 32]).is_none(), "a dod outside i32");
        let wild: Vec<i64> = (0..9).map(|i| if i % 2 == 0 { 0 } else { 1_000_000_000 }).collect();
        assert!(round_trip(&wild).is_some(), "32-bit codes are still smaller");
    }
}
