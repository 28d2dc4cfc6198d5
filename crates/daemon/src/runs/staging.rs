//! Staged copies of directories. They are made when a run starts, and shown as one diff. A person then applies or
//! discards them.

use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use caps::stage::StageUse;
use caps::undo::{PathState, Undo};
use kernel::command::{Act, Target, UserCommand};
use kernel::formula::Formula;
use kernel::run::{DiscardedCopy, Entry, Run};
use kernel::table::{self, FormulaRow};
use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table};
use kernel::{BlobHash, FormulaId, RunNumber};
use passable::{Quoting, Untrusted, shell_word, visible_line};
use policy::protected::protected;

use crate::queries::applied_changes::{applied_changes, relatives};
use crate::queries::changes;
use crate::queries::changes::{Change, KeepRule, PathTask, RunChanges};
use crate::queries::runs;
use crate::runs::spool_warnings;
use crate::state::blobs;
use crate::state::daemon;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::show::difference;
use control::undo_report::{Diff, FileChange, FileDiff, Part, UndoReport, UndoState};
use resource::programs::staged_slot;
use resource::{Endowment, Resource, ResourceSpec};

/// The directory of staged copies, in the daemon's state directory.
const STAGES_DIR: &str = "stages";

/// The maximum number of bytes of differences in one answer.
const MAX_DIFF_BYTES: usize = 4 << 20;

/// The suffix of the marker file beside a copy whose run has not started yet.
const NEW_SUFFIX: &str = ".new";

/// The staged copies of a run that is about to start. They are removed if the run does not start. If the daemon dies
/// before, the next process removes them: see [`remove_abandoned`].
#[derive(Default)]
pub struct StagedCopies(RefCell<Vec<(String, PathBuf)>>);

impl StagedCopies {
    /// Makes a staged copy of a directory, and returns the target for its slot.
    ///
    /// # Errors
    /// When the directory holds too much, or the file system fails.
    pub fn stage(&self, state: &Path, slot: &str, real: &str, purpose: StageUse) -> Result<Target, Failure> {
        let stage = folder(state).join(unique_name()?);
        mark(&stage).map_err(|error| {
            Failure::of_file("write", &stage.to_string_lossy(), error)
                .help("the directory of the store's state must be writable")
        })?;
        self.0.borrow_mut().push((slot.to_owned(), stage.clone()));
        caps::stage::make(Path::new(real), &stage, purpose).map_err(|error| {
            let message = format!("slot `{slot}`: {} cannot be staged: {error}", visible_line(real));
            Failure::new(Exit::Failure, message)
                .help("stage a part of it, such as a subdirectory, or endow it with `:rw`")
        })?;
        let path = stage.to_str().map(str::to_owned);
        let path = path.ok_or_else(|| Failure::new(Exit::Failure, "the path of the store is not UTF-8"))?;
        Ok(Target::Resource(Resource::directory(path)))
    }

    /// Returns the directory of the copy that was made for a slot.
    pub fn path(&self, slot: &str) -> Option<String> {
        let copies = self.0.borrow();
        let (_, stage) = copies.iter().find(|(staged, _)| staged == slot)?;
        stage.to_str().map(str::to_owned)
    }

    /// Keeps the copies, because the run has started.
    pub fn keep(&self) {
        self.0.borrow_mut().drain(..).for_each(|(_, stage)| unmark(&stage));
    }
}

impl Drop for StagedCopies {
    fn drop(&mut self) {
        for (_, stage) in self.0.borrow().iter() {
            caps::stage::remove(stage);
            unmark(stage);
        }
    }
}

/// Returns the directory of staged copies, with all links followed: a grant names a copy by a path without links.
fn folder(state: &Path) -> PathBuf {
    fs::canonicalize(state).unwrap_or_else(|_| state.to_owned()).join(STAGES_DIR)
}

/// Returns the path of a copy's marker file, which exists while the copy's run has not started.
fn marker(stage: &Path) -> PathBuf {
    let mut name = stage.as_os_str().to_owned();
    name.push(NEW_SUFFIX);
    name.into()
}

/// Returns the unique name that this process writes into its marker files.
fn process_mark() -> &'static str {
    static MARK: OnceLock<String> = OnceLock::new();
    MARK.get_or_init(|| unique_name().unwrap_or_default())
}

