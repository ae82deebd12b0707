//! A small HTTP server for files of this machine, so that a page can fetch them.

use std::path::PathBuf;

use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};

/// Serves directories until it is dropped.
pub struct Files {
    /// Host and port.
    pub address: String,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for Files {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Files {
    /// Serves each directory under its name (`/name/path`), and an empty page under `/`.
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn serve(directories: Vec<(&'static str, PathBuf)>) -> Result<Files, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("file server: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("file server: {error}"))?.to_string();
        let accepting = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                let directories = directories.clone();
                // A browser that goes away in the middle is no one's loss.
                tokio::spawn(async move { drop(answer(stream, &directories).await) });
            }
        });
        Ok(Files { address, accepting })
    }
}

async fn answer(stream: TcpStream, directories: &[(&'static str, PathBuf)]) -> std::io::Result<()> {
    let mut stream = BufReader::new(stream);
    let mut request = String::new();
    stream.read_line(&mut request).await?;
    let mut header = String::new();
    while stream.read_line(&mut header).await? > 2 {
        header.clear();
    }
    let path = request.split(' ').nth(1).unwrap_or_default();
    let (status, kind, body) = match path {
        "/" => ("200 OK", "text/html", b"<!doctype html><link rel=icon href=data:,><title>Sessions</title>".to_vec()),
        path => match file(path, directories).map(std::fs::read) {
            Some(Ok(body)) => ("200 OK", kind(path), body),
            _ => ("404 Not Found", "text/plain", Vec::new()),
        },
    };
    let head = format!("HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(&body).await?;
    stream.shutdown().await
}

fn file(path: &str, directories: &[(&'static str, PathBuf)]) -> Option<PathBuf> {
    let (name, inside) = path.strip_prefix('/')?.split_once('/')?;
    let directory = &directories.iter().find(|(known, _)| *known == name)?.1;
    (!inside.split('/').any(|part| part.starts_with('.'))).then(|| directory.join(inside))
}

fn kind(path: &str) -> &'static str {
    match path.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("wasm") => "application/wasm",
        Some("json") => "application/json",
        _ => "application/octet-stream",
    }
}
