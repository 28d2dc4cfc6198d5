//! The phases of the checks.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result};

use super::changed::Scope;
use super::counts::Counts;
use super::flaky;
use super::plan::Plan;
use super::report::{self, TestRun};
use super::sample::Sample;
use super::shard::Shard;
use super::verdict::judge_report;
use crate::process::{cargo, output, run, shown, tee};
use crate::workspace::{Crate, Workspace};
use crate::{CommandStatus, deny, dist, fuzz, setup, test262, tidy};

/// The variables with the seeds of property tests and fuzz targets.
const SEED_VARIABLES: [&str; 2] = ["PROPTEST_RNG_SEED", "BOLERO_RANDOM_SEED"];

/// The demo that needs no key, no network and no weights.
const SCRIPTED_DEMO: &[&str] = &["demo", "--scripted"];

/// The features that only tests turn on: places where they may kill the daemon, bugs that a simulation must find, and
/// stand-ins for disks and clocks. Never in a binary that is handed out.
const TEST_FEATURES: &[&str] = &["failpoints", "planted", "testing"];

/// The default features that the short check leaves out. The embedded model would take half of its time.
const OMITTED_FEATURES: &[&str] = &["local"];

/// How many tests run at a time on a machine with fewer cores than that.
const MIN_TEST_THREADS: usize = 7;

/// How many seeds the simulation plays in the short check, and in the deep one.
const FEW_SEEDS: u64 = 1_000;
const MANY_SEEDS: u64 = 10_000;

/// Names the variable that says how often the laws of values are tried, and how often the deep check tries them.
const LAW_CASES: (&str, &str) = ("ALMONER_LAW_CASES", "10000");

/// Names the variable that says for how many seconds odd answers of model servers are drawn, and its value in the deep
/// check.
const QUIRK_SECONDS: (&str, &str) = ("ALMONER_QUIRK_SECONDS", "600");

/// Names the variable that says how many requests are made from the schema of the protocol, and its value in the deep
/// check.
const PROTOCOL_ROUNDS: (&str, &str) = ("ALMONER_PROTOCOL_ROUNDS", "10000");

pub(super) type Phase = (&'static str, fn(&Check) -> Result<PhaseOutcome>);

/// The name of the phase that plays the simulation.
pub(super) const SIMULATION: &str = "simulation";

/// The phases that need no compiler but that of this program.
pub(super) const STATIC: [Phase; 2] = [("format", format), ("tidy", tidy_rules)];

/// The phases that build something, and then run it.
pub(super) const COMPILED: [Phase; 4] =
    [("build and lints", build), ("tests", tests), (SIMULATION, simulation), ("doc tests", doc_tests)];

/// The phase that builds benches.
pub(super) const BENCHES: Phase = ("benches", benches);

/// The phase that judges the packages of others.
const LICENCES: Phase = ("licences", licences);

/// The check for every landing.
pub(super) const SHORT: [Phase; 10] = [
    STATIC[0],
    STATIC[1],
    ("tools", tools),
    LICENCES,
    COMPILED[0],
    COMPILED[1],
    COMPILED[2],
    COMPILED[3],
    BENCHES,
    ("demo, scripted", demo),
];

/// The phases that `--quick` leaves out.
pub(super) const OMITTED_BY_QUICK: [&str; 4] = ["tools", "licences", "benches", "demo, scripted"];

/// The phases that every shard of the deep check runs, each with its part of the tests.
pub(super) const DEEP_TESTS: [Phase; 3] = [("tools", tools), COMPILED[0], COMPILED[1]];

/// The phases of the deep check that one shard runs for all.
pub(super) const DEEP: [Phase; 6] = [
    LICENCES,
    (SIMULATION, simulation),
    ("fuzz", fuzz_targets),
    ("test262", language_suite),
    // In this order: the second one compares its build with that of the first.
    ("release", release),
    ("second build", second_build),
];

/// The outcome of a phase.
#[derive(Default)]
pub(super) struct PhaseOutcome {
    pub(super) held: bool,
    /// Behind its name in the summary: counts, or nothing.
    pub(super) remark: String,
    /// Each test with its time, if the runner wrote that down.
    pub(super) tests: Vec<TestRun>,
    /// One line for each test that passed only when it was tried again.
    pub(super) second_tries: Vec<String>,
    /// How many packages of others were compiled: none in a warm target directory.
    pub(super) dependencies_built: usize,
}

impl PhaseOutcome {
    pub(super) fn of(held: bool) -> Self {
        Self { held, ..Self::default() }
    }
}

/// Which features crates are built with, beside those of tests. Features change crates that everything else is built
/// on: one set for all phases, so that each crate is built once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Features {
    /// The default features without the embedded model.
    Small,
    /// The default features, as in a binary that is handed out.
    Shipped,
}

