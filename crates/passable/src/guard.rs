//! Guards: the patterns of the arguments and results of methods, in Endo's form.

use crate::codec::error::Segment;
use crate::keys::{Complaint, confirm_kind_of, quoted, redacted};
use crate::pattern::{Label, Mismatch, Pattern};
use crate::text::Text;
use crate::value::{Reference, Symbol, Value};

/// The guard of one argument or result.
#[derive(Clone, Debug, PartialEq)]
pub enum ArgGuard<C: Reference = crate::NoRef> {
    /// The pattern that the value must match.
    Pattern(Pattern<C>),
    /// `M.await(p)`: the pattern that the value must match after it was awaited.
    Await(Pattern<C>),
    /// `M.raw()`: the value is not checked.
    Raw,
}

/// Whether a method answers at once or later.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CallKind {
    /// `M.call`: the method answers at once.
    Sync,
    /// `M.callWhen`: the method answers later.
    Async,
}

/// The guard of a method: `M.call(…).optional(…).rest(…).returns(…)`.
#[derive(Clone, Debug, PartialEq)]
pub struct MethodGuard<C: Reference = crate::NoRef> {
    /// Whether the guard is one of `M.call` or of `M.callWhen`.
    pub kind: CallKind,
    /// The guards of the required arguments.
    pub args: Vec<ArgGuard<C>>,
    /// The guards of the optional arguments, each of which may also be `undefined`.
    pub optional: Option<Vec<ArgGuard<C>>>,
    /// The guard of the array of further arguments. If `None`, further arguments are refused.
    pub rest: Option<ArgGuard<C>>,
    /// The guard of the result.
    pub returns: ArgGuard<C>,
}

/// The rule for methods without a guard of their own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum DefaultGuards {
    /// Arguments and results must be passable.
    Passable,
    /// Nothing is checked.
    Raw,
}

/// The guard of an interface: `M.interface(name, methods)`.
#[derive(Clone, Debug, PartialEq)]
pub struct InterfaceGuard<C: Reference = crate::NoRef> {
    /// The interface's name.
    pub name: Text,
    /// The methods by name, in their given order. The names are unique.
    pub methods: Vec<(Text, MethodGuard<C>)>,
    /// The methods by symbol, in order of the symbols' names.
    pub symbol_methods: Vec<(Symbol, MethodGuard<C>)>,
    /// The rule for all other methods. If `None`, they are refused.
    pub default_guards: Option<DefaultGuards>,
}

/// Returns the pattern of the payload that a guard tag requires, if the tag is known.
pub(crate) fn payload_pattern<C: Reference>(tag: &str) -> Option<Pattern<C>> {
    let raw = || Pattern::kind("guard:rawGuard");
    let record = |fields: Vec<(&str, Pattern<C>)>| Pattern::record(fields).ok();
    let sync = || Pattern::or([raw(), Pattern::pattern()]);
    match tag {
        "guard:awaitArgGuard" => record(vec![("argGuard", Pattern::pattern())]),
        "guard:rawGuard" => Some(Pattern::any_record()),
        "guard:methodGuard" => {
            let method = |kind: &str, arg: Pattern<C>| {
                record(vec![
                    ("callKind", Pattern::text(kind)),
                    ("argGuards", Pattern::array_of(arg.clone())),
                    ("optionalArgGuards", Pattern::opt(Pattern::array_of(arg))),
                    ("restArgGuard", Pattern::opt(sync())),
                    ("returnGuard", sync()),
                ])
            };
            let awaited = Pattern::or([raw(), Pattern::kind("guard:awaitArgGuard"), Pattern::pattern()]);
            Some(Pattern::or([method("sync", sync())?, method("async", awaited)?]))
        }
        "guard:interfaceGuard" => {
            let method = || Pattern::kind("guard:methodGuard");
            let defaults = [Pattern::undefined(), Pattern::text("passable"), Pattern::text("raw")];
            Some(Pattern::split_record(
                [
                    ("interfaceName", Pattern::string()),
                    ("methodGuards", Pattern::record_of(Pattern::string(), method())),
                ],
                [
                    ("defaultGuards", Pattern::or(defaults)),
                    ("sloppy", Pattern::bool()),
                    ("symbolMethodGuards", Pattern::map_of(Pattern::symbol(), method())),
                ],
                None,
            ))
        }
        _ => None,
    }
}

