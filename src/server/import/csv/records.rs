//! Splits text into records and fields, strictly: a quote opens a field at its beginning and closes it at its end, or it is an error.
//!
//! One buffer holds the record that is read and what was read ahead; a record without a quote is never copied.

use std::io::Read;

use memchr::{memchr_iter, memchr2};

/// A record with more is no record: a quote is missing, or the delimiter is another one.
pub(super) const MAX_RECORD_BYTES: usize = 1 << 20;
/// Columns of a file.
pub(super) const MAX_COLUMNS: usize = 4096;
const READ_BYTES: usize = 1 << 18;
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// Why the next record cannot be read.
#[derive(Debug)]
pub(super) enum BadRecord {
    /// The file cannot be read on.
    Read(std::io::Error),
    /// A broken record.
    Broken {
        /// The line where it begins, from 1.
        line: u64,
        /// What is wrong.
        problem: String,
    },
}

/// A part of the buffer.
type Span = (usize, usize);

/// Reads records one after the other.
pub(super) struct Records<R> {
    input: R,
    delimiter: u8,
    buffer: Vec<u8>,
    /// The part of the buffer that was read and not yet handed out.
    rest: Span,
    at_end: bool,
    /// Where the next record begins, from 1.
    line: u64,
    fields: Vec<Span>,
    /// The fields of a record with quotes, without them.
    unquoted: Vec<u8>,
}

/// One record.
#[derive(Debug, Clone, Copy)]
pub(super) struct Record<'a> {
    text: &'a str,
    fields: &'a [Span],
    /// The line where it begins, from 1.
    pub(super) line: u64,
}

impl<'a> Record<'a> {
    /// How many fields it has.
    pub(super) fn len(&self) -> usize {
        self.fields.len()
    }

    /// Its fields in order.
    pub(super) fn fields(&self) -> impl Iterator<Item = &'a str> + use<'a> {
        let text = self.text;
        self.fields.iter().map(move |&(start, end)| text.get(start..end).unwrap_or_default())
    }
}

/// Where a record ends: its own bytes, and where the next begins.
enum End {
    Plain { end: usize, next: usize },
    Quoted { next: usize, lines: u64 },
    More,
}

impl<R: Read> Records<R> {
    /// Over text, from its beginning.
    pub(super) fn new(input: R, delimiter: u8) -> Records<R> {
        let (buffer, fields, unquoted) = (vec![0; READ_BYTES], Vec::new(), Vec::new());
        Records { input, delimiter, buffer, rest: (0, 0), at_end: false, line: 1, fields, unquoted }
    }

    /// The next record that is not an empty line; `None` at the end.
    ///
    /// # Errors
    /// Quotes that do not match, bytes that are no UTF-8, a record without end.
    pub(super) fn next(&mut self) -> Result<Option<Record<'_>>, BadRecord> {
        loop {
            self.skip_empty_lines();
            let (start, filled) = self.rest;
            match self.find_end()? {
                End::Plain { end, next } => {
                    let line = self.line;
                    self.line += 1;
                    self.rest.0 = next;
                    let bytes = self.buffer.get(start..end).unwrap_or_default();
                    let bytes = bytes.strip_suffix(b"\r").unwrap_or(bytes);
                    self.fields.clear();
                    let mut from = 0;
                    for at in memchr_iter(self.delimiter, bytes) {
                        self.fields.push((from, at));
                        from = at + 1;
                    }
                    self.fields.push((from, bytes.len()));
                    return record(bytes, &self.fields, line).map(Some);
                }
                End::Quoted { next, lines } => {
                    let line = self.line;
                    self.line += lines;
                    self.rest.0 = next;
                    return record(&self.unquoted, &self.fields, line).map(Some);
                }
                End::More if self.at_end && start == filled => return Ok(None),
                End::More if filled - start > MAX_RECORD_BYTES => {
                    return Err(self.broken(format!("no end of this record within {MAX_RECORD_BYTES} bytes: a quote is not closed, or it is no CSV")));
                }
                End::More => self.fill()?,
            }
        }
    }

    fn broken(&self, problem: impl Into<String>) -> BadRecord {
        BadRecord::Broken { line: self.line, problem: problem.into() }
    }

    fn skip_empty_lines(&mut self) {
        while let Some(rest) = self.buffer.get(self.rest.0..self.rest.1) {
            let empty = match rest {
                [b'\n', ..] => 1,
                [b'\r', b'\n', ..] => 2,
                [b'\r'] if self.at_end => 1,
                _ => return,
            };
            self.rest.0 += empty;
            self.line += 1;
        }
    }

    /// Reads more behind what is there.
    fn fill(&mut self) -> Result<(), BadRecord> {
        let first = self.rest == (0, 0);
        self.buffer.copy_within(self.rest.0..self.rest.1, 0);
        self.rest = (0, self.rest.1 - self.rest.0);
        if self.rest.1 == self.buffer.len() {
            self.buffer.resize(2 * self.buffer.len(), 0);
        }
        // The beginning is read whole, so that its mark is seen.
        while !self.at_end {
            let room = self.buffer.get_mut(self.rest.1..).unwrap_or_default();
            match self.input.read(room) {
                Ok(0) => self.at_end = true,
                Ok(read) => self.rest.1 += read,
                Err(error) if error.kind() == std::io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(BadRecord::Read(error)),
            }
            if !first || self.rest.1 >= BOM.len() {
                break;
            }
        }
        if first && self.buffer.get(..self.rest.1).is_some_and(|start| start.starts_with(BOM)) {
            self.rest.0 = BOM.len();
        }
        Ok(())
    }

    fn find_end(&mut self) -> Result<End, BadRecord> {
        let (start, filled) = self.rest;
        let rest = self.buffer.get(start..filled).unwrap_or_default();
        match memchr2(b'\n', b'"', rest) {
            Some(at) if rest.get(at) == Some(&b'"') => {
                self.fields.clear();
                self.unquoted.clear();
                let found = unquote(rest, self.delimiter, self.at_end, &mut self.fields, &mut self.unquoted);
                let found = found.map_err(|(lines, problem)| BadRecord::Broken { line: self.line + lines, problem: problem.to_owned() })?;
                Ok(found.map_or(End::More, |(length, lines)| End::Quoted { next: start + length, lines }))
            }
            Some(at) => Ok(End::Plain { end: start + at, next: start + at + 1 }),
            None if self.at_end && start < filled => Ok(End::Plain { end: filled, next: filled }),
            None => Ok(End::More),
        }
    }
}

