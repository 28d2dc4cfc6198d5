//! The limits that a grant sets on a directory.

use std::io;
use std::ops::ControlFlow;

use cap_std::fs::Dir;
use kernel::grant::Attenuation;
use kernel::proposal::Finding;
use passable::{quoting, visible_line};

use super::tree;
use crate::failure;
use crate::walk::{self, FoundEntry, Kind};

/// The maximum size of one file if the grant names no limit: 10 MiB.
pub(crate) const MAX_BYTES: u64 = 10 << 20;

/// The limits of a grant on the files of a directory. They apply equally to `list`, `read` and `write`.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    suffixes: Vec<String>,
    max_bytes: Option<u64>,
    total_bytes: Option<u64>,
}

impl Limits {
    pub(crate) fn new(attenuation: &Attenuation) -> Limits {
        Limits {
            suffixes: attenuation.suffixes.iter().map(|suffix| suffix.to_lowercase()).collect(),
            max_bytes: attenuation.max_bytes,
            total_bytes: attenuation.total_bytes,
        }
    }

    /// Returns the maximum number of bytes of one file.
    pub(crate) fn bytes(&self) -> u64 {
        self.max_bytes.unwrap_or(MAX_BYTES)
    }

    /// Returns the maximum number of bytes of one file, which is `otherwise` if the grant names no limit.
    pub(crate) fn bytes_or(&self, otherwise: u64) -> u64 {
        self.max_bytes.unwrap_or(otherwise)
    }

    /// Returns whether the grant covers a file of this name.
    pub(crate) fn fit_name(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.suffixes.is_empty() || self.suffixes.iter().any(|suffix| name.ends_with(suffix))
    }

    /// Returns whether the grant covers a file of this name and size. Only a limit that the grant names hides a file.
    pub(crate) fn cover(&self, path: &str, bytes: u64) -> bool {
        self.fit_name(path) && self.max_bytes.is_none_or(|most| bytes <= most)
    }

    pub(crate) fn check_name(&self, path: &str) -> Result<(), Finding> {
        if self.fit_name(path) {
            return Ok(());
        }
        let suffixes = self.suffixes.join(", ");
        Err(Finding::new("dir/suffix", quoting!("the grant covers only files ending in {}", suffixes))
            .at("path")
            .counter_example(visible_line(path))
            .allowed(format!("a path ending in one of: {suffixes}; or a directory that `list` shows")))
    }

    /// Looks up a path, and fails in the same way whether or not a file exists that the grant does not cover. `doing`
    /// is a phrase such as "read `report.md`".
    pub(super) fn look(&self, root: &Dir, path: &str, doing: &str) -> Result<FoundEntry, Finding> {
        let failed = |error: io::Error| failure::finding(&error, doing, "path");
        match walk::look(root, path).map_err(|error| tree::known(root, path, error, self)) {
            Ok(found) if found.kind == Kind::Directory => Ok(found),
            found => {
                self.check_name(path)?;
                let found = found.map_err(failed)?;
                // A link does not lend a file a name that the grant covers. It leads to nothing, as if it dangled.
                match self.fit_name(&found.resolved) {
                    true => Ok(found),
                    false => Err(failed(io::ErrorKind::NotFound.into())),
                }
            }
        }
    }

    pub(crate) fn check_bytes(&self, path: &str, bytes: u64) -> Result<(), Finding> {
        let most = self.bytes();
        if bytes <= most {
            return Ok(());
        }
        let path = visible_line(path);
        Err(Finding::new(
            "dir/size",
            quoting!("`{}` has {} bytes; the grant covers files of up to {}", path, bytes, most),
        )
        .at("path")
        .counter_example(format!("{bytes} bytes"))
        .allowed(format!("at most {most} bytes")))
    }

    /// Checks the limit on the total size of the directory for a file that grows from `before` to `after` bytes. The
    /// total is counted anew each time, so it includes the files of every other writer. A change that makes nothing
    /// larger always passes.
    pub(crate) fn check_total(&self, root: &Dir, after: u64, before: u64) -> Result<(), Finding> {
        let Some(most) = self.total_bytes.filter(|_| after > before) else { return Ok(()) };
        let mut held = 0u64;
        const DOING: &str = "count what is in the directory";
        const NARROWER: &str = "nothing that makes a file larger";
        let walked = tree::walk(root, ".", tree::Extent::All, self, &|_| false, &mut |entry| {
            held = held.saturating_add(if entry.kind == Kind::File { entry.bytes } else { 0 });
            ControlFlow::Continue(())
        });
        let report = walked.map_err(|error| failure::finding(&error, DOING, "content"))?;
        if report.is_cut {
            return Err(tree::too_many(DOING, "content", NARROWER));
        }
        let then = held.saturating_sub(before).saturating_add(after);
        if then <= most {
            return Ok(());
        }
        let what = format!("the directory would hold {then} bytes, and the grant lets it hold {most} in all");
        Err(Finding::new("dir/total", what)
            .at("content")
            .counter_example(format!("{after} bytes more"))
            .allowed(format!("{} bytes more, or removing something first", most.saturating_sub(held))))
    }
}
