//! Drives an [`Engine`] natively: its sockets over tokio, its clock, its wake-ups. The terminal commands and the end-to-end tests
//! use it; the page's worker does the same in a browser.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use futures_util::{SinkExt, StreamExt};
use tokio::sync::mpsc;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::WebSocketConfig;

use crate::engine::{Engine, Input, Output, Stage};
use crate::link::{Command, FromWorker, Histogram, State, StoreInfo, TapeRows, ToWorker, ViewFrame};

/// Messages received and not yet taken in; a full queue makes the socket wait, and so the server.
const INPUT_QUEUE: usize = 16;
/// Messages to send. A query, credits and cancels: never many.
const OUTPUT_QUEUE: usize = 256;
/// A batch of a server whose operator raised its buffers.
const MAX_MESSAGE_BYTES: usize = 64 << 20;

/// An engine with its sockets.
pub struct Client {
    /// The engine.
    pub engine: Engine,
    started: Instant,
    inputs: mpsc::Receiver<Input>,
    sender: mpsc::Sender<Input>,
    sockets: HashMap<u32, mpsc::Sender<Vec<u8>>>,
    wake_at: u64,
    next_id: u32,
    answers: HashMap<u32, Result<Box<State>, String>>,
    /// The last frame, as a page would have painted it.
    pub frame: Option<ViewFrame>,
    /// The last state that was posted.
    pub state: Option<Box<State>>,
    /// The last tape that was posted.
    pub tape: Option<Box<TapeRows>>,
    /// The last histogram that was posted.
    pub histogram: Option<Box<Histogram>>,
}

impl Client {
    /// A client of some stores, whose addresses are filled in.
    #[must_use]
    pub fn new(stores: Vec<StoreInfo>, history_budget_bytes: usize) -> Client {
        let (sender, inputs) = mpsc::channel(INPUT_QUEUE);
        let mut client = Client {
            engine: Engine::new(history_budget_bytes),
            started: Instant::now(),
            inputs,
            sender,
            sockets: HashMap::new(),
            wake_at: 0,
            next_id: 1,
            answers: HashMap::new(),
            frame: None,
            state: None,
            tape: None,
            histogram: None,
        };
        client.handle(Input::Message(ToWorker::Start { stores }));
        client
    }

    fn now(&self) -> u64 {
        u64::try_from(self.started.elapsed().as_micros()).unwrap_or(u64::MAX)
    }

    fn handle(&mut self, input: Input) {
        let stage = match input {
            Input::SocketMessage { .. } => Some(Stage::Decode),
            Input::Turn => Some(Stage::Apply),
            _ => None,
        };
        let begun = self.now();
        self.engine.handle(input, begun);
        if let Some(stage) = stage {
            let micros = self.now() - begun;
            self.engine.measured(stage, micros);
        }
        while let Some(output) = self.engine.next_output() {
            self.carry_out(output);
        }
    }

    fn carry_out(&mut self, output: Output) {
        match output {
            Output::Connect { socket, url } => {
                let (sender, receiver) = mpsc::channel(OUTPUT_QUEUE);
                self.sockets.insert(socket, sender);
                tokio::spawn(run_socket(socket, url, receiver, self.sender.clone()));
            }
            Output::Send { socket, bytes } => {
                // A queue that is full belongs to a peer that does not read; its socket is given up.
                let refused = self.sockets.get(&socket).is_some_and(|sender| sender.try_send(bytes).is_err());
                if refused {
                    self.sockets.remove(&socket);
                    // With a full queue of inputs the engine learns it from the silence.
                    let reason = "messages to it are not taken".to_owned();
                    let _ = self.sender.try_send(Input::SocketClosed { socket, code: 1006, reason });
                }
            }
            Output::Close { socket, .. } => {
                self.sockets.remove(&socket);
            }
            Output::Post(FromWorker::Answer { id, result }) => {
                self.answers.insert(id, result);
            }
            Output::Post(FromWorker::State(state)) => self.state = Some(state),
            Output::Post(FromWorker::Tape(tape)) => self.tape = Some(tape),
            Output::Post(FromWorker::Histogram(histogram)) => self.histogram = Some(histogram),
            Output::Post(FromWorker::Ready | FromWorker::Counters(_) | FromWorker::HandedOver(_)) => {}
            Output::Frame(bytes) => {
                if let Ok(frame) = ViewFrame::decode(&bytes) {
                    let sequence = frame.sequence;
                    self.frame = Some(frame);
                    self.engine.handle(Input::Message(ToWorker::FrameAck { sequence, paint_micros: 0 }), self.now());
                }
            }
            Output::WakeAt(at) => self.wake_at = at,
        }
    }

