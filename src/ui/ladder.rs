//! The ladder panel: a real table whose cells the frame loop writes, and what is said in place of a book.

use std::cell::Cell;
use std::rc::Rc;

use leptos::prelude::*;

use super::icons::{self, Icon};
use super::page::Page;
use crate::units::Aggressor;
use crate::view::keys::Action;
use crate::view::ladder::{LEVELS, Ladder, Row, Touch};
use crate::view::{places, wording};
use crate::web::dom;
use crate::web::paint::{HtmlElement, Mark, Shares, Texts};

/// Book of the open instrument.
#[component]
pub fn LadderPanel() -> impl IntoView {
    let page = Page::get();
    let panel = NodeRef::<leptos::html::Section>::new();
    let scroll = NodeRef::<leptos::html::Div>::new();
    let touch = NodeRef::<leptos::html::Tr>::new();

    // Another instrument has other decimals; the ladder starts over with the first picture of it.
    let opened = page.select(|state| (state.source.clone(), state.table.clone(), state.symbols.clone()));
    let reset = Rc::new(Cell::new(false));
    let at_open = Rc::clone(&reset);
    Effect::new(move |_| {
        opened.track();
        at_open.set(true);
    });
    panel.on_load(move |panel| {
        let mut ladder = Ladder::default();
        let mut cells = Cells::within(&panel);
        page.frames().add_painter(move |frame| {
            if reset.take() {
                ladder = Ladder::default();
            }
            ladder.update(frame);
            cells.paint(&ladder, frame.flags.loading);
        });
    });

    // The spread stays in the middle until the user scrolls, and again once it is asked for.
    let centring = StoredValue::new_local(None::<dom::Centring>);
    scroll.on_load(move |scroll| {
        if let Some(touch) = touch.get_untracked() {
            centring.set_value(dom::Centring::keep(&scroll, &touch));
        }
    });
    Effect::new(move |_| {
        if page.centre.get() > 0 {
            centring.with_value(|centring| centring.iter().for_each(dom::Centring::again));
        }
    });

    let loading = page.select(|state| matches!(state.status, crate::link::Status::Loading | crate::link::Status::Connecting));
    view! {
        <section class="panel ladder" aria-label="Order book" node_ref=panel data-busy=move || (loading.get() && page.failure.with(Option::is_none)).then_some("")>
            <header>
                <h2>"Order book"</h2>
                <span class="caution" data-caution></span>
                <button type="button" class="tool" aria-label=Action::Centre.label() title=Action::Centre.tooltip() on:click=move |_| page.act(Action::Centre)>
                    <Icon path=icons::CENTRE/>
                </button>
            </header>
            <div class="scroll" node_ref=scroll tabindex="0" aria-label="Levels">
                <table>
                    <caption class="sr-only">"Asks above the spread, bids below it, best prices in the middle"</caption>
                    <thead>
                        <tr>
                            <th scope="col" class="orders">"orders"</th>
                            <th scope="col" class="bid">"bid size"</th>
                            <th scope="col" class="price">"price"</th>
                            <th scope="col" class="ask">"ask size"</th>
                            <th scope="col" class="orders">"orders"</th>
                        </tr>
                    </thead>
                    <tbody class="asks">{(1..=LEVELS).rev().map(|level| view! { <AskRow level/> }).collect_view()}</tbody>
                    <tbody class="touch">
                        <tr node_ref=touch>
                            <td colspan="5">
                                <div>
                                    <span class="spread" data-spread></span>
                                    <span class="label">"last"</span>
                                    <span class="trade figure" data-trade></span>
                                    <span class="at figure" data-trade-time></span>
                                </div>
                            </td>
                        </tr>
                    </tbody>
                    <tbody class="bids">{(1..=LEVELS).map(|level| view! { <BidRow level/> }).collect_view()}</tbody>
                </table>
            </div>
            <InPlaceOfABook/>
        </section>
    }
}

#[component]
fn AskRow(level: usize) -> impl IntoView {
    view! {
        <tr data-side="ask" data-level=level>
            <td></td>
            <td></td>
            <th scope="row" class="price figure"><span class="head"></span><span class="tail"></span></th>
            <td class="size figure"><i class="bar"></i><span></span></td>
            <td class="orders figure"></td>
        </tr>
    }
}

#[component]
fn BidRow(level: usize) -> impl IntoView {
    view! {
        <tr data-side="bid" data-level=level>
            <td class="orders figure"></td>
            <td class="size figure"><i class="bar"></i><span></span></td>
            <th scope="row" class="price figure"><span class="head"></span><span class="tail"></span></th>
            <td></td>
            <td></td>
        </tr>
    }
}

