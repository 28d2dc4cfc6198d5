//! The index of a text: every word, number and date with its places, made once for all later searches.

use std::ops::Range;

use super::decode;
use super::passage::{self, Role};
use super::text::{self, Squeezed, WordRanges};
use super::view::{self, View};
use super::{date, number};

/// The maximum number of places of one word at which a match is tried.
const MAX_TRIED: usize = 1 << 14;

/// The maximum number of matches of one pattern in one view whose roles are looked at.
const MAX_MATCHES: usize = 256;

/// The maximum number of numbers and dates in one text that are found in another spelling.
const MAX_MARKS: usize = 1 << 18;

/// The minimum number of bytes of an address or identifier that is also found without its punctuation. Shorter runs of
/// letters and digits occur by chance.
pub(super) const MIN_SQUEEZED_LEN: usize = 10;

/// The minimum number of bytes of a text that is found between noise.
const MIN_IN_NOISE: usize = 8;

/// The searchable form of one text. It costs time to make, and little to search.
pub struct TextIndex {
    views: Vec<IndexedView>,
    squeezed: Squeezed,
    /// Numbers and dates in other spellings: the hash of the value, and its place in the first view. Sorted.
    marks: Vec<(u64, u32, u32)>,
    /// The text as the user typed it, if it is the user's own.
    typed: Option<String>,
}

/// One version of a text, with the places of its words.
struct IndexedView {
    steps: Vec<&'static str>,
    text: String,
    /// The hash of each word in the upper half, and its place in the lower half. Sorted.
    words: Vec<u64>,
    spoken: Vec<Range<usize>>,
    is_list: bool,
    /// Whether the decoder may leave noise right before and after a text.
    has_noise: bool,
    /// The places of dates and times, in order. Only the first view has them.
    dates: Vec<Range<usize>>,
    /// Whether the text is the user's own. Then only whole tokens are found.
    is_typed: bool,
}

/// A text to search for.
pub(super) struct Pattern {
    /// The normalised text.
    pub(super) text: String,
    /// The hash and the place of each word.
    words: Vec<(u32, usize)>,
    /// Whether the text is a number.
    is_digits: bool,
    /// Whether the text is an address, a host or the name of a file.
    is_name: bool,
}

/// The places at which a text was found in an index.
#[derive(Debug)]
pub(super) struct Occurrence {
    /// The encodings that were decoded in the document.
    pub(super) steps: Vec<&'static str>,
    /// The spelling, if it is another one than that of the argument.
    pub(super) spelling: Option<&'static str>,
    /// The roles of the text at all its places.
    pub(super) roles: Vec<Role>,
}

impl Pattern {
    /// Returns the pattern of a text, or `None` if the text has no word.
    pub(super) fn of(text: &str) -> Option<Pattern> {
        Pattern::of_normalised(text::normalise(text))
    }

    pub(super) fn of_normalised(text: String) -> Option<Pattern> {
        let words: Vec<(u32, usize)> =
            WordRanges::of(&text).take(64).map(|range| (short(&text[range.clone()]), range.start)).collect();
        let is_digits = text.bytes().all(|byte| byte.is_ascii_digit() || b".,'".contains(&byte));
        let is_name = text.contains(['.', '@']) && !text.bytes().any(text::is_separator);
        (!words.is_empty()).then_some(Pattern { text, words, is_digits, is_name })
    }
}

/// Returns the part of a word's hash by which words are sorted.
fn short(word: &str) -> u32 {
    text::hash(word) as u32
}

impl IndexedView {
    fn of(view: View, is_typed: bool) -> IndexedView {
        let text = text::normalise(&view.text);
        let words = WordRanges::of(&text)
            .filter_map(|range| {
                let place = u32::try_from(range.start).ok()?;
                Some(u64::from(short(&text[range])) << 32 | u64::from(place))
            })
            .collect::<Vec<u64>>();
        let mut words = words;
        words.sort_unstable();
        let spoken = passage::spoken(&text);
        let is_list = passage::is_list(&text, &spoken);
        let has_noise = view.steps.last().is_some_and(|step| decode::NOISY.contains(step));
        let dates = Vec::new();
        IndexedView { steps: view.steps, text, words, spoken, is_list, has_noise, dates, is_typed }
    }

    /// Returns the entries of a word.
    fn places(&self, word: u32) -> &[u64] {
        let from = self.words.partition_point(|entry| entry >> 32 < u64::from(word));
        let to = from + self.words[from..].partition_point(|entry| entry >> 32 == u64::from(word));
        &self.words[from..to]
    }

    /// Returns the places of a pattern, as whole words.
    fn find<'a>(&'a self, pattern: &'a Pattern) -> impl Iterator<Item = Range<usize>> + 'a {
        let (places, at) = self.rarest(pattern);
        let starts = places.iter().take(MAX_TRIED).map(|entry| (entry & 0xffff_ffff) as usize);
        starts.filter_map(move |place| self.matches(pattern, place.checked_sub(at)?))
    }

