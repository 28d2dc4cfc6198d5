//! Making something narrower before it is handed on: what is taken away, and what is left.

use std::collections::BTreeSet;

use kernel::FormulaId;
use passable::Untrusted;
pub use resource::Limit;
use serde::{Deserialize, Serialize};

/// What is taken away of something, as a person writes it. Empty text takes nothing away.
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
    /// Whether what is read through it is private.
    pub private: bool,
}

/// A method that something has.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Method {
    /// Its name.
    pub name: String,
    /// What it does to the world, in a word; empty where nobody knows.
    pub effect: String,
}

/// Methods in words, by what they do to the world, what harms least first. Not made visible.
pub fn in_words(methods: &[Method], others: bool) -> String {
    let mut effects: Vec<&str> = methods.iter().map(|method| method.effect.as_str()).collect();
    // In the order of what a method can do; what nobody knows comes last.
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

/// What methods do to the world, what harms least first.
const EFFECTS: [&str; 4] = ["reads", "changes", "changes or sends", "sends"];

/// All methods, where nobody but its maker knows which those are.
const EVERY: &str = "every method that it has";

/// The same beside some that are known.
const OTHERS: &str = "every other method that it has";

/// Something, what can be taken away of it, and what would be left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Narrowable {
    /// What the name stands for.
    pub id: FormulaId,
    /// What it is, in words.
    pub words: Untrusted,
    /// The methods that it has now.
    pub methods: Vec<Method>,
    /// Whether it may have methods that only its maker knows, so that they are named by whoever narrows it.
    pub any_method: bool,
    /// The limits that its kind knows.
    pub limits: Vec<Limit>,
    /// What would be left of it, in a sentence, if it was said what is taken away.
    pub left: Option<Untrusted>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_harms_least_is_said_first_and_what_nobody_knows_last() {
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
