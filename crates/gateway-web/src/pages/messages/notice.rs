//! The cards of messages that only inform: a value, or a command of the user.

use control::exit::Failure;
use control::protocol::{Look, Request, Response};
use control::show::{message_view, outcome};
use control::view::MessageView;
use kernel::message::Body;
use kernel::outcome::{CommandOutcome, OutcomeValue};
use kernel::{NamePath, RunNumber};
use maud::{Markup, html};
use passable::Untrusted;

use super::reply;
use crate::page::{link, parts, references};
use crate::page_request::PageRequest;

/// Returns the card.
///
/// # Errors
/// None at present.
pub fn card(asked: &PageRequest, view: &MessageView, body: &Body) -> Result<Markup, Failure> {
    let number = view.letter.number;
    Ok(match body {
        Body::Value { .. } => html! {
            (value(asked, view))
            (reply::adoption(asked, number, "value", 0))
            (reply::answer_in_words(asked, number))
        },
        Body::Command { text, run, grant, .. } => html! {
            p { "You did this:" }
            (parts::block("The command", text))
            (outcome(asked, view, *run))
            @if let Some(run) = run { p { "It concerns " (parts::run(*run)) "." } }
            @if let Some(grant) = grant { p { "It concerns grant " (link::grant(*grant)) "." } }
        },
        _ => {
            let text = control::show::message_view::render(view, 100);
            html! { (parts::own_block("The message", &text)) }
        }
    })
}

/// Returns the outcome of a command. If the command started a run, or was stored by an earlier version, returns the
/// state of the run.
fn outcome(asked: &PageRequest, view: &MessageView, run: Option<RunNumber>) -> Markup {
    let Some(came) = &view.letter.mail.outcome else {
        let run = run.map(|run| asked.ask(Request::GetRun { run }));
        return html! {
            @if let Some(Ok(Response::Run(run))) = run {
                p.answer { "Outcome: " (parts::run(run.number)) " " (parts::state(&run)) }
            }
        };
    };
    // The line may be shortened, so the full text is shown below.
    let whole = match came {
        CommandOutcome::Done { to: Some(OutcomeValue::Value { value }) } => {
            Some(("The value", Untrusted::new(control::show::value::argument(value))))
        }
        CommandOutcome::Refused { why } => Some(("Why it was refused", why.clone())),
        CommandOutcome::Failed { why } => Some(("Why it failed", why.clone())),
        _ => None,
    };
    let whole = whole.filter(|(_, text)| message_view::short(text).1 > 0 || text.raw().contains('\n'));
    html! {
        p.answer { "Outcome: " (parts::linked_sentence(&outcome::render_outcome(came))) }
        @if let Some((label, text)) = &whole { (parts::block(label, text)) }
    }
}

/// Returns the sent value, if it is data.
fn value(asked: &PageRequest, view: &MessageView) -> Markup {
    let path = NamePath::new(["@mail".to_owned(), view.letter.number.to_string(), "@value".to_owned()]);
    let thing = path.ok().and_then(|path| asked.look(Look::Object { path }).ok());
    html! {
        @if let Some(Response::Object(thing)) = thing {
            p { (parts::line(&thing.words)) }
            @if let Some(value) = &thing.value { (references::value(asked, "The value", value)) }
        } @else { p { "A value; give it a name to look at it." } }
    }
}
