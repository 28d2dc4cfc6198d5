//! The commands, with one file for each.

mod advance;
mod agent_grant_check;
mod agent_journal;
mod answer;
mod begin;
mod cancel;
mod code;
mod evidence;
mod exhaust;
mod forget;
mod genesis;
mod grant_check;
mod grants;
mod host_answer;
mod kernel_call;
mod mail;
mod make;
mod names;
mod pause;
mod permission;
mod pool;
mod propose;
mod provide;
mod provided;
mod question;
mod rate;
mod recover;
mod relocate;
mod resume;
mod run_end;
mod say;
mod start;
mod timer;
mod transcript;
mod undo;
mod wait;
mod write;

pub(crate) use agent_journal::end_journal;
pub(crate) use begin::complete_call;
pub use begin::reopen;
pub(crate) use code::{give_up, strip_code};
pub use genesis::genesis;
pub(crate) use pool::forget as forget_pool;
pub(crate) use question::answered;
pub(crate) use rate::forget as forget_rate;
pub use relocate::relocate;
pub(crate) use run_end::finish_if_still;
pub(crate) use say::hear as told;
pub(crate) use transcript::{abandoned as abandon_commands, settled as came};

use crate::command::{Act, Command, Fault, Outcome, Reply};
use crate::env::Env;
use crate::outcome::CommandOutcome;
use crate::run::Entry;
use crate::state::State;
use crate::txn::Txn;

/// Applies one command. The result depends on nothing but the state, the environment and the command. On a fault, the
/// caller must keep none of the changes.
pub fn apply(txn: &mut dyn Txn, env: &Env, command: Command) -> Result<Outcome, Fault> {
    let mut state = State::new(txn, env, &command)?;
    let said = match command.said {
        Some(said) => Some((said, transcript::subject(&mut state, &command.act)?)),
        None => None,
    };
    let refused = match &command.act {
        Act::Refused { why, .. } => Some(CommandOutcome::refused(why.raw())),
        _ => None,
    };
    state.outcome.reply = run(&mut state, command.act)?;
    if let Some((said, about)) = said {
        state.record_command(said, about, None)?;
    }
    transcript::note(&mut state, refused)?;
    state.conclude()?;
    Ok(state.outcome)
}

/// Performs one act on behalf of the actor.
fn run(state: &mut State<'_>, act: Act) -> Result<Reply, Fault> {
    Ok(match act {
        Act::Start(start) => start::start(state, *start)?,
        // Only hosts have runs, so only hosts may take steps of runs.
        Act::Advance(advance) => {
            state.hosts_only("have runs")?;
            advance::advance(state, advance)?
        }
        Act::OpenAgentJournal { agent } => {
            state.daemon_only("keep the journals of agents")?;
            agent_journal::open_journal(state, agent)?
        }
        Act::Answer(answer) => {
            state.hosts_only("approve")?;
            answer::answer(state, answer)?
        }
        Act::AnswerAll(answer) => {
            state.hosts_only("approve")?;
            answer::answer_all(state, answer)?
        }
        Act::Say { run, said, documents, text } => say::say(state, run, said, documents, text)?,
        Act::Resume { runs, .. } => {
            state.hosts_only("resume runs")?;
            resume::resume(state, &runs)?
        }
        Act::Refused { .. } => Reply::Done,
        Act::Undo { run, files } => {
            state.hosts_only("undo what runs changed")?;
            undo::settle(state, run, Entry::Reverted { files })?
        }
        Act::Apply { run, files } => {
            state.hosts_only("apply what runs changed")?;
            undo::settle(state, run, Entry::Applied { files })?
        }
        Act::Discard { run, files } => {
            state.hosts_only("discard what runs changed")?;
            undo::settle(state, run, Entry::Discarded { files })?
        }
        Act::Forget { run } => {
            state.hosts_only("forget runs")?;
            forget::forget(state, run)?
        }
        Act::Recover => {
            state.hosts_only("take up the outbox")?;
            recover::recover(state)?
        }
        Act::Name(act) => names::name(state, act)?,
        Act::Provide(act) => provide::provide(state, act)?,
        Act::Grant(act) => grants::grant(state, act)?,
        Act::Mail(act) => mail::mail(state, *act)?,
        Act::Timer(act) => timer::timer(state, act)?,
        Act::Cancel { what, reason } => cancel::cancel(state, &what, &reason)?,
        Act::Code(act) => code::code(state, act)?,
        // The outcomes of code and the collection of formulas concern all agents, so only the daemon reports them.
        Act::Evaluated { eval, outcome } => {
            state.daemon_only("say what code came to")?;
            mail::evaluated(state, &eval, &outcome)?
        }
        Act::Collect { budget, pinned } => {
            state.daemon_only("collect")?;
            crate::collect::collect(state, budget, &pinned)?
        }
    })
}