/// Returns a random name.
fn unique_name() -> Result<String, Failure> {
    let mut random = [0; 16];
    daemon::random(&mut random)?;
    Ok(random.iter().map(|byte| format!("{byte:02x}")).collect())
}

/// Writes the marker file of a copy, before the copy is made.
fn mark(stage: &Path) -> std::io::Result<()> {
    if let Some(folder) = stage.parent() {
        fs::create_dir_all(folder)?;
    }
    fs::write(marker(stage), process_mark())
}

fn unmark(stage: &Path) {
    // If the marker stays, the next process checks the copy and finds its run.
    let _ = fs::remove_file(marker(stage));
}

/// Removes copies that an earlier process made for runs that never started.
pub fn remove_abandoned(daemon: &HostDaemon) {
    let Ok(entries) = fs::read_dir(folder(daemon.state())) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let Some(stage) = path.to_str().and_then(|path| path.strip_suffix(NEW_SUFFIX)) else { continue };
        if fs::read_to_string(&path).is_ok_and(|process| process == process_mark()) {
            continue;
        }
        match daemon.read(|txn| is_referenced(txn, stage)) {
            Ok(true) => {}
            Ok(false) => caps::stage::remove(Path::new(stage)),
            // The store cannot be read now, so the copies are checked again later.
            Err(_) => return,
        }
        unmark(Path::new(stage));
    }
}

/// Returns whether any formula in the store has this directory.
fn is_referenced(txn: &mut dyn ReadTxn, stage: &str) -> Result<bool, StoreFault> {
    const PAGE_SIZE: usize = 256;
    let (mut from, end) = (Vec::new(), vec![u8::MAX; 33]);
    loop {
        let page: Vec<(Vec<u8>, FormulaRow)> =
            table::scan(txn, Table::Formula, &NO_OWNER, &from, &end, PAGE_SIZE, false)?;
        let leads = |row: &FormulaRow| matches!(&row.formula, Formula::Resource(Resource::Directory { path, .. }) if path == stage);
        if page.iter().any(|(_, row)| leads(row)) {
            return Ok(true);
        }
        match page.last() {
            Some((last, _)) if page.len() == PAGE_SIZE => from = [last, &[0][..]].concat(),
            _ => return Ok(false),
        }
    }
}

/// Checks that no other slot of the run reaches the directory of a staged copy. Two copies would overwrite each
/// other. A change past the copy would look like another writer's change.
///
/// # Errors
/// When the directory of a staged slot equals, contains or is inside that of another slot.
pub fn check_apart<'a>(given: impl Iterator<Item = &'a Endowment>) -> Result<(), Failure> {
    let mut places: Vec<(&str, bool, PathBuf)> = Vec::new();
    for Endowment { slot, fill, .. } in given {
        match fill {
            ResourceSpec::Path(path) => places.push((slot, path.stage, canonical(&path.path))),
            ResourceSpec::Program(program) => {
                // A program in a staged copy does not reach the directory itself.
                let directories = program.directories.iter().filter(|(path, _)| staged_slot(path).is_none());
                places.extend(directories.map(|(path, _)| (slot.as_str(), false, canonical(path))));
            }
            ResourceSpec::Git(git) => places.push((slot, false, canonical(&git.path))),
            _ => {}
        }
    }
    for (slot, _, place) in places.iter().filter(|(_, is_staged, _)| *is_staged) {
        let meets = |other: &Path| other.starts_with(place) || place.starts_with(other);
        if let Some((other, _, there)) = places.iter().find(|(name, _, at)| name != slot && meets(at)) {
            let message = format!(
                "slot `{}` is staged, and slot `{}` reaches the same directory: {}",
                visible_line(slot),
                visible_line(other),
                visible_line(&there.to_string_lossy())
            );
            return Err(Failure::new(Exit::Usage, message).help(
                "bind the two to directories apart from each other, or leave out `:stage`; what is staged is put in \
                 place over what nobody else changes",
            ));
        }
    }
    Ok(())
}

/// Returns a path with the links in its existing part followed.
fn canonical(path: &str) -> PathBuf {
    let path = Path::new(path);
    let found = path.ancestors().find_map(|there| {
        let rest = path.strip_prefix(there).ok()?;
        let real = std::fs::canonicalize(there).ok()?;
        Some(real.join(rest))
    });
    found.unwrap_or_else(|| path.to_owned())
}

