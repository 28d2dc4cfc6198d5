//! The views of a text: the text itself, and its versions with encodings decoded.

use std::collections::{BTreeSet, VecDeque};
use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use super::decode::{self, DECODERS, Decoder};

/// The maximum number of nested encodings that are decoded in a document.
const MAX_DEPTH: usize = 3;

/// The maximum number of bytes of all decoded versions of one document.
const MAX_DECODED_BYTES: usize = 4 << 20;

/// The maximum size of a document that is decoded as a whole by decoders that apply to any text, in bytes. In a longer
/// one, the spellings of the arguments are searched for instead.
const MAX_INVOLUTION_BYTES: usize = 64 << 10;

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

    /// Removes up to `bytes` from the budget, and returns the number removed.
    fn take(&mut self, bytes: usize) -> usize {
        let taken = bytes.min(self.0);
        self.0 -= taken;
        taken
    }
}

/// Returns a text in rot13.
pub(super) fn rot13(text: &str) -> String {
    decode::rot13(text).unwrap_or_default()
}

/// Returns a text backwards.
pub(super) fn reversed(text: &str) -> String {
    decode::reversed(text).unwrap_or_default()
}

/// Returns the views of a document: the document as a whole, and decoded versions within a limit. Those with the fewest
/// decoded encodings come first.
pub(super) fn document(text: &str) -> Vec<View> {
    let is_short = text.len() <= MAX_INVOLUTION_BYTES;
    // Each encoding makes one version, and a few more where one encoding is inside another.
    let decoded = (text.len() * 16 + (64 << 10)).min(MAX_DECODED_BYTES);
    let mut budget = Budget::new(text.len() + decoded);
    views(text, &mut budget, MAX_DEPTH, |decoder, depth| !decoder.involution || (depth == 0 && is_short))
}

/// Returns the views of an argument. Decoders that are their own inverse are left out, because an argument is also
/// searched for in their spelling.
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
