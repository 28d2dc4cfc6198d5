//! Words that do not belong into the project, and how text files look.

use super::Problem;
use super::tree::{File, Tree};

/// A word that must not stand in a file, in two halves so that this file does not trip over itself.
struct Word {
    halves: [&'static str; 2],
    /// Whether tests may say it.
    tests_may: bool,
    wrong: &'static str,
    way_out: &'static str,
}

const MACHINE: &str = "a path of one machine";
const REGISTRY: &str = "the host of a package registry";
const RELATIVE: &str = "write the path relative to the clone, or make it a setting";
const BY_NAME: &str = "name the package; which registry brings it is each machine's own setting";

const WORDS: &[Word] = &[
    Word { halves: ["/wo", "rk/"], tests_may: false, wrong: MACHINE, way_out: RELATIVE },
    Word { halves: ["/tm", "p/"], tests_may: true, wrong: MACHINE, way_out: RELATIVE },
    Word { halves: ["crates", ".io"], tests_may: false, wrong: REGISTRY, way_out: BY_NAME },
    Word { halves: ["npmjs", ".org"], tests_may: false, wrong: REGISTRY, way_out: BY_NAME },
    Word { halves: ["pypi", ".org"], tests_may: false, wrong: REGISTRY, way_out: BY_NAME },
    Word { halves: ["pythonhosted", ".org"], tests_may: false, wrong: REGISTRY, way_out: BY_NAME },
    Word { halves: ["arti", "factory"], tests_may: false, wrong: REGISTRY, way_out: BY_NAME },
    Word {
        halves: ["sp", "ecs/"],
        tests_may: false,
        wrong: "a document that is not in the clone",
        way_out: "say here what it says, or point to a file under docs/",
    },
];

/// Written by cargo, not by us.
const GENERATED: &[&str] = &["Cargo.lock"];

/// Files whose look is ours to choose. Data and goldens are as they are.
const TEXT: &[&str] = &["rs", "toml", "md", "sh", "worker", "yml", "yaml", "py", "el", "css", "js", "html"];

/// Checks that no file names a path of one machine or a host of a registry.
pub(super) fn forbidden(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| !GENERATED.contains(&file.path.as_str())) {
        for (index, line) in file.text.lines().enumerate() {
            let in_test = file.is_test() || file.source.as_ref().is_some_and(|source| source.test[index]);
            for word in WORDS.iter().filter(|word| !(in_test && word.tests_may)) {
                let text = word.halves.concat();
                if contains_path(line, &text) {
                    let wrong = format!("`{text}` is {}", word.wrong);
                    problems.push(Problem::fault(&file.path, index + 1, wrong, word.way_out));
                }
            }
        }
    }
    problems
}

/// Returns whether the line holds the text; a path only where one begins, not in the middle of another or of an
/// address.
fn contains_path(line: &str, text: &str) -> bool {
    line.match_indices(text).any(|(start, _)| {
        let before = line[..start].chars().next_back();
        !text.starts_with('/') || !before.is_some_and(|c| c.is_alphanumeric() || ".-_/~}".contains(c))
    })
}

/// Checks that lines end in LF, without trailing blanks, and that each file ends in one newline.
pub(super) fn text(tree: &Tree) -> Vec<Problem> {
    let mut problems = Vec::new();
    for file in tree.files.iter().filter(|file| is_ours(file)) {
        for (index, line) in file.text.split('\n').enumerate() {
            if line.ends_with('\r') {
                problems.push(Problem::fault(
                    &file.path,
                    index + 1,
                    "the line ends in CR LF",
                    "end lines with LF alone",
                ));
            } else if line.ends_with([' ', '\t']) {
                problems.push(Problem::fault(
                    &file.path,
                    index + 1,
                    "blanks at the end of the line",
                    "remove them",
                ));
            }
        }
        let last = file.text.lines().count();
        if !file.text.is_empty() && !file.text.ends_with('\n') {
            problems.push(Problem::fault(&file.path, last, "no newline at the end of the file", "add one"));
        }
        if file.text.ends_with("\n\n") {
            problems.push(Problem::fault(
                &file.path,
                last,
                "empty lines at the end of the file",
                "remove them",
            ));
        }
    }
    problems
}

fn is_ours(file: &File) -> bool {
    let name = file.path.rsplit('/').next().unwrap_or_default();
    let extension = name.rsplit_once('.').map_or("", |(_, extension)| extension);
    let data = file.is_test() && file.source.is_none();
    (extension.is_empty() || TEXT.contains(&extension)) && !data
}

#[cfg(test)]
mod tests {
    use super::{forbidden, text};
    use crate::tidy::planted::{at, tree};

    #[test]
    fn machines_and_registries_are_not_named() {
        let find =
            |path: &str, text: &str, expected: &[&str]| at(&forbidden(&tree(&[(path, text)])), expected);
        find("README.md", "a\nsee /wo\u{72}k/main", &["README.md:2"]);
        find("README.md", "docs/wo\u{72}k/notes and https://host/wo\u{72}k/x", &[]);
        find("crates/caps/src/a.rs", "let x = \"/tm\u{70}/x\";", &["crates/caps/src/a.rs:1"]);
        find("crates/caps/tests/it/main.rs", "let x = \"/tm\u{70}/x\";", &[]);
        find("crates/caps/src/a.rs", "#[cfg(test)]\nmod tests {\n  \"/tm\u{70}/x\"\n}", &[]);
        find("docs/a.md", "from index.crates\u{2e}io", &["docs/a.md:1"]);
        find("Cargo.lock", "from index.crates\u{2e}io", &[]);
    }

    #[test]
    fn untidy_line_ends_are_found() {
        let find =
            |path: &str, content: &str, expected: &[&str]| at(&text(&tree(&[(path, content)])), expected);
        find("a.md", "a\nb\n", &[]);
        find("a.md", "a \nb\r\n", &["a.md:1", "a.md:2"]);
        find("a.md", "a\nb", &["a.md:2"]);
        find("a.md", "a\n\n", &["a.md:2"]);
        find("LICENSE", "a\t\n", &["LICENSE:1"]);
        find("examples/inbox/mail/a.eml", "a \r\n", &[]);
        find("crates/caps/tests/data/a.md", "a ", &[]);
    }
}
