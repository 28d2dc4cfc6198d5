//! The doctor page: the health of the daemon, of its store, and of its environment.
//!
//! Slow checks are requested separately: by the script as soon as the page is loaded, or by links without a script.

use control::exit::{Exit, Failure};
use control::health_check::{HealthCheck, PARTS};
use control::protocol::Request;
use maud::{Markup, html};
use passable::visible_line;

use crate::answer::{Answer, Page};
use crate::page::parts;
use crate::page::short_path::{from_home, short_path};
use crate::page::voice::Ours;
use crate::page_request::{PageRequest, take};

/// Answers `GET /doctor`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let status = take!(asked.ask(Request::Status)?, Status);
    let main = html! {
        h1 { "Doctor" }
        section aria-label="The daemon" {
            dl.facts {
                dt { "Daemon" } dd { (parts::word(&status.build)) ", process " (status.pid) }
                dt { "Store" } dd { (short_path(&status.store)) }
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
        }
        @for (part, title) in PARTS {
            section #{ "part-" (part) } aria-labelledby={ "title-" (part) } data-load={ "/doctor/" (part) } {
                h2 #{ "title-" (part) } { (title) }
                p.by-hand { a href={ "/doctor/" (part) } { "Examine: " (title) } }
                p.note.by-script { "It is being examined…" }
            }
        }
        p.note { "The same as " code { "almoner doctor" } " in a terminal; here with the eyes of the daemon." }
    };
    Ok(Page::new("/doctor", "Doctor", main).into())
}

/// Answers `GET /doctor/PART`: runs the checks of one part.
pub fn part(asked: &PageRequest) -> Result<Answer, Failure> {
    let name = asked.part_text("part");
    let Some((part, title)) = PARTS.iter().find(|(part, _)| *part == name) else {
        return Err(Failure::new(Exit::NotFound, "cannot show this page: nothing is at its address"));
    };
    let found = take!(asked.ask(Request::Examine { part: (*part).to_owned() })?, Examined);
    let main = html! {
        h1 { "Doctor" }
        section #{ "part-" (part) } aria-labelledby={ "title-" (part) } {
            h2 #{ "title-" (part) } { (title) }
            ul.checks { @for one in &found { (check(one)) } }
        }
        p { a href="/doctor" { "All parts" } }
    };
    Ok(Page::new("/doctor", format!("Doctor: {title}"), main).into())
}

/// Returns the outcome of a check. Its evidence is in our words, with places and settings of the user.
fn check(one: &HealthCheck) -> Markup {
    let shown = from_home(&one.evidence);
    html! {
        li {
            @if one.ok {
                span.mark.good { "well" }
            } @else if one.untried {
                span.mark { "not tried" }
            } @else {
                span.mark.bad { "not well" }
            }
            " " strong { (parts::word(&one.id)) } ": "
            span title=[(shown != one.evidence).then_some(visible_line(&one.evidence))] { (Ours(&shown)) }
            @if one.has_failed() && !one.remedy.is_empty() { p { "→ " (Ours(&one.remedy)) } }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn untried_check_is_neither_well_nor_bad() {
        for (one, mark, remedy) in [
            (
                HealthCheck::new("disk", true, "room", "make room"),
                r#"<span class="mark good">well</span>"#,
                false,
            ),
            (
                HealthCheck::new("disk", false, "full", "make room"),
                r#"<span class="mark bad">not well</span>"#,
                true,
            ),
            (
                HealthCheck::untried("debug", "it fails anyway"),
                r#"<span class="mark">not tried</span>"#,
                false,
            ),
        ] {
            let shown = check(&one).into_string();
            assert!(shown.contains(mark), "{shown}");
            assert_eq!(shown.contains("→ "), remedy, "{shown}");
        }
    }
}
