//! A proxy on a socket of its own between browser and server. It passes everything on, counts what the server sends over WebSockets
//! from outside, and can break a connection at a chosen message in the ways that real servers do.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{OwnedReadHalf, OwnedWriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{Mutex as AsyncMutex, watch};

use crate::messages::{self, Header, Kind, Message};

/// How a connection breaks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// The server dies in the middle of a message: half of it arrives, then the connection ends.
    Cut,
    /// The message arrives with other bytes in its body.
    Garbage,
    /// The server says goodbye (1001) and closes.
    Close,
    /// The server answers the query with an error instead.
    SqlError,
}

/// What was seen of the server's messages about market rows: those of the WebSockets that carry batches of them, without the
/// greeting. The catalogue's connection is none of these.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Seen {
    /// Bytes of binary messages, headers included.
    pub wire_bytes: u64,
    /// Rows of result batches.
    pub rows: u64,
}

/// A batch of this size holds market rows; answers about the catalogue and counts are smaller.
const MARKET_BYTES: usize = 64 * 1024;

#[derive(Default)]
struct Shared {
    seen: Seen,
    plan: Option<Fault>,
    refusing: bool,
}

/// The running proxy.
pub struct Proxy {
    /// Host and port it listens at.
    pub address: String,
    shared: Arc<Mutex<Shared>>,
    held: watch::Sender<bool>,
    accepting: tokio::task::JoinHandle<()>,
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Proxy {
    /// Listens on a free port and connects each connection to `server` (host and port).
    ///
    /// # Errors
    /// When there is no free port.
    pub async fn start(server: &str) -> Result<Proxy, String> {
        let listener = TcpListener::bind("127.0.0.1:0").await.map_err(|error| format!("proxy: {error}"))?;
        let address = listener.local_addr().map_err(|error| format!("proxy: {error}"))?.to_string();
        let shared = Arc::new(Mutex::new(Shared::default()));
        let (held, hold) = watch::channel(false);
        let server = server.to_owned();
        let state = Arc::clone(&shared);
        let accepting = tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                if lock(&state).refusing {
                    continue;
                }
                let (server, state, hold) = (server.clone(), Arc::clone(&state), hold.clone());
                tokio::spawn(async move {
                    let Ok(upstream) = TcpStream::connect(&server).await else { return };
                    let (client_read, client_write) = client.into_split();
                    let (server_read, server_write) = upstream.into_split();
                    let link = Link { shared: state, upgraded: AtomicBool::new(false), server: AsyncMutex::new(server_write) };
                    // Whichever direction ends first ends the connection: what the other holds is dropped and closed.
                    tokio::select! {
                        () = upwards(client_read, &link) => {}
                        () = downwards(server_read, client_write, &link, hold) => {}
                    }
                });
            }
        });
        Ok(Proxy { address, shared, held, accepting })
    }

    /// What was seen so far.
    pub fn seen(&self) -> Seen {
        lock(&self.shared).seen
    }

    /// Breaks the connection over which the next batch with market rows comes. From then on new connections are refused.
    pub fn fail(&self, fault: Fault) {
        lock(&self.shared).plan = Some(fault);
    }

    /// Whether the fault has happened.
    pub fn has_failed(&self) -> bool {
        lock(&self.shared).plan.is_none()
    }

    /// Closes new connections at once, as a host without a server does, or takes them again.
    pub fn refuse(&self, refusing: bool) {
        lock(&self.shared).refusing = refusing;
    }

    /// Stops passing on what the server sends over WebSockets, or goes on.
    pub fn hold(&self, held: bool) {
        self.held.send_replace(held);
    }
}

fn lock(shared: &Mutex<Shared>) -> std::sync::MutexGuard<'_, Shared> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}

/// One connection through the proxy.
struct Link {
    shared: Arc<Mutex<Shared>>,
    /// Whether both sides speak WebSocket.
    upgraded: AtomicBool,
    server: AsyncMutex<OwnedWriteHalf>,
}

/// Passes on what the browser sends, whole frames at a time so that a message of the proxy's own can go between them.
async fn upwards(mut from: OwnedReadHalf, link: &Link) {
    let mut buffer = Vec::new();
    while matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
        let whole = if link.upgraded.load(Ordering::Acquire) { whole_frames(&buffer) } else { buffer.len() };
        if link.server.lock().await.write_all(&buffer[..whole]).await.is_err() {
            return;
        }
        buffer.drain(..whole);
    }
}

/// Length of the frames in `buffer` that are complete.
fn whole_frames(buffer: &[u8]) -> usize {
    let mut end = 0;
    while let Some(header) = Header::read(&buffer[end..])
        && buffer.len() - end >= header.total()
    {
        end += header.total();
    }
    end
}

