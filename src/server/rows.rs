//! The rows of one query on their way from the engine to the wire.

use std::sync::Arc;

use datafusion::arrow::array::RecordBatch;
use datafusion::arrow::compute::BatchCoalescer;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::execution::SendableRecordBatchStream;
use futures_util::StreamExt as _;
use tokio::sync::mpsc;
use tokio::task::JoinHandle;

use super::engine::BATCH_ROWS;
use super::flatten::Flattened;
use super::sql::{Opened, QueryError, Sql, values};
use crate::columnar::{ColumnarError, Frames, ResultSchema};
use crate::wire::{Bind, Encoder, status};

/// Batches at least this long are passed on as they are; shorter ones are joined first.
const JOIN_BELOW_ROWS: usize = 4_096;

/// What the query task sends.
enum Produced {
    Nothing,
    Schema(SchemaRef),
    Batch(RecordBatch),
    Failed(QueryError),
    End,
}

/// Where a query is, when no batch is staged.
pub(crate) enum Source {
    /// More may come.
    Open,
    /// The statement had no content.
    Nothing,
    /// All rows were taken.
    Ended,
    /// It failed.
    Failed(QueryError),
}

/// A running query. Dropping it ends its task.
pub(crate) struct Rows {
    produced: mpsc::Receiver<Produced>,
    task: JoinHandle<()>,
    max_rows: usize,
    schema: Option<ResultSchema>,
    source: Source,
    staged: Option<Staged>,
    /// Rows encoded so far.
    rows: usize,
}

enum Staged {
    /// Batch 0 of a result without rows.
    Empty,
    /// Rows, of which the first `next` were encoded.
    Batch { batch: RecordBatch, next: usize },
}

impl Rows {
    /// Starts a statement on a task of its own.
    pub(crate) fn start(sql: Sql, text: String, binds: Vec<Bind>, max_rows: usize) -> Rows {
        // One batch waits here, one is staged: the engine works ahead by no more.
        let (sender, produced) = mpsc::channel(1);
        let task = tokio::spawn(async move {
            let opened = match values(binds) {
                Ok(binds) => sql.open(&text, binds).await,
                Err(error) => Err(error),
            };
            let last = match opened {
                Ok(Opened::Rows(stream)) => read(stream, &sender, max_rows).await,
                Ok(Opened::Nothing) => Produced::Nothing,
                Err(error) => Produced::Failed(error),
            };
            // Nobody is left to be told when the connection is gone.
            let _ = sender.send(last).await;
        });
        Rows { produced, task, max_rows, schema: None, source: Source::Open, staged: None, rows: 0 }
    }

    /// Whether a batch can be encoded.
    pub(crate) fn is_staged(&self) -> bool {
        self.staged.is_some()
    }

    /// Where the query is.
    pub(crate) fn source(&self) -> &Source {
        &self.source
    }

    /// Waits until a batch is staged or the query is at its end. May be given up and called again.
    pub(crate) async fn stage(&mut self) {
        while self.staged.is_none() && matches!(self.source, Source::Open) {
            match self.produced.recv().await {
                Some(Produced::Schema(schema)) => self.set_schema(&schema),
                Some(Produced::Batch(batch)) => self.staged = Some(Staged::Batch { batch, next: 0 }),
                Some(Produced::Nothing) => self.source = Source::Nothing,
                Some(Produced::Failed(error)) => self.source = Source::Failed(error),
                Some(Produced::End) => {
                    // A result without rows still has a batch, which tells its columns.
                    self.staged = (self.rows == 0).then_some(Staged::Empty);
                    self.source = Source::Ended;
                }
                None => {
                    let problem = "the query stopped unexpectedly: send it again";
                    self.source = Source::Failed(QueryError::at(status::INTERNAL_ERROR, None, problem));
                }
            }
        }
    }

    fn set_schema(&mut self, schema: &SchemaRef) {
        match ResultSchema::new(Arc::clone(schema)) {
            Ok(schema) => self.schema = Some(schema),
            Err(error) => self.source = Source::Failed(self.refused(error)),
        }
    }

    /// Writes the next message of what is staged.
    ///
    /// # Errors
    /// A value or row that has no form on the wire.
    pub(crate) fn encode(&mut self, encoder: &mut Encoder, message: &mut Vec<u8>) -> Result<(), QueryError> {
        let (Some(schema), Some(staged)) = (&self.schema, self.staged.take()) else {
            return Err(QueryError::at(status::INTERNAL_ERROR, None, "a batch came before its schema: send the query again"));
        };
        match staged {
            Staged::Empty => schema.encode_empty(encoder, message).map_err(|error| self.refused(error)),
            Staged::Batch { batch, next } => {
                let mut frames = Frames::new(schema, batch.slice(next, batch.num_rows() - next), self.max_rows);
                let before = frames.rows_left();
                if let Err(error) = frames.encode_next(encoder, message) {
                    return Err(self.refused(error));
                }
                let done = before - frames.rows_left();
                self.rows += done;
                if next + done < batch.num_rows() {
                    self.staged = Some(Staged::Batch { batch, next: next + done });
                }
                Ok(())
            }
        }
    }

    /// A refusal of the wire, its row counted over the whole result.
    fn refused(&self, mut error: ColumnarError) -> QueryError {
        if let ColumnarError::OutOfRange { row, .. } | ColumnarError::Ragged { row, .. } | ColumnarError::RowTooLarge { row, .. } = &mut error {
            *row += self.rows;
        }
        QueryError::at(error.status(), None, error.to_string())
    }
}

impl Drop for Rows {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// Reads a result into the channel; returns what to send last.
async fn read(mut stream: SendableRecordBatchStream, sender: &mpsc::Sender<Produced>, max_rows: usize) -> Produced {
    let flattened = Flattened::new(&stream.schema());
    let schema = Arc::clone(flattened.schema());
    let mut joiner = BatchCoalescer::new(Arc::clone(&schema), max_rows.min(BATCH_ROWS)).with_biggest_coalesce_batch_size(Some(JOIN_BELOW_ROWS));
    if sender.send(Produced::Schema(schema)).await.is_err() {
        return Produced::End;
    }
    while let Some(batch) = stream.next().await {
        let joined = batch
            .map_err(|error| QueryError::running(&error))
            .and_then(|batch| flattened.batch(batch))
            .and_then(|batch| joiner.push_batch(batch).map_err(|error| QueryError::at(status::INTERNAL_ERROR, None, error.to_string())));
        if let Err(error) = joined {
            return Produced::Failed(error);
        }
        while let Some(batch) = joiner.next_completed_batch() {
            if sender.send(Produced::Batch(batch)).await.is_err() {
                return Produced::End;
            }
        }
    }
    if let Err(error) = joiner.finish_buffered_batch() {
        return Produced::Failed(QueryError::at(status::INTERNAL_ERROR, None, error.to_string()));
    }
    while let Some(batch) = joiner.next_completed_batch() {
        if sender.send(Produced::Batch(batch)).await.is_err() {
            break;
        }
    }
    Produced::End
}
