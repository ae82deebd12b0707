//! Which layout a table has: from the names and types of its columns alone.

use std::collections::BTreeMap;
use std::fmt;

use super::event::BookKind;
use crate::link::BindingInfo;

/// A column as the store's catalogue lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDecl {
    /// Name.
    pub name: String,
    /// QuestDB type text: `SYMBOL`, `TIMESTAMP_NS`, `DECIMAL(18,9)`, `DOUBLE[][]`.
    pub kind: String,
}

/// What must be found by query before a moment, so that the book at the moment is whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Anchor {
    /// The last clear or snapshot: the newest row whose action is `R`, or (where there are flags) whose flags have the bit 32.
    MboSnapshot {
        /// The action column.
        action: String,
        /// The flags column.
        flags: Option<String>,
    },
    /// The last row: each carries the whole book.
    LastRow,
}

/// How a table is read as a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Name of the layout: `MBO`, `MBP-10`, `MBP (arrays)`.
    pub name: String,
    /// What kind of book it gives. Arrays say how deep they are only in their rows, so until then it is L2.
    pub kind: BookKind,
    /// Role → column.
    pub roles: BTreeMap<&'static str, String>,
    /// The columns to select, in this order; the designated time is the first.
    pub columns: Vec<String>,
    /// The designated time.
    pub time: String,
    /// Column of symbols: part of a book's key.
    pub symbol: Option<String>,
    /// Column of publishers: part of a book's key.
    pub publisher: Option<String>,
    /// Column of instrument ids: part of a book's key.
    pub instrument: Option<String>,
    /// How a whole book before a moment is found.
    pub anchor: Anchor,
    pub(super) layout: Layout,
}

/// Which rows of a table are trades, so that a store can be asked for them alone. Those without a price are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TradeRows {
    /// None.
    None,
    /// Those whose action is one of the words.
    Where {
        /// The column of the action.
        column: String,
        /// Its words for a trade.
        words: Vec<String>,
        /// The column of the price.
        price: String,
        /// The column of the size.
        size: String,
    },
}

/// Positions are those in [`Binding::columns`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Layout {
    pub(super) venue_time: Option<usize>,
    pub(super) sequence: Option<usize>,
    pub(super) flags: Option<usize>,
    pub(super) action: Option<usize>,
    pub(super) side: Option<usize>,
    pub(super) price: Option<usize>,
    pub(super) size: Option<usize>,
    pub(super) body: Body,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Orders {
        order_id: usize,
    },
    Levels {
        bids: Vec<LevelColumns>,
        asks: Vec<LevelColumns>,
    },
    /// `depth` is the most levels a side that a row had room for so far.
    Arrays {
        bids: usize,
        asks: usize,
        bid_counts: Option<usize>,
        ask_counts: Option<usize>,
        depth: u32,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LevelColumns {
    pub(super) price: usize,
    pub(super) size: usize,
    pub(super) count: Option<usize>,
}

/// Why a table cannot be shown as a book.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NoBinding {
    /// Nothing says which column orders it.
    NoTime {
        /// The table.
        table: String,
    },
    /// The designated column is missing or no timestamp.
    TimeType {
        /// The table.
        table: String,
        /// The column.
        column: String,
        /// Its type; empty when there is no such column.
        kind: String,
    },
    /// No known layout has all its columns here.
    Missing {
        /// The table.
        table: String,
        /// Layout and what of it was not found (`price`, or `price (BOOLEAN is no number)`), the nearest layout first.
        layouts: Vec<(&'static str, Vec<String>)>,
    },
}

impl fmt::Display for NoBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBinding::NoTime { table } => write!(f, "{table} has no designated timestamp, so its rows have no order to replay"),
            NoBinding::TimeType { table, column, kind } if kind.is_empty() => write!(f, "{table} has no column {column} to order it"),
            NoBinding::TimeType { table, column, kind } => {
                write!(f, "{table} is ordered by {column}, which is {kind}; a replay needs a TIMESTAMP or TIMESTAMP_NS")
            }
            NoBinding::Missing { table, layouts } => {
                write!(f, "{table} holds no book that can be read: ")?;
                for (index, (layout, missed)) in layouts.iter().enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{layout} needs {}", missed.join(", "))?;
                }
                Ok(())
            }
        }
    }
}