    /// Waits for the next thing that happens and takes it in.
    pub async fn step(&mut self) {
        let wait = Duration::from_micros(self.wake_at.saturating_sub(self.now()));
        let input = tokio::select! {
            biased;
            input = self.inputs.recv() => input.unwrap_or(Input::Turn),
            () = tokio::time::sleep(wait) => Input::Turn,
        };
        let turn = !matches!(input, Input::Turn);
        self.handle(input);
        if turn && self.now() >= self.wake_at {
            self.handle(Input::Turn);
        }
    }

    /// Gives a command; its answer is there later under the number.
    pub fn start(&mut self, command: &Command) -> u32 {
        let id = self.next_id;
        self.next_id += 1;
        self.handle(Input::Message(ToWorker::Request { id, command: command.to_json() }));
        id
    }

    /// Tells the engine something that has no answer.
    pub fn tell(&mut self, message: ToWorker) {
        self.handle(Input::Message(message));
    }

    /// The answer to a command, once.
    pub fn take_answer(&mut self, id: u32) -> Option<Result<Box<State>, String>> {
        self.answers.remove(&id)
    }

    /// Gives a command and waits for its answer, over lost connections too.
    ///
    /// # Errors
    /// The engine's sentence when the command is malformed or makes no sense now.
    pub async fn command(&mut self, command: &Command) -> Result<Box<State>, String> {
        let id = self.start(command);
        self.answer(id).await
    }

    /// The state as it is, with the digest of the book.
    ///
    /// # Errors
    /// None that the engine gives today.
    pub async fn full_state(&mut self) -> Result<Box<State>, String> {
        let id = self.next_id;
        self.next_id += 1;
        self.handle(Input::Message(ToWorker::GetState { id }));
        self.answer(id).await
    }

    async fn answer(&mut self, id: u32) -> Result<Box<State>, String> {
        loop {
            if let Some(answer) = self.take_answer(id) {
                return answer;
            }
            self.step().await;
        }
    }

    /// Runs until the posted state satisfies a condition.
    pub async fn until(&mut self, condition: impl Fn(&State) -> bool) -> Box<State> {
        loop {
            if let Some(state) = self.state.as_ref().filter(|state| condition(state)) {
                return state.clone();
            }
            self.step().await;
        }
    }
}

async fn run_socket(socket: u32, url: String, mut outgoing: mpsc::Receiver<Vec<u8>>, inputs: mpsc::Sender<Input>) {
    let closed = |code: u16, reason: String| Input::SocketClosed { socket, code, reason };
    let config = WebSocketConfig::default().max_message_size(Some(MAX_MESSAGE_BYTES)).max_frame_size(Some(MAX_MESSAGE_BYTES));
    let stream = match tokio_tungstenite::connect_async_with_config(&url, Some(config), true).await {
        Ok((stream, _)) => stream,
        Err(error) => {
            // The engine may be gone, then nobody waits for the news.
            let _ = inputs.send(closed(1006, error.to_string())).await;
            return;
        }
    };
    if inputs.send(Input::SocketOpened { socket }).await.is_err() {
        return;
    }
    let (mut sink, mut stream) = stream.split();
    let end = loop {
        tokio::select! {
            message = stream.next() => {
                let input = match message {
                    Some(Ok(Message::Binary(bytes))) => Input::SocketMessage { socket, bytes: bytes.into() },
                    Some(Ok(Message::Text(_))) => Input::SocketText { socket },
                    Some(Ok(Message::Close(frame))) => break frame.map_or((1005, String::new()), |frame| (frame.code.into(), frame.reason.to_string())),
                    Some(Ok(_)) => continue,
                    Some(Err(error)) => break (1006, error.to_string()),
                    None => break (1006, String::new()),
                };
                if inputs.send(input).await.is_err() {
                    return;
                }
            }
            bytes = outgoing.recv() => match bytes {
                Some(bytes) => {
                    if let Err(error) = sink.send(Message::Binary(bytes.into())).await {
                        break (1006, error.to_string());
                    }
                }
                // Nobody wants the socket any more.
                None => {
                    let _ = sink.close().await;
                    return;
                }
            },
        }
    };
    let _ = inputs.send(closed(end.0, end.1)).await;
}
