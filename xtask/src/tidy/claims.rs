//! Every promise, and every difference from Endo, names the test that fails when it is lost.
//!
//! `docs/claims.md` and `docs/endo-differences.md` hold tables with a column headed "Test". Each row of such a table
//! names at least one test in that column, as `` `PLACE::NAME` ``. The place is a file (`crates/store/src/group.rs`)
//! or begins with a crate (`store::it::crash`). The name is that of the function, and the last module before it is
//! the one in which it stands. Differences leave `kernel::it::` out. No cell of such a row is empty. Other tables,
//! and features that are *not* promised, are free.

use super::Problem;
use super::tree::{File, Tree};

/// The lists, each with the place in which tests stand that name no crate.
const LISTS: [(&str, &str); 2] = [("docs/claims.md", ""), ("docs/endo-differences.md", "kernel::it::")];

pub(super) fn check(tree: &Tree) -> Vec<Problem> {
    LISTS.iter().flat_map(|(list, home)| check_list(tree, list, home)).collect()
}

fn check_list(tree: &Tree, list: &str, home: &str) -> Vec<Problem> {
    let Some(claims) = tree.file(list) else {
        let way_out = "write it: one row each, with the test that fails when it is lost";
        return vec![Problem::fault(list, 0, "this list is not there", way_out)];
    };
    let mut problems = Vec::new();
    let mut rows = 0;
    let mut column = None;
    for (index, line) in claims.text.lines().enumerate() {
        let Some(cells) = cells(line) else {
            column = None;
            continue;
        };
        let Some(at) = column else {
            // The first line of a table: no test column is a column that no row has.
            let heading =
                cells.iter().position(|cell| matches!(cell.to_lowercase().as_str(), "test" | "tests"));
            column = Some(heading.unwrap_or(usize::MAX));
            continue;
        };
        let rule = cells.iter().all(|cell| cell.chars().all(|c| matches!(c, '-' | ':')));
        if rule || at == usize::MAX {
            continue;
        }
        rows += 1;
        if cells.iter().any(String::is_empty) {
            let way_out = "say it, in every column";
            problems.push(Problem::fault(list, index + 1, "a row that leaves something out", way_out));
        }
        let named: Vec<&str> = cells.get(at).map_or(Vec::new(), |cell| spans(cell));
        if named.is_empty() {
            let way_out = "name the test as `place::name` in the column \"Test\"";
            problems.push(Problem::fault(list, index + 1, "a promise without a test", way_out));
        }
        for name in named {
            if let Err(wrong) = find(tree, home, name) {
                let way_out = "write the test, correct its name, or withdraw the promise";
                problems.push(Problem::fault(list, index + 1, wrong, way_out));
            }
        }
    }
    if rows == 0 {
        let way_out = "begin a table with a column \"Test\"";
        problems.push(Problem::fault(list, 0, "no table of promises and tests is seen", way_out));
    }
    problems
}

/// Returns the cells of a line of a table.
pub(crate) fn cells(line: &str) -> Option<Vec<String>> {
    // An escaped bar is text.
    let line = line.trim().replace("\\|", " ");
    let inner = line.strip_prefix('|')?;
    Some(inner.strip_suffix('|').unwrap_or(inner).split('|').map(|cell| cell.trim().to_owned()).collect())
}

/// Returns the code spans of a cell that look like tests.
pub(super) fn spans(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).filter(|span| span.contains("::")).collect()
}

/// Finds the test, or says why not.
pub(super) fn find(tree: &Tree, home: &str, named: &str) -> Result<(), String> {
    let owner =
        |name: &str| tree.crates.iter().find(|each| each.name.replace('-', "_") == name.replace('-', "_"));
    let first = named.split("::").next().unwrap_or_default();
    let whole = match named.contains('/') || owner(first).is_some() {
        true => named.to_owned(),
        false => format!("{home}{named}"),
    };
    let (place, name) = whole.rsplit_once("::").unwrap_or(("", named));
    let mut files: Vec<&File> = Vec::new();
    if place.contains('/') {
        files.extend(tree.file(place));
        if files.is_empty() {
            return Err(format!("`{named}`: there is no file {place}"));
        }
    } else {
        let crate_name = place.split("::").next().unwrap_or_default();
        let Some(owner) = owner(crate_name) else {
            return Err(format!("`{named}`: there is no crate `{crate_name}`"));
        };
        let own = |file: &&File| tree.owner(file).is_some_and(|each| each.name == owner.name);
        let module = place.rsplit_once("::").map(|(_, module)| module);
        files.extend(
            tree.files.iter().filter(own).filter(|file| module.is_none_or(|m| is_in_module(file, m))),
        );
    }
    match files.iter().filter_map(|file| is_test(file, name)).max() {
        Some(true) => Ok(()),
        Some(false) => Err(format!("`{named}`: the function is there, but it is no test that runs")),
        None => Err(format!("`{named}`: there is no function `{name}` there")),
    }
}

/// Returns whether the file is the module, or one of the module's files.
fn is_in_module(file: &File, module: &str) -> bool {
    let mut parts = file.path.rsplit('/');
    let stem = parts.next().and_then(|name| name.strip_suffix(".rs")).unwrap_or_default();
    let folder = parts.next().unwrap_or_default();
    stem == module || folder == module
}

