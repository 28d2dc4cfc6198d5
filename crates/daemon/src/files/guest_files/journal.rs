//! The writing of calls to the journal of an agent.

use kernel::agent_journal::{self, CallStatus};
use kernel::command::{Act, Advance, Judgement, Move, Outcome, Reply};
use kernel::run::Completion;
use kernel::started_effect::StartedEffect;
use kernel::{FormulaId, HostRun, StepRef};

use super::gates::{FORBIDDEN_BY_HOST, refusal};
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// Returns the journal of an agent, which is made if needed.
///
/// # Errors
/// When the journal cannot be read or made.
pub(super) fn open_journal(daemon: &HostDaemon, agent: FormulaId) -> Result<HostRun, Failure> {
    if let Some(at) = daemon.read(|txn| agent_journal::journal_of(txn, &agent))? {
        return Ok(at);
    }
    // The daemon opens the journal as the root host of the store.
    match daemon.for_host(daemon.root).apply(Act::OpenAgentJournal { agent })?.reply {
        Reply::AgentJournal { at } => Ok(at),
        _ => Err(Failure::new(Exit::Failure, "the agent has no journal").help("`almoner doctor`")),
    }
}

/// Adds a step to a journal, together with the outcomes that wait to be recorded there.
pub(super) fn advance(daemon: &HostDaemon, at: HostRun, step: Move) -> Result<Outcome, Failure> {
    let daemon = daemon.for_host(at.host);
    let waited = daemon.pending_outcomes.take(at);
    if !waited.is_empty() {
        let moves = waited.into_iter().chain([step.clone()]).collect();
        match daemon.apply(Act::Advance(Advance { run: at.run, moves })) {
            Ok(outcome) => return Ok(outcome),
            // A waiting outcome no longer fits the journal. The new step alone may still fit.
            Err(failure) if failure.exit == Exit::Conflict => {}
            Err(failure) => return Err(failure),
        }
    }
    daemon.apply(Act::Advance(Advance { run: at.run, moves: vec![step] }))
}

/// The status of a call after it was proposed.
pub(super) enum ProposalStatus {
    /// The call has begun, and must be made now.
    Started(Box<StartedEffect>),
    /// The call is not made now. It was refused, it waits, or it was proposed before.
    NotStarted(StepRef),
}

/// Proposes a call in a journal, and returns its status.
pub(super) fn propose(
    daemon: &HostDaemon,
    at: HostRun,
    judgement: Judgement,
) -> Result<ProposalStatus, Failure> {
    let outcome = advance(daemon, at, Move::Propose { proposals: vec![judgement] })?;
    let step = match outcome.reply {
        Reply::Proposed { at } | Reply::AlreadyProposed { at } => at,
        _ => return Err(Failure::new(Exit::Failure, "the call was not proposed")),
    };
    let begun = outcome.begun.into_iter().find(|begun| begun.step() == step);
    Ok(begun.map_or(ProposalStatus::NotStarted(step), |begun| ProposalStatus::Started(Box::new(begun))))
}

/// Writes the waiting outcomes of read-only calls to their journals. The daemon does this about once a second, so
/// that the outcome of a finished call is soon recorded.
pub fn flush(daemon: &HostDaemon) {
    for at in daemon.pending_outcomes.journals() {
        let moves = daemon.pending_outcomes.take(at);
        if !moves.is_empty() {
            // An error is ignored. At its next start, the daemon repeats the call or records that its outcome is
            // unknown.
            drop(daemon.for_host(at.host).apply(Act::Advance(Advance { run: at.run, moves })));
        }
    }
}

/// A call that waits for the user's answer, or for another thread to make it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WaitingCall {
    /// The host whose journals have the call.
    pub host: FormulaId,
    /// The step that proposed the call.
    pub step: StepRef,
}

impl WaitingCall {
    /// Returns `Some(())` if the call is done, or `None` while it is open. If another proposal replaced the call,
    /// `self` then refers to that proposal.
    ///
    /// # Errors
    /// When the call was refused or has failed, or the store cannot be read.
    pub fn poll(&mut self, daemon: &HostDaemon) -> Result<Option<()>, Failure> {
        loop {
            match daemon.read(|txn| agent_journal::call_status(txn, &self.host.number, self.step))? {
                CallStatus::Open => return Ok(None),
                CallStatus::Completed(completion) => return completion_result(completion).map(Some),
                CallStatus::Reproposed(step) => self.step = step,
                CallStatus::Missing => return Err(Failure::new(Exit::Failure, "the call is in no journal")),
            }
        }
    }
}

/// Converts the completion of a call to the result that its caller gets.
pub(super) fn completion_result(completion: Completion) -> Result<(), Failure> {
    match completion {
        Completion::Done { .. } => Ok(()),
        Completion::Refused(findings) => Err(refusal(&findings, FORBIDDEN_BY_HOST)),
        Completion::Failed(finding) => Err(Failure::new(Exit::Failure, finding.message)),
    }
}
