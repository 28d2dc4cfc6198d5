//! The results of `almoner doctor`, and the report about saving a run.

use serde::{Deserialize, Serialize};

/// The parts that `almoner doctor` examines, each with its title, in the order in which they are shown.
pub const PARTS: &[(&str, &str)] = &[
    ("place", "Where things lie"),
    ("settings", "Settings"),
    ("daemon", "Daemon and store"),
    ("disk", "Disk"),
    ("model", "Models"),
    ("network", "Network"),
    ("sandbox", "Sandbox"),
    ("policy", "Policy"),
    ("managed", "Rules of the machine's administrator"),
    ("web", "These pages"),
];

/// The result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct HealthCheck {
    /// The stable name of the check.
    pub id: String,
    /// Whether the check passed.
    pub ok: bool,
    /// Whether the check could not be tried here, so that it has neither passed nor failed.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub untried: bool,
    /// The finding. It can quote foreign text.
    pub evidence: String,
    /// The remedy if the check failed.
    pub remedy: String,
}

impl HealthCheck {
    /// Returns a check that has passed or failed. `remedy` counts only if it failed.
    pub fn new(id: &str, ok: bool, evidence: impl Into<String>, remedy: impl Into<String>) -> HealthCheck {
        let (evidence, remedy) = (evidence.into(), remedy.into());
        HealthCheck { id: id.to_owned(), ok, untried: false, evidence, remedy }
    }

    /// Returns a check that could not be tried here.
    pub fn untried(id: &str, evidence: impl Into<String>) -> HealthCheck {
        HealthCheck { untried: true, ..HealthCheck::new(id, false, evidence, "") }
    }

    /// Returns whether the check was tried, and did not pass.
    pub fn has_failed(&self) -> bool {
        !self.ok && !self.untried
    }
}

/// The report about saving a run as a worker with a test, or about a preview of that.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct SaveReport {
    /// The absolute paths of the files.
    pub files: Vec<String>,
    /// The worker file.
    pub worker: String,
    /// The file with the replies of the model.
    pub replies: String,
    /// The file with the result.
    pub result: String,
    /// Notes about the parts that are not saved, or that the user must hand over again.
    pub notes: Vec<String>,
    /// The shell command that repeats the run.
    pub command: String,
}
