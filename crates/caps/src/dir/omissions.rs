//! The entries that an answer leaves out, counted by the reason. The answer says so, because a model would otherwise
//! conclude that they do not exist.

use std::ffi::OsStr;

use passable::visible_line;

/// The maximum number of examples of one reason.
const MAX_EXAMPLES: usize = 8;

/// The maximum number of characters of an example.
const MAX_EXAMPLE_CHARS: usize = 100;

/// The reason why an entry is left out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reason {
    /// The name is no UTF-8, or no path that a call may name.
    Unnameable,
    /// A `.gitignore` names the entry, or it holds dependencies, builds or the history of a repository.
    Ignored,
    /// The operating system does not let the entry be read.
    Unreadable,
    /// The file is too large to be searched.
    Large,
    /// The file is no text.
    Binary,
    /// The name says that the file holds keys.
    Keys,
    /// Text in the file looks like a key.
    KeysInside,
    /// The name says that the directory holds keys.
    KeyDirectory,
}

impl Reason {
    const ALL: [Reason; 8] = [
        Reason::Unnameable,
        Reason::Unreadable,
        Reason::Keys,
        Reason::KeysInside,
        Reason::KeyDirectory,
        Reason::Large,
        Reason::Binary,
        Reason::Ignored,
    ];

    /// Returns the words behind the number of entries.
    fn phrase(self, is_one: bool) -> &'static str {
        match (self, is_one) {
            (Reason::Unnameable, true) => {
                "name cannot be shown: it has a line break, a control character, a backslash, an encoded `/` or bytes that are no UTF-8"
            }
            (Reason::Unnameable, false) => {
                "names cannot be shown: they have line breaks, control characters, backslashes, an encoded `/` or bytes that are no UTF-8"
            }
            (Reason::Ignored, true) => {
                "file or directory was left out, because of `.gitignore` or because it holds dependencies, builds or \
                 history (`ignored: true` includes it)"
            }
            (Reason::Ignored, false) => {
                "files and directories were left out, because of `.gitignore` or because they hold dependencies, builds \
                 or history (`ignored: true` includes them)"
            }
            (Reason::Unreadable, true) => "file or directory cannot be read: the operating system forbids it",
            (Reason::Unreadable, false) => {
                "files and directories cannot be read: the operating system forbids it"
            }
            (Reason::Large, true) => {
                "file was not searched: it is too large (name it as `path` to search it)"
            }
            (Reason::Large, false) => {
                "files were not searched: they are too large (name one as `path` to search it)"
            }
            (Reason::Binary, true) => "file was not searched: it is not UTF-8 text",
            (Reason::Binary, false) => "files were not searched: they are not UTF-8 text",
            (Reason::KeyDirectory, true) => {
                "directory was not looked into: its name says that it holds keys (a pattern or `path` that begins in it asks a person)"
            }
            (Reason::KeyDirectory, false) => {
                "directories were not looked into: their names say that they hold keys (a pattern or `path` that begins in one \
                 asks a person)"
            }
            (Reason::Keys, true) => "file was not searched: its name says that it holds keys",
            (Reason::Keys, false) => "files were not searched: their names say that they hold keys",
            (Reason::KeysInside, true) => {
                "file was not searched: text in it looks like a key (`read` of it asks a person)"
            }
            (Reason::KeysInside, false) => {
                "files were not searched: text in them looks like a key (`read` of one asks a person)"
            }
        }
    }
}

/// The entries that an answer leaves out.
#[derive(Clone, Debug, Default)]
pub(super) struct Omissions {
    /// The number of entries and some examples, in the order of [`Reason::ALL`].
    counts: [(usize, Vec<String>); 8],
}

impl Omissions {
    /// Notes an entry at a path.
    pub(super) fn note(&mut self, reason: Reason, path: &str) {
        self.note_shown(reason, || visible_line(path).into_owned());
    }

    /// Notes an entry whose name cannot be given as a path. `way` is the directory of the entry.
    pub(super) fn note_unnameable(&mut self, way: &str, name: &OsStr) {
        self.note_shown(Reason::Unnameable, || {
            let name = match name.to_str() {
                Some(name) => visible_line(name).into_owned(),
                None => name.as_encoded_bytes().escape_ascii().to_string(),
            };
            if way == "." { name } else { format!("{}/{name}", visible_line(way)) }
        });
    }

    fn note_shown(&mut self, reason: Reason, shown: impl FnOnce() -> String) {
        let at = Reason::ALL.iter().position(|one| *one == reason).unwrap_or_default();
        let (count, examples) = &mut self.counts[at];
        *count += 1;
        if examples.len() < MAX_EXAMPLES {
            examples.push(shown().chars().take(MAX_EXAMPLE_CHARS).collect());
        }
    }

    /// Adds the entries that another part of the work has left out.
    pub(super) fn add(&mut self, other: Omissions) {
        for ((count, examples), (more, others)) in self.counts.iter_mut().zip(other.counts) {
            *count += more;
            examples.extend(others);
            examples.truncate(MAX_EXAMPLES);
        }
    }

    /// Returns the number of entries that were left out for one of these reasons.
    pub(super) fn count(&self, reasons: &[Reason]) -> usize {
        let counts = Reason::ALL.iter().zip(&self.counts);
        counts.filter(|(reason, _)| reasons.contains(reason)).map(|(_, (count, _))| count).sum()
    }

    /// Returns a sentence for each reason with entries.
    pub(super) fn sentences(&self) -> Vec<String> {
        let counts = Reason::ALL.iter().zip(&self.counts).filter(|(_, (count, _))| *count > 0);
        let sentence = |(reason, (count, examples)): (&Reason, &(usize, Vec<String>))| {
            let quoted: Vec<String> = examples.iter().map(|example| format!("`{example}`")).collect();
            let more = if *count > examples.len() { ", …" } else { "" };
            format!("{count} {}: {}{more}", reason.phrase(*count == 1), quoted.join(", "))
        };
        counts.map(sentence).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use super::*;

    #[test]
    fn each_reason_is_one_sentence_with_examples() {
        let mut omitted = Omissions::default();
        assert!(omitted.sentences().is_empty());
        omitted.note_unnameable(".", OsStr::from_bytes(b"q\xff.txt"));
        omitted.note_unnameable("a", OsStr::new("x\ny"));
        for at in 0..9 {
            omitted.note(Reason::Ignored, &format!("{at}/"));
        }
        let said = omitted.sentences();
        assert!(said[0].starts_with("2 names cannot be shown: "), "{said:?}");
        assert!(said[0].ends_with(": `q\\xff.txt`, `a/x\\u{A}y`"), "{said:?}");
        assert!(said[1].starts_with("9 files and directories were left out"), "{said:?}");
        assert!(said[1].ends_with("`7/`, …") && said.len() == 2, "{said:?}");
        assert_eq!(omitted.count(&[Reason::Ignored, Reason::Large]), 9);
    }
}
