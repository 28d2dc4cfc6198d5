//! A recursive descent parser of bounded depth. It evaluates expressions while it reads them, without a syntax tree.

use super::call::{MethodMaker, call};
use super::error::{PatternError, Span};
use super::lexer::{Lexer, Token};
use crate::guard::{ArgGuard, InterfaceGuard, MethodGuard};
use crate::pattern::Pattern;
use crate::text::Text;
use crate::value::{Reference, Symbol, Value};

/// The maximum depth of nested expressions. One level of text makes up to three levels of values, which stay below
/// the limit on values.
pub(super) const MAX_NESTING: u32 = 80;

/// The maximum length of a text in bytes.
const MAX_TEXT: usize = 1 << 20;

/// The result of an expression.
pub(super) enum Item<C: Reference> {
    Value(Value<C>),
    Pattern(Pattern<C>),
    Arg(ArgGuard<C>),
    Maker(MethodMaker<C>),
    Method(MethodGuard<C>),
    Interface(InterfaceGuard<C>),
    /// A record whose fields include guards of methods.
    Fields(Vec<(Name, Span, Item<C>)>),
}

/// The name of a field or method. Symbols can only name methods, as in `[Symbol.iterator]: M.call().returns()`.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(super) enum Name {
    Text(Text),
    Symbol(Symbol),
}

impl<C: Reference> Item<C> {
    pub(super) fn what(&self) -> &'static str {
        match self {
            Item::Value(_) => "data",
            Item::Pattern(_) => "a pattern",
            Item::Arg(_) => "the guard of an argument",
            Item::Maker(_) => "a method without .returns()",
            Item::Method(_) => "the guard of a method",
            Item::Interface(_) => "an interface",
            Item::Fields(_) => "a record of guards",
        }
    }

    pub(super) fn into_pattern(self, span: &Span) -> Result<Pattern<C>, PatternError> {
        match self {
            Item::Pattern(pattern) => Ok(pattern),
            Item::Value(value) => Pattern::from_value(&value)
                .map_err(|complaint| PatternError::new(span.clone(), complaint.to_string())),
            other => {
                Err(PatternError::new(span.clone(), format!("expected a pattern, not {}", other.what())))
            }
        }
    }

    pub(super) fn into_value(self, span: &Span) -> Result<Value<C>, PatternError> {
        match self {
            Item::Value(value) => Ok(value),
            other => Err(PatternError::new(span.clone(), format!("expected data, not {}", other.what()))),
        }
    }

    pub(super) fn into_arg(self, span: &Span) -> Result<ArgGuard<C>, PatternError> {
        match self {
            Item::Arg(guard) => Ok(guard),
            other => other.into_pattern(span).map(ArgGuard::Pattern),
        }
    }

    pub(super) fn into_method(self, span: &Span) -> Result<MethodGuard<C>, PatternError> {
        match self {
            Item::Method(guard) => Ok(guard),
            Item::Maker(_) => {
                Err(PatternError::new(span.clone(), "this method does not say what it returns")
                    .help("end it with .returns() or .returns(pattern)"))
            }
            other => {
                let message = format!("expected the guard of a method, not {}", other.what());
                Err(PatternError::new(span.clone(), message)
                    .help("write M.call(…).returns(…) or M.callWhen(…).returns(…)"))
            }
        }
    }
}

pub(super) fn parse<C: Reference>(text: &str, slots: &[C]) -> Result<(Item<C>, Span), PatternError> {
    if text.len() > MAX_TEXT {
        return Err(PatternError::new(0..0, format!("the text is longer than {MAX_TEXT} bytes")));
    }
    let mut lexer = Lexer::new(text);
    let (token, span) = lexer.next()?;
    let mut parser = Parser { lexer, token, span, end: 0, depth: 0, slots };
    let start = parser.span.start;
    let item = parser.item()?;
    let span = start..parser.end;
    match parser.token {
        Token::End => Ok((item, span)),
        _ => Err(PatternError::new(parser.span, "expected the end here")),
    }
}

pub(super) struct Parser<'a, C> {
    lexer: Lexer<'a>,
    token: Token,
    span: Span,
    /// The end of the token before the current one.
    end: usize,
    depth: u32,
    slots: &'a [C],
}

/// An argument with its place in the text.
pub(super) type Argument<C> = (Item<C>, Span);

