//! Grants: the holder, the object, the time and the message of each.

pub mod one;

use control::exit::Failure;
use control::protocol::Look;
use control::view::GrantRow;
use kernel::GrantNumber;
use maud::{Markup, html};
use passable::visible_line;

use super::runs::started::methods;
use crate::answer::{Answer, Page};
use crate::page::short_path::{description, short_path};
use crate::page::{link, parts};
use crate::page_request::{PageRequest, take};

/// The number of grants on a page.
const PAGE: usize = 100;

/// Returns the state of a grant, in one or two words.
pub fn state(row: &GrantRow, now_ms: i64) -> &'static str {
    match row.grant.ended(now_ms) {
        None => "in force",
        Some(_) if row.grant.revoked_ms.is_some() => "revoked",
        Some(_) => "expired",
    }
}

/// Answers `GET /grants`. `?state=all` also shows grants that have ended, `?find=` searches, and `?below=` shows
/// older grants.
pub fn show(asked: &PageRequest) -> Result<Answer, Failure> {
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
    let pairs = [
        all.then(|| "state=all".to_owned()),
        find.map(|find| format!("find={}", link::query(find))),
        older.map(|older| format!("below={older}")),
    ];
    let older =
        older.map(|_| format!("/grants?{}", pairs.into_iter().flatten().collect::<Vec<_>>().join("&")));
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
            @if rows.is_empty() { p.note { (none(all, find)) } }
            @else { (table(&rows, now)) }
            @if let Some(older) = older { p { a href=(older) { "Older grants" } } }
        }
    };
    Ok(Page::new("/grants", "Grants", main).live("grants").into())
}

/// Returns the note for an empty list of grants.
fn none(all: bool, find: Option<&str>) -> Markup {
    html! {
        @if find.is_some() { "No grant is found." }
        @else {
            @if all { "No grants yet." } @else { "No grant is in force." }
            " A run is given some when you start it: " code { "almoner run FILE -e out=./out:rw" }
        }
    }
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

/// Returns the holder of a grant, with a link to the holder's page if it still exists.
pub fn holder(row: &GrantRow) -> Markup {
    html! {
        @if row.is_gone { (description(&row.held_by)) }
        @else { a href=(link::formula(&row.grant.holder)) { (description(&row.held_by)) } }
    }
}

/// Returns a table of grants.
pub fn table(rows: &[GrantRow], now_ms: i64) -> Markup {
    html! {
        div.wide tabindex="0" role="region" aria-label="Table of grants" {
            table.stack role="table" {
                thead role="rowgroup" { tr role="row" {
                    @for name in ["Grant", "State", "Slot or name", "What", "Held by", "May"] {
                        th scope="col" role="columnheader" { (name) }
                    }
                } }
                tbody role="rowgroup" { @for row in rows { (self::row(row, now_ms)) } }
            }
        }
    }
}

fn row(row: &GrantRow, now_ms: i64) -> Markup {
    let grant = &row.grant;
    let state = state(row, now_ms);
    html! {
        tr #(grant.number) role="row" {
            th scope="row" role="rowheader" data-label="Grant" { (link::grant(grant.number)) }
            td role="cell" data-label="State" {
                span.mark.good[state == "in force"].warn[state != "in force"] { (state) }
                p.facts {
                    "given " (parts::when(grant.given_ms))
                    @if let Some(message) = grant.source { " by " (link::message(message)) }
                    ", " (link::why(grant.number))
                }
            }
            td role="cell" data-label="Slot or name" { (parts::word(&grant.slot)) }
            td role="cell" data-label="What" {
                a href=(link::formula(&grant.target)) {
                    @if let Some(name) = &row.name { (parts::name(name)) ": " }
                    (short_path(&grant.words))
                }
            }
            td role="cell" data-label="Held by" { (holder(row)) }
            td role="cell" data-label="May" {
                (methods(&grant.methods))
                @let limits = grant.attenuation.limit_phrases();
                @if !limits.is_empty() { p.facts { (visible_line(&limits.join("; "))) } }
            }
        }
    }
}
