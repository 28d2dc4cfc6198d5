//! What goes out with the next step that somebody depends on.
//!
//! An outcome of a call that only reads, and a turn of a model that only looks up what it answers, can be had again at
//! any time. So they have no commit of their own. Until they are recorded the driver goes on as if they were: it
//! foresees what the kernel will make of them. If somebody else has written in the journal meanwhile, they come
//! later than was foreseen: then everything is made anew from the journal, and the model is asked again.

use kernel::command::Move;
use kernel::run::{Completion, Entry, Run, Step, Trouble};

use super::Driver;
use crate::fold::Fold;

/// Steps that are not recorded yet.
#[derive(Default)]
pub(super) struct Later {
    /// What is to be recorded.
    pub(super) moves: Vec<Move>,
    /// What it will be in the journal.
    pub(super) entries: Vec<Entry>,
    /// Bytes that these moves, or those with which they go out, name.
    pub(super) bytes: Vec<Vec<u8>>,
}

impl Later {
    /// Whether a turn of the model is among them, which names steps by their numbers.
    pub(super) fn has_turn(&self) -> bool {
        self.moves.iter().any(is_turn)
    }
}

fn is_turn(step: &Move) -> bool {
    matches!(step, Move::Prompt { .. } | Move::Reply { .. })
}

/// What a move will be in the journal; `None` for one that does not wait.
fn entry(step: &Move) -> Option<Entry> {
    Some(match step.clone() {
        Move::Prompt { request, model } => Entry::Prompted { request, model },
        Move::Reply { prompted, reply, usage, model } => Entry::Replied { prompted, reply, usage, model },
        Move::Spill { proposal, whole, bytes } => Entry::Spilled { proposal, whole, bytes },
        Move::Complete { proposal, completion } => Entry::Completed { proposal, completion },
        _ => return None,
    })
}

/// What a move will change in the run itself.
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
    pub(super) fn later(&mut self, step: Move) {
        if let Some(entry) = entry(&step) {
            let step = Step {
                number: self.fold.next,
                at_ms: self.world.now_ms(),
                entry: entry.clone(),
                provenance: kernel::provenance::Provenance::default(),
            };
            self.fold.push(&step);
            self.later.entries.push(entry);
        }
        foresee(&mut self.run, &step);
        self.later.moves.push(step);
    }

    /// Brings the fold to where the journal is, and beyond it what is still to go out.
    pub(super) fn catch_up(&mut self) -> Result<(), Trouble> {
        let news = self.world.journal(self.run.number, self.recorded)?;
        let has_gone_out = self.later.moves.is_empty();
        let is_as_foreseen = match has_gone_out {
            true => {
                self.later.entries.len() <= news.len()
                    && self.later.entries.iter().zip(&news).all(|(entry, step)| *entry == step.entry)
            }
            // A run that was cancelled asks nobody any more.
            false => news.is_empty() && (self.run.cancelled.is_none() || !self.later.has_turn()),
        };
        if !is_as_foreseen {
            return self.begin_anew();
        }
        if has_gone_out {
            news.iter().skip(self.later.entries.len()).for_each(|step| self.fold.push(step));
            self.later.entries.clear();
            self.recorded = self.fold.next;
        } else {
            self.later.moves.iter().for_each(|step| foresee(&mut self.run, step));
        }
        Ok(())
    }

    /// Folds the whole journal. What was read goes out later than it was foreseen; the model is asked again.
    pub(super) fn begin_anew(&mut self) -> Result<(), Trouble> {
        let later = std::mem::take(&mut self.later);
        self.fold = Fold::of(&self.world.journal(self.run.number, 1)?);
        self.recorded = self.fold.next;
        later.moves.into_iter().filter(|step| !is_turn(step)).for_each(|step| self.later(step));
        Ok(())
    }

    /// Whether steps with a turn of the model were refused because somebody else has written in the journal, or has
    /// cancelled the run.
    pub(super) fn was_overtaken(&self) -> bool {
        let run = self.world.run(self.run.number);
        run.is_ok_and(|run| run.next_step != self.recorded || run.cancelled != self.run.cancelled)
    }
}
