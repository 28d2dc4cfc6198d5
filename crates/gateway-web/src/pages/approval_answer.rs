//! The answers to approvals.

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Request};
use control::show::card::Card;
use control::show::danger;
use kernel::MessageNumber;
use kernel::command::MailAct;
use maud::html;
use passable::Untrusted;

use super::approval_bar::DENY_ALL;
use super::messages::worker_preview::{ApprovalPreview, GRANTED};
use super::messages::{approval_context, narrow, refusals, step_up};
use super::{after_answer, approval, message};
use crate::answer::Answer;
use crate::field::pick::NARROW;
use crate::page::{digest_field, parts};
use crate::page_request::{PageRequest, take, typed};

/// Answers `POST /m/NUMBER/answer`: approves or denies an approval, if it is still as it was shown.
pub fn answer(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    if asked.field(NARROW).is_some() {
        return narrow::step(asked, &message::letter(asked)?);
    }
    let card = take!(asked.ask(Request::Card { message: number })?, Card);
    if asked.field("do") == Some("look") {
        return Ok(Answer::Go(format!("/m/{number}")));
    }
    if asked.field("_seen") != Some(approval::digest(&card)?.as_str()) {
        let wrong = digest_field::changed("answered");
        return message::page(asked, number, Some(wrong), 409);
    }
    let entries = match entries(asked, &card) {
        Ok(entries) => entries,
        Err(failure) => return message::page(asked, number, Some(refusals::refused(&failure)), 422),
    };
    let marks = entries.as_ref().map_or_else(String::new, |all| {
        let all: Vec<String> = all.iter().map(|one| (one + 1).to_string()).collect();
        format!(" --only {}", all.join(","))
    });
    let request = match asked.field("do") {
        Some("show") => {
            return preview_page(asked, number, ApprovalPreview::of(asked, &card, entries.as_deref()));
        }
        Some(yes @ ("approve" | "run")) => {
            let granted = match ApprovalPreview::of(asked, &card, entries.as_deref()) {
                Ok(Some(granted)) if asked.field(GRANTED) != Some(granted.digest.as_str()) => {
                    return unseen_preview(asked, number, granted);
                }
                Ok(granted) => granted,
                Err(failure) => return preview_page(asked, number, Err(failure)),
            };
            let weighs = granted.as_ref().is_some_and(|granted| granted.weighs);
            if let Err(failure) = step_up::check(asked, weighs) {
                return message::page(asked, number, Some(refusals::refused(&failure)), 422);
            }
            let (added, words) = granted.map(|granted| (granted.added, granted.words)).unwrap_or_default();
            let (raise, amounts) = match approval_context::raise(asked, &card) {
                Ok(raise) => raise,
                Err(failure) => return message::page(asked, number, Some(refusals::refused(&failure)), 422),
            };
            let for_run = yes == "run";
            let run = if for_run { " --run" } else { "" };
            Request::Approve {
                text: Untrusted::new(format!("approve {number}{marks}{run}{words}{amounts}")),
                message: number,
                entries,
                for_run,
                added: Box::new(added),
                raise,
            }
        }
        Some("deny" | DENY_ALL) => {
            let reason = asked.filled("reason").unwrap_or("no");
            Request::Deny {
                text: Untrusted::new(format!("deny {number}{marks} -r {}", typed(reason))),
                message: number,
                entries,
                reason: Untrusted::new(reason),
            }
        }
        Some(yes @ ("happened" | "repeat")) => {
            let happened = yes == "happened";
            let word = if happened { "yes" } else { "no" };
            let text = Untrusted::new(format!("outcome {number} {word}"));
            Request::ConfirmOutcome { text, message: number, happened }
        }
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no").help("press one of the buttons")),
    };
    match asked.answer_once(request) {
        // The values that were typed on the card are kept.
        Err(failure) if matches!(failure.exit, Exit::Usage | Exit::Invalid | Exit::Conflict) => {
            let status = if failure.exit == Exit::Conflict { 409 } else { 422 };
            return message::page(asked, number, Some(refusals::refused(&failure)), status);
        }
        answered => answered?,
    }
    // A card in a conversation leads back to the conversation.
    match asked.back() {
        Some(back) => Ok(Answer::Go(back)),
        None => after_answer::place(asked, number).map(Answer::Go),
    }
}

/// Returns the card with a preview of the grants of an approval.
fn preview_page(
    asked: &PageRequest,
    number: MessageNumber,
    granted: Result<Option<ApprovalPreview>, Failure>,
) -> Result<Answer, Failure> {
    let wrong = match granted {
        Ok(granted) => granted.and_then(|granted| granted.missing()),
        Err(failure) => Some(failure),
    };
    let status = match &wrong {
        None => 200,
        Some(failure) if failure.exit == Exit::Conflict => 409,
        Some(_) => 422,
    };
    message::page(asked, number, wrong.as_ref().map(refusals::refused), status)
}

/// Refuses an approval whose preview was not shown, or has changed since. The card then shows the current preview.
fn unseen_preview(
    asked: &PageRequest,
    number: MessageNumber,
    granted: ApprovalPreview,
) -> Result<Answer, Failure> {
    if granted.missing().is_some() {
        return preview_page(asked, number, Ok(Some(granted)));
    }
    let was_shown = asked.field(GRANTED).is_some();
    let wrong = parts::not_done(&html! {
        p {
            "Nothing was answered"
            @if was_shown { ": this is not what you saw when you pressed the button." } @else { " yet." }
            " Read below what you would grant, then approve it."
        }
    });
    message::page(asked, number, Some(wrong), if was_shown { 409 } else { 422 })
}

/// Returns the indices of the ticked entries, or `None` for all open entries.
fn entries(asked: &PageRequest, card: &Card) -> Result<Option<Vec<usize>>, Failure> {
    let marked = approval::marked(asked)
        .ok_or_else(|| Failure::new(Exit::Usage, "an entry has a number").help("open the card again"))?;
    let open: Vec<_> = card.entries.iter().filter(|entry| entry.answer.is_none()).collect();
    let must_tick = match asked.field("do") {
        // The button says that it denies all of them.
        Some(DENY_ALL) => return Ok(None),
        Some("approve" | "run") => {
            let is_careful = !card.in_doubt && open.iter().any(|entry| danger::is_careful(entry));
            open.len() > 1 || is_careful
        }
        _ => open.len() > 1,
    };
    // An empty choice must never mean all entries.
    if marked.is_empty() && must_tick {
        return Err(Failure::new(Exit::Usage, "no call was ticked").help("tick the calls that you answer"));
    }
    Ok((!marked.is_empty()).then_some(marked))
}

/// Answers `POST /m/NUMBER/dismiss`: dismisses a message.
pub fn dismiss(asked: &PageRequest) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    let act = AgentAct::Mail { act: Box::new(MailAct::Dismiss { number }) };
    asked.act("dismiss", format!("dismiss {number}"), act)?;
    Ok(Answer::Go("/".to_owned()))
}
