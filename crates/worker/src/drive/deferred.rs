//! Deferred moves, which are recorded with the next step on which others depend.
//!
//! Two kinds of results can be obtained again at any time. One is the result of a call that only reads. The other is
//! a turn of a model that only looks its answers up. So they have no commit of their own. Until they are recorded,
//! the driver goes on as if they were, and predicts the journal entries that they will become. If another writer adds
//! to the journal in the meantime, their numbers differ from the prediction. Then the driver folds the journal again,
//! and asks the model again.

use kernel::command::Move;
use kernel::run::{Completion, Entry, Run, Step, Trouble};

use super::Driver;
use crate::fold::Fold;

/// The moves that are not recorded yet.
#[derive(Default)]
pub(super) struct DeferredMoves {
    /// The moves to be recorded.
    pub(super) moves: Vec<Move>,
    /// The journal entries that the moves will become.
    pub(super) entries: Vec<Entry>,
    /// The bytes that these moves name, or the moves that are recorded with them.
    pub(super) bytes: Vec<Vec<u8>>,
}

impl DeferredMoves {
    /// Returns whether one of the moves belongs to a turn of the model. Turns refer to steps by their numbers.
    pub(super) fn has_turn(&self) -> bool {
        self.moves.iter().any(is_turn)
    }
}

fn is_turn(step: &Move) -> bool {
    matches!(step, Move::Prompt { .. } | Move::Reply { .. })
}

/// Returns the journal entry that a move will become, or `None` for a move that cannot be deferred.
fn foreseen_entry(step: &Move) -> Option<Entry> {
    Some(match step.clone() {
        Move::Prompt { request, model } => Entry::Prompted { request, model },
        Move::Reply { prompted, reply, usage, model } => Entry::Replied { prompted, reply, usage, model },
        Move::Spill { proposal, whole, bytes } => Entry::Spilled { proposal, whole, bytes },
        Move::Complete { proposal, completion } => Entry::Completed { proposal, completion },
        _ => return None,
    })
}

/// Applies the changes that a move will make to the run.
fn foresee(run: &mut Run, step: &Move) {
    run.next_step += 1;
    match step {
        Move::Reply { usage, .. } => run.used.add(*usage),
        Move::Spill { bytes, .. } => run.used.kept_bytes = run.used.kept_bytes.saturating_add(*bytes),
        Move::Complete { proposal, completion } => {
            run.open.remove(proposal);
            if let Completion::Done { provenance, .. } = completion {
                run.provenance = run.provenance.join(provenance);
            }
        }
        _ => {}
    }
}

impl Driver<'_> {
    /// Adds a move to those that are recorded with the next step. If its entry can be predicted, the fold gets the
    /// entry now.
    pub(super) fn defer(&mut self, step: Move) {
        if let Some(entry) = foreseen_entry(&step) {
            let step = Step {
                number: self.fold.next,
                at_ms: self.world.now_ms(),
                entry: entry.clone(),
                provenance: kernel::provenance::Provenance::default(),
            };
            self.fold.push(&step);
            self.deferred.entries.push(entry);
        }
        foresee(&mut self.run, &step);
        self.deferred.moves.push(step);
    }

    /// Adds the new steps of the journal and the deferred moves to the fold.
    pub(super) fn catch_up(&mut self) -> Result<(), Trouble> {
        let news = self.world.journal(self.run.number, self.recorded)?;
        let has_gone_out = self.deferred.moves.is_empty();
        let is_as_foreseen = match has_gone_out {
            true => {
                self.deferred.entries.len() <= news.len()
                    && self.deferred.entries.iter().zip(&news).all(|(entry, step)| *entry == step.entry)
            }
            // A cancelled run must not ask a model any more.
            false => news.is_empty() && (self.run.cancelled.is_none() || !self.deferred.has_turn()),
        };
        if !is_as_foreseen {
            return self.refold();
        }
        if has_gone_out {
            news.iter().skip(self.deferred.entries.len()).for_each(|step| self.fold.push(step));
            self.deferred.entries.clear();
            self.recorded = self.fold.next;
        } else {
            self.deferred.moves.iter().for_each(|step| foresee(&mut self.run, step));
        }
        Ok(())
    }

    /// Folds the whole journal again. Deferred results of reads are deferred again, and the model is asked again.
    pub(super) fn refold(&mut self) -> Result<(), Trouble> {
        let later = std::mem::take(&mut self.deferred);
        self.fold = Fold::of(&self.world.journal(self.run.number, 1)?);
        self.recorded = self.fold.next;
        later.moves.into_iter().filter(|step| !is_turn(step)).for_each(|step| self.defer(step));
        Ok(())
    }

    /// Returns whether another writer has added to the journal, or has cancelled the run. Steps with a turn of the
    /// model are refused then.
    pub(super) fn was_overtaken(&self) -> bool {
        let run = self.world.run(self.run.number);
        run.is_ok_and(|run| run.next_step != self.recorded || run.cancelled != self.run.cancelled)
    }
}
