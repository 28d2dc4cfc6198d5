//! The additions of a person to a worker that a run is about to make: the contents of slots, and a changed text.

use std::collections::BTreeMap;

use kernel::command::Addition;
use kernel::formula::Formula;
use kernel::message::{ApprovalEntry, Body};
use kernel::proposal::Proposal;
use kernel::run::Entry;
use kernel::slot::Requirement;
use kernel::table::ResolvedReference;
use kernel::{FormulaId, MessageNumber, NamePath, Pattern};
use kernel::{query, table};
use passable::{Untrusted, visible_line};
use worker::definition::Definition;

use super::{start, worker_preview};
use crate::state::blobs;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::powers::{ApprovalExtras, ExtrasPreview};
use control::protocol::StartSpec;
use control::show::difference;
use resource::{Endowment, Kind, ResourceSpec};

fn is_empty(added: &ApprovalExtras) -> bool {
    added.endow.is_empty() && added.names.is_empty() && added.allow.is_empty() && added.edited.is_none()
}

/// Checks a person's additions to the worker that these entries of a card make. Returns them ready for the kernel, or
/// `None` if there is nothing to add.
///
/// # Errors
/// When a slot that only a person can fill is left empty, or an addition does not fit.
pub fn check_extras(
    daemon: &HostDaemon,
    message: MessageNumber,
    entries: Option<&[usize]>,
    added: ApprovalExtras,
) -> Result<Option<Addition>, Failure> {
    let (makings, answered) = worker_proposals(daemon, message, entries)?;
    // An entry that was answered before takes no additions. The kernel reports that it was answered.
    if makings.is_empty() && answered {
        return Ok(None);
    }
    let [making] = makings.as_slice() else {
        let has_open = |making: &Proposal| making.args.get(2).is_some_and(has_null);
        if is_empty(&added) && !makings.iter().any(has_open) {
            return Ok(None);
        }
        let what = match makings.is_empty() {
            true => format!("message {message} makes no worker: nothing can be added to it"),
            false => format!("message {message} makes several workers: approve them one by one"),
        };
        return Err(Failure::new(Exit::Usage, what)
            .help(format!("`almoner inbox {message}` shows it; `--only N` names one entry")));
    };
    let (name, mut definition) = worker_with_extras(making, &added)?;
    let missing = missing_slots(&definition, making, &added);
    if let Some(slot) = missing.first() {
        let shown = visible_line(slot);
        let nothing = format!("nothing fills the slot `{shown}` of the worker `{}`", visible_line(&name));
        return Err(Failure::new(Exit::Usage, nothing)
            .help(format!("`almoner approve {message} -e {shown}=PATH`, or deny it")));
    }
    if is_empty(&added) {
        return Ok(None);
    }
    let ApprovalExtras { endow, names, seen, allow, edited } = added;
    let seen = expected_names(daemon, &definition, &names, seen)?;
    let bindings = bind_slots(daemon, &mut definition, &name, endow, allow, &names, false)?;
    let edited = match edited {
        Some(text) => Some(blobs::upload(daemon, text.as_bytes())?),
        None => None,
    };
    Ok(Some(Addition { bindings, edited, seen }))
}

/// Returns a preview of the worker that an entry would make with these additions. Nothing is recorded.
///
/// # Errors
/// When the entry makes no worker, was answered, or an addition does not fit.
pub fn preview_extras(
    daemon: &HostDaemon,
    message: MessageNumber,
    entry: usize,
    added: ApprovalExtras,
) -> Result<ExtrasPreview, Failure> {
    let (makings, _) = worker_proposals(daemon, message, Some(&[entry]))?;
    let [proposal] = makings.as_slice() else {
        let what = format!(
            "entry {} of message {message} makes no worker that waits for you",
            entry.saturating_add(1)
        );
        return Err(Failure::new(Exit::Conflict, what)
            .help(format!("`almoner inbox {message}` shows what it is now")));
    };
    let (name, mut definition) = worker_with_extras(proposal, &added)?;
    let run = daemon.read(|txn| table::run(txn, &daemon.host.number, proposal.run))?;
    let run = run.ok_or_else(|| Failure::new(Exit::NotFound, format!("there is no run {}", proposal.run)))?;
    let own = proposal.args.get(1).and_then(kernel::Value::as_str).unwrap_or_default();
    let text = added.edited.as_deref().unwrap_or(own);
    let mut making = worker_preview::preview(daemon, &run, &definition, proposal, text);
    let differs = added.edited.is_some().then(|| difference::lines(own, text));
    making.edited = differs.map(Untrusted::new);
    let missing = missing_slots(&definition, proposal, &added);
    let ApprovalExtras { endow, names, seen, allow, .. } = added;
    let seen = expected_names(daemon, &definition, &names, seen)?;
    let bindings = bind_slots(daemon, &mut definition, &name, endow, allow, &names, true)?;
    let grants = worker_preview::chosen_fills(daemon, &Addition { bindings, edited: None, seen });
    Ok(ExtrasPreview { making, missing, grants })
}

/// Returns the name and the definition of a proposed worker, with the changed text if there is one.
fn worker_with_extras(proposal: &Proposal, added: &ApprovalExtras) -> Result<(String, Definition), Failure> {
    let text = |index: usize| proposal.args.get(index).and_then(kernel::Value::as_str).unwrap_or_default();
    let name = text(0).to_owned();
    let definition = worker_preview::definition(&name, added.edited.as_deref().unwrap_or(text(1)))?;
    Ok((name, definition))
}

