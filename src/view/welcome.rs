//! The first visit: what there is to choose from, and whether there is a choice at all.

use crate::link::{Open, State, TableInfo};

use super::numbers::counted;
use super::wording;

/// What tickscope is, for someone who never saw it.
pub const SENTENCE: &str = "Replays recorded market data tick by tick and rebuilds the order book at any instant.";

/// A table and its instruments.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// The table's name.
    pub table: String,
    /// What is to be known of it: what it holds when that is less than a book, how many rows, made by tickscope.
    pub note: String,
    /// Why it cannot be opened.
    pub reason: Option<String>,
    /// Busiest first.
    pub choices: Vec<Choice>,
}

/// An instrument as a button.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Choice {
    /// Its symbol, and what tells it from others of the symbol.
    pub label: String,
    /// Its events.
    pub detail: String,
    /// What the button opens.
    pub open: Open,
}

/// The tables of the store with their instruments: those with a book first, the fullest of them first.
#[must_use]
pub fn groups(state: &State) -> Vec<Group> {
    let mut tables: Vec<&TableInfo> = state.catalogue.tables.iter().collect();
    let bookless = |table: &TableInfo| matches!(table.holds.as_str(), "trades" | "bars");
    tables.sort_by_key(|table| (table.reason.is_some(), bookless(table), std::cmp::Reverse(table.rows), table.name.clone()));
    tables.into_iter().map(|table| group(state, table)).collect()
}

fn group(state: &State, table: &TableInfo) -> Group {
    let open = Open { source: state.source.clone(), table: Some(table.name.clone()), ..Open::default() };
    let mut instruments: Vec<_> = table.instruments.iter().collect();
    instruments.sort_by_key(|instrument| std::cmp::Reverse(instrument.rows));
    let mut choices: Vec<Choice> = instruments
        .into_iter()
        .map(|instrument| Choice {
            label: wording::instrument_option(instrument, &table.instruments),
            detail: counted(instrument.rows, "event"),
            open: Open {
                // A table without symbols names itself.
                symbols: if instrument.symbol == table.name { Vec::new() } else { vec![instrument.symbol.clone()] },
                publisher: instrument.publisher,
                instrument: instrument.instrument.clone(),
                ..open.clone()
            },
        })
        .collect();
    if choices.is_empty() && table.reason.is_none() {
        choices.push(Choice { label: table.name.clone(), detail: "open".to_owned(), open });
    }
    let rows = table.rows.map(|rows| counted(rows, "row"));
    let holds = Some(table.holds.clone()).filter(|holds| !holds.is_empty() && holds != "book");
    let origin = table.synthetic.then(|| "synthetic: made by tickscope, not by a market".to_owned());
    Group {
        table: table.name.clone(),
        note: holds.into_iter().chain(rows).chain(origin).collect::<Vec<_>>().join(" · "),
        reason: table.reason.clone(),
        choices,
    }
}

/// What to open without asking: a store with one table, be it still on its way, leaves no choice. `importing` names the tables that
/// are being imported.
#[must_use]
pub fn only_choice(state: &State, importing: &[String]) -> Option<Open> {
    let tables = &state.catalogue.tables;
    let coming = importing.iter().filter(|name| !tables.iter().any(|table| table.name == **name)).count();
    (tables.len() + coming == 1).then(|| Open {
        source: state.source.clone(),
        table: tables.first().map(|table| table.name.clone()),
        ..Open::default()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::{Catalogue, InstrumentInfo};

    fn table(name: &str, rows: u64, instruments: &[(&str, u64)]) -> TableInfo {
        let instrument = |(symbol, rows): &(&str, u64)| InstrumentInfo { symbol: (*symbol).to_owned(), rows: *rows, ..InstrumentInfo::default() };
        TableInfo { name: name.into(), rows: Some(rows), instruments: instruments.iter().map(instrument).collect(), ..TableInfo::default() }
    }

    fn state(tables: Vec<TableInfo>) -> State {
        State { source: Some("embedded".into()), catalogue: Catalogue { tables, ..Catalogue::default() }, ..State::default() }
    }

    #[test]
    fn the_busiest_come_first_and_tables_without_a_book_last() {
        let barren = TableInfo { reason: Some("no time".into()), ..table("notes", 9_000, &[]) };
        let groups = groups(&state(vec![barren, table("trades", 10, &[("A", 3), ("B", 7)]), table("mbo", 20, &[])]));
        let names: Vec<_> = groups.iter().map(|group| group.table.as_str()).collect();
        assert_eq!(names, ["mbo", "trades", "notes"]);
        assert_eq!(groups[0].choices[0].open.table.as_deref(), Some("mbo"));
        let labels: Vec<_> = groups[1].choices.iter().map(|choice| (choice.label.as_str(), choice.detail.as_str())).collect();
        assert_eq!(labels, [("B", "7 events"), ("A", "3 events")]);
        assert_eq!(groups[1].choices[1].open.symbols, ["A"]);
        assert!(groups[2].choices.is_empty());
    }

    #[test]
    fn one_table_is_opened_and_several_are_a_choice() {
        let one = state(vec![table("mbo", 1, &[])]);
        assert_eq!(only_choice(&one, &[]).and_then(|open| open.table).as_deref(), Some("mbo"));
        assert_eq!(only_choice(&one, &["mbo".into()]).and_then(|open| open.table).as_deref(), Some("mbo"));
        assert_eq!(only_choice(&one, &["other".into()]), None);
        assert_eq!(only_choice(&state(vec![]), &["mbo".into()]).map(|open| open.table), Some(None));
        assert_eq!(only_choice(&state(vec![]), &[]), None);
        assert_eq!(only_choice(&state(vec![table("a", 1, &[]), table("b", 1, &[])]), &[]), None);
    }
}
