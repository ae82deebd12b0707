//! Unsigned LEB128: seven bits a byte, least significant first, the top bit set on all but the last. The tree's only reader and writer.

use super::error::{WireError, WireFault};
use super::reader::Reader;

/// 64 bits take ten bytes; the tenth may hold one bit.
const MAX_BYTES: u32 = 10;

impl Reader<'_> {
    pub(super) fn varint(&mut self) -> Result<u64, WireError> {
        let at = self.clone();
        let mut value: u64 = 0;
        for index in 0..MAX_BYTES {
            let byte = self.u8()?;
            if index == 9 && byte > 1 {
                break;
            }
            let shift = index.wrapping_mul(7);
            value |= u64::from(byte & 0x7f).wrapping_shl(shift);
            if byte < 0x80 {
                return Ok(value);
            }
        }
        Err(at.fault(WireFault::Varint))
    }
}

/// Appends a varint.
pub(super) fn write(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::super::error::Part;
    use super::*;

    #[test]
    fn a_varint_comes_back() {
        for shift in 0..64 {
            for value in [1u64 << shift, (1u64 << shift) - 1, u64::MAX >> shift] {
                let mut bytes = Vec::new();
                write(&mut bytes, value);
                let mut reader = Reader::new(&bytes, Part::Message);
                assert_eq!(reader.varint(), Ok(value));
                assert_eq!(reader.finish(), Ok(()));
                assert!(Reader::new(&bytes[..bytes.len() - 1], Part::Message).varint().is_err());
            }
        }
    }

    #[test]
    fn a_varint_over_64_bits_is_refused() {
        let fault = |bytes: &[u8]| Reader::new(bytes, Part::Message).varint().unwrap_err().fault;
        assert_eq!(fault(&[0x80; 11]), WireFault::Varint);
        assert_eq!(fault(&[0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x02]), WireFault::Varint);
        assert_eq!(fault(&[0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x81, 0x00]), WireFault::Varint);
        assert_eq!(fault(&[0x80]), WireFault::Truncated { needed: 1, left: 0 });
    }
}
