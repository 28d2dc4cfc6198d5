//! The approval card: the arguments and their sources, the findings of the gates, and the buttons for an answer.

use control::exit::Failure;
use control::show::budget_request;
use control::show::card::{Card, CardEntry, ChangedDependency, MODEL_TEXT_HEADING};
use control::show::giver;
use control::show::task::TaskPart;
use kernel::message::Answer as Said;
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::messages::approval_context;
use super::messages::worker_preview::{self, ApprovalPreview};
use crate::page::parts;
use crate::page_request::PageRequest;

/// The maximum size of a task that is not folded, in bytes.
const MAX_TASK_BYTES: usize = 800;

/// The maximum number of lines of a task that is not folded.
const MAX_TASK_LINES: usize = 8;

/// The maximum number of sources that are not folded.
const MAX_SOURCES: usize = 5;

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
    let after_refusals = is_after_refusals(card);
    Ok(html! {
        p {
            (parts::run(card.run)) " " (parts::word(&card.worker))
            @if card.in_doubt { " was cut off. Did this happen?" }
            @else if after_refusals { " keeps asking for what you refuse." }
            @else if card.more.is_some() { " has used up what it may, and asks for more." }
            @else if let [one] = card.entries.as_slice() { " wants to do this. " (parts::plain_sentence(&one.gist())) "." }
            @else { " wants to do this." }
        }
        (tasks(card))
        form.card method="post" action={ "/m/" (card.number) "/answer" } data-weighty
            data-draft={ "answer " (card.number) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            (parts::back(asked))
            @if card.entries.len() > open { p { (tally(&card.entries)) } }
            @for (i, entry) in card.entries.iter().enumerate() { (self::entry(asked, card, i, entry, open > 1, granted.as_ref())) }
            @if let Some(more) = &card.more {
                (asks_for_more(more))
                @if !after_refusals { (approval_context::amounts(asked, card)) }
            }
            (untrusted_sources(card))
            (approval_context::asked_before(card))
            @if let Some(said) = &card.said {
                section.entry aria-label="Its own words" { p.note { (MODEL_TEXT_HEADING) } (parts::block("Its own words", said)) }
            }
            @if card.is_open() {
                @let may = granted.as_ref().filter(|granted| granted.missing().is_none());
                @if let Some(granted) = may { (granted.draw(asked)) }
                (answers(card, asked.field("reason").unwrap_or(""), may.is_some()))
            }
        }
    })
}

/// Returns the task of the run, and that which another run's model gave to it. A long one is folded.
pub fn tasks(card: &Card) -> Markup {
    html! {
        @for task in &card.task {
            @let (heading, parts) = (task.heading(), task.parts());
            @let bytes: usize = parts.iter().map(|part| part.text.raw().len()).sum();
            @let lines: usize = parts.iter().map(|part| part.text.raw().lines().count()).sum();
            section.entry.task aria-label=(heading) {
                @if bytes > MAX_TASK_BYTES || lines > MAX_TASK_LINES {
                    details {
                        summary {
                            (parts::word(&heading)) " "
                            @if let Some(first) = parts.first() { (task_title(first)) (parts::short(&first.text)) }
                        }
                        @for part in &parts { p { (task_title(part)) } (parts::whole(&heading, &part.text)) }
                    }
                } @else {
                    p { (parts::word(&heading)) }
                    @for part in &parts {
                        @if part.title.is_some() { p.note { (task_title(part)) } }
                        (parts::whole(&heading, &part.text))
                    }
                }
                @if let Some(documents) = task.document_line() { p.note { (parts::line(&Untrusted::new(documents))) } }
            }
        }
    }
}

/// Returns the title of a part of a task, which names the file that holds the words.
fn task_title(part: &TaskPart) -> Markup {
    html! { @if let Some(title) = &part.title { (parts::plain_sentence(title)) " " } }
}

