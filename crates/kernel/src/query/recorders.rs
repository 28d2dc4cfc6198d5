//! The users and the machines that have recorded events. The log names them once for all events that follow.
//!
//! An index lists the numbers of the events that name one. The names themselves are read from the log, which is
//! hash-chained.

use crate::event::{Change, Event, Recorder};
use crate::table;
use crate::txn::{Owner, ReadTxn, StoreFault, Table, Txn};

/// The beginning of the keys of the index. The number of the event follows.
const PREFIX: &[u8] = b"opened ";

fn key(seq: u64) -> Vec<u8> {
    [PREFIX, &table::number_key(seq)].concat()
}

/// Notes that an event names a recorder.
pub(crate) fn note(txn: &mut dyn Txn, owner: &Owner, seq: u64) -> Result<(), StoreFault> {
    table::save(txn, Table::Meta, owner, &key(seq), &seq, None)
}

/// Returns the recorder of the last event in a log.
pub(crate) fn last(txn: &mut dyn ReadTxn, owner: &Owner) -> Result<Option<Recorder>, StoreFault> {
    before(txn, owner, &table::prefix_end(PREFIX))
}

/// Returns the recorder of the event with this number.
pub(crate) fn at(txn: &mut dyn ReadTxn, owner: &Owner, seq: u64) -> Result<Option<Recorder>, StoreFault> {
    before(txn, owner, &key(seq.saturating_add(1)))
}

fn before(txn: &mut dyn ReadTxn, owner: &Owner, end: &[u8]) -> Result<Option<Recorder>, StoreFault> {
    let found: Vec<(Vec<u8>, u64)> = table::scan(txn, Table::Meta, owner, PREFIX, end, 1, true)?;
    let Some((_, seq)) = found.into_iter().next() else { return Ok(None) };
    let event: Option<Event> = table::load(txn, Table::Event, owner, &table::number_key(seq))?;
    Ok(match event.map(|event| event.change) {
        Some(Change::Opened { by }) => Some(by),
        _ => None,
    })
}

/// Adds its recorder to each of these events, which follow each other in a log.
pub(crate) fn add(txn: &mut dyn ReadTxn, owner: &Owner, events: &mut [Event]) -> Result<(), StoreFault> {
    let Some(first) = events.first() else { return Ok(()) };
    let mut by = at(txn, owner, first.seq)?;
    for event in events {
        if let Change::Opened { by: opened } = &event.change {
            by = Some(opened.clone());
        }
        event.by.clone_from(&by);
    }
    Ok(())
}
