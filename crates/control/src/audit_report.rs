//! The result of an audit of the event log, and the anchor that a user keeps elsewhere.

use kernel::BlobHash;
use kernel::event::Event;
use serde::{Deserialize, Serialize};

/// The state of an event log at some time. A user who keeps it elsewhere can check later whether any earlier event
/// was changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Anchor {
    /// The number of the last event.
    pub seq: u64,
    /// Its hash.
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
pub struct AuditReport {
    /// How many events were looked at: all, unless something is broken.
    pub events: u64,
    /// Of how many the step, the message or the grant that they tell of is as it was recorded.
    pub covered: u64,
    /// Of how many it has been removed since, as messages that were dismissed are.
    pub gone: u64,
    /// The anchor of the log's last event.
    pub end: Option<Anchor>,
    /// The first fault of the log.
    pub broken: Option<AuditFault>,
    /// Whether the log contains the requested anchor.
    pub contains: Option<bool>,
    /// The last events, if they were asked for.
    pub last: Vec<Event>,
}

/// A fault in an event log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "broken", rename_all = "snake_case")]
pub enum AuditFault {
    /// An event does not follow the one before.
    Chain {
        /// Which.
        seq: u64,
    },
    /// The record that an event describes differs from the one in the store.
    Record {
        /// Which event.
        seq: u64,
    },
}
