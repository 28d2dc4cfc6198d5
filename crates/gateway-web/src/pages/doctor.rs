//! Doctor: whether all is well with the daemon and its store.

use control::exit::Failure;
use control::protocol::Request;
use maud::{Markup, html};
use passable::Untrusted;

use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::parts;

/// `GET /doctor`.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let status = take!(asked.ask(Request::Status)?, Status);
    let checks = take!(asked.ask(Request::Check)?, Checked);
    let policy = take!(asked.ask(Request::Policy)?, Policy);
    let bad = checks.iter().filter(|(_, ok, _)| !ok).count() + policy.problems.len();
    let main = html! {
        h1 { "Doctor" }
        section #checks aria-label="What was found" {
            p { @if bad == 0 { "✓ All that was looked at is well." } @else { span.warning { (bad) " things are not well." } } }
            dl.facts {
                dt { "Daemon" } dd { (parts::word(&status.build)) ", process " (status.pid) }
                dt { "Store" } dd { code { (parts::word(&status.store)) } }
                dt { "Runs at work" }
                dd {
                    @if status.at_work.is_empty() { "none" }
                    @for run in &status.at_work { (parts::run(*run)) " " }
                    @if status.others_at_work > 0 { "and " (status.others_at_work) " of other hosts" }
                }
                dt { "Code that has not ended" } dd { (status.code.all()) }
                dt { "Waits for you" } dd { a href="/" { (status.needs_you) } " in your inbox" }
                dt { "Commits" } dd { (status.commits) ", " (status.syncs) " waits for the disk" }
            }
            ul.checks {
                @for (id, ok, found) in &checks { (check(id, *ok, &Untrusted::new(found.as_str()))) }
                @for one in &policy.problems { (check("policy", false, one)) }
            }
        }
        p.note { code { "almoner doctor" } " in a terminal also tries the sandbox, the models, the disk and the settings." }
    };
    Ok(Page::new("/doctor", "Doctor", main).into())
}

fn check(id: &str, is_well: bool, found: &Untrusted) -> Markup {
    html! {
        li {
            @if is_well { span.mark.good { "well" } } @else { span.mark.bad { "not well" } }
            " " strong { (parts::word(id)) } ": " (parts::line(found))
        }
    }
}
