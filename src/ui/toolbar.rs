//! The toolbar: what is open, the moment on screen, the state in a word.

use leptos::prelude::*;

use super::icons::{self, Icon};
use super::page::{Dialog, Page};
use crate::link::Status;
use crate::view::keys::Action;
use crate::view::{clock, places, wording};
use crate::web::paint::Texts;
use crate::web::{dom, storage};

/// The bar at the top.
#[component]
pub fn Toolbar() -> impl IntoView {
    let page = Page::get();
    view! {
        <header class="toolbar">
            <h1><button type="button" title=Action::Choose.tooltip() on:click=move |_| page.act(Action::Choose)>"tickscope"</button></h1>
            <SourcePicker/>
            <TablePicker/>
            <InstrumentPicker/>
            <Level/>
            <StatusWord/>
            <Clock/>
            <span class="tools">
                <HelpButton/>
                <ThemePicker/>
            </span>
        </header>
    }
}

/// Value of the picker's entry that asks for an address; no store is named so.
const ELSEWHERE: &str = "\u{0}";

/// Value of the entry that asks for a file.
const FILE: &str = "\u{1}";

/// One entry of a picker: value, label, whether it is what is open.
type Choice = (String, String, bool);

/// A labelled menu over the choices; `empty` is shown when there are none.
#[component]
fn Picker(label: &'static str, empty: &'static str, choices: Memo<Vec<Choice>>, on_pick: impl Fn(String) + 'static) -> impl IntoView {
    let page = Page::get();
    let options = move || {
        // A refused choice is taken back by making the entries anew.
        page.refusals.track();
        let choices = choices.get();
        if choices.is_empty() {
            return view! { <option value="">{empty}</option> }.into_any();
        }
        let none_open = !choices.iter().any(|(_, _, open)| *open);
        view! {
            {none_open.then(|| view! { <option value="" prop:selected=true disabled=true>{empty}</option> })}
            {choices.into_iter().map(|(value, text, open)| view! { <option value=value prop:selected=open>{text}</option> }).collect_view()}
        }
        .into_any()
    };
    view! {
        <select
            class="picker"
            aria-label=label
            title=label
            prop:disabled=move || choices.with(Vec::is_empty)
            on:change=move |event| {
                on_pick(event_target_value(&event));
                dom::blur(&event);
            }
        >
            {options}
        </select>
    }
}

#[component]
fn SourcePicker() -> impl IntoView {
    let page = Page::get();
    let choices = Memo::new(move |_| {
        let open = page.state.with(|state| state.source.clone());
        let choice = |store: &crate::link::StoreInfo| (store.name.clone(), wording::store_option(store), open.as_ref() == Some(&store.name));
        let ways = [(ELSEWHERE, "Connect elsewhere…"), (FILE, "Open a file…")].map(|(value, label)| (value.to_owned(), label.to_owned(), false));
        page.stores.with(|stores| stores.iter().map(choice).chain(ways).collect::<Vec<_>>())
    });
    let pick = move |name: String| {
        if name == ELSEWHERE || name == FILE {
            // The entry is no source: the picker goes back to the one that is open.
            page.refusals.update(|count| *count += 1);
            if name == FILE { page.pick_files() } else { page.dialog.set(Some(Dialog::Connect)) }
        } else {
            page.send(&places::source(&name));
        }
    };
    view! { <Picker label="Source" empty="no source" choices on_pick=pick/> }
}

#[component]
fn TablePicker() -> impl IntoView {
    let page = Page::get();
    let choices = page.select(|state| {
        let choice = |table: &crate::link::TableInfo| (table.name.clone(), wording::table_option(table), state.table.as_ref() == Some(&table.name));
        state.catalogue.tables.iter().map(choice).collect::<Vec<_>>()
    });
    let pick = move |name: String| page.send(&page.state.with_untracked(|state| places::table(state, &name)));
    view! { <Picker label="Table" empty="no table" choices on_pick=pick/> }
}

