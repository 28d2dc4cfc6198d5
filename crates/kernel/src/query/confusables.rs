//! Detection of names that look like other names.
//!
//! Two names look alike when they have the same *skeleton* (Unicode Technical Standard 39). The skeleton replaces
//! every letter by the plainest letter that is drawn like it, and leaves out invisible characters. Texts that differ
//! only in normalisation have the same skeleton too. Beyond the standard, several blanks count as one, and blanks at
//! the ends count as none. Marks over a plain letter and full stops at the end do not count either, because readers
//! of a list miss them easily.
//!
//! The kernel must find the look-alikes of a new name without reading every name of the directory. So a name that is
//! not its own skeleton leaves a row under its skeleton ([`skeleton_key`]). A name that is its own skeleton needs no row: a
//! lookup of the name finds it.

use passable::visible_line;
use unicode_security::MixedScript as _;
use unicode_security::confusable_detection::skeleton as letters;
use unicode_security::mixed_script::AugmentedScriptSet;

use crate::id::{BlobHash, FormulaId};

/// The prefix of the keys of skeleton rows in [`Table::Meta`](crate::txn::Table::Meta).
pub const SKELETON_PREFIX: &[u8] = b"look ";

/// Returns the skeleton of a name, a text that is compared and never shown.
pub fn skeleton(name: &str) -> String {
    let (mut plain, mut over_plain) = (String::new(), false);
    for letter in letters(name) {
        if is_mark(letter) {
            if !over_plain {
                plain.push(letter);
            }
            continue;
        }
        over_plain = letter.is_ascii();
        plain.push(letter);
    }
    let words: Vec<&str> = plain.split(is_blank).filter(|word| !word.is_empty()).collect();
    let ends = |letter: char| letter == '.' || letter == ' ';
    words.join(" ").trim_end_matches(ends).to_owned()
}

/// Returns whether a character is a mark over the letter before it that occurs in many scripts. The marks of a single
/// script, like vowel signs, count as letters of that script.
fn is_mark(letter: char) -> bool {
    let all = [0x300..=0x36F, 0x1AB0..=0x1AFF, 0x1DC0..=0x1DFF, 0x20D0..=0x20FF, 0xFE20..=0xFE2F];
    all.iter().any(|some| some.contains(&u32::from(letter)))
}

/// Returns whether a character is shown as an empty place.
fn is_blank(letter: char) -> bool {
    letter.is_whitespace() || letter == '\u{2800}'
}

/// Returns whether a name contains something invisible: a character without a shape of its own, a blank at an end, or
/// several adjacent blanks.
pub fn has_hidden_characters(name: &str) -> bool {
    display_name(name) != name
}

/// Returns a name as users see it. Invisible characters are written out, and invisible blanks become dots.
pub fn display_name(name: &str) -> String {
    let line = visible_line(name);
    let letters: Vec<char> = line.chars().collect();
    let is_seen = |at: usize| {
        let beside = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(|one| *one != ' ');
        beside(at.checked_sub(1)) && beside(at.checked_add(1))
    };
    letters.iter().enumerate().map(|(at, one)| if *one == ' ' && !is_seen(at) { '·' } else { *one }).collect()
}

/// Returns the prefix of the keys of all names in a directory's pet store that have a skeleton and differ from it.
/// The prefix contains a hash of the skeleton, because the skeleton of a single letter can have twenty letters.
pub fn skeleton_prefix(store: &FormulaId, skeleton: &str) -> Vec<u8> {
    [SKELETON_PREFIX, &store.number, &BlobHash::of(skeleton.as_bytes()).0].concat()
}

/// Returns the key of a name's skeleton row, or `None` for a name that is its own skeleton.
pub fn skeleton_key(store: &FormulaId, name: &str) -> Option<Vec<u8>> {
    let skeleton = skeleton(name);
    (skeleton != name).then(|| [&skeleton_prefix(store, &skeleton)[..], name.as_bytes()].concat())
}

/// Returns a name in quotes. If the name is not pure ASCII, its escaped form follows in brackets.
pub fn quote_name(name: &str) -> String {
    match name.is_ascii() {
        true => format!("\"{}\"", display_name(name)),
        false => format!("\"{}\" ({})", display_name(name), name.escape_default()),
    }
}

/// Returns whether the name mixes letters of several scripts that can be taken for one another. Latin words beside
/// Chinese, Japanese or Korean are everyday writing and do not count.
pub fn has_mixed_scripts(name: &str) -> bool {
    if name.is_single_script() {
        return false;
    }
    let rest: String = name.chars().filter(|letter| !letter.is_ascii()).collect();
    let rest = AugmentedScriptSet::for_str(&rest);
    !(rest.hanb || rest.jpan || rest.kore)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_names_have_equal_skeletons() {
        for (one, other, alike) in [
            ("counter", "соunter", true),
            ("paypal", "раураl", true),
            ("reader", "reader\u{200B}", true),
            ("reader", "re\u{AD}ader", true),
            ("é", "e\u{301}", true),
            ("Å", "A\u{30A}", true),
            ("modern", "modem", true),
            ("al", "a1", true),
            ("O", "0", true),
            ("counter", "Counter", false),
            ("counter", "counters", false),
            ("r17", "r11", false),
            ("日本", "日木", false),
            ("counter", "counter ", true),
            ("counter", " \u{3000}counter", true),
            ("counter", "counter.", true),
            ("counter", "counter…", true),
            ("counter", "counter\u{301}", true),
            ("counter", "çöunter", true),
            ("p q", "p  q", true),
            ("p q", "p\u{A0}q", true),
            ("p q", "pq", false),
            ("a.b", "ab", false),
            (".a", "a", false),
            ("мой", "мои", false),
            ("か", "が", false),
        ] {
            assert_eq!(skeleton(one) == skeleton(other), alike, "{one:?} {other:?}");
        }
    }

    #[test]
    fn ambiguous_letters_of_a_name_are_spelled_out() {
        assert_eq!(quote_name("counter"), "\"counter\"");
        assert_eq!(quote_name("соunter"), "\"соunter\" (\\u{441}\\u{43e}unter)");
        assert_eq!(quote_name("a\u{202E}b"), "\"a\\u{202E}b\" (a\\u{202e}b)");
        assert_eq!(quote_name("counter "), "\"counter·\"");
    }

    #[test]
    fn invisible_characters_of_a_name_are_shown() {
        for (name, expected) in [
            ("", ""),
            ("a b", "a b"),
            (" a b ", "·a b·"),
            ("a  b", "a··b"),
            (" ", "·"),
            ("a\u{200B}", "a\\u{200B}"),
            ("naïve 東京", "naïve 東京"),
        ] {
            assert_eq!(display_name(name), expected, "{name:?}");
            assert_eq!(has_hidden_characters(name), name != expected, "{name:?}");
        }
    }

    #[test]
    fn scripts_used_together_do_not_count_as_mixed() {
        for (name, mixed) in [
            ("counter-17", false),
            ("соunter", true),
            ("счётчик", false),
            ("東京タワー", false),
            ("東京 tower", false),
            ("naïve", false),
            ("", false),
        ] {
            assert_eq!(has_mixed_scripts(name), mixed, "{name:?}");
        }
    }
}
