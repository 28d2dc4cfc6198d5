//! The audit. It checks that the log of events is complete, and that the rows behind the events are as they were
//! recorded.

use kernel::audit::{RecordStatus, check_record};
use kernel::event::Event;
use kernel::{BlobHash, table};

use crate::state::daemon::HostDaemon;
use control::audit_report::{Anchor, AuditFault, AuditReport};
use control::exit::Failure;

/// The number of events that are read at a time.
const PAGE_SIZE: usize = 1000;

/// Verifies the log of the daemon's host. `events` selects events for the report: the number of the last ones, and
/// the event before which they lie. `contains` is an anchor to find in the log.
///
/// # Errors
/// When the store cannot be read.
pub fn verify(
    daemon: &HostDaemon,
    events: Option<(usize, Option<u64>)>,
    contains: Option<Anchor>,
) -> Result<AuditReport, Failure> {
    let mut found = AuditReport::default();
    let mut prev = BlobHash([0; 32]);
    let mut after = 0;
    loop {
        let page = daemon.events(after, PAGE_SIZE)?;
        let Some(last) = page.last() else { break };
        after = last.seq;
        // One transaction reads the rows of a page, so a row that a dismissal removes is missing for all of the page
        // or for none.
        let states = daemon.read(|txn| {
            page.iter().map(|event| check_record(txn, &daemon.host, event)).collect::<Result<Vec<_>, _>>()
        })?;
        for (event, state) in page.iter().zip(states) {
            found.events += 1;
            if event.seq != found.events || !event.verify(prev) {
                found.broken = Some(AuditFault::Chain { seq: event.seq });
                return Ok(found);
            }
            prev = event.hash;
            match state {
                RecordStatus::Intact => found.covered += 1,
                RecordStatus::Missing => found.gone += 1,
                RecordStatus::Uncovered => {}
                RecordStatus::Altered => {
                    found.broken = Some(AuditFault::Record { seq: event.seq });
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
        found.last = events_before(daemon, events, found.events)?;
    }
    Ok(found)
}

/// Returns a report with only the last events, without verifying them. `events` is their number, and the event before
/// which they lie.
///
/// # Errors
/// When the store cannot be read.
pub fn last_events(daemon: &HostDaemon, events: (usize, Option<u64>)) -> Result<AuditReport, Failure> {
    let last = events_before(daemon, events, daemon.last_event()?)?;
    Ok(AuditReport { last, ..AuditReport::default() })
}

/// Returns the last `count` events before `before` in a log of `all` events.
fn events_before(
    daemon: &HostDaemon,
    (count, before): (usize, Option<u64>),
    all: u64,
) -> Result<Vec<Event>, Failure> {
    let end = before.map_or(all, |before| before.saturating_sub(1).min(all));
    let from = end.saturating_sub(count as u64);
    let count = usize::try_from(end - from).unwrap_or(count);
    daemon.events(from, count.min(PAGE_SIZE))
}

/// Verifies the logs of all hosts. Returns one line for `almoner doctor`: its title, whether the logs are intact, and
/// a text.
///
/// # Errors
/// When the store cannot be read.
pub fn doctor_line(daemon: &HostDaemon) -> Result<(String, bool, String), Failure> {
    let hosts = daemon.read(table::hosts)?;
    let mut count = 0;
    let id = || "audit chain".to_owned();
    for (at, host) in hosts.iter().enumerate() {
        let found = verify(&daemon.for_host(*host), None, None)?;
        let whose = if at == 0 { String::new() } else { format!(" of host {}", host.short()) };
        match found.broken {
            None => count += found.events,
            Some(AuditFault::Chain { seq }) => {
                return Ok((id(), false, format!("event {seq}{whose} does not follow the one before")));
            }
            Some(AuditFault::Record { seq }) => {
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
