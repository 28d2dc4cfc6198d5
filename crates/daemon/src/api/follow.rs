//! The stream of events to followers.

use std::io;
use std::time::Duration;

use passable::Untrusted;

use crate::state::daemon::HostDaemon;
use crate::state::text_stream::FollowerProgress;
use control::exit::{Exit, Failure};
use control::protocol::Response;

/// The maximum number of events that are read from the store at once.
const MAX_EVENTS: usize = 256;

/// A receiver of the stream of events.
pub trait Follower {
    /// Sends a response to the follower.
    ///
    /// # Errors
    /// When the follower has stopped listening.
    fn send(&mut self, response: Response) -> io::Result<()>;

    /// Sends several responses at once.
    ///
    /// # Errors
    /// When the follower has stopped listening.
    fn send_all(&mut self, responses: Vec<Response>) -> io::Result<()> {
        responses.into_iter().try_for_each(|response| self.send(response))
    }

    /// Returns whether the follower has stopped listening. The daemon asks at least once a second.
    fn is_closed(&mut self) -> bool;
}

/// Sends every event of the host after `after`, and then each new event, until the follower or the daemon ends. With
/// `text`, the text of models is also sent while they write it.
///
/// # Errors
/// When the follower has stopped listening.
pub fn follow(
    daemon: &HostDaemon,
    follower: &mut dyn Follower,
    mut after: u64,
    text: bool,
) -> io::Result<()> {
    let mut had = FollowerProgress::default();
    let mut tick = daemon.news.tick();
    for (run, trouble) in daemon.all_blocked() {
        follower.send(Response::Stuck { run, trouble })?;
    }
    loop {
        loop {
            let events = match daemon.events(after, MAX_EVENTS) {
                Ok(events) => events,
                Err(failure) => return follower.send(Response::Failed(failure)),
            };
            let full = events.len() == MAX_EVENTS;
            after = events.last().map_or(after, |event| event.seq);
            follower.send_all(events.into_iter().map(|event| Response::Event(Box::new(event))).collect())?;
            if !full {
                break;
            }
        }
        if daemon.is_stopping() {
            return follower.send(Response::Failed(stop_failure()));
        }
        if follower.is_closed() {
            return Ok(());
        }
        let unseen = daemon.news.wait(&daemon.host, tick, Duration::from_secs(1));
        tick = unseen.tick;
        for (run, line) in unseen.progress {
            follower.send(Response::Progress { run, line: Untrusted::new(line) })?;
        }
        if text {
            had.send(unseen.text, &mut |response| follower.send(response))?;
        }
        for (run, trouble) in unseen.blocked {
            follower.send(Response::Stuck { run, trouble })?;
        }
    }
}

/// Returns the failure for a follower of a daemon that stops on purpose. The client should not start the daemon again
/// because of it.
fn stop_failure() -> Failure {
    Failure::new(Exit::NoDaemon, "the daemon was stopped; the run goes on when it runs again")
        .help("`almoner resume` starts it and follows on")
}
