//! The reader of a form's fields. A file gives each field a name, with a pattern or with a map of a pattern and more.
//! The file is YAML like front matter, or JSON.

use std::borrow::Cow;
use std::ops::Range;

use kernel::{Pattern, Value};
use passable::Secrecy;

use super::bundle::MAX_BYTES;
use super::diagnostic::Diagnostic;
use super::fields::Problems;
use super::parse::{MAX_PROBLEMS, shorthand, whole};
use super::yaml::{self, Data, Key, Node};

/// The keys of a field that is written as a map.
const KEYS: [&str; 5] = ["pattern", "label", "default", "example", "secret"];

const FIELD_HELP: &str = "write it like `age: 0..150`, or `age: { pattern: 0..150, label: How old? }`";

/// One field of a form.
#[derive(Clone, Debug, PartialEq)]
pub struct FormField {
    /// The name of the field.
    pub name: String,
    /// The pattern that the field's value must match.
    pub pattern: Pattern,
    /// The label that a person reads.
    pub label: Option<String>,
    /// The value if a person enters no other value.
    pub default: Option<Value>,
    /// An example of a value.
    pub example: Option<Value>,
    /// Whether the entered value is sealed.
    pub secret: bool,
}

/// Returns the fields of a form, in the order of the file, and all problems. The fields are only valid if there are
/// no problems.
pub fn parse_fields(text: &str) -> (Vec<FormField>, Vec<Diagnostic>) {
    let mut problems = Vec::new();
    let fields = match text.len() > MAX_BYTES {
        true => {
            let message =
                format!("a file of {} bytes is too large: at most {MAX_BYTES} are read", text.len());
            problems.push(Diagnostic::error("form/too-large", message, 0..0));
            vec![]
        }
        false => fields(text, &mut problems),
    };
    for problem in &mut problems {
        problem.code = form_code(problem.code);
        problem.span = whole(text, problem.span.clone());
    }
    problems.sort_by_key(|problem| problem.span.start);
    problems.truncate(MAX_PROBLEMS);
    (fields, problems)
}

