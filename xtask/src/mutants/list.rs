//! `docs/mutants.md`: the changes of the code that no test can see, each with the reason.

use std::fmt;

use super::outcome::Mutant;

/// Where the list is.
pub(crate) const LIST: &str = "docs/mutants.md";

/// One row of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MutantRow {
    /// Its line in the list, from 1.
    pub(crate) line: usize,
    /// The file, relative to the root of the clone.
    pub(crate) file: String,
    /// The function in which the change is made, as cargo-mutants names it: `ActiveLifts::lifts`.
    pub(crate) function: String,
    /// The change, in the words of cargo-mutants, without the place.
    pub(crate) mutation: String,
    /// The line of code from the changed place on.
    pub(crate) code: String,
    /// Why no test can see it.
    pub(crate) why: String,
}

/// Returns the rows of the list: those lines of its tables whose first cell is a file of code. Cells that are missing
/// are empty.
pub(crate) fn rows(text: &str) -> Vec<MutantRow> {
    let row = |(index, line): (usize, &str)| {
        let mut cells = cells(line)?.into_iter();
        let mut cell = || cells.next().unwrap_or_default();
        let row = MutantRow {
            line: index + 1,
            file: cell(),
            function: cell(),
            mutation: cell(),
            code: cell(),
            why: cell(),
        };
        row.file.ends_with(".rs").then_some(row)
    };
    text.lines().enumerate().filter_map(row).collect()
}

/// Returns the cells of a line of a table, without the marks of code around them. An escaped bar is a bar.
fn cells(line: &str) -> Option<Vec<String>> {
    const BAR: &str = "\u{1}";
    let line = line.trim().replace("\\|", BAR);
    let inner = line.strip_prefix('|')?;
    let cell = |cell: &str| {
        let cell = cell.trim();
        let bare = cell.strip_prefix('`').and_then(|rest| rest.strip_suffix('`'));
        // A cell that only begins and ends with code is a sentence.
        bare.filter(|bare| !bare.contains('`')).unwrap_or(cell).replace(BAR, "|")
    };
    Some(inner.strip_suffix('|').unwrap_or(inner).split('|').map(cell).collect())
}

/// A problem of the list, now that the changes were tried.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum ListProblem {
    /// No test noticed the change, and the list has no reason.
    Unexplained(Mutant),
    /// The list has a reason, and a test notices the change; or it does not compile.
    Noticed(MutantRow),
    /// The list has a reason for a change that cannot be made any more.
    Obsolete(MutantRow),
}

impl fmt::Display for ListProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            ListProblem::Unexplained(mutant) => {
                let Mutant { file, function, mutation, code, line, .. } = mutant;
                writeln!(f, "{file}:{line}: no test notices: {mutation}")?;
                writeln!(
                    f,
                    "    do: write the test, or make the code simpler; only if no test can see it, say why:"
                )?;
                let cells =
                    [file, function, mutation, code].map(|cell| format!("`{}`", cell.replace('|', "\\|")));
                write!(f, "    | {} | WHY |", cells.join(" | "))
            }
            ListProblem::Noticed(row) => {
                write!(
                    f,
                    "{LIST}:{}: a test notices it now: {}\n    do: take the row out",
                    row.line, row.mutation
                )
            }
            ListProblem::Obsolete(row) => {
                writeln!(f, "{LIST}:{}: there is no such change any more: {}", row.line, row.mutation)?;
                write!(f, "    do: take the row out, or correct it to what is said of the survivor above")
            }
        }
    }
}

/// Compares the rows with the outcomes of the changes. A row stands for one survivor.
pub(crate) fn compare(mut rows: Vec<MutantRow>, mutants: &[Mutant]) -> Vec<ListProblem> {
    let is_of = |row: &MutantRow, mutant: &Mutant| {
        (&row.file, &row.function, &row.mutation, &row.code)
            == (&mutant.file, &mutant.function, &mutant.mutation, &mutant.code)
    };
    let mut problems = Vec::new();
    for mutant in mutants.iter().filter(|mutant| mutant.survived) {
        match rows.iter().position(|row| is_of(row, mutant)) {
            Some(at) => drop(rows.remove(at)),
            None => problems.push(ListProblem::Unexplained(mutant.clone())),
        }
    }
    problems.extend(rows.into_iter().map(|row| match mutants.iter().any(|mutant| is_of(&row, mutant)) {
        true => ListProblem::Noticed(row),
        false => ListProblem::Obsolete(row),
    }));
    problems
}

#[cfg(test)]
mod tests {
    use super::{ListProblem, MutantRow, compare, rows};
    use crate::mutants::outcome::Mutant;

    const TABLE: &str = "\
# Title

| file | function | mutation | code | why |
| --- | --- | --- | --- | --- |
| `a.rs` | `judge` | `replace \\|\\| with && in judge` | `\\|\\| b {` | `a` is always `b` |
| `a.rs` | `judge` | `delete ! in judge` | `!b {` | |
";

    fn mutant(mutation: &str, code: &str, survived: bool) -> Mutant {
        Mutant {
            file: "a.rs".to_owned(),
            function: "judge".to_owned(),
            mutation: mutation.to_owned(),
            code: code.to_owned(),
            line: 7,
            survived,
        }
    }

    #[test]
    fn rows_are_read_from_the_table() {
        let read = rows(TABLE);
        let row = MutantRow {
            line: 5,
            file: "a.rs".to_owned(),
            function: "judge".to_owned(),
            mutation: "replace || with && in judge".to_owned(),
            code: "|| b {".to_owned(),
            why: "`a` is always `b`".to_owned(),
        };
        assert_eq!((read.len(), &read[0], read[1].why.as_str()), (2, &row, ""));
    }

    #[test]
    fn unmatched_survivors_and_rows_are_found() {
        let (or, not) = (("replace || with && in judge", "|| b {"), ("delete ! in judge", "!b {"));
        let tried = |of: (&str, &str), survived| mutant(of.0, of.1, survived);
        for (mutants, expected) in [
            (vec![tried(or, true), tried(not, true)], &[][..]),
            (vec![tried(or, true), tried(not, true), tried(("x", "y"), false)], &[]),
            (vec![tried(or, true), tried(not, false)], &["noticed 6"]),
            (vec![tried(or, true)], &["gone 6"]),
            (vec![], &["gone 5", "gone 6"]),
            (vec![tried(or, true), tried(not, true), tried(("x", "y"), true)], &["unexplained x"]),
            // Two that are equal to the letter need two rows.
            (
                vec![tried(or, true), tried(or, true), tried(not, true)],
                &["unexplained replace || with && in judge"],
            ),
            // The same change elsewhere in the function.
            (
                vec![tried((or.0, "|| c {"), true), tried(not, true)],
                &["unexplained replace || with && in judge", "gone 5"],
            ),
        ] {
            let found: Vec<String> = compare(rows(TABLE), &mutants)
                .iter()
                .map(|problem| match problem {
                    ListProblem::Unexplained(mutant) => format!("unexplained {}", mutant.mutation),
                    ListProblem::Noticed(row) => format!("noticed {}", row.line),
                    ListProblem::Obsolete(row) => format!("gone {}", row.line),
                })
                .collect();
            assert_eq!(found, expected, "{mutants:?}");
        }
    }

    #[test]
    fn offered_row_explains_the_survivor() {
        let survivor = mutant("replace || with && in judge", "|| b {", true);
        let said = compare(vec![], std::slice::from_ref(&survivor))[0].to_string();
        let offered = rows(said.lines().last().unwrap());
        assert_eq!(compare(offered, &[survivor]), []);
    }
}
