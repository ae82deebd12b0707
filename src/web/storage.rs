//! What outlives the page: the chosen theme, and nothing else.

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