impl std::error::Error for NoBinding {}

/// Deeper flat layouts do not exist; names beyond are other columns.
const MAX_FLAT_LEVELS: usize = 100;

impl Binding {
    /// Finds the layout of a table. Names are compared without case, as QuestDB does.
    ///
    /// # Errors
    /// [`NoBinding`], which names the columns that each layout misses.
    pub fn bind(table: &str, columns: &[ColumnDecl], designated: Option<&str>) -> Result<Binding, NoBinding> {
        let table = || table.to_owned();
        let time = designated.filter(|name| !name.is_empty()).ok_or_else(|| NoBinding::NoTime { table: table() })?;
        let found = columns.iter().find(|column| column.name.eq_ignore_ascii_case(time));
        let kind = found.map_or("", |column| column.kind.as_str());
        let Some(time) = found.filter(|_| Form::Time.takes(kind)) else {
            return Err(NoBinding::TimeType { table: table(), column: time.to_owned(), kind: kind.to_owned() });
        };
        let mut missed = Vec::new();
        for layout in [Picker::orders, Picker::levels, Picker::arrays] {
            let mut picker = Picker::new(columns, &time.name);
            match layout(&mut picker) {
                Some(mut binding) => {
                    picker.finish(&mut binding);
                    return Ok(binding);
                }
                None => missed.push((picker.layout, picker.missed)),
            }
        }
        missed.sort_by_key(|(_, columns)| columns.len());
        Err(NoBinding::Missing { table: table(), layouts: missed })
    }

    /// How the table is read, as the page shows it.
    #[must_use]
    pub fn info(&self) -> BindingInfo {
        BindingInfo {
            name: self.name.clone(),
            roles: self.roles.iter().map(|(role, column)| ((*role).to_owned(), column.clone())).collect(),
            reason: None,
        }
    }

    /// Which rows of the table are trades.
    #[must_use]
    pub fn trade_rows(&self) -> TradeRows {
        match (self.roles.get("action"), self.roles.get("price"), self.roles.get("size")) {
            (Some(action), Some(price), Some(size)) => {
                TradeRows::Where { column: action.clone(), words: vec!["T".to_owned()], price: price.clone(), size: size.clone() }
            }
            _ => TradeRows::None,
        }
    }

    /// Takes in how many levels a side the rows of arrays have room for ([`super::Chunk::depth`]): the name becomes `MBP-10
    /// (arrays)`, and one level makes an L1. The most that was seen counts. Other layouts know it from their columns.
    pub fn set_depth(&mut self, levels: u32) {
        if let Body::Arrays { depth, .. } = &mut self.layout.body
            && levels > *depth
        {
            *depth = levels;
            self.name = format!("MBP-{levels} (arrays)");
            self.kind = if levels == 1 { BookKind::L1 } else { BookKind::L2 };
        }
    }
}

/// What a role takes.
#[derive(Clone, Copy)]
enum Form {
    Time,
    Word,
    Number,
    Whole,
    Ladder,
    Counts,
}

impl Form {
    fn takes(self, kind: &str) -> bool {
        let kind = kind.trim().to_ascii_uppercase();
        let base = kind.split(['(', ' ']).next().unwrap_or("");
        let whole = matches!(base, "BYTE" | "SHORT" | "INT" | "LONG");
        match self {
            Form::Time => matches!(base, "TIMESTAMP" | "TIMESTAMP_NS"),
            Form::Word => matches!(base, "SYMBOL" | "VARCHAR" | "STRING" | "CHAR"),
            Form::Number => whole || matches!(base, "DOUBLE" | "DECIMAL"),
            Form::Whole => whole,
            Form::Ladder => matches!(base, "DOUBLE[][]" | "ARRAY[][]"),
            Form::Counts => whole || matches!(base, "DOUBLE[]" | "LONG[]" | "ARRAY[]"),
        }
    }

