//! The values that can pass the border of a vat, and how they pass.

use passable::Value;
use vat::{Limits, Order, Outcome, Report, Slot};

use crate::test_host::{TestHost, VAT, shown, table};

#[test]
fn only_plain_data_far_objects_and_promises_pass() {
    table(&[
        ("[NaN, Infinity, -Infinity, -0, 1e21]", "[\"#NaN\",\"#Infinity\",\"#-Infinity\",0,1e+21]"),
        ("12345678901234567890n", "\"+12345678901234567890\""),
        ("['#a', '!b', '\\uD800']", "[\"!#a\",\"!!b\",\"\\ud800\"]"),
        (
            "[Symbol.for('x'), Symbol.asyncIterator, Symbol.for('@@y')]",
            "[\"%x\",\"%@@asyncIterator\",\"%@@@@y\"]",
        ),
        ("Symbol('x')", "throws TypeError: only registered and well-known symbols can be passed"),
        ("({ b: 1, a: 2 })", "{\"a\":2,\"b\":1}"),
        ("JSON.parse('{\"__proto__\": 1}')", "{\"__proto__\":1}"),
        ("Far('Thing', { m() {} })", "\"$0.Alleged: Thing\" Vat(1)"),
        ("Far('f', () => 1)", "\"$0.Alleged: f\" Vat(1)"),
        ("makeExo('Exo', undefined, { m() { return 1; } })", "\"$0.Alleged: Exo\" Vat(1)"),
        ("[new Promise(() => {})]", "[\"&0\"] Vat(1)"),
        ("new RangeError('x')", "{\"#error\":\"x\",\"name\":\"RangeError\"}"),
        ("M.string()", "{\"#tag\":\"match:string\",\"payload\":[]}"),
        ("() => 1", "throws TypeError: a function cannot be passed unless it is declared by Far"),
        (
            "({ m() {} })",
            "throws TypeError: Remotables must be explicitly declared: the function `m` makes this no record",
        ),
        ("new Map()", "throws TypeError: Remotables must be explicitly declared: (an object)"),
        ("/x/", "throws TypeError: Remotables must be explicitly declared: (an object)"),
        ("new Proxy({}, {})", "throws TypeError: a proxy cannot be passed"),
        ("new Proxy([], {})", "throws TypeError: a proxy cannot be passed"),
        ("E(counter)", "throws TypeError: E(…) is no promise: call one of its methods"),
        ("[E(counter)]", "throws TypeError: a proxy cannot be passed"),
        ("({ get a() { return 1; } })", "throws TypeError: a record with accessors cannot be passed"),
        ("({ [Symbol.for('a')]: 1 })", "throws TypeError: a record with symbols as names cannot be passed"),
        (
            "Object.defineProperty({}, 'a', { value: 1 })",
            "throws TypeError: a record with hidden properties cannot be passed",
        ),
        ("[1, , 2]", "throws TypeError: an array with holes cannot be passed"),
        ("const a = []; a.length = 4e9; a", "throws TypeError: an array with holes cannot be passed"),
        (
            "Object.assign([1], { x: 1 })",
            "throws TypeError: an array with properties of its own cannot be passed",
        ),
        (
            "class A extends Array {}; new A()",
            "throws TypeError: an array with another prototype cannot be passed",
        ),
        (
            "const p = Promise.resolve(1); p.x = 1; [p]",
            "throws TypeError: a promise with properties of its own cannot be passed",
        ),
        (
            "class P extends Promise {}; [new P(() => {})]",
            "throws TypeError: a promise with properties of its own cannot be passed",
        ),
        (
            "const a = []; a.push(a); a",
            "throws TypeError: the value nests too deep to be passed, or holds itself",
        ),
        ("let a = 1; for (let i = 0; i < 256; i++) a = [a]; a.length", "1"),
        ("throw { reason: counter }", "throws {\"reason\":\"$0\"} Host(1)"),
        ("globalThis", "throws TypeError: a record with hidden properties cannot be passed"),
        ("new String('x')", "throws TypeError: Remotables must be explicitly declared: (an object)"),
        ("Object.create(null)", "throws TypeError: Remotables must be explicitly declared: (an object)"),
    ]);
}

