//! The session that is served without files: three tables that agree row by row, faults where they are said to be and nowhere else,
//! and the look of a market.

use std::collections::BTreeMap;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray as _;
use arrow_array::types::{Int16Type, Int32Type, Int64Type};
use tickscope::book::{Book, BookLevel, DepthSnapshot};
use tickscope::columnar::Assembler;
use tickscope::market::{Binding, BookKind, Change, Chunk, ColumnDecl, DepthLevel, DepthRow, Feed, Flags, RowMark, Trade};
use tickscope::server::{Config, Running};
use tickscope::units::Aggressor;
use tickscope::wire::ServerMessage;
use xxhash_rust::xxh3::Xxh3;

use crate::client::{Client, config, query, serve};
use crate::files::{nanos, texts};

/// 2024-05-08T13:30:00Z.
const OPENING: i64 = 1_715_175_000_000_000_000;
const SECOND: i64 = 1_000_000_000;
const MINUTE: i64 = 60 * SECOND;

/// XXH3 over all columns of the three tables: the session is the same on every machine.
const SESSION: &str = "a7f414aa545b172d";

/// Where the faults are, by instrument id and seconds since the opening.
const DOUBT: (i64, i64, i64) = (1, 6_000, 6_012);
const CROSSED: (i64, i64, i64) = (2, 11_710, 11_720);
const LOCKED: (i64, i64, i64) = (1, 12_900, 12_902);
const SILENCE: (i64, i64) = (14_400, 14_580);
const TWICE: (i64, i64, i64) = (1, 18_600, 18_610);

fn within(fault: (i64, i64, i64), instrument: i64, time: i64) -> bool {
    instrument == fault.0 && (fault.1 * SECOND..fault.2 * SECOND).contains(&(time - OPENING))
}

/// The rows of a table, batch by batch.
struct Rows {
    client: Client,
    assembler: Assembler,
    feed: Feed,
    selected: Vec<usize>,
    chunk: Option<Chunk>,
    batch: Option<RecordBatch>,
    row: usize,
    count: u64,
    /// One for each column, so that the cuts between batches do not show.
    hashes: Vec<Xxh3>,
    /// Places of `instrument_id` and `flags`.
    instrument: usize,
    flags: usize,
}

impl Rows {
    async fn open(running: &Running, table: &str) -> Rows {
        let mut client = Client::connect(running).await;
        let columns = client.rows(&format!("SELECT \"column\", type FROM table_columns('{table}')")).await.unwrap();
        let declared: Vec<ColumnDecl> = std::iter::zip(texts(&columns, "column"), texts(&columns, "type"))
            .map(|(name, kind)| ColumnDecl { name: name.unwrap(), kind: kind.unwrap() })
            .collect();
        let binding = Binding::bind(table, &declared, Some("ts_recv")).unwrap();
        let named = |name: &str| declared.iter().position(|column| column.name == name).unwrap();
        let selected = binding.columns.iter().map(|name| named(name)).collect();
        client.ask(query(7, &format!("SELECT * FROM {table}"))).await;
        let hashes = vec![Xxh3::new(); declared.len()];
        Rows {
            client,
            assembler: Assembler::new(),
            feed: Feed::new(&binding),
            selected,
            chunk: None,
            batch: None,
            row: 0,
            count: 0,
            hashes,
            instrument: named("instrument_id"),
            flags: named("flags"),
        }
    }

    /// Goes to the next row; false at the end.
    async fn next(&mut self) -> bool {
        self.row += 1;
        while self.chunk.as_ref().is_none_or(|chunk| self.row >= chunk.rows()) {
            match self.client.next().await {
                ServerMessage::Batch(batch) => {
                    let batch = self.assembler.assemble(batch, self.client.decoder.dictionary()).unwrap();
                    for (hash, column) in self.hashes.iter_mut().zip(batch.columns()) {
                        hash_values(hash, column.as_ref());
                    }
                    self.chunk = Some(self.feed.load(&batch.project(&self.selected).unwrap()).unwrap());
                    (self.batch, self.row) = (Some(batch), 0);
                }
                ServerMessage::CacheReset { .. } => {}
                ServerMessage::End { .. } => return false,
                other => panic!("{other:?}"),
            }
        }
        self.count += 1;
        true
    }

