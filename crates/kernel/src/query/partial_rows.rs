//! Partial reads of rows.
//!
//! Every command reads agents, directories and the end of the log. The kernel only skims their rows. It skips the
//! parts that a reader does not need, and does not make values of them.

use serde::Deserialize;

use crate::formula::Agent;
use crate::id::{BlobHash, FormulaId, Number};
use crate::message::Message;
use crate::txn::{NO_OWNER, Owner, ReadTxn, StoreFault, Table, read_row};

/// The head of a formula: its kind, and the agents, directories and stores that it names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct Head {
    /// The kind of the formula.
    #[serde(rename = "type")]
    kind: Kind,
    agent: Option<FormulaId>,
    handle: Option<FormulaId>,
    directory: Option<FormulaId>,
    mailbox: Option<FormulaId>,
    mail_hub: Option<FormulaId>,
    host: Option<FormulaId>,
    main: Option<FormulaId>,
    endo: Option<FormulaId>,
    pins: Option<FormulaId>,
    none: Option<FormulaId>,
    store: Option<FormulaId>,
    owner: Option<Number>,
}

/// The kinds of formulas that partial reads tell apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Host,
    Guest,
    Handle,
    Directory,
    PetStore,
    #[serde(other)]
    Other,
}

#[derive(Deserialize)]
struct HeadRow {
    formula: Head,
}

/// Returns the head of the formula with this identity.
///
/// # Errors
/// When the store fails, or the row is damaged.
pub fn head(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<Head>, StoreFault> {
    let row = txn.get(Table::Formula, &NO_OWNER, &id.number)?;
    match row {
        Some(row) => Ok(read_row::<HeadRow>(txn, Table::Formula, &row)?.map(|row| row.formula)),
        None => Ok(None),
    }
}

impl Head {
    /// Returns the parts of the agent, if the formula is one.
    pub fn agent(&self) -> Option<Agent> {
        if !matches!(self.kind, Kind::Host | Kind::Guest) {
            return None;
        }
        let Head { handle, directory, mailbox, mail_hub, .. } = *self;
        Some(Agent { handle: handle?, directory: directory?, mailbox: mailbox?, mail_hub: mail_hub? })
    }

    /// Returns whether the formula is a host, which is an agent that acts for a person.
    pub fn is_host(&self) -> bool {
        self.kind == Kind::Host
    }

    /// Returns the agent of a mail address.
    pub fn addressee(&self) -> Option<FormulaId> {
        self.agent.filter(|_| self.kind == Kind::Handle)
    }

    /// Returns the pet store of a directory.
    pub fn store(&self) -> Option<FormulaId> {
        self.store.filter(|_| self.kind == Kind::Directory)
    }

    /// Returns the owner of the rows of a pet store.
    pub fn owner(&self) -> Option<Number> {
        self.owner.filter(|_| self.kind == Kind::PetStore)
    }

    /// Returns the formula that a special name stands for with this agent, except for the name of the agent itself.
    pub(crate) fn special(&self, name: &str) -> Option<FormulaId> {
        let own = self.agent()?;
        match name {
            "@self" => Some(own.handle),
            "@mail" => Some(own.mail_hub),
            "@host" => self.host,
            "@main" => self.main,
            "@endo" => self.endo,
            "@pins" => self.pins,
            "@none" => self.none,
            _ => None,
        }
    }
}

#[derive(Deserialize)]
struct MessageRow {
    formula: MessagePart,
}

#[derive(Deserialize)]
struct MessagePart {
    message: Option<Message>,
}

/// Returns the message in the formula with this identity, or `None` if the formula is missing or is no message.
///
/// # Errors
///
/// When the store fails, or the row is damaged.
pub fn message(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<Message>, StoreFault> {
    // No other kind of formula has a `message` field.
    let row = txn.get(Table::Formula, &NO_OWNER, &id.number)?;
    let Some(row) = row else { return Ok(None) };
    Ok(read_row::<MessageRow>(txn, Table::Formula, &row)?.and_then(|row| row.formula.message))
}

/// The end of an agent's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
pub struct LogEnd {
    /// The number of the last event.
    pub seq: u64,
    /// The hash of the last event.
    pub hash: BlobHash,
}

/// Returns the end of an owner's log, or `None` if the log is empty.
///
/// # Errors
///
/// When the store fails, or the row is damaged.
pub fn log_end(txn: &mut dyn ReadTxn, owner: &Owner) -> Result<Option<LogEnd>, StoreFault> {
    let last = txn.range(Table::Event, owner, &[], &[], 1, true)?.pop();
    match last {
        Some((_, row)) => read_row(txn, Table::Event, &row),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use crate::formula::Formula;
    use crate::name::NamePath;
    use crate::proposal::Value;
    use crate::table::FormulaRow;

    use super::*;

    #[test]
    fn partial_row_agrees_with_the_whole_formula() {
        let id = |byte| FormulaId { number: [byte; 32], node: [0; 32] };
        let agent = Agent { handle: id(1), directory: id(2), mailbox: id(3), mail_hub: id(4) };
        let owner = Number([9; 32]);
        let all = [
            Formula::Host { agent, host: id(5), main: id(6), endo: id(7), pins: id(8), none: id(9) },
            Formula::Guest { agent, host: id(5) },
            Formula::Endo { host: id(1), pins: id(2), least_authority: id(3) },
            Formula::LeastAuthority,
            Formula::Handle { agent: id(1) },
            Formula::Directory { store: id(1) },
            Formula::PetStore { owner },
            Formula::Mailbox { owner },
            Formula::MailHub { mailbox: id(1) },
            Formula::Marshal { value: Value::string("x".to_owned()) },
            Formula::Lookup { hub: id(1), path: NamePath::parse("a/b").unwrap() },
            Formula::Grant { target: id(1), holder: id(2), owner, through: vec![id(3)] },
        ];
        for formula in all {
            let row = FormulaRow { formula: formula.clone(), provenance: Default::default() };
            let row = crate::txn::encode_row(&row).unwrap();
            let head = crate::txn::decode_row::<HeadRow>(Table::Formula, &row).unwrap().formula;
            assert_eq!(head.agent().as_ref(), formula.agent(), "{formula:?}");
            assert_eq!(head.is_host(), matches!(formula, Formula::Host { .. }));
            let store = if let Formula::Directory { store } = &formula { Some(*store) } else { None };
            assert_eq!(head.store(), store);
            let addressee = if let Formula::Handle { agent } = &formula { Some(*agent) } else { None };
            assert_eq!(head.addressee(), addressee);
            let owner = if let Formula::PetStore { owner } = &formula { Some(*owner) } else { None };
            assert_eq!(head.owner(), owner);
            let special = ["@self", "@mail", "@host", "@main", "@endo", "@pins", "@none", "@nets"];
            let special: Vec<Option<FormulaId>> = special.iter().map(|name| head.special(name)).collect();
            let of = |ids: [u8; 7]| {
                let ids = ids.iter().chain([&0]);
                ids.map(|byte| (*byte > 0).then(|| id(*byte))).collect::<Vec<_>>()
            };
            match formula {
                Formula::Host { .. } => assert_eq!(special, of([1, 4, 5, 6, 7, 8, 9])),
                Formula::Guest { .. } => assert_eq!(special, of([1, 4, 5, 0, 0, 0, 0])),
                _ => assert_eq!(special, of([0; 7])),
            }
        }
    }
}
