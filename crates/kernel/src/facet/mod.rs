//! The mapping of Endo's methods: a call on an object becomes a value, a command, or a preparation that must come
//! first. The command line and the wire protocols, which act for agents, all use this module.
//!
//! [`plan`] returns the plan for a call, and [`result`] converts the reply to its command. The caller guarantees that
//! the agent of the [`View`] reaches the target: a reference is authority, an identifier is none. This module changes
//! nothing. A plan reflects the current state, so the command checks the state again. [`Live`] is a reference in an
//! answer: a formula, or a pending event that is no formula.

mod args;
mod files;
mod follow;
mod graph;
mod host;
mod interface;
mod listing;
mod live;
mod locator;
mod mail;
mod methods;
mod modules;
mod names;
mod plan;
mod present;
mod programs;
mod refusal;
mod state;
mod timers;

use passable::Untrusted;
use resource::Resource;

use crate::command::{Act, Cancel, Fault, MailAct};
use crate::formula::Formula;
use crate::id::FormulaId;
use crate::name_lookup::{NameContainer, PathTarget, View};
use crate::proposal::Value;
use crate::table::{self, PromiseRow};
use crate::txn::ReadTxn;

pub use files::{AccessPath, FileCall, FileOp, Part, Way, check_access, part};
pub use follow::{Follow, Names, added, messages, names, removed};
pub use interface::{
    ArgShape, Facet, Foreign, Method, Param, Planning, Presence, Support, facet, is_command, kinds,
    takes_foreign,
};
pub use live::Live;
pub use locator::{BadLocator, Locator};
pub use modules::{MakeModules, ModulesIn, modules_in};
pub use plan::{
    Action, BindDirectory, DrawToken, KeepTree, Need, ObjectCall, ParseWorker, Plan, ReadFormat, Seal,
    StageTree, StartWorker, TakeBytes, Then, result,
};
pub use refusal::Refusal;
pub use timers::Watch;

use args::Args;
use present::Here;

/// Returns the plan for a call of `method` of `target` on behalf of the view's agent.
///
/// # Errors
/// [`Refusal`] when the call is refused. Its texts are upstream's where upstream has one.
pub fn plan(
    txn: &mut dyn ReadTxn,
    view: &View,
    target: &FormulaId,
    method: &str,
    args: &[Value],
) -> Result<Plan, Refusal> {
    let reached = table::reach(txn, target)?.ok_or(Fault::Dangling(*target))?;
    // An object that code has made answers every call itself.
    if let Formula::Export { eval, number, .. } = reached.formula {
        if let Some(finding) = reached.refusal(method, view.now_ms) {
            return Err(Fault::Revoked(finding.message).into());
        }
        let through = reached.grants.iter().map(|grant| grant.id).collect();
        return Ok(Plan::need(Need::Deliver(ObjectCall { eval, number, through })));
    }
    let facet = facet(reached.formula.kind());
    match method {
        "__getMethodNames__" => {
            return Ok(Plan::Value(Value::array(facet.method_names().into_iter().map(Value::string))));
        }
        "__getInterfaceGuard__" => return Ok(Plan::Value(facet.guard().to_value())),
        _ => {}
    }
    let Some(known) = facet.methods.get(method) else {
        return Err(Refusal::NoMethod { method: method.to_owned(), known: facet.method_names() });
    };
    if reached.formula == Formula::LeastAuthority {
        return Err(Refusal::LeastAuthority);
    }
    // For a formula with files, the file operation decides later which granted method it needs. Here only the end of
    // a grant is checked.
    let refusal = match files::has_files(&reached.formula) {
        true => reached.ended(view.now_ms),
        false => reached.refusal(method, view.now_ms),
    };
    if let Some(finding) = refusal {
        return Err(Fault::Revoked(finding.message).into());
    }
    match known.support {
        Support::Full => {}
        Support::NotYet => return Err(Fault::NotSupported(known.name).into()),
        Support::Never(why) => return Err(Fault::NotAllowed(why.to_owned()).into()),
    }
    let args = &settled(txn, args)?;
    facet.check(known, args)?;
    let args = Args(args);
    if method == "help" {
        let about = args.get(0).map(|_| args.text(0)).transpose()?;
        return Ok(Plan::Value(Value::string(facet.help(about.as_deref()))));
    }
    let planned = match &reached.formula {
        // A caller that reaches an agent has the agent's powers: it acts as the agent, with the agent's names.
        Formula::Host { .. } | Formula::Guest { .. } => {
            agent(txn, View { agent: reached.id, now_ms: view.now_ms }, method, args)?
        }
        Formula::Directory { .. } | Formula::MailHub { .. } | Formula::Message { .. } => {
            hub(txn, *view, target, method, args)?
        }
        Formula::Endo { .. } => host::endo(txn, &reached.id, &reached.formula, method)?,
        Formula::Blob { hash, bytes } => match method {
            "sha256" => Some(Plan::need(Need::Digest { hash: *hash })),
            "streamBase64" => Some(Plan::need(Need::Stream { hash: *hash, bytes: *bytes })),
            "json" => names::blob(txn, *view, target, ReadFormat::Json)?,
            _ => names::blob(txn, *view, target, ReadFormat::Text)?,
        },
        Formula::Resource(Resource::Directory { .. }) | Formula::Scratch { .. } | Formula::Tree(_) => {
            let op = files::in_directory(method, args)?;
            op.map(|op| Plan::need(Need::Files(FileCall { target: *target, through: vec![], op })))
        }
        Formula::Timer { .. } => timers::plan(txn, view, target, &reached.formula, method, args)?,
        Formula::Eval { .. } => state::plan(txn, view, &reached.id, method, args)?,
        Formula::Vat { .. } => {
            let act = Act::Cancel { what: Cancel::Vat { vat: *target }, reason: Untrusted::new("") };
            Some(Plan::act(view.agent, act, Then::Nothing))
        }
        Formula::Resolver { .. } => {
            let id = args::held(txn, &view.agent, &args.text(0)?)?;
            let act = MailAct::ResolveWith { resolver: reached.id, id };
            Some(Plan::mail(view.agent, act, Then::Nothing))
        }
        _ => None,
    };
    // Every method that is marked as supported has a plan above. A test checks this.
    planned.ok_or_else(|| Fault::NotSupported(known.name).into())
}

