//! The history of approval requests: how often the same was asked, the answers, and a rule that would make the
//! question unnecessary.
//!
//! The proposal behind a message never changes. So it is looked up once and kept in memory, for each host. Answers
//! are read when they are needed.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Mutex, PoisonError};

use kernel::command::Fault;
use kernel::formula::Formula;
use kernel::message::{Answer, Body};
use kernel::proposal::{Effect, Lift, Proposal, Verdict};
use kernel::run::{Entry, Run, WaitReason};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{BlobHash, FormulaId, MessageNumber, RunNumber, StepRef, query, table};

use super::threads;
use crate::state::daemon::HostDaemon;
use config::policy_file;
use control::exit::Failure;
use control::show::approval_count::{ApprovalCount, RuleSuggestion};

/// The number of messages that are searched, beginning with the newest. Older messages do not count.
const MAX_MESSAGES_BACK: u64 = 5_000;

/// The maximum number of earlier questions that are counted.
const MAX_ANSWERS: usize = 1_000;

/// The name of the rule by which a worker file asks for approvals.
const WORKER_FILE_RULE: &str = "effects/asked-for";

/// The asker of a question, for the purpose of counting.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AskScope {
    /// Any run of a worker with this file.
    Worker(BlobHash),
    /// Any run of the family that begins with this run.
    Family(RunNumber),
}

/// The key of a question: the asker, the method, and the target in the words of the grant.
type AskKey = (AskScope, String, String);

/// The approval history of all hosts.
#[derive(Default)]
pub struct ApprovalHistory(Mutex<BTreeMap<FormulaId, HostApprovals>>);

/// The approval history of one host.
#[derive(Default)]
struct HostApprovals {
    /// The number of the first message that is not in the index yet.
    next: Option<MessageNumber>,
    /// The questions by key, oldest first. Each is a message, and the index of its entry.
    asks: BTreeMap<AskKey, Vec<(MessageNumber, usize)>>,
}

/// A call that a card asks about.
pub struct CardCall<'a> {
    /// The proposal.
    pub proposal: &'a Proposal,
    /// The verdict of the gates.
    pub verdict: Option<&'a Verdict>,
    /// The target of the call, in the words of the card.
    pub target: String,
}

impl ApprovalHistory {
    /// Returns counts of the earlier questions about these calls of a run. Calls with the same method and target are
    /// counted once.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn earlier_asks(
        &self,
        daemon: &HostDaemon,
        message: MessageNumber,
        run: &Run,
        calls: &[CardCall<'_>],
    ) -> Result<Vec<ApprovalCount>, Failure> {
        let mut all: Vec<ApprovalCount> = Vec::new();
        for call in calls {
            let (slot, method) = (&call.proposal.slot, &call.proposal.method);
            if all.iter().any(|one| (&one.slot, &one.method, &one.target) == (slot, method, &call.target)) {
                continue;
            }
            let at: BTreeSet<(MessageNumber, usize)> = self.ask_positions(daemon, run, call.proposal)?;
            let at: Vec<_> =
                at.into_iter().filter(|(number, _)| *number < message).rev().take(MAX_ANSWERS).collect();
            let Some((first, _)) = at.last().copied() else { continue };
            let (mut yes, mut no, mut since_ms) = (0, 0, 0);
            daemon.read(|txn| {
                for (number, entry) in &at {
                    let Some(mail) = threads::mailbox_row(txn, &daemon.host, *number)? else { continue };
                    if *number == first {
                        since_ms = mail.envelope.sent_ms;
                    }
                    match mail.answers.get(entry) {
                        Some(Answer::Approved { .. }) => yes += 1,
                        Some(Answer::Denied { .. }) => no += 1,
                        _ => {}
                    }
                }
                Ok(())
            })?;
            all.push(ApprovalCount {
                slot: slot.clone(),
                method: method.clone(),
                target: call.target.clone(),
                worker: run.name.clone(),
                times: at.len() as u64,
                yes,
                no,
                since_ms,
                instead: daemon.query(|txn| rule_suggestion(txn, daemon, run, call))?,
            });
        }
        Ok(all)
    }

    /// Returns the earlier questions about the same call, by the same worker or by a run of the same family.
    fn ask_positions(
        &self,
        daemon: &HostDaemon,
        run: &Run,
        proposal: &Proposal,
    ) -> Result<BTreeSet<(MessageNumber, usize)>, Failure> {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let index = all.entry(daemon.host).or_default();
        index.catch_up(daemon)?;
        let keys = daemon.read(|txn| ask_keys(txn, daemon, run, proposal))?;
        Ok(keys.iter().filter_map(|key| index.asks.get(key)).flatten().copied().collect())
    }
}

impl HostApprovals {
    /// Indexes the messages that have arrived since the last call.
    fn catch_up(&mut self, daemon: &HostDaemon) -> Result<(), Failure> {
        if self.next.is_none() {
            let newest = daemon.read(|txn| threads::envelopes(txn, &daemon.host, threads::ALL, true))?;
            let back = |newest: &MessageNumber| newest.message().saturating_sub(MAX_MESSAGES_BACK);
            self.next = newest.first().map(|(newest, _)| MessageNumber(back(newest)));
        }
        loop {
            let from = self.next.unwrap_or(MessageNumber(0))..threads::ALL.end;
            let page = daemon.read(|txn| threads::envelopes(txn, &daemon.host, from, false))?;
            let full = page.len() == threads::BATCH_SIZE;
            for (number, mail) in page {
                self.next = Some(number.successor());
                if mail.envelope.kind == "approval" {
                    self.add(daemon, number)?;
                }
            }
            if !full {
                return Ok(());
            }
        }
    }

