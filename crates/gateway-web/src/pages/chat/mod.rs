//! Conversations: their list, the messages of each, and the form that begins a new one.

mod begin;
mod markdown;
mod talk;

use control::exit::{Exit, Failure};
use control::protocol::{Document, Request};
use control::talk::ChatRow;
use kernel::RunNumber;
use kernel::command::MAX_USER_TEXT_BYTES;
use maud::{Markup, html};
use passable::Untrusted;

pub use begin::begin;
pub use talk::{end, say, show};

use super::attachments::{self, UploadedFile};
use super::start::form_errors::{FormErrors, FormPlace};
use super::start::worker_form::WorkerForm;
use crate::answer::{Answer, Page};
use crate::page::parts;
use crate::page_request::{PageRequest, take};

/// The number of finished conversations on a page.
const ENDED_PER_PAGE: usize = 30;

/// The maximum number of open conversations on a page.
const MAX_OPEN: usize = 200;

/// Answers `GET /chat`. `?before=` shows older conversations that have ended.
pub fn list(asked: &PageRequest) -> Result<Answer, Failure> {
    Ok(begins(asked, &WorkerForm::default())?.into())
}

/// Returns the page with the list of conversations and the form for a new one.
fn begins(asked: &PageRequest, form: &WorkerForm) -> Result<Page, Failure> {
    let chats = |open: bool, below: Option<RunNumber>, limit: usize| {
        Ok::<Vec<ChatRow>, Failure>(take!(asked.ask(Request::Chats { open, below, limit })?, Chats))
    };
    let before: Option<RunNumber> = asked.query("before").and_then(|run| run.parse().ok());
    let open = chats(true, None, MAX_OPEN)?;
    let mut over = chats(false, before, ENDED_PER_PAGE + 1)?;
    let older = (over.len() > ENDED_PER_PAGE)
        .then(|| over.pop())
        .flatten()
        .and_then(|_| over.last())
        .map(|row| row.run.number);
    let main = html! {
        h1 { "Chat" }
        section #open aria-labelledby="open-title" data-live {
            h2 #open-title { "Open conversations" }
            (conversations(&open))
        }
        section aria-labelledby="new-title" {
            h2 #new-title { "Begin another" }
            (form.wrong()?)
            (begin::draw(form, asked)?)
        }
        @if !over.is_empty() || before.is_some() {
            section #over aria-labelledby="over-title" {
                h2 #over-title { "Over" }
                (conversations(&over))
                p {
                    @if let Some(older) = older { a href={ "/chat?before=" (older) "#over" } { "Older ones" } " " }
                    @if before.is_some() { a href="/chat#over" { "The newest" } }
                }
            }
        }
    };
    Ok(Page::new("/chat", "Chat", main).live("runs"))
}

fn conversations(rows: &[ChatRow]) -> Markup {
    html! {
        @if rows.is_empty() { p.note { "None." } }
        ol.rows {
            @for ChatRow { run, said, last_ms } in rows {
                li #{ "c-" (run.number) } {
                    a.row href={ "/chat/" (run.number) "#newest" } {
                        span.number { (run.number) } " " span.from { (parts::word(&run.name)) } " "
                        span.state { (parts::state(run)) } " " (parts::when(*last_ms))
                        @if let Some(said) = said { br; (parts::line(said)) }
                    }
                }
            }
        }
    }
}

/// Returns the field for the user's message. With `enters`, the Enter key sends it.
fn message_field(asked: &PageRequest, rows: &str, enters: bool, wrong: Option<&Failure>) -> Markup {
    html! {
        label for="said" { "What you say" }
        textarea #said name="said" rows=(rows) required data-enter[enters] aria-describedby="said-error"
            aria-invalid=[wrong.map(|_| "true")] { "\n" (asked.field("said").unwrap_or("")) }
        (parts::wrong("said-error", wrong))
    }
}

/// Returns the user's message, if it is neither empty nor too long.
fn read_message(asked: &PageRequest) -> Result<String, Failure> {
    match asked.filled("said") {
        None => Err(Failure::new(Exit::Invalid, "nothing was said")),
        // The length is checked here, before a conversation is begun with the message.
        Some(said) if said.len() > MAX_USER_TEXT_BYTES => {
            let message = format!("{} bytes are said at once, and {MAX_USER_TEXT_BYTES} can be", said.len());
            Err(Failure::new(Exit::Invalid, message).help("bring what is longer as a document"))
        }
        Some(said) => Ok(said.to_owned()),
    }
}

fn speak(asked: &PageRequest, run: RunNumber, said: String, documents: Vec<Document>) -> Result<(), Failure> {
    let text = Untrusted::new(format!("say {run} {said}"));
    let said = Untrusted::new(said);
    take!(asked.ask(Request::Say { text, run, said, documents, dry_run: false })?, Reply);
    Ok(())
}

/// Returns whether the form only uploads files, without sending a message.
fn is_bringing(asked: &PageRequest) -> bool {
    asked.field("do") == Some("attach")
}

/// Returns the page with the sent values and their errors. The script gets only the list of files.
fn answered(
    asked: &PageRequest,
    kept: &[UploadedFile],
    told: &FormErrors,
    page: impl FnOnce() -> Result<Page, Failure>,
) -> Result<Answer, Failure> {
    if asked.field("piece").is_some() {
        return Ok(Answer::Piece(attachments::list(kept, told.at(&FormPlace::Documents))));
    }
    let status = if told.0.is_empty() { 200 } else { 422 };
    Ok(page()?.status(status).into())
}
