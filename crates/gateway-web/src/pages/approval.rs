//! The approval card: the arguments and their sources, the findings of the gates, and the buttons for an answer.

use control::exit::Failure;
use control::show::card::{Card, MODEL_TEXT_HEADING};
use control::show::task::{Task, TaskGiver, TaskPart};
use control::show::{budget_request, danger, headline};
use kernel::message::Answer as Said;
use maud::{Markup, html};
use passable::{Quoting, Untrusted};

use super::approval_bar;
use super::approval_entry::{self, CardPlace};
use super::messages::approval_context;
use super::messages::worker_preview::ApprovalPreview;
use crate::page::parts;
use crate::page_request::PageRequest;

/// The maximum size of a task that is not folded, in bytes.
const MAX_TASK_BYTES: usize = 200;

/// The maximum number of lines of a task that is not folded.
const MAX_TASK_LINES: usize = 2;

/// Returns a digest of the card, without its history of earlier approvals. An answer is bound to this digest.
///
/// # Errors
/// When the card cannot be serialized.
pub fn digest(card: &Card) -> Result<String, Failure> {
    // The history of earlier approvals grows with every answer elsewhere, and changes nothing here.
    let bytes = serde_json::to_vec(&Card { asked: vec![], ..card.clone() })
        .map_err(|error| Failure::new(control::exit::Exit::Failure, error.to_string()))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// Returns the card. It has the buttons for an answer as long as an answer is missing.
///
/// # Errors
/// When the card cannot be serialized.
pub fn card(asked: &PageRequest, card: &Card) -> Result<Markup, Failure> {
    let digest = digest(card)?;
    let open = card.entries.iter().filter(|entry| entry.answer.is_none()).count();
    let granted = granted(asked, card);
    let may = granted.as_ref().filter(|granted| card.is_open() && granted.missing().is_none());
    let after_refusals = is_after_refusals(card);
    Ok(html! {
        // In a conversation, the card has no page whose title says what it asks.
        @if asked.back().is_some() { p { strong { (parts::plain_sentence(&headline::of_card(card))) } } }
        (warning(card))
        @if card.in_doubt { p { "The daemon went down while it did this. Only you can find out whether it happened." } }
        (tasks(card))
        form.card method="post" action={ "/m/" (card.number) "/answer" } data-weighty
            data-draft={ "answer " (card.number) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            (parts::back(asked))
            @if card.entries.len() > open { p { (tally(card)) } }
            @if let Some(granted) = may { (granted.draw(asked)) }
            @for (index, entry) in card.entries.iter().enumerate() {
                (approval_entry::draw(asked, &CardPlace { card, index }, entry, granted.as_ref()))
            }
            @if let Some(more) = &card.more {
                (asks_for_more(more))
                @if !after_refusals { (approval_context::amounts(asked, card)) }
            }
            (context(card))
            @if card.is_open() {
                (approval_bar::draw(card, asked.field("reason").unwrap_or(""), may.is_some()))
            }
        }
    })
}

/// Returns the dangers of an open card, one line for each, above everything else.
fn warning(card: &Card) -> Markup {
    let dangers = if card.is_open() { danger::of_card(card) } else { vec![] };
    self::dangers(&format!("dangers-{}", card.number), danger::heading(card), &dangers)
}

/// Returns a warning with one line for each danger, or nothing without a danger.
pub fn dangers(id: &str, heading: &str, all: &[Quoting]) -> Markup {
    html! {
        @if !all.is_empty() {
            section.dangers aria-labelledby=(id) {
                h2 id=(id) { (heading) }
                ul { @for danger in all { li { (parts::plain_sentence(danger)) } } }
            }
        }
    }
}

/// Returns the folded context of a card: the sources that the run has read, earlier questions, and the model's own
/// words.
fn context(card: &Card) -> Markup {
    let sources = control::show::card::untrusted_sources(&card.read);
    let read = match sources.len() {
        0 => None,
        1 => Some("1 source that the run has read".to_owned()),
        many => Some(format!("{many} sources that the run has read")),
    };
    let before = (!card.asked.is_empty()).then(|| "earlier questions".to_owned());
    let words = card.said.as_ref().map(|_| "the model’s own words".to_owned());
    let summary: Vec<String> = [read, before, words].into_iter().flatten().collect();
    html! {
        @if !summary.is_empty() {
            details.context #{ "context-" (card.number) } {
                summary { "Context: " (summary.join(" · ")) }
                @if !sources.is_empty() {
                    p { "This run has been shown: " (parts::line(&Untrusted::new(sources.join(", ")))) }
                }
                (approval_context::asked_before(card))
                @if let Some(said) = &card.said {
                    section aria-label="Its own words" { p.note { (MODEL_TEXT_HEADING) } (parts::whole("Its own words", said)) }
                }
            }
        }
    }
}

