//! The plan for a call: a value at once, a command, or a preparation that must come first.

use std::collections::BTreeMap;

use passable::Untrusted;

use crate::command::{Act, Define, FieldValue, GrantAct, MailAct, NameAct, ProvidedObject, Reply, Start};
use crate::formula::{Sealed, Tree};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::run::{Program, ResultGoesTo};
use crate::slot::Slot;

use super::files::FileCall;
use super::follow::Follow;
use super::live::Live;
use super::locator::Locator;
use super::modules::MakeModules;
use super::refusal::Refusal;
use super::timers::Watch;

pub use crate::model::reply::Then;

/// The plan for a call.
#[derive(Clone, Debug, PartialEq)]
pub enum Plan {
    /// The answer is a value that the state already has.
    Value(Value),
    /// The answer is a value that was found through grants. The references in the value last only as long as these
    /// grants. The holder of the references must store the grants with them.
    Through {
        /// The value.
        value: Value,
        /// The grants that were passed on the way.
        through: Vec<FormulaId>,
    },
    /// The answer is a value with references to pending events that are no formulas.
    Live(passable::Value<Live>),
    /// A command must be applied.
    Act(Box<Action>),
    /// Something outside of the state must be done first.
    Need(Box<Need>),
}

impl Plan {
    pub(super) fn need(need: Need) -> Plan {
        Plan::Need(Box::new(need))
    }

    pub(super) fn act(actor: FormulaId, act: Act, then: Then) -> Plan {
        Plan::Act(Box::new(Action { actor, act, then }))
    }

    pub(super) fn mail(actor: FormulaId, act: MailAct, then: Then) -> Plan {
        Plan::act(actor, Act::Mail(Box::new(act)), then)
    }
}

/// A command, and the meaning of its reply to the caller.
#[derive(Clone, Debug, PartialEq)]
pub struct Action {
    /// The agent who acts.
    pub actor: FormulaId,
    /// The act of the command.
    pub act: Act,
    /// The meaning of the reply.
    pub then: Then,
}

/// Returns the value that the caller gets for the reply to an action's command.
pub fn result(then: &Then, reply: &Reply) -> Value {
    match (then, reply) {
        (Then::Text(text), _) => Value::string(text.clone()),
        (Then::Agent { interface }, Reply::Agent { agent: id, .. })
        | (Then::Object { interface }, Reply::Made { id }) => {
            Value::remotable_alleged(*id, format!("Alleged: {interface}"))
        }
        (Then::Promise, Reply::RequestSent { promise, .. } | Reply::CodeQueued { promise, .. }) => {
            Value::promise(*promise)
        }
        // A run is known by its number; the promise of its result has the name that was chosen for it.
        (Then::Promise, Reply::Started { run }) => Value::string(run.to_string()),
        _ => Value::undefined(),
    }
}

/// A preparation that must come first, and the data for the action after it.
#[derive(Clone, Debug, PartialEq)]
pub enum Need {
    /// These bytes must lie beside the store before the action.
    Bytes {
        /// The bytes.
        bytes: Vec<u8>,
        /// The action that follows.
        next: Box<Action>,
    },
    /// Bytes beside the store must be read. The answer is their [`ReadFormat::value`].
    Read {
        /// The hash of the bytes.
        hash: BlobHash,
        /// The number of bytes.
        bytes: u64,
        /// The format in which they are read.
        read_as: ReadFormat,
    },
    /// The SHA-256 of bytes beside the store must be computed. The answer is the digest in hexadecimal digits.
    Digest {
        /// The hash under which the store knows the bytes.
        hash: BlobHash,
    },
    /// Bytes from beside the store must be handed out piece by piece, as text in Base64.
    Stream {
        /// The hash of the bytes.
        hash: BlobHash,
        /// The number of bytes.
        bytes: u64,
    },
    /// Bytes must be taken piece by piece, as text in Base64, from an iterator that the caller has given.
    Take(TakeBytes),
    /// An operation on files must be carried out.
    Files(FileCall),
    /// A message must be delivered to an object that code has made.
    Deliver(ObjectCall),
    /// A directory of this machine must be looked for before it is bound.
    Directory(BindDirectory),
    /// A tree of files must be kept beside the store.
    Tree(KeepTree),
    /// A tree of files must be copied to a new directory.
    Stage(StageTree),
    /// Modules must be unpacked before code is made of them.
    Modules(MakeModules),
    /// A feed must be followed, by an iterator.
    Follow(Follow),
    /// An object of the caller's must be told of ticks, or must no longer be told. The answer is `undefined`.
    Watch(Watch),
    /// Secrets must be sealed.
    Seal(Seal),
    /// A random token must be drawn.
    Token(DrawToken),
    /// The text of a worker must be parsed.
    ParseWorker(ParseWorker),
    /// The input of a run of a worker must be gathered.
    StartWorker(StartWorker),
    /// The daemon must end, after it has answered `undefined`.
    Terminate,
}

