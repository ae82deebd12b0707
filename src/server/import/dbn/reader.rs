//! Reads the records of a file, and says what is wrong with a damaged one in words of its own.

use std::fs::File;
use std::io::{BufReader, Cursor, ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use dbn::decode::dbn::Decoder;
use dbn::decode::{DbnMetadata as _, DecodeRecord as _};
use dbn::{HasRType, RecordHeader, TsSymbolMap, VersionUpgradePolicy};

use crate::server::error::ServeError;

const ZSTD_MAGIC: [u8; 4] = 0xFD2F_B528_u32.to_le_bytes();
/// A DBN file starts with these, its version and the length of its metadata.
const DBN_MAGIC: &[u8; 3] = b"DBN";
const PREFIX_BYTES: usize = 8;
/// The newest version that is read.
const MAX_VERSION: u8 = 3;
/// Metadata of all options of a day with their symbols has some hundred MiB.
const MAX_METADATA_BYTES: u32 = 1 << 30;
/// A record says its length in units of so many bytes.
const LENGTH_UNIT: usize = 4;

/// Whether a file that starts with these bytes may be DBN.
pub(crate) fn is_dbn(magic: &[u8]) -> bool {
    magic.starts_with(DBN_MAGIC) || magic.starts_with(&ZSTD_MAGIC)
}

/// Counts the stored bytes that are read through it.
struct Counting<R> {
    inner: R,
    bytes: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let read = self.inner.read(buffer)?;
        self.bytes.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

/// Follows the lengths of header and records, so that an end inside one is an error: the decoder takes it for a proper end.
struct Framed<R> {
    inner: R,
    /// Bytes left of the header or record that is being read.
    left: usize,
}

impl<R: Read> Read for Framed<R> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        let damaged = |problem: &str| std::io::Error::new(ErrorKind::InvalidData, problem);
        let read = self.inner.read(buffer).map_err(|error| match error.kind() {
            // Also what the decompressor says of its own frames.
            ErrorKind::UnexpectedEof => damaged("the file is cut short: its compressed data ends in the middle"),
            _ if error.raw_os_error().is_none() => damaged("its compressed data is damaged"),
            _ => error,
        })?;
        if read == 0 && self.left > 0 && !buffer.is_empty() {
            return Err(damaged("the file is cut short: it ends inside this record"));
        }
        let mut rest = buffer.get(..read).unwrap_or_default();
        loop {
            match rest.get(self.left..) {
                Some(next) => rest = next,
                None => {
                    self.left -= rest.len();
                    return Ok(read);
                }
            }
            let Some(&length) = rest.first() else {
                self.left = 0;
                return Ok(read);
            };
            self.left = usize::from(length) * LENGTH_UNIT;
            if self.left < size_of::<RecordHeader>() {
                return Err(damaged("it is damaged: its length cannot be"));
            }
        }
    }
}

type Plain = Framed<std::io::Chain<Cursor<Vec<u8>>, Box<dyn Read + Send>>>;

/// An open file whose metadata was read.
pub(crate) struct DbnReader {
    decoder: Decoder<Plain>,
    path: PathBuf,
    /// Bytes of the file as stored that were read.
    stored: Arc<AtomicU64>,
    /// Records handed out.
    records: u64,
}

impl DbnReader {
    /// Opens a file and reads its metadata.
    ///
    /// # Errors
    /// Not a readable file, or not DBN.
    pub(crate) fn open(path: &Path) -> Result<DbnReader, ServeError> {
        let damaged = |problem: &str| ServeError::content(path, None, format!("its DBN header {problem}"));
        let unknown = || ServeError::UnknownFormat { path: path.to_owned() };
        let stored = Arc::new(AtomicU64::new(0));
        let file = File::open(path).map_err(ServeError::file("read", path))?;
        let mut file = BufReader::with_capacity(1 << 18, Counting { inner: file, bytes: Arc::clone(&stored) });
        let mut magic = [0; 4];
        file.read_exact(&mut magic).map_err(|_| unknown())?;
        let compressed = magic == ZSTD_MAGIC;
        let whole = Cursor::new(magic.to_vec()).chain(file);
        let mut bytes: Box<dyn Read + Send> = match compressed {
            true => Box::new(zstd::Decoder::new(whole).map_err(ServeError::file("read", path))?),
            false => Box::new(whole),
        };
        let mut prefix = [0; PREFIX_BYTES];
        bytes.read_exact(&mut prefix).map_err(|_| unknown())?;
        let (start, length) = prefix.split_at(LENGTH_UNIT);
        let &[b'D', b'B', b'N', version] = start else { return Err(unknown()) };
        let length = length.try_into().map(u32::from_le_bytes).unwrap_or(u32::MAX);
        if !(1..=MAX_VERSION).contains(&version) {
            return Err(damaged(&format!("says version {version}: versions 1 to {MAX_VERSION} can be read")));
        }
        if length > MAX_METADATA_BYTES {
            return Err(damaged(&format!("says that it has {length} bytes: at most {MAX_METADATA_BYTES} are read")));
        }
        let left = PREFIX_BYTES + usize::try_from(length).unwrap_or(usize::MAX);
        let reader = Framed { inner: Cursor::new(prefix.to_vec()).chain(bytes), left };
        let decoder = Decoder::with_upgrade_policy(reader, VersionUpgradePolicy::UpgradeToV3);
        let decoder = decoder.map_err(|error| match error {
            dbn::Error::Io { .. } => damaged("is cut short or damaged: get the file anew"),
            _ => damaged("is damaged: get the file anew"),
        })?;
        Ok(DbnReader { decoder, path: path.to_owned(), stored, records: 0 })
    }

    /// The schema of all its records; `None` for a mixed stream.
    pub(crate) fn schema(&self) -> Option<dbn::Schema> {
        self.decoder.metadata().schema
    }

    /// Which symbol an instrument had when.
    ///
    /// # Errors
    /// The mappings of the file contradict themselves.
    pub(super) fn symbols(&self) -> Result<TsSymbolMap, ServeError> {
        let map = self.decoder.metadata().symbol_map();
        map.map_err(|error| ServeError::content(&self.path, None, format!("the symbols in its DBN header cannot be read: {error}")))
    }

    /// Bytes of the file that were read so far.
    pub(super) fn stored_bytes(&self) -> u64 {
        self.stored.load(Ordering::Relaxed)
    }

    /// The next record.
    ///
    /// # Errors
    /// A damaged record, one of another schema, or an end inside a record.
    pub(super) fn next<T: HasRType<Header = RecordHeader>>(&mut self) -> Result<Option<&T>, ServeError> {
        let record = self.decoder.decode_record::<T>().map_err(|error| ServeError::content(&self.path, Some(self.records), explain(&error)))?;
        self.records += u64::from(record.is_some());
        Ok(record)
    }
}

/// What a decoder's error means for the one who has the file.
fn explain(error: &dbn::Error) -> String {
    match error {
        dbn::Error::Io { source, .. } => source.to_string(),
        dbn::Error::Conversion { .. } => "it is not a record of the schema that the file names".to_owned(),
        other => format!("it is damaged: {other}"),
    }
}
