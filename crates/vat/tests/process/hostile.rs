//! Hostile processes in the place of hosts: in every case they end, the vats in them are named, and the side that
//! listens keeps its memory.

use std::io::{Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};

use passable::Value;
use vat::{End, Event, Host, HostError, Level, Limits, Order, Outcome, Report, frame};

use crate::{TEST_TIMEOUT, Test, evaluate, open, started};

pub(crate) const TESTS: &[Test] = &[
    ("hostile_process_ends_and_its_vats_are_named", hostile_process_ends_and_its_vats_are_named),
    ("random_process_ends_and_its_vats_are_named", random_process_ends_and_its_vats_are_named),
];

/// The bytes by which the listening side may grow, all together.
const MAX_GROWTH: usize = 700 << 20;

/// Numbers from a seed, the same each time.
pub(crate) struct Dice(u64);

impl Dice {
    pub(crate) fn of(seed: u64) -> Dice {
        Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1)
    }

    pub(crate) fn next(&mut self, below: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % below
    }
}

fn write_bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    // The receiver may be gone.
    drop(out.write_all(bytes).and_then(|()| out.flush()));
}

fn encode_report(report: &Report) -> Vec<u8> {
    frame::encode(report).unwrap()
}

fn read_order() -> Option<Order> {
    frame::read(&mut std::io::stdin().lock()).unwrap_or_default()
}

/// Stays for longer than any test waits.
fn hang() -> ! {
    std::thread::sleep(2 * TEST_TIMEOUT);
    std::process::exit(0)
}

fn console(vat: u32, text: &str) -> Report {
    Report::Console { vat, level: Level::Log, text: text.to_owned() }
}

/// Returns a frame of so many bytes in all, whose body begins and ends as is said.
fn padded(begin: &str, with: &str, times: usize, end: &str) -> Vec<u8> {
    let body = [begin, &with.repeat(times), end].concat();
    [&(body.len() as u32).to_le_bytes()[..], body.as_bytes()].concat()
}

