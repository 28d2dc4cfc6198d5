//! Messages to objects that guest code has made, and the interface of the host that runs this code.

use kernel::FormulaId;
use kernel::code::Reference;
use kernel::command::CancelledCode;
use passable::Value;
use vat::Verb;

use super::daemon::Daemon;
use control::exit::Failure;
use control::protocol::CodeCount;

/// The host of guest code, as the other modules of the daemon use it.
pub trait CodeHost: Send + Sync {
    /// Sends a message to an object that code has made. The answer goes to the message's `reply`.
    ///
    /// # Errors
    /// When the code is gone, or too much code is running already.
    fn deliver(&self, letter: ObjectMessage) -> Result<(), Failure>;

    /// Ends the heap of cancelled code, if the code has one. The method does not wait for the end.
    fn cancel(&self, code: &CancelledCode);

    /// Returns the formulas that running code refers to. The garbage collector must keep them.
    fn pins(&self) -> std::collections::BTreeSet<FormulaId>;

    /// Counts the code that has not ended.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn count(&self, daemon: &Daemon) -> Result<CodeCount, Failure>;
}

/// The object that receives a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTarget {
    /// The formula of the code that made the object.
    pub eval: FormulaId,
    /// The heap of the object, if the object exists only there. With `None`, the object also exists in a new heap of
    /// the same code.
    pub heap: Option<u64>,
    /// The object's number in its heap.
    pub number: u32,
}

/// The answer to a message: a value or an error.
pub type MessageAnswer = Result<Value<Reference>, Value<Reference>>;

/// A message to an object that code has made.
pub struct ObjectMessage {
    /// The receiver of the message.
    pub target: MessageTarget,
    /// The sender, which gets the answer: an agent, or other code.
    pub from: FormulaId,
    /// The kind of the call.
    pub verb: Verb,
    /// The arguments of the call.
    pub args: Vec<Value<Reference>>,
    /// The receiver of the answer.
    pub reply: AnswerCallback,
}

/// The receiver of the answer to a message. It takes one answer, from any thread. If it is dropped without an answer,
/// the sender learns that the outcome is unknown.
pub struct AnswerCallback(Option<Box<dyn FnOnce(MessageAnswer) + Send>>);

impl AnswerCallback {
    /// Returns a receiver that passes the answer to a function.
    pub fn new(take: impl FnOnce(MessageAnswer) + Send + 'static) -> AnswerCallback {
        AnswerCallback(Some(Box::new(take)))
    }

    /// Passes the answer on.
    pub fn answer(mut self, told: MessageAnswer) {
        if let Some(take) = self.0.take() {
            take(told);
        }
    }
}

impl AnswerCallback {
    /// Drops the receiver without an answer. The sender already knows that the message was not sent.
    pub fn discard(mut self) {
        self.0 = None;
    }
}

impl Drop for AnswerCallback {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            // The thread that drops the receiver may hold a lock that the answer needs.
            let tell = move || take(Err(restart_error()));
            drop(std::thread::Builder::new().name("vat answer".to_owned()).spawn(tell));
        }
    }
}

impl ObjectMessage {
    /// Answers with an error: the message has no effect.
    pub fn refuse(self, why: &str) {
        self.reply.answer(Err(Value::error("Error", why)));
    }
}

/// The error for a caller whose call went to a heap that is gone. The outcome of the call is unknown.
pub const RESTART_MESSAGE: &str = "vat restarted, outcome unknown";

/// Returns [`RESTART_MESSAGE`] as an error value.
pub fn restart_error<C: Clone + Eq + std::hash::Hash>() -> Value<C> {
    Value::error("Error", RESTART_MESSAGE)
}

/// Returns the versions of the JavaScript engine and of the realm, as one text.
pub fn engine_version() -> String {
    // A test arms this failpoint to simulate a newer version of the program.
    let other = if store::failpoint::is_armed("vat.other_engine") { " of another time" } else { "" };
    format!("quickjs {} realm {}{other}", vat::engine_version(), vat::REALM_VERSION)
}
