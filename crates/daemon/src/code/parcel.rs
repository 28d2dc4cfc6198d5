//! What is needed to run parked code.

use kernel::formula::Formula;
use kernel::modules::Modules;
use kernel::table::{self, EvalRow, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, Number, Pattern, Value};

/// How many references are followed to one value.
const DEEPEST: usize = 16;

/// Parked code, and all that it is run with.
#[derive(Clone, Debug)]
pub struct Parcel {
    /// The code's formula.
    pub eval: FormulaId,
    /// Who wrote it: it runs beside that agent's code, and no other.
    pub agent: Number,
    /// The code; empty if it is a program of modules.
    pub source: String,
    /// The program that it is, if it is no text. Its one name stands for its powers.
    pub modules: Option<Modules>,
    /// The names in the code, in order.
    pub names: Vec<String>,
    /// What they stand for, in the same order.
    pub values: Vec<Value>,
}

/// Whether parked code can run.
#[derive(Debug)]
pub enum Parked {
    /// With this.
    Ready(Box<Parcel>),
    /// Not before this promise is settled.
    Waits(FormulaId),
    /// What one of its names stands for has come to nothing: why.
    Broken(Box<Parcel>, String),
    /// It is gone, or has come to its end.
    Gone,
}

/// Whether parked code can run, and with what.
///
/// # Errors
/// When the store cannot be read.
pub fn of(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Parked, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, modules, author, .. }) = row else {
        return Ok(Parked::Gone);
    };
    let Some(EvalRow { expects, .. }) = table::eval(txn, eval)? else { return Ok(Parked::Gone) };
    let source = source.raw().to_owned();
    let mut parcel = Parcel { eval: *eval, agent: author, source, modules, names: vec![], values: vec![] };
    for (name, id) in endowments {
        let value = match stands_for(txn, &id)? {
            Stands::For(value) => value,
            Stands::Open(promise) => return Ok(Parked::Waits(promise)),
            Stands::Broken(why) => {
                return Ok(Parked::Broken(Box::new(parcel), format!("`{name}` stands for nothing: {why}")));
            }
        };
        // What nobody could look at when it was endowed.
        let misfit = expects.get(&name).and_then(|pattern| {
            let pattern = Pattern::from_value(pattern).ok()?;
            pattern.check_named(&format!("slot `{name}`"), &value).err()
        });
        if let Some(misfit) = misfit {
            return Ok(Parked::Broken(Box::new(parcel), misfit.to_string()));
        }
        parcel.names.push(name);
        parcel.values.push(value);
    }
    Ok(Parked::Ready(Box::new(parcel)))
}

/// The code of a formula, whether or not it has come to its end, with its names and without what they stand for.
///
/// # Errors
/// When the store cannot be read.
pub fn again(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<Parcel>, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, modules, result, .. }) = row else { return Ok(None) };
    // What was cut off goes no further, whoever calls what it had made.
    if let Some(PromiseRow::Rejected { .. }) = table::promise(txn, &result)? {
        return Ok(None);
    }
    Ok(Some(Parcel {
        eval: *eval,
        agent: Number(eval.number),
        source: source.raw().to_owned(),
        modules,
        names: endowments.into_keys().collect(),
        values: vec![],
    }))
}

/// What a name in code stands for.
enum Stands {
    /// For this.
    For(Value),
    /// For whatever this promise comes to.
    Open(FormulaId),
    /// For nothing, and why.
    Broken(String),
}

fn stands_for(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Stands, StoreFault> {
    let mut id = *id;
    for _ in 0..DEEPEST {
        let Some(reached) = table::reach(txn, &id)? else {
            return Ok(Stands::Broken("it is gone".to_owned()));
        };
        let value = match reached.formula {
            Formula::Marshal { value } if reached.grants.is_empty() => value,
            Formula::Promise { .. } => match table::promise(txn, &reached.id)? {
                Some(PromiseRow::Fulfilled { value }) => value,
                Some(PromiseRow::Pending) => return Ok(Stands::Open(reached.id)),
                Some(PromiseRow::Rejected { reason }) => return Ok(Stands::Broken(reason)),
                None => return Ok(Stands::Broken("the promise is gone".to_owned())),
            },
            // What can act is used through the grant, which says what is left of it.
            _ => return Ok(Stands::For(Value::remotable(id))),
        };
        match value.as_reference() {
            None => return Ok(Stands::For(value)),
            Some(next) => id = *next,
        }
    }
    Ok(Stands::Broken("it leads on and on".to_owned()))
}
