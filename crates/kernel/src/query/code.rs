//! The journal of endowed code: the messages that it sent, the answers that it heard, and its console output.
//!
//! A heap is volatile, but its results can be computed again: code is a function of its source and its inputs, in
//! order. After a crash the code starts again and gets the same inputs. So the journal keeps every answer as the heap
//! got it, byte for byte. It also keeps a digest of every send, to check that the code sends the same again.
//!
//! A send that becomes a command leaves a [`Mark`] with the command's reply in the same transaction. Such a send
//! happens once, wherever a crash falls.

pub(crate) mod write;

use crate::formula::Formula;
use crate::id::{BlobHash, FormulaId, Number};
use crate::table;
use crate::txn::{NO_OWNER, ReadTxn, StoreFault, Table};

pub use crate::model::code_entry::{
    CodeEntry, CodePromise, HeapReference, Mark, OutcomeSubject, Record, Reference,
};
pub use crate::run::Origin;

/// The number of entries that are read at a time.
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
/// # Errors When the store fails.
pub fn length(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<u64, StoreFault> {
    let (from, to) = (record_key(eval, 0), record_key(eval, u64::MAX));
    let last: Vec<(Vec<u8>, Record)> = table::scan(txn, Table::Meta, &NO_OWNER, &from, &to, 1, true)?;
    Ok(last.first().map_or(0, |(_, record)| record.number.saturating_add(1)))
}

/// Returns the entries of the code's journal from number `from` on.
///
/// # Errors When the store fails.
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
/// # Errors When the store fails.
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

/// Returns the result of a send that became a command, or `None` if the command has not happened.
///
/// # Errors
///
/// When the store fails.
pub fn mark(txn: &mut dyn ReadTxn, origin: &Origin) -> Result<Option<Mark>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &mark_key(origin))
}

/// Returns the value that the code keeps under a name of its own.
///
/// # Errors When the store fails.
pub fn kept_value(
    txn: &mut dyn ReadTxn,
    eval: &FormulaId,
    name: &str,
) -> Result<Option<crate::proposal::Value>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &own_key(eval, name))
}

/// Returns the names of the values that the code keeps, in order.
///
/// # Errors
///
/// When the store fails.
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
/// # Errors When the store fails.
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

/// Returns the formula of an earlier gift like [`find_gift`], whether or not the formula still exists.
pub(crate) fn find_gift_record(
    txn: &mut dyn ReadTxn,
    giver: &FormulaId,
    id: &FormulaId,
    through: &[FormulaId],
    to: &FormulaId,
) -> Result<Option<FormulaId>, StoreFault> {
    table::load(txn, Table::Meta, &NO_OWNER, &gift_key(to, &gift_digest(giver, id, through)))
}

/// Returns the agent on whose behalf code or an agent gives something to a recipient, or `None` if the gift is not
/// allowed.
///
/// An agent gives the things that it holds. Code gives on behalf of its author, if the author endowed the code as
/// well. Code that another agent endowed gives only back to that agent, who decides which results the author gets.
///
/// # Errors
///
/// When the store fails.
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

/// Returns the author of code and the agent who endowed it, or `None` if the formula is no code.
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

/// Returns the engine that a user has approved to make the objects of the code again, if any.
///
/// # Errors
///
/// When the store fails.
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
