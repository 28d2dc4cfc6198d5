//! Programs of modules: their imports, the results of their `make`, and the places of their errors.

use std::collections::BTreeMap;

use passable::Value;
use vat::{Language, Limits, Module, ModuleName, Modules, Order, Report, Slot};

use crate::test_host::{COUNTER, ECHO, TestHost, VAT};

/// Returns a program of one package without a name; `index.js` is first. Files that end in `.json` and `.txt` are
/// JSON and text.
pub(crate) fn program(files: &[(&str, &str)]) -> Modules {
    let module = |(path, text): &(&str, &str)| {
        let language = match path.rsplit('.').next() {
            Some("json") => Language::Json,
            Some("txt") => Language::Text,
            _ => Language::Module,
        };
        (format!("./{path}"), Module::Source { language, text: (*text).to_owned() })
    };
    let modules = files.iter().map(module).collect();
    let entry = ModuleName { package: String::new(), module: "./index.js".to_owned() };
    Modules { entry, packages: BTreeMap::from([(String::new(), modules)]), maps: BTreeMap::new() }
}

pub(crate) fn made(world: &mut TestHost, answer: u32, modules: Modules) -> String {
    let far = |number, iface: &str| Value::remotable_alleged(Slot::Host(number), iface);
    let env = [("NAME", "abc"), ("__proto__", "p"), ("MODE", "x")];
    world.order(Order::Make {
        vat: VAT,
        answer,
        id: "id-1".to_owned(),
        modules,
        env: env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect(),
        powers: far(COUNTER, "Alleged: Counter"),
        own: far(ECHO, "Alleged: Echo"),
    });
    let place = world.reports.iter().rev().find_map(|report| match report {
        Report::Answer { answer: own, place, .. } if *own == answer => place.as_ref(),
        _ => None,
    });
    let place = place.map(|place| format!(" at {} `{}`", place.label(), place.excerpt)).unwrap_or_default();
    format!("{}{place}", world.answer_line(answer))
}

fn limits() -> Limits {
    Limits { fuel: 50_000_000, ..Limits::default() }
}

