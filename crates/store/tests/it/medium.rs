//! A full disk and a read-only one. Both need a mount. Where none can be made, permissions and SQLite's own limit
//! take its place (see `group`), and the test prints a note.

use std::fs::{self, Permissions};
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Output};

use store::{BlobError, fsync_rate};

use crate::child::{ARGS, command, said, settings};
use crate::{get, open, put};

/// Runs `script` in a mount namespace of its own, with `$1` a directory to mount on. `$2…` is the command that runs a
/// job named by `$STORE_JOB`. Returns `None` if this machine allows no mount.
fn with_mount(script: &str, root: &Path) -> Option<Output> {
    let (mount, store) = (root.join("mnt"), root.join("mnt/store"));
    fs::create_dir_all(&mount).unwrap();
    for namespace in [["-m"].as_slice(), &["-U", "-r", "-m"]] {
        let run = |script: &str| {
            let mut command = Command::new("unshare");
            command.args(namespace).args(["sh", "-euc", script, "sh"]).arg(&mount);
            command.arg(std::env::current_exe().unwrap()).args(ARGS);
            settings(&mut command, "", &store);
            command.output()
        };
        let possible = run("mount -t tmpfs -o size=64k none \"$1\"");
        if possible.is_ok_and(|output| output.status.success()) {
            return Some(run(script).unwrap());
        }
    }
    None
}

fn note(what: &str) {
    eprintln!("note: nothing can be mounted here; {what}");
}

fn assert_success(output: &Output) {
    assert!(output.status.success(), "{output:?}");
}

#[test]
fn full_disk_refuses_writes_and_keeps_earlier_ones() {
    for job in ["fill", "fill-commit"] {
        let root = tempfile::tempdir().unwrap();
        let script = format!(
            "mount -t tmpfs -o size=2m none \"$1\"; mkdir \"$1/store\"; shift; STORE_JOB={job} exec \"$@\""
        );
        match with_mount(&script, root.path()) {
            Some(output) => {
                assert_success(&output);
                assert_eq!(said(&output, "acked").len(), 1, "{output:?}");
            }
            None => note("a full disk is tested with SQLite's page limit alone, in `group`"),
        }
    }
}

#[test]
fn read_only_disk_is_refused() {
    let root = tempfile::tempdir().unwrap();
    let script = "mount -t tmpfs -o size=2m none \"$1\"; m=\"$1\"; shift; \
                  STORE_JOB=make \"$@\"; mount -o remount,bind,ro \"$m\"; STORE_JOB=refused \"$@\"; \
                  mount -o remount,bind,rw \"$m\"; STORE_JOB=verify \"$@\"";
    match with_mount(script, root.path()) {
        Some(output) => {
            assert_success(&output);
            let refused = said(&output, "refused");
            assert!(refused[0].contains("Nothing is lost"), "{refused:?}");
        }
        None => note("a read-only disk is tested with permissions alone"),
    }
}

/// Checks the same by permissions, for each part of the store in turn. The administrator may write everywhere, so
/// another user tries in his place.
#[test]
fn read_only_files_are_refused() {
    let root = tempfile::tempdir().unwrap();
    fs::set_permissions(root.path(), Permissions::from_mode(0o755)).unwrap();
    let dir = root.path().join("store");
    put(&open(&dir), "kept", b"1").unwrap();
    let am_root = rustix::process::geteuid().is_root();
    let mut job = command("refused", &dir);
    if am_root {
        // The other user may not be able to reach the original.
        let copy = root.path().join("job");
        fs::copy(std::env::current_exe().unwrap(), &copy).unwrap();
        fs::set_permissions(&copy, Permissions::from_mode(0o755)).unwrap();
        job = Command::new(&copy);
        settings(&mut job, "refused", &dir);
        job.args(ARGS).uid(65534).current_dir("/");
        for name in ["", "lock", "almoner.sqlite", "blobs", "tmp"] {
            chown(dir.join(name), Some(65534), None).unwrap();
        }
    }
    for (name, mode, whole) in
        [("", 0o500, 0o700), ("lock", 0o400, 0o600), ("almoner.sqlite", 0o400, 0o600), ("tmp", 0o500, 0o700)]
    {
        let path = dir.join(name);
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let output = job.output().unwrap();
        assert_success(&output);
        assert_eq!(said(&output, "refused").len(), 1, "{name}: {output:?}");
        fs::set_permissions(&path, Permissions::from_mode(whole)).unwrap();
    }
    if am_root {
        for name in ["", "lock", "almoner.sqlite", "blobs", "tmp"] {
            chown(dir.join(name), Some(0), None).unwrap();
        }
    }
    assert_eq!(get(&open(&dir), "kept"), Some(b"1".to_vec()));
}

/// Checks that any other failure has a name and a path, with a directory in the place of a blob's own.
#[test]
fn io_failure_names_the_path() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let hash = kernel::BlobHash::of(b"bytes");
    fs::create_dir_all(store.blobs().path(&hash)).unwrap();
    let error = store.blobs().put(b"bytes").unwrap_err();
    assert!(matches!(&error, BlobError::Io { path, .. } if *path == store.blobs().path(&hash)), "{error:?}");
}

#[test]
fn probe_measures_and_leaves_no_file() {
    let dir = tempfile::tempdir().unwrap();
    let rate = fsync_rate(dir.path(), std::time::Duration::from_millis(20)).unwrap();
    assert!(rate > 0.0);
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
}
