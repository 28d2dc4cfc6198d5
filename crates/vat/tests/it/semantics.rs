//! The meaning of source text in a vat.

use vat::{Limits, Report};

use crate::test_host::{TestHost, table};

#[test]
fn source_gives_its_completion_value() {
    table(&[
        ("1 + 1", "2"),
        ("const a = 20; a * 2 + 2", "42"),
        ("if (true) { 'yes' } else { 'no' }", "\"yes\""),
        ("", "\"#undefined\""),
        ("let x = 1;", "\"#undefined\""),
        ("// only a comment", "\"#undefined\""),
        ("Promise.resolve([1, 'a', null, undefined, true, 7n])", "[1,\"a\",null,\"#undefined\",true,\"+7\"]"),
        ("(async () => { await null; return 'later'; })()", "\"later\""),
        ("({ a: { b: [] } })", "{\"a\":{\"b\":[]}}"),
        ("$id", "\"eval-1\""),
        ("typeof $cancelled.then", "\"function\""),
        ("counter", "\"$0\" Host(1)"),
        ("[echo, counter, echo]", "[\"$0\",\"$1\",\"$0\"] Host(2) Host(1)"),
        ("new Promise(() => undefined)", "nothing"),
    ]);
}

#[test]
fn code_is_strict_and_its_names_stay_local() {
    table(&[
        ("this === globalThis", "true"),
        ("(function () { return this; })()", "\"#undefined\""),
        ("undeclared = 1", "throws ReferenceError: undeclared is not defined"),
        ("counter = 1", "throws TypeError: 'counter' is read-only"),
        ("const E = 1; E", "1"),
        ("var x = 1; typeof globalThis.x", "\"undefined\""),
        ("function f() {} typeof globalThis.f", "\"undefined\""),
        ("arguments", "throws ReferenceError: arguments is not defined"),
        ("typeof counter + typeof globalThis.counter", "\"objectundefined\""),
        ("with ({}) {}", "throws SyntaxError: invalid keyword: with"),
        ("new.target", "throws SyntaxError: new.target only allowed within functions"),
        ("return 1", "throws SyntaxError: return not in a function"),
        ("010", "throws SyntaxError: Octal literals are not allowed in strict mode"),
    ]);
}

#[test]
fn evaluations_in_one_vat_are_isolated() {
    let mut world = TestHost::new(Limits::default());
    let first = world.evaluate("var a = 1; let b = 2; function c() {} 'done'");
    let second = world.evaluate("[typeof a, typeof b, typeof c]");
    assert_eq!(world.answer_line(first), "\"done\"");
    assert_eq!(world.answer_line(second), "[\"undefined\",\"undefined\",\"undefined\"]");
}

#[test]
fn thrown_errors_carry_their_place() {
    for (source, expected, label, excerpt) in [
        ("throw TypeError('no')", "throws TypeError: no", "eval.js:1:6", "throw TypeError('no')"),
        ("1;\n  x.y", "throws ReferenceError: x is not defined", "eval.js:2:3", "  x.y"),
        ("1 +\n +", "throws SyntaxError: unexpected token in expression: ''", "eval.js:2:3", " +"),
        (
            "'a\u{202e}b'; null.x",
            "throws TypeError: cannot read property 'x' of null",
            "eval.js:1:9",
            "'a\\u{202E}b'; null.x",
        ),
        (
            "\n\n1 <!-- 2",
            "throws SyntaxError: HTML-like comments are not available",
            "eval.js:3:3",
            "1 <!-- 2",
        ),
    ] {
        let mut world = TestHost::new(Limits::default());
        let answer = world.evaluate(source);
        assert_eq!(world.answer_line(answer), expected, "{source}");
        let place = world.reports.iter().find_map(|report| match report {
            Report::Answer { place, .. } => place.clone(),
            _ => None,
        });
        let place = place.expect("a place");
        assert_eq!((place.label().as_str(), place.excerpt.as_str()), (label, excerpt), "{source}");
    }
}

#[test]
fn the_same_orders_give_the_same_reports_byte_for_byte() {
    let source = "
        const log = [];
        const answers = [E(counter).incr(), E(echo).say({ b: 1, a: [Far('x', { m() {} })] }), E(counter).fail()];
        for (const each of new Map([['z', 1], ['a', 2]])) console.log(each, Math.sin(1), [3, 1, 2].sort());
        Promise.allSettled(answers).then(all => all.map(each => each.status))";
    let run = || {
        let mut world = TestHost::new(Limits::default());
        world.evaluate(source);
        world.evaluate("E(echo).say(new Promise(() => undefined)); [].concat({}.x)");
        world.reports.iter().flat_map(|report| vat::frame::encode(report).unwrap()).collect::<Vec<u8>>()
    };
    let first = run();
    assert!(first.len() > 1000);
    for _ in 0..5 {
        assert_eq!(run(), first);
    }
}

