//! What a row means: the closed set of things that can happen to a book, free of Arrow and of allocation.

use crate::units::{Aggressor, Price, Side, Size, UnixNanos};

/// How much of the market a book holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum BookKind {
    /// Best bid and ask.
    L1,
    /// Price levels.
    L2,
    /// Single orders.
    L3,
}

impl BookKind {
    /// 1, 2 or 3: the byte of the digest, of frames and of checkpoints.
    #[must_use]
    pub fn number(self) -> u8 {
        match self {
            BookKind::L1 => 1,
            BookKind::L2 => 2,
            BookKind::L3 => 3,
        }
    }

    /// `L1`, `L2` or `L3`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            BookKind::L1 => "L1",
            BookKind::L2 => "L2",
            BookKind::L3 => "L3",
        }
    }
}

/// Bits that a venue's capture sets on a row. Bit 2 (value 2) is seen in real files and means nothing here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub struct Flags(pub u8);

impl Flags {
    /// The last row of its event group.
    pub const LAST: u8 = 128;
    /// A top-of-book record, not an order.
    pub const TOB: u8 = 64;
    /// Part of a snapshot, not a live change.
    pub const SNAPSHOT: u8 = 32;
    /// An aggregated price level, not an order.
    pub const MBP: u8 = 16;
    /// The receive time is not to be trusted.
    pub const BAD_TS_RECV: u8 = 8;
    /// A gap was seen upstream: the book may be wrong.
    pub const MAYBE_BAD_BOOK: u8 = 4;

    fn has(self, bit: u8) -> bool {
        self.0 & bit != 0
    }

    /// See [`Flags::LAST`].
    #[must_use]
    pub fn last(self) -> bool {
        self.has(Self::LAST)
    }

    /// See [`Flags::TOB`].
    #[must_use]
    pub fn top_of_book(self) -> bool {
        self.has(Self::TOB)
    }

    /// See [`Flags::SNAPSHOT`].
    #[must_use]
    pub fn snapshot(self) -> bool {
        self.has(Self::SNAPSHOT)
    }

    /// See [`Flags::MBP`].
    #[must_use]
    pub fn aggregated(self) -> bool {
        self.has(Self::MBP)
    }

    /// See [`Flags::BAD_TS_RECV`].
    #[must_use]
    pub fn bad_receive_time(self) -> bool {
        self.has(Self::BAD_TS_RECV)
    }

    /// See [`Flags::MAYBE_BAD_BOOK`].
    #[must_use]
    pub fn maybe_bad_book(self) -> bool {
        self.has(Self::MAYBE_BAD_BOOK)
    }
}

/// One row, read. Prices and sizes are integers at the scales of the chunk that the row is in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Event<'a> {
    /// Designated time: the one that orders the table.
    pub time: UnixNanos,
    /// The venue's own time, where the table has it.
    pub venue_time: Option<UnixNanos>,
    /// The venue's number of the message, where the table has it.
    pub sequence: Option<i64>,
    /// The row's flags; none set where the table has no such column.
    pub flags: Flags,
    /// The row begins a snapshot that no clear announces: what the book held is forgotten before the change is made.
    pub starts_book: bool,
    /// What happens.
    pub change: Change<'a>,
}

/// What a row does to a book.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change<'a> {
    /// Every order and level goes.
    Clear,
    /// One order comes, goes or changes.
    Order(OrderChange),
    /// An execution. It does not change an order book: the cancel or modify that follows does.
    Trade(Trade),
    /// The whole book to the feed's depth; on a trade's row it is the book before the trade.
    Depth {
        /// The levels.
        row: &'a DepthRow,
        /// The execution that the row reports.
        trade: Option<Trade>,
    },
    /// A resting order is executed: it shrinks as by a cancel, and the row is the trade as well.
    Executed {
        /// What the order loses.
        order: OrderChange,
        /// The execution.
        trade: Trade,
    },
    /// One price level has another size now.
    Level(LevelChange),
    /// An interval ends at this price, which is the last one known. It is no execution.
    Close(Price),
    /// A row that leaves the book as it is (a fill, a status).
    Nothing,
}

/// What happens to an order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OrderAction {
    /// It joins the back of its level.
    Add,
    /// Its size shrinks by the row's; at zero it is gone.
    Cancel,
    /// Its price and size become the row's.
    Modify,
    /// It is gone, whatever is left of it.
    Delete,
}

/// A change of one order (or, by the row's flags, of one level or one side).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OrderChange {
    /// What happens.
    pub action: OrderAction,
    /// Side of the order; `None` where the feed does not say.
    pub side: Option<Side>,
    /// The order's id.
    pub id: u64,
    /// `None` where the feed has no price.
    pub price: Option<Price>,
    /// Size: of the order, or the part that a cancel takes off.
    pub size: Size,
}

/// What a level is from now on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LevelChange {
    /// Its side.
    pub side: Option<Side>,
    /// Its price; `None` where the row has none.
    pub price: Option<Price>,
    /// Its whole size; zero removes it. `None` where the row has none, which is not zero.
    pub size: Option<Size>,
}

/// An execution.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Trade {
    /// Price.
    pub price: Price,
    /// Size.
    pub size: Size,
    /// Who initiated it.
    pub aggressor: Aggressor,
}

/// A level of a feed that sends levels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DepthLevel {
    /// Price.
    pub price: Price,
    /// Size, above zero.
    pub size: Size,
    /// Orders at the level, where the feed counts them.
    pub count: Option<u32>,
}

/// The levels of one row, best first. Reused from row to row, so that reading allocates nothing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct DepthRow {
    /// Best first; levels that the feed leaves empty are not in it.
    pub bids: Vec<DepthLevel>,
    /// Best first.
    pub asks: Vec<DepthLevel>,
    /// Levels a side that the row has room for. Nothing is known of what lies beyond.
    pub capacity: u32,
}

/// What decides where event groups end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowMark {
    /// Designated time.
    pub time: UnixNanos,
    /// The venue's time, where the table has it.
    pub venue_time: Option<UnixNanos>,
    /// Part of a snapshot.
    pub snapshot: bool,
    /// The feed says that the group ends here. Always so where each row is a group.
    pub last: bool,
    /// The group is all rows of its designated time.
    pub by_time: bool,
}

impl RowMark {
    /// The group certainly ends with this row, whatever follows. A snapshot may come with or without an end mark, so it ends
    /// only where the next row shows it.
    #[must_use]
    pub fn closes(self) -> bool {
        self.last && !self.snapshot
    }

    /// The group ends with this row when `next` is the row behind it. A snapshot is one group: its rows share a receive time
    /// and have the venue times of their orders. Live groups share a venue time and may span several receive times, unless the feed's
    /// groups are told by the designated time alone.
    #[must_use]
    pub fn splits(self, next: RowMark) -> bool {
        self.closes()
            || self.snapshot != next.snapshot
            || ((self.snapshot || self.by_time) && self.time != next.time)
            || (!self.snapshot && !self.by_time && self.venue_time != next.venue_time)
    }

    /// No row of another time belongs to the group.
    #[must_use]
    pub fn ends_with_its_time(self) -> bool {
        self.snapshot || self.by_time
    }

    /// `self` begins a snapshot when `previous` was the row before it.
    #[must_use]
    pub fn starts_snapshot(self, previous: Option<RowMark>) -> bool {
        self.snapshot && previous.is_none_or(|row| !row.snapshot || row.time != self.time)
    }
}
