//! Rows that look like a market's: prices walk by ticks, sizes are small and repeat, times cluster. Their values are what matters to
//! a decoder: timestamps compress as real ones do, symbols repeat, levels are full.

use std::sync::Arc;

use arrow_array::builder::{Float64Builder, ListBuilder};
use arrow_array::{
    ArrayRef, Decimal64Array, DictionaryArray, Float64Array, Int32Array, Int64Array, RecordBatch, StringArray, TimestampNanosecondArray, UInt32Array,
};
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};

/// Where the first row lies: 2024-07-01T14:30:00Z.
const START: i64 = 1_719_844_200_000_000_000;

/// A small generator of good enough numbers (SplitMix64).
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Random {
        Random(seed)
    }

    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, end: u64) -> u64 {
        self.draw() % end
    }
}

/// Ascending times: bursts of some hundred nanoseconds, then pauses.
fn times(random: &mut Random, rows: usize, from: &mut i64) -> Vec<i64> {
    (0..rows)
        .map(|_| {
            let step = if random.below(4) == 0 { random.below(2_000_000) } else { random.below(400) };
            *from += step as i64;
            *from
        })
        .collect()
}

fn timestamps(values: Vec<i64>) -> ArrayRef {
    Arc::new(TimestampNanosecondArray::from(values).with_timezone("UTC"))
}

fn symbols(keys: Vec<u32>, texts: &[&str]) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(DictionaryArray::try_new(UInt32Array::from(keys), Arc::new(StringArray::from_iter_values(texts)))?))
}

fn nano_decimals(values: Vec<i64>) -> Result<ArrayRef, ArrowError> {
    Ok(Arc::new(Decimal64Array::from(values).with_precision_and_scale(18, 9)?))
}

fn batch(columns: Vec<(&str, ArrayRef)>) -> Result<RecordBatch, ArrowError> {
    let fields: Vec<Field> = columns.iter().map(|(name, array)| Field::new(*name, array.data_type().clone(), true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), columns.into_iter().map(|(_, array)| array).collect())
}

/// What goes on from batch to batch.
pub struct Market {
    random: Random,
    time: i64,
    /// In ticks.
    mid: i64,
    sequence: i64,
    next_order: i64,
    /// Orders that rest, with their side (bid), price and size.
    resting: Vec<(i64, bool, i64, i64)>,
}

impl Market {
    /// Where every workload begins.
    pub fn new() -> Market {
        Market { random: Random::new(7), time: START, mid: 21_000, sequence: 0, next_order: 1, resting: Vec::new() }
    }

    fn walk(&mut self) {
        self.mid += self.random.below(3) as i64 - 1;
    }

    fn size(&mut self) -> i64 {
        1 + (self.random.below(100) * self.random.below(100) / 500) as i64
    }

