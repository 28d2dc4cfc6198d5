//! The needles of the search: the values of arguments, and the parts of them that are meaningful by themselves.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use kernel::proposal::Value;

use super::decode::SET_APART;
use super::index::{MIN_SQUEEZED_LEN, Pattern};
use super::text::{normalise, squeeze};
use super::view::{self, Budget};
use super::{date, number};

/// The kind of a needle. The more telling kinds sort first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Rank {
    /// A whole value that is an address: of mail, of a page.
    WholeAddress,
    /// An address in a longer value.
    Address,
    /// A whole value that is a number, a date or an identifier.
    WholeNumber,
    /// A whole value of another kind.
    Whole,
    /// A number or a date in a longer value.
    Number,
    /// A line.
    Line,
    /// A path, or a name with signs.
    Token,
    /// The host of an address.
    Host,
    /// A few words in a row.
    Phrase,
    /// The name of a field of a record.
    Label,
}

impl Rank {
    /// Returns whether a needle of this rank is an address.
    pub(super) fn is_address(self) -> bool {
        matches!(self, Rank::WholeAddress | Rank::Address)
    }

    /// Returns whether a needle of this rank is a whole value.
    pub(super) fn is_whole(self) -> bool {
        matches!(self, Rank::WholeAddress | Rank::WholeNumber | Rank::Whole)
    }
}

/// One value of an argument: the argument itself, or an element of a list or a record.
pub(super) struct Leaf {
    /// The name of the parameter.
    pub(super) argument: String,
    /// The name of the field or parameter that holds the value.
    pub(super) key: String,
    /// The value as text.
    pub(super) text: String,
    /// Whether the argument has further values.
    pub(super) is_element: bool,
    /// Whether this is the name of a field, which the schema often sets.
    pub(super) is_label: bool,
    /// Whether the value is a number, not a text.
    pub(super) is_number: bool,
}

/// One part of one value.
pub(super) struct Needle {
    /// The index of the value.
    pub(super) leaf: usize,
    /// The part as it is written in the argument.
    pub(super) shown: String,
    /// The part, for the search.
    pub(super) pattern: Pattern,
    /// The kind of the needle.
    pub(super) rank: Rank,
    /// The encodings that were decoded in the argument to find the part.
    pub(super) steps: Vec<&'static str>,
    /// The numbers that the part can mean, without signs.
    pub(super) numbers: Vec<String>,
    /// The number that a person would mean by the part, with its sign.
    pub(super) typed_number: Option<String>,
    /// The dates and times that the part means, each in all its meanings.
    pub(super) moments: Vec<Vec<String>>,
    /// The letters and digits of the part, if it is an address or an identifier.
    pub(super) squeezed: Option<String>,
}

impl Needle {
    /// Returns the sort key of a needle. The most telling needles come first.
    pub(super) fn order(&self) -> impl Ord + use<> {
        (
            self.rank == Rank::Label,
            !self.rank.is_address(),
            self.steps.len(),
            self.rank,
            Reverse(self.shown.len()),
        )
    }

    /// Returns whether the needle is a whole value, as it is written.
    pub(super) fn is_whole(&self) -> bool {
        self.rank.is_whole() && self.steps.is_empty()
    }

    /// Returns whether the needle is a number of so few digits that it stands in many texts by chance.
    pub(super) fn is_common_number(&self) -> bool {
        self.pattern.text.len() <= 2 && self.pattern.text.bytes().all(|byte| byte.is_ascii_digit())
    }

    /// Returns the needle as it is searched for in the spellings that are their own inverse.
    pub(super) fn mirrored(&self) -> Vec<(Pattern, Vec<&'static str>)> {
        let text = &self.pattern.text;
        let is_long = text.len() >= if self.rank.is_address() { 6 } else { MIN_LEN };
        if !is_long || self.rank == Rank::Label || !text.contains(|c: char| c.is_ascii_alphabetic()) {
            return Vec::new();
        }
        let (turned, back) = (view::rot13(text), view::reversed(text));
        let both = view::reversed(&turned);
        [
            (turned, vec!["rot13"]),
            (back, vec!["written backwards"]),
            (both, vec!["written backwards", "rot13"]),
        ]
        .into_iter()
        .filter_map(|(text, steps)| Some((Pattern::of_normalised(text)?, steps)))
        .collect()
    }
}

