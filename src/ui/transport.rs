//! The transport: playback buttons, speed, the range and its playhead.

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::prelude::*;

use super::icons::{self, Icon};
use super::page::Page;
use crate::link::{Command, Range, Speed, Status};
use crate::units::UnixNanos;
use crate::view::keys::{Action, speed_label};
use crate::view::track::{Track, percent};
use crate::view::{clock, places, wording};
use crate::web::dom;
use crate::web::paint::{Shares, Texts};

/// The bar below the panels.
#[component]
pub fn Transport() -> impl IntoView {
    let page = Page::get();
    let playing = page.select(|state| matches!(state.status, Status::Playing | Status::Following));
    let seeking = page.select(|state| state.seeking.clone());
    let loading = page.select(|state| state.status == Status::Loading);
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
                        on:click=move |_| page.act(Action::PlayPause)
                    >
                        <Icon path=Signal::derive(move || if playing.get() { icons::PAUSE } else { icons::PLAY })/>
                    </button>
                    <ActionButton action=Action::StepForward icon=icons::STEP_FORWARD/>
                    <ActionButton action=Action::End icon=icons::END/>
                </div>
                <SpeedPicker/>
                <button type="button" class="wide" title=Action::GoTo.tooltip() on:click=move |_| page.act(Action::GoTo)>"Go to…"</button>
                <TieNote/>
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
    view! {
        <button type="button" aria-label=action.label() title=action.tooltip() on:click=move |_| page.act(action)>
            <Icon path=icon/>
        </button>
    }
}

#[component]
fn SpeedPicker() -> impl IntoView {
    let page = Page::get();
    let speed = page.select(|state| state.speed);
    let options = move || {
        page.refusals.get();
        let open = speed.get();
        // A speed set by a script need not be one of the steps.
        let other = (!Speed::STEPS.contains(&open)).then_some(open);
        let option = move |step: Speed| view! { <option value=speed_label(step) prop:selected={step == open}>{speed_label(step)}</option> };
        Speed::STEPS.into_iter().chain(other).map(option).collect_view()
    };
    let pick = move |event: ev::Event| {
        let label = event_target_value(&event);
        if let Some(step) = Speed::STEPS.into_iter().find(|step| speed_label(*step) == label) {
            page.send(&Command::Speed(step));
        }
        dom::blur(&event);
    };
    view! { <select class="picker speed figure" aria-label="Speed" title="Market time per wall time" on:change=pick>{options}</select> }
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
    let apply = move |event: ev::SubmitEvent| {
        event.prevent_default();
        let (Some(from), Some(to)) = (from.get_untracked(), to.get_untracked()) else { return };
        match page.state.with_untracked(|state| places::range(state, &from.value(), &to.value())) {
            Ok(command) => {
                page.send(&command);
                // Back to where single keys work.
                dom::leave(&from);
                dom::leave(&to);
            }
            Err(refusal) => page.notice.set(refusal),
        }
    };
    view! {
        <form class="range" on:submit=apply>
            <input
                class="figure"
                node_ref=from
                aria-label="Range from, UTC"
                title="Range from (UTC): a time of this day, or a full time"
                spellcheck="false"
                autocomplete="off"
                prop:value=move || edge(|range| &range.from)
            />
            <TrackBar/>
            <input
                class="figure"
                node_ref=to
                aria-label="Range to, UTC"
                title="Range to (UTC): a time of this day, or a full time"
                spellcheck="false"
                autocomplete="off"
                prop:value=move || edge(|range| &range.to)
            />
            <button type="submit" class="sr-only">"Play this range"</button>
        </form>
    }
}

/// Labels at most under the track.
const LABELS: usize = 9;

#[component]
fn TrackBar() -> impl IntoView {
    let page = Page::get();
    let track = page.select(|state| state.range.as_ref().and_then(Track::of_range));
    let root = NodeRef::<leptos::html::Div>::new();
    let painted_track = Rc::new(Cell::new(None));
    let shared = Rc::clone(&painted_track);
    Effect::new(move |_| shared.set(track.get()));
    root.on_load(move |root| {
        let mut places = Shares::places(&root, ".playhead");
        let mut done = Shares::bars(&root, ".done");
        page.frames().add_painter(move |frame| {
            if let Some(track) = painted_track.get() {
                let fraction = Track::fraction(track, frame.as_of.time);
                places.set(0, fraction);
                done.set(0, fraction);
            }
        });
    });

    // Under the pointer, and whether it is held.
    let pointed = RwSignal::new(None::<f64>);
    let held = RwSignal::new(false);
    let point = move |event: &ev::PointerEvent| pointed.set(dom::fraction_across(event));
    let down = move |event: ev::PointerEvent| {
        if event.button() == 0 {
            dom::capture_pointer(&event);
            held.set(true);
            point(&event);
        }
    };
    let up = move |event: ev::PointerEvent| {
        if held.get_untracked() {
            held.set(false);
            let target = dom::fraction_across(&event).and_then(|fraction| track.get_untracked().map(|track| track.at(fraction)));
            if let Some(target) = target {
                page.send(&Command::Seek(target.to_string()));
            }
        }
    };
    let target = page.select(|state| state.seeking.as_ref().and_then(|seeking| seeking.parse::<crate::units::Moment>().ok()));
    let target_fraction = move || target.get().zip(track.get()).map(|(moment, track)| track.fraction(moment.time));
    let label = move || pointed.get().zip(track.get()).map(|(fraction, track)| clock::time(track.at(fraction)));
    let value_text = page.select(places::as_of_text);
    let ticks = move || {
        let labels = track.get().map(|track| track.ticks(LABELS)).unwrap_or_default();
        labels.into_iter().map(|tick| view! { <span class="tick" style:left=percent(tick.fraction)>{tick.label}</span> }).collect_view()
    };
    view! {
        <div
            class="track"
            node_ref=root
            role="slider"
            tabindex="0"
            aria-label="Playhead"
            aria-valuemin="0"
            aria-valuemax="100"
            aria-valuenow=move || value_text.with(|(percent, _)| percent.to_string())
            aria-valuetext=move || value_text.with(|(_, text)| text.clone())
            data-held=move || held.get().then_some("")
            on:pointerdown=down
            on:pointermove=move |event| point(&event)
            on:pointerup=up
            on:pointercancel=move |_| held.set(false)
            on:pointerleave=move |_| if !held.get_untracked() { pointed.set(None) }
        >
            <div class="rail"><i class="done"></i></div>
            <div class="ticks figure" aria-hidden="true">{ticks}</div>
            <i class="target" hidden=move || target_fraction().is_none() style:left=move || percent(target_fraction().unwrap_or(0.0))></i>
            <i class="playhead" hidden=move || track.get().is_none()></i>
            <span class="pointed figure" hidden=move || label().is_none() style=("--at", move || percent(pointed.get().unwrap_or(0.0)))>{move || label().unwrap_or_default()}</span>
        </div>
    }
}
