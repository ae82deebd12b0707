//! The page: Leptos components over what [`crate::view`] decided, and the page module's entry point.
//!
//! Signals hold slow state only (what is open, status, counters at 4 Hz). A picture goes from the frame loop straight to the DOM
//! cells that the ladder, the clock and the playhead registered. No component formats a number or talks to the worker itself: both
//! go through `Page`.

mod banner;
mod details;
mod dialogs;
mod icons;
mod ladder;
mod page;
mod status_bar;
mod tape;
mod timeline;
mod toolbar;
mod transport;
mod welcome;

use leptos::prelude::*;
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::wasm_bindgen;

use crate::view::wording;
use crate::web::dom;
use page::{Page, Panel};

/// Mounts the page and spawns its worker from the compiled module that this instance was made of.
#[wasm_bindgen]
pub fn page(module: JsValue) {
    console_error_panic_hook::set_once();
    mount_to_body(move || {
        let page = Page::begin(module.clone());
        provide_context(page);
        view! { <App/> }
    });
}

#[component]
fn App() -> impl IntoView {
    let page = Page::get();
    let title = page.select(wording::tab_title);
    Effect::new(move |_| title.with(|title| dom::set_title(&page.window(), title)));
    view! {
        <toolbar::Toolbar/>
        <banner::Banner/>
        <banner::Imports/>
        <nav class="panels" aria-label="Panels">
            <PanelTab panel=Panel::Book/>
            <PanelTab panel=Panel::Tape/>
            <PanelTab panel=Panel::Details/>
        </nav>
        <main data-panel=move || page.panel.get().name() data-elsewhere=move || page.elsewhere.get().then_some("")>
            <welcome::Welcome/>
            <ladder::LadderPanel/>
            <details::Details/>
            <tape::TapePanel/>
        </main>
        <transport::Transport/>
        <status_bar::StatusBar/>
        <welcome::FileInput/>
        <dialogs::GoTo/>
        <dialogs::Connect/>
        <dialogs::KeySheet/>
        <p class="sr-only" role="status" aria-live="polite">{page.announcement()}</p>
    }
}

#[component]
fn PanelTab(panel: Panel) -> impl IntoView {
    let page = Page::get();
    view! {
        <button type="button" aria-pressed=move || (page.panel.get() == panel).to_string() on:click=move |_| page.panel.set(panel)>
            {panel.label()}
        </button>
    }
}
