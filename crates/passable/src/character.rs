//! The Unicode properties of a character that decide how the character is shown.

use icu_properties::props::{
    BidiClass, CanonicalCombiningClass, DefaultIgnorableCodePoint, Emoji, EmojiModifier,
    ExtendedPictographic, GeneralCategory, HangulSyllableType, IndicSyllabicCategory, JoiningType, Script,
};
use icu_properties::{CodePointMapData, CodePointSetData};

/// The joiner that keeps letters apart.
const ZERO_WIDTH_NON_JOINER: char = '\u{200C}';

/// The joiner that joins letters, and the parts of an emoji.
const ZERO_WIDTH_JOINER: char = '\u{200D}';

/// The selector of the text form of a sign.
const TEXT_SELECTOR: char = '\u{FE0E}';

/// The selector of the emoji form of a sign.
const EMOJI_SELECTOR: char = '\u{FE0F}';

/// The mark that draws a key around a digit.
const KEYCAP: char = '\u{20E3}';

/// The flag before the tags of a part of a country.
const BLACK_FLAG: char = '\u{1F3F4}';

/// The tags of the flags of England, Scotland and Wales, as ASCII. Other tags could hide a text behind a flag.
const FLAG_TAGS: [&str; 3] = ["gbeng\u{7F}", "gbsct\u{7F}", "gbwls\u{7F}"];

fn category(char: char) -> GeneralCategory {
    CodePointMapData::<GeneralCategory>::new().get(char)
}

fn script(char: char) -> Script {
    CodePointMapData::<Script>::new().get(char)
}

/// Returns whether a character is invisible, looks like a plain space without being one, or acts on its surroundings.
pub(crate) fn is_hidden(char: char) -> bool {
    use GeneralCategory as Category;
    // Most text is ASCII, and the look into the tables costs more.
    if char.is_ascii() {
        return char.is_ascii_control();
    }
    match category(char) {
        Category::Control
        | Category::Format
        | Category::Surrogate
        | Category::PrivateUse
        | Category::Unassigned
        | Category::LineSeparator
        | Category::ParagraphSeparator => true,
        Category::SpaceSeparator => char != ' ',
        _ => CodePointSetData::new::<DefaultIgnorableCodePoint>().contains(char) || is_drawn_blank(char),
    }
}

/// Returns whether a character counts as a letter, a mark or a sign, but is drawn as nothing. Unicode has no property
/// for this, so the list has those whose name or description says so.
fn is_drawn_blank(char: char) -> bool {
    matches!(
        char,
        // Joiners and selectors of letters.
        '\u{2D7F}' | '\u{1107F}' | '\u{1BC9D}'
        // The blank pattern of Braille, a space of half a width, and the place of an object.
        | '\u{2800}' | '\u{303F}' | '\u{FFFC}'
        // The blanks of Egyptian, Khitan, musical and sign writing.
        | '\u{13441}' | '\u{13442}' | '\u{16FE4}' | '\u{1D159}' | '\u{1DA7F}' | '\u{1DA80}'
    )
}

/// Returns whether a character is drawn together with the one before it: a mark, or a Hangul vowel or final consonant.
pub(crate) fn is_mark(char: char) -> bool {
    if char.is_ascii() {
        return false;
    }
    is_nonspacing_mark(char) || category(char) == GeneralCategory::SpacingMark
}

/// Returns whether a mark has no width of its own, so that several of them would be drawn over other text.
pub(crate) fn is_nonspacing_mark(char: char) -> bool {
    let takes_no_width =
        |kind| matches!(kind, HangulSyllableType::VowelJamo | HangulSyllableType::TrailingJamo);
    matches!(category(char), GeneralCategory::NonspacingMark | GeneralCategory::EnclosingMark)
        || takes_no_width(CodePointMapData::<HangulSyllableType>::new().get(char))
}

/// Returns whether a mark stacks the next letter under the one before it, and shows nothing else.
pub(crate) fn is_stacker(char: char) -> bool {
    CodePointMapData::<IndicSyllabicCategory>::new().get(char) == IndicSyllabicCategory::InvisibleStacker
}

/// Returns whether a stacker stands between two letters of its own script.
pub(crate) fn is_stacking(char: char, before: &str, after: &str) -> bool {
    let is_own = |other: char| other.is_alphabetic() && script(other) == script(char);
    let letter = before.chars().rev().find(|char| !is_mark(*char) || char.is_alphabetic());
    letter.is_some_and(is_own) && after.chars().next().is_some_and(is_own)
}

