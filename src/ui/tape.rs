//! Time and sales: a real table whose rows show the part of the tape that is scrolled to.

use std::cell::RefCell;
use std::rc::Rc;

use leptos::ev;
use leptos::prelude::*;

use super::page::Page;
use crate::link::Command;
use crate::view::tape::{LINES, Tape};
use crate::web::dom;
use crate::web::paint::{Mark, Texts};

/// The trades of the open instrument, newest first.
#[component]
pub fn TapePanel() -> impl IntoView {
    let page = Page::get();
    let tape = Rc::new(RefCell::new(Tape::default()));
    let held = StoredValue::new_local(Rc::clone(&tape));
    let painter = StoredValue::new_local(None::<Rc<RefCell<Lines>>>);
    let (newer, tally, note, refusal) =
        (RwSignal::new(None::<String>), RwSignal::new(String::new()), RwSignal::new(None::<String>), RwSignal::new(String::new()));
    let busy = RwSignal::new(false);
    let height = RwSignal::new(0.0f64);
    let scroll = NodeRef::<leptos::html::Div>::new();

    let say = move |tape: &Tape| {
        // A signal that is set to what it is would still wake what listens.
        let set = |signal: RwSignal<Option<String>>, value| {
            if signal.with_untracked(|shown| *shown != value) {
                signal.set(value);
            }
        };
        set(newer, tape.newer());
        set(note, tape.note());
        if tally.with_untracked(|shown| *shown != tape.tally()) {
            tally.set(tape.tally());
        }
        if height.get_untracked() != tape.height() {
            height.set(tape.height());
        }
        if busy.get_untracked() != tape.loading() {
            busy.set(tape.loading());
        }
    };
    let paint = move |tape: &Tape| {
        if let Some(lines) = painter.get_value() {
            lines.borrow_mut().paint(tape);
        }
        say(tape);
    };
    let wish = move |tape: &Tape| page.show_tape(tape.view());

    let listened = Rc::clone(&tape);
    page.on_tape(move |rows| {
        let mut tape = listened.borrow_mut();
        let fits = tape.take(rows);
        if fits {
            paint(&tape);
        } else {
            say(&tape);
        }
        // The window may have gone back to the newest.
        wish(&tape);
        let follows = tape.follows();
        drop(tape);
        if let Some(element) = scroll.get_untracked()
            && follows
            && element.scroll_top() > 0
        {
            element.set_scroll_top(0);
        }
    });
    let opened = page.select(|state| (state.source.clone(), state.table.clone(), state.symbols.clone(), state.range.clone()));
    let reset = Rc::clone(&tape);
    Effect::new(move |_| {
        opened.track();
        let mut tape = reset.borrow_mut();
        tape.reset();
        paint(&tape);
        wish(&tape);
        if let Some(scroll) = scroll.get_untracked() {
            scroll.set_scroll_top(0);
        }
    });

    let measured = Rc::clone(&tape);
    scroll.on_load(move |element| {
        painter.set_value(Some(Rc::new(RefCell::new(Lines::within(&element)))));
        let window = element.clone();
        dom::on_resize(&element, move || {
            let mut tape = measured.borrow_mut();
            tape.resize(f64::from(window.client_height()));
            paint(&tape);
            wish(&tape);
        });
    });
    let with_tape = move |change: &mut dyn FnMut(&mut Tape)| {
        let tape = held.get_value();
        let mut tape = tape.borrow_mut();
        change(&mut tape);
        paint(&tape);
        wish(&tape);
    };
    let on_scroll = move |_: ev::Event| {
        if let Some(element) = scroll.get_untracked() {
            let (top, window) = (f64::from(element.scroll_top()), f64::from(element.client_height()));
            with_tape(&mut |tape| tape.scroll(top, window));
        }
    };
    let to_newest = move |_| {
        with_tape(&mut Tape::follow);
        if let Some(element) = scroll.get_untracked() {
            element.set_scroll_top(0);
        }
    };
    let filter = move |event: ev::Event| {
        let typed = event_target_value(&event);
        with_tape(&mut |tape| match tape.filter(&typed) {
            Ok(()) => refusal.set(String::new()),
            Err(reason) => refusal.set(reason),
        });
    };
    let command_of = move |line: usize| held.with_value(|tape| tape.borrow().click(line));
    // The trade that was pressed, which may be in another row when the pointer is released.
    let pressed = StoredValue::new(None);
    let press = move |event: ev::PointerEvent| pressed.set_value(dom::row_of(&event).and_then(command_of));
    let go = move |command: Option<Command>| {
        if let Some(command) = command {
            page.send(&command);
        }
    };
    let on_key = move |event: ev::KeyboardEvent| {
        let Some(line) = dom::row_of(&event) else { return };
        match event.key().as_str() {
            "ArrowDown" => dom::focus_row(&event, line + 1),
            "ArrowUp" if line > 0 => dom::focus_row(&event, line - 1),
            "Enter" => go(command_of(line)),
            _ => return,
        }
        event.prevent_default();
    };
    let rows = (0..LINES).map(|line| {
        view! {
            <tr data-line=line tabindex=if line == 0 { "0" } else { "-1" }>
                <td class="time figure"></td>
                <td class="mark"></td>
                <td class="price figure"></td>
                <td class="size figure"></td>
            </tr>
        }
    });
    view! {
        <section class="panel tape" aria-label="Time and sales" data-busy=move || busy.get().then_some("")>
            <header>
                <h2>"Time & sales"</h2>
                <span class="label figure tally" title="Trades up to the moment shown, of those in the range">{tally}</span>
                <label class="least">
                    <span class="label">"size ≥"</span>
                    <input
                        class="figure"
                        aria-label="Smallest size shown"
                        aria-invalid=move || (!refusal.with(String::is_empty)).to_string()
                        title=move || refusal.get()
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
                <div class="run" style:height=move || format!("calc({}px + 20px)", height.get())>
                    <div class="window">
                        <table>
                            <thead>
                                <tr>
                                    <th scope="col" class="time">"Time, UTC"</th>
                                    <th scope="col"><span class="sr-only">"Aggressor"</span></th>
                                    <th scope="col" class="price">"Price"</th>
                                    <th scope="col" class="size">"Size"</th>
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
            <p class="nothing label" hidden=move || note.with(Option::is_none)>{move || note.get().unwrap_or_default()}</p>
            <button type="button" class="newer" hidden=move || newer.with(Option::is_none) on:click=to_newest>
                {move || newer.get().unwrap_or_default()}
                " ▲"
            </button>
        </section>
    }
}

/// The cells of the table.
struct Lines {
    times: Texts,
    marks: Texts,
    prices: Texts,
    sizes: Texts,
    sides: Vec<Mark>,
}

impl Lines {
    fn within(panel: &impl AsRef<crate::web::paint::Element>) -> Lines {
        let cells = |part: &str| Texts::within(panel, &["tbody ", part].concat());
        Lines {
            times: cells(".time"),
            marks: cells(".mark"),
            prices: cells(".price"),
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
            self.prices.set(index, &line.price);
            self.sizes.set(index, &line.size);
            if let Some(side) = self.sides.get_mut(index) {
                side.set((!line.time.is_empty()).then_some(line.side));
            }
        }
    }
}
