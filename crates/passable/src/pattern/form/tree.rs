//! The pairs of a form, arranged as a tree by the steps of their names.

use std::borrow::Cow;
use std::collections::BTreeMap;

use crate::pattern::Mismatch;

/// The first step of every name.
pub(super) const ROOT: &str = "value";

/// The maximum number of steps in a name. It allows for the deepest pattern with a variant at each level.
const MAX_STEPS: usize = 1_024;
/// The maximum number of steps in all names of a form together.
const MAX_PLACES: usize = 1_000_000;

/// The marks that may follow the name of a place, after a colon.
const MARKS: [&str; 4] = ["kind", "rest", "given", "json"];

/// The texts that a form sent for one place and for the places within it.
#[derive(Default)]
pub(super) struct Place<'a> {
    /// The texts for the place itself.
    pub(super) texts: Vec<Cow<'a, str>>,
    /// The places of fields, elements, rows and variants, by step.
    pub(super) parts: BTreeMap<Cow<'a, str>, Place<'a>>,
    marks: BTreeMap<&'static str, Place<'a>>,
}

/// A place for which nothing was sent.
pub(super) static EMPTY_PLACE: Place<'static> =
    Place { texts: Vec::new(), parts: BTreeMap::new(), marks: BTreeMap::new() };

/// Sorts pairs of name and text into places, and returns the root.
pub(super) fn build_tree(pairs: &[(String, String)]) -> Result<Place<'_>, Mismatch> {
    let mut root = Place::default();
    let mut places = 0;
    for (name, text) in pairs {
        let unknown = || refuse("only fields of the form", format!("the field `{name}`"));
        let mut place = &mut root;
        let mut rest = name.strip_prefix(ROOT).ok_or_else(unknown)?;
        let mut steps = 0;
        while let Some(sign) = rest.chars().next() {
            (steps, places) = (steps + 1, places + 1);
            if steps > MAX_STEPS || places > MAX_PLACES {
                return Err(refuse("a form", "names with more steps than any form has"));
            }
            let after = rest.get(1..).ok_or_else(unknown)?;
            let end = after.find(['/', ':']).unwrap_or(after.len());
            let (step, following) = after.split_at_checked(end).ok_or_else(unknown)?;
            rest = following;
            place = match sign {
                '/' => place.parts.entry(unescape(step)).or_default(),
                ':' => {
                    let mark = MARKS.into_iter().find(|mark| *mark == step).ok_or_else(unknown)?;
                    place.marks.entry(mark).or_default()
                }
                _ => return Err(unknown()),
            };
        }
        place.texts.push(lines(text));
    }
    Ok(root)
}

/// Returns a text with `\n` as its line ends. Browsers send every line end as two characters.
fn lines(text: &str) -> Cow<'_, str> {
    match text.contains('\r') {
        true => Cow::Owned(text.replace("\r\n", "\n").replace('\r', "\n")),
        false => Cow::Borrowed(text),
    }
}

fn unescape(step: &str) -> Cow<'_, str> {
    match lines(step) {
        step if !step.contains('~') => step,
        step => Cow::Owned(step.replace("~2", ":").replace("~1", "/").replace("~0", "~")),
    }
}

/// Returns a name as a step, with its special characters escaped.
pub(super) fn escape(name: &str) -> Cow<'_, str> {
    match name.contains(['~', '/', ':']) {
        true => Cow::Owned(name.replace('~', "~0").replace('/', "~1").replace(':', "~2")),
        false => Cow::Borrowed(name),
    }
}

/// Returns a mismatch about the form itself.
pub(super) fn refuse(expected: &str, found: impl Into<String>) -> Mismatch {
    let found = crate::visible_line(&found.into()).into_owned();
    Mismatch::new(format!("cannot be in the form: {found}"), expected, found)
}

impl Place<'_> {
    /// Returns whether nothing was sent for the place.
    pub(super) fn is_empty(&self) -> bool {
        self.texts.is_empty() && self.parts.is_empty() && self.marks.is_empty()
    }

    /// Returns the place after a mark of this place.
    pub(super) fn mark(&self, name: &str) -> Option<&Self> {
        self.marks.get(name)
    }

    /// Returns whether the form says `no` in the `given` mark of the place.
    pub(super) fn is_left_out(&self) -> Result<bool, Mismatch> {
        let Some(given) = self.mark("given") else { return Ok(false) };
        given.allow(1, &[])?;
        given.no_parts()?;
        match given.texts.first().map(AsRef::as_ref) {
            Some("yes") => Ok(false),
            Some("no") => Ok(true),
            _ => Err(refuse("`yes` or `no` as `:given`", "another answer")),
        }
    }

    /// Returns whether the form says `yes` in the `given` mark of the place.
    pub(super) fn is_given(&self) -> bool {
        self.mark("given").is_some_and(|given| given.texts.first().is_some_and(|text| *text == "yes"))
    }

    /// Rejects a place with more texts than `texts`, or with marks other than `marks`.
    pub(super) fn allow(&self, texts: usize, marks: &[&str]) -> Result<(), Mismatch> {
        if self.texts.len() > texts {
            let expected = if texts == 0 { "no text of its own here" } else { "one text here" };
            let count = self.texts.len();
            return Err(refuse(
                expected,
                if count == 1 { "1 text".to_owned() } else { format!("{count} texts") },
            ));
        }
        match self.marks.keys().find(|mark| !marks.contains(mark)) {
            Some(mark) => Err(refuse("only marks that say something here", format!("`:{mark}`"))),
            None => Ok(()),
        }
    }

    /// Rejects a place with parts.
    pub(super) fn no_parts(&self) -> Result<(), Mismatch> {
        self.only(|_| false)
    }

    /// Rejects a place with parts that the form does not have.
    pub(super) fn only(&self, known: impl Fn(&str) -> bool) -> Result<(), Mismatch> {
        match self.parts.keys().find(|name| !known(name)) {
            Some(name) => Err(refuse("only fields of the form", format!("the field `{name}`"))),
            None => Ok(()),
        }
    }

    /// Returns the text of the place, or `None` if the form sent none. Rejects parts and further texts.
    pub(super) fn text(&self) -> Result<Option<&str>, Mismatch> {
        self.allow(1, &["given"])?;
        self.no_parts()?;
        Ok(self.texts.first().map(AsRef::as_ref))
    }

    /// Returns the parts in the order of their numbers. Rejects parts whose names are not numbers.
    pub(super) fn rows(&self) -> Result<Vec<&Self>, Mismatch> {
        self.allow(0, &["given"])?;
        self.only(|name| number(name).is_some())?;
        let mut rows: Vec<_> =
            self.parts.iter().filter_map(|(name, place)| Some((number(name)?, place))).collect();
        rows.sort_by_key(|(number, _)| *number);
        Ok(rows.into_iter().map(|(_, place)| place).collect())
    }
}

/// Returns the number of a step, or `None` if the step is not a number in its only valid spelling, without leading
/// zeros.
pub(super) fn number(step: &str) -> Option<u32> {
    let plain = step == "0" || (!step.starts_with('0') && step.bytes().all(|byte| byte.is_ascii_digit()));
    plain.then(|| step.parse().ok()).flatten()
}
