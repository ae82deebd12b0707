//! What exchanges sent, as the tables of level changes that such captures are kept in: a row a level, its size from now on, and a mark
//! on the rows of snapshots.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use arrow_array::{ArrayRef, BooleanArray, Decimal64Array, RecordBatch, StringArray, TimestampNanosecondArray};
use serde_json::Value;
use tickscope::market::{Binding, ColumnDecl};
use tickscope::units::{Decimal, Scale};

/// A row: a level as it was sent.
#[derive(Debug, Clone)]
pub struct Level {
    pub time: i64,
    pub snapshot: bool,
    pub side: &'static str,
    pub price: String,
    pub size: String,
}

/// One message of a feed: its rows share a time that no other message of the instrument has.
#[derive(Debug, Clone, Default)]
pub struct Message {
    pub rows: Vec<Level>,
    /// What the exchange says of the book behind it.
    pub checksum: Option<i64>,
    /// Number of its last update.
    pub last_update: i64,
}

impl Message {
    pub fn push(&mut self, time: i64, snapshot: bool, side: &'static str, levels: &Value) {
        for level in levels.as_array().into_iter().flatten() {
            let text = |at: usize| level[at].as_str().unwrap().to_owned();
            self.rows.push(Level { time, snapshot, side, price: text(0), size: text(1) });
        }
    }
}

/// `1618678133.626511` as nanoseconds.
fn nanos(seconds: &str) -> i64 {
    Decimal::parse(seconds).unwrap().at_scale(Scale(9)).unwrap()
}

fn lines(path: &Path) -> Vec<(i64, Value)> {
    let text = std::fs::read_to_string(path).unwrap();
    let line = |line: &str| {
        let (time, json) = line.split_once(": ")?;
        let time = time.parse::<f64>().is_ok().then(|| nanos(time))?;
        Some((time, serde_json::from_str(json).ok()?))
    };
    text.lines().filter_map(line).collect()
}

/// Kraken's book of each pair.
pub fn kraken(path: &Path) -> BTreeMap<String, Vec<Message>> {
    let mut books: BTreeMap<String, Vec<Message>> = BTreeMap::new();
    for (time, json) in lines(path) {
        let Some(parts) = json.as_array() else { continue };
        let mut message = Message::default();
        for part in &parts[1..parts.len() - 2] {
            for (key, side, snapshot) in [("as", "ask", true), ("bs", "bid", true), ("a", "ask", false), ("b", "bid", false)] {
                message.push(time, snapshot, side, &part[key]);
            }
            message.checksum = message.checksum.or_else(|| part["c"].as_str().map(|text| text.parse().unwrap()));
        }
        books.entry(parts.last().unwrap().as_str().unwrap().to_owned()).or_default().push(message);
    }
    books
}

/// Bitget's book of each pair.
pub fn bitget(path: &Path) -> BTreeMap<String, Vec<Message>> {
    let mut books: BTreeMap<String, Vec<Message>> = BTreeMap::new();
    for (time, json) in lines(path) {
        if json["arg"]["channel"] != "books" || !json["data"].is_array() {
            continue;
        }
        for data in json["data"].as_array().unwrap() {
            let mut message = Message { checksum: data["checksum"].as_i64(), ..Message::default() };
            for (key, side) in [("asks", "ask"), ("bids", "bid")] {
                message.push(time, json["action"] == "snapshot", side, &data[key]);
            }
            books.entry(json["arg"]["instId"].as_str().unwrap().to_owned()).or_default().push(message);
        }
    }
    books
}

