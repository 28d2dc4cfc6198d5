//! Runs and the outbox, as one command changes them.

use crate::command::Fault;
use crate::event::Change;
use crate::id::{FormulaId, HostRun, Number, RunNumber, StepRef};
use crate::model::limits::Share;
use crate::provenance::Provenance;
use crate::run::{Delivery, Entry, Run, RunOutcome, State as RunState, Step, WaitReason};
use crate::table::{self, Task};
use crate::txn::{Table, encode_row};

use super::State;

impl State<'_> {
    pub(crate) fn run(&mut self, number: RunNumber) -> Result<Run, Fault> {
        let owner = self.owner();
        table::run(self.txn, &owner, number)?.ok_or(Fault::NoRun(number))
    }

    pub(crate) fn put_run(&mut self, run: &Run) -> Result<(), Fault> {
        let owner = self.owner();
        let key = table::number_key(run.number.0);
        table::save(self.txn, Table::Run, &owner, &key, run, Some(&run.provenance))?;
        Ok(())
    }

    pub(crate) fn step(&mut self, at: StepRef) -> Result<Step, Fault> {
        let owner = self.owner();
        table::step(self.txn, &owner, at)?
            .ok_or(Fault::OutOfOrder { at, what: "the journal has no such step" })
    }

    /// Puts a task into the outbox and returns its number.
    pub(crate) fn post(&mut self, task: Task) -> Result<u64, Fault> {
        let seq = self.count("next_outbox")?;
        let owner = self.owner();
        table::save(self.txn, Table::Outbox, &owner, &table::number_key(seq), &task, None)?;
        Ok(seq)
    }

    pub(crate) fn unpost(&mut self, seq: u64) -> Result<(), Fault> {
        let owner = self.owner();
        self.txn.delete(Table::Outbox, &owner, &table::number_key(seq))?;
        Ok(())
    }

    /// Puts a task into the outbox of the store's own host, independent of the actor, and returns its number.
    pub(crate) fn post_for_root(&mut self, task: Task) -> Result<u64, Fault> {
        let root = self.root_host()?;
        let actor = std::mem::replace(&mut self.actor, root);
        let posted = self.post(task);
        self.actor = actor;
        posted
    }

    /// Takes a task out of the outbox of the store's own host.
    pub(crate) fn unpost_for_root(&mut self, seq: u64) -> Result<(), Fault> {
        let owner = self.root_host()?.number;
        self.txn.delete(Table::Outbox, &owner, &table::number_key(seq))?;
        Ok(())
    }

    fn root_host(&mut self) -> Result<crate::id::FormulaId, Fault> {
        table::host(self.txn)?.ok_or(Fault::Genesis("has not been made yet"))
    }

    /// Keeps the formula of a run that is not over.
    pub(crate) fn keep_run(&mut self, run: &Run) -> Result<(), Fault> {
        let root = self.endo();
        self.tie(&root, &format!("run {}", run.number), &run.id)?;
        let actor = self.actor;
        self.keep_parties(&run.id, &actor, run.delivery.as_ref())
    }

    /// Returns the parties of a piece of work, each with the label of the reference that keeps it. The store's own
    /// host is left out, because it is kept anyway.
    fn parties(
        &mut self,
        work: &FormulaId,
        doer: &FormulaId,
        delivery: Option<&Delivery>,
    ) -> Result<Vec<(String, FormulaId)>, Fault> {
        let work = Number(work.number);
        let mut all = Vec::new();
        if table::host(self.txn)? != Some(*doer) {
            all.push((format!("doer of {work}"), *doer));
        }
        if let Some(Delivery { guest, promise, .. }) = delivery {
            all.extend([(format!("guest of {work}"), *guest), (format!("promise of {work}"), *promise)]);
        }
        Ok(all)
    }

    /// Keeps the parties of a piece of work that is not over: the agent that has it done, and the recipient of its
    /// result.
    pub(crate) fn keep_parties(
        &mut self,
        work: &FormulaId,
        doer: &FormulaId,
        delivery: Option<&Delivery>,
    ) -> Result<(), Fault> {
        let root = self.endo();
        for (label, id) in self.parties(work, doer, delivery)? {
            self.tie(&root, &label, &id)?;
        }
        Ok(())
    }

    /// Stops keeping the parties of a piece of work.
    pub(crate) fn let_parties_go(
        &mut self,
        work: &FormulaId,
        doer: &FormulaId,
        delivery: Option<&Delivery>,
    ) -> Result<(), Fault> {
        let root = self.endo();
        for (label, id) in self.parties(work, doer, delivery)? {
            self.untie(&root, &label, &id)?;
        }
        Ok(())
    }

    /// Keeps a grant as long as the run is not over. The grant is for a worker that the run made, or for something
    /// that the run was given while it ran.
    pub(crate) fn keep_made(&mut self, run: &Run, slot: &str, grant: &FormulaId) -> Result<(), Fault> {
        let root = self.endo();
        self.tie(&root, &format!("made by {}: {slot}", run.number), grant)
    }

    /// Stops keeping the formula, the grants and the parties of a run.
    pub(crate) fn let_run_go(&mut self, run: &Run) -> Result<(), Fault> {
        let root = self.endo();
        for slot in run.made.union(&run.given) {
            if let Some(grant) = run.grants.get(slot) {
                self.untie(&root, &format!("made by {}: {slot}", run.number), grant)?;
            }
        }
        self.untie(&root, &format!("run {}", run.number), &run.id)?;
        let actor = self.actor;
        self.let_parties_go(&run.id, &actor, run.delivery.as_ref())
    }

    /// Appends a step to the run's journal and returns its number. The caller must save the run itself.
    pub(crate) fn journal(
        &mut self,
        run: &mut Run,
        entry: Entry,
        provenance: Provenance,
    ) -> Result<u64, Fault> {
        let number = run.next_step;
        run.next_step += 1;
        let line = crate::query::line::describe(&entry);
        let name = entry.name().to_owned();
        let step = Step { number, at_ms: self.env.now_ms(), entry, provenance };
        let owner = self.owner();
        let key = table::step_key(run.number, number);
        let row = encode_row(&step)?;
        run.keep(row.len() as u64);
        let provenance = encode_row(&step.provenance)?;
        self.txn.put(Table::Journal, &owner, &key, &row, Some(&provenance))?;
        let digest = crate::audit::digest(&step)?;
        self.event(Change::Step { run: run.number, step: number, entry: name, line, digest })?;
        Ok(number)
    }

    /// Makes a run ready, with a task in the outbox that continues it.
    pub(crate) fn make_ready(&mut self, run: &mut Run) -> Result<(), Fault> {
        self.forget_stalled(run)?;
        self.take_place(run)?;
        run.state = RunState::Ready;
        if planted!(self.env, LostOutboxRow) {
            run.drive = Some(self.count("next_outbox")?);
        } else if run.drive.is_none() {
            run.drive = Some(self.post(Task::Drive { run: run.number })?);
        }
        self.note_ready(run.number);
        Ok(())
    }

    /// Reports a run of the actor that can go on to the caller that applies the command.
    pub(crate) fn note_ready(&mut self, run: RunNumber) {
        self.outcome.ready.push(HostRun { host: self.actor, run });
    }

    /// Takes the task that continues a run out of the outbox.
    pub(crate) fn make_still(&mut self, run: &mut Run) -> Result<(), Fault> {
        if let Some(seq) = run.drive.take() {
            self.unpost(seq)?;
        }
        Ok(())
    }

    /// Wakes a run that waits. A run that is at work notices by itself.
    pub(crate) fn wake(&mut self, run: &mut Run, why: String) -> Result<(), Fault> {
        if run.state == RunState::Waiting {
            self.journal(run, Entry::Resumed { why }, Provenance::default())?;
            self.make_ready(run)?;
        }
        Ok(())
    }

    /// Reports the end of a run to its parent run, in the same transaction.
    pub(crate) fn report(&mut self, child: &Run, outcome: &RunOutcome) -> Result<(), Fault> {
        let Some(parent) = child.parent else { return Ok(()) };
        let mut run = self.run(parent.run)?;
        run.provenance = run.provenance.join(&child.provenance);
        run.keep(child.kept_since);
        match parent.place {
            WaitReason::Call { proposal } => {
                crate::commands::complete_call(self, &mut run, proposal, child, outcome)?
            }
            WaitReason::Item { index } => {
                run.children.remove(&index);
                run.yielded.remove(&index);
                let entry = Entry::Collected { index, outcome: outcome.clone() };
                self.journal(&mut run, entry, child.provenance.clone())?;
            }
        }
        crate::commands::finish_if_still(self, &mut run)?;
        if !run.is_finished() {
            self.wake(&mut run, format!("{} ended", child.number))?;
        }
        self.put_run(&run)
    }

    /// Returns the share that a run may still use or lend. The remaining shares of its open children are theirs until
    /// they end.
    pub(crate) fn left(&mut self, run: &Run) -> Result<Share, Fault> {
        let of = |run: &Run| Share {
            tokens: run.limits.tokens.saturating_sub(run.used.tokens()),
            usd_micros: run.limits.usd_micros.map(|limit| limit.saturating_sub(run.used.usd_micros)),
            kept: run.limits.kept.saturating_sub(run.used.kept_bytes),
        };
        let mut left = of(run);
        // An item that has given up its place keeps no share. The batch's own limit holds for it when it goes on.
        let yielded: Vec<RunNumber> =
            run.yielded.keys().filter_map(|index| run.children.get(index)).copied().collect();
        for child in run.open_children().filter(|child| !yielded.contains(child)).collect::<Vec<_>>() {
            let lent = of(&self.run(child)?);
            left.tokens = left.tokens.saturating_sub(lent.tokens);
            left.kept = left.kept.saturating_sub(lent.kept);
            left.usd_micros =
                left.usd_micros.map(|micros| micros.saturating_sub(lent.usd_micros.unwrap_or_default()));
        }
        Ok(left)
    }

    /// Returns every run above this one, nearest first.
    pub(crate) fn ancestors(&mut self, run: &Run) -> Result<Vec<Run>, Fault> {
        let mut above = Vec::new();
        let mut parent = run.parent;
        while let Some(link) = parent {
            let run = self.run(link.run)?;
            parent = run.parent;
            above.push(run);
        }
        Ok(above)
    }
}
