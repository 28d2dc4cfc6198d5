//! The port through which a run's driver uses the daemon around it.

use std::sync::Arc;

use kernel::command::{Move, Outcome};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::run::{Run, Step, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, FormulaId, RunNumber, StepRef};
use model::{Cancel, MediaSupport, ModelLimits, Price, Progress, Provider};
use policy::{Rules, Secrets};

use crate::memory::Memory;
use crate::waiting::Waiting;

/// The daemon as the driver of a run uses it. Every method may fail with a [`Trouble`] that names a way to fix the
/// problem. The driver then leaves the run in the state of its journal.
pub trait DriverPort: Send + Sync {
    /// Returns the agent for whom runs act.
    fn host(&self) -> FormulaId;
    /// Returns the current time, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// Returns the cache that drivers leave for later drivers.
    fn memory(&self) -> &Memory;
    /// Returns the present state of the run.
    fn run(&self, run: RunNumber) -> Result<Run, Trouble>;
    /// Returns the run's steps from number `from` on.
    fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble>;
    /// Records steps of the run in one transaction. Returns when they are durable.
    fn advance(&self, run: RunNumber, moves: Vec<Move>) -> Result<Outcome, Trouble> {
        self.advance_with(run, moves, vec![])
    }
    /// Records steps of the run as [`DriverPort::advance`] does, together with bytes. The bytes are durable when the
    /// steps are.
    fn advance_with(&self, run: RunNumber, moves: Vec<Move>, bytes: Vec<Vec<u8>>)
    -> Result<Outcome, Trouble>;
    /// Reopens an effect that had begun. Returns `None` if its outcome is known by now.
    fn reopen(&self, step: StepRef) -> Result<Option<StartedEffect>, Trouble>;
    /// Returns a grant and its target.
    fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble>;
    /// Stores bytes. Returns when they are durable.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble>;
    /// Returns stored bytes.
    fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble>;
    /// Returns the run's model, if it is allowed to read the data that the run has read.
    fn provider(&self, run: &Run) -> Result<Arc<dyn Provider>, Trouble>;
    /// Returns whether the run may ask its model's server now. If too many runs wait there, this one stands in the
    /// server's queue, and is driven again when it has a place.
    fn has_turn(&self, run: &Run) -> bool;
    /// Begins a wait of the run for its model, without a slot of the engine. Returns `None` as
    /// [`DriverPort::has_turn`] returns `false`.
    fn wait_for_model(&self, run: &Run) -> Option<Waiting>;
    /// Begins a wait of the run for another party, without a slot of the engine. Only some runs wait for the same
    /// party at a time, so this may itself take a while.
    fn wait_for_effect(&self, run: RunNumber, party: &str) -> Waiting;
    /// Returns whether a run's model only looks its answers up. Such a model costs nothing, answers at once, and
    /// passes the request to no other program. So the driver may ask it again at any time.
    fn looks_up(&self, run: &Run) -> bool;
    /// Returns the first of these models that is not allowed to read private data, if there is one.
    fn kept_from_private(&self, model: &str) -> Option<String>;
    /// Returns a model's price, or the highest of several. Returns `None` if it is unknown.
    fn price(&self, model: &str) -> Option<Price>;
    /// Returns the limits of a run's model, as far as they are known. For a request of many `bytes`, the model's server
    /// may be asked for them. For several models, these are the smaller of each.
    fn limits(&self, run: &Run, bytes: usize) -> ModelLimits;
    /// Returns the kinds of documents that a model accepts as files. For several models, these are the kinds that all
    /// of them accept.
    fn takes(&self, model: &str) -> MediaSupport;
    /// Returns the policy rules that apply to a run's proposals now. The gates have further rules in code.
    fn rules(&self, run: &Run) -> Result<Arc<Rules>, Trouble>;
    /// Returns whether the machine's administrator has policies. They bind a call that a person has approved, too: they
    /// may be newer than the approval.
    fn has_machine_policies(&self) -> Result<bool, Trouble>;
    /// Returns the vault's values in a form that can be searched for.
    fn secrets(&self) -> Arc<Secrets>;
    /// Returns the host services for a run's web capability: addresses, values of secrets, and whether policies
    /// apply.
    fn outside(&self, run: &Run) -> Arc<dyn caps::HostServices>;
    /// Returns the switch that stops the run's model call, when the daemon ends or the run is cancelled.
    fn cancel(&self, run: RunNumber) -> Cancel;
    /// Shows the progress of a model's reply to the request of this step. A report may be lost.
    fn progress(&self, run: RunNumber, prompted: u64, progress: Progress);
    /// Returns whether the daemon is about to end. Drivers then stop before their next step.
    fn is_stopping(&self) -> bool;
}
