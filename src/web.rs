//! The browser's own objects: sockets, the worker, the frame callback, storage, the clipboard.
//!
//! The only module that names `web_sys`, `js_sys` or gloo. It carries bytes, texts and times between the browser and the rest, and
//! knows no market meaning: what a message says is [`crate::link`]'s, what is shown is decided in [`crate::view`].
//!
//! One compiled module serves both sides. The page hands it to the worker, whose script initialises it and calls [`worker::worker`].

pub mod dom;
pub mod frames;
pub mod handle;
pub mod paint;
pub mod socket;
pub mod storage;
pub mod stores;
pub mod upload;
pub mod worker;
pub mod worker_handle;

/// What a thrown JavaScript value says.
pub(crate) fn thrown(value: &wasm_bindgen::JsValue) -> String {
    use wasm_bindgen::JsCast;
    match value.dyn_ref::<js_sys::Error>() {
        Some(error) => String::from(error.message()),
        None => value.as_string().unwrap_or_else(|| format!("{value:?}")),
    }
}