/// Describes one run of the check.
pub(super) struct Check {
    workspace: Workspace,
    pub(super) scope: Scope,
    features: Features,
    /// The profile of nextest.
    profile: &'static str,
    shard: Shard,
    sample: Sample,
    seeds: u64,
    first_seed: u64,
}

impl Check {
    pub(super) fn new(workspace: Workspace, plan: &Plan, scope: Scope) -> Result<Self> {
        let check = match plan {
            Plan::Deep { shard } => Self {
                features: Features::Shipped,
                profile: "deep",
                shard: *shard,
                sample: Sample::EVERY,
                seeds: MANY_SEEDS,
                first_seed: fresh_seed()?,
                workspace,
                scope,
            },
            _ => Self {
                features: Features::Small,
                profile: "check",
                shard: Shard::WHOLE,
                sample: Sample::short(&workspace)?,
                seeds: FEW_SEEDS,
                first_seed: 0,
                workspace,
                scope,
            },
        };
        if let Scope::Crates(crates) = &check.scope {
            let list: Vec<&str> = crates.iter().map(String::as_str).collect();
            println!("crates       {}", if list.is_empty() { "none".to_owned() } else { list.join(", ") });
        }
        println!("kill sweeps  {}", check.sample);
        println!("simulation   {} seeds from {}", check.seeds, check.first_seed);
        Ok(check)
    }

    /// Returns cargo with these arguments, for all crates with their features.
    ///
    /// Also for a change: cargo would build dependencies anew for some of the crates, whose features are fewer. Crates
    /// that did not change, and those below them, are built already.
    fn cargo(&self, arguments: &[&str]) -> Command {
        let mut command = cargo(&self.workspace.root, arguments);
        command.arg("--workspace");
        with_features(&mut command, &self.workspace, self.features);
        // Backtraces keep the names of functions, and linking takes half of the time.
        command.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_PROFILE_SIM_DEBUG", "0");
        command
    }

    /// Returns the same command, with every warning of the compiler and of clippy an error.
    ///
    /// `cargo clippy` would check all dependencies a second time before it sees the first crate of ours. Its driver
    /// is a compiler, though: it builds our crates and lints them in one go.
    fn linted(&self, arguments: &[&str]) -> Result<Command> {
        let mut command = self.cargo(arguments);
        command
            .env("RUSTC_WORKSPACE_WRAPPER", clippy_driver()?)
            .env("CLIPPY_ARGS", ["-D", "warnings", ""].join("__CLIPPY_HACKERY__"));
        Ok(command)
    }

    /// Fails with the way out if the program that runs the tests is missing.
    fn expect_runner(&self) -> Result<()> {
        setup::expect_command(&self.workspace.root, setup::NEXTEST)
    }

    /// Returns the benches of the crates in the scope.
    pub(super) fn benches(&self) -> Vec<&str> {
        let crates = self.workspace.crates.iter().filter(|each| self.scope.has(&each.name));
        crates.flat_map(|each| &each.benches).map(String::as_str).collect()
    }

    /// Runs tests with the command and reads their results.
    fn run_tests(&self, command: &mut Command, profile: &str) -> Result<PhaseOutcome> {
        // The runner keeps its reports in the clone, wherever the build is.
        let report = self.workspace.root.join("target/nextest").join(profile).join("junit.xml");
        // The report of an earlier run must not be taken for an answer.
        if report.exists() {
            fs::remove_file(&report).with_context(|| format!("cannot remove {}", report.display()))?;
        }
        let outcome = run_counted(command)?;
        let tests = if report.exists() { Some(report::read(&report)?) } else { None };
        let list = self.workspace.root.join(flaky::LIST);
        let list = fs::read_to_string(&list).with_context(|| format!("cannot read {}", list.display()))?;
        Ok(judge_report(outcome, tests, &report, &list))
    }
}

