//! Icons as paths on a grid of 16, in the colour of the text they stand in. Glyphs would be drawn as emoji on some systems.

use leptos::prelude::*;

use crate::link::Status;

pub const HOME: &str = "M3 3h2v10H3zM13 3v10L6 8z";
pub const STEP_BACK: &str = "M9.5 3v10l-7-5zM11.5 3h2v10h-2z";
pub const PLAY: &str = "M4 2.5v11L13 8z";
pub const PAUSE: &str = "M4 3h3v10H4zM9 3h3v10H9z";
pub const STEP_FORWARD: &str = "M6.5 3v10l7-5zM2.5 3h2v10h-2z";
pub const END: &str = "M11 3h2v10h-2zM3 3v10l7-5z";
pub const LOOP: &str = "M4 3.5h7v-2l4 3-4 3v-2H5v3H3v-4a1 1 0 0 1 1-1zM12 12.5H5v2l-4-3 4-3v2h6v-3h2v4a1 1 0 0 1-1 1z";
pub const CENTRE: &str = "M7.25 1h1.5v3h-1.5zM7.25 12h1.5v3h-1.5zM1 7.25h3v1.5H1zM12 7.25h3v1.5h-3zM8 5.5a2.5 2.5 0 1 0 0 5 2.5 2.5 0 1 0 0-5z";

/// The icon of a state.
pub fn of_status(status: Status) -> &'static str {
    match status {
        Status::Idle => "M8 2.5a5.5 5.5 0 1 0 0 11 5.5 5.5 0 1 0 0-11zm0 1.5a4 4 0 1 1 0 8 4 4 0 1 1 0-8z",
        Status::Connecting | Status::Loading => "M1.5 6.5h3v3h-3zM6.5 6.5h3v3h-3zM11.5 6.5h3v3h-3z",
        Status::Playing => PLAY,
        Status::Paused => PAUSE,
        Status::Following => "M8 3a5 5 0 1 0 0 10A5 5 0 1 0 8 3z",
        Status::Ended => "M3.5 3.5h9v9h-9z",
        Status::Disconnected | Status::Failed => "M4 2.6 8 6.6l4-4L13.4 4l-4 4 4 4-1.4 1.4-4-4-4 4L2.6 12l4-4-4-4z",
    }
}

/// One icon; the button around it carries the label.
#[component]
pub fn Icon(#[prop(into)] path: Signal<&'static str>) -> impl IntoView {
    view! {
        <svg viewBox="0 0 16 16" width="16" height="16" aria-hidden="true">
            <path fill="currentColor" d=move || path.get()></path>
        </svg>
    }
}
