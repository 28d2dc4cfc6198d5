//! Provide: makes an agent, or finds the agent that was made under the same name.

use crate::command::{AgentKind, Fault, ProvideAgent, Reply};
use crate::formula::{Agent, Formula};
use crate::id::{FormulaId, Number};
use crate::name::NamePath;
use crate::provenance::Provenance;
use crate::state::{Gift, State};
use crate::table;

use super::names::make_directory;

pub(super) fn provide(state: &mut State<'_>, act: ProvideAgent) -> Result<Reply, Fault> {
    state.hosts_only("make agents")?;
    for path in [&act.name, &act.agent_name].into_iter().flatten() {
        path.split_pet()?;
    }
    if let Some(found) = existing(state, &act)? {
        return Ok(found);
    }
    let agent = state.fresh_id();
    let own = state.self_agent()?;
    let parts = make_parts(state, agent)?;
    let formula = match act.kind {
        AgentKind::Guest => Formula::Guest { agent: parts, host: own.handle },
        AgentKind::Host => {
            let actor = state.actor;
            let Formula::Host { main, endo, pins, none, .. } = state.formula(&actor)? else {
                return Err(Fault::Dangling(actor));
            };
            Formula::Host { agent: parts, host: own.handle, main, endo, pins, none }
        }
    };
    state.put_formula(agent, formula, Provenance::host())?;
    if act.kind == AgentKind::Host {
        table::enlist_host(state.txn, &agent)?;
    }
    if let Some(path) = &act.name {
        let spot = state.spot(path, "storeIdentifier")?;
        state.put(&spot, &parts.handle)?;
    }
    if let Some(path) = &act.agent_name {
        let spot = state.spot(path, "storeIdentifier")?;
        state.put(&spot, &agent)?;
    }
    introduce(state, agent, &act.introduced)?;
    Ok(Reply::Agent { agent, handle: parts.handle })
}

/// Returns the reply for the agent that already has the name, if there is one.
fn existing(state: &mut State<'_>, act: &ProvideAgent) -> Result<Option<Reply>, Fault> {
    for path in [&act.name, &act.agent_name].into_iter().flatten() {
        let id = match state.view().identify(state.txn, path) {
            Ok(id) => id,
            Err(Fault::UnknownName(_)) => continue,
            Err(fault) => return Err(fault),
        };
        // Only an agent that the actor made is found again. The mail address of another agent does not lead to its
        // powers.
        let own = state.self_agent()?.handle;
        let agent = state.agent_of(&id);
        let formula = agent.clone().and_then(|agent| state.formula(&agent));
        let fits = match (&formula, act.kind) {
            (Ok(Formula::Guest { host, .. }), AgentKind::Guest) => *host == own,
            (Ok(Formula::Host { host, .. }), AgentKind::Host) => *host == own,
            _ => false,
        };
        let (Ok(agent), Ok(Some(parts)), true) = (agent, formula.map(|f| f.agent().copied()), fits) else {
            return Err(Fault::Taken(format!("{:?}", path.to_string())));
        };
        introduce(state, agent, &act.introduced)?;
        return Ok(Some(Reply::Agent { agent, handle: parts.handle }));
    }
    Ok(None)
}

/// Gives the new agent grants of the formulas that the actor knows by these names.
fn introduce(state: &mut State<'_>, agent: FormulaId, names: &[(String, String)]) -> Result<(), Fault> {
    for (mine, theirs) in names {
        let id = state.resolve(&NamePath::new([mine.clone()])?)?;
        let given = state.give(&id, &Gift::plain(agent, theirs))?;
        let path = NamePath::new([theirs.clone()])?;
        let actor = std::mem::replace(&mut state.actor, agent);
        let spot = state.spot(&path, "storeIdentifier");
        state.actor = actor;
        state.name(&spot?, &given)?;
    }
    Ok(())
}

/// Makes the parts that every agent has.
pub(super) fn make_parts(state: &mut State<'_>, agent: FormulaId) -> Result<Agent, Fault> {
    let owner = Number(agent.number);
    let directory = make_directory(state, owner)?;
    let mailbox = state.make(Formula::Mailbox { owner }, Provenance::host())?;
    let mail_hub = state.make(Formula::MailHub { mailbox }, Provenance::host())?;
    let handle = state.make(Formula::Handle { agent }, Provenance::host())?;
    Ok(Agent { handle, directory, mailbox, mail_hub })
}
