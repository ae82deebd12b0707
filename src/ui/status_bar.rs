//! The status bar: the connection and the counters, each in its fixed place.

use leptos::prelude::*;

use super::page::Page;
use crate::link::Status;
use crate::view::counters::{Gauge, STATUS_BAR};
use crate::view::wording;

/// The bar at the bottom. It never leaves, and nothing in it moves.
#[component]
pub fn StatusBar() -> impl IntoView {
    let page = Page::get();
    let status = Memo::new(move |_| if page.failure.with(Option::is_some) { Status::Failed } else { page.state.with(|state| state.status) });
    let failed = move || matches!(status.get(), Status::Failed | Status::Disconnected);
    view! {
        <footer class="status-bar" aria-label="Counters">
            <span class="connection" data-failed=move || failed().then_some("")>{move || wording::connection(status.get())}</span>
            {STATUS_BAR.iter().map(|gauge| view! { <Reading gauge/> }).collect_view()}
        </footer>
    }
}

#[component]
fn Reading(gauge: &'static Gauge) -> impl IntoView {
    let page = Page::get();
    let figure = Memo::new(move |_| page.counters.with(|counters| (gauge.show)(counters, page.painted.get())));
    view! {
        <span class="gauge" title=gauge.tooltip() data-counter=gauge.names>
            <span class="label">{gauge.label}</span>
            <span class="figure" style:min-width=gauge.css_width()>{figure}</span>
        </span>
    }
}
