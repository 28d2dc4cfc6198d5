//! The uses that a program makes of its slots, read from its text without running any of it.
//!
//! The text is parsed, and each name is followed to its declaration. So a slot is told apart from other things of the
//! same name. Other names of the same object are followed as well. The result may list more uses than happen when the
//! program runs. Where the text does not tell how a slot is used, the result says so.
//!
//! The parser follows nesting on the stack, and deeply nested text can overflow it. So a caller that reads foreign
//! code does this in a separate process.
#![forbid(unsafe_code)]

mod parse;
mod slot_tracker;

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Serialize};

pub use parse::analyze;

/// The result of an analysis.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Uses {
    /// Every slot that the text uses, by its name.
    pub slots: BTreeMap<String, SlotUse>,
    /// The names that the text uses, but that are neither declared nor slots.
    pub free: BTreeSet<String>,
    /// The syntax error, if the text is no program. Then the other fields are empty.
    pub trouble: Option<Trouble>,
}

/// The uses of one slot in the text.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct SlotUse {
    /// The methods that the text calls on the slot, or takes from it for a later call.
    pub methods: BTreeSet<String>,
    /// The methods that get the slot as an argument, as `slot.method`.
    pub given: BTreeSet<String>,
    /// Whether the text also uses the slot in a way that the analysis cannot follow.
    pub elsewhere: bool,
}

