//! Make: a run that has the right to do so makes a worker, and gives it some of its own authority.
//!
//! The worker holds grants of its maker's grants, which end when the maker's grants end. They have no method that the
//! maker may not call. A method that the maker may call without approval needs approval here, except in a staged
//! copy.

use std::collections::{BTreeMap, BTreeSet};

use passable::{Quoting, quoting};

use crate::command::{Addition, Fault, Program, SlotGrant};
use crate::formula::Formula;
use crate::grant::{Attenuation, Grant};
use crate::id::{BlobHash, FormulaId, GrantNumber, MessageNumber, StepRef};
use crate::proposal::{Finding, Proposal, Value};
use crate::provenance::{Provenance, Source};
use crate::run::{Completion, Entry, Run};
use crate::state::State;
use crate::table;

use super::kernel_call::{KernelCall, find_kernel_call};

/// The maximum number of workers that one run makes.
const MAX_ITEMS: usize = 32;

/// The method by which a worker is called.
const CALL: &str = "call";

/// The content of one slot of a new worker: the maker's grant, and the part of it that the worker is given.
struct SlotGift {
    own: Grant,
    given: SlotGrant,
}

/// Makes the worker, or refuses the call. A person was shown this worker, so no part of it may differ.
pub(super) fn make(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    program: Program,
    slots: BTreeMap<String, SlotGrant>,
) -> Result<(), Fault> {
    let KernelCall { at, outbox, proposal } = find_kernel_call(state, run, step, &Formula::Workshop)?;
    let addition = run.additions.remove(&step);
    expect_shown(at, &proposal, &program, addition.as_ref().and_then(|(_, addition)| addition.edited))?;
    let was_edited = addition.as_ref().is_some_and(|(_, addition)| addition.edited.is_some());
    run.open.remove(&step);
    state.unpost(outbox)?;
    let gifts = match otherwise(state, addition.as_ref())? {
        Some(finding) => Err(finding),
        None => gifts(state, run, &program.name, slots)?,
    };
    let gifts = match gifts {
        Ok(gifts) => gifts,
        Err(finding) => {
            let completion = Completion::Refused(vec![finding]);
            state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::default())?;
            return Ok(());
        }
    };
    let name = program.name.clone();
    let worker = put(state, run, &proposal, program, gifts, addition)?;
    let grant = Grant {
        id: state.fresh_id(),
        number: GrantNumber(0),
        target: worker,
        words: format!("worker {name}"),
        holder: run.worker,
        owner: state.me(),
        slot: name.clone(),
        methods: [CALL.to_owned()].into(),
        attenuation: Attenuation::default(),
        allow: Default::default(),
        ask: Default::default(),
        source: source_of(run),
        given_ms: state.env.now_ms(),
        expires_ms: None,
        revoked_ms: None,
        revoked_by: None,
    };
    let grant = state.make_grant(grant, Some(run.number))?.id;
    state.keep_made(run, &name, &grant)?;
    run.grants.insert(name.clone(), grant);
    run.made.insert(name.clone());
    let provenance = proposal.provenance.clone();
    let mut said = BTreeMap::from([("worker".into(), Value::string(name))]);
    if was_edited {
        let told = "the user has changed its file before agreeing to it";
        said.insert("edited".into(), Value::string(told));
    }
    let value = Value::record_from_map(said);
    let completion = Completion::Done { value, provenance: provenance.clone() };
    state.journal(run, Entry::Completed { proposal: step, completion }, provenance)?;
    Ok(())
}

/// Refuses a worker that differs from the one that a person was shown.
fn expect_shown(
    at: StepRef,
    proposal: &Proposal,
    program: &Program,
    edited: Option<BlobHash>,
) -> Result<(), Fault> {
    let text = |index: usize| proposal.args.get(index).and_then(Value::as_str).unwrap_or_default();
    let shown = edited.unwrap_or_else(|| BlobHash::of(text(1).as_bytes()));
    let is_shown = text(0) == program.name && shown == program.definition && program.includes.is_empty();
    match is_shown {
        true => Ok(()),
        false => Err(Fault::OutOfOrder { at, what: "the worker is another one than was proposed" }),
    }
}

/// Returns a finding if a name that the person chose for a slot no longer stands for the same formula.
fn otherwise(
    state: &mut State<'_>,
    addition: Option<&(MessageNumber, Addition)>,
) -> Result<Option<Finding>, Fault> {
    for (path, id) in addition.into_iter().flat_map(|(_, addition)| &addition.seen) {
        let found = match state.find(path) {
            Err(Fault::Store(fault)) => return Err(fault.into()),
            found => found.ok(),
        };
        if found != Some(*id) {
            let message = "what the user has chosen for a slot is something else by now";
            return Ok(Some(
                Finding::new("worker/slot", message).at("slots").allowed("another worker, or the same again"),
            ));
        }
    }
    Ok(None)
}

