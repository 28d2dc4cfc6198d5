//! The definition card: exactly what would run, what it does with what it is given, a choice for each slot, and, once all
//! is chosen, what each choice grants. Only then is there a button that endows, and it is bound to what is shown.

mod chosen;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Look, Response};
use control::view::{LetterView, PickRow, PromiseState, Proposed, ProposedSlot, Told};
use kernel::command::Reply;
use kernel::message::Body;
use kernel::{MessageNumber, NamePath};
use maud::{Markup, html};
use passable::{Untrusted, visible};
use serde::Serialize;

use super::narrow::{Hole, no_picker};
use super::{confirm, form, said};
use crate::answer::Answer;
use crate::asked::{Asked, take};
use crate::page::{parts, told};
use crate::pages::message;
use chosen::Chosen;
pub use chosen::example;

/// Text of so many bytes is unfolded by whoever approves it.
const LONG: usize = 2000;

/// A hash of what an answer is bound to.
///
/// # Errors
/// When it cannot be written down.
pub fn hashed<T: Serialize>(shown: &T) -> Result<String, Failure> {
    let bytes = serde_json::to_vec(shown).map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    Ok(blake3::hash(&bytes).to_hex().to_string())
}

/// What is said when something else would happen than what was shown.
pub fn stale() -> Markup {
    html! {
        p.failure role="alert" {
            "Nothing was done: this is not what you saw when you pressed the button. Read it again as it is now."
        }
    }
}

/// The same, with what is otherwise than it was shown.
fn differs(asked: &Asked, granted: &Granted) -> Markup {
    let (was, is) = (asked.field("_lines").unwrap_or_default(), granted.plain());
    html! {
        (stale())
        @if !was.is_empty() && was != is {
            h2 { "What is otherwise now" }
            (parts::difference("what you would grant", &Untrusted::new(control::show::difference::lines(was, &is))))
        }
    }
}

/// What is said when a name has come to stand for something else.
pub fn gone() -> Failure {
    Failure::new(
        Exit::Conflict,
        "what was chosen has no name of yours any more, or stands for something else",
    )
    .help("choose again")
}

/// Somebody's text with numbers before its lines, exactly as it is stored.
pub fn numbered(label: &str, text: &Untrusted) -> Markup {
    let shown = text.visible();
    let body = html! {
        pre.foreign.numbered tabindex="0" aria-label=(label) {
            @for line in shown.lines() { span.l { (line) "\n" } }
        }
    };
    html! {
        @if text.raw().len() > LONG {
            details.long data-must-open open { summary { (label) " " span.note { (text.raw().len()) " bytes" } } (body) }
        } @else { (body) }
    }
}

/// The card, with nothing chosen.
///
/// # Errors
/// When the daemon does not answer.
pub fn card(asked: &Asked, view: &LetterView) -> Result<Markup, Failure> {
    let shown = Shown::of(asked, view)?;
    Ok(html! {
        (shown.draw(asked, view, &Chosen::default(), None))
        (result(asked, view))
    })
}

/// The card with what was chosen, and something that was picked just now.
///
/// # Errors
/// When the daemon does not answer.
pub fn redrawn(asked: &Asked, view: &LetterView, place: &str) -> Result<Markup, Failure> {
    let shown = Shown::of(asked, view)?;
    let chosen = Chosen::sent(&shown.proposed, &asked.body).fresh(place);
    Ok(shown.draw(asked, view, &chosen, None))
}

/// The picker at a place.
///
/// # Errors
/// When there is none.
pub fn hole(asked: &Asked, view: &LetterView, place: &str) -> Result<Hole, Failure> {
    let shown = Shown::of(asked, view)?;
    Chosen::sent(&shown.proposed, &asked.body).hole(&shown.proposed, place).ok_or_else(no_picker)
}

/// What its sender has got for it, once it has got anything.
fn result(asked: &Asked, view: &LetterView) -> Markup {
    let promise = view.letter.body().and_then(Body::asks).map(|(promise, _)| promise);
    let state = promise.and_then(|promise| asked.look(Look::Promise { promise, wait: false }).ok());
    html! {
        @match state {
            Some(Response::Promise(PromiseState::Fulfilled { value })) => section.entry aria-labelledby="result-title" {
                h2 #result-title { "What its sender has got" }
                (told::value(asked, "The result", &value))
            },
            Some(Response::Promise(PromiseState::Rejected { reason })) => {
                p.warning { "It came to nothing: " (parts::line(&reason)) }
            },
            _ => {},
        }
    }
}

/// All that a card is made from.
struct Shown {
    proposed: Proposed,
    picks: Vec<PickRow>,
}

