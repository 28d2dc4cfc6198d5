//! Messages: from the vat, to the vat, and to answers that are not there yet.

use passable::Value;
use vat::{Limits, Name, Order, Outcome, Report, Slot, Verb};

use crate::test_host::{TestHost, VAT, table};

#[test]
fn sends_reach_the_host_and_get_answers() {
    table(&[
        ("E(counter).incr()", "1"),
        (
            "(async () => { await E(counter).incr(); await E(counter).incr(); return E(counter).incr(); })()",
            "3",
        ),
        ("E(echo).say({ a: [1] })", "{\"a\":[1]}"),
        ("E(counter).fail()", "throws RangeError: it failed"),
        ("E(counter).fail().catch(e => [e instanceof RangeError, e.message])", "[true,\"it failed\"]"),
        ("E(echo).say(Far('x', {}))", "\"$0.Alleged: x\" Vat(1)"),
        ("const x = Far('x', {}); E(echo).say(x).then(y => x === y)", "true"),
        ("E(echo).say(echo).then(y => echo === y)", "true"),
        (
            "Promise.all([E(echo).name(), E(echo).length(), E(echo).constructor(), E(echo).toString(), E(echo).apply()])",
            "[\"called name\",\"called length\",\"called constructor\",\"called toString\",\"called apply\"]",
        ),
        ("E(echo)(1)", "\"called apply\""),
        ("E(echo)[Symbol.asyncIterator]()", "\"symbol @@asyncIterator\""),
        (
            "E(echo)[Symbol('x')]().catch(e => e.message)",
            "\"only registered and well-known symbols can be sent\"",
        ),
        ("E.get(echo).size", "\"got size\""),
        ("E.sendOnly(counter).incr()", "\"#undefined\""),
        ("E.sendOnly(counter).incr(); E(counter).incr()", "2"),
        ("E.when(E(counter).incr(), n => n + 10)", "11"),
        ("E.when(E(counter).fail(), undefined, e => e.message)", "\"it failed\""),
        ("E.resolve(3)", "3"),
        (
            "E(echo).say(() => 1).catch(e => e.message)",
            "\"a function cannot be passed unless it is declared by Far\"",
        ),
        ("E(echo).say(new Proxy({}, {})).catch(e => e.message)", "\"a proxy cannot be passed\""),
    ]);
}

#[test]
fn sends_to_local_objects_run_in_a_later_turn() {
    table(&[
        (
            "const log = []; const far = Far('x', { m: v => { log.push(v); } }); const p = E(far).m(1); log.push(0); p.then(() => log)",
            "[0,1]",
        ),
        ("E(Far('x', { m: (...args) => args.map(Object.isFrozen) })).m({}, [])", "[true,true]"),
        ("E(Promise.resolve(Far('x', { m: () => 5 }))).m()", "5"),
        (
            "E(Far('x', { a() {}, b() {} })).c()",
            "throws TypeError: target has no method \"c\", has [\"a\",\"b\"]",
        ),
        ("E(Far('x', {})).toString()", "throws TypeError: target has no method \"toString\", has []"),
        (
            "E(Far('x', {})).constructor('return 1')",
            "throws TypeError: target has no method \"constructor\", has []",
        ),
        ("E(Far('x', { a() {} })).__getMethodNames__()", "[\"a\"]"),
        ("E(Far('f', n => n + 1))(1)", "2"),
        (
            "E(Far('x', {}))(1)",
            "throws TypeError: Cannot invoke target as a function; typeof target is \"object\"",
        ),
        (
            "E(undefined).m()",
            "throws TypeError: Cannot deliver \"m\" to target; typeof target is \"undefined\"",
        ),
        ("E(5).toFixed(1)", "\"5.0\""),
        ("E(Promise.reject(new Error('no'))).m()", "throws Error: no"),
        ("E.get({ a: 1 }).a", "1"),
        ("E({ then: 1, m: () => 2 }).m()", "2"),
        ("try { E(echo).x = 1 } catch (e) { e.message }", "\"a property of E(…) cannot be changed\""),
        ("try { new (E(echo))() } catch (e) { e.message }", "\"not a constructor\""),
    ]);
}

#[test]
fn sends_to_pending_answers_are_pipelined() {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate("const a = E(echo).make(); const b = E(a).self(); E(E(b).self()).say(7)");
    assert_eq!(world.answer_line(answer), "7");
    let targets: Vec<(Slot, Option<u32>)> = world
        .reports
        .iter()
        .filter_map(|report| match report {
            Report::Send { target, question, .. } => Some((*target, *question)),
            _ => None,
        })
        .collect();
    let q = Slot::Question;
    assert_eq!(targets, [(Slot::Host(2), Some(1)), (q(1), Some(2)), (q(2), Some(3)), (q(3), Some(4))]);
}

