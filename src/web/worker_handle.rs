//! The page's side of the worker: spawning, the ready handshake, requests and their answers, the end of a worker.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;

use wasm_bindgen::prelude::Closure;
use wasm_bindgen::{JsCast, JsValue};
use web_sys::{ErrorEvent, MessageEvent, WorkerOptions, WorkerType};

use super::frames::Frames;
use super::thrown;
use crate::link::{FromWorker, Standing, State, ToWorker};

/// What the page hears of its worker, apart from answers and frames.
pub enum WorkerEvent {
    /// It runs; nothing is open in it yet.
    Ready,
    /// The state changed.
    State(Box<State>),
    /// New counters.
    Counters(Box<crate::link::Counters>),
    /// Trades for the tape.
    Tape(Box<crate::link::TapeRows>),
    /// Counts for the timeline.
    Histogram(Box<crate::link::Histogram>),
    /// Where it stands, as it was asked for to be replaced; `None` when nothing is open.
    HandedOver(Option<Standing>),
    /// It trapped, or its script could not be loaded; it is gone.
    Stopped(String),
    /// A message or frame of it could not be read.
    Unreadable(String),
}

/// Called once with the answer to a request.
pub type Answer = Box<dyn FnOnce(Result<Box<State>, String>)>;

/// More unanswered requests than this are refused: somebody asks faster than the worker answers.
const MAX_WAITING: usize = 256;

/// The worker; clones are the same worker.
#[derive(Clone)]
pub struct WorkerHandle(Rc<Handle>);

struct Handle {
    module: JsValue,
    frames: Frames,
    on_event: Box<dyn Fn(WorkerEvent)>,
    running: RefCell<Option<Running>>,
    next_id: Cell<u32>,
    waiting: RefCell<BTreeMap<u32, Answer>>,
}

/// What the browser calls with the worker's messages and with its end.
type Handlers = (Closure<dyn FnMut(MessageEvent)>, Closure<dyn FnMut(ErrorEvent)>);

struct Running {
    worker: web_sys::Worker,
    ready: bool,
    /// Messages for a worker that is not ready; sent earlier they would be lost. Bounded by [`MAX_WAITING`].
    queue: VecDeque<ToWorker>,
    handlers: Handlers,
}

impl WorkerHandle {
    /// Spawns a worker from the compiled module.
    #[must_use]
    pub fn spawn(module: JsValue, frames: Frames, on_event: impl Fn(WorkerEvent) + 'static) -> WorkerHandle {
        let handle = WorkerHandle(Rc::new(Handle {
            module,
            frames: frames.clone(),
            on_event: Box::new(on_event),
            running: RefCell::default(),
            next_id: Cell::new(1),
            waiting: RefCell::default(),
        }));
        let acknowledger = Rc::downgrade(&handle.0);
        frames.set_on_painted(move |painted| {
            let Some(handle) = acknowledger.upgrade() else { return };
            match painted.result {
                Ok((sequence, paint_micros)) => handle.acknowledge(&ToWorker::FrameAck { sequence, paint_micros }, &painted.buffer),
                Err(error) => (handle.on_event)(WorkerEvent::Unreadable(error.to_string())),
            }
        });
        handle.start();
        handle
    }

    /// Ends the worker, if one runs, and starts another. Its state is gone; requests without an answer are refused.
    pub fn restart(&self) {
        self.0.stop("the worker was restarted");
        self.start();
    }

    fn start(&self) {
        match self.try_start() {
            Ok(running) => *self.0.running.borrow_mut() = Some(running),
            Err(error) => (self.0.on_event)(WorkerEvent::Stopped(thrown(&error))),
        }
    }

    fn try_start(&self) -> Result<Running, JsValue> {
        let options = WorkerOptions::new();
        options.set_type(WorkerType::Module);
        let worker = web_sys::Worker::new_with_options("./worker.js", &options)?;
        let handle = Rc::downgrade(&self.0);
        let message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            if let Some(handle) = handle.upgrade() {
                handle.message(event.data());
            }
        });
        let handle = Rc::downgrade(&self.0);
        let error = Closure::<dyn FnMut(ErrorEvent)>::new(move |event: ErrorEvent| {
            if let Some(handle) = handle.upgrade() {
                // A script that could not be loaded comes as a bare event without these.
                let text = |name: &str| js_sys::Reflect::get(&event, &JsValue::from_str(name)).ok().and_then(|value| value.as_string());
                let detail = [text("message"), text("filename")].into_iter().flatten().collect::<Vec<_>>().join(" in ");
                handle.stop("the worker stopped");
                (handle.on_event)(WorkerEvent::Stopped(detail));
            }
        });
        worker.set_onmessage(Some(message.as_ref().unchecked_ref()));
        worker.set_onerror(Some(error.as_ref().unchecked_ref()));
        worker.post_message(&self.0.module)?;
        Ok(Running { worker, ready: false, queue: VecDeque::new(), handlers: (message, error) })
    }

    /// Sends a message that has no answer; kept until the worker is ready.
    pub fn send(&self, message: ToWorker) {
        self.0.send(message);
    }

    /// Sends a command; `answer` is called once, also when the worker ends first.
    pub fn request(&self, command: serde_json::Value, answer: Answer) {
        self.ask(|id| ToWorker::Request { id, command }, answer);
    }

    /// Asks for the state with its digest.
    pub fn get_state(&self, answer: Answer) {
        self.ask(|id| ToWorker::GetState { id }, answer);
    }

    fn ask(&self, message: impl FnOnce(u32) -> ToWorker, answer: Answer) {
        if self.0.running.borrow().is_none() {
            return answer(Err("the worker stopped; restart it or reload the page".to_owned()));
        }
        if self.0.waiting.borrow().len() >= MAX_WAITING {
            return answer(Err(format!("{MAX_WAITING} requests wait for their answers; try again when some came")));
        }
        let id = self.0.next_id.get();
        self.0.next_id.set(id.wrapping_add(1));
        self.0.waiting.borrow_mut().insert(id, answer);
        self.0.send(message(id));
    }
}

