//! The parts of a sentence on a page: our words, text that is set as code, and quoted text of somebody else.

use passable::Quoting;

/// A part of a sentence.
#[derive(Debug, PartialEq, Eq)]
pub enum SentencePart<'a> {
    /// Words of Almoner.
    Ours(&'a str),
    /// Words of Almoner between backticks, which a page sets as code.
    Code(&'a str),
    /// Quoted text of somebody else.
    Theirs(&'a str),
}

/// Returns the parts of a sentence without the backticks that Almoner put around code or around a quotation. Quoted
/// text keeps its own backticks. A backtick without a partner stays.
pub fn parts(said: &Quoting) -> Vec<SentencePart<'_>> {
    let all = said.parts();
    let ours = |at: Option<usize>| at.and_then(|at| all.get(at)).filter(|part| !part.is_quoted);
    // Whether backticks enclose the quotation at this place.
    let is_enclosed = |at: usize| {
        let before = ours(at.checked_sub(1)).is_some_and(|part| part.text.ends_with('`'));
        before && ours(at.checked_add(1)).is_some_and(|part| part.text.starts_with('`'))
    };
    let mut found = Vec::new();
    for (at, part) in all.iter().enumerate() {
        if part.is_quoted {
            found.push(SentencePart::Theirs(part.text));
            continue;
        }
        let mut text = part.text;
        if at.checked_sub(1).is_some_and(is_enclosed) {
            text = text.strip_prefix('`').unwrap_or(text);
        }
        if is_enclosed(at.saturating_add(1)) {
            text = text.strip_suffix('`').unwrap_or(text);
        }
        if text.matches('`').count() % 2 == 1 {
            found.push(SentencePart::Ours(text));
            continue;
        }
        for (piece, words) in text.split('`').enumerate() {
            match (words.is_empty(), piece % 2) {
                (true, _) => {}
                (false, 0) => found.push(SentencePart::Ours(words)),
                (false, _) => found.push(SentencePart::Code(words)),
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use passable::quoting;

    use super::SentencePart::{Code, Ours, Theirs};
    use super::*;

    #[test]
    fn backticks_of_ours_go_and_those_of_others_stay() {
        let said = quoting!("`{}` is `{}`, see `almoner trace`", "a`b", "c");
        let expected = [Theirs("a`b"), Ours(" is "), Theirs("c"), Ours(", see "), Code("almoner trace")];
        assert_eq!(parts(&said), expected);
        assert_eq!(parts(&Quoting::ours("a ` b")), [Ours("a ` b")]);
        assert_eq!(parts(&Quoting::ours("so `").quote("x")), [Ours("so `"), Theirs("x")]);
        assert_eq!(parts(&Quoting::theirs("`x`")), [Theirs("`x`")]);
    }
}
