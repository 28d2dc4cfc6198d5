//! Queries of the state, which change nothing.

pub mod agent_journal;
pub mod audit;
pub mod code;
pub mod confusables;
pub mod grant_usage;
pub mod included_files;
pub(crate) mod line;
pub mod name_lookup;
pub mod partial_rows;
pub(crate) mod recorders;
pub(crate) mod relocations;
pub mod timer;

use std::collections::BTreeSet;

use crate::command::Fault;
use crate::event::Event;
use crate::formula::Formula;
use crate::grant::Grant;
use crate::id::{FormulaId, MessageNumber, RunNumber, StepRef};
use crate::message::{Body, Mail, Message};
use crate::proposal::Value;
use crate::run::{Run, Step};
use crate::run_key::KeyedRequest;
use crate::table::{self, EdgeRow, KeyedRun, MailboxRow, Task};
use crate::txn::{NO_OWNER, Owner, ReadTxn, StoreFault, Table};

use self::partial_rows::head;

/// Returns the runs of an owner, newest first, at most `limit`. With `below`, only runs with a smaller number are
/// returned.
pub fn runs(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    below: Option<RunNumber>,
    limit: usize,
) -> Result<Vec<Run>, StoreFault> {
    let to = below.map(|run| table::number_key(run.0).to_vec()).unwrap_or_default();
    Ok(table::scan(txn, Table::Run, owner, &[], &to, limit, true)?.into_iter().map(|(_, run)| run).collect())
}

/// Returns the run that an earlier request with the same key has started.
///
/// # Errors
/// When the earlier request differs in a part, so that the key belongs to another run.
pub fn keyed_run(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    request: &KeyedRequest,
) -> Result<Option<RunNumber>, Fault> {
    let Some(KeyedRun { run, parts }) = table::keyed_run(txn, owner, &request.key)? else { return Ok(None) };
    match request.first_difference(&parts) {
        None => Ok(Some(run)),
        Some(part) => Err(Fault::KeyConflict { key: request.key.clone(), run, part }),
    }
}

/// Returns the steps of a run from number `from` on.
pub fn journal(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    run: RunNumber,
    from: u64,
) -> Result<Vec<Step>, StoreFault> {
    let start = table::step_key(run, from);
    let end = table::step_key(RunNumber(run.0.saturating_add(1)), 0);
    Ok(table::scan(txn, Table::Journal, owner, &start, &end, usize::MAX, false)?
        .into_iter()
        .map(|(_, step)| step)
        .collect())
}

/// A message together with its place in a mailbox.
#[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct MailboxEntry {
    /// The number of the message in the mailbox.
    pub number: MessageNumber,
    /// The message that was sent, or `None` once it was dismissed.
    pub message: Option<Message>,
    /// The state of the message in the mailbox, with the answers so far.
    pub mail: Mail,
}

impl MailboxEntry {
    /// Returns the content of the message, unless it was dismissed.
    pub fn body(&self) -> Option<&Body> {
        self.message.as_ref().map(|message| &message.body)
    }
}

