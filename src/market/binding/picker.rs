//! Collects the columns of one layout.

use std::collections::BTreeMap;

use super::{Anchor, Binding, Body, ColumnDecl, Groups, Holds, Layout, names};
use crate::market::event::BookKind;
use crate::market::words::Words;
use crate::units::Scale;

/// What a role takes.
#[derive(Clone, Copy)]
pub(super) enum Form {
    Time,
    Word,
    Number,
    Whole,
    /// Yes or no: BOOLEAN, 0 and 1, or words.
    Truth,
    Ladder,
    Counts,
}

impl Form {
    pub(super) fn takes(self, kind: &str) -> bool {
        let kind = kind.trim().to_ascii_uppercase();
        let base = kind.split(['(', ' ']).next().unwrap_or("");
        let whole = matches!(base, "BYTE" | "SHORT" | "INT" | "LONG");
        let word = matches!(base, "SYMBOL" | "VARCHAR" | "STRING" | "CHAR");
        match self {
            Form::Time => matches!(base, "TIMESTAMP" | "TIMESTAMP_NS"),
            Form::Word => word,
            Form::Number => whole || matches!(base, "DOUBLE" | "FLOAT" | "DECIMAL"),
            Form::Whole => whole,
            Form::Truth => base == "BOOLEAN" || whole || word,
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
            Form::Truth => "true or false",
            Form::Ladder => "a DOUBLE[][]",
            Form::Counts => "counts",
        }
    }
}

/// See the module.
pub(super) struct Picker<'a> {
    table: &'a [ColumnDecl],
    pub(super) layout: &'static str,
    pub(super) roles: BTreeMap<&'static str, String>,
    columns: Vec<String>,
    pub(super) missed: Vec<String>,
    /// Roles for which there are several columns.
    pub(super) ambiguous: Vec<(&'static str, Vec<String>)>,
    /// Another layout whose columns are all there too.
    pub(super) also: Option<&'static str>,
}

impl<'a> Picker<'a> {
    pub(super) fn new(table: &'a [ColumnDecl], time: &str) -> Picker<'a> {
        let roles = BTreeMap::from([("time", time.to_owned())]);
        Picker { table, layout: "", roles, columns: vec![time.to_owned()], missed: Vec::new(), ambiguous: Vec::new(), also: None }
    }

    pub(super) fn find(&self, name: &str, form: Form) -> Result<&'a str, String> {
        match self.table.iter().find(|column| column.name.eq_ignore_ascii_case(name)) {
            None => Err(name.to_owned()),
            Some(column) if form.takes(&column.kind) => Ok(&column.name),
            Some(column) => Err(format!("{name} as {} (it is {})", form.wanted(), column.kind)),
        }
    }

