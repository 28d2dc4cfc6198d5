//! Evaluate: code over values that an agent holds. The code is queued until a vat has run it to its end.

use std::collections::BTreeMap;

use passable::Untrusted;

use crate::command::{AgentKind, Fault, ProvideAgent, Reply};
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, Number};
use crate::message::{Answer, Body};
use crate::modules::Modules;
use crate::name::NamePath;
use crate::proposal::Value;
use crate::run::{Delivery, ResultGoesTo, RunOutcome};
use crate::state::{Gift, State};
use crate::table::{self, EvalRow, PromiseRow, Task};
use crate::txn::{NO_OWNER, Table};

use super::call::{Call, ask, asker, attach, wrong_kind};
use super::edge_names::check_edges;

/// The name of the one endowment of a program of modules.
const POWERS: &str = "powers";

/// The special name for empty powers.
const NOTHING: &str = "@none";

/// Code, and the formulas for which its names stand.
pub(super) struct Code {
    pub(super) source: Untrusted,
    /// The modules of the program. `None` for code that is text.
    pub(super) modules: Option<Modules>,
    pub(super) ids: BTreeMap<String, FormulaId>,
    /// The name of the vat in which the code runs. `None` means the actor's own vat.
    pub(super) vat: Option<NamePath>,
    pub(super) source_message: Option<MessageNumber>,
    /// The author. `None` means the guest that receives the result or, without one, the actor.
    pub(super) author: Option<Number>,
    /// The patterns, by name, that the values of promised endowments must match.
    pub(super) expects: BTreeMap<String, Value>,
}

/// Endows code: makes grants for the code's names, a promise for its result, and a row that queues the code to run.
pub(super) fn park(
    state: &mut State<'_>,
    code: Code,
    delivery: Option<Delivery>,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let eval = state.fresh_id();
    let vat = vat(state, code.vat.as_ref())?;
    let mut endowments = BTreeMap::new();
    for (name, id) in &code.ids {
        let gift =
            Gift { own: delivery.is_none(), ..Gift::plain(eval, name).because_of(code.source_message) };
        endowments.insert(name.clone(), state.give(id, &gift)?);
    }
    let me = state.me();
    let (promise, _) = state.new_promise(me, None)?;
    if let Some(path) = result_name {
        let spot = state.own_spot(path)?;
        state.name(&spot, &promise)?;
    }
    let said = state.said()?;
    let author = code.author.unwrap_or_else(|| delivery.map_or(me, |given| Number(given.guest.number)));
    if let Some(modules) = &code.modules {
        state.note_blob(modules.hash, modules.bytes, &said)?;
    }
    let Code { source, modules, expects, .. } = code;
    let formula = Formula::Eval { source, endowments, vat, result: promise, author, modules };
    state.put_formula(eval, formula, said)?;
    let outbox = state.post_for_root(Task::Eval { eval })?;
    let row = EvalRow { outbox, delivery, expects };
    table::save(state.txn, Table::Meta, &NO_OWNER, &table::eval_key(&eval), &row, None)?;
    let root = state.endo();
    state.tie(&root, "eval", &eval)?;
    let actor = state.actor;
    state.keep_parties(&eval, &actor, delivery.as_ref())?;
    Ok(Reply::CodeQueued { eval, promise })
}

fn vat(state: &mut State<'_>, path: Option<&NamePath>) -> Result<FormulaId, Fault> {
    if let Some(path) = path {
        let id = state.find(path)?;
        return match state.through(&id, "evaluate")?.1 {
            // If the vat was granted, the code refers to the grant and not to the vat itself.
            Formula::Vat { .. } => Ok(id),
            _ => Err(Fault::Misfit { what: "Cannot evaluate using non-worker".to_owned() }),
        };
    }
    let actor = state.actor;
    match state.formula(&actor)? {
        Formula::Host { main, .. } => Ok(main),
        _ => state.make(Formula::Vat { label: "guest".to_owned() }, crate::provenance::Provenance::host()),
    }
}

