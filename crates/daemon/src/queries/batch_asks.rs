//! The open approvals of batches. The items of a batch often ask for alike calls.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;

use kernel::message::Body;
use kernel::query;
use kernel::run::{Run, WaitReason};
use kernel::{MessageNumber, RunNumber};
use passable::Untrusted;

use super::runs;
use crate::state::daemon::HostDaemon;
use control::exit::Failure;
use control::show::batch_card::{BatchAsks, ItemAsk};

/// The maximum number of approvals that are looked at.
const MAX_ASKS: usize = 1_000;

/// Returns the open approvals of each batch, in the order of their numbers.
///
/// # Errors
/// When the store cannot be read.
pub fn batch_asks(daemon: &HostDaemon) -> Result<Vec<BatchAsks>, Failure> {
    let mut found: BTreeMap<RunNumber, BatchAsks> = BTreeMap::new();
    let mut batches: BTreeMap<RunNumber, Run> = BTreeMap::new();
    let waiting = daemon.read(|txn| query::awaiting(txn, &daemon.host, MessageNumber(0), MAX_ASKS))?;
    for number in waiting {
        let letter = daemon.read(|txn| query::message(txn, &daemon.host, number))?;
        let Some(Body::Approval { run, .. }) = letter.as_ref().and_then(|letter| letter.body()) else {
            continue;
        };
        let Some((batch, index)) = item_of(daemon, *run)? else { continue };
        let of = match batches.entry(batch) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(new) => match runs::load_listed_run(daemon, batch)? {
                Some(run) => new.insert(run),
                None => continue,
            },
        };
        let item = of.input.items.get(index).map(|item| item.name.clone()).unwrap_or_default();
        let row = found.entry(batch).or_insert_with(|| BatchAsks {
            batch,
            worker: of.name.clone(),
            asks: vec![],
            open: vec![],
        });
        row.open.push(number);
        row.asks.push(ItemAsk { message: number, item: Untrusted::new(item) });
    }
    Ok(found.into_values().collect())
}

/// Returns the batch to which a run belongs, and the index of its item.
fn item_of(daemon: &HostDaemon, run: RunNumber) -> Result<Option<(RunNumber, usize)>, Failure> {
    let mut number = run;
    while let Some(parent) = runs::load_listed_run(daemon, number)?.and_then(|run| run.parent) {
        if let WaitReason::Item { index } = parent.place {
            return Ok(Some((parent.run, index)));
        }
        number = parent.run;
    }
    Ok(None)
}
