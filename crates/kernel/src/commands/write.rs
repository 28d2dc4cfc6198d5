//! Write: a run sends its host a text, a request, or a proposal of code.

use passable::{Quoting, quoting};
use resource::Resource;

use crate::command::{Fault, Writing};
use crate::formula::Formula;
use crate::id::StepRef;
use crate::message::{Body, Draft, HostRequest};
use crate::proposal::{Finding, Proposal, Value};
use crate::provenance::Provenance;
use crate::run::{Completion, Entry, Phase, Run};
use crate::state::State;

use super::host_answer;
use super::kernel_call::{KernelCall, find_kernel_call};

/// The maximum number of messages that a run writes, including the runs below it. The limit keeps a run that cannot
/// be stopped from filling a mailbox.
const MAX_ITEMS: u32 = 100;

/// The maximum size of one text, in bytes.
const MAX_LEN: usize = 256 << 10;

/// Turns a begun call into a message in the host's mailbox. A plain text completes the call at once; a request or a
/// proposal waits for its answer.
pub(super) fn write(state: &mut State<'_>, run: &mut Run, step: u64, writing: Writing) -> Result<(), Fault> {
    let KernelCall { at, outbox, proposal } =
        find_kernel_call(state, run, step, &Formula::Resource(Resource::Mail))?;
    expect_proposed(at, &proposal, &writing)?;
    check(&writing)?;
    let completion = match refusal(state, run, &writing)? {
        Some(finding) => Completion::Refused(vec![finding]),
        None => {
            count(state, run)?;
            let number = run.number;
            let Writing::Say { text } = writing else { return ask(state, run, step, outbox, writing) };
            let body = Body::Package { strings: vec![text], names: vec![], ids: vec![], run: Some(number) };
            let answers = run.cause().map(|number| state.message_of(number)).transpose()?.flatten();
            state.deliver(body, answers, false, run.provenance.clone())?;
            Completion::Done { value: Value::string("it was sent"), provenance: Provenance::default() }
        }
    };
    run.open.remove(&step);
    state.unpost(outbox)?;
    state.journal(run, Entry::Completed { proposal: step, completion }, Provenance::default())?;
    Ok(())
}

/// Sends a request or a proposal to the host. The run waits for the answer.
fn ask(state: &mut State<'_>, run: &mut Run, step: u64, outbox: u64, writing: Writing) -> Result<(), Fault> {
    let me = state.me();
    let (promise, resolver) = state.new_promise(me, None)?;
    let number = run.number;
    let body = match writing {
        Writing::Request { description, slot } => {
            Body::Request { description, promise, resolver, by: Some(HostRequest { run: number, slot }) }
        }
        Writing::Define { source, slots, description } => {
            let formula = Formula::Definition { source, worker: None, slots, original: None };
            let definition = state.make(formula, run.provenance.clone())?;
            Body::Definition { definition, promise, resolver, by: Some(Draft { run: number, description }) }
        }
        Writing::Say { .. } => {
            let at = StepRef { run: number, step };
            return Err(Fault::OutOfOrder { at, what: "what only says something asks for nothing" });
        }
    };
    host_answer::wait_for(state, run, step, outbox, promise, body)
}

/// Refuses a message that differs from the proposal that was judged and, if required, shown to a person.
fn expect_proposed(at: StepRef, proposal: &Proposal, writing: &Writing) -> Result<(), Fault> {
    let is = |index: usize, said: &str| proposal.args.get(index).and_then(Value::as_str) == Some(said);
    let is_it = match writing {
        Writing::Say { text } => proposal.method == "send" && is(0, text.raw()),
        Writing::Request { description, slot } => {
            proposal.method == "request" && is(0, description.raw()) && is(1, slot)
        }
        Writing::Define { source, .. } => proposal.method == "define" && is(0, source.raw()),
    };
    match is_it {
        true => Ok(()),
        false => Err(Fault::OutOfOrder { at, what: "these are not the words that were proposed" }),
    }
}

fn check(writing: &Writing) -> Result<(), Fault> {
    let texts = match writing {
        Writing::Say { text } => vec![text],
        Writing::Request { description, .. } => vec![description],
        Writing::Define { source, description, .. } => vec![source, description],
    };
    if texts.iter().any(|text| text.raw().len() > MAX_LEN) {
        return Err(Fault::Misfit { what: format!("a run writes at most {MAX_LEN} bytes at once") });
    }
    match writing {
        Writing::Request { slot, .. } if !is_slot(slot) => {
            Err(Fault::Misfit { what: format!("{slot:?} cannot be the name of a slot") })
        }
        Writing::Define { slots, .. } => super::mail::check_slots(slots, true),
        _ => Ok(()),
    }
}

/// Returns whether a text could be the name of a slot in a worker file.
fn is_slot(name: &str) -> bool {
    name.len() <= 32
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// Returns the reason why this run may not write this message, if there is one.
fn refusal(state: &mut State<'_>, run: &Run, writing: &Writing) -> Result<Option<Finding>, Fault> {
    let above = state.ancestors(run)?;
    if above.iter().chain([run]).any(|run| run.written >= MAX_ITEMS) {
        let message = Quoting::ours(format!(
            "this run, with those above and below it, has written {MAX_ITEMS} messages"
        ));
        return Ok(Some(Finding::new("mail/many", message).allowed("what can be done without a message")));
    }
    let Writing::Request { slot, .. } = writing else { return Ok(None) };
    if run.grants.contains_key(slot) || is_wished(state, run, slot)? {
        let message = quoting!("there is a slot `{}` already, or it has been asked for", slot);
        return Ok(Some(Finding::new("mail/name", message).at("name").allowed("another name")));
    }
    Ok(None)
}

fn count(state: &mut State<'_>, run: &mut Run) -> Result<(), Fault> {
    run.written = run.written.saturating_add(1);
    for mut above in state.ancestors(run)? {
        above.written = above.written.saturating_add(1);
        state.put_run(&above)?;
    }
    Ok(())
}

/// Returns whether the run has requested a capability under this name and waits for the answer.
pub(super) fn is_wished(state: &mut State<'_>, run: &Run, name: &str) -> Result<bool, Fault> {
    for phase in run.open.values() {
        let Phase::Questioned { message, .. } = phase else { continue };
        // A message that was answered with code may have been dismissed since.
        let Ok(letter) = state.letter(*message) else { continue };
        if let Body::Request { by: Some(HostRequest { slot, .. }), .. } = letter.message.body
            && slot == name
        {
            return Ok(true);
        }
    }
    Ok(false)
}