/// Returns whether the file has a function of that name, and whether it is a test that is not ignored.
fn is_test(file: &File, name: &str) -> Option<bool> {
    let source = file.source.as_ref()?;
    let begins = |line: &str| {
        let line = line.trim_start().trim_start_matches("pub ").trim_start_matches("async ");
        let rest = line.strip_prefix("fn ").and_then(|rest| rest.strip_prefix(name));
        rest.is_some_and(|rest| rest.starts_with(['(', '<']))
    };
    let functions = source.code.iter().enumerate().filter(|(_, line)| begins(line));
    let attributes = |at: usize| {
        let above = source.code[..at].iter().rev().map(|line| line.trim());
        above.take_while(|line| line.is_empty() || line.starts_with("#[")).collect::<Vec<_>>()
    };
    functions
        .map(|(at, _)| {
            let above = attributes(at);
            let marked = above.iter().any(|line| line.ends_with("test]") || line.starts_with("#[test]"));
            let marked = marked || is_listed(&source.code, name);
            marked && !above.iter().any(|line| line.starts_with("#[ignore"))
        })
        .max()
}

/// Returns whether a program that tests without a harness has the function in its table, `const TESTS`.
fn is_listed(code: &[String], name: &str) -> bool {
    let table = code.iter().skip_while(|line| !line.contains("const TESTS")).skip(1);
    let mut rows = table.take_while(|line| !line.trim_start().starts_with("];"));
    rows.any(|line| line.split(|char: char| !char.is_alphanumeric() && char != '_').any(|word| word == name))
}

#[cfg(test)]
mod tests {
    use super::check;
    use crate::tidy::planted::{at, tree};

    const HEAD: &str = "# Claims\n\n| Promise | Test |\n| --- | --- |\n";
    const SOURCE: &str = "\
#[cfg(test)]
mod tests {
    /// Why.
    #[test]
    fn holds() {}

    fn helper() {}

    #[test]
    #[ignore = \"slow\"]
    fn sleeps() {}
}
";

    const DIFFERENCES: (&str, &str) =
        ("docs/endo-differences.md", "| Theirs | Test |\n| --- | --- |\n| A | `mail::holds` |\n");
    const KERNEL: (&str, &str) = ("crates/kernel/tests/it/mail.rs", SOURCE);

    #[track_caller]
    fn rows(rows: &str, expected: &[&str]) {
        let claims = format!("{HEAD}{rows}");
        let files =
            [("docs/claims.md", claims.as_str()), DIFFERENCES, ("crates/store/src/group.rs", SOURCE), KERNEL];
        at(&check(&tree(&files)), expected);
    }

    #[test]
    fn row_without_a_running_test_is_found() {
        rows("| A | `crates/store/src/group.rs::holds` |\n| B | see `store::group::holds` |\n", &[]);
        rows("| A | `store::holds` and `store::fails` |\n", &["docs/claims.md:5"]);
        rows("| A | `crates/store/src/other.rs::holds` |\n", &["docs/claims.md:5"]);
        rows("| A | `caps::holds` |\n", &["docs/claims.md:5"]);
        rows("| A | `store::helper` |\n", &["docs/claims.md:5"]);
        rows("| A | `store::sleeps` |\n", &["docs/claims.md:5"]);
        rows("| A | later |\n| B | `store::holds` |\n", &["docs/claims.md:5"]);
    }

    #[test]
    fn tables_without_a_test_column_are_ignored() {
        rows("| A | `store::holds` |\n\n| Not promised | Why |\n| --- | --- |\n| B | hard |\n", &[]);
        at(&check(&tree(&[("docs/claims.md", "# Claims\n"), DIFFERENCES, KERNEL])), &["docs/claims.md:0"]);
        at(&check(&tree(&[DIFFERENCES, KERNEL])), &["docs/claims.md:0"]);
        at(&check(&tree(&[])), &["docs/claims.md:0", "docs/endo-differences.md:0"]);
    }

    #[test]
    fn test_must_be_in_the_named_module() {
        rows("| A | `store::other::holds` |\n", &["docs/claims.md:5"]);
        rows("| A | `store::holds` |\n| B | `kernel::it::mail::holds` |\n", &[]);
        // Only differences may leave the crate out.
        rows("| A | `mail::holds` |\n", &["docs/claims.md:5"]);
    }

    #[test]
    fn tests_without_a_harness_are_found_in_their_table() {
        let source = "pub(crate) const TESTS: &[Test] = &[\n    (\"holds\", holds),\n];\nfn holds() {}\nfn other() {}\n";
        let checked = |name: &str, expected: &[&str]| {
            let claims = format!("{HEAD}| A | `store::process::{name}` |\n");
            let file = ("crates/store/tests/process/main.rs", source);
            let files = [("docs/claims.md", claims.as_str()), DIFFERENCES, file, KERNEL];
            at(&check(&tree(&files)), expected);
        };
        checked("holds", &[]);
        checked("other", &["docs/claims.md:5"]);
    }

    #[test]
    fn differences_follow_the_rule_of_claims() {
        let check = |row: &str, expected: &[&str]| {
            let differences = format!("| Theirs | Ours | Test |\n| --- | --- | --- |\n{row}\n");
            let claims = format!("{HEAD}| A | `kernel::it::mail::holds` |\n");
            let files =
                [("docs/claims.md", claims.as_str()), ("docs/endo-differences.md", &differences), KERNEL];
            at(&super::check(&tree(&files)), expected);
        };
        check("| a | b | `mail::holds` |", &[]);
        check("| a | b | `mail::gone` |", &["docs/endo-differences.md:3"]);
        check("| a | b | `grants::holds` |", &["docs/endo-differences.md:3"]);
        check("| a | b | none |", &["docs/endo-differences.md:3"]);
        check("| a | | `mail::holds` |", &["docs/endo-differences.md:3"]);
    }
}
