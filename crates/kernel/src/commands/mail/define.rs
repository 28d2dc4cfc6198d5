//! Define and endow: an agent proposes a program, which does nothing at first. A host then gives it the things that
//! it needs.

use std::collections::{BTreeMap, BTreeSet};

use passable::Untrusted;

use crate::command::{Define, Fault, Reply, Start, Target, Text};
use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId, MessageNumber};
use crate::message::{Answer, Body};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::provenance::{Provenance, Source};
use crate::run::{Delivery, ResultGoesTo};
use crate::slot::{Requirement, Slot};
use crate::state::{LoadedMessage, State};
use crate::table::{self, PromiseRow};

use super::call::{Call, ask, asker, attach, number_of, recipient, wrong_kind};
use super::evaluate::{Code, park};
use super::slot_check::{check_slot, check_slots, pattern};

pub(super) fn define(state: &mut State<'_>, act: Define) -> Result<Reply, Fault> {
    let mut call = Call::of("define");
    call.data(&(&act.to, &act.program.slots))?;
    call.part(act.program.source.raw().as_bytes());
    call.data(&act.program.worker)?;
    if let Some(reply) = attach(state, act.result_name.as_ref(), &call)? {
        return Ok(reply);
    }
    let to = recipient(state, &act.to)?;
    let definition = make(state, act.program, None)?;
    ask(state, &to, &call, act.result_name.as_ref(), |promise, resolver| Body::Definition {
        definition,
        promise,
        resolver,
        by: None,
    })
}

fn make(state: &mut State<'_>, program: Text, original: Option<FormulaId>) -> Result<FormulaId, Fault> {
    let Text { source, worker, slots } = program;
    check_slots(&slots, worker.is_none())?;
    let mut said = state.said()?;
    if let Some(original) = &original {
        // A changed copy keeps the provenance of the original as well.
        said = said.join(&state.provenance_of(original)?);
    }
    if let Some(program) = &worker {
        // The text that a person reads must be the program that runs.
        if program.definition != BlobHash::of(source.raw().as_bytes()) {
            return Err(Fault::Misfit { what: "the worker's text is not what its digest says".to_owned() });
        }
        // The program's bytes lie beside the store already. From here on, their provenance is known.
        state.note_blob(program.definition, source.raw().len() as u64, &said)?;
    }
    state.make(Formula::Definition { source, worker, slots, original }, said)
}

/// The definition in a message, with the promise for its result and with its program.
struct Proposed {
    letter: LoadedMessage,
    definition: FormulaId,
    promise: FormulaId,
    program: Text,
}

fn proposed(state: &mut State<'_>, number: MessageNumber) -> Result<Proposed, Fault> {
    state.hosts_only("endow")?;
    let letter = state.received(number, "only who received it can endow it")?;
    let Body::Definition { definition, promise, .. } = letter.message.body else {
        return Err(wrong_kind(number, &letter.message.body, "only a definition is endowed or edited"));
    };
    // A rejected definition stays rejected. An endowed definition can be endowed again.
    if let Some(Answer::Denied { .. }) = letter.mail.answers.get(&0) {
        return Err(wrong_kind(number, &letter.message.body, "it was rejected"));
    }
    match state.formula(&definition)? {
        Formula::Definition { source, worker, slots, .. } => {
            Ok(Proposed { letter, definition, promise, program: Text { source, worker, slots } })
        }
        _ => Err(Fault::Dangling(definition)),
    }
}

/// Posts a changed copy of a definition to the host itself. The copy is linked to the original and settles the same
/// promise. The agent that proposed the original is told.
pub(super) fn edit(state: &mut State<'_>, number: MessageNumber, mut program: Text) -> Result<Reply, Fault> {
    let mut proposed = proposed(state, number)?;
    // If only the text of code is changed, the code keeps its slots. A worker file states its slots itself.
    if program.slots.is_empty() && program.worker.is_none() && proposed.program.worker.is_none() {
        program.slots.clone_from(&proposed.program.slots);
    }
    let Body::Definition { promise, resolver, ref by, .. } = proposed.letter.message.body else {
        return Err(Fault::Dangling(proposed.definition));
    };
    let by = by.clone();
    let definition = make(state, program, Some(proposed.definition))?;
    let actor = state.actor;
    let reply_to = Some(number_of(&proposed.letter.id));
    let body = Body::Definition { definition, promise, resolver, by };
    let said = state.said()?;
    let posted = state.send(&actor, body, reply_to, true, said.clone())?;
    proposed.letter.mail.needs_you = false;
    proposed.letter.mail.done += 1;
    state.put_mail(number, &proposed.letter.mail)?;
    let over = state.env.surface();
    state.event(crate::event::Change::Answered { number, needs_you: false, over })?;
    let creator = asker(state, &promise)?;
    if creator != actor {
        let told = Untrusted::new("Your definition was edited before it was endowed.");
        let body = Body::Package { strings: vec![told], names: vec![], ids: vec![], run: None };
        state.send(&creator, body, reply_to, false, said)?;
    }
    Ok(Reply::Sent { number: posted })
}

fn check_names<'a>(
    slots: &BTreeMap<String, Slot>,
    bound: impl Iterator<Item = &'a str>,
) -> Result<(), Fault> {
    let bound: BTreeSet<&str> = bound.collect();
    if let Some(missing) = slots.keys().find(|slot| !bound.contains(slot.as_str())) {
        return Err(Fault::Misfit { what: format!("slot {missing:?} is not bound") });
    }
    match bound.iter().find(|name| !slots.contains_key(**name)) {
        Some(unknown) => Err(Fault::Misfit { what: format!("there is no slot {unknown:?}") }),
        None => Ok(()),
    }
}

