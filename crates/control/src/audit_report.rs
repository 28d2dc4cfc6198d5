//! The result of an audit of the event log, and the anchor that a user keeps elsewhere.

use kernel::BlobHash;
use kernel::event::Event;
use serde::{Deserialize, Serialize};

/// The state of an event log at some time. A user who stores an anchor elsewhere can check later whether an earlier
/// event was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Anchor {
    /// The number of the last event.
    pub seq: u64,
    /// The hash of the last event.
    pub hash: BlobHash,
}

impl std::fmt::Display for Anchor {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{}:{}", self.seq, self.hash)
    }
}

impl std::str::FromStr for Anchor {
    type Err = String;

    fn from_str(text: &str) -> Result<Anchor, String> {
        let parsed =
            text.split_once(':').and_then(|(seq, hash)| Some((seq.parse().ok()?, hash.parse().ok()?)));
        let (seq, hash) = parsed.ok_or("it is written as `almoner audit verify` shows it: NUMBER:HASH")?;
        Ok(Anchor { seq, hash })
    }
}

/// The result of an audit of an event log.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct AuditReport {
    /// The number of events that were checked. These are all events, unless the log has a fault.
    pub events: u64,
    /// The number of events whose described record (a step, a message or a grant) is still in the store and
    /// unchanged.
    pub covered: u64,
    /// The number of events whose described record has been removed since, such as a dismissed message.
    pub gone: u64,
    /// The anchor of the log's last event.
    pub end: Option<Anchor>,
    /// The first fault of the log.
    pub broken: Option<AuditFault>,
    /// Whether the log contains the requested anchor.
    pub contains: Option<bool>,
    /// The last events, if the client asked for them.
    pub last: Vec<Event>,
}

/// A fault in an event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(tag = "broken", rename_all = "snake_case")]
pub enum AuditFault {
    /// An event that does not follow the event before it.
    Chain {
        /// The number of the event.
        seq: u64,
    },
    /// An event that describes a record that differs from the one in the store.
    Record {
        /// The number of the event.
        seq: u64,
    },
}
