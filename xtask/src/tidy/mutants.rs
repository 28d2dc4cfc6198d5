//! Every change of the code that no test can see has its reason, and is of code that is there.
//!
//! `docs/mutants.md` holds one table, which `cargo xtask mutants` compares with the outcomes of tests. That takes an
//! hour or two; here are the checks that need no run. Each row is whole. It names a file that is tried, a function of
//! that file, and code that stands in it.

use super::Problem;
use super::source::has_word;
use super::tree::Tree;
use crate::mutants::{LIST, MutantRow, PARTS, rows};

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    let Some(list) = tree.file(LIST) else {
        let way_out = "write it, even if no change survives: `cargo xtask mutants` reads it";
        return vec![Problem::fault(LIST, 0, "this list is not there", way_out)];
    };
    rows(&list.text).iter().filter_map(|row| row_problem(tree, row)).collect()
}

fn row_problem(tree: &Tree, row: &MutantRow) -> Option<Problem> {
    let MutantRow { line, file, function, mutation, code, why } = row;
    let fault = |wrong: String, way_out: &str| Some(Problem::fault(LIST, *line, wrong, way_out));
    if [function, mutation, code, why].iter().any(|cell| cell.is_empty()) {
        return fault("a row that leaves something out".to_owned(), "say it, in every column");
    }
    if !PARTS.iter().any(|part| part.paths().any(|path| path == *file)) {
        return fault(format!("{file} is not tried"), "add it to the files of `cargo xtask mutants`");
    }
    let way_out = "run `cargo xtask mutants`: it says which rows are missing and which are too many";
    let Some(source) = tree.file(file).and_then(|file| file.source.as_ref()) else {
        return fault(format!("there is no file {file}"), way_out);
    };
    let name = function.rsplit("::").next().unwrap_or_default();
    let begins = |line: &str| has_word(line, "fn") && has_word(line, name);
    if !source.shipped().any(|(_, line)| begins(line)) {
        return fault(format!("there is no function `{function}` in {file}"), way_out);
    }
    // Comments and literals are blank in `source`, and the code of a row may have some.
    let stands =
        tree.file(file).is_some_and(|file| file.text.lines().any(|line| line.trim_end().ends_with(code)));
    if !stands {
        return fault(format!("no line of {file} ends in `{code}`"), way_out);
    }
    None
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, tree};

    const FILE: &str = "crates/policy/src/judge.rs";
    const SOURCE: &str = "impl Panel {\n    pub fn judge(&self) -> bool {\n        a || b // both\n    }\n}\n\n#[cfg(test)]\nmod tests {\n    fn helper() {}\n}\n";

    #[track_caller]
    fn row(row: &str, expected: &[&str]) {
        let list =
            format!("| file | function | mutation | code | why |\n| --- | --- | --- | --- | --- |\n{row}\n");
        at(&check(&tree(&[("docs/mutants.md", list.as_str()), (FILE, SOURCE)])), expected);
    }

    #[test]
    fn incomplete_or_outdated_row_is_found() {
        let good = format!(
            "| `{FILE}` | `Panel::judge` | `replace \\|\\| with &&` | `\\|\\| b // both` | they are equal |"
        );
        row(&good, &[]);
        for (part, other) in [
            ("they are equal", ""),
            ("`replace \\|\\| with &&`", ""),
            ("`Panel::judge`", "`Panel::gone`"),
            ("`Panel::judge`", "`helper`"),
            // Not tried, and not there.
            ("judge.rs", "lib.rs"),
            ("judge.rs", "ruling.rs"),
            ("\\|\\| b // both", "\\|\\| c"),
            ("\\|\\| b // both", "\\|\\| b"),
        ] {
            assert!(good.contains(part), "{part}");
            row(&good.replace(part, other), &["docs/mutants.md:3"]);
        }
        row("", &[]);
        at(&check(&tree(&[])), &["docs/mutants.md:0"]);
    }
}
