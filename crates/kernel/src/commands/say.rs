//! Say: a person says something to a run.

use passable::Untrusted;

use super::start::provenance_of;
use crate::command::{Fault, MAX_USER_TEXT_BYTES, Reply};
use crate::id::{MessageNumber, RunNumber, StepRef};
use crate::message::Body;
use crate::provenance::Provenance;
use crate::run::{Attachment, Entry, Run, Shape, State as RunState};
use crate::state::State;

/// Refuses a text for a run that would not hear it.
fn expect_ears(run: &Run, text: &Untrusted) -> Result<(), Fault> {
    let at = StepRef { run: run.number, step: run.next_step };
    if run.is_finished() {
        return Err(Fault::OutOfOrder { at, what: "the run is over" });
    }
    if run.cancelled.is_some() {
        return Err(Fault::Cancelled(run.number));
    }
    if run.exhausted.is_some() {
        return Err(Fault::OutOfOrder { at, what: "the run waits until a person gives it more" });
    }
    if text.raw().len() > MAX_USER_TEXT_BYTES {
        let what = format!("{} bytes are said at once, and {MAX_USER_TEXT_BYTES} can be", text.raw().len());
        return Err(Fault::Misfit { what });
    }
    Ok(())
}

/// Adds a person's reply to the journal of a run. The model reads the reply before it is asked again. A conversation
/// that waits goes on.
pub(crate) fn hear(
    state: &mut State<'_>,
    number: RunNumber,
    text: Untrusted,
    message: MessageNumber,
) -> Result<(), Fault> {
    state.hosts_only("talk with runs")?;
    let mut run = state.run(number)?;
    expect_ears(&run, &text)?;
    state.journal(&mut run, Entry::Said { text, documents: vec![], message }, Provenance::host())?;
    run.questions.refusals.clear();
    if run.shape == Shape::Chat {
        state.wake(&mut run, format!("message {message} replies"))?;
    }
    state.put_run(&run)
}

/// Adds the documents that come with a text to the inputs of the run. Returns their provenance.
fn take_in(state: &mut State<'_>, run: &mut Run, documents: &[Attachment]) -> Result<Provenance, Fault> {
    let mut provenance = Provenance::host();
    for document in documents {
        if run.input.attachments.iter().any(|known| known.name == document.name) {
            return Err(Fault::Misfit { what: format!("two documents are called {:?}", document.name) });
        }
        let from = provenance_of(document);
        state.note_blob(document.hash, document.bytes, &from)?;
        provenance = provenance.join(&from);
        run.input.attachments.push(document.clone());
    }
    run.provenance = run.provenance.join(&provenance);
    Ok(provenance)
}

pub(super) fn say(
    state: &mut State<'_>,
    number: RunNumber,
    text: Untrusted,
    documents: Vec<Attachment>,
    command: Untrusted,
) -> Result<Reply, Fault> {
    state.hosts_only("talk with runs")?;
    let mut run = state.run(number)?;
    let at = StepRef { run: number, step: run.next_step };
    if run.shape != Shape::Chat {
        return Err(Fault::OutOfOrder {
            at,
            what: "this run does not talk: it works on what it was started with",
        });
    }
    expect_ears(&run, &text)?;
    let answers = state.message_of(run.source)?;
    let body =
        Body::Command { verb: "chat".to_owned(), text: command, run: Some(number), made: None, grant: None };
    let message = state.deliver(body, answers, false, Provenance::host())?;
    let provenance = take_in(state, &mut run, &documents)?;
    state.journal(&mut run, Entry::Said { text, documents, message }, provenance)?;
    run.questions.refusals.clear();
    super::pause::end(state, &mut run)?;
    if let RunState::Waiting | RunState::Stalled { .. } = run.state {
        state.journal(
            &mut run,
            Entry::Resumed { why: "you said something".to_owned() },
            Provenance::host(),
        )?;
        state.make_ready(&mut run)?;
    }
    state.put_run(&run)?;
    Ok(Reply::Done)
}