impl<C: Reference> Parser<'_, C> {
    fn advance(&mut self) -> Result<(), PatternError> {
        self.end = self.span.end;
        (self.token, self.span) = self.lexer.next()?;
        Ok(())
    }

    fn eat(&mut self, sign: char) -> Result<bool, PatternError> {
        let found = self.token == Token::Sign(sign);
        if found {
            self.advance()?;
        }
        Ok(found)
    }

    fn expect(&mut self, sign: char) -> Result<(), PatternError> {
        match self.eat(sign)? {
            true => Ok(()),
            false => Err(PatternError::new(self.span.clone(), format!("expected `{sign}` here"))),
        }
    }

    fn name(&mut self) -> Result<(String, Span), PatternError> {
        match &self.token {
            Token::Name(name) => {
                let found = (name.clone(), self.span.clone());
                self.advance()?;
                Ok(found)
            }
            _ => Err(PatternError::new(self.span.clone(), "expected a name here")),
        }
    }

    fn item(&mut self) -> Result<Item<C>, PatternError> {
        self.depth += 1;
        if self.depth > MAX_NESTING {
            return Err(PatternError::new(
                self.span.clone(),
                format!("nested deeper than {MAX_NESTING} levels"),
            ));
        }
        let item = self.primary();
        self.depth -= 1;
        item
    }

    fn primary(&mut self) -> Result<Item<C>, PatternError> {
        let span = self.span.clone();
        match self.token.clone() {
            Token::Number(number) => self.advance().map(|()| Item::Value(Value::Number(number))),
            Token::BigInt(number) => self.advance().map(|()| Item::Value(Value::bigint(number))),
            Token::Text(text) => self.advance().map(|()| Item::Value(Value::String(text))),
            Token::Sign('-') => {
                self.advance()?;
                let value = match self.token.clone() {
                    Token::Number(number) => Value::Number(-number),
                    Token::BigInt(number) => Value::bigint(-number),
                    Token::Name(name) if name == "Infinity" => Value::Number(f64::NEG_INFINITY),
                    _ => return Err(PatternError::new(span, "expected a number after `-`")),
                };
                self.advance().map(|()| Item::Value(value))
            }
            Token::Sign('[') => self.array(),
            Token::Sign('{') => self.record(),
            Token::Sign('(') => {
                self.advance()?;
                let item = self.item()?;
                self.expect(')')?;
                Ok(item)
            }
            Token::Name(name) => self.named(&name),
            Token::End => Err(PatternError::new(span, "expected data or a pattern, but the text ends")),
            Token::Sign(sign) => {
                Err(PatternError::new(span, format!("expected data or a pattern, not `{sign}`")))
            }
        }
    }

    fn named(&mut self, name: &str) -> Result<Item<C>, PatternError> {
        let span = self.span.clone();
        self.advance()?;
        let value = match name {
            "undefined" => Value::Undefined,
            "null" => Value::Null,
            "true" => Value::Bool(true),
            "false" => Value::Bool(false),
            "NaN" => Value::Number(f64::NAN),
            "Infinity" => Value::Number(f64::INFINITY),
            "M" => return self.matcher(),
            "Symbol" => {
                self.expect('.')?;
                let (name, span) = self.name()?;
                let name = match name.as_str() {
                    "for" => {
                        let (arguments, span) = self.arguments()?;
                        match one(arguments, &span)? {
                            Value::String(text) if text.as_bytes().starts_with(b"@@") => {
                                let mut builder = crate::TextBuilder::default();
                                builder.push_str("@@");
                                text.units().for_each(|unit| builder.push_unit(unit));
                                builder.finish()
                            }
                            Value::String(text) => text,
                            _ => return Err(PatternError::new(span, "a symbol's name is a string")),
                        }
                    }
                    well_known => Text::from(format!("@@{well_known}")),
                };
                Value::symbol(name).map_err(|error| PatternError::new(span, error.to_string()))?
            }
            "makeCopySet" | "makeCopyBag" | "makeCopyMap" => {
                let (arguments, span) = self.arguments()?;
                return super::call::collection(name, arguments, &span);
            }
            "bytes" => {
                let (arguments, span) = self.arguments()?;
                let bytes = one(arguments, &span)?.as_str().map(crate::codec::from_base64);
                match bytes {
                    Some(Ok(bytes)) => Value::bytes(bytes),
                    _ => return Err(PatternError::new(span, "bytes are written in base64")),
                }
            }
            "slot" => {
                let (arguments, span) = self.arguments()?;
                let number = one(arguments, &span)?.as_f64().unwrap_or(-1.0);
                let known = (number >= 0.0 && number.fract() == 0.0).then(|| self.slots.get(number as usize));
                match known.flatten() {
                    Some(reference) => Value::remotable(reference.clone()),
                    None => return Err(PatternError::new(span, "there is no such slot")),
                }
            }
            _ => {
                let shown = crate::visible_line(name).into_owned();
                return Err(PatternError::new(span, format!("`{shown}` is neither data nor a pattern"))
                    .help(format!("text stands in quotes: \"{shown}\"; a matcher begins with M.")));
            }
        };
        Ok(Item::Value(value))
    }

    fn matcher(&mut self) -> Result<Item<C>, PatternError> {
        self.expect('.')?;
        let (name, span) = self.name()?;
        let (arguments, whole) = self.arguments()?;
        let mut item = call(&name, &span, arguments, &(span.start..whole.end))?;
        while let Item::Maker(maker) = item {
            if !self.eat('.')? {
                return Ok(Item::Maker(maker));
            }
            let (name, span) = self.name()?;
            let (arguments, _) = self.arguments()?;
            item = maker.continue_with(&name, &span, arguments)?;
        }
        Ok(item)
    }

    fn arguments(&mut self) -> Result<(Vec<Argument<C>>, Span), PatternError> {
        let start = self.span.start;
        self.expect('(')?;
        let mut arguments = Vec::new();
        while !self.eat(')')? {
            let start = self.span.start;
            let item = self.item()?;
            arguments.push((item, start..self.end));
            if !self.eat(',')? && self.token != Token::Sign(')') {
                return Err(PatternError::new(self.span.clone(), "expected `,` or `)` here"));
            }
        }
        Ok((arguments, start..self.end))
    }

    fn array(&mut self) -> Result<Item<C>, PatternError> {
        self.advance()?;
        let mut items = Vec::new();
        while !self.eat(']')? {
            let start = self.span.start;
            let item = self.item()?;
            items.push((item, start..self.end));
            if !self.eat(',')? && self.token != Token::Sign(']') {
                return Err(PatternError::new(self.span.clone(), "expected `,` or `]` here"));
            }
        }
        if items.iter().all(|(item, _)| matches!(item, Item::Value(_))) {
            let values = items.into_iter().map(|(item, span)| item.into_value(&span));
            return Ok(Item::Value(Value::array(values.collect::<Result<Vec<_>, _>>()?)));
        }
        let patterns = items.into_iter().map(|(item, span)| item.into_pattern(&span));
        Ok(Item::Pattern(Pattern::tuple(patterns.collect::<Result<Vec<_>, _>>()?)))
    }

    fn field_name(&mut self) -> Result<(Name, Span), PatternError> {
        let start = self.span.start;
        let name = match self.token.clone() {
            Token::Name(name) => Name::Text(Text::from(name)),
            Token::Text(text) => Name::Text(text),
            Token::Number(number) => Name::Text(Text::from(crate::pattern::number_text(number))),
            Token::Sign('[') => {
                self.advance()?;
                let from = self.span.start;
                match self.item()? {
                    Item::Value(Value::Symbol(symbol)) => Name::Symbol(symbol),
                    _ => {
                        let error = PatternError::new(from..self.end, "expected a symbol here");
                        return Err(error.help("write [Symbol.iterator] or [Symbol.for(\"name\")]"));
                    }
                }
            }
            _ => return Err(PatternError::new(self.span.clone(), "expected the name of a field")),
        };
        match name {
            Name::Symbol(_) => self.expect(']')?,
            Name::Text(_) => self.advance()?,
        }
        Ok((name, start..self.end))
    }

    fn record(&mut self) -> Result<Item<C>, PatternError> {
        self.advance()?;
        let mut fields: Vec<(Name, Span, Item<C>)> = Vec::new();
        let mut names = std::collections::HashSet::new();
        let mut symbol = None;
        while !self.eat('}')? {
            let (name, span) = self.field_name()?;
            if matches!(name, Name::Symbol(_)) {
                symbol.get_or_insert_with(|| span.clone());
            }
            if !names.insert(name.clone()) {
                return Err(PatternError::new(span, "this name occurs twice in one record"));
            }
            self.expect(':')?;
            let start = self.span.start;
            let item = self.item()?;
            fields.push((name, start..self.end, item));
            if !self.eat(',')? && self.token != Token::Sign('}') {
                return Err(PatternError::new(self.span.clone(), "expected `,` or `}` here"));
            }
        }
        let guards = |item: &Item<C>| matches!(item, Item::Method(_) | Item::Maker(_));
        if fields.iter().any(|(_, _, item)| guards(item)) {
            return Ok(Item::Fields(fields));
        }
        if let Some(span) = symbol {
            let error = PatternError::new(span, "only methods can be named by symbols");
            return Err(error.help("the names of fields are text"));
        }
        let text = |(name, span, item)| match name {
            Name::Text(name) => Some((name, span, item)),
            Name::Symbol(_) => None,
        };
        let fields: Vec<(Text, Span, Item<C>)> = fields.into_iter().filter_map(text).collect();
        let unique = |error: crate::ValueError| PatternError::new(self.span.clone(), error.to_string());
        if fields.iter().all(|(_, _, item)| matches!(item, Item::Value(_))) {
            let values = fields.into_iter().map(|(name, span, item)| Ok((name, item.into_value(&span)?)));
            let values = values.collect::<Result<Vec<_>, PatternError>>()?;
            return Value::try_record(values).map(Item::Value).map_err(unique);
        }
        let patterns = fields.into_iter().map(|(name, span, item)| Ok((name, item.into_pattern(&span)?)));
        let patterns = patterns.collect::<Result<Vec<_>, PatternError>>()?;
        Pattern::record(patterns).map(Item::Pattern).map_err(unique)
    }
}

/// Returns the only argument of a call, as data.
pub(super) fn one<C: Reference>(arguments: Vec<Argument<C>>, span: &Span) -> Result<Value<C>, PatternError> {
    let mut arguments = arguments.into_iter();
    match (arguments.next(), arguments.next()) {
        (Some((item, span)), None) => item.into_value(&span),
        _ => Err(PatternError::new(span.clone(), "expected exactly one argument")),
    }
}
