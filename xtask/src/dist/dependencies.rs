//! The packages that a binary is made of, as cargo resolves them for one target.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::PathBuf;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::source::Source;
use super::target::Target;
use crate::process::{cargo, output};

/// A package by its name and version.
pub(super) type PackageId = (String, String);

/// One package that takes part in the build.
pub(super) struct Dependency {
    pub(super) id: PackageId,
    /// Whether its code is in the binary. Else it only runs while the binary is built.
    pub(super) is_linked: bool,
    /// Whether it belongs to this project.
    pub(super) is_ours: bool,
    pub(super) license: Option<String>,
    pub(super) repository: Option<String>,
    /// The SHA-256 of its archive, from the lock file.
    pub(super) checksum: Option<String>,
    /// The folder with its files.
    pub(super) folder: PathBuf,
    pub(super) needs: BTreeSet<PackageId>,
}

/// Returns the packages of `almoner`, sorted, itself among them.
///
/// # Errors
/// When cargo does not answer, or answers in another form.
pub(super) fn read(source: &Source, target: &Target) -> Result<Vec<Dependency>> {
    // The metadata hold the features of the whole workspace, tests included. The tree holds those of the binary alone.
    let linked = tree(source, target, "normal,no-proc-macro")?;
    let built = tree(source, target, "normal,build")?;
    let arguments = ["metadata", "--format-version", "1", "--locked", "--filter-platform", target.triple];
    let metadata: Value = serde_json::from_str(&output(&mut cargo(&source.root, &arguments))?)
        .context("cargo metadata is no JSON")?;
    let lock = fs::read_to_string(source.root.join("Cargo.lock")).context("cannot read Cargo.lock")?;
    let checksums = checksums(&lock);
    let packages = metadata["packages"].as_array().context("cargo metadata has no packages")?;
    let ids: BTreeMap<&str, PackageId> =
        packages.iter().filter_map(|package| Some((package["id"].as_str()?, package_id(package)?))).collect();
    let nodes = metadata["resolve"]["nodes"].as_array().context("cargo metadata has no resolve")?;
    let needs: BTreeMap<&str, BTreeSet<PackageId>> =
        nodes.iter().filter_map(|node| Some((node["id"].as_str()?, needs(node, &ids, &built)))).collect();
    let mut dependencies: Vec<Dependency> = packages
        .iter()
        .filter_map(|package| {
            let id = package_id(package)?;
            let text = |key: &str| package[key].as_str().map(str::to_owned);
            let manifest = PathBuf::from(package["manifest_path"].as_str()?);
            Some(Dependency {
                is_linked: linked.contains(&id),
                is_ours: package["source"].is_null(),
                license: text("license").map(|license| license.replace('/', " OR ")),
                repository: text("repository"),
                checksum: checksums.get(&id).cloned(),
                folder: manifest.parent()?.to_owned(),
                needs: needs.get(package["id"].as_str()?).cloned().unwrap_or_default(),
                id,
            })
        })
        .filter(|dependency| built.contains(&dependency.id))
        .collect();
    dependencies.sort_by(|one, other| one.id.cmp(&other.id));
    Ok(dependencies)
}

/// Returns the packages of the binary that cargo's tree shows with these edges.
fn tree(source: &Source, target: &Target, edges: &str) -> Result<BTreeSet<PackageId>> {
    let arguments = [
        "tree",
        "--package",
        "almoner",
        "--edges",
        edges,
        "--target",
        target.triple,
        "--prefix",
        "none",
        "--format",
        "{p}",
        "--locked",
    ];
    let printed = output(&mut cargo(&source.root, &arguments))?;
    let ids = printed.lines().filter_map(|line| {
        let mut words = line.split_whitespace();
        Some((words.next()?.to_owned(), words.next()?.strip_prefix('v')?.to_owned()))
    });
    Ok(ids.collect())
}

fn package_id(package: &Value) -> Option<PackageId> {
    Some((package["name"].as_str()?.to_owned(), package["version"].as_str()?.to_owned()))
}

/// Returns the packages that a node needs in this build.
fn needs(node: &Value, ids: &BTreeMap<&str, PackageId>, built: &BTreeSet<PackageId>) -> BTreeSet<PackageId> {
    let is_needed = |dependency: &&Value| {
        let kinds = dependency["dep_kinds"].as_array();
        kinds.is_some_and(|kinds| kinds.iter().any(|kind| kind["kind"] != "dev"))
    };
    let needed = node["deps"].as_array().map(Vec::as_slice).unwrap_or_default().iter().filter(is_needed);
    needed
        .filter_map(|dependency| ids.get(dependency["pkg"].as_str()?).cloned())
        .filter(|id| built.contains(id))
        .collect()
}

/// Returns the checksums of a lock file. Cargo writes it with one key in a line, so no parser is needed.
fn checksums(lock: &str) -> BTreeMap<PackageId, String> {
    let packages = lock.split("[[package]]").skip(1).filter_map(|block| {
        let value = |key: &str| {
            let line = block.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix(" = \""));
            line.and_then(|line| line.strip_suffix('"')).map(str::to_owned)
        };
        Some(((value("name")?, value("version")?), value("checksum")?))
    });
    packages.collect()
}

#[cfg(test)]
pub(super) use tests::clone;

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::source::Source;
    use super::super::target::Target;
    use super::{checksums, read};

    /// Returns this clone as a source, with a made-up commit.
    pub(in crate::dist) fn clone() -> Source {
        Source {
            root: Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().to_owned(),
            commit: "0123456789ab".to_owned(),
            epoch: 1_764_374_400,
            maintainer: "A Maintainer <a@example.org>".to_owned(),
        }
    }

    #[test]
    fn checksums_come_from_the_lock_file() {
        let lock = "version = 4\n\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nchecksum = \"00ff\"\n\n\
                    [[package]]\nname = \"kernel\"\nversion = \"0.1.0\"\n";
        let read = checksums(lock);
        assert_eq!(read.len(), 1);
        assert_eq!(read[&("a".to_owned(), "1.0.0".to_owned())], "00ff");
    }

    #[test]
    fn linked_packages_differ_from_build_tools() {
        let dependencies = read(&clone(), Target::named("x86_64-unknown-linux-gnu").unwrap()).unwrap();
        let find = |name: &str| dependencies.iter().find(|each| each.id.0 == name);
        let serde = find("serde").unwrap();
        assert!(
            serde.is_linked && !serde.is_ours && serde.checksum.as_ref().is_some_and(|sum| sum.len() == 64)
        );
        assert!(find("kernel").unwrap().is_ours);
        assert!(!find("syn").unwrap().is_linked, "a macro only runs while the binary is built");
        for name in ["insta", "proptest", "xtask", "windows-sys"] {
            assert!(find(name).is_none(), "{name} is no part of the build");
        }
        let almoner = find("almoner").unwrap();
        assert!(almoner.needs.iter().any(|(name, _)| name == "daemon"));
        assert!(!almoner.needs.iter().any(|(name, _)| name == "insta"));
    }
}
