//! The printer of patterns and guards as `M.` expressions.

use std::collections::HashMap;

use crate::guard::{ArgGuard, CallKind, DefaultGuards, InterfaceGuard, MethodGuard};
use crate::pattern::{Limits, Matcher, Pattern, number_text};
use crate::text::Text;
use crate::value::{Reference, Symbol, Value};
use crate::visible::visible_line;

pub(super) fn pattern<C: Reference>(pattern: &Pattern<C>) -> String {
    let mut printer = Printer::default();
    printer.pattern(pattern);
    printer.out
}

pub(super) fn method<C: Reference>(guard: &MethodGuard<C>) -> String {
    let mut printer = Printer::default();
    printer.method(guard);
    printer.out
}

pub(super) fn interface<C: Reference>(guard: &InterfaceGuard<C>) -> String {
    let mut printer = Printer::default();
    printer.out.push_str("M.interface(");
    printer.text(&guard.name);
    printer.out.push_str(", ");
    let named = guard.methods.iter().map(|(name, guard)| (Name::Text(name), guard));
    let symbols = guard.symbol_methods.iter().map(|(symbol, guard)| (Name::Symbol(symbol), guard));
    printer.record(named.chain(symbols), Printer::method);
    match guard.default_guards {
        None => {}
        Some(DefaultGuards::Passable) => printer.out.push_str(", { defaultGuards: \"passable\" }"),
        Some(DefaultGuards::Raw) => printer.out.push_str(", { defaultGuards: \"raw\" }"),
    }
    printer.out.push(')');
    printer.out
}

/// The name of a field or method.
enum Name<'a> {
    Text(&'a Text),
    Symbol(&'a Symbol),
}

impl<'a> From<&'a Text> for Name<'a> {
    fn from(text: &'a Text) -> Self {
        Name::Text(text)
    }
}

struct Printer<'a, C> {
    out: String,
    slots: HashMap<&'a C, usize>,
}

impl<C> Default for Printer<'_, C> {
    fn default() -> Self {
        Printer { out: String::new(), slots: HashMap::new() }
    }
}

impl<'a, C: Reference> Printer<'a, C> {
    fn text(&mut self, text: &Text) {
        let mut quoted = String::new();
        crate::codec::json::write_string(&mut quoted, "", text);
        // JSON's escapes leave some invisible characters. They are written as `\u{…}`, which `M.` expressions also
        // read.
        self.out.push_str(&visible_line(&quoted));
    }

    fn list<T>(&mut self, parts: impl IntoIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        for (index, part) in parts.into_iter().enumerate() {
            if index > 0 {
                self.out.push_str(", ");
            }
            write(self, part);
        }
    }

