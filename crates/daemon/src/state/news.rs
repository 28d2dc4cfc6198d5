//! The hints that wake followers. All of them may be lost, because the store has the facts.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::run::Trouble;
use kernel::{FormulaId, HostRun, RunNumber};

/// The hints that something new can be read, for the followers of all hosts.
#[derive(Default)]
pub struct News {
    state: Mutex<NewsState>,
    changed: Condvar,
    ended: Condvar,
}

#[derive(Default)]
struct NewsState {
    tick: u64,
    /// Whether the daemon is about to end.
    ended: bool,
    /// The last line of progress of each run that waits for a model, with the tick of its last change.
    progress: BTreeMap<HostRun, (u64, String)>,
    /// The text of each run's present reply so far, with the tick of its last change.
    text: BTreeMap<HostRun, (u64, ReplyBuffer)>,
    /// Runs that are blocked, each with the tick at which it was blocked.
    blocked: BTreeMap<HostRun, (u64, Trouble)>,
}

/// The text that a model has written of a reply so far.
#[derive(Clone, Default)]
pub struct StreamedReply {
    /// The number of the step that prompted the model.
    pub prompted: u64,
    /// The tick at which the reply began. An abandoned reply to the same step has another tick.
    pub began: u64,
    /// The part of the text that can be shown.
    pub shown: String,
}

/// A streamed reply, with the text that cannot be shown yet.
#[derive(Default)]
struct ReplyBuffer {
    streamed: StreamedReply,
    /// The text that was received, but cannot be shown yet.
    pending: String,
    /// The number of bytes received.
    bytes: usize,
}

/// The maximum number of bytes of a reply that are kept while the reply is written: 1 MiB.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The news that a follower has not seen.
pub struct NewsUpdate {
    /// The tick of these news. The follower has then seen everything up to this tick.
    pub tick: u64,
    /// Lines of progress.
    pub progress: Vec<(RunNumber, String)>,
    /// The replies that models have written so far.
    pub text: Vec<(RunNumber, StreamedReply)>,
    /// Runs that are blocked.
    pub blocked: Vec<(RunNumber, Trouble)>,
}

impl News {
    fn lock(&self) -> MutexGuard<'_, NewsState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, change: impl FnOnce(&mut NewsState)) {
        let mut state = self.lock();
        state.tick += 1;
        change(&mut state);
        drop(state);
        self.changed.notify_all();
    }

    /// Returns the present tick. A follower that begins with this tick gets only later news.
    pub fn tick(&self) -> u64 {
        self.lock().tick
    }

    /// Wakes every follower.
    pub fn wake(&self) {
        self.change(|_| {});
    }

    /// Wakes every follower for the last time: the daemon is about to end.
    pub fn end(&self) {
        self.change(|state| state.ended = true);
        self.ended.notify_all();
    }

    /// Waits until the daemon is about to end, at most for `patience`. This method is for periodic checks that need
    /// not be woken by each change.
    pub fn wait_for_end(&self, patience: Duration) {
        let state = self.lock();
        // After a spurious wake-up, the caller only makes its check a little early.
        if !state.ended {
            let _ = self.ended.wait_timeout(state, patience);
        }
    }

    /// Publishes a line about the progress of a run's model.
    pub fn publish_progress(&self, of: HostRun, line: String) {
        self.change(|state| drop(state.progress.insert(of, (state.tick, line))));
    }

    /// Adds text that the model of a run has written. `settled` gets the text that is not shown yet, and the offset
    /// of its new part. It returns how much of the text can be shown, and the text in its shown form. Each byte is
    /// scanned once, even if the parts are small.
    pub fn publish_text(
        &self,
        of: HostRun,
        prompted: u64,
        more: &str,
        settled: impl FnOnce(&str, usize) -> (usize, String),
    ) {
        self.change(|state| {
            let tick = state.tick;
            let (at, written) = state.text.entry(of).or_default();
            if written.streamed.prompted != prompted || written.streamed.began == 0 {
                let streamed = StreamedReply { prompted, began: tick, ..StreamedReply::default() };
                *written = ReplyBuffer { streamed, ..ReplyBuffer::default() };
            }
            if written.bytes < MAX_TEXT_BYTES {
                let from = written.pending.len();
                written.bytes += more.len();
                written.pending.push_str(more);
                let (end, shown) = settled(&written.pending, from);
                written.pending.drain(..end);
                written.streamed.shown.push_str(&shown);
                *at = tick;
                // A follower to which no text can be shown yet sees at least that the model is writing.
                if !written.pending.is_empty() {
                    let line = format!("it is writing, {} bytes so far", written.bytes);
                    state.progress.insert(of, (tick, line));
                }
            }
        });
    }

    /// Removes the streamed text of a run: the reply is repeated, or is complete.
    pub fn forget_text(&self, of: &HostRun) {
        self.lock().text.remove(of);
    }

    /// Publishes that a run is blocked.
    pub fn publish_blocked(&self, of: HostRun, trouble: Trouble) {
        self.change(|state| drop(state.blocked.insert(of, (state.tick, trouble))));
    }

    /// Publishes that a run is no longer blocked.
    pub fn publish_unblocked(&self, of: HostRun) {
        self.change(|state| drop(state.blocked.remove(&of)));
    }

    /// Waits for news of any run after `tick`, at most for `patience`. Returns the news of the runs of `host`.
    pub fn wait(&self, host: &FormulaId, tick: u64, patience: Duration) -> NewsUpdate {
        let end = Instant::now() + patience;
        let mut state = self.lock();
        while state.tick == tick {
            let Some(left) = end.checked_duration_since(Instant::now()).filter(|d| !d.is_zero()) else {
                break;
            };
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        NewsUpdate {
            tick: state.tick,
            progress: unseen(&state.progress, host, tick, String::clone),
            text: unseen(&state.text, host, tick, |written| written.streamed.clone()),
            blocked: unseen(&state.blocked, host, tick, Trouble::clone),
        }
    }
}

