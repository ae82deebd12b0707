//! Routes: the page, the list of stores, the upgrade to the wire.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use axum::extract::ws::WebSocketUpgrade;
use axum::extract::ws::rejection::WebSocketUpgradeRejection;
use axum::extract::{RawQuery, Request, State};
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, Uri, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, post};
use tokio::sync::{Semaphore, watch};

use super::compression::Agreed;
use super::connection::{self, Limits};
use super::engine::BATCH_ROWS;
use super::guard::Guard;
use super::library::Library;
use super::page;
use super::upload;
use crate::link::{StoreInfo, StoreKind};

/// Name of the embedded store in links and pickers.
pub(crate) const EMBEDDED: &str = "embedded";
/// The largest WebSocket message that is read at all; what is over the protocol's own limit is answered with 1009.
const MESSAGE_CEILING_BYTES: usize = 16 << 20;

/// What the routes share.
pub(crate) struct App {
    /// Who may connect.
    pub(crate) guard: Guard,
    /// Where the page lies.
    pub(crate) page: Option<PathBuf>,
    /// What the store holds, and how more gets there.
    pub(crate) library: Library,
    /// The largest file that is taken, in bytes; `None` where none is.
    pub(crate) upload_limit: Option<u64>,
    /// One permit a file that is being taken.
    pub(crate) uploads: Arc<Semaphore>,
    /// How long a query may take.
    pub(crate) query_timeout: Duration,
    /// One permit a WebSocket.
    pub(crate) connections: Arc<Semaphore>,
    /// Becomes true when the server stops.
    pub(crate) stopping: watch::Receiver<bool>,
}

/// All routes.
pub(crate) fn router(app: Arc<App>) -> Router {
    Router::new()
        .route("/read/v1", get(read))
        .route("/api/v1/read", get(read))
        .route("/api/stores", get(stores))
        .route("/api/files", post(upload::take))
        .fallback(file)
        .layer(middleware::from_fn_with_state(Arc::clone(&app), check_host))
        .with_state(app)
}

/// Refuses a request to a name that is not this server's; marks every answer.
async fn check_host(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let host = text(request.headers(), header::HOST.as_str()).map(str::to_owned);
    let mut response = match &host {
        Some(name) if app.guard.host(Some(name)) => next.run(request).await,
        _ => {
            let refusal = "This name is not served here. Start tickscope with --allow-host NAME to add it.\n";
            (StatusCode::FORBIDDEN, refusal).into_response()
        }
    };
    let headers = response.headers_mut();
    headers.insert(header::X_CONTENT_TYPE_OPTIONS, HeaderValue::from_static("nosniff"));
    headers.insert(header::REFERRER_POLICY, HeaderValue::from_static("no-referrer"));
    headers.insert(header::CONTENT_SECURITY_POLICY, HeaderValue::from_static(POLICY));
    response
}

/// Scripts and everything else come from here alone. WebSockets may go anywhere, since a user may connect the page to any store.
const POLICY: &str = "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; worker-src 'self'; connect-src 'self' ws: wss:; \
    style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'";

async fn stores(State(app): State<Arc<App>>) -> Response {
    let embedded = StoreInfo {
        name: EMBEDDED.to_owned(),
        kind: StoreKind::Embedded,
        default: true,
        url: String::new(),
        importing: app.library.catalog.imports(),
    };
    ([(header::CACHE_CONTROL, "no-store")], axum::Json([embedded])).into_response()
}

async fn file(State(app): State<Arc<App>>, method: Method, uri: Uri, headers: HeaderMap) -> Response {
    if uri.path().starts_with("/api/") {
        return StatusCode::NOT_FOUND.into_response();
    }
    page::answer(app.page.as_deref(), &method, uri.path(), &headers).await
}

