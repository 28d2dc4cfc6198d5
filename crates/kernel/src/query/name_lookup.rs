//! Name lookup: the containers of names that a path leads through, and their entries.
//!
//! An agent is a container of its special names and its pet names. A directory contains its names, a mailbox its
//! messages by number, and a message its parts. A grant of a container acts as the container, as long as the grant
//! can be used.

mod parts;

use crate::command::Fault;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber};
use crate::message::{Mail, Message};
use crate::name::{NamePath, is_special_name};
use crate::partial_rows::head;
use crate::proposal::Value;
use crate::table::{self, PromiseRow};
use crate::txn::{Owner, ReadTxn, Table};

/// The target of a path.
#[derive(Clone, Debug, PartialEq)]
pub enum PathTarget {
    /// A formula.
    Formula(FormulaId),
    /// Data that is not a formula of its own, such as the text of a message.
    Data(Value),
}

/// The maximum number of lookups that lead through one another.
const MAX_DEPTH: usize = 32;

/// A container of names.
#[derive(Clone, Debug, PartialEq)]
pub enum NameContainer {
    /// An agent.
    Agent(FormulaId),
    /// A directory by its pet store and the owner of its rows.
    Directory {
        /// The pet store.
        store: FormulaId,
        /// The owner under which the rows of the directory lie.
        owner: Owner,
    },
    /// A mailbox.
    Mailbox {
        /// The mailbox.
        mailbox: FormulaId,
        /// The owner under which the rows of the mailbox lie.
        owner: Owner,
    },
    /// A message, as it lies in one mailbox.
    Message {
        /// The number of the message in the mailbox.
        number: MessageNumber,
        /// The message.
        id: FormulaId,
        /// Whether the mailbox is the recipient's.
        received: bool,
    },
}

/// The point of view of a name lookup: an agent and a time.
#[derive(Clone, Copy, Debug)]
pub struct View {
    /// The agent in whose directory paths begin.
    pub agent: FormulaId,
    /// The time against which grants are checked.
    pub now_ms: i64,
}

impl View {
    /// Returns the target of a path.
    ///
    /// # Errors
    /// [`Fault::UnknownName`] with Endo's text, and the faults of grants that cannot be used.
    pub fn resolve(&self, txn: &mut dyn ReadTxn, path: &NamePath) -> Result<PathTarget, Fault> {
        self.resolve_from(txn, None, path)
    }

    /// Returns the target of a path that begins in `base`, or at the agent if no `base` is given.
    pub(crate) fn resolve_from(
        &self,
        txn: &mut dyn ReadTxn,
        base: Option<&FormulaId>,
        path: &NamePath,
    ) -> Result<PathTarget, Fault> {
        let (here, looker) = self.beginning(txn, base, "lookup")?;
        Ok(looker.follow(txn, &here, path.names(), 0)?.0)
    }

    /// Returns the grants through which a path leads, from its beginning on. A grant that is the target of the path
    /// is left out.
    pub(crate) fn grants_on(
        &self,
        txn: &mut dyn ReadTxn,
        base: Option<&FormulaId>,
        path: &NamePath,
    ) -> Result<Vec<FormulaId>, Fault> {
        let (here, looker) = self.beginning(txn, base, "lookup")?;
        let mut passed: Vec<FormulaId> = base.copied().into_iter().collect();
        for end in 1..path.names().len() {
            if let (PathTarget::Formula(id), _) = looker.follow(txn, &here, &path.names()[..end], 0)? {
                passed.push(id);
                // The value of a promise may be a grant as well.
                passed.extend(settled_references(txn, &id)?);
            }
        }
        let mut grants = Vec::new();
        for id in passed {
            if table::grant(txn, &id)?.is_some() {
                grants.push(id);
            }
        }
        Ok(grants)
    }

    /// Returns the container in which paths begin, and the view of a lookup that goes on from there. The caller must
    /// have checked that the agent holds `base`.
    fn beginning(
        &self,
        txn: &mut dyn ReadTxn,
        base: Option<&FormulaId>,
        method: &str,
    ) -> Result<(NameContainer, View), Fault> {
        let Some(id) = base else { return Ok((NameContainer::Agent(self.agent), *self)) };
        let hub = self.enter(txn, &PathTarget::Formula(*id), method, 0)?;
        let hub = hub.ok_or_else(|| Fault::NotADirectory(format!("{:?}", id.short())))?;
        let looker = self.inside(&hub);
        Ok((hub, looker))
    }