/// Returns a seed that was not played before, below 2^48 so that people can type it. `ALMONER_SIM_FROM` sets it.
fn fresh_seed() -> Result<u64> {
    if let Ok(text) = std::env::var(FIRST_SEED) {
        return text.parse().with_context(|| format!("cannot read `{FIRST_SEED}`"));
    }
    let now = SystemTime::now().duration_since(UNIX_EPOCH).context("the clock stands before 1970")?;
    Ok(u64::try_from(now.as_millis())? & ((1 << 48) - 1))
}

/// Names the variable with the first seed of the simulation.
const FIRST_SEED: &str = "ALMONER_SIM_FROM";

/// Returns the path of the compiler that lints.
fn clippy_driver() -> Result<PathBuf> {
    let sysroot = output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let driver = PathBuf::from(sysroot.trim()).join("bin/clippy-driver");
    anyhow::ensure!(
        driver.is_file(),
        "cannot find clippy-driver in {}: install it with `rustup component add clippy`",
        sysroot.trim()
    );
    Ok(driver)
}

fn tools(check: &Check) -> Result<PhaseOutcome> {
    setup::install_all(&check.workspace)?;
    Ok(PhaseOutcome::of(true))
}

fn format(check: &Check) -> Result<PhaseOutcome> {
    setup::components(&check.workspace.root)?;
    let held = run(&mut cargo(&check.workspace.root, &["fmt", "--all", "--check"]))?;
    if !held {
        println!("`cargo fmt --all` puts this right");
    }
    Ok(PhaseOutcome::of(held))
}

fn tidy_rules(check: &Check) -> Result<PhaseOutcome> {
    let report = tidy::report(&check.workspace)?;
    print!("{report}");
    Ok(PhaseOutcome { held: report.holds(), remark: report.remark(), ..PhaseOutcome::default() })
}

fn build(check: &Check) -> Result<PhaseOutcome> {
    // Without the runner, building the tests would take minutes for nothing.
    check.expect_runner()?;
    let mut command = check.linted(&["test", "--no-run", "--lib", "--bins", "--tests", "--examples"])?;
    println!("{}", shown(&command));
    let (held, lines) = tee(&mut command)?;
    let built = dependencies(&lines);
    Ok(PhaseOutcome {
        held,
        dependencies_built: built,
        remark: format!("{built} dependencies built"),
        ..PhaseOutcome::default()
    })
}

/// Counts the packages of others that cargo says it compiles; it adds the path to those of ours.
fn dependencies(lines: &[String]) -> usize {
    let compiled = lines.iter().filter_map(|line| line.trim_start().strip_prefix("Compiling "));
    compiled.filter(|package| !package.contains('(')).count()
}

fn tests(check: &Check) -> Result<PhaseOutcome> {
    check.expect_runner()?;
    let mut command = check.linted(&["nextest", "run", "--profile", check.profile, "--no-tests=pass"])?;
    // Most tests wait most of the time: for disks, for processes, for each other.
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    command.arg("--test-threads").arg(cores.max(MIN_TEST_THREADS).to_string());
    if let Some(partition) = check.shard.partition() {
        command.args(["--partition", &partition]);
    }
    let chosen = match &check.scope {
        Scope::Crates(names) => tests_of(names),
        Scope::Everything => "all()".to_owned(),
    };
    let omitted = check.sample.omitted_tests().unwrap_or("none()");
    command.args(["--filterset", &format!("({chosen}) - {omitted}")]);
    check.sample.apply(&mut command);
    for (name, value) in [LAW_CASES, QUIRK_SECONDS, PROTOCOL_ROUNDS] {
        if check.profile == "deep" && std::env::var_os(name).is_none() {
            command.env(name, value);
        }
    }
    let mut command = with_test_home(command, &check.workspace)?;
    check.run_tests(&mut command, check.profile)
}

/// Returns the expression of nextest for the tests of these crates.
fn tests_of(crates: &BTreeSet<String>) -> String {
    let each: Vec<String> = crates.iter().map(|name| format!("package(={name})")).collect();
    if each.is_empty() { "none()".to_owned() } else { each.join(" + ") }
}

