//! Files that tests make themselves.

use std::fs::File;
use std::io::Write;
use std::path::Path;

use dbn::encode::{DbnEncoder, EncodeRecord};
use dbn::{FlagSet, MboMsg, Metadata, RecordHeader, SType, Schema, TradeMsg, flags, rtype};

/// When the files begin, in nanoseconds since 1970.
pub const START: u64 = 1_715_175_000_000_000_000;

/// One order of an MBO file.
pub struct Order {
    /// Instrument id.
    pub instrument: u32,
    /// Nanoseconds after [`START`].
    pub after: u64,
    /// `b'A'`, `b'C'`, or `b'R'` for a clear.
    pub action: u8,
    /// Order id: even ones are bids from 100 down, odd ones asks from 101 up.
    pub id: u64,
    /// Size.
    pub size: u32,
    /// Whether the event group ends with it.
    pub ends_group: bool,
    /// Whether the source says that the book may be wrong.
    pub doubtful: bool,
}

/// Writes an MBO file: a clear of every instrument, then the orders.
///
/// # Errors
/// When it cannot be written; with its name.
pub fn orders(path: &Path, orders: impl Iterator<Item = Order>) -> Result<(), String> {
    let write = || -> Result<(), Box<dyn std::error::Error>> {
        let mut encoder = encoder(path, Schema::Mbo)?;
        each(orders, |record| Ok(encoder.encode_record(record)?))
    };
    write().map_err(|why| format!("{}: {why}", path.display()))
}

/// Writes the same rows as comma-separated text, as the vendor of the format does: prices in units of 1e-9, times in nanoseconds.
///
/// # Errors
/// When it cannot be written; with its name.
pub fn orders_csv(path: &Path, orders: impl Iterator<Item = Order>) -> Result<(), String> {
    let write = || -> Result<(), Box<dyn std::error::Error>> {
        let mut out = std::io::BufWriter::new(File::create(path)?);
        writeln!(out, "ts_recv,ts_event,rtype,publisher_id,instrument_id,action,side,price,size,channel_id,order_id,flags,ts_in_delta,sequence")?;
        each(orders, |record| {
            let MboMsg { hd, order_id, price, size, flags, channel_id, action, side, ts_recv, ts_in_delta, sequence } = record;
            let (action, side) = (*action as u8 as char, *side as u8 as char);
            let RecordHeader { rtype, publisher_id, instrument_id, ts_event, .. } = hd;
            write!(out, "{ts_recv},{ts_event},{rtype},{publisher_id},{instrument_id},{action},{side},{price},{size},")?;
            writeln!(out, "{channel_id},{order_id},{},{ts_in_delta},{sequence}", flags.raw())?;
            Ok(())
        })
    };
    write().map_err(|why| format!("{}: {why}", path.display()))
}

/// Writes an hour of one instrument: an order each 36 ms, of which forty rest.
///
/// # Errors
/// When it cannot be written; with its name.
pub fn hour(path: &Path) -> Result<(), String> {
    let order = |action: u8, id: u64, after: u64| Order { instrument: 41, after, action, id, size: 5, ends_group: true, doubtful: false };
    let pair =
        |id: u64| [Some(order(b'A', id, id * 36_000_000)), id.checked_sub(40).filter(|old| *old > 0).map(|old| order(b'C', old, id * 36_000_000))];
    orders(path, (1..=100_000).flat_map(pair).flatten())
}

/// Writes a file of trades, one of each of the instruments.
///
/// # Errors
/// When it cannot be written; with its name.
pub fn trades(path: &Path, instruments: &[u32]) -> Result<(), String> {
    let write = || -> Result<(), Box<dyn std::error::Error>> {
        let mut encoder = encoder(path, Schema::Trades)?;
        for (sequence, instrument) in (1..).zip(instruments) {
            let time = START + u64::from(sequence);
            encoder.encode_record(&TradeMsg {
                hd: RecordHeader::new::<TradeMsg>(rtype::MBP_0, 1, *instrument, time),
                price: 100_000_000_000,
                size: 5,
                action: b'T' as std::ffi::c_char,
                side: b'B' as std::ffi::c_char,
                flags: FlagSet::new(flags::LAST),
                depth: 0,
                ts_recv: time,
                ts_in_delta: 0,
                sequence,
            })?;
        }
        Ok(())
    };
    write().map_err(|why| format!("{}: {why}", path.display()))
}

fn encoder(path: &Path, schema: Schema) -> Result<DbnEncoder<std::io::BufWriter<File>>, Box<dyn std::error::Error>> {
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder)?;
    }
    let metadata =
        Metadata::builder().dataset("TEST").schema(Some(schema)).start(START).stype_in(Some(SType::RawSymbol)).stype_out(SType::InstrumentId).build();
    Ok(DbnEncoder::new(std::io::BufWriter::new(File::create(path)?), &metadata)?)
}

/// The records of the orders, each instrument's clear before its first.
fn each(
    orders: impl Iterator<Item = Order>,
    mut take: impl FnMut(&MboMsg) -> Result<(), Box<dyn std::error::Error>>,
) -> Result<(), Box<dyn std::error::Error>> {
    let mut sequence = 0;
    let mut cleared = Vec::new();
    let mut record = |instrument: u32, time: u64, action: u8, side: u8, order_id: u64, price: i64, size: u32, flags: u8| {
        sequence += 1;
        take(&MboMsg {
            hd: RecordHeader::new::<MboMsg>(rtype::MBO, 1, instrument, time),
            order_id,
            price,
            size,
            flags: FlagSet::new(flags),
            channel_id: 0,
            action: action as std::ffi::c_char,
            side: side as std::ffi::c_char,
            ts_recv: time,
            ts_in_delta: 0,
            sequence,
        })
    };
    for Order { instrument, after, action, id, size, ends_group, doubtful } in orders {
        if !cleared.contains(&instrument) {
            cleared.push(instrument);
            record(instrument, START, b'R', b'N', 0, dbn::UNDEF_PRICE, 0, flags::LAST)?;
        }
        if action == b'R' {
            record(instrument, START + after, action, b'N', 0, dbn::UNDEF_PRICE, 0, flags::LAST)?;
            continue;
        }
        let flags = (u8::from(ends_group) * flags::LAST) | (u8::from(doubtful) * flags::MAYBE_BAD_BOOK);
        let is_bid = id.is_multiple_of(2);
        let price = 1_000_000_000 * if is_bid { 100 - (id % 20) as i64 } else { 101 + (id % 20) as i64 };
        record(instrument, START + after, action, if is_bid { b'B' } else { b'A' }, id, price, size, flags)?;
    }
    Ok(())
}
