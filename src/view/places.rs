//! From what a user picks or types to the command that opens it.

use serde::{Deserialize, Serialize};

use crate::link::{Command, InstrumentInfo, Open, Range, Speed, State, StoreInfo};
use crate::units::{Moment, NANOS_PER_DAY, UnixNanos};

use super::clock;

/// The place that is open now, without a moment.
#[must_use]
pub fn here(state: &State) -> Open {
    Open {
        source: state.source.clone(),
        table: state.table.clone(),
        symbols: state.symbols.clone(),
        publisher: state.book.as_ref().and_then(|book| book.publisher),
        instrument: state.book.as_ref().and_then(|book| book.instrument.clone()),
        range: state.range.clone(),
        at: None,
        bind: state.binding.as_ref().map(|binding| binding.chosen.clone()).unwrap_or_default(),
    }
}

/// The place and moment on screen, to be opened again after a restart.
#[must_use]
pub fn here_and_now(state: &State) -> Open {
    Open { at: state.seeking.clone().or_else(|| state.as_of.clone()), ..here(state) }
}

/// What a reload of the page needs to stand where it stood.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Remembered {
    /// The place and moment.
    pub open: Open,
    /// The speed.
    pub speed: Speed,
    /// Events a second, where they pace playback.
    pub rate: Option<u32>,
    /// Stores that the user gave by their addresses, which never hold a credential.
    pub added: Vec<StoreInfo>,
}

/// What to remember of the state; nothing when nothing is open.
#[must_use]
pub fn remember(state: &State, added: &[StoreInfo]) -> Option<Remembered> {
    let rate = state.rate.filter(|_| state.pacing == "events");
    let open = state.table.is_some() && state.as_of.is_some();
    open.then(|| Remembered { open: here_and_now(state), speed: state.speed, rate, added: added.to_vec() })
}

/// Another store.
#[must_use]
pub fn source(name: &str) -> Command {
    Command::Open(Open { source: Some(name.to_owned()), ..Open::default() })
}

/// Another table of the open store.
#[must_use]
pub fn table(state: &State, name: &str) -> Command {
    Command::Open(Open { source: state.source.clone(), table: Some(name.to_owned()), ..Open::default() })
}

/// Which of the table's instruments is open.
#[must_use]
pub fn open_instrument(state: &State) -> Option<usize> {
    let symbol = state.symbols.first()?;
    let book = state.book.as_ref();
    let fits = |instrument: &InstrumentInfo| {
        let agrees = |publisher: u32| book.and_then(|book| book.publisher).is_none_or(|open| open == publisher);
        let open_id = book.and_then(|book| book.instrument.as_ref());
        let same_id = open_id.is_none() || instrument.instrument.is_none() || instrument.instrument.as_ref() == open_id;
        instrument.symbol == *symbol && instrument.publisher.is_none_or(agrees) && same_id
    };
    state.catalogue.instruments.iter().position(fits)
}

/// Another instrument of the open table, at the same moment of the same range.
#[must_use]
pub fn instrument(state: &State, index: usize) -> Option<Command> {
    let instrument = state.catalogue.instruments.get(index)?;
    Some(Command::Open(Open {
        symbols: vec![instrument.symbol.clone()],
        publisher: instrument.publisher,
        instrument: instrument.instrument.clone(),
        ..here_and_now(state)
    }))
}

/// The range between two typed times, from its start.
///
/// # Errors
/// A sentence that says which time is wrong and how.
pub fn range(state: &State, from: &str, to: &str) -> Result<Command, String> {
    let near = near(state);
    let from = clock::parse(from, near).map_err(|error| format!("From: {error}"))?.time;
    // A time of day at the right end is of the day of the left one.
    let to = clock::parse(to, from).map_err(|error| format!("To: {error}"))?.time;
    if from >= to {
        return Err("The range ends before it begins: write a later time at its right end".to_owned());
    }
    let range = Range { from: from.to_string(), to: to.to_string() };
    Ok(Command::Open(Open { range: Some(range), ..here(state) }))
}

/// A moment: sought within the open range, else its whole UTC day is opened at it.
#[must_use]
pub fn go_to(state: &State, moment: Moment) -> Command {
    let time = |text: &str| text.parse::<UnixNanos>().ok();
    let inside = state.range.as_ref().and_then(|range| Some((time(&range.from)?..time(&range.to)?).contains(&moment.time)));
    match (inside, day_of(moment.time)) {
        (Some(false), Some(range)) => Command::Open(Open { range: Some(range), at: Some(moment.to_string()), ..here(state) }),
        _ => Command::Seek(moment.to_string()),
    }
}

/// The day that a time of day is of: that of the moment on screen, else that of the range's start.
#[must_use]
pub fn near(state: &State) -> UnixNanos {
    let as_of = state.as_of.as_deref().and_then(|text| text.parse::<Moment>().ok()).map(|moment| moment.time);
    let start = || state.range.as_ref().and_then(|range| range.from.parse().ok());
    as_of.or_else(start).unwrap_or_default()
}

