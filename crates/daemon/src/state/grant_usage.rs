//! The uses of grants outside of runs that have not been written yet.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use kernel::FormulaId;
use kernel::command::{Act, CodeAct, Command};
use kernel::grant_usage::{GrantUsage, GrantUse};

use super::daemon::Daemon;

/// The calls through grants that no journal has. They are written each second, and also when a user asks for them.
/// Calls of methods that always lead to a command (`endo::writes`) are written together with their effects. For all
/// other calls, also messages to objects of other code, a crash may lose the count of the last second. The effects of
/// these calls are not lost.
#[derive(Default)]
pub struct PendingUsage(Mutex<BTreeMap<FormulaId, GrantUsage>>);

impl PendingUsage {
    /// Adds a call through these grants, which may also be a refused one.
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

/// Returns the command that records one call in the store.
pub fn command(root: FormulaId, grants: impl IntoIterator<Item = FormulaId>, call: &GrantUse) -> Command {
    let uses = PendingUsage::default();
    uses.add(grants, call);
    Command { actor: root, act: Act::Code(CodeAct::Use { used: uses.take() }), said: None }
}

/// Writes the recorded uses. If the write fails, the next call tries again.
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
