//! A store under simulation: its agents, the knowledge of its clients, and the replies that they were promised.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use kernel::command::{
    Act, Choice, Command, CommandSubject, Fault, GrantAct, MailAct, Outcome, Reply, UserCommand,
};
use kernel::env::Env;
use kernel::formula::Formula;
use kernel::message::{Body, Mail};
use kernel::run::Run;
use kernel::table::{self, Task};
use kernel::txn::{NO_OWNER, Owner, ReadTxn as _, Table, decode_row};
use kernel::{FormulaId, MessageNumber, RunNumber};
use passable::Untrusted;

use crate::bug::Planted;
use crate::counts::{self, Counts};
use crate::image::{Change, Image};
use crate::laws::{self, Broken};
use crate::random::Random;

/// An agent that was made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Agent {
    pub(crate) id: FormulaId,
    pub(crate) handle: FormulaId,
    pub(crate) is_host: bool,
}

/// An event that the tables do not show. Only events that survived count.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Fact {
    /// Somebody filled in this form.
    Submitted { form: FormulaId },
    /// Somebody used the token.
    Accepted { token: [u8; 32] },
    /// The grant was revoked.
    Revoked { grant: FormulaId },
    /// The host may see the result; the promise gets nothing but data unless the result is released.
    DataOnly { promise: FormulaId },
    /// A withheld result was released, or may have come another way.
    MayCarry { promise: FormulaId },
}

/// A command that was applied and not acknowledged.
struct Applied {
    changes: Vec<Change>,
    /// How many facts there were before.
    facts: usize,
    /// A call that can be repeated: who made it, and the promise that it returned.
    call: Option<(FormulaId, Act, FormulaId)>,
}

pub(crate) struct Simulation {
    pub(crate) store: Image,
    pub(crate) random: Random,
    pub(crate) now_ms: i64,
    pub(crate) agents: Vec<Agent>,
    pub(crate) letters: HashMap<Owner, BTreeMap<MessageNumber, Mail>>,
    pub(crate) runs: BTreeMap<(Owner, u64), Run>,
    /// Endowed code that has no outcome.
    pub(crate) evals: BTreeSet<FormulaId>,
    /// Who made a formula, by the command that wrote it.
    pub(crate) makers: HashMap<[u8; 32], FormulaId>,
    /// Identifiers that somebody has seen.
    pub(crate) seen: Vec<FormulaId>,
    pub(crate) tokens: Vec<[u8; 32]>,
    pub(crate) facts: Vec<Fact>,
    pub(crate) counts: Counts,
    /// The newest acknowledged event of every agent, byte for byte.
    pub(crate) acknowledged: HashMap<Owner, (Vec<u8>, Vec<u8>)>,
    pub(crate) last_prompt: HashMap<(Owner, u64), u64>,
    pending: Vec<Applied>,
    ticks: u64,
    planted: Planted,
}

impl Simulation {
    pub(crate) fn new(seed: u64, planted: Planted) -> Simulation {
        let mut random = Random::new(seed);
        let mut store = Image::new();
        let env = Env::new(1_000, random.bytes());
        let host = kernel::genesis(&mut store, &env).unwrap();
        store.take_changes();
        let handle = table::formula(&mut store, &host).unwrap().unwrap().formula.agent().unwrap().handle;
        Simulation {
            store,
            random,
            now_ms: 1_000,
            agents: vec![Agent { id: host, handle, is_host: true }],
            letters: HashMap::new(),
            runs: BTreeMap::new(),
            evals: BTreeSet::new(),
            makers: HashMap::new(),
            seen: vec![host],
            tokens: Vec::new(),
            facts: Vec::new(),
            counts: Counts::default(),
            acknowledged: HashMap::new(),
            last_prompt: HashMap::new(),
            pending: Vec::new(),
            ticks: 0,
            planted,
        }
    }

    pub(crate) fn root(&self) -> FormulaId {
        self.agents[0].id
    }

    /// Returns an environment that no command had before.
    pub(crate) fn env(&mut self) -> Env {
        self.ticks += 1;
        self.now_ms += i64::try_from(self.random.below(50)).unwrap();
        let mut entropy = self.random.bytes();
        entropy[..8].copy_from_slice(&self.ticks.to_le_bytes());
        self.planted.env(self.now_ms, entropy)
    }

