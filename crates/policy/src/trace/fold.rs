//! Characters that look like other characters, and characters that are invisible.

/// Returns the text with look-alikes replaced by plain characters and without invisible characters. Returns `None` if
/// the text has neither.
pub(super) fn fold(text: &str) -> Option<String> {
    if text.is_ascii() {
        return None;
    }
    let folded: String = text.chars().filter_map(plain).collect();
    (folded != text).then_some(folded)
}

/// Returns the plain character that `c` looks like, or `None` if `c` is invisible. A plain character stays.
fn plain(c: char) -> Option<char> {
    if c.is_ascii() {
        return Some(c);
    }
    let shift = |base: u32, to: char| char::from_u32(u32::from(c) - base + u32::from(to));
    match c {
        // Invisible characters: soft hyphens, zero-width characters, direction marks, joiners, variation selectors,
        // combining marks.
        '\u{ad}' | '\u{34f}' | '\u{61c}' | '\u{180b}'..='\u{180f}' | '\u{200b}'..='\u{200f}' => None,
        '\u{202a}'..='\u{202e}' | '\u{2060}'..='\u{206f}' | '\u{feff}' => None,
        '\u{fe00}'..='\u{fe0f}' | '\u{e0100}'..='\u{e01ef}' | '\u{300}'..='\u{36f}' => None,
        '\u{115f}' | '\u{1160}' | '\u{3164}' | '\u{ffa0}' => None,
        // Tags: an invisible copy of ASCII.
        '\u{e0020}'..='\u{e007e}' => shift(0xe0020, ' '),
        '\u{e0000}'..='\u{e007f}' => None,
        // Wide, circled and mathematical letters and digits.
        '\u{ff01}'..='\u{ff5e}' => shift(0xff01, '!'),
        '\u{24b6}'..='\u{24cf}' => shift(0x24b6, 'a'),
        '\u{24d0}'..='\u{24e9}' => shift(0x24d0, 'a'),
        '\u{1d400}'..='\u{1d6a3}' => mathematical(u32::from(c) - 0x1d400),
        '\u{1d7ce}'..='\u{1d7ff}' => char::from_digit((u32::from(c) - 0x1d7ce) % 10, 10),
        // Signs.
        '\u{fe6b}' => Some('@'),
        '\u{2024}' | '\u{fe52}' | '\u{3002}' | '\u{ff61}' | '\u{6d4}' => Some('.'),
        '\u{2010}'..='\u{2015}' | '\u{2212}' | '\u{fe58}' | '\u{fe63}' | '\u{2043}' => Some('-'),
        '\u{2044}' | '\u{2215}' | '\u{29f8}' => Some('/'),
        '\u{2216}' | '\u{29f5}' | '\u{fe68}' => Some('\\'),
        '\u{fe55}' | '\u{a789}' | '\u{2236}' => Some(':'),
        '\u{2018}' | '\u{2019}' | '\u{201b}' | '\u{2032}' => Some('\''),
        '\u{201c}'..='\u{201f}' | '\u{2033}' => Some('"'),
        '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{202f}' | '\u{205f}' | '\u{3000}' => Some(' '),
        // Cyrillic and Greek letters, and a few Latin ones, that are drawn as plain Latin letters.
        'а' | 'α' | 'ɑ' | 'А' | 'Α' => Some('a'),
        'Ь' | 'В' | 'Β' => Some('b'),
        'с' | 'ϲ' | 'С' | 'Ϲ' => Some('c'),
        'ԁ' => Some('d'),
        'е' | 'Е' | 'Ε' => Some('e'),
        'ɡ' => Some('g'),
        'һ' | 'Н' | 'Η' => Some('h'),
        'і' | 'ι' | 'ı' | 'І' | 'Ι' => Some('i'),
        'ј' | 'Ј' => Some('j'),
        'к' | 'κ' | 'К' | 'Κ' => Some('k'),
        'ӏ' | 'Ӏ' => Some('l'),
        'М' | 'Μ' => Some('m'),
        'Ν' => Some('n'),
        'о' | 'ο' | 'օ' | 'О' | 'Ο' => Some('o'),
        'р' | 'ρ' | 'Р' | 'Ρ' => Some('p'),
        'ԛ' => Some('q'),
        'г' => Some('r'),
        'ѕ' | 'Ѕ' => Some('s'),
        'Т' | 'Τ' => Some('t'),
        'υ' | 'ս' => Some('u'),
        'ν' | 'ѵ' => Some('v'),
        'ԝ' => Some('w'),
        'х' | 'χ' | 'Х' | 'Χ' => Some('x'),
        'у' | 'У' | 'Υ' => Some('y'),
        'Ζ' => Some('z'),
        _ => Some(c),
    }
}

/// Returns the plain letter at an offset in the mathematical alphabets. Each alphabet has 26 capitals and then 26
/// small letters.
fn mathematical(offset: u32) -> Option<char> {
    char::from_u32(u32::from('a') + offset % 26)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn look_alike_characters_become_plain() {
        for (text, expected) in [
            ("аrсhіvе＠records‑bаckup．example", "archive@records-backup.example"),
            ("a\u{200b}r\u{ad}c\u{feff}hive", "archive"),
            ("𝐚𝒓𝖈𝚑ⓘ𝘃e", "archive"),
            ("\u{e0061}\u{e0072}\u{e0063}", "arc"),
            ("．．／x", "../x"),
        ] {
            assert_eq!(fold(text).as_deref(), Some(expected), "{text:?}");
        }
        assert_eq!(fold("plain"), None);
        assert_eq!(fold("Müller, 北京"), None);
    }
}
