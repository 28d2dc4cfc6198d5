//! The origins of a value, and its permitted readers. A provenance is kept beside a value, never inside it.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use crate::id::{BlobHash, Number, RunNumber};

/// One origin of a value.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Source {
    /// A person's own words: an argument of a command, a worker file that the person ran.
    Host,
    /// A model's words, by the name of the model.
    Model(String),
    /// A document that a run was given or has read.
    Document {
        /// The place where the document was read: the slot or `attachment`, then the path inside it.
        name: String,
        /// The hash of the document's bytes.
        hash: BlobHash,
    },
    /// The result of another run.
    Run(RunNumber),
    /// The words of another agent.
    Agent(Number),
}

impl Source {
    /// Returns whether the user answers for the content of this source. Models and documents may say anything.
    pub fn is_trusted(&self) -> bool {
        matches!(self, Source::Host)
    }
}

/// The permitted readers of a value.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub enum Readers {
    /// The readers are not restricted.
    #[default]
    Anyone,
    /// Only the readers with these names.
    Only(BTreeSet<String>),
}

/// The name for the readers of private data. The user says which readers these are.
const PRIVATE: &str = "private";

/// The origins of a value, and its permitted readers.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Provenance {
    /// All sources on which the value may depend.
    pub sources: BTreeSet<Source>,
    /// The permitted readers of the value.
    #[serde(default)]
    pub readers: Readers,
}

impl Provenance {
    /// Returns the provenance of a user's own words.
    pub fn host() -> Provenance {
        Provenance::of(Source::Host)
    }

    /// Returns the provenance of the words of one source.
    pub fn of(source: Source) -> Provenance {
        Provenance { sources: BTreeSet::from([source]), readers: Readers::Anyone }
    }

    /// Returns the provenance, restricted to the readers of private data.
    pub fn private(self) -> Provenance {
        let only = Readers::Only(BTreeSet::from([PRIVATE.to_owned()]));
        self.join(&Provenance { sources: BTreeSet::new(), readers: only })
    }

    /// Returns whether the readers are restricted.
    pub fn is_private(&self) -> bool {
        self.readers != Readers::Anyone
    }

    /// Returns the provenance of a value that depends on two others. It has all sources of either, and only the
    /// readers of both.
    pub fn join(&self, other: &Provenance) -> Provenance {
        let readers = match (&self.readers, &other.readers) {
            (Readers::Anyone, r) | (r, Readers::Anyone) => r.clone(),
            (Readers::Only(a), Readers::Only(b)) => Readers::Only(a & b),
        };
        Provenance { sources: &self.sources | &other.sources, readers }
    }

    /// Returns the sources for which the user does not answer.
    pub fn untrusted(&self) -> impl Iterator<Item = &Source> {
        self.sources.iter().filter(|s| !s.is_trusted())
    }

    /// Returns whether any source is not trusted.
    pub fn is_untrusted(&self) -> bool {
        self.untrusted().next().is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn join_is_a_semilattice() {
        let some = [
            Provenance::default(),
            Provenance::host(),
            Provenance::of(Source::Model("m".into())),
            Provenance { sources: BTreeSet::new(), readers: Readers::Only(BTreeSet::from(["a".into()])) },
            Provenance { sources: BTreeSet::new(), readers: Readers::Only(BTreeSet::from(["b".into()])) },
        ];
        for a in &some {
            assert_eq!(a.join(a), *a);
            for b in &some {
                assert_eq!(a.join(b), b.join(a));
                for c in &some {
                    assert_eq!(a.join(b).join(c), a.join(&b.join(c)));
                }
            }
        }
    }

    #[test]
    fn join_with_private_provenance_is_private() {
        let (plain, private) = (Provenance::host(), Provenance::host().private());
        assert!(!plain.is_private() && private.is_private());
        assert!(plain.join(&private).is_private() && private.join(&plain).is_private());
        assert_eq!(private.clone().private(), private);
    }

    #[test]
    fn joining_never_loses_distrust() {
        let model = Provenance::of(Source::Model("m".into()));
        assert!(!Provenance::host().is_untrusted());
        assert!(Provenance::host().join(&model).is_untrusted());
    }
}
