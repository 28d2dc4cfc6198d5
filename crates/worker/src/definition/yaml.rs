//! The YAML of the front matter: a small, strict part of the language, with the place of every value.
//!
//! Anchors, aliases, tags, merge keys and keys that are not text are refused. They are useless in such small files,
//! and can make a short text stand for a huge or surprising value. Numbers and words are read by the YAML 1.2 core
//! rules, so `no` is a word.

use std::ops::Range;

use saphyr_parser::{Event, Marker, Parser, ScalarStyle, Span};

use super::diagnostic::Diagnostic;
use super::places::Places;

/// The maximum nesting depth of values.
const MAX_DEPTH: usize = 32;
/// The maximum number of values.
const MAX_NODES: usize = 10_000;

/// A value and its place.
#[derive(Clone, Debug)]
pub(crate) struct Node {
    /// The value.
    pub(crate) data: Data,
    /// The place of the value, as a byte range of the whole file.
    pub(crate) span: Range<usize>,
}

/// The kind and the content of a value.
#[derive(Clone, Debug)]
pub(crate) enum Data {
    Null,
    Bool(bool),
    /// A number in the form of JSON.
    Number(serde_json::Number),
    Text(String),
    List(Vec<Node>),
    /// A map with unique keys.
    Map(Vec<(Key, Node)>),
}

/// A key of a map and its place.
#[derive(Clone, Debug)]
pub(crate) struct Key {
    pub(crate) text: String,
    pub(crate) span: Range<usize>,
}

impl Node {
    /// Returns the kind of this value, with its article.
    pub(crate) fn kind(&self) -> &'static str {
        match &self.data {
            Data::Null => "nothing",
            Data::Bool(_) => "true or false",
            Data::Number(_) => "a number",
            Data::Text(_) => "text",
            Data::List(_) => "a list",
            Data::Map(_) => "a map",
        }
    }

    /// Returns the value in the form of the pattern shorthand. Its spans are those of `places`.
    pub(crate) fn to_shorthand(&self, places: &mut Places<'_>) -> passable::Node {
        use passable::Node as Plain;
        let span = self.span.clone();
        match &self.data {
            Data::Null => Plain::Null(span),
            Data::Bool(value) => Plain::Bool(*value, span),
            Data::Number(number) => Plain::Number(number.as_f64().unwrap_or(f64::NAN), span),
            Data::Text(text) => Plain::Text(text.clone(), places.add(text, &span)),
            Data::List(items) => {
                Plain::List(items.iter().map(|item| item.to_shorthand(places)).collect(), span)
            }
            Data::Map(entries) => {
                let entry = |(key, node): &(Key, Node)| {
                    (key.text.clone(), key.span.clone(), node.to_shorthand(places))
                };
                Plain::Map(entries.iter().map(entry).collect(), span)
            }
        }
    }

    /// Returns the value as plain data.
    pub(crate) fn to_json(&self) -> serde_json::Value {
        use serde_json::Value;
        match &self.data {
            Data::Null => Value::Null,
            Data::Bool(value) => Value::Bool(*value),
            Data::Number(number) => Value::Number(number.clone()),
            Data::Text(text) => Value::String(text.clone()),
            Data::List(items) => items.iter().map(Node::to_json).collect(),
            Data::Map(entries) => {
                Value::Object(entries.iter().map(|(key, node)| (key.text.clone(), node.to_json())).collect())
            }
        }
    }
}

/// Returns the place of a value's text as the author wrote it, without quotes. Returns `None` if the text was written
/// with escapes or over several lines.
pub(crate) fn verbatim(text: &str, span: &Range<usize>, source: &str) -> Option<Range<usize>> {
    let start = span.start + source.get(span.clone())?.find(text)?;
    Some(start..start + text.len())
}

/// Reads one YAML document at byte `offset` of a file. Parts that cannot be read are reported and left out. Returns
/// `None` if nothing is left.
pub(crate) fn read(text: &str, offset: usize, problems: &mut Vec<Diagnostic>) -> Option<Node> {
    if let Some(at) = tab(text) {
        problems.push(
            Diagnostic::error("yaml/tab", "a tab cannot indent YAML", offset + at..offset + at + 1)
                .help("indent with spaces"),
        );
        return None;
    }
    let starts: Vec<usize> = text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
    let mut reader = Reader { parser: Parser::new_from_str(text), text, offset, starts, nodes: 0, problems };
    match reader.document() {
        Ok(node) => node,
        Err(problem) => {
            problems.push(*problem);
            None
        }
    }
}

