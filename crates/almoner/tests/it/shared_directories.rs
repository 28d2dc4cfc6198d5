//! Directories that users of one machine share. Another user makes a directory under the name that Almoner will use.
//!
//! Reported of other programs: ROCm/rocm-cli#74 (the directory of the socket belongs to another user), Mibayy/token-savior#98
//! and powerline/powerline#2217 (a name in `/tmp` that everybody can guess).

use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _, PermissionsExt, symlink};
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::test_home::Said;

/// A user without a session: neither `ALMONER_HOME` nor `XDG_RUNTIME_DIR` is set, as for cron.
struct Visitor {
    dir: tempfile::TempDir,
}

impl Visitor {
    fn new() -> Visitor {
        let visitor = Visitor { dir: tempfile::Builder::new().prefix("shared-").tempdir().unwrap() };
        std::fs::create_dir(visitor.path("home")).unwrap();
        std::fs::create_dir(visitor.path("tmp")).unwrap();
        set_mode(&visitor.path("tmp"), 0o1777);
        visitor
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    /// Returns the directory in which Endo's clients look for a socket.
    fn endo(&self) -> PathBuf {
        self.path("tmp/endo-visitor")
    }

    fn almoner(&self, args: &[&str]) -> Said {
        let output = Command::new(env!("CARGO_BIN_EXE_almoner"))
            .args(args)
            .env_clear()
            .env("PATH", "/usr/bin:/bin")
            .env("HOME", self.path("home"))
            .env("USER", "visitor")
            .env("TMPDIR", self.path("tmp"))
            .env("ALMONER_KEYRING", "none")
            .current_dir(self.dir.path())
            .stdin(Stdio::null())
            .output()
            .unwrap();
        Said::of(output)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.path("home/.local/state/almoner/daemon.log")).unwrap()
    }
}

impl Drop for Visitor {
    fn drop(&mut self) {
        self.almoner(&["stop"]);
    }
}

fn set_mode(path: &Path, mode: u32) {
    std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
}

fn mode(path: &Path) -> u32 {
    std::fs::symlink_metadata(path).unwrap().mode() & 0o7777
}

#[test]
fn socket_directory_of_others_is_reported_and_unchanged() {
    let is_root = rustix::process::getuid().is_root();
    for trap in ["link", "file", "theirs", "replaceable"] {
        if trap == "theirs" && !is_root {
            continue;
        }
        let visitor = Visitor::new();
        let (endo, target) = (visitor.endo(), visitor.path("target"));
        std::fs::create_dir(&target).unwrap();
        set_mode(&target, 0o755);
        match trap {
            "link" => symlink(&target, &endo).unwrap(),
            "file" => std::fs::write(&endo, "x").unwrap(),
            "theirs" => {
                std::fs::create_dir(&endo).unwrap();
                set_mode(&endo, 0o777);
                std::os::unix::fs::chown(&endo, Some(65533), Some(65533)).unwrap();
            }
            _ => set_mode(&visitor.path("tmp"), 0o777),
        }
        let before = endo.symlink_metadata().ok().map(|meta| (meta.mode(), meta.uid()));
        // The daemon works, only not for Endo's clients.
        visitor.almoner(&["status"]).expect(0);
        let log = visitor.log();
        assert!(log.contains("no listener for Endo's clients"), "{trap}: {log}");
        let report = visitor.almoner(&["doctor", "place"]).expect(1).out;
        assert!(report.contains("no listener for Endo's clients"), "{trap}: {report}");
        visitor.almoner(&["stop"]).expect(0);
        assert_eq!(endo.symlink_metadata().ok().map(|meta| (meta.mode(), meta.uid())), before, "{trap}");
        assert_eq!(mode(&target), 0o755, "{trap}");
        assert_eq!(std::fs::read_dir(&target).unwrap().count(), 0, "{trap}");
    }
}

#[test]
fn socket_directory_of_ones_own_is_closed_to_others() {
    let visitor = Visitor::new();
    std::fs::create_dir(visitor.endo()).unwrap();
    set_mode(&visitor.endo(), 0o777);
    visitor.almoner(&["status"]).expect(0);
    let socket = visitor.endo().join("captp0.sock");
    assert!(std::fs::symlink_metadata(&socket).unwrap().file_type().is_socket());
    assert_eq!((mode(&visitor.endo()), mode(&socket)), (0o700, 0o600));
    assert!(visitor.almoner(&["doctor", "place"]).out.contains("nobody else can replace"));
    visitor.almoner(&["stop"]).expect(0);
    assert!(!socket.exists());
    // A daemon of Endo's own, which has the same user, keeps its socket.
    let _other = UnixListener::bind(&socket).unwrap();
    let inode = std::fs::symlink_metadata(&socket).unwrap().ino();
    visitor.almoner(&["status"]).expect(0);
    visitor.almoner(&["stop"]).expect(0);
    assert_eq!(std::fs::symlink_metadata(&socket).unwrap().ino(), inode);
}

/// Somebody puts a link in the place of the socket as soon as it is there, which changed the mode of the link's target.
#[test]
fn link_in_the_place_of_the_socket_changes_no_mode() {
    let visitor = Visitor::new();
    let (endo, script) = (visitor.endo(), visitor.path("script.sh"));
    std::fs::write(&script, "x").unwrap();
    set_mode(&script, 0o755);
    let theirs = || {
        // As root, the tests play the other user: they hold the directory open before the daemon closes it.
        std::fs::create_dir_all(&endo).unwrap();
        std::fs::File::open(&endo).unwrap()
    };
    let (directory, is_over) = (theirs(), AtomicBool::new(false));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let flags = rustix::fs::RenameFlags::EXCHANGE;
            while !is_over.load(Ordering::Relaxed) {
                let _ = rustix::fs::symlinkat(&script, &directory, "evil");
                let _ = rustix::fs::renameat_with(&directory, "evil", &directory, "captp0.sock", flags);
            }
        });
        for _ in 0..10 {
            visitor.almoner(&["status"]).expect(0);
            visitor.almoner(&["stop"]).expect(0);
        }
        is_over.store(true, Ordering::Relaxed);
    });
    assert_eq!(mode(&script), 0o755);
}
