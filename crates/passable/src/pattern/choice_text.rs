//! The texts that a form sends for the choices that were made in a list.

use super::describe::distinct_label;
use crate::value::{Reference, Value};

/// Returns the texts by which literals are chosen. They are the literals themselves, if all are different texts that
/// a form can carry. Otherwise they are the labels of a long list, or the numbers of the literals.
pub(super) fn choice_texts<C: Reference>(values: &[Value<C>]) -> Vec<String> {
    let text = |value: &Value<C>| match value.as_str() {
        // A text that is typed must be visible, and must not be empty.
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

/// The maximum number of literals that are offered as a list. If there are more, the user searches for one and types
/// it, even if they are no texts.
pub(super) const MAX_LISTED_CHOICES: usize = 20;

/// Returns the labels of many literals, if the labels tell them apart.
fn distinct_labels<C: Reference>(values: &[Value<C>]) -> Option<Vec<String>> {
    let labels: Vec<String> = values.iter().map(|value| distinct_label(values, value)).collect();
    let is_told =
        values.len() > MAX_LISTED_CHOICES && are_different(&labels) && labels.iter().all(|one| is_plain(one));
    is_told.then_some(labels)
}

/// Returns whether a form sends a text back unchanged. Carriage returns would be changed.
pub(super) fn is_plain(text: &str) -> bool {
    !text.contains('\r')
}
