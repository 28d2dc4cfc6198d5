//! Disks that are full or read-only, made in a mount namespace of the test's own.
//!
//! Such a test runs itself once more in a child, inside a new user and mount namespace, where anyone may mount a
//! small disk. It needs no root; as root it also works where user namespaces are switched off. Where neither is
//! allowed the test fails and says so: it is never passed over in silence.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

/// Set in the child.
const INSIDE: &str = "ALMONER_TEST_INSIDE";

/// Runs `test`, the path of the test that calls this, inside namespaces of its own. True in the child, which then
/// does the work; false in the parent once the child has done it.
#[track_caller]
pub(super) fn inside(test: &str) -> bool {
    if std::env::var_os(INSIDE).is_some() {
        return true;
    }
    let ways: &[&[&str]] = &[
        &["--mount", "--user", "--map-root-user", "--propagation", "private"],
        &["--mount", "--propagation", "private"],
    ];
    let allowed = ways.iter().find(|flags| {
        let probe = "dir=$(mktemp -d) && mount -t tmpfs none \"$dir\" && umount \"$dir\" && rmdir \"$dir\"";
        let status =
            Command::new("unshare").args(**flags).args(["sh", "-c", probe]).stderr(Stdio::null()).status();
        status.is_ok_and(|status| status.success())
    });
    let Some(flags) = allowed else {
        panic!(
            "this test needs a mount namespace (`unshare --user --map-root-user --mount`), which is not allowed here: \
             allow unprivileged user namespaces, or run the tests as root with CAP_SYS_ADMIN"
        );
    };
    let output = Command::new("unshare")
        .args(*flags)
        .arg(std::env::current_exe().unwrap())
        .args([test, "--exact", "--nocapture", "--test-threads=1"])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(
        output.status.success() && said.contains("1 passed"),
        "inside:\n{said}\n{}",
        String::from_utf8_lossy(&output.stderr)
    );
    false
}

#[track_caller]
fn mount(args: &[&str], on: &Path) {
    let status = Command::new("mount").args(args).arg(on).status().unwrap();
    assert!(status.success(), "mount {args:?} {}", on.display());
}

/// Puts an empty disk of so many KiB on a directory.
#[track_caller]
pub(super) fn small_disk(on: &Path, kib: u32) {
    std::fs::create_dir_all(on).unwrap();
    mount(&["-t", "tmpfs", "-o", &format!("size={kib}k,mode=700"), "none"], on);
}

/// Puts an empty disk on a directory that has room for so many MiB, and for so many files.
#[track_caller]
pub(super) fn disk_of_few_files(on: &Path, mib: u32, files: u32) {
    std::fs::create_dir_all(on).unwrap();
    mount(&["-t", "tmpfs", "-o", &format!("size={mib}m,nr_inodes={files},mode=700"), "none"], on);
}

/// Makes the disk on a directory read-only, or not.
#[track_caller]
pub(super) fn read_only(on: &Path, yes: bool) {
    // The mount, not the file system: that one's options name users whom the namespace does not know.
    let args = ["-o", if yes { "remount,bind,ro" } else { "remount,bind,rw" }];
    // A process that is ending can still have a file open for writing.
    let is_done = (0..100).any(|_| {
        let status = Command::new("mount").args(args).arg(on).stderr(Stdio::null()).status().unwrap();
        if !status.success() {
            std::thread::sleep(Duration::from_millis(100));
        }
        status.success()
    });
    assert!(is_done, "mount {args:?} {}", on.display());
}

/// Fills the disk with a file until nothing more goes in.
#[track_caller]
pub(super) fn fill(file: &Path) {
    use std::io::Write as _;
    let mut to = std::fs::OpenOptions::new().create(true).append(true).open(file).unwrap();
    for size in [1 << 16, 4096, 1] {
        let block = vec![b'x'; size];
        while to.write_all(&block).is_ok() {}
    }
}

/// Makes a file read as another.
#[track_caller]
pub(super) fn replace(file: &Path, with: &Path) {
    mount(&["--bind", with.to_str().unwrap()], file);
}
