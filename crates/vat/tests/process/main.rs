//! Vats in a process of their own, and the outcome when that process is stuck, lies, or dies.
//!
//! This program is both sides. Without arguments, or with a part of a test's name, it tests, and starts itself again
//! as the process that hosts vats.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::disallowed_methods,
    clippy::exit,
    clippy::print_stderr,
    reason = "a test stands where a host does, and says so by panicking when something is wrong"
)]

mod bombs;
mod hostile;

use std::io::Write;
use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use passable::Value;
use vat::{End, Event, Host, HostError, Limits, Order, Outcome, Report, frame, serve};

/// No test waits longer for anything.
const TEST_TIMEOUT: Duration = Duration::from_secs(60);

#[derive(serde::Deserialize)]
struct Stuck {
    name: String,
    code: String,
}

#[derive(serde::Deserialize)]
struct File {
    stuck: Vec<Stuck>,
}

fn main() {
    let role = std::env::args().nth(1).unwrap_or_default();
    match role.as_str() {
        "host" => host(),
        "liar" => liar(),
        "harm" => hostile::harm(&std::env::args().nth(2).unwrap()),
        "random" => hostile::random(std::env::args().nth(2).unwrap().parse().unwrap()),
        "--list" => {}
        part => {
            // Options are for a harness, which this is not.
            let part = if part.starts_with('-') { "" } else { part };
            for (name, test) in
                [TESTS, hostile::TESTS, bombs::TESTS].concat().iter().filter(|(name, _)| name.contains(part))
            {
                test();
                eprintln!("{name} ... ok");
            }
        }
    }
}

/// Runs the process that hosts vats.
fn host() {
    let start = Instant::now();
    let clock: vat::Clock = Rc::new(move || start.elapsed().as_millis() as u64);
    let (mut orders, mut reports) = (std::io::stdin().lock(), std::io::stdout().lock());
    serve(&mut orders, &mut reports, &clock).unwrap();
}

/// Runs a process that sends a false report.
fn liar() {
    let mut out = std::io::stdout().lock();
    let lie = std::env::args().nth(2).unwrap();
    let open: Option<Order> = frame::read(&mut std::io::stdin().lock()).unwrap();
    assert!(open.is_some());
    let told = |report| frame::encode(&report).unwrap();
    out.write_all(&match lie.as_str() {
        "of another vat" => told(Report::Closed { vat: 99 }),
        "for another vat" => told(Report::Console { vat: 99, level: vat::Level::Log, text: "x".to_owned() }),
        "twice" => [told(Report::Ready { vat: 1 }), told(Report::Ready { vat: 1 })].concat(),
        "too much" => b"\x7f\xff\xff\xffHTTP/1.1 200 OK".to_vec(),
        _ => b"\x00\x00\x00\x02{}".to_vec(),
    })
    .unwrap();
    out.flush().unwrap();
    std::thread::sleep(TEST_TIMEOUT);
}