/// The changes of a run in staged copies.
struct StagedChanges {
    changes: Vec<Change>,
    other_effects: Vec<Untrusted>,
    /// The changes in copies that cannot be applied, such as symbolic links that a program made.
    unappliable: Vec<Untrusted>,
    /// The directories of the copies.
    copies: BTreeSet<PathBuf>,
}

/// Returns the directories of a run's staged copies, whether they still exist or not.
pub fn copies(daemon: &HostDaemon, run: &Run) -> Vec<PathBuf> {
    let staged = |grant: &FormulaId| match daemon.grant(grant).ok()? {
        (grant, Formula::Resource(Resource::Directory { path, .. })) => {
            grant.attenuation.staged_from.map(|_| path.into())
        }
        _ => None,
    };
    run.grants.values().filter_map(staged).collect()
}

fn is_discarded(daemon: &HostDaemon, run: RunNumber) -> Result<bool, Failure> {
    let mut is_discarded = false;
    runs::for_each_step(daemon, run, 1, |step| {
        is_discarded |= matches!(&step.entry, Entry::Discarded { files } if files.is_empty());
        !is_discarded
    })?;
    Ok(is_discarded)
}

/// Returns the staged copies of a run, which were not discarded as a whole.
fn present_copies(daemon: &HostDaemon, run: RunNumber) -> Result<BTreeSet<PathBuf>, Failure> {
    let found = runs::load_run(daemon, run)?;
    let copies: BTreeSet<PathBuf> = copies(daemon, &found).into_iter().collect();
    if copies.is_empty() {
        return Err(Failure::new(Exit::NotFound, Quoting::ours(format!("{run} has no staged copy")))
            .help("changes are staged for slots that are endowed with `-e SLOT=PATH:stage`"));
    }
    if is_discarded(daemon, run)? {
        return Err(Failure::new(Exit::Conflict, format!("the staged copy of {run} was thrown away"))
            .help(format!("see `almoner trace {run}`")));
    }
    Ok(copies)
}

/// Returns the changes of a run in staged copies that were not discarded.
fn staged_changes(daemon: &HostDaemon, run: RunNumber, only: &[String]) -> Result<StagedChanges, Failure> {
    let copies = present_copies(daemon, run)?;
    let RunChanges { mut changes, other_effects, unappliable } = changes::changes_of_run(daemon, run, only)?;
    let thrown_away = discarded_files(daemon, run)?;
    changes.retain_mut(|change| {
        match thrown_away.get(&change.full()) {
            Some(None) => return false,
            Some(Some(left)) => change.after = PathState::File(*left),
            None => {}
        }
        change.stage.is_some()
    });
    Ok(StagedChanges { changes, other_effects, unappliable, copies })
}

/// Returns the files with discarded changes, by absolute path, in the staged copies of a run, its descendants and its
/// ancestors. The value is the hash of the remaining content, or `None` if all changes were discarded.
fn discarded_files(
    daemon: &HostDaemon,
    run: RunNumber,
) -> Result<BTreeMap<String, Option<BlobHash>>, Failure> {
    let mut entries = Vec::new();
    for one in relatives(daemon, run)? {
        runs::for_each_step(daemon, one, 1, |step| {
            if let Entry::Discarded { files } = step.entry {
                entries.push((step.at_ms, files));
            }
            true
        })?;
    }
    entries.sort_by_key(|(at_ms, _)| *at_ms);
    Ok(entries.into_iter().flat_map(|(_, files)| files).map(|file| (file.path, file.left)).collect())
}

/// Returns the bytes of a file from the staged copy, or the stored remainder after a partial discard.
fn staged_bytes(daemon: &HostDaemon, change: &Change, digest: &BlobHash) -> Option<Vec<u8>> {
    let copied = || Undo::open_copy(change.stage.as_deref()?).ok()?.bytes(&change.path, digest);
    copied().or_else(|| daemon.store.blobs().get(digest).ok())
}