    fn chunk(&self) -> &Chunk {
        self.chunk.as_ref().unwrap()
    }

    fn instrument(&self) -> i64 {
        let array = self.batch.as_ref().unwrap().column(self.instrument);
        match array.as_primitive_opt::<Int64Type>() {
            Some(longs) => longs.value(self.row),
            None => i64::from(array.as_primitive::<Int32Type>().value(self.row)),
        }
    }

    /// What all three tables say of an event, with the levels of a depth row.
    fn said(&self, levels: &mut DepthRow) -> Said {
        let event = self.chunk().event(self.row, levels, None);
        let (time, venue_time, sequence) = (event.time.0, event.venue_time.unwrap().0, event.sequence.unwrap());
        // The binding of trades has no use for flags.
        let flags = self.batch.as_ref().unwrap().column(self.flags).as_primitive::<Int16Type>().value(self.row);
        let flags = Flags(u8::try_from(flags).unwrap());
        Said { time, venue_time, instrument: self.instrument(), sequence, flags, trade: self.chunk().trade(self.row) }
    }
}

fn hash_values(hash: &mut Xxh3, column: &dyn arrow_array::Array) {
    let nulls: Vec<u8> = (0..column.len()).map(|row| u8::from(column.is_null(row))).collect();
    hash.update(&nulls);
    if let Some(symbols) = column.as_any_dictionary_opt() {
        let values = symbols.values().as_string::<i32>();
        for (row, &key) in symbols.normalized_keys().iter().enumerate() {
            hash.update(if column.is_null(row) { b"" } else { values.value(key).as_bytes() });
        }
        return;
    }
    let data = column.to_data();
    let width = data.data_type().primitive_width().unwrap();
    let values = &data.buffers()[0].as_slice()[data.offset() * width..(data.offset() + data.len()) * width];
    hash.update(values);
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Said {
    time: i64,
    venue_time: i64,
    instrument: i64,
    sequence: i64,
    flags: Flags,
    trade: Option<Trade>,
}

/// One instrument on its way through the session.
struct Instrument {
    book: Book,
    shown: DepthSnapshot,
    mark: Option<RowMark>,
    traded: bool,
    sequence: i64,
    jumps: Vec<(i64, i64)>,
    repeats: u64,
    unknown: u64,
    groups: u64,
    spreads: BTreeMap<i64, u64>,
    news_spread: i64,
    shallow: u64,
    trades: u64,
    same_side: u64,
    aggressor: Option<Aggressor>,
    sweeps: u64,
    trades_in_group: u64,
    refills: u64,
    minutes: Vec<u64>,
}

impl Instrument {
    fn new() -> Instrument {
        Instrument {
            book: Book::new(BookKind::L3),
            shown: DepthSnapshot::default(),
            mark: None,
            traded: false,
            sequence: 0,
            jumps: Vec::new(),
            repeats: 0,
            unknown: 0,
            groups: 0,
            spreads: BTreeMap::new(),
            news_spread: 0,
            shallow: 0,
            trades: 0,
            same_side: 0,
            aggressor: None,
            sweeps: 0,
            trades_in_group: 0,
            refills: 0,
            minutes: vec![0; 390],
        }
    }
}

fn same(levels: &[BookLevel], row: &[DepthLevel]) -> bool {
    levels.len() == row.len() && levels.iter().zip(row).all(|(a, b)| (a.price, a.size, a.count) == (b.price, i128::from(b.size.0), b.count))
}

/// The next row of `mbp_10` has these levels.
async fn next_depth(depth: &mut Rows, said: Said, levels: &DepthSnapshot) {
    assert!(depth.next().await, "mbp_10 ends before {said:?}");
    let mut row = DepthRow::default();
    assert_eq!(depth.said(&mut row), said);
    assert_eq!(depth.chunk().price_scale(), levels.price_scale);
    assert!(same(&levels.bids, &row.bids) && same(&levels.asks, &row.asks), "{said:?}: {levels:?} is not {row:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_tables_of_the_sample_agree_at_every_row_and_its_faults_are_where_they_are_said_to_be() {
    // Three queries are read side by side, however long that takes.
    let running = serve(Config { query_timeout: Duration::from_secs(3_600), ..config(&[]) }).await;
    let mut client = Client::connect(&running).await;
    let tables = client.rows("SELECT table_name, note FROM tables()").await.unwrap();
    assert_eq!(texts(&tables, "table_name"), ["mbo", "mbp_10", "trades"].map(|text| Some(text.to_owned())));
    assert!(texts(&tables, "note").iter().all(|note| note.as_ref().is_some_and(|note| note.starts_with("synthetic; planted faults: "))));
    let symbols = client.rows("SELECT DISTINCT symbol FROM mbo ORDER BY symbol").await.unwrap();
    assert_eq!(texts(&symbols, "symbol"), ["SYNBIG", "SYNFUT", "SYNTHIN"].map(|text| Some(text.to_owned())));

    let (mut mbo, mut depth, mut trades) =
        (Rows::open(&running, "mbo").await, Rows::open(&running, "mbp_10").await, Rows::open(&running, "trades").await);
    let ticks = [250_000_000, 10_000_000, 10_000_000];
    let mut instruments = [Instrument::new(), Instrument::new(), Instrument::new()];
    let (mut now, mut longest) = (OPENING, (0, 0));
    let mut levels = DepthSnapshot::default();
    let mut scratch = DepthRow::default();
    while mbo.next().await {
        let said = mbo.said(&mut scratch);
        let index = usize::try_from(said.instrument - 1).unwrap();
        let (instrument, tick) = (&mut instruments[index], ticks[index]);
        longest = longest.max((said.time - now, now));
        assert!(said.time >= now && said.venue_time < said.time);
        now = said.time;
        let since = said.time - OPENING;
        assert_eq!(said.flags.maybe_bad_book(), within(DOUBT, said.instrument, said.time), "{said:?}");
        if instrument.mark.is_none_or(|mark| mark.last) {
            match said.sequence - instrument.sequence {
                1 => {}
                0 => instrument.repeats += 1,
                jump => instrument.jumps.push((since / SECOND, jump)),
            }
            assert!(said.sequence != instrument.sequence || within(TWICE, said.instrument, said.time), "{said:?}");
            instrument.sequence = said.sequence;
        }
        assert_eq!(said.sequence, instrument.sequence, "an event has one number");
        if said.trade.is_some() {
            assert!(trades.next().await);
            assert_eq!(trades.said(&mut scratch), said, "trades are the T rows of mbo");
            instrument.book.depth(10, &mut levels);
            next_depth(&mut depth, said, &levels).await;
            instrument.shown.clone_from(&levels);
        }
        let (chunk, row) = (mbo.chunk(), mbo.row);
        let event = chunk.event(row, &mut scratch, instrument.mark);
        instrument.book.apply(&event, chunk.price_scale(), chunk.size_scale()).unwrap();
        instrument.mark = Some(chunk.mark(row));
        instrument.minutes[usize::try_from(since / MINUTE).unwrap()] += 1;
        if let Some(trade) = said.trade {
            instrument.traded = true;
            instrument.trades_in_group += 1;
            if instrument.trades_in_group == 1 {
                instrument.trades += 1;
                instrument.same_side += u64::from(instrument.aggressor == Some(trade.aggressor));
                instrument.aggressor = Some(trade.aggressor);
            }
        }
        if let (Change::Order(order), true) = (event.change, instrument.traded) {
            instrument.refills += u64::from(order.action == tickscope::market::OrderAction::Add);
        }
        if !said.flags.last() {
            continue;
        }
        // The event ends: the book may be looked at.
        let report = instrument.book.end_group();
        instrument.book.depth(10, &mut levels);
        if instrument.traded || levels != instrument.shown {
            let said = Said { trade: None, ..said };
            next_depth(&mut depth, said, &levels).await;
            instrument.shown.clone_from(&levels);
        }
        instrument.groups += 1;
        instrument.sweeps += u64::from(instrument.trades_in_group >= 3);
        (instrument.traded, instrument.trades_in_group) = (false, 0);
        if within(DOUBT, said.instrument, said.time) {
            assert!(instrument.book.stale());
            instrument.unknown = instrument.book.findings().unknown_orders;
            continue;
        }
        assert_eq!(report.crossed, within(CROSSED, said.instrument, said.time), "{said:?}: {:?}", report.top);
        assert_eq!(report.locked, within(LOCKED, said.instrument, said.time), "{said:?}: {:?}", report.top);
        assert!(!instrument.book.stale() && instrument.book.partial_since().is_none());
        let unknown = instrument.book.findings().unknown_orders;
        assert!(unknown == instrument.unknown || said.instrument == TWICE.0 && since >= TWICE.1 * SECOND, "{said:?}");
        instrument.unknown = unknown;
        let (bid, ask) = (report.top.bid.unwrap().price.0, report.top.ask.unwrap().price.0);
        assert!(bid % tick == 0 && ask % tick == 0);
        *instrument.spreads.entry((ask - bid) / tick).or_default() += 1;
        if (16_200..16_205).contains(&(since / SECOND)) {
            instrument.news_spread = instrument.news_spread.max((ask - bid) / tick);
        }
        instrument.shallow += u64::from(levels.bids.len() < 10 || levels.asks.len() < 10);
    }
    assert!(!depth.next().await && !trades.next().await, "mbo has all that the others have");

    // The faults.
    assert_eq!((longest.0 >= 180 * SECOND, longest.1 - OPENING < SILENCE.0 * SECOND), (true, true), "{longest:?}");
    let expected = |times: &[i64]| times.to_vec();
    let jumps = instruments.each_ref().map(|instrument| instrument.jumps.iter().map(|jump| jump.0).collect::<Vec<_>>());
    assert_eq!(
        jumps,
        [expected(&[6_000, SILENCE.1]), expected(&[SILENCE.1]), expected(&[SILENCE.1])],
        "{:?}",
        instruments.each_ref().map(|i| &i.jumps)
    );
    let repeats = instruments.each_ref().map(|instrument| instrument.repeats);
    assert!(repeats[0] > 20 && repeats[1..] == [0, 0], "{repeats:?}");
    let findings = instruments.each_ref().map(|instrument| instrument.book.findings());
    assert!(findings[0].maybe_bad > 100 && findings[0].locked > 20 && findings[1].crossed > 20, "{findings:?}");

    // The look of a market.
    assert!(mbo.count >= 2_000_000, "{} rows", mbo.count);
    for (index, instrument) in instruments.iter().enumerate() {
        let spread_up_to = |ticks| instrument.spreads.range(..=ticks).map(|(_, count)| count).sum::<u64>();
        let usual = [2, 3, 10][index];
        assert!(spread_up_to(usual) > instrument.groups / 10 * 9, "{index}: {:?}", instrument.spreads);
        assert!(instrument.news_spread >= 2 * usual, "{index}: news widens the spread, which was at most {}", instrument.news_spread);
        assert_eq!(instrument.shallow, 0, "{index}: ten levels a side");
        assert!(
            (20..200).contains(&(instrument.trades * 1_000 / instrument.groups)),
            "{index}: {} trades in {} events",
            instrument.trades,
            instrument.groups
        );
        assert!(instrument.same_side * 100 > instrument.trades * 58, "{index}: trades follow trades of their side: {}", instrument.same_side);
        assert!(instrument.sweeps > 20 && instrument.refills > 20, "{index}: {} sweeps, {} refills", instrument.sweeps, instrument.refills);
        let rate = |minutes: std::ops::Range<usize>| instrument.minutes[minutes.clone()].iter().sum::<u64>() / minutes.len() as u64;
        let noon = rate(150..180);
        assert!(rate(0..5) > 2 * noon && rate(380..390) > noon * 3 / 2 && rate(270..272) > 2 * noon, "{index}: {:?}", instrument.minutes);
        assert!(rate(183..188) < noon / 3, "{index}: quiet at {:?}, not {noon}", &instrument.minutes[180..190]);
    }
    let mut hash = Xxh3::new();
    for rows in [mbo, depth, trades] {
        println!("{} rows", rows.count);
        rows.hashes.iter().for_each(|column| hash.update(&column.digest().to_le_bytes()));
    }
    assert_eq!(format!("{:016x}", hash.digest()), SESSION);
    let last = client.rows("SELECT max(ts_recv) AS last FROM trades").await.unwrap();
    assert!(nanos(&last, "last")[0] < OPENING + 390 * MINUTE);
}
