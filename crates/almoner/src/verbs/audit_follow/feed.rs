//! The feed of events from the daemon. It goes on across the ends of daemons, and checks that no event is left out.

use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::{Duration, Instant};

use kernel::event::Event;

use super::{audited, event_request};
use crate::client::Client;
use crate::session::Session;
use config::place::Place;
use control::audit_report::Anchor;
use control::exit::{Exit, Failure};
use control::protocol::{Request, Response};

/// The maximum number of events in a batch, and of events that wait for a slow receiver. A receiver that is slower
/// makes the daemon wait with further events, which lie in its store.
const MAX_EVENTS: usize = 256;

/// The time for which a batch waits for more events.
const BATCH_INTERVAL: Duration = Duration::from_millis(200);

/// The time between two connections to a daemon.
const CONNECT_INTERVAL: Duration = Duration::from_millis(200);

/// Events in order, without a gap.
#[derive(Debug)]
pub(super) struct EventFeed {
    events: Receiver<Result<Event, Failure>>,
    /// The last event that was returned.
    end: Anchor,
}

impl EventFeed {
    /// Begins with the event after an anchor.
    pub(super) fn begin(place: &Place, agent: Option<&str>, after: Anchor) -> EventFeed {
        let (send, events) = sync_channel(MAX_EVENTS);
        let (place, agent) = (place.clone(), agent.map(str::to_owned));
        thread::spawn(move || {
            if let Err(failure) = receive(&place, agent.as_deref(), after, &send) {
                // The receiver may have ended first.
                let _ = send.send(Err(failure));
            }
        });
        EventFeed { events, end: after }
    }

    /// Waits for the next event, and returns it with those that follow at once.
    ///
    /// # Errors
    /// When the log does not go on from the last event.
    pub(super) fn next_batch(&mut self) -> Result<Vec<Event>, Failure> {
        let mut batch = Vec::new();
        let mut deadline = None;
        while batch.len() < MAX_EVENTS {
            let next = match deadline {
                None => self.events.recv().map_err(|_| RecvTimeoutError::Disconnected),
                Some(deadline) => self.events.recv_timeout(remaining(deadline)),
            };
            match next {
                Ok(Ok(event)) => {
                    self.check(&event)?;
                    batch.push(event);
                    deadline.get_or_insert_with(|| Instant::now() + BATCH_INTERVAL);
                }
                // The failure comes back as soon as the events before it are delivered.
                Ok(Err(failure)) if batch.is_empty() => return Err(failure),
                Ok(Err(failure)) => {
                    let (send, events) = sync_channel(1);
                    let _ = send.send(Err(failure));
                    self.events = events;
                    break;
                }
                Err(_) => break,
            }
        }
        Ok(batch)
    }

    /// Checks that an event follows the last one, and advances to it.
    fn check(&mut self, event: &Event) -> Result<(), Failure> {
        if event.seq != self.end.seq.saturating_add(1) || !event.verify(self.end.hash) {
            return Err(other_log(self.end));
        }
        self.end = Anchor { seq: event.seq, hash: event.hash };
        Ok(())
    }
}

fn remaining(deadline: Instant) -> Duration {
    deadline.saturating_duration_since(Instant::now())
}

/// Receives events until the feed is dropped.
fn receive(
    place: &Place,
    agent: Option<&str>,
    mut after: Anchor,
    send: &SyncSender<Result<Event, Failure>>,
) -> Result<(), Failure> {
    loop {
        let mut client = Client::await_daemon(place, None)?.on_behalf_of(agent);
        match receive_from(&mut client, &mut after, send) {
            Ok(true) => {}
            Ok(false) => return Ok(()),
            // The daemon has ended. Only a daemon makes events, so that nothing is missed until the next one runs.
            Err(failure) if failure.exit == Exit::NoDaemon => {}
            Err(failure) => return Err(failure),
        }
        thread::sleep(CONNECT_INTERVAL);
    }
}

/// Receives events from one daemon until it ends. Returns `false` if the feed was dropped.
fn receive_from(
    client: &mut Client,
    after: &mut Anchor,
    send: &SyncSender<Result<Event, Failure>>,
) -> Result<bool, Failure> {
    // The home may have been restored from a backup while no daemon ran.
    check(*after, |request| client.ask(request))?;
    client.send(Request::Follow { after: after.seq, text: false })?;
    loop {
        match client.receive() {
            Some(Response::Event(event)) => {
                *after = Anchor { seq: event.seq, hash: event.hash };
                if send.send(Ok(*event)).is_err() {
                    return Ok(false);
                }
            }
            Some(Response::Failed(failure)) => return Err(failure),
            Some(_) => {}
            None => return Ok(true),
        }
    }
}

/// Checks that the log holds the event of an anchor.
///
/// # Errors
/// When it does not, or the daemon cannot be asked.
pub(super) fn check_anchor(acting: &Session<'_>, anchor: Anchor) -> Result<(), Failure> {
    check(anchor, |request| acting.ask(request))
}

fn check(anchor: Anchor, ask: impl FnMut(Request) -> Result<Response, Failure>) -> Result<(), Failure> {
    if anchor.seq == 0 {
        return Ok(());
    }
    match event(anchor.seq, ask)? {
        Some(event) if event.hash == anchor.hash => Ok(()),
        _ => Err(other_log(anchor)),
    }
}

/// Returns one event of the log, if the log has it.
///
/// # Errors
/// When the daemon cannot be asked.
pub(super) fn event(
    seq: u64,
    mut ask: impl FnMut(Request) -> Result<Response, Failure>,
) -> Result<Option<Event>, Failure> {
    Ok(audited(ask(event_request(seq))?)?.into_iter().find(|event| event.seq == seq))
}

fn other_log(end: Anchor) -> Failure {
    let message = format!("cannot go on after event {}: the log does not go on from it", end.seq);
    Failure::new(Exit::Conflict, message).help(
        "the home was restored or changed: `almoner audit verify`; `--from start` sends all events again",
    )
}
