//! The search of all texts in the arguments of a call, each one and all of them together.

use std::borrow::Cow;

use kernel::proposal::Value;
use passable::Text;

use super::{Hit, HitKind, Secrets, split};

/// The maximum work of the search in any order: the number of texts times the number of bytes of all spellings.
const MAX_ORDER_WORK: usize = 4 << 20;

/// A secret, or something like one, that was found in a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Sighting {
    /// The name of the argument in which the secret begins.
    pub argument: String,
    /// The kind of the sighting.
    pub kind: HitKind,
    /// The spelling of the secret, in words.
    pub spelling: Cow<'static, str>,
}

/// Returns the sightings in the arguments of a call.
pub(super) fn inspect<'a>(
    secrets: &Secrets,
    arguments: impl IntoIterator<Item = (&'a str, &'a Value)>,
) -> Vec<Sighting> {
    let mut sightings = Vec::new();
    let mut leaves = ArgumentStrings::default();
    for (argument, value) in arguments {
        let first = leaves.all.len();
        leaves.add(value);
        for leaf in &leaves.all[first..] {
            let seen =
                |hit: Hit| Sighting { argument: argument.to_owned(), kind: hit.kind, spelling: hit.spelling };
            sightings.extend(secrets.scan_bytes(&leaf.text).into_iter().map(seen));
        }
        leaves.owners.push((argument, leaves.all.len()));
    }
    if leaves.all.len() > 1 && !secrets.names.is_empty() {
        inspect_joined(secrets, &leaves, &mut sightings);
    }
    sightings.sort();
    sightings.dedup();
    sightings
}

/// Adds the sightings that only appear in all texts together.
fn inspect_joined(secrets: &Secrets, leaves: &ArgumentStrings<'_>, sightings: &mut Vec<Sighting>) {
    let known = |sightings: &[Sighting], what: &HitKind| sightings.iter().any(|seen| seen.kind == *what);
    // The texts are joined once without the names of fields, and once with them.
    for with_names in [false, true] {
        if with_names && !leaves.has_names {
            continue;
        }
        let mut text = super::Wiped::default();
        let mut ends = Vec::new();
        for (at, leaf) in leaves.all.iter().enumerate().filter(|(_, leaf)| with_names || !leaf.is_name) {
            text.extend_from_slice(&leaf.text);
            ends.push((text.len(), at));
        }
        for hit in secrets.scan_bytes(&text) {
            // A text that has the shape of a key only after joining is no key.
            if !matches!(hit.kind, HitKind::Value(_)) || known(sightings, &hit.kind) {
                continue;
            }
            let at = ends.iter().find(|(end, _)| *end > hit.start).map_or(0, |(_, at)| *at);
            let spelling = Cow::Owned(format!("{}, in pieces", hit.spelling));
            sightings.push(Sighting { argument: leaves.owner(at), kind: hit.kind, spelling });
        }
    }
    let texts: Vec<&[u8]> = leaves.all.iter().map(|leaf| &*leaf.text).collect();
    let bytes: usize = secrets.forms.iter().map(|form| form.text.len()).sum();
    if texts.len().saturating_mul(bytes) > MAX_ORDER_WORK {
        // The call may hold values that were not searched for.
        let spelling = Cow::Borrowed("in pieces");
        sightings.push(Sighting { argument: leaves.owner(0), kind: HitKind::Unsearched, spelling });
        return;
    }
    for form in &secrets.forms {
        let what = HitKind::Value(secrets.names[form.secret].clone());
        if known(sightings, &what) {
            continue;
        }
        if let Some(at) = split::find_split(&form.text, &texts) {
            let spelling = Cow::Owned(format!("{}, in pieces", form.spelling));
            sightings.push(Sighting { argument: leaves.owner(at), kind: what, spelling });
        }
    }
}

/// All texts of a call, in the order in which they are written.
#[derive(Default)]
struct ArgumentStrings<'a> {
    all: Vec<ArgumentString<'a>>,
    /// The arguments, each with the index after the last of its texts.
    owners: Vec<(&'a str, usize)>,
    has_names: bool,
}

struct ArgumentString<'a> {
    text: Cow<'a, [u8]>,
    /// Whether the text is the name of a field.
    is_name: bool,
}

impl<'a> ArgumentStrings<'a> {
    fn owner(&self, leaf: usize) -> String {
        self.owners.iter().find(|(_, end)| *end > leaf).map_or("arguments", |(name, _)| name).to_owned()
    }

    fn push(&mut self, text: impl Into<Cow<'a, [u8]>>, is_name: bool) {
        let text = text.into();
        self.has_names |= is_name;
        if !text.is_empty() {
            self.all.push(ArgumentString { text, is_name });
        }
    }

    fn add(&mut self, value: &'a Value) {
        match value {
            Value::Undefined | Value::Null | Value::Bool(_) | Value::Remotable(_) | Value::Promise(_) => {}
            Value::String(text) => self.push(text.as_bytes(), false),
            Value::Bytes(bytes) => self.push(&**bytes, false),
            Value::Symbol(symbol) => self.push(symbol.name().as_bytes(), false),
            // A number can be a secret, too.
            Value::Number(number) => self.push(number.to_string().into_bytes(), false),
            Value::BigInt(number) => self.push(number.to_string().into_bytes(), false),
            Value::Array(array) => array.as_slice().iter().for_each(|element| self.add(element)),
            Value::Record(record) => {
                for (name, field) in record.fields() {
                    self.push(name.as_bytes(), true);
                    self.add(field);
                }
            }
            Value::Tagged(tagged) => {
                self.push(tagged.tag().as_bytes(), true);
                self.add(tagged.payload());
            }
            Value::Error(error) => {
                self.push(error.name.as_bytes(), false);
                self.push(error.message.as_bytes(), false);
            }
        }
    }
}

/// Returns a value with stand-ins for the secrets in its texts.
pub(super) fn redact(secrets: &Secrets, value: &Value) -> Value {
    let has_value =
        |bytes: &[u8]| secrets.scan_bytes(bytes).iter().any(|hit| matches!(hit.kind, HitKind::Value(_)));
    replace(value, &|text| secrets.redact(text), &has_value)
}

/// Returns a value with other texts. Bytes of which `is_removed` holds become null.
pub(super) fn replace(
    value: &Value,
    other: &dyn for<'t> Fn(&'t str) -> Cow<'t, str>,
    is_removed: &dyn Fn(&[u8]) -> bool,
) -> Value {
    let text = |text: &Text| -> Text {
        let shown = text.to_str_lossy();
        match other(&shown) {
            Cow::Borrowed(_) => text.clone(),
            Cow::Owned(replaced) => Text::from(replaced),
        }
    };
    let replace = |value: &Value| replace(value, other, is_removed);
    match value {
        Value::String(own) => Value::String(text(own)),
        Value::Array(array) => {
            let elements = array.as_slice().iter().map(replace).collect();
            Value::try_array(elements).unwrap_or_else(|_| value.clone())
        }
        Value::Record(record) => {
            let fields: Vec<(Text, Value)> =
                record.fields().iter().map(|(name, field)| (text(name), replace(field))).collect();
            // If two names became the same stand-in, the whole record is replaced by null.
            Value::try_record(fields).unwrap_or(Value::Null)
        }
        Value::Tagged(tagged) => {
            let payload = replace(tagged.payload());
            Value::try_tagged(tagged.tag().clone(), payload).unwrap_or_else(|_| value.clone())
        }
        Value::Bytes(bytes) if is_removed(bytes) => Value::Null,
        Value::Error(error) => Value::error(text(&error.name), text(&error.message)),
        other => other.clone(),
    }
}
