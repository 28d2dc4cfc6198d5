//! Deferred moves, which go out with the next step that others depend on.
//!
//! Two kinds of results can be had again at any time: the outcome of a call that only reads, and a turn of a model
//! that only looks its answers up. So they have no commit of their own. Until they are recorded, the driver goes on
//! as if they were: it foresees the entries that the kernel will make of them. If another writer adds to the journal
//! meanwhile, they come later than was foreseen. Then the driver folds the journal anew, and asks the model again.

use kernel::command::Move;
use kernel::run::{Completion, Entry, Run, Step, Trouble};

use super::Driver;
use crate::fold::Fold;

/// Steps that are not recorded yet.
#[derive(Default)]
pub(super) struct DeferredMoves {
    /// The moves to be recorded.
    pub(super) moves: Vec<Move>,
    /// The journal entries that the moves will become.
    pub(super) entries: Vec<Entry>,
    /// Bytes that these moves, or those with which they go out, name.
    pub(super) bytes: Vec<Vec<u8>>,
}

impl DeferredMoves {
    /// Returns whether a turn of the model is among them, which names steps by their numbers.
    pub(super) fn has_turn(&self) -> bool {
        self.moves.iter().any(is_turn)
    }
}

fn is_turn(step: &Move) -> bool {
    matches!(step, Move::Prompt { .. } | Move::Reply { .. })
}

/// Returns the journal entry that a move will become; `None` for a move that cannot be deferred.
fn foreseen_entry(step: &Move) -> Option<Entry> {
    Some(match step.clone() {
        Move::Prompt { request, model } => Entry::Prompted { request, model },
        Move::Reply { prompted, reply, usage, model } => Entry::Replied { prompted, reply, usage, model },
        Move::Spill { proposal, whole, bytes } => Entry::Spilled { proposal, whole, bytes },
        Move::Complete { proposal, completion } => Entry::Completed { proposal, completion },
        _ => return None,
    })
}

/// Applies to the run itself the changes that a move will make.
fn foresee(run: &mut Run, step: &Move) {
    run.next_step += 1;
    match step {
        Move::Reply { usage, .. } => run.used.add(*usage),
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
    /// Has a move go out with the next step. One that cannot wait is not forgotten, only not foreseen.
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

    /// Brings the fold to the end of the journal, and adds the deferred moves.
    pub(super) fn catch_up(&mut self) -> Result<(), Trouble> {
        let news = self.world.journal(self.run.number, self.recorded)?;
        let has_gone_out = self.deferred.moves.is_empty();
        let is_as_foreseen = match has_gone_out {
            true => {
                self.deferred.entries.len() <= news.len()
                    && self.deferred.entries.iter().zip(&news).all(|(entry, step)| *entry == step.entry)
            }
            // A cancelled run asks no model any more.
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

    /// Folds the whole journal. Deferred reads go out later than was foreseen, and the model is asked again.
    pub(super) fn refold(&mut self) -> Result<(), Trouble> {
        let later = std::mem::take(&mut self.deferred);
        self.fold = Fold::of(&self.world.journal(self.run.number, 1)?);
        self.recorded = self.fold.next;
        later.moves.into_iter().filter(|step| !is_turn(step)).for_each(|step| self.defer(step));
        Ok(())
    }

    /// Returns whether steps with a turn of the model were refused because somebody else has written in the journal,
    /// or has cancelled the run.
    pub(super) fn was_overtaken(&self) -> bool {
        let run = self.world.run(self.run.number);
        run.is_ok_and(|run| run.next_step != self.recorded || run.cancelled != self.run.cancelled)
    }
}
