//! The journal of endowed code: the messages that it sent, the answers that it heard, and its console output.
//!
//! A heap is volatile, but its results can be computed again: code is a function of its source and its inputs, in
//! order. After a crash the code starts again and gets the same inputs. So the journal keeps every answer as the heap
//! got it, byte for byte. It also keeps a digest of every send, to check that the code sends the same again.
//!
//! A send that becomes a command leaves a [`Mark`] with the command's reply in the same transaction. Such a send
//! happens once, wherever a crash falls.

use passable::Untrusted;
use serde::{Deserialize, Serialize};

use crate::command::Reply;
use crate::facet::{Part, Then};
use crate::formula::{Formula, Tree};
use crate::id::{BlobHash, FormulaId, MessageNumber, Number};
pub use crate::run::Origin;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

use crate::table;

/// The object outside of a heap that a reference in the heap stands for.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(tag = "is", rename_all = "snake_case")]
pub enum Reference {
    /// A formula, as somebody reaches it.
    Object {
        /// The formula.
        id: FormulaId,
        /// On whose behalf it is called.
        agent: FormulaId,
        /// The grants through which it was found: it can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// A promise of the store's.
    Promise {
        /// The promise.
        id: FormulaId,
        /// On whose behalf it is waited for.
        agent: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
    },
    /// Whether a promise of the store's was kept, once it settles.
    Settled {
        /// The promise.
        id: FormulaId,
    },
    /// That a message was dismissed, once it is.
    Dismissed {
        /// In whose mailbox.
        agent: FormulaId,
        /// Its number there.
        number: MessageNumber,
    },
    /// A part that was looked up in a directory or a tree of files.
    Part {
        /// The directory or the tree.
        id: FormulaId,
        /// On whose behalf it is called.
        agent: FormulaId,
        /// The grants through which it was found.
        through: Vec<FormulaId>,
        /// The tree of the snapshot in which the part was looked up, if it is no formula.
        taken: Option<Tree>,
        /// The names that lead to it.
        place: Vec<String>,
        /// The kind of the part.
        kind: Part,
        /// Whether nothing in it may be changed.
        read_only: bool,
    },
    /// An object of a heap that lasts as long as the heap.
    Live {
        /// The code.
        eval: FormulaId,
        /// The heap.
        heap: u64,
        /// The number by which the heap knows it.
        number: u32,
        /// The grants through which it was found: it can be used as long as they last.
        through: Vec<FormulaId>,
    },
    /// Something that ends with the heap: an iterator.
    Passing,
}

impl Reference {
    /// Returns the formulas that it needs.
    pub fn needs(&self) -> Vec<FormulaId> {
        match self {
            Reference::Object { id, through, .. }
            | Reference::Promise { id, through, .. }
            | Reference::Part { id, through, .. }
            | Reference::Live { eval: id, through, .. } => {
                std::iter::once(*id).chain(through.iter().copied()).collect()
            }
            Reference::Settled { id } => vec![*id],
            Reference::Dismissed { .. } | Reference::Passing => vec![],
        }
    }
}

/// A number by which a heap knows something outside of it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HeapReference {
    /// The number.
    pub slot: u32,
    /// The object that the number stands for.
    pub to: Reference,
}

/// The subject of an outcome that a heap hears.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutcomeSubject {
    /// A send of its own.
    Send(u32),
    /// A promise that it was given, by the number by which it knows it.
    Promise(u32),
}

/// A promise that code has made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum CodePromise {
    /// By the number by which its heap knows it.
    Numbered(u32),
    /// For the answer to one of its sends, by the heap's number for that answer.
    Answer(u32),
}

