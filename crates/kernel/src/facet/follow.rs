//! Feeds that clients can follow: the present names and messages, and the changes from then on.

use super::listing;
use super::live::Live;
use super::locator::Locator;
use super::present::Here;
use super::refusal::Refusal;
use crate::command::Fault;
use crate::id::{FormulaId, MessageNumber, Number};
use crate::name_lookup::{self, NameContainer, PathTarget, View};
use crate::proposal::Value;
use crate::query;
use crate::table;
use crate::txn::{Owner, ReadTxn};

/// A feed of changes that a client follows.
#[derive(Clone, Debug, PartialEq)]
pub enum Follow {
    /// The names in a directory: all present names, then each name that is added or removed.
    Names {
        /// The agent that looks.
        agent: FormulaId,
        /// The directory, or another object that has names.
        target: FormulaId,
    },
    /// The names of one formula.
    Locator {
        /// The agent that looks.
        agent: FormulaId,
        /// The directory.
        target: FormulaId,
        /// The locator of the formula.
        locator: Locator,
    },
    /// The messages of an agent: all present messages, then each new one.
    Messages {
        /// The agent.
        agent: FormulaId,
    },
}

/// The present names in a place, and the events that change them.
#[derive(Clone, Debug, PartialEq)]
pub struct Names {
    /// The names, with the formulas that they stand for.
    pub entries: Vec<(String, FormulaId)>,
    /// The owner under which events about these names are recorded, and the pet store in these events. `None` if
    /// there are no such events. Then any event may change the names.
    pub events: Option<(Owner, FormulaId)>,
    /// The last event that the names already show.
    pub seen: u64,
}

/// Returns the names in a place that an agent reaches.
///
/// # Errors
/// When the target has no names, or is no longer reached.
pub fn names(txn: &mut dyn ReadTxn, view: &View, target: &FormulaId) -> Result<Names, Refusal> {
    let hub = match view.agent == *target {
        true => Some(NameContainer::Agent(*target)),
        false => view.enter(txn, &PathTarget::Formula(*target), "followNameChanges", 0)?,
    };
    let hub = hub.ok_or(Fault::NotHeld(*target))?;
    let store = match &hub {
        NameContainer::Agent(agent) => name_lookup::directory_of(txn, agent)?,
        other => Some(other.clone()),
    };
    let events = match store {
        Some(NameContainer::Directory { store, owner }) => Some((owner, store)),
        _ => None,
    };
    let here = Here::at(*view, hub);
    let owner = events.map_or(here.view.agent.number, |(owner, _)| owner);
    let seen = crate::partial_rows::log_end(txn, &owner)?.map_or(0, |end| end.seq);
    Ok(Names { entries: super::names::entries(txn, &here)?, events, seen })
}

/// Returns an agent's messages from a number on, in the form of `listMessages`. Also returns the number after the
/// last of them.
///
/// # Errors
/// When the store fails.
pub fn messages(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    from: MessageNumber,
    limit: usize,
) -> Result<(Vec<passable::Value<Live>>, MessageNumber), Refusal> {
    let row = table::formula(txn, agent)?.ok_or(Fault::Dangling(*agent))?;
    let own = row.formula.agent().ok_or(Fault::Dangling(*agent))?.handle;
    let letters = query::inbox_page(txn, agent, false, from, limit)?;
    let mut next = from;
    let mut all = Vec::new();
    for letter in &letters {
        next = letter.number.successor();
        if letter.message.is_some() {
            all.push(listing::message(txn, agent, &own, letter)?);
        }
    }
    Ok((all, next))
}

/// Returns the value that tells a client of a new name, in upstream's form.
pub fn added(name: &str, id: &FormulaId) -> Value {
    let text = |number: [u8; 32]| Value::string(Number(number).to_string());
    let value = [("number".to_owned(), text(id.number)), ("node".to_owned(), text(id.node))];
    let item = [
        ("add".to_owned(), Value::string(name.to_owned())),
        ("value".to_owned(), Value::record_from_map(value.into())),
    ];
    Value::record_from_map(item.into())
}

/// Returns the value that tells a client of a removed name, in upstream's form.
pub fn removed(name: &str) -> Value {
    Value::record_from_map([("remove".to_owned(), Value::string(name.to_owned()))].into())
}
