//! What is told of a row of a run wherever it stands: for whom, through what, what the gates said by which rule, what it
//! depends on, and what it cost.

use control::show::journal;
use kernel::proposal::{Decision, Effect, Finding, Verdict};
use kernel::run::Run;
use maud::{Markup, html};
use passable::Untrusted;

use super::family::Family;
use super::figures::{Known, called, depends, took, usage};
use super::rows::{Call, Row, Turn};
use crate::page::{link, parts};

/// For whom a run acts.
pub fn principal(known: &Known, run: &Run) -> Markup {
    html! {
        @match run.principal {
            None => "you",
            Some(id) => @match known.get(&id) {
                Some(one) => (called(one)),
                None => (parts::line(&Untrusted::new(run.name.clone()))),
            }
        }
    }
}

/// What is told of any row.
pub fn of_row(family: &Family, known: &Known, run: &Run, row: &Row<'_>) -> Markup {
    match row {
        Row::Turn(turn) => of_turn(known, run, turn),
        Row::Call(call) => of_call(family, known, run, call),
        Row::Other(step) => html! {
            p.facts {
                "for " (principal(known, run))
                @if !step.provenance.sources.is_empty() { "; " (depends(&step.provenance)) }
            }
            (findings(journal::findings(&step.entry).1))
        },
    }
}

/// What is told of a time that a model was asked.
fn of_turn(known: &Known, run: &Run, turn: &Turn<'_>) -> Markup {
    html! {
        p.facts {
            "for " (principal(known, run)) ", model " (parts::word(turn.model))
            @if let Some((step, cost)) = &turn.replied {
                "; " (usage(cost)) ", " (took(i64::try_from(cost.model_ms).unwrap_or(i64::MAX)))
                @if !step.provenance.sources.is_empty() { "; " (depends(&step.provenance)) }
            }
        }
    }
}

/// What is told of a call.
fn of_call(family: &Family, known: &Known, run: &Run, call: &Call<'_>) -> Markup {
    let proposal = call.proposal;
    html! {
        p.facts {
            "for " (principal(known, run)) ", through " (parts::word(&proposal.slot))
            @match known.get(&proposal.grant) {
                Some(what) => { ": " (called(what)) }
                None => @if let Some(place) = &proposal.place { ": " (parts::line(&Untrusted::new(place.clone()))) },
            }
            @if let Some(grant) = known.grant(&proposal.grant) { ", grant " (link::grant(grant)) }
            @if !proposal.provenance.sources.is_empty() { "; " (depends(&proposal.provenance)) }
            @if let Some((child, _)) = call.child.and_then(|child| family.of(child)) { "; " (usage(&child.used)) }
            @if let Some(ms) = call.took_ms() { "; " (took(ms)) }
        }
        @if let Some(verdict) = call.verdict { (judged(known, call, verdict)) }
    }
}

/// What the gates said, by which rules, and what a person answered.
fn judged(known: &Known, call: &Call<'_>, verdict: &Verdict) -> Markup {
    let said = match verdict.decision {
        Decision::Allow => "the gates allow it",
        Decision::Ask => "the gates ask",
        Decision::Deny => "the gates refuse it",
    };
    html! {
        p.facts {
            (said) (lifted(known, call, verdict))
            @if let Some(message) = call.message {
                ": " (link::message(message))
                @match call.approved {
                    Some(true) => ", you approved",
                    Some(false) => ", you denied",
                    None => {}
                }
            }
            @if let Some(message) = call.doubt {
                ". A crash cut it off: " (link::message(message)) " asked whether it happened"
                @if call.vouched { ", and you said that it did" }
            }
        }
        (findings(&verdict.findings))
    }
}

/// By what it was let through although a rule would have asked, or that no rule had anything to say.
fn lifted(known: &Known, call: &Call<'_>, verdict: &Verdict) -> Markup {
    let proposal = call.proposal;
    let grant = known.get(&proposal.grant).and_then(|one| one.grant.as_ref()).map(|row| &row.grant);
    let is_endowed = grant.is_some_and(|grant| grant.allow.contains(&proposal.method));
    html! {
        @if verdict.decision == Decision::Allow {
            @if verdict.findings.is_empty() {
                @if proposal.effect == Effect::Observe { ": it only looks" } @else { ": no rule asks" }
            } @else if is_endowed {
                ": you endowed it with `--allow " (parts::word(&proposal.slot)) "." (parts::word(&proposal.method)) "`"
            }
        }
    }
}

/// Findings, each in a line with its rule.
pub fn findings(found: &[Finding]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.findings {
                @for one in found { li { (parts::finding(one)) } }
            }
        }
    }
}