/// The cells of one side; index 0 is the first row of the document.
struct Side {
    heads: Texts,
    tails: Texts,
    sizes: Texts,
    orders: Texts,
    bars: Shares,
}

impl Side {
    fn within(panel: &HtmlElement, side: &str) -> Side {
        let cells = |part: &str| Texts::within(panel, &[side, part].concat());
        Side {
            heads: cells(" .head"),
            tails: cells(" .tail"),
            sizes: cells(" .size span"),
            orders: cells(" .orders"),
            bars: Shares::bars(panel, &[side, " .bar"].concat()),
        }
    }

    fn paint(&mut self, index: usize, row: &Row) {
        self.heads.set(index, &row.price_head);
        self.tails.set(index, &row.price_tail);
        self.sizes.set(index, &row.size);
        self.orders.set(index, &row.orders);
        self.bars.set(index, row.bar);
    }
}

struct Cells {
    asks: Side,
    bids: Side,
    spread: Texts,
    trade: Texts,
    trade_time: Texts,
    caution: Texts,
    touch: Mark,
    aggressor: Mark,
    loading: Mark,
}

impl Cells {
    fn within(panel: &HtmlElement) -> Cells {
        Cells {
            asks: Side::within(panel, ".asks"),
            bids: Side::within(panel, ".bids"),
            spread: Texts::within(panel, "[data-spread]"),
            trade: Texts::within(panel, "[data-trade]"),
            trade_time: Texts::within(panel, "[data-trade-time]"),
            caution: Texts::within(panel, "[data-caution]"),
            touch: Mark::of(panel, "data-touch"),
            aggressor: Mark::of(panel, "data-aggressor"),
            loading: Mark::of(panel, "data-loading"),
        }
    }

    fn paint(&mut self, ladder: &Ladder, loading: bool) {
        // The document's order is from far to near for asks, from near to far for bids.
        for (index, row) in ladder.asks.iter().rev().enumerate() {
            self.asks.paint(index, row);
        }
        for (index, row) in ladder.bids.iter().enumerate() {
            self.bids.paint(index, row);
        }
        self.spread.set(0, &ladder.spread);
        self.trade.set(0, &ladder.last_trade);
        self.trade_time.set(0, &ladder.last_trade_time);
        self.caution.set(0, &ladder.caution);
        self.touch.set(match ladder.touch {
            Touch::Apart => None,
            Touch::Locked => Some("locked"),
            Touch::Crossed => Some("crossed"),
        });
        self.aggressor.set(match ladder.aggressor {
            Aggressor::None => None,
            Aggressor::Buy => Some("buy"),
            Aggressor::Sell => Some("sell"),
        });
        self.loading.set(loading.then_some(""));
    }
}

/// What stands over the empty rows when there is no book: why, and what can be done.
#[component]
fn InPlaceOfABook() -> impl IntoView {
    let page = Page::get();
    let empty = page.select(|state| {
        wording::is_empty_range(state).then(|| (wording::empty_range(state.range.as_ref()), wording::nearest_data(&state.catalogue.nearest)))
    });
    let no_book = page.select(|state| {
        let unread = wording::no_book(state).map(|reason| (wording::no_book_title(state), reason.to_owned(), false));
        // Such a table still has a last price.
        unread.or_else(|| wording::without_book(state).map(|(title, text)| (title.to_owned(), text.to_owned(), true)))
    });
    let importing = page.select(|state| wording::importing(state).map(|error| (error.what.clone(), error.todo.clone(), false)));
    let go = move |time| page.send(&page.state.with_untracked(|state| places::go_to(state, crate::units::Moment::end_of(time))));
    move || {
        if let Some((title, text, last)) = no_book.get().or_else(|| importing.get()) {
            return view! {
                <div class="card" role="note" data-last=last.then_some("")>
                    <h3>{title}</h3>
                    <p>{text}</p>
                </div>
            }
            .into_any();
        }
        if let Some((message, buttons)) = empty.get() {
            let buttons =
                buttons.into_iter().map(|(label, time)| view! { <button type="button" class="wide" on:click=move |_| go(time)>{label}</button> });
            return view! {
                <div class="card" role="note">
                    <h3>{message}</h3>
                    <p class="actions">{buttons.collect_view()}</p>
                </div>
            }
            .into_any();
        }
        ().into_any()
    }
}
