//! The messages of a person to a run that talks, with their documents.

use kernel::command::{Act, Reply};
use kernel::run::{Attachment, Run};
use passable::Untrusted;
use worker::definition::Bundle;

use super::documents::{Taker, check_more};
use crate::queries::mail;
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use crate::state::worker_files;
use control::exit::Failure;
use control::protocol::{Brought, Document, Response};

/// A message to a run, as the client sent it.
pub struct Words {
    /// The command, for the transcript.
    pub text: Untrusted,
    /// The text of the message.
    pub said: Untrusted,
    /// The documents that come with it.
    pub documents: Vec<Document>,
    /// Only say whether it would be taken.
    pub dry_run: bool,
}

/// Sends a message to a run.
///
/// # Errors
/// When the run does not listen, or its worker does not take the documents; nothing has been said then.
pub fn say(
    daemon: &HostDaemon,
    brought: &Brought,
    number: kernel::RunNumber,
    words: Words,
) -> Result<Response, Failure> {
    // A row names the stored bytes only afterwards.
    let _held = daemon.store.blobs().hold();
    let run = runs::one(daemon, number)?;
    daemon.keys.lend(std::slice::from_ref(&run.model), brought);
    let documents = if words.documents.is_empty() { vec![] } else { taken(daemon, &run, &words)? };
    if words.dry_run {
        return Ok(Response::Reply(Reply::Done));
    }
    let act = Act::Say { run: number, said: words.said, documents, text: words.text };
    Ok(Response::Reply(daemon.apply(act)?.reply))
}

/// Returns the documents, by the rules of the run's worker.
fn taken(daemon: &HostDaemon, run: &Run, words: &Words) -> Result<Vec<Attachment>, Failure> {
    let definition = worker_files::parse(&bundle(daemon, run)?)?;
    let taker = Taker::new(daemon, &definition, &run.model, words.dry_run);
    let taken: Vec<Attachment> =
        words.documents.iter().map(|one| taker.take_in(one)).collect::<Result<_, _>>()?;
    check_more(&definition, &run.input.attachments, &taken)?;
    Ok(taken)
}

/// Returns the worker of a run, with the files that it includes.
///
/// # Errors
/// When a text of it is gone.
pub(crate) fn bundle(daemon: &HostDaemon, run: &Run) -> Result<Bundle, Failure> {
    let source = mail::text(daemon, &run.definition)?;
    Bundle::stored(&run.name, source, &run.includes, |_, hash| mail::text(daemon, hash))
}
