//! The messages of a person to a chat run, with their documents.

use kernel::command::{Act, Reply};
use kernel::run::{Attachment, Run};
use passable::Untrusted;
use worker::definition::Bundle;

use super::documents::{DocumentImporter, check_more};
use crate::queries::mail;
use crate::queries::runs;
use crate::state::daemon::HostDaemon;
use crate::state::worker_files;
use control::exit::Failure;
use control::protocol::{ClientKeys, Document, Response};

/// A message to a run, in the form that the client sent.
pub struct ChatMessage {
    /// The command, for the transcript.
    pub command: Untrusted,
    /// The text of the message.
    pub text: Untrusted,
    /// The documents of the message.
    pub documents: Vec<Document>,
    /// Whether the message is only checked, and not sent.
    pub dry_run: bool,
}

/// Sends a message to a run.
///
/// # Errors
/// When the run does not take messages, or its worker does not take the documents. Then nothing was sent.
pub fn send(
    daemon: &HostDaemon,
    brought: &ClientKeys,
    number: kernel::RunNumber,
    words: ChatMessage,
) -> Result<Response, Failure> {
    // The stored documents must not be swept before a row names them.
    let _held = daemon.store.blobs().hold();
    let run = runs::load_run(daemon, number)?;
    daemon.keys.add_server_key(std::slice::from_ref(&run.model), brought);
    let documents = if words.documents.is_empty() { vec![] } else { take_documents(daemon, &run, &words)? };
    if words.dry_run {
        return Ok(Response::Reply(Reply::Done));
    }
    let act = Act::Say { run: number, said: words.text, documents, text: words.command };
    Ok(Response::Reply(daemon.apply(act)?.reply))
}

/// Checks and stores the documents of a message by the rules of the run's worker, and returns them.
fn take_documents(daemon: &HostDaemon, run: &Run, words: &ChatMessage) -> Result<Vec<Attachment>, Failure> {
    let definition = worker_files::parse(&bundle(daemon, run)?)?;
    let taker = DocumentImporter::new(daemon, &definition, &run.model, words.dry_run);
    let taken: Vec<Attachment> =
        words.documents.iter().map(|one| taker.import(one)).collect::<Result<_, _>>()?;
    check_more(&definition, &run.input.attachments, &taken)?;
    Ok(taken)
}

/// Returns the worker of a run, with the files that it includes.
///
/// # Errors
/// When one of the worker's texts is missing.
pub(crate) fn bundle(daemon: &HostDaemon, run: &Run) -> Result<Bundle, Failure> {
    let source = mail::worker_text(daemon, &run.definition)?;
    Bundle::stored(&run.name, source, &run.includes, |_, hash| mail::worker_text(daemon, hash))
}
