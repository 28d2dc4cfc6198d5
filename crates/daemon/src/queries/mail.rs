//! The messages of an agent, and the programs that they propose.

use std::collections::BTreeMap;

use kernel::formula::Formula;
use kernel::message::Body;
use kernel::slot::Slot;
use kernel::{BlobHash, FormulaId, MessageNumber, Pattern, query, table};
use passable::{Quoting, Untrusted};
use worker::definition::{self, Bundle, Definition};

use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};
use control::protocol::WorkerSource;
use passable::with_article;

/// Returns a message of an agent.
pub fn message(
    daemon: &HostDaemon,
    agent: FormulaId,
    number: MessageNumber,
) -> Result<query::MailboxEntry, Failure> {
    daemon.read(|txn| query::message(txn, &agent, number))?.ok_or_else(|| {
        Failure::new(Exit::NotFound, Quoting::ours(format!("there is no message {number}")))
            .help("see `almoner inbox --all`")
    })
}

/// Returns the program that a message proposes: its slots, and its files if it is a worker.
pub fn proposed_program(
    daemon: &HostDaemon,
    agent: FormulaId,
    number: MessageNumber,
) -> Result<(Option<Bundle>, BTreeMap<String, Slot>), Failure> {
    let letter = message(daemon, agent, number)?;
    let Some(Body::Definition { definition, .. }) = letter.body() else {
        let kind = &letter.mail.envelope.kind;
        return Err(Failure::new(
            Exit::Conflict,
            format!("message {number} is {}, not a definition", with_article(kind)),
        )
        .help(format!("`almoner inbox {number}` shows it")));
    };
    let row = daemon.read(|txn| table::formula(txn, definition))?;
    let Some(Formula::Definition { source, worker, slots, .. }) = row.map(|row| row.formula) else {
        return Err(Failure::new(Exit::Failure, "the definition is missing").help("`almoner doctor`"));
    };
    let Some(program) = worker else { return Ok((None, slots)) };
    let source = source.raw().to_owned();
    let bundle =
        Bundle::stored(&program.name, source, &program.includes, |_, hash| worker_text(daemon, hash))?;
    Ok((Some(bundle), slots))
}

/// Returns the text of a stored worker file.
///
/// # Errors
/// When the text is missing.
pub(crate) fn worker_text(daemon: &HostDaemon, hash: &BlobHash) -> Result<String, Failure> {
    let bytes = daemon.store.blobs().get(hash);
    let bytes = bytes.map_err(|e| Failure::from_error(Exit::NotFound, e))?;
    String::from_utf8(bytes).map_err(|_| Failure::new(Exit::Failure, "a worker file is not text"))
}

/// Returns a worker from a message as the source of a run. The run uses no other files of the worker's folder.
pub fn source_of(bundle: Bundle) -> WorkerSource {
    let Bundle { name, source, includes, .. } = bundle;
    WorkerSource { name, source, includes, ..WorkerSource::default() }
}

/// Returns the slots of a worker file in the kernel's form.
pub fn slots_of(definition: &Definition) -> BTreeMap<String, Slot> {
    let slot = |slot: &definition::Slot| {
        let pattern = Pattern::remotable(slot.kind.to_string()).to_value();
        let label = Untrusted::new(slot.label.clone().unwrap_or_default());
        (slot.name.clone(), Slot { label, pattern })
    };
    definition.slots.iter().map(slot).collect()
}