/// Returns all staged changes of a run as one diff.
///
/// # Errors
/// When the run has no staged copy, has not ended, or `only` names a path that it did not change.
pub fn diff(daemon: &HostDaemon, run: RunNumber, only: &[String]) -> Result<Diff, Failure> {
    let StagedChanges { changes, unappliable, .. } = staged_changes(daemon, run, only)?;
    let in_place = applied_changes(daemon, run)?;
    let mut tasks = changes::path_tasks(changes, false, &in_place, &|change, digest| {
        staged_bytes(daemon, change, digest)
    });
    guard_protected(&mut tasks, only);
    spool_warnings::guard(daemon, &mut tasks, only, "applies it")?;
    changes::hold_back_moves(&mut tasks);
    let (mut files, mut shown) = (Vec::new(), 0);
    // The files are sorted by their paths.
    tasks.sort_by_key(|task| task.change.full());
    let made: Vec<FileChange> = tasks.iter().map(|task| file_change(task, &tasks)).collect();
    for (task, became) in tasks.into_iter().zip(made) {
        let text = if shown > MAX_DIFF_BYTES {
            format!(
                "(not shown: there is too much; `almoner diff {run} --only {}`)\n",
                path_word(&task.change.path)
            )
        } else if matches!(task.target, PathState::File(_)) && file_versions(daemon, &task).1.is_none() {
            format!(
                "(not shown: the content that the run left in {} is gone)\n",
                visible_line(&task.change.path)
            )
        } else {
            diff_lines(daemon, &task)
        };
        shown += text.len();
        let applied = in_place
            .get(&task.change.full())
            .is_some_and(|there| there.is_own && there.description == task.target.description());
        let against_now = match task.state {
            UndoState::Conflict { .. } if shown <= MAX_DIFF_BYTES => {
                conflict_diff(daemon, &task).map(Untrusted::new)
            }
            _ => None,
        };
        shown += against_now.as_ref().map_or(0, |text| text.raw().len());
        let text = Untrusted::new(text);
        files.push(FileDiff { text, entry: task.entry(), applied, became, against_now });
    }
    Ok(Diff { run, files, unappliable })
}

/// Returns the kind of change that the run made at a path. For a moved file, each end names the other.
fn file_change(task: &PathTask, all: &[PathTask]) -> FileChange {
    let gone =
        |task: &PathTask| task.target == PathState::Nothing && matches!(task.expected, PathState::File(_));
    let come =
        |task: &PathTask| task.expected == PathState::Nothing && matches!(task.target, PathState::File(_));
    let moved = |is: &dyn Fn(&PathTask) -> bool| {
        let together = |other: &&PathTask| {
            other.change.root == task.change.root && !other.change.steps.is_disjoint(&task.change.steps)
        };
        let other = all.iter().filter(together).find(|other| is(other))?;
        Some(Untrusted::new(other.change.full()))
    };
    if gone(task) {
        moved(&come).map_or(FileChange::Removed, |path| FileChange::MovedTo { path })
    } else if come(task) {
        moved(&gone).map_or(FileChange::New, |path| FileChange::MovedFrom { path })
    } else {
        match (task.expected, task.target) {
            (PathState::Nothing, _) => FileChange::New,
            (_, PathState::Nothing) => FileChange::Removed,
            _ => FileChange::Changed,
        }
    }
}

/// Returns the difference between the present state of a path and the run's version. Returns `None` if the path
/// cannot be read.
fn conflict_diff(daemon: &HostDaemon, task: &PathTask) -> Option<String> {
    let root = Undo::open(&task.change.root).ok()?;
    let now = root.look(&task.change.path).ok()?;
    let there = match now {
        PathState::File(digest) => Some(root.bytes(&task.change.path, &digest)?),
        _ => None,
    };
    let (_, new) = file_versions(daemon, task);
    Some(difference::unified(
        &task.change.path,
        (now == PathState::Directory, there.as_deref()),
        (task.target == PathState::Directory, new.as_deref()),
    ))
}

fn diff_lines(daemon: &HostDaemon, task: &PathTask) -> String {
    let (old, new) = file_versions(daemon, task);
    difference::unified(
        &task.change.path,
        (task.expected == PathState::Directory, old.as_deref()),
        (task.target == PathState::Directory, new.as_deref()),
    )
}