/// Returns the mailbox of an agent. If a damaged store has lost the row of the agent, the rows of the mailbox tell it.
///
/// # Errors
/// When the store fails, or the agent's row is missing and the view leaves nothing out.
pub fn mailbox(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<FormulaId, StoreFault> {
    if let Some(own) = head(txn, agent)?.and_then(|head| head.agent()) {
        return Ok(own.mailbox);
    }
    if !txn.leaves_out(Table::Formula, &agent.number) {
        return Err(missing(txn, "an agent's formula is missing".to_owned()));
    }
    for table in [Table::Mailbox, Table::Message] {
        let first = txn.range(table, &agent.number, &[], &[], 1, false)?.pop();
        let number = first.and_then(|(key, _)| key.get(..32)?.try_into().ok());
        if let Some(number) = number {
            return Ok(FormulaId { number, node: agent.node });
        }
    }
    // No row of the mailbox is left, so that any other identity finds the same messages: none.
    Ok(*agent)
}

/// Returns the fault of a store that lacks a row which another row names, and takes note of it.
fn missing(txn: &mut dyn ReadTxn, detail: String) -> StoreFault {
    let fault = StoreFault::Corrupt(detail);
    txn.note_damage(&fault);
    fault
}

fn mailbox_entry(
    txn: &mut dyn ReadTxn,
    number: MessageNumber,
    mail: Mail,
) -> Result<MailboxEntry, StoreFault> {
    let Some(id) = mail.message else { return Ok(MailboxEntry { number, message: None, mail }) };
    match partial_rows::message(txn, &id)? {
        Some(message) => Ok(MailboxEntry { number, message: Some(message), mail }),
        None if txn.leaves_out(Table::Formula, &id.number) => {
            Ok(MailboxEntry { number, message: None, mail })
        }
        None => Err(missing(txn, format!("the formula of message {number} is missing"))),
    }
}

/// Returns the number that the agent's next message gets.
pub fn next_number(txn: &mut dyn ReadTxn, agent: &FormulaId) -> Result<MessageNumber, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    let row: Option<MailboxRow> = table::load(txn, Table::Mailbox, &agent.number, &mailbox.number)?;
    Ok(MessageNumber(row.unwrap_or_default().next))
}

/// Returns the message under this number in an agent's mailbox.
pub fn message(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    number: MessageNumber,
) -> Result<Option<MailboxEntry>, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    table::mail(txn, &agent.number, &mailbox, number)?
        .map(|mail| mailbox_entry(txn, number, mail))
        .transpose()
}

/// Returns the messages in an agent's mailbox that were not dismissed, oldest first, at most `limit`. With `from`,
/// they begin at that number.
pub fn mailbox_entries(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    from: Option<MessageNumber>,
    limit: usize,
) -> Result<Vec<MailboxEntry>, StoreFault> {
    let rows = rows(txn, agent, from)?;
    rows.into_iter()
        .filter(|(_, mail)| mail.message.is_some())
        .take(limit)
        .map(|(number, mail)| mailbox_entry(txn, number, mail))
        .collect()
}

fn rows(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    from: Option<MessageNumber>,
) -> Result<Vec<(MessageNumber, Mail)>, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    let first = from.map(table::message_key);
    let start = table::inner_key(&mailbox, first.as_ref().map_or(&[][..], |key| &key[..]));
    let end = table::prefix_end(&mailbox.number);
    let rows: Vec<(Vec<u8>, Mail)> =
        table::scan(txn, Table::Message, &agent.number, &start, &end, usize::MAX, false)?;
    rows.into_iter()
        .map(|(key, mail)| {
            let number = number(&key)?;
            Ok((number, mail))
        })
        .collect()
}

/// Returns all messages in an agent's mailbox, oldest first. Of a dismissed message, only the envelope is left. If
/// `open` is set, only messages that need an answer are returned.
pub fn inbox(txn: &mut dyn ReadTxn, agent: &FormulaId, open: bool) -> Result<Vec<MailboxEntry>, StoreFault> {
    inbox_page(txn, agent, open, MessageNumber(0), usize::MAX)
}

/// Returns the numbers of a host's stalled runs, oldest first, and at most `limit` of them.
///
/// # Errors
/// When the store cannot be read.
pub fn stalled(txn: &mut dyn ReadTxn, owner: &Owner, limit: usize) -> Result<Vec<RunNumber>, StoreFault> {
    let end = table::prefix_end(table::STALLED_PREFIX);
    let rows = txn.range(Table::Meta, owner, table::STALLED_PREFIX, &end, limit, false)?;
    let number = |(key, _): (Vec<u8>, _)| {
        let number = key.strip_prefix(table::STALLED_PREFIX).and_then(|number| number.try_into().ok());
        let number = number.map(u64::from_be_bytes).map(RunNumber);
        number.ok_or_else(|| StoreFault::Corrupt("a stalled run lies under a bad key".to_owned()))
    };
    rows.into_iter().map(number).collect()
}

