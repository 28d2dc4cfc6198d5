//! What a person says to a run that talks, with the documents that come with it.

use kernel::BlobHash;
use kernel::command::{Act, Reply};
use kernel::run::{Attachment, Run};
use passable::Untrusted;
use worker::definition::Bundle;

use super::desk::Desk;
use super::documents::{Taker, check_more};
use super::{listing, start_run};
use control::exit::{Exit, Failure};
use control::protocol::{Brought, Document, Response};

/// What is said, as it was asked for.
pub struct Words {
    /// The command, for the transcript.
    pub text: Untrusted,
    /// What is said.
    pub said: Untrusted,
    /// What comes with it.
    pub documents: Vec<Document>,
    /// Only say whether it would be taken.
    pub dry_run: bool,
}

/// Says something to a run.
///
/// # Errors
/// When the run does not listen, or its worker does not take what comes along; nothing has been said then.
pub fn say(
    desk: &Desk,
    brought: &Brought,
    number: kernel::RunNumber,
    words: Words,
) -> Result<Response, Failure> {
    // What is put is named by a row only afterwards.
    let _held = desk.daemon.store.blobs().hold();
    let run = listing::one(&desk.daemon, number)?;
    desk.daemon.keys.lend(std::slice::from_ref(&run.model), brought);
    let documents = if words.documents.is_empty() { vec![] } else { taken(desk, &run, &words)? };
    if words.dry_run {
        return Ok(Response::Reply(Reply::Done));
    }
    let act = Act::Say { run: number, said: words.said, documents, text: words.text };
    Ok(Response::Reply(desk.apply(act)?.reply))
}

/// The documents, by the rules of the run's worker.
fn taken(desk: &Desk, run: &Run, words: &Words) -> Result<Vec<Attachment>, Failure> {
    let definition = start_run::parse(&bundle(desk, run)?)?;
    let taker = Taker::new(desk, &definition, &run.model, words.dry_run);
    let taken: Vec<Attachment> =
        words.documents.iter().map(|one| taker.take_in(one)).collect::<Result<_, _>>()?;
    check_more(&definition, &run.input.attachments, &taken)?;
    Ok(taken)
}

/// A text that a worker consists of.
///
/// # Errors
/// When it is gone.
pub(super) fn text(desk: &Desk, hash: &BlobHash) -> Result<String, Failure> {
    let bytes = desk.daemon.store.blobs().get(hash);
    let bytes = bytes.map_err(|e| Failure::new(Exit::NotFound, e.to_string()))?;
    String::from_utf8(bytes).map_err(|_| Failure::new(Exit::Failure, "a worker file is not text"))
}

/// The worker of a run, with what it includes.
///
/// # Errors
/// When a text of it is gone.
pub(super) fn bundle(desk: &Desk, run: &Run) -> Result<Bundle, Failure> {
    let source = text(desk, &run.definition)?;
    Bundle::stored(&run.name, source, &run.includes, |_, hash| text(desk, hash))
}
