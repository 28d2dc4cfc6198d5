//! The access behind a call: the host's own, or that of an agent that was granted the directory.

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

/// A directory that no grant leads to: the person's own hand. Only looking at how it was reached makes one.
pub struct HostAccess {
    path: AccessPath,
}

/// A directory that was handed over, as it was reached. Only looking at how it was reached makes one.
pub struct GrantedAccess {
    path: AccessPath,
    /// The object that was called.
    pub(super) target: FormulaId,
    /// The grants that were passed on the way.
    pub(super) through: Vec<FormulaId>,
    /// The agent for whom it is used.
    pub(super) agent: FormulaId,
    /// The grant through which it is used, as one with those behind it.
    pub(super) grant: Grant,
}

/// How a directory was reached.
pub enum DirectoryAccess {
    /// By its host alone, without a grant.
    Host(Box<HostAccess>),
    /// By somebody who was handed it.
    Granted(Box<GrantedAccess>),
}

/// Returns the grant through which an agent uses something, and the agent.
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
    // If the grant was given to another agent, the caller acts as that agent.
    for (holder, all) in &others {
        let row = table::formula(txn, holder)?;
        if row.is_some_and(|row| row.formula.agent().is_some()) {
            return Ok(Some((*holder, all.clone())));
        }
    }
    Ok(others.pop().map(|(_, all)| (agent, all)))
}

impl DirectoryAccess {
    /// Returns how the target of `call` was reached on behalf of `agent`.
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

    /// Returns the gates before a granted directory, or `None` for the host's own.
    ///
    /// # Errors
    /// When there are no rules to judge by.
    pub fn gates(&self, daemon: &HostDaemon) -> Result<Option<Gates>, Failure> {
        match self {
            DirectoryAccess::Host(_) => Ok(None),
            DirectoryAccess::Granted(handed) => handed.gates(daemon).map(Some),
        }
    }
}

impl HostAccess {
    /// Returns a directory that this very call has made for its caller.
    pub fn for_new_directory(path: AccessPath) -> HostAccess {
        HostAccess { path }
    }

    /// Returns the formula behind it, with its limits.
    pub fn path(&self) -> &AccessPath {
        &self.path
    }
}

impl GrantedAccess {
    /// Returns the gates before it.
    ///
    /// # Errors
    /// When there is nothing to judge by.
    pub(super) fn gates(&self, daemon: &HostDaemon) -> Result<Gates, Failure> {
        let rules = match daemon.policies.operator()? {
            None => daemon::Daemon::rules(daemon),
            Some(operator) => Arc::new(Rules::clone(&daemon::Daemon::rules(daemon)).with_operator(operator)),
        };
        Ok(Gates::for_grant(rules, self.grant.clone(), &self.path.formula, self.agent, daemon.now_ms()))
    }

    /// Returns the capability that makes the calls that are begun.
    ///
    /// # Errors
    /// When it has no directory of this machine.
    pub fn capability(
        &self,
        daemon: &HostDaemon,
        state: &Path,
    ) -> Result<caps::mount::GrantedDirectory, Failure> {
        let AccessPath { id, formula, attenuation } = &self.path;
        capability(daemon, state, (id, formula), attenuation, self.grant.id)
    }
}

/// Returns the capability that makes a proposed call, by the present target of its grants.
///
/// # Errors
/// When something on the way is gone.
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
