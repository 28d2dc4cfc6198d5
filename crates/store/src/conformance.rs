//! The requirements on every backend, as one list of cases.

use std::fmt::Debug;
use std::sync::Barrier;
use std::thread;

use kernel::txn::{NO_OWNER, Owner, RawRow, ReadTxn, StoreFault, Table, Txn};

use crate::backend::Backend;
use crate::error::{ReadError, WriteError};
use crate::memory::Rows;

type Case<B> = (&'static str, fn(&B) -> Result<(), String>);

/// Runs every case on a fresh backend. Returns the failures, each beginning with the name of its case. A backend
/// conforms if there are none.
pub fn run<B: Backend>(mut make: impl FnMut() -> B) -> Vec<String> {
    let cases: [Case<B>; 11] = [
        ("a row is what was last put", rows),
        ("a range is what its bounds say", ranges),
        ("tables and owners are apart", apart),
        ("a transaction sees its own writes", own_writes),
        ("a refusal records nothing", refusal),
        ("a panic records nothing and harms nobody", panic),
        ("a read sees one state", snapshot),
        ("what was acknowledged is seen", acknowledged),
        ("increments from many threads add up", increments),
        ("refusals among writes take nothing along", mixed),
        ("random operations agree with the model", model),
    ];
    let outcomes = cases.iter().map(|(name, case)| case(&make()).map_err(|why| format!("{name}: {why}")));
    outcomes.filter_map(Result::err).collect()
}

const ALICE: Owner = [7; 32];

/// Runs a case with every table, so that new tables are covered from the start.
fn each_table(case: impl Fn(Table) -> Result<(), String>) -> Result<(), String> {
    Table::ALL
        .into_iter()
        .try_for_each(|table| case(table).map_err(|why| format!("`{}`: {why}", table.name())))
}

fn same<T: PartialEq + Debug>(what: &str, found: T, expected: T) -> Result<(), String> {
    match found == expected {
        true => Ok(()),
        false => Err(format!("{what}: expected {expected:?}, found {found:?}")),
    }
}

/// Writes with a closure whose only errors are those of the store.
fn write<B: Backend, T: Send + 'static>(
    backend: &B,
    closure: impl FnOnce(&mut dyn Txn) -> Result<T, StoreFault> + Send + 'static,
) -> Result<T, String> {
    backend.write(closure).map_err(|e: WriteError<StoreFault>| e.to_string())
}

fn read<B: Backend, T>(
    backend: &B,
    closure: impl FnOnce(&mut dyn ReadTxn) -> Result<T, StoreFault>,
) -> Result<T, String> {
    backend.read(closure).map_err(|e: ReadError<StoreFault>| e.to_string())
}

fn put<B: Backend>(backend: &B, table: Table, key: &[u8], body: &[u8]) -> Result<(), String> {
    let (key, body) = (key.to_vec(), body.to_vec());
    write(backend, move |txn| txn.put(table, &ALICE, &key, &body, None))
}

fn get<B: Backend>(backend: &B, table: Table, key: &[u8]) -> Result<Option<Vec<u8>>, String> {
    read(backend, |txn| txn.get(table, &ALICE, key))
}

fn all<B: Backend>(backend: &B, table: Table) -> Result<Vec<RawRow>, String> {
    read(backend, |txn| txn.range(table, &ALICE, b"", b"", usize::MAX, false))
}

fn rows<B: Backend>(backend: &B) -> Result<(), String> {
    each_table(|table| rows_of(backend, table))
}

fn rows_of<B: Backend>(backend: &B, table: Table) -> Result<(), String> {
    same("before", get(backend, table, b"k")?, None)?;
    let long = vec![0xab; 1 << 20];
    let keys: [&[u8]; 5] = [b"", b"k", b"\0", b"k\0\xff", &[0xff; 300]];
    for key in keys {
        for body in [b"".as_slice(), b"one", b"\0two\xff"] {
            put(backend, table, key, body)?;
            same("after put", get(backend, table, key)?.as_deref(), Some(body))?;
        }
    }
    put(backend, table, b"k", &long)?;
    same("a long row", get(backend, table, b"k")?, Some(long))?;
    same("count", all(backend, table)?.len(), keys.len())?;
    for key in keys {
        let key = key.to_vec();
        let again = key.clone();
        write(backend, move |txn| {
            txn.put(table, &ALICE, &again, b"with provenance", Some(b"p"))?;
            txn.delete(table, &ALICE, &again)?;
            txn.delete(table, &ALICE, &again)
        })?;
        same("after delete", get(backend, table, &key)?, None)?;
    }
    same("all", all(backend, table)?, vec![])
}

