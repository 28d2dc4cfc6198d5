//! The view of servers' limits that all requests of a process share.
//!
//! If one request is told to wait, no other request asks that server meanwhile. Afterwards the requests begin one after
//! the other, with a pause between them that shrinks with each success.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

/// The pause between two requests after a server first asked to slow down.
const FIRST_PACE: Duration = Duration::from_millis(250);
/// The maximum pause between two requests.
const MAX_PACE: Duration = Duration::from_secs(30);
/// A pause below this is none.
const MIN_PACE: Duration = Duration::from_millis(20);
/// The wait after a first refusal that names no time.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The maximum wait after a refusal that names no time.
const MAX_WAIT: Duration = Duration::from_secs(300);
/// The maximum wait before any server has refused a request, because its answer says that nothing is left.
const MAX_EARLY_WAIT: Duration = Duration::from_secs(60);
/// The maximum wait that a server may ask for. A longer one counts as this one.
const MAX_ASKED_WAIT: Duration = Duration::from_secs(7 * 24 * 3600);

/// The limits of all servers, as far as they are known. They are lost when the process ends.
#[derive(Debug, Default)]
pub struct RateLimits(Mutex<BTreeMap<String, Limit>>);

/// The limit of one server for one model and one key.
#[derive(Debug, Default)]
struct Limit {
    /// The time before which no request may begin.
    closed_until: Option<Instant>,
    /// The time before which the next request may not begin, because another one has just begun.
    next: Option<Instant>,
    /// The pause between two requests.
    pace: Duration,
    /// The refusals in a row.
    refusals: u32,
    /// The time of the last refusal.
    refused: Option<Instant>,
    /// The requests that were sent away since the last refusal. They come back one after the other.
    sent_away: u32,
}

/// The answer to a request that wants to begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Turn {
    /// The request may begin now.
    Begin,
    /// The request may not begin before this time has passed.
    Wait(Duration),
}

impl RateLimits {
    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Limit>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Lets a request begin, or says how long it must wait.
    pub(crate) fn turn(&self, server: &str, now: Instant) -> Turn {
        let mut all = self.lock();
        let Some(limit) = all.get_mut(server) else { return Turn::Begin };
        match limit.closed_until.into_iter().chain(limit.next).max().filter(|until| *until > now) {
            Some(until) => Turn::Wait(until.saturating_duration_since(now)),
            None => {
                limit.next = now.checked_add(limit.pace);
                Turn::Begin
            }
        }
    }

    /// Returns the wait for a request that gives its thread back. Requests that do so come back one after the other.
    pub(crate) fn send_away(&self, server: &str, wait: Duration) -> Duration {
        let mut all = self.lock();
        let Some(limit) = all.get_mut(server) else { return wait };
        limit.sent_away = limit.sent_away.saturating_add(1);
        wait.saturating_add(limit.pace.saturating_mul(limit.sent_away.saturating_sub(1)))
    }

    /// Forgets all limits, because the user wants to try at once.
    pub fn forget(&self) {
        self.lock().clear();
    }

    /// Records that a server refused a request that began at `begun`. `asked` is the wait that the server asks for.
    pub(crate) fn refused(&self, server: &str, begun: Instant, now: Instant, asked: Option<Duration>) {
        let mut all = self.lock();
        let limit = all.entry(server.to_owned()).or_default();
        // Requests that began before the last refusal say nothing new, however many there are.
        let is_news = limit.refused.is_none_or(|refused| begun > refused);
        if is_news {
            limit.refusals = limit.refusals.saturating_add(1);
            limit.pace = limit.pace.saturating_mul(2).clamp(FIRST_PACE, MAX_PACE);
            limit.sent_away = 0;
            limit.refused = Some(now);
        }
        let grown = FIRST_WAIT.saturating_mul(1 << limit.refusals.saturating_sub(1).min(9)).min(MAX_WAIT);
        let wait = asked.filter(|wait| !wait.is_zero()).unwrap_or(grown).min(MAX_ASKED_WAIT);
        limit.closed_until = limit.closed_until.max(now.checked_add(wait));
    }

