//! The audit: whether the log of events is whole, and whether the rows behind its events are as they were recorded.

use kernel::audit::{Kept, kept};
use kernel::event::Event;
use kernel::{BlobHash, table};

use crate::state::daemon::HostDaemon;
use control::audited::{Anchor, Audited, Broken};
use control::exit::Failure;

/// How many events are looked at in one go.
const PAGE: usize = 1000;

/// Goes through the log of the daemon's host. `events` says how many of the last are told of, and before which.
///
/// # Errors
/// When the store cannot be read.
pub fn verify(
    daemon: &HostDaemon,
    events: Option<(usize, Option<u64>)>,
    contains: Option<Anchor>,
) -> Result<Audited, Failure> {
    let mut found = Audited::default();
    let mut prev = BlobHash([0; 32]);
    let mut after = 0;
    loop {
        let page = daemon.events(after, PAGE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        // One consistent state for a page: a row that a dismissal removes is gone for all of the page or for none.
        let states = daemon.read(|txn| {
            page.iter().map(|event| kept(txn, &daemon.host, event)).collect::<Result<Vec<_>, _>>()
        })?;
        for (event, state) in page.iter().zip(states) {
            found.events += 1;
            if event.seq != found.events || !event.verify(prev) {
                found.broken = Some(Broken::Chain { seq: event.seq });
                return Ok(found);
            }
            prev = event.hash;
            match state {
                Kept::Whole => found.covered += 1,
                Kept::Gone => found.gone += 1,
                Kept::Uncovered => {}
                Kept::Altered => {
                    found.broken = Some(Broken::Record { seq: event.seq });
                    return Ok(found);
                }
            }
            if contains.is_some_and(|anchor| anchor.seq == event.seq) {
                found.contains = Some(contains == Some(Anchor { seq: event.seq, hash: event.hash }));
            }
        }
        found.end = page.last().map(|event| Anchor { seq: event.seq, hash: event.hash });
    }
    if contains.is_some() && found.contains.is_none() {
        found.contains = Some(false);
    }
    if let Some(events) = events {
        found.last = told(daemon, events, found.events)?;
    }
    Ok(found)
}

/// Returns the last events, so many and before which; nothing of them is verified, and nothing else is said.
///
/// # Errors
/// When the store cannot be read.
pub fn last(daemon: &HostDaemon, events: (usize, Option<u64>)) -> Result<Audited, Failure> {
    let last = told(daemon, events, daemon.last_event()?)?;
    Ok(Audited { last, ..Audited::default() })
}

/// Events of a log of so many.
fn told(daemon: &HostDaemon, (count, before): (usize, Option<u64>), all: u64) -> Result<Vec<Event>, Failure> {
    let end = before.map_or(all, |before| before.saturating_sub(1).min(all));
    let from = end.saturating_sub(count as u64);
    let count = usize::try_from(end - from).unwrap_or(count);
    daemon.events(from, count.min(PAGE))
}

/// Returns the same for all hosts of the store, as one line for `doctor`.
///
/// # Errors
/// When the store cannot be read.
pub fn check(daemon: &HostDaemon) -> Result<(String, bool, String), Failure> {
    let hosts = daemon.read(table::hosts)?;
    let mut count = 0;
    let id = || "audit chain".to_owned();
    for (at, host) in hosts.iter().enumerate() {
        let found = verify(&daemon.of(*host), None, None)?;
        let whose = if at == 0 { String::new() } else { format!(" of host {}", host.short()) };
        match found.broken {
            None => count += found.events,
            Some(Broken::Chain { seq }) => {
                return Ok((id(), false, format!("event {seq}{whose} does not follow the one before")));
            }
            Some(Broken::Record { seq }) => {
                return Ok((
                    id(),
                    false,
                    format!("what event {seq}{whose} tells of is not what was recorded"),
                ));
            }
        }
    }
    let whose = if hosts.len() > 1 { format!(" of {} hosts", hosts.len()) } else { String::new() };
    Ok((
        id(),
        true,
        format!("{count} events{whose}, each follows the one before, and tells of what is there"),
    ))
}
