//! Which layout a table has: from the names and types of its columns alone.

use std::collections::BTreeMap;
use std::fmt;

use super::event::BookKind;
use super::words::Words;
use crate::link::BindingInfo;
use crate::units::Scale;

mod chosen;
mod layouts;
mod names;
mod picker;

use picker::{Form, Picker};

/// A column as the store's catalogue lists it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnDecl {
    /// Name.
    pub name: String,
    /// QuestDB type text: `SYMBOL`, `TIMESTAMP_NS`, `DECIMAL(18,9)`, `DOUBLE[][]`.
    pub kind: String,
}

/// A value that a row is told by, as its column holds it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Value {
    /// Of a column of words.
    Text(String),
    /// Of a column of integers.
    Whole(i64),
    /// Of a BOOLEAN column.
    Truth(bool),
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
    /// The last row of a snapshot: the newest one in which the column has one of the values.
    Marked {
        /// The column that marks snapshots.
        column: String,
        /// What it says of a row of a snapshot.
        values: Vec<Value>,
    },
    /// The last row: each carries all there is to know.
    LastRow {
        /// Where there are flags, the last one that ends an event group.
        flags: Option<String>,
    },
    /// Nothing: the table never says what the whole book is.
    Never,
}

/// What a table tells of the market.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Holds {
    /// Orders or price levels.
    Book,
    /// Best bid and ask.
    Quotes,
    /// Executions alone.
    Trades,
    /// Open, high, low and close of intervals.
    Bars,
}

impl Holds {
    /// `book`, `quotes`, `trades` or `bars`: the word of the state's JSON.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Holds::Book => "book",
            Holds::Quotes => "quotes",
            Holds::Trades => "trades",
            Holds::Bars => "bars",
        }
    }

    /// Whether a book can be made of it.
    #[must_use]
    pub fn has_book(self) -> bool {
        matches!(self, Holds::Book | Holds::Quotes)
    }
}

/// How a table is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// Name of the layout: `MBO`, `MBP-10`, `MBP (arrays)`, `Trades`.
    pub name: String,
    /// What it tells of the market.
    pub holds: Holds,
    /// What kind of book it gives; one of trades or bars stays empty. Arrays say how deep they are only in their rows, so until then
    /// it is L2.
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
    /// Column of instrument ids, or where there is none of the names of venues: part of a book's key.
    pub instrument: Option<String>,
    /// How a whole book before a moment is found.
    pub anchor: Anchor,
    /// Role → column as somebody chose it.
    pub chosen: BTreeMap<String, String>,
    pub(super) layout: Layout,
}

/// Which rows of a table are trades, so that a store can be asked for them alone. Those without a price are none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TradeRows {
    /// None.
    None,
    /// All.
    All {
        /// The column of the price.
        price: String,
        /// The column of the size.
        size: String,
    },
    /// Those whose action is one of the words.
    Where {
        /// The column of the action.
        column: String,
        /// Its words for a trade.
        words: Vec<Value>,
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
    pub(super) actions: Words,
    pub(super) sides: Words,
    pub(super) groups: Groups,
    /// Digits after the point of prices that are integers.
    pub(super) whole_price: Scale,
    pub(super) body: Body,
}

/// What makes rows one event group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Groups {
    /// Flags mark the last row, and rows of one venue time belong together. Without flags each row is one.
    Flags,
    /// Each row is one.
    Rows,
    /// All rows of one designated time, a snapshot apart.
    Times,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Orders {
        order_id: usize,
    },
    Levels {
        bids: Vec<LevelColumns>,
        asks: Vec<LevelColumns>,
        /// A price of zero says that the side is empty.
        zero_is_none: bool,
    },
    /// `depth` is the most levels a side that a row had room for so far.
    Arrays {
        bids: usize,
        asks: usize,
        bid_counts: Option<usize>,
        ask_counts: Option<usize>,
        depth: u32,
    },
    /// A level a row, with its new size.
    Changes {
        /// The mark of a snapshot's rows.
        snapshot: Option<usize>,
    },
    Trades,
    /// Its price is the close.
    Bars,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct LevelColumns {
    pub(super) price: usize,
    pub(super) size: usize,
    pub(super) count: Option<usize>,
}

