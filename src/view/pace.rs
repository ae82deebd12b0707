//! What paces playback, as the menu and the keys for slower and faster have it: market time by wall time, or events by wall time.

use crate::link::{Command, Speed, State};

use super::numbers::count;

/// What paces playback.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Pace {
    /// So much market time a second of wall time.
    Time(Speed),
    /// So many events a second.
    Events(u32),
}

/// Events a second that the menu offers.
pub const RATES: [u32; 7] = [1, 10, 100, 1_000, 10_000, 100_000, 1_000_000];

impl Pace {
    /// What paces playback now.
    #[must_use]
    pub fn of(state: &State) -> Pace {
        state.rate.filter(|_| state.pacing == "events").map_or(Pace::Time(state.speed), Pace::Events)
    }

    /// The steps of the same kind, from slow to fast.
    fn steps(self) -> Vec<Pace> {
        match self {
            Pace::Time(_) => Speed::STEPS.map(Pace::Time).to_vec(),
            Pace::Events(_) => RATES.map(Pace::Events).to_vec(),
        }
    }

    /// All that the menu offers, by kind: market time, events.
    #[must_use]
    pub fn menu(self) -> [(&'static str, Vec<Pace>); 2] {
        let with_this = |steps: Vec<Pace>| {
            // One that a script has set need not be a step; it stands where it belongs.
            let mut steps = steps;
            if !steps.contains(&self) && steps.first().is_some_and(|first| first.is_kind_of(self)) {
                let at = steps.iter().position(|step| step.rank() > self.rank()).unwrap_or(steps.len());
                steps.insert(at, self);
            }
            steps
        };
        [("Market time", with_this(Pace::Time(Speed::Max).steps())), ("Events a second", with_this(Pace::Events(1).steps()))]
    }

    fn is_kind_of(self, other: Pace) -> bool {
        matches!((self, other), (Pace::Time(_), Pace::Time(_)) | (Pace::Events(_), Pace::Events(_)))
    }

    fn rank(self) -> u64 {
        match self {
            Pace::Time(Speed::Times { milli }) => milli,
            Pace::Time(Speed::Max) => u64::MAX,
            Pace::Events(rate) => rate.into(),
        }
    }

    /// The next step of the same kind, slower (below 0) or faster.
    #[must_use]
    pub fn neighbour(self, by: i8) -> Option<Pace> {
        let mut steps = self.steps().into_iter();
        if by < 0 { steps.rfind(|step| step.rank() < self.rank()) } else { steps.find(|step| step.rank() > self.rank()) }
    }

    /// `×10`, `×0.1`, `max`, `1 000 events/s`.
    #[must_use]
    pub fn label(self) -> String {
        match self {
            Pace::Time(Speed::Max) => "max".to_owned(),
            Pace::Time(Speed::Times { milli }) => format!("×{}", super::numbers::exact(i128::from(milli), crate::units::Scale(3), 0)),
            Pace::Events(1) => "1 event/s".to_owned(),
            Pace::Events(rate) => format!("{} events/s", count(rate.into())),
        }
    }

    /// What makes it so.
    #[must_use]
    pub fn command(self) -> Command {
        match self {
            Pace::Time(speed) => Command::Speed(speed),
            Pace::Events(rate) => Command::PaceByEvents(rate),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn thin(text: &str) -> String {
        text.replace('\u{2009}', " ")
    }

    #[test]
    fn slower_and_faster_walk_the_steps_of_a_kind_and_stop_at_its_ends() {
        for kind in [Pace::Time(Speed::Max), Pace::Events(1)] {
            let steps = kind.steps();
            for pair in steps.windows(2) {
                assert_eq!((pair[0].neighbour(1), pair[1].neighbour(-1)), (Some(pair[1]), Some(pair[0])));
            }
            assert_eq!((steps[0].neighbour(-1), steps[steps.len() - 1].neighbour(1)), (None, None));
        }
        let between = Pace::Time(Speed::Times { milli: 1_500 });
        assert_eq!(between.neighbour(-1), Some(Pace::Time(Speed::Times { milli: 1_000 })));
        assert_eq!(between.neighbour(1), Some(Pace::Time(Speed::Times { milli: 2_000 })));
        assert_eq!(Pace::Events(1_500).neighbour(1), Some(Pace::Events(10_000)));
    }

    #[test]
    fn paces_have_labels() {
        let labels: Vec<String> = Speed::STEPS.iter().map(|speed| thin(&Pace::Time(*speed).label())).collect();
        assert_eq!(labels, ["×0.1", "×0.5", "×1", "×2", "×5", "×10", "×60", "×100", "×600", "×1 000", "×10 000", "max"]);
        assert_eq!((thin(&Pace::Events(1).label()).as_str(), thin(&Pace::Events(10_000).label()).as_str()), ("1 event/s", "10 000 events/s"));
    }

    #[test]
    fn the_pace_is_read_from_the_state_and_its_command_makes_it_so() {
        let mut state = State { pacing: "events".into(), rate: Some(250), ..State::default() };
        assert_eq!((Pace::of(&state), Pace::of(&state).command()), (Pace::Events(250), Command::PaceByEvents(250)));
        (state.pacing, state.rate) = ("time".into(), None);
        assert_eq!((Pace::of(&state), Pace::of(&state).command()), (Pace::Time(state.speed), Command::Speed(state.speed)));
    }

    #[test]
    fn a_pace_that_is_no_step_stands_in_the_menu_where_it_belongs() {
        let [(_, times), (_, rates)] = Pace::Events(250).menu();
        assert_eq!((times.len(), rates.len(), rates[3]), (Speed::STEPS.len(), RATES.len() + 1, Pace::Events(250)));
        let [(_, times), (_, rates)] = Pace::Time(Speed::Times { milli: 20_000_000 }).menu();
        assert_eq!((times.len(), rates.len(), times[11]), (Speed::STEPS.len() + 1, RATES.len(), Pace::Time(Speed::Times { milli: 20_000_000 })));
    }
}
