//! The needles of the search: the parts of arguments that are meaningful by themselves.

use std::collections::BTreeSet;

use kernel::proposal::Value;

use super::view::{self, Budget};

/// The kind of a needle. The more telling kinds sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// An address to which something could be sent.
    Address,
    /// A whole string.
    Text,
    /// A line.
    Line,
    /// A path, a number, or a name with signs.
    Token,
    /// The host of an address.
    Host,
    /// A few words in a row.
    Phrase,
}

/// One part of one argument.
#[derive(Debug)]
pub(super) struct Needle {
    /// The name of the parameter.
    pub(super) argument: String,
    /// The part as it is written in the argument.
    pub(super) shown: String,
    /// The normalised part, for the search.
    pub(super) text: String,
    /// The kind of the needle.
    pub(super) rank: Rank,
    /// The encodings that were decoded in the argument to find the part.
    pub(super) steps: Vec<&'static str>,
}

impl Needle {
    /// Returns the sort key of a needle. Addresses come first, then parts that were found with the fewest decoded
    /// encodings.
    pub(super) fn order(&self) -> impl Ord + use<> {
        (self.rank != Rank::Address, self.steps.len(), self.rank)
    }
}

/// The minimum length of a part in bytes, except for addresses.
const MIN_LEN: usize = 8;

/// The maximum length of a part in bytes. A longer part is found by its own parts.
const MAX_LEN: usize = 4096;

/// The maximum number of parts of all arguments.
const MAX_ITEMS: usize = 512;

/// The maximum number of bytes of arguments that are read, decoded versions included.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// The number of words in a row that count as copied.
const PHRASE_WORDS: usize = 5;

/// Returns the needles of all strings in all arguments, the most telling ones first.
pub(super) fn all<'a>(args: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Vec<Needle> {
    let mut budget = Budget::new(MAX_ARGUMENT_BYTES);
    let mut needles = Vec::new();
    for (argument, value) in args {
        let mut strings = Vec::new();
        gather(value, &mut strings);
        for string in strings {
            for view in view::argument(&string, &mut budget) {
                parts(&view.text, |rank, shown| {
                    let text = view::normalise(shown);
                    let is_meant = match rank {
                        // Words such as "at" in prose produce texts that only look like addresses.
                        Rank::Address => view.steps.is_empty() || text.contains('.'),
                        _ => (MIN_LEN..=MAX_LEN).contains(&text.len()),
                    };
                    if is_meant {
                        let steps = view.steps.clone();
                        needles.push(Needle {
                            argument: argument.into(),
                            shown: shown.into(),
                            text,
                            rank,
                            steps,
                        });
                    }
                });
            }
        }
    }
    needles.sort_by_key(Needle::order);
    let mut seen = BTreeSet::new();
    needles.retain(|needle| seen.insert((needle.argument.clone(), needle.text.clone())));
    needles.truncate(MAX_ITEMS);
    needles
}

/// Collects every string in a value, including the names of fields, because a model chooses those as well.
fn gather(value: &Value, strings: &mut Vec<String>) {
    match value {
        Value::String(text) => strings.push(text.to_str_lossy().into_owned()),
        Value::Bytes(bytes) => strings.push(String::from_utf8_lossy(bytes).into_owned()),
        Value::Array(elements) => elements.iter().for_each(|element| gather(element, strings)),
        Value::Record(fields) => fields.iter().for_each(|(name, field)| {
            strings.push(name.to_str_lossy().into_owned());
            gather(field, strings);
        }),
        Value::Tagged(tagged) => gather(tagged.payload(), strings),
        _ => {}
    }
}

/// Calls `take` with every part of `text` and its kind.
fn parts(text: &str, mut take: impl FnMut(Rank, &str)) {
    take(Rank::Text, text.trim());
    for address in addresses(text) {
        take(Rank::Address, address);
        if let Some((_, host)) = address.split_once('@') {
            take(Rank::Host, host);
        }
    }
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        take(Rank::Line, line);
        let words: Vec<&str> = line.split_whitespace().collect();
        for word in &words {
            let token = word.trim_matches(|c: char| !c.is_alphanumeric() && c != '/');
            if token.len() >= MIN_LEN && token.contains(|c: char| !c.is_alphabetic()) {
                take(Rank::Token, token);
            }
        }
        if words.len() > PHRASE_WORDS {
            words.chunks_exact(PHRASE_WORDS).for_each(|some| take(Rank::Phrase, &some.join(" ")));
        }
    }
}

/// Returns everything in `text` that looks like `local@host`.
fn addresses(text: &str) -> impl Iterator<Item = &str> {
    let is_local = |c: char| c.is_alphanumeric() || "!#$%&'*+-/=?^_`{|}~.".contains(c);
    let is_host = |c: char| c.is_alphanumeric() || c == '-' || c == '.';
    text.match_indices('@').filter_map(move |(at, _)| {
        let start = at
            - text[..at]
                .chars()
                .rev()
                .take(64)
                .take_while(|c| is_local(*c))
                .map(char::len_utf8)
                .sum::<usize>();
        let host = &text[at + 1..];
        let end =
            at + 1 + host.chars().take(255).take_while(|c| is_host(*c)).map(char::len_utf8).sum::<usize>();
        let address = text[start..end].trim_end_matches(['.', '-']);
        (start < at && address.len() > at + 1 - start).then_some(address)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_found_in_running_text() {
        for (text, expected) in [
            ("Write to <a.b+c@d-e.example>, or x@y.", vec!["a.b+c@d-e.example", "x@y"]),
            ("@ a@ @b a @ b", vec![]),
            ("mailto:ä@ö.example", vec!["ä@ö.example"]),
        ] {
            assert_eq!(addresses(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }
}
