//! The lists of protected names: data files with a source for each row.

use std::sync::LazyLock;

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use toml::de::{DeTable, DeValue};

use super::ProtectionReason;

/// Files that hold keys.
const KEYS: &str = include_str!("keys.toml");

/// Files that programs obey.
const PROGRAMS: &str = include_str!("programs.toml");

/// Directories without a dot that hold files which programs obey.
const OWN_DIRECTORIES: [&str; 2] = ["almoner", "systemd"];

/// The reason why a pattern protects a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RowKind {
    /// The file holds keys.
    Keys,
    /// The file holds keys, unless it is source code.
    Data,
    /// A program obeys the file.
    Obeyed,
    /// A build tool obeys the file.
    Built,
    /// No program obeys the file, although its name begins with a dot.
    Ordinary,
}

impl RowKind {
    /// Returns the reason for the file, or `None` if the row protects nothing.
    pub(super) fn reason(self) -> Option<ProtectionReason> {
        match self {
            RowKind::Keys | RowKind::Data => Some(ProtectionReason::Keys),
            RowKind::Obeyed => Some(ProtectionReason::Obeyed),
            RowKind::Built => Some(ProtectionReason::Built),
            RowKind::Ordinary => None,
        }
    }
}

/// A pattern of a list.
#[derive(Clone, Copy, Debug)]
pub(super) struct Row {
    pub(super) kind: RowKind,
    /// Whether the pattern takes in a directory and everything below it.
    pub(super) is_tree: bool,
}

/// The words of file names that say that a file holds keys.
#[derive(Debug, Default)]
pub(super) struct NameWords {
    /// Words that follow each other in a name with an ending, or that are a whole name.
    pub(super) some: Vec<Vec<String>>,
    /// Words that follow each other in any name.
    pub(super) bare: Vec<Vec<String>>,
    /// Words that a name ends with.
    pub(super) last: Vec<String>,
    /// Words that are a whole name before the ending, and say nothing although a word of `last` ends them.
    pub(super) free: Vec<Vec<String>>,
}

/// All lists, prepared for the search.
#[derive(Debug)]
pub(super) struct Lists {
    rows: Vec<Row>,
    set: GlobSet,
    /// The reasons and patterns of the directories above what a pattern names.
    above: (Vec<ProtectionReason>, GlobSet),
    pub(super) words: NameWords,
}

/// Returns the lists, or `None` if a data file cannot be read. A test reads them, so this never happens in a program
/// that was tested.
pub(super) fn lists() -> Option<&'static Lists> {
    static LISTS: LazyLock<Option<Lists>> = LazyLock::new(|| Lists::read(&[KEYS, PROGRAMS]));
    LISTS.as_ref()
}