    /// Records that a server answered. `left` is the time until it has something left, if it says that nothing is.
    pub(crate) fn answered(&self, server: &str, now: Instant, left: Option<Duration>) {
        let mut all = self.lock();
        if let Some(left) = left.filter(|left| !left.is_zero()) {
            let limit = all.entry(server.to_owned()).or_default();
            limit.closed_until = limit.closed_until.max(now.checked_add(left.min(MAX_EARLY_WAIT)));
        }
        let Some(limit) = all.get_mut(server) else { return };
        limit.refusals = 0;
        limit.pace = limit.pace.mul_f64(0.8);
        if limit.pace < MIN_PACE {
            limit.pace = Duration::ZERO;
        }
        let is_open = limit.closed_until.is_none_or(|until| until <= now);
        if is_open && limit.pace.is_zero() {
            all.remove(server);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SERVER: &str = "https://api.example m";

    fn seconds(turn: Turn) -> f64 {
        match turn {
            Turn::Begin => 0.0,
            Turn::Wait(wait) => wait.as_secs_f64(),
        }
    }

    /// Other programs let every task burn its own tries (Astro-Han/pawwork#1348, adcontextprotocol/adcp#2933).
    #[test]
    fn one_refusal_makes_all_requests_wait() {
        let (limits, start) = (RateLimits::default(), Instant::now());
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        assert_eq!(limits.turn(SERVER, start), Turn::Begin);
        limits.refused(SERVER, start, at(1.0), Some(Duration::from_secs(20)));
        assert_eq!(seconds(limits.turn(SERVER, at(1.0))), 20.0);
        assert_eq!(seconds(limits.turn(SERVER, at(11.0))), 10.0);
        assert_eq!(limits.turn("https://other.example m", at(1.0)), Turn::Begin);
        // A shorter wait of a request that was under way does not open the server.
        limits.refused(SERVER, start, at(2.0), Some(Duration::from_secs(1)));
        assert_eq!(seconds(limits.turn(SERVER, at(11.0))), 10.0);
        assert_eq!(limits.turn(SERVER, at(21.0)), Turn::Begin);
    }

    #[test]
    fn requests_come_back_one_after_the_other() {
        let (limits, start) = (RateLimits::default(), Instant::now());
        let at = |seconds: f64| start + Duration::from_secs_f64(seconds);
        // Sixteen requests were under way, and all of them are refused.
        for _ in 0..16 {
            limits.refused(SERVER, start, start, Some(Duration::from_secs(10)));
        }
        let waits: Vec<f64> =
            (0..3).map(|_| limits.send_away(SERVER, Duration::from_secs(10)).as_secs_f64()).collect();
        assert_eq!(waits, [10.0, 10.25, 10.5]);
        assert_eq!(limits.turn(SERVER, at(10.0)), Turn::Begin);
        assert_eq!(seconds(limits.turn(SERVER, at(10.0))), 0.25);
        assert_eq!(limits.turn(SERVER, at(10.25)), Turn::Begin);
        for _ in 0..20 {
            limits.answered(SERVER, at(11.0), None);
        }
        assert_eq!(limits.turn(SERVER, at(11.0)), Turn::Begin);
        assert_eq!(limits.turn(SERVER, at(11.0)), Turn::Begin);
    }

    #[test]
    fn refusals_without_a_time_wait_longer_each_time() {
        let (limits, mut now) = (RateLimits::default(), Instant::now());
        let mut waits = vec![];
        for asked in [None, None, Some(Duration::ZERO), None] {
            limits.refused(SERVER, now, now, asked);
            let wait = seconds(limits.turn(SERVER, now));
            waits.push(wait);
            now += Duration::from_secs_f64(wait);
        }
        assert_eq!(waits, [1.0, 2.0, 4.0, 8.0]);
        limits.answered(SERVER, now, None);
        limits.refused(SERVER, now, now, None);
        assert_eq!(seconds(limits.turn(SERVER, now)), 1.0);
    }

    #[test]
    fn used_up_allowance_delays_the_next_request() {
        let (limits, now) = (RateLimits::default(), Instant::now());
        limits.answered(SERVER, now, Some(Duration::from_secs(7)));
        assert_eq!(seconds(limits.turn(SERVER, now)), 7.0);
        limits.answered(SERVER, now, Some(Duration::from_secs(86_400)));
        assert_eq!(seconds(limits.turn(SERVER, now)), 60.0);
    }
}
