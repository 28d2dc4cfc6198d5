//! `cargo xtask mutants`: the code that decides, changed in one place at a time, to see whether a test notices.
//!
//! cargo-mutants makes the changes and runs the tests. A change that no test notices is a survivor. Each survivor has
//! a row in `docs/mutants.md` that says why no test can see it. A survivor without a row fails the command, and so
//! does a row without a survivor. Nothing is installed, and the clone is not touched: the changes are made in a copy
//! of it.

mod list;
mod outcome;

use std::fs;

use anyhow::{Context, Result};

use crate::workspace::Workspace;
use crate::{CommandStatus, process};
use outcome::Outcomes;

pub(crate) use list::{LIST, MutantRow, rows};

/// Some files of one crate, and the tests that are to notice changes of them.
pub(crate) struct Part {
    /// The crate.
    pub(crate) package: &'static str,
    /// Below the folder of the crate's sources.
    files: &'static [&'static str],
    /// The arguments for cargo beside the crate.
    features: &'static [&'static str],
    /// Which tests are run.
    tests: &'static [&'static str],
}

/// The code that is tried: where verdicts are made, where permissions are made and spent, and where effects begin and
/// end.
pub(crate) const PARTS: &[Part] = &[
    Part {
        package: "policy",
        files: &[
            "judge.rs",
            "rules.rs",
            "ruling.rs",
            "gates/budget.rs",
            "gates/depth.rs",
            "gates/effects.rs",
            "gates/mod.rs",
            "gates/operator.rs",
            "gates/overwrite.rs",
            "gates/provenance.rs",
            "gates/scope.rs",
        ],
        features: &[],
        tests: &["--lib"],
    },
    Part {
        package: "kernel",
        files: &[
            "commands/advance.rs",
            "commands/agent_grant_check.rs",
            "commands/agent_journal.rs",
            "commands/answer.rs",
            "commands/begin.rs",
            "commands/cancel.rs",
            "commands/evidence.rs",
            "commands/grant_check.rs",
            "commands/permission.rs",
            "commands/propose.rs",
            "commands/recover.rs",
            "commands/run_end.rs",
            "model/grant.rs",
            "model/proposal.rs",
            "model/started_effect.rs",
            "state/runs.rs",
        ],
        features: &["--features", "testing,planted"],
        tests: &["--lib", "--test", "it"],
    },
];

impl Part {
    /// Returns the files, relative to the root of the clone.
    pub(crate) fn paths(&self) -> impl Iterator<Item = String> {
        self.files.iter().map(|file| format!("crates/{}/src/{file}", self.package))
    }

    fn arguments(&self, output: &str) -> Vec<String> {
        let mut arguments: Vec<String> =
            ["mutants", "--no-config", "--package", self.package].map(str::to_owned).into();
        arguments.extend(self.paths().flat_map(|path| ["--file".to_owned(), path]));
        arguments.extend(self.features.iter().map(|&word| word.to_owned()));
        // A change can make a test run for ever. The limits are only there to end that, on however slow a machine.
        let fixed = ["--jobs", "1", "--timeout", "300", "--build-timeout", "1800", "--cap-lints", "true"];
        arguments.extend(fixed.map(str::to_owned));
        arguments.extend(["--output", output, "--"].map(str::to_owned));
        arguments.extend(self.tests.iter().map(|&word| word.to_owned()));
        arguments
    }
}

pub(crate) fn main(arguments: &[String]) -> Result<CommandStatus> {
    let parts: Vec<&Part> = match arguments {
        [] => PARTS.iter().collect(),
        [name] => PARTS.iter().filter(|part| part.package == name).collect(),
        _ => vec![],
    };
    if parts.is_empty() {
        let known: Vec<&str> = PARTS.iter().map(|part| part.package).collect();
        return Ok(CommandStatus::Usage(format!("`mutants` takes one of: {}", known.join(", "))));
    }
    if !process::succeeds("cargo-mutants", &["mutants", "--version"]) {
        eprintln!("xtask: cargo-mutants is not installed, so nothing was tried.");
        eprintln!("       Install it with `cargo install --locked cargo-mutants` and run this again.");
        return Ok(CommandStatus::Failure);
    }
    let workspace = Workspace::read()?;
    let text =
        fs::read_to_string(workspace.root.join(LIST)).with_context(|| format!("cannot read {LIST}"))?;
    let mut wrong = 0;
    for part in parts {
        let outcomes = tried(&workspace, part)?;
        let rows = rows(&text).into_iter().filter(|row| part.paths().any(|path| path == row.file)).collect();
        let problems = list::compare(rows, &outcomes.mutants);
        println!("{}: {}", part.package, outcomes.remark());
        for problem in &problems {
            println!("{problem}");
        }
        wrong += problems.len();
    }
    Ok(if wrong == 0 { CommandStatus::Success } else { CommandStatus::Failure })
}

/// Runs cargo-mutants for one part.
fn tried(workspace: &Workspace, part: &Part) -> Result<Outcomes> {
    let folder = workspace.target.join("mutants").join(part.package);
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let path = folder.join("mutants.out/outcomes.json");
    // If it does not even begin, the outcomes of the last time must not be taken for an answer.
    if path.exists() {
        fs::remove_file(&path).with_context(|| format!("cannot remove {}", path.display()))?;
    }
    let output = folder.to_str().context("the target directory has a name that is no UTF-8")?;
    let mut command = process::cargo(&workspace.root, &part.arguments(output));
    // It builds in its copy; the results must not be taken for ours.
    command.env_remove("CARGO_TARGET_DIR").env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "1");
    println!("{}", process::shown(&command));
    // It also fails when a change survives: its outcomes say how it went.
    process::run(&mut command)?;
    let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    outcome::read(&text, |file| fs::read_to_string(workspace.root.join(file)).ok())
}

#[cfg(test)]
mod tests {
    use super::PARTS;
    use crate::workspace::Workspace;

    #[test]
    fn tried_files_exist() {
        let workspace = Workspace::read().unwrap();
        let paths: Vec<String> = PARTS.iter().flat_map(|part| part.paths()).collect();
        // cargo-mutants says nothing of a file that it does not find.
        let gone: Vec<_> = paths.iter().filter(|path| !workspace.root.join(path).is_file()).collect();
        assert!(!paths.is_empty() && gone.is_empty(), "{gone:?}");
    }
}
