//! What a model or its code wants to do, and what was decided about it.

use std::collections::BTreeSet;

use passable::{Quoted, Quoting};
use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, FormulaId, RunNumber};
use crate::provenance::Provenance;

/// A durable value: references in it are formulas.
pub type Value = passable::Value<FormulaId>;

/// What a method does to the world, as its interface declares it.
pub use passable::Effect;

/// Whose words a proposal's arguments are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A model chose the call or wrote any of its arguments. Code that only passes on a model's words is that
    /// model's voice.
    Model,
    /// Code that the host endowed, and whose digest is in the grant, made the call from trusted values.
    Code,
}

/// A thing outside the store that a proposal depends on, as it was when the proposal was judged. What a pin says
/// is checked again at the moment of effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Pin {
    /// What kind of thing: `file`.
    pub kind: String,
    /// Its name inside the capability.
    pub name: String,
    /// Its bytes; `None` if it did not exist.
    pub digest: Option<BlobHash>,
}

impl Pin {
    /// What it is of, as a person reads it, where the thing itself goes by this name.
    pub fn of(&self, name: &str) -> String {
        match self.kind.as_str() {
            "becomes" => format!("what {name} becomes"),
            kind => format!("{kind} {name}"),
        }
    }
}

/// One method call through one grant, with canonical arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proposal {
    /// The agent for whom the run acts.
    pub principal: FormulaId,
    /// The run that proposes.
    pub run: RunNumber,
    /// The grant through which the call goes.
    pub grant: FormulaId,
    /// The slot under which the worker knows the grant. For people; the grant decides.
    pub slot: String,
    /// The method.
    pub method: String,
    /// The arguments, checked against the method's guard.
    pub args: Vec<Value>,
    /// What the method does to the world.
    pub effect: Effect,
    /// Whose words the arguments are.
    pub caller: Caller,
    /// What the call depends on outside the store.
    pub pins: BTreeSet<Pin>,
    /// All that the arguments may depend on.
    pub provenance: Provenance,
    /// Where single arguments were found in what the run has read, for the person who is asked.
    pub traces: Vec<Trace>,
    /// The directory in which its paths begin, as an absolute path, if an agent or code makes it without a run of its
    /// own: what the grant leads to may be gone when somebody asks what became of a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// Where the text of an argument was found in a document that the run has read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// The argument's parameter name.
    pub argument: String,
    /// The part of it that was found.
    pub text: String,
    /// The document's name.
    pub document: String,
    /// How it stood there: `as written`, or the decoding that revealed it (`base64`, `percent-encoding`, …).
    pub how: String,
}

/// The BLAKE3 fingerprint of a proposal: equal exactly when principal, run, grant, method, arguments and pins are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Fingerprint(pub BlobHash);

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Proposal {
    /// The fingerprint: `derive_key("almoner proposal v1")` over, each with its length as 8 little-endian bytes in
    /// front: principal, run, grant, method, the smallcaps body of the argument list, its slots as formula
    /// identifiers in order of first occurrence, and the sorted pins as kind, name, digest.
    pub fn fingerprint(&self) -> Fingerprint {
        let mut hasher = blake3::Hasher::new_derive_key("almoner proposal v1");
        let mut field = |bytes: &[u8]| {
            hasher.update(&(bytes.len() as u64).to_le_bytes());
            hasher.update(bytes);
        };
        field(&self.principal.to_bytes());
        field(&self.run.0.to_le_bytes());
        field(&self.grant.to_bytes());
        field(self.method.as_bytes());
        let args = passable::smallcaps::encode(&Value::array(self.args.iter().cloned()));
        field(args.body.as_bytes());
        field(&(args.slots.len() as u64).to_le_bytes());
        for slot in &args.slots {
            field(&slot.to_bytes());
        }
        field(&(self.pins.len() as u64).to_le_bytes());
        for pin in &self.pins {
            field(pin.kind.as_bytes());
            field(pin.name.as_bytes());
            field(pin.digest.as_ref().map_or(&[][..], |d| &d.0[..]));
        }
        Fingerprint(BlobHash(*hasher.finalize().as_bytes()))
    }
}

