//! Cards that can only be approved or denied. Each has a preview, a button that is bound to the preview, and a form
//! for a denial.

use control::exit::{Exit, Failure};
use control::view::MessageView;
use maud::{Markup, html};

use super::{refusals, reply};
use crate::answer::Answer;
use crate::page::parts;
use crate::page_request::PageRequest;
use crate::pages::message;

/// A card that can only be approved or denied.
pub struct YesNoCard {
    /// The kind of the card, in one word.
    pub kind: &'static str,
    /// The digest to which an answer is bound.
    pub digest: String,
    /// The preview of the action.
    pub shown: Markup,
    /// The label of the approving button. `None` if only a denial is possible.
    pub yes: Option<&'static str>,
}

impl YesNoCard {
    /// Returns the card.
    pub fn draw(&self, asked: &PageRequest, view: &MessageView) -> Markup {
        let number = view.letter.number;
        html! {
            form #fill.card method="post" action={ "/m/" (number) } data-weighty data-draft={ "no " (number) }
                data-same={ (self.kind) " " (self.digest) } {
                (parts::token(&asked.session))
                (parts::back(asked))
                input type="hidden" name="_seen" value=(self.digest);
                (self.shown)
                @if reply::is_open(view) {
                    @if self.yes.is_none() {
                        p.warning { "A yes would come to nothing: what it would need cannot be used any more." }
                    }
                    fieldset.answers {
                        legend.unseen { "Your answer" }
                        button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
                        label.unseen for="why-not" { "Reason (whoever asked will read it)" }
                        textarea #why-not.grows name="reason" rows="1" placeholder="Why not? Whoever asked will read it" {}
                        (parts::unfold_first())
                        div.buttons {
                            button name="do" value="reject" { "Deny" }
                            @if let Some(yes) = self.yes { button.yes name="do" value="approve" { (yes) } }
                        }
                    }
                }
            }
        }
    }
}

/// Answers `POST /m/NUMBER`: approves exactly the content that was shown, identified by its digest.
///
/// # Errors
/// When the form has no answer, or the daemon refuses.
pub fn send(
    asked: &PageRequest,
    view: &MessageView,
    digest: &str,
    approve: impl FnOnce(String) -> Result<(), Failure>,
) -> Result<Answer, Failure> {
    let number = view.letter.number;
    match asked.field("do") {
        Some("approve") => {}
        Some("look") => return Ok(Answer::Go(format!("/m/{number}"))),
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no")),
    }
    if asked.field("_seen") != Some(digest) {
        return message::page(asked, number, Some(refusals::stale()), 409);
    }
    approve(format!("approve {number}"))?;
    Ok(Answer::Go(format!("/m/{number}")))
}
