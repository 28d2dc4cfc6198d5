//! Endo's CapTP, as its daemon and its clients speak it, without I/O.
//!
//! - [`netstring`]: messages in a stream of bytes.
//! - [`Message`]: one message, read from JSON and written as JSON.
//! - [`Session`]: one connection. It turns messages into calls and outcomes on a [`switchboard::Switchboard`], and
//!   the actions of its side into messages.
//!
//! ```
//! use captp::{Message, Options, Session};
//! use passable::Value;
//! use switchboard::{Action, SideOptions, Switchboard};
//!
//! let mut board = Switchboard::new();
//! let home = board.add(SideOptions::default());
//! let root = board.object(home, 1).unwrap();
//! let mut session = Session::open(&mut board, Value::remotable(root), Options::default()).unwrap();
//!
//! let mut say = |json: &str, board: &mut Switchboard| {
//!     session.receive(board, Message::read(json.as_bytes()).unwrap()).unwrap();
//!     for action in board.take(home) {
//!         if let Action::Deliver { answer, .. } = action {
//!             board.resolve(home, answer, Ok(Value::string("pong")));
//!         }
//!     }
//!     board.give_back(home);
//!     session.flush(board).iter().map(Message::to_json).collect::<Vec<_>>()
//! };
//! let ask = r#"{"type":"CTP_BOOTSTRAP","epoch":0,"questionID":"q-1"}"#;
//! assert_eq!(say(ask, &mut board), [
//!     r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-1","result":{"body":"{\"@qclass\":\"slot\",\"index\":0}","slots":["o+1"]}}"#
//! ]);
//! let ping = r#"{"type":"CTP_CALL","questionID":"q-2","target":"o-1","method":{"body":"[\"ping\",[]]","slots":[]}}"#;
//! assert_eq!(say(ping, &mut board), [
//!     r#"{"type":"CTP_RETURN","epoch":0,"answerID":"q-2","result":{"body":"\"pong\"","slots":[]}}"#
//! ]);
//! ```

#![forbid(unsafe_code)]

mod message;
pub mod netstring;
mod session;
mod slot;
mod tables;
mod violation;

pub use message::{Body, Message};
pub use session::{Options, Session};
pub use slot::{BadSlot, Kind, Slot};
pub use violation::Violation;