    /// Returns the view of a lookup that goes on inside a container. In the mailbox of an agent, messages are seen as
    /// that agent sees them.
    fn inside(&self, hub: &NameContainer) -> View {
        let agent = match hub {
            NameContainer::Agent(agent) => *agent,
            NameContainer::Mailbox { mailbox, owner } => FormulaId { number: *owner, node: mailbox.node },
            NameContainer::Directory { .. } | NameContainer::Message { .. } => self.agent,
        };
        View { agent, now_ms: self.now_ms }
    }

    /// Returns the formula to which a path leads. A path to data is a fault.
    pub fn identify(&self, txn: &mut dyn ReadTxn, path: &NamePath) -> Result<FormulaId, Fault> {
        match self.resolve(txn, path)? {
            PathTarget::Formula(id) => Ok(id),
            PathTarget::Data(_) => {
                Err(Fault::Misfit { what: format!("{path} is data, and has no identity") })
            }
        }
    }

    /// Returns the container to which the names lead. Without names, the container is the agent itself.
    pub fn container(&self, txn: &mut dyn ReadTxn, names: &[String]) -> Result<NameContainer, Fault> {
        self.container_for(txn, names, "lookup")
    }

    /// Returns the container to which the names lead, for a call of `method` on the container.
    pub fn container_for(
        &self,
        txn: &mut dyn ReadTxn,
        names: &[String],
        method: &str,
    ) -> Result<NameContainer, Fault> {
        self.container_from(txn, None, names, method)
    }

    /// Returns the container to which the names lead, for a call of `method` on it. The names begin in `base`, or at
    /// the agent if no `base` is given.
    pub(crate) fn container_from(
        &self,
        txn: &mut dyn ReadTxn,
        base: Option<&FormulaId>,
        names: &[String],
        method: &str,
    ) -> Result<NameContainer, Fault> {
        let (here, looker) = self.beginning(txn, base, if names.is_empty() { method } else { "lookup" })?;
        if names.is_empty() {
            return Ok(here);
        }
        let (found, looker) = looker.follow(txn, &here, names, 0)?;
        looker
            .enter(txn, &found, method, 0)?
            .ok_or_else(|| Fault::NotADirectory(format!("{:?}", names.join("/"))))
    }

    fn follow(
        &self,
        txn: &mut dyn ReadTxn,
        from: &NameContainer,
        names: &[String],
        depth: usize,
    ) -> Result<(PathTarget, View), Fault> {
        let Some((first, rest)) = names.split_first() else {
            return Err(crate::name::NameError::Path.into());
        };
        let mut looker = *self;
        let mut found = self.step(txn, from, first)?;
        for (i, name) in rest.iter().enumerate() {
            let hub = looker
                .enter(txn, &found, "lookup", depth)?
                .ok_or_else(|| Fault::NotADirectory(format!("{:?}", names[..=i].join("/"))))?;
            looker = looker.inside(&hub);
            found = looker.step(txn, &hub, name)?;
        }
        Ok((found, looker))
    }

    fn step(&self, txn: &mut dyn ReadTxn, hub: &NameContainer, name: &str) -> Result<PathTarget, Fault> {
        self.entry(txn, hub, name)?.ok_or_else(|| Fault::UnknownName(format!("{name:?}")))
    }

    /// Returns the entry with this name in the container.
    pub fn entry(
        &self,
        txn: &mut dyn ReadTxn,
        hub: &NameContainer,
        name: &str,
    ) -> Result<Option<PathTarget>, Fault> {
        match hub {
            NameContainer::Agent(agent) => {
                if let Some(id) = special(txn, agent, name)? {
                    return Ok(Some(PathTarget::Formula(id)));
                }
                match directory_of(txn, agent)? {
                    Some(directory) => self.entry(txn, &directory, name),
                    None => Ok(None),
                }
            }
            NameContainer::Directory { store, owner } => {
                let key = table::inner_key(store, name.as_bytes());
                Ok(table::load(txn, Table::PetName, owner, &key)?.map(PathTarget::Formula))
            }
            NameContainer::Mailbox { mailbox, owner } => {
                let Some(number) = decimal(name) else { return Ok(None) };
                let mail = table::mail(txn, owner, mailbox, number)?;
                Ok(mail.and_then(|mail| mail.message).map(PathTarget::Formula))
            }
            NameContainer::Message { id, received, .. } => {
                let Some(Formula::Message { message }) = table::formula(txn, id)?.map(|row| row.formula)
                else {
                    return Err(Fault::Dangling(*id));
                };
                parts::part(txn, id, &message, *received, name)
            }
        }
    }

