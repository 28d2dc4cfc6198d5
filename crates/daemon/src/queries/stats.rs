//! Statistics about runs, folded from their journals one after another. At any time, memory holds one page of steps,
//! the undecided turns of one run, and sums.

use std::collections::BTreeMap;

use kernel::proposal::{Decision, Finding, Fingerprint};
use kernel::run::{CallSite, Completion, Entry, Run, RunOutcome, State, Step};

use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::stats::{ModelCalls, ModelStats, Rule, Runs, Stats, WorkerStats};

/// The maximum number of rules in the statistics.
const MAX_SHOWN_RULES: usize = 10;

/// The maximum number of rules, models or workers that are counted. Their names can come from anyone, so the number
/// must be limited.
const MAX_RULES: usize = 1000;

/// The number of the newest answers from which the median time is taken.
const MAX_ANSWERS: usize = 10_000;

/// The number of tries that a model has to repair a refused call.
const MAX_REPAIRS: usize = 3;

/// Returns the statistics of the host's runs that were started at `since_ms` or later.
///
/// # Errors
/// When the store cannot be read.
pub fn stats(daemon: &HostDaemon, since_ms: Option<i64>) -> Result<Stats, Failure> {
    let mut sums = StatsTotals::default();
    runs::for_each_run(daemon, None, |mut run| {
        if since_ms.is_some_and(|since| run.started_ms < since) {
            return Ok(true);
        }
        if let Some(trouble) = daemon.blocked_by(run.number) {
            run.state = State::Stalled { trouble };
        }
        let mut journal = JournalFold::default();
        sums.run_calls = ModelCalls::default();
        runs::for_each_step(daemon, run.number, 0, |step| {
            journal.push(&mut sums, &step);
            true
        })?;
        journal.end(&mut sums, &run);
        Ok(true)
    })?;
    Ok(sums.stats())
}

/// The sums over all runs so far.
#[derive(Default)]
struct StatsTotals {
    stats: Stats,
    /// The model calls in the journal that is being folded.
    run_calls: ModelCalls,
    models: BTreeMap<String, ModelCalls>,
    workers: BTreeMap<String, WorkerStats>,
    rules: BTreeMap<String, (u64, u64)>,
    answered_ms: Vec<u64>,
}

impl StatsTotals {
    fn rules(&mut self, findings: &[Finding], add: impl Fn(&mut (u64, u64))) {
        // A rule with several findings about one call is counted once.
        let mut names: Vec<&str> = findings.iter().map(|finding| finding.rule.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        for name in names {
            if self.rules.len() < MAX_RULES || self.rules.contains_key(name) {
                add(self.rules.entry(name.to_owned()).or_default());
            }
        }
    }

    fn stats(mut self) -> Stats {
        let mut rules: Vec<Rule> = std::mem::take(&mut self.rules)
            .into_iter()
            .map(|(rule, (asked, denied))| Rule { rule, asked, denied })
            .collect();
        // The sort is stable, so rules with equal counts stay in the order of their names.
        rules.sort_by_key(|rule| std::cmp::Reverse(rule.asked + rule.denied));
        rules.truncate(MAX_SHOWN_RULES);
        self.stats.rules = rules;
        let models = std::mem::take(&mut self.models).into_iter();
        self.stats.models = models.map(|(model, asked)| ModelStats { model, asked }).collect();
        self.stats.models.sort_by_key(|one| std::cmp::Reverse((one.asked.usd_micros, one.asked.tokens())));
        self.stats.workers = std::mem::take(&mut self.workers).into_values().collect();
        self.stats.workers.sort_by_key(|one| std::cmp::Reverse(one.runs.all()));
        self.answered_ms.sort_unstable();
        self.stats.approvals.median_ms = self.answered_ms.get(self.answered_ms.len() / 2).copied();
        self.stats
    }
}

/// A model's action in a turn: a call, or its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
enum TurnCall {
    /// A call that was proposed.
    Method { slot: String, method: String, fingerprint: Fingerprint },
    /// A call that could not be proposed, by the name of its tool.
    Tool(String),
    /// A call of a tool that does not exist. Any successful call of a tool repairs it.
    Unknown,
    /// The answer of the model.
    Answer,
}

impl TurnCall {
    /// Returns whether this action, which was not refused, repairs the refused action `failed`.
    fn is_repair_of(&self, failed: &TurnCall) -> bool {
        match (self, failed) {
            (TurnCall::Answer, TurnCall::Answer) => true,
            (TurnCall::Answer, _) | (_, TurnCall::Answer) => false,
            (_, TurnCall::Unknown) => true,
            (
                TurnCall::Method { slot, method, fingerprint },
                TurnCall::Method { slot: other_slot, method: other, fingerprint: refused },
            ) => slot == other_slot && method == other && fingerprint != refused,
            // The tool for calling a worker has only the name of the worker's slot.
            (TurnCall::Method { slot, method, .. }, TurnCall::Tool(tool)) => {
                tool == slot || *tool == format!("{slot}_{method}")
            }
            _ => false,
        }
    }