/// Why a table cannot be read.
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
    /// A layout fits, but several columns could be one of its roles.
    Ambiguous {
        /// The table.
        table: String,
        /// The layout.
        layout: &'static str,
        /// The role and the columns that could be it.
        roles: Vec<(&'static str, Vec<String>)>,
    },
    /// The columns make two layouts of which each says something else.
    TwoLayouts {
        /// The table.
        table: String,
        /// The layouts.
        layouts: [&'static str; 2],
    },
    /// A role was given a column that it cannot have.
    Chosen {
        /// The table.
        table: String,
        /// The role.
        role: String,
        /// The column.
        column: String,
        /// Why.
        problem: String,
    },
    /// It is known what the table is, and that no book can be made of it.
    Refused {
        /// The table.
        table: String,
        /// What it is.
        reason: &'static str,
    },
}

/// Layouts that an error tells about: those that lack the least.
const NEAREST_LAYOUTS: usize = 3;

impl fmt::Display for NoBinding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            NoBinding::NoTime { table } => write!(f, "{table} has no designated timestamp, so its rows have no order to replay"),
            NoBinding::TimeType { table, column, kind } if kind.is_empty() => write!(f, "{table} has no column {column} to order it"),
            NoBinding::TimeType { table, column, kind } => {
                write!(f, "{table} is ordered by {column}, which is {kind}; a replay needs a TIMESTAMP or TIMESTAMP_NS")
            }
            NoBinding::Missing { table, layouts } => {
                write!(f, "{table} is of no kind that can be read: ")?;
                for (index, (layout, missed)) in layouts.iter().take(NEAREST_LAYOUTS).enumerate() {
                    let separator = if index == 0 { "" } else { "; " };
                    write!(f, "{separator}{layout} needs {}", missed.join(", "))?;
                }
                Ok(())
            }
            NoBinding::Ambiguous { table, layout, roles } => {
                write!(f, "{table} could be {layout}, but ")?;
                for (index, (role, columns)) in roles.iter().enumerate() {
                    let separator = if index == 0 { "" } else { ", and " };
                    write!(f, "{separator}its {role} could be {}", columns.join(" or "))?;
                }
                let choice = roles.first().and_then(|(role, columns)| Some(format!("{role}={}", columns.first()?)));
                write!(f, "; choose one, as --bind {} does", choice.unwrap_or_default())
            }
            NoBinding::TwoLayouts { table, layouts: [one, other] } => {
                write!(f, "{table} could be {one} or {other}: it has the columns of both; --bind price=…,size=… says that it is the first")
            }
            NoBinding::Chosen { table, role, column, problem } => write!(f, "{table}: {column} cannot be the {role}: {problem}"),
            NoBinding::Refused { table, reason } => write!(f, "{table} {reason}"),
        }
    }
}

impl std::error::Error for NoBinding {}

impl Binding {
    /// Finds the layout of a table. Names are compared without case, as QuestDB does; those that many sources share also without
    /// underscores and spaces.
    ///
    /// # Errors
    /// [`NoBinding`], which names the columns that the nearest layouts miss, or those between which it would have to guess.
    pub fn bind(table: &str, columns: &[ColumnDecl], designated: Option<&str>) -> Result<Binding, NoBinding> {
        Binding::bind_chosen(table, columns, designated, &BTreeMap::new())
    }

    /// The same where some roles have columns that were chosen: whatever these are called, and whatever else could be the role.
    ///
    /// # Errors
    /// As [`Binding::bind`]; [`NoBinding::Chosen`] for a role or column that is none, and for a choice that nothing would read.
    pub fn bind_chosen(
        table: &str,
        columns: &[ColumnDecl],
        designated: Option<&str>,
        chosen: &BTreeMap<String, String>,
    ) -> Result<Binding, NoBinding> {
        if chosen.is_empty() {
            return Binding::bind_named(table, columns, designated, false);
        }
        let aliased = chosen::Aliased::new(table, columns, designated, chosen)?;
        let decided = chosen.contains_key("price") && chosen.contains_key("size");
        let binding = Binding::bind_named(table, &aliased.columns, designated, decided)?;
        aliased.restore(table, binding, chosen)
    }

    /// `decided`: it is known that trades are meant where it could be something else too.
    fn bind_named(table: &str, columns: &[ColumnDecl], designated: Option<&str>, decided: bool) -> Result<Binding, NoBinding> {
        let table = || table.to_owned();
        let time = designated.filter(|name| !name.is_empty()).ok_or_else(|| NoBinding::NoTime { table: table() })?;
        let found = columns.iter().find(|column| column.name.eq_ignore_ascii_case(time));
        let kind = found.map_or("", |column| column.kind.as_str());
        let Some(time) = found.filter(|_| Form::Time.takes(kind)) else {
            return Err(NoBinding::TimeType { table: table(), column: time.to_owned(), kind: kind.to_owned() });
        };
        if let Some(reason) = names::no_book(columns) {
            return Err(NoBinding::Refused { table: table(), reason });
        }
        let mut missed = Vec::new();
        for layout in layouts::LAYOUTS {
            let mut picker = Picker::new(columns, &time.name);
            match layout(&mut picker) {
                Some(mut binding) if picker.ambiguous.is_empty() => {
                    if let Some(other) = picker.also.filter(|_| !decided) {
                        return Err(NoBinding::TwoLayouts { table: table(), layouts: [picker.layout, other] });
                    }
                    picker.finish(&mut binding);
                    return Ok(binding);
                }
                _ if picker.missed.is_empty() => {
                    return Err(NoBinding::Ambiguous { table: table(), layout: picker.layout, roles: picker.ambiguous });
                }
                _ => missed.push((picker.layout, picker.missed)),
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
            holds: self.holds.name().to_owned(),
            roles: self.roles.iter().map(|(role, column)| ((*role).to_owned(), column.clone())).collect(),
            chosen: self.chosen.clone(),
            reason: None,
        }
    }

    /// Which rows of the table are trades.
    #[must_use]
    pub fn trade_rows(&self) -> TradeRows {
        let (Some(price), Some(size)) = (self.roles.get("price"), self.roles.get("size")) else { return TradeRows::None };
        let (price, size) = (price.clone(), size.clone());
        match (self.roles.get("action"), &self.layout.body) {
            (Some(action), _) => TradeRows::Where { column: action.clone(), words: self.layout.actions.trades(), price, size },
            (None, Body::Trades) => TradeRows::All { price, size },
            (None, _) => TradeRows::None,
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
