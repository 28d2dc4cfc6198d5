//! Foreign words inside sentences of this program: short, in one line, and always marked.
//!
//! A word with spaces or with other signs stands in quotation marks, so that it cannot look like a part of the sentence
//! on a screen without colours. All foreign words are marked as quoted, so that a page can set them in another type.

use std::borrow::Cow;

use passable::{Quoting, visible_line};

/// The maximum number of characters of a foreign word in a sentence, as a screen shows them.
const MAX_SHOWN: usize = 60;

/// The maximum number of characters of the places in a list. The first place is always named.
const MAX_LISTED_CHARS: usize = 40;

/// The number of characters at the end of a long word without gaps that are shown.
const MAX_END: usize = 28;

/// The words that mean somebody or something else in a sentence of ours, in small letters.
const MISLEADING: [&str; 14] = [
    "almoner",
    "anything",
    "everyone",
    "everything",
    "i",
    "it",
    "me",
    "no",
    "nobody",
    "nothing",
    "the",
    "we",
    "you",
    "your",
];

/// Returns the name of a worker, an agent or a slot. A plain word needs no quotation marks.
pub fn name(word: &str) -> Quoting {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.@".contains(char);
    let is_misleading = MISLEADING.contains(&word.to_ascii_lowercase().as_str());
    let fits = !word.is_empty() && !is_misleading && word.len() <= MAX_SHOWN;
    if fits && word.chars().all(is_plain) { Quoting::theirs(word) } else { value(word) }
}

/// Returns a path, an address or the name of a document. It needs no quotation marks if it can be nothing else.
pub fn place(word: &str) -> Quoting {
    let is_plain = |char: char| char.is_ascii_alphanumeric() || "-_.@/:+".contains(char);
    let is_place = word.contains(['/', '@', '.']) && !word.ends_with(['.', ':']);
    let fits = is_place && word.len() <= MAX_SHOWN;
    if fits && word.chars().all(is_plain) { Quoting::theirs(word) } else { value(word) }
}

/// Returns the beginning of a text in quotation marks.
pub fn value(text: &str) -> Quoting {
    Quoting::name(&brief(text))
}

/// Returns the first few places, with the number of the others.
pub fn places(all: &[String]) -> Quoting {
    let mut room = MAX_LISTED_CHARS;
    let mut named: Vec<Quoting> = Vec::new();
    for one in all.iter().map(|word| place(word)) {
        let left = room.checked_sub(one.text().chars().count());
        if left.is_none() && !named.is_empty() {
            break;
        }
        room = left.unwrap_or(0);
        named.push(one);
    }
    match all.len().saturating_sub(named.len()) {
        0 => listed(&named),
        more => Quoting::joined(named, ", ").and(format!(" and {more} more")),
    }
}

/// Returns a list in a sentence, such as `a, b and c`.
pub fn listed(all: &[Quoting]) -> Quoting {
    match all {
        [first @ .., last] if !first.is_empty() => {
            Quoting::joined(first.iter().cloned(), ", ").and(" and ").then(last)
        }
        all => Quoting::joined(all.iter().cloned(), ", "),
    }
}

/// Returns whether [`value`] shows a text whole.
pub fn is_whole(text: &str) -> bool {
    brief(text) == text
}

/// Returns the beginning of a text in one line. Each gap between its words is one space.
fn brief(text: &str) -> Cow<'_, str> {
    let is_short = text.len() <= MAX_SHOWN && !text.contains(|char: char| char.is_control());
    if is_short && visible_line(text).len() <= MAX_SHOWN {
        return Cow::Borrowed(text);
    }
    if text.is_ascii() && !text.contains(|char: char| char.is_whitespace() || char.is_control()) {
        // The end of an address, its host, must stay.
        let (head, _) = text.split_at_checked(MAX_SHOWN - MAX_END - 1).unwrap_or((text, ""));
        let end = text.len().checked_sub(MAX_END).and_then(|at| text.get(at..)).unwrap_or("");
        return Cow::Owned(format!("{head}…{end}"));
    }
    let mut line = String::new();
    let mut room = MAX_SHOWN;
    for (at, word) in
        text.split(|char: char| char.is_whitespace()).filter(|word| !word.is_empty()).enumerate()
    {
        let gap = if at == 0 { "" } else { " " };
        for char in gap.chars().chain(word.chars()) {
            let width = visible_line(char.encode_utf8(&mut [0; 4])).chars().count();
            let Some(left) = room.checked_sub(width) else {
                line.push('…');
                return Cow::Owned(line);
            };
            room = left;
            line.push(char);
        }
    }
    Cow::Owned(line)
}

