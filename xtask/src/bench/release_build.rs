//! `cargo xtask bench release`: a release build from nothing, its time and the size of its binary.
//!
//! Both figures have an aim. A missed one is printed with the slowest crates, or with the largest sections of the
//! binary. It is no failure: it depends on the machine.

use std::fs;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context as _, Result, bail};

use super::table::Row;
use crate::process::{cargo, output, run};
use crate::test::Meter;
use crate::workspace::Workspace;

/// The aim for a build on two cores that do nothing else.
const MAX_WALL: Duration = Duration::from_secs(12 * 60);
/// The same as processor time, for a machine that does something else.
const MAX_CPU: Duration = Duration::from_secs(2 * 12 * 60);
/// The aim for the stripped binary.
const MAX_BYTES: u64 = 45_000_000;
/// How many of the slowest crates are named.
const MAX_NAMED: usize = 5;

/// Builds the binary as it is handed out and returns one row for each figure.
pub(super) fn rows(workspace: &Workspace) -> Result<Vec<Row>> {
    let target = workspace.target.join("bench-release");
    if target.exists() {
        fs::remove_dir_all(&target).with_context(|| format!("cannot empty {}", target.display()))?;
    }
    let mut command = cargo(&workspace.root, &["build", "--release", "--package", "almoner", "--timings"]);
    command.env("CARGO_TARGET_DIR", &target);
    let meter = Meter::start()?;
    if !run(&mut command)? {
        bail!("cannot measure the release build: it failed");
    }
    let usage = meter.read()?;
    let binary = target.join("release/almoner");
    let bytes = fs::metadata(&binary).with_context(|| format!("cannot read {}", binary.display()))?.len();
    let report = fs::read_to_string(target.join("cargo-timings/cargo-timing.html")).unwrap_or_default();
    let slowest = slowest(&report).unwrap_or_else(|| "unknown".to_owned());
    let minutes = |time: Duration| format!("{:.1} min", time.as_secs_f64() / 60.0);
    let missed = usage.wall > MAX_WALL && usage.cpu > MAX_CPU;
    let time = Row {
        what: "release build from nothing".to_owned(),
        figure: minutes(usage.wall),
        cpu: minutes(usage.cpu),
        note: match missed {
            true => format!("MISSED: the aim is {}; longest: {slowest}", minutes(MAX_WALL)),
            false => format!("aim: {} on two cores; longest: {slowest}", minutes(MAX_WALL)),
        },
        ..Row::default()
    };
    let size = Row {
        what: "stripped binary".to_owned(),
        figure: megabytes(bytes),
        note: match bytes > MAX_BYTES {
            true => {
                let listed = output(Command::new("size").args(["-A", "-d"]).arg(&binary)).unwrap_or_default();
                format!("MISSED: the aim is {}; largest: {}", megabytes(MAX_BYTES), largest(&listed))
            }
            false => format!("aim: {}", megabytes(MAX_BYTES)),
        },
        ..Row::default()
    };
    Ok(vec![time, size])
}

/// Returns the largest sections of a binary, as `size -A -d` lists them: name, bytes, address.
fn largest(listed: &str) -> String {
    let section = |line: &str| {
        let mut words = line.split_whitespace();
        let (name, bytes) = (words.next()?, words.next()?.parse::<u64>().ok()?);
        Some((bytes, name.to_owned())).filter(|_| name.starts_with('.'))
    };
    let mut sections: Vec<(u64, String)> = listed.lines().filter_map(section).collect();
    if sections.is_empty() {
        return "unknown, because `size` does not run".to_owned();
    }
    sections.sort_by(|one, other| other.cmp(one));
    let named = sections.iter().take(MAX_NAMED).map(|(bytes, name)| format!("{name} {}", megabytes(*bytes)));
    named.collect::<Vec<_>>().join(", ")
}

fn megabytes(bytes: u64) -> String {
    format!("{}.{} MB", bytes / 1_000_000, bytes % 1_000_000 / 100_000)
}

/// Returns the crates that took longest, as cargo's own report has them.
fn slowest(report: &str) -> Option<String> {
    let (_, units) = report.split_once("const UNIT_DATA = ")?;
    let units: serde_json::Value = serde_json::Deserializer::from_str(units).into_iter().next()?.ok()?;
    let mut units: Vec<(f64, &str)> = units
        .as_array()?
        .iter()
        .filter_map(|unit| Some((unit["duration"].as_f64()?, unit["name"].as_str()?)))
        .collect();
    units.sort_by(|one, other| other.0.total_cmp(&one.0));
    let named = units.iter().take(MAX_NAMED).map(|(seconds, name)| format!("{name} {seconds:.0} s"));
    Some(named.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::{largest, megabytes, slowest};

    #[test]
    fn sizes_have_one_digit() {
        assert_eq!(megabytes(45_000_000), "45.0 MB");
        assert_eq!(megabytes(7_290_123), "7.2 MB");
    }

    #[test]
    fn largest_sections_come_first() {
        let listed = "almoner  :\nsection  size  addr\n.rodata  4122968  4927488\n.text  50735516  14695168\nTotal  66964870\n";
        assert_eq!(largest(listed), ".text 50.7 MB, .rodata 4.1 MB");
        assert!(largest("").contains("`size` does not run"));
    }

    #[test]
    fn slowest_crates_come_from_the_report() {
        let page = r#"<script>const UNIT_DATA = [{"name": "a", "duration": 1.5}, {"name": "b", "duration": 20.2}];
            const CONCURRENCY_DATA = [];</script>"#;
        assert_eq!(slowest(page).unwrap(), "b 20 s, a 2 s");
        assert_eq!(slowest("<script></script>"), None);
    }
}