impl Handle {
    fn send(&self, message: ToWorker) {
        let mut running = self.running.borrow_mut();
        match running.as_mut() {
            Some(running) if running.ready => post(&running.worker, &message),
            Some(running) if running.queue.len() < MAX_WAITING => running.queue.push_back(message),
            _ => {}
        }
    }

    fn acknowledge(&self, message: &ToWorker, buffer: &js_sys::ArrayBuffer) {
        let running = self.running.borrow();
        let Some(running) = running.as_ref().filter(|running| running.ready) else { return };
        if let Ok(text) = serde_json::to_string(message) {
            let pair = js_sys::Array::of2(&JsValue::from_str(&text), buffer);
            let _ = running.worker.post_message_with_transfer(&pair, &js_sys::Array::of1(buffer));
        }
    }

    /// A frame's buffer, JSON text, or that text with a buffer: a checkpoint.
    fn message(&self, data: JsValue) {
        let data = match data.dyn_into::<js_sys::ArrayBuffer>() {
            Ok(buffer) => return self.frames.push(buffer),
            Err(data) => data,
        };
        let (text, buffer) = match data.dyn_ref::<js_sys::Array>() {
            None => (data.as_string(), None),
            Some(pair) => (pair.get(0).as_string(), pair.get(1).dyn_into::<js_sys::ArrayBuffer>().ok()),
        };
        let text = text.unwrap_or_default();
        match serde_json::from_str::<FromWorker>(&text) {
            Ok(FromWorker::Ready) => {
                if let Some(running) = self.running.borrow_mut().as_mut() {
                    running.ready = true;
                    for message in running.queue.drain(..) {
                        post(&running.worker, &message);
                    }
                }
                (self.on_event)(WorkerEvent::Ready);
            }
            Ok(FromWorker::State(state)) => (self.on_event)(WorkerEvent::State(state)),
            Ok(FromWorker::Counters(counters)) => (self.on_event)(WorkerEvent::Counters(counters)),
            Ok(FromWorker::Tape(rows)) => (self.on_event)(WorkerEvent::Tape(rows)),
            Ok(FromWorker::Histogram(histogram)) => (self.on_event)(WorkerEvent::Histogram(histogram)),
            Ok(FromWorker::HandedOver(mut standing)) => {
                if let (Some(standing), Some(buffer)) = (&mut standing, buffer) {
                    standing.checkpoint = js_sys::Uint8Array::new(&buffer).to_vec();
                }
                (self.on_event)(WorkerEvent::HandedOver(standing));
            }
            Ok(FromWorker::Answer { id, result }) => {
                // Taken out first: the answer may ask again.
                let answer = self.waiting.borrow_mut().remove(&id);
                if let Some(answer) = answer {
                    answer(result);
                }
            }
            Err(error) => (self.on_event)(WorkerEvent::Unreadable(error.to_string())),
        }
    }

    fn stop(&self, why: &str) {
        if let Some(running) = self.running.borrow_mut().take() {
            running.worker.set_onmessage(None);
            running.worker.set_onerror(None);
            running.worker.terminate();
            // Its handlers may be running just now; the browser drops them with the worker.
            let (message, error) = running.handlers;
            message.forget();
            error.forget();
        }
        let waiting = std::mem::take(&mut *self.waiting.borrow_mut());
        for answer in waiting.into_values() {
            answer(Err(why.to_owned()));
        }
    }
}

fn post(worker: &web_sys::Worker, message: &ToWorker) {
    let Ok(text) = serde_json::to_string(message) else { return };
    let text = JsValue::from_str(&text);
    let _ = match message {
        ToWorker::TakeOver(standing) => {
            let buffer = js_sys::Uint8Array::from(standing.checkpoint.as_slice()).buffer();
            worker.post_message_with_transfer(&js_sys::Array::of2(&text, &buffer), &js_sys::Array::of1(&buffer))
        }
        _ => worker.post_message(&text),
    };
}
