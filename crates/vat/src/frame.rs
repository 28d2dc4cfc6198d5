//! The messages between a vat and its host, in frames.
//!
//! Values have the same form as in the store: smallcaps with slots. A slot says on which side an object lives, so it
//! means the same on both sides. The receiver of a value counts each of its slots once. When it releases an object,
//! it reports that count. So a reference that is on its way in the meantime is not lost.

use std::collections::BTreeMap;
use std::io::Read;

pub use framing::FrameError;
use framing::Frames;
use passable::Value;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::{FaultKind, Limits, Modules};

/// The maximum size of one frame in bytes, in both directions. A vat's own limit on messages is lower.
pub const MAX_FRAME: usize = 64 << 20;

const FRAMES: Frames = Frames::up_to(MAX_FRAME);

/// The number by which the host knows a vat.
pub type VatId = u32;

/// An object, promise or answer, named by the side on which it lives.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Slot {
    /// An object or promise of the host's side, by the host's number.
    #[serde(rename = "h")]
    Host(u32),
    /// An object or promise of the vat, by the vat's number.
    #[serde(rename = "v")]
    Vat(u32),
    /// The future answer to a message that the vat sent.
    #[serde(rename = "q")]
    Question(u32),
    /// The future answer to an order of the host.
    #[serde(rename = "a")]
    Answer(u32),
}

/// The name of a method or property.
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
    /// The call of a method.
    Call(Name),
    /// The call of the object as a function.
    Apply,
    /// The read of a property.
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

/// A place in the guest's source where an error arose.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// The line, counted from 1.
    pub line: u32,
    /// The column, counted from 1 in the engine's units.
    pub column: u32,
    /// The line of the source, cut to a bounded length and made safe to show. Empty if it is unknown which of several
    /// sources it was, or if a source map lacks the source.
    pub excerpt: String,
    /// The name of the module, or of the module's original file if a source map names one. `None` for source text
    /// that was evaluated as it was written. The name comes from the guest's own program and is made safe to show.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
}

impl Place {
    /// Returns the place as a label: `eval.js:3:5`, or `src/index.js:3:5` in a module.
    pub fn label(&self) -> String {
        let file = self.module.as_deref().unwrap_or("eval.js");
        format!("{file}:{}:{}", self.line, self.column)
    }
}

/// An order of a host to a vat.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Order {
    /// Makes a vat.
    Open {
        /// The number of the new vat, which must not be in use.
        vat: VatId,
        /// The limits of the vat.
        limits: Limits,
    },
    /// Evaluates source text.
    Evaluate {
        /// The vat.
        vat: VatId,
        /// The number of the answer, which must not be in use. The vat keeps the outcome, so that messages can be
        /// sent to it, until the host drops the answer.
        answer: u32,
        /// The value of `$id` in the code.
        id: String,
        /// The source text.
        source: String,
        /// The names of the endowments.
        names: Vec<String>,
        /// An array with the endowments.
        values: Value<Slot>,
    },
    /// Runs a program of modules, and calls the `make` that its first module exports: `make(powers, context, { env,
    /// state })`. The context is made in the vat. It gives the program's identity and reports the cancellation as
    /// `$cancelled` does. Its `cancel` is sent to the program's own object.
    Make {
        /// The vat.
        vat: VatId,
        /// The number of the answer, as for [`Order::Evaluate`].
        answer: u32,
        /// The `id` in the context.
        id: String,
        /// The modules. Each such order runs its modules anew. Programs do not share modules.
        modules: Modules,
        /// The entries of `env`.
        env: BTreeMap<String, String>,
        /// The first argument. Its slots are counted separately from those of `own`.
        powers: Value<Slot>,
        /// The program's own object on the host's side. The program gets it as `state`, and the context's `cancel` is
        /// sent to it.
        own: Value<Slot>,
    },
    /// Delivers a message to one of the vat's objects.
    Deliver {
        /// The vat.
        vat: VatId,
        /// The number of the answer, or `None` if no answer is wanted.
        answer: Option<u32>,
        /// The target, which is a [`Slot::Vat`] or a [`Slot::Answer`].
        target: Slot,
        /// The operation.
        verb: Verb,
        /// An array with the arguments.
        args: Value<Slot>,
    },
    /// Settles a promise of the host's side, which is a [`Slot::Host`] or a [`Slot::Question`]. With
    /// [`Report::Dropped`], the vat states that it will send nothing more to the promise.
    Settle {
        /// The vat.
        vat: VatId,
        /// The promise.
        promise: Slot,
        /// The outcome of the promise.
        outcome: Outcome,
    },
    /// Releases the vat's objects, each with the number of times that the host received it, and answers.
    Drop {
        /// The vat.
        vat: VatId,
        /// The numbers of the objects, each with its count.
        exports: Vec<(u32, u32)>,
        /// The numbers of the answers.
        answers: Vec<u32>,
    },
    /// Rejects `$cancelled`.
    Cancel {
        /// The vat.
        vat: VatId,
        /// The reason.
        reason: Value<Slot>,
    },
    /// Ends a vat.
    Close {
        /// The vat.
        vat: VatId,
    },
    /// Asks whether the process is alive.
    Ping {
        /// Any number. The pong has the same number.
        number: u32,
    },
}

