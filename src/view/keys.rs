//! What a user can do without a mouse: one table from which keys, labels, tooltips and the key sheet are made.

use crate::link::{Command, Speed, State, Status};

/// Everything that a key or button does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run or stop the clock.
    PlayPause,
    /// One event group back.
    StepBack,
    /// One event group forward.
    StepForward,
    /// Start of the range.
    Home,
    /// End of the range.
    End,
    /// The next slower speed.
    Slower,
    /// The next faster speed.
    Faster,
    /// Ask for a time to go to.
    GoTo,
    /// Show what else can be opened.
    Choose,
    /// Bring the spread back to the middle of the ladder.
    Centre,
    /// Show the keys.
    Help,
    /// Close what lies on top.
    Dismiss,
}

impl Action {
    /// In the order of the key sheet.
    pub const ALL: [Action; 12] = [
        Action::PlayPause,
        Action::StepBack,
        Action::StepForward,
        Action::Home,
        Action::End,
        Action::Slower,
        Action::Faster,
        Action::GoTo,
        Action::Choose,
        Action::Centre,
        Action::Help,
        Action::Dismiss,
    ];

    /// What it does, as a label.
    #[must_use]
    pub fn label(self) -> &'static str {
        match self {
            Action::PlayPause => "Play or pause",
            Action::StepBack => "Previous event group",
            Action::StepForward => "Next event group",
            Action::Home => "Start of the range",
            Action::End => "End of the range",
            Action::Slower => "Slower",
            Action::Faster => "Faster",
            Action::GoTo => "Go to a time…",
            Action::Choose => "Choose an instrument…",
            Action::Centre => "Centre the ladder",
            Action::Help => "Keys",
            Action::Dismiss => "Close what is on top",
        }
    }

    /// The key as the browser names it (`KeyboardEvent.key`), lower case.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Action::PlayPause => " ",
            Action::StepBack => "arrowleft",
            Action::StepForward => "arrowright",
            Action::Home => "home",
            Action::End => "end",
            Action::Slower => "[",
            Action::Faster => "]",
            Action::GoTo => "g",
            Action::Choose => "/",
            Action::Centre => "c",
            Action::Help => "?",
            Action::Dismiss => "escape",
        }
    }

    /// The key as the sheet shows it.
    #[must_use]
    pub fn key_cap(self) -> &'static str {
        match self {
            Action::PlayPause => "Space",
            Action::StepBack => "←",
            Action::StepForward => "→",
            Action::Home => "Home",
            Action::End => "End",
            Action::Slower => "[",
            Action::Faster => "]",
            Action::GoTo => "G",
            Action::Choose => "/",
            Action::Centre => "C",
            Action::Help => "?",
            Action::Dismiss => "Esc",
        }
    }

    /// Whether holding the key down does it again and again.
    #[must_use]
    pub fn repeats(self) -> bool {
        matches!(self, Action::StepBack | Action::StepForward | Action::Slower | Action::Faster)
    }

    /// Label and key, for a tooltip.
    #[must_use]
    pub fn tooltip(self) -> String {
        format!("{} ({})", self.label(), self.key_cap())
    }

    /// The action of a key pressed without Ctrl, Alt or Meta outside of a text field.
    #[must_use]
    pub fn of_key(key: &str) -> Option<Action> {
        let key = key.to_lowercase();
        Action::ALL.into_iter().find(|action| action.key() == key)
    }

    /// The playback command that the action means now; `None` for what only concerns the page, and where there is nothing to do.
    #[must_use]
    pub fn command(self, state: &State) -> Option<Command> {
        let open = state.table.is_some();
        match self {
            Action::PlayPause => match state.status {
                Status::Playing | Status::Following => Some(Command::Pause),
                Status::Loading | Status::Paused => open.then_some(Command::Play),
                // At the end, play means once more from the start; the engine decides where its clock stands.
                Status::Ended => open.then_some(Command::Play),
                Status::Idle | Status::Connecting | Status::Disconnected | Status::Failed => None,
            },
            Action::StepBack => open.then_some(Command::Step(-1)),
            Action::StepForward => open.then_some(Command::Step(1)),
            Action::Home => open.then_some(Command::Home),
            Action::End => open.then_some(Command::End),
            Action::Slower => neighbour(state.speed, -1).map(Command::Speed),
            Action::Faster => neighbour(state.speed, 1).map(Command::Speed),
            Action::GoTo | Action::Choose | Action::Centre | Action::Help | Action::Dismiss => None,
        }
    }
}

/// The next step of [`Speed::STEPS`] below or above a speed, which itself need not be a step.
fn neighbour(speed: Speed, by: i8) -> Option<Speed> {
    let rank = |speed: Speed| match speed {
        Speed::Times { milli } => milli,
        Speed::Max => u64::MAX,
    };
    let mut steps = Speed::STEPS.into_iter();
    if by < 0 { steps.rfind(|step| rank(*step) < rank(speed)) } else { steps.find(|step| rank(*step) > rank(speed)) }
}

/// `×10`, `×0.1`, `max`.
#[must_use]
pub fn speed_label(speed: Speed) -> String {
    match speed {
        Speed::Max => "max".to_owned(),
        Speed::Times { milli } => {
            let value = super::numbers::exact(i128::from(milli), crate::units::Scale(3), 0);
            format!("×{value}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_actions_share_a_key_or_a_label() {
        for (index, action) in Action::ALL.into_iter().enumerate() {
            assert_eq!(Action::of_key(action.key()), Some(action));
            for other in &Action::ALL[index + 1..] {
                assert_ne!(action.key(), other.key());
                assert_ne!(action.label(), other.label());
                assert_ne!(action.key_cap(), other.key_cap());
            }
        }
        assert_eq!(Action::of_key("ArrowLeft"), Some(Action::StepBack));
        assert_eq!(Action::of_key("x"), None);
    }

    #[test]
    fn play_and_pause_follow_the_state() {
        let state = |status, table: Option<&str>| State { status, table: table.map(str::to_owned), ..State::default() };
        assert_eq!(Action::PlayPause.command(&state(Status::Playing, Some("mbo"))), Some(Command::Pause));
        assert_eq!(Action::PlayPause.command(&state(Status::Paused, Some("mbo"))), Some(Command::Play));
        assert_eq!(Action::PlayPause.command(&state(Status::Failed, Some("mbo"))), None);
        assert_eq!(Action::StepBack.command(&state(Status::Idle, None)), None);
    }

    #[test]
    fn speed_keys_walk_the_menu_and_stop_at_its_ends() {
        let mut state = State { speed: Speed::STEPS[0], ..State::default() };
        for step in &Speed::STEPS[1..] {
            assert_eq!(Action::Faster.command(&state), Some(Command::Speed(*step)));
            state.speed = *step;
        }
        assert_eq!(Action::Faster.command(&state), None);
        state.speed = Speed::Times { milli: 1_500 };
        assert_eq!(Action::Slower.command(&state), Some(Command::Speed(Speed::Times { milli: 1_000 })));
        assert_eq!(Action::Faster.command(&state), Some(Command::Speed(Speed::Times { milli: 2_000 })));
        state.speed = Speed::STEPS[0];
        assert_eq!(Action::Slower.command(&state), None);
    }

    #[test]
    fn speeds_have_labels() {
        let labels: Vec<String> = Speed::STEPS.map(speed_label).iter().map(|label| label.replace('\u{2009}', " ")).collect();
        assert_eq!(labels, ["×0.1", "×0.5", "×1", "×2", "×5", "×10", "×60", "×100", "×600", "×1 000", "×10 000", "max"]);
    }
}
