//! `window.tickscope`: the page's handle for tests and for those who script it.

use std::rc::Rc;

use js_sys::{JSON, Object, Promise, Reflect};
use wasm_bindgen::JsValue;
use wasm_bindgen::prelude::Closure;

use super::thrown;
use super::worker_handle::Answer;

/// Puts `{state(), command(c)}` on the window. Both answer with a promise of the state; a refused command rejects with its reason.
///
/// # Errors
/// The browser's words when the window refuses the property.
pub fn install(
    window: &web_sys::Window,
    state: impl Fn(Answer) + 'static,
    command: impl Fn(serde_json::Value, Answer) + 'static,
) -> Result<(), String> {
    let state: Rc<dyn Fn(Answer)> = Rc::new(state);
    let command: Rc<dyn Fn(serde_json::Value, Answer)> = Rc::new(command);
    let state = Closure::<dyn Fn() -> Promise>::new(move || {
        let state = Rc::clone(&state);
        promise(move |answer| state(answer))
    });
    let command = Closure::<dyn Fn(JsValue) -> Promise>::new(move |value: JsValue| {
        let command = Rc::clone(&command);
        promise(move |answer| match read(&value) {
            Ok(value) => command(value, answer),
            Err(error) => answer(Err(error)),
        })
    });
    let object = Object::new();
    let set = |target: &JsValue, name: &str, value: JsValue| {
        Reflect::set(target, &JsValue::from_str(name), &value).map(|_| ()).map_err(|error| thrown(&error))
    };
    set(&object, "state", state.into_js_value())?;
    set(&object, "command", command.into_js_value())?;
    set(window, "tickscope", object.into())
}

/// A JavaScript value as JSON.
fn read(value: &JsValue) -> Result<serde_json::Value, String> {
    let text = JSON::stringify(value).map_err(|error| thrown(&error))?;
    // `undefined` and functions have no JSON form; stringify answers undefined.
    let text = JsValue::from(text).as_string().ok_or_else(|| "a command is an object such as {\"play\":true}".to_owned())?;
    serde_json::from_str(&text).map_err(|error| error.to_string())
}

fn promise(ask: impl FnOnce(Answer)) -> Promise {
    let mut ask = Some(ask);
    Promise::new(&mut |resolve, reject| {
        let answer: Answer = Box::new(move |result| {
            let value = result.and_then(|state| {
                let text = serde_json::to_string(&state).map_err(|error| error.to_string())?;
                JSON::parse(&text).map_err(|error| thrown(&error))
            });
            // Calling either function of a promise cannot fail.
            let _ = match value {
                Ok(value) => resolve.call1(&JsValue::UNDEFINED, &value),
                Err(error) => reject.call1(&JsValue::UNDEFINED, &js_sys::Error::new(&error)),
            };
        });
        if let Some(ask) = ask.take() {
            ask(answer);
        }
    })
}
