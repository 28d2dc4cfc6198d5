//! Calls that the kernel completes. The driver only passes a begun call to the kernel.

use kernel::command::Move;
use kernel::proposal::Finding;
use kernel::run::{Completion, Run, Trouble};
use kernel::started_effect::StartedEffect;

use crate::driver_port::DriverPort;
use crate::slot_binding::{SlotTarget, Slots};
use crate::{alarm, mail, question, workshop};

/// Returns the move that passes a begun call to the kernel, or `None` if a capability makes the call.
pub(crate) fn kernel_move(
    world: &dyn DriverPort,
    run: &Run,
    slots: &Slots,
    begun: &StartedEffect,
) -> Result<Option<Move>, Trouble> {
    let reach = slots.by_grant(&begun.proposal().grant).map(|bound| &bound.reach);
    if let (true, Some(SlotTarget::Questions | SlotTarget::Alarm | SlotTarget::Mail)) =
        (run.cancelled.is_some(), reach)
    {
        // A cancelled run must not ask a person any more.
        let finding = Finding::new("run/cancelled", "the run was cancelled");
        let completion = Completion::Refused(vec![finding]);
        return Ok(Some(Move::Complete { proposal: begun.step().step, completion }));
    }
    Ok(match reach {
        Some(SlotTarget::Workshop) => Some(workshop::worker_move(world, run, slots, begun)?),
        Some(SlotTarget::Questions) => Some(question::question_move(begun)?),
        Some(SlotTarget::Alarm) => Some(alarm::wait_move(world, begun)?),
        Some(SlotTarget::Mail) => Some(mail::message_move(slots, begun)?),
        _ => None,
    })
}