/// The syntax error because of which a text is no program.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trouble {
    /// The line, from 1.
    pub line: u32,
    /// The column, from 1, in characters.
    pub column: u32,
    /// The message of the parser, which quotes the text.
    pub message: String,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the uses of the slots `out` and `counter` as `slot: methods -> given ?`, then the free names.
    fn found(source: &str) -> String {
        let uses = analyze(source, &["out", "counter"]);
        if let Some(Trouble { line, column, message }) = uses.trouble {
            assert!(uses.slots.is_empty() && uses.free.is_empty(), "{source}");
            return format!("{line}:{column} {message}");
        }
        let list = |all: &BTreeSet<String>| all.iter().map(String::as_str).collect::<Vec<_>>().join("+");
        let slot = |(name, one): (&String, &SlotUse)| {
            let given = if one.given.is_empty() { String::new() } else { format!("->{}", list(&one.given)) };
            format!("{name}:{}{given}{} ", list(&one.methods), if one.elsewhere { "?" } else { "" })
        };
        let slots: String = uses.slots.iter().map(slot).collect();
        let free: Vec<&str> = uses.free.iter().map(String::as_str).collect();
        format!("{slots}| {}", free.join(" ")).trim().to_owned()
    }

    #[track_caller]
    fn check(source: &str, expected: &str) {
        assert_eq!(found(source), expected, "{source}");
    }

    #[test]
    fn method_calls_of_every_form_are_found() {
        for (source, expected) in [
            ("E(out).write('a', 1)", "out:write | E"),
            ("out.write(1); out?.read(2)", "out:read+write |"),
            ("out['write'](); out[`read`]?.()", "out:read+write |"),
            ("E.sendOnly(counter).incr(); E.get(counter).value", "counter:incr+value | E"),
            ("const f = E(counter).reset; f()", "counter:reset | E"),
            ("(0, counter.reset)()", "counter:reset |"),
            ("E(counter).reset`x`", "counter:reset | E"),
            ("counter\n.reset\n()", "counter:reset |"),
            ("label: for (;;) { counter.reset(); break label }", "counter:reset |"),
            ("({ get x() { return counter.reset() } })", "counter:reset |"),
            ("async () => { try { return await E(counter).incr() } catch { return 0 } }", "counter:incr | E"),
            ("Far('x', { inc() { return E(counter).incr(); } })", "counter:incr | E Far"),
            ("typeof counter === 'object' && E(counter).incr()", "counter:incr | E"),
            ("counter && counter.incr()", "counter:incr |"),
            ("(counter || out).reset()", "counter:reset out:reset |"),
            ("counter(); new out()", "counter:(itself) out:(itself) |"),
        ] {
            check(source, expected);
        }
    }

    #[test]
    fn unusual_syntax_hides_no_use() {
        for (source, expected) in [
            (r"\u0063ounter.reset()", "counter:reset |"),
            (r"counter.\u0072eset()", "counter:reset |"),
            ("if (1) /'/.test(x); counter.reset() //'", "counter:reset | x"),
            ("x = 1 / 2; counter.reset() // /", "counter:reset | x"),
            ("`${ counter.reset() }`", "counter:reset |"),
            ("`${`${counter.reset()}`}`", "counter:reset |"),
            ("/* counter.reset() */ // counter.incr()\n'counter.read()'", "|"),
            ("var a\n/re/g\ncounter.reset()", "counter:reset |"),
            ("a => { return /}/ }; counter.reset()", "counter:reset |"),
            ("#!`\ncounter.incr()\n//`", "counter:incr |"),
            ("x++ / counter.incr() / 1", "counter:incr | x"),
            ("x.return / counter.incr() / 2", "counter:incr | x"),
            ("// a note\rcounter.incr()", "counter:incr |"),
            ("// a note\u{2028}counter.incr()", "counter:incr |"),
            ("'a\\\r\n'; counter.incr(); ''", "counter:incr |"),
            ("1.\ncounter", "counter:? |"),
            ("switch (out) { case 0, counter: }", "counter: out: |"),
            (
                "const R = E; { const E = c => ({ incr: () => R(c).add(5n) }); E(counter).incr() }",
                "counter:add | E",
            ),
            ("({ import: 0 }); globalThis; Array.from([])", "| Array globalThis"),
            ("\u{FEFF}counter.incr()", "counter:incr |"),
            ("{ function counter() {} } counter.reset()", "counter:reset |"),
            ("'use strict'\ncounter.reset()", "counter:reset |"),
            // A comment of this form hides no use. The engine that runs code refuses such comments.
            ("<!-- counter.reset()\n1", "|"),
        ] {
            check(source, expected);
        }
    }

    #[test]
    fn same_named_things_are_not_slots() {
        for (source, expected) in [
            ("({ out: 1 }).out", "|"),
            ("x.out.write(); this.counter.reset()", "| x"),
            ("(out => E(out).write())(1)", "| E"),
            ("var counter; counter.reset()", "|"),
            ("const counter = 1; { counter.reset() }", "|"),
            ("class counter { static out() {} }", "|"),
            ("try { x() } catch (out) { out.write() }", "| x"),
            ("function f(counter = out.read()) { counter.reset() }", "out:read |"),
            ("out: while (x) break out", "| x"),
            ("const E = x => x; E(counter).reset()", "counter:? |"),
        ] {
            check(source, expected);
        }
    }

    #[test]
    fn aliases_of_a_slot_are_followed() {
        for (source, expected) in [
            ("const o = out; o.write()", "out:write |"),
            ("let o; o = out; E(o).write()", "out:write | E"),
            ("let a = counter, b = a, c = b; E(c).reset()", "counter:reset | E"),
            ("const { write, read: r } = out; write()", "out:read+write |"),
            ("(o => E(o).write())(out)", "out:write | E"),
            ("function f(a, o) { return E(o).write(a) } f(1, out)", "out:write | E"),
            ("const f = ({ write }) => write(); f(out)", "out:write |"),
            ("counter.then(c => E(c).incr())", "counter:incr | E"),
            ("E.when(counter, c => E(c).incr())", "counter:incr | E"),
            (
                "harden(await_); Promise.resolve(counter).then(c => c.incr())",
                "counter:incr | Promise await_ harden",
            ),
            ("E(counter).incr().then(n => E(out).write(n))", "counter:incr out:write | E"),
            ("const again = c => again(c); again(counter)", "counter: |"),
        ] {
            check(source, expected);
        }
    }

    #[test]
    fn unknown_uses_of_a_slot_are_reported() {
        for (source, expected) in [
            ("out[name]()", "out:? | name"),
            ("out['wri' + 'te']()", "out:? |"),
            ("({ out })", "out:? |"),
            ("[counter].map(c => c.reset())", "counter:? |"),
            ("const { write, ...all } = out", "out:write? |"),
            ("E(out).write(counter)", "counter:->out.write out:write | E"),
            ("E(await_(out)).write(counter)", "counter:? out:? | E await_"),
            ("console.log(counter)", "counter:? | console"),
            ("counter", "counter:? |"),
            ("() => counter", "counter:? |"),
            ("function f() { return counter }", "counter:? |"),
            ("function f() { arguments[0].x() } f(out)", "out:? | arguments"),
            ("let f = () => {}; f = x => x.write(); f(out)", "out:? |"),
            ("f(...out)", "out:? | f"),
            ("for (const x of counter) x()", "counter:? |"),
            ("class A { #c = counter; go() { return E(this.#c).reset() } }", "counter:? | E"),
            ("counter.incr = 1; delete counter.reset", "counter:incr+reset? |"),
            ("x = counter", "counter:? | x"),
            ("eval('counter.reset()')", "| eval"),
        ] {
            check(source, expected);
        }
    }

    #[test]
    fn syntax_errors_report_line_and_column() {
        for (source, expected) in [
            ("out.write(\n  1", "2:4 Expected `)` but found `EOF`"),
            ("return counter", "1:1 A 'return' statement can only be used within a function body."),
            ("with (counter) { reset() }", "1:1 'with' statements are not allowed"),
            (
                "ü = 1;\n ü ü",
                "2:3 Expected a semicolon or an implicit semicolon after a statement, but found none",
            ),
        ] {
            check(source, expected);
        }
        check("", "|");
    }
}
