//! Fonts, which map the bytes of a string to characters, and give the widths by which the pen moves.

use std::collections::HashMap;

use lopdf::{DecompressError, Dictionary, Document, Error, Object};

use super::Budget;
use super::codes::{self, Code, EastAsian};
use super::matrix::Matrix;
use super::unicode::Unicode;
use crate::DocumentError;

/// The maximum number of glyph widths that are kept for one font.
const MAX_WIDTHS: usize = 1 << 16;

/// The parts of a font that are needed to read text.
pub(super) struct Font {
    /// The font's own table from codes to characters. It has precedence over the encoding.
    unicode: Option<Unicode>,
    /// The meaning of each code of a simple font.
    codes: Vec<Code>,
    /// The encoding of a composite font that names its characters.
    east_asian: Option<EastAsian>,
    /// Whether codes have two bytes, as in a composite font.
    wide: bool,
    widths: HashMap<u32, f32>,
    /// The width of a code that is not in `widths`. With `None`, the width is estimated from the character.
    fallback: Option<f32>,
    /// The factor from glyph units to text units.
    scale: f32,
}

/// The text and width of a string in a font.
pub(super) struct ShownText {
    pub(super) text: String,
    /// The distance that the pen moves, in text units at size 1.
    pub(super) width: f32,
    /// The number of codes in the string. Each adds the character spacing.
    pub(super) codes: usize,
    /// The number of codes that are the single byte 32. Each adds the word spacing.
    pub(super) blanks: usize,
    /// The number of codes whose characters are not known.
    pub(super) unreadable: usize,
}

impl Font {
    pub(super) fn new(
        document: &Document,
        dictionary: &Dictionary,
        budget: &mut Budget<'_>,
    ) -> Result<Self, DocumentError> {
        let kind = dictionary.get(b"Subtype").and_then(Object::as_name).unwrap_or_default();
        let wide = kind == b"Type0";
        budget.work(256 + differences(document, dictionary))?;
        let unicode = unicode(document, dictionary, budget)?;
        let named = dictionary.get_deref(b"Encoding", document).and_then(Object::as_name);
        // Without a table, the codes of other composite fonts are glyph numbers, which say nothing about characters.
        let east_asian = named.ok().filter(|_| wide).and_then(EastAsian::named);
        let codes = if wide { Vec::new() } else { codes::simple(document, dictionary) };
        let mut font =
            Self { unicode, codes, east_asian, wide, widths: HashMap::new(), fallback: None, scale: 0.001 };
        if wide {
            font.read_wide_widths(document, dictionary, budget)?;
        } else {
            font.read_widths(document, dictionary);
        }
        if kind == b"Type3"
            && let Some(matrix) = array(document, dictionary, b"FontMatrix").and_then(Matrix::read)
            && matrix.a.is_finite()
        {
            font.scale = matrix.a.abs();
        }
        Ok(font)
    }

    fn read_widths(&mut self, document: &Document, dictionary: &Dictionary) {
        let Some(widths) = array(document, dictionary, b"Widths") else { return };
        let first = dictionary.get_deref(b"FirstChar", document).and_then(Object::as_i64).unwrap_or(0);
        let Ok(first) = u32::try_from(first) else { return };
        for (code, width) in (first..).zip(widths.iter().take(256)) {
            if let Some(width) = number(document, width) {
                self.widths.insert(code, width);
            }
        }
        let descriptor = dictionary.get_deref(b"FontDescriptor", document).and_then(Object::as_dict);
        let missing = descriptor.and_then(|found| found.get(b"MissingWidth")).and_then(Object::as_float);
        self.fallback = Some(missing.unwrap_or(0.0));
    }

    /// Reads the widths of a composite font: a sequence of `code [w w …]` and `first last w`.
    fn read_wide_widths(
        &mut self,
        document: &Document,
        dictionary: &Dictionary,
        budget: &mut Budget<'_>,
    ) -> Result<(), DocumentError> {
        let Some(descendant) = array(document, dictionary, b"DescendantFonts")
            .and_then(|fonts| fonts.first())
            .and_then(|font| document.dereference(font).ok())
            .and_then(|(_, font)| font.as_dict().ok())
        else {
            return Ok(());
        };
        self.fallback =
            Some(descendant.get_deref(b"DW", document).and_then(Object::as_float).unwrap_or(1000.0));
        let mut rest = array(document, descendant, b"W").unwrap_or_default();
        while let [first, second, tail @ ..] = rest {
            rest = tail;
            let Some(first) = number(document, first).map(|first| first as u32) else { break };
            let second = document.dereference(second).map_or(second, |(_, found)| found);
            if let Ok(widths) = second.as_array() {
                for (code, width) in (first..).zip(widths) {
                    budget.work(1)?;
                    self.keep_width(code, number(document, width));
                }
            } else if let (Some(last), [width, tail @ ..]) = (number(document, second), tail) {
                rest = tail;
                let width = number(document, width);
                for code in first..=(last as u32).min(first.saturating_add(0xffff)) {
                    budget.work(1)?;
                    self.keep_width(code, width);
                }
            } else {
                break;
            }
        }
        Ok(())
    }

