//! The targets of a release.

use anyhow::{Context as _, Result, bail};

use crate::process::output;

/// A kind of machine that a release is built for.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The name that rustc knows it by.
    pub(super) triple: &'static str,
    /// The oldest glibc on which the binary runs, if it uses glibc.
    pub(super) glibc: Option<&'static str>,
    /// Debian's name of the architecture, which images use too. Without one there is no package and no image.
    pub(super) debian: Option<&'static str>,
}

/// Debian 10 and RHEL 8 have this one.
const OLDEST_GLIBC: &str = "2.28";

/// All targets.
const TARGETS: [Target; 4] = [
    Target { triple: "x86_64-unknown-linux-gnu", glibc: Some(OLDEST_GLIBC), debian: Some("amd64") },
    Target { triple: "aarch64-unknown-linux-gnu", glibc: Some(OLDEST_GLIBC), debian: Some("arm64") },
    Target { triple: "x86_64-apple-darwin", glibc: None, debian: None },
    Target { triple: "aarch64-apple-darwin", glibc: None, debian: None },
];

impl Target {
    /// Returns the target of this name.
    ///
    /// # Errors
    /// When no release is made for it.
    pub(super) fn named(triple: &str) -> Result<&'static Target> {
        let Some(target) = TARGETS.iter().find(|target| target.triple == triple) else {
            let names: Vec<&str> = TARGETS.iter().map(|target| target.triple).collect();
            bail!("cannot make a release for `{triple}`: the targets are {}", names.join(", "));
        };
        Ok(target)
    }

    /// Returns the name as cargo-zigbuild takes it, which has the version of glibc.
    pub(super) fn build_name(&self) -> String {
        match self.glibc {
            Some(version) => format!("{}.{version}", self.triple),
            None => self.triple.to_owned(),
        }
    }
}

/// Returns the name of the target that this machine's compiler builds for.
pub(super) fn host() -> Result<String> {
    let told = output(std::process::Command::new("rustc").arg("-vV"))?;
    let host = told.lines().find_map(|line| line.strip_prefix("host: "));
    Ok(host.context("`rustc -vV` names no host")?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::Target;

    #[test]
    fn unknown_target_is_refused_with_the_known_ones() {
        assert_eq!(Target::named("aarch64-unknown-linux-gnu").unwrap().debian, Some("arm64"));
        let fault = Target::named("riscv64gc-unknown-linux-gnu").unwrap_err().to_string();
        assert!(fault.contains("riscv64gc") && fault.contains("aarch64-apple-darwin"), "{fault}");
    }

    #[test]
    fn build_name_has_the_version_of_glibc() {
        let name = |triple| Target::named(triple).unwrap().build_name();
        assert_eq!(name("x86_64-unknown-linux-gnu"), "x86_64-unknown-linux-gnu.2.28");
        assert_eq!(name("x86_64-apple-darwin"), "x86_64-apple-darwin");
    }
}
