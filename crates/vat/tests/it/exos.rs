//! Guards in a vat are the guards of everywhere: the same values, the same errors.

use passable::{InterfaceGuard, NoRef, Pattern, Value};
use vat::{Limits, Slot};

use crate::test_host::{TestHost, result_line, shown, table};

#[test]
fn patterns_of_m_equal_patterns_of_rust() {
    for text in [
        "M.any()",
        "M.and(M.number(), M.gte(3))",
        "M.or(M.string(), M.number())",
        "M.not(7)",
        "M.scalar()",
        "M.key()",
        "M.pattern()",
        "M.kind('copySet')",
        "M.boolean()",
        "M.number()",
        "M.bigint()",
        "M.bigint({ decimalDigitsLimit: 2 })",
        "M.nat()",
        "M.string()",
        "M.string({ stringLengthLimit: 2 })",
        "M.symbol()",
        "M.byteArray()",
        "M.undefined()",
        "M.null()",
        "M.error()",
        "M.promise()",
        "M.remotable()",
        "M.remotable('file')",
        "M.opt(M.string())",
        "M.eref(M.string())",
        "M.lt(3)",
        "M.lte('b')",
        "M.gte([1])",
        "M.gt({ a: 1, b: 1 })",
        "M.eq([1])",
        "M.neq(1)",
        "M.array()",
        "M.arrayOf(M.number(), { arrayLengthLimit: 2 })",
        "M.record()",
        "M.recordOf(M.string(), M.number())",
        "M.set()",
        "M.setOf(M.string())",
        "M.bag()",
        "M.bagOf(M.string(), M.gte(2n))",
        "M.map()",
        "M.mapOf(M.string(), M.number())",
        "M.containerHas('a', 2n)",
        "M.splitArray([M.number()], [M.string()], [])",
        "M.splitArray([M.number()])",
        "M.splitRecord({ a: M.number() }, { b: M.number() })",
        "M.splitRecord({ a: M.number() }, {}, M.any())",
        "M.partial({ a: M.number() })",
        "M.tagged(M.string(), M.number())",
        "M.refine('date')",
        "[M.number(), 'x']",
    ] {
        let expected = Pattern::<NoRef>::parse(text).expect(text).to_value().widen::<Slot>();
        assert_eq!(result_line(&format!("({text})")), shown(&expected), "{text}");
    }
}

#[test]
fn guards_of_m_equal_guards_of_rust() {
    for text in [
        "M.interface('I', { m: M.call().returns() })",
        "M.interface('I', { a: M.call(M.string()).optional(M.number()).rest(M.any()).returns(M.boolean()), b: M.callWhen(M.await(M.nat())).returns(M.raw()) })",
        "M.interface('I', {}, { defaultGuards: 'passable' })",
        "M.interface('I', { [Symbol.asyncIterator]: M.call().returns(M.remotable()) })",
        "M.interface('I', { m: M.call(M.raw()).rest(M.arrayOf(M.string())).returns(M.promise()) })",
    ] {
        let expected = InterfaceGuard::<NoRef>::parse(text).expect(text).to_value().widen::<Slot>();
        assert_eq!(result_line(text), shown(&expected), "{text}");
    }
}

/// Compares the results of guarded calls in a vat with the same check of their arguments in Rust.
#[test]
fn guards_refuse_with_the_messages_of_rust() {
    let guard = "M.interface('Counter', {
        incr: M.call(M.nat()).optional(M.string()).returns(M.nat()),
        many: M.call().rest(M.arrayOf(M.number())).returns(),
        record: M.call(M.splitRecord({ a: M.string() }, { b: M.number() })).returns(M.any()),
        wrong: M.call().returns(M.string()),
        [Symbol.iterator]: M.call(M.nat()).returns(),
    })";
    let rust = InterfaceGuard::<NoRef>::parse(guard).unwrap();
    for (method, args, good) in [
        ("incr", "[5n]", true),
        ("incr", "[5n, 'x']", true),
        ("incr", "[5n, undefined]", true),
        ("incr", "[]", false),
        ("incr", "[5]", false),
        ("incr", "[-5n]", false),
        ("incr", "[5n, 6n]", false),
        ("incr", "[5n, 'x', 1]", false),
        ("many", "[1, 2]", true),
        ("many", "[1, 'x']", false),
        ("record", "[{ a: 'x', c: 1 }]", true),
        ("record", "[{}]", false),
        ("record", "[{ a: 1 }]", false),
        ("record", "[{ a: 'x', b: 'y' }]", false),
    ] {
        let source = format!(
            "const exo = makeExo('Counter', {guard}, {{
                incr: () => 1n, many: () => undefined, record: r => r, wrong: () => 1, [Symbol.iterator]: () => undefined }});
             try {{ exo.{method}(...{args}); 'passed' }} catch (e) {{ `${{e.name}}: ${{e.message}}` }}"
        );
        let given = Value::<NoRef>::parse(args).unwrap();
        let checked =
            rust.method(method).unwrap().check_arguments("Counter", method, given.as_array().unwrap());
        let expected = match checked {
            Ok(()) => "passed".to_owned(),
            Err(mismatch) => format!("Error: {mismatch}"),
        };
        assert_eq!(expected == "passed", good, "{method}{args}");
        assert_eq!(result_line(&source), shown(&Value::string(expected)), "{method}{args}");
    }
}

