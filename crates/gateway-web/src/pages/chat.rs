//! Conversations: what was said, what was answered while it is written, and what is asked in between, as cards.

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Document, Request, Response, RunRequest};
use control::show::journal;
use kernel::command::{Cancel, Reply};
use kernel::run::{Entry, Run, Shape, Step};
use kernel::{BlobHash, RunNumber};
use maud::{Markup, html};
use passable::Untrusted;

use super::approval;
use crate::answer::{Answer, Page};
use crate::asked::{Asked, take, unexpected};
use crate::page::parts;

/// The worker with whom one talks without naming another.
const WORKER: &str = "---\ndescription: Talks with you.\n---\nYou talk with a person. Be brief and exact; say so if \
                      you cannot know.\n";

/// How many runs are looked through for conversations and workers.
const RECENT: usize = 200;

/// `GET /chat`.
pub fn list(asked: &Asked) -> Result<Answer, Failure> {
    Ok(begins(asked, None)?.into())
}

/// The conversations that there are, and the form that begins one.
fn begins(asked: &Asked, wrong: Option<&Failure>) -> Result<Page, Failure> {
    let runs = take!(asked.ask(Request::Runs { limit: RECENT, below: None, roots: true })?, Runs);
    let (open, over): (Vec<&Run>, Vec<&Run>) =
        runs.iter().filter(|run| run.shape == Shape::Chat).partition(|run| !run.is_finished());
    let typed = |name: &str| asked.field(name).unwrap_or("");
    let main = html! {
        h1 { "Chat" }
        @if let Some(wrong) = wrong { (parts::failure_below(wrong)) }
        section #open aria-labelledby="open-title" data-live {
            h2 #open-title { "Open conversations" }
            (conversations(&open))
        }
        section aria-labelledby="new-title" {
            h2 #new-title { "Begin another" }
            form.card method="post" action="/chat" data-draft="chat" {
                (parts::token(&asked.session))
                label for="worker" { "With whom" }
                select #worker name="worker" {
                    option value="" { "a model, and nothing else" }
                    @for (name, number) in workers(&runs) {
                        option value=(number) selected[typed("worker") == number.to_string()] {
                            (passable::visible_line(&name)) ", as in " (number)
                        }
                    }
                }
                label for="model" { "Model; empty for the one in your settings" }
                input #model name="model" value=(typed("model")) autocomplete="off" spellcheck="false";
                label for="said" { "What you say" }
                textarea #said name="said" rows="4" required { (typed("said")) }
                label for="documents" { "Documents that it may read: paths of this machine, one in a line" }
                textarea #documents name="documents" rows="2" spellcheck="false" { (typed("documents")) }
                p.buttons { button { "Begin" } }
            }
        }
        @if !over.is_empty() {
            section aria-labelledby="over-title" { h2 #over-title { "Over" } (conversations(&over)) }
        }
    };
    Ok(Page::new("/chat", "Chat", main).live("runs"))
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

/// Workers that have been run, each with its latest run: that one's definition is what is talked with.
fn workers(runs: &[Run]) -> Vec<(String, RunNumber)> {
    let mut latest: BTreeMap<&str, RunNumber> = BTreeMap::new();
    for run in runs.iter().filter(|run| !run.is_standing() && run.shape != Shape::Chat) {
        latest.entry(&run.name).or_insert(run.number);
    }
    latest.into_iter().map(|(name, number)| (name.to_owned(), number)).collect()
}

/// `POST /chat`: begins a conversation and says the first thing.
pub fn begin(asked: &Asked) -> Result<Answer, Failure> {
    match started(asked) {
        Ok(run) => Ok(Answer::Go(format!("/chat/{run}"))),
        Err(failure) => Ok(begins(asked, Some(&failure))?.status(422).into()),
    }
}

