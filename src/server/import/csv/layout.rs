//! Layouts of vendors: what their columns mean beyond their names, what the columns of files without a header are called, and which
//! column orders the rows.
//!
//! ```text
//!  Databento     by its header    prices without a point are units of 1e-9; i64::MAX and u64::MAX stand for none; by ts_recv
//!  Tardis        by its header    by local_timestamp
//!  Binance       by its header, or without one by the shape of its rows (trades, aggTrades, bookTicker, klines); symbol by file name
//!  LOBSTER       by file name     no header; prices are units of 1e-4; times are seconds after midnight in New York, those of a file
//!                                 of books are in the file of messages beside it; symbol by file name
//!  Polygon       by its header    by sip_timestamp; 0 stands for no time
//!  CME, Kaiko, crypto-lake        by their header, for their time column
//! ```
//!
//! A header that is none of these is generic: names and values say the rest.

use super::cell;
use super::names::{self, Role};

/// What a file is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    Databento,
    Tardis,
    Binance,
    LobsterMessages,
    LobsterBook,
    Polygon,
    Cme,
    CryptoLake,
    Kaiko,
    Generic,
}

/// Prices of Databento that are not set.
const DATABENTO_NO_PRICE: &[&str] = &["9223372036854775807"];
const DATABENTO_NO_TIME: &str = "18446744073709551615";
const DATABENTO_DIGITS: u32 = 9;
const LOBSTER_DIGITS: u32 = 4;
/// Levels of LOBSTER that are not there.
const LOBSTER_NO_PRICE: &[&str] = &["9999999999", "-9999999999"];

const SPOT_TRADES: [&str; 7] = ["id", "price", "qty", "quoteQty", "time", "isBuyerMaker", "isBestMatch"];
const FUTURES_TRADES: [&str; 6] = ["id", "price", "qty", "quote_qty", "time", "is_buyer_maker"];
const AGGREGATE_TRADES: [&str; 8] =
    ["agg_trade_id", "price", "quantity", "first_trade_id", "last_trade_id", "transact_time", "is_buyer_maker", "is_best_match"];
const BOOK_TICKER: [&str; 7] = ["update_id", "best_bid_price", "best_bid_qty", "best_ask_price", "best_ask_qty", "transaction_time", "event_time"];
const KLINES: [&str; 12] = [
    "open_time",
    "open",
    "high",
    "low",
    "close",
    "volume",
    "close_time",
    "quote_volume",
    "count",
    "taker_buy_volume",
    "taker_buy_quote_volume",
    "ignore",
];
const LOBSTER_MESSAGES: [&str; 6] = ["time", "type", "order_id", "size", "price", "direction"];