/// Returns the code of a problem in a form. The readers of front matter report codes for workers.
fn form_code(code: &'static str) -> &'static str {
    match code {
        "worker/unknown-key" => "form/unknown-key",
        "worker/wrong-type" => "form/wrong-type",
        "worker/pattern" => "form/pattern",
        "worker/line" => "form/line",
        other => other,
    }
}

fn fields(text: &str, problems: &mut Vec<Diagnostic>) -> Vec<FormField> {
    let text = match text.trim_start().starts_with('{') {
        true => Cow::Owned(as_yaml(text)),
        false => Cow::Borrowed(text),
    };
    let before = problems.len();
    let root = yaml::read(&text, 0, problems);
    match root.as_ref().map(|root| (&root.data, root)) {
        Some((Data::Map(entries), _)) if !entries.is_empty() => entries
            .iter()
            .filter_map(|(key, node)| field(key, node, &text, &mut Problems(problems)))
            .collect(),
        None | Some((Data::Null | Data::Map(_), _)) => {
            if problems.len() == before {
                problems
                    .push(Diagnostic::error("form/empty", "there are no fields here", 0..0).help(FIELD_HELP));
            }
            vec![]
        }
        Some((_, root)) => {
            Problems(problems).wrong("a form", "a map of names and patterns", root, FIELD_HELP);
            vec![]
        }
    }
}

/// Returns JSON as YAML. JSON is already YAML, except for tabs in the indentation and for characters that are escaped
/// as a surrogate pair. Only text after such a character on the same line is moved.
fn as_yaml(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for line in json.split_inclusive('\n') {
        let line = line.replace('\t', " ");
        let mut whole = String::with_capacity(line.len());
        let mut rest = line.as_str();
        while let Some(at) = rest.find('\\') {
            let (before, escape) = rest.split_at(at);
            whole.push_str(before);
            let (length, char) = match surrogate_pair(escape) {
                Some(char) => (12, Some(char)),
                None => (1 + escape.chars().nth(1).map_or(0, char::len_utf8), None),
            };
            match char {
                Some(char) => whole.push(char),
                None => whole.push_str(escape.get(..length).unwrap_or_default()),
            }
            rest = escape.get(length..).unwrap_or_default();
        }
        whole.push_str(rest);
        // The line keeps its length. Blanks between the parts of JSON have no meaning.
        let end = whole.trim_end_matches(['\r', '\n']).len();
        let blanks = " ".repeat(line.len() - whole.len());
        whole.insert_str(end, &blanks);
        text.push_str(&whole);
    }
    text
}

/// Returns the character of an escaped surrogate pair at the beginning of a text.
fn surrogate_pair(text: &str) -> Option<char> {
    let half = |at: usize| {
        let digits = text.get(at..at + 6)?.strip_prefix("\\u")?;
        u16::from_str_radix(digits, 16).ok()
    };
    char::decode_utf16([half(0)?, half(6)?]).next()?.ok().filter(|char| char.len_utf16() == 2)
}

fn field(key: &Key, node: &Node, source: &str, problems: &mut Problems<'_>) -> Option<FormField> {
    let name = key.text.clone();
    if name.is_empty() {
        problems.error("form/name", "a field needs a name", &key.span, FIELD_HELP);
        return None;
    }
    let shown = format!("the field `{}`", name.escape_debug());
    let Data::Map(_) = &node.data else {
        let pattern = pattern(node, source, problems)?;
        let secret = is_secret(&name, &pattern, &node.span, problems)?;
        return Some(FormField { name, pattern, label: None, default: None, example: None, secret });
    };
    // A field that is a record must write it as a pattern. Otherwise a misspelled key would count as a field of the
    // record.
    let parts = problems.fields(node, &shown, &KEYS)?;
    let pattern = match parts.get("pattern") {
        Some(node) => pattern(node, source, problems)?,
        None => Pattern::string(),
    };
    let mut value = |part: &str| {
        let node = parts.get(part)?;
        match pattern.read_json(&node.to_json()) {
            Ok(value) => Some(value),
            Err(mismatch) => {
                let message = format!("the {part} of `{}`: {}", name.escape_debug(), mismatch.teach());
                let help = format!("the {part} must fit the field's pattern");
                problems.error("form/value", message, &node.span, &help);
                None
            }
        }
    };
    let (default, example) = (value("default"), value("example"));
    let secret = is_secret(&name, &pattern, &node.span, problems)?;
    let label = parts.get("label").and_then(|node| problems.line(node, "`label`", 300));
    let secret = problems.flag(parts.get("secret"), "`secret`") || secret;
    Some(FormField { name, pattern, label, default, example, secret })
}

/// Returns the pattern of a value in shorthand. A text may be an `M.` expression, or a record or list in the syntax
/// of expressions.
fn pattern(node: &Node, source: &str, problems: &mut Problems<'_>) -> Option<Pattern> {
    match &node.data {
        Data::Text(text) if text.trim_start().starts_with(['{', '[']) => match Pattern::parse(text) {
            Ok(pattern) => Some(pattern),
            Err(error) => {
                problems.error(
                    "form/pattern",
                    error.message,
                    &node.span,
                    error.help.as_deref().unwrap_or(FIELD_HELP),
                );
                None
            }
        },
        _ => shorthand(node, source, problems),
    }
}

/// Returns whether the pattern requires a secret as its whole value. Returns `None` if only a part would be a secret,
/// because a part cannot be sealed. This is reported as a problem.
fn is_secret(
    name: &str,
    pattern: &Pattern,
    span: &Range<usize>,
    problems: &mut Problems<'_>,
) -> Option<bool> {
    if pattern.secrecy() == Secrecy::Partial {
        let message = format!("`{}` asks for a secret as a part of something else", name.escape_debug());
        problems.error(
            "form/secret",
            message,
            span,
            "a secret is a field of its own, as `key: secret` or `secret?`",
        );
        return None;
    }
    Some(pattern.secrecy() == Secrecy::Full)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the fields, one in each line. If there are problems, returns those instead: line, column, the text at
    /// that place, code and message.
    fn read(text: &str) -> String {
        let (fields, problems) = parse_fields(text);
        let problems = problems.iter().map(|problem| {
            let before = &text[..problem.span.start];
            let line = before.matches('\n').count() + 1;
            let column = before.len() - before.rfind('\n').map_or(0, |at| at + 1) + 1;
            let there = &text[problem.span.clone()];
            let help = problem.help.as_deref().unwrap_or_default();
            format!("{line}:{column} {there:?} [{}] {}\n  {help}", problem.code, problem.message)
        });
        let shown: Vec<String> = problems.collect();
        if !shown.is_empty() {
            return shown.join("\n");
        }
        let field = |field: &FormField| {
            let value = |value: &Option<Value>| value.as_ref().map(|value| format!("{value:?}"));
            let FormField { name, pattern, label, default, example, secret } = field;
            let label = label.as_deref().unwrap_or("-");
            let (default, example) = (value(default), value(example));
            let pattern = pattern.describe();
            format!("{name}: {pattern} / {label} / {default:?} / {example:?} / {secret}")
        };
        fields.iter().map(field).collect::<Vec<_>>().join("\n")
    }

    #[test]
    fn yaml_and_json_forms_are_equal() {
        let yaml = "z: string\nage:\n  pattern: 0..150\n  label: How old?\n  default: 30\n  example: 4\nmode: fast|slow\n\
                    key: secret\npin: { secret: true }\nwhere: dir rw\nlist: [string]\nother: M.nat()\n";
        let json = "{\"z\": \"string\",\n\t\"age\": {\"pattern\": \"0..150\", \"label\": \"How old?\", \"default\": 30,\n\
                    \t\t\"example\": 4},\n\"mode\": \"fast|slow\", \"key\": \"secret\", \"pin\": {\"secret\": true}, \
                    \"where\": \"dir rw\", \"list\": [\"string\"], \"other\": \"M.nat()\"}";
        assert_eq!(read(yaml), read(json));
        insta::assert_snapshot!(read(yaml));
        // The text has an escaped surrogate pair, as JSON needs where only ASCII is allowed.
        let escaped = "{\"a\": {\"label\": \"\\ud83d\\ude00 \\/ \\\\u0041\"},\n\"b\": {\"patern\": 1}}";
        assert!(read(escaped).starts_with("2:7 \"\\\"patern\\\"\""), "{}", read(escaped));
        let escaped = &escaped[..escaped.find(",\n").unwrap()];
        assert_eq!(read(&format!("{escaped}}}")), "a: text / \u{1f600} / \\u0041 / None / None / false");
        let nested = "r:\n  pattern: { team: 1..5, note?: string }\n";
        assert!(read(nested).starts_with("r: a record of team"), "{}", read(nested));
    }

    #[test]
    fn form_problems_have_places() {
        insta::assert_snapshot!(read(
            "a: a|\n\nb: { patern: string }\nc: { pattern: 1..5, default: 9 }\nd: {label: [x]}\ne: M.nope()\n"
        ));
        insta::assert_snapshot!(read("{\n\t\"a\": {\"patern\": \"string\"}}"));
        insta::assert_snapshot!(read("a: {\n"));
        insta::assert_snapshot!(read("a: string\na: number\n"));
        // A secret that is only a part of a field cannot be sealed.
        for part in ["secret|number", "[secret]", "'{ user: M.string(), password: M.refine(\"secret\") }'"] {
            for text in [format!("k: {part}\n"), format!("k:\n  pattern: {part}\n  secret: true\n")] {
                assert!(
                    read(&text).contains("[form/secret] `k` asks for a secret as a part"),
                    "{}",
                    read(&text)
                );
            }
        }
        let login = "k: { pattern: { user: string, password: secret } }\n";
        assert!(read(login).contains("[form/secret] `k` asks"), "{}", read(login));
        assert_eq!(read("k: secret?\n"), "k: a secret (may be left out) / - / None / None / true");
        for empty in ["", "# nothing\n", "{}"] {
            assert!(read(empty).contains("[form/empty]"), "{empty:?}");
        }
        for none in ["[]", "text", "[a, b]", "- a: string"] {
            assert!(read(none).contains("[form/wrong-type]"), "{none:?}: {}", read(none));
        }
    }
}
