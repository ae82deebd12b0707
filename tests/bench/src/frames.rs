//! Workloads as messages.

use arrow_schema::ArrowError;
use tickscope::columnar::{self, ResultSchema};
use tickscope::wire::Encoder;

use crate::rows::Market;

/// Rows of a workload.
pub const ROWS: usize = 16 * BATCH;
/// Rows of a batch.
const BATCH: usize = 16_384;
/// The request that the messages answer.
pub const REQUEST: i64 = 1;

/// What is decoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Workload {
    /// Five columns.
    Trades,
    /// Eighteen columns, top of book.
    Mbp1,
    /// Eighteen columns, of which four are arrays.
    Arrays,
    /// Fifteen columns, orders.
    Mbo,
}

impl Workload {
    /// All of them.
    pub const ALL: [Workload; 4] = [Workload::Trades, Workload::Mbp1, Workload::Arrays, Workload::Mbo];

    /// Short name, as in the README's table.
    pub fn name(self) -> &'static str {
        match self {
            Workload::Trades => "trades5",
            Workload::Mbp1 => "mbp1",
            Workload::Arrays => "arrays18",
            Workload::Mbo => "mbo",
        }
    }
}

/// The messages of one result, without its end.
pub struct Frames {
    /// Each a whole message.
    pub messages: Vec<Vec<u8>>,
    /// Rows in all.
    pub rows: usize,
}

impl Frames {
    /// A workload's messages, not compressed.
    ///
    /// # Errors
    /// Rows that cannot be encoded; there are none.
    pub fn encode(workload: Workload) -> Result<Frames, Box<dyn std::error::Error>> {
        let mut market = Market::new();
        let mut encoder = Encoder::new();
        let (mut messages, mut out) = (Vec::new(), Vec::new());
        encoder.begin(REQUEST, false, &mut out);
        let mut schema = None;
        for _ in 0..ROWS / BATCH {
            let batch = rows_of(&mut market, workload)?;
            if schema.is_none() {
                schema = Some(ResultSchema::new(batch.schema())?);
            }
            let Some(schema) = &schema else { continue };
            let mut frames = columnar::Frames::new(schema, batch, 0);
            while frames.encode_next(&mut encoder, &mut out)? {
                messages.push(out.clone());
            }
        }
        Ok(Frames { messages, rows: ROWS })
    }

    /// Bytes of all messages.
    pub fn bytes(&self) -> usize {
        self.messages.iter().map(Vec::len).sum()
    }

    /// The messages, each after its length (u32, little endian): how they travel to a browser.
    pub fn to_file(&self) -> Vec<u8> {
        let mut file = Vec::with_capacity(self.bytes() + 4 * self.messages.len());
        for message in &self.messages {
            file.extend((message.len() as u32).to_le_bytes());
            file.extend(message);
        }
        file
    }

    /// Reads [`Frames::to_file`]'s form.
    pub fn from_file(mut file: &[u8]) -> Frames {
        let mut messages = Vec::new();
        while let Some((length, rest)) = file.split_first_chunk::<4>() {
            let (message, rest) = rest.split_at(u32::from_le_bytes(*length) as usize);
            messages.push(message.to_vec());
            file = rest;
        }
        Frames { messages, rows: ROWS }
    }
}

/// A batch of a workload.
///
/// # Errors
/// Arrays that do not fit together; there are none.
fn rows_of(market: &mut Market, workload: Workload) -> Result<arrow_array::RecordBatch, ArrowError> {
    match workload {
        Workload::Trades => market.trades(BATCH),
        Workload::Mbp1 => market.mbp1(BATCH),
        Workload::Arrays => market.arrays(BATCH),
        Workload::Mbo => market.orders(BATCH),
    }
}
