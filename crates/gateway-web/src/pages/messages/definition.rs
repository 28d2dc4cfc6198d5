//! The definition card. It shows the exact text that would run, how the text uses each slot, a choice for each slot,
//! and the resulting grants. The button that endows appears only for a complete choice, and is bound to that preview.

mod choices;
mod endowment_preview;
mod endowments;
mod source;

use std::collections::BTreeMap;

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Look, Response};
use control::view::{
    AnalysisCoverage, EndowedView, MessageView, PickRow, ProgramProposal, PromiseState, ProposedSlot,
};
use kernel::command::Reply;
use kernel::message::Body;
use kernel::{FormulaId, MessageNumber, NamePath, RunNumber};
use maud::{Markup, html};
use passable::Untrusted;

use super::field_spec::{FieldSpec, no_picker};
use super::{message_page, refusals, reply, step_up};
use crate::answer::Answer;
use crate::page::{link, parts, references};
use crate::page_request::{PageRequest, take};
use choices::DefinitionChoices;
pub use choices::example;
use endowment_preview::EndowmentPreview;
pub use source::numbered;
use source::{DONE, RejectedEdit};

/// Returns the card without any choices.
///
/// # Errors
/// When the daemon does not answer.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    let shown = DefinitionCard::of(asked, view)?;
    Ok(html! {
        (shown.draw(asked, view, &DefinitionChoices::default(), None))
        (result(asked, view, &shown))
    })
}

/// Returns the card with the choices so far, and with an object that was just picked.
///
/// # Errors
/// When the daemon does not answer.
pub fn redrawn(asked: &PageRequest, view: &MessageView, place: &str) -> Result<Markup, Failure> {
    let shown = DefinitionCard::of(asked, view)?;
    let chosen = DefinitionChoices::sent(&shown.proposed, &asked.body).fresh(place);
    Ok(shown.draw(asked, view, &chosen, None))
}

/// Returns the field of the picker at a place.
///
/// # Errors
/// When the place has no picker.
pub fn field_spec(asked: &PageRequest, view: &MessageView, place: &str) -> Result<FieldSpec, Failure> {
    let shown = DefinitionCard::of(asked, view)?;
    DefinitionChoices::sent(&shown.proposed, &asked.body)
        .field_spec(&shown.proposed, place)
        .ok_or_else(no_picker)
}

/// Returns the result that the sender has received, if there is one.
fn result(asked: &PageRequest, view: &MessageView, shown: &DefinitionCard) -> Markup {
    let promise = view.letter.body().and_then(Body::asks).map(|(promise, _)| promise);
    let promise = promise.filter(|_| shown.author.name.is_some());
    let state = promise.and_then(|promise| asked.look(Look::Promise { promise, wait: false }).ok());
    html! {
        @match state {
            Some(Response::Promise(PromiseState::Fulfilled { value })) => section.entry aria-labelledby="result-title" {
                h2 #result-title { "What its sender has got" }
                (references::value(asked, "The result", &value))
            },
            Some(Response::Promise(PromiseState::Rejected { reason })) => {
                p.warning { "Its sender was told: " (parts::line(&reason)) }
            },
            _ => {},
        }
    }
}

/// The author of a definition.
struct Author {
    /// The user's name for the recipient of the results, or `None` if that is the user alone.
    name: Option<String>,
    /// The run that has written the definition.
    run: Option<RunNumber>,
    /// The original message, if the definition is the user's own changed copy.
    copy_of: Option<MessageNumber>,
}

impl Author {
    fn of(asked: &PageRequest, view: &MessageView) -> Author {
        let run = view.letter.body().and_then(Body::run);
        let copy_of = view.answers.filter(|_| is_own(view));
        let mut name = match run {
            Some(run) => Some(run.to_string()),
            None => Some(view.from.clone()).filter(|_| !is_own(view)),
        };
        // A copy of a copy has the author of the first original.
        let mut before = copy_of;
        for _ in 0..MAX_COPIES {
            let (None, Some(number)) = (&name, before) else { break };
            let Ok(Response::Message(original)) = asked.look(Look::Message { number }) else { break };
            before = original.answers;
            name = match (original.letter.message.is_some(), is_own(&original)) {
                (false, _) => Some("whoever sent the original".to_owned()),
                (true, true) => None,
                (true, false) => Some(original.from),
            };
        }
        Author { name, run, copy_of }
    }

