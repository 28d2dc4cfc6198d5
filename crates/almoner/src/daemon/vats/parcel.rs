//! What is needed to run parked code.

use kernel::formula::Formula;
use kernel::table::{self, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, Number, Value};
use vat::Slot;

/// How many references are followed to one value.
const DEEPEST: usize = 16;

/// Parked code, and all that it is run with.
#[derive(Debug)]
pub struct Parcel {
    /// The code's formula.
    pub eval: FormulaId,
    /// Whose code it is.
    pub agent: Number,
    /// The code.
    pub source: String,
    /// The names in the code, in order.
    pub names: Vec<String>,
    /// What they stand for, in the same order.
    pub values: Vec<passable::Value<Slot>>,
}

/// What is needed to run it. `None` if it cannot run yet: what it was endowed with is not all data, or has gone.
///
/// # Errors
/// When the store cannot be read.
pub fn of(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<Parcel>, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, result, .. }) = row else { return Ok(None) };
    let asker = table::formula(txn, &result)?.map(|row| row.formula);
    let Some(Formula::Promise { asker: agent, .. }) = asker else { return Ok(None) };
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, id) in endowments {
        let Some(value) = data(txn, &id)? else { return Ok(None) };
        let Ok(value) = value.try_map_references(&mut |_: &FormulaId| Err::<Slot, ()>(())) else {
            return Ok(None);
        };
        names.push(name);
        values.push(value);
    }
    Ok(Some(Parcel { eval: *eval, agent, source: source.raw().to_owned(), names, values }))
}

/// The data that a reference leads to, if that is what it leads to.
fn data(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<Value>, StoreFault> {
    let mut id = *id;
    for _ in 0..DEEPEST {
        let Some(reached) = table::reach(txn, &id)? else { return Ok(None) };
        let value = match reached.formula {
            Formula::Marshal { value } => value,
            Formula::Promise { .. } => match table::promise(txn, &reached.id)? {
                Some(PromiseRow::Fulfilled { value }) => value,
                _ => return Ok(None),
            },
            _ => return Ok(None),
        };
        match value.as_reference() {
            None if value.references().is_empty() => return Ok(Some(value)),
            None => return Ok(None),
            Some(next) => id = *next,
        }
    }
    Ok(None)
}
