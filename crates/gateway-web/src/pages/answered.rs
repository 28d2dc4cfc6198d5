//! Answers to messages.

use control::exit::{Exit, Failure};
use control::protocol::{AgentAct, Request};
use control::show::card::Card;
use kernel::command::MailAct;
use kernel::{MessageNumber, RunNumber};
use maud::html;
use passable::Untrusted;

use super::asks::{form, making};
use super::{approval, message};
use crate::answer::Answer;
use crate::asked::{Asked, take, typed};

/// `POST /m/NUMBER/answer`: yes or no to an approval as it was shown, and to no other.
pub fn answer(asked: &Asked) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    let card = take!(asked.ask(Request::Card { message: number })?, Card);
    if asked.field("do") == Some("look") {
        return Ok(Answer::Go(format!("/m/{number}")));
    }
    if asked.field("_seen") != Some(approval::digest(&card)?.as_str()) {
        let wrong = html! {
            p.failure role="alert" {
                "Nothing was answered: this has changed since you saw it. Read it again as it is now."
            }
        };
        return message::page(asked, number, Some(wrong), 409);
    }
    let entries = match entries(asked, &card) {
        Ok(entries) => entries,
        Err(failure) => return message::page(asked, number, Some(form::refused(&failure)), 422),
    };
    let marks = entries.as_ref().map_or_else(String::new, |all| {
        let all: Vec<String> = all.iter().map(|one| (one + 1).to_string()).collect();
        format!(" --only {}", all.join(","))
    });
    let request = match asked.field("do") {
        Some(yes @ ("approve" | "run")) => {
            let added = match making::added(asked, &card, entries.as_deref()) {
                Ok(added) => added,
                Err(failure) => return message::page(asked, number, Some(form::refused(&failure)), 422),
            };
            let for_run = yes == "run";
            let run = if for_run { " --run" } else { "" };
            Request::Approve {
                text: Untrusted::new(format!("approve {number}{marks}{run}{}", added.words)),
                message: number,
                entries,
                for_run,
                endow: added.endow,
                allow: vec![],
                edited: added.edited,
                raise: None,
            }
        }
        Some("deny") => {
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
            let text = Untrusted::new(format!("happened {number} {word}"));
            Request::Happened { text, message: number, happened }
        }
        _ => return Err(Failure::new(Exit::Usage, "an answer is yes or no").help("press one of the buttons")),
    };
    match asked.ask(request) {
        // What was written on the card is not lost.
        Err(failure) if matches!(failure.exit, Exit::Usage | Exit::Invalid) => {
            return message::page(asked, number, Some(form::refused(&failure)), 422);
        }
        answered => take!(answered?, Reply),
    };
    // A card in a conversation leads back to it.
    let back = asked.field(approval::BACK).and_then(|back| back.strip_prefix("/chat/"));
    let back = back.and_then(|run| run.parse::<RunNumber>().ok()).map(|run| format!("/chat/{run}"));
    Ok(Answer::Go(back.unwrap_or_else(|| format!("/m/{number}"))))
}

/// The entries that were marked, if the card had several.
fn entries(asked: &Asked, card: &Card) -> Result<Option<Vec<usize>>, Failure> {
    let marked = asked.body.iter().filter(|(name, _)| name == "entry").map(|(_, text)| text.parse::<usize>());
    let marked = marked
        .collect::<Result<Vec<_>, _>>()
        .map_err(|_| Failure::new(Exit::Usage, "an entry has a number").help("open the card again"))?;
    let open = card.entries.iter().filter(|entry| entry.answer.is_none()).count();
    // No mark at all must never come to mean all of them.
    if marked.is_empty() && open > 1 {
        return Err(Failure::new(Exit::Usage, "no entry was marked").help("mark those that you answer"));
    }
    Ok((!marked.is_empty()).then_some(marked))
}

/// `POST /m/NUMBER/dismiss`.
pub fn dismiss(asked: &Asked) -> Result<Answer, Failure> {
    let number: MessageNumber = asked.part("number")?;
    let act = AgentAct::Mail { act: Box::new(MailAct::Dismiss { number }) };
    asked.act("dismiss", format!("dismiss {number}"), act)?;
    Ok(Answer::Go("/".to_owned()))
}