/// An event between a heap and the outside.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "entry", rename_all = "snake_case")]
pub enum CodeEntry {
    /// The code began.
    Began {
        /// The engine and the realm, with their versions: others may do the same otherwise.
        engine: String,
        /// The values of its names, as the heap got them.
        values: String,
        /// The numbers in that.
        bound: Vec<HeapReference>,
    },
    /// It sent something.
    Sent {
        /// Which of its sends.
        send: u32,
        /// The digest of all that was sent, in the numbers of the heap.
        digest: BlobHash,
        /// A description of the message, in one line.
        line: Untrusted,
    },
    /// It heard the outcome of a send or a promise.
    Heard {
        /// The send or the promise.
        of: OutcomeSubject,
        /// The outcome, as the heap got it.
        outcome: String,
        /// The numbers that are new in that.
        bound: Vec<HeapReference>,
    },
    /// Others called one of its objects before it had come to its end.
    Called {
        /// The number of the answer.
        answer: u32,
        /// The number by which the heap knows the object.
        target: u32,
        /// The method and its arguments, as the heap got them.
        call: String,
        /// The numbers that are new in that.
        bound: Vec<HeapReference>,
    },
    /// It wrote to its console.
    Logged {
        /// How loud: `debug`, `log`, `info`, `warn`, `error`.
        level: String,
        /// The text.
        text: Untrusted,
    },
}

impl CodeEntry {
    /// Returns the formulas that the daemon needs to start the code again.
    pub fn needs(&self) -> Vec<FormulaId> {
        match self {
            CodeEntry::Began { bound, .. }
            | CodeEntry::Heard { bound, .. }
            | CodeEntry::Called { bound, .. } => bound.iter().flat_map(|bound| bound.to.needs()).collect(),
            CodeEntry::Sent { .. } | CodeEntry::Logged { .. } => vec![],
        }
    }
}

/// One entry of the journal.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Record {
    /// Its number, from 0.
    pub number: u64,
    /// When it was recorded, in milliseconds since 1970.
    pub at_ms: i64,
    /// The entry.
    pub entry: CodeEntry,
}

/// The result of a send that became a command.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Mark {
    /// As whom, and through which grants, the answer is reached.
    pub reach: Reference,
    /// The meaning of the reply for the caller.
    pub then: Then,
    /// The reply.
    pub reply: Reply,
}

/// How many entries are read at a time.
const PAGE: usize = 512;

fn record_key(eval: &FormulaId, number: u64) -> Vec<u8> {
    [b"code ", &eval.number[..], &table::number_key(number)].concat()
}

fn mark_key(origin: &Origin) -> Vec<u8> {
    [b"mark ", &origin.eval.number[..], &table::number_key(origin.send.into())].concat()
}

/// Returns the key of a value that the code keeps under a name of its own.
fn own_key(eval: &FormulaId, name: &str) -> Vec<u8> {
    [b"keep ", &eval.number[..], name.as_bytes()].concat()
}

/// Returns how many entries the journal of the code has.
///
/// # Errors
/// The store's.
pub fn length(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<u64, StoreFault> {
    let (from, to) = (record_key(eval, 0), record_key(eval, u64::MAX));
    let last: Vec<(Vec<u8>, Record)> = table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, 1, true)?;
    Ok(last.first().map_or(0, |(_, record)| record.number.saturating_add(1)))
}

/// Returns the entries of the code's journal from number `from` on.
///
/// # Errors
/// The store's.
pub fn journal(txn: &mut dyn ReadTxn, eval: &FormulaId, from: u64) -> Result<Vec<Record>, StoreFault> {
    let (mut all, mut from, to) = (Vec::new(), from, record_key(eval, u64::MAX));
    loop {
        let page: Vec<(Vec<u8>, Record)> =
            table::scan(txn, Table::Meta, &NO_OWNER, &record_key(eval, from), &to, PAGE, false)?;
        let Some((_, last)) = page.last() else { return Ok(all) };
        from = last.number.saturating_add(1);
        all.extend(page.into_iter().map(|(_, record)| record));
    }
}

