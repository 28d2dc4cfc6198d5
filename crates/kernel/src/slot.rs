//! Slots: the named holes of a definition.

use passable::{Matcher, Untrusted};
use resource::Kind;
use serde::{Deserialize, Serialize};

use crate::Pattern;
use crate::formula::Formula;
use crate::proposal::Value;

/// A named slot of a definition: the pattern of its content, and the text that a user reads when choosing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Slot {
    /// The label that a user reads. Foreign text.
    pub label: Untrusted,
    /// The pattern of its content, encoded as a value.
    pub pattern: Value,
}

/// The content that a slot or a field requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Want {
    /// Something of a kind of the table.
    Kind(Kind),
    /// Any capability.
    Capability,
    /// Data, or anything else that the pattern accepts.
    Pattern,
}

impl Want {
    /// Returns the content that the pattern requires.
    pub fn of(pattern: &Pattern) -> Want {
        match pattern.matcher() {
            Matcher::Remotable(label) => {
                label.as_str().and_then(Kind::of).map_or(Want::Capability, Want::Kind)
            }
            // `M.remotable()` without a label travels as a kind.
            Matcher::Kind(kind) if *kind == "remotable" => Want::Capability,
            _ => Want::Pattern,
        }
    }

    /// Returns whether a pattern asks for a capability, by itself or in any of its parts.
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
            // A pattern that excludes a capability asks for none.
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

    /// Returns whether a capability of this formula is of the wanted kind. `Pattern` wants none by kind.
    pub fn takes(&self, formula: &Formula) -> bool {
        match self {
            Want::Kind(kind) => formula.slot_kind().is_some_and(|own| kind.takes(own)),
            Want::Capability => !formula.is_data() && !matches!(formula, Formula::Marshal { .. }),
            Want::Pattern => false,
        }
    }

    /// Describes the required content, for an error.
    pub fn words(&self) -> &'static str {
        match self {
            Want::Kind(kind) => kind.row().noun,
            Want::Capability => "a capability",
            Want::Pattern => "a value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_the_wanted_kind() {
        let check = |text: &str, expected: Want| {
            assert_eq!(Want::of(&Pattern::parse(text).unwrap()), expected, "{text}");
        };
        check("M.remotable()", Want::Capability);
        check("M.remotable('tool')", Want::Capability);
        for row in resource::KINDS {
            check(&format!("M.remotable('{}')", row.label), Want::Kind(row.kind));
        }
        for row in resource::KINDS.iter().filter(|row| row.by_name) {
            assert!(passable::CAPABILITY_WORDS.contains(&row.label), "patterns do not know {}", row.label);
            let word = passable::Node::Text(row.label.to_owned(), 0..row.label.len());
            assert_eq!(Want::of(&Pattern::from_shorthand(&word).unwrap()), Want::Kind(row.kind));
        }
        check("M.string()", Want::Pattern);
        check("M.or(M.remotable(), M.string())", Want::Pattern);
    }
}