    fn record<T, N: Into<Name<'a>>>(
        &mut self,
        fields: impl IntoIterator<Item = (N, T)>,
        mut write: impl FnMut(&mut Self, T),
    ) {
        let mut empty = true;
        self.out.push('{');
        self.list(fields, |printer, (name, part)| {
            if empty {
                printer.out.push(' ');
                empty = false;
            }
            match name.into() {
                Name::Text(name) => match name.as_str().filter(|name| is_identifier(name)) {
                    Some(name) => printer.out.push_str(name),
                    None => printer.text(name),
                },
                Name::Symbol(symbol) => {
                    printer.out.push('[');
                    printer.symbol(symbol);
                    printer.out.push(']');
                }
            }
            printer.out.push_str(": ");
            write(printer, part);
        });
        self.out.push_str(if empty { "}" } else { " }" });
    }

    fn call(&mut self, name: &str, arguments: impl FnOnce(&mut Self)) {
        self.out.push_str("M.");
        self.out.push_str(name);
        self.out.push('(');
        arguments(self);
        self.out.push(')');
    }

    fn parts(&mut self, name: &str, parts: &'a [Pattern<C>]) {
        self.call(name, |printer| printer.list(parts, Self::pattern));
    }

    /// Writes the limits as the last argument.
    fn limits(&mut self, limits: &'a Limits, first: bool) {
        let Some(entries) = limits.entries() else { return };
        if !first {
            self.out.push_str(", ");
        }
        let entries = entries.iter().map(|(name, limit)| (name, *limit));
        self.record(entries, |printer, limit| printer.out.push_str(&number_text(limit)));
    }

    fn limited(&mut self, name: &str, parts: &[&'a Pattern<C>], limits: &'a Limits) {
        self.call(name, |printer| {
            printer.list(parts.iter().copied(), Self::pattern);
            printer.limits(limits, parts.is_empty());
        });
    }

    fn array(&mut self, parts: &'a [Pattern<C>]) {
        self.out.push('[');
        self.list(parts, Self::pattern);
        self.out.push(']');
    }

    fn fields(&mut self, fields: &'a [(Text, Pattern<C>)]) {
        self.record(fields.iter().map(|(name, part)| (name, part)), Self::pattern);
    }

    fn pattern(&mut self, pattern: &'a Pattern<C>) {
        match pattern.matcher() {
            // The word `undefined` as an argument would mean that the argument is left out.
            Matcher::Literal(Value::Undefined) => self.call("undefined", |_| {}),
            Matcher::Literal(value) => self.value(value),
            Matcher::Array(parts) => self.array(parts),
            Matcher::Record(fields) => self.fields(fields),
            Matcher::Map(entries) => {
                self.out.push_str("makeCopyMap([");
                self.list(entries, |printer, (key, part)| {
                    printer.out.push('[');
                    printer.value(key);
                    printer.out.push_str(", ");
                    printer.pattern(part);
                    printer.out.push(']');
                });
                self.out.push_str("])");
            }
            Matcher::Any => self.call("any", |_| {}),
            Matcher::Scalar => self.call("scalar", |_| {}),
            Matcher::Key => self.call("key", |_| {}),
            Matcher::Pattern => self.call("pattern", |_| {}),
            Matcher::And(parts) => self.parts("and", parts),
            Matcher::Or(parts) => match parts.as_slice() {
                [one, other] if is_kind(one, "undefined") => {
                    self.call("opt", |printer| printer.pattern(other))
                }
                [one, other] if is_kind(other, "promise") => {
                    self.call("eref", |printer| printer.pattern(one))
                }
                parts => self.parts("or", parts),
            },
            Matcher::Negation(part) => self.call("not", |printer| printer.pattern(part)),
            Matcher::Kind(kind) => match kind.as_str() {
                Some(name @ ("boolean" | "number" | "error" | "undefined" | "remotable" | "promise")) => {
                    self.call(name, |_| {});
                }
                _ => self.call("kind", |printer| printer.text(kind)),
            },
            Matcher::Tagged(tag, payload) => {
                self.call("tagged", |printer| printer.list([tag, payload], Self::pattern));
            }
            Matcher::BigInt(limits) => self.limited("bigint", &[], limits),
            Matcher::Nat(limits) => self.limited("nat", &[], limits),
            Matcher::String(limits) => self.limited("string", &[], limits),
            Matcher::Symbol(limits) => self.limited("symbol", &[], limits),
            Matcher::Bytes(limits) => self.limited("byteArray", &[], limits),
            Matcher::Remotable(label) => self.call("remotable", |printer| printer.text(label)),
            Matcher::Promise(label) => self.call("promise", |printer| printer.text(label)),
            Matcher::Compare(comparison, key) => self.call(comparison.name(), |printer| printer.value(key)),
            Matcher::ArrayOf(part, limits) => self.limited("arrayOf", &[part], limits),
            Matcher::SetOf(part, limits) => self.limited("setOf", &[part], limits),
            Matcher::RecordOf(name, value, limits) => self.limited("recordOf", &[name, value], limits),
            Matcher::BagOf(key, count, limits) => self.limited("bagOf", &[key, count], limits),
            Matcher::MapOf(key, value, limits) => self.limited("mapOf", &[key, value], limits),
            Matcher::ContainerHas(part, count, limits) => self.call("containerHas", |printer| {
                printer.pattern(part);
                printer.out.push_str(&format!(", {count}n"));
                printer.limits(limits, false);
            }),
            Matcher::SplitArray(split) => self.call("splitArray", |printer| {
                printer.array(&split.required);
                match (&split.optional, &split.rest) {
                    (None, None) => return,
                    (optional, _) => {
                        printer.out.push_str(", ");
                        printer.array(optional.as_deref().unwrap_or_default());
                    }
                }
                if let Some(rest) = &split.rest {
                    printer.out.push_str(", ");
                    printer.pattern(rest);
                }
            }),
            Matcher::SplitRecord(split) => self.call("splitRecord", |printer| {
                printer.fields(&split.required);
                match (&split.optional, &split.rest) {
                    (None, None) => return,
                    (optional, _) => {
                        printer.out.push_str(", ");
                        printer.fields(optional.as_deref().unwrap_or_default());
                    }
                }
                if let Some(rest) = &split.rest {
                    printer.out.push_str(", ");
                    printer.pattern(rest);
                }
            }),
            Matcher::Refine(refinement) => {
                self.call("refine", |printer| printer.text(&Text::from(refinement.name())));
            }
        }
    }

    fn value(&mut self, value: &'a Value<C>) {
        match value {
            Value::Undefined => self.out.push_str("undefined"),
            Value::Null => self.out.push_str("null"),
            Value::Bool(value) => self.out.push_str(if *value { "true" } else { "false" }),
            Value::Number(number) => self.out.push_str(&number_text(*number)),
            Value::BigInt(number) => self.out.push_str(&format!("{number}n")),
            Value::String(text) => self.text(text),
            Value::Bytes(bytes) => {
                self.out.push_str(&format!("bytes(\"{}\")", crate::codec::to_base64(bytes)))
            }
            Value::Symbol(symbol) => self.symbol(symbol),
            Value::Array(array) => {
                self.out.push('[');
                self.list(array.iter(), Self::value);
                self.out.push(']');
            }
            Value::Record(record) => self.record(record.iter().map(|(name, part)| (name, part)), Self::value),
            Value::Tagged(tagged) => self.tagged(tagged.tag(), tagged.payload()),
            Value::Remotable(remote) | Value::Promise(remote) => {
                let next = self.slots.len();
                let number = *self.slots.entry(&remote.reference).or_insert(next);
                self.out.push_str(&format!("slot({number})"));
            }
            // This case does not occur, because no key holds an error.
            Value::Error(error) => self.text(&error.message),
        }
    }

    fn symbol(&mut self, symbol: &Symbol) {
        let registered = match symbol.name().as_bytes() {
            [b'@', b'@', b'@', b'@', ..] => Text::from_utf16(symbol.name().units().skip(2)),
            [b'@', b'@', known @ ..] => {
                self.out.push_str("Symbol.");
                return self.out.push_str(&String::from_utf8_lossy(known));
            }
            _ => symbol.name().clone(),
        };
        self.out.push_str("Symbol.for(");
        self.text(&registered);
        self.out.push(')');
    }

    /// Writes a tagged value, which is a set, a bag or a map, because no other tagged value is a key.
    fn tagged(&mut self, tag: &Text, payload: &'a Value<C>) {
        match tag.as_bytes() {
            b"copySet" => self.out.push_str("makeCopySet("),
            b"copyBag" => self.out.push_str("makeCopyBag("),
            _ => {
                let part = |name| payload.get(name).and_then(Value::as_array).unwrap_or_default();
                self.out.push_str("makeCopyMap([");
                self.list(part("keys").iter().zip(part("values")), |printer, (key, value)| {
                    printer.out.push('[');
                    printer.value(key);
                    printer.out.push_str(", ");
                    printer.value(value);
                    printer.out.push(']');
                });
                self.out.push_str("])");
                return;
            }
        }
        self.value(payload);
        self.out.push(')');
    }

    fn guard(&mut self, guard: &'a ArgGuard<C>) {
        match guard {
            ArgGuard::Pattern(pattern) => self.pattern(pattern),
            ArgGuard::Await(pattern) => self.call("await", |printer| printer.pattern(pattern)),
            ArgGuard::Raw => self.call("raw", |_| {}),
        }
    }

    fn method(&mut self, guard: &'a MethodGuard<C>) {
        let name = if guard.kind == CallKind::Sync { "call" } else { "callWhen" };
        self.call(name, |printer| printer.list(&guard.args, Self::guard));
        if let Some(optional) = &guard.optional {
            self.out.push_str(".optional(");
            self.list(optional, Self::guard);
            self.out.push(')');
        }
        if let Some(rest) = &guard.rest {
            self.out.push_str(".rest(");
            self.guard(rest);
            self.out.push(')');
        }
        self.out.push_str(".returns(");
        match &guard.returns {
            ArgGuard::Pattern(pattern) if is_kind(pattern, "undefined") => {}
            returns => self.guard(returns),
        }
        self.out.push(')');
    }
}

fn is_kind<C: Reference>(pattern: &Pattern<C>, name: &str) -> bool {
    matches!(pattern.matcher(), Matcher::Kind(kind) if kind == name)
}

/// Returns whether a name can be written without quotes. Only plain ASCII can, so that no name misleads a reader.
fn is_identifier(name: &str) -> bool {
    name.starts_with(|first: char| first.is_ascii_alphabetic() || matches!(first, '_' | '$'))
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$'))
}