impl Lists {
    fn read(texts: &[&str]) -> Option<Lists> {
        let (mut rows, mut set) = (Vec::new(), GlobSetBuilder::new());
        let (mut reasons, mut above) = (Vec::new(), GlobSetBuilder::new());
        let mut words = NameWords::default();
        let mut add = |kind: RowKind, pattern: &str| -> Option<()> {
            let (named, is_tree) = match pattern.strip_suffix("/**") {
                Some(named) => (named, true),
                None => (pattern, false),
            };
            let named: Vec<String> = named.split('/').map(part).collect();
            let row = Row { kind, is_tree };
            set.add(glob(&format!("**/{}", named.join("/")))?);
            rows.push(row);
            if is_tree {
                set.add(glob(&format!("**/{}/**", named.join("/")))?);
                rows.push(row);
            }
            for length in 1..named.len() {
                // A directory such as `config` says too little.
                let says = |part: &String| part.starts_with('.') || OWN_DIRECTORIES.contains(&part.as_str());
                if let Some(reason) = kind.reason().filter(|_| named[..length].iter().any(says)) {
                    above.add(glob(&format!("**/{}", named[..length].join("/")))?);
                    reasons.push(reason);
                }
            }
            Some(())
        };
        for text in texts {
            for entry in DeTable::parse(text).ok()?.get_ref().get("row")?.get_ref().as_array()?.iter() {
                for (key, value) in entry.get_ref().as_table()?.iter() {
                    let is_programs = *text == PROGRAMS;
                    let kind = match (key.get_ref().as_ref(), is_programs) {
                        ("paths", false) => RowKind::Keys,
                        ("data", false) => RowKind::Data,
                        ("paths", true) => RowKind::Obeyed,
                        ("built", true) => RowKind::Built,
                        ("ordinary", true) => RowKind::Ordinary,
                        (name @ ("words" | "bare_words" | "free_words"), false) => {
                            let split = |words: &str| words.split(' ').map(str::to_owned).collect();
                            let rows = strings(value.get_ref())?.into_iter().map(split);
                            let list = match name {
                                "words" => &mut words.some,
                                "bare_words" => &mut words.bare,
                                _ => &mut words.free,
                            };
                            list.extend(rows);
                            continue;
                        }
                        ("last_words", false) => {
                            words.last.extend(strings(value.get_ref())?.into_iter().map(str::to_owned));
                            continue;
                        }
                        ("program" | "source", _) => continue,
                        _ => return None,
                    };
                    for pattern in strings(value.get_ref())? {
                        add(kind, pattern)?;
                    }
                }
            }
        }
        let (set, above) = (set.build().ok()?, above.build().ok()?);
        Some(Lists { rows, set, above: (reasons, above), words })
    }

    /// Returns the rows whose patterns a path in lower case matches.
    pub(super) fn rows(&self, path: &str) -> impl Iterator<Item = Row> + use<'_> {
        self.set.matches(path).into_iter().filter_map(|at| self.rows.get(at).copied())
    }

    /// Returns the reason why a directory may hold protected files.
    pub(super) fn reason_below(&self, path: &str) -> Option<ProtectionReason> {
        let (reasons, set) = &self.above;
        set.matches(path).into_iter().filter_map(|at| reasons.get(at).copied()).min()
    }
}

fn strings<'a>(value: &'a DeValue<'_>) -> Option<Vec<&'a str>> {
    value.as_array()?.iter().map(|item| item.get_ref().as_str()).collect()
}

/// Returns the pattern of one part. An ending such as `*.key` needs a letter before it.
fn part(part: &str) -> String {
    match part.strip_prefix("*.") {
        Some(end) => format!("?*.{end}"),
        None => part.to_owned(),
    }
}

fn glob(pattern: &str) -> Option<globset::Glob> {
    GlobBuilder::new(pattern).literal_separator(true).build().ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn every_row_has_a_source_and_lower_case_patterns() {
        assert!(lists().is_some());
        for text in [KEYS, PROGRAMS] {
            let table = DeTable::parse(text).unwrap();
            let mut seen = BTreeSet::new();
            for row in table.get_ref()["row"].get_ref().as_array().unwrap().iter() {
                let row = row.get_ref().as_table().unwrap();
                let text_of = |key: &str| row[key].get_ref().as_str().unwrap().to_owned();
                let (program, source) = (text_of("program"), text_of("source"));
                let is_page = source.starts_with("https://") || source.starts_with("docs/");
                assert!(is_page && !source.contains(' '), "{program}: {source}");
                for (key, value) in row.iter().filter(|(_, value)| value.get_ref().is_array()) {
                    for pattern in strings(value.get_ref()).unwrap() {
                        let is_new =
                            seen.insert((key.get_ref().ends_with("words").then(|| key.get_ref()), pattern));
                        assert!(is_new && !pattern.is_empty(), "{program}: {pattern} stands there twice");
                        assert_eq!(pattern, pattern.to_lowercase(), "{program}: {}", key.get_ref());
                    }
                }
            }
        }
    }
}
