//! The timeline: activity as the store counts it, the playhead over it, a loop by drag, zoom from a day to milliseconds.

use std::cell::Cell;
use std::rc::Rc;

use leptos::ev;
use leptos::prelude::*;

use super::page::Page;
use crate::link::{Command, Range, TimelineView};
use crate::units::Moment;
use crate::view::keys::Action;
use crate::view::timeline::{self, BOX_HEIGHT, BOX_WIDTH, PAN, Picture, ZOOM};
use crate::view::track::{Track, percent};
use crate::view::{clock, places};
use crate::web::dom;
use crate::web::paint::{Mark, Shares};

/// Labels at most under the track.
const LABELS: usize = 9;
/// A pointer that moved less, of the width, was a click.
const CLICK: f64 = 0.005;

/// The track between the ends of the range.
#[component]
pub fn Timeline() -> impl IntoView {
    let page = Page::get();
    let whole = page.select(|state| state.range.as_ref().and_then(Track::of_range));
    let zoom = page.zoom;
    // Another range is shown whole.
    Effect::new(move |_| {
        whole.get();
        zoom.set(None);
    });
    let shown = Memo::new(move |_| zoom.with(|zoom| zoom.as_ref().and_then(Track::of_range)).or_else(|| whole.get()));
    Effect::new(move |_| {
        let zoom = zoom.get();
        let open = whole.get().is_some();
        let view = TimelineView { from: zoom.as_ref().map(|range| range.from.clone()), to: zoom.map(|range| range.to) };
        page.show_timeline(open.then_some(view));
    });
    let button = move |action: Action, sign: &'static str| {
        view! {
            <button
                type="button"
                aria-label=action.label()
                title=action.tooltip()
                prop:disabled=move || if action == Action::ZoomIn { whole.get().is_none() } else { zoom.with(Option::is_none) }
                on:click=move |_| page.act(action)
            >
                {sign}
            </button>
        }
    };
    view! {
        <div class="timeline">
            <TrackBar shown/>
            <div class="zoom" on:mousedown=move |event| dom::keep_focus(&event)>
                {button(Action::ZoomIn, "+")}
                {button(Action::ZoomOut, "−")}
                {button(Action::ZoomWhole, "All")}
            </div>
        </div>
    }
}

/// What the busiest bar holds, or why there are no bars.
#[component]
pub fn Peak() -> impl IntoView {
    let page = Page::get();
    let open = page.select(|state| state.range.is_some());
    let summary = move || page.histogram.with(|histogram| histogram.as_ref().map(timeline::summary).unwrap_or_default());
    // What was counted of a place that is left says nothing of where none is open.
    let text = Memo::new(move |_| if open.get() { summary() } else { String::new() });
    view! { <span class="peak figure label" hidden=move || text.with(String::is_empty)>{text}</span> }
}

