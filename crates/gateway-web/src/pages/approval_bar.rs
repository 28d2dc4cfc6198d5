//! The bar with the answers to an approval. It stays in view while the user reads the card.

use control::show::card::Card;
use control::show::danger;
use maud::{Markup, html};

use super::approval;
use super::messages::{approval_context, worker_preview};
use crate::page::parts;

/// The value of the button that denies all open calls, whatever is ticked.
pub const DENY_ALL: &str = "deny-all";

/// Returns the bar. Enter presses no answer: in the reason, it begins a new line.
pub fn draw(card: &Card, reason: &str, is_shown: bool) -> Markup {
    html! {
        fieldset.answers {
            legend.unseen { "Your answer" }
            // Enter presses a form's first button. This one does nothing but show the page again.
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            @if card.in_doubt {
                (parts::unfold_first())
                div.buttons {
                    button name="do" value="happened" { "It happened" }
                    button.yes name="do" value="repeat" { "It did not: do it now" }
                }
            } @else { (yes_or_no(card, reason, is_shown)) }
        }
    }
}

fn yes_or_no(card: &Card, reason: &str, is_shown: bool) -> Markup {
    let after_refusals = approval::is_after_refusals(card);
    let open: Vec<_> = card.entries.iter().filter(|entry| entry.answer.is_none()).collect();
    let has_ticks = open.len() > 1 || open.iter().any(|entry| danger::is_careful(entry));
    // The user reads the preview of the grants before approving.
    let looks = worker_preview::is_open(card) && !is_shown;
    let can = approval_context::can_be_approved(card) && !looks;
    html! {
        label.unseen for="reason" {
            @if after_refusals { "Reason for stopping it" } @else { "Reason for denying (the model will read it)" }
        }
        textarea #reason.grows name="reason" rows="1"
            placeholder=[(!after_refusals).then_some("Why not? The worker reads this")] { "\n" (reason) }
        (parts::unfold_first())
        div.buttons {
            @match open.len() {
                0 | 1 => button name="do" value="deny" { @if after_refusals { "Stop it" } @else { "Deny" } },
                many => button name="do" value=(DENY_ALL) { "Deny all " (many) },
            }
            @if looks { button name="do" value="show" { "Show what this would grant" } }
            @if can {
                button.yes name="do" value="approve" {
                    @if after_refusals { "Let it go on" }
                    @else if card.more.is_some() { "Give it" }
                    @else if open.len() > 1 { "Approve the ticked calls" }
                    @else if has_ticks { "Approve the ticked call" }
                    @else { "Approve" }
                }
            }
            @if card.more.is_none() && (can || open.len() > 1) {
                details.others {
                    summary { span aria-hidden="true" { "⋯" } span.unseen { "More answers" } }
                    @if can {
                        button.yes.plain name="do" value="run" {
                            "Approve for this run: as often as it proposes exactly this"
                        }
                    }
                    @if open.len() > 1 { button.plain name="do" value="deny" { "Deny only the ticked calls" } }
                }
            }
        }
    }
}
