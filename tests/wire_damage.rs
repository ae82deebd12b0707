//! Messages of a live QuestDB server, damaged: cut at every byte and changed at every byte of short ones, at seeded places of long
//! ones, with the length made to fit; compressed ones also within what the compression holds. Each is an error or a value, never a
//! panic, and takes no memory that its size does not explain.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

use std::fs;
use std::io::Read;
use std::path::Path;

use tickscope::columnar::Assembler;
use tickscope::wire::{ClientMessage, Decoder, DecoderLimits, ServerMessage, flag};

#[path = "support/data.rs"]
mod data;

/// Messages up to this size are changed at every byte, longer ones at as many seeded places.
const EVERY_BYTE: usize = 1_024;
/// Longer messages are damaged at so many places.
const PLACES: usize = 400;
/// A message is damaged where no more than this must be decoded before it.
const PREFIX_BYTES: usize = 48 << 10;
/// What all of it may take: the caps of one connection are far below.
const MEMORY_KIB: u64 = 512 << 10;

enum Step {
    Asked(i64),
    Came(Vec<u8>),
}

fn steps(path: &Path) -> Vec<Step> {
    let mut bytes = Vec::new();
    flate2::read::GzDecoder::new(fs::File::open(path).unwrap()).read_to_end(&mut bytes).unwrap();
    let mut rest = bytes.as_slice();
    let mut steps = Vec::new();
    while let [opcode, a, b, c, d, behind @ ..] = rest {
        let (payload, behind) = behind.split_at(u32::from_le_bytes([*a, *b, *c, *d]) as usize);
        match opcode {
            0x20 => {
                if let Ok(ClientMessage::Query(query)) = ClientMessage::decode(payload) {
                    steps.push(Step::Asked(query.request_id));
                }
            }
            0x21 => steps.push(Step::Came(payload.to_vec())),
            _ => {}
        }
        rest = behind;
    }
    steps
}

/// Decodes what came before, then the message; whether it is a value.
fn decode(before: &[Step], message: &[u8]) -> bool {
    let mut decoder = Decoder::new(DecoderLimits::default());
    let mut assembler = Assembler::new();
    let mut take = |decoder: &mut Decoder, message: &[u8]| match decoder.message(message) {
        Ok(ServerMessage::Batch(batch)) => assembler.assemble(batch, decoder.dictionary()).is_ok(),
        Ok(_) => true,
        Err(_) => false,
    };
    for step in before {
        match step {
            Step::Asked(id) => drop(decoder.begin(*id, None)),
            Step::Came(message) => {
                take(&mut decoder, message);
            }
        }
    }
    take(&mut decoder, message)
}

fn with_length(mut message: Vec<u8>) -> Vec<u8> {
    if message.len() >= 12 {
        let length = message.len() as u32 - 12;
        message[8..12].copy_from_slice(&length.to_le_bytes());
    }
    message
}

/// A compressed batch split into what precedes its body and the body itself, decompressed.
fn body(message: &[u8]) -> Option<(&[u8], Vec<u8>)> {
    if message.len() < 24 || message[5] & flag::ZSTD == 0 || message[12] != 0x11 {
        return None;
    }
    let at = 21 + message[21..].iter().position(|byte| byte & 0x80 == 0)? + 1;
    let (head, body) = message.split_at(at);
    zrip_decode::decompress(body).ok().map(|body| (head, body))
}

/// The body as a zstd frame of stored blocks.
fn wrapped(head: &[u8], body: &[u8]) -> Vec<u8> {
    let mut out = head.to_vec();
    out.extend(0xfd2f_b528u32.to_le_bytes());
    // A single segment with a content size of four bytes.
    out.push(0xa0);
    out.extend((body.len() as u32).to_le_bytes());
    let mut blocks = body.chunks(128 << 10).peekable();
    while let Some(block) = blocks.next() {
        let header = (block.len() as u32) << 3 | u32::from(blocks.peek().is_none());
        out.extend(&header.to_le_bytes()[..3]);
        out.extend(block);
    }
    with_length(out)
}

struct Random(u64);

impl Random {
    fn below(&mut self, below: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % below as u64) as usize
    }
}

#[derive(Debug, Default)]
struct Seen {
    messages: u64,
    compressed: u64,
    values: u64,
    errors: u64,
}

fn damage(before: &[Step], original: &[u8], wrap: impl Fn(Vec<u8>) -> Vec<u8>, random: &mut Random, seen: &mut Seen) {
    let places: Vec<usize> = match original.len() {
        0 => return,
        short if short <= EVERY_BYTE => (0..short).collect(),
        long => (0..PLACES).map(|_| random.below(long)).collect(),
    };
    for at in places {
        let mut changed = original.to_vec();
        changed[at] = match random.below(4) {
            0 => !changed[at],
            1 => changed[at] ^ 1 << random.below(8),
            2 => [0x00, 0x7f, 0x80, 0xff][random.below(4)],
            _ => changed[at].wrapping_add(1),
        };
        for damaged in [changed, original[..at].to_vec()] {
            *if decode(before, &wrap(damaged)) { &mut seen.values } else { &mut seen.errors } += 1;
        }
    }
}

#[test]
fn damaged_messages_of_a_live_server_are_errors_or_values() {
    let name = "damaged_messages_of_a_live_server_are_errors_or_values";
    let Some(dir) = data::sessions_dir() else {
        return data::skipped(name, "no recorded sessions (TICKSCOPE_QWP_SESSIONS or qwp/questdb-server in the data)");
    };
    let mut sessions: Vec<_> =
        fs::read_dir(&dir).unwrap().map(|entry| entry.unwrap().path().join("frames.bin.gz")).filter(|path| path.is_file()).collect();
    sessions.sort();
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut seen = Seen::default();
    for path in &sessions {
        let steps = steps(path);
        let mut prefix = 0;
        for (index, step) in steps.iter().enumerate() {
            let Step::Came(message) = step else { continue };
            if prefix > PREFIX_BYTES {
                break;
            }
            let before = &steps[..index];
            seen.messages += 1;
            damage(before, message, with_length, &mut random, &mut seen);
            if let Some((head, body)) = body(message) {
                seen.compressed += 1;
                assert_eq!(decode(before, &wrapped(head, &body)), decode(before, message), "stored instead of compressed");
                damage(before, &body, |body| wrapped(head, &body), &mut random, &mut seen);
            }
            prefix += message.len();
        }
    }
    println!("{} sessions: {seen:?}", sessions.len());
    assert!(seen.messages > 300 && seen.compressed > 5 && seen.values > 1_000 && seen.errors > 10_000, "{seen:?}");
    if let Ok(status) = fs::read_to_string("/proc/self/status") {
        let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().strip_suffix(" kB")?.parse::<u64>().ok()).unwrap();
        assert!(peak < MEMORY_KIB, "{peak} KiB at most");
    }
}