/// Returns the formulas for which the actor's names stand at this moment.
fn fixed(
    state: &mut State<'_>,
    names: &[String],
    paths: &[NamePath],
) -> Result<BTreeMap<String, FormulaId>, Fault> {
    check_edges(names, paths.len())?;
    names.iter().zip(paths).map(|(name, path)| Ok((name.clone(), state.resolve(path)?))).collect()
}

pub(super) fn evaluate(
    state: &mut State<'_>,
    vat: Option<&NamePath>,
    source: Untrusted,
    names: Vec<String>,
    paths: Vec<NamePath>,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let ids = fixed(state, &names, &paths)?;
    let vat = vat.cloned();
    park(
        state,
        Code {
            author: None,
            expects: BTreeMap::new(),
            source,
            modules: None,
            ids,
            vat,
            source_message: None,
        },
        None,
        result_name,
    )
}

/// Runs a program of modules. Its powers are the object for which one of the actor's names stands.
pub(super) fn make(
    state: &mut State<'_>,
    vat: Option<&NamePath>,
    modules: Modules,
    powers: Option<&NamePath>,
    new_guest: bool,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    state.hosts_only("make programs of modules")?;
    if let Some(what) = modules.complaint() {
        return Err(Fault::Misfit { what });
    }
    let powers = match powers {
        None => state.resolve(&NamePath::new([NOTHING])?)?,
        Some(path) => match state.resolve(path) {
            Err(Fault::UnknownName(_)) if new_guest => guest(state, path)?,
            found => found?,
        },
    };
    let ids = BTreeMap::from([(POWERS.to_owned(), powers)]);
    let (source, vat) = (Untrusted::new(""), vat.cloned());
    park(
        state,
        Code {
            author: None,
            expects: BTreeMap::new(),
            source,
            modules: Some(modules),
            ids,
            vat,
            source_message: None,
        },
        None,
        result_name,
    )
}

/// Makes a guest that has only its own parts, and gives its powers a name of the actor's. Returns the guest.
fn guest(state: &mut State<'_>, path: &NamePath) -> Result<FormulaId, Fault> {
    let act = ProvideAgent {
        kind: AgentKind::Guest,
        name: None,
        agent_name: Some(path.clone()),
        introduced: vec![],
    };
    match crate::commands::provide::provide(state, act)? {
        Reply::Agent { agent, .. } => Ok(agent),
        _ => Err(Fault::UnknownName(format!("{:?}", path.to_string()))),
    }
}

pub(super) fn request_evaluation(
    state: &mut State<'_>,
    source: Untrusted,
    names: Vec<String>,
    paths: Vec<NamePath>,
    result_name: Option<&NamePath>,
) -> Result<Reply, Fault> {
    let mut call = Call::of("request-evaluation");
    call.part(source.raw().as_bytes());
    call.data(&(&names, &paths))?;
    if let Some(reply) = attach(state, result_name, &call)? {
        return Ok(reply);
    }
    let ids = fixed(state, &names, &paths)?;
    let actor = state.actor;
    let host = match state.formula(&actor)? {
        Formula::Host { host, .. } | Formula::Guest { host, .. } => state.agent_of(&host)?,
        _ => return Err(Fault::Dangling(actor)),
    };
    let ids = names.iter().filter_map(|name| ids.get(name).copied()).collect();
    ask(state, &host, &call, result_name, |promise, resolver| Body::EvalRequest {
        source,
        names,
        ids,
        promise,
        resolver,
    })
}