/// Returns a sentence of a gate without backticks: its names stand in quotation marks, as in other sentences.
pub fn without_backticks(said: &Quoting) -> Quoting {
    let mut is_open = false;
    let mut out = Quoting::default();
    for part in said.parts() {
        if part.is_quoted {
            let inside = part.text.replace('“', "\\u{201C}").replace('”', "\\u{201D}");
            let is_inside = is_open || out.text().ends_with('“');
            out = out.quote(if is_inside { inside } else { part.text.to_owned() });
            continue;
        }
        for (at, piece) in part.text.split('`').enumerate() {
            if at > 0 {
                is_open = !is_open;
                out = out.and(if is_open { "“" } else { "”" });
            }
            out = out.and(piece);
        }
    }
    out
}

/// Returns a sentence of a gate as a sentence for people: it begins with a capital letter, if its first word is
/// Almoner's own, and ends with a full stop.
pub fn as_sentence(said: &Quoting) -> Quoting {
    // A sentence that is foreign as a whole stands in quotation marks.
    if said.quoted() == [(0, said.text().len())] {
        return Quoting::name(said.text()).and(".");
    }
    let said = without_backticks(said);
    let mut out = Quoting::default();
    for (at, part) in said.parts().into_iter().enumerate() {
        out = match part.is_quoted {
            true => out.quote(part.text),
            false if at == 0 => out.and(capitalized(part.text)),
            false => out.and(part.text),
        };
    }
    if out.text().ends_with(['.', '?', '!']) { out } else { out.and(".") }
}

/// Returns a text with a capital letter at its beginning.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn foreign_word_that_could_be_ours_is_in_quotation_marks() {
        for (said, expected) in [
            (name("clerk"), "clerk"),
            (name("you”. Approve"), r"“you\u{201D}. Approve”"),
            (name(""), "“”"),
            (place("mail/5-a.eml"), "mail/5-a.eml"),
            (place("you"), "“you”"),
            (place("a/b. You gave it"), "“a/b. You gave it”"),
            (place("a/b."), "“a/b.”"),
            (value("one\n two"), "“one two”"),
            (value(&"x".repeat(99)), &format!("“{}…{}”", "x".repeat(31), "x".repeat(28))),
            (
                value(&format!("{}@evil.example", "a".repeat(99))),
                &format!("“{}…{}@evil.example”", "a".repeat(31), "a".repeat(15)),
            ),
            (name("You"), "“You”"),
            (name("nothing"), "“nothing”"),
            (value(&"\u{202e}".repeat(99)), &format!("“{}…”", "\u{202e}".repeat(7))),
        ] {
            assert_eq!(said.text(), expected);
            let ours: String =
                said.parts().iter().filter(|part| !part.is_quoted).map(|part| part.text).collect();
            assert!(ours.chars().all(|char| "“”".contains(char)), "{ours:?}");
        }
    }

    #[test]
    fn places_are_listed_and_counted() {
        let long = format!("{}.txt", "x".repeat(50));
        for (all, expected) in [
            (&["0.txt"][..], "0.txt"),
            (&["0.txt", "1.txt"], "0.txt and 1.txt"),
            (&["0.txt", "1.txt", "2.txt"], "0.txt, 1.txt and 2.txt"),
            (
                &["mail/5-mail-from-supplier.eml", "1.txt", "2-of-all.txt", "3.txt"],
                "mail/5-mail-from-supplier.eml, 1.txt and 2 more",
            ),
            (&[&long, "1.txt"], &format!("{long} and 1 more")),
        ] {
            let all: Vec<String> = all.iter().map(|one| (*one).to_owned()).collect();
            assert_eq!(places(&all).text(), expected);
        }
    }

    #[test]
    fn sentence_of_a_gate_has_no_backticks() {
        let said = passable::quoting!("`{}` would be written, and `--allow` is named", "a”`b");
        let expected = "“a\\u{201D}`b” would be written, and “--allow” is named.";
        let sentence = as_sentence(&said);
        assert_eq!(sentence.text(), expected);
        assert_eq!(sentence.parts().iter().filter(|part| part.is_quoted).count(), 1);
        assert_eq!(as_sentence(&"the vault is locked".into()).text(), "The vault is locked.");
        assert_eq!(as_sentence(&Quoting::theirs("All is well”.")).text(), "“All is well\\u{201D}.”.");
    }
}
