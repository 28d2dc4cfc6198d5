//! A begun call that the kernel itself completes: waiting, asking, writing, or making a worker.

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::StepRef;
use crate::proposal::Proposal;
use crate::run::{Entry, Phase, Run};
use crate::state::State;
use crate::table;

/// The parts of a call that the kernel needs to complete the call.
pub(super) struct KernelCall {
    /// The step that proposed the call.
    pub(super) at: StepRef,
    /// The call's row of the outbox.
    pub(super) outbox: u64,
    /// The call as it was proposed.
    pub(super) proposal: Box<Proposal>,
}

/// Returns the call at this step, if it has begun and leads to exactly this formula.
pub(super) fn find_kernel_call(
    state: &mut State<'_>,
    run: &Run,
    step: u64,
    leads_to: &Formula,
) -> Result<KernelCall, Fault> {
    let at = StepRef { run: run.number, step };
    let Some(Phase::Executing { outbox }) = run.open.get(&step).copied() else {
        return Err(Fault::OutOfOrder { at, what: "only a call that has begun is brought to an end" });
    };
    let Entry::Proposed { proposal, .. } = state.step(at)?.entry else {
        return Err(Fault::OutOfOrder { at, what: "this step proposes nothing" });
    };
    let reached = table::reach(state.txn, &proposal.grant)?.ok_or(Fault::Dangling(proposal.grant))?;
    if reached.formula != *leads_to {
        return Err(Fault::OutOfOrder { at, what: "this call leads to something else" });
    }
    Ok(KernelCall { at, outbox, proposal })
}
