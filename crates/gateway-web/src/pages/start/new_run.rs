//! The page on which a run begins.

use control::exit::{Exit, Failure};
use control::protocol::{ModelChoice, Request, Response, RunRequest, StartShape};
use control::talk::{Talker, WorkerUse};
use kernel::RunNumber;
use kernel::command::Reply;
use maud::{Markup, html};

use super::folder_chooser::WORKER_PATH;
use super::form_errors::{FormErrors, FormPlace};
use super::worker_form::{WorkerForm, in_words};
use super::{example, limits, worker_choice};
use crate::answer::{Answer, Page};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take, unexpected};
use crate::pages::attachments;

/// The maximum number of workers that are offered as links.
const MAX_OFFERED: usize = 12;

/// Answers `GET /runs/new`. The query fills in the form: `?worker=` or `?worker-path=` names the worker.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    // An address fills in fields. Only a form, which has the session's token, looks at the folders of this machine.
    let is_field = |name: &str| !["browse", "browsing", "go", "use", "do"].contains(&name);
    let body = asked.query.iter().filter(|(name, _)| is_field(name)).cloned().collect();
    let asked = PageRequest { body, ..asked.clone() };
    let (mut form, asked) = WorkerForm::sent(&asked, WorkerUse::Run);
    if worker_choice::is_chosen(&asked) {
        form.look_up(&asked)?;
    }
    Ok(page(&asked, &form)?.into())
}

/// Answers `POST /runs/new`: starts the run, or shows the requirements of the chosen worker.
pub fn start(asked: &PageRequest) -> Result<Answer, Failure> {
    let (mut form, asked) = WorkerForm::sent(asked, WorkerUse::Run);
    let asked = &asked;
    let begins_now = form.begins_now(asked);
    let is_bringing = asked.field("do") == Some("attach");
    if !is_bringing || worker_choice::is_chosen(asked) {
        form.look_up(asked)?;
    }
    if begins_now && let Some(request) = request(asked, &mut form)? {
        match started(asked, request) {
            Ok(run) => return Ok(Answer::Go(format!("/r/{run}"))),
            Err(failure) => form.told = FormErrors::single(FormPlace::Form, failure),
        }
    }
    if asked.field("piece").is_some() {
        return Ok(Answer::Piece(attachments::list(&form.kept, form.told.at(&FormPlace::Documents))));
    }
    let status = if form.told.0.is_empty() { 200 } else { 422 };
    Ok(page(asked, &form)?.status(status).into())
}

/// Returns the request for the run. If something is invalid, it records the errors and returns `None`.
fn request(asked: &PageRequest, form: &mut WorkerForm) -> Result<Option<RunRequest>, Failure> {
    let limits = match form.wanted.clone() {
        Some(wanted) => limits::read(asked, &wanted, &mut form.told),
        None => None,
    };
    if asked.filled("model").is_none() && take!(asked.ask(Request::Models)?, Models).can_ask.is_empty() {
        let failure =
            Failure::new(Exit::Invalid, "no model is here").help("`almoner setup` finds or fetches one");
        form.told.0.push((FormPlace::Model, failure));
    }
    let Some(mut request) = form.request(asked)? else { return Ok(None) };
    let is_batch = asked.field("each").is_some();
    if is_batch && request.spec.documents.is_empty() {
        let failure =
            Failure::new(Exit::Invalid, "a batch needs documents").help("bring one, or name its path");
        form.told.0.push((FormPlace::Documents, failure));
        return Ok(None);
    }
    if is_batch {
        let model = match &request.spec.model {
            ModelChoice::Named(model) | ModelChoice::Reference(model) => model.clone(),
            ModelChoice::Usual => take!(asked.ask(Request::Models)?, Models).used,
        };
        let jobs = asked.site.backend.jobs(&model);
        request.spec.shape = StartShape::Each { jobs, waiting: kernel::run::DEFAULT_WAITING };
    }
    request.spec.private = asked.field("private").is_some();
    request.spec.limits = limits;
    request.text = in_words("run", &request);
    Ok(Some(request))
}

/// Starts a run.
///
/// # Errors
/// When the request has an error.
pub(super) fn started(asked: &PageRequest, request: RunRequest) -> Result<RunNumber, Failure> {
    match asked.ask(Request::Run(Box::new(request)))? {
        Response::Reply(Reply::Started { run }) => Ok(run),
        other => Err(unexpected(&other)),
    }
}

fn page(asked: &PageRequest, form: &WorkerForm) -> Result<Page, Failure> {
    let main = html! {
        h1 { "Run a worker" }
        (form.wrong()?)
        @if form.wanted.is_none() { (offers(asked)?) }
        section aria-labelledby="form-title" {
            @if form.wanted.is_none() { h2 #form-title { "Or name one" } }
            @else { h2 #form-title { "The run" } }
            (draw(asked, form)?)
        }
    };
    Ok(Page::new("/runs", "Run a worker", main))
}

/// Returns the workers that have run and the examples, each a press away from its form.
fn offers(asked: &PageRequest) -> Result<Markup, Failure> {
    let known = asked.site.backend.known_workers(WorkerUse::Run)?;
    let address = |one: &Talker| format!("/runs/new?worker={}", link::query(&worker_choice::option(one).0));
    Ok(html! {
        @if !known.is_empty() {
            section aria-labelledby="recent-title" {
                h2 #recent-title { "A worker that you know" }
                ul.offers { @for one in known.iter().take(MAX_OFFERED) {
                    li { a.offer href=(address(one)) { (worker_choice::option(one).1) } }
                } }
            }
        }
        section aria-labelledby="examples-title" {
            h2 #examples-title { "An example" }
            (example::list(asked))
        }
    })
}

fn draw(asked: &PageRequest, form: &WorkerForm) -> Result<Markup, Failure> {
    // Each worker has a draft of its own. The choice of a worker needs none.
    let chosen = asked.filled(WORKER_PATH).or_else(|| asked.filled("worker")).unwrap_or_default();
    let draft = form.wanted.as_ref().map(|_| format!("run {chosen}"));
    Ok(html! {
        form #begin.card method="post" action="/runs/new" enctype="multipart/form-data" data-draft=[draft] {
            (parts::token(&asked.session))
            (WorkerForm::default_button())
            details open[form.wanted.is_none()] {
                summary { @if form.wanted.is_some() { "Another worker" } @else { "Choose the worker" } }
                (form.worker(asked)?)
                p.buttons { button name="do" value="look" formnovalidate { "Show what it needs" } }
            }
            @if let Some(wanted) = &form.wanted {
                (form.wants(asked)?)
                @if wanted.documents > 0 {
                    (form.documents(asked))
                    label.choice {
                        input type="checkbox" name="each" value="yes" checked[asked.field("each").is_some()];
                        "One run for each document"
                    }
                }
                (form.model(asked)?)
                @if let Some(script) = asked.filled("script") {
                    input type="hidden" name="script" value=(script);
                    p.note { "This example has a script that can play the model: " code { (parts::word(script)) } }
                }
                @if let Some(model) = &wanted.model { p.note { "Its file asks for the model " (parts::line(model)) "." } }
                label.choice {
                    input type="checkbox" name="private" value="yes" checked[asked.field("private").is_some()];
                    "Its documents and inputs are private: only models that may read private data read them"
                }
                (limits::fields(asked, wanted, &form.told))
                (form.more(asked))
                div.buttons {
                    button.yes { "Run it" }
                    @if wanted.documents > 0 { (attachments::button()) }
                }
            }
        }
    })
}
