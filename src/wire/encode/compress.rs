//! The body of a batch in compressed form.

use super::super::message::{self, BODY_FIELDS_AT, flag};

/// Compresses the body of a RESULT_BATCH in place, if that makes it smaller; the flag in its header says that it did.
///
/// `compress` writes one zstd frame with its content size, no checksum and no dictionary into the given space and returns its length;
/// `None` when the space does not hold it. `space` is reused from one message to the next.
pub fn compress_batch(message: &mut Vec<u8>, space: &mut Vec<u8>, compress: impl FnOnce(&[u8], &mut [u8]) -> Option<usize>) -> bool {
    // The batch's number, a varint, stands before the body.
    let number = message.iter().skip(BODY_FIELDS_AT).position(|byte| byte & 0x80 == 0);
    let Some(at) = number.map(|last| BODY_FIELDS_AT.saturating_add(last).saturating_add(1)) else { return false };
    let Some(body) = message.get(at..).filter(|body| !body.is_empty()) else { return false };
    // One byte less than the body: what does not fit is no gain.
    space.clear();
    space.resize(body.len().saturating_sub(1), 0);
    let Some(frame) = compress(body, space).and_then(|length| space.get(..length)) else { return false };
    message.truncate(at);
    message.extend_from_slice(frame);
    message::add_flag(message, flag::ZSTD);
    message::finish(message);
    true
}
