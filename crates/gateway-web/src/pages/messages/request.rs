//! The card of a request, in which an agent or a run asks the user for something.

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, AnswerInput, Look};
use control::view::{MessageView, PickRow};
use kernel::message::{Body, HostRequest};
use kernel::{FormulaId, NamePath};
use maud::{Markup, html};
use passable::{Untrusted, visible_line};
use resource::KINDS;

use super::field_spec::{self, FieldSpec};
use super::{message_page, refusals, reply, step_up};
use crate::answer::Answer;
use crate::field::pick::Picker;
use crate::page::parts;
use crate::page_request::{PageRequest, take};

/// The name of the picker's field.
const PICK: &str = "pick";

/// Returns the card.
///
/// # Errors
/// When the daemon does not answer.
pub fn card(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    drawn(asked, view, false)
}

/// Returns the card with the typed values, and with an object that was just picked.
///
/// # Errors
/// When the daemon does not answer.
pub fn redrawn(asked: &PageRequest, view: &MessageView) -> Result<Markup, Failure> {
    drawn(asked, view, true)
}

/// Returns the field of the picker at a place of a request.
///
/// # Errors
/// When the place has no picker.
pub fn field_spec(asked: &PageRequest, place: &str) -> Result<FieldSpec, Failure> {
    let filled = field_spec::carried(&asked.body, |_| true);
    let said = "what is asked for".to_owned();
    if place == PICK {
        Ok(FieldSpec { label: None, data: true, said, filled })
    } else {
        Err(field_spec::no_picker())
    }
}

fn drawn(asked: &PageRequest, view: &MessageView, fresh: bool) -> Result<Markup, Failure> {
    let Some(Body::Request { description, by, .. }) = view.letter.body() else { return Ok(html! {}) };
    let number = view.letter.number;
    let picks = take!(asked.look(Look::Picks)?, Picks);
    let picker = Picker {
        place: PICK,
        called: "Which",
        label: None,
        pending: true,
        data: true,
        picks: &picks,
        typed: asked.field(PICK),
        wrong: false,
        fresh,
        narrows: Some("what is asked for"),
    };
    Ok(html! {
        @if by.is_some() { p.note { "A model asks this: the words are its own." } }
        section.entry aria-label="What is asked for" { (parts::block("What is asked for", description)) }
        @if reply::is_open(view) {
            form #fill.card method="post" action={ "/m/" (number) } data-weighty data-draft={ "request " (number) }
                data-same={ "request " (number) } {
                (parts::token(&asked.session))
                (parts::back(asked))
                input type="hidden" name="_seen" value=(number);
                button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                fieldset {
                    legend { "Something that you have a name for" }
                    label for=(PICK) { "Which" }
                    p.note id={ (PICK) "-wants" } {
                        @match by {
                            Some(wish) => {
                                "A value is told to its model; anything else becomes its slot "
                                (parts::line(&Untrusted::new(wish.slot.as_str())))
                                ", until it ends or you revoke it."
                            }
                            None => "Whoever asked gets exactly what is shown here, as a grant of yours.",
                        }
                    }
                    (picker.draw())
                    p.error id={ (PICK) "-error" } role="status" {}
                    div.buttons { button.yes name="do" value="name" { "Hand it over" } }
                }
                @if let Some(wish) = by { (for_run(asked, wish)) }
                (step_up::field(asked, "If you hand over a program, the network or a secret"))
                (grants(asked, view, by.as_ref(), &picks))
            }
            (reply::refusal(asked, number, "Or refuse", "Refuse"))
        }
    })
}

/// Returns what the present choice would grant. Until the user has asked to see it, the section says how.
fn grants(asked: &PageRequest, view: &MessageView, by: Option<&HostRequest>, picks: &[PickRow]) -> Markup {
    let shows = asked.field("do") == Some("show");
    let picked = asked.field(PICK).filter(|id| !id.is_empty());
    let picked = picked.and_then(|id| picks.iter().find(|row| row.id.to_string() == id)).filter(|_| shows);
    let fill = by.and_then(|wish| {
        let text = format!("{}={}", wish.slot, asked.filled("fill")?);
        asked.site.backend.endowment(&text).ok()
    });
    let fill = fill.filter(|_| shows && picked.is_none());
    let gets = html! {
        @match by {
            Some(wish) => { "As its slot " (parts::line(&Untrusted::new(wish.slot.as_str()))) " it gets " }
            None => { strong { (parts::word(&view.from)) } " gets " }
        }
    };
    html! {
        @if picked.is_some() || fill.is_some() {
            section.entry #granted aria-labelledby="granted-title" {
                h2 #granted-title tabindex="-1" { "What you would grant" }
                p {
                    (gets)
                    @if let Some(row) = picked { (described(row)) }
                    @if let Some(fill) = &fill { (parts::word(&resource::describe_spec(&fill.fill, None))) "." }
                }
                p.note { @if by.is_some() { "It keeps this until it ends, or you revoke it." } @else { "You can revoke this grant." } }
            }
        } @else {
            section.entry aria-labelledby="grants-title" {
                h2 #grants-title { "What you would grant" }
                p { "Nothing until you choose something." }
                div.buttons { button name="do" value="show" { "Show what this would grant" } }
            }
        }
    }
}

