//! The views of a text: the text itself, and its versions with encodings decoded.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::decode::{DECODERS, Decoder};

/// The maximum number of nested encodings that are decoded in a document.
const MAX_DEPTH: usize = 3;

/// One version of a text.
pub(super) struct View {
    /// The text of this version.
    pub(super) text: String,
    /// The encodings that were decoded, outermost first.
    pub(super) steps: Vec<&'static str>,
}

/// The number of bytes that may still be read.
pub(super) struct Budget(usize);

impl Budget {
    pub(super) fn new(bytes: usize) -> Budget {
        Budget(bytes)
    }

    /// Removes and returns an equal share of the budget for one of `of` texts.
    pub(super) fn share(&mut self, of: usize) -> Budget {
        let share = self.0 / of.max(1);
        self.0 -= share;
        Budget(share)
    }

    /// Returns the unused rest of a share to the budget.
    pub(super) fn settle(&mut self, share: Budget) {
        self.0 += share.0;
    }

    /// Removes up to `bytes` from the budget, and returns the number removed.
    fn take(&mut self, bytes: usize) -> usize {
        let taken = bytes.min(self.0);
        self.0 -= taken;
        taken
    }
}

/// Returns the views of a document. Those with the fewest decoded encodings come first.
pub(super) fn document(text: &str, budget: &mut Budget) -> Vec<View> {
    // A decoder that is its own inverse applies to any text, so it is tried only in the first two levels.
    views(text, budget, MAX_DEPTH, |decoder, depth| !decoder.involution || depth < 2)
}

/// Returns the views of an argument. Decoders that are their own inverse are left out, because they are tried on the
/// document.
pub(super) fn argument(text: &str, budget: &mut Budget) -> Vec<View> {
    views(text, budget, 2, |decoder, _| !decoder.involution)
}

fn views(
    text: &str,
    budget: &mut Budget,
    deepest: usize,
    is_tried: impl Fn(&Decoder, usize) -> bool,
) -> Vec<View> {
    let mut seen = BTreeSet::new();
    let mut queue = VecDeque::from([View { text: text.to_owned(), steps: Vec::new() }]);
    let mut done = Vec::new();
    while let Some(mut view) = queue.pop_front() {
        let mut hasher = DefaultHasher::new();
        view.text.hash(&mut hasher);
        if !seen.insert(hasher.finish()) {
            continue;
        }
        let allowed = budget.take(view.text.len());
        let is_cut = allowed < view.text.len();
        view.text.truncate(view.text.floor_char_boundary(allowed));
        if !is_cut && view.steps.len() < deepest {
            for decoder in DECODERS.iter().filter(|decoder| is_tried(decoder, view.steps.len())) {
                if let Some(text) = (decoder.decode)(&view.text) {
                    queue.push_back(View { text, steps: [&view.steps[..], &[decoder.name]].concat() });
                }
            }
        }
        done.push(view);
        if is_cut {
            break;
        }
    }
    done
}

/// Returns the text in lower case, with a single blank for each run of white space and without the `>` of quoted
/// lines.
pub(super) fn normalise(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for line in text.lines() {
        let line = line.trim_start_matches(|c: char| c == '>' || c.is_whitespace());
        for word in line.split_whitespace() {
            if !out.is_empty() {
                out.push(' ');
            }
            out.extend(word.chars().flat_map(char::to_lowercase));
        }
    }
    out
}

/// Returns the letters and digits of a normalised text, without all other characters.
pub(super) fn squeeze(text: &str) -> String {
    text.chars().filter(|c| c.is_alphanumeric()).collect()
}
