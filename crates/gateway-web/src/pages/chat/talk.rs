//! One conversation: its messages, the streamed answer, and the open requests as cards.

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Document, Look, Request, Response};
use control::show::{document_notes, journal};
use kernel::command::Cancel;
use kernel::run::{Attachment, Entry, Run, Shape, State, Step};
use kernel::{BlobHash, MessageNumber, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible, visible_line};

use super::{answered, is_bringing, markdown, message_field, read_message, speak};
use crate::answer::{Answer, Page};
use crate::page::parts;
use crate::page_request::{PageRequest, take};
use crate::pages::attachments::{self, UploadedFile};
use crate::pages::message;
use crate::pages::start::form_errors::{FormErrors, FormPlace};
use crate::serve::KEY;

/// The reason that is recorded when the user ends a conversation.
const END_REASON: &str = "the conversation is over";

/// Answers `GET /chat/RUN`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let run = take!(asked.ask(Request::GetRun { run: number })?, Run);
    if run.shape != Shape::Chat {
        // A run of another shape takes no messages, so it has only its own page.
        return Ok(Answer::Go(format!("/r/{number}")));
    }
    Ok(page(asked, &run, &[], &FormErrors::default())?.into())
}

fn page(asked: &PageRequest, run: &Run, kept: &[UploadedFile], told: &FormErrors) -> Result<Page, Failure> {
    let number = run.number;
    let steps = all_steps(asked, number)?;
    let family = take!(asked.ask(Request::Family { run: number })?, Family);
    let mut turns = Vec::new();
    for step in &steps {
        turns.extend(turn(asked, number, step)?.map(|shown| (step.number, shown)));
    }
    let newest = turns.last().map(|(number, _)| *number);
    let main = html! {
        h1 { (number) " " (parts::word(&run.name)) }
        (state(asked, run))
        section #talk role="log" aria-label="The conversation" data-live {
            (shown(&begun_with(run, &steps)))
            ol.rows.turns {
                @for (number, shown) in &turns {
                    li #{ "s-" (number) } { @if newest == Some(*number) { span #newest {} } (shown) }
                }
            }
        }
        pre.foreign.writes #{ "writes-" (number) } aria-label="What the model is writing" tabindex="0" {}
        p.note #{ "progress-" (number) } role="status" {}
        section #asks aria-label="What is asked" data-live { (asks(asked, number, &family.asked)) }
        (told.all(None))
        section #stalled aria-label="What holds it up" data-live {
            @if let State::Stalled { trouble } = &run.state {
                p { (parts::word(&trouble.help)) }
                form method="post" action={ "/r/" (number) "/resume" } {
                    (parts::token(&asked.session))
                    (parts::back(&asked.within(&format!("/chat/{number}"))))
                    button { "Resume" }
                }
            }
        }
        @if run.is_finished() { (unsent_message(asked)) }
        section #say aria-label="What you say" data-live {
            @if run.is_finished() { (ended_note(run)) } @else { (form(asked, number, kept, told)) }
        }
        @if !run.is_finished() {
            noscript { p { a href={ "/chat/" (number) "#newest" } { "See whether it has answered" } } }
        }
        span #end {}
    };
    let runs: String = family.members.iter().map(|run| format!("run:{} ", run.number)).collect();
    let topics = format!("{runs}run:{number} inbox");
    Ok(Page::new("/chat", format!("Chat {number} {}", visible_line(&run.name)), main).live(topics))
}

/// Returns the state of the conversation, and a form that ends it.
fn state(asked: &PageRequest, run: &Run) -> Markup {
    let number = run.number;
    let cancelled = run.cancelled.as_ref().filter(|why| why.raw() != END_REASON);
    html! {
        section #state aria-label="How it stands" data-live {
            p role="status" {
                (parts::state(run)) @if let Some(why) = cancelled { ", cancelled: " (parts::line(why)) }
                " · model " (parts::word(&run.model)) " · " a href={ "/r/" (number) } { "the run" }
                " · " a href="/chat" { "all conversations" }
            }
            @if !run.is_finished() {
                details {
                    summary { "End this conversation" }
                    form method="post" action={ "/chat/" (number) "/end" } {
                        (parts::token(&asked.session))
                        p.note { "Nothing more can be said then. What was said stays here." }
                        button { "End it" }
                    }
                }
            }
        }
    }
}