/// What a verdict comes to. Ordered: the strictest of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// It may begin.
    Allow,
    /// A person is asked first.
    Ask,
    /// It is refused.
    Deny,
}

/// What can turn an *ask* into an *allow*. Each can be lifted by less than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Lift {
    /// The endowment's own setting, an operator's `permit`, or a permission.
    Endowment,
    /// An operator's `permit`, or a permission.
    Operator,
    /// A permission only: a person who has seen exactly this call.
    Permission,
}

/// A machine-readable reason, written so that a model can do better with it and a person can judge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Finding {
    /// The rule that found it, as `gate/rule`.
    pub rule: String,
    /// What was wrong, in one sentence.
    pub message: String,
    /// The quoted parts of that sentence; without them, the whole sentence counts as quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Vec<Quoted>>,
    /// Where: an argument, a slot or a method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The value that breaks the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_example: Option<String>,
    /// What would have been allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// What of that is quoted, in the same way.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_quoted: Option<Vec<Quoted>>,
}

impl Finding {
    /// A finding with only a rule and a message.
    pub fn new(rule: impl Into<String>, message: impl Into<Quoting>) -> Finding {
        let (message, quoted) = kept(message.into());
        Finding {
            rule: rule.into(),
            message,
            quoted,
            at: None,
            counter_example: None,
            allowed: None,
            allowed_quoted: None,
        }
    }

    /// The same, saying where.
    pub fn at(mut self, at: impl Into<String>) -> Finding {
        self.at = Some(at.into());
        self
    }

    /// The same, with the value that breaks the rule.
    pub fn counter_example(mut self, value: impl Into<String>) -> Finding {
        self.counter_example = Some(value.into());
        self
    }

    /// The same, saying what would be allowed.
    pub fn allowed(mut self, what: impl Into<Quoting>) -> Finding {
        let (allowed, quoted) = kept(what.into());
        (self.allowed, self.allowed_quoted) = (Some(allowed), quoted);
        self
    }

    /// The same with another message.
    pub fn saying(mut self, message: impl Into<Quoting>) -> Finding {
        (self.message, self.quoted) = kept(message.into());
        self
    }

    /// The message, with what it quotes apart.
    pub fn told(&self) -> Quoting {
        Quoting::kept(&self.message, self.quoted.as_deref())
    }

    /// What would have been allowed, in the same way.
    pub fn told_allowed(&self) -> Option<Quoting> {
        Some(Quoting::kept(self.allowed.as_deref()?, self.allowed_quoted.as_deref()))
    }

    /// The same as whoever it is not shown to reads it: a model, a log. Nobody need know there what is quoted.
    pub fn plain(&self) -> Finding {
        Finding { quoted: None, allowed_quoted: None, ..self.clone() }
    }

    /// Changes its words where something in them must not be kept. A sentence that is changed counts as quoted.
    pub fn redact(&mut self, redact: &dyn Fn(&mut String)) {
        let sentence = |text: &mut String, quoted: &mut Option<Vec<Quoted>>| {
            let before = text.clone();
            redact(text);
            if *text != before {
                *quoted = None;
            }
        };
        sentence(&mut self.message, &mut self.quoted);
        if let Some(allowed) = &mut self.allowed {
            sentence(allowed, &mut self.allowed_quoted);
        }
        [&mut self.at, &mut self.counter_example].into_iter().flatten().for_each(redact);
    }
}

/// A sentence as it is kept. Nothing is said of one that is quoted as a whole.
fn kept(said: Quoting) -> (String, Option<Vec<Quoted>>) {
    let is_apart = said.quoted() != [(0, said.text().len())];
    let (text, quoted) = said.into_text();
    (text, is_apart.then_some(quoted))
}

/// What all gates together said of one proposal. Recorded, never recomputed on replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Verdict {
    /// The strictest answer of any gate.
    pub decision: Decision,
    /// Why, complete: every gate runs.
    pub findings: Vec<Finding>,
    /// The hash of the set of gates that judged.
    pub gates: BlobHash,
    /// If it asks: how much it would have taken for nobody to be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift: Option<Lift>,
}
