//! The changes of a run and its descendants in directories, read from their journals. This module also writes to
//! directories, but only where a path is in the expected state.
//!
//! Nothing is stored apart from the journal. The pins of a call record the earlier state, and the earlier bytes were
//! stored before the call began.

use std::collections::{BTreeMap, BTreeSet};

use caps::undo::{FileContent, PathState, SavedFile, Undo, max_kept_bytes};
use kernel::formula::Formula;
use kernel::proposal::{Effect, Proposal};
use kernel::run::{ChangeDigests, Completion, Entry, RestoredFile};
use kernel::{BlobHash, RunNumber, StepRef, Value};
use passable::{Untrusted, shell_word, visible_line};
use resource::Resource;

use super::applied_changes::PlacedChanges;
use super::{program_changes, runs, why};
use crate::state::blobs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::undo_report::{UndoEntry, UndoState};

/// The change of a run at one path.
#[derive(Clone, Debug)]
pub struct Change {
    /// The time and the step of the change.
    pub at: (i64, StepRef),
    /// The directory that contains the path.
    pub root: String,
    /// The staged copy in which the change was made, if it was made in one.
    pub stage: Option<String>,
    /// The path relative to the directory.
    pub path: String,
    /// All steps that changed the path. Two changes that share a step are the two ends of a move.
    pub steps: BTreeSet<StepRef>,
    /// The state before the run.
    pub before: PathState,
    /// The state that the run left.
    pub after: PathState,
    /// Whether a program changed the path, so that no call of a directory records it.
    pub by_program: bool,
    /// The maximum size of a file in the directory whose content is kept when an undo replaces it.
    pub max_kept_bytes: u64,
}

/// The changes of a run and its descendants.
#[derive(Default)]
pub struct RunChanges {
    /// The changes of paths, one for each path, the latest first.
    pub changes: Vec<Change>,
    /// Descriptions of effects that are no changes of files.
    pub other_effects: Vec<Untrusted>,
    /// Descriptions of changes in staged copies that cannot be applied.
    pub unappliable: Vec<Untrusted>,
}

impl Change {
    /// Returns the absolute path.
    pub fn full(&self) -> String {
        format!("{}/{}", self.root.trim_end_matches('/'), self.path)
    }

    /// Returns whether `wanted` names this path, either as the run named it or as an absolute path.
    pub fn is_named(&self, wanted: &str) -> bool {
        self.path == wanted || self.full() == wanted
    }
}

/// The place of the last tasks in the order in which tasks are carried out.
const MAX_RANK: usize = 3;

/// A change to make at a path, with its progress.
pub struct PathTask {
    /// The run's change.
    pub change: Change,
    /// The expected state of the path.
    pub expected: PathState,
    /// The wanted state of the path.
    pub target: PathState,
    /// The progress of the task.
    pub state: UndoState,
    /// The file that the task replaces or removes, as far as it was looked at.
    pub replaced: ReplacedFile,
}

/// A file that a task replaces or removes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ReplacedFile {
    /// The digest of its content, if the store keeps the bytes.
    kept: Option<BlobHash>,
    /// Its permissions.
    mode: Option<u32>,
    /// Its size, if the user has given it up because it is too large to be kept.
    given_up: Option<u64>,
}

/// The files whose content [`keep_present`] keeps.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum KeepRule {
    /// Files that a program changed. The content of all others was stored before the call that changed them.
    Apply,
    /// All files. A file that is too large to be kept holds its task back, unless the user gives it up.
    Undo {
        /// Whether the user gives up content that is too large.
        gives_up: bool,
        /// Whether this is only a preview, which stores nothing.
        dry_run: bool,
    },
}

impl PathTask {
    /// Returns the place of the task in the order in which tasks are carried out.
    fn rank(&self) -> usize {
        match (self.expected, self.target) {
            (PathState::Nothing, _) => 0,
            (_, PathState::File(_) | PathState::Directory) => 1,
            (PathState::File(_), PathState::Nothing) => 2,
            (PathState::Directory, PathState::Nothing) => MAX_RANK,
        }
    }

