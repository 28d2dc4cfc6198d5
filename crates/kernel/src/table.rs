//! The typed rows of the kernel: the key of each kind of row, and the functions that read and write them.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{BlobHash, FormulaId, MessageNumber, Number, RunNumber, StepRef};
use crate::message::Mail;
use crate::proposal::{Fingerprint, Value};
use crate::provenance::Provenance;
use crate::run::{Run, Step};
use crate::run_key::{RequestPart, RunKey};
use crate::txn::{NO_OWNER, Owner, ReadTxn, StoreFault, Table, Txn, encode_row, read_row};

pub use crate::model::promise::PromiseRow;

/// A formula as it is stored.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct FormulaRow {
    /// The formula.
    pub formula: Formula,
    /// The provenance of the formula.
    #[serde(default)]
    pub provenance: Provenance,
}

/// A permission as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct PermissionRow {
    /// The fingerprint of the permitted call.
    pub fingerprint: Fingerprint,
    /// The permitted proposal. `None` permits any proposal of the same run with this fingerprint.
    pub proposal: Option<StepRef>,
    /// The message whose approval made the permission.
    pub message: MessageNumber,
}

/// A mailbox as it is stored.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct MailboxRow {
    /// The number that the next message gets.
    pub next: u64,
    /// The number of commands that have followed the last message.
    #[serde(default)]
    pub commands: u64,
}

impl MailboxRow {
    /// Returns the number of a message that arrives now, or of a command.
    pub fn assign(&mut self, is_command: bool) -> MessageNumber {
        match self.next.checked_sub(1) {
            Some(last) if is_command && self.commands < MessageNumber::MAX_COMMANDS => {
                self.commands += 1;
                MessageNumber::command(last, self.commands)
            }
            // A command in an empty mailbox is message 0. One after too many others takes the number of a message.
            _ => {
                let number = MessageNumber(self.next);
                (self.next, self.commands) = (self.next + 1, 0);
                number
            }
        }
    }
}

/// A task in the outbox: work that must still be done outside of the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
#[serde(tag = "task", rename_all = "snake_case")]
pub enum Task {
    /// A run that must go on.
    Drive {
        /// The run.
        run: RunNumber,
    },
    /// An effect that has begun, and whose outcome is not known.
    Effect {
        /// The step that proposed the effect.
        step: StepRef,
    },
    /// Endowed code that must run.
    Eval {
        /// The code.
        eval: FormulaId,
    },
}

/// The size and the provenance of bytes that are addressed by their content.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct BlobRow {
    /// The number of bytes.
    pub bytes: u64,
    /// The provenance of the bytes.
    pub provenance: Provenance,
}

/// The row of endowed code that has no outcome yet, stored beside the formula of the code.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct EvalRow {
    /// The number of the outbox row that says that the code must run.
    pub outbox: u64,
    /// The recipient of the result besides the host.
    pub delivery: Option<crate::run::Delivery>,
    /// The patterns of slots that were filled with pending promises. The values of these promises must fit.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub expects: BTreeMap<String, Value>,
}

/// An unused sharing token.
#[derive(Clone, Debug, PartialEq, Serialize, serde::Deserialize)]
pub struct TokenRow {
    /// The formula that the token gives.
    pub formula: FormulaId,
    /// The agent who made the token.
    pub giver: FormulaId,
    /// The time at which an unused token expires, in milliseconds since 1970.
    pub expires_ms: i64,
}

/// A reference to a formula, as it is stored.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, serde::Deserialize)]
pub struct EdgeRow {
    /// The formula that contains the reference.
    pub from: FormulaId,
    /// The label of the reference, which tells its role in that formula.
    pub label: String,
}

/// Reads the row at `key`.
pub fn load<T: DeserializeOwned>(
    txn: &mut dyn ReadTxn,
    table: Table,
    owner: &Owner,
    key: &[u8],
) -> Result<Option<T>, StoreFault> {
    match txn.get(table, owner, key)? {
        Some(bytes) => read_row(txn, table, &bytes),
        None => Ok(None),
    }
}

