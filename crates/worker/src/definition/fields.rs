//! Strict readers of YAML values. Every unexpected value becomes a diagnostic with its place and a help text, and
//! reading goes on.

use std::ops::Range;

use super::diagnostic::Diagnostic;
use super::suggest;
use super::yaml::{Data, Key, Node};

/// The entries of a map whose keys are known.
pub(crate) struct Fields<'n> {
    entries: Vec<(&'n Key, &'n Node)>,
}

impl<'n> Fields<'n> {
    /// Returns the value of a key. A missing or an empty value is `None`, which stands for the default.
    pub(crate) fn get(&self, key: &str) -> Option<&'n Node> {
        let found = self.entries.iter().find(|(known, _)| known.text == key);
        found.map(|(_, node)| *node).filter(|node| !matches!(node.data, Data::Null))
    }
}

/// The problems found so far. Its methods read values and add the problems that they find.
pub(crate) struct Problems<'p>(pub(crate) &'p mut Vec<Diagnostic>);

impl Problems<'_> {
    /// Reports an error.
    pub(crate) fn error(
        &mut self,
        code: &'static str,
        message: impl Into<String>,
        span: &Range<usize>,
        help: &str,
    ) {
        let problem = Diagnostic::error(code, message, span.clone());
        self.0.push(if help.is_empty() { problem } else { problem.help(help) });
    }

    /// Reports a value of the wrong kind.
    pub(crate) fn wrong(&mut self, what: &str, wanted: &str, node: &Node, help: &str) {
        let message = format!("{what} must be {wanted}, not {}", node.kind());
        self.error("worker/wrong-type", message, &node.span, help);
    }

    /// Returns the entries of a map. Keys that are not in `known` are reported.
    pub(crate) fn fields<'n>(&mut self, node: &'n Node, what: &str, known: &[&str]) -> Option<Fields<'n>> {
        let Data::Map(entries) = &node.data else {
            self.wrong(what, "a map", node, &format!("its keys are {}", listed(known)));
            return None;
        };
        for (at, (key, _)) in entries.iter().enumerate() {
            if !known.contains(&key.text.as_str()) {
                let help = digits_after_comma(entries, at)
                    .unwrap_or_else(|| suggest::help(&key.text, "the keys", known.iter().copied()));
                let message = format!("{what} has no key `{}`", key.text.escape_debug());
                self.error("worker/unknown-key", message, &key.span, &help);
            }
        }
        Some(Fields { entries: entries.iter().map(|(key, node)| (key, node)).collect() })
    }

    /// Returns the entries of a map whose keys the author can choose. A missing map has no entries.
    pub(crate) fn entries<'n>(
        &mut self,
        node: Option<&'n Node>,
        what: &str,
        help: &str,
    ) -> &'n [(Key, Node)] {
        match node.map(|node| (&node.data, node)) {
            None => &[],
            Some((Data::Map(entries), _)) => entries,
            Some((_, node)) => {
                self.wrong(what, "a map", node, help);
                &[]
            }
        }
    }

    /// Returns the items of a list. A missing list has no items.
    pub(crate) fn list<'n>(&mut self, node: Option<&'n Node>, what: &str, help: &str) -> &'n [Node] {
        match node.map(|node| (&node.data, node)) {
            None => &[],
            Some((Data::List(items), _)) => items,
            Some((_, node)) => {
                self.wrong(what, "a list", node, help);
                &[]
            }
        }
    }

    /// Returns the text of a value. A value of another kind is reported.
    pub(crate) fn text<'n>(&mut self, node: &'n Node, what: &str) -> Option<&'n str> {
        match &node.data {
            Data::Text(text) => Some(text),
            _ => {
                self.wrong(what, "text", node, "put it in quotes if it is meant as text");
                None
            }
        }
    }

    /// Returns a text for people, which must be one line of at most `max` characters.
    pub(crate) fn line(&mut self, node: &Node, what: &str, max: usize) -> Option<String> {
        let text = self.text(node, what)?.trim();
        if text.chars().count() > max || text.contains(char::is_control) {
            let message = format!("{what} must be one line of at most {max} characters");
            self.error("worker/line", message, &node.span, "");
            return None;
        }
        (!text.is_empty()).then(|| text.to_owned())
    }

    /// Returns the value of a switch, which is `false` if it is missing.
    pub(crate) fn flag(&mut self, node: Option<&Node>, what: &str) -> bool {
        match node.map(|node| (&node.data, node)) {
            None => false,
            Some((Data::Bool(value), _)) => *value,
            Some((_, node)) => {
                self.wrong(what, "`true` or `false`", node, "");
                false
            }
        }
    }

    /// Returns a whole number within bounds. It is written as a plain number or with a unit that `read` knows. `like`
    /// is an example for the help text.
    pub(crate) fn amount(
        &mut self,
        node: &Node,
        what: &str,
        read: impl Fn(&str) -> Option<u64>,
        bounds: std::ops::RangeInclusive<u64>,
        like: &str,
    ) -> Option<u64> {
        let mut help = format!("write it like `{like}`");
        let value = match &node.data {
            Data::Number(number) => read(&number.to_string()),
            Data::Text(text) => {
                let (grouped, plain) = (text.replace(',', "_"), text.replace(',', ""));
                if text.contains(',') && read(&grouped).is_some() {
                    help = format!("write `{grouped}` or `{plain}`");
                }
                read(text)
            }
            _ => {
                self.wrong(what, "a number", node, &format!("write it like `{like}`"));
                return None;
            }
        };
        if let Some(value) = value.filter(|value| bounds.contains(value)) {
            return Some(value);
        }
        let message = match value {
            None => format!("{what} cannot be read as an amount"),
            Some(value) if value < *bounds.start() => format!("{what} must be at least {}", bounds.start()),
            Some(_) => format!("{what} must be at most {}", bounds.end()),
        };
        self.error("worker/amount", message, &node.span, &help);
        None
    }
}