/// Returns the numbers of the messages in an agent's mailbox that need an answer, oldest first. They begin at number
/// `from`, and are at most `limit`.
pub fn awaiting(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    from: MessageNumber,
    limit: usize,
) -> Result<Vec<MessageNumber>, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    let start = table::inner_key(&mailbox, &table::message_key(from));
    let end = table::prefix_end(&mailbox.number);
    numbers(txn, agent, (&start, &end), limit, false)
}

/// Returns the numbers of the messages in an agent's mailbox that need an answer, newest first. They are below
/// `below`, if it is given, and at most `limit`.
pub fn awaiting_below(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    below: Option<MessageNumber>,
    limit: usize,
) -> Result<Vec<MessageNumber>, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    let end = match below {
        Some(number) => table::inner_key(&mailbox, &table::message_key(number)),
        None => table::prefix_end(&mailbox.number),
    };
    numbers(txn, agent, (&mailbox.number, &end), limit, true)
}

fn numbers(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    (start, end): (&[u8], &[u8]),
    limit: usize,
    reverse: bool,
) -> Result<Vec<MessageNumber>, StoreFault> {
    let rows = txn.range(Table::Awaiting, &agent.number, start, end, limit, reverse)?;
    rows.into_iter().map(|(key, _)| number(&key)).collect()
}

fn number(key: &[u8]) -> Result<MessageNumber, StoreFault> {
    crate::name_lookup::number_in(key)
        .ok_or_else(|| StoreFault::Corrupt("a message lies under a bad key".to_owned()))
}

/// Describes a formula in a few words, as a grant of these methods shows it. The other restrictions of the grant are
/// left out.
pub fn describe_with(formula: &Formula, methods: &BTreeSet<String>) -> String {
    match formula {
        Formula::Resource(resource) => resource.summary_with(methods),
        other => describe(other),
    }
}

/// Describes a formula in a few words for a user.
pub fn describe(formula: &Formula) -> String {
    match formula {
        Formula::Resource(resource) => resource.summary(),
        Formula::Scratch { .. } => "a directory for scratch".to_owned(),
        Formula::Tree(_) => "a tree of files".to_owned(),
        Formula::Worker { model: Some(model), limits, .. } => {
            resource::model::model_summary(model, Some(limits.tokens), limits.usd_micros)
        }
        Formula::Worker { name, definition, .. } => {
            resource::keyword_kinds::worker_summary(name, &definition.short())
        }
        Formula::Myself => resource::keyword_kinds::MYSELF.to_owned(),
        Formula::Workshop => "the making of workers".to_owned(),
        Formula::Marshal { value } if value.references().is_empty() => format!("a value ({})", value.kind()),
        Formula::Marshal { .. } => "a value with capabilities".to_owned(),
        Formula::Handle { .. } => "a mail address".to_owned(),
        Formula::Host { .. } => "the powers of a host".to_owned(),
        Formula::Guest { .. } => "the powers of a guest".to_owned(),
        Formula::Directory { .. } => "a directory of names".to_owned(),
        Formula::MailHub { .. } => "a mailbox".to_owned(),
        Formula::Blob { bytes, .. } => format!("{bytes} bytes"),
        Formula::Endo { .. } => "the root of this store".to_owned(),
        Formula::Run { run, .. } => format!("run {run}"),
        Formula::Eval { modules: Some(modules), .. } => {
            format!("a program of modules out of {}", modules.packed.describe())
        }
        Formula::Eval { .. } => "code".to_owned(),
        Formula::Export { .. } => "an object that code has made".to_owned(),
        other => passable::with_article(other.kind()),
    }
}