fn form(asked: &PageRequest, number: RunNumber, kept: &[UploadedFile], told: &FormErrors) -> Markup {
    html! {
        form.card method="post" action={ "/chat/" (number) } enctype="multipart/form-data"
            data-draft={ "chat " (number) } data-same={ "chat " (number) } {
            (parts::token(&asked.session))
            (message_field(asked, "2", true, told.at(&FormPlace::Said)))
            p.note.by-script { "Enter sends; Shift and Enter begin a new line." }
            p.buttons { button { "Say it" } }
            details.attach open[!kept.is_empty() || told.at(&FormPlace::Documents).is_some()] {
                summary { "Attach documents" }
                (attachments::fields(asked, kept, told.at(&FormPlace::Documents)))
                p.buttons { (attachments::button()) }
            }
        }
    }
}

/// Returns a message that was not sent, because the conversation had already ended. It stays on the page during
/// updates.
fn unsent_message(asked: &PageRequest) -> Markup {
    html! {
        @if let Some(said) = asked.filled("said") {
            p.warning { "This was not said: the conversation was over." }
            (parts::own_block("What was not said", said))
        }
    }
}

/// Returns the note that replaces the form after the conversation has ended.
fn ended_note(run: &Run) -> Markup {
    let ended = run.cancelled.as_ref().is_some_and(|why| why.raw() == END_REASON);
    html! {
        p {
            @if ended { "You ended this conversation." } @else { "This conversation is over." }
            " " a href="/chat#begin" { "Begin another" }
        }
    }
}

/// Returns the documents with which a conversation began.
fn begun_with(run: &Run, steps: &[Step]) -> Vec<Attachment> {
    let later = |document: &&Attachment| {
        steps.iter().any(|step| match &step.entry {
            Entry::Said { documents, .. } => documents.iter().any(|one| one.name == document.name),
            _ => false,
        })
    };
    run.input.attachments.iter().filter(|document| !later(document)).cloned().collect()
}

/// Returns a list of documents with their names and sizes.
fn shown(documents: &[Attachment]) -> Markup {
    html! {
        @if !documents.is_empty() {
            ul.documents {
                @for one in documents {
                    li {
                        (parts::line(&Untrusted::new(one.name.as_str()))) " " span.note { (one.bytes) " bytes" }
                        @for note in document_notes::lines(std::iter::once(one)) { br; span.note { (note) } }
                    }
                }
            }
        }
    }
}

/// Returns the open requests. The oldest is shown in full, and the others as links. Only one card is shown at a time,
/// so that places on a page have unique names.
fn asks(asked: &PageRequest, run: RunNumber, messages: &[MessageNumber]) -> Markup {
    let within = asked.within(&format!("/chat/{run}"));
    html! {
        @for (at, number) in messages.iter().enumerate() {
            @let letter = asked.look(Look::Message { number: *number });
            @let view = match letter { Ok(Response::Message(view)) => Some(view), _ => None };
            @let card = view.as_ref().filter(|_| at == 0).and_then(|view| message::card(&within, view).ok());
            article #{ "ask-" (number) } {
                h2 { a href={ "/m/" (number) } { "Message " (number) } }
                @if let Some(card) = card { (card) }
                @else if let Some(body) = view.as_ref().and_then(|view| view.letter.body()) {
                    p { span.kind { (body.kind()) } " " (parts::summary(body)) }
                    p.note { @if at == 0 { "It is answered on its page." } @else { "It comes here once the one above is answered." } }
                }
            }
        }
    }
}

/// Returns all steps of a run's journal.
fn all_steps(asked: &PageRequest, run: RunNumber) -> Result<Vec<Step>, Failure> {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let from = steps.last().map_or(0, |step| step.number + 1);
        let page = take!(asked.ask(Request::Journal { run, from, limit: None })?, Journal);
        if page.is_empty() {
            return Ok(steps);
        }
        steps.extend(page);
    }
}

