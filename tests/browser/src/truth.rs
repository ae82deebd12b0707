//! Truths that come with the data: books of the ES day, by a rebuild that is not ours.

use std::path::{Path, PathBuf};

use dbn::decode::{DbnMetadata as _, DecodeRecord as _, dbn::Decoder};
use serde_json::Value;

/// Where the market data lies, if it is there: `TICKSCOPE_DATA`, else `../shared/data` beside the package.
pub fn data() -> Option<PathBuf> {
    let place = std::env::var_os("TICKSCOPE_DATA").map_or_else(|| crate::server::root().join("../shared/data"), PathBuf::from);
    place.canonicalize().ok().filter(|place| place.join("databento").is_dir())
}

/// Both files of the ES session around Christmas 2023: the snapshot of the 24th and the whole 25th.
pub fn es_mbo(data: &Path) -> Vec<PathBuf> {
    ["20231224", "20231225"].map(|day| data.join(format!("databento/es-mbo/esh4-glbx-mdp3-{day}.mbo.dbn.zst"))).to_vec()
}

/// A book that is known for one moment.
pub struct Known {
    /// The moment as `ns/k`: after the k-th row with that time.
    pub moment: String,
    /// Bid and ask levels, best first: price, size, orders; as `state().book` has them.
    pub bids: Vec<(String, String, u64)>,
    /// The same for asks.
    pub asks: Vec<(String, String, u64)>,
}

impl Known {
    /// How a book (`state().book`) differs from this one in its first ten levels; None when it does not.
    pub fn difference(&self, book: &Value) -> Option<String> {
        for (name, known) in [("bids", &self.bids), ("asks", &self.asks)] {
            for (index, (price, size, count)) in known.iter().enumerate() {
                let level = &book[name][index];
                if level["price"] != **price || level["size"] != **size || level["count"] != *count {
                    return Some(format!("{name}[{index}] at {}: {level}, wanted {price} × {size} of {count} orders", self.moment));
                }
            }
        }
        None
    }
}

/// The 95 books of the ES day of the 25th. Their moments are counted in the file itself, apart from any import.
///
/// # Errors
/// When a file cannot be read or does not fit the other.
pub fn es_books(data: &Path) -> Result<Vec<Known>, String> {
    let times = receive_times(&es_mbo(data)[1])?;
    let table = data.join("databento/expected/esh4-20231225.top10.every-500th-event.csv");
    let text = std::fs::read_to_string(&table).map_err(|error| format!("{}: {error}", table.display()))?;
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap_or_default().split(',').collect();
    let column = |name: &str| header.iter().position(|column| *column == name).ok_or_else(|| format!("{}: no column {name}", table.display()));
    let mut books = Vec::new();
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let cell = |name: &str| -> Result<&str, String> { Ok(cells.get(column(name)?).copied().unwrap_or_default()) };
        let record: usize = cell("record")?.parse().map_err(|error| format!("{}: record: {error}", table.display()))?;
        let time = *times.get(record).ok_or_else(|| format!("{}: no record {record}", table.display()))?;
        if cell("ts_recv")? != time.to_string() {
            return Err(format!("record {record}: received at {time} in the file, at {} in the table", cell("ts_recv")?));
        }
        let ordinal = times[..=record].iter().filter(|other| **other == time).count();
        let side = |side: &str| -> Result<Vec<(String, String, u64)>, String> {
            let mut levels = Vec::new();
            for level in 0..10 {
                let price = cell(&format!("{side}_px_{level:02}"))?;
                let count = cell(&format!("{side}_ct_{level:02}"))?.parse().map_err(|error| format!("{side}_ct_{level:02}: {error}"))?;
                if !price.is_empty() {
                    levels.push((nanos_as_decimal(price)?, cell(&format!("{side}_sz_{level:02}"))?.to_owned(), count));
                }
            }
            Ok(levels)
        };
        books.push(Known { moment: format!("{time}/{ordinal}"), bids: side("bid")?, asks: side("ask")? });
    }
    Ok(books)
}

/// How many rows the files hold.
///
/// # Errors
/// When one cannot be read.
pub fn rows(files: &[PathBuf]) -> Result<u64, String> {
    files.iter().map(|file| receive_times(file).map(|times| times.len() as u64)).sum()
}

/// The time at which each record of an MBO, MBP-1 or MBP-10 file was received, in file order.
///
/// # Errors
/// When it cannot be read.
pub fn receive_times(file: &Path) -> Result<Vec<u64>, String> {
    let wrong = |error: dbn::Error| format!("{}: {error}", file.display());
    let mut decoder = Decoder::from_zstd_file(file).map_err(wrong)?;
    let schema = decoder.metadata().schema;
    let mut times = Vec::new();
    loop {
        let time = match schema {
            Some(dbn::Schema::Mbo) => decoder.decode_record::<dbn::MboMsg>().map_err(wrong)?.map(|record| record.ts_recv),
            Some(dbn::Schema::Mbp1) => decoder.decode_record::<dbn::Mbp1Msg>().map_err(wrong)?.map(|record| record.ts_recv),
            Some(dbn::Schema::Mbp10) => decoder.decode_record::<dbn::Mbp10Msg>().map_err(wrong)?.map(|record| record.ts_recv),
            other => return Err(format!("{}: schema {other:?} has no rows of a book", file.display())),
        };
        match time {
            Some(time) => times.push(time),
            None => return Ok(times),
        }
    }
}

/// A trade of an MBO file.
#[derive(Debug, Clone, PartialEq)]
pub struct Trade {
    /// When it was received, in nanoseconds since 1970.
    pub time: u64,
    /// How many records with that time there are up to it, itself included.
    pub ordinal: usize,
    /// Price in units of 10⁻⁹.
    pub price: i64,
    /// Contracts.
    pub size: u32,
    /// `▲` buy aggressor, `▼` sell aggressor, `·` not known.
    pub mark: &'static str,
}

/// The trades of an MBO file, in file order.
///
/// # Errors
/// When it cannot be read.
pub fn trades(file: &Path) -> Result<Vec<Trade>, String> {
    let wrong = |error: dbn::Error| format!("{}: {error}", file.display());
    let mut decoder = Decoder::from_zstd_file(file).map_err(wrong)?;
    let (mut trades, mut time, mut ordinal) = (Vec::new(), 0, 0);
    while let Some(record) = decoder.decode_record::<dbn::MboMsg>().map_err(wrong)? {
        ordinal = if record.ts_recv == time { ordinal + 1 } else { 1 };
        time = record.ts_recv;
        if record.action as u8 == b'T' {
            let mark = match record.side as u8 {
                b'B' => "▲",
                b'A' => "▼",
                _ => "·",
            };
            trades.push(Trade { time, ordinal, price: record.price, size: record.size, mark });
        }
    }
    Ok(trades)
}

/// A price in units of 10⁻⁹ as the shortest exact decimal.
fn nanos_as_decimal(text: &str) -> Result<String, String> {
    let nanos: i64 = text.parse().map_err(|error| format!("price {text}: {error}"))?;
    let sign = if nanos < 0 { "-" } else { "" };
    let (whole, part) = (nanos.unsigned_abs() / 1_000_000_000, nanos.unsigned_abs() % 1_000_000_000);
    let decimal = format!("{sign}{whole}.{part:09}");
    Ok(decimal.trim_end_matches('0').trim_end_matches('.').to_owned())
}
