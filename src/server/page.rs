//! The files of the page, out of one directory.

use std::path::{Path, PathBuf};
use std::time::UNIX_EPOCH;

use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};
use axum::response::{IntoResponse as _, Response};

/// Shown where no page was built.
const NO_PAGE: &str = "The page is not built. Run ./run in the source directory, or name the directory of the built page with --page DIR.\n";

/// Where the page lies: the given directory, else `page` beside the directory of the executable, if it is there.
pub(crate) fn find(given: Option<&Path>) -> Option<PathBuf> {
    if let Some(given) = given {
        return Some(given.to_owned());
    }
    let executable = std::env::current_exe().ok()?;
    let beside = executable.parent()?.parent()?.join("page");
    beside.join("index.html").is_file().then_some(beside)
}

/// Answers a request for a file of the page.
pub(crate) async fn answer(page: Option<&Path>, method: &Method, path: &str, headers: &HeaderMap) -> Response {
    if method != Method::GET && method != Method::HEAD {
        return (StatusCode::METHOD_NOT_ALLOWED, [(header::ALLOW, "GET, HEAD")]).into_response();
    }
    let Some(page) = page else {
        let status = if path == "/" { StatusCode::OK } else { StatusCode::NOT_FOUND };
        return (status, [(header::CONTENT_TYPE, "text/plain; charset=utf-8")], NO_PAGE).into_response();
    };
    let Some(relative) = relative(path) else { return StatusCode::NOT_FOUND.into_response() };
    let file = page.join(relative);
    let Ok(metadata) = tokio::fs::metadata(&file).await else { return StatusCode::NOT_FOUND.into_response() };
    if !metadata.is_file() {
        return StatusCode::NOT_FOUND.into_response();
    }
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok()).unwrap_or_default();
    let tag = format!("\"{:x}-{:x}\"", metadata.len(), changed.as_nanos());
    let Ok(tag_header) = HeaderValue::from_str(&tag) else { return StatusCode::INTERNAL_SERVER_ERROR.into_response() };
    // A new build must show at the next load; what did not change is not sent again.
    let caching = [(header::ETAG, tag_header), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    let known = headers.get(header::IF_NONE_MATCH).and_then(|value| value.to_str().ok());
    if known.is_some_and(|known| known.split(',').any(|one| one.trim() == tag)) {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let Ok(bytes) = tokio::fs::read(&file).await else { return StatusCode::NOT_FOUND.into_response() };
    let kind = [(header::CONTENT_TYPE, content_type(&file)), (header::CONTENT_LENGTH, &bytes.len().to_string())]
        .map(|(name, value)| (name, value.to_owned()));
    let body = if method == Method::HEAD { Body::empty() } else { Body::from(bytes) };
    (caching, kind, body).into_response()
}

/// The file that a path names: only plain names, so that nothing outside the directory can be reached.
fn relative(path: &str) -> Option<PathBuf> {
    let path = path.strip_prefix('/')?;
    if path.is_empty() {
        return Some(PathBuf::from("index.html"));
    }
    let plain = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_');
    path.split('/').all(|part| !part.is_empty() && !part.starts_with('.') && part.chars().all(plain)).then(|| PathBuf::from(path))
}

fn content_type(file: &Path) -> &'static str {
    match file.extension().and_then(|extension| extension.to_str()) {
        Some("html") => "text/html; charset=utf-8",
        Some("js") => "text/javascript; charset=utf-8",
        Some("wasm") => "application/wasm",
        Some("css") => "text/css; charset=utf-8",
        Some("json") => "application/json",
        Some("svg") => "image/svg+xml",
        Some("png") => "image/png",
        Some("ico") => "image/x-icon",
        Some("txt" | "md") => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_stays_inside() {
        for (path, file) in [("/", "index.html"), ("/tickscope_bg.wasm", "tickscope_bg.wasm"), ("/a/b.js", "a/b.js")] {
            assert_eq!(relative(path), Some(PathBuf::from(file)));
        }
        for path in ["", "x", "/..", "/../x", "/a/../b", "//etc/passwd", "/a//b", "/.git", "/a/", "/%2e%2e/x", "/a\\b", "/a b", "/a\0"] {
            assert_eq!(relative(path), None, "{path:?}");
        }
    }
}