    /// Five columns: symbol, side, price and amount as doubles, and the time in nanoseconds.
    pub fn trades(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let texts: Vec<String> = (0..100).map(|number| format!("SYM{number:03}")).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let times = times(&mut self.random, rows, &mut self.time);
        let (mut keys, mut sides, mut prices, mut amounts) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            self.walk();
            keys.push(self.random.below(100) as u32);
            sides.push(self.random.below(2) as u32);
            prices.push(self.mid as f64 / 4.0);
            amounts.push(self.size() as f64 / 100.0);
        }
        batch(vec![
            ("timestamp", timestamps(times)),
            ("symbol", symbols(keys, &texts)?),
            ("side", symbols(sides, &["buy", "sell"])?),
            ("price", Arc::new(Float64Array::from(prices))),
            ("amount", Arc::new(Float64Array::from(amounts))),
        ])
    }

    /// The eighteen columns of top-of-book rows in Databento's layout.
    pub fn mbp1(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let times = times(&mut self.random, rows, &mut self.time);
        let mut columns: [Vec<i64>; 7] = Default::default();
        let (mut actions, mut sides) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            self.walk();
            self.sequence += 1 + self.random.below(3) as i64;
            let tick = 250_000_000;
            let (bid_size, ask_size) = (self.size(), self.size());
            let values = [self.mid * tick, (self.mid + 1) * tick, bid_size, ask_size, 1 + bid_size / 5, 1 + ask_size / 5, self.sequence];
            columns.iter_mut().zip(values).for_each(|(column, value)| column.push(value));
            actions.push(self.random.below(3) as u32);
            sides.push(self.random.below(2) as u32);
        }
        let [bids, asks, bid_sizes, ask_sizes, bid_counts, ask_counts, sequences] = columns;
        let venue = times.iter().map(|time| time - 45_000).collect();
        let constant = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value; rows])) };
        let numbers = |values: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(values)) };
        batch(vec![
            ("ts_recv", timestamps(times)),
            ("ts_event", timestamps(venue)),
            ("rtype", constant(1)),
            ("publisher_id", constant(1)),
            ("instrument_id", constant(5_482)),
            ("action", symbols(actions, &["A", "C", "M"])?),
            ("side", symbols(sides, &["B", "A"])?),
            ("price", nano_decimals(bids.clone())?),
            ("size", numbers(bid_sizes.clone())),
            ("flags", constant(128)),
            ("sequence", numbers(sequences)),
            ("bid_px_00", nano_decimals(bids)?),
            ("ask_px_00", nano_decimals(asks)?),
            ("bid_sz_00", numbers(bid_sizes)),
            ("ask_sz_00", numbers(ask_sizes)),
            ("bid_ct_00", numbers(bid_counts)),
            ("ask_ct_00", numbers(ask_counts)),
            ("symbol", symbols(vec![0; rows], &["ESM4"])?),
        ])
    }

    /// The eighteen columns of the layout with the book as four arrays, ten levels a side.
    pub fn arrays(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        const LEVELS: i64 = 10;
        let times = times(&mut self.random, rows, &mut self.time);
        let book = || ListBuilder::new(ListBuilder::new(Float64Builder::new()));
        let (mut bids, mut asks) = (book(), book());
        let counts = || ListBuilder::new(Float64Builder::new());
        let (mut bid_counts, mut ask_counts) = (counts(), counts());
        let (mut prices, mut sizes, mut sequences) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..rows {
            self.walk();
            self.sequence += 1;
            prices.push(self.mid as f64 / 4.0);
            sizes.push(self.size());
            sequences.push(self.sequence);
            for (side, sign, start) in [(&mut bids, -1, 0), (&mut asks, 1, 1)] {
                for level in 0..LEVELS {
                    side.values().values().append_value((self.mid + sign * (start + level)) as f64 / 4.0);
                }
                side.values().append(true);
                for _ in 0..LEVELS {
                    side.values().values().append_value((1 + self.random.below(200)) as f64);
                }
                side.values().append(true);
                side.append(true);
            }
            for side in [&mut bid_counts, &mut ask_counts] {
                for _ in 0..LEVELS {
                    side.values().append_value((1 + self.random.below(40)) as f64);
                }
                side.append(true);
            }
        }
        let venue = times.iter().map(|time| time - 45_000).collect();
        let constant = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value; rows])) };
        let actions = (0..rows).map(|_| self.random.below(3) as u32).collect();
        let sides = (0..rows).map(|_| self.random.below(2) as u32).collect();
        batch(vec![
            ("ts_recv", timestamps(times)),
            ("dataset", symbols(vec![0; rows], &["GLBX.MDP3"])?),
            ("symbol", symbols(vec![0; rows], &["ESM4"])?),
            ("publisher_id", constant(1)),
            ("instrument_id", constant(17_077)),
            ("ts_event", timestamps(venue)),
            ("price", Arc::new(Float64Array::from(prices))),
            ("size", Arc::new(Int64Array::from(sizes))),
            ("action", symbols(actions, &["A", "C", "M"])?),
            ("side", symbols(sides, &["B", "A"])?),
            ("flags", constant(128)),
            ("depth", constant(0)),
            ("ts_in_delta", constant(13_000)),
            ("sequence", Arc::new(Int64Array::from(sequences))),
            ("bids", Arc::new(bids.finish())),
            ("asks", Arc::new(asks.finish())),
            ("bid_ct", Arc::new(bid_counts.finish())),
            ("ask_ct", Arc::new(ask_counts.finish())),
        ])
    }

    /// Orders that come, change and go: as many rest as a busy book holds.
    pub fn orders(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let times = times(&mut self.random, rows, &mut self.time);
        let mut numbers: [Vec<i64>; 4] = Default::default();
        let (mut actions, mut sides) = (Vec::new(), Vec::new());
        for _ in 0..rows {
            self.sequence += 1;
            let full = self.resting.len() > 8_000;
            let (action, bid, price, size, id) = match self.random.below(20) {
                0 if !self.resting.is_empty() => {
                    let at = self.random.below(self.resting.len() as u64) as usize;
                    let size = self.size();
                    let (id, bid, price, rest) = &mut self.resting[at];
                    *rest = size;
                    (2, *bid, *price, size, *id)
                }
                1..=9 if !full => self.add(),
                10..=19 if self.resting.len() < 500 => self.add(),
                _ => {
                    let at = self.random.below(self.resting.len() as u64) as usize;
                    let (id, bid, price, size) = self.resting.swap_remove(at);
                    (1, bid, price, size, id)
                }
            };
            actions.push(action);
            sides.push(u32::from(!bid));
            numbers.iter_mut().zip([price * 250_000_000, size, id, self.sequence]).for_each(|(column, value)| column.push(value));
        }
        let [prices, sizes, ids, sequences] = numbers;
        let venue = times.iter().map(|time| time - 45_000).collect();
        let constant = |value: i32| -> ArrayRef { Arc::new(Int32Array::from(vec![value; rows])) };
        batch(vec![
            ("ts_recv", timestamps(times)),
            ("ts_event", timestamps(venue)),
            ("rtype", constant(160)),
            ("publisher_id", constant(1)),
            ("instrument_id", constant(17_077)),
            ("action", symbols(actions, &["A", "C", "M"])?),
            ("side", symbols(sides, &["B", "A"])?),
            ("price", nano_decimals(prices)?),
            ("size", Arc::new(Int64Array::from(sizes))),
            ("channel_id", constant(0)),
            ("order_id", Arc::new(Int64Array::from(ids))),
            ("flags", constant(128)),
            ("ts_in_delta", constant(13_000)),
            ("sequence", Arc::new(Int64Array::from(sequences))),
            ("symbol", symbols(vec![0; rows], &["ESM4"])?),
        ])
    }

    fn add(&mut self) -> (u32, bool, i64, i64, i64) {
        self.walk();
        let bid = self.random.below(2) == 0;
        let away = (self.random.below(30) * self.random.below(30) / 30) as i64;
        // Around a price that stands, so that the book is never crossed.
        let price = if bid { 21_000 - away } else { 21_001 + away };
        let (size, id) = (self.size(), self.next_order);
        self.next_order += 1;
        self.resting.push((id, bid, price, size));
        (0, bid, price, size, id)
    }
}

impl Default for Market {
    fn default() -> Self {
        Market::new()
    }
}

/// The type of a column as a store's catalogue names it.
pub fn kind_of(data_type: &DataType) -> &'static str {
    match data_type {
        DataType::Timestamp(TimeUnit::Nanosecond, _) => "TIMESTAMP_NS",
        DataType::Dictionary(..) => "SYMBOL",
        DataType::Decimal64(..) => "DECIMAL(18,9)",
        DataType::Float64 => "DOUBLE",
        DataType::Int32 => "INT",
        DataType::Int64 => "LONG",
        DataType::List(inner) if matches!(inner.data_type(), DataType::List(_)) => "DOUBLE[][]",
        DataType::List(_) => "DOUBLE[]",
        _ => "",
    }
}
