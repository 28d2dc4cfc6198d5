//! Messages to objects that code has made, and the port to the host of that code.

use kernel::FormulaId;
use kernel::code::Reference;
use kernel::command::CancelledCode;
use passable::Value;
use vat::Verb;

use super::daemon::Daemon;
use control::exit::Failure;
use control::protocol::CodeCount;

/// The host of guest code, as the rest of the daemon sees it.
pub trait CodeHost: Send + Sync {
    /// Sends a message to an object that code has made. The answer comes to its `reply`.
    ///
    /// # Errors
    /// When the code is gone, or too much code runs already.
    fn deliver(&self, letter: ObjectMessage) -> Result<(), Failure>;

    /// Ends the heap of cancelled code, if there is one. It waits for nothing.
    fn cancel(&self, code: &CancelledCode);

    /// Returns the formulas that code refers to. The collector must keep them.
    fn pins(&self) -> std::collections::BTreeSet<FormulaId>;

    /// Counts the code that has not come to its end.
    ///
    /// # Errors
    /// When the store cannot be read.
    fn count(&self, daemon: &Daemon) -> Result<CodeCount, Failure>;
}

/// The object that gets a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageTarget {
    /// The code.
    pub eval: FormulaId,
    /// The heap, if no other one has the object.
    pub heap: Option<u64>,
    /// The number by which the heap knows the object.
    pub number: u32,
}

/// The answer to a message: a value or an error.
pub type MessageAnswer = Result<Value<Reference>, Value<Reference>>;

/// A message to an object that code has made.
pub struct ObjectMessage {
    /// To which.
    pub target: MessageTarget,
    /// Who sends it, and gets the answer: an agent, or other code.
    pub from: FormulaId,
    /// The kind of the call.
    pub verb: Verb,
    /// The arguments of the call.
    pub args: Vec<Value<Reference>>,
    /// Takes the answer.
    pub reply: AnswerCallback,
}

/// The receiver of the answer to a message. It takes one answer, from any thread. If it is dropped without an answer,
/// the sender learns that the outcome is not known.
pub struct AnswerCallback(Option<Box<dyn FnOnce(MessageAnswer) + Send>>);

impl AnswerCallback {
    /// Returns a receiver that passes the answer to a function.
    pub fn new(take: impl FnOnce(MessageAnswer) + Send + 'static) -> AnswerCallback {
        AnswerCallback(Some(Box::new(take)))
    }

    /// Answers.
    pub fn answer(mut self, told: MessageAnswer) {
        if let Some(take) = self.0.take() {
            take(told);
        }
    }
}

impl AnswerCallback {
    /// Drops the receiver without an answer: the sender knows that the message did not go.
    pub fn discard(mut self) {
        self.0 = None;
    }
}

impl Drop for AnswerCallback {
    fn drop(&mut self) {
        if let Some(take) = self.0.take() {
            // The thread that drops it may hold a lock that the answer needs.
            let tell = move || take(Err(restart_error()));
            drop(std::thread::Builder::new().name("vat answer".to_owned()).spawn(tell));
        }
    }
}

impl ObjectMessage {
    /// Answers that nothing comes of it.
    pub fn refuse(self, why: &str) {
        self.reply.answer(Err(Value::error("Error", why)));
    }
}

/// The error for a caller that waits for a heap that is gone: the outcome of its call is not known.
pub const RESTART_MESSAGE: &str = "vat restarted, outcome unknown";

/// Returns the same as an error.
pub fn restart_error<C: Clone + Eq + std::hash::Hash>() -> Value<C> {
    Value::error("Error", RESTART_MESSAGE)
}

/// Returns the engine and the realm, with their versions.
pub fn engine_version() -> String {
    // As if the program had been replaced by a later one.
    let other = if store::failpoint::is_armed("vat.other_engine") { " of another time" } else { "" };
    format!("quickjs {} realm {}{other}", vat::engine_version(), vat::REALM_VERSION)
}
