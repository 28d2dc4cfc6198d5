//! Conversations: what was said, what was answered while it is written, and what is asked in between, as cards.

use std::collections::BTreeMap;

use control::endowment::Endowment;
use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Document, Look, Request, Response, RunRequest, TALKER};
use control::show::journal;
use kernel::command::{Cancel, MOST_SAID, Reply};
use kernel::run::{Attachment, Entry, PROJECT_POLICY, Run, Shape, State, Step};
use kernel::{BlobHash, MessageNumber, NamePath, RunNumber};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::asks::confirm;
use super::attached::{self, Kept};
use super::message;
use crate::answer::{Answer, Page};
use crate::asked::{Asked, take, unexpected};
use crate::page::parts;

/// How many runs are looked through for conversations and workers.
const RECENT: usize = 200;

/// What is wrong with what was sent, and where it is told.
struct Wrong {
    at: Place,
    failure: Failure,
}

/// A place of a form.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Place {
    Said,
    Worker,
    Model,
    Slots,
    Documents,
    /// The whole of it.
    Form,
}

impl Place {
    fn of(self) -> impl Fn(Failure) -> Wrong {
        move |failure| Wrong { at: self, failure }
    }
}

/// What is wrong at this place.
fn at(wrong: Option<&Wrong>, place: Place) -> Option<&Failure> {
    wrong.filter(|wrong| wrong.at == place).map(|wrong| &wrong.failure)
}

/// `GET /chat`.
pub fn list(asked: &Asked) -> Result<Answer, Failure> {
    Ok(begins(asked, &[], None)?.into())
}

/// The conversations that there are, and the form that begins one.
fn begins(asked: &Asked, kept: &[Kept], wrong: Option<&Wrong>) -> Result<Page, Failure> {
    let runs = take!(asked.ask(Request::Runs { limit: RECENT, below: None, roots: true })?, Runs);
    let (open, over): (Vec<&Run>, Vec<&Run>) =
        runs.iter().filter(|run| run.shape == Shape::Chat).partition(|run| !run.is_finished());
    let main = html! {
        h1 { "Chat" }
        section #open aria-labelledby="open-title" data-live {
            h2 #open-title { "Open conversations" }
            (conversations(&open))
        }
        section aria-labelledby="new-title" {
            h2 #new-title { "Begin another" }
            @if let Some(failure) = at(wrong, Place::Form) { (parts::failure_below(failure)) }
            (form(asked, &runs, kept, wrong))
        }
        @if !over.is_empty() {
            section aria-labelledby="over-title" { h2 #over-title { "Over" } (conversations(&over)) }
        }
    };
    Ok(Page::new("/chat", "Chat", main).live("runs"))
}

fn form(asked: &Asked, runs: &[Run], kept: &[Kept], wrong: Option<&Wrong>) -> Markup {
    let typed = |name: &str| asked.field(name).unwrap_or("");
    let model = at(wrong, Place::Model);
    html! {
        form.card method="post" action="/chat" enctype="multipart/form-data" data-draft="chat" {
            (parts::token(&asked.session))
            label for="worker" { "With whom" }
            select #worker name="worker" {
                option value="" { "a model, and nothing else" }
                @for (name, number) in workers(runs) {
                    option value=(number) selected[typed("worker") == number.to_string()] { (name) }
                }
                @for name in named(asked) {
                    @let value = format!("{NAMED}{name}");
                    option value=(value) selected[typed("worker") == value] { (visible_line(&name)) ", by your name for it" }
                }
            }
            label for="worker-file" { "Or a worker file of yours" }
            input #worker-file type="file" name="worker-file" accept=".worker" aria-describedby="worker-error"
                aria-invalid=[at(wrong, Place::Worker).map(|_| "true")];
            @if let Some(kept) = brought(asked) {
                label.choice {
                    input type="checkbox" name="worker-kept" value=(kept.written()) checked
                        data-fresh[asked.field("worker-kept").is_none()];
                    span { (parts::line(&Untrusted::new(kept.name.as_str()))) " " span.note { (kept.bytes) " bytes" } }
                }
            }
            (parts::wrong("worker-error", at(wrong, Place::Worker)))
            label for="model" { "Model; empty for the one in your settings" }
            input #model name="model" value=(typed("model")) autocomplete="off" spellcheck="false"
                aria-describedby="model-error" aria-invalid=[model.map(|_| "true")];
            (parts::wrong("model-error", model))
            (slots(asked, at(wrong, Place::Slots)))
            (what_you_say(asked, "4", at(wrong, Place::Said)))
            (attached::fields(asked, kept, at(wrong, Place::Documents)))
            p.buttons { button { "Begin" } (attached::button()) }
        }
    }
}

