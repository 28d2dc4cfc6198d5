//! The port through which a run's driver uses the daemon around it.

use std::sync::Arc;

use kernel::command::{Move, Outcome};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::run::{Run, Step, Trouble};
use kernel::started_effect::StartedEffect;
use kernel::{BlobHash, FormulaId, RunNumber, StepRef};
use model::{Cancel, MediaSupport, Price, Progress, Provider};
use policy::{Rules, Secrets};

use crate::memory::Memory;

/// The daemon as a run's driver sees it. Every method may fail with a [`Trouble`] that names the way out; the driver
/// then leaves the run as its journal has it.
pub trait DriverPort: Send + Sync {
    /// Returns the agent for whom runs act.
    fn host(&self) -> FormulaId;
    /// Returns the clock's reading, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// Returns the cache that drivers leave for later drivers.
    fn memory(&self) -> &Memory;
    /// Returns the run as it stands.
    fn run(&self, run: RunNumber) -> Result<Run, Trouble>;
    /// Returns the run's steps from number `from` on.
    fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble>;
    /// Lets the run take steps, in one transaction; returns when they are durable.
    fn advance(&self, run: RunNumber, moves: Vec<Move>) -> Result<Outcome, Trouble> {
        self.advance_with(run, moves, vec![])
    }
    /// Does the same, and keeps these bytes with the steps: they are durable when the steps are.
    fn advance_with(&self, run: RunNumber, moves: Vec<Move>, bytes: Vec<Vec<u8>>)
    -> Result<Outcome, Trouble>;
    /// Takes up an effect that had begun; `None` if its outcome is known by now.
    fn reopen(&self, step: StepRef) -> Result<Option<StartedEffect>, Trouble>;
    /// Returns a grant and its target.
    fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble>;
    /// Keeps bytes; returns when they are durable.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble>;
    /// Bytes that were kept.
    fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble>;
    /// Returns the run's model, if it may read the data that the run has read.
    fn provider(&self, run: &Run) -> Result<Arc<dyn Provider>, Trouble>;
    /// Returns whether a run's model only looks its answers up. Such a model costs nothing and answers at once, and
    /// no other program sees the request. So the driver may ask it again at any time.
    fn looks_up(&self, run: &Run) -> bool;
    /// Returns the first of these models that may not read private data, if there is one.
    fn kept_from_private(&self, model: &str) -> Option<String>;
    /// Returns a model's price, or the highest of several; `None` where it is not known.
    fn price(&self, model: &str) -> Option<Price>;
    /// Returns the documents that a model takes as they are; of several models, those that all of them take.
    fn takes(&self, model: &str) -> MediaSupport;
    /// Returns the rules that judge the proposals of a run now, beside the gates' own code.
    fn rules(&self, run: &Run) -> Result<Arc<Rules>, Trouble>;
    /// Returns the vault's values, made ready to be looked for.
    fn secrets(&self) -> Arc<Secrets>;
    /// Returns the host services for a run's web capability: addresses, values of secrets, and whether policies
    /// judge.
    fn outside(&self, run: &Run) -> Arc<dyn caps::HostServices>;
    /// Returns the switch that stops model calls when the daemon ends.
    fn cancel(&self) -> Cancel;
    /// Shows how far a model has come with the request of this step. May be lost.
    fn progress(&self, run: RunNumber, prompted: u64, progress: Progress);
    /// Returns whether the daemon is about to end: drivers stop at the next step.
    fn is_stopping(&self) -> bool;
}
