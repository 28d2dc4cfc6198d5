//! Tests with `kill -9` at the commits of a play: each repetition of the play has a daemon that dies at a later
//! commit.
//!
//! `ALMONER_KILL_STRIDE` is the distance between two visited commits. Its default of 1 visits all.
//! `ALMONER_KILL_OFFSET` selects the first commit. With a stride of 8, the offsets from 0 to 7 together visit each
//! commit once.

use std::cell::Cell;
use std::os::unix::net::UnixStream;
use std::process::{Child, Command};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use crate::test_home::{Said, TestHome};

/// Just before a commit is on disk.
pub(crate) const BEFORE: &str = "store.before_commit";

/// Just after it is, and before anybody is told.
pub(crate) const AFTER: &str = "store.after_commit";

/// How many plays run at a time.
const AT_ONCE: usize = 2;

/// A commit to which no daemon comes: the play is not disturbed, and its commits are counted.
const NEVER: u64 = u32::MAX as u64;

thread_local! {
    /// The commits of the daemon that was to die at [`NEVER`], when its play ended it.
    static COUNTED: Cell<Option<u64>> = const { Cell::new(None) };
}

/// The commits of a sweep that are visited: one of every `stride`.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sample {
    stride: u64,
    offset: u64,
}

impl Sample {
    /// Returns the sample that the environment asks for.
    pub(crate) fn from_env() -> Sample {
        let number = |name: &str, default: u64| match std::env::var(name) {
            Ok(text) => text.parse().unwrap_or_else(|e| panic!("{name}={text}: {e}")),
            Err(_) => default,
        };
        let sample =
            Sample { stride: number("ALMONER_KILL_STRIDE", 1), offset: number("ALMONER_KILL_OFFSET", 0) };
        assert!(
            sample.offset < sample.stride,
            "ALMONER_KILL_OFFSET must be below ALMONER_KILL_STRIDE: {sample:?}"
        );
        sample
    }

    /// Returns whether every commit is visited.
    pub(crate) fn is_full(self) -> bool {
        self.stride == 1
    }

    /// Returns whether this one of so many alternatives is tried: all of them, or one that changes with the offset.
    pub(crate) fn tries(self, index: u64, of: u64) -> bool {
        self.is_full() || self.offset % of == index
    }

    /// Returns the first commit, from 1, that is visited in a sweep of so many. Every sweep has one.
    fn first(self, commits: u64) -> u64 {
        assert!(commits > 0, "a play without a commit is no sweep");
        self.offset % self.stride.min(commits) + 1
    }

    /// Returns all commits that are visited in a sweep of so many.
    fn of(self, commits: u64) -> impl Iterator<Item = u64> {
        (self.first(commits)..=commits).step_by(usize::try_from(self.stride).unwrap())
    }
}

/// Returns whether every commit of a sweep is visited.
pub(crate) fn is_full() -> bool {
    Sample::from_env().is_full()
}

/// A daemon that dies when it comes to `point` for the `nth` time, from 1. It does not outlive the test.
pub(crate) struct Doomed {
    daemon: Child,
    /// Asks for its commits, if they are counted.
    status: Option<Command>,
}

impl Doomed {
    pub(crate) fn start(home: &TestHome, point: &str, nth: u64) -> Doomed {
        let daemon = home.doomed_daemon(&format!("{point}={}*off->return", nth - 1));
        let status = (nth == NEVER).then(|| home.command(&["status", "--json"]));
        let mut doomed = Doomed { daemon, status };
        // A command that finds no daemon starts one of its own. The second of two daemons gives way and ends.
        let (socket, begun) = (home.root().join("run/control.sock"), Instant::now());
        while UnixStream::connect(&socket).is_err() && !doomed.has_died() {
            assert!(begun.elapsed() < Duration::from_secs(60), "the daemon neither listens nor dies");
            std::thread::sleep(Duration::from_millis(1));
        }
        doomed
    }