    /// Returns the task as an entry of the report to the caller.
    pub fn entry(self) -> UndoEntry {
        UndoEntry {
            path: Untrusted::new(self.change.full()),
            step: self.change.at.1,
            from: self.expected.description(),
            to: self.target.description(),
            state: self.state,
        }
    }

    /// Returns the task as an entry of the journal.
    pub fn restored_file(&self) -> RestoredFile {
        RestoredFile {
            path: self.change.full(),
            from: self.expected.description(),
            to: self.target.description(),
            step: self.change.at.1,
            digests: self
                .change
                .by_program
                .then(|| ChangeDigests { before: digest(self.change.before), after: digest(self.target) }),
            kept: self.replaced.kept,
            mode: self.replaced.mode,
            given_up: self.replaced.given_up,
        }
    }
}

fn digest(state: PathState) -> Option<BlobHash> {
    match state {
        PathState::File(digest) => Some(digest),
        PathState::Nothing | PathState::Directory => None,
    }
}

/// A function that finds the bytes of a file to put in place.
pub type BlobLookup<'a> = &'a dyn Fn(&Change, &BlobHash) -> Option<Vec<u8>>;

/// Returns the changes of a run and its descendants.
///
/// # Errors
/// When there is no such run, it has not ended, or `only` names a path that the run did not change.
pub fn changes_of_run(daemon: &HostDaemon, run: RunNumber, only: &[String]) -> Result<RunChanges, Failure> {
    let (mut changes, mut beyond) = (Vec::new(), Vec::new());
    let family = whole_family(daemon, run)?;
    for member in &family {
        collect_changes(daemon, *member, &mut changes, &mut beyond)?;
    }
    changes.sort_by_key(|change| change.at);
    let mut planned = plan(&changes);
    let unappliable = program_changes::add(daemon, &family, &mut planned)?;
    // A path whose last state is its first state has not been changed.
    let is_change = |change: &Change| change.before != change.after;
    for wanted in only {
        if !planned.iter().any(|change| is_change(change) && change.is_named(wanted)) {
            let message = format!("{run} changed no `{}`", visible_line(wanted));
            return Err(Failure::new(Exit::NotFound, message)
                .help(format!("see `almoner undo {run} --dry-run` for what it changed")));
        }
    }
    if !only.is_empty() {
        keep_named(&mut planned, only);
    }
    // If a file was moved through an intermediate path, the two ends of its whole move belong together. So they share
    // their steps.
    for through in planned
        .iter()
        .filter(|change| !is_change(change))
        .map(|change| change.steps.clone())
        .collect::<Vec<_>>()
    {
        let touching = planned.iter_mut().filter(|change| !change.steps.is_disjoint(&through));
        touching.for_each(|change| change.steps.extend(through.iter().copied()));
    }
    planned.retain(is_change);
    Ok(RunChanges { changes: planned, other_effects: beyond, unappliable })
}

/// Keeps the named changes, and the other end of each move. Undoing only one end would lose the file or duplicate it.
fn keep_named(planned: &mut Vec<Change>, only: &[String]) {
    let named = |change: &&Change| only.iter().any(|wanted| change.is_named(wanted));
    let mut steps: BTreeSet<StepRef> =
        planned.iter().filter(named).flat_map(|change| change.steps.clone()).collect();
    loop {
        let known = steps.len();
        for change in planned.iter() {
            if !change.steps.is_disjoint(&steps) {
                steps.extend(change.steps.iter().copied());
            }
        }
        // The search is repeated, because a file may be moved more than once.
        if steps.len() == known {
            break;
        }
    }
    planned.retain(|change| {
        only.iter().any(|wanted| change.is_named(wanted)) || !change.steps.is_disjoint(&steps)
    });
}