fn what_you_say(asked: &Asked, rows: &str, wrong: Option<&Failure>) -> Markup {
    html! {
        label for="said" { "What you say" }
        textarea #said name="said" rows=(rows) required aria-describedby="said-error"
            aria-invalid=[wrong.map(|_| "true")] { (asked.field("said").unwrap_or("")) }
        (parts::wrong("said-error", wrong))
    }
}

fn conversations(runs: &[&Run]) -> Markup {
    html! {
        @if runs.is_empty() { p.note { "None." } }
        ol.rows {
            @for run in runs {
                li #{ "c-" (run.number) } {
                    a.row href={ "/chat/" (run.number) } {
                        span.number { (run.number) } " " span.from { (parts::word(&run.name)) } " "
                        span.state { (parts::state(run)) }
                    }
                }
            }
        }
    }
}

/// Workers that have been run, in words, each with its latest run: that one's definition is what is talked with.
fn workers(runs: &[Run]) -> Vec<(String, RunNumber)> {
    let mut latest: BTreeMap<&str, &Run> = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.is_standing() && run.shape != Shape::Chat) {
        latest.entry(&run.name).or_insert(run);
    }
    let words = |run: &Run| {
        let slots: Vec<&str> = run.grants.keys().map(String::as_str).collect();
        let with = if slots.is_empty() { String::new() } else { format!(", with {}", slots.join(", ")) };
        visible_line(&format!("{}, as in {}{with}", run.name, run.number)).into_owned()
    };
    latest.into_values().map(|run| (words(run), run.number)).collect()
}

/// What stands before the name of a worker that is chosen by that.
const NAMED: &str = "name:";

/// The person's names for workers.
fn named(asked: &Asked) -> Vec<String> {
    let Ok(Response::Names(rows)) = asked.look(Look::Names { path: None }) else { return vec![] };
    rows.into_iter().filter(|row| row.kind == "worker").map(|row| row.name).collect()
}

/// The worker file that came with the form, or was brought with it before.
fn brought(asked: &Asked) -> Option<Kept> {
    let sent = asked.files.iter().find(|file| file.field == "worker-file" && !file.bytes.is_empty());
    match sent {
        Some(file) => {
            let hash = asked.site.backend.bring(&file.bytes).ok()?;
            Some(Kept { name: file.name.clone(), hash, bytes: file.bytes.len() })
        }
        None => asked.field("worker-kept").and_then(Kept::read),
    }
}

/// What the worker works with: nothing is handed on from the run in which it was met.
fn slots(asked: &Asked, wrong: Option<&Failure>) -> Markup {
    let typed = |name: &str| asked.field(name).unwrap_or("");
    html! {
        details open[!typed("fills").is_empty() || wrong.is_some()] {
            summary { "What you hand it" }
            label for="fills" { "What fills its slots, as behind " code { "-e" } ", one on each line" }
            textarea #fills name="fills" rows="2" spellcheck="false" placeholder="out=/PATH:rw"
                aria-describedby="fills-error" aria-invalid=[wrong.map(|_| "true")] { "\n" (typed("fills")) }
            (parts::wrong("fills-error", wrong))
            label for="allow" { "Do not ask me about these methods, as " code { "slot.method" } ", one on each line" }
            textarea #allow name="allow" rows="2" spellcheck="false" { "\n" (typed("allow")) }
            (confirm::field(asked, "If it is a program, the network or a secret"))
        }
    }
}

/// What was typed in the lines of a field.
fn lines<'a>(asked: &'a Asked, name: &str) -> impl Iterator<Item = &'a str> {
    let text = asked.field(name).unwrap_or("");
    text.lines().map(str::trim).filter(|line| !line.is_empty())
}

/// What is handed over, read.
fn handed(asked: &Asked) -> Result<Vec<Endowment>, Failure> {
    let fill = |line: &str| line.split_once('=').map_or("", |(_, fill)| fill).to_owned();
    confirm::check(asked, lines(asked, "fills").any(|line| confirm::written(&fill(line))))?;
    lines(asked, "fills").map(|line| asked.site.backend.endowment(line)).collect()
}

/// `POST /chat`: begins a conversation and says the first thing.
pub fn begin(asked: &Asked) -> Result<Answer, Failure> {
    let (kept, wrong) = match attached::brought(asked) {
        Ok(kept) if is_bringing(asked) => (kept, None),
        Ok(kept) => match started(asked, &kept) {
            Ok(run) => return Ok(Answer::Go(format!("/chat/{run}"))),
            Err(wrong) => (kept, Some(wrong)),
        },
        Err(failure) => (attached::before(asked), Some(Place::Documents.of()(failure))),
    };
    answered(asked, &kept, wrong.as_ref(), |kept, wrong| begins(asked, kept, wrong))
}

