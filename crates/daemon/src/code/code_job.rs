//! The job of running queued code: the code, its names, and their values.

use kernel::formula::Formula;
use kernel::modules::Modules;
use kernel::table::{self, EvalRow, PromiseRow};
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, Number, Pattern, Value};

/// The maximum number of references that are followed from a name to its value.
const MAX_REFERENCE_DEPTH: usize = 16;

/// Queued code with everything that is needed to run it.
#[derive(Clone, Debug)]
pub struct CodeJob {
    /// The code's formula.
    pub eval: FormulaId,
    /// The agent that wrote the code. The code runs in that agent's process.
    pub agent: Number,
    /// The source text, which is empty for a program of modules.
    pub source: String,
    /// The program of modules, if the code is one. Its only name stands for its powers.
    pub modules: Option<Modules>,
    /// The names in the code, in order.
    pub names: Vec<String>,
    /// The values of the names, in the same order.
    pub values: Vec<Value>,
}

/// The readiness of queued code.
#[derive(Debug)]
pub enum QueuedCode {
    /// The code can run. This is its job.
    Ready(Box<CodeJob>),
    /// The code cannot run before this promise is settled.
    Waiting(FormulaId),
    /// One of the code's names has no value, or an unsuitable one. The text is the reason.
    Broken(Box<CodeJob>, String),
    /// The code is gone or has ended.
    Ended,
}

/// Returns whether queued code can run, with its job if so.
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

/// Returns the job of a formula's code, with the names but without their values. The code may have ended. Returns
/// `None` if the code is gone or was rejected.
///
/// # Errors
/// When the store cannot be read.
pub fn load_code(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<CodeJob>, StoreFault> {
    let row = table::formula(txn, eval)?.map(|row| row.formula);
    let Some(Formula::Eval { source, endowments, modules, result, .. }) = row else { return Ok(None) };
    // Code that failed or was cancelled is not run again, even if a caller uses an object that it made.
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
    /// The value itself.
    Value(Value),
    /// A promise that is not settled yet. Its outcome will be the value.
    Pending(FormulaId),
    /// No value, for this reason.
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
            // An object that can act is passed as its own grant, because the grant limits its use.
            _ => return Ok(NameValue::Value(Value::remotable(id))),
        };
        match value.as_reference() {
            None => return Ok(NameValue::Value(value)),
            Some(next) => id = *next,
        }
    }
    Ok(NameValue::Broken("it leads on and on".to_owned()))
}
