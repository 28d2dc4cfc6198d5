//! Six bombs at once, each in a process of its own, while fifty vats in fifty others answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use passable::Value;
use vat::{End, Event, FaultKind, Order, Outcome, Report};

use crate::{TEST_TIMEOUT, Test, answered, evaluate, open, started};

pub(crate) const TESTS: &[Test] =
    &[("six_bombs_end_while_fifty_vats_answer", six_bombs_end_while_fifty_vats_answer)];

/// The time limit of each vat per order, in milliseconds.
const WALL_MS: u64 = 1_000;

/// The time beyond its limit within which a bomb must be found on a machine that does other things as well. The
/// target is 100 ms; `cargo xtask bench vat` measures it.
const MAX_DELAY: Duration = Duration::from_secs(3);

/// A bomb, and how it ends: by a fault, or with its process.
const BOMBS: &[(&str, &str, Option<FaultKind>)] = &[
    ("a loop", "while (true) {}", Some(FaultKind::Time)),
    ("a regular expression", "/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(60))", Some(FaultKind::Time)),
    (
        "memory",
        "const a = []; for (;;) a.push(new Uint8Array(1 << 20).fill(a.length))",
        Some(FaultKind::Memory),
    ),
    ("promise jobs", "const l = async () => { for (;;) await null; }; l()", Some(FaultKind::Time)),
    ("a native sort", "Array.prototype.sort.call({ length: 2 ** 53 - 1 })", None),
    ("the stack", "const f = () => f() + 1; f()", Some(FaultKind::Stack)),
];

/// Sets one off; gives how long it took to be heard of. A process that a busy machine does not let look at the clock in
/// its grace is killed by the watchdog, as one that is stuck: that may be so twice.
fn blast(name: &str, code: &str, expected: Option<FaultKind>) -> Duration {
    for _ in 0..2 {
        match set_off(code, expected) {
            Some(took) => return took,
            None => eprintln!("  {name}: the machine was too busy; once more"),
        }
    }
    set_off(code, expected).expect("a fault, and not the watchdog each time")
}

/// Returns how long it took, or nothing if the watchdog came before the fault.
fn set_off(code: &str, expected: Option<FaultKind>) -> Option<Duration> {
    let mut host = started("host");
    // Another vat is in the same process: it is named if the process has to go, and lives on if not.
    for vat in [1, 2] {
        open(&mut host, vat, WALL_MS);
        host.order(&evaluate(vat, 1, "0")).unwrap();
        answered(&host, vat, 1).unwrap();
    }
    let begun = Instant::now();
    host.order(&evaluate(2, 2, code)).unwrap();
    loop {
        match host.next(TEST_TIMEOUT).expect("an end") {
            Event::Report(Report::Fault { vat, kind, .. }) => {
                let took = begun.elapsed();
                assert_eq!((vat, Some(kind)), (2, expected), "{code}");
                host.order(&evaluate(1, 2, "'alive'")).unwrap();
                assert_eq!(answered(&host, 1, 2).unwrap(), Outcome::Ok(Value::string("alive")), "{code}");
                return Some(took);
            }
            Event::Report(Report::Idle { .. }) => {}
            Event::Report(other) => panic!("{code}: {other:?}"),
            other @ (Event::Refused { .. } | Event::Woken) => panic!("{code}: {other:?}"),
            Event::Ended(end) => {
                let stuck = End { culprit: Some(2), suspect: None, vats: vec![1, 2], broken: None };
                assert_eq!(end, stuck, "{code}");
                return expected.is_none().then(|| begun.elapsed());
            }
        }
    }
}

fn six_bombs_end_while_fifty_vats_answer() {
    let mut others: Vec<_> = (0..50).map(|_| started("host")).collect();
    for host in &mut others {
        open(host, 7, 10_000);
    }
    let over = Arc::new(AtomicBool::new(false));
    let seen = Arc::clone(&over);
    let asking = std::thread::spawn(move || {
        let (mut rounds, mut longest) = (0u32, Duration::ZERO);
        // One more round after the last bomb.
        let mut last = false;
        while !last {
            last = seen.load(Ordering::Relaxed);
            rounds += 1;
            for (index, host) in others.iter_mut().enumerate() {
                let begun = Instant::now();
                host.order(&evaluate(7, rounds, &format!("{rounds} * 100 + {index}"))).unwrap();
                let sum = f64::from(rounds) * 100.0 + index as f64;
                assert_eq!(answered(host, 7, rounds).unwrap(), Outcome::Ok(Value::number(sum)));
                host.order(&Order::Drop { vat: 7, exports: vec![], answers: vec![rounds] }).unwrap();
                longest = longest.max(begun.elapsed());
            }
        }
        (rounds, longest)
    });
    let blasts =
        BOMBS.iter().map(|(name, code, kind)| std::thread::spawn(|| (*name, blast(name, code, *kind))));
    for blast in blasts.collect::<Vec<_>>() {
        let (name, took) = blast.join().expect("the bomb ends as it must");
        let beyond = took.saturating_sub(Duration::from_millis(WALL_MS));
        eprintln!("  {name}: after {} ms, {} beyond its time", took.as_millis(), beyond.as_millis());
        assert!(beyond < MAX_DELAY, "{name}: {beyond:?}");
    }
    over.store(true, Ordering::Relaxed);
    let (rounds, longest) = asking.join().expect("all fifty answer, each time");
    eprintln!("  fifty vats answered {rounds} times each, the slowest within {} ms", longest.as_millis());
    assert!(rounds >= 2, "{rounds}");
}
