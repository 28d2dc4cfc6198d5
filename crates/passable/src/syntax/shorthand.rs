//! The shorthand of worker files, such as `{ verdict: pass|maybe|fail, scores: { team: 1..5 }, red_flags: [string]
//! }`.
//!
//! The shorthand is read from a neutral tree, so that this crate needs no YAML reader.
//!
//! | written | means |
//! | --- | --- |
//! | `string` `number` `int` `bool` `bigint` `nat` `bytes` `symbol` `any` `null` `record` `list` | a value of that type |
//! | `date` `date-time` `email` `uri` `secret` `multiline` | text of that form |
//! | `pass\|maybe\|fail`, `"a b"\|string` | one of these; a word that is no type is literal text, and so is quoted text |
//! | `1..5`, `0.5..`, `..10` | a number in a range; whole if no given end has a point or an exponent |
//! | `[string]`, `[string, number]` | a list of any length; a list of exactly these |
//! | `{ a: string, b?: int, c: date? }` | a record of exactly these fields; `?` marks those that may be left out |
//! | `dir`, `dir rw`, `file`, `outbox`, `worker`, `model`, … | a capability |
//! | `M.…` | an `M.` expression |
//! | numbers, `true`, `false` | exactly this value |

use super::error::{PatternError, Span};
use super::nearest::nearest;
use super::parser::MAX_NESTING;
use crate::decimal::decimal;
use crate::pattern::{Comparison, Matcher, Pattern, Refinement};
use crate::text::Text;
use crate::value::{Reference, Value};

/// A neutral tree, as a YAML reader makes it. Spans are byte ranges in the source file.
#[derive(Clone, Debug, PartialEq)]
pub enum Node {
    /// A string.
    Text(String, Span),
    /// A number.
    Number(f64, Span),
    /// A boolean.
    Bool(bool, Span),
    /// The null value.
    Null(Span),
    /// A sequence.
    List(Vec<Node>, Span),
    /// A mapping in the order of the file. Each entry is a name, the span of the name, and a value.
    Map(Vec<(String, Span, Node)>, Span),
}

impl Node {
    /// Returns the place of the node in the source file.
    pub fn span(&self) -> &Span {
        match self {
            Node::Text(_, span)
            | Node::Number(_, span)
            | Node::Bool(_, span)
            | Node::Null(span)
            | Node::List(_, span)
            | Node::Map(_, span) => span,
        }
    }
}

/// The words that stand for capabilities. `dir rw`, `file rw` and `git rw` also allow writing.
///
/// This crate does not know the table of capability kinds. A test of the crate `kernel` checks that the list has every
/// kind whose resources can have a pet name.
pub const CAPABILITY_WORDS: &[&str] = &[
    "dir", "dir rw", "file", "file rw", "outbox", "inbox", "worker", "model", "http", "git", "git rw", "mcp",
    "program", "shell", "clock", "memory",
];

const TYPE_WORDS: &[&str] = &[
    "string",
    "text",
    "number",
    "int",
    "integer",
    "bool",
    "boolean",
    "bigint",
    "nat",
    "bytes",
    "symbol",
    "any",
    "null",
    "record",
    "list",
    "date",
    "date-time",
    "email",
    "uri",
    "secret",
    "multiline",
];

fn type_word<C: Reference>(word: &str) -> Option<Pattern<C>> {
    let refined = |refinement| Pattern::and([Pattern::string(), Pattern::refine(refinement)]);
    Some(match word {
        "string" | "text" => Pattern::string(),
        "number" => Pattern::number(),
        "int" | "integer" => Pattern::integer(),
        "bool" | "boolean" => Pattern::bool(),
        "bigint" => Pattern::bigint(),
        "nat" => Pattern::nat(),
        "bytes" => Pattern::bytes(),
        "symbol" => Pattern::symbol(),
        "any" => Pattern::any(),
        "null" => Pattern::null(),
        "record" => Pattern::any_record(),
        "list" => Pattern::array(),
        _ => match Refinement::from_name(word) {
            Some(refinement) => refined(refinement),
            None => return CAPABILITY_WORDS.contains(&word).then(|| Pattern::remotable(word)),
        },
    })
}