/// Returns the bytes of a file before and after a change, if they exist.
fn file_versions(daemon: &HostDaemon, task: &PathTask) -> (Option<Vec<u8>>, Option<Vec<u8>>) {
    let there = |digest: &BlobHash| Undo::open(&task.change.root).ok()?.bytes(&task.change.path, digest);
    let old = match task.expected {
        // After a partial application, only the file itself has the expected bytes.
        PathState::File(digest) => daemon.store.blobs().get(&digest).ok().or_else(|| there(&digest)),
        _ => None,
    };
    let new = match task.target {
        // After the change was applied, the copy may be gone, and the file itself has the bytes.
        PathState::File(digest) => staged_bytes(daemon, &task.change, &digest).or_else(|| there(&digest)),
        _ => None,
    };
    (old, new)
}

/// The selection of the hunks of a file to keep.
#[derive(Clone, Copy, PartialEq, Eq)]
enum HunkSelection {
    /// The named hunks.
    Named,
    /// All hunks but the named ones.
    Others,
}

/// Reduces the change of each named file to the named hunks, or to the other ones. Returns the resulting contents, by
/// their digests.
///
/// # Errors
/// When a file cannot be applied or has no hunks, or its diff is not the one that was shown.
fn keep_hunks(
    daemon: &HostDaemon,
    tasks: &mut [PathTask],
    parts: &[Part],
    which: HunkSelection,
) -> Result<BTreeMap<BlobHash, Vec<u8>>, Failure> {
    let mut made = BTreeMap::new();
    for part in parts {
        let task = tasks.iter_mut().find(|task| task.change.full() == part.path);
        let open = task.filter(|task| task.state == UndoState::Would);
        let task = open.ok_or_else(|| {
            Failure::new(Exit::Conflict, format!("`{}` is not there to be applied", visible_line(&part.path)))
                .help("look at the diff again: nothing was done")
        })?;
        if BlobHash::of(diff_lines(daemon, task).as_bytes()) != part.shown {
            let message = format!("the diff of `{}` is not what was shown", visible_line(&part.path));
            return Err(
                Failure::new(Exit::Conflict, message).help("look at the diff again: nothing was done")
            );
        }
        let (old, new) = file_versions(daemon, task);
        let text = |side: Option<Vec<u8>>| side.and_then(|bytes| String::from_utf8(bytes).ok());
        let (Some(old), Some(new)) = (text(old), text(new)) else {
            let message =
                format!("`{}` has no parts: it comes, goes, or is no text", visible_line(&part.path));
            return Err(Failure::new(Exit::Usage, message).help("take it whole, or leave it out"));
        };
        let some = match which {
            HunkSelection::Named => difference::only(&old, &new, &part.hunks),
            HunkSelection::Others => difference::without(&old, &new, &part.hunks),
        };
        let some = some.ok_or_else(|| {
            Failure::new(Exit::Usage, format!("`{}` has no such part", visible_line(&part.path)))
                .help("parts are counted from 1, as the diff shows them")
        })?;
        let digest = BlobHash::of(some.as_bytes());
        task.target = PathState::File(digest);
        made.insert(digest, some.into_bytes());
    }
    Ok(made)
}

/// Applies the changes of a run from its staged copies to the real directories. For files that `parts` names, applies
/// only those parts.
///
/// # Errors
/// When the run has no staged copy, has not ended, or `only` names a path that it did not change.
pub fn apply(
    daemon: &HostDaemon,
    text: Untrusted,
    run: RunNumber,
    only: &[String],
    parts: &[Part],
) -> Result<UndoReport, Failure> {
    let StagedChanges { changes, other_effects, unappliable, copies } = staged_changes(daemon, run, only)?;
    let copied = |change: &Change, digest: &BlobHash| staged_bytes(daemon, change, digest);
    let in_place = applied_changes(daemon, run)?;
    let mut tasks = changes::path_tasks(changes, false, &in_place, &copied);
    guard_protected(&mut tasks, only);
    spool_warnings::guard(daemon, &mut tasks, only, "applies it")?;
    changes::hold_back_moves(&mut tasks);
    let made = keep_hunks(daemon, &mut tasks, parts, HunkSelection::Named)?;
    let held =
        |change: &Change, digest: &BlobHash| made.get(digest).cloned().or_else(|| copied(change, digest));
    let bytes = daemon.store.blobs().hold();
    changes::keep_present(daemon, &mut tasks, KeepRule::Apply)?;
    let files = changes::restored_files(&tasks);
    if !files.is_empty() {
        let said = UserCommand { verb: "apply".to_owned(), text };
        daemon.apply_as(daemon.host, Some(said), Act::Apply { run, files })?;
    }
    drop(bytes);
    changes::carry_out(&mut tasks, false, &in_place, &held);
    // A change that cannot be applied stays in the copy.
    let is_all = only.is_empty()
        && parts.is_empty()
        && unappliable.is_empty()
        && tasks.iter().all(|task| matches!(task.state, UndoState::Done | UndoState::Already));
    if is_all {
        copies.iter().for_each(|copy| caps::stage::remove(copy));
    }
    let entries = tasks.into_iter().map(PathTask::entry).collect();
    Ok(UndoReport { run, dry_run: false, entries, beyond: other_effects, unappliable })
}