/// Runs the simulation. The build of the tests plays few seeds. Many are worth a build of their own, in which the
/// kernel is optimised.
fn simulation(check: &Check) -> Result<PhaseOutcome> {
    check.expect_runner()?;
    let run = ["nextest", "run", "--profile", "sim"];
    let mut command = if check.seeds == FEW_SEEDS {
        check.linted(&[&run[..], &["--filterset", "binary_id(kernel::sim)"]].concat())?
    } else {
        let mut command = cargo(&check.workspace.root, &[&run[..], &["--cargo-profile", "sim"]].concat());
        command.args(["--package", "kernel", "--features", "kernel/planted,kernel/testing", "--test", "sim"]);
        command
    };
    command
        .env("CARGO_PROFILE_SIM_DEBUG", "0")
        .env("ALMONER_SIM_SEEDS", check.seeds.to_string())
        .env(FIRST_SEED, check.first_seed.to_string());
    let mut outcome = check.run_tests(&mut command, "sim")?;
    outcome.remark = format!("{} seeds from {}; {}", check.seeds, check.first_seed, outcome.remark);
    Ok(outcome)
}

fn doc_tests(check: &Check) -> Result<PhaseOutcome> {
    let command = check.linted(&["test", "--doc"])?;
    run_counted(&mut with_test_home(command, &check.workspace)?)
}

/// Builds the benches, which lints them; nothing is measured.
fn benches(check: &Check) -> Result<PhaseOutcome> {
    let benches = check.benches();
    if benches.is_empty() {
        return Ok(PhaseOutcome::of(true));
    }
    let mut command = check.linted(&["build"])?;
    command.args(benches.iter().flat_map(|bench| ["--bench", bench]));
    run_shown(&mut command).map(PhaseOutcome::of)
}

/// Runs the demo with the binary that the tests drove. A build of its own would have other features, and so build
/// everything below it a second time.
fn demo(check: &Check) -> Result<PhaseOutcome> {
    let mut command = Command::new(check.workspace.target.join("debug/almoner"));
    command.args(SCRIPTED_DEMO).current_dir(&check.workspace.root);
    run_shown(&mut with_test_home(command, &check.workspace)?).map(PhaseOutcome::of)
}

fn fuzz_targets(check: &Check) -> Result<PhaseOutcome> {
    let mut command = check.linted(&["test", "--no-fail-fast", "--test", "fuzz"])?;
    fuzz::timed(&mut command, fuzz::SECONDS);
    command.args(["--", "--test-threads=2"]);
    run_counted(&mut command)
}

fn language_suite(_: &Check) -> Result<PhaseOutcome> {
    Ok(PhaseOutcome::of(matches!(test262::main(&[])?, CommandStatus::Success)))
}

/// Judges the packages of others, and says so where the advisories cannot be fetched.
fn licences(check: &Check) -> Result<PhaseOutcome> {
    let outcome = deny::check(&check.workspace)?;
    let remark = if outcome.has_advisories {
        String::new()
    } else {
        "advisories were not checked: their database cannot be fetched".to_owned()
    };
    Ok(PhaseOutcome { held: outcome.holds, remark, ..PhaseOutcome::default() })
}

/// Makes a release and tries each artefact in the oldest Debian system that can be made here.
fn release(check: &Check) -> Result<PhaseOutcome> {
    let lines = dist::try_release(&check.workspace)?;
    for line in &lines {
        println!("{line}");
    }
    let remark = lines.first().cloned().unwrap_or_default();
    Ok(PhaseOutcome { held: true, remark, ..PhaseOutcome::default() })
}

/// Builds the release again in another folder. Its bytes must be the same.
fn second_build(check: &Check) -> Result<PhaseOutcome> {
    let differences = dist::reproduce_release(&check.workspace)?;
    for line in &differences {
        println!("differs      {line}");
    }
    let remark = format!("{} artefacts differ", differences.len());
    Ok(PhaseOutcome { held: differences.is_empty(), remark, ..PhaseOutcome::default() })
}

/// Gives cargo the features of all crates.
pub(crate) fn with_features(command: &mut Command, workspace: &Workspace, which: Features) {
    let crates: Vec<&Crate> = workspace.crates.iter().collect();
    if which == Features::Small {
        command.arg("--no-default-features");
    }
    let names = feature_names(&crates, which);
    if !names.is_empty() {
        command.args(["--features", &names.join(",")]);
    }
}