/// Returns whether the formula is a promise that has not settled.
fn is_pending(state: &mut State<'_>, id: &FormulaId) -> Result<bool, Fault> {
    let (end, formula) = state.behind(id)?;
    Ok(matches!(formula, Formula::Promise { .. })
        && matches!(table::promise(state.txn, &end)?, Some(PromiseRow::Pending)))
}

pub(super) fn endow_code(
    state: &mut State<'_>,
    number: MessageNumber,
    bindings: BTreeMap<String, NamePath>,
    vat: Option<&NamePath>,
    goes_to: ResultGoesTo,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let proposed = proposed(state, number)?;
    let Proposed { letter, promise, program, .. } = proposed;
    if program.worker.is_some() {
        return Err(wrong_kind(number, &letter.message.body, "it is a worker: endow it as one"));
    }
    check_names(&program.slots, bindings.keys().map(String::as_str))?;
    let (mut ids, mut expects) = (BTreeMap::new(), BTreeMap::new());
    for (name, path) in &bindings {
        let id = state.resolve(path)?;
        if let Some(slot) = program.slots.get(name) {
            check_slot(state, name, slot, &id)?;
            // A slot that takes promises takes any value of theirs; for other slots, the value is checked once the
            // promise settles.
            let takes_promises = pattern(&slot.pattern, name)?.matches(&Value::promise(id));
            if !takes_promises && is_pending(state, &id)? {
                expects.insert(name.clone(), slot.pattern.clone());
            }
        }
        ids.insert(name.clone(), id);
    }
    let guest = asker(state, &promise)?;
    let delivery = Delivery { guest, promise, goes_to, message: number };
    // Code that a run has written is not its host's own code, and does not run beside that code.
    let author = match &letter.message.body {
        Body::Definition { by: Some(draft), .. } => Some(number_of(&state.run(draft.run)?.id)),
        _ => None,
    };
    let reply = park(
        state,
        Code {
            author,
            expects,
            source: program.source,
            modules: None,
            ids,
            vat: vat.cloned(),
            source_message: Some(number),
        },
        Some(delivery),
        result_name,
    )?;
    let Reply::CodeQueued { eval, promise: result } = reply else { return Err(Fault::Dangling(promise)) };
    state.mark_endowed(letter, eval, result)?;
    Ok(reply)
}

pub(super) fn endow_worker(
    state: &mut State<'_>,
    number: MessageNumber,
    start: Start,
    goes_to: ResultGoesTo,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let Proposed { letter, promise, program, definition } = proposed(state, number)?;
    let Some(worker) = &program.worker else {
        return Err(wrong_kind(number, &letter.message.body, "it is code, not a worker"));
    };
    // The person endows the proposed worker, byte for byte, not another one of the same name.
    if (&worker.definition, &worker.includes) != (&start.worker.definition, &start.worker.includes) {
        return Err(Fault::Misfit { what: format!("this is not the worker of message {number}") });
    }
    // The right to make workers fills no slot of the program, so the binding of that right is not compared.
    let named = start.bindings.iter().filter(|binding| binding.target != Target::Workshop);
    check_names(&program.slots, named.map(|binding| binding.slot.as_str()))?;
    for binding in &start.bindings {
        let Some(slot) = program.slots.get(&binding.slot) else { continue };
        match &binding.target {
            Target::Named { path } => {
                let id = state.find(path)?;
                check_slot(state, &binding.slot, slot, &id)?;
            }
            Target::Resource(resource) => {
                check_kind(&binding.slot, slot, &Formula::Resource(resource.clone()))?;
            }
            Target::Workshop => check_kind(&binding.slot, slot, &Formula::Workshop)?,
            Target::Model { program, model } => {
                let formula = Formula::Worker {
                    name: program.name.clone(),
                    definition: program.definition,
                    includes: program.includes.clone(),
                    limits: program.limits,
                    grants: vec![],
                    made_by: None,
                    lends: true,
                    model: Some(model.clone()),
                    pooled: true,
                };
                check_kind(&binding.slot, slot, &formula)?;
            }
            Target::Myself => check_kind(&binding.slot, slot, &Formula::Myself)?,
            Target::Worker(program) | Target::Endowed { program, .. } => {
                let formula = Formula::Worker {
                    name: program.name.clone(),
                    definition: program.definition,
                    includes: program.includes.clone(),
                    limits: program.limits,
                    grants: vec![],
                    made_by: None,
                    lends: false,
                    model: None,
                    pooled: false,
                };
                check_kind(&binding.slot, slot, &formula)?;
            }
        }
    }
    let guest = asker(state, &promise)?;
    let delivery = Delivery { guest, promise, goes_to, message: number };
    let mut known = state.provenance_of(&definition)?;
    if guest != state.actor {
        // A host's own words are trusted where that host works, and nowhere else.
        known = known.join(&Provenance::of(Source::Agent(number_of(&guest))));
    }
    let (reply, result) = crate::commands::start::start_for(state, start, Some(delivery), &known)?;
    if let Some(path) = result_name {
        let spot = state.own_spot(path)?;
        state.name(&spot, &result)?;
    }
    let Reply::Started { run } = reply else { return Err(Fault::Dangling(result)) };
    let run = state.run(run)?.id;
    state.mark_endowed(letter, run, result)?;
    Ok(reply)
}

fn check_kind(name: &str, slot: &Slot, formula: &Formula) -> Result<(), Fault> {
    let want = Requirement::from_pattern(&pattern(&slot.pattern, name)?);
    if want.takes(formula) {
        return Ok(());
    }
    let what = format!("slot {name:?} wants {}, not {}", want.describe(), crate::query::describe(formula));
    Err(Fault::Misfit { what })
}
