//! The text of a result, for a file or for a terminal.
//!
//! [`visible`](crate::visible) writes every doubtful character out, because an approval must show exactly what will be
//! done. A result is read and used. French spaces, Persian joiners and emoji are part of it, so they stay where their
//! neighbours show that they belong there. A file gets every character except those that act on a terminal.

use std::borrow::Cow;

use crate::character::{ends_emoji, has_emoji_form, is_hidden, is_mark, is_pictographic, is_virama};
use crate::visible::{MarkStack, escape_of as escape};

/// Returns whether a character acts on a terminal: a control character, or a control of the writing direction.
pub fn is_terminal_control(char: char) -> bool {
    char.is_control()
        || matches!(char, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}')
}

/// Returns the text of a result for a file or a pipe. Only characters that act on a terminal are written out, like
/// `\u{1B}`. Tabs, line feeds, and carriage returns before line feeds stay.
pub fn file_text(text: &str) -> Cow<'_, str> {
    if !text.chars().any(|char| is_terminal_control(char) && !matches!(char, '\n' | '\t')) {
        return Cow::Borrowed(text);
    }
    LegibleText::for_file().whole(text)
}

/// Returns the text of a result for a terminal. Spaces, joiners and selectors stay where they belong to the letters or
/// emoji beside them. All else that is not plainly visible is written out, like `\u{1B}`.
pub fn legible(text: &str) -> Cow<'_, str> {
    if text.bytes().all(|byte| (0x20..0x7F).contains(&byte) || matches!(byte, b'\n' | b'\t')) {
        return Cow::Borrowed(text);
    }
    LegibleText::for_terminal().whole(text)
}

/// The text of a result that comes in pieces. A character whose place depends on the next one is held back until that
/// one is known.
#[derive(Clone, Debug)]
pub struct LegibleText {
    /// Whether a terminal shows the text.
    is_shown: bool,
    /// The character before, or `None` at the start and after a character that was written out.
    before: Option<char>,
    /// A character that waits for the next one.
    held: Option<char>,
    /// The marks since the last base character.
    marks: MarkStack,
}

impl LegibleText {
    /// Returns the beginning of a text for a terminal.
    pub fn for_terminal() -> LegibleText {
        LegibleText { is_shown: true, before: None, held: None, marks: MarkStack::default() }
    }

    /// Returns the beginning of a text for a file or a pipe.
    pub fn for_file() -> LegibleText {
        LegibleText { is_shown: false, ..LegibleText::for_terminal() }
    }

    /// Returns the next piece of the text, as far as it is certain.
    pub fn push(&mut self, piece: &str) -> String {
        let mut out = String::with_capacity(piece.len());
        for char in piece.chars() {
            self.settle(Some(char), &mut out);
            if char == '\r' || (self.is_shown && is_hidden(char) && !matches!(char, '\n' | '\t')) {
                self.held = Some(char);
            } else {
                self.write(char, &mut out);
            }
        }
        out
    }

    /// Returns the rest of the text, which ends here.
    pub fn finish(&mut self) -> String {
        let mut out = String::new();
        self.settle(None, &mut out);
        out
    }

    fn whole(mut self, text: &str) -> Cow<'static, str> {
        let mut out = self.push(text);
        out.push_str(&self.finish());
        Cow::Owned(out)
    }

    /// Writes the character that was held back, now that the next one is known.
    fn settle(&mut self, next: Option<char>, out: &mut String) {
        let Some(held) = self.held.take() else { return };
        if belongs(held, self.before, next) {
            out.push(held);
            self.before = Some(held);
        } else {
            out.push_str(&escape(held));
            self.before = None;
            self.marks = MarkStack::default();
        }
    }

    fn write(&mut self, char: char, out: &mut String) {
        let is_kept = match self.is_shown {
            true => !is_mark(char) || self.marks.takes(char),
            false => !is_terminal_control(char) || matches!(char, '\n' | '\t'),
        };
        if !is_kept {
            out.push_str(&escape(char));
            self.before = None;
            self.marks = MarkStack::default();
            return;
        }
        out.push(char);
        self.before = Some(char);
        if !is_mark(char) {
            self.marks = MarkStack::on(char);
        }
    }
}

