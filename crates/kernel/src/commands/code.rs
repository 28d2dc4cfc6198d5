//! Code: records the messages that endowed code sends and hears, and applies each of its commands only once.

use journal::record;
use passable::Untrusted;

use crate::code::{self, Mark, Origin, Reference};
use crate::command::{Act, CodeAct, ExportedObject, Fault, NameAct, Reply};
use crate::formula::Formula;
use crate::grant_usage;
use crate::id::{FormulaId, Number};
use crate::model::reply::Then;
use crate::proposal::Value;
use crate::provenance::{Provenance, Source};
use crate::run::{RunOutcome, Trouble};
use crate::state::code_owner::{expect_code, own_code_of};
use crate::state::{State, collector};
use crate::table;

mod give;
mod journal;
mod promise;

pub(crate) use journal::strip_code;
pub(crate) use promise::give_up;

/// The maximum number of names under which code may keep values.
const MAX_KEPT_NAMES: usize = 256;

/// The maximum size of a value that code keeps, in bytes.
const MAX_VALUE_BYTES: usize = 64 << 10;

/// The maximum length of the name of a kept value or of an engine, in bytes.
const MAX_LEN: usize = 255;

pub(crate) fn code(state: &mut State<'_>, act: CodeAct) -> Result<Reply, Fault> {
    state.daemon_only("say what code does")?;
    match act {
        CodeAct::Record { eval, from, entries } => record(state, &eval, from, entries),
        CodeAct::Do { eval, send, actor, then, reach, act } => {
            perform(state, CodeCaller { eval, send, actor }, then, *reach, *act)
        }
        CodeAct::Export { eval, objects } => export(state, &eval, objects),
        CodeAct::Promise { eval, promises } => promise::promise(state, &eval, &promises),
        CodeAct::Settle { eval, settled } => promise::settle(state, &eval, settled),
        CodeAct::Remake { eval, engine } => remake(state, &eval, &engine),
        CodeAct::Give { giver, id, through, to, name } => give::give(state, giver, id, through, to, &name),
        CodeAct::Keep { eval, name, value } => keep(state, &eval, &name, value),
        CodeAct::Cancel { eval, reason } => cancel(state, &eval, &reason),
        CodeAct::Use { used } => {
            for (grant, later) in used {
                // A grant that no longer exists has no usage record.
                if table::grant(state.txn, &grant)?.is_some() {
                    grant_usage::write::add(state.txn, &grant, later)?;
                }
            }
            Ok(Reply::Done)
        }
    }
}

/// The code, the number of its send, and the actor.
struct CodeCaller {
    eval: FormulaId,
    send: Option<u32>,
    actor: FormulaId,
}

fn perform(
    state: &mut State<'_>,
    CodeCaller { eval, send, actor }: CodeCaller,
    then: Then,
    reach: Reference,
    act: Act,
) -> Result<Reply, Fault> {
    expect_code(state, &eval)?;
    if let Some(send) = send {
        let origin = Origin { eval, send };
        // The send was applied before. The caller that repeats it did not check this.
        if code::mark(state.txn, &origin)?.is_some() {
            return Ok(Reply::AlreadySettled);
        }
    }
    if collector::is_going(state.txn, &actor)? {
        return Err(Fault::Dangling(actor));
    }
    let itself = actor == eval
        && matches!(
            act,
            Act::Name(NameAct::Within { .. }) | Act::Code(CodeAct::Keep { .. } | CodeAct::Cancel { .. })
        );
    if !itself && state.head(&actor)?.agent().is_none() {
        let what = "code acts through what it was endowed with, and has no names of its own";
        return Err(Fault::NotAllowed(what.to_owned()));
    }
    let ends = matches!(act, Act::Code(CodeAct::Cancel { .. }));
    let reply = match act {
        Act::Code(CodeAct::Keep { eval: of, name, value }) if of == eval => keep(state, &eval, &name, value)?,
        Act::Code(CodeAct::Cancel { eval: of, reason }) if of == eval => cancel(state, &eval, &reason)?,
        Act::Code(_) => return Err(Fault::NotAllowed("code says nothing of other code".to_owned())),
        act => {
            let daemon = std::mem::replace(&mut state.actor, actor);
            let reply = super::run(state, act)?;
            state.actor = daemon;
            reply
        }
    };
    // Code that has ended itself gets no answers.
    if let Some(send) = send.filter(|_| !ends) {
        let mark = Mark { reach, then, reply: reply.clone() };
        code::write::mark(state.txn, &Origin { eval, send }, &mark)?;
    }
    Ok(reply)
}