    /// Applies a command as a group-committing store does, and checks the laws that hold for every command.
    pub(crate) fn apply(&mut self, actor: FormulaId, act: Act) -> Result<Result<Outcome, Fault>, Broken> {
        let said = self
            .random
            .one_in(16)
            .then(|| UserCommand { verb: "do".to_owned(), text: Untrusted::new("as it was typed") });
        let about = CommandSubject::from_act(&act);
        let applied = self.apply_said(actor, act, said.clone())?;
        // The daemon keeps a person's command also when it was refused.
        if let (Err(fault), Some(said)) = (&applied, said)
            && !matches!(fault, Fault::Store(_))
        {
            let why = Untrusted::new(fault.to_string());
            self.apply_said(actor, Act::Refused { about, why }, Some(said))?.ok();
        }
        Ok(applied)
    }

    fn apply_said(
        &mut self,
        actor: FormulaId,
        act: Act,
        said: Option<UserCommand>,
    ) -> Result<Result<Outcome, Fault>, Broken> {
        let name = counts::act_name(&act);
        let env = self.env();
        let before = laws::choice::before(self, &actor, &act);
        let due = laws::ticks::before(self, &act);
        let moves = if let Act::Advance(advance) = &act {
            advance.moves.iter().map(counts::move_name).collect()
        } else {
            vec![]
        };
        // Now and then the disk is full in the middle of a command.
        self.store.room = self.random.one_in(400).then(|| self.random.below(12));
        let command = Command { actor, act: act.clone(), said };
        let result = kernel::apply(&mut self.store, &env, command);
        self.store.room = None;
        let outcome = match result {
            Err(fault) => {
                self.store.roll_back();
                self.counts.refused(name, &fault);
                // A store that is not whole is no answer to anything that a client can do.
                if let Fault::Store(kernel::txn::StoreFault::Corrupt(what)) = &fault {
                    return Err(Broken::of("a-store-is-never-corrupt", format!("{name}: {what}")));
                }
                return Ok(Err(fault));
            }
            Ok(outcome) => outcome,
        };
        self.counts.applied(name);
        for step in moves {
            self.counts.moved(step);
        }
        let changes = self.store.take_changes();
        let facts = self.facts.len();
        self.learn(&actor, &changes)?;
        laws::step::check(self, &actor, &changes)?;
        if let Some(before) = before {
            laws::choice::after(self, &before, &outcome.reply)?;
        }
        if let Some(due) = due {
            laws::ticks::after(self, &due, &changes, &outcome.reply)?;
        }
        self.note(&actor, &act, &outcome.reply);
        laws::step::once(self, facts)?;
        let call = match &outcome.reply {
            Reply::RequestSent { promise, .. } if result_name(&act).is_some() => Some((actor, act, *promise)),
            _ => None,
        };
        self.pending.push(Applied { changes, facts, call });
        Ok(Ok(outcome))
    }

