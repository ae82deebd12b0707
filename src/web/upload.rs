//! Files that the user hands to the page, and the way of one to the server. The request is an `XMLHttpRequest`: `fetch` does not say
//! how much of a body was sent.

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
pub use web_sys::File;
use web_sys::{DragEvent, FileList, HtmlInputElement, ProgressEvent, Window, XmlHttpRequest};

use super::thrown;

/// Calls `over` while files are dragged over the page (false when they leave) and `dropped` with those that are let go on it.
pub fn on_drop(window: &Window, over: impl Fn(bool) + Clone + 'static, dropped: impl Fn(Vec<File>) + 'static) {
    let dragged = over.clone();
    let at_drag = Closure::<dyn FnMut(DragEvent)>::new(move |event: DragEvent| {
        let Some(data) = event.data_transfer() else { return };
        // A dragged selection of text is none of ours.
        if data.types().includes(&JsValue::from_str("Files"), 0) {
            event.prevent_default();
            data.set_drop_effect("copy");
            dragged(true);
        }
    });
    let left = over.clone();
    let at_leave = Closure::<dyn FnMut(DragEvent)>::new(move |event: DragEvent| {
        // Moving on to another element is not leaving the page.
        if event.related_target().is_none() {
            left(false);
        }
    });
    let at_drop = Closure::<dyn FnMut(DragEvent)>::new(move |event: DragEvent| {
        over(false);
        let files = event.data_transfer().and_then(|data| data.files()).map(list).unwrap_or_default();
        if !files.is_empty() {
            event.prevent_default();
            dropped(files);
        }
    });
    for (name, closure) in [("dragover", &at_drag), ("dragleave", &at_leave), ("drop", &at_drop)] {
        let _ = window.add_event_listener_with_callback(name, closure.as_ref().unchecked_ref());
    }
    at_drag.forget();
    at_leave.forget();
    at_drop.forget();
}

/// The files chosen in an input of type `file`, which is emptied so that the same can be chosen again.
#[must_use]
pub fn chosen(input: &HtmlInputElement) -> Vec<File> {
    let files = input.files().map(list).unwrap_or_default();
    input.set_value("");
    files
}

fn list(files: FileList) -> Vec<File> {
    (0..files.length()).filter_map(|index| files.get(index)).collect()
}

/// Sends a file to `POST /api/files`. `progress` is told bytes sent and bytes in all. Answers the HTTP status and the body as text.
///
/// # Errors
/// When the server could not be reached or hung up.
pub async fn send(file: &File, progress: impl Fn(u64, u64) + 'static) -> Result<(u16, String), String> {
    let said = |error: JsValue| thrown(&error);
    let request = XmlHttpRequest::new().map_err(said)?;
    let name = String::from(js_sys::encode_uri_component(&file.name()));
    request.open("POST", &format!("/api/files?name={name}")).map_err(said)?;
    let at_progress = Closure::<dyn FnMut(ProgressEvent)>::new(move |event: ProgressEvent| progress(event.loaded() as u64, event.total() as u64));
    request.upload().map_err(said)?.set_onprogress(Some(at_progress.as_ref().unchecked_ref()));
    let ended = js_sys::Promise::new(&mut |resolve, _| request.set_onloadend(Some(&resolve)));
    request.send_with_opt_blob(Some(file)).map_err(said)?;
    // Resolved by the event that ends every request; never rejected.
    let _ = wasm_bindgen_futures::JsFuture::from(ended).await;
    drop(at_progress);
    match request.status().map_err(said)? {
        0 => Err("the connection to the server ended".to_owned()),
        status => Ok((status, request.response_text().ok().flatten().unwrap_or_default())),
    }
}
