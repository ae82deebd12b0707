//! The undo journal: inverse operations of the last event groups, newest taken back first.

use std::collections::VecDeque;

use super::state::State;

/// The most bytes a book's journal holds; older groups are forgotten first.
pub const JOURNAL_BYTES: usize = 2 << 20;

#[derive(Debug, Clone, Copy)]
struct Group {
    before: State,
    ops: u32,
}

/// Operations of one kind of book, in groups.
#[derive(Debug, Clone)]
pub(super) struct Journal<Op> {
    ops: VecDeque<Op>,
    groups: VecDeque<Group>,
    open: Option<Group>,
    /// The open group cannot be undone, so nothing of it is written down.
    sealed: bool,
}

impl<Op> Default for Journal<Op> {
    fn default() -> Self {
        Journal { ops: VecDeque::new(), groups: VecDeque::new(), open: None, sealed: false }
    }
}

impl<Op: Copy> Journal<Op> {
    /// Begins a group; `before` is the state to come back to.
    pub(super) fn open(&mut self, before: State) {
        self.sealed = false;
        self.open = Some(Group { before, ops: 0 });
    }

    /// Writes down how the next change is taken back.
    pub(super) fn push(&mut self, op: Op) {
        let Some(open) = &mut self.open else { return };
        open.ops += 1;
        self.ops.push_back(op);
        if self.bytes() > JOURNAL_BYTES {
            self.trim();
        }
    }

    /// Ends the group.
    pub(super) fn close(&mut self) {
        self.sealed = false;
        if let Some(group) = self.open.take() {
            self.groups.push_back(group);
            self.trim();
        }
    }

    /// What came before, the open group included, cannot be undone.
    pub(super) fn barrier(&mut self) {
        self.ops.clear();
        self.groups.clear();
        self.open = None;
        self.sealed = true;
    }

    /// The newest group that can be undone: its state before and how many operations [`Journal::pop`] gives back.
    pub(super) fn take_group(&mut self) -> Option<(State, u32)> {
        if self.sealed {
            return None;
        }
        let group = self.open.take().or_else(|| self.groups.pop_back())?;
        Some((group.before, group.ops))
    }

    /// The newest operation.
    pub(super) fn pop(&mut self) -> Option<Op> {
        self.ops.pop_back()
    }

    pub(super) fn memory_bytes(&self) -> usize {
        self.ops.capacity() * size_of::<Op>() + self.groups.capacity() * size_of::<Group>()
    }

    fn bytes(&self) -> usize {
        self.ops.len() * size_of::<Op>() + self.groups.len() * size_of::<Group>()
    }

    fn trim(&mut self) {
        while self.bytes() > JOURNAL_BYTES {
            match self.groups.pop_front() {
                Some(oldest) => {
                    self.ops.drain(..oldest.ops as usize);
                }
                // One group alone is too large.
                None => self.barrier(),
            }
        }
    }
}