#[test]
fn exo_calls_from_outside_are_guarded() {
    let mut world = TestHost::new(Limits::default());
    world.evaluate(
        "makeExo('Counter', M.interface('Counter', {
            incr: M.call(M.nat()).returns(M.nat()),
            wrong: M.call().returns(M.string()),
            later: M.callWhen(M.await(M.nat())).returns(M.nat()),
            mine: M.call().returns(M.remotable()),
        }), {
            incr: n => n + 1n, wrong: () => 1, later: n => n * 2n,
            mine() { return this.self; },
        })",
    );
    for (method, args, expected) in [
        ("incr", "[1n]", "\"+2\""),
        (
            "incr",
            "['x']",
            "throws Error: In \"incr\" method of (Counter): arg 0: string (a string) - Must be a bigint",
        ),
        (
            "wrong",
            "[]",
            "throws Error: In \"wrong\" method of (Counter): result: number (a number) - Must be a string",
        ),
        ("later", "[3n]", "\"+6\""),
        (
            "later",
            "['x']",
            "throws Error: In \"later\" method of (Counter): arg 0: string (a string) - Must be a bigint",
        ),
        ("mine", "[]", "\"$0.Alleged: Counter\" Vat(1)"),
        (
            "other",
            "[]",
            "throws TypeError: target has no method \"other\", has [\"__getInterfaceGuard__\",\"incr\",\"later\",\"mine\",\"wrong\"]",
        ),
    ] {
        let args = Value::<NoRef>::parse(args).unwrap().widen::<Slot>();
        let args = args.as_array().unwrap().to_vec();
        let answer = world.deliver(Slot::Vat(1), method, args);
        assert_eq!(world.answer_line(answer), expected, "{method}");
    }
}

#[test]
fn exo_with_missing_or_extra_methods_is_refused() {
    table(&[
        (
            "makeExo('X', M.interface('X', { a: M.call().returns() }), {})",
            "throws Error: methods [\"a\"] not implemented by \"X\"",
        ),
        (
            "makeExo('X', M.interface('X', {}), { a() {} })",
            "throws Error: methods [\"a\"] not guarded by \"X\"",
        ),
        ("makeExo('X', M.interface('X', {}, { defaultGuards: 'passable' }), { a: x => x }).a(1)", "1"),
        (
            "makeExo('X', M.interface('X', {}, { defaultGuards: 'passable' }), { a: x => x }).a(() => 1)",
            "throws TypeError: a function cannot be passed unless it is declared by Far",
        ),
        (
            "makeExo('X', M.interface('X', {}, { defaultGuards: 'raw' }), { a: x => typeof x }).a(() => 1)",
            "\"function\"",
        ),
        (
            "makeExo('X', M.interface('X', { a: M.call(M.raw()).returns(M.raw()) }), { a: x => x }).a(() => 1)()",
            "1",
        ),
        (
            "makeExo('X', M.interface('X', { a: M.call(M.eq(counter)).returns() }), { a() {} }).a(counter)",
            "\"#undefined\"",
        ),
        (
            "const far = Far('x', {}); makeExo('X', M.interface('X', { a: M.call(M.eq(far)).returns() }), { a() {} }).a(Far('x', {}))",
            "throws Error: In \"a\" method of (X): arg 0: (an object) - Must be: (an object)",
        ),
        ("makeExo('X', {}, {})", "throws Error: (an object) - Must be a guard:interfaceGuard"),
        (
            "M.interface('X', { a: 1 })",
            "throws Error: guard:interfaceGuard: methodGuards: a: [1]: number (a number) - Must be a guard:methodGuard",
        ),
        ("Object.isFrozen(makeExo('X', undefined, { a() {} }))", "true"),
        (
            "makeExo('X', undefined, { get a() { return 1; } })",
            "throws TypeError: makeExo: \"a\" is no method",
        ),
        (
            "Far('x', { a: 1 })",
            "throws TypeError: Far: cannot serialize Remotables with non-methods like \"a\"",
        ),
        (
            "Far('x', { get a() { return 1; } })",
            "throws TypeError: Far: cannot serialize Remotables with non-methods like \"a\"",
        ),
        (
            "Far('x', Object.create({}))",
            "throws TypeError: Far: For now, remotables cannot inherit from anything unusual",
        ),
        (
            "Far('x', new Proxy({}, {}))",
            "throws TypeError: Far needs an object with methods or a function: (an object)",
        ),
        ("Far('x', Far('y', {}))", "throws TypeError: Far: the object is declared already"),
        ("Far('x', Object.freeze({}))", "throws TypeError: Far: the object is frozen already"),
        ("Object.isFrozen(Far('x', {}))", "true"),
        ("Far(1, {})", "throws TypeError: Far needs a name: a string"),
        ("`${Far('x', {})}`", "\"[object Alleged: x]\""),
    ]);
}
