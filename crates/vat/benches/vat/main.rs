//! The cost of a vat: to make, to ask, to hear from, to keep, to lose. `cargo xtask bench vat`.
//!
//! The program starts itself again as the process that hosts vats.
#![allow(
    clippy::unwrap_used,
    clippy::panic,
    clippy::print_stdout,
    clippy::disallowed_methods,
    missing_docs,
    reason = "a bench prints, and may stop"
)]

use std::process::Command;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};

use passable::Value;
use vat::{Clock, Event, Host, Limits, Order, Outcome, Report, Slot, Vat, serve};

fn clock() -> Clock {
    let start = Instant::now();
    Rc::new(move || start.elapsed().as_millis() as u64)
}

fn evaluate(answer: u32, source: &str) -> Order {
    let values = Value::array([Value::remotable(Slot::Host(1))]);
    let (id, names) = (String::new(), vec!["counter".to_owned()]);
    Order::Evaluate { vat: 1, answer, id, source: source.to_owned(), names, values }
}

fn row(what: &str, mut figures: Vec<f64>, unit: &str, note: &str) {
    figures.sort_by(f64::total_cmp);
    let at = |index: usize| figures.get(index).copied().unwrap_or_default();
    let shown = |figure: f64| if figure < 100.0 { format!("{figure:.2}") } else { format!("{figure:.0}") };
    let range = format!("{}..{}", shown(at(0)), shown(at(figures.len() - 1)));
    println!("row\t{what}\t{} {unit}\t{range}\t{note}", shown(at(figures.len() / 2)));
}

fn milliseconds(work: impl FnOnce()) -> f64 {
    let begun = Instant::now();
    work();
    begun.elapsed().as_secs_f64() * 1e3
}

/// Operations per second of something that is done `count` times.
fn rate(count: u32, work: impl FnOnce()) -> f64 {
    f64::from(count) / (milliseconds(work) / 1e3)
}

fn made() -> Vat {
    Vat::new(1, Limits { sends: 1 << 20, ..Limits::default() }, clock()).unwrap()
}

/// Measures a vat that sends `count` messages, `in_flight` at a time. The host answers each at once.
fn sends(count: u32, in_flight: u32) -> f64 {
    let mut vat = made();
    let source = format!(
        "let left = {count};
         const one = async () => {{ while (left-- > 0) await E(counter).incr(1); }};
         Promise.all(Array.from({{ length: {in_flight} }}, one)).then(() => 'done')"
    );
    rate(count, || {
        let mut open: Vec<u32> = Vec::new();
        let mut number = 0.0;
        let mut orders = vec![evaluate(1, &source)];
        'all: loop {
            for order in std::mem::take(&mut orders) {
                for report in vat.carry_out(&order) {
                    match report {
                        Report::Send { question, .. } => open.extend(question),
                        Report::Answer { outcome: Outcome::Ok(_), .. } => break 'all,
                        Report::Idle { .. } | Report::Dropped { .. } => {}
                        other => panic!("{other:?}"),
                    }
                }
            }
            for question in open.drain(..) {
                number += 1.0;
                let (promise, outcome) = (Slot::Question(question), Outcome::Ok(Value::number(number)));
                orders.push(Order::Settle { vat: 1, promise, outcome });
            }
        }
    })
}

/// Returns the resident memory of this process, in KiB.
fn resident_kib() -> f64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or_default()
}

fn started() -> Host {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("host");
    let start = Instant::now();
    Host::start(command, Arc::new(move || start.elapsed().as_millis() as u64)).unwrap()
}

fn until(host: &Host, mut done: impl FnMut(&Event) -> bool) {
    while !done(&host.next(Duration::from_secs(60)).unwrap()) {}
}

fn answered(event: &Event) -> bool {
    matches!(event, Event::Report(Report::Answer { .. }))
}

/// Measures the same sends over the border of a process.
fn sends_over_border(count: u32, in_flight: u32) -> f64 {
    let mut host = started();
    host.order(&Order::Open { vat: 1, limits: Limits::default() }).unwrap();
    let source = format!(
        "let left = {count};
         const one = async () => {{ while (left-- > 0) await E(counter).incr(1); }};
         Promise.all(Array.from({{ length: {in_flight} }}, one)).then(() => 'done')"
    );
    rate(count, || {
        host.order(&evaluate(1, &source)).unwrap();
        let mut number = 0.0;
        loop {
            match host.next(Duration::from_secs(60)).unwrap() {
                Event::Report(Report::Send { question: Some(question), .. }) => {
                    number += 1.0;
                    let (promise, outcome) = (Slot::Question(question), Outcome::Ok(Value::number(number)));
                    host.order(&Order::Settle { vat: 1, promise, outcome }).unwrap();
                }
                Event::Report(Report::Answer { outcome: Outcome::Ok(_), .. }) => break,
                Event::Report(Report::Idle { .. } | Report::Dropped { .. } | Report::Ready { .. }) => {}
                other => panic!("{other:?}"),
            }
        }
    })
}

