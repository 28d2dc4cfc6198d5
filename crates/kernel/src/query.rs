//! Questions to the state. They change nothing.

use crate::event::Event;
use crate::formula::Formula;
use crate::id::{FormulaId, MessageNumber, RunNumber, StepRef};
use crate::message::{Mail, Message};
use crate::run::{Run, Step};
use crate::table::{self, Task};
use crate::txn::{Owner, ReadTxn, StoreFault, Table};

/// The newest runs first, at most `limit`; `below` leaves out that run and all newer ones.
pub fn runs(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    below: Option<RunNumber>,
    limit: usize,
) -> Result<Vec<Run>, StoreFault> {
    let to = below.map(|run| table::number_key(run.0).to_vec()).unwrap_or_default();
    Ok(table::scan(txn, Table::Run, owner, &[], &to, limit, true)?.into_iter().map(|(_, run)| run).collect())
}

/// The steps of a run from number `from` on.
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
pub struct Letter {
    /// Its number.
    pub number: MessageNumber,
    /// What was sent.
    pub message: Message,
    /// What has been answered.
    pub mail: Mail,
}

fn mailbox(txn: &mut dyn ReadTxn, host: &FormulaId) -> Result<FormulaId, StoreFault> {
    match table::formula(txn, host)?.map(|row| row.formula) {
        Some(Formula::Host { mailbox, .. }) => Ok(mailbox),
        _ => Err(StoreFault::Corrupt("the host's formula is missing".to_owned())),
    }
}

fn letter(txn: &mut dyn ReadTxn, number: MessageNumber, mail: Mail) -> Result<Letter, StoreFault> {
    match table::formula(txn, &mail.message)?.map(|row| row.formula) {
        Some(Formula::Message { message }) => Ok(Letter { number, message: *message, mail }),
        _ => Err(StoreFault::Corrupt(format!("the formula of message {number} is missing"))),
    }
}

/// The message under this number in the host's mailbox.
pub fn message(
    txn: &mut dyn ReadTxn,
    host: &FormulaId,
    number: MessageNumber,
) -> Result<Option<Letter>, StoreFault> {
    let mailbox = mailbox(txn, host)?;
    table::mail(txn, &host.number, &mailbox, number)?.map(|mail| letter(txn, number, mail)).transpose()
}

/// All messages in the host's mailbox, oldest first; only those that need an answer if `open`.
pub fn inbox(txn: &mut dyn ReadTxn, host: &FormulaId, open: bool) -> Result<Vec<Letter>, StoreFault> {
    let mailbox = mailbox(txn, host)?;
    let from = table::inner_key(&mailbox, &[]);
    let to = table::inner_key(&mailbox, &[0xff; 9]);
    let rows: Vec<(Vec<u8>, Mail)> =
        table::scan(txn, Table::Message, &host.number, &from, &to, usize::MAX, false)?;
    rows.into_iter()
        .filter(|(_, mail)| mail.needs_you || !open)
        .map(|(key, mail)| {
            let number = key
                .get(32..)
                .and_then(|n| n.try_into().ok())
                .map(u64::from_be_bytes)
                .ok_or_else(|| StoreFault::Corrupt("a message lies under a bad key".to_owned()))?;
            letter(txn, MessageNumber(number), mail)
        })
        .collect()
}

/// Events with numbers above `after`, at most `limit`, in order.
pub fn events(
    txn: &mut dyn ReadTxn,
    owner: &Owner,
    after: u64,
    limit: usize,
) -> Result<Vec<Event>, StoreFault> {
    let from = table::number_key(after.saturating_add(1));
    Ok(table::scan(txn, Table::Event, owner, &from, &[], limit, false)?
        .into_iter()
        .map(|(_, event)| event)
        .collect())
}

/// Everything that must still happen in the world.
pub fn outbox(txn: &mut dyn ReadTxn, owner: &Owner) -> Result<Vec<Task>, StoreFault> {
    Ok(table::scan(txn, Table::Outbox, owner, &[], &[], usize::MAX, false)?
        .into_iter()
        .map(|(_, task)| task)
        .collect())
}

/// Whether an effect has begun whose outcome is not recorded.
pub fn is_begun(txn: &mut dyn ReadTxn, owner: &Owner, at: StepRef) -> Result<bool, StoreFault> {
    Ok(table::run(txn, owner, at.run)?
        .is_some_and(|run| matches!(run.open.get(&at.step), Some(crate::run::Phase::Begun { .. }))))
}
