//! The worker's entry point and loop: what the browser reports becomes an [`Input`] of the engine, what the engine answers is done.
//!
//! Everything runs inside the event that caused it. While the engine has work left it asks to be woken at once; that goes through a
//! message channel, so sockets and the page's messages get their turn in between and no timer delay (4 ms in browsers) is lost.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, VecDeque};
use std::rc::Rc;

use wasm_bindgen::prelude::{Closure, wasm_bindgen};
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{DedicatedWorkerGlobalScope, MessageChannel, MessageEvent, MessagePort, Performance};

use super::socket::{Socket, SocketEvent};
use super::thrown;
use crate::engine::{Engine, HISTORY_BUDGET_BYTES, Input, Output, Stage};
use crate::link::{FromWorker, ToWorker};

/// Runs this instance of the module as the page's worker. The worker's script calls it once, after initialising the module.
///
/// # Errors
/// When it runs anywhere but in a dedicated worker; the page then reports that the worker stopped.
#[wasm_bindgen]
pub fn worker() -> Result<(), JsValue> {
    console_error_panic_hook::set_once();
    let scope: DedicatedWorkerGlobalScope =
        js_sys::global().dyn_into().map_err(|_| JsValue::from_str("worker() was called outside of a dedicated worker"))?;
    let performance = scope.performance().ok_or_else(|| JsValue::from_str("this worker has no clock (performance.now)"))?;
    let channel = MessageChannel::new()?;
    let worker = Rc::new(Worker {
        engine: RefCell::new(Engine::new(HISTORY_BUDGET_BYTES)),
        scope,
        performance,
        sockets: RefCell::default(),
        retired: RefCell::default(),
        spare: RefCell::default(),
        timer: Cell::default(),
        turn_posted: Cell::default(),
        turn_port: channel.port2(),
        waker: RefCell::default(),
    });

    let at_timer = Rc::clone(&worker);
    let waker = Closure::<dyn FnMut()>::new(move || {
        at_timer.timer.set(None);
        at_timer.take(Input::Turn);
    });
    *worker.waker.borrow_mut() = Some(waker);
    let at_turn = Rc::clone(&worker);
    let turn = Closure::<dyn FnMut()>::new(move || {
        at_turn.turn_posted.set(false);
        at_turn.take(Input::Turn);
    });
    channel.port1().set_onmessage(Some(turn.as_ref().unchecked_ref()));
    let at_message = Rc::clone(&worker);
    let message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| at_message.message(&event.data()));
    worker.scope.set_onmessage(Some(message.as_ref().unchecked_ref()));
    // Both live as long as the worker, which ends by being terminated.
    turn.forget();
    message.forget();

    worker.post(&FromWorker::Ready);
    worker.take(Input::Turn);
    Ok(())
}

struct Worker {
    engine: RefCell<Engine>,
    scope: DedicatedWorkerGlobalScope,
    performance: Performance,
    sockets: RefCell<HashMap<u32, Socket>>,
    /// Closed sockets, kept until the next turn: a socket can be closed from within its own handler.
    retired: RefCell<Vec<Socket>>,
    /// The frame buffer that came back with the last acknowledgement.
    spare: RefCell<Option<js_sys::ArrayBuffer>>,
    timer: Cell<Option<i32>>,
    turn_posted: Cell<bool>,
    turn_port: MessagePort,
    waker: RefCell<Option<Closure<dyn FnMut()>>>,
}

impl Worker {
    /// A message of the page: JSON text, or that text with a buffer: of a painted frame, or a checkpoint.
    fn message(self: &Rc<Self>, data: &JsValue) {
        let (text, buffer) = match data.dyn_ref::<js_sys::Array>() {
            None => (data.as_string(), None),
            Some(pair) => (pair.get(0).as_string(), pair.get(1).dyn_into::<js_sys::ArrayBuffer>().ok()),
        };
        match text.as_deref().map(serde_json::from_str::<ToWorker>) {
            Some(Ok(mut message)) => {
                match (&mut message, buffer) {
                    (ToWorker::TakeOver(standing), Some(buffer)) => standing.checkpoint = js_sys::Uint8Array::new(&buffer).to_vec(),
                    (_, Some(buffer)) => *self.spare.borrow_mut() = Some(buffer),
                    (_, None) => {}
                }
                self.take(Input::Message(message));
            }
            // Page and worker come from one build; what cannot be read ends the worker where the page can see it.
            Some(Err(error)) => wasm_bindgen::throw_str(&format!("a message of the page could not be read: {error}")),
            None => wasm_bindgen::throw_str("a message of the page was neither text nor text with a buffer"),
        }
    }

    /// Hands an input to the engine and does all that follows from it.
    fn take(self: &Rc<Self>, input: Input) {
        self.retired.borrow_mut().clear();
        let mut inputs = VecDeque::from([input]);
        while let Some(input) = inputs.pop_front() {
            self.timed(input);
            loop {
                let output = self.engine.borrow_mut().next_output();
                match output {
                    Some(output) => inputs.extend(self.carry_out(output)),
                    None => break,
                }
            }
        }
    }

