//! `cargo xtask test`: everything that must hold, in one command, each phase timed.
//!
//! The phases go from cheap to dear, and the first that fails ends the run: what it printed stays the last thing on
//! the screen but for the summary.

use std::process::Command;
use std::time::{Duration, Instant};
use std::{fs, mem};

use anyhow::{Context as _, Result};

use crate::process::{cargo, run, shown, tee, works};
use crate::workspace::Workspace;
use crate::{End, fuzz, setup, tidy};

/// From what the cases of property tests and the inputs of fuzz targets are drawn.
const SEEDS: [&str; 2] = ["PROPTEST_RNG_SEED", "BOLERO_RANDOM_SEED"];

/// The demo that needs no key, no network and no weights.
const SCRIPTED_DEMO: &[&str] = &["demo", "--scripted"];

/// What only tests turn on: places where they may kill the daemon, bugs that a simulation must find, and what stands in
/// for disks and clocks. Never in a binary that is handed out.
const TEST_FEATURES: &[&str] = &["failpoints", "planted", "testing"];

/// How many tests run at a time on a machine with fewer cores than that.
const LEAST_AT_ONCE: usize = 4;

/// What a phase has to say for itself.
struct Outcome {
    held: bool,
    /// Behind its name in the summary: counts, or nothing.
    remark: String,
}

impl Outcome {
    fn of(held: bool) -> Self {
        Self { held, remark: String::new() }
    }
}

