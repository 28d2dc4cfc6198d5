//! The parts of a run that a list shows beside its summary.

use kernel::RunNumber;
use passable::Untrusted;

/// The input, the result and the changed files of a run, in short.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunLine {
    /// The run.
    pub run: RunNumber,
    /// The beginning of the inputs, such as `text="buy paint"`, or the names of the documents.
    pub input: Option<Untrusted>,
    /// The beginning of the result, or of the reason of a failure.
    pub result: Option<Untrusted>,
    /// The number of files that the run and its descendants have changed, or `None` if there are too many steps to
    /// count.
    pub files: Option<usize>,
}

/// A file that a run has changed.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ChangedFile {
    /// The absolute path.
    pub path: Untrusted,
    /// Whether the change lies in a staged copy, so that the file itself is unchanged.
    pub is_staged: bool,
}