/// Returns at most `most` entries of the code's journal, from number `from` on.
///
/// # Errors
/// The store's.
pub fn page(
    txn: &mut dyn ReadTxn,
    eval: &FormulaId,
    from: u64,
    most: usize,
) -> Result<Vec<Record>, StoreFault> {
    let (from, to) = (record_key(eval, from), record_key(eval, u64::MAX));
    let rows = table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, most, false)?;
    Ok(rows.into_iter().map(|(_, record)| record).collect())
}

/// Returns the result of a send that became a command; `None` if the command has not happened.
///
/// # Errors
/// The store's.
pub fn mark(txn: &mut dyn ReadTxn, origin: &Origin) -> Result<Option<Mark>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &mark_key(origin))
}

/// Returns the value that the code keeps under a name of its own.
///
/// # Errors
/// The store's.
pub fn kept_value(
    txn: &mut dyn ReadTxn,
    eval: &FormulaId,
    name: &str,
) -> Result<Option<crate::proposal::Value>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &own_key(eval, name))
}

/// Returns the names under which the code keeps something, in order.
///
/// # Errors
/// The store's.
pub fn kept_names(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Vec<String>, StoreFault> {
    let prefix = own_key(eval, "");
    let rows = txn.range(Table::Meta, &NO_OWNER, &prefix, &table::prefix_end(&prefix), usize::MAX, false)?;
    let names = rows.into_iter().filter_map(|(key, _)| {
        key.get(prefix.len()..).map(|name| String::from_utf8_lossy(name).into_owned())
    });
    Ok(names.collect())
}

/// Returns the identity of an object that code has made, from the number by which its heap knows it. After a restart
/// the same number leads to the same object.
pub fn export_id(eval: &FormulaId, number: u32) -> FormulaId {
    let mut hasher = blake3::Hasher::new_derive_key("almoner export v1");
    hasher.update(&eval.to_bytes());
    hasher.update(&number.to_le_bytes());
    FormulaId { number: *hasher.finalize().as_bytes(), node: eval.node }
}

/// Returns the identity of a promise that code has made. It is the same after a restart of the code.
pub fn promise_id(eval: &FormulaId, which: CodePromise) -> FormulaId {
    let mut hasher = blake3::Hasher::new_derive_key("almoner promise of code v1");
    hasher.update(&eval.to_bytes());
    let (tag, number) = match which {
        CodePromise::Numbered(number) => (0, number),
        CodePromise::Answer(number) => (1, number),
    };
    hasher.update(&[tag]);
    hasher.update(&number.to_le_bytes());
    FormulaId { number: *hasher.finalize().as_bytes(), node: eval.node }
}

/// Returns the formula that a recipient got when the giver handed over the same thing before, found through the same
/// grants. Returns `None` if that formula is gone.
///
/// # Errors
/// The store's.
pub fn find_gift(
    txn: &mut dyn ReadTxn,
    giver: &FormulaId,
    id: &FormulaId,
    through: &[FormulaId],
    to: &FormulaId,
) -> Result<Option<FormulaId>, StoreFault> {
    let Some(given) = find_gift_record(txn, giver, id, through, to)? else { return Ok(None) };
    Ok(table::formula(txn, &given)?.map(|_| given))
}

/// Returns the same, whether or not it is still there.
pub(crate) fn find_gift_record(
    txn: &mut dyn ReadTxn,
    giver: &FormulaId,
    id: &FormulaId,
    through: &[FormulaId],
    to: &FormulaId,
) -> Result<Option<FormulaId>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &gift_key(to, &gift_digest(giver, id, through)))
}