/// Returns whether an agent holds a formula. An agent holds its own parts, and the formulas that it reached by name,
/// message, result or grant.
pub fn holds(txn: &mut dyn ReadTxn, agent: &FormulaId, id: &FormulaId) -> Result<bool, StoreFault> {
    if agent == id {
        return Ok(true);
    }
    if let Some(row) = table::formula(txn, agent)? {
        // A mailbox and a pet store have no methods; the formulas that lead to them do.
        let own = row.formula.references();
        let root = matches!(row.formula, Formula::Host { .. });
        let endo = table::endo(txn)?;
        if own.contains(id) && (root || endo != Some(*id)) {
            return Ok(true);
        }
    }
    let end = table::prefix_end(&id.number);
    Ok(!txn.range(Table::Held, &agent.number, &id.number, &end, 1, false)?.is_empty())
}

/// The maximum number of names on a path that is found.
const MAX_DEPTH: usize = 8;

/// The maximum number of directories that are searched for one path.
const DIRECTORIES: usize = 200;

/// Returns the names on the shortest path to a formula from the place where an agent's paths begin. The path leads
/// only through the agent's own directories, because other agents give the names in theirs. Of several shortest
/// paths, the first in order is returned.
///
/// # Errors
/// When the store fails.
pub fn path_to(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    id: &FormulaId,
) -> Result<Option<Vec<String>>, StoreFault> {
    let Some(own) = head(txn, agent)?.and_then(|head| head.agent()) else { return Ok(None) };
    let Some(root) = head(txn, &own.directory)?.and_then(|head| head.store()) else { return Ok(None) };
    let mut seen = BTreeSet::from([root.number]);
    let mut queue = std::collections::VecDeque::from([(*id, Vec::new())]);
    while let Some((at, path)) = queue.pop_front() {
        let mut further = Vec::new();
        for (store, name) in names_of(txn, agent, &at)? {
            let longer: Vec<String> = std::iter::once(name).chain(path.iter().cloned()).collect();
            if store == root.number {
                return Ok(Some(longer));
            }
            if longer.len() < MAX_DEPTH && seen.len() < DIRECTORIES && seen.insert(store) {
                further.push((FormulaId { number: store, node: agent.node }, longer));
            }
        }
        for (store, path) in further {
            let directories = references_to(txn, &store, DIRECTORIES)?;
            let of_it = directories.into_iter().filter(|(_, label)| label == "pet-store");
            queue.extend(of_it.map(|(directory, _)| (directory, path.clone())));
        }
    }
    Ok(None)
}

/// Returns the names of a formula in an agent's directories, each with the pet store that contains the name.
fn names_of(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    id: &FormulaId,
) -> Result<Vec<([u8; 32], String)>, StoreFault> {
    // An agent holds every formula that it has named. The key of this row contains the pet store and the name.
    let prefix = table::inner_key(id, b"n");
    let rows =
        txn.range(Table::Held, &agent.number, &prefix, &table::prefix_end(&prefix), DIRECTORIES, false)?;
    let bad = || StoreFault::Corrupt("what is held because of its name lies under a bad key".to_owned());
    rows.into_iter()
        .map(|(key, _)| {
            let (store, name) =
                key.get(prefix.len()..).and_then(|key| key.split_at_checked(32)).ok_or_else(bad)?;
            let name = String::from_utf8(name.to_vec()).map_err(|_| bad())?;
            Ok((store.try_into().map_err(|_| bad())?, name))
        })
        .collect()
}

/// Returns a grant that an agent gave, even after its holder is gone and the grant has been collected.
///
/// # Errors
/// When the store fails.
pub fn issued_grant(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    id: &FormulaId,
) -> Result<Option<Grant>, StoreFault> {
    table::load(txn, Table::Grant, owner, &id.number)
}

/// Returns the number under which a message lies in an agent's mailbox.
///
/// # Errors
/// When the store fails.
pub fn number_of_message(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    message: &crate::id::Number,
) -> Result<Option<MessageNumber>, StoreFault> {
    let mailbox = mailbox(txn, agent)?;
    table::mail_number(txn, &agent.number, &mailbox, message)
}

