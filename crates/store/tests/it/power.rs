//! When the power fails, an honest disk loses nothing acknowledged; a lying one does, and the test notices.

use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table};
use store::faulty::{FaultyStore, InjectedFault};
use store::{Backend, WriteError};

/// Writes until the power fails, reboots, and compares the rows with the acknowledged writes.
fn survives(store: &FaultyStore) -> Result<(), String> {
    let mut acked = 0_u32;
    while !store.is_dead() {
        let n = acked;
        let wrote: Result<(), WriteError<StoreFault>> =
            store.write(move |txn| txn.put(Table::Event, &NO_OWNER, &n.to_be_bytes(), b"x", None));
        match wrote {
            Ok(()) => acked += 1,
            Err(WriteError::Store(StoreFault::Closed)) => {}
            Err(error) => return Err(error.to_string()),
        }
    }
    store.reboot();
    let all = |txn: &mut dyn ReadTxn| txn.range(Table::Event, &NO_OWNER, b"", b"", usize::MAX, false);
    let left = store.read(all).map_err(|e| e.to_string())?.len() as u32;
    // One more may be there: durable, but cut off before the answer.
    if (acked..=acked + 1).contains(&left) {
        Ok(())
    } else {
        Err(format!("{acked} acknowledged, {left} left"))
    }
}

#[test]
fn honest_disk_keeps_acknowledged_writes() {
    for nth in 1..20 {
        for trouble in [InjectedFault::CrashBefore { nth }, InjectedFault::CrashAfter { nth }] {
            let store = FaultyStore::default();
            store.arm(trouble);
            assert_eq!(survives(&store), Ok(()));
        }
    }
}

#[test]
fn lying_disk_is_detected() {
    for nth in 3..20 {
        let store = FaultyStore::default();
        store.lie(true);
        store.arm(InjectedFault::CrashBefore { nth });
        assert!(survives(&store).is_err(), "the test would not notice lost commits");
    }
}

#[test]
fn fault_ignored_by_the_closure_fails_the_write() {
    let full = StoreFault::Full("armed".into());
    let troubles = [
        InjectedFault::Operation { nth: 2, fault: full.clone() },
        InjectedFault::Commit { nth: 1, fault: full.clone() },
    ];
    for trouble in troubles {
        let store = FaultyStore::default();
        store.arm(trouble);
        let answer: Result<(), WriteError<StoreFault>> = store.write(|txn| {
            for key in [b"a", b"b", b"c"] {
                let _ = txn.put(Table::Event, &NO_OWNER, key, b"x", None);
            }
            Ok(())
        });
        assert_eq!(answer, Err(WriteError::Store(full.clone())));
        assert!(store.live().is_empty() && store.durable().is_empty());
    }
}