/// Returns the news of the runs of `host` after `tick`.
fn unseen<T, S>(
    said: &BTreeMap<HostRun, (u64, T)>,
    host: &FormulaId,
    tick: u64,
    shown: impl Fn(&T) -> S,
) -> Vec<(RunNumber, S)> {
    said.iter()
        .filter(|(of, (at, _))| of.host == *host && *at > tick)
        .map(|(of, (_, what))| (of.run, shown(what)))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn end_wakes_a_waiting_thread() {
        let news = News::default();
        std::thread::scope(|scope| {
            scope.spawn(|| news.wait_for_end(Duration::from_secs(600)));
            news.end();
        });
        news.wait_for_end(Duration::from_secs(600));
    }

    #[test]
    fn streamed_text_is_scanned_once_per_byte() {
        let of = HostRun { host: FormulaId { number: [1; 32], node: [0; 32] }, run: RunNumber(1) };
        let (news, seen) = (News::default(), std::cell::Cell::new(0));
        for part in ["a", "b", "\nc", "", "d\n", "e"] {
            news.publish_text(of, 7, part, |pending, from| {
                seen.set(seen.get() + pending.len() - from);
                let end = pending[from..].rfind('\n').map_or(0, |at| from + at + 1);
                (end, pending[..end].to_uppercase())
            });
        }
        assert_eq!(seen.get(), "ab\ncd\ne".len());
        let unseen = news.wait(&of.host, 0, Duration::ZERO);
        assert_eq!((unseen.text[0].1.shown.as_str(), unseen.text[0].1.prompted), ("AB\nCD\n", 7));
        // Text that cannot be shown yet counts as progress.
        assert_eq!(unseen.progress, [(RunNumber(1), "it is writing, 7 bytes so far".to_owned())]);
    }

    #[test]
    fn progress_of_equal_run_numbers_stays_with_its_host() {
        let host = |byte| FormulaId { number: [byte; 32], node: [0; 32] };
        let of = |byte, run| HostRun { host: host(byte), run: RunNumber(run) };
        let news = News::default();
        news.publish_progress(of(1, 1), "one".to_owned());
        let before = news.tick();
        news.publish_progress(of(2, 1), "two".to_owned());
        let check = |byte, tick, expected: &[&str]| {
            let unseen = news.wait(&host(byte), tick, Duration::ZERO);
            let lines: Vec<_> = unseen.progress.into_iter().map(|(run, line)| (run.0, line)).collect();
            assert_eq!(lines, expected.iter().map(|line| (1, (*line).to_owned())).collect::<Vec<_>>());
        };
        check(1, 0, &["one"]);
        check(1, before, &[]);
        check(2, before, &["two"]);
        check(3, 0, &[]);
    }
}