/// Returns a task for each change, with the present state of its path. `in_place` has the files that were applied
/// from a staged copy. They do not count as another writer's changes.
pub fn path_tasks(
    changes: Vec<Change>,
    is_undo: bool,
    in_place: &PlacedChanges,
    held: BlobLookup<'_>,
) -> Vec<PathTask> {
    let task = |change: Change| {
        let (mut now, then) = match is_undo {
            true => (change.after, change.before),
            false => (change.before, change.after),
        };
        let found = current_state(&change);
        if let Ok(found) = &found
            && change.stage.is_some()
            && *found != then
            && in_place
                .get(&change.full())
                .is_some_and(|ours| ours.is_own && ours.description == found.description())
        {
            now = *found;
        }
        let state = undo_state(&change, found, (now, then), in_place, held);
        PathTask { change, expected: now, target: then, state, replaced: ReplacedFile::default() }
    };
    changes.into_iter().map(task).collect()
}

/// Returns the present state of a path, or the reason why it cannot be read.
fn current_state(change: &Change) -> Result<PathState, String> {
    match Undo::find(&change.root).map_err(|error| error.to_string())? {
        // A directory that does not exist yet contains nothing.
        None => Ok(PathState::Nothing),
        Some(root) => root.look(&change.path).map_err(|finding| finding.message),
    }
}

fn undo_state(
    change: &Change,
    found: Result<PathState, String>,
    (now, then): (PathState, PathState),
    in_place: &PlacedChanges,
    held: BlobLookup<'_>,
) -> UndoState {
    match found {
        Err(why) => UndoState::Failed { why: Untrusted::new(why) },
        Ok(found) if found == then => UndoState::Already,
        Ok(found) if found != now => UndoState::Conflict { now: found.description() },
        Ok(_) => match then {
            PathState::File(digest) if held(change, &digest).is_none() => {
                UndoState::Failed { why: Untrusted::new(missing_content(change, in_place)) }
            }
            _ => UndoState::Would,
        },
    }
}

/// Returns the reason why the content of a path is not there any more.
fn missing_content(change: &Change, in_place: &PlacedChanges) -> String {
    match (in_place.given_up(&change.full()), &change.stage) {
        (Some(bytes), _) => format!(
            "its content is gone: it was put back with `--yes`, and with {} it was too large to be kept",
            document::size(bytes)
        ),
        (None, Some(stage)) if !std::path::Path::new(stage).exists() => {
            "its content is gone: the staged copy is not there any more, and the store does not keep it"
                .to_owned()
        }
        (None, Some(_)) => "its content is gone: the staged copy holds another one by now".to_owned(),
        (None, None) => format!(
            "its content is not kept: when the run changed it, it had more than {}",
            document::size(change.max_kept_bytes)
        ),
    }
}

/// Holds back the other ends of each move of which one end cannot be applied. Half a move would lose the file or
/// duplicate it. Returns the ends that are applied already, which have to be taken back.
pub fn hold_back_moves(tasks: &mut [PathTask]) -> Vec<usize> {
    let mut ends: BTreeMap<StepRef, Vec<usize>> = BTreeMap::new();
    for (at, task) in tasks.iter().enumerate() {
        task.change.steps.iter().for_each(|step| ends.entry(*step).or_default().push(at));
    }
    let is_held =
        |task: &PathTask| matches!(task.state, UndoState::Conflict { .. } | UndoState::Failed { .. });
    let mut held: Vec<usize> = (0..tasks.len()).filter(|at| is_held(&tasks[*at])).collect();
    let mut applied = Vec::new();
    // A file may be moved to the former path of another one, so that more than two ends belong together.
    while let Some(at) = held.pop() {
        let path = visible_line(&tasks[at].change.path).into_owned();
        let why = format!("the other end of its move, `{path}`, cannot be applied");
        let others: BTreeSet<usize> =
            tasks[at].change.steps.iter().flat_map(|step| &ends[step]).copied().collect();
        for other in others {
            let task = &mut tasks[other];
            if task.state == UndoState::Done {
                applied.push(other);
            }
            if matches!(task.state, UndoState::Would | UndoState::Done) {
                task.state = UndoState::Failed { why: Untrusted::new(why.clone()) };
                held.push(other);
            }
        }
    }
    applied
}

