//! One command at work: the transaction, the actor, and the changes so far.

pub(crate) mod code_owner;
pub(crate) mod collector;
mod command_message;
mod confusables;
mod families;
pub(crate) mod follow;
mod grants;
mod graph;
mod mail;
mod mail_quota;
mod names;
mod places;
mod promise;
mod runs;
mod timers;

use std::collections::{BTreeMap, BTreeSet};

use crate::command::{Command, Fault, Outcome};
use crate::env::Env;
use crate::event::{Change, Event};
use crate::formula::{Agent, Formula};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number};
use crate::partial_rows::{self, Head};
use crate::provenance::{Provenance, Source};
use crate::query::recorders;
use crate::table::{self, FormulaRow};
use crate::txn::{NO_OWNER, Owner, StoreFault, Table, Txn};

pub(crate) use command_message::{EndedObject, MessageSubject};
pub(crate) use grants::Gift;
pub(crate) use mail::LoadedMessage;

/// The state as one command sees and changes it.
pub(crate) struct State<'a> {
    pub(crate) txn: &'a mut dyn Txn,
    pub(crate) env: &'a Env,
    pub(crate) actor: FormulaId,
    pub(crate) outcome: Outcome,
    node: [u8; 32],
    endo: FormulaId,
    /// Formulas that this command made.
    made: BTreeSet<FormulaId>,
    /// Heads of formulas that this command has read. They stay valid, because formulas do not change.
    heads: BTreeMap<FormulaId, Head>,
    /// References that this command added, each with its source and its target.
    tied: Vec<(FormulaId, FormulaId)>,
    /// Formulas to which this command dropped a reference.
    loosened: BTreeSet<FormulaId>,
    /// The formulas that this command has passed on, by recipient, name and formula, each with the formula that the
    /// recipient got. A value that holds the same formula many times is walked once.
    given: BTreeMap<grants::GiftKey, FormulaId>,
    /// Whether a person insists on a name that looks like another one.
    pub(crate) forced: bool,
    /// A name that this command removes. A new name may look like it.
    pub(crate) leaving: Option<names::Spot>,
    /// The current depth of values inside of values that are being passed on.
    giving: usize,
    /// The message that records the command, once it was sent.
    pub(crate) command_message: Option<MessageNumber>,
    /// The grants and runs that the command has ended.
    pub(crate) ended: Vec<EndedObject>,
}

