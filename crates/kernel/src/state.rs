//! One command at work: the transaction, the actor, and what the command has done so far.

use crate::command::{Command, Fault, Outcome};
use crate::env::Env;
use crate::event::{Change, Event};
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{BlobHash, FormulaId, MessageNumber, RunNumber, StepRef};
use crate::message::{Body, Mail, Message};
use crate::provenance::Provenance;
use crate::run::{Entry, Place, Run, RunOutcome, State as RunState, Step};
use crate::table::{self, FormulaRow, MailboxRow, PromiseRow, Task};
use crate::txn::{NOBODY, Owner, StoreFault, Table, Txn};

/// The state as one command sees and changes it.
pub(crate) struct State<'a> {
    pub(crate) txn: &'a mut dyn Txn,
    pub(crate) env: &'a Env,
    pub(crate) actor: FormulaId,
    pub(crate) outcome: Outcome,
    node: [u8; 32],
}

impl<'a> State<'a> {
    pub(crate) fn new(txn: &'a mut dyn Txn, env: &'a Env, command: &Command) -> Result<State<'a>, Fault> {
        let node = table::load(txn, Table::Meta, &NOBODY, b"node")?
            .map(|BlobHash(node)| node)
            .ok_or(Fault::Genesis("has not been made yet"))?;
        Ok(State { txn, env, actor: command.actor, outcome: Outcome::default(), node })
    }

    /// The state before there is any: for genesis alone.
    pub(crate) fn unborn(txn: &'a mut dyn Txn, env: &'a Env, node: [u8; 32]) -> State<'a> {
        let actor = FormulaId { number: env.number(), node };
        State { txn, env, actor, outcome: Outcome::default(), node }
    }

    pub(crate) fn owner(&self) -> Owner {
        self.actor.number
    }

    pub(crate) fn fresh_id(&self) -> FormulaId {
        FormulaId { number: self.env.number(), node: self.node }
    }

    pub(crate) fn put_formula(
        &mut self,
        id: FormulaId,
        formula: Formula,
        provenance: Provenance,
    ) -> Result<(), Fault> {
        let row = FormulaRow { formula, provenance };
        table::save(self.txn, Table::Formula, &NOBODY, &id.number, &row, Some(&row.provenance))?;
        Ok(())
    }

    pub(crate) fn formula(&mut self, id: &FormulaId) -> Result<Formula, Fault> {
        Ok(table::formula(self.txn, id)?.ok_or(Fault::Dangling(*id))?.formula)
    }

    pub(crate) fn put_grant(&mut self, grant: &Grant) -> Result<(), Fault> {
        let owner = self.owner();
        table::save(self.txn, Table::Grant, &owner, &grant.id.number, grant, None)?;
        Ok(())
    }

    pub(crate) fn grant(&mut self, id: &FormulaId) -> Result<Grant, Fault> {
        let owner = self.owner();
        table::grant(self.txn, &owner, id)?.ok_or(Fault::Dangling(*id))
    }

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

    /// The next number of a counter that lives in `Meta`, from 1.
    pub(crate) fn count(&mut self, name: &str) -> Result<u64, Fault> {
        let owner = self.owner();
        let next: u64 = table::load(self.txn, Table::Meta, &owner, name.as_bytes())?.unwrap_or(1);
        table::save(self.txn, Table::Meta, &owner, name.as_bytes(), &next.saturating_add(1), None)?;
        Ok(next)
    }

    pub(crate) fn event(&mut self, change: Change) -> Result<(), Fault> {
        let owner = self.owner();
        let last = table::last_event(self.txn, &owner)?;
        let (seq, prev) = last.map_or((1, BlobHash([0; 32])), |e| (e.seq + 1, e.hash));
        let event = Event::chained(seq, self.env.now_ms(), change, prev);
        table::save(self.txn, Table::Event, &owner, &table::number_key(seq), &event, None)?;
        self.outcome.last_event = seq;
        Ok(())
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

    /// Appends a step to the run's journal and returns its number. The run itself is the caller's to save.
    pub(crate) fn journal(
        &mut self,
        run: &mut Run,
        entry: Entry,
        provenance: Provenance,
    ) -> Result<u64, Fault> {
        let number = run.next_step;
        run.next_step += 1;
        let line = crate::line::of(&entry);
        let name = entry.name().to_owned();
        let step = Step { number, at_ms: self.env.now_ms(), entry, provenance };
        let owner = self.owner();
        let key = table::step_key(run.number, number);
        table::save(self.txn, Table::Journal, &owner, &key, &step, Some(&step.provenance))?;
        self.event(Change::Step { run: run.number, step: number, entry: name, line })?;
        Ok(number)
    }

    /// Delivers a message to the actor's own mailbox and returns its number there.
    pub(crate) fn deliver(
        &mut self,
        body: Body,
        reply_to: Option<MessageNumber>,
        needs_you: bool,
        provenance: Provenance,
    ) -> Result<MessageNumber, Fault> {
        let mailbox = self.mailbox()?;
        let owner = self.owner();
        let mut box_row: MailboxRow =
            table::load(self.txn, Table::Mailbox, &owner, &mailbox.number)?.unwrap_or_default();
        let number = MessageNumber(box_row.next);
        box_row.next += 1;
        table::save(self.txn, Table::Mailbox, &owner, &mailbox.number, &box_row, None)?;
        let run = match &body {
            Body::Approval { run, .. } => Some(*run),
            Body::Command { run, .. } => *run,
        };
        let kind = body.kind().to_owned();
        let id = self.fresh_id();
        let message =
            Message { from: self.actor, to: self.actor, sent_ms: self.env.now_ms(), reply_to, body };
        self.put_formula(id, Formula::Message { message: Box::new(message) }, provenance)?;
        let mail = Mail { message: id, answers: Default::default(), needs_you };
        self.put_mail(&mailbox, number, &mail)?;
        self.event(Change::Message { number, kind, run, needs_you })?;
        Ok(number)
    }

    pub(crate) fn put_mail(
        &mut self,
        mailbox: &FormulaId,
        number: MessageNumber,
        mail: &Mail,
    ) -> Result<(), Fault> {
        let owner = self.owner();
        let key = table::inner_key(mailbox, &table::number_key(number.0));
        table::save(self.txn, Table::Message, &owner, &key, mail, None)?;
        Ok(())
    }

    pub(crate) fn mailbox(&mut self) -> Result<FormulaId, Fault> {
        let actor = self.actor;
        match self.formula(&actor)? {
            Formula::Host { mailbox, .. } => Ok(mailbox),
            _ => Err(Fault::Dangling(actor)),
        }
    }

    /// Makes the run one that must go on.
    pub(crate) fn make_ready(&mut self, run: &mut Run) -> Result<(), Fault> {
        run.state = RunState::Ready;
        if run.drive.is_none() {
            run.drive = Some(self.post(Task::Drive { run: run.number })?);
        }
        self.outcome.ready.push(run.number);
        Ok(())
    }

    /// Takes the run out of the outbox.
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

    /// Settles the promise once.
    pub(crate) fn settle(&mut self, promise: &FormulaId, outcome: &RunOutcome) -> Result<(), Fault> {
        match table::promise(self.txn, promise)? {
            Some(PromiseRow::Pending) => {}
            Some(_) => return Ok(()),
            None => return Err(Fault::Dangling(*promise)),
        }
        let row = match outcome {
            RunOutcome::Done(value) => PromiseRow::Fulfilled { value: value.clone() },
            RunOutcome::Failed(trouble) => PromiseRow::Rejected { reason: trouble.message.raw().to_owned() },
        };
        self.put_promise(promise, &row)
    }

    pub(crate) fn put_promise(&mut self, id: &FormulaId, row: &PromiseRow) -> Result<(), Fault> {
        table::save(self.txn, Table::Promise, &NOBODY, &id.number, row, None)?;
        Ok(())
    }

    /// Tells the run above that this one has ended, in the same transaction.
    pub(crate) fn report(&mut self, child: &Run, outcome: &RunOutcome) -> Result<(), Fault> {
        let Some(parent) = child.parent else { return Ok(()) };
        let mut run = self.run(parent.run)?;
        run.provenance = run.provenance.join(&child.provenance);
        match parent.place {
            Place::Call { proposal } => {
                crate::commands::complete_call(self, &mut run, proposal, child, outcome)?
            }
            Place::Item { index } => {
                run.children.remove(&index);
                let entry = Entry::Collected { index, outcome: outcome.clone() };
                self.journal(&mut run, entry, child.provenance.clone())?;
            }
        }
        self.wake(&mut run, format!("{} ended", child.number))?;
        self.put_run(&run)
    }

    /// The tokens that a run may still use or lend: what its open children may still use is theirs until they end.
    pub(crate) fn left(&mut self, run: &Run) -> Result<u64, Fault> {
        let mut left = run.limits.tokens.saturating_sub(run.used.tokens());
        for child in run.open_children().collect::<Vec<_>>() {
            let child = self.run(child)?;
            left = left.saturating_sub(child.limits.tokens.saturating_sub(child.used.tokens()));
        }
        Ok(left)
    }

    /// Every run above this one, nearest first.
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

    pub(crate) fn note_blob(&mut self, hash: BlobHash, bytes: u64, from: &Provenance) -> Result<(), Fault> {
        let known = table::blob(self.txn, hash)?;
        let provenance = known.map_or_else(|| from.clone(), |row| row.provenance.join(from));
        let row = table::BlobRow { bytes, provenance };
        table::save(self.txn, Table::Blob, &NOBODY, &hash.0, &row, Some(&row.provenance))?;
        Ok(())
    }
}

/// A store that holds a row it should not is corrupt, whoever finds out.
impl From<&'static str> for Fault {
    fn from(what: &'static str) -> Fault {
        Fault::Store(StoreFault::Corrupt(what.to_owned()))
    }
}
