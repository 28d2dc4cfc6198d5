//! The assembly of calls from pieces, whatever ids the server uses.

use std::collections::BTreeSet;

use passable::{ExactJson, ExactJsonError, read_exact_json};
use serde::de::IgnoredAny;
use serde_json::{Value, json};

use super::message::mend;
use crate::error::ModelError;
use crate::reply::{MalformedCall, Reply};
use crate::request::Call;

/// The maximum number of calls of one reply that are made. The model is told about the others.
const MAX_CALLS: usize = 256;
/// The maximum number of calls of one reply that are counted.
const MAX_COUNTED: usize = 4096;

/// A call of which some pieces may still be missing.
#[derive(Debug, Default)]
pub(crate) struct PartialCall {
    /// The number under which the pieces of the call come.
    pub(crate) index: u64,
    /// The id that the server gave to the call, or an empty text.
    pub(crate) id: String,
    /// The name of the tool.
    pub(crate) name: String,
    /// The arguments as text.
    pub(crate) arguments: String,
    /// Opaque data that the server wants back with the call.
    pub(crate) signature: Option<String>,
}

/// A piece of a call, as a server sends it. Fields that the server left out are empty.
#[derive(Debug, Default)]
pub(crate) struct CallPiece {
    /// The number of the call, or its place in the list in which it came.
    pub(crate) index: u64,
    /// The id of the call.
    pub(crate) id: String,
    /// The name of the tool, whole.
    pub(crate) name: String,
    /// More of the arguments.
    pub(crate) arguments: String,
}

impl CallPiece {
    /// Returns whether the piece has no content. Some servers end an answer with such a call.
    fn is_empty(&self) -> bool {
        self.id.is_empty() && self.name.is_empty() && self.arguments.is_empty()
    }
}

/// The calls of one reply.
#[derive(Debug, Default)]
pub(crate) struct Calls(pub(crate) Vec<PartialCall>);

impl Calls {
    /// Adds a call.
    pub(crate) fn push(&mut self, call: PartialCall) -> Result<(), ModelError> {
        if self.0.len() == MAX_COUNTED {
            return Err(ModelError::malformed(format!("more than {MAX_COUNTED} calls in one reply")));
        }
        self.0.push(call);
        Ok(())
    }

    /// Returns the number of bytes of all calls.
    pub(crate) fn size(&self) -> usize {
        let own = |call: &PartialCall| call.id.len() + call.name.len() + call.arguments.len();
        self.0.iter().map(|call| own(call) + call.signature.as_ref().map_or(0, String::len)).sum()
    }

    /// Returns the call whose pieces come under a number. If the server used the number twice, the last such call is
    /// returned.
    pub(crate) fn at(&mut self, index: u64) -> Option<&mut PartialCall> {
        self.0.iter_mut().rev().find(|call| call.index == index)
    }

    /// Adds a piece to the call that it belongs to, or begins a call with it. A piece without content is left out.
    pub(crate) fn add(&mut self, piece: CallPiece) -> Result<(), ModelError> {
        if piece.is_empty() {
            return Ok(());
        }
        let is_same = |call: &PartialCall| call.index == piece.index && call.id == piece.id;
        let by_id = self.0.iter().rposition(|call| !piece.id.is_empty() && is_same(call));
        let at = by_id.or_else(|| self.0.iter().rposition(|call| call.index == piece.index));
        match at.and_then(|at| self.0.get_mut(at)) {
            Some(call) if call.repeats(&piece) => Ok(()),
            Some(call) if !call.is_followed_by(&piece) => {
                call.take(piece);
                Ok(())
            }
            known => {
                // Only a name tells which tool is meant. Arguments alone go to the same tool once more.
                let tool = known.map(|call| call.name.clone()).unwrap_or_default();
                let CallPiece { index, id, name, arguments } = piece;
                let name = if name.is_empty() { tool } else { name };
                self.push(PartialCall { index, id, name, arguments, signature: None })
            }
        }
    }

