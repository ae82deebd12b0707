//! What failed, and what the store is still importing.

use leptos::prelude::*;

use super::details::CopyButton;
use super::page::Page;
use crate::link::{Command, Status};
use crate::view::wording;

/// What failed, where, what to do, and the button that does it.
#[component]
pub fn Banner() -> impl IntoView {
    let page = Page::get();
    let error = page.error();
    let disconnected = page.select(|state| state.status == Status::Disconnected);
    let retry = page.select(|state| wording::retry(state.retry_seconds));
    let of_page = move || page.failure.with(Option::is_some);
    let again = move |_| if page.failure.with_untracked(Option::is_some) { page.restart() } else { page.send(&Command::Reconnect) };
    let again_label = move || match (of_page(), disconnected.get()) {
        (true, _) => page.failure.with(|failure| failure.as_ref().map_or("", wording::page_remedy)),
        (_, true) => "Try again now",
        _ => "Try again",
    };
    move || {
        error.get().map(|error| {
            let text = wording::error_text(&error);
            view! {
                <section class="banner" role="alert" data-code=error.code.clone()>
                    <span class="mark" aria-hidden="true">"✕"</span>
                    <div class="words">
                        <p class="what">{error.what.clone()}</p>
                        <p class="todo">{error.todo.clone()}</p>
                        <details>
                            <summary>"Details"</summary>
                            <p class="figure">{error.place.clone()}</p>
                            <p class="figure">{error.code.clone()}</p>
                            <CopyButton text=Signal::derive(move || text.clone())/>
                        </details>
                    </div>
                    <span class="retry figure">{retry}</span>
                    <button type="button" class="wide" on:click=again>{again_label}</button>
                </section>
            }
        })
    }
}

/// One line a running or failed import.
#[component]
pub fn Imports() -> impl IntoView {
    let page = Page::get();
    let imports = Memo::new(move |_| page.stores.with(|stores| stores.iter().flat_map(|store| store.importing.clone()).collect::<Vec<_>>()));
    let lines = move || {
        imports.get().into_iter().map(|import| {
            let failed = import.error.is_some();
            view! {
                <li data-failed=failed.then_some("")>
                    <span class="figure">{wording::import_line(&import)}</span>
                    {(!failed).then(|| view! { <progress max="100" value=wording::import_percent(&import) aria-label=import.table.clone()></progress> })}
                </li>
            }
        }).collect_view()
    };
    let uploads = move || {
        page.uploads.get().into_iter().map(|upload| {
            let (failed, id) = (upload.error.is_some(), upload.id);
            let line = upload.error.unwrap_or_else(|| wording::upload_line(&upload.name, upload.sent, upload.total));
            view! {
                <li data-failed=failed.then_some("")>
                    <span class="figure">{line}</span>
                    {(!failed).then(|| view! { <progress max=upload.total.to_string() value=upload.sent.to_string() aria-label=upload.name.clone()></progress> })}
                    {failed.then(|| view! { <button type="button" class="wide" on:click=move |_| page.forget_upload(id)>"Dismiss"</button> })}
                </li>
            }
        }).collect_view()
    };
    view! {
        <section class="imports" aria-label="Files" hidden=move || imports.with(Vec::is_empty) && page.uploads.with(Vec::is_empty)>
            <h2>"Files"</h2>
            <ul>{uploads}{lines}</ul>
        </section>
    }
}
