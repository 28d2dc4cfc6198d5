//! The job of running queued code: the code, and the values of its names.

use kernel::formula::Formula;
use kernel::modules::Modules;
use kernel::table::{self, EvalRow, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, Number, Pattern, Value};

/// How many references are followed to one value.
const MAX_REFERENCE_DEPTH: usize = 16;

/// Parked code, and all that it is run with.
#[derive(Clone, Debug)]
pub struct CodeJob {
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
    /// The values of the names, in the same order.
    pub values: Vec<Value>,
}

/// Whether parked code can run.
#[derive(Debug)]
pub enum QueuedCode {
    /// With this.
    Ready(Box<CodeJob>),
    /// Not before this promise is settled.
    Waiting(FormulaId),
    /// One of its names has no value, or the wrong one: the reason.
    Broken(Box<CodeJob>, String),
    /// It is gone, or has come to its end.
    Ended,
}

/// Returns whether queued code can run, and the job that runs it.
///
/// # Errors
/// When the store cannot be read.
pub fn load_queued(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<QueuedCode, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, modules, author, .. }) = row else {
        return Ok(QueuedCode::Ended);
    };
    let Some(EvalRow { expects, .. }) = table::eval(txn, eval)? else { return Ok(QueuedCode::Ended) };
    let source = source.raw().to_owned();
    let mut parcel = CodeJob { eval: *eval, agent: author, source, modules, names: vec![], values: vec![] };
    for (name, id) in endowments {
        let value = match resolve_name(txn, &id)? {
            NameValue::Value(value) => value,
            NameValue::Pending(promise) => return Ok(QueuedCode::Waiting(promise)),
            NameValue::Broken(why) => {
                return Ok(QueuedCode::Broken(
                    Box::new(parcel),
                    format!("`{name}` stands for nothing: {why}"),
                ));
            }
        };
        // The value may not have been known when the code was endowed, so it is checked now.
        let misfit = expects.get(&name).and_then(|pattern| {
            let pattern = Pattern::from_value(pattern).ok()?;
            pattern.check_named(&format!("slot `{name}`"), &value).err()
        });
        if let Some(misfit) = misfit {
            return Ok(QueuedCode::Broken(Box::new(parcel), misfit.to_string()));
        }
        parcel.names.push(name);
        parcel.values.push(value);
    }
    Ok(QueuedCode::Ready(Box::new(parcel)))
}

/// Returns the code of a formula with its names and without their values. It may have come to its end.
///
/// # Errors
/// When the store cannot be read.
pub fn load_code(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<CodeJob>, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, modules, result, .. }) = row else { return Ok(None) };
    // Code that was cut off goes no further, even if somebody calls an object that it made.
    if let Some(PromiseRow::Rejected { .. }) = table::promise(txn, &result)? {
        return Ok(None);
    }
    Ok(Some(CodeJob {
        eval: *eval,
        agent: Number(eval.number),
        source: source.raw().to_owned(),
        modules,
        names: endowments.into_keys().collect(),
        values: vec![],
    }))
}

/// The value of a name in code.
enum NameValue {
    /// For this.
    Value(Value),
    /// The value that this promise will have.
    Pending(FormulaId),
    /// For nothing, and why.
    Broken(String),
}

fn resolve_name(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<NameValue, StoreFault> {
    let mut id = *id;
    for _ in 0..MAX_REFERENCE_DEPTH {
        let Some(reached) = table::reach(txn, &id)? else {
            return Ok(NameValue::Broken("it is gone".to_owned()));
        };
        let value = match reached.formula {
            Formula::Marshal { value } if reached.grants.is_empty() => value,
            Formula::Promise { .. } => match table::promise(txn, &reached.id)? {
                Some(PromiseRow::Fulfilled { value }) => value,
                Some(PromiseRow::Pending) => return Ok(NameValue::Pending(reached.id)),
                Some(PromiseRow::Rejected { reason }) => return Ok(NameValue::Broken(reason)),
                None => return Ok(NameValue::Broken("the promise is gone".to_owned())),
            },
            // An object that can act is used through its grant. The grant says how much of it is left.
            _ => return Ok(NameValue::Value(Value::remotable(id))),
        };
        match value.as_reference() {
            None => return Ok(NameValue::Value(value)),
            Some(next) => id = *next,
        }
    }
    Ok(NameValue::Broken("it leads on and on".to_owned()))
}
