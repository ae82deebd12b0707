//! The text of a file that may be packed: plain, gzip, zstd, or a zip with one member. Its content decides, not its name; it is
//! unpacked as it is read and never held as a whole.
//!
//! A zip is read from its front: one header, one member, and then the directory, which is not needed. So nothing of it is
//! allocated but the name's and the extra field's few bytes that are skipped.

use std::fs::File;
use std::io::{self, BufRead, BufReader, ErrorKind, Read};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use flate2::Crc;
use flate2::bufread::{DeflateDecoder, MultiGzDecoder};

use crate::server::error::ServeError;

const GZIP_MAGIC: [u8; 2] = [0x1F, 0x8B];
const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
const ZIP_MEMBER: [u8; 4] = *b"PK\x03\x04";
const ZIP_DIRECTORY: [u8; 4] = *b"PK\x01\x02";
const ZIP_DESCRIPTOR: [u8; 4] = *b"PK\x07\x08";
const ZIP_EMPTY: [u8; 4] = *b"PK\x05\x06";
/// Bytes of a member's header behind its signature, before its name.
const ZIP_HEADER_BYTES: usize = 26;
/// A member's name and extra fields: what is more is not meant for reading.
const ZIP_MAX_NAME_BYTES: u64 = 8 << 10;
/// The sizes of a member stand in its header or, where its writer did not know them, behind it.
const ZIP_SIZES_BEHIND: u16 = 1 << 3;
const ZIP_ENCRYPTED: u16 = 1;
const ZIP_STORED: u16 = 0;
const ZIP_DEFLATED: u16 = 8;
const READ_BYTES: usize = 1 << 18;

type Stored = BufReader<Counting>;

/// Counts the bytes of the file that are read through it.
struct Counting {
    file: File,
    bytes: Arc<AtomicU64>,
}

impl Read for Counting {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// The bytes of an open file, unpacked.
pub(super) struct Unpacked {
    inner: Inner,
    stored: Arc<AtomicU64>,
}

enum Inner {
    Plain(Stored),
    Packed(Box<dyn Read + Send>),
}

impl Unpacked {
    /// Opens a file.
    ///
    /// # Errors
    /// An unreadable file, or a zip that holds anything but one member.
    pub(super) fn open(path: &Path) -> Result<Unpacked, ServeError> {
        let failed = |error| failure(path, error);
        let bytes = Arc::new(AtomicU64::new(0));
        let file = File::open(path).map_err(ServeError::file("read", path))?;
        let mut input = BufReader::with_capacity(READ_BYTES, Counting { file, bytes: Arc::clone(&bytes) });
        let start = input.fill_buf().map_err(failed)?;
        let inner = if start.starts_with(&GZIP_MAGIC) {
            Inner::Packed(Box::new(MultiGzDecoder::new(input)))
        } else if start.starts_with(&ZSTD_MAGIC) {
            Inner::Packed(Box::new(zstd::Decoder::with_buffer(input).map_err(failed)?))
        } else if start.starts_with(&ZIP_MEMBER) {
            Inner::Packed(Box::new(ZipMember::open(input).map_err(failed)?))
        } else if start.starts_with(&ZIP_EMPTY) {
            return Err(ServeError::content(path, None, "it is a zip without a member"));
        } else {
            Inner::Plain(input)
        };
        Ok(Unpacked { inner, stored: bytes })
    }

    /// Bytes of the file as stored that were read so far.
    pub(super) fn stored_bytes(&self) -> Arc<AtomicU64> {
        Arc::clone(&self.stored)
    }
}

/// What a failed read of a file means for the one who has it.
pub(super) fn failure(path: &Path, error: io::Error) -> ServeError {
    match error.raw_os_error() {
        Some(_) => ServeError::file("read", path)(error),
        None => ServeError::content(path, None, error),
    }
}

impl Read for Unpacked {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.inner {
            Inner::Plain(input) => input.read(buffer),
            Inner::Packed(input) => input.read(buffer).map_err(|error| match error.kind() {
                _ if error.raw_os_error().is_some() => error,
                ErrorKind::UnexpectedEof => damaged("the file is cut short: its compressed data ends in the middle"),
                ErrorKind::Interrupted | ErrorKind::Unsupported => error,
                _ => damaged("its compressed data is damaged: get the file anew"),
            }),
        }
    }
}

