//! The methods of an object, as recorded when it was made.

use std::collections::BTreeSet;

use control::exit::Failure;
use control::inspect::FormulaView;
use control::protocol::Look;
use control::view::PromiseState;
use kernel::facet::{Facet, Method, Presence, Support, facet};
use kernel::grant::EVERY_METHOD;
use kernel::{FormulaId, Value};
use maud::{Markup, html};
use passable::{ArgGuard, CallKind, Effect, InterfaceGuard, MethodGuard, Untrusted, visible_line};

use crate::page::{link, parts, table};
use crate::page_request::{PageRequest, take};

/// The type of objects that code has made.
const OF_CODE: &str = "export";

/// The methods of an object, by its maker.
pub enum Methods {
    /// The methods of an object that Almoner made. The list has the names of those that may be called.
    Known(&'static Facet, Vec<&'static str>),
    /// The methods of an object that code has made with a guard. The list has the names of those that may be called.
    Guarded(Box<InterfaceGuard<FormulaId>>, Vec<String>),
    /// An object whose methods only its code knows. If a grant names methods, the set contains them.
    OfCode(BTreeSet<String>),
}

impl Methods {
    /// Returns the methods of a formula, or of the object that a promise was fulfilled with. `None` if it has no
    /// methods.
    ///
    /// # Errors
    /// When the daemon does not answer.
    pub fn of(asked: &PageRequest, view: &FormulaView) -> Result<Option<Methods>, Failure> {
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
        // A read-only object refuses every change.
        let fits = |effect: Effect| effect == Effect::Observe || !view.called.read_only;
        let can = own
            .methods
            .values()
            .filter(|method| method.support == Support::Full && fits(method.effect) && allows(method.name));
        let can: Vec<_> = can.map(|method| method.name).collect();
        Ok((!can.is_empty()).then_some(Methods::Known(own, can)))
    }

    /// Returns a table of the methods. If the object has a name, each method has a link to a form that calls it.
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
                    @let rows = guard.methods.iter().filter_map(|(name, method)| {
                        let name = name.to_str_lossy().into_owned();
                        can.contains(&name).then(|| guarded(&name, method, call(&name)))
                    });
                    (table::table(TABLE, &["Method", "Takes", "Gives"], rows))
                    @if guard.default_guards.is_some() { p.note { "It may have other methods, whose arguments are not described." } }
                }
                Methods::Known(facet, can) => {
                    @let known = can.iter().filter_map(|name| facet.methods.get(name));
                    @let rows = known.map(|method| self::known(method, call(method.name)));
                    (table::table(TABLE, &["Method", "Takes", "Effect", "What it does"], rows))
                }
            }
        }
    }
}

/// The label of the table.
const TABLE: &str = "Table of methods";

/// Returns the row of one of our own methods, with its parameters and its description.
fn known(method: &Method, href: Option<String>) -> Vec<Markup> {
    let name = html! {
        @match href {
            Some(href) => a href=(href) aria-label={ "Call " (method.name) } { code { (method.name) } },
            None => code { (method.name) },
        }
    };
    let takes = html! {
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
    };
    vec![name, takes, html! { (method.effect.as_words()) }, html! { (method.says) }]
}

/// Returns the row of a method of code, with its arguments and its result.
fn guarded(name: &str, method: &MethodGuard<FormulaId>, href: Option<String>) -> Vec<Markup> {
    let optional = method.optional.iter().flatten();
    let shown = parts::line(&Untrusted::new(name));
    let called = html! {
        @match href {
            Some(href) => a href=(href) aria-label={ "Call " (visible_line(name)) } { (shown) },
            None => (shown),
        }
    };
    let takes_all = html! {
        @if method.args.is_empty() && method.optional.is_none() && method.rest.is_none() { "nothing" }
        ol.args {
            @for one in &method.args { li { (takes(one)) } }
            @for one in optional { li { (takes(one)) ", or nothing" } }
            @if let Some(rest) = &method.rest { li { "further: " (takes(rest)) } }
        }
    };
    let gives = html! { (takes(&method.returns)) @if method.kind == CallKind::Async { ", later" } };
    vec![called, takes_all, gives]
}

/// Returns the values that a guard accepts, in words.
fn takes(guard: &ArgGuard<FormulaId>) -> Markup {
    html! {
        @match guard {
            ArgGuard::Pattern(pattern) => (parts::line(&Untrusted::new(pattern.describe()))),
            ArgGuard::Await(pattern) => { (parts::line(&Untrusted::new(pattern.describe()))) ", or a promise of it" }
            ArgGuard::Raw => "anything",
        }
    }
}