impl Shown {
    fn of(asked: &Asked, view: &LetterView) -> Result<Shown, Failure> {
        let number = view.letter.number;
        let proposed = *take!(asked.look(Look::Proposed { number })?, Proposed);
        Ok(Shown { proposed, picks: take!(asked.look(Look::Picks)?, Picks) })
    }

    /// The card. `granted` is what the choices come to, once they come to something.
    fn draw(&self, asked: &Asked, view: &LetterView, chosen: &Chosen, granted: Option<&Granted>) -> Markup {
        let number = view.letter.number;
        let shown = &self.proposed;
        html! {
            (words(view, shown))
            form #fill.card method="post" action={ "/m/" (number) } data-weighty novalidate
                data-draft={ "endow " (number) } data-same={ "endow " (shown.digest) } {
                (parts::token(&asked.session))
                // What Enter presses: it shows what would be granted, and grants nothing.
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" formnovalidate {
                    "Look"
                }
                (source(asked, view, shown))
                (analysis(shown))
                @if said::is_open(view) {
                    (chosen.draw(shown, &self.picks))
                    div.buttons {
                        button name="do" value="look" formnovalidate { "Show what this would grant" }
                    }
                    @if let Some(granted) = granted { (granted.draw(asked, shown)) }
                }
            }
            @if said::is_open(view) {
                (edit(asked, number, shown))
                (said::refusal(asked, number, "Or send it back", "Send it back with this note"))
            }
        }
    }
}

/// What its sender says of it, apart from what we say.
fn words(view: &LetterView, shown: &Proposed) -> Markup {
    let by = match view.letter.body() {
        Some(Body::Definition { by, .. }) => by.as_ref(),
        _ => None,
    };
    html! {
        p {
            @match by {
                Some(draft) => (parts::run(draft.run)),
                None => strong { (parts::word(&view.from)) },
            }
            " proposes "
            @match &shown.worker {
                Some(name) => { "a worker, " (parts::line(&Untrusted::new(name.as_str()))) }
                None => "code",
            }
            ". It does nothing until you endow it."
        }
        @if by.is_some() { p.note { "A run has written it: its words are those of a model." } }
        @if let Some(draft) = by {
            @if !draft.description.raw().is_empty() {
                section.entry aria-labelledby="sender" {
                    h2 #sender { "What its sender says of it" }
                    (parts::block("What its sender says of it", &draft.description))
                }
            }
        }
        @if let Some(description) = &shown.description {
            section.entry aria-label="What the file says of itself" {
                p { "The file says of itself: " (parts::words(description)) }
            }
        }
    }
}

fn source(asked: &Asked, view: &LetterView, shown: &Proposed) -> Markup {
    let lines = shown.source.raw().lines().count();
    html! {
        section.entry aria-labelledby="source" {
            h2 #source { "What would run" }
            p.note {
                (lines) @if lines == 1 { " line, " } @else { " lines, " } (shown.source.raw().len()) " bytes, digest "
                code { (shown.digest.get(..16).unwrap_or_default()) }
            }
            (numbered("What would run", &shown.source))
            @for (name, text) in &shown.includes {
                h3 { "It includes " (parts::line(&Untrusted::new(name.as_str()))) }
                (numbered("An included file", text))
            }
            @if let Some(difference) = from_original(asked, view, shown) {
                h3 { "How it differs from what it is a copy of" }
                (parts::difference("The difference from the original", &difference))
            }
            @if let Some(difference) = &shown.difference {
                h3 { "How it differs from the definition of the run that proposes it" }
                (parts::difference("The difference", difference))
            }
        }
    }
}

/// What was changed in a copy, if it is one of another proposal.
fn from_original(asked: &Asked, view: &LetterView, shown: &Proposed) -> Option<Untrusted> {
    let Ok(Response::Letter(original)) = asked.look(Look::Letter { number: view.answers? }) else {
        return None;
    };
    let before = original.source?;
    Some(Untrusted::new(control::show::difference::lines(before.raw(), shown.source.raw())))
}

/// Said of what cannot be told from a text.
const ELSEWHERE: &str =
    "does something with it that the text does not tell: hands it on, or calls it by a name that is computed";

/// What is done with one slot.
fn use_of(slot: &ProposedSlot, is_worker: bool) -> Markup {
    let foreign = |text: String| parts::line(&Untrusted::new(text));
    let plain = !slot.uses.is_empty() || !slot.given.is_empty();
    html! {
        @match slot.told {
            Told::Unused => span.warning { "it never uses this" },
            Told::Unread => span.warning { "nothing is known of what it does with this" },
            Told::Whole | Told::Partly => {
                @if is_worker {
                    @if !slot.uses.is_empty() { (foreign(slot.uses.join(", "))) }
                    @if !slot.given.is_empty() {
                        @if !slot.uses.is_empty() { "; " }
                        "its model may give it to " (foreign(slot.given.join(", ")))
                    }
                }
                @else if slot.data { "it uses this value" }
                @else {
                    @if !slot.uses.is_empty() { "it calls " (foreign(slot.uses.join(", "))) }
                    @if !slot.given.is_empty() {
                        @if slot.uses.is_empty() { "it" } @else { ", and" }
                        " gives it to " (foreign(slot.given.join(", ")))
                    }
                    @if slot.told == Told::Partly {
                        @if plain { "; " }
                        span.warning { "it " @if plain { "also " } (ELSEWHERE) }
                    } @else if !plain { "it only looks whether it is there" }
                }
            }
        }
    }
}

