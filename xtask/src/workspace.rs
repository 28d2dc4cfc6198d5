//! The workspace as cargo sees it: where it is, where it builds, its crates and their arrows.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use serde_json::Value;

use crate::process;

/// The clone that this program was built from, and its metadata from cargo.
pub(crate) struct Workspace {
    pub(crate) root: PathBuf,
    /// Where cargo builds: `CARGO_TARGET_DIR` when it is set, else `target` in the clone.
    pub(crate) target: PathBuf,
    pub(crate) crates: Vec<Crate>,
}

/// One member of the workspace.
#[derive(Clone)]
pub(crate) struct Crate {
    pub(crate) name: String,
    pub(crate) version: String,
    /// The folder, relative to the root, with `/`.
    pub(crate) folder: String,
    pub(crate) description: String,
    pub(crate) features: Vec<String>,
    /// The features that its feature `default` names.
    pub(crate) default_features: Vec<String>,
    pub(crate) benches: Vec<String>,
    pub(crate) arrows: Vec<Arrow>,
}

/// A dependency of one crate on another, ours or not.
#[derive(Clone)]
pub(crate) struct Arrow {
    pub(crate) to: String,
    pub(crate) kind: ArrowKind,
}

/// Which part of a crate needs the dependency.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum ArrowKind {
    /// The library or binary itself, or its build script.
    Shipped,
    /// Its tests, benches and examples only.
    Tests,
}

impl Workspace {
    /// Asks cargo; needs no network.
    pub(crate) fn read() -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"))
            .parent()
            .context("xtask lies in the root of the workspace")?;
        let arguments = ["metadata", "--format-version", "1", "--no-deps"];
        let text = process::output(&mut process::cargo(root, &arguments))?;
        let metadata: Value = serde_json::from_str(&text).context("cargo metadata is no JSON")?;
        let target = PathBuf::from(text_of(&metadata, "target_directory"));
        let crates = list(&metadata, "packages").iter().map(|package| member(root, package)).collect();
        Ok(Self { root: root.to_owned(), target, crates })
    }
}

#[cfg(test)]
impl Crate {
    /// Returns a crate of that name which has nothing.
    pub(crate) fn named(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            version: "1.0.0".to_owned(),
            folder: format!("crates/{name}"),
            description: "Does one thing.".to_owned(),
            features: Vec::new(),
            default_features: Vec::new(),
            benches: Vec::new(),
            arrows: Vec::new(),
        }
    }
}

fn member(root: &Path, package: &Value) -> Crate {
    let manifest = PathBuf::from(text_of(package, "manifest_path"));
    let folder = manifest.parent().and_then(|folder| folder.strip_prefix(root).ok()).unwrap_or(Path::new(""));
    let arrows = list(package, "dependencies").iter().map(|arrow| Arrow {
        to: text_of(arrow, "name"),
        kind: if text_of(arrow, "kind") == "dev" { ArrowKind::Tests } else { ArrowKind::Shipped },
    });
    let benches = list(package, "targets")
        .iter()
        .filter(|target| list(target, "kind").iter().any(|kind| kind == "bench"))
        .map(|target| text_of(target, "name"));
    let features = package.get("features").and_then(Value::as_object);
    Crate {
        name: text_of(package, "name"),
        version: text_of(package, "version"),
        folder: folder.to_string_lossy().replace('\\', "/"),
        description: text_of(package, "description"),
        features: features.map(|table| table.keys().cloned().collect()).unwrap_or_default(),
        default_features: features
            .and_then(|table| table.get("default"))
            .and_then(Value::as_array)
            .map(|names| names.iter().filter_map(Value::as_str).map(str::to_owned).collect())
            .unwrap_or_default(),
        benches: benches.collect(),
        arrows: arrows.collect(),
    }
}

/// Returns the string at `key`; absent and null are empty.
fn text_of(value: &Value, key: &str) -> String {
    value.get(key).and_then(Value::as_str).unwrap_or_default().to_owned()
}

/// Returns the array at `key`; absent is empty.
fn list<'a>(value: &'a Value, key: &str) -> &'a [Value] {
    value.get(key).and_then(Value::as_array).map(Vec::as_slice).unwrap_or_default()
}
