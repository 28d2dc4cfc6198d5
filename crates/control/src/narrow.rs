//! The narrowing of an object before it is handed on: the restrictions, and their result.

use std::collections::BTreeSet;

use kernel::FormulaId;
use passable::Untrusted;
pub use resource::Limit;
use serde::{Deserialize, Serialize};

/// The restrictions of an object, as a user writes them. An empty text is no restriction.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Narrowing {
    /// The methods that stay. With `None`, all present methods stay.
    pub methods: Option<BTreeSet<String>>,
    /// The permitted suffixes of file names, such as `.pdf .md`.
    pub suffixes: String,
    /// The maximum size of a file, a message or an answer, such as `10MiB`.
    pub max: String,
    /// The maximum total size of a directory's content, such as `1GiB`.
    pub total: String,
    /// The maximum rate of calls, such as `10/min`.
    pub rate: String,
    /// The time for which the narrower object can be used, such as `30m`, `8h` or `7d`.
    pub lasts: String,
    /// Whether the data that is read through the object is private.
    pub private: bool,
}

/// A method of an object.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Method {
    /// The name of the method.
    pub name: String,
    /// The effect of the method on the world, in a word. It is empty if the effect is unknown.
    pub effect: String,
}

/// Returns methods as text, grouped by their effect on the world, the least harmful first. The text is not escaped
/// for a terminal.
pub fn in_words(methods: &[Method], others: bool) -> String {
    let mut effects: Vec<&str> = methods.iter().map(|method| method.effect.as_str()).collect();
    // The effects are ordered by their harm. Unknown effects come last.
    effects.sort_by_key(|effect| EFFECTS.iter().position(|known| known == effect).unwrap_or(EFFECTS.len()));
    effects.dedup();
    let of = |effect: &str| {
        let names =
            methods.iter().filter(|method| method.effect == effect).map(|method| method.name.as_str());
        let names = names.collect::<Vec<_>>().join(", ");
        if effect.is_empty() { names } else { format!("{names} ({effect})") }
    };
    let mut parts: Vec<String> = effects.into_iter().map(of).collect();
    if others {
        parts.push(if methods.is_empty() { EVERY } else { OTHERS }.to_owned());
    }
    parts.join("; ")
}

/// The effects of methods on the world, the least harmful first.
const EFFECTS: [&str; 4] = ["reads", "changes", "changes or sends", "sends"];

/// The text for all methods of an object, if only its maker knows them.
const EVERY: &str = "every method that it has";

/// The text for the other methods of an object, if only some methods are known.
const OTHERS: &str = "every other method that it has";

/// An object with its possible restrictions, and the result of applying some of them.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Narrowable {
    /// The formula of the object.
    pub id: FormulaId,
    /// The description of the object.
    pub words: Untrusted,
    /// The present methods of the object.
    pub methods: Vec<Method>,
    /// Whether the object may have methods that only its maker knows. The user must then name the methods that stay.
    pub any_method: bool,
    /// The limits that objects of this kind can have.
    pub limits: Vec<Limit>,
    /// The description of the result in one sentence, if the query contains restrictions.
    pub left: Option<Untrusted>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn methods_are_ordered_by_harm_with_unknown_effects_last() {
        let method = |text: &str| {
            let (name, effect) = text.split_once(':').unwrap();
            Method { name: name.to_owned(), effect: effect.to_owned() }
        };
        for (methods, others, expected) in [
            ("", false, ""),
            ("", true, "every method that it has"),
            ("incr: add:", false, "incr, add"),
            ("incr:", true, "incr; every other method that it has"),
            ("send:sends get:reads", false, "get (reads); send (sends)"),
            ("x: w:changes r:reads", false, "r (reads); w (changes); x"),
        ] {
            let methods: Vec<Method> = methods.split_whitespace().map(method).collect();
            assert_eq!(in_words(&methods, others), expected);
        }
    }
}
