//! The descendants of a process: their number, their use of resources, and their end.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions, kill_process, wait};

/// The maximum time until the last descendant has ended.
const TIMEOUT: Duration = Duration::from_secs(5);

/// The resources that the descendants of a process use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ResourceUsage {
    /// The number of processes and threads.
    pub(super) tasks: u64,
    /// The memory in use, in bytes.
    pub(super) memory: u64,
    /// The number of bytes written. It includes the bytes of processes that ended, if their parents have waited for
    /// them.
    pub(super) written: u64,
}

/// Returns the resources that all descendants of `root` use together. A process that ends during the count uses no
/// memory.
pub(super) fn measure(root: Pid) -> ResourceUsage {
    let mut all = ResourceUsage::default();
    for pid in descendants(root) {
        all.tasks +=
            fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|s| threads(&s)).unwrap_or(1);
        all.memory +=
            fs::read_to_string(format!("/proc/{pid}/statm")).ok().and_then(|s| resident(&s)).unwrap_or(0);
        all.written += fs::read_to_string(format!("/proc/{pid}/io")).ok().map_or(0, |s| written(&s));
    }
    all
}

/// Returns the number of processes and threads of this process's user.
pub(super) fn tasks_of_user() -> u64 {
    use std::os::unix::fs::MetadataExt as _;
    let me = rustix::process::getuid().as_raw();
    let mine =
        pids().into_iter().filter(|pid| fs::metadata(format!("/proc/{pid}")).is_ok_and(|m| m.uid() == me));
    mine.map(|pid| {
        fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|s| threads(&s)).unwrap_or(1)
    })
    .sum()
}

/// Ends every descendant of `root`, and waits for those that are children of this process. All are stopped first, so
/// that none can start another one before it is killed. Returns whether all have ended in time.
pub(super) fn end(root: Pid) -> bool {
    let begun = Instant::now();
    loop {
        let mut stopped = BTreeSet::new();
        loop {
            let new: Vec<i32> = descendants(root).into_iter().filter(|pid| stopped.insert(*pid)).collect();
            if new.is_empty() || begun.elapsed() > TIMEOUT {
                break;
            }
            new.into_iter().for_each(|pid| signal(pid, Signal::STOP));
        }
        stopped.iter().for_each(|pid| signal(*pid, Signal::KILL));
        let left = reap();
        if !left && descendants(root).is_empty() {
            return true;
        }
        if begun.elapsed() > TIMEOUT {
            return false;
        }
        std::thread::sleep(Duration::from_millis(1));
    }
}

/// Reaps every child that has ended. Returns whether there are other children.
pub(super) fn reap() -> bool {
    loop {
        match wait(WaitOptions::NOHANG) {
            Ok(Some(_)) | Err(rustix::io::Errno::INTR) => {}
            Ok(None) => return true,
            Err(_) => return false,
        }
    }
}

fn signal(pid: i32, signal: Signal) {
    if let Some(pid) = Pid::from_raw(pid) {
        // The process may have ended already.
        let _ = kill_process(pid, signal);
    }
}

fn pids() -> Vec<i32> {
    let Ok(entries) = fs::read_dir("/proc") else { return Vec::new() };
    entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()).collect()
}

fn descendants(root: Pid) -> Vec<i32> {
    let mut children: BTreeMap<i32, Vec<i32>> = BTreeMap::new();
    for pid in pids() {
        let parent = fs::read_to_string(format!("/proc/{pid}/stat")).ok().and_then(|stat| parent(&stat));
        if let Some(parent) = parent {
            children.entry(parent).or_default().push(pid);
        }
    }
    let mut found = Vec::new();
    let mut open = vec![root.as_raw_nonzero().get()];
    while let Some(pid) = open.pop() {
        for child in children.remove(&pid).unwrap_or_default() {
            found.push(child);
            open.push(child);
        }
    }
    found
}

/// Returns a field of `/proc/PID/stat`. The fields are counted from the first one after the process name, which may
/// hold any text.
fn field(stat: &str, at: usize) -> Option<&str> {
    stat.rsplit_once(')')?.1.split_ascii_whitespace().nth(at)
}

/// Returns the parent of a process, or `None` if the process is a zombie.
fn parent(stat: &str) -> Option<i32> {
    if field(stat, 0)? == "Z" {
        return None;
    }
    field(stat, 1)?.parse().ok()
}

fn threads(stat: &str) -> Option<u64> {
    field(stat, 17)?.parse().ok()
}

fn resident(statm: &str) -> Option<u64> {
    let pages: u64 = statm.split_ascii_whitespace().nth(1)?.parse().ok()?;
    Some(pages * rustix::param::page_size() as u64)
}

/// Returns the larger of two counts: the bytes passed to `write`, and the bytes made dirty, which include those of
/// mapped files.
fn written(io: &str) -> u64 {
    let value = |name: &str| -> u64 {
        let line = io.lines().find_map(|line| line.strip_prefix(name));
        line.and_then(|rest| rest.trim().parse().ok()).unwrap_or(0)
    };
    value("wchar:").max(value("write_bytes:"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stat_is_parsed_despite_a_misleading_process_name() {
        let stat = "42 (a) S 1 (x) Z 7) S 41 42 42 0 -1 4194304 1 0 0 0 0 0 0 0 20 0 3 0 5";
        assert_eq!((parent(stat), threads(stat)), (Some(41), Some(3)));
        assert_eq!(parent("42 (a) Z 41"), None);
        assert_eq!(parent("nothing of the kind"), None);
    }

    #[test]
    fn written_bytes_are_the_larger_count() {
        assert_eq!(written("rchar: 9\nwchar: 5\nwrite_bytes: 4096\ncancelled_write_bytes: 0\n"), 4096);
        assert_eq!(written("wchar: 5000\nwrite_bytes: 0\n"), 5000);
        assert_eq!(written("garbage"), 0);
    }
}