    /// Puts the collected calls into the reply. A call without an id gets one, and `turn` makes the id unique within
    /// the conversation.
    pub(crate) fn put(self, turn: usize, reply: &mut Reply) {
        let mut ids = BTreeSet::new();
        let count = self.0.len();
        for (i, call) in self.0.into_iter().enumerate().take(MAX_CALLS + 1) {
            // Each call needs an id of its own, so that results are not confused.
            let id = match call.id {
                id if !id.is_empty() && ids.insert(id.clone()) => id,
                _ => format!("call_{turn}_{i}"),
            };
            let name = call.name;
            if i == MAX_CALLS {
                let reason = format!(
                    "the model made {count} calls in one reply; the first {MAX_CALLS} were taken, and not this one or those behind it"
                );
                reply.malformed.push(MalformedCall { id, name, arguments: "{}".to_owned(), reason });
                break;
            }
            let arguments = mend(call.arguments);
            match parsed(arguments.trim()) {
                Ok(arguments) => reply.calls.push(Call { id, name, arguments, signature: call.signature }),
                Err(reason) => {
                    reply.malformed.push(MalformedCall { id, name, arguments, reason });
                }
            }
        }
    }
}

impl PartialCall {
    /// Returns whether the arguments are a complete object, to which nothing can be added.
    fn is_complete(&self) -> bool {
        let text = self.arguments.trim();
        text.starts_with('{') && text.ends_with('}') && serde_json::from_str::<IgnoredAny>(text).is_ok()
    }

    /// Returns whether a piece under the number of this call begins another call. Some servers number no calls, or give
    /// all of them the same number.
    fn is_followed_by(&self, piece: &CallPiece) -> bool {
        let has_other_id = !piece.id.is_empty() && !self.id.is_empty() && piece.id != self.id;
        let has_name = !piece.name.is_empty() && !self.name.is_empty();
        if has_name && (has_other_id || piece.name != self.name) {
            return true;
        }
        if piece.arguments.trim().is_empty() || !self.is_complete() {
            return false;
        }
        // Some servers begin a call with an empty object, as a stand-in for the arguments that follow.
        has_name || !self.has_stand_in()
    }

    fn has_stand_in(&self) -> bool {
        let inner = self.arguments.trim().strip_prefix('{').and_then(|rest| rest.strip_suffix('}'));
        inner.is_some_and(|inner| inner.trim().is_empty())
    }

    /// Returns whether a piece is this call once more, as a whole.
    fn repeats(&self, piece: &CallPiece) -> bool {
        !piece.id.is_empty()
            && piece.id == self.id
            && piece.name == self.name
            && piece.arguments == self.arguments
            && self.is_complete()
    }

    fn take(&mut self, piece: CallPiece) {
        if self.id.is_empty() {
            self.id = piece.id;
        }
        // The name comes whole. Some servers repeat the name in every delta, which must not double it.
        if self.name.is_empty() {
            self.name = piece.name;
        }
        if !piece.arguments.trim().is_empty() && self.has_stand_in() {
            self.arguments.clear();
        }
        self.arguments.push_str(&piece.arguments);
    }
}

/// Returns the arguments of a call.
///
/// # Errors
///
/// The reason why they are no JSON.
fn parsed(text: &str) -> Result<Value, String> {
    if text.is_empty() || text == "null" {
        return Ok(json!({}));
    }
    let json = read_exact_json(text).map_err(|error| match error {
        ExactJsonError::Incomplete => "the text ends too early".to_owned(),
        error => error.to_string(),
    })?;
    match json {
        // Some servers write the text of the arguments as a text once more.
        Value::String(inner) => Ok(match read_exact_json(&inner) {
            Ok(object @ Value::Object(_)) => object,
            _ => Value::String(inner),
        }),
        value => Ok(value),
    }
}

/// Returns arguments that came as JSON as a text. A string already is the text, because most servers write arguments
/// like that.
pub(crate) fn as_text(arguments: Value) -> String {
    match arguments {
        Value::Null => String::new(),
        Value::String(text) => text,
        other => ExactJson(&other).to_string(),
    }
}

/// Returns arguments for protocols in which they are always an object. A model's arguments of another type are
/// wrapped in one.
pub(crate) fn as_object(arguments: &Value) -> Value {
    match arguments {
        Value::Object(_) => arguments.clone(),
        other => json!({ "arguments": other }),
    }
}

