//! The one sentence that describes what fills a slot, wherever a person reads it.

use std::collections::BTreeSet;

use crate::{Attenuation, Kind, Resource, ResourceSpec};

/// Describes a resource through a grant: what it is, and every limit. Not made visible.
pub fn describe(resource: &Resource, taken: &Attenuation, methods: &BTreeSet<String>) -> String {
    let words = match &taken.staged_from {
        Some(real) => staged_copy(real),
        None => resource.words_with(methods),
    };
    with_limits(words, taken)
}

/// Describes what a person has typed, for a slot of this kind if that is known: what it is, and every limit. Not made
/// visible.
pub fn describe_spec(spec: &ResourceSpec, kind: Option<Kind>) -> String {
    let mut sentence = with_limits(spec.words(kind.unwrap_or(spec.kind())), &spec.attenuation());
    if !spec.methods().is_empty() {
        sentence += &format!("; only the methods {}", spec.methods().join(", "));
    }
    sentence
}

/// Describes a staged copy, which goes by the directory of which it is one.
pub fn staged_copy(real: &str) -> String {
    format!("staged copy of directory {real}")
}

fn with_limits(words: String, taken: &Attenuation) -> String {
    std::iter::once(words).chain(taken.words()).collect::<Vec<_>>().join("; ")
}