    /// Returns the author of the slot descriptions, as the subject of a sentence.
    fn speaker(&self) -> &'static str {
        match (&self.name, self.copy_of) {
            (_, Some(_)) => "The original",
            (Some(_), None) => "Its proposer",
            (None, None) => "You",
        }
    }
}

/// The maximum number of copies that are followed back to the original.
const MAX_COPIES: usize = 20;

/// Returns whether the user has sent the message to themselves.
fn is_own(view: &MessageView) -> bool {
    view.letter.message.as_ref().is_some_and(|message| message.from == message.to)
}

/// The data from which a card is made.
struct DefinitionCard {
    proposed: ProgramProposal,
    /// The objects for which the user has names. Each object appears once.
    picks: Vec<PickRow>,
    /// The number of endowments and edits of the definition so far.
    done: u64,
    author: Author,
    /// The endowments of the definition so far, oldest first.
    endowed: Vec<EndowedView>,
}

impl DefinitionCard {
    fn of(asked: &PageRequest, view: &MessageView) -> Result<DefinitionCard, Failure> {
        let number = view.letter.number;
        let proposed = *take!(asked.look(Look::Proposed { number })?, Proposed);
        let picks = each_once(take!(asked.look(Look::Picks)?, Picks));
        let endowed = take!(asked.look(Look::Endowed { number })?, Endowed);
        let author = Author::of(asked, view);
        Ok(DefinitionCard { proposed, picks, done: view.letter.mail.done, author, endowed })
    }

    /// Returns the card. `granted` is the preview of the choices, once they are complete.
    fn draw(
        &self,
        asked: &PageRequest,
        view: &MessageView,
        chosen: &DefinitionChoices,
        granted: Option<&EndowmentPreview>,
    ) -> Markup {
        self.with_copy(asked, view, chosen, granted, None)
    }

    fn with_copy(
        &self,
        asked: &PageRequest,
        view: &MessageView,
        chosen: &DefinitionChoices,
        granted: Option<&EndowmentPreview>,
        changed: Option<&RejectedEdit<'_>>,
    ) -> Markup {
        let number = view.letter.number;
        let shown = &self.proposed;
        let is_answerable = reply::is_open(view) && view.letter.mail.answers.is_empty();
        // Once the sender has received a result, the definition can no longer be sent back.
        let refusal = is_answerable
            .then(|| reply::refusal(asked, number, "Or send it back", "Send it back with this note"));
        let rest = self.rest(asked, view, chosen, granted, changed);
        html! {
            @match &shown.syntax_error {
                // A program that cannot run is not worth its pickers.
                Some(why) => {
                    section.dangers aria-labelledby="fails-title" {
                        h2 #fails-title { "This program would fail" }
                        p { (parts::line(why)) }
                    }
                    (self.introduction(view))
                    @if let Some(refusal) = &refusal { (refusal) }
                    details.rest open[granted.is_some() || changed.is_some() || !asked.body.is_empty()] {
                        summary { "Look at it all the same" }
                        (rest)
                    }
                },
                None => {
                    (self.introduction(view))
                    (rest)
                    @if let Some(refusal) = &refusal { (refusal) }
                }
            }
        }
    }

