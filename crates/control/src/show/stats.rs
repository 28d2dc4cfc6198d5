//! Statistics about the outcomes of runs.

use std::fmt::Write as _;

use passable::visible_line;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// Statistics about the outcomes of runs.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Stats {
    /// The numbers of runs, by their state.
    pub runs: Runs,
    /// The calls of all models.
    pub model: ModelCalls,
    /// The outcomes of calls of capabilities.
    pub calls: Calls,
    /// The rules that asked or refused, most frequent first.
    pub rules: Vec<Rule>,
    /// The approvals that users were asked for.
    pub approvals: Approvals,
    /// The repairs by models after the refusal of a call.
    pub repairs: Repairs,
    /// The calls of each model, most expensive first.
    #[serde(default)]
    pub models: Vec<ModelStats>,
    /// The outcomes of the runs of each worker, the worker with most runs first.
    #[serde(default)]
    pub workers: Vec<WorkerStats>,
}

/// The calls of one model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelStats {
    /// The model, by the name under which it was called.
    pub model: String,
    /// The calls of the model.
    #[serde(flatten)]
    pub asked: ModelCalls,
}

/// The outcomes of the runs of one worker.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct WorkerStats {
    /// The name of the worker.
    pub worker: String,
    /// The runs of the worker.
    pub runs: Runs,
    /// The calls of models by these runs, without those of the runs that they started.
    pub model: ModelCalls,
}

/// The numbers of runs, by their state.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Runs {
    /// The number of runs with a result.
    pub done: u64,
    /// The number of runs that failed.
    pub failed: u64,
    /// The number of runs that were cancelled.
    pub cancelled: u64,
    /// The number of runs that wait for a person or for runs that they started.
    pub waiting: u64,
    /// The number of runs that are stalled by a problem outside.
    pub stalled: u64,
    /// The number of runs at work.
    pub working: u64,
}

impl Runs {
    /// Returns the number of all runs.
    pub fn all(&self) -> u64 {
        self.done + self.failed + self.cancelled + self.waiting + self.stalled + self.working
    }
}

/// The calls of models.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ModelCalls {
    /// The number of answered calls.
    pub calls: u64,
    /// The number of tokens that models read.
    pub input_tokens: u64,
    /// The number of tokens that models wrote.
    pub output_tokens: u64,
    /// The total time of the calls, in milliseconds.
    pub ms: u64,
    /// The total cost of the calls, in millionths of a dollar.
    #[serde(default)]
    pub usd_micros: u64,
    /// The number of these tokens that no server reported.
    #[serde(default)]
    pub estimated_tokens: u64,
}

/// The outcomes of calls of capabilities.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Calls {
    /// The number of proposed calls.
    pub proposed: u64,
    /// The number of calls that the gates allowed.
    pub allowed: u64,
    /// The number of calls about which a person was asked.
    pub asked: u64,
    /// The number of calls that the gates refused.
    pub denied: u64,
    /// The number of model outputs that could not even be proposed.
    pub rejected: u64,
}

/// The number of calls to which a rule objected.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Rule {
    /// The rule, as `gate/rule`.
    pub rule: String,
    /// The number of calls about which a person was asked, with this rule among the reasons.
    pub asked: u64,
    /// The number of calls that were refused, with this rule among the reasons.
    pub denied: u64,
}

impl ModelCalls {
    /// Adds other calls to these.
    pub fn add(&mut self, other: &ModelCalls) {
        self.calls = self.calls.saturating_add(other.calls);
        self.input_tokens = self.input_tokens.saturating_add(other.input_tokens);
        self.output_tokens = self.output_tokens.saturating_add(other.output_tokens);
        self.ms = self.ms.saturating_add(other.ms);
        self.usd_micros = self.usd_micros.saturating_add(other.usd_micros);
        self.estimated_tokens = self.estimated_tokens.saturating_add(other.estimated_tokens);
    }

    /// Returns the number of all tokens, read and written.
    pub fn tokens(&self) -> u64 {
        self.input_tokens.saturating_add(self.output_tokens)
    }
}

/// The approvals that users were asked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Approvals {
    /// The number of approved calls.
    pub approved: u64,
    /// The number of denied calls.
    pub denied: u64,
    /// The number of calls without an answer.
    pub open: u64,
    /// The median time until an answer, in milliseconds.
    pub median_ms: Option<u64>,
}

/// The repairs by models after the refusal of a call. They are counted in turns of the model.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Repairs {
    /// The number of turns in which a call was refused or rejected.
    pub turns: u64,
    /// The number of these turns after which the model repaired all refused calls.
    pub repaired: u64,
    /// The number of these turns that are not decided yet.
    pub open: u64,
}

impl Repairs {
    /// Returns the repaired part of all decided turns, or `None` if no turn is decided.
    pub fn rate(&self) -> Option<f64> {
        let known = self.turns.saturating_sub(self.open);
        (known > 0).then(|| self.repaired as f64 / known as f64)
    }
}