/// The level of a console line.
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
    /// The vat has been made.
    Ready {
        /// The vat.
        vat: VatId,
    },
    /// The vat sends a message.
    Send {
        /// The vat.
        vat: VatId,
        /// The target, which is a [`Slot::Host`] or a [`Slot::Question`].
        target: Slot,
        /// The operation.
        verb: Verb,
        /// An array with the arguments.
        args: Value<Slot>,
        /// The number of the answer, or `None` if no answer is wanted.
        question: Option<u32>,
    },
    /// The answer to an order.
    Answer {
        /// The vat.
        vat: VatId,
        /// The number that the order gave the answer.
        answer: u32,
        /// The outcome of the order.
        outcome: Outcome,
        /// The place where the error arose, if the outcome is an error and the place is known.
        place: Option<Place>,
    },
    /// A promise of the vat that the host holds has been settled.
    Resolve {
        /// The vat.
        vat: VatId,
        /// The number of the promise.
        promise: u32,
        /// The outcome of the promise.
        outcome: Outcome,
    },
    /// An object of the vat that goes out has a guard. This report comes before the value that contains the object.
    Guard {
        /// The vat.
        vat: VatId,
        /// The object's number.
        export: u32,
        /// The guard in Endo's form, `guard:interfaceGuard`, without references.
        guard: Value<Slot>,
    },
    /// The vat has released objects of the host's side.
    Dropped {
        /// The vat.
        vat: VatId,
        /// The numbers of the objects, each with the number of times that the vat received it.
        imports: Vec<(u32, u32)>,
        /// The questions to which the vat will send nothing more.
        questions: Vec<u32>,
    },
    /// The vat writes to its console.
    Console {
        /// The vat.
        vat: VatId,
        /// The level of the line.
        level: Level,
        /// The line, which is foreign text.
        text: String,
    },
    /// The vat has ended because of a fault.
    Fault {
        /// The vat.
        vat: VatId,
        /// The kind of the fault.
        kind: FaultKind,
        /// A description of the fault, in one line.
        line: String,
    },
    /// An order has been carried out. Nothing more comes from this vat until its next order.
    Idle {
        /// The vat.
        vat: VatId,
        /// The number of heap bytes in use.
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
    /// An order was invalid and had no effect.
    Refused {
        /// The error, in one line.
        line: String,
    },
}

/// Returns the bytes of the frame for a message.
///
/// # Errors
/// [`FrameError::TooLarge`] and [`FrameError::Unwritable`].
pub fn encode(message: &impl Serialize) -> Result<Vec<u8>, FrameError> {
    FRAMES.encode(message)
}

/// Reads a message from a stream of frames. Returns `None` if the stream ends between frames.
///
/// # Errors
/// Those of [`FrameError`]. After an error, the stream cannot be used any more.
pub fn read<T: DeserializeOwned>(stream: &mut impl Read) -> Result<Option<T>, FrameError> {
    FRAMES.read(stream)
}

/// Reads a message from a frame, and returns it with the frame's length. `most` gives the maximum length, and is
/// called when a frame has begun.
pub(crate) fn read_sized<T: DeserializeOwned>(
    stream: &mut impl Read,
    most: impl FnOnce() -> usize,
) -> Result<Option<(T, usize)>, FrameError> {
    FRAMES.read_within(stream, most)
}