/// Returns the content of the slots, or the reason why they cannot be filled.
fn gifts(
    state: &mut State<'_>,
    run: &Run,
    name: &str,
    slots: BTreeMap<String, SlotGrant>,
) -> Result<Result<BTreeMap<String, SlotGift>, Finding>, Fault> {
    if run.made.len() >= MAX_ITEMS {
        let message = Quoting::ours(format!("this run has made {MAX_ITEMS} workers, and makes no more"));
        return Ok(Err(Finding::new("worker/many", message).allowed("those that are there")));
    }
    if run.grants.contains_key(name) || super::write::is_wished(state, run, name)? {
        let message = quoting!("there is a slot or a worker `{}` already", name);
        return Ok(Err(Finding::new("worker/name", message).at("name").allowed("another name")));
    }
    let mut gifts = BTreeMap::new();
    for (slot, given) in slots {
        let not_held = |from: &str| {
            let message = quoting!("slot `{}` cannot be given `{}`: this run does not hold it", slot, from);
            let own: Vec<_> = run.grants.keys().map(String::as_str).collect();
            Finding::new("worker/slot", message).at("slots").allowed(own.join(", "))
        };
        let Some(id) = run.grants.get(&given.from) else { return Ok(Err(not_held(&given.from))) };
        let own = table::reach(state.txn, id)?.and_then(|reached| reached.grant());
        let Some(own) = own else { return Ok(Err(not_held(&given.from))) };
        let more = given.methods.iter().find(|method| !own.allows(method));
        if let Some(method) = more.filter(|_| !planted!(state.env, MadeWorkerMayMore)) {
            let message = quoting!("`{}` was given to this run without `{}`", given.from, method);
            let held: Vec<_> = own.methods.iter().map(String::as_str).collect();
            return Ok(Err(Finding::new("worker/method", message).at("slots").allowed(held.join(", "))));
        }
        gifts.insert(slot, SlotGift { own, given });
    }
    Ok(Ok(gifts))
}

/// Makes the worker with its grants, and returns it.
fn put(
    state: &mut State<'_>,
    run: &Run,
    proposal: &Proposal,
    program: Program,
    gifts: BTreeMap<String, SlotGift>,
    addition: Option<(MessageNumber, Addition)>,
) -> Result<FormulaId, Fault> {
    let worker = state.fresh_id();
    let mut grants = Vec::new();
    let mut filled = BTreeSet::new();
    if let Some((source, addition)) = addition {
        for binding in addition.bindings {
            filled.insert(binding.slot.clone());
            grants.push(super::start::endow(state, worker, run.number, source, binding)?);
        }
    }
    for (slot, SlotGift { own, given }) in gifts {
        // A person's addition to this slot replaces the maker's own grant.
        if filled.contains(&slot) {
            continue;
        }
        // Changes in a staged copy need no approval here: a person approves them when the copy is put in place.
        let allow = match own.attenuation.staged_from {
            Some(_) => own.allow.intersection(&given.methods).cloned().collect(),
            None => BTreeSet::new(),
        };
        let grant = Grant {
            id: state.fresh_id(),
            number: GrantNumber(0),
            target: own.id,
            words: own.words,
            holder: worker,
            owner: state.me(),
            slot,
            methods: given.methods,
            attenuation: Attenuation::default(),
            allow,
            ask: own.ask.union(&given.ask).cloned().collect(),
            source: source_of(run),
            given_ms: state.env.now_ms(),
            expires_ms: None,
            revoked_ms: None,
            revoked_by: None,
        };
        grants.push(state.make_grant(grant, Some(run.number))?.id);
    }
    let bytes = proposal.args.get(1).and_then(Value::as_str).map_or(0, str::len);
    let known = proposal.provenance.join(&Provenance::of(Source::Run(run.number)));
    state.note_blob(program.definition, bytes as u64, &known)?;
    let Program { name, definition, includes, limits } = program;
    let made_by = Some(run.number);
    let formula = Formula::Worker {
        name,
        definition,
        includes,
        limits,
        grants,
        made_by,
        lends: false,
        model: None,
        pooled: false,
    };
    state.put_formula(worker, formula, known)?;
    Ok(worker)
}

fn source_of(run: &Run) -> Option<MessageNumber> {
    run.cause()
}

/// Returns the grants that a worker holds when it is called, by slot. A worker holds grants if a run has made it, or
/// if a person has filled its slots for its callers. Other workers hold nothing: a person's endowments were for that
/// one run.
pub(super) fn held_by(
    state: &mut State<'_>,
    grants: &[FormulaId],
    lends: bool,
) -> Result<BTreeMap<String, FormulaId>, Fault> {
    let mut held = BTreeMap::new();
    if !lends {
        return Ok(held);
    }
    for id in grants {
        if let Some(grant) = table::grant(state.txn, id)? {
            held.insert(grant.slot, *id);
        }
    }
    Ok(held)
}
