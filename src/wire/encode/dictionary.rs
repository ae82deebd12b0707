//! The symbol dictionary as the client holds it.

use std::collections::HashMap;
use std::sync::Arc;

use foldhash::fast::RandomState;

use super::super::bits::BitsRef;
use super::super::varint;
use super::TextRef;

/// Texts sent to the client, by id and by text.
#[derive(Debug, Default)]
pub(super) struct SentDictionary {
    ids: HashMap<Arc<str>, u32, RandomState>,
    texts: Vec<Arc<str>>,
    text_bytes: usize,
}

/// Marks a key whose id was not looked up yet.
const UNKNOWN: u32 = u32::MAX;

impl SentDictionary {
    pub(super) fn len(&self) -> usize {
        self.texts.len()
    }

    pub(super) fn text_bytes(&self) -> usize {
        self.text_bytes
    }

    pub(super) fn clear(&mut self) {
        *self = SentDictionary::default();
    }

    /// Forgets the entries from `length` on, which the client never got.
    pub(super) fn truncate(&mut self, length: usize) {
        while self.texts.len() > length
            && let Some(text) = self.texts.pop()
        {
            self.text_bytes = self.text_bytes.saturating_sub(text.len());
            self.ids.remove(&text);
        }
    }

    /// The connection's id for the key of each row that holds a value, packed; new texts are entered. `None` when a key or an offset
    /// points nowhere or a text is not UTF-8.
    pub(super) fn translate(&mut self, keys: &[u32], texts: &TextRef<'_>, validity: Option<&BitsRef<'_>>) -> Option<Vec<u32>> {
        let mut known = vec![UNKNOWN; texts.offsets.len().saturating_sub(1)];
        let mut ids = Vec::with_capacity(keys.len());
        for (row, key) in keys.iter().enumerate() {
            if validity.is_some_and(|validity| !validity.get(row)) {
                continue;
            }
            let slot = known.get_mut(usize::try_from(*key).ok()?)?;
            if *slot == UNKNOWN {
                *slot = self.enter(std::str::from_utf8(texts.get(usize::try_from(*key).ok()?)?).ok()?)?;
            }
            ids.push(*slot);
        }
        Some(ids)
    }

    fn enter(&mut self, text: &str) -> Option<u32> {
        if let Some(id) = self.ids.get(text) {
            return Some(*id);
        }
        let id = u32::try_from(self.texts.len()).ok()?;
        let shared: Arc<str> = text.into();
        self.ids.insert(Arc::clone(&shared), id);
        self.texts.push(shared);
        self.text_bytes = self.text_bytes.saturating_add(text.len());
        Some(id)
    }

    /// Writes the delta section: the entries from `start` on.
    pub(super) fn write_delta(&self, start: usize, out: &mut Vec<u8>) {
        let new = self.texts.get(start..).unwrap_or_default();
        varint::write(out, start as u64);
        varint::write(out, new.len() as u64);
        for text in new {
            varint::write(out, text.len() as u64);
            out.extend_from_slice(text.as_bytes());
        }
    }
}
