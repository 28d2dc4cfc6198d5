//! Sentences of ours that quote others.
//!
//! What is quoted is kept apart from the words around it from the place where the sentence is made, so that a page can set
//! it apart as well, whatever marks it has in it. Where nobody has kept it apart, all of it counts as quoted.

/// From which byte to which something is quoted.
pub type Quoted = (usize, usize);

/// A sentence of ours with what it quotes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoting {
    text: String,
    quoted: Vec<Quoted>,
}

impl Quoting {
    /// Words of ours: they come from nobody else.
    pub fn ours(words: impl Into<String>) -> Quoting {
        Quoting { text: words.into(), quoted: vec![] }
    }

    /// Words that may be somebody else's.
    pub fn theirs(words: impl AsRef<str>) -> Quoting {
        Quoting::default().quote(words)
    }

    /// A sentence of ours in which each `{}` stands for something that it quotes.
    ///
    /// ```
    /// use passable::Quoting;
    ///
    /// let said = Quoting::of("there is no `{}` in `{}`", &["a{}", "b"]);
    /// assert_eq!(said.text(), "there is no `a{}` in `b`");
    /// let quoted: Vec<_> = said.parts().into_iter().filter(|part| part.is_quoted).map(|part| part.text).collect();
    /// assert_eq!(quoted, ["a{}", "b"]);
    /// ```
    pub fn of(sentence: &'static str, quoted: &[&str]) -> Quoting {
        let mut pieces = sentence.split("{}");
        let mut said = Quoting::ours(pieces.next().unwrap_or_default());
        let mut quoted = quoted.iter();
        for piece in pieces {
            said = said.quote(quoted.next().unwrap_or(&"")).and(piece);
        }
        // What has no place in the sentence is not lost.
        quoted.fold(said, |said, more| said.and(" ").quote(more))
    }

    /// The same, followed by words of ours.
    #[must_use]
    pub fn and(mut self, words: impl AsRef<str>) -> Quoting {
        self.text.push_str(words.as_ref());
        self
    }

    /// The same, followed by words that may be somebody else's.
    #[must_use]
    pub fn quote(mut self, words: impl AsRef<str>) -> Quoting {
        let words = words.as_ref();
        let from = self.text.len();
        self.text.push_str(words);
        if !words.is_empty() {
            self.quoted.push((from, self.text.len()));
        }
        self
    }

    /// The same, followed by another sentence.
    #[must_use]
    pub fn then(mut self, other: &Quoting) -> Quoting {
        let from = self.text.len();
        self.text.push_str(&other.text);
        self.quoted.extend(other.quoted.iter().map(|(start, end)| (from + start, from + end)));
        self
    }

    /// Several sentences, with words of ours between them.
    pub fn joined(all: impl IntoIterator<Item = Quoting>, between: &str) -> Quoting {
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_default();
        all.fold(first, |said, next| said.and(between).then(&next))
    }

    /// All of it. Not made visible.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// What of it is quoted.
    pub fn quoted(&self) -> &[Quoted] {
        &self.quoted
    }

    /// A sentence that was kept with what of it is quoted; all of it counts as that where nobody has said.
    pub fn kept(text: &str, quoted: Option<&[Quoted]>) -> Quoting {
        let parts = parts(text, quoted).into_iter();
        parts.fold(Quoting::default(), |said, part| match part.is_quoted {
            true => said.quote(part.text),
            false => said.and(part.text),
        })
    }

    /// All of it, and what of it is quoted.
    pub fn into_text(self) -> (String, Vec<Quoted>) {
        (self.text, self.quoted)
    }

    /// Its parts in order.
    pub fn parts(&self) -> Vec<Part<'_>> {
        parts(&self.text, Some(&self.quoted))
    }
}

/// A part of a sentence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'a> {
    /// Whether it is quoted.
    pub is_quoted: bool,
    /// What it says. Not made visible.
    pub text: &'a str,
}

/// The parts of a text of which this is quoted; all of it, if nobody says, or if what is said does not fit the text.
pub fn parts<'a>(text: &'a str, quoted: Option<&[Quoted]>) -> Vec<Part<'a>> {
    let whole = || vec![Part { is_quoted: true, text }];
    let Some(quoted) = quoted else { return whole() };
    let (mut all, mut at) = (Vec::new(), 0);
    for (start, end) in quoted {
        let (Some(ours), Some(theirs)) = (text.get(at..*start), text.get(*start..*end)) else {
            return whole();
        };
        all.extend([(false, ours), (true, theirs)]);
        at = *end;
    }
    let Some(rest) = text.get(at..) else { return whole() };
    all.push((false, rest));
    all.into_iter()
        .filter(|(_, text)| !text.is_empty())
        .map(|(is_quoted, text)| Part { is_quoted, text })
        .collect()
}

/// A sentence of ours in which each `{}` stands for something that it quotes.
///
/// ```
/// let said = passable::quoting!("`{}` has {} bytes", "a\nb", 3);
/// assert_eq!((said.text(), said.quoted().len()), ("`a\nb` has 3 bytes", 2));
/// ```
#[macro_export]
macro_rules! quoting {
    ($sentence:literal $(, $quoted:expr)* $(,)?) => {
        $crate::Quoting::of($sentence, &[$(&*::std::string::ToString::to_string(&$quoted)),*])
    };
}

/// What is written down in the program is ours.
impl From<&'static str> for Quoting {
    fn from(words: &'static str) -> Quoting {
        Quoting::ours(words)
    }
}

/// Of what was put together nobody knows what is whose.
impl From<String> for Quoting {
    fn from(words: String) -> Quoting {
        Quoting::theirs(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_quoted_stays_apart_whatever_it_says() {
        let said = Quoting::ours("the ")
            .quote("“ours” ` {} \u{202e}")
            .and(", and ")
            .then(&Quoting::of("{} ends", &["ä"]));
        let parts: Vec<_> = said.parts().into_iter().map(|part| (part.is_quoted, part.text)).collect();
        let expected = [
            (false, "the "),
            (true, "“ours” ` {} \u{202e}"),
            (false, ", and "),
            (true, "ä"),
            (false, " ends"),
        ];
        assert_eq!(parts, expected);
        assert_eq!(said.text(), expected.map(|(_, text)| text).concat());
        let joined = Quoting::joined([Quoting::theirs("a"), "b".into(), "c".to_owned().into()], "; ");
        assert_eq!((joined.text(), joined.quoted()), ("a; b; c", &[(0, 1), (6, 7)][..]));
        assert_eq!(Quoting::of("no room", &["more"]).quoted(), [(8, 12)]);
        assert_eq!(Quoting::of("{} and {}", &["one"]).text(), "one and ");
    }

    #[test]
    fn what_does_not_fit_its_text_counts_as_quoted() {
        let ours = |text| vec![Part { is_quoted: false, text }];
        let whole = |text| vec![Part { is_quoted: true, text }];
        for (text, quoted, expected) in [
            ("abc", Some(&[][..]), ours("abc")),
            ("abc", None, whole("abc")),
            ("abc", Some(&[(0, 4)][..]), whole("abc")),
            ("abc", Some(&[(2, 1)][..]), whole("abc")),
            ("abc", Some(&[(1, 2), (0, 1)][..]), whole("abc")),
            ("äb", Some(&[(1, 2)][..]), whole("äb")),
            ("", Some(&[][..]), vec![]),
        ] {
            assert_eq!(parts(text, quoted), expected, "{text:?} {quoted:?}");
        }
    }
}
