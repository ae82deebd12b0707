//! The checksum that exchanges compute of their books.

/// The checksum of IEEE 802.3, as the exchanges use it.
pub fn crc32(bytes: &[u8]) -> u32 {
    let step = |crc: u32, byte: &u8| (0..8).fold(crc ^ u32::from(*byte), |crc, _| (crc >> 1) ^ if crc & 1 == 1 { 0xEDB8_8320 } else { 0 });
    !bytes.iter().fold(!0, step)
}
