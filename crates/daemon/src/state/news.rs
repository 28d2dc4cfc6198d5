//! News: the hints that followers wait for. All of it may be lost; the store has the truth.

use std::collections::BTreeMap;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use kernel::run::Trouble;
use kernel::{FormulaId, HostRun, RunNumber};

/// Hints that something new can be read, for the followers of all hosts.
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
    /// The last line of progress of each run that waits for a model, with the tick at which it changed.
    progress: BTreeMap<HostRun, (u64, String)>,
    /// The text that each run's model has written of its reply so far, with the tick at which it changed.
    text: BTreeMap<HostRun, (u64, ReplyBuffer)>,
    /// Runs that got stuck, with the tick.
    blocked: BTreeMap<HostRun, (u64, Trouble)>,
}

/// The text that a model has written of a reply so far.
#[derive(Clone, Default)]
pub struct StreamedReply {
    /// The step that asked.
    pub prompted: u64,
    /// The tick at which the reply began. It tells the reply from one to the same step that was given up.
    pub began: u64,
    /// The part that can be shown.
    pub shown: String,
}

/// The same, with the part that is not to be shown yet.
#[derive(Default)]
struct ReplyBuffer {
    streamed: StreamedReply,
    /// The text that has come and is not shown yet.
    pending: String,
    /// How many bytes have come.
    bytes: usize,
}

/// The most of a reply that is kept to be shown while it is written: 1 MiB.
const MAX_TEXT_BYTES: usize = 1 << 20;

/// The news that a follower has not seen yet.
pub struct NewsUpdate {
    /// The tick up to which the follower has now seen everything.
    pub tick: u64,
    /// Lines of progress.
    pub progress: Vec<(RunNumber, String)>,
    /// The text that models have written so far.
    pub text: Vec<(RunNumber, StreamedReply)>,
    /// Runs that got stuck.
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

    /// Returns the tick now: a follower that begins here has seen everything before.
    pub fn tick(&self) -> u64 {
        self.lock().tick
    }

    /// Wakes every follower.
    pub fn wake(&self) {
        self.change(|_| {});
    }

    /// Wakes everybody for the last time: the daemon is about to end.
    pub fn end(&self) {
        self.change(|state| state.ended = true);
        self.ended.notify_all();
    }

    /// Waits until the daemon is about to end, at most `patience`: for those who look around now and then, and need not
    /// be woken by each change.
    pub fn wait_for_end(&self, patience: Duration) {
        let state = self.lock();
        // A caller that is woken without a reason looks around a little early.
        if !state.ended {
            let _ = self.ended.wait_timeout(state, patience);
        }
    }

    /// Tells how far the model of a run has come.
    pub fn publish_progress(&self, of: HostRun, line: String) {
        self.change(|state| drop(state.progress.insert(of, (state.tick, line))));
    }

    /// Adds text that the model of a run has written. `settled` gets the text that is not shown yet, and where the
    /// new part begins. It returns how much of the text can be shown, and in which form. Each byte is looked at once,
    /// even if the parts are small.
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
                // A follower that sees nothing of the text sees that it goes on.
                if !written.pending.is_empty() {
                    let line = format!("it is writing, {} bytes so far", written.bytes);
                    state.progress.insert(of, (tick, line));
                }
            }
        });
    }

    /// Forgets it: the reply comes again, or has come.
    pub fn forget_text(&self, of: &HostRun) {
        self.lock().text.remove(of);
    }

    /// Tells that a run got stuck.
    pub fn publish_blocked(&self, of: HostRun, trouble: Trouble) {
        self.change(|state| drop(state.blocked.insert(of, (state.tick, trouble))));
    }

    /// Takes that back.
    pub fn publish_unblocked(&self, of: HostRun) {
        self.change(|state| drop(state.blocked.remove(&of)));
    }

    /// Waits until there is news of any run after `tick`, at most `patience`. It returns the news of the runs of
    /// `host`.
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