    /// Returns whether it has died, or is dying. The kernel closes the files of a killed process some time before its parent
    /// can learn of its end, and a client notices that at once.
    pub(crate) fn has_died(&mut self) -> bool {
        if is_exiting(self.daemon.id()) {
            self.daemon.wait().unwrap();
        }
        self.daemon.try_wait().unwrap().is_some()
    }

    /// Returns whether it has died by then.
    pub(crate) fn dies_within(&mut self, patience: Duration) -> bool {
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if self.has_died() {
                return true;
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        false
    }

    /// Waits until it has died by itself.
    pub(crate) fn wait(mut self) {
        self.daemon.wait().unwrap();
    }

    /// Ends it; whether it had died before.
    pub(crate) fn end(mut self) -> bool {
        if let Some(mut status) = self.status.take() {
            let said = Said::of(status.output().unwrap()).expect(0).json();
            COUNTED.set(said["commits"].as_u64());
        }
        self.has_died()
    }
}

impl Drop for Doomed {
    fn drop(&mut self) {
        let _ = self.daemon.kill();
        let _ = self.daemon.wait();
    }
}

/// Returns whether the kernel is ending a process: `PF_EXITING` in the flags of `/proc/PID/stat`, the seventh field
/// after the name. Everybody may read that file.
fn is_exiting(process: u32) -> bool {
    const PF_EXITING: u64 = 4;
    let stat = std::fs::read_to_string(format!("/proc/{process}/stat")).unwrap_or_default();
    let fields = stat.rsplit_once(')').map_or("", |(_, fields)| fields);
    let flags = fields.split_ascii_whitespace().nth(6).and_then(|flags| flags.parse::<u64>().ok());
    flags.is_some_and(|flags| flags & PF_EXITING != 0)
}

/// Resumes a run until its command ends normally, even if daemons die meanwhile. Returns the result of the command.
pub(crate) fn goes_on(home: &TestHome, run: &str) -> Said {
    loop {
        let said = home.almoner(&["resume", run]);
        // The daemon died under it; the next one comes up with the next command.
        if said.code != 3 {
            return said;
        }
    }
}

/// Returns how many commits the store has made since the daemon began.
pub(crate) fn commits(home: &TestHome) -> u64 {
    home.almoner(&["status", "--json"]).expect(0).json()["commits"].as_u64().unwrap()
}

/// The outcome of a sweep, by commit.
struct Visits {
    /// The commits at which the daemon died.
    deaths: Vec<u64>,
    /// The commits to which it never came.
    missed: Vec<u64>,
}

impl Visits {
    /// Fails unless the daemon came to `least` commits, or, of a sample, to all among the first `least`. No sweep passes
    /// without a death.
    #[allow(clippy::print_stdout, reason = "the log of a sweep says how much of it ran")]
    fn expect(&self, sample: Sample, commits: u64, least: u64, what: &str) {
        let Visits { deaths, missed } = self;
        let visited = deaths.len() + missed.len();
        println!("{what}: {visited} of {commits} commits visited, {} reached, {sample:?}", deaths.len());
        assert!(!deaths.is_empty(), "{what}: the daemon never died: {missed:?}");
        if sample.is_full() {
            assert!(deaths.len() as u64 >= least, "{what}: only {} of {commits} were reached", deaths.len());
        } else {
            let early: Vec<&u64> = missed.iter().filter(|nth| **nth <= least).collect();
            assert!(early.is_empty(), "{what}: {early:?} of {commits} were not reached");
        }
    }
}

/// Plays with a daemon that dies at each visited commit from the first to `commits`. `play` returns whether the
/// daemon died.
///
/// The plays must reach at least `least` commits: the store may combine several requests in one commit.
pub(crate) fn at_each(what: &str, commits: u64, least: u64, play: impl Fn(u64) -> bool + Sync) {
    let sample = Sample::from_env();
    let all: Vec<u64> = sample.of(commits).collect();
    let (next, visits) = (AtomicUsize::new(0), Mutex::new(Visits { deaths: vec![], missed: vec![] }));
    std::thread::scope(|scope| {
        for _ in 0..AT_ONCE {
            scope.spawn(|| {
                while let Some(nth) = all.get(next.fetch_add(1, Ordering::SeqCst)) {
                    let died = play(*nth);
                    let mut visits = visits.lock().unwrap();
                    if died { &mut visits.deaths } else { &mut visits.missed }.push(*nth);
                }
            });
        }
    });
    let mut visits = visits.into_inner().unwrap();
    come_down(&mut visits, sample.first(commits), play);
    visits.expect(sample, commits, least, what);
}

/// Plays as [`at_each`] does, but counts the commits first, in a play without a kill. Also visits the commits that a
/// cut-off play adds, until one play comes to its end.
pub(crate) fn until_it_survives(what: &str, least: u64, play: impl Fn(u64) -> bool) {
    /// A play that is cut off so often never comes to its end.
    const MAX_KILLS: u64 = 200;
    let sample = Sample::from_env();
    COUNTED.set(None);
    assert!(!play(NEVER), "{what}: it dies undisturbed");
    let commits = COUNTED.take().unwrap_or_else(|| panic!("{what}: the play does not end its daemon"));
    assert!(commits >= least, "{what}: the play has only {commits} commits");
    let mut visits = Visits { deaths: vec![], missed: vec![] };
    let first = sample.first(commits);
    for nth in (first..).step_by(usize::try_from(sample.stride).unwrap()) {
        if !play(nth) {
            visits.missed.push(nth);
            break;
        }
        visits.deaths.push(nth);
        assert!(nth < MAX_KILLS, "{what}: it dies at commit {nth}");
    }
    come_down(&mut visits, first, play);
    visits.expect(sample, commits, least, what);
}

/// Visits the commits before the first one of a sample that lies where no daemon came, until one dies.
fn come_down(visits: &mut Visits, first: u64, play: impl Fn(u64) -> bool) {
    for nth in (1..first).rev() {
        if !visits.deaths.is_empty() {
            return;
        }
        if play(nth) { &mut visits.deaths } else { &mut visits.missed }.push(nth);
    }
}

#[test]
fn offsets_of_a_stride_visit_each_commit_once() {
    for commits in 1..=100 {
        let mut all: Vec<u64> = Vec::new();
        for offset in 0..8 {
            let visited: Vec<u64> = Sample { stride: 8, offset }.of(commits).collect();
            assert!(!visited.is_empty(), "{commits}: nothing is visited from {offset} on");
            all.extend(visited);
        }
        all.sort_unstable();
        // Where there are fewer commits than offsets, some offsets share one.
        if commits < 8 {
            all.dedup();
        }
        assert_eq!(all, (1..=commits).collect::<Vec<_>>());
    }
    let full: Vec<u64> = Sample { stride: 1, offset: 0 }.of(5).collect();
    assert_eq!(full, [1, 2, 3, 4, 5]);
}

#[test]
#[should_panic(expected = "a play without a commit is no sweep")]
fn sweep_without_commits_fails() {
    at_each("nothing", 0, 0, |_| true);
}

#[test]
#[should_panic(expected = "the daemon never died")]
fn sweep_without_kills_fails() {
    at_each("nothing", 20, 0, |_| false);
}

#[test]
fn sweep_visits_the_sampled_commits() {
    let visited = Mutex::new(Vec::new());
    let play = |nth: u64| {
        visited.lock().unwrap().push(nth);
        nth <= 18
    };
    at_each("eighteen of twenty", 20, 18, play);
    let mut visited = visited.into_inner().unwrap();
    visited.sort_unstable();
    assert_eq!(visited, Sample::from_env().of(20).collect::<Vec<_>>());
}
