//! What lies on top of the page: the box to go to a time, and the key sheet.

use leptos::ev;
use leptos::prelude::*;

use super::page::{Dialog, Page};
use crate::view::keys::Action;
use crate::view::{clock, places};

/// Opens the element while the page's dialog is `dialog`. `begin` prepares its field, with what was refused before forgotten.
fn ask(node: NodeRef<leptos::html::Dialog>, dialog: Dialog, refusal: RwSignal<String>, begin: impl Fn() + 'static) {
    let page = Page::get();
    follow(node, dialog);
    Effect::new(move |_| {
        if page.dialog.get() == Some(dialog) {
            refusal.set(String::new());
            begin();
        }
    });
}

/// Opens the element while the page's dialog is `dialog`.
fn follow(node: NodeRef<leptos::html::Dialog>, dialog: Dialog) {
    let page = Page::get();
    Effect::new(move |_| {
        let (open, Some(element)) = (page.dialog.get() == Some(dialog), node.get()) else { return };
        match (open, element.open()) {
            // A dialog that the document does not hold cannot be shown, and this one is always in it.
            (true, false) => drop(element.show_modal()),
            (false, true) => element.close(),
            _ => {}
        }
    });
}

/// Go to a time.
#[component]
pub fn GoTo() -> impl IntoView {
    let page = Page::get();
    let node = NodeRef::new();
    let input = NodeRef::<leptos::html::Input>::new();
    let refusal = RwSignal::new(String::new());
    ask(node, Dialog::GoTo, refusal, move || {
        if let Some(input) = input.get_untracked() {
            input.set_value(&page.state.with_untracked(|state| clock::short(places::near(state))));
            input.select();
        }
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let Some(input) = input.get_untracked() else { return };
        let command = page.state.with_untracked(|state| clock::parse(&input.value(), places::near(state)).map(|moment| places::go_to(state, moment)));
        match command {
            Ok(command) => {
                page.dialog.set(None);
                page.send(&command);
            }
            Err(reason) => refusal.set(reason),
        }
    };
    view! {
        <dialog node_ref=node aria-labelledby="go-to-title" on:close=move |_| page.dialog.set(None)>
            <form on:submit=submit>
                <h2 id="go-to-title">"Go to a time"</h2>
                <input class="figure" node_ref=input aria-label="Time, UTC" aria-describedby="go-to-help" spellcheck="false" autocomplete="off" autofocus=true/>
                <p id="go-to-help" class="label">
                    "14:30:05.123456789 on the day in view, 2024-05-08 00:06:40 (UTC), or s, ms, µs, ns since 1970. An event among equal times: ns/3; before the first: ns-"
                </p>
                <p class="refusal" role="alert">{refusal}</p>
                <p class="actions">
                    <button type="button" class="wide" on:click=move |_| page.dialog.set(None)>"Cancel"</button>
                    <button type="submit" class="wide primary">"Go"</button>
                </p>
            </form>
        </dialog>
    }
}

/// Connect to a store that this page's server does not list.
#[component]
pub fn Connect() -> impl IntoView {
    let page = Page::get();
    let node = NodeRef::new();
    let input = NodeRef::<leptos::html::Input>::new();
    let refusal = RwSignal::new(String::new());
    ask(node, Dialog::Connect, refusal, move || {
        if let Some(input) = input.get_untracked() {
            input.select();
        }
    });
    let submit = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let Some(input) = input.get_untracked() else { return };
        match page.connect(&input.value()) {
            Ok(()) => page.dialog.set(None),
            Err(reason) => refusal.set(reason),
        }
    };
    view! {
        <dialog node_ref=node aria-labelledby="connect-title" on:close=move |_| page.dialog.set(None)>
            <form on:submit=submit>
                <h2 id="connect-title">"Connect to a store"</h2>
                <input class="figure" node_ref=input aria-label="Address of the store" aria-describedby="connect-help" placeholder="localhost:9000" spellcheck="false" autocomplete="off" autofocus=true/>
                <p id="connect-help" class="label">
                    "Host and port of a QuestDB, or of another tickscope that allows this page (--allow-host). It is kept until this tab is closed; users and passwords are never asked for"
                </p>
                <p class="refusal" role="alert">{refusal}</p>
                <p class="actions">
                    <button type="button" class="wide" on:click=move |_| page.dialog.set(None)>"Cancel"</button>
                    <button type="submit" class="wide primary">"Connect"</button>
                </p>
            </form>
        </dialog>
    }
}

/// The keys, from the table that they come from.
#[component]
pub fn KeySheet() -> impl IntoView {
    let page = Page::get();
    let node = NodeRef::new();
    follow(node, Dialog::Keys);
    let rows = Action::ALL.map(|action| view! { <tr><td><kbd>{action.key_cap()}</kbd></td><td>{action.label()}</td></tr> });
    view! {
        <dialog node_ref=node aria-labelledby="keys-title" on:close=move |_| page.dialog.set(None)>
            <h2 id="keys-title">"Keys"</h2>
            <table class="keys"><tbody>{rows}</tbody></table>
            <p class="actions"><button type="button" class="wide" autofocus=true on:click=move |_| page.dialog.set(None)>"Close"</button></p>
        </dialog>
    }
}