async fn read(
    State(app): State<Arc<App>>,
    RawQuery(query): RawQuery,
    headers: HeaderMap,
    upgrade: Result<WebSocketUpgrade, WebSocketUpgradeRejection>,
) -> Response {
    if !same_origin(&app.guard, &headers) {
        let refusal = "Pages of another origin may not read here. Start tickscope with --allow-host NAME to let one in.\n";
        return (StatusCode::FORBIDDEN, refusal).into_response();
    }
    let query = query.unwrap_or_default();
    if let Some(name) = parameter(&query, "store").filter(|name| *name != EMBEDDED) {
        return (StatusCode::NOT_FOUND, format!("There is no store {name:?} here; see /api/stores.\n")).into_response();
    }
    let upgrade = match upgrade {
        Ok(upgrade) => upgrade,
        Err(rejection) => return rejection.into_response(),
    };
    let Ok(permit) = Arc::clone(&app.connections).try_acquire_owned() else {
        let refusal = "All connections of this server are in use: close one and try again.\n";
        return (StatusCode::SERVICE_UNAVAILABLE, [(header::RETRY_AFTER, "1")], refusal).into_response();
    };
    let asked = text(&headers, "x-qwp-max-batch-rows").or_else(|| parameter(&query, "qwp_max_batch_rows"));
    let limits = Limits { batch_rows: batch_rows(asked), query_timeout: app.query_timeout };
    let agreed = Agreed::new(text(&headers, "x-qwp-accept-encoding"), parameter(&query, "qwp_accept_encoding"));
    let (sql, stopping) = (app.library.sql.clone(), app.stopping.clone());
    let upgrade = upgrade.max_message_size(MESSAGE_CEILING_BYTES).max_frame_size(MESSAGE_CEILING_BYTES);
    let mut response = upgrade.on_upgrade(move |socket| async move {
        connection::serve(socket, sql, limits, agreed, stopping).await;
        drop(permit);
    });
    response.headers_mut().insert("x-qwp-version", HeaderValue::from_static("1"));
    if let Some(encoding) = agreed.level.and_then(|level| HeaderValue::from_str(&format!("zstd;level={level}")).ok()) {
        response.headers_mut().insert("x-qwp-content-encoding", encoding);
    }
    response
}

/// Whether a request comes from no page, or from one that may.
pub(crate) fn same_origin(guard: &Guard, headers: &HeaderMap) -> bool {
    let host = text(headers, header::HOST.as_str()).unwrap_or_default();
    let origin = headers.contains_key(header::ORIGIN).then(|| text(headers, header::ORIGIN.as_str()).unwrap_or_default());
    headers.get_all(header::ORIGIN).iter().count() <= 1 && guard.origin(origin, host)
}

/// Rows of a batch that a client asked for; it may only lower the number, and what is no number changes nothing.
fn batch_rows(asked: Option<&str>) -> usize {
    asked.and_then(|text| text.parse().ok()).filter(|rows| (1..=BATCH_ROWS).contains(rows)).unwrap_or(BATCH_ROWS)
}

/// The first value of a parameter. Names of stores and numbers need no decoding.
fn parameter<'a>(query: &'a str, name: &str) -> Option<&'a str> {
    query.split('&').find_map(|pair| pair.strip_prefix(name)?.strip_prefix('='))
}

fn text<'a>(headers: &'a HeaderMap, name: &str) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_batch_can_only_be_lowered() {
        for (asked, rows) in [("1", 1), ("16384", 16_384), ("16385", 16_384), ("0", 16_384), ("-1", 16_384), (" 5", 16_384), ("x", 16_384)] {
            assert_eq!(batch_rows(Some(asked)), rows, "{asked}");
        }
        assert_eq!(batch_rows(None), 16_384);
    }

    #[test]
    fn a_parameter_is_found_by_its_whole_name() {
        assert_eq!(parameter("xstore=a&store=b&store=c", "store"), Some("b"));
        assert_eq!(parameter("stores=a", "store"), None);
    }
}
