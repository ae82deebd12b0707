//! What a subscriber makes of the messages that reach it: the book of ten levels (`mbp_10`) and the trades, row by row.
//!
//! It sees the rows of `mbo` and nothing else, so the three tables agree, lost and repeated messages included. A row of `mbp_10` is
//! a trade, with the book before it, or the end of an event that changed the ten best levels of a side, with the book after it;
//! `depth` is the first level that is different then.

use std::collections::{BTreeMap, HashMap};

use dbn::{BidAskPair, FlagSet, MboMsg, Mbp10Msg, RecordHeader, TradeMsg, UNDEF_PRICE, rtype};
use foldhash::fast::FixedState;

/// The levels of a row, best first; those that do not exist have no price.
type Levels = [BidAskPair; 10];

const NO_LEVEL: BidAskPair = BidAskPair { bid_px: UNDEF_PRICE, ask_px: UNDEF_PRICE, bid_sz: 0, ask_sz: 0, bid_ct: 0, ask_ct: 0 };

#[derive(Clone, Copy)]
struct Resting {
    bid: bool,
    price: i64,
    size: u32,
}

#[derive(Clone, Copy, Default)]
struct Level {
    size: u32,
    count: u32,
}

/// The book of one instrument as it was received.
pub(super) struct Capture {
    orders: HashMap<u64, Resting, FixedState>,
    bids: BTreeMap<i64, Level>,
    asks: BTreeMap<i64, Level>,
    /// The ten best levels, and whether they may have changed since.
    shown: Levels,
    changed: bool,
    /// Those of the last row.
    written: Levels,
}

impl Capture {
    /// An empty book.
    pub(super) fn new() -> Capture {
        let orders = HashMap::with_hasher(FixedState::with_seed(0));
        Capture { orders, bids: BTreeMap::new(), asks: BTreeMap::new(), shown: [NO_LEVEL; 10], changed: false, written: [NO_LEVEL; 10] }
    }

    /// Takes the rows of one event and appends those of the other two tables.
    pub(super) fn event(&mut self, group: &[MboMsg], depth: &mut Vec<Mbp10Msg>, trades: &mut Vec<TradeMsg>) {
        let mut traded = false;
        for row in group {
            match row.action as u8 {
                b'T' => {
                    trades.push(trade(row));
                    self.refresh();
                    depth.push(depth_row(row, 0, self.shown.clone()));
                    self.written.clone_from(&self.shown);
                    traded = true;
                }
                b'F' => {}
                _ => self.change(row),
            }
        }
        self.refresh();
        let different = self.shown.iter().zip(&self.written).position(|(now, before)| now != before);
        if let (Some(last), true) = (group.last(), traded || different.is_some()) {
            depth.push(depth_row(last, different.unwrap_or_default() as u8, self.shown.clone()));
            self.written.clone_from(&self.shown);
        }
    }

    fn change(&mut self, row: &MboMsg) {
        self.changed = true;
        match row.action as u8 {
            b'R' => {
                self.orders.clear();
                self.bids.clear();
                self.asks.clear();
            }
            b'C' => {
                if let Some(order) = self.remove(row.order_id)
                    && order.size > row.size
                {
                    self.insert(row.order_id, Resting { size: order.size - row.size, ..order });
                }
            }
            _ => {
                self.remove(row.order_id);
                self.insert(row.order_id, Resting { bid: row.side as u8 == b'B', price: row.price, size: row.size });
            }
        }
    }

    fn remove(&mut self, id: u64) -> Option<Resting> {
        let order = self.orders.remove(&id)?;
        let side = if order.bid { &mut self.bids } else { &mut self.asks };
        let level = side.get_mut(&order.price)?;
        (level.size, level.count) = (level.size - order.size, level.count - 1);
        if level.count == 0 {
            side.remove(&order.price);
        }
        Some(order)
    }

    fn insert(&mut self, id: u64, order: Resting) {
        self.orders.insert(id, order);
        let side = if order.bid { &mut self.bids } else { &mut self.asks };
        let level = side.entry(order.price).or_default();
        (level.size, level.count) = (level.size + order.size, level.count + 1);
    }

    fn refresh(&mut self) {
        if !self.changed {
            return;
        }
        self.changed = false;
        self.shown = [NO_LEVEL; 10];
        for (pair, (&price, level)) in self.shown.iter_mut().zip(self.bids.iter().rev()) {
            (pair.bid_px, pair.bid_sz, pair.bid_ct) = (price, level.size, level.count);
        }
        for (pair, (&price, level)) in self.shown.iter_mut().zip(&self.asks) {
            (pair.ask_px, pair.ask_sz, pair.ask_ct) = (price, level.size, level.count);
        }
    }
}

fn trade(row: &MboMsg) -> TradeMsg {
    TradeMsg {
        hd: RecordHeader::new::<TradeMsg>(rtype::MBP_0, row.hd.publisher_id, row.hd.instrument_id, row.hd.ts_event),
        price: row.price,
        size: row.size,
        action: row.action,
        side: row.side,
        flags: FlagSet::new(row.flags.raw()),
        depth: 0,
        ts_recv: row.ts_recv,
        ts_in_delta: row.ts_in_delta,
        sequence: row.sequence,
    }
}

fn depth_row(row: &MboMsg, depth: u8, levels: Levels) -> Mbp10Msg {
    Mbp10Msg {
        hd: RecordHeader::new::<Mbp10Msg>(rtype::MBP_10, row.hd.publisher_id, row.hd.instrument_id, row.hd.ts_event),
        price: row.price,
        size: row.size,
        action: row.action,
        side: row.side,
        flags: FlagSet::new(row.flags.raw()),
        depth,
        ts_recv: row.ts_recv,
        ts_in_delta: row.ts_in_delta,
        sequence: row.sequence,
        levels,
    }
}
