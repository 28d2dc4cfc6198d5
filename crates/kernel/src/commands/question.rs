//! Question: a run asks its host by a message, and goes on with the answer. A form asks for a record.

use std::collections::BTreeMap;

use passable::{Quoting, Untrusted};
use resource::Resource;

use crate::command::{Binding, Fault};
use crate::formula::Formula;
use crate::id::{FormulaId, HostRun, MessageNumber, RunNumber};
use crate::message::{Body, Field};
use crate::proposal::{DENIAL_RULE, Finding, Value};
use crate::provenance::Provenance;
use crate::run::{Completion, Run};
use crate::slot::Requirement;
use crate::state::State;
use crate::table::PromiseRow;

use super::host_answer::{conclude, forget, wait_for, waiting};
use super::kernel_call::{KernelCall, find_kernel_call};

/// Turns a begun call into a form in the host's mailbox. The answer completes the call.
pub(super) fn ask(
    state: &mut State<'_>,
    run: &mut Run,
    step: u64,
    description: Untrusted,
    mut fields: Vec<Field>,
) -> Result<(), Fault> {
    let KernelCall { outbox, .. } =
        find_kernel_call(state, run, step, &Formula::Resource(Resource::Questions))?;
    super::mail::settle_fields(&mut fields)?;
    // A form that a model wrote must not lead a person to enter a secret.
    if fields.iter().any(|field| field.secret) {
        return Err(Fault::Misfit { what: "a run asks for no secrets".to_owned() });
    }
    for field in &fields {
        if Requirement::has_capability(&super::mail::pattern(&field.pattern, &field.name)?) {
            return Err(Fault::Misfit { what: "a run asks for data alone".to_owned() });
        }
    }
    let me = state.me();
    let (promise, resolver) = state.new_promise(me, None)?;
    let number = Some(run.number);
    let body = Body::Form { description, fields, promise, resolver, repeatable: false, run: number };
    wait_for(state, run, step, outbox, promise, body)
}

/// Fills the slot that a run has named in its request. The run keeps the slot until the run is over. Returns the
/// value that the run is told.
pub(super) fn fill(
    state: &mut State<'_>,
    promise: &FormulaId,
    number: RunNumber,
    source: MessageNumber,
    binding: Binding,
) -> Result<Value, Fault> {
    let at = waiting(state, promise)?.map(|(at, _)| at);
    if at != Some(HostRun { host: state.actor, run: number }) {
        return Err(Fault::NoRun(number));
    }
    let mut run = state.run(number)?;
    let slot = binding.slot.clone();
    if run.grants.contains_key(&slot) {
        let what = format!("{number} has a slot {slot:?} by now: reject the request, and say so");
        return Err(Fault::Misfit { what });
    }
    let methods: Vec<_> = binding.methods.iter().map(Value::string).collect();
    let grant = super::start::endow(state, run.worker, number, source, binding)?;
    state.keep_made(&run, &slot, &grant)?;
    run.grants.insert(slot.clone(), grant);
    run.given.insert(slot.clone());
    state.put_run(&run)?;
    let told = BTreeMap::from([
        ("slot".to_owned(), Value::string(slot)),
        ("methods".to_owned(), Value::array(methods)),
    ]);
    let value = Value::record_from_map(told);
    let completion = Completion::Done { value: value.clone(), provenance: Provenance::host() };
    conclude(state, promise, completion)?;
    Ok(value)
}

/// Completes the call that waits for a promise which has settled, if there is one.
pub(crate) fn answered(state: &mut State<'_>, promise: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
    let completion = match row {
        // An answer must be data: a reference could be used without a grant of its own.
        PromiseRow::Fulfilled { value } if !value.references().is_empty() => {
            Completion::Refused(vec![Finding::new("question/data", "the answer was no data")])
        }
        PromiseRow::Fulfilled { value } => {
            Completion::Done { value: value.clone(), provenance: Provenance::host() }
        }
        PromiseRow::Rejected { reason } => {
            let said =
                if reason.is_empty() { "the host does not answer".into() } else { Quoting::theirs(reason) };
            Completion::Refused(vec![Finding::new(DENIAL_RULE, said)])
        }
        PromiseRow::Pending => return Ok(()),
    };
    conclude(state, promise, completion)
}

/// Withdraws the question of a run that does not go on. The caller must complete the call.
pub(super) fn withdraw(state: &mut State<'_>, promise: &FormulaId) -> Result<(), Fault> {
    forget(state, promise)?;
    super::mail::withdraw(state, promise, &Untrusted::new("the run was cancelled")).map(drop)
}
