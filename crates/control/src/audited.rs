//! What looking at the log has found, and what somebody knows of it from elsewhere.

use kernel::BlobHash;
use kernel::event::Event;
use serde::{Deserialize, Serialize};

/// What a log of events had come to: whoever keeps this elsewhere can tell later whether anything before it was changed.
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

/// What was found in a log of events.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Audited {
    /// How many events were looked at: all, unless something is broken.
    pub events: u64,
    /// Of how many the step, the message or the grant that they tell of is as it was recorded.
    pub covered: u64,
    /// Of how many it has been removed since, as messages that were dismissed are.
    pub gone: u64,
    /// What the log comes to.
    pub end: Option<Anchor>,
    /// The first thing that is wrong.
    pub broken: Option<Broken>,
    /// Whether what was asked for is in the log.
    pub contains: Option<bool>,
    /// The last events, if they were asked for.
    pub last: Vec<Event>,
}

/// What is wrong with a log of events.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "broken", rename_all = "snake_case")]
pub enum Broken {
    /// An event does not follow the one before.
    Chain {
        /// Which.
        seq: u64,
    },
    /// What an event tells of is not what was recorded.
    Record {
        /// Which event.
        seq: u64,
    },
}
