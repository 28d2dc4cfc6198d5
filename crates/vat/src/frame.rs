//! The messages between a vat and its host, in frames.
//!
//! Values travel as they are stored, as smallcaps with slots. Slots say where a thing lives, so they mean the same on
//! both sides. The receiver of a value counts each of its slots once. When it releases a thing, it reports that
//! count. So a reference that is on its way meanwhile is not lost.

use std::collections::BTreeMap;
use std::io::Read;

pub use framing::FrameError;
use framing::Frames;
use passable::Value;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{FaultKind, Limits, Modules};

/// The most bytes of one frame, either way. A vat's own limit on messages is lower.
pub const MAX_FRAME: usize = 64 << 20;

const FRAMES: Frames = Frames::up_to(MAX_FRAME);

/// The number by which the host knows a vat.
pub type VatId = u32;

/// A thing, by where it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Slot {
    /// An object or promise of the host's side, by the host's number.
    #[serde(rename = "h")]
    Host(u32),
    /// An object or promise of the vat, by the vat's number.
    #[serde(rename = "v")]
    Vat(u32),
    /// The future answer to a send of the vat.
    #[serde(rename = "q")]
    Question(u32),
    /// The future answer to an order of the host.
    #[serde(rename = "a")]
    Answer(u32),
}

/// A method's name.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Name {
    /// Any text.
    Text(String),
    /// A registered or well-known symbol, by its passable name, such as `@@asyncIterator`.
    Symbol(String),
}

/// The operation that a message asks of an object.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Verb {
    /// Call a method.
    Call(Name),
    /// Call the object itself.
    Apply,
    /// Read a property.
    Get(Name),
}

/// The outcome of a call or a promise: a result or a thrown value.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// The result.
    Ok(Value<Slot>),
    /// The thrown value.
    Err(Value<Slot>),
}

/// Where in the guest's source an error arose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in the engine's way of counting.
    pub column: u32,
    /// That line of the source, cut to a bounded length, made safe to show. Empty if it is not known which source of
    /// several it was, or a source map does not have it.
    pub excerpt: String,
    /// The module that it is in, or the module's original file, if a source map names it; `None` for source text that
    /// was evaluated as it was written. A name out of the guest's own program, made safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

impl Place {
    /// `eval.js:3:5`, or `src/index.js:3:5` in a module.
    pub fn label(&self) -> String {
        let file = self.module.as_deref().unwrap_or("eval.js");
        format!("{file}:{}:{}", self.line, self.column)
    }
}

/// An order of a host to a vat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Make a vat of this number.
    Open {
        /// Its number; none that is in use.
        vat: VatId,
        /// Its limits.
        limits: Limits,
    },
    /// Evaluate source text.
    Evaluate {
        /// The vat.
        vat: VatId,
        /// The number of the answer, which must not be in use. The vat keeps the outcome, for messages to it, until
        /// it is dropped.
        answer: u32,
        /// The value of `$id` in the code.
        id: String,
        /// The source.
        source: String,
        /// The names of the endowments.
        names: Vec<String>,
        /// An array with the endowments.
        values: Value<Slot>,
    },
    /// Run a program of modules, and call the `make` that its first module exports:
    /// `make(powers, context, { env, state })`. The context is made in the vat: it says the program's identity, tells of
    /// its cancellation as `$cancelled` does, and sends `cancel` to the program's own object.
    Make {
        /// The vat.
        vat: VatId,
        /// The number of the answer, as for [`Order::Evaluate`].
        answer: u32,
        /// The `id` that the context gives.
        id: String,
        /// The modules. Each such order runs them anew; none sees those of another.
        modules: Modules,
        /// The entries of `env`.
        env: BTreeMap<String, String>,
        /// The first argument. Its slots are counted by themselves, as are those of the second.
        powers: Value<Slot>,
        /// The program's own object on the host's side: `state`, to which the context's `cancel` is sent as well.
        own: Value<Slot>,
    },
    /// Deliver a message to one of the vat's objects.
    Deliver {
        /// The vat.
        vat: VatId,
        /// The number of the answer, if one is wanted.
        answer: Option<u32>,
        /// [`Slot::Vat`] or [`Slot::Answer`].
        target: Slot,
        /// The operation.
        verb: Verb,
        /// An array with the arguments.
        args: Value<Slot>,
    },
    /// Settle a promise of the host's side: [`Slot::Host`] or [`Slot::Question`]. The vat says with [`Report::Dropped`]
    /// that nothing more will be sent to it.
    Settle {
        /// The vat.
        vat: VatId,
        /// The promise.
        promise: Slot,
        /// The outcome of the promise.
        outcome: Outcome,
    },
    /// Let go of the vat's objects, each with the count of times that it was received, and of answers.
    Drop {
        /// The vat.
        vat: VatId,
        /// Number and count.
        exports: Vec<(u32, u32)>,
        /// Numbers of answers.
        answers: Vec<u32>,
    },
    /// Reject `$cancelled`.
    Cancel {
        /// The vat.
        vat: VatId,
        /// Why.
        reason: Value<Slot>,
    },
    /// End a vat.
    Close {
        /// The vat.
        vat: VatId,
    },
    /// Ask whether the process is alive.
    Ping {
        /// Anything; comes back.
        number: u32,
    },
}

