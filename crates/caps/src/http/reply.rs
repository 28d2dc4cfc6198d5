//! The answer of a server, as a value.

use std::collections::BTreeMap;

use kernel::id::BlobHash;
use kernel::proposal::Value;
use kernel::provenance::{Provenance, Source};

use super::headers::RETURNED_HEADERS;

/// A complete answer of a server.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) headers: Vec<(String, String)>,
    pub(super) body: String,
}

impl Answer {
    /// Returns the value of a method and its provenance. The words of an answer are always attributed to the server.
    pub(super) fn into_value(self, place: &str) -> (Value, Provenance) {
        let hash = BlobHash::of(self.body.as_bytes());
        let headers: BTreeMap<String, Value> = self
            .headers
            .into_iter()
            .filter(|(name, _)| RETURNED_HEADERS.contains(&name.as_str()))
            .map(|(name, value)| (name, Value::from(value)))
            .collect();
        let value = Value::record_from_map(BTreeMap::from([
            ("status".to_owned(), Value::number(f64::from(self.status))),
            ("headers".to_owned(), Value::record_from_map(headers)),
            ("body".to_owned(), Value::from(self.body)),
        ]));
        (value, Provenance::of(Source::Document { name: place.to_owned(), hash }))
    }
}
