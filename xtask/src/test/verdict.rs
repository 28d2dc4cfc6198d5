//! Whether a run of tests holds: its report is there, and the list excuses each second try in it.

use std::path::Path;

use super::flaky;
use super::phases::PhaseOutcome;
use super::report::TestRun;

/// Adds each test of the report, which must be there and show no second try but those in the list.
pub(super) fn judge_report(
    mut outcome: PhaseOutcome,
    tests: Option<Vec<TestRun>>,
    report: &Path,
    list: &str,
) -> PhaseOutcome {
    let has_report = tests.is_some();
    outcome.tests = tests.unwrap_or_default();
    let (lines, listed) = second_tries(&outcome.tests, list);
    outcome.second_tries = lines;
    if outcome.held && !has_report {
        // A second try would show nowhere else.
        outcome.held = false;
        outcome.remark.push_str(&format!("; there is no report in {}", report.display()));
    } else if outcome.held && !listed {
        outcome.held = false;
        outcome.remark.push_str("; a test needed a second try");
    }
    outcome
}

/// Returns one line for each test that needed a second try, and whether all of them are in the list.
fn second_tries(tests: &[TestRun], list: &str) -> (Vec<String>, bool) {
    let rows = flaky::rows(list);
    let mut all_listed = true;
    let flaky = tests.iter().filter(|test| test.second_try);
    let lines = flaky.map(|test| match rows.iter().find(|row| row.test == test.name) {
        Some(row) if row.is_explained() => format!("{}: {} ({})", test.name, row.cause, row.date),
        found => {
            all_listed = false;
            let wrong = if found.is_some() { "without a cause or a date" } else { "not" };
            format!("{}: {wrong} in {}, so the check fails; find the cause", test.name, flaky::LIST)
        }
    });
    let lines = lines.collect();
    (lines, all_listed)
}

#[cfg(test)]
mod tests {
    use std::path::Path;
    use std::time::Duration;

    use super::{PhaseOutcome, TestRun, judge_report, second_tries};

    #[test]
    fn second_try_must_be_listed() {
        let test =
            |name: &str, second_try| TestRun { name: name.to_owned(), time: Duration::ZERO, second_try };
        let list =
            "| test | cause | date |\n| --- | --- | --- |\n| `a::it::known` | slow clock | 2026-11-25 |\n";
        let fine = [test("a::it::one", false), test("a::it::known", true)];
        let (lines, listed) = second_tries(&fine, list);
        assert_eq!(
            (lines.as_slice(), listed),
            (["a::it::known: slow clock (2026-11-25)".to_owned()].as_slice(), true)
        );
        let (lines, listed) = second_tries(&[test("a::it::new", true)], list);
        assert!(!listed && lines[0].starts_with("a::it::new: not in docs/flaky.md"), "{lines:?}");
        assert_eq!(second_tries(&[test("a::it::new", false)], ""), (vec![], true));
        for row in ["| `a::it::new` | | 2026-11-25 |", "| `a::it::new` | slow clock | soon |"] {
            let (lines, listed) = second_tries(&[test("a::it::new", true)], row);
            assert!(!listed && lines[0].contains("without a cause or a date"), "{lines:?}");
        }
    }

    #[test]
    fn run_without_report_fails() {
        let path = Path::new("target/nextest/check/junit.xml");
        let test = TestRun { name: "a::it::one".to_owned(), time: Duration::ZERO, second_try: false };
        let check = |held, tests: Option<Vec<TestRun>>, expected: bool, remark: &str| {
            let outcome = judge_report(PhaseOutcome::of(held), tests, path, "");
            assert_eq!((outcome.held, outcome.remark.as_str()), (expected, remark));
        };
        check(true, Some(vec![test.clone()]), true, "");
        check(true, Some(vec![]), true, "");
        check(true, None, false, "; there is no report in target/nextest/check/junit.xml");
        // A run that failed says why itself, and may have ended before its report.
        check(false, None, false, "");
        check(true, Some(vec![TestRun { second_try: true, ..test }]), false, "; a test needed a second try");
    }
}
