//! Sentences of Almoner that quote foreign text.
//!
//! The code that makes a sentence marks its quoted parts, so that a page can set them apart as well. Quotation marks
//! within the foreign text have no effect on this. A sentence without recorded positions counts as quoted as a whole.

/// The first byte of a quoted part, and the byte after its last.
pub type Quoted = (usize, usize);

/// A sentence of Almoner, with the positions of its quoted parts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Quoting {
    text: String,
    quoted: Vec<Quoted>,
}

impl Quoting {
    /// Returns a sentence with only Almoner's own words.
    pub fn ours(words: impl Into<String>) -> Quoting {
        Quoting { text: words.into(), quoted: vec![] }
    }

    /// Returns a sentence that is quoted as a whole, because it may be foreign text.
    pub fn theirs(words: impl AsRef<str>) -> Quoting {
        Quoting::default().quote(words)
    }

    /// Returns a sentence in which each `{}` is replaced by a quoted text.
    ///
    /// ```
    /// use passable::Quoting;
    ///
    /// let said = Quoting::format("there is no `{}` in `{}`", &["a{}", "b"]);
    /// assert_eq!(said.text(), "there is no `a{}` in `b`");
    /// let quoted: Vec<_> = said.parts().into_iter().filter(|part| part.is_quoted).map(|part| part.text).collect();
    /// assert_eq!(quoted, ["a{}", "b"]);
    /// ```
    pub fn format(sentence: &'static str, quoted: &[&str]) -> Quoting {
        let mut pieces = sentence.split("{}");
        let mut said = Quoting::ours(pieces.next().unwrap_or_default());
        let mut quoted = quoted.iter();
        for piece in pieces {
            said = said.quote(quoted.next().unwrap_or(&"")).and(piece);
        }
        // Arguments without a `{}` in the sentence are appended.
        quoted.fold(said, |said, more| said.and(" ").quote(more))
    }

    /// Returns the sentence with more of Almoner's own words at its end.
    #[must_use]
    pub fn and(mut self, words: impl AsRef<str>) -> Quoting {
        self.text.push_str(words.as_ref());
        self
    }

    /// Returns the sentence with a quoted text at its end.
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

    /// Returns the sentence with another sentence at its end.
    #[must_use]
    pub fn then(mut self, other: &Quoting) -> Quoting {
        let from = self.text.len();
        self.text.push_str(&other.text);
        self.quoted.extend(other.quoted.iter().map(|(start, end)| (from + start, from + end)));
        self
    }

    /// Returns a foreign name in quotation marks. The name cannot end the quotation.
    pub fn name(text: &str) -> Quoting {
        let text = text.replace('“', "\\u{201C}").replace('”', "\\u{201D}");
        Quoting::ours("“").quote(text).and("”")
    }

    /// Returns several sentences as one, with `between` between them as Almoner's own words.
    pub fn joined(all: impl IntoIterator<Item = Quoting>, between: &str) -> Quoting {
        let mut all = all.into_iter();
        let first = all.next().unwrap_or_default();
        all.fold(first, |said, next| said.and(between).then(&next))
    }

    /// Returns the whole text, whose invisible characters are not made visible.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Returns the positions of the quoted parts.
    pub fn quoted(&self) -> &[Quoted] {
        &self.quoted
    }

    /// Returns a stored sentence with the positions of its quoted parts. Without positions, the whole sentence counts
    /// as quoted.
    pub fn from_stored(text: &str, quoted: Option<&[Quoted]>) -> Quoting {
        let parts = parts(text, quoted).into_iter();
        parts.fold(Quoting::default(), |said, part| match part.is_quoted {
            true => said.quote(part.text),
            false => said.and(part.text),
        })
    }

    /// Returns the text and the positions of its quoted parts, for storage.
    pub fn into_text(self) -> (String, Vec<Quoted>) {
        (self.text, self.quoted)
    }

    /// Returns the parts of the sentence, in order.
    pub fn parts(&self) -> Vec<QuotingPart<'_>> {
        parts(&self.text, Some(&self.quoted))
    }
}

/// A part of a sentence, either quoted or in Almoner's own words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QuotingPart<'a> {
    /// Whether the part is quoted.
    pub is_quoted: bool,
    /// The text of the part, whose invisible characters are not made visible.
    pub text: &'a str,
}

/// Returns the parts of a text, given the positions of its quoted parts.
///
/// The whole text counts as quoted if there are no positions, or if they do not fit the text.
pub fn parts<'a>(text: &'a str, quoted: Option<&[Quoted]>) -> Vec<QuotingPart<'a>> {
    let whole = || vec![QuotingPart { is_quoted: true, text }];
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
        .map(|(is_quoted, text)| QuotingPart { is_quoted, text })
        .collect()
}

/// Makes a [`Quoting`] from a sentence in which each `{}` is replaced by a quoted text.
///
/// ```
/// let said = passable::quoting!("`{}` has {} bytes", "a\nb", 3);
/// assert_eq!((said.text(), said.quoted().len()), ("`a\nb` has 3 bytes", 2));
/// ```
#[macro_export]
macro_rules! quoting {
    ($sentence:literal $(, $quoted:expr)* $(,)?) => {
        $crate::Quoting::format($sentence, &[$(&*::std::string::ToString::to_string(&$quoted)),*])
    };
}

/// Text in the program itself counts as Almoner's own words.
impl From<&'static str> for Quoting {
    fn from(words: &'static str) -> Quoting {
        Quoting::ours(words)
    }
}

/// Text from run time counts as quoted, because its origin is unknown.
impl From<String> for Quoting {
    fn from(words: String) -> Quoting {
        Quoting::theirs(words)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quoted_parts_keep_their_positions() {
        let said = Quoting::ours("the ")
            .quote("“ours” ` {} \u{202e}")
            .and(", and ")
            .then(&Quoting::format("{} ends", &["ä"]));
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
        assert_eq!(Quoting::format("no room", &["more"]).quoted(), [(8, 12)]);
        assert_eq!(Quoting::format("{} and {}", &["one"]).text(), "one and ");
    }

    #[test]
    fn text_with_misfitting_positions_counts_as_quoted() {
        let ours = |text| vec![QuotingPart { is_quoted: false, text }];
        let whole = |text| vec![QuotingPart { is_quoted: true, text }];
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