/// Returns every grant that an agent gave, in order of number.
pub fn grants(txn: &mut dyn ReadTxn, owner: &Owner) -> Result<Vec<Grant>, StoreFault> {
    let rows = txn.range(Table::Grant, owner, b"n", b"o", usize::MAX, false)?;
    let mut all = Vec::new();
    // These rows may include grants whose identifiers begin with the same byte. The keys of such rows are longer.
    for (key, row) in rows.into_iter().filter(|(key, _)| key.len() == 9) {
        let Some(id) = crate::txn::read_row::<FormulaId>(txn, Table::Grant, &row)? else { continue };
        match table::load(txn, Table::Grant, owner, &id.number)? {
            Some(grant) => all.push(grant),
            None if txn.leaves_out(Table::Grant, &row) => {}
            None => {
                return Err(StoreFault::Corrupt(format!("the grant under {key:?} is missing")));
            }
        }
    }
    Ok(all)
}

/// A path on which a formula is kept, from the root to the formula. Each formula comes with the label of the
/// reference by which the formula before it keeps it.
pub type Path = Vec<(FormulaId, String)>;

/// Returns paths from the root to a formula, shortest first, at most `most`. They show why the formula is kept. A
/// formula that only waits to be collected has none.
pub fn retention(txn: &mut dyn ReadTxn, id: &FormulaId, most: usize) -> Result<Vec<Path>, StoreFault> {
    /// The maximum number of references that are followed.
    const MAX_REFERENCES: usize = 20_000;
    let Some(root) = table::endo(txn)? else { return Ok(vec![]) };
    let mut found = Vec::new();
    let mut queue = std::collections::VecDeque::from([vec![(*id, String::new())]]);
    // Several paths may lead through the same formula, but not more than `most`.
    let mut seen = std::collections::BTreeMap::<FormulaId, usize>::new();
    let mut followed = 0;
    while let Some(way) = queue.pop_front() {
        let Some((here, _)) = way.last().cloned() else { continue };
        let end = table::prefix_end(&here.number);
        let edges: Vec<(Vec<u8>, EdgeRow)> =
            table::scan(txn, Table::Edge, &NO_OWNER, &here.number, &end, MAX_REFERENCES, false)?;
        for (_, edge) in edges {
            followed += 1;
            if followed > MAX_REFERENCES {
                return Ok(found);
            }
            let mut longer = way.clone();
            if let Some(last) = longer.last_mut() {
                last.1.clone_from(&edge.label);
            }
            longer.push((edge.from, String::new()));
            if edge.from == root {
                longer.reverse();
                found.push(longer);
                if found.len() == most {
                    return Ok(found);
                }
                continue;
            }
            let times = seen.entry(edge.from).or_default();
            if *times < most && !way.iter().any(|(passed, _)| *passed == edge.from) {
                *times += 1;
                queue.push_back(longer);
            }
        }
    }
    Ok(found)
}

/// Returns the messages of [`inbox`] from number `from` on, at most `limit`.
pub fn inbox_page(
    txn: &mut dyn ReadTxn,
    agent: &FormulaId,
    open: bool,
    from: MessageNumber,
    limit: usize,
) -> Result<Vec<MailboxEntry>, StoreFault> {
    /// The number of rows that are read at a time.
    const STRIDE: usize = 256;
    if open {
        let numbers = awaiting(txn, agent, from, limit)?;
        return numbers.into_iter().filter_map(|number| message(txn, agent, number).transpose()).collect();
    }
    let mailbox = mailbox(txn, agent)?;
    let end = table::prefix_end(&mailbox.number);
    let (mut found, mut next) = (Vec::new(), from);
    loop {
        let start = table::inner_key(&mailbox, &table::message_key(next));
        let rows: Vec<(Vec<u8>, Mail)> =
            table::scan(txn, Table::Message, &agent.number, &start, &end, STRIDE, false)?;
        let full = rows.len() == STRIDE;
        for (key, mail) in rows {
            let number = number(&key)?;
            next = number.successor();
            found.push(mailbox_entry(txn, number, mail)?);
            if found.len() == limit {
                return Ok(found);
            }
        }
        if !full {
            return Ok(found);
        }
    }
}