/// Returns the tasks that can be carried out, as entries of the journal.
pub fn restored_files(tasks: &[PathTask]) -> Vec<RestoredFile> {
    tasks.iter().filter(|task| task.state == UndoState::Would).map(PathTask::restored_file).collect()
}

/// Carries out the tasks. Each path is checked once more at the moment of its change.
///
/// If one end of a move fails, its other ends are taken back, unless this is an undo. If a path is already in the wanted
/// state, leftovers of an interrupted attempt beside it are removed.
pub fn carry_out(tasks: &mut [PathTask], is_undo: bool, in_place: &PlacedChanges, held: BlobLookup<'_>) {
    // The permissions are read first, while the files that have them still exist.
    let modes: Vec<Option<u32>> = tasks.iter().map(|task| restored_mode(task, tasks, in_place)).collect();
    // A moved file is at its new place before it goes from its old one. Folders go last, after the files in them.
    for rank in 0..=MAX_RANK {
        for (at, mode) in modes.iter().enumerate() {
            let task = &mut tasks[at];
            if task.state != UndoState::Would || task.rank() != rank {
                continue;
            }
            task.state = restore(task, *mode, held);
            if !is_undo && matches!(task.state, UndoState::Failed { .. }) {
                for applied in hold_back_moves(tasks) {
                    take_back(&mut tasks[applied], held);
                }
            }
        }
    }
    for task in tasks.iter().filter(|task| task.state == UndoState::Already) {
        if let Ok(root) = Undo::open(&task.change.root) {
            root.tidy(&task.change.path, task.expected, task.target, task.change.at.1.run);
        }
    }
}

/// Restores the state that a path had before its task was carried out. If this fails, the task stays done.
fn take_back(task: &mut PathTask, held: BlobLookup<'_>) {
    std::mem::swap(&mut task.expected, &mut task.target);
    let restored = restore(task, None, held);
    std::mem::swap(&mut task.expected, &mut task.target);
    if restored != UndoState::Done {
        task.state = UndoState::Done;
    }
}

/// Returns the permissions for a file that is put where no file is now. They come from the staged copy and from the
/// files that a move brings back. A permission is kept only if all of these have it. If there are none, the file gets
/// the permissions that it had when it was last replaced or removed.
fn restored_mode(task: &PathTask, tasks: &[PathTask], in_place: &PlacedChanges) -> Option<u32> {
    let PathState::File(digest) = task.target else { return None };
    let at = |root: Result<Undo, _>, path: &str| root.ok()?.mode(path, &digest);
    let moved = tasks.iter().filter(|other| other.expected == task.target && other.target != task.target);
    let stage = task.change.stage.as_deref();
    let staged = stage.and_then(|stage| at(Undo::open_copy(stage), &task.change.path));
    let moved = moved.filter_map(|other| at(Undo::open(&other.change.root), &other.change.path));
    let present = moved.chain(staged).reduce(|one, other| one & other);
    present.or_else(|| in_place.mode(&task.change.full(), &task.target.description()))
}

fn restore(task: &PathTask, mode: Option<u32>, held: BlobLookup<'_>) -> UndoState {
    let failed = |why: String| UndoState::Failed { why: Untrusted::new(why) };
    let bytes = match task.target {
        PathState::File(digest) => match held(&task.change, &digest) {
            Some(bytes) => bytes,
            None => return failed("its bytes are not there any more".to_owned()),
        },
        _ => Vec::new(),
    };
    let opened = match task.target {
        PathState::Nothing => Undo::open(&task.change.root),
        _ => Undo::make(&task.change.root),
    };
    let done = opened.map_err(|error| error.to_string()).and_then(|root| {
        let whole = SavedFile { bytes: &bytes, mode, run: task.change.at.1.run };
        root.put_back(&task.change.path, task.expected, task.target, &whole)
            .map_err(|finding| finding.message)
    });
    done.map_or_else(failed, |()| UndoState::Done)
}

