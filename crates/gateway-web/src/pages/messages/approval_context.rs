//! The context of an approval: earlier approvals, the state of an answer, and the amounts by which limits are raised.

use control::exit::Failure;
use control::show::approval_count::{self, RuleSuggestion};
use control::show::budget_request::AMOUNTS;
use control::show::card::{Card, CardEntry};
use kernel::budget::Raise;
use maud::{Markup, html};
use passable::visible_line;

use crate::page::parts;
use crate::page_request::PageRequest;

/// Returns how often the user was asked the same before, and the rule that would prevent the question.
pub fn asked_before(card: &Card) -> Markup {
    html! {
        @for one in &card.asked {
            section aria-label="What you were asked before" {
                p { (parts::help(&one.in_words())) }
                @match &one.instead {
                    RuleSuggestion::Allow { rule } => {
                        p { (approval_count::ALLOW_HEADING) " " code { "--allow " (visible_line(rule)) } "." }
                    }
                    RuleSuggestion::Permit { policy } => {
                        p { (approval_count::PERMIT_HEADING) ":" }
                        (parts::own_block("The policy", policy))
                    }
                    RuleSuggestion::Nothing { why } => p { (approval_count::NO_RULE_HEADING) ": " (why) "." },
                }
            }
        }
    }
}

/// Returns the state of an entry: when the call was interrupted, why an approval would have no effect, and why an
/// earlier one had none.
pub fn state(entry: &CardEntry) -> Markup {
    html! {
        @if let Some(cut_off) = entry.cut_off { p { (cut_off.in_words()) } }
        @if let Some(why) = entry.ended.as_ref().filter(|_| entry.answer.is_none()) {
            p.warning { "A yes would come to nothing: " (parts::line(why)) "." }
        }
        @for finding in &entry.undone { p.warning { "Nothing was done: " (parts::finding(finding)) } }
    }
}

/// Returns whether an approval of any part of the card could still have an effect.
pub fn can_be_approved(card: &Card) -> bool {
    card.more.is_some() || card.entries.iter().any(|entry| entry.answer.is_none() && entry.ended.is_none())
}

/// Returns the name of an amount's field.
fn field(flag: &str) -> String {
    format!("more-{flag}")
}

/// Returns fields for amounts that differ from the offered one.
pub fn amounts(asked: &PageRequest, card: &Card) -> Markup {
    let typed = |flag: &str| asked.field(&field(flag)).unwrap_or("");
    let wants = format!("more-{}-wants", card.number);
    html! {
        @if card.more.as_ref().is_some_and(|more| more.answer.is_none()) {
            details open[AMOUNTS.iter().any(|(flag, ..)| !typed(flag).is_empty())] {
                summary { "Give another amount" }
                p.note #(wants) { "What is written here is added instead of what is offered; nothing of what is left empty." }
                @for (flag, label, like) in AMOUNTS {
                    @let own = format!("more-{}-{flag}", card.number);
                    label for=(own) { (label) }
                    input id=(own) name=(field(flag)) autocomplete="off" placeholder=(like) aria-describedby=(wants)
                        value=(typed(flag));
                }
            }
        }
    }
}

/// Returns the amounts that the user has typed, as parsed values and as options of the command line.
///
/// # Errors
/// When an amount is invalid.
pub fn raise(asked: &PageRequest, card: &Card) -> Result<(Option<Raise>, String), Failure> {
    if card.more.is_none() {
        return Ok((None, String::new()));
    }
    let said = |flag: &'static str| Some((flag, asked.filled(&field(flag))?.to_owned()));
    let said: Vec<(&'static str, String)> = AMOUNTS.iter().filter_map(|(flag, ..)| said(flag)).collect();
    let words = said.iter().map(|(flag, text)| format!(" --{flag} {text}")).collect();
    Ok((asked.site.backend.raise(&said)?, words))
}
