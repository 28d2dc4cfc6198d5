//! A request to run code over what its sender holds already: the code, what it would use by the person's own names, and
//! a yes or a no. Nothing in it can be changed: who wants it otherwise says no, and why.

use control::exit::{Exit, Failure};
use control::protocol::AgentAct;
use control::view::LetterView;
use kernel::command::MailAct;
use kernel::run::ResultGoesTo;
use maud::{Markup, html};
use passable::Untrusted;

use super::{definition, said};
use crate::answer::Answer;
use crate::asked::Asked;
use crate::page::parts;
use crate::pages::message;

/// What of the card an answer is bound to.
fn digest(view: &LetterView) -> Result<String, Failure> {
    definition::hashed(&(view.letter.number, &view.source, &view.uses))
}

/// The card.
///
/// # Errors
/// When it cannot be written down.
pub fn card(asked: &Asked, view: &LetterView) -> Result<Markup, Failure> {
    let number = view.letter.number;
    let digest = digest(view)?;
    let source = view.source.clone().unwrap_or_else(|| Untrusted::new(""));
    Ok(html! {
        p { (parts::word(&view.from)) " asks to run this code over what it holds." }
        form #fill.card method="post" action={ "/m/" (number) } data-weighty data-same={ "evaluation " (digest) } {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            section.entry aria-labelledby="code" {
                h2 #code { "The code" }
                (definition::numbered("The code", &source))
            }
            section.entry aria-labelledby="uses" {
                h2 #uses { "What it uses" }
                @if view.uses.is_empty() { p.note { "Nothing." } }
                dl {
                    @for (name, mine) in &view.uses {
                        dt { (parts::line(&Untrusted::new(name.as_str()))) }
                        dd { (parts::word(mine)) }
                    }
                }
            }
            @if said::is_open(view) {
                fieldset.answers {
                    legend { "Your answer" }
                    button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                    div.buttons { button.yes name="do" value="approve" { "Let it run" } }
                }
            }
        }
        @if said::is_open(view) { (said::refusal(asked, number, "Or not", "Deny")) }
    })
}

/// `POST /m/NUMBER`: a yes to exactly what was shown.
///
/// # Errors
/// When the daemon refuses.
pub fn send(asked: &Asked, view: &LetterView) -> Result<Answer, Failure> {
    let number = view.letter.number;
    match asked.field("do") {
        Some("approve") => {}
        Some("look") => return Ok(Answer::Go(format!("/m/{number}"))),
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no")),
    }
    if asked.field("_seen") != Some(digest(view)?.as_str()) {
        return message::page(asked, number, Some(definition::stale()), 409);
    }
    let act = MailAct::Grant { number, goes_to: ResultGoesTo::default() };
    asked.act("approve", format!("approve {number}"), AgentAct::Mail { act: Box::new(act) })?;
    Ok(Answer::Go(format!("/m/{number}")))
}
