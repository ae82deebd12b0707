//! Batches of a table, played into a book through the binding that a user gets.
#![allow(dead_code, reason = "each test file uses a part of it")]

use arrow_array::RecordBatch;
use tickscope::book::Book;
use tickscope::market::{Binding, Chunk, DepthRow, Feed, RowMark};

/// What `SELECT` of the binding's columns gives, in batches of some rows.
pub fn select(batch: &RecordBatch, binding: &Binding, rows: usize) -> Vec<RecordBatch> {
    let columns: Vec<usize> = binding.columns.iter().map(|name| batch.schema().index_of(name).expect("a selected column")).collect();
    let selected = batch.project(&columns).expect("a selection");
    (0..selected.num_rows()).step_by(rows).map(|at| selected.slice(at, rows.min(selected.num_rows() - at))).collect()
}

/// Where a group ended: the last of its rows, counted over all batches and in its chunk.
pub struct GroupEnd<'a> {
    /// Row over all batches.
    pub row: usize,
    /// The chunk that holds the row.
    pub chunk: &'a Chunk,
    /// Row in the chunk.
    pub at: usize,
    /// The book after it.
    pub book: &'a mut Book,
}

/// Applies batches to a book and calls `seen` at the end of each event group.
pub fn play(binding: &Binding, batches: &[RecordBatch], book: &mut Book, mut seen: impl FnMut(GroupEnd<'_>)) {
    let mut feed = Feed::new(binding);
    let mut scratch = DepthRow::default();
    let mut previous: Option<(RowMark, usize, usize)> = None;
    let chunks: Vec<Chunk> = batches.iter().map(|batch| feed.load(batch).expect("a batch of the binding")).collect();
    let mut row = 0;
    for (index, chunk) in chunks.iter().enumerate() {
        for at in 0..chunk.rows() {
            let mark = chunk.mark(at);
            if let Some((before, chunk, at)) = previous
                && !before.closes()
                && before.splits(mark)
            {
                let _ = book.end_group();
                seen(GroupEnd { row: row - 1, chunk: &chunks[chunk], at, book });
            }
            let event = chunk.event(at, &mut scratch, previous.map(|(mark, ..)| mark));
            book.apply(&event, chunk.price_scale(), chunk.size_scale()).expect("an event of this book's kind");
            if mark.closes() {
                let _ = book.end_group();
                seen(GroupEnd { row, chunk, at, book });
            }
            previous = Some((mark, index, at));
            row += 1;
        }
    }
    if let Some((mark, chunk, at)) = previous
        && !mark.closes()
    {
        let _ = book.end_group();
        seen(GroupEnd { row: row - 1, chunk: &chunks[chunk], at, book });
    }
}
