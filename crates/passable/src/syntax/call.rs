//! The patterns and guards of all calls `M.name(…)`.

use num_bigint::BigInt;

use super::error::{PatternError, Span};
use super::nearest::nearest;
use super::parser::{Argument, Item, Name};
use crate::guard::{ArgGuard, CallKind, DefaultGuards, InterfaceGuard, MethodGuard};
use crate::pattern::{Comparison, Limits, Matcher, Pattern, Refinement, SplitArray, SplitRecord};
use crate::text::Text;
use crate::value::{Reference, Value};

/// The guard of a method before its `.returns(…)`, from `M.call(…)` or `M.callWhen(…)`.
pub(super) struct MethodMaker<C: Reference> {
    kind: CallKind,
    args: Vec<ArgGuard<C>>,
    optional: Option<Vec<ArgGuard<C>>>,
    rest: Option<ArgGuard<C>>,
}

impl<C: Reference> MethodMaker<C> {
    pub(super) fn continue_with(
        mut self,
        name: &str,
        span: &Span,
        arguments: Vec<Argument<C>>,
    ) -> Result<Item<C>, PatternError> {
        let refuse = |message: &str| Err(PatternError::new(span.clone(), message));
        match name {
            "optional" if self.optional.is_some() || self.rest.is_some() => {
                refuse("there can be one .optional(…), before .rest(…)")
            }
            "optional" => {
                let guards = arguments.into_iter().map(|(item, span)| item.into_arg(&span));
                self.optional = Some(guards.collect::<Result<_, _>>()?);
                Ok(Item::Maker(self))
            }
            "rest" if self.rest.is_some() => refuse("there can be only one .rest(…)"),
            "rest" | "returns" => {
                let mut arguments = arguments.into_iter();
                let guard = match (arguments.next(), arguments.next()) {
                    (Some((item, span)), None) => Some(item.into_arg(&span)?),
                    (None, _) => None,
                    _ => return refuse("expected at most one argument"),
                };
                if name == "rest" {
                    let Some(guard) = guard else { return refuse("expected a pattern") };
                    // Here, as in a guard written as a value, `undefined` means that there is no rest.
                    let is_none = matches!(&guard, ArgGuard::Pattern(pattern)
                        if matches!(pattern.as_literal(), Some(Value::Undefined)));
                    self.rest = (!is_none).then_some(guard);
                    return Ok(Item::Maker(self));
                }
                let MethodMaker { kind, args, optional, rest } = self;
                let returns = guard.unwrap_or_else(|| Pattern::undefined().into());
                Ok(Item::Method(MethodGuard { kind, args, optional, rest, returns }))
            }
            _ => refuse("expected .optional(…), .rest(…) or .returns(…)"),
        }
    }
}

/// All names that can follow `M.`, as suggestions for misspelt names.
const NAMES: &[&str] = &[
    "any",
    "and",
    "or",
    "not",
    "scalar",
    "key",
    "pattern",
    "kind",
    "tagged",
    "boolean",
    "number",
    "bigint",
    "nat",
    "string",
    "symbol",
    "byteArray",
    "record",
    "array",
    "set",
    "bag",
    "map",
    "remotable",
    "error",
    "promise",
    "undefined",
    "null",
    "lt",
    "lte",
    "eq",
    "neq",
    "gte",
    "gt",
    "recordOf",
    "arrayOf",
    "setOf",
    "bagOf",
    "containerHas",
    "mapOf",
    "splitArray",
    "splitRecord",
    "split",
    "partial",
    "eref",
    "opt",
    "refine",
    "interface",
    "call",
    "callWhen",
    "await",
    "raw",
];

/// The arguments of one call, read from the front.
struct Arguments<C: Reference> {
    left: std::vec::IntoIter<Argument<C>>,
    span: Span,
}

impl<C: Reference> Arguments<C> {
    /// Returns the next argument. An argument that is written as `undefined` counts as left out.
    fn next(&mut self) -> Option<Argument<C>> {
        self.left.next().filter(|(item, _)| !matches!(item, Item::Value(Value::Undefined)))
    }

    fn pattern(&mut self) -> Result<Pattern<C>, PatternError> {
        match self.left.next() {
            Some((item, span)) => item.into_pattern(&span),
            None => Err(PatternError::new(self.span.clone(), "expected a pattern as argument")),
        }
    }

    fn pattern_or_any(&mut self) -> Result<Pattern<C>, PatternError> {
        self.next().map_or_else(|| Ok(Pattern::any()), |(item, span)| item.into_pattern(&span))
    }

    fn optional_pattern(&mut self) -> Result<Option<Pattern<C>>, PatternError> {
        self.next().map(|(item, span)| item.into_pattern(&span)).transpose()
    }

