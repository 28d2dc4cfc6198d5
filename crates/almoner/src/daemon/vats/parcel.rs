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
    /// Who wrote it: it runs beside that agent's code, and no other.
    pub agent: Number,
    /// The code.
    pub source: String,
    /// The names in the code, in order.
    pub names: Vec<String>,
    /// What they stand for, in the same order.
    pub values: Vec<passable::Value<Slot>>,
}

/// Whether parked code can run.
#[derive(Debug)]
pub enum Parked {
    /// With this.
    Ready(Box<Parcel>),
    /// Not before this promise is settled.
    Waits(FormulaId),
    /// Not in this version: it holds what can act. Or it is gone.
    Never,
}

/// Whether parked code can run, and with what.
///
/// # Errors
/// When the store cannot be read.
pub fn of(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Parked, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, result, .. }) = row else { return Ok(Parked::Never) };
    let Some(delivery) = table::eval(txn, eval)?.map(|row| row.delivery) else { return Ok(Parked::Never) };
    let asker = table::formula(txn, &result)?.map(|row| row.formula);
    let Some(Formula::Promise { asker, .. }) = asker else { return Ok(Parked::Never) };
    let agent = delivery.map_or(asker, |delivery| Number(delivery.guest.number));
    let (mut names, mut values) = (Vec::new(), Vec::new());
    for (name, id) in endowments {
        match data(txn, &id)? {
            Stands::For(value) => {
                let Ok(value) = value.try_map_references(&mut |_: &FormulaId| Err::<Slot, ()>(())) else {
                    return Ok(Parked::Never);
                };
                names.push(name);
                values.push(value);
            }
            Stands::Open(promise) => return Ok(Parked::Waits(promise)),
            Stands::Otherwise => return Ok(Parked::Never),
        }
    }
    let source = source.raw().to_owned();
    Ok(Parked::Ready(Box::new(Parcel { eval: *eval, agent, source, names, values })))
}

/// What a name in code stands for.
enum Stands {
    /// For data.
    For(Value),
    /// For whatever this promise comes to.
    Open(FormulaId),
    /// For something that can act, or for nothing any more.
    Otherwise,
}

fn data(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Stands, StoreFault> {
    let mut id = *id;
    for _ in 0..DEEPEST {
        let Some(reached) = table::reach(txn, &id)? else { break };
        let value = match reached.formula {
            Formula::Marshal { value } => value,
            Formula::Promise { .. } => match table::promise(txn, &reached.id)? {
                Some(PromiseRow::Fulfilled { value }) => value,
                Some(PromiseRow::Pending) => return Ok(Stands::Open(reached.id)),
                _ => break,
            },
            _ => break,
        };
        match value.as_reference() {
            None if value.references().is_empty() => return Ok(Stands::For(value)),
            None => break,
            Some(next) => id = *next,
        }
    }
    Ok(Stands::Otherwise)
}
