//! The facts on a row of a run, for every view. These are the grant, the verdict of the gates with its rule, the
//! dependencies, and the cost. The essential facts are in one line, and the others are folded.

use control::show::journal;
use kernel::proposal::{Decision, Effect, Finding, Verdict};
use kernel::provenance::Provenance;
use kernel::run::Run;
use maud::{Markup, html};
use passable::{Untrusted, visible_line};

use super::family::Family;
use super::figures::{ObjectNames, called, depends, principal, took, usage};
use super::rows::{Call, Row, Turn};
use crate::page::{link, parts};

/// The facts on a row.
pub struct Facts {
    /// The essential facts, in one line. `None` if no fact is essential.
    pub brief: Option<Markup>,
    /// All facts.
    pub all: Markup,
}

impl Facts {
    /// Returns the essential facts as a line that can be unfolded.
    pub fn folded(&self, id: &str) -> Markup {
        html! {
            @if let Some(brief) = &self.brief {
                details.facts #(id) { summary { (brief) } (self.all) }
            }
        }
    }
}

/// Returns the facts on any row.
pub fn of_row(family: &Family, known: &ObjectNames, run: &Run, row: &Row<'_>) -> Facts {
    match row {
        Row::Turn(turn) => of_turn(known, run, turn),
        Row::Call(call) => of_call(family, known, run, call),
        Row::Other(step) => {
            let found = journal::findings(&step.entry).1;
            let all = html! {
                p {
                    "for " (principal(known, run))
                    @if !step.provenance.sources.is_empty() { "; " (depends(&step.provenance)) }
                }
                (findings(found))
            };
            let brief = match found {
                [] => sources(&step.provenance),
                found => Some(html! { (rules(found)) }),
            };
            Facts { brief, all }
        }
    }
}

/// Returns the number of sources in a provenance, in words, or `None` if it has no sources.
fn sources(provenance: &Provenance) -> Option<Markup> {
    match provenance.sources.len() {
        0 => None,
        1 => Some(html! { "depends on 1 source" }),
        many => Some(html! { "depends on " (many) " sources" }),
    }
}

/// Returns the rules of findings. Consecutive findings with the same rule count once.
fn rules(found: &[Finding]) -> String {
    let mut rules: Vec<&str> = found.iter().map(|one| one.rule.as_str()).collect();
    rules.dedup();
    visible_line(&rules.join(", ")).into_owned()
}

/// Returns the facts on a request to a model that are not in its row.
fn of_turn(known: &ObjectNames, run: &Run, turn: &Turn<'_>) -> Facts {
    let provenance = turn.replied.as_ref().map(|(step, _)| &step.provenance);
    let all = html! {
        p {
            "for " (principal(known, run)) ", model " (parts::word(turn.model))
            @if let Some((step, cost)) = &turn.replied { "; " (usage(cost)) "; " (depends(&step.provenance)) }
        }
    };
    Facts { brief: provenance.and_then(sources), all }
}

/// Returns the facts on a call.
fn of_call(family: &Family, known: &ObjectNames, run: &Run, call: &Call<'_>) -> Facts {
    let proposal = call.proposal;
    let child = call.child.and_then(|child| family.of(child));
    let brief = html! {
        @match known.get(&proposal.grant).and_then(|one| one.name.as_ref()) {
            Some(name) => { "through " (parts::word(name)) }
            None => { "through " (parts::word(&proposal.slot)) }
        }
        @if let Some(ms) = call.took_ms() { ", " (took(ms)) }
        @if let Some(verdict) = call.verdict.filter(|verdict| !verdict.findings.is_empty()) {
            ", " (decision_label(verdict)) " by " (rules(&verdict.findings))
        }
    };
    let all = html! {
        p {
            "for " (principal(known, run)) ", through " (parts::word(&proposal.slot))
            @match known.get(&proposal.grant) {
                Some(what) => { ": " (called(what)) }
                None => @if let Some(place) = &proposal.place { ": " (parts::line(&Untrusted::new(place.clone()))) },
            }
            @if let Some(grant) = known.grant(&proposal.grant) { ", grant " (link::grant(grant)) }
            @if !proposal.provenance.sources.is_empty() { "; " (depends(&proposal.provenance)) }
            @if let Some((child, _)) = child { "; " (usage(&child.used)) }
        }
        @if let Some(verdict) = call.verdict { (verdict_section(known, call, verdict)) }
    };
    Facts { brief: Some(brief), all }
}

/// Returns the decision of the gates, in one or two words.
fn decision_label(verdict: &Verdict) -> &'static str {
    match verdict.decision {
        Decision::Allow => "let through",
        Decision::Ask => "asked",
        Decision::Deny => "refused",
    }
}

/// Returns the verdict of the gates, with its rules and the user's answer.
fn verdict_section(known: &ObjectNames, call: &Call<'_>, verdict: &Verdict) -> Markup {
    let said = match verdict.decision {
        Decision::Allow => "the gates allow it",
        Decision::Ask => "the gates ask",
        Decision::Deny => "the gates refuse it",
    };
    html! {
        p {
            (said) (allow_reason(known, call, verdict))
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

/// Returns the reason why a call was allowed: no rule asks, the change is staged, or the user's endowment allows it.
fn allow_reason(known: &ObjectNames, call: &Call<'_>, verdict: &Verdict) -> Markup {
    let proposal = call.proposal;
    let grant = known.get(&proposal.grant).and_then(|one| one.grant.as_ref()).map(|row| &row.grant);
    let is_staged = grant.is_some_and(|grant| grant.attenuation.staged_from.is_some());
    let is_endowed = grant.is_some_and(|grant| grant.allow.contains(&proposal.method));
    html! {
        @if verdict.decision == Decision::Allow {
            @if verdict.findings.is_empty() {
                @if proposal.effect == Effect::Observe { ": it only looks" } @else { ": no rule asks" }
            } @else if is_staged {
                // A staged change needs no approval: the gates ask before it is applied.
                ": changes go to a staged copy, until you apply them"
            } @else if is_endowed {
                ": you endowed it with `--allow " (parts::word(&proposal.slot)) "." (parts::word(&proposal.method)) "`"
            }
        }
    }
}

/// Returns findings as a list, each with its rule.
pub fn findings(found: &[Finding]) -> Markup {
    html! {
        @if !found.is_empty() {
            ul.findings {
                @for one in found { li { (parts::finding(one)) } }
            }
        }
    }
}