/// A message to an object that code has made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectCall {
    /// The code.
    pub eval: FormulaId,
    /// The number by which the code's heap knows the object.
    pub number: u32,
    /// The grants that were passed on the way to the object.
    pub through: Vec<FormulaId>,
}

/// The format in which bytes are read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReadFormat {
    /// UTF-8 text.
    Text,
    /// JSON.
    Json,
}

impl ReadFormat {
    /// Returns the value that the bytes encode.
    ///
    /// # Errors
    /// When the bytes are not in this format.
    pub fn value(self, bytes: &[u8]) -> Result<Value, Refusal> {
        let wrong = |what: &str| Refusal::Argument(format!("these bytes are not {what}"));
        let text = std::str::from_utf8(bytes).map_err(|_| wrong("text in UTF-8"))?;
        match self {
            ReadFormat::Text => Ok(Value::string(text)),
            ReadFormat::Json => {
                let value = passable::Value::from_json_text(text).map_err(|_| wrong("JSON"))?;
                Ok(value.widen())
            }
        }
    }
}

/// Bytes that a caller hands over.
#[derive(Clone, Debug, PartialEq)]
pub struct TakeBytes {
    /// The iterator: any object that the caller has passed.
    pub reader: FormulaId,
    pub(super) actor: FormulaId,
    /// The directory in which the path begins. `None` means the actor's own directory.
    pub(super) base: Option<FormulaId>,
    pub(super) path: NamePath,
}

impl TakeBytes {
    /// Returns the action that names the bytes. They must lie beside the store by then.
    pub fn with(self, hash: BlobHash, bytes: u64) -> Action {
        let act = NameAct::StoreBlob { hash, bytes, path: self.path };
        let act = match self.base {
            Some(base) => NameAct::Within { base, act: Box::new(act) },
            None => act,
        };
        Action { actor: self.actor, act: Act::Name(act), then: Then::Object { interface: "EndoBlob".into() } }
    }
}

/// A directory of this machine that is about to get a name.
#[derive(Clone, Debug, PartialEq)]
pub struct BindDirectory {
    /// The path of the directory, as the caller wrote it.
    pub path: String,
    pub(super) actor: FormulaId,
    pub(super) read_only: bool,
    pub(super) at: NamePath,
}

impl BindDirectory {
    /// Returns the action that names the directory. `path` is the absolute path of the directory, which was there a
    /// moment ago.
    pub fn with(self, path: String) -> Action {
        let thing = ProvidedObject::Mount { path, read_only: self.read_only };
        provide(self.actor, thing, self.at, "EndoMount")
    }
}

/// A tree of files that is about to be kept.
#[derive(Clone, Debug, PartialEq)]
pub struct KeepTree {
    /// The source of the files: a tree, a directory, or any object that the caller has passed.
    pub tree: FormulaId,
    pub(super) actor: FormulaId,
    pub(super) at: NamePath,
}

impl KeepTree {
    /// Returns the action that keeps the tree. Its bytes must lie beside the store by then.
    pub fn with(self, tree: Tree) -> Action {
        provide(self.actor, ProvidedObject::Tree(tree), self.at, "EndoReadableTree")
    }
}

/// A tree of files that is about to be copied to a directory in which it can be changed.
#[derive(Clone, Debug, PartialEq)]
pub struct StageTree {
    /// The source of the files, and the grants that were passed on the way to the source.
    pub from: FileCall,
    /// The action that makes the directory.
    pub make: Action,
}

