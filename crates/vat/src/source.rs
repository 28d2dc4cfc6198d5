//! Checks of source text before the engine gets it, and the places of errors afterwards.

use passable::{is_binding, visible_line};

use crate::frame::Place;
use crate::source_map::OriginalPlace;

/// The maximum number of characters of a source line that are shown.
const MAX_EXCERPT_LEN: usize = 200;

/// Checks that each name can be the name of a constant, and that no name occurs twice.
pub(crate) fn check_names(names: &[String]) -> Result<(), String> {
    for (index, name) in names.iter().enumerate() {
        if !is_binding(name) {
            return Err(format!("`{}` cannot be the name of an endowment", visible_line(name)));
        }
        if names.iter().skip(index + 1).any(|other| other == name) {
            return Err(format!("the name `{name}` is given twice"));
        }
    }
    Ok(())
}

/// Refuses comments in the form of HTML comments, which scripts may still have. They are dangerous because a reader
/// takes them for code. The error is the line and column of the first one.
pub(crate) fn check_source(source: &str) -> Result<(), (u32, u32)> {
    Tokens { bytes: source.as_bytes(), at: 0, value_before: false, line_is_empty: true, braces: Vec::new() }
        .run()
        .map_err(|at| {
            let before = source.get(..at).unwrap_or_default();
            let line = before.split(['\n', '\u{2028}', '\u{2029}']).count();
            let column =
                before.rsplit(['\n', '\u{2028}', '\u{2029}']).next().unwrap_or_default().chars().count() + 1;
            (u32::try_from(line).unwrap_or(u32::MAX), u32::try_from(column).unwrap_or(u32::MAX))
        })
}

/// A simple tokeniser, which can only distinguish code from strings, templates, comments and regular expressions.
struct Tokens<'a> {
    bytes: &'a [u8],
    at: usize,
    /// Whether a `/` here is a division, and not the beginning of a regular expression.
    value_before: bool,
    /// Whether the line has had only space and comments so far.
    line_is_empty: bool,
    /// The open braces. The value is `true` for a brace inside a template.
    braces: Vec<bool>,
}

