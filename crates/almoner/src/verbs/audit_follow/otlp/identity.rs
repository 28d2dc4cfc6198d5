//! The identifiers of traces and spans. They follow from the log, so that an event that is sent twice has the same
//! identifiers both times.

use kernel::{BlobHash, RunNumber};

/// The identity of a log of events: the hash of its first event.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LogId(pub(super) BlobHash);

impl LogId {
    /// Returns the identifier of the trace of a run, which is that of the first run above it.
    pub(super) fn trace(&self, root: RunNumber) -> Vec<u8> {
        self.step_trace(root, 0)
    }

    /// Returns the identifier of the trace of a call that belongs to no run.
    pub(super) fn step_trace(&self, run: RunNumber, step: u64) -> Vec<u8> {
        self.derive("almoner otlp trace v1", run, step)[..16].to_vec()
    }

    /// Returns the identifier of the span of a run.
    pub(super) fn run_span(&self, run: RunNumber) -> Vec<u8> {
        self.step_span(run, 0)
    }

    /// Returns the identifier of the span that a step of a run began.
    pub(super) fn step_span(&self, run: RunNumber, step: u64) -> Vec<u8> {
        self.derive("almoner otlp span v1", run, step)[..8].to_vec()
    }

    fn derive(&self, context: &str, run: RunNumber, step: u64) -> [u8; 32] {
        let mut hasher = blake3::Hasher::new_derive_key(context);
        hasher.update(&self.0.0);
        hasher.update(&run.0.to_le_bytes());
        hasher.update(&step.to_le_bytes());
        *hasher.finalize().as_bytes()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn identifiers_differ_between_logs_runs_and_steps() {
        let (one, other) = (LogId(BlobHash::of(b"1")), LogId(BlobHash::of(b"2")));
        let run = RunNumber(1);
        assert_eq!((one.trace(run).len(), one.run_span(run).len()), (16, 8));
        assert_eq!(one.trace(run), one.trace(run));
        assert_ne!(one.trace(run), other.trace(run));
        assert_ne!(one.trace(run), one.trace(RunNumber(2)));
        let spans = [
            one.run_span(run),
            one.step_span(run, 1),
            one.step_span(run, 2),
            one.run_span(RunNumber(2)),
            other.run_span(run),
        ];
        let different: std::collections::BTreeSet<_> = spans.iter().collect();
        assert_eq!(different.len(), spans.len());
    }
}
