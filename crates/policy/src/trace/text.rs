//! Normalised texts, and the words in them.

use std::ops::Range;

/// The separator that stands for one line end.
pub(super) const LINE: char = '\n';

/// The separator that stands for one or more blank lines.
pub(super) const PARAGRAPH: char = '\u{b}';

/// The separator between the name of a field and its value, in a text that was made from a record. No text has it by
/// chance, so no argument matches across it.
pub(super) const FIELD: char = '\u{1f}';

/// Returns the text in lower case, with one separator for each run of white space and without the `>` of quoted lines.
/// The separator is a blank, [`LINE`] or [`PARAGRAPH`].
pub(super) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut line_ends = 0_usize;
    for line in text.split('\n') {
        let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        for word in line.split_whitespace() {
            if !out.is_empty() {
                out.push(match line_ends {
                    0 => ' ',
                    1 => LINE,
                    _ => PARAGRAPH,
                });
            }
            line_ends = 0;
            match word.is_ascii() {
                true => out.extend(word.chars().map(|c| c.to_ascii_lowercase())),
                false => out.extend(word.chars().flat_map(char::to_lowercase)),
            }
        }
        line_ends += 1;
    }
    out
}

/// Returns whether a byte of a normalised text is a separator.
pub(super) fn is_separator(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | 0x0b)
}

/// Returns whether a character is part of a word.
pub(super) fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// Returns whether a character is a word by itself, because its script has no blanks between words, or joins endings to
/// names.
pub(super) fn stands_alone(c: char) -> bool {
    matches!(u32::from(c),
        0x0e00..=0x0eff // Thai, Lao
        | 0x1000..=0x109f // Burmese
        | 0x1780..=0x17ff // Khmer
        | 0x2e80..=0x9fff // Chinese, Japanese
        | 0xac00..=0xd7af // Korean
        | 0xf900..=0xfaff
        | 0x2_0000..=0x3_ffff)
}

/// The words of a text, as ranges of bytes.
pub(super) struct WordRanges<'a> {
    text: &'a str,
    at: usize,
}

impl<'a> WordRanges<'a> {
    pub(super) fn of(text: &'a str) -> WordRanges<'a> {
        WordRanges { text, at: 0 }
    }
}

impl Iterator for WordRanges<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let rest = self.text.get(self.at..)?;
        let start = self.at + rest.find(is_word)?;
        let mut end = start;
        for c in self.text[start..].chars() {
            if !is_word(c) || (stands_alone(c) && end > start) {
                break;
            }
            end += c.len_utf8();
            if stands_alone(c) {
                break;
            }
        }
        self.at = end;
        Some(start..end)
    }
}

/// Returns the hash of a word. It need not withstand attacks, because every match is compared.
pub(super) fn hash(word: &str) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    for byte in word.bytes() {
        hash = (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    }
    hash ^ (hash >> 32)
}

/// Returns whether a match from `start` to `end` begins and ends between words of the text.
pub(super) fn is_apart(text: &str, start: usize, end: usize) -> bool {
    let glued = |left: Option<char>, right: Option<char>| match (left, right) {
        (Some(left), Some(right)) => {
            is_word(left) && is_word(right) && !stands_alone(left) && !stands_alone(right)
        }
        _ => false,
    };
    let inside = &text[start..end];
    !glued(text[..start].chars().next_back(), inside.chars().next())
        && !glued(inside.chars().next_back(), text[end..].chars().next())
}

/// Returns whether a number from `start` to `end` is no part of a longer number, such as a decimal or a date.
pub(super) fn is_whole_number(text: &str, start: usize, end: usize) -> bool {
    let bytes = text.as_bytes();
    let after = bytes.get(end).is_some_and(is_joint) && bytes.get(end + 1).is_some_and(u8::is_ascii_digit);
    !goes_on_from_digits(bytes, start) && !after
}

/// Returns whether a digit and a sign of numbers or dates stand right before `start`.
pub(super) fn goes_on_from_digits(bytes: &[u8], start: usize) -> bool {
    let before = start.checked_sub(2).and_then(|at| bytes.get(at..start));
    before.is_some_and(|two| two[0].is_ascii_digit() && is_joint(&two[1]))
}