/// Returns whether a hidden character belongs between its neighbours, so that it does what its reader expects.
fn belongs(char: char, before: Option<char>, next: Option<char>) -> bool {
    let before_is = |is: fn(char) -> bool| before.is_some_and(is);
    let next_is = |is: fn(char) -> bool| next.is_some_and(is);
    match char {
        '\r' => next == Some('\n'),
        // A space that does not break a line, or a narrow one, between two signs.
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' => {
            before_is(has_ink) && next_is(has_ink)
        }
        // The wide space of Chinese and Japanese. One or two begin a paragraph.
        '\u{3000}' => {
            let begins = before.is_none_or(|before| before == '\n');
            next_is(is_wide)
                || (before_is(is_wide) && next_is(has_ink))
                || (begins && next == Some('\u{3000}'))
        }
        // The joiners change the shapes of the letters beside them in scripts that join letters.
        '\u{200C}' => before_is(joins) && next_is(joins),
        '\u{200D}' => {
            (before_is(joins) && (next_is(joins) || before_is(is_virama)))
                || (before_is(ends_emoji) && next_is(is_pictographic))
        }
        // Scripts without spaces may break a line here.
        '\u{200B}' => before_is(is_spaceless) && next_is(is_spaceless),
        // The choice between the text form and the emoji form of a sign.
        '\u{FE0E}' | '\u{FE0F}' => {
            before_is(has_emoji_form)
                || (before.is_some_and(|before| matches!(before, '0'..='9' | '#' | '*'))
                    && next == Some('\u{20E3}'))
        }
        // The choice between the forms of a Chinese character.
        '\u{FE00}'..='\u{FE02}' | '\u{E0100}'..='\u{E01EF}' => before_is(is_han),
        // The flags of England, Scotland and Wales. Other tags could hide a text behind a flag.
        '\u{E0061}'..='\u{E007F}' => before.is_some_and(|before| is_flag_tag(before, char)),
        // These signs stand over the number that follows.
        '\u{600}'..='\u{605}' | '\u{6DD}' | '\u{890}'..='\u{891}' | '\u{8E2}' => next_is(char::is_numeric),
        _ => false,
    }
}

/// Returns whether a tag follows a character in the flag of England, Scotland or Wales.
///
/// Such a flag is the black flag with the tags `gbeng`, `gbsct` or `gbwls`, and the end.
fn is_flag_tag(before: char, tag: char) -> bool {
    const END: char = '\u{7F}';
    let letter = |char: char| char::from_u32(u32::from(char).wrapping_sub(0xE0000));
    let before = if before == '\u{1F3F4}' { Some('.') } else { letter(before) };
    let pairs =
        [".g", "gb", "be", "en", "ng", "bs", "sc", "ct", "bw", "wl", "ls", "g\u{7f}", "t\u{7f}", "s\u{7f}"];
    let is_pair = |pair: &&str| pair.chars().map(Some).eq([before, letter(tag)]);
    before != Some(END) && pairs.iter().any(is_pair)
}

fn has_ink(char: char) -> bool {
    !char.is_whitespace() && (!is_hidden(char) || matches!(char, '\u{FE0E}' | '\u{FE0F}'))
}

/// Returns whether a character is a letter or a mark of a script whose letters join or stack.
fn joins(char: char) -> bool {
    (char.is_alphabetic() || is_mark(char) || is_virama(char))
        && matches!(u32::from(char),
            0x600..=0x8FF | 0x900..=0xDFF | 0xF00..=0x109F | 0x1780..=0x18AF | 0x1A20..=0x1AAF | 0x1B00..=0x1C4F
            | 0x1CD0..=0x1CFF | 0xA840..=0xA87F | 0xA8E0..=0xA8FF | 0xA980..=0xA9FF | 0xAA60..=0xAA7F
            | 0xFB50..=0xFDFF | 0xFE70..=0xFEFC | 0x10A00..=0x10AFF | 0x11000..=0x11FFF | 0x1E900..=0x1E95F)
}

