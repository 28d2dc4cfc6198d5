//! Interfaces with their guards: the methods of each kind of object, made from the tables in `methods`.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use passable::{ArgGuard, CallKind, Effect, InterfaceGuard, MethodGuard, Mismatch, Text};

use super::methods;
use crate::Pattern;
use crate::id::FormulaId;
use crate::proposal::Value;

/// The shape of an argument.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ArgShape {
    /// The pattern that every value matches.
    Any,
    /// Text as a value.
    Text,
    /// Text, or nothing.
    MaybeText,
    /// A name, or an array of names.
    NameOrPath,
    /// An array of texts, or of names.
    Texts,
    /// An array of names or paths.
    Paths,
    /// A message number.
    Number,
    /// A number of milliseconds, and the like.
    Float,
    /// A record.
    Record,
    /// An array of records.
    Records,
    /// Text or a record, for a method that can be called in two ways.
    TextOrRecord,
    /// An object.
    Remotable,
    /// An error.
    Error,
}

impl ArgShape {
    /// Returns the pattern for this shape.
    pub fn pattern(self) -> Pattern {
        let name_or_path = || Pattern::or([Pattern::string(), Pattern::array_of(Pattern::string())]);
        match self {
            ArgShape::Any => Pattern::any(),
            ArgShape::Text => Pattern::string(),
            ArgShape::MaybeText => Pattern::or([Pattern::string(), Pattern::undefined()]),
            ArgShape::NameOrPath => name_or_path(),
            ArgShape::Texts => Pattern::array_of(Pattern::string()),
            ArgShape::Paths => Pattern::array_of(name_or_path()),
            ArgShape::Number => Pattern::bigint(),
            ArgShape::Float => Pattern::number(),
            ArgShape::Record => Pattern::any_record(),
            ArgShape::Records => Pattern::array_of(Pattern::any_record()),
            ArgShape::TextOrRecord => Pattern::or([Pattern::string(), Pattern::any_record()]),
            ArgShape::Remotable => Pattern::any_remotable(),
            ArgShape::Error => Pattern::error(),
        }
    }
}

/// Whether an argument must be given.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Presence {
    /// The argument must be given.
    Required,
    /// The argument may be left out.
    Optional,
    /// Any number of arguments may be given.
    Rest,
}

/// One parameter.
#[derive(Clone, Copy, Debug)]
pub struct Param {
    /// The name of the parameter, which is upstream's.
    pub name: &'static str,
    /// The shape of the argument. For a rest parameter, the shape of the array of the arguments.
    pub shape: ArgShape,
    /// Whether the argument must be given.
    pub presence: Presence,
}

/// The degree to which Almoner supports a method.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Support {
    /// Almoner supports the method.
    Full,
    /// Almoner does not support the method yet, and refuses every call.
    NotYet,
    /// Almoner will never support the method, for this reason.
    Never(&'static str),
}

/// Whether the plan of a call is always a command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Planning {
    /// The plan is a command, so a call can be planned in the transaction that applies it. Only for a path that leads
    /// to files, the plan is an operation on files.
    Command,
    /// The plan may also be a value, or a preparation that must come first.
    Open,
}

/// Whether a call uses an object of the caller's own, which has no place in the store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Foreign {
    /// The call uses such an object at once.
    Used,
    /// The call refuses such an object, because only objects in the store last.
    Refused,
}

/// One method.
#[derive(Clone, Copy, Debug)]
pub struct Method {
    /// The name of the method, which is upstream's.
    pub name: &'static str,
    /// The parameters of the method.
    pub params: &'static [Param],
    /// The parameters of a second way to call the method, which counts if the second argument is a record.
    pub with_record: &'static [Param],
    /// The effect of a call.
    pub effect: Effect,
    /// A description of the method, in one line.
    pub says: &'static str,
    /// The degree to which Almoner supports the method.
    pub support: Support,
    /// Whether the plan of a call is always a command.
    pub planning: Planning,
    /// Whether a call uses an object of the caller's own.
    pub foreign: Foreign,
}

impl Method {
    /// Returns the parameters in one line: `request(recipientName, description, responseName?)`.
    pub fn signature(&self) -> String {
        let param = |param: &Param| match param.presence {
            Presence::Required => param.name.to_owned(),
            Presence::Optional => format!("{}?", param.name),
            Presence::Rest => format!("...{}", param.name),
        };
        let params: Vec<String> = self.params.iter().map(param).collect();
        format!("{}({})", self.name, params.join(", "))
    }

    /// Returns the method's guard.
    pub fn guard(&self) -> MethodGuard<FormulaId> {
        guard(self.params)
    }
}

