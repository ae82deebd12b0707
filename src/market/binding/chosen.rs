//! Roles whose columns somebody chose. The chosen column takes the name by which the layouts know its role, and what else could be the
//! role is hidden from them; in the binding that comes out it has its own name again.

use std::collections::BTreeMap;

use super::{Anchor, Binding, ColumnDecl, NoBinding, names};

/// Role, the name by which layouts know it, and names that could be the same thing.
type Role = (&'static str, &'static str, &'static [&'static [&'static str]]);

const ROLES: &[Role] = &[
    ("price", "price", &[names::PRICE]),
    ("size", "size", &[names::SIZE]),
    ("side", "side", &[names::SIDE, names::BUYER_IS_MAKER, names::IS_BID]),
    ("buyer_is_maker", "is_buyer_maker", &[names::SIDE, names::BUYER_IS_MAKER]),
    ("is_bid", "is_bid", &[names::SIDE, names::IS_BID]),
    ("action", "action", &[]),
    ("order_id", "order_id", &[]),
    ("snapshot", "is_snapshot", &[names::SNAPSHOT]),
    ("bid_price", "bid_price", &[names::BID]),
    ("bid_size", "bid_size", &[names::BID_SIZE]),
    ("ask_price", "ask_price", &[names::ASK]),
    ("ask_size", "ask_size", &[names::ASK_SIZE]),
    ("bids", "bids", &[]),
    ("asks", "asks", &[]),
    ("open", "open", &[]),
    ("high", "high", &[]),
    ("low", "low", &[]),
    ("close", "close", &[]),
    ("volume", "volume", &[]),
    ("symbol", "symbol", &[names::SYMBOL]),
    ("publisher", "publisher_id", &[]),
    ("instrument", "instrument_id", &[]),
    ("venue", "venue", &[names::VENUE]),
    ("venue_time", "ts_event", &[]),
    ("sequence", "sequence", &[]),
    ("flags", "flags", &[]),
];

/// A table's columns under the names of their roles.
pub(super) struct Aliased {
    pub(super) columns: Vec<ColumnDecl>,
    /// Name of the role → the column's own.
    own: BTreeMap<&'static str, String>,
}

impl Aliased {
    pub(super) fn new(
        table: &str,
        columns: &[ColumnDecl],
        designated: Option<&str>,
        chosen: &BTreeMap<String, String>,
    ) -> Result<Aliased, NoBinding> {
        let mut aliased = Aliased { columns: columns.to_vec(), own: BTreeMap::new() };
        let is_time = |name: &str| designated.is_some_and(|time| time.eq_ignore_ascii_case(name));
        for (role, column) in chosen {
            let wrong = |problem: String| NoBinding::Chosen { table: table.to_owned(), role: role.clone(), column: column.clone(), problem };
            let Some((_, name, others)) = ROLES.iter().find(|(known, ..)| known == role) else {
                let known = ROLES.iter().map(|(known, ..)| *known).collect::<Vec<_>>().join(", ");
                return Err(wrong(format!("the roles are {known}")));
            };
            let Some(found) = columns.iter().find(|found| found.name.eq_ignore_ascii_case(column)) else {
                return Err(wrong("there is no such column".to_owned()));
            };
            if aliased.own.values().any(|own| *own == found.name) {
                return Err(wrong("it was chosen for another role".to_owned()));
            }
            if is_time(&found.name) {
                return Err(wrong("it orders the table".to_owned()));
            }
            let hidden = |other: &ColumnDecl| {
                let called = names::plain(&other.name);
                other.name == found.name || other.name.eq_ignore_ascii_case(name) || others.iter().any(|names| names.contains(&called.as_str()))
            };
            let kept = |other: &ColumnDecl| is_time(&other.name) || aliased.own.contains_key(other.name.as_str()) || !hidden(other);
            let mut left: Vec<ColumnDecl> = aliased.columns.iter().filter(|other| kept(other)).cloned().collect();
            left.push(ColumnDecl { name: (*name).to_owned(), kind: found.kind.clone() });
            aliased.columns = left;
            aliased.own.insert(name, found.name.clone());
        }
        Ok(aliased)
    }

    /// The binding with the columns' own names.
    pub(super) fn restore(&self, table: &str, mut binding: Binding, chosen: &BTreeMap<String, String>) -> Result<Binding, NoBinding> {
        let own = |name: &mut String| {
            if let Some(own) = self.own.get(name.as_str()) {
                name.clone_from(own);
            }
        };
        let read: Vec<&str> = binding.roles.values().map(String::as_str).collect();
        for (role, column) in chosen {
            let name = ROLES.iter().find(|(known, ..)| known == role).map_or("", |(_, name, _)| name);
            if !read.contains(&name) {
                let problem = format!("as {} the table has no such role", binding.name);
                return Err(NoBinding::Chosen { table: table.to_owned(), role: role.clone(), column: column.clone(), problem });
            }
        }
        binding.roles.values_mut().for_each(own);
        binding.columns.iter_mut().for_each(own);
        [&mut binding.symbol, &mut binding.publisher, &mut binding.instrument].into_iter().flatten().for_each(own);
        match &mut binding.anchor {
            Anchor::MboSnapshot { action, flags } => {
                own(action);
                flags.iter_mut().for_each(own);
            }
            Anchor::Marked { column, .. } => own(column),
            Anchor::LastRow { flags } => flags.iter_mut().for_each(own),
            Anchor::Never => {}
        }
        binding.chosen.clone_from(chosen);
        Ok(binding)
    }
}
