//! The state of endowed code: data that the code stores under names of its choice, for as long as the code exists.
//! The code can also end itself here.

use passable::Untrusted;

use super::args::Args;
use super::plan::{Plan, Then};
use super::refusal::Refusal;
use crate::code;
use crate::command::{Act, CodeAct, Fault};
use crate::id::FormulaId;
use crate::name_lookup::View;
use crate::proposal::Value;
use crate::txn::ReadTxn;

/// Returns the plan for a call on the state of code, or `None` for any other method. Only the code itself may call
/// these methods.
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
        "get" => Plan::Value(code::kept_value(txn, eval, &args.text(0)?)?.unwrap_or(Value::Undefined)),
        "has" => Plan::Value(Value::bool(code::kept_value(txn, eval, &args.text(0)?)?.is_some())),
        "list" => {
            let names = code::kept_names(txn, eval)?;
            Plan::Value(Value::array(names.into_iter().map(Value::string)))
        }
        "set" => keep(args.text(0)?, Some(args.get(1).cloned().unwrap_or(Value::Undefined))),
        "delete" => keep(args.text(0)?, None),
        "cancel" => {
            let reason = match args.get(0) {
                Some(Value::Error(error)) => error.message.to_str_lossy().into_owned(),
                Some(other) => other.as_str().unwrap_or_default().to_owned(),
                None => String::new(),
            };
            let act = CodeAct::Cancel { eval: *eval, reason: Untrusted::new(reason) };
            Plan::act(*eval, Act::Code(act), Then::Nothing)
        }
        _ => return Ok(None),
    }))
}