/// Returns the position of the first tab in the indentation of a line.
fn tab(text: &str) -> Option<usize> {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let indent = line.len() - line.trim_start_matches([' ', '\t']).len();
        let blank = line.trim().is_empty();
        if let (Some(tab), false) = (line.get(..indent).and_then(|indent| indent.find('\t')), blank) {
            return Some(at + tab);
        }
        at += line.len();
    }
    None
}

struct Reader<'a> {
    parser: Parser<'a, saphyr_parser::StrInput<'a>>,
    text: &'a str,
    offset: usize,
    /// The byte position of each character, because the parser counts characters.
    starts: Vec<usize>,
    nodes: usize,
    problems: &'a mut Vec<Diagnostic>,
}

type FatalDiagnostic = Box<Diagnostic>;

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Option<Node>, FatalDiagnostic> {
        let mut root = None;
        loop {
            let (event, span) = self.next()?;
            match event {
                Event::StreamEnd => return Ok(root),
                Event::Nothing | Event::StreamStart | Event::DocumentEnd => {}
                Event::DocumentStart(_) if root.is_none() => {}
                Event::DocumentStart(_) => {
                    let help = "keep one; the text for the model comes after the second line `---`";
                    let message = "there is a second document here";
                    return Err(fatal("yaml/syntax", message, self.range(span), help));
                }
                event => root = Some(self.node(event, span, 0)?),
            }
        }
    }

    fn next(&mut self) -> Result<(Event<'a>, Span), FatalDiagnostic> {
        match self.parser.next_event() {
            Some(Ok(event)) => Ok(event),
            None => Ok((Event::StreamEnd, Span::default())),
            Some(Err(error)) => {
                let at = self.byte(*error.marker());
                let line_end = self.text.get(at - self.offset..).and_then(|rest| rest.find(['\r', '\n']));
                let end = line_end.map_or(self.offset + self.text.len(), |length| at + length.min(1));
                let message = format!("this is not YAML: {}", error.info());
                Err(fatal("yaml/syntax", message, at..end.max(at), syntax_help(error.info())))
            }
        }
    }

    fn node(&mut self, event: Event<'a>, span: Span, depth: usize) -> Result<Node, FatalDiagnostic> {
        let range = self.range(span);
        self.nodes += 1;
        if depth > MAX_DEPTH || self.nodes > MAX_NODES {
            let message = format!(
                "there are more than {MAX_NODES} values here, or more than {MAX_DEPTH} inside each other"
            );
            let help = "write it more plainly: no worker needs so many";
            return Err(fatal("yaml/too-large", message, range, help));
        }
        let (anchor, tag) = match &event {
            Event::Scalar(_, _, anchor, tag) => (*anchor, tag.is_some()),
            Event::SequenceStart(anchor, tag) | Event::MappingStart(anchor, tag) => (*anchor, tag.is_some()),
            Event::Alias(anchor) => (*anchor, false),
            _ => (0, false),
        };
        if anchor != 0 || matches!(event, Event::Alias(_)) {
            let problem = Diagnostic::error(
                "yaml/anchor",
                "anchors and aliases are not understood here",
                range.clone(),
            );
            self.problems.push(problem.help("write the value out"));
        } else if tag {
            let problem = Diagnostic::error("yaml/tag", "tags are not understood here", range.clone());
            self.problems.push(problem.help("put text in quotes instead; other values need no tag"));
        }
        match event {
            Event::Scalar(text, style, ..) => Ok(Node { data: scalar(&text, style), span: range }),
            Event::SequenceStart(..) => {
                let (mut items, mut end) = (Vec::new(), range.end);
                loop {
                    let (event, span) = self.next()?;
                    if matches!(event, Event::SequenceEnd | Event::StreamEnd) {
                        end = self.closed(span).unwrap_or(end);
                        return Ok(Node { data: Data::List(items), span: range.start..end });
                    }
                    let item = self.node(event, span, depth + 1)?;
                    end = item.span.end;
                    items.push(item);
                }
            }
            Event::MappingStart(..) => self.map(range, depth),
            _ => Ok(Node { data: Data::Null, span: range }),
        }
    }

    fn map(&mut self, range: Range<usize>, depth: usize) -> Result<Node, FatalDiagnostic> {
        let (mut entries, mut end): (Vec<(Key, Node)>, _) = (Vec::new(), range.end);
        // A block map begins at its first key, but the parser reports that only with the key.
        let mut start = None;
        loop {
            let (event, span) = self.next()?;
            if matches!(event, Event::MappingEnd | Event::StreamEnd) {
                end = self.closed(span).unwrap_or(end);
                let start = start.map_or(range.start, |first: usize| first.min(range.start));
                return Ok(Node { data: Data::Map(entries), span: start..end });
            }
            let key = self.node(event, span, depth + 1)?;
            start.get_or_insert(key.span.start);
            let (event, span) = self.next()?;
            let value = self.node(event, span, depth + 1)?;
            end = value.span.end.max(key.span.end);
            // The parser reports an empty value at the beginning of the next thing. The place of its key is more
            // useful.
            let value = match value.data {
                Data::Null if value.span.is_empty() => Node { span: key.span.clone(), ..value },
                _ => value,
            };
            match key.data {
                Data::Text(text) if entries.iter().any(|(known, _)| known.text == text) => {
                    let message = format!("`{text}` is given twice");
                    let problem = Diagnostic::error("yaml/duplicate-key", message, key.span);
                    let help = match text.bytes().all(|byte| byte.is_ascii_digit()) {
                        true => "within braces a comma ends a number: write `1_000_000` or `1000000`",
                        false => "keep one of the two",
                    };
                    self.problems.push(problem.help(help));
                }
                Data::Text(text) => entries.push((Key { text, span: key.span }, value)),
                // In `true: x` and `1: x`, the author means the key as a word.
                Data::Bool(_) | Data::Number(_) => {
                    let text = self.text.get(key.span.start - self.offset..key.span.end - self.offset);
                    entries.push((Key { text: text.unwrap_or_default().to_owned(), span: key.span }, value));
                }
                _ => {
                    let problem = Diagnostic::error("yaml/key", "a key must be text", key.span);
                    self.problems.push(problem.help("write it like `name: value`"));
                }
            }
        }
    }

    /// Returns the end of a collection that is closed by a bracket. Other collections end with their last value.
    fn closed(&self, span: Span) -> Option<usize> {
        let range = self.range(span);
        let bracket = self.text.get(range.start - self.offset..range.end - self.offset)?;
        matches!(bracket, "]" | "}").then_some(range.end)
    }

    fn byte(&self, marker: Marker) -> usize {
        self.offset + self.starts.get(marker.index()).copied().unwrap_or(self.text.len())
    }

    /// Returns a range without the white space at its end, which the parser includes for block scalars.
    fn range(&self, span: Span) -> Range<usize> {
        let (start, end) = (self.byte(span.start), self.byte(span.end));
        let inside = self.text.get(start - self.offset..end.max(start) - self.offset).unwrap_or_default();
        start..start + inside.trim_end().len()
    }
}

