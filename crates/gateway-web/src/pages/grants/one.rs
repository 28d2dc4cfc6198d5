//! The page of one grant: its use, and its revocation.

use control::exit::Failure;
use control::inspect::{CodeHolder, GrantView, Use};
use control::protocol::{AgentAct, Look};
use control::view::GrantRow;
use kernel::{FormulaId, GrantNumber};
use maud::{Markup, html};
use passable::{visible_line, visible_name};

use super::{holder, state, table};
use crate::answer::{Answer, Page};
use crate::page::short_path::{self, description};
use crate::page::{digest_field, link, parts};
use crate::page_request::{PageRequest, take};
use crate::pages::runs::figures::called;
use crate::pages::runs::started::listed;

fn view(asked: &PageRequest) -> Result<GrantView, Failure> {
    let grant: GrantNumber = asked.part("grant")?;
    Ok(*take!(asked.look(Look::Grant { grant })?, Grant))
}

/// Returns the digest to which a revocation is bound. It covers the grant and the grants that are revoked with it,
/// but not its use, which may continue.
fn digest(view: &GrantView) -> Result<String, Failure> {
    let falls: Vec<_> = view.falls.iter().map(|row| &row.grant).collect();
    digest_field::digest(&(&view.row, falls))
}

/// Answers `GET /grants/GRANT`.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
    let view = view(asked)?;
    page(asked, &view, None)
}

/// Answers `POST /grants/GRANT`: revokes the grant, if it is still as it was shown.
pub fn revoke(asked: &PageRequest) -> Result<Answer, Failure> {
    let view = view(asked)?;
    let number = view.row.grant.number;
    let to = format!("/grants/{number}");
    if asked.field("do") != Some("revoke") {
        return Ok(Answer::Go(to));
    }
    if asked.field("_seen") != Some(digest(&view)?.as_str()) {
        return Ok(match page(asked, &view, Some(digest_field::changed("revoked")))? {
            Answer::Page(page) => page.status(409).into(),
            other => other,
        });
    }
    asked.act("revoke", format!("revoke {number}"), AgentAct::Revoke { grant: number })?;
    Ok(Answer::Go(to))
}

fn page(asked: &PageRequest, view: &GrantView, said: Option<Markup>) -> Result<Answer, Failure> {
    let now = asked.site.backend.now_ms();
    let (row, grant) = (&view.row, &view.row.grant);
    let number = grant.number;
    let digest = digest(view)?;
    let limits = grant.attenuation.limit_phrases();
    let main = html! {
        @if let Some(said) = said { (said) }
        h1 { "Grant " (number) ": " (parts::word(&grant.slot)) }
        section #grant aria-label="The grant" data-live {
            p { span.mark { (state(row, now)) } " " (link::why(number)) }
            dl.facts {
                dt { "What" } dd {
                    (called(&view.target))
                    // The page of one grant has room for the whole path.
                    @if view.target.name.is_some() || short_path::is_shortened(&view.target.words) {
                        ": " bdi dir="ltr" { (visible_name(view.target.words.raw())) }
                    }
                }
                dt { "Held by" }
                dd { (holder(row)) @if let Some(hash) = &view.text { ", whose text has the " (parts::digest(hash)) } }
                dt { "Methods" } dd { (listed(&grant.methods)) }
                dt { "Limits" }
                dd {
                    @if limits.is_empty() { "none" }
                    @else { ul { @for one in &limits { li { (visible_line(one)) } } } }
                }
                @if !grant.allow.is_empty() { dt { "Not asked about" } dd { (listed(&grant.allow)) } }
                @if !grant.ask.is_empty() { dt { "Always asked about" } dd { (listed(&grant.ask)) } }
                dt { "Given" }
                dd { (parts::when(grant.given_ms)) @if let Some(message) = grant.source { " by " (link::message(message)) } }
                @if let Some(end) = grant.expires_ms { dt { "Ends by itself" } dd { (parts::when(end)) } }
                @if let Some(end) = grant.revoked_ms {
                    dt { "Revoked" }
                    dd { (parts::when(end)) @if let Some(message) = grant.revoked_by { " by " (link::message(message)) } }
                }
            }
            h2 { "What it was used for " span.count { (view.calls) } }
            @if view.last.is_empty() { p.note { "Nothing yet." } }
            @if !view.last.is_empty() {
                div.wide tabindex="0" role="region" aria-label="The last calls" {
                    table.stack role="table" {
                        thead role="rowgroup" { tr role="row" {
                            @for name in ["By", "When", "Method", "With", "Outcome", "Why"] {
                                th scope="col" role="columnheader" { (name) }
                            }
                        } }
                        tbody role="rowgroup" { @for one in &view.last { (call(one, &view.row)) } }
                    }
                }
            }
            @if !view.runs.is_empty() {
                p { "By " @for run in &view.runs { (parts::run(*run)) " " } }
            }
            (of_code(&view.code))
            h2 { "What falls with it " span.count { (view.falls.len()) } }
            @if view.falls.is_empty() { p.note { "No grant was made of it." } } @else { (table(&view.falls, now)) }
            @if grant.revoked_ms.is_none() { (revocation(asked, view, &digest)) }
        }
    };
    Ok(Page::new("/grants", format!("Grant {number}: {}", visible_line(&grant.slot)), main)
        .live("grants")
        .into())
}