/// Returns the task of the run, and that which another run's model gave to it. A long one is folded.
pub fn tasks(card: &Card) -> Markup {
    html! {
        @for task in &card.task {
            @let (heading, parts) = (task.heading(), task.parts());
            @let bytes: usize = parts.iter().map(|part| part.text.raw().len()).sum();
            @let lines: usize = parts.iter().map(|part| part.text.raw().lines().count()).sum();
            @let label = heading.replace('`', "");
            section.entry.task aria-label=(label) {
                @if bytes > MAX_TASK_BYTES || lines > MAX_TASK_LINES {
                    details {
                        summary {
                            (parts::help(&heading)) " "
                            @if let Some(first) = parts.first() { (task_title(first)) (parts::short(&first.text)) }
                        }
                        @for part in &parts { p { (task_title(part)) } (task_words(task, part, &label)) }
                    }
                } @else {
                    p { (parts::help(&heading)) }
                    @for part in &parts {
                        @if part.title.is_some() { p.note { (task_title(part)) } }
                        (task_words(task, part, &label))
                    }
                }
                @if let Some(documents) = task.document_line() { p.note { (parts::line(&Untrusted::new(documents))) } }
            }
        }
    }
}

/// Returns the words of a part of a task. Only those that the user has typed or chosen are set as the user's own.
fn task_words(task: &Task, part: &TaskPart, label: &str) -> Markup {
    match task.giver == TaskGiver::User && part.title.is_none() {
        true => parts::said(label, &part.text),
        false => parts::whole(label, &part.text),
    }
}

/// Returns the title of a part of a task, which names the file that holds the words.
fn task_title(part: &TaskPart) -> Markup {
    html! { @if let Some(title) = &part.title { (parts::plain_sentence(title)) " " } }
}

/// Returns the preview of the grants of an approval, if the user has asked for it or pressed an approving button.
fn granted(asked: &PageRequest, card: &Card) -> Option<ApprovalPreview> {
    let wanted = matches!(asked.field("do"), Some("show" | "approve" | "run"));
    let marked = marked(asked).filter(|_| wanted)?;
    let marked = (!marked.is_empty()).then_some(marked);
    // An error is shown above the card.
    ApprovalPreview::of(asked, card, marked.as_deref()).ok().flatten()
}

/// Returns the indices of the marked entries, or `None` if one of them is not a number.
pub fn marked(asked: &PageRequest) -> Option<Vec<usize>> {
    let marks = asked.body.iter().filter(|(name, _)| name == "entry");
    marks.map(|(_, text)| text.parse().ok()).collect()
}

/// Returns how many of the entries were answered in which way, and how many are open.
fn tally(card: &Card) -> String {
    let entries = &card.entries;
    let word = |answer: Option<&Said>| match answer {
        None => "open",
        Some(Said::Approved { .. }) => "approved",
        Some(Said::Denied { .. }) => "denied",
        Some(Said::Happened { .. }) => "happened",
        Some(Said::Repeat { .. }) => "to be done",
        Some(Said::Withdrawn { .. }) => "withdrawn",
    };
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        let word = word(entry.answer.as_ref());
        match counts.iter_mut().find(|(each, _)| *each == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    // The open entries come last.
    counts.sort_by_key(|(word, _)| *word == "open");
    let words: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    let calls = if entries.len() == 1 { "call" } else { "calls" };
    format!("{} {calls}: {}", entries.len(), words.join(", "))
}

/// Returns whether the card asks if a run shall go on whose calls the user keeps refusing.
pub fn is_after_refusals(card: &Card) -> bool {
    card.more.as_ref().is_some_and(|more| more.offer.is_after_refusals())
}

fn asks_for_more(one: &budget_request::BudgetRequest) -> Markup {
    html! {
        section.entry aria-labelledby="more-title" {
            @if one.offer.is_after_refusals() { p { (budget_request::REFUSALS_QUESTION) } }
            p.warning { (parts::line(&one.why)) }
            p {
                "So far: " (control::show::usage::describe(&one.used)) "."
            }
            h2 #more-title { @if one.answer.is_none() { "What you would grant" } @else { "What was asked for" } }
            p { (one.answers()) }
            @if let Some(answer) = &one.answer { p.answer { (approval_entry::answer_line(answer)) } }
        }
    }
}
