//! The line that describes a message in a list.

use kernel::message::{ApprovalEntry, Body};
use kernel::proposal::Proposal;
use kernel::query::MailboxEntry;
use kernel::run::Entry;
use kernel::{Value, table};
use passable::Untrusted;

use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::{journal, value};
use control::threads::{AskedCall, Line};

/// Returns the line of a message, with the call that it asks about.
///
/// # Errors
/// When the store cannot be read.
pub fn line(daemon: &HostDaemon, letter: MailboxEntry) -> Result<Line, Failure> {
    let answers = &letter.mail.answers;
    let asked: Option<&ApprovalEntry> = match letter.body() {
        Some(Body::Approval { entries, .. }) => {
            let open = entries.iter().enumerate().find(|(i, _)| !answers.contains_key(i));
            open.map(|(_, asked)| asked).or(entries.first())
        }
        Some(Body::OutcomeUnknown { entry, .. }) => Some(entry),
        _ => None,
    };
    let step = match asked {
        Some(asked) => daemon.read(|txn| table::step(txn, &daemon.host.number, asked.proposal))?,
        None => None,
    };
    let call = match step.map(|step| step.entry) {
        Some(Entry::Proposed { proposal, .. }) => Some(call(&proposal)),
        _ => None,
    };
    Ok(Line { letter, call })
}

fn call(proposal: &Proposal) -> AskedCall {
    // References mean nothing to a person, so arguments with references are left out.
    let says = |value: &&Value| !matches!(value, Value::Undefined) && value.references().is_empty();
    let args = proposal.args.iter().filter(says);
    let with: Vec<String> = args.map(|value| journal::shorten(&value::argument(value))).collect();
    AskedCall {
        effect: proposal.effect,
        slot: proposal.slot.clone(),
        method: proposal.method.clone(),
        with: Untrusted::new(with.join(", ")),
    }
}
