//! Lists of entries of a card, as users type them: `1`, `1,3`, `1-3` and `1-3,5`.

use std::fmt::Write as _;

use control::exit::{Exit, Failure};

/// The maximum number of entries in a list. A card has far fewer.
const MAX_ENTRIES: usize = 10_000;

/// Returns whether a word is a list of entries, and no word of another kind.
pub fn is_list(text: &str) -> bool {
    text.starts_with(|c: char| c.is_ascii_digit())
        && text.bytes().all(|byte| byte.is_ascii_digit() || matches!(byte, b',' | b'-'))
}

/// Returns the kernel's indices, counted from 0, for a list of entries that users count from 1. The indices are
/// sorted, and each comes once.
///
/// # Errors
/// When the text is no list, a range runs backwards, or a number is 0.
pub fn parse(text: &str) -> Result<Vec<usize>, Failure> {
    let wrong = |what: &str| {
        let shown = passable::visible_line(text);
        Failure::new(Exit::Usage, format!("cannot read the entries `{shown}`: {what}"))
            .help("write them like `1`, `1,3` or `1-3`, counted from 1 as `almoner inbox N` shows them")
    };
    let number = |text: &str| -> Result<usize, Failure> {
        // A sign would be read as part of the number.
        let digits = Some(text).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|text| text.parse().ok()).ok_or_else(|| wrong("not a number"))?;
        match number {
            0 => Err(wrong("entries are counted from 1")),
            1..=MAX_ENTRIES => Ok(number),
            _ => Err(wrong("no card has so many entries")),
        }
    };
    let mut entries = Vec::new();
    // An unfinished list is refused: without its numbers it would mean every entry.
    for part in text.split(',').map(str::trim) {
        let (first, last) = match part.split_once(['-', '–']) {
            Some((first, last)) => (number(first.trim())?, number(last.trim())?),
            None => (number(part)?, number(part)?),
        };
        if last < first {
            return Err(wrong("a range runs from the lower number to the higher one"));
        }
        entries.extend(first - 1..last);
    }
    entries.sort_unstable();
    entries.dedup();
    Ok(entries)
}

/// Returns a list that [`parse`] reads as these sorted indices.
pub fn typed(entries: &[usize]) -> String {
    let mut text = String::new();
    let mut rest = entries;
    while let Some(&first) = rest.first() {
        let count = rest.iter().zip(first..).take_while(|(entry, expected)| *entry == expected).count();
        let comma = if text.is_empty() { "" } else { "," };
        let _ = match count {
            1 => write!(text, "{comma}{}", first + 1),
            2 => write!(text, "{comma}{},{}", first + 1, first + 2),
            _ => write!(text, "{comma}{}-{}", first + 1, first + count),
        };
        rest = rest.get(count..).unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_of_entries_are_read() {
        for (text, expected) in [
            ("1", vec![0]),
            ("1,3", vec![0, 2]),
            ("1-3", vec![0, 1, 2]),
            ("1-2,4", vec![0, 1, 3]),
            ("4,1-2", vec![0, 1, 3]),
            ("2-2", vec![1]),
            ("1, 3", vec![0, 2]),
            ("1 - 3", vec![0, 1, 2]),
            ("1–3", vec![0, 1, 2]),
            ("1,1,2-3,2", vec![0, 1, 2]),
        ] {
            assert_eq!(parse(text).unwrap(), expected, "{text}");
            assert_eq!(parse(&typed(&expected)).unwrap(), expected);
        }
        assert_eq!(typed(&[0, 1, 2, 4, 6, 7]), "1-3,5,7,8");
    }

    #[test]
    fn unfinished_or_wrong_lists_are_refused() {
        for text in [
            "",
            ",",
            "1,",
            ",1",
            "0",
            "1-",
            "-3",
            "3-1",
            "0-2",
            "a",
            "1-b",
            "+1",
            "1--2",
            "1;2",
            "99999999999999999999",
            "1-99999999",
        ] {
            let failure = parse(text).unwrap_err();
            assert_eq!(failure.exit, Exit::Usage, "{text}");
            assert!(failure.help.contains("1-3"), "{text}");
        }
        for (text, expected) in
            [("1", true), ("1-3,5", true), ("place=notes", false), ("-r", false), ("1st", false)]
        {
            assert_eq!(is_list(text), expected, "{text}");
        }
    }
}
