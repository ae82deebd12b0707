//! The transport: playback buttons, speed, the range and its playhead.

use leptos::ev;
use leptos::prelude::*;

use super::icons::{self, Icon};
use super::page::Page;
use super::timeline::{Peak, Timeline};
use crate::link::{Range, Status};
use crate::units::UnixNanos;
use crate::view::keys::Action;
use crate::view::pace::Pace;
use crate::view::{clock, places, wording};
use crate::web::dom;
use crate::web::paint::Texts;

/// The bar below the panels.
#[component]
pub fn Transport() -> impl IntoView {
    let page = Page::get();
    let playing = page.select(|state| matches!(state.status, Status::Playing | Status::Following));
    let seeking = page.select(|state| state.seeking.clone());
    let loading = page.select(|state| state.status == Status::Loading);
    let idle = page.select(|state| state.table.is_none());
    let going = move || match loading.get() || seeking.get().is_some() {
        true => wording::seeking(seeking.get().as_deref(), page.counters.with(|counters| counters.rows_per_second)),
        false => String::new(),
    };
    view! {
        <section class="transport" aria-label="Playback">
            <div class="controls">
                <div class="buttons" on:mousedown=move |event| dom::keep_focus(&event)>
                    <ActionButton action=Action::Home icon=icons::HOME/>
                    <ActionButton action=Action::StepBack icon=icons::STEP_BACK/>
                    <button
                        type="button"
                        class="play"
                        aria-label=move || if playing.get() { "Pause" } else { "Play" }
                        title=Action::PlayPause.tooltip()
                        prop:disabled=idle
                        on:click=move |_| page.act(Action::PlayPause)
                    >
                        <Icon path=Signal::derive(move || if playing.get() { icons::PAUSE } else { icons::PLAY })/>
                    </button>
                    <ActionButton action=Action::StepForward icon=icons::STEP_FORWARD/>
                    <ActionButton action=Action::End icon=icons::END/>
                </div>
                <PacePicker/>
                <LoopButton/>
                <button type="button" class="wide" title=Action::GoTo.tooltip() prop:disabled=idle on:click=move |_| page.act(Action::GoTo)>"Go to…"</button>
                <TieNote/>
                <Peak/>
                // The refusal is announced; how a seek goes is not, for it changes four times a second.
                <span class="note figure" hidden=move || going().is_empty()>{going}</span>
                <span class="note refusal" role="status">{page.notice}</span>
            </div>
            <RangeTrack/>
        </section>
    }
}

#[component]
fn ActionButton(action: Action, icon: &'static str) -> impl IntoView {
    let page = Page::get();
    let idle = page.select(|state| state.table.is_none());
    view! {
        <button type="button" aria-label=action.label() title=action.tooltip() prop:disabled=idle on:click=move |_| page.act(action)>
            <Icon path=icon/>
        </button>
    }
}

/// What paces playback: market time, or events.
#[component]
fn PacePicker() -> impl IntoView {
    let page = Page::get();
    let pace = page.select(Pace::of);
    let groups = move || {
        page.refusals.track();
        let open = pace.get();
        let option = move |step: Pace| view! { <option value=step.label() prop:selected={step == open}>{step.label()}</option> };
        let group = move |(label, steps): (&'static str, Vec<Pace>)| view! { <optgroup label=label>{steps.into_iter().map(option).collect_view()}</optgroup> };
        open.menu().into_iter().map(group).collect_view()
    };
    let pick = move |event: ev::Event| {
        let label = event_target_value(&event);
        let steps = pace.get_untracked().menu().into_iter().flat_map(|(_, steps)| steps);
        if let Some(step) = steps.into_iter().find(|step| step.label() == label) {
            page.send(&step.command());
        }
        dom::blur(&event);
    };
    view! { <select class="picker pace figure" aria-label="Pace" title="Pace: market time per wall time, or events a second" on:change=pick>{groups}</select> }
}

/// Whether a stretch is played over and over, and the way to begin and to end it.
#[component]
fn LoopButton() -> impl IntoView {
    let page = Page::get();
    let looped = page.select(|state| state.looped.clone());
    let title = move || match looped.get() {
        Some(range) => format!("{}: {}", Action::Loop.tooltip(), places::stretch(&range)),
        None => format!("{}: what the timeline shows; drag over the timeline for another stretch", Action::Loop.tooltip()),
    };
    view! {
        <button
            type="button"
            class="loop-button"
            aria-label="Loop"
            aria-pressed=move || looped.with(Option::is_some).to_string()
            title=title
            prop:disabled=page.select(|state| state.range.is_none())
            on:mousedown=move |event| dom::keep_focus(&event)
            on:click=move |_| page.act(Action::Loop)
        >
            <Icon path=icons::LOOP/>
        </button>
    }
}

/// "event 3 of 14 at this time", painted with the picture.
#[component]
fn TieNote() -> impl IntoView {
    let page = Page::get();
    let root = NodeRef::<leptos::html::Span>::new();
    root.on_load(move |root| {
        let mut text = Texts::within(&root, "span");
        page.frames().add_painter(move |frame| text.set(0, &clock::place(frame.as_of, frame.tie)));
    });
    view! { <span class="tie figure" node_ref=root><span></span></span> }
}

#[component]
fn RangeTrack() -> impl IntoView {
    let page = Page::get();
    let range = page.select(|state| state.range.clone());
    let edge = move |pick: fn(&Range) -> &String| {
        let time = range.with(|range| range.as_ref().and_then(|range| pick(range).parse::<UnixNanos>().ok()));
        time.map(clock::short).unwrap_or_default()
    };
    let from = NodeRef::<leptos::html::Input>::new();
    let to = NodeRef::<leptos::html::Input>::new();
    let refused = RwSignal::new(false);
    let apply = move |event: ev::SubmitEvent| {
        event.prevent_default();
        refused.set(false);
        let (Some(from), Some(to)) = (from.get_untracked(), to.get_untracked()) else { return };
        match page.state.with_untracked(|state| places::range(state, &from.value(), &to.value())) {
            Ok(command) => {
                page.send(&command);
                // Back to where single keys work.
                dom::leave(&from);
                dom::leave(&to);
            }
            Err(refusal) => {
                page.notice.set(refusal);
                refused.set(true);
            }
        }
    };
    // What was typed and not taken does not stay behind as if it were open.
    let restore = move |event: ev::FocusEvent| {
        if dom::leaves(&event) {
            for (field, edge) in [(from, edge(|range| &range.from)), (to, edge(|range| &range.to))] {
                if let Some(field) = field.get_untracked() {
                    field.set_value(&edge);
                }
            }
            if refused.get_untracked() {
                refused.set(false);
                page.notice.set(String::new());
            }
        }
    };
    let invalid = move || refused.get().then_some("true");
    view! {
        <form class="range" on:submit=apply on:focusout=restore>
            <input
                class="figure"
                node_ref=from
                aria-label="Range from, UTC"
                aria-invalid=invalid
                title="Range from (UTC): a time of this day, or a full time"
                spellcheck="false"
                autocomplete="off"
                prop:value=move || edge(|range| &range.from)
            />
            <Timeline/>
            <input
                class="figure"
                node_ref=to
                aria-label="Range to, UTC"
                aria-invalid=invalid
                title="Range to (UTC): a time of this day, or a full time"
                spellcheck="false"
                autocomplete="off"
                prop:value=move || edge(|range| &range.to)
            />
            <button type="submit" class="sr-only">"Play this range"</button>
        </form>
    }
}
