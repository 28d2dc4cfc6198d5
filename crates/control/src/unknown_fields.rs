//! The fields of a request that the daemon does not know.
//!
//! Serde ignores unknown fields, so that a misspelt option of a request would be silently left out. It cannot refuse
//! them here: the same types are rows of the store, and flattened fields exclude `deny_unknown_fields`. So a request is
//! written again after it was read. A field that was sent and is not written was not read.
//!
//! A field with its default is not written either. If such a field was sent with an empty value, the request is read a
//! second time with a value that no such field takes. Only an unknown field makes no difference then.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use serde::Serialize;
use serde::de::{Deserialize, DeserializeOwned, Deserializer, MapAccess, SeqAccess, Visitor};
use serde_json::{Value as Json, json};
use zeroize::Zeroize as _;

use crate::frame;

/// The maximum number of empty fields for which a request is read again. Further ones are taken for known.
const MAX_SUSPECTS: usize = 64;

/// The names of fields in JSON, without the values. A value can be a secret.
enum Shape {
    Object(BTreeMap<String, Shape>),
    List(Vec<Shape>),
    Plain { is_empty: bool },
}

impl Shape {
    fn is_empty(&self) -> bool {
        match self {
            Shape::Object(fields) => fields.is_empty(),
            Shape::List(items) => items.is_empty(),
            Shape::Plain { is_empty } => *is_empty,
        }
    }
}

impl<'de> Deserialize<'de> for Shape {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Shape, D::Error> {
        struct Shapes;
        impl<'de> Visitor<'de> for Shapes {
            type Value = Shape;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("JSON")
            }

            fn visit_bool<E>(self, value: bool) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: !value })
            }

            fn visit_i64<E>(self, value: i64) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: value == 0 })
            }

            fn visit_u64<E>(self, value: u64) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: value == 0 })
            }

            fn visit_f64<E>(self, value: f64) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: value == 0.0 })
            }

            fn visit_str<E>(self, value: &str) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: value.is_empty() })
            }

            fn visit_unit<E>(self) -> Result<Shape, E> {
                Ok(Shape::Plain { is_empty: true })
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut items: A) -> Result<Shape, A::Error> {
                let mut list = Vec::new();
                while let Some(item) = items.next_element()? {
                    list.push(item);
                }
                Ok(Shape::List(list))
            }

            fn visit_map<A: MapAccess<'de>>(self, mut fields: A) -> Result<Shape, A::Error> {
                let mut object = BTreeMap::new();
                while let Some((name, value)) = fields.next_entry()? {
                    object.insert(name, value);
                }
                Ok(Shape::Object(object))
            }
        }
        from.deserialize_any(Shapes)
    }
}

/// One step of the path to a field.
#[derive(Clone)]
enum Step {
    Field(String),
    Item(usize),
}

/// A field that was sent and is not written.
struct Suspect {
    path: Vec<Step>,
    is_empty: bool,
}

/// Returns the path of the first field in the text that is no field of the type. `read` is the value of the text.
pub(crate) fn unknown_field<T>(text: &str, read: &T) -> Option<String>
where
    T: Serialize + DeserializeOwned + PartialEq,
{
    let written = frame::encode(read).ok()?;
    let (Ok(sent), Ok(known)) = (serde_json::from_str(text), serde_json::from_slice(&written)) else {
        return None;
    };
    let mut suspects = Vec::new();
    compare(&sent, &known, &mut Vec::new(), &mut suspects);
    let mut tried = BTreeSet::new();
    let unknown = suspects.into_iter().find(|suspect| {
        if !suspect.is_empty {
            return true;
        }
        // The items of a list have the same fields, so that one of them is enough.
        let is_new = tried.len() < MAX_SUSPECTS && tried.insert(in_words(&suspect.path, false));
        is_new && is_ignored(text, &suspect.path, read)
    })?;
    Some(in_words(&unknown.path, true))
}

fn compare(sent: &Shape, known: &Shape, path: &mut Vec<Step>, suspects: &mut Vec<Suspect>) {
    match (sent, known) {
        (Shape::Object(sent), Shape::Object(known)) => {
            for (name, value) in sent {
                path.push(Step::Field(name.clone()));
                match known.get(name) {
                    Some(known) => compare(value, known, path, suspects),
                    None => suspects.push(Suspect { path: path.clone(), is_empty: value.is_empty() }),
                }
                path.pop();
            }
        }
        (Shape::List(sent), Shape::List(known)) if sent.len() == known.len() => {
            for (at, (sent, known)) in sent.iter().zip(known).enumerate() {
                path.push(Step::Item(at));
                compare(sent, known, path, suspects);
                path.pop();
            }
        }
        _ => {}
    }
}

