//! Small things of the window: keys, visibility, the clipboard, pointer geometry, waiting.

use std::cell::Cell;
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
pub use web_sys::Window;
use web_sys::{
    AddEventListenerOptions, Element, Event, FocusEvent, HtmlElement, KeyboardEvent, MouseEvent, PointerEvent, ResizeObserver, WheelEvent,
};

/// Calls `handle` with each key pressed (`KeyboardEvent.key`) outside of text fields, menus and open dialogs, and whether it comes
/// from holding the key down; when it answers true, the browser does nothing else with the key. Held beside it, Alt is named before
/// it (`alt+`), and Shift (`shift+`) where it makes no other character of it. Lives as long as the page.
pub fn on_key(window: &Window, handle: impl Fn(&str, bool) -> bool + 'static) {
    let closure = Closure::<dyn FnMut(KeyboardEvent)>::new(move |event: KeyboardEvent| {
        if event.ctrl_key() || event.meta_key() || taken(&event) {
            return;
        }
        let key = event.key();
        let alt = if event.alt_key() { "alt+" } else { "" };
        let shift = if event.shift_key() && key.chars().nth(1).is_some() { "shift+" } else { "" };
        if handle(&[alt, shift, &key].concat(), event.repeat()) {
            event.prevent_default();
        }
    });
    let _ = window.add_event_listener_with_callback("keydown", closure.as_ref().unchecked_ref());
    closure.forget();
}

/// Whether the focused element or an open dialog has its own use for the key.
fn taken(event: &KeyboardEvent) -> bool {
    let Some(element) = event.target().and_then(|target| target.dyn_into::<Element>().ok()) else { return false };
    let dialog = element.owner_document().and_then(|document| document.query_selector("dialog[open]").ok().flatten()).is_some();
    match element.tag_name().as_str() {
        "INPUT" | "TEXTAREA" => true,
        // A menu that was used with the mouse and is closed again gives the keys back.
        "SELECT" => [":open", ":focus-visible"].into_iter().any(|state| element.matches(state).unwrap_or(false)),
        "BUTTON" | "SUMMARY" | "A" => dialog || matches!(event.key().as_str(), " " | "Enter"),
        _ => dialog,
    }
}

/// Names the browser's tab.
pub fn set_title(window: &Window, title: &str) {
    if let Some(document) = window.document() {
        document.set_title(title);
    }
}

/// Clicks the element with an id, as the user would.
pub fn click(window: &Window, id: &str) {
    let element = window.document().and_then(|document| document.get_element_by_id(id));
    if let Some(element) = element.and_then(|element| element.dyn_into::<HtmlElement>().ok()) {
        element.click();
    }
}

/// Whether the tab is visible.
#[must_use]
pub fn is_visible(window: &Window) -> bool {
    window.document().is_none_or(|document| !document.hidden())
}

/// Calls `handle` when the tab becomes visible (true) or hidden.
pub fn on_visibility(window: &Window, handle: impl Fn(bool) + 'static) {
    let Some(document) = window.document() else { return };
    let watched = document.clone();
    let closure = Closure::<dyn FnMut()>::new(move || handle(!watched.hidden()));
    let _ = document.add_event_listener_with_callback("visibilitychange", closure.as_ref().unchecked_ref());
    closure.forget();
}

/// Where a pointer event lies across the element that listens, 0 at its left edge, 1 at its right.
#[must_use]
pub fn fraction_across(event: &PointerEvent) -> Option<f64> {
    let element: Element = event.current_target()?.dyn_into().ok()?;
    let area = element.get_bounding_client_rect();
    (area.width() > 0.0).then(|| ((f64::from(event.client_x()) - area.left()) / area.width()).clamp(0.0, 1.0))
}

/// Where a place of the window lies across an element, 0 at its left edge, 1 at its right.
#[must_use]
pub fn fraction_at(element: &impl AsRef<Element>, client_x: f64) -> Option<f64> {
    let area = element.as_ref().get_bounding_client_rect();
    (area.width() > 0.0).then(|| ((client_x - area.left()) / area.width()).clamp(0.0, 1.0))
}

/// Calls `handle` with each turn of the wheel over an element, which then scrolls nothing; as long as the page lives.
pub fn on_wheel(element: &impl AsRef<Element>, handle: impl Fn(&WheelEvent) + 'static) {
    let closure = Closure::<dyn FnMut(WheelEvent)>::new(move |event: WheelEvent| {
        event.prevent_default();
        handle(&event);
    });
    let options = AddEventListenerOptions::new();
    options.set_passive(false);
    let _ = element.as_ref().add_event_listener_with_callback_and_add_event_listener_options("wheel", closure.as_ref().unchecked_ref(), &options);
    closure.forget();
}

/// Keeps the pointer's events at the element that listens until it is released, also outside of it.
pub fn capture_pointer(event: &PointerEvent) {
    if let Some(element) = event.current_target().and_then(|target| target.dyn_into::<Element>().ok()) {
        let _ = element.set_pointer_capture(event.pointer_id());
    }
}

