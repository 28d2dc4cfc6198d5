//! Slots: the named holes of a definition.

use passable::{Matcher, Untrusted};
use resource::Kind;
use serde::{Deserialize, Serialize};

use crate::Pattern;
use crate::formula::Formula;
use crate::proposal::Value;

/// A named slot of a definition: the pattern of its content, and the text that a user reads when choosing.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Slot {
    /// The label that a user reads. Foreign text.
    pub label: Untrusted,
    /// The pattern of the slot's content, encoded as a value.
    pub pattern: Value,
}

/// The content that a slot or a field requires.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Requirement {
    /// A capability of one kind from the table of kinds.
    Kind(Kind),
    /// Any capability.
    Capability,
    /// Data, or anything else that the pattern accepts.
    Pattern,
}

impl Requirement {
    /// Returns the content that the pattern requires.
    pub fn from_pattern(pattern: &Pattern) -> Requirement {
        match pattern.matcher() {
            Matcher::Remotable(label) => {
                label.as_str().and_then(Kind::of).map_or(Requirement::Capability, Requirement::Kind)
            }
            // A pattern `M.remotable()` without a label arrives as a pattern for a kind.
            Matcher::Kind(kind) if *kind == "remotable" => Requirement::Capability,
            _ => Requirement::Pattern,
        }
    }

    /// Returns whether a pattern asks for a capability, by itself or in any of its parts.
    pub fn has_capability(pattern: &Pattern) -> bool {
        let all = |parts: &[Pattern]| parts.iter().any(Requirement::has_capability);
        match pattern.matcher() {
            Matcher::Remotable(_) | Matcher::Promise(_) => true,
            Matcher::Kind(kind) => *kind == "remotable" || *kind == "promise",
            Matcher::Array(parts) | Matcher::And(parts) | Matcher::Or(parts) => all(parts),
            Matcher::Record(fields) => fields.iter().any(|(_, part)| Requirement::has_capability(part)),
            Matcher::Map(entries) => entries.iter().any(|(_, part)| Requirement::has_capability(part)),
            Matcher::Tagged(one, other)
            | Matcher::RecordOf(one, other, _)
            | Matcher::BagOf(one, other, _)
            | Matcher::MapOf(one, other, _) => {
                Requirement::has_capability(one) || Requirement::has_capability(other)
            }
            Matcher::ArrayOf(part, _) | Matcher::SetOf(part, _) | Matcher::ContainerHas(part, _, _) => {
                Requirement::has_capability(part)
            }
            Matcher::SplitArray(split) => {
                all(&split.required)
                    || split.optional.as_deref().is_some_and(all)
                    || split.rest.as_ref().is_some_and(Requirement::has_capability)
            }
            Matcher::SplitRecord(split) => {
                let named = |fields: &[(_, Pattern)]| {
                    fields.iter().any(|(_, part)| Requirement::has_capability(part))
                };
                named(&split.required)
                    || split.optional.as_deref().is_some_and(named)
                    || split.rest.as_ref().is_some_and(Requirement::has_capability)
            }
            // A pattern that excludes a capability asks for none.
            Matcher::Negation(_)
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

    /// Returns whether the formula is a capability that meets the requirement. No formula meets `Pattern`.
    pub fn takes(&self, formula: &Formula) -> bool {
        match self {
            Requirement::Kind(kind) => formula.slot_kind().is_some_and(|own| kind.takes(own)),
            Requirement::Capability => !formula.is_data() && !matches!(formula, Formula::Marshal { .. }),
            Requirement::Pattern => false,
        }
    }

    /// Returns the required content in words, for an error.
    pub fn describe(&self) -> &'static str {
        match self {
            Requirement::Kind(kind) => kind.row().noun,
            Requirement::Capability => "a capability",
            Requirement::Pattern => "a value",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn patterns_name_the_wanted_kind() {
        let check = |text: &str, expected: Requirement| {
            assert_eq!(Requirement::from_pattern(&Pattern::parse(text).unwrap()), expected, "{text}");
        };
        check("M.remotable()", Requirement::Capability);
        check("M.remotable('tool')", Requirement::Capability);
        for row in resource::KINDS {
            check(&format!("M.remotable('{}')", row.label), Requirement::Kind(row.kind));
        }
        for row in resource::KINDS.iter().filter(|row| row.by_name) {
            assert!(passable::CAPABILITY_WORDS.contains(&row.label), "patterns do not know {}", row.label);
            let word = passable::Node::Text(row.label.to_owned(), 0..row.label.len());
            assert_eq!(
                Requirement::from_pattern(&Pattern::from_shorthand(&word).unwrap()),
                Requirement::Kind(row.kind)
            );
        }
        check("M.string()", Requirement::Pattern);
        check("M.or(M.remotable(), M.string())", Requirement::Pattern);
    }
}
