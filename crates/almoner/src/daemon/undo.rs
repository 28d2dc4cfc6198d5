//! `undo`: what a run and all that it started changed in directories becomes what it was before.
//!
//! Nothing is remembered beside the journal: a call's pins say what was there, and its bytes were kept before it began.
//! Only what is still as the run left it is put back. So whatever is cut off is done by asking again, and nothing is done
//! twice.

use std::collections::{BTreeMap, BTreeSet};

use caps::undo::{Standing, Undo};
use kernel::command::{Act, Said};
use kernel::formula::Formula;
use kernel::proposal::{Effect, Proposal};
use kernel::run::{Completion, Entry, PutBack};
use kernel::{BlobHash, RunNumber, StepRef, Value};
use passable::{Untrusted, visible_line};

use super::desk::Desk;
use super::{listing, why};
use crate::control::undone::{UndoState, Undone, UndoneEntry};
use crate::exit::{Exit, Failure};

/// One path that a call changed.
#[derive(Clone, Debug)]
struct Change {
    at: (i64, StepRef),
    root: String,
    path: String,
    before: Standing,
    after: Standing,
}

/// Puts back what a run changed, or says what that would do.
///
/// # Errors
/// When there is no such run, it is not over, or `only` names nothing that it changed.
pub fn undo(
    desk: &Desk,
    said: Untrusted,
    run: RunNumber,
    only: &[String],
    dry_run: bool,
) -> Result<Undone, Failure> {
    let family = whole_family(desk, run)?;
    let (mut changes, mut beyond) = (Vec::new(), Vec::new());
    for member in family {
        gather(desk, member, &mut changes, &mut beyond)?;
    }
    changes.sort_by_key(|change| change.at);
    let mut planned = plan(&changes);
    if !only.is_empty() {
        for wanted in only {
            if !planned.iter().any(|change| names(change, wanted)) {
                let message = format!("{run} changed no `{}`", visible_line(wanted));
                return Err(Failure::new(Exit::NotFound, message)
                    .help(format!("see `almoner undo {run} --dry-run` for what it changed")));
            }
        }
        planned.retain(|change| only.iter().any(|wanted| names(change, wanted)));
    }
    let mut looked: Vec<(Change, UndoState)> =
        planned.into_iter().map(|change| (change.clone(), look(desk, &change))).collect();
    if !dry_run {
        carry_out(desk, said, run, &mut looked)?;
    }
    let entries = looked.into_iter().map(|(change, state)| UndoneEntry {
        path: Untrusted::new(full(&change)),
        step: change.at.1,
        from: change.after.words(),
        to: change.before.words(),
        state,
    });
    Ok(Undone { run, dry_run, entries: entries.collect(), beyond })
}

/// Writes down what is put back, and does it.
fn carry_out(
    desk: &Desk,
    text: Untrusted,
    run: RunNumber,
    looked: &mut [(Change, UndoState)],
) -> Result<(), Failure> {
    let files = looked.iter().filter(|(_, state)| *state == UndoState::Would).map(|(change, _)| PutBack {
        path: full(change),
        from: change.after.words(),
        to: change.before.words(),
        step: change.at.1,
    });
    let files: Vec<PutBack> = files.collect();
    if files.is_empty() {
        return Ok(());
    }
    let said = Said { verb: "undo".to_owned(), text };
    desk.apply_as(desk.daemon.host, Some(said), Act::Undo { run, files })?;
    // A folder that the run made is empty only once the files in it have gone.
    let is_made_folder = |change: &Change| change.after == Standing::Directory;
    let order = |folders: bool| move |change: &Change| is_made_folder(change) == folders;
    for pass in [false, true] {
        for (change, state) in looked.iter_mut() {
            if *state == UndoState::Would && order(pass)(change) {
                *state = put_back(desk, change);
            }
        }
    }
    Ok(())
}

fn put_back(desk: &Desk, change: &Change) -> UndoState {
    let held = match change.before {
        Standing::File(digest) => match desk.daemon.store.blobs().get(&digest) {
            Ok(held) => held,
            Err(error) => return UndoState::Failed { why: Untrusted::new(error.to_string()) },
        },
        _ => Vec::new(),
    };
    let opened = Undo::open(&change.root).map_err(|error| error.to_string());
    let done = opened.and_then(|root| {
        root.put_back(&change.path, change.after, change.before, &held).map_err(|finding| finding.message)
    });
    match done {
        Ok(()) => UndoState::Done,
        Err(why) => UndoState::Failed { why: Untrusted::new(why) },
    }
}