    fn key(&mut self) -> Result<(Value<C>, Span), PatternError> {
        match self.left.next() {
            Some((item, span)) => item.into_value(&span).map(|value| (value, span)),
            None => Err(PatternError::new(self.span.clone(), "expected a key as argument")),
        }
    }

    fn text(&mut self) -> Result<Option<(Text, Span)>, PatternError> {
        match self.next() {
            None => Ok(None),
            Some((Item::Value(Value::String(text)), span)) => Ok(Some((text, span))),
            Some((_, span)) => Err(PatternError::new(span, "expected a string")),
        }
    }

    fn limits(&mut self) -> Result<Limits, PatternError> {
        let Some((item, span)) = self.next() else { return Ok(Limits::none()) };
        let refuse = |message| {
            PatternError::new(span.clone(), message).help("limits look like { stringLengthLimit: 200 }")
        };
        let Item::Value(Value::Record(record)) = item else {
            return Err(refuse("limits are a record of numbers"));
        };
        let entry = |(name, value): &(Text, Value<C>)| match value {
            Value::Number(limit) => Ok((name.clone(), *limit)),
            _ => Err(refuse("every limit is a number")),
        };
        Ok(Limits::from_entries(record.iter().map(entry).collect::<Result<_, _>>()?))
    }

    fn all(&mut self) -> Result<Vec<Pattern<C>>, PatternError> {
        self.left.by_ref().map(|(item, span)| item.into_pattern(&span)).collect()
    }

    fn guards(&mut self) -> Result<Vec<ArgGuard<C>>, PatternError> {
        self.left.by_ref().map(|(item, span)| item.into_arg(&span)).collect()
    }
}

/// Returns the elements of an array pattern, or `None` for any other pattern.
fn elements<C: Reference>(pattern: &Pattern<C>) -> Option<Vec<Pattern<C>>> {
    match pattern.matcher() {
        Matcher::Array(parts) => Some(parts.clone()),
        Matcher::Literal(Value::Array(array)) => {
            array.iter().map(|part| Pattern::from_value(part).ok()).collect()
        }
        _ => None,
    }
}

/// Returns the fields of a record pattern, or `None` for any other pattern.
fn fields<C: Reference>(pattern: &Pattern<C>) -> Option<Vec<(Text, Pattern<C>)>> {
    match pattern.matcher() {
        Matcher::Record(fields) => Some(fields.clone()),
        Matcher::Literal(Value::Record(record)) => {
            record.iter().map(|(name, part)| Some((name.clone(), Pattern::from_value(part).ok()?))).collect()
        }
        _ => None,
    }
}

fn split<C: Reference>(name: &str, arguments: &mut Arguments<C>) -> Result<Matcher<C>, PatternError> {
    let refuse =
        |span: &Span, shape: &str| PatternError::new(span.clone(), format!("expected {shape} of patterns"));
    let base = arguments.pattern()?;
    let (optional, rest) = match name {
        "split" | "partial" => (None, arguments.optional_pattern()?),
        _ => (arguments.optional_pattern()?, arguments.optional_pattern()?),
    };
    let span = &arguments.span;
    let as_array = match name {
        "splitArray" => true,
        "splitRecord" => false,
        _ => elements(&base).is_some(),
    };
    if as_array {
        let base = elements(&base).ok_or_else(|| refuse(span, "an array"))?;
        let optional = optional
            .map(|optional| elements(&optional).ok_or_else(|| refuse(span, "an array")))
            .transpose()?;
        return Ok(Matcher::SplitArray(match name {
            "partial" => SplitArray { required: Vec::new(), optional: Some(base), rest },
            _ => SplitArray { required: base, optional, rest },
        }));
    }
    let base = fields(&base).ok_or_else(|| refuse(span, "a record"))?;
    let optional =
        optional.map(|optional| fields(&optional).ok_or_else(|| refuse(span, "a record"))).transpose()?;
    Ok(Matcher::SplitRecord(match name {
        "partial" => SplitRecord { required: Vec::new(), optional: Some(base), rest },
        _ => SplitRecord { required: base, optional, rest },
    }))
}

