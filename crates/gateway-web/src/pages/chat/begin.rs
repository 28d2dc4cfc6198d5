//! The form that begins a conversation: the worker, what it works with, and the first message.

use control::exit::Failure;
use control::protocol::{Request, Response, RunRequest, StartShape, StartSpec};
use control::talk::WorkerUse;
use kernel::RunNumber;
use kernel::command::Reply;
use maud::{Markup, html};

use super::{answered, begins, is_bringing, message_field, read_message, speak};
use crate::answer::Answer;
use crate::page::parts;
use crate::page_request::{PageRequest, unexpected};
use crate::pages::attachments;
use crate::pages::start::form_errors::{FormErrors, FormPlace};
use crate::pages::start::worker_form::{WorkerForm, in_words};

/// Returns the form.
///
/// # Errors
/// When the daemon does not answer.
pub(super) fn draw(form: &WorkerForm, asked: &PageRequest) -> Result<Markup, Failure> {
    Ok(html! {
        form #begin.card method="post" action="/chat" enctype="multipart/form-data" data-draft="chat" {
            (parts::token(&asked.session))
            (WorkerForm::default_button())
            (form.worker(asked)?)
            p.buttons { button name="do" value="look" formnovalidate { "Show what it works with" } }
            (form.model(asked)?)
            (form.wants(asked)?)
            (form.more(asked))
            (message_field(asked, "4", false, form.told.at(&FormPlace::Said)))
            (attachments::fields(asked, &form.kept, form.told.at(&FormPlace::Documents)))
            p.buttons { button { "Begin" } (attachments::button()) }
        }
    })
}

/// Answers `POST /chat`: begins a conversation and sends the first message, or shows the requirements of the chosen
/// worker.
pub fn begin(asked: &PageRequest) -> Result<Answer, Failure> {
    let (mut form, asked) = WorkerForm::sent(asked, WorkerUse::Chat);
    let asked = &asked;
    let begins_now = form.begins_now(asked);
    if !is_bringing(asked) {
        form.look_up(asked)?;
    }
    if begins_now {
        let said = form.told.ok(FormPlace::Said, read_message(asked));
        if let (Some(mut request), Some(said)) = (form.request(asked)?, said) {
            request.spec.shape = StartShape::Chat;
            request.text = in_words("chat", &request);
            match started(asked, (request, said)) {
                Ok(run) => return Ok(Answer::Go(format!("/chat/{run}"))),
                Err((place, failure)) => form.told = FormErrors::single(place, failure),
            }
        }
    }
    let told = form.told.clone();
    let kept = form.kept.clone();
    answered(asked, &kept, &told, || begins(asked, &form))
}

fn started(
    asked: &PageRequest,
    (request, said): (RunRequest, String),
) -> Result<RunNumber, (FormPlace, Failure)> {
    let begun = asked.ask(Request::Run(Box::new(request.clone())));
    let run = match begun.map_err(|failure| error_place(asked, request, failure))? {
        Response::Reply(Reply::Started { run }) => run,
        other => return Err((FormPlace::Form, unexpected(&other))),
    };
    speak(asked, run, said, vec![]).map_err(|failure| (FormPlace::Form, failure))?;
    Ok(run)
}

/// Returns the place of an error in the form. If the request would work without the documents, the error belongs to
/// them.
fn error_place(asked: &PageRequest, request: RunRequest, failure: Failure) -> (FormPlace, Failure) {
    let had = !request.spec.documents.is_empty();
    let spec = StartSpec { documents: vec![], dry_run: true, ..request.spec };
    let without = RunRequest { spec, ..request };
    match had && asked.ask(Request::Run(Box::new(without))).is_ok() {
        true => (FormPlace::Documents, failure),
        false => (FormPlace::Form, failure),
    }
}