/// How something that a run changed stands now.
fn look(desk: &Desk, change: &Change) -> UndoState {
    let now = Undo::open(&change.root).map_err(|error| error.to_string());
    let now = now.and_then(|root| root.look(&change.path).map_err(|finding| finding.message));
    match now {
        Err(why) => UndoState::Failed { why: Untrusted::new(why) },
        Ok(now) if now == change.before => UndoState::Already,
        Ok(now) if now != change.after => UndoState::Conflict { now: now.words() },
        Ok(_) => match change.before {
            Standing::File(digest) if desk.daemon.store.blobs().get(&digest).is_err() => {
                let why = "what it held before was not kept: it was too large, or an earlier version of this program made the change";
                UndoState::Failed { why: Untrusted::new(why) }
            }
            _ => UndoState::Would,
        },
    }
}

/// For each path, what it was before the run's changes and what the last of them left; what was changed last comes first.
/// Where somebody else changed something in between, it goes back to what they left.
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
            }
            Some(_) => drop(cut.insert(key)),
        }
    }
    let planned = order.into_iter().filter_map(|key| last.remove(&key));
    // What comes out as it was has not been changed.
    planned.filter(|change| change.before != change.after).collect()
}

fn full(change: &Change) -> String {
    format!("{}/{}", change.root.trim_end_matches('/'), change.path)
}

/// Whether a person means this path: as the run named it, or absolute.
fn names(change: &Change, wanted: &str) -> bool {
    change.path == wanted || full(change) == wanted
}

/// The run and all that it has started, over or not.
fn whole_family(desk: &Desk, run: RunNumber) -> Result<BTreeSet<RunNumber>, Failure> {
    let first = listing::one(&desk.daemon, run)?;
    if first.is_standing() {
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
    listing::for_each_run(&desk.daemon, None, |found| {
        // Children are younger than their parents.
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

/// What one run changed, in order, and what it did that cannot be undone.
fn gather(
    desk: &Desk,
    run: RunNumber,
    changes: &mut Vec<Change>,
    beyond: &mut Vec<Untrusted>,
) -> Result<(), Failure> {
    let mut open: BTreeMap<u64, Box<Proposal>> = BTreeMap::new();
    let mut failed = None;
    listing::for_each_step(&desk.daemon, run, 1, |step| {
        match step.entry {
            Entry::Proposed { proposal, .. } if proposal.effect != Effect::Observe => {
                open.insert(step.number, proposal);
            }
            Entry::Completed { proposal: number, completion: Completion::Done { value, .. } } => {
                let Some(made) = open.remove(&number) else { return true };
                let at = StepRef { run, step: number };
                match of_call(desk, &made, &value) {
                    Ok(Some((root, touched))) => {
                        changes.extend(touched.into_iter().map(|(path, before, after)| Change {
                            at: (step.at_ms, at),
                            root: root.clone(),
                            path,
                            before,
                            after,
                        }));
                    }
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

/// The beginning of the first argument: to whom something was sent, what was started.
fn shown_arguments(made: &Proposal) -> String {
    let first = made.args.first().map(|first| match first.as_str() {
        Some(text) => text.to_owned(),
        None => first.to_json().to_string(),
    });
    first.unwrap_or_default().chars().take(100).collect()
}

/// A path, what it was before a call, and what the call made of it.
type Touched = (String, Standing, Standing);

/// The directory in which a call changed something, and each path; `None` if what it did is no change of a directory.
fn of_call(desk: &Desk, made: &Proposal, value: &Value) -> Result<Option<(String, Vec<Touched>)>, Failure> {
    let Some(Formula::Mount { path: root, .. }) = why::made_on(&desk.daemon, made)? else { return Ok(None) };
    let pin = |kind: &str, path: &str| {
        made.pins.iter().find(|pin| pin.kind == kind && pin.name == path).map(|pin| pin.digest)
    };
    let before = |path: &str| match (pin("file", path), pin("directory", path)) {
        (Some(Some(digest)), _) => Some(Standing::File(digest)),
        (Some(None), _) => Some(Standing::Nothing),
        (None, Some(_)) => Some(Standing::Directory),
        (None, None) => None,
    };
    let text = |name: &str| value.get(name).and_then(Value::as_str);
    let one = |path: &str, after: Option<Standing>| Some(vec![(path.to_owned(), before(path)?, after?)]);
    let touched = match made.method.as_str() {
        "write" | "append" | "edit" => text("path").and_then(|path| {
            let digest = text("digest").and_then(|digest| digest.parse::<BlobHash>().ok());
            one(path, digest.map(Standing::File))
        }),
        "remove" => text("path").and_then(|path| one(path, Some(Standing::Nothing))),
        "make_directory" => text("directory").and_then(|path| one(path, Some(Standing::Directory))),
        "move" => text("from").zip(text("path")).and_then(|(from, to)| {
            let moved = before(from)?;
            Some(vec![(from.to_owned(), moved, Standing::Nothing), (to.to_owned(), before(to)?, moved)])
        }),
        _ => None,
    };
    Ok(touched.map(|touched| (root, touched)))
}
