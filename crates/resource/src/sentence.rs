//! The one sentence that describes the resource of a slot on every surface.

use std::collections::BTreeSet;

use crate::Attenuation;
use crate::kinds::directory::staged_copy;
use crate::kinds::{Kind, Resource, ResourceSpec};

/// Describes a resource under a grant: its summary, and every limit. The text is not made visible.
pub fn describe(resource: &Resource, taken: &Attenuation, methods: &BTreeSet<String>) -> String {
    let words = match &taken.staged_from {
        Some(real) => staged_copy(real),
        None => resource.summary_with(methods),
    };
    with_limits(words, taken)
}

/// Describes a typed resource for a slot: its summary, and every limit. The kind of the slot may be unknown. The text
/// is not made visible.
pub fn describe_spec(spec: &ResourceSpec, kind: Option<Kind>) -> String {
    let mut sentence = with_limits(spec.summary(kind.unwrap_or(spec.kind())), &spec.attenuation());
    if !spec.methods().is_empty() {
        sentence += &format!("; only the methods {}", spec.methods().join(", "));
    }
    sentence
}

fn with_limits(words: String, taken: &Attenuation) -> String {
    std::iter::once(words).chain(taken.limit_phrases()).collect::<Vec<_>>().join("; ")
}
