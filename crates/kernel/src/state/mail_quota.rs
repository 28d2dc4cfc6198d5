//! The quota of mail for agents below the store's own host. Without it, an agent could fill the disk with messages that
//! nobody asked for.
//!
//! The message that reaches the quota is sent, and the agent's host is asked for more. Every later message is refused
//! until the host has said yes.

use serde::{Deserialize, Serialize};

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, Number};
use crate::message::{Answer, Body, MailAmount, Message};
use crate::provenance::Provenance;
use crate::query;
use crate::table;
use crate::txn::{NO_OWNER, Table, encode_row};

use super::{LoadedMessage, State};

/// The mail that an agent has sent, and may send.
#[derive(Serialize, Deserialize)]
struct MailUse {
    sent: MailAmount,
    allowed: MailAmount,
    /// Whether the host has said no to more.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    denied: bool,
}

impl Default for MailUse {
    fn default() -> MailUse {
        MailUse { sent: MailAmount::default(), allowed: MailAmount::QUOTA, denied: false }
    }
}

impl State<'_> {
    /// Refuses a message of the actor to another agent if the actor has used up its quota.
    pub(super) fn expect_mail_room(&mut self) -> Result<(), Fault> {
        let actor = self.actor;
        if self.host_above(&actor)?.is_none() {
            return Ok(());
        }
        let row = self.mail_use(&actor)?;
        if !row.sent.reaches(row.allowed) {
            return Ok(());
        }
        let state = if row.denied { "and has said no" } else { "and has not answered yet" };
        Err(Fault::NotAllowed(format!(
            "{} messages with {} bytes are sent, which is the quota; the host was asked for more, {state}",
            row.sent.messages, row.sent.bytes
        )))
    }

    /// Counts a message of the actor to another agent. If the message reaches the quota, the actor's host is asked for
    /// more.
    pub(super) fn count_mail(&mut self, message: &Message, provenance: &Provenance) -> Result<(), Fault> {
        let actor = self.actor;
        let Some(host) = self.host_above(&actor)? else { return Ok(()) };
        let mut row = self.mail_use(&actor)?;
        row.sent = row.sent.plus(MailAmount { messages: 1, bytes: encode_row(message)?.len() as u64 });
        row.denied = false;
        self.put_mail_use(&actor, &row)?;
        if !row.sent.reaches(row.allowed) {
            return Ok(());
        }
        let host = self.agent_of(&host)?;
        // The host's name for the address is the one that it chose. The agent itself often has none.
        let handle = self.agent(&actor)?.handle;
        let path = match query::path_to(self.txn, &host, &handle)? {
            None => query::path_to(self.txn, &host, &actor)?,
            named => named,
        };
        let name = path.map_or_else(|| actor.short(), |path| path.join("/"));
        let body = Body::MailQuota { sender: actor, name, sent: row.sent, offer: MailAmount::QUOTA };
        self.ask_host(&host, body, provenance.clone())
    }

    /// Applies the host's answer to a question for more mail.
    pub(crate) fn answer_mail_quota(
        &mut self,
        mut letter: LoadedMessage,
        sender: &FormulaId,
        offer: MailAmount,
        answer: Answer,
    ) -> Result<(), Fault> {
        let mut row = self.mail_use(sender)?;
        match &answer {
            Answer::Approved { .. } => {
                // The last message may have gone far beyond the quota.
                row.allowed = MailAmount {
                    messages: row.allowed.messages.max(row.sent.messages),
                    bytes: row.allowed.bytes.max(row.sent.bytes),
                }
                .plus(offer);
                row.denied = false;
            }
            _ => row.denied = true,
        }
        self.put_mail_use(sender, &row)?;
        self.mark_answered(&mut letter, answer)
    }

    /// Lets an agent send one more message after its host has dismissed its own no. That message asks again.
    pub(crate) fn reopen_mail_quota(&mut self, sender: &FormulaId) -> Result<(), Fault> {
        let mut row = self.mail_use(sender)?;
        if row.denied {
            let one = MailAmount { messages: 1, bytes: 1 };
            row.allowed = row.sent.plus(one);
            row.denied = false;
            self.put_mail_use(sender, &row)?;
        }
        Ok(())
    }

    /// Removes the row of an agent that is gone.
    pub(crate) fn forget_mail_use(&mut self, agent: &FormulaId) -> Result<(), Fault> {
        Ok(self.txn.delete(Table::Meta, &NO_OWNER, &key(agent))?)
    }

    fn mail_use(&mut self, agent: &FormulaId) -> Result<MailUse, Fault> {
        Ok(table::load(self.txn, Table::Meta, &NO_OWNER, &key(agent))?.unwrap_or_default())
    }

    fn put_mail_use(&mut self, agent: &FormulaId, row: &MailUse) -> Result<(), Fault> {
        Ok(table::save(self.txn, Table::Meta, &NO_OWNER, &key(agent), row, None)?)
    }

    /// Returns the handle of the host of an agent, or `None` for the store's own host.
    fn host_above(&mut self, agent: &FormulaId) -> Result<Option<FormulaId>, Fault> {
        if table::host(self.txn)? == Some(*agent) {
            return Ok(None);
        }
        Ok(match self.formula(agent)? {
            Formula::Guest { host, .. } | Formula::Host { host, .. } => Some(host),
            _ => None,
        })
    }
}

/// Returns the key of an agent's row.
fn key(agent: &FormulaId) -> Vec<u8> {
    let Number(number) = Number(agent.number);
    [b"mail of ", &number[..]].concat()
}
