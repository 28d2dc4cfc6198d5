//! The search for secrets in texts: for the vault's own values in many spellings, and for keys by their shape.
//!
//! One pass searches for all spellings of all values and the beginnings of all shapes ([`matcher`]). Escaped text is
//! decoded first, around the places that have escapes ([`decode`]). A hit tells the name of the secret, its place and
//! its spelling, and never the secret itself.

mod decode;
mod forms;
mod key_body;
mod key_text;
mod matcher;
mod public_pem;
mod shapes;
mod split;
mod strings;

use std::borrow::Cow;
use std::fmt;

use kernel::proposal::Value;
use zeroize::Zeroizing;

use forms::Form;
use matcher::{Matcher, PatternRef};

pub use key_text::{key_in, withhold, withhold_value};
pub use public_pem::is_public_pem;
pub use shapes::{SHAPES, Shape};
pub use strings::Sighting;

/// The beginning of the stand-in that replaces a value in a redacted text.
const STAND_IN: &str = "⟦secret ";

/// The end of a stand-in.
const STAND_IN_END: char = '⟧';

/// Returns the stand-in for the value of a secret.
pub fn stand_in(name: &str) -> String {
    format!("{STAND_IN}{name}{STAND_IN_END}")
}

/// The vault's values, prepared for the search. The default has no values, and only finds keys by their shape.
pub struct Secrets {
    names: Vec<String>,
    forms: Vec<Form>,
    net: Matcher,
    /// The length of the longest spelling or shape.
    longest: usize,
    is_locked: bool,
    /// Whether a value has several lines.
    spans_lines: bool,
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secrets").field("names", &self.names).finish_non_exhaustive()
    }
}

impl Default for Secrets {
    fn default() -> Secrets {
        Secrets::new([])
    }
}

/// A secret, or something like one, that was found in a text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Hit {
    /// The kind of the hit.
    pub kind: HitKind,
    /// The spelling of the secret, in words.
    pub spelling: Cow<'static, str>,
    /// The first byte of the hit in the text.
    pub start: usize,
    /// The byte after the last of the hit.
    pub end: usize,
}

/// The kind of a hit.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum HitKind {
    /// The value of the secret with this name.
    Value(String),
    /// The stand-in for the value of the secret with this name.
    StandIn(String),
    /// Text with the shape of a key, whose kind is given in words.
    Shape(&'static str),
    /// Too many texts for a search of their pieces in every order.
    Unsearched,
}