fn record<C: Reference>(fields: Vec<(&str, Value<C>)>) -> Value<C> {
    Value::record(fields).unwrap_or_else(|_| Value::too_deep())
}

fn known<C: Reference>(value: &Value<C>, kind: &str) -> Result<(), Complaint> {
    if confirm_kind_of(value)? == kind {
        return Ok(());
    }
    Err(Complaint(format!("{} - Must be a {kind}", redacted(value))))
}

impl<C: Reference> ArgGuard<C> {
    /// Reads a guard from its form as a passable value.
    pub fn from_value(value: &Value<C>) -> Result<Self, Complaint> {
        if value.payload_of("guard:rawGuard").is_some() {
            return known(value, "guard:rawGuard").map(|()| ArgGuard::Raw);
        }
        match value.payload_of("guard:awaitArgGuard") {
            Some(payload) => {
                known(value, "guard:awaitArgGuard")?;
                Pattern::from_value(payload.get("argGuard").unwrap_or(&Value::Undefined)).map(ArgGuard::Await)
            }
            None => Pattern::from_value(value).map(ArgGuard::Pattern),
        }
    }

    /// Returns the guard in its form as a passable value.
    pub fn to_value(&self) -> Value<C> {
        match self {
            ArgGuard::Pattern(pattern) => pattern.to_value(),
            ArgGuard::Await(pattern) => {
                Value::tagged("guard:awaitArgGuard", record(vec![("argGuard", pattern.to_value())]))
            }
            ArgGuard::Raw => Value::tagged("guard:rawGuard", record(Vec::new())),
        }
    }

    /// Returns the pattern that a settled value must match.
    pub fn pattern(&self) -> Pattern<C> {
        match self {
            ArgGuard::Pattern(pattern) | ArgGuard::Await(pattern) => pattern.clone(),
            ArgGuard::Raw => Pattern::any(),
        }
    }
}

impl<C: Reference> From<Pattern<C>> for ArgGuard<C> {
    fn from(pattern: Pattern<C>) -> Self {
        ArgGuard::Pattern(pattern)
    }
}

impl<C: Reference> MethodGuard<C> {
    /// Reads a guard from its form as a passable value.
    pub fn from_value(value: &Value<C>) -> Result<Self, Complaint> {
        known(value, "guard:methodGuard")?;
        let payload = value.payload_of("guard:methodGuard").and_then(Value::as_record);
        let field = |name| payload.and_then(|payload| payload.get(name)).unwrap_or(&Value::Undefined);
        let list = |value: &Value<C>| {
            value
                .as_array()
                .unwrap_or_default()
                .iter()
                .map(ArgGuard::from_value)
                .collect::<Result<Vec<_>, _>>()
        };
        let given = |name| Some(field(name)).filter(|value| !matches!(value, Value::Undefined));
        Ok(MethodGuard {
            kind: if field("callKind").as_str() == Some("async") { CallKind::Async } else { CallKind::Sync },
            args: list(field("argGuards"))?,
            optional: given("optionalArgGuards").map(list).transpose()?,
            rest: given("restArgGuard").map(ArgGuard::from_value).transpose()?,
            returns: ArgGuard::from_value(field("returnGuard"))?,
        })
    }

