//! The cost of a durable write here: operations per second and syncs per operation. Beside it stands the rate at
//! which this machine makes small writes durable. `cargo bench -p store`; an argument is the seconds per row.
#![allow(
    clippy::unwrap_used,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench prints, and may stop"
)]

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use kernel::txn::{NO_OWNER, ReadTxn, StoreFault, Table, Txn};
use store::{Options, Stats, Store, WriteError, fsync_rate};

/// A row of the size that a journal step has.
const BODY: [u8; 300] = [b'x'; 300];

fn step(txn: &mut dyn Txn, n: u64) -> Result<(), StoreFault> {
    txn.put(Table::Journal, &NO_OWNER, &n.to_be_bytes(), &BODY, Some(b"{}"))
}

/// Runs `operation` on `threads` threads for `time`; returns operations per second.
fn rate(threads: usize, time: Duration, operation: impl Fn(u64) + Sync) -> f64 {
    let (done, next) = (AtomicBool::new(false), AtomicU64::new(0));
    let begun = Instant::now();
    thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    operation(next.fetch_add(1, Ordering::Relaxed));
                }
            });
        }
        thread::sleep(time);
        done.store(true, Ordering::Relaxed);
    });
    next.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64()
}

fn difference(before: Stats, after: Stats) -> (f64, f64) {
    let writes = (after.writes - before.writes) as f64;
    ((after.syncs() - before.syncs()) as f64 / writes, writes / (after.commits - before.commits) as f64)
}

fn main() {
    let seconds = std::env::args().skip(1).find_map(|arg| arg.parse().ok()).unwrap_or(1.0);
    let time = Duration::from_secs_f64(seconds);
    let dir = tempfile::tempdir_in(env!("CARGO_TARGET_TMPDIR")).unwrap();
    // The rate of a shared machine changes from second to second, so it stands beside every row.
    let probe = || fsync_rate(dir.path(), time / 4).unwrap();
    let path = dir.path().join("store");
    let begun = Instant::now();
    let store = Store::open(&path, Options::default()).unwrap();
    println!("{:<34} {:>10.1} ms", "open, new store", begun.elapsed().as_secs_f64() * 1e3);

    println!("\n{:<34} {:>12} {:>10} {:>10} {:>12}", "", "ops/s", "syncs/op", "group", "fsyncs/s");
    let base = AtomicU64::new(0);
    for writers in [1, 4, 16, 64] {
        let fsyncs = probe();
        let stats = store.stats();
        let start = base.load(Ordering::Relaxed);
        let ops = rate(writers, time, |n| {
            store.write(move |txn| step(txn, start + n)).unwrap();
        });
        let (syncs, group) = difference(stats, store.stats());
        base.fetch_add(1 << 32, Ordering::Relaxed);
        println!(
            "{:<34} {ops:>12.0} {syncs:>10.3} {group:>10.1} {fsyncs:>12.0}",
            format!("write, {writers} waiting threads")
        );
    }
    for flight in [16, 64, 256] {
        let fsyncs = probe();
        let stats = store.stats();
        let start = base.fetch_add(1 << 32, Ordering::Relaxed);
        let ops = pipelined(&store, start, flight, time);
        let (syncs, group) = difference(stats, store.stats());
        println!(
            "{:<34} {ops:>12.0} {syncs:>10.3} {group:>10.1} {fsyncs:>12.0}",
            format!("submit, {flight} in flight")
        );
    }
    for readers in [1, 4] {
        let ops = rate(readers, time, |n| {
            let key = n.wrapping_mul(0x9e37_79b9) % 1000;
            let read = |txn: &mut dyn ReadTxn| txn.get(Table::Journal, &NO_OWNER, &key.to_be_bytes());
            store.read(read).unwrap();
        });
        println!("{:<34} {ops:>12.0} {:>10} {:>10}", format!("read one row, {readers} threads"), "-", "-");
    }
    for size in [300, 100_000] {
        let fsyncs = probe();
        let stats = store.stats();
        let ops = rate(1, time, |n| {
            let mut bytes = vec![0; size];
            bytes[..8].copy_from_slice(&n.to_be_bytes());
            store.blobs().put(&bytes).unwrap();
        });
        let after = store.stats();
        let syncs = (after.blob_syncs - stats.blob_syncs) as f64 / (after.blobs - stats.blobs) as f64;
        println!(
            "{:<34} {ops:>12.0} {syncs:>10.3} {:>10} {fsyncs:>12.0}",
            format!("blob of {size} bytes"),
            "-"
        );
    }
    let begun = Instant::now();
    let health = store.check(false).unwrap();
    println!("\n{:<34} {:>10.1} ms", "check, as after an unclean end", begun.elapsed().as_secs_f64() * 1e3);
    drop(store);
    let begun = Instant::now();
    drop(Store::open(&path, Options::default()).unwrap());
    let open = begun.elapsed().as_secs_f64() * 1e3;
    println!("{:<34} {open:>10.1} ms ({} MB)", "open and close again", health.database_bytes / 1_000_000);
}

/// Keeps `flight` writes pending from one thread, as the control socket does, and returns their rate.
fn pipelined(store: &Store, start: u64, flight: usize, time: Duration) -> f64 {
    let (send, answers) = channel();
    let submit = |n: u64| {
        let send = send.clone();
        store.submit(
            move |txn| step(txn, start + n),
            move |answer: Result<(), WriteError<StoreFault>>| send.send(answer).unwrap(),
        );
    };
    let begun = Instant::now();
    let mut next = 0;
    while next < flight as u64 {
        submit(next);
        next += 1;
    }
    let mut done = 0_u64;
    while begun.elapsed() < time {
        answers.recv().unwrap().unwrap();
        done += 1;
        submit(next);
        next += 1;
    }
    let rate = done as f64 / begun.elapsed().as_secs_f64();
    (done..next).for_each(|_| answers.recv().unwrap().unwrap());
    rate
}
