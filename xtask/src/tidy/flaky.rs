//! A test that may need a second try is named with a cause and a date, and settings of the runner name tests that exist.

use super::Problem;
use super::claims::find;
use super::tree::Tree;
use crate::test::flaky::{FlakyRow, LIST, is_date, rows};

/// The settings of nextest.
const SETTINGS: &str = ".config/nextest.toml";

/// Checks the table of tests that may need a second try.
pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(list) = tree.file(LIST) else {
        let way_out = "write it, even if no test is flaky: the check reads it";
        return vec![Problem::fault(LIST, 0, "this list is not there", way_out)];
    };
    rows(&list.text).iter().filter_map(|row| row_problem(tree, row)).collect()
}

fn row_problem(tree: &Tree, row: &FlakyRow) -> Option<Problem> {
    let FlakyRow { line, test, cause, date } = row;
    if test.is_empty() || cause.is_empty() {
        let way_out = "name the test and the cause; a test without a known cause is not listed";
        return Some(Problem::fault(LIST, *line, "a row that leaves something out", way_out));
    }
    if !is_date(date) {
        return Some(Problem::fault(LIST, *line, format!("`{date}` is no date"), "write it as 2026-11-25"));
    }
    let wrong = find(tree, "", test).err()?;
    Some(Problem::fault(LIST, *line, wrong, "correct its name, or take the row away"))
}

/// Checks that each test which the settings name, as `test(=a::b)`, is there. One that is not would be one that runs, or one
/// that does not.
pub(super) fn settings(tree: &Tree) -> Vec<Problem> {
    let Some(file) = tree.file(SETTINGS) else { return Vec::new() };
    let mut problems = Vec::new();
    for (index, line) in file.text.lines().enumerate() {
        for name in line.split("test(=").skip(1).filter_map(|rest| rest.split(')').next()) {
            let function = name.rsplit("::").next().unwrap_or_default();
            let signature = format!("fn {function}(");
            let mut sources = tree.files.iter().filter_map(|file| file.source.as_ref());
            if !sources.any(|source| source.code.iter().any(|line| line.contains(&signature))) {
                let wrong = format!("there is no test `{name}`");
                problems.push(Problem::fault(
                    SETTINGS,
                    index + 1,
                    wrong,
                    "correct its name, or take it away",
                ));
            }
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::{check, settings};
    use crate::tidy::planted::{at, tree};

    const SOURCE: &str = "#[test]\nfn page_is_found() {\n}\n";
    const FILE: &str = "crates/store/tests/it/crash.rs";

    #[track_caller]
    fn row(row: &str, expected: &[&str]) {
        let list = format!("| test | cause | date |\n| --- | --- | --- |\n{row}\n");
        at(&check(&tree(&[("docs/flaky.md", list.as_str()), (FILE, SOURCE)])), expected);
    }

    #[test]
    fn row_has_test_cause_and_date() {
        let good = "| `store::it::crash::page_is_found` | the disk is slow | 2026-11-25 |";
        row(good, &[]);
        row("", &[]);
        for (part, other) in [
            ("the disk is slow", ""),
            ("2026-11-25", ""),
            ("2026-11-25", "2026-13-25"),
            ("2026-11-25", "25.11.2026"),
            ("page_is_found", "page_is_lost"),
            ("`store::it::crash::page_is_found`", ""),
        ] {
            assert!(good.contains(part), "{part}");
            row(&good.replace(part, other), &["docs/flaky.md:3"]);
        }
        at(&check(&tree(&[])), &["docs/flaky.md:0"]);
    }

    #[test]
    fn test_named_in_settings_must_exist() {
        let text = "a = 'not (test(=crash::page_is_found) or test(/^x/))'\nb = 'test(=crash::gone)'\n";
        at(&settings(&tree(&[(".config/nextest.toml", text), (FILE, SOURCE)])), &[".config/nextest.toml:2"]);
    }
}