/// Binance's snapshot and the differences behind it, and its best bid and ask by number of update.
pub fn binance(path: &Path, futures: bool) -> (Vec<Message>, BTreeMap<i64, [String; 4]>) {
    let mut text = String::new();
    flate2::read::GzDecoder::new(std::fs::File::open(path).unwrap()).read_to_string(&mut text).unwrap();
    let lines: Vec<(i64, Value)> = text
        .lines()
        .map(|line| line.split_once(' ').unwrap())
        .map(|(time, json)| (time.parse().unwrap(), serde_json::from_str(json).unwrap()))
        .collect();
    let (mut time, snapshot) = lines.iter().find(|(_, json)| json["lastUpdateId"].is_i64()).unwrap().clone();
    let snapshot_id = snapshot["lastUpdateId"].as_i64().unwrap();
    let mut first = Message { last_update: snapshot_id, ..Message::default() };
    first.push(time, true, "bid", &snapshot["bids"]);
    first.push(time, true, "ask", &snapshot["asks"]);
    let (mut messages, mut tops, mut last) = (vec![first], BTreeMap::new(), None);
    for (at, json) in &lines {
        let data = &json["data"];
        let update = data["u"].as_i64().unwrap_or(0);
        if json["stream"].as_str().is_some_and(|name| name.ends_with("bookTicker")) {
            tops.insert(update, ["b", "B", "a", "A"].map(|key| data[key].as_str().unwrap().to_owned()));
        }
        if data["e"] != "depthUpdate" || update < snapshot_id || (update == snapshot_id && !futures) {
            continue;
        }
        // The bridge: no update is missing between the snapshot and the first difference, nor between two of these.
        let (from, before) = (data["U"].as_i64().unwrap(), data["pu"].as_i64());
        match last {
            None => assert!(from <= snapshot_id + 1, "{from} leaves a hole behind {snapshot_id}"),
            Some(last) => assert_eq!(before.unwrap_or(from - 1), last),
        }
        last = Some(update);
        // What came while the snapshot was on its way belongs behind it.
        time = (*at).max(time + 1);
        let mut message = Message { last_update: update, ..Message::default() };
        message.push(time, false, "bid", &data["b"]);
        message.push(time, false, "ask", &data["a"]);
        messages.push(message);
    }
    (messages, tops)
}

/// The most digits after the point that a feed writes.
pub fn digits(messages: &[Message], text: impl Fn(&Level) -> &str) -> Scale {
    let digits = |text: &str| text.split_once('.').map_or(0, |(_, fraction)| fraction.len() as u8);
    Scale(messages.iter().flat_map(|message| &message.rows).map(|row| digits(text(row))).max().unwrap())
}

/// The rows as a table under Tardis' names, and what binds it.
pub fn table(messages: &[Message]) -> (Binding, RecordBatch) {
    let rows: Vec<&Level> = messages.iter().flat_map(|message| &message.rows).collect();
    let decimals = |text: &dyn Fn(&Level) -> &str, scale: Scale| -> ArrayRef {
        let values = rows.iter().map(|row| Decimal::parse(text(row)).unwrap().at_scale(scale).unwrap());
        Arc::new(Decimal64Array::from_iter_values(values).with_precision_and_scale(18, scale.0 as i8).unwrap())
    };
    let (prices, sizes) = (digits(messages, |row| &row.price), digits(messages, |row| &row.size));
    let columns: [(&str, String, ArrayRef); 5] = [
        ("local_timestamp", "TIMESTAMP_NS".into(), Arc::new(TimestampNanosecondArray::from_iter_values(rows.iter().map(|row| row.time)))),
        ("is_snapshot", "BOOLEAN".into(), Arc::new(BooleanArray::from_iter(rows.iter().map(|row| Some(row.snapshot))))),
        ("side", "VARCHAR".into(), Arc::new(StringArray::from_iter_values(rows.iter().map(|row| row.side)))),
        ("price", format!("DECIMAL(18,{})", prices.0), decimals(&|row| &row.price, prices)),
        ("amount", format!("DECIMAL(18,{})", sizes.0), decimals(&|row| &row.size, sizes)),
    ];
    let declared: Vec<ColumnDecl> = columns.iter().map(|(name, kind, _)| ColumnDecl { name: (*name).into(), kind: kind.clone() }).collect();
    let batch = RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, _, array)| (name, array, true))).unwrap();
    (Binding::bind("changes", &declared, Some("local_timestamp")).unwrap(), batch)
}