    fn wanted(self) -> &'static str {
        match self {
            Form::Time => "a timestamp",
            Form::Word => "a symbol or text",
            Form::Number => "a number",
            Form::Whole => "a whole number",
            Form::Ladder => "a DOUBLE[][]",
            Form::Counts => "counts",
        }
    }
}

/// Collects the columns of one layout.
struct Picker<'a> {
    table: &'a [ColumnDecl],
    layout: &'static str,
    roles: BTreeMap<&'static str, String>,
    columns: Vec<String>,
    missed: Vec<String>,
}

impl<'a> Picker<'a> {
    fn new(table: &'a [ColumnDecl], time: &str) -> Picker<'a> {
        let roles = BTreeMap::from([("time", time.to_owned())]);
        Picker { table, layout: "", roles, columns: vec![time.to_owned()], missed: Vec::new() }
    }

    fn find(&self, name: &str, form: Form) -> Result<&'a str, String> {
        match self.table.iter().find(|column| column.name.eq_ignore_ascii_case(name)) {
            None => Err(name.to_owned()),
            Some(column) if form.takes(&column.kind) => Ok(&column.name),
            Some(column) => Err(format!("{name} as {} (it is {})", form.wanted(), column.kind)),
        }
    }

    /// Position of a column in the selection; a column with two roles is selected once.
    fn select(&mut self, column: &str) -> usize {
        if let Some(at) = self.columns.iter().position(|have| have == column) {
            return at;
        }
        self.columns.push(column.to_owned());
        self.columns.len() - 1
    }

    fn optional(&mut self, role: &'static str, name: &str, form: Form) -> Option<usize> {
        let column = self.find(name, form).ok()?;
        self.roles.insert(role, column.to_owned());
        Some(self.select(column))
    }

    fn needed(&mut self, role: &'static str, name: &str, form: Form) -> Option<usize> {
        match self.find(name, form) {
            Ok(column) => {
                self.roles.insert(role, column.to_owned());
                Some(self.select(column))
            }
            Err(reason) => {
                self.missed.push(reason);
                None
            }
        }
    }

    /// One order a row.
    fn orders(&mut self) -> Option<Binding> {
        self.layout = "an order feed (MBO)";
        let action = self.needed("action", "action", Form::Word);
        let side = self.needed("side", "side", Form::Word);
        let price = self.needed("price", "price", Form::Number);
        let size = self.needed("size", "size", Form::Number);
        let order_id = self.needed("order_id", "order_id", Form::Whole);
        let order_id = order_id?;
        let layout = self.layout_of(Body::Orders { order_id }, Some(action?), Some(side?), Some(price?), Some(size?));
        let anchor = Anchor::MboSnapshot { action: self.roles.get("action").cloned().unwrap_or_default(), flags: self.roles.get("flags").cloned() };
        Some(self.binding("MBO".to_owned(), BookKind::L3, anchor, layout))
    }

    /// `bid_px_00 bid_sz_00 bid_ct_00 ask_px_00 …`.
    fn levels(&mut self) -> Option<Binding> {
        self.layout = "a depth feed (MBP)";
        let depth = (0..MAX_FLAT_LEVELS)
            .take_while(|level| {
                let name = |field: &str| format!("{field}_{level:02}");
                ["bid_px", "bid_sz", "ask_px", "ask_sz"].iter().all(|field| self.find(&name(field), Form::Number).is_ok())
            })
            .count();
        if depth == 0 {
            for name in ["bid_px_00", "bid_sz_00", "ask_px_00", "ask_sz_00"] {
                if let Err(reason) = self.find(name, Form::Number) {
                    self.missed.push(reason);
                }
            }
            return None;
        }
        let (mut bids, mut asks) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
        for level in 0..depth {
            bids.push(self.level("bid", level)?);
            asks.push(self.level("ask", level)?);
        }
        // One line for each field, not sixty: the first level stands for all.
        for (role, name) in [
            ("bid_price", "bid_px_00"),
            ("bid_size", "bid_sz_00"),
            ("bid_count", "bid_ct_00"),
            ("ask_price", "ask_px_00"),
            ("ask_size", "ask_sz_00"),
            ("ask_count", "ask_ct_00"),
        ] {
            if let Ok(column) = self.find(name, Form::Number) {
                self.roles.insert(role, column.to_owned());
            }
        }
        let layout = self.depth_layout(Body::Levels { bids, asks });
        let kind = if depth == 1 { BookKind::L1 } else { BookKind::L2 };
        Some(self.binding(format!("MBP-{depth}"), kind, Anchor::LastRow, layout))
    }

