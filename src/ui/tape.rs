//! Time and sales: a real table whose rows show the part of the tape that is scrolled to.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::ev;
use leptos::prelude::*;

use super::page::Page;
use crate::link::Command;
use crate::view::tape::{HEAD_PIXELS, LINES, Tape};
use crate::web::dom;
use crate::web::paint::{Mark, Texts};

/// The trades of the open instrument, newest first.
#[component]
pub fn TapePanel() -> impl IntoView {
    let page = Page::get();
    let tape = StoredValue::new_local(Rc::new(RefCell::new(Tape::default())));
    let painter = StoredValue::new_local(None::<Lines>);
    let scroll = NodeRef::<leptos::html::Div>::new();
    let said = RwSignal::new(Said::default());
    let refusal = RwSignal::new(String::new());

    // Changes the tape, shows what came of it, and says which trades are wanted now. The element that scrolls is moved only where the
    // tape itself moved: where the user scrolls to is for the browser to say.
    let with_tape = move |change: &mut dyn FnMut(&mut Tape) -> bool| {
        let shared = tape.get_value();
        let mut tape = shared.borrow_mut();
        let before = tape.pixels();
        let shown = change(&mut tape);
        if shown {
            painter.update_value(|lines| lines.iter_mut().for_each(|lines| lines.paint(&tape)));
        }
        let now = Said::of(&tape);
        // A signal that is set to what it is would still wake what listens.
        if said.with_untracked(|said| *said != now) {
            said.set(now);
        }
        page.show_tape(tape.view());
        let to = tape.pixels();
        drop(tape);
        if to != before {
            return Some(to);
        }
        None
    };
    let stand = move |at: Option<f64>| {
        if let (Some(at), Some(element)) = (at, scroll.get_untracked()) {
            element.set_scroll_top(at.round() as i32);
        }
    };
    let opened = page.select(|state| (state.source.clone(), state.table.clone(), state.symbols.clone(), state.range.clone()));
    page.on_tape(move |rows| {
        let mut rows = Some(rows);
        stand(with_tape(&mut |tape| rows.take().is_some_and(|rows| tape.take(rows))));
    });
    Effect::new(move |_| {
        opened.track();
        stand(with_tape(&mut |tape| {
            tape.reset();
            true
        }));
    });
    scroll.on_load(move |element| {
        painter.set_value(Some(Lines::within(&element)));
        let window = element.clone();
        dom::on_resize(&element, move || {
            let height = f64::from(window.client_height());
            with_tape(&mut |tape| {
                tape.resize(height);
                true
            });
        });
    });
    let on_scroll = move |_: ev::Event| {
        if let Some(element) = scroll.get_untracked() {
            let at = f64::from(element.scroll_top());
            with_tape(&mut |tape| {
                tape.scroll(at);
                true
            });
        }
    };
    let to_newest = move |_| {
        stand(with_tape(&mut |tape| {
            tape.follow();
            true
        }));
    };
    let filter = move |event: ev::Event| {
        let typed = event_target_value(&event);
        stand(with_tape(&mut |tape| {
            refusal.set(tape.filter(&typed).err().unwrap_or_default());
            true
        }));
    };
    let trade_of = move |line: usize| tape.with_value(|tape| tape.borrow().seek(line));
    // The trade that was pressed, which may be in another row when the pointer is released.
    let pressed = StoredValue::new(None);
    let press = move |event: ev::PointerEvent| pressed.set_value(dom::row_of(&event).and_then(trade_of));
    let go = move |command: Option<Command>| {
        if let Some(command) = command {
            page.send(&command);
        }
    };
    let on_key = move |event: ev::KeyboardEvent| {
        let Some(line) = dom::row_of(&event) else { return };
        if event.key() == "Enter" {
            event.prevent_default();
            return go(trade_of(line));
        }
        let mut to = None;
        let at = with_tape(&mut |tape| {
            to = tape.key(&event.key(), line);
            to.is_some()
        });
        if let Some(to) = to {
            stand(at);
            dom::focus_row(&event, to);
            // The page has another use for Home and End.
            event.prevent_default();
            event.stop_propagation();
        }
    };
    let away = move || said.with(|said| said.newer.is_some());
    let rows = (0..LINES).map(|line| {
        view! {
            <tr data-line=line tabindex=if line == 0 { "0" } else { "-1" }>
                <td class="time figure"></td>
                <td class="mark"></td>
                <td class="price figure"><span class="head"></span><span class="tail"></span></td>
                <td class="size figure"></td>
            </tr>
        }
    });
    view! {
        <section class="panel tape" aria-label="Time and sales" data-busy=move || said.with(|said| said.busy).then_some("")>
            <header>
                <h2>"Time & sales"</h2>
                <span class="label figure tally" title="Trades up to the moment shown, of those in the range" hidden=away>{move || said.with(|said| said.tally.clone())}</span>
                <button
                    type="button"
                    class="newer"
                    title="Newer trades above these lines, which stand still: back to the newest"
                    hidden=move || !away()
                    on:mousedown=move |event| dom::keep_focus(&event)
                    on:click=to_newest
                >
                    {move || said.with(|said| said.newer.clone().unwrap_or_default())}
                    " ▲"
                </button>
                <span class="gap"></span>
                <label class="least">
                    <span class="label">"size ≥"</span>
                    <input
                        class="figure"
                        aria-label="Smallest size shown"
                        aria-invalid=move || (!refusal.with(String::is_empty)).to_string()
                        title="Only trades of this size or more"
                        placeholder="any"
                        size="6"
                        spellcheck="false"
                        autocomplete="off"
                        on:change=filter
                    />
                </label>
            </header>
            <p class="refusal" role="alert" hidden=move || refusal.with(String::is_empty)>{refusal}</p>
            <div class="scroll" node_ref=scroll on:scroll=on_scroll>
                <div class="run" style:height=move || format!("{}px", said.with(|said| said.height) + HEAD_PIXELS)>
                    <div class="window">
                        <table>
                            <thead>
                                <tr>
                                    <th scope="col" class="time">"time, UTC"</th>
                                    <th scope="col"><span class="sr-only">"Aggressor"</span></th>
                                    <th scope="col" class="price">"price"</th>
                                    <th scope="col" class="size">"size"</th>
                                </tr>
                            </thead>
                            <tbody
                                on:pointerdown=press
                                on:click=move |_| go(pressed.get_value())
                                on:keydown=on_key
                            >
                                {rows.collect_view()}
                            </tbody>
                        </table>
                    </div>
                </div>
            </div>
            <p class="nothing label" hidden=move || said.with(|said| said.note.is_none())>{move || said.with(|said| said.note.clone().unwrap_or_default())}</p>
        </section>
    }
}