/// Returns one change for each path, the latest first, from the state before the run to the run's last state. If
/// another writer changed a path in between, the change begins only at that writer's state.
fn plan(changes: &[Change]) -> Vec<Change> {
    let mut last: BTreeMap<(&str, &str), Change> = BTreeMap::new();
    let mut cut: BTreeSet<(&str, &str)> = BTreeSet::new();
    let mut order: Vec<(&str, &str)> = Vec::new();
    for change in changes.iter().rev() {
        let key = (change.root.as_str(), change.path.as_str());
        match last.get_mut(&key) {
            None => {
                order.push(key);
                last.insert(key, change.clone());
            }
            Some(later) if !cut.contains(&key) && later.before == change.after => {
                later.before = change.before;
                later.at = change.at;
                later.steps.extend(change.steps.iter().copied());
            }
            Some(_) => drop(cut.insert(key)),
        }
    }
    order.into_iter().filter_map(|key| last.remove(&key)).collect()
}

/// Returns a run and all its descendants. The run itself must have ended, but a descendant may still be active.
pub(crate) fn whole_family(daemon: &HostDaemon, run: RunNumber) -> Result<BTreeSet<RunNumber>, Failure> {
    let first = runs::load_run(daemon, run)?;
    if first.is_agent_journal() {
        return Err(Failure::new(Exit::Usage, format!("{run} is the journal of an agent, and no run")));
    }
    if !first.is_finished() {
        return Err(Failure::new(
            Exit::Conflict,
            format!("{run} is not over: it may still change something"),
        )
        .help(format!("let it come to its end, or `almoner cancel {run}` first")));
    }
    let mut parents = BTreeMap::new();
    runs::for_each_run(daemon, None, |found| {
        // A child has a higher number than its parent.
        let is_younger = found.number > run;
        parents.extend(found.parent.filter(|_| is_younger).map(|parent| (found.number, parent.run)));
        Ok(is_younger)
    })?;
    let mut family = BTreeSet::from([run]);
    for (child, parent) in parents {
        if family.contains(&parent) {
            family.insert(child);
        }
    }
    Ok(family)
}

/// Collects the changes of one run in order, and descriptions of its effects that cannot be undone.
fn collect_changes(
    daemon: &HostDaemon,
    run: RunNumber,
    changes: &mut Vec<Change>,
    beyond: &mut Vec<Untrusted>,
) -> Result<(), Failure> {
    let mut open: BTreeMap<u64, Box<Proposal>> = BTreeMap::new();
    let mut failed = None;
    runs::for_each_step(daemon, run, 1, |step| {
        match step.entry {
            Entry::Proposed { proposal, .. } if proposal.effect != Effect::Observe => {
                open.insert(step.number, proposal);
            }
            Entry::Completed { proposal: number, completion: Completion::Done { value, .. } } => {
                let Some(made) = open.remove(&number) else { return true };
                let at = StepRef { run, step: number };
                match changes_of_call(daemon, &made, &value) {
                    Ok(Some((root, touched))) => {
                        let stage = staged_copy(daemon, &made);
                        let grant = daemon.grant(&made.grant).map(|(grant, _)| grant.attenuation);
                        let max_kept_bytes = max_kept_bytes(&grant.unwrap_or_default());
                        changes.extend(touched.into_iter().map(|(path, before, after)| Change {
                            at: (step.at_ms, at),
                            root: root.clone(),
                            stage: stage.clone(),
                            path,
                            steps: [at].into(),
                            before,
                            after,
                            by_program: false,
                            max_kept_bytes,
                        }));
                    }
                    // The changes of such a program are found in the copy.
                    Ok(None) if is_within_staged_copies(daemon, &made) => {}
                    Ok(None) => {
                        let words = format!("{at}: {}.{} {}", made.slot, made.method, shown_arguments(&made));
                        beyond.push(Untrusted::new(words));
                    }
                    Err(failure) => {
                        failed = Some(failure);
                        return false;
                    }
                }
            }
            _ => {}
        }
        true
    })?;
    failed.map_or(Ok(()), Err)
}

