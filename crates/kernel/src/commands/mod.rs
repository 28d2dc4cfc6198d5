//! The commands, one file each.

mod advance;
mod answer;
mod begin;
mod genesis;
mod propose;
mod recover;
mod resume;
mod start;

pub use begin::reopen;
pub use genesis::genesis;

pub(crate) use begin::complete_call;

use crate::command::{Act, Command, Fault, Outcome};
use crate::env::Env;
use crate::state::State;
use crate::txn::Txn;

/// Applies one command. Deterministic in (state, env, command); on a fault nothing may be kept.
pub fn apply(txn: &mut dyn Txn, env: &Env, command: Command) -> Result<Outcome, Fault> {
    let mut state = State::new(txn, env, &command)?;
    state.outcome.reply = match command.act {
        Act::Start(start) => start::start(&mut state, *start)?,
        Act::Advance(advance) => advance::advance(&mut state, advance)?,
        Act::Answer(answer) => answer::answer(&mut state, answer)?,
        Act::Resume { run } => resume::resume(&mut state, run)?,
        Act::Recover => recover::recover(&mut state)?,
    };
    Ok(state.outcome)
}