fn ranges<B: Backend>(backend: &B) -> Result<(), String> {
    each_table(|table| ranges_of(backend, table))
}

fn ranges_of<B: Backend>(backend: &B, table: Table) -> Result<(), String> {
    let keys: [&[u8]; 8] = [b"", b"\0", b"a", b"a\0", b"ab", b"b", b"\xff", b"\xff\xff"];
    for key in keys {
        put(backend, table, key, key)?;
    }
    let more: [&[u8]; 2] = [b"aa", b"\xff\xff\xff"];
    let bounds = keys.iter().chain(&more);
    for from in bounds.clone() {
        for to in bounds.clone() {
            for limit in [0, 1, 3, usize::MAX] {
                for reverse in [false, true] {
                    let inside = keys.iter().filter(|key| *key >= from && (to.is_empty() || *key < to));
                    let mut expected: Vec<RawRow> = inside.map(|key| (key.to_vec(), key.to_vec())).collect();
                    if reverse {
                        expected.reverse();
                    }
                    expected.truncate(limit);
                    let found = read(backend, |txn| txn.range(table, &ALICE, from, to, limit, reverse))?;
                    same(&format!("{from:x?}..{to:x?} limit {limit} reverse {reverse}"), found, expected)?;
                }
            }
        }
    }
    Ok(())
}

fn apart<B: Backend>(backend: &B) -> Result<(), String> {
    let mut next = ALICE;
    next[31] += 1;
    let owners = [NO_OWNER, ALICE, next, [0xff; 32]];
    let mark = |table: Table, owner: &Owner| format!("{}{owner:?}", table.name()).into_bytes();
    write(backend, move |txn| {
        for table in Table::ALL {
            for owner in owners {
                txn.put(table, &owner, b"k", &mark(table, &owner), None)?;
            }
        }
        Ok(())
    })?;
    each_table(|table| {
        for owner in owners {
            let expected = vec![(b"k".to_vec(), mark(table, &owner))];
            for reverse in [false, true] {
                let found = read(backend, |txn| txn.range(table, &owner, b"", b"", usize::MAX, reverse))?;
                same("one row", found, expected.clone())?;
            }
            let found = read(backend, |txn| txn.get(table, &[9; 32], b"k"))?;
            same("a stranger's row", found, None)?;
        }
        Ok(())
    })?;
    each_table(|table| {
        write(backend, move |txn| txn.delete(table, &ALICE, b"k"))?;
        same("after a delete", get(backend, table, b"k")?, None)?;
        let found = read(backend, |txn| txn.get(table, &NO_OWNER, b"k"))?;
        same("a neighbour's row after a delete", found.is_some(), true)?;
        let elsewhere: Vec<_> = Table::ALL.into_iter().filter(|other| *other > table).collect();
        for other in elsewhere {
            let found = get(backend, other, b"k")?;
            same("the row in another table after a delete", found.is_some(), true)?;
        }
        Ok(())
    })
}

fn own_writes<B: Backend>(backend: &B) -> Result<(), String> {
    each_table(|table| own_writes_of(backend, table))
}

fn own_writes_of<B: Backend>(backend: &B, table: Table) -> Result<(), String> {
    put(backend, table, b"old", b"0")?;
    let seen = write(backend, move |txn| {
        txn.put(table, &ALICE, b"new", b"1", None)?;
        txn.put(table, &ALICE, b"new", b"2", None)?;
        let new = txn.get(table, &ALICE, b"new")?;
        txn.delete(table, &ALICE, b"old")?;
        let old = txn.get(table, &ALICE, b"old")?;
        let range = txn.range(table, &ALICE, b"", b"", 9, true)?;
        Ok((new, old, range))
    })?;
    same("seen", seen, (Some(b"2".to_vec()), None, vec![(b"new".to_vec(), b"2".to_vec())]))
}

/// Changes, adds and removes rows of every table. The cases use it in closures that are rolled back.
fn havoc(txn: &mut dyn Txn) -> Result<(), StoreFault> {
    for table in Table::ALL {
        txn.put(table, &ALICE, b"kept", b"overwritten", None)?;
        txn.put(table, &ALICE, b"kept", b"twice", None)?;
        txn.put(table, &ALICE, b"added", b"x", None)?;
        txn.delete(table, &ALICE, b"removed")?;
        txn.delete(table, &ALICE, b"added")?;
        txn.put(table, &ALICE, b"added", b"y", None)?;
    }
    Ok(())
}

