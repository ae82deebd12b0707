//! Just enough of WebSocket frames and of the server's messages to count rows from outside and to make an error message, written
//! apart from the project's own decoder so that the two cannot agree on a mistake.

/// Header of a WebSocket frame.
#[derive(Debug, Clone, Copy)]
pub struct Header {
    /// Bytes of the header, the mask of a client's frame included.
    pub length: usize,
    /// Bytes after it.
    payload: usize,
    /// Whether the message ends with this frame.
    pub is_last: bool,
    opcode: u8,
}

impl Header {
    /// Reads a header at the start of `bytes`; None while it is not complete.
    pub fn read(bytes: &[u8]) -> Option<Header> {
        let (first, second) = (*bytes.first()?, *bytes.get(1)?);
        let (length, payload) = match second & 0x7f {
            126 => (4, usize::from(u16::from_be_bytes(bytes.get(2..4)?.try_into().ok()?))),
            127 => (10, usize::try_from(u64::from_be_bytes(bytes.get(2..10)?.try_into().ok()?)).ok()?),
            short => (2, usize::from(short)),
        };
        let mask = if second & 0x80 == 0 { 0 } else { 4 };
        Some(Header { length: length + mask, payload, is_last: first & 0x80 != 0, opcode: first & 0x0f })
    }

    /// Bytes of the whole frame.
    pub fn total(&self) -> usize {
        self.length + self.payload
    }

    /// Whether it belongs to a binary message.
    pub fn is_binary(&self) -> bool {
        matches!(self.opcode, 0 | 2)
    }
}

/// What a message of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Rows of a result; 0 when the body is compressed and cannot be counted here.
    Batch {
        /// How many.
        rows: u64,
    },
    /// The first message of a connection.
    Greeting,
    /// Anything else.
    Other,
}

/// A message of the server.
#[derive(Debug, Clone, Copy)]
pub struct Message {
    /// What it is.
    pub kind: Kind,
    /// The query it belongs to.
    pub request: i64,
}

impl Message {
    /// Reads a message: 12 bytes of header (flags in byte 5), a kind, a request id and a body.
    pub fn read(bytes: &[u8]) -> Option<Message> {
        let flags = *bytes.get(5)?;
        let kind = *bytes.get(12)?;
        if kind == 0x18 {
            return Some(Message { kind: Kind::Greeting, request: -1 });
        }
        let request = i64::from_le_bytes(bytes.get(13..21)?.try_into().ok()?);
        if kind != 0x11 {
            return Some(Message { kind: Kind::Other, request });
        }
        let mut at = 21;
        varint(bytes, &mut at)?; // the batch's number
        if flags & 0x10 != 0 {
            return Some(Message { kind: Kind::Batch { rows: 0 }, request });
        }
        if flags & 0x08 != 0 {
            varint(bytes, &mut at)?; // where the new symbols start
            for _ in 0..varint(bytes, &mut at)? {
                let length = varint(bytes, &mut at)?;
                at += usize::try_from(length).ok()?;
            }
        }
        let name = varint(bytes, &mut at)?;
        at += usize::try_from(name).ok()?;
        Some(Message { kind: Kind::Batch { rows: varint(bytes, &mut at)? }, request })
    }
}

fn varint(bytes: &[u8], at: &mut usize) -> Option<u64> {
    let mut value = 0;
    for shift in (0..64).step_by(7) {
        let byte = *bytes.get(*at)?;
        *at += 1;
        value |= u64::from(byte & 0x7f) << shift;
        if byte & 0x80 == 0 {
            return Some(value);
        }
    }
    None
}

/// A WebSocket frame with the message QUERY_ERROR: status 0x05, a text of less than 100 bytes.
pub fn query_error(request: i64, text: &str) -> Vec<u8> {
    let mut body = vec![0x13];
    body.extend(request.to_le_bytes());
    body.push(0x05);
    body.extend((text.len() as u16).to_le_bytes());
    body.extend(text.as_bytes());
    let mut frame = vec![0x82, 12 + body.len() as u8];
    frame.extend(b"QWP1\x01\x00\x00\x00");
    frame.extend((body.len() as u32).to_le_bytes());
    frame.extend(body);
    frame
}

/// A client's WebSocket frame with the message CANCEL, masked with zeros.
pub fn cancel(request: i64) -> Vec<u8> {
    let mut frame = vec![0x82, 0x80 | 9, 0, 0, 0, 0, 0x14];
    frame.extend(request.to_le_bytes());
    frame
}
