//! The lock is whole: a guest cannot change anything that it can reach.

use crate::test_host::{result_line, table};

/// Walks from the globals, and from the objects that only syntax reaches, to all objects that they reach.
const WALK: &str = r"
    const roots = new Map(Reflect.ownKeys(globalThis).map(key => [String(key), globalThis[key]]));
    const root = (name, make) => { try { roots.set(name, make()) } catch (e) { roots.set(name, e) } };
    root('globalThis', () => globalThis);
    root('function', () => Object.getPrototypeOf(function () {}));
    root('async function', () => Object.getPrototypeOf(async function () {}));
    root('generator', () => Object.getPrototypeOf(function* () {}));
    root('async generator', () => Object.getPrototypeOf(async function* () {}));
    root('generator object', () => Object.getPrototypeOf(Object.getPrototypeOf((function* () {})())));
    root('async generator object', () => Object.getPrototypeOf(Object.getPrototypeOf((async function* () {})())));
    root('array iterator', () => Object.getPrototypeOf([][Symbol.iterator]()));
    root('typed array iterator', () => Object.getPrototypeOf(new Uint8Array(1).values()));
    root('map iterator', () => Object.getPrototypeOf(new Map().entries()));
    root('set iterator', () => Object.getPrototypeOf(new Set().entries()));
    root('string iterator', () => Object.getPrototypeOf(''[Symbol.iterator]()));
    root('regexp iterator', () => Object.getPrototypeOf('x'.matchAll(/x/g)));
    for (const helper of ['map', 'filter', 'take', 'drop', 'flatMap']) {
        root(`iterator.${helper}`, () => Object.getPrototypeOf([].values()[helper](helper.length < 5 && helper !== 'map' ? 1 : x => x)));
    }
    root('wrapped iterator', () => Object.getPrototypeOf(Iterator.from({ next() {} })));
    root('concatenated iterator', () => Object.getPrototypeOf(Iterator.concat([])));
    root('zipped iterator', () => Object.getPrototypeOf(Iterator.zip([[1], [2]])));
    root('arguments', () => Object.getOwnPropertyDescriptors((function () { return arguments; })()).callee.get);
    root('promise', () => Object.getPrototypeOf(Promise.resolve()));
    root('regexp', () => Object.getPrototypeOf(/x/));
    root('bigint', () => Object.getPrototypeOf(1n));
    root('symbol', () => Object.getPrototypeOf(Symbol()));
    root('template', () => (strings => strings)`x`);
    root('presence', () => counter);
    root('E method', () => E(counter).x);
    root('Far', () => Far('x', { m() {} }));
    root('exo', () => makeExo('x', M.interface('I', { m: M.call().returns() }), { m() {} }));
    root('pattern', () => M.splitRecord({ a: M.string() }, { b: M.any() }));
    root('method guard', () => M.call(M.any()).optional().rest(M.any()));
    root('guard', () => M.call(M.any()).returns());
    root('details', () => assert.details`x ${1}`);
    root('quote', () => assert.quote(1));
    root('error', () => { try { null.x } catch (e) { return Object.getPrototypeOf(e) } });
    root('proxy parts', () => Object.getPrototypeOf(Proxy.revocable({}, {}).revoke));
    const seen = new Map(), todo = [...roots], open = [];
    while (todo.length > 0) {
        const [path, thing] = todo.pop();
        if (Object(thing) !== thing || seen.has(thing)) continue;
        seen.set(thing, path);
        if (!Object.isFrozen(thing)) open.push(path);
        todo.push([`${path}.[[Prototype]]`, Object.getPrototypeOf(thing)]);
        for (const key of Reflect.ownKeys(thing)) {
            const property = Object.getOwnPropertyDescriptor(thing, key);
            for (const part of ['value', 'get', 'set']) {
                if (part in property) todo.push([`${path}.${String(key)}`, property[part]]);
            }
        }
    }
";