/// Returns the slots that only a person can fill and that are still empty.
fn missing_slots(definition: &Definition, proposal: &Proposal, added: &ApprovalExtras) -> Vec<String> {
    let is_bound = |slot: &String| {
        added.names.contains_key(slot) || added.endow.iter().any(|endowment| endowment.slot == *slot)
    };
    let open = worker::open_slots(definition, &proposal.args);
    open.into_iter().filter(|slot| !is_bound(slot)).collect()
}

/// Returns the formulas behind the names that fill slots. Fails if a name no longer leads to the formula that the
/// person has seen, or cannot fill its slot.
fn expected_names(
    daemon: &HostDaemon,
    definition: &Definition,
    names: &BTreeMap<String, NamePath>,
    seen: BTreeMap<String, FormulaId>,
) -> Result<Vec<(NamePath, FormulaId)>, Failure> {
    let view = daemon.view(daemon.host);
    let mut all = Vec::new();
    for (slot, path) in names {
        let shown = path.to_string();
        let (id, reached) = daemon.query(|txn| {
            let id = view.identify(txn, path)?;
            Ok((id, table::reach(txn, &id)?))
        })?;
        if seen.get(slot).is_some_and(|seen| *seen != id) {
            let what = format!("`{}` stands for something else than you have seen", visible_line(&shown));
            return Err(Failure::new(Exit::Conflict, what).help("look again, and choose again"));
        }
        let Some(kind) = definition.slot(slot).map(|slot| slot.kind) else { continue };
        let want = Requirement::from_pattern(&Pattern::remotable(kind.to_string()));
        let can_write =
            |reached: &ResolvedReference| reached.grants.iter().all(|grant| grant.allows("write"));
        let fits = reached.as_ref().is_some_and(|reached| {
            want.takes(&reached.formula)
                && (want != Requirement::Kind(Kind::Dir { write: true }) || can_write(reached))
        });
        if !fits {
            let words =
                reached.map_or_else(|| "gone".to_owned(), |reached| query::describe(&reached.formula));
            let what = format!(
                "slot `{slot}` wants {kind}, and `{}` is {}",
                visible_line(&shown),
                visible_line(&words)
            );
            return Err(Failure::new(Exit::Invalid, what).help("choose something else for it"));
        }
        all.push((path.clone(), id));
    }
    Ok(all)
}

/// Returns whether a record of slots leaves any of them to a person, by the value `null`.
fn has_null(slots: &kernel::Value) -> bool {
    slots.as_record().is_some_and(|slots| slots.iter().any(|(_, value)| *value == kernel::Value::Null))
}

/// Returns the proposals among these entries that make workers and wait for an answer. Also returns whether any other
/// proposal of a worker was already answered.
fn worker_proposals(
    daemon: &HostDaemon,
    message: MessageNumber,
    entries: Option<&[usize]>,
) -> Result<(Vec<Proposal>, bool), Failure> {
    daemon.read(|txn| {
        let (owner, mut makings, mut answered) = (daemon.host.number, Vec::new(), false);
        let none = (vec![], false);
        let Some(letter) = query::message(txn, &daemon.host, message)? else { return Ok(none) };
        let Some(Body::Approval { entries: asked, .. }) = letter.body() else { return Ok(none) };
        let chosen = asked.iter().enumerate().filter(|(i, _)| entries.is_none_or(|only| only.contains(i)));
        for (i, ApprovalEntry { proposal: at, .. }) in chosen {
            let Some(step) = table::step(txn, &owner, *at)? else { continue };
            let Entry::Proposed { proposal, .. } = step.entry else { continue };
            let reached = table::reach(txn, &proposal.grant)?;
            if reached.is_some_and(|reached| reached.formula == Formula::Workshop) {
                match letter.mail.needs_you && !letter.mail.answers.contains_key(&i) {
                    true => makings.push(*proposal),
                    false => answered = true,
                }
            }
        }
        Ok((makings, answered))
    })
}

/// Returns a person's bindings for slots of a worker that is being made, or of a run that has begun.
///
/// # Errors
/// When a binding does not fit.
pub(crate) fn bind_slots(
    daemon: &HostDaemon,
    definition: &mut Definition,
    name: &str,
    endow: Vec<Endowment>,
    allow: Vec<String>,
    names: &BTreeMap<String, NamePath>,
    dry_run: bool,
) -> Result<Vec<kernel::command::Binding>, Failure> {
    let slots = endow.iter().map(|endowment| &endowment.slot).chain(names.keys());
    if let Some(unknown) = slots.into_iter().find(|slot| definition.slot(slot).is_none()) {
        let message = format!("`{}` has no slot `{}`", visible_line(name), visible_line(unknown));
        let known: Vec<_> = definition.slots.iter().map(|slot| slot.name.as_str()).collect();
        return Err(Failure::new(Exit::Usage, message).help(format!("its slots: {}", known.join(", "))));
    }
    let staged = |endowment: &&Endowment| matches!(&endowment.fill, ResourceSpec::Path(path) if path.stage);
    if let Some(Endowment { slot, .. }) = endow.iter().find(staged) {
        let message =
            format!("slot `{}`: a staged copy belongs to the run that begins with it", visible_line(slot));
        return Err(
            Failure::new(Exit::Usage, message).help(format!("say `-e {}=PATH:rw`", visible_line(slot)))
        );
    }
    // The other slots are filled by the run that makes the worker.
    let is_bound = |slot: &str| endow.iter().any(|endowment| endowment.slot == slot);
    definition.slots.retain(|slot| is_bound(&slot.name) || names.contains_key(&slot.name));
    definition.creates = false;
    let spec = StartSpec { endow, allow, dry_run, ..StartSpec::default() };
    start::bindings(daemon, definition, &spec, names)
}