/// Agrees to a requested evaluation, on behalf of a host.
pub(super) fn grant(
    state: &mut State<'_>,
    number: MessageNumber,
    goes_to: ResultGoesTo,
) -> Result<Reply, Fault> {
    state.hosts_only("agree to an evaluation")?;
    let mut letter = state.received(number, "only who was asked can agree")?;
    let Body::EvalRequest { source, names, ids, promise, .. } = letter.message.body.clone() else {
        return Err(wrong_kind(number, &letter.message.body, "it asks for no evaluation"));
    };
    if letter.mail.answers.contains_key(&0) {
        return Ok(Reply::AlreadySettled);
    }
    let guest = asker(state, &promise)?;
    let delivery = Delivery { guest, promise, goes_to, message: number };
    let mut ids: BTreeMap<String, FormulaId> = names.into_iter().zip(ids).collect();
    if planted!(state.env, NameResolvedLate) {
        for (name, id) in &mut ids {
            *id = state.view().identify(state.txn, &NamePath::new([name.clone()])?).unwrap_or(*id);
        }
    }
    let reply = park(
        state,
        Code {
            author: None,
            expects: BTreeMap::new(),
            source,
            modules: None,
            ids,
            vat: None,
            source_message: Some(number),
        },
        Some(delivery),
        None,
    )?;
    let at_ms = state.env.now_ms();
    state.mark_answered(&mut letter, Answer::Approved { for_run: false, at_ms })?;
    Ok(reply)
}

/// Returns the row of endowed code, or `None` if the code already has an outcome.
fn eval_row(state: &mut State<'_>, eval: &FormulaId) -> Result<Option<EvalRow>, Fault> {
    Ok(table::eval(state.txn, eval)?)
}

/// Records the outcome of endowed code. A second outcome changes nothing.
pub(crate) fn evaluated(
    state: &mut State<'_>,
    eval: &FormulaId,
    outcome: &RunOutcome,
) -> Result<Reply, Fault> {
    let Some(row) = eval_row(state, eval)? else { return Ok(Reply::AlreadySettled) };
    let Formula::Eval { result, .. } = state.formula(eval)? else { return Err(Fault::Dangling(*eval)) };
    if let RunOutcome::Done(value) = outcome {
        state.expect_held_by(eval, value)?;
    }
    // The endower passes the result on, even if another actor reports the end.
    let endower = asker(state, &result)?;
    let actor = std::mem::replace(&mut state.actor, endower);
    let done = end(state, eval, &result, row, outcome);
    state.actor = actor;
    done
}

fn end(
    state: &mut State<'_>,
    eval: &FormulaId,
    result: &FormulaId,
    row: EvalRow,
    outcome: &RunOutcome,
) -> Result<Reply, Fault> {
    state.txn.delete(Table::Meta, &NO_OWNER, &table::eval_key(eval))?;
    // The journal of the code gets no more entries.
    crate::code::write::forget_marks(state.txn, eval)?;
    crate::agent_journal::write::forget_sends(state.txn, eval, None, false)?;
    state.unpost_for_root(row.outbox)?;
    let root = state.endo();
    state.untie(&root, "eval", eval)?;
    let provenance = state.provenance_of(eval)?;
    let settled = match outcome {
        RunOutcome::Done(value) => PromiseRow::Fulfilled { value: value.clone() },
        RunOutcome::Failed(trouble) => PromiseRow::Rejected { reason: trouble.message.raw().to_owned() },
    };
    state.settle_with(result, settled)?;
    if let RunOutcome::Failed(trouble) = outcome {
        let why = format!("the code that made it failed: {}", trouble.code);
        crate::commands::give_up(state, eval, &why)?;
    }
    if let Some(delivery) = row.delivery {
        super::share(state, &delivery, outcome, &provenance)?;
    }
    let endower = state.actor;
    state.let_parties_go(eval, &endower, row.delivery.as_ref())?;
    Ok(Reply::Done)
}

/// Ends endowed code that has not ended yet. Returns `false` if it has.
pub(crate) fn park_cancelled(
    state: &mut State<'_>,
    eval: &FormulaId,
    outcome: &RunOutcome,
) -> Result<bool, Fault> {
    if eval_row(state, eval)?.is_none() {
        return Ok(false);
    }
    evaluated(state, eval, outcome)?;
    Ok(true)
}