/// Does harm in one of the named ways. Vats 1 and 2 were opened, and vat 2 has an order.
pub(crate) fn harm(way: &str) {
    match way {
        "does nothing at all" => hang(),
        // Not before the orders are on their way.
        "goes without a word" => return std::thread::sleep(Duration::from_millis(300)),
        _ => {}
    }
    for vat in [1, 2] {
        assert!(matches!(read_order(), Some(Order::Open { .. })));
        write_bytes(&encode_report(&Report::Ready { vat }));
    }
    // The order to vat 2 begins to arrive.
    std::io::stdin().lock().read_exact(&mut [0]).unwrap();
    let many = |text: &str, times| {
        padded(
            r##"{"answer":{"vat":2,"answer":1,"outcome":{"ok":{"body":"#["##,
            text,
            times,
            r##"1]","slots":[]}},"place":null}}"##,
        )
    };
    match way {
        "hangs at its order" => hang(),
        "says done and takes nothing" => {
            write_bytes(&encode_report(&Report::Idle { vat: 2, memory: 0 }));
            hang();
        }
        "floods the console" => loop {
            write_bytes(&encode_report(&console(2, &"x".repeat(50_000))));
        },
        "floods with the smallest reports" => {
            let many = encode_report(&console(2, "")).repeat(1_000);
            loop {
                write_bytes(&many);
            }
        }
        "dies within a frame" => write_bytes(&encode_report(&console(2, "half"))[..9]),
        "dies within a length" => write_bytes(&[0, 0]),
        "closes its mouth" => {
            #[allow(unsafe_code, reason = "a process that harms itself")]
            // SAFETY: nothing is written to it any more.
            drop(unsafe { <std::fs::File as std::os::fd::FromRawFd>::from_raw_fd(1) });
            hang();
        }
        "announces more than may be" => write_bytes(&[0x03, 0xff, 0xff, 0xff]),
        "sends a value of millions of parts" => write_bytes(&many("1,", 8 << 20)),
        "sends as many parts as fit" => {
            write_bytes(&many("1,", 3 << 20));
            hang();
        }
        "nests without end" => write_bytes(&padded(r#"{"answer":"#, "[", 1 << 20, "")),
        "speaks for its neighbour" => write_bytes(&encode_report(&console(1, "I am 1"))),
        "ends its neighbour" => write_bytes(&encode_report(&Report::Closed { vat: 1 })),
        "answers and goes on unasked" => {
            std::io::stdin().lock().read_exact(&mut vec![0; 1 << 20]).unwrap();
            write_bytes(&encode_report(&Report::Idle { vat: 2, memory: 0 }));
            write_bytes(&encode_report(&Report::Idle { vat: 2, memory: 0 }));
        }
        "writes letters" => write_bytes(&b"no frames here, ".repeat(100_000)),
        other => panic!("{other}"),
    }
    if way.starts_with("dies") {
        return;
    }
    hang()
}

/// The expected end of a process: the culprit, the suspect, and a part of the error of its last bytes.
type Ending = (Option<u32>, Option<u32>, Option<&'static str>);

const WAYS: &[(&str, Ending)] = &[
    ("does nothing at all", (Some(1), None, None)),
    ("goes without a word", (None, Some(1), None)),
    ("hangs at its order", (Some(2), None, None)),
    ("says done and takes nothing", (Some(2), None, None)),
    ("floods the console", (Some(2), None, None)),
    ("floods with the smallest reports", (Some(2), None, None)),
    ("dies within a frame", (None, Some(2), None)),
    ("dies within a length", (None, Some(2), None)),
    ("closes its mouth", (None, Some(2), None)),
    ("announces more than may be", (None, Some(2), Some("is the limit"))),
    ("sends a value of millions of parts", (None, Some(2), Some("is the limit"))),
    ("sends as many parts as fit", (Some(2), None, None)),
    ("nests without end", (None, Some(2), Some("cannot be read"))),
    ("speaks for its neighbour", (None, Some(2), Some("not asked"))),
    ("ends its neighbour", (None, Some(2), Some("not asked"))),
    ("answers and goes on unasked", (None, None, Some("not asked"))),
    ("writes letters", (None, Some(2), Some("is the limit"))),
];

/// Returns the peak of the resident memory, in bytes.
fn peak() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.split_whitespace().next().unwrap().parse::<usize>().unwrap() << 10
}

/// Returns whether a process with this among its words is still there.
fn lives(word: &str) -> bool {
    let processes = std::fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|each| std::fs::read(each.path().join("cmdline")).ok());
    lines.any(|line| line.split(|byte| *byte == 0).any(|own| own == word.as_bytes()))
}

/// Waits for the end, and sees that nothing comes after it. Gives it, and how many reports there were before it.
fn ended(host: &mut Host) -> (End, usize) {
    let begun = Instant::now();
    let mut reports = 0;
    loop {
        assert!(begun.elapsed() < TEST_TIMEOUT, "it does not end");
        match host.next(TEST_TIMEOUT) {
            Some(Event::Report(_) | Event::Refused { .. } | Event::Woken) => reports += 1,
            Some(Event::Ended(end)) => {
                assert!(host.next(Duration::from_millis(20)).is_none());
                assert!(matches!(host.order(&Order::Ping { number: 1 }), Err(HostError::Ended)));
                return (end, reports);
            }
            None => panic!("neither a word nor an end"),
        }
    }
}

fn hostile_process_ends_and_its_vats_are_named() {
    let before = peak();
    let tried = WAYS.iter().map(|(way, (culprit, suspect, words))| {
        std::thread::spawn(move || {
            let mut host = started(&format!("harm {way}"));
            open(&mut host, 1, 1_500);
            open(&mut host, 2, 1_500);
            // More than a pipe holds: a process that does not take it keeps the other side waiting.
            let source = format!("/*{}*/ 1", "x".repeat(1 << 20));
            drop(host.order(&evaluate(2, 1, &source)));
            drop(host.order(&Order::Ping { number: 1 }));
            // The test does not listen for a while.
            std::thread::sleep(Duration::from_millis(100));
            let (end, _) = ended(&mut host);
            let said = end.broken.as_deref();
            assert_eq!((end.culprit, end.suspect), (*culprit, *suspect), "{way}: {end:?}");
            assert_eq!(end.vats, [1, 2], "{way}: {end:?}");
            assert!(
                said.is_some() == words.is_some()
                    && said.unwrap_or_default().contains(words.unwrap_or_default()),
                "{way}: {end:?}"
            );
            assert!(!lives(way), "{way}: it is still there");
        })
    });
    let failed = tried.collect::<Vec<_>>().into_iter().filter_map(|thread| thread.join().err()).count();
    assert_eq!(failed, 0);
    let grown = peak() - before;
    eprintln!("  the listener grew by {} MiB", grown >> 20);
    assert!(grown < MAX_GROWTH, "{} MiB", grown >> 20);
}

/// Runs a process that does as a dice says: reports that make sense and some that do not, bytes, pauses, ends.
pub(crate) fn random(seed: u64) {
    let mut dice = Dice::of(seed);
    let mut at = 0;
    loop {
        let vat = if dice.next(8) == 0 { dice.next(5) as u32 } else { at };
        match dice.next(20) {
            0..=7 => {
                match read_order() {
                    Some(Order::Open { vat, .. }) => {
                        at = vat;
                        write_bytes(&encode_report(&Report::Ready { vat }));
                    }
                    Some(Order::Evaluate { vat, .. } | Order::Drop { vat, .. }) => at = vat,
                    Some(_) => {}
                    None => return,
                };
            }
            8 => write_bytes(&encode_report(&console(vat, "x"))),
            9 | 10 => write_bytes(&encode_report(&Report::Idle { vat, memory: 1 })),
            11 => write_bytes(&encode_report(&Report::Answer {
                vat,
                answer: 1,
                outcome: Outcome::Ok(Value::Null),
                place: None,
            })),
            12 => write_bytes(&encode_report(&Report::Fault {
                vat,
                kind: vat::FaultKind::Time,
                line: "x\u{1b}[2J".to_owned(),
            })),
            13 => write_bytes(&encode_report(&Report::Closed { vat })),
            14 => write_bytes(&encode_report(&Report::Pong { number: vat })),
            15 => write_bytes(&encode_report(&Report::Refused { line: "no".to_owned() })),
            16 if dice.next(4) == 0 => {
                let length = dice.next(40);
                let bytes: Vec<u8> = (0..length).map(|_| dice.next(256) as u8).collect();
                write_bytes(&bytes);
            }
            17 if dice.next(3) == 0 => {
                let whole = encode_report(&console(vat, "cut short"));
                let length = dice.next(whole.len() as u64) as usize;
                write_bytes(&whole[..length]);
                return;
            }
            18 if dice.next(3) == 0 => hang(),
            19 if dice.next(3) == 0 => std::process::exit(dice.next(200) as i32),
            _ => std::thread::sleep(Duration::from_millis(dice.next(20))),
        }
    }
}

fn random_process_ends_and_its_vats_are_named() {
    const SEEDS: u64 = 64;
    let before = peak();
    let next = Arc::new(std::sync::atomic::AtomicU64::new(0));
    let work = move || {
        let mut endings = [0u32; 4];
        loop {
            let seed = next.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            if seed >= SEEDS {
                return endings;
            }
            let mut host = started(&format!("random {seed}"));
            let (mut opened, mut unsure) = (Vec::new(), Vec::new());
            for vat in 0..4 {
                let limits = Limits { wall_ms: 150, ..Limits::default() };
                // One that cannot be told any more has been noted or not, as it came.
                match host.order(&Order::Open { vat, limits }) {
                    Ok(()) => opened.push(vat),
                    Err(_) => unsure.push(vat),
                }
                drop(host.order(&evaluate(vat, 1, &"1".repeat(1 << (vat * 6)))));
            }
            let mut gone = Vec::new();
            let mut silent = 0;
            let begun = Instant::now();
            let end = loop {
                assert!(begun.elapsed() < TEST_TIMEOUT, "seed {seed}: it does not end");
                match host.next(Duration::from_millis(400)) {
                    Some(Event::Report(Report::Fault { vat, .. } | Report::Closed { vat })) => gone.push(vat),
                    Some(Event::Report(_) | Event::Refused { .. } | Event::Woken) => {}
                    Some(Event::Ended(end)) => break end,
                    // It does as it should, and waits for orders; or an order of its is still within its time.
                    None if silent > 20 => host.kill(),
                    None => silent += 1,
                }
            };
            opened.retain(|vat| !gone.contains(vat));
            let named: Vec<u32> = end.vats.iter().copied().filter(|vat| !unsure.contains(vat)).collect();
            assert_eq!(named, opened, "seed {seed}: {end:?}");
            assert!(end.culprit.is_none() || end.suspect.is_none(), "seed {seed}: {end:?}");
            let line = end.broken.clone().unwrap_or_default();
            assert!(!line.contains(char::is_control) && line.len() < 300, "seed {seed}: {end:?}");
            endings[match &end {
                End { broken: Some(_), .. } => 0,
                End { culprit: Some(_), .. } => 1,
                End { suspect: Some(_), .. } => 2,
                _ => 3,
            }] += 1;
        }
    };
    let threads: Vec<_> = (0..8).map(|_| std::thread::spawn(work.clone())).collect();
    let mut all = [0; 4];
    for thread in threads {
        for (sum, part) in all.iter_mut().zip(thread.join().expect("no seed fails")) {
            *sum += part;
        }
    }
    let [broken, culprit, suspect, quiet] = all;
    eprintln!(
        "  {broken} were cut off, {culprit} killed as culprits, {suspect} died as suspects, {quiet} by the way"
    );
    assert_eq!(u64::from(all.iter().sum::<u32>()), SEEDS);
    assert!(broken > 5 && culprit > 2 && suspect > 2, "{all:?}");
    assert!(peak() - before < MAX_GROWTH);
}