fn is_joint(byte: &u8) -> bool {
    b".,:/-'".contains(byte)
}

/// Returns whether an address or a name with points from `start` to `end` is no part of a longer one.
pub(super) fn is_whole_name(text: &str, start: usize, end: usize) -> bool {
    let has_at = text[start..end].contains('@');
    let before = text[..start].chars().next_back();
    let mut after = text[end..].chars();
    let goes_on = matches!(after.next(), Some('.' | '-' | '@')) && after.next().is_some_and(is_word);
    let begins_before = has_at && before.is_some_and(|c| ".+-%".contains(c));
    !goes_on && !begins_before
}

/// Returns whether a match from `start` to `end` begins and ends with a whole token of a text that a person typed: with
/// nothing around it but blanks, quotes, brackets and the punctuation of a sentence. So `b.example` is no token of
/// `a@b.example`, and `5` is none of `-5`. The name of a field or a scheme may stand right before it, as in `to:ann`.
pub(super) fn is_whole_token(text: &str, start: usize, end: usize) -> bool {
    let inside = &text[start..end];
    let (before, after) = (&text[..start], &text[end..]);
    let from = before.char_indices().rev().find(|(at, c)| is_opening(before, *at, *c));
    let ahead = from.map_or(before, |(at, c)| &before[at + c.len_utf8()..]);
    let behind = after.char_indices().find(|(at, c)| is_closing(after, *at, *c));
    let behind = behind.map_or(after, |(at, _)| &after[..at]);
    let is_number = inside.starts_with(|c: char| c.is_ascii_digit());
    let glued = |c: char, other: Option<char>| stands_alone(c) || other.is_some_and(stands_alone);
    let first = inside.chars().next().is_some_and(|c| glued(c, before.chars().next_back()));
    let last = inside.chars().next_back().is_some_and(|c| glued(c, after.chars().next()));
    (first || leads_in(ahead, is_number)) && (last || leads_out(behind, inside))
}

/// Returns whether a character ends the text before a token.
fn is_opening(before: &str, at: usize, c: char) -> bool {
    match c {
        // An apostrophe within a word is a part of the word.
        '\'' | '’' => !before[..at].chars().next_back().is_some_and(char::is_alphanumeric),
        '"' | '`' | '(' | '[' | '{' | '<' | '>' | ',' | ';' | '|' => true,
        '−' => false,
        _ => is_gap(c),
    }
}

/// Returns whether a character begins the text after a token.
fn is_closing(after: &str, at: usize, c: char) -> bool {
    match c {
        '\'' | '’' => {
            let rest = &after[at + c.len_utf8()..];
            let rest = rest.strip_prefix('s').unwrap_or(rest);
            !rest.starts_with(char::is_alphanumeric)
        }
        '"' | '`' | ')' | ']' | '}' | '>' | '<' | ',' | ';' | '|' => true,
        _ => is_gap(c),
    }
}

/// Returns whether a character is a blank, a separator, or a sign outside of addresses and names.
fn is_gap(c: char) -> bool {
    c.is_whitespace() || c == FIELD || stands_alone(c) || (!c.is_ascii() && !c.is_alphanumeric())
}

/// The names of fields that a person may write right before a value.
const FIELDS: &[&str] = &[
    "to", "cc", "bcc", "from", "email", "e-mail", "mail", "mailto", "address", "iban", "account", "url",
    "link", "channel", "amount", "total", "id", "date", "subject", "title", "name", "file", "path",
];

/// Returns whether the text right before a token is no part of it.
fn leads_in(ahead: &str, is_number: bool) -> bool {
    let rest = ahead.trim_end_matches(['#', '@', '$', '*', '~', '+', '…', '.']);
    let rest = if is_number { rest } else { rest.trim_start_matches('-') };
    let is_field = |name: &str| FIELDS.contains(&name);
    rest.is_empty()
        || rest
            .strip_suffix("://")
            .is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphabetic()))
        || (rest.len() == ahead.len() && rest.strip_suffix([':', '=']).is_some_and(is_field))
}

