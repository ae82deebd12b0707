//! From one engine to the next: memory of WebAssembly never shrinks, so a worker that grew is replaced, and the new one goes on from
//! the book where the old one stood instead of building it again from an anchor.

use super::Engine;
use crate::link::{FromWorker, Open, Standing};
use crate::replay::{CHECKPOINT_BUDGET_BYTES, Checkpoint};

impl Engine {
    /// Says where it stands, and plays no further: the next engine goes on from there.
    pub(super) fn hand_over(&mut self) {
        self.stop_clock();
        let sought = self.seek.as_ref().map(|seek| seek.moment().or(self.as_of));
        let standing = self.here().zip(self.opened.as_ref()).map(|(here, opened)| {
            // A seek may have moved the book away from what is shown; the sought moment is found as any other is.
            let checkpoint = match (sought, self.disturbed) {
                (None, false) => self.player.checkpoint(&self.history).map(|checkpoint| checkpoint.encode()),
                _ => None,
            };
            let checkpoint = checkpoint.filter(|bytes| bytes.len() <= CHECKPOINT_BUDGET_BYTES).unwrap_or_default();
            let at = sought.flatten().map(|moment| moment.to_string()).or(here.at);
            Standing { open: Box::new(Open { at, ..here }), rows: opened.range.rows, checkpoint }
        });
        self.post(FromWorker::HandedOver(standing));
    }

    /// Keeps what was handed over when it is of the place that is being opened; a seek finds it as it finds its own checkpoints.
    pub(super) fn take_over(&mut self, open: &Open, rows: u64) {
        let Some(standing) = self.handed.take() else { return };
        if *standing.open == *open
            && standing.rows == rows
            && let Some(checkpoint) = Checkpoint::decode(&standing.checkpoint)
        {
            self.player.keep(checkpoint);
        }
    }
}