/// Returns whether a character belongs to a script that is written without spaces between words.
fn is_spaceless(char: char) -> bool {
    (char.is_alphabetic() || is_mark(char))
        && matches!(u32::from(char),
            0xE00..=0xEFF | 0x1000..=0x109F | 0x1780..=0x17FF | 0x1950..=0x19DF | 0x1A20..=0x1AAF
            | 0xA9E0..=0xA9FF | 0xAA60..=0xAADF)
}

fn is_han(char: char) -> bool {
    matches!(u32::from(char), 0x3400..=0x4DBF | 0x4E00..=0x9FFF | 0xF900..=0xFAFF | 0x20000..=0x323AF)
}

/// Returns whether a character is as wide as a Chinese one.
fn is_wide(char: char) -> bool {
    is_han(char)
        || matches!(u32::from(char), 0x3001..=0x30FF | 0x3105..=0x312F | 0x31F0..=0x31FF | 0xAC00..=0xD7A3 | 0xFF01..=0xFF60)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::visible;

    /// Texts whose hidden characters belong where they are.
    const LEGITIMATE: &[&str] = &[
        "Prix\u{202F}: 12\u{A0}€, «\u{A0}oui\u{A0}»",
        "1\u{2009}234\u{202F}567",
        "\u{1F469}\u{200D}\u{1F467}",
        "\u{2764}\u{FE0F}\u{200D}\u{1F525} \u{1F44D}\u{1F3FD}\u{200D}\u{2640}\u{FE0F}",
        "1\u{FE0F}\u{20E3} #\u{FE0F}\u{20E3}",
        // Joiners in Persian, Hindi, Sinhala and Malayalam. Programs lost them (diegosouzapw/OmniRoute#12186,
        // kepano/defuddle#103) or wrote them out, until textmate/textmate#1219.
        "می\u{200C}خواهم",
        "क\u{94D}\u{200D}ष",
        "ක\u{DCA}\u{200D}ෂ",
        "ന\u{D4D}\u{200D} പ",
        "ភាសា\u{200B}ខ្មែរ",
        "\u{3000}\u{3000}今日は\u{3000}晴れ",
        "葛\u{E0100}城",
        "می\u{200C}رود، کتاب\u{200C}ها",
        // Flags of parts of a country.
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 1",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}",
        "\u{1F3F4}\u{E0067}\u{E0062}\u{E0077}\u{E006C}\u{E0073}\u{E007F}!",
        "line\r\nline\r\n",
        "Grüße, שלום, e\u{301}",
    ];

    #[test]
    fn spaces_and_joiners_stay_beside_their_letters() {
        for text in LEGITIMATE {
            assert_eq!(legible(text), *text);
            assert_eq!(file_text(text), *text);
        }
    }

    #[test]
    fn lone_and_repeated_hidden_characters_are_written_out() {
        for (text, expected) in [
            ("a \u{A0}b", "a \\u{A0}b"),
            ("a\u{A0}\u{A0}b", "a\\u{A0}\\u{A0}b"),
            ("end\u{A0}\n", "end\\u{A0}\n"),
            ("pay\u{200C}pal", "pay\\u{200C}pal"),
            ("pay\u{200B}pal", "pay\\u{200B}pal"),
            ("pay\u{200D}pal", "pay\\u{200D}pal"),
            ("می\u{200C}\u{200C}خ", "می\\u{200C}\\u{200C}خ"),
            ("\u{200D}\u{1F467}", "\\u{200D}\u{1F467}"),
            ("\u{1F469}\u{200D}", "\u{1F469}\\u{200D}"),
            ("x\u{FE0F}", "x\\u{FE0F}"),
            ("\u{2764}\u{FE0F}\u{FE0F}", "\u{2764}\u{FE0F}\\u{FE0F}"),
            ("a\u{E0041}", "a\\u{E0041}"),
            // Tags can hide a text behind a flag.
            ("\u{1F3F4}\u{E0070}\u{E0061}", "\u{1F3F4}\\u{E0070}\\u{E0061}"),
            ("\u{1F3F4}\u{E0067}\u{E0062}\u{E0061}", "\u{1F3F4}\u{E0067}\u{E0062}\\u{E0061}"),
            ("\u{1F600}\u{E0067}\u{E007F}", "\u{1F600}\\u{E0067}\\u{E007F}"),
            ("progress\r100%", "progress\\u{D}100%"),
            ("\u{3164}\u{2800}\u{AD}", "\\u{3164}\\u{2800}\\u{AD}"),
        ] {
            assert_eq!(legible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn file_gets_all_but_terminal_controls() {
        let text = "a\u{A0}b\u{200B}c\u{E0041}d\u{FEFF}\u{2028}\te\r\n";
        assert_eq!(file_text(text), text);
        for (text, expected) in [
            ("\u{1B}[2K", "\\u{1B}[2K"),
            ("\u{9B}31m\u{7F}\u{8}\0", "\\u{9B}31m\\u{7F}\\u{8}\\u{0}"),
            ("a\u{202E}b\u{2066}c\u{200F}d\u{61C}", "a\\u{202E}b\\u{2066}c\\u{200F}d\\u{61C}"),
            ("a\rb\r", "a\\u{D}b\\u{D}"),
        ] {
            assert_eq!(file_text(text), expected, "{text:?}");
            assert_eq!(legible(text), expected, "{text:?}");
        }
    }

    #[test]
    fn terminal_text_never_keeps_a_terminal_control() {
        // Each character beside some kinds of neighbours, and those of small alphabets beside each kind.
        let neighbours =
            ["", "a", "م", "क\u{94D}", "ក", "漢", "\u{1F469}", "\u{FE0F}", "\u{200D}", "9", "\n"];
        // Planes without any character are alike, so some characters stand for each.
        let planes = (0..0x4_0000).chain((0x4_0000..0xE_0000).step_by(101));
        let all = planes.chain(0xE_0000..0xE_1000).chain((0xE_1000..=0x10_FFFF).step_by(101));
        for char in all.filter_map(char::from_u32) {
            let pairs = neighbours.iter().zip(neighbours.iter().rev()).enumerate();
            let is_tried =
                |at: usize| at == 0 || char < '\u{3000}' || (u32::from(char) as usize + at).is_multiple_of(4);
            for (before, after) in pairs.filter(|(at, _)| is_tried(*at)).map(|(_, pair)| pair) {
                let text = format!("{before}{char}{after}");
                for shown in [legible(&text), file_text(&text)] {
                    assert!(
                        !shown.chars().any(|c| is_terminal_control(c) && !"\n\t\r".contains(c)),
                        "{text:?}"
                    );
                    assert!(!shown.replace("\r\n", "").contains('\r'), "{text:?}");
                }
                if !is_hidden(char) && before.is_empty() {
                    assert_eq!(legible(&char.to_string()), visible(&char.to_string()));
                }
            }
        }
    }

    #[test]
    fn pieces_of_a_text_show_the_same_as_the_whole() {
        for text in LEGITIMATE.iter().copied().chain(["a\u{200D}", "x\r", "\u{1F469}\u{200D}x\u{1B}"]) {
            for make in [LegibleText::for_terminal, LegibleText::for_file] {
                let (mut whole, mut pieces) = (make(), make());
                let expected = whole.push(text) + &whole.finish();
                let mut shown: String = text.chars().map(|char| pieces.push(&char.to_string())).collect();
                shown.push_str(&pieces.finish());
                assert_eq!(shown, expected);
            }
        }
    }
}
