//! Mail, as one command changes it.

use passable::Untrusted;

use crate::command::Fault;
use crate::event::Change;
use crate::formula::{Agent, Formula};
use crate::id::{FormulaId, MessageNumber, Number};
use crate::message::{Answer, Body, EndowmentRecord, Envelope, Mail, Message};
use crate::partial_rows;
use crate::provenance::Provenance;
use crate::table::{self, MailboxRow};
use crate::txn::Table;

use super::State;

/// The maximum number of endowments of one definition whose results the mailbox keeps.
const ENDOWED: usize = 100;

/// A message in the actor's mailbox.
pub(crate) struct LoadedMessage {
    /// The number of the message.
    pub(crate) number: MessageNumber,
    /// The message's formula.
    pub(crate) id: FormulaId,
    /// The message itself.
    pub(crate) message: Message,
    /// The state of the message in the mailbox.
    pub(crate) mail: Mail,
}

impl LoadedMessage {
    /// Refuses to answer a message that its sender has withdrawn.
    pub(crate) fn expect_not_withdrawn(&self) -> Result<(), Fault> {
        match self.mail.answers.get(&0) {
            Some(Answer::Withdrawn { .. }) => Err(Fault::Withdrawn(self.number)),
            _ => Ok(()),
        }
    }
}