#[test]
fn all_reachable_objects_are_frozen() {
    assert_eq!(result_line(&format!("{WALK} open")), "[]");
    let count: usize = result_line(&format!("{WALK} seen.size")).parse().expect("a number");
    assert!(count > 700, "{count}");
}

#[test]
fn only_listed_names_are_global() {
    let listed: Vec<String> = vat::GLOBALS.iter().map(|name| format!("{name:?}")).collect();
    let expected = format!("[{}]", listed.join(","));
    assert_eq!(result_line("Reflect.ownKeys(globalThis).map(String).sort()"), expected);
}

#[test]
fn ordinary_code_still_works() {
    table(&[
        (
            "class A { #x = 1; get x() { return this.#x; } static s = 2; } class B extends A { y = 3; } const b = new B(); [b.x, B.s, b.y, b instanceof A]",
            "[1,2,3,true]",
        ),
        (
            "class MyError extends Error { constructor(m) { super(m); this.name = 'MyError'; } } try { throw new MyError('x') } catch (e) { [`${e}`, e instanceof MyError, e instanceof Error] }",
            "[\"MyError: x\",true,true]",
        ),
        ("[...'aé😀'].map(c => c.codePointAt(0))", "[97,233,128512]"),
        ("[3, 1, 2].toSorted((a, b) => a - b)", "[1,2,3]"),
        (
            "Object.fromEntries(Object.entries({ a: 1, b: 2 }).map(([k, v]) => [k, v * 2]))",
            "{\"a\":2,\"b\":4}",
        ),
        ("JSON.parse(JSON.stringify({ a: [1, { b: null }] }))", "{\"a\":[1,{\"b\":null}]}"),
        (
            "(async () => { const out = []; for await (const x of (async function* () { yield 1; yield 2; })()) out.push(x); return out; })()",
            "[1,2]",
        ),
        ("'2024-05-06'.replace(/(?<y>\\d+)-(?<m>\\d+)-(?<d>\\d+)/, '$<d>.$<m>.$<y>')", "\"06.05.2024\""),
        ("const m = new Map([['a', 1]]); m.set('b', 2); [...m]", "[[\"a\",1],[\"b\",2]]"),
        (
            "const { a, ...rest } = { a: 1, b: 2, c: 3 }; const [x, , ...ys] = [1, 2, 3, 4]; [a, rest, x, ys]",
            "[1,{\"b\":2,\"c\":3},1,[3,4]]",
        ),
        (
            "let s = 0; outer: for (const i of [1, 2, 3]) { for (const j of [1, 2, 3]) { if (j === 2) continue outer; s += i * j; } } s",
            "6",
        ),
        ("const o = { toString() { return 'mine'; } }; o.valueOf = () => 7; [`${o}`, o + 1]", "[\"mine\",8]"),
        (
            "function F() {} F.prototype.m = function () { return 1; }; F.prototype.toString = () => 'f'; const f = new F(); [f.m(), `${f}`]",
            "[1,\"f\"]",
        ),
        ("Object.assign({}, { constructor: 1, toString: 2 })", "{\"constructor\":1,\"toString\":2}"),
        ("const a = [1]; a.push(2); a.concat([3]).join('-')", "\"1-2-3\""),
        ("0.1 + 0.2", "0.30000000000000004"),
        ("(2n ** 64n).toString(16)", "\"10000000000000000\""),
        ("new Set([1, 2]).union(new Set([3])).size", "3"),
        ("Object.groupBy([1, 2, 3], n => n % 2 ? 'odd' : 'even').odd", "[1,3]"),
        ("structuredClone", "throws ReferenceError: structuredClone is not defined"),
    ]);
}

/// Checks that a guest can see the bits of a NaN, as the crate's documentation says: they are the processor's.
#[test]
fn nan_bits_are_visible_and_stable() {
    let bits = "[0 / 0, NaN, Math.sqrt(-1)].map(x => `${new BigUint64Array(new Float64Array([x]).buffer)[0].toString(16)}`)";
    assert_eq!(result_line(bits), result_line(bits));
    assert!(result_line(bits).contains("7ff8000000000000"), "{}", result_line(bits));
}