/// Returns a name or id for protocols that accept only letters, digits, `_` and `-`. Every other character, from a
/// model or another server, becomes `_`, and a long name is cut.
pub(crate) fn plain(name: &str) -> String {
    let plain: String = name
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '_' || c == '-' { c } else { '_' })
        .take(64)
        .collect();
    if plain.is_empty() { "unnamed".to_owned() } else { plain }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn put(pieces: &[(u64, &str, &str, &str)]) -> Vec<(String, String)> {
        let mut calls = Calls::default();
        for (index, id, name, arguments) in pieces {
            let (id, name, arguments) = ((*id).to_owned(), (*name).to_owned(), (*arguments).to_owned());
            calls.add(CallPiece { index: *index, id, name, arguments }).unwrap();
        }
        calls.0.into_iter().map(|call| (call.name, call.arguments)).collect()
    }

    /// The shapes are those of comet-ml/opik#8362, huggingface/smolagents#1958 and langchain-ai/langchain#34807.
    #[test]
    fn calls_without_numbers_or_ids_stay_apart() {
        #[track_caller]
        fn check(pieces: &[(u64, &str, &str, &str)], expected: &[(&str, &str)]) {
            let expected: Vec<_> = expected.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect();
            assert_eq!(put(pieces), expected);
        }
        let (a, b) = (r#"{"path":"a"}"#, r#"{"path":"b"}"#);
        let both = [("read", a), ("read", b)];
        check(&[(0, "", "read", a), (0, "", "read", b)], &both);
        check(&[(0, "x", "read", a), (0, "x", "read", b)], &both);
        check(&[(0, "x", "read", a), (0, "y", "read", b)], &both);
        check(&[(0, "", "read", a), (0, "", "list", b)], &[("read", a), ("list", b)]);
        check(&[(0, "", "read", ""), (0, "", "", a), (0, "", "read", ""), (0, "", "", b)], &both);
        check(&[(0, "", "read", r#"{"path":"#), (0, "", "", r#""a"}"#), (0, "", "read", b)], &both);
        check(&[(0, "", "now", ""), (0, "", "read", a)], &[("now", ""), ("read", a)]);
        // One call: the name comes again, the id changes with each piece, and an empty object stands in.
        check(
            &[(0, "", "read", r#"{"path":"#), (0, "", "read", r#""a"}"#), (0, "", "read", "")],
            &[("read", a)],
        );
        check(&[(0, "1", "read", r#"{"path":"#), (0, "2", "", r#""a"}"#)], &[("read", a)]);
        check(&[(0, "1", "read", "{}"), (0, "", "", r#"{"path":"#), (0, "", "", r#""a"}"#)], &[("read", a)]);
        check(&[(0, "x", "read", a), (0, "x", "read", a)], &[("read", a)]);
        // A piece without content begins no call: SaladDay/cc-switch-cli#437.
        check(&[(0, "", "", "")], &[]);
        check(&[(0, "", "", ""), (0, "x", "read", a), (0, "", "", "")], &[("read", a)]);
    }

    #[test]
    fn calls_beyond_the_limit_are_reported_to_the_model() {
        let mut calls = Calls::default();
        for index in 0..300 {
            let (id, arguments) = (format!("c{index}"), "{}".to_owned());
            calls.add(CallPiece { index, id, name: "read".to_owned(), arguments }).unwrap();
        }
        let mut reply = Reply::default();
        calls.put(0, &mut reply);
        assert_eq!(reply.calls.len(), MAX_CALLS);
        let [beyond] = reply.malformed.as_slice() else { panic!("{:?}", reply.malformed) };
        assert_eq!((beyond.id.as_str(), beyond.name.as_str()), ("c256", "read"));
        assert!(beyond.reason.contains("300 calls in one reply"), "{}", beyond.reason);
    }

    #[test]
    fn arguments_in_a_text_of_a_text_are_read() {
        assert_eq!(parsed(r#""{\"a\":1}""#), Ok(json!({"a": 1})));
        assert_eq!(parsed(r#""plain""#), Ok(json!("plain")));
        assert_eq!(parsed("null"), Ok(json!({})));
        assert_eq!(parsed(r#"{"a":"#).unwrap_err(), "the text ends too early");
        assert_eq!(parsed(r#"{"a":1}}"#).unwrap_err(), "it is not JSON: see line 1, column 8");
    }
}
