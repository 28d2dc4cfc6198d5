//! The task that a card shows: the words with which a user, or the model of another run, began a run.

use std::collections::BTreeMap;

use kernel::provenance::Source;
use kernel::run::{Entry, Parent, Run, Shape, WaitReason};
use kernel::{BlobHash, RunNumber, Value};
use passable::{Text, Untrusted, visible_line};
use worker::definition::template::Place;

use super::chat_message;
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::task::{Task, TaskGiver};
use control::show::value;

/// The maximum number of runs between a run and the one that a user began.
const MAX_ANCESTORS: usize = 64;

/// The name of a message that a user has sent to a run.
const MESSAGE: &str = "you said";

/// Returns the tasks that a card of a run shows: that of the run which a user began, and that of the run itself, if the
/// model of another run gave it. `before` is the step that asks.
///
/// # Errors
/// When the store cannot be read.
pub(super) fn tasks(daemon: &HostDaemon, run: &Run, before: u64) -> Result<Vec<Task>, Failure> {
    if run.is_agent_journal() {
        return Ok(vec![]);
    }
    let (mut root, mut until) = (run.clone(), before);
    let mut caller = None;
    for _ in 0..MAX_ANCESTORS {
        let Some(Parent { run: above, place }) = root.parent else { break };
        // An item has the words of its batch. A call has words of its caller's model.
        if let WaitReason::Call { proposal } = place {
            caller.get_or_insert(above);
            until = proposal;
        }
        root = runs::load_run(daemon, above)?;
    }
    let giver = match root.delivery {
        Some(_) => TaskGiver::Agent,
        None => TaskGiver::User,
    };
    let mut all = vec![task(daemon, &root, giver, until)?];
    if let Some(caller) = caller {
        all.push(task(daemon, run, TaskGiver::Run(caller), before)?);
    }
    all.retain(|task| !task.words.is_empty() || task.description.is_some() || !task.documents.is_empty());
    Ok(all)
}

fn task(daemon: &HostDaemon, run: &Run, giver: TaskGiver, before: u64) -> Result<Task, Failure> {
    let mut words = inputs(run);
    let has_text =
        run.input.values.as_record().into_iter().flatten().any(|(_, value)| value.as_str().is_some());
    let said = match run.shape {
        Shape::Chat => last_message(daemon, run.number, before)?,
        _ => None,
    };
    let has_words = has_text || said.is_some();
    words.extend(said.map(|said| (MESSAGE.to_owned(), said)));
    let description = match has_words {
        true => None,
        false => description(daemon, run),
    };
    let documents = run.input.attachments.iter().chain(&run.input.items);
    Ok(Task {
        run: run.number,
        worker: runs::name(daemon, run)?,
        giver,
        words,
        files: files(run),
        description,
        documents: documents.map(|document| Untrusted::new(document.name.as_str())).collect(),
    })
}

/// Returns the inputs of a run.
fn inputs(run: &Run) -> Vec<(String, Untrusted)> {
    let named = |(name, value): &(Text, Value)| (input_name(name), Untrusted::new(value::argument(value)));
    run.input.values.as_record().into_iter().flatten().map(named).collect()
}

fn input_name(name: &Text) -> String {
    visible_line(&name.to_str_lossy()).into_owned()
}

/// Returns the inputs that were read from files, each with the name of its file.
fn files(run: &Run) -> BTreeMap<String, Untrusted> {
    let origin = |text: &str| {
        run.input.origins.iter().find_map(|origin| match origin {
            Source::Document { name, hash } if BlobHash::of(text.as_bytes()) == *hash => Some(name),
            _ => None,
        })
    };
    let all = run.input.values.as_record().into_iter().flatten();
    let files = all.filter_map(|(name, value)| Some((input_name(name), value.as_str().and_then(origin)?)));
    // The source has the name as it was typed: `@FILE`.
    let plain = |file: &str| file.strip_prefix('@').unwrap_or(file).to_owned();
    files.map(|(name, file)| (name, Untrusted::new(plain(file)))).collect()
}

/// Returns the last message of the user to a run before a step.
fn last_message(daemon: &HostDaemon, run: RunNumber, before: u64) -> Result<Option<Untrusted>, Failure> {
    let mut found = None;
    runs::for_each_step(daemon, run, 0, |step| {
        if step.number >= before {
            return false;
        }
        if let Entry::Said { text, .. } = step.entry {
            found = Some(text);
        }
        true
    })?;
    Ok(found)
}

/// Returns the description in the file of a run's worker, or else the worker's own text. A file that cannot be read any
/// more has none.
fn description(daemon: &HostDaemon, run: &Run) -> Option<Untrusted> {
    let bundle = chat_message::bundle(daemon, run).ok()?;
    let definition = worker::definition::parse(&bundle).0?;
    let text = definition.description.unwrap_or_else(|| match &definition.body.place {
        Place::File(name) => bundle.includes.get(name).cloned().unwrap_or_default(),
        Place::WorkerFile(_) => definition.body.text,
    });
    Some(text.trim()).filter(|text| !text.is_empty()).map(Untrusted::new)
}
