//! Start: a person endows a worker and sets it to work.

use std::collections::BTreeMap;

use crate::command::{Binding, Fault, Program, Reply, Start, Target};
use crate::event::Change;
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{FormulaId, MessageNumber, RunNumber};
use crate::message::Body;
use crate::provenance::{Provenance, Source};
use crate::run::{Attachment, Input, Parent, Run, Shape, State as RunState, Usage};
use crate::state::State;
use crate::table::PromiseRow;

pub(super) fn start(state: &mut State<'_>, start: Start) -> Result<Reply, Fault> {
    let number = RunNumber(state.count("next_run")?);
    let body = Body::Command { verb: "run".to_owned(), text: start.text, run: Some(number) };
    let source = state.deliver(body, None, false, Provenance::host())?;
    let worker = state.fresh_id();
    let mut grants = BTreeMap::new();
    for binding in start.bindings {
        let slot = binding.slot.clone();
        let grant = endow(state, worker, number, source, binding)?;
        grants.insert(slot, grant);
    }
    let Program { name, definition, includes, limits } = start.worker;
    let formula = Formula::Worker {
        name: name.clone(),
        definition,
        includes: includes.clone(),
        limits,
        grants: grants.values().copied().collect(),
    };
    state.put_formula(worker, formula, Provenance::host())?;
    for document in start.input.attachments.iter().chain(&start.input.items) {
        state.note_blob(document.hash, document.bytes, &provenance_of(document))?;
    }
    let seed = Seed {
        number,
        worker,
        program: Program { name, definition, includes, limits },
        shape: start.shape,
        parent: None,
        depth: 0,
        model: start.model,
        input: start.input,
        grants,
        source,
        provenance: Provenance::host(),
    };
    create(state, seed)?;
    Ok(Reply::Started { run: number })
}

/// Makes the grant of one slot.
fn endow(
    state: &mut State<'_>,
    holder: FormulaId,
    run: RunNumber,
    source: MessageNumber,
    binding: Binding,
) -> Result<FormulaId, Fault> {
    let target = state.fresh_id();
    let formula = match binding.target {
        Target::Mount { path } => Formula::Mount { path },
        Target::Spool { path } => Formula::Spool { path },
        Target::Worker(Program { name, definition, includes, limits }) => {
            Formula::Worker { name, definition, includes, limits, grants: vec![] }
        }
    };
    state.put_formula(target, formula, Provenance::host())?;
    let id = state.fresh_id();
    state.put_formula(id, Formula::Grant { target, holder }, Provenance::host())?;
    state.put_grant(&Grant {
        id,
        target,
        holder,
        slot: binding.slot.clone(),
        methods: binding.methods,
        attenuation: binding.attenuation,
        allow: binding.allow,
        ask: binding.ask,
        source,
        expires_ms: None,
        revoked_ms: None,
    })?;
    state.event(Change::Granted { grant: id, slot: binding.slot, run })?;
    Ok(id)
}

/// What a run is made from.
pub(super) struct Seed {
    pub(super) number: RunNumber,
    pub(super) worker: FormulaId,
    pub(super) program: Program,
    pub(super) shape: Shape,
    pub(super) parent: Option<Parent>,
    pub(super) depth: u32,
    pub(super) model: String,
    pub(super) input: Input,
    pub(super) grants: BTreeMap<String, FormulaId>,
    pub(super) source: MessageNumber,
    pub(super) provenance: Provenance,
}

/// Makes a run that is ready to go, with the promise for its result.
pub(super) fn create(state: &mut State<'_>, seed: Seed) -> Result<(), Fault> {
    let (id, result) = (state.fresh_id(), state.fresh_id());
    let read = seed.input.attachments.iter().map(provenance_of);
    let origins = seed.input.origins.iter().cloned().map(Provenance::of);
    let provenance = read.chain(origins).fold(seed.provenance, |all, one| all.join(&one));
    let formula = Formula::Run { run: seed.number, worker: seed.worker, result };
    state.put_formula(id, formula, provenance.clone())?;
    state.put_formula(result, Formula::Promise, Provenance::host())?;
    state.put_promise(&result, &PromiseRow::Pending)?;
    state.event(Change::RunStarted {
        run: seed.number,
        name: seed.program.name.clone(),
        parent: seed.parent.map(|p| p.run),
    })?;
    let mut run = Run {
        number: seed.number,
        id,
        worker: seed.worker,
        name: seed.program.name,
        definition: seed.program.definition,
        includes: seed.program.includes,
        shape: seed.shape,
        parent: seed.parent,
        depth: seed.depth,
        model: seed.model,
        input: seed.input,
        grants: seed.grants,
        limits: seed.program.limits,
        used: Usage::default(),
        state: RunState::Ready,
        next_step: 1,
        result,
        provenance,
        source: seed.source,
        started_ms: state.env.now_ms(),
        finished_ms: None,
        open: BTreeMap::new(),
        children: BTreeMap::new(),
        drive: None,
    };
    state.make_ready(&mut run)?;
    state.put_run(&run)
}

/// A document says what it likes, whoever handed it over.
pub(super) fn provenance_of(document: &Attachment) -> Provenance {
    Provenance::of(Source::Document { name: document.name.clone(), hash: document.hash })
}