#[test]
fn the_console_writes_bounded_lines() {
    let mut world =
        TestHost::with_clock(Limits { console: 200, ..Limits::default() }, crate::test_host::still());
    world.evaluate(
        "console.log('a', 1, [1, 'x'], { a: { b: 2n } }, undefined, counter, () => 1, new Error('e'));
         console.warn(new Proxy({}, { get() { throw 1; }, ownKeys() { throw 2; } }));
         for (let i = 0; i < 100; i++) console.info('again');",
    );
    let lines: Vec<String> = world
        .reports
        .iter()
        .filter_map(|report| match report {
            Report::Console { level, text, .. } => Some(format!("{level:?} {text}")),
            _ => None,
        })
        .collect();
    assert_eq!(
        lines[0],
        "Log a 1 [1,\"x\"] {\"a\":{\"b\":\"[2n]\"}} \"[undefined]\" \"[Alleged: Counter]\" \"[Function]\" \"[Error: e]\""
    );
    assert_eq!(lines[1], "Warn \"[Proxy]\"");
    assert!(lines.last().unwrap().contains("left out"), "{lines:?}");
    assert!(lines.len() < 8, "{lines:?}");
}

#[test]
fn text_and_urls_follow_the_web_standards() {
    table(&[
        (
            "[...new TextEncoder().encode('aé€😀\\uD800')]",
            "[97,195,169,226,130,172,240,159,152,128,239,191,189]",
        ),
        ("new TextDecoder().decode(new Uint8Array([0xEF, 0xBB, 0xBF, 97, 0xFF]))", "\"a�\""),
        (
            "new TextDecoder('utf-8', { fatal: true }).decode(new Uint8Array([0xFF]))",
            "throws TypeError: the bytes are not UTF-8",
        ),
        ("new TextDecoder('latin1')", "throws RangeError: only UTF-8 can be decoded here"),
        ("new TextDecoder().decode(new Uint8Array([97, 98, 99]).subarray(1))", "\"bc\""),
        ("new TextDecoder().decode(new DataView(new ArrayBuffer(2)))", "\"\\u0000\\u0000\""),
        ("new TextEncoder().encodeInto('aé', new Uint8Array(2))", "{\"read\":1,\"written\":1}"),
        ("new URL('HTTP://u:p@Ex.com:80/a/../b?x=1&y=2#h').href", "\"http://u:p@ex.com/b?x=1&y=2#h\""),
        (
            "const u = new URL('https://a.b/c'); u.searchParams.append('q', 'a b'); u.pathname = '/d'; u.hash = 'z'; `${u}`",
            "\"https://a.b/d?q=a+b#z\"",
        ),
        ("new URL('c', 'https://a.b/x/y').pathname", "\"/x/c\""),
        ("new URL('no')", "throws TypeError: Invalid URL: \"no\""),
        ("URL.canParse('https://x')", "true"),
        ("[...new URLSearchParams({ a: 1, b: 'c d' })]", "[[\"a\",\"1\"],[\"b\",\"c d\"]]"),
        ("new URL('https://ünï.example/').hostname", "\"xn--n-nga1b.example\""),
        ("Object.getOwnPropertyNames(URL).includes('part')", "false"),
    ]);
}

#[test]
fn assert_messages_equal_those_of_upstream() {
    table(&[
        ("assert(false)", "throws Error: Check failed"),
        ("assert(1 === 1)", "\"#undefined\""),
        ("assert.fail()", "throws Error: Assert failed"),
        ("assert(false, 'mine')", "throws Error: mine"),
        (
            "assert.fail(assert.details`x ${1} y ${'s'} z ${{}} ${assert.quote('q')} ${undefined}`)",
            "throws Error: x (a number) y (a string) z (an object) \"q\" (an undefined)",
        ),
        ("assert.Fail`bad ${null}`", "throws Error: bad (an object)"),
        ("assert.typeof(1, 'string')", "throws TypeError: (a number) must be \"a string\""),
        ("assert.string('x')", "\"#undefined\""),
        ("assert.equal(1, 2)", "throws RangeError: Expected (a number) is same as (a number)"),
        ("assert(false, assert.details`typed`, TypeError)", "throws TypeError: typed"),
    ]);
}
