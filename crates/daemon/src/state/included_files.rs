//! The files that the workers of the store include, for the gates.

use std::collections::BTreeMap;
use std::sync::Arc;

use kernel::query::included_files::included_files;
use policy::protected::IncludedFiles;

use super::daemon::Daemon;
use kernel::BlobHash;

impl Daemon {
    /// Gives the gates the files that the workers of the store include. The store is asked once.
    pub(super) fn load_included_files(&self) {
        self.included.get_or_init(|| {
            let files = match self.read(included_files) {
                Ok(stored) => {
                    let mut files = IncludedFiles::default();
                    stored.iter().for_each(|(name, content)| files.add(name, *content));
                    files
                }
                // Fails closed: any file may be a part of a prompt.
                Err(_) => IncludedFiles::unknown(),
            };
            self.change_rules(|rules| rules.included = Arc::new(files));
        });
    }

    /// Tells the gates of files that a worker includes.
    pub fn note_included_files(&self, includes: &BTreeMap<String, BlobHash>) {
        if includes.is_empty() {
            return;
        }
        self.load_included_files();
        self.change_rules(|rules| {
            let mut files = IncludedFiles::clone(&rules.included);
            includes.iter().for_each(|(name, content)| files.add(name, *content));
            rules.included = Arc::new(files);
        });
    }
}
