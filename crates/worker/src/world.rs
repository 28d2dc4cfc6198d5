//! What a run's driver needs from the daemon around it.

use std::sync::Arc;

use kernel::begun::Begun;
use kernel::command::{Move, Outcome};
use kernel::formula::Formula;
use kernel::grant::Grant;
use kernel::run::{Run, Step, Trouble};
use kernel::{BlobHash, FormulaId, RunNumber, StepRef};
use model::{Cancel, Price, Progress, Provider, Takes};
use policy::{Rules, Secrets};

use crate::memory::Memory;

/// The daemon as a run's driver sees it. Every method may fail with a [`Trouble`] that says what to do; the driver
/// then leaves the run as its journal has it.
pub trait World: Send + Sync {
    /// The agent for whom runs act.
    fn host(&self) -> FormulaId;
    /// The clock's reading, in milliseconds since 1970.
    fn now_ms(&self) -> i64;
    /// What drivers leave for those that come after them.
    fn memory(&self) -> &Memory;
    /// The run as it stands.
    fn run(&self, run: RunNumber) -> Result<Run, Trouble>;
    /// The run's steps from number `from` on.
    fn journal(&self, run: RunNumber, from: u64) -> Result<Vec<Step>, Trouble>;
    /// Lets the run take steps, in one transaction; returns when they are durable.
    fn advance(&self, run: RunNumber, moves: Vec<Move>) -> Result<Outcome, Trouble> {
        self.advance_with(run, moves, vec![])
    }
    /// The same, and keeps these bytes with them: they are durable when the steps are.
    fn advance_with(&self, run: RunNumber, moves: Vec<Move>, bytes: Vec<Vec<u8>>)
    -> Result<Outcome, Trouble>;
    /// Takes up an effect that had begun; `None` if its outcome is known by now.
    fn reopen(&self, step: StepRef) -> Result<Option<Begun>, Trouble>;
    /// A grant and what it leads to.
    fn grant(&self, id: &FormulaId) -> Result<(Grant, Formula), Trouble>;
    /// Keeps bytes; returns when they are durable.
    fn put_blob(&self, bytes: &[u8]) -> Result<BlobHash, Trouble>;
    /// Bytes that were kept.
    fn blob(&self, hash: &BlobHash) -> Result<Vec<u8>, Trouble>;
    /// The run's model, if it may read what the run has been shown.
    fn provider(&self, run: &Run) -> Result<Arc<dyn Provider>, Trouble>;
    /// Whether a run's model only looks up what it answers: it costs nothing, nobody sees that it was asked, and it
    /// answers at once, so that asking it again is nothing that anybody could notice.
    fn looks_up(&self, run: &Run) -> bool;
    /// The first of these models that may not read what is private, if there is one.
    fn kept_from_private(&self, model: &str) -> Option<String>;
    /// What a model costs, or the dearest of several; `None` where that is not known.
    fn price(&self, model: &str) -> Option<Price>;
    /// Which documents a model takes as they are; of several, what all of them take.
    fn takes(&self, model: &str) -> Takes;
    /// What the proposals of a run are judged by beside the gates' own code, as it is now.
    fn rules(&self, run: &Run) -> Result<Arc<Rules>, Trouble>;
    /// The vault's values, made ready to be looked for.
    fn secrets(&self) -> Arc<Secrets>;
    /// What a part of the web needs of the machine for a run: addresses, values of secrets, and whether policies judge.
    fn outside(&self, run: &Run) -> Arc<dyn caps::Outside>;
    /// The switch that stops model calls when the daemon ends.
    fn cancel(&self) -> Cancel;
    /// Shows how far a model has come with the request of this step. May be lost.
    fn progress(&self, run: RunNumber, prompted: u64, progress: Progress);
    /// Whether the daemon is about to end: drivers stop at the next step.
    fn is_stopping(&self) -> bool;
}
