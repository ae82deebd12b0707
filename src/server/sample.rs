//! The session that is served when no file is given: made by this program, the same on every machine, and labelled synthetic.
//!
//! ```text
//!  day ─▶ market (one for each instrument) ─▶ feed (numbers, faults) ─▶ mbo ─▶ capture ─▶ mbp_10, trades
//! ```
//!
//! Three instruments trade from 13:30 to 20:00 UTC on 2024-05-08. One run of one model makes three tables in Databento's layouts:
//! every order (`mbo`), ten levels (`mbp_10`), the trades (`trades`). They keep the rules of those layouts: the session opens with a
//! clear and a snapshot, a trade is T (the aggressor), then F for each order it met, then C for what it took, and the last record of
//! an event carries `F_LAST`. Sequences count the messages of one instrument. Everything is integer arithmetic on fixed seeds.
//!
//! What is wrong with the session, on purpose:
//!
//! | UTC | Instrument | Fault |
//! |---|---|---|
//! | 15:10:00 to 15:10:00.5 | SYNFUT | messages are lost: its sequence jumps, its rows are marked doubtful until a snapshot at 15:10:12 |
//! | 16:45:10 to 16:45:20 | SYNBIG | crossed by two ticks: a bid that the venue does not know stands above the asks |
//! | 17:05:00 to 17:05:02 | SYNFUT | locked: the same, at the best ask |
//! | 17:30:00 to 17:33:00 | all | nothing is received; a snapshot of each follows |
//! | 18:40:00 to 18:40:10 | SYNFUT | every message comes twice |

use std::path::Path;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::thread;

use dbn::{MboMsg, Mbp10Msg, TradeMsg, TsSymbolMap};

use super::error::ServeError;
use super::import::TableWriter;
use super::import::dbn::{Rows, TickRecord};
use super::progress::Progress;
use day::{OPENING_NANOS, SESSION_NANOS};
use feed::{Block, Feed};
use instruments::INSTRUMENTS;

mod capture;
mod day;
mod faults;
mod feed;
mod instruments;
mod market;
mod orders;
mod random;

pub(crate) use faults::NOTE;

/// Raised when the session changes, so that a cached one is made anew.
pub(crate) const VERSION: u32 = 2;

/// Its tables and their rows.
pub(crate) const TABLES: [(dbn::Schema, u64); 3] = [(dbn::Schema::Mbo, 2_295_305), (dbn::Schema::Mbp10, 1_490_927), (dbn::Schema::Trades, 120_051)];

/// Rows of `mbo` that are made before they, and what follows from them, are written.
const BLOCK_ROWS: usize = 16 * 1024;

/// A table on its way, and how far it is.
pub(crate) struct Target<'a> {
    /// Its file.
    pub(crate) writer: TableWriter,
    /// For those who wait for it.
    pub(crate) progress: &'a Progress,
}

/// What a table takes as records, in bytes: the measure of its progress.
pub(crate) fn bytes(schema: dbn::Schema) -> u64 {
    let record = match schema {
        dbn::Schema::Mbo => size_of::<MboMsg>(),
        dbn::Schema::Mbp10 => size_of::<Mbp10Msg>(),
        _ => size_of::<TradeMsg>(),
    };
    TABLES.iter().find(|table| table.0 == schema).map_or(0, |table| table.1 * record as u64)
}

/// Makes the session: one thread makes the messages, two write the tables, which is most of the work. Returns the writers of the
/// tables in the order of [`TABLES`].
///
/// # Errors
/// A failing disk.
pub(crate) fn write([mbo, depth, trades]: [Target<'_>; 3]) -> Result<[TableWriter; 3], ServeError> {
    let symbols = symbols()?;
    let symbols = &symbols;
    thread::scope(|scope| {
        // Two blocks wait at most.
        let (to_mbo, mbo_blocks) = sync_channel(2);
        let (to_depth, depth_blocks) = sync_channel(2);
        let (to_trades, trade_blocks) = sync_channel(2);
        let mbo = scope.spawn(move || encode::<MboMsg>(&mbo_blocks, mbo, symbols));
        let depth = scope.spawn(move || encode::<Mbp10Msg>(&depth_blocks, depth, symbols));
        let trades = scope.spawn(move || encode::<TradeMsg>(&trade_blocks, trades, symbols));
        send(to_mbo, to_depth, to_trades);
        let ended = [mbo.join(), depth.join(), trades.join()];
        let [mbo, depth, trades] = ended.map(|end| end.unwrap_or_else(|_| Err(ServeError::engine("making the sample", "a thread of it ended"))));
        Ok([mbo?, depth?, trades?])
    })
}

/// Makes the messages, until nobody takes them any more.
fn send(mbo: SyncSender<Vec<MboMsg>>, depth: SyncSender<Vec<Mbp10Msg>>, trades: SyncSender<Vec<TradeMsg>>) {
    let mut feed = Feed::new();
    let mut more = true;
    while more {
        let mut block = Block::default();
        more = feed.fill(&mut block, BLOCK_ROWS);
        // A writer that failed says why itself.
        if mbo.send(block.mbo).is_err() || depth.send(block.depth).is_err() || trades.send(block.trades).is_err() {
            return;
        }
    }
}

fn encode<T: TickRecord>(blocks: &Receiver<Vec<T>>, target: Target<'_>, symbols: &TsSymbolMap) -> Result<TableWriter, ServeError> {
    let Target { mut writer, progress } = target;
    let mut rows = Rows::new();
    while let Ok(block) = blocks.recv() {
        for record in &block {
            rows.push(record, symbols);
        }
        let batch = rows.take(writer.schema()).map_err(|bad| ServeError::engine("making the sample", bad))?;
        let written = writer.rows();
        writer.write(&batch, Path::new("sample"), written)?;
        progress.read(writer.rows() * size_of::<T>() as u64, writer.rows());
    }
    Ok(writer)
}

fn symbols() -> Result<TsSymbolMap, ServeError> {
    let mut symbols = TsSymbolMap::new();
    for instrument in &INSTRUMENTS {
        let inserted = symbols.insert(u32::from(instrument.id), OPENING_NANOS, OPENING_NANOS + SESSION_NANOS, instrument.symbol);
        inserted.map_err(|error| ServeError::engine("making the sample", error))?;
    }
    Ok(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rows_that_progress_is_measured_by_are_those_that_are_made() {
        let mut feed = Feed::new();
        let mut made = [0, 0, 0];
        let mut more = true;
        while more {
            let mut block = Block::default();
            more = feed.fill(&mut block, BLOCK_ROWS);
            made = [made[0] + block.mbo.len() as u64, made[1] + block.depth.len() as u64, made[2] + block.trades.len() as u64];
        }
        assert_eq!(made, TABLES.map(|table| table.1));
    }
}
