//! What endowed code keeps for itself: data under names of its own, as long as the code is there.

use super::args::Args;
use super::plan::{Plan, Then};
use super::refusal::Refusal;
use crate::code;
use crate::command::{Act, CodeAct, Fault};
use crate::hub::View;
use crate::id::FormulaId;
use crate::proposal::Value;
use crate::txn::ReadTxn;

/// What comes of a call; `None` if it is another call. Nobody but the code itself has it.
pub(super) fn plan(
    txn: &mut dyn ReadTxn,
    view: &View,
    eval: &FormulaId,
    method: &str,
    args: Args<'_>,
) -> Result<Option<Plan>, Refusal> {
    if view.agent != *eval {
        return Err(Fault::NotHeld(*eval).into());
    }
    let keep = |name: String, value: Option<Value>| {
        let act = CodeAct::Keep { eval: *eval, name, value };
        Plan::act(*eval, Act::Code(act), Then::Nothing)
    };
    Ok(Some(match method {
        "get" => Plan::Value(code::kept(txn, eval, &args.text(0)?)?.unwrap_or(Value::Undefined)),
        "has" => Plan::Value(Value::bool(code::kept(txn, eval, &args.text(0)?)?.is_some())),
        "list" => {
            let names = code::kept_names(txn, eval)?;
            Plan::Value(Value::array(names.into_iter().map(Value::string)))
        }
        "set" => keep(args.text(0)?, Some(args.get(1).cloned().unwrap_or(Value::Undefined))),
        "delete" => keep(args.text(0)?, None),
        _ => return Ok(None),
    }))
}
