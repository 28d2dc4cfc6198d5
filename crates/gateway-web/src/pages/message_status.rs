//! The state of a message, in a few words.

use control::protocol::{Request, Response};
use control::show::outcome;
use kernel::message::{Answer as Said, Body};
use kernel::query::MailboxEntry;
use maud::{Markup, html};

use crate::page::parts;
use crate::page_request::PageRequest;
use crate::pages::runs::descendants;

/// Returns the state of a message, or its outcome if it has one. It has no links, because the row itself is a link.
pub fn state(asked: &PageRequest, one: &MailboxEntry) -> Markup {
    if let Some(came) = &one.mail.outcome {
        return parts::plain_sentence(&outcome::render_outcome(came));
    }
    // A command that started a run has the state of the run, as on the run's own page.
    if let Some(Body::Command { run: Some(run), .. }) = one.body()
        && let Ok(Response::Run(run)) = asked.ask(Request::GetRun { run: *run })
    {
        return html! { (run.number) ": " (descendants::state(asked, &run)) };
    }
    let mut said: Vec<&str> =
        one.mail.answers.values().map(|answer| word(&one.mail.envelope.kind, answer)).collect();
    said.dedup();
    html! { @if one.mail.needs_you { "needs you" } @else { (said.join(", ")) } }
}

/// Returns an answer to a message, in the words of the command that gives such an answer.
fn word(kind: &str, said: &Said) -> &'static str {
    match (kind, said) {
        (_, Said::Approved { for_run: true, .. }) => "approved for the run",
        ("form", Said::Approved { .. }) => "submitted",
        ("definition", Said::Approved { .. }) => "endowed",
        ("request", Said::Approved { .. }) => "resolved",
        (_, Said::Approved { .. }) => "approved",
        ("form" | "definition" | "request", Said::Denied { .. }) => "rejected",
        (_, Said::Denied { .. }) => "denied",
        (_, Said::Happened { .. }) => "it happened",
        (_, Said::Repeat { .. }) => "done again",
        (_, Said::Withdrawn { .. }) => "withdrawn",
    }
}

#[cfg(test)]
mod tests {
    use passable::Untrusted;

    use super::*;

    #[test]
    fn answer_is_named_after_its_command() {
        let (approved, denied) = (
            Said::Approved { for_run: false, at_ms: 0 },
            Said::Denied { reason: Untrusted::new("no"), at_ms: 0 },
        );
        for (kind, yes, no) in [
            ("form", "submitted", "rejected"),
            ("definition", "endowed", "rejected"),
            ("request", "resolved", "rejected"),
            ("eval-request", "approved", "denied"),
            ("approval", "approved", "denied"),
        ] {
            assert_eq!((word(kind, &approved), word(kind, &denied)), (yes, no), "{kind}");
        }
    }
}
