//! Suggestions in the form "did you mean …?": the nearest valid word.

use std::fmt::Write as _;

/// Returns the candidate nearest to `word`, if one is near enough to be the intended word.
pub fn nearest<'a>(word: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // At least two thirds of the letters must be right. Long words are skipped, because people do not mistype those.
    let length = word.chars().count();
    if length > 64 {
        return None;
    }
    let limit = (length / 3).max(1);
    candidates
        .into_iter()
        .filter(|candidate| candidate.len() <= 256)
        .map(|candidate| (distance(&word.to_lowercase(), &candidate.to_lowercase()), candidate))
        .filter(|(distance, _)| *distance <= limit)
        .min()
        .map(|(_, candidate)| candidate)
}

/// Returns one line of help: the nearest candidate if there is one, and otherwise all of them. `what` is a plural,
/// such as "the slots".
pub(crate) fn help<'a>(
    word: &str,
    what: &str,
    candidates: impl IntoIterator<Item = &'a str, IntoIter: Clone>,
) -> String {
    let candidates = candidates.into_iter();
    if let Some(near) = nearest(word, candidates.clone()) {
        return format!("did you mean `{near}`?");
    }
    let mut known = String::new();
    for candidate in candidates {
        let _ = write!(known, "{}`{candidate}`", if known.is_empty() { "" } else { ", " });
    }
    if known.is_empty() {
        format!("there are none: {what} would have to be declared")
    } else {
        format!("{what}: {known}")
    }
}

/// Returns the number of letters that must be inserted, removed, replaced or swapped with their neighbour.
fn distance(left: &str, right: &str) -> usize {
    let left: Vec<char> = left.chars().collect();
    let right: Vec<char> = right.chars().collect();
    let mut before: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=right.len()).collect();
    for (i, a) in left.iter().enumerate() {
        let mut row = Vec::with_capacity(last.len());
        row.push(i + 1);
        for (j, b) in right.iter().enumerate() {
            let mut best = (row[j] + 1).min(last[j + 1] + 1).min(last[j] + usize::from(a != b));
            if i > 0 && j > 0 && *a == right[j - 1] && left[i - 1] == *b {
                best = best.min(before[j - 1] + 1);
            }
            row.push(best);
        }
        before = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nearest_finds_only_similar_words() {
        for (word, expected) in [
            ("ouput", Some("output")),
            ("outptu", Some("output")),
            ("Output", Some("output")),
            ("limit", Some("limits")),
            ("slot", Some("slots")),
            ("zebra", None),
            ("", None),
            (&"output".repeat(100), None),
        ] {
            assert_eq!(nearest(word, ["input", "output", "slots", "limits"]), expected, "{word}");
        }
    }
}
