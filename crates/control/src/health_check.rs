//! The findings of `almoner doctor`, and the files that are written when a run is saved.

use serde::{Deserialize, Serialize};

/// The parts that `almoner doctor` examines, each with its title, in the order in which they are shown.
pub const PARTS: &[(&str, &str)] = &[
    ("place", "Where things lie"),
    ("settings", "Settings"),
    ("daemon", "Daemon and store"),
    ("disk", "Disk"),
    ("model", "Models"),
    ("sandbox", "Sandbox"),
    ("policy", "Policy"),
    ("web", "These pages"),
];

/// One thing that was examined.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HealthCheck {
    /// Its stable name.
    pub id: String,
    /// Whether it is well.
    pub ok: bool,
    /// The finding. It can quote the words of others.
    pub evidence: String,
    /// The remedy if it is not well.
    pub remedy: String,
}

/// A run that is saved as a worker with a test, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct SaveReport {
    /// The files, by their whole paths.
    pub files: Vec<String>,
    /// The worker's file.
    pub worker: String,
    /// The file with the replies of the model.
    pub replies: String,
    /// The file with the result.
    pub result: String,
    /// The parts that are not kept, or that the user has to hand over again.
    pub notes: Vec<String>,
    /// The command that runs it again, as a shell takes it.
    pub command: String,
}