#[test]
fn values_arrive_frozen_and_return_unchanged() {
    let far = Value::remotable(Slot::Host(3));
    let values = [
        Value::array([
            Value::Null,
            Value::Undefined,
            Value::bool(true),
            Value::number(-1.5),
            Value::string("é😀"),
        ]),
        Value::record([("__proto__", Value::number(1.0)), ("constructor", Value::string("c"))]).unwrap(),
        Value::bigint("-123456789012345678901234567890".parse::<num_bigint::BigInt>().unwrap()),
        Value::symbol("@@iterator").unwrap(),
        Value::tagged("copySet", Value::array([Value::string("b"), Value::string("a")])),
        Value::error("TypeError", "message"),
        Value::error("Strange", "message"),
        Value::bytes(vec![0u8, 1, 255]),
        Value::String(passable::Text::from_utf16([0xD800, 0x41])),
        Value::record([("f", far.clone()), ("g", Value::array([far]))]).unwrap(),
    ];
    for value in values {
        let mut world = TestHost::new(Limits::default());
        let frozen = "
            const frozen = x => Object(x) !== x || (Object.isFrozen(x) && Reflect.ownKeys(x).every(k => frozen(x[k])));
            if (!frozen(given)) throw Error('not frozen');
            given";
        let (names, values) = (vec!["given".to_owned()], Value::array([value.clone()]));
        let (id, source) = (String::new(), frozen.to_owned());
        world.order(Order::Evaluate { vat: VAT, answer: 1, id, source, names, values });
        let told = world.answer_line(1);
        // `isFrozen` says nothing about a buffer that cannot change.
        if matches!(value, Value::Bytes(_)) {
            continue;
        }
        assert_eq!(told, shown(&value));
    }
}

#[test]
fn value_nested_beyond_the_limit_is_refused() {
    for (depth, expected) in [(256, None), (257, Some("too deep"))] {
        let mut world = TestHost::new(Limits::default());
        let answer =
            world.evaluate(&format!("let a = 1; for (let i = 0; i < {depth}; i++) a = [a]; ({{ a }}).a"));
        let told = world.answer_line(answer);
        match expected {
            None => assert_eq!(told, format!("{}1{}", "[".repeat(depth), "]".repeat(depth))),
            Some(part) => assert!(told.contains(part), "{told}"),
        }
    }
}

#[test]
fn unreachable_presences_are_dropped_with_their_count() {
    let mut world = TestHost::new(Limits::default());
    world.evaluate("globalThis.toString; E(echo).make()");
    world.evaluate("E(echo).make()");
    let dropped = |world: &TestHost| -> Vec<(u32, u32)> {
        let dropped = world.reports.iter().filter_map(|report| match report {
            Report::Dropped { imports, .. } => Some(imports.clone()),
            _ => None,
        });
        dropped.flatten().collect()
    };
    // The answers hold their values; once they are dropped, the references in them are dropped too.
    assert!(dropped(&world).iter().all(|(number, _)| *number != 100));
    world.order(Order::Drop { vat: VAT, exports: vec![], answers: vec![1, 2] });
    world.evaluate("1");
    assert_eq!(dropped(&world).iter().find(|(number, _)| *number == 100), Some(&(100, 2)));
}

#[test]
fn exports_live_until_the_host_drops_every_count() {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate("const far = Far('x', { m() { return far; } }); far");
    assert_eq!(world.answer_line(answer), "\"$0.Alleged: x\" Vat(1)");
    let again = world.deliver(Slot::Vat(1), "m", vec![]);
    assert_eq!(world.answer_line(again), "\"$0.Alleged: x\" Vat(1)");
    world.order(Order::Drop { vat: VAT, exports: vec![(1, 1)], answers: vec![] });
    let still = world.deliver(Slot::Vat(1), "m", vec![]);
    assert_eq!(world.answer_line(still), "\"$0.Alleged: x\" Vat(1)");
    world.order(Order::Drop { vat: VAT, exports: vec![(1, 2)], answers: vec![] });
    let gone = world.deliver(Slot::Vat(1), "m", vec![]);
    assert_eq!(world.answer_line(gone), "throws ReferenceError: the target is gone");
}

#[test]
fn failed_pass_exports_no_objects() {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate("[Far('a', {}), () => 1]");
    assert!(world.answer_line(answer).starts_with("throws TypeError"));
    let gone = world.deliver(Slot::Vat(1), "m", vec![]);
    assert_eq!(world.answer_line(gone), "throws ReferenceError: the target is gone");
}

#[test]
fn exported_promise_is_resolved_later() {
    let mut world = TestHost::new(Limits::default());
    world.evaluate(
        "let done; const p = new Promise(r => { done = r; }); Far('x', { p: () => [p], go: v => done(v) })",
    );
    let promise = world.deliver(Slot::Vat(1), "p", vec![]);
    assert_eq!(world.answer_line(promise), "[\"&0\"] Vat(2)");
    world.deliver(Slot::Vat(1), "go", vec![Value::number(5.0)]);
    let resolved = world.reports.iter().find_map(|report| match report {
        Report::Resolve { promise: 2, outcome, .. } => Some(outcome.clone()),
        _ => None,
    });
    assert_eq!(resolved, Some(Outcome::Ok(Value::number(5.0))));
}
