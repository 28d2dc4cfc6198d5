//! Names that look like other names.
//!
//! Two names look alike when they have the same *skeleton* (Unicode Technical Standard 39): the text after every
//! letter has been replaced by the plainest one that is drawn like it, and what shows nothing has been left out. Texts
//! that differ only in normalisation have the same skeleton too.
//!
//! Whoever gives a name must find look-alikes without looking at every name of the directory. So a name that is not its
//! own skeleton leaves a row under its skeleton ([`row`]), and one that is needs none: it is found as a name.

use passable::visible_line;
use unicode_security::MixedScript as _;
use unicode_security::confusable_detection::skeleton as letters;
use unicode_security::mixed_script::AugmentedScriptSet;

use crate::id::{BlobHash, FormulaId};

/// What begins the keys of these rows in [`Table::Meta`](crate::txn::Table::Meta).
pub const LOOK: &[u8] = b"look ";

/// What names look like, as a text that is compared and never shown.
pub fn skeleton(name: &str) -> String {
    letters(name).collect()
}

/// The first part of the keys of all names in a directory's pet store that have this skeleton and are not it. A hash,
/// because some single letters look like twenty.
pub fn rows(store: &FormulaId, skeleton: &str) -> Vec<u8> {
    [LOOK, &store.number, &BlobHash::of(skeleton.as_bytes()).0].concat()
}

/// The key of a name's row; `None` for a name that is its own skeleton.
pub fn row(store: &FormulaId, name: &str) -> Option<Vec<u8>> {
    let skeleton = skeleton(name);
    (skeleton != name).then(|| [&rows(store, &skeleton)[..], name.as_bytes()].concat())
}

/// A name in quotes, and in brackets behind it how it is written, if there is more to it than plain letters.
pub fn spelled(name: &str) -> String {
    match name.is_ascii() {
        true => format!("\"{}\"", visible_line(name)),
        false => format!("\"{}\" ({})", visible_line(name), name.escape_default()),
    }
}

/// Whether letters of several scripts stand in the name, of which one may be taken for another. Latin words beside
/// Chinese, Japanese or Korean are everyday writing.
pub fn mixes_scripts(name: &str) -> bool {
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
    fn what_looks_alike_has_one_skeleton() {
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
        ] {
            assert_eq!(skeleton(one) == skeleton(other), alike, "{one:?} {other:?}");
        }
    }

    #[test]
    fn a_name_is_spelled_where_its_letters_do_not_tell() {
        assert_eq!(spelled("counter"), "\"counter\"");
        assert_eq!(spelled("соunter"), "\"соunter\" (\\u{441}\\u{43e}unter)");
        assert_eq!(spelled("a\u{202E}b"), "\"a\\u{202E}b\" (a\\u{202e}b)");
    }

    #[test]
    fn scripts_that_are_written_together_are_no_mixture() {
        for (name, mixed) in [
            ("counter-17", false),
            ("соunter", true),
            ("счётчик", false),
            ("東京タワー", false),
            ("東京 tower", false),
            ("naïve", false),
            ("", false),
        ] {
            assert_eq!(mixes_scripts(name), mixed, "{name:?}");
        }
    }
}
