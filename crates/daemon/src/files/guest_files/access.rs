//! The right behind a call on files: the right of the host, or that of an agent with a grant for the directory.

use std::path::Path;
use std::sync::Arc;

use kernel::facet::{AccessPath, FileCall};
use kernel::formula::Formula;
use kernel::grant::{Attenuation, Grant};
use kernel::proposal::Proposal;
use kernel::txn::{ReadTxn, StoreFault};
use kernel::{FormulaId, agent_journal, table};
use policy::Rules;

use super::gates::Gates;
use crate::files::directories;
use crate::state::daemon;
use crate::state::daemon::HostDaemon;
use control::exit::{Exit, Failure};

/// A directory that the host uses without a grant. Only [`DirectoryAccess::resolve`] and
/// [`HostAccess::for_new_directory`] make one.
pub struct HostAccess {
    path: AccessPath,
}

/// A directory that is used through a grant. Only [`DirectoryAccess::resolve`] makes one.
pub struct GrantedAccess {
    path: AccessPath,
    /// The formula of the called object.
    pub(super) target: FormulaId,
    /// The grants that the call passed on the way.
    pub(super) through: Vec<FormulaId>,
    /// The agent on whose behalf the directory is used.
    pub(super) agent: FormulaId,
    /// The grant through which the directory is used, combined with the grants behind it.
    pub(super) grant: Grant,
}

/// The right by which a directory was reached.
pub enum DirectoryAccess {
    /// The right of the host, without a grant.
    Host(Box<HostAccess>),
    /// The right of a holder of a grant.
    Granted(Box<GrantedAccess>),
}

/// Returns the grant through which an agent uses the target of a call, and the agent that acts. Returns `None` if
/// there is no grant on the way.
fn used_grant(
    txn: &mut dyn ReadTxn,
    agent: FormulaId,
    way: &[FormulaId],
) -> Result<Option<(FormulaId, Grant)>, StoreFault> {
    let mut others = Vec::new();
    for id in way {
        let Some(reached) = table::reach(txn, id)? else { continue };
        let (Some(nearest), Some(all)) = (reached.grants.first(), reached.grant()) else { continue };
        if agent_journal::may_use(txn, &agent, nearest)? {
            return Ok(Some((agent, all)));
        }
        others.push((nearest.holder, all));
    }
    // Otherwise the grant may have been given to another agent. Then the caller acts as that agent.
    for (holder, all) in &others {
        let row = table::formula(txn, holder)?;
        if row.is_some_and(|row| row.formula.agent().is_some()) {
            return Ok(Some((*holder, all.clone())));
        }
    }
    Ok(others.pop().map(|(_, all)| (agent, all)))
}

impl DirectoryAccess {
    /// Returns the right by which `agent` reaches the target of `call`.
    ///
    /// # Errors
    /// When the store cannot be read.
    pub fn resolve(
        daemon: &HostDaemon,
        call: &FileCall,
        ground: AccessPath,
        agent: FormulaId,
    ) -> Result<DirectoryAccess, Failure> {
        let way: Vec<FormulaId> = std::iter::once(call.target).chain(call.through.iter().copied()).collect();
        Ok(match daemon.read(|txn| used_grant(txn, agent, &way))? {
            None => DirectoryAccess::Host(Box::new(HostAccess { path: ground })),
            Some((agent, grant)) => DirectoryAccess::Granted(Box::new(GrantedAccess {
                path: ground,
                target: call.target,
                through: call.through.clone(),
                agent,
                grant,
            })),
        })
    }

    /// Returns the gates for a granted directory, or `None` for a directory that the host uses itself.
    ///
    /// # Errors
    /// When the rules cannot be loaded.
    pub fn gates(&self, daemon: &HostDaemon) -> Result<Option<Gates>, Failure> {
        match self {
            DirectoryAccess::Host(_) => Ok(None),
            DirectoryAccess::Granted(handed) => handed.gates(daemon).map(Some),
        }
    }
}

impl HostAccess {
    /// Returns the right for a directory that this same call has made for its caller.
    pub fn for_new_directory(path: AccessPath) -> HostAccess {
        HostAccess { path }
    }

    /// Returns the formula of the directory, with its limits.
    pub fn path(&self) -> &AccessPath {
        &self.path
    }
}

impl GrantedAccess {
    /// Returns the gates for the directory.
    ///
    /// # Errors
    /// When the rules cannot be loaded.
    pub(super) fn gates(&self, daemon: &HostDaemon) -> Result<Gates, Failure> {
        let rules = match daemon.policies.operator()? {
            None => daemon::Daemon::rules(daemon),
            Some(operator) => Arc::new(Rules::clone(&daemon::Daemon::rules(daemon)).with_operator(operator)),
        };
        Ok(Gates::for_grant(rules, self.grant.clone(), &self.path.formula, self.agent, daemon.now_ms()))
    }

    /// Returns the capability that carries out the calls on the directory.
    ///
    /// # Errors
    /// When the formula has no directory of this machine.
    pub fn capability(
        &self,
        daemon: &HostDaemon,
        state: &Path,
    ) -> Result<caps::mount::GrantedDirectory, Failure> {
        let AccessPath { id, formula, attenuation } = &self.path;
        capability(daemon, state, (id, formula), attenuation, self.grant.id)
    }
}

/// Returns the capability that carries out a proposed call, for the present target of its grants.
///
/// # Errors
/// When the target or a grant on the way is gone.
pub(super) fn capability_of(
    daemon: &HostDaemon,
    state: &Path,
    proposal: &Proposal,
) -> Result<caps::mount::GrantedDirectory, Failure> {
    let reached = daemon.read(|txn| table::reach(txn, &agent_journal::target(proposal)))?;
    let Some(reached) = reached else {
        return Err(Failure::new(Exit::NotFound, "what it was to be made on is gone"));
    };
    let attenuation = reached.grant().map(|grant| grant.attenuation).unwrap_or_default();
    capability(daemon, state, (&reached.id, &reached.formula), &attenuation, proposal.grant)
}

fn capability(
    daemon: &HostDaemon,
    state: &Path,
    (id, formula): (&FormulaId, &Formula),
    attenuation: &Attenuation,
    grant: FormulaId,
) -> Result<caps::mount::GrantedDirectory, Failure> {
    let (path, read_only) = directories::path_of(state, id, formula)?;
    Ok(caps::mount::GrantedDirectory::new(&path, read_only, attenuation, grant, daemon.agent_services()))
}
