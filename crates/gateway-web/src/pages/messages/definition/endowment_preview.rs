//! The preview of a user's choices. It shows the resulting grants in sentences, and a button that endows exactly what
//! is shown.

use control::exit::{Exit, Failure};
use control::protocol::{Plan, Request, Response};
use control::show::difference;
use control::show::endowment_summary::{EndowmentSummary, Piece, Sentence};
use control::view::{MessageView, ProgramProposal};
use maud::{Markup, html};
use passable::Untrusted;

use super::DefinitionCard;
use super::choices::{DefinitionChoices, ResultName};
use crate::page::{digest_field, parts};
use crate::page_request::{PageRequest, unexpected};
use crate::pages::messages::refusals::stale;
use crate::pages::messages::step_up;

/// The preview of the choices.
pub struct EndowmentPreview {
    /// The sentences of the preview.
    sentences: Vec<Sentence>,
    /// The plan of the run, if the program is a worker.
    pub plan: Option<Plan>,
    /// The user's name for the result.
    pub result: Option<ResultName>,
    /// Whether the user must confirm again if the session is old, because the grants are powerful.
    pub weighs: bool,
    /// The digest to which the button is bound.
    pub digest: String,
}

impl EndowmentPreview {
    /// Returns the preview of these choices, as the daemon computes it without any effect.
    ///
    /// # Errors
    /// When a choice is missing or does not fit.
    pub fn of(
        asked: &PageRequest,
        view: &MessageView,
        all: &DefinitionCard,
        chosen: &DefinitionChoices,
    ) -> Result<EndowmentPreview, Failure> {
        let (number, shown) = (view.letter.number, &all.proposed);
        let picked = chosen.picked(all)?;
        let missing = chosen.missing(shown);
        if shown.worker.is_none() && !missing.is_empty() {
            let slots = if missing.len() == 1 { "slot" } else { "slots" };
            let what = format!("nothing fills the {slots} {}", missing.join(", "));
            return Err(Failure::new(Exit::Invalid, what).help("choose one of your names for each"));
        }
        let result = chosen.result_name(asked)?;
        let plan = match shown.worker {
            None => None,
            Some(_) => {
                let act = chosen.act(asked, number, all, None)?;
                match asked.ask(Request::Act { said: None, act: Box::new(act) })? {
                    Response::Plan(plan) => Some(plan),
                    other => return Err(unexpected(&other)),
                }
            }
        };
        let endowing = EndowmentSummary {
            from: all.author.name.as_deref(),
            proposed: shown,
            picked: &picked,
            plan: plan.as_ref(),
            goes_to: chosen.goes_to(),
            result: result.as_ref().map(|name| (&name.path, name.replaces.as_ref())),
        };
        let sentences = endowing.sentences();
        let said: Vec<String> = sentences.iter().map(Sentence::plain).collect();
        let ids: Vec<_> = picked.iter().map(|(slot, row)| (slot, row.id)).collect();
        let replaced = result.as_ref().and_then(|name| name.replaces.as_ref()?.id);
        let told = plan.as_ref().map(|plan| (&plan.tools, &plan.prompt, plan.seal));
        let digest = digest_field::digest(&(number, all.done, &shown.digest, ids, said, told, replaced))?;
        let weighs = step_up::picks(asked, &all.picks) || chosen.written(shown).any(step_up::written);
        Ok(EndowmentPreview { sentences, plan, result, weighs, digest })
    }

    /// Returns the preview as text, with one line for each sentence.
    fn plain(&self) -> String {
        let mut lines: Vec<String> = self.sentences.iter().map(Sentence::plain).collect();
        lines.extend(self.plan.iter().map(|plan| format!("It is offered {}.", plan.tools.join(", "))));
        lines.join("\n") + "\n"
    }

    /// Returns the message that an endowment was refused because its preview has changed, with the difference.
    pub fn differs(&self, asked: &PageRequest) -> Markup {
        let was = asked.field("_lines").unwrap_or_default().replace("\r\n", "\n");
        let is = self.plain();
        html! {
            (stale())
            @if !was.is_empty() && was != is {
                h2 { "What is otherwise now" }
                (parts::difference("what you would grant", &Untrusted::new(difference::lines(&was, &is))))
            }
        }
    }

    /// Returns the preview and its button.
    pub fn draw(&self, asked: &PageRequest, shown: &ProgramProposal) -> Markup {
        html! {
            section.entry #granted aria-labelledby="granted-title" {
                input type="hidden" name="_seen" value=(self.digest);
                textarea name="_lines" hidden { "\n" (self.plain()) }
                h2 #granted-title tabindex="-1" { "What you would grant" }
                ul { @for one in &self.sentences { li { (sentence(one)) } } }
                @if let Some(plan) = &self.plan {
                    @if !plan.tools.is_empty() {
                        p { "Its model is offered " (parts::line(&Untrusted::new(plan.tools.join(", ")))) "." }
                    }
                    (parts::block("What the model would be told first", &plan.prompt))
                }
                @if self.weighs { (step_up::field(asked, "To hand this over")) }
                div.answers {
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
}

/// Returns a sentence, with foreign names set apart.
fn sentence(sentence: &Sentence) -> Markup {
    html! {
        @for piece in &sentence.0 {
            @match piece {
                Piece::Ours(text) => (text),
                Piece::User(text) => (parts::word(text)),
                Piece::Theirs(text) => (parts::line(text)),
            }
        }
    }
}
