//! `undo`: it takes back the changes that a run and its descendants made in directories.
//!
//! Only paths that are still as the run left them are put back. So asking again completes an interrupted undo, and
//! nothing is done twice.

use kernel::RunNumber;
use kernel::command::{Act, UserCommand};
use kernel::run::RestoredFile;
use passable::Untrusted;

use crate::queries::applied_changes::applied_changes;
use crate::queries::changes;
use crate::queries::changes::Change;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::undo_report::{UndoReport, UndoState};

/// Puts back the changes of a run, or previews that.
///
/// # Errors
/// When there is no such run, it is not over, or `only` names nothing that it changed.
pub fn undo(
    daemon: &HostDaemon,
    text: Untrusted,
    run: RunNumber,
    only: &[String],
    dry_run: bool,
) -> Result<UndoReport, Failure> {
    let (found, beyond) = changes::changes_of_run(daemon, run, only)?;
    let held = |_: &Change, digest: &kernel::BlobHash| daemon.store.blobs().get(digest).ok();
    let in_place = applied_changes(daemon, run)?;
    let mut tasks = changes::path_tasks(found, true, &in_place, &held);
    // A file that is only in a staged copy is not in the directory: a file that stands there is another writer's.
    tasks.retain(|task| {
        let change = &task.change;
        let is_applied = in_place
            .get(&change.full())
            .is_some_and(|there| there.is_own || there.description == change.after.description());
        change.stage.is_none() || is_applied || task.state == UndoState::Already
    });
    let files = changes::restored_files(&tasks);
    if !dry_run {
        let is_any = !files.is_empty();
        let said = |text: &Untrusted| Some(UserCommand { verb: "undo".to_owned(), text: text.clone() });
        if is_any {
            daemon.apply_as(daemon.host, said(&text), Act::Undo { run, files })?;
        }
        changes::carry_out(&mut tasks, &held);
        // This records the undo as done, and not cut off: from now on, files that stand there are not the run's.
        let files: Vec<RestoredFile> = tasks
            .iter()
            .filter(|task| task.change.stage.is_some())
            .filter(|task| task.state == UndoState::Done || in_place.contains_key(&task.change.full()))
            .filter(|task| matches!(task.state, UndoState::Done | UndoState::Already))
            .map(|task| RestoredFile { from: task.target.description(), ..task.restored_file() })
            .collect();
        if !files.is_empty() {
            daemon.apply_as(daemon.host, said(&text), Act::Undo { run, files })?;
        }
    }
    let entries = tasks.into_iter().map(changes::PathTask::entry).collect();
    Ok(UndoReport { run, dry_run, entries, beyond })
}