    /// The column of a name by itself, whatever its type.
    pub(super) fn kind_of(&self, name: &str) -> &'a str {
        self.table.iter().find(|column| column.name == name).map_or("", |column| column.kind.as_str())
    }

    /// Position of a column in the selection; a column with two roles is selected once.
    pub(super) fn select(&mut self, column: &str) -> usize {
        if let Some(at) = self.columns.iter().position(|have| have == column) {
            return at;
        }
        self.columns.push(column.to_owned());
        self.columns.len() - 1
    }

    pub(super) fn optional(&mut self, role: &'static str, name: &str, form: Form) -> Option<usize> {
        let column = self.find(name, form).ok()?;
        self.roles.insert(role, column.to_owned());
        Some(self.select(column))
    }

    pub(super) fn needed(&mut self, role: &'static str, name: &str, form: Form) -> Option<usize> {
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

    /// The columns that are called by one of the names.
    fn called(&self, names: &[&str]) -> Vec<&'a ColumnDecl> {
        self.table.iter().filter(|column| names.contains(&names::plain(&column.name).as_str())).collect()
    }

    /// Whether the table has a column that is called by one of the names.
    pub(super) fn has(&self, names: &[&str]) -> bool {
        !self.called(names).is_empty()
    }

    /// The only column that is called by one of the names, without selecting it. One of another type is missed under its own name,
    /// several are ambiguous.
    pub(super) fn one_of(&mut self, role: &'static str, names: &[&'static str], form: Form, needed: bool) -> Option<&'a str> {
        let called = self.called(names);
        let column = match called.as_slice() {
            [] => {
                if needed {
                    self.missed.push(role.to_owned());
                }
                return None;
            }
            [column] => *column,
            several => {
                self.ambiguous.push((role, several.iter().map(|column| column.name.clone()).collect()));
                return None;
            }
        };
        if !form.takes(&column.kind) {
            self.missed.push(format!("{} as {} (it is {})", column.name, form.wanted(), column.kind));
            return None;
        }
        self.roles.insert(role, column.name.clone());
        Some(&column.name)
    }

    /// [`Picker::one_of`], selected.
    pub(super) fn selected_one_of(&mut self, role: &'static str, names: &[&'static str], form: Form) -> Option<usize> {
        let column = self.one_of(role, names, form, true)?;
        Some(self.select(column))
    }

    /// A layout that Databento's names made: the venue's time, sequence and flags are known by name.
    pub(super) fn databento(&mut self, body: Body, action: Option<usize>, side: Option<usize>, price: Option<usize>, size: Option<usize>) -> Layout {
        let layout = self.plain(body);
        let flags = self.optional("flags", "flags", Form::Whole);
        let groups = if action.is_some() { Groups::Flags } else { Groups::Rows };
        Layout { flags, action, side, price, size, groups, ..layout }
    }

    /// A layout whose rows are event groups by themselves.
    pub(super) fn plain(&mut self, body: Body) -> Layout {
        let designated = self.columns.first().cloned().unwrap_or_default();
        // Where the venue's time orders the table it is both, and groups are told by it all the same.
        let venue_time = if designated.eq_ignore_ascii_case("ts_event") {
            self.roles.insert("venue_time", designated);
            Some(0)
        } else if designated.eq_ignore_ascii_case("local_timestamp") {
            self.optional("venue_time", "timestamp", Form::Time)
        } else {
            self.optional("venue_time", "ts_event", Form::Time)
        };
        let sequence = self.optional("sequence", "sequence", Form::Whole);
        Layout {
            venue_time,
            sequence,
            flags: None,
            action: None,
            side: None,
            price: None,
            size: None,
            actions: Words::OptionalActions,
            sides: Words::Sides,
            groups: Groups::Rows,
            whole_price: Scale(0),
            body,
        }
    }

    pub(super) fn binding(&mut self, name: String, holds: Holds, kind: BookKind, anchor: Anchor, layout: Layout) -> Binding {
        let mut key = |role: &'static str, name: &str, form: Form| {
            let column = self.find(name, form).ok()?.to_owned();
            self.roles.insert(role, column.clone());
            Some(column)
        };
        let symbol = key("symbol", "symbol", Form::Word);
        let publisher = key("publisher", "publisher_id", Form::Whole);
        let instrument = key("instrument", "instrument_id", Form::Whole);
        let venue = instrument.is_none() && publisher.is_none() && holds.has_book();
        let instrument = instrument.or_else(|| if venue { self.one_of("venue", names::VENUE, Form::Word, false).map(str::to_owned) } else { None });
        let symbol = symbol.or_else(|| self.one_of("symbol", names::SYMBOL, Form::Word, false).map(str::to_owned));
        let time = self.columns.first().cloned().unwrap_or_default();
        Binding {
            name,
            holds,
            kind,
            roles: BTreeMap::new(),
            columns: Vec::new(),
            time,
            symbol,
            publisher,
            instrument,
            anchor,
            chosen: BTreeMap::new(),
            layout,
        }
    }

    pub(super) fn finish(self, binding: &mut Binding) {
        binding.roles = self.roles;
        binding.columns = self.columns;
    }
}
