//! A vat that exceeds a limit ends in a fault that names it, and reports nothing else.

use vat::{FaultKind, Limits, Report};

use crate::test_host::{TestHost, real, result_line};

/// Returns small limits.
fn small() -> Limits {
    Limits {
        memory: 8 << 20,
        fuel: 10_000_000,
        wall_ms: 60_000,
        sends: 50,
        message: 64 << 10,
        ..Limits::default()
    }
}

fn fault(source: &str) -> String {
    let mut world = TestHost::with_clock(small(), real());
    let answer = world.evaluate(source);
    let told = world.answer_line(answer);
    if world.fault().is_some() {
        let [report] = world.reports.as_slice() else { panic!("{source}: {:?}", world.reports) };
        assert!(matches!(report, Report::Fault { kind, line, .. } if line == kind.line()), "{source}");
        world.evaluate("1");
        let [_, again] = world.reports.as_slice() else { panic!("{source}: {:?}", world.reports) };
        assert!(matches!(again, Report::Fault { .. }), "{source}");
    }
    told
}

#[test]
fn exceeded_limit_ends_in_its_fault() {
    let rows = [
        ("while (true) {}", "fault fuel"),
        ("for (;;) try { while (true) {} } catch {}", "fault fuel"),
        ("const f = () => f(); f()", "fault stack"),
        ("const f = () => { try { f(); } catch {} }; f(); 'survived'", "fault stack"),
        ("function f() { [1].map(f); } f()", "fault stack"),
        ("const o = { toString() { return `${o}`; } }; `${o}`", "fault stack"),
        ("const o = { get x() { return o.x; } }; o.x", "fault stack"),
        ("const p = new Proxy({}, { get: (t, k, r) => r[k] }); p.x", "fault stack"),
        ("JSON.parse('['.repeat(100000))", "fault stack"),
        ("const l = () => Promise.resolve().then(l); l(); new Promise(() => {})", "fault memory"),
        ("const l = async () => { for (;;) await null; }; l()", "fault fuel"),
        ("const a = []; for (;;) a.push('x'.repeat(1000) + a.length)", "fault memory"),
        ("const a = []; for (;;) try { a.push(new Uint8Array(1 << 20)) } catch {}", "fault memory"),
        ("try { new ArrayBuffer(1 << 30) } catch {} 'caught'", "fault memory"),
        ("try { 'x'.repeat(1 << 29) } catch {} 'caught'", "fault memory"),
        ("let s = 'x'; for (;;) s += s", "throws InternalError: string too long"),
        ("new Array(1 << 24).fill(0).length", "fault memory"),
        ("const m = new Map(); for (let i = 0; ; i++) m.set(i, {})", "fault memory"),
        ("2n ** (2n ** 40n)", "throws RangeError: BigInt is too large"),
        ("let x = 3n; for (;;) x = x * x", "throws RangeError: BigInt is too large to allocate"),
        ("/(a+)+$/.test('a'.repeat(40) + 'b')", "fault fuel"),
        ("/^(([a-z])+.)+[A-Z]([a-z])+$/.test('a'.repeat(40))", "fault fuel"),
        ("for (let i = 0; i < 51; i++) E(echo).never(); 1", "fault sends"),
        ("for (let i = 0; i < 50; i++) E(echo).never(); 1", "1"),
        ("try { for (;;) E(echo).never() } catch {} 'caught'", "fault sends"),
        ("E(echo).say('x'.repeat(70000)); 1", "fault message"),
        ("'x'.repeat(70000)", "fault message"),
        ("let a = 1; for (let i = 0; i < 30; i++) a = [a, a]; a", "fault message"),
        ("for (;;) E.sendOnly(echo).say('x'.repeat(60000))", "fault memory"),
        ("for (;;) makeExo('x', M.interface('I', {}), {})", "fault memory"),
        ("for (;;) console.log('x')", "fault fuel"),
        ("let deep = 1; for (let i = 0; i < 1e6; i++) deep = { deep }; harden(deep); 'ok'", "fault memory"),
        ("Array.from({ length: 1e9 }, () => 0)", "fault memory"),
        ("[...(function* () { for (;;) yield 1; })()]", "fault memory"),
        ("const keep = []; for (let i = 0; ; i++) keep.push(Symbol.for(`k${i}`.repeat(50)))", "fault memory"),
        ("eval", "throws TypeError: a function cannot be passed unless it is declared by Far"),
    ];
    let wrong: Vec<String> = rows
        .iter()
        .filter_map(|(source, expected)| {
            let told = fault(source);
            (told != *expected).then(|| format!("{source}\n  came to  {told}\n  and not  {expected}"))
        })
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn endless_loop_ends_at_the_time_limit() {
    // The realm is made within the same limit, which takes long on a busy machine.
    let mut world =
        TestHost::with_clock(Limits { fuel: u64::MAX, wall_ms: 2_000, ..Limits::default() }, real());
    let answer = world.evaluate("while (true) {}");
    assert_eq!(world.answer_line(answer), "fault time");
}

#[test]
fn faulted_turn_sends_no_reports() {
    let mut world = TestHost::new(small());
    world.evaluate("E(counter).incr(); console.log('x'); for (;;) {}");
    assert_eq!(world.counted, 0);
    assert_eq!(world.reports.len(), 1, "{:?}", world.reports);
}

#[test]
fn faults_come_at_the_same_step_each_time() {
    let count = |source: &str| {
        let mut world = TestHost::new(small());
        world.evaluate(source);
        world.reports.len()
    };
    for source in [
        "let n = 0; for (;;) { n++; if (n % 1000 === 0) E.sendOnly(counter).incr(n) }",
        "const f = n => { E.sendOnly(counter).incr(n); f(n + 1); }; f(0)",
    ] {
        assert_eq!(count(source), count(source));
    }
}

#[test]
fn fuel_and_time_are_renewed_for_each_order() {
    let mut world = TestHost::new(small());
    for _ in 0..5 {
        let answer = world.evaluate("for (let i = 0; i < 2e6; i++) {} 'done'");
        assert_eq!(world.answer_line(answer), "\"done\"");
    }
}

#[test]
fn smallest_limits_never_crash_the_host() {
    for limits in [
        Limits { memory: 0, ..Limits::default() },
        Limits { memory: 100_000, ..Limits::default() },
        Limits { stack: 0, ..Limits::default() },
        Limits { fuel: 0, ..Limits::default() },
        Limits { sends: 0, message: 0, console: 0, ..Limits::default() },
    ] {
        match vat::Vat::new(1, limits, crate::test_host::still()) {
            Ok(vat) => assert_eq!(vat.fault(), None),
            Err(kind) => assert!(matches!(kind, FaultKind::Memory | FaultKind::Fuel), "{limits:?} {kind:?}"),
        }
    }
    assert_eq!(result_line("1"), "1");
}

#[test]
fn empty_vat_uses_less_than_two_mebibytes() {
    let world = TestHost::new(Limits::default());
    assert!(world.vat.memory() < 2 << 20, "{}", world.vat.memory());
}

/// Checks that a vat's memory is given back even when its engine cannot be trusted to do that.
#[test]
fn memory_bombs_release_all_memory() {
    let resident = || -> usize {
        #[allow(clippy::disallowed_methods, reason = "a test stands outside")]
        let status = std::fs::read_to_string("/proc/self/statm").unwrap_or_default();
        status.split_whitespace().nth(1).and_then(|pages| pages.parse().ok()).unwrap_or(0) * 4096
    };
    let bomb = || {
        let mut world = TestHost::new(Limits { memory: 32 << 20, ..Limits::default() });
        let answer =
            world.evaluate("const a = []; for (;;) a.push({ a, text: 'x'.repeat(1000) + a.length })");
        assert_eq!(world.answer_line(answer), "fault memory");
    };
    (0..5).for_each(|_| bomb());
    let before = resident();
    (0..20).for_each(|_| bomb());
    let grown = resident().saturating_sub(before);
    // Twenty times 32 MiB would be 640; the other tests have theirs meanwhile.
    assert!(grown < 320 << 20, "{} MiB", grown >> 20);
}