/// Returns a path that a run chose, as a person types it in a shell.
fn path_word(path: &str) -> String {
    shell_word(&visible_line(path))
}

/// Holds back changes that a program made to files whose names say that they hold keys, or that some program obeys
/// them. No gate has judged these changes, so a person has to name each such file. It is not enough that the person
/// names the other end of its move.
fn guard_protected(tasks: &mut [PathTask], only: &[String]) {
    let is_named = |change: &Change| only.iter().any(|wanted| change.is_named(wanted));
    let open = tasks.iter_mut().filter(|task| task.change.by_program && task.state == UndoState::Would);
    for task in open.filter(|task| !is_named(&task.change)) {
        if let Some(why) = protected(&task.change.full()) {
            let why = format!(
                "a program has changed it, and {}; `--only {}` applies it",
                why.describe(),
                path_word(&task.change.path)
            );
            task.state = UndoState::Failed { why: Untrusted::new(why) };
        }
    }
}

/// Discards the changes of a run in its staged copies: all of them, or those that `only` names. For files that
/// `parts` names, discards only those parts. If everything was discarded before, only removes a copy that a crash has
/// left.
///
/// # Errors
/// When the run has no staged copy, has not ended, or `only` names a path that it did not change.
pub fn discard(
    daemon: &HostDaemon,
    text: Untrusted,
    run: RunNumber,
    only: &[String],
    parts: &[Part],
) -> Result<(), Failure> {
    let said = UserCommand { verb: "discard".to_owned(), text };
    if !only.is_empty() {
        let files = remaining_files(daemon, run, only, parts)?;
        daemon.apply_as(daemon.host, Some(said), Act::Discard { run, files })?;
        return Ok(());
    }
    let copies = if is_discarded(daemon, run)? {
        copies(daemon, &runs::load_run(daemon, run)?).into_iter().collect()
    } else {
        // A copy that cannot be read can still be thrown away.
        let copies = present_copies(daemon, run)?;
        changes::whole_family(daemon, run)?;
        daemon.apply_as(daemon.host, Some(said), Act::Discard { run, files: vec![] })?;
        copies
    };
    copies.iter().for_each(|copy| caps::stage::remove(copy));
    Ok(())
}

/// Returns the remaining contents of files after these parts are discarded, as entries of the journal. The bytes are
/// stored before any entry names them.
fn remaining_files(
    daemon: &HostDaemon,
    run: RunNumber,
    only: &[String],
    parts: &[Part],
) -> Result<Vec<DiscardedCopy>, Failure> {
    let StagedChanges { changes, .. } = staged_changes(daemon, run, only)?;
    if changes.is_empty() {
        return Err(Failure::new(
            Exit::Conflict,
            "cannot find the changes: nothing is staged of that any more",
        )
        .help(format!("see `almoner diff {run}`")));
    }
    let copied = |change: &Change, digest: &BlobHash| staged_bytes(daemon, change, digest);
    let mut tasks = changes::path_tasks(changes, false, &applied_changes(daemon, run)?, &copied);
    let made = keep_hunks(daemon, &mut tasks, parts, HunkSelection::Others)?;
    for bytes in made.values() {
        blobs::upload(daemon, bytes)?;
    }
    let thrown = tasks.iter().map(|task| {
        let path = task.change.full();
        let left = match task.target {
            // If no part is left, the content equals the real file, and nothing of the change remains.
            PathState::File(digest) if parts.iter().any(|part| part.path == path) => {
                (task.target != task.expected).then_some(digest)
            }
            _ => None,
        };
        DiscardedCopy { path, left, step: task.change.at.1 }
    });
    Ok(thrown.collect())
}