fn export(state: &mut State<'_>, eval: &FormulaId, objects: Vec<ExportedObject>) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    let owner = own_code_of(state, eval)?;
    for ExportedObject { number, interface, guard } in objects {
        let id = code::export_id(eval, number);
        if table::formula(state.txn, &id)?.is_none() {
            let said = Provenance::of(Source::Agent(Number(eval.number)));
            let guard = guard.filter(is_guard);
            let formula = Formula::Export { eval: *eval, number, interface, guard, holder: owner };
            state.put_formula(id, formula, said)?;
        }
        state.hold(&Number(eval.number), &id, b"x", b"")?;
        if let Some(agent) = owner {
            state.hold(&agent, &id, b"x", b"")?;
        }
    }
    Ok(Reply::Done)
}

/// Returns whether a value is a guard that can be kept. Such a guard refers to nothing and is not too long.
fn is_guard(value: &Value) -> bool {
    passable::InterfaceGuard::from_value(value).is_ok()
        && value.references().is_empty()
        && passable::smallcaps::encode(value).body.len() <= MAX_VALUE_BYTES
}

/// Ends code at its own request, unless the code has already ended.
fn cancel(state: &mut State<'_>, eval: &FormulaId, reason: &Untrusted) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    let why = if reason.raw().is_empty() { "it cancelled itself" } else { reason.raw() };
    let outcome = RunOutcome::Failed(Trouble {
        code: "vat/cancelled".to_owned(),
        message: Untrusted::new(why),
        help: "start it again if you want it after all".to_owned(),
    });
    Ok(match super::mail::park_cancelled(state, eval, &outcome)? {
        true => Reply::Done,
        false => Reply::AlreadySettled,
    })
}

fn remake(state: &mut State<'_>, eval: &FormulaId, engine: &str) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    if engine.len() > MAX_LEN {
        return Err(Fault::Misfit { what: format!("an engine has a name of at most {MAX_LEN} bytes") });
    }
    code::write::remake(state.txn, eval, engine)?;
    Ok(Reply::Done)
}

fn keep(state: &mut State<'_>, eval: &FormulaId, name: &str, value: Option<Value>) -> Result<Reply, Fault> {
    expect_code(state, eval)?;
    if name.len() > MAX_LEN {
        return Err(Fault::Misfit { what: format!("a name in `state` has at most {MAX_LEN} bytes") });
    }
    if let Some(value) = &value {
        if !value.references().is_empty() {
            return Err(Fault::Misfit { what: "`state` keeps data, and no objects".to_owned() });
        }
        if passable::smallcaps::encode(value).body.len() > MAX_VALUE_BYTES {
            return Err(Fault::Misfit {
                what: format!("`state` keeps values of at most {MAX_VALUE_BYTES} bytes"),
            });
        }
        let is_new = code::kept_value(state.txn, eval, name)?.is_none();
        if is_new && code::kept_names(state.txn, eval)?.len() >= MAX_KEPT_NAMES {
            return Err(Fault::Misfit { what: format!("`state` keeps at most {MAX_KEPT_NAMES} values") });
        }
    }
    code::write::keep(state.txn, eval, name, value.as_ref())?;
    Ok(Reply::Done)
}
