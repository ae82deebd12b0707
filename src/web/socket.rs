//! One WebSocket. Bytes are handed on inside the browser's own event, so that a busy worker holds the sender back.

use std::rc::Rc;

use wasm_bindgen::JsCast;
use wasm_bindgen::prelude::Closure;
use web_sys::{BinaryType, CloseEvent, MessageEvent, WebSocket};

use super::thrown;

/// What happens on a socket.
pub enum SocketEvent {
    /// It can be written to.
    Open,
    /// A whole binary message.
    Message(Vec<u8>),
    /// A text message; what it says is of no use to a binary protocol.
    Text,
    /// It is closed, by whomever; nothing follows.
    Closed {
        /// Close code; 1006 where the connection ended without one.
        code: u16,
        /// The peer's words, often none.
        reason: String,
    },
}

/// What the browser calls: on open, on a message, on close.
type Handlers = (Closure<dyn FnMut()>, Closure<dyn FnMut(MessageEvent)>, Closure<dyn FnMut(CloseEvent)>);

/// A WebSocket with its handlers. Dropping it closes it and silences it.
pub struct Socket {
    socket: WebSocket,
    _handlers: Handlers,
}

impl Socket {
    /// Begins to connect.
    ///
    /// # Errors
    /// The browser's words when it refuses the address before trying it.
    pub fn connect(url: &str, on_event: Rc<dyn Fn(SocketEvent)>) -> Result<Socket, String> {
        let socket = WebSocket::new(url).map_err(|error| thrown(&error))?;
        socket.set_binary_type(BinaryType::Arraybuffer);
        let (opened, received) = (Rc::clone(&on_event), Rc::clone(&on_event));
        let open = Closure::<dyn FnMut()>::new(move || opened(SocketEvent::Open));
        let message = Closure::<dyn FnMut(MessageEvent)>::new(move |event: MessageEvent| {
            received(match event.data().dyn_ref::<js_sys::ArrayBuffer>() {
                Some(buffer) => SocketEvent::Message(js_sys::Uint8Array::new(buffer).to_vec()),
                None => SocketEvent::Text,
            });
        });
        // An error event says nothing that the close event after it does not.
        let close = Closure::<dyn FnMut(CloseEvent)>::new(move |event: CloseEvent| {
            on_event(SocketEvent::Closed { code: event.code(), reason: event.reason() });
        });
        socket.set_onopen(Some(open.as_ref().unchecked_ref()));
        socket.set_onmessage(Some(message.as_ref().unchecked_ref()));
        socket.set_onclose(Some(close.as_ref().unchecked_ref()));
        Ok(Socket { socket, _handlers: (open, message, close) })
    }

    /// Sends one binary message.
    ///
    /// # Errors
    /// The browser's words when the socket is not open yet.
    pub fn send(&self, bytes: &[u8]) -> Result<(), String> {
        self.socket.send_with_u8_array(bytes).map_err(|error| thrown(&error))
    }

    /// Closes with a code; what may not be sent from a page (only 1000 and 3000 to 4999 may) becomes 1000.
    pub fn close(&self, code: u16) {
        let code = if code == 1000 || (3000..5000).contains(&code) { code } else { 1000 };
        // A socket that is already closing refuses nothing; one that never opened is aborted.
        let _ = self.socket.close_with_code(code);
    }
}

impl Drop for Socket {
    fn drop(&mut self) {
        self.socket.set_onopen(None);
        self.socket.set_onmessage(None);
        self.socket.set_onclose(None);
        self.close(1000);
    }
}
