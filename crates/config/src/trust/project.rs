//! A project: its file, and the workers that the file endows.

use std::collections::BTreeMap;

use super::{File, TrustedFile, TrustedWorker};
use crate::settings::project::Workers;
use control::exit::Failure;

/// A project file with the present state of the workers that it endows.
#[derive(Clone, Debug)]
pub struct Project {
    /// The project file.
    pub file: File,
    /// The endowments of the workers.
    pub endowments: Workers,
    /// The record that trusts exactly this state.
    pub record: TrustedFile,
}

impl Project {
    /// Reads the workers that a project file endows.
    ///
    /// # Errors
    /// When the file has errors.
    pub fn load(file: File) -> Result<Project, Failure> {
        let endowments = file.workers()?;
        let workers: BTreeMap<String, TrustedWorker> = endowments
            .iter()
            .map(|(name, handed)| (name.clone(), TrustedWorker::now(&file.dir, name, handed)))
            .collect();
        let record = TrustedFile { path: file.path.clone(), digest: file.digest, workers };
        Ok(Project { file, endowments, record })
    }
}