/// Returns whether a call ran a program that could change nothing but staged copies.
fn is_within_staged_copies(daemon: &HostDaemon, made: &Proposal) -> bool {
    match why::call_target(daemon, made) {
        Ok(Some(Formula::Resource(Resource::Programs(programs)))) => {
            let mut writable = programs.directories.iter().filter(|directory| directory.write);
            !programs.network && writable.all(|directory| directory.staged_slot.is_some())
        }
        _ => false,
    }
}

/// Stores the present bytes of files that are about to be replaced or removed, if nothing else keeps them, and notes
/// their permissions. The caller holds the sweeper back until a row names the bytes.
///
/// # Errors
/// When the store fails.
pub fn keep_present(daemon: &HostDaemon, tasks: &mut [PathTask], rule: KeepRule) -> Result<(), Failure> {
    for task in tasks.iter_mut().filter(|task| task.state == UndoState::Would) {
        let PathState::File(digest) = task.expected else { continue };
        let Ok(root) = Undo::open(&task.change.root) else { continue };
        let path = &task.change.path;
        task.replaced.mode = root.mode(path, &digest);
        if rule == KeepRule::Apply && !task.change.by_program {
            continue;
        }
        let is_staged = || {
            let copy = Undo::open_copy(task.change.stage.as_deref()?).ok()?;
            copy.mode(path, &digest)
        };
        if daemon.store.blobs().get(&digest).is_ok() {
            task.replaced.kept = Some(digest);
            continue;
        }
        let KeepRule::Undo { gives_up, dry_run } = rule else {
            if let Some(bytes) = root.bytes(path, &digest) {
                task.replaced.kept = Some(blobs::upload(daemon, &bytes)?);
            }
            continue;
        };
        if is_staged().is_some() {
            continue;
        }
        let (bytes, why) = match root.content(path, &digest, task.change.max_kept_bytes) {
            // The task itself finds that the file has changed.
            FileContent::Gone => continue,
            FileContent::Whole(_) if dry_run => continue,
            FileContent::Whole(bytes) => match blobs::upload(daemon, &bytes) {
                Ok(kept) => {
                    task.replaced.kept = Some(kept);
                    continue;
                }
                Err(failure) => (
                    bytes.len() as u64,
                    format!("the store cannot keep it: {}", failure.message.visible_line()),
                ),
            },
            FileContent::Large { bytes } => {
                let (most, size) = (document::size(task.change.max_kept_bytes), document::size(bytes));
                (bytes, format!("it has {size}, and up to {most} is kept"))
            }
        };
        if gives_up {
            task.replaced.given_up = Some(bytes);
            continue;
        }
        let why = format!(
            "{why}; what the run left there would be gone for good: `almoner undo {} --only {} --yes` puts it back \
             all the same",
            task.change.at.1.run,
            shell_word(&visible_line(path))
        );
        task.state = UndoState::Failed { why: Untrusted::new(why) };
    }
    Ok(())
}

/// Returns the beginning of the first argument, such as the recipient of a message, or the started program.
fn shown_arguments(made: &Proposal) -> String {
    let first = made.args.first().map(|first| match first.as_str() {
        Some(text) => text.to_owned(),
        None => first.to_json().to_string(),
    });
    first.unwrap_or_default().chars().take(100).collect()
}

/// A path, its state before a call, and its state after the call.
type PathTransition = (String, PathState, PathState);