/// Whether files are brought and nothing is said yet.
fn is_bringing(asked: &Asked) -> bool {
    asked.field("do") == Some("attach")
}

/// A page again with what was sent, and what is wrong with it; the script gets the list of files alone.
fn answered(
    asked: &Asked,
    kept: &[Kept],
    wrong: Option<&Wrong>,
    page: impl Fn(&[Kept], Option<&Wrong>) -> Result<Page, Failure>,
) -> Result<Answer, Failure> {
    if asked.field("piece").is_some() {
        return Ok(Answer::Piece(attached::list(kept, at(wrong, Place::Documents))));
    }
    let status = if wrong.is_some() { 422 } else { 200 };
    Ok(page(kept, wrong)?.status(status).into())
}

fn what_is_said(asked: &Asked) -> Result<String, Wrong> {
    let wrong = |failure: Failure| Err(Place::Said.of()(failure));
    match asked.filled("said") {
        None => wrong(Failure::new(Exit::Invalid, "nothing was said")),
        // Before a conversation begins with it.
        Some(said) if said.len() > MOST_SAID => {
            let message = format!("{} bytes are said at once, and {MOST_SAID} can be", said.len());
            wrong(Failure::new(Exit::Invalid, message).help("bring what is longer as a document"))
        }
        Some(said) => Ok(said.to_owned()),
    }
}

fn started(asked: &Asked, kept: &[Kept]) -> Result<RunNumber, Wrong> {
    let said = what_is_said(asked)?;
    let model = asked.site.backend.model(asked.filled("model")).map_err(Place::Model.of())?;
    let documents = attached::documents(asked, kept).map_err(Place::Documents.of())?;
    let endow = handed(asked).map_err(Place::Slots.of())?;
    let request = request(asked, model, documents, endow).map_err(Place::Worker.of())?;
    let begun = asked.ask(Request::Run(Box::new(request.clone())));
    let run = match begun.map_err(|failure| whose(asked, request, failure))? {
        Response::Reply(Reply::Started { run }) => run,
        other => return Err(Place::Form.of()(unexpected(&other))),
    };
    speak(asked, run, said, vec![]).map_err(Place::Form.of())?;
    Ok(run)
}

/// Where a refusal to begin belongs: to the documents, if there would be none without them.
fn whose(asked: &Asked, request: RunRequest, failure: Failure) -> Wrong {
    let had = !request.documents.is_empty();
    let without = RunRequest { documents: vec![], dry_run: true, ..request };
    let place = match had && asked.ask(Request::Run(Box::new(without))).is_ok() {
        true => Place::Documents,
        false => Place::Form,
    };
    Wrong { at: place, failure }
}

/// What begins a conversation with the worker that was chosen.
fn request(
    asked: &Asked,
    model: String,
    documents: Vec<Document>,
    endow: Vec<Endowment>,
) -> Result<RunRequest, Failure> {
    let mut policy = None;
    let (name, source, includes) = match asked.filled("worker") {
        _ if brought(asked).is_some() => from_file(asked)?,
        Some(named) if named.starts_with(NAMED) => from_name(asked, &named[NAMED.len()..])?,
        None => ("chat".to_owned(), TALKER.to_owned(), BTreeMap::new()),
        Some(number) => {
            let number: RunNumber =
                number.parse().map_err(|_| Failure::new(Exit::NotFound, "there is no such worker"))?;
            let run = *take!(asked.ask(Request::GetRun { run: number })?, Run);
            let text = |hash: &BlobHash| text(asked, *hash);
            let includes = run.includes.iter().map(|(name, hash)| Ok((name.clone(), text(hash)?)));
            let mut includes = includes.collect::<Result<BTreeMap<String, String>, Failure>>()?;
            // It ran under these, and goes on under them.
            policy = includes.remove(PROJECT_POLICY);
            (run.name.clone(), text(&run.definition)?, includes)
        }
    };
    Ok(RunRequest {
        text: Untrusted::new(format!("chat {name}{} -m {model}", in_words(asked))),
        name,
        source,
        includes,
        beside: None,
        values: serde_json::Map::new(),
        read_from: vec![],
        documents,
        chat: true,
        private: false,
        each: None,
        limits: None,
        endow,
        allow: lines(asked, "allow").map(str::to_owned).collect(),
        model,
        dry_run: false,
        retry: None,
        policy,
    })
}