    /// Hands an input to the engine and tells it how long decoding or applying rows took.
    fn timed(&self, input: Input) {
        let mut engine = self.engine.borrow_mut();
        let stage = match input {
            Input::SocketMessage { .. } => Some(Stage::Decode),
            Input::Turn => Some(Stage::Apply),
            _ => None,
        };
        let progress = |engine: &Engine| match stage {
            Some(Stage::Decode) => i128::from(engine.rows_decoded()),
            Some(Stage::Apply) => i128::from(engine.player().applied()),
            None => 0,
        };
        let (before, started) = (progress(&engine), micros(&self.performance));
        if let Some(bytes) = memory_bytes() {
            engine.set_wasm_bytes(bytes);
        }
        engine.handle(input, started);
        if let Some(stage) = stage
            && progress(&engine) != before
        {
            engine.measured(stage, micros(&self.performance).saturating_sub(started));
        }
    }

    /// Does what the engine asks; answers with the input that follows at once, if any.
    fn carry_out(self: &Rc<Self>, output: Output) -> Option<Input> {
        match output {
            Output::Connect { socket, url } => {
                let worker = Rc::clone(self);
                let on_event = Rc::new(move |event| worker.socket_event(socket, event));
                match Socket::connect(&url, on_event) {
                    Ok(opened) => {
                        self.sockets.borrow_mut().insert(socket, opened);
                    }
                    Err(reason) => return Some(Input::SocketClosed { socket, code: 1006, reason }),
                }
            }
            Output::Send { socket, bytes } => {
                let sent = self.sockets.borrow().get(&socket).map(|open| open.send(&bytes));
                if let Some(Err(reason)) = sent {
                    self.retire(socket);
                    return Some(Input::SocketClosed { socket, code: 1006, reason });
                }
            }
            Output::Close { socket, code } => {
                if let Some(open) = self.sockets.borrow().get(&socket) {
                    open.close(code);
                }
                self.retire(socket);
            }
            Output::Post(message) => self.post(&message),
            Output::Frame(bytes) => self.frame(&bytes),
            Output::WakeAt(at) => self.wake_at(at),
        }
        None
    }

    fn socket_event(self: &Rc<Self>, socket: u32, event: SocketEvent) {
        self.take(match event {
            SocketEvent::Open => Input::SocketOpened { socket },
            SocketEvent::Message(bytes) => Input::SocketMessage { socket, bytes },
            SocketEvent::Text => Input::SocketText { socket },
            SocketEvent::Closed { code, reason } => {
                self.retire(socket);
                Input::SocketClosed { socket, code, reason }
            }
        });
        // What came is decoded; applying it is a call of its own.
        self.take(Input::Turn);
    }

    fn retire(&self, socket: u32) {
        let closed = self.sockets.borrow_mut().remove(&socket);
        self.retired.borrow_mut().extend(closed);
    }

    fn post(&self, message: &FromWorker) {
        let sent = serde_json::to_string(message).map_err(|error| error.to_string()).and_then(|text| {
            let text = JsValue::from_str(&text);
            let sent = match message {
                FromWorker::HandedOver(Some(standing)) => {
                    let buffer = js_sys::Uint8Array::from(standing.checkpoint.as_slice()).buffer();
                    let pair = js_sys::Array::of2(&text, &buffer);
                    self.scope.post_message_with_transfer(&pair, &js_sys::Array::of1(&buffer))
                }
                _ => self.scope.post_message(&text),
            };
            sent.map_err(|error| thrown(&error))
        });
        if let Err(error) = sent {
            wasm_bindgen::throw_str(&format!("a message to the page could not be sent: {error}"));
        }
    }

    fn frame(&self, bytes: &[u8]) {
        let length = bytes.len() as u32;
        let spare = self.spare.borrow_mut().take().filter(|spare| spare.byte_length() == length);
        let buffer = spare.unwrap_or_else(|| js_sys::ArrayBuffer::new(length));
        js_sys::Uint8Array::new(&buffer).copy_from(bytes);
        let transfer = js_sys::Array::of1(&buffer);
        if let Err(error) = self.scope.post_message_with_transfer(&buffer, &transfer) {
            wasm_bindgen::throw_str(&format!("a frame could not be sent to the page: {}", thrown(&error)));
        }
    }

    fn wake_at(&self, at: u64) {
        if let Some(timer) = self.timer.take() {
            self.scope.clear_timeout_with_handle(timer);
        }
        let wait = at.saturating_sub(micros(&self.performance));
        if wait == 0 {
            // One message is enough, however often it is asked for.
            if !self.turn_posted.replace(true) {
                let _ = self.turn_port.post_message(&JsValue::NULL);
            }
            return;
        }
        let waker = self.waker.borrow();
        let Some(waker) = waker.as_ref() else { return };
        // Rounded up: a turn before its time would only ask again.
        let wait_millis = i32::try_from(wait.div_ceil(1000)).unwrap_or(i32::MAX);
        let timer = self.scope.set_timeout_with_callback_and_timeout_and_arguments_0(waker.as_ref().unchecked_ref(), wait_millis);
        self.timer.set(timer.ok());
    }
}

/// The monotonic clock in microseconds since the worker began.
fn micros(performance: &Performance) -> u64 {
    (performance.now() * 1000.0) as u64
}

fn memory_bytes() -> Option<u64> {
    let memory: js_sys::WebAssembly::Memory = wasm_bindgen::memory().dyn_into().ok()?;
    let buffer: js_sys::ArrayBuffer = memory.buffer().dyn_into().ok()?;
    Some(u64::from(buffer.byte_length()))
}