/// Puts the rows that `havoc` expects into every table, and returns all rows, by table.
fn before_havoc<B: Backend>(backend: &B) -> Result<Vec<Vec<RawRow>>, String> {
    each_table(|table| {
        put(backend, table, b"kept", b"1").and_then(|()| put(backend, table, b"removed", b"2"))
    })?;
    everything(backend)
}

fn everything<B: Backend>(backend: &B) -> Result<Vec<Vec<RawRow>>, String> {
    Table::ALL.into_iter().map(|table| all(backend, table)).collect()
}

fn refusal<B: Backend>(backend: &B) -> Result<(), String> {
    let before = before_havoc(backend)?;
    let refused: Result<(), WriteError<String>> = backend.write(|txn| {
        havoc(txn).map_err(|e| e.to_string())?;
        Err("no".to_owned())
    });
    same("answer", refused, Err(WriteError::Refused("no".into())))?;
    same("rows", everything(backend)?, before.clone())?;
    let refused: Result<(), ReadError<&str>> = backend.read(|_| Err("not read"));
    same("answer of a read", refused, Err(ReadError::Refused("not read")))?;
    same("rows", everything(backend)?, before)
}

fn panic<B: Backend>(backend: &B) -> Result<(), String> {
    let before = before_havoc(backend)?;
    let answer: Result<(), WriteError<StoreFault>> = backend.write(|txn| {
        havoc(txn)?;
        // Unlike `panic!`, this prints nothing.
        std::panic::resume_unwind(Box::new("a bug"));
    });
    same("answer", answer, Err(WriteError::Panicked("a bug".into())))?;
    same("rows", everything(backend)?, before)?;
    put(backend, Table::Meta, b"kept", b"3")?;
    same("the next write", get(backend, Table::Meta, b"kept")?, Some(b"3".to_vec()))
}

fn snapshot<B: Backend>(backend: &B) -> Result<(), String> {
    each_table(|table| snapshot_of(backend, table))
}

fn snapshot_of<B: Backend>(backend: &B, table: Table) -> Result<(), String> {
    put(backend, table, b"a", b"1")?;
    put(backend, table, b"b", b"1")?;
    let mut changed = Ok(());
    let seen = read(backend, |txn| {
        let first = txn.get(table, &ALICE, b"a")?;
        changed = put(backend, table, b"a", b"2")
            .and_then(|()| put(backend, table, b"b", b"2"))
            .and_then(|()| put(backend, table, b"c", b"2"));
        let again = txn.get(table, &ALICE, b"a")?;
        let other = txn.get(table, &ALICE, b"b")?;
        let count = txn.range(table, &ALICE, b"", b"", 9, false)?.len();
        Ok((first, again, other, count))
    })?;
    changed?;
    let one = Some(b"1".to_vec());
    same("during the read", seen, (one.clone(), one.clone(), one, 2))?;
    same("after it", get(backend, table, b"b")?, Some(b"2".to_vec()))
}

/// Runs the closure on that many threads at once, and returns the first failure.
fn at_once(threads: usize, run: impl Fn(usize) -> Result<(), String> + Sync) -> Result<(), String> {
    let start = Barrier::new(threads);
    let (start, run) = (&start, &run);
    thread::scope(|scope| {
        let spawn = |i| {
            scope.spawn(move || {
                start.wait();
                run(i)
            })
        };
        let handles: Vec<_> = (0..threads).map(spawn).collect();
        let join = |handle: thread::ScopedJoinHandle<'_, Result<(), String>>| {
            handle.join().unwrap_or_else(|_| Err("a thread panicked".into()))
        };
        // All threads are joined before the first failure is returned.
        let outcomes: Vec<_> = handles.into_iter().map(join).collect();
        outcomes.into_iter().collect()
    })
}

fn acknowledged<B: Backend>(backend: &B) -> Result<(), String> {
    at_once(8, |i| {
        for n in 0..20_u32 {
            let (key, body) = (format!("{i}"), n.to_be_bytes());
            put(backend, Table::Meta, key.as_bytes(), &body)?;
            same("read back", get(backend, Table::Meta, key.as_bytes())?.as_deref(), Some(body.as_slice()))?;
        }
        Ok(())
    })
}