/// What was read in the text, without running it.
fn analysis(shown: &Proposed) -> Markup {
    html! {
        section.entry aria-labelledby="analysis" {
            h2 #analysis { "What it does with what it is given" }
            p.note {
                @if shown.worker.is_some() { "Read from the file." }
                @else { "Read from the text without running it: what it can call, whether or not it will." }
            }
            @if shown.slots.is_empty() { p { "It asks for nothing." } }
            dl {
                @for slot in &shown.slots {
                    dt { (parts::line(&Untrusted::new(slot.name.as_str()))) }
                    dd { (use_of(slot, shown.worker.is_some())) }
                }
                @if !shown.free.is_empty() {
                    dt { "From its surroundings, as all code has it" }
                    dd { (parts::line(&Untrusted::new(shown.free.join(", ")))) }
                }
                @if !shown.absent.is_empty() {
                    dt { "Names that nothing stands behind" }
                    dd { (parts::line(&Untrusted::new(shown.absent.join(", ")))) ": using them fails" }
                }
            }
            @if !shown.notes.is_empty() {
                ul { @for note in &shown.notes { li { (parts::line(note)) } } }
            }
        }
    }
}

/// A place to change the text: the copy is a proposal of one's own, and is endowed like any other. What one edits is
/// what one sees: where the text has characters that cannot be seen, it is the text with those written out.
fn edit(asked: &Asked, number: MessageNumber, shown: &Proposed) -> Markup {
    // A browser sends its own line ends, whatever they were.
    let source = shown.source.raw().replace("\r\n", "\n");
    let hidden = hidden_in(&source);
    html! {
        details.entry {
            summary { "Edit a copy" }
            form method="post" action={ "/m/" (number) } data-draft={ "edit " (number) } {
                (parts::token(&asked.session))
                @if !hidden.is_empty() {
                    p.warning { "It has characters that cannot be seen:" }
                    ul { @for one in &hidden { li { (one) } } }
                    p #copy-how {
                        "Below each of them is written out, as in " code { "\\u{200B}" }
                        ". A copy that is made of it has what is written there instead of them, and may do something else."
                    }
                }
                label for="copy" { @if hidden.is_empty() { "Its text" } @else { "Its text, written out" } }
                textarea #copy.code name="source" rows="16" spellcheck="false"
                    aria-describedby=[(!hidden.is_empty()).then_some("copy-how")] {
                    "\n" (visible(&source))
                }
                p.note { "The original stays as it is, and whoever sent it is told." }
                div.buttons {
                    button name="do" value="edit" {
                        @if hidden.is_empty() { "Propose the copy to myself" }
                        @else { "Propose the written-out copy to myself" }
                    }
                }
            }
        }
    }
}

/// How many places with hidden characters are named.
const PLACES: usize = 10;

/// Where a text has what is shown as something else: the line, and how that is shown. Safe to show.
fn hidden_in(text: &str) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    for (at, line) in text.split('\n').enumerate() {
        let shown = visible(line);
        if shown == line {
            continue;
        }
        let first = line.chars().zip(shown.chars()).take_while(|(a, b)| a == b).count();
        let what: String = shown.chars().skip(first).take_while(|letter| *letter != '}').collect();
        let what: String = what.chars().take(12).collect();
        let close = if what.starts_with("\\u{") { "}" } else { "" };
        all.push(format!("line {}, after {first} characters: {what}{close}", at + 1));
    }
    let more = all.len().saturating_sub(PLACES);
    all.truncate(PLACES);
    if more > 0 {
        all.push(format!("and {more} further lines"));
    }
    all
}

/// What the choices come to.
struct Granted {
    /// A line for each slot.
    lines: Vec<Markup>,
    /// The methods that a model is offered.
    tools: Vec<String>,
    /// For a worker: its model, and what it is told first.
    worker: Option<(String, Untrusted)>,
    /// Where the result goes, in words.
    result: &'static str,
    /// Whether it needs a fresh word in an old session.
    weighs: bool,
    /// What the button is bound to.
    digest: String,
}

