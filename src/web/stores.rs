//! Which stores the server of this page offers.

use gloo_net::http::Request;

use crate::link::{StoreInfo, StoreKind};

/// Asks the server that the page came from. Each store comes with the address of its socket.
///
/// # Errors
/// The status or the browser's words.
pub async fn list(window: &web_sys::Window) -> Result<Vec<StoreInfo>, String> {
    let response = Request::get("/api/stores").send().await.map_err(|error| error.to_string())?;
    let base = socket_base(window)?;
    if response.status() == 404 {
        // Not served by tickscope: the files lie in a QuestDB's public folder, and that QuestDB is the store.
        let url = format!("{base}/read/v1");
        return Ok(vec![StoreInfo { name: "questdb".to_owned(), kind: StoreKind::Questdb, default: true, url, importing: Vec::new() }]);
    }
    if !response.ok() {
        return Err(format!("HTTP {} {}", response.status(), response.status_text()));
    }
    let mut stores: Vec<StoreInfo> = response.json().await.map_err(|error| error.to_string())?;
    for store in &mut stores {
        store.url = match store.kind {
            StoreKind::Embedded => format!("{base}/read/v1"),
            StoreKind::Questdb => format!("{base}/read/v1?store={}", String::from(js_sys::encode_uri_component(&store.name))),
        };
    }
    Ok(stores)
}

/// `ws://host:port` or `wss://host:port` of the page's own server.
fn socket_base(window: &web_sys::Window) -> Result<String, String> {
    let location = window.location();
    let read = |part: Result<String, wasm_bindgen::JsValue>| part.map_err(|error| super::thrown(&error));
    let scheme = if read(location.protocol())? == "https:" { "wss" } else { "ws" };
    Ok(format!("{scheme}://{}", read(location.host())?))
}
