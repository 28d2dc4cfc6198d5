//! What something can be asked to do: its methods, as it was recorded when it was made.

use std::collections::BTreeSet;

use control::exit::Failure;
use control::inspect::FormulaView;
use control::protocol::Look;
use control::view::PromiseState;
use kernel::facet::{Facet, Presence, Support, facet};
use kernel::grant::EVERY_METHOD;
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use passable::{ArgGuard, CallKind, Effect, InterfaceGuard, MethodGuard, Untrusted, visible_line};

use crate::asked::{Asked, take};
use crate::page::{link, parts};

/// The type of objects that code has made.
const OF_CODE: &str = "export";

/// What is asked when something is asked.
pub enum Methods {
    /// What Almoner has made knows its methods; these are those that may be called.
    Known(&'static Facet, Vec<&'static str>),
    /// Code has made it, with a guard; these of its methods may be called.
    Guarded(Box<InterfaceGuard<FormulaId>>, Vec<String>),
    /// Only its maker knows; if a grant names some, these.
    OfCode(BTreeSet<String>),
}

impl Methods {
    /// Those of a formula, or of what came of a promise; none, if it is nothing that can be asked.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub fn of(asked: &Asked, view: &FormulaView) -> Result<Option<Methods>, Failure> {
        let came = match &view.thing.promise {
            Some(PromiseState::Fulfilled { value: Value::Remotable(remote) }) => {
                Some(take!(asked.look(Look::Formula { id: remote.reference })?, Formula))
            }
            Some(_) => return Ok(None),
            None => None,
        };
        let view = came.as_deref().unwrap_or(view);
        let granted = view.called.grant.as_ref().map(|row| &row.grant);
        let allows = |name: &str| granted.is_none_or(|grant| grant.allows(name));
        if view.called.kind == OF_CODE {
            let guard = view.guard.as_ref().and_then(|guard| InterfaceGuard::from_value(guard).ok());
            if let Some(guard) = guard {
                let names = guard.methods.iter().map(|(name, _)| name.to_str_lossy().into_owned());
                let can = names.filter(|name| allows(name)).collect();
                return Ok(Some(Methods::Guarded(Box::new(guard), can)));
            }
            let named = granted.filter(|grant| !grant.allows(EVERY_METHOD));
            return Ok(Some(Methods::OfCode(named.map(|grant| grant.methods.clone()).unwrap_or_default())));
        }
        let own = facet(&view.called.kind);
        // What only reads refuses all that changes.
        let fits = |effect: Effect| effect == Effect::Observe || !view.called.read_only;
        let can = own
            .methods
            .values()
            .filter(|method| method.support == Support::Full && fits(method.effect) && allows(method.name));
        let can: Vec<_> = can.map(|method| method.name).collect();
        Ok((!can.is_empty()).then_some(Methods::Known(own, can)))
    }

    /// A table of them, each with a way to call it if there is a name for the thing.
    pub fn table(&self, path: Option<&str>) -> Markup {
        let call = |method: &str| {
            path.map(|path| format!("/call?path={}&method={}", link::query(path), link::query(method)))
        };
        html! {
            h2 #methods { "What it can be asked" }
            @match self {
                Methods::OfCode(named) => {
                    p.note { "Code has made it, and only that code knows its methods." }
                    @if !named.is_empty() {
                        p { "This grant lets through: " @for name in named { (parts::word(name)) " " } }
                    }
                    @if let Some(href) = call("") { p { a href=(href) { "Call a method of it" } } }
                }
                Methods::Guarded(guard, can) => {
                    p.note { "Code has made it. This is its guard, as it was when it first left the code: what is called otherwise is refused there." }
                    div.wide tabindex="0" role="region" aria-labelledby="methods" {
                        table {
                            thead { tr {
                                th scope="col" { "Method" } th scope="col" { "Takes" } th scope="col" { "Gives" }
                            } }
                            tbody {
                                @for (name, method) in &guard.methods {
                                    @let name = name.to_str_lossy().into_owned();
                                    @if can.contains(&name) { (guarded(&name, method, call(&name))) }
                                }
                            }
                        }
                    }
                    @if guard.default_guards.is_some() { p.note { "It may have other methods, whose arguments are not described." } }
                }
                Methods::Known(facet, can) => {
                    div.wide tabindex="0" role="region" aria-labelledby="methods" {
                        table {
                            thead { tr {
                                th scope="col" { "Method" } th scope="col" { "Takes" } th scope="col" { "Effect" }
                                th scope="col" { "What it does" }
                            } }
                            tbody {
                                @for method in can.iter().filter_map(|name| facet.methods.get(name)) {
                                    tr {
                                        th scope="row" {
                                            @match call(method.name) {
                                                Some(href) => a href=(href) aria-label={ "Call " (method.name) } { code { (method.name) } },
                                                None => code { (method.name) },
                                            }
                                        }
                                        td {
                                            @if method.params.is_empty() { "nothing" }
                                            @for (at, param) in method.params.iter().enumerate() {
                                                @if at > 0 { "; " }
                                                code { (param.name) } ": " (parts::word(&param.shape.pattern().describe()))
                                                @match param.presence {
                                                    Presence::Required => {}
                                                    Presence::Optional => { ", or nothing" }
                                                    Presence::Rest => { ", as many as there are" }
                                                }
                                            }
                                        }
                                        td { (method.effect.as_words()) }
                                        td { (method.says) }
                                    }
                                }
                            }
                        }
                    }
                }
            }
        }
    }
}

/// One row: a method of code's, what it takes and what it gives.
fn guarded(name: &str, method: &MethodGuard<FormulaId>, href: Option<String>) -> Markup {
    let optional = method.optional.iter().flatten();
    html! {
        tr {
            th scope="row" {
                @let shown = parts::line(&Untrusted::new(name));
                @match href { Some(href) => a href=(href) aria-label={ "Call " (visible_line(name)) } { (shown) }, None => (shown) }
            }
            td {
                @if method.args.is_empty() && method.optional.is_none() && method.rest.is_none() { "nothing" }
                ol.args {
                    @for one in &method.args { li { (takes(one)) } }
                    @for one in optional { li { (takes(one)) ", or nothing" } }
                    @if let Some(rest) = &method.rest { li { "further: " (takes(rest)) } }
                }
            }
            td { (takes(&method.returns)) @if method.kind == CallKind::Async { ", later" } }
        }
    }
}

/// What a guard lets through, in words.
fn takes(guard: &ArgGuard<FormulaId>) -> Markup {
    html! {
        @match guard {
            ArgGuard::Pattern(pattern) => (parts::line(&Untrusted::new(pattern.describe()))),
            ArgGuard::Await(pattern) => { (parts::line(&Untrusted::new(pattern.describe()))) ", or a promise of it" }
            ArgGuard::Raw => "anything",
        }
    }
}