impl Granted {
    /// What it says, without how it is set.
    fn plain(&self) -> String {
        let text = |line: &Markup| {
            let pieces = line.0.split('<').map(|piece| piece.split_once('>').map_or(piece, |(_, text)| text));
            let text: String = pieces.collect();
            text.replace("&lt;", "<").replace("&gt;", ">").replace("&quot;", "\"").replace("&amp;", "&")
                + "\n"
        };
        self.lines.iter().map(text).collect()
    }

    fn draw(&self, asked: &Asked, shown: &Proposed) -> Markup {
        html! {
            section.entry #granted aria-labelledby="granted-title" {
                input type="hidden" name="_seen" value=(self.digest);
                textarea name="_lines" hidden { "\n" (self.plain()) }
                h2 #granted-title tabindex="-1" { "What you would grant" }
                @if self.lines.is_empty() { p { "Nothing." } }
                ul { @for line in &self.lines { li { (line) } } }
                @if let Some((model, prompt)) = &self.worker {
                    p { "Its model is " (parts::word(model)) "."
                        @if !self.tools.is_empty() { " It is offered " (parts::word(&self.tools.join(", "))) "." } }
                    (parts::block("What the model would be told first", prompt))
                }
                p { (self.result) }
                @if self.weighs { (confirm::field(asked, "To hand this over")) }
                (parts::unfold_first())
                div.buttons {
                    button.yes name="do" value="endow" {
                        @if shown.worker.is_some() { "Endow it, and run" } @else { "Endow it, and run the code" }
                    }
                }
            }
        }
    }
}

/// `POST /m/NUMBER`: shows what the choices would grant, endows, or proposes a changed copy.
///
/// # Errors
/// When the daemon does not answer.
pub fn send(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    if asked.field("do") == Some("edit") {
        return edited(asked, view);
    }
    let shown = Shown::of(asked, view)?;
    let chosen = Chosen::sent(&shown.proposed, &asked.body);
    let again = |granted: Option<&Granted>, wrong: Option<Markup>, status| {
        let card = shown.draw(asked, view, &chosen, granted);
        Ok(message::with_card(asked, view, &card, wrong, status))
    };
    let granted = match chosen.granted(asked, number, &shown.proposed, &shown.picks) {
        Ok(granted) => granted,
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            // Each at its own field as well.
            let card = shown.draw(asked, view, &chosen.clone().told(), None);
            return Ok(message::with_card(asked, view, &card, Some(form::refused(&failure)), status));
        }
    };
    if asked.field(crate::field::typed::ROW).is_some() || asked.field("do") != Some("endow") {
        return again(Some(&granted), None, 200);
    }
    if asked.field("_seen") != Some(granted.digest.as_str()) {
        return again(Some(&granted), Some(differs(asked, &granted)), 409);
    }
    if let Err(failure) = confirm::check(asked, granted.weighs) {
        return again(Some(&granted), Some(form::refused(&failure)), 422);
    }
    let act = chosen.act(number, &shown.proposed, &shown.picks, false)?;
    match asked.act_once("endow", chosen.in_words(number, &shown.proposed, &shown.picks), act) {
        Ok(Reply::Started { run }) => Ok(Answer::Go(format!("/r/{run}"))),
        Ok(_) => Ok(Answer::Go(format!("/m/{number}"))),
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            again(None, Some(form::refused(&failure)), status)
        }
    }
}

/// `do=edit`.
fn edited(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let proposed = *take!(asked.look(Look::Proposed { number })?, Proposed);
    let to = NamePath::new(["@self"]).map_err(|error| Failure::new(Exit::Failure, error.to_string()))?;
    let source = asked.field("source").unwrap_or_default().to_owned();
    let includes = proposed.includes.into_iter().map(|(name, text)| (name, text.raw().to_owned()));
    let act = AgentAct::Define {
        to,
        name: proposed.worker.unwrap_or_default(),
        source,
        includes: includes.collect(),
        slots: std::collections::BTreeMap::new(),
        result_name: None,
        edit: Some(number),
    };
    match asked.act("edit", format!("edit {number}"), act)? {
        Reply::Sent { number } => Ok(Answer::Go(format!("/m/{number}"))),
        _ => Ok(Answer::Go("/".to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_hidden_is_said_with_its_place() {
        for (text, expected) in [
            ("", vec![]),
            ("const x = 1;\n\tconst ü = 'שלום';\n", vec![]),
            ("a\nb\u{200B}c", vec!["line 2, after 1 characters: \\u{200B}"]),
            (
                "\u{202E}x\n\u{1B}[2K",
                vec!["line 1, after 0 characters: \\u{202E}", "line 2, after 0 characters: \\u{1B}"],
            ),
        ] {
            assert_eq!(hidden_in(text), expected, "{text:?}");
        }
        let many = hidden_in(&"\u{200B}\n".repeat(12));
        assert_eq!((many.len(), many.last().map(String::as_str)), (11, Some("and 2 further lines")));
    }
}
