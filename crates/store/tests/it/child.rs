//! The other process: this test binary once more, running one job named by environment variables.

use std::io::Write;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use kernel::BlobHash;
use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table};
use store::{BlobError, OpenError, Options, Store, WriteError};

use crate::{get, keys, open, put};

/// Returns a command that runs `job` on the store in `dir`. The job prints its messages, a line each.
pub(crate) fn command(job: &str, dir: &Path) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    settings(&mut command, job, dir);
    command.args(ARGS).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// How this binary is told to run a job, and nothing else.
pub(crate) const ARGS: [&str; 5] = ["--exact", "child::job", "--ignored", "--nocapture", "--quiet"];

pub(crate) fn settings(command: &mut Command, job: &str, dir: &Path) {
    command.env("STORE_JOB", job).env("STORE_DIR", dir);
}

/// Returns the messages of a job that begin with `word`, without it.
pub(crate) fn said(output: &Output, word: &str) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().filter_map(|line| line.strip_prefix(word)?.strip_prefix(' ')).map(str::to_owned).collect()
}

fn say(line: &str) {
    let mut out = std::io::stdout().lock();
    // One write, so that a kill cannot cut a line in two.
    out.write_all(format!("{line}\n").as_bytes()).unwrap();
    out.flush().unwrap();
}

#[test]
#[ignore = "not a test: the process that the other tests start"]
fn job() {
    let Ok(job) = std::env::var("STORE_JOB") else { return };
    let dir = std::env::var_os("STORE_DIR").unwrap();
    let dir = Path::new(&dir);
    // A panic message on stdout would be taken for a message of the job.
    say("");
    match job.as_str() {
        "hold" => hold(dir),
        "lone" => lone(dir),
        "crowd" => crowd(dir),
        "fill" => fill(dir),
        "fill-commit" => fill_commit(dir),
        "make" => put(&open(dir), "kept", b"1").unwrap(),
        "refused" => refused(dir),
        "sweep" => crate::sweep::child(dir),
        "verify" => assert_eq!(get(&open(dir), "kept").as_deref(), Some(b"1".as_slice())),
        other => panic!("no job {other}"),
    }
    say("done ");
}

fn hold(dir: &Path) {
    let _store = open(dir);
    say("open ");
    loop {
        thread::sleep(Duration::from_secs(60));
    }
}

/// Makes one commit after the other, each with a blob and two rows.
fn lone(dir: &Path) {
    let store = open(dir);
    for n in 0..200 {
        work(&store, &format!("{n:03}")).unwrap();
        say(&format!("ack {n:03}"));
    }
}

/// Makes the same commits from four threads.
fn crowd(dir: &Path) {
    let store = Arc::new(open(dir));
    let threads = (0..4).map(|i| {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            for n in 0..5000 {
                let name = format!("{i}-{n:04}");
                work(&store, &name).unwrap();
                say(&format!("ack {name}"));
            }
        })
    });
    for thread in threads.collect::<Vec<_>>() {
        thread.join().unwrap();
    }
}

fn work(store: &Store, name: &str) -> Result<(), WriteError<StoreFault>> {
    let hash = store.blobs().put(format!("blob of {name}").as_bytes()).unwrap();
    let name = name.to_owned();
    store.write(move |txn| {
        txn.put(Table::Journal, &NO_OWNER, name.as_bytes(), &hash.0, None)?;
        txn.put(Table::Outbox, &NO_OWNER, name.as_bytes(), b"twin", None)
    })
}

/// Returns the names that `work` left, after checking that each has its twin and its blob.
pub(crate) fn survivors(store: &Store) -> Vec<String> {
    let read = |txn: &mut dyn ReadTxn| {
        let rows = txn.range(Table::Journal, &NO_OWNER, b"", b"", usize::MAX, false)?;
        let twins = txn.range(Table::Outbox, &NO_OWNER, b"", b"", usize::MAX, false)?;
        Ok::<_, StoreFault>((rows, twins))
    };
    let (rows, twins) = store.read(read).unwrap();
    assert_eq!(rows.len(), twins.len(), "both rows of a transaction or neither");
    let mut names = Vec::new();
    for ((key, hash), (twin, _)) in rows.into_iter().zip(twins) {
        assert_eq!(key, twin);
        let name = String::from_utf8(key).unwrap();
        let hash = BlobHash(hash.try_into().unwrap());
        assert_eq!(store.blobs().get(&hash).unwrap(), format!("blob of {name}").into_bytes());
        names.push(name);
    }
    names
}