/// Leaves the focus where it is when something is clicked, so that single keys keep their meaning.
pub fn keep_focus(event: &MouseEvent) {
    event.prevent_default();
}

/// Takes the focus from an element.
pub fn leave(element: &impl AsRef<HtmlElement>) {
    // Blurring an element of the document cannot fail.
    let _ = element.as_ref().blur();
}

/// Whether the focus goes to outside of the element that listens to `focusout`.
#[must_use]
pub fn leaves(event: &FocusEvent) -> bool {
    let here = event.current_target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
    let next = event.related_target().and_then(|target| target.dyn_into::<web_sys::Node>().ok());
    !here.is_some_and(|here| here.contains(next.as_ref()))
}

/// Takes the focus from the element of an event.
pub fn blur(event: &Event) {
    if let Some(element) = event.target().and_then(|target| target.dyn_into::<HtmlElement>().ok()) {
        leave(&element);
    }
}

/// Keeps an element in the vertical middle of what scrolls around it, whatever its height becomes, until the user scrolls.
pub struct Centring(Rc<Centred>);

struct Centred {
    container: Element,
    element: HtmlElement,
    /// Where the last centring left the container; a scroll to anywhere else is the user's.
    at: Cell<i32>,
    free: Cell<bool>,
}

impl Centring {
    /// Centres now and at every change of size, as long as the page lives. `None` where the browser cannot tell sizes.
    #[must_use]
    pub fn keep(container: &impl AsRef<Element>, element: &impl AsRef<HtmlElement>) -> Option<Centring> {
        let (container, element) = (container.as_ref().clone(), element.as_ref().clone());
        let centred = Rc::new(Centred { container: container.clone(), element, at: Cell::new(0), free: Cell::new(false) });
        let resized = Rc::clone(&centred);
        let on_resize = Closure::<dyn FnMut()>::new(move || {
            if !resized.free.get() {
                resized.centre();
            }
        });
        let observer = ResizeObserver::new(on_resize.as_ref().unchecked_ref()).ok()?;
        observer.observe(&container);
        on_resize.forget();
        let scrolled = Rc::clone(&centred);
        let on_scroll = Closure::<dyn FnMut()>::new(move || scrolled.free.set(scrolled.container.scroll_top() != scrolled.at.get()));
        let _ = container.add_event_listener_with_callback("scroll", on_scroll.as_ref().unchecked_ref());
        on_scroll.forget();
        centred.centre();
        Some(Centring(centred))
    }

    /// Centres again after the user scrolled.
    pub fn again(&self) {
        self.0.free.set(false);
        self.0.centre();
    }
}

impl Centred {
    fn centre(&self) {
        let middle = self.element.offset_top() + self.element.offset_height() / 2;
        self.container.set_scroll_top(middle - self.container.client_height() / 2);
        self.at.set(self.container.scroll_top());
    }
}

/// Calls `handle` when an element's size changes, and once at the start; as long as the page lives.
pub fn on_resize(element: &impl AsRef<Element>, handle: impl Fn() + 'static) {
    let closure = Closure::<dyn FnMut()>::new(handle);
    if let Ok(observer) = ResizeObserver::new(closure.as_ref().unchecked_ref()) {
        observer.observe(element.as_ref());
    }
    closure.forget();
}

/// Number of the table row (its `data-line`) in which an event happened.
#[must_use]
pub fn row_of(event: &Event) -> Option<usize> {
    let target: Element = event.target()?.dyn_into().ok()?;
    target.closest("tr[data-line]").ok().flatten()?.get_attribute("data-line")?.parse().ok()
}

/// Puts the focus on a row of the table part that listens.
pub fn focus_row(event: &Event, line: usize) {
    let body = event.current_target().and_then(|target| target.dyn_into::<Element>().ok());
    let row = body.and_then(|body| body.query_selector(&format!("tr[data-line='{line}']")).ok().flatten());
    if let Some(row) = row.and_then(|row| row.dyn_into::<HtmlElement>().ok()) {
        // A row that is in the document takes the focus.
        let _ = row.focus();
    }
}

/// Copies a text; answers whether the browser allowed it.
pub async fn copy(window: &Window, text: &str) -> bool {
    let promise = window.navigator().clipboard().write_text(text);
    wasm_bindgen_futures::JsFuture::from(promise).await.is_ok()
}

/// Waits.
pub async fn sleep(window: &Window, millis: i32) {
    let promise: js_sys::Promise = js_sys::Promise::new(&mut |resolve, _| {
        let _ = window.set_timeout_with_callback_and_timeout_and_arguments_0(&resolve, millis);
    });
    // A timer's promise is never rejected.
    let _ = wasm_bindgen_futures::JsFuture::from(promise).await;
}

/// Runs a future on the page's own event loop.
pub fn spawn(future: impl Future<Output = ()> + 'static) {
    wasm_bindgen_futures::spawn_local(future);
}
