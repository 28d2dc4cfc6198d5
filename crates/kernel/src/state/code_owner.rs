//! The agents to which endowed code belongs: its endower, and the agent that both wrote and endowed it.

use passable::with_article;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, Number};

use super::State;

pub(crate) fn expect_code(state: &mut State<'_>, eval: &FormulaId) -> Result<(), Fault> {
    match state.formula(eval)? {
        Formula::Eval { .. } => Ok(()),
        other => Err(Fault::NotAllowed(format!("{} is no code", with_article(other.kind())))),
    }
}

/// Returns the agent who endowed the code.
pub(crate) fn endower(state: &mut State<'_>, eval: &FormulaId) -> Result<Number, Fault> {
    let Formula::Eval { result, .. } = state.formula(eval)? else { return Err(Fault::Dangling(*eval)) };
    match state.formula(&result)? {
        Formula::Promise { asker, .. } => Ok(asker),
        _ => Err(Fault::Dangling(result)),
    }
}

/// Returns the agent whose own code this is, or `None`. That agent wrote the code, and endowed it with values that it
/// held. Code that another agent endowed is not its author's own.
pub(crate) fn own_code_of(state: &mut State<'_>, eval: &FormulaId) -> Result<Option<Number>, Fault> {
    let Formula::Eval { author, .. } = state.formula(eval)? else { return Ok(None) };
    let endower = endower(state, eval)?;
    Ok((author == endower).then_some(author))
}