pub(super) fn call<C: Reference>(
    name: &str,
    span: &Span,
    arguments: Vec<Argument<C>>,
    whole: &Span,
) -> Result<Item<C>, PatternError> {
    let mut args = Arguments { left: arguments.into_iter(), span: whole.clone() };
    let from_complaint =
        |span: &Span, complaint: crate::Complaint| PatternError::new(span.clone(), complaint.to_string());
    let matcher = match name {
        "any" => Matcher::Any,
        "scalar" => Matcher::Scalar,
        "key" => Matcher::Key,
        "pattern" => Matcher::Pattern,
        "boolean" | "number" | "error" | "undefined" => Matcher::Kind(Text::from(name)),
        "null" => Matcher::Literal(Value::Null),
        "and" => Matcher::And(args.all()?),
        "or" => Matcher::Or(args.all()?),
        "not" => Matcher::Negation(args.pattern()?),
        "opt" => Matcher::Or(vec![Pattern::undefined(), args.pattern()?]),
        "eref" => Matcher::Or(vec![args.pattern()?, Pattern::any_promise()]),
        "kind" => match args.text()? {
            Some((kind, _)) => Matcher::Kind(kind),
            None => return Err(PatternError::new(whole.clone(), "expected the name of a kind")),
        },
        "tagged" => {
            let tag = args.optional_pattern()?.unwrap_or_else(Pattern::string);
            Matcher::Tagged(tag, args.pattern_or_any()?)
        }
        "bigint" => Matcher::BigInt(args.limits()?),
        "nat" => Matcher::Nat(args.limits()?),
        "string" => Matcher::String(args.limits()?),
        "symbol" => Matcher::Symbol(args.limits()?),
        "byteArray" => Matcher::Bytes(args.limits()?),
        "remotable" | "promise" => match args.text()? {
            None => Matcher::Kind(Text::from(name)),
            Some((label, _)) if name == "remotable" => Matcher::Remotable(label),
            Some((label, _)) => Matcher::Promise(label),
        },
        "lt" | "lte" | "gte" | "gt" | "eq" | "neq" => {
            let (key, span) = args.key()?;
            let complain = |complaint| from_complaint(&span, complaint);
            crate::confirm_key(&key).map_err(complain)?;
            match Comparison::from_name(name) {
                Some(comparison) => Matcher::Compare(comparison, key),
                None => {
                    let equal = match key {
                        Value::Undefined => Pattern::undefined(),
                        key => Pattern::literal(key).map_err(complain)?,
                    };
                    if name == "eq" {
                        no_more(args)?;
                        return Ok(Item::Pattern(equal));
                    }
                    Matcher::Negation(equal)
                }
            }
        }
        "array" => Matcher::ArrayOf(Pattern::any(), args.limits()?),
        "arrayOf" => Matcher::ArrayOf(args.pattern_or_any()?, args.limits()?),
        "set" => Matcher::SetOf(Pattern::any(), args.limits()?),
        "setOf" => Matcher::SetOf(args.pattern_or_any()?, args.limits()?),
        "record" => Matcher::RecordOf(Pattern::any(), Pattern::any(), args.limits()?),
        "recordOf" => Matcher::RecordOf(args.pattern_or_any()?, args.pattern_or_any()?, args.limits()?),
        "bag" => Matcher::BagOf(Pattern::any(), Pattern::any(), args.limits()?),
        "bagOf" => Matcher::BagOf(args.pattern_or_any()?, args.pattern_or_any()?, args.limits()?),
        "map" => Matcher::MapOf(Pattern::any(), Pattern::any(), args.limits()?),
        "mapOf" => Matcher::MapOf(args.pattern_or_any()?, args.pattern_or_any()?, args.limits()?),
        "containerHas" => {
            let part = args.pattern_or_any()?;
            let count = match args.next() {
                None => BigInt::from(1),
                Some((Item::Value(Value::BigInt(count)), _)) if *count >= BigInt::from(1) => (*count).clone(),
                Some((_, span)) => {
                    return Err(
                        PatternError::new(span, "the count is a big integer of at least 1").help("write 1n")
                    );
                }
            };
            Matcher::ContainerHas(part, count, args.limits()?)
        }
        "splitArray" | "splitRecord" | "split" | "partial" => split(name, &mut args)?,
        "refine" => {
            let known = Refinement::ALL.map(Refinement::name).join(", ");
            let refinement = args.text()?.and_then(|(name, _)| Refinement::from_name(name.as_str()?));
            let refuse =
                || PatternError::new(whole.clone(), "unknown refinement").help(format!("one of {known}"));
            Matcher::Refine(refinement.ok_or_else(refuse)?)
        }
        "await" => {
            let guard = ArgGuard::Await(args.pattern()?);
            return no_more(args).map(|()| Item::Arg(guard));
        }
        "raw" => return no_more(args).map(|()| Item::Arg(ArgGuard::Raw)),
        "call" | "callWhen" => {
            let kind = if name == "call" { CallKind::Sync } else { CallKind::Async };
            let guards = args.guards()?;
            if kind == CallKind::Sync && guards.iter().any(|guard| matches!(guard, ArgGuard::Await(_))) {
                return Err(PatternError::new(whole.clone(), "only M.callWhen can await its arguments"));
            }
            return Ok(Item::Maker(MethodMaker { kind, args: guards, optional: None, rest: None }));
        }
        "interface" => return interface(args),
        _ => {
            let shown = crate::visible_line(name);
            let error = PatternError::new(span.clone(), format!("there is no matcher M.{shown}"));
            return Err(match nearest(name, NAMES.iter().copied()) {
                Some(near) => error.help(format!("did you mean M.{near}?")),
                None => error,
            });
        }
    };
    no_more(args)?;
    Ok(Item::Pattern(Pattern::new(matcher)))
}