    /// Returns whether this is the same call as `other`, with the same arguments.
    fn is_same(&self, other: &TurnCall) -> bool {
        matches!((self, other), (TurnCall::Method { fingerprint, .. }, TurnCall::Method { fingerprint: same, .. })
            if fingerprint == same)
    }
}

/// A turn in which actions were refused: the ones that are not repaired yet, and the number of tries.
struct FailedTurn {
    remaining: Vec<TurnCall>,
    attempts: usize,
}

/// The fold of one journal.
#[derive(Default)]
struct JournalFold {
    /// The model's actions in the current turn. Each has its step, and a flag for a refusal, which is `None` until
    /// the outcome is known.
    turn: Vec<(Option<u64>, TurnCall, Option<bool>)>,
    /// The model that was called last.
    model: String,
    /// Whether the model has replied in the current turn.
    has_replied: bool,
    /// The turns that can still be repaired.
    failed: Vec<FailedTurn>,
    /// The times at which a person was asked, by the step of the proposal.
    asked: BTreeMap<u64, i64>,
    /// Whether the worker's own steps have begun. Then the model's answer was accepted.
    has_own_steps: bool,
}

impl JournalFold {
    fn push(&mut self, sums: &mut StatsTotals, step: &Step) {
        match &step.entry {
            Entry::Prompted { model, .. } => {
                self.end_turn(sums);
                self.model.clone_from(model);
            }
            Entry::Replied { usage, model, .. } => {
                self.has_replied = true;
                let one = ModelCalls {
                    calls: 1,
                    input_tokens: usage.input_tokens,
                    output_tokens: usage.output_tokens,
                    ms: usage.model_ms,
                    usd_micros: usage.usd_micros,
                    estimated_tokens: usage.estimated_tokens,
                };
                sums.stats.model.add(&one);
                sums.run_calls.add(&one);
                let model = model.as_ref().unwrap_or(&self.model);
                if sums.models.len() < MAX_RULES || sums.models.contains_key(model) {
                    sums.models.entry(model.clone()).or_default().add(&one);
                }
            }
            Entry::Rejected { site, findings } => {
                sums.stats.calls.rejected += u64::from(site.is_some());
                sums.rules(findings, |(_, denied)| *denied += 1);
                let call = match (site, findings.first()) {
                    (None, _) => TurnCall::Answer,
                    (Some(_), Some(Finding { rule, at: Some(tool), .. })) if rule != "tool/unknown" => {
                        TurnCall::Tool(tool.clone())
                    }
                    _ => TurnCall::Unknown,
                };
                self.turn.push((None, call, Some(true)));
            }
            Entry::Proposed { site, proposal, fingerprint, replaces } => {
                // A proposal that replaces an earlier one is the same call of the model.
                let before =
                    replaces.and_then(|old| self.turn.iter().position(|(at, _, _)| *at == Some(old)));
                before.map(|at| self.turn.swap_remove(at));
                sums.stats.calls.proposed += u64::from(replaces.is_none());
                match site {
                    CallSite::Turn { .. } => {
                        let call = TurnCall::Method {
                            slot: proposal.slot.clone(),
                            method: proposal.method.clone(),
                            fingerprint: *fingerprint,
                        };
                        self.turn.push((Some(step.number), call, None));
                    }
                    CallSite::Then { .. } | CallSite::Write { .. } | CallSite::Direct { .. } => {
                        self.has_own_steps = true
                    }
                }
            }
            Entry::Judged { proposal, verdict, message } => {
                let calls = &mut sums.stats.calls;
                match verdict.decision {
                    Decision::Allow => calls.allowed += 1,
                    Decision::Ask if message.is_none() => calls.allowed += 1,
                    Decision::Ask => {
                        calls.asked += 1;
                        self.asked.insert(*proposal, step.at_ms);
                        sums.rules(&verdict.findings, |(asked, _)| *asked += 1);
                    }
                    Decision::Deny => {
                        calls.denied += 1;
                        sums.rules(&verdict.findings, |(_, denied)| *denied += 1);
                    }
                }
            }
            Entry::OutcomeUnknown { proposal, .. } => {
                self.asked.insert(*proposal, step.at_ms);
            }
            Entry::Answered { proposal, approved, .. } => {
                if let Some(asked) = self.asked.remove(proposal) {
                    let approvals = &mut sums.stats.approvals;
                    *(if *approved { &mut approvals.approved } else { &mut approvals.denied }) += 1;
                    if sums.answered_ms.len() < MAX_ANSWERS {
                        sums.answered_ms.push(step.at_ms.saturating_sub(asked).max(0).unsigned_abs());
                    }
                }
            }
            Entry::Completed { proposal, completion } => {
                self.asked.remove(proposal);
                // A look-up that found nothing is no mistake of the model.
                let refused = matches!(completion, Completion::Refused(all) if !worker::are_answers(all));
                if let Some(call) = self.turn.iter_mut().find(|(at, _, _)| *at == Some(*proposal)) {
                    call.2 = Some(refused);
                }
            }
            _ => {}
        }
    }