    /// Returns the program, the choices for its slots, and the form for a changed copy.
    fn rest(
        &self,
        asked: &PageRequest,
        view: &MessageView,
        chosen: &DefinitionChoices,
        granted: Option<&EndowmentPreview>,
        changed: Option<&RejectedEdit<'_>>,
    ) -> Markup {
        let number = view.letter.number;
        let shown = &self.proposed;
        // While this value is unchanged, an update does not redraw the user's choices.
        let same = format!("endow {} {} {}", shown.digest, self.done, reply::is_open(view));
        html! {
            (endowments::section(asked, view, &self.endowed))
            form #fill.card method="post" action={ "/m/" (number) } data-weighty novalidate
                data-draft={ "endow " (number) } data-same=(same) data-dirty[granted.is_some()] {
                (parts::token(&asked.session))
                (parts::back(asked))
                // The Enter key presses this button. It shows the preview of the grants and grants nothing.
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" formnovalidate {
                    "Look"
                }
                (source::section(asked, view, shown))
                (analysis(shown))
                @if reply::is_open(view) {
                    (chosen.draw(self))
                    div.answers {
                        div.buttons {
                            button name="do" value="look" formnovalidate { "Show what this would grant" }
                        }
                    }
                    @if let Some(granted) = granted { (granted.draw(asked, shown)) }
                }
            }
            @if reply::is_open(view) {
                (source::edit(asked, number, shown, self.done, changed))
            }
        }
    }

    /// Returns the kind, the author and the author's description of the proposal, apart from our own words.
    fn introduction(&self, view: &MessageView) -> Markup {
        let (shown, author) = (&self.proposed, &self.author);
        let draft = match view.letter.body() {
            Some(Body::Definition { by, .. }) => by.as_ref(),
            _ => None,
        };
        let what = html! {
            @match &shown.worker {
                Some(name) => { "a worker, " (parts::line(&Untrusted::new(name.as_str()))) }
                None => "code",
            }
        };
        let again = !self.endowed.is_empty();
        html! {
            p {
                @match (author.copy_of, author.run) {
                    (Some(number), _) => {
                        "Your changed copy of " (link::message(number)) ": " (what)
                        @if let Some(name) = &author.name { ", first proposed by " (parts::word(name)) }
                    }
                    (None, Some(run)) => { (parts::run(run)) " proposes " (what) }
                    (None, None) if author.name.is_none() => { "You propose " (what) }
                    (None, None) => { strong { (parts::word(&view.from)) } " proposes " (what) }
                }
                @if again { ". It does nothing more until you endow it again." }
                @else { ". It does nothing until you endow it." }
            }
            @if draft.is_some() {
                p.note {
                    @if author.copy_of.is_some() { "A run has written the original: what you have not changed of its words is a model's." }
                    @else { "A run has written it: its words are those of a model." }
                }
            }
            @if let Some(draft) = draft {
                @if !draft.description.raw().is_empty() {
                    section.entry aria-labelledby="sender" {
                        h2 #sender {
                            @if author.copy_of.is_some() { "What the sender of the original says of it" }
                            @else { "What its sender says of it" }
                        }
                        (parts::block("What its sender says of it", &draft.description))
                    }
                }
            }
            @if let Some(description) = &shown.description {
                section.entry aria-label="What the file says of itself" {
                    p { "The file says of itself: " (parts::foreign_text(description)) }
                }
            }
        }
    }
}

/// Returns each object once, with the first of its names. The description lists the other names.
fn each_once(rows: Vec<PickRow>) -> Vec<PickRow> {
    let mut others: BTreeMap<FormulaId, Vec<String>> = BTreeMap::new();
    let mut all: Vec<PickRow> = Vec::new();
    for row in rows {
        match all.iter().any(|one| one.id == row.id) {
            true => others.entry(row.id).or_default().push(row.path),
            false => all.push(row),
        }
    }
    for row in &mut all {
        if let Some(names) = others.get(&row.id) {
            row.words = Untrusted::new(format!("{}; also your {}", row.words.raw(), names.join(", ")));
        }
    }
    all
}

/// The description of a use that the static analysis cannot determine.
const UNREADABLE_USE: &str =
    "does something with it that the text does not tell: hands it on, or calls it by a name that is computed";

/// Returns the uses of one slot.
fn use_of(slot: &ProposedSlot, is_worker: bool) -> Markup {
    let foreign = |text: String| parts::line(&Untrusted::new(text));
    let plain = !slot.uses.is_empty() || !slot.given.is_empty();
    html! {
        @match slot.coverage {
            AnalysisCoverage::Unused => span.warning { "it never uses this" },
            AnalysisCoverage::Unread => span.warning { "nothing is known of what it does with this" },
            AnalysisCoverage::Complete | AnalysisCoverage::Partial => {
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
                    @if slot.coverage == AnalysisCoverage::Partial {
                        @if plain { "; " }
                        span.warning { "it " @if plain { "also " } (UNREADABLE_USE) }
                    } @else if !plain { "it only looks whether it is there" }
                }
            }
        }
    }
}

