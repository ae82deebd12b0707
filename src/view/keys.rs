//! What a user can do without a mouse: one table from which keys, labels, tooltips and the key sheet are made.

use crate::link::{Command, State, Status};
use crate::units::{Moment, UnixNanos};

use super::pace::Pace;

/// Everything that a key or button does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Action {
    /// Run or stop the clock.
    PlayPause,
    /// One event group back.
    StepBack,
    /// One event group forward.
    StepForward,
    /// The trade before.
    TradeBack,
    /// The next trade.
    TradeForward,
    /// One second back.
    SecondBack,
    /// One second forward.
    SecondForward,
    /// Start of the range.
    Home,
    /// End of the range.
    End,
    /// The next slower speed.
    Slower,
    /// The next faster speed.
    Faster,
    /// Play a stretch over and over, or end that.
    Loop,
    /// Ask for a time to go to.
    GoTo,
    /// A shorter part of the range on the timeline.
    ZoomIn,
    /// A longer part.
    ZoomOut,
    /// An earlier part.
    PanBack,
    /// A later part.
    PanForward,
    /// The whole range on the timeline.
    ZoomWhole,
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
    pub const ALL: [Action; 22] = [
        Action::PlayPause,
        Action::StepBack,
        Action::StepForward,
        Action::TradeBack,
        Action::TradeForward,
        Action::SecondBack,
        Action::SecondForward,
        Action::Home,
        Action::End,
        Action::Slower,
        Action::Faster,
        Action::Loop,
        Action::GoTo,
        Action::ZoomIn,
        Action::ZoomOut,
        Action::PanBack,
        Action::PanForward,
        Action::ZoomWhole,
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
            Action::TradeBack => "Previous trade",
            Action::TradeForward => "Next trade",
            Action::SecondBack => "One second back",
            Action::SecondForward => "One second forward",
            Action::Home => "Start of the range",
            Action::End => "End of the range",
            Action::Slower => "Slower",
            Action::Faster => "Faster",
            Action::Loop => "Loop on or off",
            Action::GoTo => "Go to a time…",
            Action::ZoomIn => "Zoom in on the timeline",
            Action::ZoomOut => "Zoom out",
            Action::PanBack => "Earlier part of the timeline",
            Action::PanForward => "Later part of the timeline",
            Action::ZoomWhole => "All of the range on the timeline",
            Action::Choose => "Choose an instrument…",
            Action::Centre => "Centre the ladder",
            Action::Help => "Keys",
            Action::Dismiss => "Close what is on top",
        }
    }

    /// The key as the browser names it (`KeyboardEvent.key`), lower case; with `alt+` or `shift+` before it where they are held.
    #[must_use]
    pub fn key(self) -> &'static str {
        match self {
            Action::PlayPause => " ",
            Action::StepBack => "arrowleft",
            Action::StepForward => "arrowright",
            Action::TradeBack => "shift+arrowleft",
            Action::TradeForward => "shift+arrowright",
            Action::SecondBack => "alt+arrowleft",
            Action::SecondForward => "alt+arrowright",
            Action::Home => "home",
            Action::End => "end",
            Action::Slower => "[",
            Action::Faster => "]",
            Action::Loop => "l",
            Action::GoTo => "g",
            Action::ZoomIn => "w",
            Action::ZoomOut => "s",
            Action::PanBack => "a",
            Action::PanForward => "d",
            Action::ZoomWhole => "0",
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
            Action::TradeBack => "Shift ←",
            Action::TradeForward => "Shift →",
            Action::SecondBack => "Alt ←",
            Action::SecondForward => "Alt →",
            Action::Home => "Home",
            Action::End => "End",
            Action::Slower => "[",
            Action::Faster => "]",
            Action::Loop => "L",
            Action::GoTo => "G",
            Action::ZoomIn => "W",
            Action::ZoomOut => "S",
            Action::PanBack => "A",
            Action::PanForward => "D",
            Action::ZoomWhole => "0",
            Action::Choose => "/",
            Action::Centre => "C",
            Action::Help => "?",
            Action::Dismiss => "Esc",
        }
    }

    /// Whether holding the key down does it again and again.
    #[must_use]
    pub fn repeats(self) -> bool {
        use Action::{
            Faster, PanBack, PanForward, SecondBack, SecondForward, Slower, StepBack, StepForward, TradeBack, TradeForward, ZoomIn, ZoomOut,
        };
        matches!(
            self,
            StepBack
                | StepForward
                | TradeBack
                | TradeForward
                | SecondBack
                | SecondForward
                | Slower
                | Faster
                | ZoomIn
                | ZoomOut
                | PanBack
                | PanForward
        )
    }

    /// Label and key, for a tooltip.
    #[must_use]
    pub fn tooltip(self) -> String {
        format!("{} ({})", self.label(), self.key_cap())
    }

    /// The action of a key pressed without Ctrl or Meta outside of a text field, named as by [`Action::key`].
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
            Action::TradeBack => open.then_some(Command::StepTrade(-1)),
            Action::TradeForward => open.then_some(Command::StepTrade(1)),
            Action::SecondBack => second(state, -1),
            Action::SecondForward => second(state, 1),
            Action::Home => open.then_some(Command::Home),
            Action::End => open.then_some(Command::End),
            Action::Slower => Pace::of(state).neighbour(-1).map(Pace::command),
            Action::Faster => Pace::of(state).neighbour(1).map(Pace::command),
            // The page knows what else these need: what lies on top, which part of the range is shown.
            Action::Loop | Action::GoTo | Action::Choose | Action::Centre | Action::Help | Action::Dismiss => None,
            Action::ZoomIn | Action::ZoomOut | Action::PanBack | Action::PanForward | Action::ZoomWhole => None,
        }
    }
}

/// A second before or after the moment shown, or the one that is being sought.
fn second(state: &State, by: i64) -> Option<Command> {
    let moment: Moment = state.seeking.as_ref().or(state.as_of.as_ref())?.parse().ok()?;
    let time = moment.time.0.checked_add(by * 1_000_000_000)?;
    state.table.is_some().then(|| Command::Seek(UnixNanos(time).to_string()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::Speed;

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
    fn keys_for_slower_and_faster_keep_to_what_paces() {
        let mut state = State { speed: Speed::STEPS[0], ..State::default() };
        assert_eq!(Action::Faster.command(&state), Some(Command::Speed(Speed::STEPS[1])));
        assert_eq!(Action::Slower.command(&state), None);
        (state.pacing, state.rate) = ("events".into(), Some(1_000));
        assert_eq!(Action::Faster.command(&state), Some(Command::PaceByEvents(10_000)));
    }
    #[test]
    fn a_second_is_counted_from_the_moment_that_is_sought() {
        let mut state = State { table: Some("mbo".into()), as_of: Some("5000000000/3".into()), ..State::default() };
        assert_eq!(Action::SecondForward.command(&state), Some(Command::Seek("6000000000".into())));
        state.seeking = Some("9000000000".into());
        assert_eq!(Action::SecondBack.command(&state), Some(Command::Seek("8000000000".into())));
        assert_eq!(Action::SecondBack.command(&State::default()), None);
    }
}
