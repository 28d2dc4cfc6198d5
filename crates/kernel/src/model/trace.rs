//! Traces: the places where the words of a call's arguments were read, and the giver of each argument.

use serde::{Deserialize, Serialize};

/// The form of a text that stands in nothing that was read. The model made it.
pub const NOT_READ: &str = "in nothing that you gave or that was read";

/// A place at which the run has read the words of an argument that the user did not give.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Trace {
    /// The argument's parameter name.
    pub argument: String,
    /// The part of the argument that was found.
    pub text: String,
    /// The name of the document or result that holds the text, such as `docs/a.txt` or `mcp:mail/search`.
    pub document: String,
    /// The arguments of the call that returned the result, such as `query "rent"`. `None` for a document, and for a
    /// call whose argument is already in the name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<String>,
    /// The form of the text in the document: `as written`, or the decoding that revealed it (`base64`,
    /// `percent-encoding`, …).
    pub how: String,
}

impl Trace {
    /// Returns the name of the source: the document, and the arguments of the call that returned it.
    pub fn source_name(&self) -> String {
        source_name(&self.document, self.call.as_deref())
    }
}

/// Returns the name of a source: a document, or a tool with the arguments of the call that returned its result.
pub fn source_name(document: &str, call: Option<&str>) -> String {
    match call {
        Some(call) => format!("{document} ({call})"),
        None => document.to_owned(),
    }
}

/// The giver of one argument, or of one element of an argument that is a list or a record.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct ArgumentGiver {
    /// The argument's parameter name.
    pub argument: String,
    /// The element, shortened, if the argument is a list or a record.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub part: Option<String>,
    /// The giver.
    #[serde(flatten)]
    pub giver: Giver,
}

/// The party that gave a value to a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "giver", rename_all = "snake_case")]
pub enum Giver {
    /// The user: the words stand in the task, an input, a setting, an answer or a message of the user.
    User {
        /// The place that holds the value, if the user only named that place, such as `docs/bill.txt`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        named: Option<String>,
    },
    /// Documents or results that the run has read, and that the user did not name.
    Document {
        /// The places that hold the value, as [`Trace::source_name`] names them.
        places: Vec<String>,
        /// Whether one of the places holds the value as a whole, and not only parts of it.
        is_whole: bool,
    },
    /// Neither the user nor anything that the run has read. The model made the value.
    #[serde(rename = "nobody")]
    Unknown,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn giver_is_one_flat_record() {
        let of = |giver| ArgumentGiver { argument: "to".into(), part: None, giver };
        for (giver, expected) in [
            (Giver::User { named: None }, r#"{"argument":"to","giver":"user"}"#),
            (
                Giver::Document { places: vec!["docs/a.txt".into()], is_whole: true },
                r#"{"argument":"to","giver":"document","places":["docs/a.txt"],"is_whole":true}"#,
            ),
            (Giver::Unknown, r#"{"argument":"to","giver":"nobody"}"#),
        ] {
            let one = of(giver);
            let text = serde_json::to_string(&one).unwrap();
            assert_eq!(text, expected);
            assert_eq!(serde_json::from_str::<ArgumentGiver>(&text).unwrap(), one);
        }
    }
}
