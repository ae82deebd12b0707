//! zstd on the wire: what a client asked for, and the compressor of its connection.
//!
//! A native client asks by the header `X-QWP-Accept-Encoding`, a page by the URL parameter `qwp_accept_encoding`, which wins. Both hold a
//! comma list of `zstd[;level=N]`, `raw` and `identity`; the first known token counts. Levels are brought into 1 to 9. Raw is what a
//! client gets that asks for nothing: on loopback it is the faster one.

use zstd::bulk::Compressor;

use crate::wire::{Compression, compress_batch};

/// Level of a `zstd` without one.
const DEFAULT_LEVEL: u8 = 1;
/// Levels above cost a server much and gain little.
const MAX_LEVEL: i64 = 9;

/// What was agreed on for a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Agreed {
    /// Of zstd; `None` is raw.
    pub(crate) level: Option<u8>,
    /// Asked by the URL: a page cannot read the answer's headers, so SERVER_INFO has to tell it.
    pub(crate) announced: bool,
}

impl Agreed {
    /// What the header and the URL parameter ask for. The parameter comes as it stands in the URL.
    pub(crate) fn new(header: Option<&str>, parameter: Option<&str>) -> Agreed {
        // A bare `=` in the value makes QuestDB's parser drop the parameter, so clients have to write %3D.
        let parameter = parameter.filter(|text| !text.contains('=')).and_then(percent_decoded);
        let asked = parameter.as_deref().or(header).unwrap_or_default();
        Agreed { level: asked.split(',').find_map(token).flatten(), announced: parameter.is_some() }
    }

    /// What SERVER_INFO says of it.
    pub(crate) fn announcement(self) -> Option<Compression> {
        self.announced.then(|| Compression { codec: u8::from(self.level.is_some()), level: self.level.unwrap_or(0) })
    }
}

/// A known token: a level of zstd, or none for raw.
fn token(text: &str) -> Option<Option<u8>> {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next()?;
    if name.eq_ignore_ascii_case("raw") || name.eq_ignore_ascii_case("identity") {
        return Some(None);
    }
    if !name.eq_ignore_ascii_case("zstd") {
        return None;
    }
    let level = parts.next().map(|text| text.rsplit('=').next().unwrap_or(text).trim());
    let level = level.and_then(|text| text.parse::<i64>().ok()).map(|level| level.clamp(1, MAX_LEVEL));
    Some(Some(level.and_then(|level| u8::try_from(level).ok()).unwrap_or(DEFAULT_LEVEL)))
}

/// `None` when it is not what a URL may hold.
fn percent_decoded(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let Some((&byte, behind)) = rest.split_first() {
        rest = behind;
        bytes.push(match byte {
            b'%' => {
                let (digits, behind) = rest.split_at_checked(2)?;
                rest = behind;
                u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?
            }
            b'+' => b' ',
            other => other,
        });
    }
    String::from_utf8(bytes).ok()
}

/// Compresses the batches of one connection. Holds tables of about a megabyte at the highest level, and one body.
pub(crate) struct BatchCompressor {
    compressor: Compressor<'static>,
    space: Vec<u8>,
}

impl BatchCompressor {
    /// A compressor of that level; `None` when there is no memory for it, and then batches stay raw, which a client must take.
    pub(crate) fn new(level: u8) -> Option<BatchCompressor> {
        Some(BatchCompressor { compressor: Compressor::new(i32::from(level)).ok()?, space: Vec::new() })
    }

    /// Compresses a batch, unless that does not make it smaller.
    pub(crate) fn apply(&mut self, message: &mut Vec<u8>) {
        let compressor = &mut self.compressor;
        compress_batch(message, &mut self.space, |body, space| compressor.compress_to_buffer(body, space).ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn level(header: &str) -> Option<u8> {
        Agreed::new(Some(header), None).level
    }

    #[test]
    fn the_first_known_token_counts_and_levels_are_brought_into_range() {
        let asked = [
            ("zstd", Some(1)),
            ("ZSTD ; level=4", Some(4)),
            ("zstd;5", Some(5)),
            ("br, zstd;level=2, raw", Some(2)),
            ("zstd;level=0", Some(1)),
            ("zstd;level=-3", Some(1)),
            ("zstd;level=22", Some(9)),
            ("zstd;level=x", Some(1)),
            ("raw, zstd", None),
            ("identity,zstd", None),
            ("gzip", None),
            ("", None),
        ];
        for (header, expected) in asked {
            assert_eq!(level(header), expected, "{header:?}");
        }
    }

    #[test]
    fn the_parameter_is_decoded_wins_over_the_header_and_is_announced() {
        let agreed = |header, parameter| {
            let agreed = Agreed::new(header, parameter);
            (agreed.level, agreed.announcement().map(|told| (told.codec, told.level)))
        };
        assert_eq!(agreed(None, Some("zstd%3Blevel%3D3%2Craw")), (Some(3), Some((1, 3))));
        assert_eq!(agreed(Some("zstd;level=7"), Some("raw")), (None, Some((0, 0))));
        assert_eq!(agreed(Some("zstd;level=7"), None), (Some(7), None));
        // Not encoded as it must be, or not at all: as if it were not there.
        assert_eq!(agreed(None, Some("zstd;level=3")), (None, None));
        assert_eq!(agreed(None, Some("zstd%3")), (None, None));
        assert_eq!(agreed(None, Some("zstd%ff")), (None, None));
    }
}
