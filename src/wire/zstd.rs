//! Decompression of a batch body: one zstd frame with its content size, nothing behind it.
//!
//! ```text
//!  magic u32 · descriptor u8 · [window u8] · content size 1, 2, 4 or 8 bytes · blocks
//!  block: 3 bytes (bit 0 last, bits 1-2 kind, the rest size) · size bytes (1 for a run)
//! ```
//! The frame is walked from end to end before anything is allocated; the decoder then only meets what passed.

use zrip_decode::context::DecompressContext;

use super::error::{Part, WireError, WireFault, ZstdFault};
use super::limits::{DecoderLimits, Limit, ZSTD_BLOCK_BYTES, ZSTD_WINDOW_BYTES};
use super::reader::Reader;

const MAGIC: u32 = 0xfd2f_b528;

/// Decompresses frames, keeping its tables from one to the next.
pub(super) struct Decompressor {
    context: DecompressContext,
}

impl std::fmt::Debug for Decompressor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Decompressor").finish_non_exhaustive()
    }
}

impl Decompressor {
    pub(super) fn new() -> Decompressor {
        Decompressor { context: DecompressContext::new() }
    }

    /// Decompresses the rest of `reader` into `out`, whose old content is dropped and whose allocation is reused.
    pub(super) fn read(&mut self, reader: &Reader<'_>, limits: &DecoderLimits, out: &mut Vec<u8>) -> Result<(), WireError> {
        let size = check(&mut reader.clone(), limits)?;
        let fault = |fault| reader.fault(WireFault::Zstd(fault));
        out.clear();
        // Within the cap on bodies, so it fits.
        let most = usize::try_from(size).unwrap_or(0);
        let written = self.context.decompress_into_with_limit(reader.rest(), out, most).map_err(|_| fault(ZstdFault::Corrupt))?;
        if written as u64 == size { Ok(()) } else { Err(fault(ZstdFault::ContentSize)) }
    }
}

/// Walks a frame; returns its content size.
fn check(reader: &mut Reader<'_>, limits: &DecoderLimits) -> Result<u64, WireError> {
    let refuse = |reader: &Reader<'_>, fault| Err(reader.fault(WireFault::Zstd(fault)));
    if reader.clone().u32()? != MAGIC {
        return refuse(reader, ZstdFault::Magic);
    }
    reader.u32()?;
    let descriptor = reader.clone();
    let flags = reader.u8()?;
    let single_segment = flags & 0x20 != 0;
    for (bit, fault) in [(0x08, ZstdFault::Reserved), (0x04, ZstdFault::Checksum), (0x03, ZstdFault::Dictionary)] {
        if flags & bit != 0 {
            return refuse(&descriptor, fault);
        }
    }
    let mut window = 0;
    if !single_segment {
        let byte = u64::from(reader.u8()?);
        // 2^(10 + exponent), plus mantissa eighths of it.
        let base = 1u64.wrapping_shl(10u32.wrapping_add((byte >> 3) as u32));
        window = base.saturating_add((base / 8).saturating_mul(byte & 7));
        if window > ZSTD_WINDOW_BYTES {
            return Err(descriptor.fault(WireFault::OverLimit { limit: Limit::ZstdWindow, max: ZSTD_WINDOW_BYTES, got: window }));
        }
    }
    let at = reader.clone();
    let size = match flags >> 6 {
        0 if single_segment => u64::from(reader.u8()?),
        0 => return refuse(&descriptor, ZstdFault::NoContentSize),
        1 => u64::from(reader.u16()?).saturating_add(256),
        2 => u64::from(reader.u32()?),
        _ => reader.u64()?,
    };
    if size > limits.body_bytes {
        return Err(at.fault(WireFault::OverLimit { limit: Limit::BodyBytes, max: limits.body_bytes, got: size }));
    }
    let max_block = if single_segment { size } else { window }.min(ZSTD_BLOCK_BYTES);
    // What the blocks can yield at most: a forged content size must not allocate what no block fills.
    let mut yields = 0u64;
    loop {
        let at = reader.clone();
        let [a, b, c] = reader.array()?;
        let header = u32::from_le_bytes([a, b, c, 0]);
        let length = u64::from(header >> 3);
        let (stored, yielded) = match (header >> 1) & 3 {
            0 => (length, length),
            1 => (1, length),
            2 => (length, max_block),
            _ => return refuse(&at, ZstdFault::Block),
        };
        if length > max_block {
            return refuse(&at, ZstdFault::Block);
        }
        yields = yields.saturating_add(yielded);
        reader.take(stored)?;
        if header & 1 == 1 {
            break;
        }
    }
    if reader.left() > 0 {
        return refuse(reader, ZstdFault::SecondFrame);
    }
    if yields < size { refuse(&at, ZstdFault::ContentSize) } else { Ok(size) }
}

/// A reader over a decompressed body.
pub(super) fn body_reader(body: &[u8]) -> Reader<'_> {
    Reader::new(body, Part::Body)
}