impl Tokens<'_> {
    fn begins(&self, what: &[u8]) -> bool {
        self.bytes.get(self.at..).is_some_and(|rest| rest.starts_with(what))
    }

    fn run(mut self) -> Result<(), usize> {
        while let Some(&byte) = self.bytes.get(self.at) {
            match byte {
                b'\n' | b'\r' => {
                    self.line_is_empty = true;
                    self.at += 1;
                }
                b' ' | b'\t' | 0x0B | 0x0C => self.at += 1,
                b'/' if self.begins(b"//") => self.line_comment(),
                b'/' if self.begins(b"/*") => self.block_comment(),
                _ if self.begins(b"<!--") => return Err(self.at),
                _ if self.line_is_empty && self.begins(b"-->") => return Err(self.at),
                // The Unicode line and paragraph separators end lines too.
                0xE2 if self.begins("\u{2028}".as_bytes()) || self.begins("\u{2029}".as_bytes()) => {
                    self.line_is_empty = true;
                    self.at += 3;
                }
                0xC2 if self.begins("\u{A0}".as_bytes()) => self.at += 2,
                0xEF if self.begins("\u{FEFF}".as_bytes()) => self.at += 3,
                b'"' | b'\'' => self.string(byte),
                b'`' => self.template(),
                b'/' => self.slash(),
                b'{' => {
                    self.braces.push(false);
                    self.token(1, false);
                }
                b'}' => match self.braces.pop() {
                    Some(true) => {
                        self.line_is_empty = false;
                        self.at += 1;
                        self.template_part();
                    }
                    // After a block, a `/` begins a regular expression. After an object it is a division, but that is
                    // rare and not handled.
                    _ => self.token(1, false),
                },
                b')' | b']' => self.token(1, true),
                b'+' if self.begins(b"++") => self.token(2, self.value_before),
                b'-' if self.begins(b"--") => self.token(2, self.value_before),
                b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'_' | b'$' | b'#' | b'\\' | 0x80.. => self.word(),
                b'.' if self.value_before => {
                    self.token(1, true);
                    self.after_dot();
                }
                _ => self.token(1, false),
            }
        }
        Ok(())
    }

    fn token(&mut self, length: usize, value: bool) {
        self.at += length;
        self.value_before = value;
        self.line_is_empty = false;
    }

    /// Skips the name of a property. The name counts as a value even if it is a keyword.
    fn after_dot(&mut self) {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| is_word(*byte)) {
            self.at += 1;
        }
        if self.at > start {
            self.value_before = true;
        }
    }

    fn word(&mut self) {
        let start = self.at;
        while self.bytes.get(self.at).is_some_and(|byte| is_word(*byte)) {
            // The Unicode separators are not part of names.
            if self.begins("\u{2028}".as_bytes()) || self.begins("\u{2029}".as_bytes()) {
                break;
            }
            self.at += 1;
        }
        let word = self.bytes.get(start..self.at).unwrap_or_default();
        const OPERATORS: &[&[u8]] = &[
            b"return",
            b"typeof",
            b"instanceof",
            b"in",
            b"of",
            b"new",
            b"delete",
            b"void",
            b"throw",
            b"case",
            b"do",
            b"else",
            b"yield",
            b"await",
            b"default",
            b"extends",
        ];
        self.value_before = !OPERATORS.contains(&word);
        self.line_is_empty = false;
        if self.at == start {
            self.at += 1;
        }
    }

    fn line_comment(&mut self) {
        while let Some(byte) = self.bytes.get(self.at) {
            let separator = self.begins("\u{2028}".as_bytes()) || self.begins("\u{2029}".as_bytes());
            if matches!(byte, b'\n' | b'\r') || separator {
                break;
            }
            self.at += 1;
        }
    }

    /// Skips a comment. A comment over several lines ends the line, which matters for a `-->` after it.
    fn block_comment(&mut self) {
        self.at += 2;
        while self.at < self.bytes.len() && !self.begins(b"*/") {
            let separator = self.begins("\u{2028}".as_bytes()) || self.begins("\u{2029}".as_bytes());
            if separator || matches!(self.bytes.get(self.at), Some(b'\n' | b'\r')) {
                self.line_is_empty = true;
            }
            self.at += 1;
        }
        self.at += 2;
    }

    fn string(&mut self, quote: u8) {
        self.at += 1;
        while let Some(&byte) = self.bytes.get(self.at) {
            self.at += match byte {
                b'\\' => 2,
                _ => 1,
            };
            // A string that does not end on its line is an error, which the engine will report.
            if byte == quote || matches!(byte, b'\n' | b'\r') {
                break;
            }
        }
        self.value_before = true;
        self.line_is_empty = false;
    }

    fn template(&mut self) {
        self.at += 1;
        self.template_part();
    }

    fn template_part(&mut self) {
        self.value_before = true;
        self.line_is_empty = false;
        while let Some(&byte) = self.bytes.get(self.at) {
            if self.begins(b"${") {
                self.at += 2;
                self.braces.push(true);
                self.value_before = false;
                return;
            }
            self.at += if byte == b'\\' { 2 } else { 1 };
            if byte == b'`' {
                return;
            }
        }
    }

    /// Skips a division or a regular expression. A regular expression must end on its line.
    fn slash(&mut self) {
        let end = if self.value_before { None } else { self.end_of_regexp() };
        match end {
            Some(end) => {
                self.at = end;
                self.value_before = true;
                self.line_is_empty = false;
            }
            None => self.token(1, false),
        }
    }

    fn end_of_regexp(&self) -> Option<usize> {
        let (mut at, mut in_class) = (self.at + 1, false);
        loop {
            match self.bytes.get(at)? {
                b'\n' | b'\r' => return None,
                b'\\' => at += 1,
                b'[' => in_class = true,
                b']' => in_class = false,
                b'/' if !in_class => return Some(at + 1),
                _ => {}
            }
            at += 1;
        }
    }
}

fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'$' | b'#' | b'\\') || byte >= 0x80
}

/// The engine's name for source text that is evaluated.
pub(crate) const EVALUATED_NAME: &str = "<input>";

/// A place in the engine's stack trace.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StackPlace<'a> {
    /// The name of the source that ran, in the form `<…>`.
    pub(crate) name: &'a str,
    /// The line and column, counted from 1.
    pub(crate) at: (u32, u32),
    /// The line and column in the JSON text that was being parsed, if any.
    pub(crate) in_json: Option<(u32, u32)>,
}

/// Returns the guest's places in the engine's stack trace, the innermost first. The realm's own code has no name of
/// the form `<…>`, so it is left out. The engine reports a place in a JSON text as if it were in a source. Such a
/// place is joined with the place of the code that parses the text.
pub(crate) fn stack_places(stack: &str) -> Vec<StackPlace<'_>> {
    let mut spots = Vec::new();
    let mut in_json = None;
    let mut lines = stack.lines().peekable();
    while let Some(line) = lines.next() {
        let Some((name, at)) = parse_stack_line(line) else { continue };
        if lines.peek().is_some_and(|next| next.trim() == "at parse (native)") {
            in_json = Some(at);
        } else {
            spots.push(StackPlace { name, at, in_json: in_json.take() });
        }
    }
    spots
}