impl Layout {
    /// The layout of a file with that header.
    ///
    /// # Errors
    /// A file that is known to be no table of ticks.
    pub(super) fn of_header(names: &[String]) -> Result<Layout, &'static str> {
        let has = |name: &str| names.iter().any(|known| known == name);
        let begins = |start: &[&str]| names.len() >= start.len() && names.iter().zip(start).all(|(name, start)| name == start);
        if begins(&["timestamp", "percentage", "depth", "notional"]) {
            return Err("it is a bookDepth file of Binance: sums of depth per percent from the price, not a book; bookTicker files can be shown");
        }
        Ok(if has("rtype") && has("publisher_id") && has("instrument_id") && has("ts_event") {
            Layout::Databento
        } else if begins(&["exchange", "symbol", "timestamp", "local_timestamp"]) {
            Layout::Tardis
        } else if has("sip_timestamp") && has("participant_timestamp") {
            Layout::Polygon
        } else if ["is_buyer_maker", "isBuyerMaker"].into_iter().any(has) || begins(&BOOK_TICKER) || (begins(&["open_time"]) && has("close_time")) {
            Layout::Binance
        } else if has("TransactTime") && has("SendingTime") {
            Layout::Cme
        } else if has("receipt_timestamp") || (has("origin_time") && has("received_time")) {
            Layout::CryptoLake
        } else if has("ts_exchange") && has("ts_collection") {
            Layout::Kaiko
        } else {
            Layout::Generic
        })
    }

    /// The layout and the names of the columns of a file without a header: by its name, else by the shape of its first row.
    pub(super) fn of_row(file_name: &str, row: &[&str]) -> Option<(Layout, Vec<String>)> {
        let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        if let Some(lobster) = LobsterName::parse(file_name) {
            let numbers = row.iter().all(|field| cell::Number::parse(field).is_some());
            return match lobster.is_book {
                false => (numbers && row.len() == LOBSTER_MESSAGES.len()).then(|| (Layout::LobsterMessages, own(&LOBSTER_MESSAGES))),
                true => (numbers && !row.is_empty() && row.len().is_multiple_of(4)).then(|| (Layout::LobsterBook, lobster_levels(row.len() / 4))),
            };
        }
        let shape: String = row.iter().map(|field| shape(field)).collect();
        let names: &[&str] = match shape.as_str() {
            "innntbb" => &SPOT_TRADES,
            "innntb" => &FUTURES_TRADES,
            "inniitb" => AGGREGATE_TRADES.get(..7)?,
            "inniitbb" => &AGGREGATE_TRADES,
            "innnntt" => &BOOK_TICKER,
            "tnnnnntninnn" => &KLINES,
            _ => {
                // A whole amount looks like a count.
                let fits = |pattern: &str| {
                    shape.len() == pattern.len()
                        && shape.chars().zip(pattern.chars()).all(|(have, want)| have == want || (want == 'n' && have == 'i'))
                };
                let known: [(&str, &[&str]); 6] = [
                    ("innntbb", &SPOT_TRADES),
                    ("inniitbb", &AGGREGATE_TRADES),
                    ("innntb", &FUTURES_TRADES),
                    ("inniitb", AGGREGATE_TRADES.get(..7)?),
                    ("innnntt", &BOOK_TICKER),
                    ("tnnnnntninnn", &KLINES),
                ];
                known.into_iter().find(|(pattern, _)| fits(pattern))?.1
            }
        };
        Some((Layout::Binance, own(names)))
    }

    /// What a column of this layout is for.
    pub(super) fn role(self, name: &str) -> Role {
        let general = names::role(name);
        match self {
            Layout::Databento => match name {
                "ts_recv" | "ts_event" | "ts_ref" | "expiration" | "activation" => Role::TimeUnless(DATABENTO_NO_TIME),
                "ts_in_delta" => Role::Number,
                "price" | "open" | "high" | "low" | "close" => Role::Raw(DATABENTO_DIGITS, DATABENTO_NO_PRICE),
                _ if ["bid_px_", "ask_px_"].iter().any(|start| name.starts_with(start)) => Role::Raw(DATABENTO_DIGITS, DATABENTO_NO_PRICE),
                _ if name.ends_with("_price") || name == "min_price_increment" => Role::Raw(DATABENTO_DIGITS, DATABENTO_NO_PRICE),
                _ => general,
            },
            Layout::LobsterMessages => match name {
                "time" => Role::OfDay,
                "price" => Role::Raw(LOBSTER_DIGITS, &[]),
                "symbol" => Role::Word,
                _ => Role::Number,
            },
            Layout::LobsterBook => match name {
                "time" => Role::OfDay,
                "symbol" => Role::Word,
                _ if name.contains("price") => Role::Raw(LOBSTER_DIGITS, LOBSTER_NO_PRICE),
                _ => Role::Number,
            },
            // Digits and letters.
            Layout::Cme if name == "MDEntryType" => Role::Word,
            Layout::Polygon if general == Role::Time => Role::TimeUnless("0"),
            _ => general,
        }
    }

    /// Columns that order its rows, the best first.
    pub(super) fn time_columns(self) -> &'static [&'static str] {
        match self {
            Layout::Databento => &["ts_recv", "ts_event"],
            Layout::Tardis => &["local_timestamp"],
            Layout::Binance => &["transact_time", "transaction_time", "time", "open_time", "event_time"],
            Layout::LobsterMessages | Layout::LobsterBook => &["time"],
            Layout::Polygon => &["sip_timestamp"],
            Layout::Cme => &["SendingTime"],
            Layout::CryptoLake => &["received_time", "receipt_timestamp"],
            Layout::Kaiko => &["ts_collection"],
            Layout::Generic => &[],
        }
    }

    /// The symbol that the file's name tells and no column does.
    pub(super) fn symbol_of(self, file_name: &str) -> Option<String> {
        match self {
            Layout::LobsterMessages | Layout::LobsterBook => LobsterName::parse(file_name).map(|name| name.symbol.to_owned()),
            Layout::Binance => {
                let (symbol, rest) = file_name.split_once('-')?;
                let kinds = ["trades", "aggTrades", "bookTicker"];
                let known = kinds.iter().any(|kind| rest.strip_prefix(kind).is_some_and(|rest| rest.starts_with(['-', '.'])));
                // Of klines the name has the interval: `BTCUSDT-1m-2024-05.zip`.
                let interval = rest.split(['-', '.']).next()?;
                let bars = interval.ends_with(['s', 'm', 'h', 'd', 'w', 'o']) && interval.starts_with(|c: char| c.is_ascii_digit());
                let plain = symbol.chars().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_');
                ((known || bars) && plain && !symbol.is_empty()).then(|| symbol.to_owned())
            }
            _ => None,
        }
    }
}

