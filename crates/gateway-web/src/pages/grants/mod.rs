//! Grants: who holds what, since when, by which message.

pub mod one;

use control::exit::Failure;
use control::protocol::Look;
use control::view::GrantRow;
use kernel::GrantNumber;
use maud::{Markup, html};
use passable::visible_line;

use super::runs::started::methods;
use crate::answer::{Answer, Page};
use crate::asked::{Asked, take};
use crate::page::{link, parts};

/// How many grants a page shows.
const PAGE: usize = 100;

/// How a grant stands, in a word.
pub fn state(row: &GrantRow, now_ms: i64) -> &'static str {
    match row.grant.ended(now_ms) {
        None => "in force",
        Some(_) if row.grant.revoked_ms.is_some() => "revoked",
        Some(_) => "expired",
    }
}

/// `GET /grants`, with `?state=all` for those that have ended too, `?find=` for some, `?below=` for older ones.
pub fn show(asked: &Asked) -> Result<Answer, Failure> {
    let now = asked.site.backend.now_ms();
    let all = asked.query("state") == Some("all");
    let find = asked.query("find").map(str::trim).filter(|find| !find.is_empty());
    let below: Option<GrantNumber> = asked.query("below").and_then(|text| text.parse().ok());
    let mut rows = take!(asked.look(Look::Grants)?, Grants);
    rows.retain(|row| match find {
        Some(find) => is_found(row, find),
        None => all || row.grant.ended(now).is_none(),
    });
    rows.sort_by_key(|row| std::cmp::Reverse(row.grant.number));
    rows.retain(|row| below.is_none_or(|below| row.grant.number < below));
    let older = rows.get(PAGE - 1).filter(|_| rows.len() > PAGE).map(|row| row.grant.number);
    rows.truncate(PAGE);
    let query = if all { "state=all&" } else { "" };
    let main = html! {
        h1 { "Grants" }
        p { "Nobody can use what you did not grant. Revoking one ends every grant that was made of it." }
        nav.filters aria-label="States of grants" {
            a href="/grants" aria-current=[(!all && find.is_none()).then_some("true")] { "in force" }
            a href="/grants?state=all" aria-current=[(all && find.is_none()).then_some("true")] { "all" }
        }
        form.search method="get" action="/grants" role="search" {
            label for="find" { "Number, slot, holder, or what it leads to" }
            input #find name="find" value=(find.unwrap_or("")) autocomplete="off" spellcheck="false";
            button { "Find" }
        }
        section #list aria-label="Grants" data-live {
            @if rows.is_empty() { p.note { "No grants here." } }
            @else { (table(&rows, now)) }
            @if let Some(older) = older { p { a href={ "/grants?" (query) "below=" (older) } { "Older grants" } } }
        }
    };
    Ok(Page::new("/grants", "Grants", main).live("grants").into())
}

fn is_found(row: &GrantRow, find: &str) -> bool {
    let grant = &row.grant;
    grant.number.to_string() == find
        || grant.id.to_string().starts_with(find)
        || grant.slot == find
        || grant.words.contains(find)
        || row.name.as_ref().is_some_and(|name| name.contains(find))
        || row.held_by.raw().contains(find)
}

/// Who holds a grant, with their page if they are still there.
pub fn holder(row: &GrantRow) -> Markup {
    html! {
        @if row.is_gone { (parts::line(&row.held_by)) }
        @else { a href=(link::formula(&row.grant.holder)) { (parts::line(&row.held_by)) } }
    }
}

/// Grants as a table.
pub fn table(rows: &[GrantRow], now_ms: i64) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Table of grants" {
            table {
                thead { tr {
                    th scope="col" { "Grant" } th scope="col" { "Slot or name" } th scope="col" { "What" }
                    th scope="col" { "Held by" } th scope="col" { "May" }
                    th scope="col" { "Since" } th scope="col" { "State" }
                } }
                tbody { @for row in rows { (self::row(row, now_ms)) } }
            }
        }
    }
}

fn row(row: &GrantRow, now_ms: i64) -> Markup {
    let grant = &row.grant;
    let state = state(row, now_ms);
    html! {
        tr #(grant.number) {
            th scope="row" { (link::grant(grant.number)) }
            td { (parts::word(&grant.slot)) }
            td {
                a href=(link::formula(&grant.target)) {
                    @if let Some(name) = &row.name { (parts::name(name)) ": " }
                    (parts::word(&grant.words))
                }
            }
            td { (holder(row)) }
            td {
                (methods(&grant.methods))
                @let limits = grant.attenuation.words();
                @if !limits.is_empty() { p.facts { (visible_line(&limits.join("; "))) } }
            }
            td { (parts::when(grant.given_ms)) @if let Some(message) = grant.source { " by " (link::message(message)) } }
            td { span.mark.good[state == "in force"].warn[state != "in force"] { (state) } " " (link::why(grant.number)) }
        }
    }
}