impl Secrets {
    /// Returns the given values, prepared for the search. Each value comes with the name of its secret.
    pub fn new<'a>(values: impl IntoIterator<Item = (&'a str, &'a str)>) -> Secrets {
        let (mut names, mut forms, mut spans_lines) = (Vec::new(), Vec::new(), false);
        for (name, value) in values {
            spans_lines |= value.trim_end().contains('\n');
            forms.extend(forms::spellings(names.len(), value.as_bytes()));
            names.push(name.to_owned());
        }
        let longest = forms.iter().map(|form| form.text.len()).max().unwrap_or(0).max(shapes::MAX_LEN);
        let net = Matcher::new(&forms);
        Secrets { names, forms, net, longest, is_locked: false, spans_lines }
    }

    /// Returns the state of the search while the vault is locked. The values cannot be searched for.
    pub fn locked() -> Secrets {
        Secrets { is_locked: true, ..Secrets::default() }
    }

    /// Returns whether the vault is locked, so that its values cannot be searched for.
    pub fn is_locked(&self) -> bool {
        self.is_locked
    }

    /// Returns whether the vault is unlocked and has no values.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty() && !self.is_locked
    }

    /// Returns the last end of a line up to which a text is complete: in no continuation of the text, a value begins
    /// before that end and ends after it. Only ends of lines from `from` on are checked.
    pub fn complete_up_to(&self, text: &str, from: usize) -> Option<usize> {
        if self.spans_lines {
            return None;
        }
        let bytes = text.as_bytes();
        let ends = (from..bytes.len()).rev().filter(|at| bytes[*at] == b'\n');
        ends.into_iter().find(|at| !decode::may_go_on(bytes, *at)).map(|at| at + 1)
    }

    /// Returns all hits in a text.
    pub fn scan(&self, text: &str) -> Vec<Hit> {
        self.scan_bytes(text.as_bytes())
    }

    /// Returns all hits in a text of any bytes.
    pub(crate) fn scan_bytes(&self, text: &[u8]) -> Vec<Hit> {
        let mut hits = Vec::new();
        self.catch(text, |what, spelling, start, end| {
            hits.push(Hit { kind: what, spelling: Cow::Borrowed(spelling), start, end });
        });
        for window in decode::windows(text, self.longest) {
            for variant in decode::variants(&text[window.clone()]) {
                self.catch(&variant.text, |what, spelling, start, end| {
                    let spelling = match (spelling, variant.spelling) {
                        (forms::AS_WRITTEN, how) => Cow::Borrowed(how),
                        (form, how) => Cow::Owned(format!("{form}, {how}")),
                    };
                    let (start, end) = variant.span(start, end);
                    hits.push(Hit {
                        kind: what,
                        spelling,
                        start: start + window.start,
                        end: end + window.start,
                    });
                });
            }
        }
        hits.sort_by(|a, b| (a.start, b.end).cmp(&(b.start, a.end)));
        // A hit that overlaps with the one before is a part of the same leak. The leak ends at the later end of the
        // two.
        hits.dedup_by(|b, a| {
            let is_same = a.kind == b.kind && b.start < a.end;
            if is_same {
                a.end = a.end.max(b.end);
            }
            is_same
        });
        hits
    }

    fn catch(&self, text: &[u8], mut found: impl FnMut(HitKind, &'static str, usize, usize)) {
        self.net.catch(text, |catch, start| match catch {
            PatternRef::Form(at) => {
                let form = &self.forms[at];
                if form.stands_at(text, start) {
                    let what = HitKind::Value(self.names[form.secret].clone());
                    found(what, form.spelling, start, start + form.text.len());
                }
            }
            PatternRef::Shape(at) => {
                if let Some(end) = SHAPES.get(at).and_then(|shape| shape.end(text, start)) {
                    found(HitKind::Shape(SHAPES[at].name), forms::AS_WRITTEN, start, end);
                }
            }
            PatternRef::StandIn => {
                if let Some((name, end)) = self.stand_in_at(text, start) {
                    found(HitKind::StandIn(name), forms::AS_WRITTEN, start, end);
                }
            }
        });
    }

    /// Returns the name and the end of a stand-in that begins at a place, or `None` if it names none of the known
    /// secrets.
    fn stand_in_at(&self, text: &[u8], start: usize) -> Option<(String, usize)> {
        let rest = text.get(start + STAND_IN.len()..)?;
        let name = self.names.iter().find(|name| {
            rest.strip_prefix(name.as_bytes())
                .is_some_and(|rest| rest.starts_with(STAND_IN_END.encode_utf8(&mut [0; 4]).as_bytes()))
        })?;
        Some((name.clone(), start + STAND_IN.len() + name.len() + STAND_IN_END.len_utf8()))
    }

    /// Returns the text with a stand-in for each of the vault's values. Text that only has the shape of a key stays.
    pub fn redact<'t>(&self, text: &'t str) -> Cow<'t, str> {
        if self.names.is_empty() {
            return Cow::Borrowed(text);
        }
        let mut out = String::new();
        let mut done = 0;
        for hit in self.scan(text) {
            let HitKind::Value(name) = &hit.kind else { continue };
            if hit.end <= done {
                continue;
            }
            // A spelling begins or ends within a character only if that character is not a part of the spelling.
            let mut start = hit.start.max(done);
            while start > done && !text.is_char_boundary(start) {
                start -= 1;
            }
            let mut end = hit.end;
            while !text.is_char_boundary(end) {
                end += 1;
            }
            // A hit that overlaps with the one before is a part of the same leak.
            if hit.start >= done || out.is_empty() {
                out.push_str(text.get(done..start).unwrap_or_default());
                out.push_str(&stand_in(name));
            }
            done = end;
        }
        if done == 0 {
            return Cow::Borrowed(text);
        }
        out.push_str(text.get(done..).unwrap_or_default());
        Cow::Owned(out)
    }

    /// Returns a value with its texts redacted.
    pub fn redact_value(&self, value: &Value) -> Value {
        if self.names.is_empty() { value.clone() } else { strings::redact(self, value) }
    }

    /// Returns the sightings in the arguments of a call. Each argument is searched, and then all of them together.
    pub fn inspect<'a>(&self, arguments: impl IntoIterator<Item = (&'a str, &'a Value)>) -> Vec<Sighting> {
        strings::inspect(self, arguments)
    }
}

/// Bytes that are wiped when they are dropped.
type Wiped = Zeroizing<Vec<u8>>;

#[cfg(test)]
mod tests;
