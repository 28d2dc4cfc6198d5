//! Narrowing an object before it is handed on: the restrictions, and the rest that is left.

use std::collections::BTreeSet;

use kernel::FormulaId;
use passable::Untrusted;
pub use resource::Limit;
use serde::{Deserialize, Serialize};

/// The restrictions of an object, as a user writes them. Empty text restricts nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Narrowing {
    /// The methods that stay; all that it has now, if this is not said.
    pub methods: Option<BTreeSet<String>>,
    /// The endings that names of files may have: `.pdf .md`.
    pub suffixes: String,
    /// The largest file, message or answer: `10MiB`.
    pub max: String,
    /// The most that a directory may come to hold: `1GiB`.
    pub total: String,
    /// How often it may be used: `10/min`.
    pub rate: String,
    /// How long it may be used from when it is made: `30m`, `8h`, `7d`.
    pub lasts: String,
    /// Whether the data that is read through it is private.
    pub private: bool,
}

/// A method that something has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// Its effect on the world, in a word; empty if that is unknown.
    pub effect: String,
}

/// Returns methods as text, grouped by their effect on the world, the least harmful first. Not made visible.
pub fn in_words(methods: &[Method], others: bool) -> String {
    let mut effects: Vec<&str> = methods.iter().map(|method| method.effect.as_str()).collect();
    // In the order of the methods' harm; unknown effects come last.
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

/// The text for all methods, where only the object's maker knows which those are.
const EVERY: &str = "every method that it has";

/// The same beside some that are known.
const OTHERS: &str = "every other method that it has";

/// An object, the restrictions that it can take, and the rest that would be left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowable {
    /// The formula of the name.
    pub id: FormulaId,
    /// Its description.
    pub words: Untrusted,
    /// The methods that it has now.
    pub methods: Vec<Method>,
    /// Whether it may have methods that only its maker knows, so that the user who narrows it names them.
    pub any_method: bool,
    /// The limits that its kind knows.
    pub limits: Vec<Limit>,
    /// The rest that would be left of it, in a sentence, if the query has restrictions.
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
