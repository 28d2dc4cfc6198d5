//! Families of runs: a run that the user started, and the workers that it calls. The questions of a family to the user
//! are counted together.

use crate::command::Fault;
use crate::id::{MessageNumber, StepRef};
use crate::proposal::Proposal;
use crate::run::{CallSite, Entry, Parent, QuestionCount, Refusal, Run, WaitReason};
use crate::table;

use super::State;

impl State<'_> {
    /// Returns the run that counts the questions of a run's family, or `None` if the run is that one. Each item of a
    /// batch is the first of a family of its own, because the user chose the items.
    pub(crate) fn family_head(&mut self, run: &Run) -> Result<Option<Run>, Fault> {
        let (mut head, mut parent) = (None, run.parent);
        while let Some(Parent { run, place: WaitReason::Call { .. } }) = parent {
            let above = self.run(run)?;
            parent = above.parent;
            head = Some(above);
        }
        Ok(head)
    }

    /// Changes the count of questions of a run's family. The caller must save the run. The journal of an agent has a limit
    /// of its own, so nothing is counted for it.
    pub(crate) fn count_questions<T>(
        &mut self,
        run: &mut Run,
        change: impl FnOnce(&mut QuestionCount) -> T,
    ) -> Result<T, Fault> {
        if run.is_agent_journal() {
            return Ok(change(&mut QuestionCount::default()));
        }
        match self.family_head(run)? {
            None => Ok(change(&mut run.questions)),
            Some(mut head) => {
                let before = head.questions.clone();
                let result = change(&mut head.questions);
                if head.questions != before {
                    self.put_run(&head)?;
                }
                Ok(result)
            }
        }
    }

    /// Counts a call that a model made and the user refused, or has refused before. The caller must save the run.
    pub(crate) fn count_refusal(
        &mut self,
        run: &mut Run,
        step: u64,
        message: Option<MessageNumber>,
    ) -> Result<(), Fault> {
        let at = StepRef { run: run.number, step };
        let Entry::Proposed { site: CallSite::Turn { replied, .. }, proposal, .. } = self.step(at)?.entry
        else {
            return Ok(());
        };
        let by = match message {
            Some(message) => Refusal::Answer { message },
            None => Refusal::Turn { run: run.number, replied },
        };
        let Proposal { grant, slot, method, .. } = *proposal;
        let capability = table::reach(self.txn, &grant)?.map_or(grant, |reached| reached.id);
        self.count_questions(run, |count| count.refuse(capability, &slot, &method, by))
    }
}
