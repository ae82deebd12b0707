//! Bitmaps: least significant bit first, as on the wire and in Arrow.

use std::borrow::Cow;

/// Which rows of a column hold a value, in Arrow's polarity: bit 1 = value, bit 0 = null. The wire has it the other way round.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Validity {
    bits: Vec<u8>,
    rows: usize,
    nulls: usize,
}

impl Validity {
    /// From the wire's null bitmap (bit 1 = null) of ceil(rows/8) bytes; bits past the last row are cleared. `None` without a null.
    pub(super) fn from_null_bitmap(bitmap: &[u8], rows: usize) -> Option<Validity> {
        let mut bits: Vec<u8> = bitmap.iter().map(|byte| !byte).collect();
        clear_padding(&mut bits, rows);
        let values = count_ones(&bits);
        (values < rows).then(|| Validity { bits, rows, nulls: rows.saturating_sub(values) })
    }

    /// The bitmap, padding cleared.
    #[must_use]
    pub fn bits(&self) -> &[u8] {
        &self.bits
    }

    /// The bitmap, to be handed on without a copy.
    #[must_use]
    pub fn into_bits(self) -> Vec<u8> {
        self.bits
    }

    /// Rows without a value.
    #[must_use]
    pub fn null_count(&self) -> usize {
        self.nulls
    }

    /// Borrowed, as the encoder takes it.
    #[must_use]
    pub fn as_bits(&self) -> BitsRef<'_> {
        BitsRef { bytes: Cow::Borrowed(&self.bits), offset: 0, len: self.rows }
    }
}

/// Bits of a buffer, from any bit on; owned where they had to be worked out.
#[derive(Debug, Clone, Default)]
pub struct BitsRef<'a> {
    bytes: Cow<'a, [u8]>,
    offset: usize,
    len: usize,
}

impl<'a> BitsRef<'a> {
    /// `len` bits from bit `offset` of `bytes`; `None` when the buffer is shorter.
    #[must_use]
    pub fn new(bytes: impl Into<Cow<'a, [u8]>>, offset: usize, len: usize) -> Option<BitsRef<'a>> {
        let bytes = bytes.into();
        let end = offset.checked_add(len)?;
        (end.div_ceil(8) <= bytes.len()).then_some(BitsRef { bytes, offset, len })
    }

    /// Packs bits.
    #[must_use]
    pub fn pack(bits: impl ExactSizeIterator<Item = bool>) -> BitsRef<'static> {
        let len = bits.len();
        let mut bytes = Vec::with_capacity(len.div_ceil(8));
        pack(bits, &mut bytes);
        BitsRef { bytes: Cow::Owned(bytes), offset: 0, len }
    }

    /// How many bits.
    #[must_use]
    pub fn len(&self) -> usize {
        self.len
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// The bit at an index; `false` past the end.
    #[must_use]
    pub fn get(&self, index: usize) -> bool {
        index < self.len && bit(&self.bytes, self.offset.wrapping_add(index))
    }

    /// All bits in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = bool> {
        (0..self.len).map(|index| bit(&self.bytes, self.offset.wrapping_add(index)))
    }

    /// How many bits are set.
    #[must_use]
    pub fn count_ones(&self) -> usize {
        if !self.offset.is_multiple_of(8) {
            return self.iter().filter(|set| *set).count();
        }
        // Whole bytes are counted as such; only the last may be shared with what follows.
        let bytes = self.bytes.get(self.offset / 8..).unwrap_or_default();
        let (whole, tail) = bytes.split_at_checked(self.len / 8).unwrap_or((bytes, &[]));
        count_ones(whole).wrapping_add((0..self.len & 7).filter(|index| bit(tail, *index)).count())
    }
}

fn bit(bytes: &[u8], index: usize) -> bool {
    bytes.get(index / 8).is_some_and(|byte| byte.wrapping_shr((index & 7) as u32) & 1 == 1)
}

fn count_ones(bytes: &[u8]) -> usize {
    let (words, rest) = bytes.as_chunks::<8>();
    let words: usize = words.iter().map(|word| u64::from_le_bytes(*word).count_ones() as usize).sum();
    words.wrapping_add(rest.iter().map(|byte| byte.count_ones() as usize).sum())
}

/// Clears the bits of the last byte that stand behind the last of `count`.
pub(super) fn clear_padding(bits: &mut [u8], count: usize) {
    let used = (count & 7) as u32;
    if used != 0
        && let Some(last) = bits.last_mut()
    {
        *last &= 0xffu8.wrapping_shr(8u32.wrapping_sub(used));
    }
}

/// Collects bits into bytes, padding cleared.
pub(super) fn pack(bits: impl Iterator<Item = bool>, out: &mut Vec<u8>) {
    let mut byte = 0u8;
    let mut used = 0u32;
    for set in bits {
        byte |= u8::from(set).wrapping_shl(used);
        used = used.wrapping_add(1);
        if used == 8 {
            out.push(byte);
            (byte, used) = (0, 0);
        }
    }
    if used > 0 {
        out.push(byte);
    }
}