type Test = (&'static str, fn());
const TESTS: &[Test] = &[
    ("orders_are_carried_out_in_another_process", orders_are_carried_out_in_another_process),
    ("two_processes_report_the_same_bytes", two_processes_report_the_same_bytes),
    ("a_process_that_is_stuck_in_native_code_is_killed", a_process_that_is_stuck_in_native_code_is_killed),
    ("a_process_that_dies_is_told_of_with_its_vats", dead_process_is_reported_with_its_vats),
    ("a_process_that_lies_is_ended", a_process_that_lies_is_ended),
];

fn started(role: &str) -> Host {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.args(role.splitn(2, ' '));
    let start = Instant::now();
    Host::start(command, Arc::new(move || start.elapsed().as_millis() as u64)).unwrap()
}

fn evaluate(vat: u32, answer: u32, source: &str) -> Order {
    let (id, names, values) = (String::new(), Vec::new(), Value::array([]));
    Order::Evaluate { vat, answer, id, source: source.to_owned(), names, values }
}

/// Waits for the answer, or for the end.
fn answered(host: &Host, vat: u32, answer: u32) -> Result<Outcome, End> {
    loop {
        match host.next(TEST_TIMEOUT).expect("an event") {
            Event::Report(Report::Answer { vat: own, answer: number, outcome, .. })
                if (own, number) == (vat, answer) =>
            {
                return Ok(outcome);
            }
            Event::Report(Report::Fault { vat: own, kind, .. }) if own == vat => {
                return Ok(Outcome::Err(Value::string(kind.line())));
            }
            Event::Report(_) | Event::Refused { .. } | Event::Woken => {}
            Event::Ended(end) => return Err(end),
        }
    }
}

fn open(host: &mut Host, vat: u32, wall_ms: u64) {
    host.order(&Order::Open { vat, limits: Limits { wall_ms, fuel: u64::MAX, ..Limits::default() } })
        .unwrap();
}

fn orders_are_carried_out_in_another_process() {
    let mut host = started("host");
    for vat in 0..10 {
        open(&mut host, vat, 10_000);
    }
    for vat in 0..10 {
        host.order(&evaluate(vat, 1, &format!("{vat} * 2"))).unwrap();
    }
    for vat in 0..10 {
        let expected = Outcome::Ok(Value::number(f64::from(vat * 2)));
        assert_eq!(answered(&host, vat, 1).unwrap(), expected);
    }
    // A loop in guest code ends by the vat's own deadline, and the other vats go on.
    open(&mut host, 20, 100);
    host.order(&evaluate(20, 1, "for (;;) {}")).unwrap();
    host.order(&evaluate(3, 2, "'still here'")).unwrap();
    assert_eq!(answered(&host, 3, 2).unwrap(), Outcome::Ok(Value::string("still here")));
}

/// Checks that two processes give the same reports. Addresses, seeds and times of day differ from process to process.
/// The reports of a vat do not, nor the step at which it exceeds a limit, nor the size of its memory.
fn two_processes_report_the_same_bytes() {
    let sources = [
        "const m = new Map(); for (let i = 0; i < 1000; i++) m.set({ i }, `k${i * 7919 % 1000}`); [...m.values()].slice(0, 5)",
        "const o = {}; for (let i = 0; i < 300; i++) o[`p${i * 31 % 300}`] = i; JSON.stringify(o)",
        "[...new Set(['b', 'a', Symbol.iterator, 1, NaN, -0].map(String))]",
        "Object.groupBy(['x', 'yy', 'z'], t => t.length)",
        "[Math.sin(1e6), Math.exp(0.1), Math.pow(2, 0.5), Math.atan2(1, 3), 0.1 * 3, 1e21 + 1].map(String)",
        "[5, 3, 9, 1, 7].toSorted(() => 0)",
        "let made = []; for (let i = 0; i < 2000; i++) { const a = { i }; a.a = a; made = [a]; E.sendOnly(host).m(i % 97 === 0 ? Far('x', {}) : i); } made.length",
        "const keep = []; for (let i = 0; ; i++) { keep.push({ i }); if (i % 1000 === 0) console.log(i); }",
    ];
    let mut stream = Vec::new();
    for (index, source) in sources.iter().enumerate() {
        let vat = index as u32;
        let limits = Limits { memory: 8 << 20, wall_ms: 60_000, ..Limits::default() };
        let values = Value::array([Value::remotable(vat::Slot::Host(1))]);
        let (id, names, source) = ("id".to_owned(), vec!["host".to_owned()], (*source).to_owned());
        stream.extend(frame::encode(&Order::Open { vat, limits }).unwrap());
        stream.extend(frame::encode(&Order::Evaluate { vat, answer: 1, id, source, names, values }).unwrap());
    }
    let said = || {
        let mut command = Command::new(std::env::current_exe().unwrap());
        let command =
            command.arg("host").stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut orders = child.stdin.take().unwrap();
        let stream = stream.clone();
        let writer = std::thread::spawn(move || drop(orders.write_all(&stream)));
        let said = child.wait_with_output().unwrap().stdout;
        writer.join().unwrap();
        said
    };
    let first = said();
    assert!(first.len() > 100_000, "{}", first.len());
    for _ in 0..3 {
        assert_eq!(said(), first);
    }
    let mut rest = first.as_slice();
    let reports = std::iter::from_fn(|| frame::read::<Report>(&mut rest).unwrap());
    let faults = reports.filter(|report| matches!(report, Report::Fault { .. }));
    assert_eq!(faults.count(), 1);
}

fn a_process_that_is_stuck_in_native_code_is_killed() {
    let File { stuck } = toml::from_str(include_str!("stuck.toml")).unwrap();
    assert!(stuck.len() >= 5);
    for Stuck { name, code } in stuck {
        let mut host = started("host");
        open(&mut host, 1, 10_000);
        open(&mut host, 2, 200);
        host.order(&evaluate(1, 1, "1")).unwrap();
        answered(&host, 1, 1).unwrap();
        let before = Instant::now();
        host.order(&evaluate(2, 1, &code)).unwrap();
        match answered(&host, 2, 1) {
            Err(end) => {
                let expected = End { culprit: Some(2), suspect: None, vats: vec![1, 2], broken: None };
                assert_eq!(end, expected, "{name}");
                eprintln!("  {name}: killed after {} ms", before.elapsed().as_millis());
            }
            // A version of the engine that looks up here would make the row wrong, which should be known.
            Ok(outcome) => panic!("{name} is not stuck: {outcome:?}"),
        }
        assert!(matches!(host.order(&evaluate(1, 2, "1")), Err(HostError::Ended)), "{name}");
    }
}

fn dead_process_is_reported_with_its_vats() {
    let mut host = started("host");
    open(&mut host, 1, 10_000);
    open(&mut host, 2, 10_000);
    host.order(&evaluate(2, 1, "1")).unwrap();
    answered(&host, 2, 1).unwrap();
    host.kill();
    let end = answered(&host, 1, 9).unwrap_err();
    assert_eq!(end, End { culprit: None, suspect: None, vats: vec![1, 2], broken: None });
    // An order that cannot be read ends the process by itself.
    let mut host = started("host");
    open(&mut host, 1, 10_000);
    let deep = "[".repeat(200);
    let order = evaluate(1, 1, &deep);
    host.order(&order).unwrap();
    assert!(matches!(answered(&host, 1, 1), Ok(Outcome::Err(_))));
}

fn a_process_that_lies_is_ended() {
    for (lie, expected) in [
        ("of another vat", "not asked"),
        ("for another vat", "not asked"),
        ("twice", "not asked"),
        ("too much", "limit"),
        ("nonsense", "cannot be read"),
    ] {
        let mut host = started(&format!("liar {lie}"));
        open(&mut host, 1, 10_000);
        let end = answered(&host, 1, 1).unwrap_err();
        assert_eq!(end.vats, [1], "{lie}");
        assert!(end.broken.as_ref().is_some_and(|line| line.contains(expected)), "{lie}: {end:?}");
    }
}
