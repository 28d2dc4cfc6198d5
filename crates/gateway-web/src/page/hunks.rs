//! The hunks of a unified diff.

use maud::{Markup, html};
use passable::Untrusted;

use super::parts;

/// The size in bytes above which a hunk is folded, if the script runs. The user must unfold such a hunk before acting
/// on it.
const FOLD_THRESHOLD: usize = 20_000;

/// Returns the text before the first hunk, and the hunks, each with its header line.
fn split(text: &str) -> (&str, Vec<&str>) {
    let begins = |at: &usize| text[..*at].ends_with('\n') || *at == 0;
    let heads: Vec<usize> = text.match_indices("@@ -").map(|(at, _)| at).filter(begins).collect();
    let first = heads.first().copied().unwrap_or(text.len());
    let ends = heads.iter().skip(1).copied().chain([text.len()]);
    (&text[..first], heads.iter().zip(ends).map(|(from, to)| &text[*from..to]).collect())
}

/// Returns the number of hunks.
pub fn count(text: &Untrusted) -> usize {
    split(text.raw()).1.len()
}

/// Returns the diff of one file, hunk by hunk. If `choose` names a form field and there are several hunks, each has a
/// checkbox.
pub fn hunks(text: &Untrusted, choose: Option<&str>, is_marked: impl Fn(usize) -> bool) -> Markup {
    let (head, all) = split(text.raw());
    let of = all.len();
    html! {
        @if !head.is_empty() { (parts::difference("file", &Untrusted::new(head))) }
        @for (hunk, number) in all.iter().zip(1..) {
            @let label = format!("hunk {number} of {of}");
            @if let Some(name) = choose.filter(|_| of > 1) {
                label.choice { input type="checkbox" name=(name) value=(number) checked[is_marked(number)]; span { (label) } }
            }
            @let shown = parts::difference(&label, &Untrusted::new(*hunk));
            @if hunk.len() > FOLD_THRESHOLD { (parts::unfolded_first(&label, hunk.len(), &shown)) } @else { (shown) }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn splitting_a_difference_loses_no_text() {
        for (text, count) in [
            ("", 0),
            ("no difference\n", 0),
            ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n@@ -9 +9 @@\n-z\n", 2),
            ("@@ -1 +1 @@\n-x\n\\ no newline", 1),
            ("--- a\n+++ b\n@@ -1 +1 @@\n-@@ -1\n+y @@ -2\n", 1),
        ] {
            let (head, hunks) = split(text);
            assert_eq!((format!("{head}{}", hunks.concat()).as_str(), hunks.len()), (text, count));
        }
    }
}