/// Returns the result of the static analysis of the text.
fn analysis(shown: &ProgramProposal) -> Markup {
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

/// Answers `POST /m/NUMBER`: shows the preview of the grants, endows, or proposes a changed copy.
///
/// # Errors
/// When the daemon does not answer.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let shown = DefinitionCard::of(asked, view)?;
    if asked.field("do") == Some("edit") {
        return edited(asked, view, &shown);
    }
    let chosen = DefinitionChoices::sent(&shown.proposed, &asked.body);
    let again = |granted: Option<&EndowmentPreview>, wrong: Option<Markup>, status| {
        let card = shown.draw(asked, view, &chosen.clone().with_name(asked), granted);
        Ok(message_page::with_card(asked, view, &card, wrong, status))
    };
    let granted = match EndowmentPreview::of(asked, view, &shown, &chosen) {
        Ok(granted) => granted,
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            // Each error is also shown at its own field.
            let card = shown.draw(asked, view, &chosen.clone().with_errors().with_name(asked), None);
            return Ok(message_page::with_card(
                asked,
                view,
                &card,
                Some(refusals::refused(&failure)),
                status,
            ));
        }
    };
    if asked.field(crate::field::form_values::ROW).is_some() || asked.field("do") != Some("endow") {
        return again(Some(&granted), None, 200);
    }
    if asked.field("_seen") != Some(granted.digest.as_str()) {
        return again(Some(&granted), Some(granted.differs(asked)), 409);
    }
    if let Err(failure) = step_up::check(asked, granted.weighs) {
        return again(Some(&granted), Some(refusals::refused(&failure)), 422);
    }
    let act = chosen.act(asked, number, &shown, Some(&granted))?;
    match asked.act_once("endow", chosen.in_words(asked, number, &shown, Some(&granted)), act) {
        Ok(Reply::Started { run }) => Ok(Answer::Go(format!("/r/{run}"))),
        Ok(_) => Ok(Answer::Go(format!("/m/{number}"))),
        Err(failure) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            // The message is read again, to show what has happened since.
            let number: MessageNumber = number;
            let view = *take!(asked.look(Look::Message { number })?, Message);
            let shown = DefinitionCard::of(asked, &view)?;
            let card = shown.draw(asked, &view, &chosen.with_name(asked), None);
            Ok(message_page::with_card(asked, &view, &card, Some(refusals::refused(&failure)), status))
        }
    }
}

/// Handles the edit button. A rejected copy is shown again with its typed text.
fn edited(asked: &PageRequest, view: &MessageView, shown: &DefinitionCard) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let source = asked.field("source").unwrap_or_default().replace("\r\n", "\n");
    let refused = |failure: &Failure| {
        let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
        let changed = RejectedEdit { text: &source, wrong: parts::failure_below(failure) };
        let card = shown.with_copy(asked, view, &DefinitionChoices::default(), None, Some(&changed));
        Ok(message_page::with_card(asked, view, &card, None, status))
    };
    let proposed = &shown.proposed;
    let is_worker = proposed.worker.is_some();
    if source.trim().is_empty() {
        return refused(&Failure::new(Exit::Invalid, "the copy has no text").help("write what should run"));
    }
    // A copy of another kind would lose the name of the file and its slots.
    if is_worker != source.trim_start().starts_with("---") {
        let (message, help) = match is_worker {
            true => ("a worker file begins with `---`", "begin the copy as the original begins"),
            false => ("code does not begin with `---`", "propose a worker file with `almoner define`"),
        };
        return refused(&Failure::new(Exit::Invalid, message).help(help));
    }
    let to = NamePath::new(["@self"]).map_err(|error| Failure::from_error(Exit::Failure, error))?;
    let includes = proposed.includes.iter().map(|(name, text)| (name.clone(), text.raw().to_owned()));
    let act = AgentAct::Define {
        to,
        name: proposed.worker.clone().unwrap_or_default(),
        source: source.clone(),
        includes: includes.collect(),
        slots: BTreeMap::new(),
        result_name: None,
        edit: Some(number),
        // Without the counter, the daemon cannot know which state the user saw.
        done: Some(asked.field(DONE).and_then(|done| done.parse().ok()).unwrap_or(u64::MAX)),
    };
    match asked.act("edit", format!("edit {number}"), act) {
        Ok(Reply::Sent { number }) => Ok(Answer::Go(format!("/m/{number}"))),
        Ok(_) => Ok(Answer::Go("/".to_owned())),
        Err(failure) => refused(&failure),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn object_with_two_names_is_offered_once() {
        let row = |at: u8, path: &str| PickRow {
            path: path.to_owned(),
            id: FormulaId { number: [at; 32], node: [9; 32] },
            kind: "object".to_owned(),
            words: Untrusted::new("made by code of yours"),
            methods: vec![],
            others: false,
            pending: false,
            data: false,
            labels: vec![],
            interface: None,
        };
        let all = each_once(vec![row(1, "aa"), row(2, "b"), row(1, "counter"), row(1, "d/c")]);
        let said: Vec<_> = all.iter().map(|row| (row.path.as_str(), row.words.raw())).collect();
        let both = "made by code of yours; also your counter, d/c";
        assert_eq!(said, [("aa", both), ("b", "made by code of yours")]);
    }
}
