//! The uses of grants outside of runs, until they are written down.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kernel::FormulaId;
use kernel::command::{Act, CodeAct, Command};
use kernel::grant_usage::{GrantUsage, GrantUse};

use super::daemon::Daemon;

/// The calls through grants that stand in no journal. They are written down when a user asks for them, and otherwise
/// each second. Calls of methods that always come to a command (`endo::writes`) go to the disk with their effects. A
/// crash may lose the count of the others within that second, messages to objects of other code among them. It loses
/// the count, and not the effects.
#[derive(Default)]
pub struct PendingUsage(Mutex<BTreeMap<FormulaId, GrantUsage>>);

impl PendingUsage {
    /// Adds a call that went, or was to go, through these grants.
    pub fn add(&self, grants: impl IntoIterator<Item = FormulaId>, call: &GrantUse) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for grant in grants {
            all.entry(grant).or_default().add(call.clone());
        }
    }

    fn take(&self) -> BTreeMap<FormulaId, GrantUsage> {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }

    fn give_back(&self, taken: BTreeMap<FormulaId, GrantUsage>) {
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for (grant, mut used) in taken {
            let since = all.remove(&grant).unwrap_or_default();
            used.merge(since);
            all.insert(grant, used);
        }
    }
}

/// Returns the command by which the store is told of one call.
pub fn command(root: FormulaId, grants: impl IntoIterator<Item = FormulaId>, call: &GrantUse) -> Command {
    let uses = PendingUsage::default();
    uses.add(grants, call);
    Command { actor: root, act: Act::Code(CodeAct::Use { used: uses.take() }), said: None }
}

/// Writes down the uses that have come. If they cannot be written now, the next time tries again.
pub fn flush(daemon: &Daemon) {
    let used = daemon.pending_usage.take();
    if used.is_empty() {
        return;
    }
    let act = Act::Code(CodeAct::Use { used: used.clone() });
    if daemon.apply_as(daemon.root, None, act).is_err() {
        daemon.pending_usage.give_back(used);
    }
}