    /// Ends a turn. The model was called again, or never will be, so its actions in this turn are complete.
    fn end_turn(&mut self, sums: &mut StatsTotals) {
        let turn = std::mem::take(&mut self.turn);
        let replied = std::mem::take(&mut self.has_replied);
        if !replied {
            return;
        }
        let good: Vec<&TurnCall> =
            turn.iter().filter(|(_, _, how)| *how == Some(false)).map(|(_, call, _)| call).collect();
        for failed in &mut self.failed {
            failed.remaining.retain(|left| !good.iter().any(|call| call.is_repair_of(left)));
            // A turn that only repeats the refused calls does not count as a try.
            let only_again = !turn.is_empty()
                && turn.iter().all(|(_, call, _)| failed.remaining.iter().any(|left| call.is_same(left)));
            failed.attempts += usize::from(!only_again);
        }
        let repairs = &mut sums.stats.repairs;
        self.failed.retain(|failed| {
            repairs.repaired += u64::from(failed.remaining.is_empty());
            !failed.remaining.is_empty() && failed.attempts < MAX_REPAIRS
        });
        let refused = turn.into_iter().filter(|(_, _, how)| *how == Some(true));
        let left: Vec<TurnCall> = refused.map(|(_, call, _)| call).collect();
        if !left.is_empty() {
            repairs.turns += 1;
            self.failed.push(FailedTurn { remaining: left, attempts: 0 });
        }
    }

    /// Ends the fold at the end of the journal.
    fn end(mut self, sums: &mut StatsTotals, run: &Run) {
        let done = matches!(run.state, State::Finished { outcome: RunOutcome::Done(_) });
        // An accepted answer has no step of its own. It shows in the outcome, or in the worker's own steps.
        if self.has_replied && self.turn.is_empty() && (done || self.has_own_steps) {
            self.turn.push((None, TurnCall::Answer, Some(false)));
        }
        self.end_turn(sums);
        if !run.is_finished() {
            sums.stats.repairs.open += self.failed.len() as u64;
        }
        sums.stats.approvals.open += if run.is_finished() { 0 } else { self.asked.len() as u64 };
        count_run(&mut sums.stats.runs, run);
        if !run.is_agent_journal() && (sums.workers.len() < MAX_RULES || sums.workers.contains_key(&run.name))
        {
            let worker = sums.workers.entry(run.name.clone()).or_default();
            worker.worker.clone_from(&run.name);
            count_run(&mut worker.runs, run);
            worker.model.add(&sums.run_calls);
        }
    }
}

/// Counts a run by its state.
fn count_run(runs: &mut Runs, run: &Run) {
    let counted = match &run.state {
        State::Finished { outcome: RunOutcome::Done(_) } => &mut runs.done,
        State::Finished { .. } if run.cancelled.is_some() => &mut runs.cancelled,
        State::Finished { .. } => &mut runs.failed,
        State::Waiting => &mut runs.waiting,
        State::Stalled { .. } => &mut runs.stalled,
        State::Ready => &mut runs.working,
    };
    *counted += 1;
}

#[cfg(test)]
mod tests {
    use kernel::BlobHash;
    use kernel::run::{Trouble, Usage};
    use passable::Untrusted;

