//! Slots and fields on the command line: `name:pattern` and `name:pattern=label`.

use kernel::Pattern;
use passable::{Node, PatternError, Secrecy};

use control::exit::{Exit, Failure};

/// A slot or a field, as the user wrote it on the command line.
#[derive(Debug, PartialEq)]
pub struct FieldSpec {
    /// The name of the slot or field.
    pub name: String,
    /// The text of the pattern, as it was written.
    pub text: String,
    /// The parsed pattern.
    pub pattern: Pattern,
    /// The text that the reader sees: the name, unless a label was written.
    pub label: String,
    /// Whether the value that the reader writes is sealed.
    pub secret: bool,
}

/// Parses `name:pattern` or `name:pattern=label`.
///
/// # Errors
/// When the text has neither form, or the pattern cannot be read.
pub fn parse_field_spec(text: &str) -> Result<FieldSpec, Failure> {
    let wrong = |what: &str| {
        Failure::new(Exit::Usage, format!("{text}: {what}"))
            .help("write `name:pattern` or `name:pattern=label`, like `retries:1..5=How often?`")
    };
    let (name, rest) = text.split_once(':').ok_or_else(|| wrong("there is no `:`"))?;
    let (pattern, label) = match end_of_pattern(rest) {
        Some(at) => (&rest[..at], Some(&rest[at + 1..])),
        None => (rest, None),
    };
    field(name, pattern, label)
}

fn field(name: &str, pattern: &str, label: Option<&str>) -> Result<FieldSpec, Failure> {
    if name.is_empty() {
        return Err(Failure::new(Exit::Usage, format!("`:{pattern}` has no name"))
            .help("write `name:pattern` or `name:pattern=label`"));
    }
    let read = read_pattern(pattern.trim()).map_err(|e| {
        Failure::new(Exit::Invalid, format!("{name}: {e}")).help(
            "a pattern is written like `string`, `1..5`, `pass|fail`, `[string]`, `dir rw` or `M.nat()`",
        )
    })?;
    let secret = read.secrecy() == Secrecy::Full;
    Ok(FieldSpec {
        name: name.to_owned(),
        text: pattern.trim().to_owned(),
        pattern: read,
        label: label.map(str::trim).filter(|label| !label.is_empty()).unwrap_or(name).to_owned(),
        secret,
    })
}

/// Returns the position of the `=` before the label, or `None` if there is no label. A `=` inside of brackets or
/// quotes does not count.
fn end_of_pattern(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0_u32, None);
    for (at, c) in text.char_indices() {
        match (quote, c) {
            (Some(q), c) => quote = (q != c).then_some(q),
            (None, '"' | '\'') => quote = Some(c),
            (None, '(' | '[' | '{') => depth += 1,
            (None, ')' | ']' | '}') => depth = depth.saturating_sub(1),
            (None, '=') if depth == 0 => return Some(at),
            _ => {}
        }
    }
    None
}

/// Parses a pattern: an `M.` expression, or the shorthand of worker files.
fn read_pattern(text: &str) -> Result<Pattern, PatternError> {
    let expression = text.contains("M.") || text.starts_with(['{', '[', '"', '\'']);
    if expression {
        Pattern::parse(text)
    } else {
        Pattern::from_shorthand(&Node::Text(text.to_owned(), 0..text.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, expected: (&str, &str, &str)) {
        let hole = parse_field_spec(text).unwrap_or_else(|e| panic!("{text}: {e}"));
        assert_eq!((hole.name.as_str(), hole.text.as_str(), hole.label.as_str()), expected, "{text}");
    }

    #[test]
    fn field_spec_is_parsed_into_name_pattern_and_label() {
        check("retries:1..5", ("retries", "1..5", "retries"));
        check("retries:1..5=How often?", ("retries", "1..5", "How often?"));
        check("out:dir rw=Where = here", ("out", "dir rw", "Where = here"));
        check(r#"v:pass|"a=b"=Which?"#, ("v", r#"pass|"a=b""#, "Which?"));
        check("r:M.splitRecord({ a: M.eq('=') })=A", ("r", "M.splitRecord({ a: M.eq('=') })", "A"));
        check("x:string=", ("x", "string", "x"));
        for (text, secret) in
            [("key:secret", true), ("key:secret?=API key", true), ("key:secret|number", false)]
        {
            assert_eq!(parse_field_spec(text).unwrap().secret, secret, "{text}");
        }
    }

    #[test]
    fn invalid_field_spec_is_refused() {
        for (text, exit) in [
            ("retries", Exit::Usage),
            (":string", Exit::Usage),
            ("a:", Exit::Invalid),
            ("a:M.nope()", Exit::Invalid),
        ] {
            assert_eq!(parse_field_spec(text).map(|_| ()).map_err(|f| f.exit), Err(exit), "{text}");
        }
    }
}
