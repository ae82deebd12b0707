//! Routes and refusals outside the wire.

use std::time::Duration;

use tickscope::server::Running;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::Error;

use crate::client::{Client, config, serve};
use crate::files::{Folder, numbered, write};

async fn server(folder: &Folder) -> Running {
    write(&folder.file("ticks.parquet"), &[numbered(&[1, 2], &[0, 1])]);
    let page = folder.file("page");
    std::fs::create_dir_all(page.join("sub")).unwrap();
    std::fs::write(page.join("index.html"), "<p>page").unwrap();
    std::fs::write(page.join("sub/a_bg.wasm"), b"\0asm").unwrap();
    std::fs::write(folder.file("secret"), "secret").unwrap();
    let mut config = config(&[folder.file("ticks.parquet")]);
    config.page = Some(page);
    config.allow_hosts = vec!["desk.example".to_owned()];
    config.max_connections = 2;
    serve(config).await
}

/// One request on a connection of its own; the whole answer as text.
async fn get(running: &Running, path: &str, headers: &str) -> String {
    let mut socket = TcpStream::connect(running.address()).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\n{headers}Connection: close\r\n\r\n");
    socket.write_all(request.as_bytes()).await.unwrap();
    let mut answer = Vec::new();
    socket.read_to_end(&mut answer).await.unwrap();
    String::from_utf8_lossy(&answer).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_page_is_served_with_types_tags_and_nothing_beside_it() {
    let folder = Folder::new();
    let running = server(&folder).await;
    let host = "Host: localhost\r\n";
    let index = get(&running, "/", host).await;
    assert!(index.starts_with("HTTP/1.1 200") && index.ends_with("<p>page"), "{index}");
    for header in
        ["content-type: text/html", "cache-control: no-cache", "x-content-type-options: nosniff", "'wasm-unsafe-eval'", "connect-src 'self' ws: wss:"]
    {
        assert!(index.contains(header), "{header} in {index}");
    }
    let tag = index.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap().to_owned();
    assert!(get(&running, "/index.html", &format!("{host}If-None-Match: {tag}\r\n")).await.starts_with("HTTP/1.1 304"));
    assert!(get(&running, "/sub/a_bg.wasm", host).await.contains("content-type: application/wasm"));
    for path in ["/../secret", "/%2e%2e/secret", "/sub/..%2f..%2fsecret", "/sub", "/nope", "/api/nope", "/read/v1/", "/READ/v1"] {
        let answer = get(&running, path, host).await;
        assert!(answer.starts_with("HTTP/1.1 404") && !answer.contains("secret"), "{path}: {answer}");
    }
    let stores = get(&running, "/api/stores", host).await;
    assert!(stores.ends_with(r#"[{"name":"embedded","kind":"embedded","default":true,"url":"","importing":[]}]"#), "{stores}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn other_hosts_and_origins_are_refused() {
    let folder = Folder::new();
    let running = server(&folder).await;
    for path in ["/", "/api/stores", "/read/v1", "/nope"] {
        for headers in ["Host: evil.example\r\n", "Host: 127.0.0.1.evil.example\r\n", ""] {
            let answer = get(&running, path, headers).await;
            assert!(answer.starts_with("HTTP/1.1 403") || answer.starts_with("HTTP/1.1 400"), "{path} {headers}: {answer}");
            assert!(!answer.contains("<p>page"));
        }
    }
    let own = format!("http://{}", running.address());
    let status = async |origin: &str, host: &str| {
        let headers = if host.is_empty() { vec![("origin", origin)] } else { vec![("origin", origin), ("host", host)] };
        match Client::connect_with(&running, "/read/v1", &headers).await {
            Ok(_) => 101,
            Err(Error::Http(response)) => response.status().as_u16(),
            Err(error) => panic!("{error}"),
        }
    };
    assert_eq!(status(&own, "").await, 101);
    assert_eq!(status("https://desk.example", "desk.example").await, 101);
    for origin in ["http://evil.example", "null", "http://127.0.0.1:1", "http://localhost"] {
        assert_eq!(status(origin, "").await, 403, "{origin}");
    }
    assert_eq!(status(&own, "evil.example").await, 403);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_connection_too_many_is_told_so() {
    let folder = Folder::new();
    let running = server(&folder).await;
    let first = Client::connect(&running).await;
    let second = Client::connect(&running).await;
    match Client::connect_with(&running, "/read/v1", &[]).await {
        Err(Error::Http(response)) => assert_eq!(response.status().as_u16(), 503),
        other => panic!("{:?}", other.map(|client| client.info)),
    }
    drop((first, second));
    for _ in 0..100 {
        if Client::connect_with(&running, "/read/v1", &[]).await.is_ok() {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    panic!("a closed connection makes room");
}
