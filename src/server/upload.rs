//! `POST /api/files?name=NAME`: a file that the page was given becomes a table while the server runs.
//!
//! The body is written to `uploads` in the cache under the hash of its content, so the same file comes back to the same place and
//! is not imported twice. Until it is whole it has no name there; what is not finished is removed. The answer is `{"table": …}` as
//! soon as the file was looked at, or `{"error": …}`; how far its import is stands in `/api/stores`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use axum::Json;
use axum::body::{Body, BodyDataStream};
use axum::extract::{Query, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use futures_util::StreamExt as _;
use serde_json::json;
use tokio::fs::{self, File};
use tokio::io::AsyncWriteExt as _;
use tokio::task::spawn_blocking;
use xxhash_rust::xxh3::Xxh3;

use super::cache::Scratch;
use super::catalog::TableState;
use super::error::ServeError;
use super::http::{App, same_origin};

/// Uploads that are written or imported at a time.
pub(crate) const MAX_UPLOADS: usize = 4;
/// Characters of a file's name that are kept.
const MAX_NAME: usize = 100;

/// Why a file was not taken.
struct Refusal(StatusCode, String);

impl From<ServeError> for Refusal {
    fn from(error: ServeError) -> Refusal {
        let status = match &error {
            ServeError::File { source, .. } if source.kind() == std::io::ErrorKind::StorageFull => StatusCode::INSUFFICIENT_STORAGE,
            ServeError::File { .. } | ServeError::Engine { .. } | ServeError::NoCache { .. } => StatusCode::INTERNAL_SERVER_ERROR,
            _ => StatusCode::UNPROCESSABLE_ENTITY,
        };
        Refusal(status, error.to_string())
    }
}

/// Takes a file.
pub(crate) async fn take(State(app): State<Arc<App>>, Query(parameters): Query<HashMap<String, String>>, headers: HeaderMap, body: Body) -> Response {
    match store(&app, parameters.get("name").map_or("", String::as_str), &headers, body).await {
        Ok(table) => Json(json!({ "table": table })).into_response(),
        Err(Refusal(status, problem)) => (status, Json(json!({ "error": problem }))).into_response(),
    }
}

async fn store(app: &Arc<App>, name: &str, headers: &HeaderMap, body: Body) -> Result<String, Refusal> {
    if !same_origin(&app.guard, headers) {
        return Err(Refusal(StatusCode::FORBIDDEN, "pages of another origin may not add files here".to_owned()));
    }
    let Some(limit) = app.upload_limit else {
        let problem = "this server can be reached from other machines, so it takes no files: start it with --allow-upload, or name the file there";
        return Err(Refusal(StatusCode::FORBIDDEN, problem.to_owned()));
    };
    let busy = || Refusal(StatusCode::SERVICE_UNAVAILABLE, format!("{MAX_UPLOADS} files are being added already: wait for one of them"));
    let permit = Arc::clone(&app.uploads).try_acquire_owned().map_err(|_| busy())?;
    let announced = headers.get(header::CONTENT_LENGTH).and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    if announced.is_some_and(|bytes| bytes > limit) {
        return Err(too_large(limit));
    }
    let scratch = app.library.cache.scratch_file();
    let hash = write(&scratch, body.into_data_stream(), limit).await?;
    let library = app.library.clone();
    let name = file_name(name);
    let entry = spawn_blocking(move || -> Result<_, ServeError> {
        let (path, is_new) = library.cache.keep_upload(scratch, hash, &name)?;
        let entry = library.add(&path);
        if is_new && entry.is_err() {
            remove(&path);
        }
        Ok((entry?, path))
    });
    let (entry, path) = entry.await.map_err(|error| ServeError::engine("looking at the file", error))??;
    let table = entry.source.name.clone();
    if matches!(entry.state, TableState::Importing(_)) {
        let library = app.library.clone();
        spawn_blocking(move || {
            // The catalogue says why it failed.
            if library.import(&entry).is_err() {
                remove(&path);
            }
            drop(permit);
        });
    }
    Ok(table)
}

/// Writes the body; returns the hash of its content.
async fn write(scratch: &Scratch, mut body: BodyDataStream, limit: u64) -> Result<u128, Refusal> {
    let path = scratch.path();
    let mut file = File::create(path).await.map_err(ServeError::file("write", path))?;
    let mut hash = Xxh3::new();
    let mut bytes = 0u64;
    while let Some(chunk) = body.next().await {
        // Nobody is left to read this answer, but the scratch file goes with it.
        let chunk = chunk.map_err(|error| Refusal(StatusCode::BAD_REQUEST, format!("the file did not arrive whole: {error}")))?;
        bytes = bytes.saturating_add(chunk.len() as u64);
        if bytes > limit {
            return Err(too_large(limit));
        }
        hash.update(&chunk);
        file.write_all(&chunk).await.map_err(ServeError::file("write", path))?;
    }
    file.flush().await.map_err(ServeError::file("write", path))?;
    fs::metadata(path).await.map_err(ServeError::file("read", path))?;
    Ok(hash.digest128())
}

fn too_large(limit: u64) -> Refusal {
    let problem = format!("the file is larger than {limit} bytes: raise --upload-limit, or name the file on the command line");
    Refusal(StatusCode::PAYLOAD_TOO_LARGE, problem)
}

/// Removes an upload with its directory. What stays is listed by `tickscope cache`.
fn remove(path: &Path) {
    let _ = std::fs::remove_file(path);
    if let Some(folder) = path.parent() {
        let _ = std::fs::remove_dir(folder);
    }
}

/// The last part of a name, of harmless characters. Its end is kept, which says what is in the file.
fn file_name(name: &str) -> PathBuf {
    let last = name.rsplit(['/', '\\']).next().unwrap_or_default();
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
    let plain: Vec<char> = last.trim().trim_start_matches('.').chars().map(plain).collect();
    let kept: String = plain.iter().skip(plain.len().saturating_sub(MAX_NAME)).collect();
    let kept = kept.trim_start_matches('.');
    PathBuf::from(if kept.is_empty() { "upload" } else { kept })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_harmless_part() {
        for (name, expected) in [
            ("es.dbn.zst", "es.dbn.zst"),
            ("../../etc/passwd", "passwd"),
            ("C:\\data\\es day.csv", "es_day.csv"),
            ("..", "upload"),
            ("", "upload"),
            ("/", "upload"),
            (".hidden", "hidden"),
            ("a\0b\n\"'$`;.parquet", "a_b______.parquet"),
            ("écu.csv", "écu.csv"),
        ] {
            assert_eq!(file_name(name), Path::new(expected), "{name:?}");
        }
        let long = file_name(&format!("{}.parquet", "x".repeat(500)));
        assert!(long.to_str().unwrap().ends_with("x.parquet") && long.to_str().unwrap().len() == MAX_NAME);
    }
}
