//! The summary at the end: phases, slow tests, second tries, the limit, and the verdict last.

use std::fmt::Write as _;
use std::time::Duration;

use super::phases::{self, PhaseOutcome};
use super::plan::Plan;
use super::report::{TestRun, slowest};
use super::usage::Usage;

/// How many of the slowest tests are named.
const SLOWEST: usize = 20;

/// Describes how one phase went.
pub(super) struct PhaseLine {
    pub(super) name: &'static str,
    pub(super) usage: Usage,
    pub(super) outcome: PhaseOutcome,
}

/// Describes the whole run.
#[derive(Default)]
pub(super) struct Summary {
    pub(super) lines: Vec<PhaseLine>,
    pub(super) not_run: Vec<&'static str>,
    pub(super) usage: Usage,
}

/// How long a check may take on two cores. A machine that is busy may use the processor time instead.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Limit {
    name: &'static str,
    wall: u64,
    cpu: Option<u64>,
}

const COLD: Limit = Limit { name: "cold", wall: 20, cpu: Some(38) };
const WARM: Limit = Limit { name: "warm", wall: 8, cpu: None };
const DEEP: Limit = Limit { name: "deep", wall: 75, cpu: None };

impl Limit {
    /// Returns one sentence that says whether the limit held.
    fn verdict(self, usage: Usage) -> String {
        let Limit { name, wall, cpu } = self;
        let within = |time: Duration, minutes: u64| time <= Duration::from_secs(minutes * 60);
        let limit = match cpu {
            Some(cpu) => format!("{wall} min of wall time or {cpu} min of CPU time"),
            None => format!("{wall} min of wall time"),
        };
        let held = within(usage.wall, wall) || cpu.is_some_and(|cpu| within(usage.cpu, cpu));
        let word = if held { "held" } else { "MISSED" };
        format!("limit, {name}: {limit}: {word} ({} wall, {} CPU)", minutes(usage.wall), minutes(usage.cpu))
    }
}

fn minutes(time: Duration) -> String {
    format!("{} min {} s", time.as_secs() / 60, time.as_secs() % 60)
}

impl Summary {
    /// Returns whether every phase that ran held, and all were run.
    pub(super) fn holds(&self) -> bool {
        self.not_run.is_empty() && self.lines.iter().all(|line| line.outcome.held)
    }

    /// Returns the text, which ends in the verdict.
    pub(super) fn render(&self, plan: &Plan) -> String {
        let mut text = "=== summary\n".to_owned();
        for PhaseLine { name, usage, outcome } in &self.lines {
            let word = if outcome.held { "ok" } else { "FAILED" };
            let line = format!("{name:<18}{word:<8}{usage}   {}", outcome.remark);
            let _ = writeln!(text, "{}", line.trim_end());
        }
        for name in &self.not_run {
            let _ = writeln!(text, "{name:<18}not run");
        }
        if *plan == Plan::Quick {
            let _ = writeln!(text, "left out by --quick: {}", phases::OMITTED_BY_QUICK.join(", "));
        }
        let _ = writeln!(text, "{:<26}{}", "in total", self.usage);
        let tests: Vec<TestRun> =
            self.lines.iter().flat_map(|line| line.outcome.tests.iter().cloned()).collect();
        if !tests.is_empty() {
            let slow = slowest(&tests, SLOWEST);
            let _ = writeln!(text, "\nthe {} slowest of {} tests", slow.len(), tests.len());
            for test in slow {
                let _ = writeln!(text, "{:>8.1} s   {}", test.time.as_secs_f64(), test.name);
            }
        }
        let tries: Vec<&String> = self.lines.iter().flat_map(|line| &line.outcome.second_tries).collect();
        if !tries.is_empty() {
            let _ = writeln!(text, "\nneeded a second try");
            for line in tries {
                let _ = writeln!(text, "    {line}");
            }
        }
        text.push('\n');
        if let Some(limit) = self.limit(plan) {
            let _ = writeln!(text, "{}", limit.verdict(self.usage));
        }
        let time = minutes(self.usage.wall);
        let _ = match self.lines.iter().find(|line| !line.outcome.held) {
            None => writeln!(text, "all of it holds ({time})"),
            Some(failed) => writeln!(text, "FAILED: {} (after {time})", failed.name),
        };
        text
    }

    /// Returns the limit that applies. A run that ended early has none.
    fn limit(&self, plan: &Plan) -> Option<Limit> {
        if !self.not_run.is_empty() {
            return None;
        }
        let built = self.lines.iter().any(|line| line.outcome.dependencies_built > 0);
        match plan {
            Plan::Short if built => Some(COLD),
            Plan::Short => Some(WARM),
            Plan::Deep { .. } => Some(DEEP),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::phases::PhaseOutcome;
    use super::super::plan::Plan;
    use super::super::report::TestRun;
    use super::super::usage::Usage;
    use super::{COLD, PhaseLine, Summary, WARM};

    fn usage(wall: u64, cpu: u64) -> Usage {
        Usage { wall: Duration::from_secs(wall * 60), cpu: Duration::from_secs(cpu * 60) }
    }

    #[test]
    fn limit_is_missed_only_when_both_times_are_over() {
        for (limit, used, expected) in [
            (COLD, usage(20, 60), "held"),
            (COLD, usage(45, 38), "held"),
            (COLD, usage(21, 39), "MISSED"),
            (WARM, usage(8, 100), "held"),
            (WARM, usage(9, 1), "MISSED"),
        ] {
            assert!(limit.verdict(used).contains(expected), "{}", limit.verdict(used));
        }
    }

    #[test]
    fn summary_names_phases_slow_tests_and_second_tries() {
        let test = |name: &str, seconds| TestRun {
            name: name.to_owned(),
            time: Duration::from_secs(seconds),
            second_try: false,
        };
        let outcome = PhaseOutcome {
            tests: vec![test("store::it::a", 1), test("store::it::b", 9)],
            second_tries: vec!["store::it::a: not in docs/flaky.md".to_owned()],
            dependencies_built: 3,
            ..PhaseOutcome::of(false)
        };
        let lines = vec![
            PhaseLine { name: "format", usage: usage(0, 0), outcome: PhaseOutcome::of(true) },
            PhaseLine { name: "tests", usage: usage(1, 2), outcome },
        ];
        let summary = Summary { lines, not_run: vec!["demo"], usage: usage(30, 50) };
        let text = summary.render(&Plan::Short);
        let places: Vec<usize> = [
            "format",
            "ok",
            "tests",
            "FAILED",
            "demo",
            "not run",
            "9.0 s   store::it::b",
            "1.0 s   store::it::a",
            "needed a second try",
            "FAILED: tests",
        ]
        .iter()
        .map(|part| text.find(part).unwrap_or_else(|| panic!("{part} is not in {text}")))
        .collect();
        assert!(places.is_sorted(), "{text}");
        assert!(!text.contains("limit"), "{text}");
        assert!(!summary.holds());
        let whole = Summary { not_run: vec![], ..summary };
        assert!(
            whole
                .render(&Plan::Short)
                .contains("limit, cold: 20 min of wall time or 38 min of CPU time: MISSED")
        );
    }
}
