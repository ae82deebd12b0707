//! What the values of one column were over all files of a table, and the type that holds every one of them exactly.

use std::collections::HashSet;

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use serde::{Deserialize, Serialize};

use super::arrays;
use super::cell::{self, Number, Unit};
use super::names::Role;
use crate::server::source::symbol_type;

/// A text column of so few different values is one of symbols …
const MAX_SYMBOLS: usize = 1_024;
/// … and one whose name says so may have more.
const MAX_NAMED_SYMBOLS: usize = 65_536;
/// Longer texts are none.
const MAX_SYMBOL_BYTES: usize = 256;
/// Characters of a value that a message shows.
const SHOWN_CHARS: usize = 40;

/// The type of a column.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum Kind {
    /// 64 bits.
    Integer,
    /// Digits in all and behind the point.
    Decimal(u8, u8),
    /// Nanoseconds, UTC.
    Time,
    /// The same, of texts that say no zone.
    UnzonedTime,
    /// True or false.
    Boolean,
    /// Floats in arrays of one or two dimensions.
    Array(u8),
    /// Text of few different values.
    Symbol,
    /// Text.
    Text,
}

impl Kind {
    /// The column's type in a table.
    pub(crate) fn data_type(self) -> DataType {
        match self {
            Kind::Integer => DataType::Int64,
            Kind::Decimal(digits @ ..=18, scale) => DataType::Decimal64(digits, scale.cast_signed()),
            Kind::Decimal(digits @ ..=38, scale) => DataType::Decimal128(digits, scale.cast_signed()),
            Kind::Decimal(digits, scale) => DataType::Decimal256(digits, scale.cast_signed()),
            Kind::Time | Kind::UnzonedTime => DataType::Timestamp(TimeUnit::Nanosecond, Some("UTC".into())),
            Kind::Boolean => DataType::Boolean,
            Kind::Array(depth) => arrays::data_type(depth),
            Kind::Symbol => symbol_type(),
            Kind::Text => DataType::Utf8,
        }
    }
}

/// Where a value stands that decides something, and its beginning.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Place {
    /// Number of its file among those of the table.
    pub(super) file: usize,
    /// From 1.
    pub(super) line: u64,
    shown: String,
}

/// Why a column has no type.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Ambiguous {
    /// The value that does not fit the others.
    pub(super) at: Place,
    /// What is wrong and what to do.
    pub(super) problem: String,
}

