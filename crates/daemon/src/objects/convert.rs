//! The conversion of values between the store and the switchboard. References are formulas in the store, and live
//! references in the switchboard.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::facet::{self, Live};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, table};
use passable::{Remote, Text, Value};

/// Returns the same value with every reference replaced by the result of `exchange`. The second argument of
/// `exchange` tells whether the reference is a promise.
///
/// # Errors
/// The errors of `exchange`.
pub fn rebuild<C, D, E>(
    value: &Value<C>,
    exchange: &mut impl FnMut(&Remote<C>, bool) -> Result<Remote<D>, E>,
) -> Result<Value<D>, E> {
    Ok(match value {
        Value::Remotable(remote) => Value::Remotable(Arc::new(exchange(remote, false)?)),
        Value::Promise(remote) => Value::Promise(Arc::new(exchange(remote, true)?)),
        Value::Array(array) => {
            let all = array.iter().map(|value| rebuild(value, exchange)).collect::<Result<Vec<_>, E>>()?;
            Value::array(all)
        }
        Value::Record(record) => {
            let fields = record
                .iter()
                .map(|(name, value)| Ok((name.clone(), rebuild(value, exchange)?)))
                .collect::<Result<Vec<(Text, _)>, E>>()?;
            // The fields are the same, so the record cannot become invalid.
            Value::try_record(fields).unwrap_or_else(|_| Value::too_deep())
        }
        Value::Tagged(tagged) => Value::tagged(tagged.tag().clone(), rebuild(tagged.payload(), exchange)?),
        Value::Undefined => Value::Undefined,
        Value::Null => Value::Null,
        Value::Bool(value) => Value::Bool(*value),
        Value::Number(value) => Value::Number(*value),
        Value::BigInt(value) => Value::BigInt(value.clone()),
        Value::String(value) => Value::String(value.clone()),
        Value::Bytes(value) => Value::Bytes(value.clone()),
        Value::Symbol(value) => Value::Symbol(value.clone()),
        Value::Error(value) => Value::Error(value.clone()),
    })
}

/// Returns a value of the store, with each formula wrapped in [`Live::Formula`].
pub fn to_live(value: &kernel::Value) -> Value<Live> {
    value.map_references(&mut |id| Live::Formula(*id))
}

/// The interface names of the objects in a value.
pub type Interfaces = BTreeMap<FormulaId, &'static str>;

/// Returns the interface names of those objects in a value that do not name their own.
///
/// # Errors
/// When the store fails.
pub fn interfaces(txn: &mut dyn ReadTxn, value: &Value<Live>) -> Result<Interfaces, StoreFault> {
    let mut unsaid = Vec::new();
    collect_unnamed(value, &mut unsaid);
    let mut found = Interfaces::new();
    for id in unsaid {
        if !found.contains_key(&id)
            && let Some(reached) = table::reach(txn, &id)?
        {
            found.insert(id, facet::facet(reached.formula.kind()).name);
        }
    }
    Ok(found)
}

fn collect_unnamed(value: &Value<Live>, found: &mut Vec<FormulaId>) {
    match value {
        Value::Remotable(remote) if remote.iface.is_none() => {
            if let Live::Formula(id) = remote.reference {
                found.push(id);
            }
        }
        Value::Array(array) => array.iter().for_each(|value| collect_unnamed(value, found)),
        Value::Record(record) => record.iter().for_each(|(_, value)| collect_unnamed(value, found)),
        Value::Tagged(tagged) => collect_unnamed(tagged.payload(), found),
        _ => {}
    }
}