/// Returns the help for a key of digits that a comma within a number has made, as in `{ tokens: 10,000 }`. `at` is the
/// place of the key.
fn digits_after_comma(entries: &[(Key, Node)], at: usize) -> Option<String> {
    let is_group = |(key, node): &(Key, Node)| {
        matches!(node.data, Data::Null)
            && !key.text.is_empty()
            && key.text.bytes().all(|b| b.is_ascii_digit())
    };
    entries.get(at).filter(|entry| is_group(entry))?;
    let (before, _) = entries.split_at_checked(at)?;
    let first = before.iter().rposition(|entry| !is_group(entry))?;
    let (_, Node { data: Data::Number(number), .. }) = entries.get(first)? else { return None };
    let groups = entries.iter().skip(first + 1).take_while(|entry| is_group(entry));
    let groups: Vec<&str> = groups.map(|(key, _)| key.text.as_str()).collect();
    let way = match groups.iter().all(|group| group.len() == 3) {
        true => format!("write `{number}_{}` or `{number}{}`", groups.join("_"), groups.concat()),
        false => format!("write `{number}.{}`", groups.concat()),
    };
    Some(format!("within braces a comma ends the number: {way}"))
}

/// Returns whether a text can be the name of a slot or a result. Such a name has letters, digits and `_`, begins with
/// a letter, and has at most 32 characters.
pub(crate) fn is_identifier(name: &str) -> bool {
    name.len() <= 32
        && name.starts_with(|c: char| c.is_ascii_alphabetic())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_')
}

/// The help text for a name that is not an identifier.
pub(crate) const IDENTIFIER_HELP: &str =
    "a name is letters, digits and `_`, at most 32, and begins with a letter";

/// Returns the words in backquotes, separated by commas.
pub(crate) fn listed(words: &[&str]) -> String {
    words.iter().map(|word| format!("`{word}`")).collect::<Vec<_>>().join(", ")
}
