//! The layouts that are known, each a function that takes its columns from a table or says which it misses.
//!
//! They are tried in the order of [`LAYOUTS`]: what tells more of the book goes first, and a layout with names of its own before
//! one that many tables could have.

use super::names::{self, LevelNames};
use super::picker::{Form, Picker};
use super::{Anchor, Binding, Body, Groups, Holds, Layout, LevelColumns, Value};
use crate::market::event::BookKind;
use crate::market::words::Words;
use crate::units::Scale;

type Pick = fn(&mut Picker<'_>) -> Option<Binding>;

pub(super) const LAYOUTS: [Pick; 9] = [orders, lobster, databento_levels, levels, arrays, changes, quotes, trades, bars];

/// Deeper flat layouts do not exist; names beyond are other columns.
const MAX_FLAT_LEVELS: usize = 100;

/// One order a row.
fn orders(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "an order feed (MBO)";
    let action = picker.needed("action", "action", Form::Word);
    let side = picker.needed("side", "side", Form::Word);
    let price = picker.needed("price", "price", Form::Number);
    let size = picker.needed("size", "size", Form::Number);
    let order_id = picker.needed("order_id", "order_id", Form::Whole);
    let order_id = order_id?;
    let layout = picker.databento(Body::Orders { order_id }, Some(action?), Some(side?), Some(price?), Some(size?));
    let layout = Layout { actions: Words::Actions, ..layout };
    let anchor = Anchor::MboSnapshot { action: picker.roles.get("action").cloned().unwrap_or_default(), flags: picker.roles.get("flags").cloned() };
    Some(picker.binding("MBO".to_owned(), Holds::Book, BookKind::L3, anchor, layout))
}

/// LOBSTER's message file: integer prices are ten-thousandths, the direction is that of the resting order. The day's book before the
/// file's first row is in no row, so it is partial throughout.
fn lobster(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a LOBSTER message file";
    let action = picker.needed("action", "type", Form::Whole);
    let order_id = picker.needed("order_id", "order_id", Form::Whole);
    let size = picker.needed("size", "size", Form::Number);
    let price = picker.needed("price", "price", Form::Number);
    let side = picker.needed("side", "direction", Form::Whole);
    let order_id = order_id?;
    let layout = picker.plain(Body::Orders { order_id });
    let (action, side, price, size) = (Some(action?), Some(side?), Some(price?), Some(size?));
    let layout = Layout { action, side, price, size, actions: Words::LobsterTypes, sides: Words::Directions, whole_price: LOBSTER_PRICES, ..layout };
    Some(picker.binding("LOBSTER messages".to_owned(), Holds::Book, BookKind::L3, Anchor::Never, layout))
}

/// LOBSTER writes dollars times 10,000.
const LOBSTER_PRICES: Scale = Scale(4);

/// `bid_px_00 bid_sz_00 bid_ct_00 ask_px_00 …`.
fn databento_levels(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a depth feed (MBP)";
    let (bids, asks) = level_columns(picker, &names::DATABENTO_LEVELS, 0)?;
    let depth = bids.len();
    let layout = with_trades(picker, Body::Levels { bids, asks, zero_is_none: false });
    let anchor = Anchor::LastRow { flags: flags_of(picker, &layout) };
    let (holds, kind) = depth_kind(depth);
    Some(picker.binding(format!("MBP-{depth}"), holds, kind, anchor, layout))
}

/// Levels under other names.
fn levels(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a table of levels";
    let has = |picker: &Picker<'_>, form: &LevelNames, level: usize| missing_at(picker, form, level).is_empty();
    let fitting: Vec<(&LevelNames, usize)> =
        names::LEVELS.iter().filter_map(|form| [0, 1].into_iter().find(|first| has(picker, form, *first)).map(|first| (form, first))).collect();
    let (form, first) = match fitting.as_slice() {
        [] => {
            picker.missed.extend(missing_at(picker, &names::LEVELS[0], 0));
            return None;
        }
        [only] => *only,
        several => {
            let columns =
                several.iter().flat_map(|(form, first)| [LevelNames::of(form.price, "bid", *first), LevelNames::of(form.size, "bid", *first)]);
            let mut columns: Vec<String> = columns.collect();
            columns.dedup();
            picker.ambiguous.push(("best bid", columns));
            return None;
        }
    };
    let (bids, asks) = level_columns(picker, form, first)?;
    let depth = bids.len();
    let layout = picker.plain(Body::Levels { bids, asks, zero_is_none: false });
    let (holds, kind) = depth_kind(depth);
    let name = if depth == 1 { "Levels, 1 a side".to_owned() } else { format!("Levels, {depth} a side") };
    Some(picker.binding(name, holds, kind, Anchor::LastRow { flags: None }, layout))
}

fn depth_kind(depth: usize) -> (Holds, BookKind) {
    if depth == 1 { (Holds::Quotes, BookKind::L1) } else { (Holds::Book, BookKind::L2) }
}

/// What a level lacks.
fn missing_at(picker: &Picker<'_>, form: &LevelNames, level: usize) -> Vec<String> {
    let fields = [(form.price, "bid"), (form.size, "bid"), (form.price, "ask"), (form.size, "ask")];
    fields.iter().filter_map(|(pattern, side)| picker.find(&LevelNames::of(pattern, side, level), Form::Number).err()).collect()
}

/// Selects the levels from `first` on, as far as there is no hole.
fn level_columns(picker: &mut Picker<'_>, form: &LevelNames, first: usize) -> Option<(Vec<LevelColumns>, Vec<LevelColumns>)> {
    let depth = (first..first + MAX_FLAT_LEVELS).take_while(|level| missing_at(picker, form, *level).is_empty()).count();
    if depth == 0 {
        picker.missed.extend(missing_at(picker, form, first));
        return None;
    }
    let (mut bids, mut asks) = (Vec::with_capacity(depth), Vec::with_capacity(depth));
    for level in first..first + depth {
        bids.push(level_of(picker, form, "bid", level)?);
        asks.push(level_of(picker, form, "ask", level)?);
    }
    // One line for each field, not sixty: the first level stands for all.
    for (role, pattern, side) in [
        ("bid_price", form.price, "bid"),
        ("bid_size", form.size, "bid"),
        ("bid_count", form.count, "bid"),
        ("ask_price", form.price, "ask"),
        ("ask_size", form.size, "ask"),
        ("ask_count", form.count, "ask"),
    ] {
        if let Ok(column) = picker.find(&LevelNames::of(pattern, side, first), Form::Number) {
            picker.roles.insert(role, column.to_owned());
        }
    }
    Some((bids, asks))
}

fn level_of(picker: &mut Picker<'_>, form: &LevelNames, side: &str, level: usize) -> Option<LevelColumns> {
    let mut column = |pattern: &str, form: Form| {
        let name = picker.find(&LevelNames::of(pattern, side, level), form).ok()?;
        Some(picker.select(name))
    };
    Some(LevelColumns { price: column(form.price, Form::Number)?, size: column(form.size, Form::Number)?, count: column(form.count, Form::Whole) })
}

/// `bids` and `asks` as `DOUBLE[][]`: the first row prices, the second sizes.
fn arrays(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a depth feed with arrays";
    let bids = picker.needed("bids", "bids", Form::Ladder);
    let asks = picker.needed("asks", "asks", Form::Ladder);
    let (bids, asks) = (bids?, asks?);
    let bid_counts = picker.optional("bid_count", "bid_ct", Form::Counts);
    let ask_counts = picker.optional("ask_count", "ask_ct", Form::Counts);
    let layout = with_trades(picker, Body::Arrays { bids, asks, bid_counts, ask_counts, depth: 0 });
    let anchor = Anchor::LastRow { flags: flags_of(picker, &layout) };
    Some(picker.binding("MBP (arrays)".to_owned(), Holds::Book, BookKind::L2, anchor, layout))
}

/// A depth feed may carry its trades; it does when action, price and size are all there.
fn with_trades(picker: &mut Picker<'_>, body: Body) -> Layout {
    let names = [("action", Form::Word), ("price", Form::Number), ("size", Form::Number)];
    if names.iter().any(|(name, form)| picker.find(name, *form).is_err()) {
        return picker.databento(body, None, None, None, None);
    }
    let action = picker.optional("action", "action", Form::Word);
    let side = picker.optional("side", "side", Form::Word);
    let price = picker.optional("price", "price", Form::Number);
    let size = picker.optional("size", "size", Form::Number);
    picker.databento(body, action, side, price, size)
}

/// The column of the flags where they tell groups.
fn flags_of(picker: &Picker<'_>, layout: &Layout) -> Option<String> {
    picker.roles.get("flags").filter(|_| layout.groups == Groups::Flags).cloned()
}

/// One price level a row, with its size from now on; zero removes it. A mark says which rows are a snapshot, or the name of the side
/// says that rows are levels.
fn changes(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a feed of level changes (L2)";
    let is_bid = picker.has(names::IS_BID);
    let snapshot = picker.one_of("snapshot", names::SNAPSHOT, Form::Truth, !is_bid);
    let side = match is_bid {
        true => picker.selected_one_of("side", names::IS_BID, Form::Truth),
        false => picker.selected_one_of("side", names::SIDE, Form::Word),
    };
    let price = picker.selected_one_of("price", names::PRICE, Form::Number);
    let size = picker.selected_one_of("size", names::SIZE, Form::Number);
    let (side, price, size) = (Some(side?), Some(price?), Some(size?));
    if !picker.missed.is_empty() {
        return None;
    }
    let (anchor, snapshot) = match snapshot {
        Some(column) => {
            let values = match picker.kind_of(column).trim().to_ascii_uppercase().as_str() {
                "BOOLEAN" => vec![Value::Truth(true)],
                "BYTE" | "SHORT" | "INT" | "LONG" => vec![Value::Whole(1)],
                _ => Words::TRUE.iter().map(|word| Value::Text((*word).to_owned())).collect(),
            };
            (Anchor::Marked { column: column.to_owned(), values }, Some(picker.select(column)))
        }
        None => (Anchor::Never, None),
    };
    let sides = if is_bid { Words::IsBid } else { Words::LevelSides };
    let layout = picker.plain(Body::Changes { snapshot });
    let layout = Layout { side, price, size, sides, groups: Groups::Times, ..layout };
    Some(picker.binding("Level changes".to_owned(), Holds::Book, BookKind::L2, anchor, layout))
}

/// Best bid and ask.
fn quotes(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a table of quotes (L1)";
    let bid = picker.selected_one_of("bid_price", names::BID, Form::Number);
    let bid_size = picker.selected_one_of("bid_size", names::BID_SIZE, Form::Number);
    let ask = picker.selected_one_of("ask_price", names::ASK, Form::Number);
    let ask_size = picker.selected_one_of("ask_size", names::ASK_SIZE, Form::Number);
    let bids = vec![LevelColumns { price: bid?, size: bid_size?, count: None }];
    let asks = vec![LevelColumns { price: ask?, size: ask_size?, count: None }];
    let layout = picker.plain(Body::Levels { bids, asks, zero_is_none: true });
    Some(picker.binding("Quotes".to_owned(), Holds::Quotes, BookKind::L1, Anchor::LastRow { flags: None }, layout))
}

/// Executions and nothing else. Databento's have an action, of which `T` is one.
fn trades(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "a table of trades";
    let price = picker.selected_one_of("price", names::PRICE, Form::Number);
    let size = picker.selected_one_of("size", names::SIZE, Form::Number);
    let action = picker.optional("action", "action", Form::Word);
    let maker = picker.has(names::BUYER_IS_MAKER);
    let (side, sides) = match (maker, picker.has(names::SIDE)) {
        (true, true) => {
            picker.ambiguous.push(("side", vec!["the side".to_owned(), "whether the buyer was the maker".to_owned()]));
            (None, Words::Aggressors)
        }
        (true, false) => (picker.selected_one_of("buyer_is_maker", names::BUYER_IS_MAKER, Form::Truth), Words::BuyerIsMaker),
        (false, true) => (picker.selected_one_of("side", names::SIDE, Form::Word), Words::Aggressors),
        (false, false) => (None, Words::Aggressors),
    };
    let (price, size) = (Some(price?), Some(size?));
    if !picker.missed.is_empty() {
        return None;
    }
    if BARS.iter().all(|name| picker.has(&[name])) {
        picker.also = Some("bars");
    } else if action.is_some() && side.is_none() || action.is_none() && picker.has(names::ORDER_EVENTS) && !picker.has(names::TRADE_IDS) {
        // Databento's actions come with a side; other words of action are those of orders.
        picker.also = Some("a feed of orders or levels that is not known");
    }
    let layout = picker.plain(Body::Trades);
    // What a column called flags means is known of Databento's.
    let flags = if action.is_some() { picker.optional("flags", "flags", Form::Whole) } else { None };
    let layout = Layout { flags, action, side, price, size, sides, ..layout };
    Some(picker.binding("Trades".to_owned(), Holds::Trades, BookKind::L1, Anchor::LastRow { flags: None }, layout))
}

const BARS: [&str; 4] = ["open", "high", "low", "close"];

/// Open, high, low and close of intervals; only the close is read.
fn bars(picker: &mut Picker<'_>) -> Option<Binding> {
    picker.layout = "bars";
    for name in ["open", "high", "low"] {
        picker.one_of(name, &[name], Form::Number, true);
    }
    let close = picker.selected_one_of("close", &["close"], Form::Number);
    if picker.missed.is_empty() && picker.has(&["volume"]) {
        picker.one_of("volume", &["volume"], Form::Number, false);
    }
    let price = Some(close?);
    if !picker.missed.is_empty() {
        return None;
    }
    let layout = picker.plain(Body::Bars);
    let layout = Layout { price, ..layout };
    Some(picker.binding("Bars".to_owned(), Holds::Bars, BookKind::L1, Anchor::LastRow { flags: None }, layout))
}
