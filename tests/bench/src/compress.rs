//! Compresses messages as a server does that was asked to.

use std::io;

use crate::frames::Frames;

/// Where the body of a RESULT_BATCH begins: after the header, the kind, the request's id and the batch's number.
fn body_at(message: &[u8]) -> usize {
    let number = message.iter().skip(21).position(|byte| byte & 0x80 == 0).unwrap_or(0);
    21 + number + 1
}

/// The same messages, their bodies as one zstd frame each, at the level that servers use unless asked for another.
///
/// # Errors
/// The compressor's.
pub fn zstd_level_1(frames: &Frames) -> io::Result<Frames> {
    let compress = |message: &Vec<u8>| -> io::Result<Vec<u8>> {
        let (head, body) = message.split_at(body_at(message));
        let mut out = head.to_vec();
        out.extend(zstd::bulk::compress(body, 1)?);
        out[5] |= tickscope::wire::flag::ZSTD;
        let length = (out.len() - 12) as u32;
        out[8..12].copy_from_slice(&length.to_le_bytes());
        Ok(out)
    };
    Ok(Frames { messages: frames.messages.iter().map(compress).collect::<io::Result<_>>()?, rows: frames.rows })
}