/// Returns the row of a call that was made or tried.
fn call(one: &Use, row: &GrantRow) -> Markup {
    html! {
        tr role="row" {
            th scope="row" role="rowheader" data-label="By" {
                @if let Some(at) = one.at { (link::step(at)) }
                @else if let Some(by) = &one.by { (caller(by, row)) }
            }
            td role="cell" data-label="When" { (parts::when(one.at_ms)) }
            td role="cell" data-label="Method" { (parts::line(&one.method)) }
            td role="cell" data-label="With" {
                @if let Some(with) = one.with.as_ref().filter(|with| !with.raw().is_empty()) { (parts::line(with)) }
            }
            td role="cell" data-label="Outcome" { (parts::word(&one.outcome)) }
            td role="cell" data-label="Why" {
                // A caller without a journal may call because it holds the grant, so the link explains the grant.
                @if let Some(at) = one.at { (link::why(at)) } @else { (link::why(row.grant.number)) }
            }
        }
    }
}

/// Returns the code or the agent that called without a run.
fn caller(by: &FormulaId, row: &GrantRow) -> Markup {
    html! {
        @if *by == row.grant.holder { (holder(row)) }
        @else { a href=(link::formula(by)) { (by.short()) } }
    }
}

/// Returns a note on the journals of code, which have more details about its use of the grant.
fn of_code(code: &[CodeHolder]) -> Markup {
    let (there, gone): (Vec<&CodeHolder>, Vec<_>) = code.iter().partition(|one| one.has_journal);
    html! {
        @if !code.is_empty() {
            p.note {
                "Code holds or held it. What it sent on its way to its result, with what, and what it heard, is in its "
                "journal."
                @for one in there { " " code { "almoner trace " (one.id) } " shows that of " (one.id.short()) "." }
                @for one in gone { " That of " (one.id.short()) " went with it when it ended." }
            }
        }
    }
}

fn revocation(asked: &PageRequest, view: &GrantView, digest: &str) -> Markup {
    let number = view.row.grant.number;
    let falls = view.falls.len();
    html! {
        form.card method="post" action={ "/grants/" (number) } data-weighty {
            (parts::token(&asked.session))
            input type="hidden" name="_seen" value=(digest);
            button.default type="submit" name="do" value="look" tabindex="-1" aria-hidden="true" { "Look again" }
            p {
                "Revoked, it can never be used again: not by " (description(&view.row.held_by))
                @if falls > 0 { ", nor through the " (falls) " grants that were made of it" }
                ". What had begun completes."
            }
            div.buttons { button.yes.away name="do" value="revoke" { "Revoke " (number) } }
        }
    }
}