/// Reads at most `limit` rows with `from <= key < to`, in falling order if `reverse`. An empty `to` means no upper
/// bound. Fewer rows than `limit` mean that there are no more, also if the view leaves rows out.
pub fn scan<T: DeserializeOwned>(
    txn: &mut dyn ReadTxn,
    table: Table,
    owner: &Owner,
    from: &[u8],
    to: &[u8],
    limit: usize,
    reverse: bool,
) -> Result<Vec<(Vec<u8>, T)>, StoreFault> {
    let (mut rows, mut from, mut to) = (Vec::new(), from.to_vec(), to.to_vec());
    loop {
        let wanted = limit.saturating_sub(rows.len());
        let page = txn.range(table, owner, &from, &to, wanted, reverse)?;
        let is_full = page.len() == wanted;
        let last = page.last().map(|(key, _)| key.clone());
        for (key, bytes) in page {
            if let Some(row) = read_row(txn, table, &bytes)? {
                rows.push((key, row));
            }
        }
        let Some(last) = last.filter(|last| is_full && rows.len() < limit && !last.is_empty()) else {
            return Ok(rows);
        };
        // Some rows were left out, so others are read in their place.
        match reverse {
            true => to = last,
            false => from = [&last[..], &[0]].concat(),
        }
    }
}

/// Writes a row, with its provenance beside it.
pub fn save<T: Serialize>(
    txn: &mut dyn Txn,
    table: Table,
    owner: &Owner,
    key: &[u8],
    row: &T,
    provenance: Option<&Provenance>,
) -> Result<(), StoreFault> {
    let provenance = provenance.map(encode_row).transpose()?;
    txn.put(table, owner, key, &encode_row(row)?, provenance.as_deref())
}

/// Returns the key of a message number, in the order in which messages came.
pub fn message_key(number: MessageNumber) -> [u8; 8] {
    number_key(number.order())
}

/// Returns the key of a number in byte order.
pub fn number_key(n: u64) -> [u8; 8] {
    n.to_be_bytes()
}

/// The beginning of the keys of the rows that list a host's stalled runs. The number of the run follows.
pub(crate) const STALLED_PREFIX: &[u8] = b"stalled ";

/// Returns the key of a row that belongs to a formula: the formula's number, and then `inner`.
pub fn inner_key(outer: &FormulaId, inner: &[u8]) -> Vec<u8> {
    [&outer.number[..], inner].concat()
}

/// Returns the key of a token in the order of expiry. Times before 1970 come first.
pub fn ending_key(expires_ms: i64, token: &Number) -> Vec<u8> {
    let ends = (expires_ms as u64) ^ (1 << 63);
    [b"t", &ends.to_be_bytes()[..], &token.0].concat()
}

/// Returns the key of a reference: the target, the source, and the label.
pub fn edge_key(to: &FormulaId, from: &FormulaId, label: &str) -> Vec<u8> {
    [&to.number[..], &from.number, label.as_bytes()].concat()
}

/// Returns the first key after all keys that begin with `prefix`, or an empty key if there is none.
pub fn prefix_end(prefix: &[u8]) -> Vec<u8> {
    let mut end = prefix.to_vec();
    while let Some(last) = end.last_mut() {
        if *last < 0xff {
            *last += 1;
            return end;
        }
        end.pop();
    }
    end
}

/// Returns the key of a step.
pub fn step_key(run: RunNumber, step: u64) -> [u8; 16] {
    let mut key = [0; 16];
    key[..8].copy_from_slice(&number_key(run.0));
    key[8..].copy_from_slice(&number_key(step));
    key
}

/// Returns the key of a run in the list of runs that named a file. Files are listed by the last part of their path.
pub fn file_run_key(file_name: &str, run: RunNumber) -> Vec<u8> {
    [&file_run_prefix(file_name)[..], &number_key(run.0)].concat()
}

/// Returns the first part of the keys of all runs that named a file. A long name is cut. The name ends with a NUL,
/// which no part of a path contains.
pub fn file_run_prefix(file_name: &str) -> Vec<u8> {
    let name = &file_name.as_bytes()[..file_name.len().min(MAX_FILE_NAME_LEN)];
    [name, &[0]].concat()
}

/// The maximum number of bytes of a file's name in a key.
const MAX_FILE_NAME_LEN: usize = 255;

/// Returns the key of a permission, for one proposal or for any proposal of a run.
pub fn permission_key(fingerprint: Fingerprint, proposal: Option<StepRef>) -> Vec<u8> {
    let place = proposal.map_or([0; 16], |p| step_key(p.run, p.step));
    [&fingerprint.0.0[..], &place].concat()
}

