//! `kill -9` loses nothing that was acknowledged.

use std::collections::BTreeSet;
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::Output;
use std::thread;
use std::time::Duration;

use crate::child::{command, said, survivors};
use crate::open;

fn killed(output: &Output) -> bool {
    output.status.signal() == Some(9)
}

/// Runs `job` until the fail point kills it. Returns the acknowledged names, and the names that are there afterwards.
fn crash(job: &str, dir: &Path, point: &str, after: u32) -> (Vec<String>, Vec<String>) {
    let armed = format!("{point}={after}*off->return");
    let output = command(job, dir).env("FAILPOINTS", armed).output().unwrap();
    let error = String::from_utf8_lossy(&output.stderr);
    assert!(killed(&output), "{point} after {after}: {} {error}", output.status);
    (said(&output, "ack"), survivors(&open(dir)))
}

#[test]
fn kill_at_each_fail_point_keeps_acknowledged_commits() {
    let names = |n: usize| (0..n).map(|i| format!("{i:03}")).collect::<Vec<_>>();
    for point in store::failpoint::NAMES {
        for after in [0, 1, 16] {
            let dir = tempfile::tempdir().unwrap();
            let (acked, left) = crash("lone", dir.path(), point, after);
            let n = after as usize;
            assert_eq!(acked, names(n), "{point} after {after}");
            // The only commit that may be there without having been acknowledged is the one that was cut off.
            let expected = if point == "store.after_commit" { n + 1 } else { n };
            assert_eq!(left, names(expected), "{point} after {after}");
        }
    }
}

#[test]
fn kill_under_load_keeps_acknowledged_commits() {
    for point in store::failpoint::NAMES {
        let dir = tempfile::tempdir().unwrap();
        let mut acked = BTreeSet::new();
        for after in [3, 20] {
            let (now, left) = crash("crowd", dir.path(), point, after);
            acked.extend(now);
            let left = BTreeSet::from_iter(left);
            assert!(acked.is_subset(&left), "{point}: lost {:?}", acked.difference(&left));
        }
    }
}

#[test]
fn kill_from_outside_keeps_acknowledged_commits() {
    let dir = tempfile::tempdir().unwrap();
    let mut acked = BTreeSet::new();
    // The first rounds end while the store is being made or opened.
    for millis in [0, 1, 2, 3, 4, 5, 6, 8, 10, 15, 25, 40, 60, 80, 100, 120] {
        let mut child = command("crowd", dir.path()).spawn().unwrap();
        thread::sleep(Duration::from_millis(millis));
        child.kill().unwrap();
        let output = child.wait_with_output().unwrap();
        assert!(killed(&output), "{output:?}");
        acked.extend(said(&output, "ack"));
        let left = BTreeSet::from_iter(survivors(&open(dir.path())));
        assert!(acked.is_subset(&left), "lost {:?}", acked.difference(&left));
    }
    assert!(!acked.is_empty(), "no round came as far as a commit");
}
