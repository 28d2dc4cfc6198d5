//! Conversations: a list of them, and the workers with which the user can begin one.

use std::collections::BTreeMap;
use std::path::Path;

use crate::queries::mail;
use crate::state::worker_files;
use kernel::formula::Formula;
use kernel::run::{Entry, Run, Shape};
use kernel::{BlobHash, NamePath, RunNumber, table};
use passable::{Untrusted, visible_line};
use resource::Kind;
use worker::definition::{Bundle, Definition};

use super::{chat_message, documents};
use crate::queries::{picks, runs};
use crate::state::daemon::HostDaemon;
use config::policy_file::NAME;
use config::{place, worker_file};
use control::exit::{Exit, Failure};
use control::protocol::TALKER;
use control::talk::{ChatPartner, ChatRow, ChatSetup, ChatSlot, Talker, WorkerUse};

/// The maximum number of runs that are searched for workers.
const MAX_EXAMINED: usize = 5000;

/// The maximum number of offered workers from earlier runs. Together with named workers, twice as many are offered.
const MAX_WORKERS: usize = 100;

/// The maximum number of shown characters of the first message.
const MAX_QUOTE_CHARS: usize = 160;

/// Returns the open conversations, or those that have ended, newest first.
///
/// # Errors
/// When the store cannot be read.
pub fn chats(
    daemon: &HostDaemon,
    open: bool,
    below: Option<RunNumber>,
    limit: usize,
) -> Result<Vec<ChatRow>, Failure> {
    let limit = limit.min(runs::MAX_ROWS);
    let mut rows = Vec::new();
    runs::for_each_run(daemon, below, |run| {
        if rows.len() < limit && run.shape == Shape::Chat && run.is_finished() != open {
            rows.push(row(daemon, run)?);
        }
        Ok(rows.len() < limit)
    })?;
    Ok(rows)
}

fn row(daemon: &HostDaemon, run: Run) -> Result<ChatRow, Failure> {
    let (mut said, mut last_ms) = (None, run.started_ms);
    runs::for_each_step(daemon, run.number, 0, |step| {
        if let Entry::Said { text, .. } = step.entry {
            said = Some(Untrusted::new(text.raw().chars().take(MAX_QUOTE_CHARS).collect::<String>()));
        }
        said.is_none()
    })?;
    runs::for_each_step(daemon, run.number, run.next_step.saturating_sub(1), |step| {
        last_ms = step.at_ms;
        true
    })?;
    Ok(ChatRow { run: runs::summary(daemon, run), said, last_ms })
}

/// Returns the workers that the user can choose for this use: those that have run, and those that the user has a name
/// for.
///
/// # Errors
/// When the store cannot be read.
pub fn known_workers(daemon: &HostDaemon, purpose: WorkerUse) -> Result<Vec<Talker>, Failure> {
    let (mut latest, mut looked_at): (BTreeMap<String, Run>, usize) = (BTreeMap::new(), 0);
    let bare = BlobHash::of(TALKER.as_bytes());
    runs::for_each_run(daemon, None, |run| {
        looked_at += 1;
        if !run.is_agent_journal() && run.definition != bare && !run.forgotten && latest.len() < MAX_WORKERS {
            latest.entry(run.name.clone()).or_insert(run);
        }
        Ok(looked_at < MAX_EXAMINED)
    })?;
    let mut found = Vec::new();
    for run in latest.into_values() {
        let wanted = worker_setup(daemon, &ChatPartner::Run { run: run.number }, purpose);
        found.extend(wanted.ok().map(|wanted| chat_partner(&wanted, Some(run.number), None)));
    }
    for row in daemon.query(|txn| picks::all(txn, &daemon.view(daemon.host)))? {
        if row.kind == "worker" && found.len() < 2 * MAX_WORKERS {
            let wanted = worker_setup(daemon, &ChatPartner::Named { path: row.path.clone() }, purpose);
            found.extend(wanted.ok().map(|wanted| chat_partner(&wanted, None, Some(row.path))));
        }
    }
    Ok(found)
}

fn chat_partner(wanted: &ChatSetup, run: Option<RunNumber>, path: Option<String>) -> Talker {
    let slots = wanted.slots.iter().map(|slot| slot.name.clone()).collect();
    Talker { name: wanted.name.clone(), run, path, slots }
}