/// Returns the statistics as JSON for programs.
pub fn json(stats: &Stats) -> Json {
    let mut json = serde_json::to_value(stats).unwrap_or_default();
    json["version"] = json!(1);
    json["repairs"]["rate"] = json!(stats.repairs.rate());
    json
}

/// Returns the statistics as text for users.
pub fn render(stats: &Stats) -> String {
    let mut out = String::new();
    let runs = &stats.runs;
    let mut line = |name: &str, text: String| {
        let _ = writeln!(out, "{name:<10} {text}");
    };
    let parts = [
        (runs.done, "done"),
        (runs.failed, "failed"),
        (runs.cancelled, "cancelled"),
        (runs.waiting, "waiting"),
        (runs.stalled, "stalled"),
        (runs.working, "at work"),
    ];
    let parts: Vec<String> =
        parts.iter().filter(|(n, _)| *n > 0).map(|(n, what)| format!("{n} {what}")).collect();
    let parts = if parts.is_empty() { String::new() } else { format!(": {}", parts.join(", ")) };
    line("runs", format!("{}{parts}", runs.all()));
    let model = &stats.model;
    line(
        "model",
        format!(
            "{}, {} tokens read, {} written{}, {}{}",
            many(model.calls, "call"),
            model.input_tokens,
            model.output_tokens,
            super::usage::estimated_suffix(model.estimated_tokens),
            time(model.ms),
            super::money::cost_suffix(model.usd_micros)
        ),
    );
    let calls = &stats.calls;
    line(
        "calls",
        format!(
            "{} proposed: {} allowed, {} asked, {} refused; {} not even that",
            calls.proposed, calls.allowed, calls.asked, calls.denied, calls.rejected
        ),
    );
    let approvals = &stats.approvals;
    let median = approvals.median_ms.map(|ms| format!("; half of the answers came within {}", time(ms)));
    line(
        "approvals",
        format!(
            "{} approved, {} denied, {} open{}",
            approvals.approved,
            approvals.denied,
            approvals.open,
            median.unwrap_or_default()
        ),
    );
    let repairs = &stats.repairs;
    let rate = repairs.rate().map(|rate| format!(", {:.0} %", rate * 100.0)).unwrap_or_default();
    let open = match repairs.open {
        0 => String::new(),
        open => format!("; {open} not decided yet"),
    };
    line(
        "repairs",
        format!(
            "{} of {} with a refusal{rate}{open}",
            repairs.repaired,
            many(repairs.turns.saturating_sub(repairs.open), "turn")
        ),
    );
    for rule in &stats.rules {
        line("rule", format!("{}: {} asked, {} refused", visible_line(&rule.rule), rule.asked, rule.denied));
    }
    out
}

fn many(count: u64, what: &str) -> String {
    format!("{count} {what}{}", if count == 1 { "" } else { "s" })
}

/// Returns a duration as text for users.
fn time(ms: u64) -> String {
    match ms {
        0..1_000 => format!("{ms} ms"),
        1_000..120_000 => format!("{:.1} s", ms as f64 / 1e3),
        120_000..7_200_000 => format!("{} min", ms / 60_000),
        7_200_000..172_800_000 => format!("{} h", ms / 3_600_000),
        _ => format!("{} days", ms / 86_400_000),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stats_render_one_line_per_figure() {
        let stats = Stats {
            runs: Runs { done: 3, failed: 1, waiting: 2, ..Runs::default() },
            model: ModelCalls {
                calls: 9,
                input_tokens: 12_000,
                output_tokens: 800,
                ms: 61_500,
                usd_micros: 123_456,
                estimated_tokens: 0,
            },
            calls: Calls { proposed: 12, allowed: 7, asked: 3, denied: 2, rejected: 1 },
            rules: vec![Rule { rule: "effects/commit\u{1B}[2K".to_owned(), asked: 3, denied: 0 }],
            approvals: Approvals { approved: 2, denied: 1, open: 0, median_ms: Some(180_000) },
            repairs: Repairs { turns: 4, repaired: 2, open: 1 },
            ..Stats::default()
        };
        insta::assert_snapshot!(render(&stats), @r"
        runs       6: 3 done, 1 failed, 2 waiting
        model      9 calls, 12000 tokens read, 800 written, 61.5 s, $0.1235
        calls      12 proposed: 7 allowed, 3 asked, 2 refused; 1 not even that
        approvals  2 approved, 1 denied, 0 open; half of the answers came within 3 min
        repairs    2 of 3 turns with a refusal, 67 %; 1 not decided yet
        rule       effects/commit\u{1B}[2K: 3 asked, 0 refused
        ");
        assert_eq!(json(&stats)["repairs"]["rate"], 2.0 / 3.0);
        insta::assert_snapshot!(render(&Stats::default()), @r"
        runs       0
        model      0 calls, 0 tokens read, 0 written, 0 ms
        calls      0 proposed: 0 allowed, 0 asked, 0 refused; 0 not even that
        approvals  0 approved, 0 denied, 0 open
        repairs    0 of 0 turns with a refusal
        ");
        assert_eq!(json(&Stats::default())["repairs"]["rate"], Json::Null);
    }
}