fn record<'a>(bytes: &'a [u8], fields: &'a [Span], line: u64) -> Result<Record<'a>, BadRecord> {
    let broken = |problem: String| BadRecord::Broken { line, problem };
    if fields.len() > MAX_COLUMNS {
        return Err(broken(format!("{} fields: at most {MAX_COLUMNS} are read", fields.len())));
    }
    match std::str::from_utf8(bytes) {
        Ok(text) => Ok(Record { text, fields, line }),
        Err(error) => Err(broken(format!("its byte {} is not UTF-8: convert the file to UTF-8", error.valid_up_to() + 1))),
    }
}

/// Takes a record that has quotes apart. Returns its length in bytes and lines, or `None` when its end was not read yet.
fn unquote(
    bytes: &[u8],
    delimiter: u8,
    at_end: bool,
    fields: &mut Vec<Span>,
    unquoted: &mut Vec<u8>,
) -> Result<Option<(usize, u64)>, (u64, &'static str)> {
    #[derive(PartialEq)]
    enum Place {
        Start,
        Plain,
        Quoted,
        Closed,
    }
    const MIDDLE: &str = "a quote stands in the middle of a field: put the whole field in quotes, and double those inside";
    let (mut place, mut lines, mut from) = (Place::Start, 0, 0);
    for (at, &byte) in bytes.iter().enumerate() {
        place = match (place, byte) {
            (Place::Quoted, b'"') => Place::Closed,
            (Place::Quoted, _) => {
                lines += u64::from(byte == b'\n');
                unquoted.push(byte);
                Place::Quoted
            }
            (Place::Closed, b'"') => {
                unquoted.push(byte);
                Place::Quoted
            }
            (Place::Start, b'"') => Place::Quoted,
            (_, b'"') => return Err((lines, MIDDLE)),
            (_, b'\n') => {
                fields.push((from, unquoted.len()));
                return Ok(Some((at + 1, lines + 1)));
            }
            (_, b'\r') if bytes.get(at + 1).is_none_or(|&next| next == b'\n') => Place::Closed,
            (_, byte) if byte == delimiter => {
                fields.push((from, unquoted.len()));
                from = unquoted.len();
                Place::Start
            }
            (Place::Closed, _) => return Err((lines, MIDDLE)),
            (_, byte) => {
                unquoted.push(byte);
                Place::Plain
            }
        };
    }
    match (at_end, place) {
        (false, _) => Ok(None),
        (true, Place::Quoted) => Err((0, "a quote is opened and never closed")),
        (true, _) => {
            fields.push((from, unquoted.len()));
            Ok(Some((bytes.len(), lines + 1)))
        }
    }
}

#[cfg(test)]
mod tests;