type Phase = (&'static str, fn(&Workspace) -> Result<Outcome>);

const SETUP: Phase = ("tools", tools);
const CHECKS: [Phase; 5] =
    [("format", format), ("tidy", tidy_rules), ("lints", lints), ("tests", tests), ("doc tests", doc_tests)];
const FUZZ: Phase = ("fuzz", fuzz_targets);
const DEMO: Phase = ("demo, scripted", demo);

/// One line of the summary.
struct Line {
    name: &'static str,
    time: Duration,
    outcome: Outcome,
}

pub(crate) fn main(arguments: &[String]) -> Result<End> {
    let quick = match arguments {
        [] => false,
        [flag] if flag == "--quick" => true,
        [other, ..] => {
            return Ok(End::Usage(format!("`test` takes --quick and nothing else, not `{other}`")));
        }
    };
    let workspace = Workspace::read()?;
    println!("clone        {}", workspace.root.display());
    println!("target       {}", workspace.target.display());
    println!("test tools   {}", setup::tools_folder(&workspace.target).display());

    let mut phases: Vec<Phase> = CHECKS.to_vec();
    if !quick {
        phases.insert(0, SETUP);
        phases.extend([FUZZ, DEMO]);
    }
    let start = Instant::now();
    let mut lines = Vec::new();
    let mut waiting = phases.into_iter();
    for (name, phase) in waiting.by_ref() {
        println!("\n=== {name}");
        let began = Instant::now();
        let outcome = phase(&workspace).unwrap_or_else(|fault| {
            println!("{fault:#}");
            Outcome::of(false)
        });
        let failed = !outcome.held;
        lines.push(Line { name, time: began.elapsed(), outcome });
        if failed {
            break;
        }
    }
    let not_run: Vec<&str> = waiting.map(|(name, _)| name).collect();
    Ok(conclude(&lines, &not_run, start.elapsed(), quick))
}

/// Prints the summary, the verdict last.
fn conclude(lines: &[Line], not_run: &[&str], time: Duration, quick: bool) -> End {
    println!("\n=== summary");
    for Line { name, time, outcome } in lines {
        let word = if outcome.held { "ok" } else { "FAILED" };
        let line = format!("{name:<16}{word:<8}{:>8.1} s   {}", time.as_secs_f64(), outcome.remark);
        println!("{}", line.trim_end());
    }
    for name in not_run {
        println!("{name:<16}not run");
    }
    if quick {
        println!("left out by --quick: {}, {}, {}", SETUP.0, FUZZ.0, DEMO.0);
    }
    let seconds = time.as_secs();
    match lines.iter().find(|line| !line.outcome.held) {
        None => {
            println!("all of it holds ({} min {} s)", seconds / 60, seconds % 60);
            End::Good
        }
        Some(failed) => {
            println!("FAILED: {} (after {} min {} s)", failed.name, seconds / 60, seconds % 60);
            End::Bad
        }
    }
}

fn tools(workspace: &Workspace) -> Result<Outcome> {
    setup::everything(&workspace.root, &workspace.target)?;
    Ok(Outcome::of(true))
}

fn format(workspace: &Workspace) -> Result<Outcome> {
    let held = run(&mut cargo(&workspace.root, &["fmt", "--all", "--check"]))?;
    if !held {
        println!("`cargo fmt --all` puts this right");
    }
    Ok(Outcome::of(held))
}

fn tidy_rules(workspace: &Workspace) -> Result<Outcome> {
    let report = tidy::report(workspace)?;
    print!("{report}");
    Ok(Outcome { held: report.holds(), remark: report.remark() })
}

fn lints(workspace: &Workspace) -> Result<Outcome> {
    let mut command = cargo(&workspace.root, &["clippy", "--workspace", "--all-targets"]);
    with_test_features(&mut command, workspace);
    command.args(["--", "-D", "warnings"]);
    announced(&mut command).map(Outcome::of)
}

fn tests(workspace: &Workspace) -> Result<Outcome> {
    let nextest = works("cargo-nextest", &["--version"]);
    let arguments: &[&str] = if nextest {
        &["nextest", "run", "--no-fail-fast", "--no-tests=pass"]
    } else {
        // Not `--all-targets`, which would run the benches too.
        &["test", "--no-fail-fast", "--lib", "--bins", "--tests", "--examples"]
    };
    let mut command = cargo(&workspace.root, arguments);
    command.arg("--workspace");
    if nextest {
        // Most tests wait most of the time: for disks, for processes, for each other.
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        command.arg("--test-threads").arg(cores.max(LEAST_AT_ONCE).to_string());
    }
    with_test_features(&mut command, workspace);
    counted(&mut prepared(command, workspace)?)
}

fn doc_tests(workspace: &Workspace) -> Result<Outcome> {
    let mut command = cargo(&workspace.root, &["test", "--doc", "--workspace"]);
    with_test_features(&mut command, workspace);
    counted(&mut prepared(command, workspace)?)
}

fn fuzz_targets(workspace: &Workspace) -> Result<Outcome> {
    let mut command = fuzz::targets(workspace, fuzz::SECONDS);
    with_test_features(&mut command, workspace);
    draw_the_same(&mut command);
    counted(&mut command)
}

/// With the binary that the tests drove. A build of its own would be one with other features, and so build all that
/// is below it a second time.
fn demo(workspace: &Workspace) -> Result<Outcome> {
    let mut build = cargo(&workspace.root, &["test", "--no-run", "--lib", "--bins", "--tests", "--examples"]);
    build.arg("--workspace");
    with_test_features(&mut build, workspace);
    if !announced(&mut build)? {
        return Ok(Outcome { held: false, remark: "almoner did not build".to_owned() });
    }
    let mut command = Command::new(workspace.target.join("debug/almoner"));
    command.args(SCRIPTED_DEMO).current_dir(&workspace.root);
    announced(&mut prepared(command, workspace)?).map(Outcome::of)
}

/// Features change crates that everything else is built on: one set for lints, tests and doc tests, so that each
/// crate is built once.
pub(crate) fn with_test_features(command: &mut Command, workspace: &Workspace) {
    let features: Vec<String> = TEST_FEATURES.iter().flat_map(|each| workspace.with_feature(each)).collect();
    if !features.is_empty() {
        command.args(["--features", &features.join(",")]);
    }
}

/// Gives the command the test tools, and a home of its own: no test may touch that of the person who runs it.
pub(crate) fn prepared(mut command: Command, workspace: &Workspace) -> Result<Command> {
    let home = workspace.target.join("test-home");
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot empty {}", home.display()))?;
    }
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    command.env("ALMONER_HOME", &home);
    draw_the_same(&mut command);
    let tools = setup::tools_folder(&workspace.target);
    if tools.is_dir() {
        command.env(setup::TOOLS_VARIABLE, &tools).env("PATH", setup::tools_path(&workspace.target)?);
    }
    Ok(command)
}