/// Returns the inputs and slots that the user must fill to use a worker.
///
/// # Errors
/// When there is no such worker, its file has an error, or it cannot be used so.
pub fn worker_setup(
    daemon: &HostDaemon,
    with: &ChatPartner,
    purpose: WorkerUse,
) -> Result<ChatSetup, Failure> {
    let (mut beside, mut policy) = (None, None);
    let bundle = match with {
        ChatPartner::Model => bundle("chat", TALKER.to_owned()),
        ChatPartner::Text { name, source } => bundle(name, source.clone()),
        ChatPartner::Run { run } => {
            let run = runs::load_run(daemon, *run)?;
            // The run was subject to this policy, and so is a new conversation with its worker.
            policy = run.includes.get(NAME).map(|hash| mail::worker_text(daemon, hash)).transpose()?;
            chat_message::bundle(daemon, &run)?
        }
        ChatPartner::Named { path } => worker_by_name(daemon, path)?,
        ChatPartner::File { path } => {
            let file = Path::new(path);
            if !file.is_absolute() {
                return Err(place::relative_path_failure(path));
            }
            daemon.protected_paths.check(file)?;
            beside = file.parent().and_then(Path::to_str).map(str::to_owned);
            worker_file::load(file)?
        }
    };
    let definition = worker_files::parse(&bundle).map_err(|failure| match with {
        // The text of a worker file comes without the files beside it.
        ChatPartner::Text { .. } if failure.message.raw().contains("include") => {
            failure.help("what it includes lies beside it: write the path of the file instead")
        }
        _ => failure,
    })?;
    if purpose == WorkerUse::Chat {
        documents::expect_chat_worker(&definition)?;
    }
    Ok(setup_of_worker(definition, bundle, beside, policy))
}

fn bundle(name: &str, source: String) -> Bundle {
    let (file, includes) = (format!("{name}.worker"), BTreeMap::new());
    Bundle { name: name.to_owned(), file, source, includes }
}

fn setup_of_worker(
    definition: Definition,
    bundle: Bundle,
    beside: Option<String>,
    policy: Option<String>,
) -> ChatSetup {
    let lies_somewhere = beside.is_some();
    let slot = |slot: &worker::definition::Slot| ChatSlot {
        name: slot.name.clone(),
        words: slot.label.as_deref().map(Untrusted::new),
        kind: slot.kind.to_string(),
        is_directory: matches!(slot.kind, Kind::Dir { .. } | Kind::Outbox),
        is_changed: slot.kind == Kind::Dir { write: true },
        example: slot.kind.row().is_typed().then(|| slot.kind.row().example_from_root()),
        // A worker for the slot can be found beside the file, if there is a file.
        is_needed: slot.kind.row().is_typed() && !(slot.kind == Kind::Worker && lies_somewhere),
    };
    ChatSetup {
        name: bundle.name,
        source: bundle.source,
        includes: bundle.includes,
        beside,
        policy,
        description: definition.description.as_deref().map(Untrusted::new),
        input: definition.input.to_value(),
        slots: definition.slots.iter().map(slot).collect(),
        documents: definition.attachments.max,
        limits: definition.limits,
        model: definition.model.as_deref().map(Untrusted::new),
    }
}

/// Returns the worker behind one of the user's names.
fn worker_by_name(daemon: &HostDaemon, path: &str) -> Result<Bundle, Failure> {
    let parsed = NamePath::parse(path)
        .map_err(|error| Failure::from_error(Exit::Invalid, error).help("choose one of the list"))?;
    let view = daemon.view(daemon.host);
    let formula = daemon.query(|txn| {
        let id = view.identify(txn, &parsed)?;
        Ok(table::reach(txn, &id)?.map(|reached| reached.formula))
    })?;
    match formula {
        Some(Formula::Worker { name, definition, includes, model: None, .. }) => {
            let texts = includes.iter().filter(|(name, _)| *name != NAME);
            let texts = texts.map(|(name, hash)| Ok((name.clone(), mail::worker_text(daemon, hash)?)));
            Ok(Bundle {
                file: format!("{name}.worker"),
                name,
                source: mail::worker_text(daemon, &definition)?,
                includes: texts.collect::<Result<_, Failure>>()?,
            })
        }
        _ => Err(Failure::new(Exit::Invalid, format!("`{}` is no worker", visible_line(path)))
            .help("choose one of the list")),
    }
}

#[cfg(test)]
mod tests {
    use resource::KINDS;

    use super::*;
    use crate::runs::bind;

    #[test]
    fn page_and_command_line_show_the_same_example() {
        for row in KINDS {
            let source = format!("---\nslots: {{ x: {} }}\n---\nDo it.\n", row.label);
            let bundle = bundle("w", source);
            let wanted = setup_of_worker(worker_files::parse(&bundle).unwrap(), bundle, None, None);
            let help = bind::unbound_slot("x", None, row.kind).help;
            match &wanted.slots[0].example {
                Some(example) => {
                    let relative = example.replace("/PATH/FILE", "FILE").replace("/PATH", "PATH");
                    assert_eq!(help, format!("bind it with `-e x={relative}`"));
                }
                None => assert!(!row.is_typed(), "{}", row.label),
            }
        }
    }
}
