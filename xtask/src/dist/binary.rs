//! The binary of a release: built with Zig's linker, so that it runs on old systems, and without paths of this machine.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail};

use super::source::{COMMIT, EPOCH, Source};
use super::target::Target;
use super::{linkage, machine_paths};
use crate::process::{cargo, output, run, shown};
use crate::setup;

/// Variables with which a developer changes builds. A release must not depend on them.
const LOCAL_VARIABLES: &[&str] = &[
    "CARGO_BUILD_RUSTFLAGS",
    "CARGO_INCREMENTAL",
    "CFLAGS",
    "CXXFLAGS",
    "RUSTC_WORKSPACE_WRAPPER",
    "RUSTC_WRAPPER",
    "RUSTFLAGS",
];

/// Builds the binary for a target in a target directory and returns its path.
///
/// # Errors
/// When it does not build, asks the system for more than an old glibc, or holds a path of this machine.
pub(super) fn build(source: &Source, target: &Target, target_dir: &Path, tools: &Path) -> Result<PathBuf> {
    let places = Places::of(source, target_dir, tools)?;
    let build_name = target.build_name();
    let arguments =
        ["zigbuild", "--release", "--locked", "--package", "almoner", "--target", build_name.as_str()];
    let mut command = cargo(&source.root, &arguments);
    for name in LOCAL_VARIABLES {
        command.env_remove(name);
    }
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("CARGO_PROFILE_") {
            command.env_remove(&name);
        }
    }
    let c_flags = format!("CFLAGS_{}", target.triple.replace('-', "_"));
    command
        .env("CARGO_TARGET_DIR", target_dir)
        .env("CARGO_ENCODED_RUSTFLAGS", places.rust_flags())
        .env(c_flags, places.c_flags())
        // Else zlib's build script links the library of this machine, if it has one.
        .env("LIBZ_SYS_STATIC", "1")
        .env("PATH", setup::dist_path(tools)?)
        .env(COMMIT, &source.commit)
        .env(EPOCH, source.epoch.to_string());
    println!("{}", shown(&command));
    if !run(&mut command)? {
        bail!("cannot build for {}: the compiler's message is above", target.triple);
    }
    let binary = target_dir.join(target.triple).join("release/almoner");
    let bytes = fs::read(&binary).with_context(|| format!("cannot read {}", binary.display()))?;
    let leaked = machine_paths::find(&bytes, &places.private());
    if let Some(path) = leaked.first() {
        bail!("cannot release the binary: it holds the path {} of this machine", path.display());
    }
    if let Some(glibc) = target.glibc {
        let unmet = linkage::unmet_demands(&bytes, glibc)?;
        if !unmet.is_empty() {
            bail!("cannot release the binary: {}", unmet.join("; "));
        }
    }
    Ok(binary)
}

/// The folders of this machine that compilers would write into a binary, each with the name that it gets there.
struct Places(Vec<(PathBuf, &'static str)>);

impl Places {
    fn of(source: &Source, target_dir: &Path, tools: &Path) -> Result<Places> {
        let home = PathBuf::from(std::env::var_os("HOME").context("HOME is not set")?);
        let folder = |variable: &str, default: &str| {
            std::env::var_os(variable).map_or_else(|| home.join(default), PathBuf::from)
        };
        let sysroot = output(std::process::Command::new("rustc").args(["--print", "sysroot"]))?;
        // Of two names that fit, the compilers take the later one, so the inner folder comes last.
        let mut places = vec![
            (folder("CARGO_HOME", ".cargo"), "/cargo"),
            // Zig and cargo-zigbuild keep compiled parts of the C library there.
            (folder("XDG_CACHE_HOME", ".cache"), "/cache"),
            (PathBuf::from(sysroot.trim()), "/rust"),
            (source.root.clone(), "/almoner"),
            (target_dir.to_owned(), "/target"),
            (tools.to_owned(), "/tools"),
        ];
        places.sort_by_key(|(path, _)| path.components().count());
        Ok(Places(places))
    }

    /// Returns the flags of rustc, as cargo takes them in one variable.
    fn rust_flags(&self) -> OsString {
        let mut flags = OsString::new();
        for (path, name) in &self.0 {
            if !flags.is_empty() {
                flags.push("\x1f");
            }
            flags.push("--remap-path-prefix=");
            flags.push(path);
            flags.push("=");
            flags.push(name);
        }
        flags
    }

    /// Returns the flags of the C compiler.
    fn c_flags(&self) -> String {
        let flags = self.0.iter().map(|(path, name)| format!("-ffile-prefix-map={}={name}", path.display()));
        flags.collect::<Vec<_>>().join(" ")
    }

    /// Returns the folders, none of which may stand in a binary.
    fn private(&self) -> Vec<PathBuf> {
        self.0.iter().map(|(path, _)| path.clone()).collect()
    }
}

#[cfg(test)]
mod tests {
    use std::path::{Path, PathBuf};

    use super::{Places, Source};

    #[test]
    fn inner_folders_are_renamed_last() {
        let source = Source {
            root: PathBuf::from("/home/me/clone"),
            commit: String::new(),
            epoch: 0,
            maintainer: String::new(),
        };
        let target = Path::new("/home/me/clone/target");
        let flags = Places::of(&source, target, Path::new("/home/me/clone/target/tools")).unwrap();
        let rust = flags.rust_flags().into_string().unwrap();
        let at = |text: &str| rust.find(text).unwrap();
        assert!(at("=/almoner") < at("=/target") && at("=/target") < at("=/tools"), "{rust:?}");
        assert!(flags.c_flags().contains("-ffile-prefix-map=/home/me/clone/target=/target"));
    }
}