/// Returns the calls of a card, for a page on which one answer covers several cards.
pub fn calls(asked: &PageRequest, card: &Card) -> Markup {
    html! {
        @for (i, entry) in card.entries.iter().enumerate() { (self::entry(asked, card, i, entry, false, None)) }
        (untrusted_sources(card))
        @if let Some(said) = &card.said {
            p.note { (MODEL_TEXT_HEADING) }
            (parts::block("Its own words", said))
        }
    }
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
fn tally(entries: &[CardEntry]) -> String {
    let word = |entry: &CardEntry| match &entry.answer {
        None => "open",
        Some(Said::Approved { .. }) => "approved",
        Some(Said::Denied { .. }) => "denied",
        Some(Said::Happened { .. }) => "happened",
        Some(Said::Repeat { .. }) => "to be done",
        Some(Said::Withdrawn { .. }) => "withdrawn",
    };
    let mut counts: Vec<(&str, usize)> = Vec::new();
    for entry in entries {
        let word = word(entry);
        match counts.iter_mut().find(|(each, _)| *each == word) {
            Some((_, count)) => *count += 1,
            None => counts.push((word, 1)),
        }
    }
    // The open entries come last.
    counts.sort_by_key(|(word, _)| *word == "open");
    let words: Vec<String> = counts.iter().map(|(word, count)| format!("{count} {word}")).collect();
    format!("{} calls: {}", entries.len(), words.join(", "))
}

/// Returns one entry of the card. If the card has several entries, those that were answered are folded.
fn entry(
    asked: &PageRequest,
    card: &Card,
    i: usize,
    entry: &CardEntry,
    has_mark: bool,
    granted: Option<&ApprovalPreview>,
) -> Markup {
    let body = |is_folded| body(asked, card, i, entry, is_folded, granted);
    let number = i + 1;
    let id = format!("e-{}-{number}", card.number);
    let title = html! {
        "[" (number) "] " strong { (parts::plain_sentence(&entry.effect_quoting())) } " "
        (parts::word(&entry.slot)) "." (parts::word(&entry.method)) " → " (parts::word(&entry.target))
    };
    html! {
        section.entry aria-labelledby=(id) {
            @match entry.answer.as_ref() {
                Some(answer) if card.entries.len() > 1 => details #{ (id) "-fold" } {
                    summary { h2 #(id) { (title) } span.answer { (answer_line(answer)) } }
                    (body(true))
                },
                Some(answer) => {
                    h2 #(id) { (title) }
                    (body(false))
                    p.answer { (answer_line(answer)) }
                }
                None => {
                    h2 #(id) {
                        @if has_mark {
                            label { input type="checkbox" name="entry" value=(i) checked[is_marked(asked, i)]; span { (title) } }
                        } @else { (title) }
                    }
                    (body(false))
                }
            }
        }
    }
}

/// Returns the details of an entry: its arguments, its changes and the findings of the gates. A folded entry contains
/// no blocks that must be unfolded first.
fn body(
    asked: &PageRequest,
    card: &Card,
    i: usize,
    entry: &CardEntry,
    is_folded: bool,
    granted: Option<&ApprovalPreview>,
) -> Markup {
    html! {
        p.note { a href={ "/why?thing=" (url_of(&entry.step.to_string())) } { (entry.step) } }
        @if let Some(all) = giver::of_all(&entry.givers) { p.note { (all) } }
        dl {
            @for (name, text) in &entry.arguments {
                @let label = format!("argument {}", visible_line(name));
                dt {
                    (parts::word(name)) " " span.note { (text.raw().len()) " bytes" }
                    @if let Some(giver) = giver::of_argument(&entry.givers, name) {
                        span.note { ", " (parts::plain_sentence(&giver::quoting(giver))) }
                    }
                }
                dd {
                    @if is_folded { (parts::whole(&label, text)) } @else { (parts::block(&label, text)) }
                    @for (part, giver) in giver::of_parts(&entry.givers, name) {
                        p.note { (parts::plain_sentence(&giver::of_part(part, giver))) }
                    }
                }
            }
        }
        @if let Some(replaced) = &entry.replaces {
            p.warning { "replaces what is there now (" (parts::word(replaced)) ")" }
        }
        @if let Some(difference) = &entry.difference {
            @let title = entry.difference_of.as_deref().unwrap_or("what becomes of the file");
            p { (parts::word(title)) ":" }
            (parts::difference(&visible_line(title), difference))
        }
        @for one in &entry.changed { (changed(one)) }
        @if !entry.traces.is_empty() || !entry.findings.is_empty() {
            ul.findings {
                @for trace in &entry.traces {
                    li.warning {
                        (parts::word(&trace.argument)) " “" (parts::line(&Untrusted::new(trace.text.as_str())))
                        "” came from " (parts::plain_sentence(&giver::source(trace)))
                        " (" (parts::word(&trace.how)) ")"
                    }
                }
                @for finding in &entry.findings { li { (parts::finding(finding)) } }
            }
        }
        @if let Some(making) = &entry.making { (worker_preview::draw(asked, card, i, (entry, making), granted)) }
        (approval_context::state(entry))
    }
}

/// Returns whether an entry is marked. Every entry is marked until the user has sent the form.
fn is_marked(asked: &PageRequest, entry: usize) -> bool {
    asked.body.is_empty() || marked(asked).is_some_and(|marked| marked.contains(&entry))
}

