//! The frame loop: the newest picture waits in a cell, the browser's frame callback paints it, the worker is told.
//!
//! The only place that asks for an animation frame. A callback is requested when a picture came, not sixty times a second: a page
//! that stands still costs nothing. What the painters do goes straight to the DOM, past every signal.

use std::cell::{Cell, RefCell};
use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;

use crate::link::{FrameError, ViewFrame};

/// Called with each painted picture.
type Painter = Box<dyn FnMut(&ViewFrame)>;

/// Called when a picture left the loop.
type OnPainted = Box<dyn Fn(Painted)>;

/// How a picture left the loop.
pub struct Painted {
    /// The buffer, to be handed back.
    pub buffer: js_sys::ArrayBuffer,
    /// The picture's number and how long painting took in microseconds, or why its bytes could not be read.
    pub result: Result<(u32, u32), FrameError>,
}

/// The frame loop; clones are the same loop.
#[derive(Clone)]
pub struct Frames(Rc<Loop>);

struct Loop {
    window: web_sys::Window,
    waiting: RefCell<Option<js_sys::ArrayBuffer>>,
    last: RefCell<Option<ViewFrame>>,
    painters: RefCell<Vec<Painter>>,
    scheduled: Cell<bool>,
    on_painted: RefCell<Option<OnPainted>>,
    callback: RefCell<Option<Closure<dyn FnMut()>>>,
}

impl Frames {
    /// A loop without painters.
    #[must_use]
    pub fn new(window: web_sys::Window) -> Frames {
        let frames = Frames(Rc::new(Loop {
            window,
            waiting: RefCell::default(),
            last: RefCell::default(),
            painters: RefCell::default(),
            scheduled: Cell::default(),
            on_painted: RefCell::default(),
            callback: RefCell::default(),
        }));
        let weak = Rc::downgrade(&frames.0);
        let callback = Closure::new(move || {
            if let Some(frames) = weak.upgrade() {
                frames.paint();
            }
        });
        *frames.0.callback.borrow_mut() = Some(callback);
        frames
    }

    /// Adds a painter; it sees the last picture at once, and every later one until the page ends.
    pub fn add_painter(&self, mut painter: impl FnMut(&ViewFrame) + 'static) {
        if let Some(frame) = self.0.last.borrow().as_ref() {
            painter(frame);
        }
        self.0.painters.borrow_mut().push(Box::new(painter));
    }

    /// Sets who hears of painted pictures.
    pub(super) fn set_on_painted(&self, on_painted: impl Fn(Painted) + 'static) {
        *self.0.on_painted.borrow_mut() = Some(Box::new(on_painted));
    }

    /// Takes a picture's bytes; they are read and painted in the next frame callback. A picture that still waits is replaced.
    pub(super) fn push(&self, buffer: js_sys::ArrayBuffer) {
        *self.0.waiting.borrow_mut() = Some(buffer);
        if !self.0.scheduled.replace(true)
            && let Some(callback) = self.0.callback.borrow().as_ref()
        {
            let asked = self.0.window.request_animation_frame(callback.as_ref().unchecked_ref());
            self.0.scheduled.set(asked.is_ok());
        }
    }

    /// The picture on screen.
    pub fn with_last<T>(&self, read: impl FnOnce(Option<&ViewFrame>) -> T) -> T {
        read(self.0.last.borrow().as_ref())
    }
}

impl Loop {
    fn paint(&self) {
        self.scheduled.set(false);
        let Some(buffer) = self.waiting.borrow_mut().take() else { return };
        let started = self.now();
        let result = ViewFrame::decode(&js_sys::Uint8Array::new(&buffer).to_vec()).map(|frame| {
            for painter in self.painters.borrow_mut().iter_mut() {
                painter(&frame);
            }
            let sequence = frame.sequence;
            *self.last.borrow_mut() = Some(frame);
            (sequence, ((self.now() - started) * 1000.0) as u32)
        });
        if let Some(on_painted) = self.on_painted.borrow().as_ref() {
            on_painted(Painted { buffer, result });
        }
    }

    /// Milliseconds of the page's clock.
    fn now(&self) -> f64 {
        self.window.performance().map_or(0.0, |performance| performance.now())
    }
}