/// A worker: its name, its text, and what that includes.
type Program = (String, String, BTreeMap<String, String>);

/// The worker of a file that was brought.
fn from_file(asked: &Asked) -> Result<Program, Failure> {
    let none = || Failure::new(Exit::Invalid, "no worker file came").help("choose it again");
    let kept = brought(asked).ok_or_else(none)?;
    let name = kept.name.strip_suffix(".worker").unwrap_or(&kept.name).to_owned();
    Ok((name, text(asked, kept.hash)?, BTreeMap::new()))
}

/// The worker that one of the person's names stands for.
fn from_name(asked: &Asked, name: &str) -> Result<Program, Failure> {
    let bad = |error: &dyn std::fmt::Display| Failure::new(Exit::Invalid, error.to_string());
    let path = NamePath::parse(name).map_err(|error| bad(&error))?;
    let thing = take!(asked.look(Look::Thing { path })?, Thing);
    match (thing.kind.as_str(), thing.text) {
        ("worker", Some(source)) => Ok((name.to_owned(), source.raw().to_owned(), BTreeMap::new())),
        _ => Err(bad(&format!("`{}` is no worker", visible_line(name)))),
    }
}

/// What is handed over, as a person would have typed it.
fn in_words(asked: &Asked) -> String {
    let fills = lines(asked, "fills").map(|line| format!(" -e {line}"));
    fills.chain(lines(asked, "allow").map(|line| format!(" --allow {line}"))).collect()
}

fn speak(asked: &Asked, run: RunNumber, said: String, documents: Vec<Document>) -> Result<(), Failure> {
    let text = Untrusted::new(format!("say {run} {said}"));
    let said = Untrusted::new(said);
    take!(asked.ask(Request::Say { text, run, said, documents, dry_run: false })?, Reply);
    Ok(())
}

/// Whether a conversation takes these documents; nothing is said.
fn expect_taken(asked: &Asked, run: RunNumber, documents: Vec<Document>) -> Result<(), Failure> {
    if !documents.is_empty() {
        let nothing = || Untrusted::new(String::new());
        let request = Request::Say { text: nothing(), run, said: nothing(), documents, dry_run: true };
        take!(asked.ask(request)?, Reply);
    }
    Ok(())
}

/// `GET /chat/RUN`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    Ok(page(asked, number, &[], None)?.into())
}

fn page(asked: &Asked, number: RunNumber, kept: &[Kept], wrong: Option<&Wrong>) -> Result<Page, Failure> {
    let run = *take!(asked.ask(Request::GetRun { run: number })?, Run);
    let steps = all_steps(asked, number)?;
    let family = take!(asked.ask(Request::Family { run: number })?, Family);
    let waits = run.is_finished();
    let main = html! {
        h1 { (number) " " (parts::word(&run.name)) }
        p #state data-live { (parts::state(&run))
            @if let Some(why) = run.cancelled.as_ref().filter(|why| why.raw() != OVER) { ", cancelled: " (parts::line(why)) }
            " · model " (parts::word(&run.model)) " · "
            a href={ "/r/" (number) } { "the run" } }
        section #talk aria-label="The conversation" data-live {
            (shown(&begun_with(&run, &steps)))
            ol.rows { @for step in &steps { @if let Some(shown) = turn(asked, step)? { (shown) } } }
        }
        pre.foreign.writes #{ "writes-" (number) } aria-label="What the model is writing" tabindex="0" {}
        section #asks aria-label="What is asked" data-live {
            (asks(asked, number, &family.asked))
        }
        @if let Some(failure) = at(wrong, Place::Form) { (parts::failure_below(failure)) }
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
        @if !waits {
            form.card method="post" action={ "/chat/" (number) } enctype="multipart/form-data"
                data-draft={ "chat " (number) } {
                (parts::token(&asked.session))
                (what_you_say(asked, "3", at(wrong, Place::Said)))
                (attached::fields(asked, kept, at(wrong, Place::Documents)))
                p.buttons { button { "Say it" } (attached::button()) }
            }
            form.quiet method="post" action={ "/chat/" (number) "/end" } {
                (parts::token(&asked.session))
                button.plain { "End this conversation" }
            }
        }
    };
    let runs: String = family.members.iter().map(|run| format!("run:{} ", run.number)).collect();
    let topics = format!("{runs}run:{number} inbox");
    Ok(Page::new("/chat", format!("Chat {number}"), main).live(topics))
}