#[component]
fn TrackBar(shown: Memo<Option<Track>>) -> impl IntoView {
    let page = Page::get();
    let root = NodeRef::<leptos::html::Div>::new();
    let painted = Rc::new(Cell::new(None));
    let shared = Rc::clone(&painted);
    Effect::new(move |_| shared.set(shown.get()));
    root.on_load(move |root| {
        let mut places = Shares::places(&root, ".playhead");
        let mut outside = Mark::all(&root, ".playhead", "data-outside");
        page.frames().add_painter(move |frame| {
            if let Some(track) = painted.get() {
                let track: Track = track;
                let time = frame.as_of.time;
                places.set(0, track.fraction(time));
                for mark in &mut outside {
                    mark.set((time < track.from() || time >= track.to()).then_some(""));
                }
            }
        });
        // A wheel that turned here is not to scroll the page; only a listener that is not passive can say so.
        let wheel = root.clone();
        dom::on_wheel(&root, move |event| {
            let around = dom::fraction_at(&wheel, f64::from(event.client_x()));
            if event.delta_x().abs() > event.delta_y().abs() || event.shift_key() {
                page.pan(if event.delta_x() + event.delta_y() > 0.0 { PAN } else { -PAN });
            } else if event.delta_y() != 0.0 {
                page.zoom_by(around, if event.delta_y() < 0.0 { ZOOM } else { 1.0 / ZOOM });
            }
        });
    });
    let bounds = page.select(timeline::bounds);
    let picture = Memo::new(move |_| {
        let (Some(track), bounds) = (shown.get(), bounds.get()) else { return Picture::default() };
        page.histogram.with(|histogram| histogram.as_ref().map(|histogram| timeline::picture(histogram, track, bounds))).unwrap_or_default()
    });

    // Under the pointer, and where it was pressed.
    let pointed = RwSignal::new(None::<f64>);
    let pressed = RwSignal::new(None::<f64>);
    let point = move |event: &ev::PointerEvent| pointed.set(dom::fraction_across(event));
    let down = move |event: ev::PointerEvent| {
        if event.button() == 0 {
            dom::capture_pointer(&event);
            pressed.set(dom::fraction_across(&event));
            point(&event);
        }
    };
    let up = move |event: ev::PointerEvent| {
        let (Some(start), Some(end), Some(track)) = (pressed.get_untracked(), dom::fraction_across(&event), shown.get_untracked()) else { return };
        pressed.set(None);
        if (end - start).abs() < CLICK {
            page.send(&Command::Seek(track.at(end).to_string()));
        } else {
            let (left, right) = (track.at(start.min(end)), track.at(start.max(end)));
            page.send(&Command::Loop(Some(Range { from: left.to_string(), to: right.to_string() })));
        }
    };
    let dragged = move || {
        let (start, end) = (pressed.get()?, pointed.get()?);
        ((end - start).abs() >= CLICK).then(|| (start.min(end), start.max(end)))
    };
    let looped = page.select(|state| state.looped.clone());
    let loop_shares = move || {
        let (range, track) = (looped.get()?, shown.get()?);
        let range = Track::of_range(&range)?;
        Some((track.fraction(range.from()), track.fraction(range.to())))
    };
    let stretch = move || dragged().or_else(loop_shares);
    let target = page.select(|state| state.seeking.as_ref().and_then(|seeking| seeking.parse::<Moment>().ok()));
    let target_fraction = move || target.get().zip(shown.get()).map(|(moment, track)| track.fraction(moment.time));
    let label = move || {
        let (fraction, track) = pointed.get().zip(shown.get())?;
        let time = track.at(fraction);
        let rows = page.histogram.with(|histogram| histogram.as_ref().and_then(|histogram| timeline::under_pointer(histogram, time)));
        let rows = rows.map(|rows| format!(" · {rows}")).unwrap_or_default();
        Some(format!("{}{rows}", clock::time(time)))
    };
    let value_text = page.select(places::as_of_text);
    let ticks = move || {
        let labels = shown.get().map(|track| track.ticks(LABELS)).unwrap_or_default();
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
            aria-description=move || page.histogram.with(|histogram| histogram.as_ref().map(timeline::summary).unwrap_or_default())
            data-busy=move || page.histogram.with(|histogram| histogram.as_ref().is_none_or(|histogram| histogram.loading)).then_some("")
            data-held=move || pressed.with(Option::is_some).then_some("")
            on:pointerdown=down
            on:pointermove=move |event| point(&event)
            on:pointerup=up
            on:pointercancel=move |_| pressed.set(None)
            on:pointerleave=move |_| if pressed.with_untracked(Option::is_none) { pointed.set(None) }
        >
            <svg class="activity" viewBox=format!("0 0 {BOX_WIDTH} {BOX_HEIGHT}") preserveAspectRatio="none" aria-hidden="true">
                <path class="bars" d=move || picture.with(|picture| picture.bars.clone())></path>
            </svg>
            <i class="gaps" hidden=move || picture.with(|picture| picture.gaps.is_empty()) style:clip-path=move || picture.with(|picture| picture.gaps.clone())></i>
            <div class="ticks figure" aria-hidden="true">{ticks}</div>
            <i
                class="loop"
                hidden=move || stretch().is_none()
                style:left=move || percent(stretch().map_or(0.0, |(from, _)| from))
                style:width=move || percent(stretch().map_or(0.0, |(from, to)| to - from))
            ></i>
            <i class="target" hidden=move || target_fraction().is_none() style:left=move || percent(target_fraction().unwrap_or(0.0))></i>
            <i class="playhead" hidden=move || shown.get().is_none()></i>
            <span class="pointed figure" hidden=move || label().is_none() style=("--at", move || percent(pointed.get().unwrap_or(0.0)))>{move || label().unwrap_or_default()}</span>
        </div>
    }
}
