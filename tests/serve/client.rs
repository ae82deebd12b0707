//! A client of the wire that shows every message, and servers to point it at.

use std::path::PathBuf;
use std::time::Duration;

use arrow_array::RecordBatch;
use futures_util::{SinkExt as _, StreamExt as _};
use tickscope::columnar::Assembler;
use tickscope::server::{self, CachePlace, Config, Port, Running};
use tickscope::wire::{Batch, ClientMessage, Decoder, DecoderLimits, QueryRequest, ServerInfo, ServerMessage};
use tokio::net::TcpStream;
use tokio::time::timeout;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

const PATIENCE: Duration = Duration::from_secs(60);

/// A server on any free port over some files, with nothing kept and nothing said.
pub fn config(files: &[PathBuf]) -> Config {
    Config { files: files.to_vec(), port: Port::Exactly(0), cache: CachePlace::Temporary, quiet: true, ..Config::default() }
}

/// Starts a server and waits until its tables are there.
pub async fn serve(config: Config) -> Running {
    let mut running = server::start(config).await.expect("it starts");
    running.wait_imported().await.expect("its tables are imported");
    running
}

/// A query with credit without limit.
pub fn query(request_id: i64, sql: &str) -> QueryRequest {
    QueryRequest { request_id, sql: sql.to_owned(), ..QueryRequest::default() }
}

/// One connection.
pub struct Client {
    pub socket: WebSocketStream<MaybeTlsStream<TcpStream>>,
    pub decoder: Decoder,
    pub info: ServerInfo,
    next_id: i64,
}

impl Client {
    pub async fn connect(running: &Running) -> Client {
        Client::connect_with(running, "/read/v1", &[]).await.expect("it connects")
    }

    pub async fn connect_with(running: &Running, path: &str, headers: &[(&'static str, &str)]) -> Result<Client, Error> {
        let mut request = format!("ws://{}{path}", running.address()).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, value.parse().unwrap());
        }
        let (socket, response) = connect_async(request).await?;
        assert_eq!(response.headers()["x-qwp-version"], "1");
        let mut decoder = Decoder::new(DecoderLimits::default());
        let mut socket = socket;
        let first = timeout(PATIENCE, socket.next()).await.unwrap().unwrap()?;
        let ServerMessage::ServerInfo(info) = decoder.message(&first.into_data()).unwrap() else { panic!("SERVER_INFO comes first") };
        Ok(Client { socket, decoder, info, next_id: 1 })
    }

    /// Sends a query; batches are expected from now on.
    pub async fn ask(&mut self, request: QueryRequest) {
        self.decoder.begin(request.request_id, None).unwrap();
        self.send(&ClientMessage::Query(request)).await;
    }

    pub async fn send(&mut self, message: &ClientMessage) {
        let mut bytes = Vec::new();
        message.encode(&mut bytes);
        self.socket.send(Message::Binary(bytes.into())).await.unwrap();
    }

    /// The next message of the protocol.
    pub async fn next(&mut self) -> ServerMessage {
        self.next_within(PATIENCE).await.expect("a message in time")
    }

    /// The next message of the protocol, or none for so long.
    pub async fn next_within(&mut self, patience: Duration) -> Option<ServerMessage> {
        loop {
            let message = timeout(patience, self.socket.next()).await.ok()?.expect("an open socket").expect("a whole message");
            match message {
                Message::Binary(bytes) => return Some(self.decoder.message(&bytes).expect("it can be decoded")),
                Message::Ping(_) | Message::Pong(_) => {}
                other => panic!("a binary message, not {other:?}"),
            }
        }
    }

    pub async fn batch(&mut self) -> Batch {
        match self.next().await {
            ServerMessage::Batch(batch) => batch,
            other => panic!("a batch, not {other:?}"),
        }
    }

    pub async fn error(&mut self) -> (i64, u8, String) {
        match self.next().await {
            ServerMessage::Error { request_id, status, message } => (request_id, status, message),
            other => panic!("an error, not {other:?}"),
        }
    }

    /// Runs a statement to its end.
    pub async fn rows(&mut self, sql: &str) -> Result<Vec<RecordBatch>, (u8, String)> {
        self.run(query(0, sql)).await
    }

    /// Runs a request to its end, under an id of its own.
    pub async fn run(&mut self, mut request: QueryRequest) -> Result<Vec<RecordBatch>, (u8, String)> {
        request.request_id = self.next_id;
        self.next_id += 1;
        let mut assembler = Assembler::new();
        let mut batches = Vec::new();
        self.ask(request).await;
        loop {
            match self.next().await {
                ServerMessage::Batch(batch) => batches.push(assembler.assemble(batch, self.decoder.dictionary()).unwrap()),
                ServerMessage::CacheReset { .. } => {}
                ServerMessage::End { .. } => return Ok(batches),
                ServerMessage::Error { status, message, .. } => return Err((status, message)),
                other => panic!("{other:?}"),
            }
        }
    }
}