fn parse_stack_line(line: &str) -> Option<(&str, (u32, u32))> {
    let (before, spot) = line.rsplit_once(">:")?;
    let name = line.get(before.rfind('<')?..=before.len())?;
    let mut numbers = spot.split(|char: char| !char.is_ascii_digit()).map(str::parse::<u32>);
    Some((name, (numbers.next()?.ok()?, numbers.next()?.ok()?)))
}

impl From<OriginalPlace> for Place {
    fn from(original: OriginalPlace) -> Place {
        let (line, column) = original.at;
        Place {
            module: Some(visible_line(&original.name).into_owned()),
            ..place(line, column, original.text.as_deref())
        }
    }
}

/// Returns a place, with its source line if the source is known.
pub(crate) fn place(line: u32, column: u32, source: Option<&str>) -> Place {
    let text = source.and_then(|source| source.lines().nth((line as usize).saturating_sub(1)));
    let cut: String = text.unwrap_or_default().chars().take(MAX_EXCERPT_LEN).collect();
    Place { line, column, excerpt: visible_line(&cut).into_owned(), module: None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_html_comments_are_refused() {
        for (source, expected) in [
            ("<!-- x", Some((1, 1))),
            ("1 <!-- x", Some((1, 3))),
            ("1\n--> x", Some((2, 1))),
            ("1\n  /* a */ --> x", Some((2, 11))),
            ("1 /*\n*/ --> x", Some((2, 4))),
            ("--> x", Some((1, 1))),
            ("`${1 <!-- x\n}`", Some((1, 6))),
            ("a / b <!-- c / 2", Some((1, 7))),
            ("x\u{2028}--> y", Some((2, 1))),
            ("(a) / 1 <!-- /", Some((1, 9))),
            ("a[0] / 1 <!-- /", Some((1, 10))),
            ("x.return / 1 <!-- /", Some((1, 14))),
            ("a++ / 1 <!-- /", Some((1, 9))),
            ("while (x --> 0) {}", None),
            ("'<!-- x -->'", None),
            ("\"\\\"<!--\"", None),
            ("`<!-- ${a} -->`", None),
            ("// <!-- x", None),
            ("/* \n --> */", None),
            ("/<!--/.test(x)", None),
            ("x = /[/]<!--/", None),
            ("return /<!--/", None),
            ("`\n-->`", None),
            ("a < !b", None),
            ("é <\u{A0}!--b", None),
        ] {
            assert_eq!(check_source(source).err(), expected, "{source:?}");
        }
    }

    #[test]
    fn endowment_names_must_be_identifiers() {
        for (name, good) in [
            ("counter", true),
            ("$x_1", true),
            ("E", true),
            ("eval", false),
            ("arguments", false),
            ("1a", false),
            ("", false),
            ("a b", false),
            ("a;alert", false),
            ("é", false),
            ("let", false),
            ("$id", false),
        ] {
            let names = [name.to_owned(), "$id".to_owned()];
            assert_eq!(check_names(&names).is_ok(), good, "{name:?}");
        }
    }

    #[test]
    fn stack_places_exclude_realm_code() {
        let stack = "    at fail (realm:1:2)\n    at f (<input>:2:7)\n    at <eval> (<a/b.js>:3:1)\n    at <input>:9:9";
        let found: Vec<_> = stack_places(stack).iter().map(|spot| (spot.name, spot.at)).collect();
        assert_eq!(found, [("<input>", (2, 7)), ("<a/b.js>", (3, 1)), ("<input>", (9, 9))]);
        let json = "    at <input>:1:3\n    at parse (native)\n    at <eval> (<input>:2:6)\n";
        assert_eq!(stack_places(json), [StackPlace { name: "<input>", at: (2, 6), in_json: Some((1, 3)) }]);
        let place = place(2, 7, Some("a\nthrow b\nc"));
        assert_eq!((place.label().as_str(), place.excerpt.as_str()), ("eval.js:2:7", "throw b"));
        for nowhere in ["    at x (native)", "a>:", "<>:x:1", ">:1:2", ""] {
            assert_eq!(stack_places(nowhere).first(), None, "{nowhere}");
        }
    }
}