/// The documents with which a conversation began.
fn begun_with(run: &Run, steps: &[Step]) -> Vec<Attachment> {
    let later = |document: &&Attachment| {
        steps.iter().any(|step| match &step.entry {
            Entry::Said { documents, .. } => documents.iter().any(|one| one.name == document.name),
            _ => false,
        })
    };
    run.input.attachments.iter().filter(|document| !later(document)).cloned().collect()
}

/// Documents, by name and size.
fn shown(documents: &[Attachment]) -> Markup {
    html! {
        @if !documents.is_empty() {
            ul.documents {
                @for one in documents {
                    li { (parts::line(&Untrusted::new(one.name.as_str()))) " " span.note { (one.bytes) " bytes" } }
                }
            }
        }
    }
}

/// What is asked meanwhile: the oldest in full, the others as links. One after the other is answered, and no two cards of
/// one page have places of the same name.
fn asks(asked: &Asked, run: RunNumber, messages: &[MessageNumber]) -> Markup {
    let within = asked.within(&format!("/chat/{run}"));
    html! {
        @for (at, number) in messages.iter().enumerate() {
            @let letter = asked.look(Look::Letter { number: *number });
            @let view = match letter { Ok(Response::Letter(view)) => Some(view), _ => None };
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

/// The whole journal.
fn all_steps(asked: &Asked, run: RunNumber) -> Result<Vec<Step>, Failure> {
    let mut steps: Vec<Step> = Vec::new();
    loop {
        let from = steps.last().map_or(0, |step| step.number + 1);
        let page = take!(asked.ask(Request::Journal { run, from })?, Journal);
        if page.is_empty() {
            return Ok(steps);
        }
        steps.extend(page);
    }
}

/// What a step is in a conversation, if anything.
fn turn(asked: &Asked, step: &Step) -> Result<Option<Markup>, Failure> {
    let id = step.number;
    Ok(match &step.entry {
        Entry::Said { text, documents, .. } => Some(html! {
            li #{ "s-" (id) } {
                p.from { "You" } (parts::own_block("what you said", text.raw())) (shown(documents))
            }
        }),
        Entry::Replied { reply, .. } => {
            let text = text(asked, *reply)?;
            // A reply is kept as the JSON that `model::Reply` is.
            let json: serde_json::Value = serde_json::from_str(&text).unwrap_or_default();
            let words = json.get("text").and_then(|text| text.as_str()).unwrap_or("");
            (!words.is_empty()).then(|| {
                html! {
                    li #{ "s-" (id) } {
                        p.from { "The model" } (parts::block("what the model said", &Untrusted::new(words)))
                    }
                }
            })
        }
        Entry::Proposed { .. } | Entry::Completed { .. } | Entry::Stalled { .. } => Some(html! {
            li #{ "s-" (id) } { p.note { (step.entry.name()) " " (parts::line(&Untrusted::new(journal::detail(&step.entry)))) } }
        }),
        _ => None,
    })
}

fn text(asked: &Asked, hash: BlobHash) -> Result<String, Failure> {
    take!(asked.ask(Request::Blob { hash })?, Blob)
        .ok_or_else(|| Failure::new(Exit::Failure, "what is kept there is no text"))
}

/// `POST /chat/RUN`.
pub fn say(asked: &Asked) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let (kept, wrong) = match attached::brought(asked) {
        Ok(kept) => match says(asked, number, &kept) {
            Ok(true) => return Ok(Answer::Go(format!("/chat/{number}"))),
            Ok(false) => (kept, None),
            Err(wrong) => (kept, Some(wrong)),
        },
        Err(failure) => (attached::before(asked), Some(Place::Documents.of()(failure))),
    };
    answered(asked, &kept, wrong.as_ref(), |kept, wrong| page(asked, number, kept, wrong))
}

/// Says it; `false` if only files were to be brought.
fn says(asked: &Asked, number: RunNumber, kept: &[Kept]) -> Result<bool, Wrong> {
    let documents = attached::documents(asked, kept).map_err(Place::Documents.of())?;
    expect_taken(asked, number, documents.clone()).map_err(Place::Documents.of())?;
    if is_bringing(asked) {
        return Ok(false);
    }
    speak(asked, number, what_is_said(asked)?, documents).map_err(Place::Form.of())?;
    Ok(true)
}

/// Why a conversation is cancelled that a person has ended.
const OVER: &str = "the conversation is over";

/// `POST /chat/RUN/end`.
pub fn end(asked: &Asked) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let reason = Untrusted::new(OVER);
    let act = AgentAct::Cancel { what: Cancel::Run { run: number }, reason };
    asked.act("cancel", format!("cancel {number}"), act)?;
    Ok(Answer::Go(format!("/chat/{number}")))
}