impl State<'_> {
    /// Sends a message from the actor to itself, and returns the number of the message.
    pub(crate) fn deliver(
        &mut self,
        body: Body,
        reply_to: Option<Number>,
        needs_you: bool,
        provenance: Provenance,
    ) -> Result<MessageNumber, Fault> {
        let actor = self.actor;
        self.send(&actor, body, reply_to, needs_you, provenance)
    }

    /// Sends a message to an agent, and returns the number of the message in the actor's mailbox. The message is one
    /// formula with a row in both mailboxes, or in one if the actor writes to itself.
    pub(crate) fn send(
        &mut self,
        to: &FormulaId,
        body: Body,
        reply_to: Option<Number>,
        needs_answer: bool,
        provenance: Provenance,
    ) -> Result<MessageNumber, Fault> {
        let (sender, recipient) = (self.self_agent()?, self.agent(to)?);
        let is_own = *to == self.actor;
        if !is_own {
            self.expect_mail_room()?;
        }
        let message =
            Message { from: sender.handle, to: recipient.handle, sent_ms: self.env.now_ms(), reply_to, body };
        let envelope_of = |id: &FormulaId, message: &Message| Envelope {
            id: Number(id.number),
            kind: message.body.kind().to_owned(),
            from: Number(message.from.number),
            to: Number(message.to.number),
            sent_ms: message.sent_ms,
            reply_to: message.reply_to,
        };
        let id = self.fresh_id();
        let envelope = envelope_of(&id, &message);
        let formula = Formula::Message { message: Box::new(message.clone()) };
        self.put_formula(id, formula, provenance.clone())?;
        let post = |state: &mut Self, whose: FormulaId, agent: Agent, needs_you: bool| {
            let mail = Mail {
                envelope: envelope.clone(),
                message: Some(id),
                answers: Default::default(),
                needs_you,
                dismissed_ms: None,
                done: 0,
                endowed: vec![],
                outcome: None,
            };
            state.drop_in(&whose, &agent, &message, mail)
        };
        let number = post(self, *to, recipient, needs_answer)?;
        if is_own || planted!(self.env, OneCopyMissing) {
            return Ok(number);
        }
        let actor = self.actor;
        let number = post(self, actor, sender, false)?;
        self.count_mail(&message, &provenance)?;
        Ok(number)
    }

    /// Puts a question into the mailbox of a host, in that host's own name.
    pub(super) fn ask_host(
        &mut self,
        host: &FormulaId,
        body: Body,
        provenance: Provenance,
    ) -> Result<(), Fault> {
        let actor = std::mem::replace(&mut self.actor, *host);
        let seq = self.outcome.last_event;
        let posted = self.deliver(body, None, true, provenance);
        self.actor = actor;
        self.outcome.last_event = seq;
        posted.map(drop)
    }

    fn drop_in(
        &mut self,
        whose: &FormulaId,
        agent: &Agent,
        message: &Message,
        mail: Mail,
    ) -> Result<MessageNumber, Fault> {
        let owner = whose.number;
        let mut row: MailboxRow =
            table::load(self.txn, Table::Mailbox, &owner, &agent.mailbox.number)?.unwrap_or_default();
        let number = row.assign(matches!(message.body, Body::Command { .. }));
        table::save(self.txn, Table::Mailbox, &owner, &agent.mailbox.number, &row, None)?;
        let index = table::inner_key(&agent.mailbox, &mail.envelope.id.0);
        table::save(self.txn, Table::Mailbox, &owner, &index, &number, None)?;
        let id = self.id_of(mail.envelope.id);
        self.tie(&agent.mailbox, &format!("message {number}"), &id)?;
        self.hold(&Number(owner), &id, b"m", &id.number)?;
        for reference in held_formulas(message, agent) {
            self.hold(&Number(owner), &reference, b"m", &id.number)?;
        }
        let change = Change::Message {
            number,
            kind: mail.envelope.kind.clone(),
            run: message.body.run(),
            needs_you: mail.needs_you,
            digest: crate::audit::digest(message)?,
        };
        let key = table::inner_key(&agent.mailbox, &table::message_key(number));
        table::save(self.txn, Table::Message, &owner, &key, &mail, None)?;
        if mail.needs_you {
            table::save(self.txn, Table::Awaiting, &owner, &key, &true, None)?;
        }
        let seq = self.event_for(&owner, change)?;
        if owner == self.owner() {
            self.outcome.last_event = seq;
        }
        Ok(number)
    }

    /// Saves the state of a message in a mailbox, and adds or removes the row of a message that awaits an answer.
    pub(crate) fn put_mail_of(
        &mut self,
        owner: &crate::txn::Owner,
        mailbox: &FormulaId,
        number: MessageNumber,
        mail: &Mail,
    ) -> Result<(), Fault> {
        let key = table::inner_key(mailbox, &table::message_key(number));
        table::save(self.txn, Table::Message, owner, &key, mail, None)?;
        if mail.needs_you {
            table::save(self.txn, Table::Awaiting, owner, &key, &true, None)?;
        } else if !planted!(self.env, AnsweredStaysOpen) {
            self.txn.delete(Table::Awaiting, owner, &key)?;
        }
        Ok(())
    }

    pub(crate) fn put_mail(&mut self, number: MessageNumber, mail: &Mail) -> Result<(), Fault> {
        let (owner, mailbox) = (self.owner(), self.self_agent()?.mailbox);
        self.put_mail_of(&owner, &mailbox, number, mail)
    }

    /// Returns the message under this number in the actor's mailbox.
    pub(crate) fn letter(&mut self, number: MessageNumber) -> Result<LoadedMessage, Fault> {
        let (owner, mailbox) = (self.owner(), self.self_agent()?.mailbox);
        let mail = table::mail(self.txn, &owner, &mailbox, number)?.ok_or(Fault::NoMessage(number))?;
        let id = mail.message.ok_or(Fault::NoMessage(number))?;
        match partial_rows::message(self.txn, &id)? {
            Some(message) => Ok(LoadedMessage { number, id, message, mail }),
            None => Err(Fault::Dangling(id)),
        }
    }

    /// Returns the identity of a message in the actor's mailbox, which all copies of the message share. Returns
    /// `None` if no message has the number.
    pub(crate) fn message_of(&mut self, number: MessageNumber) -> Result<Option<Number>, Fault> {
        let (owner, mailbox) = (self.owner(), self.self_agent()?.mailbox);
        Ok(table::mail(self.txn, &owner, &mailbox, number)?.map(|mail| mail.envelope.id))
    }

    /// Returns the message under a number in the actor's mailbox, if the actor received it and may answer it.
    pub(crate) fn received(
        &mut self,
        number: MessageNumber,
        what: &'static str,
    ) -> Result<LoadedMessage, Fault> {
        let letter = self.letter(number)?;
        if letter.message.to != self.self_agent()?.handle {
            let kind = letter.message.body.kind().to_owned();
            return Err(Fault::WrongKind { number, kind: format!("{kind} that you sent"), what });
        }
        letter.expect_not_withdrawn()?;
        Ok(letter)
    }

    /// Returns the agent behind a handle.
    pub(crate) fn agent_of(&mut self, handle: &FormulaId) -> Result<FormulaId, Fault> {
        // Most agents hold the address itself, so that no grant has to be checked.
        if let Some(agent) = self.head(handle)?.addressee() {
            return Ok(agent);
        }
        match self.through(handle, "receive")? {
            (_, Formula::Handle { agent }) => Ok(agent),
            (id, Formula::Host { .. } | Formula::Guest { .. }) => Ok(id),
            (_, other) => Err(Fault::Misfit {
                what: format!(
                    "{} has no mailbox: mail goes to a handle",
                    passable::with_article(other.kind())
                ),
            }),
        }
    }

    /// Returns the agent who is the other party of a message of the actor's.
    pub(crate) fn other_party(&mut self, letter: &LoadedMessage) -> Result<FormulaId, Fault> {
        let own = self.self_agent()?.handle;
        let other = if letter.message.from == own { letter.message.to } else { letter.message.from };
        self.agent_of(&other)
    }

    /// Hides a message and drops its references; the envelope stays.
    pub(crate) fn dismiss(&mut self, number: MessageNumber) -> Result<(), Fault> {
        let letter = self.letter(number)?;
        let mailbox = self.self_agent()?.mailbox;
        let me = self.me();
        self.untie(&mailbox, &format!("message {number}"), &letter.id)?;
        for one in &letter.mail.endowed {
            self.untie(&mailbox, &one.label(number), &one.result)?;
        }
        self.unhold(&me, &letter.id, b"m", &letter.id.number)?;
        for reference in held_formulas(&letter.message, &self.self_agent()?) {
            if !planted!(self.env, HeldAfterDismissal) {
                self.unhold(&me, &reference, b"m", &letter.id.number)?;
            }
        }
        if planted!(self.env, NumberUsedAgain) {
            let row = MailboxRow { next: number.message(), commands: 0 };
            table::save(self.txn, Table::Mailbox, &me.0, &mailbox.number, &row, None)?;
        }
        let mut mail = letter.mail;
        mail.message = None;
        mail.needs_you = false;
        mail.endowed.clear();
        mail.outcome = None;
        mail.dismissed_ms = Some(self.env.now_ms());
        self.put_mail(number, &mail)?;
        self.event(Change::Dismissed { number })
    }

    /// Records the answer to a message in the actor's mailbox that asks for one thing.
    pub(crate) fn mark_answered(&mut self, letter: &mut LoadedMessage, answer: Answer) -> Result<(), Fault> {
        letter.mail.answers.insert(0, answer);
        letter.mail.needs_you = false;
        self.put_mail(letter.number, &letter.mail)?;
        let over = self.env.surface();
        self.event(Change::Answered { number: letter.number, needs_you: false, over })
    }

    /// Records that a definition was endowed, and keeps the result as long as the message lies in the mailbox.
    pub(crate) fn mark_endowed(
        &mut self,
        mut letter: LoadedMessage,
        made: FormulaId,
        result: FormulaId,
    ) -> Result<(), Fault> {
        let (at_ms, mailbox) = (self.env.now_ms(), self.self_agent()?.mailbox);
        let one = EndowmentRecord { made, result, at_ms, after: letter.mail.done };
        self.tie(&mailbox, &one.label(letter.number), &result)?;
        letter.mail.done += 1;
        letter.mail.endowed.push(one);
        if letter.mail.endowed.len() > ENDOWED {
            let oldest = letter.mail.endowed.remove(0);
            self.untie(&mailbox, &oldest.label(letter.number), &oldest.result)?;
        }
        self.mark_answered(&mut letter, Answer::Approved { for_run: false, at_ms })
    }

    /// Records in the recipient's mailbox that the sender has withdrawn the message.
    pub(crate) fn mark_withdrawn(
        &mut self,
        id: &FormulaId,
        message: &Message,
        reason: &Untrusted,
    ) -> Result<(), Fault> {
        // A recipient that was collected has no mailbox any more.
        let Some(Formula::Handle { agent }) = table::formula(self.txn, &message.to)?.map(|row| row.formula)
        else {
            return Ok(());
        };
        let Some(parts) = partial_rows::head(self.txn, &agent)?.and_then(|head| head.agent()) else {
            return Ok(());
        };
        let owner = agent.number;
        let Some(number) = table::mail_number(self.txn, &owner, &parts.mailbox, &Number(id.number))? else {
            return Ok(());
        };
        let Some(mut mail) = table::mail(self.txn, &owner, &parts.mailbox, number)? else { return Ok(()) };
        let at_ms = self.env.now_ms();
        mail.answers.insert(0, Answer::Withdrawn { reason: reason.clone(), at_ms });
        mail.needs_you = false;
        self.put_mail_of(&owner, &parts.mailbox, number, &mail)?;
        self.event_for(&owner, Change::Answered { number, needs_you: false, over: None })?;
        Ok(())
    }
}

/// Returns the formulas that an agent holds because a message lies in its mailbox. The recipient holds the values
/// that were sent. The values that a request for evaluation names stay the sender's; the recipient only agrees to
/// their use. The sender holds the promise that it waits for, but not the values that it gave away, nor the right to
/// answer itself. Its own mail address is left out, because every agent has that anyway.
fn held_formulas(message: &Message, whose: &Agent) -> Vec<FormulaId> {
    let mut all = all_held_formulas(message, whose);
    all.retain(|id| *id != whose.handle);
    all
}

fn all_held_formulas(message: &Message, whose: &Agent) -> Vec<FormulaId> {
    let asked = message.body.asks();
    let mut all = vec![message.from, message.to];
    match &message.body {
        Body::EvalRequest { .. } if message.from != whose.handle => {
            all.extend(asked.map(|(promise, _)| promise))
        }
        _ if message.to == whose.handle => return message.references(),
        Body::EvalRequest { ids, .. } => {
            all.extend(asked.map(|(promise, _)| promise));
            all.extend(ids);
        }
        Body::Definition { definition, promise, .. } => all.extend([*definition, *promise]),
        _ => all.extend(asked.map(|(promise, _)| promise)),
    }
    all
}