fn damaged(problem: &str) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, problem)
}

/// What the reader cannot do, as opposed to what is damaged.
fn refused(problem: impl Into<String>) -> io::Error {
    io::Error::new(ErrorKind::Unsupported, problem.into())
}

/// The only member of a zip.
struct ZipMember {
    content: Content,
    crc: Crc,
    /// As the header has it; `None` when it stands behind the member.
    expected: Option<u32>,
}

enum Content {
    Stored(io::Take<Stored>),
    Deflated(DeflateDecoder<Stored>),
    Ended,
}

impl ZipMember {
    fn open(mut input: Stored) -> io::Result<ZipMember> {
        let mut header = [0; ZIP_MEMBER.len() + ZIP_HEADER_BYTES];
        input.read_exact(&mut header)?;
        let short = |at: usize| header.get(at..at + 2).and_then(|bytes| bytes.try_into().ok()).map_or(0, u16::from_le_bytes);
        let word = |at: usize| u32::from(short(at)) | u32::from(short(at + 2)) << 16;
        let (flags, method, crc, size) = (short(6), short(8), word(14), word(18));
        let name_bytes = u64::from(short(26)) + u64::from(short(28));
        if flags & ZIP_ENCRYPTED != 0 {
            return Err(refused("its member is encrypted: unpack it first"));
        }
        if name_bytes > ZIP_MAX_NAME_BYTES {
            return Err(refused(format!("the name and extra fields of its member have {name_bytes} bytes: at most {ZIP_MAX_NAME_BYTES} are read")));
        }
        if io::copy(&mut input.by_ref().take(name_bytes), &mut io::sink())? < name_bytes {
            return Err(ErrorKind::UnexpectedEof.into());
        }
        let behind = flags & ZIP_SIZES_BEHIND != 0;
        let content = match method {
            ZIP_DEFLATED => Content::Deflated(DeflateDecoder::new(input)),
            ZIP_STORED if !behind && size != u32::MAX => Content::Stored(input.take(u64::from(size))),
            ZIP_STORED => return Err(refused("its member is not compressed and does not say its size: unpack it first")),
            other => return Err(refused(format!("its member is compressed by method {other}: unpack it first"))),
        };
        Ok(ZipMember { content, crc: Crc::new(), expected: (!behind).then_some(crc) })
    }

    /// Looks at what follows the member.
    fn end(&mut self) -> io::Result<()> {
        let mut input = match std::mem::replace(&mut self.content, Content::Ended) {
            Content::Stored(rest) if rest.limit() > 0 => return Err(ErrorKind::UnexpectedEof.into()),
            Content::Stored(rest) => rest.into_inner(),
            Content::Deflated(decoder) => decoder.into_inner(),
            Content::Ended => return Ok(()),
        };
        let mut word = [0; 4];
        input.read_exact(&mut word)?;
        let expected = match self.expected {
            Some(crc) => crc,
            None => {
                // The signature of the sizes is optional, and they have four or eight bytes each.
                if word == ZIP_DESCRIPTOR {
                    input.read_exact(&mut word)?;
                }
                let crc = u32::from_le_bytes(word);
                let mut passed = 0;
                while word != ZIP_DIRECTORY && word != ZIP_MEMBER && passed < 5 {
                    input.read_exact(&mut word)?;
                    passed += 1;
                }
                crc
            }
        };
        match word {
            _ if expected != self.crc.sum() => Err(damaged("its checksum is wrong")),
            ZIP_MEMBER => Err(refused("it holds several members: unpack it, and name the files")),
            ZIP_DIRECTORY => Ok(()),
            _ => Err(damaged("its directory is not where it must be")),
        }
    }
}

impl Read for ZipMember {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = match &mut self.content {
            Content::Stored(input) => input.read(buffer)?,
            Content::Deflated(decoder) => decoder.read(buffer)?,
            Content::Ended => 0,
        };
        self.crc.update(buffer.get(..read).unwrap_or_default());
        if read == 0 && !buffer.is_empty() {
            self.end()?;
        }
        Ok(read)
    }
}
