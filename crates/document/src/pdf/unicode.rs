//! The `ToUnicode` table of a font, which gives the characters for each code.
//!
//! The table is a PostScript program, and programs that write PDF deviate from its standard form. Only its tables are
//! read here. The rest is skipped.

use std::collections::HashMap;

use super::lexer::{Token, Tokens};

/// The maximum number of entries that are read. A font has at most 65,536 glyphs.
const MAX_ENTRIES: usize = 1 << 16;
/// The maximum number of letters for one code. A ligature has two or three.
const MAX_LETTERS: usize = 64;

/// The map from codes to characters.
#[derive(Debug, Default)]
pub(super) struct Unicode {
    map: HashMap<u32, String>,
    /// The number of entries that were read, also of those that were not kept. It measures the cost of reading the
    /// table.
    pub(super) read: usize,
}

impl Unicode {
    /// Reads the table from the decompressed content of its stream. The table of invalid content is empty.
    pub(super) fn read(content: &[u8]) -> Self {
        let mut table = Self::default();
        let mut tokens = Tokens::new(content);
        while let Some(token) = tokens.next() {
            if table.is_full() {
                break;
            }
            match token {
                Token::Word(b"beginbfchar") => table.read_chars(&mut tokens),
                Token::Word(b"beginbfrange") => table.read_ranges(&mut tokens),
                _ => {}
            }
        }
        table
    }

    /// Returns the characters of a code.
    pub(super) fn get(&self, code: u32) -> Option<&str> {
        self.map.get(&code).map(String::as_str)
    }

    /// Reads a sequence of `<code> <characters>`.
    fn read_chars(&mut self, tokens: &mut Tokens<'_>) {
        while let Some(Token::Text(code)) = tokens.next() {
            let Some(Token::Text(characters)) = tokens.next() else { return };
            self.insert(number(&code), decode(&characters));
        }
    }

    /// Reads a sequence of `<first> <last> <characters of first>` or `<first> <last> [<characters> …]`.
    fn read_ranges(&mut self, tokens: &mut Tokens<'_>) {
        while let Some(Token::Text(first)) = tokens.next() {
            let Some(Token::Text(last)) = tokens.next() else { return };
            let (first, last) = (number(&first), number(&last));
            match tokens.next() {
                Some(Token::Text(mut characters)) => {
                    for code in first..=last {
                        if self.is_full() {
                            return;
                        }
                        self.insert(code, decode(&characters));
                        // The next code has the same characters, with the last unit increased by one.
                        if let [.., high, low] = characters.as_mut_slice() {
                            let next = u16::from_be_bytes([*high, *low]).wrapping_add(1);
                            [*high, *low] = next.to_be_bytes();
                        } else if let [only] = characters.as_mut_slice() {
                            *only = only.wrapping_add(1);
                        }
                    }
                }
                Some(Token::Open) => {
                    for code in first.. {
                        match tokens.next() {
                            Some(Token::Text(characters)) => self.insert(code, decode(&characters)),
                            Some(Token::Close) => break,
                            _ => return,
                        }
                    }
                }
                _ => return,
            }
        }
    }

    fn is_full(&self) -> bool {
        self.read >= MAX_ENTRIES
    }

    fn insert(&mut self, code: u32, characters: String) {
        self.read += 1;
        if !characters.is_empty() {
            self.map.insert(code, characters);
        }
    }
}

/// Returns the number of a code. A longer code counts by its last four bytes.
fn number(code: &[u8]) -> u32 {
    code.iter().fold(0, |number, byte| number << 8 | u32::from(*byte))
}

/// Decodes characters in big-endian UTF-16. A single byte is a character by itself.
fn decode(characters: &[u8]) -> String {
    if let [only] = characters {
        return char::from(*only).to_string();
    }
    let units = characters
        .chunks_exact(2)
        .take(MAX_LETTERS)
        .map(|unit| unit.iter().fold(0, |unit, byte| unit << 8 | u16::from(*byte)));
    // Some programs append a zero to the characters.
    char::decode_utf16(units).flatten().filter(|char| *char != '\0').collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables() {
        let check = |content: &str, expected: &[(u32, &str)]| {
            let table = Unicode::read(content.as_bytes());
            let mut found: Vec<_> = table.map.iter().map(|(code, text)| (*code, text.as_str())).collect();
            found.sort_unstable();
            assert_eq!(found, expected, "{content}");
        };
        check("", &[]);
        check("1 beginbfchar\n<01> <0041>\n<0002><00480069>\nendbfchar", &[(1, "A"), (2, "Hi")]);
        check("beginbfrange <10> <12> <00FE> endbfrange", &[(16, "þ"), (17, "ÿ"), (18, "Ā")]);
        check(
            "beginbfrange<0001><0002>[<D83DDE00> <66>]<05><05><67>endbfrange",
            &[(1, "😀"), (2, "f"), (5, "g")],
        );
        check("% beginbfchar <01> <0041>\n/beginbfchar <02> <0042>", &[]);
        check("beginbfchar <01> <0041> <02>", &[(1, "A")]);
        check("beginbfchar <01> <D800> <02> <00410000>", &[(2, "A")]);
        check("beginbfrange <05> <01> <0041> <09> <09> [", &[]);
        let endless = "<00000000> <FFFFFFFF> <0041>".repeat(1000);
        assert_eq!(Unicode::read(format!("beginbfrange {endless}").as_bytes()).read, MAX_ENTRIES);
    }
}
