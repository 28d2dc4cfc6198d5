//! Proposals: the calls that a model or its code wants to make, and the decisions about them.

use std::collections::BTreeSet;

use passable::{Quoted, Quoting};
use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, FormulaId, RunNumber};
use crate::provenance::Provenance;

pub use super::trace::{ArgumentGiver, Giver, NOT_READ, Trace, source_name};

/// A durable value, in which references are formulas.
pub type Value = passable::Value<FormulaId>;

/// The effect of a method on the world, as its interface declares it.
pub use passable::Effect;

/// The author of a proposal's arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Caller {
    /// A model chose the call or wrote any of its arguments. Code that only passes on a model's words counts as that
    /// model.
    Model,
    /// Code that the host endowed, and whose digest is in the grant, made the call from trusted values.
    Code,
}

/// An object outside the store that a proposal depends on, as it was when the proposal was judged. The pin is checked
/// again at the moment of effect.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pin {
    /// The kind of the object, such as `file`.
    pub kind: String,
    /// The name of the object inside the capability.
    pub name: String,
    /// The digest of the object's bytes. `None` if the object did not exist.
    pub digest: Option<BlobHash>,
}

impl Pin {
    /// Returns a description of the pinned object for a user, with this name for the object.
    pub fn describe(&self, name: &str) -> String {
        match self.kind.as_str() {
            "becomes" => format!("what {name} becomes"),
            kind => format!("{kind} {name}"),
        }
    }
}

/// One method call through one grant, with canonical arguments.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Proposal {
    /// The agent for whom the run acts.
    pub principal: FormulaId,
    /// The run that proposes the call.
    pub run: RunNumber,
    /// The grant through which the call goes.
    pub grant: FormulaId,
    /// The slot under which the worker knows the grant. The slot is for people: the grant decides.
    pub slot: String,
    /// The method.
    pub method: String,
    /// The arguments, checked against the method's guard.
    pub args: Vec<Value>,
    /// The effect of the method on the world.
    pub effect: Effect,
    /// The author of the arguments.
    pub caller: Caller,
    /// The objects outside the store that the call depends on.
    pub pins: BTreeSet<Pin>,
    /// The provenance of everything on which the arguments may depend.
    pub provenance: Provenance,
    /// The places in documents and results where the run has read words of single arguments. Words that the user gave
    /// have no trace.
    pub traces: Vec<Trace>,
    /// The giver of each argument, in the order of the parameters. Empty if the arguments were not traced.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub givers: Vec<ArgumentGiver>,
    /// The absolute path of the directory in which the call's paths begin. Set if an agent or code makes the call
    /// without a run. It is kept because the target of the grant may be gone when a user asks about a file.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<String>,
}

/// The BLAKE3 fingerprint of a proposal: equal exactly when principal, run, grant, method, arguments and pins are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct Fingerprint(pub BlobHash);

impl std::fmt::Display for Fingerprint {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.0.fmt(f)
    }
}

impl Proposal {
    /// Returns the fingerprint. It is `derive_key("almoner proposal v1")` over these parts, each with its length as 8
    /// little-endian bytes in front:
    ///
    /// - principal, run, grant and method
    /// - the smallcaps body of the argument list
    /// - the number of the list's slots, and the slots as formula identifiers in order of first occurrence
    /// - the number of pins, and the sorted pins as kind, name, digest
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

/// The decision of a verdict. Decisions are ordered, and the strictest of several is their maximum.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// A ruling that lets the proposal begin.
    Allow,
    /// A ruling that asks a person first.
    Ask,
    /// A ruling that refuses the proposal.
    Deny,
}

/// The authority that can turn an *ask* into an *allow*. Each level accepts fewer authorities than the one before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Lift {
    /// The endowment's own setting, an operator's `permit`, or a permission.
    Endowment,
    /// An operator's `permit`, or a permission.
    Operator,
    /// Only a permission of a person who has seen exactly this call.
    Permission,
}

/// A machine-readable reason. It is written so that a model can do better with it and a person can judge it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Finding {
    /// The rule that led to the finding, as `gate/rule`.
    pub rule: String,
    /// The problem, in one sentence.
    pub message: String,
    /// The quoted parts of the message. Without them, the whole message counts as quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub quoted: Option<Vec<Quoted>>,
    /// The place of the problem: an argument, a slot or a method.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub at: Option<String>,
    /// The value that breaks the rule.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub counter_example: Option<String>,
    /// The values that would have been allowed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed: Option<String>,
    /// The quoted parts of `allowed`. Without them, the whole text counts as quoted.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub allowed_quoted: Option<Vec<Quoted>>,
}

/// The rule of findings about a call that the user refused.
pub const DENIAL_RULE: &str = "host/denied";

impl Finding {
    /// Returns whether the user has refused the call, or the same call before.
    pub fn is_denial(&self) -> bool {
        self.rule == DENIAL_RULE
    }

    /// Returns a finding with only a rule and a message.
    pub fn new(rule: impl Into<String>, message: impl Into<Quoting>) -> Finding {
        let (message, quoted) = split_quotes(message.into());
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

    /// Returns the finding with the place of the problem.
    pub fn at(mut self, at: impl Into<String>) -> Finding {
        self.at = Some(at.into());
        self
    }

    /// Returns the finding with the value that breaks the rule.
    pub fn counter_example(mut self, value: impl Into<String>) -> Finding {
        self.counter_example = Some(value.into());
        self
    }

    /// Returns the finding with the values that would be allowed.
    pub fn allowed(mut self, what: impl Into<Quoting>) -> Finding {
        let (allowed, quoted) = split_quotes(what.into());
        (self.allowed, self.allowed_quoted) = (Some(allowed), quoted);
        self
    }

    /// Returns the finding with another message.
    pub fn saying(mut self, message: impl Into<Quoting>) -> Finding {
        (self.message, self.quoted) = split_quotes(message.into());
        self
    }

    /// Returns the message, with its quoted parts marked.
    pub fn message_quoting(&self) -> Quoting {
        Quoting::from_stored(&self.message, self.quoted.as_deref())
    }

    /// Returns the values that would have been allowed, with the quoted parts marked.
    pub fn allowed_quoting(&self) -> Option<Quoting> {
        Some(Quoting::from_stored(self.allowed.as_deref()?, self.allowed_quoted.as_deref()))
    }

    /// Returns the finding without the marks of quoted parts, for readers that do not need them, such as a model or a
    /// log.
    pub fn plain(&self) -> Finding {
        Finding { quoted: None, allowed_quoted: None, ..self.clone() }
    }

    /// Changes the finding's texts if they contain something that must not be kept. A sentence that is changed counts
    /// as quoted.
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

/// Returns a sentence and its quoted parts as they are kept. For a sentence that is quoted as a whole, the parts are
/// `None`.
fn split_quotes(said: Quoting) -> (String, Option<Vec<Quoted>>) {
    let is_apart = said.quoted() != [(0, said.text().len())];
    let (text, quoted) = said.into_text();
    (text, is_apart.then_some(quoted))
}

/// The joint verdict of all gates on one proposal. It is recorded, and never recomputed on replay.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Verdict {
    /// The strictest answer of any gate.
    pub decision: Decision,
    /// All reasons for the decision, because every gate runs.
    pub findings: Vec<Finding>,
    /// The hash of the set of gates that judged.
    pub gates: BlobHash,
    /// The authority that would have made the question unnecessary, if the decision is to ask.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lift: Option<Lift>,
}
