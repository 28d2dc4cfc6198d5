//! The user's configuration in a home that moves: the paths in its texts follow.
//!
//! The files are text that a person writes, with comments and an order of their own. So only the paths in them change, and
//! the card shows each line that does.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use kernel::relocation::PathMap;

use super::plan::TextChange;

/// The endings of the files in which paths are looked for.
const ENDINGS: &[&str] = &["toml", "cedar", "json"];

/// The maximum size of such a file, in bytes.
const MAX_TEXT_BYTES: u64 = 1 << 20;

/// A file whose text changes.
pub struct ChangedText {
    /// The path of the file.
    pub path: PathBuf,
    /// The text with all paths moved.
    pub text: String,
    /// The lines that change.
    pub lines: Vec<TextChange>,
}

/// Returns the files in a configuration directory whose texts change.
///
/// # Errors
/// When a file cannot be read.
pub fn changed_texts(config: &Path, moves: &PathMap) -> io::Result<Vec<ChangedText>> {
    let mut changed = Vec::new();
    let mut left = vec![config.to_owned()];
    while let Some(dir) = left.pop() {
        for entry in fs::read_dir(&dir)? {
            let (path, meta) = entry.and_then(|entry| Ok((entry.path(), entry.metadata()?)))?;
            let has_text = path
                .extension()
                .and_then(|ending| ending.to_str())
                .is_some_and(|ending| ENDINGS.contains(&ending));
            if meta.is_dir() {
                left.push(path);
            } else if has_text && meta.len() <= MAX_TEXT_BYTES {
                let Ok(before) = String::from_utf8(fs::read(&path)?) else { continue };
                let Some(text) = moves.moved_in_text(&before) else { continue };
                let name = path.strip_prefix(config).unwrap_or(&path).display().to_string();
                let lines = before.lines().zip(text.lines()).enumerate();
                let lines =
                    lines.filter(|(_, (before, after))| before != after).map(|(at, (before, after))| {
                        let (before, after) = (before.trim().to_owned(), after.trim().to_owned());
                        TextChange { file: name.clone(), line: at + 1, before, after }
                    });
                changed.push(ChangedText { lines: lines.collect(), path, text });
            }
        }
    }
    changed.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(changed)
}

/// Returns whether a path can be written into a text in quotes as it is.
pub fn is_plain(path: &str) -> bool {
    !path.contains(|c: char| c.is_control() || "\"'\\".contains(c))
}

#[cfg(test)]
mod tests {
    use kernel::relocation::DirectoryMove;

    use super::*;

    #[test]
    fn only_paths_in_texts_change() {
        let dir = tempfile::tempdir().unwrap();
        let policy = "// notes of /old\npermit(principal, action, resource)\nwhen { resource.path like \"/old/*\" };\n";
        fs::write(dir.path().join("policy.cedar"), policy).unwrap();
        fs::write(dir.path().join("config.toml"), "[network]\nca_file = \"/other/ca.pem\" # /older\n")
            .unwrap();
        fs::write(dir.path().join("notes.txt"), "/old").unwrap();
        let moves = PathMap::new([DirectoryMove { from: "/old".into(), to: "/new".into() }]);
        let changed = changed_texts(dir.path(), &moves).unwrap();
        assert_eq!(changed.len(), 1);
        assert_eq!(changed[0].text, policy.replace("/old", "/new"));
        let lines: Vec<_> = changed[0].lines.iter().map(|one| (one.line, one.after.as_str())).collect();
        assert_eq!(lines, [(1, "// notes of /new"), (3, "when { resource.path like \"/new/*\" };")]);
        assert!(is_plain("/a b/ü") && !is_plain("/a\"b") && !is_plain("/a\nb"));
    }
}
