//! Every hole that others had is closed by a test that bears its number, or is listed as open.
//!
//! `docs/holes.md` holds one table: the id, the hole in one sentence, and the test. Ids are `` `NAME-NN` `` with
//! numbers that go up by one. Tests are named as in `docs/claims.md`, and their functions begin with the id; an open
//! hole has `open:` and why. A test that bears a number and is not in the list is a hole without an entry.

use super::Problem;
use super::claims::{cells, find, spans};
use super::tree::Tree;

const LIST: &str = "docs/holes.md";

/// Where tests with numbers stand.
const TESTS: &str = "crates/almoner/tests/it/holes.rs";

/// The text that a hole has instead of a test until it is closed, with the reason behind it.
const OPEN: &str = "open: ";

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(list) = tree.file(LIST) else {
        let way_out = "write it: one row each, with the id, the hole, and the test that bears the id";
        return vec![Problem::fault(LIST, 0, "this list is not there", way_out)];
    };
    let mut problems = Vec::new();
    let mut ids: Vec<String> = Vec::new();
    for (index, line) in list.text.lines().enumerate() {
        let Some(cells) = cells(line) else { continue };
        let Some(id) = cells.first().and_then(|cell| cell.strip_prefix('`')?.strip_suffix('`')) else {
            continue;
        };
        let mut fault = |wrong: String, way_out: &str| {
            problems.push(Problem::fault(LIST, index + 1, wrong, way_out));
        };
        if number(id) != Some(ids.len() + 1) {
            let wrong = format!("`{id}` is not number {}", ids.len() + 1);
            fault(wrong, "number holes in their order, and keep the number of one that is closed");
        }
        ids.push(id.replace('-', "_"));
        let (Some(hole), Some(test)) = (cells.get(1), cells.get(2)) else {
            fault("a row has three cells".to_owned(), "say the hole and the test");
            continue;
        };
        if hole.is_empty() {
            fault(format!("`{id}` does not say what the hole is"), "say it in one sentence");
        }
        if test.strip_prefix(OPEN).is_some_and(|why| !why.is_empty()) {
            continue;
        }
        let named = spans(test);
        let bears = |name: &&str| {
            let function = name.rsplit("::").next().unwrap_or_default();
            function.starts_with(&format!("{}_", id.replace('-', "_")))
        };
        if !named.iter().any(bears) {
            fault(format!("`{id}` has no test that bears its number"), "name one, or say `open: ` and why");
        }
        for name in named {
            if let Err(wrong) = find(tree, "", name) {
                fault(wrong, "write the test, or say `open: ` and why");
            }
        }
    }
    if ids.is_empty() {
        problems.push(Problem::fault(LIST, 0, "no hole is listed", "begin a table with the ids in front"));
    }
    let lines =
        tree.file(TESTS).and_then(|file| file.source.as_ref()).map_or(&[][..], |source| &source.code[..]);
    for (index, line) in lines.iter().enumerate() {
        let Some(name) = line.strip_prefix("fn ").and_then(|rest| rest.split('(').next()) else { continue };
        let bears_number = name.starts_with("llm_do_");
        if bears_number && !ids.iter().any(|id| name.starts_with(&format!("{id}_"))) {
            let wrong = format!("`{name}` bears a number that is not in {LIST}");
            problems.push(Problem::fault(TESTS, index + 1, wrong, "add the hole to the list"));
        }
    }
    problems
}

/// Returns the number of an id.
fn number(id: &str) -> Option<usize> {
    id.rsplit_once('-').and_then(|(_, number)| number.parse().ok())
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, tree};

    const SOURCE: &str = "\
#[test]
fn llm_do_01_a_key() {}

#[test]
fn llm_do_02_a_name() {}

fn llm_do_03_a_helper() {}
";

    #[track_caller]
    fn rows(rows: &str, expected: &[&str]) {
        let list = format!("| id | the hole | test |\n| --- | --- | --- |\n{rows}");
        let files = [
            ("docs/holes.md", list.as_str()),
            ("crates/almoner/tests/it/holes.rs", SOURCE),
            ("crates/almoner/Cargo.toml", "[package]\nname = \"almoner\"\n"),
        ];
        at(&check(&tree(&files)), expected);
    }

    const FIRST: &str = "| `llm-do-01` | A | `almoner::it::holes::llm_do_01_a_key` |\n";
    const SECOND: &str = "| `llm-do-02` | B | `almoner::it::holes::llm_do_02_a_name` |\n";
    const OPEN: &str = "| `llm-do-03` | C | open: later |\n";

    #[test]
    fn hole_without_a_numbered_test_must_be_open() {
        rows(&[FIRST, SECOND, OPEN].concat(), &[]);
        rows(&[FIRST, &SECOND.replace("02_a_name", "01_a_key"), OPEN].concat(), &["docs/holes.md:4"]);
        rows(&[FIRST, &SECOND.replace("a_name", "gone"), OPEN].concat(), &["docs/holes.md:4"]);
        rows(
            &[FIRST, SECOND, "| `llm-do-03` | C | `almoner::it::holes::llm_do_03_a_helper` |\n"].concat(),
            &["docs/holes.md:5"],
        );
        rows(&[FIRST, SECOND, "| `llm-do-03` | C | open: |\n"].concat(), &["docs/holes.md:5"]);
        rows(&[FIRST, SECOND, "| `llm-do-03` | | open: later |\n"].concat(), &["docs/holes.md:5"]);
    }

    #[test]
    fn hole_numbers_are_consecutive_and_complete() {
        rows(&[FIRST, OPEN].concat(), &["crates/almoner/tests/it/holes.rs:5", "docs/holes.md:4"]);
        rows(&[FIRST, SECOND].concat(), &["crates/almoner/tests/it/holes.rs:7"]);
        rows(
            "",
            &[
                "crates/almoner/tests/it/holes.rs:2",
                "crates/almoner/tests/it/holes.rs:5",
                "crates/almoner/tests/it/holes.rs:7",
                "docs/holes.md:0",
            ],
        );
        at(&check(&tree(&[])), &["docs/holes.md:0"]);
    }
}