/// Returns the arguments, with each fulfilled promise replaced by its value.
fn settled(txn: &mut dyn ReadTxn, args: &[Value]) -> Result<Vec<Value>, Refusal> {
    let mut all = Vec::with_capacity(args.len());
    for arg in args {
        let mut arg = arg.clone();
        // The value of a promise is normally no promise itself; the limit stops long chains.
        for _ in 0..8 {
            let Value::Promise(promise) = &arg else { break };
            match table::promise(txn, &promise.reference)? {
                Some(PromiseRow::Fulfilled { value }) => arg = value,
                Some(PromiseRow::Rejected { reason }) => return Err(Refusal::Rejected(reason)),
                _ => break,
            }
        }
        all.push(arg);
    }
    Ok(all)
}

fn agent(txn: &mut dyn ReadTxn, view: View, method: &str, args: Args<'_>) -> Result<Option<Plan>, Refusal> {
    let here = Here::at(view, NameContainer::Agent(view.agent));
    let mut place = names::NameView { txn, view, target: view.agent, here };
    if let Some(plan) = place.look(method, args)? {
        return Ok(Some(plan));
    }
    if let Some(plan) = place.change(method, args)? {
        return Ok(Some(plan));
    }
    if let Some(plan) = mail::plan(txn, view.agent, method, args)? {
        return Ok(Some(plan));
    }
    if let Some(plan) = programs::plan(txn, view, method, args)? {
        return Ok(Some(plan));
    }
    if let Some(plan) = modules::plan(txn, view, method, args)? {
        return Ok(Some(plan));
    }
    host::plan(txn, view, method, args)
}

fn hub(
    txn: &mut dyn ReadTxn,
    view: View,
    target: &FormulaId,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    let hub = view.enter(txn, &PathTarget::Formula(*target), method, 0)?;
    // Only the sender and the recipient of a message find anything in it.
    let Some(hub) = hub else { return Err(Fault::NotHeld(*target).into()) };
    if let (NameContainer::Message { number, .. }, "dismiss") = (&hub, method) {
        return Ok(Some(Plan::mail(view.agent, MailAct::Dismiss { number: *number }, Then::Nothing)));
    }
    let mut place = names::NameView { txn, view, target: *target, here: Here::at(view, hub) };
    match place.look(method, args)? {
        Some(plan) => Ok(Some(plan)),
        None => place.change(method, args),
    }
}
