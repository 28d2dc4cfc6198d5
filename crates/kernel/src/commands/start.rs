//! Start: a person endows a worker and starts a run of it.

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Binding, Fault, Program, Reply, Start, Target, UserCommand};
use crate::event::Change;
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{FormulaId, GrantNumber, MessageNumber, RunNumber};
use crate::provenance::{Provenance, Source};
use crate::run::{Attachment, Delivery, Input, Parent, Run, Shape, State as RunState, Usage};
use crate::run_key::KeyedRequest;
use crate::state::{MessageSubject, State};
use crate::table::{self, KeyedRun};

pub(super) fn start(state: &mut State<'_>, start: Start) -> Result<Reply, Fault> {
    state.hosts_only("start runs")?;
    let key = start.key.clone();
    if let Some(run) = key.as_ref().map(|key| started_before(state, key)).transpose()?.flatten() {
        return Ok(Reply::AlreadyStarted { run });
    }
    let (reply, _) = start_for(state, start, None, &Provenance::host())?;
    if let (Some(KeyedRequest { key, parts }), Reply::Started { run }) = (key, &reply) {
        let owner = state.owner();
        table::put_keyed_run(state.txn, &owner, &key, &KeyedRun { run: *run, parts })?;
    }
    Ok(reply)
}

/// Returns the run that an earlier request with the same key has started. The key outlives the data of the run, so
/// a repetition never starts a second run.
fn started_before(state: &mut State<'_>, request: &KeyedRequest) -> Result<Option<RunNumber>, Fault> {
    let owner = state.owner();
    crate::query::keyed_run(state.txn, &owner, request)
}

/// Starts a run, for the actor alone or for a guest that proposed the worker. `known` is the provenance of the
/// worker. Returns the reply and the promise for the result.
pub(super) fn start_for(
    state: &mut State<'_>,
    start: Start,
    delivery: Option<Delivery>,
    known: &Provenance,
) -> Result<(Reply, FormulaId), Fault> {
    state.hosts_only("start runs")?;
    if start.shape == Shape::AgentJournal {
        return Err(Fault::NotAllowed("the journal of an agent is no run that is started".to_owned()));
    }
    let number = RunNumber(state.count("next_run")?);
    let (run, worker) = (state.fresh_id(), state.fresh_id());
    let verb = if delivery.is_some() { "endow" } else { "run" };
    // The command that endows a proposed worker answers the proposal.
    let answers = match &delivery {
        Some(delivery) => state.message_of(delivery.message)?,
        None => None,
    };
    let said = UserCommand { verb: verb.to_owned(), text: start.text };
    let source =
        state.record_command(said, MessageSubject { answers, run: Some(number), grant: None }, Some(run))?;
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
        made_by: None,
        lends: false,
        model: None,
        pooled: false,
    };
    state.put_formula(worker, formula, known.clone())?;
    for document in start.input.attachments.iter().chain(&start.input.items) {
        state.note_blob(document.hash, document.bytes, &provenance_of(document))?;
    }
    let seed = Seed {
        id: run,
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
        provenance: match start.private {
            true => Provenance::host().join(known).private(),
            false => Provenance::host().join(known),
        },
        delivery,
        has_key: start.key.is_some(),
    };
    let result = create(state, seed)?;
    Ok((Reply::Started { run: number }, result))
}

/// Makes the grant for one slot, and returns it.
pub(super) fn endow(
    state: &mut State<'_>,
    holder: FormulaId,
    run: RunNumber,
    source: MessageNumber,
    binding: Binding,
) -> Result<FormulaId, Fault> {
    let made = |state: &mut State<'_>, formula| state.make(formula, Provenance::host());
    let target = match binding.target.clone() {
        Target::Resource(resource) => made(state, Formula::Resource(resource))?,
        Target::Worker(Program { name, definition, includes, limits }) => made(
            state,
            Formula::Worker {
                name,
                definition,
                includes,
                limits,
                grants: vec![],
                made_by: None,
                lends: false,
                model: None,
                pooled: false,
            },
        )?,
        Target::Endowed { program, bindings } => {
            endowed(state, run, source, Called { program, bindings, model: None })?
        }
        Target::Model { program, model } => {
            endowed(state, run, source, Called { program, bindings: vec![], model: Some(model) })?
        }
        Target::Myself => made(state, Formula::Myself)?,
        Target::Workshop => made(state, Formula::Workshop)?,
        Target::Named { path } => state.resolve(&path)?,
    };
    grant(state, holder, run, source, binding, target)
}