    /// Updates the knowledge of clients with the written rows.
    fn learn(&mut self, actor: &FormulaId, changes: &[Change]) -> Result<(), Broken> {
        for change in changes {
            match change.table {
                Table::Formula if change.before.is_none() => {
                    let number: [u8; 32] = change.key().try_into().unwrap();
                    self.makers.insert(number, *actor);
                    if self.seen.len() < 400 {
                        self.seen.push(FormulaId { number, node: actor.node });
                    }
                }
                Table::Message => {
                    let order = u64::from_be_bytes(change.key()[32..].try_into().unwrap());
                    let number = MessageNumber::from_order(order);
                    let mail =
                        self.store.at(change).map(|row| decode_row::<Mail>(Table::Message, row).unwrap());
                    let letters = self.letters.entry(change.owner()).or_default();
                    match mail {
                        Some(mail) => letters.insert(number, mail),
                        None => letters.remove(&number),
                    };
                }
                Table::Run => {
                    let number = u64::from_be_bytes(change.key().try_into().unwrap());
                    if let Some(row) = self.store.at(change) {
                        let run = decode_row(Table::Run, row).unwrap();
                        self.runs.insert((change.owner(), number), run);
                    }
                }
                Table::Outbox => {
                    let row = self.store.at(change).or(change.before.as_deref());
                    if let Some(Task::Eval { eval }) = row.map(|row| decode_row(Table::Outbox, row).unwrap())
                    {
                        if self.store.at(change).is_some() {
                            self.evals.insert(eval);
                        } else {
                            self.evals.remove(&eval);
                        }
                    }
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Clients look at everything again, as they must after a crash.
    fn learn_again(&mut self) {
        self.letters.clear();
        for (place, row) in self.store.rows(Table::Message) {
            let owner: Owner = place[..32].try_into().unwrap();
            let order = u64::from_be_bytes(place[64..].try_into().unwrap());
            let number = MessageNumber::from_order(order);
            let mail = decode_row(Table::Message, row).unwrap();
            self.letters.entry(owner).or_default().insert(number, mail);
        }
        self.runs.clear();
        for (place, row) in self.store.rows(Table::Run) {
            let owner: Owner = place[..32].try_into().unwrap();
            let number = u64::from_be_bytes(place[32..].try_into().unwrap());
            self.runs.insert((owner, number), decode_row(Table::Run, row).unwrap());
        }
        self.evals.clear();
        for (_, row) in self.store.rows(Table::Outbox) {
            if let Task::Eval { eval } = decode_row(Table::Outbox, row).unwrap() {
                self.evals.insert(eval);
            }
        }
    }

    fn note(&mut self, actor: &FormulaId, act: &Act, reply: &Reply) {
        let fact = match (act, reply) {
            (Act::Mail(act), Reply::Sent { .. }) => match &**act {
                MailAct::Submit { number, .. } => {
                    self.message(actor, *number).map(|form| Fact::Submitted { form })
                }
                _ => None,
            },
            (Act::Grant(GrantAct::Accept { token, .. }), Reply::Made { .. }) => {
                Some(Fact::Accepted { token: token.0 })
            }
            (Act::Grant(GrantAct::Revoke { grant }), Reply::Done) => {
                let key = [b"n", &table::number_key(grant.0)[..]].concat();
                let id = table::load(&mut self.store, Table::Grant, &actor.number, &key).unwrap().unwrap();
                Some(Fact::Revoked { grant: id })
            }
            (Act::Answer(answer), Reply::Done) if matches!(answer.choice, Choice::Approve { .. }) => {
                match self.message(actor, answer.message).and_then(|id| self.formula(&id)) {
                    Some(Formula::Message { message }) => match message.body {
                        Body::Release { promise, .. } => Some(Fact::MayCarry { promise }),
                        _ => None,
                    },
                    _ => None,
                }
            }
            (Act::Provide(provide), Reply::Agent { agent, handle }) => {
                let is_host = provide.kind == kernel::command::AgentKind::Host;
                let agent = Agent { id: *agent, handle: *handle, is_host };
                if !self.agents.contains(&agent) {
                    self.agents.push(agent);
                }
                None
            }
            _ => None,
        };
        self.facts.extend(fact);
    }

    /// Returns the message under a number of an agent's.
    pub(crate) fn message(&self, agent: &FormulaId, number: MessageNumber) -> Option<FormulaId> {
        self.letters.get(&agent.number)?.get(&number)?.message
    }

    /// Returns the formula that a path of an agent leads to.
    pub(crate) fn found(&mut self, agent: FormulaId, path: &str) -> Option<FormulaId> {
        let view = kernel::name_lookup::View { agent, now_ms: self.now_ms };
        view.identify(&mut self.store, &kernel::NamePath::parse(path).ok()?).ok()
    }

    pub(crate) fn is_alive(&mut self, id: &FormulaId) -> bool {
        self.store.get(Table::Formula, &NO_OWNER, &id.number).unwrap().is_some()
    }

    pub(crate) fn formula(&mut self, id: &FormulaId) -> Option<Formula> {
        table::formula(&mut self.store, id).unwrap().map(|row| row.formula)
    }

    /// Commits the pending group to disk, and acknowledges its events.
    pub(crate) fn commit(&mut self) {
        for applied in self.pending.drain(..) {
            for change in applied.changes.into_iter().filter(|change| change.table == Table::Event) {
                if let Some(row) = self.store.at(&change) {
                    self.acknowledged.insert(change.owner(), (change.place.clone(), row.to_vec()));
                }
            }
        }
    }

    /// Crashes the machine, and starts it again. The first of the unacknowledged commands may be on disk.
    pub(crate) fn crash(&mut self) -> Result<(), Broken> {
        let kept = if self.random.one_in(2) { 0 } else { self.random.below(self.pending.len() + 1) };
        self.counts.fault(if kept == 0 { counts::LOST } else { counts::KEPT });
        let lost = self.pending.split_off(kept);
        let mut calls = Vec::new();
        for applied in lost.into_iter().rev() {
            self.store.undo(applied.changes);
            self.facts.truncate(applied.facts);
            calls.extend(applied.call.map(|call| (call, false)));
        }
        calls.reverse();
        calls.extend(
            self.pending.iter_mut().filter_map(|applied| applied.call.take().map(|call| (call, true))),
        );
        self.commit();
        self.learn_again();
        laws::check(self)?;
        self.recover()?;
        for ((actor, act, promise), kept) in calls {
            self.retry(actor, act, promise, kept)?;
        }
        self.commit();
        Ok(())
    }

    /// Starts the daemon, which resumes the outbox of every agent.
    pub(crate) fn recover(&mut self) -> Result<(), Broken> {
        let mut waiting: BTreeMap<Owner, BTreeSet<RunNumber>> = BTreeMap::new();
        let mut effects = Vec::new();
        for (place, row) in self.store.rows(Table::Outbox) {
            let owner: Owner = place[..32].try_into().unwrap();
            match decode_row(Table::Outbox, row).unwrap() {
                Task::Drive { run } => {
                    waiting.entry(owner).or_default().insert(run);
                }
                Task::Effect { step } => {
                    waiting.entry(owner).or_default().insert(step.run);
                    effects.push((owner, step));
                }
                Task::Eval { .. } => {}
            }
        }
        for (owner, step) in effects {
            let actor = FormulaId { number: owner, node: self.root().node };
            match kernel::reopen(&mut self.store, &actor, step) {
                Ok(Some(begun)) if begun.reopened() && begun.step() == step => {}
                // An agent may have released an object that the call used. Then the effect cannot be inspected, and
                // the journal records that.
                Err(Fault::Dangling(_)) if self.runs[&(owner, step.run.0)].is_agent_journal() => {}
                other => return Err(Broken::of("outbox-taken-up", format!("{step}: {other:?}"))),
            }
        }
        for (owner, runs) in waiting {
            let actor = FormulaId { number: owner, node: self.root().node };
            loop {
                match self.apply(actor, Act::Recover)? {
                    Ok(outcome) => {
                        let ready = outcome.ready.into_iter().filter(|one| one.host == actor);
                        let ready: BTreeSet<RunNumber> = ready.map(|one| one.run).collect();
                        if ready != runs {
                            let what = format!("{runs:?} wait, {ready:?} are taken up");
                            return Err(Broken::of("outbox-taken-up", what));
                        }
                        break;
                    }
                    Err(Fault::Store(_)) => {}
                    Err(fault) => return Err(Broken::of("outbox-taken-up", format!("{runs:?}: {fault}"))),
                }
            }
        }
        Ok(())
    }

    /// Repeats the call of a client that got no answer.
    fn retry(&mut self, actor: FormulaId, act: Act, promise: FormulaId, kept: bool) -> Result<(), Broken> {
        let Some(path) = result_name(&act).cloned() else { return Ok(()) };
        if !self.is_alive(&actor) {
            return Ok(());
        }
        self.counts.fault(counts::RETRIED);
        let view = kernel::name_lookup::View { agent: actor, now_ms: self.now_ms };
        let still = view.identify(&mut self.store, &path) == Ok(promise);
        match self.apply(actor, act)? {
            Ok(outcome) => {
                let attached = Reply::RequestSent { promise, number: None };
                if kept && still && outcome.reply != attached {
                    let what = format!("{path}: {:?} instead of {attached:?}", outcome.reply);
                    return Err(Broken::of("a-repeated-call-attaches", what));
                }
                if outcome.reply == attached {
                    self.counts.fault(counts::ATTACHED);
                }
                Ok(())
            }
            Err(Fault::Store(_)) => Ok(()),
            Err(fault) if kept && still => {
                Err(Broken::of("a-repeated-call-attaches", format!("{path}: {fault}")))
            }
            Err(_) => Ok(()),
        }
    }
}

/// Returns the name under which a repeated call finds the first one.
fn result_name(act: &Act) -> Option<&kernel::NamePath> {
    let Act::Mail(act) = act else { return None };
    match &**act {
        MailAct::Request { result_name, .. } | MailAct::RequestEvaluation { result_name, .. } => {
            result_name.as_ref()
        }
        MailAct::Define(define) => define.result_name.as_ref(),
        MailAct::Form(form) => form.result_name.as_ref(),
        _ => None,
    }
}