    fn keep_width(&mut self, code: u32, width: Option<f32>) {
        if let Some(width) = width
            && self.widths.len() < MAX_WIDTHS
        {
            self.widths.insert(code, width);
        }
    }

    /// Returns the text and width of a string in this font. Stops soon after the text has more than `room` bytes.
    pub(super) fn show(&self, bytes: &[u8], room: usize) -> ShownText {
        let mut shown = ShownText { text: String::new(), width: 0.0, codes: 0, blanks: 0, unreadable: 0 };
        if let (Some(east_asian), None) = (self.east_asian, &self.unicode) {
            let (text, unreadable) = east_asian.decode(bytes);
            let width: f32 = text.chars().map(|char| if char.is_ascii() { 500.0 } else { 1000.0 }).sum();
            let codes = text.chars().count();
            return ShownText { text: apart(&text), width: width * self.scale, codes, blanks: 0, unreadable };
        }
        let length = if self.wide { 2 } else { 1 };
        for code in bytes.chunks(length) {
            let number = code.iter().fold(0_u32, |number, byte| number << 8 | u32::from(*byte));
            let text = self.characters(number);
            let width = self.widths.get(&number).copied().or(self.fallback);
            shown.width += width.unwrap_or_else(|| text.chars().map(estimate).sum()) * self.scale;
            shown.codes += 1;
            shown.blanks += usize::from(code == [32]);
            shown.unreadable += usize::from(text == "\u{fffd}");
            shown.text.push_str(&text);
            if shown.text.len() > room {
                break;
            }
        }
        shown
    }

    /// Returns the characters of one code. The replacement character stands for a glyph of which no table says the
    /// characters.
    fn characters(&self, number: u32) -> String {
        if let Some(text) = self.unicode.as_ref().and_then(|table| table.get(number)) {
            return apart(text);
        }
        let code = usize::try_from(number).ok().and_then(|number| self.codes.get(number));
        match code {
            Some(Code::Text(text)) => apart(text),
            Some(Code::Nothing) => String::new(),
            Some(Code::Unknown) | None => char::REPLACEMENT_CHARACTER.to_string(),
        }
    }
}

/// Returns the `ToUnicode` table of a font.
fn unicode(
    document: &Document,
    dictionary: &Dictionary,
    budget: &mut Budget<'_>,
) -> Result<Option<Unicode>, DocumentError> {
    let Ok(stream) = dictionary.get_deref(b"ToUnicode", document).and_then(Object::as_stream) else {
        return Ok(None);
    };
    match stream.get_plain_content_with_limit(budget.unfolded) {
        Ok(content) => {
            budget.unfold(content.len())?;
            let table = Unicode::read(&content);
            budget.work(content.len() / 16 + table.read)?;
            Ok(Some(table))
        }
        Err(Error::Decompress(DecompressError::MemoryLimitExceeded { .. })) => {
            Err(budget.too_much_unfolded())
        }
        Err(_) => Ok(None),
    }
}

/// Returns the number of differences that the encoding of a font lists, for the count of work.
fn differences(document: &Document, dictionary: &Dictionary) -> usize {
    let encoding = dictionary.get_deref(b"Encoding", document).and_then(Object::as_dict);
    let listed = encoding.and_then(|encoding| encoding.get(b"Differences")).and_then(Object::as_array);
    listed.map_or(0, Vec::len)
}

fn array<'a>(document: &'a Document, dictionary: &'a Dictionary, key: &[u8]) -> Option<&'a [Object]> {
    dictionary.get_deref(key, document).and_then(Object::as_array).ok().map(Vec::as_slice)
}

fn number(document: &Document, object: &Object) -> Option<f32> {
    document.dereference(object).ok().and_then(|(_, found)| found.as_float().ok())
}

/// Returns the estimated width of a character in thousandths, for a font without widths. The standard fonts, which
/// every reader must have, may leave their widths out.
fn estimate(char: char) -> f32 {
    match char {
        'i' | 'j' | 'l' | '\'' | '|' | '!' | '.' | ',' | ':' | ';' | ' ' | 'I' | '/' | '\\' | 't' | 'f' => {
            270.0
        }
        'r' | '(' | ')' | '[' | ']' | '-' | '`' => 333.0,
        'm' | 'M' | 'w' | '%' => 840.0,
        'W' | '@' => 960.0,
        'A'..='Z' | '&' => 690.0,
        _ => 550.0,
    }
}

/// Returns the text with ligatures split into letters and hard spaces made plain, so that words can be found.
fn apart(text: &str) -> String {
    let mut apart = String::with_capacity(text.len());
    for char in text.chars() {
        match char {
            '\u{fb00}' => apart.push_str("ff"),
            '\u{fb01}' => apart.push_str("fi"),
            '\u{fb02}' => apart.push_str("fl"),
            '\u{fb03}' => apart.push_str("ffi"),
            '\u{fb04}' => apart.push_str("ffl"),
            '\u{a0}' => apart.push(' '),
            char => apart.push(char),
        }
    }
    apart
}
