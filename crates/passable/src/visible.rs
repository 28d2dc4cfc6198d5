//! Foreign text, made safe to show.
//!
//! Terminals, browsers and editors act on invisible characters. Escape sequences rewrite a prompt, direction marks
//! reorder it, and zero-width or look-alike spaces hide in it. Every surface shows foreign text through [`visible`]
//! or [`visible_line`]. With the type [`Untrusted`], a caller who forgets this gets a compile error.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

/// The maximum number of combining marks after one base character. Further marks are escaped.
const MARKS_PER_BASE: usize = 4;

/// Returns text of several lines in a form that is safe to show. Tabs, line feeds and the letters of every script
/// stay. All that is not plainly visible is written like `\u{1B}`.
pub fn visible(text: &str) -> Cow<'_, str> {
    escape(text, true)
}

/// Returns text in one line in a form that is safe to show. It works like [`visible`], but escapes tabs and line
/// feeds as well.
pub fn visible_line(text: &str) -> Cow<'_, str> {
    escape(text, false)
}

/// A part of a text that was made safe to show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum VisiblePart {
    /// Unchanged text.
    Plain(String),
    /// The escape of one character. A text may literally contain the same letters, so escapes have a variant of their
    /// own.
    Escape(String),
}

/// Returns the output of [`visible`] in parts, so that escapes can be told apart from literal text.
pub fn visible_parts(text: &str) -> Vec<VisiblePart> {
    let mut parts = Vec::new();
    let mut marks = 0;
    for char in text.chars() {
        let shown = written_out(char, &mut marks, true);
        match (shown, parts.last_mut()) {
            (Some(escape), _) => parts.push(VisiblePart::Escape(escape)),
            (None, Some(VisiblePart::Plain(plain))) => plain.push(char),
            (None, _) => parts.push(VisiblePart::Plain(char.to_string())),
        }
    }
    parts
}

/// Returns a noun of Almoner's own words with its article, such as `an export` or `a value`.
///
/// ```
/// assert_eq!(passable::with_article("approval"), "an approval");
/// assert_eq!(passable::with_article("export"), "an export");
/// assert_eq!(passable::with_article("value"), "a value");
/// ```
pub fn with_article(noun: &str) -> String {
    let article = if noun.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {noun}")
}

fn escape(text: &str, lines: bool) -> Cow<'_, str> {
    // Printable ASCII is by far the most frequent text.
    if text.bytes().all(|byte| (0x20..0x7F).contains(&byte) || (lines && matches!(byte, b'\n' | b'\t'))) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len());
    let mut marks = 0;
    let mut changed = false;
    for char in text.chars() {
        match written_out(char, &mut marks, lines) {
            Some(escape) => {
                out.push_str(&escape);
                changed = true;
            }
            None => out.push(char),
        }
    }
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Returns the escape of a character, or `None` if the character can be shown unchanged. `marks` counts the combining
/// marks since the last base character.
pub(crate) fn written_out(char: char, marks: &mut usize, lines: bool) -> Option<String> {
    let mark = is_combining(char);
    *marks = if mark { *marks + 1 } else { 0 };
    let kept_line = lines && matches!(char, '\n' | '\t');
    let hidden = (is_hidden(char) && !kept_line) || (mark && *marks > MARKS_PER_BASE);
    hidden.then(|| format!("\\u{{{:X}}}", u32::from(char)))
}

/// Returns whether a character is invisible, looks like a plain space without being one, or acts on its surroundings.
pub(crate) fn is_hidden(char: char) -> bool {
    matches!(u32::from(char),
        // Control characters.
        0x00..=0x1F | 0x7F..=0x9F
        // Format characters (general category Cf), tags among them.
        | 0xAD | 0x600..=0x605 | 0x61C | 0x6DD | 0x70F | 0x890..=0x891 | 0x8E2 | 0x180E
        | 0x200B..=0x200F | 0x202A..=0x202E | 0x2060..=0x206F | 0xFEFF | 0xFFF9..=0xFFFB
        | 0x110BD | 0x110CD | 0x13430..=0x1343F | 0x1BCA0..=0x1BCA3 | 0x1D173..=0x1D17A
        | 0xE0000..=0xE0FFF
        // Spaces other than U+0020, and line and paragraph separators.
        | 0xA0 | 0x1680 | 0x2000..=0x200A | 0x2028..=0x2029 | 0x202F | 0x205F | 0x3000
        // Fillers and blanks that show nothing.
        | 0x034F | 0x115F..=0x1160 | 0x17B4..=0x17B5 | 0x2800 | 0x3164 | 0xFFA0
        // Variation selectors.
        | 0x180B..=0x180D | 0x180F | 0xFE00..=0xFE0F
        // Private use, and code points without a character.
        | 0xE000..=0xF8FF | 0xF0000..=0x10FFFF | 0xFDD0..=0xFDEF | 0xFFF0..=0xFFF8
    ) || u32::from(char) & 0xFFFE == 0xFFFE
}