/// The minimum length of a part in bytes, except for addresses and numbers.
const MIN_LEN: usize = 8;

/// The maximum length of a part in bytes. A longer part is found by its own parts.
const MAX_LEN: usize = 4096;

/// The minimum number of digits of a number in a longer value.
const MIN_DIGITS: usize = 4;

/// The maximum number of parts of all arguments.
const MAX_ITEMS: usize = 512;

/// The maximum number of values of all arguments.
const MAX_LEAVES: usize = 256;

/// The maximum number of bytes of arguments that are read, decoded versions included.
const MAX_ARGUMENT_BYTES: usize = 1 << 20;

/// The number of words in a row that count as copied.
const PHRASE_WORDS: usize = 5;

/// Returns the values of all arguments. The names of fields come last, because the schema often sets them.
pub(super) fn leaves<'a>(args: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Vec<Leaf> {
    let mut leaves = Vec::new();
    for (argument, value) in args {
        gather(argument, argument, value, false, &mut leaves);
    }
    leaves.sort_by_key(|leaf: &Leaf| leaf.is_label);
    leaves.truncate(MAX_LEAVES);
    leaves
}

/// Collects every value in an argument, and the names of fields, because a model chooses those as well.
fn gather(argument: &str, key: &str, value: &Value, is_element: bool, leaves: &mut Vec<Leaf>) {
    let mut push = |text: String, is_label: bool, is_number: bool| {
        if !text.trim().is_empty() {
            let (argument, key) = (argument.to_owned(), key.to_owned());
            leaves.push(Leaf { argument, key, text, is_element, is_label, is_number });
        }
    };
    match value {
        Value::String(text) => push(text.to_str_lossy().into_owned(), false, false),
        Value::Bytes(bytes) => push(String::from_utf8_lossy(bytes).into_owned(), false, false),
        Value::Number(number) if number.is_finite() => push(number::of_double(*number), false, true),
        Value::BigInt(number) => push(number.to_string(), false, true),
        Value::Array(elements) => {
            elements.iter().for_each(|element| gather(argument, key, element, true, leaves));
        }
        Value::Record(fields) => fields.iter().for_each(|(name, field)| {
            let label = name.to_str_lossy().into_owned();
            leaves.push(Leaf {
                argument: argument.to_owned(),
                key: key.to_owned(),
                text: label.clone(),
                is_element: true,
                is_label: true,
                is_number: false,
            });
            gather(argument, &label, field, true, leaves);
        }),
        Value::Tagged(tagged) => gather(argument, key, tagged.payload(), true, leaves),
        _ => {}
    }
}

/// Returns the needles of all values, the most telling ones first.
pub(super) fn all(leaves: &[Leaf]) -> Vec<Needle> {
    let mut budget = Budget::new(MAX_ARGUMENT_BYTES);
    let mut needles = Vec::new();
    for (index, leaf) in leaves.iter().enumerate() {
        for view in view::argument(&leaf.text, &mut budget) {
            let is_plain = view.steps.is_empty();
            parts(&view.text, leaf, is_plain, |rank, shown| {
                let Some(needle) = needle(index, leaf, rank, shown, &view.steps) else { return };
                let is_meant = match rank {
                    // Words such as "at" in prose produce texts that only look like addresses.
                    _ if rank.is_address() => is_plain || needle.pattern.text.contains('.'),
                    // Letters that are set apart are not so by chance.
                    Rank::Whole | Rank::WholeNumber if is_plain || view.steps == [SET_APART] => {
                        is_telling(&needle.pattern.text)
                    }
                    Rank::Number => true,
                    _ => (MIN_LEN..=MAX_LEN).contains(&needle.pattern.text.len()),
                };
                if is_meant {
                    needles.push(needle);
                }
            });
        }
    }
    needles.sort_by_key(Needle::order);
    let mut seen = BTreeSet::new();
    needles.retain(|needle| {
        let argument = leaves.get(needle.leaf).map_or("", |leaf| &leaf.argument);
        seen.insert((argument, needle.rank == Rank::Label, needle.pattern.text.clone()))
    });
    needles.truncate(MAX_ITEMS);
    needles
}

