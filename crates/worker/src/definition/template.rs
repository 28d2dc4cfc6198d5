//! The template language of worker files: the part of Jinja whose cost can be bounded.
//!
//! A worker file may come from anyone, so rendering it must neither hang nor fill memory. MiniJinja's fuel counts
//! instructions, not their cost. So this module admits only parts that cost little per instruction:
//!
//! - text, `{{ … }}`, `if`, `for` over values, and `include` of a named file;
//! - tests, the filters of this crate (which count bytes), and comparison with a literal.
//!
//! Parts that can make a value grow and name it (`set`, `macro`, `~`, `*`) are refused with their place when the file
//! is parsed. Together with the fuel and the limits of rendering, that bounds time and memory by the size of the
//! worker and its data.
//!
//! Only a definition's own text is a template. Values are inserted unchanged and are never parsed as templates.

use std::ops::Range;

use minijinja::machinery::{Span, Token, tokenize};

/// A text of the definition that is rendered with data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Template {
    /// The text of the template. It is empty if the template is an included file.
    pub text: String,
    /// The place of the text: an included file, or a part of the worker file.
    pub place: Place,
}

/// The place of a [`Template`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// An included file, by its name in the bundle.
    File(String),
    /// A byte range of the worker file.
    WorkerFile(Range<usize>),
}

/// The filters that templates may use. There are no others.
pub(crate) const FILTERS: [&str; 14] = [
    "default", "first", "indent", "join", "last", "length", "line", "lower", "replace", "table", "tojson",
    "trim", "truncate", "upper",
];

/// The tests that templates may use.
pub(crate) const TESTS: [&str; 9] =
    ["boolean", "containing", "defined", "mapping", "none", "number", "sequence", "string", "undefined"];

/// The maximum number of words and signs in one `{{ … }}` or `{% … %}`. MiniJinja parses, compiles and frees
/// expressions by recursion, so this bounds its stack.
const MAX_TOKENS: usize = 200;
/// The maximum number of `{{ … }}` and `{% … %}` in one file.
const MAX_TAGS: usize = 5_000;
/// The maximum number of `elif` in one file. Each is a nested `if`.
const MAX_ELIFS: usize = 100;

/// Returns the limit that a template exceeds, with its place. The check needs no memory in proportion to the
/// template.
pub(crate) fn oversized(text: &str) -> Option<(String, Range<usize>)> {
    let (mut tags, mut elifs, mut tokens) = (0, 0, 0);
    // If the text cannot be split into tokens, the parser reports why.
    for (token, span) in tokenize(text, false, Default::default()).map_while(Result::ok) {
        match token {
            Token::TemplateData(_) => {}
            Token::VariableStart | Token::BlockStart => (tags, tokens) = (tags + 1, 0),
            Token::Ident("elif") => elifs += 1,
            _ => tokens += 1,
        }
        let (limit, what) = if tokens > MAX_TOKENS {
            (MAX_TOKENS, "words and signs between these braces")
        } else if tags > MAX_TAGS {
            (MAX_TAGS, "`{{ … }}` and `{% … %}` in one file")
        } else if elifs > MAX_ELIFS {
            (MAX_ELIFS, "`elif` in one file")
        } else {
            continue;
        };
        return Some((format!("there are more than {limit} {what}"), range(span)));
    }
    None
}

/// Returns the expression of a template that consists of one `{{ expression }}`.
pub(crate) fn sole_expression(text: &str) -> Option<&str> {
    let text = text.trim();
    let mut tokens = tokenize(text, false, Default::default());
    let Some(Ok((Token::VariableStart, start))) = tokens.next() else { return None };
    let end = loop {
        match tokens.next()? {
            Ok((Token::VariableEnd, end)) => break end,
            Ok(_) => {}
            Err(_) => return None,
        }
    };
    let whole = tokens.next().is_none();
    text.get(range(start).end..range(end).start).filter(|_| whole).map(str::trim)
}

/// Returns a span as a byte range of its template.
pub(crate) fn range(span: Span) -> Range<usize> {
    let at = |offset: u32| usize::try_from(offset).unwrap_or(usize::MAX);
    at(span.start_offset)..at(span.end_offset)
}
