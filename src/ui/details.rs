//! The details panel: how the table is read, what was found in it, totals, and the digest of the book on screen.

use leptos::prelude::*;

use super::page::Page;
use crate::view::counters::{Gauge, STATUS_BAR, TOTALS};
use crate::view::{details, numbers};
use crate::web::dom;
use crate::web::paint::Texts;

/// Source, binding, quality, totals.
#[component]
pub fn Details() -> impl IntoView {
    view! {
        <section class="panel details" aria-label="Details" tabindex="0">
            <div class="columns">
                <div class="column">
                    <BookFacts/>
                    <Findings/>
                    <Totals/>
                </div>
                <div class="column">
                    <SourceFacts/>
                    <Roles/>
                    <Statement/>
                </div>
            </div>
        </section>
    }
}

/// Terms and what they are here.
#[component]
fn Facts(facts: Memo<Vec<details::Fact>>) -> impl IntoView {
    let rows = move || {
        facts.get().into_iter().map(|fact| view! { <div data-remarkable=fact.remarkable.then_some("") title=fact.help><dt>{fact.term}</dt><dd class="figure">{fact.value}</dd></div> }).collect_view()
    };
    view! { <dl class="facts">{rows}</dl> }
}

#[component]
fn BookFacts() -> impl IntoView {
    let page = Page::get();
    // The digest with the moment that it is of; another moment has another.
    let digest = RwSignal::new(None::<(String, String)>);
    let as_of = page.select(|state| state.as_of.clone().unwrap_or_default());
    let current = move || digest.get().filter(|(of, _)| *of == as_of.get()).map(|(_, digest)| digest);
    let no_book = page.select(|state| state.book.is_none());
    let compute = move |_| {
        page.with_digest(move |result| match result {
            Ok(state) => digest.set(state.book.as_ref().map(|book| (state.as_of.clone().unwrap_or_default(), book.digest.clone()))),
            Err(refusal) => page.notice.set(refusal),
        });
    };
    view! {
        <h2>"Book"</h2>
        <Facts facts=page.select(details::book)/>
        <EventsApplied/>
        <p class="digest">
            <span class="label">"Digest"</span>
            {move || match current() {
                Some(digest) => {
                    let text = digest.clone();
                    view! { <code class="figure">{digest}</code><CopyButton text=Signal::derive(move || text.clone())/> }.into_any()
                }
                None => view! { <button type="button" class="wide" title=details::DIGEST_HELP prop:disabled=move || no_book.get() on:click=compute>"Compute"</button> }.into_any(),
            }}
        </p>
    }
}

/// How many events of the range are in the book on screen; painted with it.
#[component]
fn EventsApplied() -> impl IntoView {
    let page = Page::get();
    let root = NodeRef::<leptos::html::Dl>::new();
    root.on_load(move |root| {
        let mut text = Texts::within(&root, "dd");
        page.frames().add_painter(move |frame| text.set(0, &numbers::count(frame.events)));
    });
    view! {
        <dl class="facts" node_ref=root>
            <div title=details::EVENTS_HELP><dt>"Events of the range"</dt><dd class="figure">{numbers::UNKNOWN}</dd></div>
        </dl>
    }
}

#[component]
fn Findings() -> impl IntoView {
    let page = Page::get();
    view! { <h2>"Findings"</h2> <Facts facts=page.select(|state| details::findings(&state.quality))/> }
}

/// All counters: the totals, and those of the status bar, which shows as many as it has room for.
#[component]
fn Totals() -> impl IntoView {
    let page = Page::get();
    let row = move |gauge: &'static Gauge| {
        let figure = Memo::new(move |_| page.counters.with(|counters| (gauge.show)(counters, page.painted.get())));
        view! { <div title=gauge.tooltip()><dt>{gauge.label}</dt><dd class="figure">{figure}</dd></div> }
    };
    view! {
        <h2>"Counters"</h2>
        <dl class="facts">{TOTALS.iter().map(row).collect_view()}</dl>
        <dl class="facts two">{STATUS_BAR.iter().map(row).collect_view()}</dl>
    }
}

#[component]
fn SourceFacts() -> impl IntoView {
    let page = Page::get();
    view! { <h2>"Source and binding"</h2> <Facts facts=page.select(details::source)/> }
}

#[component]
fn Roles() -> impl IntoView {
    let page = Page::get();
    let roles = page.select(details::roles);
    let rows = move || {
        roles.get().into_iter().map(|(role, column)| view! { <tr><th scope="row">{role}</th><td class="figure">{column}</td></tr> }).collect_view()
    };
    view! {
        <table class="roles" hidden=move || roles.with(Vec::is_empty)>
            <caption>"Columns by role"</caption>
            <thead class="sr-only"><tr><th scope="col">"Role"</th><th scope="col">"Column"</th></tr></thead>
            <tbody>{rows}</tbody>
        </table>
    }
}

#[component]
fn Statement() -> impl IntoView {
    let page = Page::get();
    let sql = page.select(|state| state.sql.clone().unwrap_or_default());
    view! {
        <div class="statement" hidden=move || sql.with(String::is_empty)>
            <p class="head"><span class="label">"Last statement for rows"</span><CopyButton text=Signal::derive(move || sql.get())/></p>
            <pre class="figure">{sql}</pre>
        </div>
    }
}

/// Copies a text and says so.
#[component]
pub fn CopyButton(text: Signal<String>) -> impl IntoView {
    let page = Page::get();
    let copied = RwSignal::new(None::<bool>);
    let copy = move |_| {
        let (window, text) = (page.window(), text.get_untracked());
        dom::spawn(async move {
            let done = dom::copy(&window, &text).await;
            // The component may be gone by now.
            let _ = copied.try_set(Some(done));
            dom::sleep(&window, 1_500).await;
            let _ = copied.try_set(None);
        });
    };
    let label = move || match copied.get() {
        None => "Copy",
        Some(true) => "Copied",
        Some(false) => "Not allowed",
    };
    view! { <button type="button" class="wide copy" on:click=copy>{label}</button> }
}
