//! Tells the binary from which commit it is built, and for which target. Links the binary of the `dev` profile at a fixed
//! address.
//!
//! The tests start that one more than ten thousand times. A binary that can lie anywhere is written to at each start, at
//! hundreds of thousands of places, which takes as long as everything else in a short command. Releases stay as they
//! are: there the address is a defence.
//!
//! `ALMONER_COMMIT` names the commit of a tree that has no repository. Crates that ask Git for it (vergen and others)
//! would be built before this one for a single command.
#![allow(
    clippy::disallowed_methods,
    clippy::print_stdout,
    reason = "a build script reads its environment, asks Git, and talks to cargo on standard output"
)]

use std::env::var;
use std::path::PathBuf;
use std::process::Command;

/// How many digits of a commit are shown.
const SHOWN_DIGITS: usize = 12;

fn main() {
    println!("cargo:rerun-if-env-changed=ALMONER_COMMIT");
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rustc-env=ALMONER_SOURCE={}", source());
    println!("cargo:rustc-env=ALMONER_TARGET={}", var("TARGET").unwrap_or_default());
    if is_development_build() && var("CARGO_CFG_TARGET_OS").is_ok_and(|system| system == "linux") {
        println!("cargo:rustc-link-arg-bins=-no-pie");
    }
}

fn is_development_build() -> bool {
    var("PROFILE").is_ok_and(|profile| profile == "debug")
}

/// Returns the words for the source of this build.
fn source() -> String {
    if let Ok(commit) = var("ALMONER_COMMIT") {
        return format!("commit {commit}");
    }
    // A commit would build the crate and its tests anew each time.
    if is_development_build() {
        return "development build".to_owned();
    }
    commit_from_git().map_or_else(|| "unknown commit".to_owned(), |commit| format!("commit {commit}"))
}

/// Returns the commit of the clone in which this crate lies, and whether files differ from it.
fn commit_from_git() -> Option<String> {
    let package = PathBuf::from(var("CARGO_MANIFEST_DIR").ok()?);
    let root = package.parent()?.parent()?;
    let git = |arguments: &[&str]| {
        let output = Command::new("git").arg("-C").arg(root).args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    // A source archive can lie in the clone of another project.
    if PathBuf::from(git(&["rev-parse", "--show-toplevel"])?) != root {
        return None;
    }
    for file in ["HEAD", "logs/HEAD"] {
        println!("cargo:rerun-if-changed={}", root.join(git(&["rev-parse", "--git-path", file])?).display());
    }
    for folder in ["crates", "Cargo.lock"] {
        println!("cargo:rerun-if-changed={}", root.join(folder).display());
    }
    let mut commit = git(&["rev-parse", "HEAD"])?;
    commit.truncate(SHOWN_DIGITS);
    let changed = git(&["status", "--porcelain", "--untracked-files=no"])?;
    Some(if changed.is_empty() { commit } else { format!("{commit}, modified") })
}
