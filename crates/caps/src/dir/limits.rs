//! What a grant leaves of a directory.

use kernel::grant::Attenuation;
use kernel::proposal::Finding;
use passable::visible_line;

/// The most bytes of one file if the grant says nothing: 10 MiB.
pub(crate) const MOST_BYTES: u64 = 10 << 20;

/// Which files a grant covers: the same for `list`, `read` and `write`.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    suffixes: Vec<String>,
    max_bytes: Option<u64>,
}

impl Limits {
    pub(crate) fn new(attenuation: &Attenuation) -> Limits {
        Limits {
            suffixes: attenuation.suffixes.iter().map(|suffix| suffix.to_lowercase()).collect(),
            max_bytes: attenuation.max_bytes,
        }
    }

    /// The most bytes of one file.
    pub(crate) fn bytes(&self) -> u64 {
        self.max_bytes.unwrap_or(MOST_BYTES)
    }

    /// The most bytes of one file where it may have `otherwise` if the grant says nothing.
    pub(crate) fn bytes_or(&self, otherwise: u64) -> u64 {
        self.max_bytes.unwrap_or(otherwise)
    }

    /// Whether the grant covers a file of this name.
    pub(crate) fn fit_name(&self, path: &str) -> bool {
        let name = path.rsplit('/').next().unwrap_or(path).to_lowercase();
        self.suffixes.is_empty() || self.suffixes.iter().any(|suffix| name.ends_with(suffix))
    }

    /// Whether the grant covers a file of this name and size. Only a limit that the grant names hides a file.
    pub(crate) fn cover(&self, path: &str, bytes: u64) -> bool {
        self.fit_name(path) && self.max_bytes.is_none_or(|most| bytes <= most)
    }

    pub(crate) fn check_name(&self, path: &str) -> Result<(), Finding> {
        if self.fit_name(path) {
            return Ok(());
        }
        let suffixes = self.suffixes.join(", ");
        Err(Finding::new("dir/suffix", format!("the grant covers only files ending in {suffixes}"))
            .at("path")
            .counter_example(visible_line(path))
            .allowed(format!("a path ending in one of: {suffixes}")))
    }

    pub(crate) fn check_bytes(&self, path: &str, bytes: u64) -> Result<(), Finding> {
        let most = self.bytes();
        if bytes <= most {
            return Ok(());
        }
        let path = visible_line(path);
        Err(Finding::new(
            "dir/size",
            format!("`{path}` has {bytes} bytes; the grant covers files of up to {most}"),
        )
        .at("path")
        .counter_example(format!("{bytes} bytes"))
        .allowed(format!("at most {most} bytes")))
    }
}