/// Returns the agent on whose behalf code or an agent gives something to a recipient; `None` if it may not.
///
/// An agent gives the things that it holds. Code gives on behalf of its author, if the author endowed the code as
/// well. Code that another agent endowed gives only back to that agent, who decides which results the author gets.
///
/// # Errors
/// The store's.
pub fn giving_agent(
    txn: &mut dyn ReadTxn,
    giver: &FormulaId,
    to: &FormulaId,
) -> Result<Option<FormulaId>, StoreFault> {
    let Some((author, endower)) = author_and_endower(txn, giver)? else {
        let row = table::formula(txn, giver)?;
        return Ok(row.filter(|row| row.formula.agent().is_some()).map(|_| *giver));
    };
    let goes_back = match author_and_endower(txn, to)? {
        Some((author, other)) => author == other && other == endower,
        None => to.number == endower.0,
    };
    let whose = FormulaId { number: endower.0, node: giver.node };
    Ok((author == endower || goes_back).then_some(whose))
}

/// Returns the author of code and the agent who endowed it; `None` if the formula is no code.
fn author_and_endower(
    txn: &mut dyn ReadTxn,
    eval: &FormulaId,
) -> Result<Option<(Number, Number)>, StoreFault> {
    let Some(Formula::Eval { author, result, .. }) = table::formula(txn, eval)?.map(|row| row.formula) else {
        return Ok(None);
    };
    let Some(Formula::Promise { asker, .. }) = table::formula(txn, &result)?.map(|row| row.formula) else {
        return Ok(None);
    };
    Ok(Some((author, asker)))
}

fn gift_digest(giver: &FormulaId, id: &FormulaId, through: &[FormulaId]) -> BlobHash {
    let all: Vec<u8> = [giver, id].into_iter().chain(through).flat_map(|id| id.to_bytes()).collect();
    BlobHash::of(&all)
}

/// Returns the other engine, if a user agreed that it makes the objects of the code again.
///
/// # Errors
/// The store's.
pub fn approved_engine(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<String>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &engine_key(eval))
}

fn engine_key(eval: &FormulaId) -> Vec<u8> {
    [b"engine ", &eval.number[..]].concat()
}

/// Returns the prefix of the keys of the code's promises that have not settled.
fn open_key(eval: &FormulaId) -> Vec<u8> {
    [b"open ", &eval.number[..]].concat()
}

/// Returns the key of the record of a gift to a recipient, from a digest of the giver and the gift.
fn gift_key(to: &FormulaId, what: &BlobHash) -> Vec<u8> {
    [b"hand ", &to.number[..], &what.0[..]].concat()
}

pub(crate) mod write {
    //! The writes of commands to the rows that this module reads.

    use super::{FormulaId, Mark, NO_OWNER, Origin, Record, StoreFault, Table};
    use crate::txn::Txn;

    pub(crate) fn record(txn: &mut dyn Txn, eval: &FormulaId, record: &Record) -> Result<(), StoreFault> {
        let key = super::record_key(eval, record.number);
        crate::table::save(txn, Table::Meta, &NO_OWNER, &key, record, None)
    }

    pub(crate) fn mark(txn: &mut dyn Txn, origin: &Origin, mark: &Mark) -> Result<(), StoreFault> {
        crate::table::save(txn, Table::Meta, &NO_OWNER, &super::mark_key(origin), mark, None)
    }

    /// Removes all marks of the code, because its journal already has the answers.
    pub(crate) fn forget_marks(txn: &mut dyn Txn, eval: &FormulaId) -> Result<(), StoreFault> {
        let prefix = [b"mark ", &eval.number[..]].concat();
        let rows = txn.range(
            Table::Meta,
            &NO_OWNER,
            &prefix,
            &crate::table::prefix_end(&prefix),
            usize::MAX,
            false,
        )?;
        rows.iter().try_for_each(|(key, _)| txn.delete(Table::Meta, &NO_OWNER, key))
    }

    pub(crate) fn keep(
        txn: &mut dyn Txn,
        eval: &FormulaId,
        name: &str,
        value: Option<&crate::proposal::Value>,
    ) -> Result<(), StoreFault> {
        let key = super::own_key(eval, name);
        match value {
            Some(value) => crate::table::save(txn, Table::Meta, &NO_OWNER, &key, value, None),
            None => txn.delete(Table::Meta, &NO_OWNER, &key),
        }
    }