impl<C: Reference> Pattern<C> {
    /// Reads the shorthand of worker files.
    ///
    /// ```
    /// use passable::{Node, Pattern};
    /// let node = Node::Map(vec![
    ///     ("verdict".to_owned(), 2..9, Node::Text("pass|maybe|fail".to_owned(), 11..26)),
    ///     ("score?".to_owned(), 28..34, Node::Text("1..5".to_owned(), 36..40)),
    /// ], 0..42);
    /// let pattern: Pattern = Pattern::from_shorthand(&node)?;
    /// assert_eq!(
    ///     pattern.describe(),
    ///     "a record of verdict: one of \"pass\", \"maybe\" or \"fail\" and score?: a whole number from 1 to 5",
    /// );
    /// # Ok::<(), passable::PatternError>(())
    /// ```
    pub fn from_shorthand(node: &Node) -> Result<Self, PatternError> {
        read(node, 0)
    }
}

fn read<C: Reference>(node: &Node, depth: u32) -> Result<Pattern<C>, PatternError> {
    if depth >= MAX_NESTING {
        return Err(PatternError::new(
            node.span().clone(),
            format!("nested deeper than {MAX_NESTING} levels"),
        ));
    }
    let literal = |value: Value<C>| {
        Pattern::literal(value).map_err(|error| PatternError::new(node.span().clone(), error.to_string()))
    };
    match node {
        Node::Null(_) => Ok(Pattern::null()),
        Node::Bool(value, _) => literal(Value::Bool(*value)),
        Node::Number(number, _) => literal(Value::Number(*number)),
        Node::Text(text, span) => {
            let piece = Piece { text, at: span.start, end: span.end }.trim();
            match piece.text.strip_suffix('?').filter(|text| !text.starts_with("M.")) {
                Some(text) => read_text(Piece { text, ..piece }.trim()).map(Pattern::opt),
                None => read_text(piece),
            }
        }
        Node::List(parts, span) => match parts.as_slice() {
            [] => Err(PatternError::new(span.clone(), "an empty list says nothing about its elements")
                .help("write [string], [any] or list")),
            [part] => Ok(Pattern::array_of(read(part, depth + 1)?)),
            parts => {
                let parts = parts.iter().map(|part| read(part, depth + 1));
                Ok(Pattern::tuple(parts.collect::<Result<Vec<_>, _>>()?))
            }
        },
        Node::Map(fields, _) => {
            let (mut required, mut optional): (Vec<(Text, _)>, Vec<(Text, _)>) = (Vec::new(), Vec::new());
            let mut known = std::collections::HashSet::new();
            for (name, span, node) in fields {
                let pattern = read(node, depth + 1)?;
                let (plain, marked) = match name.strip_suffix('?') {
                    Some(plain) => (plain, true),
                    None => (name.as_str(), false),
                };
                if plain.is_empty() {
                    let error = PatternError::new(span.clone(), "a field needs a name");
                    return Err(error.help("write it before the colon"));
                }
                if !known.insert(plain) {
                    let error = PatternError::new(span.clone(), "this name occurs twice");
                    return Err(
                        error.help("keep one of the two; `?` marks a field, it is no part of its name")
                    );
                }
                match (marked, pattern.as_optional()) {
                    (_, Some(inner)) => optional.push((plain.into(), inner.clone())),
                    (true, None) => optional.push((plain.into(), pattern)),
                    (false, None) => required.push((plain.into(), pattern)),
                }
            }
            Ok(Pattern::exact_record(required, optional))
        }
    }
}

/// A part of a scalar with its place in the source file. The place is only right if the scalar has no escapes.
#[derive(Clone, Copy)]
struct Piece<'a> {
    text: &'a str,
    at: usize,
    /// The end of the whole scalar in the source file.
    end: usize,
}

impl<'a> Piece<'a> {
    fn trim(self) -> Self {
        let blank = self.text.len() - self.text.trim_start().len();
        Piece { text: self.text.trim(), at: self.at + blank, ..self }
    }

    /// Returns the part in a range of bytes.
    fn part(self, range: Span) -> Self {
        let at = self.at + range.start;
        Piece { text: self.text.get(range).unwrap_or_default(), at, ..self }
    }

    /// Returns the span of a part of this piece in the source file.
    fn span_of(self, range: Span) -> Span {
        (self.at + range.start).min(self.end)..(self.at + range.end).min(self.end)
    }

    fn span(self) -> Span {
        self.span_of(0..self.text.len())
    }
}