/// A worker that a person gives to callers.
struct Called {
    program: Program,
    bindings: Vec<Binding>,
    /// The worker's own model. If there is one, the worker's limits hold for all calls together.
    model: Option<String>,
}

/// Makes a worker for callers, with grants of its own for its slots.
fn endowed(
    state: &mut State<'_>,
    run: RunNumber,
    source: MessageNumber,
    called: Called,
) -> Result<FormulaId, Fault> {
    let Called { program, bindings, model } = called;
    let worker = state.fresh_id();
    let grants = bindings
        .into_iter()
        .map(|binding| endow(state, worker, run, source, binding))
        .collect::<Result<Vec<_>, Fault>>()?;
    let Program { name, definition, includes, limits } = program;
    let (made_by, lends, pooled) = (None, true, model.is_some());
    let formula =
        Formula::Worker { name, definition, includes, limits, grants, made_by, lends, model, pooled };
    state.put_formula(worker, formula, Provenance::host())?;
    Ok(worker)
}

fn grant(
    state: &mut State<'_>,
    holder: FormulaId,
    run: RunNumber,
    source: MessageNumber,
    binding: Binding,
    target: FormulaId,
) -> Result<FormulaId, Fault> {
    let (_, formula) = state.behind(&target)?;
    let grant = Grant {
        id: state.fresh_id(),
        number: GrantNumber(0),
        target,
        words: match &binding.attenuation.staged_from {
            Some(real) => resource::staged_copy(real),
            None => crate::query::describe_with(&formula, &binding.methods),
        },
        holder,
        owner: state.me(),
        slot: binding.slot,
        methods: binding.methods,
        attenuation: binding.attenuation,
        allow: binding.allow,
        ask: binding.ask,
        source: Some(source),
        given_ms: state.env.now_ms(),
        expires_ms: None,
        revoked_ms: None,
        revoked_by: None,
    };
    Ok(state.make_grant(grant, Some(run))?.id)
}

/// The parts from which a run is made.
pub(super) struct Seed {
    pub(super) id: FormulaId,
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
    pub(super) delivery: Option<Delivery>,
    pub(super) has_key: bool,
}

/// Makes a run that is ready to go. Returns the promise for its result.
pub(super) fn create(state: &mut State<'_>, seed: Seed) -> Result<FormulaId, Fault> {
    let id = seed.id;
    let read = seed.input.attachments.iter().map(provenance_of);
    let origins = seed.input.origins.iter().cloned().map(Provenance::of);
    let earlier = seed.input.earlier.iter();
    let earlier = earlier.map(|earlier| earlier.provenance.join(&Provenance::of(Source::Run(earlier.run))));
    let known = read.chain(origins).chain(earlier);
    let provenance = known.fold(seed.provenance, |all, one| all.join(&one));
    let me = state.me();
    let (result, _) = state.new_promise(me, None)?;
    let mut documents = Vec::new();
    for document in seed.input.attachments.iter().chain(&seed.input.items) {
        let blob = Formula::Blob { hash: document.hash, bytes: document.bytes };
        documents.push(state.make(blob, provenance_of(document))?);
    }
    let formula = Formula::Run { run: seed.number, worker: seed.worker, result, documents };
    state.put_formula(id, formula, provenance.clone())?;
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
        yielded: BTreeMap::new(),
        drive: None,
        delivery: seed.delivery,
        cancelled: None,
        cancelled_by: None,
        principal: None,
        endowed_by: None,
        additions: BTreeMap::new(),
        made: BTreeSet::new(),
        given: BTreeSet::new(),
        written: 0,
        kept_since: 0,
        exhausted: None,
        questions: Default::default(),
        forgotten: false,
        has_key: seed.has_key,
    };
    state.keep_run(&run)?;
    state.make_ready(&mut run)?;
    state.put_run(&run)?;
    Ok(result)
}

/// Returns the provenance of a document. The document itself is the source, even if a person has attached it.
pub(super) fn provenance_of(document: &Attachment) -> Provenance {
    Provenance::of(Source::Document { name: document.name.clone(), hash: document.hash })
}