/// Of the same code the full check says the same; `cargo test` and `cargo xtask fuzz` draw new cases each time.
fn draw_the_same(command: &mut Command) {
    for seed in SEEDS {
        if std::env::var_os(seed).is_none() {
            command.env(seed, "20261121");
        }
    }
}

fn announced(command: &mut Command) -> Result<bool> {
    println!("{}", shown(command));
    run(command)
}

/// Runs tests, shows all that they print, and counts.
fn counted(command: &mut Command) -> Result<Outcome> {
    println!("{}", shown(command));
    let (held, lines) = tee(command)?;
    let counts = Counts::read(&lines);
    Ok(Outcome { held: held && counts.failed == 0, remark: counts.to_string() })
}

/// What test runners say at the end of each binary, added up.
#[derive(Default, Debug, PartialEq, Eq)]
struct Counts {
    passed: usize,
    failed: usize,
    skipped: usize,
}

impl Counts {
    /// Understands the closing lines of libtest (`test result: ok. 3 passed; 0 failed; 1 ignored; …`) and of nextest
    /// (`Summary [ 1.2s] 4 tests run: 3 passed, 1 failed, 2 skipped`).
    fn read(lines: &[String]) -> Self {
        let closing = |prefix: &str, behind: &str| -> Vec<&str> {
            let lines = lines.iter().filter_map(|line| line.trim_start().strip_prefix(prefix));
            lines.filter_map(|line| Some(line.split_once(behind)?.1)).collect()
        };
        // nextest repeats what libtest said of each test that failed.
        let mut told = closing("Summary [", " run: ");
        if told.is_empty() {
            told = closing("test result: ", " ");
        }
        let mut counts = Self::default();
        for line in told {
            let mut number = 0;
            for word in line.split([' ', ';', ',', '.']).filter(|word| !word.is_empty()) {
                match word {
                    "passed" => counts.passed += mem::take(&mut number),
                    "failed" => counts.failed += mem::take(&mut number),
                    "ignored" | "skipped" => counts.skipped += mem::take(&mut number),
                    _ => number = word.parse().unwrap_or(number),
                }
            }
        }
        counts
    }
}

impl std::fmt::Display for Counts {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} passed, {} failed, {} skipped", self.passed, self.failed, self.skipped)
    }
}

#[cfg(test)]
mod tests {
    use super::Counts;

    #[test]
    fn closing_lines_are_counted() {
        let check = |text: &str, expected: [usize; 3]| {
            let lines: Vec<String> = text.lines().map(str::to_owned).collect();
            let [passed, failed, skipped] = expected;
            assert_eq!(Counts::read(&lines), Counts { passed, failed, skipped }, "{text}");
        };
        check("", [0, 0, 0]);
        check("12 passed in a line of a test's own", [0, 0, 0]);
        check(
            "running 4 tests\ntest result: ok. 3 passed; 0 failed; 1 ignored; 0 measured; 7 filtered out; finished in 0.10s\n\
             test result: FAILED. 1 passed; 2 failed; 0 ignored; 0 measured; 0 filtered out; finished in 1.10s",
            [4, 2, 1],
        );
        check(
            "  test result: FAILED. 0 passed; 1 failed; 0 ignored; 0 measured; 8 filtered out; finished in 0.00s\n\
             \x20    Summary [   0.012s] 9 tests run: 7 passed (1 slow), 1 failed, 1 timed out, 2 skipped",
            [7, 1, 2],
        );
    }
}
