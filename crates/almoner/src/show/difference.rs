//! The difference between two texts, for a person.

use similar::{ChangeTag, TextDiff};

/// How many unchanged lines stand around a change.
const AROUND: usize = 2;

/// The most lines of a difference. What a person approved was read once already; this says where to look again.
const MOST: usize = 60;

/// The most time that is spent on a good difference; after that, a coarse one does.
const PATIENCE: std::time::Duration = std::time::Duration::from_millis(200);

/// The lines that went, with `-`, and those that came, with `+`, and a few around them. Nothing if the texts are equal.
pub fn lines(was: &str, is: &str) -> String {
    let diff = TextDiff::configure().timeout(PATIENCE).diff_lines(was, is);
    let mut all: Vec<String> = Vec::new();
    for (at, group) in diff.grouped_ops(AROUND).iter().enumerate() {
        if at > 0 {
            all.push("  …".to_owned());
        }
        for change in group.iter().flat_map(|op| diff.iter_changes(op)) {
            let mark = match change.tag() {
                ChangeTag::Delete => '-',
                ChangeTag::Insert => '+',
                ChangeTag::Equal => ' ',
            };
            all.push(format!("{mark} {}", change.value().trim_end_matches(['\n', '\r'])));
        }
    }
    if all.len() > MOST {
        let more = all.len() - MOST;
        all.truncate(MOST);
        all.push(format!("  … and {more} more lines"));
    }
    all.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_went_and_what_came() {
        for (was, is, expected) in [
            ("a\nb\n", "a\nb\n", ""),
            ("", "a\n", "+ a"),
            ("a\n", "", "- a"),
            ("1\n2\n3\n4\n5\n", "1\n2\n3\n4\nfive\n", "  3\n  4\n- 5\n+ five"),
            (
                "a\n2\n3\n4\n5\n6\n7\nb\n",
                "A\n2\n3\n4\n5\n6\n7\nB\n",
                "- a\n+ A\n  2\n  3\n  …\n  6\n  7\n- b\n+ B",
            ),
        ] {
            assert_eq!(lines(was, is), expected);
        }
    }

    #[test]
    fn a_long_difference_says_how_much_more_there_is() {
        let shown = lines("", &"x\n".repeat(100));
        assert_eq!(shown.lines().count(), MOST + 1);
        assert!(shown.ends_with("… and 40 more lines"));
    }
}
