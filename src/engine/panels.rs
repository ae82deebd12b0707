//! What the panels beside the book ask on the side connection: the histogram of the timeline and the pages of the tape. Nothing is
//! asked before the first book of a place is shown, and a new place withdraws what runs.

use arrow_array::RecordBatch;

use super::connection::Which;
use super::open::Task;
use super::{Engine, kind_of};
use crate::store::{self, Query};

impl Engine {
    /// Asks for what the panels lack, and posts what they are to show where that changed.
    pub(super) fn run_panels(&mut self, now: u64) {
        if self.timeline.view.is_none() && self.tape.view.is_none() {
            return;
        }
        let shown = self.opened.is_some() && self.as_of.is_some() && self.opening.is_none();
        if shown && self.side_ready(now) {
            self.side_reason = None;
            self.ask_for_bars();
            self.ask_for_trades();
            self.run_tasks(Which::Side, now);
        }
        self.post_timeline();
        self.post_tape(now);
    }

    /// Puts a query of the panels into the queue, once. A name that cannot be quoted is a refusal.
    pub(super) fn ask_aside(&mut self, task: Task, query: &Query) {
        if self.asked_aside(&task) {
            return;
        }
        match store::render(query, kind_of(self.store.as_ref())) {
            Ok(sql) => self.side.tasks.push_back((task, sql)),
            Err(error) => self.panel_refused(&task, &error.to_string()),
        }
    }

    fn asked_aside(&self, task: &Task) -> bool {
        self.side.running.iter().chain(&self.side.tasks).any(|(asked, _)| asked == task)
    }

    /// Takes back what is not wanted any more.
    pub(super) fn withdraw_aside(&mut self, unwanted: impl Fn(&Task) -> bool) {
        let messages = self.side.withdraw(unwanted);
        self.send_all(Which::Side, messages);
    }

    pub(super) fn panel_answered(&mut self, task: Task, answer: &[RecordBatch]) {
        let result = match &task {
            Task::Bars(bars) => self.got_bars(*bars, answer),
            _ => self.trades_answered(&task, answer),
        };
        if let Err(problem) = result {
            self.panel_refused(&task, &problem);
        }
    }

    /// The store refused, or answered what cannot be used: the panel says so until it wants something else.
    pub(super) fn panel_refused(&mut self, task: &Task, message: &str) {
        match task {
            Task::Bars(bars) => self.timeline.refused = Some((*bars, format!("The store refused to count rows: {message}"))),
            _ => self.tape.refuse(format!("The store refused a query for trades: {message}")),
        }
    }

    /// The side connection failed; it is tried again.
    pub(super) fn panels_lost(&mut self, reason: String) {
        self.side_reason = Some(format!("Not available just now, a new try is made by itself: {reason}"));
    }

    /// All connections are closed: what was refused may be answered by the next.
    pub(super) fn panels_disconnected(&mut self) {
        self.side_reason = None;
        self.timeline.refused = None;
        self.tape.unrefuse();
    }

    /// Another place is open.
    pub(super) fn panels_forget(&mut self) {
        self.withdraw_aside(|_| true);
        self.timeline.forget();
        self.tape.forget();
    }
}
