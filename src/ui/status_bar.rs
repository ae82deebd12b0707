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
    let status = page.marked_status();
    let failed = move || matches!(status.get(), Status::Failed | Status::Disconnected);
    let connection = page.select(wording::connection);
    let of_page = move || page.failure.with(Option::is_some);
    view! {
        <footer class="status-bar" aria-label="Counters">
            <span class="connection" data-failed=move || failed().then_some("")>{move || if of_page() { wording::PAGE_FAILED } else { connection.get() }}</span>
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