#[track_caller]
fn table(rows: &[(&[(&str, &str)], &str)]) {
    let wrong = rows.iter().filter_map(|(files, expected)| {
        let told = made(&mut TestHost::new(limits()), 1, program(files));
        (told != *expected).then(|| format!("{files:?}\n  came to  {told}\n  and not  {expected}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn make_is_called_with_powers_context_and_env() {
    table(&[
        (&[("index.js", "export const make = powers => E(powers).incr();")], "1"),
        (
            &[(
                "index.js",
                "export function make(powers, context, { state }) { return E(state).say('hello'); }",
            )],
            "\"hello\"",
        ),
        (&[("index.js", "export const make = (p, context) => context.id();")], "\"id-1\""),
        (&[("index.js", "export const make = (p, context) => E(context).id();")], "\"id-1\""),
        (
            &[("index.js", "export const make = (p, context) => Reflect.ownKeys(context).join();")],
            "\"id,cancel,whenCancelled,whenDisposed,addDisposalHook\"",
        ),
        (
            &[("index.js", "export const make = (p, { addDisposalHook }) => addDisposalHook(1);")],
            "throws TypeError: a disposal hook is a function at index.js:1:48 `export const make = (p, { addDisposalHook }) => addDisposalHook(1);`",
        ),
        (
            &[("index.js", "export const make = (p, c, { env }) => [env, Object.isFrozen(env)];")],
            "[{\"MODE\":\"x\",\"NAME\":\"abc\",\"__proto__\":\"p\"},true]",
        ),
        (&[("index.js", "export const make = (...args) => args.length;")], "3"),
        (&[("index.js", "export const make = function () { return this === undefined; };")], "true"),
        (&[("index.js", "export async function make() { await null; return 'late'; }")], "\"late\""),
        (&[("index.js", "const x = await Promise.resolve(4); export const make = () => x;")], "4"),
        (
            &[("index.js", "export const make = () => Far('Thing', { m() { return 1; } });")],
            "\"$0.Alleged: Thing\" Vat(1)",
        ),
        (
            &[("index.js", "export const other = 1;")],
            "throws TypeError: the first module exports no function `make`",
        ),
        (
            &[("index.js", "export const make = 1;")],
            "throws TypeError: the first module exports no function `make`",
        ),
        // The first one can be imported by those that it imports.
        (
            &[
                (
                    "index.js",
                    "let early = 'seen'; try { B; } catch (e) { early = e.name; } import { B } from './f.js'; export class A {}; export const make = () => [early, B === A, helper()]; function helper() { return 1; }",
                ),
                ("f.js", "export { A as B } from './index.js';"),
            ],
            "[\"ReferenceError\",true,1]",
        ),
        (
            &[
                (
                    "index.js",
                    "function f() { return 1; } f.g = () => 2; let early = f.g(); import { B } from './f.js'; export class A {}; export const make = () => early;",
                ),
                ("f.js", "export { A as B } from './index.js';"),
            ],
            "2",
        ),
        // A module is no promise, even if it exports `then`.
        (&[("index.js", "export const then = f => f(5); export const make = () => 'made';")], "\"made\""),
        (&[("index.js", "export const make = () => ({ then(f) { f(6); } });")], "6"),
    ]);
}

#[test]
fn every_import_form_works() {
    let make = |body: &str| format!("{body}; export const make = () => out;");
    let cases = [
        ("import { a, b as c } from './m.js'; const out = [a, c]", "[1,2]"),
        ("import d from './m.js'; const out = d", "\"default\""),
        (
            "import * as all from './m.js'; const out = Object.keys(all)",
            "[\"a\",\"b\",\"count\",\"default\",\"up\"]",
        ),
        ("import d, { a } from './m.js'; const out = [d, a]", "[\"default\",1]"),
        ("import { a } from './again.js'; const out = a", "1"),
        ("import { m } from './again.js'; const out = m.b", "2"),
        ("import { own, b } from './again.js'; const out = [own, b]", "[3,2]"),
        ("import { count, up } from './m.js'; up(); up(); const out = count", "2"),
        ("import { up } from './m.js'; import { count } from './again.js'; up(); const out = count", "1"),
        ("import './m.js'; const out = 'ran'", "\"ran\""),
        ("import { ping } from './one.js'; const out = ping(3)", "\"one two one two\""),
        ("import { first } from './one.js'; const out = first", "\"TDZ ReferenceError\""),
        (
            "import table from './table.json'; const out = [table, Object.isFrozen(table.b)]",
            "[{\"__proto__\":2,\"a\":1,\"b\":[null]},true]",
        ),
        ("import table from './table.json' with { type: 'json' }; const out = table.a", "1"),
        ("import text from './text.txt'; const out = text", "\"`${1}\\\"\u{2028}\""),
        ("const out = import('./m.js').then(m => m.a)", "1"),
        ("const out = import('./sub/deep.js').then(m => m.up)", "1"),
        ("import { a } from './sub/../m.js'; const out = a", "1"),
        ("import * as x from './m.js'; import * as y from './sub/../m.js'; const out = x === y", "true"),
        ("const out = Object.keys(import.meta)", "[]"),
        (
            "const out = [typeof this, typeof globalThis.out, typeof require, typeof module, typeof Date]",
            "[\"undefined\",\"undefined\",\"undefined\",\"undefined\",\"undefined\"]",
        ),
        (
            "import 'dep'; const out = 1",
            "throws ReferenceError: index.js imports \"dep\", which is not among its modules at index.js:1:8 `import 'dep'; const out = 1; export const make = () => out;`",
        ),
        (
            "const out = import('node:fs').catch(e => e.message)",
            "\"index.js imports \\\"node:fs\\\", and a vat has no built-in modules\"",
        ),
        (
            "const out = import('../x.js').catch(e => e.message)",
            "\"index.js imports \\\"../x.js\\\", which leads out of its package\"",
        ),
        (
            "const out = import('<m.js>').catch(e => e.message)",
            "\"index.js imports \\\"<m.js>\\\", which is not among its modules\"",
        ),
    ];
    let wrong = cases.iter().filter_map(|(body, expected)| {
        let index = make(body);
        let files = [
            ("index.js", index.as_str()),
            ("m.js", "export const a = 1, b = 2; export default 'default'; export let count = 0; export const up = () => { count += 1; };"),
            ("again.js", "export * from './m.js'; export * as m from './m.js'; export const own = 3;"),
            ("one.js", "import { pong, early } from './two.js'; export const ping = n => n > 0 ? `one ${pong(n - 1)}` : 'one'; export const first = early;"),
            ("two.js", "import { ping, first } from './one.js'; export const pong = n => n > 0 ? `two ${ping(n - 1)}` : 'two'; export let early; try { early = first; } catch (e) { early = `TDZ ${e.name}`; }"),
            ("table.json", "{ \"a\": 1, \"b\": [null], \"__proto__\": 2 }"),
            ("text.txt", "`${1}\"\u{2028}"),
            ("sub/deep.js", "export { a as up } from '../m.js';"),
        ];
        let told = made(&mut TestHost::new(limits()), 1, program(&files));
        (told != *expected).then(|| format!("{body}\n  came to  {told}\n  and not  {expected}"))
    });
    let wrong: Vec<String> = wrong.collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn errors_name_the_file_and_the_line() {
    let make = "export const make = () => 1;";
    table(&[
        (
            &[
                ("index.js", "import './lib/bad.js';\nexport const make = () => 1;"),
                ("lib/bad.js", "const a = 1;\n\nconst b = ;\n"),
            ],
            "throws SyntaxError: unexpected token in expression: ';' at lib/bad.js:3:11 `const b = ;`",
        ),
        (
            &[
                ("index.js", "import { f } from './lib/f.js';\nexport const make = () => f();"),
                ("lib/f.js", "export const f = () => {\n  null.x;\n};"),
            ],
            "throws TypeError: cannot read property 'x' of null at lib/f.js:2:3 `  null.x;`",
        ),
        (
            &[("index.js", "\nthrow new RangeError('at once');\nexport const make = () => 1;")],
            "throws RangeError: at once at index.js:2:11 `throw new RangeError('at once');`",
        ),
        (
            &[
                ("index.js", "import table from './t.json';\nexport const make = () => 1;"),
                ("t.json", "{ bad }"),
            ],
            "throws SyntaxError: Expected property name or '}' in JSON at position 2 (line 1 column 3) at t.json:1:3 `{ bad }`",
        ),
        (&[("index.js", make), ("unused.js", "this is no module")], "1"),
        (
            &[
                ("index.js", "import { gone } from './m.js';\nexport const make = () => 1;"),
                ("m.js", "export const a = 1;"),
            ],
            "throws SyntaxError: Could not find export 'gone' in module '<m.js>'",
        ),
        (
            &[
                (
                    "index.js",
                    "export const a = 1;\nimport * as far from './sub/m.js';\nexport const make = () => 1;",
                ),
                ("sub/m.js", "import {\n  x\n} from '../../m.js';"),
            ],
            "throws ReferenceError: sub/m.js imports \"../../m.js\", which leads out of its package at sub/m.js:3:8 `} from '../../m.js';`",
        ),
    ]);
}

#[test]
fn modules_run_under_the_same_lock_as_all_code() {
    table(&[
        (
            &[("index.js", "Array.prototype.x = 1; export const make = () => 1;")],
            "throws TypeError: object is not extensible at index.js:1:1 `Array.prototype.x = 1; export const make = () => 1;`",
        ),
        (
            &[("index.js", "export const make = () => eval('1');")],
            "throws EvalError: eval is not available: there is no dynamic code in a vat at index.js:1:26 `export const make = () => eval('1');`",
        ),
        (
            &[("index.js", "export const make = () => Math.random();")],
            "throws TypeError: Math.random is not available: a vat is deterministic at index.js:1:31 `export const make = () => Math.random();`",
        ),
        (
            &[("index.js", "leak = 1; export const make = () => 1;")],
            "throws ReferenceError: leak is not defined at index.js:1:1 `leak = 1; export const make = () => 1;`",
        ),
        (
            &[
                ("index.js", "import * as m from './m.js'; m.x = 2; export const make = () => 1;"),
                ("m.js", "export let x = 1;"),
            ],
            "throws TypeError: 'x' is read-only at index.js:1:30 `import * as m from './m.js'; m.x = 2; export const make = () => 1;`",
        ),
        (&[("index.js", "for (;;) {} export const make = () => 1;")], "fault fuel"),
        (&[("index.js", "export const make = () => { for (;;) {} };")], "fault fuel"),
        (&[("index.js", "const f = () => f(); f(); export const make = () => 1;")], "fault stack"),
        (
            &[(
                "index.js",
                "const a = []; for (;;) a.push('x'.repeat(1000) + a.length); export const make = () => 1;",
            )],
            "fault memory",
        ),
        (&[("index.js", "await new Promise(() => 0); export const make = () => 1;")], "nothing"),
    ]);
}

#[test]
fn programs_and_evaluated_code_are_isolated() {
    let mut world = TestHost::new(limits());
    let files = [
        ("index.js", "import { up } from './m.js'; export const make = () => Far('Up', { up });"),
        ("m.js", "let n = 0; export const up = () => { n += 1; return n; };"),
    ];
    for answer in [901, 902] {
        let told = made(&mut world, answer, program(&files));
        assert!(told.starts_with("\"$0.Alleged: Up\""), "{told}");
    }
    for (answer, expected) in [(901, "1"), (901, "2"), (902, "1")] {
        let asked = world.deliver(Slot::Answer(answer), "up", vec![]);
        assert_eq!(world.answer_line(asked), expected);
    }
    for specifier in ["<m.js>", "./m.js", "m.js", "<index.js>"] {
        let answer = world.evaluate(&format!("import({specifier:?}).then(() => 'escaped', e => e.message)"));
        assert_eq!(
            world.answer_line(answer),
            "\"import is for modules: there is no loader here\"",
            "{specifier}"
        );
    }
    // Nor is a module taken for evaluated source, even if its name is `input`.
    let named = [
        ("index.js", "import { up } from './input'; export const make = () => up();"),
        files[1],
        ("input", files[1].1),
    ];
    assert_eq!(made(&mut world, 903, program(&named)), "1");
    let answer = world.evaluate("import('./m.js').then(() => 'escaped', e => e.message)");
    assert_eq!(world.answer_line(answer), "\"import is for modules: there is no loader here\"");
    // The number of an answer is used once here as well.
    assert!(made(&mut world, 901, program(&files)).contains("Alleged: Up"));
    assert!(matches!(world.reports.last(), Some(Report::Refused { .. })), "{:?}", world.reports.last());
}

#[test]
fn invalid_modules_are_refused_and_the_vat_goes_on() {
    let many: Vec<String> = (0..2_001).map(|n| format!("m{n}.js")).collect();
    let many: Vec<(&str, &str)> = many.iter().map(|path| (path.as_str(), "")).collect();
    let mut world = TestHost::new(limits());
    for (files, expected) in [
        (&[("other.js", "")][..], "refused there is no module index.js"),
        (&[("index.js", "\0")], "refused the module index.js is no text: it holds a zero"),
        (&[("index.js", ""), ("a<b.js", "")], "refused `./a<b.js` cannot be the name of a module"),
        (&many, "refused 2001 modules, but 2000 is the limit"),
        (&[("index.js", "export const make = () => 'well';")], "\"well\""),
    ] {
        assert_eq!(made(&mut world, 1, program(files)), expected);
    }
}

#[test]
fn same_module_name_differs_by_package() {
    let source = |text: &str| Module::Source { language: Language::Module, text: text.to_owned() };
    let name =
        |package: &str, module: &str| ModuleName { package: package.to_owned(), module: module.to_owned() };
    let package = |modules: &[(&str, Module)]| {
        modules.iter().map(|(name, module)| ((*name).to_owned(), module.clone())).collect::<BTreeMap<_, _>>()
    };
    let index =
        "import { who as a } from 'one'; import { who as b } from 'two'; export const make = () => [a, b];";
    let packages = BTreeMap::from([
        (
            "app".to_owned(),
            package(&[
                ("./index.js", source(index)),
                ("one", Module::Link(name("x", "./y/z.js"))),
                ("two", Module::Link(name("x/y", "./z.js"))),
            ]),
        ),
        ("x".to_owned(), package(&[("./y/z.js", source("export const who = 'x';"))])),
        ("x/y".to_owned(), package(&[("./z.js", source("export const who = 'x/y';"))])),
    ]);
    let modules = Modules { entry: name("app", "./index.js"), packages, maps: BTreeMap::new() };
    assert_eq!(made(&mut TestHost::new(limits()), 1, modules), "[\"x\",\"x/y\"]");
}

#[test]
fn module_count_and_depth_are_bounded_by_limits() {
    let chain = |length: usize| {
        let mut files: Vec<(String, String)> = (0..length)
            .map(|n| {
                (
                    format!("m{n}.js"),
                    format!("import {{ v as w }} from './m{}.js'; export const v = w + 1;", n + 1),
                )
            })
            .collect();
        files.push((format!("m{length}.js"), "export const v = 0;".to_owned()));
        files.push((
            "index.js".to_owned(),
            "import { v } from './m0.js'; export const make = () => v;".to_owned(),
        ));
        let files: Vec<(&str, &str)> =
            files.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
        made(&mut TestHost::new(limits()), 1, program(&files))
    };
    assert_eq!(chain(50), "50");
    assert_eq!(chain(1_900), "fault stack");
    let mut wide: Vec<(String, String)> =
        (0..1_900).map(|n| (format!("m{n}.js"), format!("export const v{n} = {n};"))).collect();
    let imports: String = (0..1_900).map(|n| format!("import {{ v{n} }} from './m{n}.js';")).collect();
    wide.push(("index.js".to_owned(), format!("{imports} export const make = () => v7 + v1899;")));
    let files: Vec<(&str, &str)> = wide.iter().map(|(path, text)| (path.as_str(), text.as_str())).collect();
    assert_eq!(made(&mut TestHost::new(limits()), 1, program(&files)), "1906");
    // Sources count as memory.
    let long = format!("/*{}*/ export const make = () => 1;", "x".repeat(7 << 20));
    let small = Limits { memory: 6 << 20, ..limits() };
    assert_eq!(made(&mut TestHost::new(small), 1, program(&[("index.js", &long)])), "fault memory");
}

#[test]
fn cancelled_program_runs_its_disposal_hooks() {
    let source = r#"
        export const make = (powers, context, { state }) => {
            const order = [];
            context.addDisposalHook(async () => { await null; order.push('first'); });
            context.addDisposalHook(() => { order.push('second'); throw Error('a hook that fails'); });
            context.addDisposalHook(() => { context.whenDisposed().then(() => order.push('disposed')); order.push('third'); });
            context.whenCancelled().catch(reason => order.push(reason.message));
            return Far('Thing', {
                order: () => harden([...order]),
                end: () => context.cancel(Error('of its own')),
                late: () => context.addDisposalHook(() => order.push('late')),
            });
        };"#;
    let mut world = TestHost::new(limits());
    made(&mut world, 901, program(&[("index.js", source)]));
    // The host's object gets the message, and its answer comes back.
    let ended = world.deliver(Slot::Answer(901), "end", vec![]);
    assert!(world.answer_line(ended).contains("of its own"), "{}", world.answer_line(ended));
    let before = world.deliver(Slot::Answer(901), "order", vec![]);
    assert_eq!(world.answer_line(before), "[]");
    world.order(Order::Cancel { vat: VAT, reason: Value::error("Error", "enough") });
    let after = world.deliver(Slot::Answer(901), "order", vec![]);
    assert_eq!(world.answer_line(after), "[\"enough\",\"first\",\"second\",\"third\",\"disposed\"]");
    let late = world.deliver(Slot::Answer(901), "late", vec![]);
    assert!(
        world.answer_line(late).contains("it is cancelled already: no hook will run"),
        "{}",
        world.answer_line(late)
    );
}
