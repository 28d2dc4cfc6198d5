//! Group commit: which writes share a commit, when each is answered, and with which result.

use std::sync::mpsc::{Receiver, channel};
use std::sync::{Arc, Barrier};

use kernel::txn::{NO_OWNER, StoreFault, Table};
use store::{Options, Store, WriteError};

use crate::{get, keys, open, put};

type Answer = Result<usize, WriteError<StoreFault>>;

/// Submits one closure that waits until all the others have queued up behind it, so that they are one group.
fn submit_group(store: &Store, bodies: Vec<Vec<u8>>) -> Vec<Answer> {
    let barrier = Arc::new(Barrier::new(2));
    let gate = Arc::clone(&barrier);
    let (send, answers): (_, Receiver<(usize, Answer)>) = channel();
    let n = bodies.len();
    for (i, body) in bodies.into_iter().enumerate() {
        let (gate, send) = (Arc::clone(&gate), send.clone());
        let closure = move |txn: &mut dyn kernel::txn::Txn| {
            if i == 0 {
                gate.wait();
            }
            txn.put(Table::Meta, &NO_OWNER, format!("{i:03}").as_bytes(), &body, None)?;
            if body == b"refuse" { Err(StoreFault::Closed) } else { Ok(i) }
        };
        store.submit(closure, move |answer| send.send((i, answer)).unwrap());
    }
    barrier.wait();
    let mut all: Vec<_> = answers.iter().take(n).collect();
    assert!(all.is_sorted_by_key(|(i, _)| *i), "answers come in the order of submission");
    all.drain(..).map(|(_, answer)| answer).collect()
}

#[test]
fn group_of_writes_costs_one_commit() {
    for (limit, commits, largest) in [(256, 1, 20), (8, 3, 8), (1, 20, 1)] {
        let dir = tempfile::tempdir().unwrap();
        let store = Store::open(dir.path(), Options { group: limit, ..Options::default() }).unwrap();
        let answers = submit_group(&store, vec![b"x".to_vec(); 20]);
        assert_eq!(answers, (0..20).map(Ok).collect::<Vec<_>>());
        let stats = store.stats();
        assert_eq!((stats.commits, stats.writes, stats.largest_group), (commits, 20, largest));
        assert_eq!(stats.syncs_per_write(), Some(commits as f64 / 20.0));
    }
}

#[test]
fn refused_write_does_not_affect_its_group() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let bodies = vec![b"x".to_vec(), b"refuse".to_vec(), b"x".to_vec()];
    let answers = submit_group(&store, bodies);
    assert_eq!(answers, [Ok(0), Err(WriteError::Refused(StoreFault::Closed)), Ok(2)]);
    assert_eq!(keys(&store), ["000", "002"]);
    assert_eq!((store.stats().commits, store.stats().writes, store.stats().refused), (1, 2, 1));
}

#[test]
fn write_without_changes_costs_no_sync() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    assert_eq!(
        submit_group(&store, vec![b"refuse".to_vec()]),
        [Err(WriteError::Refused(StoreFault::Closed))]
    );
    let looked: Result<_, WriteError<StoreFault>> = store.write(|txn| txn.get(Table::Meta, &NO_OWNER, b"k"));
    assert_eq!(looked, Ok(None));
    let gone: Result<_, WriteError<StoreFault>> = store.write(|txn| txn.delete(Table::Meta, &NO_OWNER, b"k"));
    assert_eq!(gone, Ok(()));
    assert_eq!((store.stats().commits, store.stats().syncs_per_write()), (0, None));
}

/// Checks a full database: SQLite throws the whole transaction away, so every write in it must fail.
#[test]
fn full_database_fails_every_write_of_the_group() {
    let dir = tempfile::tempdir().unwrap();
    let options = || Options { max_pages: Some(60), ..Options::default() };
    let store = Store::open(dir.path(), options()).unwrap();
    let small = || b"x".to_vec();
    let answers = submit_group(&store, vec![small(), small(), vec![0; 1 << 20], small(), small()]);
    let full = |answer: &Answer| matches!(answer, Err(WriteError::Store(StoreFault::Full(_))));
    assert!(answers[..3].iter().all(full), "{answers:?}");
    assert_eq!(answers[3..], [Ok(3), Ok(4)], "the next group has room");
    assert_eq!(keys(&store), ["003", "004"]);
    drop(store);
    assert_eq!(keys(&open(dir.path())), ["003", "004"]);
}

#[test]
fn answered_write_is_visible_to_readers() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let (send, answers) = channel();
    for n in 0..50_u8 {
        let (reader, send) = (Arc::clone(&store), send.clone());
        let key = format!("{n}");
        let closure = {
            let key = key.clone();
            move |txn: &mut dyn kernel::txn::Txn| txn.put(Table::Meta, &NO_OWNER, key.as_bytes(), &[n], None)
        };
        store.submit(closure, move |answer: Result<(), WriteError<StoreFault>>| {
            answer.unwrap();
            send.send(get(&reader, &key) == Some(vec![n])).unwrap();
        });
    }
    assert!(answers.iter().take(50).all(|seen| seen));
}

#[test]
fn closing_finishes_queued_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let (send, answers) = channel();
    for n in 0..100_u8 {
        let send = send.clone();
        let closure = move |txn: &mut dyn kernel::txn::Txn| txn.put(Table::Meta, &NO_OWNER, &[n], &[n], None);
        store.submit(closure, move |answer: Result<(), WriteError<StoreFault>>| send.send(answer).unwrap());
    }
    drop(store);
    drop(send);
    assert!(answers.iter().all(|answer| answer.is_ok()));
    let rows = open(dir.path()).read(|txn| txn.range(Table::Meta, &NO_OWNER, b"", b"", usize::MAX, false));
    assert_eq!(rows.unwrap().len(), 100);
}

#[test]
fn nested_write_is_refused() {
    let dir = tempfile::tempdir().unwrap();
    let store = Arc::new(open(dir.path()));
    let inner = Arc::clone(&store);
    let answer = store.write(move |_| match put(&inner, "k", b"1") {
        Ok(()) => Ok(()),
        Err(error) => Err(error.to_string()),
    });
    assert_eq!(answer, Err(WriteError::Refused("the store failed: a write inside a write".into())));
    // The last owner may go away on the writer's own thread.
    store.submit(|_| Ok::<_, StoreFault>(()), {
        let last = Arc::clone(&store);
        move |_| drop(last)
    });
    drop(store);
}

#[test]
fn panicking_callback_does_not_stop_the_writer() {
    let dir = tempfile::tempdir().unwrap();
    let store = open(dir.path());
    let closure = |txn: &mut dyn kernel::txn::Txn| txn.put(Table::Meta, &NO_OWNER, b"k", b"1", None);
    store.submit(closure, |_: Result<(), WriteError<StoreFault>>| {
        std::panic::resume_unwind(Box::new("a bug"))
    });
    put(&store, "l", b"2").unwrap();
    assert_eq!(keys(&store), ["k", "l"]);
}

#[test]
fn log_is_checkpointed_during_writes() {
    let dir = tempfile::tempdir().unwrap();
    let store = Store::open(dir.path(), Options { checkpoint_pages: 20, ..Options::default() }).unwrap();
    for n in 0..100 {
        put(&store, &format!("{n:03}"), &[1; 4000]).unwrap();
    }
    let stats = store.stats();
    assert!(stats.checkpoints >= 5 && stats.failed_checkpoints == 0, "{stats:?}");
    assert!(store.check(false).unwrap().log_bytes < 60 * 4096, "the log is used again");
    assert_eq!(keys(&store).len(), 100);
}