fn increment(txn: &mut dyn Txn, key: &[u8]) -> Result<u64, StoreFault> {
    let now =
        txn.get(Table::Meta, &ALICE, key)?.and_then(|b| b.try_into().ok()).map_or(0, u64::from_be_bytes);
    txn.put(Table::Meta, &ALICE, key, &(now + 1).to_be_bytes(), None)?;
    Ok(now + 1)
}

fn counter<B: Backend>(backend: &B) -> Result<Option<u64>, String> {
    Ok(get(backend, Table::Meta, b"n")?.and_then(|b| b.try_into().ok()).map(u64::from_be_bytes))
}

fn increments<B: Backend>(backend: &B) -> Result<(), String> {
    at_once(8, |_| {
        let mut last = 0;
        for _ in 0..25 {
            let now = write(backend, |txn| increment(txn, b"n"))?;
            same("later increments return more", now > last, true)?;
            last = now;
        }
        Ok(())
    })?;
    same("sum", counter(backend)?, Some(200))
}

fn mixed<B: Backend>(backend: &B) -> Result<(), String> {
    at_once(6, |i| {
        for _ in 0..20 {
            let answer: Result<u64, WriteError<String>> = backend.write(move |txn| {
                let now = increment(txn, b"n").map_err(|e| e.to_string())?;
                match i % 3 {
                    0 => Ok(now),
                    1 => Err("refused".into()),
                    _ => std::panic::resume_unwind(Box::new("a bug")),
                }
            });
            same("answers", answer.is_ok(), i % 3 == 0)?;
        }
        Ok(())
    })?;
    same("sum", counter(backend)?, Some(40))
}

/// A random number generator that depends only on its seed, so that a failure can be repeated.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }

    fn key(&mut self) -> Vec<u8> {
        let len = self.roll(3);
        (0..len).map(|_| [0, b'a', b'b', 0xff][self.roll(4) as usize]).collect()
    }

    fn place(&mut self) -> (Table, Owner) {
        let table = Table::ALL[self.roll(Table::ALL.len() as u64) as usize];
        (table, [[0; 32], ALICE][self.roll(2) as usize])
    }
}

/// Makes one random operation and returns all rows that it read.
fn step(dice: &mut Dice, txn: &mut dyn Txn) -> Result<Vec<RawRow>, StoreFault> {
    let (table, owner) = dice.place();
    let key = dice.key();
    match dice.roll(5) {
        0 | 1 => {
            let body = dice.roll(1000).to_be_bytes();
            let provenance = (dice.roll(2) == 0).then_some(b"p".as_slice());
            txn.put(table, &owner, &key, &body, provenance).map(|()| Vec::new())
        }
        2 => txn.delete(table, &owner, &key).map(|()| Vec::new()),
        3 => Ok(txn.get(table, &owner, &key)?.map(|body| (key, body)).into_iter().collect()),
        _ => {
            let to = dice.key();
            let (limit, reverse) = (dice.roll(6) as usize, dice.roll(2) == 0);
            txn.range(table, &owner, &key, &to, limit, reverse)
        }
    }
}

/// Makes forty random operations. Some seeds end with a refusal.
fn steps(seed: u64, txn: &mut dyn Txn) -> Result<Vec<Vec<RawRow>>, String> {
    let mut dice = Dice(seed);
    let seen = (0..40).map(|_| step(&mut dice, txn)).collect::<Result<Vec<_>, _>>();
    let seen = seen.map_err(|e| e.to_string())?;
    if dice.roll(4) == 0 { Err(format!("refused after {seen:?}")) } else { Ok(seen) }
}

fn model<B: Backend>(backend: &B) -> Result<(), String> {
    let mut expected = Rows::default();
    for seed in 1..=100_u64 {
        let seed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut next = expected.clone();
        let wanted = steps(seed, &mut next).map_err(WriteError::Refused);
        if wanted.is_ok() {
            expected = next;
        }
        same(&format!("seed {seed}"), backend.write(move |txn| steps(seed, txn)), wanted)?;
    }
    for table in Table::ALL {
        for owner in [NO_OWNER, ALICE] {
            let found = read(backend, |txn| txn.range(table, &owner, b"", b"", usize::MAX, false))?;
            let wanted = expected.range(table, &owner, b"", b"", usize::MAX, false);
            same("at the end", found, wanted.map_err(|e| e.to_string())?)?;
        }
    }
    Ok(())
}
