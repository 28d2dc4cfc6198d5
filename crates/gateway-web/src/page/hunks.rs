//! A unified difference, hunk by hunk.

use maud::{Markup, html};
use passable::Untrusted;

use super::parts;

/// The hunks of a difference: each with its head line. What stands before the first is the head of the file.
fn split(text: &str) -> Vec<String> {
    let mut hunks: Vec<String> = Vec::new();
    for line in text.split_inclusive('\n') {
        match hunks.last_mut() {
            Some(last) if !line.starts_with("@@") => last.push_str(line),
            _ => hunks.push(line.to_owned()),
        }
    }
    hunks
}

/// The differences of one file, each hunk by itself.
pub fn hunks(text: &Untrusted) -> Markup {
    let all = split(text.raw());
    html! {
        @for (at, hunk) in all.iter().enumerate() {
            (parts::difference(&format!("part {} of {}", at + 1, all.len()), &Untrusted::new(hunk.as_str())))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::split;

    #[test]
    fn nothing_of_a_difference_is_lost() {
        for (text, count) in [
            ("", 0),
            ("no difference\n", 1),
            ("--- a\n+++ b\n@@ -1 +1 @@\n-x\n+y\n@@ -9 +9 @@\n-z\n", 3),
            ("@@ -1 +1 @@\n-x\n\\ no newline", 1),
        ] {
            let hunks = split(text);
            assert_eq!((hunks.concat().as_str(), hunks.len()), (text, count));
        }
    }
}