    /// Returns some entries of the journal, the first ones first.
    pub(crate) fn first_records(
        txn: &mut dyn Txn,
        eval: &FormulaId,
        most: usize,
    ) -> Result<Vec<Record>, StoreFault> {
        let (from, to) = (super::record_key(eval, 0), super::record_key(eval, u64::MAX));
        let rows = crate::table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, most, false)?;
        Ok(rows.into_iter().map(|(_, record)| record).collect())
    }

    /// Takes one entry away.
    pub(crate) fn erase(txn: &mut dyn Txn, eval: &FormulaId, number: u64) -> Result<(), StoreFault> {
        txn.delete(Table::Meta, &NO_OWNER, &super::record_key(eval, number))
    }

    /// Records that this engine may make the objects of the code again.
    pub(crate) fn remake(txn: &mut dyn Txn, eval: &FormulaId, engine: &str) -> Result<(), StoreFault> {
        crate::table::save(txn, Table::Meta, &NO_OWNER, &super::engine_key(eval), &engine, None)
    }

    /// Notes that a promise of the code's is open.
    pub(crate) fn open(txn: &mut dyn Txn, eval: &FormulaId, promise: &FormulaId) -> Result<(), StoreFault> {
        let key = [super::open_key(eval), promise.number.to_vec()].concat();
        crate::table::save(txn, Table::Meta, &NO_OWNER, &key, promise, None)
    }

    /// Notes that it is settled.
    pub(crate) fn close(txn: &mut dyn Txn, eval: &FormulaId, promise: &FormulaId) -> Result<(), StoreFault> {
        let key = [super::open_key(eval), promise.number.to_vec()].concat();
        txn.delete(Table::Meta, &NO_OWNER, &key)
    }

    /// Returns some of the code's promises that have not settled.
    pub(crate) fn first_open_promises(
        txn: &mut dyn Txn,
        eval: &FormulaId,
        most: usize,
    ) -> Result<Vec<FormulaId>, StoreFault> {
        let from = super::open_key(eval);
        let to = crate::table::prefix_end(&from);
        let rows = crate::table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, most, false)?;
        Ok(rows.into_iter().map(|(_, id)| id).collect())
    }

    /// Records a gift to a recipient.
    pub(crate) fn record_gift(
        txn: &mut dyn Txn,
        (giver, id, through): (&FormulaId, &FormulaId, &[FormulaId]),
        to: &FormulaId,
        given: &FormulaId,
    ) -> Result<(), StoreFault> {
        let key = super::gift_key(to, &super::gift_digest(giver, id, through));
        crate::table::save(txn, Table::Meta, &NO_OWNER, &key, given, None)
    }

    /// Forgets the gifts to a recipient that is gone. Returns `true` once none is left.
    pub(crate) fn forget_gifts(txn: &mut dyn Txn, to: &FormulaId, most: usize) -> Result<bool, StoreFault> {
        let prefix = [b"hand ", &to.number[..]].concat();
        let rows =
            txn.range(Table::Meta, &NO_OWNER, &prefix, &crate::table::prefix_end(&prefix), most, false)?;
        let done = rows.len() < most;
        rows.iter().try_for_each(|(key, _)| txn.delete(Table::Meta, &NO_OWNER, key))?;
        Ok(done)
    }

    /// Removes all other rows of the code: its marks, its engine, and the values that it keeps.
    pub(crate) fn forget_rest(txn: &mut dyn Txn, eval: &FormulaId) -> Result<(), StoreFault> {
        forget_marks(txn, eval)?;
        txn.delete(Table::Meta, &NO_OWNER, &super::engine_key(eval))?;
        for name in super::kept_names(txn, eval)? {
            keep(txn, eval, &name, None)?;
        }
        Ok(())
    }
}
