//! The arguments of a call that a guard has accepted.

use passable::{Record, Untrusted};

use super::locator::Locator;
use super::refusal::Refusal;
use crate::command::Fault;
use crate::id::{FormulaId, MessageNumber};
use crate::name::NamePath;
use crate::proposal::Value;
use crate::query;
use crate::table;
use crate::txn::ReadTxn;

/// The arguments of one call.
#[derive(Clone, Copy)]
pub(super) struct Args<'a>(pub(super) &'a [Value]);

impl<'a> Args<'a> {
    /// Returns the argument at a position, unless it was left out.
    pub(super) fn get(self, at: usize) -> Option<&'a Value> {
        self.0.get(at).filter(|value| !matches!(value, Value::Undefined))
    }

    fn need(self, at: usize) -> Result<&'a Value, Refusal> {
        self.get(at).ok_or_else(|| Refusal::Argument(format!("argument {at} is missing")))
    }

    pub(super) fn text(self, at: usize) -> Result<String, Refusal> {
        text(self.need(at)?)
    }

    pub(super) fn untrusted(self, at: usize) -> Result<Untrusted, Refusal> {
        self.text(at).map(Untrusted::new)
    }

    pub(super) fn texts(self, at: usize) -> Result<Vec<String>, Refusal> {
        texts(self.need(at)?)
    }

    pub(super) fn path(self, at: usize) -> Result<NamePath, Refusal> {
        path(self.need(at)?)
    }

    pub(super) fn maybe_path(self, at: usize) -> Result<Option<NamePath>, Refusal> {
        self.get(at).map(path).transpose()
    }

    pub(super) fn paths(self, at: usize) -> Result<Vec<NamePath>, Refusal> {
        let all = self.need(at)?.as_array().unwrap_or_default();
        all.iter().map(path).collect()
    }

    /// Returns all arguments as one path, or `None` if there are none.
    pub(super) fn rest(self) -> Result<Option<NamePath>, Refusal> {
        if self.0.is_empty() {
            return Ok(None);
        }
        let names = self.0.iter().map(text).collect::<Result<Vec<_>, _>>()?;
        Ok(Some(NamePath::new(names)?))
    }

    pub(super) fn number(self, at: usize) -> Result<MessageNumber, Refusal> {
        let number = self.need(at)?.as_bigint();
        let number = number.and_then(|number| u64::try_from(number).ok());
        number.map(MessageNumber).ok_or_else(|| Refusal::Argument("there is no such message".to_owned()))
    }

    pub(super) fn record(self, at: usize) -> Result<&'a Record<FormulaId>, Refusal> {
        record(self.need(at)?, "the argument")
    }

    /// Returns the argument at a position as a record of options. Every option must be known.
    pub(super) fn options(self, at: usize, known: &[&str]) -> Result<Option<&'a Record<FormulaId>>, Refusal> {
        let Some(value) = self.get(at) else { return Ok(None) };
        let record = record(value, "options")?;
        expect_only(record, known, "option").map(|()| Some(record))
    }
}

/// Refuses a record that has a field with an unknown name.
pub(super) fn expect_only(record: &Record<FormulaId>, known: &[&str], what: &str) -> Result<(), Refusal> {
    match record.names().find(|name| !known.iter().any(|each| *name == each)) {
        Some(unknown) => {
            let known = known.join(", ");
            Err(Refusal::Argument(format!("there is no {what} {unknown:?}; there is {known}")))
        }
        None => Ok(()),
    }
}

/// Returns a field of a record, unless it was left out.
pub(super) fn field<'a>(record: &'a Record<FormulaId>, name: &str) -> Option<&'a Value> {
    record.get(name).filter(|value| !matches!(value, Value::Undefined))
}

pub(super) fn record<'a>(value: &'a Value, what: &str) -> Result<&'a Record<FormulaId>, Refusal> {
    value.as_record().ok_or_else(|| Refusal::Argument(format!("{what} must be a record")))
}

pub(super) fn text(value: &Value) -> Result<String, Refusal> {
    match value.as_str() {
        Some(text) => Ok(text.to_owned()),
        None if value.as_text().is_some() => {
            Err(Refusal::Argument("text with lone surrogates cannot be kept".to_owned()))
        }
        None => Err(Refusal::Argument(format!("{} - Must be a string", value.kind()))),
    }
}

pub(super) fn texts(value: &Value) -> Result<Vec<String>, Refusal> {
    value.as_array().unwrap_or_default().iter().map(text).collect()
}

/// Returns the path that a value stands for: a name, or an array of names.
pub(super) fn path(value: &Value) -> Result<NamePath, Refusal> {
    match value {
        Value::Array(_) => Ok(NamePath::new(texts(value)?)?),
        _ => Ok(NamePath::new([text(value)?])?),
    }
}

/// Returns the locator for a text that is an identifier or a locator. The caller must check whether the agent holds
/// the formula.
pub(super) fn identifier(txn: &mut dyn ReadTxn, given: &str) -> Result<Locator, Refusal> {
    let locator = match given.starts_with("endo:") {
        true => given.parse::<Locator>()?,
        false => Locator { id: given.parse()?, kind: String::new(), token: None, at: vec![] },
    };
    // The kernel knows no formulas of other nodes, even if it knows the same number here.
    match table::endo(txn)? {
        Some(endo) if endo.node == locator.id.node => Ok(locator),
        _ => Err(Fault::NotHeld(locator.id).into()),
    }
}

/// Returns the formula for an identifier or a locator, if the agent holds the formula.
pub(super) fn held(txn: &mut dyn ReadTxn, agent: &FormulaId, given: &str) -> Result<FormulaId, Refusal> {
    let id = identifier(txn, given)?.id;
    if query::holds(txn, agent, &id)? { Ok(id) } else { Err(Fault::NotHeld(id).into()) }
}
