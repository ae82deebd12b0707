//! The symbol dictionary of a connection: texts by id, counted from 0, shared by all symbol columns of all its queries.
//!
//! ```text
//!  delta_start varint · delta_count varint · delta_count × (len varint · UTF-8)
//! ```
//! It grows by the delta of each batch, is emptied by CACHE_RESET, and is cut when a delta starts below its length: after an error
//! between batches a server may forget the entries of the last batch it sent and give their ids anew.

use super::error::{WireError, WireFault};
use super::limits::{DecoderLimits, Limit};
use super::reader::Reader;

/// Texts one behind the other with their offsets, in the form of an Arrow string array.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Symbols {
    text: String,
    offsets: Vec<i32>,
}

impl Default for Symbols {
    fn default() -> Self {
        Symbols { text: String::new(), offsets: vec![0] }
    }
}

impl Symbols {
    /// Entries.
    #[must_use]
    pub fn len(&self) -> usize {
        self.offsets.len().saturating_sub(1)
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The text of an id.
    #[must_use]
    pub fn get(&self, id: u32) -> Option<&str> {
        let at = usize::try_from(id).ok()?;
        let from = usize::try_from(*self.offsets.get(at)?).ok()?;
        let to = usize::try_from(*self.offsets.get(at.checked_add(1)?)?).ok()?;
        self.text.get(from..to)
    }

    /// All texts, one behind the other.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Where each text starts, and at last where the last one ends: one more than entries.
    #[must_use]
    pub fn offsets(&self) -> &[i32] {
        &self.offsets
    }

    fn truncate(&mut self, entries: usize) {
        self.offsets.truncate(entries.saturating_add(1));
        let end = self.offsets.last().and_then(|end| usize::try_from(*end).ok()).unwrap_or(0);
        self.text.truncate(end);
    }

    /// Appends `count` texts. On an error some may have been appended.
    fn read(&mut self, reader: &mut Reader<'_>, count: u64, max_bytes: u64) -> Result<(), WireError> {
        // Each text takes at least its length byte, so the count cannot ask for more than the message holds.
        if count > reader.left() {
            return Err(reader.fault(WireFault::Truncated { needed: count, left: reader.left() }));
        }
        self.offsets.reserve(usize::try_from(count).unwrap_or(0));
        for _ in 0..count {
            let length = reader.varint()?;
            let total = (self.text.len() as u64).saturating_add(length);
            if total > max_bytes {
                return Err(reader.fault(WireFault::OverLimit { limit: Limit::DictionaryBytes, max: max_bytes, got: total }));
            }
            self.text.push_str(reader.text(length)?);
            let end = i32::try_from(self.text.len()).map_err(|_| {
                reader.fault(WireFault::OverLimit { limit: Limit::DictionaryBytes, max: i32::MAX as u64, got: self.text.len() as u64 })
            })?;
            self.offsets.push(end);
        }
        Ok(())
    }

    /// A column's own table, which stands before its ids when the batch has no delta section: `count varint · texts`.
    pub(super) fn read_table(reader: &mut Reader<'_>, rows: u64, max_bytes: u64) -> Result<Symbols, WireError> {
        let count = reader.capped(Limit::DictionaryEntries, rows)?;
        let mut symbols = Symbols::default();
        symbols.read(reader, count, max_bytes)?;
        Ok(symbols)
    }
}

/// The dictionary of a connection.
#[derive(Debug, Clone, Default)]
pub struct Dictionary {
    symbols: Symbols,
    epoch: u64,
}

impl Dictionary {
    /// The entries held now. Entries already handed out keep their ids while [`Dictionary::epoch`] stays the same.
    #[must_use]
    pub fn symbols(&self) -> &Symbols {
        &self.symbols
    }

    /// Changes whenever entries are taken away, so that (epoch, length) names the content.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    pub(super) fn reset(&mut self) {
        self.symbols.truncate(0);
        self.epoch = self.epoch.wrapping_add(1);
    }

    /// Reads a delta section: all of it or, on an error, nothing. Returns (length before, length cut to) when entries were cut.
    pub(super) fn read_delta(&mut self, reader: &mut Reader<'_>, limits: &DecoderLimits) -> Result<Option<(u32, u32)>, WireError> {
        let length = self.symbols.len() as u64;
        let at = reader.clone();
        let start = reader.varint()?;
        if start > length {
            return Err(at.fault(WireFault::DeltaStart { length, got: start }));
        }
        let at = reader.clone();
        let count = reader.varint()?;
        let total = start.saturating_add(count);
        if total > limits.dictionary_entries {
            return Err(at.fault(WireFault::OverLimit { limit: Limit::DictionaryEntries, max: limits.dictionary_entries, got: total }));
        }
        let mut cut = None;
        if start < length {
            self.symbols.truncate(usize::try_from(start).unwrap_or(0));
            self.epoch = self.epoch.wrapping_add(1);
            // Both fit: the length is within the cap on entries.
            cut = Some((length as u32, start as u32));
        }
        let before = self.symbols.len();
        let read = self.symbols.read(reader, count, limits.dictionary_bytes);
        if read.is_err() {
            self.symbols.truncate(before);
        }
        read.map(|()| cut)
    }
}