fn no_more<C: Reference>(mut args: Arguments<C>) -> Result<(), PatternError> {
    match args.left.next() {
        None => Ok(()),
        Some((_, span)) => Err(PatternError::new(span, "too many arguments")),
    }
}

fn interface<C: Reference>(mut args: Arguments<C>) -> Result<Item<C>, PatternError> {
    let span = args.span.clone();
    let Some((name, _)) = args.text()? else {
        return Err(PatternError::new(span, "an interface begins with its name"));
    };
    let (mut methods, mut symbol_methods) = (Vec::new(), Vec::new());
    match args.left.next() {
        Some((Item::Fields(fields), _)) => {
            for (name, span, item) in fields {
                let method = item.into_method(&span)?;
                match name {
                    Name::Text(name) => methods.push((name, method)),
                    Name::Symbol(symbol) => symbol_methods.push((symbol, method)),
                }
            }
        }
        Some((Item::Value(Value::Record(record)), _)) if record.is_empty() => {}
        _ => return Err(PatternError::new(span, "the second argument is a record of methods")),
    }
    crate::guard::in_order(&mut symbol_methods);
    let default_guards = match args.next() {
        None => None,
        Some((Item::Value(options), span)) => {
            let sloppy = options.get("sloppy").and_then(Value::as_bool) == Some(true);
            match (options.get("defaultGuards").and_then(Value::as_str), sloppy) {
                (Some("passable"), _) | (None, true) => Some(DefaultGuards::Passable),
                (Some("raw"), _) => Some(DefaultGuards::Raw),
                (None, false) => None,
                _ => {
                    let error = PatternError::new(span, "unknown default guards");
                    return Err(error.help("{ defaultGuards: \"passable\" } or { defaultGuards: \"raw\" }"));
                }
            }
        }
        Some((_, span)) => return Err(PatternError::new(span, "options are data")),
    };
    no_more(args)?;
    Ok(Item::Interface(InterfaceGuard { name, methods, symbol_methods, default_guards }))
}

/// Returns the set, bag or map of `makeCopySet([…])`, `makeCopyBag([[key, 2n], …])` or `makeCopyMap([[key, value],
/// …])`.
pub(super) fn collection<C: Reference>(
    name: &str,
    arguments: Vec<Argument<C>>,
    span: &Span,
) -> Result<Item<C>, PatternError> {
    let refuse = |message: &str| PatternError::new(span.clone(), message);
    let complain = |complaint: crate::Complaint| refuse(&complaint.to_string());
    let mut arguments = arguments.into_iter();
    let (Some((item, item_span)), None) = (arguments.next(), arguments.next()) else {
        return Err(refuse("expected one array"));
    };
    let pattern = item.into_pattern(&item_span)?;
    let parts = elements(&pattern).ok_or_else(|| refuse("expected one array"))?;
    let value = |pattern: &Pattern<C>| match pattern.as_literal() {
        Some(value) => Ok(value.clone()),
        None => Err(refuse("keys are data")),
    };
    let pairs = || {
        parts.iter().map(|part| match elements(part).as_deref() {
            Some([key, value]) => Ok((key.clone(), value.clone())),
            _ => Err(refuse("expected pairs")),
        })
    };
    match name {
        "makeCopySet" => {
            let elements = parts.iter().map(value).collect::<Result<Vec<_>, _>>()?;
            Value::set(elements).map(Item::Value).map_err(complain)
        }
        "makeCopyBag" => {
            let entry = |pair: Result<(Pattern<C>, Pattern<C>), PatternError>| {
                let (key, count) = pair?;
                match value(&count)?.as_bigint() {
                    Some(count) => Ok((value(&key)?, count.clone())),
                    None => Err(refuse("counts are big integers")),
                }
            };
            let entries = pairs().map(entry).collect::<Result<Vec<_>, _>>()?;
            Value::bag(entries).map(Item::Value).map_err(complain)
        }
        _ => {
            let entry = |pair: Result<(Pattern<C>, Pattern<C>), PatternError>| {
                let (key, part) = pair?;
                Ok((value(&key)?, part.to_value()))
            };
            let entries = pairs().map(entry).collect::<Result<Vec<_>, PatternError>>()?;
            let map = Value::map(entries).map_err(complain)?;
            let pattern = Pattern::from_value(&map).map_err(complain)?;
            Ok(if pattern.as_literal().is_some() { Item::Value(map) } else { Item::Pattern(pattern) })
        }
    }
}
