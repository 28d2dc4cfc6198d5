//! `undo`: what a run and all that it started changed in directories becomes what it was before.
//!
//! Only what is still as the run left it is put back. So whatever is cut off is done by asking again, and nothing is done
//! twice.

use kernel::RunNumber;
use kernel::command::{Act, Said};
use passable::Untrusted;

use super::changes::{self, Change};
use super::desk::Desk;
use crate::control::undone::Undone;
use crate::exit::Failure;

/// Puts back what a run changed, or says what that would do.
///
/// # Errors
/// When there is no such run, it is not over, or `only` names nothing that it changed.
pub fn undo(
    desk: &Desk,
    text: Untrusted,
    run: RunNumber,
    only: &[String],
    dry_run: bool,
) -> Result<Undone, Failure> {
    let (found, beyond) = changes::of_run(desk, run, only)?;
    let held = |_: &Change, digest: &kernel::BlobHash| desk.daemon.store.blobs().get(digest).ok();
    let mut tasks = changes::look(found, true, &held);
    let files = changes::to_do(&tasks);
    if !dry_run && !files.is_empty() {
        let said = Said { verb: "undo".to_owned(), text };
        desk.apply_as(desk.daemon.host, Some(said), Act::Undo { run, files })?;
        changes::carry_out(&mut tasks, &held);
    }
    let entries = tasks.into_iter().map(changes::Task::entry).collect();
    Ok(Undone { run, dry_run, entries, beyond })
}
