//! The details panel as terms and values.

use crate::link::{Quality, State};
use crate::units::UnixNanos;

use super::numbers::{UNKNOWN, count};
use super::{clock, wording};

/// A term and what it is here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fact {
    /// The term.
    pub term: &'static str,
    /// Its value.
    pub value: String,
    /// What it means, for the tooltip.
    pub help: &'static str,
    /// Worth a second look: set apart by weight, not colour.
    pub remarkable: bool,
}

/// What a digest is good for.
pub const DIGEST_HELP: &str = "XXH3-64 of every level and order: equal digests mean equal books, whatever store they came from";

/// What the number of applied events is.
pub const EVENTS_HELP: &str = "How many events of the range were applied to the book on screen, one a row";

fn time(text: Option<&String>) -> Option<String> {
    text?.parse::<UnixNanos>().ok().map(clock::short)
}

fn fact(term: &'static str, value: Option<String>, help: &'static str) -> Fact {
    Fact { term, value: value.unwrap_or_else(|| UNKNOWN.to_owned()), help, remarkable: false }
}

/// What is known of the book on screen.
#[must_use]
pub fn book(state: &State) -> Vec<Fact> {
    let book = state.book.as_ref();
    let partial = book.and_then(|book| book.partial_since.as_ref());
    let bookless = wording::without_book(state).map(|(kind, _)| kind.to_owned());
    let known = match (book, partial) {
        (None, _) => None,
        (Some(_), _) if bookless.is_some() => None,
        (Some(_), Some(since)) => Some(format!("no, in part since {}", time(Some(since)).unwrap_or_else(|| since.clone()))),
        (Some(_), None) => Some("yes".to_owned()),
    };
    let mut facts = vec![
        fact("Kind", bookless.or_else(|| book.map(|book| wording::kind_short(&book.kind).to_owned())), "How much of the book the feed shows"),
        fact("Complete", known, "A book that began in mid-stream is known in part until a snapshot or clear comes"),
    ];
    if let Some(last) = facts.last_mut() {
        last.remarkable = partial.is_some();
    }
    facts
}

/// Where the book comes from and how its table is read.
#[must_use]
pub fn source(state: &State) -> Vec<Fact> {
    let table = state.catalogue.tables.iter().find(|table| Some(&table.name) == state.table.as_ref());
    let book = state.book.as_ref();
    let layout = state.binding.as_ref().map(|binding| binding.name.clone()).filter(|name| !name.is_empty());
    let bounds = state.catalogue.bounds.as_ref();
    let mut facts = vec![
        fact("Source", state.source.as_deref().map(wording::store_name), "The store that answers"),
        fact("Table", state.table.clone(), "The table that is read"),
        fact("Layout", layout, "How the table's columns are read"),
        fact("Instrument", state.symbols.first().cloned(), "The symbol whose book this is"),
        fact("Ordered by", table.and_then(|table| table.designated.clone()), "The designated timestamp: the column that orders the table"),
        fact(
            "Rows of the table",
            table.and_then(|table| table.rows).map(count),
            "Rows of the whole table, of all instruments, where the store knows them without counting",
        ),
        fact("Data from", bounds.and_then(|bounds| time(Some(&bounds.from))), "First time with data of this instrument"),
        fact("Data to", bounds.and_then(|bounds| time(Some(&bounds.to))), "Last time with data of this instrument"),
    ];
    let key = |term, value: Option<String>, help| value.map(|value| fact(term, Some(value), help));
    facts.extend(key("Publisher", book.and_then(|book| book.publisher).map(|id| id.to_string()), "A book belongs to one publisher"));
    let venue = state.binding.as_ref().is_some_and(|binding| binding.roles.contains_key("venue"));
    let (term, help) = if venue { ("Venue", "A book belongs to one venue") } else { ("Instrument id", "A book belongs to one instrument id") };
    facts.extend(key(term, book.and_then(|book| book.instrument.clone()), help));
    if table.is_some_and(|table| table.synthetic) {
        facts.push(Fact {
            remarkable: true,
            ..fact("Origin", Some("synthetic: made by tickscope, not by a market".to_owned()), "Where the rows come from")
        });
    }
    // The origin is said already.
    let note = table.and_then(|table| table.note.as_deref()).map(|note| note.strip_prefix("synthetic").unwrap_or(note).trim_start_matches("; "));
    facts.extend(key("Note", note.filter(|note| !note.is_empty()).map(str::to_owned), "What the store says of the table"));
    facts
}

/// The columns in the order of their roles' names.
#[must_use]
pub fn roles(state: &State) -> Vec<(String, String)> {
    let role = |(role, column): (&String, &String)| (wording::role_label(role), column.clone());
    state.binding.iter().flat_map(|binding| &binding.roles).map(role).collect()
}

