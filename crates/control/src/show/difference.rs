//! The difference between two texts, for users.

use std::collections::BTreeSet;

use similar::{ChangeTag, DiffOp, TextDiff};

/// The number of unchanged lines around a change.
const AROUND: usize = 2;

/// The maximum number of lines of a difference. The user has read the whole text before, and the difference only
/// shows where to look again.
const MAX_LINES: usize = 60;

/// The time limit for computing a minimal difference. After it, a coarser difference is used.
const DIFF_TIMEOUT: std::time::Duration = std::time::Duration::from_millis(200);

/// Returns the removed lines with `-`, the added lines with `+`, and a few unchanged lines around them. Returns an
/// empty text if the texts are equal.
pub fn lines(was: &str, is: &str) -> String {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(was, is);
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
    if all.len() > MAX_LINES {
        let more = all.len() - MAX_LINES;
        all.truncate(MAX_LINES);
        all.push(format!("  … and {more} more lines"));
    }
    all.join("\n")
}

/// The number of unchanged lines around a change in a unified diff.
const CONTEXT: usize = 3;

/// Returns the change of a path as a unified diff. Each side says whether the path is a folder, and holds the file's
/// bytes if there is a file. Bytes that are not text are only counted.
pub fn unified(path: &str, before: (bool, Option<&[u8]>), after: (bool, Option<&[u8]>)) -> String {
    let path = passable::visible_line(path);
    let text = |bytes: Option<&[u8]>| match bytes {
        None => Some(String::new()),
        Some(bytes) if bytes.contains(&0) => None,
        Some(bytes) => std::str::from_utf8(bytes).ok().map(str::to_owned),
    };
    let name = |side: (bool, Option<&[u8]>), mark: &str| match side {
        (false, None) => "/dev/null".to_owned(),
        _ => format!("{mark}/{path}"),
    };
    let (old_name, new_name) = (name(before, "a"), name(after, "b"));
    match (before, after) {
        ((true, _), _) => format!("--- {old_name}/ (a folder)\n+++ {new_name}\n"),
        (_, (true, _)) => format!("--- {old_name}\n+++ {new_name}/ (a folder)\n"),
        _ => match text(before.1).zip(text(after.1)) {
            Some((old, new)) => {
                let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(&old, &new);
                let lines = diff.unified_diff().context_radius(CONTEXT).to_string();
                format!("--- {old_name}\n+++ {new_name}\n{lines}")
            }
            None => {
                let bytes = |side: Option<&[u8]>| side.map_or(0, <[u8]>::len);
                format!(
                    "--- {old_name}\n+++ {new_name}\nbinary: {} bytes before, {} after\n",
                    bytes(before.1),
                    bytes(after.1)
                )
            }
        },
    }
}

/// Returns the text `before` with only the given parts of [`unified`] applied, counted from 1. Returns `None` if a
/// part does not exist.
pub fn only(before: &str, after: &str, parts: &BTreeSet<usize>) -> Option<String> {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after);
    let groups = diff.grouped_ops(CONTEXT);
    if parts.iter().any(|part| !(1..=groups.len()).contains(part)) {
        return None;
    }
    // Unchanged lines can be in several groups, each with only the lines that are shown. They are copied in any case.
    // A change is always whole in one group.
    let is_chosen = |op: &DiffOp| {
        groups.iter().zip(1..).any(|(group, number)| parts.contains(&number) && group.contains(op))
    };
    let mut text = String::with_capacity(before.len().max(after.len()));
    for op in diff.ops() {
        let unwanted = if is_chosen(op) { ChangeTag::Delete } else { ChangeTag::Insert };
        for change in diff.iter_changes(op).filter(|change| change.tag() != unwanted) {
            text.push_str(change.value());
        }
    }
    Some(text)
}

/// Returns the text `after` without the given parts of [`unified`], counted from 1. Returns `None` if a part does not
/// exist.
pub fn without(before: &str, after: &str, parts: &BTreeSet<usize>) -> Option<String> {
    let diff = TextDiff::configure().timeout(DIFF_TIMEOUT).diff_lines(before, after);
    let all = 1..=diff.grouped_ops(CONTEXT).len();
    if parts.iter().any(|part| !all.contains(part)) {
        return None;
    }
    only(before, after, &all.filter(|part| !parts.contains(part)).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn line_diff_shows_removed_and_added_lines() {
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
    fn unified_diff_shows_changes_folders_and_binary_files() {
        let file = |text: &'static str| (false, Some(text.as_bytes()));
        let nothing = (false, None);
        for (before, after, expected) in [
            (file("a\nb\n"), file("a\nc\n"), "--- a/x\n+++ b/x\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n"),
            (nothing, file("a\n"), "--- /dev/null\n+++ b/x\n@@ -0,0 +1 @@\n+a\n"),
            (file("a\n"), nothing, "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n"),
            (file("a\0"), file("b"), "--- a/x\n+++ b/x\nbinary: 2 bytes before, 1 after\n"),
            (nothing, (true, None), "--- /dev/null\n+++ b/x/ (a folder)\n"),
        ] {
            assert_eq!(unified("x", before, after), expected);
        }
        let shown = unified("x\u{1b}[2K", file("a"), file("b"));
        assert!(!shown.contains('\u{1b}') && shown.contains("No newline"), "{shown}");
    }

    #[test]
    fn selected_parts_of_diff_are_applied_alone() {
        let before = "a\n2\n3\n4\n5\n6\n7\n8\nb\n9\n10\n11\n12\n13\n14\n15\nc\n";
        let after = "A\n2\n3\n4\n5\n6\n7\n8\n9\n10\n11\n12\n13\n14\n15\nc\nd";
        let shown = unified("x", (false, Some(before.as_bytes())), (false, Some(after.as_bytes())));
        assert_eq!(shown.matches("\n@@").count(), 3, "{shown}");
        for (parts, expected) in [
            (&[][..], Some(before.to_owned())),
            (&[1, 2, 3], Some(after.to_owned())),
            (&[1], Some(before.replace('a', "A"))),
            (&[2], Some(before.replace("b\n", ""))),
            (&[3], Some(format!("{before}d"))),
            (&[1, 3], Some(format!("{}d", before.replace('a', "A")))),
            (&[0], None),
            (&[4], None),
        ] {
            let parts = parts.iter().copied().collect();
            assert_eq!(only(before, after, &parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn long_diff_is_cut_with_count_of_further_lines() {
        let shown = lines("", &"x\n".repeat(100));
        assert_eq!(shown.lines().count(), MAX_LINES + 1);
        assert!(shown.ends_with("… and 40 more lines"));
    }
}