/// Passes on what the server sends. From the answer 101 on these are WebSocket frames, looked at one by one.
async fn downwards(mut from: OwnedReadHalf, mut to: OwnedWriteHalf, link: &Link, mut hold: watch::Receiver<bool>) {
    let mut buffer = Vec::with_capacity(1 << 16);
    let mut message = Vec::new();
    let mut stream = Stream { link, dropped: None, seen: Seen::default(), is_market: false };
    loop {
        if !link.upgraded.load(Ordering::Acquire) {
            let ready = end_of_upgrade(&buffer).unwrap_or(if buffer.starts_with(b"HTTP/1.1 101") { 0 } else { buffer.len() });
            if end_of_upgrade(&buffer).is_some() {
                link.upgraded.store(true, Ordering::Release);
            }
            if to.write_all(&buffer[..ready]).await.is_err() {
                return;
            }
            buffer.drain(..ready);
        }
        while link.upgraded.load(Ordering::Acquire)
            && let Some(header) = Header::read(&buffer)
            && buffer.len() >= header.total()
        {
            if hold.wait_for(|held| !held).await.is_err() {
                return;
            }
            let frame: Vec<u8> = buffer.drain(..header.total()).collect();
            message.extend_from_slice(&frame[header.length..]);
            let goes_on = if header.is_last && header.is_binary() {
                stream.pass_on(&frame, &header, &message, &mut to).await
            } else {
                to.write_all(&frame).await.map(|()| true)
            };
            if header.is_last {
                message.clear();
            }
            if !matches!(goes_on, Ok(true)) {
                return;
            }
        }
        if !matches!(from.read_buf(&mut buffer).await, Ok(1..)) {
            return;
        }
    }
}

fn end_of_upgrade(buffer: &[u8]) -> Option<usize> {
    let end = buffer.windows(4).position(|bytes| bytes == b"\r\n\r\n")? + 4;
    buffer.starts_with(b"HTTP/1.1 101").then_some(end)
}

/// The messages of one WebSocket.
struct Stream<'a> {
    link: &'a Link,
    /// The query that was answered with an error here: the server does not know, so what it says of it is left out.
    dropped: Option<i64>,
    /// What was seen of this one and is not yet in the sum.
    seen: Seen,
    /// Whether it carried market rows.
    is_market: bool,
}

impl Stream<'_> {
    /// Counts a message and passes its frame on, or lets the planned fault happen. False ends the connection.
    async fn pass_on(&mut self, frame: &[u8], header: &Header, message: &[u8], to: &mut OwnedWriteHalf) -> std::io::Result<bool> {
        let parsed = Message::read(message);
        let request = parsed.map_or(0, |message| message.request);
        if self.dropped == Some(request) {
            return Ok(true);
        }
        match self.count(message, parsed) {
            None => to.write_all(frame).await.map(|()| true),
            Some(Fault::Cut) => to.write_all(&frame[..frame.len() / 2]).await.map(|()| false),
            Some(Fault::Garbage) => {
                let mut spoiled = frame.to_vec();
                // The headers of frame and message stay, so that it is the body that cannot be read.
                for (index, byte) in spoiled.iter_mut().skip(header.length + 12).enumerate() {
                    *byte = (index as u8).wrapping_mul(151).wrapping_add(73);
                }
                to.write_all(&spoiled).await.map(|()| true)
            }
            Some(Fault::Close) => {
                to.write_all(&[0x88, 2, 0x03, 0xe9]).await?;
                to.flush().await.map(|()| false)
            }
            Some(Fault::SqlError) => {
                self.dropped = Some(request);
                self.link.server.lock().await.write_all(&messages::cancel(request)).await?;
                to.write_all(&messages::query_error(request, "[7] table was dropped while it was read")).await.map(|()| true)
            }
        }
    }

    /// Counts a message; the fault if it is the one that breaks.
    fn count(&mut self, message: &[u8], parsed: Option<Message>) -> Option<Fault> {
        let kind = parsed?.kind;
        if kind != Kind::Greeting {
            self.seen.wire_bytes += message.len() as u64;
        }
        let is_market_batch = matches!(kind, Kind::Batch { .. }) && message.len() >= MARKET_BYTES;
        if let Kind::Batch { rows } = kind {
            self.seen.rows += rows;
        }
        self.is_market |= is_market_batch;
        let mut shared = lock(&self.link.shared);
        if self.is_market {
            let seen = std::mem::take(&mut self.seen);
            shared.seen.wire_bytes += seen.wire_bytes;
            shared.seen.rows += seen.rows;
        }
        if !is_market_batch {
            return None;
        }
        let fault = shared.plan.take()?;
        // What broke stays broken until the test has looked at it.
        shared.refusing = true;
        Some(fault)
    }
}