impl<'a> State<'a> {
    pub(crate) fn new(txn: &'a mut dyn Txn, env: &'a Env, command: &Command) -> Result<State<'a>, Fault> {
        let node = table::load(txn, Table::Meta, &NO_OWNER, b"node")?
            .map(|BlobHash(node)| node)
            .ok_or(Fault::Genesis("has not been made yet"))?;
        let endo = table::endo(txn)?.ok_or(Fault::Genesis("has not been made yet"))?;
        if collector::is_going(txn, &command.actor)? {
            return Err(Fault::Dangling(command.actor));
        }
        let mut state = State::with(txn, env, command.actor, node, endo);
        let actor = state.actor;
        if state.head(&actor)?.agent().is_none() {
            // The formula of least authority cannot act, and neither can a formula that is no agent.
            let kind = state.formula(&actor)?.kind();
            return Err(Fault::NotAllowed(format!("a {kind} does nothing of its own")));
        }
        Ok(state)
    }

    /// Returns the state of an empty store, for genesis alone.
    pub(crate) fn unborn(txn: &'a mut dyn Txn, env: &'a Env, node: [u8; 32]) -> State<'a> {
        let fresh = || FormulaId { number: env.number(), node };
        let (actor, endo) = (fresh(), fresh());
        State::with(txn, env, actor, node, endo)
    }

    /// Returns the state of a store whose own host acts without a command.
    pub(crate) fn of_store(txn: &'a mut dyn Txn, env: &'a Env) -> Result<State<'a>, Fault> {
        const MISSING: Fault = Fault::Genesis("has not been made yet");
        let BlobHash(node) = table::load(txn, Table::Meta, &NO_OWNER, b"node")?.ok_or(MISSING)?;
        let endo = table::endo(txn)?.ok_or(MISSING)?;
        let host = table::host(txn)?.ok_or(MISSING)?;
        Ok(State::with(txn, env, host, node, endo))
    }

    fn with(
        txn: &'a mut dyn Txn,
        env: &'a Env,
        actor: FormulaId,
        node: [u8; 32],
        endo: FormulaId,
    ) -> State<'a> {
        State {
            txn,
            env,
            actor,
            outcome: Outcome::default(),
            node,
            endo,
            made: BTreeSet::new(),
            heads: BTreeMap::new(),
            tied: Vec::new(),
            loosened: BTreeSet::new(),
            given: BTreeMap::new(),
            forced: false,
            leaving: None,
            giving: 0,
            command_message: None,
            ended: Vec::new(),
        }
    }

    /// Returns the owner under which the actor's rows lie.
    pub(crate) fn owner(&self) -> Owner {
        self.actor.number
    }

    /// Returns the actor's number.
    pub(crate) fn me(&self) -> Number {
        Number(self.actor.number)
    }

    /// Returns the root of the store.
    pub(crate) fn endo(&self) -> FormulaId {
        self.endo
    }

    pub(crate) fn fresh_id(&self) -> FormulaId {
        FormulaId { number: self.env.number(), node: self.node }
    }

    /// Returns the identifier of a formula of this node by its number.
    pub(crate) fn id_of(&self, number: Number) -> FormulaId {
        FormulaId { number: number.0, node: self.node }
    }

    pub(crate) fn put_formula(
        &mut self,
        id: FormulaId,
        formula: Formula,
        provenance: Provenance,
    ) -> Result<(), Fault> {
        let edges = formula.edges();
        let row = FormulaRow { formula, provenance };
        table::save(self.txn, Table::Formula, &NO_OWNER, &id.number, &row, Some(&row.provenance))?;
        self.made.insert(id);
        for (label, to) in edges {
            self.tie(&id, &label, &to)?;
        }
        Ok(())
    }

    /// Makes a formula and returns its identity.
    pub(crate) fn make(&mut self, formula: Formula, provenance: Provenance) -> Result<FormulaId, Fault> {
        let id = self.fresh_id();
        self.put_formula(id, formula, provenance)?;
        Ok(id)
    }

    pub(crate) fn formula(&mut self, id: &FormulaId) -> Result<Formula, Fault> {
        Ok(table::formula(self.txn, id)?.ok_or(Fault::Dangling(*id))?.formula)
    }

    /// Returns the head of a formula. Each head is read only once.
    pub(crate) fn head(&mut self, id: &FormulaId) -> Result<Head, Fault> {
        if let Some(head) = self.heads.get(id) {
            return Ok(*head);
        }
        let head = partial_rows::head(self.txn, id)?.ok_or(Fault::Dangling(*id))?;
        self.heads.insert(*id, head);
        Ok(head)
    }

    /// Returns the parts of an agent. A formula that is no agent is a fault.
    pub(crate) fn agent(&mut self, id: &FormulaId) -> Result<Agent, Fault> {
        self.head(id)?.agent().ok_or_else(|| Fault::NotAllowed("this is no agent".to_owned()))
    }

    /// Returns the parts of the actor.
    pub(crate) fn self_agent(&mut self) -> Result<Agent, Fault> {
        let actor = self.actor;
        self.agent(&actor)
    }

    /// Returns whether the actor acts for a person.
    pub(crate) fn is_host(&mut self) -> Result<bool, Fault> {
        let actor = self.actor;
        Ok(self.head(&actor)?.is_host())
    }

    /// Refuses an act that only a host may perform.
    pub(crate) fn hosts_only(&mut self, what: &str) -> Result<(), Fault> {
        if self.is_host()? { Ok(()) } else { Err(Fault::NotAllowed(format!("only a host can {what}"))) }
    }

    /// Refuses an act that only the daemon may perform; the daemon acts as the store's own host.
    pub(crate) fn daemon_only(&mut self, what: &str) -> Result<(), Fault> {
        match table::host(self.txn)? == Some(self.actor) {
            true => Ok(()),
            false => Err(Fault::NotAllowed(format!("only the daemon can {what}"))),
        }
    }

    /// Returns the provenance of the actor's words.
    pub(crate) fn said(&mut self) -> Result<Provenance, Fault> {
        let source = if self.is_host()? { Source::Host } else { Source::Agent(self.me()) };
        Ok(Provenance::of(source))
    }

    /// Returns the provenance of a formula.
    pub(crate) fn provenance_of(&mut self, id: &FormulaId) -> Result<Provenance, Fault> {
        Ok(table::formula(self.txn, id)?.ok_or(Fault::Dangling(*id))?.provenance)
    }

    /// Returns the next number of a counter that lives in `Meta`, from 1.
    pub(crate) fn count(&mut self, name: &str) -> Result<u64, Fault> {
        let owner = self.owner();
        let next: u64 = table::load(self.txn, Table::Meta, &owner, name.as_bytes())?.unwrap_or(1);
        table::save(self.txn, Table::Meta, &owner, name.as_bytes(), &next.saturating_add(1), None)?;
        Ok(next)
    }

    pub(crate) fn event(&mut self, change: Change) -> Result<(), Fault> {
        let owner = self.owner();
        let seq = self.event_for(&owner, change)?;
        self.outcome.last_event = seq;
        Ok(())
    }

    /// Appends an event to the log of any agent and returns its number.
    pub(crate) fn event_for(&mut self, owner: &Owner, change: Change) -> Result<u64, Fault> {
        if let Some(recorder) = self.env.recorder()
            && recorders::last(self.txn, owner)?.as_ref() != Some(recorder)
        {
            let seq = self.append_event(owner, Change::Opened { by: recorder.clone() })?;
            recorders::note(self.txn, owner, seq)?;
        }
        self.append_event(owner, change)
    }

    fn append_event(&mut self, owner: &Owner, change: Change) -> Result<u64, Fault> {
        let last = partial_rows::log_end(self.txn, owner)?;
        let (seq, prev) = last.map_or((1, BlobHash([0; 32])), |e| (e.seq + 1, e.hash));
        let prev = if planted!(self.env, ChainBroken) && seq % 50 == 0 { BlobHash([0; 32]) } else { prev };
        let event = Event::chained(seq, self.env.now_ms(), change, prev);
        table::save(self.txn, Table::Event, owner, &table::number_key(seq), &event, None)?;
        Ok(seq)
    }

    pub(crate) fn note_blob(&mut self, hash: BlobHash, bytes: u64, from: &Provenance) -> Result<(), Fault> {
        let known = table::blob(self.txn, hash)?;
        let provenance = known.map_or_else(|| from.clone(), |row| row.provenance.join(from));
        let row = table::BlobRow { bytes, provenance };
        table::save(self.txn, Table::Blob, &NO_OWNER, &hash.0, &row, Some(&row.provenance))?;
        Ok(())
    }
}

/// Converts a broken invariant: a store that holds an invalid row is corrupt.
impl From<&'static str> for Fault {
    fn from(what: &'static str) -> Fault {
        Fault::Store(StoreFault::Corrupt(what.to_owned()))
    }
}