    /// Returns the entries of the pattern's word with the fewest entries, and the place of that word in the pattern.
    fn rarest(&self, pattern: &Pattern) -> (&[u64], usize) {
        let mut rarest: Option<(&[u64], usize)> = None;
        for (word, at) in &pattern.words {
            let places = self.places(*word);
            if places.is_empty() {
                return (&[], 0);
            }
            if rarest.is_none_or(|(fewest, _)| places.len() < fewest.len()) {
                rarest = Some((places, *at));
            }
        }
        rarest.unwrap_or((&[], 0))
    }

    fn matches(&self, pattern: &Pattern, start: usize) -> Option<Range<usize>> {
        let end = start + pattern.text.len();
        let here = self.text.as_bytes().get(start..end)?;
        let is_same = here
            .iter()
            .zip(pattern.text.as_bytes())
            .all(|(one, other)| one == other || (text::is_separator(*one) && text::is_separator(*other)));
        let is_whole = is_same
            && self.text.is_char_boundary(start)
            && self.text.is_char_boundary(end)
            && (self.has_noise && pattern.text.len() >= MIN_IN_NOISE
                || text::is_apart(&self.text, start, end))
            && (!pattern.is_digits || text::is_whole_number(&self.text, start, end))
            && (!pattern.is_name || text::is_whole_name(&self.text, start, end))
            && (!self.is_typed || text::is_whole_token(&self.text, start, end))
            && !(pattern.is_digits && self.is_in_date(start, end));
        is_whole.then_some(start..end)
    }

    /// Returns whether a short number is a part of a date or a time.
    fn is_in_date(&self, start: usize, end: usize) -> bool {
        let next = self.dates.partition_point(|date| date.end < end);
        end - start <= 2 && self.dates.get(next).is_some_and(|date| date.start <= start)
    }

    fn role(&self, place: &Range<usize>) -> Role {
        // Hidden text is meant for the model, whoever named the document.
        if self.steps.iter().any(|step| !decode::USUAL.contains(step)) {
            return Role::Spoken;
        }
        passage::role(&self.text, place, &self.spoken, self.is_list)
    }
}

impl TextIndex {
    /// Returns the index of a text, with its usual encodings decoded.
    pub fn new(text: &str) -> TextIndex {
        TextIndex::of_views(view::document(text), None)
    }

    /// Returns the index of a user's own words, which nobody encodes. Only whole tokens of them are found.
    pub fn plain(text: &str) -> TextIndex {
        let typed = apart(text);
        let view = View { text: typed.clone(), steps: Vec::new() };
        TextIndex::of_views(vec![view], Some(typed))
    }

    fn of_views(views: Vec<View>, typed: Option<String>) -> TextIndex {
        let is_typed = typed.is_some();
        let mut views: Vec<IndexedView> =
            views.into_iter().map(|view| IndexedView::of(view, is_typed)).collect();
        let mut dates: Vec<Range<usize>> = Vec::new();
        let text = views.first().map_or("", |view| view.text.as_str());
        let mut marks = Vec::new();
        let mut mark = |value: &str, start: usize, end: usize| {
            if let (true, Ok(start), Ok(end)) = (marks.len() < MAX_MARKS, start.try_into(), end.try_into()) {
                marks.push((text::hash(value), start, end));
            }
        };
        date::scan(text, |found| {
            dates.push(found.start..found.end);
            found.values.iter().for_each(|value| mark(value, found.start, found.end));
        });
        if is_typed {
            // The dates are in order.
            let is_date = |found: &number::Number| {
                let next = dates.partition_point(|date| date.end <= found.start);
                dates.get(next).is_some_and(|date| date.start < found.end)
            };
            number::scan_typed(text, |found| {
                if !is_date(&found) {
                    found.values.iter().for_each(|value| mark(value, found.start, found.end));
                }
            });
        } else {
            number::scan(text, |found| {
                let spelled = &text[found.start..found.end];
                let others = found.values.iter().filter(|value| *value != spelled);
                others.for_each(|value| mark(value, found.start, found.end));
            });
        }
        marks.sort_unstable();
        let squeezed = Squeezed::of(text);
        if let Some(view) = views.first_mut() {
            view.dates = dates;
        }
        TextIndex { squeezed, marks, views, typed }
    }

    /// Returns the approximate number of bytes in memory.
    pub fn bytes(&self) -> usize {
        let views: usize = self.views.iter().map(|view| view.text.len() + view.words.len() * 8).sum();
        let parts = self.squeezed.parts_bytes();
        views * 2 + parts + self.marks.len() * 16 + self.typed.as_ref().map_or(0, String::len)
    }