fn fatal(code: &'static str, message: impl Into<String>, span: Range<usize>, help: &str) -> FatalDiagnostic {
    Box::new(Diagnostic::error(code, message, span).help(help))
}

/// Returns help for an error of the parser: the usual way to fix such a text.
fn syntax_help(info: &str) -> &'static str {
    for (part, help) in [
        ("flow", "close every `{` and `[`, with a comma between what they hold"),
        ("mapping values", "put text that holds a colon in quotes"),
        ("escape", "write a backslash in double quotes as `\\\\`, or use single quotes"),
        ("quoted", "close the quotes"),
    ] {
        if info.contains(part) {
            return help;
        }
    }
    "each line is `key: value`, indented with spaces; put text with signs in it in quotes"
}

/// Returns the value of a scalar by the YAML 1.2 core rules. Only a plain scalar can be anything but text.
fn scalar(text: &str, style: ScalarStyle) -> Data {
    let plain = style == ScalarStyle::Plain;
    match text {
        "" | "~" | "null" | "Null" | "NULL" if plain => Data::Null,
        "true" | "True" | "TRUE" if plain => Data::Bool(true),
        "false" | "False" | "FALSE" if plain => Data::Bool(false),
        _ => match number(text).filter(|_| plain) {
            Some(number) => Data::Number(number),
            None => Data::Text(text.to_owned()),
        },
    }
}

/// Returns a decimal number, or `None` if the text is none. An integer that does not fit stays a text, so that
/// nothing is rounded silently.
fn number(text: &str) -> Option<serde_json::Number> {
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    if !digits.starts_with(|c: char| c.is_ascii_digit()) && !digits.starts_with('.') {
        return None;
    }
    if digits.bytes().all(|b| b.is_ascii_digit()) {
        let whole = text.strip_prefix('+').unwrap_or(text);
        return whole.parse::<i64>().map(Into::into).or_else(|_| whole.parse::<u64>().map(Into::into)).ok();
    }
    let shape = digits.bytes().all(|b| matches!(b, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    shape.then(|| text.parse().ok()).flatten().and_then(serde_json::Number::from_f64)
}
