//! Calls that the kernel completes: once one has begun, the driver only passes it to the kernel.

use kernel::begun::Begun;
use kernel::command::Move;
use kernel::proposal::Finding;
use kernel::run::{Completion, Run, Trouble};

use crate::bound::{Reach, Slots};
use crate::world::World;
use crate::{alarm, mail, question, workshop};

/// Returns the move that passes a begun call to the kernel; `None` if a capability makes the call.
pub(crate) fn handed(
    world: &dyn World,
    run: &Run,
    slots: &Slots,
    begun: &Begun,
) -> Result<Option<Move>, Trouble> {
    let reach = slots.by_grant(&begun.proposal().grant).map(|bound| &bound.reach);
    if let (true, Some(Reach::Questions | Reach::Alarm | Reach::Mail)) = (run.cancelled.is_some(), reach) {
        // A cancelled run asks no person any more.
        let finding = Finding::new("run/cancelled", "the run was cancelled");
        let completion = Completion::Refused(vec![finding]);
        return Ok(Some(Move::Complete { proposal: begun.step().step, completion }));
    }
    Ok(match reach {
        Some(Reach::Workshop) => Some(workshop::worker_of(world, run, slots, begun)?),
        Some(Reach::Questions) => Some(question::form_of(begun)?),
        Some(Reach::Alarm) => Some(alarm::end_of(world, begun)?),
        Some(Reach::Mail) => Some(mail::letter_of(slots, begun)?),
        _ => None,
    })
}