fn read_text<C: Reference>(piece: Piece<'_>) -> Result<Pattern<C>, PatternError> {
    if piece.text.starts_with("M.") {
        return Pattern::parse(piece.text)
            .map_err(|error| PatternError { span: piece.span_of(error.span.clone()), ..error });
    }
    let parts = alternatives(piece)?;
    match parts.as_slice() {
        [only] => read_alone(*only),
        parts => {
            let part = |part: &Piece<'_>| match part.trim() {
                Piece { text: "", .. } => {
                    // An empty alternative has no characters, so the error points at the signs around it.
                    let around = piece.span_of(
                        (part.at - piece.at).saturating_sub(1)..(part.at - piece.at + part.text.len() + 1),
                    );
                    let around = around.start..around.end.min(piece.span().end);
                    Err(PatternError::new(around, "an alternative is empty")
                        .help("write what stands between two `|`, or leave one of them out"))
                }
                part => Ok(word_pattern(part)?.unwrap_or_else(|| Pattern::text(part.text))),
            };
            Ok(Pattern::or(parts.iter().map(part).collect::<Result<Vec<_>, _>>()?))
        }
    }
}

/// Returns the parts of a text between each `|` that is outside of quotes.
fn alternatives(piece: Piece<'_>) -> Result<Vec<Piece<'_>>, PatternError> {
    let (mut parts, mut start, mut quote) = (Vec::new(), 0, None);
    for (at, char) in piece.text.char_indices() {
        match (char, quote) {
            ('"' | '\'', None) if piece.part(start..at).text.trim().is_empty() => quote = Some((at, char)),
            (char, Some((_, open))) if char == open => quote = None,
            ('|', None) => {
                parts.push(piece.part(start..at));
                start = at + 1;
            }
            _ => {}
        }
    }
    if let Some((at, open)) = quote {
        let span = piece.span_of(at..piece.text.len());
        return Err(PatternError::new(span, "this quote does not end").help(format!("add `{open}`")));
    }
    parts.push(piece.part(start..piece.text.len()));
    Ok(parts)
}

/// Returns the pattern of a type, a capability, a range, a number, a boolean or a quoted text. Returns `None` for any
/// other word.
fn word_pattern<C: Reference>(piece: Piece<'_>) -> Result<Option<Pattern<C>>, PatternError> {
    let text = piece.text;
    if let Some(quoted) = unquote(text) {
        return Ok(Some(Pattern::text(quoted)));
    }
    if let Some(pattern) = type_word(text) {
        return Ok(Some(pattern));
    }
    if text.contains("..") {
        return range(text, &piece.span());
    }
    Ok(match text {
        "true" => Pattern::literal(Value::Bool(true)).ok(),
        "false" => Pattern::literal(Value::Bool(false)).ok(),
        _ => decimal(text).and_then(|number| Pattern::literal(Value::Number(number)).ok()),
    })
}

fn unquote(text: &str) -> Option<&str> {
    ['"', '\''].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        (!inner.contains(quote)).then_some(inner)
    })
}

fn range<C: Reference>(text: &str, span: &Span) -> Result<Option<Pattern<C>>, PatternError> {
    let Some((low, high)) = text.split_once("..") else { return Ok(None) };
    let (low, high) = (low.trim(), high.trim());
    let end = |text: &str| match text {
        "" => Some(None),
        text => decimal(text).map(Some),
    };
    let (Some(least), Some(most)) = (end(low), end(high)) else { return Ok(None) };
    let refuse = |message: &str| {
        PatternError::new(span.clone(), message).help("a range looks like 1..5, 0.. or ..9.5")
    };
    if least.is_none() && most.is_none() {
        return Err(refuse("a range needs an end"));
    }
    if let (Some(least), Some(most)) = (least, most)
        && least > most
    {
        return Err(refuse("this range is empty"));
    }
    let mut parts = vec![Pattern::number()];
    if !low.contains(['.', 'e', 'E']) && !high.contains(['.', 'e', 'E']) {
        parts.push(Pattern::refine(Refinement::Integer));
    }
    let bound = |comparison, number| Pattern::new(Matcher::Compare(comparison, Value::Number(number)));
    parts.extend(least.map(|least| bound(Comparison::Gte, least)));
    parts.extend(most.map(|most| bound(Comparison::Lte, most)));
    Ok(Some(Pattern::and(parts)))
}

fn read_alone<C: Reference>(piece: Piece<'_>) -> Result<Pattern<C>, PatternError> {
    if let Some(pattern) = word_pattern(piece)? {
        return Ok(pattern);
    }
    let shown = crate::visible_line(piece.text).into_owned();
    let error = PatternError::new(piece.span(), format!("there is no type `{shown}`"));
    Err(match nearest(piece.text, TYPE_WORDS.iter().chain(CAPABILITY_WORDS).copied()) {
        Some(near) => error.help(format!("did you mean {near}? For exactly this text write '\"{shown}\"'")),
        None => error.help(format!("for exactly this text write '\"{shown}\"', for a choice yes|no")),
    })
}