fn started(asked: &Asked) -> Result<RunNumber, Failure> {
    let said =
        asked.filled("said").ok_or_else(|| Failure::new(Exit::Invalid, "nothing was said"))?.to_owned();
    let model = asked.site.backend.model(asked.filled("model"))?;
    let (name, source, includes) = match asked.filled("worker") {
        None => ("chat".to_owned(), WORKER.to_owned(), BTreeMap::new()),
        Some(number) => {
            let number: RunNumber =
                number.parse().map_err(|_| Failure::new(Exit::NotFound, "there is no such worker"))?;
            let run = *take!(asked.ask(Request::GetRun { run: number })?, Run);
            let text = |hash: &BlobHash| text(asked, *hash);
            let includes = run.includes.iter().map(|(name, hash)| Ok((name.clone(), text(hash)?)));
            (run.name.clone(), text(&run.definition)?, includes.collect::<Result<_, Failure>>()?)
        }
    };
    let documents = asked.filled("documents").unwrap_or("").lines().map(str::trim);
    let documents = documents
        .filter(|path| !path.is_empty())
        .map(|path| Document::File { path: path.to_owned() })
        .collect();
    let request = RunRequest {
        text: Untrusted::new(format!("chat {name} -m {model}")),
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
        endow: vec![],
        allow: vec![],
        model,
        dry_run: false,
        retry: None,
    };
    let run = match asked.ask(Request::Run(Box::new(request)))? {
        Response::Reply(Reply::Started { run }) => run,
        other => return Err(unexpected(&other)),
    };
    speak(asked, run, said)?;
    Ok(run)
}

fn speak(asked: &Asked, run: RunNumber, said: String) -> Result<(), Failure> {
    let text = Untrusted::new(format!("say {run} {said}"));
    take!(asked.ask(Request::Say { text, run, said: Untrusted::new(said) })?, Reply);
    Ok(())
}

/// `GET /chat/RUN`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    page(asked, number, None)
}

fn page(asked: &Asked, number: RunNumber, wrong: Option<&Failure>) -> Result<Answer, Failure> {
    let run = *take!(asked.ask(Request::GetRun { run: number })?, Run);
    let steps = all_steps(asked, number)?;
    let family = take!(asked.ask(Request::Family { run: number })?, Family);
    let waits = run.is_finished();
    let main = html! {
        h1 { (number) " " (parts::word(&run.name)) }
        p #state data-live { (parts::state(&run)) " · model " (parts::word(&run.model)) " · "
            a href={ "/r/" (number) } { "the run" } }
        section #talk aria-label="The conversation" data-live {
            ol.rows { @for step in &steps { @if let Some(shown) = turn(asked, step)? { (shown) } } }
        }
        pre.foreign.writes #{ "writes-" (number) } aria-label="What the model is writing" tabindex="0" {}
        section #asks aria-label="What is asked" data-live {
            @for message in &family.asked {
                article #{ "ask-" (message) } {
                    h2 { a href={ "/m/" (message) } { "Message " (message) } }
                    (approval::card(asked, &take_card(asked, *message)?)?)
                }
            }
        }
        @if let Some(wrong) = wrong { (parts::failure_below(wrong)) }
        @if !waits {
            form.card method="post" action={ "/chat/" (number) } data-draft={ "chat " (number) } {
                (parts::token(&asked.session))
                label for="said" { "What you say" }
                textarea #said name="said" rows="3" required { (asked.field("said").unwrap_or("")) }
                p.buttons { button { "Say it" } }
            }
            form.quiet method="post" action={ "/chat/" (number) "/end" } {
                (parts::token(&asked.session))
                button.plain { "End this conversation" }
            }
        }
    };
    let runs: String = family.members.iter().map(|run| format!("run:{} ", run.number)).collect();
    let status = if wrong.is_some() { 422 } else { 200 };
    let topics = format!("{runs}run:{number} inbox");
    Ok(Page::new("/chat", format!("Chat {number}"), main).status(status).live(topics).into())
}

fn take_card(asked: &Asked, message: kernel::MessageNumber) -> Result<control::show::card::Card, Failure> {
    Ok(*take!(asked.ask(Request::Card { message })?, Card))
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
        Entry::Said { text, .. } => Some(html! {
            li #{ "s-" (id) } { p.from { "You" } (parts::own_block("what you said", text.raw())) }
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
    let said = asked.filled("said").ok_or_else(|| Failure::new(Exit::Invalid, "nothing was said"));
    match said.and_then(|said| speak(asked, number, said.to_owned())) {
        Ok(()) => Ok(Answer::Go(format!("/chat/{number}"))),
        Err(failure) => page(asked, number, Some(&failure)),
    }
}

/// `POST /chat/RUN/end`.
pub fn end(asked: &Asked) -> Result<Answer, Failure> {
    let number: RunNumber = asked.part("run")?;
    let reason = Untrusted::new("the conversation is over");
    let act = AgentAct::Cancel { what: Cancel::Run { run: number }, reason };
    asked.act("cancel", format!("cancel {number}"), act)?;
    Ok(Answer::Go(format!("/chat/{number}")))
}
