//! The report that nextest writes about each test, in the form of JUnit.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result};
use roxmltree::{Document, Node};

/// Describes how one test went.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TestRun {
    /// Binary and test, `store::it::crash::torn_page_is_found`.
    pub(crate) name: String,
    /// Of the last try.
    pub(crate) time: Duration,
    /// Whether it failed, and then passed.
    pub(crate) second_try: bool,
}

/// Reads the report at this path.
pub(crate) fn read(path: &Path) -> Result<Vec<TestRun>> {
    let text = fs::read_to_string(path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&text).with_context(|| format!("cannot read {}", path.display()))
}

/// Returns every test of a report.
pub(crate) fn parse(text: &str) -> Result<Vec<TestRun>> {
    let document = Document::parse(text)?;
    let cases = document.descendants().filter(|node| node.has_tag_name("testcase"));
    cases.map(|case| test_run(&case)).collect()
}

fn test_run(case: &Node) -> Result<TestRun> {
    let attribute = |name: &str| case.attribute(name).with_context(|| format!("a test has no `{name}`"));
    let seconds: f64 = attribute("time")?.parse().context("the time of a test is no number")?;
    Ok(TestRun {
        name: format!("{}::{}", attribute("classname")?, attribute("name")?),
        time: Duration::try_from_secs_f64(seconds).context("the time of a test is out of range")?,
        second_try: case
            .children()
            .any(|child| child.has_tag_name("flakyFailure") || child.has_tag_name("flakyError")),
    })
}

/// Returns the tests that took longest, the slowest first.
pub(crate) fn slowest(tests: &[TestRun], count: usize) -> Vec<&TestRun> {
    let mut sorted: Vec<&TestRun> = tests.iter().collect();
    sorted.sort_by(|a, b| b.time.cmp(&a.time).then_with(|| a.name.cmp(&b.name)));
    sorted.truncate(count);
    sorted
}

#[cfg(test)]
mod tests {
    use super::{parse, slowest};

    /// As nextest writes it; one test passes, one needs a second try, one fails twice.
    const REPORT: &str = r#"<?xml version="1.0" encoding="UTF-8"?>
<testsuites name="nextest-run" tests="3" failures="1" errors="0" uuid="u" timestamp="t" time="3.0">
    <testsuite name="store::it" tests="2" disabled="0" errors="0" failures="0">
        <testcase name="crash::page" classname="store::it" timestamp="t" time="0.250"/>
        <testcase name="crash::late" classname="store::it" timestamp="t" time="1.500">
            <flakyFailure timestamp="t" time="1.000" message="late" type="test failure">late</flakyFailure>
        </testcase>
    </testsuite>
    <testsuite name="store" tests="1" disabled="0" errors="0" failures="1">
        <testcase name="group::one" classname="store" timestamp="t" time="0.750">
            <failure message="a" type="test failure">a</failure>
            <rerunFailure timestamp="t" time="0.5" message="a" type="test failure">a</rerunFailure>
        </testcase>
    </testsuite>
</testsuites>"#;

    #[test]
    fn report_has_times_and_second_tries() {
        let tests = parse(REPORT).unwrap();
        let told: Vec<(&str, u128, bool)> =
            tests.iter().map(|test| (test.name.as_str(), test.time.as_millis(), test.second_try)).collect();
        let expected = [
            ("store::it::crash::page", 250, false),
            ("store::it::crash::late", 1500, true),
            ("store::group::one", 750, false),
        ];
        assert_eq!(told, expected);
        let slow: Vec<&str> = slowest(&tests, 2).iter().map(|test| test.name.as_str()).collect();
        assert_eq!(slow, ["store::it::crash::late", "store::group::one"]);
        assert!(parse("<testsuites><testcase name=\"a\"/></testsuites>").is_err());
    }
}
