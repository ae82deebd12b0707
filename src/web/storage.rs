//! What outlives the page: the chosen theme, and for a reload of the same tab the place that was open.

use web_sys::Window;

/// The key in local storage; the page's first script reads it before the first paint.
const THEME: &str = "tickscope.theme";

/// The stored theme, if any. A browser that refuses storage has none.
#[must_use]
pub fn theme(window: &Window) -> Option<String> {
    window.local_storage().ok().flatten()?.get_item(THEME).ok().flatten()
}

/// Shows a theme and remembers it; `None` follows the system.
pub fn set_theme(window: &Window, theme: Option<&str>) {
    let root = window.document().and_then(|document| document.document_element());
    let storage = window.local_storage().ok().flatten();
    // Without storage the choice holds until the page is left.
    match theme {
        Some(theme) => {
            let _ = root.map(|root| root.set_attribute("data-theme", theme));
            let _ = storage.map(|storage| storage.set_item(THEME, theme));
        }
        None => {
            let _ = root.map(|root| root.remove_attribute("data-theme"));
            let _ = storage.map(|storage| storage.remove_item(THEME));
        }
    }
}

/// The key in session storage: it ends with the tab.
const PLACE: &str = "tickscope.place";

/// What [`set_place`] kept, as it was written. A browser that refuses storage has nothing.
#[must_use]
pub fn place(window: &Window) -> Option<String> {
    window.session_storage().ok().flatten()?.get_item(PLACE).ok().flatten()
}

/// Keeps a text for a reload of this tab.
pub fn set_place(window: &Window, place: &str) {
    // Without storage a reload begins anew.
    let _ = window.session_storage().ok().flatten().map(|storage| storage.set_item(PLACE, place));
}
