//! The place at which a text almost stands: with other blanks, another Unicode form or other quotation marks.

use unicode_normalization::UnicodeNormalization as _;

use super::line_ends::to_lf;
use super::look_alike;

/// A place in a file that a text misses only by a difference that is easily overlooked.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct NearMatch {
    /// The difference in a few words.
    pub(super) difference: &'static str,
    /// The first line that differs, counted from 1.
    pub(super) line: usize,
    /// That line as it stands in the file, as a JSON string.
    pub(super) there: String,
}

type Fold = fn(&str) -> String;

/// The differences, each with the function that removes it. No function removes or adds a line.
const FOLDS: [(&str, Fold); 8] = [
    ("the blanks at the ends of lines", |text| each_line(text, |line| line.trim_end().to_owned())),
    ("the kind or number of blanks (tabs, spaces, no-break spaces)", |text| each_line(text, joined_blanks)),
    ("the indentation", |text| each_line(text, |line| line.trim_start().to_owned())),
    ("the Unicode form", |text| text.nfkd().collect()),
    ("dashes or quotation marks", |text| {
        text.chars().map(|c| if c == '\n' { c } else { look_alike::plain(c) }).collect()
    }),
    ("upper and lower case", str::to_lowercase),
    ("blanks", blanks),
    ("blanks, Unicode form, dashes, quotation marks or case", |text| {
        let plain: String = text.nfkd().map(|c| if c == '\n' { c } else { look_alike::plain(c) }).collect();
        blanks(&plain.to_lowercase())
    }),
];

fn blanks(text: &str) -> String {
    each_line(text, |line| joined_blanks(line.trim()))
}

fn each_line(text: &str, fold: impl Fn(&str) -> String) -> String {
    text.split('\n').map(fold).collect::<Vec<_>>().join("\n")
}

/// Returns a line with one space in the place of each run of blanks.
fn joined_blanks(line: &str) -> String {
    let mut out = String::with_capacity(line.len());
    for char in line.chars() {
        match char.is_whitespace() {
            true if out.ends_with(' ') => {}
            true => out.push(' '),
            false => out.push(char),
        }
    }
    out
}

/// Returns the first place at which a text almost stands.
pub(super) fn find(text: &str, old: &str) -> Option<NearMatch> {
    let (text, old) = (to_lf(text), to_lf(old));
    FOLDS.iter().find_map(|(difference, fold)| {
        let (folded, wanted) = (fold(&text), fold(&old));
        if wanted.trim().is_empty() {
            return None;
        }
        let at = folded.find(&wanted)?;
        let first = folded[..at].matches('\n').count();
        let (line, there) = differing(&text, &old, first)?;
        Some(NearMatch { difference, line: line + 1, there: look_alike::json_text(there) })
    })
}

/// Returns the first line of the file, from line `first` on, that differs from the line of `old`.
fn differing<'a>(text: &'a str, old: &str, first: usize) -> Option<(usize, &'a str)> {
    let wanted: Vec<&str> = old.split('\n').collect();
    let last = wanted.len() - 1;
    let there = text.split('\n').enumerate().skip(first);
    let mut pairs = there.zip(wanted.iter().enumerate());
    let found = pairs.find(|((_, there), (at, wanted))| match (*at == 0, *at == last) {
        // The text may begin and end within a line.
        (true, true) => !there.contains(*wanted),
        (true, false) => !there.ends_with(*wanted),
        (false, true) => !there.starts_with(*wanted),
        (false, false) => there != *wanted,
    });
    found.map(|(place, _)| place)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_match_names_the_difference_and_the_line() {
        for (text, old, difference, line, there) in [
            (
                "a\nlet x = 1;  \nb\n",
                "a\nlet x = 1;\nb\n",
                "the blanks at the ends of lines",
                2,
                r#""let x = 1;  ""#,
            ),
            ("\tif a {\n\t\tb\n", "    if a {\n        b\n", FOLDS[1].0, 1, r#""\tif a {""#),
            ("x\n  if a {\n    b\n", "if a {\nb", "the indentation", 3, r#""    b""#),
            ("Prix\u{a0}: 12", "Prix : 12", FOLDS[1].0, 1, r#""Prix\u00a0: 12""#),
            ("un cafe\u{301}\n", "un café", "the Unicode form", 1, r#""un cafe\u0301""#),
            (
                "say \u{201c}no\u{201d}",
                "say \"no\"",
                "dashes or quotation marks",
                1,
                r#""say \u201cno\u201d""#,
            ),
            ("TODO: x", "todo: x", "upper and lower case", 1, r#""TODO: x""#),
            ("a\r\n\tB\u{2019}s\r\n", "a\n  b's\n", FOLDS[7].0, 2, r#""\tB\u2019s""#),
        ] {
            let near = find(text, old).unwrap_or_else(|| panic!("{text:?}"));
            assert_eq!(
                (near.difference, near.line, near.there.as_str()),
                (difference, line, there),
                "{text:?}"
            );
        }
        for (text, old) in [("abc", "abd"), ("abc", "  "), ("", "x"), ("a\nb", "b\na")] {
            assert_eq!(find(text, old), None, "{text:?} {old:?}");
        }
    }
}