/// Returns a process whose vat is stuck is killed, and another one gives a result.
fn recovery() -> f64 {
    let mut host = started();
    host.order(&Order::Open { vat: 1, limits: Limits { wall_ms: 60_000, ..Limits::default() } }).unwrap();
    host.order(&evaluate(1, "0")).unwrap();
    until(&host, answered);
    host.order(&evaluate(2, "Array.prototype.reverse.call({ length: 2 ** 53 - 1 })")).unwrap();
    std::thread::sleep(Duration::from_millis(30));
    milliseconds(|| {
        host.kill();
        until(&host, |event| matches!(event, Event::Ended(_)));
        let mut host = started();
        host.order(&Order::Open { vat: 1, limits: Limits::default() }).unwrap();
        host.order(&evaluate(1, "1 + 1")).unwrap();
        until(&host, answered);
    })
}

fn main() {
    if std::env::args().any(|arg| arg == "host") {
        serve(&mut std::io::stdin().lock(), &mut std::io::stdout().lock(), &clock()).unwrap();
        return;
    }
    let samples: usize = std::env::var("BENCH_SAMPLES").ok().and_then(|text| text.parse().ok()).unwrap_or(5);
    let sample = |measure: &dyn Fn() -> f64| (0..samples.max(3)).map(|_| measure()).collect::<Vec<_>>();

    let first = |vat: &mut Vat| {
        assert!(matches!(vat.carry_out(&evaluate(1, "1 + 1")).first(), Some(Report::Answer { .. })))
    };
    drop(made());
    row(
        "new vat to first result",
        sample(&|| milliseconds(|| first(&mut made()))),
        "ms",
        "in a warm process",
    );
    row(
        "warm vat to first result",
        sample(&|| {
            let mut vat = made();
            milliseconds(|| first(&mut vat))
        }),
        "ms",
        "",
    );
    row(
        "new process to first result",
        sample(&|| {
            milliseconds(|| {
                let mut host = started();
                host.order(&Order::Open { vat: 1, limits: Limits::default() }).unwrap();
                host.order(&evaluate(1, "1 + 1")).unwrap();
                until(&host, answered);
            })
        }),
        "ms",
        "not confined",
    );
    row(
        "process in reserve to first result",
        sample(&|| {
            let mut host = started();
            host.order(&Order::Ping { number: 1 }).unwrap();
            until(&host, |event| matches!(event, Event::Report(Report::Pong { .. })));
            milliseconds(|| {
                host.order(&Order::Open { vat: 1, limits: Limits::default() }).unwrap();
                host.order(&evaluate(1, "1 + 1")).unwrap();
                until(&host, answered);
            })
        }),
        "ms",
        "with a new vat in it",
    );
    row(
        "evals in one vat",
        sample(&|| {
            let mut vat = made();
            rate(20_000, || {
                for answer in 0..20_000 {
                    vat.carry_out(&evaluate(answer, "1 + 1"));
                    if answer % 100 == 99 {
                        let answers = (answer - 99..=answer).collect();
                        vat.carry_out(&Order::Drop { vat: 1, exports: vec![], answers });
                    }
                }
            })
        }),
        "/s",
        "in process",
    );
    row(
        "evals in one vat, over the process border",
        sample(&|| {
            let mut host = started();
            host.order(&Order::Open { vat: 1, limits: Limits::default() }).unwrap();
            rate(5_000, || {
                // As many under way as a pipe holds.
                for batch in 0..50 {
                    for answer in 0..100 {
                        host.order(&evaluate(batch * 100 + answer, "1 + 1")).unwrap();
                    }
                    let mut left = 100;
                    until(&host, |event| {
                        left -= u32::from(answered(event));
                        left == 0
                    });
                }
            })
        }),
        "/s",
        "100 in flight",
    );
    row("sends over the process border, 1 in flight", sample(&|| sends_over_border(2_000, 1)), "/s", "");
    row("sends over the process border, 64 in flight", sample(&|| sends_over_border(20_000, 64)), "/s", "");
    row("sends and their answers, 1 in flight", sample(&|| sends(20_000, 1)), "/s", "in process");
    row("sends and their answers, 64 in flight", sample(&|| sends(20_000, 64)), "/s", "in process");
    row(
        "idle vats per GiB",
        vec![{
            let before = resident_kib();
            let vats: Vec<Vat> = (0..200).map(|_| made()).collect();
            let each = (resident_kib() - before) / vats.len() as f64;
            (1 << 20) as f64 / each
        }],
        "",
        "by resident memory",
    );
    row(
        "stuck in native code to killed",
        sample(&|| {
            let mut host = started();
            let limits = Limits { wall_ms: 100, fuel: u64::MAX, ..Limits::default() };
            host.order(&Order::Open { vat: 1, limits }).unwrap();
            host.order(&evaluate(1, "0")).unwrap();
            until(&host, answered);
            milliseconds(|| {
                host.order(&evaluate(2, "Array.prototype.reverse.call({ length: 2 ** 53 - 1 })")).unwrap();
                until(&host, |event| matches!(event, Event::Ended(_)));
            }) - 100.0
        }),
        "ms",
        "beyond the deadline",
    );
    row("killed and another one's first result", sample(&recovery), "ms", "a new process, not confined");
}