#[component]
fn InstrumentPicker() -> impl IntoView {
    let page = Page::get();
    let choices = page.select(|state| {
        let open = places::open_instrument(state);
        let all = &state.catalogue.instruments;
        let choice = |(index, instrument)| (format!("{index}"), wording::instrument_option(instrument, all), open == Some(index));
        all.iter().enumerate().map(choice).collect::<Vec<_>>()
    });
    let pick = move |index: String| {
        let command = index.parse().ok().and_then(|index| page.state.with_untracked(|state| places::instrument(state, index)));
        if let Some(command) = command {
            page.send(&command);
        }
    };
    view! { <Picker label="Instrument" empty="no instrument" choices on_pick=pick/> }
}

#[component]
fn Level() -> impl IntoView {
    let page = Page::get();
    let kind =
        page.select(|state| state.book.as_ref().filter(|_| wording::without_book(state).is_none()).map(|book| book.kind.clone()).unwrap_or_default());
    view! {
        <span class="level" hidden=move || kind.with(String::is_empty) title=move || kind.with(|kind| wording::kind_meaning(kind))>
            {kind}
        </span>
    }
}

#[component]
fn StatusWord() -> impl IntoView {
    let page = Page::get();
    let status = page.marked_status();
    let word = page.select(wording::status_word);
    let failed = move || page.failure.with(Option::is_some);
    let behind = move || {
        (page.behind.get() && status.get() == Status::Playing)
            .then(|| wording::behind(page.counters.with(|counters| counters.lag_millis.unwrap_or(0))))
    };
    view! {
        <span class="status" data-failed=move || matches!(status.get(), Status::Failed | Status::Disconnected).then_some("")>
            <Icon path=Signal::derive(move || icons::of_status(status.get()))/>
            <span class="word">{move || if failed() { "FAILED".to_owned() } else { word.get() }}</span>
        </span>
        <span class="behind" hidden=move || behind().is_none()>{move || behind().unwrap_or_default()}</span>
    }
}

/// The moment on screen. Painted with the picture, so that it is never of another one.
#[component]
fn Clock() -> impl IntoView {
    let page = Page::get();
    let root = NodeRef::<leptos::html::Div>::new();
    root.on_load(move |root| {
        let mut texts = Texts::within(&root, "span[data-cell]");
        page.frames().add_painter(move |frame| {
            texts.set(0, &clock::date(frame.as_of.time));
            texts.set(1, &clock::time(frame.as_of.time));
        });
    });
    view! {
        <div class="clock" node_ref=root role="group" aria-label="As of, UTC" data-elsewhere=move || page.elsewhere.get().then_some("")>
            <span class="label">"as of"</span>
            <span class="date figure" data-cell>{clock::NO_DATE}</span>
            <span class="time figure" data-cell>{clock::NO_TIME}</span>
            <span class="label">"UTC"</span>
        </div>
    }
}

#[component]
fn HelpButton() -> impl IntoView {
    let page = Page::get();
    view! {
        <button type="button" class="tool" aria-label=Action::Help.label() title=Action::Help.tooltip() on:click=move |_| page.act(Action::Help)>
            "?"
        </button>
    }
}

/// Stored value and label of the themes; the empty value follows the system.
const THEMES: [(&str, &str); 3] = [("", "System"), ("dark", "Dark"), ("light", "Light")];

#[component]
fn ThemePicker() -> impl IntoView {
    let window = Page::get().window();
    let stored = storage::theme(&window).unwrap_or_default();
    let options = THEMES.map(|(value, label)| view! { <option value=value prop:selected={value == stored}>{label}</option> });
    view! {
        <select
            class="picker theme"
            aria-label="Theme"
            title="Theme"
            on:change=move |event| {
                let theme = event_target_value(&event);
                storage::set_theme(&window, (!theme.is_empty()).then_some(theme.as_str()));
                dom::blur(&event);
            }
        >
            {options}
        </select>
    }
}