/// Returns whether the type is read from the text in the same way with another value of a field.
fn is_ignored<T: DeserializeOwned + PartialEq>(text: &str, path: &[Step], read: &T) -> bool {
    let Ok(mut json) = serde_json::from_str::<Json>(text) else { return false };
    let place = path.iter().try_fold(&mut json, |json, step| match step {
        Step::Field(name) => json.get_mut(name),
        Step::Item(at) => json.get_mut(at),
    });
    let Some(place) = place else { return false };
    *place = json!({ "": [[]] });
    let is_ignored = T::deserialize(&json).is_ok_and(|other| other == *read);
    wipe(&mut json);
    is_ignored
}

fn wipe(json: &mut Json) {
    match json {
        Json::String(text) => text.zeroize(),
        Json::Array(items) => items.iter_mut().for_each(wipe),
        Json::Object(fields) => fields.values_mut().for_each(wipe),
        _ => {}
    }
}

/// Returns a path as text, with or without the numbers of items.
fn in_words(path: &[Step], with_items: bool) -> String {
    let mut words = String::new();
    for step in path {
        match step {
            Step::Item(at) if with_items => words += &format!("[{at}]"),
            Step::Item(_) => words += "[]",
            Step::Field(name) => {
                if !words.is_empty() {
                    words.push('.');
                }
                words += name;
            }
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::OnBehalf;

    fn found(text: &str) -> Option<String> {
        unknown_field(text, &serde_json::from_str::<OnBehalf>(text).unwrap())
    }

    #[test]
    fn unknown_field_is_found_wherever_it_lies() {
        let run = |spec: &str| {
            format!(r#"{{"request":"run","text":"t","worker":{{"name":"w","source":"s"}},"spec":{spec}}}"#)
        };
        for (text, expected) in [
            (r#"{"request":"status"}"#.to_owned(), None),
            (r#"{"request":"status","agent":null}"#.to_owned(), None),
            (r#"{"request":"status","verbose":true}"#.to_owned(), Some("verbose")),
            (r#"{"request":"status","verbose":false}"#.to_owned(), Some("verbose")),
            (r#"{"request":"runs","limit":3,"below":null,"roots":false}"#.to_owned(), None),
            (r#"{"request":"runs","limit":3,"rots":0}"#.to_owned(), Some("rots")),
            (run("{}"), None),
            (run(r#"{"dry_run":false,"private":false,"documents":[],"limits":null}"#), None),
            (run(r#"{"dryrun":true}"#), Some("spec.dryrun")),
            (run(r#"{"dryrun":false}"#), Some("spec.dryrun")),
            (run(r#"{"values":{"dryrun":[null]}}"#), None),
            (
                run(r#"{"documents":[{"document":"file","path":"/a","within":null},{"document":"file","path":"/b","withn":"/"}]}"#),
                Some("spec.documents[1].withn"),
            ),
            (
                r#"{"request":"approve","text":"t","message":1,"for_run":false,"entrys":[]}"#.to_owned(),
                Some("entrys"),
            ),
            (
                r#"{"request":"approve","text":"t","message":1,"for_run":false,"entries":[],"raise":null,"endow":[],
                    "names":{},"seen":{},"allow":[],"edited":null}"#
                    .to_owned(),
                None,
            ),
            (
                r#"{"request":"approve","text":"t","message":1,"for_run":false,"raise":{"turns":0}}"#.to_owned(),
                None,
            ),
            (
                r#"{"request":"approve","text":"t","message":1,"for_run":false,"raise":{"turn":0}}"#.to_owned(),
                Some("raise.turn"),
            ),
        ] {
            assert_eq!(found(&text).as_deref(), expected, "{text}");
        }
    }

    #[test]
    fn many_empty_fields_are_read_again_once() {
        let documents = vec![r#"{"document":"file","path":"/a","within":null}"#; 20_000].join(",");
        let text = format!(r#"{{"request":"say","text":"","run":1,"said":"","documents":[{documents}]}}"#);
        assert_eq!(found(&text), None);
    }
}
