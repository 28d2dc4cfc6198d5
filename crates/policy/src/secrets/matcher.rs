//! The search of a text, in one pass, for the beginnings of all spellings and shapes.
//!
//! The beginnings are in one automaton. Four parts of a long text go through the automaton side by side. Each step
//! waits for the one before it, so a single part would leave most of the processor idle.

use std::collections::BTreeMap;

use aho_corasick::automaton::Automaton as _;
use aho_corasick::dfa::DFA;
use aho_corasick::{Anchored, MatchKind, StartKind};

use super::STAND_IN;
use super::forms::Form;
use super::shapes::SHAPES;

/// The maximum number of bytes of a spelling in the automaton, whose memory cannot be wiped. The rest is compared
/// directly.
const PREFIX_LEN: usize = 12;

/// The minimum length of a text, in bytes, for the search in four parts.
const MIN_PARALLEL_LEN: usize = 4096;

/// A spelling, shape or stand-in that may begin at a match of the automaton.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PatternRef {
    /// A spelling, by its index.
    Form(usize),
    /// A shape, by its index.
    Shape(usize),
    /// The stand-in for a value.
    StandIn,
}

/// The automaton, and the spellings and shapes that begin with each of its words.
pub(super) struct Matcher {
    /// The automaton, or `None` if it could not be built. Each word is then searched for separately.
    automaton: Option<DFA>,
    words: Vec<(Vec<u8>, Vec<PatternRef>)>,
    longest: usize,
}

impl Matcher {
    pub(super) fn new(forms: &[Form]) -> Matcher {
        let mut words: BTreeMap<Vec<u8>, Vec<PatternRef>> = BTreeMap::new();
        let mut add = |text: &[u8], catch| {
            let word = text[..text.len().min(PREFIX_LEN)].to_ascii_lowercase();
            words.entry(word).or_default().push(catch);
        };
        for (at, form) in forms.iter().enumerate() {
            add(&form.text, PatternRef::Form(at));
        }
        for (at, shape) in SHAPES.iter().enumerate() {
            add(shape.begins.as_bytes(), PatternRef::Shape(at));
        }
        add(STAND_IN.as_bytes(), PatternRef::StandIn);
        let words: Vec<(Vec<u8>, Vec<PatternRef>)> = words.into_iter().collect();
        let automaton = DFA::builder()
            .match_kind(MatchKind::Standard)
            .start_kind(StartKind::Unanchored)
            .ascii_case_insensitive(true)
            .prefilter(false)
            .build(words.iter().map(|(word, _)| word))
            .ok();
        let longest = words.iter().map(|(word, _)| word.len()).max().unwrap_or(0);
        Matcher { automaton, words, longest }
    }

    /// Calls `found` for every spelling, shape or stand-in that may begin in the text, with the place of its
    /// beginning.
    pub(super) fn catch(&self, text: &[u8], mut found: impl FnMut(PatternRef, usize)) {
        let Some((dfa, start)) =
            self.automaton.as_ref().and_then(|dfa| Some((dfa, dfa.start_state(Anchored::No).ok()?)))
        else {
            return self.catch_slowly(text, found);
        };
        let mut tell = |state, end: usize| {
            for at in 0..dfa.match_len(state) {
                let (word, catches) = &self.words[dfa.match_pattern(state, at).as_usize()];
                catches.iter().for_each(|catch| found(*catch, end - word.len()));
            }
        };
        let mut from = 0;
        let mut state = start;
        if text.len() >= MIN_PARALLEL_LEN {
            let part = text.len() / 4;
            // Each part after the first begins a little earlier, so that no word at a boundary is missed.
            let back = self.longest.saturating_sub(1);
            let mut states = [start; 4];
            for lane in 1..4 {
                for &byte in &text[lane * part - back..lane * part] {
                    states[lane] = dfa.next_state(Anchored::No, states[lane], byte);
                }
            }
            let (a, rest) = text.split_at(part);
            let (b, rest) = rest.split_at(part);
            let (c, rest) = rest.split_at(part);
            let lanes = a.iter().zip(b).zip(c.iter().zip(&rest[..part]));
            for (at, ((&a, &b), (&c, &d))) in lanes.enumerate() {
                let next = [
                    dfa.next_state(Anchored::No, states[0], a),
                    dfa.next_state(Anchored::No, states[1], b),
                    dfa.next_state(Anchored::No, states[2], c),
                    dfa.next_state(Anchored::No, states[3], d),
                ];
                states = next;
                if next.iter().any(|&state| dfa.is_special(state)) {
                    for (lane, &state) in next.iter().enumerate() {
                        if dfa.is_match(state) {
                            tell(state, lane * part + at + 1);
                        }
                    }
                }
            }
            from = part * 4;
            state = states[3];
        }
        for (at, &byte) in text.iter().enumerate().skip(from) {
            state = dfa.next_state(Anchored::No, state, byte);
            if dfa.is_special(state) && dfa.is_match(state) {
                tell(state, at + 1);
            }
        }
    }

    fn catch_slowly(&self, text: &[u8], mut found: impl FnMut(PatternRef, usize)) {
        for start in 0..text.len() {
            for (word, catches) in &self.words {
                if text[start..].get(..word.len()).is_some_and(|there| there.eq_ignore_ascii_case(word)) {
                    catches.iter().for_each(|catch| found(*catch, start));
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::secrets::forms;

    #[test]
    fn word_is_found_at_every_position() {
        let forms = forms::spellings(0, b"swordfish-and-more");
        let net = Matcher::new(&forms);
        let slow = Matcher { automaton: None, ..Matcher::new(&forms) };
        for length in [
            20,
            MIN_PARALLEL_LEN - 1,
            MIN_PARALLEL_LEN,
            MIN_PARALLEL_LEN + 1,
            MIN_PARALLEL_LEN + 3,
            3 * MIN_PARALLEL_LEN,
        ] {
            let part = length / 4;
            let places = [
                0,
                1,
                part.saturating_sub(18),
                part - 1,
                part,
                2 * part,
                2 * part + 4,
                3 * part - 11,
                length - 18,
            ];
            for place in places.into_iter().filter(|place| place + 18 <= length) {
                let mut text = vec![b'x'; length];
                text[place..place + 18].copy_from_slice(b"swordfish-and-more");
                for net in [&net, &slow] {
                    let mut found = Vec::new();
                    net.catch(&text, |catch, start| found.push((catch, start)));
                    assert_eq!(found, [(PatternRef::Form(0), place)], "{length} bytes, at {place}");
                }
            }
        }
    }
}