    use super::*;

    /// One action of a model in a turn.
    #[derive(Clone, Copy)]
    enum Does {
        /// A call of `out.METHOD`, with a number that stands for its arguments. The flag tells whether the call is
        /// refused.
        Call(&'static str, u8, bool),
        /// A call of this tool that cannot be proposed.
        Malformed(&'static str),
        /// A call of a tool that does not exist.
        NoTool,
        /// An answer that is rejected.
        BadAnswer,
        /// An answer that is accepted.
        Answer,
    }
    use Does::{Answer, BadAnswer, Call as Makes, Malformed, NoTool};

    fn fold(turns: &[&[Does]], state: State) -> Stats {
        let mut sums = StatsTotals::default();
        let mut journal = JournalFold::default();
        let mut number = 0;
        let mut add = |entry: Entry| {
            number += 1;
            let step = Step { number, at_ms: 0, entry, provenance: Default::default() };
            journal.push(&mut sums, &step);
            number
        };
        let hash = BlobHash([0; 32]);
        for turn in turns {
            let prompted = add(Entry::Prompted { request: hash, model: "m".to_owned() });
            let usage =
                Usage { input_tokens: 10, output_tokens: 1, model_ms: 5, usd_micros: 7, ..Usage::default() };
            let replied = add(Entry::Replied { prompted, reply: hash, usage, model: None });
            for (index, does) in turn.iter().enumerate() {
                let site = CallSite::Turn { replied, index, id: String::new() };
                let finding = Finding::new("tool/json", "it is none");
                match does {
                    Makes(method, arguments, refused) => {
                        let fingerprint = Fingerprint(BlobHash([*arguments; 32]));
                        let proposal = Box::new(kernel::proposal::Proposal {
                            principal: kernel::FormulaId { number: [0; 32], node: [0; 32] },
                            run: kernel::RunNumber(1),
                            grant: kernel::FormulaId { number: [0; 32], node: [0; 32] },
                            slot: "out".to_owned(),
                            method: (*method).to_owned(),
                            args: vec![],
                            effect: kernel::proposal::Effect::Modify,
                            caller: kernel::proposal::Caller::Model,
                            pins: Default::default(),
                            provenance: Default::default(),
                            traces: vec![],
                            givers: vec![],
                            place: None,
                        });
                        let proposed = add(Entry::Proposed { site, proposal, fingerprint, replaces: None });
                        let completion = match refused {
                            true => Completion::Refused(vec![finding]),
                            false => Completion::Done {
                                value: kernel::Value::null(),
                                provenance: Default::default(),
                            },
                        };
                        add(Entry::Completed { proposal: proposed, completion });
                    }
                    Malformed(tool) => {
                        let findings = vec![finding.at(*tool)];
                        add(Entry::Rejected { site: Some(site), findings });
                    }
                    NoTool => {
                        let findings = vec![Finding::new("tool/unknown", "there is none").at("name")];
                        add(Entry::Rejected { site: Some(site), findings });
                    }
                    BadAnswer => {
                        add(Entry::Rejected { site: None, findings: vec![finding] });
                    }
                    Answer => {}
                }
            }
        }
        journal.end(&mut sums, &run(state));
        sums.stats()
    }

    fn run(state: State) -> Run {
        let id = kernel::FormulaId { number: [0; 32], node: [0; 32] };
        Run {
            number: kernel::RunNumber(1),
            id,
            worker: id,
            name: "w".to_owned(),
            definition: BlobHash([0; 32]),
            includes: BTreeMap::new(),
            shape: kernel::run::Shape::Single,
            parent: None,
            depth: 0,
            model: "m".to_owned(),
            input: kernel::run::Input {
                values: kernel::Value::null(),
                attachments: vec![],
                items: vec![],
                origins: vec![],
                earlier: None,
            },
            grants: BTreeMap::new(),
            limits: Default::default(),
            used: Usage::default(),
            state,
            next_step: 1,
            result: id,
            provenance: Default::default(),
            source: kernel::MessageNumber(0),
            started_ms: 0,
            finished_ms: None,
            open: BTreeMap::new(),
            children: BTreeMap::new(),
            yielded: Default::default(),
            drive: None,
            delivery: None,
            cancelled: None,
            cancelled_by: None,
            principal: None,
            endowed_by: None,
            additions: BTreeMap::new(),
            made: Default::default(),
            given: Default::default(),
            written: 0,
            kept_since: 0,
            exhausted: None,
            questions: Default::default(),
            forgotten: false,
            has_key: false,
        }
    }

    #[test]
    fn repair_is_an_improved_call_within_three_tries() {
        let done = || State::Finished { outcome: RunOutcome::Done(kernel::Value::null()) };
        let failed = || {
            let trouble = Trouble { code: "x".to_owned(), message: Untrusted::new("x"), help: String::new() };
            State::Finished { outcome: RunOutcome::Failed(trouble) }
        };
        let bad = |n| Makes("write", n, true);
        let good = |n| Makes("write", n, false);
        let check = |turns: &[&[Does]], state: State, turns_repaired_open: (u64, u64, u64)| {
            let repairs = fold(turns, state).repairs;
            assert_eq!((repairs.turns, repairs.repaired, repairs.open), turns_repaired_open);
        };
        check(&[&[good(1)], &[Answer]], done(), (0, 0, 0));
        check(&[&[bad(1)], &[good(2)], &[Answer]], done(), (1, 1, 0));
        // Repeating the same call is no repair, even if the call then succeeds, and does not count as a try.
        check(&[&[bad(1)], &[good(1)], &[Answer]], done(), (1, 0, 0));
        check(&[&[bad(1)], &[bad(1)], &[bad(1)], &[bad(1)], &[bad(1)], &[good(2)]], failed(), (5, 5, 0));
        // A call of another method is no repair.
        check(&[&[bad(1)], &[Makes("append", 2, false)], &[Answer]], done(), (1, 0, 0));
        // The third try still counts, the fourth does not.
        check(&[&[bad(1)], &[bad(2)], &[bad(3)], &[good(4)]], failed(), (3, 3, 0));
        check(&[&[bad(1)], &[bad(2)], &[bad(3)], &[bad(4)], &[good(5)]], failed(), (4, 3, 0));
        // All refused calls of a turn must be repaired.
        check(&[&[bad(1), Makes("append", 2, true)], &[good(3)], &[Answer]], done(), (1, 0, 0));
        check(
            &[&[bad(1), Makes("append", 2, true)], &[good(3), Makes("append", 4, false)]],
            failed(),
            (1, 1, 0),
        );
        // A call that could not be proposed is matched by the name of its tool.
        check(&[&[Malformed("out_write")], &[good(1)]], failed(), (1, 1, 0));
        check(&[&[Malformed("out_append")], &[good(1)]], failed(), (1, 0, 0));
        check(&[&[Malformed("out")], &[good(1)]], failed(), (1, 1, 0));
        check(&[&[NoTool], &[good(1)]], failed(), (1, 1, 0));
        // An answer is repaired only by another answer.
        check(&[&[BadAnswer], &[Answer]], done(), (1, 1, 0));
        check(&[&[BadAnswer], &[good(1)], &[Answer]], done(), (1, 1, 0));
        check(&[&[BadAnswer], &[good(1)]], failed(), (1, 0, 0));
        // As long as the run has not ended, a repair may still follow.
        check(&[&[bad(1)], &[bad(2)]], State::Ready, (2, 0, 2));
        check(&[&[bad(1)], &[good(2)]], State::Waiting, (1, 1, 0));
    }

    #[test]
    fn calls_and_tokens_are_summed() {
        let stats = fold(
            &[&[Makes("write", 1, true), NoTool], &[BadAnswer], &[Answer]],
            State::Finished { outcome: RunOutcome::Done(kernel::Value::null()) },
        );
        assert_eq!((stats.model.calls, stats.model.input_tokens, stats.model.ms), (3, 30, 15));
        assert_eq!((stats.calls.proposed, stats.calls.rejected, stats.runs.done), (1, 1, 1));
        let rules: Vec<(&str, u64)> =
            stats.rules.iter().map(|rule| (rule.rule.as_str(), rule.denied)).collect();
        assert_eq!(rules, [("tool/json", 1), ("tool/unknown", 1)]);
    }
}
