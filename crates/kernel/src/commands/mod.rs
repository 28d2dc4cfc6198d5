//! The commands, one file each.

mod advance;
mod answer;
mod begin;
mod cancel;
mod evidence;
mod genesis;
mod grants;
mod mail;
mod names;
mod propose;
mod provide;
mod provided;
mod recover;
mod resume;
mod stand;
mod start;
mod timer;

pub use begin::reopen;
pub use genesis::genesis;

pub(crate) use begin::complete_call;
pub(crate) use cancel::finish_if_still;
pub(crate) use stand::fall;

use crate::command::{Act, Command, Fault, Outcome};
use crate::env::Env;
use crate::message::Body;
use crate::state::State;
use crate::txn::Txn;

/// Applies one command. Deterministic in (state, env, command); on a fault nothing may be kept.
pub fn apply(txn: &mut dyn Txn, env: &Env, command: Command) -> Result<Outcome, Fault> {
    let mut state = State::new(txn, env, &command)?;
    let said = command.said;
    state.outcome.reply = match command.act {
        Act::Start(start) => start::start(&mut state, *start)?,
        // Those who have no runs have nothing to say about them.
        Act::Advance(advance) => {
            state.hosts_only("have runs")?;
            advance::advance(&mut state, advance)?
        }
        Act::Stand { agent } => {
            state.daemon_only("keep the journals of agents")?;
            stand::stand(&mut state, agent)?
        }
        Act::Answer(answer) => {
            state.hosts_only("approve")?;
            answer::answer(&mut state, answer)?
        }
        Act::Resume { run } => {
            state.hosts_only("resume runs")?;
            resume::resume(&mut state, run)?
        }
        Act::Recover => {
            state.hosts_only("take up the outbox")?;
            recover::recover(&mut state)?
        }
        Act::Name(act) => names::name(&mut state, act)?,
        Act::Provide(act) => provide::provide(&mut state, act)?,
        Act::Grant(act) => grants::grant(&mut state, act)?,
        Act::Mail(act) => mail::mail(&mut state, *act)?,
        Act::Timer(act) => timer::timer(&mut state, act)?,
        Act::Cancel { what, reason } => cancel::cancel(&mut state, &what, &reason)?,
        // What code came to and what is kept concerns everybody.
        Act::Evaluated { eval, outcome } => {
            state.daemon_only("say what code came to")?;
            mail::evaluated(&mut state, &eval, &outcome)?
        }
        Act::Collect { budget, pinned } => {
            state.daemon_only("collect")?;
            crate::collect::collect(&mut state, budget, &pinned)?
        }
    };
    if let Some(said) = said {
        let body = Body::Command { verb: said.verb, text: said.text, run: None, made: None };
        let provenance = state.said()?;
        state.deliver(body, None, false, provenance)?;
    }
    state.conclude()?;
    Ok(state.outcome)
}
