//! What an examination has found, and what is written when a run is saved.

use serde::{Deserialize, Serialize};

/// The parts that `almoner doctor` examines, each with what it is, in the order in which they are shown.
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
pub struct Examined {
    /// Its stable name.
    pub id: String,
    /// Whether it is well.
    pub ok: bool,
    /// What was found. It can quote what others wrote.
    pub evidence: String,
    /// What to do if it is not well.
    pub remedy: String,
}

/// A run that is saved as a worker with a test, or would be.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Saving {
    /// The files, by their whole paths.
    pub files: Vec<String>,
    /// The worker's file.
    pub worker: String,
    /// The file with the replies of the model.
    pub replies: String,
    /// The file with the result.
    pub result: String,
    /// What is not kept, or has to be handed over again.
    pub notes: Vec<String>,
    /// The command that runs it again, as a shell takes it.
    pub command: String,
}
