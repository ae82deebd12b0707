//! What the name of a column says about it. Only where its values leave a choice does the name decide.

/// What a column is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Role {
    /// Its values alone say what it is.
    Free,
    /// Integers are moments, their unit told by their size.
    Time,
    /// The same; the values say that there is none.
    TimeUnless(&'static str),
    /// Seconds after midnight; [`super::head::Head::midnight`] says which.
    OfDay,
    /// Text in it is an error.
    Number,
    /// Integers are units of ten to the minus so much; the values say that there is none.
    Raw(u32, &'static [&'static str]),
    /// Text, also where it looks like a number: codes keep their zeros.
    Word,
    /// Text of which no value comes again.
    Id,
}

impl Role {
    /// Whether a value stands for none.
    pub(super) fn is_none(self, text: &str) -> bool {
        match self {
            _ if text.is_empty() => true,
            Role::TimeUnless(none) => text == none,
            Role::Raw(_, none) => none.contains(&text),
            _ => false,
        }
    }

    /// Whether moments may be written as numbers.
    pub(super) fn is_time(self) -> bool {
        matches!(self, Role::Time | Role::TimeUnless(_) | Role::OfDay)
    }
}

/// Names of columns of codes.
const WORDS: [&str; 18] = [
    "symbol",
    "sym",
    "ticker",
    "stock",
    "instrument",
    "instrument_name",
    "market",
    "pair",
    "isin",
    "figi",
    "cusip",
    "sym_root",
    "sym_suffix",
    "condition",
    "conditions",
    "cond",
    "indicators",
    "quote_condition",
];
const TIMES: [&str; 5] = ["time", "timestamp", "date", "datetime", "ts"];
const NUMBERS: [&str; 25] = [
    "price", "px", "size", "sz", "qty", "quantity", "amount", "volume", "vol", "notional", "bid", "ask", "bsize", "asize", "offer", "open", "high",
    "low", "close", "vwap", "ct", "count", "shares", "bidsiz", "asksiz",
];
/// Beside these, the others say something else: `bid_exchange`, `price_type`, `time_in_force`, `ts_in_delta`.
const OTHERS: [&str; 20] = [
    "id",
    "ids",
    "side",
    "exchange",
    "ex",
    "ecn",
    "type",
    "flag",
    "flags",
    "condition",
    "cond",
    "currency",
    "code",
    "venue",
    "maker",
    "delta",
    "in",
    "zone",
    "mode",
    "sequence",
];

/// What a column of that name is for.
pub(super) fn role(name: &str) -> Role {
    let parts = parts(name);
    let any = |known: &[&str]| parts.iter().any(|part| known.contains(&part.as_str()));
    let whole = parts.join("_");
    if WORDS.contains(&whole.as_str()) {
        Role::Word
    } else if parts.last().is_some_and(|last| ["id", "uuid", "guid"].contains(&last.as_str())) {
        Role::Id
    } else if any(&OTHERS) {
        Role::Free
    } else if any(&TIMES) {
        Role::Time
    } else if any(&NUMBERS) {
        Role::Number
    } else {
        Role::Free
    }
}

/// The words of a name in lower case: `isBuyerMaker`, `bid_px_00` and `asks[0].price` have three each.
fn parts(name: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut before = '_';
    for c in name.chars() {
        let begins = !c.is_alphanumeric() || (c.is_uppercase() && before.is_lowercase());
        if begins && parts.last().is_some_and(|last| !last.is_empty()) {
            parts.push(String::new());
        }
        if let (true, Some(last)) = (c.is_alphanumeric(), parts.last_mut()) {
            last.extend(c.to_lowercase());
        }
        before = c;
    }
    parts.retain(|part| !part.is_empty());
    parts
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_say_what_columns_are_for() {
        for (names, expected) in [
            (&["ts", "time", "Timestamp", "local_timestamp", "TransactTime", "ts_recv", "sip_timestamp", "date", "close_time"][..], Role::Time),
            (&["price", "bid_px_00", "asks[0].amount", "bestBidQty", "Bid Price", "bid", "quote_qty", "volume", "MDEntryPx"], Role::Number),
            (&["symbol", "ticker", "conditions", "Quote_Condition"], Role::Word),
            (&["id", "trade_id", "tradeId", "order id"], Role::Id),
            (&["side", "bid_exchange", "ts_in_delta", "is_buyer_maker", "rtype", "update", "flags", "time_in_force", "action"], Role::Free),
        ] {
            for name in names {
                assert_eq!(role(name), expected, "{name}");
            }
        }
    }
}