/// What stands around the lines.
#[derive(Clone, PartialEq, Default)]
struct Said {
    tally: String,
    note: Option<String>,
    newer: Option<String>,
    busy: bool,
    height: f64,
}

impl Said {
    fn of(tape: &Tape) -> Said {
        Said { tally: tape.tally(), note: tape.note(), newer: tape.newer(), busy: tape.loading(), height: tape.height() }
    }
}

/// The cells of the table.
struct Lines {
    times: Texts,
    marks: Texts,
    heads: Texts,
    tails: Texts,
    sizes: Texts,
    sides: Vec<Mark>,
}

impl Lines {
    fn within(panel: &impl AsRef<crate::web::paint::Element>) -> Lines {
        let cells = |part: &str| Texts::within(panel, &["tbody ", part].concat());
        Lines {
            times: cells(".time"),
            marks: cells(".mark"),
            heads: cells(".price .head"),
            tails: cells(".price .tail"),
            sizes: cells(".size"),
            sides: Mark::all(panel, "tbody tr", "data-side"),
        }
    }

    fn paint(&mut self, tape: &Tape) {
        let mut lines = tape.lines();
        lines.resize_with(LINES, Default::default);
        for (index, line) in lines.iter().enumerate() {
            self.times.set(index, &line.time);
            self.marks.set(index, line.mark);
            self.heads.set(index, &line.price_head);
            self.tails.set(index, &line.price_tail);
            self.sizes.set(index, &line.size);
            if let Some(side) = self.sides.get_mut(index) {
                side.set((!line.time.is_empty()).then_some(line.side));
            }
        }
    }
}
