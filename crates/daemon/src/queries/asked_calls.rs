//! The calls that a message asks about, with their arguments as text.

use kernel::StepRef;
use kernel::formula::Formula;
use kernel::message::Answer;
use kernel::proposal::{Caller, Proposal};
use passable::Untrusted;
use resource::Resource;

use super::why;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::card::CardEntry;
use control::show::value;

/// The name of the kind of a target that makes workers.
const WORKSHOP: &str = "workshop";

/// Returns the outline of a call: what it says and where its words come from, without the findings of the gates and
/// without the state of its target.
///
/// # Errors
/// When the store cannot be read.
pub fn outline(
    daemon: &HostDaemon,
    at: StepRef,
    proposal: &Proposal,
    answer: Option<Answer>,
) -> Result<CardEntry, Failure> {
    Ok(outline_of(why::call_target(daemon, proposal)?.as_ref(), at, proposal, answer))
}

/// Returns the outline of a call of this target.
pub fn outline_of(
    target: Option<&Formula>,
    at: StepRef,
    proposal: &Proposal,
    answer: Option<Answer>,
) -> CardEntry {
    CardEntry {
        step: at,
        slot: proposal.slot.clone(),
        kind: kind(target),
        target: String::new(),
        method: proposal.method.clone(),
        effect: proposal.effect,
        tells: None,
        caller: proposal.caller,
        arguments: arguments(target, proposal),
        findings: vec![],
        traces: proposal.traces.clone(),
        givers: proposal.givers.clone(),
        replaces: None,
        difference: None,
        difference_of: None,
        changed: vec![],
        making: None,
        cut_off: None,
        ended: None,
        answer,
        undone: vec![],
    }
}

/// Returns the kind of a call's target, as worker files name it.
fn kind(target: Option<&Formula>) -> Option<String> {
    match target? {
        Formula::Resource(resource) => Some(resource.kind().row().label.to_owned()),
        Formula::Workshop => Some(WORKSHOP.to_owned()),
        _ => None,
    }
}

/// Returns the arguments of a call, each with the name of its parameter. References mean nothing to a person, so they
/// are left out. A card shows their target above the arguments.
fn arguments(target: Option<&Formula>, proposal: &Proposal) -> Vec<(String, Untrusted)> {
    let names = parameter_names(target, proposal);
    let is_shown =
        |value: &kernel::Value| !matches!(value, kernel::Value::Undefined) && value.references().is_empty();
    let named = proposal.args.iter().enumerate().filter(|(_, value)| is_shown(value)).map(|(at, shown)| {
        let name = names.get(at).cloned().unwrap_or_else(|| format!("argument {}", at + 1));
        (name, Untrusted::new(value::argument(shown)))
    });
    named.collect()
}

fn argument_names(method: &kernel::Method) -> Vec<String> {
    method.params.iter().map(|param| param.name.clone()).collect()
}

fn parameter_names(formula: Option<&Formula>, proposal: &Proposal) -> Vec<String> {
    // An agent that calls without a run has methods that workers do not have.
    let method = match proposal.caller {
        Caller::Code => caps::mount::handed_interface().method(&proposal.method),
        Caller::Model => None,
    };
    let workshop = worker::workshop();
    let makes = matches!(formula, Some(Formula::Workshop));
    method
        .or_else(|| workshop.method(&proposal.method).filter(|_| makes))
        .map(argument_names)
        .or_else(|| match formula? {
            // This includes the parameters that only holders of secrets can pass.
            Formula::Resource(Resource::Programs(_)) => {
                caps::programs(true).method(&proposal.method).map(argument_names)
            }
            formula => caps::interface_for(formula)?.method(&proposal.method).map(argument_names),
        })
        .unwrap_or_default()
}