/// Where the playhead stands, for those who cannot see it: whole percent of the range, and the time.
#[must_use]
pub fn as_of_text(state: &State) -> (u8, String) {
    let moment = state.as_of.as_deref().and_then(|text| text.parse::<Moment>().ok());
    let track = state.range.as_ref().and_then(super::track::Track::of_range);
    let percent = moment.zip(track).map_or(0, |(moment, track)| (track.fraction(moment.time) * 100.0).round() as u8);
    (percent, moment.map_or_else(|| "nothing shown yet".to_owned(), |moment| clock::short(moment.time)))
}

/// A stretch of time as words: `23:00:00.000 to 23:10:00.000`, with the dates where they differ.
#[must_use]
pub fn stretch(range: &Range) -> String {
    let (Ok(from), Ok(to)) = (range.from.parse::<UnixNanos>(), range.to.parse::<UnixNanos>()) else { return String::new() };
    let full = clock::date(from) != clock::date(UnixNanos(to.0.saturating_sub(1)));
    let text = |time| if full { clock::short(time) } else { clock::time(time) };
    format!("{} to {}", text(from), text(to))
}

fn day_of(time: UnixNanos) -> Option<Range> {
    let from = time.0.div_euclid(NANOS_PER_DAY).checked_mul(NANOS_PER_DAY)?;
    let to = from.checked_add(NANOS_PER_DAY)?;
    Some(Range { from: from.to_string(), to: to.to_string() })
}

#[cfg(test)]
mod tests {
    use super::*;

    const DAY: i64 = 1_703_462_400_000_000_000;

    fn state() -> State {
        State {
            source: Some("embedded".into()),
            table: Some("mbo".into()),
            symbols: vec!["ESH4".into()],
            range: Some(Range { from: DAY.to_string(), to: (DAY + NANOS_PER_DAY).to_string() }),
            as_of: Some(format!("{}/2", DAY + 5)),
            ..State::default()
        }
    }

    #[test]
    fn a_moment_in_the_range_is_sought_and_one_outside_opens_its_day() {
        let inside = Moment::before(UnixNanos(DAY + 7));
        assert_eq!(go_to(&state(), inside), Command::Seek(format!("{}-", DAY + 7)));
        let Command::Open(open) = go_to(&state(), Moment::end_of(UnixNanos(DAY + NANOS_PER_DAY))) else { panic!() };
        assert_eq!(open.range.map(|range| range.from), Some((DAY + NANOS_PER_DAY).to_string()));
        assert_eq!(open.at, Some((DAY + NANOS_PER_DAY).to_string()));
        assert_eq!(open.table.as_deref(), Some("mbo"));
    }

    #[test]
    fn a_range_is_typed_as_times_of_the_day_in_view() {
        let Ok(Command::Open(open)) = range(&state(), "10:00", "11:30:00.5") else { panic!() };
        let hour = 3_600_000_000_000;
        let typed = Range { from: (DAY + 10 * hour).to_string(), to: (DAY + 11 * hour + hour / 2 + 500_000_000).to_string() };
        assert_eq!(open.range, Some(typed));
        assert!(range(&state(), "11:00", "10:00").unwrap_err().contains("before it begins"));
        assert!(range(&state(), "x", "10:00").unwrap_err().starts_with("From"));
        assert!(range(&state(), "10:00", "x").unwrap_err().starts_with("To"));
    }

    #[test]
    fn a_stretch_names_its_dates_only_where_they_differ() {
        let range = |from: i64, to: i64| Range { from: from.to_string(), to: to.to_string() };
        assert_eq!(stretch(&range(DAY, DAY + NANOS_PER_DAY)).replace('\u{2009}', " "), "00:00:00.000 000 000 to 00:00:00.000 000 000");
        assert_eq!(stretch(&range(DAY, DAY + NANOS_PER_DAY + 1)), "2023-12-25 00:00:00Z to 2023-12-26 00:00:00.000000001Z");
    }

    #[test]
    fn what_is_remembered_comes_back_from_its_text() {
        let kept = remember(&state(), &[]).unwrap();
        assert_eq!(kept.open.at, state().as_of);
        let text = serde_json::to_string(&kept).unwrap();
        assert_eq!(serde_json::from_str::<Remembered>(&text).unwrap(), kept);
        assert_eq!(remember(&State::default(), &[]), None);
    }

    #[test]
    fn the_open_instrument_is_found_among_those_that_share_a_symbol() {
        let mut state = state();
        let one = InstrumentInfo { symbol: "ESH4".into(), publisher: Some(1), instrument: Some("7".into()), rows: 1 };
        state.catalogue.instruments = vec![one.clone(), InstrumentInfo { publisher: Some(2), ..one }];
        state.book = Some(crate::link::BookJson { publisher: Some(2), ..Default::default() });
        assert_eq!(open_instrument(&state), Some(1));
        let Some(Command::Open(open)) = instrument(&state, 0) else { panic!() };
        assert_eq!((open.publisher, open.at), (Some(1), state.as_of.clone()));
        assert_eq!(instrument(&state, 2), None);
    }
}