/// Returns whether a whole value is long enough to be searched for as a word: two letters or digits at least.
fn is_telling(text: &str) -> bool {
    text.len() <= MAX_LEN && text.chars().filter(|c| c.is_alphanumeric()).nth(1).is_some()
}

fn needle(leaf: usize, of: &Leaf, rank: Rank, shown: &str, steps: &[&'static str]) -> Option<Needle> {
    // A text that was read may set the sign apart.
    let text = normalise(if of.is_number { shown.trim_start_matches('-') } else { shown });
    let is_plain_whole = rank.is_whole() && steps.is_empty();
    let moments: Vec<Vec<String>> = match is_plain_whole || rank == Rank::Number {
        true => date::only_moments(&text).into_iter().map(with_yearless).collect(),
        false => Vec::new(),
    };
    let numbers = match (is_plain_whole || rank == Rank::Number) && moments.is_empty() {
        true => number::values(&text),
        false => Vec::new(),
    };
    let typed_number = number::typed_value(shown).filter(|_| !numbers.is_empty());
    let squeezed = Some(squeeze(&text)).filter(|text| {
        let has_digits = text.bytes().filter(u8::is_ascii_digit).count() >= 4;
        moments.is_empty()
            && (MIN_SQUEEZED_LEN..=128).contains(&text.len())
            && (rank.is_address() || (has_digits && rank != Rank::Phrase && rank != Rank::Line))
    });
    let rank = match rank {
        Rank::Whole if of.is_number || !numbers.is_empty() || !moments.is_empty() => Rank::WholeNumber,
        Rank::Whole if is_identifier(&text) => Rank::WholeNumber,
        rank => rank,
    };
    let (shown, steps) = (shown.to_owned(), steps.to_vec());
    Some(Needle {
        leaf,
        shown,
        pattern: Pattern::of_normalised(text)?,
        rank,
        steps,
        numbers,
        typed_number,
        moments,
        squeezed,
    })
}

/// Returns the values of a date or time. A document may leave out the year of a date.
fn with_yearless(moment: date::Moment) -> Vec<String> {
    let yearless = moment.values.first().and_then(|value| value.get(4..).filter(|_| value.len() == 10));
    let yearless = yearless.map(|rest| format!("-{rest}"));
    moment.values.into_iter().chain(yearless).collect()
}

/// Returns whether a text is one word with letters and digits, such as the number of an order.
pub(super) fn is_identifier(text: &str) -> bool {
    let is_one_word = !text.contains(|c: char| c.is_whitespace() || c == '\u{b}');
    is_one_word && text.contains(|c: char| c.is_ascii_digit())
}

/// Calls `take` with every part of `text` and its kind.
fn parts(text: &str, leaf: &Leaf, is_plain: bool, mut take: impl FnMut(Rank, &str)) {
    let whole = text.trim();
    if leaf.is_label {
        if is_plain {
            take(Rank::Label, whole);
        }
        return;
    }
    let is_address =
        |found: &str| (found.len() == whole.len() && found == whole).then_some(Rank::WholeAddress);
    if addresses(text).all(|found| is_address(found).is_none()) && pages(text).all(|found| found != whole) {
        take(Rank::Whole, whole);
    }
    for address in addresses(text) {
        take(is_address(address).unwrap_or(Rank::Address), address);
        if let Some((_, host)) = address.split_once('@') {
            take(Rank::Host, host);
        }
    }
    for page in pages(text) {
        take(is_address(page).unwrap_or(Rank::Address), page);
    }
    if leaf.is_number || whole.len() < MIN_LEN {
        return;
    }
    numbers(text, &mut take);
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

/// Calls `take` with the numbers and dates in a longer text.
fn numbers(text: &str, take: &mut impl FnMut(Rank, &str)) {
    let lower = text.to_ascii_lowercase();
    let mut dates = Vec::new();
    date::scan(&lower, |moment| dates.push(moment.start..moment.end));
    number::scan(text, |number| {
        let shown = &text[number.start..number.end];
        let is_date = dates.iter().any(|date| date.start < number.end && number.start < date.end);
        if !is_date && shown.bytes().filter(u8::is_ascii_digit).count() >= MIN_DIGITS {
            take(Rank::Number, shown);
        }
    });
    let is_whole = |date: &std::ops::Range<usize>| text[date.clone()].contains(|c: char| c.is_ascii_digit());
    dates.into_iter().filter(is_whole).for_each(|date| {
        let shown = &text[date];
        // A time alone stands in many texts.
        if shown.len() >= MIN_LEN {
            take(Rank::Number, shown);
        }
    });
}

/// Returns everything in `text` that looks like the address of a page or a server.
pub(super) fn pages(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| c.is_whitespace() || "<>\"'`()[]{}|,;“”".contains(c)).filter_map(|word| {
        let word = word.trim_end_matches(['.', ':', '!', '?']);
        let lower = word.get(..8).unwrap_or(word).to_ascii_lowercase();
        let host = word.split_once('/').map_or("", |(host, _)| host);
        let has_domain = host.rsplit_once('.').is_some_and(|(name, last)| {
            !name.is_empty()
                && (2..=12).contains(&last.len())
                && last.bytes().all(|byte| byte.is_ascii_alphabetic())
        });
        let is_page = word.contains("://") || (lower.starts_with("www.") && word.len() > 6) || has_domain;
        (is_page && !word.contains('@')).then_some(word)
    })
}

/// Returns everything in `text` that looks like `local@host`.
pub(super) fn addresses(text: &str) -> impl Iterator<Item = &str> {
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

    #[test]
    fn pages_are_found_in_running_text() {
        for (text, expected) in [
            (
                "See www.a-b.com, (http://x.example/y?z) or c.example/d.",
                vec!["www.a-b.com", "http://x.example/y?z", "c.example/d"],
            ),
            ("notes/a.txt and/or 1/2, e.g. this", vec![]),
        ] {
            assert_eq!(pages(text).collect::<Vec<_>>(), expected, "{text}");
        }
    }

    #[test]
    fn values_come_before_labels_and_addresses_first() {
        let record = Value::record([
            ("long_label_of_it", Value::from("pay 1,250.00 to a@b.example for the roof")),
            ("other", Value::array([Value::from("REF77"), Value::from("c@d.example"), Value::number(30.0)])),
        ])
        .unwrap();
        let leaves = leaves([("x", &record)]);
        let needles: Vec<(Rank, String)> =
            all(&leaves).into_iter().map(|needle| (needle.rank, needle.shown)).collect();
        let expected = [
            (Rank::WholeAddress, "c@d.example"),
            (Rank::Address, "a@b.example"),
            (Rank::WholeNumber, "REF77"),
            (Rank::WholeNumber, "30"),
            (Rank::Whole, "pay 1,250.00 to a@b.example for the roof"),
            (Rank::Number, "1,250.00"),
        ];
        for (found, (rank, text)) in needles.iter().zip(expected) {
            assert_eq!((found.0, found.1.as_str()), (rank, text), "{needles:?}");
        }
        assert_eq!(needles.last().map(|last| last.0), Some(Rank::Label), "{needles:?}");
    }
}