/// Returns whether the text right after a token is no part of it.
fn leads_out(behind: &str, inside: &str) -> bool {
    let is_place = inside.contains(['.', '/']);
    let behind = if is_place { behind.strip_prefix('/').unwrap_or(behind) } else { behind };
    behind.chars().all(|c| ".:!?…*%~-$".contains(c))
}

/// The letters and digits of a normalised text, without all other characters, and their places in that text.
pub(super) struct Squeezed {
    text: String,
    /// The place in the normalised text of every 64th byte.
    places: Vec<u32>,
    /// The parts of a long text, so that most searches need not read it.
    parts: Option<PartSet>,
}

/// The minimum number of bytes of a text whose parts are kept. A shorter one is read in no time.
const MIN_PARTS_LEN: usize = 1 << 16;

/// A set that holds every part of a text, and by chance some others: one bit for each hash of [`PartSet::LEN`] bytes.
struct PartSet {
    bits: Vec<u64>,
    /// The number of upper bits of a hash that are left out.
    shift: u32,
}

impl PartSet {
    /// The number of bytes of a part.
    const LEN: usize = 8;

    fn of(text: &[u8]) -> PartSet {
        // One bit of eight is set, so a pattern of ten bytes that is not there is held once in 500 times.
        let count = (text.len() * 8).next_power_of_two().max(64);
        let mut set = PartSet { bits: vec![0; count / 64], shift: 64 - count.trailing_zeros() };
        for part in text.windows(PartSet::LEN) {
            let (word, bit) = set.place(part);
            if let Some(word) = set.bits.get_mut(word) {
                *word |= bit;
            }
        }
        set
    }

    /// Returns the word and the bit of a part.
    fn place(&self, part: &[u8]) -> (usize, u64) {
        let number = part.try_into().map_or(0, u64::from_le_bytes);
        let hash = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> self.shift;
        ((hash / 64) as usize, 1 << (hash % 64))
    }

    /// Returns `false` only if the text does not hold the pattern.
    fn may_hold(&self, pattern: &[u8]) -> bool {
        pattern.windows(PartSet::LEN).all(|part| {
            let (word, bit) = self.place(part);
            self.bits.get(word).is_some_and(|word| word & bit != 0)
        })
    }
}

/// The number of bytes between two known places.
const STRIDE: usize = 64;

impl Squeezed {
    pub(super) fn of(text: &str) -> Squeezed {
        let mut out = Squeezed { text: String::with_capacity(text.len()), places: Vec::new(), parts: None };
        for (at, c) in text.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            while out.places.len() * STRIDE <= out.text.len() {
                out.places.push(u32::try_from(at).unwrap_or(u32::MAX));
            }
            out.text.push(c);
        }
        out.parts = (out.text.len() >= MIN_PARTS_LEN).then(|| PartSet::of(out.text.as_bytes()));
        out
    }

    /// Returns the approximate number of bytes in memory of the parts.
    pub(super) fn parts_bytes(&self) -> usize {
        self.parts.as_ref().map_or(0, |parts| parts.bits.len() * 8)
    }

    /// Returns the place of a pattern in the normalised text from which this was made.
    pub(super) fn find(&self, pattern: &str, of: &str) -> Option<Range<usize>> {
        if self.parts.as_ref().is_some_and(|parts| !parts.may_hold(pattern.as_bytes())) {
            return None;
        }
        let at = memchr::memmem::find(self.text.as_bytes(), pattern.as_bytes())?;
        let start = self.place(at, of)?;
        let end = self.place(at + pattern.len() - 1, of)?;
        Some(start..end + of[end..].chars().next().map_or(0, char::len_utf8))
    }

    /// Returns the place in the normalised text of a byte of this text.
    fn place(&self, at: usize, of: &str) -> Option<usize> {
        let known = *self.places.get(at / STRIDE)? as usize;
        let mut left = at % STRIDE;
        // A known place is that of the first character at or after the byte.
        for (offset, c) in of.get(known..)?.char_indices().filter(|(_, c)| c.is_alphanumeric()) {
            if left < c.len_utf8() {
                return Some(known + offset);
            }
            left -= c.len_utf8();
        }
        None
    }
}

