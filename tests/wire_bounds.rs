//! Hostile bytes: every cut of a message is an error, every changed byte an error or a value, and nothing panics.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use tickscope::columnar::{Assembler, Frames, ResultSchema};
use tickscope::wire::{ClientMessage, Decoder, DecoderLimits, Encoder, ServerInfo, ServerMessage};

/// Frames by hand: a batch of three columns, the same compressed, and one of nine types.
const GOLDEN: [&str; 3] = [
    "51575031 01 0c 0100 47000000 11 0100000000000000 00 00 02 01 41 02 4242 00 03 03 01 73 09 01 76 05 02 7473 0a
     00 00 01 00 01 02 0a00000000000000 fdffffffffffffff 00 01 00401e18240a0600 e8431e18240a0600 00",
    "51575031 01 1c 0100 4d000000 11 0100000000000000 00 28b52ffd 20 3d d50100 140300020141024242000303017309017605027473
     0a000001000102 0a00fdff00010040 1e18240a0600e8431e18240a06000002 0060 6006e004",
    "51575031 01 0c 0100 8d000000 11 0100000000000000 00 00 00 00 02 09 01 62 01 01 75 0c 01 67 0e 01 64 13 02 7663 0f
     03 617272 11 01 65 11 02 6970 18 01 63 16 00 02 01 02 00401714664256a4d3129be867453e12 01 01 14 34120c 01 02 02
     5afdffffffffffff 01 01 00000000 03000000 c3a921 01 02 02 02000000 01000000 000000000000f83f 000000000000f87f
     01 01 01 00000000 01 02 0100007f 00 4100 0000",
];

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(|byte| !byte.is_ascii_whitespace()).map(|byte| (byte as char).to_digit(16).unwrap() as u8).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

/// A small batch of many types from our own encoder, in the middle of a result.
fn encoded() -> Vec<Vec<u8>> {
    let mut books = ListBuilder::new(ListBuilder::new(Float64Builder::new()));
    for row in 0..40 {
        for _ in 0..2 {
            (0..row % 3).for_each(|level| books.values().values().append_value(f64::from(level) + 0.25));
            books.values().append(true);
        }
        books.append(row % 5 != 0);
    }
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("ts", Arc::new(TimestampNanosecondArray::from_iter_values((0..40).map(|row| 1_715_126_400_000_000_000 + row * row * 977)))),
        ("symbol", Arc::new(DictionaryArray::<Int32Type>::from_iter((0..40).map(|row| Some(["ESM4", "ESU4", "NVDA"][row % 3]))))),
        ("price", Arc::new(Float64Array::from_iter((0..40).map(|row| (row % 4 != 0).then_some(f64::from(row) / 4.0))))),
        ("note", Arc::new(StringArray::from_iter((0..40).map(|row| (row % 7 != 0).then_some(["", "é", "日本"][row % 3]))))),
        ("book", Arc::new(books.finish())),
        ("flag", Arc::new(BooleanArray::from_iter((0..40).map(|row| (row % 6 != 0).then_some(row % 2 == 0))))),
    ];
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap();
    let schema = ResultSchema::new(batch.schema()).unwrap();
    let mut encoder = Encoder::new();
    let mut out = Vec::new();
    encoder.begin(1, false, &mut out);
    let mut frames = Frames::new(&schema, batch, 25);
    let mut messages = Vec::new();
    while frames.encode_next(&mut encoder, &mut out).unwrap() {
        messages.push(out.clone());
    }
    encoder.end(&mut out).unwrap();
    messages.push(out);
    messages
}

/// A decoder with query 1 begun, and what turns its batches into Arrow.
fn connected() -> (Decoder, Assembler) {
    let mut decoder = Decoder::new(DecoderLimits::default());
    let mut info = Vec::new();
    ServerInfo::default().encode(&mut info);
    decoder.message(&info).unwrap();
    decoder.begin(1, None).unwrap();
    (decoder, Assembler::new())
}

