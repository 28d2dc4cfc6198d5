//! The counts that test runners print at the end of each binary, added up.

use std::mem;

/// Describes how many tests passed, failed and were left out.
#[derive(Default, Debug, PartialEq, Eq)]
pub(super) struct Counts {
    pub(super) passed: usize,
    pub(super) failed: usize,
    pub(super) skipped: usize,
}

impl Counts {
    /// Understands the closing lines of libtest (`test result: ok. 3 passed; 0 failed; 1 ignored; …`) and of nextest
    /// (`Summary [ 1.2s] 4 tests run: 3 passed, 1 failed, 2 skipped`).
    pub(super) fn read(lines: &[String]) -> Self {
        let closing = |prefix: &str, behind: &str| -> Vec<&str> {
            let lines = lines.iter().filter_map(|line| line.trim_start().strip_prefix(prefix));
            lines.filter_map(|line| Some(line.split_once(behind)?.1)).collect()
        };
        // nextest repeats the closing line of libtest for each test that failed.
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
