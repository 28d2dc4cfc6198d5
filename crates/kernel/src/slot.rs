//! Slots: the named holes of a definition.

use passable::{Matcher, Untrusted};
use serde::{Deserialize, Serialize};

use crate::Pattern;
use crate::formula::Formula;
use crate::proposal::Value;

/// A named hole in a definition: what may fill it, and the text that a person reads when choosing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// What a person reads. Foreign text.
    pub label: Untrusted,
    /// The pattern of what may fill it, as the value as which a pattern travels.
    pub pattern: Value,
}

/// What a slot or a field wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Want {
    /// A directory.
    Dir {
        /// Whether it must be one that may be written.
        write: bool,
    },
    /// A place that sends messages.
    Outbox,
    /// Programs.
    Program,
    /// A part of the web.
    Web,
    /// A repository.
    Git {
        /// Whether it must be one that may be changed.
        write: bool,
    },
    /// What tells the time.
    Clock,
    /// Tools of a server.
    Mcp,
    /// A worker.
    Worker,
    /// Questions to the person.
    Questions,
    /// Waiting for a time.
    Alarm,
    /// Mail to the person.
    Mail,
    /// A model.
    Model,
    /// A secret.
    Secret,
    /// Any capability.
    Capability,
    /// Data, or whatever else the pattern says.
    Pattern,
}

impl Want {
    /// What the pattern wants.
    pub fn of(pattern: &Pattern) -> Want {
        match pattern.matcher() {
            Matcher::Remotable(label) => match label.as_str() {
                Some("dir") => Want::Dir { write: false },
                Some("dir rw") => Want::Dir { write: true },
                Some("outbox") => Want::Outbox,
                Some("program") => Want::Program,
                Some("http") => Want::Web,
                Some("git") => Want::Git { write: false },
                Some("git rw") => Want::Git { write: true },
                Some("clock") => Want::Clock,
                Some("mcp") => Want::Mcp,
                Some("worker") => Want::Worker,
                Some("ask") => Want::Questions,
                Some("timer") => Want::Alarm,
                Some("mail") => Want::Mail,
                Some("model") => Want::Model,
                Some("secret") => Want::Secret,
                _ => Want::Capability,
            },
            // `M.remotable()` without a label travels as a kind.
            Matcher::Kind(kind) if *kind == "remotable" => Want::Capability,
            _ => Want::Pattern,
        }
    }

    /// Whether a pattern asks for a capability, in itself or anywhere in what it is made of.
    pub fn is_any_capability(pattern: &Pattern) -> bool {
        let all = |parts: &[Pattern]| parts.iter().any(Want::is_any_capability);
        match pattern.matcher() {
            Matcher::Remotable(_) | Matcher::Promise(_) => true,
            Matcher::Kind(kind) => *kind == "remotable" || *kind == "promise",
            Matcher::Array(parts) | Matcher::And(parts) | Matcher::Or(parts) => all(parts),
            Matcher::Record(fields) => fields.iter().any(|(_, part)| Want::is_any_capability(part)),
            Matcher::Map(entries) => entries.iter().any(|(_, part)| Want::is_any_capability(part)),
            Matcher::Tagged(one, other)
            | Matcher::RecordOf(one, other, _)
            | Matcher::BagOf(one, other, _)
            | Matcher::MapOf(one, other, _) => Want::is_any_capability(one) || Want::is_any_capability(other),
            Matcher::ArrayOf(part, _) | Matcher::SetOf(part, _) | Matcher::ContainerHas(part, _, _) => {
                Want::is_any_capability(part)
            }
            Matcher::SplitArray(split) => {
                all(&split.required)
                    || split.optional.as_deref().is_some_and(all)
                    || split.rest.as_ref().is_some_and(Want::is_any_capability)
            }
            Matcher::SplitRecord(split) => {
                let named =
                    |fields: &[(_, Pattern)]| fields.iter().any(|(_, part)| Want::is_any_capability(part));
                named(&split.required)
                    || split.optional.as_deref().is_some_and(named)
                    || split.rest.as_ref().is_some_and(Want::is_any_capability)
            }
            // What must not be one asks for none.
            Matcher::Not(_)
            | Matcher::Literal(_)
            | Matcher::Any
            | Matcher::Scalar
            | Matcher::Key
            | Matcher::Pattern
            | Matcher::BigInt(_)
            | Matcher::Nat(_)
            | Matcher::String(_)
            | Matcher::Symbol(_)
            | Matcher::Bytes(_)
            | Matcher::Compare(..)
            | Matcher::Refine(_) => false,
        }
    }

    /// Whether a capability of this formula is of the wanted kind. `Pattern` wants none by kind.
    pub fn takes(&self, formula: &Formula) -> bool {
        match self {
            Want::Dir { write } => match formula {
                Formula::Mount { read_only, .. } | Formula::Scratch { read_only } => !(*write && *read_only),
                _ => false,
            },
            Want::Outbox => matches!(formula, Formula::Spool { .. }),
            Want::Program => matches!(formula, Formula::Program(_)),
            Want::Web => matches!(formula, Formula::Web(_)),
            Want::Questions => matches!(formula, Formula::Questions),
            Want::Alarm => matches!(formula, Formula::Alarm),
            Want::Mail => matches!(formula, Formula::Mail),
            Want::Git { write } => {
                matches!(formula, Formula::Repository(repository) if repository.write || !write)
            }
            Want::Clock => matches!(formula, Formula::Clock),
            Want::Worker => matches!(formula, Formula::Worker { .. } | Formula::Myself),
            Want::Model => matches!(formula, Formula::Worker { model: Some(_), .. }),
            Want::Mcp => matches!(formula, Formula::Mcp(_)),
            Want::Secret => matches!(formula, Formula::Secret { .. } | Formula::HandedSecret(_)),
            Want::Capability => !formula.is_data() && !matches!(formula, Formula::Marshal { .. }),
            Want::Pattern => false,
        }
    }

    /// What is wanted, for an error.
    pub fn words(&self) -> &'static str {
        match self {
            Want::Dir { write: false } => "a directory",
            Want::Dir { write: true } => "a directory that may be written",
            Want::Outbox => "an outbox",
            Want::Program => "programs",
            Want::Web => "a part of the web",
            Want::Git { write: false } => "a repository",
            Want::Git { write: true } => "a repository that may be changed",
            Want::Clock => "a clock",
            Want::Mcp => "tools of a server",
            Want::Worker => "a worker",
            Want::Questions => "questions to the user",
            Want::Alarm => "waiting for a time",
            Want::Mail => "mail to the user",
            Want::Model => "a model",
            Want::Secret => "a secret",
            Want::Capability => "a capability",
            Want::Pattern => "a value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_say_what_they_want() {
        let check = |text: &str, expected: Want| {
            assert_eq!(Want::of(&Pattern::parse(text).unwrap()), expected, "{text}");
        };
        check("M.remotable()", Want::Capability);
        check("M.remotable('tool')", Want::Capability);
        check("M.remotable('dir')", Want::Dir { write: false });
        check("M.remotable('dir rw')", Want::Dir { write: true });
        check("M.remotable('http')", Want::Web);
        check("M.remotable('git')", Want::Git { write: false });
        check("M.remotable('git rw')", Want::Git { write: true });
        check("M.remotable('clock')", Want::Clock);
        check("M.remotable('mcp')", Want::Mcp);
        check("M.remotable('worker')", Want::Worker);
        check("M.remotable('program')", Want::Program);
        check("M.remotable('secret')", Want::Secret);
        check("M.string()", Want::Pattern);
        check("M.or(M.remotable(), M.string())", Want::Pattern);
    }
}