    /// Returns the names in a container. For an agent, the special names come first, and then the others in order.
    pub fn list(&self, txn: &mut dyn ReadTxn, hub: &NameContainer) -> Result<Vec<String>, Fault> {
        Ok(match hub {
            NameContainer::Agent(agent) => {
                let mut names = Vec::new();
                for name in SPECIAL {
                    if special(txn, agent, name)?.is_some() {
                        names.push((*name).to_owned());
                    }
                }
                if let Some(directory) = directory_of(txn, agent)? {
                    names.extend(self.list(txn, &directory)?);
                }
                names
            }
            NameContainer::Directory { store, owner } => {
                let prefix = table::inner_key(store, &[]);
                let rows = txn.range(
                    Table::PetName,
                    owner,
                    &prefix,
                    &table::prefix_end(&prefix),
                    usize::MAX,
                    false,
                )?;
                let text = |(key, _): (Vec<u8>, Vec<u8>)| {
                    key.get(32..).and_then(|name| String::from_utf8(name.to_vec()).ok())
                };
                rows.into_iter().filter_map(text).collect()
            }
            NameContainer::Mailbox { mailbox, owner } => {
                let prefix = table::inner_key(mailbox, &[]);
                let rows: Vec<(Vec<u8>, Mail)> = table::scan(
                    txn,
                    Table::Message,
                    owner,
                    &prefix,
                    &table::prefix_end(&prefix),
                    usize::MAX,
                    false,
                )?;
                rows.into_iter()
                    .filter(|(_, mail)| mail.message.is_some())
                    .filter_map(|(key, _)| number_in(&key).map(|n| n.to_string()))
                    .collect()
            }
            NameContainer::Message { id, received, .. } => {
                let Some(Formula::Message { message }) = table::formula(txn, id)?.map(|row| row.formula)
                else {
                    return Err(Fault::Dangling(*id));
                };
                parts::parts(&message, *received)
            }
        })
    }

    /// Returns the container that was found, for a call of `method` on it. Returns `None` if `found` is no container.
    pub fn enter(
        &self,
        txn: &mut dyn ReadTxn,
        found: &PathTarget,
        method: &str,
        depth: usize,
    ) -> Result<Option<NameContainer>, Fault> {
        let PathTarget::Formula(id) = found else { return Ok(None) };
        if depth > MAX_DEPTH {
            return Err(Fault::Misfit { what: "lookups lead through lookups without end".to_owned() });
        }
        let reached = table::reach(txn, id)?.ok_or(Fault::Dangling(*id))?;
        if let Some(finding) = reached.refusal(method, self.now_ms) {
            return Err(Fault::Revoked(finding.message));
        }
        Ok(match reached.formula {
            Formula::Host { .. } | Formula::Guest { .. } => Some(NameContainer::Agent(reached.id)),
            Formula::Directory { store } => directory(txn, store)?,
            Formula::MailHub { mailbox } => match table::formula(txn, &mailbox)?.map(|row| row.formula) {
                Some(Formula::Mailbox { owner }) => Some(NameContainer::Mailbox { mailbox, owner: owner.0 }),
                _ => None,
            },
            Formula::Message { message } => self.message_hub(txn, reached.id, &message)?,
            Formula::Lookup { hub, path } => {
                let start = self.enter(txn, &PathTarget::Formula(hub), "lookup", depth + 1)?;
                let Some(start) = start else { return Ok(None) };
                let (found, looker) = self.follow(txn, &start, path.names(), depth + 1)?;
                looker.enter(txn, &found, method, depth + 1)?
            }
            // A path through a promise leads to the value of the promise.
            Formula::Promise { .. } => self.enter_settled(txn, &reached.id, method, depth)?,
            Formula::Eval { result, .. } => self.enter_settled(txn, &result, method, depth)?,
            _ => None,
        })
    }