/// How loud a line of the console is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Level {
    /// `console.debug`
    Debug,
    /// `console.log`
    Log,
    /// `console.info`
    Info,
    /// `console.warn`
    Warn,
    /// `console.error`
    Error,
}

/// A report of a vat to its host.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Report {
    /// The vat is there.
    Ready {
        /// The vat.
        vat: VatId,
    },
    /// The vat sends a message.
    Send {
        /// The vat.
        vat: VatId,
        /// [`Slot::Host`] or [`Slot::Question`].
        target: Slot,
        /// The operation.
        verb: Verb,
        /// An array with the arguments.
        args: Value<Slot>,
        /// The number of the answer, if one is wanted.
        question: Option<u32>,
    },
    /// The answer to an order.
    Answer {
        /// The vat.
        vat: VatId,
        /// The number that the order gave it.
        answer: u32,
        /// The outcome of the order.
        outcome: Outcome,
        /// For an error: where it arose, if that is known.
        place: Option<Place>,
    },
    /// A promise of the vat that the host holds is settled.
    Resolve {
        /// The vat.
        vat: VatId,
        /// Its number.
        promise: u32,
        /// The outcome of the promise.
        outcome: Outcome,
    },
    /// An object of the vat's that goes out has a guard. This report comes before the value that holds the object.
    Guard {
        /// The vat.
        vat: VatId,
        /// The object's number.
        export: u32,
        /// The guard, as Endo writes it: `guard:interfaceGuard`, without references.
        guard: Value<Slot>,
    },
    /// The vat let go of things of the host's side.
    Dropped {
        /// The vat.
        vat: VatId,
        /// Number and count of times that it was received.
        imports: Vec<(u32, u32)>,
        /// Questions that nothing will be sent to any more.
        questions: Vec<u32>,
    },
    /// The vat writes to its console.
    Console {
        /// The vat.
        vat: VatId,
        /// How loud.
        level: Level,
        /// The line; foreign text.
        text: String,
    },
    /// The vat is gone.
    Fault {
        /// The vat.
        vat: VatId,
        /// Why.
        kind: FaultKind,
        /// One plain line.
        line: String,
    },
    /// An order is done with: nothing more comes from this vat until the next one.
    Idle {
        /// The vat.
        vat: VatId,
        /// Bytes of its heap in use.
        memory: u64,
    },
    /// The vat was closed.
    Closed {
        /// The vat.
        vat: VatId,
    },
    /// The process is alive.
    Pong {
        /// The number of the ping.
        number: u32,
    },
    /// An order made no sense; nothing came of it.
    Refused {
        /// The error, in one line.
        line: String,
    },
}

/// Returns the bytes of a frame.
///
/// # Errors
/// [`FrameError::TooLarge`] and [`FrameError::Unwritable`].
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    FRAMES.encode(message)
}

/// Reads a frame, or `None` where the stream ends between frames.
///
/// # Errors
/// Those of [`FrameError`]; after one of them the stream is of no more use.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> Result<Option<T>, FrameError> {
    FRAMES.read(stream)
}

/// Reads a frame of at most `most` bytes, which is asked for once a frame is announced; gives its length as well.
pub(crate) fn read_sized<T: DeserializeOwned>(
    stream: &mut impl Read,
    most: impl FnOnce() -> usize,
) -> Result<Option<(T, usize)>, FrameError> {
    FRAMES.read_within(stream, most)
}
