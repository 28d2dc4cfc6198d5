//! Calls that the kernel brings to their end: what has begun is only handed over to it.

use kernel::begun::Begun;
use kernel::command::Move;
use kernel::run::{Run, Trouble};

use crate::bound::{Reach, Slots};
use crate::world::World;
use crate::{alarm, question, workshop};

/// The move that hands a call over that has begun; `None` if it is for a capability to make.
pub(crate) fn handed(
    world: &dyn World,
    run: &Run,
    slots: &Slots,
    begun: &Begun,
) -> Result<Option<Move>, Trouble> {
    Ok(match slots.by_grant(&begun.proposal().grant).map(|bound| &bound.reach) {
        Some(Reach::Workshop) => Some(workshop::worker_of(world, run, slots, begun)?),
        Some(Reach::Questions) => Some(question::form_of(begun)?),
        Some(Reach::Alarm) => Some(alarm::end_of(world, begun)?),
        _ => None,
    })
}
