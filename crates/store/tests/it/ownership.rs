//! One process owns a store, and no other may look in.

use std::fs::{self, Permissions};
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::Path;

use store::{OpenError, Options, Store};

use crate::child::command;
use crate::{get, open, put};

fn refused(dir: &Path) -> OpenError {
    Store::open(dir, Options::default()).map(|_| ()).unwrap_err()
}

#[test]
fn second_owner_is_refused_with_the_pid_of_the_first() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let error = refused(dir.path());
    assert!(
        matches!(error, OpenError::Owned { pid: Some(pid), .. } if pid == std::process::id()),
        "{error:?}"
    );
    drop(store);

    let mut child = command("hold", dir.path()).spawn().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap() == "open "));
    let error = refused(dir.path());
    assert!(matches!(error, OpenError::Owned { pid: Some(pid), .. } if pid == child.id()), "{error:?}");
    assert!(error.to_string().contains(&format!("in use by process {}", child.id())), "{error}");
    assert!(error.help().contains("Nothing was changed"), "{}", error.help());

    child.kill().unwrap();
    child.wait().unwrap();
    // A dead owner is no owner, even if its file names it.
    put(&open(dir.path()), "k", b"1").unwrap();
}

#[test]
fn other_users_have_no_access_to_the_store() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("deep/down");
    let store = open(&dir);
    put(&store, "k", b"1").unwrap();
    store.blobs().put(b"blob").unwrap();
    assert!(store.repaired().is_empty());
    assert!(store.check(true).unwrap().findings.is_empty());
    let mut seen = 0;
    let mut look = vec![dir.clone()];
    while let Some(path) = look.pop() {
        let meta = fs::metadata(&path).unwrap();
        let wanted = if meta.is_dir() { 0o700 } else { 0o600 };
        assert_eq!(meta.permissions().mode() & 0o7777, wanted, "{}", path.display());
        seen += 1;
        if meta.is_dir() {
            look.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        }
    }
    assert_eq!(seen, 9, "the directory, lock, database, log, index, blobs, ab, cdef…, tmp");

    let chmod = |path: &Path, mode| fs::set_permissions(path, Permissions::from_mode(mode)).unwrap();
    let (database, blob) = (dir.join("almoner.sqlite"), store.blobs().list().unwrap()[0]);
    chmod(&database, 0o644);
    chmod(&store.blobs().path(&blob), 0o664);
    let findings = store.check(false).unwrap().findings;
    assert_eq!(findings.len(), 2, "{findings:#?}");
    assert!(findings.iter().all(|f| f.remedy.starts_with("chmod 0600 ")), "{findings:#?}");
    chmod(&dir, 0o755);
    drop(store);
    let store = open(&dir);
    assert_eq!(store.repaired(), [dir.canonicalize().unwrap(), database.canonicalize().unwrap()]);
    assert_eq!(fs::metadata(&dir).unwrap().permissions().mode() & 0o777, 0o700);
}

#[test]
fn foreign_paths_and_links_are_refused() {
    let root = tempfile::tempdir().unwrap();
    let dir = root.path().join("store");
    put(&open(&dir), "k", b"1").unwrap();

    let file = root.path().join("file");
    fs::write(&file, b"x").unwrap();
    assert!(matches!(refused(&file), OpenError::InTheWay { expected: "a directory", .. }));
    assert!(matches!(refused(&file.join("below")), OpenError::InTheWay { .. }));

    // A link would let us write to, or tighten, a file elsewhere.
    for name in ["lock", "almoner.sqlite", "blobs"] {
        let (path, aside) = (dir.join(name), root.path().join("aside"));
        fs::rename(&path, &aside).unwrap();
        symlink(&aside, &path).unwrap();
        let error = refused(&dir);
        assert!(matches!(error, OpenError::InTheWay { .. }), "{name}: {error:?}");
        assert!(error.help().contains("Move"), "{}", error.help());
        fs::remove_file(&path).unwrap();
        fs::rename(&aside, &path).unwrap();
    }
    let elsewhere = root.path().join("elsewhere");
    fs::remove_file(dir.join("lock")).unwrap();
    symlink(&elsewhere, dir.join("lock")).unwrap();
    assert!(matches!(refused(&dir), OpenError::InTheWay { .. }));
    assert!(!elsewhere.exists(), "nothing is made at the end of a link");
    fs::remove_file(dir.join("lock")).unwrap();
    assert_eq!(get(&open(&dir), "k"), Some(b"1".to_vec()));

    // Only the administrator can make a file that belongs to someone else.
    if rustix::process::geteuid().is_root() {
        chown(&dir, Some(65534), None).unwrap();
        assert!(matches!(refused(&dir), OpenError::NotYours { uid: 65534, .. }));
    } else {
        // `/` belongs to the administrator, and nothing is changed in it.
        assert!(matches!(refused(Path::new("/")), OpenError::NotYours { uid: 0, .. }));
    }
}