/// Returns the letters and digits of a text.
pub(super) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_found_in_every_script() {
        for (text, expected) in [
            ("a-b_c, 12.5", vec!["a", "b_c", "12", "5"]),
            ("请付款 x", vec!["请", "付", "款", "x"]),
            ("ref77請2", vec!["ref77", "請", "2"]),
            ("", vec![]),
        ] {
            let words: Vec<&str> = WordRanges::of(text).map(|range| &text[range]).collect();
            assert_eq!(words, expected, "{text}");
        }
    }

    #[test]
    fn part_of_a_typed_token_is_no_whole_token() {
        for (text, inside, expected) in [
            ("write to ann.smith@example.com.au now", "ann.smith@example.com", false),
            ("write to ann.smith@example.com.", "ann.smith@example.com", true),
            ("write to ann.smith@example.com", "smith@example.com", false),
            ("write to ann@mail.example.com", "example.com", false),
            ("write to o'brien@example.com", "brien@example.com", false),
            ("write to evil-example.com", "example.com", false),
            ("see https://p.example/q/", "p.example/q", true),
            ("see https://p.example/q/r", "p.example/q", false),
            ("see https://p.example/q?r=1", "p.example/q", false),
            ("see https://u@p.example/q", "p.example/q", false),
            ("see (p.example/q), then", "p.example/q", true),
            ("read docs/a.txt", "a.txt", false),
            ("read docs/a.txt", "docs/a.txt", true),
            ("read docs/a.txt.bak", "docs/a.txt", false),
            ("mailto:ann@b.example", "ann@b.example", true),
            ("to=ann@b.example", "ann@b.example", true),
            ("alice's page, 'bob' and #general!", "alice", true),
            ("alice's page, 'bob' and #general!", "bob", true),
            ("alice's page, 'bob' and #general!", "general", true),
            ("dora-website", "dora", false),
            ("order ref77-b", "ref77", false),
            ("it is -5 now", "5", false),
            ("it is −5 now", "5", false),
            ("give 5% or $5", "5", true),
            ("请写信给ann@b.example。", "ann@b.example", true),
        ] {
            let start = text.find(inside).unwrap();
            assert_eq!(is_whole_token(text, start, start + inside.len()), expected, "{inside} in {text}");
        }
    }

    #[test]
    fn normalised_text_keeps_lines_and_paragraphs() {
        assert_eq!(normalise("  A  b\r\n> C\n\n \nD"), "a b\nc\u{b}d");
    }

    #[test]
    fn squeezed_text_gives_the_place_of_a_match() {
        let text = format!("{} pay de89 3704-0044 now", "word, é ".repeat(40));
        let found = Squeezed::of(&text).find("de8937040044", &text).unwrap();
        assert_eq!(&text[found], "de89 3704-0044");
        assert_eq!(Squeezed::of(&text).find("de9937040044", &text), None);
    }

    #[test]
    fn long_squeezed_text_holds_each_of_its_parts() {
        let text: String =
            (0_u32..20_000).map(|n| format!("item {} ", n.wrapping_mul(2_654_435_761))).collect();
        let squeezed = Squeezed::of(&text);
        let parts = squeezed.parts.as_ref().expect("the text is long");
        let bytes = squeezed.text.as_bytes();
        assert!((0..bytes.len() - 30).step_by(7).all(|at| parts.may_hold(&bytes[at..at + 10 + at % 20])));
        let absent = (0_u32..1000).filter(|n| parts.may_hold(format!("order{n:05}x{n:05}").as_bytes()));
        assert!(absent.count() < 50, "most other texts are known to be absent");
        assert!(squeezed.find("item0item", &text).is_some());
        assert_eq!(squeezed.find("item1item2item", &text), None);
    }
}
