//! The verb `undo`, which puts back the changes that a run and its descendants made in directories.
//!
//! Only paths that are still in the state that the run left are put back. So repeating an interrupted undo completes
//! it, and nothing is done twice.

use kernel::RunNumber;
use kernel::command::{Act, UserCommand};
use kernel::run::RestoredFile;
use passable::Untrusted;

use crate::queries::applied_changes::applied_changes;
use crate::queries::changes;
use crate::queries::changes::{Change, KeepRule, RunChanges};
use crate::runs::spool_warnings;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::undo_report::{UndoReport, UndoState};

/// The choices of the user of an undo.
#[derive(Clone, Copy)]
pub struct UndoChoice {
    /// Whether this is only a preview.
    pub dry_run: bool,
    /// Whether files are put back although the run's work in them is too large to be kept.
    pub gives_up: bool,
}

/// Puts back the changes of a run, or previews that. The content that the run left is kept, so that its changes can be
/// applied again.
///
/// # Errors
/// When there is no such run, it has not ended, or `only` names a path that it did not change.
pub fn undo(
    daemon: &HostDaemon,
    text: Untrusted,
    run: RunNumber,
    only: &[String],
    UndoChoice { dry_run, gives_up }: UndoChoice,
) -> Result<UndoReport, Failure> {
    let RunChanges { changes: found, other_effects: beyond, .. } =
        changes::changes_of_run(daemon, run, only)?;
    let held = |_: &Change, digest: &kernel::BlobHash| daemon.store.blobs().get(digest).ok();
    let in_place = applied_changes(daemon, run)?;
    let mut tasks = changes::path_tasks(found, true, &in_place, &held);
    // Changes that exist only in a staged copy are left out. A file at such a path in the real directory is another
    // writer's.
    tasks.retain(|task| {
        let change = &task.change;
        let is_applied = in_place
            .get(&change.full())
            .is_some_and(|there| there.is_own || there.description == change.after.description());
        change.stage.is_none() || is_applied || task.state == UndoState::Already
    });
    spool_warnings::guard(daemon, &mut tasks, only, "puts it back")?;
    // The bytes are stored before the entry that names them, and that before any file is touched. So a killed daemon
    // loses nothing.
    let bytes = daemon.store.blobs().hold();
    changes::keep_present(daemon, &mut tasks, KeepRule::Undo { gives_up, dry_run })?;
    let files = changes::restored_files(&tasks);
    if !dry_run {
        let said = |text: &Untrusted| Some(UserCommand { verb: "undo".to_owned(), text: text.clone() });
        if !files.is_empty() {
            daemon.apply_as(daemon.host, said(&text), Act::Undo { run, files })?;
        }
        drop(bytes);
        changes::carry_out(&mut tasks, true, &in_place, &held);
        // This records the undo as completed. From now on, files at these paths no longer count as the run's.
        let files: Vec<RestoredFile> = tasks
            .iter()
            .filter(|task| task.change.stage.is_some())
            .filter(|task| task.state == UndoState::Done || in_place.get(&task.change.full()).is_some())
            .filter(|task| matches!(task.state, UndoState::Done | UndoState::Already))
            .map(|task| RestoredFile { from: task.target.description(), mode: None, ..task.restored_file() })
            .collect();
        if !files.is_empty() {
            daemon.apply_as(daemon.host, said(&text), Act::Undo { run, files })?;
        }
    }
    let entries = tasks.into_iter().map(changes::PathTask::entry).collect();
    Ok(UndoReport { run, dry_run, entries, beyond, unappliable: vec![] })
}
