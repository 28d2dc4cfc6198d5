//! Keys of runs. A program starts a run under a key, and repeats the request until it has an answer: the key starts
//! one run, however often the request comes.

use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};

/// The maximum length of a key, in characters.
pub const MAX_RUN_KEY_LEN: usize = 128;

/// The name under which a program starts a run once. It has 1 to 128 visible characters of ASCII, without blanks.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(try_from = "String", into = "String")]
pub struct RunKey(String);

/// The error for a text that is no key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key has 1 to {MAX_RUN_KEY_LEN} visible characters of ASCII, without blanks")]
pub struct BadRunKey;

impl RunKey {
    /// Returns the text of the key.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl FromStr for RunKey {
    type Err = BadRunKey;

    fn from_str(text: &str) -> Result<RunKey, BadRunKey> {
        RunKey::try_from(text.to_owned())
    }
}

impl TryFrom<String> for RunKey {
    type Error = BadRunKey;

    fn try_from(text: String) -> Result<RunKey, BadRunKey> {
        let is_key =
            (1..=MAX_RUN_KEY_LEN).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_graphic());
        if is_key { Ok(RunKey(text)) } else { Err(BadRunKey) }
    }
}

impl From<RunKey> for String {
    fn from(key: RunKey) -> String {
        key.0
    }
}

impl fmt::Display for RunKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// The digest of one part of the request for a run, such as an input or a document.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RequestPart {
    /// The name of the part, as a user reads it: `document 2`.
    pub name: String,
    /// The digest of the part, in hex. It is no hash of stored bytes, so it keeps no bytes.
    pub digest: String,
}

/// The key of a request for a run, and the parts that a repetition of the request must have again.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KeyedRequest {
    /// The key.
    pub key: RunKey,
    /// The parts, in the order in which they are compared.
    pub parts: Vec<RequestPart>,
}

impl KeyedRequest {
    /// Returns the name of the first part in which the request differs from an earlier one with these parts.
    pub fn first_difference(&self, earlier: &[RequestPart]) -> Option<String> {
        let changed = self.parts.iter().find(|part| !earlier.contains(part));
        let lacking = || earlier.iter().find(|part| !self.parts.contains(part));
        changed.or_else(lacking).map(|part| part.name.clone())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_short_visible_ascii_text_is_a_key() {
        let longest = "k".repeat(MAX_RUN_KEY_LEN);
        for text in ["a", "order/2026-11-29#7", "{42}", longest.as_str()] {
            assert_eq!(text.parse::<RunKey>().unwrap().as_str(), text);
            assert_eq!(serde_json::from_value::<RunKey>(text.into()).unwrap().to_string(), text);
        }
        let too_long = "k".repeat(MAX_RUN_KEY_LEN + 1);
        for text in ["", " ", "a b", "a\n", "a\u{7f}", "schlüssel", "a\u{202e}b", too_long.as_str()] {
            assert_eq!(text.parse::<RunKey>(), Err(BadRunKey), "{text:?}");
            assert!(serde_json::from_value::<RunKey>(text.into()).is_err(), "{text:?}");
        }
    }

    #[test]
    fn first_difference_names_the_part_that_is_not_the_same() {
        let parts = |list: &[(&str, &str)]| -> Vec<RequestPart> {
            let part = |(name, digest): &(&str, &str)| RequestPart {
                name: (*name).to_owned(),
                digest: (*digest).to_owned(),
            };
            list.iter().map(part).collect()
        };
        let earlier = parts(&[("worker", "1"), ("input `a`", "2"), ("document 1", "3")]);
        for (now, expected) in [
            (parts(&[("worker", "1"), ("input `a`", "2"), ("document 1", "3")]), None),
            (parts(&[("worker", "9"), ("input `a`", "9"), ("document 1", "3")]), Some("worker")),
            (parts(&[("worker", "1"), ("input `a`", "2"), ("document 1", "9")]), Some("document 1")),
            (parts(&[("worker", "1"), ("input `a`", "2"), ("input `b`", "2")]), Some("input `b`")),
            (parts(&[("worker", "1"), ("document 1", "3")]), Some("input `a`")),
        ] {
            let request = KeyedRequest { key: "k".parse().unwrap(), parts: now };
            assert_eq!(request.first_difference(&earlier).as_deref(), expected, "{request:?}");
        }
    }
}