/// Fills the little disk under `dir`: everything acknowledged stays, everything else is refused as `LimitReached`, and
/// when there is room again, work goes on.
fn fill(dir: &Path) {
    let filler = dir.parent().unwrap().join("filler");
    std::fs::write(&filler, vec![0; 256 << 10]).unwrap();
    let store = open(dir);
    let mut acked = Vec::new();
    let refusal = loop {
        let key = format!("{:05}", acked.len());
        match put(&store, &key, &[7; 10_000]) {
            Ok(()) => acked.push(key),
            Err(error) => break error,
        }
    };
    assert!(matches!(refusal, WriteError::Store(StoreFault::Full(_))), "{refusal:?}");
    assert!(acked.len() > 10, "{}", acked.len());
    assert_eq!(keys(&store), acked, "all that was acknowledged can be read on the full disk");
    let refusal = store.blobs().put(&vec![1; 1 << 20]).unwrap_err();
    assert!(matches!(refusal, BlobError::Full { .. }), "{refusal:?}");
    assert_eq!(std::fs::read_dir(dir.join("tmp")).unwrap().count(), 0, "no half blob stays behind");
    assert!(store.blobs().list().unwrap().is_empty());
    drop(store);

    // The rest of the disk, to the last byte: no new store can be made, and the old one can still be read.
    let rest = dir.parent().unwrap().join("rest");
    let mut file = std::fs::File::create(&rest).unwrap();
    while file.write_all(&[0; 512]).is_ok() {}
    assert_eq!(keys(&open(dir)), acked, "what the full disk kept out of the database file is in the log");
    let error = Store::open(&dir.with_file_name("new"), Options::default()).map(|_| ()).unwrap_err();
    assert!(matches!(error, OpenError::Full { .. }), "{error:?}");
    assert!(error.help().contains("Free some space"), "{}", error.help());

    std::fs::remove_file(&rest).unwrap();
    std::fs::remove_file(&filler).unwrap();
    let store = open(dir);
    assert_eq!(keys(&store), acked, "and after opening again");
    put(&store, "later", b"there is room again").unwrap();
    assert!(store.check(true).unwrap().findings.is_empty());
    say(&format!("acked {}", acked.len()));
}

/// Fills the disk as `fill` does, but with many closures in each group, so that COMMIT finds the disk full.
fn fill_commit(dir: &Path) {
    let store = Arc::new(open(dir));
    let threads = (0..8).map(|i| {
        let store = Arc::clone(&store);
        thread::spawn(move || {
            let mut acked = Vec::new();
            for n in 0.. {
                let key = format!("{i}-{n:05}");
                match put(&store, &key, &[7; 3_000]) {
                    Ok(()) => acked.push(key),
                    Err(WriteError::Store(StoreFault::Full(_))) => break,
                    Err(error) => panic!("{error:?}"),
                }
            }
            acked
        })
    });
    let threads: Vec<_> = threads.collect();
    let mut acked: Vec<String> = threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect();
    acked.sort();
    assert_eq!(keys(&store), acked, "what was acknowledged, and nothing else");
    assert!(store.stats().largest_group > 1);
    drop(store);
    assert_eq!(keys(&open(dir)), acked, "and after opening again");
    say(&format!("acked {}", acked.len()));
}

fn refused(dir: &Path) {
    match Store::open(dir, Options::default()) {
        Err(error @ OpenError::ReadOnly { .. }) => say(&format!("refused {error} / {}", error.help())),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("a read-only store was opened"),
    }
}