/// Returns `NAME/FEATURE` for each feature to turn on: cargo refuses a bare name that no member knows.
fn feature_names(crates: &[&Crate], which: Features) -> Vec<String> {
    let wanted = |each: &Crate, feature: &String| {
        let default =
            each.default_features.contains(feature) && !OMITTED_FEATURES.contains(&feature.as_str());
        TEST_FEATURES.contains(&feature.as_str()) || which == Features::Small && default
    };
    let named = crates.iter().flat_map(|each| {
        let own = each.features.iter().filter(|feature| wanted(each, feature));
        own.map(|feature| format!("{}/{feature}", each.name))
    });
    named.collect()
}

/// Gives the command the test tools, and a home of its own: no test may touch that of the person who runs it.
pub(crate) fn with_test_home(mut command: Command, workspace: &Workspace) -> Result<Command> {
    let home = workspace.target.join("test-home");
    if home.exists() {
        fs::remove_dir_all(&home).with_context(|| format!("cannot empty {}", home.display()))?;
    }
    fs::create_dir_all(&home).with_context(|| format!("cannot make {}", home.display()))?;
    command.env("ALMONER_HOME", &home);
    fix_seeds(&mut command);
    let tools = setup::tools_folder(&workspace.target);
    if tools.is_dir() {
        let path: OsString = setup::tools_path(&workspace.target)?;
        command.env(setup::TOOLS_VARIABLE, &tools).env("PATH", path);
    }
    Ok(command)
}

/// Fixes the seeds, so that the check gives the same results for the same code. `cargo test` and `cargo xtask fuzz`
/// draw new cases each time.
fn fix_seeds(command: &mut Command) {
    for seed in SEED_VARIABLES {
        if std::env::var_os(seed).is_none() {
            command.env(seed, "20261121");
        }
    }
}

fn run_shown(command: &mut Command) -> Result<bool> {
    println!("{}", shown(command));
    run(command)
}

/// Runs tests, shows all that they print, and counts.
fn run_counted(command: &mut Command) -> Result<PhaseOutcome> {
    println!("{}", shown(command));
    let (held, lines) = tee(command)?;
    let counts = Counts::read(&lines);
    Ok(PhaseOutcome {
        held: held && counts.failed == 0,
        remark: counts.to_string(),
        ..PhaseOutcome::default()
    })
}

#[cfg(test)]
mod tests {
    use super::{Features, dependencies, feature_names, tests_of};
    use crate::workspace::{Crate, Workspace};

    #[test]
    fn packages_of_others_are_counted() {
        let lines = [
            "   Compiling serde v1.0.0",
            "   Compiling kernel v0.1.0 (here)",
            "   Fresh x",
            "Compiling a v1",
        ];
        assert_eq!(dependencies(&lines.map(str::to_owned)), 2);
    }

    #[test]
    fn short_check_leaves_out_the_local_model_alone() {
        let text = |list: &[&str]| list.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
        let crates = [
            Crate {
                features: text(&["default", "failpoints", "local", "pages"]),
                default_features: text(&["local", "pages"]),
                ..Crate::named("almoner")
            },
            Crate { features: text(&["testing", "slow"]), ..Crate::named("kernel") },
        ];
        let crates: Vec<&Crate> = crates.iter().collect();
        let small = ["almoner/failpoints", "almoner/pages", "kernel/testing"];
        assert_eq!(feature_names(&crates, Features::Small), small);
        assert_eq!(feature_names(&crates, Features::Shipped), ["almoner/failpoints", "kernel/testing"]);
    }

    #[test]
    fn change_runs_the_tests_of_its_crates_alone() {
        let crates = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
        assert_eq!(tests_of(&crates(&["kernel", "store"])), "package(=kernel) + package(=store)");
        assert_eq!(tests_of(&crates(&[])), "none()");
    }

    #[test]
    fn clone_has_the_local_model_by_default() {
        let workspace = Workspace::read().unwrap();
        let almoner = workspace.crates.iter().find(|each| each.name == "almoner").unwrap();
        assert!(almoner.default_features.iter().any(|feature| feature == "local"));
    }
}