/// Decodes the messages, to Arrow; whether all of them were values.
fn decode(messages: &[&[u8]]) -> bool {
    let (mut decoder, mut assembler) = connected();
    messages.iter().all(|message| match decoder.message(message) {
        Ok(ServerMessage::Batch(batch)) => assembler.assemble(batch, decoder.dictionary()).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    })
}

/// Sessions of messages; the last one of each is what gets broken.
fn sessions() -> Vec<Vec<Vec<u8>>> {
    let mut sessions: Vec<Vec<Vec<u8>>> = GOLDEN.iter().map(|text| vec![hex(text)]).collect();
    let encoded = encoded();
    sessions.extend((1..=encoded.len()).map(|count| encoded[..count].to_vec()));
    sessions
}

/// Sets the payload length, so that what lies behind the header is reached.
fn with_length(mut message: Vec<u8>) -> Vec<u8> {
    if message.len() >= 12 {
        let length = message.len() as u32 - 12;
        message[8..12].copy_from_slice(&length.to_le_bytes());
    }
    message
}

fn with_last<'a>(session: &'a [Vec<u8>], last: &'a [u8]) -> Vec<&'a [u8]> {
    let before = session[..session.len() - 1].iter().map(Vec::as_slice);
    before.chain([last]).collect()
}

#[test]
fn every_cut_is_an_error() {
    for session in sessions() {
        let last = session.last().unwrap();
        assert!(decode(&with_last(&session, last)));
        for cut in 0..last.len() {
            assert!(!decode(&with_last(&session, &last[..cut])), "cut at {cut}, length as it was");
            assert!(!decode(&with_last(&session, &with_length(last[..cut].to_vec()))), "cut at {cut}, length made to fit");
        }
    }
}

#[test]
fn every_longer_message_is_an_error() {
    for session in sessions() {
        let mut last = session.last().unwrap().clone();
        last.push(0);
        assert!(!decode(&with_last(&session, &with_length(last))));
    }
}

#[test]
fn every_changed_byte_is_an_error_or_a_value() {
    let mut values = 0;
    let mut errors = 0;
    for session in sessions() {
        let mut last = session.last().unwrap().clone();
        for at in 0..last.len() {
            let byte = last[at];
            for changed in [0x00, 0x01, 0x7f, 0x80, 0xff, byte ^ 0x01, byte ^ 0x10, byte ^ 0x80, byte.wrapping_add(1), byte.wrapping_sub(1)] {
                last[at] = changed;
                *if decode(&with_last(&session, &last)) { &mut values } else { &mut errors } += 1;
            }
            last[at] = byte;
        }
    }
    // A changed value is a value, a changed count or code is not: both must be seen, or the sweep reaches nothing.
    assert!(values > 1_000 && errors > 1_000, "{values} values, {errors} errors");
}

#[test]
fn random_changes_never_panic() {
    // A fixed xorshift, so that a failure can be met again.
    let mut state = 0x9e37_79b9_7f4a_7c15u64;
    let mut random = move |below: usize| {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as usize
    };
    for session in sessions() {
        let original = session.last().unwrap();
        for _ in 0..2_000 {
            let mut last = original.clone();
            for _ in 0..1 + random(4) {
                let at = 12 + random(last.len() - 12);
                match random(4) {
                    0 => last[at] = random(256) as u8,
                    1 => last[at] ^= 1 << random(8),
                    2 => drop(last.remove(at)),
                    _ => last.insert(at, random(256) as u8),
                }
                if last.len() < 14 {
                    break;
                }
            }
            decode(&with_last(&session, &with_length(last)));
        }
    }
}

#[test]
fn broken_requests_never_panic() {
    let request =
        hex("1007000000000000000b73656c6563742024312076808040040f00000000000600000068c3a96c6c6f130002 5afdffffffffffff0e001434120c0a0101 03e807");
    assert!(ClientMessage::decode(&request).is_ok());
    for at in 0..request.len() {
        let _ = ClientMessage::decode(&request[..at]);
        for changed in 0..=255 {
            let mut broken = request.clone();
            broken[at] = changed;
            let _ = ClientMessage::decode(&broken);
        }
    }
}