    fn level(&mut self, side: &str, level: usize) -> Option<LevelColumns> {
        let mut column = |field: &str, form: Form| {
            let name = self.find(&format!("{side}_{field}_{level:02}"), form).ok()?;
            Some(self.select(name))
        };
        Some(LevelColumns { price: column("px", Form::Number)?, size: column("sz", Form::Number)?, count: column("ct", Form::Whole) })
    }

    /// `bids` and `asks` as `DOUBLE[][]`: the first row prices, the second sizes.
    fn arrays(&mut self) -> Option<Binding> {
        self.layout = "a depth feed with arrays";
        let bids = self.needed("bids", "bids", Form::Ladder);
        let asks = self.needed("asks", "asks", Form::Ladder);
        let (bids, asks) = (bids?, asks?);
        let bid_counts = self.optional("bid_count", "bid_ct", Form::Counts);
        let ask_counts = self.optional("ask_count", "ask_ct", Form::Counts);
        let layout = self.depth_layout(Body::Arrays { bids, asks, bid_counts, ask_counts, depth: 0 });
        Some(self.binding("MBP (arrays)".to_owned(), BookKind::L2, Anchor::LastRow, layout))
    }

    /// A depth feed may carry its trades; it does when action, price and size are all there.
    fn depth_layout(&mut self, body: Body) -> Layout {
        let names = [("action", Form::Word), ("price", Form::Number), ("size", Form::Number)];
        if names.iter().any(|(name, form)| self.find(name, *form).is_err()) {
            return self.layout_of(body, None, None, None, None);
        }
        let action = self.optional("action", "action", Form::Word);
        let side = self.optional("side", "side", Form::Word);
        let price = self.optional("price", "price", Form::Number);
        let size = self.optional("size", "size", Form::Number);
        self.layout_of(body, action, side, price, size)
    }

    fn layout_of(&mut self, body: Body, action: Option<usize>, side: Option<usize>, price: Option<usize>, size: Option<usize>) -> Layout {
        let designated = self.columns.first().cloned().unwrap_or_default();
        // Where the venue's time orders the table it is both, and groups are told by it all the same.
        let venue_time = if designated.eq_ignore_ascii_case("ts_event") {
            self.roles.insert("venue_time", designated);
            Some(0)
        } else {
            self.optional("venue_time", "ts_event", Form::Time)
        };
        let sequence = self.optional("sequence", "sequence", Form::Whole);
        let flags = self.optional("flags", "flags", Form::Whole);
        Layout { venue_time, sequence, flags, action, side, price, size, body }
    }

    fn binding(&mut self, name: String, kind: BookKind, anchor: Anchor, layout: Layout) -> Binding {
        let mut key = |role: &'static str, name: &str, form: Form| {
            let column = self.find(name, form).ok()?.to_owned();
            self.roles.insert(role, column.clone());
            Some(column)
        };
        let symbol = key("symbol", "symbol", Form::Word);
        let publisher = key("publisher", "publisher_id", Form::Whole);
        let instrument = key("instrument", "instrument_id", Form::Whole);
        let time = self.columns.first().cloned().unwrap_or_default();
        Binding { name, kind, roles: BTreeMap::new(), columns: Vec::new(), time, symbol, publisher, instrument, anchor, layout }
    }

    fn finish(self, binding: &mut Binding) {
        binding.roles = self.roles;
        binding.columns = self.columns;
    }
}