pub(super) fn provide(
    actor: FormulaId,
    thing: ProvidedObject,
    path: NamePath,
    interface: &'static str,
) -> Action {
    Action {
        actor,
        act: Act::Name(NameAct::Provide { thing, path }),
        then: Then::Object { interface: interface.into() },
    }
}

/// The submission of a form with secrets.
#[derive(Clone, Debug, PartialEq)]
pub struct Seal {
    /// The secrets, by field. Their patterns have been checked.
    pub secrets: BTreeMap<String, Untrusted>,
    pub(super) actor: FormulaId,
    pub(super) number: MessageNumber,
    pub(super) values: BTreeMap<String, FieldValue>,
}

impl Seal {
    /// Returns the action that submits the form. `sealed` has the sealed secrets, by field.
    ///
    /// # Errors
    /// When the sealed fields are not the fields that had to be sealed.
    pub fn with(mut self, sealed: BTreeMap<String, Sealed>) -> Result<Action, Refusal> {
        if !self.secrets.keys().eq(sealed.keys()) {
            return Err(Refusal::Argument("not every secret was sealed".to_owned()));
        }
        self.values.extend(sealed.into_iter().map(|(name, sealed)| (name, FieldValue::Sealed { sealed })));
        let act = MailAct::Submit { number: self.number, values: self.values };
        Ok(Action { actor: self.actor, act: Act::Mail(Box::new(act)), then: Then::Nothing })
    }
}

/// A formula that is about to be shared by a one-use token.
#[derive(Clone, Debug, PartialEq)]
pub struct DrawToken {
    pub(super) actor: FormulaId,
    pub(super) path: NamePath,
    pub(super) locator: Locator,
    pub(super) expires_ms: i64,
}

impl DrawToken {
    /// Returns the action that shares the formula. `token` is 32 random bytes, which only the caller gets to see.
    pub fn with(self, token: [u8; 32]) -> Action {
        let locator = Locator { token: Some(Number(token)), ..self.locator };
        let act = GrantAct::Share {
            path: self.path,
            token: token_hash(&Number(token)),
            expires_ms: self.expires_ms,
        };
        Action { actor: self.actor, act: Act::Grant(act), then: Then::Text(locator.to_string()) }
    }
}

/// Returns the hash of a token; the kernel stores only the hash.
pub(super) fn token_hash(token: &Number) -> Number {
    Number(*blake3::hash(&token.0).as_bytes())
}

/// A worker file that is about to be proposed.
#[derive(Clone, Debug, PartialEq)]
pub struct ParseWorker {
    pub(super) actor: FormulaId,
    pub(super) define: Define,
}

impl ParseWorker {
    /// Returns the text of the file.
    pub fn source(&self) -> &Untrusted {
        &self.define.program.source
    }

    /// Returns the action that proposes the worker. `worker` and `slots` are the content of the file. Its bytes must
    /// lie beside the store by then.
    pub fn with(mut self, worker: Program, slots: BTreeMap<String, Slot>) -> Action {
        self.define.program.worker = Some(worker);
        self.define.program.slots = slots;
        let act = Act::Mail(Box::new(MailAct::Define(self.define)));
        Action { actor: self.actor, act, then: Then::Promise }
    }
}

/// A proposed worker that is about to be endowed.
#[derive(Clone, Debug, PartialEq)]
pub struct StartWorker {
    /// The agent that endows the worker. The bindings begin in its directory.
    pub actor: FormulaId,
    /// The definition's message.
    pub number: MessageNumber,
    /// The parts of the worker.
    pub worker: Program,
    /// The bindings of the worker's slots.
    pub bindings: BTreeMap<String, NamePath>,
    /// The destination of the result.
    pub goes_to: ResultGoesTo,
    /// The name under which the host keeps the promise for the result.
    pub result_name: Option<NamePath>,
}

impl StartWorker {
    /// Returns the action that endows the worker. `start` has everything that the run is given.
    pub fn with(self, start: Start) -> Action {
        let act = MailAct::EndowWorker {
            number: self.number,
            start: Box::new(start),
            goes_to: self.goes_to,
            result_name: self.result_name,
        };
        Action { actor: self.actor, act: Act::Mail(Box::new(act)), then: Then::Promise }
    }
}