fn changed(one: &ChangedDependency) -> Markup {
    let state = |hash: &Option<String>| hash.clone().unwrap_or_else(|| "not there".to_owned());
    html! {
        p.warning {
            (parts::word(&one.what)) " has changed since you approved this: " (state(&one.was)) " then, "
            (state(&one.is)) " now"
        }
        @if let Some(lines) = &one.lines { (parts::difference("what has changed", lines)) }
    }
}

/// Returns whether the card asks if a run shall go on whose calls the user keeps refusing.
fn is_after_refusals(card: &Card) -> bool {
    card.more.as_ref().is_some_and(|more| more.offer.is_after_refusals())
}

fn asks_for_more(one: &budget_request::BudgetRequest) -> Markup {
    html! {
        section.entry {
            @if one.offer.is_after_refusals() { p { (budget_request::REFUSALS_QUESTION) } }
            p.warning { (parts::line(&one.why)) }
            p {
                "So far: " (control::show::usage::describe(&one.used)) "."
            }
            p { (one.answers()) }
            @if let Some(answer) = &one.answer { p.answer { (answer_line(answer)) } }
        }
    }
}

/// Returns a note on the untrusted sources that the run has read. Many of them are folded.
fn untrusted_sources(card: &Card) -> Markup {
    let all = control::show::card::untrusted_sources(&card.read);
    let shown = |some: &[String]| html! { (parts::line(&Untrusted::new(some.join(", ")))) };
    html! {
        @match all.as_slice() {
            [] => {}
            [first @ .., _] if all.len() > MAX_SOURCES => details {
                summary.note {
                    "This run has been shown: " (shown(&first[..MAX_SOURCES.min(first.len())]))
                    " and " (all.len() - MAX_SOURCES) " more"
                }
                p.note { (shown(&all)) }
            },
            some => p.note { "This run has been shown: " (shown(some)) },
        }
    }
}

fn answer_line(answer: &Said) -> Markup {
    html! {
        @match answer {
            Said::Approved { for_run, at_ms } => {
                "✓ approved" @if *for_run { " for this run" } ", " (parts::when(*at_ms))
            }
            Said::Denied { reason, at_ms } => { "✗ denied: " (parts::foreign_text(reason)) ", " (parts::when(*at_ms)) }
            Said::Happened { at_ms } => { "✓ it happened, said " (parts::when(*at_ms)) }
            Said::Repeat { at_ms } => { "✓ it did not happen: to be done, said " (parts::when(*at_ms)) }
            Said::Withdrawn { reason, at_ms } => {
                "✗ withdrawn: " (parts::foreign_text(reason)) ", " (parts::when(*at_ms))
            }
        }
    }
}

/// Returns the buttons for an answer. Enter presses none of them: in the reason, it begins a new line.
fn answers(card: &Card, reason: &str, is_shown: bool) -> Markup {
    let after_refusals = is_after_refusals(card);
    html! {
        fieldset.answers {
            legend { "Your answer" }
            // Enter presses a form's first button. This one does nothing but show the page again.
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            @if card.in_doubt {
                (parts::unfold_first())
                div.buttons {
                    button name="do" value="happened" { "It happened" }
                    button.yes name="do" value="repeat" { "It did not: do it now" }
                }
            } @else {
                @if card.entries.iter().filter(|entry| entry.answer.is_none()).count() > 1 {
                    p { "Your answer covers the ticked calls; the others stay open." }
                }
                label for="reason" {
                    @if after_refusals { "Reason for stopping it" } @else { "Reason for denying (the model will read it)" }
                }
                textarea #reason name="reason" rows="2" { "\n" (reason) }
                (parts::unfold_first())
                div.buttons {
                    button name="do" value="deny" { @if after_refusals { "Stop it" } @else { "Deny" } }
                    // The user reads the preview of the grants before approving.
                    @let looks = worker_preview::is_open(card) && !is_shown;
                    @let can = approval_context::can_be_approved(card) && !looks;
                    @if looks { button name="do" value="show" { "Show what this would grant" } }
                    @if can {
                        button.yes name="do" value="approve" {
                            @if after_refusals { "Let it go on" } @else if card.more.is_some() { "Give it" } @else { "Approve" }
                        }
                    }
                    @if can && card.more.is_none() {
                        button.yes.plain name="do" value="run" {
                            "Approve for this run: as often as it proposes exactly this"
                        }
                    }
                }
            }
        }
    }
}

/// Encodes a text as a part of a query.
fn url_of(text: &str) -> String {
    url::form_urlencoded::byte_serialize(text.as_bytes()).collect()
}
