//! The title of a message on the wire.

use passable::{Quoted, Quoting, Untrusted};
use serde::{Deserialize, Serialize};

/// A sentence of the daemon, with the positions of its foreign words.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Title {
    /// The sentence.
    pub text: Untrusted,
    /// The first byte of each foreign part, and the byte after its last.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub quoted: Vec<Quoted>,
}

impl Title {
    /// Returns the sentence, with its foreign words marked as quoted.
    pub fn quoting(&self) -> Quoting {
        Quoting::from_stored(self.text.raw(), Some(&self.quoted))
    }
}

impl From<Quoting> for Title {
    fn from(said: Quoting) -> Title {
        let (text, quoted) = said.into_text();
        Title { text: Untrusted::new(text), quoted }
    }
}