/// Returns the markup of a step, if it is part of the conversation.
fn turn(asked: &PageRequest, run: RunNumber, step: &Step) -> Result<Option<Markup>, Failure> {
    Ok(match &step.entry {
        Entry::Said { text, documents, .. } => Some(html! {
            p.from { "You" }
            div.said role="group" tabindex="0" aria-label="what you said" { (visible(text.raw())) }
            (shown(documents))
        }),
        Entry::Replied { reply, .. } => {
            let text = text(asked, *reply)?;
            // A reply is stored as the JSON of `model::Reply`.
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let words = json.get("text").and_then(|text| text.as_str()).unwrap_or("");
            (!words.is_empty()).then(|| {
                html! {
                    p.from {
                        "The model " a.note href={ "/r/" (run) "/step/" (step.number) } { "as it was written" }
                    }
                    (markdown::foreign("what the model said", &Untrusted::new(words)))
                }
            })
        }
        Entry::Proposed { .. } | Entry::Completed { .. } | Entry::Stalled { .. } => Some(html! {
            p.note { (step.entry.name()) " " (parts::line(&Untrusted::new(journal::detail(&step.entry)))) }
        }),
        _ => None,
    })
}

fn text(asked: &PageRequest, hash: BlobHash) -> Result<String, Failure> {
    take!(asked.ask(Request::Blob { hash })?, Blob)
        .ok_or_else(|| Failure::new(Exit::Failure, "what is kept there is no text"))
}

/// Checks whether a conversation accepts these documents, without sending a message.
fn expect_taken(asked: &PageRequest, run: RunNumber, documents: Vec<Document>) -> Result<(), Failure> {
    if !documents.is_empty() {
        let nothing = || Untrusted::new(String::new());
        let request = Request::Say { text: nothing(), run, said: nothing(), documents, dry_run: true };
        take!(asked.ask(request)?, Reply);
    }
    Ok(())
}

/// Answers `POST /chat/RUN`: sends a message, or uploads files.
pub fn say(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let (kept, told) = match attachments::upload_files(asked) {
        Ok(kept) => match send_message(asked, number, &kept) {
            Ok(true) => return Ok(Answer::Go(newest(asked, number))),
            Ok(false) => (kept, FormErrors::default()),
            Err(told) => (kept, told),
        },
        Err(failure) => (attachments::before(asked), FormErrors::single(FormPlace::Documents, failure)),
    };
    answered(asked, &kept, &told, || {
        let run = take!(asked.ask(Request::GetRun { run: number })?, Run);
        page(asked, &run, &kept, &told)
    })
}

/// Returns the address of the newest message. With a script, the fragment is omitted, because the script scrolls by
/// itself.
fn newest(asked: &PageRequest, number: RunNumber) -> String {
    let place = if asked.field(KEY).is_some() { "" } else { "#newest" };
    format!("/chat/{number}{place}")
}

/// Sends the message. Returns `false` if the form only uploads files.
fn send_message(asked: &PageRequest, number: RunNumber, kept: &[UploadedFile]) -> Result<bool, FormErrors> {
    let at = |place: FormPlace| move |failure| FormErrors::single(place, failure);
    let documents = attachments::documents(asked, kept).map_err(at(FormPlace::Documents))?;
    expect_taken(asked, number, documents.clone()).map_err(at(FormPlace::Documents))?;
    if is_bringing(asked) {
        return Ok(false);
    }
    let said = read_message(asked).map_err(at(FormPlace::Said))?;
    speak(asked, number, said, documents).map_err(at(FormPlace::Form))?;
    Ok(true)
}

/// Answers `POST /chat/RUN/end`: ends the conversation.
pub fn end(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let reason = Untrusted::new(END_REASON);
    let act = AgentAct::Cancel { what: Cancel::Run { run: number }, reason };
    asked.act("cancel", format!("cancel {number}"), act)?;
    Ok(Answer::Go(newest(asked, number)))
}