/// Returns the formula with this identity.
pub fn formula(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<FormulaRow>, StoreFault> {
    load(txn, Table::Formula, &NO_OWNER, &id.number)
}

/// Returns the run with this number.
pub fn run(txn: &mut dyn ReadTxn, owner: &Owner, number: RunNumber) -> Result<Option<Run>, StoreFault> {
    load(txn, Table::Run, owner, &number_key(number.0))
}

/// Returns one step of a run.
pub fn step(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<Option<Step>, StoreFault> {
    load(txn, Table::Journal, owner, &step_key(at.run, at.step))
}

/// Returns the grant with this identity.
pub fn grant(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<Grant>, StoreFault> {
    match formula(txn, id)?.map(|row| row.formula) {
        Some(Formula::Grant { owner, .. }) => load(txn, Table::Grant, &owner.0, &id.number),
        _ => Ok(None),
    }
}

/// The target of a reference, with every grant on the way.
#[derive(Clone, Debug, PartialEq)]
pub struct ResolvedReference {
    /// The capability or the data itself.
    pub id: FormulaId,
    /// The formula of the target.
    pub formula: Formula,
    /// The grants on the way, the nearest first.
    pub grants: Vec<Grant>,
    /// The grants through which the grants on the way were reached. No method is called through these, but they must
    /// not have ended.
    pub through: Vec<Grant>,
}

/// The maximum number of grants in a chain that are followed.
pub const MAX_CHAIN_LEN: usize = 64;

/// Follows grants to their target, or returns `None` if a formula on the way is gone or the chain is too long. The
/// caller must check with [`ResolvedReference::refusal`] whether the grants may still be used.
pub fn reach(txn: &mut dyn ReadTxn, from: &FormulaId) -> Result<Option<ResolvedReference>, StoreFault> {
    let (mut id, mut grants, mut aside) = (*from, Vec::new(), Vec::new());
    while grants.len() <= MAX_CHAIN_LEN {
        match formula(txn, &id)?.map(|row| row.formula) {
            None => return Ok(None),
            Some(Formula::Grant { target, owner, through, .. }) => {
                let Some(grant) = load(txn, Table::Grant, &owner.0, &id.number)? else { return Ok(None) };
                grants.push(grant);
                aside.extend(through);
                id = target;
            }
            Some(formula) => {
                let through = dependency_grants(txn, aside)?;
                return Ok(through.map(|through| ResolvedReference { id, formula, grants, through }));
            }
        }
    }
    Ok(None)
}

/// Returns the given grants and every grant on which they depend, or `None` if one is gone or there are too many.
fn dependency_grants(
    txn: &mut dyn ReadTxn,
    mut next: Vec<FormulaId>,
) -> Result<Option<Vec<Grant>>, StoreFault> {
    let (mut all, mut seen) = (Vec::new(), std::collections::BTreeSet::new());
    while let Some(id) = next.pop() {
        if !seen.insert(id) {
            continue;
        }
        match formula(txn, &id)?.map(|row| row.formula) {
            None => return Ok(None),
            Some(Formula::Grant { target, owner, through, .. }) => {
                let Some(grant) = load(txn, Table::Grant, &owner.0, &id.number)? else { return Ok(None) };
                all.push(grant);
                next.push(target);
                next.extend(through);
            }
            Some(_) => {}
        }
        if all.len() > MAX_CHAIN_LEN {
            return Ok(None);
        }
    }
    Ok(Some(all))
}

impl ResolvedReference {
    /// Returns the reason why `method` cannot be called through these grants at `now_ms`, or `None` if it can.
    pub fn refusal(&self, method: &str, now_ms: i64) -> Option<crate::proposal::Finding> {
        let called = self.grants.iter().find_map(|grant| grant.refusal(method, now_ms));
        called.or_else(|| self.through.iter().find_map(|grant| grant.ended(now_ms)))
    }

    /// Returns the reason why these grants cannot be used at all at `now_ms`, or `None` if they can.
    pub fn ended(&self, now_ms: i64) -> Option<crate::proposal::Finding> {
        self.grants.iter().chain(&self.through).find_map(|grant| grant.ended(now_ms))
    }

    /// Returns all grants combined into one: the nearest grant, with the restrictions of every grant on the way.
    pub fn grant(&self) -> Option<Grant> {
        let (first, rest) = self.grants.split_first()?;
        let mut all = first.clone();
        for grant in rest {
            all.attenuation = all.attenuation.join(&grant.attenuation);
        }
        Some(all)
    }
}

/// Returns the promise with this identity.
pub fn promise(txn: &mut dyn ReadTxn, id: &FormulaId) -> Result<Option<PromiseRow>, StoreFault> {
    load(txn, Table::Promise, &NO_OWNER, &id.number)
}

/// Returns the message in a mailbox under this number.
pub fn mail(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    mailbox: &FormulaId,
    number: MessageNumber,
) -> Result<Option<Mail>, StoreFault> {
    load(txn, Table::Message, owner, &inner_key(mailbox, &message_key(number)))
}

/// Returns the number under which a message lies in a mailbox.
pub fn mail_number(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    mailbox: &FormulaId,
    message: &Number,
) -> Result<Option<MessageNumber>, StoreFault> {
    load(txn, Table::Mailbox, owner, &inner_key(mailbox, &message.0))
}

/// Returns the key of the row that endowed code has until it has an outcome.
pub(crate) fn eval_key(eval: &FormulaId) -> Vec<u8> {
    [b"eval ", &eval.number[..]].concat()
}

/// Returns the row of endowed code that has no outcome yet.
pub fn eval(txn: &mut dyn ReadTxn, eval: &FormulaId) -> Result<Option<EvalRow>, StoreFault> {
    load(txn, Table::Meta, &NO_OWNER, &eval_key(eval))
}

/// A run that was forgotten, so that its rows no longer keep any bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ForgottenRun {
    /// The documents that the run worked on. Their bytes are not kept any more, even if something else depends on a
    /// document.
    pub documents: Vec<BlobHash>,
}

/// The prefix of the keys of forgotten runs in [`Table::Meta`].
pub const FORGOTTEN: &[u8] = b"forgotten ";

/// Returns the key of the row of a forgotten run, from its owner and its number.
pub(crate) fn forgotten_key(owner: &Owner, run: RunNumber) -> Vec<u8> {
    [FORGOTTEN, &owner[..], &number_key(run.0)].concat()
}

/// Returns the owner of the forgotten run that a key names, and the run's number as other keys begin with it.
pub fn forgotten(key: &[u8]) -> Option<(Owner, [u8; 8])> {
    let (owner, run) = key.strip_prefix(FORGOTTEN)?.split_first_chunk()?;
    Some((*owner, run.try_into().ok()?))
}

/// A run that was started under a key. The row stays as long as the store, also after the run was forgotten.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct KeyedRun {
    /// The run.
    pub run: RunNumber,
    /// The parts of the request that started the run.
    pub parts: Vec<RequestPart>,
}

/// Returns the key of the row of a run that was started under a key. Each agent has keys of its own.
fn keyed_run_key(owner: &Owner, key: &RunKey) -> Vec<u8> {
    [b"run key ", &owner[..], key.as_str().as_bytes()].concat()
}

/// Returns the run that an agent has started under a key.
pub fn keyed_run(txn: &mut dyn ReadTxn, owner: &Owner, key: &RunKey) -> Result<Option<KeyedRun>, StoreFault> {
    load(txn, Table::Meta, &NO_OWNER, &keyed_run_key(owner, key))
}

/// Records the run that an agent has started under a key.
pub(crate) fn put_keyed_run(
    txn: &mut dyn Txn,
    owner: &Owner,
    key: &RunKey,
    row: &KeyedRun,
) -> Result<(), StoreFault> {
    save(txn, Table::Meta, &NO_OWNER, &keyed_run_key(owner, key), row, None)
}

/// Returns the size and the provenance of a blob.
pub fn blob(txn: &mut dyn ReadTxn, hash: BlobHash) -> Result<Option<BlobRow>, StoreFault> {
    load(txn, Table::Blob, &NO_OWNER, &hash.0)
}

/// Returns the root of the store, or `None` before genesis.
pub fn endo(txn: &mut dyn ReadTxn) -> Result<Option<FormulaId>, StoreFault> {
    load(txn, Table::Meta, &NO_OWNER, b"endo")
}

/// Returns the key that lists a host that another host made.
fn host_key(host: &FormulaId) -> Vec<u8> {
    [HOST, &host.number[..]].concat()
}

const HOST: &[u8] = b"host ";

/// Lists a host that another host made, so that its work is found without a search of all formulas.
pub(crate) fn enlist_host(txn: &mut dyn Txn, host: &FormulaId) -> Result<(), StoreFault> {
    save(txn, Table::Meta, &NO_OWNER, &host_key(host), host, None)
}

/// Removes a host from the list of hosts that other hosts made.
pub(crate) fn strike_host(txn: &mut dyn Txn, host: &FormulaId) -> Result<(), StoreFault> {
    txn.delete(Table::Meta, &NO_OWNER, &host_key(host))
}

/// Returns every host of the store, the store's own host first. Before genesis, the list is empty.
pub fn hosts(txn: &mut dyn ReadTxn) -> Result<Vec<FormulaId>, StoreFault> {
    let made: Vec<(Vec<u8>, FormulaId)> =
        scan(txn, Table::Meta, &NO_OWNER, HOST, &prefix_end(HOST), usize::MAX, false)?;
    let root = host(txn)?;
    Ok(root.into_iter().chain(made.into_iter().map(|(_, host)| host)).collect())
}

/// Returns the store's own host, or `None` before genesis.
pub fn host(txn: &mut dyn ReadTxn) -> Result<Option<FormulaId>, StoreFault> {
    load(txn, Table::Meta, &NO_OWNER, b"host")
}