    /// Returns the guard in its form as a passable value.
    pub fn to_value(&self) -> Value<C> {
        let list = |guards: &Vec<ArgGuard<C>>| Value::array(guards.iter().map(ArgGuard::to_value));
        let kind = if self.kind == CallKind::Async { "async" } else { "sync" };
        Value::tagged(
            "guard:methodGuard",
            record(vec![
                ("callKind", Value::string(kind)),
                ("argGuards", list(&self.args)),
                ("optionalArgGuards", self.optional.as_ref().map(list).unwrap_or(Value::Undefined)),
                ("restArgGuard", self.rest.as_ref().map(ArgGuard::to_value).unwrap_or(Value::Undefined)),
                ("returnGuard", self.returns.to_value()),
            ]),
        )
    }

    /// Returns the pattern of the array of arguments, once all promises to await have settled.
    pub fn arguments_pattern(&self) -> Pattern<C> {
        let rest = match &self.rest {
            Some(guard) => guard.pattern(),
            None => Pattern::tuple([]),
        };
        let optional = self.optional.iter().flatten().map(ArgGuard::pattern);
        Pattern::split_array(self.args.iter().map(ArgGuard::pattern), optional, Some(rest))
    }

    /// Checks the arguments of a call. A mismatch has upstream's labels.
    pub fn check_arguments(&self, interface: &str, method: &str, args: &[Value<C>]) -> Result<(), Mismatch> {
        let label = || call_label(interface, method);
        let optional = self.optional.as_ref().map_or(0, Vec::len);
        let most = self.args.len() + optional;
        let (declared, further) = args.split_at_checked(most).unwrap_or((args, &[]));
        let open = Pattern::split_array(
            self.args.iter().map(ArgGuard::pattern),
            self.optional.iter().flatten().map(ArgGuard::pattern),
            None,
        );
        open.check(&Value::array(declared.iter().cloned())).map_err(|error| error.within(label()))?;
        match &self.rest {
            Some(guard) => {
                let rest = Value::array(further.iter().cloned());
                let outcome = guard.pattern().check(&rest);
                outcome.map_err(|error| error.within(Label::note("...rest")).within(label()))
            }
            None if further.is_empty() => Ok(()),
            None => {
                let quoted = quoted(&Text::from(label().text()));
                let count = args.len();
                Err(Mismatch::new(
                    format!("{quoted} accepts at most {most} arguments, not {count}: (an object)"),
                    format!("at most {most} arguments"),
                    format!("{count} arguments"),
                ))
            }
        }
    }

    /// Checks the settled result of a call. A mismatch has upstream's labels.
    pub fn check_result(&self, interface: &str, method: &str, result: &Value<C>) -> Result<(), Mismatch> {
        let outcome = self.returns.pattern().check(result);
        outcome.map_err(|error| error.within(Label::note("result")).within(call_label(interface, method)))
    }
}

/// Sorts methods that are named by symbols into the one order in which guards keep them.
pub(crate) fn in_order<T>(methods: &mut [(Symbol, T)]) {
    methods.sort_by(|(left, _), (right, _)| left.name().cmp(right.name()));
}

impl Symbol {
    /// Returns the name of the symbol in upstream's messages: `[Symbol(foo)]`, `[Symbol(Symbol.iterator)]`.
    pub fn label(&self) -> String {
        let name = self.name().to_str_lossy();
        let name = match (name.strip_prefix("@@@@"), name.strip_prefix("@@")) {
            (Some(rest), _) => format!("@@{rest}"),
            (None, Some(known)) => format!("Symbol.{known}"),
            (None, None) => name.into_owned(),
        };
        format!("[Symbol({name})]")
    }
}

fn call_label(interface: &str, method: &str) -> Label {
    let quoted = quoted(&Text::from(method));
    Label::step(format!("In {quoted} method of ({interface})"), Segment::Name(Text::from(method)))
}

