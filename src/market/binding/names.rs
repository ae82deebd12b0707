//! Names that people give the same thing. They are compared without case, spaces and underscores: `isBuyerMaker` is
//! `is_buyer_maker`.

use super::ColumnDecl;

/// Prices of trades.
pub(super) const PRICE: &[&str] = &["price", "px", "tradeprice", "lastprice"];
/// Sizes of trades and levels.
pub(super) const SIZE: &[&str] = &["size", "sz", "qty", "quantity", "amount", "volume", "tradevolume", "shares"];
/// Who initiated a trade, or the side of a level, in words.
pub(super) const SIDE: &[&str] = &["side", "aggressor", "aggressorside", "takerside"];
/// True when the buyer's order rested.
pub(super) const BUYER_IS_MAKER: &[&str] = &["isbuyermaker", "buyermaker", "buyerismaker"];
/// True for a level of the bids.
pub(super) const IS_BID: &[&str] = &["sideisbid", "isbid"];
/// True for the rows of a snapshot.
pub(super) const SNAPSHOT: &[&str] = &["issnapshot", "snapshot"];
/// Instruments; a column that is called `symbol` goes before them.
pub(super) const SYMBOL: &[&str] = &["sym", "ticker", "instrument", "pair", "productid", "stock"];
/// Where a quote or level is from; each venue has a book of its own.
pub(super) const VENUE: &[&str] = &["ecn", "venue", "exchange"];
/// Columns of what happens to orders, which trades alone do not have.
pub(super) const ORDER_EVENTS: &[&str] =
    &["orderid", "orderreferencenumber", "orderrefnum", "type", "updatetype", "msgtype", "messagetype", "eventtype", "entrytype", "level"];
/// Numbers of trades, which what happens to orders does not have.
pub(super) const TRADE_IDS: &[&str] = &["tradeid", "aggtradeid", "matchnumber", "matchid", "trdmatchid", "execid", "executionid"];
/// Best bid.
pub(super) const BID: &[&str] = &["bid", "bidprice", "bidpx", "bestbid", "bestbidprice", "bestbidpx"];
/// Size of the best bid.
pub(super) const BID_SIZE: &[&str] = &[
    "bidsize",
    "bidsz",
    "bidqty",
    "bidquantity",
    "bidamount",
    "bidvolume",
    "bsize",
    "bidsiz",
    "bestbidsize",
    "bestbidsz",
    "bestbidqty",
    "bestbidquantity",
    "bestbidamount",
];
/// Best ask.
pub(super) const ASK: &[&str] =
    &["ask", "askprice", "askpx", "bestask", "bestaskprice", "bestaskpx", "offer", "offerprice", "ofr", "bestoffer", "bestofferprice"];
/// Size of the best ask.
pub(super) const ASK_SIZE: &[&str] = &[
    "asksize",
    "asksz",
    "askqty",
    "askquantity",
    "askamount",
    "askvolume",
    "asize",
    "asksiz",
    "bestasksize",
    "bestasksz",
    "bestaskqty",
    "bestaskquantity",
    "bestaskamount",
    "offersize",
    "offerqty",
    "ofrsiz",
    "bestoffersize",
];

/// How the columns of a level are called: `{s}` is `bid` or `ask`, `{n}` the level, `{nn}` the level in two digits.
pub(super) struct LevelNames {
    pub(super) price: &'static str,
    pub(super) size: &'static str,
    /// Empty where there is none.
    pub(super) count: &'static str,
}

/// Databento's, which may carry the trades as well.
pub(super) const DATABENTO_LEVELS: LevelNames = LevelNames { price: "{s}_px_{nn}", size: "{s}_sz_{nn}", count: "{s}_ct_{nn}" };

/// All others, whose rows are books and nothing else.
pub(super) const LEVELS: &[LevelNames] = &[
    // Tardis
    LevelNames { price: "{s}s[{n}].price", size: "{s}s[{n}].amount", count: "" },
    // crypto-lake
    LevelNames { price: "{s}_{n}_price", size: "{s}_{n}_size", count: "{s}_{n}_count" },
    // LOBSTER, and many
    LevelNames { price: "{s}_price_{n}", size: "{s}_size_{n}", count: "{s}_count_{n}" },
    LevelNames { price: "{s}_px_{n}", size: "{s}_sz_{n}", count: "{s}_ct_{n}" },
    LevelNames { price: "{s}_price_{n}", size: "{s}_qty_{n}", count: "" },
    LevelNames { price: "{s}_price_{n}", size: "{s}_amount_{n}", count: "" },
    LevelNames { price: "{s}_price_{n}", size: "{s}_volume_{n}", count: "" },
];

impl LevelNames {
    pub(super) fn of(pattern: &str, side: &str, level: usize) -> String {
        pattern.replace("{s}", side).replace("{nn}", &format!("{level:02}")).replace("{n}", &level.to_string())
    }
}

/// A name in the form in which names are compared.
pub(super) fn plain(name: &str) -> String {
    name.chars().filter(|letter| !matches!(letter, '_' | ' ' | '-')).map(|letter| letter.to_ascii_lowercase()).collect()
}

/// What a table is that looks like a book and is none.
pub(super) fn no_book(columns: &[ColumnDecl]) -> Option<&'static str> {
    let has = |name: &str| columns.iter().any(|column| plain(&column.name) == name);
    (has("percentage") && has("depth") && has("notional") && !has("price"))
        .then_some("holds the depth within percentages of the price (Binance bookDepth), which names no price levels: no book can be made of it")
}
