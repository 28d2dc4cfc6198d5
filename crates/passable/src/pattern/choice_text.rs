//! The texts by which a form says which choices of a list were made.

use super::describe::distinct_label;
use crate::value::{Reference, Value};

/// Returns the texts by which literals are chosen: themselves if all are text that a form can carry, else their
/// numbers.
pub(super) fn choice_texts<C: Reference>(values: &[Value<C>]) -> Vec<String> {
    let text = |value: &Value<C>| match value.as_str() {
        // One that is typed can be seen, and is not empty.
        Some(text) if values.len() > MAX_LISTED_CHOICES => Some(shown(text)),
        text => text.filter(|text| is_plain(text)).map(str::to_owned),
    };
    let texts: Option<Vec<String>> = values.iter().map(text).collect();
    texts
        .filter(|texts| are_different(texts))
        .or_else(|| distinct_labels(values))
        .unwrap_or_else(|| (0..values.len()).map(|at| at.to_string()).collect())
}

fn shown(text: &str) -> String {
    match text.trim().is_empty() {
        true => format!("\"{}\"", crate::visible_line(text)),
        false => crate::visible_line(text).into_owned(),
    }
}

fn are_different(texts: &[String]) -> bool {
    let different: std::collections::BTreeSet<&String> = texts.iter().collect();
    different.len() == texts.len()
}

/// How many literals are offered as a list at most. Of more, one is looked for and typed, also where they are no texts.
pub(super) const MAX_LISTED_CHOICES: usize = 20;

/// Returns the labels of many literals, if the labels tell them apart.
fn distinct_labels<C: Reference>(values: &[Value<C>]) -> Option<Vec<String>> {
    let labels: Vec<String> = values.iter().map(|value| distinct_label(values, value)).collect();
    let is_told =
        values.len() > MAX_LISTED_CHOICES && are_different(&labels) && labels.iter().all(|one| is_plain(one));
    is_told.then_some(labels)
}

/// Returns whether text comes back as it was sent: carriage returns do not.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('\r')
}
