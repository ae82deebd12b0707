//! Frames made by hand from the protocol's description, what must be refused, what must come back, and every cap at its edge.

use super::*;

mod caps;
mod refusals;
mod round_trip;
mod vectors;

/// Bytes of a hex text; blanks do not count.
fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| (byte as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

const SERVER_INFO: &str = "51575031 01 00 0000 21000000 18 00 0000000000000000 06000000 00002a36fe9c9717 0300 716462 0200 6e31 01 03";
/// Id 1, batch 0, 3 rows: s SYMBOL A, BB, A; v LONG 10, NULL, −3; ts TIMESTAMP Gorilla.
const BATCH: &str = "51575031 01 0c 0100 47000000 11 0100000000000000 00 00 02 01 41 02 4242 00 03 03 01 73 09 01 76 05 02 7473 0a
    00 00 01 00 01 02 0a00000000000000 fdffffffffffffff 00 01 00401e18240a0600 e8431e18240a0600 00";
/// Id 1, batch 1, 1 row: BB, NULL, raw timestamp.
const NEXT_BATCH: &str = "51575031 01 0c 0100 1c000000 11 0100000000000000 01 02 00 00 01 00 01 01 01 00 00 b84b1e18240a0600";
const END: &str = "51575031 01 00 0000 0b000000 12 0100000000000000 01 04";
/// Id 2, 2 rows of many types.
const MANY_TYPES: &str = "51575031 01 0c 0100 8d000000 11 0200000000000000 00 00 00 00 02 09 01 62 01 01 75 0c 01 67 0e 01 64 13 02 7663 0f
    03 617272 11 01 65 11 02 6970 18 01 63 16 00 02 01 02 00401714664256a4d3129be867453e12 01 01 14 34120c 01 02 02
    5afdffffffffffff 01 01 00000000 03000000 c3a921 01 02 02 02000000 01000000 000000000000f83f 000000000000f87f
    01 01 01 00000000 01 02 0100007f 00 4100 0000";
/// [`BATCH`] at zstd level 1.
const COMPRESSED: &str = "51575031 01 1c 0100 4d000000 11 0100000000000000 00 28b52ffd 20 3d d50100 140300020141024242000303017309017605027473
    0a000001000102 0a00fdff00010040 1e18240a0600e8431e18240a06000002 0060 6006e004";

/// A frame with the one place that reads `from` replaced, and its payload length made to fit.
fn patched(frame: &str, from: &str, to: &str) -> Vec<u8> {
    let (frame, from, to) = (hex(frame), hex(from), hex(to));
    let places: Vec<usize> = frame.windows(from.len()).enumerate().filter(|(_, window)| *window == from).map(|(at, _)| at).collect();
    assert_eq!(places.len(), 1, "{from:02x?} stands at {places:?}");
    let mut patched = [&frame[..places[0]], &to, &frame[places[0] + from.len()..]].concat();
    message::finish(&mut patched);
    patched
}

/// A zstd frame of one stored block around the body of [`BATCH`].
fn stored() -> Vec<u8> {
    let batch = hex(BATCH);
    let mut frame = hex("51575031 01 1c 0100 00000000 11 0100000000000000 00 28b52ffd 20 3d e90100");
    frame.extend(&batch[22..]);
    message::finish(&mut frame);
    frame
}

/// A decoder after SERVER_INFO with queries 1 to 3 running.
fn greeted(limits: DecoderLimits) -> Decoder {
    let mut decoder = Decoder::new(limits);
    decoder.message(&hex(SERVER_INFO)).unwrap();
    for request_id in 1..=3 {
        decoder.begin(request_id, None).unwrap();
    }
    decoder
}

fn batch(message: ServerMessage) -> Batch {
    match message {
        ServerMessage::Batch(batch) => batch,
        other => panic!("expected a batch, got {other:?}"),
    }
}
