//! Evidence: the entries that the journal must have before an effect may happen.
//!
//! A row of the outbox only claims that an effect began. After a crash, the kernel looks for the entries that led to
//! the row: a verdict, an approval if the verdict asked for one, and the step that began the effect. A row that lacks
//! one of these is refused.

use crate::command::Fault;
use crate::id::{RunNumber, StepRef};
use crate::proposal::{Decision, Fingerprint, Proposal};
use crate::query;
use crate::run::{Entry, Step};
use crate::table::{self, PermissionRow, Task};
use crate::txn::{Owner, ReadTxn, Table};

/// The number of steps that are read at a time.
const PAGE: usize = 16;

/// The journal's entries about one proposal after the step that proposed it.
#[derive(Debug, Default)]
struct ProposalRecord {
    verdict: Option<Decision>,
    approved: bool,
    begun: bool,
    /// Whether the effect began once with an unknown outcome. It begins again only if a person says so.
    doubted: bool,
}

impl ProposalRecord {
    fn load(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<ProposalRecord, Fault> {
        let mut record = ProposalRecord::default();
        for step in query::journal(txn, owner, at.run, at.step.saturating_add(1))? {
            match step.entry {
                Entry::Judged { proposal, verdict, .. } if proposal == at.step => {
                    // If there are ever two verdicts, the stricter one holds.
                    record.verdict = record.verdict.max(Some(verdict.decision));
                }
                Entry::Answered { proposal, approved, .. } if proposal == at.step => {
                    record.approved = approved;
                }
                Entry::EffectStarted { proposal, child: None } if proposal == at.step => record.begun = true,
                Entry::OutcomeUnknown { proposal, .. } if proposal == at.step => {
                    record = ProposalRecord { approved: false, begun: false, doubted: true, ..record };
                }
                _ => {}
            }
        }
        Ok(record)
    }
}

/// Returns the decision of the gates on a proposal. The journal is read only as far as that decision.
fn verdict(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<Option<Decision>, Fault> {
    let mut from = at.step.saturating_add(1);
    loop {
        let start = table::step_key(at.run, from);
        let end = table::step_key(RunNumber(at.run.0.saturating_add(1)), 0);
        let page: Vec<(Vec<u8>, Step)> = table::scan(txn, Table::Journal, owner, &start, &end, PAGE, false)?;
        for (_, step) in &page {
            if let Entry::Judged { proposal, verdict, .. } = &step.entry
                && *proposal == at.step
            {
                return Ok(Some(verdict.decision));
            }
        }
        match page.last() {
            Some((_, last)) => from = last.number.saturating_add(1),
            None => return Ok(None),
        }
    }
}

/// Refuses to begin a proposal that was not judged, or was denied. The permission is checked elsewhere.
pub(super) fn expect_judged(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<(), Fault> {
    match verdict(txn, owner, at)? {
        Some(Decision::Allow | Decision::Ask) => Ok(()),
        Some(Decision::Deny) => Err(Fault::OutOfOrder { at, what: "this proposal was refused" }),
        None => Err(Fault::OutOfOrder { at, what: "this proposal was not judged" }),
    }
}

/// Refuses to take up an effect without evidence. The row of the outbox, the judged bytes, the verdict, the approval,
/// and the step that began the effect must all exist.
pub(super) fn expect_begun(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    at: StepRef,
    (proposal, fingerprint): (&Proposal, Fingerprint),
    outbox: u64,
) -> Result<(), Fault> {
    let refuse = |what| Err(Fault::OutOfOrder { at, what });
    let row: Option<Task> = table::load(txn, Table::Outbox, owner, &table::number_key(outbox))?;
    if row != Some(Task::Effect { step: at }) {
        return refuse("no row of the outbox stands for this effect");
    }
    if proposal.fingerprint() != fingerprint || proposal.run != at.run {
        return refuse("this proposal is not the one that was judged");
    }
    expect_judged(txn, owner, at)?;
    let record = ProposalRecord::load(txn, owner, at)?;
    let permitted = match record.verdict {
        _ if record.doubted => record.approved,
        Some(Decision::Ask) => record.approved || lasting(txn, owner, fingerprint, at.run)?,
        _ => true,
    };
    match (permitted, record.begun) {
        (false, _) => refuse("nobody has permitted this effect"),
        (true, false) => refuse("this effect was never begun"),
        (true, true) => Ok(()),
    }
}

/// Returns whether a permission for the whole run covers this call. Such a permission holds until the run ends, and a
/// run with an open effect has not ended.
fn lasting(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    fingerprint: Fingerprint,
    run: RunNumber,
) -> Result<bool, Fault> {
    let key = table::permission_key(fingerprint, None);
    let row: Option<PermissionRow> = table::load(txn, Table::Permission, owner, &key)?;
    Ok(row.is_some_and(|row| row.fingerprint == fingerprint && row.proposal.is_none_or(|p| p.run == run)))
}