/// What was found wrong or unusual.
#[must_use]
pub fn findings(quality: &Quality) -> Vec<Fact> {
    let since = Fact {
        term: "Counted since",
        value: quality.since.as_ref().and_then(|since| since.parse().ok()).map_or_else(|| "–".to_owned(), clock::short),
        help: "The first event that this book was built from: the snapshot, or the row, that the last seek began at",
        remarkable: false,
    };
    let gaps = Fact {
        term: "Sequence gaps",
        value: quality.gaps.map_or_else(|| "not judged".to_owned(), count),
        help: "Jumps of a sequence that counts one instrument's messages; nothing says of this table's that it does",
        remarkable: quality.gaps.is_some_and(|gaps| gaps > 0),
    };
    let counted = [
        ("Out of order", quality.out_of_order, "Rows whose time is smaller than that of the row before"),
        ("Crossed", quality.crossed, "Event groups after which the best bid was above the best ask"),
        ("Locked", quality.locked, "Event groups after which the best bid was equal to the best ask; this is legal"),
        ("Unknown orders", quality.unknown_orders, "Changes of orders that the book does not hold"),
        ("Marked doubtful", quality.maybe_bad, "Rows that the source itself marks: the book may be wrong"),
        ("Snapshots that differ", quality.snapshot_differs, "Snapshots unlike the book that was rebuilt up to them"),
    ]
    .into_iter()
    .map(|(term, found, help)| Fact { term, value: count(found), help, remarkable: found > 0 });
    [since, gaps].into_iter().chain(counted).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{BookJson, Catalogue, TableInfo};

    #[test]
    fn unknown_facts_are_dashes_and_absent_keys_are_left_out() {
        let facts = source(&State::default());
        assert!(facts.iter().all(|fact| fact.value == "–"));
        assert!(!facts.iter().any(|fact| fact.term == "Publisher"));
        assert!(book(&State::default()).iter().all(|fact| fact.value == "–" && !fact.remarkable));
    }

    #[test]
    fn partial_and_synthetic_are_set_apart() {
        let state = State {
            table: Some("demo".into()),
            book: Some(BookJson { partial_since: Some("1703462400000000000".into()), publisher: Some(1), kind: "L3".into(), ..BookJson::default() }),
            catalogue: Catalogue { tables: vec![TableInfo { name: "demo".into(), synthetic: true, ..TableInfo::default() }], ..Catalogue::default() },
            ..State::default()
        };
        let remarkable = |facts: Vec<Fact>| facts.into_iter().filter(|fact| fact.remarkable).map(|fact| fact.value).collect::<Vec<_>>();
        assert_eq!(remarkable(book(&state)), ["no, in part since 2023-12-25 00:00:00Z"]);
        assert_eq!(remarkable(source(&state)), ["synthetic: made by tickscope, not by a market"]);
        assert!(source(&state).iter().any(|fact| fact.term == "Publisher" && fact.value == "1"));
        assert!(!source(&state).iter().any(|fact| fact.term == "Note"));
    }

    #[test]
    fn what_the_store_says_of_a_table_is_shown_without_the_origin() {
        let note = |note: &str| {
            let table = TableInfo { name: "t".into(), synthetic: note.starts_with("synthetic"), note: Some(note.into()), ..TableInfo::default() };
            let state = State { table: Some("t".into()), catalogue: Catalogue { tables: vec![table], ..Catalogue::default() }, ..State::default() };
            source(&state).into_iter().filter(|fact| fact.term == "Note").map(|fact| fact.value).collect::<Vec<_>>()
        };
        assert_eq!(note("synthetic; planted faults: one"), ["planted faults: one"]);
        assert_eq!(note("left out: x"), ["left out: x"]);
        assert!(note("synthetic").is_empty());
    }

    #[test]
    fn a_table_of_trades_has_no_book_to_be_complete() {
        let binding = Some(crate::link::BindingInfo { name: "Trades".into(), holds: "trades".into(), ..Default::default() });
        let state = State { book: Some(BookJson { kind: "L1".into(), ..BookJson::default() }), binding, ..State::default() };
        assert_eq!(book(&state).into_iter().map(|fact| fact.value).collect::<Vec<_>>(), ["Trades, no book", "–"]);
        assert!(source(&state).iter().any(|fact| fact.term == "Layout" && fact.value == "Trades"));
    }

    #[test]
    fn only_what_was_found_is_remarkable() {
        let findings = findings(&Quality { crossed: 891, ..Quality::default() });
        assert_eq!(
            findings.iter().filter(|fact| fact.remarkable).map(|fact| (fact.term, fact.value.as_str())).collect::<Vec<_>>(),
            [("Crossed", "891")]
        );
    }
}
