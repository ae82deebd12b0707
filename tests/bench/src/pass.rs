//! One pass over a workload, as far as a stage.

use tickscope::book::Book;
use tickscope::columnar::{ArrowByteCounter, Assembler};
use tickscope::market::{Binding, ColumnDecl, DepthRow, Feed, RowMark};
use tickscope::wire::limits::DecoderLimits;
use tickscope::wire::{Decoder, ServerInfo, ServerMessage};

use crate::frames::{Frames, REQUEST};
use crate::rows::kind_of;

/// How far a pass goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stage {
    /// Messages to columns.
    Decode,
    /// … to record batches.
    Arrow,
    /// … to the book after the last row.
    Book,
}

impl Stage {
    /// All of them.
    pub const ALL: [Stage; 3] = [Stage::Decode, Stage::Arrow, Stage::Book];

    /// Short name, as in the README's table.
    pub fn name(self) -> &'static str {
        match self {
            Stage::Decode => "decode",
            Stage::Arrow => "arrow",
            Stage::Book => "book",
        }
    }
}

/// What a pass came to: proof that it did the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Rows decoded.
    pub rows: usize,
    /// Arrow bytes, by the definition of the page's counter; 0 for [`Stage::Decode`].
    pub arrow_bytes: u64,
    /// Digest of the book after the last row, for [`Stage::Book`].
    pub digest: u64,
}

/// Decodes a workload once, on a new connection.
///
/// # Errors
/// Messages that are none: a fault of the bench.
pub fn pass(frames: &Frames, stage: Stage) -> Result<Totals, Box<dyn std::error::Error>> {
    let mut decoder = Decoder::new(DecoderLimits::default());
    let mut greeting = Vec::new();
    ServerInfo::default().encode(&mut greeting);
    decoder.message(&greeting)?;
    decoder.begin(REQUEST, None)?;
    let mut assembler = Assembler::new();
    let mut counter = ArrowByteCounter::new();
    let mut totals = Totals::default();
    let mut replay: Option<Replay> = None;
    for message in &frames.messages {
        let ServerMessage::Batch(batch) = decoder.message(message)? else { return Err("a message without rows".into()) };
        totals.rows += batch.rows;
        if stage == Stage::Decode {
            std::hint::black_box(&batch);
            continue;
        }
        let batch = assembler.assemble(batch, decoder.dictionary())?;
        totals.arrow_bytes += counter.add(&batch);
        if stage == Stage::Arrow {
            std::hint::black_box(&batch);
            continue;
        }
        if replay.is_none() {
            replay = Some(Replay::new(&batch)?);
        }
        if let Some(replay) = &mut replay {
            replay.apply(&batch)?;
        }
    }
    totals.digest = replay.map_or(0, |replay| replay.book.digest());
    Ok(totals)
}

struct Replay {
    places: Vec<usize>,
    feed: Feed,
    book: Book,
    scratch: DepthRow,
    previous: Option<RowMark>,
}

impl Replay {
    fn new(batch: &arrow_array::RecordBatch) -> Result<Replay, Box<dyn std::error::Error>> {
        let schema = batch.schema();
        let columns: Vec<ColumnDecl> =
            schema.fields().iter().map(|field| ColumnDecl { name: field.name().clone(), kind: kind_of(field.data_type()).to_owned() }).collect();
        let time = columns.first().map(|column| column.name.clone());
        let binding = Binding::bind("bench", &columns, time.as_deref()).map_err(|reason| reason.to_string())?;
        let places = binding.columns.iter().map(|name| schema.index_of(name)).collect::<Result<_, _>>()?;
        Ok(Replay { places, feed: Feed::new(&binding), book: Book::new(binding.kind), scratch: DepthRow::default(), previous: None })
    }

    fn apply(&mut self, batch: &arrow_array::RecordBatch) -> Result<(), Box<dyn std::error::Error>> {
        let chunk = self.feed.load(&batch.project(&self.places)?)?;
        for row in 0..chunk.rows() {
            let mark = chunk.mark(row);
            if self.previous.is_some_and(|previous| previous.splits(mark)) {
                let _ = self.book.end_group();
            }
            let event = chunk.event(row, &mut self.scratch, self.previous);
            self.book.apply(&event, chunk.price_scale(), chunk.size_scale())?;
            self.previous = Some(mark);
        }
        Ok(())
    }
}