    /// Returns the places of a pattern as it is, or as it is after the decoding of one view.
    pub(super) fn find(&self, pattern: &Pattern) -> Option<Occurrence> {
        self.views.iter().find_map(|view| {
            let roles: Vec<Role> =
                view.find(pattern).take(MAX_MATCHES).map(|place| view.role(&place)).collect();
            (!roles.is_empty()).then(|| Occurrence { steps: view.steps.clone(), spelling: None, roles })
        })
    }

    /// Returns the places of any of these numbers or dates in another spelling.
    pub(super) fn find_value<'a>(
        &self,
        values: impl IntoIterator<Item = &'a String>,
        spelling: &'static str,
    ) -> Option<Occurrence> {
        let view = self.views.first()?;
        let mut roles = Vec::new();
        for value in values {
            let hash = text::hash(value);
            let from = self.marks.partition_point(|(mark, ..)| *mark < hash);
            let same = self.marks[from..].iter().take_while(|(mark, ..)| *mark == hash).take(MAX_MATCHES);
            roles.extend(same.map(|(_, start, end)| view.role(&(*start as usize..*end as usize))));
        }
        (!roles.is_empty()).then(|| Occurrence { steps: Vec::new(), spelling: Some(spelling), roles })
    }

    /// Returns the place of an address or identifier that is written with other blanks and punctuation.
    pub(super) fn find_apart(&self, squeezed: &str) -> Option<Occurrence> {
        let view = self.views.first().filter(|_| squeezed.len() >= MIN_SQUEEZED_LEN)?;
        let place = self.squeezed.find(squeezed, &view.text)?;
        let is_whole = text::is_apart(&view.text, place.start, place.end)
            && text::is_whole_name(&view.text, place.start, place.end);
        if !is_whole {
            return None;
        }
        // The usual groups of an account are read aloud; an address with blanks hides itself.
        let is_grouped = squeezed.bytes().filter(u8::is_ascii_digit).count() * 2 > squeezed.len();
        let role = if is_grouped { view.role(&place) } else { Role::Spoken };
        Some(Occurrence { steps: Vec::new(), spelling: Some("spelled apart"), roles: vec![role] })
    }

    /// Returns the roles of these words in the text itself, with no encoding decoded.
    pub(super) fn roles(&self, words: &str) -> Vec<Role> {
        let found = Pattern::of(words).and_then(|pattern| self.find(&pattern));
        found.filter(|found| found.steps.is_empty()).map(|found| found.roles).unwrap_or_default()
    }

    /// Returns whether the text holds these words, or this number or date in any spelling. Of a user's own words, it
    /// holds only whole tokens.
    pub fn holds(&self, words: &str) -> bool {
        let values = match self.typed {
            Some(_) => number::typed_value(words).into_iter().collect(),
            None => number::values(words),
        };
        Pattern::of(words).is_some_and(|pattern| self.find(&pattern).is_some()) || self.holds_value(&values)
    }

    /// Returns whether the text holds any of these numbers, in any spelling.
    pub(super) fn holds_value(&self, values: &[String]) -> bool {
        let is_spelled = |value: &String| {
            Pattern::of_normalised(value.clone()).is_some_and(|pattern| self.find(&pattern).is_some())
        };
        self.find_value(values, "").is_some() || (self.typed.is_none() && values.iter().any(is_spelled))
    }

    /// Returns the text as the user typed it, if it is the user's own.
    pub(super) fn typed(&self) -> &str {
        self.typed.as_deref().unwrap_or_default()
    }

    /// Returns the identifiers of the records in the text.
    pub(super) fn handles(&self) -> impl Iterator<Item = &str> {
        self.views.first().into_iter().flat_map(|view| passage::handles(&view.text))
    }

    /// Returns the entries of the text, if it is a plain list of names.
    pub(super) fn entries(&self) -> impl Iterator<Item = &str> {
        let list = self.views.first().filter(|view| view.is_list);
        list.into_iter().flat_map(|view| passage::entries(&view.text, &view.spoken))
    }
}

/// Returns a text with a blank between an address and a sentence that begins right after its point, as in
/// `www.a.example.They write`.
fn apart(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('.') {
        let (before, after) = rest.split_at(at + 1);
        out.push_str(before);
        let word = after.find(|c: char| !c.is_alphabetic()).unwrap_or(after.len());
        let (word, next) = after.split_at(word);
        let mut letters = word.chars();
        let is_sentence = letters.next().is_some_and(char::is_uppercase)
            && word.len() > 1
            && letters.all(char::is_lowercase)
            && next.strip_prefix(' ').is_some_and(|next| next.starts_with(char::is_lowercase));
        if is_sentence && before[..at].ends_with(char::is_alphanumeric) {
            out.push(' ');
        }
        rest = after;
    }
    out.push_str(rest);
    out
}