/// `ask_price_1, ask_size_1, bid_price_1, bid_size_1, ask_price_2, …`.
fn lobster_levels(levels: usize) -> Vec<String> {
    (1..=levels).flat_map(|level| ["ask_price", "ask_size", "bid_price", "bid_size"].map(|name| format!("{name}_{level}"))).collect()
}

/// One letter for what a field is: a moment, an integer, another number, yes or no, text.
fn shape(field: &str) -> char {
    match cell::integer(field) {
        // Ids are smaller than milliseconds of this century.
        Some(count) if count >= 1_000_000_000_000 && cell::Unit::of(count).is_some() => 't',
        Some(_) => 'i',
        None if cell::Number::parse(field).is_some() => 'n',
        None if cell::boolean(field).is_some() => 'b',
        None => 'x',
    }
}

/// `AAPL_2012-06-21_34200000_57600000_message_10.csv`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct LobsterName<'a> {
    pub(super) symbol: &'a str,
    /// As it is written.
    pub(super) date: &'a str,
    pub(super) is_book: bool,
}

impl<'a> LobsterName<'a> {
    /// The name of the file of messages beside a file of books.
    pub(super) fn messages(file_name: &str) -> String {
        match file_name.rsplit_once("_orderbook_") {
            Some((start, end)) => format!("{start}_message_{end}"),
            None => file_name.to_owned(),
        }
    }

    pub(super) fn parse(file_name: &'a str) -> Option<LobsterName<'a>> {
        let mut parts = file_name.rsplitn(6, '_');
        let (levels, kind, end, start, date, symbol) = (parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        let number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
        let is_book = match kind {
            "message" => false,
            "orderbook" => true,
            _ => return None,
        };
        let levels = levels.split('.').next()?;
        let known = number(levels) && number(end) && number(start) && date.len() == 10 && cell::written(date).is_some();
        (known && !symbol.is_empty()).then_some(LobsterName { symbol, date, is_book })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_tell_symbols_and_days() {
        let lobster = LobsterName::parse("BRK_B_2012-06-21_34200000_57600000_orderbook_10.rows-1-600.csv");
        assert_eq!(lobster, Some(LobsterName { symbol: "BRK_B", date: "2012-06-21", is_book: true }));
        assert_eq!(LobsterName::parse("AAPL_2012-06-21_message_10.csv"), None);
        for (name, symbol) in [
            ("BTCUSDT-trades-2025-01-01.zip", Some("BTCUSDT")),
            ("ETHUSD_PERP-aggTrades-2024-05.csv", Some("ETHUSD_PERP")),
            ("BTCUSDT-1m-2024-05.zip", Some("BTCUSDT")),
            ("BTCUSDT_240628-bookTicker-2024-05-08.zip", Some("BTCUSDT_240628")),
            ("my-trades-2024.csv", None),
            ("BTCUSDT-depth.csv", None),
            ("trades.csv", None),
        ] {
            assert_eq!(Layout::Binance.symbol_of(name).as_deref(), symbol, "{name}");
        }
    }

    #[test]
    fn rows_without_a_header_are_known_by_their_shape() {
        for (row, name) in [
            (&["1", "2.50", "0.1", "0.25", "1735689600123456", "True", "True"][..], Some("isBestMatch")),
            (&["1", "2", "1", "2", "1735689600123", "true"], Some("is_buyer_maker")),
            (&["1", "2.5", "1", "7", "8", "1735689600123", "true"], Some("is_buyer_maker")),
            (&["1", "2", "1", "7", "8", "1735689600123", "true", "true"], Some("is_best_match")),
            (&["9", "2.5", "1", "2.6", "3", "1735689600123", "1735689600124"], Some("event_time")),
            (&["1735689600123", "1", "2", "3"], None),
            (&["1", "2.5", "x", "2.6", "3", "1735689600123", "1735689600124"], None),
        ] {
            let found = Layout::of_row("x.csv", row).map(|(_, names)| names.last().cloned().unwrap());
            assert_eq!(found.as_deref(), name, "{row:?}");
        }
    }
}