/// Returns the directory that a call changed, and the changed paths in it. Returns `None` if the call changed no
/// directory.
pub(super) fn changes_of_call(
    daemon: &HostDaemon,
    made: &Proposal,
    value: &Value,
) -> Result<Option<(String, Vec<PathTransition>)>, Failure> {
    let Some(Formula::Resource(Resource::Directory { path: root, .. })) = why::call_target(daemon, made)?
    else {
        return Ok(None);
    };
    let pin = |kind: &str, path: &str| {
        made.pins.iter().find(|pin| pin.kind == kind && pin.name == path).map(|pin| pin.digest)
    };
    let before = |path: &str| match (pin("file", path), pin("directory", path)) {
        (Some(Some(digest)), _) => Some(PathState::File(digest)),
        (Some(None), _) => Some(PathState::Nothing),
        (None, Some(_)) => Some(PathState::Directory),
        (None, None) => None,
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let one = |path: &str, after: Option<PathState>| Some(vec![(path.to_owned(), before(path)?, after?)]);
    let touched = match made.method.as_str() {
        "write" | "append" | "edit" => text("path").and_then(|path| {
            let digest = text("digest").and_then(|digest| digest.parse::<BlobHash>().ok());
            one(path, digest.map(PathState::File))
        }),
        "remove" => text("path").and_then(|path| one(path, Some(PathState::Nothing))),
        "make_directory" => text("directory").and_then(|path| one(path, Some(PathState::Directory))),
        "move" => text("from").zip(text("path")).and_then(|(from, to)| {
            let moved = before(from)?;
            Some(vec![(from.to_owned(), moved, PathState::Nothing), (to.to_owned(), before(to)?, moved)])
        }),
        _ => None,
    };
    Ok(touched.map(|touched| (root, touched)))
}

/// Returns the path of the staged copy that a call changed, or `None` if the call changed no staged copy.
pub(super) fn staged_copy(daemon: &HostDaemon, made: &Proposal) -> Option<String> {
    match daemon.grant(&made.grant).ok()? {
        (grant, Formula::Resource(Resource::Directory { path, .. }))
            if grant.attenuation.staged_from.is_some() =>
        {
            Some(path)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn move_that_fails_at_its_end_leaves_the_file_in_place() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().to_str().unwrap().to_owned();
        let file = |text: &str| PathState::File(BlobHash::of(text.as_bytes()));
        let step = StepRef { run: RunNumber(1), step: 1 };
        let task = |path: &str, before: PathState, after: PathState| {
            let change = Change {
                at: (0, step),
                root: root.clone(),
                stage: None,
                path: path.to_owned(),
                steps: [step].into(),
                before,
                after,
                by_program: false,
                max_kept_bytes: 1 << 20,
            };
            let replaced = ReplacedFile::default();
            PathTask { change, expected: before, target: after, state: UndoState::Would, replaced }
        };
        // The file was changed after it was looked at: at the old place, or at the new one.
        for (changed, old, new) in [("old.md", "theirs", None), ("new.md", "mine", Some("theirs"))] {
            std::fs::write(base.path().join("old.md"), old).unwrap();
            if let Some(text) = new {
                std::fs::write(base.path().join("new.md"), text).unwrap();
            }
            let mut tasks = vec![
                task("old.md", file("mine"), PathState::Nothing),
                task("new.md", PathState::Nothing, file("mine")),
            ];
            carry_out(&mut tasks, false, &PlacedChanges::default(), &|_, _| Some(b"mine".to_vec()));
            for task in &tasks {
                assert!(matches!(task.state, UndoState::Failed { .. }), "{changed}: {:?}", task.state);
            }
            let read = |name: &str| std::fs::read_to_string(base.path().join(name)).ok();
            assert_eq!((read("old.md").as_deref(), read("new.md").as_deref()), (Some(old), new), "{changed}");
        }
    }
}