/// Returns the events with numbers above `after`, in order, at most `limit`, each with its recorder.
pub fn events(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, StoreFault> {
    let from = table::number_key(after.saturating_add(1));
    let found = table::scan(txn, Table::Event, owner, &from, &[], limit, false)?;
    let mut events: Vec<Event> = found.into_iter().map(|(_, event)| event).collect();
    recorders::add(txn, owner, &mut events)?;
    Ok(events)
}

/// Returns the latest event for which `is_wanted` returns true. The search ends after about `most` events.
pub fn last_event(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    most: usize,
    is_wanted: impl Fn(&crate::event::Change) -> bool,
) -> Result<Option<Event>, StoreFault> {
    const STRIDE: usize = 500;
    let (mut before, mut looked_at) = (Vec::new(), 0);
    while looked_at < most {
        let rows: Vec<(Vec<u8>, Event)> = table::scan(txn, Table::Event, owner, &[], &before, STRIDE, true)?;
        looked_at += STRIDE;
        let earliest = rows.last().map(|(key, _)| key.clone());
        if let Some((_, event)) = rows.into_iter().find(|(_, event)| is_wanted(&event.change)) {
            return Ok(Some(event));
        }
        match earliest {
            Some(key) => before = key,
            None => return Ok(None),
        }
    }
    Ok(None)
}

/// Returns the formulas that refer to a formula, each with the label of the reference; at most `most`.
pub fn references_to(
    txn: &mut dyn ReadTxn,
    id: &FormulaId,
    most: usize,
) -> Result<Vec<(FormulaId, String)>, StoreFault> {
    let end = table::prefix_end(&id.number);
    let edges: Vec<(Vec<u8>, EdgeRow)> =
        table::scan(txn, Table::Edge, &NO_OWNER, &id.number, &end, most, false)?;
    Ok(edges.into_iter().map(|(_, edge)| (edge.from, edge.label)).collect())
}

/// Returns all tasks in the outbox of an owner: the work that the daemon must still do outside of the store.
pub fn outbox(txn: &mut dyn ReadTxn, owner: &Owner) -> Result<Vec<Task>, StoreFault> {
    Ok(table::scan(txn, Table::Outbox, owner, &[], &[], usize::MAX, false)?
        .into_iter()
        .map(|(_, task)| task)
        .collect())
}

/// Returns whether the effect of a step has begun, and its outcome is not recorded yet.
pub fn is_begun(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<bool, StoreFault> {
    Ok(table::run(txn, owner, at.run)?
        .is_some_and(|run| matches!(run.open.get(&at.step), Some(crate::run::Phase::Executing { .. }))))
}

/// The fields of an effect's result that may name a file.
pub const FILE_FIELDS: [&str; 3] = ["path", "file", "directory"];

/// Returns the last part of the path that the result of an effect names.
pub fn named_file(value: &Value) -> Option<&str> {
    let path = FILE_FIELDS.into_iter().find_map(|field| value.get(field)?.as_str())?;
    file_name(path)
}

/// Returns the last part of a path.
pub fn file_name(path: &str) -> Option<&str> {
    path.trim_end_matches('/').rsplit('/').next().filter(|name| !name.is_empty())
}

/// Returns the runs of a host whose effects named a file of this name, newest first, at most `most`.
pub fn runs_of_file(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    name: &str,
    most: usize,
) -> Result<Vec<RunNumber>, StoreFault> {
    let start = table::file_run_prefix(name);
    let end = table::prefix_end(&start);
    let rows = txn.range(Table::FileRun, owner, &start, &end, most, true)?;
    let number = |key: Vec<u8>| key[start.len()..].try_into().ok().map(u64::from_be_bytes).map(RunNumber);
    Ok(rows.into_iter().filter_map(|(key, _)| number(key)).collect())
}
