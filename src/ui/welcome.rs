//! The first visit: what this is, the instruments as buttons, and the other ways in. It comes again when another instrument is to be
//! chosen.

use leptos::prelude::*;

use super::page::{Dialog, Page};
use crate::link::Command;
use crate::view::keys::Action;
use crate::view::{welcome, wording};
use crate::web::{dom, upload};

/// Stands in the place of the panels.
#[component]
pub fn Welcome() -> impl IntoView {
    let page = Page::get();
    let shown = page.choosing();
    move || shown.get().then(|| view! { <Choices/> })
}

#[component]
fn Choices() -> impl IntoView {
    let page = Page::get();
    let groups = page.select(welcome::groups);
    let some_open = page.select(|state| state.table.is_some());
    let none = move || groups.with(Vec::is_empty);
    let source = page.select(|state| state.source.as_deref().map(wording::store_name).unwrap_or_default());
    let list = move || groups.get().into_iter().map(|group| view! { <Group group/> }).collect_view();
    view! {
        <section class="welcome" aria-labelledby="welcome-title" tabindex="-1">
            <div class="inner">
                <h2 id="welcome-title">"Tickscope"</h2>
                <p class="sentence">{welcome::SENTENCE}</p>
                <p class="from label" hidden=none>"Choose an instrument of the "{source}</p>
                <p class="from" hidden=move || !none()>{wording::NO_TABLES}</p>
                <div class="groups">{list}</div>
                <p class="actions">
                    <button type="button" class="wide" on:click=move |_| page.pick_files()>"Open a file…"</button>
                    <button type="button" class="wide" on:click=move |_| page.dialog.set(Some(Dialog::Connect))>"Connect elsewhere…"</button>
                    <button type="button" class="wide" hidden=move || !some_open.get() on:click=move |_| page.act(Action::Dismiss)>"Back to the book"</button>
                </p>
                <p class="label">{wording::FILES_HELP}</p>
            </div>
        </section>
    }
}

#[component]
fn Group(group: welcome::Group) -> impl IntoView {
    let page = Page::get();
    let choices = group.choices.into_iter().map(|choice| {
        let open = choice.open.clone();
        view! {
            <li>
                <button type="button" on:click=move |_| page.send(&Command::Open(open.clone()))>
                    <span class="symbol">{choice.label}</span>
                    <span class="label figure">{choice.detail}</span>
                </button>
            </li>
        }
    });
    view! {
        <section class="group">
            <h3><span class="figure">{group.table}</span><span class="label">{group.note}</span></h3>
            {group.reason.map(|reason| view! { <p class="label">{reason}</p> })}
            <ul>{choices.collect_view()}</ul>
        </section>
    }
}

/// The hidden input that the browser's own file dialog belongs to, and what is shown while files are dragged over the page.
#[component]
pub fn FileInput() -> impl IntoView {
    let page = Page::get();
    let input = NodeRef::<leptos::html::Input>::new();
    let picked = move |event| {
        if let Some(input) = input.get_untracked() {
            page.add_files(upload::chosen(&input));
        }
        dom::blur(&event);
    };
    view! {
        <input id="open-file" type="file" multiple=true hidden=true tabindex="-1" aria-label="Open a file" node_ref=input on:change=picked/>
        <div class="drop" hidden=move || !page.dragging.get()><p>"Drop the files to open them"</p></div>
    }
}