fn guard(params: &[Param]) -> MethodGuard<FormulaId> {
    let of = |presence| {
        let some = params.iter().filter(move |param| param.presence == presence);
        some.map(|param| ArgGuard::Pattern(param.shape.pattern())).collect::<Vec<_>>()
    };
    MethodGuard {
        kind: CallKind::Async,
        args: of(Presence::Required),
        optional: Some(of(Presence::Optional)).filter(|some| !some.is_empty()),
        rest: of(Presence::Rest).pop(),
        returns: ArgGuard::Pattern(Pattern::any()),
    }
}

/// The methods of one kind of object.
#[derive(Debug)]
pub struct Facet {
    /// The name of the interface, which is upstream's.
    pub name: &'static str,
    /// A description of such an object, in a few sentences.
    pub about: &'static str,
    /// The methods, by name.
    pub methods: BTreeMap<&'static str, Method>,
    guard: InterfaceGuard<FormulaId>,
}

impl Facet {
    pub(super) fn new(name: &'static str, about: &'static str, tables: &[&[Method]]) -> Facet {
        let methods: BTreeMap<_, _> =
            tables.iter().flat_map(|table| table.iter()).map(|method| (method.name, *method)).collect();
        let guard = InterfaceGuard {
            name: Text::from(name),
            methods: methods.values().map(|method| (Text::from(method.name), method.guard())).collect(),
            symbol_methods: Vec::new(),
            default_guards: None,
        };
        Facet { name, about, methods, guard }
    }

    /// Returns the guard of the interface, in the form that Endo's clients read.
    pub fn guard(&self) -> &InterfaceGuard<FormulaId> {
        &self.guard
    }

    /// Returns the sorted names of all methods, preceded by the two methods that every object has.
    pub fn method_names(&self) -> Vec<&'static str> {
        let hidden = ["__getInterfaceGuard__", "__getMethodNames__"];
        hidden.into_iter().chain(self.methods.keys().copied()).collect()
    }

    /// Checks the arguments of a call.
    ///
    /// # Errors
    /// When an argument does not match. The mismatch is in upstream's words.
    pub fn check(&self, method: &Method, args: &[Value]) -> Result<(), Box<Mismatch>> {
        let second_way = !method.with_record.is_empty() && matches!(args.get(1), Some(Value::Record(_)));
        let outcome = match self.guard.method(method.name) {
            Some(guard) if !second_way => guard.check_arguments(self.name, method.name, args),
            _ => guard(method.with_record).check_arguments(self.name, method.name, args),
        };
        outcome.map_err(Box::new)
    }

    /// Returns the manual of the object, or of one method.
    pub fn help(&self, method: Option<&str>) -> String {
        match method {
            None => {
                let mut text = format!("{}: {}\n", self.name, self.about);
                for method in self.methods.values() {
                    text.push_str(&format!("\n{}", method.signature()));
                }
                text
            }
            Some(name) => match self.methods.get(name) {
                Some(method) => {
                    let state = match method.support {
                        Support::Full => String::new(),
                        Support::NotYet => " Almoner does not support it yet.".to_owned(),
                        Support::Never(why) => format!(" Almoner refuses it: {why}."),
                    };
                    format!("{} - {} ({}){state}", method.signature(), method.says, method.effect.as_words())
                }
                None => format!("No documentation for method {name:?}."),
            },
        }
    }
}

/// Returns the methods of the objects of one type of formula, by [`crate::formula::Formula::kind`].
pub fn facet(kind: &str) -> &'static Facet {
    static FACETS: LazyLock<BTreeMap<&'static str, Facet>> =
        LazyLock::new(|| methods::FACETS.iter().map(|(kind, build)| (*kind, build())).collect());
    static OPAQUE: LazyLock<Facet> = LazyLock::new(methods::opaque);
    FACETS.get(kind).unwrap_or_else(|| &*OPAQUE)
}

/// Returns whether some object has a method of this name whose plan is always a command.
pub fn is_command(method: &str) -> bool {
    has_row(method, |row| row.planning == Planning::Command)
}

/// Returns whether some object has a method of this name that uses an object of the caller's own.
pub fn takes_foreign(method: &str) -> bool {
    has_row(method, |row| row.foreign == Foreign::Used)
}

/// Returns whether a method of this name has a property on any kind of object. Callers ask by name, before they know
/// the object's kind.
fn has_row(method: &str, property: impl Fn(&Method) -> bool) -> bool {
    static ROWS: LazyLock<BTreeMap<&'static str, Vec<Method>>> = LazyLock::new(|| {
        let mut rows: BTreeMap<&'static str, Vec<Method>> = BTreeMap::new();
        for (_, build) in methods::FACETS {
            for (name, row) in build().methods {
                rows.entry(name).or_default().push(row);
            }
        }
        rows
    });
    ROWS.get(method).is_some_and(|rows| rows.iter().any(property))
}

/// Returns the kinds of formulas that have methods of their own.
pub fn kinds() -> impl Iterator<Item = &'static str> {
    methods::FACETS.iter().map(|(kind, _)| *kind)
}