    fn add(&mut self, daemon: &HostDaemon, number: MessageNumber) -> Result<(), Failure> {
        let found = daemon.read(|txn| {
            let Some(letter) = query::message(txn, &daemon.host, number)? else { return Ok(vec![]) };
            let Some(Body::Approval { run, entries }) = letter.body() else { return Ok(vec![]) };
            let Some(run) = table::run(txn, &daemon.host.number, *run)? else { return Ok(vec![]) };
            let mut found = Vec::new();
            for (at, asked) in entries.iter().enumerate() {
                if let Some(proposal) = proposal(txn, daemon, asked.proposal)? {
                    found.extend(ask_keys(txn, daemon, &run, &proposal)?.into_iter().map(|key| (key, at)));
                }
            }
            Ok(found)
        })?;
        for (key, at) in found {
            self.asks.entry(key).or_default().push((number, at));
        }
        Ok(())
    }
}

fn proposal(txn: &mut dyn ReadTxn, daemon: &HostDaemon, at: StepRef) -> Result<Option<Proposal>, StoreFault> {
    Ok(match table::step(txn, &daemon.host.number, at)?.map(|step| step.entry) {
        Some(Entry::Proposed { proposal, .. }) => Some(*proposal),
        _ => None,
    })
}

/// Returns the keys under which a call is counted: one for its worker, if it has one, and one for the family of its
/// run.
fn ask_keys(
    txn: &mut dyn ReadTxn,
    daemon: &HostDaemon,
    run: &Run,
    proposal: &Proposal,
) -> Result<Vec<AskKey>, StoreFault> {
    let grant = table::grant(txn, &proposal.grant)?;
    let target = grant.map_or_else(String::new, |grant| match grant.attenuation.staged_from {
        Some(real) => format!("staged {real}"),
        None => grant.words,
    });
    let mut root = (run.number, run.parent);
    while let Some(parent) = root.1 {
        match table::run(txn, &daemon.host.number, parent.run)? {
            Some(above) => root = (above.number, above.parent),
            None => break,
        }
    }
    let key = |by: AskScope| (by, proposal.method.clone(), target.clone());
    // A journal of an agent has no worker file that could identify the asker.
    let worker = (!run.is_agent_journal()).then_some(AskScope::Worker(run.definition));
    Ok(worker.into_iter().chain([AskScope::Family(root.0)]).map(key).collect())
}

/// Returns a rule that would make the question unnecessary, or the reason why no rule can.
fn rule_suggestion(
    txn: &mut dyn ReadTxn,
    daemon: &HostDaemon,
    run: &Run,
    call: &CardCall<'_>,
) -> Result<RuleSuggestion, Fault> {
    let CardCall { proposal, verdict, .. } = call;
    let nothing = |why: &str| Ok(RuleSuggestion::Nothing { why: why.to_owned() });
    let reached = table::reach(txn, &proposal.grant)?;
    let formula = reached.as_ref().map(|reached| &reached.formula);
    if proposal.effect == Effect::Commit {
        return nothing("it sends, and what is seen outside cannot be taken back");
    }
    if formula == Some(&Formula::Workshop) {
        return nothing("it makes workers, and so adds to what this run can do");
    }
    let by_file =
        |verdict: &&Verdict| verdict.findings.iter().any(|finding| finding.rule == WORKER_FILE_RULE);
    let lift = verdict.and_then(|verdict| verdict.lift);
    if lift != Some(Lift::Endowment) {
        return nothing(match verdict.filter(by_file) {
            Some(_) => "the worker's own file wants you to be asked about it (`approve`)",
            None => "what the gates say of it is lifted by a yes to exactly this call and by nothing else",
        });
    }
    if let Some(rule) = allow_argument(txn, daemon, run, proposal)? {
        return Ok(RuleSuggestion::Allow { rule });
    }
    let (Some(formula), Some(grant)) = (formula, reached.as_ref().and_then(|reached| reached.grant())) else {
        return nothing("what it is made on is gone");
    };
    let subject = caps::subject(formula, &grant);
    match policy_file::permit(&run.name, &subject, &proposal.method) {
        Some(policy) => Ok(RuleSuggestion::Permit { policy }),
        None => nothing("what it holds was handed on to it, and no policy can speak of that"),
    }
}

/// Returns the argument of `--allow` for a method of a run's slot. It begins with the slots through which the run's
/// worker was called. Returns `None` if another run, and not the user, gave the run its slot.
fn allow_argument(
    txn: &mut dyn ReadTxn,
    daemon: &HostDaemon,
    run: &Run,
    proposal: &Proposal,
) -> Result<Option<String>, Fault> {
    let mut names = vec![proposal.slot.clone(), proposal.method.clone()];
    let (mut at, mut grant) = (run.clone(), proposal.grant);
    if at.is_agent_journal() {
        return Ok(None);
    }
    while let Some(parent) = at.parent {
        let Some(above) = table::run(txn, &daemon.host.number, parent.run)? else { return Ok(None) };
        // Runs of one batch have the same grants, and so has a run that a worker started by calling itself.
        if let Some((slot, _)) = above.grants.iter().find(|(_, id)| **id == grant) {
            slot.clone_into(&mut names[0]);
            at = above;
            continue;
        }
        let WaitReason::Call { proposal: step } = parent.place else { return Ok(None) };
        let site = StepRef { run: above.number, step };
        let Some(call) = self::proposal(txn, daemon, site)? else { return Ok(None) };
        let worker = table::reach(txn, &call.grant)?.map(|reached| reached.formula);
        if !matches!(worker, Some(Formula::Worker { made_by: None, .. })) {
            return Ok(None);
        }
        names.insert(0, call.slot.clone());
        (at, grant) = (above, call.grant);
    }
    Ok(Some(names.join(".")))
}