impl<C: Reference> InterfaceGuard<C> {
    /// Reads a guard from its form as a passable value.
    pub fn from_value(value: &Value<C>) -> Result<Self, Complaint> {
        known(value, "guard:interfaceGuard")?;
        let payload = value.payload_of("guard:interfaceGuard").and_then(Value::as_record);
        let field = |name| payload.and_then(|payload| payload.get(name));
        let methods = field("methodGuards").and_then(Value::as_record);
        let methods = methods.into_iter().flat_map(|record| record.iter());
        let symbols = field("symbolMethodGuards").and_then(|map| map.payload_of("copyMap"));
        let part = |name| symbols.and_then(|payload| payload.get(name)?.as_array()).unwrap_or_default();
        let symbol_methods = part("keys").iter().zip(part("values")).filter_map(|(key, guard)| match key {
            Value::Symbol(symbol) => {
                Some(MethodGuard::from_value(guard).map(|guard| (symbol.clone(), guard)))
            }
            _ => None,
        });
        let mut symbol_methods = symbol_methods.collect::<Result<Vec<_>, Complaint>>()?;
        in_order(&mut symbol_methods);
        let sloppy = field("sloppy").and_then(Value::as_bool) == Some(true);
        Ok(InterfaceGuard {
            name: field("interfaceName").and_then(Value::as_text).cloned().unwrap_or_else(|| Text::from("")),
            methods: methods
                .map(|(name, guard)| Ok((name.clone(), MethodGuard::from_value(guard)?)))
                .collect::<Result<_, Complaint>>()?,
            symbol_methods,
            default_guards: match field("defaultGuards").and_then(Value::as_str) {
                Some("raw") => Some(DefaultGuards::Raw),
                Some(_) => Some(DefaultGuards::Passable),
                None => sloppy.then_some(DefaultGuards::Passable),
            },
        })
    }

    /// Returns the guard in its form as a passable value.
    pub fn to_value(&self) -> Value<C> {
        let methods = self.methods.iter().map(|(name, guard)| (name.clone(), guard.to_value()));
        let defaults = match self.default_guards {
            None => Value::Undefined,
            Some(DefaultGuards::Passable) => Value::string("passable"),
            Some(DefaultGuards::Raw) => Value::string("raw"),
        };
        let methods = Value::record(methods).unwrap_or_else(|_| Value::too_deep());
        let mut fields = vec![
            ("interfaceName", Value::String(self.name.clone())),
            ("methodGuards", methods),
            ("defaultGuards", defaults),
        ];
        if !self.symbol_methods.is_empty() {
            let entry = |(symbol, guard): &(Symbol, MethodGuard<C>)| {
                (Value::Symbol(symbol.clone()), guard.to_value())
            };
            let map = Value::map(self.symbol_methods.iter().map(entry));
            fields.push(("symbolMethodGuards", map.unwrap_or_else(|_| Value::too_deep())));
        }
        Value::tagged("guard:interfaceGuard", record(fields))
    }

    /// Returns the guard of a method that is named by a symbol.
    ///
    /// ```
    /// use passable::{InterfaceGuard, NoRef, Symbol, Value};
    /// let text = r#"M.interface("List", { [Symbol.iterator]: M.call(M.nat()).returns() })"#;
    /// let guard = InterfaceGuard::<NoRef>::parse(text)?;
    /// assert_eq!(guard.to_text(), text);
    /// let symbol = Symbol::from_passable_name("@@iterator")?;
    /// let method = guard.symbol_method(&symbol).unwrap();
    /// let wrong = method.check_arguments("List", &symbol.label(), &[Value::Null]).unwrap_err();
    /// assert_eq!(
    ///     wrong.to_string(),
    ///     r#"In "[Symbol(Symbol.iterator)]" method of (List): arg 0: null (an object) - Must be a bigint"#,
    /// );
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    pub fn symbol_method(&self, symbol: &Symbol) -> Option<&MethodGuard<C>> {
        self.symbol_methods.iter().find(|(own, _)| own == symbol).map(|(_, guard)| guard)
    }

    /// Returns the guard of a method.
    pub fn method(&self, name: &str) -> Option<&MethodGuard<C>> {
        self.methods.iter().find(|(own, _)| own == name).map(|(_, guard)| guard)
    }
}