/// What was seen in one column.
#[derive(Debug)]
pub(super) struct Evidence {
    role: Role,
    /// Whether a value was missing.
    pub(super) has_none: bool,
    integers: bool,
    /// Integers beyond 64 bits, and numbers with point or exponent.
    points: Option<Place>,
    plain: Option<Place>,
    wide: bool,
    leading_zeros: bool,
    /// The greatest integer of 64 bits, and the most digits before the point of other numbers.
    greatest: u64,
    whole_digits: u32,
    scale: u32,
    /// First value of each unit that counts since 1970 have, and first number that is none.
    units: [Option<Place>; 4],
    no_epoch: Option<(Place, &'static str)>,
    zoned: Option<Place>,
    unzoned: Option<Place>,
    dates: Option<Place>,
    /// A value that is of a form of its own, but cannot be.
    unkept: Option<(Place, &'static str)>,
    /// The first array, and how deep all are.
    array: Option<(Place, u8)>,
    booleans: Option<Place>,
    no_number: Option<Place>,
    texts: Option<Place>,
    clocks: Option<Place>,
    distinct: Option<HashSet<Box<str>, foldhash::fast::RandomState>>,
    last: String,
}

impl Evidence {
    pub(super) fn new(role: Role) -> Evidence {
        Evidence {
            role,
            has_none: false,
            integers: false,
            points: None,
            plain: None,
            wide: false,
            leading_zeros: false,
            greatest: 0,
            whole_digits: 0,
            scale: 0,
            units: [const { None }; 4],
            no_epoch: None,
            zoned: None,
            unzoned: None,
            dates: None,
            unkept: None,
            array: None,
            booleans: None,
            no_number: None,
            texts: None,
            clocks: None,
            distinct: Some(HashSet::default()),
            last: String::new(),
        }
    }

    /// Takes the next value.
    pub(super) fn add(&mut self, text: &str, file: usize, line: u64) {
        if self.role.is_none(text) {
            self.has_none = true;
            return;
        }
        let place = || Place { file, line, shown: shown(text) };
        if self.role == Role::Word {
            self.texts.get_or_insert_with(place);
            return self.count(text);
        }
        if let Some(value) = cell::integer(text) {
            self.integers = true;
            if self.plain.is_none() {
                self.plain = Some(place());
            }
            self.greatest = self.greatest.max(value.unsigned_abs());
            if self.role.is_time() {
                return self.add_epoch(cell::epoch_of(value), place);
            }
            // A code is a number only without them.
            self.leading_zeros |= text.len() > 1 && text.starts_with('0');
            return;
        }
        if let Some(number) = Number::parse(text) {
            self.wide |= !number.has_point;
            let first = if number.has_point { &mut self.points } else { &mut self.plain };
            if first.is_none() {
                *first = Some(place());
            }
            self.leading_zeros |= number.has_leading_zeros();
            self.whole_digits = self.whole_digits.max(number.whole_digits());
            self.scale = self.scale.max(number.scale());
            if self.role.is_time() {
                self.add_epoch(cell::epoch(text), place);
            }
            return;
        }
        match cell::written(text) {
            Some(Ok(time)) => {
                let first = match time.zone {
                    None => &mut self.dates,
                    Some(true) => &mut self.zoned,
                    Some(false) => &mut self.unzoned,
                };
                if first.is_none() {
                    *first = Some(place());
                }
            }
            Some(Err(problem)) => {
                self.unkept.get_or_insert_with(|| (place(), problem));
            }
            None if cell::boolean(text).is_some() => {
                self.booleans.get_or_insert_with(place);
            }
            None if text.starts_with('[') && self.add_array(text, place) => {}
            None => {
                if cell::is_no_number(text) {
                    self.no_number.get_or_insert_with(place);
                } else if cell::is_time_of_day(text) {
                    self.clocks.get_or_insert_with(place);
                }
                self.texts.get_or_insert_with(place);
                self.count(text);
            }
        }
    }

    /// Whether it is an array.
    fn add_array(&mut self, text: &str, place: impl Fn() -> Place) -> bool {
        match (arrays::depth(text), &mut self.array) {
            (None, _) => return false,
            (Some(Err(problem)), _) => {
                self.unkept.get_or_insert_with(|| (place(), problem));
            }
            (Some(Ok(depth)), None) => self.array = Some((place(), depth)),
            // An empty one is of any depth.
            (Some(Ok(depth)), Some((_, known))) => *known = depth.max(*known),
        }
        true
    }

    fn add_epoch(&mut self, epoch: Result<(i64, Unit), &'static str>, place: impl Fn() -> Place) {
        if self.role == Role::OfDay {
            return;
        }
        match epoch {
            Ok((_, unit)) => {
                let first = match unit {
                    Unit::Seconds => self.units.first_mut(),
                    Unit::Millis => self.units.get_mut(1),
                    Unit::Micros => self.units.get_mut(2),
                    Unit::Nanos => self.units.get_mut(3),
                };
                if let Some(first @ None) = first {
                    *first = Some(place());
                }
            }
            Err(problem) => {
                self.no_epoch.get_or_insert_with(|| (place(), problem));
            }
        }
    }

    fn count(&mut self, text: &str) {
        let Some(distinct) = &mut self.distinct else { return };
        if text == self.last {
            return;
        }
        self.last.clear();
        self.last.push_str(text);
        if !distinct.contains(text) {
            let most = if self.role == Role::Word { MAX_NAMED_SYMBOLS } else { MAX_SYMBOLS };
            if distinct.len() == most || text.len() > MAX_SYMBOL_BYTES {
                self.distinct = None;
                return;
            }
            distinct.insert(text.into());
        }
    }

    /// The type of the column, or that a `Raw` one has digits behind the point.
    ///
    /// # Errors
    /// The value that leaves a choice, or that no type holds.
    pub(super) fn kind(&self, column: &str) -> Result<Kind, Ambiguous> {
        let at = |place: &Place, problem: String| Err(Ambiguous { at: place.clone(), problem });
        let number = self.plain.as_ref().or(self.points.as_ref());
        let written = self.zoned.as_ref().or(self.unzoned.as_ref()).or(self.dates.as_ref());
        if let Some((place, problem)) = &self.unkept {
            return at(place, format!("{} {problem}", place.shown));
        }
        if let (Some(place), true) = (&self.no_number, number.is_some() || matches!(self.role, Role::Number | Role::Raw(..))) {
            return at(place, format!("{} is no number: leave the field empty where there is none", place.shown));
        }
        if let (Some((array, _)), Some(other)) = (&self.array, self.texts.as_ref().or(number).or(written).or(self.booleans.as_ref())) {
            return at(array, format!("{} is an array, but {} of line {} is none: write all in one form", array.shown, other.shown, other.line));
        }
        if let Some((_, depth)) = self.array {
            return Ok(Kind::Array(depth));
        }
        if let Some(text) = &self.texts {
            let misfit = number.or(written).or(self.booleans.as_ref());
            return match (self.role, misfit) {
                (Role::Number | Role::Raw(..), Some(_)) => at(text, format!("{} is no number, as the others are", text.shown)),
                (Role::Time | Role::TimeUnless(_), Some(_)) => at(text, format!("{} is no time, as the others are", text.shown)),
                (Role::OfDay, _) => at(text, format!("{} is no number of seconds", text.shown)),
                (Role::Time | Role::TimeUnless(_), None) if self.clocks.as_ref() == Some(text) => at(
                    text,
                    format!("{} is a time of day without a date: write the date before it, {}", text.shown, "as in 2024-05-08T09:30:00.123Z"),
                ),
                (Role::Id, _) | (_, Some(_)) => Ok(Kind::Text),
                _ => Ok(if self.distinct.is_some() { Kind::Symbol } else { Kind::Text }),
            };
        }
        match (number, written, &self.booleans) {
            (Some(number), Some(time), _) => {
                at(number, format!("{} is a number, but {} of line {} is a time: write all in one form", number.shown, time.shown, time.line))
            }
            (Some(place), None, Some(word)) | (None, Some(place), Some(word)) => at(
                word,
                format!("{} is neither a number nor a time, but {} of line {} is: write all in one form", word.shown, place.shown, place.line),
            ),
            (None, Some(_), None) => match (&self.zoned, &self.unzoned) {
                (Some(zoned), Some(unzoned)) => {
                    at(unzoned, format!("{} says no zone, but {} of line {} does: give all a zone", unzoned.shown, zoned.shown, zoned.line))
                }
                (None, Some(_)) => Ok(Kind::UnzonedTime),
                _ => Ok(Kind::Time),
            },
            (None, None, Some(_)) => Ok(Kind::Boolean),
            (None, None, None) => Ok(self.empty()),
            (Some(number), None, None) => self.number(column, number),
        }
    }

    /// The type of a column without a value.
    fn empty(&self) -> Kind {
        match self.role {
            Role::Time | Role::TimeUnless(_) | Role::OfDay => Kind::Time,
            Role::Number => Kind::Integer,
            Role::Raw(scale, _) => Kind::Decimal(18, u8::try_from(scale).unwrap_or_default()),
            Role::Free | Role::Word | Role::Id => Kind::Symbol,
        }
    }

    fn whole_digits(&self) -> u32 {
        self.whole_digits.max(self.greatest.checked_ilog10().map_or(0, |digits| digits + 1))
    }

    fn number(&self, column: &str, first: &Place) -> Result<Kind, Ambiguous> {
        let at = |place: &Place, problem: String| Err(Ambiguous { at: place.clone(), problem });
        if self.role.is_time() {
            let names = [Unit::Seconds, Unit::Millis, Unit::Micros, Unit::Nanos].map(Unit::name);
            let mut units = self.units.iter().zip(names).filter_map(|(place, name)| Some((place.as_ref()?, name)));
            return match (units.next(), units.next(), &self.no_epoch) {
                _ if self.role == Role::OfDay => Ok(Kind::Time),
                (Some((one, unit)), Some((two, other)), _) => {
                    let (first, first_unit, second, second_unit) =
                        if (one.file, one.line) < (two.file, two.line) { (one, unit, two, other) } else { (two, other, one, unit) };
                    let problem = format!(
                        "{} are {second_unit} since 1970, but {} of line {} are {first_unit}: write all in one unit",
                        second.shown, first.shown, first.line
                    );
                    at(second, problem)
                }
                (Some(_), None, Some((place, problem))) => {
                    at(place, format!("{} {problem}: leave the field empty where there is no time", place.shown))
                }
                (Some(_), None, None) => Ok(Kind::Time),
                // Not moments at all: a number like others.
                (None, ..) => self.plain_number(column, first),
            };
        }
        if let Role::Raw(scale, _) = self.role {
            if let (Some(plain), Some(point)) = (&self.plain, &self.points) {
                let problem = format!(
                    "{} has no point, so it is in units of 1e-{scale}, but {} of line {} is a decimal: write all in one form",
                    plain.shown, point.shown, point.line
                );
                return at(plain, problem);
            }
            let is_raw = self.plain.is_some();
            let (whole, scale) =
                if is_raw { (self.whole_digits().saturating_sub(scale), scale) } else { (self.whole_digits(), self.scale.max(scale)) };
            return decimal(whole, scale).map_or_else(|problem| at(first, problem), Ok);
        }
        self.plain_number(column, first)
    }

    fn plain_number(&self, column: &str, first: &Place) -> Result<Kind, Ambiguous> {
        if self.leading_zeros && self.points.is_none() && self.role != Role::Number {
            return Ok(if self.role == Role::Id { Kind::Text } else { Kind::Symbol });
        }
        if self.points.is_none() && !self.wide {
            return Ok(Kind::Integer);
        }
        decimal(self.whole_digits(), self.scale)
            .map_err(|problem| Ambiguous { at: self.points.clone().unwrap_or_else(|| first.clone()), problem: format!("{column} {problem}") })
    }
}

fn decimal(whole: u32, scale: u32) -> Result<Kind, String> {
    let scale_digits = u8::try_from(scale).unwrap_or(u8::MAX);
    match whole.saturating_add(scale) {
        0..=18 => Ok(Kind::Decimal(18, scale_digits)),
        19..=38 => Ok(Kind::Decimal(38, scale_digits)),
        39..=76 => Ok(Kind::Decimal(76, scale_digits)),
        digits => Err(format!("has numbers of {digits} digits, {whole} before the point and {scale} behind: at most 76 are kept exactly")),
    }
}

fn shown(text: &str) -> String {
    match text.char_indices().nth(SHOWN_CHARS) {
        Some((end, _)) => format!("{:?}…", text.get(..end).unwrap_or_default()),
        None => format!("{text:?}"),
    }
}
