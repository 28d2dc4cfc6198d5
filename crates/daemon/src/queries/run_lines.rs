//! The input, the result and the changed files of runs, in short, for a list of runs.

use std::collections::{BTreeMap, BTreeSet};

use caps::undo::PathState;
use kernel::RunNumber;
use kernel::proposal::Effect;
use kernel::run::{Completion, Entry, Run, RunOutcome, State};
use passable::Untrusted;

use super::{changes, runs};
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::run_line::{ChangedFile, RunLine};
use control::show::value;

/// The maximum number of shown characters of an input or a result.
const MAX_CHARS: usize = 120;

/// The maximum number of steps that are read for the changed files of one run.
const MAX_STEPS: usize = 4_000;

/// The maximum number of steps that are read for the changed files of all runs of a list.
const MAX_ALL_STEPS: usize = 20_000;

/// Returns the lines of these runs, in the same order. A run that is gone has none.
///
/// # Errors
/// When the store cannot be read.
pub fn run_lines(daemon: &HostDaemon, numbers: &[RunNumber]) -> Result<Vec<RunLine>, Failure> {
    let (mut lines, mut left) = (Vec::new(), MAX_ALL_STEPS);
    for number in numbers {
        let Some(run) = runs::load_listed_run(daemon, *number)? else { continue };
        let before = left.min(MAX_STEPS);
        let mut own = before;
        let files = match run.is_agent_journal() {
            true => None,
            false => changed_files(daemon, *number, &mut own)?.map(|files| files.len()),
        };
        left -= before - own;
        lines.push(RunLine { run: *number, input: input(&run), result: result(&run), files });
    }
    Ok(lines)
}

/// Returns the files that a run and its descendants have changed, also while they are at work. Returns `None` if there
/// are too many steps to read.
///
/// # Errors
/// When the store cannot be read.
pub fn files_of(daemon: &HostDaemon, number: RunNumber) -> Result<Option<BTreeSet<ChangedFile>>, Failure> {
    changed_files(daemon, number, &mut MAX_ALL_STEPS.clone())
}

fn changed_files(
    daemon: &HostDaemon,
    root: RunNumber,
    left: &mut usize,
) -> Result<Option<BTreeSet<ChangedFile>>, Failure> {
    // The state of each path before its first change, and after its last one.
    let mut paths: BTreeMap<ChangedFile, (PathState, PathState)> = BTreeMap::new();
    let mut open = vec![root];
    let mut seen = BTreeSet::from([root]);
    while let Some(run) = open.pop() {
        let (mut proposed, mut done) = (BTreeMap::new(), Vec::new());
        runs::for_each_step(daemon, run, 1, |step| {
            if *left == 0 {
                return false;
            }
            *left -= 1;
            match step.entry {
                Entry::Proposed { proposal, .. } if proposal.effect != Effect::Observe => {
                    proposed.insert(step.number, proposal);
                }
                Entry::Completed { proposal, completion: Completion::Done { value, .. } } => {
                    done.extend(proposed.remove(&proposal).map(|made| (made, value)));
                }
                Entry::EffectStarted { child: Some(child), .. } | Entry::Spawned { child, .. } => {
                    open.extend(seen.insert(child).then_some(child));
                }
                _ => {}
            }
            true
        })?;
        for (made, value) in done {
            // A call whose facts are gone changed files that cannot be named.
            let Ok(Some((root, touched))) = changes::changes_of_call(daemon, &made, &value) else { continue };
            let is_staged = changes::staged_copy(daemon, &made).is_some();
            for (path, before, after) in touched {
                let path = Untrusted::new(format!("{}/{path}", root.trim_end_matches('/')));
                paths.entry(ChangedFile { path, is_staged }).or_insert((before, after)).1 = after;
            }
        }
        if *left == 0 {
            return Ok(None);
        }
    }
    let is_changed =
        |(before, after): &(PathState, PathState)| before != after && (is_file(*before) || is_file(*after));
    Ok(Some(paths.into_iter().filter(|(_, states)| is_changed(states)).map(|(file, _)| file).collect()))
}

/// Returns the inputs in one line: each with its name, or else the names of the documents.
fn input(run: &Run) -> Option<Untrusted> {
    let named = match run.input.values.to_json() {
        serde_json::Value::Object(values) => values,
        _ => serde_json::Map::new(),
    };
    let mut words: Vec<String> = named.iter().map(|(name, value)| format!("{name}={value}")).collect();
    let documents = if run.input.items.is_empty() { &run.input.attachments } else { &run.input.items };
    match documents.as_slice() {
        [] => {}
        [one] => words.push(one.name.clone()),
        [first, rest @ ..] => words.push(format!("{} and {} more", first.name, rest.len())),
    }
    short(&words.join(", "))
}

/// Returns the result in one line, or the reason of a failure.
fn result(run: &Run) -> Option<Untrusted> {
    match &run.state {
        State::Finished { outcome: RunOutcome::Done(found) } => short(&value::brief(found)),
        State::Finished { outcome: RunOutcome::Failed(trouble) } => short(trouble.message.raw()),
        State::Stalled { trouble } => short(trouble.message.raw()),
        State::Ready | State::Waiting => None,
    }
}

/// Returns the beginning of a text, with white space as single blanks. Returns `None` if there is none.
fn short(text: &str) -> Option<Untrusted> {
    // Only the beginning is shown, so only the beginning is read.
    let head: String = text.chars().take(MAX_CHARS * 4).collect();
    let mut line = head.split_whitespace().collect::<Vec<_>>().join(" ");
    if let Some((at, _)) = line.char_indices().nth(MAX_CHARS) {
        line.truncate(at);
        line.push('…');
    }
    (!line.is_empty()).then(|| Untrusted::new(line))
}

/// Returns whether a path is a file now, or was one.
fn is_file(state: PathState) -> bool {
    matches!(state, PathState::File(_))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn result_line_is_one_short_line() {
        let long = "word ".repeat(100);
        for (text, expected) in [("", None), (" \n ", None), ("a\n\n b", Some("a b"))] {
            assert_eq!(short(text).as_ref().map(Untrusted::raw), expected, "{text:?}");
        }
        let cut = short(&long).unwrap();
        assert_eq!((cut.raw().chars().count(), cut.raw().ends_with('…')), (MAX_CHARS + 1, true));
    }
}
