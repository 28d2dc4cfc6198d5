//! Rules that the compiler does not know.
//!
//! Each rule is a function from the tree to problems. Each has tests that plant such problems, for a check that
//! cannot fail checks nothing. `cargo xtask tidy` runs them all, and so does an ordinary test.

mod circles;
mod claims;
mod descriptors;
mod flaky;
mod holes;
mod layers;
mod lints;
mod manners;
mod modules;
mod mutants;
mod names;
mod output_rules;
mod purity;
mod reach;
mod source;
mod text_rules;
mod tree;

use std::fmt;

use anyhow::Result;

use crate::CommandStatus;
use crate::workspace::Workspace;
pub(crate) use claims::cells;
pub(crate) use tree::Tree;

/// One thing that is not as it should be.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Problem {
    /// Relative to the root.
    path: String,
    /// From 1; 0 when it is about the whole file.
    line: usize,
    severity: Severity,
    wrong: String,
    /// The way to put it right.
    way_out: String,
}

/// Whether a problem stops anything.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Severity {
    /// Must be put right.
    Fault,
    /// Worth a look, no more.
    Note,
}

impl Problem {
    fn fault(path: &str, line: usize, wrong: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self {
            path: path.to_owned(),
            line,
            severity: Severity::Fault,
            wrong: wrong.into(),
            way_out: way_out.into(),
        }
    }

    fn note(path: &str, line: usize, wrong: impl Into<String>, way_out: impl Into<String>) -> Self {
        Self { severity: Severity::Note, ..Self::fault(path, line, wrong, way_out) }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, line, severity: weight, wrong, way_out } = self;
        let word = if *weight == Severity::Fault { "" } else { "note: " };
        let place = if *line == 0 { path.clone() } else { format!("{path}:{line}") };
        write!(f, "{place}: {word}{wrong}\n    do: {way_out}")
    }
}

type Rule = (&'static str, fn(&Tree) -> Vec<Problem>);

/// All rules, in the order in which they are told.
const RULES: &[Rule] = &[
    ("layers", layers::check),
    ("purity", purity::check),
    ("reach", reach::check),
    ("modules", modules::check),
    ("circles", circles::check),
    ("unsafe", manners::unsafe_code),
    ("descriptions", manners::descriptions),
    ("descriptors", descriptors::check),
    ("unwrap", manners::unwrap),
    ("untrusted text", manners::untrusted),
    ("doors", output_rules::check_streams),
    ("raw text", output_rules::check_raw_text),
    ("length", manners::length),
    ("names", names::check),
    ("comments", names::comments),
    ("words", text_rules::forbidden),
    ("text", text_rules::text),
    ("claims", claims::check),
    ("flaky", flaky::check),
    ("nextest", flaky::settings),
    ("holes", holes::check),
    ("mutants", mutants::check),
    ("lints", lints::check),
];

/// The problems that all rules found.
pub(crate) struct Report {
    files: usize,
    /// The largest circle of imports.
    circle: String,
    found: Vec<(&'static str, Problem)>,
}

impl Report {
    /// Returns whether there are no faults; notes may be there.
    pub(crate) fn holds(&self) -> bool {
        self.faults() == 0
    }

    fn faults(&self) -> usize {
        self.found.iter().filter(|(_, problem)| problem.severity == Severity::Fault).count()
    }

    /// Returns the counts, for a line of a summary.
    pub(crate) fn remark(&self) -> String {
        let notes = self.found.len() - self.faults();
        format!(
            "{} rules over {} files: {} faults, {notes} notes; {}",
            RULES.len(),
            self.files,
            self.faults(),
            self.circle
        )
    }
}

impl fmt::Display for Report {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (rule, problem) in &self.found {
            writeln!(f, "[{rule}] {problem}")?;
        }
        writeln!(f, "{}", self.remark())
    }
}

/// Applies every rule to the clone.
pub(crate) fn report(workspace: &Workspace) -> Result<Report> {
    let tree = Tree::read(workspace)?;
    let found = RULES.iter().flat_map(|(name, rule)| {
        let mut problems = rule(&tree);
        problems.sort();
        problems.into_iter().map(move |problem| (*name, problem))
    });
    Ok(Report { files: tree.files.len(), circle: circles::largest(&tree), found: found.collect() })
}

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    if let Some(extra) = arguments.first() {
        return Ok(CommandStatus::Usage(format!("`tidy` takes no `{extra}`")));
    }
    let report = report(&Workspace::read()?)?;
    print!("{report}");
    Ok(if report.holds() { CommandStatus::Success } else { CommandStatus::Failure })
}

#[cfg(test)]
mod planted {
    //! Trees made up by tests.

    use super::Problem;
    use super::tree::{File, Tree};
    use crate::workspace::{Arrow, ArrowKind, Crate};

    /// Returns a tree of these files; each folder under `crates/` becomes a crate that is as it should be.
    pub(crate) fn tree(files: &[(&str, &str)]) -> Tree {
        let mut tree = Tree { files: Vec::new(), crates: Vec::new() };
        for (path, text) in files {
            tree.files.push(File::new(path, (*text).to_owned()));
            let Some((name, _)) = path.strip_prefix("crates/").and_then(|rest| rest.split_once('/')) else {
                continue;
            };
            if tree.crates.iter().all(|each| each.name != name) {
                tree.crates.push(member(name, &[]));
            }
        }
        tree
    }

    /// Returns a crate with these arrows.
    pub(crate) fn member(name: &str, arrows: &[(&str, ArrowKind)]) -> Crate {
        let arrows = arrows.iter().map(|&(to, kind)| Arrow { to: to.to_owned(), kind });
        Crate { arrows: arrows.collect(), ..Crate::named(name) }
    }

    /// Asserts that the problems are at exactly these places, `path:line`.
    #[track_caller]
    pub(crate) fn at(problems: &[Problem], expected: &[&str]) {
        let mut places: Vec<String> =
            problems.iter().map(|problem| format!("{}:{}", problem.path, problem.line)).collect();
        places.sort();
        assert_eq!(places, expected, "{problems:#?}");
    }
}

#[cfg(test)]
mod tests {
    use super::report;
    use crate::workspace::Workspace;

    #[test]
    fn the_clone_is_tidy() {
        let report = report(&Workspace::read().unwrap()).unwrap();
        assert!(report.holds(), "\n{report}");
    }
}