/// Returns an object by the user's name, with all that it can do.
fn described(row: &PickRow) -> Markup {
    // The method names of code objects are chosen by the code, so they are foreign text.
    let is_of_code = row.methods.iter().any(|method| method.effect.is_empty());
    let methods = control::narrow::in_words(&row.methods, row.others);
    html! {
        "your " (parts::word(&row.path)) ": " (parts::line(&row.words)) "."
        @if !methods.is_empty() {
            " It can do: "
            @if is_of_code { (parts::line(&Untrusted::new(methods))) } @else { (parts::word(&methods)) } "."
        }
    }
}

/// Returns the fields for answers that only a run accepts: a text, and objects without a name.
fn for_run(asked: &PageRequest, wish: &HostRequest) -> Markup {
    html! {
        fieldset {
            legend { "Words for its model" }
            label for="text" { "Text" }
            textarea #text name="text" rows="3" { "\n" (asked.field("text").unwrap_or("")) }
            div.buttons { button name="do" value="text" { "Say this" } }
        }
        fieldset {
            legend { "Something of this machine, as its slot " (parts::line(&Untrusted::new(wish.slot.as_str()))) }
            label for="fill-text" { "What, as behind " code { "-e " (visible_line(&wish.slot)) "=" } }
            p.note #fill-wants {
                @for row in KINDS.iter().filter(|row| row.is_typed()) {
                    code { (row.example_from_root()) } ", "
                }
                "…"
            }
            input #fill-text name="fill" autocomplete="off" spellcheck="false"
                aria-describedby="fill-wants" value=(asked.field("fill").unwrap_or(""));
            div.buttons { button.yes name="do" value="endow" { "Bind it" } }
        }
    }
}

/// Answers `POST /m/NUMBER`: hands the chosen object or text over.
///
/// # Errors
/// When the daemon does not answer.
pub fn send(asked: &PageRequest, view: &MessageView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    let Some(Body::Request { by, .. }) = view.letter.body() else {
        return Err(Failure::new(Exit::Conflict, "this message asks for nothing"));
    };
    if asked.field("do") == Some("show") {
        let card = card(asked, view)?;
        return Ok(message_page::with_card(asked, view, &card, None, 200));
    }
    let weighs = match asked.field("do") {
        Some("name") => step_up::picks(asked, &take!(asked.look(Look::Picks)?, Picks)),
        Some("endow") => asked.filled("fill").is_some_and(step_up::written),
        _ => false,
    };
    if let Err(failure) = step_up::check(asked, weighs) {
        return again(asked, view, &failure);
    }
    let answered = match (asked.field("do"), by) {
        (Some("name"), by) => picked(asked, by.is_some()),
        (Some("text"), Some(_)) => Ok(match asked.filled("text") {
            Some(text) => (AnswerInput::Value { json: text.into() }, format!("--text {text:?}")),
            None => return again(asked, view, &empty("there are no words")),
        }),
        (Some("endow"), Some(wish)) => Ok(match asked.filled("fill") {
            Some(fill) => {
                let text = format!("{}={fill}", wish.slot);
                let endowment = match asked.site.backend.endowment(&text) {
                    Ok(endowment) => Box::new(endowment),
                    Err(failure) => return again(asked, view, &failure),
                };
                (AnswerInput::Endow { endowment, is: None, allow: vec![] }, format!("-e {text}"))
            }
            None => return again(asked, view, &empty("nothing was written")),
        }),
        _ => return Ok(Answer::Go(format!("/m/{number}"))),
    };
    let done = answered.and_then(|(answered, words)| {
        asked.act_once("resolve", format!("resolve {number} {words}"), AgentAct::Resolve { number, answered })
    });
    match done {
        Ok(_) => Ok(Answer::Go(format!("/m/{number}"))),
        Err(failure) => again(asked, view, &failure),
    }
}

fn empty(what: &'static str) -> Failure {
    Failure::new(Exit::Invalid, what)
}

fn again(asked: &PageRequest, view: &MessageView, failure: &Failure) -> Result<Answer, Failure> {
    let card = card(asked, view)?;
    let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
    Ok(message_page::with_card(asked, view, &card, Some(refusals::refused(failure)), status))
}

/// Returns the answer that was picked. An agent gets exactly the object that was shown. A run gets the object of a
/// name, if the name still stands for that object.
fn picked(asked: &PageRequest, to_run: bool) -> Result<(AnswerInput, String), Failure> {
    let id: Option<FormulaId> = asked.field(PICK).and_then(|text| text.parse().ok());
    let picks = take!(asked.look(Look::Picks)?, Picks);
    let chosen = id.and_then(|id| picks.into_iter().find(|row| row.id == id));
    let Some(chosen) = chosen else {
        return Err(match id {
            None => empty("nothing was chosen"),
            Some(_) => refusals::gone(),
        });
    };
    let path = NamePath::parse(&chosen.path).map_err(|error| Failure::from_error(Exit::Failure, error))?;
    Ok(match to_run {
        true => (AnswerInput::Name { path, is: None, allow: vec![], seen: Some(chosen.id) }, chosen.path),
        false => (AnswerInput::Seen { id: chosen.id }, chosen.path),
    })
}