#[test]
fn host_promise_keeps_its_identity_on_the_way_back() {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate("const p = E(echo).never(); E(echo).all([p]).then(([[q]]) => p === q)");
    assert_eq!(world.answer_line(answer), "true");
    let sent = world.reports.iter().find_map(|report| match report {
        Report::Send { args, question: Some(2), .. } => {
            Some(args.references().into_iter().copied().collect::<Vec<_>>())
        }
        _ => None,
    });
    assert_eq!(sent, Some(vec![Slot::Question(1)]));
}

#[test]
fn host_messages_to_pending_answers_are_pipelined() {
    let mut world = TestHost::new(Limits::default());
    world.evaluate("let go; const later = new Promise(r => { go = r; }); Far('a', { later: () => later, go: () => go(Far('b', { hi: n => `hi ${n}` })) })");
    let later = world.deliver(Slot::Vat(1), "later", vec![]);
    let hi = world.deliver(Slot::Answer(later), "hi", vec![Value::string("you")]);
    assert_eq!(world.answer_line(hi), "nothing");
    world.deliver(Slot::Vat(1), "go", vec![]);
    assert_eq!(world.answer_line(hi), "\"hi you\"");
}

#[test]
fn delivery_finds_only_own_methods_of_far_objects() {
    for (method, expected) in [
        ("m", "\"called\""),
        ("toString", "throws TypeError: target has no method \"toString\", has [\"m\"]"),
        ("constructor", "throws TypeError: target has no method \"constructor\", has [\"m\"]"),
        ("__proto__", "throws TypeError: target has no method \"__proto__\", has [\"m\"]"),
        ("hasOwnProperty", "throws TypeError: target has no method \"hasOwnProperty\", has [\"m\"]"),
        ("__defineGetter__", "throws TypeError: target has no method \"__defineGetter__\", has [\"m\"]"),
        ("__getMethodNames__", "[\"m\"]"),
    ] {
        let mut world = TestHost::new(Limits::default());
        world.evaluate("Far('x', { m() { return 'called'; } })");
        let answer = world.deliver(Slot::Vat(1), method, vec![]);
        assert_eq!(world.answer_line(answer), expected, "{method}");
    }
}

#[test]
fn invalid_orders_are_refused_and_the_vat_goes_on() {
    let mut world = TestHost::new(Limits::default());
    world.evaluate("Far('x', { m: v => v })");
    let args = || Value::array([]);
    let deliver = |target, answer, args| {
        let verb = Verb::Call(Name::Text("m".to_owned()));
        Order::Deliver { vat: VAT, answer, target, verb, args }
    };
    let evaluate = |names: &[&str], values| Order::Evaluate {
        vat: VAT,
        answer: 50,
        id: String::new(),
        source: "1".to_owned(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        values,
    };
    let unknown = Value::array([Value::remotable(Slot::Vat(99))]);
    for (order, expected) in [
        (deliver(Slot::Host(1), None, args()), "host's side"),
        (deliver(Slot::Question(1), None, args()), "host's side"),
        (deliver(Slot::Vat(1), None, Value::Null), "must be an array"),
        (deliver(Slot::Vat(1), Some(1), args()), "in use"),
        (deliver(Slot::Vat(1), None, unknown.clone()), "there is no v99"),
        (
            Order::Settle { vat: VAT, promise: Slot::Question(9), outcome: Outcome::Ok(Value::Null) },
            "is not open",
        ),
        (evaluate(&["a"], args()), "one value for each name"),
        (evaluate(&["a", "a"], Value::array([Value::Null, Value::Null])), "given twice"),
        (evaluate(&["a; evil"], Value::array([Value::Null])), "cannot be the name"),
        (evaluate(&["eval"], Value::array([Value::Null])), "cannot be the name"),
    ] {
        let reports = world.vat.carry_out(&order);
        let refused = reports
            .iter()
            .any(|report| matches!(report, Report::Refused { line } if line.contains(expected)));
        assert!(refused, "{order:?}: {reports:?}");
    }
    let answer = world.deliver(Slot::Vat(1), "m", vec![Value::number(4.0)]);
    assert_eq!(world.answer_line(answer), "4");
}

#[test]
fn cancelled_vat_gets_the_reason() {
    let mut world = TestHost::new(Limits::default());
    let answer = world.evaluate("$cancelled.catch(e => e.message)");
    assert_eq!(world.answer_line(answer), "nothing");
    world.order(Order::Cancel { vat: VAT, reason: Value::error("Error", "enough") });
    assert_eq!(world.answer_line(answer), "\"enough\"");
}