/// Returns whether a character takes the vowel from the letter before it. A joiner behind it chooses the letter's form.
pub(crate) fn is_virama(char: char) -> bool {
    CodePointMapData::<CanonicalCombiningClass>::new().get(char) == CanonicalCombiningClass::Virama
}

/// Returns whether a character is a picture, or a sign that has a picture's form.
pub(crate) fn is_pictographic(char: char) -> bool {
    CodePointSetData::new::<ExtendedPictographic>().contains(char)
}

/// Returns whether an emoji may end with a character, so that another one can be joined to it.
pub(crate) fn ends_emoji(char: char) -> bool {
    char == EMOJI_SELECTOR || is_pictographic(char) || CodePointSetData::new::<EmojiModifier>().contains(char)
}

/// Returns whether a selector can choose between the text form and the emoji form of a character.
pub(crate) fn has_emoji_form(char: char) -> bool {
    !char.is_ascii() && CodePointSetData::new::<Emoji>().contains(char)
}

/// Returns whether a character is a letter or a digit of a script that is written from right to left.
pub(crate) fn is_right_to_left(char: char) -> bool {
    matches!(
        CodePointMapData::<BidiClass>::new().get(char),
        BidiClass::RightToLeft | BidiClass::ArabicLetter | BidiClass::ArabicNumber
    )
}

/// Returns the ASCII digit for a decimal digit of any script.
pub(crate) fn decimal_digit(char: char) -> Option<char> {
    if char.is_ascii() {
        return Some(char).filter(char::is_ascii_digit);
    }
    let is_digit =
        |code: u32| char::from_u32(code).is_some_and(|char| category(char) == GeneralCategory::DecimalNumber);
    let code = u32::from(char);
    // The ten digits of each script lie side by side in their order, and five sets of mathematical digits do so too.
    let before = (0..50).take_while(|back| is_digit(code.saturating_sub(*back))).count();
    char::from_digit(u32::try_from(before.checked_sub(1)? % 10).ok()?, 10)
}

/// Returns whether one can see what a hidden character does to the characters beside it. `before` and `after` are the
/// texts on its two sides.
///
/// The joiners follow RFC 5892, appendices A.1 and A.2, and the sequences of emoji follow Unicode Technical Standard 51.
pub(crate) fn is_seen(char: char, before: &str, after: &str) -> bool {
    let (last, next) = (before.chars().next_back(), after.chars().next());
    let last_is = |is: fn(char) -> bool| last.is_some_and(is);
    match char {
        ZERO_WIDTH_NON_JOINER => {
            let is_one_script = last.zip(next).is_some_and(|(last, next)| script(last) == script(next));
            (last_is(is_virama) && is_one_script) || parts_joined_letters(before, after)
        }
        ZERO_WIDTH_JOINER => {
            let is_emoji = match last {
                Some(EMOJI_SELECTOR) => before.chars().rev().nth(1).is_some_and(is_pictographic),
                _ => last_is(ends_emoji),
            };
            last_is(is_virama) || (is_emoji && next.is_some_and(is_pictographic))
        }
        TEXT_SELECTOR | EMOJI_SELECTOR => {
            let is_key = last.is_some_and(|last| matches!(last, '0'..='9' | '#' | '*'));
            last_is(has_emoji_form) || (is_key && next == Some(KEYCAP))
        }
        '\u{E0061}'..='\u{E007F}' => is_in_flag(char, before, after),
        _ => false,
    }
}

/// Returns whether a character between two texts keeps letters apart that would be joined.
fn parts_joined_letters(before: &str, after: &str) -> bool {
    let joining = CodePointMapData::<JoiningType>::new();
    let is_open = |kind: &JoiningType| *kind != JoiningType::Transparent;
    let left = before.chars().rev().map(|char| joining.get(char)).find(is_open);
    let right = after.chars().map(|char| joining.get(char)).find(is_open);
    matches!(left, Some(JoiningType::LeftJoining | JoiningType::DualJoining))
        && matches!(right, Some(JoiningType::RightJoining | JoiningType::DualJoining))
}

/// Returns whether a tag belongs to a complete flag of England, Scotland or Wales.
fn is_in_flag(char: char, before: &str, after: &str) -> bool {
    let tag = |char: char| char::from_u32(u32::from(char).checked_sub(0xE0000)?).filter(char::is_ascii);
    let earlier: Vec<char> = before.chars().rev().map_while(tag).collect();
    let is_flag = before.chars().rev().nth(earlier.len()) == Some(BLACK_FLAG);
    let all = earlier.iter().rev().copied().chain(tag(char)).chain(after.chars().map_while(tag));
    is_flag && FLAG_TAGS.contains(&all.collect::<String>().as_str())
}