    fn enter_settled(
        &self,
        txn: &mut dyn ReadTxn,
        promise: &FormulaId,
        method: &str,
        depth: usize,
    ) -> Result<Option<NameContainer>, Fault> {
        match table::promise(txn, promise)? {
            Some(PromiseRow::Fulfilled { value }) => match value.as_reference() {
                Some(id) => self.enter(txn, &PathTarget::Formula(*id), method, depth + 1),
                None => Ok(None),
            },
            Some(PromiseRow::Pending) => Err(Fault::Misfit {
                what: "nobody has answered yet: there is nothing to look into".to_owned(),
            }),
            Some(PromiseRow::Rejected { reason }) => {
                Err(Fault::Misfit { what: format!("what was asked for was refused: {reason}") })
            }
            None => Err(Fault::Dangling(*promise)),
        }
    }

    fn message_hub(
        &self,
        txn: &mut dyn ReadTxn,
        id: FormulaId,
        message: &Message,
    ) -> Result<Option<NameContainer>, Fault> {
        let Some(agent) = head(txn, &self.agent)?.and_then(|head| head.agent()) else { return Ok(None) };
        let number =
            table::mail_number(txn, &self.agent.number, &agent.mailbox, &crate::id::Number(id.number))?;
        let received = message.to == agent.handle;
        // All other agents find nothing in the message, even if they hold it.
        if !received && message.from != agent.handle {
            return Ok(None);
        }
        Ok(Some(NameContainer::Message { number: number.unwrap_or(MessageNumber(0)), id, received }))
    }
}

/// Returns the formula with which a promise was kept. If that formula is a kept promise too, the formula with which
/// it was kept comes next, and so on. Values that are data are left out.
///
/// # Errors
///
/// When the store cannot be read.
pub fn settled_references(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Vec<FormulaId>, Fault> {
    let mut all = Vec::new();
    let mut next = *id;
    while all.len() < MAX_DEPTH {
        let Some(reached) = table::reach(txn, &next)? else { break };
        let promise = match reached.formula {
            Formula::Promise { .. } => reached.id,
            Formula::Eval { result, .. } => result,
            _ => break,
        };
        let Some(PromiseRow::Fulfilled { value }) = table::promise(txn, &promise)? else { break };
        let Some(came) = value.as_reference() else { break };
        next = *came;
        all.push(next);
    }
    Ok(all)
}

/// Returns the directory that has a pet store.
pub fn directory(txn: &mut dyn ReadTxn, store: FormulaId) -> Result<Option<NameContainer>, Fault> {
    let owner = head(txn, &store)?.and_then(|head| head.owner());
    Ok(owner.map(|owner| NameContainer::Directory { store, owner: owner.0 }))
}

pub(crate) fn directory_of(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<Option<NameContainer>, Fault> {
    let Some(agent) = head(txn, agent)?.and_then(|head| head.agent()) else { return Ok(None) };
    match head(txn, &agent.directory)?.and_then(|head| head.store()) {
        Some(store) => directory(txn, store),
        None => Ok(None),
    }
}

/// The special names, in the order in which they are listed.
pub const SPECIAL: [&str; 9] =
    ["@agent", "@endo", "@host", "@mail", "@main", "@nets", "@none", "@pins", "@self"];

/// Returns the formula that a special name stands for with this agent.
pub fn special(txn: &mut dyn ReadTxn, agent: &FormulaId, name: &str) -> Result<Option<FormulaId>, Fault> {
    if !is_special_name(name) {
        return Ok(None);
    }
    let Some(agent_head) = head(txn, agent)? else { return Ok(None) };
    Ok(match name {
        "@agent" => agent_head.agent().map(|_| *agent),
        name => agent_head.special(name),
    })
}

fn decimal(name: &str) -> Option<MessageNumber> {
    // Each message has one name.
    name.parse().ok().filter(|number: &MessageNumber| number.to_string() == name)
}

/// Returns the message number at the end of a mailbox row's key.
pub(crate) fn number_in(key: &[u8]) -> Option<MessageNumber> {
    key.get(32..)?.try_into().ok().map(u64::from_be_bytes).map(MessageNumber::from_order)
}