/// Returns whether a character is drawn over the one before it. The table has the blocks of combining marks, and the
/// marks of scripts that stack them. That is enough to stop towers of marks, but no full table of categories.
pub(crate) fn is_combining(char: char) -> bool {
    matches!(u32::from(char),
        0x300..=0x36F | 0x483..=0x489 | 0x591..=0x5BD | 0x5BF | 0x5C1..=0x5C2 | 0x5C4..=0x5C5 | 0x5C7
        | 0x610..=0x61A | 0x64B..=0x65F | 0x670 | 0x6D6..=0x6DC | 0x6DF..=0x6E4 | 0x6E7..=0x6E8 | 0x6EA..=0x6ED
        | 0x711 | 0x730..=0x74A | 0x7A6..=0x7B0 | 0x7EB..=0x7F3 | 0x816..=0x82D | 0x859..=0x85B
        | 0x897..=0x89F | 0x8CA..=0x8E1 | 0x8E3..=0x903 | 0x93A..=0x93C | 0x93E..=0x94F | 0x951..=0x957
        | 0xE31 | 0xE34..=0xE3A | 0xE47..=0xE4E | 0xEB1 | 0xEB4..=0xEBC | 0xEC8..=0xECE
        | 0xF18..=0xF19 | 0xF35 | 0xF37 | 0xF39 | 0xF71..=0xF84 | 0xF86..=0xF87 | 0xF8D..=0xFBC
        | 0x135D..=0x135F | 0x1AB0..=0x1ACE | 0x1CD0..=0x1CE8 | 0x1DC0..=0x1DFF | 0x20D0..=0x20F0
        | 0x2CEF..=0x2CF1 | 0x2DE0..=0x2DFF | 0x302A..=0x302F | 0x3099..=0x309A | 0xA66F..=0xA672
        | 0xA674..=0xA67D | 0xA69E..=0xA69F | 0xA8E0..=0xA8F1 | 0xFE20..=0xFE2F | 0x101FD | 0x102E0
        | 0x1D165..=0x1D169 | 0x1D16D..=0x1D172 | 0x1D17B..=0x1D182 | 0x1D185..=0x1D18B | 0x1E8D0..=0x1E8D6
        | 0x1E944..=0x1E94A
    )
}

/// Foreign text, such as that of a model, a guest or a remote peer.
///
/// The type has no `Display` and does not deref to a string, so that the text cannot reach a person by accident.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Untrusted(String);

impl Untrusted {
    /// Marks text as foreign.
    pub fn new(text: impl Into<String>) -> Self {
        Untrusted(text.into())
    }

    /// Returns the text for people, over several lines.
    pub fn visible(&self) -> Cow<'_, str> {
        visible(&self.0)
    }

    /// Returns the text for people, in one line.
    pub fn visible_line(&self) -> Cow<'_, str> {
        visible_line(&self.0)
    }

    /// Returns the unchanged text. This is for storage, for models, and for execution of exactly the approved text.
    /// It is never for people to read.
    pub fn raw(&self) -> &str {
        &self.0
    }
}

impl From<String> for Untrusted {
    fn from(text: String) -> Self {
        Untrusted(text)
    }
}

impl From<&str> for Untrusted {
    fn from(text: &str) -> Self {
        Untrusted(text.to_owned())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hidden_characters_are_shown_escaped() {
        for (text, expected) in [
            ("plain\ttext\n", "plain\ttext\n"),
            ("\u{1B}[2K\rApproved", "\\u{1B}[2K\\u{D}Approved"),
            ("\u{202E}txt.exe", "\\u{202E}txt.exe"),
            ("a\u{200B}b\u{A0}c\u{3164}d", "a\\u{200B}b\\u{A0}c\\u{3164}d"),
            ("x\u{FE0F}\u{E0041}\u{E000}\u{FFFF}", "x\\u{FE0F}\\u{E0041}\\u{E000}\\u{FFFF}"),
            ("שלום Grüße 日本", "שלום Grüße 日本"),
            ("e\u{301}\u{301}\u{301}\u{301}\u{301}!\u{301}", "e\u{301}\u{301}\u{301}\u{301}\\u{301}!\u{301}"),
            ("\u{9B}31m\u{2028}", "\\u{9B}31m\\u{2028}"),
        ] {
            assert_eq!(visible(text), expected);
            let parts = visible_parts(text);
            let all =
                parts.iter().map(|(VisiblePart::Plain(text) | VisiblePart::Escape(text))| text.as_str());
            assert_eq!(all.collect::<String>(), expected);
        }
        // An escaped character differs from text that spells the escape.
        let [hidden, spelled] = ["\u{200B}", "\\u{200B}"].map(visible_parts);
        assert_eq!(hidden, [VisiblePart::Escape("\\u{200B}".to_owned())]);
        assert_eq!(spelled, [VisiblePart::Plain("\\u{200B}".to_owned())]);
        assert_eq!(visible_line("a\n\tb"), "a\\u{A}\\u{9}b");
        assert!(matches!(visible("שלום"), Cow::Borrowed(_)));
    }
}
